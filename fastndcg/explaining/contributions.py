"""
The contribution of each document to a metric's value.

A contribution is a difference of two values of the metric. Metrics of the first ranks take them from the kernels, many
orders of labels at once. Others take them from the reference, one order at a time. `format_arithmetic` writes their
sums, which give the value, as text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator
from itertools import accumulate, islice
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, Option, shorten, suggest_name
from fastndcg.evaluation import evaluate_prepared, list_notes, parse_request
from fastndcg.inputs.dispatch import TruthInput, join_predictions, make_whole
from fastndcg.inputs.interactions import RankingPartitions
from fastndcg.inputs.join import Joined
from fastndcg.inputs.messages import Options, find_highest_label
from fastndcg.inputs.table import Qrels
from fastndcg.metrics.families.record import Definition
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff, refuse_repeats
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.partitions import note_low_labels
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, put
from fastndcg.reference import apply_undefined_policy, expectation
from fastndcg.reference.definition import (
    Document,
    Query,
    count_orders,
    has_place,
    list_orders,
    order_by_policy,
    read_definition,
    read_query,
)
from fastndcg.results.notes import describe_missing


class QueryCase(NamedTuple):
    """One query under one convention. `applied` is the convention with its choices for this kind of labels."""

    metric: Metric
    convention: Convention
    applied: Convention
    rankings: Rankings
    query: Query
    is_judged: bool
    scores: Array  # as users see them, while those of `rankings` rank documents
    notes: tuple[str, ...] = ()  # on how all queries were read and joined

    @property
    def has_gain(self) -> bool:
        """True if the metric uses gains."""
        return any(parameter.name == "gain" for parameter in self.metric.record.parameters)

    @property
    def is_gain_sum(self) -> bool:
        """True if the metric is a sum of gain · discount, or a ratio of two such sums."""
        return self.metric.name in GAIN_SUMS

    def values(self, *metrics: Metric) -> list[float]:
        """Return the values of metrics, NaN if undefined."""
        return self._evaluate(self.applied.replace(undefined="nan", undefined_ap="as undefined"), *metrics)

    def value(self) -> float:
        """Return the value of the metric. If undefined, it is the convention's choice, or NaN if that is to raise."""
        return self._evaluate(allow_undefined(self.applied), self.metric)[0]

    def _evaluate(self, convention: Convention, *metrics: Metric) -> list[float]:
        if self.is_judged:
            return evaluate_rankings(self.rankings, metrics, convention)[0].tolist()  # type: ignore[no-any-return]
        undefined = np.full((1, len(metrics)), np.nan)
        apply_undefined_policy(undefined, metrics, self.rankings, convention)
        return [float(value) for value in undefined[0]]


def allow_undefined(convention: Convention) -> Convention:
    """Return the convention with NaN where it raises an error for a query without a value."""
    raising = [field for field in ("undefined", "undefined_ap") if getattr(convention, field) == "raise"]
    return convention.replace(**dict.fromkeys(raising, "nan"))


