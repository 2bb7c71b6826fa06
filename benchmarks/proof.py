"""
Proofs of results before they are timed: against `fastndcg.reference` on a sample of queries, or against a peer.

The reference enumerates every order of tied scores. A query is therefore first cut to the documents that nDCG@k
depends on: those that score at least as high as rank k. All labels that are not 0 form its pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import fastndcg as fn
from benchmarks.data import Array, Workload

N_VERIFIED = 100
TOLERANCE = 1e-12
MAX_ORDERS = 2000  # of tied scores: the reference takes too long for a query with more


def verify_values(workload: Workload, values: Array, n_queries: int = N_VERIFIED) -> int:
    """Compare a sample of a workload's queries with the reference. See `verify_rankings`."""
    rankings = fn.Rankings(workload.labels, workload.scores, workload.offsets)
    return verify_rankings(rankings, values, workload.metrics, workload.convention, n_queries)


def verify_rankings(
    rankings: fn.Rankings, values: Array, metrics: Any, convention: str, n_queries: int = N_VERIFIED
) -> int:
    """
    Compare a sample of queries with the reference, and return the number of queries that were compared.

    The sample has queries at even distances and the longest query. Raises AssertionError if a value differs, or if
    fewer than a quarter of the sampled queries have few enough orders for the reference.
    """
    parsed = [fn.Metric.parse(metric) for metric in ([metrics] if isinstance(metrics, str) else metrics)]
    sample = sample_queries(np.asarray(rankings.offsets), n_queries)
    ties = fn.Evaluator([[1]], "RR", convention=convention).convention.ties
    n_compared = 0
    for query in sample:
        single = select_query(rankings, query)
        if convention == "default" and all(metric.name == "nDCG" and metric.k for metric in parsed):
            single = cut_query(single, max(metric.k or 1 for metric in parsed))
        if ties == "average" and count_orders(single) > MAX_ORDERS:
            continue
        expected = fn.reference.evaluate(single, metrics=parsed, convention=convention).values[0]
        if not np.allclose(values[query], expected, rtol=0, atol=TOLERANCE, equal_nan=True):
            raise AssertionError(f"query {query} is {values[query]}, but the reference gives {expected}")
        n_compared += 1
    if 4 * n_compared < len(sample):
        raise AssertionError(f"the reference can check only {n_compared} of {len(sample)} queries")
    return n_compared


def equals(
    expected: Any, rtol: float = 1e-9, read: Callable[[Any], Any] = lambda result: result
) -> Callable[[Any], None]:
    """Return a proof that a result, or what `read` extracts from it, has these numbers. NaN equals NaN."""

    def prove(result: Any) -> None:
        np.testing.assert_allclose(read(result), expected, rtol=rtol, atol=rtol * 1e-3)

    return prove


def check_values(*arguments: Any, **options: Any) -> None:
    """Raise AssertionError if values of `evaluate` differ from those of the reference."""
    equals(fn.reference.evaluate(*arguments, **options).values, 1e-12)(fn.evaluate(*arguments, **options).values)


def check_fused(fused: Any, expected: dict[Any, dict[Any, float]], places: float = 1e-9) -> None:
    """Raise AssertionError if fused documents or scores differ by more than rounding."""
    for query, row in expected.items():
        own = fused[query]
        if row.keys() != own.keys() or any(abs(score - own[document]) > places for document, score in row.items()):
            raise AssertionError(f"fused scores of query {query!r} must be those of the other side, but differ")


def sample_queries(offsets: Array, n_queries: int) -> list[int]:
    """Return the numbers of queries at even distances, and of the longest query."""
    even = np.linspace(0, len(offsets) - 2, min(n_queries, len(offsets) - 1)).astype(int)
    return sorted({*even.tolist(), int(np.diff(offsets).argmax())})


def select_query(rankings: fn.Rankings, query: int) -> fn.Rankings:
    """Return one query of rankings."""
    documents = slice(*rankings.offsets[query : query + 2])
    labels = rankings.labels[documents]
    keys = None if rankings.tie_keys is None else rankings.tie_keys[documents]
    return fn.Rankings(labels, rankings.scores[documents], [0, len(labels)], tie_keys=keys)


def cut_query(rankings: fn.Rankings, k: int) -> fn.Rankings:
    """Return one query with only the documents that nDCG@k depends on."""
    labels = rankings.labels
    scores = rankings.scores
    if len(scores) <= k:
        return rankings
    is_high = scores >= np.partition(scores, -k)[-k]
    pool = labels[labels != 0]
    return fn.Rankings(labels[is_high], scores[is_high], [0, is_high.sum()], pool=(pool, [0, len(pool)]))


def count_orders(rankings: fn.Rankings) -> float:
    """Return the number of different orders of labels that the tied scores of one query allow."""
    _, groups = np.unique(rankings.scores, return_inverse=True)
    total = _sum_log_factorials(np.bincount(groups))
    for label in np.unique(rankings.labels):
        total -= _sum_log_factorials(np.bincount(groups[rankings.labels == label]))
    return float(np.exp(min(total, 700)))


def _sum_log_factorials(counts: Array) -> float:
    """Return the sum of log(n!) over the counts n."""
    return sum(float(np.log(np.arange(1, count + 1)).sum()) for count in counts.tolist() if count > 1)
