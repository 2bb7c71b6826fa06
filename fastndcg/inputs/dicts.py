"""
Dicts of dicts into arrays.

On interpreters that were tested, kernels read rows that are exactly dicts of Python's texts and numbers. They use
Python's documented C API only. Python code reads all other rows, and all rows on other interpreters. Results of
retrievers are objects of other packages, read by their attributes alone.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Collection, Iterable, Mapping, Set, Sized
from typing import Any, NoReturn
from uuid import UUID

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import are_columns, refuse_row
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, count_before, read_only

TESTED_VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14))
HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()  # without it, other threads change dicts meanwhile
CAN_READ_OBJECTS = HAS_LOCK and sys.implementation.name == "cpython" and sys.version_info[:2] in TESTED_VERSIONS
KINDS = read_only(np.array([id(kind) for kind in (str, float, np.float64, int, bool)], "i8"))
BYTES_PER_ID = 32  # most ids are shorter; buffer pages without data take no memory

Row = Mapping[Any, Any]


def snapshot(rows: Row, name: str) -> dict[Any, Any]:
    """
    Copy a mapping into a dict that no other thread can change. Error messages call it `name`.

    Only its items count: `len()` of a mapping of another class may be another number.
    """
    try:
        return dict(rows)  # no other thread interrupts the copy of a dict
    except (RuntimeError, LookupError) as error:
        raise InvalidInputError(
            f"`{name}` must not change while it is read, but did: {error}. Pass a copy that no other thread writes to"
        ) from None


def plain_rows(rows: dict[Any, Row], name: str) -> dict[Any, dict[Any, Any]]:
    """Replace each row that is not exactly a dict by a copy that is one."""
    if not set(map(type, rows.values())) - {dict}:
        return rows  # type: ignore[return-value]
    return {query: row if type(row) is dict else snapshot(row, f"{name}[{query!r:.80}]") for query, row in rows.items()}


def count_offsets(rows: Collection[Row]) -> Array:
    """Return offsets for the items of all dicts, one dict after the other."""
    return read_only(count_before(np.fromiter(map(len, rows), "i8", len(rows))))


def read_items(rows: Collection[Row], offsets: Array) -> tuple[Array, IdColumn] | None:
    """Read the values and keys of dicts, and return None if Python has to read them."""
    if not CAN_READ_OBJECTS:
        return None
    kernels = load_kernels("inputs.dicts")

    addresses = read_only(np.fromiter(map(id, rows), "i8", len(rows)))
    n_items = int(offsets[-1])
    values = np.empty(n_items)
    ends = np.empty(n_items, "i8")
    data = np.empty(BYTES_PER_ID * n_items, "u1")
    summary = np.empty(2)
    while True:  # the second turn has a buffer that is large enough, unless another thread adds longer ids
        n_bytes = kernels.read_items(addresses, KINDS, offsets, (values, ends, data, summary))
        if summary[kernels.N_OPEN]:
            return None
        if n_bytes <= len(data):
            break
        data = np.empty(n_bytes, "u1")
    if not summary[kernels.N_FRACTIONS]:
        values = values.astype("i8")
    return values, IdColumn.of_bytes(data[:n_bytes], np.concatenate([[0], ends]))


READ_AS_IDS = (
    "whole numbers in lists of the truth were read as ids. For labels give {document: label}, or lists of labels and "
    "of scores without queries"
)
WHOLE_NUMBERS = "fn.Interactions and fn.Recommendations, where users and items are numbered from 0"


def is_id_rows(value: Any) -> bool:
    """Return True for a list of lists of texts, one a query. Tuples of two or three texts are records."""
    if not isinstance(value, list | tuple) or not value or not isinstance(value[0], list | tuple | Set | np.ndarray):
        return False
    first = next((row for row in value if len(row)), ()) if all(map(is_id_list, value)) else ()
    if hasattr(first, "_fields") or not all(isinstance(item, str) for item in first):
        return isinstance(first, Set)
    are_records = isinstance(first, tuple) and len(first) in (2, 3) and len(set(map(len, value))) == 1
    return len(first) > 0 and not are_records


def holds_id_lists(rows: Any, what: str) -> bool:
    """Return True for a mapping whose first query maps to a list, a tuple, a set or an array. Errors call it `what`."""
    if not isinstance(rows, Mapping):
        return False
    try:
        first = next(iter(rows.values()), None)
    except (RuntimeError, LookupError):  # another thread changes the mapping: copy it
        first = next(iter(snapshot(rows, what).values()), None)
    return is_id_list(first) and not are_columns(rows)


def label_id_lists(rows: dict[Any, Any]) -> dict[Any, Any]:
    """Return judgments of some queries by label and of others by relevant ids as labels, 1 for each of these ids."""
    kinds = set(map(type, rows.values()))
    if len(kinds) < 2 or not any(issubclass(kind, Mapping) for kind in kinds):
        return rows
    for query, row in rows.items():
        _check_ids("qrels", query, row, _list_ids(row) if is_id_list(row) else ())
    labelled = {query: dict.fromkeys(_list_ids(row), 1) if is_id_list(row) else row for query, row in rows.items()}
    for query, row in labelled.items():
        if isinstance(row, dict) and isinstance(rows[query], Sized) and len(row) < len(rows[query]):
            ids = list(_list_ids(rows[query]))
            twice = next(name for place, name in enumerate(ids) if name in ids[:place])
            raise InvalidInputError(
                f"`qrels` must have different ids in the list of a query, but query {shorten(query)} has "
                f"{shorten(twice)} twice. Keep one of them"
            )
    return labelled


def holds_groups(rows: Any, what: str) -> bool:
    """Return True for a mapping whose first query with ids maps to groups of them: lists or sets of one type."""
    if not holds_id_lists(rows, what):
        return False
    lists = map(_list_ids, filter(is_id_list, snapshot(rows, what).values()))
    first = next((ids for ids in lists if len(ids)), ())
    group = next(iter(first), None)
    if isinstance(group, tuple) or not is_id_list(group):
        return False
    ids = list(_list_ids(group))
    return len(set(map(_find_kind, ids))) < 2 or any(
        one is None for one in ids
    )  # else it is a pair of an id and a number


def list_groups(rows: Mapping[Any, Any]) -> list[tuple[Any, int, Any, int]]:
    """Return (query, number of the group from 1, document, 1) for {query: groups of ids}."""
    flat: list[tuple[Any, int, Any, int]] = []
    for query, groups in rows.items():
        for number, group in enumerate(_list_ids(groups) if is_id_list(groups) else [groups], 1):
            ids = list(_list_ids(group)) if is_id_list(group) else []
            if not ids or len(set(map(str, ids))) < len(ids):
                raise InvalidInputError(
                    "`qrels` must have groups of ids, all different, as the first query has, but query "
                    f"{shorten(query)} has {shorten(group)}. Give {{query: [[id, id], [id]]}}, where one of each group "
                    "is enough"
                )
            _check_ids("qrels", query, groups, ids)
            flat += [(query, number, document, 1) for document in ids]
    return flat


def is_id_list(row: Any) -> bool:
    """Return True for a list, a tuple, a set, an array or a column: several things without a number each."""
    if isinstance(row, list | tuple | Set):
        return True
    if isinstance(row, Mapping | str | int | float):
        return False
    return _find_list_method(row) is not None and getattr(row, "ndim", 1) == 1 and not hasattr(row, "columns")


def _find_list_method(column: Any) -> str | None:
    """Return the name of the method that lists the values: of NumPy and pandas, of Polars, or of pyarrow."""
    return next((name for name in ("tolist", "to_list", "to_pylist") if hasattr(column, name)), None)


def _list_ids(row: Any) -> Any:
    """Return the ids of a query as a list, a tuple or a set."""
    name = None if isinstance(row, list | tuple | Set) else _find_list_method(row)
    return row if name is None else getattr(row, name)()


def read_id_lists(rows: Mapping[Any, Any], what: str, *, are_ranked: bool) -> tuple[IdColumn, Array, IdColumn]:
    """
    Return queries, the offsets of their ids, and the ids. Error messages call the dict `what`.

    Parameters
    ----------
    rows : mapping
        ``{query: ids}``. A query without ids has no rows.
    what : str
        "qrels" or "run".
    are_ranked : bool
        True if the order of ids matters, so that sets are refused.
    """
    copied_rows = snapshot(rows, what)
    ends = [0]
    ids: list[Any] = []
    for query, row in copied_rows.items():
        if not is_id_list(row):
            _refuse_mixture(copied_rows, what, query)
        if are_ranked and isinstance(row, Set):
            raise InvalidTypeError(
                f"`{what}` must have ids in rank order, but those of query {shorten(query)} are a set, which has no "
                "order. Give a list, the best document first"
            )
        ids.extend(_list_ids(row))
        ends.append(len(ids))
    if set(map(type, ids)) - {str}:
        for query, row in copied_rows.items():
            _check_ids(what, query, row, _list_ids(row))
    documents = IdColumn.of(ids, f"ids of documents in the {what}")
    return IdColumn.of(copied_rows, f"ids of queries in the {what}"), read_only(np.array(ends, "i8")), documents


def _refuse_mixture(rows: Mapping[Any, Any], what: str, query: Any) -> NoReturn:
    """Raise for a query that has no ids where the first query has."""
    row = rows[query]
    if isinstance(row, Mapping):
        first = next(iter(rows))
        raise InvalidTypeError(
            f"`{what}` must map all queries to dicts, or all to ids without numbers, but {shorten(first)} maps to "
            f"{shorten(rows[first])} and {shorten(query)} to {shorten(row)}. Use one form"
        )
    refuse_row(what, rows, query)


def _find_kind(value: Any) -> type | None:
    """Return str for a text, int for a whole number, or None if a value is no id."""
    if isinstance(value, str):
        return str
    return int if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def _check_ids(what: str, query: Any, row: Any, ids: Iterable[Any]) -> None:
    """Raise for the first of a query's ids that is none."""
    number = "label" if what == "qrels" else "score"
    for value in ids:
        if _find_kind(value) is not None:
            continue
        if isinstance(value, Mapping):
            remedy = f"For dicts of ids and {number}s give {{hit[ID]: hit[{number.upper()}] for hit in hits}}"
        elif isinstance(value, tuple | list) and len(value) == 2:
            remedy = f"For pairs of ids and {number}s give dict(pairs)"
        elif isinstance(value, float | np.floating | bool):
            remedy = f"Give {{document: {number}}}, or ids in place of {number}s, or {WHOLE_NUMBERS}"
        else:
            remedy = "Give texts, or sets of whole numbers"
        raise InvalidTypeError(
            f"`{what}` must map queries to dicts or to ids, but {shorten(query)} maps to {shorten(row)}, where "
            f"{shorten(value)} is no id. {remedy}"
        )


