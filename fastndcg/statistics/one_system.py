"""Means of one system with confidence intervals, over all queries or per segment."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.results.kinds import PairResults
from fastndcg.results.results import Results
from fastndcg.statistics.alignment import check_aggregates_are_means
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.intervals import INTERVAL_NAMES, Interval
from fastndcg.statistics.moments import find_bounds
from fastndcg.statistics.sampling_design import (
    Design,
    read_design,
    read_for_queries,
    select_queries,
)
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.table import Column, Table, format_interval, format_number


class Segment(NamedTuple):
    """
    The mean of a metric in a segment.

    `n` queries have a value and a weight above 0, and count like `n_effective` of equal weight. If there is no
    interval, its bounds are NaN and `reason` says why.
    """

    segment: Any
    metric: str
    n: int
    n_effective: float
    n_undefined: int
    mean: float
    low: float
    high: float
    reason: str


def compute_interval(results: Results, metric: str | Metric, settings: Settings, **design: Any) -> Interval:
    """Return the mean of one metric with its interval: see `Results.confidence_interval`."""
    place = results._column(metric)
    parsed = results.metrics[place]
    check_aggregates_are_means(results, [parsed])
    sampling_design, queries = _read_design(results, design)
    bounds = [find_bounds(parsed, results.convention)]
    column = results.values[queries, place][:, None]
    return Analysis([column], [Quantity(0, 0)], sampling_design, settings, bounds).intervals[0]


def summarize_segments(results: Results, segments: Any, settings: Settings, **design: Any) -> Table[Segment]:
    """Return each segment's means with their intervals: see `Results.by`."""
    check_aggregates_are_means(results, results.metrics)
    sampling_design, weighted = _read_design(results, design)
    query_ids = results.query_ids[weighted]
    values = results.values[weighted]
    names = read_for_queries(segments, "segments", results.query_ids, weighted)
    quantities = [Quantity(0, metric) for metric in range(len(results.metrics))]
    bounds = [find_bounds(metric, results.convention) for metric in results.metrics]
    rows: list[Segment] = []
    methods: set[str] = set()
    for name, queries in split_segments(names, list_segments(segments)):
        segment_design = select_queries(sampling_design, queries, query_ids)
        analysis = Analysis([values[queries]], quantities, segment_design, settings, bounds)
        for metric, interval in zip(results.metrics, analysis.intervals, strict=True):
            row = Segment(
                segment=name,
                metric=str(metric),
                n=interval.n,
                n_effective=interval.n_effective,
                n_undefined=len(queries) - interval.n,
                mean=interval.mean,
                low=interval.low,
                high=interval.high,
                reason=interval.reason,
            )
            rows.append(row)
            methods.add(interval.method)
    return Table(rows, _make_columns(settings), [describe_intervals(settings, methods)])


def _read_design(results: Results, design: dict[str, Any]) -> tuple[Design, Array]:
    """Return `read_design`. The pairs of a query are a cluster, unless the user gives other clusters."""
    if isinstance(results, PairResults) and design.get("clusters") is None:
        design = design | {"clusters": results.query_ids}
    return read_design(results.query_ids, **design)


def list_segments(segments: Any) -> list[Any]:
    """Return segments in the order of their categories, of numbers, or in which they first stand in a user's value."""
    categories = getattr(segments, "cat", segments)  # of a pandas Series
    if getattr(categories, "ordered", False):
        return list(categories.categories)
    names = list(dict.fromkeys(segments.values() if isinstance(segments, Mapping) else np.asarray(segments).tolist()))
    return names if any(isinstance(name, str) for name in names) else sorted(names)


def split_segments(segments: Array, names: Sequence[Any]) -> Iterator[tuple[Any, Array]]:
    """Yield each segment's name and the indices of its queries, in the order of `names`, without empty ones."""
    if not len(segments):
        raise InvalidInputError("`segments` must have at least one query, got none. Evaluate at least one query.")
    own, codes = np.unique(segments, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    queries = dict(zip(own.tolist(), np.split(order, np.cumsum(np.bincount(codes))[:-1]), strict=True))
    yield from ((name, queries[name]) for name in names if name in queries)


def describe_intervals(settings: Settings, methods: Collection[str]) -> str:
    """Return a note on how the intervals were computed. `methods` are those that the interval 'auto' chose."""
    source = f", {settings.replicates} replicates, seed {settings.seed}" if settings.interval == "percentile" else ""
    used = methods if settings.interval == "auto" else [settings.interval]
    names = [INTERVAL_NAMES[name] for name in INTERVAL_NAMES if name in used]
    return f"{100 * settings.level:g} % intervals: {', '.join(names)}{source}"


def _make_columns(settings: Settings) -> list[Column]:
    def format_bounds(row: Segment) -> str:
        return format_interval(row.low, row.high, otherwise=row.reason)

    return [
        Column("segment", lambda row: str(row.segment), left=True),
        Column("metric", lambda row: row.metric, left=True),
        Column("queries", lambda row: str(row.n)),
        Column("mean", lambda row: format_number(row.mean)),
        Column(f"{100 * settings.level:g} % interval", format_bounds),
    ]
