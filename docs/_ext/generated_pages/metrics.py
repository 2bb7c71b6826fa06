"""The pages of the metrics: one page a family, the overview, aggregates, and names in other programs."""

from __future__ import annotations

import re
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

from fastndcg.metrics.families import AGGREGATES, CATALOG, FAMILIES, Record, records_of
from fastndcg.metrics.families.record import DIRECTIONS, describe_parameters, describe_ties, list_trec_names
from generated_pages import TEMPLATES, fill, plain
from generated_pages import metric_examples as examples
from generated_pages.pictures import COLOURS, PLACES, PLOTS

FOLDER = "reference/metrics"
MATHEMATICS = tomllib.loads((Path(__file__).parent / "mathematics.toml").read_text(encoding="utf-8"))
PEER_NAME = re.compile(r"[^,:(]*(?:\([^()]*\))?")
NEEDS = {"labels": "", "judgments": "which documents are judged", "subtopics": "judgments by subtopic"}


def make_pages() -> dict[str, str | bytes]:
    """Return the pages by their paths."""
    pages: dict[str, str | bytes] = {f"{FOLDER}/{family}.md": write_family(family) for family in FAMILIES}
    pages[f"{FOLDER}/aggregates.md"] = write_aggregates()
    pages[f"{FOLDER}/names_elsewhere.md"] = write_names()
    pages["_generated/parts/metrics.md"] = write_overview()
    pages["_generated/parts/metric_values.md"] = fill("metric_values", records=records_of("evaluate"))
    return pages


def write_overview() -> str:
    """Return the lists of metrics for the overview, which is in docs/reference/metrics/index.md."""
    return fill("metrics", families={name: list_records(name) for name in FAMILIES}, aggregates=AGGREGATES.values())


def write_family(family: str) -> str:
    """Return the page of a family."""
    records = list_records(family)
    sessions = {kind: examples.Session(kind) for kind in dict.fromkeys(map(examples.find_kind, records))}
    return fill("family", family=family, records=records, sessions=sessions, symbols=list_symbols(family))


def write_aggregates() -> str:
    """Return the page of aggregates."""
    session = examples.Session("aggregates")
    return fill("aggregates", aggregates=AGGREGATES.values(), session=session, symbols=list_symbols("aggregates"))


def write_names() -> str:
    """Return the page of names in other programs, with a table for each program."""
    programs: dict[str, list[tuple[Record, str]]] = {"trec_eval": []}
    for record in CATALOG.values():
        for program, name in (*(("trec_eval", name) for name in list_trec_names(record)), *record.peers):
            programs.setdefault(program, []).append((record, name))
    return fill("names_elsewhere", programs=sorted(programs.items(), key=lambda item: (-len(item[1]), item[0].lower())))


def list_records(family: str) -> list[Record]:
    """Return the records of a family."""
    return [record for record in CATALOG.values() if record.family == family]


def list_symbols(page: str) -> list[tuple[str, str]]:
    """Return the symbols of a page with their meanings."""
    shared = MATHEMATICS[page]["shared"]
    return [*((one, MATHEMATICS["symbols"][one]) for one in shared), *MATHEMATICS[page].get("symbols", {}).items()]


def describe_family(family: str) -> str:
    """Return the first line of the docstring of a family's module."""
    module = import_module(f"fastndcg.metrics.families.{family}")
    return plain((module.__doc__ or "").strip().partition("\n")[0])


def list_names(record: Record) -> list[tuple[str, str]]:
    """Return the programs that have a metric, with its names there."""
    own = [("fastndcg", record.aliases), ("trec_eval", list_trec_names(record))]
    names = [(program, ", ".join(map(show_name, names))) for program, names in own if names]
    return names + [(plain(program), show_name(name)) for program, name in record.peers]


def show_name(name: str) -> str:
    """Return a name in another program as code, and a remark behind a comma or colon as text."""
    end = PEER_NAME.match(name).end()  # type: ignore[union-attr]
    return f"`{name[:end]}`{plain(name[end:])}"


def anchor(record: Any) -> str:
    """Return the anchor of a metric."""
    return f"metric-{record.name.lower().replace('_', '-')}"


TEMPLATES.globals |= {
    "mathematics": MATHEMATICS, "examples": examples, "plots": PLOTS, "places": PLACES, "themes": COLOURS,
    "directions": DIRECTIONS, "view_needs": NEEDS, "describe_parameters": describe_parameters,
    "describe_ties": describe_ties, "describe_family": describe_family, "list_names": list_names,
}  # fmt: skip
TEMPLATES.filters |= {
    "anchor": anchor, "show_name": show_name, "link": lambda record: f"[`{record.name}`](#{anchor(record)})",
}  # fmt: skip
