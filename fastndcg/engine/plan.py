"""Plans: the metrics of a call under a convention as tasks, each a function with what it passes on."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from fastndcg.engine.apply import keeps_rankings
from fastndcg.engine.chunk import ChunkPlan, Discounts, Reach, compute_discounts
from fastndcg.engine.task import Cutoffs, Gain, Task
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.families import REGISTERED
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff, check_combinations, count_ideal_ranks, find_place
from fastndcg.named_conventions import Convention
from fastndcg.parsing import Value, falls
from fastndcg.rankings.validation import read_only
from fastndcg.runtime.imports import load

MIN_DISCOUNT_RANKS = 1023  # with the next one, as many as `make_discounts` returns at the least
LOWEST_RELEVANT = {
    "at least 1": 1.0,
    "above 0": sys.float_info.min,  # a processor may flush smaller numbers to 0
    "above 0.5": math.nextafter(0.5, 1),
}


@dataclass(frozen=True, slots=True, eq=False)
class MetricPlan(ChunkPlan):
    """
    Metrics under a convention as tasks for every chunk.

    Attributes
    ----------
    tasks : tuple of Task
        One a metric, then one for each denominator.
    same_values_as : tuple of int or None
        For each task an earlier one with the same values: metrics may differ in their aggregate alone.
    n_ideal_ranks : int
        The number of ranks of an ideal ranking that does not depend on the data.
    subtopic_metric : Metric, optional
        The first metric that needs judgments by subtopic.
    discounts : Discounts
        The convention's, for the first `MIN_DISCOUNT_RANKS`. Plans are kept, so they have no part of larger arrays.
    has_undefined_policy : bool
        True if the convention replaces or refuses NaN.
    needs_kernels_only : bool
        True if few documents need no step but the kernels: the convention keeps them, and refuses no value.
    """

    tasks: tuple[Task, ...]
    same_values_as: tuple[int | None, ...]
    n_ideal_ranks: int
    subtopic_metric: Metric | None
    discounts: Discounts
    has_undefined_policy: bool
    needs_kernels_only: bool


def make_plan(metrics: tuple[Metric, ...], convention: Convention, denominators: tuple[Metric, ...] = ()) -> MetricPlan:
    """Return the plan of some metrics and of the denominators of their micro means, made again after a registration."""
    return _make_plan(metrics, convention, denominators, len(REGISTERED))


@functools.lru_cache(maxsize=256)
def _make_plan(
    metrics: tuple[Metric, ...], convention: Convention, denominators: tuple[Metric, ...], n_registered: int
) -> MetricPlan:
    del n_registered
    check_combinations(metrics, convention)
    metrics = add_default_cutoff(metrics, convention)
    counting = convention.replace(no_relevant="defined", undefined="nan", default_k="all")
    tasks = make_tasks(metrics, convention)
    reach = find_reach(tasks)
    tasks += make_tasks(denominators, counting)
    subtopic_metric = next((metric for metric in metrics if metric.record.by_subtopic), None)
    has_undefined_policy = convention.undefined != "nan" or convention.undefined_ap != "as undefined"
    n_ranks = count_ideal_ranks(metrics, convention)
    bare = [metric.bare for metric in metrics]
    return MetricPlan(
        convention=convention,
        tasks=tuple(tasks),
        same_values_as=(
            *(first if (first := bare.index(metric)) < place else None for place, metric in enumerate(bare)),
            *(None for _ in denominators),
        ),
        reach=reach,
        n_ideal_ranks=n_ranks,
        gains=find_gains(metrics, convention),
        views=frozenset(view for metric in (*metrics, *denominators) for view in metric.record.selections),
        subtopic_metric=subtopic_metric,
        discounts=compute_discounts(convention.discount, MIN_DISCOUNT_RANKS + 1),
        has_undefined_policy=has_undefined_policy,
        needs_kernels_only=(
            subtopic_metric is None
            and "raise" not in (convention.undefined, convention.undefined_ap)
            and n_ranks <= MIN_DISCOUNT_RANKS
            and convention.ties != "mean_rank"
            and keeps_rankings(convention)
        ),
    )


def make_tasks(metrics: tuple[Metric, ...], convention: Convention) -> list[Task]:
    """Return the tasks of metrics under a convention. Those that share sums have the cutoffs of all of them."""
    gains: dict[Any, Gain] = {}
    cutoffs: dict[Any, set[int]] = {}
    tasks = []
    for metric in metrics:
        record = metric.record
        rel = find_rel(metric, convention)
        formula = find_gain(metric, convention)
        has_gain = any(parameter.name == "gain" for parameter in record.parameters)
        if has_gain and metric.get("rel") is None and formula != "binary":
            rel = -np.inf  # all labels gain
        if (formula, rel) not in gains:
            gains[formula, rel] = Gain(
                formula=formula,
                rel=rel,
                are_labels=formula == "linear" and rel == -np.inf,
                falls=falls(formula),
                has_unit=has_unit_gain(formula, rel),
                metric=metric,
            )
        discount = metric.get("p") or metric.get("discount") or record.discount
        key = record.sum or metric, gains[formula, rel], discount
        cutoffs.setdefault(key, set()).add(find_depth(metric))
        tasks.append((metric, key, rel))
    rising = {key: tuple(sorted(ks)) for key, ks in cutoffs.items()}
    arrays = {key: Cutoffs(ks, read_only(np.array(ks, "i8"))) for key, ks in rising.items()}
    return [make_task(metric, convention, rel, arrays[key], *key[1:]) for metric, key, rel in tasks]


def make_task(
    metric: Metric, convention: Convention, rel: float, cutoffs: Cutoffs, gain: Gain, discount: Value | None
) -> Task:
    """Return the task of a metric under a convention."""
    k = find_depth(metric)
    skips = skips_queries_without_relevant(metric, convention)
    min_relevant_label = find_rel(metric, convention) if skips else None  # of gains too, where `rel` has no limit
    undefined_value = find_undefined_value(metric, convention)
    values = {parameter.name: metric.get(parameter.name) for parameter in metric.record.parameters}
    numbers = {name: float(value) for name, value in values.items() if isinstance(value, Real)}
    return Task(
        compute=find_function(metric, convention),
        metric=metric,
        k=k,
        cutoff=read_cutoff(metric),
        cutoffs=cutoffs,
        place=cutoffs.ks.index(k),
        rel=rel,
        gain=gain,
        discount=discount,
        numbers=numbers,
        min_relevant_label=min_relevant_label,
        undefined_value=undefined_value,
        is_undefined_at_ties=convention.ties not in metric.record.ties,
        has_plain_values=min_relevant_label is None and undefined_value is None,
    )


def find_reach(tasks: list[Task]) -> Reach:
    """Return the ranks that tasks read."""
    n_ranks = max(task.k for task in tasks)
    first = {task.rel for task in tasks if task.metric.record.reads_first_only and task.metric.k is None}
    if len(first) != 1:
        return Reach(n_ranks, n_ranks, math.inf)
    others = (task.k for task in tasks if not task.metric.record.reads_first_only or task.metric.k is not None)
    return Reach(n_ranks, max(others, default=0), first.pop())


def find_function(metric: Metric, convention: Convention | None = None) -> Callable[..., None]:
    """Return the function that computes a metric under a convention: of its name in the file of its family."""
    file, _, name = find_place(metric, convention).partition(".")
    return getattr(load(f"fastndcg.engine.compute.{file}"), name)  # type: ignore[no-any-return]


def find_depth(metric: Metric) -> int:
    """Return how many ranks count."""
    return MAX_RANK if metric.k is None else min(metric.k, MAX_RANK)


def read_cutoff(metric: Metric) -> float:
    """Return the cutoff as a number to divide by."""
    try:
        return float(MAX_RANK if metric.k is None else metric.k)
    except OverflowError:  # beyond float64
        return math.inf


def has_unit_gain(gain: Value, rel: float) -> bool:
    """Return True if label 1 has the gain 1, and no higher label gains less."""
    if rel > 1.0 or falls(gain):
        return False
    return gain[1] == 1.0 if isinstance(gain, tuple) and len(gain) > 1 else not isinstance(gain, tuple)


def skips_queries_without_relevant(metric: Metric, convention: Convention) -> bool:
    """Return True if the convention, not the definition of the metric, leaves out queries with nothing relevant."""
    if metric.record.by_subtopic:
        return False
    if convention.no_relevant == "undefined":
        return metric.record.is_zero_without_relevant
    return convention.no_relevant == "skipped"


def find_undefined_value(metric: Metric, convention: Convention) -> float | None:
    """Return the value of a query for which a metric is undefined, None if it stays NaN or never is."""
    policy = find_undefined_policy(metric, convention)
    is_always_defined = metric.record.undefined == "never" and not skips_queries_without_relevant(metric, convention)
    return None if is_always_defined or isinstance(policy, str) else float(policy)


def find_undefined_policy(metric: Metric, convention: Convention) -> str | int:
    """Return the convention's choice for queries in which a metric is undefined."""
    policy: str | int = getattr(convention, metric.record.undefined_choice)
    return convention.undefined if policy == "as undefined" else policy


def find_gain(metric: Metric, convention: Convention) -> Value:
    """Return the metric's own gain, or the convention's."""
    own_gain: Value | None = metric.get("gain")
    if own_gain is not None:
        return own_gain
    return "binary" if getattr(convention, metric.record.gain_choice) == "binary" else convention.gain


def find_rel(metric: Metric, convention: Convention) -> float:
    """Return the lowest relevant label: the metric's own threshold, or the convention's."""
    own_rel: float | None = dict(metric.parameters).get("rel")  # type: ignore[assignment]
    return LOWEST_RELEVANT[convention.relevant] if own_rel is None else float(own_rel)


def find_gains(metrics: tuple[Metric, ...], convention: Convention) -> frozenset[Value]:
    """Return the gains of all metrics that have some."""
    return frozenset(
        find_gain(metric, convention)
        for metric in metrics
        if any(parameter.name == "gain" for parameter in metric.record.parameters)
    )
