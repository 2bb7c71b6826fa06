"""explain: why a metric's number is what it is, for one query, and why it differs under another convention."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from fastndcg.checks import has_gain
from fastndcg.combinations import with_default_cutoff
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import FastndcgError, InvalidInputError, nearest
from fastndcg.evaluate import evaluate
from fastndcg.explanation import Explanation, Ideal, Ranked, Step, number
from fastndcg.inputs.prepare import Truth, prepare_truth, with_predictions
from fastndcg.inputs.tables import Qrels
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Rankings
from fastndcg.reference import expectation, settle_undefined
from fastndcg.reference.definitions import Asked, asked_of
from fastndcg.reference.orders import Query, has_place, number_of_orders, ordered, orders_of, query_of

MOST_WORK = 50_000_000  # documents looked at: about a second
ADDITIVE = ("CG", "DCG", "nDCG", "P", "R", "num_rel_ret")  # what a document adds depends on its own rank alone
MOST_TERMS = 8


def explain(
    truth: Any, predictions: Any = None, metric: Metrics | None = None, *, query: Any = None, offsets: Any = None,
    groups: Any = None, query_ids: Any = None, convention: str | Convention = "default",
    against: str | Convention | None = None,
) -> Explanation:  # fmt: skip
    """
    Show how a metric's value for one query comes about.

    Parameters
    ----------
    truth, predictions, offsets, groups, query_ids, convention
        See `evaluate`.
    metric : str or Metric
        One metric, such as "ndcg@10".
    query : str or int, optional
        The query's id, or its number from 0 where it has none. May be left out where there is one query.
    against : str or Convention, optional
        Another convention: both are shown side by side, with the fields that make the difference.

    Returns
    -------
    Explanation
        Ranks, documents, scores, tie groups, labels, gains, discounts and contributions, the ideal order beside them,
        and the arithmetic that gives the value. It prints as a table.

    Raises
    ------
    InvalidInputError
        As `evaluate`; and if there is no such query, or more metrics than one.

    Examples
    --------
    >>> fn.explain({"q": {"a": 2, "c": 1}}, {"q": {"a": 0.5, "b": 0.7, "c": 0.1}}, "ndcg@2")
    nDCG@2 of query q: 0.4796; convention default, ties average
    rank  document   score  tie  label  gain  discount    adds  |  ideal  label  gain    adds
    1     b         0.7000           –     0         1       0  |      a      2     2  0.7602
    2     a         0.5000           2     2    0.6309  0.4796  |      c      1     1  0.2398
    DCG@2 = 2·0.6309 = 1.2619
    IDCG@2 = 2·1 + 1·0.6309 = 2.6309
    nDCG@2 = DCG@2 / IDCG@2 = 1.2619 / 2.6309 = 0.4796
    not shown: 1 documents below, 1 of them with a label other than 0
    """
    asked = parse_metrics(metric)
    if len(asked) > 1:
        raise InvalidInputError(f"`metric` must be one metric, but there are {len(asked)}: {asked[0]}, {asked[1]}, …")
    prepared = prepare_truth(truth, offsets, groups, query_ids)
    here = _case(prepared, predictions, asked[0], query, parse_convention(convention))
    if against is None:
        return _explained(here)
    there = _case(prepared, predictions, asked[0], query, parse_convention(against))
    steps = _steps(prepared, predictions, query, here, there)
    return dataclasses.replace(_explained(here), against=_explained(there), steps=tuple(steps))


class _Case(NamedTuple):
    """One query as a convention sees it; `convention` as it was named, `applied` to the kind of labels."""

    metric: Metric
    convention: Convention
    applied: Convention
    rankings: Rankings
    query: Query
    is_judged: bool

    def values(self, *metrics: Metric) -> list[float]:
        """What `evaluate` says, NaN where a metric has no value."""
        return self._under(self.applied.replace(undefined="nan", undefined_ap="as undefined"), *metrics)

    def value(self) -> float:
        """What `evaluate` says, with the convention's choice where the metric has no value; NaN where that raises."""
        raising = [field for field in ("undefined", "undefined_ap") if getattr(self.applied, field) == "raise"]
        return self._under(self.applied.replace(**dict.fromkeys(raising, "nan")), self.metric)[0]

    def _under(self, convention: Convention, *metrics: Metric) -> list[float]:
        if self.is_judged:
            result = evaluate(self.rankings, metrics=metrics, convention=convention)
            return [float(result[metric][0]) for metric in metrics]
        undefined = np.full((1, len(metrics)), np.nan)
        settle_undefined(undefined, metrics, self.rankings, convention)
        return [float(value) for value in undefined[0]]


