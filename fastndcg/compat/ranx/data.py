"""`Qrels` and `Run` of the ranx drop-in, their files, and the drop-in's errors."""

from __future__ import annotations

import gzip
import io
import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from fastndcg.choices import RanxQrelsKind, RanxRunKind
from fastndcg.compat.common import JudgedRun, check_rows, judge, list_rows, read_table
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.exports import write_whole
from fastndcg.inputs.formats import read_qrels, read_run, read_run_tag
from fastndcg.inputs.table import Qrels as ReadQrels
from fastndcg.inputs.table import Run as ReadRun
from fastndcg.inputs.writers import DEFAULT_TAG, WRITERS
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import

Rows = dict[str, dict[str, Any]]

RUN_KINDS = ("json", "trec", "lz4", "gz", "parquet")
QRELS_KINDS = ("json", "trec", "gz", "parquet")
ENDINGS = {"txt": "trec", "parq": "parquet"}
LZ4_START = b"\x04\x22\x4d\x18"
CACHES = ("_prepared", "_judged")  # attributes that one evaluation caches for the next


class StructureError(InvalidTypeError, AttributeError, AssertionError, KeyError):
    """Input is no dict of dicts with texts as query ids, no frame with the columns, or a file has the wrong fields."""


class LabelsError(InvalidTypeError, OverflowError):
    """Labels are no integers, or are too large."""


class MismatchError(InvalidInputError, AssertionError):
    """Judgments and run have different queries, a document stands twice, or a metric or a format is wrong."""


class FileError(InvalidInputError, OSError, EOFError, RuntimeError):
    """A compressed file is damaged."""


