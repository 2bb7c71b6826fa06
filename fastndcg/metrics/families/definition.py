"""What reference twins take besides labels: the definition of a metric, and marks in place of some labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Definition(NamedTuple):
    """
    Gains, discounts and the other choices of a metric under a convention.

    A `k` of None counts all ranks. `metric` is the `Metric`, `convention` the `Convention`.
    """

    k: int | None
    is_relevant: Callable[[float], bool]
    gain: Callable[[float], float]
    discount: Callable[[int], float]
    convention: Any
    metric: Any

    def get(self, parameter: str) -> float:
        """Return the value of a parameter that is a number."""
        return float(self.metric.get(parameter))


class Mark(float):
    """A label of 0 that is equal to itself only."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


UNJUDGED = Mark()
POOLED = Mark()  # in the pool, and not judged


class JudgedBySubtopic(list[Any]):
    """The judged documents of a query with the importance of its subtopics, by number. None: all have the same."""

    importance: dict[int, float] | None = None


class MeanRanked(list[float]):
    """Labels in rank order with the mean rank of each document's tie group."""

    def __init__(self, groups: list[list[float]]) -> None:
        super().__init__(label for group in groups for label in group)
        self.ranks: list[float] = []
        for group in groups:
            self.ranks += [len(self.ranks) + (len(group) + 1) / 2] * len(group)
