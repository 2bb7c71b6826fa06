"""
Escapes of names for output formats.

A name of a system, query, document, segment or metric comes from a user or a file and may hold any character.

* `show_name` bounds the length and replaces invisible characters.
* `html`, `markdown` and `latex` return text that the format shows literally.
* `csv_row` and `markdown_row` return a row of cells.
* `encodable` is for frames, which hold every character except lone surrogates.

JSON needs no function: `json.dumps` escapes every character, and readers get the exact name back.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

from fastndcg.errors import MOST_SHOWN, cut, escape_match, printable

MOST_NOTED = 1000  # characters of a sentence below a table
MOST_DRAWN = 40  # characters of a name in a figure: more leave no room for the plot

_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKDOWN = re.compile(r"[\\`*_~$&<>]|\](?=[(\[:])")
_FORMULA = re.compile(r"\s*[=+\-@＝＋－＠]")  # what spreadsheets take for a formula, in wide letters, too
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "]": "&#93;"}
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "–": "--",
}  # fmt: skip


def show_name(name: Any, most: int = MOST_SHOWN) -> str:
    """Return a name or a note in the short and printable form of tables, pages and messages."""
    text = name if isinstance(name, str) else str(name)
    is_plain = len(text) <= most and text.isascii() and text.isprintable()
    return text if is_plain else cut(printable(cut(text, most)), most)


def encodable(name: Any) -> Any:
    r"""
    Return a text that UTF-8 can hold: lone surrogates stand as in Python's source. Return other values as they are.

    >>> encodable("caf\udce9"), encodable(7)
    ('caf\\udce9', 7)
    """
    return _SURROGATE.sub(escape_match, name) if isinstance(name, str) and not name.isascii() else name


def html(text: str) -> str:
    """Return text for the content or a quoted attribute of HTML and SVG."""
    from html import escape  # late: 5 ms of each start

    return escape(printable(text))


def markdown(text: str) -> str:
    r"""
    Return text that Markdown shows as it is.

    >>> print(markdown("a_b *c* <i> [x](y)"))
    a\_b \*c\* &lt;i&gt; [x&#93;(y)
    """
    return _MARKDOWN.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), printable(text))


def markdown_row(cells: Sequence[str]) -> str:
    r"""
    Return a row of a table from cells in Markdown. A | in a cell is escaped.

    >>> markdown_row(["1", "x|y"])
    '| 1 | x\\|y |'
    """
    return f"| {' | '.join(printable(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def markdown_line(text: str) -> str:
    r"""
    Return a line of plain text in Markdown, which is no heading and no item of a list.

    >>> print(markdown_line("# x"), markdown_line("1. y"), markdown_line("5 queries"))
    \# x 1\. y 5 queries
    """
    escaped = markdown(text).lstrip()
    digits = re.match(r"\d*", escaped)
    place = digits.end() if digits else 0
    starts_block = escaped[place : place + 1] in ({".", ")"} if place else {"#", "+", "-", "="})
    return f"{escaped[:place]}\\{escaped[place:]}" if starts_block and escaped else escaped


def latex(text: str) -> str:
    r"""
    Return text that LaTeX prints as it is.

    >>> print(latex("50%_a"), latex("\\input{x}"))
    50\%\_a \textbackslash{}input\{x\}
    """
    return "".join(_LATEX.get(character, character) for character in printable(text))


def latex_row(cells: Sequence[str]) -> str:
    r"""
    Return a row of a tabular from cells in LaTeX. A [ or * at its start is protected from a \\ before it.

    >>> print(latex_row(["[a]", "1"]))
    {}[a] & 1 \\
    """
    row = " & ".join(cells)
    return f"{'{}' if row.lstrip().startswith(('[', '*')) else ''}{row} \\\\"


def csv_row(cells: Sequence[object]) -> str:
    r"""
    Return a line of CSV. A name that a spreadsheet would compute gets an apostrophe before it, and numbers do not.

    >>> csv_row(["=1+1", "-5", -5, "a,b"])
    '\'=1+1,-5,-5,"a,b"\n'
    """
    line = io.StringIO()
    import csv  # late: 1 ms of each start

    csv.writer(line, lineterminator="\n").writerow([_csv_cell(cell) for cell in cells])
    return line.getvalue()


def _csv_cell(cell: object) -> object:
    if not isinstance(cell, str):
        return cell
    is_formula = _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"{chr(39) * bool(is_formula)}{printable(cell)}"
