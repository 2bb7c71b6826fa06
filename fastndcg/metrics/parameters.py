"""Checks of metrics' parameters and cutoffs."""

from __future__ import annotations

import operator
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, shorten, suggest_name
from fastndcg.metrics.families import Parameter, Record
from fastndcg.metrics.families.aggregates import AggregateRecord
from fastndcg.named_conventions.fields import CHOICES
from fastndcg.parsing import Value, as_discounts, as_float, as_gains, as_table


def check_parameter(record: Record | AggregateRecord, key: str, value: Any) -> Value:
    """Return the value of a metric's parameter in its canonical form, or raise an error."""
    parameters: dict[str, Parameter] = {parameter.name: parameter for parameter in record.parameters}
    if key not in parameters:
        hint = suggest_name(key, parameters) or (f" It has {', '.join(parameters)}." if parameters else " It has none.")
        raise UnknownMetricError(f"{record.name} has no parameter {shorten(key)}.{hint}")
    parameter = parameters[key]
    if parameter.type == "gain":
        return _check_gain(value, record.name)
    if parameter.type == "discount":
        return _check_discount(value, record.name)
    if parameter.type == "table":
        return _check_table(record, parameter, value)
    if parameter.type == "choice":
        return _check_choice(record, parameter, value)
    number = as_float(value)
    if number is None:
        raise InvalidTypeError(f"`{key}` of {record.name} must be a number, not {shorten(value)}")
    if not parameter.allows(number):
        raise InvalidInputError(f"`{key}` of {record.name} must be {parameter.rule}, not {shorten(value)}")
    return int(number) if number.is_integer() else number


def check_cutoff(k: Any, owner: str = "a metric") -> int:
    """Return the cutoff `k` of `owner` as an int, or raise an error."""
    try:
        if isinstance(k, bool) or str(getattr(k, "dtype", "")) == "bool":  # Python and NumPy 1 take bools for numbers
            raise TypeError
        cutoff = operator.index(k)
    except TypeError:
        raise InvalidTypeError(
            f"`k` of {owner} must be a whole number, not {shorten(k)}. Leave it out to count all ranks"
        ) from None
    if cutoff < 1:
        raise InvalidInputError(f"`k` of {owner} must be 1 or more, not {shorten(k)}. Leave it out to count all ranks")
    return cutoff


def _check_table(record: Record | AggregateRecord, parameter: Parameter, value: Any) -> tuple[float, ...]:
    table = as_table(value)
    if table is None or not all(map(parameter.allows, table)):
        raise InvalidInputError(
            f"`{parameter.name}` of {record.name} must be a table of numbers {parameter.rule}, not {shorten(value)}"
        )
    return table


def _check_choice(record: Record | AggregateRecord, parameter: Parameter, value: Any) -> str:
    if value not in parameter.choices:
        raise InvalidInputError(
            f"`{parameter.name}` of {record.name} must be one of {', '.join(parameter.choices)}, not {shorten(value)}"
        )
    return str(value)


def _check_gain(gain: Any, owner: str) -> Value:
    """Return a gain as a name or as the tuple of the gains of labels 0, 1, …, or raise an error."""
    if isinstance(gain, str) and gain in ("linear", "exp2", "binary"):
        return gain
    table = as_gains(gain)
    if table is None:
        raise InvalidInputError(
            f"`gain` of {owner} must be 'linear', 'exp2', 'binary' or a table, not {shorten(gain)}. A table has the "
            "finite gains of labels 0, 1, 2, …, the first of them 0 and none below 0"
        )
    return table


def _check_discount(discount: Any, owner: str) -> Value:
    """Return a discount as a name or as the tuple of the discounts of ranks 1, 2, …, or raise an error."""
    names = {str(name).replace(" ", ""): name for name in CHOICES["discount"]}
    if isinstance(discount, str) and discount.replace(" ", "") in names:
        return names[discount.replace(" ", "")]
    table = as_discounts(discount)
    if table is None:
        raise InvalidInputError(
            f"`discount` of {owner} must be {', '.join(map(repr, names.values()))} or a table, not "
            f"{shorten(discount)}. A table has the finite discounts of ranks 1, 2, …, none of them below 0 or above "
            "the one before"
        )
    return table
