"""Search the best weights of a method with fixed parameters, for sets of training queries."""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, Words, shorten
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.fusion.fuse import fuse_joined
from fastndcg.fusion.joined_runs import JoinedRuns
from fastndcg.fusion.methods import AppliedMethod, FusionMethod, apply_method, check_absent
from fastndcg.fusion.normalization import parse_norms
from fastndcg.fusion.tuning.line_search import Interval, JudgedRuns, StepFunction, search_line
from fastndcg.parsing import parse_call
from fastndcg.rankings.validation import Array, read_only
from fastndcg.results.aggregates import mean
from fastndcg.runtime.threads import check_stopped
from fastndcg.statistics.resampling import draw_numbers

SIMPLE_WEIGHTS = (0.0, 0.5, 1.0)  # each list alone, and equal weights: here documents often tie
N_RANDOM_STARTS = 1
STARTS = 1 << 32  # the purpose of random numbers: those of folds have the number of the repeat
MOST_ROUNDS = 20  # of a coordinate ascent; most end after 3
PAIR_STEPS = 20  # of a grid for methods that are not linear: weights 0, 0.05, …, 1 for two runs
STEPS = 10  # for more runs
MOST_STORED = 3  # methods whose points stay in memory: 16 bytes a document of two runs
MOST_VALUES = 16  # weights of a grid point whose values stay in memory: 8 bytes a query
# values of parameters that a method's text leaves out
GRIDS: dict[tuple[str, str], tuple[float, ...]] = {
    ("rrf", "k"): (0, 1, 2, 5, 10, 20, 40, 60, 80, 100, 200),
    ("rbc", "phi"): (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98),
    ("gmnz", "gamma"): (0, 0.25, 0.5, 1, 1.5, 2, 3),
    ("logn_isr", "sigma"): (0.001, 0.01, 0.1, 0.5, 1),
}


class BestWeights(NamedTuple):
    """
    Weights that are best for a training set, None for a method without weights.

    `interval` has the same mean around the weight of the first run, for two runs. `mean` is that of the training set.
    """

    weights: Array | None
    mean: float
    interval: Interval | None = None


class Folds(NamedTuple):
    """A division of queries into `n` folds."""

    numbers: Array  # (n_queries,) int32: the fold of each query, from 0, also of those without a value
    n: int

    @property
    def training_sets(self) -> Array:
        """All folds, then all except each one: (1 + n, n) uint8, 1 for the folds of a set."""
        return np.vstack([np.ones((1, self.n), "u1"), 1 - np.eye(self.n, dtype="u1")])

    @property
    def inner_sets(self) -> tuple[list[tuple[int, int]], Array]:
        """Pairs of folds, and all folds except those of each pair: (n_pairs, n) uint8."""
        pairs = list(combinations(range(self.n), 2))
        sets = np.ones((len(pairs), self.n), "u1")
        for place, pair in enumerate(pairs):
            sets[place, list(pair)] = 0
        return pairs, sets


class TrainingSets(NamedTuple):
    """What a search learns from: the folds, sets of folds, clusters, and the seed of random starts."""

    folds: Folds
    sets: Array
    clusters: Array | None
    seed: int

    def masks(self) -> list[Array]:
        """Return the queries of each set: (n_queries,) bool arrays."""
        return list((self.sets != 0)[:, self.folds.numbers])


class JudgedPoints(NamedTuple):
    """
    The judged documents of joined runs, with the points that methods give them.

    `rows` is the place of each document of `judged` among those of `joined`. `score` returns the points of a method.
    """

    joined: JoinedRuns
    judged: JudgedRuns
    rows: Array
    score: Callable[[AppliedMethod], Array]
    threads: int


def make_judged_points(joined: JoinedRuns, judged: JudgedRuns, rows: Array, threads: int) -> JudgedPoints:
    """Return the judged documents of joined runs. Only the points of the last methods stay in memory."""

    @functools.lru_cache(maxsize=MOST_STORED)
    def score(applied: AppliedMethod) -> Array:
        return read_only(np.ascontiguousarray(applied.score(joined)[:, rows]))

    return JudgedPoints(joined, judged, rows, score, threads)


