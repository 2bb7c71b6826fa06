"""Figures as inline SVG, in the colours of the page, light or dark, with tooltips."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np

from fastndcg.reports.figure import COLOURS, FAINT, INK, PAPER, TICK_CUTOFFS, Figure, Mark, name
from fastndcg.runtime.escapes import html, show_name

PIXELS = 64  # of an inch: seven inches are legible in a narrow window
PANEL = (200.0, 110.0)
HISTOGRAM = (200.0, 62.0)  # without the numbers below
N_READABLE = 6  # systems in one figure on paper; more have a panel each
NICE_STEPS = (1, 2, 2.5, 5, 10)
DASH_PATTERNS = ("", ' stroke-dasharray="9 4"', ' stroke-dasharray="2 3"')
LINE = 17  # the height of a line of text in pixels
LETTER = 8.0  # the width of a letter in pixels, in the widest of usual fonts
SMALL_LETTER = 7.0  # in panels
MOST_LETTERS = 32  # of a line in seven inches, whatever letters they are
# the CSS variable of the page for each colour
VARIABLES = {INK: "var(--ink)", FAINT: "var(--faint)", PAPER: "var(--paper)"} | {
    colour: f"var(--c{place})" for place, colour in enumerate(COLOURS)
}


class Frame(NamedTuple):
    """The scales of a figure: the ends of its data, and of its area in pixels. The ends of the data differ."""

    x: tuple[float, float]
    y: tuple[float, float]
    left: float
    right: float
    top: float
    bottom: float
    has_cutoffs: bool

    def place_x(self, value: float) -> float:
        """Return the pixel of a number on the x axis."""
        low, high, value = (math.log(end) if self.has_cutoffs else end for end in (*self.x, value))
        return self.left + (value - low) / (high - low) * (self.right - self.left)

    def place_y(self, value: float) -> float:
        """Return the pixel of a number on the y axis."""
        return self.bottom - (value - self.y[0]) / (self.y[1] - self.y[0]) * (self.bottom - self.top)

    def place(self, x: Iterable[float], y: Iterable[float]) -> list[tuple[float, float]]:
        """Return the pixels of points, without those that are NaN."""
        return [(self.place_x(a), self.place_y(b)) for a, b in zip(x, y, strict=True) if not math.isnan(b)]


def write_figure(figure: Figure, label: str, style: str = "plot") -> str:
    """
    Return a figure as an SVG element.

    Parameters
    ----------
    figure : Figure
        The figure. Its title, what y is, and a legend beside the axes are up to the page.
    label : str
        The description for screen readers.
    style : str
        The class of the element: "plot" for rows with names, "curves", or "histogram" for a small one without labels.
    """
    is_small = style == "histogram"
    width, inner = HISTOGRAM if is_small else (figure.size[0] * PIXELS, 0.8 * figure.size[1] * PIXELS)
    names = [textwrap.fill(row, MOST_LETTERS) for row in figure.names]
    figure = figure._replace(names=names, x_label=textwrap.fill(figure.x_label, MOST_LETTERS))
    labels = [] if figure.is_legend_right else [mark for mark in figure.marks if mark.label]
    n_columns = int((width - 66) // max((26 + LETTER * len(mark.label) for mark in labels), default=width)) or 1
    top = 6.0 + LINE * math.ceil(len(labels) / n_columns)
    below = 16 if is_small else 23 + LINE * _count_lines(figure.x_label)
    pitch = 20 + LINE * max(map(_count_lines, figure.names), default=0)
    inner = pitch * len(figure.names) or inner
    frame = make_frame(figure, (4.0, width - 4), (top, top + inner))
    if not is_small:
        side = 4 + _measure(choose_ticks(*frame.x)) / 2
        left = side if figure.names else 10 + _measure(choose_ticks(*frame.y))
        frame = frame._replace(left=left, right=width - side)
    parts = list(_list_axes(figure, frame, is_small))
    lowered = pitch / 2 - 10 if figure.names else 0.0  # of an interval, which is below its name
    under_names = frame._replace(top=top + lowered, bottom=frame.bottom + lowered)
    for mark in figure.marks:
        parts += _write_mark(mark, under_names if mark.kind in ("line", "point") else frame)
    for place, mark in enumerate(labels):
        x = frame.left + (frame.right - frame.left) * (place % n_columns) / n_columns
        y = 12.0 + LINE * (place // n_columns)
        swatch = write_path([(x, y - 4), (x + 20, y - 4)])
        parts += [_stroke(mark._replace(opacity=1.0), swatch), write_text(x + 26, y, name(mark.label), "start")]
    for place, row in enumerate(figure.names):
        y = under_names.place_y(place) - 9 - LINE * (_count_lines(row) - 1)
        parts.append(write_text(frame.left, y, row, "start"))
    return write_svg((width, top + inner + below), label, parts, style)


def _count_lines(text: str) -> int:
    return text.count("\n") + 1


def _measure(ticks: Sequence[float], letter: float = LETTER) -> float:
    """Return the width of the longest of some numbers."""
    return letter * max(len(f"{tick:g}") for tick in ticks)


def make_frame(figure: Figure, x_pixels: tuple[float, float], y_pixels: tuple[float, float]) -> Frame:
    """Return the scales of a figure, by default with a margin around its marks."""
    x = figure.x_range or _find_range([mark.x for mark in figure.marks], 0.0 if figure.has_cutoffs else 0.04)
    y = figure.y_range or _find_range([part for mark in figure.marks for part in (mark.y, mark.high)], 0.04)
    return Frame(x, y, *x_pixels, *y_pixels, figure.has_cutoffs)


def _find_range(parts: Sequence[Any], margin: float) -> tuple[float, float]:
    """Return the ends of numbers, apart from each other."""
    known = [float(number) for part in parts for number in np.ravel(part) if not math.isnan(number)]
    low, high = min(known, default=0.0), max(known, default=1.0)
    if low == high:
        return low - 0.5, high + 0.5
    return low - margin * (high - low), high + margin * (high - low)


def _list_axes(figure: Figure, frame: Frame, is_small: bool) -> Iterator[str]:
    """Yield grid lines, ticks and labels."""
    across, down = (frame.left, frame.right), (frame.bottom, frame.top)
    yield f'<path class="grid" d="{write_path([(end, frame.bottom) for end in across])}"/>'
    ticks: list[tuple[float, str]] = [(tick, f"{tick:g}") for tick in choose_ticks(*frame.x)]
    if is_small:
        ticks = [(frame.x[0], f"{frame.x[0]:+.2f}"), (0.0, "0"), (frame.x[1], f"{frame.x[1]:+.2f}")]
    elif figure.has_cutoffs:
        ticks = [(k, str(k)) for k in TICK_CUTOFFS if frame.x[0] <= k <= frame.x[1]]
    anchors = ("start", "middle", "end") if is_small else ("middle",) * len(ticks)
    for (tick, text), anchor in zip(ticks, anchors, strict=True):
        x = frame.place_x(tick)
        if figure.grid:
            yield f'<path class="grid" d="{write_path([(x, end) for end in down])}"/>'
        yield write_text(x, frame.bottom + (13 if is_small else 17), text, anchor)
    if is_small:
        return
    yield write_text((frame.left + frame.right) / 2, frame.bottom + 35, figure.x_label)
    if figure.names:
        return
    for tick in choose_ticks(*frame.y):
        y = frame.place_y(tick)
        yield f'<path class="grid" d="{write_path([(end, y) for end in across])}"/>'
        yield write_text(frame.left - 6, y + 4, f"{tick:g}", "end")


def _write_mark(mark: Mark, frame: Frame) -> Iterator[str]:
    """Yield the elements of a mark, none for one that is NaN."""
    colour = VARIABLES[mark.colour]
    across, down = (frame.left, frame.right), (frame.bottom, frame.top)
    match mark.kind:
        case "line":
            path = write_path(frame.place(mark.x, mark.y))
            if mark.group is None:
                yield _stroke(mark, path)
                return
            yield (
                f'<g class="tip line" data-band="{mark.group}" data-system="{mark.group}">{_write_tip(mark)}'
                f'<path class="reach" d="{path}"/><path class="stroke" d="{path}" stroke="{colour}"'
                f"{DASH_PATTERNS[mark.dashes]}/></g>"
            )
        case "steps" | "stairs":
            yield _stroke(mark, write_path(frame.place(*_list_steps(mark))))
        case "band" | "step band":
            upper = frame.place(*_list_steps(mark._replace(y=mark.high)))
            area = write_path([*upper, *reversed(frame.place(*_list_steps(mark)))], is_closed=True)
            group = "" if mark.group is None else f' data-band="{mark.group}"'
            hidden = ' class="band"' if mark.is_hidden else ""
            yield f'<g{hidden}{group}><path d="{area}" fill="{colour}" opacity="{mark.opacity:g}"/></g>'
        case "bar" | "span":
            low, high = map(frame.place_x, mark.x)
            ends = down if mark.kind == "span" else (frame.bottom, frame.place_y(mark.y))
            area = write_path([(low, ends[0]), (low, ends[1]), (high, ends[1]), (high, ends[0])], is_closed=True)
            tip = f' class="tip">{_write_tip(mark)}' if mark.tip else ">"
            yield f'<g{tip}<path d="{area}" fill="{colour}" opacity="{mark.opacity:g}"/></g>'
        case "point":
            if not math.isnan(mark.x):
                tip = f' class="tip" tabindex="0">{_write_tip(mark)}' if mark.tip else ">"
                x, y = _shorten(frame.place_x(mark.x)), _shorten(frame.place_y(mark.y))
                fill = colour if mark.is_filled else VARIABLES[PAPER]
                place = f'cx="{x}" cy="{y}" r="{mark.width / 1.6:.1f}"'
                yield f'<g{tip}<circle {place} fill="{fill}" stroke="{colour}" stroke-width="2"/></g>'
        case "vertical":
            yield _stroke(mark, write_path([(frame.place_x(mark.x), end) for end in down]))
        case "horizontal":
            yield _stroke(mark, write_path([(end, frame.place_y(mark.y)) for end in across]))


def _list_steps(mark: Mark) -> tuple[list[float], list[float]]:
    """Return the corners of steps, or the points of what has none."""
    x, y = list(map(float, mark.x)), list(map(float, mark.y))
    if mark.kind == "band":
        return x, y
    edges = x if mark.kind == "stairs" else [x[0], *((a + b) / 2 for a, b in pairwise(x)), x[-1]]
    return [edge for both in pairwise(edges) for edge in both], [value for value in y for _ in range(2)]


def _stroke(mark: Mark, path: str) -> str:
    return (
        f'<path d="{path}" fill="none" stroke="{VARIABLES[mark.colour]}" stroke-width="{mark.width:g}" '
        f'opacity="{mark.opacity:g}"{DASH_PATTERNS[mark.dashes]}/>'
    )


def _write_tip(mark: Mark) -> str:
    lines = "\n".join(map(html, mark.tip.split("\n")))
    return f"<title>{lines}</title>"


def list_entries(figure: Figure, baseline: int, number: int) -> list[dict[str, Any]]:
    """
    Return an entry of the legend for each system of a curve, with its panel.

    A panel has all systems faint, the baseline dashed, and one system on top. `number` is that of the curve.
    """
    frame = make_frame(figure, (0.0, PANEL[0] - 12), (5.0, PANEL[1] - 16))
    frame = frame._replace(left=6 + _measure(choose_ticks(*frame.y, 2), SMALL_LETTER))
    lines = [mark for mark in figure.marks if mark.kind == "line"]
    paths = [write_path(frame.place(mark.x, mark.y)) for mark in lines]
    shared = f'<defs><path id="curve{number}" d="{"".join(paths)}"/></defs>'  # in the first panel
    entries = []
    for place, mark in enumerate(lines):
        parts = [shared] if place == 0 else []
        parts += [f'<use href="#curve{number}" class="others"/>', f'<path class="base" d="{paths[baseline]}"/>']
        parts.append(f'<path class="own" d="{paths[place]}" stroke="{VARIABLES[mark.colour]}"/>')
        for tick in choose_ticks(*frame.y, 2):
            parts.append(write_text(frame.left - 4, frame.place_y(tick) + 3, f"{tick:g}", "end"))
        for k in (1, 10, 100):
            if frame.x[0] <= k <= frame.x[1]:
                parts.append(write_text(frame.place_x(k), frame.bottom + 13, str(k)))
        panel = write_svg(PANEL, mark.tip.replace("\n", ", "), parts, "panel")
        swatch = _stroke(mark._replace(width=3), "M1 4L27 4")
        entries.append({"place": place, "system": show_name(mark.label), "swatch": swatch, "panel": panel})
    return entries


def choose_ticks(low: float, high: float, n_ticks: int = 5) -> list[float]:
    """
    Return round numbers between two numbers, about `n_ticks` of them.

    >>> choose_ticks(0.13, 0.62)
    [0.2, 0.3, 0.4, 0.5, 0.6]
    """
    rough = (high - low) / n_ticks
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in NICE_STEPS if nice * power >= rough * 0.8)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def write_path(points: Iterable[tuple[float, float]], is_closed: bool = False) -> str:
    """
    Return the path through points, with one decimal.

    >>> write_path([(0, 1.25), (2, 3)])
    'M0 1.2L2 3'
    """
    places = [place for place, _ in groupby(f"{_shorten(x)} {_shorten(y)}" for x, y in points)]
    return ("M" + "L".join(places) + ("Z" if is_closed else "")) if places else ""


def _shorten(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def write_text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    """Return a text element for each line. The text is escaped."""
    return "".join(
        f'<text x="{_shorten(x)}" y="{_shorten(y + LINE * place)}" text-anchor="{anchor}">{html(line)}</text>'
        for place, line in enumerate(text.split("\n"))
    )


def write_svg(size: tuple[float, float], label: str, parts: Sequence[str], style: str) -> str:
    """Return an SVG element that is an image with a description for screen readers."""
    return (
        f'<svg viewBox="0 0 {size[0]:g} {size[1]:g}" role="img" aria-label="{html(label)}" class="{style}">'
        f"{''.join(parts)}</svg>"
    )
