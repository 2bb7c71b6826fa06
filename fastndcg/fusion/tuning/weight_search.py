"""Search the best weights of one fusion for sets of training queries."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple, Protocol

import numpy as np

from fastndcg.fusion.tuning.engine_curve import EngineCurve, repair_at, sample_undecided
from fastndcg.fusion.tuning.folds import Folds, draw_numbers
from fastndcg.fusion.tuning.judged_union import JudgedUnion
from fastndcg.fusion.tuning.line_search import search_line
from fastndcg.fusion.tuning.step_function import Interval, StepFunction
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import mean
from fastndcg.runtime.threads import check_stopped

SIMPLE_WEIGHTS = (0.0, 0.5, 1.0)  # each list alone, and equal weights: here documents often tie
CROSSING_WIDTH = 1e-6  # a narrower interval around a weight is the rounding error of a crossing
N_RANDOM_STARTS = 1
STARTS = 1 << 32  # the purpose of random numbers: those of folds have the number of the repeat
MOST_ROUNDS = 20  # of a coordinate ascent; most end after 3
PAIR_STEPS = 20  # of a grid for methods that are not linear: weights 0, 0.05, …, 1 for two runs
STEPS = 10  # for more runs


class Fusion(Protocol):
    """
    A fusion method with fixed parameters, for the documents of a union.

    Attributes
    ----------
    lines : (n_runs, n_documents) float64 array or None
        What each run adds to a fused score per unit of its weight. None for methods that are not linear.
    is_weighted : bool
        Whether the method takes weights.
    n_runs : int
        The number of runs.
    """

    @property
    def lines(self) -> Array | None: ...  # noqa: D102  above

    @property
    def is_weighted(self) -> bool: ...  # noqa: D102

    @property
    def n_runs(self) -> int: ...  # noqa: D102

    def fuse(self, weights: Array | None) -> Array:
        """Return the fused score of each document."""

    def select(self, places: Array) -> Fusion:
        """Return the fusion of some documents."""


class Choice(NamedTuple):
    """
    Weights that are best for a training set, None for a method without weights.

    `interval` has the same mean around the weight of the first run, for two runs. `mean` is that of the training set.
    """

    weights: Array | None
    mean: float
    interval: Interval | None = None


class Training(NamedTuple):
    """The inputs of a search: the judged documents, the folds, the sets of folds, and how to choose on a plateau."""

    union: JudgedUnion
    folds: Folds
    sets: Array
    is_widest: bool
    clusters: Array | None
    seed: int
    threads: int

    def masks(self) -> list[Array]:
        """Return the queries of each set: (n_queries,) bool arrays."""
        return [own_set[self.folds.numbers] != 0 for own_set in self.sets]


def search_weights(fusion: Fusion, training: Training, steps: StepFunction | None = None) -> list[Choice]:
    """
    Return the best weights of a fusion for each training set.

    Parameters
    ----------
    steps : StepFunction, optional
        The step function of a linear fusion of two runs.
    """
    if not fusion.is_weighted:
        values = training.union.evaluate(fusion.fuse(None), training.threads)
        return [Choice(None, mean(values[mask])) for mask in training.masks()]
    if fusion.lines is None:
        return _search_grid(fusion, training)
    if steps is not None:
        return _search_pair(fusion, training, steps)
    return [_ascend_on_queries(fusion, training, mask) for mask in training.masks()]


def search_run(engine: EngineCurve) -> StepFunction:
    """Return the step function of a linear fusion in the weight of a run."""
    lines = engine.fusion.lines
    assert lines is not None
    steps = search_line(engine.union, lines[engine.run], engine.rest @ lines, threads=engine.threads)
    return sample_undecided(steps, engine)


def search_around(engine: EngineCurve, weight: float, best_mean: float) -> tuple[StepFunction, Interval]:
    """
    Return the step function in the weight of a run, and the interval of weights around one with its mean.

    The interval is that weight alone where documents tie, so that both sides have another mean.
    """
    steps = search_run(engine)
    values = engine.evaluate(weight)
    repaired = repair_at(steps, engine, weight, values)
    low, high = (repaired or steps).find_cell(weight)
    is_crossing = repaired is not None and (weight in SIMPLE_WEIGHTS or high - low < CROSSING_WIDTH)
    if is_crossing or mean(values) != best_mean:
        return steps, Interval(weight, weight, best_mean)
    return repaired or steps, Interval(low, high, best_mean)


def _search_pair(fusion: Fusion, training: Training, steps: StepFunction) -> list[Choice]:
    """Return the middle of the best interval for each set, or a simple weight that is better than that."""
    best = steps.find_best(training.folds.numbers, training.sets)
    masks = training.masks()
    if training.is_widest:
        errors = [
            compute_standard_error(steps.look_up(np.array([interval.middle]))[:, 0], mask, training.clusters)
            for interval, mask in zip(best, masks, strict=True)
        ]
        limits = np.array([interval.mean - steps.sign * error for interval, error in zip(best, errors, strict=True)])
        best = steps.find_best(training.folds.numbers, training.sets, limits)
        values = steps.look_up(np.sort([interval.middle for interval in best]))
        order = np.argsort(np.argsort([interval.middle for interval in best], kind="stable"))
        means = [mean(values[mask, order[place]]) for place, mask in enumerate(masks)]
        best = [interval._replace(mean=value) for interval, value in zip(best, means, strict=True)]
    choices = [make_choice(interval) for interval in best]
    if training.is_widest:
        return choices
    for weight in SIMPLE_WEIGHTS:
        weights = np.array([weight, 1.0 - weight])
        values = training.union.evaluate(fusion.fuse(weights), training.threads)
        for place, mask in enumerate(masks):
            value = mean(values[mask])
            if steps.sign * value > steps.sign * choices[place].mean:
                choices[place] = Choice(weights, value, Interval(weight, weight, value))
    return choices


def make_choice(interval: Interval) -> Choice:
    """Return the choice of the middle of an interval."""
    return Choice(np.array([interval.middle, 1.0 - interval.middle]), interval.mean, interval)


def compute_standard_error(values: Array, mask: Array, clusters: Array | None) -> float:
    """Return the standard error of the mean of some queries, from the sums of clusters if there are any."""
    is_defined = mask & ~np.isnan(values)
    rest = values[is_defined] - values[is_defined].mean()
    if clusters is not None:
        units = np.unique(clusters[is_defined], return_inverse=True)[1].reshape(-1)
        rest = np.bincount(units, weights=rest)
    n = len(rest)
    return float(np.sqrt((rest**2).sum() * n / max(n - 1, 1)) / np.count_nonzero(is_defined))


def _ascend_on_queries(fusion: Fusion, training: Training, mask: Array) -> Choice:
    """Return the best weights of three or more runs for some queries, by coordinate ascent from several starts."""
    union, places = training.union.select(np.flatnonzero(mask))
    part = fusion.select(places)
    sign = 1 if union.metric.record.higher_is_better else -1
    best: Choice | None = None
    for start in _list_starts(part, union, training):
        check_stopped()
        choice = _ascend(part, union, start, training.threads)
        if best is None or sign * choice.mean > sign * best.mean:
            best = choice
    assert best is not None
    return best


def _list_starts(fusion: Fusion, union: JudgedUnion, training: Training) -> list[Array]:
    """Return where ascents begin: equal weights, the best single run, and random weights."""
    n = fusion.n_runs
    sign = 1 if union.metric.record.higher_is_better else -1
    singles = np.eye(n)
    means = [sign * mean(union.evaluate(fusion.fuse(weights), training.threads)) for weights in singles]
    numbers = draw_numbers(training.seed, STARTS, n * N_RANDOM_STARTS).reshape(N_RANDOM_STARTS, n)
    shares = -np.log((numbers + 0.5) / 2.0**64)  # exponential: their shares are uniform on all weights
    return [np.full(n, 1.0 / n), singles[int(np.argmax(means))], *(row / row.sum() for row in shares)]


def _ascend(fusion: Fusion, union: JudgedUnion, start: Array, threads: int) -> Choice:
    """Improve the weight of one run after the other, each by an exact line search, until none improves."""
    lines = fusion.lines
    assert lines is not None
    folds = np.zeros(union.n_queries, "i4")
    everything = np.ones((1, 1), "u1")
    weights = start
    value = mean(union.evaluate(fusion.fuse(weights), threads))
    for _ in range(MOST_ROUNDS):
        is_better = False
        for r in range(fusion.n_runs):
            rest = share_rest(weights, r)
            steps = search_line(union, lines[r], rest @ lines, threads=threads)
            middle = steps.find_best(folds, everything)[0].middle
            for weight in (middle, *SIMPLE_WEIGHTS):
                new_weights = (1.0 - weight) * rest
                new_weights[r] = weight
                new_value = mean(union.evaluate(fusion.fuse(new_weights), threads))
                if steps.sign * new_value > steps.sign * value:
                    weights = new_weights
                    value = new_value
                    is_better = True
        if not is_better:
            break
    return Choice(weights, value)


def share_rest(weights: Array, r: int) -> Array:
    """Return the weights without run `r`, with the sum 1. They are equal if only run `r` had one."""
    rest = weights.copy()
    rest[r] = 0.0
    if not rest.any():
        rest[:] = 1.0
        rest[r] = 0.0
    shared: Array = rest / rest.sum()
    return shared


def _search_grid(fusion: Fusion, training: Training) -> list[Choice]:
    """Return the best weights of a grid for each set: the first of equally good ones."""
    sign = 1 if training.union.metric.record.higher_is_better else -1
    masks = training.masks()
    best: list[Choice | None] = [None] * len(masks)
    for weights in list_grid(fusion.n_runs):
        check_stopped()
        values = training.union.evaluate(fusion.fuse(weights), training.threads)
        for place, mask in enumerate(masks):
            value = mean(values[mask])
            last = best[place]
            if last is None or sign * value > sign * last.mean:
                best[place] = Choice(weights, value)
    return [choice for choice in best if choice is not None]


def list_grid(n_runs: int) -> list[Array]:
    """
    Return all weights of a grid with the sum 1, for methods that are not linear.

    >>> len(list_grid(2)), len(list_grid(3))
    (21, 66)
    """
    n = PAIR_STEPS if n_runs == 2 else STEPS
    return [np.array([*rest, n - sum(rest)]) / n for rest in product(range(n + 1), repeat=n_runs - 1) if sum(rest) <= n]
