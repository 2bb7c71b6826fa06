"""
Kernel inputs: the arrays and numbers that kernels of metrics take, by the names of their parameters.

A function with the decorator `kernel_input` registers itself. The engine binds it to every kernel that has a parameter
of its name. An input with a scope is computed once for all metrics that agree in the fields of its key. What a plan
knows, such as a cutoff, is no input that is computed: see `CONSTANTS`.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import numpy as np

from fastndcg.engine.chunk import HIT_FIELDS, Chunk
from fastndcg.engine.scratch import F8, HitArrays
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.parsing import Value

Scope = Literal["labels", "ranking"]
Size = Callable[[Chunk, "MetricTask"], int]
Kernel = Callable[..., None]
Call = tuple[Callable[..., Any], tuple[Any, ...]]  # a kernel and its arguments


class KernelInput(NamedTuple):
    """A function of the chunk and the task, and the selection of documents that it reads."""

    read: Callable[[Chunk, MetricTask], Any]
    view: str | None


INPUTS: dict[str, KernelInput] = {}
# what is added to recall · R before its fraction is cut off: 0.7 · 10 is a little more than 7
RECALL_ROUNDING = {"up": 1.0 - 1e-9, "nearest": 0.5, "up from a tenth": 0.9}
# inputs that do not depend on the data, each a function of the metric's task and the convention
CONSTANTS: dict[str, Callable[[MetricTask, Convention], Any]] = {
    "k": lambda task, convention: task.k,
    "rel": lambda task, convention: task.rel,
    "highest_ndcg": lambda task, convention: np.inf if convention.negative_labels == "keep" else 1.0,
    "recall_rounding": lambda task, convention: RECALL_ROUNDING[convention.recall_rounding],
    "parameters": lambda task, convention: tuple(
        float(task.metric.get(parameter.name)) for parameter in task.metric.record.parameters
    ),
}


@dataclass(slots=True, eq=False)
class MetricTask:
    """
    A metric under a convention: a kernel, its arguments, and the values that the arguments depend on.

    Attributes
    ----------
    kernel : callable
        What a call of the metric's kernel runs.
    constants : list
        The kernel's arguments, of which those below are filled in for each chunk.
    hit_arguments : tuple of (int, callable)
        The place of each argument that is an array of hits, and the function that reads it.
    arguments : tuple of (int, callable)
        The place of each other argument, and the function of the chunk and this task that computes it.
    k : int
        How many ranks count, `MAX_RANK` where the metric has no cutoff.
    cutoff : float
        The metric's cutoff as a number to divide by. It may exceed `k`, which counts ranks.
    rel : float
        The lowest relevant label. Lower labels gain nothing.
    gain, discount
        The gain of labels. The metric's own discount, such as RBP's p. None for the convention's.
    min_relevant_label : float, optional
        A query without such a label gets NaN. None: no query does.
    undefined_value : float, optional
        Replaces NaN. None: NaN stays.
    views : frozenset of str
        The selections of documents that arguments are read from (see rankings/rankings.py).
    has_plain_values : bool
        True if the kernel writes the values as they are: nothing is refused, left out or replaced.
    keys : dict
        What each input is cached by, found when it is first computed.
    """

    kernel: Kernel
    metric: Metric
    k: int
    cutoff: float
    rel: float
    gain: Value
    discount: Value | None
    min_relevant_label: float | None
    undefined_value: float | None
    views: frozenset[str]
    gains_are_labels: bool  # so that gains need no copy, unless the convention cuts off fractions
    gain_falls: bool  # a higher label may gain less
    has_unit_gain: bool  # label 1 gains 1, and no higher label gains less
    is_custom: bool
    is_undefined_at_ties: bool  # has no exact mean over the orders of a tie
    has_plain_values: bool
    constants: list[Any] = field(default_factory=list)
    hit_arguments: tuple[tuple[int, Callable[[HitArrays], Any]], ...] = ()
    arguments: tuple[tuple[int, Callable[[Chunk, MetricTask], Any]], ...] = ()
    keys: dict[str, str] = field(default_factory=dict)

    def bind(self, parameters: tuple[str, ...], convention: Convention) -> None:
        """
        Find the argument for each parameter of the kernel: a constant, an array of hits, or an input.

        Raises
        ------
        LookupError
            If a parameter is none of these, nor a parameter of the metric.
        """
        own = {parameter.name for parameter in self.metric.record.parameters}
        hit_arguments = []
        arguments = []
        for place, name in enumerate(parameters):
            value = None
            if name in CONSTANTS:
                value = CONSTANTS[name](self, convention)
            elif name in HIT_FIELDS:
                hit_arguments.append((place, HIT_FIELDS[name]))
            elif name in INPUTS:
                found = INPUTS[name]
                arguments.append((place, found.read))
                if found.view is not None:
                    self.views |= {found.view}
            elif name in own:
                value = float(self.metric.get(name))
            else:
                known = sorted({*own, *CONSTANTS, *HIT_FIELDS, *INPUTS})
                raise LookupError(
                    f"the kernel of {self.metric.name} must take known inputs, but takes `{name}`. Register it with "
                    f"@kernel_input, or take one of {', '.join(known)}."
                )
            self.constants.append(value)
        self.hit_arguments = tuple(hit_arguments)
        self.arguments = tuple(arguments)


def kernel_input(
    *,
    name: str | None = None,
    scope: Scope | None = None,
    key: tuple[str, ...] = (),
    size: Size | None = None,
    view: str | None = None,
    is_call: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """
    Return a decorator that registers a function as the kernel input of its name.

    The function takes the chunk and the task, and returns the value. With a scope and a parameter `out`, it fills a
    float64 array instead: it returns the part that is filled, or None for all of it. If `is_call`, it fills nothing,
    and returns the kernel that fills the array, and the kernel's arguments. A function without a scope stays as it is.
    One with a scope becomes a function that caches its values.

    Parameters
    ----------
    name : str, optional
        The parameter's name, by default that of the function.
    scope : 'labels', 'ranking' or None
        How long the value is cached: as long as the labels of a chunk, which all systems share, or for one ranking of
        its documents. None: not at all.
    key : tuple of str
        Fields of `MetricTask` that the value depends on. ``metric.alpha`` is the parameter alpha of the metric.
    size : callable, optional
        Return the number of entries of `out`, by default one a query.
    view : str, optional
        The selection of documents that the value is read from: see `fastndcg.rankings.rankings.VIEWS`.
    """

    def decorate(compute: Callable[..., Any]) -> Any:
        own = name or compute.__name__
        if own in INPUTS:
            raise ValueError(f"kernel inputs must have different names, but two are called {own}. Rename one.")
        read = compute if scope is None else _cache(own, compute, scope, key, size, is_call)
        INPUTS[own] = KernelInput(read, view)
        return read

    return decorate


def _cache(
    name: str,
    compute: Callable[..., Any],
    scope: Scope,
    key_fields: tuple[str, ...],
    size: Size | None,
    is_call: bool,
) -> Callable[[Chunk, MetricTask], Any]:
    """Return a function that takes the value from the cache where another task has computed it."""
    is_of_labels = scope == "labels"
    is_unknown = not is_call and not is_of_labels  # what it does for a ranking cannot be recorded
    fills_out = "out" in inspect.signature(compute).parameters
    read_key = _make_key_reader(key_fields)

    @functools.wraps(compute)
    def read(chunk: Chunk, task: MetricTask) -> Any:
        owner: Any = chunk.labels if is_of_labels else chunk
        cache = owner.cache
        try:
            key = task.keys[name]
        except KeyError:
            key = task.keys[name] = f"{name} {read_key(task)}"  # Python keeps the hash of a text, not that of a tuple
        value = cache.get(key)
        if value is not None:
            return value
        if fills_out:
            out = owner.take(key, chunk.labels.n_queries if size is None else size(chunk, task), F8)
            value = compute(chunk, task, out)
            if is_call:
                kernel, arguments = value
                kernel(*arguments)
                if chunk.recording is not None:
                    chunk.recording.add(kernel, arguments)
            if is_call or value is None:
                value = out
        else:
            value = compute(chunk, task)
        if is_unknown:
            chunk.recording = None
        cache[key] = value  # only when it is complete: other threads read the cache of the labels
        return value

    return read


def _make_key_reader(key: tuple[str, ...]) -> Callable[[MetricTask], Any]:
    """Return a function that reads the fields of a key, all at once where they are attributes of a task."""
    parameters = [field.removeprefix("metric.") for field in key if field.startswith("metric.")]
    fields = [field for field in key if not field.startswith("metric.")]
    if not parameters:
        return operator.attrgetter(*fields) if fields else lambda task: None

    def read_key(task: MetricTask) -> Any:
        values = (task.metric.k if name == "k" else task.metric.get(name) for name in parameters)
        return (*(getattr(task, field) for field in fields), *values)

    return read_key
