"""The ranking of a query, document by document, and the best order beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fastndcg.explain.case import Case
from fastndcg.explain.contributions import contributions, contributions_in_order
from fastndcg.explain.explanation import Ideal, Ranked
from fastndcg.metric import Metric
from fastndcg.reference.asked import Asked, asked_of
from fastndcg.reference.orders import has_place, ordered


def ranking_of(case: Case) -> Iterator[Ranked]:
    """The documents in rank order; those that tie as the policy orders them, or together where it averages."""
    asked, rankings = asked_of(case.metric, case.applied), case.rankings
    adds = contributions(case)
    policy = case.applied.ties
    above = n_ties = 0
    for group in case.query.tie_groups:
        is_tied = len(group) > 1
        n_ties += is_tied
        together = range(above + 1, above + len(group) + 1)
        for rank, one in zip(together, ordered(group, policy), strict=True):
            ranks = together if policy == "average" else range(rank, rank + 1)
            is_judged = rankings.judged is None or bool(rankings.judged[one.place])
            yield Ranked(
                ranks[0],
                ranks[-1],
                rankings.document_name("labels", one.place),
                float(rankings.scores[one.place]),
                n_ties if is_tied else None,
                one.label if is_judged else None,
                asked.gain(one.label) if case.has_gain else None,
                _discount(case.metric, asked, ranks) if case.adds_discounted_gains else None,
                None if adds is None else adds[one.place],
            )
        above += len(group)


def _discount(metric: Metric, asked: Asked, ranks: range) -> float:
    """The mean discount over some ranks, 0 beyond the cutoff; CG counts every rank alike."""
    counted = [rank for rank in ranks if asked.k is None or rank <= asked.k]
    return math.fsum(1.0 if metric.name == "CG" else asked.discount(rank) for rank in counted) / len(ranks)


def ideal_of(case: Case) -> Iterator[Ideal]:
    """The judged documents in the best order, and what each adds there."""
    asked, rankings = asked_of(case.metric, case.applied), case.rankings
    name, places = "labels", sorted(one.place for group in case.query.tie_groups for one in group)
    if rankings.pool is not None and case.applied.pool == "judged":
        name = "pool"
        places = [place for place, label in enumerate(rankings.pool[0]) if has_place(label, case.applied)]
    documents = list(zip(places, case.query.judged, strict=True))
    documents.sort(key=lambda one: asked.gain(one[1]) if case.has_gain else one[1], reverse=True)
    labels = [label for _, label in documents]
    adds = contributions_in_order(case, labels)
    for (place, label), added in zip(documents, adds, strict=True):
        gain = asked.gain(label) if case.has_gain else None
        yield Ideal(rankings.document_name(name, place), label, gain, added)
