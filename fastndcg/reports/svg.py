"""Figures as SVG for a page: in the page's colours, light or dark, and with something to say to the pointer."""

from __future__ import annotations

import html
import io
import re
import warnings
from collections.abc import Callable
from typing import Any

from fastndcg.errors import optional_import
from fastndcg.reports.plots import COLOURS, FAINT, INK, PAPER

STYLE = {"svg.fonttype": "none", "font.family": ["DejaVu Sans"], "axes.facecolor": "none", "figure.facecolor": "none"}
METADATA = ("Date", "Creator", "Format", "Type")
THEMED = {INK: "ink", FAINT: "faint", PAPER: "paper"} | {colour: f"c{place}" for place, colour in enumerate(COLOURS)}


def drawn(draw: Callable[[Any], Any], size: tuple[float, float], name: str, label: str, panels: int = 1) -> str:
    """
    One figure as an SVG element.

    Parameters
    ----------
    draw : callable
        Takes axes, or a list of them where there are several panels.
    size : (float, float)
        Inches; the page scales it.
    name : str
        What its ids begin with, so that those of several figures differ.
    label : str
        What a screen reader says.
    panels : int
        How many axes, two or three in a row.
    """
    matplotlib = optional_import("matplotlib", "a report", "report")
    figures = optional_import("matplotlib.figure", "a report", "report")
    with matplotlib.rc_context(STYLE | {"svg.hashsalt": name}):
        figure = figures.Figure(figsize=size, layout="constrained")
        if panels == 1:
            draw(figure.subplots())
        else:
            n_columns = min(3, panels)
            grid = list(figure.subplots(-(-panels // n_columns), n_columns, sharex=True, squeeze=False).flat)
            for axes in grid[panels:]:
                axes.set_visible(False)
            draw(grid[:panels])
        groups = _told(figure)
        file = io.StringIO()
        with warnings.catch_warnings():  # a glyph that matplotlib's font lacks, the reader's may have
            warnings.filterwarnings("ignore", message="Glyph")
            figure.savefig(file, format="svg", transparent=True, metadata=dict.fromkeys(METADATA))
    return _for_page(file.getvalue(), name, label, groups)


def _told(figure: Any) -> dict[str, str]:
    """How the groups of marks that have something to say begin on a page, by the ids that they get here."""
    groups = {}
    for place, artist in enumerate(figure.findobj(lambda one: hasattr(one, "tip"))):
        artist.set_gid(f"tip{place}")
        band = f' data-band="{artist.band}"' if hasattr(artist, "band") else ""
        said = html.escape("\n".join(artist.tip))
        groups[f"tip{place}"] = f'<g class="tip" tabindex="0"{band}><title>{said}</title>'
    for artist in figure.findobj(lambda one: getattr(one, "hidden_band", None) is not None):
        artist.set_gid(f"band{artist.hidden_band}")
        groups[f"band{artist.hidden_band}"] = f'<g class="band" data-band="{artist.hidden_band}">'
    return groups


def _for_page(svg: str, name: str, label: str, groups: dict[str, str]) -> str:
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<!--.*?-->\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'(?<= d=")[^"]*', _shortened, svg)
    svg = re.sub(r"\n *", "\n", svg)
    svg = re.sub(r'(?<= )(id=")([^"]+)"', rf'\1{name}-\2"', svg)
    svg = re.sub(r'(url\(#|xlink:href="#)', rf"\1{name}-", svg)
    for colour, variable in THEMED.items():
        svg = svg.replace(colour, f"var(--{variable})")
    svg = svg.replace("font-family: 'DejaVu Sans'; ", "")  # the page's own
    for key, opening in groups.items():
        svg = svg.replace(f'<g id="{name}-{key}">', opening)
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    width = f' style="max-width:{float(size[1]) * 4 / 3:.0f}px"' if size else ""
    return re.sub(
        r"<svg [^>]*?(viewBox=\"[^\"]*\")[^>]*>",
        rf'<svg \1 xmlns:xlink="http://www.w3.org/1999/xlink" role="img" aria-label="{html.escape(label)}"{width}>',
        svg,
        count=1,
    )


def _shortened(path: re.Match[str]) -> str:
    """A path to a hundredth of a point, on one line."""
    return re.sub(r"(\.\d\d)\d+", r"\1", " ".join(path[0].split()))
