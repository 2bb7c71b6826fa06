"""How the queries were drawn: weights, clusters that come and go together, strata of a fixed size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.of_queries import checked_weights, one_a_query
from fastndcg.rankings import Array


@dataclass(frozen=True, slots=True)
class Design:
    """
    What is drawn in a replicate: units, which are queries or clusters of them, stratum by stratum.

    Attributes
    ----------
    n_queries : int
    unit : (n_queries,) int array or None
        Each query's unit; None where each query is its own.
    strata : (n_strata + 1,) int64 array
        Stratum s owns units ``strata[s]`` up to ``strata[s + 1]``.
    weights : (n_queries,) float64 array or None
    clustered : bool
    """

    n_queries: int
    unit: Array | None
    strata: Array
    weights: Array | None
    clustered: bool

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.strata[-1])

    def sums(self, column: Array) -> Array:
        """What each unit's queries add up to."""
        if self.unit is None:
            return column
        return np.bincount(self.unit, weights=column, minlength=self.n_units)

    def weigh(self, column: Array) -> Array:
        """Each query's value times its weight."""
        return column if self.weights is None else column * self.weights

    def scatter(self, unit_sums: Array) -> float:
        """The variance of the sum over all units, as the units differ within their strata."""
        total = 0.0
        for start, stop in zip(self.strata[:-1].tolist(), self.strata[1:].tolist(), strict=True):
            part = unit_sums[start:stop]
            total += float(np.var(part, ddof=1)) * len(part)
        return total


def make_design(query_ids: Array, *, clusters: Any = None, strata: Any = None, weights: Any = None) -> Design:
    """
    Check what is said about the queries, and number the units.

    Parameters
    ----------
    query_ids : (n_queries,) array
    clusters, strata, weights : array with one value a query, or {query id: value}, optional
    """
    n = len(query_ids)
    unit, bounds = None, np.array([0, n], "i8")
    if clusters is not None:
        names, unit = np.unique(one_a_query(clusters, "clusters", query_ids), return_inverse=True)
        bounds = np.array([0, len(names)], "i8")
    if strata is not None:
        unit, bounds = _by_stratum(one_a_query(strata, "strata", query_ids), unit, query_ids)
    checked = None if weights is None else checked_weights(weights, query_ids)
    return Design(n, unit, bounds, checked, clusters is not None)


def part_of(design: Design, kept: Array, query_ids: Array) -> Design:
    """The design of some of the queries alone: `kept` says which."""
    if design.unit is None:
        clusters = strata = None
    else:
        clusters = design.unit[kept] if design.clustered else None
        strata = np.searchsorted(design.strata, design.unit[kept], side="right") if len(design.strata) > 2 else None
    weights = None if design.weights is None else design.weights[kept]
    if weights is not None and not weights.any():
        weights = None  # a segment without traffic: its queries count alike
    return make_design(query_ids[kept], clusters=clusters, strata=strata, weights=weights)


def _by_stratum(strata: Array, cluster: Array | None, query_ids: Array) -> tuple[Array, Array]:
    """Units numbered so that those of a stratum lie side by side, and where strata begin."""
    names, stratum = np.unique(strata, return_inverse=True)
    unit = np.arange(len(strata)) if cluster is None else cluster
    n_units = int(unit.max()) + 1 if len(unit) else 0
    stratum_of_unit = np.zeros(n_units, "i8")
    stratum_of_unit[unit] = stratum
    astray = stratum_of_unit[unit] != stratum
    if astray.any():
        query = query_ids[int(np.argmax(astray))]
        raise InvalidInputError(
            f"`strata` must hold whole clusters, but the cluster of query {query!s} lies in several"
        )
    sizes = np.bincount(stratum_of_unit, minlength=len(names))
    if (sizes < 2).any():
        raise InvalidInputError(
            f"`strata` must have two queries or clusters each, but {names[int(np.argmin(sizes))]!s} has one; "
            "put it together with another"
        )
    place = np.empty(n_units, "i8")
    place[np.argsort(stratum_of_unit, kind="stable")] = np.arange(n_units)
    return place[unit], np.concatenate([[0], np.cumsum(sizes)]).astype("i8")
