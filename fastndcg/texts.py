"""The one grammar of metrics and conventions as text: ``Name(key=value, …)@k``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set
from itertools import pairwise
from numbers import Real
from typing import Any

from fastndcg.errors import InvalidInputError

Value = str | int | float | tuple[float, ...]

# possessive, so that no text takes more than linear time
_CALL = re.compile(r"\s*+(?P<name>[^()@\s]++)\s*+(?:\((?P<arguments>.*)\))?+\s*+(?:@\s*+(?P<k>\S++)\s*+)?+")


def parse_call(text: str) -> tuple[str, dict[str, Value], str | None]:
    """
    Take ``Name(key=value, …)@k`` apart.

    >>> parse_call("nDCG(gain=exp2)@10")
    ('nDCG', {'gain': 'exp2'}, '10')
    >>> parse_call("P(rel=2)")
    ('P', {'rel': 2}, None)
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"{text!r} does not read as Name, Name@k or Name(parameter=value)@k")
    return match["name"], parse_arguments(split_list(match["arguments"] or ""), text), match["k"]


def parse_arguments(arguments: Iterable[str], text: str) -> dict[str, Value]:
    """Each ``key=value`` of a `text`, as a dict."""
    found: dict[str, Value] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            raise InvalidInputError(f"{text!r}: {argument!r} does not read as parameter=value")
        if key.strip() in found:
            raise InvalidInputError(f"{text!r}: parameter {key.strip()!r} is given twice")
        found[key.strip()] = parse_value(value.strip())
    return found


def format_call(name: str, arguments: dict[str, Value], k: int | None = None) -> str:
    """
    Put ``Name(key=value, …)@k`` together, as `parse_call` reads it back.

    >>> format_call("nDCG", {"gain": (0.0, 1.0, 3.0)}, 10)
    'nDCG(gain=[0,1,3])@10'
    """
    inside = ",".join(f"{key}={format_value(value)}" for key, value in arguments.items())
    return name + (f"({inside})" if inside else "") + ("" if k is None else f"@{k}")


def split_list(text: str) -> list[str]:
    """
    Cut a text at its commas, but not at those inside brackets.

    >>> split_list("ndcg@10, P(rel=2)@5, nDCG(gain=[0,1])")
    ['ndcg@10', 'P(rel=2)@5', 'nDCG(gain=[0,1])']
    """
    parts, depth, start = [], 0, 0
    for place, character in enumerate(text):
        depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def parse_value(text: str) -> Value:
    """
    Read a number, a table of numbers in square brackets, or a word.

    >>> parse_value("2"), parse_value("0.5"), parse_value("[0,1]"), parse_value("exp2")
    (2, 0.5, (0.0, 1.0), 'exp2')
    """
    if text.startswith("[") and text.endswith("]"):
        return _numbers(text)
    if "_" in text:  # 1_000 is a number in Python's source only
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def as_float(value: Any) -> float | None:
    """
    A real number as a float, infinite beyond float64; None for whatever is not one, bools and texts too.

    >>> as_float(2), as_float("2"), as_float(True), as_float(10**400)
    (2.0, None, None, inf)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    try:
        return float(value)
    except OverflowError:
        return math.inf


def as_table(values: Any) -> tuple[float, ...] | None:
    """A sequence of finite numbers as a tuple of floats; None for whatever is not one."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        return None
    try:
        table = tuple(as_float(number) for number in values)
    except TypeError:  # an array without dimensions says that it is iterable
        return None
    finite = tuple(number for number in table if number is not None and math.isfinite(number))
    return finite if finite and len(finite) == len(table) else None


def as_gains(values: Any) -> tuple[float, ...] | None:
    """The gains of labels 0, 1, …: from 0, never falling, so that the best order is by label; None for others."""
    table = as_table(values)
    return table if table and table[0] == 0 and all(low <= high for low, high in pairwise(table)) else None


def as_discounts(values: Any) -> tuple[float, ...] | None:
    """The discounts of ranks 1, 2, …: never rising, never below 0, so that early ranks count most; None for others."""
    table = as_table(values)
    return table if table and table[-1] >= 0 and all(high >= low for high, low in pairwise(table)) else None


def as_count(value: Any) -> int | None:
    """
    A whole number of 1 or more; None for whatever is not one.

    >>> as_count(32), as_count(32.0), as_count(0), as_count("32")
    (32, 32, None, None)
    """
    number = as_float(value)
    return int(number) if number is not None and math.isfinite(number) and number >= 1 and number % 1 == 0 else None


def format_value(value: Value) -> str:
    """
    Write a value as `parse_value` reads it back.

    >>> format_value((0.0, 1.5)), format_value(2.0), format_value("exp2")
    ('[0,1.5]', '2', 'exp2')
    """
    if isinstance(value, tuple):
        return "[" + ",".join(format_value(number) for number in value) + "]"
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _numbers(text: str) -> tuple[float, ...]:
    numbers = []
    for part in split_list(text[1:-1]):
        number = None if part.startswith("[") else as_float(parse_value(part))
        if number is None:
            raise InvalidInputError(f"{text!r}: {part!r} is not a number")
        numbers.append(number)
    return tuple(numbers)
