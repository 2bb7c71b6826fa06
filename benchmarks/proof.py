"""
Before a figure counts: our values on a workload equal those of `fastndcg.reference`, on a sample of its queries.

The reference goes through every order of tied scores, so a query is first cut to what nDCG@k can depend on: the
documents that score at least as high as rank k does, and, as the pool, all labels that are not 0.
"""

from __future__ import annotations

import numpy as np
from workloads import Array, Workload

import fastndcg as fn

N_PROVEN = 200
TOLERANCE = 1e-12
ORDERS = 2000  # of tied scores: a query with more takes the reference too long


def prove(workload: Workload, values: Array, n_proven: int = N_PROVEN) -> int:
    """
    Compare with the reference, query by query, or give up with an error; says how many queries were compared.

    Queries are taken at even distances, and the longest one besides. Half of them must be within reach of the
    reference.
    """
    metrics = [fn.Metric.parse(metric) for metric in workload.metrics]
    chosen = sample(workload, n_proven)
    compared = 0
    for query in chosen:
        rankings = one_query(workload, query)
        if all(metric.name == "nDCG" and metric.k for metric in metrics):
            rankings = cut(rankings, max(metric.k or 1 for metric in metrics))
        if n_orders(rankings) > ORDERS:
            continue
        expected = fn.reference.evaluate(rankings, metrics=metrics, convention=workload.convention).values[0]
        if not np.allclose(values[query], expected, rtol=0, atol=TOLERANCE, equal_nan=True):
            raise SystemExit(f"{workload.name}: query {query} is {values[query]}, but the reference says {expected}")
        compared += 1
    if 2 * compared < len(chosen):
        raise SystemExit(f"{workload.name}: only {compared} of {len(chosen)} queries are within the reference's reach")
    return compared


def sample(workload: Workload, n_queries: int) -> list[int]:
    """Queries at even distances, and the longest."""
    even = np.linspace(0, workload.n_queries - 1, min(n_queries, workload.n_queries)).astype(int)
    return sorted({*even.tolist(), int(np.diff(workload.offsets).argmax())})


def one_query(workload: Workload, query: int) -> fn.Rankings:
    """One query of a workload."""
    documents = slice(*workload.offsets[query : query + 2])
    labels = workload.labels[documents]
    return fn.Rankings(labels, workload.scores[documents], [0, len(labels)])


def cut(rankings: fn.Rankings, k: int) -> fn.Rankings:
    """The documents of one query that nDCG@k depends on."""
    labels, scores = rankings.labels, rankings.scores
    if len(scores) <= k:
        return rankings
    kept = scores >= np.partition(scores, -k)[-k]
    pool = labels[labels != 0]
    return fn.Rankings(labels[kept], scores[kept], [0, kept.sum()], pool=(pool, [0, len(pool)]))


def n_orders(rankings: fn.Rankings) -> float:
    """How many orders of tied scores there are, those of documents with equal labels taken once."""
    _, groups = np.unique(rankings.scores, return_inverse=True)
    total = _log_factorials(np.bincount(groups))
    for label in np.unique(rankings.labels):
        total -= _log_factorials(np.bincount(groups[rankings.labels == label]))
    return float(np.exp(min(total, 700)))


def _log_factorials(counts: Array) -> float:
    """Sum of the logarithms of the factorials."""
    return sum(float(np.log(np.arange(1, count + 1)).sum()) for count in counts.tolist() if count > 1)
