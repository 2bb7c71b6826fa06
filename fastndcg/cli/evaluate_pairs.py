"""``fastndcg evaluate-pairs``: link prediction, in which each relevant document is ranked on its own."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import get_args

from fastndcg.choices import Competitors, ResultRows
from fastndcg.cli import files, formats, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.threads import check_threads

DEFAULT_METRICS = "mean_rank,mrr,hits_at@1,hits_at@10"
DESCRIPTION = """\
Rank each relevant document on its own, as link prediction does: one row for each pair of a query and a relevant
document, ranked among the documents that are not relevant.
"""
EXAMPLES = """\
  fastndcg evaluate-pairs true.tsv ranks.run --convention pykeen
  fastndcg evaluate-pairs true.tsv a.run b.run -m mrr,hit_rate@10,amri --competitors all
  fastndcg evaluate-pairs true.tsv heads.npy,tails.npy -m amri --rows query --per-query
"""


def add_evaluate_pairs(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "evaluate-pairs", "QRELS RUN [RUN ...]",
        "compute metrics of link prediction, for each relevant document", DESCRIPTION, EXAMPLES,
    )  # fmt: skip
    options.add_help_all(parser, "embeddings and threads")
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"{options.RUN}, {options.EMBEDDINGS}")
    numbers = parser.add_argument_group("what is computed")
    options.add_metrics(
        numbers,
        f"metrics, separated by commas, such as 'mrr,hits_at@10'; may be repeated (default: {DEFAULT_METRICS})",
    )
    numbers.add_argument(
        "--rows",
        choices=get_args(ResultRows),
        default=get_args(ResultRows)[0],
        help="what has a row: each pair, or each query, with the mean over its pairs (default: pair)",
    )
    numbers.add_argument(
        "--competitors",
        choices=get_args(Competitors),
        default=get_args(Competitors)[0],
        help="the documents that a relevant one is ranked among: those that are not relevant, or all "
        "(default: nonrelevant)",
    )
    options.add_convention(numbers)
    options.add_reading(parser)
    group = options.add_output(parser, ("table", "json", "csv"))
    group.add_argument("--per-query", action="store_true", help="also print the values of each row")
    options.add_embeddings(parser)
    with parser.expert("threads") as group:
        options.add_threads(group)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check the options, evaluate the runs, and write the results."""
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS)
    parse_convention(arguments.convention)
    check_threads(arguments.threads)
    files.check_embeddings(arguments, arguments.runs)
    files.check(arguments, [arguments.qrels, *arguments.runs], {"-o": arguments.output})
    with show_progress(1 + 2 * len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.inputs.formats import name_runs  # imports numpy, which --help and the checks above do without
        from fastndcg.link_prediction import evaluate_pairs

        qrels = files.read_judgments(arguments.qrels, arguments)
        selection = files.read_selection(arguments, arguments.runs)
        reports = []
        for name, path in zip(name_runs(arguments.runs), arguments.runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            predictions = files.read_predictions(path, qrels, arguments)
            begin_step(f"evaluating {Path(path).name}")
            result = evaluate_pairs(
                qrels, predictions, metrics, rows=arguments.rows, competitors=arguments.competitors,
                convention=arguments.convention, threads=arguments.threads, **selection,
            )  # fmt: skip
            reports.append(formats.Report(name, result))
    output.write(formats.FORMATS[arguments.format](reports, arguments.per_query, ""), arguments.output)
