"""``fastndcg metrics``: the catalogue, or one of its records in words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from fastndcg.catalog import AGGREGATES, CATALOG, OTHERS, Record
from fastndcg.cli import metrics_page, output
from fastndcg.cli.metrics_page import trec_names
from fastndcg.errors import InvalidInputError
from fastndcg.metric import Metric
from fastndcg.texts import format_value

CUTOFF = "how many ranks count, 1 or more, written @k; all if left out"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("metrics", help="list the metrics, or explain one")
    parser.add_argument("name", nargs="?", metavar="METRIC", help="a name or an alias, such as nDCG or recip_rank")
    parser.add_argument("--page", action="store_true", help="the page about all metrics, in Markdown")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List, explain, or write the page."""
    if arguments.page:
        if arguments.name is not None or arguments.format != "table":
            raise InvalidInputError("--page is about all metrics, in Markdown: leave out METRIC and --format")
        output.write(metrics_page.lines(), None)
        return
    record = None if arguments.name is None else Metric.parse(arguments.name).record
    if arguments.format == "json":
        shown = [as_dict(one) for one in _every()] if record is None else as_dict(record)
        output.write([json.dumps(shown, indent=1) + "\n"], None)
    else:
        output.write(_list() if record is None else _explain(record), None)


def as_dict(record: Record) -> dict[str, Any]:
    """What a record says to users."""
    return {
        "name": record.name,
        "title": record.title,
        "formula": record.formula,
        "parameters": [{"name": p.name, "default": p.default, "text": p.text} for p in record.parameters],
        "range": record.range,
        "undefined": record.undefined,
        "source": record.source,
        "doi": record.doi or None,
        "higher_is_better": record.higher_is_better,
        "ties": list(record.ties),
        "takes_k": record.takes_k,
        "taken_by": f"fastndcg.{record.taken_by}",
        "aliases": list(record.aliases),
        "peers": dict(record.peers),
        "trec_eval": trec_names(record),
    }


def _every() -> list[Record]:
    return [*CATALOG.values(), *OTHERS.values()]


def _list() -> Iterator[str]:
    rows = [(one.name, one.title, ", ".join(dict.fromkeys((*one.aliases, *trec_names(one))))) for one in _every()]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for place, (name, title, aliases) in enumerate(rows):
        if place == len(CATALOG):
            yield "of two rankings (fastndcg.agreement), and of recommended items (fastndcg.beyond_accuracy):\n"
        yield f"{name:<{widths[0]}}  {title:<{widths[1]}}  {aliases}".rstrip() + "\n"
    yield "with @k or without, such as nDCG@10; `fastndcg metrics nDCG` explains one\n"
    aggregates = ", ".join(f"{one.name} ({one.title})" for one in AGGREGATES.values())
    yield f"mean over queries, or around a metric, such as gm(AP): {aggregates}\n"


def _explain(record: Record) -> Iterator[str]:
    yield f"{record.name}: {record.title}\n"
    cutoff = [("k", CUTOFF)] if record.takes_k else []
    parameters = [*cutoff, *((p.name, p.text + _default(p.default)) for p in record.parameters)]
    width = max((len(name) for name, _ in parameters), default=0)
    facts = [("formula", record.formula)]
    facts += [("" if i else "parameters", f"{name:<{width}}  {text}") for i, (name, text) in enumerate(parameters)]
    if not parameters:
        facts.append(("parameters", "none"))
    facts.append(("range", record.range + ("" if record.higher_is_better else ", lower is better")))
    facts.append(("undefined", record.undefined if record.undefined == "never" else f"where {record.undefined}"))
    facts.append(("ties", metrics_page.ties(record)))
    if record.name in OTHERS:
        facts.append(("taken by", f"fastndcg.{record.taken_by}"))
    facts.append(("source", record.source))
    if record.doi:
        facts.append(("", f"https://doi.org/{record.doi}"))
    facts.append(("aliases", ", ".join(record.aliases) or "none"))
    facts.append(("trec_eval", ", ".join(trec_names(record)) or "has no such metric"))
    facts += [(peer, name) for peer, name in record.peers]
    for name, text in facts:
        yield f"  {name:<12}  {text}\n"


def _default(value: float | str | tuple[float, ...] | None) -> str:
    return "" if value is None else f" (default {format_value(value)})"
