"""
Compute the expectation of interpolated precision where scores tie.

Interpolated precision at a recall is the maximum M of P@r over the ranks r with that recall. It has finitely many
values v_1 < v_2 < …, and with v_0 = 0 its expectation is

    E[M] = sum over j of (v_j − v_{j−1}) · P(M ≥ v_j).

Tie groups are independent. They are added from the last to the first, with the tails P(M ≥ v) of all groups so far.

One group. A tie group of `size` documents follows `above` ranks with `before` relevant documents. `n_relevant` of its
documents are relevant, and all orders have equal probability. Every order has the same precision at the end of the
group, so that values up to it are certain. Let t be a higher value. The i-th relevant document has a precision below t
if its rank is at least the bound L(i) = floor(i / t) + 1. Here i counts from the top of the ranking.

Last violation. If M ≥ t, let i be the last relevant document above its bound. Exactly i relevant documents are in the
first L(i) − 1 ranks, and all later ones keep to their bounds. Therefore

    P(M ≥ t) = sum over i of prefix(i) · suffix(i) / total,

where i starts at the number of relevant documents that the recall needs. The weights are

- prefix(i): of all orders of the ranks up to L(i) − 1,
- suffix(i): of the orders of the ranks from L(i) on that keep to the bounds,
- total: of all orders of the group.

The weight of an order is a product: n_relevant / size for each relevant document, and 1 − n_relevant / size for each
other one.

Next value. The bound of i changes at t = i / r, for whole ranks r. In lowest terms t = a / b, these are the points
(a, b), (2a, 2b), … of a line with slope t. As t rises past it, the bounds at the points fall by a rank. Orders may now
touch the line. Sort the new orders by the point j where they first touch it:

    suffix(i) ← suffix(i) + sum over points j > i of return(j − i) · suffix(j)

Then suffix(j) gets the weight of one more document that is not relevant. An order may start at the line or from a rank
above it. Here return(m) is the weight of those that first touch the line m relevant documents later. It depends on the
slope alone.
As t falls past a line, orders may touch it at its points c on their way:

    return(m) ← return(m) + sum over points c of return(c) · return(m − c), with the updated return(m − c)

Nothing is subtracted, so that no digits cancel. The return weights are computed as t falls, and the suffix weights as t
rises. To save memory, the first pass keeps a checkpoint for each block of values, and the second replays a block from
its checkpoint. A group has at most n_relevant · (size − n_relevant) + 1 values. Each takes about n_relevant
multiplications, of 1.5 ns.

In all arrays over relevant documents, index m is that of the document with m relevant documents of its group below.
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.metrics.tie_groups import count_relevant_hits
from fastndcg.kernels.ranking.tie_groups import find_group_end_in_query

MAX_STEPS = 6e7  # limit of multiplications for a query, and for a call: 0.1 s
STEPS_PER_VALUE = 40  # fixed cost of a value, in multiplications: 60 ns
SMALLEST_BLOCK = 64
# factors that keep the weight of many ranks in the range of float64
SCALE = 2.0**512
SMALL = 2.0**-256


class Groups(NamedTuple):
    """Tie groups of a query: ranks above, relevant documents above, documents, relevant documents."""

    above: np.ndarray
    before: np.ndarray
    sizes: np.ndarray
    n_relevant: np.ndarray


class Group(NamedTuple):
    """One tie group, in which only the last `n_open` of its relevant documents can exceed the certain value."""

    above: int
    before: int
    size: int
    n_relevant: int
    n_open: int


class Recalls(NamedTuple):
    """Relevant documents that each recall needs, and the probability of the current value from there on."""

    n_needed: np.ndarray
    probabilities: np.ndarray


class Span(NamedTuple):
    """Recalls from `start` up to `stop`, which begin in a group, and the query's column of the output."""

    start: int
    stop: int
    column: int


class Tails(NamedTuple):
    """Rising values of the maximum, and the probability of each value or more."""

    values: np.ndarray
    probabilities: np.ndarray


class Weights(NamedTuple):
    """
    Bounds and weights by relevant document: L(i), prefix(i) and suffix(i), and return(m + 1) at index m.

    values[m] is i / L(i), the precision at the bound. sums[m] adds up prefix · suffix. n_ranks and scratch are buffers.
    """

    bounds: np.ndarray
    n_ranks: np.ndarray
    values: np.ndarray
    prefixes: np.ndarray
    suffixes: np.ndarray
    returns: np.ndarray
    sums: np.ndarray
    scratch: np.ndarray