class Table:
    """
    Numbers of documents {query: {document: number}} with a name.

    Queries and documents are ordered when someone looks at them, because the order costs more than many evaluations.
    `rows` are copied. `sorted` is False after `add_score`: then queries and documents stand as they were added.
    """

    kind: ClassVar[type[int] | type[float]]
    kinds: ClassVar[tuple[str, ...]]
    _rows: dict[str, dict[str, Any]]
    _is_shared: bool  # True once a user has the dicts, and may change them

    def __init__(self, rows: dict[str, dict[str, Any]] | None = None, name: str | None = None) -> None:
        self.name = name
        self.sorted = rows is not None  # as a user sees it: the dicts themselves are put in order when that is needed
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
        """Return rows that are a dict of dicts with texts as query ids. Raise StructureError for others."""
        return check_rows(rows, cls.__name__, StructureError)

    @classmethod
    def from_dict(cls, d: dict[str, dict[str, Any]], name: str | None = None) -> Self:
        """Make a table from a dict of dicts."""
        return cls(d, name)

    @classmethod
    def from_df(
        cls, df: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        name: str | None = None,
    ) -> Self:  # fmt: skip
        """Make a table from a pandas DataFrame with a row for each document of each query."""
        return cls(read_frame(df, (q_id_col, doc_id_col, score_col), cls.kind), name)

    @classmethod
    def from_parquet(
        cls, path: Any, q_id_col: str = "q_id", doc_id_col: str = "doc_id", score_col: str = "score",
        pd_kwargs: dict[str, Any] | None = None, name: str | None = None,
    ) -> Self:  # fmt: skip
        """Make a table from a Parquet file. See `from_df`."""
        frame = optional_import("pandas", "reading Parquet", "pandas").read_parquet(path, **(pd_kwargs or {}))
        return cls.from_df(frame, q_id_col, doc_id_col, score_col, name)

    @classmethod
    def from_file(cls, path: Any, kind: RanxRunKind | None = None, name: str | None = None) -> Self:
        """Make a table from a file of a format of `save`. By default the name of a run is that in its first line."""
        file_kind = get_file_kind(path, kind, cls.kinds)
        if file_kind == "parquet":
            return cls.from_parquet(path, name=name)
        if file_kind == "lz4":
            return cls(read_lz4(path), name)
        if file_kind == "json":
            return cls(read_json(Path(path).read_bytes(), path), name or "")
        rows, name_in_file = read_trec(path, cls.kind)
        return cls(rows, name or name_in_file)

    def keys(self) -> Any:
        """Return the query ids."""
        return dict.fromkeys(self._list_queries()).keys()

    def get_query_ids(self) -> list[str]:
        """Return the query ids as a list."""
        return self._list_queries()

    def get_doc_ids_and_scores(self) -> list[dict[str, Any]]:
        """Return {document: number} of each query, largest number first."""
        return list(self.to_dict().values())

    def add_score(self, q_id: str, doc_id: str, score: Any) -> None:
        """Set the number of one document of a query."""
        self._rows = self.to_dict()
        self.sorted = False
        self._rows.setdefault(q_id, {})[doc_id] = self._read_number(score)
        self._clear_caches()

    def add(self, q_id: str, doc_ids: Iterable[str], scores: Iterable[Any]) -> None:
        """Set the documents of a query and their numbers."""
        self.add_multi([q_id], [doc_ids], [scores])

    def add_multi(
        self, q_ids: Iterable[str], doc_ids: Iterable[Iterable[str]], scores: Iterable[Iterable[Any]]
    ) -> None:
        """Set the documents of several queries and their numbers."""
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
        self.sorted = True
        self._replace(self.to_dict())

    def to_typed_list(self) -> list[Array]:
        """Return the queries as arrays, which `evaluate` and the functions of `metrics` take."""
        self.sort()
        return self.list_pairs(self._rows)

    @classmethod
    def list_pairs(cls, rows: dict[str, dict[str, Any]]) -> list[Array]:
        """Return `to_typed_list` of rows, with the queries in their order."""
        return [_make_pairs(order_by_number(cls._convert(row))) for row in rows.values()]

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Return the numbers as {query: {document: number}}, largest number first."""
        return {query: self[query] for query in self._list_queries()}

    def to_dataframe(self) -> Any:
        """Return a pandas DataFrame with the columns q_id, doc_id and score."""
        return make_frame(self._list_numbers())

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
        """Return the state of a copy: new dicts, and no caches, because caches refer to the dicts of this object."""
        state = {name: value for name, value in vars(self).items() if name not in CACHES}
        return state | {"_rows": {query: dict(row) for query, row in self._rows.items()}, "_is_shared": False}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._clear_caches()

    def _replace(self, rows: dict[str, dict[str, Any]]) -> None:
        """Take new rows, in any order."""
        self._rows = rows
        self._clear_caches()

    def _clear_caches(self) -> None:
        """Forget what evaluations cache."""

    def _share(self) -> dict[str, dict[str, Any]]:
        """Return the dicts themselves, for users who read or change them."""
        if not self._is_shared:  # a user keeps the dicts that are shared
            self._rows = self.to_dict()
            self._is_shared = True
        self._clear_caches()
        return self._rows

    def _ready_rows(self) -> dict[str, dict[str, Any]]:
        """Return the rows with queries ordered by id, for an evaluation. Sort the table if it is not sorted."""
        self.sorted = True
        if self._is_shared:  # a user may have changed anything since the last evaluation
            self.check_rows(self._rows)
            self._clear_caches()
        queries = self._list_queries()
        if queries != list(self._rows):
            self._replace({query: self._rows[query] for query in queries})
        return self._rows

    def _list_queries(self) -> list[str]:
        """Return the queries as the user sees them: by id, unless some were added since the last evaluation."""
        return sorted(self._rows) if self.sorted else list(self._rows)

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


class Qrels(Table):
    """
    Judgments {query: {document: label}}.

    Parameters
    ----------
    qrels : dict of dict of int, optional
        The labels, which are copied. By default empty. `add` adds some. Fractions are cut off, as in ranx.
    name : str, optional
        The name of the judgments.

    Attributes
    ----------
    sorted : bool
        True if queries stand by id, and the documents of each query by falling label. False after `add_score`.

    Examples
    --------
    >>> Qrels({"q1": {"d1": 1, "d2": 3}})
    {'q1': {'d2': 3, 'd1': 1}}
    """

    kind = int
    kinds = QRELS_KINDS
    _prepared: ReadQrels | None

    def __init__(self, qrels: dict[str, dict[str, int]] | None = None, name: str | None = None) -> None:
        super().__init__(qrels, name)

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """The labels themselves. A change of them is seen by the next evaluation, which then caches nothing."""
        return self._share()

    @qrels.setter
    def qrels(self, rows: dict[str, dict[str, int]]) -> None:
        self._replace(self.check_rows(rows))
        self._is_shared = True

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
        self._clear_caches()

    def save(self, path: Any = "qrels.json", kind: RanxQrelsKind | None = None) -> None:
        """Write the judgments to a file. If an error occurs, an older file is kept as it is."""
        file_kind = get_file_kind(path, kind, self.kinds)
        save_rows(self._list_numbers(), path, file_kind, ReadQrels)

    def prepared(self) -> ReadQrels:
        """Return the judgments in the form that evaluations use. The result is cached."""
        rows = self._ready_rows()
        if self._prepared is None:
            try:
                self._prepared = read_table(ReadQrels, rows)
            except InvalidInputError as error:
                raise LabelsError(str(error)) from None
        return self._prepared

    def _clear_caches(self) -> None:
        self._prepared = None


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
    sorted : bool
        True if queries stand by id, and the documents of each query by falling score. False after `add_score`.
    scores : dict
        {metric: {query: value}}, saved by `evaluate`.
    mean_scores : dict
        {metric: mean}, saved by `evaluate`.
    std_scores : dict
        {metric: standard deviation}, saved by `evaluate` with ``return_std=True``.
    metadata : dict
        Free for the user, empty at first.

    Examples
    --------
    >>> Run({"q1": {"d1": 0.5, "d2": 0.9}}, name="bm25")
    {'q1': {'d2': 0.9, 'd1': 0.5}}
    """

    kind = float
    kinds = RUN_KINDS
    _judged: tuple[ReadQrels, JudgedRun] | None  # the judgments, and the run joined with them

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
        self._replace(self.check_rows(rows))
        self._is_shared = True

    def make_comparable(self, qrels: Qrels) -> Run:
        """Remove queries without judgments, and add an empty ranking for each query that is missing."""
        self._replace({query: self._rows.get(query, {}) for query in qrels.get_query_ids()})
        self.sorted = True
        return self

    def save(self, path: Any = "run.json", kind: RanxRunKind | None = None) -> None:
        """Write the run to a file, and sort it. If an error occurs, an older file is kept as it is."""
        file_kind = get_file_kind(path, kind, self.kinds)
        self.sort()
        save_rows(self._list_numbers(), path, file_kind, ReadRun, str(self.name))

    def judged(self, qrels: Qrels) -> JudgedRun:
        """Return the documents with their labels. The result is cached for the last judgments."""
        prepared = qrels.prepared()
        rows = self._ready_rows()
        if self._judged is None or self._judged[0] is not prepared:
            self._judged = (prepared, judge(prepared, read_table(ReadRun, rows), rows))
        return self._judged[1]

    def _clear_caches(self) -> None:
        self._judged = None


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


