"""
Dicts of dicts into arrays.

On interpreters that were tested, kernels read rows that are exactly dicts of Python's texts and numbers. They use
Python's documented C API only. Python code reads all other rows, and all rows on other interpreters.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.id_column import IdColumn
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only

TESTED_VERSIONS = ((3, 11), (3, 12), (3, 13), (3, 14))
HAS_LOCK = getattr(sys, "_is_gil_enabled", lambda: True)()  # without it, other threads change dicts meanwhile
CAN_READ_OBJECTS = HAS_LOCK and sys.implementation.name == "cpython" and sys.version_info[:2] in TESTED_VERSIONS
KINDS = read_only(np.array([id(kind) for kind in (str, float, np.float64, int, bool)], "i8"))
BYTES_PER_ID = 32  # most ids are shorter; buffer pages without data take no memory

Row = Mapping[Any, Any]


# rows by address, keys, labels and offsets of documents with a label other than 0: kernels/inputs/dicts.py
Judgments: TypeAlias = tuple[Array, Array, Array, Array]


class LabelsRead(NamedTuple):
    """Labels, all exact in float64. They are valid, and `judgments` lists all keys, only if `is_complete`."""

    values: Array
    lowest: float
    highest: float
    has_fractions: bool
    judgments: Judgments
    is_complete: bool


class LabelledRows(NamedTuple):
    """Scores and labels of a run's documents. Python has to read the queries of `is_open`."""

    scores: Array
    labels: Array
    judged: Array
    is_open: Array


class LabelledTuples(NamedTuple):
    """The first row and the number of each judged query, and the scores and labels of their documents."""

    starts: Array
    numbers: Array
    offsets: Array
    scores: Array
    labels: Array
    judged: Array


def snapshot(rows: Row, name: str) -> dict[Any, Any]:
    """
    Copy a mapping into a dict that no other thread can change. Error messages call it `name`.

    Only its items count: `len()` of a mapping of another class may be another number.
    """
    try:
        return dict(rows)  # no other thread interrupts the copy of a dict
    except (RuntimeError, LookupError) as error:
        raise InvalidInputError(
            f"`{name}` must not change while it is read, but did: {error}. Pass a copy that no other thread writes to"
        ) from None


def plain_rows(rows: dict[Any, Row], name: str) -> dict[Any, dict[Any, Any]]:
    """Replace each row that is not exactly a dict by a copy that is one."""
    if not set(map(type, rows.values())) - {dict}:
        return rows  # type: ignore[return-value]
    return {query: row if type(row) is dict else snapshot(row, f"{name}[{query!r:.80}]") for query, row in rows.items()}


def check_rows(rows: Any, name: str, value_name: str) -> dict[str, dict[Any, Any]]:
    """
    Copy a dict of dicts, but not its rows that are exactly dicts.

    Raise InvalidTypeError if it is no dict of dicts, or a query is no text.
    """
    if not isinstance(rows, dict):
        raise InvalidTypeError(f"`{name}` must be a dict that maps queries to dicts, but is a {type(rows).__name__}")
    copied = snapshot(rows, name)
    if set(map(type, copied)) <= {str} and set(map(type, copied.values())) <= {dict}:
        return copied
    for query, row in copied.items():
        if not isinstance(query, str):
            raise InvalidTypeError(
                f"ids of queries in `{name}` must be texts, but one is {shorten(query)}. Convert ids by str()"
            )
        if not isinstance(row, dict):
            raise InvalidTypeError(
                f"`{name}` must map queries to dicts of {value_name}s, but {shorten(query)} maps to {shorten(row)}. "
                "Pass a dict"
            )
    return plain_rows(copied, name)


def check_document_ids(query: str, row: dict[Any, Any], name: str) -> None:
    """Raise InvalidTypeError if a document id is no text."""
    if not all(issubclass(kind, str) for kind in set(map(type, row))):
        wrong = next(document for document in row if not isinstance(document, str))
        raise InvalidTypeError(
            f"ids of documents in `{name}` must be texts, but query {shorten(query)} has {shorten(wrong)}. "
            "Convert ids by str()"
        )


def read_addresses(rows: Collection[Row]) -> Array:
    """Return the addresses of dicts. The caller keeps the dicts alive."""
    return read_only(np.fromiter(map(id, rows), "i8", len(rows)))


def count_offsets(rows: Collection[Row]) -> Array:
    """Return offsets for the items of all dicts, one dict after the other."""
    return read_only(np.concatenate([[0], np.cumsum(np.fromiter(map(len, rows), "i8", len(rows)))]))


def read_items(rows: Collection[Row], offsets: Array) -> tuple[Array, IdColumn] | None:
    """Read the values and keys of dicts, and return None if Python has to read them."""
    if not CAN_READ_OBJECTS:
        return None
    kernels = load_kernels("inputs.dicts")

    n_items = int(offsets[-1])
    values = np.empty(n_items)
    ends = np.empty(n_items, "i8")
    data = np.empty(BYTES_PER_ID * n_items, "u1")
    summary = np.empty(4)
    while True:  # the second turn has a buffer that is large enough, unless another thread adds longer ids
        n_bytes = kernels.read_items(read_addresses(rows), KINDS, offsets, (values, ends, data, summary))
        if summary[kernels.N_OPEN]:
            return None
        if n_bytes <= len(data):
            break
        data = np.empty(n_bytes, "u1")
    if not summary[kernels.N_FRACTIONS]:
        values = values.astype("i8")
    return values, IdColumn.of_bytes(data[:n_bytes], np.concatenate([[0], ends]))


