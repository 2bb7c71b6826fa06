"""``fastndcg gate``, ``plan`` and ``audit``: decisions from paired differences, with exit codes for CI."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from fastndcg.choices import Alternative
from fastndcg.cli import files, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.exports.exportable import dump_json
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import check_packages

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMATS = ("text", "markdown", "json", "junit", "github")
EXIT_CODES = {"pass": 0, "fail": 1, "undecided": 3, "not comparable": 4}
GATE = """\
Decide whether RUN may replace the baseline. A metric passes if the lower bound of the difference lies above the margin,
and fails if the upper one lies below it. Otherwise there are too few queries to tell, and the gate says how many would
do. The baseline is a run, or a file that --save-baseline wrote.

exit codes: 0 pass, 1 fail, 3 undecided, 4 not comparable, 2 wrong use
"""
GATE_EXAMPLES = """\
  fastndcg gate qrels.txt new.run --baseline old.run -m ndcg@10,recall@50 --margin 0.01
  fastndcg evaluate qrels.txt old.run -m ndcg@10 --save-baseline base.json
  fastndcg gate qrels.txt new.run --baseline base.json --margin ndcg@10=2% --fail-under ndcg@10=0.45
  fastndcg gate qrels.txt new.run --baseline base.json --format markdown >> "$GITHUB_STEP_SUMMARY"
"""
PLAN = """\
Compute the number of queries with which a paired test detects a difference, or the difference that a number of queries
can show. The spread of the differences is a number, or comes from one or two files of results (--save-baseline).
"""
PLAN_EXAMPLES = """\
  fastndcg plan --difference 0.02 --std 0.25
  fastndcg plan -n 50 --from base.json -m ndcg@10
  fastndcg plan --difference 0.02 --from base.json,new.json -m ndcg@10 --power 0.9
  fastndcg plan --difference 0.02 --std 0.25 --clusters 5,0.3
"""
AUDIT = """\
Show the exact confidence interval of a published mean of hits, and the best p-value that two means on the same queries
can have.
"""
AUDIT_EXAMPLES = """\
  fastndcg audit --mean 1.00 -n 10
  fastndcg audit --mean 1.00 -n 10 --other 0.70
"""


def add_gate(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``gate`` with its options."""
    parser = options.add_command(
        commands, "gate", "QRELS RUN --baseline FILE",
        "decide whether a run may replace a baseline: an exit code for CI", GATE, GATE_EXAMPLES,
    )  # fmt: skip
    options.add_help_all(parser, "clusters, strata and weights, embeddings and threads")
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs=1, metavar="RUN", help=f"{options.RUN}, {options.EMBEDDINGS}")
    group = parser.add_argument_group("what is decided")
    group.add_argument(
        "--baseline", required=True, metavar="FILE", help="the run that RUN replaces, or its results (--save-baseline)"
    )
    options.add_metrics(
        group,
        "metrics, separated by commas; may be repeated "
        f"(default: those of a saved baseline, else {options.DEFAULT_METRICS})",
    )
    group.add_argument(
        "--margin",
        action="append",
        default=[],
        metavar="X",
        help="the drop that is allowed: a number, a share of the baseline such as 2%%, or METRIC=X; may be repeated "
        "(default: 0)",
    )
    options.add_floors(group)
    group.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    group.add_argument(
        "--sequential", action="store_true", help="bounds that hold however often queries are added and looked at"
    )
    options.add_convention(group)
    options.add_reading(parser)
    options.add_duplicates(parser)
    options.add_output(parser, FORMATS)
    with parser.expert("clusters, strata and weights") as group:
        for name, what in (("clusters", "a cluster"), ("strata", "a stratum"), ("weights", "a weight")):
            group.add_argument(f"--{name}", metavar="FILE", help=f"FILE has a query id and {what} on each line")
    options.add_embeddings(parser)
    with parser.expert("threads") as group:
        options.add_threads(group)
    parser.set_defaults(run=run_gate, convention=None)


