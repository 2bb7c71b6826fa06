"""
Normalise the scores of each run in each query, and give documents that a run lacks their share.

scores    (n_runs, n_documents) float64, NaN where a run lacks the document
ranks     (n_runs, n_documents) int32, from 1, the first of its tie group if ties share ranks, 0 where absent
ties      (n_runs, n_documents) int32, sizes of tie groups
offsets   (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
rules     a NamedTuple of the convention's numbers: see fusion/normalization.py
out       (n_runs, n_documents) float64, NaN where absent. May be `scores` itself

A normalisation maps a score x to (x - shift) / divisor. `describe_scores` gives both.
"""

import math

import numpy as np

from fastndcg.kernels.jit import inline, kernel

NONE = 0
MIN_MAX = 1
MIN_MAX_INVERTED = 2
MAX = 3
SUM = 4
Z_SCORE = 5
L2 = 6
DBSF = 7

AS_IS = 0
ZERO = 1
MINIMUM = 2
MEAN = 3

MIDDLE = 0.5  # of an interval from 0 to 1
EPSILON = 2.0**-52  # the mean of n scores has an error of less than n times this, relative to the largest one


@inline
def summarize(scores, r, start, stop):
    """Return the number of a run's scores, the lowest, the highest, their sum, and the sum of their squares."""
    n = 0
    low = np.inf
    high = -np.inf
    total = 0.0
    squares = 0.0
    for d in range(start, stop):
        x = scores[r, d]
        if not math.isnan(x):
            n += 1
            low = min(low, x)
            high = max(high, x)
            total += x
            squares += x * x
    return n, low, high, total, squares


@inline
def compute_deviation(scores, r, start, stop, mean, n):
    """Return the square root of the sum of squared differences from the mean, divided by n."""
    total = 0.0
    for d in range(start, stop):
        x = scores[r, d]
        if not math.isnan(x):
            total += (x - mean) * (x - mean)
    return math.sqrt(total / n) if n > 0 else 0.0


@inline
def scale_scores(scores, r, start, stop, shift, divisor, factor, out):
    """Write (x - shift) · factor / divisor for each score x of a run."""
    for d in range(start, stop):
        out[r, d] = (scores[r, d] - shift) * factor / divisor


@inline
def set_all(scores, r, start, stop, value, out):
    """Write one value for each score of a run."""
    for d in range(start, stop):
        out[r, d] = scores[r, d] if math.isnan(scores[r, d]) else value


@inline
def raise_lowest(r, start, stop, at_most, lowest, out):
    """Replace values of at most `at_most` by the convention's lowest value."""
    for d in range(start, stop):
        if out[r, d] <= at_most:
            out[r, d] = lowest


@inline
def clear_rounding(r, start, stop, at_most, out):
    """Replace values between -`at_most` and `at_most` by 0."""
    for d in range(start, stop):
        if abs(out[r, d]) <= at_most:
            out[r, d] = 0.0


@kernel
def normalize(scores, offsets, kind, rules, first, stop, out):
    """Normalise the scores of every run in the queries `first` up to `stop`."""
    for q in range(first, stop):
        start = offsets[q]
        end = offsets[q + 1]
        for r in range(scores.shape[0]):
            n, low, high, total, squares = summarize(scores, r, start, end)
            shift = 0.0
            divisor = 1.0
            factor = 1.0
            constant = 0.0
            is_constant = False
            if kind in (MIN_MAX, MIN_MAX_INVERTED):
                shift = low if kind == MIN_MAX else high
                factor = 1.0 if kind == MIN_MAX else -1.0
                divisor = max(high - low, rules.smallest_divisor)
                is_constant = n == 1 or high - low <= rules.equal_within
                constant = rules.single_document if n == 1 else rules.equal_scores
            elif kind == MAX:
                divisor = max(high, rules.smallest_divisor) if rules.smallest_divisor > 0.0 else abs(high)
                is_constant = divisor == 0.0
            elif kind == SUM:
                shift = low
                divisor = max(total - n * low, rules.smallest_divisor)
                is_constant = divisor <= 0.0
            elif kind == Z_SCORE:
                shift = total / max(n, 1)
                divisor = compute_deviation(scores, r, start, end, shift, n - rules.n_fewer)
                divisor = max(divisor, rules.smallest_divisor)
                is_constant = divisor == 0.0 or low == high
            elif kind == L2:
                divisor = math.sqrt(squares)
                if divisor <= rules.equal_within:
                    divisor = 1.0
            elif kind == DBSF:
                mean = total / max(n, 1)
                deviation = compute_deviation(scores, r, start, end, mean, n - 1)
                shift = mean - 3.0 * deviation
                divisor = 6.0 * deviation
                is_constant = low == high or divisor == 0.0
                constant = MIDDLE
            if n == 0 or is_constant:
                set_all(scores, r, start, end, constant, out)
            else:
                scale_scores(scores, r, start, end, shift, divisor, factor, out)
                if kind == Z_SCORE:  # a score equal to the mean ties with an absent document
                    clear_rounding(r, start, end, n * EPSILON * max(abs(low), abs(high)) / divisor, out)
            if rules.lowest_score > 0.0 and kind in (MIN_MAX, MIN_MAX_INVERTED, Z_SCORE):
                raise_lowest(r, start, end, 0.0, rules.lowest_score, out)


@kernel
def fill_absent(offsets, treatment, first, stop, out):
    """Replace the NaN of absent documents by 0, or by the lowest or the mean value of the run, 0 for an empty run."""
    for q in range(first, stop):
        for r in range(out.shape[0]):
            value = 0.0
            if treatment != ZERO:
                n, low, _, total, _ = summarize(out, r, offsets[q], offsets[q + 1])
                if n > 0:
                    value = low if treatment == MINIMUM else total / n
            for d in range(offsets[q], offsets[q + 1]):
                if math.isnan(out[r, d]):
                    out[r, d] = value
