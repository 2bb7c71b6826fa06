"""``fastndcg compare``, ``plot``, ``explain``, ``diff`` and ``agreement``: differences of runs, and their reasons."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg.cli import files, options, output
from fastndcg.cli.trec_eval import Report
from fastndcg.errors import InvalidInputError
from fastndcg.exports import dump_json
from fastndcg.metrics.metric import DEFAULT_METRICS, Metric, parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import csv_row

if TYPE_CHECKING:
    from fastndcg.statistics.comparison import Comparison
    from fastndcg.statistics.table import Table

CURVE_METRICS = "ndcg"  # drawn at each cutoff where no metric has a cutoff
STATISTICS = "test correction family alternative interval level replicates seed"


def run_compare(arguments: argparse.Namespace) -> None:
    """Compare the runs, and write the table and the report."""
    reports = [(arguments.html, "--html")] * bool(arguments.html)
    reports += [(arguments.output, "-o")] * (arguments.format == "html")
    for option, other in (
        ("queries", "leave it out"),
        ("judge", "take estimate-with-judge"),
        ("labels", "take bounds"),
    ):
        if getattr(arguments, option) is not None and not reports:
            raise InvalidInputError(f"--{option} is for the report. Add --html FILE, or {other}.")
    if arguments.judge is not None:
        arguments.judge = files.read_judgments(arguments.judge, arguments)
    if arguments.labels is not None:
        arguments.labels = options.read_labels(arguments.labels)
    comparison, segments, texts = _compare(arguments)
    tables: dict[str, Table[Any]] = {}
    if segments is not None:
        tables["segments"] = comparison.by(segments)
    if arguments.margin is not None:
        tables["equivalence"] = comparison.equivalence(arguments.margin)
    if reports:
        from fastndcg.reports.page import page

        written = page(
            comparison, arguments.title, segments=segments, queries=texts, curves=_choose_curves(arguments),
            margin=arguments.margin, documents=arguments.documents, judge=arguments.judge,
            labels=arguments.labels,
        )  # fmt: skip
        for target, option in reports:
            output.write([written], target, option)
    if arguments.format != "html":
        output.write(_list_pieces(comparison, tables, arguments), arguments.output)


def _list_pieces(comparison: Comparison, tables: dict[str, Table[Any]], arguments: argparse.Namespace) -> Iterable[str]:
    """Return the texts of a comparison, and of tables by segment and of equivalence, in the format of the output."""
    from fastndcg.reports import text

    if arguments.format == "table":
        return text.terminal(comparison, tables.values(), **_terminal_options(arguments.output))
    if arguments.format == "json":
        return [text.as_json(comparison, tables)]
    if arguments.format == "csv":
        return [text.as_csv(comparison, equivalence=tables.get("equivalence"))]
    return ["\n".join(getattr(one, f"to_{arguments.format}")() for one in (comparison, *tables.values()))]


def run_plot(arguments: argparse.Namespace) -> None:
    """Compare the runs, draw the comparison and save the picture, or write its numbers."""
    if arguments.format == "json":
        output.write([dump_json(_list_numbers(_compare(arguments)[0], arguments))], arguments.output)
        return
    if arguments.output is None:
        raise InvalidInputError("-o is missing: a picture is a file. Add -o plot.png, or --json for its numbers.")
    figure, ending = output.check_picture(arguments.output, "-o", arguments.format)
    comparison, *_ = _compare(arguments)
    is_curve = arguments.kind == "curve"
    height = 1.1 + 0.3 * len(comparison.systems) if arguments.kind == "forest" else 4.2
    figure.set_size_inches(9.4 if is_curve else 7.0, height)
    shown: Any = {"curves": _choose_curves(arguments)[:1]} if is_curve else {"metric": comparison.metrics[0]}
    comparison.plot(arguments.kind, **shown, system=arguments.system, axes=figure.subplots())
    output.write_picture(figure, ending, arguments.output, "-o")


def _list_numbers(comparison: Comparison, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the numbers of a picture: the rows of a forest, the points of a curve, or differences by query."""
    metric = comparison.metrics[0]
    numbers: Any = [row._asdict() for row in comparison.rows if row.metric == str(metric)]
    if arguments.kind == "curve":
        numbers = [point._asdict() for point in comparison.curves(_choose_curves(arguments)[:1])]
    elif arguments.kind == "histogram":
        system = arguments.system or next(name for name in comparison.systems if name != comparison.baseline)
        values = comparison.differences(system, metric).tolist()
        numbers = {"system": system, "differences": dict(zip(comparison.query_ids.tolist(), values, strict=True))}
    return {"kind": arguments.kind, "metric": str(metric), "baseline": comparison.baseline, "numbers": numbers}


