"""``fastndcg compare``: several runs side by side, with intervals and tests."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg.cli import output
from fastndcg.cli.evaluating import DEFAULT_METRICS, add_qrels_format, run_names
from fastndcg.cli.progress import progress
from fastndcg.conventions import conventions, parse_convention
from fastndcg.errors import InvalidInputError
from fastndcg.metric import parse_metrics

if TYPE_CHECKING:
    from fastndcg.inputs.tables import Run
    from fastndcg.statistics.comparison import Comparison

FORMATS = ("table", "markdown", "latex", "json", "csv")
CURVES = "ndcg"  # what a report shows against its cutoff


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser(
        "compare",
        help="compare runs: differences from a baseline, intervals, tests, a report",
        description="Compare runs query by query: TREC files, plain or .gz.",
    )
    add_inputs(parser)
    parser.add_argument("--segments", metavar="FILE", help="a line a query: its id and its segment")
    parser.add_argument("--format", choices=FORMATS, default="table", help="default: table")
    parser.add_argument("--html", metavar="FILE", help="write a report that opens in a browser without a network, too")
    parser.add_argument("--title", default="", help="of the report")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, whole or not at all")
    parser.set_defaults(run=run)


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add what every command that compares takes."""
    parser.add_argument("qrels", metavar="QRELS", help="judgments: query, iteration, document, label")
    parser.add_argument("runs", nargs="+", metavar="RUN", help="two or more: query, Q0, document, rank, score, name")
    metrics = f"such as 'ndcg@10,P(rel=2)@5', repeatable (default: {DEFAULT_METRICS})"
    parser.add_argument("-m", "--metrics", action="append", metavar="METRICS", help=metrics)
    parser.add_argument("--baseline", metavar="NAME", help="the run that others are compared with (default: the first)")
    parser.add_argument("--convention", default="default", metavar="NAME", help=f"such as {', '.join(conventions)}")
    add_qrels_format(parser)
    statistics = parser.add_argument_group("statistics", "the choices of fastndcg.compare, which explains them")
    statistics.add_argument("--test", metavar="NAME", help="randomization, t, wilcoxon, sign, bootstrap or tukey")
    statistics.add_argument("--correction", metavar="NAME", help="holm, bonferroni, bh or none")
    statistics.add_argument("--alternative", metavar="NAME", help="two-sided, greater or less")
    statistics.add_argument("--interval", metavar="NAME", help="percentile, bca or t")
    statistics.add_argument("--level", type=float, help="of the intervals (default: 0.95)")
    statistics.add_argument(
        "--replicates", type=int, metavar="N", help="of bootstrap and randomisation (default: 10000)"
    )
    statistics.add_argument("--seed", type=int, metavar="N", help="default: 0")
    parser.add_argument("--threads", type=int, metavar="N", help="default: one for each CPU that may be used")


def run(arguments: argparse.Namespace) -> None:
    """Check what can be checked before reading, compare, write."""
    inputs = [arguments.qrels, *arguments.runs, *([arguments.segments] if arguments.segments else [])]
    for option, target in (("-o", arguments.output), ("--html", arguments.html)):
        if target is not None:
            output.check(target, inputs, option)
    if None not in (arguments.output, arguments.html) and os.path.realpath(arguments.output) == os.path.realpath(
        arguments.html
    ):
        raise InvalidInputError("-o and --html must name two files, but both name one")
    found = compared(arguments, CURVES if arguments.html else None)
    if arguments.html:
        from fastndcg.reports.page import page

        output.write([page(found, arguments.title)], arguments.html, "--html")
    output.write(_formatted(found, arguments.format, arguments.output), arguments.output)


def compared(arguments: argparse.Namespace, curves: str | None) -> Comparison:
    """The comparison that the arguments ask for."""
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS)
    convention = parse_convention(arguments.convention)
    names = run_names(arguments.runs)
    choices = ("test", "correction", "alternative", "interval", "level", "replicates", "seed")
    given = {name: getattr(arguments, name) for name in choices if getattr(arguments, name) is not None}
    with progress(2 + len(names)) as step:
        step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.inputs.files import read_qrels, read_run  # brings numpy, which errors above do without
        from fastndcg.statistics.compare import compare
        from fastndcg.statistics.settings import Settings

        Settings(**given)
        segments = read_segments(arguments.segments) if getattr(arguments, "segments", None) else None
        qrels = read_qrels(arguments.qrels, format=arguments.qrels_format, threads=arguments.threads)
        runs: list[tuple[str, Run]] = []
        for name, path in zip(names, arguments.runs, strict=True):
            step(f"reading {Path(path).name}")
            runs.append((name, read_run(path, threads=arguments.threads)))
        step("comparing")
        return compare(
            qrels, runs, metrics, baseline=arguments.baseline, convention=convention, segments=segments,
            curves=curves, threads=arguments.threads, **given,
        )  # fmt: skip


def read_segments(path: str) -> dict[str, str]:
    """Read lines of a query's id, white space, and its segment, which may hold white space itself."""
    found: dict[str, str] = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, start=1):
            parts = line.split(maxsplit=1)
            if not parts:
                continue
            if len(parts) < 2:
                raise InvalidInputError(
                    f"{path}: line {number} must be a query's id and its segment, not {line.strip()!r}"
                )
            query, segment = parts[0], parts[1].strip()
            if found.get(query, segment) != segment:
                both = f"{found[query]!r} and {segment!r}"
                raise InvalidInputError(f"{path}: line {number}: query {query} must have one segment, but has {both}")
            found[query] = segment
    return found


def _formatted(found: Comparison, name: str, target: str | None) -> Iterator[str] | Sequence[str]:
    from fastndcg.reports import text

    if name == "table":
        lines: list[str] = list(text.terminal(found, **_terminal(target)))
        if found.segments is not None:
            lines += ["\n", f"{found.by()}\n"]
        return lines
    writers = {"markdown": text.markdown, "latex": text.latex, "json": text.as_json, "csv": text.as_csv}
    return [writers[name](found)]


def _terminal(target: str | None) -> dict[str, Any]:
    """Colours on a terminal that has them, and blocks where they can be encoded."""
    to_terminal = target is None and sys.stdout is not None and sys.stdout.isatty()
    coloured = to_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = "utf-8" if target is not None else getattr(sys.stdout, "encoding", None) or "ascii"
    return {"colour": coloured, "unicode": encoding.lower().replace("-", "").startswith("utf")}
