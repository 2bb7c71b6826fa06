"""``fastndcg conventions``: list the named conventions, show one, or compare two."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from fastndcg.cli import completion, options, output
from fastndcg.named_conventions import FIELDS, Convention, conventions, parse_convention
from fastndcg.named_conventions.convention import short

DESCRIPTION = """\
List the named conventions, show one of them, or list the choices in which two of them differ. A convention decides what
a number means: how ties are ranked, which gains labels have, what a missing query counts.
"""
EXAMPLES = """\
  fastndcg conventions
  fastndcg conventions lightgbm
  fastndcg conventions lightgbm sklearn
  fastndcg conventions 'lightgbm(ties=average)' --format json
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(
        commands, "conventions", "list the conventions, show one, or compare two", DESCRIPTION, EXAMPLES
    )
    first = parser.add_argument(
        "first", nargs="?", metavar="A", help="a convention, with other choices in brackets: 'lightgbm(ties=average)'"
    )
    second = parser.add_argument(
        "second", nargs="?", metavar="B", help="a second convention; only the differences are shown"
    )
    for action in (first, second):
        completion.set_completer(action, completion.list_conventions)
    options.add_format(parser, ("table", "json"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List, show or compare conventions."""
    selection = [parse_convention(text) for text in (arguments.first, arguments.second) if text is not None]
    if arguments.format == "json":
        records: Any = {convention.name: as_dict(convention) for convention in selection or conventions.values()}
        output.write([json.dumps(records, indent=1) + "\n"], None)
    elif len(selection) == 2:
        output.write(_compare(*selection), None)
    elif selection:
        output.write([f"{selection[0]!s}\n"], None)
    else:
        output.write(_list(), None)


def as_dict(convention: Convention) -> dict[str, Any]:
    """Return the facts about a convention for JSON."""
    return {
        "peer": convention.peer or None,
        "versions": convention.versions or None,
        "source": convention.source or None,
        "choices": convention.choices(),
        "options": dict(convention.options),
        "not_copied": [bug.what for bug in convention.bugs],
        "metrics": [
            {
                "ours": metric.ours,
                "theirs": metric.theirs,
                "convention": metric.by or convention.name,
                "differs": metric.differs or None,
                "where_scores_tie": metric.tie_difference or None,
            }
            for metric in convention.metrics
        ],
    }


def _list() -> Iterator[str]:
    """Yield one line for each convention: its name, and the program or the source that it follows."""
    width = max(map(len, conventions))
    for name, convention in conventions.items():
        about = " ".join(filter(None, (convention.peer, convention.versions))) or convention.source
        yield f"{name:<{width}}  {about}\n"
    yield "`fastndcg conventions lightgbm` shows one, `fastndcg conventions lightgbm sklearn` compares two\n"


def _compare(first: Convention, second: Convention) -> Iterator[str]:
    """Yield one line for each field in which two conventions differ: both choices, and what the field decides."""
    rows = [(name, short(choice), short(second.choices()[name])) for name, choice in first.difference(second).items()]
    if not rows:
        yield f"{first.name} and {second.name} have the same choices\n"
        return
    rows.insert(0, ("field", first.name, second.name))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, ours, theirs in rows:
        text = FIELDS[name].text if name in FIELDS else "what it decides"
        yield f"{name:<{widths[0]}}  {ours:<{widths[1]}}  {theirs:<{widths[2]}}  {text}\n"
