"""
Plots by matplotlib: axes in, axes out, in colours that the colour-blind tell apart.

The colours are those of M. Okabe and K. Ito; what matters is told by shape and place, too. A mark's `tip` is what it
says to whoever points at it on a page, and `band` the number of what is shown meanwhile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, optional_import
from fastndcg.metric import Metric
from fastndcg.rankings import Array
from fastndcg.results import Results
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.rows import Row

INK, FAINT, PAPER = "#333333", "#8a8a8a", "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
BETTER, WORSE, NEUTRAL = COLOURS[0], COLOURS[1], FAINT
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
MOST_BINS = 30
TOLD_CUTOFFS = (1, 3, 5, 10, 20, 100)
KINDS = ("forest", "curve", "histogram")


def plot(comparison: Comparison, kind: str, metric: Any, system: str | None, axes: Any) -> Any:
    """Draw one kind of plot; `Comparison.plot` says what they are."""
    if kind not in KINDS:
        raise InvalidInputError(f"`kind` must be one of {', '.join(map(repr, KINDS))}, not {kind!r}")
    place = 0 if metric is None or kind == "curve" else comparison.place_of(metric)
    if kind == "forest":
        return forest(comparison, comparison.metrics[place], axes)
    if kind == "curve":
        return curve(comparison, metric, axes)
    others = [name for name in comparison.systems if name != comparison.baseline]
    return histogram(comparison, others[0] if system is None else system, comparison.metrics[place], axes)


def forest(comparison: Comparison, metric: Metric, axes: Any = None) -> Any:
    """Each system's difference from the baseline with its interval, the best on top; filled where significant."""
    rows = [row for row in comparison.rows if row.metric == str(metric) and row.system != comparison.baseline]
    rows.sort(key=lambda row: -math.inf if math.isnan(row.difference) else row.difference)
    axes = styled(axes, (7.0, 1.1 + 0.3 * len(rows)))
    axes.axvline(0, color=FAINT, linewidth=1)
    for height, row in enumerate(rows):
        colour = colour_of(row)
        if not math.isnan(row.difference_low):
            line = axes.plot([row.difference_low, row.difference_high], [height] * 2, color=colour, linewidth=1.8)[0]
            line.set_solid_capstyle("round")
        point = axes.plot(
            row.difference, height, "o", color=colour, markersize=6.5, markeredgewidth=1.6,
            markerfacecolor=colour if row.significant else PAPER,
        )[0]  # fmt: skip
        point.tip = [f"{row.system}: {row.difference:+.4f} {row.mark}".rstrip(), *_details(row)]
    axes.set_yticks(range(len(rows)), [plain(row.system) for row in rows])
    axes.set_ylim(-0.7, len(rows) - 0.3)
    axes.set_xlabel(f"difference of {metric} from {plain(comparison.baseline)}")
    axes.grid(axis="x", color=FAINT, alpha=0.25, linewidth=0.6)
    return axes


def _details(row: Row) -> list[str]:
    return [
        f"interval {row.difference_low:+.4f} to {row.difference_high:+.4f}",
        f"p {row.p:.4g}, corrected {row.p_corrected:.4g}",
        f"won {row.wins}, tied {row.ties}, lost {row.losses}",
    ]


def curve(comparison: Comparison, name: Any = None, axes: Any = None, *, all_bands: bool = False) -> Any:
    """
    A metric against its cutoff, with bands of its interval; the baseline is grey.

    Of many systems only the baseline and the best at the deepest cutoff have a band. With `all_bands` the others' are
    drawn, too, for a page that shows a band when somebody points at its line.
    """
    wanted = _known_curve(comparison, name)
    axes = styled(axes, (7.0, 4.2))
    points = {
        system: [point for point in comparison.curves if point.curve == wanted and point.system == system]
        for system in comparison.systems
    }
    cutoffs = [point.k for point in points[comparison.baseline]]
    banded = banded_systems(comparison, wanted)
    for place, system in enumerate(comparison.systems):
        colour, dashes = line_style(comparison.systems, place, comparison.baseline)
        line = axes.plot(
            cutoffs, [point.mean for point in points[system]], color=colour, linestyle=dashes, linewidth=1.8,
            label=plain(system),
        )[0]  # fmt: skip
        line.tip = [system, *(f"@{point.k}: {point.mean:.4f}" for point in points[system] if point.k in TOLD_CUTOFFS)]
        line.band = place
        if system in banded or all_bands:
            lows, highs = [point.low for point in points[system]], [point.high for point in points[system]]
            band = axes.fill_between(cutoffs, lows, highs, color=colour, alpha=0.14, linewidth=0)
            band.hidden_band = None if system in banded else place
    _finish_curve(axes, wanted, cutoffs, len(comparison.systems))
    return axes


def _known_curve(comparison: Comparison, name: Any) -> str:
    """The curve that is wanted, the first if none is named."""
    known = dict.fromkeys(point.curve for point in comparison.curves)
    if not known:
        raise InvalidInputError("this comparison has no curves: give compare curves='ndcg', or a metric at 3 cutoffs")
    wanted = next(iter(known)) if name is None else str(Metric.parse(str(name)))
    if wanted not in known:
        raise InvalidInputError(f"this comparison has no curve of {wanted}; it has {', '.join(known)}")
    return wanted


