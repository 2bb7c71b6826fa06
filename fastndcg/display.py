"""Tables for people: columns of equal width in a text, and the same rows in a notebook."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence

Rows = Sequence[Sequence[str]]


def aligned(rows: Rows, n_left: int) -> Iterator[str]:
    """
    Lines of columns of equal width, the first of them flush left, the others flush right.

    >>> list(aligned([["metric", "mean"], ["RR", "0.5"]], 1))
    ['metric  mean', 'RR       0.5']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            cell.ljust(width) if place < n_left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join(cells).rstrip()


def html_table(rows: Rows, n_left: int, notes: Sequence[str] = ()) -> str:
    """The same as HTML, the first row as heads, with notes at the foot."""
    head, *body = rows
    heads = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
    lines = "".join("<tr>" + "".join(_cell(cell, place < n_left) for place, cell in enumerate(row)) + "</tr>"
                    for row in body)  # fmt: skip
    foot = "<br>".join(html.escape(note) for note in notes)
    foot = f"<tfoot><tr><td colspan='{len(head)}' style='text-align:left'>{foot}</td></tr></tfoot>" if notes else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{lines}</tbody>{foot}</table>"


def _cell(cell: str, is_left: bool) -> str:
    return f"<td style='text-align:{'left' if is_left else 'right'}'>{html.escape(cell)}</td>"
