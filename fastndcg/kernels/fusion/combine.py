"""
Combine the points that runs give to a document to its fused score.

points     (n_runs, n_documents) float64, NaN where a run does not count
weights    (n_runs,) float64
number     the parameter of the method, such as an exponent
is_single  True to round each step to float32, of weighted sums and means. None for others, and for float64
first, stop  the documents
ranks      (n_runs, n_documents) int32, from 1, equal for documents of a tie group that share ranks, 0 where absent
offsets    (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
out        (n_documents,) float64
"""

import math

import numpy as np

from fastndcg.kernels.fusion.points import to_single
from fastndcg.kernels.jit import inline, kernel


@inline
def count_runs(points, d):
    """Return the number of runs that count for a document."""
    n = 0
    for r in range(points.shape[0]):
        n += not math.isnan(points[r, d])
    return n


@inline
def add_points(points, weights, d):
    """Return the weighted sum over the runs that count, in their order."""
    total = 0.0
    for r in range(points.shape[0]):
        if not math.isnan(points[r, d]):
            total += weights[r] * points[r, d]
    return total


@inline
def maybe_single(x, is_single):
    """Return a number, rounded to float32 unless `is_single` is None."""
    if is_single is None:
        return x
    return to_single(x)


@kernel
def comb_min(points, weights, number, is_single, first, stop, out):
    """Write the lowest points of each document."""
    for d in range(first, stop):
        low = np.inf
        for r in range(points.shape[0]):
            if points[r, d] < low:
                low = points[r, d]
        out[d] = low


@kernel
def comb_max(points, weights, number, is_single, first, stop, out):
    """Write the highest points of each document."""
    for d in range(first, stop):
        high = -np.inf
        for r in range(points.shape[0]):
            if points[r, d] > high:
                high = points[r, d]
        out[d] = high


@kernel(allocates=True)
def comb_med(points, weights, number, is_single, first, stop, out):
    """Write the median of each document's points, the mean of the middle two of an even number."""
    ordered = np.empty(points.shape[0])
    for d in range(first, stop):
        n = 0
        for r in range(points.shape[0]):
            if not math.isnan(points[r, d]):
                i = n
                while i > 0 and ordered[i - 1] > points[r, d]:
                    ordered[i] = ordered[i - 1]
                    i -= 1
                ordered[i] = points[r, d]
                n += 1
        out[d] = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2.0


@kernel
def weighted_sum(points, weights, number, is_single, first, stop, out):
    """Write the weighted sum of each document's points."""
    for d in range(first, stop):
        total = 0.0
        for r in range(points.shape[0]):
            if not math.isnan(points[r, d]):
                total = maybe_single(total + maybe_single(weights[r] * points[r, d], is_single), is_single)
        out[d] = total


@kernel
def comb_anz(points, weights, number, is_single, first, stop, out):
    """Write the mean of each document's points."""
    for d in range(first, stop):
        out[d] = add_points(points, weights, d) / count_runs(points, d)


@kernel
def comb_mnz(points, weights, number, is_single, first, stop, out):
    """Write the sum of each document's points times the number of runs."""
    for d in range(first, stop):
        out[d] = add_points(points, weights, d) * count_runs(points, d)


@kernel
def comb_gmnz(points, weights, number, is_single, first, stop, out):
    """Write the weighted sum of each document's points times a power of the number of runs."""
    for d in range(first, stop):
        out[d] = add_points(points, weights, d) * count_runs(points, d) ** number


@kernel
def wmnz(points, weights, number, is_single, first, stop, out):
    """Write the sum of each document's points times the sum of the weights of its runs."""
    for d in range(first, stop):
        total = 0.0
        weight = 0.0
        for r in range(points.shape[0]):
            if not math.isnan(points[r, d]):
                total += points[r, d]
                weight += weights[r]
        out[d] = total * weight


@kernel
def log_mnz(points, weights, number, is_single, first, stop, out):
    """Write the sum of each document's points times the logarithm of the number of runs plus `number`."""
    for d in range(first, stop):
        out[d] = add_points(points, weights, d) * math.log(count_runs(points, d) + number)


@kernel
def arithmetic_mean(points, weights, number, is_single, first, stop, out):
    """Write the weighted mean of each document's points."""
    for d in range(first, stop):
        total = 0.0
        weight = 0.0
        for r in range(points.shape[0]):
            if not math.isnan(points[r, d]):
                total = maybe_single(total + maybe_single(weights[r] * points[r, d], is_single), is_single)
                weight = maybe_single(weight + weights[r], is_single)
        out[d] = maybe_single(total / weight, is_single) if weight > 0.0 else 0.0


@kernel
def geometric_mean(points, weights, number, is_single, first, stop, out):
    """Write the weighted geometric mean of each document's points above 0."""
    for d in range(first, stop):
        total = 0.0
        weight = 0.0
        for r in range(points.shape[0]):
            if points[r, d] > 0.0:
                total = maybe_single(total + weights[r] * math.log(points[r, d]), is_single)
                weight = maybe_single(weight + weights[r], is_single)
        mean = maybe_single(total / weight, is_single) if weight > 0.0 else 0.0
        out[d] = maybe_single(math.exp(mean), is_single) if weight > 0.0 else 0.0


@kernel
def harmonic_mean(points, weights, number, is_single, first, stop, out):
    """Write the weighted harmonic mean of each document's points above 0."""
    for d in range(first, stop):
        total = 0.0
        weight = 0.0
        for r in range(points.shape[0]):
            if points[r, d] > 0.0:
                total = maybe_single(total + maybe_single(weights[r] / points[r, d], is_single), is_single)
                weight = maybe_single(weight + weights[r], is_single)
        out[d] = maybe_single(weight / total, is_single) if weight > 0.0 else 0.0


@kernel
def condorcet(ranks, weights, offsets, first, stop, out):
    """
    Count the majorities of the documents of the queries `first` up to `stop`.

    Write 1 + the number of documents that more votes rank below it than above it + half the number of draws. A run
    has its weight as votes, and ranks its documents above all others.
    """
    for q in range(first, stop):
        start = offsets[q]
        end = offsets[q + 1]
        out[start:end] = 1.0
        for d in range(start, end):
            for other in range(d + 1, end):
                votes = 0.0
                for r in range(ranks.shape[0]):
                    rank = ranks[r, d]
                    rival = ranks[r, other]
                    if rank != rival:
                        is_above = rank != 0 and (rival == 0 or rank < rival)
                        votes += weights[r] if is_above else -weights[r]
                if votes > 0.0:
                    out[d] += 1.0
                elif votes < 0.0:
                    out[other] += 1.0
                else:
                    out[d] += 0.5
                    out[other] += 0.5
