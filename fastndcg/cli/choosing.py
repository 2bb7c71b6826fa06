"""``fastndcg conventions``: the named conventions, one of them, two compared, or the page about all."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from fastndcg.cli import output, page
from fastndcg.conventions import FIELDS, Convention, conventions, parse_convention
from fastndcg.conventions.value import short
from fastndcg.errors import InvalidInputError


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("conventions", help="list the conventions, show one, or compare two")
    parser.add_argument(
        "first", nargs="?", metavar="A", help="a name, or a name with choices: 'lightgbm(ties=average)'"
    )
    parser.add_argument("second", nargs="?", metavar="B", help="another one: what differs is printed")
    parser.add_argument("--page", action="store_true", help="the page 'Why is my number different?', in Markdown")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List, show, compare, or write the page."""
    chosen = [parse_convention(text) for text in (arguments.first, arguments.second) if text is not None]
    if arguments.page:
        if chosen or arguments.format != "table":
            raise InvalidInputError("--page is about all conventions, in Markdown: leave out the others and --format")
        output.write(page.lines(), None)
    elif arguments.format == "json":
        shown: Any = {one.name: as_dict(one) for one in chosen or conventions.values()}
        output.write([json.dumps(shown, indent=1) + "\n"], None)
    elif len(chosen) == 2:
        output.write(_compare(*chosen), None)
    else:
        output.write([f"{chosen[0]!s}\n"] if chosen else _list(), None)


def as_dict(convention: Convention) -> dict[str, Any]:
    """What a convention says to users."""
    return {
        "peer": convention.peer or None,
        "versions": convention.versions or None,
        "source": convention.source or None,
        "choices": convention.choices(),
        "options": dict(convention.options),
        "not_copied": [bug.what for bug in convention.bugs],
    }


def _list() -> Iterator[str]:
    width = max(map(len, conventions))
    for name, convention in conventions.items():
        about = " ".join(filter(None, (convention.peer, convention.versions))) or convention.source
        yield f"{name:<{width}}  {about}\n"
    yield "`fastndcg conventions lightgbm` shows one, `fastndcg conventions lightgbm sklearn` what differs\n"


def _compare(first: Convention, second: Convention) -> Iterator[str]:
    rows = [(name, short(choice), short(second.choices()[name])) for name, choice in first.difference(second).items()]
    if not rows:
        yield f"{first.name} and {second.name} differ in nothing\n"
        return
    rows.insert(0, ("field", first.name, second.name))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, ours, theirs in rows:
        text = FIELDS[name].text if name in FIELDS else "what it decides"
        yield f"{name:<{widths[0]}}  {ours:<{widths[1]}}  {theirs:<{widths[2]}}  {text}\n"
