"""Read the runs to fuse, in every form that has ids, with their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import FastndcgError, InvalidInputError, InvalidTypeError, shorten
from fastndcg.forms.dispatch import find_form, rank_items, read_form, read_run_form, refuse_item_lists
from fastndcg.inputs.duplicates import settle_closed
from fastndcg.inputs.formats import is_path_list, name_runs
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels, Run, Table
from fastndcg.recommenders.interactions import Recommendations
from fastndcg.recommenders.models import Model

FEWEST = 2


class NamedRuns(NamedTuple):
    """Runs with their names, in the order of the user."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]


def read_runs(runs: Any, options: Options, argument: str = "runs") -> NamedRuns:
    """Read two or more runs: {name: run}, pairs of a name and a run, paths, or runs without names."""
    pairs = pair_names(runs, argument)
    if isinstance(runs, Mapping):
        _refuse_one_run(runs, argument)
    if len(pairs) < FEWEST:
        raise InvalidInputError(f"`{argument}` must have two or more runs, but has {len(pairs)}. Add a run")
    names = [name for name, _ in pairs]
    for name in names:
        if not isinstance(name, str):
            raise InvalidTypeError(f"`{argument}` must have texts as names, but one is {shorten(name)}. Use str()")
        if len(set(names)) < len(names) and names.count(name) > 1:
            raise InvalidInputError(
                f"`{argument}` must have different names, but {shorten(name)} occurs {names.count(name)} times. Rename "
                "one of them"
            )
    tables = tuple([_read_run(run, f"{argument}[{name!r:.200}]", options) for name, run in pairs])
    return NamedRuns(tuple(names), tables)


def read_judgments(judgments: Any, options: Options, argument: str) -> Qrels:
    """Read judgments with ids."""
    qrels = read_form(judgments, "truth", options)
    if not isinstance(qrels, Qrels):
        raise InvalidTypeError(
            f"`{argument}` must be judgments with ids, such as {{query: {{document: label}}}}, not "
            f"{type(judgments).__name__}. Pass a path, a dict, a frame or Qrels"
        )
    return qrels


def pair_names(runs: Any, argument: str) -> list[tuple[Any, Any]]:
    """Return each run with its name."""
    if isinstance(runs, Mapping):
        return list(runs.items())
    if isinstance(runs, str | bytes | Table) or not isinstance(runs, Iterable) or hasattr(runs, "columns"):
        raise InvalidTypeError(
            f"`{argument}` must be {{name: run}}, or a list of runs or paths, not {type(runs).__name__}. For one run "
            "there is nothing to fuse"
        )
    if is_path_list(runs):
        return list(zip(name_runs(runs), runs, strict=True)) if runs else []
    values = list(runs)
    if are_pairs(values):
        return [(name, run) for name, run in values]
    return [(f"run {number}", run) for number, run in enumerate(values, 1)]


def _refuse_one_run(runs: Mapping[Any, Any], argument: str) -> None:
    """Raise for a dict of dicts of scores, {query: {document: score}}, in place of {name: run}."""
    query, row = next(iter(runs.items()), (None, None))
    score = next(iter(row.values()), None) if isinstance(row, Mapping) else None
    if isinstance(score, int | float | np.number):
        raise InvalidTypeError(
            f"`{argument}` must be {{name: run}} of two or more runs, but looks like one run, because {shorten(query)} "
            f"maps to {shorten(row)}. Give each run a name, such as {{'bm25': run, 'dense': other_run}}"
        )


def are_pairs(runs: Sequence[Any]) -> bool:
    """Return True if all runs are pairs of a name and a run."""
    return all(isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in runs)


def _read_run(run: Any, name: str, options: Options) -> Run:
    """Read one run, in which documents that a query has twice count as it says."""
    if not isinstance(run, str | dict | Run):  # as most runs are
        run = _read_items(run, name, options)
    try:
        return settle_closed(read_run_form(run, name, options))
    except FastndcgError as error:
        raise error.reword(before=f"`{name}`: ") from None


def _read_items(run: Any, name: str, options: Options) -> Any:
    """Return lists of recommended items as a run, with the users' numbers as ids of queries, and others as they are."""
    if isinstance(run, Qrels):
        raise InvalidTypeError(f"`{name}` must be a run, not judgments. Pass a Run, or the path of a file with scores")
    if isinstance(run, Model):
        raise InvalidTypeError(
            f"`{name}` must be a run, not a model ({type(run).__name__}). Pass its best items: model.top(k)"
        )
    if hasattr(run, "to_run"):  # recommendations that know the ids of their users and items
        return run.to_run()
    if _is_item_array(run) or (_is_item_column(run) and find_form(run, "run") is None):
        run = Recommendations(run)
    if isinstance(run, Recommendations):
        return rank_items(run, name, options.threads)
    if isinstance(run, list | tuple) and find_form(run, "run") is None:
        refuse_item_lists(run, name)
    return run


def _is_item_array(run: Any) -> bool:
    return isinstance(run, np.ndarray) and run.ndim == 2 and run.dtype.kind in "iu"


def _is_item_column(run: Any) -> bool:
    """Return True for a ragged column of items."""
    return hasattr(run, "offsets") or type(run).__module__.split(".")[0] in ("awkward", "pyarrow", "polars")
