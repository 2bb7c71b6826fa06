"""Remedies of errors in the words of the command line: errors give those of Python."""

from __future__ import annotations

import re

FIELD = re.compile(r"convention\.replace\((\w+)=([^)]*)\)")
COLUMN = re.compile(r"columns=\{'(\w+)': (\w+)\}")

# texts of Python, and what the command line has in their place
FUSION = (
    ("fusion_convention=", "--fusion-convention "),
    ("train=(qrels, runs)", "--train QRELS RUN RUN"),
    ("Take fuse(train=...) for it", "Take `fastndcg fuse --train` for it"),
    ("Give weights={name: weight}", "Give --weights NAME=W,NAME=W"),
)


def translate_remedies(message: str) -> str:
    """
    Replace arguments of Python functions in a message by the options that do the same.

    >>> translate_remedies("Give columns={'label': NAME}, or take convention.replace(ties='worst' or 'best').")
    "Give --columns label=NAME, or take --convention 'NAME(ties=worst)' or 'NAME(ties=best)'."
    >>> translate_remedies("Take fusion_convention='default(queries=union)'")
    "Take --fusion-convention 'default(queries=union)'"
    """
    for words, option in FUSION:
        message = message.replace(words, option)
    return FIELD.sub(_name_convention, COLUMN.sub(r"--columns \1=\2", message))


def _name_convention(match: re.Match[str]) -> str:
    field, choices = match.groups()
    values = choices.replace("'", "").split(" or ")
    return "--convention " + " or ".join(f"'NAME({field}={value})'" for value in values)
