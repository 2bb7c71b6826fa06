"""
Frames: columns of pandas, Polars, pyarrow, DuckDB and whatever else gives an Arrow stream.

pyarrow reads the stream: it takes the columns without copying them, knows every way in which Arrow writes texts
(views, dictionaries, chunks), and reads Parquet, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, optional_import
from fastndcg.inputs.columns import Column
from fastndcg.inputs.ragged import LIST_TYPES, Ragged, first_null, flattened, list_of, with_floats
from fastndcg.rankings import Array

# the usual names of columns, letters only, in small
NAMES = {
    "query": {"query", "queries", "queryid", "queryids", "qid", "q", "topic", "topicid", "user", "userid", "uid",
              "session", "sessionid", "group", "groupid"},
    "document": {"document", "documentid", "doc", "docid", "docno", "did", "passage", "passageid", "pid", "corpusid",
                 "item", "itemid", "iid", "product", "productid"},
    "label": {"label", "labels", "relevance", "rel", "rating", "grade", "judgment", "judgement", "target", "ytrue"},
    "score": {"score", "scores", "prediction", "predictions", "pred", "preds", "similarity", "sim", "yscore", "ypred"},
    "subtopic": {"subtopic", "subtopicid"},
}  # fmt: skip
HOLDERS = {"label": "truth", "subtopic": "truth", "score": "predictions"}  # where judgments and a run are joined


def is_frame(value: Any) -> bool:
    """Whether a value has columns that an Arrow stream gives, or will give; one column alone has none."""
    if not hasattr(value, "__arrow_c_stream__"):
        return (_is_pandas(value) and hasattr(value, "columns")) or _is_lazy(value)
    is_column = hasattr(value, "dtype") or hasattr(value, "type")
    return hasattr(value, "columns") or hasattr(value, "schema") or not is_column


def check_columns(columns: Any) -> dict[str, str]:
    """The columns that the user named, by what they hold."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping) or not all(isinstance(name, str) for name in columns.values()):
        raise InvalidTypeError(f"`columns` must map {', '.join(NAMES)} to names of columns, not {columns!r}")
    for role in columns:
        if role not in NAMES:
            raise InvalidInputError(f"`columns` must have keys among {', '.join(NAMES)}, not {role!r}")
    return dict(columns)


def refuse_unknown(columns: Any, known: Mapping[str, tuple[str, ...]]) -> None:
    """
    Refuse a named column that no argument has; `known` says what each has, none where it is no frame.

    Beside a frame, a name for what another argument holds that is none is passed over: the next one may be a frame.
    """
    asked = check_columns(columns)
    for role, name in asked.items():
        holder = HOLDERS.get(role, "")
        if any(known.values()) and holder in known and not known[holder]:
            continue
        if not any(name in names for names in known.values()):
            listed = ", ".join(
                f"`{given}` has {', '.join(map(repr, names)) or 'none'}" for given, names in known.items()
            )
            raise InvalidInputError(
                f"`columns` must name columns that are there, but none is {name!r}, named for {role}: {listed}; "
                "correct the name, or leave it out"
            )


