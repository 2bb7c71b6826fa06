"""Columns of Spark's DataFrames by role, checked before a job starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.frames import Frame
from fastndcg.integrations.spark.errors import name_arguments
from fastndcg.runtime.optional_packages import optional_import

LARGEST = 1 << 53  # the largest whole number up to which float64 has all
SIDE = "side"  # of a row: 0 for judgments, 1 for the first run, 2 for the second one


class Scored(NamedTuple):
    """The columns of a DataFrame with labels and scores, and whether they hold lists. `order` may be None."""

    names: dict[str, str]
    order: str | None
    has_lists: bool

    def list_columns(self) -> list[str]:
        """Return the names of the columns to read, each once."""
        return list(dict.fromkeys([*self.names.values(), *filter(None, [self.order])]))


class Side(NamedTuple):
    """A table of judgments or a run: its DataFrame, the name in messages, and its columns by role."""

    data: Any
    what: str
    names: dict[str, str]
    are_texts: tuple[bool, bool]  # the ids of queries, and those of documents
    has_whole_values: bool
    order: str | None = None


def check_data(data: Any, name: str) -> None:
    """Raise an error for a value that is no DataFrame of Spark."""
    if not hasattr(data, "mapInArrow") or not hasattr(data, "repartition"):
        raise InvalidTypeError(
            f"`{name}` must be a DataFrame of Spark 3.5 or later, not {type(data).__name__}. For data of this machine "
            "take fn.evaluate."
        )


def check_number(value: Any, name: str) -> int | None:
    """Return an argument that counts rows or partitions, or None."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidTypeError(f"`{name}` must be a whole number, got {shorten(value)}.")
    if value < 1:
        raise InvalidInputError(f"`{name}` must be at least 1, got {value}. Leave it out for the default.")
    return int(value)


@name_arguments()
def read_scored(data: Any, columns: Mapping[str, str], order: str | None) -> Scored:
    """Find the columns of a DataFrame with labels and scores, and check their types."""
    frame = _make_empty_frame(data, columns, "truth")
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
    _check_order(frame, order)
    return Scored(names, order, has_lists)


@name_arguments()
def read_side(data: Any, columns: Mapping[str, str], what: str, order: str | None = None) -> Side:
    """Find the columns of judgments or a run, and check their types."""
    check_data(data, what)
    frame = _make_empty_frame(data, columns, what)
    value = "label" if what == "qrels" else "score"
    if value == "label" and frame.has("subtopic"):
        raise InvalidInputError(
            f"`{what}` must have no subtopics, but column {shorten(frame.column_name('subtopic'))} has the usual name "
            "of one. Drop the column."
        )
    are_texts = frame.read_ids("query").are_texts, frame.read_ids("document").are_texts
    names = {role: frame.column_name(role) for role in ("query", "document")}
    has_whole_values = True
    if value == "score" or not frame.is_interactions:
        has_whole_values = frame.read_numbers(value).dtype.kind in "iu"
        names[value] = frame.column_name(value)
    _check_order(frame, order)
    return Side(data, what, names, are_texts, has_whole_values, order)


def bring_together(qrels: Side, runs: Sequence[Side]) -> Any:
    """Return a DataFrame with the rows of judgments and runs, which a column tells apart."""
    for run in runs:
        for role, ours, theirs in zip(("query", "document"), qrels.are_texts, run.are_texts, strict=True):
            if ours != theirs:
                kinds = {True: "texts", False: "whole numbers"}
                raise InvalidTypeError(
                    f"ids of {role} must have one type, but are {kinds[ours]} in the qrels and {kinds[theirs]} in the "
                    "run. Cast them to one type."
                )
    has_order = any(run.order for run in runs)
    kind = "BIGINT" if all(side.has_whole_values for side in (qrels, *runs)) else "DOUBLE"
    together = None
    for side, table in enumerate((qrels, *runs)):
        value = table.names.get("label" if side == 0 else "score")
        number = "1" if value is None else quote(value)
        if kind == "DOUBLE" and table.has_whole_values:  # an error in the task, as float64 lacks the number
            is_exact = f"{number} BETWEEN -{LARGEST} AND {LARGEST}"
            number = f"IF({is_exact}, CAST({number} AS DOUBLE), {number} * double('inf'))"
        expressions = [
            f"{quote(table.names['query'])} AS query",
            f"{quote(table.names['document'])} AS document",
            f"CAST({number} AS {kind}) AS value",
            f"CAST({side} AS TINYINT) AS {SIDE}",
        ]
        if has_order:
            expressions.append(f"{quote(table.order)} AS order" if table.order else "NULL AS order")
        rows = table.data.selectExpr(*expressions)
        together = rows if together is None else together.unionByName(rows)
    return together


def check_ties(convention: Convention, order: str | None, *, has_lists: bool = False) -> None:
    """Raise an error for a tie policy by input order, which rows of Spark do not have."""
    if convention.ties.startswith("input") and order is None and not has_lists:
        raise InvalidInputError(
            f"`order` must name a column for ties={shorten(convention.ties)}, as rows of Spark have no order. Name the "
            "column that has it, or take convention.replace(ties='average')."
        )


def quote(name: str) -> str:
    """Return the name of a column as Spark's expressions read it."""
    return "`" + name.replace("`", "``") + "`"


def _make_empty_frame(data: Any, columns: Mapping[str, str], name: str) -> Frame:
    """Return a frame with the columns of a DataFrame and without rows."""
    pyarrow = optional_import("pyarrow", "Spark", "spark")
    types = optional_import("pyspark.sql.pandas.types", "Spark", "spark")
    fields = []
    for field in data.schema.fields:
        try:
            fields.append(pyarrow.field(field.name, types.to_arrow_type(field.dataType)))
        except Exception:  # a type that Arrow lacks has no role here
            fields.append(pyarrow.field(field.name, pyarrow.null()))
    frame = Frame(pyarrow.schema(fields).empty_table(), columns, name)
    absent = next((role for role in columns if columns[role] not in frame.column_names), None)
    if absent is not None:
        raise InvalidInputError(
            f"`{absent}` must name a column of `{name}`, which has {join_names(frame.column_names)}, not "
            f"{shorten(columns[absent])}. Correct the name."
        )
    return frame


def _check_order(frame: Frame, order: str | None) -> None:
    if order is not None and order not in frame.column_names:
        raise InvalidInputError(
            f"`order` must name a column of `{frame.name}`, which has {join_names(frame.column_names)}, not "
            f"{shorten(order)}. Correct the name."
        )
