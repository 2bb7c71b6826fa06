"""
Dicts of dicts, read by machine code: each score once, and each document looked up once.

No text is coded: a document of the run finds its label in the dict of the judgments. Ids are looked at only where
documents of equal score differ in their labels, and a tie policy orders by id. Rows that hold anything but Python's
own texts and numbers are read by Python.
"""

from __future__ import annotations

import math
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidTypeError
from fastndcg.inputs.objects import KINDS, SMALL_NUMBERS, addresses, offsets_of
from fastndcg.inputs.tables import Qrels
from fastndcg.rankings import Array, Rankings, as_labels, read_only

HIGHEST_BYTE = 255
values_of = chain.from_iterable


class _Documents:
    """Of each query in a list of tuples, the documents."""

    __slots__ = ("_offsets", "_starts", "_tuples")

    def __init__(self, tuples: list[Any], starts: Array, offsets: Array) -> None:
        self._tuples = tuples
        self._starts = starts
        self._offsets = offsets

    def __getitem__(self, query: int) -> list[str]:
        first = int(self._starts[query])
        stop = first + int(self._offsets[query + 1] - self._offsets[query])
        return [document for _, document, _ in self._tuples[first:stop]]


class Judged(NamedTuple):
    """The queries of a run that have judgments, in the run's order, with their documents and rankings."""

    queries: list[str]
    rows: Any  # of each query, what gives its documents in their order
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

    Parameters
    ----------
    qrels : dict of dicts
        The judgments.
    is_own : bool
        Whether nobody else changes the dicts as long as these judgments are used; they are not copied then.

    Examples
    --------
    >>> DictQrels({"q1": {"d1": 2, "d2": 0}}).judged({"q1": {"d2": 0.5}, "q2": {"d1": 0.1}})
    Judged(queries=['q1'], rows=[{'d2': 0.5}], rankings=Rankings of 1 queries, 1 documents)
    """

    __slots__ = (
        "_addresses", "_are_listed", "_held", "_labels", "_numbers", "_offsets", "_relevant", "_rows", "_table"
    )  # fmt: skip

    def __init__(self, qrels: Any, *, is_own: bool = False) -> None:
        _check_rows(qrels, "qrels", "label")
        kept = {dict} if is_own else set()
        self._rows = {query: row if type(row) in kept else dict(row) for query, row in qrels.items() if row}
        self._offsets = offsets_of(self._rows.values())
        self._labels = self._read_labels()
        self._table: Qrels | None = None
        self._numbers: dict[str, int] | None = None

    def table(self) -> Qrels:
        """The judgments as a table, for runs that are tables."""
        if self._table is None:
            self._table = Qrels.from_dict(self._rows)
        return self._table

    @property
    def _places(self) -> dict[str, int]:
        """The queries' numbers."""
        if self._numbers is None:
            self._numbers = dict(zip(self._rows, range(len(self._rows)), strict=True))
        return self._numbers

    @property
    def queries(self) -> list[str]:
        """The queries that have judgments."""
        return list(self._rows)

    def judged(self, run: Any, *, tells_unjudged: bool = True) -> Judged:
        """
        Rank the documents of each query that has judgments.

        Unless it `tells_unjudged`, a document without a judgment is as one with the label 0, which is found sooner: no
        metric sees a difference but those that look at judgments.
        """
        from fastndcg.kernels import dicts as kernels

        _check_rows(run, "run", "score")
        queries, rows, places = self._known(run)
        offsets = offsets_of(rows)
        n_documents = int(offsets[-1])
        scores, judged = np.empty(n_documents), np.ones(n_documents, bool)
        labels = np.empty(n_documents, "u1" if self._labels.dtype == "u1" else "f8")
        is_open = np.empty(len(rows), bool)
        room = np.empty((2, int(np.diff(offsets).max(initial=0))), "i8")
        kernels.read_rows(
            addresses(rows), self._addresses, places, self._relevant, KINDS, SMALL_NUMBERS, offsets,
            tells_unjudged or not self._are_listed, room[0], room[1], scores, labels, judged, is_open,
        )  # fmt: skip
        for place in np.flatnonzero(is_open).tolist():
            span = slice(int(offsets[place]), int(offsets[place + 1]))
            scores[span], labels[span], judged[span] = _read_open(
                queries[place], rows[place], self._rows[queries[place]]
            )
        return self._ranked(queries, rows, places, offsets, scores, labels, judged if tells_unjudged else None)

    def judged_tuples(self, rows: list[Any], kind: type, *, tells_unjudged: bool = True) -> Judged | None:
        """
        Rank the same of a list of tuples (query, document, score) of one type; see `judged`.

        None if it is for Python to read: where a row is another thing, a query's rows are not together, or a document
        is there twice.
        """
        from fastndcg.kernels import tuples as kernels

        n_rows = len(rows)
        keys, hashes, starts, places = np.empty((4, n_rows), "i8")
        slots = np.empty(max(4, 1 << (2 * n_rows).bit_length()), "i4")
        scores, judged, offsets = np.empty(n_rows), np.ones(n_rows, bool), np.empty(n_rows + 1, "i8")
        labels, counts = np.empty(n_rows, "u1" if self._labels.dtype == "u1" else "f8"), np.empty(2, "i8")
        kernels.read_tuples(
            id(rows), id(kind), id(self._places), self._addresses, self._relevant, KINDS, SMALL_NUMBERS,
            tells_unjudged or not self._are_listed, keys, hashes, slots, starts, places, offsets, scores, labels,
            judged, counts,
        )  # fmt: skip
        n_queries, n_read = counts.tolist()
        queries = [rows[start][0] for start in starts[:n_queries].tolist()]
        if n_read < n_rows or len(set(queries)) < n_queries:
            return None
        n, offsets = int(offsets[n_queries]), read_only(offsets[: n_queries + 1].copy())
        documents = _Documents(rows, starts[:n_queries].copy(), offsets)
        given = judged[:n] if tells_unjudged else None
        return self._ranked(queries, documents, read_only(places[:n_queries]), offsets, scores[:n], labels[:n], given)

    def _ranked(
        self, queries: list[str], rows: Any, places: Array, offsets: Array, scores: Array, labels: Array,
        judged: Array | None,
    ) -> Judged:  # fmt: skip
        """What was read, as rankings; `judged` where it is told."""
        are_judged = judged is None or bool(judged.all())
        is_complete = judged is not None and are_judged and len(scores) == len(self._labels)
        made = Rankings.of_checked(
            read_only(labels), scores, offsets, read_only(np.array(queries, dtype=object)),
            None if judged is None or are_judged else read_only(judged), None if is_complete else self._pool(places),
        )  # fmt: skip
        named = made.placed_by(lambda name, place: self._name(queries, rows, offsets, name, place))
        return Judged(queries, rows, named)

    def _read_labels(self) -> Array:
        """All labels: bytes where they fit, else whole numbers, else float64; those that are not 0 are kept besides."""
        labels, (lowest, highest, n_fractions, n_open) = self._read()
        if n_open:
            given = self._plain_labels()
            self._read()  # anew: rows are others now, and what a kernel does not take still is not listed
            if given.dtype.kind == "f" or not len(given):
                return given
            labels, lowest, highest = given, float(given.min()), float(given.max())
        elif n_fractions:
            return read_only(labels)
        return read_only(labels.astype("u1" if lowest >= 0 and highest <= HIGHEST_BYTE else "i8"))

    def _read(self) -> tuple[Array, list[float]]:
        """The labels, and what there is to know about them."""
        from fastndcg.kernels import dicts as kernels

        n_labels, n_queries = int(self._offsets[-1]), len(self._rows)
        labels, about = np.empty(n_labels), np.empty(4)
        room = np.empty(n_labels + 1, "i8"), np.empty(n_labels + 1), np.empty(n_queries + 1, "i8")
        self._addresses = addresses(self._rows.values())
        self._held: list[str] = []
        held = id(self._held)
        kernels.read_judgments(self._addresses, KINDS, SMALL_NUMBERS, self._offsets, held, labels, room, about)
        n_relevant = int(room[2][-1])
        self._relevant = read_only(room[0][:n_relevant]), read_only(room[1][:n_relevant]), read_only(room[2])
        self._are_listed = not about[3]
        return labels, about.tolist()

    def _plain_labels(self) -> Array:
        """The labels of rows that hold other types; from now on the rows hold texts and Python's numbers alone."""
        for query, row in self._rows.items():
            _check_ids(query, row, "qrels")
        labels = as_labels(list(values_of(map(dict.values, self._rows.values()))), "labels")
        numbers = iter(labels.tolist())
        self._rows = {
            query: dict(zip(map(str.__str__, row), islice(numbers, len(row)), strict=True))
            for query, row in self._rows.items()
        }
        return labels

    def _known(self, run: dict[str, dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]], Array]:
        """The queries of a run that have judgments, their rows, and their numbers here."""
        queries, known = list(run), list(self._rows)
        if queries == known:
            return queries, list(run.values()), read_only(np.arange(len(known)))
        queries = [query for query in queries if query in self._rows]
        places = np.fromiter(map(self._places.__getitem__, queries), "i8", len(queries))
        return queries, list(map(run.__getitem__, queries)), read_only(places)

    def _pool(self, places: Array) -> tuple[Array, Array]:
        """All judged labels of some queries."""
        if len(places) == len(self._rows) and (places[1:] > places[:-1]).all():
            return self._labels, self._offsets
        sizes = np.diff(self._offsets)[places]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self._offsets[places] - offsets[:-1], sizes)
        return read_only(self._labels[rows]), read_only(offsets)

    def _name(self, queries: list[str], rows: Any, offsets: Array, name: str, place: int) -> str:
        """The id of a document of the run, or of the pool."""
        if name == "pool":
            rows = [self._rows[query] for query in queries]
            offsets = offsets_of(rows)
        query = int(np.searchsorted(offsets, place, side="right")) - 1
        documents: list[str] = list(rows[query])
        return documents[place - int(offsets[query])]


def _check_rows(rows: Any, name: str, value_name: str) -> None:
    """Refuse what is no dict of dicts with texts for queries."""
    if not isinstance(rows, dict):
        raise InvalidTypeError(f"`{name}` must be a dict that maps queries to dicts, but is a {type(rows).__name__}")
    if set(map(type, rows)) <= {str} and set(map(type, rows.values())) <= {dict}:  # as nearly always
        return
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


def _read_open(query: str, row: dict[str, Any], truth: dict[str, Any]) -> tuple[Array, list[Any], list[bool]]:
    """Scores and labels of a row that kernels do not read, 0 for those without one, and which have one."""
    _check_ids(query, row, "run")
    for document, score in row.items():
        if not isinstance(score, int | float) or (isinstance(score, int) and abs(score) >= 2**1024):
            raise InvalidTypeError(
                f"scores must be Python's floats or whole numbers within float64, but that of document "
                f"{document!r} of query {query!r} is {score!r}; use float()"
            )
    scores = np.fromiter(row.values(), "f8", len(row))
    return scores, [truth.get(document, 0) for document in row], [document in truth for document in row]
