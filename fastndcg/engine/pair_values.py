"""Evaluate metrics for each relevant document on its own, and take the means of queries."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastndcg.engine.pairs import Pairs, find_common_rel, list_document_ids, rank_pairs
from fastndcg.engine.plan import find_undefined_policy
from fastndcg.engine.run import run
from fastndcg.errors import Choice, UndefinedMetricError
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions import Convention
from fastndcg.rankings.filters import count_before
from fastndcg.rankings.pair_rows import PairRows
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array


class PairValues(NamedTuple):
    """Values of some queries: their rows, the number of tied rows, and for each row its query and document."""

    values: Array
    n_tied: int
    queries: Array
    document_ids: Array | None


def run_pairs(
    rankings: Rankings,
    metrics: tuple[Metric, ...],
    convention: Convention,
    pair_rows: PairRows,
    *,
    denominators: tuple[Metric, ...] = (),
    threads: int | None = None,
) -> PairValues:
    """
    Evaluate metrics for each pair of a query and a relevant document.

    With ``rows='query'``, a query has the means over its pairs.
    """
    pairs = rank_pairs(rankings, metrics, convention, pair_rows.competitors, threads)
    own = convention
    if pair_rows.rows == "query":  # the mean leaves undefined pairs out
        own = convention.with_fields(undefined="nan", undefined_ap="as undefined")
    output = run(pairs.rankings, metrics, own, denominators=denominators, threads=threads)
    if pair_rows.rows == "query":
        values = average_pairs(pairs, rankings, output.values)
        apply_policy(values, metrics, rankings, convention)
        return PairValues(
            values,
            count_tied_queries(pairs, add_default_cutoff(metrics, convention)),
            np.arange(rankings.n_queries),
            None,
        )
    ids = list_document_ids(rankings.without_patterns(), pairs, find_common_rel(metrics, convention))
    return PairValues(output.values, output.n_tied, pairs.queries, ids)


def average_pairs(pairs: Pairs, rankings: Rankings, values: Array) -> Array:
    """Return the mean of each query over its pairs with a value, NaN without any."""
    offsets = count_before(np.bincount(pairs.queries, minlength=rankings.n_queries)).tolist()
    out = np.full((rankings.n_queries, values.shape[1]), np.nan)
    for query, (start, stop) in enumerate(pairwise(offsets)):
        if stop - start == 1:
            out[query] = values[start]
        elif stop > start:
            for place, column in enumerate(values[start:stop].T):
                some = column[~np.isnan(column)].tolist()
                out[query, place] = math.fsum(some) / len(some) if some else math.nan
    return out


def count_tied_queries(pairs: Pairs, metrics: tuple[Metric, ...]) -> int:
    """Return the number of queries with a pair whose tie group begins within the deepest cutoff."""
    groups = pairs.rankings.judged_hits
    deepest = max(MAX_RANK if metric.k is None else metric.k for metric in metrics)
    queries = pairs.queries[pairs.places >= 0]
    return len(np.unique(queries[groups.tie_starts < deepest]))


def apply_policy(values: Array, metrics: tuple[Metric, ...], rankings: Rankings, convention: Convention) -> None:
    """Replace the values of queries without pairs by the convention's choice, or raise an error if it says so."""
    for metric, column in zip(metrics, values.T, strict=False):
        policy = find_undefined_policy(metric, convention)
        is_undefined = np.isnan(column)
        if policy == "raise" and is_undefined.any():
            raise UndefinedMetricError(
                f"{metric} must have a value for every query, but {rankings.query_name(int(np.argmax(is_undefined)))} "
                "has no relevant document. Drop the query, or take ",
                Choice("undefined", ["nan"]),
                ".",
            )
        if isinstance(policy, int):
            column[is_undefined] = policy
