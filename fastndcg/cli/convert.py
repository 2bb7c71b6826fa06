"""``fastndcg convert``: judgments and runs, written in another format."""

from __future__ import annotations

import argparse
import os
from typing import Any

from fastndcg.cli import files, output
from fastndcg.errors import FastndcgError, InvalidInputError
from fastndcg.runtime.escapes import show_name

READERS: dict[str, Any] = {"qrels": files.read_judgments, "run": files.read_run}
RUN_OPTIONS = ("run_format", "duplicates", "ranks", "parents")


def run_convert(arguments: argparse.Namespace) -> None:
    """Read judgments or a run, and write the rows that count."""
    from fastndcg.inputs.writers import WRITERS, find_format  # imports numpy

    target, is_printed = arguments.output, arguments.output in (None, *output.STANDARD_OUTPUT)
    form = arguments.format or ("trec" if is_printed else find_format(target))
    if is_printed and form == "parquet":
        raise InvalidInputError("--format parquet can only be written to a file. Name it.")
    table = _read(arguments)
    is_run = table.side == "predictions"
    table = table._settled() if is_run else table
    output.print_line(str(table))
    if is_printed:
        output.write((piece.decode() for piece in WRITERS[form](table, arguments.tag)), None)
        return
    tag = {"tag": arguments.tag} if is_run else {}
    table.write(target, format=form, **tag)
    output.say_written(target)


def _read(arguments: argparse.Namespace) -> Any:
    """Read the file as the options say, or as the only one of the two that it can be."""
    path = arguments.path
    kind = arguments.kind or ("qrels" if arguments.qrels_format else None)
    kind = kind or ("run" if any(getattr(arguments, option) for option in RUN_OPTIONS) else None)
    if kind is not None:
        return READERS[kind](path, arguments)
    if path == "-" or (os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path)):
        raise InvalidInputError(f"{path} can be read once only. Say what it holds: --as qrels or --as run.")
    found: dict[str, Any] = {}
    errors: list[Any] = []  # parts of a message
    for name, read in READERS.items():
        try:
            found[name] = read(path, arguments)
        except FastndcgError as error:
            errors += [f"{'; ' * bool(errors)}as {name}, ", *error.args]
    if not found:
        raise InvalidInputError(f"{show_name(path)} is neither judgments nor a run: ", *errors)
    if len(found) > 1 and (found["run"].values % 1 == 0).all():
        raise InvalidInputError(f"{show_name(path)} could be judgments or a run. Add --as qrels or --as run.")
    return found["run" if "run" in found else "qrels"]
