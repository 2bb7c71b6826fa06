"""Text formats of a comparison: JSON, CSV, and a coloured table for terminals."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from fastndcg import __version__
from fastndcg.errors import printable
from fastndcg.exports import align_columns, dump_json, fold_columns
from fastndcg.runtime import escapes
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.detection import Equivalence
from fastndcg.statistics.result_rows import Row, make_columns
from fastndcg.statistics.table import Table

COLOURS = {"better": "\x1b[32m", "worse": "\x1b[35m", "dim": "\x1b[2m", "bold": "\x1b[1m"}
RESET = "\x1b[0m"
BAR_LENGTH = 16
MOST_COLUMNS = 1 << 16  # of a file, where nothing is folded
UNICODE_BAR = "█░▒"  # won, tied, lost
ASCII_BAR = "+.-"


def as_json(comparison: Comparison, tables: Mapping[str, Table[Any]] | None = None) -> str:
    """Return settings, rows, curves and the rows of other tables as JSON. NaN is null."""
    convention = comparison.results[comparison.baseline].convention
    content = {
        "version": __version__,
        "convention": {"name": convention.name, **convention.choices()},
        "n_queries": len(comparison.query_ids),
        "baseline": comparison.baseline,
        "metrics": [str(metric) for metric in comparison.metrics],
        **_settings_dict(comparison),
        "systems": [_json_system(comparison, name) for name in comparison.systems],
        "rows": [row._asdict() for row in comparison.rows],
    }
    tables = {"curves": comparison.curves(), **(tables or {})}
    return dump_json(content | {name: [row._asdict() for row in table] for name, table in tables.items()})


def _settings_dict(comparison: Comparison) -> dict[str, Any]:
    """Return the settings by name, without threads, which do not change any value."""
    return {key: value for key, value in asdict(comparison.settings).items() if key != "threads"}


def _json_system(comparison: Comparison, name: str) -> dict[str, Any]:
    result = comparison.results[name]
    return {
        "system": name,
        "convention": result.convention.name,
        "n_tied": result.n_tied,
        "n_missing": comparison.n_missing[name],
        "n_missing_in_run": result.n_missing_in_run,
        "n_missing_in_qrels": result.n_missing_in_qrels,
    }


def as_csv(comparison: Comparison, most: int | None = None, equivalence: Sequence[Equivalence] | None = None) -> str:
    """
    Return CSV with one row per system and metric: all fields with all digits, the settings, and tests of equivalence.

    Texts of more than `most` characters are cut, as their sign … shows. By default all texts are whole.
    """
    settings = {"baseline": comparison.baseline, **_settings_dict(comparison)}
    rows = [[*Row._fields, *settings], *([*row, *settings.values()] for row in comparison.rows)]
    if equivalence is not None:
        tests = {(test.system, test.metric): test for test in equivalence}
        rows[0] += ["margin", "p_equivalent"]
        for cells, row in zip(rows[1:], comparison.rows, strict=True):
            test = tests.get((row.system, row.metric))
            cells += [equivalence[0].margin, math.nan if test is None else test.p]
    if most is not None:
        rows = [[escapes.show_name(cell, most) if _is_longer(cell, most) else cell for cell in row] for row in rows]
    return "".join(map(escapes.csv_row, rows))


def _is_longer(cell: object, most: int) -> bool:
    return isinstance(cell, str) and len(cell) > most


def terminal(
    comparison: Comparison,
    tables: Iterable[Table[Any]] = (),
    *,
    colour: bool = False,
    unicode: bool = True,
    width: int = MOST_COLUMNS,
) -> Iterator[str]:
    """
    Yield the result in words, and the lines of a table for terminals, with one block per metric and one per table.

    A block has means, differences with intervals, stars, and a bar of the queries won, tied and lost. A table that is
    too wide lacks the bar and the p-values that are not corrected, and else is folded.

    Parameters
    ----------
    comparison : Comparison
        The comparison to print.
    tables : iterable of Table
        Other tables of the comparison, such as those of `by` and `equivalence`.
    colour : bool
        Whether the terminal supports colours.
    unicode : bool
        Whether the terminal supports characters other than ASCII.
    width : int
        The number of columns of the terminal.
    """
    yield from _wrap(comparison.sentences, width)
    system, _, mean, _, *others = make_columns(comparison.settings, comparison.baseline)
    columns = [system, mean, *others]  # the metric is the title of its block
    head = [*(column.heading for column in columns), ""]
    left = [*(column.left for column in columns), True]
    spare = [len(columns), *[head.index("p")] * comparison.settings.is_corrected]  # what a narrow terminal lacks first
    for metric in map(str, comparison.metrics):
        rows = [row for row in comparison.rows if row.metric == metric]
        cells = [[column.cell(row) for column in columns] for row in rows]
        for row, texts in zip(rows, cells, strict=True):
            texts[2] = "baseline" if row.system == comparison.baseline else texts[2]
            texts.append(_make_bar(row, UNICODE_BAR if unicode else ASCII_BAR))
        yield "\n"
        yield _paint(f"{metric}\n", "bold", colour)
        for n_spared in range(len(spare) + 1):
            kept = [place for place in range(len(head)) if place not in spare[:n_spared]]
            table = [[row[place] for place in kept] for row in (head, *cells)]
            parts = list(fold_columns(table, [left[place] for place in kept], width))
            if len(parts) == 1:
                break
        for part in parts:
            first, *lines = align_columns(*part)
            yield _paint(f"{first}\n", "dim", colour)
            for row, line in zip(rows, lines, strict=True):
                yield _paint(f"{line}\n", row.outcome if row.significant else "", colour)
    yield "\n"
    yield from _wrap(comparison.notes, width)
    for other in tables:
        printed = other._print_table()
        yield "\n"
        for part in fold_columns(printed.cells, printed.left, width):
            yield from (f"{line}\n" for line in align_columns(*part))
        yield from _wrap(printed.notes, width)


def _wrap(sentences: Sequence[str], width: int) -> Iterator[str]:
    """Yield sentences in lines of a width, whose words stay whole."""
    for sentence in sentences:
        filled = textwrap.fill(join_intervals(sentence, "\0"), width, break_long_words=False, break_on_hyphens=False)
        yield filled.replace("\0", " ") + "\n"


def join_intervals(sentence: str, blank: str) -> str:
    """Return a sentence with another blank within intervals, so that each stays in one line."""
    return re.sub(r", (?=[^\[]*\])", f",{blank}", printable(sentence))


def _make_bar(row: Row, signs: str) -> str:
    """Return a bar whose parts are proportional to the queries won, tied and lost."""
    if not row.n_pairs or not row.counts:
        return ""
    won = round(BAR_LENGTH * row.wins / row.n_pairs)
    lost = min(BAR_LENGTH - won, round(BAR_LENGTH * row.losses / row.n_pairs))
    return signs[0] * won + signs[1] * (BAR_LENGTH - won - lost) + signs[2] * lost


def _paint(line: str, colour_name: str, has_colour: bool) -> str:
    return f"{COLOURS[colour_name]}{line.rstrip()}{RESET}\n" if has_colour and colour_name else line
