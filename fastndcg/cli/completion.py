"""Completion of commands, options, metrics, fusion methods and conventions in shells, by argcomplete."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterable
from functools import partial
from typing import Any, get_args

from fastndcg.errors import MissingPackageError
from fastndcg.runtime.lazy_import import load
from fastndcg.runtime.optional_packages import optional_import

REQUESTED = "_ARGCOMPLETE"  # argcomplete's shell function sets this environment variable
SET_UP = """\
shell completion:
  install argcomplete, then add to ~/.bashrc or ~/.zshrc:
  eval "$(register-python-argcomplete fastndcg)"
"""
LISTS = {  # each with the module and the name of the registry
    "every metric": ("fastndcg.metrics.families", "CATALOG"),
    "conventions": ("fastndcg.named_conventions", "conventions"),
    "fusion methods": ("fastndcg.fusion.catalog", "FUSION_METHODS"),
    "normalisations": ("fastndcg.fusion.catalog", "NORMALIZATIONS"),
    "fusion conventions": ("fastndcg.fusion.conventions", "fusion_conventions"),
}


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit if a shell has requested them. Do nothing without argcomplete."""
    if REQUESTED in os.environ:
        with contextlib.suppress(MissingPackageError):
            optional_import("argcomplete", "shell completion", "completion").autocomplete(parser)


def set_completer(action: Any, kind: Any) -> None:
    """Set what a shell completes an argument with: see `find_completions`."""
    action.completer = partial(_complete, kind)


def _complete(kind: Any, prefix: str, **context: Any) -> list[str]:
    del context
    return find_completions(kind, prefix)


def find_completions(kind: Any, text: str) -> list[str]:
    """
    Return the names that continue a text.

    Parameters
    ----------
    kind : str or type
        "metrics", of which the names before the last comma stay, a key of `LISTS`, or a type of choices. Behind
        ``norm=`` of a fusion method stand normalisations.
    text : str
        What has been written so far.

    Examples
    --------
    >>> find_completions("metrics", "ndcg@10,bpr"), find_completions("conventions", "trec_eval_9")
    (['ndcg@10,bpref'], ['trec_eval_9', 'trec_eval_9_c'])
    >>> find_completions("fusion methods", "rr"), find_completions("fusion methods", "wsum(norm=z")
    (['rrf'], ['wsum(norm=z_score)'])
    """
    before, mark, begun, end = "", "", text, ""
    if kind == "metrics":
        before, mark, begun = text.rpartition(",")
    elif kind == "fusion methods" and "norm=" in text:
        kind, end = "normalisations", ")"
        before, mark, begun = text.rpartition("norm=")
    return [f"{before}{mark}{name}{end}" for name in _list_names(kind) if name.startswith(begun)]


def _list_names(kind: Any) -> Iterable[str]:
    if kind == "metrics":
        records = load("fastndcg.metrics.families").records_of("evaluate")
        return dict.fromkeys(name for record in records for name in (record.name, *record.aliases))
    if kind in LISTS:
        module, registry = LISTS[kind]
        names: Iterable[str] = getattr(load(module), registry)
        return names
    return get_args(kind)
