"""The files that commands read: judgments, runs, vectors, and pairs of a query and a text."""

from __future__ import annotations

import argparse
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from fastndcg.cli import output
from fastndcg.cli.commands import COMMANDS, Command
from fastndcg.cli.options import read_names
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import is_metric
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import check_packages
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from fastndcg.inputs.ids import IdColumn
    from fastndcg.inputs.side_files import SideRow
    from fastndcg.inputs.table import Qrels, Run, Table
    from fastndcg.scoring.embeddings import Embeddings

TARGETS = {"output": "-o", "html": "--html", "plot": "--plot", "fused": "--run", "save_baseline": "--save-baseline"}
VECTOR_SUFFIXES = (".npy", ".safetensors")
OPTIONS = ("query_ids", "document_ids", "exclude", "candidates")  # that only embeddings take
SELECTION = {"exclude": None, "candidates": None, "missing_truth": "raise"}
WHOLE = re.compile(r"-?[0-9]{1,19}")


def prepare(arguments: argparse.Namespace) -> None:
    """Raise for options and files that a command cannot take, before any work is done. Read names and convention."""
    command = COMMANDS[arguments.command]
    inputs = _list_inputs(arguments, command)
    if hasattr(arguments, "similarity"):
        _check_embeddings(arguments, inputs)
    else:
        _refuse_embeddings(arguments.command, inputs)
    check_threads(getattr(arguments, "threads", None))
    if getattr(arguments, "convention", None) is not None:
        arguments.convention = parse_convention(arguments.convention)
    if hasattr(arguments, "names"):
        arguments.names = read_names(arguments)
    _check_paths(arguments, inputs)
    if command.package is not None:
        check_packages(*command.package)


def _list_inputs(arguments: argparse.Namespace, command: Command) -> list[str]:
    """Return the files that a command reads."""
    given = [getattr(arguments, name) or () for name in command.inputs.split()]
    return [path for one in given for path in ([one] if isinstance(one, str) else one)]


def _check_paths(arguments: argparse.Namespace, inputs: Sequence[str]) -> None:
    """Raise for files that cannot be read or written as the command needs them."""
    if inputs.count("-") > 1:
        raise InvalidInputError(
            "- must name at most one file, because standard input can be read once. Give the path of the other file."
        )
    targets = {option: getattr(arguments, name, None) for name, option in TARGETS.items()}
    for option, target in targets.items():
        if target is not None:
            output.check(target, [path for run in inputs for path in list_files([run])], option)
    named = {option: target for option, target in targets.items() if target not in (None, *output.STANDARD_OUTPUT)}
    if len({os.path.realpath(str(target)) for target in named.values()}) < len(named):
        raise InvalidInputError(f"{' and '.join(named)} must name different files. Change one of them.")
    if any(path.endswith(".parquet") for path in (*inputs, *map(str, named.values()))):
        check_packages("a Parquet file", "arrow")
    if getattr(arguments, "html", None) or getattr(arguments, "format", None) == "html":
        check_packages("a report", "report")


def has_embeddings(runs: Sequence[str]) -> bool:
    """Return True if a run is a file of vectors."""
    return any(run.endswith(VECTOR_SUFFIXES) for run in runs)


def _refuse_embeddings(command: str, runs: Sequence[str]) -> None:
    """Raise for files of vectors, given to a command that reads ranked documents."""
    for run in runs:
        if has_embeddings([run]):
            raise InvalidInputError(
                f"{command} takes runs of ranked documents, but {shorten(run)} holds vectors. Write their best "
                "documents in Python: fn.Embeddings(users, items).top(k).to_run().write(FILE)."
            )


def _check_embeddings(arguments: argparse.Namespace, runs: Sequence[str]) -> None:
    """Raise if options for embeddings are given for runs of another kind, or files of vectors cannot be read."""
    names = [name for name in OPTIONS if getattr(arguments, name) is not None]
    names += [name for name, usual in (("similarity", "dot"), ("missing_truth", "raise"))
              if getattr(arguments, name, usual) != usual]  # fmt: skip
    if names and not has_embeddings(runs):
        raise InvalidInputError(
            f"--{names[0].replace('_', '-')} is for embeddings, but no RUN is USERS.npy,ITEMS.npy or "
            "MODEL.safetensors. Leave it out."
        )