def _case(prepared: Truth, predictions: Any, metric: Metric, query: Any, convention: Convention) -> _Case:
    joined = with_predictions(prepared, predictions, convention)
    applied = convention.for_labels_of(qrels=isinstance(prepared, Qrels))
    q = _number_of(joined.rankings, query)
    one = _only(joined.rankings, q)
    is_judged = joined.unjudged_queries is None or not joined.unjudged_queries[q]
    (metric,) = with_default_cutoff((metric,), applied)
    return _Case(metric, convention, applied, one, query_of(one, 0, applied), is_judged)


def _number_of(rankings: Rankings, query: Any) -> int:
    """Where a query is."""
    ids = list(range(rankings.n_queries)) if rankings.query_ids is None else rankings.query_ids.tolist()
    if query is None and len(ids) == 1:
        return 0
    shown = ", ".join(map(repr, ids[:3])) + (", …" if len(ids) > 3 else "")
    if query is None:
        raise InvalidInputError(f"`query` must name one of {len(ids)} queries ({shown}), but is missing")
    found = [number for number, one in enumerate(ids) if one == query]
    if len(found) != 1:
        hint = nearest(str(query), map(str, ids)) or f" There are {len(ids)}: {shown}"
        raise InvalidInputError(f"`query` must be evaluated, but {len(found) or 'none'} is called {query!r}.{hint}")
    return found[0]


def _only(rankings: Rankings, q: int) -> Rankings:
    """One query of the rankings, whose documents keep their names."""
    start, stop = (int(offset) for offset in rankings.offsets[q : q + 2])
    starts, pool = {"pool": 0}, None
    if rankings.pool is not None:
        labels, offsets = rankings.pool
        starts["pool"] = int(offsets[q])
        pool = (labels[offsets[q] : offsets[q + 1]], [0, int(offsets[q + 1] - offsets[q])])
    made = Rankings(
        rankings.labels[start:stop],
        rankings.scores[start:stop],
        [0, stop - start],
        judged=None if rankings.judged is None else rankings.judged[start:stop],
        pool=pool,
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[start:stop],
        query_ids=[q] if rankings.query_ids is None else rankings.query_ids[q : q + 1],
    )
    made.are_ordinals = rankings.are_ordinals
    return made.placed_by(lambda name, place: rankings.document_name(name, place + starts.get(name, start)))


def _explained(case: _Case) -> Explanation:
    value = case.value()
    ranking, ideal = tuple(_ranking(case)), tuple(_ideal(case))
    arithmetic = tuple(_arithmetic(case, ranking, ideal, value))
    name = case.rankings.query_name(0)
    return Explanation(case.metric, case.convention, name, value, ranking, ideal, arithmetic)


def _ranking(case: _Case) -> Iterator[Ranked]:
    """The documents in rank order; those that tie as the policy orders them, or together where it averages."""
    asked, rankings = asked_of(case.metric, case.applied), case.rankings
    adds = _contributions(case)
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
                asked.gain(one.label) if has_gain(case.metric) else None,
                _discount(case.metric, asked, ranks) if has_gain(case.metric) else None,
                None if adds is None else adds[one.place],
            )
        above += len(group)


def _discount(metric: Metric, asked: Asked, ranks: range) -> float:
    """The mean discount over some ranks, 0 beyond the cutoff; CG counts every rank alike."""
    counted = [rank for rank in ranks if asked.k is None or rank <= asked.k]
    return math.fsum(1.0 if metric.name == "CG" else asked.discount(rank) for rank in counted) / len(ranks)


def _ideal(case: _Case) -> Iterator[Ideal]:
    """The judged documents in the best order, and what each adds there."""
    asked, rankings = asked_of(case.metric, case.applied), case.rankings
    name, places = "labels", sorted(one.place for group in case.query.tie_groups for one in group)
    if rankings.pool is not None and case.applied.pool == "judged":
        name = "pool"
        places = [place for place, label in enumerate(rankings.pool[0]) if has_place(label, case.applied)]
    documents = list(zip(places, case.query.judged, strict=True))
    documents.sort(key=lambda one: asked.gain(one[1]) if has_gain(case.metric) else one[1], reverse=True)
    labels = [label for _, label in documents]
    adds = _added(case, labels) if _work([[label] for label in labels]) <= MOST_WORK else [None] * len(labels)
    for (place, label), added in zip(documents, adds, strict=True):
        gain = asked.gain(label) if has_gain(case.metric) else None
        yield Ideal(rankings.document_name(name, place), label, gain, added)


def _contributions(case: _Case) -> dict[int, float] | None:
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


