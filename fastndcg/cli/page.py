"""The page "Why is my number different?", in Markdown, from the records of the conventions alone."""

from __future__ import annotations

from collections.abc import Iterator

from fastndcg.cli.markdown import table
from fastndcg.conventions import FIELDS, Convention, conventions
from fastndcg.conventions.value import Bug, short
from fastndcg.texts import Value

INTRODUCTION = """\
Two programs that both say nDCG@10 may give two numbers for the same ranking, and both be right: they made different
choices. Each choice is a field of a convention here, and each program's choices are a convention with a name.
`fn.evaluate(truth, predictions, "nDCG@10", convention="lightgbm")` gives LightGBM's number;
`fastndcg conventions lightgbm sklearn` says what the two do differently.
"""


def lines() -> Iterator[str]:
    """The page."""
    yield f"## Why is my number different?\n\n{INTRODUCTION}\n"
    yield "### How to get each program's number\n\n"
    yield from table(["program", "versions", "`convention=`", "its options"], map(_how, _peers()))
    yield "\n### Who does what\n\n"
    yield f"A dot is the default's choice, which the first row shows. The {len(FIELDS)} fields are explained below.\n\n"
    shown = [name for name in FIELDS if any(name in _differing(one) for one in _peers())]
    default = conventions["default"]
    rows = [["default", *(_cell(default.choices()[name]) for name in shown)]]
    rows += [[one.name, *_choices(_differing(one), shown)] for one in _peers()]
    yield from table(["convention", *shown], rows)
    yield "\n### What each field decides\n\n"
    for name, field in FIELDS.items():
        choices = ", ".join(f"`{choice}`" for choice in field.choices)
        yield f"- `{name}`: {field.text}. {choices}{field.rule}.\n"
    yield "\n### What is not copied\n\n"
    yield "These are bugs: the convention gives the number that the program means to give.\n\n"
    known: dict[Bug, dict[str, None]] = {}
    for one in _peers():
        for bug in one.bugs:
            known.setdefault(bug, {})[one.peer] = None
    yield from table(
        ["program", "what", "minimal case", "theirs", "ours", "where"],
        (_bug(bug, "; ".join(peers)) for bug, peers in known.items()),
    )


def _peers() -> list[Convention]:
    return [convention for convention in conventions.values() if convention.peer]


def _differing(convention: Convention) -> dict[str, Value]:
    return convention.difference(conventions["default"])


def _choices(differing: dict[str, Value], shown: list[str]) -> list[str]:
    return [_cell(differing[name]) if name in differing else "·" for name in shown]


def _how(convention: Convention) -> list[str]:
    options = "<br>".join(f"{theirs}: `{ours}`" for theirs, ours in convention.options)
    return [convention.peer, convention.versions, f'`"{convention.name}"`', options]


def _bug(bug: Bug, peer: str) -> list[str]:
    case = bug.case
    if bug.labels:
        parts = [bug.metric, f"labels {_lists(bug.labels)}", f"scores {_lists(bug.scores)}"]
        case = ", ".join([*parts, *([f"weights {_lists((bug.weights,))}"] if bug.weights else [])])
    return [peer, bug.what, case, _number(bug.theirs), _number(bug.ours), bug.source]


def _lists(queries: tuple[tuple[float, ...], ...]) -> str:
    return " and ".join("[" + ", ".join(f"{value:g}" for value in query) + "]" for query in queries)


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"


def _cell(choice: Value) -> str:
    return f"`{short(choice)}`"
