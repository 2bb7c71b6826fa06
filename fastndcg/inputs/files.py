"""Files of judgments and runs: TREC, MS MARCO and BEIR text, JSON, CSV, Parquet; the kind is seen in the first line."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TypeVar, cast

import numpy as np

from fastndcg.errors import InvalidInputError, nearest
from fastndcg.inputs.blocks import FilePath, first_line, name_of
from fastndcg.inputs.columns import cut_at_blanks
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.lines import NO_LIMIT, REMEDY, Layout, read_rows
from fastndcg.inputs.parquet import is_parquet, read_parquet
from fastndcg.inputs.records import is_json, read_csv, read_json, read_json_lines
from fastndcg.inputs.tables import Qrels, Run, Table

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
BEIR_HEADER = [b"query-id", b"corpus-id", b"score"]
BEIR = LAYOUT("query, document, label", (0, 1, 1, 2), 3, 3, "label", has_header=True)


def read_qrels(
    path: FilePath, *, format: str | None = None, columns: Columns = None, threads: int | None = None
) -> Qrels:
    """
    Read judgments.

    Parameters
    ----------
    path : path
        A file, plain or packed by gzip, bzip2 or zstd; "-" for standard input.
    format : str, optional
        'trec' (query, iteration, document, label; separated by blanks or tabs), 'trec_diversity' (query, subtopic,
        document, label), 'beir' (a header, then query, document, label), 'json' or 'jsonl' ({query: {document:
        label}}), 'csv' or 'parquet'. By default the first bytes tell, but not whether the second field is a subtopic.
    columns : dict, optional
        Names of columns of a CSV or Parquet file, see `evaluate`; one of scores is for the run, and passed over. Other
        files have none.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Qrels, or DiversityQrels where labels are by subtopic

    Raises
    ------
    InvalidInputError
        If a line lacks a field, a label is no number, a document stands twice in a query, or the file is empty or
        no text; the message names file and line.
    OSError
        If the file cannot be read.
    """
    return _read(Qrels, path, format, columns, threads)


def read_run(path: FilePath, *, format: str | None = None, columns: Columns = None, threads: int | None = None) -> Run:
    """
    Read a run. The score alone ranks the documents; TREC's rank column is not looked at, as in trec_eval.

    Parameters
    ----------
    path : path
        A file, plain or packed by gzip, bzip2 or zstd; "-" for standard input.
    format : str, optional
        'trec' (query, 'Q0', document, rank, score, name; separated by blanks or tabs), 'msmarco' (query, document,
        rank), 'json' or 'jsonl' ({query: {document: score}}), 'csv' or 'parquet'. By default the first bytes tell.
    columns : dict, optional
        Names of columns of a CSV or Parquet file, see `evaluate`; those of labels and subtopics are for the judgments,
        and passed over. Other files have none.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Run

    Raises
    ------
    InvalidInputError
        If a line lacks a field, a score is no number, a document stands twice in a query, or the file is empty or
        no text; the message names file and line.
    OSError
        If the file cannot be read.
    """
    return _read(Run, path, format, columns, threads)


def run_tag(path: FilePath) -> str | None:
    """The name that a run in TREC's format gives itself, in its first line; None for other formats."""
    fields = first_line(path).split()
    is_trec = len(fields) >= TREC[Run].least and detect(path, Run) == "trec"
    return fields[5].decode(errors="surrogateescape") if is_trec else None  # its first word, as trec_eval


def detect(path: FilePath, kind: type[Table]) -> str:
    """The format of a file, by its first line; 'trec' where nothing else is plain."""
    if is_parquet(path):
        return "parquet"
    line = first_line(path)
    fields = line.split()
    if line.lstrip()[:1] in (b"{", b"["):
        return "jsonl" if is_json(line) else "json"
    if [field.lower() for field in fields] == BEIR_HEADER:
        return "beir"
    if len(fields) == MSMARCO.least and kind is Run:
        return "msmarco"
    return "csv" if b"," in line and len(fields) < TREC[Qrels].least else "trec"


def read_file(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    """Judgments or a run of any format; `columns` may be for another input, and are passed over where none are."""
    return READERS[detect(path, kind)](kind, path, columns, threads)


def _read(kind: type[Kind], path: FilePath, format: str | None, columns: Columns, threads: int | None) -> Kind:
    chosen = detect(path, kind) if format is None else format
    if chosen not in READERS:
        hint = nearest(str(chosen), READERS) or f" There are {', '.join(READERS)}."
        raise InvalidInputError(f"`format` {chosen!r} is not known.{hint}")
    if columns and chosen not in WITH_COLUMNS:
        raise InvalidInputError(
            f"`columns` names columns of CSV and Parquet files, but {name_of(path)} is read as {chosen}; leave it out"
        )
    return READERS[chosen](kind, path, columns, threads)


def _read_trec(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    del columns
    rows, source = read_rows(path, TREC[kind], threads)
    return kind.of(rows, source, threads)


def _read_diversity(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    """Subtopic and document are one piece of each line, to be cut at the blanks between."""
    del columns
    if not issubclass(DiversityQrels, kind):
        raise InvalidInputError("`format` 'trec_diversity' is one of judgments, not of runs; leave it out")
    rows, source = read_rows(path, DIVERSITY, threads)
    subtopics, documents = cut_at_blanks(rows.documents)
    return cast(Kind, DiversityQrels.of_judgments(rows._replace(documents=documents), subtopics, source))


def _read_beir(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    del columns
    rows, source = read_rows(path, BEIR, threads)
    return kind.of(rows, source, threads)


def _read_msmarco(kind: type[Kind], path: FilePath, columns: Columns, threads: int | None) -> Kind:
    """Ranks in the place of scores."""
    del columns
    if not issubclass(Run, kind):
        raise InvalidInputError("`format` 'msmarco' is one of runs, not of judgments; MS MARCO's are 'trec'")
    rows, source = read_rows(path, MSMARCO, threads)
    wrong = ~((rows.values >= 1) & (rows.values == np.floor(rows.values)) & (rows.values < np.inf))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(
            f"{source.place(row)}: rank must be a whole number from 1 on, but is {rows.values[row]:g}; for scores in "
            f"three fields, read {name_of(path)} as a frame, or write TREC's six"
        )
    return kind.of(rows._replace(values=-rows.values), source, threads)


READERS: dict[str, Callable[[type[Kind], FilePath, Columns, int | None], Kind]] = {
    "trec": _read_trec,
    "trec_diversity": _read_diversity,
    "msmarco": _read_msmarco,
    "beir": _read_beir,
    "json": read_json,
    "jsonl": read_json_lines,
    "csv": read_csv,
    "parquet": read_parquet,
}
WITH_COLUMNS = ("csv", "parquet")
