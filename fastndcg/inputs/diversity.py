"""Judgments by subtopic: a document may have more than one label, and becomes one with the number of their pattern."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self, TypeVar, cast

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.columns import Column
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.grouping import Groups, group
from fastndcg.inputs.tables import Qrels, Rows, Source, Table
from fastndcg.patterns import Patterns
from fastndcg.rankings import EXACT_LIMIT, Array, as_labels, read_only

Kind = TypeVar("Kind", bound=Table)

BYTES = 256  # patterns whose numbers fit one
ENTRY = np.dtype([("subtopic", "i4"), ("label", "f8")])


class DiversityQrels(Qrels):
    """
    Judgments by subtopic: for each judged document of each query the label that it has for each subtopic.

    Parameters
    ----------
    query_ids, subtopic_ids, document_ids : sequences of str or int
        One judgment each. A subtopic belongs to its query.
    labels : sequence of numbers
        A document is relevant to a subtopic if its label there is at least `rel` of the metric, 1 by default.

    Examples
    --------
    >>> qrels = DiversityQrels.from_dict({"q1": {"d1": {"cars": 1, "cats": 1}, "d2": {"cars": 1}}})
    >>> fn.evaluate(qrels, {"q1": {"d2": 0.9, "d1": 0.5}}, "S_recall@1, S_recall@2").to_dict()
    {'q1': {'S_recall@1': 0.5, 'S_recall@2': 1.0}}
    """

    __slots__ = ("patterns",)
    by_subtopic = True
    patterns: Patterns

    def __init__(
        self, query_ids: Any, subtopic_ids: Any, document_ids: Any, labels: Any, source: Source | None = None
    ) -> None:
        source = source or Source(f"the {self.what}")
        kinds = {"queries": query_ids, "subtopics": subtopic_ids, "documents": document_ids}
        queries, subtopics, documents = (
            Column.of(ids, f"ids of {kind} in {source.name}") for kind, ids in kinds.items()
        )
        if not len(queries) == len(subtopics) == len(documents) == len(labels):
            raise InvalidInputError("queries, subtopics, documents and labels of qrels must be as many")
        groups = group(queries)
        self._collapse(Rows(queries.take(groups.firsts), groups, documents, labels), subtopics, source)

    @classmethod
    def of_judgments(cls, rows: Rows, subtopics: Column, source: Source) -> Self:
        """From rows that a reader brought together by query, and the subtopic of each."""
        table = cls.__new__(cls)
        table._collapse(rows, subtopics, source)
        return table

    @classmethod
    def from_dict(cls, rows: Mapping[Any, Mapping[Any, Any]]) -> Self:
        """From {query: {document: {subtopic: label}}}."""
        if not is_nested(rows):
            raise InvalidTypeError("`qrels` by subtopic must be {query: {document: {subtopic: label}}}")
        flat = []
        for query, documents in rows.items():
            for document, labels in documents.items():
                if not isinstance(labels, Mapping) or not labels:
                    raise InvalidInputError(
                        f"`qrels` by subtopic must give each document labels, but document {document!r} of query "
                        f"{query!r} has {labels!r}; one that is not relevant has the label 0 for some subtopic"
                    )
                flat += [(query, subtopic, document, label) for subtopic, label in labels.items()]
        queries, subtopics, names, values = ([row[place] for row in flat] for place in range(4))
        return cls(queries, subtopics, names, values)

    @classmethod
    def of_frame(cls, frame: Frame, threads: int | None = None, source: Source | None = None) -> Self:
        """From the columns of a frame, or of a file."""
        del threads
        queries, documents = frame.ids("query"), frame.ids("document")
        groups = group(queries)
        rows = Rows(queries.take(groups.firsts), groups, documents, frame.numbers("label"))
        return cls.of_judgments(
            rows, frame.ids("subtopic"), source or Source("the qrels", "row", columns=frame.column_names)
        )

    def _collapse(self, rows: Rows, subtopics: Column, source: Source) -> None:
        """Bring the judgments of each document together; documents of a query by falling id, as ndeval breaks ties."""
        labels = as_labels(rows.values, "labels")
        _check(labels, rows, source)
        queries = np.empty(len(labels), "i8")
        queries[_order(rows)] = np.repeat(np.arange(len(rows.queries)), np.diff(rows.groups.offsets))
        documents, topics = _numbers(rows.documents), _numbers(subtopics)
        order = np.lexsort((topics, documents, queries))
        starts = _changes(queries[order], documents[order])
        _refuse_repeats(order[~_changes(queries[order], documents[order], topics[order])], rows, subtopics, source)

        firsts = order[starts]
        offsets = np.searchsorted(queries[firsts], np.arange(len(rows.queries) + 1))
        by_id = np.lexsort((~_places(rows.documents.take(firsts), offsets), queries[firsts]))
        owners = np.empty(len(firsts), "i8")
        owners[by_id] = np.arange(len(firsts))
        owner = owners[np.cumsum(starts) - 1]
        within = _within(queries[order], topics[order])
        entries = np.lexsort((within, owner))
        order = order[entries]
        codes, self.patterns = encode(owner[entries], within[entries], labels[order], len(firsts))
        if (labels < 0).any():
            row = int(np.argmax(labels < 0))
            name = rows.documents.name(row)
            self.patterns.negative = f"that of document {name!s} ({source.place(row)}) is {labels[row]!s}"

        firsts = firsts[by_id]
        numbers = source.numbers[firsts] if source.numbers is not None else firsts + source.number(0)
        groups = Groups(offsets, None, offsets[:-1])
        kept = Rows(rows.queries, groups, rows.documents.take(firsts), codes)
        self._fill(kept, source._replace(numbers=numbers))


def table_of(kind: type[Kind], frame: Frame, threads: int | None = None, source: Source | None = None) -> Kind:
    """The rows of a frame; judgments by subtopic where it has a column of subtopics."""
    if issubclass(DiversityQrels, kind) and frame.has("subtopic"):
        return cast(Kind, DiversityQrels.of_frame(frame, threads, source))
    return kind.of_frame(frame, threads, source)


def is_nested(rows: Mapping[Any, Any]) -> bool:
    """Whether a dict of dicts goes on to a third."""
    documents = next((row for row in rows.values() if isinstance(row, Mapping) and row), {})
    return any(isinstance(labels, Mapping) for labels in documents.values())


def encode(owners: Array, subtopics: Array, labels: Array, n_documents: int) -> tuple[Array, Patterns]:
    """
    The number of each document's pattern, and the patterns.

    Judgment i is that of document owners[i], which never falls; the subtopics of a document rise.
    """
    from fastndcg.kernels import ids as kernels

    highest = np.full(n_documents, -np.inf)
    np.maximum.at(highest, owners, labels)
    above = labels > 0
    entries = np.empty(np.count_nonzero(above), ENTRY)
    entries["subtopic"], entries["label"] = subtopics[above], labels[above]
    sizes = np.bincount(owners[above], minlength=n_documents)
    offsets = np.concatenate([[0], np.cumsum(sizes)])
    rows = np.flatnonzero(sizes)
    numbers, firsts = np.empty(len(rows), "i8"), np.empty(len(rows), "i8")
    alike = Column.of_bytes(entries.view("u1"), offsets * ENTRY.itemsize)
    firsts = firsts[: kernels.number(alike.ids, read_only(rows), numbers, firsts)]

    codes = np.where(np.isfinite(highest), np.minimum(highest, 0), 0)
    codes[rows] = numbers + 1
    ends = np.cumsum(sizes[firsts])
    places = np.arange(ends[-1] if len(ends) else 0) + np.repeat(offsets[firsts] - ends + sizes[firsts], sizes[firsts])
    chosen = entries[places]
    return codes, Patterns(np.concatenate([[0, 0], ends]), chosen["subtopic"].copy(), chosen["label"].copy())


def encode_matrix(labels: Array) -> tuple[Array, Patterns]:
    """The same of an array whose last dimension are subtopics."""
    from fastndcg.kernels import ids as kernels

    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        place = np.argwhere(~np.isfinite(labels))[0].tolist()
        raise InvalidInputError(f"`labels` must be finite, but labels{place} is {labels[tuple(place)]}")
    *shape, n_subtopics = labels.shape
    flat = as_labels(labels.reshape(-1), "labels").reshape(math.prod(shape), n_subtopics)
    has_negative = flat.dtype.kind != "u" and bool((flat < 0).any())
    rows = np.maximum(flat, 0) + flat.dtype.type(0) if flat.dtype.kind == "f" or has_negative else flat  # no −0
    if not rows.size:
        return np.zeros(shape, "u1"), Patterns(np.zeros(2, "i8"), np.empty(0, "i4"), np.empty(0))
    judged = np.flatnonzero(rows.any(axis=1))
    numbers, firsts = np.empty(len(judged), "i8"), np.empty(len(judged), "i8")
    alike = Column.of_fixed(rows.reshape(-1).view(f"V{rows.itemsize * n_subtopics}"))
    chosen = rows[firsts[: kernels.number(alike.ids, read_only(judged), numbers, firsts)]]
    places, subtopics = np.nonzero(chosen)
    offsets = np.searchsorted(places, np.arange(len(chosen) + 1))
    patterns = Patterns(np.concatenate([[0], offsets]), subtopics.astype("i4"), chosen[places, subtopics].astype("f8"))

    codes = np.zeros(len(rows), "u1" if len(patterns) <= BYTES else "i4")
    codes[judged] = numbers + 1
    if has_negative:
        codes = np.where(codes > 0, codes, flat.max(axis=1).astype("f8"))
        place = np.argwhere(labels < 0)[0].tolist()
        patterns.negative = f"labels{place} is {labels[tuple(place)]!s}"
    return codes.reshape(shape), patterns


def _check(labels: Array, rows: Rows, source: Source) -> None:
    beyond = ~(np.abs(labels.astype("f8")) <= EXACT_LIMIT)
    if beyond.any():
        row = int(np.argmax(beyond))
        raise InvalidInputError(
            f"{source.place(row)}: label of document {rows.documents.name(row)!s} must be finite and at most 2**53 in "
            f"size, but is {labels[row]!s}; leave it out, or rescale the labels"
        )


def _refuse_repeats(repeats: Array, rows: Rows, subtopics: Column, source: Source) -> None:
    if len(repeats):
        row = int(repeats.min())
        raise InvalidInputError(
            f"{source.place(row)}: a document must stand once in a subtopic of a query, but document "
            f"{rows.documents.name(row)!s} stands in subtopic {subtopics.name(row)!s} again; keep one label"
        )


def _order(rows: Rows) -> Array:
    """The rows as given, query after query."""
    return np.arange(len(rows.documents)) if rows.groups.rows is None else rows.groups.rows


def _numbers(column: Column) -> Array:
    """A number for each id, the same for the same."""
    from fastndcg.kernels import ids as kernels

    numbers, firsts = np.empty(len(column), "i8"), np.empty(len(column), "i8")
    kernels.number(column.ids, read_only(np.arange(len(column))), numbers, firsts)
    return numbers


def _changes(*columns: Array) -> Array:
    """Whether a row differs from the one before."""
    return np.asarray(np.any([np.diff(column, prepend=-1) != 0 for column in columns], axis=0))


def _within(queries: Array, topics: Array) -> Array:
    """Subtopics numbered from 0 in each query."""
    known, numbers = np.unique(queries * (topics.max(initial=0) + 1) + topics, return_inverse=True)
    return np.asarray(numbers - np.searchsorted(known, queries * (topics.max(initial=0) + 1)))


def _places(documents: Column, offsets: Array) -> Array:
    """Numbers in the order of the documents' ids within each query."""
    if not documents.are_texts:
        return documents.numbers() ^ np.int64(-(2**63)) if documents.is_wide else documents.numbers()
    from fastndcg.kernels import ids as kernels

    keys = np.empty(len(documents), "i8")
    alike = read_only(np.zeros(len(documents)))
    kernels.rank_ties(documents.ids, alike, read_only(offsets), 0, len(offsets) - 1, keys)
    return keys
