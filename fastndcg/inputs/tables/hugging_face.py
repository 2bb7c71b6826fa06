"""
Datasets of Hugging Face.

`Dataset.data` is the table before rows were filtered, shuffled or selected. Only the dataset's own readers follow its
indices, so rows are read by ``with_format("arrow")``.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.tables.source import TableSource, convert_read_errors

SPLITS = ("DatasetDict", "IterableDatasetDict")
FIRST_ROWS = 100  # that show the columns of a dataset without types


def is_hugging_face(value: Any) -> bool:
    """Return True for a Dataset, an IterableDataset, or a dict of splits."""
    kinds = {kind.__name__ for kind in type(value).__mro__ if kind.__module__.partition(".")[0] == "datasets"}
    is_one_split = hasattr(value, "with_format") and not kinds.isdisjoint(("Dataset", "IterableDataset"))
    return is_one_split or not kinds.isdisjoint(SPLITS)


def open_hugging_face(dataset: Any, name: str) -> TableSource:
    """Return the rows of a dataset, in its order. Raise for a dict of splits."""
    if isinstance(dataset, Mapping):
        split = next(iter(dataset), "test")
        raise InvalidTypeError(
            f"`{name}` must be one split, but is a {type(dataset).__name__} of {join_names(dataset)}. Pass one: "
            f"dataset[{shorten(split)}]"
        )
    if hasattr(dataset, "num_rows"):
        schema = dataset.features.arrow_schema
        read = functools.partial(_read, dataset)
        return TableSource(tuple(dataset.column_names), read, "any", schema, functools.partial(len, dataset))
    names = dataset.column_names
    if names is None:  # a generator without features
        with convert_read_errors(name):
            first = next(_iterate(dataset, FIRST_ROWS), None)
        if first is None:
            raise InvalidInputError(f"`{name}` must hold rows, but the IterableDataset has none. Check its generator")
        names = first.column_names
    return TableSource(tuple(names), functools.partial(_read, dataset), "costly")


def _read(dataset: Any, columns: Sequence[str], most: int) -> Iterator[Any]:
    """Read some columns of the rows that the dataset's indices name."""
    if dataset.column_names is not None:
        dataset = dataset.select_columns(list(columns))
    for table in _iterate(dataset, most):
        yield table.select(list(columns))


def _iterate(dataset: Any, most: int) -> Iterator[Any]:
    tables: Iterator[Any] = iter(dataset.with_format("arrow").iter(batch_size=most))
    return tables
