"""The parts of the page about benchmarks: tables, charts in light and dark, and goals that are missed."""

from __future__ import annotations

import io
import json
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.lib.chart import list_bars
from benchmarks.lib.misses import render_misses
from benchmarks.lib.render import describe_conditions, render_headline, render_peers, render_report

RESULTS = Path(__file__).resolve().parents[2] / "benchmarks" / "results"
SUITES = {
    "core": ("Core", "The workloads, as multiples of the time that adding up the same arrays takes."),
    "limits": ("Limits", "What bounds the time of many metrics."),
    "scaling": ("Scaling", "Threads, sizes, memory, and one small query."),
    "startup": ("Startup", "Imports and first calls."),
    "inputs": ("Inputs", "Each form of input against a plain reader."),
    "metrics": ("Metrics", "The cost of each metric beside nDCG@10."),
}
THEMES = {"light": ("#1f2328", "#c2410c", "#2f6f9f"), "dark": ("#e6edf3", "#fb923c", "#6cb2e2")}  # text, ours, theirs


def make_pages() -> dict[str, str | bytes]:
    """Return the parts of the page about benchmarks, and its charts."""
    reports = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}
    pages: dict[str, str | bytes] = {}
    if "peers" in reports:
        for theme in THEMES:
            pages[f"_generated/pictures/peers_{theme}.svg"] = draw_peers(reports["peers"], theme)
    pages["_generated/parts/benchmarks.md"] = "".join(write_page(reports))
    return pages


def write_page(reports: dict[str, dict[str, Any]]) -> Iterator[str]:
    """Yield the lines of the page below its introduction."""
    if "peers" in reports:
        yield f"## Libraries\n\n{render_headline(reports['peers'])}\n\n"
        text = f"Queries per second by library: {describe_fastest(reports['peers'])}"
        for theme in THEMES:
            yield f":::{{container}} chart\n```{{image}} _generated/pictures/peers_{theme}.svg\n"
            yield f":alt: {text}\n:class: only-{theme}\n```\n:::\n\n"
        yield f"{render_peers(reports['peers'])}\n\n"
    yield "## What falls short\n\nEach row has a goal that is missed, the measured value, what limits it, and why.\n\n"
    yield f"{render_misses(reports)}\n"
    for name, (title, text) in SUITES.items():
        if name in reports:
            yield f"\n## {title}\n\n{text}\n\n{render_report(reports[name])}\n"


def describe_fastest(report: dict[str, Any]) -> str:
    """Return the speeds of fastndcg and of the fastest other library in words."""
    speeds = {is_ours: (label, speed) for label, speed, is_ours, _ in list_bars(report)}
    return "; ".join(f"{label} {speed:,.0f}" for label, speed in (speeds[True], speeds[False]))


def draw_peers(report: dict[str, Any], theme: str) -> bytes:
    """Return the chart of libraries as SVG, in the colours of a theme."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    text, ours, theirs = THEMES[theme]
    bars = list_bars(report)
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "fastndcg", "hatch.color": theirs}):
        figure, axes = plt.subplots(figsize=(9, 1.4 + 0.34 * len(bars)), layout="constrained")
        for position, (_, speed, is_ours, agrees) in enumerate(bars):
            colour = ours if is_ours else theirs
            style = {} if agrees else {"hatch": "///", "fill": False, "edgecolor": colour}
            axes.barh(position, speed, color=colour, height=0.72, **style)
            axes.annotate(
                f"{speed:,.0f}", (speed, position), (4, 0), textcoords="offset points", va="center", color=text
            )
        axes.set_yticks(range(len(bars)), [label for label, *_ in bars])
        axes.set_xscale("log")
        speeds = [speed for _, speed, *_ in bars]
        axes.set_xlim(min(speeds) / 3, max(speeds) * 6)
        axes.tick_params(which="both", colors=text, length=0)
        axes.grid(axis="x", color=text, alpha=0.25, linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title("queries per second, log scale", color=text, loc="left")
        axes.spines[:].set_visible(False)
        note = f"Hatched: the numbers differ. {describe_conditions(report)}"
        figure.supxlabel("\n".join(textwrap.wrap(note, 110)), color=text, fontsize=8, x=0.01, ha="left")
        file = io.BytesIO()
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        plt.close(figure)
    return file.getvalue()
