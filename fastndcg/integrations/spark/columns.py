"""Columns of Spark's DataFrames by role, checked before a job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from fastndcg.errors import Choice, InvalidInputError, InvalidTypeError, Place, Row, cut, join_names, reworded, shorten
from fastndcg.errors import Column as NamedColumn
from fastndcg.inputs.frames import Frame, is_distance
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.validation import check_whole_number
from fastndcg.runtime.imports import OptionalPackage, optional_import

pyarrow: Any = OptionalPackage("pyarrow", "Spark", "spark")
compute: Any = OptionalPackage("pyarrow.compute", "Spark", "spark")

REMEDY = "For data of this machine take fn.evaluate."
LARGEST = 1 << 53  # the largest whole number up to which float64 has all
BY_BYTES = "UTF8_BINARY"  # the collation of texts that are equal if their bytes are
SIDE = "side"  # of a row: 0 for judgments, 1 for the first run, 2 for the second one


class Scored(NamedTuple):
    """
    The columns of a DataFrame with labels and scores, and whether they hold lists. `order` may be None.

    Spark has the columns by their roles, as `mapInArrow` reads a dot in a name as a field of a struct. Tasks restore
    the names of the user for messages.
    """

    names: dict[str, str]
    order: str | None
    has_lists: bool

    @property
    def all_names(self) -> dict[str, str]:
        """The names of the columns to read by role."""
        return self.names if self.order is None else self.names | {"order": self.order}

    def list_columns(self) -> list[str]:
        """Return the names of the columns to read, each once."""
        return list(dict.fromkeys(self.all_names.values()))

    def select(self, data: Any) -> Any:
        """Return a DataFrame with the columns to read, by role."""
        return data.selectExpr(*(f"{express(data, name)} AS {quote(role)}" for role, name in self.all_names.items()))

    def restore(self, batch: Any) -> Any:
        """Return a batch of Arrow with the names of the user in place of the roles."""
        names = self.all_names
        columns = {names[role]: batch.column(place) for place, role in enumerate(batch.schema.names)}
        return pyarrow.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


class Side(NamedTuple):
    """A table of judgments or a run: its DataFrame, the name in messages, and its columns by role."""

    data: Any
    what: str
    names: dict[str, str]
    are_texts: tuple[bool, bool]  # the ids of queries, and those of documents
    has_whole_values: bool


def say(part: Any, queries: Any = None) -> Any:
    """
    Return a part of a message in the words of Spark, without arguments of `fn.evaluate` and numbers of rows of a task.

    `queries` are those of the rows, None if rows are documents.

    >>> print(say(NamedColumn("label")), say(Place("the run", "row", 5)), say(Row(0, 20)), sep=", ")
    label=NAME, the run, two rows
    """
    match part:
        case NamedColumn(role):
            return f"{role}=NAME"
        case Place(name):
            return name
        case Row(number, None) if queries is not None:
            return f"the row of query {shorten(queries[number].as_py())}"
        case Row(_, other):
            return "a row" if other is None else "two rows"
    return part


def check_data(data: Any, name: str) -> None:
    """Raise an error for a value that is no DataFrame of Spark."""
    if not hasattr(data, "mapInArrow") or not hasattr(data, "repartition"):
        raise InvalidTypeError(
            f"`{name}` must be a DataFrame of Spark 3.5 or later, not {type(data).__name__}. "
            + ("Give all metrics as one text." if isinstance(data, str) and name == "predictions" else REMEDY)
        )


def check_names(names: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of columns that the user gave, by role. Raise an error for a value that is no text."""
    for role, name in names.items():
        if name is not None and not isinstance(name, str):
            raise InvalidTypeError(f"`{role}` must be the name of a column, not {type(name).__name__}. Pass a text.")
    return {role: name for role, name in names.items() if name is not None and role != "order"}


