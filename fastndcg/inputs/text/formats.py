"""Files of judgments and runs: TREC, MS MARCO and BEIR text, JSON, CSV, Parquet, Arrow."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np

from fastndcg.choices import Format
from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.inputs.arrow_files import read_arrow, starts_like_arrow
from fastndcg.inputs.columns import ColumnNames
from fastndcg.inputs.diversity_qrels import DiversityQrels
from fastndcg.inputs.hints import check_path
from fastndcg.inputs.id_column import split_at_blanks
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.parquet.stream import is_parquet, read_parquet
from fastndcg.inputs.qrels_run import Qrels, Run
from fastndcg.inputs.ranks import convert_ranks
from fastndcg.inputs.text.blocks import FilePath, describe_path, first_line
from fastndcg.inputs.text.csv_files import read_csv
from fastndcg.inputs.text.json_files import is_json, read_json, read_json_lines
from fastndcg.inputs.text.reader import NO_LIMIT, REMEDY, Layout, read_rows
from fastndcg.runtime.escapes import show_name

Kind = TypeVar("Kind", bound=Table)
Columns = Mapping[str, str] | None

LAYOUT = functools.partial(Layout, remedy=REMEDY)
TREC = {
    Qrels: LAYOUT("query, iteration, document, label", (0, 2, 2, 3), 4, 4, "label"),
    Run: LAYOUT(
        "query, 'Q0', document, rank, score, name", (0, 2, 2, 4), 6, NO_LIMIT, "score"
    ),  # a name may hold blanks
}
DIVERSITY = LAYOUT("query, subtopic, document, label", (0, 1, 2, 3), 4, 4, "label")
MSMARCO = LAYOUT("query, document, rank", (0, 1, 1, 2), 3, 3, "rank")
MOST_FIELDS = 8  # fields of a first line that tell formats apart
BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
BEIR = LAYOUT("query, document, label", (0, 1, 1, 2), 3, 3, "label", has_header=True)


def read_qrels(
    path: FilePath, *, format: Format | None = None, columns: Columns = None, threads: int | None = None
) -> Qrels:
    r"""
    Read judgments.

    Parameters
    ----------
    path : path
        A file, plain or packed by gzip, bzip2 or zstd, or "-" for standard input. Addresses such as
        ``s3://bucket/file`` are opened by fsspec, the extra `remote`.
    format : str, optional
        'trec' (query, iteration, document, label, separated by blanks or tabs), 'trec_diversity' (query, subtopic,
        document, label), 'beir' (a header, then query, document, label), 'json' or 'jsonl' ({query: {document:
        label}}), 'csv', 'parquet' or 'arrow' (also Feather). By default the first line decides, except for
        'trec_diversity'.
    columns : dict, optional
        Names of columns of a CSV, Parquet or Arrow file, see `evaluate`. A name for scores is ignored: it is for the
        run.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Qrels
        The judgments, as DiversityQrels if labels are by subtopic.

    Raises
    ------
    InvalidInputError
        If a line lacks a field, a label is no number, or a document occurs twice in a query. Also if the file is empty
        or no text. The message names the file and the line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("q1 0 d1 2\nq1 0 d2 0\n")
    ...     fn.read_qrels(path)
    Qrels of 1 queries, 2 documents
    """
    return _read(Qrels, path, format, columns, threads)


def read_run(
    path: FilePath, *, format: Format | None = None, columns: Columns = None, threads: int | None = None
) -> Run:
    r"""
    Read a run. Only scores rank the documents. TREC's rank column is ignored, as in trec_eval.

    Parameters
    ----------
    path : path
        A file, plain or packed by gzip, bzip2 or zstd, or "-" for standard input. Addresses such as
        ``s3://bucket/file`` are opened by fsspec, the extra `remote`.
    format : str, optional
        'trec' (query, 'Q0', document, rank, score, name, separated by blanks or tabs), 'msmarco' (query, document,
        rank), 'json' or 'jsonl' ({query: {document: score}}), 'csv', 'parquet' or 'arrow' (also Feather). By default
        the first line decides. Ranks of 'msmarco' are 1, 2, 3 and so on in each query, and values with fractions are
        scores.
    columns : dict, optional
        Names of columns of a CSV, Parquet or Arrow file, see `evaluate`. Names for labels and subtopics are ignored:
        they are for the judgments.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Run
        The score of each retrieved document.

    Raises
    ------
    InvalidInputError
        If a line lacks a field, a score is no number, or a document occurs twice in a query. Also if the file is empty
        or no text. The message names the file and the line.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("q1 Q0 d1 1 0.9 bm25\nq1 Q0 d2 2 0.5 bm25\n")
    ...     fn.read_run(path)
    Run of 1 queries, 2 documents
    """
    return _read(Run, path, format, columns, threads)


def read_run_tag(path: FilePath) -> str | None:
    """Return the name that a run in TREC's format gives itself in its first line, or None for other formats."""
    fields = first_line(path).split()
    is_trec = len(fields) >= TREC[Run].least and detect_format(path, Run) == "trec"
    return fields[5].decode(errors="surrogateescape") if is_trec else None  # only its first word, as in trec_eval


class FileSample(NamedTuple):
    """The kind of table, whether the file has Parquet's magic bytes, and its first line."""

    kind: type[Table]
    is_parquet: bool
    line: bytes
    fields: list[bytes]


class FileFormat(NamedTuple):
    """
    A format of files, with a function that recognises it and one that reads it.

    `matches` is absent (None) for a format that no first line shows. `has_columns` says if `columns` may name columns.
    """

    name: str
    matches: Callable[[FileSample], bool] | None
    read: Callable[[type[Any], FilePath, Columns, int | None], Any]
    has_columns: bool = False


