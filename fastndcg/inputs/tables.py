"""Qrels and Run: rows of (query, document, value) with ids, query after query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from fastndcg.casts import frozen
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.columns import Column
from fastndcg.inputs.frames import Frame
from fastndcg.inputs.grouping import SPAN, Groups, group, spans
from fastndcg.inputs.objects import offsets_of, read_items
from fastndcg.inputs.ragged import list_of
from fastndcg.patterns import Patterns
from fastndcg.rankings import EXACT_LIMIT, Array, as_labels, as_scores, read_only
from fastndcg.threads import checked_threads, run_all


class Source(NamedTuple):
    """Where rows come from, so that an error can name the place: a line of a file, a row of a frame, or only a name."""

    name: str
    unit: str = ""
    numbers: Array | None = None  # (n_rows,) of lines; rows are counted from 0
    n_before: int = 0  # lines, or rows, before the first row
    remedy: str = "keep one of them"  # where a document stands twice
    lists: Array | None = None  # (n_lists + 1,) offsets, where rows are lists of documents
    columns: tuple[str, ...] = ()  # of the frame that rows are of

    def place(self, row: int) -> str:
        """The place of a row, as a message names it."""
        return f"{self.name}, {self.unit} {self.number(row)}" if self.unit else self.name

    def number(self, row: int) -> int:
        """The number of a row or of its line."""
        return int(self.numbers[row]) if self.numbers is not None else row + self.n_before + (self.unit == "line")

    def pair(self, *documents: int) -> str:
        """The places of two documents, as a message names them: rows, or places in the list of a row."""
        if self.lists is None:
            first, second = sorted(map(self.number, documents))
            return f"{self.unit or 'row'}s {first} and {second}"
        row = list_of(documents[0], self.lists)
        first, second = sorted(place - int(self.lists[row]) for place in documents)
        return f"places {first} and {second} of row {self.number(row)}"


class Rows(NamedTuple):
    """What tables are made of: ids of queries, each with its rows, and documents and values in the order given."""

    queries: Column
    groups: Groups
    documents: Column
    values: Any


class Table:
    """
    Rows of (query, document, value), query after query; no document twice in a query.

    Attributes
    ----------
    queries : Column
        Ids of the queries, in order of first appearance.
    offsets : (n_queries + 1,) int64 array
        Query q owns rows ``offsets[q]`` up to ``offsets[q + 1]``.
    documents : Column
        Ids of the rows' documents.
    values : (n_rows,) array
    source : Source
    """

    __slots__ = ("_rows", "documents", "offsets", "queries", "source", "values")

    what: ClassVar[str]
    value_name: ClassVar[str]
    roles: ClassVar[tuple[str, ...]]  # what columns of a frame are for
    by_subtopic: ClassVar[bool] = False

    def __init__(self, query_ids: Any, document_ids: Any, values: Any, source: Source | None = None) -> None:
        source = source or Source(f"the {self.what}")
        queries = Column.of(query_ids, f"ids of queries in {source.name}")
        documents = Column.of(document_ids, f"ids of documents in {source.name}")
        if not len(queries) == len(documents) == len(values):
            raise InvalidInputError(f"queries, documents and {self.value_name}s of a {self.what} must be as many")
        groups = group(queries)
        self._fill(Rows(queries.take(groups.firsts), groups, documents, values), source)
        self._refuse_repeats(None)

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in frozen(state[1]).items():
            setattr(self, name, value)

    @classmethod
    def of(cls, rows: Rows, source: Source, threads: int | None = None) -> Self:
        """From rows that a reader brought together by query."""
        table = cls.__new__(cls)
        table._fill(rows, source)
        table._refuse_repeats(threads)
        return table

    @classmethod
    def from_dict(cls, rows: Mapping[Any, Mapping[Any, Any]]) -> Self:
        """
        From {query: {document: value}}.

        A query with an empty dict has no rows, so it counts as missing.
        """
        if not isinstance(rows, Mapping):
            raise InvalidTypeError(f"`{cls.what}` must map queries to dicts, but is a {type(rows).__name__}")
        for query, row in rows.items():
            if type(row) is not dict and not isinstance(row, Mapping):
                raise InvalidTypeError(f"`{cls.what}` must map queries to dicts, but {query!r} maps to {row!r}")
        kept = {query: row for query, row in rows.items() if row}
        offsets, documents, values = cls._items_of(kept)
        table = cls.__new__(cls)
        source = Source(f"the {cls.what}")
        queries = Column.of(kept, f"ids of queries in {source.name}")
        table._fill(Rows(queries, Groups(offsets, None, offsets[:-1]), documents, values), source)
        return table

    @classmethod
    def from_frame(cls, frame: Any, columns: Mapping[str, str] | None = None, *, threads: int | None = None) -> Self:
        """
        From a frame with a row for each document: pandas, Polars, pyarrow, DuckDB, or any with an Arrow stream.

        Parameters
        ----------
        frame
            Has a column of query ids, one of document ids, and one of labels or scores.
        columns : dict, optional
            Names of columns, such as ``{"query": "qid", "label": "grade"}``, where they are not usual ones. Those of
            what only the other table has, labels or scores, are passed over, so that one dict serves both.
        threads : int, optional
            See `evaluate`.
        """
        made = Frame(frame, columns, cls.what)
        made.names_of(*cls.roles)  # so that each that is named is seen to be there, whether it is needed or not
        if "subtopic" in cls.roles and not cls.by_subtopic and made.has("subtopic"):
            raise InvalidInputError(
                f"`{cls.what}` must have no subtopics, which column {made.column_name('subtopic')!r} is taken for: "
                "take DiversityQrels.from_frame, or drop the column"
            )
        return cls.of_frame(made, threads)

    @classmethod
    def of_frame(cls, frame: Frame, threads: int | None = None, source: Source | None = None) -> Self:
        """From the columns of a frame, or of a file."""
        found: dict[str, Column] = {}
        n_threads = min(2, checked_threads(threads)) if len(frame) > SPAN else 1
        run_all(("query", "document"), lambda: lambda role: found.update({role: frame.ids(role)}), n_threads)
        queries, documents = found["query"], found["document"]
        groups = group(queries, threads)
        rows = Rows(queries.take(groups.firsts), groups, documents, frame.numbers(cls.value_name))
        return cls.of(rows, source or Source(f"the {cls.what}", "row", columns=frame.column_names), threads)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return f"{type(self).__name__} of {len(self.queries)} queries, {len(self)} documents"

    def refuse(self, offenders: Array, rule: str, remedy: str) -> None:
        """Raise for the first row that breaks a rule, if one does."""
        if offenders.any():
            rows = np.flatnonzero(offenders)
            row = int(rows[0] if self._rows is None else rows[np.argmin(self._rows[rows])])
            raise InvalidInputError(
                f"{self.source.place(self._given(row))}: {self.value_name} of {self.describe(row)} must {rule}, "
                f"but is {self.values[row]!s}; {remedy}"
            )

    def describe(self, row: int) -> str:
        """What messages call a row."""
        query = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"document {self.documents.name(row)!s} of query {self.queries.name(query)!s}"

    def _fill(self, rows: Rows, source: Source) -> None:
        self.source = source
        self.queries = rows.queries
        self.offsets = read_only(rows.groups.offsets)
        order = self._rows = rows.groups.rows
        self.documents = rows.documents if order is None else rows.documents.take(order)
        values = self._typed(rows.values)
        self.values = values if order is None else read_only(values[order])
        self._check_values()

    def _given(self, row: int) -> int:
        """Which row, as given, a row is."""
        return row if self._rows is None else int(self._rows[row])

    def _typed(self, values: Any) -> Array:
        raise NotImplementedError

    def _check_values(self) -> None:
        """Refuse values that cannot be."""

    def _refuse_repeats(self, threads: int | None) -> None:
        """Refuse a document that stands twice in a query."""
        from fastndcg.kernels import ids as kernels

        found: dict[int, Array] = {}

        def look(span: tuple[int, int]) -> None:
            rows = np.empty(2, "i8")
            kernels.find_repeat(self.documents.ids, self.offsets, *span, rows)
            if rows[0] >= 0:
                found[span[0]] = rows

        shares = spans(self.offsets)
        run_all(shares, lambda: look, min(len(shares), checked_threads(threads)) if len(shares) > 1 else 1)
        if found:
            rows = found[min(found)].tolist()
            raise InvalidInputError(
                f"{self.source.name}: a document must stand once in a query, but {self.describe(rows[1])} "
                f"stands in {self.source.pair(*map(self._given, rows))}; {self.source.remedy}"
            )

    @classmethod
    def _items_of(cls, rows: Mapping[Any, Mapping[Any, Any]]) -> tuple[Array, Column, Any]:
        """Where each query's items begin and end, their documents and their values."""
        offsets = offsets_of(rows.values())
        found = read_items(rows.values(), offsets)
        if found is not None:
            return offsets, found[1], found[0].values()
        values = list(chain.from_iterable(row.values() for row in rows.values()))
        numbers = int | float | np.integer | np.floating | np.bool_
        odd = next((kind for kind in dict.fromkeys(map(type, values)) if not issubclass(kind, numbers)), None)
        if odd is not None:
            cls._refuse_value(rows, lambda value: type(value) is odd, "; use int or float")
        if _is_beyond(values):
            beyond = f" that fit int64 or float64; use float(), or rescale the {cls.value_name}s"
            cls._refuse_value(rows, lambda value: isinstance(value, int) and not -(2**63) <= value < 2**63, beyond)
        documents = Column.of(chain.from_iterable(rows.values()), f"ids of documents in the {cls.what}")
        return offsets, documents, values

    @classmethod
    def _refuse_value(cls, rows: Mapping[Any, Mapping[Any, Any]], is_wrong: Callable[[Any], bool], rule: str) -> None:
        which, _, remedy = rule.partition("; ")
        for query, row in rows.items():
            for document, value in row.items():
                if is_wrong(value):
                    raise InvalidTypeError(
                        f"`{cls.what}` must give numbers{which}, but {cls.value_name} of document {document!r} "
                        f"of query {query!r} is {value!r:.80}" + (f"; {remedy}" if remedy else "")
                    )


def _is_beyond(values: list[Any]) -> bool:
    """Whether NumPy has no type for numbers: some are too large."""
    try:
        return np.asarray(values).dtype == object
    except OverflowError:
        return True


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
    roles = ("query", "document", "label", "subtopic")
    patterns: Patterns | None = None  # what the labels stand for, where judgments are by subtopic

    def _typed(self, values: Any) -> Array:
        return as_labels(values, "labels")

    def _check_values(self) -> None:
        """Refuse labels beyond what all metrics take; int8 if that holds them all, else float64, for the join."""
        labels = self.values
        if labels.dtype.kind == "f":
            self.refuse(~np.isfinite(labels), "be finite", "leave the document out, or give it the label 0")
        limit = EXACT_LIMIT if labels.dtype.kind == "f" else int(EXACT_LIMIT)
        if labels.dtype.itemsize == 8:
            self.refuse((labels > limit) | (labels < -limit), "be at most 2**53 in size", "rescale the labels")
        with np.errstate(invalid="ignore"):
            small = labels.astype("i1", copy=False)
        self.values = read_only(small if (small == labels).all() else labels.astype("f8", copy=False))


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
    roles = ("query", "document", "score")

    def _typed(self, values: Any) -> Array:
        return as_scores(values, "scores")
