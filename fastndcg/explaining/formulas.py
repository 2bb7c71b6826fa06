"""The sums that give a metric's value, as text."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

from fastndcg.explaining.explanation import IdealDocument, RankedDocument, format_number
from fastndcg.explaining.query_case import QueryCase
from fastndcg.metrics.metric import Metric
from fastndcg.reference.definition import read_definition

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
