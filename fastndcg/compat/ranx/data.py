"""`Qrels` and `Run` of the ranx drop-in, their files, and the drop-in's errors."""

from __future__ import annotations

import gzip
import json
import os
from collections import defaultdict
from collections.abc import Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Self

from fastndcg.choices import RanxKind
from fastndcg.compat.common import JudgedRun, check_rows, judge, list_rows, read_table
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.exports import write_whole
from fastndcg.inputs.formats import read_run_tag
from fastndcg.inputs.table import Qrels as ReadQrels
from fastndcg.inputs.table import Run as ReadRun
from fastndcg.inputs.writers import DEFAULT_TAG, WRITERS
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import

Rows = dict[str, dict[str, Any]]

KINDS = ("json", "trec", "gz", "parquet")
ENDINGS = {"txt": "trec", "parq": "parquet"}


class StructureError(InvalidTypeError, AttributeError, AssertionError, KeyError):
    """Input is no dict of dicts with texts as query ids, no frame with the columns, or a file has the wrong fields."""


class LabelsError(InvalidTypeError, OverflowError):
    """Labels are no integers, or are too large."""


class MismatchError(InvalidInputError, AssertionError):
    """Judgments and run have different queries, a document stands twice, or a metric or a format is wrong."""


class Table:
    """
    Numbers of documents {query: {document: number}} with a name.

    Queries and documents are ordered when someone looks at them, because the order costs more than many evaluations.
    `rows` are copied. `sorted` is False after `add_score`: then queries and documents stand as they were added.
    """

    kind: ClassVar[type[int] | type[float]]
    reader: ClassVar[type[ReadQrels] | type[ReadRun]]
    _rows: Rows
    _is_shared: bool  # True once a user has the dicts, and may change them
    _cache: Any  # what one evaluation keeps for the next

    def __init__(self, rows: Rows | None = None, name: str | None = None) -> None:
        self.name = name
        self.sorted = rows is not None  # as a user sees it: the dicts themselves are put in order when that is needed
        self._is_shared = False
        self._replace({} if rows is None else {query: dict(row) for query, row in self.check_rows(rows).items()})

    @classmethod
    def viewing(cls, rows: Rows) -> Self:
        """Return a table of the dicts themselves, without a copy, for a single evaluation."""
        table = cls()
        table.sorted = True
        table._replace(cls.check_rows(rows))
        return table

    @classmethod
    def check_rows(cls, rows: Rows) -> Rows:
        """Return rows that are a dict of dicts with texts as query ids. Raise StructureError for others."""
        return check_rows(rows, cls.__name__, StructureError)

    @classmethod
    def from_dict(cls, d: Rows, name: str | None = None) -> Self:
        """Make a table from a dict of dicts."""
        return cls(d, name)

    @classmethod
    def from_df(
        cls, df: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        name: str | None = None,
    ) -> Self:  # fmt: skip
        """Make a table from a pandas DataFrame with a row for each document of each query."""
        if not hasattr(df, "columns"):
            raise StructureError(f"`df` must be a pandas DataFrame, not {type(df).__name__}. Pass pandas.DataFrame(…).")
        roles = {"query": q_id_col, "document": doc_id_col, "label" if cls.kind is int else "score": score_col}
        there = df[[column for column in roles.values() if column in df.columns]]
        try:
            table = cls.reader(there, columns=roles)
            if not (table.queries.are_texts and table.documents.are_texts):
                raise InvalidInputError("`df` must have texts as ids of queries and documents. Apply astype(str)")
            return cls(list_rows(table, cls.kind), name)
        except InvalidInputError as error:
            raise StructureError(*error.args) from None

    @classmethod
    def from_parquet(
        cls, path: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        pd_kwargs: dict[str, Any] | None = None, name: str | None = None,
    ) -> Self:  # fmt: skip
        """Make a table from a Parquet file. See `from_df`."""
        frame = optional_import("pandas", "reading Parquet", "pandas").read_parquet(path, **(pd_kwargs or {}))
        return cls.from_df(frame, q_id_col, doc_id_col, score_col, name)

    @classmethod
    def from_file(cls, path: Any, kind: RanxKind | None = None, name: str | None = None) -> Self:
        """Make a table from a file of a format of `save`. By default the name of a run is that in its first line."""
        file_kind = get_file_kind(path, kind)
        if file_kind == "parquet":
            return cls.from_parquet(path, name=name)
        if file_kind == "json":
            try:
                rows = json.loads(Path(path).read_bytes())
            except ValueError as error:
                raise StructureError(f"{path} must hold JSON, but does not: {error}. Correct the file.") from None
            return cls(rows, name or "")
        try:
            tag = "" if cls.kind is int else read_run_tag(path)
            return cls(list_rows(cls.reader(path, format="trec"), cls.kind), name or tag or "")
        except InvalidInputError as error:
            raise StructureError(*error.args) from None

    def keys(self) -> Any:
        """Return the query ids."""
        return dict.fromkeys(self.get_query_ids()).keys()

    def get_query_ids(self) -> list[str]:
        """Return the query ids as a list: by id, unless some were added since the last evaluation."""
        return sorted(self._rows) if self.sorted else list(self._rows)

    def get_doc_ids_and_scores(self) -> list[dict[str, Any]]:
        """Return {document: number} of each query, largest number first."""
        return list(self.to_dict().values())

    def add_score(self, q_id: str, doc_id: str, score: Any) -> None:
        """Set the number of one document of a query."""
        if self.sorted:
            self._rows = self.to_dict()
        self.sorted = False
        self._rows.setdefault(q_id, {})[doc_id] = self._read_number(score)
        self._cache = None

    def add(self, q_id: str, doc_ids: Iterable[str], scores: Iterable[Any]) -> None:
        """Set the documents of a query and their numbers."""
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self, q_ids: Iterable[str], doc_ids: Iterable[Iterable[str]], scores: Iterable[Iterable[Any]]
    ) -> None:
        """Set the documents of several queries and their numbers."""
        numbers = [list(map(self._read_number, row)) for row in scores]
        try:
            rows = {
                query: dict(zip(documents, row, strict=True))
                for query, documents, row in zip(q_ids, doc_ids, numbers, strict=True)
            }
        except ValueError as error:
            raise InvalidInputError(
                f"`q_ids`, `doc_ids` and `scores` must have equal lengths: {error}. Pass one score for each document."
            ) from None
        self._rows.update(rows)
        self._cache = None
        self.sorted = True

    def sort(self) -> None:
        """Order the queries by id, and the documents of each query by falling number."""
        self.sorted = True
        self._replace(self.to_dict())

    def to_dict(self) -> Rows:
        """Return the numbers as {query: {document: number}}, largest number first."""
        return {query: self[query] for query in self.get_query_ids()}

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with the columns q_id, doc_id and score."""
        pandas = optional_import("pandas", "a pandas frame", "pandas")
        rows = self._list_numbers().items()
        flat = [(query, document, number) for query, row in rows for document, number in row.items()]
        return pandas.DataFrame(flat, columns=["q_id", "doc_id", "score"])

    @property
    def size(self) -> int:
        """The number of queries."""
        return len(self._rows)

    def __getitem__(self, q_id: str) -> dict[str, Any]:
        row = self._rows[q_id]
        return order_by_number(row) if self.sorted else dict(row)

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return repr(self.to_dict())

    def __getstate__(self) -> dict[str, Any]:
        """Return the state of a copy: new dicts, and no cache, which refers to the dicts of this object."""
        rows = {query: dict(row) for query, row in self._rows.items()}
        return vars(self) | {"_rows": rows, "_is_shared": False, "_cache": None}

    def _replace(self, rows: Rows) -> None:
        """Take new rows, in any order."""
        self._rows = rows
        self._cache = None

    def _share(self) -> Rows:
        """Return the dicts themselves, for users who read or change them."""
        if not self._is_shared:  # a user keeps the dicts that are shared
            self._rows = self.to_dict()
            self._is_shared = True
        self._cache = None
        return self._rows

    def _take(self, rows: Rows) -> None:
        """Take the dicts of a user, who may change them."""
        self._replace(self.check_rows(rows))
        self._is_shared = True

    def ready_rows(self) -> Rows:
        """Return the rows with queries ordered by id, for an evaluation. Sort the table if it is not sorted."""
        self.sorted = True
        if self._is_shared:  # a user may have changed anything since the last evaluation
            self._replace(self.check_rows(self._rows))
        queries = self.get_query_ids()
        if queries != list(self._rows):
            self._replace({query: self._rows[query] for query in queries})
        return self._rows

    @classmethod
    def _read_number(cls, number: Any) -> Any:
        """Return a number as the type of this table's numbers."""
        try:
            return cls.kind(number)
        except (TypeError, ValueError, OverflowError):
            raise InvalidTypeError(
                f"scores must be numbers that {cls.kind.__name__}() takes, but one is {shorten(number)}. Pass a number."
            ) from None

    def _list_numbers(self) -> Rows:
        """Return `to_dict` with numbers of Python's type of this table, for files and frames."""
        return {
            query: {document: self._read_number(number) for document, number in row.items()}
            for query, row in self.to_dict().items()
        }

    def _write(self, path: Any, kind: str, tag: str) -> None:
        """Write a file. A run without a name has the name None in TREC's format, as in ranx."""
        rows = self._list_numbers()
        if kind == "parquet":
            content = self.to_dataframe().to_parquet(index=False)
        elif kind == "json":
            try:
                content = json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False).encode()
            except ValueError as error:
                raise InvalidInputError(
                    f"scores in JSON must be finite, but one is not: {error}. Remove it, or save as 'trec' or 'parquet'"
                ) from None
        else:
            content = b"".join(WRITERS["trec"](self.reader(rows), tag))
        write_whole(path, [gzip.compress(content, mtime=0) if kind == "gz" else content])


