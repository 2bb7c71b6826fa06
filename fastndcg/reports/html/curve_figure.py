"""A metric against its cutoff: all systems in one figure, and one small panel for each system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from fastndcg.reports.html.svg import Scale, choose_ticks, write_path, write_svg, write_text
from fastndcg.reports.plots import DASHES, TICK_CUTOFFS, TOOLTIP_CUTOFFS, choose_line_style, find_banded_systems
from fastndcg.reports.style import COLOURS
from fastndcg.runtime.escapes import html, show_name
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.curves import CurvePoint
from fastndcg.statistics.table import format_number

SIZE = (1080.0, 410.0)
PANEL = (200.0, 110.0)
DASH_PATTERNS = dict(zip(DASHES, ("", "9 4", "2 3"), strict=True))
N_READABLE = 6  # systems in one figure on paper; more have a panel each


class LineStyle(NamedTuple):
    """The colour of a system's lines, as a variable of the page, and its dashes."""

    colour: str
    dashes: str


class CurveEntry(NamedTuple):
    """A system in the legend, with its panel."""

    place: int
    system: str
    style: LineStyle
    tip: str
    panel: str


class CurveFigure(NamedTuple):
    """The figure of one metric, its legend and its panels."""

    name: str
    svg: str
    entries: list[CurveEntry]
    has_panels: bool


class CurveRow(NamedTuple):
    """The means of a system at some cutoffs, NaN for a missing cutoff."""

    system: str
    means: list[float]


class _Frame(NamedTuple):
    """The scales of a figure. Cutoffs are on a logarithmic scale."""

    x: Scale
    y: Scale

    def place(self, k: int, value: float) -> tuple[float, float]:
        return self.x.place(math.log(k)), self.y.place(value)


def draw_curves(comparison: Comparison) -> list[CurveFigure]:
    """Return the figure of each curve of a comparison."""
    names = dict.fromkeys(point.curve for point in comparison.curves)
    return [_draw_curve(comparison, name, place) for place, name in enumerate(names)]


def list_curve_numbers(comparison: Comparison, cutoffs: Sequence[int]) -> dict[str, list[CurveRow]]:
    """Return the means of each system at some cutoffs, by the name of the curve."""
    means = {(point.curve, point.system, point.k): point.mean for point in comparison.curves}
    return {
        curve: [
            CurveRow(system, [means.get((curve, system, k), math.nan) for k in cutoffs])
            for system in comparison.systems
        ]
        for curve in dict.fromkeys(point.curve for point in comparison.curves)
    }


def _draw_curve(comparison: Comparison, name: str, number: int) -> CurveFigure:
    points = {
        system: [point for point in comparison.curves if point.curve == name and point.system == system]
        for system in comparison.systems
    }
    frame = _make_frame(points, (52.0, SIZE[0] - 14), (SIZE[1] - 40, 10.0))
    panel_frame = _make_frame(points, (26.0, PANEL[0] - 4), (PANEL[1] - 16, 5.0))
    always_banded = find_banded_systems(comparison, name)
    bands: list[str] = []
    lines: list[str] = []
    entries: list[CurveEntry] = []
    shared = f"curve{number}"
    for place, system in enumerate(comparison.systems):
        style = _choose_style(comparison, place)
        tip = _describe_points(system, points[system])
        bands.append(_draw_band(frame, points[system], place, style, system in always_banded))
        lines.append(_draw_line(frame, points[system], place, style, tip))
        panel = _draw_panel(panel_frame, points, system, comparison.baseline, style, shared)
        entries.append(CurveEntry(place, show_name(system), style, tip, panel))
    all_paths = "".join(write_path([panel_frame.place(p.k, p.mean) for p in own]) for own in points.values())
    definitions = f'<defs><path id="{shared}" d="{all_paths}"/></defs>'
    axes = _draw_axes(frame, f"{show_name(name)}@k")
    label = f"{show_name(name)} against its cutoff for each system"
    svg = write_svg(SIZE, label, [definitions, *axes, *bands, *lines], "curves")
    return CurveFigure(show_name(name), svg, entries, len(entries) > N_READABLE)


