"""
Judgments in dicts of dicts, for drop-ins that evaluate many runs of dicts.

No id is encoded: each document of a run is looked up in the dict of the judgments. Ids are ordered only where a tie
policy orders by id and documents of equal score have different labels.
"""

from __future__ import annotations

from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.dicts import (
    Judgments,
    LabelledRows,
    LabelsRead,
    check_document_ids,
    check_rows,
    convert_numpy_scores,
    count_offsets,
    read_labels,
    read_plain_row,
    read_rows,
    read_tuples,
)
from fastndcg.inputs.table import Qrels
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels, read_only

MAX_BYTE = 255


class _TupleDocuments:
    """The documents of each query in a list of tuples."""

    __slots__ = ("_offsets", "_starts", "_tuples")

    def __init__(self, tuples: list[Any], starts: Array, offsets: Array) -> None:
        self._tuples = tuples
        self._starts = starts
        self._offsets = offsets

    def __getitem__(self, query: int) -> list[str]:
        first = int(self._starts[query])
        stop = first + int(self._offsets[query + 1] - self._offsets[query])
        return [document for _, document, _ in self._tuples[first:stop]]


class _DictDocuments:
    """
    The documents of each query in a list of dicts.

    Documents are listed after scores and labels were read. A dict that no longer has them raises an error.
    """

    __slots__ = ("_judgments", "_offsets", "_queries", "_rows", "_values")

    def __init__(
        self,
        queries: list[str],
        rows: list[dict[str, Any]],
        judgments: dict[str, dict[str, Any]],
        values: LabelledRows,
        offsets: Array,
    ) -> None:
        self._queries = queries
        self._rows = rows
        self._judgments = judgments
        self._values = values
        self._offsets = offsets

    def __getitem__(self, query: int) -> list[str]:
        row = dict(self._rows[query])
        judgments = self._judgments[self._queries[query]]
        span = slice(int(self._offsets[query]), int(self._offsets[query + 1]))
        values = zip(self._values.scores[span].tolist(), self._values.labels[span].tolist(), strict=True)
        has_changed = len(row) != span.stop - span.start or any(
            not (score == old_score or score != score) or label != judgments.get(document, 0)
            for (document, score), (old_score, label) in zip(row.items(), values, strict=True)
        )
        if has_changed:
            raise InvalidInputError(
                "`run` must not change while it is evaluated, but a row did. Pass a copy that no other thread writes to"
            )
        return list(row)


