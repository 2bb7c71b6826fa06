"""Cross-validation: tune on some queries, report values of the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.fusion.method import FusionMethod
from fastndcg.fusion.tuning.engine_curve import EngineCurve, repair_at
from fastndcg.fusion.tuning.folds import FoldPlan, Folds
from fastndcg.fusion.tuning.judged_union import JudgedUnion
from fastndcg.fusion.tuning.step_function import StepFunction
from fastndcg.fusion.tuning.weight_search import Choice, Fusion, Training, search_run, search_weights
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import mean

MOST_REPAIRS = 100
FIRST_OF_TWO = np.array([0.0, 1.0])  # the other weights where that of the first of two runs varies


class Setting(NamedTuple):
    """A choice of one fusion of a family: `fusion` is its place among those of the grid of parameters."""

    fusion: int
    choice: Choice


class Family:
    """
    A method with its grid of parameters.

    Attributes
    ----------
    text : str
        The text of the method as the user wrote it.
    methods : sequence of FusionMethod
        One for each point of the grid.
    fusions : sequence of Fusion
        The fusion by each method.
    steps : list of StepFunction or None
        The step function of each fusion of two runs.
    """

    def __init__(
        self,
        text: str,
        methods: Sequence[FusionMethod],
        fusions: Sequence[Fusion],
        union: JudgedUnion,
        threads: int,
    ) -> None:
        self.text = text
        self.methods = methods
        self.fusions = fusions
        self._union = union
        self._threads = threads
        self.steps: list[StepFunction | None] = [
            search_run(EngineCurve(union, fusion, 0, FIRST_OF_TWO, threads))
            if fusion.is_weighted and fusion.lines is not None and fusion.n_runs == 2
            else None
            for fusion in fusions
        ]

    def tune(self, training: Training) -> list[Setting]:
        """Return the best setting for each training set: the first of equally good parameters."""
        sign = 1 if self._union.metric.record.higher_is_better else -1
        best: list[Setting] = []
        for place, (fusion, steps) in enumerate(zip(self.fusions, self.steps, strict=True)):
            choices = search_weights(fusion, training, steps)
            if not best:
                best = [Setting(place, choice) for choice in choices]
                continue
            for s, choice in enumerate(choices):
                if sign * choice.mean > sign * best[s].choice.mean:
                    best[s] = Setting(place, choice)
        return best

    def confirm(self, settings: list[Setting], training: Training) -> list[Setting]:
        """
        Return settings whose mean is the engine's, to the bit.

        Where the engine has another value at a chosen weight than the step function, it is repaired there, and the
        best settings are searched again.

        Parameters
        ----------
        settings : list of Setting
            Those of `tune` for the same training sets.
        """
        for _ in range(MOST_REPAIRS):
            values = self._evaluate_searched(settings)
            if not sum(self._repair(settings[s], own_values) for s, own_values in values.items()):
                break
            settings = self.tune(training)
        else:
            values = self._evaluate_searched(settings)
        masks = training.masks()
        confirmed = list(settings)
        for s, own_values in values.items():
            choice = settings[s].choice._replace(mean=mean(own_values[masks[s]]))
            confirmed[s] = settings[s]._replace(choice=choice)
        return confirmed

    def _evaluate_searched(self, settings: list[Setting]) -> dict[int, Array]:
        """Return the engine's value of each query for the settings whose weights come from a step function."""
        values: dict[tuple[int, float], Array] = {}
        places: dict[int, tuple[int, float]] = {}
        for s, setting in enumerate(settings):
            interval = setting.choice.interval
            if interval is None or interval.low == interval.high:
                continue  # the engine has chosen the weights
            places[s] = (setting.fusion, interval.middle)
            if places[s] not in values:
                values[places[s]] = self._union.evaluate(self.fuse(setting), self._threads)
        return {s: values[key] for s, key in places.items()}

    def _repair(self, setting: Setting, values: Array) -> bool:
        """Return True if the step function had other values than the engine at the weight of a setting."""
        steps = self.steps[setting.fusion]
        interval = setting.choice.interval
        if steps is None or interval is None:
            return False
        engine = EngineCurve(self._union, self.fusions[setting.fusion], 0, FIRST_OF_TWO, self._threads)
        repaired = repair_at(steps, engine, interval.middle, values)
        if repaired is not None:
            self.steps[setting.fusion] = repaired
        return repaired is not None

    def fuse(self, setting: Setting) -> Array:
        """Return the fused score of each document at a setting."""
        return self.fusions[setting.fusion].fuse(setting.choice.weights)

    def evaluate_by_fold(self, folds: Array, settings: dict[int, Setting]) -> Array:
        """
        Return the metric of each query with the setting of its fold.

        Queries of other folds get NaN.
        """
        union = self._union
        document_folds = np.repeat(folds, np.diff(union.rankings.offsets))
        scores = np.zeros(union.rankings.n_documents)
        for fold, setting in settings.items():
            mask = document_folds == fold
            scores[mask] = self.fuse(setting)[mask]
        values = union.evaluate(scores, self._threads)
        values[~np.isin(folds, list(settings))] = np.nan
        return values


