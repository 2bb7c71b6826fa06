"""Spans of text by query and document: gold text, and the chunks of a ranking, from dicts, frames, records, files."""

from __future__ import annotations

import os
from collections.abc import Mapping, Set
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.dicts import snapshot
from fastndcg.inputs.files import File
from fastndcg.inputs.formats import read_columns
from fastndcg.inputs.frames import ColumnNames, Frame
from fastndcg.inputs.ids import IdColumn, concatenate_columns, group, make_comparable
from fastndcg.inputs.join import SAMPLE, find_ids, refuse_disjoint, tell_apart
from fastndcg.inputs.messages import are_columns
from fastndcg.rankings.validation import Array, read_only

HIGHEST_END = 2**31 - 1  # of a span, so that a document and a place fit 62 bits
FORM = "{query: [(document, start, end), …]}, a frame or records with columns query, document, start and end"
SIDES = ("gold", "chunks")
FILE_FORM = "Give JSON of {query: [[document, start, end], …]} or records, CSV with a header, Parquet or Arrow"


class SpanRows(NamedTuple):
    """Spans in rows: the query, the document, the first character and the one after the last, from `place`."""

    place: str
    queries: IdColumn
    documents: IdColumn
    starts: Array
    ends: Array
    weights: Array | None
    order: Array | None  # of chunks in a query: lower is better
    empty: Set[Any] = frozenset()  # queries that have no spans, but are there
    notes: tuple[str, ...] = ()


class Spans:
    """
    Spans of text, read once: gold text, or the chunks of a ranking.

    Parameters
    ----------
    data : dict, frame, records or path
        See `evaluate_spans`.
    columns : dict, optional
        Names of columns that differ from the usual ones, such as ``{"document": "file", "start": "from"}``.

    Raises
    ------
    InvalidInputError
        If a span is empty, starts before 0 or has fractions.

    Examples
    --------
    >>> table = {"query": ["q1"], "file": ["a.txt"], "start": [100], "end": [200]}
    >>> gold = fn.Spans(table, columns={"document": "file"})
    >>> gold
    Spans: 1 of 1 query
    >>> fn.evaluate_spans(gold, {"q1": [("a.txt", 50, 150)]}, "span_recall").mean()
    {'span_recall': 0.5}
    """

    __slots__ = ("rows",)

    def __init__(self, data: Any, *, columns: Mapping[str, str] | None = None) -> None:
        self.rows: SpanRows = data.rows if isinstance(data, Spans) else _read(data, "Spans", columns)

    def __len__(self) -> int:
        return len(self.rows.starts)

    def __repr__(self) -> str:
        n_queries = len(group(self.rows.queries).firsts) + len(self.rows.empty)
        return f"Spans: {len(self):,} of {n_queries:,} {'query' if n_queries == 1 else 'queries'}"


class JoinedSpans(NamedTuple):
    """
    The gold spans of each query, which do not overlap, and its chunks in rank order.

    Documents are numbers. Names are those of the parameters of kernels: see kernels/metrics/spans.py.
    """

    query_ids: Array
    chunk_documents: Array
    chunk_starts: Array
    chunk_ends: Array
    offsets: Array
    gold_documents: Array
    gold_starts: Array
    gold_ends: Array
    gold_weights: Array
    gold_offsets: Array
    n_missing_in_chunks: int
    n_missing_in_gold: int
    notes: tuple[str, ...]


