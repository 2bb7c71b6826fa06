"""TREC text files: qrels of four fields, runs of six, plain or gzipped."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.tables import Qrels, Run, Source
from fastndcg.rankings import Array

QRELS_FIELDS = "query, iteration, document, label"
RUN_FIELDS = "query, 'Q0', document, rank, score, name"


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
    queries, documents, texts, lines = _columns(path, 3, QRELS_FIELDS)
    whole = all(text.isdecimal() or text[:1] in "+-" and text[1:].isdecimal() for text in texts)
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
    queries, documents, texts, lines = _columns(path, 4, RUN_FIELDS)
    return Run(queries, documents, _numbers(texts, float, path, lines, "score"), Source(str(path), lines))


def _columns(
    path: str | os.PathLike[str], value: int, fields: str
) -> tuple[list[str], list[str], list[str], Array]:
    """Queries, documents, the texts in column `value`, and each row's line number."""
    least = fields.count(",") + 1
    rows = [(number, line.split()) for number, line in enumerate(_text(path).split("\n"), 1)]
    rows = [(number, row) for number, row in rows if row]
    if not rows:
        raise InvalidInputError(f"{path} must hold lines of {fields}, but is empty")
    for number, row in rows:
        if len(row) < least:
            raise InvalidInputError(
                f"{path}, line {number}: must have {least} fields ({fields}), but has {len(row)}: {' '.join(row)[:80]!r}"
            )
    lines = np.fromiter((number for number, _ in rows), "i8", len(rows))
    return [row[0] for _, row in rows], [row[2] for _, row in rows], [row[value] for _, row in rows], lines


def _text(path: str | os.PathLike[str]) -> str:
    content = Path(path).read_bytes()
    try:
        if content[:2] == b"\x1f\x8b":
            content = gzip.decompress(content)
        text = content.decode()
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(f"{path} must be a whole gzip file, but is not: {error}") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(
            f"{path} must be UTF-8 text, but byte {error.start} is not: {error.reason}"
        ) from None
    if "\0" in text:
        raise InvalidInputError(f"{path} must be text, but character {text.index(chr(0))} is NUL")
    return text


def _numbers(
    texts: list[str], kind: Callable[[str], Any], path: str | os.PathLike[str], lines: Array, what: str
) -> Array:
    numbers = []
    for row, text in enumerate(texts):
        try:
            if "_" in text:  # 1_000 is a number in Python's source only
                raise ValueError
            numbers.append(kind(text))
        except ValueError:
            raise InvalidInputError(
                f"{path}, line {lines[row]}: {what} must be a number, but is {text!r}"
            ) from None
    return np.array(numbers, dtype="i8" if kind is int else "f8")