def _work(labels: list[list[float]]) -> int:
    """About how many documents are looked at to find what each of them adds in every order of the groups' labels."""
    n_hits = sum(label != 0 for group in labels for label in group)
    return number_of_orders(labels) * n_hits**2 * sum(map(len, labels))


def _mean_shares(case: _Case, labels: list[list[float]], orders: list[list[float]]) -> dict[tuple[int, float], float]:
    """What a document of a label in a tie group adds, on average over all orders."""
    group_of = [g for g, group in enumerate(labels) for _ in group]
    times = Counter((g, label) for g, group in enumerate(labels) for label in group)
    shares: dict[tuple[int, float], float] = defaultdict(float)
    for order in orders:
        for g, label, added in zip(group_of, order, _added(case, order), strict=True):
            shares[g, label] += added / len(orders) / times[g, label]
    return shares


def _shares_alone(case: _Case, labels: list[list[float]]) -> dict[tuple[int, float], float]:
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


def _added(case: _Case, labels: list[float]) -> list[float]:
    """How much the value grows with each document, those below it taken for documents with label 0."""
    shown = [0.0] * len(labels)
    added = [0.0] * len(labels)
    before = _one_value(case, shown)
    for place, label in enumerate(labels[: case.metric.k]):
        if label != 0:
            shown[place] = label
            after = _one_value(case, shown)
            added[place], before = after - before, after
    return added


def _one_value(case: _Case, labels: list[float]) -> float:
    """The reference's value of one order, 0 where there is none."""
    value = expectation(case.metric, [labels], case.query.judged, case.applied)
    return 0.0 if math.isnan(value) else value


def _arithmetic(case: _Case, ranking: tuple[Ranked, ...], ideal: tuple[Ideal, ...], value: float) -> Iterator[str]:
    """The sums that give the value."""
    metric = case.metric
    if has_gain(metric):
        yield from _gain_sums(case, ranking, ideal)
    else:
        terms = [number(one.contribution) for one in ranking if one.contribution]
        if terms:
            yield f"{metric} = {_sum(terms)}{number(value)}"
        n_relevant, n_ranked = case.values(Metric("num_rel", rel=metric.get("rel")), Metric("num_ret"))
        yield f"relevant documents: {number(n_relevant)}, documents ranked: {number(n_ranked)}"
    if math.isnan(case.values(metric)[0]):
        yield f"{metric} has no value where {metric.record.undefined}; undefined={case.applied.undefined}"


def _gain_sums(case: _Case, ranking: tuple[Ranked, ...], ideal: tuple[Ideal, ...]) -> Iterator[str]:
    metric, asked = case.metric, asked_of(case.metric, case.applied)
    parts = ("DCG", "IDCG") if metric.name == "nDCG" else (metric.name,)
    sums = {}
    for name in parts:
        part = Metric(name, metric.k, **dict(metric.parameters))
        terms = [(one.gain, one.discount) for one in ranking]
        if name == "IDCG":
            gains = [one.gain for one in ideal[: metric.k]]
            if case.applied.ideal == "k best" and metric.k is not None:
                gains = gains[:1] * metric.k
            terms = [(gain, asked.discount(rank)) for rank, gain in enumerate(gains, 1)]
        (sums[part],) = case.values(part)
        yield f"{part} = {_products(terms)}{number(sums[part])}"
    if metric.name == "nDCG":
        (dcg, reached), (idcg, best) = sums.items()
        if best:
            yield f"{metric} = {dcg} / {idcg} = {number(reached)} / {number(best)} = {number(reached / best)}"


def _products(terms: Iterable[tuple[float | None, float | None]]) -> str:
    return _sum([f"{number(gain)}·{number(discount)}" for gain, discount in terms if gain and discount])


def _sum(terms: list[str]) -> str:
    """What stands before the value: terms with a plus between them, the first few of many; nothing for none."""
    more = [f"… ({len(terms) - MOST_TERMS} more)"] if len(terms) > MOST_TERMS else []
    return f"{' + '.join(terms[:MOST_TERMS] + more)} = " if terms else ""


def _steps(prepared: Truth, predictions: Any, query: Any, here: _Case, there: _Case) -> Iterator[Step]:
    """From one convention to the other, one field after the other, with the value on the way."""
    current: Convention = here.convention
    last: float | None = here.value()
    for field, choice in here.convention.choices().items():
        aim = there.convention.choices()[field]
        if choice == aim:
            continue
        current = current.replace(**{field: aim})
        value: float | None = None
        with contextlib.suppress(FastndcgError):  # half way, a choice may lack what another one brings
            value = _case(prepared, predictions, here.metric, query, current).value()
        yield Step(field, choice, aim, value, not _same(value, last))
        last = value


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15) or (math.isnan(one) and math.isnan(other))
