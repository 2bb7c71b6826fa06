"""The sampling design of the queries: weights, clusters, and strata."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.rankings.validation import Array, count_before
from fastndcg.results.per_query import check_weights, find_key, read_per_query_array
from fastndcg.runtime.escapes import show_name


@dataclass(frozen=True, slots=True)
class Design:
    """
    The units that a replicate draws, stratum by stratum.

    A unit is a query, or a cluster of queries.

    Attributes
    ----------
    n_queries : int
        The number of queries.
    query_units : (n_queries,) int array or None
        The unit of each query. None if each query is a unit.
    stratum_offsets : (n_strata + 1,) int64 array
        Stratum s owns units ``stratum_offsets[s]`` up to ``stratum_offsets[s + 1]``.
    weights : (n_queries,) float64 array or None
        The weight of each query, above 0. None if all queries count alike.
    is_clustered : bool
        True if units are clusters.
    unit_ids : (n_queries,) array
        The id of each query's unit: its own, or that of its cluster.
    """

    n_queries: int
    query_units: Array | None
    stratum_offsets: Array
    weights: Array | None
    is_clustered: bool
    unit_ids: Array

    @property
    def n_units(self) -> int:
        """The number of units."""
        return int(self.stratum_offsets[-1])

    @property
    def is_plain(self) -> bool:
        """True if queries are independent, count alike and are in one stratum."""
        return self.query_units is None and self.weights is None and len(self.stratum_offsets) == 2

    def sum_units(self, column: Array) -> Array:
        """Return the sum of each unit's queries."""
        if self.query_units is None:
            return column
        return np.bincount(self.query_units, weights=column, minlength=self.n_units)

    def apply_weights(self, column: Array) -> Array:
        """Return each query's value times its weight."""
        return column if self.weights is None else column * self.weights

    def compute_sum_variance(self, unit_sums: Array) -> float:
        """Return the variance of the sum over all units, from the variance of the units within each stratum."""
        total = 0.0
        for start, stop in zip(self.stratum_offsets[:-1].tolist(), self.stratum_offsets[1:].tolist(), strict=True):
            stratum = unit_sums[start:stop]
            total += float(np.var(stratum, ddof=1)) * len(stratum)
        return total


def read_design(query_ids: Array, **given: Any) -> tuple[Design, Array]:
    """
    Return the sampling design of the queries with a weight above 0, and their indices. Others are left out everywhere.

    `given` are the weights, clusters and strata of `make_design`, as the user has them.
    """
    weights = given.get("weights")
    queries = np.arange(len(query_ids)) if weights is None else np.flatnonzero(check_weights(weights, query_ids))
    own = {
        name: None if values is None else read_for_queries(values, name, query_ids, queries)
        for name, values in given.items()
    }
    return make_design(query_ids[queries], **own), queries


def read_for_queries(values: Any, name: str, query_ids: Array, queries: Array) -> Array:
    """Return the values of the queries with these indices, from a mapping or an array with one value a query."""
    if isinstance(values, Mapping):  # values of left-out queries may be missing
        own = query_ids[queries]
        left_out = {find_key(query, values) for query in np.delete(query_ids, queries).tolist()}
        left_out -= {find_key(query, values) for query in own.tolist()}
        values = {query: value for query, value in values.items() if query not in left_out}
        return read_per_query_array(values, name, own)
    return read_per_query_array(values, name, query_ids)[queries]


def make_design(query_ids: Array, *, clusters: Any = None, strata: Any = None, weights: Any = None) -> Design:
    """
    Check clusters, strata and weights, and number the units.

    Parameters
    ----------
    query_ids : (n_queries,) array
        The ids of the queries.
    clusters, strata, weights : (n_queries,) array or {query id: value}, optional
        See `compare`. Weights are above 0.

    Returns
    -------
    Design

    Raises
    ------
    InvalidInputError
        If an argument does not have one value per query, a cluster lies in several strata, or a stratum has one unit.
    """
    n_queries = len(query_ids)
    query_units = None
    stratum_offsets = np.array([0, n_queries], "i8")
    unit_ids = query_ids if clusters is None else read_per_query_array(clusters, "clusters", query_ids)
    if clusters is not None:
        names, query_units = np.unique(unit_ids, return_inverse=True)
        stratum_offsets = np.array([0, len(names)], "i8")
    if strata is not None:
        stratum_names = read_per_query_array(strata, "strata", query_ids)
        query_units, stratum_offsets = _sort_units_by_stratum(stratum_names, query_units, query_ids)
    query_weights = None if weights is None else check_weights(weights, query_ids)
    return Design(n_queries, query_units, stratum_offsets, query_weights, clusters is not None, unit_ids)


def select_queries(design: Design, queries: Array, query_ids: Array) -> Design:
    """Return the design of the queries with these indices."""
    clusters = design.unit_ids[queries] if design.is_clustered else None
    strata = None
    if design.query_units is not None and len(design.stratum_offsets) > 2:
        strata = np.searchsorted(design.stratum_offsets, design.query_units[queries], side="right")
    weights = None if design.weights is None else design.weights[queries]
    return make_design(query_ids[queries], clusters=clusters, strata=strata, weights=weights)


def _sort_units_by_stratum(strata: Array, clusters: Array | None, query_ids: Array) -> tuple[Array, Array]:
    """Return each query's unit, with the units of a stratum side by side, and the offsets of the strata."""
    names, query_strata = np.unique(strata, return_inverse=True)
    query_units = np.arange(len(strata)) if clusters is None else clusters
    n_units = int(query_units.max()) + 1 if len(query_units) else 0
    unit_strata = np.zeros(n_units, "i8")
    unit_strata[query_units] = query_strata
    is_split = unit_strata[query_units] != query_strata
    if is_split.any():
        query = query_ids[int(np.argmax(is_split))]
        raise InvalidInputError(
            f"`strata` must hold whole clusters, but the cluster of query {show_name(query)} lies in several strata. "
            "Give all queries of a cluster the same stratum."
        )
    sizes = np.bincount(unit_strata, minlength=len(names))
    if (sizes < 2).any():
        raise InvalidInputError(
            "`strata` must have two queries or clusters each, but stratum "
            f"{show_name(names[int(np.argmin(sizes))])} has one. Merge it with another stratum."
        )
    new_units = np.empty(n_units, "i8")
    new_units[np.argsort(unit_strata, kind="stable")] = np.arange(n_units)
    return new_units[query_units], count_before(sizes)
