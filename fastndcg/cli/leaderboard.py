"""``fastndcg leaderboard``: the ranks of systems that the data can tell apart."""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from fastndcg.cli import files, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import parse_metrics

COLUMNS = ("system", "dataset", "value")


def run(arguments: argparse.Namespace) -> None:
    """Write the leaderboard."""
    (metric,) = parse_metrics([arguments.metric])
    settings = {"level": arguments.level, "replicates": arguments.replicates, "seed": arguments.seed}
    with show_progress(2 + len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.statistics.leaderboard import leaderboard  # imports numpy, which the checks above do without

        if arguments.runs:
            qrels = files.read_judgments(arguments.qrels, arguments)
            systems = {name: {"queries": run} for name, run in files.read_runs(arguments, qrels, begin_step)}
            begin_step("ranking")
            board = leaderboard(
                {"queries": qrels}, systems, metric, convention=arguments.convention, threads=arguments.threads,
                **files.list_duplicates(arguments), **settings,
            )  # fmt: skip
        else:
            board = leaderboard(read_table(arguments.qrels), metric=metric, **settings)
    output.write_result(arguments, board)


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