def _make_frame(
    points: dict[str, list[CurvePoint]], x_range: tuple[float, float], y_range: tuple[float, float]
) -> _Frame:
    every = [point for own in points.values() for point in own]
    cutoffs = [point.k for point in every]
    ends = [end for point in every for end in (point.mean, point.low, point.high) if not math.isnan(end)]
    low = min(ends, default=0.0)
    high = max(ends, default=1.0)
    if low == high:
        low -= 0.5
        high += 0.5
    return _Frame(Scale(math.log(min(cutoffs)), math.log(max(cutoffs)), *x_range), Scale(low, high, *y_range))


def _choose_style(comparison: Comparison, place: int) -> LineStyle:
    colour, dashes = choose_line_style(comparison.systems, place, comparison.baseline)
    variable = f"c{COLOURS.index(colour)}" if colour in COLOURS else "soft"
    return LineStyle(f"var(--{variable})", DASH_PATTERNS[dashes])


def _describe_points(system: str, points: list[CurvePoint]) -> str:
    """Return the text of the tooltip."""
    lines = [f"@{point.k}: {format_number(point.mean)}" for point in points if point.k in TOOLTIP_CUTOFFS]
    return "\n".join([show_name(system), *lines])


def _draw_band(frame: _Frame, points: list[CurvePoint], place: int, style: LineStyle, is_visible: bool) -> str:
    """Return the band of a system's intervals. The page hides it until the system is highlighted."""
    upper = [frame.place(point.k, point.high) for point in points]
    lower = [frame.place(point.k, point.low) for point in points]
    hidden = "" if is_visible else ' class="band"'
    path = write_path([*upper, *reversed(lower)], is_closed=True)
    return f'<g{hidden} data-band="{place}"><path d="{path}" fill="{style.colour}" opacity=".13"/></g>'


def _draw_line(frame: _Frame, points: list[CurvePoint], place: int, style: LineStyle, tip: str) -> str:
    """Return a system's line, with a wide invisible line for the pointer."""
    path = write_path([frame.place(point.k, point.mean) for point in points])
    dashes = f' stroke-dasharray="{style.dashes}"' if style.dashes else ""
    return (
        f'<g class="tip line" data-band="{place}" data-system="{place}"><title>{html_lines(tip)}</title>'
        f'<path class="reach" d="{path}"/><path class="stroke" d="{path}" stroke="{style.colour}"{dashes}/></g>'
    )


def html_lines(text: str) -> str:
    """Return text of several lines, escaped line by line."""
    return "\n".join(map(html, text.split("\n")))


def _draw_axes(frame: _Frame, label: str) -> list[str]:
    """Return grid lines, ticks and labels."""
    parts: list[str] = []
    left = frame.x.start
    right = frame.x.end
    bottom = frame.y.start
    for tick in choose_ticks(frame.y.low, frame.y.high):
        y = frame.y.place(tick)
        parts.append(f'<path class="grid" d="{write_path([(left, y), (right, y)])}"/>')
        parts.append(write_text(left - 6, y + 4, f"{tick:g}", "end"))
    for k in TICK_CUTOFFS:
        x = frame.x.place(math.log(k))
        if left <= x <= right:
            parts.append(f'<path class="grid" d="{write_path([(x, bottom), (x, frame.y.end)])}"/>')
            parts.append(write_text(x, bottom + 17, str(k)))
    parts.append(write_text((left + right) / 2, bottom + 35, "cutoff k"))
    parts.append(f'<g transform="rotate(-90)">{write_text(-(bottom + frame.y.end) / 2, 13, label)}</g>')
    return parts


def _draw_panel(
    frame: _Frame, points: dict[str, list[CurvePoint]], system: str, baseline: str, style: LineStyle, shared: str
) -> str:
    """Return a small panel: all systems faint, the baseline dashed, and one system on top."""
    own, base = ([frame.place(point.k, point.mean) for point in points[name]] for name in (system, baseline))
    parts = [f'<use href="#{shared}" class="others"/>', f'<path class="base" d="{write_path(base)}"/>']
    parts.append(f'<path class="own" d="{write_path(own)}" stroke="{style.colour}"/>')
    left = frame.x.start
    bottom = frame.y.start
    for tick in choose_ticks(frame.y.low, frame.y.high, 2):
        parts.append(write_text(left - 4, frame.y.place(tick) + 3, f"{tick:g}", "end"))
    for k in (1, 10, 100):
        x = frame.x.place(math.log(k))
        if left <= x <= frame.x.end:
            parts.append(write_text(x, bottom + 13, str(k)))
    return write_svg(PANEL, _describe_points(system, points[system]).replace("\n", ", "), parts, "panel")
