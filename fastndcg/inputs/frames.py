"""
Columns of data frames: pandas, Polars, pyarrow, DuckDB, others with an Arrow stream, and those of tables/registry.py.

pyarrow reads the stream. It takes columns without a copy, knows all of Arrow's forms of texts (views, dictionaries,
chunks), and reads Parquet.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastndcg.errors import Column, InvalidInputError, InvalidTypeError, Row, join_names, shorten
from fastndcg.inputs.arrow import check_column, convert_arrow_errors, read_offsets
from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.ragged import LIST_TYPES, Ragged, convert_decimals, find_first_null, find_list, flatten_lists
from fastndcg.inputs.tables.registry import find_table_form, open_tables
from fastndcg.inputs.tables.source import TableSource, convert_read_errors
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

# the usual names of columns, lower-case letters only
NAMES = {
    "query": {"query", "queries", "queryid", "queryids", "qid", "q", "topic", "topicid", "user", "userid", "uid",
              "session", "sessionid", "group", "groupid"},
    "document": {"document", "documentid", "doc", "docid", "docno", "did", "passage", "passageid", "pid", "corpusid",
                 "item", "itemid", "iid", "product", "productid"},
    "label": {"label", "labels", "relevance", "rel", "rating", "grade", "judgment", "judgement", "target", "ytrue"},
    "score": {"score", "scores", "prediction", "predictions", "pred", "preds", "similarity", "sim", "yscore", "ypred"},
    "subtopic": {"subtopic", "subtopicid"},
    "rank": {"rank", "ranks"},
}  # fmt: skip
# usual where no other column has a usual name: RecTools' labels, and clicks
LAST_NAMES = {"label": {"weight", "click", "clicks", "clicked"}}
HOLDERS = {
    "label": "truth",
    "subtopic": "truth",
    "score": "predictions",
    "rank": "predictions",
}  # the argument with this column, where judgments and a run are joined
SOURCE_ROWS = 1 << 16  # that libraries read at once


def is_frame(value: Any) -> bool:
    """Return True for a data frame, a data set or a plan of one, but not for a single column."""
    if find_table_form(value) is not None:
        return True
    if not hasattr(value, "__arrow_c_stream__"):
        return _is_pandas(value) and hasattr(value, "columns")
    is_column = hasattr(value, "dtype") or hasattr(value, "type")
    return hasattr(value, "schema") or hasattr(value, "columns") or not is_column  # in pyarrow, columns decode names


def check_columns(columns: Any) -> dict[str, str]:
    """Return the column names that the user gave, by role."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns.values()):
        raise InvalidTypeError(f"`columns` must map {', '.join(NAMES)} to names of columns, not {shorten(columns)}")
    for role in columns:
        if role not in NAMES:
            raise InvalidInputError(f"`columns` must have keys among {', '.join(NAMES)}, not {shorten(role)}")
    return dict(columns)


def refuse_unknown(columns: Any, columns_by_argument: Mapping[str, tuple[str, ...]]) -> None:
    """
    Raise for a named column that no argument has.

    `columns_by_argument` gives the columns of each argument, none for an argument that is no frame. A name for such an
    argument is ignored if another argument is a frame: the next call may pass a frame.
    """
    names_by_role = check_columns(columns)
    for role, name in names_by_role.items():
        holder = HOLDERS.get(role, "")
        if any(columns_by_argument.values()) and holder in columns_by_argument and not columns_by_argument[holder]:
            continue
        if not any(name in names for names in columns_by_argument.values()):
            has = ", ".join(f"`{argument}` has {join_names(names)}" for argument, names in columns_by_argument.items())
            raise InvalidInputError(
                f"`columns` must name columns that are there, but none is {shorten(name)}, named for {role}: {has}. "
                "Correct the name, or leave it out"
            )


