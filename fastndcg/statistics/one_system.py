"""Means of one system with confidence intervals, over all queries or per segment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import Metric, parse_metrics
from fastndcg.rankings.validation import Array
from fastndcg.results.per_query import read_per_query_array
from fastndcg.results.results import Results
from fastndcg.statistics.alignment import check_aggregates_are_means
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.intervals import Interval
from fastndcg.statistics.sampling_design import Design, make_design, select_queries
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.table import Column, Table, format_interval, format_number

INTERVAL_NAMES = {
    "bca": "BCa bootstrap",
    "percentile": "percentile bootstrap",
    "t": "Student's t",
    "poisson": "Poisson bootstrap",
}


class Segment(NamedTuple):
    """
    The mean of a metric in a segment.

    `n` queries have a value. If there is no interval, its bounds are NaN and `reason` says why.
    """

    segment: Any
    metric: str
    n: int
    n_undefined: int
    mean: float
    low: float
    high: float
    reason: str


def compute_interval(results: Results, metric: str | Metric, settings: Settings, **design: Any) -> Interval:
    """Return the mean of one metric with its interval: see `Results.confidence_interval`."""
    column = results[metric][:, None]
    check_aggregates_are_means(results, parse_metrics(metric))
    sampling_design = _make_design(results, design)
    return Analysis([column], [Quantity(0, 0)], sampling_design, settings).intervals[0]


def summarize_segments(results: Results, segments: Any, settings: Settings, **design: Any) -> Table[Segment]:
    """Return each segment's means with their intervals: see `Results.by`."""
    check_aggregates_are_means(results, results.metrics)
    sampling_design = _make_design(results, design)
    quantities = [Quantity(0, metric) for metric in range(len(results.metrics))]
    rows: list[Segment] = []
    for name, queries in split_segments(segments, results.query_ids):
        segment_design = select_queries(sampling_design, queries, results.query_ids)
        analysis = Analysis([results.values[queries]], quantities, segment_design, settings)
        for metric, interval in zip(results.metrics, analysis.intervals, strict=True):
            row = Segment(
                segment=name,
                metric=str(metric),
                n=interval.n,
                n_undefined=len(queries) - interval.n,
                mean=interval.mean,
                low=interval.low,
                high=interval.high,
                reason=interval.reason,
            )
            rows.append(row)
    return Table(rows, _make_columns(settings), [describe_intervals(settings)])


def _make_design(results: Results, design: dict[str, Any]) -> Design:
    """Return the sampling design. The pairs of a query are a cluster, unless the user gives other clusters."""
    if results.document_ids is not None and design.get("clusters") is None:
        design = design | {"clusters": results.query_ids}
    return make_design(results.query_ids, **design)


def split_segments(segments: Any, query_ids: Array) -> Iterator[tuple[Any, Array]]:
    """Yield each segment's name and the indices of its queries, in ascending order of the names."""
    names, codes = np.unique(read_per_query_array(segments, "segments", query_ids), return_inverse=True)
    if not len(names):
        raise InvalidInputError("`segments` must have at least one query, got none. Evaluate at least one query.")
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for name, start, stop in zip(names.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield name, order[start:stop]


def describe_intervals(settings: Settings) -> str:
    """Return a note on how the intervals were computed."""
    source = "" if settings.interval == "t" else f", {settings.replicates} replicates, seed {settings.seed}"
    return f"{100 * settings.level:g} % intervals: {INTERVAL_NAMES[settings.interval]}{source}"


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
