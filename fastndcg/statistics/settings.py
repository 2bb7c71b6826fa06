"""What to compute, and how: checked once, carried through."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, nearest
from fastndcg.threads import checked_threads

INTERVALS = ("percentile", "bca", "t")
TESTS = ("randomization", "t", "wilcoxon", "sign", "bootstrap", "tukey")
ALTERNATIVES = ("two-sided", "greater", "less")
CORRECTIONS = ("holm", "bonferroni", "bh", "none")


@dataclass(frozen=True, slots=True)
class Settings:
    """Methods, level, and the source of random numbers; `compare` says what each means."""

    interval: str = "percentile"
    test: str = "randomization"
    correction: str = "holm"
    alternative: str = "two-sided"
    level: float = 0.95
    power: float = 0.8
    replicates: int = 10_000
    seed: int = 0
    threads: int | None = None

    def __post_init__(self) -> None:
        _check_choice("interval", self.interval, INTERVALS)
        _check_choice("test", self.test, TESTS)
        _check_choice("correction", self.correction, CORRECTIONS)
        _check_choice("alternative", self.alternative, ALTERNATIVES)
        _check_share("level", self.level, "0.95")
        _check_share("power", self.power, "0.8")
        object.__setattr__(self, "replicates", _whole("replicates", self.replicates, 1, 2**31 - 1))
        object.__setattr__(self, "seed", _whole("seed", self.seed, 0, 2**64 - 1))
        checked_threads(self.threads)
        if self.test == "tukey" and self.alternative != "two-sided":
            raise InvalidInputError("`alternative` must be 'two-sided' for the test 'tukey', which has no other")

    @property
    def alpha(self) -> float:
        """How often chance alone may look like a difference."""
        return 1 - self.level


def _check_choice(name: str, value: Any, known: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        raise InvalidTypeError(f"`{name}` must be one of {', '.join(map(repr, known))}, not {value!r}")
    if value not in known:
        hint = nearest(value, known) or f" There are {', '.join(map(repr, known))}."
        raise InvalidInputError(f"`{name}` has no choice {value!r}.{hint}")


def _check_share(name: str, value: Any, example: str) -> None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise InvalidTypeError(f"`{name}` must be a number between 0 and 1, such as {example}, not {value!r}")
    if not 0 < value < 1:
        raise InvalidInputError(f"`{name}` must be above 0 and below 1, such as {example}, not {value!r}")


def _whole(name: str, value: Any, least: int, most: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidTypeError(f"`{name}` must be a whole number, not {value!r}") from None
    if isinstance(value, bool) or not least <= number <= most:
        raise InvalidInputError(f"`{name}` must be from {least} to {most}, not {value!r}")
    return number
