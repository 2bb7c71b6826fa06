"""The grammar of texts for metrics and conventions: ``Name(key=value, …)@k``."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Set
from itertools import pairwise
from numbers import Real
from typing import Any

from fastndcg.errors import InvalidInputError, shorten

Value = str | int | float | tuple[float, ...]

# With possessive quantifiers matching takes linear time for every text. None is behind a group: Python 3.11.2 would
# then match texts that do not end there.
_CALL = re.compile(r"\s*+(?P<name>[^()@\s]++)\s*+(?:\((?P<arguments>.*)\))?\s*+(?:@\s*+(?P<k>\S++)\s*+)?")

_BELONGS = re.compile(r"(?:\d++=)?[-+]?+(?:\d++\.?+\d*+|\.\d++)")  # a number, or the gain of a label


def parse_call(text: str) -> tuple[str, dict[str, Value], str | None]:
    """
    Split ``Name(key=value, …)@k`` into name, arguments and cutoff.

    >>> parse_call("nDCG(gain=exp2)@10")
    ('nDCG', {'gain': 'exp2'}, '10')
    >>> parse_call("P(rel=2)")
    ('P', {'rel': 2}, None)
    """
    match = _CALL.fullmatch(text)
    if match is None:
        raise InvalidInputError(f"{shorten(text)} does not read as Name, Name@k or Name(parameter=value)@k")
    return match["name"], parse_arguments(split_list(match["arguments"] or ""), text), match["k"]


def parse_arguments(arguments: Iterable[str], text: str) -> dict[str, Value]:
    """Return the ``key=value`` parts of a text as a dict."""
    values: dict[str, Value] = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals:
            name = text.partition("(")[0].strip()
            remedy = f". Write the cutoff behind @: '{name}@{argument.strip()}'" if argument.strip().isdigit() else ""
            raise InvalidInputError(f"{shorten(text)}: {shorten(argument)} does not read as parameter=value{remedy}")
        if key.strip() in values:
            raise InvalidInputError(f"{shorten(text)}: parameter {shorten(key.strip())} is given twice")
        values[key.strip()] = parse_value(value.strip())
    return values


def format_call(name: str, arguments: dict[str, Value], k: int | None = None) -> str:
    """
    Return ``Name(key=value, …)@k``, which `parse_call` splits again.

    >>> format_call("nDCG", {"gain": (0.0, 1.0, 3.0)}, 10)
    'nDCG(gain=[0,1,3])@10'
    """
    inside = ",".join(f"{key}={format_value(value)}" for key, value in arguments.items())
    return name + (f"({inside})" if inside else "") + ("" if k is None else f"@{k}")


def split_list(text: str) -> list[str]:
    """
    Split a text at its commas, except inside brackets.

    >>> split_list("ndcg@10, P(rel=2)@5, nDCG(gain=[0,1])")
    ['ndcg@10', 'P(rel=2)@5', 'nDCG(gain=[0,1])']
    """
    parts = []
    depth = 0
    start = 0
    for place, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth == 0:
            parts.append(text[start:place].strip())
            start = place + 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def split_metrics(text: str) -> list[str]:
    """
    Split a text at the commas between metrics. A number behind a comma belongs to the metric before it.

    >>> split_metrics("ndcg@1,5,map, P.5,10"), split_metrics("ndcg.1=3,2=9,rr")
    (['ndcg@1,5', 'map', 'P.5,10'], ['ndcg.1=3,2=9', 'rr'])
    """
    parts: list[str] = []
    for part in split_list(text):
        if parts and _BELONGS.fullmatch(part):
            parts[-1] += f",{part}"
        else:
            parts.append(part)
    return parts


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
    Return a real number as a float, infinite beyond float64, or None for other values, including bool and str.

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
    """Return a sequence of finite numbers as a tuple of floats, or None for other values."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping | Set):
        return None
    try:
        table = tuple(as_float(number) for number in values)
    except TypeError:  # a 0-d array is an Iterable that raises
        return None
    finite = tuple(number for number in table if number is not None and math.isfinite(number))
    return finite if finite and len(finite) == len(table) else None


def as_gains(values: Any) -> tuple[float, ...] | None:
    """Return gains of labels 0, 1, … as a tuple, or None unless they begin with 0 and none is negative."""
    table = as_table(values)
    return table if table and table[0] == 0 and min(table) >= 0 else None


def falls(gain: Value) -> bool:
    """
    Return True if a higher label may gain less than a lower one, so that the best order is not by label.

    >>> falls((0.0, 5.0, 2.0)), falls((0.0, 2.0, 2.0)), falls("exp2")
    (True, False, False)
    """
    return isinstance(gain, tuple) and any(low > high for low, high in pairwise(gain))


def as_discounts(values: Any) -> tuple[float, ...] | None:
    """Return discounts of ranks 1, 2, … as a tuple, or None unless they never rise and never fall below 0."""
    table = as_table(values)
    return table if table and table[-1] >= 0 and all(high >= low for high, low in pairwise(table)) else None


def as_count(value: Any) -> int | None:
    """
    Return a whole number of 1 or more as an int, or None for other values.

    >>> as_count(32), as_count(32.0), as_count(0), as_count("32")
    (32, 32, None, None)
    """
    number = as_float(value)
    return int(number) if number is not None and math.isfinite(number) and number >= 1 and number % 1 == 0 else None


def format_value(value: Value) -> str:
    """
    Return the text of a value, which `parse_value` reads again.

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
            raise InvalidInputError(f"{shorten(text)}: {shorten(part)} is not a number")
        numbers.append(number)
    return tuple(numbers)
