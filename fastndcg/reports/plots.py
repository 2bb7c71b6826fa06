"""The figures of comparisons, leaderboards, results and tuned fusions, as marks that `draw` or the page draws."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, Words, shorten
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array
from fastndcg.reports.figure import COLOURS, DASHES, FAINT, Figure, Mark, draw, name
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.curves import NO_CURVES, CurvePoint
from fastndcg.statistics.leaderboard import Leaderboard
from fastndcg.statistics.result_rows import Row
from fastndcg.statistics.table import format_number

BETTER = COLOURS[0]
WORSE = COLOURS[1]
OUTCOMES = {"better": BETTER, "worse": WORSE, "": FAINT}
MAX_BINS = 30
MAX_BANDS = 6  # systems whose bands are always visible
TOOLTIP_CUTOFFS = (1, 3, 5, 10, 20, 100)
KINDS = ("forest", "curve", "histogram")
MOST_STEPS = 4000  # longer curves are drawn at the points of the band


def plot(comparison: Comparison, kind: str, metric: Any, curves: Any, system: str | None, axes: Any) -> Any:
    """Draw one kind of plot: see `Comparison.plot`."""
    if kind not in KINDS:
        raise InvalidInputError(f"`kind` must be one of {', '.join(map(repr, KINDS))}, got {shorten(kind)}")
    if system is not None and kind != "histogram":
        raise InvalidInputError(Words("`system`", "--system"), f" is for a histogram. A {kind} has all: leave it out.")
    if curves is not None and kind != "curve":
        raise InvalidInputError(f"`curves` are of a curve, and a {kind} has none. Leave them out.")
    place = 0 if metric is None or kind == "curve" else comparison._find_metric(metric)
    if kind == "forest":
        return draw(make_forest(comparison, comparison.metrics[place]), axes)
    if kind == "curve":
        return draw(make_curve(comparison, _find_curve(comparison.curves(curves), metric)), axes)
    if system is None:
        system = next(name for name in comparison.systems if name != comparison.baseline)
    return draw(make_histogram(comparison, system, comparison.metrics[place]), axes)


def _list_rows(comparison: Comparison, metric: Metric) -> list[Row]:
    """Return the rows of systems other than the baseline, the best last, those without a difference first."""
    rows = [row for row in comparison.rows if row.metric == str(metric) and row.system != comparison.baseline]
    return sorted(rows, key=lambda row: -math.inf if math.isnan(row.difference) else metric.sign * row.difference)


def describe_counts(row: Row) -> list[str]:
    """Return the numbers of queries won, tied and lost as text, none where they are unknown."""
    return [f"won {row.wins}, tied {row.ties}, lost {row.losses}"] if row.counts else []


def _describe_difference(comparison: Comparison, metric: Metric) -> str:
    return f"difference of {show_name(metric)} from {show_name(comparison.baseline)}"


def make_forest(comparison: Comparison, metric: Metric) -> Figure:
    """
    Return each system's difference from the baseline with its interval, the best on top.

    Blue is significantly better, vermilion significantly worse. The point of a significant difference is filled.
    """
    rows = _list_rows(comparison, metric)
    marks = [Mark("vertical", 0, colour=FAINT, width=1)]
    for height, row in enumerate(rows):
        colour = OUTCOMES[row.outcome if row.significant else ""]
        tip = [
            f"{show_name(row.system)}: {row.difference:+.4f} {row.mark}".rstrip(),
            f"interval {row.difference_low:+.4f} to {row.difference_high:+.4f}",
            f"p {row.p:.4g}, corrected {row.p_corrected:.4g}",
            *describe_counts(row),
        ]
        marks += _mark_interval(height, row.difference_low, row.difference_high, colour)
        point = Mark("point", row.difference, height, colour=colour, width=6.5, tip="\n".join(tip))
        marks.append(point._replace(is_filled=row.significant))
    systems = [show_name(row.system) for row in rows]
    return _make_rows(marks, systems, _describe_difference(comparison, metric), 1.1 + 0.3 * len(rows))


def make_leaderboard(board: Leaderboard) -> Figure:
    """Return the mean of each system with its interval, the best on top, and its rank set beside its name."""
    rows = board.rows[::-1]
    marks: list[Mark] = []
    for height, row in enumerate(rows):
        colour = COLOURS[(row.tier - 1) % len(COLOURS)]
        tip = f"{show_name(row.system)}: {row.mean:.4f}\nranks {row.rank_low} to {row.rank_high}"
        marks += _mark_interval(height, row.low, row.high, colour)
        marks.append(Mark("point", row.mean, height, colour=colour, width=6.5, tip=tip))
    for height, (row, above) in enumerate(pairwise(rows)):
        if row.tier != above.tier:
            marks.append(Mark("horizontal", y=height + 0.5, width=0.8))
    ends = ["" if row.rank_low == row.rank_high else f"–{row.rank_high}" for row in rows]
    names = [f"{show_name(row.system)}, rank {row.rank_low}{end}" for row, end in zip(rows, ends, strict=True)]
    label = f"{show_name(board.metric)}, {100 * board.level:g} % interval"
    return _make_rows(marks, names, label, 1.1 + 0.3 * len(rows))


def make_change(change: Any) -> Figure:
    """Return a bar for each part of the difference of two means, and one for the difference, at the bottom."""
    bars = {"difference": change.difference, **dict(reversed(change.parts.items()))}
    marks = [Mark("vertical", 0, colour=FAINT, width=1)]
    for height, (part, adds) in enumerate(bars.items()):
        colour = FAINT if part == "difference" else OUTCOMES["better" if change.metric.sign * adds >= 0 else "worse"]
        tip = f"{part}: {float(adds):+.4f}"
        marks.append(Mark("line", [0.0, float(adds)], [height, height], colour=colour, width=6, tip=tip))
    return _make_rows(marks, list(bars), f"what it adds to {show_name(change.metric)}", 1.1 + 0.3 * len(bars))


def _mark_interval(height: int, low: float, high: float, colour: str) -> Iterator[Mark]:
    if not math.isnan(low):
        yield Mark("line", [low, high], [height, height], colour=colour, width=1.8)


def _make_rows(marks: list[Mark], names: list[str], label: str, height: float) -> Figure:
    return Figure(marks, (7.0, height), label, names=names, y_range=(-0.5, len(names) - 0.5), grid="x")


def _find_curve(points: Sequence[CurvePoint], metric: Any) -> list[CurvePoint]:
    """Return the points of a curve, by default of the first."""
    curves = list(dict.fromkeys(point.curve for point in points))
    if not curves:
        raise InvalidInputError(NO_CURVES)
    curve = curves[0] if metric is None else str(Metric.parse(str(metric)))
    family = curve.rpartition("@")[0]
    if family in curves:
        raise InvalidInputError(
            f"a curve shows a metric at each cutoff. Give metric={shorten(family)}, not {shorten(curve)}."
        )
    if curve not in curves:
        raise InvalidInputError(f"this comparison has no curve of {curve}. It has {show_name(', '.join(curves))}.")
    return [point for point in points if point.curve == curve]


def make_curve(comparison: Comparison, points: Sequence[CurvePoint]) -> Figure:
    """
    Return a metric against its cutoff, with bands for the intervals. The baseline is grey.

    With more than six systems, only the baseline and the best system at the deepest cutoff have a visible band.
    """
    bands: list[Mark] = []
    lines: list[Mark] = []
    curve = points[0].curve
    deepest = max(point.k for point in points)
    sign = Metric.parse(curve).sign
    best = max((point for point in points if point.k == deepest), key=lambda point: sign * point.mean).system
    others = [system for system in comparison.systems if system != comparison.baseline]
    for place, system in enumerate(comparison.systems):
        own = [point for point in points if point.system == system]
        colour, dashes = FAINT, 0
        if system != comparison.baseline:
            rank = others.index(system)
            colour, dashes = COLOURS[rank % len(COLOURS)], rank // len(COLOURS) % len(DASHES)
        cutoffs, means, lows, highs = zip(*((point.k, point.mean, point.low, point.high) for point in own), strict=True)
        shown = (f"@{point.k}: {format_number(point.mean)}" for point in own if point.k in TOOLTIP_CUTOFFS)
        tip = "\n".join([show_name(system), *shown])
        is_hidden = len(comparison.systems) > MAX_BANDS and system not in (comparison.baseline, best)
        band = Mark("band", cutoffs, lows, highs, colour=colour, opacity=0.14, group=place, is_hidden=is_hidden)
        line = Mark("line", cutoffs, means, colour=colour, width=1.8, dashes=dashes, label=system, tip=tip, group=place)
        bands.append(band)
        lines.append(line)
    columns = 1 if len(comparison.systems) <= 2 * len(COLOURS) else 2
    return Figure(
        [*bands, *lines], (7.0, 4.2), "cutoff k", f"{name(curve)}@k", has_cutoffs=True, grid="both", legend=columns,
        is_legend_right=True,
    )  # fmt: skip


def make_histogram(comparison: Comparison, system: str, metric: Metric, edges: Array | None = None) -> Figure:
    """Return the number of queries by their difference from the baseline. The dashed line is the mean."""
    differences = comparison.differences(system, metric)
    defined = differences[~np.isnan(differences)]
    edges = make_symmetric_edges(defined) if edges is None else edges
    counts, _ = np.histogram(defined, edges)
    middle = len(counts) // 2
    colours = WORSE, FAINT, BETTER
    marks = []
    for place in np.flatnonzero(counts).tolist():
        colour = colours[1 + metric.sign * ((place > middle) - (place < middle))]
        ends = float(edges[place]), float(edges[place + 1])
        tip = f"{counts[place]} queries\ndifference {ends[0]:+.3f} to {ends[1]:+.3f}"
        marks.append(Mark("bar", ends, int(counts[place]), colour=colour, tip=tip))
    marks.append(Mark("vertical", 0, colour=FAINT, width=1))
    if len(defined):
        marks.append(Mark("vertical", float(defined.mean()), dashes=1))
    label = _describe_difference(comparison, metric)
    return Figure(marks, (5.0, 2.6), label, "queries", name(system), x_range=(float(edges[0]), float(edges[-1])))


def make_histograms(comparison: Comparison, metric: Metric) -> dict[str, Figure]:
    """Return the histogram of each system but the baseline, with the same scales, the best first."""
    systems = [row.system for row in reversed(_list_rows(comparison, metric))]
    edges = make_symmetric_edges(np.concatenate([comparison.differences(system, metric) for system in systems]))
    figures = {system: make_histogram(comparison, system, metric, edges) for system in systems}
    highest = max([1, *(mark.y for figure in figures.values() for mark in figure.marks if mark.kind == "bar")])
    return {system: figure._replace(y_range=(0.0, float(highest))) for system, figure in figures.items()}


def make_symmetric_edges(differences: Array) -> Array:
    """Return the edges of an odd number of bins around 0. The middle bin holds ties and near ties."""
    defined = differences[~np.isnan(differences)]
    largest = float(np.abs(defined).max(initial=0.0)) or 1.0
    n_bins = min(MAX_BINS, max(10, round(math.sqrt(len(defined))))) // 2 * 2 + 1
    return np.linspace(-largest, largest, n_bins + 1)


def make_distribution(results: Results, metric: Metric) -> Figure:
    """Return the histogram of one system's values, with their mean and its interval."""
    values = results[metric]
    defined = values[~np.isnan(values)]
    counts, edges = np.histogram(defined, bins=min(MAX_BINS, max(5, len(defined) // 4)))
    marks = [Mark("bar", ends, count, colour=BETTER) for ends, count in zip(pairwise(edges), counts, strict=True)]
    interval = results.confidence_interval(metric)
    if not math.isnan(interval.low):
        marks.append(Mark("span", (interval.low, interval.high), opacity=0.15))
    title = ""
    if not math.isnan(interval.mean):
        marks.append(Mark("vertical", interval.mean, dashes=1))
        title = str(interval)
    return Figure(marks, (5.0, 2.8), name(metric), "queries", title)


def _mark_folds(curve: Any, label: str, width: float) -> list[Mark]:
    """Return the curve of each fold in grey. A mean changes in steps with the weight, as all of these do."""
    folds = [Mark("steps", curve.points, means, colour=FAINT, width=width, opacity=0.8) for means in curve.fold_means]
    return [mark._replace(label=label) if place == 0 else mark for place, mark in enumerate(folds)]


def make_grid(tuned: Any) -> Figure:
    """
    Return the mean of each method and choice of its parameters against the weight of the first of two runs.

    Points with a mean and a weight alone, such as those of methods that are not linear, are dots.
    """
    marks = [mark for curve in tuned.curves[:1] for mark in _mark_folds(curve, "folds of the best", 0.6)]
    families = list(dict.fromkeys(row.method.partition("(")[0] for row in tuned.grid))
    labels = dict(zip(families, families, strict=True))
    for row, means in zip(tuned.grid, tuned.picture.means, strict=True):
        family = row.method.partition("(")[0]
        colour = COLOURS[families.index(family) % len(COLOURS)]
        is_best = row.method == tuned.best.method
        line = Mark("steps", tuned.picture.weights, means, colour=colour, width=1.8 if is_best else 0.9)
        marks.append(line._replace(opacity=1.0 if is_best else 0.5, label=labels.pop(family, "")))
        if row.weights is None:
            marks.append(Mark("horizontal", y=row.mean, colour=colour, width=0.9, dashes=1))
        else:
            weight = next(iter(row.weights.values()))
            marks.append(Mark("point", weight, row.mean, colour=colour, width=5 if is_best else 3))
    label = f"weight of {show_name(next(iter(tuned.names)))}, best: {tuned.best.method}"
    return _make_tuning(tuned, marks, label, 4)


def make_fusion_curve(tuned: Any, curve: Any) -> Figure:
    """Return the mean over all queries with one standard error, each fold, the plateau and the held-out mean."""
    low, high = curve.point_means - curve.errors, curve.point_means + curve.errors
    whole = Mark("steps", curve.points, curve.point_means, colour=COLOURS[0], width=1.8, label="all queries")
    if len(curve.weights) <= MOST_STEPS:
        whole = whole._replace(kind="stairs", x=[*curve.weights.tolist(), 1.0], y=curve.step_means)
    held_out = tuned.held_out.means()[0]
    marks = [
        *_mark_folds(curve, "folds", 0.8),
        Mark("step band", curve.points, low, high, colour=COLOURS[0], opacity=0.14, label="one standard error"),
        whole,
        Mark("horizontal", y=held_out, width=1.0, dashes=1, label=f"held out {format_number(held_out)}"),
    ]
    if tuned.best.weights is not None:
        weight = tuned.best.weights[curve.run]
        marks.append(Mark("span", (curve.plateau.low, curve.plateau.high), colour=COLOURS[1], opacity=0.18))
        marks.append(Mark("vertical", weight, colour=COLOURS[1], label=f"best weight {weight:.4g}"))
    return _make_tuning(tuned, marks, f"weight of {show_name(curve.run)} in {tuned.best.method}", 3)


def _make_tuning(tuned: Any, marks: list[Mark], label: str, n_columns: int) -> Figure:
    return Figure(marks, (7.0, 4.0), label, name(tuned.metric), x_range=(0.0, 1.0), grid="both", legend=n_columns)
