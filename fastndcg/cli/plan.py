"""``fastndcg plan``: how many queries a comparison needs, or what a number of queries can show."""

from __future__ import annotations

import argparse
from typing import Any, get_args

from fastndcg.choices import Alternative
from fastndcg.cli import options, output
from fastndcg.errors import InvalidInputError, shorten

DESCRIPTION = """\
Compute the number of queries with which a paired test detects a difference, or the difference that a number of queries
can show. The spread of the differences is a number, or comes from one or two files of results (--save-baseline).
"""
EXAMPLES = """\
  fastndcg plan --difference 0.02 --std 0.25
  fastndcg plan -n 50 --from base.json -m ndcg@10
  fastndcg plan --difference 0.02 --from base.json,new.json -m ndcg@10 --power 0.9
  fastndcg plan --difference 0.02 --std 0.25 --clusters 5,0.3
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(commands, "plan", "compute how many queries you need", DESCRIPTION, EXAMPLES)
    known = parser.add_mutually_exclusive_group(required=True)
    known.add_argument("--difference", type=float, metavar="X", help="the mean difference to detect")
    known.add_argument("-n", type=int, metavar="N", help="the number of queries")
    spread = parser.add_mutually_exclusive_group(required=True)
    spread.add_argument("--std", type=float, metavar="X", help="the standard deviation of the differences")
    spread.add_argument("--from", dest="source", metavar="FILE[,FILE]", help="results of one system, or of two")
    parser.add_argument("-m", "--metric", metavar="METRIC", help="a metric of the files (default: the first)")
    parser.add_argument("--power", type=float, default=0.8, metavar="X", help="the power (default: 0.8)")
    parser.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    parser.add_argument(
        "--alternative", choices=get_args(Alternative), default="two-sided", help="(default: two-sided)"
    )
    parser.add_argument("--clusters", metavar="SIZE,R", help="mean queries in a cluster, and correlation within it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
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
    output.write([f"{found}\n"], None)


def _read_source(text: str) -> Any:
    """Return the results of one file, or the gate of two."""
    from fastndcg.results.results import load_result
    from fastndcg.statistics.gate import gate

    results = [load_result(path) for path in text.split(",")]
    if len(results) > 2:
        raise InvalidInputError(f"--from must have one file or two, not {len(results)}. Leave the others out.")
    return results[0] if len(results) == 1 else gate(None, results[0], results[1])
