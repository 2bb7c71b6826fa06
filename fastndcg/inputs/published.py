"""Published means of systems over data sets: dicts, files, and tables that are long or wide."""

from __future__ import annotations

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from fastndcg.errors import InvalidInputError, InvalidTypeError, Words, join_names, shorten
from fastndcg.inputs.files import File
from fastndcg.inputs.formats import read_columns
from fastndcg.inputs.frames import is_frame, is_pandas, open_columns, open_table, simplify
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import MOST

# usual names of columns, which also count in other letter cases and with blanks, "_", "-" or "."
USUAL = {
    "system": "system systemname systemid model modelname modelid run runid runname method retriever",
    "dataset": "dataset datasetname datasetid task taskname taskid benchmark",
    "value": "value score mainscore mean result",
}
SUMMARY = re.compile(r"(average|avg|mean|overall|rank)(\W.*)?")  # of other columns, such as "Mean (Task)"
SHAPES = (
    "the columns system, dataset and value, or a column system and one a data set, or a column dataset and one a system"
)
TABLE = f"Give CSV, Parquet or Arrow with {SHAPES}, or JSON of {{system: {{dataset: value}}}}"

ROW = "row {}, column {}"
Cell = tuple[Any, Any, Any, str, Any, Any]  # a system, a data set, their value, and its place: a form with two parts


class Published(NamedTuple):
    """The means of each system by data set, without cells that are missing, and notes."""

    means: dict[str, dict[str, float]]
    notes: list[str]


def read_published(data: Any, columns: Mapping[str, str] | None = None) -> Published:
    """
    Read published means from a file, a frame, a list of records, or a dict of dicts. `columns` are names by role.

    >>> read_published([{"model": "a", "nq": 0.5, "fiqa": None}, {"model": "b", "nq": 0.4, "fiqa": 0.3}]).means
    {'a': {'nq': 0.5}, 'b': {'nq': 0.4, 'fiqa': 0.3}}

    Raises
    ------
    InvalidInputError
        If columns cannot be told, a value is no number, or a system has two values of a data set.
    """
    columns = columns or {}
    name = "`truths`"
    if isinstance(data, str | os.PathLike):
        with File(data) as file:
            name = file.name
            data = read_columns(file, "published means", TABLE, lambda names: _list_texts(names, columns))
        data = data[0] if isinstance(data, list) and len(data) == 1 else data
    if is_pandas(data):
        levels = [level for level in data.index.names if level is not None and level not in data.columns]
        frame = data.reset_index(level=levels) if levels else data
        data = frame.astype(object).where(frame.notna(), None).to_dict("list")
    elif isinstance(data, list) and data and all(isinstance(row, Mapping) for row in data):
        names = dict.fromkeys(key for row in data for key in row)
        data = {key: [row.get(key) for row in data] for key in names}
    lists = list(data.values()) if isinstance(data, Mapping) else []
    if isinstance(data, Mapping) and (not data or any(isinstance(row, Mapping) for row in lists)):
        if columns:
            raise InvalidInputError(
                f"{name} is {{system: {{dataset: value}}}}, without columns to name. Leave them out"
            )
        return _collect(list(data), _read_dict(data, name), name)
    if is_frame(data) or (all(isinstance(column, list) for column in lists) and len(set(map(len, lists))) == 1):
        return _collect([], _read_table(data, columns, name), name)
    raise InvalidTypeError(
        f"{name} without `systems` must be a frame with {SHAPES}, or {{system: {{data set: value}}}}, got "
        f"{shorten(data)}. Or pass `systems`."
    )


def _list_texts(names: list[str], columns: Mapping[str, str]) -> list[str]:
    """Return the columns of a file that name systems and data sets."""
    bare = [name.strip() for name in names]
    texts = {*_find("system", bare, columns), *_find("dataset", bare, columns)}
    return [name for name in names if name.strip() in texts]


def _find(role: str, names: list[str], columns: Mapping[str, str]) -> list[str]:
    """Return the columns that may have a role: one if it is clear, none, or several."""
    if role in columns:
        return [columns[role]]
    free = [name for name in names if name not in columns.values()]
    usual = USUAL[role].split()
    return [name for name in free if name == role] or [name for name in free if simplify(name) in usual]


