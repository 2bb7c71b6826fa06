"""Changes that a convention makes to rankings before they are evaluated, and to values afterwards."""

from __future__ import annotations

import numpy as np

from fastndcg.engine.buffers import BOOL, Scratch
from fastndcg.engine.chunk import EvaluationContext
from fastndcg.engine.plan import find_undefined_policy
from fastndcg.errors import Choice, InvalidInputError, UndefinedMetricError
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.rankings.filters import of_documents, without_negative_labels
from fastndcg.rankings.known_ranks import CountedRankings, HitRankings, Ranked
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.score_rows import ScoreRowRankings
from fastndcg.rankings.validation import compute_ordinals

BY_ID = frozenset({"id_ascending", "id_descending"})


def may_change_rankings(convention: Convention) -> bool:
    """Return True if a convention may change the documents, the scores or the order of ties of some rankings."""
    return (
        convention.ties in (*BY_ID, "input_reversed")
        or convention.unjudged == "removed"
        or convention.pool == "retrieved"
        or convention.removes_negative_labels
        or convention.score_dtype == "float32"
        or convention.nan_scores == "last"
    )


def apply_convention(rankings: Rankings, convention: Convention) -> Rankings:
    """Return the documents that count under the convention, with the scores that rank them."""
    if isinstance(rankings, CountedRankings):
        return rankings if convention.pool == "judged" else rankings.without_pool()
    if isinstance(rankings, HitRankings) and not isinstance(rankings, Ranked):
        return rankings
    if isinstance(rankings, ScoreRowRankings):
        if not rankings.needs_documents(convention):
            return rankings if convention.pool == "judged" else rankings.without_pool()
        rankings = rankings.replace()
    lacks_keys = rankings.tie_keys is None and rankings.judged_hits is None  # documents in rank order have no ties
    if convention.ties in BY_ID and lacks_keys and rankings.n_documents:
        raise InvalidInputError(
            f"`tie_keys` must be given for ties='{convention.ties}'. Give documents with ids, or Rankings(..., "
            "tie_keys=...), or take ",
            Choice("ties", ["average"]),
            ".",
        )
    if convention.unjudged == "removed" and rankings.judged is not None and not rankings.judged.all():
        rankings = of_documents(rankings, rankings.judged)
    if convention.pool == "retrieved" and rankings.pool is not None:
        rankings = rankings.replace(pool=None)
    if convention.removes_negative_labels:
        rankings = without_negative_labels(rankings)
    if convention.ties == "input_reversed":
        rankings = rankings.replace(tie_keys=np.arange(rankings.n_documents))
    if rankings.judged_hits is not None:
        return rankings
    scores = rankings.scores
    if convention.score_dtype == "float32" and scores.dtype != np.float32 and not rankings.are_ordinals:
        with np.errstate(over="ignore"):  # beyond float32 is infinite, as in C
            scores = scores.astype("f4")
    if convention.nan_scores == "last" and np.isnan(scores).any():
        scores = compute_ordinals(scores)
    return rankings if scores is rankings.scores else rankings.replace(scores=scores)


def apply_undefined_policy(
    context: EvaluationContext, metrics: tuple[Metric, ...], scratch: Scratch, *, has_undefined_queries: bool
) -> None:
    """
    Replace NaN by the convention's value in queries without judgments, or raise an error for any NaN.

    Chunks have replaced NaN in the other queries.
    """
    for metric, row in zip(metrics, context.values, strict=False):  # rows of denominators follow those of metrics
        policy = find_undefined_policy(metric, context.convention)
        if policy == "nan" or (policy != "raise" and not has_undefined_queries):
            continue
        is_undefined = np.isnan(row, out=scratch.take("undefined", len(row), BOOL))
        if policy != "raise":
            np.copyto(row, policy, where=is_undefined)
        elif is_undefined.any():
            query = context.rankings.query_name(int(np.argmax(is_undefined)))
            raise UndefinedMetricError(
                f"{metric} must have a value for every query, but {query} has none ({metric.record.undefined}). "
                "Drop the query, or take ",
                Choice("undefined", ["nan"]),
                ".",
            )
