"""The values per query in the report: as numbers for the script of the page, and the queries won and lost most."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.moments import find_tie_threshold
from fastndcg.statistics.table import format_number

MAX_BYTES = 9_000_000  # of values and figures: with the rest, a page stays below 10 MB
BYTES_OF_VALUE = 16  # with its difference, both of four decimals
BYTES_OF_FIGURES = 8_000  # of one system in one metric
MAX_CHARACTERS = 400_000  # of query ids
DECIMALS = 4
N_LISTED = 10  # queries won most, and queries lost most


class MetricValues:
    """
    The values of all systems in one metric, rounded once, so that every part of the page shows the same digits.

    Attributes
    ----------
    values : (n_systems, n_queries) float64 array
        The values with four decimals.
    differences : (n_systems, n_queries) float64 array
        The differences from the baseline with four decimals, which are no differences of rounded values. 0 is a tie: a
        difference that would be rounded to 0 is not rounded.
    sign : int
        1 if higher values are better, -1 if lower ones are, 0 if neither are.
    """

    def __init__(self, comparison: Comparison, place: int) -> None:
        values = np.stack([column[:, place] for column in comparison.columns])
        differences = values - values[comparison.systems.index(comparison.baseline)]
        differences[np.abs(differences) <= find_tie_threshold(comparison.columns, place)] = 0.0
        rounded = np.round(differences, DECIMALS)
        self.values = np.round(values, DECIMALS) + 0.0  # not -0.0
        self.differences = np.where(rounded == 0, differences, rounded)
        self.sign = comparison.metrics[place].sign

    @property
    def outcomes(self) -> Array:
        """For each system and query, 1 if it is won, -1 if it is lost, 0 or NaN if it is neither."""
        outcomes: Array = self.sign * np.sign(self.differences)
        return outcomes

    def find_most_won(self, system: int) -> list[int]:
        """Return the queries that a system wins by most, at most ten, largest difference first."""
        return self._find_extreme(system, 1)

    def find_most_lost(self, system: int) -> list[int]:
        """Return the queries that a system loses by most, at most ten, largest difference first."""
        return self._find_extreme(system, -1)

    def _find_extreme(self, system: int, outcome: int) -> list[int]:
        queries = np.flatnonzero(self.outcomes[system] == outcome)
        order = np.argsort(-outcome * self.sign * self.differences[system, queries], kind="stable")
        extreme: list[int] = queries[order[:N_LISTED]].tolist()
        return extreme


def pack_queries(
    comparison: Comparison, metrics: list[MetricValues], texts: dict[Any, str], segments: Array | None
) -> dict[str, Any]:
    """
    Return the queries and their values for the script of the page. `segments` has one of each query.

    If there are too many queries for a page, it has those that are listed, and those with the largest differences.
    """
    queries = _select_queries(comparison, metrics)
    ids = comparison.query_ids[queries].tolist()
    return {
        "systems": [show_name(name) for name in comparison.systems],
        "baseline": comparison.systems.index(comparison.baseline),
        "queries": [show_name(query) for query in ids],
        "texts": [show_name(texts.get(query, "")) for query in ids] if texts else None,
        "places": queries.tolist(),
        "segments": None if segments is None else list(map(show_name, segments[queries].tolist())),
        "listed": N_LISTED,
        "metrics": [
            {
                "name": show_name(metric),
                "sign": values.sign,
                "values": _list_numbers(values.values[:, queries]),
                "differences": _list_numbers(values.differences[:, queries]),
            }
            for metric, values in zip(comparison.metrics, metrics, strict=True)
        ],
    }


def _list_numbers(numbers: Array) -> list[list[float | None]]:
    """Return the numbers of each system, None for NaN, which JSON lacks."""
    return [[number if math.isfinite(number) else None for number in row] for row in numbers.tolist()]


def _select_queries(comparison: Comparison, metrics: list[MetricValues]) -> Array:
    """Return the indices of the queries of a page, in ascending order."""
    n = len(comparison.query_ids)
    n_numbers = len(comparison.systems) * len(comparison.metrics)  # per query
    n_characters = max((len(show_name(query)) for query in comparison.query_ids[:1000].tolist()), default=1) + 3
    max_of_values = (MAX_BYTES // n_numbers - BYTES_OF_FIGURES) // BYTES_OF_VALUE
    max_queries = max(2 * N_LISTED, min(max_of_values, MAX_CHARACTERS // n_characters))
    if n <= max_queries:
        return np.arange(n)
    listed = sorted(
        {
            query
            for values in metrics
            for system in range(len(comparison.systems))
            for query in (*values.find_most_won(system), *values.find_most_lost(system))
        }
    )
    base = comparison.columns[comparison.systems.index(comparison.baseline)]
    largest = np.zeros(n)
    for column in comparison.columns:
        largest = np.fmax(largest, np.nanmax(np.abs(np.nan_to_num(column - base)), axis=1))
    largest[listed] = np.inf
    return np.sort(np.argsort(-largest, kind="stable")[: max(max_queries, len(listed))])


def list_queries(
    comparison: Comparison, values: MetricValues, system: int, texts: dict[Any, str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the queries that a system wins by most and those that it loses by most, with their values as texts."""
    baseline = comparison.systems.index(comparison.baseline)

    def make_row(query: int) -> dict[str, Any]:
        (name,) = comparison.query_ids[query : query + 1].tolist()
        return {
            "query": query,
            "name": show_name(name),
            "text": show_name(texts.get(name, "")),
            "baseline": _format_value(values.values[baseline, query]),
            "value": _format_value(values.values[system, query]),
            "difference": format_number(values.differences[system, query], signed=True),
        }

    lists = values.find_most_won(system), values.find_most_lost(system)
    won, lost = ([make_row(query) for query in queries] for queries in lists)
    return won, lost


def _format_value(value: float) -> str:
    return "undefined" if math.isnan(value) else format_number(value)