def run_gate(arguments: argparse.Namespace) -> int:
    """Write the verdict, and return its exit code."""
    metrics = parse_metrics(arguments.metrics) if arguments.metrics else None
    margin = read_margins(arguments.margin)
    floors = options.read_floors(arguments.fail_under)
    convention = None if arguments.convention is None else parse_convention(arguments.convention)
    (candidate_path,) = arguments.runs
    more = [path for path in (arguments.clusters, arguments.strata, arguments.weights) if path]
    files.check_embeddings(arguments, [candidate_path, arguments.baseline])
    files.check(arguments, [arguments.qrels, candidate_path, arguments.baseline, *more], {"-o": arguments.output})
    check_packages("a gate", "statistics")
    with show_progress(4) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.results.pairs import load_result  # imports numpy, which the checks above do without
        from fastndcg.results.saved import is_saved_result
        from fastndcg.statistics.gate import gate

        qrels = files.read_judgments(arguments.qrels, arguments)
        design: dict[str, Any] = {
            name: files.read_segments(getattr(arguments, name))
            for name in ("clusters", "strata")
            if getattr(arguments, name)
        }
        if arguments.weights:
            design["weights"] = _read_weights(arguments.weights)
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
            convention=convention,
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


def add_plan(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``plan`` with its options."""
    parser = options.add_command(
        commands, "plan", "(--difference X | -n N) (--std X | --from FILE)", "compute how many queries you need", PLAN,
        PLAN_EXAMPLES,
    )  # fmt: skip
    known = parser.add_mutually_exclusive_group(required=True)
    known.add_argument("--difference", type=float, metavar="X", help="the mean difference to detect")
    known.add_argument("-n", type=int, metavar="N", help="the number of queries")
    spread = parser.add_mutually_exclusive_group(required=True)
    spread.add_argument("--std", type=float, metavar="X", help="the standard deviation of the differences")
    spread.add_argument("--from", dest="source", metavar="FILE[,FILE]", help="results of one system, or of two")
    parser.add_argument(
        "-m", "--metric", "--metrics", metavar="METRIC", help="a metric of the files (default: the first)"
    )
    parser.add_argument("--power", type=float, default=0.8, metavar="X", help="the power (default: 0.8)")
    parser.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    parser.add_argument(
        "--alternative", choices=get_args(Alternative), default="two-sided", help="(default: two-sided)"
    )
    parser.add_argument("--clusters", metavar="SIZE,R", help="mean queries in a cluster, and correlation within it")
    options.add_output(parser, ("table", "json"))
    parser.set_defaults(run=run_plan)


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
    text = dump_json(found._asdict()) if arguments.format == "json" else f"{found}\n"
    output.write([text], arguments.output)


def _read_source(text: str) -> Any:
    """Return the results of one file, or the gate of two."""
    from fastndcg.results.pairs import load_result
    from fastndcg.statistics.gate import gate

    results = [load_result(path) for path in text.split(",")]
    if len(results) > 2:
        raise InvalidInputError(f"--from must have one file or two, not {len(results)}. Leave the others out.")
    return results[0] if len(results) == 1 else gate(None, results[0], results[1])


def add_audit(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``audit`` with its options."""
    parser = options.add_command(
        commands, "audit", "--mean X -n N", "show what published means can show", AUDIT, AUDIT_EXAMPLES
    )
    parser.add_argument("--mean", type=float, required=True, metavar="X", help="the mean of values that are 0 or 1")
    parser.add_argument("-n", "--n", type=int, required=True, metavar="N", help="the number of queries")
    parser.add_argument("--other", type=float, metavar="X", help="the mean of a second system on the same queries")
    parser.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    options.add_output(parser)
    parser.set_defaults(run=run_audit)


def run_audit(arguments: argparse.Namespace) -> None:
    """Print the audit."""
    from fastndcg.statistics.planning import audit  # imports numpy, which a wrong option does without

    found = audit(arguments.mean, arguments.n, other=arguments.other, level=arguments.level)
    output.write([output.format_table(found, arguments.format)], arguments.output)
