"""The queries of a report: every value, packed for the page's script, and the few that stand in the page itself."""

from __future__ import annotations

import base64
import math
from typing import Any, NamedTuple

import numpy as np

from fastndcg.rankings import Array
from fastndcg.statistics.comparison import Comparison

MOST_NUMBERS = 500_000  # of two bytes each, 1.4 MB in base64: with the plots a page stays below 3 MB
MOST_CHARACTERS = 400_000
MISSING = 65535
MOST_DECIMALS = 4
SHOWN = 10


class QueryRow(NamedTuple):
    """A query with both values."""

    query: str
    baseline: float
    value: float
    difference: float


def packed(comparison: Comparison) -> dict[str, Any]:
    """
    Values as whole numbers of 16 bits, four decimals where these suffice, for each metric and system.

    Of very many queries only those stay that a system wins or loses most; the page says how many.
    """
    kept = _kept(comparison)
    metrics = []
    for place, metric in enumerate(comparison.metrics):
        values = np.stack([column[kept, place] for column in comparison.columns])
        least = float(np.nanmin(values)) if not np.isnan(values).all() else 0.0
        reach = float(np.nanmax(values)) - least if not np.isnan(values).all() else 0.0
        decimals = min(MOST_DECIMALS, math.floor(math.log10((MISSING - 2) / reach))) if reach else MOST_DECIMALS
        unit = 10.0**-decimals
        base = math.floor(least / unit)
        whole = np.where(np.isnan(values), MISSING, np.rint(values / unit) - base).astype("<u2")
        metrics.append({
            "name": str(metric), "unit": unit, "base": base, "decimals": max(0, decimals),
            "values": base64.b64encode(whole.tobytes()).decode(),
        })  # fmt: skip
    return {
        "systems": list(comparison.systems),
        "baseline": comparison.systems.index(comparison.baseline),
        "queries": [str(query) for query in comparison.query_ids[kept].tolist()],
        "segments": None if comparison.segments is None else [str(one) for one in comparison.segments[kept].tolist()],
        "n": len(comparison.query_ids),
        "metrics": metrics,
    }


def _kept(comparison: Comparison) -> Array:
    """The places of queries that fit into a page: all, or those with the largest differences."""
    n = len(comparison.query_ids)
    a_query = len(comparison.systems) * len(comparison.metrics)
    length = max(1, max((len(str(one)) for one in comparison.query_ids[:1000].tolist()), default=1) + 3)
    most = max(2 * SHOWN, min(MOST_NUMBERS // a_query, MOST_CHARACTERS // length))
    if n <= most:
        return np.arange(n)
    base = comparison.columns[comparison.systems.index(comparison.baseline)]
    largest = np.zeros(n)
    for column in comparison.columns:
        largest = np.fmax(largest, np.nanmax(np.abs(np.nan_to_num(column - base)), axis=1))
    return np.sort(np.argsort(-largest, kind="stable")[:most])


def most_won_and_lost(comparison: Comparison, system: str, place: int) -> tuple[list[QueryRow], list[QueryRow]]:
    """The ten queries that a system wins by most, and the ten that it loses by most, in one metric."""
    differences = comparison.differences(system, comparison.metrics[place])
    order = np.argsort(np.where(np.isnan(differences), 0.0, differences), kind="stable")
    own = comparison.columns[comparison.place_of_system(system)][:, place]
    base = comparison.columns[comparison.place_of_system(comparison.baseline)][:, place]

    def rows(places: Array) -> list[QueryRow]:
        ids = comparison.query_ids[places].tolist()
        numbers = zip(base[places].tolist(), own[places].tolist(), differences[places].tolist(), strict=True)
        return [QueryRow(str(query), *three) for query, three in zip(ids, numbers, strict=True)]

    won = [row for row in rows(order[::-1][:SHOWN]) if row.difference > 0]
    return won, [row for row in rows(order[:SHOWN]) if row.difference < 0]
