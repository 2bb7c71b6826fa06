"""``fastndcg agreement``: rank correlation and overlap of two runs."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastndcg import __version__
from fastndcg.cli import options, output
from fastndcg.cli.embeddings import refuse_embeddings
from fastndcg.cli.progress import show_progress
from fastndcg.metrics.metric import parse_metrics
from fastndcg.results.text_table import align_columns
from fastndcg.runtime.escapes import csv_row
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from fastndcg.rank_agreement import Agreement

DEFAULT_METRICS = "tau_b,tau_ap,rbo"
DESCRIPTION = """\
Compare the rankings of two runs query by query, without judgments: Kendall's tau (tau_b), AP correlation (tau_ap) and
rank-biased overlap (rbo). AP correlation is not symmetric; it takes the first run as the true ranking.
"""
EXAMPLES = """\
  fastndcg agreement first.run second.run
  fastndcg agreement first.run second.run -m 'tau_b,rbo(p=0.9)@100' --per-query
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "agreement", "compare the rankings of two runs by rank correlation and overlap", DESCRIPTION, EXAMPLES
    )
    parser.add_argument("first", metavar="FIRST", help=options.RUN)
    parser.add_argument("second", metavar="SECOND", help="another ranking, in the same format")
    options.add_metrics(
        parser,
        f"metrics, separated by commas, such as 'tau_b,rbo(p=0.9)@100'; may be repeated (default: {DEFAULT_METRICS})",
    )
    options.add_per_query(parser)
    options.add_format(parser, ("table", "json", "csv"))
    options.add_threads(parser)
    options.add_output(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check the options, compare the runs, and write the result."""
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS, "agreement")
    check_threads(arguments.threads)
    paths = [arguments.first, arguments.second]
    options.check_standard_input(paths)
    refuse_embeddings("agreement", paths)
    if arguments.output is not None:
        output.check(arguments.output, paths)
    with show_progress(len(paths) + 1) as begin_step:
        from fastndcg.inputs.text.formats import read_run
        from fastndcg.rank_agreement import agreement  # imports numpy, which --help and the checks above do without

        runs = []
        for path in paths:
            begin_step(f"reading {Path(path).name}")
            runs.append(read_run(path, threads=arguments.threads))
        begin_step("comparing")
        result = agreement(runs[0], runs[1], metrics, threads=arguments.threads)
    lines = {"table": _table, "json": _json, "csv": _csv}[arguments.format](result, arguments.per_query)
    output.write(lines, arguments.output)


def _table(result: Agreement, per_query: bool) -> Iterator[str]:
    if per_query:
        rows = [["query", *map(str, result.metrics)]]
        rows += [[str(query), *(f"{value:.4f}" for value in values)] for query, values in _rows(result)]
        yield from (f"{line}\n" for line in align_columns(rows, 1))
        yield "\n"
    yield f"{result}\n"


def _json(result: Agreement, per_query: bool) -> Iterator[str]:
    names = [str(metric) for metric in result.metrics]
    facts = {
        "version": __version__,
        "mean": dict(zip(names, _without_nan(result.means()), strict=True)),
        "n_queries": len(result),
        "n_undefined": dict(zip(names, result.n_undefined().tolist(), strict=True)),
        "n_tied": result.n_tied,
        "notes": list(result.notes),
    }
    if per_query:
        rows = _rows(result)
        facts["per_query"] = {str(query): dict(zip(names, _without_nan(row), strict=True)) for query, row in rows}
    yield json.dumps(facts, indent=1, allow_nan=False) + "\n"


def _csv(result: Agreement, per_query: bool) -> Iterator[str]:
    names = [str(metric) for metric in result.metrics]
    rows: list[list[object]] = [["query", *names] if per_query else [*names, "queries", "tied"]]
    if per_query:
        rows += [[query, *values] for query, values in _rows(result)]
    else:
        rows.append([*result.means(), len(result), result.n_tied])
    for row in rows:
        yield csv_row(row)


def _rows(result: Agreement) -> list[tuple[object, list[float]]]:
    return list(zip(result.query_ids.tolist(), result.values.tolist(), strict=True))


def _without_nan(values: list[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]
