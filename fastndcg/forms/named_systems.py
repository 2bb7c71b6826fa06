"""Systems with their names, and the runs of systems: what `compare`, `fuse` and their relatives take."""

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
from fastndcg.rankings.rankings import Rankings
from fastndcg.recommenders.interactions import Recommendations
from fastndcg.recommenders.models import Model

FEWEST = 2
Unnamed = str | bytes | Table | Rankings


class NamedRuns(NamedTuple):
    """Runs with their names, in the user's order."""

    names: tuple[str, ...]
    runs: tuple[Run, ...]


def read_runs(
    runs: Any, options: Options, argument: str = "runs", least: int = FEWEST, *, is_closed: bool = True
) -> NamedRuns:
    """
    Read two or more runs: {name: run}, pairs of a name and a run, paths, or runs without names.

    With `is_closed`, documents that a query has twice leave no empty ranks.
    """
    pairs = pair_names(runs, argument, "run")
    if isinstance(runs, Mapping):
        refuse_one_run(runs, argument)
    named = check_names(pairs, argument, "run", "Add a run", least)
    read = [_read_run(run, f"{argument}[{name!r:.200}]", options, is_closed) for name, run in named.items()]
    return NamedRuns(tuple(named), tuple(read))


def read_judgments(judgments: Any, options: Options, argument: str) -> Qrels:
    """Read judgments with ids."""
    qrels = None if isinstance(judgments, Run) else read_form(judgments, "truth", options)
    if not isinstance(qrels, Qrels) or qrels.own_run is not None:
        raise InvalidTypeError(
            f"`{argument}` must be judgments with ids, such as {{query: {{document: label}}}}, not "
            f"{type(judgments).__name__}. Pass a path, a dict, a frame or Qrels"
        )
    return qrels


def pair_names(systems: Any, argument: str, what: str) -> list[tuple[Any, Any]]:
    """Return each system with its name: that of its file, if they are paths. Runs may have no names."""
    if isinstance(systems, Mapping):
        return list(systems.items())
    is_several = isinstance(systems, Iterable) and not (isinstance(systems, Unnamed) or hasattr(systems, "columns"))
    if is_several and is_path_list(systems):
        return list(zip(name_runs(systems), systems, strict=True)) if systems else []
    values = list(systems) if is_several else []
    if is_several and are_pairs(values):
        return [(name, system) for name, system in values]
    if is_several and what == "run":
        return [(f"run {number}", run) for number, run in enumerate(values, 1)]
    raise InvalidTypeError(
        f"`{argument}` must be {{name: {what}}}, or pairs of a name and {what}, not {shorten(systems)}. Give "
        f"each {'run' if what == 'run' else 'system'} a name, such as {{'bm25': {what}, 'dense': {what}}}"
    )


def check_names(
    pairs: Iterable[tuple[Any, Any]], argument: str, what: str, remedy: str, least: int = FEWEST
) -> dict[str, Any]:
    """Return two systems or more, or one, by their names, which are different texts."""
    named: dict[str, Any] = {}
    for name, system in pairs:
        if not isinstance(name, str) or not name:
            raise InvalidTypeError(f"`{argument}` must have texts as names, got {shorten(name)}. Pass a non-empty str")
        if name in named:
            raise InvalidInputError(
                f"`{argument}` must have different names, but {shorten(name)} occurs twice. Rename one"
            )
        named[name] = system
    if len(named) < least:
        number = f"two {what}s" if least > 1 else f"one {what}"
        raise InvalidInputError(f"`{argument}` must have {number} or more, got {len(named)}. {remedy}")
    return named


def refuse_one_run(runs: Mapping[Any, Any], argument: str) -> None:
    """Raise for {query: {document: score}} or {query: [document]} in place of {name: run}."""
    query, row = next(iter(runs.items()), (None, None))
    score = next(iter(row.values()), None) if isinstance(row, Mapping) else None
    document = next(iter(row), None) if isinstance(row, list | tuple) else None
    if isinstance(score, int | float | np.number) or isinstance(document, str):
        raise InvalidTypeError(
            f"`{argument}` must be {{name: run}}, but looks like one run, because {shorten(query)} "
            f"maps to {shorten(row)}. Give each run a name, such as {{'bm25': run, 'dense': other_run}}"
        )


def are_pairs(systems: Sequence[Any]) -> bool:
    """Return True if all systems are pairs of a name and a system."""
    return all(isinstance(pair, tuple | list) and len(pair) == 2 and isinstance(pair[0], str) for pair in systems)


def _read_run(run: Any, name: str, options: Options, is_closed: bool) -> Run:
    """Read one run, in which documents that a query has twice count as it says."""
    if not isinstance(run, str | dict | Run):  # as most runs are
        run = _read_items(run, name, options)
    try:
        read = read_run_form(run, name, options)
        return settle_closed(read) if is_closed else read
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
