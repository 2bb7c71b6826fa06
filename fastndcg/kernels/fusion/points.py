"""
Give documents points, and combine the points that runs give to a document to its fused score.

Points are normalised scores, or points by ranks. Documents that a run lacks get a share.

scores    (n_runs, n_documents) float64, NaN where a run lacks the document
offsets   (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
rules     `Rules`, the convention's numbers
ranks     (n_runs, n_documents) int32, from 1, 0 where absent. The first of its tie group if ties share ranks
ties      (n_runs, n_documents) int32, sizes of tie groups: documents of a group share the mean of their points
sizes     (n_runs, n_queries) int64, how many documents each run has
tables    (n_runs, n_entries) float64, points of the ranks 1, 2, …, or what a method needs to compute them
kind      the rule: see the constants
number    a parameter of the rule, the half of a window, or of the method, such as an exponent
absent    what a document gets that a run lacks, NaN to mark it
is_own    True if a rule that has points for such documents gives them in place of `absent`
out       (n_runs, n_documents) float64, NaN where absent, or (n_documents,) float64 fused scores
points    (n_runs, n_documents) float64, NaN where a run does not count
weights   (n_runs,) float64
is_single    True to round each step to float32, of weighted sums and means. None for others, and for float64
first, stop  the queries, or the documents that are combined

A normalisation maps a score x to (x - shift) / divisor. Very large and very small scores are first multiplied by a
power of two, their unit. Then no sum of their squares overflows or is lost. The unit of other scores is 1.
"""

import math
from typing import NamedTuple

import numpy as np

from fastndcg.kernels.jit import helper, inline, kernel
from fastndcg.kernels.ranking.sort import sort_descending
from fastndcg.kernels.simd import min_int64

# normalisations
NONE = 0
MIN_MAX = 1
MIN_MAX_INVERTED = 2
MAX = 3
SUM = 4
Z_SCORE = 5
L2 = 6
DBSF = 7

# points by rank
TABLE = 0  # tables[r, rank - 1], and 0 beyond the table
BORDA = 1  # N - rank + 1 of N documents of the union; absent ones share the points that are left
RANK = 2  # 1 - (rank - 1) / n of n documents of the run
BORDA_SHARE = 3  # 1 - (rank - 1) / N; absent ones 1 / 2 - (n - 1) / (2 N)
SEGMENT = 4  # tables[r, s] / (s + 1), where s counts segments of equal size from 0
WINDOW = 5  # the mean of the table's entries of the ranks within `number` of this one

# what absent documents get
ZERO = 1
MINIMUM = 2
MEAN = 3

# how engines round, of which the scores are float32
DOUBLE = 0
SINGLE = 1  # differences and quotients to float32, sums in float64
SINGLE_SUMS = 2  # sums of squares, too

# bounds of min_max
NO_BOUND = 0
APPLY = 1  # the bound is the lowest (or highest) score for scores on the right side of it
CLIP = 2  # scores beyond the bound become it

MIDDLE = 0.5  # of an interval from 0 to 1
LARGEST = 2.0**480  # a sum of squares of 2**60 such scores is finite
SMALLEST = 2.0**-400  # the square of a difference of two such scores has all its bits
SHRINK = 2.0**-600
ENLARGE = 2.0**600
EPSILON = 2.0**-52  # the mean of n scores has an error of less than n times this, relative to the largest one


class Rules(NamedTuple):
    """The numbers of a convention."""

    smallest_divisor: float
    equal_within: float
    equal_scores: float
    single_document: float
    lowest_score: float
    n_fewer: int
    precision: int  # DOUBLE, SINGLE or SINGLE_SUMS
    lower_mode: int  # NO_BOUND, APPLY or CLIP
    lower: float
    upper_mode: int
    upper: float


@inline
def find_unit(low, high):
    """Return the power of two by which scores between two bounds are multiplied before their squares are summed."""
    largest = max(abs(low), abs(high))
    if largest > LARGEST:
        return SHRINK
    return ENLARGE if 0.0 < largest < SMALLEST else 1.0


@inline
def summarize(scores, r, start, stop, unit):
    """Return the number of a run's scores, the lowest, the highest, their sum, and the sum of their squares."""
    n = 0
    low = np.inf
    high = -np.inf
    total = 0.0
    squares = 0.0
    for d in range(start, stop):
        x = scores[r, d] * unit
        if not math.isnan(x):
            n += 1
            low = min(low, x)
            high = max(high, x)
            total += x
            squares += x * x
    return n, low, high, total, squares


@inline
def compute_deviation(scores, r, start, stop, unit, mean, n):
    """Return the square root of the sum of squared differences from the mean, divided by n."""
    total = 0.0
    for d in range(start, stop):
        x = scores[r, d] * unit
        if not math.isnan(x):
            total += (x - mean) * (x - mean)
    return math.sqrt(total / n) if n > 0 else 0.0


@inline
def to_single(x):
    """Return a number rounded to float32."""
    return np.float64(np.float32(x))


