"""The generated tables and the chart in README.md and benchmarks/README.md."""

from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import indent

from benchmarks.lib.chart import draw_chart
from benchmarks.lib.machine import ROOT
from benchmarks.lib.misses import render_misses
from benchmarks.lib.render import (
    Report,
    render_headline,
    render_readme_peers,
    render_report,
    render_tied_difference,
)
from benchmarks.lib.suite import RESULTS

README = ROOT / "README.md"
BENCHMARKS = ROOT / "benchmarks" / "README.md"
CHART = RESULTS / "peers.png"
TABLES = (  # in benchmarks/README.md
    "peers", "core", "limits", "scaling", "startup", "inputs", "metrics", "fusion", "fusion_tuning",
)  # fmt: skip


def render_documents(*, is_check: bool = False) -> int:
    """Write the tables and the chart, or with `is_check` only return 1 if a table is out of date."""
    new = {README: update_readme(_read(README)), BENCHMARKS: update_benchmarks(_read(BENCHMARKS))}
    if is_check:
        return int(any(text != _read(path) for path, text in new.items()))
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")
    draw_chart(json.loads(_read(RESULTS / "peers.json")), CHART)
    return 0


def update_readme(text: str) -> str:
    """Return README.md with the saved figures of the peers suite."""
    path = RESULTS / "peers.json"
    if not path.exists():
        return text
    report = json.loads(_read(path))
    text = fill_section(text, "peers", render_readme_peers(report))
    text = fill_section(text, "ties", render_tied_difference(report))
    return fill_section(text, "figure", render_headline(report)) if "headline" in report else text


def update_benchmarks(text: str) -> str:
    """Return benchmarks/README.md with the saved figures of the published suites."""
    reports = load_reports()
    for name, report in reports.items():
        text = fill_section(text, name, render_report(report))
    return fill_section(text, "misses", render_misses(reports))


def load_reports() -> dict[str, Report]:
    """Return the saved figures of the published suites."""
    paths = {name: RESULTS / f"{name}.json" for name in TABLES}
    return {name: json.loads(_read(path)) for name, path in paths.items() if path.exists()}


def fill_section(document: str, name: str, text: str) -> str:
    """Return the document with the text between the markers <!-- name --> and <!-- /name -->."""
    pattern = re.compile(
        f"^(?P<indent> *)(?P<opening><!-- {name} -->\n).*?^(?P<closing> *<!-- /{name} -->)$", re.DOTALL | re.MULTILINE
    )
    if not pattern.search(document):
        raise SystemExit(f"the document must have the markers <!-- {name} --> and <!-- /{name} -->. Add both lines.")
    return pattern.sub(
        lambda match: f"{match['indent']}{match['opening']}{indent(text, match['indent'])}\n{match['closing']}",
        document,
    )


def _read(path: Path) -> str:
    """Return the text of a file."""
    return path.read_text(encoding="utf-8")
