"""A metric against its cutoff: means at one cutoff after the other, with Student's intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.statistics.design import Design
from fastndcg.statistics.intervals import student
from fastndcg.statistics.moments import moments_of, tie_level
from fastndcg.statistics.sums import Quantity

CUTOFFS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 24, 28, 33, 40, 48, 57, 68, 82, 100)
LEAST_POINTS = 3


class CurvePoint(NamedTuple):
    """A system's mean at a cutoff; `curve` is the metric without it."""

    curve: str
    system: str
    k: int
    mean: float
    low: float
    high: float


def at_all_cutoffs(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Each metric at every cutoff of a curve; whatever cutoff it has counts for nothing."""
    return tuple(metric @ k for metric in metrics for k in CUTOFFS)


def curve_metrics(metrics: Sequence[Metric]) -> tuple[Metric, ...]:
    """Those metrics that stand at three cutoffs or more, by rising cutoff."""
    families: dict[Metric, list[Metric]] = {}
    for metric in metrics:
        if metric.k is not None:
            families.setdefault(_family(metric), []).append(metric)
    long = (members for members in families.values() if len(members) >= LEAST_POINTS)
    return tuple(metric for members in long for metric in sorted(members, key=lambda one: one.k or 0))


def points(
    systems: Sequence[str], columns: Sequence[Array], metrics: Sequence[Metric], design: Design, level: float
) -> tuple[CurvePoint, ...]:
    """The points of all curves; `columns` are the values of these metrics."""
    found = []
    for place, metric in enumerate(metrics):
        least = tie_level(columns, place)
        for system, name in enumerate(systems):
            moments = moments_of(Quantity(system, place), columns, design, least)
            low, high = (moments.mean, moments.mean) if moments.reason else student(moments, level)
            found.append(CurvePoint(str(_family(metric)), name, metric.k or 0, moments.mean, low, high))
    return tuple(found)


def _family(metric: Metric) -> Metric:
    return Metric(metric.name)(**dict(metric.parameters))
