"""
Verification of values against `fastndcg.reference`, on a sample of queries, before a time counts.

The reference enumerates every order of tied scores. A query is therefore first cut to the documents that nDCG@k
depends on: those that score at least as high as rank k. All labels that are not 0 form its pool.
"""

from __future__ import annotations

import numpy as np

import fastndcg as fn
from benchmarks.lib.workloads import Array, Workload

N_VERIFIED = 200
TOLERANCE = 1e-12
MAX_ORDERS = 2000  # of tied scores: the reference takes too long for a query with more


def verify_values(workload: Workload, values: Array, n_queries: int = N_VERIFIED) -> int:
    """
    Compare a sample of queries with the reference, and return the number of queries that were compared.

    The sample has queries at even distances and the longest query. Raises SystemExit if a value differs, or if fewer
    than half of the sampled queries have few enough orders for the reference.
    """
    metrics = [fn.Metric.parse(metric) for metric in workload.metrics]
    sample = sample_queries(workload, n_queries)
    n_compared = 0
    for query in sample:
        rankings = select_query(workload, query)
        if all(metric.name == "nDCG" and metric.k for metric in metrics):
            rankings = cut_query(rankings, max(metric.k or 1 for metric in metrics))
        if count_orders(rankings) > MAX_ORDERS:
            continue
        expected = fn.reference.evaluate(rankings, metrics=metrics, convention=workload.convention).values[0]
        if not np.allclose(values[query], expected, rtol=0, atol=TOLERANCE, equal_nan=True):
            raise SystemExit(f"{workload.name}: query {query} is {values[query]}, but the reference gives {expected}")
        n_compared += 1
    if 2 * n_compared < len(sample):
        raise SystemExit(f"{workload.name}: the reference can check only {n_compared} of {len(sample)} queries")
    return n_compared


def sample_queries(workload: Workload, n_queries: int) -> list[int]:
    """Return the numbers of queries at even distances, and of the longest query."""
    even = np.linspace(0, workload.n_queries - 1, min(n_queries, workload.n_queries)).astype(int)
    return sorted({*even.tolist(), int(np.diff(workload.offsets).argmax())})


def select_query(workload: Workload, query: int) -> fn.Rankings:
    """Return one query of a workload."""
    documents = slice(*workload.offsets[query : query + 2])
    labels = workload.labels[documents]
    return fn.Rankings(labels, workload.scores[documents], [0, len(labels)])


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
