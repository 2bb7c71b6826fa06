"""Tables of queries, documents and values with ids: what `Qrels` and `Run` share."""

from __future__ import annotations

import functools
import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from itertools import chain, pairwise
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np

from fastndcg.choices import DuplicateChoice, DuplicateRanks, Format, WrittenFormat
from fastndcg.errors import Column, FastndcgError, InvalidInputError, InvalidTypeError, Row, Words, shorten
from fastndcg.exports import Exportable, FilePath, PrintedTable
from fastndcg.inputs.arrays import convert_ranks
from fastndcg.inputs.dicts import (
    READ_AS_IDS,
    count_offsets,
    holds_id_lists,
    is_id_list,
    label_id_lists,
    plain_rows,
    read_id_lists,
    read_items,
    snapshot,
)
from fastndcg.inputs.frames import ColumnNames, Frame
from fastndcg.inputs.ids import (
    SPAN,
    Groups,
    IdColumn,
    find_id,
    gather,
    group,
    join_segments,
    make_comparable,
    run_on_spans,
)
from fastndcg.inputs.messages import Options, Source, answer_keywords, refuse_chroma, refuse_row
from fastndcg.inputs.writers import (
    DEFAULT_TAG,
    format_label,
    list_csv,
    list_json,
    write_table,
    write_trec_qrels,
    write_trec_run,
)
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import (
    EXACT_LIMIT,
    Array,
    ReadOnly,
    as_labels,
    as_offsets,
    as_scores,
    check_whole_number,
    put,
    read_only,
)
from fastndcg.runtime import upper_floors
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads, run_all

WITH_DUPLICATES = Words("take fn.Run(…, duplicates='first')", "evaluate with --duplicates first")


class TableRows(NamedTuple):
    """The content of a table: query ids with their rows, and documents and values in their input order."""

    queries: IdColumn
    groups: Groups
    documents: IdColumn
    values: Any

    @classmethod
    def in_order(cls, queries: IdColumn, offsets: Array, documents: IdColumn, values: Any) -> TableRows:
        """Return rows that are adjacent: query q owns those from ``offsets[q]`` up to ``offsets[q + 1]``."""
        return cls(queries, Groups(offsets, None, offsets[:-1]), documents, values)


AnyTable = TypeVar("AnyTable", bound="Table")
_PLACES: weakref.WeakKeyDictionary[Table, dict[Any, int]] = weakref.WeakKeyDictionary()


def _make_empty(kind: type[Any]) -> Any:
    """Return an object to restore a pickle in: `__new__` of the class reads data."""
    return object.__new__(kind)


class _Absent:
    """A constructor that other packages have, and the class takes over."""

    def __get__(self, _: object, kind: type[Table]) -> Any:
        raise AttributeError(f"{kind.__name__} has no such constructor: fn.{kind.__name__}(data) reads every form")


