"""One system's means with their intervals, over all queries or segment by segment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric, parse_metrics
from fastndcg.of_queries import one_a_query
from fastndcg.rankings import Array
from fastndcg.results import Results
from fastndcg.statistics.alignment import refuse_other_than_means
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.design import make_design, part_of
from fastndcg.statistics.intervals import Interval
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.sums import Quantity
from fastndcg.statistics.table import Column, Table, bounds, number


class Segment(NamedTuple):
    """A segment's mean of a metric: `n` queries have a value; bounds are NaN where there are none, and `reason` why."""

    segment: Any
    metric: str
    n: int
    n_undefined: int
    mean: float
    low: float
    high: float
    reason: str


def interval_of(results: Results, metric: str | Metric, settings: Settings, **design: Any) -> Interval:
    """The mean of one metric with its interval; see `Results.confidence_interval`."""
    column = results[metric][:, None]
    refuse_other_than_means(results, parse_metrics(metric))
    made = make_design(results.query_ids, **design)
    return Analysis([column], [Quantity(0, 0)], made, settings).intervals[0]


def by_segment(results: Results, segments: Any, settings: Settings, **design: Any) -> Table[Segment]:
    """Every segment's means with their intervals; see `Results.by`."""
    refuse_other_than_means(results, results.metrics)
    made = make_design(results.query_ids, **design)
    quantities = [Quantity(0, metric) for metric in range(len(results.metrics))]
    rows = []
    for name, kept in segments_of(segments, results.query_ids):
        found = Analysis([results.values[kept]], quantities, part_of(made, kept, results.query_ids), settings)
        for metric, interval in zip(results.metrics, found.intervals, strict=True):
            undefined = len(kept) - interval.n
            rows.append(
                Segment(
                    name,
                    str(metric),
                    interval.n,
                    undefined,
                    interval.mean,
                    interval.low,
                    interval.high,
                    interval.reason,
                )
            )
    return Table(rows, _columns(settings), [what_intervals_are(settings)])


def segments_of(segments: Any, query_ids: Array) -> Iterator[tuple[Any, Array]]:
    """Each segment's name and its queries' places, in rising order of names."""
    names, codes = np.unique(one_a_query(segments, "segments", query_ids), return_inverse=True)
    if not len(names):
        raise InvalidInputError("`segments` must have a query at least, but there is none")
    order = np.argsort(codes, kind="stable")
    edges = np.searchsorted(codes[order], np.arange(len(names) + 1))
    for name, start, stop in zip(names.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        yield name, order[start:stop]


def what_intervals_are(settings: Settings) -> str:
    """One line that says how intervals were made."""
    what = {"bca": "BCa bootstrap", "percentile": "percentile bootstrap", "t": "Student's t"}[settings.interval]
    source = "" if settings.interval == "t" else f", {settings.replicates} replicates, seed {settings.seed}"
    return f"{100 * settings.level:g} % intervals: {what}{source}"


def _columns(settings: Settings) -> list[Column]:
    return [
        Column("segment", lambda row: str(row.segment), left=True),
        Column("metric", lambda row: row.metric, left=True),
        Column("queries", lambda row: str(row.n)),
        Column("mean", lambda row: number(row.mean)),
        Column(f"{100 * settings.level:g} % interval", lambda row: bounds(row.low, row.high, otherwise=row.reason)),
    ]
