"""Check the arguments of `fuse`: weights, training data, and what a method does not take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, Option, join_names, shorten, suggest_name
from fastndcg.fusion.method import FusionMethod
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array

Weights = Mapping[str, float] | Sequence[float] | None


def read_weights(weights: Weights, names: Sequence[str], method: FusionMethod) -> Array | None:
    """Return the weights of the runs in their order, or None without weights."""
    if weights is None:
        return None
    if not method.record.is_weighted:
        twin = {"sum": "wsum", "borda": "wborda", "condorcet": "wcondorcet", "mnz": "wmnz", "anz": "arithmetic_mean"}
        remedy = f"Take {twin[method.name]!r}" if method.name in twin else "Leave them out"
        raise InvalidInputError(
            f"`weights` can only be used with a weighted method, but {method.name} takes no weights. {remedy}"
        )
    row = _sort_weights(weights, names) if isinstance(weights, Mapping) else _list_weights(weights)
    values = [_check_weight(weight, name) for weight, name in zip(row, names, strict=False)]
    if len(row) != len(names):
        raise InvalidInputError(
            f"`weights` must have one weight for each of {len(names)} runs, but has {len(row)}. Give ",
            Option("weights", "{name: weight}"),
        )
    if not any(values):
        raise InvalidInputError("`weights` must not all be 0. Give one run a weight above 0")
    return np.array(values)


def _sort_weights(weights: Mapping[str, float], names: Sequence[str]) -> list[Any]:
    """Return the weights in the order of the runs."""
    for name in weights:
        if name not in names:
            hint = suggest_name(name, names) or f" The runs are {join_names(list(names))}."
            raise InvalidInputError(
                f"`weights` must name runs that are fused, but there is no run {shorten(name)}.{hint}"
            )
    missing = next((name for name in names if name not in weights), None)
    if missing is not None:
        raise InvalidInputError(
            f"`weights` must have a weight for each run, but that of {shorten(missing)} is missing. "
            "Give it 0 to leave it out"
        )
    return [weights[name] for name in names]


def _list_weights(weights: Any) -> list[Any]:
    """Return weights in the order of the runs. A set has no order."""
    if isinstance(weights, str | bytes | Set) or not isinstance(weights, Iterable) or np.ndim(weights) > 1:  # type: ignore[arg-type]
        raise InvalidTypeError(
            f"`weights` must be {{name: weight}} or a list of numbers in the order of the runs, not "
            f"{type(weights).__name__}: {shorten(weights)}"
        )
    return list(weights)


def _check_weight(weight: Any, name: str) -> float:
    number = as_float(weight)
    if number is None or not np.isfinite(number) or number < 0:
        raise InvalidInputError(
            f"`weights` must be finite numbers of 0 or more, but that of {shorten(name)} is "
            f"{shorten(weight)}. Correct it"
        )
    return number


def check_training(method: FusionMethod, train: Any) -> None:
    """Raise if training data is missing, or given to a method that does not learn."""
    if method.record.needs_training and train is None:
        raise InvalidInputError(
            f"{method.name} must have judgments to learn from, but `train` is missing. Give ",
            Option("train", "(qrels, runs)"),
        )
    if not method.record.needs_training and train is not None:
        raise InvalidInputError(
            f"`train` can only be used with a method that learns, but {method.name} does not. Leave it out"
        )


def check_absent_for(method: FusionMethod, absent: str | None) -> None:
    """Raise if `absent` is given to a method that compares ranks."""
    if absent is not None and method.record.points == "ranks":
        raise InvalidInputError(
            f"`absent` can only be used with methods that add points, but {method.name} compares ranks: a run ranks "
            "its documents above those that it lacks. Leave it out"
        )


def refuse_arguments(weights: Weights, train: Any) -> None:
    """Raise for arguments that a user's function does not get."""
    for name, value in (("weights", weights), ("train", train)):
        if value is not None:
            raise InvalidInputError(f"`{name}` cannot be used with a function as method. Put it into the function")