class GridPoint:
    """
    A method with fixed parameters, for the judged documents of joined runs.

    `steps` is the step function of a linear fusion of two runs, which the first search makes.
    """

    def __init__(self, applied: AppliedMethod, points: JudgedPoints) -> None:
        self.applied = applied
        self.text = str(applied.method)
        self.judged = points.judged
        self.is_weighted = applied.record.is_weighted
        self.n_runs = len(points.joined.names)
        self.steps: StepFunction | None = None
        self._points = points
        self._values: OrderedDict[bytes, Array] = OrderedDict()

    @property
    def is_linear(self) -> bool:
        """True if the weights of linear fused scores are searched exactly."""
        applied = self.applied
        return (
            self.is_weighted
            and not applied.has_weighted_points
            and (applied.is_linear or applied.method.name == "mixed")
        )

    @property
    def lines(self) -> Array:
        """Points that each run adds per unit of its weight, of a linear method: (n_runs, n_documents) float64."""
        points = self._points.score(self.applied)
        if np.isinf(points).any():
            fuse_joined(self._points.joined, self.applied)  # raises
        if self.applied.method.name == "mixed":
            points = points * np.sqrt(np.count_nonzero(~np.isnan(points), axis=0))
        return np.nan_to_num(points)

    def fuse(self, weights: Array | None) -> Array:
        """Return the fused score of each document, the same as `fuse` gives. Without weights each run has 1."""
        applied, (joined, _, rows, score, _) = self.applied, self._points
        if applied.compares_ranks:
            return applied.count_majorities(joined, weights)[rows]
        if applied.has_weighted_points:
            points = read_only(np.ascontiguousarray(applied.score(joined, weights)[:, rows]))
        else:
            points = score(applied)
        fused = applied.combine(points, weights)
        if not np.isfinite(fused).all():
            fuse_joined(joined, applied, weights)  # raises
        return fused

    def evaluate(self, weights: Array | None) -> Array:
        """Return the metric of each query. The values of the last weights stay in memory."""
        key = b"" if weights is None else weights.tobytes()
        if key not in self._values:
            self._values[key] = self.judged.evaluate(self.fuse(weights), self._points.threads)
            if len(self._values) > MOST_VALUES:
                self._values.popitem(last=False)
        return self._values[key]

    def look_up(self, best: BestWeights) -> Array:
        """Return the metric of each query at weights of a search, from the step function where there is one."""
        if self.steps is None or best.interval is None or best.interval.low == best.interval.high:
            return self.evaluate(best.weights)
        return self.steps.look_up(np.array([best.interval.middle]))[:, 0]

    def search(self, training: TrainingSets) -> list[BestWeights]:
        """Return the best weights for each training set."""
        masks = training.masks()
        if not self.is_weighted:
            values = self.evaluate(None)
            return [BestWeights(None, mean(values[mask])) for mask in masks]
        if not self.is_linear:
            return self._search_grid(masks)
        if self.n_runs == 2:
            return self._search_pair(training, masks)
        return [self._ascend_from_starts(training.seed, mask) for mask in masks]

    def search_run(self, run: int, rest: Array, lines: Array, queries: Array | None = None) -> StepFunction:
        """Return the step function in the weight of a run, the others sharing the rest as `rest` says."""
        return search_line(self.judged, lines[run], rest @ lines, queries=queries, threads=self._points.threads)

    def search_around(self, run: int, best: BestWeights) -> tuple[StepFunction, Interval]:
        """
        Return the step function in the weight of a run, and the interval of weights around the best one.

        The interval is that weight alone where documents tie or rounding decides, so that its mean is another than that
        of both sides.
        """
        assert best.weights is not None
        weight = float(best.weights[run])
        if self.n_runs == 2 and run == 0 and self.steps is not None and best.interval is not None:
            return self.steps, best.interval
        steps = self.search_run(run, share_rest(best.weights, run), self.lines)
        low, high = steps.find_cell(weight)
        if mean(steps.look_up(np.array([weight]))[:, 0]) != best.mean:
            low = high = weight
        return steps, Interval(low, high, best.mean)

    def _search_pair(self, training: TrainingSets, masks: list[Array]) -> list[BestWeights]:
        """Return the middle of the best interval for each set, or a simple weight that is better than that."""
        if self.steps is None:
            self.steps = self.search_run(0, np.array([0.0, 1.0]), self.lines)
        choices = [
            BestWeights(np.array([best.middle, 1.0 - best.middle]), best.mean, best)
            for best in self.steps.find_best(training.folds.numbers, training.sets)
        ]
        for weight in SIMPLE_WEIGHTS:
            weights = np.array([weight, 1.0 - weight])
            values = self.evaluate(weights)
            for place, mask in enumerate(masks):
                value = mean(values[mask])
                if self.judged.sign * value > self.judged.sign * choices[place].mean:
                    choices[place] = BestWeights(weights, value, Interval(weight, weight, value))
        return choices

    def _search_grid(self, masks: list[Array]) -> list[BestWeights]:
        """Return the best weights of a grid for each set: the first of equally good ones."""
        best: list[BestWeights] = []
        for weights in list_grid(self.n_runs):
            check_stopped()
            values = self.judged.evaluate(self.fuse(weights), self._points.threads)
            means = [mean(values[mask]) for mask in masks]
            if not best:
                best = [BestWeights(weights, value) for value in means]
            for place, value in enumerate(means):
                if self.judged.sign * value > self.judged.sign * best[place].mean:
                    best[place] = BestWeights(weights, value)
        return best

    def _ascend_from_starts(self, seed: int, mask: Array) -> BestWeights:
        """Return the best weights of three or more runs for some queries, by coordinate ascent from several starts."""
        sign = self.judged.sign
        return max((self._ascend(start, mask) for start in self._list_starts(seed, mask)), key=lambda b: sign * b.mean)

    def _list_starts(self, seed: int, mask: Array) -> list[Array]:
        """Return where ascents begin: equal weights, the best single run, and random weights."""
        n = self.n_runs
        singles = np.eye(n)
        means = [self.judged.sign * mean(self.evaluate(weights)[mask]) for weights in singles]
        numbers = draw_numbers(seed, STARTS, n * N_RANDOM_STARTS).reshape(N_RANDOM_STARTS, n)
        shares = -np.log((numbers + 0.5) / 2.0**64)  # exponential: their shares are uniform on all weights
        return [np.full(n, 1.0 / n), singles[int(np.argmax(means))], *(row / row.sum() for row in shares)]

    def _ascend(self, start: Array, mask: Array) -> BestWeights:
        """Improve the weight of one run after the other, each by an exact line search, until none improves."""
        folds = (~mask).astype("i4")
        own_fold = np.array([[1, 0]], "u1")
        lines = self.lines
        weights = start
        value = mean(self.evaluate(weights)[mask])
        for _ in range(MOST_ROUNDS):
            is_better = False
            for run in range(self.n_runs):
                check_stopped()
                rest = share_rest(weights, run)
                middle = self.search_run(run, rest, lines, mask).find_best(folds, own_fold)[0].middle
                for weight in (middle, *SIMPLE_WEIGHTS):
                    new_weights = (1.0 - weight) * rest
                    new_weights[run] = weight
                    new_value = mean(self.evaluate(new_weights)[mask])
                    if self.judged.sign * new_value > self.judged.sign * value:
                        weights = new_weights
                        value = new_value
                        is_better = True
            if not is_better:
                break
        return BestWeights(weights, value)


