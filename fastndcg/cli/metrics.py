"""``fastndcg metrics``: list the metrics of the catalogue, or describe one of them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from typing import Any

from fastndcg.cli import completion, options, output
from fastndcg.errors import printable
from fastndcg.metrics.catalog import AGGREGATES, CATALOG, OTHER_CATALOG, Record
from fastndcg.metrics.describe import list_facts, list_trec_names
from fastndcg.metrics.metric import Metric

DESCRIPTION = """\
List all metrics with their names in other programs, or describe one metric: its formula, parameters, range and source.
"""
EXAMPLES = """\
  fastndcg metrics
  fastndcg metrics nDCG
  fastndcg metrics recip_rank --format json
"""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(commands, "metrics", "list the metrics, or describe one", DESCRIPTION, EXAMPLES)
    action = parser.add_argument(
        "name", nargs="?", metavar="METRIC", help="a metric by its name or an alias, such as nDCG or recip_rank"
    )
    completion.set_completer(action, completion.list_every_metric)
    options.add_format(parser, ("table", "json"))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """List all metrics, or describe one."""
    record = None if arguments.name is None else Metric.parse(arguments.name).record
    if arguments.format == "json":
        facts = [as_dict(listed) for listed in _all_records()] if record is None else as_dict(record)
        output.write([json.dumps(facts, indent=1) + "\n"], None)
    else:
        output.write(_list() if record is None else _describe(record), None)


def as_dict(record: Record) -> dict[str, Any]:
    """Return the facts about a metric for JSON."""
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
        "has_cutoff": record.has_cutoff,
        "function_name": f"fastndcg.{record.function_name}",
        "aliases": list(record.aliases),
        "peers": dict(record.peers),
        "trec_eval": list_trec_names(record),
    }


def _all_records() -> list[Record]:
    return [*CATALOG.values(), *OTHER_CATALOG.values()]


def _list() -> Iterator[str]:
    """Yield one line for each metric: its name, its title and its aliases."""
    rows = []
    for record in _all_records():
        names = dict.fromkeys((*record.aliases, *list_trec_names(record)))
        rows.append((record.name, record.title, ", ".join(names)))
    widths = [max(len(row[column]) for row in rows) for column in range(2)]
    for i, (name, title, aliases) in enumerate(rows):
        if i == len(CATALOG):
            yield "for two rankings (fastndcg.agreement) and for recommended items (fastndcg.beyond_accuracy):\n"
        yield printable(f"{name:<{widths[0]}}  {title:<{widths[1]}}  {aliases}".rstrip()) + "\n"
    yield "a cutoff is written @k, such as nDCG@10; `fastndcg metrics nDCG` describes one metric\n"
    aggregates = ", ".join(f"{aggregate.name} ({aggregate.title})" for aggregate in AGGREGATES.values())
    yield f"aggregates over queries are written around a metric, such as gm(AP): {aggregates}\n"


def _describe(record: Record) -> Iterator[str]:
    """Yield one line for each fact about a metric."""
    yield f"{record.name}: {printable(record.title)}\n"
    for name, text in list_facts(record):
        yield f"  {name:<12}  {printable(text)}\n"
