"""
Labels and queries of svmlight (LETOR) files, and scores in a second file.

Queries stand in the second field, as ``qid:1``, or LightGBM's file of sizes is beside the labels: ``rank.train.query``
is that of ``rank.train``. Scores stand one on each line, or behind the query and the document's number, as RankLib
writes them.
"""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.arrays import ArrayLayout, ArrayTruth, make_layout
from fastndcg.inputs.files import File, FilePath
from fastndcg.inputs.id_table import Rows
from fastndcg.inputs.source import Source
from fastndcg.inputs.text_lines import NO_LIMIT, Layout, read_rows
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels, read_only

QUERY = "qid:"
LABELS = Layout("label, qid:QUERY, features", (1, NO_LIMIT, NO_LIMIT, 0), 2, NO_LIMIT, "label")
LABELS_ALONE = Layout("label, features", (NO_LIMIT, NO_LIMIT, NO_LIMIT, 0), 1, NO_LIMIT, "label")
SCORES = Layout("score", (NO_LIMIT, NO_LIMIT, NO_LIMIT, 0), 1, 1, "score")
SIZES = Layout("number of documents", SCORES.fields, 1, 1, "number of documents")
RANKLIB_SCORES = Layout("query, place, score", (0, 1, 1, 2), 3, 3, "score")


def is_svmlight(file: File) -> bool:
    """Return True if the fields after a file's first one are a query or features, which have numbers."""
    return re.match(rb"\S+\s+(qid|\d+):", file.first_line) is not None


class LabelsInFile(ArrayTruth):
    """Labels and queries of a file, ready for the scores of many systems: arrays, or files with one per line."""

    def __init__(self, labels: Array, layout: ArrayLayout, source: Source) -> None:
        self._layout = layout
        self._labels = as_labels(layout.in_order(labels), "labels")
        self._source = source

    def rankings(self, scores: Any, source: Source | None = None) -> Rankings:
        """Make rankings of scores. Error messages name lines of files, those of the scores by their `source`."""

        def find_name(name: str, document: int) -> str:
            name_source = self._source if name == "labels" else source
            return (
                self._layout.place(name, document)
                if name_source is None
                else str(name_source.place(self._layout.find_index(document)))
            )

        return super().rankings(scores).set_locator(find_name)

    def read_rankings(self, path: FilePath, threads: int | None = None) -> Rankings:
        """Make rankings of the scores in a file with one line per label."""
        with File(path) as file:
            is_ranklib = len(file.first_line.split()) == RANKLIB_SCORES.least
            rows, source = read_rows(file, RANKLIB_SCORES if is_ranklib else SCORES, threads)
        if len(rows.values) != len(self._labels):
            raise InvalidInputError(
                f"{source.name} must have a score for each line of `truth`, {len(self._labels)}, but has "
                f"{len(rows.values)}. Give the scores of the same file"
            )
        if is_ranklib:
            self._check_places(rows, source)
        return self.rankings(np.asarray(rows.values), source)

    def _check_places(self, rows: Rows, source: Source) -> None:
        """Raise unless RankLib's lines have the queries of the labels, and documents 0, 1, 2 and so on."""
        layout = self._layout
        order = np.arange(len(rows.values)) if layout.order is None else layout.order
        owners = np.repeat(np.asarray(layout.query_ids, object), np.diff(layout.offsets))
        expected = np.empty((2, len(order)), object)
        expected[:, order] = owners, [str(place) for place in _count_within(layout.offsets)]
        queries = np.empty(len(order), object)
        given = np.repeat(rows.queries.names(), np.diff(rows.groups.offsets))
        queries[order if rows.groups.rows is None else rows.groups.rows] = given
        for row, found in enumerate(zip(queries.tolist(), rows.documents.names().tolist(), strict=True)):
            if found != tuple(map(str, expected[:, row])):
                raise InvalidInputError(
                    f"{source.place(row)}: must be of document {expected[1, row]} of query {expected[0, row]}, as in "
                    f"`truth`, but is of document {found[1]} of query {found[0]}. Give the scores of the same file"
                )


def _count_within(offsets: Array) -> Array:
    """Return the place of each document in its query."""
    counts: Array = np.arange(offsets[-1]) - np.repeat(offsets[:-1], np.diff(offsets))
    return counts


def read_svmlight(file: File, threads: int | None = None) -> LabelsInFile:
    """Read labels and queries, without the features."""
    if not re.match(rb"\S+\s+qid:", file.first_line):
        return _read_beside_sizes(file, threads)
    rows, source = read_rows(file, LABELS, threads)
    names = rows.queries.names()
    for query, (name, row) in enumerate(zip(names.tolist(), rows.groups.firsts.tolist(), strict=True)):
        if not name.startswith(QUERY) or name == QUERY:
            raise InvalidInputError(
                f"{source.place(row)}: the second field must be {QUERY} and a query, but is {shorten(name)}. Correct "
                "the line"
            )
        names[query] = name.removeprefix(QUERY)
    layout = ArrayLayout(rows.values.shape, read_only(rows.groups.offsets), rows.groups.rows, read_only(names))
    return LabelsInFile(rows.values, layout, source)


def _read_beside_sizes(file: File, threads: int | None) -> LabelsInFile:
    """Read labels whose queries have their sizes in a file beside them, as LightGBM reads it."""
    path = f"{os.fspath(file.path)}.query"
    if not os.path.exists(path):
        raise InvalidInputError(
            f"{file.name} must have qid:QUERY behind each label, or the sizes of its queries in a file beside it, "
            f"{os.path.basename(path)}. Write one of them"
        )
    rows, source = read_rows(file, LABELS_ALONE, threads)
    with File(path) as beside:
        sizes, sizes_source = read_rows(beside, SIZES, threads)
    labels = np.asarray(rows.values)
    try:
        whole = sizes.values.astype("i8") if (sizes.values % 1 == 0).all() else sizes.values
        layout = make_layout(labels.shape, None, whole, None)
    except InvalidInputError as error:
        raise error.reword(before=f"{sizes_source.name}: ") from None
    return LabelsInFile(labels, layout, source)