def share_rest(weights: Array, run: int) -> Array:
    """Return the weights without a run, with the sum 1. They are equal if only that run had one."""
    rest = weights.copy()
    rest[run] = 0.0
    if not rest.any():
        rest[:] = 1.0
        rest[run] = 0.0
    shared: Array = rest / rest.sum()
    return shared


def list_grid(n_runs: int) -> list[Array]:
    """
    Return all weights of a grid with the sum 1, for methods that are not linear.

    >>> len(list_grid(2)), len(list_grid(3))
    (21, 66)
    """
    n = PAIR_STEPS if n_runs == 2 else STEPS
    return [np.array([*rest, n - sum(rest)]) / n for rest in product(range(n + 1), repeat=n_runs - 1) if sum(rest) <= n]


class Chosen(NamedTuple):
    """A choice of one point of a method's grid, by its place, with the best weights."""

    point: int
    best: BestWeights


class MethodGrid(NamedTuple):
    """A method as the user wrote it, with a point for each value of the parameters that its text leaves open."""

    text: str
    points: list[GridPoint]

    def evaluate(self, chosen: Chosen) -> Array:
        """Return the metric of each query at a choice, as the engine gives it."""
        return self.points[chosen.point].evaluate(chosen.best.weights)


def read_methods(
    methods: Sequence[str] | str, names: Sequence[str], convention: FusionConvention, absent: str | None
) -> list[tuple[str, list[AppliedMethod]]]:
    """Return the text of each method, and a method for each point of the grid of the parameters that it leaves open."""
    many = methods if isinstance(methods, Iterable) and not isinstance(methods, str) else [methods]
    texts = list(many)
    if any(not isinstance(text, str | FusionMethod) for text in texts):
        raise InvalidTypeError(
            f"`methods` must be a list of methods such as ['rrf', 'wsum(norm=min_max)'], not {shorten(methods)}"
        )
    parsed = [(text, FusionMethod.parse(text)) for text in texts]
    if not parsed:
        raise InvalidInputError("`methods` must have one method or more, but is empty. Pass ['rrf']")
    grids: dict[str, list[AppliedMethod]] = {}
    for text, method in parsed:
        if method.record.needs_training:
            raise InvalidInputError(
                f"`methods` must be methods without training, but {method.name} learns from judgments. Take ",
                Words("fuse(train=...)", "`fastndcg fuse --train`"),
                " for it",
            )
        check_absent(absent, method)
        if str(method) in grids:
            raise InvalidInputError(f"`methods` must differ, but {method} occurs twice. Leave one out")
        grids[str(method)] = [
            apply_method(point, convention, names, absent=absent) for point in _list_points(text, method, convention)
        ]
    return list(grids.items())