def _read_dict(data: Mapping[Any, Any], name: str) -> Iterator[Cell]:
    """Yield the cells of {system: {data set: value}}."""
    for system, row in data.items():
        if not isinstance(row, Mapping):
            raise InvalidTypeError(f"{name}, {shorten(system)}: must be {{data set: value}}, not {shorten(row)}")
        yield from ((system, dataset, value, "{} of {}", dataset, system) for dataset, value in row.items())


def _read_table(table: Any, columns: Mapping[str, str], name: str) -> Iterator[Cell]:
    """Yield the cells of a table with a row a value, a row a system, or a row a data set."""
    if isinstance(table, Mapping):  # of lists, whose values may be of several types
        table = {str(key): column for key, column in table.items()}
        names = list(table)
    else:
        names, read, _ = open_columns(open_table(table, name.strip("`")), name.strip("`"))
    systems, datasets, values = (_find(role, names, columns) for role in USUAL)
    others = [other for other in names if other not in (*systems, *datasets)]
    is_long = bool(systems and datasets)
    values = others if is_long and not values else values
    found = [*systems, *datasets, *(values if is_long or "value" in columns else ())]
    chosen = found if is_long else names
    if (
        len(found) != 2 * is_long + 1 or len(systems) > 1 or len(datasets) > 1
        or any(names.count(used) != 1 for used in found) or len(set(chosen)) < len(chosen)
        or not set(columns) <= set(USUAL)
    ):  # fmt: skip
        raise InvalidInputError(
            f"{name} must have {SHAPES}, but has the columns {join_names(names)}. Name them ",
            Words(
                "so: frame.rename(columns={NAME: 'system'}), or frame.rename_axis('system') for an index.",
                "by --columns system=NAME,dataset=NAME,value=NAME, or give runs after QRELS.",
            ),
        )
    lists = table if isinstance(table, Mapping) else read(chosen).to_pydict()
    if is_long:
        for row, cell in enumerate(zip(*map(lists.__getitem__, found), strict=True)):
            yield (*cell, ROW, row, values[0])
        return
    for other in others:
        for row, (key, value) in enumerate(zip(lists[found[0]], lists[other], strict=True)):
            yield (*((key, other) if systems else (other, key)), value, ROW, row, other)


def _collect(systems: list[Any], cells: Iterator[Cell], name: str) -> Published:
    """Return the means of cells. Leave out data sets whose names are those of means over the others."""
    means: dict[str, dict[str, float]] = {str(system): {} for system in systems}
    summaries: dict[str, None] = {}
    for system, dataset, value, form, first, second in cells:
        own = means.setdefault(str(system), {})
        number = _read_number(value)
        if system is None or dataset is None:
            problem = "must be of a system and a data set, but a name is missing. Leave out the row."
        elif SUMMARY.fullmatch(simplify(str(dataset))):
            summaries[str(dataset)] = None
            continue
        elif abs(number) > MOST:
            problem = f"must have a number up to {MOST:g} as value, not {shorten(value)}. "
            problem += "Or pass `systems`." if isinstance(value, Mapping) else "Leave a missing cell empty."
        elif str(dataset) in own:
            problem = f"system {shorten(system)} must have one value of {shorten(dataset)}, but has two. Remove one."
        else:
            if not math.isnan(number):
                own[str(dataset)] = number
            continue
        raise InvalidInputError(f"{name}, {form.format(shorten(first), shorten(second))}: {problem}")
    shown = f"{join_names(summaries)}: means or ranks over data sets, which are left out. Rename what is a data set"
    return Published(means, [shown] if summaries else [])


def _read_number(value: Any) -> float:
    """Return a value as a float: NaN if it is missing, infinite if it is no number."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return math.nan
    number = as_float(value)
    if number is None and isinstance(value, str | Decimal):
        with contextlib.suppress(ValueError):
            number = float(value)
    return math.inf if number is None else number
