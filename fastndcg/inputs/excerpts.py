"""Rows of a query with a list of its spans, each a dict: gold excerpts, such as Chroma's, and retrieved chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.frames import ColumnNames

ROLES = ("document", "start", "end", "weight", "rank", "score")
NO_SPANS = {"query": np.array([], "U1"), "document": np.array([], "U1"), "start": np.zeros(0), "end": np.zeros(0)}
Excerpts: TypeAlias = tuple[dict[str, Any], ColumnNames, frozenset[Any]]  # columns of spans, queries without any


def read_excerpts(value: Any, given: ColumnNames, place: str) -> Excerpts | None:
    """Return the spans of {query: dicts}, or of rows with a list of dicts each, and None for other values."""
    if isinstance(value, Mapping):
        return _join(((query, None, spans) for query, spans in value.items()), given, place)
    rows = value if isinstance(value, list | tuple) else value.read_rows()
    if not rows or not all(isinstance(row, Mapping) for row in rows):
        return None
    names = [name for name in rows[0] if isinstance(name, str)]
    fields = {name: [_parse(row.get(name)) for row in rows] for name in names}
    filled = {name: [spans for spans in fields[name] if isinstance(spans, list | tuple) and spans] for name in names}
    lists = [name for name in names if any(isinstance(span, Mapping) for spans in filled[name] for span in spans)]
    lists = lists or [name for name in names if all(isinstance(spans, list) and not spans for spans in fields[name])]
    if not lists:
        return None
    query, document = (
        [name for name in given.find(role, names) if name in names and name not in lists]
        for role in ("query", "document")
    )
    if len(lists) > 1 or len(query) != 1 or len(document) > 1:
        raise InvalidInputError(
            f"{place} must have one query, at most one document and one list of dicts in each row, but its columns are "
            f"{join_names(names)}, with lists in {join_names(lists)}. Drop the others, or name these: fn.Spans(…, "
            "columns={'query': NAME})"
        )
    documents = fields[document[0]] if document else [None] * len(rows)
    return _join(zip(fields[query[0]], documents, fields[lists[0]], strict=True), given, place)


def _parse(spans: Any) -> Any:
    """Return the list in a text that is JSON, as CSV has it, and other values as they are."""
    try:
        return json.loads(spans) if isinstance(spans, str) and spans.startswith("[") else spans
    except ValueError:
        return spans


def _join(rows: Iterable[tuple[Any, Any, Any]], given: ColumnNames, place: str) -> Excerpts:
    """Join the spans of rows of query, document and spans."""
    flat: list[tuple[Any, Any, Mapping[str, Any]]] = []
    empty = set()
    for query, document, spans in rows:
        is_query = isinstance(query, str | int | np.integer)
        if not is_query or not isinstance(spans, list | tuple) or not all(isinstance(span, Mapping) for span in spans):
            raise InvalidTypeError(
                f"{place} must have a list of dicts for each query, but query {shorten(query)} has {shorten(spans)}. "
                "Give each span as a dict"
            )
        flat += [(query, document, span) for span in spans]
        empty |= {query} if not spans else set()
    if not flat:
        return NO_SPANS, ColumnNames({}), frozenset(empty)
    fields = list(dict.fromkeys(name for *_, span in flat for name in span if isinstance(name, str)))
    columns = {"query": [query for query, *_ in flat]}
    names = {"query": "query"}
    for role in ROLES:
        found = [name for name in given.find(role, fields) if name in fields]
        if len(found) > 1 or (not found and role in ("start", "end")):
            raise InvalidInputError(
                f"{place} must have one {role} in each span, but their fields are {join_names(fields)}. Name it: "
                f"fn.Spans(…, columns={{{shorten(role)}: NAME}})"
            )
        if not found and role != "document":
            continue
        name = names[role] = found[0] if role == "score" else role  # the name shows distances
        columns[name] = [span.get(found[0]) if found else document for _, document, span in flat]
        if None in columns[name]:
            query, _, span = flat[columns[name].index(None)]
            raise InvalidInputError(
                f"{place} must have a field of the {role} in each span, but query {shorten(query)} has "
                f"{shorten(span)}. Correct it, or leave it out"
            )
    return columns, ColumnNames(names), frozenset(empty)
