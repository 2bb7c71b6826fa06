"""Exceptions of the ranx drop-in. Each is also an instance of the built-in exception that ranx raises."""

from __future__ import annotations

from fastndcg.compat.trec_text import StructureError
from fastndcg.errors import InvalidInputError, InvalidTypeError


class RowsError(StructureError, AssertionError):
    """Input is no dict of dicts with texts as query ids, and no list of arrays."""


class LabelsError(InvalidTypeError, OverflowError):
    """Labels are no integers, or are too large."""


class MismatchError(InvalidInputError, AssertionError):
    """Judgments and run have different queries, or a metric is wrong."""


class StatTestError(InvalidInputError, NotImplementedError):
    """There is no test of this name."""