def read_labels(rows: Collection[Row], offsets: Array, held_keys: list[str]) -> LabelsRead:
    """Read the labels of dicts, and append their documents with a label other than 0 to `held_keys`."""
    n_labels = int(offsets[-1])
    addresses = read_addresses(rows)
    if not CAN_READ_OBJECTS:
        empty = (addresses, np.zeros(0, "i8"), np.zeros(0), np.zeros(len(rows) + 1, "i8"))
        return LabelsRead(np.zeros(n_labels), 0.0, 0.0, False, empty, False)
    kernels = load_kernels("inputs.dicts")

    values = np.empty(n_labels)
    keys = np.empty(n_labels + 1, "i8")
    labels = np.empty(n_labels + 1)
    key_offsets = np.empty(len(rows) + 1, "i8")
    summary = np.empty(4)
    kernels.read_judgments(addresses, KINDS, offsets, id(held_keys), (values, keys, labels, key_offsets, summary))
    n_relevant = int(key_offsets[-1])
    relevant = (read_only(keys[:n_relevant]), read_only(labels[:n_relevant]), read_only(key_offsets))
    lowest, highest, n_fractions, n_open = summary.tolist()
    return LabelsRead(values, lowest, highest, bool(n_fractions), (addresses, *relevant), not n_open)


def read_rows(
    rows: list[dict[str, Any]],
    numbers: Array,
    judgments: Judgments,
    offsets: Array,
    label_dtype: str,
    look_up_each: bool,
) -> LabelledRows:
    """Read the scores of rows, and the labels of their documents. See the kernel of this name."""
    n_documents = int(offsets[-1])
    out = LabelledRows(
        np.empty(n_documents), np.empty(n_documents, label_dtype), np.ones(n_documents, bool), np.ones(len(rows), bool)
    )
    if not CAN_READ_OBJECTS:
        return out
    kernels = load_kernels("inputs.dicts")

    longest = int(np.diff(offsets).max(initial=0))
    scratch = np.empty(longest, "i8"), np.empty(longest, "i8")
    kernels.read_rows(read_addresses(rows), numbers, judgments, KINDS, offsets, look_up_each, scratch, tuple(out))
    return out


def read_tuples(
    rows: list[Any],
    row_type: type,
    query_numbers: dict[str, int],
    judgments: Judgments,
    label_dtype: str,
    look_up_each: bool,
) -> LabelledTuples | None:
    """Read tuples (query, document, score) of one type, and labels, and return None if Python has to read them."""
    if not CAN_READ_OBJECTS or not issubclass(row_type, tuple):
        return None
    kernels = load_kernels("inputs.tuples")

    n_rows = len(rows)
    scratch = (np.empty(n_rows, "i8"), np.empty(n_rows, "i8"), np.zeros(kernels.count_slots(n_rows), "u4"))
    out = LabelledTuples(
        starts=np.empty(n_rows, "i8"),
        numbers=np.empty(n_rows, "i8"),
        offsets=np.empty(n_rows + 1, "i8"),
        scores=np.empty(n_rows),
        labels=np.empty(n_rows, label_dtype),
        judged=np.ones(n_rows, bool),
    )
    counts = np.empty(2, "i8")
    query_numbers_at = id(query_numbers)
    kernels.read_tuples(
        id(rows), id(row_type), query_numbers_at, judgments, KINDS, look_up_each, scratch, (*out, counts)
    )
    n_queries, n_read = counts.tolist()
    if n_read < n_rows:
        return None
    n_documents = int(out.offsets[n_queries])
    return LabelledTuples(
        starts=out.starts[:n_queries].copy(),
        numbers=read_only(out.numbers[:n_queries]),
        offsets=read_only(out.offsets[: n_queries + 1].copy()),
        scores=out.scores[:n_documents],
        labels=out.labels[:n_documents],
        judged=out.judged[:n_documents],
    )


def read_plain_row(query: str, row: dict[str, Any], judgments: dict[str, Any]) -> tuple[Array, list[Any], list[bool]]:
    """Read scores, labels (0 without a judgment) and whether documents have a judgment, without kernels."""
    check_document_ids(query, row, "run")
    for document, score in row.items():
        if not isinstance(score, int | float) or (isinstance(score, int) and abs(score) >= 2**1024):
            raise InvalidTypeError(
                f"scores must be Python's floats or whole numbers within float64, but that of document "
                f"{shorten(document)} of query {shorten(query)} is {shorten(score)}. Convert scores by float()"
            )
    scores = np.fromiter(row.values(), "f8", len(row))
    return scores, [judgments.get(document, 0) for document in row], [document in judgments for document in row]


def convert_numpy_scores(row: dict[str, Any]) -> dict[str, Any]:
    """Replace NumPy's numbers, and its arrays without dimensions, by Python's numbers."""
    return {
        document: score.item() if isinstance(score, np.generic | np.ndarray) and not score.ndim else score
        for document, score in row.items()
    }
