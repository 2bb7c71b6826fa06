"""Forms of truth and runs that few programs have: matrices of pandas with ids, golden sets, lists of LensKit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.inputs.frames import find_usual_roles, is_pandas
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import Source
from fastndcg.inputs.table import Table, TableRows, refuse_repeated
from fastndcg.rankings.validation import count_before

Kind = TypeVar("Kind", bound=Table)


def is_pivot(frame: Any) -> bool:
    """Return True for a matrix with ids: a frame of pandas with numbers only, an index of ids, and no usual names."""
    if not is_pandas(frame) or frame.shape[1] < 2 or frame.index.nlevels > 1 or frame.columns.nlevels > 1:
        return False
    are_texts = set(map(type, frame.columns)) <= {str}
    has_plain_index = type(frame.index).__name__ == "RangeIndex"
    if (are_texts and has_plain_index) or find_usual_roles(name for name in frame.columns if isinstance(name, str)):
        return False
    return all(getattr(kind, "kind", "O") in "biuf" for kind in frame.dtypes)


def read_pivot(kind: type[Kind], frame: Any) -> Kind:
    """Read the cells of a matrix with ids. NaN is no value."""
    values = frame.to_numpy()
    values = values if values.dtype.kind != "O" else frame.to_numpy("f8", na_value=np.nan)  # bool beside numbers
    rows, places = np.nonzero(~np.isnan(values)) if values.dtype.kind == "f" else np.nonzero(np.ones(values.shape))
    documents = IdColumn.of(frame.columns.tolist(), "names of columns").take(places)
    queries = IdColumn.of(frame.index.tolist(), "the index")
    offsets = count_before(np.bincount(rows, minlength=len(frame)))
    source = Source(f"the {kind.what}")
    refuse_repeated(queries, source)
    return kind.from_rows(TableRows.in_order(queries, offsets, documents, values[rows, places]), source)


def read_golden_set(value: list[Mapping[str, Any]]) -> dict[Any, dict[str, float]]:
    """Return the labels of a golden set's chunks by query and text. A chunk without a score has the label 1."""
    found: dict[Any, dict[str, float]] = {}
    for row, record in enumerate(value):
        chunks = record.get("expected_chunks")
        if not isinstance(chunks, list) or not all(isinstance(chunk, Mapping) and "text" in chunk for chunk in chunks):
            raise InvalidTypeError(
                f"`truth`, row {row}: expected_chunks must be a list of dicts with a text, but is {shorten(chunks)}. "
                "Correct it"
            )
        labels = {chunk["text"]: chunk.get("expect_score", 1) for chunk in chunks}
        if record["query"] in found or len(labels) < len(chunks):
            raise InvalidInputError(
                f"`truth`, row {row}: each query must stand in one record, and each text once in it, but query "
                f"{shorten(record['query'])} has one twice. Keep one of them"
            )
        found[record["query"]] = labels
    return found


def make_item_frame(value: Any, name: str) -> Any:
    """Return the frame of LensKit's lists."""
    if len(value.key_fields) != 1:
        raise InvalidInputError(
            f"`{name}` must have keys of one field, the user or query, but has {join_names(value.key_fields)}. "
            "Evaluate each part alone, or join the fields to one"
        )
    return value.to_df()