class Frame:
    """The columns of a frame by role: query, document, label, score or subtopic."""

    def __init__(self, frame: Any, columns: Mapping[str, str] | None, name: str, first_row: int = 0) -> None:
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        self.name = name
        self.first_row = first_row
        self._names_by_role = check_columns(columns)
        self._is_pandas = _is_pandas(frame)
        opened = open_tables(frame, name)
        if isinstance(opened, TableSource):
            self._table = self._read_source(opened)
            self._names: list[str] = list(opened.names)
            return
        try:
            self._table = as_table(opened)
            self._names = self._table.column_names
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            is_coded = isinstance(error, UnicodeError)
            reason = str(error) if is_coded else " ".join(str(part) for part in error.args)
            sizes = {len(column) for column in opened.values()} if isinstance(opened, Mapping) else set()
            remedy = "Give them one length" if len(sizes) > 1 else "Cast them to numbers or texts"
            raise InvalidInputError(
                f"`{name}` must convert to Arrow columns, but does not: {show_name(reason)}. {remedy}"
            ) from None

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(self._names)

    def has(self, role: str) -> bool:
        """Return True if there is a column of a role. Raise if the user named one that is absent."""
        return bool(self._column(role) if role in self._names_by_role else self._usual(role))

    @property
    def has_scores(self) -> bool:
        """True if rows have scores and need no run. A name for scores that is absent here may be that of a run."""
        if self._names_by_role.get("score", "") not in ("", *self.column_names) or not self.has("score"):
            return False
        if self.has("subtopic"):
            raise InvalidInputError(
                f"`{self.name}` must have no scores if it has subtopics, but column "
                f"{shorten(self.column_name('subtopic'))} has the usual name of one: give the run apart, or rename the "
                "column"
            )
        return True

    @property
    def is_interactions(self) -> bool:
        """True if the only columns are queries and documents, so that no column of labels was overlooked."""
        names = [name for name in self._names if not name.startswith("__index_level_")]  # of pandas
        return len(names) == 2 and self.has("query") and self.has("document") and "label" not in self._names_by_role

    @property
    def is_ranked(self) -> bool:
        """True if rows have ranks in place of scores. Scores count where there are both."""
        is_there = {role: name in self._names for role, name in self._names_by_role.items()}
        if "rank" in is_there or "score" in is_there:
            return is_there.get("rank", False) and not is_there.get("score", False)
        return bool(self._usual("rank")) and not self._usual("score")

    def list_names(self, *roles: str) -> list[str]:
        """
        Return the names of the columns of some roles.

        Ranks replace scores if rows have no scores. Labels of interactions and absent subtopics are left out.
        """
        there = ["rank" if role == "score" and self.is_ranked else role for role in roles]
        there = [role for role in there if role != "label" or not self.is_interactions]
        return [self.column_name(role) for role in there if role != "subtopic" or self.has(role)]

    def column_name(self, role: str) -> str:
        """Return the name of the column of a role."""
        return self._choose_name(role)

    @property
    def has_list_columns(self) -> bool:
        """True if each row is a query with a list of scores, and with lists of labels and documents."""
        score, scores = self._column("score")
        for role in ("label", *["document"] * self.has("document")):
            name, column = self._column(role)
            if _holds_lists(column) != _holds_lists(scores):
                raise InvalidInputError(
                    f"`{self.name}` must have lists of scores and of {role}s, or neither, but column "
                    f"{shorten(score)} has the type {scores.type} and {shorten(name)} has {column.type}. Make "
                    "them alike, or drop it, or name another: ",
                    Column(role),
                )
        return _holds_lists(scores)

    def read_lists(self, role: str) -> Ragged:
        """Read a column of lists of numbers."""
        values, offsets = self._flattened(*self._checked_column(role))
        return Ragged(convert_decimals(values).to_numpy(), offsets)

    def read_id_lists(self, role: str) -> tuple[IdColumn, Array]:
        """Read the ids in a column of lists, and the offsets of the lists."""
        name, column = self._checked_column(role)
        values, offsets = self._flattened(name, column)
        return self._as_ids(name, values, offsets), offsets

    def read_ids(self, role: str) -> IdColumn:
        """Read a column of ids."""
        name, column = self._checked_column(role)
        self._refuse_nulls(name, column)
        return self._as_ids(name, column)

    def _as_ids(self, name: str, column: Any, offsets: Array | None = None) -> IdColumn:
        """Convert a column, or with offsets the values of its lists, to ids."""
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        types = pyarrow.types
        if types.is_dictionary(column.type):
            column = pyarrow.chunked_array(
                [_decode(chunk) for chunk in column.chunks], _choose_plain_type(column.type.value_type)
            )
            self._refuse_nulls(name, column, offsets)  # a category may be null, too
        if types.is_integer(column.type):
            return IdColumn.from_limbs(column.to_numpy())
        if types.is_string(column.type) or types.is_large_string(column.type) or types.is_string_view(column.type):
            return _convert_texts(column.cast(pyarrow.large_string()))
        raise InvalidTypeError(
            f"column {shorten(name)} of `{self.name}` must hold texts or whole numbers, but "
            f"{'its type' if offsets is None else 'the type in its lists'} is {column.type}. Cast it to one of them"
        )

    def read_numbers(self, role: str) -> Array:
        """Read a column of numbers: decimals as float64, nulls of pandas as NaN, labels of interactions as 1."""
        if role == "label" and self.is_interactions:
            return np.ones(len(self), "i1")
        name, column = self._checked_column(role)
        with convert_arrow_errors(self._describe(name)):
            column = convert_decimals(column)
        types = optional_import("pyarrow", "reading frames", "arrow").types
        if self._is_pandas and types.is_floating(column.type) and column.null_count:
            column = column.fill_null(np.nan)
        self._refuse_nulls(name, column)
        if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
            raise InvalidTypeError(
                f"column {shorten(name)} of `{self.name}` must hold numbers, but its type is {column.type}"
                f"{_find_first_text(column, self.first_row)}. Cast it to int or float"
            )
        numbers: Array = column.to_numpy()
        return numbers

    def _read_source(self, source: TableSource) -> Any:
        """Read the columns that may have a role."""
        names = {*find_usual_roles(source.names), *self._names_by_role.values()}
        columns = [name for name in dict.fromkeys(source.names) if name in names]
        with convert_read_errors(self.name):
            return source.read_whole(columns, SOURCE_ROWS)

    def _column(self, role: str) -> tuple[str, Any]:
        """Return the name and the content of the column of a role."""
        name = self._choose_name(role)
        return name, self._table.column(name)

    def _choose_name(self, role: str) -> str:
        """Return the name of the only column of a role. Raise if there is not exactly one."""
        names = self._names
        has = f"its columns are {join_names(names)}"
        candidates = self.candidates(role)
        if len(candidates) != 1:
            what = "more than one of its usual names" if candidates else "none of its usual names"
            lacks_labels = role == "label" and not (candidates or self.candidates("score"))
            without_labels = " or, if each document counts 1, only the columns of queries and documents" * lacks_labels
            raise InvalidInputError(
                f"`{self.name}` must have one column of {role} ids or values, but has {what}: {has}. Give ",
                Column(role),
                without_labels,
            )
        if names.count(candidates[0]) != 1:
            raise InvalidInputError(
                f"`{self.name}` must have one column {shorten(candidates[0])}, but has "
                f"{names.count(candidates[0])}: {has}"
            )
        return candidates[0]

    def _checked_column(self, role: str) -> tuple[str, Any]:
        """Return the name and the content of the column of a role, after checking its buffers."""
        name, column = self._column(role)
        if len(column) != len(self):
            raise InvalidInputError(
                f"{self._describe(name)} must have a value in each of {len(self)} rows, but has {len(column)}. Write "
                "the data anew"
            )
        check_column(column, self._describe(name), self.first_row)
        return name, column

    def _describe(self, name: str) -> str:
        """Return the name of a column for error messages."""
        return f"column {name!r} of `{self.name}`"

    def candidates(self, role: str) -> list[str]:
        """Return the possible columns of a role: the one that the user named, or those with usual names."""
        return [self._names_by_role[role]] if role in self._names_by_role else self._usual(role)

    def _usual(self, role: str) -> list[str]:
        """Return the columns with usual names for a role, without columns that the user named for another role."""
        other_names = {name for other, name in self._names_by_role.items() if other != role}
        return find_usual_names(role, [name for name in self._names if name not in other_names])

    def _flattened(self, name: str, column: Any) -> tuple[Any, Array]:
        """Return the values of a column of lists, and the offsets of the lists."""
        self._refuse_nulls(name, column)
        values, offsets = flatten_lists(column)
        check_column(values, f"the lists in {self._describe(name)}")
        self._refuse_nulls(name, values, offsets)
        return values, offsets

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


