"""``fastndcg metrics``, ``conventions`` and ``warmup``: what there is, and the machine code of kernels."""

from __future__ import annotations

import argparse
from typing import Any

from fastndcg.cli import output
from fastndcg.errors import printable
from fastndcg.metrics.families import AGGREGATES, CATALOG, Record
from fastndcg.metrics.families.record import list_facts, list_trec_names
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import FIELDS, Convention, conventions, parse_convention
from fastndcg.named_conventions.convention import short


def run_metrics(arguments: argparse.Namespace) -> None:
    """List all metrics, or describe one."""
    record = None if arguments.name is None else Metric.parse(arguments.name).record
    if record is None:
        facts: Any = [describe_metric(listed) for listed in CATALOG.values()]
        rows, notes = _list_metrics()
    else:
        facts = describe_metric(record)
        rows = [["fact", "of the metric"], ["name", record.name], ["title", record.title]]
        rows += [list(fact) for fact in list_facts(record)]
        notes = []
    if record is not None and arguments.format == "table":
        lines = [f"{record.name}: {printable(record.title)}\n"]
        lines += [f"  {name:<12}  {printable(text)}\n" for name, text in list_facts(record)]
        output.write(lines, arguments.output)
    else:
        output.write_table(arguments, rows, notes, facts)


def describe_metric(record: Record) -> dict[str, Any]:
    """Return the facts about a metric for JSON."""
    return {
        "name": record.name,
        "title": record.title,
        "use": record.use,
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


def _list_metrics() -> tuple[list[list[str]], list[str]]:
    """Return a row for each metric, below headings: its name, its title and its aliases. And notes."""
    rows = [["metric", "title", "also called"]]
    for record in CATALOG.values():
        names = dict.fromkeys((*record.aliases, *list_trec_names(record)))
        rows.append([record.name, printable(record.title), printable(", ".join(names))])
    aggregates = ", ".join(f"{aggregate.name} ({aggregate.title})" for aggregate in AGGREGATES.values())
    others = ", ".join(name for name, record in CATALOG.items() if record.function_name != "evaluate")
    return rows, [
        f"for two rankings (fastndcg agreement) and for recommended items (in Python): {others}",
        "a cutoff is written @k, such as nDCG@10; `fastndcg metrics nDCG` describes one metric",
        f"aggregates over queries are written around a metric, such as gm(AP): {aggregates}",
    ]


def run_conventions(arguments: argparse.Namespace) -> None:
    """List, show or compare conventions."""
    selection = [parse_convention(text) for text in (arguments.first, arguments.second) if text is not None]
    facts = {convention.name: describe_convention(convention) for convention in selection or conventions.values()}
    if len(selection) == 1 and arguments.format == "table":
        output.write([f"{selection[0]!s}\n"], arguments.output)
        return
    notes: list[str] = []
    if len(selection) == 2:
        rows = _compare(*selection)
        if len(rows) == 1:
            notes = [f"{selection[0].name} and {selection[1].name} have the same choices"]
            rows = rows if arguments.format != "table" else []
    elif selection:
        rows = [["field", selection[0].name], *([name, short(c)] for name, c in selection[0].choices().items())]
    else:
        rows = [["convention", "follows"]]
        for name, convention in conventions.items():
            rows.append([name, " ".join(filter(None, (convention.peer, convention.versions))) or convention.source])
        notes = ["`fastndcg conventions lightgbm` shows one, `fastndcg conventions lightgbm sklearn` compares two"]
    output.write_table(arguments, rows, notes, facts)


def describe_convention(convention: Convention) -> dict[str, Any]:
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


def _compare(first: Convention, second: Convention) -> list[list[str]]:
    """Return a row for each field in which two conventions differ, below headings."""
    rows = [["field", first.name, second.name, "what it decides"]]
    for name, choice in first.difference(second).items():
        text = FIELDS[name].text if name in FIELDS else ""
        rows.append([name, short(choice), short(second.choices()[name]), text])
    return rows


def run_warmup(arguments: argparse.Namespace) -> None:
    """Build the kernels and write the folder and the time, list them, or clear the cache."""
    if arguments.clear:
        from fastndcg.runtime.kernel_cache import clear

        folder, n_bytes = clear()
        rows = [["removed", f"{n_bytes / 1e6:.1f} MB of machine code in {folder or 'no folder'}"]]
    elif arguments.list:
        from fastndcg.kernels.native.signatures import list_kernels

        rows = [[line] for line in list_kernels()]
    else:
        from fastndcg.installation import warmup

        result = warmup()
        rows = [["machine code", str(result.cache or "not stored, because no cache folder can be used")]]
        rows += [["took", f"{result.seconds:.1f} s"]]
    if arguments.format == "table":
        output.write((f"{': '.join(row)}\n" for row in rows), arguments.output)
    else:
        facts = rows if arguments.list else dict(rows)
        output.write_table(arguments, [["what", "value"][: len(rows[0])], *rows], facts=facts)
