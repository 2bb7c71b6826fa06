"""Forms of truth and runs that few programs have: matrices of pandas with ids, and those of tools for retrieval."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.dicts import is_hit, list_retrieved, snapshot
from fastndcg.inputs.frames import ColumnNames, find_usual_names, find_usual_roles, is_distance, is_pandas
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import Source
from fastndcg.inputs.records import Records
from fastndcg.inputs.table import Table, TableRows, refuse_repeated
from fastndcg.rankings.validation import Array, count_before, read_only
from fastndcg.recommenders.interactions import find_direction

Kind = TypeVar("Kind", bound=Table)
Notes: TypeAlias = tuple[str, ...]


def is_pivot(frame: Any) -> bool:
    """Return True for a matrix with ids: a frame of pandas with numbers only, an index of ids, and no usual names."""
    if not is_pandas(frame) or frame.shape[1] < 2 or frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        return False
    are_texts = set(map(type, frame.columns)) <= {str}
    has_plain_index = type(frame.index).__name__ == "RangeIndex"
    if (are_texts and has_plain_index) or find_usual_roles(name for name in frame.columns if isinstance(name, str)):
        return False
    return all(getattr(kind, "kind", "O") in "biuf" for kind in frame.dtypes)


def read_pivot(kind: type[Kind], frame: Any) -> Kind:
    """Read the cells of a matrix with ids. NaN is no value."""
    has_names = any(type(names).__name__ != "RangeIndex" for names in (frame.index, frame.columns))
    if kind.value_name == "score" and not has_names and all(dtype.kind in "iu" for dtype in frame.dtypes):
        raise InvalidTypeError(
            f"`{kind.what}` must be scores, but is a frame of whole numbers without names, which could be items in "
            "rank order. Give frame.to_numpy() for items, or frame.astype(float) for scores"
        )
    values = frame.to_numpy()
    values = values if values.dtype.kind != "O" else frame.to_numpy("f8", na_value=np.nan)  # bool beside numbers
    rows, places = np.nonzero(~np.isnan(values)) if values.dtype.kind == "f" else np.nonzero(np.ones(values.shape))
    documents = IdColumn.of(frame.columns.tolist(), "names of columns").take(places)
    queries = IdColumn.of(frame.index.tolist(), "the index")
    offsets = count_before(np.bincount(rows, minlength=len(frame)))
    source = Source(f"the {kind.what}")
    refuse_repeated(queries, source)
    return kind.from_rows(TableRows.in_order(queries, offsets, documents, values[rows, places]), source)


def read_golden_set(value: list[Mapping[str, Any]]) -> dict[Any, dict[str, float]]:
    """Return the labels of a golden set's chunks by query and text. A chunk without a score has the label 1."""
    found: dict[Any, dict[str, float]] = {}
    for row, record in enumerate(value):
        chunks, query = map(record.get, ("expected_chunks", "query")) if isinstance(record, Mapping) else (record, None)
        if not isinstance(chunks, list) or not all(
            isinstance(chunk, Mapping) and isinstance(chunk.get("text"), str) for chunk in chunks
        ):
            raise InvalidTypeError(
                f"`truth`, row {row}: expected_chunks must be a list of dicts with a text, but is {shorten(chunks)}. "
                "Correct it"
            )
        labels = {chunk["text"]: chunk.get("expect_score", 1) for chunk in chunks}
        if not isinstance(query, str | int) or query in found or len(labels) < len(chunks):
            raise InvalidInputError(
                f"`truth`, row {row}: each query must stand in one record, and each text once in it, but query "
                f"{shorten(query)} does not. Keep one of them"
            )
        found[query] = labels
    return found


def make_item_frame(value: Any, name: str) -> Any:
    """Return the frame of LensKit's lists."""
    if len(value.key_fields) != 1:
        raise InvalidInputError(
            f"`{name}` must have keys of one field, the user or query, but has {join_names(value.key_fields)}. "
            "Evaluate each part alone, or join the fields to one"
        )
    return value.to_df()


HIT_LISTS = {"truth": ("relevant", "document", "label"), "predictions": ("retrieved", "document")}


def find_hits(value: list[Any], side: str) -> str | None:
    """Return the field with lists of dicts, shown by the first filled list of a usual name, or None."""
    for record in value:
        names = [name for name in record if isinstance(name, str)] if isinstance(record, Mapping) else []
        usual = [name for role in HIT_LISTS[side] for name in find_usual_names(role, names)]
        is_flat = any(not isinstance(record[name], list) for name in find_usual_names("document", names))
        if is_flat or not usual or not isinstance(record[usual[0]], list):
            return None
        if record[usual[0]]:
            return usual[0] if all(map(is_hit, record[usual[0]])) else None
    return None


def read_hit_list(kind: type[Kind], value: Any, given: ColumnNames) -> Kind:
    """Read dicts of a query and its ratings or hits, such as OpenSearch's judgments or Elasticsearch's requests."""
    rows = value if isinstance(value, list) else value.get("requests", value.get("judgmentRatings"))
    hits, names = find_hits(rows, kind.side), list(rows[0])
    query = next(iter(given.find("query", names)), "id")
    found: dict[Any, list[Any]] = {}
    for row, record in enumerate(rows):
        own = record.get(query) if isinstance(record, Mapping) else None
        if not isinstance(own, str | int) or own in found or not isinstance(record.get(hits), list):
            raise InvalidInputError(
                f"`{kind.side}`, row {row}: each query must stand in one record, as {shorten(query)}, with a list "
                f"{shorten(hits)}, but is {shorten(record)}. Correct it, or keep one of them"
            )
        found[own] = list(map(_read_rating, record[hits]))
    return read_hits(kind, found, given)


