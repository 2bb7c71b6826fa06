"""
Chunks and their documents: which document each chunk of a run, and each judged chunk, belongs to.

A run of chunks becomes one of documents by their ids alone. `Duplicates` then says what counts of a document that comes
again, as for any run, so that no reader and no metric has a case for chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.columns import ColumnNames
from fastndcg.inputs.frames import Frame, is_frame
from fastndcg.inputs.ids import Groups, IdColumn
from fastndcg.inputs.messages import are_columns
from fastndcg.inputs.table import Qrels, RepeatedRun, Rows, Run
from fastndcg.rankings.filters import count_before
from fastndcg.rankings.validation import Array
from fastndcg.runtime.pickling import Picklable

FORM = (
    "a dict or Series of chunk to document, a frame with columns of both, the name of a column of the run, a function "
    "of a chunk's id, or a rule such as 'before #' or 'before last _'"
)
BEFORE = "before "
LAST = "last "
CHUNKS = ("chunk_id", "chunk", "passage_id", "passage", "node_id", "pid")  # columns of `parents`, if it is a frame


class _Column(NamedTuple):
    """The name of the run's column of documents."""

    name: str


class Parents(Picklable):
    """
    The document of each chunk.

    Parameters
    ----------
    find : callable
        Takes a list of ids, and returns the document of each chunk, None for the id of a document.
    """

    __slots__ = ("_find",)

    def __init__(self, find: Any) -> None:
        self._find = find

    def read_column(self, predictions: Any, columns: Any) -> Parents:
        """Return the parents in a column of a frame of predictions, if that is what these are."""
        if not isinstance(self._find, _Column):
            return self
        name = self._find.name
        if not (is_frame(predictions) or (isinstance(predictions, Mapping) and are_columns(predictions))):
            raise InvalidTypeError(
                f"`parents` can only be the name of a column, {shorten(name)}, where `predictions` is a frame. Give "
                f"{FORM}"
            )
        frame = Frame(predictions, ColumnNames.of(columns, "predictions"), "predictions")
        if name not in frame.column_names:
            raise InvalidInputError(
                f"`parents` must be a column of `predictions`, but {shorten(name)} is none of "
                f"{', '.join(map(repr, frame.column_names))}. Name one, or give a rule such as 'before #'"
            )
        parents = Frame(predictions, {"document": name}, "predictions").read_ids("document")
        return Parents(_Table(_pair(frame.read_ids("document").names().tolist(), parents.names().tolist())))

    def map_run(self, run: Run) -> tuple[RepeatedRun, int, int]:
        """Return a run of documents, in which each chunk has a row, and the numbers of chunks and documents."""
        chunks, codes = _list_ids(run.documents)
        parents = self._find(chunks)
        documents = [chunk if parent is None else parent for chunk, parent in zip(chunks, parents, strict=True)]
        known = {parent for parent in parents if parent is not None}
        for place, (chunk, parent) in enumerate(zip(chunks, parents, strict=True)):
            row = int(np.argmax(codes == place)) if parent is None or (chunk in known and chunk != parent) else -1
            if parent is None and isinstance(self._find, _Table) and chunk not in self._find.documents:
                raise InvalidInputError(
                    f"`parents` must have each chunk of the run, but lacks that of {run.describe(row)}. Add it"
                )
            if parent is not None and row >= 0:
                raise InvalidInputError(
                    f"`parents` must tell chunks from documents, but {run.describe(row)} is a chunk of "
                    f"{shorten(parent)} and the document of others. Give them different ids"
                )
        column = _make_column(documents).take(codes)
        rows = Rows(run.queries, Groups(run.offsets, None, run.offsets[:-1]), column, run.values)
        mapped = RepeatedRun.__new__(RepeatedRun)
        mapped._fill(rows, run.source.select(run.input_row(np.arange(len(run)))))
        return mapped, len(chunks), len(set(documents))

    def map_qrels(self, qrels: Qrels, run: Run) -> Qrels:
        """
        Return judgments of documents. The label of a document is the highest of its own and its chunks'.

        `run` has the documents of the run, to which judgments by document refer.
        """
        ids, codes = _list_ids(qrels.documents)
        parents = self._find(ids)
        if all(parent is None or parent == own for own, parent in zip(ids, parents, strict=True)):
            return qrels
        retrieved = set(_list_ids(run.documents)[0])
        wrong = next(
            (own for own, parent in zip(ids, parents, strict=True) if parent not in (None, own) and own in retrieved),
            None,
        )
        if wrong is not None:
            raise InvalidInputError(
                f"`parents` must give None, or the id itself, for the id of a document, but takes {shorten(wrong)}, "
                "the document of a retrieved chunk, for a chunk. Give a dict, or a rule that tells them apart"
            )
        if qrels.select_patterns(np.zeros(0, "i8")) is not None:
            raise InvalidInputError(
                "`truth` must judge documents, not chunks, where judgments are by subtopic and `parents` is given. "
                "Give groups of chunks as evidence instead, without `parents`"
            )
        documents = [own if parent is None else parent for own, parent in zip(ids, parents, strict=True)]
        names = {document: number for number, document in enumerate(dict.fromkeys(documents))}
        codes = np.array([names[document] for document in documents], "i8")[codes]
        queries = np.repeat(np.arange(len(qrels.queries)), np.diff(qrels.offsets))
        pairs = queries * len(names) + codes
        order = np.lexsort((np.arange(len(pairs)), -qrels.values, pairs))
        is_kept = np.zeros(len(pairs), bool)
        is_kept[order[np.diff(pairs[order], prepend=-1) != 0]] = True
        kept = np.flatnonzero(is_kept)
        groups = Groups(count_before(is_kept)[qrels.offsets], None, qrels.offsets[:-1])
        rows = Rows(qrels.queries, groups, _make_column(list(names)).take(codes[kept]), qrels.values[kept])
        mapped = Qrels.__new__(Qrels)
        mapped._fill(rows, qrels.source.select(qrels.input_row(kept)))
        return mapped


