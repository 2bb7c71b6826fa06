"""Learning to rank: labels and queries of svmlight (LETOR) files, and scores in a second file, one a line."""

from __future__ import annotations

import re

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.inputs.arrays import ArrayLayout, ArrayTruth
from fastndcg.inputs.blocks import FilePath, first_line, name_of
from fastndcg.inputs.lines import NO_LIMIT, Layout, read_rows
from fastndcg.rankings import Array, read_only

QUERY = "qid:"
LABELS = Layout("label, qid:QUERY, features", (1, NO_LIMIT, NO_LIMIT, 0), 2, NO_LIMIT, "label")
SCORES = Layout("score", (NO_LIMIT, NO_LIMIT, NO_LIMIT, 0), 1, 1, "score")


def is_svmlight(path: FilePath) -> bool:
    """Whether the second field of a file's first line names a query."""
    return re.match(rb"\s*\S+\s+qid:", first_line(path)) is not None


def read_svmlight(path: FilePath, threads: int | None = None) -> ArrayTruth:
    """Labels and queries; features are not looked at."""
    rows, source = read_rows(path, LABELS, threads)
    names = rows.queries.names()
    for query, (name, row) in enumerate(zip(names.tolist(), rows.groups.firsts.tolist(), strict=True)):
        if not name.startswith(QUERY):
            raise InvalidInputError(
                f"{source.place(row)}: the second field must be {QUERY} and a query, but is {name!r}; correct the line"
            )
        names[query] = name.removeprefix(QUERY)
    layout = ArrayLayout(rows.values.shape, read_only(rows.groups.offsets), rows.groups.rows, read_only(names))
    return ArrayTruth.of(rows.values, layout)


def read_scores(path: FilePath, n_labels: int, threads: int | None = None) -> Array:
    """One number a line, as many as there are labels."""
    rows, _ = read_rows(path, SCORES, threads)
    if len(rows.values) != n_labels:
        raise InvalidInputError(
            f"{name_of(path)} must have a score for each line of `truth`, {n_labels}, but has {len(rows.values)}; give "
            "the scores of the same file"
        )
    return np.asarray(rows.values)
