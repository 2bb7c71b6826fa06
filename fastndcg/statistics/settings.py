"""The checked options of a comparison: methods, levels, and the source of random numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.rankings.validation import check_whole_number
from fastndcg.runtime.threads import check_threads

INTERVALS = ("auto", "t", "percentile")
PART_INTERVALS = ("auto", "t")  # of data in parts, whose sums can be added
TESTS = ("randomization", "t", "wilcoxon", "sign", "mcnemar", "bootstrap", "tukey")
ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "bonferroni", "bh", "none")
FAMILIES = ("table", "metric")
VERDICTS = ("fail", "not comparable", "undecided", "pass")  # a gate has the first that one of its metrics has
FLOORS_BY = ("value", "limit")
BOARD_MEANS = ("datasets", "queries")
BOARD_UNITS = ("queries", "datasets")
MAX_REPLICATES = 2**31 - 1
MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """
    Methods, levels, and the source of random numbers of a comparison.

    `compare` describes each field.

    Raises
    ------
    InvalidInputError
        If a choice does not exist, a level or power is not between 0 and 1, or a number is out of its range.
    """

    interval: str = "auto"
    test: str = "randomization"
    correction: str = "holm"
    family: str = "table"
    alternative: str = "two-sided"
    level: float = 0.95
    power: float = 0.8
    replicates: int = 10_000
    seed: int = 0
    margin: float | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, INTERVALS)
        check_choice("test", self.test, TESTS)
        check_choice("correction", self.correction, CORRECTIONS)
        check_choice("family", self.family, FAMILIES)
        check_choice("alternative", self.alternative, ALTERNATIVES)
        _check_probability("level", self.level, "0.95")
        _check_probability("power", self.power, "0.8")
        object.__setattr__(self, "replicates", _check_integer("replicates", self.replicates, 1, MAX_REPLICATES))
        object.__setattr__(self, "seed", _check_integer("seed", self.seed, 0, MAX_SEED))
        if self.margin is not None:
            check_positive("margin", self.margin, "0.01")
        check_threads(self.threads)
        if self.test == "tukey" and self.alternative != "two-sided":
            raise InvalidInputError(
                f"`alternative` must be 'two-sided' with test='tukey', got {shorten(self.alternative)}. "
                "Take the test 'randomization' for a one-sided alternative."
            )

    @property
    def alpha(self) -> float:
        """The significance level, 1 − level in decimal arithmetic: 0.05 for 0.95, and 0.1 for 0.9."""
        return float(1 - Decimal(str(float(self.level))))

    def is_significant(self, p: float) -> bool:
        """
        Return True if a p-value is below 1 − level. One that equals it, but for rounding, is not, and neither is NaN.

        >>> Settings(level=0.9).is_significant(0.1), Settings(level=0.95).is_significant(0.05)
        (False, False)
        """
        return p < self.alpha and not math.isclose(p, self.alpha, rel_tol=1e-12)

    @property
    def is_corrected(self) -> bool:
        """True if p-values are corrected for their number. Those of 'tukey' hold for all pairs without it."""
        return self.test != "tukey" and self.correction != "none"


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an error for an argument that is none of the texts."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {shorten(value)}")
    if value not in choices:
        hint = suggest_name(value, choices) or f" There are {', '.join(map(repr, choices))}."
        raise InvalidInputError(f"`{name}` has no choice {shorten(value)}.{hint}")


def _check_probability(name: str, value: Any, example: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidTypeError(f"`{name}` must be a number between 0 and 1, got {shorten(value)}. Pass {example}.")
    if not 0 < value < 1:
        raise InvalidInputError(f"`{name}` must be above 0 and below 1, got {shorten(value)}. Pass {example}.")


def check_positive(name: str, value: Any, example: str) -> None:
    """Raise an error for an argument that is no finite number above 0."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    if not is_number or not 0 < value < math.inf:
        kind = InvalidInputError if is_number else InvalidTypeError
        raise kind(f"`{name}` must be a number above 0, got {shorten(value)}. Pass such as {example}.")


def _check_integer(name: str, value: Any, least: int, most: int) -> int:
    number = check_whole_number(value, name, least)
    if number > most:
        raise InvalidInputError(f"`{name}` must be from {least} to {most}, got {shorten(value)}")
    return number
