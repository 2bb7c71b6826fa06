"""TREC text files: qrels of four fields, runs of six, plain or gzipped."""

from __future__ import annotations

import codecs
import gzip
import math
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.tables import Qrels, Run, Source
from fastndcg.rankings import Array

QRELS_FIELDS = "query, iteration, document, label"
RUN_FIELDS = "query, 'Q0', document, rank, score, name"
WHOLE_DIGITS = 18  # more may leave int64


def read_qrels(path: str | os.PathLike[str]) -> Qrels:
    """
    Read judgments in TREC's format: query, iteration, document, label; separated by blanks or tabs.

    Parameters
    ----------
    path : path
        A text file, plain or gzipped.

    Returns
    -------
    Qrels

    Raises
    ------
    InvalidInputError
        If a line lacks a field, a label is no number, a document stands twice in a query, or the file is empty or
        no text; the message names file and line.
    OSError
        If the file cannot be read.
    """
    queries, documents, texts, lines = _columns(path, 3, QRELS_FIELDS, most=4)
    whole = all(text.lstrip(b"+-").isdigit() and len(text) < WHOLE_DIGITS for text in texts)
    labels = _numbers(texts, int if whole else float, path, lines, "label")
    return Qrels(queries, documents, labels, Source(str(path), lines))


def read_run(path: str | os.PathLike[str]) -> Run:
    """
    Read a run in TREC's format: query, 'Q0', document, rank, score, name; separated by blanks or tabs.

    The score alone ranks the documents; the rank column is not looked at, as in trec_eval.

    Parameters
    ----------
    path : path
        A text file, plain or gzipped.

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
    queries, documents, texts, lines = _columns(path, 4, RUN_FIELDS)  # a name may hold blanks: no most fields
    return Run(queries, documents, _numbers(texts, float, path, lines, "score"), Source(str(path), lines))


def _columns(
    path: str | os.PathLike[str], value: int, fields: str, most: float = math.inf
) -> tuple[list[str], list[str], list[bytes], Array]:
    """Queries, documents, what stands in column `value`, and each row's line number."""
    least = fields.count(",") + 1
    # as bytes, since only blanks and tabs part fields: an id may hold a no-break space, or another that str.split takes
    rows = [(number, line.split()) for number, line in enumerate(_content(path).splitlines(), 1)]
    rows = [(number, row) for number, row in rows if row]
    if not rows:
        raise InvalidInputError(f"{path} must hold lines of {fields}, but is empty")
    for number, row in rows:
        if len(row) < least or len(row) > most:
            raise InvalidInputError(
                f"{path}, line {number}: must have {least} fields ({fields}), but has {len(row)}: "
                f"{b' '.join(row).decode()[:80]!r}"
            )
    lines = np.fromiter((number for number, _ in rows), "i8", len(rows))
    queries, documents = ([row[column].decode() for _, row in rows] for column in (0, 2))
    return queries, documents, [row[value] for _, row in rows], lines


def _content(path: str | os.PathLike[str]) -> bytes:
    """The file's text, which is checked to be one, as bytes."""
    try:
        content = Path(path).read_bytes()
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{path!r} must be the path of a file, but is none: {error}") from None
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        content.decode()
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path} must be a whole gzip file, but is not: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path} must be UTF-8 text, but byte {error.start} is not: {error.reason}") from None
    if b"\0" in content:
        raise InvalidInputError(f"{path} must be text, but byte {content.index(0)} is NUL")
    return content.removeprefix(codecs.BOM_UTF8)


def _numbers(
    texts: list[bytes], kind: Callable[[bytes], Any], path: str | os.PathLike[str], lines: Array, what: str
) -> Array:
    numbers = []
    for row, text in enumerate(texts):
        try:
            if b"_" in text:  # 1_000 is a number in Python's source only
                raise ValueError
            numbers.append(kind(text))
        except ValueError:
            raise InvalidInputError(
                f"{path}, line {lines[row]}: {what} must be a number, but is {text.decode()[:80]!r}"
            ) from None
    return np.array(numbers, dtype="i8" if kind is int else "f8")
