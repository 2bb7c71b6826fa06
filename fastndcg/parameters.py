"""Parameters and cutoffs of metrics, checked: a value in its own form, or an error that says what it must be."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

from fastndcg.catalog import Parameter, Record
from fastndcg.catalog.aggregates import AggregateRecord
from fastndcg.conventions.fields import CHOICES
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, nearest
from fastndcg.texts import Value, as_discounts, as_float, as_gains, as_table

# kinds of parameters that are numbers: the rule, and whether a number keeps to it
NUMBERS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "threshold": ("above 0 and finite", lambda number: 0 < number < math.inf),
    "positive": ("above 0 and finite", lambda number: 0 < number < math.inf),
    "number": ("finite", math.isfinite),
    "goal": ("from 0.25 to 10000", lambda number: 0.25 <= number <= 10_000),
    "probability": ("between 0 and 1", lambda number: 0 < number < 1),
    "share": ("from 0 to 1", lambda number: 0 <= number <= 1),
    "fraction": ("above 0 and at most 1", lambda number: 0 < number <= 1),
    "grade": ("a whole number from 1 to 1023", lambda number: 1 <= number <= 1023 and number.is_integer()),
    "count": ("a whole number of 1 or more", lambda number: 1 <= number < 2**53 and number.is_integer()),
}


def checked(record: Record | AggregateRecord, key: str, value: Any) -> Value:
    """The value of a metric's parameter."""
    known: dict[str, Parameter] = {parameter.name: parameter for parameter in record.parameters}
    if key not in known:
        hint = nearest(key, known) or (f" It has {', '.join(known)}." if known else " It has none.")
        raise UnknownMetricError(f"{record.name} has no parameter {key!r}.{hint}")
    kind = known[key].kind
    if kind == "gain":
        return _checked_gain(value, record.name)
    if kind == "discount":
        return _checked_discount(value, record.name)
    if kind == "shares":
        return _checked_shares(record, key, value)
    if "|" in kind:
        return _checked_word(record, key, kind.split("|"), value)
    number = as_float(value)
    if number is None:
        raise InvalidTypeError(f"`{key}` of {record.name} must be a number, not {value!r}")
    rule, holds = NUMBERS[kind]
    if not holds(number):
        raise InvalidInputError(f"`{key}` of {record.name} must be {rule}, not {value!r}")
    return int(number) if number.is_integer() else number


def _checked_shares(record: Record | AggregateRecord, key: str, value: Any) -> tuple[float, ...]:
    table = as_table(value)
    if table is None or not all(0 <= share <= 1 for share in table):
        raise InvalidInputError(f"`{key}` of {record.name} must be a table of numbers from 0 to 1, not {value!r}")
    return table


def _checked_word(record: Record | AggregateRecord, key: str, words: list[str], value: Any) -> str:
    if value not in words:
        raise InvalidInputError(f"`{key}` of {record.name} must be one of {', '.join(words)}, not {value!r}")
    return str(value)


def checked_cutoff(k: Any, owner: str = "a metric") -> int:
    """The cutoff `k` of `owner` as an int, or an error that says what it must be."""
    try:
        cutoff = operator.index(k)
    except TypeError:
        raise InvalidTypeError(f"`k` of {owner} must be a whole number, not {k!r}; leave it out to count all") from None
    if isinstance(k, bool) or cutoff < 1:
        raise InvalidInputError(f"`k` of {owner} must be 1 or more, not {k!r}; leave it out to count all ranks")
    return cutoff


def _checked_gain(gain: Any, owner: str) -> Value:
    """A gain as 'linear', 'exp2', 'binary' or a tuple of the gains of labels 0, 1, …, or an error."""
    if isinstance(gain, str) and gain in ("linear", "exp2", "binary"):
        return gain
    table = as_gains(gain)
    if table is None:
        raise InvalidInputError(
            f"`gain` of {owner} must be 'linear', 'exp2', 'binary' or a table of the finite gains of labels 0, 1, 2, "
            f"…, the first of them 0 (what is not relevant gains nothing) and none below the one before, not {gain!r}"
        )
    return table


def _checked_discount(discount: Any, owner: str) -> Value:
    """A discount as one of the convention's words or a tuple of the discounts of ranks 1, 2, …, or an error."""
    words = {str(word).replace(" ", ""): word for word in CHOICES["discount"]}
    if isinstance(discount, str) and discount.replace(" ", "") in words:
        return words[discount.replace(" ", "")]
    table = as_discounts(discount)
    if table is None:
        raise InvalidInputError(
            f"`discount` of {owner} must be {', '.join(map(repr, words.values()))} or a table of the finite discounts "
            f"of ranks 1, 2, …, none of them below 0 or above the one before, not {discount!r}"
        )
    return table