def list_files(runs: Sequence[str]) -> list[str]:
    """Return the paths of runs, two of them where a run is two files."""
    return [path for run in runs for path in re.split(r"(?<=\.npy),", run)]


def read_judgments(path: str, arguments: argparse.Namespace) -> Qrels:
    """Read the judgments."""
    from fastndcg.inputs.formats import read_file
    from fastndcg.inputs.messages import Options
    from fastndcg.inputs.table import Qrels

    options = Options(columns=arguments.columns.truth, threads=getattr(arguments, "threads", None), kind=Qrels)
    format = arguments.qrels_format
    return read_file(Qrels, path, format, options, is_strict=format is not None)


def read_run(path: str, arguments: argparse.Namespace) -> Run:
    """Read a run of ranked documents, with all its rows if an option says what duplicates mean."""
    from fastndcg.inputs.duplicates import make_duplicates
    from fastndcg.inputs.formats import read_file
    from fastndcg.inputs.messages import Options
    from fastndcg.inputs.table import RepeatedRun, Run

    duplicates, ranks = (getattr(arguments, name, None) for name in ("duplicates", "ranks"))
    again = make_duplicates(duplicates, ranks, read_parents(arguments))
    kind = Run if again is None else RepeatedRun
    threads = getattr(arguments, "threads", None)
    options = Options(columns=arguments.columns.predictions, threads=threads, duplicates=again, kind=kind)
    format = arguments.run_format
    run = read_file(kind, path, format, options, is_strict=format is not None)
    return run.settled_by(again) if isinstance(run, RepeatedRun) else run


def read_parents(arguments: argparse.Namespace) -> Any:
    """Return the option --parents: a rule, or the document of each chunk in a file."""
    parents = getattr(arguments, "parents", None)
    if not isinstance(parents, str) or parents.startswith("before "):
        return parents
    from fastndcg.inputs.side_files import SideRow, read_side_file

    try:
        rows = read_side_file(parents, ("chunk", "document"))
    except OSError as error:
        raise InvalidInputError(
            "--parents must be a rule such as 'before #', or a file with a chunk and its document in each row, but "
            f"{show_name(parents)} cannot be read: {error.strerror}. Correct it."
        ) from None
    pairs = _join_pairs([SideRow(place, list(map(str, fields))) for place, fields in rows], "chunk", "document")
    numbers = {int(chunk): int(document) for chunk, document in pairs.items()
               if WHOLE.fullmatch(chunk) and WHOLE.fullmatch(document)}  # fmt: skip
    arguments.parents = pairs | numbers  # the ids of the run are of one kind
    return arguments.parents  # the pipe or the large file is read once, for all runs


def read_predictions(path: str, judgments: Qrels | None, arguments: argparse.Namespace) -> Run | Embeddings:
    """Read a run, or vectors whose ids are of the kind of the judgments' ids."""
    if judgments is None or not has_embeddings([path]):
        _refuse_selection(path, arguments)
        return read_run(path, arguments)
    return read_model(path, judgments, arguments)


def read_model(path: str, table: Table | None, arguments: argparse.Namespace) -> Embeddings:
    """Read vectors whose ids are of the kind of the ids of a table, or without one numbers where all are."""
    from fastndcg.scoring.files import IdFiles, read_embeddings

    are_texts = (False, False) if table is None else (table.queries.are_texts, table.documents.are_texts)
    ids = IdFiles(arguments.query_ids, arguments.document_ids, are_texts)
    return read_embeddings(path, ids, similarity=arguments.similarity, **_read_selection(arguments, are_texts[1]))


