"""One number of a metric's values of all queries: their mean, or what the metric's text asks for."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.sums import ExactSum, mean

Weights = Array | None


def aggregate(metric: Metric, values: Array, weights: Weights) -> float:
    """
    What a metric's values of all queries come to, those that are NaN aside; NaN where there are no others.

    `weights` say how much each value counts, None that all count the same.
    """
    kept = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    values = values if kept.all() else values[kept]
    weights = weights if weights is None or kept.all() else weights[kept]
    if not len(values):
        return math.nan
    if metric.aggregate is None:
        return weighted_mean(values, weights)
    name, parameters = metric.aggregate
    return AGGREGATE[name](metric, values, weights, **dict(parameters))


def weighted_mean(values: Array, weights: Weights) -> float:
    """The mean of values, each as often as its weight."""
    if weights is None:
        return mean(values)
    return ExactSum.of(values * weights).value() / ExactSum.of(weights).value()


def geometric_mean(metric: Metric, values: Array, weights: Weights, *, floor: float) -> float:
    """The geometric mean of values, those below `floor` taken for it."""
    del metric
    return math.exp(weighted_mean(np.log(np.maximum(values, floor)), weights))


def median(metric: Metric, values: Array, weights: Weights) -> float:
    """The middle value."""
    return quantile(metric, values, weights, q=0.5)


def quantile(metric: Metric, values: Array, weights: Weights, *, q: float) -> float:
    """The value that a share `q` of the values lies below."""
    if weights is not None and (weights != weights[0]).any():
        raise InvalidInputError(
            f"`weights` must be left out for {metric}, which is defined without: take {metric.bare}, gm or worst"
        )
    return float(np.quantile(values, q))


def worst(metric: Metric, values: Array, weights: Weights, *, share: float) -> float:
    """The mean of the worst `share` of the values, the last of them in part."""
    order = np.argsort(values if metric.record.higher_is_better else -values, kind="stable")
    sizes = np.ones(len(values)) if weights is None else weights[order]
    above = np.cumsum(sizes) - sizes  # the weight of what is worse
    counted = np.clip(share * sizes.sum() - above, 0, sizes)
    return weighted_mean(values[order], counted)


def micro(metric: Metric, values: Array, weights: Weights) -> float:
    """The mean of fractions, each as often as its denominator, which the weights hold."""
    del metric
    return weighted_mean(values, weights)


AGGREGATE: dict[str, Callable[..., float]] = {
    "gm": geometric_mean,
    "median": median,
    "quantile": quantile,
    "worst": worst,
    "micro": micro,
}
