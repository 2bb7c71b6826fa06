"""Plans: the metrics of a call under a convention as tasks, each a kernel with its arguments."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine.apply import keeps_rankings
from fastndcg.engine.chunk import ChunkPlan, Discounts, compute_discounts
from fastndcg.engine.kernel_inputs.registry import Kernel, MetricTask
from fastndcg.kernels.lookup import find_call, find_kernel
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.families import REGISTERED
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff, check_combinations, count_ideal_ranks, find_kernel_place
from fastndcg.named_conventions import Convention
from fastndcg.parsing import Value, falls

_MISSING = object()


class KernelCall(NamedTuple):
    """A kernel and the names of its parameters without the last one, which is the array that it writes to."""

    place: str
    kernel: Kernel
    parameters: tuple[str, ...]

    def bind(self, *sources: Any) -> list[Any]:
        """
        Return the kernel's arguments in order, each from the first source that has its name.

        A source is a mapping from names to arguments, or an object with attributes of these names.

        Raises
        ------
        LookupError
            If no source has a parameter, with the names that mappings have.
        """
        return [self._find(name, sources) for name in self.parameters]

    def _find(self, name: str, sources: tuple[Any, ...]) -> Any:
        for source in sources:
            argument = source.get(name, _MISSING) if isinstance(source, Mapping) else getattr(source, name, _MISSING)
            if argument is not _MISSING:
                return argument
        names = sorted({str(key) for source in sources if isinstance(source, Mapping) for key in source})
        raise LookupError(
            f"kernel {self.place} must take known inputs, but takes `{name}`. Register it with @kernel_input, or take "
            f"one of {', '.join(names)}."
        )


@functools.cache
def describe_kernel(place: str) -> KernelCall:
    """Return the kernel at a place, such as "gains.ndcg", and the names of its parameters."""
    kernel = find_kernel(place)
    code = getattr(kernel, "py_func", kernel).__code__
    return KernelCall(place, kernel, code.co_varnames[: code.co_argcount - 1])


MIN_DISCOUNT_RANKS = 1023  # with the next one, as many as `make_discounts` returns at the least
MAX_RECENT = 256  # plans that are found without a hash
LOWEST_RELEVANT = {
    "at least 1": 1.0,
    "above 0": sys.float_info.min,  # a processor may flush smaller numbers to 0
    "above 0.5": math.nextafter(0.5, 1),
}


@dataclass(frozen=True, slots=True, eq=False)
class Plan(ChunkPlan):
    """
    Metrics under a convention as tasks for every chunk.

    Attributes
    ----------
    tasks : tuple of MetricTask
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
    is_thin : bool
        True if few documents need no step but the kernels: the convention keeps them, and no value is replaced.
    is_repeatable : bool
        True if tasks are kernels with arguments of the chunk alone, which an `Evaluator` may record.
    """

    tasks: tuple[MetricTask, ...]
    same_values_as: tuple[int | None, ...]
    n_ideal_ranks: int
    subtopic_metric: Metric | None
    discounts: Discounts
    has_undefined_policy: bool
    is_thin: bool
    is_repeatable: bool


_recent: dict[tuple[int, int, int, int], tuple[Plan, Any]] = {}


def make_plan(metrics: tuple[Metric, ...], convention: Convention, denominators: tuple[Metric, ...] = ()) -> Plan:
    """
    Return the plan of some metrics and of the denominators of their micro means.

    Plans are found by the identity of what they were made from: to hash twelve metrics takes 2 µs.
    """
    key = id(metrics), id(convention), id(denominators), len(REGISTERED)
    recent = _recent.get(key)
    if recent is None:
        if len(_recent) >= MAX_RECENT:
            _recent.clear()
        plan = _make_plan(metrics, convention, denominators, len(REGISTERED))
        recent = _recent[key] = plan, (metrics, convention, denominators)  # kept, so that no other object has their ids
    return recent[0]


@functools.lru_cache(maxsize=256)
def _make_plan(
    metrics: tuple[Metric, ...], convention: Convention, denominators: tuple[Metric, ...], n_registered: int
) -> Plan:
    """Make a plan, again when a metric has been registered."""
    del n_registered
    check_combinations(metrics, convention)
    metrics = add_default_cutoff(metrics, convention)
    counting = convention.replace(no_relevant="defined", undefined="nan", default_k="all")
    tasks = tuple(make_task(metric, convention) for metric in metrics)
    depth = max(task.k for task in tasks)
    tasks += tuple(make_task(metric, counting) for metric in denominators)
    subtopic_metric = next((metric for metric in metrics if metric.record.by_subtopic), None)
    has_undefined_policy = convention.undefined != "nan" or convention.undefined_ap != "as undefined"
    n_ranks = count_ideal_ranks(metrics, convention)
    bare = [metric.bare for metric in metrics]
    return Plan(
        convention=convention,
        tasks=tasks,
        same_values_as=(
            *(first if (first := bare.index(metric)) < place else None for place, metric in enumerate(bare)),
            *(None for _ in denominators),
        ),
        depth=depth,
        n_ideal_ranks=n_ranks,
        gains=find_gains(metrics, convention),
        views=frozenset(view for task in tasks for view in task.views),
        subtopic_metric=subtopic_metric,
        discounts=compute_discounts(convention.discount, MIN_DISCOUNT_RANKS + 1),
        has_undefined_policy=has_undefined_policy,
        is_thin=(
            subtopic_metric is None
            and not has_undefined_policy
            and n_ranks <= MIN_DISCOUNT_RANKS
            and convention.ties != "mean_rank"
            and keeps_rankings(convention)
        ),
        is_repeatable=(
            all(task.has_plain_values and not task.views for task in tasks) and len({*bare}) == len(metrics)
        ),
    )


def lift_bounds(plan: Plan) -> Plan:
    """Return a plan whose nDCG may exceed 1, for documents that count several times."""
    tasks = []
    for task in plan.tasks:
        names = describe_kernel(find_kernel_place(task.metric, plan.convention)).parameters
        arguments = zip(names, task.constants, strict=True)
        constants = [math.inf if name == "highest_ndcg" else value for name, value in arguments]
        tasks.append(replace(task, constants=constants))
    return replace(plan, tasks=tuple(tasks))


def make_task(metric: Metric, convention: Convention) -> MetricTask:
    """
    Return the kernel of a metric under a convention with its arguments.

    Raises
    ------
    LookupError
        See `MetricTask.bind`.
    """
    call = describe_kernel(find_kernel_place(metric, convention))
    gain = find_gain(metric, convention)
    rel = find_rel(metric, convention)
    has_gain = any(parameter.name == "gain" for parameter in metric.record.parameters)
    counts_all_labels = has_gain and metric.get("rel") is None and gain != "binary"
    min_relevant_label = rel if is_left_out(metric, convention) else None
    undefined_value = find_undefined_value(metric, convention)
    is_custom = metric.record.function is not None
    is_undefined_at_ties = convention.ties not in metric.record.ties
    is_as_written = min_relevant_label is None and undefined_value is None
    task = MetricTask(
        kernel=find_call(call.kernel),
        metric=metric,
        k=find_depth(metric),
        cutoff=read_cutoff(metric),
        rel=-np.inf if counts_all_labels else rel,
        gain=gain,
        discount=metric.get("p") or metric.get("discount") or metric.record.discount,
        min_relevant_label=min_relevant_label,
        undefined_value=undefined_value,
        views=frozenset(),
        gains_are_labels=counts_all_labels and gain == "linear",
        gain_falls=falls(gain),
        has_unit_gain=gains_one(gain, rel if not counts_all_labels else -np.inf),
        is_custom=is_custom,
        is_undefined_at_ties=is_undefined_at_ties,
        has_plain_values=is_as_written and not is_custom and not is_undefined_at_ties,
    )
    task.bind(call.parameters, convention)
    return task


def find_depth(metric: Metric) -> int:
    """Return how many ranks count."""
    return MAX_RANK if metric.k is None else min(metric.k, MAX_RANK)


def read_cutoff(metric: Metric) -> float:
    """Return the cutoff as a number to divide by."""
    try:
        return float(MAX_RANK if metric.k is None else metric.k)
    except OverflowError:  # beyond float64
        return math.inf


def gains_one(gain: Value, rel: float) -> bool:
    """Return True if label 1 has the gain 1, and no higher label gains less."""
    if rel > 1.0 or falls(gain):
        return False
    return gain[1] == 1.0 if isinstance(gain, tuple) and len(gain) > 1 else not isinstance(gain, tuple)


def is_left_out(metric: Metric, convention: Convention) -> bool:
    """Return True if the convention, not the definition of the metric, leaves out queries with nothing relevant."""
    if metric.record.by_subtopic:
        return False
    if convention.no_relevant == "undefined":
        return metric.record.is_zero_without_relevant
    return convention.no_relevant == "skipped"


def find_undefined_value(metric: Metric, convention: Convention) -> float | None:
    """Return the value of a query for which a metric is undefined, None if it stays NaN or never is."""
    policy = find_undefined_policy(metric, convention)
    is_always_defined = metric.record.undefined == "never" and not is_left_out(metric, convention)
    return None if is_always_defined or isinstance(policy, str) else float(policy)


def find_undefined_policy(metric: Metric, convention: Convention) -> str | int:
    """Return the convention's choice for queries in which a metric is undefined."""
    is_own = metric.name == "AP" and convention.undefined_ap != "as undefined"
    return convention.undefined_ap if is_own else convention.undefined


def find_gain(metric: Metric, convention: Convention) -> Value:
    """Return the metric's own gain, or the convention's."""
    own_gain: Value | None = metric.get("gain")
    if own_gain is None and metric.name == "RBP" and convention.rbp_gain == "binary":
        return "binary"
    return convention.gain if own_gain is None else own_gain


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
