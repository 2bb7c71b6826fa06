"""Metric tasks: a metric under a convention as a kernel and its inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastndcg.engine.kernel_call import Kernel
from fastndcg.metrics.metric import Metric
from fastndcg.parsing import Value

if TYPE_CHECKING:
    from fastndcg.engine.chunk import Chunk

Argument = Callable[["Chunk", "MetricTask"], Any]  # a KernelInput, or a function that returns a number of the metric


@dataclass(frozen=True, slots=True, eq=False)
class MetricTask:
    """
    A metric under a convention: a kernel, its arguments, and the values that the arguments depend on.

    Attributes
    ----------
    k : int
        How many ranks count, `UNLIMITED` where the metric has no cutoff.
    rel : float
        The lowest relevant label. Lower labels gain nothing.
    gain, discount
        The gain of labels. The metric's own discount, such as RBP's p. None for the convention's.
    gain_weight : float
        The largest factor that gains are multiplied by, for the check that sums stay within float64.
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
    rel: float
    gain: Value
    discount: Value | None
    gain_weight: float
    min_relevant_label: float | None
    undefined_value: float | None
    views: frozenset[str]
    gains_are_labels: bool  # where labels are not truncated
    gain_falls: bool  # a higher label may gain less
    is_custom: bool
    is_by_subtopic: bool
    is_undefined_at_ties: bool  # has no exact mean over the orders of a tie
