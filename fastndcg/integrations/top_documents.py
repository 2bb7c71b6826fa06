"""The documents that a model ranks highest, collected chunk by chunk, and their metrics as in sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fastndcg.evaluation import evaluate
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import conventions
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, count_before

CONVENTION = conventions["sentence_transformers"].replace(ties="input")  # hits are in rank order


class TopDocuments:
    """The k highest-scored documents of each query so far. Of equal scores, the lower number is first."""

    def __init__(self, n_queries: int, k: int) -> None:
        self._k = k
        self.scores: Array = np.empty((n_queries, 0), "f4")  # at most k columns, from the highest
        self.documents: Array = np.empty((n_queries, 0), "i8")  # their numbers

    def add(self, scores: Array, documents: Array) -> None:
        """Add documents: (n_queries, n) scores and numbers in any order."""
        all_scores = np.concatenate([self.scores, scores], axis=1)
        all_documents = np.concatenate([self.documents, documents], axis=1)
        order = np.lexsort((all_documents, -all_scores), axis=1)[:, : self._k]
        self.scores = np.take_along_axis(all_scores, order, axis=1)
        self.documents = np.take_along_axis(all_documents, order, axis=1)


class Cutoffs(NamedTuple):
    """The cutoffs of each metric."""

    accuracy: Sequence[int]
    precision_recall: Sequence[int]
    mrr: Sequence[int]
    ndcg: Sequence[int]
    map: Sequence[int]

    @property
    def deepest(self) -> int:
        """The largest cutoff."""
        return max(max(cutoffs, default=1) for cutoffs in self)

    def list_metrics(self) -> dict[str, list[Metric]]:
        """Return the metrics by the names and in the order of sentence-transformers."""
        return {
            "accuracy@k": [Metric("Success", k) for k in self.accuracy],
            "precision@k": [Metric("P", k) for k in self.precision_recall],
            "recall@k": [Metric("R", k) for k in self.precision_recall],
            "ndcg@k": [Metric("nDCG", k) for k in self.ndcg],
            "mrr@k": [Metric("RR", k) for k in self.mrr],
            "map@k": [Metric("AP", k) for k in self.map],
        }


def evaluate_hits(
    is_relevant: Array, offsets: Array, n_relevant: Array, cutoffs: Cutoffs
) -> dict[str, dict[int, float]]:
    """
    Return the means of all metrics over the queries: {"accuracy@k": {k: value}, …}, as in sentence-transformers.

    `is_relevant` is True for relevant documents, which are in rank order. Query q has the documents ``offsets[q]`` to
    ``offsets[q + 1]``, and ``n_relevant[q]`` relevant ones, found or not.
    """
    pool = (np.ones(int(n_relevant.sum()), "u1"), count_before(n_relevant))
    scores = -np.arange(len(is_relevant), dtype="f8")
    rankings = Rankings(is_relevant.astype("u1"), scores, offsets, pool=pool)
    requests = cutoffs.list_metrics()
    metrics = list(dict.fromkeys(metric for group in requests.values() for metric in group))
    means = evaluate(rankings, metrics=metrics, convention=CONVENTION).values.mean(axis=0)
    values = dict(zip(metrics, means.tolist(), strict=True))
    return {name: {int(metric.k or 0): values[metric] for metric in group} for name, group in requests.items()}