class Frame:
    """The columns of a frame, by what they hold."""

    def __init__(self, frame: Any, columns: Mapping[str, str] | None, name: str, first_row: int = 0) -> None:
        if _is_lazy(frame):
            raise InvalidTypeError(
                f"`{name}` must hold rows, but is a LazyFrame, which only plans them: call .collect()"
            )
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        self.name = name
        self.first_row = first_row
        self._named = check_columns(columns)
        self._is_pandas = _is_pandas(frame)
        try:
            self._table = pyarrow.table(frame)
        except (pyarrow.ArrowException, TypeError, ValueError) as error:
            reason = " ".join(str(part) for part in error.args)
            raise InvalidInputError(
                f"`{name}` must turn into Arrow columns, but does not: {reason}; cast them to numbers or texts"
            ) from None

    def __len__(self) -> int:
        return int(self._table.num_rows)

    @property
    def column_names(self) -> tuple[str, ...]:
        """What all columns are called."""
        return tuple(self._table.column_names)

    def has(self, role: str) -> bool:
        """Whether there is a column for this; an error where one is named, and not there."""
        return bool(self._column(role) if role in self._named else self._usual(role))

    @property
    def are_scored(self) -> bool:
        """Whether rows have scores, and need no run; a name for scores that is not here may be that of a run."""
        if self._named.get("score", "") not in ("", *self.column_names) or not self.has("score"):
            return False
        if self.has("subtopic"):
            raise InvalidInputError(
                f"`{self.name}` must have no scores where it has subtopics, which column "
                f"{self.column_name('subtopic')!r} is taken for: give the run apart, or rename the column"
            )
        return True

    @property
    def are_pairs(self) -> bool:
        """Whether there are queries and documents and nothing else, so that no column of labels was overlooked."""
        names = [name for name in self._table.column_names if not name.startswith("__index_level_")]  # of pandas
        return len(names) == 2 and self.has("query") and self.has("document") and "label" not in self._named

    def names_of(self, *roles: str) -> list[str]:
        """What the columns for these are called; pairs have none of labels, and few judgments have subtopics."""
        there = (role for role in roles if role != "label" or not self.are_pairs)
        return [self.column_name(role) for role in there if role != "subtopic" or self.has(role)]

    def column_name(self, role: str) -> str:
        """What the column for this is called."""
        return self._column(role)[0]

    @property
    def are_lists(self) -> bool:
        """Whether rows are queries, with a list of scores each, and so of labels and of documents if there are any."""
        score, scores = self._column("score")
        for role in ("label", *["document"] * self.has("document")):
            name, column = self._column(role)
            if _holds_lists(column) != _holds_lists(scores):
                raise InvalidInputError(
                    f"`{self.name}` must have lists of both scores and {role}s, or of neither, but the type of column "
                    f"{score!r} is {scores.type} and that of column {name!r} is {column.type}; make them alike, or "
                    f"drop it, or name another: columns={{{role!r}: NAME}}"
                )
        return _holds_lists(scores)

    def lists(self, role: str) -> Ragged:
        """A column of lists of numbers."""
        values, offsets = self._flattened(*self._column(role))
        return Ragged(with_floats(values).to_numpy(), offsets)

    def lists_of_ids(self, role: str) -> tuple[Column, Array]:
        """The ids in a column of lists, and the lists' offsets."""
        name, column = self._column(role)
        values, offsets = self._flattened(name, column)
        return self._as_ids(name, values, offsets), offsets

    def ids(self, role: str) -> Column:
        """A column of ids."""
        name, column = self._column(role)
        self._refuse_nulls(name, column)
        return self._as_ids(name, column)

    def _as_ids(self, name: str, column: Any, offsets: Array | None = None) -> Column:
        """The ids in a column, or, where there are offsets, in its lists."""
        pyarrow = optional_import("pyarrow", "reading frames", "arrow")
        types = pyarrow.types
        if types.is_dictionary(column.type):
            column = pyarrow.chunked_array([_decoded(chunk) for chunk in column.chunks], _plain(column.type.value_type))
            self._refuse_nulls(name, column, offsets)  # a category may be null, too
        if types.is_integer(column.type):
            return Column.of_numbers(column.to_numpy())
        if types.is_string(column.type) or types.is_large_string(column.type) or types.is_string_view(column.type):
            return _texts(column.cast(pyarrow.large_string()))
        raise InvalidTypeError(
            f"column {name!r} of `{self.name}` must hold texts or whole numbers, but "
            f"{'its type' if offsets is None else 'the type in its lists'} is {column.type}; cast it to one of them"
        )

    def numbers(self, role: str) -> Array:
        """A column of numbers, decimals as the nearest float64; where pandas has none, NaN; labels of pairs are 1."""
        if role == "label" and self.are_pairs:
            return np.ones(len(self), "i1")
        name, column = self._column(role)
        column = with_floats(column)
        types = optional_import("pyarrow", "reading frames", "arrow").types
        if self._is_pandas and types.is_floating(column.type) and column.null_count:
            column = column.fill_null(np.nan)
        self._refuse_nulls(name, column)
        if not (types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type)):
            raise InvalidTypeError(
                f"column {name!r} of `{self.name}` must hold numbers, but its type is {column.type}"
                f"{_first_text(column, self.first_row)}; cast it to int or float"
            )
        numbers: Array = column.to_numpy()
        return numbers

    def _column(self, role: str) -> tuple[str, Any]:
        """The name of a column, and what it holds."""
        names = self._table.column_names
        listed = f"its columns are {', '.join(map(repr, names)) or 'none'}"
        found = self.candidates(role)
        if len(found) != 1:
            what = "more than one of its usual names" if found else "none of its usual names"
            lacks_labels = role == "label" and not (found or self.candidates("score"))
            pairs = " or, if each document counts 1, only the columns of queries and documents" * lacks_labels
            raise InvalidInputError(
                f"`{self.name}` must have one column of {role} ids or values, but has {what}: {listed}; "
                f"give columns={{{role!r}: NAME}}{pairs}"
            )
        if names.count(found[0]) != 1:
            times = names.count(found[0])
            raise InvalidInputError(f"`{self.name}` must have one column {found[0]!r}, but has {times}: {listed}")
        return found[0], self._table.column(found[0])

    def candidates(self, role: str) -> list[str]:
        """The columns that may be for this: the one that is named, there or not, or those with usual names."""
        return [self._named[role]] if role in self._named else self._usual(role)

    def _usual(self, role: str) -> list[str]:
        """The columns whose names are usual for this, those aside that the user named for something else."""
        taken = {name for other, name in self._named.items() if other != role}
        return usual_names(role, [name for name in self._table.column_names if name not in taken])

    def _flattened(self, name: str, column: Any) -> tuple[Any, Array]:
        """What the lists of a column hold, and their offsets."""
        self._refuse_nulls(name, column)
        values, offsets = flattened(column)
        self._refuse_nulls(name, values, offsets)
        return values, offsets

    def _refuse_nulls(self, name: str, column: Any, offsets: Array | None = None) -> None:
        """Refuse a null in a column, or, where there are offsets, in its lists."""
        if column.null_count:
            place = first_null(column)
            row = self.first_row + (place if offsets is None else list_of(place, offsets))
            raise InvalidInputError(
                f"`{self.name}` must have no null, but column {name!r} has one in row {row}; drop or fill it"
            )


