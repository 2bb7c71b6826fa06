"""Completion of commands, options, metrics, fusion methods and conventions in shells, by argcomplete."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Callable, Iterable
from typing import Any

from fastndcg.errors import MissingPackageError
from fastndcg.runtime.optional_packages import optional_import

REQUESTED = "_ARGCOMPLETE"  # argcomplete's shell function sets this environment variable
SET_UP = """\
shell completion:
  install argcomplete, then add to ~/.bashrc or ~/.zshrc:
  eval "$(register-python-argcomplete fastndcg)"
"""

Completer = Callable[..., Iterable[str]]


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit if a shell has requested them. Do nothing without argcomplete."""
    if REQUESTED in os.environ:
        with contextlib.suppress(MissingPackageError):
            optional_import("argcomplete", "shell completion", "completion").autocomplete(parser)


def set_completer(action: argparse.Action, completer: Completer) -> None:
    """Set the function that lists the values of an argument for a shell."""
    action.completer = completer  # type: ignore[attr-defined]


def list_metrics(prefix: str, **context: Any) -> list[str]:
    """
    Return the names of metrics that continue a text, of which the names before the last comma stay.

    >>> list_metrics("ndcg@10,bpr")
    ['ndcg@10,bpref']
    """
    del context
    from fastndcg.metrics.families import records_of

    before, comma, begun = prefix.rpartition(",")
    names = dict.fromkeys(name for record in records_of("evaluate") for name in (record.name, *record.aliases))
    return [f"{before}{comma}{name}" for name in names if name.startswith(begun)]


def list_every_metric(prefix: str, **context: Any) -> list[str]:
    """Return the names of metrics of all functions that continue a text."""
    del context
    from fastndcg.metrics.families import CATALOG

    return [name for name in CATALOG if name.startswith(prefix)]


def list_conventions(prefix: str, **context: Any) -> list[str]:
    """
    Return the names of conventions that continue a text.

    >>> list_conventions("trec_eval_9")
    ['trec_eval_9', 'trec_eval_9_c']
    """
    del context
    from fastndcg.named_conventions import conventions

    return [name for name in conventions if name.startswith(prefix)]


def list_fusion_methods(prefix: str, **context: Any) -> list[str]:
    """
    Return the names of fusion methods that continue a text, and behind ``norm=`` those of normalisations.

    >>> list_fusion_methods("rr"), list_fusion_methods("wsum(norm=z")
    (['rrf'], ['wsum(norm=z_score)'])
    """
    del context
    from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS

    method, mark, begun = prefix.rpartition("norm=")
    if mark:
        return [f"{method}{mark}{name})" for name in NORMALIZATIONS if name.startswith(begun)]
    return [name for name in FUSION_METHODS if name.startswith(prefix)]


def list_fusion_conventions(prefix: str, **context: Any) -> list[str]:
    """
    Return the names of fusion conventions that continue a text.

    >>> list_fusion_conventions("we")
    ['weaviate']
    """
    del context
    from fastndcg.fusion.conventions import fusion_conventions

    return [name for name in fusion_conventions if name.startswith(prefix)]


def list_choices(choices: Iterable[str]) -> Completer:
    """Return a completer of fixed choices."""
    return lambda prefix, **context: [choice for choice in choices if choice.startswith(prefix)]