def _choose_curves(arguments: argparse.Namespace) -> list[Metric]:
    """Return the metrics to draw at each cutoff: those of the table that have a cutoff, or nDCG."""
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS)
    families = [Metric(metric.name)(**dict(metric.parameters)) for metric in metrics if metric.k is not None]
    return list(dict.fromkeys(families)) or list(parse_metrics(CURVE_METRICS))


def _compare(arguments: argparse.Namespace) -> tuple[Comparison, Any, Any]:
    """Return the comparison that the command's arguments describe, and the segments and the texts of its queries."""
    if len(arguments.runs) < 2:
        raise InvalidInputError(
            f"{arguments.command} needs two RUNs or more, got 1. Name another, or take `fastndcg evaluate` for one run."
        )
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS)
    from fastndcg.statistics.compare import compare  # imports numpy, which the checks above do without
    from fastndcg.statistics.settings import Settings

    statistics = options.pick(arguments, STATISTICS)
    Settings(**statistics)
    qrels = files.read_judgments(arguments.qrels, arguments)
    given = {"segment": getattr(arguments, "segments", None), "text": getattr(arguments, "queries", None)}
    segments, texts = (path and files.read_pairs(path, what, qrels.queries) for what, path in given.items())
    runs = list(files.read_runs(arguments, qrels))
    comparison = compare(
        qrels,
        runs,
        metrics,
        baseline=find_baseline(arguments.baseline, [name for name, _ in runs], arguments.runs),
        **options.pick(arguments, "convention threads"),
        **statistics,
    )
    return comparison, segments, texts


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


def _terminal_options(target: str | None) -> dict[str, Any]:
    """Return whether the table may have colours, and characters beyond ASCII, and its width unless it is for a file."""
    to_terminal = target is None and sys.stdout is not None and sys.stdout.isatty()
    has_colours = to_terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    encoding = "utf-8" if target is not None else getattr(sys.stdout, "encoding", None) or "ascii"
    width = {} if target is not None else {"width": shutil.get_terminal_size().columns}
    return {"colour": has_colours, "unicode": encoding.lower().replace("-", "").startswith("utf"), **width}


def run_explain(arguments: argparse.Namespace) -> None:
    """Explain the value, and write the explanation."""
    parse_metrics(arguments.metric)
    if arguments.against is not None:
        parse_convention(arguments.against)
    from fastndcg.explaining import explain  # imports numpy, which --help and the checks above do without

    truth = files.read_judgments(arguments.qrels, arguments)
    predictions = files.read_predictions(arguments.runs[0], truth, arguments)
    query = arguments.query and files.name_query(arguments.query, truth.queries)
    explanation = explain(
        truth,
        predictions,
        arguments.metric,
        query=query,
        **options.pick(arguments, "convention against"),
    )
    output.write_result(arguments, explanation)


def run_diff(arguments: argparse.Namespace) -> None:
    """Account for the difference of two runs, and write the account and its picture."""
    parse_metrics(arguments.metric)
    if arguments.convention_after is not None:
        parse_convention(arguments.convention_after)
    from fastndcg.explaining.change import explain_change  # imports numpy, which --help and the checks above do without

    picture = output.check_picture(arguments.plot, "--plot") if arguments.plot else None
    truth = files.read_judgments(arguments.qrels, arguments)
    before, after = (files.read_predictions(path, truth, arguments) for path in arguments.runs)
    settings = options.pick(arguments, "convention convention_after threads")
    if arguments.qrels_after is not None:
        settings["truth_after"] = files.read_judgments(arguments.qrels_after, arguments)
    change = explain_change(truth, before, after, arguments.metric, **settings)
    query = arguments.query and files.name_query(arguments.query, truth.queries)
    output.write_result(arguments, change if query is None else change.documents(query))
    if picture is not None:
        figure, ending = picture
        figure.set_size_inches(7.0, 2.6)
        change.plot(axes=figure.subplots())
        output.write_picture(figure, ending, arguments.plot, "--plot")


def run_agreement(arguments: argparse.Namespace) -> None:
    """Compare the runs, and write the result."""
    metrics = parse_metrics(arguments.metrics or options.AGREEMENT_METRICS, "agreement")
    from fastndcg.rank_agreement import agreement  # imports numpy, which --help and the checks above do without

    (_, first), (_, second) = files.read_runs(arguments, None)
    result = agreement(first, second, metrics, **options.pick(arguments, "threads"))
    report, form, per_query = Report("", result), arguments.format, arguments.per_query
    if form == "table":
        output.write_reports(arguments, [report])
    elif form == "json":
        facts = output.describe_run(report, per_query)
        output.write([dump_json({name: fact for name, fact in facts.items() if name != "run"})], arguments.output)
    elif form == "csv" and not per_query:
        head = csv_row([*map(str, result.metrics), "queries", "tied"])
        output.write([head, csv_row([*result.means(), len(result), result.n_tied])], arguments.output)
    else:
        output.write_result(arguments, result)
