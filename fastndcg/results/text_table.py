"""Tables as text with columns of equal width, and as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastndcg.exports.exportable import Exportable
from fastndcg.runtime.escapes import MOST_NOTED, html, show_name

Rows = Sequence[Sequence[str]]
Sides = Sequence[bool]  # True for a column that is flush left


def align_columns(rows: Rows, left: int | Sides) -> Iterator[str]:
    """
    Yield lines of columns of equal width, with cells shortened and printable.

    `left` says which columns are flush left: the first so many, or each column that has True.

    >>> list(align_columns([["metric", "mean"], ["RR", "0.5"]], 1))
    ['metric  mean', 'RR       0.5']
    """
    cells = [[show_name(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = _sides(left, len(widths))
    for row in cells:
        padded = (
            cell.ljust(width) if is_left else cell.rjust(width)
            for cell, width, is_left in zip(row, widths, sides, strict=True)
        )
        yield "  ".join(padded).rstrip()


def text_table(rows: Rows, left: int | Sides, notes: Sequence[str] = ()) -> str:
    """Return the lines of a table and the notes below it as one text."""
    return "\n".join([*align_columns(rows, left), *(show_name(note, MOST_NOTED) for note in notes)])


def html_table(rows: Rows, left: int | Sides, notes: Sequence[str] = ()) -> str:
    """Return a table as HTML, with the first row as its head and notes at its foot."""
    head, *body = rows
    sides = _sides(left, len(head))
    lines = "".join(f"<tr>{_html_cells('td', row, sides)}</tr>" for row in body)
    foot = "<br>".join(html(show_name(note, MOST_NOTED)) for note in notes)
    foot = f"<tfoot><tr><td colspan='{len(head)}' style='text-align:left'>{foot}</td></tr></tfoot>" if notes else ""
    return f"<table><thead><tr>{_html_cells('th', head, sides)}</tr></thead><tbody>{lines}</tbody>{foot}</table>"


def html_facts(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return facts with their headings as a table in HTML, under a title."""
    rows = "".join(
        f"<tr><th style='text-align:left;vertical-align:top'>{html(heading)}</th>"
        f"<td style='text-align:left;white-space:pre-wrap'>{html(show_name(fact, MOST_NOTED))}</td></tr>"
        for heading, fact in facts
    )
    head = f"<tr><th colspan='2' style='text-align:left'>{html(show_name(title, MOST_NOTED))}</th></tr>"
    return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


class Printable(Exportable):
    """Base class of results that print as a table, which a notebook shows as HTML."""

    __slots__ = ()

    def __str__(self) -> str:
        return text_table(*self._print_table()[:3])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(*self._print_table()[:3])


def _html_cells(tag: str, cells: Sequence[str], sides: Sides) -> str:
    return "".join(
        f"<{tag} style='text-align:{'left' if is_left else 'right'}'>{html(show_name(cell))}</{tag}>"
        for cell, is_left in zip(cells, sides, strict=True)
    )


def _sides(left: int | Sides, n_columns: int) -> Sides:
    return [column < left for column in range(n_columns)] if isinstance(left, int) else left