def _list_points(text: str | FusionMethod, method: FusionMethod, convention: FusionConvention) -> list[FusionMethod]:
    """Return a method with each choice of `norms`, and with each value of a parameter that its text leaves out."""
    points = [method]
    if method.get("norms"):
        norms = parse_norms(method.get("norms"))
        choices = [tuple((norm,) for norm in own) for own in product(*norms.choices)]
        points = [method.replace(norms=str(norms._replace(choices=own))) for own in choices]
    settings = dict(method.parameters) if isinstance(text, FusionMethod) else parse_call(text)[1]
    for (name, parameter), values in GRIDS.items():
        if name == method.name and parameter not in settings:
            is_rrf = name == "rrf"  # 1 / (k + first rank) must be finite
            values = tuple(value for value in values if not is_rrf or value + convention.first_rank > 0)
            points = [point.replace(**{parameter: value}) for point in points for value in values]
    return points


def note_on_grid(grid: MethodGrid, place: int) -> list[str]:
    """Return a remark if the best parameter is at an end of its grid. 0 is no end: parameters are not negative."""
    best = grid.points[place].applied.method
    for name, parameter in GRIDS:
        if name == best.name:
            values = {point.applied.method.get(parameter) for point in grid.points}
            value = best.get(parameter)
            if len(values) > 1 and value and value in (min(values), max(values)):
                return [
                    f"best {parameter} of {name}: {value:g}, an end of the grid from {min(values):g} to "
                    f"{max(values):g}; a value beyond it may be better"
                ]
    return []