def read_found(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what each setting of an index found, by its name: a run, or an array of whole numbers."""
    from fastndcg.scoring.files import read_npy

    return {
        name: read_npy(path) if path.endswith(".npy") else read_run(path, arguments)
        for name, path in zip(list_names(arguments), arguments.runs, strict=True)
    }


def read_runs(arguments: argparse.Namespace, judgments: Qrels | None) -> Iterator[tuple[str, Any]]:
    """Yield the name of each run, and the run or its vectors."""
    for name, path in zip(list_names(arguments), arguments.runs, strict=True):
        yield name, read_predictions(path, judgments, arguments)


def list_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of runs: those of --names, of TREC's sixth column, or of files."""
    from fastndcg.inputs.formats import name_runs

    names: list[str] = getattr(arguments, "names", None) or name_runs(arguments.runs)
    for name, count in Counter(names).items():
        if count > 1 and hasattr(arguments, "names"):
            raise InvalidInputError(
                f"RUNs must have different names, but {shorten(name)} is the name of {count}. Give --names A,B."
            )
    return names


def _refuse_selection(path: str, arguments: argparse.Namespace) -> None:
    """Raise for a run beside embeddings some of whose documents are not ranked."""
    for name, usual in SELECTION.items():
        if getattr(arguments, name, usual) != usual:
            raise InvalidInputError(
                f"--{name.replace('_', '-')} is for embeddings, but {show_name(path)} is a run. Leave out one of them."
            )


def _read_selection(arguments: argparse.Namespace, are_texts: bool) -> dict[str, Any]:
    """Return the options of embeddings but for those of their vectors. Files are read once, for all runs."""
    from fastndcg.inputs.table import Qrels

    if isinstance(arguments.exclude, str):
        arguments.exclude = Qrels(arguments.exclude)
    if isinstance(arguments.candidates, str):
        arguments.candidates = _read_candidates(arguments.candidates, are_texts)
    names = ("exclude", "candidates", "missing_truth", "memory")
    return {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}


def _read_candidates(path: str, are_texts: bool) -> Any:
    """Return the ids of a file with one in each row, or its documents for each query."""
    from fastndcg.inputs.side_files import is_list, read_ids
    from fastndcg.inputs.table import Qrels

    return read_ids(path, "document", are_texts=are_texts) if is_list(path) else Qrels(path)


def name_query(text: str, queries: IdColumn) -> Any:
    """Return the id of a query that a text names: a number where the ids of queries are numbers."""
    is_number = not queries.are_texts and WHOLE.fullmatch(text)
    return int(text) if is_number else text


def read_pairs(path: str, what: str, queries: IdColumn) -> dict[Any, Any]:
    """
    Read the segment, the weight or the text of each query from a file. `queries` are the ids that there are.

    Raises
    ------
    InvalidInputError
        If a row has no value, a query has two, or a weight is no number.
    """
    from fastndcg.inputs.side_files import SideRow, read_side_file

    rows = [
        SideRow(place, (name_query(str(query), queries), str(value)))
        for place, (query, value) in read_side_file(path, ("query", what), "\t" if what == "text" else None)
    ]
    values = _join_pairs(rows, "query", what)
    if what != "weight":
        return values
    try:
        return {query: float(text) for query, text in values.items()}
    except ValueError as error:
        raise InvalidInputError(f"{show_name(path)}: a weight must be a number: {error}. Correct it.") from None


def _join_pairs(rows: list[SideRow], key_name: str, value_name: str) -> dict[Any, Any]:
    """Return the value of each key. Raise for a key with two values."""
    values: dict[Any, Any] = {}
    for place, (key, value) in rows:
        if values.setdefault(key, value) != value:
            raise InvalidInputError(
                f"{place}: {key_name} {show_name(key)} must have one {value_name}, but has {shorten(values[key])} and "
                f"{shorten(value)}. Remove one of them."
            )
    return values


def find_mistake(arguments: argparse.Namespace) -> str:
    """
    Return what is wrong with the words of a command that has failed, of which some are no files.

    Returns
    -------
    str
        An error message, or an empty text if files are where files belong.
    """
    qrels = getattr(arguments, "qrels", None)
    runs = [run for run in getattr(arguments, "runs", ()) if run is not None]
    for path in (qrels, *runs):
        if path is not None and not os.path.exists(path) and is_metric(path):
            return f"{show_name(path)} is a metric, and no such file exists. Write metrics behind -m: ndcg@10,map."
    query = getattr(arguments, "query", None)
    if query is not None and os.path.isfile(query) and not os.path.exists(runs[0]):
        return f"QUERY comes last, but {show_name(query)} is a file. Write QRELS RUN QUERY."
    return ""
