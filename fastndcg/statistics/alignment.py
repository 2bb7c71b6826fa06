"""Alignment of systems by query id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, InvalidTypeError, shorten
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.results.kinds import IndexRecall, PairResults
from fastndcg.results.results import MeanTable, Results
from fastndcg.runtime.escapes import show_name


class AlignedValues(NamedTuple):
    """The values of all systems in one order of queries, NaN if a system lacks a query or has no value for it."""

    query_ids: Array
    metrics: tuple[Metric, ...]
    columns: list[Array]  # per system, (n_queries, n_metrics)
    n_missing: list[int]  # per system, the number of queries that it lacks


def align(results: Mapping[str, Results], metrics: tuple[Metric, ...]) -> AlignedValues:
    """
    Bring the values of all systems into one order of queries.

    A query that a system lacks is NaN if the system's convention skips missing queries, or if no other system has a
    value for it. Otherwise it is an error.
    """
    names = list(results)
    _check_rows(results)
    ids = [list_row_ids(results[name]) for name in names]
    values = [_select_metrics(results[name], metrics) for name in names]
    _check_unique_ids(names[0], ids[0])
    if all(np.array_equal(ids[0], other) for other in ids[1:]):
        return AlignedValues(ids[0], metrics, values, [0] * len(values))
    for name, system_ids in zip(names[1:], ids[1:], strict=True):
        _check_unique_ids(name, system_ids)
    _check_id_types(names, ids)
    union, places = _merge_ids(ids)
    columns: list[Array] = []
    n_missing: list[int] = []
    for place, system_values in zip(places, values, strict=True):
        column = np.full((len(union), len(metrics)), np.nan)
        column[place] = system_values
        columns.append(column)
        n_missing.append(len(union) - len(place))
    _check_missing_queries(results, union, places, columns)
    return AlignedValues(union, metrics, columns, n_missing)


def list_row_ids(results: Results) -> Array:
    """Return the id of each row: that of its query, or of its pair."""
    return results.pair_ids if isinstance(results, PairResults) else results.query_ids


def find_clusters(results: Results, row_ids: Array, clusters: Any) -> Any:
    """Return the clusters of rows. The pairs of a query are one, unless the user gives others."""
    if clusters is None and isinstance(results, PairResults):
        return [query for query, _ in row_ids.tolist()]
    return clusters


def refuse_means(results: Any) -> None:
    """Raise an error for results that have means alone."""
    if isinstance(results, MeanTable) and not isinstance(results, Results):
        remedy = getattr(results, "remedy", "")
        raise InvalidTypeError(f"results must have the values of single queries, and a Summary has none. {remedy}")


ROW_KINDS = {  # what rows are, and the function that makes them, by the first kind that fits
    PairResults: ("pairs", "evaluate_pairs"),
    IndexRecall: ("recall of an index", "index_recall"),
    Results: ("queries", "evaluate"),
}


def _check_rows(results: Mapping[str, Results]) -> None:
    """Raise if rows are queries in some systems and pairs, or the recall of an index, in others."""
    kinds = {name: next(kind for kind in ROW_KINDS if isinstance(result, kind)) for name, result in results.items()}
    (first, kind), *rest = kinds.items()
    for name, other_kind in rest:
        if other_kind != kind:
            (has, function), (other_has, other_function) = ROW_KINDS[kind], ROW_KINDS[other_kind]
            raise InvalidInputError(
                f"systems must have rows of one kind, but {shorten(first)} has {has} and {shorten(name)} has "
                f"{other_has}. Evaluate all by {min(function, other_function)}, or all by "
                f"{max(function, other_function)}."
            )


def check_aggregates_are_means(
    results: Results, metrics: Iterable[Metric], what: str = "intervals and tests are"
) -> None:
    """Raise if a metric's value over all queries is not the mean of the queries' values."""
    for metric in metrics:
        if metric.aggregate is not None or metric.record.has_one_value:
            other = "the other metrics alone" if metric.aggregate is None else metric.bare
            raise InvalidInputError(f"{what} of means over queries, but {metric} is no mean. Take {other}.")
    if results.value_weights is None:
        return
    for metric in metrics:
        if (results.value_weights[:, results.metrics.index(metric)] != 1).any():
            remedy = metric(weight="nothing") if metric.get("weight") else Choice("precision_mean", ["macro"])
            raise InvalidInputError(
                f"{what} of means over queries, but {metric} is averaged over documents under convention "
                f"{results.convention.name}. Take ",
                remedy,
                ".",
            )


def _select_metrics(results: Results, metrics: tuple[Metric, ...]) -> Array:
    check_aggregates_are_means(results, metrics)
    if results.metrics == metrics:
        return results.values
    return np.stack([results[metric] for metric in metrics], axis=1)


def _check_unique_ids(name: str, ids: Array) -> None:
    if len(set(ids.tolist())) < len(ids):
        distinct, counts = np.unique(ids, return_counts=True)
        repeated = distinct.tolist()[int(np.argmax(counts))]
        raise InvalidInputError(
            f"the query ids of system {shorten(name)} must be unique, but {shorten(repeated)} occurs "
            f"{counts.max()} times. Evaluate each query once."
        )


def _check_id_types(names: list[str], ids: list[Array]) -> None:
    for name, system_ids in zip(names[1:], ids[1:], strict=True):
        if not len(system_ids) or not len(ids[0]):
            continue
        first, own = ids[0][:1].tolist()[0], system_ids[:1].tolist()[0]
        if _are_texts(first) != _are_texts(own):
            raise InvalidTypeError(
                f"query ids must be of one type, but {shorten(names[0])} has {shorten(first)} and {shorten(name)} has "
                f"{shorten(own)}. Use the same ids in all systems."
            )


def _are_texts(row_id: Any) -> list[bool]:
    """Return whether an id is a text, or the query and the document of a pair are."""
    return [isinstance(part, str) for part in (row_id if isinstance(row_id, tuple) else [row_id])]


def _merge_ids(ids: list[Array]) -> tuple[Array, list[Array]]:
    """Return all ids in the order of their first occurrence, and the indices of each system's ids among them."""
    every_id = np.concatenate(ids)
    _, first_places, codes = np.unique(every_id, return_index=True, return_inverse=True)
    order = np.argsort(first_places, kind="stable")
    places = np.empty(len(first_places), "i8")
    places[order] = np.arange(len(first_places))
    ends = np.cumsum([len(system_ids) for system_ids in ids])[:-1]
    return every_id[first_places[order]], np.split(places[codes], ends)


def _check_missing_queries(
    results: Mapping[str, Results], union: Array, places: list[Array], columns: list[Array]
) -> None:
    has_value = np.zeros(len(union), bool)
    for column in columns:
        has_value |= ~np.isnan(column).all(axis=1)
    for (name, result), place in zip(results.items(), places, strict=True):
        is_missing = has_value.copy()
        is_missing[place] = False
        if is_missing.any() and result.convention.missing_in_run != "skip":
            first = int(np.argmax(is_missing))
            owner = next(
                other for other, other_place in zip(results, places, strict=True) if first in set(other_place.tolist())
            )
            raise InvalidInputError(
                f"systems must have the same queries, but {shorten(name)} lacks query {show_name(union[first])} of "
                f"{shorten(owner)} ({np.count_nonzero(is_missing)} in all). Evaluate both on the same truth, or leave "
                "such queries out with ",
                Choice("missing_in_run", ["skip"]),
                ".",
            )
