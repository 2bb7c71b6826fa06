"""
Values that metrics share: functions whose values are kept by their arguments.

The first argument keeps the values: a `Chunk` for one ranking of its documents, `ChunkLabels` for all systems. What a
function of labels is given has no ranking, so that none can depend on one. The other arguments are the key. They are
numbers, texts, metrics, and objects of the plan, whose hash takes no time.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

from fastndcg.engine.chunk import Chunk, ChunkLabels

P = ParamSpec("P")
T = TypeVar("T")
Owner = TypeVar("Owner")


def per_ranking(compute: Callable[Concatenate[Chunk, P], T]) -> Callable[Concatenate[Chunk, P], T]:
    """Compute each value of a function once for a ranking."""
    return _keep_values(compute)


def per_labels(compute: Callable[Concatenate[ChunkLabels, P], T]) -> Callable[Concatenate[ChunkLabels, P], T]:
    """Compute each value of a function once for all rankings of the same labels."""
    return _keep_values(compute)


def keep_values(compute: Callable[Concatenate[Owner, P], T]) -> Callable[Concatenate[Owner, P], T]:
    """Compute each value of a function once for its first argument, which has a dict `memo`."""
    return _keep_values(compute)


def _keep_values(compute: Callable[..., T]) -> Callable[..., T]:
    @functools.wraps(compute)
    def read(owner: Any, *arguments: Any) -> T:
        memo = owner.memo
        key = compute, arguments
        value: T | None = memo.get(key)
        if value is None:
            value = memo[key] = compute(owner, *arguments)  # only when it is complete: other threads read the memo
        return value

    return read
