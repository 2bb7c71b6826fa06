"""TREC text files: qrels of four fields, runs of six."""

from __future__ import annotations

from fastndcg.inputs.blocks import FilePath
from fastndcg.inputs.lines import NO_LIMIT, Layout, read_rows
from fastndcg.inputs.tables import Qrels, Run

QRELS = Layout("query, iteration, document, label", (0, 2, 3), 4, 4, "label")
RUN = Layout("query, 'Q0', document, rank, score, name", (0, 2, 4), 6, NO_LIMIT, "score")  # a name may hold blanks


def read_qrels(path: FilePath, *, threads: int | None = None) -> Qrels:
    """
    Read judgments in TREC's format: query, iteration, document, label; separated by blanks or tabs.

    Parameters
    ----------
    path : path
        A text file, plain or packed by gzip, bzip2 or zstd; "-" for standard input.
    threads : int, optional
        See `evaluate`.

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
    rows, source = read_rows(path, QRELS, threads)
    return Qrels.of(rows, source, threads)


def read_run(path: FilePath, *, threads: int | None = None) -> Run:
    """
    Read a run in TREC's format: query, 'Q0', document, rank, score, name; separated by blanks or tabs.

    The score alone ranks the documents; the rank column is not looked at, as in trec_eval.

    Parameters
    ----------
    path : path
        A text file, plain or packed by gzip, bzip2 or zstd; "-" for standard input.
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
    rows, source = read_rows(path, RUN, threads)
    return Run.of(rows, source, threads)
