"""Judgments by subtopic: each document's labels form a pattern, and the document gets the number of its pattern."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.arrays import encode
from fastndcg.inputs.dicts import plain_rows, snapshot
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.ids import Groups, IdColumn, group
from fastndcg.inputs.messages import Source
from fastndcg.inputs.table import Qrels, Rows, Table
from fastndcg.inputs.writers import Settings, encode_lines, list_trec_diversity
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import EXACT_LIMIT, Array, as_labels, put, read_only
from fastndcg.runtime.escapes import show_name

Kind = TypeVar("Kind", bound=Table)


class DiversityQrels(Qrels):
    """
    Judgments by subtopic: for each judged document of each query the label that it has for each subtopic.

    Any number of threads may use one at once.

    Parameters
    ----------
    query_ids, subtopic_ids, document_ids : sequences of str or int
        One judgment each. A subtopic belongs to its query.
    labels : sequence of numbers
        A document is relevant to a subtopic if its label there is at least `rel` of the metric, 1 by default.
    source : Source, optional
        The place of the judgments for error messages, such as a file.

    Raises
    ------
    InvalidInputError
        If lengths differ, a label is not finite, or a document occurs twice in a subtopic of a query.

    Examples
    --------
    >>> qrels = DiversityQrels.from_dict({"q1": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 1}}})
    >>> fn.evaluate(qrels, {"q1": {"d2": 0.9, "d1": 0.5}}, "S_recall@1, S_recall@2").to_dict()
    {'q1': {'S_recall@1': 0.5, 'S_recall@2': 1.0}}
    """

    __slots__ = ("patterns", "subtopic_offsets", "subtopics")
    by_subtopic = True
    patterns: Patterns
    subtopics: IdColumn  # their ids, query after query: query q owns subtopic_offsets[q] up to subtopic_offsets[q + 1]
    subtopic_offsets: Array

    def __init__(
        self, query_ids: Any, subtopic_ids: Any, document_ids: Any, labels: Any, source: Source | None = None
    ) -> None:
        source = source or Source(f"the {self.what}")
        kinds = {"queries": query_ids, "subtopics": subtopic_ids, "documents": document_ids}
        queries, subtopics, documents = (
            IdColumn.of(ids, f"ids of {kind} in {source.name}") for kind, ids in kinds.items()
        )
        if not len(queries) == len(subtopics) == len(documents) == len(labels):
            raise InvalidInputError(
                "`query_ids`, `subtopic_ids`, `document_ids` and `labels` of qrels must have the same length, got "
                f"{len(queries)}, {len(subtopics)}, {len(documents)} and {len(labels)}"
            )
        groups = group(queries)
        self._collapse(Rows(queries.take(groups.firsts), groups, documents, labels), subtopics, source)

    @classmethod
    def of_judgments(cls, rows: Rows, subtopics: IdColumn, source: Source) -> Self:
        """
        Build judgments from rows that were grouped by query, and the subtopic of each row.

        Parameters
        ----------
        rows : Rows
            Ids of queries and documents, and labels.
        subtopics : IdColumn
            The subtopic of each row.
        source : Source
            The place of the rows for error messages.

        Returns
        -------
        DiversityQrels
            The judgments, with one row a query and document.
        """
        table = cls.__new__(cls)
        table._collapse(rows, subtopics, source)
        return table

    @classmethod
    def from_dict(cls, rows: Mapping[Any, Mapping[Any, Any]]) -> Self:
        """
        Build judgments from {query: {document: {subtopic: label}}}.

        Parameters
        ----------
        rows : dict of dict of dict of numbers
            The label of each document for each subtopic, 0 for not relevant. A document needs at least one.

        Returns
        -------
        DiversityQrels
            The judgments, with one row a query and document.

        Raises
        ------
        InvalidTypeError
            If the dicts are not nested so.
        InvalidInputError
            If a document has no labels, or a label is not finite.
        """
        if not is_nested(rows):
            raise InvalidTypeError("`qrels` by subtopic must be {query: {document: {subtopic: label}}}")
        flat = []
        for query, documents in plain_rows(_check_rows(snapshot(rows, "qrels")), "qrels").items():
            for document, labels in snapshot(documents, "qrels").items():
                if not isinstance(labels, Mapping) or not labels:
                    raise InvalidInputError(
                        f"`qrels` by subtopic must give each document labels, but document {shorten(document)} of "
                        f"query {shorten(query)} has {shorten(labels)}. One that is not relevant has the label "
                        "0 for some subtopic"
                    )
                labels_by_subtopic = snapshot(labels, "qrels")
                flat += [(query, subtopic, document, label) for subtopic, label in labels_by_subtopic.items()]
        queries, subtopics, names, values = ([row[place] for row in flat] for place in range(4))
        return cls(queries, subtopics, names, values)

    @classmethod
    def of_frame(cls, frame: Frame, threads: int | None = None, source: Source | None = None) -> Self:
        """
        Build judgments from the columns of a frame, or of a file.

        Parameters
        ----------
        frame : Frame
            Has columns of queries, subtopics, documents and labels.
        threads : int, optional
            Not used: one thread reads the frame.
        source : Source, optional
            The place of the rows for error messages. By default, rows of the qrels.

        Returns
        -------
        DiversityQrels
            The judgments, with one row a query and document.
        """
        del threads
        queries = frame.read_ids("query")
        documents = frame.read_ids("document")
        groups = group(queries)
        rows = Rows(queries.take(groups.firsts), groups, documents, frame.read_numbers("label"))
        return cls.of_judgments(
            rows, frame.read_ids("subtopic"), source or Source("the qrels", "row", columns=frame.column_names)
        )

    def _collapse(self, rows: Rows, subtopics: IdColumn, source: Source) -> None:
        """Join the judgments of each document, and order documents by falling id, as ndeval breaks ties."""
        labels = as_labels(rows.values, "labels")
        _check_labels(labels, rows, source)
        queries = np.empty(len(labels), "i8")
        queries[_list_rows(rows)] = np.repeat(np.arange(len(rows.queries)), np.diff(rows.groups.offsets))
        documents = _number_ids(rows.documents)
        topics = _number_ids(subtopics)
        order = np.lexsort((topics, documents, queries))
        starts = _find_changes(queries[order], documents[order])
        _refuse_repeats(order[~_find_changes(queries[order], documents[order], topics[order])], rows, subtopics, source)

        firsts = order[starts]
        offsets = np.searchsorted(queries[firsts], np.arange(len(rows.queries) + 1))
        by_id = np.lexsort((~_order_ids(rows.documents.take(firsts), offsets), queries[firsts]))
        owners = np.empty(len(firsts), "i8")
        owners[by_id] = np.arange(len(firsts))
        owner = owners[np.cumsum(starts) - 1]
        within = _number_in_queries(queries[order], topics[order])
        entries = np.lexsort((within, owner))
        order = order[entries]
        codes, patterns = encode(owner[entries], within[entries], labels[order], len(firsts))
        put(self, patterns=patterns)
        self._name_subtopics(queries, topics, subtopics, len(rows.queries))
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            name = rows.documents.name(row)
            self.patterns.negative = f"that of document {show_name(name)} ({source.place(row)}) is {labels[row]!s}"

        firsts = firsts[by_id]
        numbers = source.numbers[firsts] if source.numbers is not None else firsts + source.number(0)
        groups = Groups(offsets, None, offsets[:-1])
        collapsed = Rows(rows.queries, groups, rows.documents.take(firsts), codes)
        self._fill(collapsed, source._replace(numbers=numbers))

    def _name_subtopics(self, queries: Array, topics: Array, subtopics: IdColumn, n_queries: int) -> None:
        """Set the ids of each query's subtopics, in the order of their numbers in the patterns."""
        names = subtopics.take(subtopics.factorize()[1])
        pairs = np.unique(queries * len(names) + topics)
        put(
            self,
            subtopics=names.take(pairs % len(names)) if len(names) else names,
            subtopic_offsets=read_only(np.searchsorted(pairs // max(len(names), 1), np.arange(n_queries + 1))),
        )

    def iterate_dicts(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """
        Yield each query with {document: {subtopic: label}}.

        Yields
        ------
        query : int or str
            The query's id.
        rows : dict of dict
            The labels by document and subtopic. A document that is not relevant has one label.
        """
        documents = self.documents.names().tolist()
        subtopics = self.subtopics.names().tolist()
        starts = self.subtopic_offsets.tolist()
        bounds = self.patterns.offsets.tolist()
        numbers = self.patterns.subtopics.tolist()
        labels = self.patterns.labels.tolist()
        codes = self.values.tolist()
        for place, query in enumerate(self.queries.names().tolist()):
            rows: dict[Any, dict[Any, Any]] = {}
            for row in range(*self.offsets[place : place + 2].tolist()):
                code = codes[row]
                pattern = range(*bounds[int(code) : int(code) + 2]) if code > 0 else ()
                rows[documents[row]] = {subtopics[starts[place] + numbers[entry]]: labels[entry] for entry in pattern}
                if code <= 0:
                    rows[documents[row]] = {subtopics[starts[place]]: code}
            yield query, rows

    def _write_trec(self, settings: Settings) -> Iterator[bytes]:
        """Yield lines in TREC's format of judgments by subtopic."""
        return encode_lines(list_trec_diversity(self, settings))

    def _export_columns(self) -> dict[str, Array]:
        rows = [
            (query, subtopic, document, label)
            for query, documents in self.iterate_dicts()
            for document, labels in documents.items()
            for subtopic, label in labels.items()
        ]
        columns = list(zip(*rows, strict=True)) or [()] * 4
        kinds = (self.queries, self.subtopics, self.documents)
        arrays = [
            np.array(column, dtype=kind.names().dtype if len(kind) else object)
            for column, kind in zip(columns, kinds, strict=False)
        ]
        return dict(zip(("query", "subtopic", "document", "label"), [*arrays, np.array(columns[3], "f8")], strict=True))

    def _take(self, queries: Array, rows: Array, offsets: Array) -> Self:
        table = super()._take(queries, rows, offsets)
        sizes = np.diff(self.subtopic_offsets)[queries]
        ends = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(ends[-1]) + np.repeat(self.subtopic_offsets[queries] - ends[:-1], sizes)
        put(table, patterns=self.patterns, subtopics=self.subtopics.take(places), subtopic_offsets=read_only(ends))
        return table


def is_nested(rows: Mapping[Any, Any]) -> bool:
    """Return True if the inner dicts of a dict of dicts hold dicts, too."""
    documents = next((row for row in snapshot(rows, "qrels").values() if isinstance(row, Mapping) and row), {})
    return any(isinstance(labels, Mapping) for labels in snapshot(documents, "qrels").values())


def _check_rows(rows: dict[Any, Any]) -> dict[Any, Any]:
    """Raise for rows that are no dicts."""
    for query, row in rows.items():
        if not isinstance(row, Mapping):
            raise InvalidTypeError(
                f"`qrels` must map queries to dicts, but {shorten(query)} maps to {shorten(row)}. Give a dict"
            )
    return rows


def _check_labels(labels: Array, rows: Rows, source: Source) -> None:
    beyond = ~(np.abs(labels.astype("f8")) <= EXACT_LIMIT)
    if beyond.any():
        row = int(np.argmax(beyond))
        raise InvalidInputError(
            f"{source.place(row)}: label of document {show_name(rows.documents.name(row))} must be finite and at most "
            "2**53 in "
            f"size, but is {labels[row]!s}. Leave it out, or rescale the labels"
        )


def _refuse_repeats(repeats: Array, rows: Rows, subtopics: IdColumn, source: Source) -> None:
    if len(repeats):
        row = int(repeats.min())
        raise InvalidInputError(
            f"{source.place(row)}: a document must stand once in a subtopic of a query, but document "
            f"{show_name(rows.documents.name(row))} is in subtopic "
            f"{show_name(subtopics.name(row))} again. Keep one label"
        )


def _list_rows(rows: Rows) -> Array:
    """Return the input rows, query after query."""
    return np.arange(len(rows.documents)) if rows.groups.rows is None else rows.groups.rows


def _number_ids(column: IdColumn) -> Array:
    """Return a number for each id, the same for equal ids."""
    return column.factorize()[0]


def _find_changes(*columns: Array) -> Array:
    """Return True for each row that differs from the row before."""
    return np.asarray(np.any([np.diff(column, prepend=-1) != 0 for column in columns], axis=0))


def _number_in_queries(queries: Array, topics: Array) -> Array:
    """Number the subtopics of each query from 0."""
    distinct, numbers = np.unique(queries * (topics.max(initial=0) + 1) + topics, return_inverse=True)
    return np.asarray(numbers - np.searchsorted(distinct, queries * (topics.max(initial=0) + 1)))


def _order_ids(documents: IdColumn, offsets: Array) -> Array:
    """Return numbers in the order of the documents' ids within each query."""
    if not documents.are_texts:
        return documents.order_numbers()
    keys = np.empty(len(documents), "i8")
    equal_scores = read_only(np.zeros(len(documents)))
    documents.rank_ties(equal_scores, read_only(offsets), 0, len(offsets) - 1, keys)
    return keys
