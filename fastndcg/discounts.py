"""Discounts by rank and their running sums, made once and kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fastndcg.rankings import Array
from fastndcg.texts import Value


class Discounts(NamedTuple):
    """
    `values[r]` belongs to rank r; `sums[r] + rests[r]` is the sum of the first r of them.

    Of RBP's it is that sum less the sum of all: of what fades like that, the first ranks' sum would hide the rest.
    """

    values: Array
    sums: Array
    rests: Array
    highest: float


FORMULAS: dict[Value, Callable[[Array], Array]] = {
    "log2": lambda ranks: 1.0 / np.log2(ranks + 1.0),
    "log2(max(r, 2))": lambda ranks: 1.0 / np.log2(np.maximum(ranks, 2.0)),
    "1/r": lambda ranks: 1.0 / ranks,
}
_kept: dict[Value, Discounts] = {}


def discounts_of(discount: Value, n_ranks: int) -> Discounts:
    """The discounts of ranks 1 to `n_ranks` or more: by a formula, those of a table and then 0, or RBP's of a p."""
    known = _kept.get(discount)
    if known is not None and len(known.values) > n_ranks:
        return known
    n_ranks = max(1024, 1 << (int(n_ranks) - 1).bit_length())  # of a power of two itself: else each asks for more
    values = np.zeros(n_ranks + 1)
    if isinstance(discount, tuple):
        size = min(len(discount), n_ranks)
        values[1 : size + 1] = discount[:size]
    elif isinstance(discount, float):
        values[1:] = (1.0 - discount) * discount ** np.arange(float(n_ranks))
    else:
        values[1:] = FORMULAS[discount](np.arange(1.0, n_ranks + 1.0))
    if isinstance(discount, float):
        sums, rests = (-of_last[::-1] for of_last in running_sums(np.append(0.0, values[:0:-1])))
    else:
        sums, rests = running_sums(values)
    made = Discounts(values, sums, rests, float(values[1]))
    _kept[discount] = made
    return made


def running_sums(values: Array) -> tuple[Array, Array]:
    """
    Sum of the first r values, as a float64 and what it misses of the exact sum.

    The difference of two such sums is the sum of the values between them to full precision; of plain sums it would
    lose ten digits at rank 10⁷. A kernel would be no faster than its compilation.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # of a table: what it makes infinite is said of a query
        sums = np.add.accumulate(values)
        before = np.append(0.0, sums[:-1])
        kept = sums - before
        missed = before - (sums - kept)
        missed += np.subtract(values, kept, out=kept)
        return sums, np.add.accumulate(missed, out=missed)
