"""Qrels and Run: rows of (query, document, value) with ids, held as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings import Array, as_labels, as_scores


class Source(NamedTuple):
    """Where rows come from, so that an error can name the place."""

    name: str
    lines: Array | None = None  # (n_rows,) line numbers

    def place(self, row: int) -> str:
        """The place of a row, as a message names it."""
        return self.name if self.lines is None else f"{self.name}, line {self.lines[row]}"


class Ids(NamedTuple):
    """Ids as codes: `distinct[codes[row]]` is the id of a row; `distinct` rises."""

    distinct: Array
    codes: Array

    @classmethod
    def of(cls, ids: Sequence[Any], what: str) -> Ids:
        """Code texts or whole numbers, which keep their type."""
        try:
            known = dict.fromkeys(ids)
        except TypeError:
            raise InvalidTypeError(f"ids of {what} must be a sequence of texts or of whole numbers") from None
        texts = are_texts(ids, f"ids of {what}")
        rising = sorted(known)
        distinct = np.array(rising, dtype=object) if texts else whole_numbers(rising, f"ids of {what}")
        for code, one in enumerate(rising):
            known[one] = code
        return cls(distinct, np.fromiter(map(known.__getitem__, ids), "i8", len(ids)))


class Table:
    """
    Rows of (query, document, value); no document twice in a query.

    Attributes
    ----------
    queries, documents : Ids
    values : (n_rows,) array
    source : Source
    """

    __slots__ = ("documents", "queries", "source", "values")

    what: ClassVar[str]
    value_name: ClassVar[str]

    def __init__(
        self, query_ids: Sequence[Any], document_ids: Sequence[Any], values: Any, source: Source | None = None
    ) -> None:
        self.source = source or Source(f"the {self.what}")
        self.queries = Ids.of(query_ids, f"queries in {self.source.name}")
        self.documents = Ids.of(document_ids, f"documents in {self.source.name}")
        self.values = self._checked_values(values)
        if not len(self.values) == len(self.queries.codes) == len(self.documents.codes):
            raise InvalidInputError(f"queries, documents and {self.value_name}s of a {self.what} must be as many")
        self._refuse_duplicates()

    @classmethod
    def from_dict(cls, rows: Mapping[Any, Mapping[Any, Any]]) -> Self:
        """
        From {query: {document: value}}.

        A query with an empty dict has no rows, so it counts as missing.
        """
        queries: list[Any] = []
        documents: list[Any] = []
        values: list[Any] = []
        if not isinstance(rows, Mapping):
            raise InvalidTypeError(f"`{cls.what}` must map queries to dicts, but is a {type(rows).__name__}")
        for query, row in rows.items():
            if not isinstance(row, Mapping):
                raise InvalidTypeError(f"`{cls.what}` must map queries to dicts, but {query!r} maps to {row!r}")
            queries.extend([query] * len(row))
            documents.extend(row)
            values.extend(row.values())
        for query, document, value in zip(queries, documents, values, strict=True):
            if not isinstance(value, int | float | np.number | np.bool_):
                raise InvalidTypeError(
                    f"`{cls.what}` must give numbers, but {cls.value_name} of document {document!r} "
                    f"of query {query!r} is {value!r}"
                )
        return cls(queries, documents, values)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self.queries.distinct)} queries, {len(self)} documents"

    def query_order(self) -> Array:
        """The codes of the queries, in order of first appearance."""
        first_rows = np.full(len(self.queries.distinct), len(self), "i8")
        np.minimum.at(first_rows, self.queries.codes, np.arange(len(self)))
        return np.argsort(first_rows, kind="stable")

    def refuse(self, offenders: Array, rule: str, remedy: str) -> None:
        """Raise for the first row that breaks a rule, if one does."""
        if offenders.any():
            row = int(np.argmax(offenders))
            query, document = (ids.distinct[ids.codes[row]] for ids in (self.queries, self.documents))
            raise InvalidInputError(
                f"{self.source.place(row)}: {self.value_name} of document {document!s} of query {query!s} must {rule}, "
                f"but is {self.values[row]!s}; {remedy}"
            )

    def _checked_values(self, values: Any) -> Array:
        raise NotImplementedError

    def _refuse_duplicates(self) -> None:
        pairs = pair_codes(self.queries.codes, self.documents.codes, len(self.documents.distinct))
        order = np.argsort(pairs, kind="stable")
        again = np.flatnonzero(pairs[order][1:] == pairs[order][:-1]) + 1
        if not len(again):
            return
        second = int(order[again].min())
        first = int(np.flatnonzero(pairs == pairs[second])[0])
        query = self.queries.distinct[self.queries.codes[second]]
        document = self.documents.distinct[self.documents.codes[second]]
        places = f"rows {first} and {second}"
        if self.source.lines is not None:
            places = f"lines {self.source.lines[first]} and {self.source.lines[second]}"
        raise InvalidInputError(
            f"{self.source.name}: a document must stand once in a query, but document {document!s} of query {query!s} "
            f"stands in {places}; keep one of them"
        )


class Qrels(Table):
    """
    Judgments: the label of each judged document of each query.

    Examples
    --------
    >>> Qrels.from_dict({"q1": {"d1": 2, "d2": 0}})
    Qrels of 1 queries, 2 documents
    """

    __slots__ = ()
    what = "qrels"
    value_name = "label"

    def _checked_values(self, values: Any) -> Array:
        self.values = as_labels(values, "labels")
        if self.values.dtype.kind == "f":
            self.refuse(~np.isfinite(self.values), "be finite", "leave the document out, or give it the label 0")
        return self.values


class Run(Table):
    """
    What a system ranked: the score of each document that it retrieved for each query.

    Examples
    --------
    >>> Run.from_dict({"q1": {"d1": 0.3, "d2": 1.5}})
    Run of 1 queries, 2 documents
    """

    __slots__ = ()
    what = "run"
    value_name = "score"

    def _checked_values(self, values: Any) -> Array:
        return as_scores(values, "scores")


def pair_codes(queries: Array, documents: Array, n_documents: int) -> Array:
    """One whole number for each pair of codes."""
    if len(queries) and (int(queries.max()) + 1) * n_documents >= 2**63:
        raise InvalidInputError("too many queries and documents to number their pairs: evaluate them in parts")
    return queries * n_documents + documents


def are_texts(ids: Iterable[Any], name: str) -> bool:
    """Whether ids are texts, not whole numbers; an error where they are mixed, or anything else."""
    kinds = dict.fromkeys(map(type, ids))
    texts = bool(kinds) and issubclass(next(iter(kinds)), str)
    for kind in kinds:
        if not (issubclass(kind, str) if texts else issubclass(kind, int | np.integer) and kind is not bool):
            odd = next(one for one in ids if type(one) is kind)
            raise InvalidTypeError(f"{name} must be all texts or all whole numbers, but one is {odd!r}; use one type")
    return texts


def whole_numbers(ids: list[Any], name: str) -> Array:
    """Whole numbers as int64."""
    try:
        return np.array(ids, dtype="i8")
    except OverflowError:
        odd = next(one for one in ids if not -(2**63) <= one < 2**63)
        raise InvalidInputError(f"{name} must fit int64, but one is {odd!r}; use texts") from None


def merge(first: Array, second: Array, what: str) -> tuple[Array, Array, int]:
    """Codes of two rising arrays of ids in their rising union, and its size."""
    if len(first) and len(second) and (first.dtype == object) != (second.dtype == object):
        kinds = ["texts" if ids.dtype == object else "whole numbers" for ids in (first, second)]
        raise InvalidTypeError(
            f"ids of {what} are {kinds[0]} in the qrels, such as {first.tolist()[0]!r}, "
            f"but {kinds[1]} in the run, such as {second.tolist()[0]!r}; use one type"
        )
    union, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    return codes[: len(first)], codes[len(first) :], len(union)
