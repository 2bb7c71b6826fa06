"""``fastndcg gate``, ``plan`` and ``audit``: decisions from paired differences, with exit codes for CI."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg.cli import files, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import parse_metrics
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    from collections.abc import Sequence

EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3, "not comparable": 4}


def run_gate(arguments: argparse.Namespace) -> int:
    """Write the verdict, and return its exit code."""
    metrics = parse_metrics(arguments.metrics) if arguments.metrics else None
    margin = read_margins(arguments.margin)
    floors = options.read_floors(arguments.fail_under)
    (candidate_path,) = arguments.runs
    with show_progress(4) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.results.pairs import load_result  # imports numpy, which the checks above do without
        from fastndcg.results.saved import is_saved_result
        from fastndcg.statistics.gate import gate

        qrels = files.read_judgments(arguments.qrels, arguments)
        design: dict[str, Any] = {
            name: read(getattr(arguments, name))
            for name, read in (
                ("clusters", files.read_segments), ("strata", files.read_segments), ("weights", _read_weights),
            )
            if getattr(arguments, name)
        }  # fmt: skip
        begin_step(f"reading {Path(arguments.baseline).name}")
        is_saved = is_saved_result(arguments.baseline)
        baseline = (
            load_result(arguments.baseline)
            if is_saved
            else files.read_predictions(arguments.baseline, qrels, arguments)
        )
        begin_step(f"reading {Path(candidate_path).name}")
        candidate = files.read_predictions(candidate_path, qrels, arguments)
        begin_step("comparing")
        verdict = gate(
            qrels,
            baseline,
            candidate,
            metrics if metrics or is_saved else parse_metrics(options.DEFAULT_METRICS),
            margin=margin,
            floors=floors,
            floor_by=arguments.fail_by,
            level=arguments.level,
            sequential=arguments.sequential,
            convention=arguments.convention,
            threads=arguments.threads,
            **design,
            **files.list_duplicates(arguments),
            **files.read_selection(arguments, [candidate_path, arguments.baseline]),
        )
    text = f"{verdict}\n" if arguments.format == "text" else getattr(verdict, f"to_{arguments.format}")()
    output.write([text], arguments.output)
    return EXIT_CODES[verdict.verdict]


def read_margins(texts: Sequence[str]) -> Any:
    """
    Return the margins of ``--margin``: one for all metrics, or one for each that is named.

    >>> read_margins(["2%"]), read_margins(["ndcg@10=0.01", "rr=1%"])
    ('2%', {'ndcg@10': '0.01', 'rr': '1%'})
    """
    named = [text.rpartition("=") for text in texts]
    if not texts:
        return 0.0
    if len(texts) == 1 and not named[0][1]:
        return texts[0]
    if not all(separator for _, separator, _ in named):
        raise InvalidInputError(
            f"--margin must be one number for all metrics, or METRIC=X each time, not {shorten(', '.join(texts))}. "
            "Name each metric."
        )
    return {metric: value for metric, _, value in named}


def _read_weights(path: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for query, text in files.read_segments(path).items():
        try:
            weights[query] = float(text)
        except ValueError:
            raise InvalidInputError(
                f"{path}: query {show_name(query)} must have a number as weight, not {shorten(text)}. Correct the line."
            ) from None
    return weights


def run_plan(arguments: argparse.Namespace) -> None:
    """Print the plan."""
    clusters: Any = None
    if arguments.clusters is not None:
        try:
            clusters = tuple(float(number) for number in arguments.clusters.split(","))
        except ValueError:
            raise InvalidInputError(
                f"--clusters must be two numbers, such as 5,0.3, not {shorten(arguments.clusters)}. Correct it."
            ) from None
    from fastndcg.statistics.planning import plan  # imports numpy, which the checks above do without

    source = arguments.std if arguments.source is None else _read_source(arguments.source)
    found = plan(
        arguments.difference,
        n=arguments.n,
        from_=source,
        metric=arguments.metric,
        power=arguments.power,
        level=arguments.level,
        alternative=arguments.alternative,
        clusters=clusters,
    )
    if arguments.format == "table":
        output.write([f"{found}\n"], arguments.output)
    else:
        facts = found._asdict()
        output.write_table(arguments, [list(facts), list(map(str, facts.values()))], facts=facts)


def _read_source(text: str) -> Any:
    """Return the results of one file, or the gate of two."""
    from fastndcg.results.pairs import load_result
    from fastndcg.statistics.gate import gate

    results = [load_result(path) for path in text.split(",")]
    if len(results) > 2:
        raise InvalidInputError(f"--from must have one file or two, not {len(results)}. Leave the others out.")
    return results[0] if len(results) == 1 else gate(None, results[0], results[1])


def run_audit(arguments: argparse.Namespace) -> None:
    """Print the audit."""
    from fastndcg.statistics.planning import audit  # imports numpy, which a wrong option does without

    found = audit(arguments.mean, arguments.n, other=arguments.other, level=arguments.level)
    output.write_result(arguments, found)
