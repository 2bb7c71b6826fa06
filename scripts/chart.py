"""
Draw queries per second by library, on a log scale, from what benchmarks/peers.py saved.

Usage: python scripts/chart.py [--json FILE] [--png FILE]

The picture has no background, and colours of middle brightness, so that it reads on light pages and on dark ones.
"""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from render import marks, measured_on
from timing import ROOT

OURS, THEIRS, TEXT = "#e8590c", "#4c8fbd", "#7d7d7d"


def main() -> None:
    """Read, draw, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, default=ROOT / "benchmarks" / "peers.json")
    parser.add_argument("--png", type=Path, default=ROOT / "benchmarks" / "peers.png")
    asked = parser.parse_args()
    draw(json.loads(asked.json.read_text(encoding="utf-8")), asked.png)


def bars(found: dict[str, Any]) -> list[tuple[str, float, bool, bool]]:
    """Label, queries per second, whether it is ours, whether the numbers agree: slowest first."""
    measured = sorted((row for row in found["peers"] if "seconds" in row), key=lambda row: -row["seconds"])
    return [
        (
            label(row, found["versions"]),
            found["queries"] / row["seconds"],
            row["package"] == "fastndcg",
            row["agreement"]["agrees"],
        )
        for row in measured
    ]


def label(row: dict[str, Any], versions: dict[str, str]) -> str:
    """A library's name and version; the version of a way to use it stands behind the name of the library."""
    name, comma, rest = row["name"].partition(",")
    return f"{name} {versions.get(row['package'], '')}".rstrip() + comma + rest + marks(row)


def draw(found: dict[str, Any], path: Path) -> None:
    """One bar a library; those whose numbers differ are hatched."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    shown = bars(found)
    figure, axes = plt.subplots(figsize=(9, 1.6 + 0.34 * len(shown)), layout="constrained")
    for place, (_, speed, is_ours, agrees) in enumerate(shown):
        colour = OURS if is_ours else THEIRS
        hatch = {} if agrees else {"hatch": "///", "fill": False, "edgecolor": colour}
        axes.barh(place, speed, color=colour, height=0.72, **hatch)
        axes.annotate(
            f"{speed:,.0f}", (speed, place), (4, 0), textcoords="offset points", va="center", color=TEXT, fontsize=9
        )
    axes.set_xscale("log")
    axes.set_yticks(range(len(shown)), [name for name, *_ in shown], fontsize=10)
    for tick, (_, _, is_ours, _) in zip(axes.get_yticklabels(), shown, strict=True):
        tick.set_color(OURS if is_ours else TEXT)
        tick.set_fontweight("bold" if is_ours else "normal")
    finish(figure, axes, found)
    figure.savefig(path, dpi=150, transparent=True, metadata={"Software": None})
    plt.close(figure)


def finish(figure: Any, axes: Any, found: dict[str, Any]) -> None:
    """Title, axis, and what the figures were measured on."""
    title = f"{found['metric']}: queries per second, {found['queries']:,} queries × {found['documents']} documents"
    axes.set_title(title, color=TEXT, fontsize=12, loc="left")
    speeds = [speed for _, speed, *_ in bars(found)]
    axes.set_xlim(min(speeds) / 3, max(speeds) * 5)  # no bar without length, and room for the figures behind them
    axes.tick_params(axis="x", which="both", colors=TEXT)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=TEXT, alpha=0.3, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in axes.spines.values():
        side.set_visible(False)
    hatched = "" if all(agrees for *_, agrees in bars(found)) else "Hatched: the numbers differ. "
    said = (
        "Log scale. Evaluation alone, without conversion into the library's input form. ¹ binary labels. "
        f"² takes ranked lists. {hatched}{measured_on(found)}"
    )
    figure.supxlabel("\n".join(textwrap.wrap(said, 120)), color=TEXT, fontsize=8, x=0.01, ha="left")


if __name__ == "__main__":
    main()
