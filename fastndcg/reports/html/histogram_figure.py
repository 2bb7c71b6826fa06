"""Small histograms of the differences from the baseline, one for each system."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.reports.html.svg import Scale, write_path, write_svg, write_text
from fastndcg.reports.plots import make_symmetric_edges
from fastndcg.runtime.escapes import html, show_name
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.result_rows import Row
from fastndcg.statistics.table import format_number

SIZE = (200.0, 84.0)
BOTTOM = 68.0


class Histogram(NamedTuple):
    """The histogram of one system."""

    system: str
    svg: str


def draw_histograms(comparison: Comparison, place: int) -> list[Histogram]:
    """Return the histograms of one metric, with systems in descending order of the mean difference."""
    metric = comparison.metrics[place]
    rows = [row for row in comparison.rows if row.metric == str(metric) and row.system != comparison.baseline]
    rows.sort(key=lambda row: -np.nan_to_num(row.difference, nan=-np.inf))
    differences = {row.system: comparison.differences(row.system, metric) for row in rows}
    edges = make_symmetric_edges(np.concatenate(list(differences.values())))
    counts = {system: np.histogram(own[~np.isnan(own)], edges)[0] for system, own in differences.items()}
    highest = max(1, *(int(own.max()) for own in counts.values()))
    return [Histogram(show_name(row.system), _draw(row, counts[row.system], edges, highest)) for row in rows]


def _draw(row: Row, counts: Array, edges: Array, highest: int) -> str:
    x = Scale(float(edges[0]), float(edges[-1]), 4, SIZE[0] - 4)
    y = Scale(0, highest, BOTTOM, 4)
    middle = len(counts) // 2
    parts = [f'<path class="grid" d="{write_path([(4, BOTTOM), (SIZE[0] - 4, BOTTOM)])}"/>']
    for place in np.flatnonzero(counts).tolist():
        name = "neutral" if place == middle else "fill-won" if place > middle else "fill-lost"
        left = x.place(float(edges[place]))
        right = x.place(float(edges[place + 1]))
        top = y.place(int(counts[place]))
        bar = write_path([(left, BOTTOM), (left, top), (right, top), (right, BOTTOM)], is_closed=True)
        tip = f"{counts[place]} queries\ndifference {edges[place]:+.3f} to {edges[place + 1]:+.3f}"
        parts.append(
            f'<g class="tip {name}"><title>{html(tip.split(chr(10))[0])}\n{html(tip.split(chr(10))[1])}</title>'
        )
        parts.append(f'<path d="{bar}"/></g>')
    parts.append(f'<path class="zero" d="{write_path([(x.place(0), BOTTOM), (x.place(0), 2)])}"/>')
    if not np.isnan(row.difference):
        mean = x.place(row.difference)
        parts.append(f'<path class="mean" d="{write_path([(mean, BOTTOM), (mean, 2)])}"/>')
    for end, anchor in ((edges[0], "start"), (0.0, "middle"), (edges[-1], "end")):
        parts.append(write_text(x.place(float(end)), BOTTOM + 13, f"{end:+.2f}" if end else "0", anchor))
    label = (
        f"{show_name(row.system)}: won {row.wins}, tied {row.ties}, lost {row.losses}, "
        f"mean difference {format_number(row.difference, signed=True)}"
    )
    return write_svg(SIZE, label, parts, "histogram")
