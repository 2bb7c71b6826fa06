"""A metric under a convention: its function, and the values that the function passes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastndcg.metrics.metric import Metric
from fastndcg.parsing import Value
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.engine.chunk import Chunk


@dataclass(frozen=True, slots=True, eq=False)
class Gain:
    """
    The gain of labels.

    A plan has one object for equal gains, which is the same key of a memo as itself alone: no table is hashed.

    Attributes
    ----------
    formula : str or tuple of float
        "linear", "exp2", "binary", or a table.
    rel : float
        Lower labels gain nothing.
    are_labels : bool
        True if gains are the labels, unless the convention cuts off fractions.
    falls : bool
        True if a higher label may gain less.
    has_unit : bool
        True if label 1 gains 1, and no higher label gains less.
    metric : Metric
        The first metric with the gain, for messages.
    """

    formula: Value
    rel: float
    are_labels: bool
    falls: bool
    has_unit: bool
    metric: Metric


@dataclass(frozen=True, slots=True, eq=False)
class Cutoffs:
    """
    The cutoffs of the metrics of a plan that share sums over ranks, rising: one pass over the hits serves all of them.

    A plan has one object for such metrics, which is the same key of a memo as itself alone.
    """

    ks: tuple[int, ...]
    array: Array


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """
    A metric under a convention.

    Attributes
    ----------
    compute : callable
        ``compute(chunk, m, out)`` writes the values of a chunk, where `m` is this task.
    k : int
        How many ranks count, `MAX_RANK` where the metric has no cutoff.
    cutoff : float
        The metric's cutoff as a number to divide by. It may exceed `k`, which counts ranks.
    cutoffs, place : Cutoffs, int
        The cutoffs that share sums with `k`, and the place of `k` among them.
    rel : float
        The lowest relevant label.
    discount : str, float or tuple, optional
        The metric's own discount, such as RBP's p. None for the convention's.
    numbers : dict
        The values of the metric's parameters that are numbers.
    min_relevant_label : float, optional
        A query without such a label gets NaN. None: no query does.
    undefined_value : float, optional
        Replaces NaN. None: NaN stays.
    is_undefined_at_ties : bool
        True if there is no exact mean over the orders of a tie.
    has_plain_values : bool
        True if the values stay as they are computed: none is left out or replaced.
    """

    compute: Callable[[Chunk, Task, Array], None]
    metric: Metric
    k: int
    cutoff: float
    cutoffs: Cutoffs
    place: int
    rel: float
    gain: Gain
    discount: Value | None
    numbers: dict[str, float]
    min_relevant_label: float | None
    undefined_value: float | None
    is_undefined_at_ties: bool
    has_plain_values: bool
