"""Exports of results and tables: frames, JSON, CSV, Markdown and LaTeX, and files that are written whole."""

from __future__ import annotations

import io
import json
import math
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path, PurePath
from typing import Any, ClassVar, NamedTuple, overload

from fastndcg.errors import InvalidInputError, InvalidTypeError, MissingPackageError, printable, shorten
from fastndcg.runtime import escapes
from fastndcg.runtime.escapes import MOST_NOTED, html, show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.kernel_cache import DAY, remove_older

FilePath = str | os.PathLike[str]

LINES = 10_000  # lines of a piece of text
COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".zst": "zstd"}  # those that the readers unpack
UNREAD = (".xz", ".lz4", ".zip", ".7z", ".tar", ".tgz")


class PrintedTable(NamedTuple):
    """
    A table of texts.

    Attributes
    ----------
    cells : list of lists of str
        First the headings, then one list a row.
    left : list of bool
        True for each column that is flush left.
    notes : sequence of str
        Lines below the table.
    lead : sequence of str
        Sentences above the table.
    rows_per_block : int
        A rule follows each block of so many rows. 0: there is one block.
    """

    cells: Sequence[Sequence[str]]
    left: Sequence[bool]
    notes: Sequence[str] = ()
    lead: Sequence[str] = ()
    rows_per_block: int = 0

    @classmethod
    def of_columns(cls, columns: Mapping[str, Any], left: Collection[str]) -> PrintedTable:
        """Return a table of arrays with their names as headings, of which those of `left` are flush left."""
        rows = zip(*(values.tolist() for values in columns.values()), strict=True)
        return cls([list(columns), *(list(map(str, row)) for row in rows)], [name in left for name in columns])


