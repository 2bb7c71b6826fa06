"""Write judgments and runs as TREC, JSON, JSON Lines, CSV and Parquet, which `Qrels` and `Run` read back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, Option, shorten, suggest_name
from fastndcg.exports import (
    COMPRESSIONS,
    LINES,
    FilePath,
    check_file_path,
    find_compression,
    join_pieces,
    write_compressed,
)
from fastndcg.inputs.ids import IdColumn, concatenate_columns
from fastndcg.rankings.validation import Array, count_before
from fastndcg.runtime.imports import optional_import

Table: TypeAlias = Any  # that of table.py, which imports this module
DEFAULT_TAG = "fastndcg"
SUFFIXES = {
    ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
UNWRITTEN = (".feather", ".arrow", ".ipc", ".orc", ".avro", ".xlsx", ".pkl", ".pickle", ".npz", ".npy", ".h5")
BLANK = re.compile("[\0\t-\r ]")  # characters that no field of a line can hold
LINE_END = re.compile("[\0\n\r]")  # characters that no field of CSV can hold
SURROGATE = re.compile("[\ud800-\udfff]")  # UTF-8 lacks them
OTHER_FORMATS = ("{", "[", "PAR1", "BZh", "\ufeff")  # readers recognise other formats by these first characters
FIELDS = "TREC's format must not be empty and have no blanks and no NUL"
OTHER_IDS = "Write JSON or Parquet, which hold every id."


def write_table(table: Table, path: FilePath, format: str | None, tag: str = DEFAULT_TAG) -> None:
    """Write a table to a file, in the format that is named or that the suffix shows."""
    check_file_path(path)
    name = find_format(path) if format is None else format
    if not isinstance(name, str) or name not in WRITERS:
        hint = suggest_name(name, WRITERS) or f" There are {', '.join(WRITERS)}."
        raise InvalidInputError(f"`format` {shorten(name)} is not known.{hint}")
    if name == "parquet" and find_compression(path):
        raise InvalidInputError(
            f"`path` must not end in {', '.join(COMPRESSIONS)} for Parquet, which compresses its columns itself. "
            "Leave the suffix out."
        )
    write_compressed(path, WRITERS[name](table, tag))


def find_format(path: FilePath) -> str:
    """
    Return the format that a file's name shows, without the suffix of a compression.

    >>> find_format("runs/bm25.json.gz"), find_format("bm25.run"), find_format("qrels.parquet")
    ('json', 'trec', 'parquet')
    """
    name = PurePath(path)
    suffix = (PurePath(name.stem) if find_compression(path) else name).suffix.lower()
    if suffix in UNWRITTEN:
        raise InvalidInputError(
            f"`path` must end in {', '.join(SUFFIXES)}, or in the suffix of a text file for TREC, but ends in "
            f"{suffix}. Change it, or name the format: ",
            Option("format", "'trec'"),
        )
    return SUFFIXES.get(suffix, "trec")


def encode_lines(lines: Iterable[str]) -> Iterator[bytes]:
    """Yield the bytes of lines in large pieces."""
    return (piece.encode() for piece in join_pieces(lines))


def write_trec_run(run: Table, tag: str = DEFAULT_TAG) -> Iterator[bytes]:
    """
    Yield the lines of a run in large pieces: query, Q0, document, rank, score, tag. Documents stand by falling score.

    Documents with equal scores keep their order. Scores are as Python's repr writes them.
    """
    check_tag(tag)
    _check_fields(run)
    return _join_fields(run, tag)


def _join_fields(run: Table, tag: str) -> Iterator[bytes]:
    """Yield pieces of rows of one column of all fields: a line has a query, a document, a rank and a score."""
    order = run.order_by_score()
    sizes = np.diff(run.offsets)
    values = run.values[order]
    codes, firsts = IdColumn.of_fixed(values).factorize()  # repr takes longest, and scores by rank repeat
    columns = [
        IdColumn.of_texts([f"{query} Q0 " for query in run.queries.names().tolist()]),
        run.documents if run.documents.are_texts else IdColumn.of_texts(list(map(str, run.documents.names().tolist()))),
        IdColumn.of_texts([f" {rank} " for rank in range(1, 1 + int(sizes.max(initial=0)))]),
        IdColumn.of_texts([f"{score!r} {tag}\n" for score in values[firsts].tolist()]),
    ]
    queries, ranks = np.repeat(np.arange(len(sizes)), sizes), np.arange(len(order)) - np.repeat(run.offsets[:-1], sizes)
    rows = np.stack([queries, order, ranks, codes], axis=1) + count_before(np.array(list(map(len, columns))))[:-1]
    fields = concatenate_columns(columns)
    for first in range(0, len(rows), LINES):
        yield fields.take(rows[first : first + LINES].ravel()).text_bytes()[0].tobytes()


def write_trec_qrels(table: Table, tag: str = DEFAULT_TAG) -> Iterator[bytes]:
    """Yield the lines of judgments: query, 0 or the subtopic, document, label. Whole labels have no point."""
    del tag
    return encode_lines(_list_qrels_lines(table))


def _list_qrels_lines(table: Table) -> Iterator[str]:
    _check_fields(table)
    _refuse_importance(table)
    columns = table._export_columns()
    subtopics = columns.get("subtopic", np.zeros(len(columns["label"]), int))
    _refuse_texts(subtopics, BLANK, f"{FIELDS}, but subtopic")
    fields = (columns["query"], subtopics, columns["document"], columns["label"])
    for query, subtopic, document, label in zip(*(values.tolist() for values in fields), strict=True):
        yield f"{query} {subtopic} {document} {format_label(label)}\n"


def _refuse_importance(table: Table) -> None:
    """Raise for judgments whose subtopics have an importance, where a format has no place for it."""
    if getattr(table, "has_importance", False):
        raise InvalidInputError(
            "`format` must hold the importance of subtopics, but TREC's lines and JSON by query have no place for it. "
            "Write CSV or Parquet"
        )


def format_label(label: float) -> str:
    """
    Return a label as trec_eval reads it: a whole number without a point.

    >>> format_label(2.0), format_label(0.5)
    ('2', '0.5')
    """
    return str(int(label)) if label == int(label) else repr(label)


def check_tag(tag: Any) -> None:
    """Raise an error for a name of a system that TREC's last column cannot hold."""
    if not isinstance(tag, str):
        raise InvalidTypeError(f"`tag` must be the name of the system as a text, not {shorten(tag)}")
    if not tag or BLANK.search(tag) or SURROGATE.search(tag):
        raise InvalidInputError(f"`tag` must be a text without blanks, but is {shorten(tag)}. Replace them by '_'.")


