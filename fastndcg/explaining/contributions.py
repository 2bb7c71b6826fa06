"""
The contribution of each document to a metric's value.

It is the document's term in a metric that is a sum over documents, and else what the value loses without the document.
`format_arithmetic` writes sums, which give the value, as text.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, Option, shorten, suggest_name
from fastndcg.evaluation import evaluate_prepared, list_notes, parse_request
from fastndcg.forms.dispatch import TruthInput, join_predictions, make_whole
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
from fastndcg.recommenders.interactions import RankingPartitions
from fastndcg.reference import apply_undefined_policy
from fastndcg.reference.definition import (
    Query,
    has_place,
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
        What the document adds to a sum over documents, or else what the value loses if the document has label 0. None
        if there are too many documents.
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
        if not places and (query if isinstance(query, str) else shorten(query)) in map(str, ids):
            hint = f" The ids are such as {examples}: write it like them, of one type."
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


MAX_WORK = 50_000_000  # documents to evaluate: 1.4 s for nDCG, 5 s for AP of labels of which half are relevant
MAX_BATCH = 2_000_000  # documents that are evaluated at once


def compute_contributions(case: QueryCase) -> dict[int, float] | None:
    """Return what each document adds to the value, by its place in the rankings. None if that takes too long."""
    policy = case.applied.ties
    groups = [order_by_policy(group, policy) for group in case.query.tie_groups]
    if TIES[policy].orders != "group":
        groups = [[document] for group in groups for document in group]
    documents = [document for group in groups for document in group]
    scores = np.repeat(-np.arange(len(groups), dtype="f8"), list(map(len, groups)))
    places = [document.place for document in documents]
    added = _measure_documents(case, places, scores, [bool(document.label) for document in documents])
    return None if added is None else dict(zip(places, added, strict=True))


def count_documents_read(case: QueryCase) -> int:
    """Return how many documents `compute_contributions` evaluates."""
    labels = [document.label for group in case.query.tie_groups for document in group]
    return (sum(map(bool, labels)) + 1) * len(labels)


def _measure_documents(
    case: QueryCase, places: list[int], scores: Array, may_add: list[bool], *, of_pool: bool = False
) -> list[float] | None:
    """
    Return what the documents at some places add to the value of their ranking. None if that takes too long.

    In a sum over documents it is the value if all others had label 0. Else it is the value less the one if the document
    had label 0, or were unjudged where that counts. The labels of the judged documents stay as they are.
    """
    rankings = case.rankings
    n_documents = len(places)
    chosen = np.flatnonzero(may_add)
    added = np.zeros(n_documents)
    if (len(chosen) + 1) * n_documents > MAX_WORK:
        return None
    if not case.is_judged:
        return added.tolist()
    pool = rankings.labels if rankings.judged is None else rankings.labels[rankings.judged]
    if rankings.pool is not None and case.applied.pool == "judged":
        pool = rankings.pool[0]
    labels = (pool if of_pool else rankings.labels)[places].astype("f8")
    judged = np.ones(n_documents, bool) if of_pool or rankings.judged is None else rankings.judged[places]
    convention = case.applied.replace(
        pool="judged", unjudged="nonrelevant", undefined="nan", undefined_ap="as undefined",
        ties=case.applied.ties if TIES[case.applied.ties].orders == "group" else "input",
    )  # fmt: skip

    def evaluate(rows: Array, judged: Array) -> Array:
        n_rows = len(rows)
        repeated = Rankings(
            rows.ravel(),
            np.tile(scores, n_rows),
            np.arange(n_rows + 1) * n_documents,
            judged=judged.ravel(),
            pool=(np.tile(pool, n_rows), np.arange(n_rows + 1) * len(pool)),
        )
        put(repeated, has_repeats=rankings.has_repeats)
        values = evaluate_rankings(repeated, (case.metric,), convention)[:, 0]
        return np.where(np.isnan(values), 0.0, values)

    record = case.metric.record
    others = labels.copy()
    value = 0.0
    if record.is_additive:
        others[chosen] = 0.0
    else:
        (value,) = evaluate(labels[np.newaxis], judged)
    for batch in np.array_split(chosen, len(chosen) * n_documents // MAX_BATCH + 1):
        place = np.arange(len(batch)), batch
        rows, are_judged = (np.tile(row, (len(batch), 1)) for row in (others, judged))
        rows[place] = labels[batch] if record.is_additive else 0.0
        are_judged[place] &= record.view != "judgments"
        values = evaluate(rows, are_judged)
        added[batch] = values if record.is_additive else value - values
    return added.tolist()


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
                discount=_average_discount(definition, ranks) if case.metric.record.gain_sums else None,
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
    added = _measure_documents(
        case, [place for place, _ in documents], -np.arange(len(documents), dtype="f8"),
        [bool(label) for _, label in documents], of_pool=name == "pool",
    )  # fmt: skip
    for rank, (place, label) in enumerate(documents):
        gain = definition.gain(label) if case.has_gain else None
        yield IdealDocument(rankings.document_name(name, place), label, gain, None if added is None else added[rank])


def _average_discount(definition: Definition, ranks: range) -> float:
    """Return the mean discount over the ranks. It is 0 below the cutoff."""
    within_cutoff = [rank for rank in ranks if definition.k is None or rank <= definition.k]
    return math.fsum(map(definition.discount, within_cutoff)) / len(ranks)


MAX_TERMS = 8

Ranking = tuple[RankedDocument, ...]
Ideal = tuple[IdealDocument, ...]


def format_arithmetic(case: QueryCase, ranking: Ranking, ideal: Ideal, value: float) -> Iterator[str]:
    """Yield the lines that derive the value."""
    metric = case.metric
    is_undefined = math.isnan(case.values(metric)[0])
    if metric.record.gain_sums:
        yield from _format_gain_sums(case, ranking, ideal)
    else:
        terms = [document.contribution for document in ranking if document.contribution]
        if metric.record.is_additive and terms and not is_undefined:
            yield f"{metric} = {_join_terms(list(map(format_number, terms)))}{format_number(value)}"
        n_relevant, n_ranked = case.values(Metric("num_rel", rel=metric.get("rel")), Metric("num_ret"))
        yield f"relevant documents: {format_number(n_relevant)}, documents ranked: {format_number(n_ranked)}"
    if is_undefined:
        field = metric.record.undefined_choice
        field = "undefined" if getattr(case.applied, field) == "as undefined" else field
        choice = getattr(case.applied, field)
        yield f"{metric} is undefined where {metric.record.undefined}; the convention says {field}={choice}"


def _format_gain_sums(case: QueryCase, ranking: Ranking, ideal: Ideal) -> Iterator[str]:
    metric = case.metric
    discount = read_definition(metric, case.applied).discount
    sums = {}
    for name in metric.record.gain_sums:
        part = Metric(name, metric.k, **dict(metric.parameters))
        terms = [(document.gain, document.discount) for document in ranking]
        if part.record.ideal:
            gains = [document.gain for document in ideal[: metric.k]]
            if case.applied.ideal == "k best" and metric.k is not None:
                gains = gains[:1] * metric.k
            elif case.applied.ideal == "min(k, n_retrieved)":
                gains = gains[: sum(map(len, case.query.tie_groups))]
            terms = [(gain, discount(rank)) for rank, gain in enumerate(gains, 1)]
        (sums[part],) = case.values(part)
        yield f"{part} = {_join_products(terms)}{format_number(sums[part])}"
    if len(sums) == 2:
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