@inline
def scale_scores(scores, r, start, stop, unit, shift, divisor, is_single, out):
    """Write (x - shift) / divisor for each score x of a run, with each step rounded to float32 if asked."""
    if is_single:  # float32 has scores of no other unit
        for d in range(start, stop):
            out[r, d] = to_single(to_single(scores[r, d] - shift) / divisor)
    else:
        for d in range(start, stop):
            out[r, d] = (scores[r, d] * unit - shift) / divisor


@inline
def sum_squares_single(scores, r, start, stop, precision):
    """Return the sum of a run's squares, each of them rounded to float32, and with SINGLE_SUMS the sums."""
    values = np.empty(stop - start)
    order = np.empty(stop - start, np.int32)
    n = 0
    for d in range(start, stop):
        if not math.isnan(scores[r, d]):
            values[n] = scores[r, d]
            order[n] = n
            n += 1
    sort_descending(values, n, np.empty(n, np.int32), order)  # the order in which an engine adds up the run
    total = 0.0
    for i in range(n):
        total += to_single(values[order[i]] * values[order[i]])
        if precision == SINGLE_SUMS:
            total = to_single(total)
    return total


@inline
def find_bottom(x, low, high, rules, unit):
    """Return the lowest score for a score x: the run's, or its bound unless all scores are below that."""
    bound = rules.lower * unit
    is_bound = rules.lower_mode == APPLY and high > bound and x > bound
    is_bound |= rules.lower_mode == CLIP and high >= bound
    return bound if is_bound else low


@inline
def find_top(x, low, high, rules, unit):
    """Return the highest score for a score x: the run's, or its bound unless all scores are above that."""
    bound = rules.upper * unit
    is_bound = rules.upper_mode == APPLY and low < bound and x < bound
    is_bound |= rules.upper_mode == CLIP and low <= bound
    return bound if is_bound else high


@helper
def scale_within_bounds(scores, r, start, stop, unit, low, high, rules, out):
    """
    Write the min_max of each score x of a run, where bounds replace its lowest score `low` and its highest one `high`.

    With CLIP scores beyond a bound get 0 or 1. As in OpenSearch a bound may hold for some scores of a run alone.
    """
    for d in range(start, stop):
        x = scores[r, d] * unit
        bottom = find_bottom(x, low, high, rules, unit)
        top = find_top(x, low, high, rules, unit)
        divisor = max(top - bottom, rules.smallest_divisor * unit)
        if math.isnan(x):
            out[r, d] = x
        elif rules.lower_mode == CLIP and x < bottom:
            out[r, d] = 0.0
        elif rules.upper_mode == CLIP and x > top:
            out[r, d] = 1.0
        elif top == bottom:
            out[r, d] = rules.equal_scores
        elif rules.precision == DOUBLE:
            out[r, d] = (x - bottom) / divisor
        else:
            out[r, d] = to_single(to_single(x - bottom) / to_single(divisor))


@inline
def set_all(scores, r, start, stop, value, out):
    """Write one value for each score of a run."""
    for d in range(start, stop):
        out[r, d] = scores[r, d] if math.isnan(scores[r, d]) else value


@inline
def clear_rounding(r, start, stop, at_most, out):
    """Replace values between -`at_most` and `at_most` by 0."""
    for d in range(start, stop):
        if abs(out[r, d]) <= at_most:
            out[r, d] = 0.0


@inline
def find_scale(scores, r, start, end, kind, rules, unit, summary):
    """
    Return how a rule maps the scores of a run to (x - shift) / divisor, or to a constant.

    summary  what `summarize` returns
    """
    n, low, high, total, squares = summary
    least = rules.smallest_divisor * unit
    equal_within = rules.equal_within * unit
    shift = 0.0
    divisor = 1.0
    constant = 0.0
    is_constant = n == 0
    if kind in (MIN_MAX, MIN_MAX_INVERTED):
        shift = low if kind == MIN_MAX else high
        divisor = max(high - low, least) if kind == MIN_MAX else -max(high - low, least)
        is_constant = n <= 1 or high - low <= equal_within
        constant = rules.single_document if n == 1 else rules.equal_scores
    elif kind == MAX:
        divisor = max(high, least) if least > 0.0 else abs(high)
        is_constant |= divisor == 0.0
    elif kind == SUM:
        shift = low
        divisor = max(total - n * low, least)
        is_constant |= divisor <= 0.0
    elif kind == Z_SCORE:
        shift = total / max(n, 1)
        divisor = max(compute_deviation(scores, r, start, end, unit, shift, n - rules.n_fewer), least)
        is_constant |= divisor == 0.0 or low == high
    elif kind == L2:
        if rules.precision != DOUBLE:
            squares = sum_squares_single(scores, r, start, end, rules.precision)
        divisor = math.sqrt(squares)
        if divisor <= equal_within:
            divisor = unit  # keeps the scores
    elif kind == DBSF:
        mean = total / max(n, 1)
        deviation = compute_deviation(scores, r, start, end, unit, mean, n - 1)
        shift = mean - 3.0 * deviation
        divisor = 6.0 * deviation
        is_constant |= low == high or divisor == 0.0
        constant = MIDDLE
    return shift, divisor, is_constant, constant


