"""Metrics of the rank of the first relevant document, and what a random order gives."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from math import comb

from fastndcg.metrics.families.record import REL, TIES_AND_MEAN_RANK, Definition, MeanRanked, Record

BERRENDORF_2020 = (
    "M. Berrendorf, E. Faerman, L. Vermue and V. Tresp, On the ambiguity of rank-based evaluation of entity alignment "
    "or link prediction methods, 2020"
)
HOYT_2022 = (
    "C. T. Hoyt et al., A unified framework for rank-based evaluation metrics for link prediction in knowledge graphs, "
    "2022"
)
_by_chance = partial(
    Record, source=HOYT_2022, doi="10.48550/arXiv.2203.07544", parameters=(REL,), ties=TIES_AND_MEAN_RANK,
    higher_is_better=None,
)  # fmt: skip

RECORDS = (
    Record(
        name="RR",
        title="reciprocal rank",
        use="How high the first relevant document stands; where one right answer is enough.",
        place="first_relevant.reciprocal_rank",
        chance="chance_RR",
        formula="1 / rank of the first relevant document, 0 if none is in the first k",
        source="P. B. Kantor and E. M. Voorhees, The TREC-5 confusion track, Information Retrieval 2000",
        doi="10.1023/A:1009902609570",
        parameters=(REL,),
        aliases=("mrr", "recip_rank", "reciprocal_rank", "mean_reciprocal_rank"),
        variants=(("ties", "mean_rank", "first_relevant.reciprocal_mean_rank"),),
        reads_first_only=True,
        ties=TIES_AND_MEAN_RANK,
        is_zero_without_relevant=True,
        peers=(("ir_measures", "RR"),),
    ),
    Record(
        name="Success",
        title="success, hit rate",
        use="Whether the first k have a relevant document; the hit rate of question answering, retrieval for "
        "language models and recommendation.",
        place="first_relevant.success",
        chance="chance_Success",
        formula="1 if a relevant document is among the first k, else 0",
        source="N. Craswell and D. Hawking, Overview of the TREC-2004 web track, TREC 2004, "
        "https://trec.nist.gov/pubs/trec13/t13_proceedings.html",
        parameters=(REL,),
        aliases=("success", "hit_rate", "hit", "hr", "hitrate", "hits_at", "hits_at_k"),
        variants=(("ties", "mean_rank", "first_relevant.success_at_mean_rank"),),
        ties=TIES_AND_MEAN_RANK,
        is_zero_without_relevant=True,
        peers=(("ir_measures", "Success"),),
    ),
    Record(
        name="Rank",
        title="rank of the first relevant document",
        use="At which rank the first relevant document stands; easy to read, but one bad query moves the mean.",
        place="first_relevant.first_rank",
        chance="chance_Rank",
        formula="rank of the first relevant document; in a tie group of m documents from rank a + 1 on with n relevant "
        "ones a + (m + 1) / (n + 1)",
        range="1 and up",
        undefined="nothing that is ranked is relevant",
        source=BERRENDORF_2020,
        doi="10.48550/arXiv.2002.06914",
        parameters=(REL,),
        aliases=("mean_rank", "arithmetic_mean_rank"),
        variants=(("ties", "mean_rank", "first_relevant.first_mean_rank"),),
        reads_first_only=True,
        ties=TIES_AND_MEAN_RANK,
        has_cutoff=False,
        higher_is_better=False,
    ),
    _by_chance(
        name="chance_Rank",
        title="expected rank in random order",
        use="The rank that a random order would give the first relevant document; as the zero point of Rank.",
        place="first_relevant.chance_rank",
        formula="(n + 1) / (R + 1), the mean of Rank over all orders of n documents with R relevant ones among them",
        range="1 and up",
        undefined="nothing that is ranked is relevant",
        has_cutoff=False,
    ),
    _by_chance(
        name="chance_RR",
        title="expected reciprocal rank in random order",
        use="The reciprocal rank of a random order; as the zero point of RR where few candidates are ranked.",
        place="first_relevant.chance_reciprocal_rank",
        formula="the mean of RR over all orders of n documents with R relevant ones among them; for one relevant "
        "document (1 + 1/2 + … + 1/min(k, n)) / n",
    ),
    _by_chance(
        name="chance_Success",
        title="expected success in random order",
        use="The success of a random order; as the zero point of the hit rate where few candidates are ranked.",
        place="first_relevant.chance_success",
        formula="the share of all orders of n documents in which one of the R relevant ones is among the first k; for "
        "one relevant document min(k, n) / n",
    ),
)


def reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 / rank of the first relevant document, or 0 if it is below rank k."""
    return next((1 / r for r, label in enumerate(labels[: definition.k], 1) if definition.is_relevant(label)), 0)


def success(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 if one of the first k documents is relevant, else 0."""
    return float(any(definition.is_relevant(label) for label in labels[: definition.k]))


def first_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the rank of the first relevant document."""
    return next((r for r, label in enumerate(labels, 1) if definition.is_relevant(label)), math.nan)


def list_mean_ranks(labels: list[float], definition: Definition) -> list[float]:
    """Return the mean rank of the tie group of each relevant document. An order without groups has no ties."""
    ranks = labels.ranks if isinstance(labels, MeanRanked) else range(1, len(labels) + 1)
    return [rank for rank, label in zip(ranks, labels, strict=True) if definition.is_relevant(label)]


def first_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the lowest mean rank of a relevant document."""
    return min(list_mean_ranks(labels, definition), default=math.nan)


def reciprocal_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 / lowest mean rank of a relevant document, 0 if that is more than k."""
    rank = min(list_mean_ranks(labels, definition), default=math.inf)
    return 1 / rank if rank <= (definition.k or math.inf) else 0.0


def success_at_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return 1 if a relevant document has a mean rank of at most k."""
    return float(n_retrieved_at_mean_rank(labels, judged, definition) > 0)


def n_retrieved_at_mean_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of relevant documents with a mean rank of at most k."""
    k = definition.k or math.inf
    return float(sum(rank <= k for rank in list_mean_ranks(labels, definition)))


def chance_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean rank of the first relevant document over all sets of ranks that it and the others may have."""
    return expect_first(labels, definition, lambda rank: rank) if any_relevant(labels, definition) else math.nan


def chance_reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of RR over all orders."""
    k = definition.k or math.inf
    return expect_first(labels, definition, lambda rank: 1 / rank if rank <= k else 0.0)


def chance_success(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of Success over all orders."""
    k = definition.k or math.inf
    return expect_first(labels, definition, lambda rank: float(rank <= k))


def any_relevant(labels: list[float], definition: Definition) -> bool:
    """Return True if a document is relevant."""
    return any(definition.is_relevant(label) for label in labels)


def expect_first(labels: list[float], definition: Definition, value: Callable[[int], float]) -> float:
    """
    Return the mean of a function of the rank of the first relevant document over all orders.

    The first of R relevant documents among n has rank r in C(n − r, R − 1) of C(n, R) sets of ranks.
    """
    n = len(labels)
    n_relevant = sum(definition.is_relevant(label) for label in labels)
    if not n_relevant:
        return 0.0
    n_sets = comb(n, n_relevant)
    return math.fsum(value(r) * (comb(n - r, n_relevant - 1) / n_sets) for r in range(1, n + 1))
