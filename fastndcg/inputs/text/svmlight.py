"""Labels and queries of svmlight (LETOR) files, and scores in a second file, one per line."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.arrays import ArrayLayout, ArrayTruth
from fastndcg.inputs.source import Source
from fastndcg.inputs.text.blocks import FilePath, first_line
from fastndcg.inputs.text.reader import NO_LIMIT, Layout, read_rows
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, as_labels, read_only

QUERY = "qid:"
LABELS = Layout("label, qid:QUERY, features", (1, NO_LIMIT, NO_LIMIT, 0), 2, NO_LIMIT, "label")
SCORES = Layout("score", (NO_LIMIT, NO_LIMIT, NO_LIMIT, 0), 1, 1, "score")


def is_svmlight(path: FilePath) -> bool:
    """Return True if the second field of a file's first line names a query."""
    return re.match(rb"\s*\S+\s+qid:", first_line(path)) is not None


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
        rows, source = read_rows(path, SCORES, threads)
        if len(rows.values) != len(self._labels):
            raise InvalidInputError(
                f"{source.name} must have a score for each line of `truth`, {len(self._labels)}, but has "
                f"{len(rows.values)}. Give the scores of the same file"
            )
        return self.rankings(np.asarray(rows.values), source)


def read_svmlight(path: FilePath, threads: int | None = None) -> LabelsInFile:
    """Read labels and queries, without the features."""
    rows, source = read_rows(path, LABELS, threads)
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
