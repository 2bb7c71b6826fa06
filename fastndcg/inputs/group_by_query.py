"""Group rows by query, whatever their order and their ids."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastndcg.inputs.id_column import IdColumn
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array
from fastndcg.runtime.threads import check_threads, run_all

SPAN = 1 << 17  # rows in the piece of work of a thread


class Groups(NamedTuple):
    """
    The queries in order of first appearance, and their rows.

    Query q owns rows[offsets[q] : offsets[q + 1]]. `rows` equals None if the rows of each query are adjacent and in
    order. Row firsts[q] is the first of query q.
    """

    offsets: Array
    rows: Array | None
    firsts: Array


def group(column: IdColumn, threads: int | None = None) -> Groups:
    """Group rows by their ids."""
    starts = _find_runs(column, threads)
    return group_runs(column, starts, starts, len(column))


def _find_runs(column: IdColumn, threads: int | None) -> Array:
    """Return the rows whose id differs from the row before."""
    n_rows = len(column)
    starts: dict[int, Array] = {}

    def find(span: tuple[int, int]) -> None:
        starts[span[0]] = column.find_runs(*span)

    n_threads = check_threads(threads) if n_rows > SPAN else 1
    parts = list(pairwise([*range(0, n_rows, SPAN if n_threads > 1 else max(n_rows, 1)), n_rows]))
    run_all(parts, lambda: find, min(max(len(parts), 1), n_threads))
    return np.concatenate([starts[first] for first in sorted(starts)]) if starts else np.empty(0, "i8")


def group_runs(column: IdColumn, id_rows: Array, starts: Array, n_rows: int) -> Groups:
    """Group runs of rows with the same id. Run r begins in row starts[r], and its id is in row id_rows[r]."""
    if column.has_words and _is_monotonic(column.numbers()[id_rows]):
        return Groups(np.append(starts, n_rows), None, id_rows)
    codes, firsts = column.factorize(id_rows)
    firsts = firsts.copy()
    is_new = np.diff(codes, prepend=-1) != 0
    if np.count_nonzero(is_new) == len(firsts):
        return Groups(np.append(starts[is_new], n_rows), None, firsts)
    offsets = np.empty(len(firsts) + 1, "i8")
    rows = np.empty(n_rows, "i8")
    load_kernels("inputs.id_hashing").gather_runs(codes, starts, n_rows, offsets, rows)
    return Groups(offsets, rows, firsts)


def _is_monotonic(numbers: Array) -> bool:
    """Return True if numbers rise or fall throughout, so that none occurs twice."""
    return bool((numbers[1:] > numbers[:-1]).all() or (numbers[1:] < numbers[:-1]).all())


def split_spans(offsets: Array, size: int = SPAN) -> list[tuple[int, int]]:
    """Split consecutive queries into spans of about `size` rows each."""
    stops = np.searchsorted(offsets, np.arange(size, int(offsets[-1]) + 1, size), side="left")
    bounds = np.unique(np.concatenate([[0], stops, [len(offsets) - 1]])).tolist()
    return list(pairwise(bounds))
