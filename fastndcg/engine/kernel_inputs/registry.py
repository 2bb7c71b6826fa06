"""
Kernel inputs: the arrays and numbers that kernels of metrics take, by the names of their parameters.

A function with the decorator `kernel_input` registers itself. The engine binds it to every kernel that has a parameter
of its name. An input with a scope is computed once for all metrics that agree in the fields of its key.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.scratch import F8
from fastndcg.metrics.metric import Metric
from fastndcg.parsing import Value

Scope = Literal["labels", "ranking"]
Size = Callable[[Chunk, "MetricTask"], int]
Kernel = Callable[..., None]
Argument = Callable[[Chunk, "MetricTask"], Any]  # a KernelInput, or a function that returns a number of the metric

INPUTS: dict[str, KernelInput] = {}


@dataclass(frozen=True, slots=True, eq=False)
class MetricTask:
    """
    A metric under a convention: a kernel, its arguments, and the values that the arguments depend on.

    Attributes
    ----------
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
        The selections of documents that arguments are read from (see rankings/filters.py).
    """

    kernel: Kernel
    arguments: tuple[Argument, ...]
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


class KernelInput:
    """
    An argument that kernels take by name.

    Attributes
    ----------
    name : str
        The parameter's name.
    compute : callable
        Takes the chunk and the task, and returns the value. With a parameter `out`, it fills a float64 array instead:
        it returns the part that is filled, or None for all of it.
    scope : 'labels', 'ranking' or None
        How long the value is cached: as long as the labels of a chunk, which all systems share, or for one ranking of
        its documents. None: not at all.
    key : tuple of str
        Fields of `MetricTask` that the value depends on.
        ``metric.alpha`` is the parameter alpha of the metric.
    size : callable, optional
        Return the number of entries of `out`, by default one a query.
    view : str, optional
        The selection of documents that the value is read from (see rankings/filters.py).
    """

    __slots__ = ("compute", "fills_out", "is_of_labels", "key", "name", "read_key", "scope", "size", "view")

    def __init__(
        self,
        name: str,
        compute: Callable[..., Any],
        scope: Scope | None,
        key: tuple[str, ...],
        size: Size | None = None,
        view: str | None = None,
    ) -> None:
        self.name = name
        self.compute = compute
        self.scope = scope
        self.is_of_labels = scope == "labels"
        self.key = key
        self.size = size
        self.view = view
        self.fills_out = "out" in inspect.signature(compute).parameters
        self.read_key: Callable[[MetricTask], Any] = _make_key_reader(key)

    def __call__(self, chunk: Chunk, task: MetricTask) -> Any:
        """Return the value for a task, from the cache where another task has computed it."""
        if self.scope is None:
            return self.compute(chunk, task)
        owner: Any = chunk.labels if self.is_of_labels else chunk
        key = self.name, self.read_key(task)
        value = owner.cache.get(key)
        if value is None:
            if self.fills_out:
                out = owner.take(key, chunk.labels.n_queries if self.size is None else self.size(chunk, task), F8)
                value = self.compute(chunk, task, out)
                if value is None:
                    value = out
            else:
                value = self.compute(chunk, task)
            owner.cache[key] = value  # only when it is complete: other threads read the cache of the labels
        return value

    def __repr__(self) -> str:
        return f"KernelInput({self.name!r})"


def kernel_input(
    *, scope: Scope | None = None, key: tuple[str, ...] = (), size: Size | None = None, view: str | None = None
) -> Callable[[Callable[..., Any]], Any]:
    """
    Return a decorator that registers a function as the kernel input of its name.

    A function without a scope stays a function. One with a scope becomes a `KernelInput`, which caches its values.
    """

    def decorate(compute: Callable[..., Any]) -> Any:
        new_input = register_input(KernelInput(compute.__name__, compute, scope, key, size, view))
        return compute if scope is None else new_input

    return decorate


def register_reader(name: str, read: Callable[[Chunk, MetricTask], Any]) -> KernelInput:
    """Register a function that reads an attribute of a chunk or a task."""
    return register_input(KernelInput(name, read, None, ()))


def register_input(new_input: KernelInput) -> KernelInput:
    """Add an input to the table of known ones."""
    if new_input.name in INPUTS:
        raise ValueError(f"kernel inputs must have different names, but two are called {new_input.name}. Rename one.")
    INPUTS[new_input.name] = new_input
    return new_input


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
