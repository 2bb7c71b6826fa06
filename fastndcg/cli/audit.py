"""``fastndcg audit``: what published means can show."""

from __future__ import annotations

import argparse

from fastndcg.cli import options, output

DESCRIPTION = """\
Show the exact confidence interval of a published mean of hits, and the best p-value that two means on the same queries
can have.
"""
EXAMPLES = """\
  fastndcg audit --mean 1.00 -n 10
  fastndcg audit --mean 1.00 -n 10 --other 0.70
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(commands, "audit", "show what published means can show", DESCRIPTION, EXAMPLES)
    parser.add_argument("--mean", type=float, required=True, metavar="X", help="the mean of values that are 0 or 1")
    parser.add_argument("-n", "--n", type=int, required=True, metavar="N", help="the number of queries")
    parser.add_argument("--other", type=float, metavar="X", help="the mean of a second system on the same queries")
    parser.add_argument("--level", type=float, default=0.95, metavar="X", help="the confidence level (default: 0.95)")
    parser.add_argument("--format", choices=("text", "json", "csv", "markdown"), default="text", help="(default: text)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Print the audit."""
    from fastndcg.statistics.planning import audit  # imports numpy, which a wrong option does without

    found = audit(arguments.mean, arguments.n, other=arguments.other, level=arguments.level)
    text = f"{found}\n" if arguments.format == "text" else getattr(found, f"to_{arguments.format}")()
    output.write([text], None)