class FoldOutcome(NamedTuple):
    """The choice for one held-out fold: the repeat, the fold, the family, its setting, and the held-out values."""

    repeat: int
    fold: int
    family: int
    setting: Setting
    values: Array


class Validation(NamedTuple):
    """
    The outcome of a cross-validation.

    Attributes
    ----------
    values : (n_queries,) float64 array
        The held-out value of each query, the mean over all repeats.
    family_values : list of (n_queries,) float64 arrays
        The held-out values of each family alone.
    best : int
        The family that all queries choose.
    setting : Setting
        What all queries together choose of that family. No held-out value depends on it.
    settings : list of Setting
        What all queries choose of each family.
    outcomes : list of FoldOutcome
        The choice for each fold.
    equal_values : (n_queries,) float64 array or None
        The held-out values of equal weights, with the method and parameters that the other folds choose. None if no
        fold chooses a method with weights.
    """

    values: Array
    family_values: list[Array]
    best: int
    setting: Setting
    settings: list[Setting]
    outcomes: list[FoldOutcome]
    equal_values: Array | None


def cross_validate(families: Sequence[Family], training: Training, plan: FoldPlan) -> Validation:
    """
    Tune on all folds but one, for each fold, and evaluate the fold that was left out.

    If there are several families, the choice among them is part of the tuning: it compares values of folds that were
    left out within the training folds.

    Parameters
    ----------
    training : Training
        The folds and sets of it are replaced.
    """
    sign = 1 if training.union.metric.record.higher_is_better else -1
    totals = np.zeros(training.union.n_queries)
    equal_totals = np.zeros(training.union.n_queries)
    family_totals = [np.zeros(training.union.n_queries) for _ in families]
    outcomes: list[FoldOutcome] = []
    full: list[Setting] = []
    for repeat, folds in enumerate(plan.repeats):
        outer = training._replace(folds=folds, sets=folds.training_sets)
        settings = [family.confirm(family.tune(outer), outer) for family in families]
        full = [own[0] for own in settings]
        choices = _choose_families(families, outer, folds) if len(families) > 1 else [0] * folds.n
        values = [
            family.evaluate_by_fold(folds.numbers, dict(enumerate(own[1:])))
            for family, own in zip(families, settings, strict=True)
        ]
        for fold, choice in enumerate(choices):
            is_held_out = folds.numbers == fold
            totals[is_held_out] += values[choice][is_held_out]
            own_values = values[choice][is_held_out]
            outcomes.append(FoldOutcome(repeat, fold, choice, settings[choice][1 + fold], own_values))
        for total, column in zip(family_totals, values, strict=True):
            total += column
        equal_totals += _evaluate_equal_weights(families, outcomes[-folds.n :], folds)
    n = len(plan.repeats)
    family_values = [total / n for total in family_totals]
    best = int(np.argmax([sign * mean(values) for values in family_values]))
    is_weighted = any(families[outcome.family].fusions[outcome.setting.fusion].is_weighted for outcome in outcomes)
    equal_values = equal_totals / n if is_weighted else None
    return Validation(totals / n, family_values, best, full[best], full, outcomes, equal_values)


def _evaluate_equal_weights(families: Sequence[Family], outcomes: list[FoldOutcome], folds: Folds) -> Array:
    """Return the metric of each query for equal weights of what the other folds choose."""
    values = np.empty(len(folds.numbers))
    for place, family in enumerate(families):
        settings = {
            outcome.fold: Setting(outcome.setting.fusion, Choice(None, np.nan))
            for outcome in outcomes
            if outcome.family == place
        }
        if settings:
            is_own = np.isin(folds.numbers, list(settings))
            values[is_own] = family.evaluate_by_fold(folds.numbers, settings)[is_own]
    return values


def _choose_families(families: Sequence[Family], training: Training, folds: Folds) -> list[int]:
    """Return the best family for each fold, by cross-validation within the other folds."""
    sign = 1 if training.union.metric.record.higher_is_better else -1
    pairs, sets = folds.inner_sets
    inner = training._replace(sets=sets)
    means = np.empty((len(families), folds.n))
    for place, family in enumerate(families):
        settings = dict(zip(pairs, family.tune(inner), strict=True))
        for fold in range(folds.n):
            inner_settings = {g: settings[min(fold, g), max(fold, g)] for g in range(folds.n) if g != fold}
            means[place, fold] = sign * mean(family.evaluate_by_fold(folds.numbers, inner_settings))
    best: list[int] = np.argmax(means, axis=0).tolist()
    return best


def confirm_setting(family: Family, setting: Setting, training: Training) -> tuple[Setting, StepFunction | None]:
    """Return the setting of all queries with the engine's mean, to the bit, and its step function."""
    n_folds = training.folds.n
    everything = training._replace(sets=np.ones((1, n_folds), "u1"))
    setting = family.confirm([setting], everything)[0]
    return setting, family.steps[setting.fusion]
