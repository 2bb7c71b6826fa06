"""Write judgments and runs as TREC, JSON, JSON Lines, CSV and Parquet, which `Qrels` and `Run` read back."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from pathlib import PurePath
from typing import Any, TypeAlias

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, Option, shorten, suggest_name
from fastndcg.exports import COMPRESSIONS, FilePath, check_file_path, find_compression, join_pieces, write_compressed
from fastndcg.inputs.ids import IdColumn
from fastndcg.rankings.validation import Array
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


def list_trec_run(run: Table, tag: str = DEFAULT_TAG) -> Iterator[str]:
    """
    Yield the lines of a run: query, Q0, document, rank, score, tag. Documents stand by falling score.

    Documents with equal scores keep their order. Scores are as Python's repr writes them.
    """
    check_tag(tag)
    return _list_run_lines(run, tag)


def _list_run_lines(run: Table, tag: str) -> Iterator[str]:
    queries, documents = _read_field_ids(run)
    order = run.order_by_score()
    names = documents[order].tolist()
    values = run.values[order]
    codes, firsts = IdColumn.of_fixed(values).factorize()  # repr takes longest, and scores by rank repeat
    texts = list(map(repr, values[firsts].tolist()))
    scores = [texts[code] for code in codes.tolist()]
    for query, (first, stop) in zip(queries, pairwise(run.offsets.tolist()), strict=True):
        for row in range(first, stop):
            yield f"{query} Q0 {names[row]} {row - first + 1} {scores[row]} {tag}\n"


def list_trec_qrels(table: Table, tag: str = DEFAULT_TAG) -> Iterator[str]:
    """Yield the lines of judgments: query, 0 or the subtopic, document, label. Whole labels have no point."""
    del tag
    _read_field_ids(table)
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


def _read_field_ids(table: Table) -> tuple[list[Any], Array]:
    """Return the ids of queries and documents for fields of text. Raise for an id that no field can hold."""
    queries = table.queries.names()
    documents = table.documents.names()
    for what, names in (("query", queries), ("document", documents)):
        _refuse_texts(names, BLANK, f"{FIELDS}, but {what}")
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
    return queries.tolist(), documents


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
    "trec": lambda table, tag: encode_lines(table._list_trec(tag)),  # in which judgments and runs differ
    "json": lambda table, _: encode_lines(list_json(table)),
    "jsonl": lambda table, _: encode_lines(f"{{{line}}}\n" for line in _list_objects(table)),
    "csv": lambda table, _: encode_lines(list_csv(table)),
    "parquet": lambda table, _: write_parquet(table),
}