def usual_names(role: str, names: Iterable[str]) -> list[str]:
    """Those of the names that are usual for this."""
    return [name for name in dict.fromkeys(names) if re.sub("[^a-z]", "", name.lower()) in NAMES[role]]


def _holds_lists(column: Any) -> bool:
    return str(column.type).startswith(LIST_TYPES)


def _first_text(column: Any, first_row: int) -> str:
    """The first of a column of texts that is no number, and its row; nothing of a column that holds none."""
    for row, value in enumerate(column.to_pylist()):
        try:
            float(value)
        except ValueError:
            return f", such as {value!r} in row {first_row + row}"
        except TypeError:
            break
    return ""


def _is_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


def _is_lazy(value: Any) -> bool:
    """Whether a value is a plan of a frame: of Polars, or of what wraps one."""
    return type(value).__name__ == "LazyFrame"


def _plain(kind: Any) -> Any:
    """The type that texts of dictionaries are read as."""
    pyarrow = optional_import("pyarrow", "reading frames", "arrow")
    return kind if pyarrow.types.is_integer(kind) else pyarrow.large_string()


def _decoded(chunk: Any) -> Any:
    """A chunk of categories as what they stand for."""
    values = chunk.dictionary
    if values.type != _plain(values.type):
        values = values.cast(_plain(values.type))
    return values.take(chunk.indices)


def _texts(column: Any) -> Column:
    """The bytes of a column of large strings, without a copy where it is in one chunk."""
    texts = column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
    _, offsets, data = texts.buffers()
    if not len(texts) or offsets is None:
        return Column.of_texts([])
    bounds = np.frombuffer(offsets, "i8")[texts.offset : texts.offset + len(texts) + 1]
    return Column.of_bytes(np.frombuffer(data, "u1") if data is not None and data.size else np.empty(0, "u1"), bounds)