def join_spans(gold: Any, chunks: Any) -> JoinedSpans:
    """Read gold spans and chunks, and join them by query, in the order of the gold. Overlapping gold is united."""
    wanted, found = read_spans(gold, "gold"), read_spans(chunks, "chunks")
    groups = group(wanted.queries), group(found.queries)
    names, others = wanted.queries.take(groups[0].firsts), found.queries.take(groups[1].firsts)
    in_chunks = find_ids(names, others, "queries", SIDES)
    if len(names) and len(others) and (in_chunks < 0).all():
        refuse_disjoint(names, others, SIDES)
    in_gold = np.full(len(others), -1)
    in_gold[in_chunks[in_chunks >= 0]] = np.flatnonzero(in_chunks >= 0)
    documents, _ = concatenate_columns(
        make_comparable(wanted.documents, found.documents, "documents", SIDES)
    ).factorize()
    n_gold = len(wanted.starts)
    bounds = np.arange(len(names) + 1)
    gold_queries, *united = map(read_only, unite(wanted, groups[0].number_rows(), documents[:n_gold]))
    queries = in_gold[groups[1].number_rows()]
    rows = np.lexsort((queries,) if found.order is None else (found.order, queries))
    rows = rows[queries[rows] >= 0]
    refuse_ties(found, queries, rows)
    without_rows = {*wanted.empty, *found.empty} - {*names.names().tolist(), *others.names().tolist()}
    notes = found.notes
    if len(rows) and not np.isin(documents[n_gold:][rows], documents[:n_gold]).any():
        theirs, own, how = tell_apart(*(
            ids.take(own_rows[:SAMPLE]).names().tolist()
            for ids, own_rows in ((wanted.documents, np.arange(n_gold)), (found.documents, rows))
        ))  # fmt: skip
        notes += (f"no chunk is of a document with gold text: the gold has {theirs}, the chunks have {own}. {how}",)
    return JoinedSpans(
        query_ids=names.names(),
        chunk_documents=read_only(documents[n_gold:][rows]),
        chunk_starts=read_only(found.starts[rows]),
        chunk_ends=read_only(found.ends[rows]),
        offsets=read_only(np.searchsorted(queries[rows], bounds)),
        **dict(zip(("gold_documents", "gold_starts", "gold_ends", "gold_weights"), united, strict=True)),
        gold_offsets=read_only(np.searchsorted(gold_queries, bounds)),
        n_missing_in_chunks=int(np.count_nonzero(in_chunks < 0)),
        n_missing_in_gold=int(np.count_nonzero(in_gold < 0)) + len(without_rows),
        notes=notes,
    )


def unite(gold: SpanRows, queries: Array, documents: Array) -> tuple[Array, ...]:
    """Return the queries, documents, starts, ends and weights of gold spans, where those that overlap are one."""
    order = np.lexsort((gold.starts, documents, queries))
    queries, documents, starts, ends = (array[order] for array in (queries, documents, gold.starts, gold.ends))
    weights = _read_weights(gold)[order]
    is_new = (np.diff(queries, prepend=-1) != 0) | (np.diff(documents, prepend=-1) != 0)
    base = np.cumsum(is_new) * (HIGHEST_END + 1)  # so that ends of one document do not reach into the next
    farthest = np.maximum.accumulate(ends + base)
    is_first = is_new | (starts + base >= np.concatenate([[0], farthest[:-1]]))
    firsts = np.flatnonzero(is_first)
    weights_of_firsts = weights[firsts][np.cumsum(is_first) - 1]
    differs = weights != weights_of_firsts
    if differs.any():
        row = int(np.argmax(differs))
        raise InvalidInputError(
            f"{gold.place} must not have spans of different weights that overlap, but characters "
            f"{starts[row]} to {ends[row]} of document {shorten(gold.documents.name(int(order[row])))} have weight "
            f"{weights[row]:g} and {weights_of_firsts[row]:g}. Cut them"
        )
    lasts = np.append(firsts[1:], len(order)) - 1 if len(firsts) else firsts
    return queries[firsts], documents[firsts], starts[firsts], (farthest - base)[lasts], weights[firsts]


def _read_weights(gold: SpanRows) -> Array:
    """Return the weight of each gold span, above 0."""
    if gold.weights is None:
        return np.ones(len(gold.starts))
    weights = gold.weights.astype("f8")
    is_right = (weights > 0) & np.isfinite(weights)
    if not is_right.all():
        row = int(np.argmin(is_right))
        raise InvalidInputError(
            f"{gold.place} must have finite weights above 0, but row {row} has {weights[row]:g}. Leave it out"
        )
    return weights


