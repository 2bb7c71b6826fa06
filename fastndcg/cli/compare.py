"""``fastndcg compare`` and ``plot``: differences between runs, with intervals and tests, and pictures of them."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fastndcg.choices import Alternative, Correction, Family, IntervalMethod, TestName
from fastndcg.cli import completion, files, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.optional_packages import check_packages

if TYPE_CHECKING:
    from fastndcg.inputs.table import Run
    from fastndcg.scoring.embeddings import Embeddings
    from fastndcg.statistics.comparison import Comparison

CURVE_METRICS = "ndcg"  # drawn at each cutoff where no metric has a cutoff
STATISTICS = ("margin", "test", "correction", "family", "alternative", "interval", "level", "replicates", "seed")
PLOTS = ("forest", "curve", "histogram")
PICTURES = ("png", "svg", "pdf")
COMPARE = """\
Compare two or more runs query by query with a baseline run. The result has the difference of each run from the
baseline, its confidence interval, its p-value, and the numbers of queries won, tied and lost.
"""
COMPARE_EXAMPLES = """\
  fastndcg compare qrels.txt baseline.run new.run -m ndcg@10,map
  fastndcg compare qrels.txt a.run b.run c.run --baseline b --test t --correction holm
  fastndcg compare qrels.txt baseline.run new.run --html report.html --queries topics.tsv
  fastndcg compare qrels.txt als/users.npy,als/items.npy bpr.safetensors --exclude seen.txt
  fastndcg compare qrels.txt runs/*.res.gz --names BM25,ANCE,SPLADE --family metric
"""
PLOT = """\
Draw a comparison of runs with matplotlib.
  forest     the difference of each run from the baseline, with its confidence interval
  curve      a metric at each cutoff
  histogram  the differences of one run from the baseline, query by query
The first metric of -m is drawn, by a curve at each cutoff.
"""
PLOT_EXAMPLES = """\
  fastndcg plot QRELS BASELINE RUN -m ndcg@10 -o differences.png
  fastndcg plot QRELS BASELINE RUN --kind curve -m precision@10 -o curve.svg
"""


def add_compare(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``compare`` with its options."""
    parser = options.add_command(
        commands, "compare", "QRELS RUN RUN [RUN ...]",
        "compare runs with a baseline: differences, intervals, tests, a report", COMPARE, COMPARE_EXAMPLES,
    )  # fmt: skip
    numbers = _add_inputs(parser)
    numbers.add_argument(
        "--segments", metavar="FILE", help="compare by segment too; FILE has a query id and a segment on each line"
    )
    options.add_output(parser)
    group = parser.add_argument_group("report")
    group.add_argument("--html", metavar="FILE", help="also write a report as one HTML page that works offline")
    group.add_argument(
        "--queries", metavar="FILE", help="texts of the queries for the report; FILE has a query id, a tab and a text "
        "on each line",
    )  # fmt: skip
    group.add_argument(
        "--documents", action="store_true", help="the report also lists the documents of the queries won and lost most"
    )
    group.add_argument("--title", default="", metavar="TEXT", help="the title of the report")
    _add_expert_options(parser)
    parser.set_defaults(run=run_compare)


def add_plot(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``plot`` with its options."""
    parser = options.add_command(
        commands, "plot", "QRELS RUN RUN [RUN ...] -o FILE",
        "draw a comparison of runs as a forest plot, a curve or a histogram", PLOT, PLOT_EXAMPLES,
    )  # fmt: skip
    _add_inputs(parser)
    group = parser.add_argument_group("picture")
    group.add_argument("--kind", choices=PLOTS, default="forest", help="the kind of plot (default: forest)")
    group.add_argument(
        "--system", metavar="NAME", help="the run that a histogram shows (default: the first run but the baseline)"
    )
    group.add_argument("--format", choices=PICTURES, help="the format of the picture (default: by the suffix of -o)")
    group.add_argument("-o", "--output", metavar="FILE", required=True, help="the picture's file, such as plot.png")
    _add_expert_options(parser)
    parser.set_defaults(run=run_plot)


def _add_inputs(parser: Any) -> Any:
    """Add the arguments that ``compare`` and ``plot`` share, and return the group of what is computed."""
    options.add_help_all(parser, "statistics, embeddings and threads")
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"two or more; {options.RUN}, {options.EMBEDDINGS}")
    numbers = parser.add_argument_group("what is computed")
    options.add_metrics(
        numbers,
        "metrics, separated by commas, such as 'ndcg@10,P(rel=2)@5'; may be repeated "
        f"(default: {options.DEFAULT_METRICS})",
    )
    options.add_names(numbers)
    numbers.add_argument(
        "--baseline", metavar="NAME", help="the run that the others are compared with, by its name or file "
        "(default: the first)",
    )  # fmt: skip
    options.add_convention(numbers)
    options.add_reading(parser)
    options.add_duplicates(parser)
    return numbers


def _add_expert_options(parser: Any) -> None:
    with parser.expert("statistics, which the documentation of fastndcg.compare explains") as group:
        _add_statistics(group)
    options.add_embeddings(parser)
    with parser.expert("threads") as group:
        options.add_threads(group)


def _add_statistics(group: Any) -> None:
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
    group.add_argument(
        "--margin", type=float, metavar="X", help="also test whether differences are within ±X (default: no such test)"
    )
    group.add_argument("--level", type=float, metavar="X", help="the confidence level, such as 0.99 (default: 0.95)")
    group.add_argument(
        "--replicates", type=int, metavar="N", help="replicates of the bootstrap and the randomization (default: 10000)"
    )
    group.add_argument("--seed", type=int, metavar="N", help="the seed of the random numbers (default: 0)")


def run_compare(arguments: argparse.Namespace) -> None:
    """Check the options, compare the runs, and write the table and the report."""
    _check(arguments, filter(None, (arguments.segments, arguments.queries)), {"--html": arguments.html})
    if arguments.queries and not arguments.html:
        raise InvalidInputError("--queries is for the report. Add --html FILE, or leave it out.")
    comparison = _compare(arguments, _choose_curves(arguments) if arguments.html else None)
    if arguments.html:
        from fastndcg.reports.html.page import page

        written = page(comparison, arguments.title, comparison.query_texts, documents=arguments.documents)
        output.write([written], arguments.html, "--html")
    output.write(_format(comparison, arguments.format, arguments.output), arguments.output)


def run_plot(arguments: argparse.Namespace) -> None:
    """Compare the runs, draw the comparison and save the picture."""
    _check(arguments, (), {})
    figure, ending = output.check_picture(arguments.output, "-o", arguments.format)
    is_curve = arguments.kind == "curve"
    comparison = _compare(arguments, _choose_curves(arguments)[:1] if is_curve else None)
    height = 1.1 + 0.3 * len(comparison.systems) if arguments.kind == "forest" else 4.2
    figure.set_size_inches(9.4 if is_curve else 7.0, height)
    metric = None if is_curve else comparison.metrics[0]
    comparison.plot(arguments.kind, metric=metric, system=arguments.system, axes=figure.subplots())
    output.write_picture(figure, ending, arguments.output, "-o")


def _check(arguments: argparse.Namespace, more: Iterable[str], targets: dict[str, str | None]) -> None:
    """Raise for wrong files, and for packages that are absent, before any work is done."""
    files.check_embeddings(arguments, arguments.runs)
    if len(arguments.runs) < 2:
        raise InvalidInputError(
            f"{arguments.command} needs two RUNs or more, got 1. Name another, or take `fastndcg evaluate` for one run."
        )
    files.check(arguments, [arguments.qrels, *arguments.runs, *more], {"-o": arguments.output, **targets})
    check_packages("comparing runs", "statistics")


def _choose_curves(arguments: argparse.Namespace) -> list[Metric]:
    """Return the metrics to draw at each cutoff: those of the table that have a cutoff, or nDCG."""
    metrics = parse_metrics(arguments.metrics or options.DEFAULT_METRICS)
    families = [Metric(metric.name)(**dict(metric.parameters)) for metric in metrics if metric.k is not None]
    return list(dict.fromkeys(families)) or list(parse_metrics(CURVE_METRICS))


def _compare(arguments: argparse.Namespace, curves: Metrics | None) -> Comparison:
    """
    Return the comparison that the command's arguments describe.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of the command.
    curves : str, list of Metric or None
        The metrics to compute at many cutoffs as well. None computes none.
    """
    metrics = parse_metrics(arguments.metrics or options.DEFAULT_METRICS)
    convention = parse_convention(arguments.convention)
    statistics = {name: getattr(arguments, name) for name in STATISTICS if getattr(arguments, name) is not None}
    names = options.read_names(arguments)
    with show_progress(2 + len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.inputs.formats import name_runs  # imports numpy, which the checks above do without
        from fastndcg.statistics.compare import compare
        from fastndcg.statistics.settings import Settings

        Settings(**statistics)
        segments = files.read_segments(arguments.segments) if getattr(arguments, "segments", None) else None
        queries = files.read_queries(arguments.queries) if getattr(arguments, "queries", None) else None
        names = names or name_runs(arguments.runs)
        qrels = files.read_judgments(arguments.qrels, arguments)
        runs: list[tuple[str, Run | Embeddings]] = []
        for name, path in zip(names, arguments.runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            runs.append((name, files.read_predictions(path, qrels, arguments)))
        begin_step("comparing")
        return compare(
            qrels,
            runs,
            metrics,
            baseline=find_baseline(arguments.baseline, names, arguments.runs),
            convention=convention,
            segments=segments,
            curves=curves,
            queries=queries,
            threads=arguments.threads,
            **files.list_duplicates(arguments),
            **files.read_selection(arguments, arguments.runs),
            **statistics,
        )


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


def _format(comparison: Comparison, form: str, target: str | None) -> Iterator[str] | Sequence[str]:
    from fastndcg.reports import text

    if form == "table":
        lines: list[str] = list(text.terminal(comparison, **_terminal_options(target)))
        if comparison.segments is not None:
            lines += ["\n", f"{comparison.by()}\n"]
        return lines
    return [output.format_table(comparison, form)]


def _terminal_options(target: str | None) -> dict[str, Any]:
    """Return whether the table may have colours, and whether it may have characters beyond ASCII."""
    to_terminal = target is None and sys.stdout is not None and sys.stdout.isatty()
    has_colours = to_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = "utf-8" if target is not None else getattr(sys.stdout, "encoding", None) or "ascii"
    return {"colour": has_colours, "unicode": encoding.lower().replace("-", "").startswith("utf")}