class Exportable:
    """
    Base class of results and tables that convert to frames and texts.

    Frames, JSON and CSV have all values with all digits. Markdown and LaTeX have the cells that are printed.
    """

    __slots__ = ()
    _index: ClassVar[str | None] = None  # the column that is the index of a pandas frame

    def _export_columns(self) -> Mapping[str, Any]:
        """Return the columns of frames and CSV: arrays or lists of one length, by name."""
        raise NotImplementedError

    def _print_table(self) -> PrintedTable:
        """Return the cells of Markdown and LaTeX."""
        raise NotImplementedError

    def _json_pieces(self) -> Iterator[str]:
        """Yield JSON, by default a list with an object for each row."""
        columns = {name: _as_list(values) for name, values in self._export_columns().items()}
        yield dump_json([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])

    def _csv_pieces(self) -> Iterator[str]:
        """Yield a header, and a line for each row."""
        columns = self._export_columns()
        rows = zip(*(_as_list(values) for values in columns.values()), strict=True)
        yield from join_pieces(map(escapes.csv_row, chain([list(columns)], rows)))

    def to_pandas(self) -> Any:
        """
        Return a pandas DataFrame with all values.

        Returns
        -------
        pandas.DataFrame
            One row a row. Query ids of `Results` are the index ``query``.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        pandas = optional_import("pandas", "a pandas frame", "pandas")
        columns = self._frame_columns()
        index = None if self._index is None else pandas.Index(columns.pop(self._index), name=self._index)
        return pandas.DataFrame(columns, index=index)

    def to_polars(self) -> Any:
        """
        Return a Polars DataFrame with all values.

        Returns
        -------
        polars.DataFrame
            One row a row.

        Raises
        ------
        MissingPackageError
            If Polars is not installed.
        """
        polars = optional_import("polars", "a Polars frame", "polars")
        return polars.DataFrame(self._frame_columns())

    def to_arrow(self) -> Any:
        """
        Return a pyarrow Table with all values.

        Returns
        -------
        pyarrow.Table
            One row a row.

        Raises
        ------
        MissingPackageError
            If pyarrow is not installed.
        """
        pyarrow = optional_import("pyarrow", "an Arrow table", "arrow")
        return pyarrow.table(self._frame_columns())

    @overload
    def to_json(self, path: None = None) -> str: ...

    @overload
    def to_json(self, path: FilePath) -> None: ...

    def to_json(self, path: FilePath | None = None) -> str | None:
        """
        Return all values as JSON, or write them to a file.

        Parameters
        ----------
        path : str or path, optional
            The file to write. A suffix ``.gz``, ``.bz2`` or ``.zst`` compresses it. By default the text is returned.

        Returns
        -------
        str or None
            The text without a path. Numbers have all digits. NaN is null, but NaN in a run, which is read back.

        Raises
        ------
        OSError
            If the file cannot be written. An old file stays as it is.
        """
        return deliver_text(self._json_pieces(), path)

    @overload
    def to_csv(self, path: None = None) -> str: ...

    @overload
    def to_csv(self, path: FilePath) -> None: ...

    def to_csv(self, path: FilePath | None = None) -> str | None:
        """
        Return all values as CSV with a header, or write them to a file.

        A name that a spreadsheet would compute, such as ``=1+1``, gets an apostrophe before it. Ids of runs and
        judgments stay as they are, because they are read back.

        Parameters
        ----------
        path
            See `to_json`.

        Returns
        -------
        str or None
            The text without a path. Numbers have all digits, NaN is ``nan``.
        """
        return deliver_text(self._csv_pieces(), path)

    @overload
    def to_markdown(self, path: None = None) -> str: ...

    @overload
    def to_markdown(self, path: FilePath) -> None: ...

    def to_markdown(self, path: FilePath | None = None) -> str | None:
        """
        Return the printed table as Markdown, or write it to a file.

        Parameters
        ----------
        path
            See `to_json`.

        Returns
        -------
        str or None
            The table and its notes without a path. Markup in names is escaped.
        """
        return deliver_text([format_markdown(self._print_table())], path)

    @overload
    def to_latex(self, path: None = None) -> str: ...

    @overload
    def to_latex(self, path: FilePath) -> None: ...

    def to_latex(self, path: FilePath | None = None) -> str | None:
        """
        Return the printed table as LaTeX for the package booktabs, or write it to a file.

        Parameters
        ----------
        path
            See `to_json`.

        Returns
        -------
        str or None
            The notes as comments and then the table, without a path. Markup in names is escaped.
        """
        return deliver_text([format_latex(self._print_table())], path)

    def _frame_columns(self) -> dict[str, Any]:
        """Return the columns with texts as lists, without lone surrogates, which no frame can hold."""
        return {name: _encodable_column(values) for name, values in self._export_columns().items()}


def format_markdown(table: PrintedTable) -> str:
    """Return a table as Markdown, with its notes below."""
    head, *body = [[escapes.markdown(escapes.show_name(cell)) for cell in row] for row in table.cells]
    sides = [":--" if is_left else "--:" for is_left in table.left]
    lines = [escapes.markdown_row(row) for row in (head, sides, *body)]
    notes = [f"{escapes.markdown_line(note)}  " for note in table.notes]
    lead = [line for sentence in table.lead for line in (escapes.markdown_line(sentence), "")]
    return "\n".join([*lead, *lines, "", *notes]).rstrip() + "\n"


def format_latex(table: PrintedTable) -> str:
    """Return a table as a LaTeX tabular for booktabs, with its notes as comments."""
    head, *body = [[escapes.latex(escapes.show_name(cell)) for cell in row] for row in table.cells]
    sides = "".join("l" if is_left else "r" for is_left in table.left)
    lines = [f"% {printable(note)}" for note in (*table.lead, *table.notes)]
    lines += [rf"\begin{{tabular}}{{{sides}}}", r"\toprule", escapes.latex_row(head), r"\midrule"]
    for place, row in enumerate(body):
        if place and table.rows_per_block and place % table.rows_per_block == 0:
            lines.append(r"\midrule")
        lines.append(escapes.latex_row(row))
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def dump_json(content: Any) -> str:
    r"""
    Return content as JSON that every parser reads: NaN is null, infinity is a text.

    >>> dump_json([0.1, float("nan"), float("-inf")])
    '[\n 0.1,\n null,\n "-Infinity"\n]\n'
    """
    return json.dumps(without_nan(content), indent=1, allow_nan=False, default=str) + "\n"


def without_nan(content: Any) -> Any:
    """Return content as JSON can hold it: None for NaN, a text for infinity, lists for tuples."""
    if isinstance(content, float) and not math.isfinite(content):
        return None if math.isnan(content) else f"{'-' * (content < 0)}Infinity"
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    return [without_nan(value) for value in content] if isinstance(content, list | tuple) else content


def _as_list(values: Any) -> list[Any]:
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _encodable_column(values: Any) -> Any:
    dtype = getattr(values, "dtype", None)
    if dtype is not None and dtype.kind not in "OUT":
        return values
    return [escapes.encodable(value) for value in _as_list(values)]


def join_pieces(lines: Iterable[str], size: int = LINES) -> Iterator[str]:
    """Yield lines in pieces of `size` lines, so that files are written and compressed in large steps."""
    rows = iter(lines)
    while piece := list(islice(rows, size)):
        yield "".join(piece)


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


def fold_columns(rows: Rows, left: Sides, width: int) -> Iterator[tuple[Rows, Sides]]:
    """
    Yield parts of a table, each `width` wide at most and with the first column, whose cells fill half of it at most.

    >>> list(fold_columns([["system", "mean", "p"], ["a", "0.5", "1"]], [True, False, False], 13))
    [([['system', 'mean'], ['a', '0.5']], [True, False]), ([['system', 'p'], ['a', '1']], [True, False])]
    """
    cells = [[show_name(row[0], max(width // 2, 8)), *map(show_name, row[1:])] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    places = [0]
    for place in range(1, len(widths)):
        if len(places) > 1 and sum(widths[own] + 2 for own in places) + widths[place] > width:
            yield [[row[own] for own in places] for row in cells], [left[own] for own in places]
            places = [0]
        places.append(place)
    yield [[row[own] for own in places] for row in cells], [left[own] for own in places]


def text_table(rows: Rows, left: int | Sides, notes: Sequence[str] = (), lead: Sequence[str] = ()) -> str:
    """Return sentences, the lines of a table and the notes below it as one text."""
    around = [[show_name(note, MOST_NOTED) for note in lines] for lines in (lead, notes)]
    return "\n".join([*around[0], *align_columns(rows, left), *around[1]])


def html_table(rows: Rows, left: int | Sides, notes: Sequence[str] = (), lead: Sequence[str] = ()) -> str:
    """Return a table as HTML, with sentences above it, the first row as its head and notes at its foot."""
    head, *body = rows
    sides = _sides(left, len(head))
    lines = "".join(f"<tr>{_html_cells('td', row, sides)}</tr>" for row in body)
    foot = "<br>".join(html(show_name(note, MOST_NOTED)) for note in notes)
    foot = f"<tfoot><tr><td colspan='{len(head)}' style='text-align:left'>{foot}</td></tr></tfoot>" if notes else ""
    above = "".join(f"<p>{html(show_name(sentence, MOST_NOTED))}</p>" for sentence in lead)
    head_cells = _html_cells("th", head, sides)
    return f"{above}<table><thead><tr>{head_cells}</tr></thead><tbody>{lines}</tbody>{foot}</table>"


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
        return text_table(*self._print_table()[:4])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return html_table(*self._print_table()[:4])


def _html_cells(tag: str, cells: Sequence[str], sides: Sides) -> str:
    return "".join(
        f"<{tag} style='text-align:{'left' if is_left else 'right'}'>{html(show_name(cell))}</{tag}>"
        for cell, is_left in zip(cells, sides, strict=True)
    )


def _sides(left: int | Sides, n_columns: int) -> Sides:
    return [column < left for column in range(n_columns)] if isinstance(left, int) else left


def deliver_text(pieces: Iterable[str], path: FilePath | None) -> str | None:
    """Write pieces of text to a file, compressed by its suffix. Without a path, return them as one text."""
    if path is None:
        return "".join(pieces)
    write_compressed(path, (piece.encode(errors="backslashreplace") for piece in pieces))
    return None


def write_compressed(path: FilePath, pieces: Iterable[bytes]) -> None:
    """
    Write a file, compressed by its suffix. It is replaced when it is complete, so that an error leaves it unchanged.

    Raises
    ------
    InvalidInputError
        If the suffix is that of a compression that the readers lack.
    OSError
        If the file cannot be written.
    """
    check_file_path(path)
    write_whole(path, _compress(find_compression(path), pieces))


def write_whole(path: FilePath, pieces: Iterable[bytes]) -> None:
    """
    Write a temporary file and move it to its place when it is complete.

    An error leaves the old file unchanged, and names it. If the path is a link, its target is replaced. Devices and
    pipes are written directly. Temporary files that were left a day ago, by processes that were killed, are removed.
    """
    target = Path(os.path.realpath(path))
    is_direct = target.exists() and not target.is_file()
    unfinished = target if is_direct else target.with_name(f".fastndcg-{os.urandom(6).hex()}")
    try:
        with unfinished.open("wb" if is_direct else "xb") as file:
            file.writelines(pieces)
        if is_direct:
            return
        if target.exists():
            import shutil

            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(unfinished)):
            raise
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # a full disk names no file
    finally:
        if not is_direct:
            unfinished.unlink(missing_ok=True)
            remove_older(target.parent.glob(f".fastndcg-{12 * '[0-9a-f]'}"), DAY)


def check_file_path(path: Any) -> None:
    """Raise InvalidTypeError for a value that is no path of a file."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InvalidTypeError(f"`path` must be the path of a file, not {shorten(path)}. Leave it out for a text.")


