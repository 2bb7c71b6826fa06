"""The ranking of a query, document by document, and the ideal ranking."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fastndcg.explaining.contributions import compute_contributions, compute_ideal_contributions
from fastndcg.explaining.explanation import IdealDocument, RankedDocument
from fastndcg.explaining.query_case import QueryCase
from fastndcg.metrics.families.definition import Definition
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions.ties import TIES
from fastndcg.reference.definition import read_definition
from fastndcg.reference.tie_orders import has_place, order_by_policy


def list_ranking(case: QueryCase) -> Iterator[RankedDocument]:
    """
    Yield the documents in rank order.

    The tie policy orders tied documents. If it averages over orders, each of them has all ranks of its group.
    """
    definition = read_definition(case.metric, case.applied)
    rankings = case.rankings
    contributions = compute_contributions(case)
    policy = case.applied.ties
    n_above = 0
    n_tie_groups = 0
    for group in case.query.tie_groups:
        has_ties = len(group) > 1
        n_tie_groups += has_ties
        group_ranks = range(n_above + 1, n_above + len(group) + 1)
        for rank, document in zip(group_ranks, order_by_policy(group, policy), strict=True):
            ranks = group_ranks if TIES[policy].orders == "group" else range(rank, rank + 1)
            is_judged = rankings.judged is None or bool(rankings.judged[document.place])
            yield RankedDocument(
                first=ranks[0],
                last=ranks[-1],
                document=rankings.document_name("labels", document.place),
                score=float(case.scores[document.place]),
                tie_group=n_tie_groups if has_ties else None,
                label=document.label if is_judged else None,
                gain=definition.gain(document.label) if case.has_gain else None,
                discount=_average_discount(case.metric, definition, ranks) if case.is_gain_sum else None,
                contribution=None if contributions is None else contributions[document.place],
            )
        n_above += len(group)


def list_ideal(case: QueryCase) -> Iterator[IdealDocument]:
    """Yield the judged documents in the ideal ranking, with their contributions there."""
    definition = read_definition(case.metric, case.applied)
    rankings = case.rankings
    name = "labels"
    places = sorted(document.place for group in case.query.tie_groups for document in group)
    if rankings.pool is not None and case.applied.pool == "judged":
        name = "pool"
        places = [place for place, label in enumerate(rankings.pool[0]) if has_place(label, case.applied)]
    documents = list(zip(places, case.query.judged, strict=True))
    documents.sort(key=lambda pair: definition.gain(pair[1]) if case.has_gain else pair[1], reverse=True)
    contributions = compute_ideal_contributions(case, [label for _, label in documents])
    for (place, label), contribution in zip(documents, contributions, strict=True):
        gain = definition.gain(label) if case.has_gain else None
        yield IdealDocument(rankings.document_name(name, place), label, gain, contribution)


def _average_discount(metric: Metric, definition: Definition, ranks: range) -> float:
    """Return the mean discount over the ranks. It is 0 below the cutoff, and 1 for CG."""
    within_cutoff = [rank for rank in ranks if definition.k is None or rank <= definition.k]
    return math.fsum(1.0 if metric.name == "CG" else definition.discount(rank) for rank in within_cutoff) / len(ranks)
