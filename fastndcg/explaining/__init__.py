"""explain: show how a metric's value for one query comes about, and why it differs under another convention."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, Never

from fastndcg.choices import ConventionName, DuplicateChoice, DuplicateRanks, MissingTruth
from fastndcg.errors import FastndcgError, InvalidInputError
from fastndcg.explaining.contributions import compute_base_value, format_arithmetic, list_ideal, list_ranking
from fastndcg.explaining.explanation import Explanation, Step
from fastndcg.explaining.query_case import QueryCase, make_case
from fastndcg.inputs.dispatch import make_selection, pair_id_lists, prepare_truth
from fastndcg.inputs.duplicates import make_duplicates
from fastndcg.inputs.messages import Options, refuse_keywords
from fastndcg.inputs.records import read_once
from fastndcg.metrics.metric import Metrics, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention


def explain(
    truth: Any,
    predictions: Any = None,
    metric: Metrics | None = None,
    *,
    query: Any = None,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    exclude: Any = None,
    candidates: Any = None,
    missing_truth: MissingTruth = "raise",
    duplicates: DuplicateChoice | None = None,
    ranks: DuplicateRanks | None = None,
    parents: Any = None,
    columns: Any = None,
    convention: ConventionName | str | Convention = "default",
    against: str | Convention | None = None,
    **keywords: Never,
) -> Explanation:
    """
    Show how a metric's value for one query comes about.

    Parameters
    ----------
    truth : array, path, dict, frame, Qrels, Interactions, sparse matrix or Rankings
        See `evaluate`.
    predictions : array, path, dict, frame or Run, optional
        See `evaluate`.
    metric : str or Metric
        One metric, such as "ndcg@10".
    query : str or int, optional
        The id of the query, or its index from 0 if queries have no ids. May be left out if there is one query.
    offsets, groups, query_ids : array, optional
        See `evaluate`.
    exclude, candidates, missing_truth, duplicates, ranks, parents
        See `evaluate`.
    columns : dict, optional
        See `evaluate`.
    convention : str or Convention
        See `evaluate`.
    against : str or Convention, optional
        Another convention. Both are shown side by side, with the fields that make the values differ.
    **keywords
        See `evaluate`.

    Returns
    -------
    Explanation
        Ranks, documents, scores, tie groups, labels, gains, discounts and contributions, with the ideal ranking beside
        them, and the sums that give the value. It prints as tables.

    Raises
    ------
    InvalidInputError
        If `evaluate` raises it, if there is no such query, or if there is more than one metric.

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
    refuse_keywords(explain, keywords)
    metrics = parse_metrics(metric)
    if len(metrics) > 1:
        first = ", ".join(map(str, metrics[:2])) + (", …" if len(metrics) > 2 else "")
        raise InvalidInputError(f"`metric` must be one metric, got {len(metrics)}: {first}. Explain one at a time.")
    selection = make_selection(exclude, candidates, missing_truth)
    options = Options(
        offsets, groups, query_ids, columns, selection=selection, other=predictions, is_alone=predictions is None,
        duplicates=make_duplicates(duplicates, ranks, parents),
    )  # fmt: skip
    prepared, predictions = pair_id_lists(prepare_truth(truth, options), predictions, options)
    predictions = read_once(predictions)  # an iterator gives its records to one convention only
    make_case_under = functools.partial(make_case, prepared, predictions, options, metrics[0], query)
    here = make_case_under(parse_convention(convention))
    if against is None:
        return _explain_case(here)
    there = make_case_under(parse_convention(against))
    steps = _list_steps(make_case_under, here, there)
    return dataclasses.replace(_explain_case(here), against=_explain_case(there), steps=tuple(steps))


def _explain_case(case: QueryCase) -> Explanation:
    value = case.value()
    base = compute_base_value(case)
    ranking = tuple(list_ranking(case))
    ideal = tuple(list_ideal(case))
    return Explanation(
        metric=case.metric,
        convention=case.convention,
        query=case.rankings.query_name(0),
        value=value,
        base=base,
        ranking=ranking,
        ideal=ideal,
        arithmetic=tuple(format_arithmetic(case, ranking, ideal, base, value)),
    )


def _list_steps(
    make_case_under: Callable[[Convention], QueryCase], here: QueryCase, there: QueryCase
) -> Iterator[Step]:
    """Yield the changes from one convention to the other, one field at a time, with the value after each."""
    current: Convention = here.convention
    last: float | None = here.value()
    for field, choice in here.convention.choices().items():
        target = there.convention.choices()[field]
        if choice == target:
            continue
        current = current.replace(**{field: target})
        value: float | None = None
        with contextlib.suppress(FastndcgError):  # a choice can depend on another one that is not replaced yet
            value = make_case_under(current).value()
        yield Step(field, choice, target, value, not _is_same(value, last))
        last = value


def _is_same(first: float | None, second: float | None) -> bool:
    if first is None or second is None:
        return first is second
    is_close = math.isclose(first, second, rel_tol=1e-12, abs_tol=1e-15)
    return is_close or (math.isnan(first) and math.isnan(second))
