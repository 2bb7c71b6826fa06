"""
Dicts of dicts, read as fast as Python gives out what they hold: each score once, and each document looked up once.

No text is coded or compared: a document of the run finds its label in the dict of the judgments. Ids are looked at
only where documents of equal score differ in their labels, and a tie policy orders by id.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidTypeError
from fastndcg.rankings import Array, Rankings, as_labels, read_only

UNJUDGED = 255  # no label that fits one byte
values_of = chain.from_iterable


class Judged(NamedTuple):
    """The queries of a run that have judgments, in the run's order, with their rows and rankings."""

    queries: list[str]
    rows: list[dict[str, Any]]
    rankings: Rankings

    def with_tie_keys(self) -> Rankings:
        """The rankings with the order of ids, for documents that tie in float32 with one of another label."""
        from fastndcg.kernels.mixed import mark_mixed

        labels, offsets, judged = self.rankings.labels, self.rankings.offsets, self.rankings.judged
        kinds = labels.astype("f8") if judged is None else np.where(judged, labels, -math.inf)
        marked = np.zeros(len(labels), bool)
        with np.errstate(over="ignore"):  # beyond float32 is infinite, as in C
            mark_mixed(read_only(self.rankings.scores.astype("f4")), read_only(kinds), offsets, marked)
        keys = np.zeros(len(labels), "i8")
        n_marked = np.concatenate([[0], np.cumsum(marked)])[offsets]
        for query in np.flatnonzero(np.diff(n_marked)).tolist():
            first, ids = int(offsets[query]), list(self.rows[query])
            keys[[first + place for place in sorted(range(len(ids)), key=ids.__getitem__)]] = range(len(ids))
        return self.rankings.replace(tie_keys=keys)


class DictQrels:
    """
    Judgments {query: {document: label}}, ready for the runs of many systems. Ids are texts.

    Examples
    --------
    >>> DictQrels({"q1": {"d1": 2, "d2": 0}}).judged({"q1": {"d2": 0.5}, "q2": {"d1": 0.1}})
    Judged(queries=['q1'], rows=[{'d2': 0.5}], rankings=Rankings of 1 queries, 1 documents)
    """

    __slots__ = ("_are_bytes", "_labels", "_offsets", "_places", "_rows")

    def __init__(self, qrels: Any) -> None:
        _check_rows(qrels, "qrels", "label")
        self._rows = {query: dict(row) for query, row in qrels.items() if row}
        for query, row in self._rows.items():
            _check_ids(query, row, "qrels")
        self._labels = as_labels(list(values_of(map(dict.values, self._rows.values()))), "labels")
        self._offsets = _offsets(self._rows.values())
        self._places = dict(zip(self._rows, range(len(self._rows)), strict=True))
        is_whole = self._labels.dtype.kind in "iu"
        self._are_bytes = is_whole and bool(((self._labels >= 0) & (self._labels < UNJUDGED)).all())

    @property
    def queries(self) -> list[str]:
        """The queries that have judgments."""
        return list(self._rows)

    def judged(self, run: Any) -> Judged:
        """Rank the documents of each query that has judgments."""
        _check_rows(run, "run", "score")
        queries = list(run) if run.keys() == self._rows.keys() else [query for query in run if query in self._rows]
        rows = [run[query] for query in queries]
        scores = _scores(queries, rows)
        offsets = _offsets(rows)
        labels, judged = self._look_up(queries, rows, len(scores))
        if judged is not None:
            _check_strangers(queries, rows, offsets, judged)
        is_complete = judged is None and len(labels) == len(self._labels)
        pool = None if is_complete else self._pool(queries)
        ids = np.array(queries, dtype=object)
        made = Rankings(labels, scores, offsets, judged=judged, pool=pool, query_ids=ids)
        named = made.placed_by(lambda name, place: self._name(queries, rows, offsets, name, place))
        return Judged(queries, rows, named)

    def _look_up(
        self, queries: list[str], rows: list[dict[str, Any]], n_documents: int
    ) -> tuple[Array, Array | None]:  # fmt: skip
        """The labels of the run's documents, 0 for those without one, and which have one (None: all)."""
        if self._are_bytes:
            codes = bytearray()
            unjudged = repeat(UNJUDGED)
            for query, row in zip(queries, rows, strict=True):
                codes.extend(map(self._rows[query].get, row, unjudged))
            labels, judged = np.frombuffer(codes, "u1"), np.frombuffer(codes, "u1") != UNJUDGED
        else:
            nothing = repeat(math.nan)
            every = (map(self._rows[query].get, row, nothing) for query, row in zip(queries, rows, strict=True))
            labels = np.fromiter(values_of(every), "f8", n_documents)
            judged = labels == labels
        return (labels, None) if judged.all() else (np.where(judged, labels, labels.dtype.type(0)), judged)

    def _pool(self, queries: list[str]) -> tuple[Array, Array]:
        """All judged labels of some queries."""
        places = np.array([self._places[query] for query in queries], "i8")
        sizes = np.diff(self._offsets)[places]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self._offsets[places] - offsets[:-1], sizes)
        return self._labels[rows], offsets

    def _name(self, queries: list[str], rows: list[dict[str, Any]], offsets: Array, name: str, place: int) -> str:
        """The id of a document of the run, or of the pool."""
        if name == "pool":
            rows = [self._rows[query] for query in queries]
            offsets = _offsets(rows)
        query = int(np.searchsorted(offsets, place, side="right")) - 1
        return list(rows[query])[place - int(offsets[query])]


