"""
Columns of data frames: pandas, Polars, pyarrow, DuckDB, others with an Arrow stream, and those of rare_tables.py.

Which column has the queries, the documents, the labels and the scores is chosen from the names alone. Of several
columns with usual names for queries or documents the first of these counts that only one column is: ``qid`` and
``docno``; other names of ids, before ``query`` and the like, which may be texts; the exact spelling of the table below.

Then pyarrow reads the chosen columns, and no others. It takes columns without a copy, knows all of Arrow's forms of
texts (views, dictionaries, chunks), and reads Parquet.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import re
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from fastndcg.errors import Column, InvalidInputError, InvalidTypeError, Row, join_names, shorten
from fastndcg.inputs.arrays import LIST_TYPES, Ragged, convert_decimals, find_first_null, find_list, flatten_lists
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.table_sources import (
    REMEDY,
    VALID,
    TableSource,
    check_column,
    convert_arrow_errors,
    pyarrow,
)
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name

# usual names, which also count in other letter cases and with other blanks, "_", "-" or "."
NAMES = {
    "query": (
        "query queries query_id query_ids qid q topic topic_id user user_id user_idx uid customer customer_id visitor "
        "visitor_id session session_id group group_id question question_id search_id srch_id"
    ),
    "document": (
        "document documents document_id document_ids doc docs doc_id doc_ids docno did passage passage_id pid "
        "corpus_id item items item_id item_ids item_idx iid product product_id article article_id movie movie_id news "
        "news_id book book_id track track_id video video_id chunk_id node_id asin parent_asin"
    ),
    "label": "label labels relevance rel rating ratings grade judgment judgement target y_true r_ui",
    "score": "score scores prediction predictions pred preds similarity sim y_score y_pred est",
    "subtopic": "subtopic subtopic_id nugget nugget_id",
    "importance": "importance nugget_importance",
    "rank": "rank ranks position pos",
    # lists of ids, one row a query
    "relevant": (
        "relevant relevant_ids relevant_docs relevant_doc_ids relevant_documents relevant_items expected expected_ids "
        "expected_doc_ids ground_truth ground_truth_ids ground_truth_doc_ids ground_truth_context gold gold_ids "
        "gold_docs gold_doc_ids actual positive_ids reference_ids reference_context_ids target_ids true_ids "
        "y_true_list retrieval_gt"
    ),
    "retrieved": (
        "retrieved retrieved_ids retrieved_docs retrieved_doc_ids retrieved_documents retrieved_items "
        "retrieved_context retrieved_context_ids retrieved_node_ids predicted predicted_ids predicted_items "
        "recommended recommended_ids recommended_items recommendations recommendation recs results result_ids hits "
        "ranking ranked_ids ranked_list y_reco_list"
    ),
}
SPAN_NAMES = {  # of text, which other tables do not have
    "start": "start start_index start_char char_start start_offset start_pos start_idx begin",
    "end": "end end_index end_char char_end end_offset end_pos end_idx stop",
    "weight": "weight weights",
}
ROLES = ("query", "document", "label", "score", "subtopic", "importance", "rank")  # that `columns` may name
# the table that has the role, of two
HOLDERS = {
    "label": "truth", "subtopic": "truth", "importance": "truth", "score": "predictions", "rank": "predictions",
}  # fmt: skip
# usual where no other column has a usual name: RecTools' labels and clicks, and on each side the words of the other one
LAST_LABELS = "weight click clicks clicked"
LABELS_OF_TRUTH = "score scores"
SCORES_OF_RUNS = "rating ratings weight"
FIRST_IDS = ("qid", "docno")
# of vector stores: `_distance`, `l2_distance`, `dist`. Only a user takes such a column for scores, by naming it
DISTANCE = re.compile("(l1|l2|cos|cosine|euclidean|manhattan|hamming|jaccard|vec|vector)?(distances?|dists?)")
# what lacks a role, but has another one, may be swapped with the other side
SWAPPED = {
    "score": ("label", "It looks like judgments, which come first. Give a run in its place"),
    "label": ("rank", "It looks like a run, which comes after the judgments. Give judgments in its place"),
}


@functools.cache
def _spell(words: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return names as they are spelled, and their letters and digits alone."""
    names = words.split()
    return frozenset(names), frozenset(map(simplify, names))