def detect_format(path: FilePath, kind: type[Table]) -> str:
    """Return the first format in `FORMATS` that recognises a file by its first line."""
    has_magic = is_parquet(path)
    line = b"" if has_magic else first_line(path)
    sample = FileSample(kind, has_magic, line, line.split(None, MOST_FIELDS))  # a line may be a whole JSON file
    return next(form.name for form in FORMATS if form.matches is not None and form.matches(sample))


def read_file(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    """Read judgments or a run of any format. Formats without columns ignore `columns`: another input may need it."""
    check_path(path)
    table: Kind = FORMATS_BY_NAME[detect_format(path, kind)].read(kind, path, columns, threads)
    return table


def _read(kind: type[Kind], path: FilePath, format: str | None, columns: Columns, threads: int | None) -> Kind:
    check_path(path)
    name = detect_format(path, kind) if format is None else format
    if not isinstance(name, str) or name not in FORMATS_BY_NAME:
        hint = suggest_name(name, FORMATS_BY_NAME) or f" There are {', '.join(FORMATS_BY_NAME)}."
        raise InvalidInputError(f"`format` {shorten(name)} is not known.{hint}")
    form = FORMATS_BY_NAME[name]
    columns = ColumnNames.of(columns, kind.side)
    table: Kind | None = form.read(kind, path, columns, threads) if form.has_columns or not columns else None
    if table is None or (columns and not table.source.columns):
        raise InvalidInputError(
            f"`columns` can only be used for CSV, Parquet and Arrow files, and for records in JSON, but "
            f"{describe_path(path)} is read as {name}. Leave it out"
        )
    return table


def _read_trec(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    del columns
    rows, source = read_rows(path, TREC[kind], threads)
    return kind.of(rows, source, threads)


def _read_diversity(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    """Read judgments by subtopic. Subtopic and document are one piece of each line, split at the blanks between."""
    del columns
    if not issubclass(DiversityQrels, kind):
        raise InvalidInputError("`format` 'trec_diversity' is one of judgments, not of runs. Leave it out")
    rows, source = read_rows(path, DIVERSITY, threads)
    subtopics, documents = split_at_blanks(rows.documents)
    return cast(Kind, DiversityQrels.of_judgments(rows._replace(documents=documents), subtopics, source))


def _read_beir(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    del columns
    rows, source = read_rows(path, BEIR, threads)
    return kind.of(rows, source, threads)


def _read_msmarco(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    """
    Read a run of ranks 1, 2, 3 and so on in each query, whose negative values serve as scores.

    Three fields are often a query, a document and a score: values with a fraction are scores, and others are refused.
    """
    del columns
    if not issubclass(Run, kind):
        raise InvalidInputError("`format` 'msmarco' is one of runs, not of judgments. MS MARCO's are 'trec'")
    rows, source = read_rows(path, MSMARCO, threads)
    with np.errstate(invalid="ignore"):
        if len(rows.values) and (rows.values % 1 != 0).any() and np.isfinite(rows.values).all():
            return kind.of(rows, source, threads)
    names = rows.queries.names()

    def describe(row: int) -> str:
        query = int(np.searchsorted(rows.groups.offsets, row if order is None else places[row], side="right")) - 1
        document = show_name(rows.documents.name(row))
        return f"document {document} of query {show_name(names[query])} ({source.unit or 'row'} {source.number(row)})"

    order = rows.groups.rows
    places = np.empty(len(rows.values), "i8")
    places[np.arange(len(places)) if order is None else order] = np.arange(len(places))
    return kind.of(
        rows._replace(values=convert_ranks(rows.values, rows.groups, describe, source.name)), source, threads
    )


def _matches_parquet(sample: FileSample) -> bool:
    return sample.is_parquet


def _matches_arrow(sample: FileSample) -> bool:
    return starts_like_arrow(sample.line)


def _starts_like_json(sample: FileSample) -> bool:
    return sample.line.lstrip()[:1] in (b"{", b"[")


def _matches_json_lines(sample: FileSample) -> bool:
    return _starts_like_json(sample) and is_json(sample.line)


def _matches_beir(sample: FileSample) -> bool:
    return [field.lower() for field in sample.fields] == BEIR_HEADER


def _matches_msmarco(sample: FileSample) -> bool:
    return len(sample.fields) == MSMARCO.least and sample.kind is Run


def _matches_csv(sample: FileSample) -> bool:
    return b"," in sample.line and len(sample.fields) < TREC[Qrels].least


def _matches_any(sample: FileSample) -> bool:
    del sample
    return True


# asked in this order: a line of JSON on its own before the begin of a longer object, and TREC for all that is left
FORMATS = (
    FileFormat("parquet", _matches_parquet, read_parquet, has_columns=True),
    FileFormat("arrow", _matches_arrow, read_arrow, has_columns=True),
    FileFormat("jsonl", _matches_json_lines, read_json_lines, has_columns=True),
    FileFormat("json", _starts_like_json, read_json, has_columns=True),
    FileFormat("beir", _matches_beir, _read_beir),
    FileFormat("msmarco", _matches_msmarco, _read_msmarco),
    FileFormat("csv", _matches_csv, read_csv, has_columns=True),
    FileFormat("trec", _matches_any, _read_trec),
    FileFormat("trec_diversity", None, _read_diversity),
)
FORMATS_BY_NAME = {form.name: form for form in FORMATS}