def find_compression(path: FilePath) -> str:
    """Return the compression that a file's suffix names, an empty text for a plain file."""
    suffix = PurePath(path).suffix.lower()
    if suffix in UNREAD:
        raise InvalidInputError(
            f"`path` must end in {', '.join(COMPRESSIONS)} for a compressed file, but is {escapes.show_name(path)}. "
            "Change the suffix."
        )
    return COMPRESSIONS.get(suffix, "")


def _compress(compression: str, pieces: Iterable[bytes]) -> Iterator[bytes]:
    if not compression:
        yield from pieces
        return
    packed = io.BytesIO()
    with _open_compressed(compression, packed) as file:
        for piece in pieces:
            file.write(piece)
            yield packed.getvalue()
            packed.seek(0)
            packed.truncate()
    yield packed.getvalue()


def _open_compressed(compression: str, packed: io.BytesIO) -> Any:
    """Return a file that compresses what is written to it. Equal contents give equal files, without a date."""
    if compression == "gzip":
        import gzip

        return gzip.GzipFile(filename="", mode="wb", fileobj=packed, mtime=0)
    if compression == "bzip2":
        import bz2

        return bz2.BZ2File(packed, "wb")
    return import_zstd("writing").ZstdFile(packed, "wb")


def import_zstd(purpose: str) -> Any:
    """Import the package that packs and unpacks zstd."""
    try:
        return optional_import("compression.zstd", "", "")  # with Python from 3.14 on
    except MissingPackageError:
        return optional_import("backports.zstd", f"{purpose} .zst", "zstd")
