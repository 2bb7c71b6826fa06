"""The plot of a tuned fusion: the metric against the weight of a run, with folds and band."""

from __future__ import annotations

from typing import Any

from fastndcg.reports.plots import DASHES, escape_name, prepare_axes
from fastndcg.reports.style import COLOURS, FAINT, INK
from fastndcg.statistics.table import format_number

SIZE = (7.0, 4.0)
STEPS = "steps-mid"  # of what has values at some points: it is a step function, too
MOST_STEPS = 4000  # longer curves are drawn at the points of the band


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
