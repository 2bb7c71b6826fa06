"""Ranks in place of scores: in each query 1, 2, 3 and so on, without ties and gaps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.group_by_query import Groups
from fastndcg.rankings.validation import Array

REMEDY = "For ranks with ties or gaps give a column of scores, such as -rank"


def convert_ranks(ranks: Array, groups: Groups, describe: Callable[[int], str], name: str) -> Array:
    """
    Return negative ranks as scores.

    Parameters
    ----------
    ranks : (n_rows,) array
        The rank of each row.
    groups : Groups
        The rows of each query.
    describe : callable
        A function that names the document and the query of a row, and its place.
    name : str
        The name of the run in error messages.
    """
    rows = np.arange(len(ranks)) if groups.rows is None else groups.rows
    ranks = np.asarray(ranks)
    with np.errstate(invalid="ignore"):
        is_wrong = ~((ranks >= 1) & (ranks == np.floor(ranks)) & (ranks < np.inf))
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        remedy = "Add 1 to all ranks" if ranks[row] == 0 else "Correct it, or give a column of scores"
        raise InvalidInputError(
            f"{name}: rank must be a whole number from 1 on, but that of {describe(row)} is {ranks[row]!s}. {remedy}"
        )
    sizes = np.repeat(np.diff(groups.offsets), np.diff(groups.offsets))
    starts = np.repeat(groups.offsets[:-1], np.diff(groups.offsets))
    in_order = ranks[rows]
    beyond = in_order > sizes
    if beyond.any():
        place = int(np.argmax(beyond))
        raise InvalidInputError(
            f"{name}: ranks must be 1, 2, 3 and so on in each query, but {describe(int(rows[place]))} has rank "
            f"{in_order[place]!s}, and its query has {sizes[place]} documents. {REMEDY}"
        )
    slots = starts + in_order.astype("i8") - 1
    is_repeated = np.bincount(slots, minlength=len(slots)) > 1
    if is_repeated.any():
        first, second = rows[np.flatnonzero(slots == int(np.argmax(is_repeated)))[:2]].tolist()
        raise InvalidInputError(
            f"{name}: ranks must differ in a query, but {describe(first)} and {describe(second)} both have rank "
            f"{ranks[first]!s}. {REMEDY}"
        )
    return -ranks.astype("f8")
