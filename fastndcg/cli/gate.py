"""``fastndcg gate``: decide whether a run may replace a baseline, with an exit code for CI."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg.cli import embeddings, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("text", "markdown", "json", "junit", "github")
EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3, "not comparable": 4}
DESCRIPTION = """\
Decide whether RUN may replace the baseline. A metric passes if the lower bound of the difference lies above the margin,
and fails if the upper one lies below it. Otherwise there are too few queries to tell, and the gate says how many would
do. The baseline is a run, or a file that --save-baseline wrote.

exit codes: 0 pass, 1 fail, 3 undecided, 4 not comparable, 2 wrong use
"""
EXAMPLES = """\
  fastndcg gate qrels.txt new.run --baseline old.run -m ndcg@10,recall@50 --margin 0.01
  fastndcg evaluate qrels.txt old.run -m ndcg@10 --save-baseline base.json
  fastndcg gate qrels.txt new.run --baseline base.json --margin ndcg@10=2% --fail-under ndcg@10=0.45
  fastndcg gate qrels.txt new.run --baseline base.json --format markdown >> "$GITHUB_STEP_SUMMARY"
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "gate", "decide whether a run may replace a baseline: an exit code for CI", DESCRIPTION, EXAMPLES
    )
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("candidate", metavar="RUN", help=f"{options.RUN}, {options.EMBEDDINGS}")
    parser.add_argument(
        "--baseline", required=True, metavar="FILE", help="the run that RUN replaces, or its results (--save-baseline)"
    )
    options.add_metrics(
        parser,
        "metrics, separated by commas; may be repeated "
        f"(default: those of a saved baseline, else {options.DEFAULT_METRICS})",
    )
    parser.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="X",
        help="the drop that is allowed: a number, a share of the baseline such as 2%%, or METRIC=X; may be repeated "
        "(default: 0)",
    )
    options.add_floors(parser)
    parser.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    parser.add_argument(
        "--sequential", action="store_true", help="bounds that hold however often queries are added and looked at"
    )
    for name, what in (("clusters", "a cluster"), ("strata", "a stratum"), ("weights", "a weight")):
        parser.add_argument(f"--{name}", metavar="FILE", help=f"FILE has a query id and {what} on each line")
    options.add_convention(parser)
    options.add_qrels_format(parser)
    options.add_columns(parser)
    options.add_embeddings(parser)
    options.add_threads(parser)
    parser.add_argument("--format", choices=FORMATS, default="text", help="the output format (default: text)")
    options.add_output(parser)
    parser.set_defaults(run=run, convention=None)


def run(arguments: argparse.Namespace) -> int:
    """Write the verdict, and return its exit code."""
    metrics = parse_metrics(arguments.metrics) if arguments.metrics else None
    margin = read_margins(arguments.margin)
    floors = options.read_floors(arguments.fail_under)
    convention = None if arguments.convention is None else parse_convention(arguments.convention)
    arguments.columns = options.read_columns(arguments.columns)
    options.check_standard_input([arguments.qrels, arguments.candidate, arguments.baseline])
    files = [arguments.qrels, arguments.candidate, arguments.baseline]
    files += [path for path in (arguments.clusters, arguments.strata, arguments.weights) if path]
    if arguments.output is not None:
        output.check(arguments.output, files)
    with show_progress(4) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.cli.compare import read_segments  # imports numpy, which the checks above do without
        from fastndcg.inputs.text.formats import read_qrels
        from fastndcg.results.results import load_result
        from fastndcg.results.saved import is_saved_result
        from fastndcg.statistics.gate import gate

        qrels = read_qrels(
            arguments.qrels, format=arguments.qrels_format, columns=arguments.columns, threads=arguments.threads
        )
        design: dict[str, Any] = {
            name: read_segments(getattr(arguments, name)) for name in ("clusters", "strata") if getattr(arguments, name)
        }
        if arguments.weights:
            design["weights"] = _read_weights(arguments.weights)
        begin_step(f"reading {Path(arguments.baseline).name}")
        is_saved = is_saved_result(arguments.baseline)
        baseline = (
            load_result(arguments.baseline)
            if is_saved
            else embeddings.read_predictions(arguments.baseline, qrels, arguments)
        )
        begin_step(f"reading {Path(arguments.candidate).name}")
        candidate = embeddings.read_predictions(arguments.candidate, qrels, arguments)
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
            convention=convention,
            threads=arguments.threads,
            **design,
            **embeddings.read_selection(arguments, [arguments.candidate, arguments.baseline]),
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
    from fastndcg.cli.compare import read_segments

    weights: dict[str, float] = {}
    for query, text in read_segments(path).items():
        try:
            weights[query] = float(text)
        except ValueError:
            raise InvalidInputError(
                f"{path}: query {show_name(query)} must have a number as weight, not {shorten(text)}. Correct the line."
            ) from None
    return weights
