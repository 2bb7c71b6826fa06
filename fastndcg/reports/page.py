"""A comparison as one page of HTML that stands on its own: no network, no other file."""

from __future__ import annotations

import json
import math
import platform
from functools import partial
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from fastndcg import __version__
from fastndcg.errors import optional_import
from fastndcg.metric import Metric
from fastndcg.reports import plots
from fastndcg.reports.queries import most_won_and_lost, packed
from fastndcg.reports.svg import drawn
from fastndcg.statistics.comparison import CORRECTION_NAMES, TEST_NAMES, Comparison
from fastndcg.statistics.rows import Row
from fastndcg.statistics.table import bounds, number, p_value

PACKAGES = ("numpy", "numba", "scipy", "matplotlib")
MOST_PANELS = 18


def page(comparison: Comparison, title: str = "") -> str:
    """The whole page as text."""
    jinja2 = optional_import("jinja2", "a report", "report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.globals |= {"number": number, "bounds": bounds, "p_value": p_value, "isnan": math.isnan}
    template = environment.from_string(_file("page.html"))
    markup = jinja2.utils.markupsafe.Markup
    found = _content(comparison, title)
    found["figures"] = {key: [markup(svg) for svg in svgs] for key, svgs in _figures(comparison).items()}
    found |= {"data": markup(found["data"]), "style": markup(_file("page.css")), "script": markup(_file("page.js"))}
    text: str = template.render(**found)
    return text


def _file(name: str) -> str:
    return resources.files("fastndcg.reports").joinpath(name).read_text(encoding="utf-8")


def _content(comparison: Comparison, title: str) -> dict[str, Any]:
    """What the template fills in."""
    settings = comparison.settings
    leader = max((row for row in _rows(comparison, 0)), key=lambda row: row.mean)
    shown = leader.system if leader.system != comparison.baseline else _others(comparison)[0]
    won, lost = most_won_and_lost(comparison, shown, 0)
    data = packed(comparison)
    return {
        "title": title or f"{len(comparison.systems)} systems compared with {comparison.baseline}",
        "comparison": comparison,
        "settings": settings,
        "blocks": [_block(comparison, place) for place in range(len(comparison.metrics))],
        "corrected": settings.test != "tukey" and settings.correction != "none",
        "level": f"{100 * settings.level:g} %",
        "shown": shown,
        "won": won,
        "lost": lost,
        "data": json.dumps(data, separators=(",", ":")).replace("<", "\\u003c"),
        "n_packed": len(data["queries"]),
        "segments": None if comparison.segments is None else comparison.by(),
        "facts": _facts(comparison),
        "test": TEST_NAMES[settings.test],
        "correction": CORRECTION_NAMES.get(settings.correction, "none"),
    }  # fmt: skip


def _block(comparison: Comparison, place: int) -> dict[str, Any]:
    """One metric's part of the summary: systems by falling mean."""
    rows = sorted(_rows(comparison, place), key=lambda row: math.inf if math.isnan(row.mean) else -row.mean)
    return {
        "metric": str(comparison.metrics[place]),
        "rows": rows,
        "said": _said(comparison, rows),
        "scale": _scale(rows),
    }


def _rows(comparison: Comparison, place: int) -> list[Row]:
    return [row for row in comparison.rows if row.metric == str(comparison.metrics[place])]


def _others(comparison: Comparison) -> list[str]:
    return [name for name in comparison.systems if name != comparison.baseline]


def _said(comparison: Comparison, rows: list[Row]) -> str:
    """What a metric says in one sentence; rows by falling mean."""
    tested = [row for row in rows if row.system != comparison.baseline]
    better = sum(row.significant and row.difference > 0 for row in tested)
    worse = sum(row.significant and row.difference < 0 for row in tested)
    best = rows[0]
    counts = f"{better} of {len(tested)} significantly better than {comparison.baseline}, {worse} significantly worse"
    return f"Best: {best.system}, {number(best.mean)}. {counts}."


def _scale(rows: list[Row]) -> tuple[float, float]:
    """Where the small interval plots in a table begin, and how far they reach."""
    ends = [end for row in rows for end in (row.low, row.high, row.mean) if not math.isnan(end)]
    least, most = min(ends), max(ends)
    room = (most - least or 1.0) * 0.04
    return least - room, most - least + 2 * room


def _figures(comparison: Comparison) -> dict[str, list[str]]:
    """Forests, curves and histograms."""
    n_others = len(comparison.systems) - 1
    forests = [
        drawn(
            partial(plots.forest, comparison, metric), (6.2, 1.0 + 0.27 * n_others), f"forest{place}",
            f"Differences of {metric} from {comparison.baseline} with intervals; the table has them",
        )
        for place, metric in enumerate(comparison.metrics)
    ]  # fmt: skip
    curves = [
        drawn(
            partial(plots.curve, comparison, name, all_bands=True), (9.4, 4.4), f"curve{place}",
            f"{name} against its cutoff for each system",
        )
        for place, name in enumerate(dict.fromkeys(point.curve for point in comparison.curves))
    ]  # fmt: skip
    histograms = [_histograms(comparison, place, metric) for place, metric in enumerate(comparison.metrics)]
    return {"forests": forests, "curves": curves, "histograms": histograms}


def _histograms(comparison: Comparison, place: int, metric: Metric) -> str:
    """A panel for each system against the baseline."""
    systems = _others(comparison)[:MOST_PANELS]
    edges = plots.symmetric_edges(np.concatenate([comparison.differences(system, metric) for system in systems]))

    def draw(panels: Any) -> None:
        panels = panels if len(systems) > 1 else [panels]
        for number_, (axes, system) in enumerate(zip(panels, systems, strict=True)):
            plots.histogram(comparison, system, metric, axes, edges)
            axes.set(xlabel="", ylabel="")
            axes.tick_params(labelbottom=number_ + 3 >= len(systems))  # the lowest of its column

    n_rows = -(-len(systems) // 3)
    size = (3.2 * min(3, len(systems)), 1.75 * n_rows + 0.2)
    label = f"How many queries each system wins and loses in {metric}, by how much"
    return drawn(draw, size, f"histogram{place}", label, len(systems))


def _facts(comparison: Comparison) -> dict[str, Any]:
    """What the numbers hang on."""
    convention = comparison.results[comparison.baseline].convention
    installed = {"fastndcg": __version__, "Python": platform.python_version()}
    for name in PACKAGES:
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            continue
    undefined = {row.system: 0 for row in comparison.rows}
    for row in comparison.rows:
        undefined[row.system] = max(undefined[row.system], row.n_undefined)
    return {"convention": convention, "choices": convention.choices(), "versions": installed, "undefined": undefined}
