"""Curves of a metric against its cutoff: means at several cutoffs, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.intervals import summarize_moments
from fastndcg.statistics.moments import Bounds, compute_moments, find_tie_threshold
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.table import Column, format_interval, format_number

CUTOFFS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 28, 33, 40, 48, 57, 68, 82, 100)
MIN_POINTS = 3
NO_CURVES = "this comparison has no curves. Pass curves='ndcg', or compare a metric at 3 cutoffs or more."


class CurvePoint(NamedTuple):
    """A system's mean at one cutoff. `curve` is the text of the metric without its cutoff."""

    curve: str
    system: str
    k: int
    mean: float
    low: float
    high: float


CURVE_COLUMNS = (
    Column("curve", lambda point: point.curve, left=True),
    Column("system", lambda point: point.system, left=True),
    Column("k", lambda point: str(point.k)),
    Column("mean", lambda point: format_number(point.mean)),
    Column("interval", lambda point: format_interval(point.low, point.high)),
)


def at_all_cutoffs(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return each metric at every cutoff of a curve. The metric's own cutoff is ignored."""
    return tuple(metric @ k for metric in metrics for k in CUTOFFS)


def find_curve_metrics(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that are present at three or more cutoffs, in ascending order of the cutoff."""
    families: dict[Metric, list[Metric]] = {}
    for metric in metrics:
        if metric.k is not None:
            families.setdefault(_without_cutoff(metric), []).append(metric)
    curves = (members for members in families.values() if len(members) >= MIN_POINTS)
    return tuple(metric for members in curves for metric in sorted(members, key=lambda member: member.k or 0))


def compute_points(
    systems: Sequence[str],
    columns: Sequence[Array],
    metrics: Sequence[Metric],
    bounds: Sequence[Bounds],
    design: Design,
    level: float,
) -> tuple[CurvePoint, ...]:
    """Return the points of all curves. `columns` are the systems' values of these metrics, within `bounds`."""
    points: list[CurvePoint] = []
    for place, metric in enumerate(metrics):
        threshold = find_tie_threshold(columns, place)
        for system, name in enumerate(systems):
            moments = compute_moments(Quantity(system, place), columns, design, threshold, bounds[place])
            interval = summarize_moments(moments, level=level)
            mean = moments.mean
            low, high = (mean, mean) if interval.reason else (interval.low, interval.high)
            points.append(CurvePoint(str(_without_cutoff(metric)), name, metric.k or 0, mean, low, high))
    return tuple(points)


def _without_cutoff(metric: Metric) -> Metric:
    return Metric(metric.name)(**dict(metric.parameters))