class Judged(NamedTuple):
    """The queries of a run that have judgments, in the run's order, with their documents and rankings."""

    queries: list[str]
    rows: Any  # rows[q] lists the documents of query q in their order
    rankings: Rankings

    def with_tie_keys(self) -> Rankings:
        """
        Return the rankings with tie keys that order documents by id.

        Only queries in which documents with equal float32 scores have different labels get keys.
        """
        offsets = self.rankings.offsets
        labels = self.rankings.labels
        judged = self.rankings.judged
        kinds = labels.astype("f8") if judged is None else np.where(judged, labels, -np.inf)
        with np.errstate(over="ignore"):  # scores beyond float32 become infinite, as in C
            scores = self.rankings.scores.astype("f4")
        is_mixed = np.zeros(len(labels), bool)
        load_kernels("ranking.ties").mark_mixed_ties(read_only(scores), read_only(kinds), offsets, is_mixed)
        n_mixed = np.concatenate([[0], np.cumsum(is_mixed)])[offsets]
        tied_queries = np.flatnonzero(np.diff(n_mixed))
        keys = np.zeros(len(scores), "i8")
        for query in tied_queries.tolist():
            first = int(offsets[query])
            ids = self.rows[query]
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
        By default the dicts are copied. Pass True if they do not change while this object is in use.

    Examples
    --------
    >>> DictQrels({"q1": {"d1": 2, "d2": 0}}).judged({"q1": {"d2": 0.5}, "q2": {"d1": 0.1}}).rankings
    Rankings of 1 queries, 1 documents
    """

    __slots__ = (
        "_has_all_keys",
        "_held_keys",
        "_judgments",
        "_labels",
        "_offsets",
        "_query_numbers",
        "_rows",
        "_table",
    )

    def __init__(self, qrels: Any, *, is_own: bool = False) -> None:
        rows = check_rows(qrels, "qrels", "label")
        if not is_own:
            rows = {query: dict(row) for query, row in rows.items()}
        self._rows = {query: row for query, row in rows.items() if row}
        self._offsets = count_offsets(self._rows.values())
        self._labels = self._read_labels()
        self._table: Qrels | None = None
        self._query_numbers: dict[str, int] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Rebuild a copy from its dicts: the addresses that kernels read belong to this object's dicts."""
        return DictQrels, (self._rows,)

    def table(self) -> Qrels:
        """Return the judgments as a table, for runs that are tables."""
        if self._table is None:
            self._table = Qrels.from_dict(self._rows)
        return self._table

    @property
    def queries(self) -> list[str]:
        """The queries that have judgments."""
        return list(self._rows)

    def judged(self, run: Any, *, marks_unjudged: bool = True, allows_numpy: bool = False) -> Judged:
        """
        Rank the documents of each query that has judgments.

        Parameters
        ----------
        run : dict of dicts
            The scores.
        marks_unjudged : bool
            False treats unjudged documents as documents with label 0, which is faster. Only metrics that use
            judgments, such as bpref, need True.
        allows_numpy : bool
            True accepts scores that are NumPy's numbers.
        """
        queries, rows, numbers = self._match_queries(check_rows(run, "run", "score"))
        offsets = count_offsets(rows)
        labelled = read_rows(rows, numbers, self._judgments, offsets, self._label_dtype, self._look_up(marks_unjudged))
        for index in np.flatnonzero(labelled.is_open).tolist():
            span = slice(int(offsets[index]), int(offsets[index + 1]))
            row = dict(rows[index])
            if len(row) != span.stop - span.start:  # another thread changed it: read copies
                copies = dict(zip(queries, map(dict, rows), strict=True))
                return self.judged(copies, marks_unjudged=marks_unjudged, allows_numpy=allows_numpy)
            if allows_numpy:
                row = convert_numpy_scores(row)
            scores, labels, judged = read_plain_row(queries[index], row, self._rows[queries[index]])
            labelled.scores[span] = scores
            labelled.labels[span] = labels
            labelled.judged[span] = judged
        documents = _DictDocuments(queries, rows, self._rows, labelled, offsets)
        rankings = self._make_rankings(
            queries, numbers, offsets, labelled.scores, labelled.labels, labelled.judged if marks_unjudged else None
        )
        return self._add_names(Judged(queries, documents, rankings))

    def judged_tuples(self, rows: list[Any], kind: type, *, marks_unjudged: bool = True) -> Judged | None:
        """
        Rank the documents in a list of tuples (query, document, score) of the type `kind`. See `judged`.

        Return None if Python has to read the list: a row is no such tuple, the rows of a query are not adjacent, or a
        document occurs twice.
        """
        rows = list(rows)  # no other thread changes the copy
        labelled = read_tuples(
            rows, kind, self._number_queries(), self._judgments, self._label_dtype, self._look_up(marks_unjudged)
        )
        if labelled is None:
            return None
        queries = [rows[start][0] for start in labelled.starts.tolist()]
        if len(set(queries)) < len(queries):
            return None
        documents = _TupleDocuments(rows, labelled.starts, labelled.offsets)
        judged = labelled.judged if marks_unjudged else None
        rankings = self._make_rankings(
            queries, labelled.numbers, labelled.offsets, labelled.scores, labelled.labels, judged
        )
        return self._add_names(Judged(queries, documents, rankings))

    @property
    def _label_dtype(self) -> str:
        return "u1" if self._labels.dtype == "u1" else "f8"

    def _look_up(self, marks_unjudged: bool) -> bool:
        """Return True if each document of a run must be looked up."""
        return marks_unjudged or not self._has_all_keys

    def _number_queries(self) -> dict[str, int]:
        """Return the number of each query."""
        if self._query_numbers is None:
            self._query_numbers = dict(zip(self._rows, range(len(self._rows)), strict=True))
        return self._query_numbers

    def _make_rankings(
        self, queries: list[str], numbers: Array, offsets: Array, scores: Array, labels: Array, judged: Array | None
    ) -> Rankings:
        """Make rankings. `judged` equals None if unjudged documents count as label 0."""
        all_judged = judged is None or bool(judged.all())
        is_complete = judged is not None and all_judged and len(scores) == len(self._labels)
        return Rankings.from_checked(
            read_only(labels),
            scores,
            offsets,
            read_only(np.array(queries, dtype=object)),
            None if judged is None or all_judged else read_only(judged),
            None if is_complete else self._make_pool(numbers),
        )

    def _add_names(self, judged: Judged) -> Judged:
        """Let error messages name documents by their ids."""

        def find_name(name: str, index: int) -> str:
            rows = judged.rows
            offsets = judged.rankings.offsets
            if name == "pool":
                rows = [list(self._rows[query]) for query in judged.queries]
                offsets = count_offsets(rows)
            query = int(np.searchsorted(offsets, index, side="right")) - 1
            documents: list[str] = rows[query]
            return documents[index - int(offsets[query])]

        judged.rankings.set_locator(find_name)
        return judged

    def _read_labels(self) -> Array:
        """Read all labels: as uint8 if they fit, else int64, else float64."""
        labels = self._list_relevant()
        if labels.is_complete and labels.has_fractions:
            return read_only(labels.values)
        if labels.is_complete:
            return _as_small(labels.values, labels.lowest, labels.highest)
        values = self._read_plain_labels()
        self._list_relevant()  # rows are new dicts now
        if values.dtype.kind == "f" or not len(values):
            return values
        return _as_small(values, float(values.min()), float(values.max()))

    def _list_relevant(self) -> LabelsRead:
        """Read the labels by kernels, and keep the documents with a label other than 0."""
        self._held_keys: list[str] = []
        labels = read_labels(self._rows.values(), self._offsets, self._held_keys)
        self._judgments: Judgments = labels.judgments
        self._has_all_keys = labels.is_complete
        return labels

    def _read_plain_labels(self) -> Array:
        """Read the labels without kernels. Replace all rows by dicts of exact texts and Python's numbers."""
        self._rows = {query: copied for query, row in self._rows.items() if (copied := dict(row))}
        self._offsets = count_offsets(self._rows.values())
        for query, row in self._rows.items():
            check_document_ids(query, row, "qrels")
        labels = as_labels(list(chain.from_iterable(map(dict.values, self._rows.values()))), "labels")
        numbers = iter(labels.tolist())
        self._rows = {
            query: dict(zip(map(str.__str__, row), islice(numbers, len(row)), strict=True))
            for query, row in self._rows.items()
        }
        return labels

    def _match_queries(self, run: dict[str, dict[str, Any]]) -> tuple[list[str], list[dict[str, Any]], Array]:
        """Return the queries of a run that have judgments, their rows, and their numbers here."""
        queries = list(run)
        judged_queries = list(self._rows)
        if queries == judged_queries:
            return queries, list(run.values()), read_only(np.arange(len(queries)))
        queries = [query for query in queries if query in self._rows]
        numbers = np.fromiter(map(self._number_queries().__getitem__, queries), "i8", len(queries))
        return queries, list(map(run.__getitem__, queries)), read_only(numbers)

    def _make_pool(self, numbers: Array) -> tuple[Array, Array]:
        """Return all judged labels of some queries, and their offsets."""
        if len(numbers) == len(self._rows) and (numbers[1:] > numbers[:-1]).all():
            return self._labels, self._offsets
        sizes = np.diff(self._offsets)[numbers]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        rows = np.arange(offsets[-1]) + np.repeat(self._offsets[numbers] - offsets[:-1], sizes)
        return read_only(self._labels[rows]), read_only(offsets)


def _as_small(labels: Array, lowest: float, highest: float) -> Array:
    """Convert whole labels to uint8 if they fit, else to int64."""
    return read_only(labels.astype("u1" if lowest >= 0 and highest <= MAX_BYTE else "i8"))