def _check_strangers(queries: list[str], rows: list[dict[str, Any]], offsets: Array, judged: Array) -> None:
    """Refuse ids that are no texts; those that were found among the judgments are."""
    n_judged = np.concatenate([[0], np.cumsum(judged)])[offsets]
    for place in np.flatnonzero(np.diff(n_judged) < np.diff(offsets)).tolist():
        _check_ids(queries[place], rows[place], "run")


def _check_rows(rows: Any, name: str, value_name: str) -> None:
    """Refuse what is no dict of dicts with texts for queries."""
    if not isinstance(rows, dict):
        raise InvalidTypeError(f"`{name}` must be a dict that maps queries to dicts, but is a {type(rows).__name__}")
    for query, row in rows.items():
        if not isinstance(query, str):
            raise InvalidTypeError(f"ids of queries in `{name}` must be texts, but one is {query!r}; use str()")
        if not isinstance(row, dict):
            raise InvalidTypeError(
                f"`{name}` must map queries to dicts of {value_name}s, but {query!r} maps to {row!r}"
            )


def _check_ids(query: str, row: dict[Any, Any], name: str) -> None:
    """Refuse documents that are no texts."""
    if not all(issubclass(kind, str) for kind in set(map(type, row))):
        odd = next(document for document in row if not isinstance(document, str))
        raise InvalidTypeError(
            f"ids of documents in `{name}` must be texts, but query {query!r} has {odd!r}; use str()"
        )


def _offsets(rows: Iterable[dict[str, Any]]) -> Array:
    sizes = np.fromiter(map(len, rows), "i8")
    return np.concatenate([[0], np.cumsum(sizes)])


def _scores(queries: list[str], rows: list[dict[str, Any]]) -> Array:
    """All scores, which are Python's floats and whole numbers: what adds up to a float is nothing else."""
    try:
        are_plain = type(sum(values_of(map(dict.values, rows)), 0.0)) is float
    except (TypeError, OverflowError):
        are_plain = False
    if not are_plain:
        _check_scores(queries, rows)
    return np.fromiter(values_of(map(dict.values, rows)), "f8", sum(map(len, rows)))


def _check_scores(queries: list[str], rows: list[dict[str, Any]]) -> None:
    for query, row in zip(queries, rows, strict=True):
        for document, score in row.items():
            if not isinstance(score, int | float) or (isinstance(score, int) and abs(score) >= 2**1024):
                raise InvalidTypeError(
                    f"scores must be Python's floats or whole numbers within float64, but that of document "
                    f"{document!r} of query {query!r} is {score!r}; use float()"
                )
