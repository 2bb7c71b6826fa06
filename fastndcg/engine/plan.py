"""Plans: the metrics of a call under a convention as tasks, each a kernel with its arguments."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine.discounts import Discounts, make_discounts
from fastndcg.engine.kernel_inputs.registry import INPUTS, Argument, Kernel, KernelInput, MetricTask
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.kernels.lookup import find_kernel
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


def describe_kernel(place: str) -> KernelCall:
    """Return the kernel at a place, such as "gains.ndcg", and the names of its parameters."""
    kernel = find_kernel(place)
    code = getattr(kernel, "py_func", kernel).__code__
    return KernelCall(place, kernel, code.co_varnames[: code.co_argcount - 1])


MIN_DISCOUNT_RANKS = 1023  # with the next one, as many as `make_discounts` computes at the least
MAX_CHUNK_SIZE_SHIFT = 2
MAX_RECENT = 256  # plans that are found without a hash
LOWEST_RELEVANT = {
    "at least 1": 1.0,
    "above 0": sys.float_info.min,  # a processor may flush smaller numbers to 0
    "above 0.5": math.nextafter(0.5, 1),
}


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """
    Metrics under a convention as tasks for every chunk.

    Attributes
    ----------
    tasks : tuple of MetricTask
        One a metric, then one for each denominator.
    same_values_as : tuple of int
        For each task the first one with the same values: metrics may differ in their aggregate alone.
    depth : int
        The largest number of ranks that count.
    n_ideal_ranks : int
        The number of ranks of an ideal ranking that does not depend on the data.
    gains : frozenset
        The gains that labels are checked for.
    views : frozenset of str
        The selections of documents that inputs are read from (see rankings/filters.py).
    subtopic_metric : Metric, optional
        The first metric that needs judgments by subtopic.
    discounts : Discounts
        The convention's, for the ranks that every evaluation needs.
    chunk_size_shift : int
        Chunks have 2 ** chunk_size_shift times the usual size, since each metric has its calls.
    has_undefined_policy : bool
        True if the convention replaces or refuses NaN.
    """

    convention: Convention
    tasks: tuple[MetricTask, ...]
    same_values_as: tuple[int, ...]
    depth: int
    n_ideal_ranks: int
    gains: frozenset[Value]
    views: frozenset[str]
    subtopic_metric: Metric | None
    discounts: Discounts
    chunk_size_shift: int
    has_undefined_policy: bool


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
    n_ranks = count_ideal_ranks(metrics, convention)
    bare = [metric.bare for metric in metrics]
    return Plan(
        convention=convention,
        tasks=tasks,
        same_values_as=(*(bare.index(metric) for metric in bare), *range(len(metrics), len(tasks))),
        depth=depth,
        n_ideal_ranks=n_ranks,
        gains=find_gains(metrics, convention),
        views=frozenset(view for task in tasks for view in task.views),
        subtopic_metric=next((metric for metric in metrics if metric.record.by_subtopic), None),
        discounts=make_discounts(convention.discount, max(min(depth, MIN_DISCOUNT_RANKS) + 1, n_ranks)),
        chunk_size_shift=min(len(metrics).bit_length() - 1, MAX_CHUNK_SIZE_SHIFT),
        has_undefined_policy=convention.undefined != "nan" or convention.undefined_ap != "as undefined",
    )


def make_task(metric: Metric, convention: Convention) -> MetricTask:
    """
    Return the kernel of a metric under a convention with its inputs.

    Raises
    ------
    LookupError
        If the kernel has a parameter that is neither a kernel input nor a parameter of the metric.
    """
    call = describe_kernel(find_kernel_place(metric, convention))
    names = {parameter.name for parameter in metric.record.parameters}
    numbers = {name: _make_constant(metric, name) for name in names & set(call.parameters) - set(INPUTS)}
    gain = find_gain(metric, convention)
    rel = find_rel(metric, convention)
    counts_all_labels = "gain" in names and metric.get("rel") is None and gain != "binary"
    discount = metric.get("p") or metric.get("discount")
    inputs = [argument for argument in call.bind(INPUTS, numbers) if isinstance(argument, KernelInput)]
    return MetricTask(
        kernel=call.kernel,
        arguments=tuple(_skip_cache(argument) for argument in call.bind(INPUTS, numbers)),
        metric=metric,
        k=MAX_RANK if metric.k is None else min(metric.k, MAX_RANK),
        cutoff=read_cutoff(metric),
        rel=-np.inf if counts_all_labels else rel,
        gain=gain,
        discount=discount,
        min_relevant_label=rel if is_left_out(metric, convention) else None,
        undefined_value=find_undefined_value(metric, convention),
        gains_are_labels=counts_all_labels and gain == "linear",
        gain_falls=falls(gain),
        has_unit_gain=gains_one(gain, rel if not counts_all_labels else -np.inf),
        views=frozenset(kernel_input.view for kernel_input in inputs if kernel_input.view is not None),
        is_custom=metric.record.function is not None,
        is_undefined_at_ties=convention.ties not in metric.record.ties,
    )


def _skip_cache(argument: Argument) -> Argument:
    """Return the function of an input that is not cached, which saves one query a call."""
    return argument.compute if isinstance(argument, KernelInput) and argument.scope is None else argument


def _make_constant(metric: Metric, name: str) -> Callable[[Any, Any], float]:
    """Return an argument that is a parameter of the metric."""
    value = float(metric.get(name))
    return lambda chunk, task: value


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
