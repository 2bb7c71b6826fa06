"""What one number can be made of a metric's values of all queries, beside their mean."""

from __future__ import annotations

from dataclasses import dataclass

from fastndcg.catalog.record import Parameter


@dataclass(frozen=True, slots=True)
class AggregateRecord:
    """One aggregate: its name in texts such as ``gm(AP)``, and what it is."""

    name: str
    title: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...] = ()


FLOOR = Parameter("floor", "positive", 1e-5, "values below it count as this, so that one 0 does not make the mean 0")
Q = Parameter("q", "share", 0.5, "the share of the queries that lie below")
SHARE = Parameter("share", "probability", 0.1, "the share of the queries that count, the worst ones")

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
            name="median",
            title="median",
            formula="the middle value; the mean of the two middle ones of an even number",
            source="R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The American Statistician 1996",
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
            source="D. D. Lewis, Evaluating text categorization, HLT 1991",
        ),
    )
}