def banded_systems(comparison: Comparison, name: str) -> list[str]:
    """Those whose bands are always shown: all, or of many the baseline and the best at the deepest cutoff."""
    if len(comparison.systems) <= len(COLOURS):
        return list(comparison.systems)
    points = [point for point in comparison.curves if point.curve == name]
    deepest = max(point.k for point in points)
    best = max((point for point in points if point.k == deepest), key=lambda point: point.mean)
    return list(dict.fromkeys([comparison.baseline, best.system]))


def _finish_curve(axes: Any, name: str, cutoffs: list[int], n_systems: int) -> None:
    """Axes and legend."""
    axes.set_xscale("log")
    ticks = [k for k in (1, 2, 3, 5, 10, 20, 50, 100) if min(cutoffs) <= k <= max(cutoffs)]
    axes.set_xticks(ticks, list(map(str, ticks)))
    axes.minorticks_off()
    axes.set_xlabel("cutoff k")
    axes.set_ylabel(f"{name}@k")
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    axes.legend(
        loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8.5, labelcolor=INK,
        ncols=1 if n_systems <= 2 * len(COLOURS) else 2,
    )  # fmt: skip


def histogram(comparison: Comparison, system: str, metric: Metric, axes: Any = None, edges: Array | None = None) -> Any:
    """How many queries a system wins and loses against the baseline, by how much."""
    differences = comparison.differences(system, metric)
    known = differences[~np.isnan(differences)]
    axes = styled(axes, (5.0, 2.6))
    edges = symmetric_edges(known) if edges is None else edges
    counts, _ = np.histogram(known, edges)
    for count, low, high in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        middle = (low + high) / 2
        colour = NEUTRAL if abs(middle) < 1e-12 else BETTER if middle > 0 else WORSE
        if not count:
            continue
        bar = axes.bar(low, count, high - low, align="edge", color=colour, edgecolor=PAPER, linewidth=0.6)[0]
        bar.tip = [f"{system}: {count} queries", f"difference {low:+.3f} to {high:+.3f}"]
    axes.set_xlim(edges[0], edges[-1])
    axes.axvline(0, color=FAINT, linewidth=1)
    if len(known):
        axes.axvline(float(known.mean()), color=INK, linewidth=1.2, linestyle=DASHES[1])
    axes.set_title(plain(system), fontsize=9.5, color=INK, loc="left")
    axes.set_xlabel(f"difference of {metric} from {plain(comparison.baseline)}")
    axes.set_ylabel("queries")
    axes.yaxis.get_major_locator().set_params(integer=True)
    return axes


def distribution(results: Results, metric: Metric, axes: Any = None) -> Any:
    """How one system's values are spread, and their mean with its interval."""
    values = results[metric]
    known = values[~np.isnan(values)]
    axes = styled(axes, (5.0, 2.8))
    axes.hist(known, bins=min(MOST_BINS, max(5, len(known) // 4)), color=BETTER, edgecolor=PAPER, linewidth=0.6)
    interval = results.confidence_interval(metric)
    if not math.isnan(interval.low):
        axes.axvspan(interval.low, interval.high, color=INK, alpha=0.15, linewidth=0)
    if not math.isnan(interval.mean):
        axes.axvline(interval.mean, color=INK, linewidth=1.2, linestyle=DASHES[1])
        axes.set_title(str(interval), fontsize=9.5, color=INK, loc="left")
    axes.set_xlabel(str(metric))
    axes.set_ylabel("queries")
    return axes


def symmetric_edges(differences: Array) -> Array:
    """Edges of an odd number of bins around 0, the middle one for ties and near ties."""
    known = differences[~np.isnan(differences)]
    reach = float(np.abs(known).max(initial=0.0)) or 1.0
    n_bins = min(MOST_BINS, max(10, round(math.sqrt(len(known))))) // 2 * 2 + 1
    return np.linspace(-reach, reach, n_bins + 1)


def colour_of(row: Row) -> str:
    """Blue for better, vermilion for worse, grey where it may be either."""
    if not row.significant:
        return NEUTRAL
    return BETTER if row.difference > 0 else WORSE


def line_style(systems: Sequence[str], place: int, baseline: str) -> tuple[str, Any]:
    """A colour and dashes of its own for each of eighteen systems; the baseline is grey."""
    if systems[place] == baseline:
        return FAINT, "-"
    rank = place - (place > systems.index(baseline))
    return COLOURS[rank % len(COLOURS)], DASHES[rank // len(COLOURS) % len(DASHES)]


def plain(name: str) -> str:
    """A name as it is: no dollar begins a formula, and no underscore hides it from the legend."""
    shown = name.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def styled(axes: Any, size: tuple[float, float]) -> Any:
    """The axes given, or new ones, without what does not say anything."""
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
