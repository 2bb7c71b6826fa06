"""``fastndcg agreement``: how far two runs agree."""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastndcg import __version__
from fastndcg.cli import output
from fastndcg.cli.progress import progress
from fastndcg.display import aligned
from fastndcg.errors import InvalidInputError
from fastndcg.metric import parse_metrics
from fastndcg.threads import checked_threads

if TYPE_CHECKING:
    from fastndcg.agreement.results import Agreement

DEFAULT_METRICS = "tau_b,tau_ap,rbo"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser(
        "agreement",
        help="how far two runs agree: Kendall's tau, AP correlation, rank-biased overlap",
        description="Compare the rankings of two runs query by query, without judgments. For tau_ap the first is true.",
    )
    for name in ("first", "second"):
        parser.add_argument(name, metavar="RUN", help="a ranking: query, Q0, document, rank, score, name")
    parser.add_argument(
        "-m",
        "--metrics",
        action="append",
        metavar="METRICS",
        help=f"such as 'tau_b,rbo(p=0.9)@100', repeatable (default: {DEFAULT_METRICS})",
    )
    parser.add_argument("--per-query", action="store_true", help="print each query's values too")
    parser.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    parser.add_argument("--threads", type=int, metavar="N", help="default: one for each CPU that may be used")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, whole or not at all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check what can be checked before reading, compare, write."""
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS, "agreement")
    checked_threads(arguments.threads)
    paths = [arguments.first, arguments.second]
    if paths.count("-") > 1:
        raise InvalidInputError("- must name one file only: standard input can be read once")
    if arguments.output is not None:
        output.check(arguments.output, paths)
    with progress(len(paths) + 1) as step:
        from fastndcg.agreement import agreement  # brings numpy, which --help and errors above do without
        from fastndcg.inputs.files import read_run

        runs = []
        for path in paths:
            step(f"reading {Path(path).name}")
            runs.append(read_run(path, threads=arguments.threads))
        step("comparing")
        result = agreement(runs[0], runs[1], metrics, threads=arguments.threads)
    lines = {"table": _table, "json": _json, "csv": _csv}[arguments.format](result, arguments.per_query)
    output.write(lines, arguments.output)


def _table(result: Agreement, per_query: bool) -> Iterator[str]:
    if per_query:
        rows = [["query", *map(str, result.metrics)]]
        rows += [[str(query), *(f"{value:.4f}" for value in values)] for query, values in _rows(result)]
        yield from (f"{line}\n" for line in aligned(rows, 1))
        yield "\n"
    yield f"{result}\n"


def _json(result: Agreement, per_query: bool) -> Iterator[str]:
    names = [str(metric) for metric in result.metrics]
    whole = {
        "version": __version__,
        "mean": dict(zip(names, _without_nan(result.means()), strict=True)),
        "n_queries": len(result),
        "n_undefined": dict(zip(names, result.n_undefined().tolist(), strict=True)),
        "n_tied": result.n_tied,
        "notes": list(result.notes),
    }
    if per_query:
        rows = _rows(result)
        whole["per_query"] = {str(query): dict(zip(names, _without_nan(row), strict=True)) for query, row in rows}
    yield json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _csv(result: Agreement, per_query: bool) -> Iterator[str]:
    names = [str(metric) for metric in result.metrics]
    rows: list[list[object]] = [["query", *names] if per_query else [*names, "queries", "tied"]]
    if per_query:
        rows += [[query, *values] for query, values in _rows(result)]
    else:
        rows.append([*result.means(), len(result), result.n_tied])
    for row in rows:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(row)
        yield line.getvalue()


def _rows(result: Agreement) -> list[tuple[object, list[float]]]:
    return list(zip(result.query_ids.tolist(), result.values.tolist(), strict=True))


def _without_nan(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]
