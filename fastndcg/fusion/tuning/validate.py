"""Cross-validation: tune on some queries, report values of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.fusion.tuning.folds import FoldPlan, Folds
from fastndcg.fusion.tuning.search import BestWeights, GridPoint, MethodGrid, TrainingSets
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import mean
from fastndcg.runtime.progress import track

Tuned = list[list[list[BestWeights]]]  # of each grid, point and training set


class Chosen(NamedTuple):
    """A choice of one point of a method's grid, by its place, with the best weights."""

    point: int
    best: BestWeights


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
    The outcome of a cross-validation.

    Attributes
    ----------
    values : (n_queries,) float64 array
        The held-out value of each query, the mean over all repeats.
    grid_values : list of (n_queries,) float64 arrays
        The held-out values of each method alone, whose parameters the other folds choose.
    best : int
        The grid that all queries choose.
    chosen : list of Chosen
        What all queries choose of each grid. No held-out value depends on it.
    outcomes : list of FoldOutcome
        The choice for each fold.
    points : list of PointOutcome
        Each point of each grid.
    equal_values : (n_queries,) float64 array or None
        The held-out values of equal weights, with the method and parameters that the other folds choose. None if no
        fold chooses a method with weights.
    """

    values: Array
    grid_values: list[Array]
    best: int
    chosen: list[Chosen]
    outcomes: list[FoldOutcome]
    points: list[PointOutcome]
    equal_values: Array | None


def cross_validate(grids: Sequence[MethodGrid], training: TrainingSets, plan: FoldPlan) -> Validation:
    """
    Tune on all folds but one, for each fold, and evaluate the fold that was left out.

    If there are several methods, the choice among them is part of the tuning: it compares values of folds that were
    left out within the training folds.

    Parameters
    ----------
    training : TrainingSets
        The folds and sets of it are replaced.
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
            values.append(evaluate_by_fold(grid, folds.numbers, dict(enumerate(own))))
            grid_totals[place] += values[place]
            for number, point in enumerate(grid.points):
                point_totals[place][number] += _hold_out(point, folds, tuned[place][number][1:])
            for fold, choice in enumerate(choices):
                if choice == place:
                    chosen = confirm(grid, own[fold], masks[1 + fold])
                    is_own = folds.numbers == fold
                    totals[is_own] += values[place][is_own]
                    outcomes.append(FoldOutcome(repeat, fold, place, chosen, values[place][is_own]))
        equal_totals += _evaluate_equal_weights(grids, outcomes[-folds.n :], folds)
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
    value = mean(grid.points[chosen.point].evaluate(best.weights)[mask])
    interval = best.interval
    if interval is not None:
        is_same = value == best.mean
        interval = interval._replace(mean=value) if is_same else type(interval)(interval.middle, interval.middle, value)
    return chosen._replace(best=best._replace(mean=value, interval=interval))


def evaluate_by_fold(grid: MethodGrid, folds: Array, choices: Mapping[int, Chosen]) -> Array:
    """
    Return the metric of each query with the choice of its fold.

    Queries of other folds get NaN.
    """
    judged = grid.points[0].judged
    by_choice: dict[tuple[int, bytes], list[int]] = {}
    for fold, (point, best) in choices.items():
        by_choice.setdefault((point, b"" if best.weights is None else best.weights.tobytes()), []).append(fold)
    if len(by_choice) == 1:
        point, best = next(iter(choices.values()))
        values = grid.points[point].evaluate(best.weights).copy()
    else:
        document_folds = np.repeat(folds, np.diff(judged.rankings.offsets))
        scores = np.zeros(judged.rankings.n_documents)
        for own in by_choice.values():
            point, best = choices[own[0]]
            mask = np.isin(document_folds, own)
            scores[mask] = grid.points[point].fuse(best.weights)[mask]
        values = judged.evaluate(scores, grid.points[0].threads)
    values[~np.isin(folds, list(choices))] = np.nan
    return values


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


def _hold_out(point: GridPoint, folds: Folds, choices: Sequence[BestWeights]) -> Array:
    """Return the metric of each query with the weights that the other folds choose for one point of a grid."""
    values = np.empty(len(folds.numbers))
    for fold, best in enumerate(choices):
        is_own = folds.numbers == fold
        values[is_own] = point.look_up(best)[is_own]
    return values


def _evaluate_equal_weights(grids: Sequence[MethodGrid], outcomes: Sequence[FoldOutcome], folds: Folds) -> Array:
    """Return the metric of each query for equal weights of what the other folds choose."""
    values = np.empty(len(folds.numbers))
    for place, grid in enumerate(grids):
        own = {
            outcome.fold: Chosen(outcome.chosen.point, BestWeights(None, np.nan))
            for outcome in outcomes
            if outcome.grid == place
        }
        if own:
            is_own = np.isin(folds.numbers, list(own))
            values[is_own] = evaluate_by_fold(grid, folds.numbers, own)[is_own]
    return values


def _choose_grids(grids: Sequence[MethodGrid], tuned: Tuned, folds: Folds) -> list[int]:
    """Return the best method for each fold, by cross-validation within the other folds."""
    pairs, _ = folds.inner_sets
    sign = grids[0].points[0].judged.sign
    means = np.empty((len(grids), folds.n))
    for place, grid in enumerate(grids):
        choices = {pair: _choose_point(tuned[place], s, sign) for s, pair in enumerate(pairs)}
        for fold in range(folds.n):
            own = {g: choices[min(fold, g), max(fold, g)] for g in range(folds.n) if g != fold}
            means[place, fold] = sign * mean(evaluate_by_fold(grid, folds.numbers, own))
    best: list[int] = np.argmax(means, axis=0).tolist()
    return best
