"""
The contribution of each document to a metric's value.

A contribution is a difference of two values of the metric. Metrics of the first ranks take them from the kernels, many
orders of labels at once. Others take them from the reference, one order at a time. `format_arithmetic` writes their
sums, which give the value, as text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate, islice

import numpy as np

from fastndcg.explaining.explanation import IdealDocument, RankedDocument, format_number
from fastndcg.explaining.query_case import QueryCase, evaluate_rankings
from fastndcg.metrics.families.definition import Definition
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions.ties import TIES
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import put
from fastndcg.reference import expectation
from fastndcg.reference.definition import read_definition
from fastndcg.reference.tie_orders import Document, count_orders, has_place, list_orders, order_by_policy

MAX_WORK = 50_000_000  # documents to evaluate, about one second
ADDITIVE = ("CG", "DCG", "nDCG", "P", "R", "num_rel_ret")  # a document's contribution depends only on its own rank

TOP_RANKS_ONLY = (*ADDITIVE, "AP", "RR", "Success")  # documents below the cutoff add nothing
KERNEL_SPEED = 25  # documents that kernels read while the reference reads one
MAX_BATCH = 2_000_000  # labels of orders that are evaluated at once


def compute_contributions(case: QueryCase) -> dict[int, float] | None:
    """
    Return the contribution of each document by its place in the rankings.

    If the tie policy averages over orders, so does the contribution. Return None if there are too many orders, or if
    documents share a rank between two orders.
    """
    if case.applied.ties == "mean_rank" and any(len(group) > 1 for group in case.query.tie_groups):
        return None
    groups = split_tie_groups(case)
    labels = [[document.label for document in group] for group in groups]
    if case.metric.name in ADDITIVE and _count_tie_orders(labels) > 1:
        contributions = _average_over_ranks(case, labels)
    elif _estimate_work(case, labels) <= MAX_WORK:
        has_one_order = all(len(group) == 1 for group in labels)
        query = case.query._replace(tie_groups=groups)
        orders = [[label for (label,) in labels]] if has_one_order else list_orders(query, "average")
        contributions = _average_over_orders(case, labels, orders)
    else:
        return None
    return {
        document.place: contributions.get((g, document.label), 0.0)
        for g, group in enumerate(groups)
        for document in group
    }


def split_tie_groups(case: QueryCase) -> list[list[Document]]:
    """Return the documents in rank order, in groups whose orders matter. Others are split into single documents."""
    policy = case.applied.ties
    last_rank = find_last_rank(case)
    groups: list[list[Document]] = []
    n_above = 0
    for group in case.query.tie_groups:
        if len(group) == 1:
            groups.append(group)
        elif policy != "average":
            groups.extend([document] for document in order_by_policy(group, policy))
        elif last_rank is not None and n_above >= last_rank:
            groups.extend([document] for document in group)
        else:
            groups.append(group)
        n_above += len(group)
    return groups


def find_last_rank(case: QueryCase) -> int | None:
    """Return the rank below which no document adds anything, or None for metrics that also count documents below."""
    return case.metric.k if case.metric.name in TOP_RANKS_ONLY else None


def count_documents_read(case: QueryCase) -> int:
    """Return about how many documents the reference would read in the time of `compute_contributions`."""
    speed = KERNEL_SPEED if case.metric.name in TOP_RANKS_ONLY else 1
    groups = split_tie_groups(case)
    last_rank = find_last_rank(case)
    n_documents = sum(map(len, groups))
    hits = [[document.label for document in group if document.label] for group in groups]
    ties = [[document.label for document in group] for group in groups if len(group) > 1]
    if case.metric.name in ADDITIVE and ties:
        n_values = sum(len(set(labels)) * len(group) for group, labels in zip(groups, hits[:last_rank], strict=False))
        return (n_values + 2) * n_documents // speed
    n_hits = sum(map(len, hits[:last_rank]))
    return count_orders(ties) * ((n_hits + 2) // speed + 1) * n_documents  # each order is listed once in Python


def _count_tie_orders(labels: list[list[float]]) -> int:
    """Return the number of orders. Single documents are left out first, since most groups are one document."""
    return count_orders([group for group in labels if len(group) > 1])


def compute_base_value(case: QueryCase) -> float:
    """Return the value if every document had label 0, or 0 if it is undefined."""
    return _evaluate_order(case, [0.0] * sum(map(len, case.query.tie_groups)))


def compute_ideal_contributions(case: QueryCase, labels: list[float]) -> list[float] | list[None]:
    """Return the contribution of each document if the labels are in this order. None if there are too many."""
    is_feasible = case.applied.ties != "mean_rank" and _estimate_work(case, [[label] for label in labels]) <= MAX_WORK
    return _compute_order_contributions(case, labels) if is_feasible else [None] * len(labels)


def _estimate_work(case: QueryCase, labels: list[list[float]]) -> int:
    """Return about how many documents are read for the contributions in every order of the tie groups."""
    n_documents = sum(map(len, labels))
    if case.metric.name in TOP_RANKS_ONLY:
        n_hits = sum(label != 0 for group in labels[: find_last_rank(case)] for label in group)
        return _count_tie_orders(labels) * (n_hits + 2) * n_documents
    n_hits = sum(label != 0 for group in labels for label in group)
    return _count_tie_orders(labels) * n_hits**2 * n_documents  # the reference may read each document for every hit


def _average_over_orders(
    case: QueryCase, labels: list[list[float]], orders: list[list[float]]
) -> dict[tuple[int, float], float]:
    """Return the mean contribution over all orders of a document, by its tie group and label."""
    groups = [g for g, group in enumerate(labels) for _ in group]
    n_documents = Counter((g, label) for g, group in enumerate(labels) for label in group)
    contributions: dict[tuple[int, float], float] = defaultdict(float)
    steps = [_list_steps(case, order) for order in orders]
    values = _evaluate_orders(case, (prefix for order in orders for prefix in _list_prefixes(case, order)))
    for order, places in zip(orders, steps, strict=True):
        before = next(values)
        for place in places:
            after = next(values)
            key = groups[place], order[place]
            contributions[key] += (after - before) / len(orders) / n_documents[key]
            before = after
    return contributions


def _average_over_ranks(case: QueryCase, labels: list[list[float]]) -> dict[tuple[int, float], float]:
    """Return the mean contribution over the ranks of the tie group, for an additive metric, by tie group and label."""
    starts = list(accumulate(map(len, labels), initial=0))
    last_rank = find_last_rank(case) or starts[-1]
    keys = [(g, label) for g, group in enumerate(labels) for label in sorted({label for label in group if label != 0})]
    ranks = [range(starts[g], min(starts[g + 1], last_rank)) for g, _ in keys]
    values = _evaluate_orders(
        case,
        (
            _put_label(starts[-1], place, label)
            for (_, label), places in zip(keys, ranks, strict=True)
            for place in places
        ),
    )
    return {
        (g, label): math.fsum(islice(values, len(places))) / len(labels[g])
        for (g, label), places in zip(keys, ranks, strict=True)
    }


def _put_label(n_documents: int, place: int, label: float) -> list[float]:
    """Return labels that are 0 except for one document."""
    labels = [0.0] * n_documents
    labels[place] = label
    return labels


def _compute_order_contributions(case: QueryCase, labels: list[float]) -> list[float]:
    """Return the increase of the value with each document, if all documents below it have label 0."""
    values = list(_evaluate_orders(case, _list_prefixes(case, labels)))
    contributions = [0.0] * len(labels)
    for place, before, after in zip(_list_steps(case, labels), values, values[1:], strict=False):
        contributions[place] = after - before
    return contributions


def _list_steps(case: QueryCase, labels: list[float]) -> list[int]:
    """Return the places of the documents that may add something."""
    return [place for place, label in enumerate(labels[: find_last_rank(case)]) if label != 0]


def _list_prefixes(case: QueryCase, labels: list[float]) -> Iterator[list[float]]:
    """Yield labels that are all 0, and then with one more document that may add something each time."""
    prefix = [0.0] * len(labels)
    yield prefix.copy()
    for place in _list_steps(case, labels):
        prefix[place] = labels[place]
        yield prefix.copy()


def _evaluate_order(case: QueryCase, labels: list[float]) -> float:
    """Return the metric's value for labels in rank order, or 0 if it is undefined."""
    return next(_evaluate_orders(case, [labels]))


