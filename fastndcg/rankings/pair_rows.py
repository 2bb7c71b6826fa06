"""Rows of results: queries or pairs, and the documents that a relevant one competes with."""

from __future__ import annotations

from typing import Any, NamedTuple

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import is_micro
from fastndcg.named_conventions import Convention

ROWS = ("query", "pair")
COMPETITORS = ("all", "nonrelevant")


class PairRows(NamedTuple):
    """The arguments `rows` and `competitors` of an evaluation that ranks each relevant document on its own."""

    rows: str
    competitors: str


def read_pair_rows(rows: Any, competitors: Any) -> PairRows | None:
    """Return the arguments, None if queries are the rows and all documents compete."""
    for name, value, choices in (("rows", rows, ROWS), ("competitors", competitors, COMPETITORS)):
        if not isinstance(value, str) or value not in choices:
            raise InvalidInputError(f"`{name}` must be {' or '.join(map(repr, choices))}, not {shorten(value)}")
    return None if (rows, competitors) == ("query", "all") else PairRows(rows, competitors)


def check_pair_metrics(metrics: tuple[Metric, ...], convention: Convention, pairs: PairRows) -> None:
    """
    Check that metrics have a meaning where each relevant document is ranked on its own.

    Raises
    ------
    InvalidInputError
        If a metric reads more than labels, or is a quotient of sums that a mean over pairs does not keep.
    """
    for metric in metrics:
        if metric.record.view != "labels":
            raise InvalidInputError(
                f"{metric} reads which documents are judged or subtopics, and one relevant document alone does not say "
                "that. Leave out rows= and competitors=, or take another metric."
            )
        has_weight = metric.get("weight") in ("positives", "impressions") or is_micro(metric, convention)
        if pairs.rows == "query" and has_weight:
            raise InvalidInputError(
                f"{metric} weighs queries, and under competitors='nonrelevant' a query has the mean over its pairs. "
                f"Take {metric.bare} with precision_mean='macro', or rows='pair'."
            )
