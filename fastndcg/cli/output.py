"""The output of a command: standard output, or a file that is written completely or not at all."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fastndcg.errors import InvalidInputError
from fastndcg.exports.exportable import PrintedTable, dump_json, format_latex, format_markdown
from fastndcg.exports.files import write_whole
from fastndcg.results.text_table import text_table
from fastndcg.runtime.escapes import MOST_NOTED, csv_row, show_name
from fastndcg.runtime.optional_packages import optional_import

STANDARD_OUTPUT = ("-", "/dev/stdout", "/dev/fd/1")


def check(target: str, inputs: Sequence[str], option: str = "-o") -> None:
    """Raise an error if a target cannot be written or is also an input, before any work is done."""
    if target in STANDARD_OUTPUT:
        return
    path = Path(target)
    if path.is_dir():
        raise InvalidInputError(f"{option} must name a file, but {target} is a folder. Add a file name.")
    folder = Path(os.path.realpath(target)).parent
    if not folder.is_dir():
        raise InvalidInputError(
            f"{option} must name a file in a folder that exists, but {folder} does not exist. Create the folder first."
        )
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise InvalidInputError(
            f"{option} must name a file that can be written, but {target} cannot. Name another file."
        )
    for name in inputs:
        if path.is_file() and os.path.exists(name) and os.path.samefile(target, name):
            raise InvalidInputError(f"{option} must not name an input file, but {target} is one. Name another file.")


def write(lines: Iterable[str], target: str | None, option: str = "-o") -> None:
    """Write lines to the file `target`, or to standard output without one."""
    if target is None or target in STANDARD_OUTPUT:
        _print(lines)
    else:
        write_file((line.encode(errors="backslashreplace") for line in lines), target, option)


def write_file(pieces: Iterable[bytes], target: str, option: str = "-o") -> None:
    """Write a file completely, or leave it unchanged if an error occurs. Say so on standard error."""
    try:
        write_whole(target, pieces)
    except OSError as error:
        raise InvalidInputError(f"{option} {target} cannot be written: {error.strerror}. Name another file.") from None
    say_written(target)


def say_written(target: str) -> None:
    """Say on standard error that a file was written."""
    print_line(f"{show_name(target)} written")


def check_picture(target: str, option: str, form: str | None = None) -> tuple[Any, str]:
    """Return a figure of matplotlib and the format of its file, or raise an error for an ending that is none."""
    figure = optional_import("matplotlib.figure", "plotting", "plots").Figure(layout="constrained")
    endings = figure.canvas.get_supported_filetypes()
    ending = form or Path(target).suffix.removeprefix(".").lower()
    if ending not in endings:
        allowed = ", ".join(f".{name}" for name in sorted(endings))
        raise InvalidInputError(f"{option} must end in one of {allowed}, but is {target}. Change the ending.")
    return figure, ending


def write_picture(figure: Any, ending: str, target: str, option: str) -> None:
    """Write a figure of matplotlib."""
    picture = io.BytesIO()
    figure.savefig(picture, dpi=150, format=ending)
    write_file([picture.getvalue()], target, option)


def write_result(arguments: argparse.Namespace, result: Any) -> None:
    """Write results or a table in the format that the arguments name."""
    output = f"{result}\n" if arguments.format == "table" else getattr(result, f"to_{arguments.format}")()
    write([output], arguments.output)


def write_table(
    arguments: argparse.Namespace, rows: Sequence[Sequence[str]], notes: Sequence[str] = (), facts: Any = None
) -> None:
    """Write rows below headings in the format that the arguments name, and `facts` as JSON."""
    if arguments.format == "json":
        text = dump_json(facts)
    elif arguments.format == "csv":
        text = "".join(map(csv_row, rows))
    else:
        text = render(PrintedTable(rows, [True] * len(rows[0]) if rows else [], notes), arguments.format)
    write([text], arguments.output)


def render(table: PrintedTable, form: str) -> str:
    """Return a table as text, in Markdown or in LaTeX."""
    if form == "table":
        return f"{text_table(table.cells, table.left, table.notes)}\n"
    return format_markdown(table) if form == "markdown" else format_latex(table)


def print_error(message: str) -> None:
    """Print one line on standard error, unless standard error is closed."""
    print_line(f"fastndcg: error: {show_name(' '.join(message.splitlines()), MOST_NOTED)}")


def print_line(line: str) -> None:
    """Print a line on standard error, unless standard error is closed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def _print(lines: Iterable[str]) -> None:
    if sys.stdout is None:
        raise InvalidInputError("standard output is closed. Name a file with -o.")
    try:
        sys.stdout.writelines(lines)
        sys.stdout.flush()
    except OSError as error:
        with contextlib.suppress(OSError, ValueError):  # otherwise Python reports the error again when it exits
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):  # a reader such as `head` that stops early is no error
            raise InvalidInputError(
                f"standard output cannot be written: {error.strerror}. Name a file with -o."
            ) from None
