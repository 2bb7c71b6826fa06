"""explain: why a metric's number is what it is, for one query, and why it differs under another convention."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import FastndcgError, InvalidInputError
from fastndcg.explain.arithmetic import arithmetic_of
from fastndcg.explain.case import Case, case_of
from fastndcg.explain.contributions import base_of
from fastndcg.explain.explanation import Explanation, Step
from fastndcg.explain.ranking import ideal_of, ranking_of
from fastndcg.inputs.prepare import Options, prepare_truth
from fastndcg.metric import Metrics, parse_metrics


def explain(
    truth: Any, predictions: Any = None, metric: Metrics | None = None, *, query: Any = None, offsets: Any = None,
    groups: Any = None, query_ids: Any = None, columns: Any = None, convention: str | Convention = "default",
    against: str | Convention | None = None,
) -> Explanation:  # fmt: skip
    """
    Show how a metric's value for one query comes about.

    Parameters
    ----------
    truth, predictions, offsets, groups, query_ids, columns, convention
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
    documents not shown: 1, with a label other than 0: 1
    """
    asked = parse_metrics(metric)
    if len(asked) > 1:
        raise InvalidInputError(f"`metric` must be one metric, but there are {len(asked)}: {asked[0]}, {asked[1]}, …")
    prepared = prepare_truth(truth, options := Options(offsets, groups, query_ids, columns))
    under = functools.partial(case_of, prepared, predictions, options, asked[0], query)
    here = under(parse_convention(convention))
    if against is None:
        return _explained(here)
    there = under(parse_convention(against))
    steps = _steps(under, here, there)
    return dataclasses.replace(_explained(here), against=_explained(there), steps=tuple(steps))


def _explained(case: Case) -> Explanation:
    value = case.value()
    ranking, ideal = tuple(ranking_of(case)), tuple(ideal_of(case))
    base, name = base_of(case), case.rankings.query_name(0)
    arithmetic = tuple(arithmetic_of(case, ranking, ideal, base, value))
    return Explanation(case.metric, case.convention, name, value, base, ranking, ideal, arithmetic)


def _steps(under: Callable[[Convention], Case], here: Case, there: Case) -> Iterator[Step]:
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
            value = under(current).value()
        yield Step(field, choice, aim, value, not _same(value, last))
        last = value


def _same(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-15) or (math.isnan(one) and math.isnan(other))
