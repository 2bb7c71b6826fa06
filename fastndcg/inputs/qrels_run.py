"""Judgments and runs: tables of queries, documents, and labels or scores."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from fastndcg.choices import WrittenFormat
from fastndcg.exports.files import FilePath
from fastndcg.inputs.id_table import Table
from fastndcg.inputs.writers import (
    DEFAULT_TAG,
    Settings,
    encode_lines,
    list_trec_qrels,
    write_table,
    write_trec_run,
)
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import EXACT_LIMIT, Array, as_labels, as_scores, check_whole_number, put, read_only


class Qrels(Table):
    """
    Judgments: the label of each judged document of each query. Qrels compare equal by identity only.

    Any number of threads may use one at once.

    Parameters
    ----------
    query_ids, document_ids : sequences of str or int
        The query and the document of each judgment, in any order.
    values : sequence of numbers
        Labels, 0 for not relevant, at most 2**53 in size.
    source : Source, optional
        The place of the rows for error messages, such as a file.

    Raises
    ------
    InvalidInputError
        If lengths differ, a label is not finite, or a document occurs twice in a query.

    Examples
    --------
    >>> Qrels.from_dict({"q1": {"d1": 2, "d2": 0}})
    Qrels of 1 queries, 2 documents
    """

    __slots__ = ()
    what = "qrels"
    side = "truth"
    value_name = "label"
    roles = ("query", "document", "label", "subtopic")
    patterns: Patterns | None = None  # labels number these patterns if judgments are by subtopic

    def to_trec(self) -> str:
        """
        Return the judgments in TREC's format: query, 0, document, label.

        Returns
        -------
        str
            One line a judgment.

        Raises
        ------
        InvalidInputError
            If an id has a blank.

        Examples
        --------
        >>> print(fn.Qrels.from_dict({"q1": {"d1": 2, "d2": 0}}).to_trec(), end="")
        q1 0 d1 2
        q1 0 d2 0
        """
        return b"".join(self._write_trec(Settings())).decode()

    def _write_trec(self, settings: Settings) -> Iterator[bytes]:
        """Yield lines in TREC's format."""
        return encode_lines(list_trec_qrels(self, settings))

    def _convert_values(self, values: Any) -> Array:
        return as_labels(values, "labels")

    @classmethod
    def _make_values(cls, offsets: Array) -> Array:
        """Return the label 1 for each document."""
        return np.ones(int(offsets[-1]), "i1")

    def _check_values(self) -> None:
        """Raise for labels beyond 2**53. Convert labels to int8 if it holds them all, else to float64."""
        labels = self.values
        if labels.dtype.kind == "f":
            self.refuse(~np.isfinite(labels), "be finite", "Leave the document out, or give it the label 0")
        limit = EXACT_LIMIT if labels.dtype.kind == "f" else int(EXACT_LIMIT)
        if labels.dtype.itemsize == 8:
            self.refuse((labels > limit) | (labels < -limit), "be at most 2**53 in size", "Rescale the labels")
        with np.errstate(invalid="ignore"):
            small = labels.astype("i1", copy=False)
        put(self, values=read_only(small if (small == labels).all() else labels.astype("f8", copy=False)))


class Run(Table):
    """
    The score of each document that a system retrieved for each query. Runs compare equal by identity only.

    Any number of threads may use one at once.

    Parameters
    ----------
    query_ids, document_ids : sequences of str or int
        The query and the document of each retrieved document, in any order.
    values : sequence of numbers
        Scores, higher is better.
    source : Source, optional
        The place of the rows for error messages, such as a file.

    Raises
    ------
    InvalidInputError
        If lengths differ, a score is no number, or a document occurs twice in a query.

    Examples
    --------
    >>> Run.from_dict({"q1": {"d1": 0.3, "d2": 1.5}})
    Run of 1 queries, 2 documents
    """

    __slots__ = ()
    what = "run"
    side = "predictions"
    value_name = "score"
    roles = ("query", "document", "score")

    def write(self, path: FilePath, *, format: WrittenFormat | None = None, tag: str = DEFAULT_TAG) -> None:
        """
        Write the run to a file, which `read_run` reads back with equal scores.

        TREC's lines stand by falling score, and equal scores keep their order. Other formats keep the order of rows.
        Whole ids are read back as texts, but from Parquet as numbers.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced when it is complete. A suffix ``.gz``, ``.bz2`` or ``.zst`` compresses it.
        format : {'trec', 'json', 'jsonl', 'csv', 'parquet'}, optional
            The format. By default the suffix decides: ``.json``, ``.jsonl``, ``.csv``, ``.parquet``, and 'trec' for
            every other suffix.
        tag : str
            The name of the system in TREC's last column, without blanks.

        Raises
        ------
        InvalidInputError
            If the format does not exist, or cannot hold an id, such as one with a blank in TREC's format.
        MissingPackageError
            If Parquet needs pyarrow, or ``.zst`` needs backports.zstd, and it is not installed.
        OSError
            If the file cannot be written. An old file stays as it is.
        """
        write_table(self, path, format, Settings(tag))

    def to_trec(self, *, tag: str = DEFAULT_TAG) -> str:
        """
        Return the run in TREC's format: query, Q0, document, rank, score, tag.

        Parameters
        ----------
        tag : str
            The name of the system, without blanks.

        Returns
        -------
        str
            One line a document, by falling score. Equal scores keep their order.

        Raises
        ------
        InvalidInputError
            If an id or the tag has a blank.

        Examples
        --------
        >>> print(fn.Run.from_dict({"q1": {"d1": 0.3, "d2": 1.5}}).to_trec(tag="bm25"), end="")
        q1 Q0 d2 1 1.5 bm25
        q1 Q0 d1 2 0.3 bm25
        """
        return b"".join(self._write_trec(Settings(tag))).decode()

    def _write_trec(self, settings: Settings) -> Iterator[bytes]:
        """Yield lines in TREC's format."""
        return write_trec_run(self, settings)

    def top(self, k: int) -> Run:
        """
        Return the k documents with the highest scores of each query, by falling score.

        Parameters
        ----------
        k : int
            The number of documents, 1 or more.

        Returns
        -------
        Run
            Of equal scores the earlier documents are kept. NaN counts as the lowest score.

        Raises
        ------
        InvalidInputError
            If `k` is less than 1.

        Examples
        --------
        >>> fn.Run.from_dict({"q1": {"d1": 0.3, "d2": 1.5, "d3": 0.3}}).top(2).to_dict()
        {'q1': {'d2': 1.5, 'd1': 0.3}}
        """
        sizes = np.minimum(np.diff(self.offsets), check_whole_number(k, "k", 1))
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1] - offsets[:-1], sizes)
        return self._take(np.arange(len(self.queries)), self.order_by_score()[places], offsets)

    def _convert_values(self, values: Any) -> Array:
        return as_scores(values, "scores")

    @classmethod
    def _make_values(cls, offsets: Array) -> Array:
        """Return negative ranks as scores."""
        scores: Array = np.repeat(offsets[:-1], np.diff(offsets)) - np.arange(1.0, int(offsets[-1]) + 1)
        return scores
