"""Systems brought together by query id, never by position."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.results import Results


class Aligned(NamedTuple):
    """Queries, and each system's (n_queries, n_metrics) values of them; NaN also where a system lacks the query."""

    query_ids: Array
    columns: list[Array]
    n_missing: list[int]


def align(results: Mapping[str, Results], metrics: tuple[Metric, ...]) -> Aligned:
    """
    Put the values of all systems into one order of queries.

    A query that a system lacks is NaN, and so left out pairwise, where its convention says to skip what is missing or
    where the query has no value in any other system; else it is an error.
    """
    names = list(results)
    ids = [results[name].query_ids for name in names]
    own = [_values(results[name], metrics) for name in names]
    _refuse_repeated(names[0], ids[0])
    if all(np.array_equal(ids[0], other) for other in ids[1:]):
        return Aligned(ids[0], own, [0] * len(own))
    for name, other in zip(names[1:], ids[1:], strict=True):
        _refuse_repeated(name, other)
    _refuse_mixed_kinds(names, ids)
    union, places = _in_order(ids)
    columns, n_missing = [], []
    for place, values in zip(places, own, strict=True):
        column = np.full((len(union), len(metrics)), np.nan)
        column[place] = values
        columns.append(column)
        n_missing.append(len(union) - len(place))
    _refuse_missing(results, union, places, columns)
    return Aligned(union, columns, n_missing)


def _refuse_repeated(name: str, ids: Array) -> None:
    if len(set(ids.tolist())) < len(ids):
        distinct, counts = np.unique(ids, return_counts=True)
        again = distinct.tolist()[int(np.argmax(counts))]
        raise InvalidInputError(
            f"queries of system {name!r} must have ids of their own, but {again!r} stands for {counts.max()} of them"
        )


def refuse_other_than_means(results: Results, metrics: Iterable[Metric]) -> None:
    """Refuse metrics whose number for all queries is no mean of the queries' values."""
    for metric in metrics:
        if metric.aggregate is not None:
            raise InvalidInputError(
                f"{metric} is no mean, and intervals and tests here are of means over queries: take {metric.bare}"
            )
    for metric in metrics if results.value_weights is not None else ():
        if (results.value_weights[:, results.metrics.index(metric)] != 1).any():  # type: ignore[index]
            remedy = metric(weight="nothing") if metric.get("weight") else "convention.replace(precision_mean='macro')"
            raise InvalidInputError(
                f"{metric} is averaged over documents under convention {results.convention.name}, so that queries say "
                f"nothing of its uncertainty: take {remedy}"
            )


def _values(results: Results, metrics: tuple[Metric, ...]) -> Array:
    refuse_other_than_means(results, metrics)
    if results.metrics == metrics:
        return results.values
    return np.stack([results[metric] for metric in metrics], axis=1)


def _refuse_mixed_kinds(names: list[str], ids: list[Array]) -> None:
    for name, other in zip(names[1:], ids[1:], strict=True):
        if len(other) and len(ids[0]) and (other.dtype.kind in "iu") != (ids[0].dtype.kind in "iu"):
            raise InvalidTypeError(
                f"ids of queries must be of one kind, but {names[0]!r} has {ids[0].tolist()[0]!r} and {name!r} has "
                f"{other.tolist()[0]!r}; name the queries alike in all systems"
            )


def _in_order(ids: list[Array]) -> tuple[Array, list[Array]]:
    """All ids in the order in which they first appear, and the places of each system's."""
    together = np.concatenate(ids)
    _, first, codes = np.unique(together, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(first), "i8")
    place[order] = np.arange(len(first))
    return together[first[order]], np.split(place[codes], np.cumsum([len(one) for one in ids])[:-1])


def _refuse_missing(results: Mapping[str, Results], union: Array, places: list[Array], columns: list[Array]) -> None:
    has_value = np.zeros(len(union), bool)
    for column in columns:
        has_value |= ~np.isnan(column).all(axis=1)
    for (name, result), place in zip(results.items(), places, strict=True):
        lacking = has_value.copy()
        lacking[place] = False
        if lacking.any() and result.convention.missing_in_run != "skip":
            other = next(
                known
                for known, had in zip(results, places, strict=True)
                if int(np.argmax(lacking)) in set(had.tolist())
            )
            raise InvalidInputError(
                f"systems must have the same queries, but {name!r} lacks query {union[int(np.argmax(lacking))]!s} of "
                f"{other!r} ({np.count_nonzero(lacking)} in all); evaluate both on the same truth, or take "
                "convention.replace(missing_in_run='skip') to leave out what either lacks"
            )