# LangChain's documents have `id`, also in pairs with a score. LlamaIndex's nodes have `node_id`, and stand in objects
# with `node` and `score`. Haystack's documents have `id`, and a retriever returns {"documents": [...]}. Points of
# Qdrant and hits of Milvus have `id`, objects of Weaviate `uuid`. Scores are not read: the list is in the order in
# which the prompt has it, and a score may be a distance.
ID_NAMES = ("node_id", "id", "doc_id", "document_id", "uuid")
# Elasticsearch's response has hits in hits. The last three are of LlamaIndex's response and LangChain's chains.
LISTS = ("body", "documents", "points", "objects", "matches", "hits", "source_nodes", "source_documents", "context")


def holds_retrieved(value: Any) -> bool:
    """Return True if the first filled list of queries has objects with an id, and for a mapping of empty lists."""
    first = _find_first_hit(value)
    return first is _EMPTY or (first is not None and not is_hit(first) and _is_document(first))


def holds_hits(value: Any) -> bool:
    """Return True for a mapping whose first filled list has dicts, or named tuples."""
    return isinstance(value, Mapping) and is_hit(_find_first_hit(value))


_EMPTY = object()


def _find_first_hit(value: Any) -> Any:
    """Return the first item of the first filled list, `_EMPTY` for a mapping of empty lists, None for other values."""
    is_mapping = isinstance(value, Mapping)
    if not is_mapping and not isinstance(value, list | tuple):
        return None
    for row in value.values() if is_mapping else value:
        found = list_retrieved(row) if is_mapping or isinstance(row, list | tuple) else None
        if found is None:
            return None
        if found:
            return found[0]
    return _EMPTY if is_mapping and value else None


