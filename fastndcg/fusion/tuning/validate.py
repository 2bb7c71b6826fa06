"""Cross-validation: tune on some queries, report values of the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.fusion.tuning.folds import FoldPlan, Folds
from fastndcg.fusion.tuning.search import BestWeights, Chosen, MethodGrid, TrainingSets
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import mean
from fastndcg.runtime.progress import track

Tuned = list[list[list[BestWeights]]]  # of each grid, point and training set


class FoldOutcome(NamedTuple):
    """The choice for one held-out fold: the repeat, the fold, the grid, its choice, and the held-out values."""

    repeat: int
    fold: int
    grid: int
    chosen: Chosen
    values: Array


class PointOutcome(NamedTuple):
    """A point of a grid: the best weights of all queries, the values there, and the held-out values."""

    grid: int
    point: int
    best: BestWeights
    values: Array
    held_out: Array


class Validation(NamedTuple):
    """
    The outcome of a cross-validation. Values are (n_queries,) float64, means over all repeats.

    `equal_values` are held-out values of equal weights, with the method and parameters that the other folds choose,
    None if no fold chooses a method with weights.
    """

    values: Array  # held out
    grid_values: list[Array]  # held-out values of each method alone, whose parameters the other folds choose
    best: int  # the grid that all queries choose
    chosen: list[Chosen]  # what all queries choose of each grid: no held-out value depends on it
    outcomes: list[FoldOutcome]
    points: list[PointOutcome]
    equal_values: Array | None


def cross_validate(grids: Sequence[MethodGrid], training: TrainingSets, plan: FoldPlan) -> Validation:
    """
    Tune on all folds but one, for each fold, and evaluate the fold that was left out.

    If there are several methods, the choice among them is part of the tuning: it compares values of folds that were
    left out within the training folds. The folds and sets of `training` are replaced.
    """
    sign = grids[0].points[0].judged.sign
    n_queries = grids[0].points[0].judged.n_queries
    totals = np.zeros(n_queries)
    equal_totals = np.zeros(n_queries)
    grid_totals = [np.zeros(n_queries) for _ in grids]
    point_totals = [[np.zeros(n_queries) for _ in grid.points] for grid in grids]
    outcomes: list[FoldOutcome] = []
    tuned: Tuned = []
    for repeat, folds in enumerate(plan.repeats):
        outer = training._replace(folds=folds, sets=folds.training_sets)
        tuned, inner = _search_all(grids, outer, f"tuning, repeat {repeat + 1} of {len(plan.repeats)}")
        choices = _choose_grids(grids, inner, folds) if inner else [0] * folds.n
        masks = outer.masks()
        values = []
        for place, grid in enumerate(grids):
            own = [_choose_point(tuned[place], s, sign) for s in range(1, 1 + folds.n)]
            values.append(_join_folds(folds, [(fold, grid.evaluate(choice)) for fold, choice in enumerate(own)]))
            grid_totals[place] += values[place]
            for number, point in enumerate(grid.points):
                own_bests = enumerate(tuned[place][number][1:])
                point_totals[place][number] += _join_folds(folds, [(f, point.look_up(best)) for f, best in own_bests])
            for fold, choice in enumerate(choices):
                if choice == place:
                    chosen = confirm(grid, own[fold], masks[1 + fold])
                    is_own = folds.numbers == fold
                    totals[is_own] += values[place][is_own]
                    outcomes.append(FoldOutcome(repeat, fold, place, chosen, values[place][is_own]))
        last = [(own.fold, grids[own.grid].points[own.chosen.point]) for own in outcomes[-folds.n :]]
        equal_totals += _join_folds(folds, [(fold, point.evaluate(None)) for fold, point in last])
    n = len(plan.repeats)
    grid_values = [total / n for total in grid_totals]
    everything = np.ones(n_queries, bool)
    full = [confirm(grid, _choose_point(own, 0, sign), everything) for grid, own in zip(grids, tuned, strict=True)]
    is_weighted = any(grids[outcome.grid].points[outcome.chosen.point].is_weighted for outcome in outcomes)
    return Validation(
        totals / n,
        grid_values,
        int(np.argmax([sign * mean(values) for values in grid_values])),
        full,
        sorted(outcomes, key=lambda outcome: outcome[:2]),
        [
            PointOutcome(place, number, own[0], point.look_up(own[0]), point_totals[place][number] / n)
            for place, grid in enumerate(grids)
            for number, (point, own) in enumerate(zip(grid.points, tuned[place], strict=True))
        ],
        equal_totals / n if is_weighted else None,
    )


def confirm(grid: MethodGrid, chosen: Chosen, mask: Array) -> Chosen:
    """
    Return a choice with the mean that the engine gives for its weights.

    Where it is another than the step function's, rounding decides the order of fused scores, and the interval is the
    weight alone.
    """
    best = chosen.best
    value = mean(grid.evaluate(chosen)[mask])
    interval = best.interval
    if interval is not None:
        is_same = value == best.mean
        interval = interval._replace(mean=value) if is_same else type(interval)(interval.middle, interval.middle, value)
    return chosen._replace(best=best._replace(mean=value, interval=interval))


def _join_folds(folds: Folds, values: Iterable[tuple[int, Array]]) -> Array:
    """Return the metric of each query as evaluated for its fold, NaN for queries of other folds."""
    joined = np.full(len(folds.numbers), np.nan)
    for fold, own in values:
        is_own = folds.numbers == fold
        joined[is_own] = own[is_own]
    return joined


def _search_all(grids: Sequence[MethodGrid], outer: TrainingSets, text: str) -> tuple[Tuned, Tuned]:
    """
    Return the best weights of each grid, point and training set, for the outer folds and for those within them.

    A single method needs none within: that list is empty.
    """
    trainings = [outer] if len(grids) == 1 else [outer, outer._replace(sets=outer.folds.inner_sets[1])]
    jobs = [(grid, point, training) for grid in grids for point in grid.points for training in trainings]
    with track(jobs, text, len(jobs)) as tracked_jobs:
        found = [(grid, point.search(training)) for grid, point, training in tracked_jobs]
    by_training = [found[place :: len(trainings)] for place in range(len(trainings))]
    sorted_results = [[[best for own, best in part if own is grid] for grid in grids] for part in by_training]
    return sorted_results[0], sorted_results[1] if len(grids) > 1 else []


def _choose_point(tuned: list[list[BestWeights]], s: int, sign: int) -> Chosen:
    """Return the best point for a training set: the first of equally good ones."""
    point = max(range(len(tuned)), key=lambda place: sign * tuned[place][s].mean)
    return Chosen(point, tuned[point][s])


def _choose_grids(grids: Sequence[MethodGrid], tuned: Tuned, folds: Folds) -> list[int]:
    """Return the best method for each fold, by cross-validation within the other folds."""
    pairs, _ = folds.inner_sets
    sign = grids[0].points[0].judged.sign
    means = np.empty((len(grids), folds.n))
    for place, grid in enumerate(grids):
        choices = {pair: grid.evaluate(_choose_point(tuned[place], s, sign)) for s, pair in enumerate(pairs)}
        for fold in range(folds.n):
            own = [(g, choices[min(fold, g), max(fold, g)]) for g in range(folds.n) if g != fold]
            means[place, fold] = sign * mean(_join_folds(folds, own))
    best: list[int] = np.argmax(means, axis=0).tolist()
    return best