class Qrels(Table):
    """
    Judgments {query: {document: label}}.

    Parameters
    ----------
    qrels : dict of dict of int, optional
        The labels, which are copied. By default empty. `add` adds some. Fractions are cut off, as in ranx.
    name : str, optional
        The name of the judgments.

    Examples
    --------
    >>> Qrels({"q1": {"d1": 1, "d2": 3}})
    {'q1': {'d2': 3, 'd1': 1}}
    """

    kind = int
    reader = ReadQrels

    def __init__(self, qrels: dict[str, dict[str, int]] | None = None, name: str | None = None) -> None:
        super().__init__(qrels, name)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The labels themselves. A change of them is seen by the next evaluation, which then caches nothing."""
        return self._share()

    @qrels.setter
    def qrels(self, rows: dict[str, dict[str, int]]) -> None:
        self._take(rows)

    @classmethod
    def from_ir_datasets(cls, dataset_id: str) -> Self:
        """Load the judgments of a dataset of ir_datasets, which downloads them if need be."""
        datasets = optional_import("ir_datasets", "from_ir_datasets", "ranx")
        return cls(datasets.load(dataset_id).qrels_dict(), dataset_id)

    def set_relevance_level(self, rel_lvl: int = 1) -> None:
        """Lower all labels so that the label `rel_lvl` becomes 1."""
        for row in self._rows.values():
            for document in row:
                row[document] -= rel_lvl - 1
        self._cache = None

    def save(self, path: Any = "qrels.json", kind: RanxKind | None = None) -> None:
        """Write the judgments to a file. If an error occurs, an older file is kept as it is."""
        self._write(path, get_file_kind(path, kind), DEFAULT_TAG)

    def prepared(self) -> ReadQrels:
        """Return the judgments in the form that evaluations use. The result is cached."""
        rows = self.ready_rows()
        if self._cache is None:
            try:
                self._cache = read_table(ReadQrels, rows)
            except InvalidInputError as error:
                raise LabelsError(str(error)) from None
        prepared: ReadQrels = self._cache
        return prepared


class Run(Table):
    """
    A system's ranking {query: {document: score}}.

    Parameters
    ----------
    run : dict of dict of float, optional
        The scores, which are copied. By default empty. `add` adds some.
    name : str, optional
        The name of the system.

    Attributes
    ----------
    scores : dict
        {metric: {query: value}}, saved by `evaluate`.
    mean_scores : dict
        {metric: mean}, saved by `evaluate`, and with ``return_std=True`` `std_scores`.
    metadata : dict
        Free for the user, empty at first.

    Examples
    --------
    >>> Run({"q1": {"d1": 0.5, "d2": 0.9}}, name="bm25")
    {'q1': {'d2': 0.9, 'd1': 0.5}}
    """

    kind = float
    reader = ReadRun

    def __init__(self, run: dict[str, dict[str, float]] | None = None, name: str | None = None) -> None:
        super().__init__(run, name)
        self.metadata: dict[str, Any] = {}
        self.scores: defaultdict[str, dict[str, Any]] = defaultdict(dict)
        self.mean_scores: dict[str, Any] = {}
        self.std_scores: dict[str, Any] = {}

    @property
    def run(self) -> dict[str, dict[str, float]]:
        """The scores themselves. A change of them is seen by the next evaluation, which then caches nothing."""
        return self._share()

    @run.setter
    def run(self, rows: dict[str, dict[str, float]]) -> None:
        self._take(rows)

    def make_comparable(self, qrels: Qrels) -> Run:
        """Remove queries without judgments, and add an empty ranking for each query that is missing."""
        self._replace({query: self._rows.get(query, {}) for query in qrels.get_query_ids()})
        self.sorted = True
        return self

    def save(self, path: Any = "run.json", kind: RanxKind | None = None) -> None:
        """Write the run to a file, and sort it. If an error occurs, an older file is kept as it is."""
        file_kind = get_file_kind(path, kind)
        self.sort()
        self._write(path, file_kind, str(self.name))

    def judged(self, qrels: Qrels) -> JudgedRun:
        """Return the documents with their labels. The result is cached for the last judgments."""
        prepared, rows = qrels.prepared(), self.ready_rows()
        if self._cache is None or self._cache[0] is not prepared:
            self._cache = (prepared, judge(prepared, read_table(ReadRun, rows)))
        judged: JudgedRun = self._cache[1]
        return judged


def order_by_number(row: dict[str, Any]) -> dict[str, Any]:
    """Return a copy by falling number. Documents with equal numbers keep their order."""
    try:
        return dict(sorted(row.items(), key=itemgetter(1), reverse=True))
    except TypeError as error:
        raise InvalidTypeError(
            f"numbers of the documents of a query must be comparable: {error}. Pass numbers only."
        ) from None


def get_file_kind(path: Any, kind: str | None = None) -> str:
    """
    Return the format of a file: `kind`, or else what the ending of the path says.

    >>> get_file_kind("bm25.txt"), get_file_kind("bm25", kind="parquet")
    ('trec', 'parquet')
    """
    ending = os.path.splitext(os.fspath(path))[1][1:]
    name = ENDINGS.get(ending, ending) if kind is None else kind
    if name not in KINDS:
        remedy = "Pass `kind`, or change the ending of the path"
        if name == "lz4":
            remedy = "Write it anew as JSON or Parquet: ranx.Run.from_file('run.lz4').save('run.json')"
        choices = ", ".join(map(repr, KINDS))
        raise MismatchError(f"`kind` must be one of {choices}, but is {shorten(name)} for {show_name(path)}. {remedy}")
    return name
