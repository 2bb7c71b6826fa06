"""Cross-validation: divide the queries into folds, tune on some folds, and report values of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, Option, shorten
from fastndcg.fusion.tuning.search import BestWeights, Chosen, Folds, MethodGrid, TrainingSets
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.aggregates import mean
from fastndcg.results.per_query import keep_known, read_per_query_array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.progress import track
from fastndcg.statistics.resampling import draw_numbers

FEWEST = 2
MOST_REPEATS = 1000
FEWEST_NESTED = 3  # a fold that is held out, one that compares methods, and one that tunes them

Tuned = list[list[list[BestWeights]]]  # of each grid, point and training set


class FoldPlan(NamedTuple):
    """All divisions of a cross-validation, clusters of queries that stay together (None without), and notes on both."""

    repeats: list[Folds]
    clusters: Array | None
    notes: tuple[str, ...] = ()


def plan_folds(
    given_folds: Any, given_clusters: Any, repeats: int, seed: int, *, query_ids: Array, has_value: Array,
    is_nested: bool,
) -> FoldPlan:  # fmt: skip
    """
    Divide queries into folds.

    `given_folds` and `given_clusters` are those of the user: see `tune_fusion`. `has_value` is False for queries in
    which the metric has no value. A nested plan has methods that are compared within the training queries.
    """
    check_whole_number(repeats, "repeats", 1, MOST_REPEATS)
    clusters = None
    notes: list[str] = []
    if given_clusters is not None:
        given_clusters, notes = keep_known(given_clusters, "clusters", query_ids)
        clusters = read_per_query_array(given_clusters, "clusters", query_ids)
    fewest = FEWEST_NESTED if is_nested else FEWEST
    if isinstance(given_folds, Mapping) or hasattr(given_folds, "__len__"):
        if repeats > 1:
            raise InvalidInputError(
                f"`repeats` must be 1 where `folds` names the fold of each query, got {repeats}. Pass ",
                Option("folds", "5"),
            )
        given_folds, fold_notes = keep_known(given_folds, "folds", query_ids)
        folds = _read_folds(given_folds, query_ids, has_value, clusters, fewest)
        return FoldPlan([folds], clusters, (*notes, *fold_notes))
    n = check_whole_number(given_folds, "folds", FEWEST)
    if n < fewest:
        raise InvalidInputError(
            f"`folds` must be {fewest} or more to compare methods, got {n}. Pass ",
            Option("folds", "5"),
            ", or one method",
        )
    return FoldPlan(
        [_draw_folds(n, draw_numbers(seed, r, len(has_value)), has_value, clusters) for r in range(repeats)],
        clusters,
        tuple(notes),
    )


def _draw_folds(n: int, random: Array, has_value: Array, clusters: Array | None) -> Folds:
    """Draw folds of about equal numbers of queries with a value, or of clusters with such queries."""
    units = np.arange(len(has_value))
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    judged = np.unique(units[has_value])
    what = "queries with a value" if clusters is None else "clusters with a value"
    if not len(judged):
        raise InvalidInputError(
            "`qrels` must have a query in which the metric has a value, but have none. Judge relevant documents of the "
            "queries of the runs"
        )
    if len(judged) < n:
        raise InvalidInputError(
            f"`folds` must be at most the number of {what}, {len(judged)}, got {shorten(n)}. Pass fewer folds"
        )
    order = judged[np.argsort(random[: len(judged)], kind="stable")]
    numbers = np.zeros(int(units.max()) + 1, "i4")
    numbers[order] = np.arange(len(order)) % n
    return Folds(numbers[units], n)


def _read_folds(given_folds: Any, query_ids: Array, has_value: Array, clusters: Array | None, fewest: int) -> Folds:
    """Return folds that a user names for each query."""
    labels = read_per_query_array(given_folds, "folds", query_ids)
    names, numbers = np.unique(labels, return_inverse=True)
    numbers = numbers.reshape(-1).astype("i4")
    if len(names) < fewest:
        raise InvalidInputError(f"`folds` must name {fewest} folds or more, got {len(names)}. Divide the queries again")
    n_judged = np.bincount(numbers[has_value], minlength=len(names))
    if not n_judged.all():
        name = names[int(np.argmin(n_judged))]
        raise InvalidInputError(
            f"`folds` must have a judged query in each fold, but fold {shorten(name.item())} has none with a value of "
            "the metric. Merge it with another fold"
        )
    if clusters is not None:
        order = np.lexsort((numbers, clusters))
        is_split = (clusters[order][1:] == clusters[order][:-1]) & (numbers[order][1:] != numbers[order][:-1])
        if is_split.any():
            query = query_ids[order[int(np.argmax(is_split)) + 1]]
            raise InvalidInputError(
                f"`folds` must keep each cluster together, but that of query {show_name(query)} is in two folds. Leave "
                "out `clusters`, or change the folds"
            )
    return Folds(numbers, len(names))


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
