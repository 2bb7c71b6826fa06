"""What each document of a query adds to a metric's value, by the reference."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from itertools import accumulate

from fastndcg.explain.case import Case
from fastndcg.reference import expectation
from fastndcg.reference.orders import number_of_orders, ordered, orders_of

MOST_WORK = 50_000_000  # documents looked at: about a second
ADDITIVE = ("CG", "DCG", "nDCG", "P", "R", "num_rel_ret")  # what a document adds depends on its own rank alone


def contributions(case: Case) -> dict[int, float] | None:
    """What each document adds, by its place; the mean where tied orders are averaged; None if they are too many."""
    groups, policy = case.query.tie_groups, case.applied.ties
    if policy != "average":
        groups = [[one] for group in groups for one in ordered(group, policy)]
    labels = [[one.label for one in group] for group in groups]
    if _work(labels) <= MOST_WORK:
        orders = orders_of(case.query._replace(tie_groups=groups), "average")
        shares = _mean_shares(case, labels, orders)
    elif case.metric.name in ADDITIVE:
        shares = _shares_alone(case, labels)
    else:
        return None
    return {one.place: shares.get((g, one.label), 0.0) for g, group in enumerate(groups) for one in group}


def base_of(case: Case) -> float:
    """What contributions are added to: the value if every document ranked had label 0, 0 where there is none."""
    return _one_value(case, [0.0] * sum(map(len, case.query.tie_groups)))


def contributions_in_order(case: Case, labels: list[float]) -> list[float] | list[None]:
    """What each document adds in one order of the labels; None if they are too many."""
    few = _work([[label] for label in labels]) <= MOST_WORK
    return added_in_order(case, labels) if few else [None] * len(labels)


def _work(labels: list[list[float]]) -> int:
    """About how many documents are looked at to find what each of them adds in every order of the groups' labels."""
    n_hits = sum(label != 0 for group in labels for label in group)
    return number_of_orders(labels) * n_hits**2 * sum(map(len, labels))


def _mean_shares(case: Case, labels: list[list[float]], orders: list[list[float]]) -> dict[tuple[int, float], float]:
    """What a document of a label in a tie group adds, on average over all orders."""
    group_of = [g for g, group in enumerate(labels) for _ in group]
    times = Counter((g, label) for g, group in enumerate(labels) for label in group)
    shares: dict[tuple[int, float], float] = defaultdict(float)
    for order in orders:
        for g, label, added in zip(group_of, order, added_in_order(case, order), strict=True):
            shares[g, label] += added / len(orders) / times[g, label]
    return shares


def _shares_alone(case: Case, labels: list[list[float]]) -> dict[tuple[int, float], float]:
    """The same where what a document adds depends on its rank alone: the mean over the ranks of its group."""
    above = list(accumulate(map(len, labels), initial=0))
    shares = {}
    for g, group in enumerate(labels):
        for label in {label for label in group if label != 0}:
            alone = [0.0] * above[-1]
            total = 0.0
            for place in range(above[g], above[g + 1]):
                alone[place] = label
                total += _one_value(case, alone)
                alone[place] = 0.0
            shares[g, label] = total / len(group)
    return shares


def added_in_order(case: Case, labels: list[float]) -> list[float]:
    """How much the value grows with each document, those below it taken for documents with label 0."""
    shown = [0.0] * len(labels)
    added = [0.0] * len(labels)
    before = _one_value(case, shown)
    for place, label in enumerate(labels):
        if label != 0:
            shown[place] = label
            after = _one_value(case, shown)
            added[place], before = after - before, after
    return added


def _one_value(case: Case, labels: list[float]) -> float:
    """The reference's value of one order, 0 where there is none."""
    value = expectation(case.metric, [labels], case.query.judged, case.applied)
    return 0.0 if math.isnan(value) else value
