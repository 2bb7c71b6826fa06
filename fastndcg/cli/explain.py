"""``fastndcg explain`` and ``agreement``: one query's value in detail, and two runs compared without judgments."""

from __future__ import annotations

import argparse

from fastndcg.cli import files, formats, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.exports.exportable import dump_json
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import csv_row


def run_explain(arguments: argparse.Namespace) -> None:
    """Explain the value, and write the explanation."""
    parse_metrics(arguments.metric)
    if arguments.against is not None:
        parse_convention(arguments.against)
    with show_progress(1) as begin_step:
        begin_step("reading")
        from fastndcg.explaining import explain  # imports numpy, which --help and the checks above do without

        truth = files.read_judgments(arguments.qrels, arguments)
        explanation = explain(
            truth,
            files.read_predictions(arguments.runs[0], truth, arguments),
            arguments.metric,
            query=arguments.query,
            convention=arguments.convention,
            against=arguments.against,
            **files.list_duplicates(arguments),
            **files.read_selection(arguments, arguments.runs),
        )
    output.write_result(arguments, explanation)


def run_agreement(arguments: argparse.Namespace) -> None:
    """Compare the runs, and write the result."""
    metrics = parse_metrics(arguments.metrics or options.AGREEMENT_METRICS, "agreement")
    with show_progress(len(arguments.runs) + 1) as begin_step:
        from fastndcg.rank_agreement import agreement  # imports numpy, which --help and the checks above do without

        runs = [run for _, run in files.read_runs(arguments, None, begin_step)]
        begin_step("comparing")
        result = agreement(runs[0], runs[1], metrics, threads=arguments.threads)
    report, form, per_query = formats.Report("", result), arguments.format, arguments.per_query
    if form == "table":
        output.write(formats.FORMATS[form]([report], per_query), arguments.output)
    elif form == "json":
        facts = formats.describe_run(report, per_query)
        output.write([dump_json({name: fact for name, fact in facts.items() if name != "run"})], arguments.output)
    elif form == "csv" and not per_query:
        head = csv_row([*map(str, result.metrics), "queries", "tied"])
        output.write([head, csv_row([*result.means(), len(result), result.n_tied])], arguments.output)
    else:
        output.write_result(arguments, result)
