"""The output of a command: its formats, and standard output or a file that is written completely or not at all."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg import __version__
from fastndcg.cli.trec_eval import Report, list_lines
from fastndcg.errors import InvalidInputError
from fastndcg.exports import PrintedTable, dump_json, format_latex, format_markdown, text_table, write_whole
from fastndcg.results.notes import notes_on_results
from fastndcg.runtime.escapes import MOST_NOTED, csv_row, show_name
from fastndcg.runtime.imports import optional_import

if TYPE_CHECKING:
    from fastndcg.results.results import Results

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


def write_reports(arguments: argparse.Namespace, reports: Sequence[Report], more: Iterable[str] = ()) -> None:
    """Write the results of runs in the format that the arguments name, and then other pieces of text."""
    write(chain(format_reports(reports, arguments.format, arguments.per_query), more), arguments.output)


def format_reports(reports: Sequence[Report], form: str, per_query: bool) -> Iterator[str]:
    """
    Yield the results of runs as text, Markdown, LaTeX, JSON, CSV, or trec_eval's lines.

    As text, one run has one line for each metric. Several runs have one line each. With `per_query` the values of each
    query come first in tables, and alone in CSV. A metric without a value is ``nan`` in CSV, and null in JSON.
    """
    first = reports[0].results
    if form == "trec":
        yield from list_lines(reports, per_query)
    elif form == "json":
        convention = {"name": first.convention.name, **first.convention.choices()}
        runs = [describe_run(report, per_query) for report in reports]
        metrics = [str(metric) for metric in first.metrics]
        yield dump_json({"metrics": metrics, "runs": runs, "convention": convention, "version": __version__})
    elif form == "csv":
        yield from map(csv_row, _list_queries(reports) if per_query else _list_runs(reports))
    else:
        if per_query:
            rows = [row[len(reports) == 1 :] for row in _list_queries(reports)]
            yield render(_print_rows(rows, len(rows[0]) - len(first.metrics)), form)
            if not reports[0].summary:
                return
            yield "\n"
        if form == "table" and len(reports) == 1:
            yield f"{first}\n"
        else:
            rows = [row[:-3] for row in _list_runs(reports)]  # notes have the others
            yield render(_print_rows(rows, 1, _list_notes(reports)), form)


def _print_rows(rows: Sequence[Sequence[Any]], n_left: int, notes: Sequence[str] = ()) -> PrintedTable:
    """Return rows below headings as texts, of which the first columns are flush left."""
    cells = [[f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    return PrintedTable(cells, [column < n_left for column in range(len(rows[0]))], notes)


def _list_runs(reports: Sequence[Report]) -> Iterator[list[Any]]:
    """Yield headings, and a row for each run."""
    counts = ["queries", "undefined", "tied", "missing_in_run", "missing_in_qrels", "convention"]
    yield ["run", *map(str, reports[0].results.metrics), *counts]
    for name, results, *_ in reports:
        n_undefined = int((results.values != results.values).any(axis=1).sum())
        missing = [results.n_missing_in_run, results.n_missing_in_qrels]
        numbers = [*results.means(), len(results), n_undefined, results.n_tied]
        yield [name, *numbers, *missing, results.convention.name]


def _list_queries(reports: Sequence[Report]) -> Iterator[list[Any]]:
    """Yield headings, and a row for each query of each run."""
    yield ["run", *_list_id_names(reports[0].results), *map(str, reports[0].results.metrics)]
    for name, results, *_ in reports:
        for ids, values in zip(_list_ids(results), results.values.tolist(), strict=True):
            yield [name, *ids, *values]


def _list_notes(reports: Sequence[Report]) -> list[str]:
    """Return the notes below the table of several runs."""
    first = reports[0].results
    notes = [f"convention {first.convention}; ties {first.convention.ties}"]
    notes += ["undefined: queries for which a metric has no value"]
    notes += ["tied: queries in which equal scores have different labels"]
    remarks = notes_on_results({report.name: report.results for report in reports}, first.metrics)
    return [*notes, *(show_name(remark, MOST_NOTED) for remark in remarks)]


def _list_id_names(results: Results) -> list[str]:
    """Return the headings of the columns of ids: of queries, and of documents where rows are pairs."""
    return ["query", "document"] if hasattr(results, "document_ids") else ["query"]


def _list_ids(results: Results) -> list[tuple[Any, ...]]:
    """Return the ids of each row."""
    return list(zip(*(getattr(results, f"{name}_ids").tolist() for name in _list_id_names(results)), strict=True))


def describe_run(report: Report, per_query: bool) -> dict[str, Any]:
    """Return the facts about a run for JSON."""
    results = report.results
    names = [str(metric) for metric in results.metrics]
    run: dict[str, Any] = {"run": report.name, **results.summary_facts()}
    if per_query:
        by_query: dict[str, Any] = {}
        for (query, *document), row in zip(_list_ids(results), results.values.tolist(), strict=True):
            values = dict(zip(names, row, strict=True))
            if document:
                by_query.setdefault(str(query), {})[str(document[0])] = values
            else:
                by_query[str(query)] = values
        run["per_query"] = by_query
    return run


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