def _check_fields(table: Table) -> None:
    """Raise for an id of a query or a document that no field of text can hold."""
    queries = table.queries.names()
    for what, ids in (("query", table.queries), ("document", table.documents)):
        if not _are_printable(ids):
            _refuse_texts(ids.names(), BLANK, f"{FIELDS}, but {what}")
    comment = next((name for name in queries.tolist() if str(name).startswith("#")), None)
    if comment is not None:
        raise InvalidInputError(
            f"ids of queries in TREC's format must not begin with #, as comments do, but one is {shorten(comment)}. "
            f"{OTHER_IDS}"
        )
    if table.queries.are_texts and len(queries) and queries[0].startswith(OTHER_FORMATS):
        starts = ", ".join(map(repr, OTHER_FORMATS))
        raise InvalidInputError(
            f"the first id of a query in TREC's format must not begin with {starts}, which show other formats, but is "
            f"{shorten(queries[0])}. {OTHER_IDS}"
        )


def _are_printable(ids: IdColumn) -> bool:
    """Return True for texts of ASCII without blanks, which need no Python objects to be checked."""
    if not ids.are_texts or not len(ids):
        return False
    content, offsets = ids.text_bytes()
    return bool(content.min(initial=127) > ord(" ") and content.max(initial=0) < 128 and np.diff(offsets).min() > 0)


def _refuse_texts(names: Array, wrong: re.Pattern[str], rule: str) -> None:
    """Raise for the first text that is empty or has a wrong character."""
    if names.dtype.kind != "O":
        return
    _refuse_surrogates(names)
    texts = names.tolist()
    if not all(texts) or wrong.search("".join(texts)):
        text = next(text for text in texts if not text or wrong.search(text))
        raise InvalidInputError(f"ids in {rule} {shorten(text)} does. {OTHER_IDS}")


def _refuse_surrogates(names: Array) -> None:
    """Raise for the first text with a character that UTF-8 lacks."""
    texts = names.tolist() if names.dtype.kind == "O" else []
    joined = "".join(texts)
    if not joined.isascii() and SURROGATE.search(joined):
        text = next(text for text in texts if SURROGATE.search(text))
        raise InvalidInputError(
            f"ids in files must have no lone surrogates, but one is {shorten(text)}. Write JSON, which holds every id."
        )


def list_json(table: Table) -> Iterator[str]:
    """Yield an object {query: {document: value}}, one query a line."""
    separator = "{\n"
    for line in _list_objects(table):
        yield f"{separator}{line}"
        separator = ",\n"
    yield "\n}\n" if len(table.queries) else "{}\n"


def _list_objects(table: Table) -> Iterator[str]:
    """Yield each query's member of an object in JSON. Infinite and NaN scores stand as Python writes and reads them."""
    _refuse_importance(table)
    for query, documents in table.iterate_dicts():
        yield f"{json.dumps(str(query))}: {json.dumps(documents)}"


def list_csv(table: Table) -> Iterator[str]:
    """Yield a header and one line a row, with ids as they are."""
    columns = table._export_columns()
    for role, names in columns.items():
        _refuse_texts(names, LINE_END, f"CSV must not be empty and have no line ends and no NUL, but {role}")
    yield _format_csv_line(list(columns))
    for row in zip(*(values.tolist() for values in columns.values()), strict=True):
        yield _format_csv_line(row)


def _format_csv_line(cells: Iterable[Any]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def write_parquet(table: Table) -> Iterator[bytes]:
    """Yield a Parquet file with a column of queries, of documents, and of values. Ids and values keep their types."""
    pyarrow = optional_import("pyarrow", "writing Parquet", "arrow")
    parquet = optional_import("pyarrow.parquet", "writing Parquet", "arrow")
    columns = table._export_columns()
    for names in columns.values():
        _refuse_surrogates(names)
    content = io.BytesIO()
    parquet.write_table(pyarrow.table(columns), content)
    yield content.getvalue()


WRITERS: dict[str, Callable[[Any, str], Iterable[bytes]]] = {
    "trec": lambda table, tag: table._write_trec(tag),  # in which judgments and runs differ
    "json": lambda table, _: encode_lines(list_json(table)),
    "jsonl": lambda table, _: encode_lines(f"{{{line}}}\n" for line in _list_objects(table)),
    "csv": lambda table, _: encode_lines(list_csv(table)),
    "parquet": lambda table, _: write_parquet(table),
}
