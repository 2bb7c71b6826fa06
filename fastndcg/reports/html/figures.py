"""Figures as inline SVG: in the colours of the page, light or dark, with tooltips."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from fastndcg.reports.style import COLOURS, FAINT, INK, PAPER
from fastndcg.runtime.escapes import html
from fastndcg.runtime.optional_packages import optional_import

STYLE = {
    "svg.fonttype": "none",
    "font.family": ["DejaVu Sans"],
    "text.usetex": False,
    "axes.facecolor": "none",
    "figure.facecolor": "none",
}
LINES = "stroke-linejoin:round;stroke-linecap:butt"  # of all lines that say nothing else
METADATA = ("Date", "Creator", "Format", "Type")
# the CSS variable of the page for each colour
VARIABLES = {INK: "ink", FAINT: "faint", PAPER: "paper"} | {colour: f"c{place}" for place, colour in enumerate(COLOURS)}


def render_svg(draw: Callable[[Any], Any], size: tuple[float, float], name: str, label: str) -> str:
    """
    Draw a figure and return it as an SVG element.

    Parameters
    ----------
    draw : callable
        Draws on axes.
    size : (float, float)
        Width and height in inches. The page scales the figure.
    name : str
        The prefix of the ids in the figure, so that they are unique on the page.
    label : str
        The description for screen readers.
    """
    matplotlib = optional_import("matplotlib", "a report", "report")
    figures = optional_import("matplotlib.figure", "a report", "report")
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": name}):
        figure = figures.Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        groups = _number_marks(figure)
        file = io.StringIO()
        with warnings.catch_warnings():  # the browser's font may have glyphs that matplotlib's font lacks
            warnings.filterwarnings("ignore", message="Glyph")
            figure.savefig(file, format="svg", transparent=True, metadata=dict.fromkeys(METADATA))
    return _adapt_to_page(file.getvalue(), name, label, groups)


def _number_marks(figure: Any) -> dict[str, str]:
    """Give ids to the marks with a tooltip. Return their opening tags on the page by id."""
    groups = {}
    for place, artist in enumerate(figure.findobj(lambda artist: hasattr(artist, "tip"))):
        artist.set_gid(f"tip{place}")
        lines = "\n".join(map(html, artist.tip))
        groups[f"tip{place}"] = f'<g class="tip" tabindex="0"><title>{lines}</title>'
    return groups


def _adapt_to_page(svg: str, name: str, label: str, groups: dict[str, str]) -> str:
    """Return the SVG element with unique ids, CSS variables for colours, tooltips, and short paths."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>\s*", "", svg, flags=re.DOTALL)  # the page allows one style
    svg = re.sub(r'(?<= d=")[^"]*', _shorten_path, svg)
    svg = re.sub(r"\n *", "\n", svg)
    svg = re.sub(r'(?<= )(id=")([^"]+)"', rf'\1{name}-\2"', svg)
    svg = svg.replace("xlink:href", "href")
    svg = re.sub(r'(url\(#|href="#)', rf"\1{name}-", svg)
    for colour, variable in VARIABLES.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = svg.replace("font-family: 'DejaVu Sans'; ", "")  # the page sets its own font
    for key, opening in groups.items():
        svg = svg.replace(f'<g id="{name}-{key}">', opening)
    svg = re.sub(r'<g id="[^"]*"/>\n?', "", svg)  # what is empty or says nothing is a quarter of a figure
    svg = re.sub(r'<g id="[^"]*">', "<g>", svg)
    svg = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", svg)
    svg = re.sub(r'(?<= [xy]=")(-?\d+\.\d\d)\d+', r"\1", svg)
    svg = re.sub(r'(?<= style=")[^"]*', lambda style: style[0].replace(": ", ":").replace("; ", ";"), svg)
    svg = svg.replace(">\n<", "><")
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width = f' style="max-width:{float(size[1]) * 4 / 3:.0f}px;{LINES}"' if size else ""
    attributes = f'role="img" aria-label="{html(label)}"{width}'
    opening_tag = re.compile(r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>")
    return opening_tag.sub(lambda match: f"<svg {match[1]} {attributes}>", svg, count=1)


def _shorten_path(path: re.Match[str]) -> str:
    """Return an SVG path on one line, with two decimals."""
    return re.sub(r"(\.\d\d)\d+", r"\1", " ".join(path[0].split()))
