"""``fastndcg explain``: how the value of a metric for one query is computed."""

from __future__ import annotations

import argparse
from typing import Any

from fastndcg.cli import embeddings, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.rankings.pair_rows import COMPETITORS

DEFAULT_METRIC = "ndcg@10"
DESCRIPTION = """\
Explain the value of one metric for one query: the rank, score, label and contribution of each document, the ideal
ranking, and the sum. With --against, also explain the difference from another convention.
"""
EXAMPLES = """\
  fastndcg explain qrels.txt run.txt q17 -m ndcg@10
  fastndcg explain qrels.txt run.txt q17 -m ndcg@10 --against lightgbm
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "explain", "explain the value of a metric for one query", DESCRIPTION, EXAMPLES
    )
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("predictions", metavar="RUN", help=f"{options.RUN}, {options.EMBEDDINGS}")
    parser.add_argument("query", metavar="QUERY", help="the id of the query")
    parser.add_argument(
        "-m", "--metric", default=DEFAULT_METRIC, metavar="METRIC", help=f"one metric (default: {DEFAULT_METRIC})"
    )
    options.add_convention(parser)
    parser.add_argument(
        "--document", metavar="ID", help="rank this relevant document alone, as in a row of --rows pair of evaluate"
    )
    parser.add_argument(
        "--competitors",
        choices=COMPETITORS,
        default=COMPETITORS[0],
        help="the documents that --document is ranked among: all, or those that are not relevant (default: all)",
    )
    options.add_columns(parser)
    parser.add_argument("--against", metavar="NAME", help="a second convention to compare with, such as 'sklearn'")
    options.add_output(parser)
    options.add_embeddings(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check the options, explain the value, and write the explanation."""
    parse_metrics(arguments.metric)
    for name in (arguments.convention, arguments.against):
        if name is not None:
            parse_convention(name)
    runs = [arguments.predictions]
    embeddings.check_options(arguments, runs)
    if arguments.output is not None:
        output.check(arguments.output, [arguments.qrels, *embeddings.list_files(runs)])
    with show_progress(1) as begin_step:
        begin_step("reading")
        from fastndcg.explaining import explain  # imports numpy, which --help and the checks above do without

        truth: Any = arguments.qrels
        predictions: Any = arguments.predictions
        if embeddings.has_embeddings(runs):
            from fastndcg.inputs.text.formats import read_qrels

            truth = read_qrels(arguments.qrels)
            predictions = embeddings.read_predictions(arguments.predictions, truth, arguments)
        explanation = explain(
            truth,
            predictions,
            arguments.metric,
            query=arguments.query,
            document=arguments.document,
            competitors=arguments.competitors,
            columns=options.read_columns(arguments.columns),
            convention=arguments.convention,
            against=arguments.against,
            **embeddings.read_selection(arguments, runs),
        )
    output.write([f"{explanation}\n"], arguments.output)