def _read_rating(hit: Any) -> Any:
    """Return a hit with its rating as a number: OpenSearch has texts."""
    rating = hit.get("rating") if isinstance(hit, Mapping) else None
    try:
        return {**hit, "rating": float(rating)} if isinstance(rating, str) else hit
    except ValueError:  # reading it as a number says what is wrong
        return hit


def find_relevant(value: Any) -> Mapping[Any, Any]:
    """Return the relevant ids of each query of LlamaIndex's data set."""
    queries, relevant = (
        value[name] if isinstance(value, Mapping) else getattr(value, name) for name in ("queries", "relevant_docs")
    )
    missing = next((query for query in queries if query not in relevant), None)
    if missing is not None:
        raise InvalidInputError(
            f"`truth` must have relevant_docs of each of its queries, but has none of {shorten(missing)}. Give it an "
            "empty list, or leave the query out"
        )
    return relevant  # type: ignore[no-any-return]


def list_examples(value: list[Any], name: str) -> list[dict[str, Any]]:
    """Return inputs and outputs of LangSmith's examples as records, or the ids in LlamaIndex's results."""
    found = []
    for row, example in enumerate(value):
        get = example.get if isinstance(example, Mapping) else functools.partial(getattr, example)
        if get("expected_ids", None) is not None:
            found.append({field: get(field, None) for field in ("query", "expected_ids", "retrieved_ids")})
            continue
        inputs, outputs = (get(name, None) or {} for name in ("inputs", "outputs"))
        if not isinstance(inputs, Mapping) or not isinstance(outputs, Mapping) or inputs.keys() & outputs.keys():
            raise InvalidInputError(
                f"`{name}`, row {row}: inputs and outputs must be dicts without a name in common, but are "
                f"{shorten(inputs)} and {shorten(outputs)}. Rename what both have"
            )
        found.append({**inputs, **outputs})
    return found


HIT_IDS = ("_id", "id", "uuid", "pk", "objectID")  # of Elasticsearch, Qdrant, Weaviate, Milvus, Algolia


def read_hits(kind: type[Kind], value: Mapping[Any, Any], given: ColumnNames) -> Kind:
    """Read {query: list of dicts}, what a search returned or ratings of documents, by the names of their fields."""
    rows = snapshot(value, kind.what)
    hits: list[Mapping[str, Any]] = []
    ends = [0]
    for query, row in rows.items():
        found = list_retrieved(row)
        if found is None or not all(map(is_hit, found)):
            raise InvalidTypeError(
                f"`{kind.what}` must map each query to a list of dicts, as the first is, but {shorten(query)} maps to "
                f"{shorten(row)}. Use one form"
            )
        hits += [hit if isinstance(hit, Mapping) else hit._asdict() for hit in found]
        ends.append(len(hits))
    names = list(dict.fromkeys(name for hit in hits for name in hit if isinstance(name, str)))
    by_role = dict(given.by_role)
    own_ids = [name for name in HIT_IDS if name in names]
    if own_ids and not any(name.lower().endswith(("id", "no")) for name in given.find("document", names)):
        by_role.setdefault("document", own_ids[0])  # a field `document` beside it may be a text
    is_run = kind.value_name == "score"
    distances = [name for name in names if is_distance(name)]
    if is_run and distances and not given.find("score", names):
        by_role["score"] = distances[0]
    given = replace(given, by_role=by_role)
    records = Records(hits, given, Source(f"`{kind.what}`", "hit"), kind.value_name)
    offsets = read_only(np.array(ends, "i8"))
    values, notes = kind._make_values(offsets), records.notes if is_run else ()
    if is_run and records.is_ranked:
        values = -records.read_numbers("rank")
    elif records.has(kind.value_name):
        name = records.column_name(kind.value_name)
        if not is_run or any(hit.get(name, 0) is not None for hit in hits):  # Elasticsearch has none where it sorts
            values = records.read_numbers(kind.value_name)
    if notes:
        values, notes = _orient(values, offsets, by_role["score"], list(rows), notes)
    source = Source(f"the {kind.what}", lists=offsets, columns=tuple(names), notes=notes)
    queries = IdColumn.of(rows, f"ids of queries in the {kind.what}")
    return kind.from_rows(TableRows.in_order(queries, offsets, records.read_ids("document"), values), source)


def _orient(scores: Array, offsets: Array, name: str, queries: list[Any], notes: Notes) -> tuple[Array, Notes]:
    """Return negative distances of sorted lists. Milvus calls similarities distances, too: these fall, and count."""
    fall, row = find_direction(scores, offsets)
    if fall:
        return scores, notes
    if fall is False:
        return -scores, (f"field {shorten(name)} falls in each list: its values were read as similarities",)
    raise InvalidInputError(
        f"the run: field {shorten(name)} must rise in the lists of all queries, as distances, or fall in all, but does "
        f"not in query {shorten(queries[row])}. Sort its hits, the best first"
    )