class Table(ReadOnly, Exportable):
    """
    Rows of (query, document, value), query after query. No document occurs twice in a query.

    ``len(table)`` counts rows, as that of a frame does. Iteration yields the ids of queries, and ``table[query]`` is
    {document: value}, of a run by falling score.

    Attributes
    ----------
    queries : IdColumn
        Ids of the queries, in order of first appearance.
    offsets : (n_queries + 1,) int64 array
        Query q owns rows ``offsets[q]`` up to ``offsets[q + 1]``.
    documents : IdColumn
        Ids of the rows' documents.
    values : (n_rows,) array
    source : Source
    """

    __slots__ = ("__weakref__", "_input_rows", "documents", "offsets", "queries", "source", "values")

    queries: IdColumn
    offsets: Array
    documents: IdColumn
    values: Array
    source: Source
    _input_rows: Array | None
    what: ClassVar[str]
    value_name: ClassVar[str]
    convert: ClassVar[Callable[..., Array]]  # from values, and their name, to an array that kernels read
    side: ClassVar[str]  # the argument of `evaluate`
    roles: ClassVar[tuple[str, ...]]  # of the columns of a frame
    column_names: ClassVar[tuple[str, ...]]  # of the arguments beside the ids of queries
    by_subtopic: ClassVar[bool] = False
    may_repeat: ClassVar[bool] = False  # a document may occur several times in a query
    repeats_remedy: ClassVar[tuple[Any, ...]] = ("Keep one of them",)
    from_df = from_dict = from_file = from_frame = _Absent()

    @classmethod
    def _read(cls, data: Any, others: tuple[Any, ...], **options: Any) -> Self:
        """Read data in one of its forms, or columns: the ids of queries and what stands beside them."""
        return upper_floors.find("read_table")(cls, data, others, **options)  # type: ignore[no-any-return]

    @classmethod
    def of_columns(cls, query_ids: Any, document_ids: Any, values: Any) -> Self:
        """Build a table from columns."""
        source = Source(f"the {cls.what}")
        queries = IdColumn.of(query_ids, f"ids of queries in {source.name}")
        documents = IdColumn.of(document_ids, f"ids of documents in {source.name}")
        if not len(queries) == len(documents) == len(values):
            raise InvalidInputError(
                f"queries, documents and {cls.value_name}s of {cls.what} must have the same length, got "
                f"{len(queries)}, {len(documents)} and {len(values)}"
            )
        groups = group(queries)
        return cls.from_rows(TableRows(queries.take(groups.firsts), groups, documents, values), source)

    def __reduce__(self) -> tuple[Any, ...]:
        return _make_empty, (type(self),), object.__getstate__(self)

    def _check_restored(self) -> None:
        as_offsets(self.offsets, "offsets", len(self.documents))
        if len(self.offsets) != len(self.queries) + 1 or len(self.values) != len(self.documents):
            raise InvalidInputError(f"a pickle of a {self.what} must have a value for each document. Make it anew")

    @classmethod
    def from_rows(cls, rows: TableRows, source: Source, threads: int | None = None) -> Self:
        """Build a table from rows that were grouped by query."""
        table = cls.from_distinct_rows(rows, source, threads)
        if not cls.may_repeat:
            table.refuse_repeats(threads)
        return table

    @classmethod
    def from_distinct_rows(cls, rows: TableRows, source: Source, threads: int | None = 1) -> Self:
        """Build a table from rows that were grouped by query, and have each document of a query once."""
        table = object.__new__(cls)
        table._fill(rows, source, threads)
        return table

    @classmethod
    def of_dict(cls, rows: Mapping[Any, Any]) -> Self:
        """
        Build a table from {query: {document: value}}, or from {query: ids}.

        Ids without values are relevant documents with label 1, or ranked documents, the best first. A query with an
        empty dict or list has no rows, but counts: nothing was judged, or retrieved. Judgments may have both forms,
        such as labels of a judge for some queries and relevant ids for others.
        """
        if not isinstance(rows, Mapping):
            raise InvalidTypeError(f"`{cls.what}` must map queries to dicts, but is a {type(rows).__name__}")
        copied_rows = snapshot(rows, cls.what)
        if set(map(type, copied_rows.values())) - {dict}:
            refuse_chroma(cls.what, copied_rows)
            if cls.side == "truth":
                copied_rows = label_id_lists(copied_rows)
            if holds_id_lists(copied_rows, cls.what):
                return cls.of_id_lists(copied_rows)
            for query, row in copied_rows.items():
                if not isinstance(row, Mapping):
                    refuse_row(cls.what, copied_rows, query)
            copied_rows = plain_rows(copied_rows, cls.what)
        offsets = count_offsets(copied_rows.values())
        items = read_items(copied_rows.values(), offsets)
        if items is None:  # a row has other types, or another thread has changed it: read copies
            copied_rows = {query: dict(row) for query, row in copied_rows.items()}
            offsets = count_offsets(copied_rows.values())
            items = cls._read_plain_items(copied_rows)
        values, documents = items
        queries = IdColumn.of(copied_rows, f"ids of queries in the {cls.what}")
        return cls.from_distinct_rows(
            TableRows.in_order(queries, offsets, documents, values), Source(f"the {cls.what}")
        )

    @classmethod
    def of_id_lists(cls, rows: Mapping[Any, Any]) -> Self:
        """Build a table from {query: ids}."""
        queries, offsets, documents = read_id_lists(rows, cls.what, are_ranked=cls.value_name == "score")
        source = Source(f"the {cls.what}", lists=offsets)
        if len(documents) and not documents.are_texts:
            are_read_as_ids = cls.side == "truth" and not isinstance(next(iter(rows.values())), Set)
            remedy = (*cls.repeats_remedy, ". For labels and scores give lists of both without queries")
            source = source._replace(remedy=remedy, notes=(READ_AS_IDS,) * are_read_as_ids)
        return cls.from_rows(TableRows.in_order(queries, offsets, documents, cls._make_values(offsets)), source)

    @classmethod
    def of_columns_in(cls, frame: Any, columns: Any, threads: int | None = None) -> Self:
        """Build a table from a frame of any library. `columns` names those that have no usual name."""
        prepared = Frame(frame, ColumnNames.of(columns, cls.side), cls.what)
        prepared.list_names(*cls.roles)  # raises for each column that is named and absent
        return cls.of_frame(prepared, threads)

    @classmethod
    def of_frame(cls, frame: Frame, threads: int | None = None, source: Source | None = None) -> Self:
        """Build a table from the columns of a frame, or of a file."""
        frame.check_named()
        source = source or Source(f"the {cls.what}", "row", columns=frame.column_names)
        if cls.value_name == "score":
            source = source._replace(notes=source.notes + frame.notes)
        if frame.has_id_lists:
            return cls._of_id_lists_in(frame, source, threads)
        ids: dict[str, IdColumn] = {}
        n_threads = min(2, check_threads(threads)) if len(frame) > SPAN else 1
        run_all(("query", "document"), lambda: lambda role: ids.update({role: frame.read_ids(role)}), n_threads)
        queries = ids["query"]
        documents = ids["document"]
        groups = group(queries, threads)
        if cls.value_name == "score" and frame.is_ranked:
            describe = functools.partial(describe_row, queries, documents, source)
            values = convert_ranks(frame.read_numbers("rank"), groups, describe, source.name)
        else:
            values = frame.read_numbers(cls.value_name)
        return cls.from_rows(TableRows(queries.take(groups.firsts), groups, documents, values), source, threads)

    @classmethod
    def _of_id_lists_in(cls, frame: Frame, source: Source, threads: int | None) -> Self:
        """Build a table from a frame with a row for each query: a list of ids, and, if there is one, of values."""
        if cls.side == "truth" and frame.has_groups:
            return upper_floors.find("read_groups")(frame, source)  # type: ignore[no-any-return]
        documents, offsets = frame.read_id_lists("document")
        queries = frame.read_ids("query") if frame.has("query") else frame.number_rows()
        refuse_repeated(queries, source)
        role = "rank" if cls.value_name == "score" and frame.is_ranked else cls.value_name
        values = cls._make_values(offsets)
        source = source._replace(lists=offsets)
        if frame.has(role):
            lists = frame.read_lists(role)
            refuse_sizes(role, lists.offsets, "document", offsets, source)
            values = lists.values
            if role == "rank":
                groups = Groups(offsets, None, offsets[:-1])
                describe = functools.partial(describe_row, queries.take(groups.number_rows()), documents, source)
                values = convert_ranks(values, groups, describe, source.name)
        rows = TableRows.in_order(queries, offsets, documents, values)
        return cls.from_rows(rows, source._replace(numbers=None), threads)

    def write(self, path: FilePath, *, format: WrittenFormat | None = None) -> None:
        """
        Write the rows to a file, which the same class reads back with equal values.

        Whole ids are read back as texts, but from Parquet as numbers. Queries without documents stand in JSON alone.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced when it is complete. A suffix ``.gz``, ``.bz2`` or ``.zst`` compresses it.
        format : {'trec', 'json', 'jsonl', 'csv', 'parquet'}, optional
            The format. By default the suffix decides: ``.json``, ``.jsonl``, ``.csv``, ``.parquet``, and 'trec' for
            every other suffix.

        Raises
        ------
        InvalidInputError
            If the format does not exist, or cannot hold an id, such as one with a blank in TREC's format.
        MissingPackageError
            If Parquet needs pyarrow, or ``.zst`` needs backports.zstd, and it is not installed.
        OSError
            If the file cannot be written. An old file stays as it is.
        """
        write_table(self, path, format)

    def filter(self, query_ids: Iterable[str | int]) -> Self:
        """
        Return the rows of some queries, in their order here.

        Parameters
        ----------
        query_ids : iterable of str or int
            The queries to keep. Those without rows here are skipped.

        Returns
        -------
        Qrels or Run
            With the kept queries only.

        Raises
        ------
        InvalidTypeError
            If ids are texts on one side and whole numbers on the other.

        Examples
        --------
        >>> fn.Run({"q1": {"d1": 0.3}, "q2": {"d1": 0.5}}).filter(["q2"]).to_dict()
        {'q2': {'d1': 0.5}}
        """
        column = IdColumn.of(query_ids, "`query_ids`")
        make_comparable(self.queries, column, "queries", (self.what, "`query_ids`"))
        names = set(column.names().tolist())
        queries = np.flatnonzero([name in names for name in self.queries.names().tolist()])
        return self._take_queries(queries)

    def _take_queries(self, queries: Array) -> Self:
        """Return the rows of the queries at these places."""
        offsets, rows = join_segments(self.offsets[queries], self.offsets[queries + 1] - self.offsets[queries])
        return self._take(queries, rows, offsets)

    def to_dict(self) -> dict[Any, dict[Any, Any]]:
        """
        Return {query: {document: value}}.

        Returns
        -------
        dict
            Of Python's ids and numbers, in the order of the rows.

        Examples
        --------
        >>> fn.Run({"q1": {"d1": 0.3, "d2": 1.5}}).to_dict()
        {'q1': {'d1': 0.3, 'd2': 1.5}}
        """
        return dict(self.iterate_dicts())

    def iterate_dicts(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """Yield each query with {document: value}."""
        documents = self.documents.names().tolist()
        values = self.values.tolist()
        for query, (first, stop) in zip(self.queries.names().tolist(), pairwise(self.offsets.tolist()), strict=True):
            yield query, dict(zip(documents[first:stop], values[first:stop], strict=True))

    def order_by_score(self) -> Array:
        """Return the rows of each query by falling value. Equal values keep their order, NaN is last."""
        values = self.values.astype("f8", copy=False)
        is_in_order = np.ones(len(values) + 1, bool)
        is_in_order[1:-1] = values[1:] <= values[:-1]
        is_in_order[self.offsets] = True  # the first of a query follows another query's last
        if is_in_order.all():
            return np.arange(len(values))
        queries = np.repeat(np.arange(len(self.queries)), np.diff(self.offsets))
        return np.lexsort((-values, queries))

    def _export_columns(self) -> dict[str, Array]:
        queries = np.repeat(self.queries.names(), np.diff(self.offsets))
        return {"query": queries, "document": self.documents.names(), self.value_name: self.values}

    def _print_table(self) -> PrintedTable:
        columns = self._export_columns()
        return PrintedTable.of_columns(columns, columns.keys() - {self.value_name})

    def _json_pieces(self) -> Iterator[str]:
        return list_json(self)

    def _csv_pieces(self) -> Iterator[str]:
        return list_csv(self)

    def _take(self, queries: Array, rows: Array, offsets: Array) -> Self:
        """Return a table of some queries, and some rows of each."""
        taken = TableRows.in_order(self.queries.take(queries), offsets, self.documents.take(rows), self.values[rows])
        return self.from_distinct_rows(taken, Source(f"the {self.what}"))

    def number_pairs(self, threads: int | None = None) -> tuple[Array, Array]:
        """Number the documents of all queries, and return that of each row, and the first row of each number."""
        found: dict[int, Array] = {}

        def find(first: int, stop: int) -> None:
            found[first] = self.documents.find_firsts(self.offsets, first, stop)

        run_on_spans(self.offsets, find, threads)
        rows = np.concatenate([found[first] for first in sorted(found)])
        is_first = rows == np.arange(len(rows))
        numbers = np.cumsum(is_first) - 1
        return numbers[rows], np.flatnonzero(is_first)

    def keep(self, rows: Array, values: Array | None = None) -> Self:
        """Return a table of some rows in their order, and of all queries, with new values if they are given."""
        groups = Groups(np.searchsorted(rows, self.offsets), None, self.offsets[:-1])
        kept = read_only((self.values if values is None else values)[rows])
        source = self.source.select(self.input_row(rows))
        return self.from_distinct_rows(TableRows(self.queries, groups, self.documents.take(rows), kept), source)

    def copy_as(self, kind: type[AnyTable]) -> AnyTable:
        """Return a table of another class with the same rows."""
        rows = TableRows.in_order(self.queries, self.offsets, self.documents, self.values)
        return kind.from_distinct_rows(rows, self.source.select(self.input_row(np.arange(len(self)))))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._number_queries())

    def __contains__(self, query: Any) -> bool:
        return query in self._number_queries()

    def __getitem__(self, query: Any) -> dict[Any, Any]:
        places = self._number_queries()
        place = places[query] if query in places else find_id(list(places), query, "query", f"the {self.what}")
        return self._take_queries(np.array([place]))._list_ranked()

    def _number_queries(self) -> dict[Any, int]:
        """Return the place of each query, from the first such call on."""
        places = _PLACES.get(self)
        if places is None:
            places = _PLACES[self] = {query: place for place, query in enumerate(self.queries.names().tolist())}
        return places

    def _list_ranked(self) -> dict[Any, Any]:
        """Return {document: value} of the only query, ranked documents in rank order."""
        return next(self.iterate_dicts())[1]

    def _describe(self) -> str:
        """Return what the table holds, and the file that it comes from."""
        name = self.source.name
        origin = "" if name.startswith(("the ", "`")) else f", from {show_name(name)}"
        kind, rows = type(self).__name__.removeprefix("Repeated"), "rows" if self.may_repeat else "documents"
        return f"{kind} of {len(self.queries)} queries, {len(self)} {rows}{self._describe_values()}{origin}"

    def _describe_values(self) -> str:
        """Return what values the rows have: the labels of judgments."""
        return ""

    def __repr__(self) -> str:
        return "\n".join([self._describe(), *self.source.notes])

    def refuse(self, offenders: Array, rule: str, *remedy: Any) -> None:
        """Raise for the first row that breaks a rule, if one does. The remedy is parts of a message."""
        if offenders.any():
            rows = np.flatnonzero(offenders)
            row = int(rows[0] if self._input_rows is None else rows[np.argmin(self._input_rows[rows])])
            raise InvalidInputError(
                self.source.place(self.input_row(row)),
                f": {self.value_name} of {self.describe(row)} must {rule}, but is {self.values[row]!s}. ",
                *remedy,
            )

    def describe(self, row: int) -> str:
        """Return the name of a row for error messages."""
        query = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"document {show_name(self.documents.name(row))} of query {show_name(self.queries.name(query))}"

    def _fill(self, rows: TableRows, source: Source, threads: int | None = 1) -> None:
        offsets = rows.groups.offsets
        n_rows = len(rows.documents)
        if not (offsets[-1] == n_rows == len(rows.values) and len(offsets) - 1 == len(rows.queries)):
            raise InvalidInputError(
                f"{source.name} must have a document for each {self.value_name}, but has {n_rows} documents and "
                f"{len(rows.values)} {self.value_name}s. Give columns of one length"
            )
        order = rows.groups.rows
        documents = rows.documents
        values = self.convert(rows.values, f"{self.value_name}s")
        if order is not None:
            documents, values = documents.take(order, threads), read_only(gather(values, order, threads))
        put(
            self, source=source, queries=rows.queries, offsets=read_only(offsets), documents=documents, values=values,
            _input_rows=order,
        )  # fmt: skip
        self._check_values()

    def placed_in(self, source: Source) -> Self:
        """Set the source of the rows that error messages name."""
        put(self, source=source)
        return self

    def input_row(self, row: Any) -> Any:
        """Return the index of a row, or of several, in the input order."""
        return row if self._input_rows is None else self._input_rows[row]

    @classmethod
    def _make_values(cls, offsets: Array) -> Array:
        """Return the values of documents without any."""
        raise NotImplementedError

    def _check_values(self) -> None:
        """Raise for invalid values."""

    def has_repeats(self, threads: int | None = None) -> bool:
        """Return True if a document occurs twice in a query."""
        return bool(self._find_repeat(threads))

    def _find_repeat(self, threads: int | None) -> list[int]:
        """Return the rows of the first document that occurs twice in a query, or []."""
        duplicates: dict[int, list[int]] = {}

        def find(first: int, stop: int) -> None:
            firsts = self.documents.find_firsts(self.offsets, first, stop)
            begin = int(self.offsets[first])
            place = int(np.argmax(firsts != np.arange(begin, begin + len(firsts)))) if len(firsts) else 0
            if place:  # the first row of a span is no repeat
                duplicates[first] = [int(firsts[place]), begin + place]

        run_on_spans(self.offsets, find, threads)
        return duplicates[min(duplicates)] if duplicates else []

    def refuse_repeats(self, threads: int | None) -> None:
        """Raise if a document occurs twice in a query."""
        rows = self._find_repeat(threads)
        if rows:
            raise InvalidInputError(
                f"{self.source.name}: a document must stand once in a query, but {self.describe(rows[1])} is in ",
                *self.source.pair(*map(self.input_row, rows)),
                ". ",
                *(self.source.remedy or self.repeats_remedy),
            )

    @classmethod
    def _read_plain_items(cls, rows: dict[Any, dict[Any, Any]]) -> tuple[Any, IdColumn]:
        """Read the values and documents of copied dicts, without kernels."""
        values = list(map(_unpack, chain.from_iterable(row.values() for row in rows.values())))
        numbers = int | float | np.integer | np.floating | np.bool_
        odd = next((kind for kind in dict.fromkeys(map(type, values)) if not issubclass(kind, numbers)), None)
        if odd is not None:
            cls._refuse_value(rows, lambda value: type(value) is odd, "; Use int or float")
        try:
            is_beyond = np.asarray(values).dtype == object
        except OverflowError:
            is_beyond = True
        if is_beyond:
            beyond = f" that fit int64 or float64; Use float(), or rescale the {cls.value_name}s"
            cls._refuse_value(rows, lambda value: isinstance(value, int) and not -(2**63) <= value < 2**63, beyond)
        documents = IdColumn.of(chain.from_iterable(rows.values()), f"ids of documents in the {cls.what}")
        return values, documents

    @classmethod
    def _refuse_value(cls, rows: Mapping[Any, Mapping[Any, Any]], is_wrong: Callable[[Any], bool], rule: str) -> None:
        which, _, remedy = rule.partition("; ")
        for query, row in rows.items():
            for document, value in row.items():
                if is_wrong(value) and (
                    isinstance(value, Mapping) or (is_id_list(value) and not hasattr(value, "shape"))
                ):
                    refuse_row(cls.what, rows, query)
                if is_wrong(value):
                    raise InvalidTypeError(
                        f"`{cls.what}` must give numbers{which}, but {cls.value_name} of document {shorten(document)} "
                        f"of query {shorten(query)} is {shorten(value)}" + (f". {remedy}" if remedy else "")
                    )


