"""``fastndcg bounds``, ``judge-next`` and the commands on judges: unjudged documents, and what judges are worth."""

from __future__ import annotations

import argparse
from typing import Any

from fastndcg.cli import files, options, output
from fastndcg.cli.compare import find_baseline
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
    from fastndcg.judging.next_judgments import judge_next

    qrels = files.read_judgments(arguments.qrels, arguments)
    runs = list(files.read_runs(arguments, qrels))
    chosen = judge_next(qrels, runs, arguments.metric, arguments.n, arguments.method, **settings)
    output.write_result(arguments, chosen)


def _read_settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the labels, the convention and the threads."""
    return {"labels": options.read_labels(arguments.labels), **options.pick(arguments, "convention threads")}


def run_estimate_with_judge(arguments: argparse.Namespace) -> None:
    """Estimate means and differences with a judge, and write them."""
    human, judge, runs = _read_judged(arguments)
    from fastndcg.judging.judges import estimate_with_judge

    baseline = find_baseline(arguments.baseline, [name for name, _ in runs], arguments.runs)
    settings = options.pick(arguments, "convention level threads")
    metrics = arguments.metrics or DEFAULT_METRICS
    output.write_result(arguments, estimate_with_judge(human, judge, runs, metrics, baseline=baseline, **settings))


def run_compare_judges(arguments: argparse.Namespace) -> None:
    """Compare a judge with human labels, and write the result."""
    human, judge, runs = _read_judged(arguments)
    from fastndcg.judging.judges import compare_judges

    settings = options.pick(arguments, "convention test correction level replicates seed threads")
    output.write_result(arguments, compare_judges(human, judge, runs, arguments.metrics or DEFAULT_METRICS, **settings))


def _read_judged(arguments: argparse.Namespace) -> tuple[Any, Any, list[tuple[str, Any]]]:
    """Return the human's and the judge's labels, and the runs."""
    parse_metrics(arguments.metrics or DEFAULT_METRICS)
    human, judge = (files.read_judgments(path, arguments) for path in (arguments.human, arguments.judge))
    return human, judge, list(files.read_runs(arguments, None))
