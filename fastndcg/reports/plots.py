"""
Plots with matplotlib.

Each function draws on the given axes, or on those of a new figure, and returns them. Colours are never the only sign:
shape and position carry the same information.

The HTML report reads the attribute `tip` of drawn marks, which holds the lines of the tooltip.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.reports.style import COLOURS, FAINT, INK, PAPER
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import MOST_DRAWN, latex, show_name
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.leaderboard import Leaderboard
from fastndcg.statistics.result_rows import Row

BETTER = COLOURS[0]
WORSE = COLOURS[1]
NEUTRAL = FAINT
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
MAX_BINS = 30
TOOLTIP_CUTOFFS = (1, 3, 5, 10, 20, 100)
TICK_CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)
KINDS = ("forest", "curve", "histogram")


def plot(comparison: Comparison, kind: str, metric: Any, system: str | None, axes: Any) -> Any:
    """Draw one kind of plot: see `Comparison.plot`."""
    if kind not in KINDS:
        raise InvalidInputError(f"`kind` must be one of {', '.join(map(repr, KINDS))}, got {shorten(kind)}")
    place = 0 if metric is None or kind == "curve" else comparison.find_metric(metric)
    if kind == "forest":
        return draw_forest(comparison, comparison.metrics[place], axes)
    if kind == "curve":
        return draw_curve(comparison, metric, axes)
    if system is None:
        system = next(name for name in comparison.systems if name != comparison.baseline)
    return draw_histogram(comparison, system, comparison.metrics[place], axes)


def draw_forest(comparison: Comparison, metric: Metric, axes: Any = None) -> Any:
    """
    Draw each system's difference from the baseline with its interval, the largest on top.

    The point of a significant difference is filled.
    """
    rows = [row for row in comparison.rows if row.metric == str(metric) and row.system != comparison.baseline]
    rows.sort(key=lambda row: -math.inf if math.isnan(row.difference) else row.difference)
    axes = prepare_axes(axes, (7.0, 1.1 + 0.3 * len(rows)))
    axes.axvline(0, color=FAINT, linewidth=1)
    for height, row in enumerate(rows):
        colour = choose_colour(row)
        if not math.isnan(row.difference_low):
            line = axes.plot([row.difference_low, row.difference_high], [height] * 2, color=colour, linewidth=1.8)[0]
            line.set_solid_capstyle("round")
        point = axes.plot(
            row.difference,
            height,
            "o",
            color=colour,
            markersize=6.5,
            markeredgewidth=1.6,
            markerfacecolor=colour if row.significant else PAPER,
        )[0]
        point.tip = [f"{show_name(row.system)}: {row.difference:+.4f} {row.mark}".rstrip(), *_describe_row(row)]
    axes.set_yticks(range(len(rows)), [escape_name(row.system) for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel(f"difference of {escape_name(str(metric))} from {escape_name(comparison.baseline)}")
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    return axes


def _describe_row(row: Row) -> list[str]:
    return [
        f"interval {row.difference_low:+.4f} to {row.difference_high:+.4f}",
        f"p {row.p:.4g}, corrected {row.p_corrected:.4g}",
        f"won {row.wins}, tied {row.ties}, lost {row.losses}",
    ]


def draw_curve(comparison: Comparison, name: Any = None, axes: Any = None) -> Any:
    """
    Draw a metric against its cutoff, with bands for the intervals. The baseline is grey.

    With more than six systems, only the baseline and the best system at the deepest cutoff have a band.
    """
    curve = _find_curve(comparison, name)
    axes = prepare_axes(axes, (7.0, 4.2))
    points = {
        system: [point for point in comparison.curves if point.curve == curve and point.system == system]
        for system in comparison.systems
    }
    cutoffs = [point.k for point in points[comparison.baseline]]
    banded_systems = find_banded_systems(comparison, curve)
    for place, system in enumerate(comparison.systems):
        colour, dashes = choose_line_style(comparison.systems, place, comparison.baseline)
        axes.plot(
            cutoffs,
            [point.mean for point in points[system]],
            color=colour,
            linestyle=dashes,
            linewidth=1.8,
            label=escape_name(system),
        )
        if system in banded_systems:
            lows = [point.low for point in points[system]]
            highs = [point.high for point in points[system]]
            axes.fill_between(cutoffs, lows, highs, color=colour, alpha=0.14, linewidth=0)
    _finish_curve(axes, curve, cutoffs, len(comparison.systems))
    return axes


def _find_curve(comparison: Comparison, name: Any) -> str:
    """Return the name of a curve, by default of the first."""
    curves = list(dict.fromkeys(point.curve for point in comparison.curves))
    if not curves:
        raise InvalidInputError(
            "this comparison has no curves. Pass curves='ndcg' to compare, or a metric at 3 cutoffs or more."
        )
    curve = curves[0] if name is None else str(Metric.parse(str(name)))
    if curve not in curves:
        raise InvalidInputError(f"this comparison has no curve of {curve}. It has {show_name(', '.join(curves))}.")
    return curve


def find_banded_systems(comparison: Comparison, curve: str) -> list[str]:
    """Return the systems whose bands are always visible: all of up to six, else the baseline and the best."""
    if len(comparison.systems) <= len(COLOURS):
        return list(comparison.systems)
    points = [point for point in comparison.curves if point.curve == curve]
    deepest = max(point.k for point in points)
    best = max((point for point in points if point.k == deepest), key=lambda point: point.mean)
    return list(dict.fromkeys([comparison.baseline, best.system]))


def _finish_curve(axes: Any, curve: str, cutoffs: list[int], n_systems: int) -> None:
    """Set scales, labels and legend."""
    axes.set_xscale("log")
    ticks = [k for k in TICK_CUTOFFS if min(cutoffs) <= k <= max(cutoffs)]
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_xlabel("cutoff k")
    axes.set_ylabel(f"{escape_name(curve)}@k")
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    axes.legend(
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize=8.5,
        labelcolor=INK,
        ncols=1 if n_systems <= 2 * len(COLOURS) else 2,
    )


def draw_histogram(
    comparison: Comparison, system: str, metric: Metric, axes: Any = None, edges: Array | None = None
) -> Any:
    """Draw the number of queries by their difference from the baseline. The dashed line is the mean."""
    differences = comparison.differences(system, metric)
    defined = differences[~np.isnan(differences)]
    axes = prepare_axes(axes, (5.0, 2.6))
    edges = make_symmetric_edges(defined) if edges is None else edges
    counts, _ = np.histogram(defined, edges)
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if not count:
            continue
        middle = (low + high) / 2
        colour = NEUTRAL if abs(middle) < 1e-12 else BETTER if middle > 0 else WORSE
        axes.bar(low, count, high - low, align="edge", color=colour, edgecolor=PAPER, linewidth=0.6)
    axes.set_xlim(edges[0], edges[-1])
    axes.axvline(0, color=FAINT, linewidth=1)
    if len(defined):
        axes.axvline(float(defined.mean()), color=INK, linewidth=1.2, linestyle=DASHES[1])
    axes.set_title(escape_name(system), fontsize=9.5, color=INK, loc="left")
    axes.set_xlabel(f"difference of {escape_name(str(metric))} from {escape_name(comparison.baseline)}")
    axes.set_ylabel("queries")
    axes.yaxis.get_major_locator().set_params(integer=True)
    return axes


def draw_distribution(results: Results, metric: Metric, axes: Any = None) -> Any:
    """Draw the histogram of one system's values, with their mean and its interval."""
    values = results[metric]
    defined = values[~np.isnan(values)]
    axes = prepare_axes(axes, (5.0, 2.8))
    axes.hist(defined, bins=min(MAX_BINS, max(5, len(defined) // 4)), color=BETTER, edgecolor=PAPER, linewidth=0.6)
    interval = results.confidence_interval(metric)
    if not math.isnan(interval.low):
        axes.axvspan(interval.low, interval.high, color=INK, alpha=0.15, linewidth=0)
    if not math.isnan(interval.mean):
        axes.axvline(interval.mean, color=INK, linewidth=1.2, linestyle=DASHES[1])
        axes.set_title(str(interval), fontsize=9.5, color=INK, loc="left")
    axes.set_xlabel(escape_name(str(metric)))
    axes.set_ylabel("queries")
    return axes


def draw_leaderboard(board: Leaderboard, axes: Any = None) -> Any:
    """Draw the mean of each system with its interval, the best on top, and its rank set beside its name."""
    rows = board.rows[::-1]
    axes = prepare_axes(axes, (7.0, 1.1 + 0.3 * len(rows)))
    for height, row in enumerate(rows):
        colour = COLOURS[(row.tier - 1) % len(COLOURS)]
        if not math.isnan(row.low):
            line = axes.plot([row.low, row.high], [height] * 2, color=colour, linewidth=1.8)[0]
            line.set_solid_capstyle("round")
        point = axes.plot(row.mean, height, "o", color=colour, markersize=6.5)[0]
        point.tip = [f"{show_name(row.system)}: {row.mean:.4f}", f"ranks {row.rank_low} to {row.rank_high}"]
    labels = [
        f"{escape_name(row.system)}  {row.rank_low}" + ("" if row.rank_low == row.rank_high else f"–{row.rank_high}")
        for row in rows
    ]
    axes.set_yticks(range(len(rows)), labels)
    axes.set_ylim(-0.7, len(rows) - 0.3)
    for height, (row, above) in enumerate(pairwise(rows)):
        if row.tier != above.tier:
            axes.axhline(height + 0.5, color=INK, linewidth=0.8)
    axes.set_xlabel(f"{escape_name(board.metric)}, {100 * board.level:g} % interval; ranks that the data allow")
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    return axes


def make_symmetric_edges(differences: Array) -> Array:
    """Return the edges of an odd number of bins around 0. The middle bin holds ties and near ties."""
    defined = differences[~np.isnan(differences)]
    largest = float(np.abs(defined).max(initial=0.0)) or 1.0
    n_bins = min(MAX_BINS, max(10, round(math.sqrt(len(defined))))) // 2 * 2 + 1
    return np.linspace(-largest, largest, n_bins + 1)


def choose_colour(row: Row) -> str:
    """Return blue for significantly better, vermilion for significantly worse, and grey for not significant."""
    if not row.significant:
        return NEUTRAL
    return BETTER if row.difference > 0 else WORSE


def choose_line_style(systems: Sequence[str], place: int, baseline: str) -> tuple[str, Any]:
    """Return a system's colour and dashes. They differ for up to eighteen systems, and the baseline is grey."""
    if systems[place] == baseline:
        return FAINT, "-"
    rank = place - (place > systems.index(baseline))
    return COLOURS[rank % len(COLOURS)], DASHES[rank // len(COLOURS) % len(DASHES)]


def escape_name(name: str) -> str:
    """Return a name as text for matplotlib: short, without formulas, and never hidden from the legend."""
    if optional_import("matplotlib", "plotting", "plots").rcParams["text.usetex"]:
        return latex(show_name(name, MOST_DRAWN))
    short = show_name(name, MOST_DRAWN).replace("$", r"\$")
    return f"\u200b{short}" if short.startswith("_") else short  # a legend omits labels that begin with _


def prepare_axes(axes: Any, size: tuple[float, float]) -> Any:
    """Style the given axes, or those of a new figure: no frame, no tick marks."""
    pyplot = optional_import("matplotlib.pyplot", "plotting", "plots")
    if axes is None:
        _, axes = pyplot.subplots(figsize=size, layout="constrained")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=9, length=0)
    axes.xaxis.label.set_color(INK)
    axes.yaxis.label.set_color(INK)
    axes.xaxis.label.set_size(9.5)
    axes.yaxis.label.set_size(9.5)
    axes.set_axisbelow(True)
    return axes
