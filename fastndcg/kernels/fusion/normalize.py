"""
Normalise the scores of each run in each query, and give documents that a run lacks their share.

scores    (n_runs, n_documents) float64, NaN where a run lacks the document
offsets   (n_queries + 1,) int64, query q owns documents offsets[q] up to offsets[q + 1]
rules     `Rules`, the convention's numbers
out       (n_runs, n_documents) float64, NaN where absent. May be `scores` itself

A normalisation maps a score x to (x - shift) / divisor. Very large and very small scores are first multiplied by a
power of two, their unit. Then no sum of their squares overflows or is lost. The unit of other scores is 1.
"""

import math
from typing import NamedTuple

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

ZERO = 1
MINIMUM = 2
MEAN = 3

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
def scale_scores(scores, r, start, stop, unit, shift, divisor, out):
    """Write (x - shift) / divisor for each score x of a run."""
    for d in range(start, stop):
        out[r, d] = (scores[r, d] * unit - shift) / divisor


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
            n, low, high, total, squares = summarize(scores, r, start, end, 1.0)
            unit = 1.0 if kind in (NONE, MAX) else find_unit(low, high)  # these two sum nothing
            if unit != 1.0:
                n, low, high, total, squares = summarize(scores, r, start, end, unit)
            least = rules.smallest_divisor * unit
            equal_within = rules.equal_within * unit
            shift = 0.0
            divisor = 1.0
            constant = 0.0
            is_constant = False
            if kind in (MIN_MAX, MIN_MAX_INVERTED):
                shift = low if kind == MIN_MAX else high
                divisor = max(high - low, least) if kind == MIN_MAX else -max(high - low, least)
                is_constant = n == 1 or high - low <= equal_within
                constant = rules.single_document if n == 1 else rules.equal_scores
            elif kind == MAX:
                divisor = max(high, least) if least > 0.0 else abs(high)
                is_constant = divisor == 0.0
            elif kind == SUM:
                shift = low
                divisor = max(total - n * low, least)
                is_constant = divisor <= 0.0
            elif kind == Z_SCORE:
                shift = total / max(n, 1)
                divisor = compute_deviation(scores, r, start, end, unit, shift, n - rules.n_fewer)
                divisor = max(divisor, least)
                is_constant = divisor == 0.0 or low == high
            elif kind == L2:
                divisor = math.sqrt(squares)
                if divisor <= equal_within:
                    divisor = unit  # keeps the scores
            elif kind == DBSF:
                mean = total / max(n, 1)
                deviation = compute_deviation(scores, r, start, end, unit, mean, n - 1)
                shift = mean - 3.0 * deviation
                divisor = 6.0 * deviation
                is_constant = low == high or divisor == 0.0
                constant = MIDDLE
            if n == 0 or is_constant:
                set_all(scores, r, start, end, constant, out)
            else:
                scale_scores(scores, r, start, end, unit, shift, divisor, out)
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
                n, low, _, total, _ = summarize(out, r, offsets[q], offsets[q + 1], 1.0)
                if n > 0:
                    value = low if treatment == MINIMUM else total / n
                if treatment == MEAN and math.isinf(total):
                    _, _, _, total, _ = summarize(out, r, offsets[q], offsets[q + 1], SHRINK)
                    value = total / n / SHRINK
            for d in range(offsets[q], offsets[q + 1]):
                if math.isnan(out[r, d]):
                    out[r, d] = value