@kernel(allocates=True)
def normalize(scores, offsets, kind, rules, first, stop, out):
    """Normalise the scores of every run in the queries `first` up to `stop`."""
    has_bounds = rules.lower_mode != NO_BOUND or rules.upper_mode != NO_BOUND
    for q in range(first, stop):
        start = offsets[q]
        end = offsets[q + 1]
        for r in range(scores.shape[0]):
            summary = summarize(scores, r, start, end, 1.0)
            n, low, high, _, _ = summary
            unit = 1.0 if kind in (NONE, MAX) else find_unit(low, high)  # these two sum nothing
            if unit != 1.0:
                summary = summarize(scores, r, start, end, unit)
                n, low, high, _, _ = summary
            shift, divisor, is_constant, constant = find_scale(scores, r, start, end, kind, rules, unit, summary)
            if is_constant:
                set_all(scores, r, start, end, constant, out)
            elif has_bounds:
                scale_within_bounds(scores, r, start, end, unit, low, high, rules, out)
            else:
                is_single = rules.precision != DOUBLE and kind != NONE
                if is_single:
                    shift = to_single(shift)
                    divisor = divisor if kind == L2 and rules.precision != SINGLE_SUMS else to_single(divisor)
                scale_scores(scores, r, start, end, unit, shift, divisor, is_single, out)
                if kind == Z_SCORE and not is_single:  # a score equal to the mean ties with an absent document
                    clear_rounding(r, start, end, n * EPSILON * max(abs(low), abs(high)) / divisor, out)
            if rules.lowest_score > 0.0 and kind in (MIN_MAX, MIN_MAX_INVERTED, Z_SCORE):
                for d in range(start, end):
                    if out[r, d] <= 0.0:
                        out[r, d] = rules.lowest_score


@kernel
def fill_absent(offsets, treatment, first, stop, out):
    """Replace the NaN of absent documents by 0, or by the lowest or the mean value of the run, 0 for an empty run."""
    for q in range(first, stop):
        for r in range(out.shape[0]):
            value = 0.0
            if treatment != ZERO:
                n, low, _, total, _ = summarize(out, r, offsets[q], offsets[q + 1], 1.0)
                if n > 0:
                    value = low if treatment == MINIMUM else total / n
                if treatment == MEAN and math.isinf(total):
                    _, _, _, total, _ = summarize(out, r, offsets[q], offsets[q + 1], SHRINK)
                    value = total / n / SHRINK
            for d in range(offsets[q], offsets[q + 1]):
                if math.isnan(out[r, d]):
                    out[r, d] = value


@inline
def fill_points(kind, tables, r, n, n_union, number, out_points):
    """Write the points of the ranks 1 to n of a run."""
    n_entries = tables.shape[1]
    if kind == TABLE:
        for i in range(n):
            out_points[i] = tables[r, i] if i < n_entries else 0.0
    elif kind == BORDA:
        for i in range(n):
            out_points[i] = n_union - i
    elif kind == RANK:
        for i in range(n):
            out_points[i] = 1.0 - i / n
    elif kind == BORDA_SHARE:
        for i in range(n):
            out_points[i] = 1.0 - i / n_union
    elif kind == SEGMENT:
        size = (n + n_entries - 1) // n_entries
        for i in range(n):
            out_points[i] = tables[r, i // size] / (i // size + 1)
    elif kind == WINDOW:
        half = np.int64(number)
        for i in range(n):
            begin = -min_int64(half - i, 0)
            end = min_int64(i + half, n - 1)
            total = 0.0
            for j in range(begin, min_int64(end + 1, n_entries)):
                total += tables[r, j]
            out_points[i] = total / (end - begin + 1)


@inline
def find_absent_points(kind, n, n_union, absent):
    """Return the points of a document that a run lacks."""
    if kind == BORDA:
        return (n_union - n + 1) / 2.0
    if kind == BORDA_SHARE:
        return 0.5 - (n - 1) / (2.0 * n_union)
    return absent


@kernel(allocates=True)
def score_ranks(ranks, ties, offsets, sizes, tables, kind, number, absent, is_own, first, stop, out):
    """Write the points of every run in the queries `first` up to `stop`."""
    longest = 0
    for q in range(first, stop):
        longest = max(longest, offsets[q + 1] - offsets[q])
    points = np.empty(longest)
    for q in range(first, stop):
        n_union = offsets[q + 1] - offsets[q]
        for r in range(ranks.shape[0]):
            n = sizes[r, q]
            fill_points(kind, tables, r, n, n_union, number, points)
            share = find_absent_points(kind, n, n_union, absent) if is_own else absent
            for d in range(offsets[q], offsets[q + 1]):
                rank = ranks[r, d]
                if rank == 0:
                    out[r, d] = share
                elif ties[r, d] == 1:
                    out[r, d] = points[rank - 1]
                else:
                    total = 0.0
                    for i in range(rank - 1, rank - 1 + ties[r, d]):
                        total += points[i]
                    out[r, d] = total / ties[r, d]


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
