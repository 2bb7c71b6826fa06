"""``fastndcg bounds`` and ``judge-next``: what unjudged documents could do, and which to judge."""

from __future__ import annotations

import argparse
from typing import Any

from fastndcg.cli import files, options, output
from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import DEFAULT_METRICS, parse_metrics


def run_bounds(arguments: argparse.Namespace) -> None:
    """Bound the means and the differences of the runs, and write the table."""
    metrics = parse_metrics(arguments.metrics or DEFAULT_METRICS)
    settings = _read_settings(arguments)
    from fastndcg.judging.bounds import bounds  # imports numpy, which --help and the checks above do without

    qrels = files.read_judgments(arguments.qrels, arguments)
    runs = list(files.read_runs(arguments, qrels))
    output.write_result(arguments, bounds(qrels, runs, metrics, **settings))


def run_judge_next(arguments: argparse.Namespace) -> None:
    """Choose the documents to judge, and write them."""
    parse_metrics(arguments.metric)
    settings = _read_settings(arguments)
    if arguments.n < 1:
        raise InvalidInputError(f"-n must be 1 or more, not {arguments.n}. Say how many documents to judge.")
    from fastndcg.judging.next_judgments import (
        judge_next,
    )  # imports numpy, which --help and the checks above do without

    qrels = files.read_judgments(arguments.qrels, arguments)
    runs = list(files.read_runs(arguments, qrels))
    chosen = judge_next(qrels, runs, arguments.metric, arguments.n, arguments.method, **settings)
    output.write_result(arguments, chosen)


def _read_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the labels, the convention and the threads."""
    return {"labels": options.read_labels(arguments.labels), **options.pick(arguments, "convention threads")}
