"""``fastndcg explain``: why a query's number is what it is."""

from __future__ import annotations

import argparse

from fastndcg.cli import output
from fastndcg.cli.progress import progress
from fastndcg.conventions import conventions, parse_convention
from fastndcg.metric import parse_metrics

DEFAULT_METRIC = "ndcg@10"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser(
        "explain",
        help="show how a metric's value for one query comes about",
        description="Show each document's rank, score, label and contribution, the best order, and the sum.",
    )
    parser.add_argument("qrels", metavar="QRELS", help="judgments: query, iteration, document, label")
    parser.add_argument("predictions", metavar="RUN", help="a ranking: query, Q0, document, rank, score, name")
    parser.add_argument("query", metavar="QUERY", help="the query's id")
    parser.add_argument(
        "-m", "--metric", default=DEFAULT_METRIC, metavar="METRIC", help=f"one metric (default: {DEFAULT_METRIC})"
    )
    parser.add_argument(
        "--convention", default="default", metavar="NAME", help=f"what numbers mean: {', '.join(conventions)}"
    )
    parser.add_argument("--against", metavar="NAME", help="another convention: what makes the difference to it")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, whole or not at all")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check what can be checked before reading, explain, write."""
    parse_metrics(arguments.metric)
    for name in (arguments.convention, arguments.against):
        if name is not None:
            parse_convention(name)
    if arguments.output is not None:
        output.check(arguments.output, [arguments.qrels, arguments.predictions])
    with progress(1) as step:
        step("reading")
        from fastndcg.explain import explain  # brings numpy, which --help and errors above do without

        explained = explain(
            arguments.qrels,
            arguments.predictions,
            arguments.metric,
            query=arguments.query,
            convention=arguments.convention,
            against=arguments.against,
        )
    output.write([f"{explained}\n"], arguments.output)