def find_usual_names(role: str, names: Iterable[str]) -> list[str]:
    """Return the names that are usual for a role."""
    return _choose_usual(role, _list_letters(names))


def find_usual_roles(names: Iterable[str]) -> dict[str, str]:
    """Return the role of each name that is usual for one."""
    letters = _list_letters(names)
    return {name: role for role in NAMES for name in _choose_usual(role, letters)}


def _list_letters(names: Iterable[str]) -> dict[str, str]:
    """Return the letters of each name in lower case."""
    return {name: re.sub("[^a-z]", "", name.lower()) for name in names}


def _choose_usual(role: str, letters: Mapping[str, str]) -> list[str]:
    """Return the names whose letters are usual for a role."""
    usual = [name for name in letters if letters[name] in NAMES[role]]
    return usual or [name for name in letters if letters[name] in LAST_NAMES.get(role, ())]


def as_table(frame: Any) -> Any:
    """Convert a frame to a pyarrow Table, without a stream if possible: streams lose the sizes of buffers."""
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    if isinstance(frame, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([frame])
    return frame if isinstance(frame, pyarrow.Table) else pyarrow.table(frame)


def _holds_lists(column: Any) -> bool:
    return str(column.type).startswith(LIST_TYPES)


def _find_first_text(column: Any, first_row: int) -> str:
    """Return the first text of a column that is no number, and its row, or an empty text."""
    if not re.search("string", str(column.type)):
        return ""
    for row, value in enumerate(column.to_pylist()):
        try:
            float(value)
        except ValueError:
            return f", such as {shorten(value)} in row {first_row + row}"
        except TypeError:
            break
    return ""


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


def _choose_plain_type(kind: Any) -> Any:
    """Return the type that dictionaries are read as."""
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    return kind if pyarrow.types.is_integer(kind) else pyarrow.large_string()


def _decode(chunk: Any) -> Any:
    """Replace the codes of a chunk of categories by the categories."""
    values = chunk.dictionary
    if values.type != _choose_plain_type(values.type):
        values = values.cast(_choose_plain_type(values.type))
    return values.take(chunk.indices)


def _convert_texts(column: Any) -> IdColumn:
    """Convert a column of large strings to ids, without a copy if it is one chunk."""
    texts = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    if not len(texts):
        return IdColumn.of_texts([])
    data = texts.buffers()[2]
    return IdColumn.of_bytes(
        np.frombuffer(data, "u1") if data is not None and data.size else np.empty(0, "u1"), read_offsets(texts)
    )