def check_partitions(value: Any) -> int | None:
    """Return the argument `partitions`: a whole number of 1 or more, or None for Spark's setting."""
    return None if value is None else check_whole_number(value, "partitions", 1)


@reworded(say)
def read_scored(data: Any, columns: Mapping[str, str], order: str | None) -> Scored:
    """Find the columns of a DataFrame with labels and scores, and check their types."""
    frame = _make_empty_frame(data, columns, "truth")
    _refuse_subtopics(frame)
    if not frame.has("score"):
        _refuse_absent_scores(frame)
    has_lists = frame.has("label") and frame.has("score") and frame.has_list_columns
    roles = ["label", "score", *["query"] * (not has_lists or frame.has("query"))]
    roles += ["document"] * frame.has("document")
    names = {role: frame.column_name(role) for role in roles}
    read_ids = frame.read_id_lists if has_lists else frame.read_ids
    if "query" in names:
        frame.read_ids("query")
    if "document" in names:
        read_ids("document")
    for role in ("label", "score"):
        (frame.read_lists if has_lists else frame.read_numbers)(role)
    if has_lists and order is not None:
        raise InvalidInputError("`order` must be left out for columns of lists, which are in order. Sort the lists.")
    _check_order(frame, data, order)
    return Scored(names, order, has_lists)


@reworded(say)
def read_side(data: Any, columns: Mapping[str, str], what: str, order: str | None = None) -> Side:
    """Find the columns of judgments or a run, and check their types."""
    check_data(data, what)
    frame = _make_empty_frame(data, columns, what)
    value = "label"
    if what == "qrels":
        _refuse_subtopics(frame)
    else:
        value = "rank" if frame.is_ranked else "score"
    are_texts = frame.read_ids("query").are_texts, frame.read_ids("document").are_texts
    names = {role: frame.column_name(role) for role in ("query", "document")}
    has_whole_values = True
    if value != "label" or not frame.is_interactions:
        has_whole_values = frame.read_numbers(value).dtype.kind in "iu"
        names[value] = frame.column_name(value)
    _check_order(frame, data, order)
    if order is not None:
        names["order"] = order
    return Side(data, what, names, are_texts, has_whole_values)


def check_id_types(qrels: Side, run: Side) -> None:
    """Raise an error for judgments and a run whose ids are texts on one side and numbers on the other."""
    for role, ours, theirs in zip(("query", "document"), qrels.are_texts, run.are_texts, strict=True):
        if ours != theirs:
            kinds = {True: "texts", False: "whole numbers"}
            raise InvalidTypeError(
                f"ids of {role} must have one type, but are {kinds[ours]} in the qrels and {kinds[theirs]} in the run. "
                "Cast them to one type."
            )


def bring_together(qrels: Side, runs: Sequence[Side]) -> Any:
    """Return a DataFrame with the rows of judgments and runs, which a column tells apart."""
    has_order = any("order" in run.names for run in runs)
    kind = "BIGINT" if all(side.has_whole_values for side in (qrels, *runs)) else "DOUBLE"
    together = None
    for side, table in enumerate((qrels, *runs)):
        value = next((table.names[role] for role in ("label", "score", "rank") if role in table.names), None)
        number = "1" if value is None else quote(value)
        if value is not None and value == table.names.get("score") and is_distance(value):
            number = f"(-{number})"
        if kind == "DOUBLE" and table.has_whole_values:  # an error in the task, as float64 lacks the number
            is_exact = f"{number} BETWEEN -{LARGEST} AND {LARGEST}"
            number = f"IF({is_exact}, CAST({number} AS DOUBLE), {number} * double('inf'))"
        expressions = [
            f"{express(table.data, table.names['query'])} AS query",
            f"{express(table.data, table.names['document'])} AS document",
            f"CAST({number} AS {kind}) AS value",
            f"CAST({side} AS TINYINT) AS {SIDE}",
        ]
        if has_order:
            order = express(table.data, table.names["order"]) if "order" in table.names else "NULL"
            expressions.append(f"{order} AS {quote('order')}")
        rows = table.data.selectExpr(*expressions)
        together = rows if together is None else together.unionByName(rows)
    return together


