"""``fastndcg leaderboard``: the ranks of systems that the data can tell apart."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import Any

from fastndcg.cli import files, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention

COLUMNS = ("system", "dataset", "value")
DESCRIPTION = """\
Rank systems, with the ranks that the data allow. TABLE is a CSV file with the columns system, dataset and value, such
as published means: ranks are about other data sets. QRELS with two runs or more is one data set: ranks are about other
queries.
"""
EXAMPLES = """\
  fastndcg leaderboard published.csv
  fastndcg leaderboard qrels.txt a.run b.run c.run -m ndcg@10
"""


def add_leaderboard(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "leaderboard", "(TABLE | QRELS RUN RUN ...)", "rank systems, with the ranks that the data allow",
        DESCRIPTION, EXAMPLES,
    )  # fmt: skip
    options.add_help_all(parser, "embeddings and threads")
    parser.add_argument("qrels", metavar="TABLE|QRELS", help="published means as CSV, or relevance judgments")
    parser.add_argument("runs", nargs="*", metavar="RUN", help=f"{options.RUN}, {options.EMBEDDINGS}")
    options.add_names(parser)
    group = parser.add_argument_group("what is ranked")
    options.add_metric(group, "the metric")
    group.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    group.add_argument("--replicates", type=int, default=10_000, metavar="N", help="(default: 10000)")
    group.add_argument("--seed", type=int, default=0, metavar="N", help="(default: 0)")
    options.add_convention(group)
    options.add_reading(parser)
    options.add_output(parser)
    options.add_embeddings(parser)
    with parser.expert("threads") as group:
        options.add_threads(group)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Write the leaderboard."""
    (metric,) = parse_metrics([arguments.metric])
    names = options.read_names(arguments)
    settings = {"level": arguments.level, "replicates": arguments.replicates, "seed": arguments.seed}
    files.check_embeddings(arguments, arguments.runs)
    files.check(arguments, [arguments.qrels, *arguments.runs], {"-o": arguments.output})
    if arguments.runs:
        board = _rank_runs(arguments, metric, names, settings)
    else:
        from fastndcg.statistics.leaderboard import leaderboard  # imports numpy, which the checks above do without

        board = leaderboard(read_table(arguments.qrels), metric=metric, **settings)
    output.write([output.format_table(board, arguments.format)], arguments.output)


def _rank_runs(arguments: argparse.Namespace, metric: Any, names: list[str], settings: dict[str, Any]) -> Any:
    convention = parse_convention(arguments.convention)
    with show_progress(2 + len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.inputs.formats import name_runs
        from fastndcg.statistics.leaderboard import leaderboard

        qrels = files.read_judgments(arguments.qrels, arguments)
        systems = {}
        for system, path in zip(names or name_runs(arguments.runs), arguments.runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            systems[system] = {"queries": files.read_predictions(path, qrels, arguments)}
        begin_step("ranking")
        return leaderboard(
            {"queries": qrels}, systems, metric, convention=convention, threads=arguments.threads, **settings
        )


def read_table(path: str) -> dict[str, dict[str, float]]:
    """
    Read published means from a CSV file.

    Raises
    ------
    InvalidInputError
        If the header lacks a column, a value is no number, or a system has two values of a data set.
    """
    values: dict[str, dict[str, float]] = {}
    with open(path, encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if not set(COLUMNS) <= set(reader.fieldnames or ()):
            raise InvalidInputError(
                f"{path} must have the columns {', '.join(COLUMNS)}, but has {shorten(reader.fieldnames)}. Correct the "
                "header, or give runs after QRELS."
            )
        for row in reader:
            cells = values.setdefault(row["system"], {})
            try:
                number = float(row["value"])
            except (TypeError, ValueError):
                raise InvalidInputError(
                    f"{path}: line {reader.line_num} must have a number as value, not {shorten(row['value'])}. Leave "
                    "out a cell that is missing."
                ) from None
            if row["dataset"] in cells:
                raise InvalidInputError(
                    f"{path}: line {reader.line_num}: system {shorten(row['system'])} must have one value of "
                    f"{shorten(row['dataset'])}, but has two. Remove one."
                )
            cells[row["dataset"]] = number
    return values
