"""The checked options of a comparison: methods, levels, and the source of random numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.rankings.validation import check_number, check_whole_number
from fastndcg.runtime.threads import check_threads

INTERVALS = ("auto", "t", "percentile", "betting")
GATE_INTERVALS = ("auto", "t", "betting")
PART_INTERVALS = ("auto", "t")  # of data in parts, whose sums can be added
TESTS = ("randomization", "t", "wilcoxon", "sign", "mcnemar", "bootstrap", "tukey")
ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "bonferroni", "bh", "none")
FAMILIES = ("table", "metric")
VERDICTS = ("fail", "not comparable", "undecided", "pass")  # a gate has the first that one of its metrics has
FLOORS_BY = ("value", "limit")
BOARD_MEANS = ("datasets", "queries")
BOARD_UNITS = ("queries", "datasets")
MAX_REPLICATES = 10**6  # more say no more, and take minutes
MAX_SEED = 2**64 - 1


@dataclass(frozen=True, slots=True)
class Settings:
    """
    Methods, levels, and the source of random numbers of a comparison.

    `compare` describes each field.

    Raises
    ------
    InvalidInputError
        If a choice does not exist, or a number is out of its range.
    """

    interval: str = "auto"
    test: str = "randomization"
    correction: str = "holm"
    family: str = "table"
    alternative: str = "two-sided"
    level: float = 0.95
    replicates: int = 10_000
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        check_choice("interval", self.interval, INTERVALS)
        check_choice("test", self.test, TESTS)
        if self.test == "mcnemar":  # the sign test of hits and misses
            object.__setattr__(self, "test", "sign")
        check_choice("correction", self.correction, CORRECTIONS)
        check_choice("family", self.family, FAMILIES)
        check_choice("alternative", self.alternative, ALTERNATIVES)
        replicates = check_whole_number(self.replicates, "replicates", 1, MAX_REPLICATES)
        object.__setattr__(self, "replicates", replicates)
        object.__setattr__(self, "seed", check_whole_number(self.seed, "seed", 0, MAX_SEED))
        object.__setattr__(self, "level", check_number(self.level, "level", 0.51, 0.999999, "0.95"))
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


def check_power(power: float) -> float:
    """Return the power of a test, or raise an error for a number that is none."""
    return check_number(power, "power", 0.01, 0.999999, "0.8")


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    """Raise an error for an argument that is none of the texts."""
    if not isinstance(value, str):
        raise InvalidTypeError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {shorten(value)}")
    if value not in choices:
        hint = suggest_name(value, choices) or f" There are {', '.join(map(repr, choices))}."
        raise InvalidInputError(f"`{name}` has no choice {shorten(value)}.{hint}")
