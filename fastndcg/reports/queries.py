"""The values per query in the report: packed for the script of the page, and the queries won and lost most."""

from __future__ import annotations

import base64
import math
from typing import Any

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.moments import find_tie_threshold

MAX_BYTES = 2_400_000  # of values and figures: with the rest, a page stays below 3 MB
BYTES_OF_VALUE = 4  # in base64: two bytes for a value, one for a difference
BYTES_OF_FIGURES = 8_000  # of one system in one metric
MAX_CHARACTERS = 400_000  # of query ids
MAX_DECIMALS = 4
N_LISTED = 10  # queries won most, and queries lost most
NO_VALUE = {2: 2**16 - 1, 4: 2**32 - 1}  # the packed form of NaN, by the number of bytes
NO_DIFFERENCE = 15
NEAR_TIE = 1e-4  # of the distance to the middle between two rounded numbers


class MetricValues:
    """
    The values of all systems in one metric, rounded once, so that every part of the page shows the same digits.

    Attributes
    ----------
    decimals : int
        The number of decimals: four, or fewer if the values do not fit into 32 bits.
    units : (n_systems, n_queries) int64 array
        The rounded values in units of the last decimal, 0 for NaN.
    differences : (n_systems, n_queries) int64 array
        The rounded differences from the baseline, which are no differences of rounded values. 0 for NaN.
    outcomes : (n_systems, n_queries) int8 array
        1 for a query won, -1 for a query lost, 0 for a tie or NaN, and for all of a metric without direction.
    sign : int
        1 if higher values are better, -1 if lower ones are, 0 if neither are.
    has_value, has_difference : (n_systems, n_queries) bool array
        False for NaN.
    """

    def __init__(self, comparison: Comparison, place: int) -> None:
        values = np.stack([column[:, place] for column in comparison.columns])
        differences = values - values[comparison.systems.index(comparison.baseline)]
        self.has_value = ~np.isnan(values)
        self.has_difference = ~np.isnan(differences)
        values = np.nan_to_num(values)
        differences = np.nan_to_num(differences)
        largest = max(1.0, float(np.abs(values).max(initial=0.0)), float(np.ptp(values)) if values.size else 0.0)
        self.decimals = max(0, min(MAX_DECIMALS, math.floor(math.log10((2**32 - 2) / largest))))
        self.units = round_to_units(values, self.decimals)
        self.differences = round_to_units(differences, self.decimals)
        threshold = find_tie_threshold(comparison.columns, place)
        self.sign = comparison.metrics[place].sign
        self.outcomes = self.sign * ((differences > threshold).astype("i1") - (differences < -threshold).astype("i1"))

    def format_value(self, system: int, query: int) -> str:
        """Return a value with its decimals, or 'undefined'."""
        return self._format(int(self.units[system, query])) if self.has_value[system, query] else "undefined"

    def format_difference(self, system: int, query: int) -> str:
        """Return a difference from the baseline with its sign, or 'n/a'."""
        if not self.has_difference[system, query]:
            return "n/a"
        units = int(self.differences[system, query])
        return f"{'+' if units > 0 else ''}{self._format(units)}"

    def _format(self, units: int) -> str:
        return f"{units / 10**self.decimals:.{self.decimals}f}"

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

    def pack(self, queries: Array, baseline: int) -> dict[str, Any]:
        """
        Return the values of some queries for the script of the page.

        A value has 2 or 4 bytes. A difference has one byte: its outcome, and its distance from the difference of the
        rounded values, which is -1, 0 or 1 units.
        """
        units = self.units[:, queries]
        has_value = self.has_value[:, queries]
        base, highest = (int(end(units[has_value])) if has_value.any() else 0 for end in (np.min, np.max))
        n_bytes = 2 if highest - base < NO_VALUE[2] else 4
        values = np.where(has_value, units - base, NO_VALUE[n_bytes]).astype(f"<u{n_bytes}")
        corrections = self.differences[:, queries] - (units - units[baseline])
        codes = corrections + 1 + 3 * (self.outcomes[:, queries].astype("i8") + 1)
        differences = np.where(self.has_difference[:, queries], codes, NO_DIFFERENCE).astype("u1")
        texts = (base64.b64encode(packed.tobytes()).decode() for packed in (values, differences))
        fields = {"decimals": self.decimals, "base": base, "bytes": n_bytes, "sign": self.sign}
        return fields | dict(zip(("values", "differences"), texts, strict=True))


def round_to_units(values: Array, decimals: int) -> Array:
    """
    Return numbers in units of the last decimal, rounded as Python's formats round them.

    >>> round_to_units(np.array([0.53125, 0.00005, -1.0]), 4).tolist(), f"{0.53125:.4f}", f"{0.00005:.4f}"
    ([5312, 1, -10000], '0.5312', '0.0001')
    """
    scaled = values * 10.0**decimals
    units = np.rint(scaled).astype("i8")
    is_near_tie = np.abs(np.abs(scaled - np.floor(scaled)) - 0.5) < NEAR_TIE  # the product may round to the other side
    for place in zip(*np.nonzero(is_near_tie), strict=True):
        units[place] = int(f"{values[place]:.{decimals}f}".replace(".", ""))
    return units


def pack_queries(comparison: Comparison, metrics: list[MetricValues], texts: dict[Any, str]) -> dict[str, Any]:
    """
    Return the queries and their values for the script of the page.

    If there are too many queries for a page, it has those that are listed, and those with the largest differences.
    """
    queries = _select_queries(comparison, metrics)
    ids = comparison.query_ids[queries].tolist()
    baseline = comparison.systems.index(comparison.baseline)
    segments = None
    if comparison.segments is not None:
        segments = [show_name(segment) for segment in comparison.segments[queries].tolist()]
    return {
        "systems": [show_name(name) for name in comparison.systems],
        "baseline": baseline,
        "queries": [show_name(query) for query in ids],
        "texts": [show_name(texts.get(query, "")) for query in ids] if texts else None,
        "places": queries.tolist(),
        "segments": segments,
        "listed": N_LISTED,
        "metrics": [
            {"name": show_name(metric), **values.pack(queries, baseline)}
            for metric, values in zip(comparison.metrics, metrics, strict=True)
        ],
    }


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
            "baseline": values.format_value(baseline, query),
            "value": values.format_value(system, query),
            "difference": values.format_difference(system, query),
        }

    lists = values.find_most_won(system), values.find_most_lost(system)
    won, lost = ([make_row(query) for query in queries] for queries in lists)
    return won, lost
