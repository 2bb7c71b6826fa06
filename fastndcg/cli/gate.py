"""``fastndcg gate``, ``plan`` and ``leaderboard``: decisions from differences, with exit codes for CI."""

from __future__ import annotations

import argparse
from typing import Any

from fastndcg.cli import files, options, output
from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import parse_metrics

EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3, "not comparable": 4}


def run_gate(arguments: argparse.Namespace) -> int:
    """Write the verdict, and return its exit code."""
    metrics = parse_metrics(arguments.metrics, None) if arguments.metrics else None
    margin = options.read_values("--margin", arguments.margin, "a number, or METRIC=X for each metric", str) or 0.0
    if isinstance(margin, list):
        (margin,) = margin if len(margin) == 1 else [", ".join(margin)]  # which `gate` refuses
    floors: dict[str, Any] = options.read_floors(arguments.fail_under)
    if arguments.fail_by == "limit":
        floors = {metric: f"{floor} by limit" for metric, floor in floors.items()}
    (candidate_path,) = arguments.runs
    from fastndcg.statistics.gate import gate  # imports numpy, which the checks above do without

    truth, baseline, candidate = _read_compared(arguments, candidate_path)
    design: dict[str, Any] = {}
    for name, path in options.pick(arguments, "clusters strata weights").items():
        design[name] = files.read_pairs(path, "weight" if name == "weights" else "segment", truth.queries)
    verdict = gate(
        truth,
        baseline,
        candidate,
        metrics,
        margin=margin,
        floors=floors,
        **options.pick(arguments, "interval level sequential convention threads"),
        **design,
    )
    text = f"{verdict}\n" if arguments.format == "text" else getattr(verdict, f"to_{arguments.format}")()
    output.write([text], arguments.output)
    return EXIT_CODES[verdict.verdict]


def _read_compared(arguments: argparse.Namespace, candidate: str) -> tuple[Any, Any, Any]:
    """Return the truth, the baseline and the candidate. Chunks are evaluated as those of a saved baseline were."""
    from fastndcg.inputs.spans import Spans
    from fastndcg.results.kinds import SpanResults, load_result
    from fastndcg.results.saved import is_saved_result
    from fastndcg.span_retrieval import evaluate_spans

    saved = load_result(arguments.baseline) if is_saved_result(arguments.baseline) else None
    if isinstance(saved, SpanResults):
        paths = arguments.qrels, candidate
        gold, chunks = (Spans(path, columns=arguments.columns.predictions) for path in paths)
        return gold, saved, evaluate_spans(gold, chunks, saved.metrics, threads=arguments.threads)
    qrels = files.read_judgments(arguments.qrels, arguments)
    baseline = files.read_predictions(arguments.baseline, qrels, arguments) if saved is None else saved
    return qrels, baseline, files.read_predictions(candidate, qrels, arguments)


def run_plan(arguments: argparse.Namespace) -> None:
    """Print the plan, or the audit of published means."""
    if arguments.audit is not None:
        _run_audit(arguments)
        return
    if arguments.other is not None:
        raise InvalidInputError("--other is a second published mean, beside --audit MEAN. Add it, or leave it out.")
    sizes = arguments.clusters and arguments.clusters.split(",")
    clusters = sizes and tuple(options.read_values("--clusters", sizes, "two numbers, such as 5,0.3"))
    from fastndcg.statistics.planning import plan  # imports numpy, which the checks above do without

    source = arguments.std if arguments.source is None else _read_source(arguments.source)
    settings = options.pick(arguments, "difference n metric power level alternative")
    found = plan(**settings, from_=source, clusters=clusters)
    if arguments.format == "table":
        output.write([f"{found}\n"], arguments.output)
    else:
        facts = found._asdict()
        output.write_table(arguments, [list(facts), list(map(str, facts.values()))], facts=facts)


def _read_source(text: str) -> Any:
    """Return the results of one file, or the gate of two."""
    from fastndcg.results.kinds import load_result
    from fastndcg.statistics.gate import gate

    results = [load_result(path) for path in text.split(",")]
    if len(results) > 2:
        raise InvalidInputError(f"--from must have one file or two, not {len(results)}. Leave the others out.")
    return results[0] if len(results) == 1 else gate(None, results[0], results[1])


def _run_audit(arguments: argparse.Namespace) -> None:
    given = options.pick(arguments, "difference metric clusters")
    if given:
        raise InvalidInputError(f"--{next(iter(given))} is for a plan, and --audit takes -n N. Leave it out.")
    from fastndcg.statistics.planning import audit  # imports numpy, which a wrong option does without

    output.write_result(arguments, audit(arguments.audit, **options.pick(arguments, "n other level")))


def run_leaderboard(arguments: argparse.Namespace) -> None:
    """Write the leaderboard."""
    (metric,) = [None] if arguments.metric is None else parse_metrics([arguments.metric])
    from fastndcg.inputs.published import read_published
    from fastndcg.statistics.leaderboard import leaderboard  # imports numpy, which the checks above do without

    settings = options.pick(arguments, "level replicates seed")
    if arguments.runs:
        qrels = files.read_judgments(arguments.qrels, arguments)
        systems = {name: {"queries": run} for name, run in files.read_runs(arguments, qrels)}
        settings |= options.pick(arguments, "convention threads")
        board = leaderboard({"queries": qrels}, systems, metric, **settings)
    else:
        board = leaderboard(read_published(arguments.qrels, arguments.columns.truth), metric=metric, **settings)
    output.write_result(arguments, board)
