"""``fastndcg explain`` and ``agreement``: one query's value in detail, and two runs compared without judgments."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg.cli import files, formats, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.exports.exportable import dump_json
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import csv_row
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from fastndcg.rank_agreement import Agreement

AGREEMENT_METRICS = "tau_b,tau_ap,rbo"
EXPLAIN = """\
Explain the value of one metric for one query: the rank, score, label and contribution of each document, the ideal
ranking, and the sum. With --against, also explain the difference from another convention.
"""
EXPLAIN_EXAMPLES = """\
  fastndcg explain qrels.txt run.txt q17 -m ndcg@10
  fastndcg explain qrels.txt run.txt q17 -m ndcg@10 --against lightgbm
"""
AGREEMENT = """\
Compare the rankings of two runs query by query, without judgments: Kendall's tau (tau_b), AP correlation (tau_ap) and
rank-biased overlap (rbo). AP correlation is not symmetric; it takes the first run as the true ranking.
"""
AGREEMENT_EXAMPLES = """\
  fastndcg agreement first.run second.run
  fastndcg agreement first.run second.run -m 'tau_b,rbo(p=0.9)@100' --per-query
"""


def add_explain(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``explain`` with its options."""
    parser = options.add_command(
        commands, "explain", "QRELS RUN QUERY", "explain the value of a metric for one query", EXPLAIN, EXPLAIN_EXAMPLES
    )
    options.add_help_all(parser, "embeddings")
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs=1, metavar="RUN", help=f"{options.RUN}, {options.EMBEDDINGS}")
    parser.add_argument("query", metavar="QUERY", help="the id of the query")
    numbers = parser.add_argument_group("what is computed")
    options.add_metric(numbers, "one metric")
    options.add_convention(numbers)
    numbers.add_argument("--against", metavar="NAME", help="a second convention to compare with, such as 'sklearn'")
    options.add_reading(parser)
    options.add_duplicates(parser)
    options.add_output(parser)
    options.add_embeddings(parser)
    parser.set_defaults(run=run_explain)


def run_explain(arguments: argparse.Namespace) -> None:
    """Check the options, explain the value, and write the explanation."""
    parse_metrics(arguments.metric)
    for name in (arguments.convention, arguments.against):
        if name is not None:
            parse_convention(name)
    runs = arguments.runs
    files.check_embeddings(arguments, runs)
    files.check(arguments, [arguments.qrels, *runs], {"-o": arguments.output})
    with show_progress(1) as begin_step:
        begin_step("reading")
        from fastndcg.explaining import explain  # imports numpy, which --help and the checks above do without

        truth = files.read_judgments(arguments.qrels, arguments)
        explanation = explain(
            truth,
            files.read_predictions(runs[0], truth, arguments),
            arguments.metric,
            query=arguments.query,
            convention=arguments.convention,
            against=arguments.against,
            **files.list_duplicates(arguments),
            **files.read_selection(arguments, runs),
        )
    output.write([output.format_table(explanation, arguments.format)], arguments.output)


def add_agreement(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``agreement`` with its options."""
    parser = options.add_command(
        commands, "agreement", "RUN RUN", "compare the rankings of two runs by rank correlation and overlap",
        AGREEMENT, AGREEMENT_EXAMPLES,
    )  # fmt: skip
    parser.add_argument("runs", nargs=2, metavar="RUN", help=options.RUN)
    numbers = parser.add_argument_group("what is computed")
    options.add_metrics(
        numbers,
        f"metrics, separated by commas, such as 'tau_b,rbo(p=0.9)@100'; may be repeated (default: {AGREEMENT_METRICS})",
    )
    options.add_threads(numbers)
    options.add_reading(parser, has_qrels=False)
    group = options.add_output(parser)
    group.add_argument("--per-query", action="store_true", help="also print the values of each query")
    parser.set_defaults(run=run_agreement)


def run_agreement(arguments: argparse.Namespace) -> None:
    """Check the options, compare the runs, and write the result."""
    metrics = parse_metrics(arguments.metrics or AGREEMENT_METRICS, "agreement")
    check_threads(arguments.threads)
    paths = arguments.runs
    files.refuse_embeddings("agreement", paths)
    files.check(arguments, paths, {"-o": arguments.output})
    with show_progress(len(paths) + 1) as begin_step:
        from fastndcg.rank_agreement import agreement  # imports numpy, which --help and the checks above do without

        runs: list[Any] = []
        for path in paths:
            begin_step(f"reading {Path(path).name}")
            runs.append(files.read_run(path, arguments))
        begin_step("comparing")
        result = agreement(runs[0], runs[1], metrics, threads=arguments.threads)
    output.write(_format_agreement(result, arguments.format, arguments.per_query), arguments.output)


def _format_agreement(result: Agreement, form: str, per_query: bool) -> Iterator[str]:
    """Yield the means, and the values of each query if `per_query`."""
    names = [str(metric) for metric in result.metrics]
    if form == "table":
        yield from formats.table([formats.Report("", result)], per_query, "")
    elif form == "json":
        rows = zip(result.query_ids.tolist(), result.values.tolist(), strict=True)
        by_query = {str(query): dict(zip(names, values, strict=True)) for query, values in rows}
        yield dump_json({**result.summary_facts(), **({"per_query": by_query} if per_query else {})})
    elif form == "csv" and not per_query:
        yield csv_row([*names, "queries", "tied"])
        yield csv_row([*result.means(), len(result), result.n_tied])
    else:
        yield output.format_table(result, form)
