"""Aggregates of a metric's values over all queries, besides the mean."""

from __future__ import annotations

from dataclasses import dataclass

from fastndcg.metrics.families.record import Parameter


@dataclass(frozen=True, slots=True)
class AggregateRecord:
    """An aggregate. Its name appears in texts such as ``gm(AP)``."""

    name: str
    title: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...] = ()


FLOOR = Parameter(
    "floor", "float", 1e-5, "values below it count as this, so that one 0 does not make the mean 0", above=0
)
Q = Parameter("q", "float", 0.5, "the share of the queries that lie below", min=0, max=1)
SHARE = Parameter("share", "float", 0.1, "the share of the queries that count, the worst ones", above=0, below=1)

AGGREGATES = {
    record.name: record
    for record in (
        AggregateRecord(
            name="gm",
            title="geometric mean",
            formula="exp(mean of ln(max(value, floor)))",
            source="S. Robertson, On GMAP: and other transformations, CIKM 2006, doi:10.1145/1183614.1183630",
            parameters=(FLOOR,),
        ),
        AggregateRecord(
            name="hm",
            title="harmonic mean",
            formula="1 / mean of 1/value, 0 if a value is 0",
            source="C. T. Hoyt et al., A unified framework for rank-based evaluation metrics, 2022, "
            "doi:10.48550/arXiv.2203.07544",
        ),
        AggregateRecord(
            name="median",
            title="median",
            formula="the middle value; the mean of the two middle ones of an even number",
            source="R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The American Statistician "
            "1996, doi:10.2307/2684934",
        ),
        AggregateRecord(
            name="quantile",
            title="quantile",
            formula="the value at place 1 + q · (n − 1) of the n sorted ones, a straight line between neighbours",
            source="R. J. Hyndman and Y. Fan, 1996, definition 7, doi:10.2307/2684934",
            parameters=(Q,),
        ),
        AggregateRecord(
            name="worst",
            title="mean of the worst",
            formula="mean of the worst share · n values, the last in part where that is no whole number",
            source="C. Acerbi and D. Tasche, On the coherence of expected shortfall, 2002, "
            "doi:10.1016/S0378-4266(02)00283-2",
            parameters=(SHARE,),
        ),
        AggregateRecord(
            name="micro",
            title="micro mean",
            formula="sum of the numerators over sum of the denominators of P, R or Rprec",
            source="D. D. Lewis, Evaluating text categorization, HLT 1991, doi:10.3115/112405.112471",
        ),
        AggregateRecord(
            name="adjusted",
            title="adjusted for chance",
            formula="(mean − mean by chance) / (1 − mean by chance) of Rank, RR or Success: 0 in random order, 1 if "
            "all are best; of Rank it is AMRI",
            source="C. T. Hoyt et al., A unified framework for rank-based evaluation metrics, 2022, "
            "doi:10.48550/arXiv.2203.07544",
        ),
        AggregateRecord(
            name="over_chance",
            title="ratio to chance",
            formula="mean / mean by chance of Rank, RR or Success: 1 in random order; of Rank it is AMR",
            source="M. Berrendorf et al., On the ambiguity of rank-based evaluation, 2020, "
            "doi:10.48550/arXiv.2002.06914",
        ),
    )
}
