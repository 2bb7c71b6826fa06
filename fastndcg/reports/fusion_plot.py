"""The plot of a tuned fusion: the metric against the weight of a run, with folds and band."""

from __future__ import annotations

from typing import Any

from fastndcg.reports.plots import DASHES, escape_name, prepare_axes
from fastndcg.reports.style import COLOURS, FAINT, INK
from fastndcg.statistics.table import format_number

SIZE = (7.0, 4.0)
STEPS = "steps-mid"  # of what has values at some points: it is a step function, too
MOST_STEPS = 4000  # longer curves are drawn at the points of the band


def draw_grid(tuned: Any, axes: Any = None) -> Any:
    """
    Draw the mean of each method and choice of its parameters against the weight of the first run, and folds in grey.

    Points with a mean and a weight alone, such as those of methods that are not linear, are dots.

    Parameters
    ----------
    tuned : TunedFusion
        The tuned fusion of two runs.
    axes : matplotlib Axes, optional
        The axes to draw on. By default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.
    """
    axes = prepare_axes(axes, SIZE)
    for curve in tuned.curves[:1]:
        for place, means in enumerate(curve.fold_means):
            label = "folds of the best" if place == 0 else None
            axes.plot(curve.points, means, drawstyle=STEPS, color=FAINT, linewidth=0.6, alpha=0.7, label=label)
    families = list(dict.fromkeys(row.method.partition("(")[0] for row in tuned.grid))
    for row, means in zip(tuned.grid, tuned.picture.means, strict=True):
        family = row.method.partition("(")[0]
        color = COLOURS[families.index(family) % len(COLOURS)]
        is_best = row.method == tuned.best.method
        width = 1.8 if is_best else 0.9
        axes.plot(
            tuned.picture.weights, means, drawstyle=STEPS, color=color, linewidth=width, alpha=1.0 if is_best else 0.5
        )
        if row.weights is not None:
            axes.plot(next(iter(row.weights.values())), row.mean, "o", color=color, markersize=5 if is_best else 3)
        else:
            axes.axhline(row.mean, color=color, linewidth=0.9, linestyle=DASHES[1])
    for place, family in enumerate(families):
        axes.plot([], [], color=COLOURS[place % len(COLOURS)], label=escape_name(family))
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel(f"weight of {escape_name(next(iter(tuned.names)))}, best: {escape_name(tuned.best.method)}")
    axes.set_ylabel(escape_name(str(tuned.metric)))
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=4)
    return axes


def draw_fusion_curve(tuned: Any, curve: Any, axes: Any = None) -> Any:
    """
    Draw the mean over all queries with a band of one standard error, each fold, the plateau and the held-out mean.

    Parameters
    ----------
    tuned : TunedFusion
        The tuned fusion.
    curve : FusionCurve
        The curve to draw.
    axes : matplotlib Axes, optional
        The axes to draw on. By default those of a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the drawing.
    """
    axes = prepare_axes(axes, SIZE)
    for place, means in enumerate(curve.fold_means):
        label = "folds" if place == 0 else None
        axes.plot(curve.points, means, drawstyle=STEPS, color=FAINT, linewidth=0.8, alpha=0.8, label=label)
    low = curve.point_means - curve.errors
    high = curve.point_means + curve.errors
    axes.fill_between(
        curve.points, low, high, step="mid", color=COLOURS[0], alpha=0.14, linewidth=0, label="one standard error"
    )
    if len(curve.weights) <= MOST_STEPS:
        edges = [*curve.weights.tolist(), 1.0]
        axes.stairs(curve.step_means, edges, baseline=None, color=COLOURS[0], linewidth=1.8, label="all queries")
    else:
        axes.plot(
            curve.points, curve.point_means, drawstyle=STEPS, color=COLOURS[0], linewidth=1.8, label="all queries"
        )
    held_out = tuned.held_out.means()[0]
    axes.axhline(held_out, color=INK, linewidth=1.0, linestyle=DASHES[1], label=f"held out {format_number(held_out)}")
    if tuned.best.weights is not None:
        weight = tuned.best.weights[curve.run]
        axes.axvspan(curve.plateau.low, curve.plateau.high, color=COLOURS[1], alpha=0.18, linewidth=0)
        axes.axvline(weight, color=COLOURS[1], linewidth=1.2, label=f"best weight {weight:.4g}")
    axes.set_xlim(0.0, 1.0)
    axes.set_xlabel(f"weight of {escape_name(curve.run)} in {escape_name(tuned.best.method)}")
    axes.set_ylabel(escape_name(str(tuned.metric)))
    axes.grid(color=FAINT, alpha=0.25, linewidth=0.6)
    axes.legend(  # above the axes: inside it hides the line of the best weight
        frameon=False, fontsize=8.5, labelcolor=INK, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3
    )
    return axes