def refuse_ties(chunks: SpanRows, queries: Array, rows: Array) -> None:
    """Raise for chunks without a rank or score, and for two of a query with the same. `rows` are in rank order."""
    if chunks.order is None:
        return
    is_missing = np.isnan(chunks.order)
    if is_missing.any():
        raise InvalidInputError(
            f"{chunks.place} must have no NaN as rank or score, but row {int(np.argmax(is_missing))} has"
        )
    same = (np.diff(queries[rows]) == 0) & (np.diff(chunks.order[rows]) == 0)
    if same.any():
        row = int(rows[int(np.argmax(same))])
        raise InvalidInputError(
            f"{chunks.place} must have different ranks or scores in a query, but two of query "
            f"{shorten(chunks.queries.name(row))} have {abs(chunks.order[row]):g}. Give ranks, or rows in rank order "
            "without scores"
        )


def read_spans(value: Any, side: str) -> SpanRows:
    """Return the spans of one side: gold has no order, and chunks have no weights."""
    if isinstance(value, Spans):
        return value.rows._replace(order=None) if side == "gold" else value.rows._replace(weights=None)
    return _read(value, side, None)


def _read(value: Any, name: str, columns: Any) -> SpanRows:
    title, place = name, f"`{name}`"
    if isinstance(value, str | os.PathLike):
        with File(value) as file:
            value = _read_file(file, columns)
        title = place = file.name
    names, given = () if columns is None else columns.values(), ColumnNames.of(columns)
    is_dict = isinstance(value, Mapping) and not are_columns(value) and not any(name in value for name in names)
    if is_dict:
        value = snapshot(value, name)
        if not _holds_dicts(value):
            return _read_dict(value, name, place)
    frame = None if is_dict or isinstance(value, list | tuple) else SpanFrame(value, given, title)
    excerpts = None
    if is_dict or not _has_start(value if frame is None else frame.column_names, given):
        from fastndcg.inputs.excerpts import read_excerpts  # late: most spans stand in rows of their own

        excerpts = read_excerpts(value if frame is None else frame, given, place)
    if excerpts is not None:
        frame = SpanFrame(*excerpts[:2], title)
    elif frame is None:
        frame = SpanFrame(_list_columns(value, place), given, title)
    order = None
    if name != "gold":
        role = next((role for role in ("rank", "score") if frame.has(role)), None)
        order = None if role is None else frame.read_numbers(role) * (1.0 if role == "rank" else -1.0)
    weights = frame.read_numbers("weight") if name != "chunks" and frame.has("weight") else None
    bounds = (frame.read_numbers("start"), frame.read_numbers("end"))
    ids = frame.read_ids("query"), frame.read_ids("document")
    empty = frozenset() if excerpts is None else excerpts[2]
    return _check(SpanRows(place, *ids, *bounds, weights, order, empty, () if name == "gold" else frame.notes))


def _holds_dicts(rows: Mapping[Any, Any]) -> bool:
    """Return True if the first filled list has dicts."""
    first = next((spans for spans in rows.values() if isinstance(spans, list | tuple) and spans), (None,))
    return isinstance(first[0], Mapping)


def _has_start(rows: Any, given: ColumnNames) -> bool:
    """Return True if the first record, or a frame with such names of columns, has a start."""
    names = list(rows[0]) if rows and isinstance(rows[0], Mapping) else rows
    return any(name in names for name in given.find("start", [name for name in names if isinstance(name, str)]))


def _read_file(file: File, columns: Any) -> Any:
    """Return what a file holds: a dict or records of JSON, or a table."""

    def list_ids(names: list[str]) -> list[str]:
        candidates = SpanFrame(dict.fromkeys(names, ()), ColumnNames.of(columns), file.name).candidates
        return [*candidates["query"], *candidates["document"]]

    values = read_columns(file, "spans", FILE_FORM, list_ids)
    is_whole = isinstance(values, list) and len(values) == 1 and not _is_record(values[0], ColumnNames.of(columns))
    return values[0] if is_whole else values


