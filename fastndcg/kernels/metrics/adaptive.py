"""
Compute metrics of a user who adapts to the gains seen so far: INST and the Bejeweled player model.

INST is a weighted mean of the gains (Moffat, Bailey, Scholer and Thomas 2017). The weight of a rank is proportional to
1 / (2 · goal + x)², where x is the number of ranks above less the gains above.

Between two gains the weights are scale / (2 · goal + x)², with x rising by 1 a rank. Their sum is a difference of two
values of the trigamma function. A gain of 1 leaves x as it is.

Ties: both metrics have no expectation over orders. The engine has put the hits in an order.

hit_unit_gains   (n_hits,)  float64, gains from 0 to 1
goal             float64, total gain that the user wants
"""

from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.kernels.metrics.tie_groups import NO_QUERY

MAX_TABLE_SIZE = 1024
# columns of the table of weights
TAIL_SUM = 0
FIRST_TERM = 1
SHRINKAGE = 2


class InstState(NamedTuple):
    """State of each query after its last gain: total gain, sum of weights, scale and tail sum of the weights below."""

    gains: np.ndarray
    weights: np.ndarray
    scales: np.ndarray
    tails: np.ndarray


@inline
def trigamma(x):
    """
    Return the sum of 1 / (x + j)² over j = 0, 1, ….

    The terms below x = 16 are added one by one, the rest by the Euler-Maclaurin formula (Abramowitz and Stegun 6.4.12).
    """
    total = 0.0
    while x < 16.0:
        total += 1.0 / (x * x)
        x += 1.0
    y = 1.0 / (x * x)
    rest = 1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0 - y * (691.0 / 2730.0)))))
    return total + y * (x + 0.5 + rest / x)


@inline
def tabulate_weights(goal, out_table):
    """Tabulate for whole x: sum of 1 / (2 · goal + x)² from x on, its first term, and the factor of the scale."""
    for i in range(out_table.shape[0]):
        x = 2.0 * goal + i
        out_table[i, TAIL_SUM] = trigamma(x)
        out_table[i, FIRST_TERM] = (1.0 / x) * (1.0 / x)
        out_table[i, SHRINKAGE] = ((x - 1.0) / x) * ((x - 1.0) / x)


@helper
def add_weighted_gains(hit_queries, hit_above, hit_unit_gains, goal, k, table, state, out):
    """Add up weighted gains down to the last hit of each query, and write the state there."""
    last_query = NO_QUERY
    total = 0.0
    weight = 0.0
    gain_above = 0.0
    tail = 0.0
    scale = 0.0
    for h in range(hit_above.shape[0]):
        query = np.uint32(hit_queries[h])
        is_same = query == last_query
        last_query = query
        total = total if is_same else 0.0
        weight = weight if is_same else 0.0
        gain_above = gain_above if is_same else 0.0
        tail = tail if is_same else table[0, TAIL_SUM]
        scale = scale if is_same else 4.0 * goal * goal
        gain = hit_unit_gains[h] if hit_above[h] < k else 0.0
        offset = hit_above[h] - gain_above
        row = np.uint32(max(offset, 0.0))
        if gain == 1.0 and row == offset and row + 1 < table.shape[0]:
            weight += scale * (tail - table[row + np.uint32(1), TAIL_SUM])
            total += scale * table[row, FIRST_TERM]
            tail = table[row, TAIL_SUM]
            scale *= table[row, SHRINKAGE]
        elif gain > 0.0:
            x = 2.0 * goal + offset
            weight += scale * (tail - trigamma(x + 1.0))
            total += gain * (scale * ((1.0 / x) * (1.0 / x)))
            tail = trigamma(x + (1.0 - gain))
            scale *= ((x - gain) / x) * ((x - gain) / x)
        gain_above += gain
        out[query] = total
        state.gains[query] = gain_above
        state.weights[query] = weight
        state.scales[query] = scale
        state.tails[query] = tail


@kernel(allocates=True)
def inst(hit_queries, hit_above, hit_unit_gains, goal, k, out):
    """Compute INST: the mean gain of the ranks, weighted by the probability that a user looks at them."""
    deepest = k - 1 if k < MAX_RANK else 0
    for h in range(hit_above.shape[0]):
        deepest = max(deepest, hit_above[h])
    table = np.empty((min(deepest + 2, MAX_TABLE_SIZE), 3))
    tabulate_weights(goal, table)
    gains = np.zeros(out.shape[0])
    weights = np.zeros(out.shape[0])
    scales = np.full(out.shape[0], 4.0 * goal * goal)
    tails = np.full(out.shape[0], table[0, TAIL_SUM])
    for q in range(out.shape[0]):
        out[q] = 0.0
    state = InstState(gains, weights, scales, tails)
    add_weighted_gains(hit_queries, hit_above, hit_unit_gains, goal, k, table, state, out)
    for q in range(out.shape[0]):
        if k < MAX_RANK:
            offset = k - gains[q]
            row = np.uint32(max(offset, 0.0))
            is_in_table = row == offset and row < table.shape[0]
            tails[q] -= table[row, TAIL_SUM] if is_in_table else trigamma(2.0 * goal + offset)
        out[q] = min(out[q] / (weights[q] + scales[q] * tails[q]), 1.0)


@kernel
def bejeweled_player(hit_above, hit_gains, hit_offsets, goal, k, out):
    """
    Compute BPM: the mean gain of the ranks down to the one where the gains reach the goal, or down to rank k.

    See Zhang et al. 2017, doi:10.1145/3077136.3080841.
    """
    enough = goal - 1e-9  # the float64 sum 0.1 + 0.2 + 0.3 may be below 0.6
    for q in range(out.shape[0]):
        total = 0.0
        rank = float(k) if k < MAX_RANK else np.inf
        for h in range(hit_offsets[q], hit_offsets[q + 1]):
            if hit_above[h] >= k:
                break
            total += hit_gains[h]
            if total >= enough:
                rank = hit_above[h] + 1.0
                break
        out[q] = total / rank
