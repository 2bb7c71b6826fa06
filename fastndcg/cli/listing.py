"""``fastndcg metrics``: the catalogue, or one of its records in words."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from fastndcg.catalog import RECORDS, Record
from fastndcg.cli import output
from fastndcg.metric import Metric
from fastndcg.texts import format_value

CUTOFF = "how many ranks count, 1 or more, written @k; all if left out"


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser("metrics", help="list the metrics, or explain one")
    parser.add_argument("name", nargs="?", metavar="METRIC", help="a name or an alias, such as nDCG or recip_rank")
    parser.add_argument("--format", choices=("table", "json"), default="table", help="default: table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List, or explain."""
    record = None if arguments.name is None else Metric.parse(arguments.name).record
    if arguments.format == "json":
        shown = [as_dict(one) for one in RECORDS] if record is None else as_dict(record)
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
        "aliases": list(record.aliases),
        "trec_eval": trec_names(record),
    }


def trec_names(record: Record) -> list[str]:
    """What trec_eval calls a metric, without a cutoff and with one."""
    return [*([record.trec_name] if record.trec_name else []), *([f"{record.trec_cut}_k"] if record.trec_cut else [])]


def _list() -> Iterator[str]:
    rows = [(one.name, one.title, ", ".join(dict.fromkeys((*one.aliases, *trec_names(one))))) for one in RECORDS]
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for name, title, aliases in rows:
        yield f"{name:<{widths[0]}}  {title:<{widths[1]}}  {aliases}".rstrip() + "\n"
    yield "each with @k or without, such as nDCG@10; `fastndcg metrics nDCG` explains one\n"


def _explain(record: Record) -> Iterator[str]:
    yield f"{record.name}: {record.title}\n"
    parameters = [("k", CUTOFF), *((p.name, p.text + _default(p.default)) for p in record.parameters)]
    width = max(len(name) for name, _ in parameters)
    facts = [("formula", record.formula)]
    facts += [("" if i else "parameters", f"{name:<{width}}  {text}") for i, (name, text) in enumerate(parameters)]
    facts.append(("range", record.range))
    facts.append(("undefined", record.undefined if record.undefined == "never" else f"where {record.undefined}"))
    facts.append(("source", record.source))
    if record.doi:
        facts.append(("", f"https://doi.org/{record.doi}"))
    facts.append(("aliases", ", ".join(record.aliases) or "none"))
    facts.append(("trec_eval", ", ".join(trec_names(record)) or "has no such metric"))
    for name, text in facts:
        yield f"  {name:<10}  {text}\n"


def _default(value: float | str | None) -> str:
    return "" if value is None else f" (default {format_value(value)})"
