"""Validation of whole numbers for the drop-ins and the integrations."""

from __future__ import annotations

import operator
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten


def as_whole_number(value: Any) -> int | None:
    """
    Return an integer of Python, NumPy or PyTorch as an int, and a bool as 0 or 1. Return None for other values.

    >>> as_whole_number(3), as_whole_number(True), as_whole_number(3.0), as_whole_number("3")
    (3, 1, None, None)
    """
    try:
        return operator.index(value)
    except TypeError:
        return None


def check_whole_number(value: Any, name: str, minimum: int = 1) -> int:
    """
    Return the value of the argument `name` as an int.

    Parameters
    ----------
    value : object
        An integer of Python, NumPy or PyTorch, but no bool.
    name : str
        The argument's name in the message.
    minimum : int
        The smallest number that is allowed.

    Returns
    -------
    int

    Raises
    ------
    InvalidTypeError
        If the value is no integer.
    InvalidInputError
        If the integer is smaller than `minimum`.

    Examples
    --------
    >>> check_whole_number(3, "rounds")
    3
    """
    number = None if isinstance(value, bool) else as_whole_number(value)
    if number is None:
        raise InvalidTypeError(
            f"`{name}` must be a whole number of {minimum} or more, not {shorten(value)}. Pass an int."
        )
    if number < minimum:
        raise InvalidInputError(
            f"`{name}` must be a whole number of {minimum} or more, not {number}. Pass a larger number."
        )
    return number