def get_file_kind(path: Any, kind: str | None = None, kinds: Iterable[str] = RUN_KINDS) -> str:
    """
    Return the format of a file: `kind`, or else what the ending of the path says.

    >>> get_file_kind("bm25.txt"), get_file_kind("bm25", kind="lz4")
    ('trec', 'lz4')
    """
    ending = os.path.splitext(os.fspath(path))[1][1:]
    name = ENDINGS.get(ending, ending) if kind is None else kind
    if name not in kinds:
        raise MismatchError(
            f"`kind` must be one of {', '.join(map(repr, kinds))}, but is {shorten(name)} for {show_name(path)}. "
            "Pass `kind`, or change the ending of the path."
        )
    return name


def read_trec(path: Any, kind: type[int] | type[float]) -> tuple[Rows, str]:
    """Read a file in TREC's format, and the name that a run has in its first line."""
    try:
        if kind is int:
            return list_rows(read_qrels(path, format="trec"), int), ""
        return list_rows(read_run(path, format="trec"), float), read_run_tag(path) or ""
    except InvalidInputError as error:
        raise StructureError(*error.args) from None


def read_frame(frame: Any, columns: tuple[str, str, str], kind: type[int] | type[float]) -> Rows:
    """Read a pandas DataFrame with columns of queries, documents and numbers of a type."""
    if not hasattr(frame, "columns"):
        raise StructureError(f"`df` must be a pandas DataFrame, not {type(frame).__name__}. Pass pandas.DataFrame(…).")
    query, document, number = columns
    roles = {"query": query, "document": document, "label" if kind is int else "score": number}
    there = frame[[name for name in columns if name in frame.columns]]
    try:
        table: ReadQrels | ReadRun = (ReadQrels if kind is int else ReadRun).from_frame(there, roles)
        if not (table.queries.are_texts and table.documents.are_texts):
            raise InvalidInputError("`df` must have texts as ids of queries and documents. Convert them by astype(str)")
        return list_rows(table, kind)
    except InvalidInputError as error:
        raise StructureError(*error.args) from None