def _is_record(value: Any, given: ColumnNames) -> bool:
    """Return True for an object of one span or of one query, not of queries or of columns."""
    if not isinstance(value, dict):
        return False
    if any(isinstance(value.get(name), str | int) for name in given.find("query", value)):
        return True
    return are_columns(value) and not any(isinstance(one, list) for one in value.values())


class SpanFrame(Frame):
    """The columns of a frame by role, of which some are for spans alone."""

    def _list_roles(self) -> list[str]:
        return ["query", "document", "start", "end", "weight", "rank", "score"]

    def read_rows(self) -> list[dict[str, Any]]:
        """Return all rows as dicts, none if a column does not convert."""
        try:
            return self._read(self._names).to_pylist()  # type: ignore[no-any-return]
        except InvalidInputError:
            return []


def _list_columns(rows: Any, place: str) -> dict[str, list[Any]]:
    """Return the columns of records."""
    if not rows or not all(isinstance(row, Mapping) and row.keys() == rows[0].keys() for row in rows):
        raise InvalidTypeError(f"{place} must be {FORM}, but is {shorten(rows)}")
    return {key: [row[key] for row in rows] for key in rows[0]}


def _read_dict(rows: Mapping[Any, Any], name: str, place: str) -> SpanRows:
    """Read {query: [(document, start, end), …]}. Gold spans may have a weight, too."""
    lengths = (3,) if name == "chunks" else (3, 4)
    flat: list[tuple[Any, ...]] = []
    for query, spans in rows.items():
        if not isinstance(spans, list | tuple):
            raise InvalidTypeError(f"{place} must be {FORM}, but query {shorten(query)} maps to {shorten(spans)}")
        for span in spans:
            is_span = isinstance(span, list | tuple) and len(span) in lengths
            if not is_span or any(hasattr(number, "__len__") for number in span[1:]):
                raise InvalidTypeError(f"{place} must be {FORM}, but query {shorten(query)} has {shorten(span)}")
            flat.append((query, *span, *(1,) * (4 - len(span))))
    fields = list(zip(*flat, strict=True)) or [()] * 5
    numbers = [np.array(field) if field else np.zeros(0) for field in fields[2:]]
    queries = IdColumn.of(list(fields[0]), f"ids of queries in {name}")
    documents = IdColumn.of(list(fields[1]), f"ids of documents in {name}")
    weights = None if name == "chunks" else numbers[2]
    empty = frozenset(query for query, spans in rows.items() if not spans)
    return _check(SpanRows(place, queries, documents, numbers[0], numbers[1], weights, None, empty))


def _check(spans: SpanRows) -> SpanRows:
    """Return spans with whole numbers from 0 on."""
    place = spans.place
    for what, values in (("start", spans.starts), ("end", spans.ends), ("weight", spans.weights)):
        if values is not None and values.dtype.kind not in "iuf":
            raise InvalidTypeError(f"{place} must have numbers as {what}, but their type is {values.dtype}")
    starts, ends = (bounds.astype("f8") for bounds in (spans.starts, spans.ends))
    wrong = ~((starts >= 0) & (starts < ends) & (ends <= HIGHEST_END))
    wrong[~wrong] = (starts[~wrong] % 1 != 0) | (ends[~wrong] % 1 != 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{place} must have whole numbers 0 ≤ start < end ≤ {HIGHEST_END}, end the character after the last, but "
            f"row {row} (query {shorten(spans.queries.name(row))}) is from {spans.starts[row]} to {spans.ends[row]}. "
            "Give character offsets, and leave empty spans out"
        )
    return spans._replace(starts=starts.astype("i8"), ends=ends.astype("i8"))