def refuse_repeated(queries: IdColumn, source: Source) -> None:
    """Raise for a query with two rows of lists: results by query would have only one of its values."""
    groups = group(queries, threads=1)
    again = np.diff(groups.offsets) > 1
    if again.any():
        rows = np.arange(len(queries)) if groups.rows is None else groups.rows
        places = groups.offsets[:-1][again]
        place = int(places[np.argmin(rows[places + 1])])
        first, second = rows[place : place + 2].tolist()
        raise InvalidInputError(
            f"{source.name} must have one row per query where rows have lists, but query "
            f"{show_name(queries.name(first))} has ",
            Row(source.number(first), source.number(second)),
            ". Join their lists, or name a column that tells them apart: ",
            Column("query"),
        )


def refuse_sizes(
    role: str, offsets: Array, other: str, other_offsets: Array, source: Source, remedy: tuple[Any, ...] = ()
) -> None:
    """Raise if a list of one role does not have the length of that of the other. The remedy is parts of a message."""
    sizes, expected = np.diff(offsets), np.diff(other_offsets)
    if (sizes != expected).any():
        row = int(np.argmax(sizes != expected))
        raise InvalidInputError(
            f"{source.name} must have the same number of {role}s as {other}s in each row, but ",
            Row(source.number(row)),
            f" has {sizes[row]} and {expected[row]}. Give each {other} its {role}",
            *remedy,
        )


