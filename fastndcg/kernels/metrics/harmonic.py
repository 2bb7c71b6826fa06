"""Sums of reciprocals of whole numbers, in a time that does not depend on how many there are."""

import math

from fastndcg.kernels.jit import inline

FEW = 64  # terms of a harmonic sum that are added up; above, the rest of the series is below 2e-17


@inline
def sum_reciprocals(first, last):
    """Return 1/first + … + 1/last, for whole numbers."""
    if last - first < FEW:
        return add_reciprocals(first, last)
    start = first
    total = 0.0
    if first < FEW:
        total = add_reciprocals(first, FEW - 1.0)
        start = float(FEW)
    below = start - 1.0
    total += math.log1p((last - below) / below) - 0.5 * (last - below) / (last * below)
    return total + series_rest(last) - series_rest(below)


@inline
def add_reciprocals(first, last):
    """Return 1/first + … + 1/last, added up from the smallest on."""
    total = 0.0
    i = last
    while i >= first:
        total += 1.0 / i
        i -= 1.0
    return total


@inline
def series_rest(n):
    """Return the terms of the harmonic number of n behind its logarithm, Euler's constant and 1 / (2 n)."""
    square = 1.0 / (n * n)
    return -square * (1.0 / 12.0 - square * (1.0 / 120.0 - square / 252.0))
