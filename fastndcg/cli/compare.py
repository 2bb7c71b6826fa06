"""``fastndcg compare``: differences between runs, with confidence intervals and significance tests."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fastndcg.choices import Alternative, Correction, Family, IntervalMethod, TestName
from fastndcg.cli import completion, embeddings, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import check_packages

if TYPE_CHECKING:
    from fastndcg.inputs.qrels_run import Run
    from fastndcg.scoring.embeddings import Embeddings
    from fastndcg.statistics.comparison import Comparison

FORMATS = ("table", "markdown", "latex", "json", "csv")
CURVE_METRICS = "ndcg"  # drawn at each cutoff by `fastndcg plot --kind curve`, and in a report of other metrics
STATISTICS = ("test", "correction", "family", "alternative", "interval", "level", "replicates", "seed")
DESCRIPTION = """\
Compare two or more runs query by query with a baseline run. The result has the difference of each run from the
baseline, its confidence interval, its p-value, and the numbers of queries won, tied and lost.
"""
EXAMPLES = """\
  fastndcg compare qrels.txt baseline.run new.run -m ndcg@10,map
  fastndcg compare qrels.txt a.run b.run c.run --baseline b --test t --correction holm
  fastndcg compare qrels.txt baseline.run new.run --html report.html --queries topics.tsv
  fastndcg compare qrels.txt als/users.npy,als/items.npy bpr.safetensors --exclude seen.txt
  fastndcg compare qrels.txt runs/*.res.gz --names BM25,ANCE,SPLADE --family metric
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands,
        "compare",
        "compare runs with a baseline: differences, intervals, tests, a report",
        DESCRIPTION,
        EXAMPLES,
    )
    add_inputs(parser)
    parser.add_argument(
        "--segments", metavar="FILE", help="compare by segment too; FILE has a query id and a segment on each line"
    )
    options.add_format(parser, FORMATS)
    parser.add_argument("--html", metavar="FILE", help="also write a report as one HTML page that works offline")
    parser.add_argument(
        "--queries", metavar="FILE", help="texts of the queries for the report; FILE has a query id, a tab and a text "
        "on each line",
    )  # fmt: skip
    parser.add_argument("--title", default="", metavar="TEXT", help="the title of the report")
    options.add_output(parser)
    parser.set_defaults(run=run)


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that ``compare`` and ``plot`` share."""
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"two or more; {options.RUN}, {options.EMBEDDINGS}")
    options.add_metrics(
        parser,
        "metrics, separated by commas, such as 'ndcg@10,P(rel=2)@5'; may be repeated "
        f"(default: {options.DEFAULT_METRICS})",
    )
    parser.add_argument(
        "--names",
        action="append",
        metavar="NAMES",
        help="names of the runs in their order, separated by commas; may be repeated (default: TREC's sixth column "
        "where runs differ in it, else file names without suffixes)",
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="the run that the others are compared with, by its name or file "
        "(default: the first)",
    )  # fmt: skip
    options.add_convention(parser)
    options.add_qrels_format(parser)
    options.add_pair_rows(parser)
    options.add_embeddings(parser)
    _add_statistics(parser)
    options.add_threads(parser)


def _add_statistics(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("statistics", "The documentation of fastndcg.compare explains these choices.")
    test = group.add_argument(
        "--test",
        metavar="NAME",
        help="the significance test: randomization, t, wilcoxon, sign, mcnemar, bootstrap or tukey (default: "
        "randomization)",
    )
    correction = group.add_argument(
        "--correction",
        metavar="NAME",
        help="the correction for multiple tests: holm, bonferroni, bh or none (default: holm)",
    )
    family = group.add_argument(
        "--family",
        metavar="NAME",
        help="the tests that are corrected together: those of the table, or of each metric (default: table)",
    )
    alternative = group.add_argument(
        "--alternative",
        metavar="NAME",
        help="the alternative hypothesis: two-sided, greater or less (default: two-sided)",
    )
    interval = group.add_argument(
        "--interval",
        metavar="NAME",
        help="the confidence interval: auto, the method that holds for the values, t or percentile (default: auto)",
    )
    for action, choices in (
        (test, TestName),
        (correction, Correction),
        (family, Family),
        (alternative, Alternative),
        (interval, IntervalMethod),
    ):
        completion.set_completer(action, completion.list_choices(get_args(choices)))
    group.add_argument("--level", type=float, metavar="X", help="the confidence level, such as 0.99 (default: 0.95)")
    group.add_argument(
        "--replicates", type=int, metavar="N", help="replicates of the bootstrap and the randomization (default: 10000)"
    )
    group.add_argument("--seed", type=int, metavar="N", help="the seed of the random numbers (default: 0)")


def run(arguments: argparse.Namespace) -> None:
    """Check the options, compare the runs, and write the table and the report."""
    embeddings.check_options(arguments, arguments.runs)
    runs = embeddings.list_files(arguments.runs)
    inputs = [arguments.qrels, *runs, *filter(None, (arguments.segments, arguments.queries))]
    for option, target in (("-o", arguments.output), ("--html", arguments.html)):
        if target is not None:
            output.check(target, inputs, option)
    targets = [os.path.realpath(target) for target in (arguments.output, arguments.html) if target is not None]
    if len(set(targets)) < len(targets):
        raise InvalidInputError(
            f"-o and --html must name two files, but both name {arguments.html}. Change one of them."
        )
    if arguments.html:
        check_packages("a report", "report")
    if arguments.queries and not arguments.html:
        raise InvalidInputError("--queries is for the report. Add --html FILE, or leave it out.")
    comparison = compare_runs(arguments, choose_curves(arguments) if arguments.html else None)
    if arguments.html:
        from fastndcg.reports.html.page import page

        output.write([page(comparison, arguments.title, comparison.query_texts)], arguments.html, "--html")
    output.write(_format(comparison, arguments.format, arguments.output), arguments.output)


def choose_curves(arguments: argparse.Namespace) -> list[Metric]:
    """Return the metrics that a report draws at each cutoff: those of the table that have a cutoff, or nDCG."""
    metrics = parse_metrics(arguments.metrics or options.DEFAULT_METRICS)
    families = [Metric(metric.name)(**dict(metric.parameters)) for metric in metrics if metric.k is not None]
    return list(dict.fromkeys(families)) or list(parse_metrics(CURVE_METRICS))


def compare_runs(arguments: argparse.Namespace, curves: Metrics | None) -> Comparison:
    """
    Return the comparison that the command's arguments describe.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments that `add_inputs` declares.
    curves : str, list of Metric or None
        The metrics to compute at many cutoffs as well. None computes none.
    """
    metrics = parse_metrics(arguments.metrics or options.DEFAULT_METRICS)
    convention = parse_convention(arguments.convention)
    statistics = {name: getattr(arguments, name) for name in STATISTICS if getattr(arguments, name) is not None}
    names = read_names(arguments)
    with show_progress(2 + len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.inputs.run_names import name_runs  # imports numpy, which the checks above do without
        from fastndcg.inputs.text.formats import read_qrels
        from fastndcg.statistics.compare import compare
        from fastndcg.statistics.settings import Settings

        Settings(**statistics)
        segments = read_segments(arguments.segments) if getattr(arguments, "segments", None) else None
        queries = read_queries(arguments.queries) if getattr(arguments, "queries", None) else None
        names = names or name_runs(arguments.runs)
        qrels = read_qrels(arguments.qrels, format=arguments.qrels_format, threads=arguments.threads)
        runs: list[tuple[str, Run | Embeddings]] = []
        for name, path in zip(names, arguments.runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            runs.append((name, embeddings.read_predictions(path, qrels, arguments)))
        begin_step("comparing")
        return compare(
            qrels,
            runs,
            metrics,
            baseline=find_baseline(arguments.baseline, names, arguments.runs),
            competitors=arguments.competitors,
            rows=arguments.rows,
            convention=convention,
            segments=segments,
            curves=curves,
            queries=queries,
            threads=arguments.threads,
            **embeddings.read_selection(arguments, arguments.runs),
            **statistics,
        )


def read_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of ``--names``, none without the option. Raise an error if there is not one per run."""
    names = [name.strip() for text in arguments.names or () for name in text.split(",")]
    if arguments.names and len(names) != len(arguments.runs):
        raise InvalidInputError(
            f"--names must have a name for each of the {len(arguments.runs)} runs, got {len(names)}: "
            f"{shorten(', '.join(names))}. Separate the names by commas."
        )
    return names


def find_baseline(baseline: str | None, names: Sequence[str], paths: Sequence[str]) -> str | None:
    """Return the name of the run that ``--baseline`` means: by its name, path, or file name with or without .run."""
    if baseline is None or baseline in names:
        return baseline
    for readings in (
        paths,
        [Path(path).name for path in paths],
        [Path(path).name.removesuffix(".run") for path in paths],
    ):
        if readings.count(baseline) == 1:
            return names[readings.index(baseline)]
    return baseline  # `compare` raises the error


def read_segments(path: str) -> dict[str, str]:
    """
    Read the segment of each query from a text file.

    Each line has a query id, white space, and the segment, which may contain white space. Empty lines are skipped.

    Raises
    ------
    InvalidInputError
        If a line has no segment, or a query has two segments.
    """
    return _read_pairs(path, "segment", "space", lambda line: line.split(maxsplit=1))


def read_queries(path: str) -> dict[str, str]:
    """
    Read the text of each query from a text file.

    Each line has a query id, a tab, and the text. Empty lines are skipped.

    Raises
    ------
    InvalidInputError
        If a line has no text, or a query has two texts.
    """
    return _read_pairs(path, "text", "tab", lambda line: line.strip().split("\t", maxsplit=1))


def _read_pairs(path: str, what: str, separator: str, split: Callable[[str], list[str]]) -> dict[str, str]:
    """Read a file with a query id and a value on each line. `what` and `separator` are for error messages."""
    values: dict[str, str] = {}
    with open(path, encoding="utf-8-sig") as file:
        try:
            lines = list(file)
        except UnicodeDecodeError:
            raise InvalidInputError(f"{path} must be UTF-8 text, but is not. Convert it.") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        parts = [part.strip() for part in split(line)]
        if len(parts) < 2:
            raise InvalidInputError(
                f"{path}: line {number} must have a query id and a {what}, but is {shorten(line.strip())}. "
                f"Separate them by a {separator}."
            )
        query, value = parts
        if values.get(query, value) != value:
            raise InvalidInputError(
                f"{path}: line {number}: query {show_name(query)} must have one {what}, but has "
                f"{shorten(values[query])} and {shorten(value)}. Remove one of the lines."
            )
        values[query] = value
    return values


def _format(comparison: Comparison, form: str, target: str | None) -> Iterator[str] | Sequence[str]:
    from fastndcg.reports import text

    if form == "table":
        lines: list[str] = list(text.terminal(comparison, **_terminal_options(target)))
        if comparison.segments is not None:
            lines += ["\n", f"{comparison.by()}\n"]
        return lines
    return [getattr(comparison, f"to_{form}")()]


def _terminal_options(target: str | None) -> dict[str, Any]:
    """Return whether the table may have colours, and whether it may have characters beyond ASCII."""
    to_terminal = target is None and sys.stdout is not None and sys.stdout.isatty()
    has_colours = to_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = "utf-8" if target is not None else getattr(sys.stdout, "encoding", None) or "ascii"
    return {"colour": has_colours, "unicode": encoding.lower().replace("-", "").startswith("utf")}