class Steps(NamedTuple):
    """Values of a block: index of the last point of each line, distance between points, return weights before."""

    last_points: np.ndarray
    distances: np.ndarray
    returns: np.ndarray


class Checkpoints(NamedTuple):
    """Bounds and return weights at the start of each block."""

    bounds: np.ndarray
    returns: np.ndarray


class Buffers(NamedTuple):
    """Arrays of one call."""

    weights: Weights
    steps: Steps
    checkpoints: Checkpoints
    tails: Tails
    next_tails: Tails


@kernel(allocates=True)
def interpolate_tied(
    queries, hit_above, hit_ties, hit_labels, hit_offsets, rel, n_relevant, recalls, recall_rounding, first, out
):  # fmt: skip
    """
    Compute the expected interpolated precision of the queries with ties, at each recall.

    The value is −1 for a query that takes more than MOST_STEPS multiplications.

    `recalls` rise, and out[i, j] belongs to recall i and queries[j]. The call begins at queries[first] and stops after
    MOST_STEPS multiplications. Return the place of the first query that is left for the next call.
    """
    n_done = 0.0
    longest = 0
    for q in range(hit_offsets.shape[0] - 1):
        longest = max(longest, hit_offsets[q + 1] - hit_offsets[q])
    groups = Groups(
        np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest, np.int64),
        np.empty(longest, np.int64),
    )  # fmt: skip
    weights = Weights(
        np.empty(longest, np.int64), np.empty(longest, np.int64), np.empty(longest), np.empty(longest),
        np.empty(longest), np.empty(longest), np.empty(longest), np.empty(longest),
    )  # fmt: skip
    query_recalls = Recalls(np.empty(recalls.shape[0], np.int64), np.empty(recalls.shape[0]))
    steps = Steps(np.empty(0, np.int64), np.empty(0, np.int64), np.empty((0, 0)))
    checkpoints = Checkpoints(np.empty((0, 0), np.int64), np.empty((0, 0)))
    tails = Tails(np.empty(1), np.empty(1))
    next_tails = Tails(np.empty(1), np.empty(1))
    for place in range(first, queries.shape[0]):
        q = queries[place]
        n_groups = find_groups(hit_above, hit_ties, hit_labels, hit_offsets[q], hit_offsets[q + 1], rel, groups)
        for i in range(recalls.shape[0]):
            query_recalls.n_needed[i] = max(np.floor(recalls[i] * n_relevant[q] + recall_rounding), 1.0)
        n_steps = estimate_steps(groups, n_groups, query_recalls.n_needed[0])
        if n_steps > MAX_STEPS:
            out[:, place] = -1.0
            continue
        if n_done + n_steps > MAX_STEPS:
            return place
        n_done += n_steps
        n_tails, block, n_blocks, n = find_buffer_sizes(groups, n_groups, query_recalls.n_needed[0])
        if n_tails > tails.values.shape[0]:
            tails = Tails(np.empty(n_tails), np.empty(n_tails))
            next_tails = Tails(np.empty(n_tails), np.empty(n_tails))
        if block > steps.last_points.shape[0] or n > steps.returns.shape[1]:
            steps = Steps(np.empty(block, np.int64), np.empty(block, np.int64), np.empty((block, n)))
        if n_blocks > checkpoints.bounds.shape[0] or n > checkpoints.bounds.shape[1]:
            checkpoints = Checkpoints(np.empty((n_blocks, n), np.int64), np.empty((n_blocks, n)))
        buffers = Buffers(weights, steps, checkpoints, tails, next_tails)
        interpolate_query(groups, n_groups, query_recalls, buffers, place, out)
    return queries.shape[0]


@helper
def find_groups(hit_above, hit_ties, hit_labels, start, stop, rel, groups):
    """Write the tie groups of one query that have relevant documents, and return their number."""
    n_groups = 0
    n_before = 0
    h = start
    while h < stop:
        end = find_group_end_in_query(hit_above, h, stop)
        n_tied_relevant = count_relevant_hits(hit_labels, h, end, rel)
        if n_tied_relevant > 0:
            groups.above[n_groups] = hit_above[h]
            groups.before[n_groups] = n_before
            groups.sizes[n_groups] = hit_ties[h]
            groups.n_relevant[n_groups] = n_tied_relevant
            n_groups += 1
        n_before += n_tied_relevant
        h = end
    return n_groups


