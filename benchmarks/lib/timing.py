"""Times of several calls, taken in alternation."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any, TypeVar

Name = TypeVar("Name", bound=Hashable)

MIN_REPEATS = 5


def time_alternately(
    calls: Mapping[Name, Callable[[], Any]], repeat: int = MIN_REPEATS, min_seconds: float = 0.0
) -> dict[Name, float]:
    """
    Return the shortest time of each call in seconds.

    Each call runs once without being timed. Rounds follow in which every call runs once, in alternating order. There
    are at least `repeat` rounds, and more until they have lasted `min_seconds`, as short times vary most.
    """
    times: dict[Name, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    start = time.perf_counter()
    n_rounds = 0
    while n_rounds < repeat or time.perf_counter() - start < min_seconds:
        names = list(calls) if n_rounds % 2 == 0 else list(calls)[::-1]
        for name in names:
            times[name].append(time_call(calls[name])[0])
        n_rounds += 1
    return {name: min(values) for name, values in times.items()}


def time_call(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def round_figure(value: float, n_digits: int = 4) -> float:
    """Return a figure rounded to its significant digits."""
    return float(f"{value:.{n_digits}g}")
