"""Values of users for each query: weights, clusters, strata, segments, texts."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.rankings.validation import MOST, Array, is_series
from fastndcg.runtime.escapes import show_name


def read_per_query_array(values: Any, name: str, query_ids: Array) -> Array:
    """
    Return one value a query from an array or a mapping.

    Raise an error that names the first query without a value, or the first value of a query that is unknown.
    """
    if is_series(values):
        values = _read_series(values, name, query_ids)
    if isinstance(values, Mapping):
        ids = _list_keys(values, name, query_ids)
        missing = [query for query in ids if query not in values]
        if missing:
            raise InvalidInputError(
                f"`{name}` must have a value for every query, but query {shorten(missing[0])} has none "
                f"({len(missing)} in all). Add it."
            )
        known = set(ids)
        if len(values) > len(known):
            extra = _find_extra(values, known)
            raise InvalidInputError(
                f"`{name}` must have queries of the results alone, but they lack {shorten(extra[0])} ({len(extra)} in "
                f"all). Take {{query: {name}[query] for query in results.query_ids}} if it was left out on purpose."
            )
        values = [values[query] for query in ids]
    elif isinstance(values, str | bytes):
        raise InvalidTypeError(f"`{name}` must be an array with one value a query, or a dict, not {shorten(values)}")
    array = _as_array(values, name)
    if array.ndim != 1 or len(array) != len(query_ids):
        raise InvalidInputError(
            f"`{name}` must have one value for each of the {len(query_ids)} queries, but its shape is {array.shape}. "
            "Pass them in the order of the results."
        )
    if array.dtype.kind == "U" and isinstance(values, list):
        array = np.array(values, object)  # a number or NaN among texts is none
    if array.dtype == object:
        array = _of_one_kind(array, name)
    if array.dtype.kind == "f" and np.isnan(array).any():
        query = query_ids[int(np.argmax(np.isnan(array)))]
        raise InvalidInputError(
            f"`{name}` must not be NaN, but that of query {show_name(query)} is. Give every query a value."
        )
    return array


def keep_known(values: Any, name: str, query_ids: Array) -> tuple[Any, list[str]]:
    """
    Return a mapping without the values of unknown queries, and a note on them. Arrays stay as they are.

    Functions that leave out queries themselves, such as `compare`, take what their user has for all queries.
    """
    if is_series(values):
        values = _read_series(values, name, query_ids)
    if not isinstance(values, Mapping):
        return values, []
    known = set(_list_keys(values, name, query_ids))
    extra = _find_extra(values, known)
    if not extra:
        return values, []
    note = f"{name}: {len(extra)} of the queries are not compared, such as {show_name(extra[0])}"
    return {query: value for query, value in values.items() if query in known}, [note]


def _find_extra(values: Mapping[Any, Any], known: Collection[Any]) -> list[Any]:
    return [query for query in values if query not in known]


def _read_series(series: Any, name: str, query_ids: Array) -> dict[Any, Any]:
    """Return a pandas Series as {query id: value}, or raise an error if its index has no query ids."""
    ids = series.index.tolist()
    if len(set(ids)) < len(ids):
        repeated = next(query for query in ids if ids.count(query) > 1)
        raise InvalidInputError(
            f"`{name}` must have one value a query, but its index has {shorten(repeated)} more than once. Keep one."
        )
    own = set(ids)
    if ids and len(query_ids) and not any(find_key(query, own) in own for query in query_ids.tolist()):
        raise InvalidInputError(
            f"`{name}` must have the ids of the queries, such as {shorten(query_ids.tolist()[0])}, in its index, but "
            f"has {shorten(ids[0])}. Take {name}.set_axis(ids), or {name}.to_numpy() for values in the order of the "
            "results."
        )
    return dict(zip(ids, series.tolist(), strict=True))


def _list_keys(values: Mapping[Any, Any], name: str, query_ids: Array) -> list[Any]:
    """Return the key of each query, or raise an error if a mapping with values has none of them."""
    ids = [find_key(query, values) for query in query_ids.tolist()]
    if values and ids and not any(query in values for query in ids):
        raise InvalidInputError(
            f"`{name}` must have the ids of the queries, such as {shorten(ids[0])}, but has none of them. Its first id "
            f"is {shorten(next(iter(values)))}: write the ids alike, of one type."
        )
    return ids


def find_key(row_id: Any, values: Collection[Any]) -> Any:
    """Return the key of a row: its id, or the query of a pair of a query and a document."""
    return row_id[0] if isinstance(row_id, tuple) and row_id not in values else row_id


def _as_array(values: Any, name: str) -> Array:
    try:
        return np.asarray(values)
    except Exception as error:  # whatever the object's own conversion raises
        raise InvalidTypeError(
            f"`{name}` must be an array with one value a query, or a dict, but NumPy cannot convert {shorten(values)}: "
            f"{show_name(error)}"
        ) from None


def _of_one_kind(array: Array, name: str) -> Array:
    """Return an array of objects as texts or numbers, or raise an error for a mixture, which cannot be sorted."""
    kinds = {type(value) for value in array.tolist()}
    if all(issubclass(kind, str) for kind in kinds):
        return array.astype(str)
    if kinds <= {int, float, bool}:
        try:
            return array.astype("f8") if float in kinds else array.astype("i8")
        except OverflowError:
            odd = max(array.tolist(), key=abs)
            raise InvalidInputError(
                f"`{name}` must fit int64 or float64, but one is {shorten(odd)}. Rescale it."
            ) from None
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise InvalidTypeError(f"`{name}` must be all texts or all numbers, but has {names}")


def check_weights(values: Any, query_ids: Array) -> Array:
    """Return the weights of queries as float64, or raise an error for a weight that is negative or not finite."""
    weights = read_per_query_array(values, "weights", query_ids)
    if weights.dtype.kind not in "biuf":
        raise InvalidTypeError(f"`weights` must be numbers, not {weights.dtype}")
    weights = np.asarray(weights, "f8")
    wrong = ~((weights >= 0) & (weights <= MOST))
    if wrong.any():
        place = int(np.argmax(wrong))
        raise InvalidInputError(
            f"`weights` must be finite and not negative, at most {MOST:g}, but that of query "
            f"{show_name(query_ids[place])} is {weights[place]!s}"
        )
    if not weights.any():
        raise InvalidInputError("`weights` must not all be 0. Leave them out for equal weights.")
    return weights


def read_query_texts(texts: Any, query_ids: Array) -> dict[Any, str]:
    """Return the texts of those queries that have one, or raise an error if none has."""
    if texts is None:
        return {}
    if not isinstance(texts, Mapping):
        raise InvalidTypeError(f"`queries` must be {{query id: text}}, but is {shorten(texts)}. Pass a dict.")
    keys = zip(query_ids.tolist(), _list_keys(texts, "queries", query_ids), strict=True)
    own_texts = {query: texts[key] for query, key in keys if key in texts}
    for query, text in own_texts.items():
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"`queries` must have texts, but that of query {shorten(query)} is {shorten(text)}. Pass a str."
            )
    return own_texts