def is_hit(item: Any) -> bool:
    """Return True for a dict or a named tuple."""
    return isinstance(item, Mapping) or (isinstance(item, tuple) and hasattr(item, "_asdict"))


def list_retrieved(row: Any) -> list[Any] | tuple[Any, ...] | None:
    """Return the list of a query, which clients have in a dict or object, or None for other values."""
    for _ in LISTS:
        if row is None or isinstance(row, list | tuple | str | int | float):
            break
        get = row.get if isinstance(row, Mapping) else functools.partial(getattr, row)
        row = next((inner for name in LISTS if (inner := get(name, None)) is not None), None)
    return row if isinstance(row, list | tuple) else None


def _is_document(item: Any) -> bool:
    document = _unwrap(item)
    if isinstance(document, str | int | float | np.generic | Mapping | list | tuple):
        return False
    return any(hasattr(document, name) for name in ID_NAMES)


def _unwrap(item: Any) -> Any:
    """Return the document of a pair with a score, or of an object with a node."""
    if isinstance(item, tuple) and len(item) == 2:
        item = item[0]
    return getattr(item, "node", item)


def read_retrieved(value: Any, what: str) -> dict[Any, list[Any]]:
    """
    Return the ids of the documents of each query, in their order. Error messages call the value `what`.

    Lists by position number the queries.
    """
    found = {}
    for query, row in value.items() if isinstance(value, Mapping) else enumerate(value):
        documents = list_retrieved(row)
        if documents is None:
            raise InvalidTypeError(
                f"the {what} must map each query to a list of documents, but {shorten(query)} maps to {shorten(row)}. "
                "Give lists for all queries"
            )
        found[query] = [_find_id(what, query, place, item) for place, item in enumerate(documents)]
    return found


def _find_id(what: str, query: Any, place: int, item: Any) -> str | int:
    document = _unwrap(item)
    metadata = getattr(document, "metadata", None)
    own_ids = [getattr(document, name, None) for name in ID_NAMES]
    for found in (*own_ids, metadata.get("id") if isinstance(metadata, Mapping) else None):
        if isinstance(found, str | int) and not isinstance(found, bool):
            return found
        if isinstance(found, UUID):
            return str(found)
    raise InvalidInputError(
        f"the {what}: each document must have an id, a text or a whole number, but document {place} of query "
        f"{shorten(query)}, a {type(document).__name__}, has none. Give ids when you index, or lists of what tells "
        "documents apart: {query: [document.metadata[NAME] for document in documents]}"
    )
