"""Digests of what was evaluated, by which `gate` sees that a truth has changed."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.forms.dispatch import LABEL_READERS, Kind, find_form
from fastndcg.inputs.arrays import ArrayTruth, read_ragged
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.duplicates import make_duplicates
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import Options
from fastndcg.inputs.spans import SIDES, read_spans
from fastndcg.inputs.table import Table
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, as_numbers
from fastndcg.recommenders.interactions import Interactions


def compute_digest(value: Any, side: str = "truth", prepared: Any = None) -> str:
    """
    Return a digest of the content of a truth or of predictions, empty for what holds no rows, such as a model.

    It is the same for a path, a dict, a frame and each other form of the same rows of ids and numbers, in any order.
    Labels in arrays have a digest of their places, their numbers and their shape. `side` is "truth", "run", or "gold"
    or "chunks" of spans, and `prepared` the truth as it was read, where it was.

    >>> compute_digest({"q": {"a": 1}}) == compute_digest({"q": ["a"]}) != compute_digest({"q": {"a": 2}})
    True
    """
    if side in SIDES:
        spans = read_spans(value, side)
        weights = np.ones(len(spans.starts)) if spans.weights is None else spans.weights
        return _digest(_mix(spans.queries, spans.documents, *map(_as_column, (spans.starts, spans.ends, weights))))
    kind: Kind = "run" if side == "run" else "truth"
    form = find_form(value, kind)
    if form is not None and form.truth in LABEL_READERS:
        lists = read_ragged(value, side)
        labels = as_numbers(value if lists is None else lists.values, side)
        return _digest_labels(labels, np.array(labels.shape) if lists is None else lists.offsets)
    if prepared is None and form is not None:
        repeated = make_duplicates("counted", None, None) if kind == "run" else None  # no error
        prepared = getattr(form, kind)(value, Options(duplicates=repeated))
    if isinstance(prepared, ArrayTruth):  # of a file
        return _digest_labels(prepared._labels, prepared._layout.offsets)
    if isinstance(prepared, Interactions):
        users = np.repeat(_mix(IdColumn.from_numbers(np.arange(prepared.n_users))), np.diff(prepared.offsets))
        return _digest(_mix(IdColumn.from_numbers(prepared.items), _as_column(prepared.labels), start=users))
    return _digest(_hash_table(prepared)) if isinstance(prepared, Table) else ""


def _hash_table(table: Table) -> Array:
    """Return a hash of each row of judgments or of a run, or of each judgment by subtopic."""
    hashes = np.repeat(_mix(table.queries), np.diff(table.offsets))
    if not isinstance(table, DiversityQrels):
        return _mix(table.documents, _as_column(table.values), start=hashes)
    own = table.judgments
    rows = np.repeat(np.arange(len(table)), np.diff(own.offsets))
    queries = np.searchsorted(table.offsets, rows, side="right") - 1
    subtopics = table.subtopic_offsets[queries] + own.subtopics
    columns = table.subtopics.take(subtopics), _as_column(own.labels), _as_column(table.importance[subtopics])
    return _mix(*columns, start=_mix(table.documents, start=hashes)[rows])


def _digest_labels(labels: Array, shape: Array) -> str:
    places, sizes = (IdColumn.from_numbers(np.arange(n)) for n in (labels.size, len(shape)))
    return f"{_digest(_mix(places, _as_column(labels.reshape(-1))))} {_digest(_mix(sizes, _as_column(shape)))}"


def _as_column(numbers: Array) -> IdColumn:
    return IdColumn.of_fixed(numbers.astype("f8") + 0.0)  # so that -0.0 is 0.0


def _mix(*columns: IdColumn, start: Array | None = None) -> Array:
    """Return a hash of each row of some columns, which are mixed in their order into those of other columns."""
    hashes = np.zeros(len(columns[0]), "u8") if start is None else start
    for column in columns:
        load_kernels("inputs.ids").mix_hashes(column.ids, hashes)
    return hashes


def _digest(hashes: Array) -> str:
    """Return the number of rows and the sum of their hashes, which does not depend on their order."""
    return f"{len(hashes)}-{int(hashes.sum()):016x}"
