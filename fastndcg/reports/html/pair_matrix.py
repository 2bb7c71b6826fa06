"""All pairs of systems as a matrix: differences above the diagonal, p-values below it."""

from __future__ import annotations

import math
from typing import NamedTuple

from fastndcg.statistics.all_pairs import Pair, make_pair_settings
from fastndcg.statistics.comparison import Comparison, describe_test
from fastndcg.statistics.result_rows import STARS
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.table import format_number, format_p_value

MAX_SYSTEMS = 30  # a wider matrix cannot be read


class Cell(NamedTuple):
    """A cell: its lines of text, what it says in words, and the classes of its colour."""

    lines: tuple[str, ...]
    title: str
    style: str


class Matrix(NamedTuple):
    """The matrix of one metric, with systems in descending order of the mean."""

    metric: str
    systems: list[str]
    cells: list[list[Cell]]
    n_hidden: int


def make_matrices(comparison: Comparison) -> list[Matrix]:
    """Return the matrix of each metric."""
    pairs_by_metric = comparison._list_pairs(comparison.settings.test)
    return [_make_matrix(comparison, place, pairs) for place, pairs in enumerate(pairs_by_metric)]


def describe_matrices(comparison: Comparison) -> str:
    """Return the test and the correction of the pairs."""
    return describe_test(make_pair_settings(comparison.settings), "pairs")


def _make_matrix(comparison: Comparison, place: int, pairs: list[Pair]) -> Matrix:
    metric = str(comparison.metrics[place])
    rows = [row for row in comparison.rows if row.metric == metric]
    rows.sort(key=lambda row: math.inf if math.isnan(row.mean) else -row.mean)
    systems = [row.system for row in rows]
    names = systems[:MAX_SYSTEMS]
    if comparison.baseline not in names:
        names[-1] = comparison.baseline
    by_systems: dict[tuple[str, str], Pair] = {(pair.system, pair.against): pair for pair in pairs}
    cells = []
    for row, system in enumerate(names):
        line = []
        for column, other in enumerate(names):
            pair = by_systems.get((system, other)) or by_systems.get((other, system))
            if pair is None:
                line.append(Cell((), "", "diagonal"))
            elif row < column:
                difference = pair.difference if pair.system == system else -pair.difference
                line.append(_make_difference_cell(difference, pair, f"{system} minus {other}"))
            else:
                line.append(_make_p_cell(pair, f"{system} and {other}", comparison.settings))
        cells.append(line)
    return Matrix(metric, names, cells, len(systems) - len(names))


def _make_difference_cell(difference: float, pair: Pair, title: str) -> Cell:
    stars = next((stars for limit, stars in STARS if pair.p_corrected < limit), "") if pair.significant else ""
    style = ""
    if stars:
        style = "better" if difference > 0 else "worse"
    return Cell((format_number(difference, signed=True), stars), f"{title}: {format_number(difference, True)}", style)


def _make_p_cell(pair: Pair, title: str, settings: Settings) -> Cell:
    p = format_p_value(pair.p)
    style = "significant" if pair.significant else ""
    if not settings.is_corrected:
        return Cell((p,), f"{title}: p {p}", style)
    corrected = format_p_value(pair.p_corrected)
    return Cell((p, corrected), f"{title}: p {p}, corrected {corrected}", style)
