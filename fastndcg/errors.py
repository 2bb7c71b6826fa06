"""What the package raises, each a subclass of the built-in that a caller would catch."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType


class FastndcgError(Exception):
    """Base of everything that the package raises on purpose."""


class InvalidInputError(FastndcgError, ValueError):
    """An argument breaks a rule: the message names argument, rule, first offender and remedy."""


class InvalidTypeError(InvalidInputError, TypeError):
    """An argument is of a kind that cannot be used at all."""


class UnknownMetricError(InvalidInputError):
    """No metric has this name or parameter."""


class UnknownConventionError(InvalidInputError, LookupError):
    """No convention has this name or field."""


class UndefinedMetricError(FastndcgError, ValueError):
    """A metric has no value for a query, and the convention says to raise."""


class RegisteredMetricError(FastndcgError, RuntimeError):
    """The function of a metric that a user registered failed: the message names the metric and the query."""


class MissingPackageError(FastndcgError, ImportError):
    """An optional package is needed and not installed."""


def optional_import(module: str, purpose: str, extra: str) -> ModuleType:
    """
    Import an optional package where it is used, or say how to get it.

    >>> optional_import("no_such_module", "drawing", "plots")
    Traceback (most recent call last):
    ...
    fastndcg.errors.MissingPackageError: drawing needs no_such_module: pip install 'fastndcg[plots]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingPackageError(f"{purpose} needs {package}: pip install 'fastndcg[{extra}]'") from error


def nearest(word: str, known: Iterable[str]) -> str:
    """
    ' Did you mean …?' with the nearest known word, or nothing where none is near.

    >>> nearest("ndgc", ["ndcg", "map"])
    " Did you mean 'ndcg'?"
    >>> nearest("xyz", ["ndcg", "map"])
    ''
    """
    spelled = {text.lower(): text for text in known}
    close = difflib.get_close_matches(word.lower(), spelled, n=1, cutoff=0.6)
    return f" Did you mean {spelled[close[0]]!r}?" if close else ""
