"""
Lists of ids without labels or scores: {query: relevant ids}, {query: ids in rank order}, and rows by position.

Whole numbers in lists of relevant ids could be labels, too. A note of the result says that they were read as ids. Rows
of whole numbers by position are labels and scores, and ids only where lists of the two sides differ in length.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.dict_reader import snapshot
from fastndcg.inputs.hints import are_columns, row_problem
from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.ragged import Ragged
from fastndcg.rankings.validation import Array, read_only

READ_AS_IDS = (
    "whole numbers in lists of the truth were read as ids. For labels give {document: label}, or lists of labels and "
    "of scores without queries"
)
WHOLE_NUMBERS = "fn.Interactions and fn.Recommendations, where users and items are numbered from 0"


class IdLists(NamedTuple):
    """The queries of a dict, and the ids of each: query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``."""

    queries: IdColumn
    offsets: Array
    documents: IdColumn


def is_id_rows(value: Any) -> bool:
    """Return True for a list of lists of texts, one a query. Tuples of two or three texts are records."""
    if not isinstance(value, list | tuple) or not value or not isinstance(value[0], list | tuple | Set | np.ndarray):
        return False
    first = next((row for row in value if len(row)), ()) if all(map(is_id_list, value)) else ()
    if hasattr(first, "_fields") or not all(isinstance(item, str) for item in first):
        return isinstance(first, Set)
    are_records = isinstance(first, tuple) and len(first) in (2, 3) and len(set(map(len, value))) == 1
    return len(first) > 0 and not are_records


def find_id_rows(truth: Ragged, predictions: Any) -> Ragged | None:
    """
    Return predictions as lists of ids by position, if they and the truth can be nothing else.

    They are whole numbers, different in each list, and lists of the two sides differ in length.
    """
    if not isinstance(predictions, list | tuple) or not predictions or not isinstance(predictions[0], list | tuple):
        return None
    try:
        values = np.array(list(chain.from_iterable(predictions)))
    except (TypeError, ValueError):  # rows that are no lists of numbers
        return None
    offsets = np.cumsum([0, *map(len, predictions)])
    if len(offsets) != len(truth.offsets) or (offsets == truth.offsets).all():
        return None
    for lists in (truth, Ragged(values, offsets)):
        if lists.values.ndim != 1 or lists.values.dtype.kind not in "iu":
            return None
        if IdColumn.from_limbs(lists.values).find_duplicate(read_only(lists.offsets), 0, len(lists.offsets) - 1):
            return None
    return Ragged(values, offsets)


def holds_id_lists(rows: Any, what: str) -> bool:
    """Return True for a mapping whose first query maps to a list, a tuple, a set or an array. Errors call it `what`."""
    if not isinstance(rows, Mapping):
        return False
    try:
        first = next(iter(rows.values()), None)
    except (RuntimeError, LookupError):  # another thread changes the mapping: copy it
        first = next(iter(snapshot(rows, what).values()), None)
    return is_id_list(first) and not are_columns(rows)


def is_id_list(row: Any) -> bool:
    """Return True for a list, a tuple, a set, an array or a column: several things without a number each."""
    if isinstance(row, list | tuple | Set):
        return True
    return _find_list_method(row) is not None and getattr(row, "ndim", 1) == 1 and not hasattr(row, "columns")


def _find_list_method(column: Any) -> str | None:
    """Return the name of the method that lists the values: of NumPy and pandas, of Polars, or of pyarrow."""
    return next((name for name in ("tolist", "to_list", "to_pylist") if hasattr(column, name)), None)


def _list_ids(row: Any) -> Any:
    """Return the ids of a query as a list, a tuple or a set."""
    name = None if isinstance(row, list | tuple | Set) else _find_list_method(row)
    return row if name is None else getattr(row, name)()


def read_id_lists(rows: Mapping[Any, Any], what: str, *, are_ranked: bool) -> IdLists:
    """
    Read the ids of each query. Error messages call the dict `what`.

    Parameters
    ----------
    rows : mapping
        ``{query: ids}``. A query without ids has no rows, so it counts as missing.
    what : str
        "qrels" or "run".
    are_ranked : bool
        True if the order of ids matters, so that sets are refused.
    """
    copied_rows = snapshot(rows, what)
    queries: list[Any] = []
    ends = [0]
    ids: list[Any] = []
    for query, row in copied_rows.items():
        if not is_id_list(row):
            raise InvalidTypeError(_describe_mixture(copied_rows, what, query))
        if are_ranked and isinstance(row, Set):
            raise InvalidTypeError(
                f"`{what}` must have ids in rank order, but those of query {shorten(query)} are a set, which has no "
                "order. Give a list, the best document first"
            )
        ids.extend(_list_ids(row))
        if len(ids) > ends[-1]:
            queries.append(query)
            ends.append(len(ids))
    if set(map(type, ids)) - {str}:
        _check_kinds(copied_rows, what)
    documents = IdColumn.of(ids, f"ids of documents in the {what}")
    offsets = read_only(np.array(ends, "i8"))
    lists = IdLists(IdColumn.of(queries, f"ids of queries in the {what}"), offsets, documents)
    refuse_repeated_ids(lists, f"the {what}")
    return lists


def _describe_mixture(rows: Mapping[Any, Any], what: str, query: Any) -> str:
    """Return the message about a query that has no ids where the first query has."""
    row = rows[query]
    if isinstance(row, Mapping):
        first = next(iter(rows))
        return (
            f"`{what}` must map all queries to dicts, or all to ids without numbers, but {shorten(first)} maps to "
            f"{shorten(rows[first])} and {shorten(query)} to {shorten(row)}. Use one form"
        )
    return row_problem(what, rows, query)


def _check_kinds(rows: Mapping[Any, Any], what: str) -> None:
    """Raise for the first row with ids that are neither texts nor whole numbers."""
    first_kind = None
    for query, row in rows.items():
        values = _list_ids(row)
        kind = None
        for value in values:
            kind = _find_kind(value)
            if kind is None:
                _refuse_id(what, query, row, value)
            if first_kind is not None and kind != first_kind:
                raise InvalidTypeError(
                    f"ids of documents in the {what} must be all texts or all whole numbers, but query "
                    f"{shorten(query)} has {shorten(value)}, and ids before it are {first_kind}. Use one type"
                )
            first_kind = kind


def _find_kind(value: Any) -> str | None:
    """Return the kind of an id for messages, or None if a value is no id."""
    if isinstance(value, str):
        return "texts"
    return "whole numbers" if isinstance(value, int | np.integer) and not isinstance(value, bool) else None


def _refuse_id(what: str, query: Any, row: Any, value: Any) -> NoReturn:
    """Raise for a value that is no id."""
    number = "label" if what == "qrels" else "score"
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


def refuse_repeated_ids(lists: IdLists, name: str) -> None:
    """Raise for an id that occurs twice in its list. The message calls the input `name`."""
    places = lists.documents.find_duplicate(lists.offsets, 0, len(lists.queries))
    if places:
        query = int(np.searchsorted(lists.offsets, places[0], side="right")) - 1
        first, second = sorted(place - int(lists.offsets[query]) for place in places)
        remedy = "" if lists.documents.are_texts else ". For labels and scores give lists of both without queries"
        raise InvalidInputError(
            f"{name}: a document must stand once in a query, but document "
            f"{shorten(lists.documents.name(places[0]))} of query {shorten(lists.queries.name(query))} has places "
            f"{first} and {second} of its list. Keep one of them{remedy}"
        )
