"""The sums that give a metric's value, in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from fastndcg.explain.case import Case
from fastndcg.explain.explanation import Ideal, Ranked, number
from fastndcg.metric import Metric
from fastndcg.reference.asked import asked_of

MOST_TERMS = 8


def arithmetic_of(
    case: Case, ranking: tuple[Ranked, ...], ideal: tuple[Ideal, ...], base: float, value: float
) -> Iterator[str]:
    """The sums that give the value."""
    metric = case.metric
    is_undefined = math.isnan(case.values(metric)[0])
    if case.adds_discounted_gains:
        yield from _gain_sums(case, ranking, ideal)
    else:
        if not is_undefined:
            yield from _contribution_sum(case, ranking, base, value)
        n_relevant, n_ranked = case.values(Metric("num_rel", rel=metric.get("rel")), Metric("num_ret"))
        yield f"relevant documents: {number(n_relevant)}, documents ranked: {number(n_ranked)}"
    if is_undefined:
        field = "undefined_ap" if metric.name == "AP" and case.applied.undefined_ap != "as undefined" else "undefined"
        yield f"{metric} has no value where {metric.record.undefined}; {field}={getattr(case.applied, field)}"


def _contribution_sum(case: Case, ranking: tuple[Ranked, ...], base: float, value: float) -> Iterator[str]:
    added = [one.contribution for one in ranking]
    if None in added or not (base or any(added)):
        return
    terms = [f"base {number(base)}"] if base else []
    yield f"{case.metric} = {_sum(terms + [number(one) for one in added if one])}{number(value)}"
    if base:
        yield f"base: {case.metric} if every document ranked had label 0"


def _gain_sums(case: Case, ranking: tuple[Ranked, ...], ideal: tuple[Ideal, ...]) -> Iterator[str]:
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
    """What stands before the value: terms with a sign between them, the first few of many; nothing for none."""
    more = [f"… ({len(terms) - MOST_TERMS} more)"] if len(terms) > MOST_TERMS else []
    return f"{' + '.join(terms[:MOST_TERMS] + more).replace('+ -', '- ')} = " if terms else ""
