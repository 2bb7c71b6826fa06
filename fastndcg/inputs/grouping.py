"""Rows of the same query brought together, whatever their order and their ids."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastndcg.inputs.columns import WORD, Column
from fastndcg.rankings import Array, read_only
from fastndcg.threads import checked_threads, run_all

SPAN = 1 << 17  # rows that a thread works on before it asks for more


class Groups(NamedTuple):
    """
    Queries in order of first appearance, and the rows that each owns.

    `rows` brings them together, None where they are so already; in row firsts[q] query q first appears.
    """

    offsets: Array
    rows: Array | None
    firsts: Array


def group(column: Column, threads: int | None = None) -> Groups:
    """Group rows by their ids."""
    starts = _starts(column, threads)
    return group_runs(column, starts, starts, len(column))


def _starts(column: Column, threads: int | None) -> Array:
    """The rows whose id is another than that of the row before."""
    from fastndcg.kernels import ids as kernels

    n_rows = len(column)
    starts: dict[int, Array] = {}

    def find(span: tuple[int, int]) -> None:
        first, stop = span
        found = np.empty(stop - first, "i8")
        if column.ids.width == WORD:
            n_runs = kernels.find_word_runs(column.numbers(), first, stop, found)
        else:
            n_runs = kernels.find_runs(column.ids, first, stop, found)
        starts[first] = found[:n_runs].copy()

    n_threads = checked_threads(threads) if n_rows > SPAN else 1
    shares = list(pairwise([*range(0, n_rows, SPAN if n_threads > 1 else max(n_rows, 1)), n_rows]))
    run_all(shares, lambda: find, min(max(len(shares), 1), n_threads))
    return np.concatenate([starts[first] for first in sorted(starts)]) if starts else np.empty(0, "i8")


def group_runs(column: Column, id_rows: Array, starts: Array, n_rows: int) -> Groups:
    """Group runs of rows that have the same id: run r is from starts[r] on, and its id is in row id_rows[r]."""
    from fastndcg.kernels import ids as kernels

    if column.ids.width == WORD and _all_differ(column.numbers()[id_rows]):
        return Groups(np.append(starts, n_rows), None, id_rows)
    numbers, firsts = np.empty(len(starts), "i8"), np.empty(len(starts), "i8")
    n_queries = kernels.number(column.ids, read_only(id_rows), numbers, firsts)
    firsts = firsts[:n_queries].copy()
    new = np.diff(numbers, prepend=-1) != 0
    if np.count_nonzero(new) == n_queries:
        return Groups(np.append(starts[new], n_rows), None, firsts)
    offsets, rows = np.empty(n_queries + 1, "i8"), np.empty(n_rows, "i8")
    kernels.gather_runs(numbers, starts, n_rows, offsets, rows)
    return Groups(offsets, rows, firsts)


def _all_differ(numbers: Array) -> bool:
    """Whether numbers rise, or fall, all the time, so that none comes again: quickly seen."""
    return bool((numbers[1:] > numbers[:-1]).all() or (numbers[1:] < numbers[:-1]).all())


def spans(offsets: Array, size: int = SPAN) -> list[tuple[int, int]]:
    """Consecutive queries with about as many rows each, for threads to share."""
    stops = np.searchsorted(offsets, np.arange(size, int(offsets[-1]) + 1, size), side="left")
    bounds = np.unique(np.concatenate([[0], stops, [len(offsets) - 1]])).tolist()
    return list(pairwise(bounds))
