"""
The chart of queries per second by library, on a log scale.

It has no background, and colours of medium brightness, so that it is legible on light and on dark pages.
"""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from benchmarks.lib.render import describe_conditions, render_marks

OURS = "#e8590c"
THEIRS = "#4c8fbd"
TEXT = "#7d7d7d"


def list_bars(report: dict[str, Any]) -> list[tuple[str, float, bool, bool]]:
    """Return label, queries per second, is_ours and agrees of each library, slowest first."""
    measured = sorted((row for row in report["peers"] if "seconds" in row), key=lambda row: -row["seconds"])
    return [
        (
            make_label(row, report["versions"]),
            report["queries"] / row["seconds"],
            row["package"] == "fastndcg",
            row["agreement"]["agrees"],
        )
        for row in measured
    ]


def make_label(row: dict[str, Any], versions: dict[str, str]) -> str:
    """Return a library's name, its version and the way to use it."""
    name, comma, rest = row["name"].partition(",")
    return f"{name} {versions.get(row['package'], '')}".rstrip() + comma + rest + render_marks(row)


def draw_chart(report: dict[str, Any], path: Path) -> None:
    """Draw one bar for each library, hatched if its values differ."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    bars = list_bars(report)
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.34 * len(bars)), layout="constrained")
    for position, (_, speed, is_ours, agrees) in enumerate(bars):
        colour = OURS if is_ours else THEIRS
        hatch = {} if agrees else {"hatch": "///", "fill": False, "edgecolor": colour}
        axes.barh(position, speed, color=colour, height=0.72, **hatch)
        axes.annotate(
            f"{speed:,.0f}", (speed, position), (4, 0), textcoords="offset points", va="center", color=TEXT, fontsize=9
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(bars)), [name for name, *_ in bars], fontsize=10)
    for tick, (_, _, is_ours, _) in zip(axes.get_yticklabels(), bars, strict=True):
        tick.set_color(OURS if is_ours else TEXT)
        tick.set_fontweight("bold" if is_ours else "normal")
    add_texts(figure, axes, report)
    figure.savefig(path, dpi=150, transparent=True, metadata={"Software": None})
    plt.close(figure)


def add_texts(figure: Any, axes: Any, report: dict[str, Any]) -> None:
    """Add the title, the axis and the conditions of the measurement."""
    title = f"{report['metric']}: queries per second, {report['queries']:,} queries × {report['documents']} documents"
    axes.set_title(title, color=TEXT, fontsize=12, loc="left")
    speeds = [speed for _, speed, *_ in list_bars(report)]
    axes.set_xlim(min(speeds) / 3, max(speeds) * 5)  # every bar is visible, with space for its figure
    axes.tick_params(axis="x", which="both", colors=TEXT)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=TEXT, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)
    hatched = "" if all(agrees for *_, agrees in list_bars(report)) else "Hatched: the numbers differ. "
    note = (
        "Log scale. Evaluation alone, without conversion into the library's input form. ¹ binary labels. "
        f"² takes ranked lists. {hatched}{describe_conditions(report)}"
    )
    figure.supxlabel("\n".join(textwrap.wrap(note, 120)), color=TEXT, fontsize=8, x=0.01, ha="left")