def read_json(content: bytes, path: Any) -> Any:
    """Parse JSON, and raise StructureError with the path if the text is not valid."""
    try:
        return json.loads(content)
    except ValueError as error:
        raise StructureError(f"{path} must hold JSON, but does not: {error}. Correct the file.") from None


def read_lz4(path: Any) -> Any:
    """Read an LZ4 file: CBOR that is compressed twice, as ranx writes it, or JSON."""
    codec = optional_import("lz4.frame", "reading LZ4", "ranx")
    try:
        content = codec.decompress(Path(path).read_bytes())
        if content.startswith(LZ4_START):
            content = codec.decompress(content)
    except (EOFError, RuntimeError) as error:
        raise FileError(f"{path} must be a complete lz4 file, but is not: {error}. Write it again.") from None
    if content.lstrip()[:1] == b"{":
        return read_json(content, path)
    cbor2 = optional_import("cbor2", "reading ranx's LZ4 files", "ranx")
    try:
        return cbor2.loads(content)
    except (cbor2.CBORDecodeError, ValueError) as error:
        raise StructureError(f"{path} must hold CBOR or JSON, but does not: {error}. Write it again.") from None


def encode_lz4(rows: Rows) -> bytes:
    """Return CBOR that is compressed twice, as in ranx."""
    codec = optional_import("lz4.frame", "writing LZ4", "ranx")
    cbor2 = optional_import("cbor2", "writing ranx's LZ4 files", "ranx")
    content: bytes = codec.compress(codec.compress(cbor2.dumps(rows), compression_level=16))
    return content


def save_rows(
    rows: Rows, path: Any, kind: str, table: type[ReadQrels] | type[ReadRun], name: str = DEFAULT_TAG
) -> None:
    """Write rows in the format `kind`, in TREC's as a table. A run without a name has the name None, as in ranx."""

    def encode_trec() -> bytes:
        return b"".join(WRITERS["trec"](table.from_dict(rows), name))

    encoders: dict[str, Callable[[], bytes]] = {
        "json": lambda: encode_json(rows),
        "lz4": lambda: encode_lz4(rows),
        "parquet": lambda: encode_parquet(rows),
        "trec": encode_trec,
        "gz": lambda: gzip.compress(encode_trec(), mtime=0),
    }
    write_whole(path, [encoders[kind]()])


def encode_json(rows: Rows) -> bytes:
    """Return rows as JSON. Raise InvalidInputError for NaN and infinite scores, which JSON lacks."""
    try:
        return json.dumps(rows, indent=2, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise InvalidInputError(
            f"scores in JSON must be finite, but one is not: {error}. Remove it, or save as 'trec' or 'parquet'."
        ) from None


def encode_parquet(rows: Rows) -> bytes:
    """Return rows as a Parquet file with the columns q_id, doc_id and score."""
    file = io.BytesIO()
    make_frame(rows).to_parquet(file, index=False)
    return file.getvalue()


def make_frame(rows: Rows) -> Any:
    """Return rows as a pandas DataFrame with the columns q_id, doc_id and score."""
    pandas = optional_import("pandas", "a pandas frame", "pandas")
    flat = [(query, document, number) for query, row in rows.items() for document, number in row.items()]
    return pandas.DataFrame(flat, columns=["q_id", "doc_id", "score"])