@inline
def count_open(groups, i, certain):
    """Return the number of the last relevant documents of group i that may have a precision above a certain value."""
    above = groups.above[i]
    before = groups.before[i]
    n_relevant = groups.n_relevant[i]
    n = 0
    while n < n_relevant and (before + n_relevant - n) / (above + n_relevant - n) > certain:
        n += 1
    return n


@inline
def precision_at_end(groups, i):
    """Return the precision at the last rank of group i."""
    return (groups.before[i] + groups.n_relevant[i]) / (groups.above[i] + groups.sizes[i])


@helper
def estimate_steps(groups, n_groups, first_needed):
    """Estimate the multiplications for a query, from its last group to the one where the lowest recall begins."""
    certain = 0.0
    n_steps = 0.0
    for i in range(n_groups - 1, -1, -1):
        certain = max(certain, precision_at_end(groups, i))
        n = count_open(groups, i, certain)
        n_steps += float(n) * (n + STEPS_PER_VALUE) * (groups.sizes[i] - groups.n_relevant[i])
        if first_needed > groups.before[i]:
            break
    return n_steps


@inline
def count_values(groups, i, n_open, certain):
    """Return an upper bound of the number of values above the certain one in group i."""
    above = groups.above[i]
    before = groups.before[i]
    n_relevant = groups.n_relevant[i]
    total = 1
    for m in range(n_open):
        first_bound = (before + n_relevant - m) * (above + n_relevant) // (before + n_relevant)
        total += int((before + n_relevant - m) / certain) - first_bound + 2
    return total


