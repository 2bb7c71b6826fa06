"""
Add up the step functions of queries, and find the best weights of sets of queries.

Sums are pairs of float64, the rounded sum and its rest, so that no weight's sum depends on the steps before it.

Arguments that the kernels share:

weights  (n_steps,)    float64, where steps begin, in rising order
queries  (n_steps,)    int32, the query of each step
values   (n_steps,)    float64, the query's value from there on
state    (n_queries,)  float64, the value of each query at the lowest weight, NaN: it counts nowhere
"""

import numpy as np

from fastndcg.kernels.jit import inline, kernel

MIN_WIDTH = 1e-12  # shorter intervals are no choice: their weights have few digits that differ


@inline
def add_pair(high, rest, value):
    """Add a value to a pair, and return the new pair."""
    total = high + value
    part = total - high
    lost = rest + ((high - (total - part)) + (value - part))
    rounded = total + lost
    return rounded, lost - (rounded - total)


@kernel
def find_best(weights, queries, values, folds, sets, out_state, out_sums, out_best):
    """
    Find the interval of weights with the highest sum for each set of folds, the widest one if several have it.

    folds       (n_queries,) int32, the fold of each query
    sets        (n_sets, n_folds) uint8, 1 for the folds of a set
    out_state   `state`, which the kernel overwrites
    out_sums    (n_sets, 4) float64, scratch: the pair of the sum, the begin and the sum of the current interval
    out_best    (n_sets, 3) float64, the begin, the end and the sum of the best interval
    """
    n_sets = sets.shape[0]
    out_sums[:] = 0.0
    for s in range(n_sets):
        out_best[s, 0] = np.nan
        out_best[s, 1] = np.nan
        out_best[s, 2] = -np.inf
    for q in range(out_state.shape[0]):
        if out_state[q] == out_state[q]:
            for s in range(n_sets):
                if sets[s, folds[q]]:
                    out_sums[s, 0], out_sums[s, 1] = add_pair(out_sums[s, 0], out_sums[s, 1], out_state[q])
    for s in range(n_sets):
        out_sums[s, 3] = out_sums[s, 0]
    i = 0
    while i < weights.shape[0]:
        weight = weights[i]
        while i < weights.shape[0] and weights[i] - weight < MIN_WIDTH:
            q = queries[i]
            last = weights[i]
            if out_state[q] == out_state[q]:
                for s in range(n_sets):
                    if sets[s, folds[q]]:
                        high, rest = add_pair(out_sums[s, 0], out_sums[s, 1], -out_state[q])
                        out_sums[s, 0], out_sums[s, 1] = add_pair(high, rest, values[i])
                out_state[q] = values[i]
            i += 1
        for s in range(n_sets):
            if out_sums[s, 0] != out_sums[s, 3]:
                end_interval(s, weight, out_sums, out_best)
                out_sums[s, 2] = last
                out_sums[s, 3] = out_sums[s, 0]
    for s in range(n_sets):
        end_interval(s, 1.0, out_sums, out_best)


@inline
def end_interval(s, stop, out_sums, out_best):
    """Take the current interval of a set, which ends at `stop`, as its best one if it is better than that."""
    width = stop - out_sums[s, 2]
    best_width = out_best[s, 1] - out_best[s, 0]
    value = out_sums[s, 3]
    if width < MIN_WIDTH:
        return
    is_better = value > out_best[s, 2] or (value == out_best[s, 2] and width > best_width)
    if is_better:
        out_best[s, 0] = out_sums[s, 2]
        out_best[s, 1] = stop
        out_best[s, 2] = value


@kernel
def sum_curve(weights, queries, values, out_state, out_starts, out_sums):
    """
    Write the sum over all queries from each weight on, and return the number of weights.

    out_starts, out_sums  (n_steps + 1,) float64
    """
    high = 0.0
    rest = 0.0
    for q in range(out_state.shape[0]):
        if out_state[q] == out_state[q]:
            high, rest = add_pair(high, rest, out_state[q])
    out_starts[0] = 0.0
    out_sums[0] = high
    n = 1
    for i in range(weights.shape[0]):
        q = queries[i]
        if out_state[q] == out_state[q]:
            high, rest = add_pair(high, rest, -out_state[q])
            high, rest = add_pair(high, rest, values[i])
        out_state[q] = values[i]
        if i + 1 < weights.shape[0] and weights[i + 1] == weights[i]:
            continue
        if high != out_sums[n - 1]:
            out_starts[n] = weights[i]
            out_sums[n] = high
            n += 1
    return n


@kernel
def look_up(starts, values, offsets, points, out):
    """
    Write the value of each query at some weights.

    starts, values  (n_all_steps,) float64, query after query: where each value begins, and the value
    offsets         (n_queries + 1,) int64
    points          (n_points,) float64, in rising order
    out             (n_queries, n_points) float64
    """
    for q in range(offsets.shape[0] - 1):
        i = offsets[q]
        for p in range(points.shape[0]):
            while i + 1 < offsets[q + 1] and starts[i + 1] <= points[p]:
                i += 1
            out[q, p] = values[i]