def evaluate_rankings(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> Array:
    """Return the values of metrics, (n_queries, n_metrics). A pool need not hold all that was ranked."""
    return evaluate_prepared(rankings, None, parse_request(metrics, convention), Options()).values


NO_NUMBER = "–"
GAIN_SUMS = ("CG", "DCG", "IDCG", "nDCG", "RBP")  # sums of gain · discount, or a ratio of two such sums


class RankedDocument(NamedTuple):
    """
    A document in a query's ranking.

    Attributes
    ----------
    first, last : int
        The first and the last rank that the document can have. They differ if the tie policy averages over orders.
    document : str
        The document's id, or its place in the input.
    score : float
        The document's score.
    tie_group : int or None
        The number of the tie group, counted from 1. None for a document without ties.
    label : float or None
        The label. None for an unjudged document.
    gain : float or None
        The gain of the label. None for a metric without gains.
    discount : float or None
        The mean discount over the possible ranks, 0 below the cutoff. None for a metric that is no sum of gains.
    contribution : float or None
        What the document adds to the value, given the documents above it. None if there are too many orders of ties.
    """

    first: int
    last: int
    document: str
    score: float
    tie_group: int | None
    label: float | None
    gain: float | None
    discount: float | None
    contribution: float | None

    @property
    def rank(self) -> str:
        """The rank as text, or the first and the last possible rank."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


class IdealDocument(NamedTuple):
    """A document in the ideal ranking, with its contribution there. Very long rankings have no contributions (None)."""

    document: str
    label: float
    gain: float | None
    contribution: float | None


class JoinedSystem(NamedTuple):
    """The rankings of all queries of a system. `applied` is the convention with its choices for this kind of labels."""

    rankings: Rankings
    unjudged: Array | None
    convention: Convention
    applied: Convention


def join_system(prepared: TruthInput, predictions: Any, options: Options, convention: Convention) -> JoinedSystem:
    """Join prepared truth with the predictions of a system, under a convention."""
    return _apply_convention(
        prepared, make_whole(join_predictions(prepared, predictions, convention, options)), convention
    )


def _apply_convention(prepared: TruthInput, joined: Joined, convention: Convention) -> JoinedSystem:
    """Return joined rankings with the convention's choices for this kind of labels."""
    applied = convention.for_input(qrels=isinstance(prepared, Qrels))
    return JoinedSystem(joined.rankings, joined.unjudged_queries, convention, applied)


def select_case(system: JoinedSystem, metric: Metric, q: int) -> QueryCase:
    """Return the query with index `q`."""
    if metric.record.by_subtopic:
        raise InvalidInputError(
            f"`metric` must use one label per document, but {metric} uses one per subtopic. Explain another metric."
        )
    if system.rankings.has_repeats:
        refuse_repeats((metric,))
    applied = system.applied
    own_rankings = _select_query(system.rankings.without_patterns(), q)
    is_judged = system.unjudged is None or not system.unjudged[q]
    (metric,) = add_default_cutoff((metric.bare,), applied)
    own_query = read_query(own_rankings, 0, applied, metric.record.view)
    return QueryCase(metric, system.convention, applied, own_rankings, own_query, is_judged, own_rankings.scores)


def make_case(
    prepared: TruthInput, predictions: Any, options: Options, metric: Metric, query: Any, convention: Convention
) -> QueryCase:
    """Select a query from prepared truth and predictions, under a convention."""
    combined = join_predictions(prepared, predictions, convention, options)
    if isinstance(combined, RankingPartitions):  # rankings of all users may take more memory than there is
        numbers = list(range(combined.n_queries))
        place = _find_query(numbers if combined.query_ids is None else combined.query_ids.tolist(), query)
        own_rankings = combined.select(place, place + 1)
        case = select_case(_apply_convention(prepared, Joined(own_rankings), convention), metric, 0)
        low = note_low_labels(find_highest_label(prepared), (metric,), case.applied)
        missing = describe_missing(*combined.n_missing, convention)
        case = case._replace(notes=(*missing, *combined.notes(), *low))
        if combined.finish_scores is None:
            return case
        return case._replace(scores=combined.finish_scores(place, case.scores.copy()))
    joined = make_whole(combined)
    ids = _list_ids(joined.rankings)
    if convention.missing_in_run == "skip" and isinstance(query, Hashable) and query not in (None, *ids):
        _refuse_skipped(prepared, predictions, options, query, convention)
    system = _apply_convention(prepared, joined, convention)
    missing = describe_missing(joined.n_missing_in_run, joined.n_missing_in_qrels, convention)
    highest_label = find_highest_label(joined.rankings)
    notes = (*missing, *list_notes(prepared, joined, (metric,), system.applied, highest_label))
    return select_case(system, metric, _find_query(ids, query))._replace(notes=notes)


def _refuse_skipped(
    prepared: TruthInput, predictions: Any, options: Options, query: Hashable, convention: Convention
) -> None:
    """Raise for a judged query that the run lacks, which the convention leaves out."""
    with_missing = join_predictions(prepared, predictions, convention.replace(missing_in_run="zero"), options)
    if not isinstance(with_missing, RankingPartitions) and query in _list_ids(make_whole(with_missing).rankings):
        raise InvalidInputError(
            f"`query` must be a query that the convention evaluates, but the run lacks {shorten(query)}, and "
            f"{convention} leaves such queries out. Take ",
            Choice("missing_in_run", ["zero"]),
            ".",
        )


def _list_ids(rankings: Rankings) -> list[Any]:
    """Return the ids of the queries, numbers from 0 where they have none."""
    return list(range(rankings.n_queries)) if rankings.query_ids is None else rankings.query_ids.tolist()


def _find_query(ids: list[Any], query: Any) -> int:
    """Return the index of a query, given its id."""
    if query is None and len(ids) == 1:
        return 0
    examples = ", ".join(map(shorten, ids[:3])) + (", …" if len(ids) > 3 else "")
    if query is None:
        raise InvalidInputError(
            f"`query` is missing. Pass the id of one of the {len(ids)} queries: {examples}. For the mean give ",
            Option("against", "'lightgbm'"),
            ", or another convention.",
        )
    places = [place for place, query_id in enumerate(ids) if query_id == query] if isinstance(query, Hashable) else []
    if len(places) != 1:
        hint = suggest_name(query, map(str, ids)) or f" There are {len(ids)}: {examples}."
        raise InvalidInputError(
            f"`query` must be the id of one query, but {len(places) or 'none'} is called {shorten(query)}.{hint}"
        )
    return places[0]


def _select_query(rankings: Rankings, q: int) -> Rankings:
    """Return rankings with one query, whose documents keep their names in messages."""
    start, stop = (int(offset) for offset in rankings.offsets[q : q + 2])
    starts = {"pool": 0}
    pool = None
    if rankings.pool is not None:
        labels, offsets = rankings.pool
        starts["pool"] = int(offsets[q])
        pool = (labels[offsets[q] : offsets[q + 1]], [0, int(offsets[q + 1] - offsets[q])])
    selected = Rankings(
        rankings.labels[start:stop],
        rankings.scores[start:stop],
        [0, stop - start],
        judged=None if rankings.judged is None else rankings.judged[start:stop],
        pool=pool,
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[start:stop],
        query_ids=[q] if rankings.query_ids is None else rankings.query_ids[q : q + 1],
    )
    put(selected, are_ordinals=rankings.are_ordinals)
    if rankings.has_repeats:
        put(selected, has_repeats=True)
    return selected.set_locator(lambda name, place: rankings.document_name(name, place + starts.get(name, start)))


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
    return next(_evaluate_orders(case, [[0.0] * sum(map(len, case.query.tie_groups))]))


def compute_ideal_contributions(case: QueryCase, labels: list[float]) -> list[float] | list[None]:
    """Return the increase of the value with each document, those below it with label 0. None if there are too many."""
    if case.applied.ties == "mean_rank" or _estimate_work(case, [[label] for label in labels]) > MAX_WORK:
        return [None] * len(labels)
    values = list(_evaluate_orders(case, _list_prefixes(case, labels)))
    contributions = [0.0] * len(labels)
    for place, before, after in zip(_list_steps(case, labels), values, values[1:], strict=False):
        contributions[place] = after - before
    return contributions


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


def format_number(value: float | None) -> str:
    """Return a whole number as it is, another number with four digits, and None as a dash."""
    if value is None:
        return NO_NUMBER
    if math.isnan(value):
        return "nan"
    if math.isfinite(value) and value == int(value):
        return f"{value:.0f}" if abs(value) < 1e15 else f"{value:.4g}"
    return f"{value:.4f}" if 1e-3 <= abs(value) < 1e6 else f"{value:.4g}"


def _join_products(factors: Iterable[tuple[float | None, float | None]]) -> str:
    terms = [f"{format_number(gain)}·{format_number(discount)}" for gain, discount in factors if gain and discount]
    return _join_terms(terms)


def _join_terms(terms: list[str]) -> str:
    """Return "a + b = " for the first terms of a sum, or an empty text without terms."""
    if not terms:
        return ""
    more = [f"… ({len(terms) - MAX_TERMS} more)"] if len(terms) > MAX_TERMS else []
    return f"{' + '.join(terms[:MAX_TERMS] + more).replace('+ -', '- ')} = "