class _Table(Picklable):
    """A table of chunk to document. Other ids are those of documents."""

    __slots__ = ("_by_chunk", "documents")

    def __init__(self, by_chunk: dict[Any, Any]) -> None:
        self._by_chunk = by_chunk
        self.documents = set(by_chunk.values())

    def __call__(self, ids: list[Any]) -> list[Any]:
        return list(map(self._by_chunk.get, ids))


class _Rule(NamedTuple):
    """The text before the first or the last separator. Ids without one are those of documents."""

    separator: str
    is_last: bool

    def __call__(self, ids: list[Any]) -> list[Any]:
        wrong = next((own for own in ids if not isinstance(own, str)), None)
        if wrong is not None:
            raise InvalidInputError(
                f"`parents` must be a table or a function where ids are whole numbers, such as {wrong}, not a rule of "
                "texts. Give a dict"
            )
        split = str.rpartition if self.is_last else str.partition
        return [split(own, self.separator)[0] if self.separator in own else None for own in ids]


class _Function(NamedTuple):
    """A function of one id."""

    function: Callable[[Any], Any]

    def __call__(self, ids: list[Any]) -> list[Any]:
        parents = list(map(self.function, ids))
        wrong = next(
            (place for place, own in enumerate(parents) if own is not None and not isinstance(own, str | int)), None
        )
        if wrong is not None:
            raise InvalidTypeError(
                f"`parents` must return the id of a document, a text or a whole number, or None, but returns "
                f"{shorten(parents[wrong])} for {shorten(ids[wrong])}"
            )
        return parents


def make_parents(parents: Any) -> Parents | None:
    """Return the argument `parents` as an object that finds the documents of chunks, None if there is none."""
    if parents is None or isinstance(parents, Parents):
        return parents
    if isinstance(parents, str):
        if not parents.startswith(BEFORE):
            return Parents(_Column(parents))
        is_last = parents.startswith(BEFORE + LAST)
        separator = parents.removeprefix(BEFORE).removeprefix(LAST if is_last else "")
        if not separator:
            raise InvalidInputError(
                f"`parents` must name what ends a document's id, not {shorten(parents)}. Say 'before #'"
            )
        return Parents(_Rule(separator, is_last))
    if callable(parents) and not isinstance(parents, Mapping):
        return Parents(_Function(parents))
    if isinstance(parents, Mapping) and not any(isinstance(value, list) for value in parents.values()):
        return Parents(_Table(_pair(list(parents), list(parents.values()))))
    if hasattr(parents, "index") and hasattr(parents, "to_dict") and getattr(parents, "ndim", 0) == 1:
        return Parents(_Table(_pair(parents.index.tolist(), parents.tolist())))
    if is_frame(parents) or isinstance(parents, Mapping):
        names = Frame(parents, None, "parents").column_names
        chunks = [name for name in names if name.lower() in CHUNKS]
        others = [name for name in names if name not in chunks]
        if len(chunks) == 1 and others:
            document = Frame(dict.fromkeys(others, ()), None, "parents").column_name("document")
            columns = [
                Frame(parents, {"document": name}, "parents").read_ids("document") for name in (*chunks, document)
            ]
            return Parents(_Table(_pair(*(column.names().tolist() for column in columns))))
        raise InvalidInputError(
            f"`parents` must have one column of chunks, named as one of {', '.join(CHUNKS)}, and one of their "
            f"documents, but has the columns {', '.join(map(repr, names))}. Give dict(zip(chunks, documents))"
        )
    raise InvalidTypeError(f"`parents` must be {FORM}, not {shorten(parents)}")


def _pair(chunks: Iterable[Any], documents: Iterable[Any]) -> dict[Any, Any]:
    """Return a dict of chunk to document. A chunk may stand twice, but only with one document."""
    by_chunk: dict[Any, Any] = {}
    for chunk, document in zip(chunks, documents, strict=True):
        if document is None or document != document or not isinstance(document, str | int | np.integer):
            raise InvalidTypeError(
                f"`parents` must give a text or a whole number as document, but that of {shorten(chunk)} is "
                f"{shorten(document)}. Leave it out, or name its document"
            )
        if by_chunk.setdefault(chunk, document) != document:
            raise InvalidInputError(
                f"`parents` must give one document to a chunk, but {shorten(chunk)} has {shorten(by_chunk[chunk])} and "
                f"{shorten(document)}. Count it for one of them"
            )
    return by_chunk


def _list_ids(column: IdColumn) -> tuple[list[Any], Array]:
    """Return the different ids of a column, and the number of that of each row."""
    codes, firsts = column.factorize()
    return column.take(firsts).names().tolist(), codes


def _make_column(documents: list[Any]) -> IdColumn:
    return IdColumn.of(documents, "documents that `parents` gives")