@functools.lru_cache(maxsize=4096)
def simplify(name: str) -> str:
    """Return a name in small letters, without blanks, "_", "-" and "."."""
    return re.sub(r"[\s_.\-]", "", name.lower())


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """
    What is known of the columns of one side before its table is seen.

    Attributes
    ----------
    by_role : dict
        The names that the user gave for this side. With a side, the table must have them all.
    side : {'', 'truth', 'predictions'}
        Empty for a table of unknown side.
    is_alone : bool, optional
        True for a truth without predictions, which may hold scores. None if that is not known.
    parents : str, optional
        The column of the documents of chunks, which has no other role.
    """

    by_role: Mapping[str, str] = field(hash=False)
    side: str = ""
    is_alone: bool | None = None
    parents: str | None = None

    @classmethod
    def of(cls, columns: Any, side: str = "", *, is_alone: bool | None = False) -> ColumnNames:
        """
        Read `columns` as the user gave it, or return a value of this class.

        One dict may serve both sides: a role that only the other one has is left out.
        """
        if isinstance(columns, cls):
            return columns
        by_role = {} if columns is None else read_columns(columns)
        if side and not is_alone:
            by_role = {role: name for role, name in by_role.items() if HOLDERS.get(role, side) == side}
        return cls(by_role, side, is_alone if side else None)

    def find(self, role: str, names: Collection[str]) -> list[str]:
        """Return the columns that may have a role: one if it is clear, none, or several."""
        named = self.by_role.get(role)
        if named is not None and (self.side or named in names):
            return [named]
        free = self.list_free(role, names)
        usual = find_usual_names(role, free)
        if role == "label":
            usual = usual or _choose(_spell(LAST_LABELS), free)
            if self.side == "truth" and not self.is_alone:
                usual = usual or _choose(_spell(LABELS_OF_TRUTH), free)
        if role == "score" and self.side == "predictions":
            usual = usual or _choose(_spell(SCORES_OF_RUNS), free)
        return usual or ([named] if named is not None else [])

    def list_free(self, role: str, names: Collection[str]) -> Collection[str]:
        """Return the columns that the user did not name for another role."""
        if not self.by_role:
            return names
        taken = {name for other, name in self.by_role.items() if other != role}
        return [name for name in names if name not in taken] if taken else names


