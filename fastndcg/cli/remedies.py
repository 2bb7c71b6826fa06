"""Remedies of errors in the words of the command line: errors give those of Python."""

from __future__ import annotations

import re

FIELD = re.compile(r"convention\.replace\((\w+)=([^)]*)\)")
COLUMN = re.compile(r"columns=\{'(\w+)': (\w+)\}")


def translate_remedies(message: str) -> str:
    """
    Replace arguments of Python functions in a message by the options that do the same.

    >>> translate_remedies("Give columns={'label': NAME}, or take convention.replace(ties='worst' or 'best').")
    "Give --columns label=NAME, or take --convention 'NAME(ties=worst)' or 'NAME(ties=best)'."
    """
    return FIELD.sub(_name_convention, COLUMN.sub(r"--columns \1=\2", message))


def _name_convention(match: re.Match[str]) -> str:
    field, choices = match.groups()
    values = choices.replace("'", "").split(" or ")
    return "--convention " + " or ".join(f"'NAME({field}={value})'" for value in values)