def check_ties(convention: Convention, order: str | None, *, has_lists: bool = False) -> None:
    """Raise an error for a tie policy by input order, which rows of Spark do not have."""
    if TIES[convention.ties].choose(group=False, label=False, input=True, id=False) and order is None and not has_lists:
        raise InvalidInputError(
            f"`order` must name a column for ties={shorten(convention.ties)}, as rows of Spark have no order. Name the "
            "column that has it, or take ",
            Choice("ties", ["average"]),
            ".",
        )


def quote(name: str) -> str:
    """Return the name of a column as Spark's expressions read it."""
    return "`" + name.replace("`", "``") + "`"


def express(data: Any, name: str) -> str:
    """
    Return the expression of a column.

    Texts with a collation are compared by their bytes, as on one machine.
    """
    collation = getattr(data.schema[name].dataType, "collation", BY_BYTES)  # Spark 3.5 has none
    return quote(name) if collation == BY_BYTES else f"{quote(name)} COLLATE {BY_BYTES}"


def _make_empty_frame(data: Any, columns: Mapping[str, str], name: str) -> Frame:
    """Return a frame with the columns of a DataFrame and without rows."""
    fields = [(field.name, _find_arrow_type(field.dataType)) for field in data.schema.fields]
    frame = Frame(pyarrow.schema(fields).empty_table(), columns, name)
    absent = next((role for role in columns if columns[role] not in frame.column_names), None)
    if absent is not None:
        raise InvalidInputError(
            f"`{absent}` must name a column of `{name}`, which has {join_names(frame.column_names)}, not "
            f"{shorten(columns[absent])}. Correct the name."
        )
    return frame


def _find_arrow_type(kind: Any) -> Any:
    """Return Arrow's type of a type of Spark, the type of nulls where Arrow has none."""
    types = optional_import("pyspark.sql.pandas.types", "Spark", "spark")
    try:
        return types.to_arrow_type(kind)
    except Exception:
        return pyarrow.null()


def _refuse_subtopics(frame: Frame) -> None:
    if frame.has("subtopic"):
        raise InvalidInputError(
            f"`{frame.name}` must have no subtopics, but column {shorten(frame.column_name('subtopic'))} has the usual "
            "name of one. Drop the column."
        )


def _refuse_absent_scores(frame: Frame) -> NoReturn:
    """Raise an error for data without scores: ranks, or judgments whose run is missing."""
    if frame.is_ranked:
        raise InvalidInputError(
            f"`{frame.name}` must have scores, but column {shorten(frame.column_name('rank'))} has ranks, and a higher "
            "score is better. Pass judgments and the run with ranks as two DataFrames, or a column of -rank by score=."
        )
    raise InvalidInputError(
        f"`{frame.name}` must have a column of scores, but has {join_names(frame.column_names)}. Name it: score=NAME, "
        "or pass a run: evaluate(qrels, run, metrics)."
    )


def _check_order(frame: Frame, data: Any, order: str | None) -> None:
    """Raise an error for an order that no column has, or one whose values cannot be compared."""
    if order is None:
        return
    if order not in frame.column_names:
        raise InvalidInputError(
            f"`order` must name a column of `{frame.name}`, which has {join_names(frame.column_names)}, not "
            f"{shorten(order)}. Correct the name."
        )
    types = pyarrow.types
    kind = data.schema[order].dataType
    arrow_kind = _find_arrow_type(kind)
    if types.is_nested(arrow_kind) or types.is_null(arrow_kind):
        raise InvalidTypeError(
            f"`order` must name a column of numbers, texts or times, but {shorten(order)} of `{frame.name}` has type "
            f"{cut(kind.simpleString())}. Name another column."
        )