@functools.lru_cache(maxsize=256)
def find_roles(known: ColumnNames, names: tuple[str, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return the columns that may have each role, cached: calls of one program have tables of few kinds."""
    names = tuple(name for name in names if name != known.parents)
    found = {role: tuple(known.find(role, names)) for role in (*ROLES, "retrieved", *SPAN_NAMES)}
    if not found["document"] and known.side:
        found["document"] = tuple(known.find("relevant" if known.side == "truth" else "retrieved", names))
    return MappingProxyType(found)


def read_columns(columns: Any) -> dict[str, str]:
    """Check `columns`, and return the names by role."""
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns.values()):
        raise InvalidTypeError(f"`columns` must map {', '.join(ROLES)} to names of columns, not {shorten(columns)}")
    for role in columns:
        if role not in ROLES and role not in SPAN_NAMES:
            raise InvalidInputError(f"`columns` must have keys among {', '.join(ROLES)}, not {shorten(role)}")
    return dict(columns)


def find_usual_names(role: str, names: Iterable[str]) -> list[str]:
    """Return the columns with usual names for a role: one if it is clear, none, or several."""
    if role not in ("query", "document"):
        return _choose(_spell(NAMES[role] if role in NAMES else SPAN_NAMES[role]), names)
    spelled, all_letters = _spell(NAMES[role])
    usual = _choose_all(all_letters, names)
    if len(usual) < 2:
        return usual

    def order(name: str) -> tuple[int, bool]:
        letters = simplify(name)
        kind = 0 if letters in FIRST_IDS else 1 if letters.endswith(("id", "ids", "idx")) else 2
        return kind, name not in spelled

    first = min(map(order, usual))
    return [name for name in usual if order(name) == first]


def is_distance(name: str) -> bool:
    """Return True for a usual name of distances, which are lower where documents are better."""
    return DISTANCE.fullmatch(simplify(name)) is not None


def note_distances(name: str) -> tuple[str, ...]:
    """Return a note if the name of a column of scores is a usual one of distances."""
    if not is_distance(name):
        return ()
    return (
        f"column {shorten(name)} has distances, of which lower is better: scores are its negative values. Rename it if "
        "higher is better",
    )


def find_usual_roles(names: Iterable[str]) -> dict[str, str]:
    """Return the role of each name that is usual for one."""
    names = list(names)
    return {name: role for role in NAMES for name in _choose_all(_spell(NAMES[role])[1], names)}


def _choose(usual: tuple[frozenset[str], frozenset[str]], names: Iterable[str]) -> list[str]:
    """Return the names of a set: those spelled exactly so if there are some, else those with the same letters."""
    spelled, letters = usual
    alike = _choose_all(letters, names)
    if len(alike) < 2:
        return alike
    return [name for name in alike if name in spelled] or alike


def _choose_all(letters: frozenset[str], names: Iterable[str]) -> list[str]:
    return [name for name in names if simplify(name) in letters]


PLAIN = {str, dict, list, tuple, type(None)}  # of values that are no frames
BY_NARWHALS = "open_by_narwhals"  # unless values have an Arrow stream
# Modules, some of their classes, and the function of rare_tables.py that opens values of these, or of classes that
# inherit from them.
RARE_FORMS = (
    ("datasets", "Dataset IterableDataset DatasetDict IterableDatasetDict", "open_hugging_face"),
    ("pyarrow", "RecordBatchReader", "open_arrow_dataset"),
    ("pyarrow._dataset", "Dataset Scanner", "open_arrow_dataset"),
    ("dask.dataframe", "DataFrame", "open_dask_frame"),
    ("polars", "LazyFrame", "open_lazy_frame"),
    ("duckdb", "DuckDBPyConnection", "read_duckdb_result"),
    ("narwhals", "DataFrame LazyFrame", "unwrap"),
    ("modin.pandas", "DataFrame", BY_NARWHALS),
    ("cudf", "DataFrame", BY_NARWHALS),
    ("ibis", "Table", BY_NARWHALS),
    ("pyspark.sql", "DataFrame", BY_NARWHALS),
    ("pyspark.sql.connect.dataframe", "DataFrame", BY_NARWHALS),
    ("sqlframe.base.dataframe", "BaseDataFrame", BY_NARWHALS),
)


def is_frame(value: Any) -> bool:
    """Return True for a data frame, a data set or a plan of one, but not for a single column."""
    if type(value) in PLAIN:
        return False
    if find_opener(value) is not None:
        return True
    if not hasattr(value, "__arrow_c_stream__"):
        return is_pandas(value)
    is_column = hasattr(value, "dtype") or hasattr(value, "type")
    return hasattr(value, "schema") or hasattr(value, "columns") or not is_column  # in pyarrow, columns decode names


def is_pandas(value: Any) -> bool:
    """Return True for a frame of pandas, or of a class that inherits from it."""
    return _is_of(type(value), "pandas", "DataFrame")  # type: ignore[arg-type]  # a type is hashable


def find_opener(value: Any) -> str | None:
    """Return the name of the function of rare_tables.py that opens a value, or None."""
    if isinstance(value, np.ndarray):
        return None if value.dtype.names is None else "read_structured_array"
    return _find_class_opener(type(value))  # type: ignore[arg-type]  # a type is hashable


@functools.lru_cache(maxsize=256)
def _find_class_opener(kind: type) -> str | None:
    for module, names, opener in RARE_FORMS:
        if _is_of(kind, module, names) and not (opener == BY_NARWHALS and hasattr(kind, "__arrow_c_stream__")):
            return opener
    return None


@functools.lru_cache(maxsize=1024)
def _is_of(kind: type, module: str, names: str) -> bool:
    """Return True if a class is one of a module, or inherits from one. The module is not imported."""
    known = (getattr(sys.modules.get(module), name, None) for name in names.split())
    return any(isinstance(one, type) and issubclass(kind, one) for one in known)


def open_table(value: Any, name: str) -> Any:
    """Open a value of a rare form, and return any other value, also a `TableSource`, as it is."""
    while (opener := find_opener(value)) is not None:
        from fastndcg.inputs import rare_tables  # late: most frames do without

        value = getattr(rare_tables, opener)(value, name)
    return value


class Frame:
    """The columns of a frame by role: query, document, label, score or subtopic."""

    def __init__(
        self, frame: Any, columns: ColumnNames | Mapping[str, str] | None, name: str, first_row: int = 0
    ) -> None:
        self.name = name
        self.first_row = first_row
        self.given = ColumnNames.of(columns)
        opened = open_table(frame, name)
        self._is_pandas = is_pandas(opened)
        self.tables = opened if isinstance(opened, TableSource) else None
        self._names, self._read, self._n_rows = open_columns(opened, name)
        self.candidates = find_roles(self.given, tuple(self._names))

    @functools.cached_property
    def _table(self) -> Any:
        """The columns with a role, read at once: the rows of some sources come only once."""
        found = filter(None, map(self.candidates.__getitem__, self._list_roles()))
        names = [name for name, *others in found if not others and self._names.count(name) == 1]
        table = self._read(list(dict.fromkeys(names)))
        self._n_rows = table.num_rows if self._n_rows is None else self._n_rows
        return table

    @property
    def is_streamable(self) -> bool:
        """True if rows have labels and scores. Ranks and lists of ids are read whole, as they are checked by query."""
        return self.has_scores and not self.is_ranked and self.find_id_lists() is None

    def _list_roles(self) -> list[str]:
        """Return the roles that columns of this side may have."""
        roles = ["query", "document"]
        if self.given.side != "predictions":
            roles += ["label", "subtopic", "importance"]
        if self.given.side != "truth" or self.given.is_alone is not False:
            roles.append("rank" if self.is_ranked else "score")
        return [*roles, "retrieved"] if self.given.is_alone else roles

    def __len__(self) -> int:
        return int(self._table.num_rows if self._n_rows is None else self._n_rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._names)

    def has(self, role: str) -> bool:
        """Return True if there is a column of a role. Raise if the user named one that is absent."""
        return bool(self.column_name(role) if role in self.given.by_role else self.candidates[role])

    def check_named(self) -> None:
        """Raise for a column that the user named and that is absent."""
        for role in self.given.by_role:
            self.has(role)

    @functools.cached_property
    def has_scores(self) -> bool:
        """True if rows have labels and scores, or ranks, and need no run."""
        given = self.given
        if given.side == "predictions" or given.is_alone is False:
            return False
        labels = self.candidates["label"]
        scores = self.candidates["score"]
        if not scores and (given.is_alone or not self.candidates["document"]):
            scores = self.candidates["rank"] if labels else ()
        if not scores or (labels == scores and not given.is_alone) or not (labels or given.is_alone):
            return False
        if self.has("subtopic"):
            raise InvalidInputError(
                f"`{self.name}` must have no scores if it has subtopics, but column "
                f"{shorten(self.column_name('subtopic'))} has the usual name of one: give the run apart, or rename the "
                "column"
            )
        return True

    @functools.cached_property
    def is_interactions(self) -> bool:
        """True if the only columns are queries and documents, so that no column of labels was overlooked."""
        names = [name for name in self._names if not name.startswith("__index_level_")]  # of pandas
        return len(names) == 2 and self.has("query") and self.has("document") and "label" not in self.given.by_role

    @functools.cached_property
    def is_ranked(self) -> bool:
        """True if rows have ranks in place of scores. Scores count where there are both."""
        named = self.given.by_role
        there = [role for role in ("score", "rank") if named.get(role) in self._names] if named else ()
        if there:
            return there[0] == "rank"
        if "score" in named or not self.candidates["rank"]:
            return False
        return not find_usual_names("score", self.given.list_free("score", self._names))

    def list_names(self, *roles: str) -> list[str]:
        """
        Return the names of the columns of some roles.

        Ranks replace scores if rows have no scores. Labels of interactions, absent subtopics, and what lists of ids
        and rows with scores do without, are left out.
        """
        optional = {"subtopic", "importance"} | ({"label"} if self.is_interactions else set())
        if self.has_scores:
            optional |= {"document"}
        elif self.has_id_lists:
            optional |= {"query", "label", "score"}
        there = ["rank" if role == "score" and self.is_ranked else role for role in roles]
        return [self.column_name(role) for role in there if role not in optional or self.has(role)]

    @property
    def has_list_columns(self) -> bool:
        """True if each row is a query with a list of scores, and with lists of labels and documents."""
        score = self.column_name("rank" if self.is_ranked else "score")
        has_lists = self._kind(score).startswith(LIST_TYPES)
        for role in ("label", *["document"] * self.has("document")):
            name = self.column_name(role)
            if self._kind(name).startswith(LIST_TYPES) != has_lists:
                raise InvalidInputError(
                    f"`{self.name}` must have lists of scores and of {role}s, or neither, but column "
                    f"{shorten(score)} has the type {self._kind(score)} and {shorten(name)} has {self._kind(name)}. "
                    "Make them alike, or drop it, or name another: ",
                    Column(role),
                )
        return has_lists

    def find_id_lists(self) -> tuple[Frame, Frame] | None:
        """
        Return a frame of relevant ids and one of retrieved ids, if each row is a query with a list of both.

        Lists of ids may be in columns of labels and scores if they are texts.
        """
        if self.given.side == "predictions" or self.given.is_alone is False:
            return None
        roles = self.candidates
        if roles["document"] and roles["label"] and roles["score"] and not self.given.by_role:  # a row a document
            return None
        names = {
            role: [name for name in self.candidates[role] if name in self._names]
            for role in ("document", "retrieved", "label", "score")
        }
        if names["label"] and names["score"]:
            if names["document"] or not self._hold_ids(names["label"], names["score"]):
                return None
            relevant, retrieved = names["label"], names["score"]
        else:
            relevant, retrieved = names["document"] or names["label"], names["retrieved"] or names["score"]
        if len(relevant) != 1 or len(retrieved) != 1 or relevant == retrieved:
            return None
        if not all(map(self._has_lists, (*relevant, *retrieved))):
            return None
        frames = []
        for side, role, document in (("truth", "label", relevant[0]), ("predictions", "score", retrieved[0])):
            by_role = {"document": document}
            if self.candidates["query"]:
                by_role["query"] = self.column_name("query")
            if names[role] and names[role][0] not in (relevant[0], retrieved[0]):
                by_role[role] = self.column_name(role)
            view = copy.copy(self)
            for cached in ("has_scores", "is_ranked", "is_interactions", "notes"):
                view.__dict__.pop(cached, None)
            view.given = ColumnNames(by_role, side, is_alone=False)
            view._names = list(by_role.values())
            view.candidates = find_roles(view.given, tuple(view._names))
            frames.append(view)
        return frames[0], frames[1]

    def _hold_ids(self, labels: list[str], scores: list[str]) -> bool:
        """Return True if columns of labels and scores have lists of texts."""
        if len(labels) != 1 or len(scores) != 1 or labels == scores:
            return False
        names = labels + scores
        return all(map(self._has_lists, names)) and any(map(self._holds_texts, names))

    def _kind(self, name: str) -> str:
        """Return the type of a column, as error messages call it."""
        return str(self._table.column(name).type)

    def _has_lists(self, name: str) -> bool:
        """Return True if a column has lists."""
        return self._kind(name).startswith(LIST_TYPES)

    def _holds_texts(self, name: str) -> bool:
        """Return True if a column has lists of texts."""
        return "string" in self._kind(name)

    @property
    def has_id_lists(self) -> bool:
        """True if each row is a query with a list of ids."""
        return len(self.candidates["document"]) == 1 and self._has_lists(self.column_name("document"))

    @property
    def has_groups(self) -> bool:
        """True if the lists of documents hold lists: groups of ids."""
        return str(self._table.column(self.column_name("document")).type.value_type).startswith(LIST_TYPES)

    @functools.cached_property
    def notes(self) -> tuple[str, ...]:
        """The note on a column of scores that has distances."""
        names = () if self.is_ranked else self.candidates["score"]
        return note_distances(names[0]) if len(names) == 1 and names[0] in self._names else ()

    def _orient(self, role: str, values: Array) -> Array:
        """Return the numbers of a column, those of distances as negative scores."""
        if role != "score" or not self.notes:
            return values
        return -(values if values.dtype.kind in "if" else values.astype("f8"))

    def read_lists(self, role: str) -> Ragged:
        """Read a column of lists of numbers. Distances are negative scores."""
        name, column = self._column(role)
        values, offsets = self._flatten(name, column)
        return Ragged(self._orient(role, self._to_numbers(name, values, offsets)), offsets)

    def read_numbers(self, role: str) -> Array:
        """
        Read a column of numbers: decimals as float64, nulls of pandas as NaN, labels of interactions as 1.

        Distances are negative scores.
        """
        if role == "label" and self.is_interactions:
            return np.ones(len(self), "i1")
        return self._orient(role, self._to_numbers(*self._column(role)))

    def read_id_lists(self, role: str) -> tuple[IdColumn, Array]:
        """Read the ids in a column of lists, and the offsets of the lists."""
        name, column = self._column(role)
        values, offsets = self._flatten(name, column)
        return self._to_ids(name, values, offsets), offsets

    def read_groups(self) -> list[Any]:
        """Read the groups of ids of each row."""
        name, column = self._column("document")
        self._refuse_nulls(name, column)
        return column.to_pylist()  # type: ignore[no-any-return]

    def read_ids(self, role: str) -> IdColumn:
        """Read a column of ids."""
        return self._to_ids(*self._column(role))

    def number_rows(self) -> IdColumn:
        """Return the number of each row, as the id of a query."""
        return IdColumn.from_numbers(self.first_row + np.arange(len(self)))

    def _column(self, role: str) -> tuple[str, Any]:
        """Return the name and the content of the column of a role, after checking its buffers."""
        name = self.column_name(role)
        column = self._table.column(name)
        what = f"column {name!r} of `{self.name}`"
        if len(column) != self._n_rows:
            raise InvalidInputError(
                f"{what} must have a value in each of {self._n_rows} rows, but has {len(column)}. Write the data anew"
            )
        check_column(column, what, self.first_row)
        return name, column

    def _flatten(self, name: str, column: Any) -> tuple[Any, Array]:
        """Return the values of a column of lists, and the offsets of the lists."""
        return flatten_lists(column, f"column {name!r} of `{self.name}`", functools.partial(self._refuse_nulls, name))

    def _to_ids(self, name: str, column: Any, offsets: Array | None = None) -> IdColumn:
        """Convert a column, or with offsets the values of its lists, to ids."""
        if column.null_count:
            self._refuse_nulls(name, column, offsets)
        types = pyarrow.types
        if types.is_dictionary(column.type):
            kind = column.type.value_type
            kind = kind if types.is_integer(kind) else pyarrow.large_string()
            chunks = [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks]
            column = pyarrow.chunked_array(chunks, kind)
            self._refuse_nulls(name, column, offsets)  # a category may be null, too
        if types.is_integer(column.type):
            return IdColumn.from_numbers(column.to_numpy())
        if offsets is not None and _are_whole(column):  # Spark's lists of ids are numbers with a fraction of 0
            return IdColumn.from_numbers(column.to_numpy().astype("i8"))
        if types.is_string(column.type) or types.is_large_string(column.type) or types.is_string_view(column.type):
            return _convert_texts(column.cast(pyarrow.large_string()))
        raise InvalidTypeError(
            f"column {shorten(name)} of `{self.name}` must hold texts or whole numbers, but "
            f"{'its type' if offsets is None else 'the type in its lists'} is {column.type}. Cast it to one of them"
        )

    def _to_numbers(self, name: str, column: Any, offsets: Array | None = None) -> Array:
        """Convert a column, or with offsets the values of its lists, to numbers."""
        types = pyarrow.types
        if types.is_decimal(column.type):
            with convert_arrow_errors(f"column {name!r} of `{self.name}`", VALID, REMEDY):
                column = convert_decimals(column)
        if self._is_pandas and types.is_floating(column.type) and column.null_count:
            column = column.fill_null(np.nan)
        if column.null_count:
            self._refuse_nulls(name, column, offsets)
        is_number = types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)
        if offsets is None and not is_number:
            raise InvalidTypeError(
                f"column {shorten(name)} of `{self.name}` must hold numbers, but its type is {column.type}"
                f"{_find_first_text(column, self.first_row)}. Cast it to int or float"
            )
        numbers: Array = column.to_numpy()
        return numbers

    @property
    def _noun(self) -> str:
        """Return the class that names columns of an argument of `evaluate`, or an empty text for a table read alone."""
        if self.name == "truth":
            return "fn.Rows" if self.given.is_alone else "fn.Qrels"
        return "fn.Run" if self.name == "predictions" else ""

    def column_name(self, role: str) -> str:
        """Return the name of the only column of a role. Raise if there is not exactly one."""
        names = self._names
        candidates = self.candidates[role]
        if len(candidates) == 1 and names.count(candidates[0]) == 1:
            return candidates[0]
        has = f"its columns are {join_names(names)}"
        if len(candidates) != 1:
            what = "more than one of its usual names" if candidates else "none of its usual names"
            lacks_labels = role == "label" and not (candidates or self.candidates["score"])
            without_labels = " or, if each document counts 1, only the columns of queries and documents" * lacks_labels
            is_swapped = role in SWAPPED and not candidates and self.given.side and self.candidates[SWAPPED[role][0]]
            hint = f"{SWAPPED[role][1]}. Or give " if is_swapped else "Give "
            distance = next((name for name in names if is_distance(name)), None)
            direction = ", of which higher is better" * (role == "score")
            if direction and distance is not None:
                direction = f", such as {shorten(distance)}, of which lower ranks first"
            raise InvalidInputError(
                f"`{self.name}` must have one column of {role} ids or values, but has {what}: {has}. {hint}",
                Column(role, self._noun),
                without_labels or direction,
            )
        remedy = () if names.count(candidates[0]) else (". Give ", Column(role, self._noun))
        raise InvalidInputError(
            f"`{self.name}` must have one column {shorten(candidates[0])}, but has {names.count(candidates[0])}: {has}",
            *remedy,
        )

    def _refuse_nulls(self, name: str, column: Any, offsets: Array | None = None) -> None:
        """Raise for a null in a column, or with offsets in its lists."""
        if column.null_count:
            place = find_first_null(column)
            row = self.first_row + (place if offsets is None else find_list(place, offsets))
            raise InvalidInputError(
                f"`{self.name}` must have no null, but column {shorten(name)} has one in ",
                Row(row),
                ". Drop or fill it",
            )


def open_columns(frame: Any, name: str) -> tuple[list[str], Callable[[list[str]], Any], int | None]:
    """Return the names of a frame's columns, a function that reads some of them, and the number of rows if known."""
    if isinstance(frame, TableSource):
        return list(frame.names), functools.partial(frame.read_whole, name=name), None
    select: Callable[[list[Any]], Any]
    n_rows = getattr(frame, "num_rows", None)
    if isinstance(frame, Mapping):
        keys = list(frame)
        select = functools.partial(_select_values, frame.__getitem__)
    elif is_pandas(frame):
        n_rows = len(frame)
        levels = [level for level in frame.index.names if level is not None and level not in frame.columns]
        keys = [*frame.columns, *levels]
        get = lambda key: frame.index.get_level_values(key) if key in levels else frame[key]  # noqa: E731
        select = functools.partial(_select_values, get if levels else frame.__getitem__)
    elif hasattr(frame, "project") and hasattr(frame, "columns"):  # of DuckDB
        keys = list(frame.columns)
        select = functools.partial(_project, frame)
    elif hasattr(type(frame), "select") and not hasattr(type(frame), "column_names"):  # of Polars, Ibis and Spark
        keys = list(frame.columns)
        select = lambda chosen: as_table(frame.select(chosen))  # noqa: E731
    else:
        with _conversion(name, frame):
            table = as_table(frame)
            keys = table.column_names
        select = table.select
    names = list(map(str, keys))
    keys_by_name = dict(zip(names, keys, strict=True))

    def read(columns: list[str]) -> Any:
        with _conversion(name, frame):
            return select(list(map(keys_by_name.__getitem__, columns)))

    return names, read, n_rows


def _select_values(get: Callable[[Any], Any], keys: list[Any]) -> Any:
    """Convert the columns of some keys."""
    return pyarrow.table({str(key): _convert_ascii(get(key)) for key in keys})


def _convert_ascii(values: Any) -> Any:
    """Return texts of NumPy as an Arrow array if all are ASCII, and other values as they are: pyarrow is slower."""
    column = IdColumn.of_ascii(values)
    if column is None:
        return values
    offsets, data = map(pyarrow.py_buffer, (column.ids.offsets, column.ids.data))
    return pyarrow.LargeStringArray.from_buffers(len(column), offsets, data)


def _project(relation: Any, names: list[str]) -> Any:
    """Compute some columns of a relation of DuckDB."""
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    return as_table(relation.project(", ".join(quoted)) if names else relation)


@contextlib.contextmanager
def _conversion(name: str, frame: Any) -> Iterator[None]:
    """Replace pyarrow's errors for columns that it cannot convert."""
    try:
        yield
    except (pyarrow.ArrowException, TypeError, ValueError, OverflowError) as error:
        is_coded = isinstance(error, UnicodeError)
        reason = str(error) if is_coded else " ".join(str(part) for part in error.args)
        columns = frame.values() if isinstance(frame, Mapping) else ()
        sizes = {len(column) for column in columns if isinstance(column, Sized) and getattr(column, "shape", 0) != ()}
        remedy = "Give them one length" if len(sizes) > 1 else "Cast them to numbers or texts"
        raise InvalidInputError(
            f"`{name}` must convert to Arrow columns, but does not: {show_name(reason)}. {remedy}"
        ) from None


def as_table(frame: Any) -> Any:
    """Convert a frame to a pyarrow Table, without a stream if possible: streams lose the sizes of buffers."""
    if isinstance(frame, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([frame])
    return frame if isinstance(frame, pyarrow.Table) else pyarrow.table(frame)


def _are_whole(column: Any) -> bool:
    """Return True for whole numbers within 2**53."""
    types = pyarrow.types
    if not types.is_floating(column.type):
        return bool(types.is_integer(column.type))
    values = column.to_numpy()
    with np.errstate(invalid="ignore"):
        return bool(((values % 1 == 0) & (np.abs(values) <= 2**53)).all())


def _find_first_text(column: Any, first_row: int) -> str:
    """Return the first text of a column that is no number, and its row, or an empty text."""
    for row, value in enumerate(column.to_pylist() if "string" in str(column.type) else ()):
        try:
            float(value)
        except ValueError:
            return f", such as {shorten(value)} in row {first_row + row}"
        except TypeError:
            break
    return ""


def _convert_texts(column: Any) -> IdColumn:
    """Convert a column of large strings to ids, without a copy if it is one chunk."""
    texts = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if not len(texts):
        return IdColumn.of_texts([])
    _, offsets, data = texts.buffers()
    bounds = np.frombuffer(offsets, "i8", texts.offset + len(texts) + 1)[texts.offset :]
    return IdColumn.of_bytes(np.frombuffer(data, "u1") if data is not None and data.size else np.empty(0, "u1"), bounds)