def _evaluate_orders(case: QueryCase, orders: Iterable[list[float]]) -> Iterator[float]:
    """Yield the metric's value for labels in rank order, or 0 if it is undefined, for orders of one length."""
    if case.metric.name not in TOP_RANKS_ONLY:
        for labels in orders:
            value = expectation(case.metric, [labels], case.query.judged, case.applied)
            yield 0.0 if math.isnan(value) else value
        return
    remaining = iter(orders)
    n_documents = sum(map(len, case.query.tie_groups))
    batch_size = max(1, MAX_BATCH // max(n_documents, len(case.query.judged), 1))
    while batch := list(islice(remaining, batch_size)):
        yield from _evaluate_by_kernels(case, batch)


def _evaluate_by_kernels(case: QueryCase, orders: list[list[float]]) -> list[float]:
    """Return the metric's value for each order of labels, or 0 if it is undefined."""
    labels = np.array(orders, np.float64)
    n_orders, n_documents = labels.shape
    n_judged = len(case.query.judged)
    judged = np.tile(np.array(case.query.judged, np.float64), n_orders)
    rankings = Rankings(
        labels.ravel(),
        np.tile(-np.arange(n_documents, dtype=np.float64), n_orders),
        np.arange(n_orders + 1) * n_documents,
        pool=(judged, np.arange(n_orders + 1) * n_judged),
    )
    convention = case.applied.replace(pool="judged", ties="input", undefined="nan", undefined_ap="as undefined")
    if case.rankings.has_repeats:
        put(rankings, has_repeats=True)
    values = evaluate_rankings(rankings, (case.metric,), convention)[:, 0]
    return [float(value) for value in np.where(np.isnan(values), 0.0, values)]


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


MAX_TERMS = 8

Ranking = tuple[RankedDocument, ...]
Ideal = tuple[IdealDocument, ...]


def format_arithmetic(case: QueryCase, ranking: Ranking, ideal: Ideal, base: float, value: float) -> Iterator[str]:
    """Yield the lines that derive the value."""
    metric = case.metric
    is_undefined = math.isnan(case.values(metric)[0])
    if case.is_gain_sum:
        yield from _format_gain_sums(case, ranking, ideal)
    else:
        if not is_undefined:
            yield from _format_contribution_sum(case, ranking, base, value)
        n_relevant, n_ranked = case.values(Metric("num_rel", rel=metric.get("rel")), Metric("num_ret"))
        yield f"relevant documents: {format_number(n_relevant)}, documents ranked: {format_number(n_ranked)}"
    if is_undefined:
        field = "undefined_ap" if metric.name == "AP" and case.applied.undefined_ap != "as undefined" else "undefined"
        choice = getattr(case.applied, field)
        yield f"{metric} is undefined where {metric.record.undefined}; the convention says {field}={choice}"


def _format_contribution_sum(case: QueryCase, ranking: Ranking, base: float, value: float) -> Iterator[str]:
    contributions = [document.contribution for document in ranking]
    if None in contributions or not (base or any(contributions)):
        return
    terms = [f"base {format_number(base)}"] if base else []
    terms += [format_number(contribution) for contribution in contributions if contribution]
    yield f"{case.metric} = {_join_terms(terms)}{format_number(value)}"
    if base:
        yield f"base: {case.metric} if every document ranked had label 0"


def _format_gain_sums(case: QueryCase, ranking: Ranking, ideal: Ideal) -> Iterator[str]:
    metric = case.metric
    discount = read_definition(metric, case.applied).discount
    sums = {}
    for name in ("DCG", "IDCG") if metric.name == "nDCG" else (metric.name,):
        part = Metric(name, metric.k, **dict(metric.parameters))
        terms = [(document.gain, document.discount) for document in ranking]
        if name == "IDCG":
            gains = [document.gain for document in ideal[: metric.k]]
            if case.applied.ideal == "k best" and metric.k is not None:
                gains = gains[:1] * metric.k
            elif case.applied.ideal == "min(k, n_retrieved)":
                gains = gains[: sum(map(len, case.query.tie_groups))]
            terms = [(gain, discount(rank)) for rank, gain in enumerate(gains, 1)]
        (sums[part],) = case.values(part)
        yield f"{part} = {_join_products(terms)}{format_number(sums[part])}"
    if metric.name == "nDCG":
        (dcg, dcg_value), (idcg, idcg_value) = sums.items()
        if idcg_value:
            quotient = f"{format_number(dcg_value)} / {format_number(idcg_value)}"
            yield f"{metric} = {dcg} / {idcg} = {quotient} = {format_number(dcg_value / idcg_value)}"


def _join_products(factors: Iterable[tuple[float | None, float | None]]) -> str:
    terms = [f"{format_number(gain)}·{format_number(discount)}" for gain, discount in factors if gain and discount]
    return _join_terms(terms)


def _join_terms(terms: list[str]) -> str:
    """Return "a + b = " for the first terms of a sum, or an empty text without terms."""
    if not terms:
        return ""
    more = [f"… ({len(terms) - MAX_TERMS} more)"] if len(terms) > MAX_TERMS else []
    return f"{' + '.join(terms[:MAX_TERMS] + more).replace('+ -', '- ')} = "
