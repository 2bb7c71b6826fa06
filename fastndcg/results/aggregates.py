"""Aggregates: one number for the values of all queries, such as their mean, median or geometric mean."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import ExactSum, mean

Weights = Array | None


def aggregate(metric: Metric, values: Array, weights: Weights, chances: Array | None = None) -> float:
    """
    Return the aggregate of the values that are not NaN, NaN if all are.

    `weights` are the weights of the values, None if all are equal. `chances` are the values that a random order gives,
    for aggregates that are adjusted for chance.
    """
    counts = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    values = values if counts.all() else values[counts]
    weights = weights if weights is None or counts.all() else weights[counts]
    if not len(values):
        return math.nan
    if metric.aggregate is not None and metric.aggregate.name in BY_CHANCE:
        if chances is None:
            raise InvalidInputError(
                f"{metric} needs the values by chance, which these results lack. Take {metric.bare}."
            )
        by_chance = weighted_mean(chances if counts.all() else chances[counts], weights)
        return BY_CHANCE[metric.aggregate.name](weighted_mean(values, weights), by_chance)
    if metric.aggregate is None:
        return weighted_mean(values, weights)
    name, parameters = metric.aggregate
    return AGGREGATE[name](metric, values, weights, **dict(parameters))


def weighted_mean(values: Array, weights: Weights) -> float:
    """Return the weighted mean of values."""
    if weights is None:
        return mean(values)
    return ExactSum.of(values * weights).value() / ExactSum.of(weights).value()


def standard_deviation(values: Array, weights: Weights, ddof: int) -> float:
    """
    Return the standard deviation of the values that are not NaN, NaN if there are no more than `ddof`.

    >>> standard_deviation(np.array([0.5, 1.0, math.nan]), None, 0)
    0.25
    """
    counts = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    values = values[counts]
    weights = None if weights is None else weights[counts]
    if len(values) <= ddof:
        return math.nan
    deviations = values - weighted_mean(values, weights)
    return math.sqrt(weighted_mean(deviations**2, weights) * len(values) / (len(values) - ddof))


def geometric_mean(metric: Metric, values: Array, weights: Weights, *, floor: float) -> float:
    """Return the geometric mean of values, with `floor` in place of lower ones."""
    del metric
    return math.exp(weighted_mean(np.log(np.maximum(values, floor)), weights))


def harmonic_mean(metric: Metric, values: Array, weights: Weights) -> float:
    """Return the harmonic mean of values, 0 if one of them is 0."""
    del metric
    return 0.0 if (values == 0).any() else 1.0 / weighted_mean(1.0 / values, weights)


def adjust_for_chance(mean_value: float, by_chance: float) -> float:
    """
    Return the share of the way from chance to the best value, 1. NaN if chance gives the best value.

    >>> adjust_for_chance(2.0, 51.0), adjust_for_chance(0.25, 0.0625)
    (0.98, 0.2)
    """
    return (mean_value - by_chance) / (1.0 - by_chance) + 0.0 if by_chance != 1 else math.nan  # + 0.0: no -0.0


def divide_by_chance(mean_value: float, by_chance: float) -> float:
    """Return the ratio of a mean to that by chance, NaN if chance gives 0."""
    return mean_value / by_chance if by_chance else math.nan


def median(metric: Metric, values: Array, weights: Weights) -> float:
    """Return the middle value."""
    return quantile(metric, values, weights, q=0.5)


def quantile(metric: Metric, values: Array, weights: Weights, *, q: float) -> float:
    """Return the value that the share `q` of the values lies below."""
    if weights is not None and (weights != weights[0]).any():
        raise InvalidInputError(
            f"`weights` must be left out for {metric}, which is defined without. Take {metric.bare}, gm or worst."
        )
    return float(np.quantile(values, q))


def worst(metric: Metric, values: Array, weights: Weights, *, share: float) -> float:
    """Return the mean of the worst `share` of the values. The last of them may count in part."""
    order = np.argsort(values if metric.record.higher_is_better else -values, kind="stable")
    sizes = np.ones(len(values)) if weights is None else weights[order]
    weight_of_worse = np.cumsum(sizes) - sizes
    partial_sizes = np.clip(share * sizes.sum() - weight_of_worse, 0, sizes)
    return weighted_mean(values[order], partial_sizes)


def micro(metric: Metric, values: Array, weights: Weights) -> float:
    """Return the mean of fractions, weighted by their denominators."""
    del metric
    return weighted_mean(values, weights)


AGGREGATE: dict[str, Callable[..., float]] = {
    "gm": geometric_mean,
    "hm": harmonic_mean,
    "median": median,
    "quantile": quantile,
    "worst": worst,
    "micro": micro,
}
BY_CHANCE: dict[str, Callable[[float, float], float]] = {
    "adjusted": adjust_for_chance,
    "over_chance": divide_by_chance,
}
