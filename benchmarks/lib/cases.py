"""Judged rankings with graded labels, (n_queries, n_documents), for comparisons between libraries."""

from __future__ import annotations

import numpy as np

from benchmarks.lib.contenders import Case

LABEL_SHARES = (0.9, 0.04, 0.03, 0.02, 0.01)  # of labels 0 to 4
SHARE_WITHOUT_RELEVANT = 0.01  # of queries
LEVELS = 20  # different scores in a case with ties
BLOCK = 10_000  # queries drawn in one call


def make_case(n_queries: int, n_documents: int) -> Case:
    """Make labels and scores without ties, with 1 % of the queries without relevant documents."""
    rng = np.random.default_rng(2002)
    labels = np.empty((n_queries, n_documents), "i1")
    scores = np.empty((n_queries, n_documents), "f4")
    for start in range(0, n_queries, BLOCK):
        block = slice(start, start + BLOCK)
        shape = scores[block].shape
        labels[block] = rng.choice(len(LABEL_SHARES), size=shape, p=LABEL_SHARES)
        labels[block][rng.random(shape[0]) < SHARE_WITHOUT_RELEVANT] = 0
        scores[block] = rng.permuted(np.broadcast_to(np.arange(n_documents, dtype="f4"), shape), axis=1)
        scores[block] += rng.uniform(0, 0.9, size=shape).astype("f4")
    return Case(labels, scores / n_documents)


def make_case_with_ties(n_queries: int, n_documents: int) -> Case:
    """Make the case of `make_case` with at most 20 different scores."""
    case = make_case(n_queries, n_documents)
    return Case(case.labels, np.floor(case.scores * LEVELS).astype("f4"))