@helper
def find_buffer_sizes(groups, n_groups, first_needed):
    """Return the buffer sizes of a query: values of the tails, values of a block, blocks, and relevant documents."""
    certain = 0.0
    n_tails = 1
    block = 0
    n_blocks = 0
    most_open = 0
    for i in range(n_groups - 1, -1, -1):
        certain = max(certain, precision_at_end(groups, i))
        n = count_open(groups, i, certain)
        if n > 0:
            n_values = count_values(groups, i, n, certain)
            n_tails += n_values if first_needed <= groups.before[i] else 0
            length = max(int(math.sqrt(n_values)) + 1, SMALLEST_BLOCK)
            block = max(block, length)
            n_blocks = max(n_blocks, n_values // length + 1)
            most_open = max(most_open, n)
        if first_needed > groups.before[i]:
            break
    return n_tails + 1, block, n_blocks, most_open


@helper
def interpolate_query(groups, n_groups, recalls, buffers, column, out):
    """Compute the expectations of one query, from the last group to the first, with 0 for a recall that is too high."""
    for i in range(out.shape[0]):
        out[i, column] = 0.0
    n_relevant_found = groups.before[n_groups - 1] + groups.n_relevant[n_groups - 1] if n_groups > 0 else 0
    stop = out.shape[0]
    while stop > 0 and recalls.n_needed[stop - 1] > n_relevant_found:
        stop -= 1
    tails = buffers.tails
    next_tails = buffers.next_tails
    tails.values[0] = 0.0
    tails.probabilities[0] = 1.0
    n_tails = 1
    for i in range(n_groups - 1, -1, -1):
        start = stop
        while start > 0 and recalls.n_needed[start - 1] > groups.before[i]:
            start -= 1
        certain = max(tails.values[0], precision_at_end(groups, i))
        n_open = count_open(groups, i, certain)
        group = Group(groups.above[i], groups.before[i], groups.sizes[i], groups.n_relevant[i], n_open)
        group_buffers = Buffers(buffers.weights, buffers.steps, buffers.checkpoints, tails, next_tails)
        n_tails = add_group(group, certain, recalls, Span(start, stop, column), group_buffers, n_tails, out)
        tails, next_tails = next_tails, tails
        stop = start
        if stop == 0:
            return


@helper
def add_group(group, certain, recalls, span, buffers, n_tails, out):
    """
    Add a group to the groups below it: expectations at the recalls that begin in it, and the tails with it.

    Return the number of tails. They are complete only if recalls begin above the group.
    """
    weights = buffers.weights
    tails = buffers.tails
    next_tails = buffers.next_tails
    block = buffers.steps.last_points.shape[0]
    n_steps, total = lower_to_certain(group, certain, buffers) if group.n_open > 0 else (0, 1.0)
    for i in range(span.start, span.stop):
        recalls.probabilities[i] = 0.0
        out[i, span.column] = certain
    group_tail = add_violations(group, total, recalls, span, weights) if n_steps > 0 else 0.0
    last_value = certain
    next_tails.values[0] = certain
    next_tails.probabilities[0] = 1.0
    n_next = 1
    place = 0
    while place < n_tails and tails.values[place] <= certain:
        place += 1
    while place < n_tails or n_steps > 0:  # merge the values of this group with those of the groups below
        group_value = value_at_step(group, (n_steps - 1) % block, buffers) if n_steps > 0 else 2.0
        tail = tails.probabilities[place] if place < n_tails else 0.0
        value = min(group_value, tails.values[place]) if place < n_tails else group_value
        for i in range(span.start, span.stop):
            out[i, span.column] += (value - last_value) * (tail + recalls.probabilities[i] * (1.0 - tail))
        last_value = value
        if span.start > 0 and value != next_tails.values[n_next - 1]:
            next_tails.values[n_next] = value
            next_tails.probabilities[n_next] = tail + group_tail * (1.0 - tail)
            n_next += 1
        if place < n_tails and tails.values[place] == value:
            place += 1
        if group_value == value:
            n_steps -= 1
            if raise_past_step(group, n_steps % block, buffers):
                group_tail = add_violations(group, total, recalls, span, weights)
            n_steps = 0 if group_tail == 0.0 else n_steps
            if n_steps > 0 and n_steps % block == 0:
                replay_block(group, n_steps // block - 1, buffers)
    for i in range(span.start, span.stop):
        out[i, span.column] = min(out[i, span.column], 1.0)
    return n_next


@helper
def lower_to_certain(group, certain, buffers):
    """
    Lower t from the highest value to the certain one, and compute prefix and suffix weights there.

    Return the number of values on the way, and the weight of all orders of the group.
    """
    above, before, size, n_relevant, n = group
    weights = buffers.weights
    relevant_weight = n_relevant / size
    other_weight = (size - n_relevant) / size
    n_relevant_found = before + n_relevant
    for m in range(n):
        weights.bounds[m] = -(-(n_relevant_found - m) * (above + n_relevant) // n_relevant_found)
        weights.values[m] = (n_relevant_found - m) / weights.bounds[m]
        weights.n_ranks[m] = -(-(m + 1) * (above + n_relevant) // n_relevant_found) - 1
    fill_path_weights(n, weights.n_ranks, relevant_weight, group, weights.scratch, weights.returns)
    block = buffers.steps.last_points.shape[0]
    n_steps = 0
    while True:
        highest, last_point = find_highest(n, weights.values)
        if highest <= certain:
            break
        if n_steps % block == 0:
            for m in range(n):
                buffers.checkpoints.bounds[n_steps // block, m] = weights.bounds[m]
                buffers.checkpoints.returns[n_steps // block, m] = weights.returns[m]
        lower_past_line(group, last_point, n_steps % block, buffers)
        n_steps += 1
    for m in range(n):
        weights.n_ranks[m] = above + size + 1 - weights.bounds[m]
    fill_path_weights(n, weights.n_ranks, 1.0, group, weights.scratch, weights.suffixes)
    for m in range(n):
        n_ranks = weights.bounds[m] - 1 - above
        weights.prefixes[m] = binomial_weight(n_ranks, n_relevant - m, relevant_weight, other_weight)
    return n_steps, binomial_weight(size, n_relevant, relevant_weight, other_weight)


@helper
def replay_block(group, i_block, buffers):
    """Compute the steps of an earlier block again, from its checkpoint."""
    weights = buffers.weights
    n_relevant_found = group.before + group.n_relevant
    for m in range(group.n_open):
        weights.bounds[m] = buffers.checkpoints.bounds[i_block, m]
        weights.returns[m] = buffers.checkpoints.returns[i_block, m]
        weights.values[m] = (n_relevant_found - m) / weights.bounds[m]
    for row in range(buffers.steps.last_points.shape[0]):
        _, last_point = find_highest(group.n_open, weights.values)
        lower_past_line(group, last_point, row, buffers)


@inline
def find_highest(n, values):
    """Return the highest precision at a bound, and the index of the last relevant document that has it."""
    highest = 0.0
    last_point = 0
    for m in range(n):
        if values[m] > highest:
            highest = values[m]
            last_point = m
    return highest, last_point


@helper
def lower_past_line(group, last_point, row, buffers):
    """Lower t past the line through a point: move the bounds at its points down one rank, and record the step."""
    weights = buffers.weights
    steps = buffers.steps
    n = group.n_open
    n_relevant_found = group.before + group.n_relevant
    number = n_relevant_found - last_point
    distance = number // greatest_common_divisor(number, weights.bounds[last_point])
    steps.last_points[row] = last_point
    steps.distances[row] = distance
    for m in range(n):
        steps.returns[row, m] = weights.returns[m]
    for m in range(last_point, n, distance):
        weights.bounds[m] += 1
        weights.values[m] = (n_relevant_found - m) / weights.bounds[m]
    other_weight = (group.size - group.n_relevant) / group.size
    add_touching_orders(n - 1, distance, other_weight, weights.scratch, weights.returns)


@inline
def greatest_common_divisor(a, b):
    """Return the greatest number that divides both."""
    while b:
        a, b = b, a % b
    return a


@inline
def add_touching_orders(n, distance, other_weight, scratch, returns):
    """Add to the return weights the orders that touch the line at its points, every `distance` relevant documents."""
    for c in range(distance, n, distance):
        scratch[c // distance] = returns[c - 1]
    for start in range(distance, n, distance):
        for c in range(distance, start + 1, distance):
            weight = scratch[c // distance]
            for m in range(start, min(start + distance, n)):
                returns[m] += weight * returns[m - c]
    for m in range(distance - 1, n, distance):
        returns[m] *= other_weight


@helper
def raise_past_step(group, row, buffers):
    """Raise t past the line of a recorded step, and return True if an order can have a higher precision."""
    weights = buffers.weights
    steps = buffers.steps
    n = group.n_open
    other_weight = (group.size - group.n_relevant) / group.size
    is_possible = False
    for point in range(steps.last_points[row], n, steps.distances[row]):
        suffix = weights.suffixes[point]
        for m in range(point + 1, n):
            weights.suffixes[m] += steps.returns[row, m - point - 1] * suffix
    for m in range(steps.last_points[row], n, steps.distances[row]):
        weights.bounds[m] -= 1
        weights.suffixes[m] *= other_weight
        n_ranks = weights.bounds[m] - group.above
        n_relevant = group.n_relevant - m
        if n_ranks >= n_relevant:
            is_possible = True
            weights.prefixes[m] *= (n_ranks - n_relevant) / (n_ranks * other_weight)
    return is_possible


@inline
def value_at_step(group, row, buffers):
    """Return the value t of a recorded step."""
    m = buffers.steps.last_points[row]
    return (group.before + group.n_relevant - m) / (buffers.weights.bounds[m] - 1)


@inline
def add_violations(group, total, recalls, span, weights):
    """Write the probability of t or more for each recall of the span, and return that of the whole group."""
    running = 0.0
    for m in range(group.n_open):
        running += weights.prefixes[m] * weights.suffixes[m]
        weights.sums[m] = running
    for i in range(span.start, span.stop):
        last = min(group.before + group.n_relevant - recalls.n_needed[i], group.n_open - 1)
        recalls.probabilities[i] = min(weights.sums[last] / total, 1.0)
    return min(running / total, 1.0)


@inline
def fill_path_weights(n, n_ranks, end_weight, group, scratch, out):
    """
    Write the weight of the orders of the last n_ranks[m] ranks, with m relevant documents, that keep to the bounds.

    The ranks are followed upwards from the end, where the weight is `end_weight`. The relevant document that m others
    follow may only be at a rank with fewer than n_ranks[m] ranks below.
    """
    relevant_weight = group.n_relevant / group.size
    other_weight = (group.size - group.n_relevant) / group.size
    for m in range(n):
        scratch[m] = 0.0
    scratch[0] = end_weight
    out[0] = end_weight
    first = 1 if n_ranks[0] == 0 else 0
    for r in range(1, n_ranks[n - 1] + 1):
        for m in range(min(n - 1, r), first - 1, -1):
            scratch[m] = scratch[m] * other_weight + (scratch[m - 1] * relevant_weight if m > first else 0.0)
        if n_ranks[first] == r:
            out[first] = scratch[first]
            first += 1


@inline
def binomial_weight(n_ranks, n_relevant, relevant_weight, other_weight):
    """Return the weight of all orders of some ranks with `n_relevant` relevant documents, 0 if that underflows."""
    if n_ranks < n_relevant:
        return 0.0
    weight = 1.0
    n_scales = 0
    for r in range(1, n_ranks + 1):
        weight *= relevant_weight if r <= n_relevant else r / (r - n_relevant) * other_weight
        if weight < SMALL:
            weight *= SCALE
            n_scales -= 1
        elif weight > 1.0 / SMALL:
            weight /= SCALE
            n_scales += 1
    return weight if n_scales == 0 else 0.0