def describe_row(queries: IdColumn, documents: IdColumn | None, source: Source, row: int) -> str:
    """Return the document, the query and the place of a row, for error messages."""
    document = "a document" if documents is None else f"document {show_name(documents.name(row))}"
    return f"{document} of query {show_name(queries.name(row))} ({source.unit or 'row'} {source.number(row)})"


def _unpack(value: Any) -> Any:
    """Return the number in an array of one element, and other values as they are."""
    shape = getattr(value, "shape", None)
    return value.item() if shape is not None and hasattr(value, "item") and math.prod(shape) == 1 else value


class Qrels(Table):
    r"""
    Judgments: the label of each judged document of each query. Qrels compare equal by identity only.

    Parameters
    ----------
    data : path, dict, frame, records or sequence of ids
        Judgments with ids, in one of these forms:

        - a file, plain or packed by gzip, bzip2 or zstd, or "-" for standard input. Addresses such as
          ``s3://bucket/file`` are opened by fsspec, the extra `remote`;
        - ``{query: {document: label}}``, or relevant ids, each with the label 1: ``{query: ids}``;
        - a frame, or records, with queries, documents and labels, in any order;
        - the query of each judgment, with `documents` and `labels`.
    documents, labels : sequences, optional
        The document and the label of each judgment. A label of 0 means not relevant; none is above 2**53 in size.
    columns : dict, optional
        Names of columns that differ from the usual ones, such as ``{"query": "qid", "label": "grade"}``. A name for
        scores is ignored, so that one dict serves the run, too.
    format : str, optional
        Of a file: 'trec' (query, iteration, document, label, separated by blanks or tabs), 'trec_diversity' (query,
        subtopic, document, label), 'json' or 'jsonl' ({query: {document: label}} or records), 'csv' (fields between
        commas, tabs, semicolons or blanks, with a header, or query, document, label), 'parquet' or 'arrow' (also
        Feather). By default the first line decides, except for 'trec_diversity'. Lines of text that begin with # are
        comments.
    threads : int, optional
        See `evaluate`.

    Returns
    -------
    Qrels
        `DiversityQrels` if labels are by subtopic.

    Raises
    ------
    InvalidInputError
        If lengths differ, a line lacks a field, a label is not finite, or a document occurs twice in a query. The
        message names the place.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> fn.Qrels({"q1": {"d1": 2, "d2": 0}})
    Qrels of 1 queries, 2 documents, labels 0 to 2
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "qrels.txt"
    ...     _ = path.write_text("q1 0 d1 2\nq1 0 d2 0\n")
    ...     fn.Qrels(path).to_dict()
    {'q1': {'d1': 2, 'd2': 0}}
    """

    __slots__ = ("own_run",)
    own_run: Run | None  # that the same table held, if it did
    what = "qrels"
    side = "truth"
    value_name = "label"
    convert = staticmethod(as_labels)
    _write_trec = write_trec_qrels
    roles = ("query", "document", "label", "subtopic", "importance")
    column_names: ClassVar[tuple[str, ...]] = ("documents", "labels")
    patterns: Patterns | None = None  # labels number these patterns if judgments are by subtopic
    has_alternatives: bool = False

    @answer_keywords
    def __new__(
        cls,
        data: Any,
        documents: Any = None,
        labels: Any = None,
        *,
        columns: Mapping[str, str] | None = None,
        format: Format | None = None,
        threads: int | None = None,
    ) -> Self:
        """Read the judgments."""
        return cls._read(data, (documents, labels), columns=columns, format=format, threads=threads)

    def _fill(self, rows: TableRows, source: Source, threads: int | None = 1) -> None:
        super()._fill(rows, source, threads)
        put(self, own_run=None)

    def beside(self, run: Run) -> Self:
        """Add the run that the same table held."""
        put(self, own_run=run)
        return self

    def select_patterns(self, queries: Array) -> Patterns | None:
        """
        Return the patterns of some queries.

        Parameters
        ----------
        queries : (n,) int array
            Indices of queries, −1 for one without judgments.

        Returns
        -------
        Patterns or None
            None for judgments that are not by subtopic.
        """
        del queries
        return self.patterns

    def _describe_values(self) -> str:
        labels = self._export_columns()["label"]
        low, high = (format_label(end.item()) for end in (labels.min(), labels.max())) if len(labels) else ("", "")
        return "" if not low else f", label {low}" if low == high else f", labels {low} to {high}"

    def to_trec(self) -> str:
        """Return the judgments in TREC's format: query, 0, document, label."""
        return b"".join(self._write_trec()).decode()

    @classmethod
    def _make_values(cls, offsets: Array) -> Array:
        """Return the label 1 for each document."""
        return np.ones(int(offsets[-1]), "i1")

    def _check_values(self) -> None:
        """Raise for labels beyond 2**53. Convert labels to int8 if it holds them all, else to float64."""
        labels = self.values
        limit = EXACT_LIMIT if labels.dtype.kind == "f" else int(EXACT_LIMIT)
        beyond = ~((labels <= limit) & (labels >= -limit)) if labels.dtype.kind == "f" or labels.itemsize == 8 else None
        if beyond is not None and beyond.any():
            remedy = "Leave the document out, or give it the label 0"
            self.refuse(~np.isfinite(labels), "be finite", remedy)
            self.refuse(beyond, "be at most 2**53 in size", "Rescale the labels")
        with np.errstate(invalid="ignore"):
            small = labels.astype("i1", copy=False)
        put(self, values=read_only(small if (small == labels).all() else labels.astype("f8", copy=False)))


