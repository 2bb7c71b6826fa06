"""Numbers of documents by query: what `Qrels` and `Run` of the ranx drop-in share."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, ClassVar, Self

import numpy as np

from fastndcg.choices import RanxRunKind
from fastndcg.compat import trec_text
from fastndcg.compat.ranx.errors import RowsError
from fastndcg.compat.ranx.files import get_file_kind, read_lz4
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.rankings.validation import Array

CACHES = ("_prepared", "_judged")  # attributes that one evaluation caches for the next


class Table:
    """
    Numbers of documents {query: {document: number}} with a name.

    Queries and documents are ordered when someone looks at them, because the order costs more than many evaluations.

    Parameters
    ----------
    rows : dict of dict, optional
        The numbers, which are copied.
    name : str, optional
        The name of the table.

    Attributes
    ----------
    sorted : bool
        True if queries stand by id, and the documents of each query by falling number. False after `add_score`.
    """

    kind: ClassVar[type[int] | type[float]]
    kinds: ClassVar[tuple[str, ...]]
    _rows: dict[str, dict[str, Any]]
    _has_ordered_queries: bool  # these two describe the dicts; `sorted` describes what a user sees
    _has_ordered_documents: bool
    _is_shared: bool  # True once a user has the dicts, and may change them

    def __init__(self, rows: dict[str, dict[str, Any]] | None = None, name: str | None = None) -> None:
        self.name = name
        self.sorted = rows is not None
        self._is_shared = False
        self._replace({} if rows is None else {query: dict(row) for query, row in self.check_rows(rows).items()})

    @classmethod
    def viewing(cls, rows: dict[str, dict[str, Any]]) -> Self:
        """Return a table of the dicts themselves, without a copy, for a single evaluation."""
        table = cls()
        table.sorted = True
        table._replace(cls.check_rows(rows))
        return table

    def view(self) -> Self:
        """Return a table of the same dicts, without a copy, for a single evaluation."""
        return self.viewing(self._ready_rows())

    @classmethod
    def check_rows(cls, rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return rows that are a dict of dicts with texts as query ids. Raise RowsError for others."""
        form = "Pass {query: {document: number}}."
        if not isinstance(rows, dict):
            raise RowsError(f"{cls.__name__} takes a dict of dicts, not {type(rows).__name__}. {form}")
        for query, row in rows.items():
            if not isinstance(query, str):
                raise RowsError(f"query ids must be texts, but one is {shorten(query)}. Convert them by str().")
            if not isinstance(row, dict):
                raise RowsError(
                    f"{cls.__name__} takes a dict of dicts, but {shorten(query)} maps to {shorten(row)}. {form}"
                )
        return rows

    @classmethod
    def from_dict(cls, d: dict[str, dict[str, Any]], name: str | None = None) -> Self:
        """
        Make a table from a dict of dicts.

        Parameters
        ----------
        d : dict of dict
            The numbers as {query: {document: number}}.
        name : str, optional
            The name of the table.

        Returns
        -------
        Qrels or Run
            The table.
        """
        return cls(d, name)

    @classmethod
    def from_df(
        cls, df: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        name: str | None = None,
    ) -> Self:  # fmt: skip
        """
        Make a table from a pandas DataFrame.

        Parameters
        ----------
        df : pandas.DataFrame
            One row for each document of each query.
        q_id_col, doc_id_col, score_col : str
            The columns of queries, documents and numbers.
        name : str, optional
            The name of the table.

        Returns
        -------
        Qrels or Run
            The table.

        Raises
        ------
        InvalidInputError
            If a column is missing or of the wrong type, or a query has a document twice.
        """
        return cls(trec_text.read_frame(df, (q_id_col, doc_id_col, score_col), cls.kind), name)

    @classmethod
    def from_parquet(
        cls, path: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        pd_kwargs: dict[str, Any] | None = None, name: str | None = None,
    ) -> Self:  # fmt: skip
        """
        Make a table from a Parquet file. See `from_df`.

        Parameters
        ----------
        path : str or path
            The file.
        q_id_col, doc_id_col, score_col, name
            See `from_df`.
        pd_kwargs : dict, optional
            Arguments of `pandas.read_parquet`.

        Returns
        -------
        Qrels or Run
            The table.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        frame = trec_text.read_parquet(path, pd_kwargs or {})
        return cls.from_df(frame, q_id_col, doc_id_col, score_col, name)

    @classmethod
    def from_file(cls, path: Any, kind: RanxRunKind | None = None, name: str | None = None) -> Self:
        """
        Make a table from a file.

        Parameters
        ----------
        path : str or path
            The file.
        kind : {'json', 'trec', 'gz', 'lz4', 'parquet'}, optional
            The format. 'gz' is TREC's format, compressed. 'lz4' is for runs only. By default the ending of the path
            says it: .txt is 'trec', and .parq is 'parquet'.
        name : str, optional
            The name of the table. By default the name in the last column of a run.

        Returns
        -------
        Qrels or Run
            The table.

        Raises
        ------
        InvalidInputError
            If the format is unknown, or the file does not have it.
        MissingPackageError
            If the format needs a package that is not installed: pandas, or lz4 and cbor2.
        """
        file_kind = get_file_kind(path, kind, cls.kinds)
        if file_kind == "parquet":
            return cls.from_parquet(path, name=name)
        if file_kind == "lz4":
            return cls(read_lz4(path), name)
        rows, name_in_file = trec_text.read_file(path, file_kind, cls.kind)
        return cls(rows, name or name_in_file)

    def keys(self) -> Any:
        """Return the query ids."""
        return self._order_queries().keys()

    def get_query_ids(self) -> list[str]:
        """Return the query ids as a list."""
        return list(self._order_queries())

    def get_doc_ids_and_scores(self) -> list[dict[str, Any]]:
        """Return {document: number} of each query, largest number first."""
        return list(self.to_dict().values())

    def add_score(self, q_id: str, doc_id: str, score: Any) -> None:
        """
        Set the number of one document of a query.

        Parameters
        ----------
        q_id, doc_id : str
            The query and the document.
        score : int or float
            The number.
        """
        self._order_documents()
        self.sorted = False
        self._rows.setdefault(q_id, {})[doc_id] = self._read_number(score)
        self._clear_caches()

    def add(self, q_id: str, doc_ids: Iterable[str], scores: Iterable[Any]) -> None:
        """
        Set the documents of a query and their numbers.

        Parameters
        ----------
        q_id : str
            The query.
        doc_ids : iterable of str
            The documents.
        scores : iterable of int or float
            One number for each document.
        """
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self, q_ids: Iterable[str], doc_ids: Iterable[Iterable[str]], scores: Iterable[Iterable[Any]]
    ) -> None:
        """
        Set the documents of several queries and their numbers.

        Parameters
        ----------
        q_ids : iterable of str
            The queries.
        doc_ids : iterable of iterables of str
            The documents of each query.
        scores : iterable of iterables of int or float
            One number for each document.

        Raises
        ------
        InvalidInputError
            If the lengths differ, or a score is no number.
        """
        try:
            rows = {
                query: dict(zip(documents, map(self._read_number, numbers), strict=True))
                for query, documents, numbers in zip(q_ids, doc_ids, scores, strict=True)
            }
        except ValueError as error:
            if isinstance(error, InvalidInputError):
                raise
            raise InvalidInputError(
                f"`q_ids`, `doc_ids` and `scores` must have equal lengths: {error}. Pass one score for each document."
            ) from None
        self._rows.update(rows)
        self._replace(self._rows)
        self.sorted = True

    def sort(self) -> None:
        """Order the queries by id, and the documents of each query by falling number."""
        if self._is_shared or not self.sorted:
            self._replace(self._rows)
        self.sorted = True
        self._order_documents()

    def to_typed_list(self) -> list[Array]:
        """
        Return the queries as arrays, which `evaluate` and the functions of `metrics` take.

        Returns
        -------
        list of (n_documents, 2) float64 arrays
            For each query the hash of each document's id, and its number, largest number first. The arrays are valid
            within this process only, because Python's hashes of texts differ between processes. Numba's list of
            them is ``numba.typed.List(…)``.
        """
        self.sort()
        return self.list_pairs(self._rows)

    @classmethod
    def list_pairs(cls, rows: dict[str, dict[str, Any]]) -> list[Array]:
        """Return `to_typed_list` of rows, with the queries in their order."""
        return [_make_pairs(order_by_number(cls._convert(row))) for row in rows.values()]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """
        Return the numbers as {query: {document: number}}, largest number first.

        Returns
        -------
        dict of dict
            A copy.
        """
        return {query: self[query] for query in self._order_queries()}

    def to_dataframe(self) -> Any:
        """
        Return a pandas DataFrame with the columns q_id, doc_id and score.

        Returns
        -------
        pandas.DataFrame
            One row for each document of each query. Scores are float64, and labels int64.

        Raises
        ------
        MissingPackageError
            If pandas is not installed.
        """
        return trec_text.make_frame(self._list_numbers())

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self._rows)

    def __getitem__(self, q_id: str) -> dict[str, Any]:
        row = self._rows[q_id]
        return order_by_number(row) if self.sorted and not self._has_ordered_documents else dict(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return repr(self.to_dict())

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: new dicts, and no caches, because caches refer to the dicts of this object."""
        state = {name: value for name, value in vars(self).items() if name not in CACHES}
        return state | {"_rows": {query: dict(row) for query, row in self._rows.items()}, "_is_shared": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._clear_caches()

    def _replace(self, rows: dict[str, dict[str, Any]]) -> None:
        """Take new rows, in any order."""
        self._rows = rows
        self._has_ordered_queries = self._has_ordered_documents = False
        self._clear_caches()

    def _clear_caches(self) -> None:
        """Forget what evaluations cache."""

    def _share(self) -> dict[str, dict[str, Any]]:
        """Return the dicts themselves, for users who read or change them."""
        self._order_documents()
        self._clear_caches()
        self._is_shared = True
        return self._rows

    def _ready_rows(self) -> dict[str, dict[str, Any]]:
        """Return the rows with queries ordered by id, for an evaluation. Sort the table if it is not sorted."""
        if not self.sorted:
            self._replace(self._rows)
            self.sorted = True
        if self._is_shared:  # a user may have changed anything since the last evaluation
            self.check_rows(self._rows)
            self._has_ordered_queries = False
            self._clear_caches()
        return self._order_queries()

    def _order_queries(self) -> dict[str, dict[str, Any]]:
        """Order the queries by id, unless the user sees them unsorted, and return the rows."""
        if self.sorted and not self._has_ordered_queries:
            queries = sorted(self._rows)
            if queries != list(self._rows):
                self._rows = {query: self._rows[query] for query in queries}
                self._clear_caches()
            self._has_ordered_queries = True
        return self._rows

    def _order_documents(self) -> None:
        """Order queries and documents, unless the user sees them unsorted."""
        self._order_queries()
        if self.sorted and not self._has_ordered_documents:
            self._rows = {query: order_by_number(row) for query, row in self._rows.items()}
            self._has_ordered_documents = True
            self._clear_caches()

    @classmethod
    def _read_number(cls, number: Any) -> Any:
        """Return a number as the type of this table's numbers."""
        try:
            return cls.kind(number)
        except (TypeError, ValueError, OverflowError):
            raise InvalidTypeError(
                f"scores must be numbers that {cls.kind.__name__}() takes, but one is {shorten(number)}. Pass a number."
            ) from None

    @classmethod
    def _convert(cls, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with numbers that are all of Python's type of this table."""
        return {document: cls._read_number(number) for document, number in row.items()}

    def _list_numbers(self) -> dict[str, dict[str, Any]]:
        """Return `to_dict` with converted numbers, for files and frames."""
        return {query: self._convert(row) for query, row in self.to_dict().items()}


def order_by_number(row: dict[str, Any]) -> dict[str, Any]:
    """Return a copy by falling number. Documents with equal numbers keep their order."""
    try:
        return dict(sorted(row.items(), key=itemgetter(1), reverse=True))
    except TypeError as error:
        raise InvalidTypeError(
            f"numbers of the documents of a query must be comparable: {error}. Pass numbers only."
        ) from None


def _make_pairs(row: dict[str, Any]) -> Array:
    """Return the hash of each document's id and its number as an (n_documents, 2) float64 array."""
    pairs = np.empty((len(row), 2))
    pairs[:, 0] = np.fromiter(map(hash, row), "f8", len(row))
    pairs[:, 1] = np.fromiter(row.values(), "f8", len(row))
    return pairs
