"""
Figures as lists of marks in the units of their data, drawn by matplotlib here, and as SVG by `svg` for the page.

Colours are the palette of M. Okabe and K. Ito, made for colour-blind readers. They are never the only sign: shape and
position carry the same information.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from fastndcg.runtime.escapes import MOST_DRAWN, latex, show_name
from fastndcg.runtime.imports import optional_import

INK = "#333333"
FAINT = "#8a8a8a"
PAPER = "#ffffff"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
TICK_CUTOFFS = (1, 2, 3, 5, 10, 20, 50, 100)
MOST_LABELLED = 100  # characters beside an axis


class Mark(NamedTuple):
    """
    A part of a figure.

    Attributes
    ----------
    kind : str
        "line", "steps" (a line whose steps are between the points), "stairs" (steps between edges), "band" and
        "step band" (from y to `high`), "bar" (from x[0] to x[1]), "point", "vertical", "horizontal", or "span" (from
        x[0] to x[1] over the whole height).
    x, y, high : number or sequence
        Where it is.
    colour : str
        One of the palette.
    width : float
        Of a line, or the diameter of a point.
    dashes : int
        The place in `DASHES`.
    opacity : float
        1 where it covers what is below.
    label : str
        Its text in the legend.
    tip : str
        What the page says about it under the pointer, on several lines.
    is_filled : bool
        False for a point that is a ring.
    group : int or None
        The number of the system that it belongs to: the page highlights all marks of a system.
    is_hidden : bool
        True if only the page shows it, when its group is highlighted.
    """

    kind: str
    x: Any = ()
    y: Any = ()
    high: Any = ()
    colour: str = INK
    width: float = 1.2
    dashes: int = 0
    opacity: float = 1.0
    label: str = ""
    tip: str = ""
    is_filled: bool = True
    group: int | None = None
    is_hidden: bool = False


class Figure(NamedTuple):
    """
    A figure: its marks, its size in inches, and its axes.

    Attributes
    ----------
    names : sequence of str
        The names of the rows at the heights 0, 1, …, in place of numbers.
    has_cutoffs : bool
        True if x is a cutoff, on a logarithmic scale.
    x_range, y_range : (float, float) or None
        The ends of the axes. None: those of the marks.
    grid : str
        The axes with lines at their ticks: "", "x" or "both".
    legend : int
        The number of columns of the legend. 0: none.
    is_legend_right : bool
        True if the legend stands beside the axes, False above: inside it would hide marks.
    """

    marks: Sequence[Mark]
    size: tuple[float, float]
    x_label: str
    y_label: str = ""
    title: str = ""
    names: Sequence[str] = ()
    has_cutoffs: bool = False
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None
    grid: str = ""
    legend: int = 0
    is_legend_right: bool = False


def name(text: Any) -> str:
    """Return a name short enough for a figure."""
    return show_name(text, MOST_DRAWN)


def draw(figure: Figure, axes: Any = None) -> Any:
    """Draw a figure by matplotlib on the given axes, or on those of a new figure, and return them."""
    axes = _prepare_axes(axes, figure.size)
    for mark in figure.marks:
        if not mark.is_hidden:
            _draw_mark(axes, mark)
    if figure.names:
        axes.set_yticks(range(len(figure.names)), [_escape(name(row)) for row in figure.names])
    if figure.has_cutoffs:
        cutoffs = [k for mark in figure.marks if mark.kind == "line" for k in mark.x]
        ticks = [k for k in TICK_CUTOFFS if min(cutoffs) <= k <= max(cutoffs)]
        axes.set_xscale("log")
        axes.set_xticks(ticks, list(map(str, ticks)))
        axes.minorticks_off()
    labels = {"xlabel": _escape(show_name(figure.x_label, MOST_LABELLED)), "ylabel": _escape(figure.y_label)}
    axes.set(xlim=figure.x_range, ylim=figure.y_range, **labels)
    if figure.y_label == "queries":
        axes.yaxis.get_major_locator().set_params(integer=True)
    if figure.title:
        axes.set_title(_escape(figure.title), fontsize=9.5, color=INK, loc="left")
    if figure.grid:
        axes.grid(axis=figure.grid, color=FAINT, alpha=0.25, linewidth=0.6)
    if figure.legend:
        place = {"loc": "center left", "bbox_to_anchor": (1.01, 0.5)}
        if not figure.is_legend_right:
            place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        axes.legend(frameon=False, fontsize=8.5, labelcolor=INK, ncols=figure.legend, **place)
    return axes


def _draw_mark(axes: Any, mark: Mark) -> None:
    """Draw one mark."""
    label = {"label": _escape(name(mark.label))} if mark.label else {}
    area = {"color": mark.colour, "alpha": mark.opacity, "linewidth": 0, **label}
    line = {"color": mark.colour, "linewidth": mark.width, "linestyle": DASHES[mark.dashes], **label}
    match mark.kind:
        case "line" | "steps":
            style = "default" if mark.kind == "line" else "steps-mid"
            (drawn,) = axes.plot(mark.x, mark.y, drawstyle=style, alpha=mark.opacity, **line)
            drawn.set_solid_capstyle("round")
        case "stairs":
            axes.stairs(mark.y, mark.x, baseline=None, **line)
        case "band" | "step band":
            axes.fill_between(mark.x, mark.y, mark.high, step="mid" if mark.kind == "step band" else None, **area)
        case "bar":
            low, high = mark.x
            axes.bar(low, mark.y, high - low, align="edge", color=mark.colour, edgecolor=PAPER, linewidth=0.6)
        case "point":
            inside = mark.colour if mark.is_filled else PAPER
            axes.plot(mark.x, mark.y, "o", color=mark.colour, markersize=mark.width, markeredgewidth=mark.width / 4,
                      markerfacecolor=inside)  # fmt: skip
        case "vertical":
            axes.axvline(mark.x, **line)
        case "horizontal":
            axes.axhline(mark.y, **line)
        case "span":
            axes.axvspan(*mark.x, **area)


def _prepare_axes(axes: Any, size: tuple[float, float]) -> Any:
    """Style the given axes, or those of a new figure: no frame, no tick marks."""
    pyplot = optional_import("matplotlib.pyplot", "plotting", "plots")
    if axes is None:
        _, axes = pyplot.subplots(figsize=size, layout="constrained")
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(FAINT)
    axes.tick_params(colors=INK, labelsize=9, length=0)
    for axis in (axes.xaxis, axes.yaxis):
        axis.label.set(color=INK, size=9.5)
    axes.set_axisbelow(True)
    return axes


def _escape(text: str) -> str:
    """Return text for matplotlib: without formulas, and never hidden from the legend."""
    if optional_import("matplotlib", "plotting", "plots").rcParams["text.usetex"]:
        return latex(text)
    text = text.replace("$", r"\$")
    return f"\u200b{text}" if text.startswith("_") else text  # a legend omits labels that begin with _