class Run(Table):
    r"""
    The score of each document that a system retrieved for each query. Runs compare equal by identity only.

    Only scores rank the documents. TREC's rank column is ignored, as in trec_eval.

    Parameters
    ----------
    data : path, dict, frame, records or sequence of ids
        Retrieved documents with ids, in one of these forms:

        - a file, plain or packed by gzip, bzip2 or zstd, or "-" for standard input. Addresses such as
          ``s3://bucket/file`` are opened by fsspec, the extra `remote`;
        - ``{query: {document: score}}``, or ranked ids, the best first: ``{query: ids}``;
        - a frame, or records, with queries, documents and scores or ranks, in any order;
        - the query of each retrieved document, with `documents` and `scores`.
    documents, scores : sequences, optional
        The document and the score of each retrieved document, higher is better.
    columns : dict, optional
        Names of columns that differ from the usual ones, such as ``{"query": "qid", "score": "bm25"}``. The key "rank"
        names ranks in place of scores. A score that is called distance, ``_distance`` or the like ranks ascending, and
        a note says so. Names for labels and subtopics are ignored: they are for the judgments.
    format : str, optional
        Of a file: 'trec' (query, 'Q0', document, rank, score, name, separated by blanks or tabs), 'msmarco' (query,
        document, rank), 'json' or 'jsonl' ({query: {document: score}} or records), 'csv' (fields between commas, tabs,
        semicolons or blanks, with a header, or query, document, then rank, score or both), 'parquet' or 'arrow' (also
        Feather). By default the first line decides. Numbers without a header are ranks if they are 1, 2, 3 and so on in
        each query, and scores if one has a fraction. Lines of text that begin with # are comments.
    duplicates : {'raise', 'first', 'best', 'sum', 'counted'}, optional
        What to do with a document that a query has again: raise an error, as by default; keep the row that ranks first;
        keep the best score; add up the scores; or count each row as another document: values may exceed 1. See the
        guide "Duplicates and chunks".
    ranks : {'kept', 'closed'}, optional
        With 'first' and 'best', whether a dropped row leaves its rank empty, as by default, or later documents move up.
        Functions that compare or fuse lists close them.
    parents : dict, Series, frame, str or callable, optional
        The documents of chunks, if the run ranks chunks: a table of chunk and document, the name of a column of `data`,
        a rule of ids such as "before #", or a function of a chunk's id. `duplicates`, here 'first' by default, says
        which chunk of a document counts.
    threads : int, optional
        See `evaluate`.

    Raises
    ------
    InvalidInputError
        If lengths differ, a line lacks a field, a score is no number, or a document occurs twice in a query. The
        message names the place.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> fn.Run({"q1": {"d1": 0.3, "d2": 1.5}})
    Run of 1 queries, 2 documents
    >>> fn.evaluate({"q1": {"d1", "d2"}}, fn.Run({"q1": ["d1", "d1", "d2"]}, duplicates="first"), "recall@2").mean()
    {'R@2': 0.5}
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "run.txt"
    ...     _ = path.write_text("q1 Q0 d1 1 0.9 bm25\nq1 Q0 d2 2 0.5 bm25\n")
    ...     fn.Run(path).to_dict()
    {'q1': {'d1': 0.9, 'd2': 0.5}}
    """

    __slots__ = ()
    what = "run"
    side = "predictions"
    value_name = "score"
    convert = staticmethod(as_scores)
    _write_trec = write_trec_run
    roles = ("query", "document", "score")
    column_names = ("documents", "scores")
    repeats_remedy = ("Keep one of them, or ", WITH_DUPLICATES)
    is_empty: Array | None = None  # True for places without a document
    is_counted: bool = False  # True if a document counts in each of its rows
    keys: Array | None = None  # numbers that order rows of equal score by id, None where ids do
    duplicates: Any = None  # `Duplicates`: which rows count is settled when the run is joined

    @answer_keywords
    def __new__(
        cls,
        data: Any,
        documents: Any = None,
        scores: Any = None,
        *,
        columns: Mapping[str, str] | None = None,
        format: Format | None = None,
        duplicates: DuplicateChoice | None = None,
        ranks: DuplicateRanks | None = None,
        parents: Any = None,
        threads: int | None = None,
    ) -> Self:
        """Read the run."""
        again = (duplicates, ranks, parents)
        return cls._read(data, (documents, scores), columns=columns, format=format, threads=threads, again=again)

    def write(self, path: FilePath, *, format: WrittenFormat | None = None, tag: str = DEFAULT_TAG) -> None:
        """Write the run as `Qrels.write` does: TREC's lines by falling score, equal ones in order, then `tag`."""
        write_table(self._settled(), path, format, tag)

    def to_trec(self, *, tag: str = DEFAULT_TAG) -> str:
        """Return the run in TREC's format, by falling score: query, Q0, document, rank, score, `tag` without blanks."""
        return b"".join(self._settled()._write_trec(tag)).decode()

    def _settled(self) -> Run:
        """Return the run of the documents that count."""
        return self

    def _list_ranked(self) -> dict[Any, Any]:
        return next(self.top(max(1, len(self))).iterate_dicts())[1]

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
        >>> fn.Run({"q1": {"d1": 0.3, "d2": 1.5, "d3": 0.3}}).top(2).to_dict()
        {'q1': {'d2': 1.5, 'd1': 0.3}}
        """
        run = self._settled()
        sizes = np.minimum(np.diff(run.offsets), min(check_whole_number(k, "k", 1), len(run.documents)))
        offsets, places = join_segments(run.offsets[:-1], sizes)
        return run._take(np.arange(len(run.queries)), run.order_by_score()[places], offsets)

    @classmethod
    def _make_values(cls, offsets: Array) -> Array:
        """Return negative ranks as scores."""
        scores: Array = np.repeat(offsets[:-1], np.diff(offsets)) - np.arange(1.0, int(offsets[-1]) + 1)
        return scores


class RepeatedRun(Run):
    """A run that may have a document several times in a query, see `Duplicates`."""

    __slots__ = ("duplicates", "is_counted", "is_empty", "keys")
    may_repeat = True

    is_counted: bool
    is_empty: Array | None
    keys: Array | None

    def _fill(self, rows: TableRows, source: Source, threads: int | None = 1) -> None:
        super()._fill(rows, source, threads)
        put(self, is_counted=False, is_empty=None, keys=None, duplicates=None)

    def _settled(self) -> Run:
        settled: Run = upper_floors.find("settle_closed")(self)
        return settled

    def iterate_dicts(self) -> Iterator[tuple[Any, dict[Any, Any]]]:
        """Yield each query with {document: score}."""
        return super().iterate_dicts() if self.duplicates is None else self._settled().iterate_dicts()

    def _export_columns(self) -> dict[str, Array]:
        return super()._export_columns() if self.duplicates is None else self._settled()._export_columns()

    def settled_by(self, duplicates: Any) -> Self:
        """Set which rows count."""
        put(self, duplicates=duplicates)
        return self

    def _take(self, queries: Array, rows: Array, offsets: Array) -> Self:
        return super()._take(queries, rows, offsets).settled_by(self.duplicates)

    def keep(self, rows: Array, values: Array | None = None) -> Self:
        """Return a run of some rows: see `Table.keep`."""
        return super().keep(rows, values).settled_by(self.duplicates)

    def __repr__(self) -> str:
        """Return what the run holds, and what was dropped."""
        try:
            notes = self.source.notes if self.duplicates is None else self.duplicates.apply(self).source.notes
        except FastndcgError as error:  # what counts is not clear, which an evaluation says, too
            notes = (str(error),)
        how = "" if self.duplicates is None else f": {self.duplicates}"
        return "\n".join([self._describe() + how, *notes])


def choose_run(options: Options) -> type[Run]:
    """Return the class of runs that are read."""
    return Run if options.duplicates is None else RepeatedRun
