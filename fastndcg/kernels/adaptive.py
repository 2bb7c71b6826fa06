"""
Metrics of a user who adapts to what was found so far: INST, the Bejeweled player model.

Hits are in rank order, each with a rank of its own: tied scores of different labels come here in an order.

hit_queries, hit_above   (n_hits,)  int32
hit_gains        (n_hits,)         float64
hit_unit_gains   (n_hits,)         float64, the same where none is below 0 or above 1
hit_offsets      (n_queries + 1,)  int64
goal             what a user wants to gain
k                how many ranks there are
out              (n_queries,)      float64
"""

import numpy as np

from fastndcg.kernels.jit import allocating_kernel, kernel, part, unit

ALL_RANKS = 2**31 - 1
MOST_AHEAD = 1024  # places that are worked out ahead
SUM, FIRST, SHRINKING = 0, 1, 2  # columns of what is


@part
def trigamma(x):
    """Sum of 1 / (x + j)² over j = 0, 1, …: the first terms, and the rest by Euler and Maclaurin."""
    total = 0.0
    while x < 16.0:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    rest = 1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0 - y * (691.0 / 2730.0)))))
    return total + y * (x + 0.5 + rest / x)


@part
def fill_ahead(goal, out_ahead):
    """For whole places, the sum of 1 / (2 goal + place)² from there on, its first term, and what scales shrink by."""
    for place in range(out_ahead.shape[0]):
        x = 2.0 * goal + place
        out_ahead[place, SUM] = trigamma(x)
        out_ahead[place, FIRST] = (1.0 / x) * (1.0 / x)
        out_ahead[place, SHRINKING] = ((x - 1.0) / x) * ((x - 1.0) / x)


@unit
def weigh_gains(
    hit_queries, hit_above, hit_unit_gains, goal, k, ahead, out_gained, out_weights, out_scales, out_rests, out
):  # fmt: skip
    """Gains down to the last hit, plain and weighted, the weights down to it, and what those below it come from."""
    last_query = np.uint32(0xFFFFFFFF)
    total = weight = gained = rest = scale = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        is_same = query == last_query
        last_query = query
        total = total if is_same else 0.0
        weight = weight if is_same else 0.0
        gained = gained if is_same else 0.0
        rest = rest if is_same else ahead[0, SUM]
        scale = scale if is_same else 4.0 * goal * goal
        gain = hit_unit_gains[h] if hit_above[h] < k else 0.0
        place = hit_above[h] - gained
        whole = np.uint32(max(place, 0.0))
        if gain == 1.0 and whole == place and whole + 1 < ahead.shape[0]:
            weight += scale * (rest - ahead[whole + np.uint32(1), SUM])
            total += scale * ahead[whole, FIRST]
            rest = ahead[whole, SUM]
            scale *= ahead[whole, SHRINKING]
        elif gain > 0.0:
            x = 2.0 * goal + place
            weight += scale * (rest - trigamma(x + 1.0))
            total += gain * (scale * ((1.0 / x) * (1.0 / x)))
            rest = trigamma(x + (1.0 - gain))
            scale *= ((x - gain) / x) * ((x - gain) / x)
        gained += gain
        out[query] = total
        out_gained[query] = gained
        out_weights[query] = weight
        out_scales[query] = scale
        out_rests[query] = rest


@allocating_kernel
def inverse_squares(hit_queries, hit_above, hit_unit_gains, goal, k, out):
    """
    Mean gain, the ranks weighted by how many users look at them.

    Between two gains the weights are a scale / (2 goal + place)², where the place is the number of ranks above less
    what was gained, and a difference of two sums to infinity adds them up. After a gain of 1 the place is the same.
    """
    deepest = k - 1 if k < ALL_RANKS else 0
    for h in range(hit_above.shape[0]):
        deepest = max(deepest, hit_above[h])
    ahead = np.empty((min(deepest + 2, MOST_AHEAD), 3))
    fill_ahead(goal, ahead)
    gained = np.zeros(out.shape[0])
    weights = np.zeros(out.shape[0])
    scales = np.full(out.shape[0], 4.0 * goal * goal)
    rests = np.full(out.shape[0], ahead[0, SUM])
    for q in range(out.shape[0]):
        out[q] = 0.0
    weigh_gains(hit_queries, hit_above, hit_unit_gains, goal, k, ahead, gained, weights, scales, rests, out)
    for q in range(out.shape[0]):
        if k < ALL_RANKS:
            place = k - gained[q]
            whole = np.uint32(max(place, 0.0))
            is_ahead = whole == place and whole < ahead.shape[0]
            rests[q] -= ahead[whole, SUM] if is_ahead else trigamma(2.0 * goal + place)
        out[q] = min(out[q] / (weights[q] + scales[q] * rests[q]), 1.0)


@kernel
def bejeweled_player(hit_above, hit_gains, hit_offsets, goal, k, out):
    """Mean gain down to the rank where the goal is reached, or to rank k."""
    wanted = goal - 1e-9  # 0.1 + 0.2 + 0.3 may be a little less than 0.6
    for q in range(out.shape[0]):
        gained = 0.0
        rank = float(k) if k < ALL_RANKS else np.inf
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_above[h] >= k:
                break
            gained += hit_gains[h]
            if gained >= wanted:
                rank = hit_above[h] + 1.0
                break
        out[q] = gained / rank
