"""Comparisons as text: Markdown, LaTeX, JSON, CSV, and a table for terminals."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from fastndcg import __version__
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.rows import Row
from fastndcg.statistics.table import aligned, bounds, number, p_value

LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
}  # fmt: skip
COLOURS = {"better": "\x1b[32m", "worse": "\x1b[35m", "dim": "\x1b[2m", "bold": "\x1b[1m"}
RESET = "\x1b[0m"
BAR = 16
BLOCKS, PLAIN = "█░▒", "+.-"  # won, tied, lost


def markdown(comparison: Comparison) -> str:
    """A table with a line for each system and metric, and notes below."""
    table = comparison.table()
    head, *body = [[cell.replace("|", r"\|") for cell in row] for row in table.cells()]
    sides = [":--" if column.left else "--:" for column in table.columns]
    lines = [f"| {' | '.join(row)} |" for row in (head, sides, *body)]
    return "\n".join([*lines, "", *(f"{note}  " for note in table.notes)]).rstrip() + "\n"


def latex(comparison: Comparison) -> str:
    """A tabular in the style of booktabs, notes as comments."""
    table = comparison.table()
    head, *body = [[_latex(cell) for cell in row] for row in table.cells()]
    sides = "".join("l" if column.left else "r" for column in table.columns)
    lines = [f"% {note}" for note in table.notes]
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", " & ".join(head) + r" \\", r"\midrule"]
    for place, row in enumerate(body):
        if place and place % len(comparison.systems) == 0:
            lines.append(r"\midrule")
        lines.append(" & ".join(row) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _latex(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)


def as_json(comparison: Comparison) -> str:
    """Everything that is known, null where a number is missing."""
    convention = comparison.results[comparison.baseline].convention
    whole = {
        "version": __version__,
        "convention": {"name": convention.name, **convention.choices()},
        "n_queries": len(comparison.query_ids),
        "baseline": comparison.baseline,
        "metrics": [str(metric) for metric in comparison.metrics],
        **_settings(comparison),
        "systems": [_json_system(comparison, name) for name in comparison.systems],
        "rows": [_json_row(row) for row in comparison.rows],
        "curves": [_json_row(point) for point in comparison.curves],
    }
    if comparison.segments is not None:
        whole["segments"] = [_json_row(row) for row in comparison.by()]
    return json.dumps(whole, indent=1, allow_nan=False, default=str) + "\n"


def _settings(comparison: Comparison) -> dict[str, Any]:
    """Methods, level, replicates and seed; threads change nothing."""
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


def _json_row(row: Any) -> dict[str, Any]:
    known = row._asdict()
    return {key: None if isinstance(value, float) and math.isnan(value) else value for key, value in known.items()}


def as_csv(comparison: Comparison) -> str:
    """A row for each system and metric, all fields, all digits, and what they hang on."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    settings = {"baseline": comparison.baseline, **_settings(comparison)}
    writer.writerow([*Row._fields, *settings])
    writer.writerows([*row, *settings.values()] for row in comparison.rows)
    return out.getvalue()


def terminal(comparison: Comparison, *, colour: bool = False, unicode: bool = True) -> Iterator[str]:
    """
    A block for each metric: means, differences with intervals, marks, and a bar of queries won, tied and lost.

    Parameters
    ----------
    comparison : Comparison
    colour : bool
        Whether the terminal takes colours.
    unicode : bool
        Whether it takes characters other than ASCII.
    """
    level = f"{100 * comparison.settings.level:g} % interval"
    head = ["system", "mean", "difference", level, "p", *_correction(comparison), "", "won/tied/lost", ""]
    left = [True, *[False] * (len(head) - 4), True, False, True]
    for metric in map(str, comparison.metrics):
        rows = [row for row in comparison.rows if row.metric == metric]
        cells = [[*_cells(row, comparison), _bar(row, BLOCKS if unicode else PLAIN)] for row in rows]
        first, *lines = aligned([head, *cells], left)
        yield _painted(f"{metric}\n", "bold", colour)
        yield _painted(f"{first}\n", "dim", colour)
        for row, line in zip(rows, lines, strict=True):
            yield _painted(f"{line}\n", _kind(row), colour)
        yield "\n"
    for note in comparison.notes():
        yield f"{note}\n"


def _correction(comparison: Comparison) -> list[str]:
    settings = comparison.settings
    return [] if settings.test == "tukey" or settings.correction == "none" else [f"p, {settings.correction}"]


def _cells(row: Row, comparison: Comparison) -> list[str]:
    corrections: Sequence[str] = _correction(comparison)
    if row.system == comparison.baseline:
        return [row.system, number(row.mean), "baseline", "", "", *("" for _ in corrections), "", ""]
    return [
        row.system,
        number(row.mean),
        number(row.difference, signed=True),
        bounds(row.difference_low, row.difference_high, signed=True, otherwise=row.reason),
        p_value(row.p),
        *(p_value(row.p_corrected) for _ in corrections),
        row.mark,
        f"{row.wins}/{row.ties}/{row.losses}",
    ]


def _bar(row: Row, signs: str) -> str:
    """Queries won, tied and lost, in parts of one length."""
    if not row.n_pairs:
        return ""
    won = round(BAR * row.wins / row.n_pairs)
    lost = min(BAR - won, round(BAR * row.losses / row.n_pairs))
    return signs[0] * won + signs[1] * (BAR - won - lost) + signs[2] * lost


def _kind(row: Row) -> str:
    if not row.significant:
        return ""
    return "better" if row.difference > 0 else "worse"


def _painted(line: str, kind: str, colour: bool) -> str:
    return f"{COLOURS[kind]}{line.rstrip()}{RESET}\n" if colour and kind else line
