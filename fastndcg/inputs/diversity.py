"""Judgments by subtopic: each document's labels form a pattern, and the document gets the number of its pattern."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self, TypeVar, cast

import numpy as np

from fastndcg.choices import Format
from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.arrays import encode
from fastndcg.inputs.dicts import READ_AS_IDS, holds_groups, list_groups, plain_rows, snapshot
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.ids import IdColumn, group, join_segments
from fastndcg.inputs.messages import Source, answer_keywords
from fastndcg.inputs.table import Qrels, Table, TableRows, refuse_repeated
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import EXACT_LIMIT, Array, as_labels, put, read_only
from fastndcg.runtime.escapes import show_name

Kind = TypeVar("Kind", bound=Table)

IMPORTANCE = {"vital": 1.0, "okay": 0.5}  # of nuggets, as in TREC


class Judgments(NamedTuple):
    """The judgments of each row: row r owns ``offsets[r]`` up to ``offsets[r + 1]``. Its query numbers subtopics."""

    offsets: Array
    subtopics: Array
    labels: Array


class DiversityQrels(Qrels):
    """
    Judgments by subtopic: for each judged document of each query the label that it has for each subtopic.

    Parameters
    ----------
    data : dict, frame, records, path or sequence of ids
        Judgments by subtopic, in one of these forms:

        - ``{query: {document: {subtopic: label}}}``. A document needs at least one label, 0 for not relevant;
        - ``{query: groups of ids}``, of each of which one document is enough, such as evidence: group 1, 2 and so on is
          a subtopic;
        - a frame, records or a file with columns of queries, subtopics, documents and labels;
        - the query of each judgment, with `subtopics`, `documents` and `labels`.
    subtopics, documents, labels : sequences, optional
        One entry a judgment. A subtopic belongs to its query. A document is relevant to a subtopic if its label there
        is at least `rel` of the metric, 1 by default.
    importance : dict or sequence, optional
        The importance of subtopics, above 0, for nugget_recall: "vital" is 1, "okay" 0.5. By default 1.
        ``{query: {subtopic: importance}}`` with a dict: a subtopic that is only here has no relevant document, and
        counts. One entry a judgment with sequences. A frame has a column of it.
    columns, format, threads
        See `Qrels`.

    Raises
    ------
    InvalidTypeError
        If dicts are not nested so.
    InvalidInputError
        If lengths differ, a label is not finite, a group is empty, or a document occurs twice in a subtopic of a query.
        If an importance is not above 0, or a subtopic of a query has two.

    Examples
    --------
    >>> qrels = fn.DiversityQrels({"q1": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 1}}})
    >>> fn.evaluate(qrels, {"q1": {"d2": 0.9, "d1": 0.5}}, "S_recall@1, S_recall@2").to_dict()
    {'q1': {'S_recall@1': 0.5, 'S_recall@2': 1.0}}
    >>> evidence = fn.DiversityQrels({"q1": [["d1", "d2"], ["d3"]]})
    >>> fn.evaluate(evidence, {"q1": ["d2", "d4", "d3"]}, "evidence_recall@2, all_evidence@2").means()
    [0.5, 0.0]
    """

    __slots__ = ("has_alternatives", "importance", "judgments", "patterns", "subtopic_offsets", "subtopics")
    by_subtopic = True
    column_names = ("subtopics", "documents", "labels")
    has_alternatives: bool  # True for groups of which one document is enough
    importance: Array  # of each query's subtopics, in the order of `subtopics`
    judgments: Judgments
    patterns: Patterns
    subtopics: IdColumn  # their ids, query after query: query q owns subtopic_offsets[q] up to subtopic_offsets[q + 1]
    subtopic_offsets: Array

    @answer_keywords
    def __new__(
        cls,
        data: Any,
        subtopics: Any = None,
        documents: Any = None,
        labels: Any = None,
        *,
        importance: Any = None,
        columns: Mapping[str, str] | None = None,
        format: Format | None = None,
        threads: int | None = None,
    ) -> Self:
        """Read the judgments."""
        others = (subtopics, documents, labels)
        if importance is None:
            return cls._read(data, others, columns=columns, format=format, threads=threads)
        if isinstance(data, Mapping):
            return cls.of_dict(data, importance)
        return cls.of_columns(data, *others, importance)

    @classmethod
    def of_columns(  # type: ignore[override]
        cls, query_ids: Any, subtopic_ids: Any, document_ids: Any, labels: Any, importance: Any = None
    ) -> Self:
        """Build judgments from columns."""
        source = Source(f"the {cls.what}")
        kinds = {"queries": query_ids, "subtopics": subtopic_ids, "documents": document_ids}
        queries, subtopics, documents = (
            IdColumn.of(ids, f"ids of {kind} in {source.name}") for kind, ids in kinds.items()
        )
        if not len(queries) == len(subtopics) == len(documents) == len(labels):
            raise InvalidInputError(
                "queries, subtopics, documents and labels of qrels must have the same length, got "
                f"{len(queries)}, {len(subtopics)}, {len(documents)} and {len(labels)}"
            )
        groups = group(queries)
        rows = TableRows(queries.take(groups.firsts), groups, documents, labels)
        weights = None if importance is None else read_importance(importance, source)
        return cls.of_judgments(rows, subtopics, source, weights)

    @classmethod
    def of_judgments(
        cls, rows: TableRows, subtopics: IdColumn, source: Source, importance: Array | None = None
    ) -> Self:
        """Build judgments from rows that were grouped by query, with the subtopic, and its importance, of each row."""
        table = object.__new__(cls)
        table._collapse(rows, subtopics, source, importance)
        return table

    @classmethod
    def of_dict(cls, rows: Mapping[Any, Any], importance: Mapping[Any, Mapping[Any, Any]] | None = None) -> Self:
        """Build judgments from {query: {document: {subtopic: label}}}, or from {query: groups of ids}."""
        if not is_nested(rows):
            raise InvalidTypeError("`qrels` by subtopic must be {query: {document: {subtopic: label}}}")
        copied_rows = snapshot(rows, "qrels")
        notes: tuple[str, ...] = ()
        are_groups = holds_groups(copied_rows, "qrels")
        if are_groups:
            flat = list_groups(copied_rows)
            notes = (READ_AS_IDS,) * any(not isinstance(row[2], str) for row in flat[:1])
        else:
            flat = _list_labels(copied_rows)
        weights = None
        if importance is not None:
            flat, weights = _add_importance(flat, importance)
        sizes = Counter(query for query, *_ in flat)
        _, subtopics, documents, labels = ([row[place] for row in flat] for place in range(4))
        judged = TableRows.in_order(
            IdColumn.of(copied_rows, "ids of queries in the qrels"),
            np.cumsum([0, *(sizes[query] for query in copied_rows)]),
            IdColumn.of(documents, "ids of documents in the qrels"),
            labels,
        )
        source = Source("the qrels", notes=notes)
        shares = None if weights is None else read_importance(weights, source)
        table = cls.of_judgments(judged, IdColumn.of(subtopics, "ids of subtopics in the qrels"), source, shares)
        put(table, has_alternatives=are_groups and len({row[:2] for row in flat}) < len(flat))
        return table

    @classmethod
    def of_frame(cls, frame: Frame, threads: int | None = None, source: Source | None = None) -> Self:
        """Build judgments from the columns of a frame, or of a file. One thread reads them, whatever `threads` is."""
        del threads
        if frame.has_id_lists and frame.has_groups:
            judged = read_groups(frame, source or Source("the qrels", columns=frame.column_names))
            return cast(Self, judged) if judged.by_subtopic else cls.of_dict({})
        queries = frame.read_ids("query")
        documents = frame.read_ids("document")
        groups = group(queries)
        rows = TableRows(queries.take(groups.firsts), groups, documents, frame.read_numbers("label"))
        source = source or Source("the qrels", "row", columns=frame.column_names)
        importance = None
        if frame.has("importance"):
            try:
                importance = frame.read_numbers("importance")
            except InvalidTypeError:  # "vital" and "okay"
                importance = frame.read_ids("importance").names()
            importance = read_importance(importance, source)
        return cls.of_judgments(rows, frame.read_ids("subtopic"), source, importance)

    def select_patterns(self, queries: Array) -> Patterns:
        """
        Return the patterns with the importance of the subtopics of some queries.

        Parameters
        ----------
        queries : (n,) int array
            Indices of queries, −1 for one without judgments.

        Returns
        -------
        Patterns
            New ones, which share their arrays.
        """
        sizes = np.where(queries < 0, 0, np.diff(self.subtopic_offsets, append=0)[queries])
        ends, places = join_segments(self.subtopic_offsets[queries], sizes)
        return self.patterns.weighed((read_only(self.importance[places]), read_only(ends)))

    def _collapse(self, rows: TableRows, subtopics: IdColumn, source: Source, importance: Array | None = None) -> None:
        """Join the judgments of each document, and order documents by falling id, as ndeval breaks ties."""
        labels = as_labels(rows.values, "labels")
        _check_labels(labels, rows, source)
        queries = rows.groups.number_rows()
        documents = rows.documents.factorize()[0]
        topics, topic_firsts = subtopics.factorize()
        order = np.lexsort((topics, documents, queries))
        starts = _find_changes(queries[order], documents[order])
        _refuse_repeats(order[~_find_changes(queries[order], documents[order], topics[order])], rows, subtopics, source)

        firsts = order[starts]
        offsets = np.searchsorted(queries[firsts], np.arange(len(rows.queries) + 1))
        distinct = rows.documents.take(firsts)
        keys = distinct.order_ties(read_only(np.zeros(len(distinct))), read_only(offsets))
        by_id = np.lexsort((~keys, queries[firsts]))
        owners = np.empty(len(firsts), "i8")
        owners[by_id] = np.arange(len(firsts))
        owner = owners[np.cumsum(starts) - 1]
        pairs, numbers = np.unique(queries * (len(topic_firsts) + 1) + topics, return_inverse=True)
        subtopic_offsets = np.searchsorted(pairs // (len(topic_firsts) + 1), np.arange(len(rows.queries) + 1))
        within = numbers - subtopic_offsets[queries]
        entries = np.lexsort((within[order], owner))
        order = order[entries]
        codes, patterns = encode(owner[entries], within[order], labels[order], len(firsts))
        put(
            self, patterns=patterns, has_alternatives=False, subtopic_offsets=read_only(subtopic_offsets),
            subtopics=subtopics.take(topic_firsts[pairs % (len(topic_firsts) + 1)]),
            importance=_weigh_subtopics(numbers, len(pairs), importance, subtopics, source),
            judgments=Judgments(
                read_only(np.searchsorted(owner[entries], np.arange(len(firsts) + 1))), read_only(within[order]),
                read_only(labels[order].astype("f8")),
            ),
        )  # fmt: skip
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            name = rows.documents.name(row)
            self.patterns.negative = f"that of document {show_name(name)} ({source.place(row)}) is {labels[row]!s}"

        firsts = firsts[by_id]
        self._fill(TableRows.in_order(rows.queries, offsets, rows.documents.take(firsts), codes), source.select(firsts))

    def iterate_dicts(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """
        Yield each query with {document: {subtopic: label}}.

        Yields
        ------
        query : int or str
            The query's id.
        rows : dict of dict
            The labels by document and subtopic.
        """
        rows: dict[Any, dict[Any, Any]] = {query: {} for query in self.queries.names().tolist()}
        columns = [self._export_columns()[role].tolist() for role in ("query", "subtopic", "document", "label")]
        for query, subtopic, document, label in zip(*columns, strict=True):
            rows[query].setdefault(document, {})[subtopic] = label
        yield from rows.items()

    def _export_columns(self) -> dict[str, Array]:
        judgments = self.judgments
        rows = np.repeat(np.arange(len(self)), np.diff(judgments.offsets))
        queries = np.repeat(np.arange(len(self.queries)), np.diff(self.offsets))[rows]
        subtopics = self.subtopic_offsets[queries] + judgments.subtopics
        columns = {
            "query": self.queries.take(queries).names(), "subtopic": self.subtopics.take(subtopics).names(),
            "document": self.documents.take(rows).names(), "label": judgments.labels,
        }  # fmt: skip
        return columns | ({"importance": self.importance[subtopics]} if self.has_importance else {})

    def _describe_values(self) -> str:
        return f", {len(set(self.subtopics.names().tolist()))} subtopics{super()._describe_values()}"

    @property
    def has_importance(self) -> bool:
        """True if not all subtopics have the importance 1."""
        return bool((self.importance != 1).any())

    def _take(self, queries: Array, rows: Array, offsets: Array) -> Self:
        table = super()._take(queries, rows, offsets)
        ends, places = join_segments(self.subtopic_offsets[queries], np.diff(self.subtopic_offsets)[queries])
        own = self.judgments
        entry_ends, entries = join_segments(own.offsets[rows], np.diff(own.offsets)[rows])
        put(
            table, patterns=self.patterns, subtopics=self.subtopics.take(places), subtopic_offsets=read_only(ends),
            importance=read_only(self.importance[places]), has_alternatives=self.has_alternatives,
            judgments=Judgments(read_only(entry_ends), own.subtopics[entries], own.labels[entries]),
        )  # fmt: skip
        return table


def read_dict(kind: type[Kind], rows: Mapping[Any, Any]) -> Kind:
    """Read a table from a dict of dicts: judgments by subtopic if it has one dict more within."""
    if issubclass(DiversityQrels, kind) and isinstance(rows, Mapping) and is_nested(rows):
        return cast(Kind, DiversityQrels.of_dict(rows))
    return kind.of_dict(rows)


def read_groups(frame: Frame, source: Source) -> Qrels:
    """Read groups of ids, a row a query, as a dict of them is read."""
    role = next((role for role in ("label", "importance") if frame.has(role)), None)
    if role is not None:
        raise InvalidInputError(
            f"{source.name} must have no {role}s beside groups of ids, of each of which one is enough, but column "
            f"{shorten(frame.column_name(role))} has such a name. Drop it, or give a row for each document and subtopic"
        )
    queries = frame.read_ids("query") if frame.has("query") else frame.number_rows()
    refuse_repeated(queries, source)
    try:
        table = read_dict(Qrels, dict(zip(queries.names().tolist(), frame.read_groups(), strict=True)))
    except InvalidInputError as error:
        raise error.reword(before=f"{source.name}: " * (not source.name.startswith(("the ", "`")))) from None
    return table.placed_in(table.source._replace(name=source.name, columns=source.columns, notes=source.notes))


def is_nested(rows: Mapping[Any, Any]) -> bool:
    """Return True if the inner dicts of a dict of dicts hold dicts, too, or if a dict holds groups of ids."""
    copied_rows = snapshot(rows, "qrels")
    if not isinstance(next(iter(copied_rows.values()), None), Mapping) and holds_groups(copied_rows, "qrels"):
        return True
    for row in copied_rows.values():
        if isinstance(row, Mapping) and row:
            nested = [labels for labels in snapshot(row, "qrels").values() if isinstance(labels, Mapping)]
            return bool(nested) and not any(
                isinstance(label, Mapping) for label in snapshot(nested[0], "qrels").values()
            )
    return False


def _list_labels(rows: dict[Any, Any]) -> list[tuple[Any, Any, Any, Any]]:
    """Return (query, subtopic, document, label) of {query: {document: {subtopic: label}}}."""
    flat = []
    for query, row in rows.items():
        if not isinstance(row, Mapping):
            raise InvalidTypeError(
                f"`qrels` must map queries to dicts, but {shorten(query)} maps to {shorten(row)}. Give a dict"
            )
    for query, documents in plain_rows(rows, "qrels").items():
        for document, labels in snapshot(documents, "qrels").items():
            if not isinstance(labels, Mapping) or not labels:
                raise InvalidInputError(
                    f"`qrels` by subtopic must give each document labels, but document {shorten(document)} of "
                    f"query {shorten(query)} has {shorten(labels)}. One that is not relevant has the label "
                    "0 for some subtopic"
                )
            labels_by_subtopic = snapshot(labels, "qrels")
            flat += [(query, subtopic, document, label) for subtopic, label in labels_by_subtopic.items()]
    return flat


def _add_importance(
    rows: list[tuple[Any, Any, Any, Any]], importance: Mapping[Any, Mapping[Any, Any]]
) -> tuple[list[tuple[Any, Any, Any, Any]], list[Any]]:
    """Return rows with a label of 0 more for each subtopic without judgments, and the importance of each row."""
    if not isinstance(importance, Mapping) or not all(isinstance(own, Mapping) for own in importance.values()):
        raise InvalidTypeError(
            f"`importance` must be {{query: {{subtopic: importance}}}}, but is {shorten(importance)}. Give dicts"
        )
    judged = {(query, subtopic) for query, subtopic, *_ in rows}
    documents = {query: document for query, _, document, _ in rows}
    added = [
        (query, subtopic, documents[query], 0)
        for query, own in importance.items()
        if query in documents
        for subtopic in own
        if (query, subtopic) not in judged
    ]
    missing = next((query for query in importance if query not in documents), None)
    if missing is not None:
        raise InvalidInputError(
            f"`importance` must be of judged queries, but query {shorten(missing)} has no judgments. Give a document "
            "with the label 0"
        )
    places = {query: place for place, query in enumerate(documents)}
    every = sorted(rows + added, key=lambda row: places[row[0]])
    return every, [importance.get(query, {}).get(subtopic, 1) for query, subtopic, *_ in every]


def read_importance(values: Any, source: Source) -> Array:
    """Return numbers above 0, or words of `IMPORTANCE`, as float64."""
    weights = np.empty(len(values))
    for row, value in enumerate(values if isinstance(values, list | tuple) else values.tolist()):
        weight = IMPORTANCE.get(value.lower()) if isinstance(value, str) else value
        if not isinstance(weight, int | float | np.number) or not 0 < weight < math.inf:
            raise InvalidInputError(
                f"{source.place(row)}: importance must be {join_names(IMPORTANCE)} or a number above 0, but is "
                f"{shorten(value)}. Leave out what does not count"
            )
        weights[row] = weight
    return weights


def _check_labels(labels: Array, rows: TableRows, source: Source) -> None:
    beyond = ~(np.abs(labels.astype("f8")) <= EXACT_LIMIT)
    if beyond.any():
        row = int(np.argmax(beyond))
        raise InvalidInputError(
            f"{source.place(row)}: label of document {show_name(rows.documents.name(row))} must be finite and at most "
            "2**53 in "
            f"size, but is {labels[row]!s}. Leave it out, or rescale the labels"
        )


def _refuse_repeats(repeats: Array, rows: TableRows, subtopics: IdColumn, source: Source) -> None:
    if len(repeats):
        row = int(repeats.min())
        raise InvalidInputError(
            f"{source.place(row)}: a document must stand once in a subtopic of a query, but document "
            f"{show_name(rows.documents.name(row))} is in subtopic "
            f"{show_name(subtopics.name(row))} again. Keep one label"
        )


def _find_changes(*columns: Array) -> Array:
    """Return True for each row that differs from the row before."""
    return np.asarray(np.any([np.diff(column, prepend=-1) != 0 for column in columns], axis=0))


def _weigh_subtopics(
    numbers: Array, n_subtopics: int, importance: Array | None, subtopics: IdColumn, source: Source
) -> Array:
    """Return the importance of each query's subtopics. Row r is of subtopic ``numbers[r]`` of all queries."""
    weights = np.ones(n_subtopics)
    if importance is not None:
        weights[numbers] = importance
        differs = np.flatnonzero(weights[numbers] != importance)
        if len(differs):
            row = int(differs[0])
            raise InvalidInputError(
                f"{source.place(row)}: a subtopic must have one importance in a query, but that of "
                f"{show_name(subtopics.name(row))} is {importance[row]:g} and {weights[numbers[row]]:g}. Keep one"
            )
    return read_only(weights)
