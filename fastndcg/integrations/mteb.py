"""
Metrics of MTEB that read scores, the judgments of other queries, or two runs. The others are metrics of `evaluate`.

Capped recall is R@k of a convention: ``fn.evaluate(qrels, run, "recall@10",
convention="trec_eval_9(recall_denominator=min(k, n_relevant))")``.

>>> import fastndcg as fn
>>> from fastndcg.integrations import mteb
>>> qrels = {"q1": {"d1": 1}, "q2": {"d1": 1}, "q3": {"d3": 1}}
>>> run = {"q1": {"d1": 0.9, "d2": 0.1}, "q2": {"d2": 0.6, "d1": 0.5}, "q3": {"d2": 0.4, "d3": 0.3}}
>>> result = fn.evaluate(qrels, run, "mrr@10", convention="trec_eval_9")
>>> mteb.nauc(result, run)["RR@10"]["max"]
1.0
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.dispatch import read_form, read_run_form, refuse_unknown_form
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels, Run
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.results import Results

ABSTENTION_RATES = np.linspace(0, 1, 11)[:-1]


def nauc(results: Results, run: Any) -> dict[str, dict[str, float]]:
    """
    Compute how well the scores of a run tell the queries that it answers well: the normalised abstention AUC.

    The queries with the least confidence are left out, 0 to 90 % of them. The area under the mean of the others is
    scaled: 0 as without an order, 1 as if the worst values were left out first. Queries with equal confidence count
    with their mean, as in MTEB from 2.26 on. Queries without a value are left out, as from the mean.

    Parameters
    ----------
    results : Results
        What `evaluate` returned for the run, with one row per query.
    run : Run, path, dict, frame or records
        The run, with the scores.

    Returns
    -------
    dict of dict of float
        For each metric the nAUC by three kinds of confidence: "max", the highest score of the query, "std", the
        standard deviation of its scores, and "diff1", the highest score less the second one. At most 1. NaN if all
        values are equal.

    Raises
    ------
    InvalidInputError
        If a query of the results is not in the run, or no query has a value.

    References
    ----------
    H. Gisserot-Boukhlef et al., 2024, arXiv:2402.12997. MTEB, `_evaluators/retrieval_metrics.py`, nauc.

    Examples
    --------
    >>> import fastndcg as fn
    >>> run = {"a": {"x": 0.9}, "b": {"y": 0.5}, "c": {"x": 0.7}}
    >>> result = fn.evaluate({"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1}}, run, "recall@5")
    >>> nauc(result, run)["R@5"]["max"]
    1.0
    """
    table = read_run_form(run, "run", Options())
    rows = {query: row for row, query in enumerate(table.queries.names().tolist())}
    queries = np.asarray(results.query_ids).tolist()
    missing = [query for query in queries if query not in rows]
    if missing:
        raise InvalidInputError(
            f"`run` must have each query of `results`, but lacks {shorten(missing[0])} ({len(missing)} in all). Give "
            "the run that was evaluated, or leave the query out of the judgments"
        )
    confidence = _compute_confidence(table)
    places = np.array([rows[query] for query in queries], "i8")
    return {
        str(metric): {kind: _scale_curve(own[places], values, str(metric)) for kind, own in confidence.items()}
        for metric, values in zip(results.metrics, results.values.T, strict=True)
    }


def p_mrr(original: Any, changed: Any, documents: Mapping[Any, Collection[Any]]) -> dict[Any, float]:
    """
    Compute how a changed instruction moves the documents that it makes irrelevant: p-MRR of FollowIR, by query.

    For a document at rank r before and s after, it is s / r - 1 if s is at most r, else 1 - r / s. So -1 is a move to
    the top, 1 a move to the end, and 0 none. A query has the mean over its documents. The mean over the queries is
    MTEB's value.

    Parameters
    ----------
    original, changed : Run, path, dict, frame or records
        The runs for the original and for the changed instructions, with the same ids of queries. MTEB's suffixes "-og"
        and "-changed" are left out. Of equal scores, the higher id is first. A document that a run lacks follows all
        others.
    documents : {query: documents}
        The documents whose relevance the instruction changes.

    Returns
    -------
    dict of float
        For each query of `documents` a value from -1 to 1.

    Raises
    ------
    InvalidInputError
        If a run lacks a query, or a query has no document.

    References
    ----------
    O. Weller et al., 2024, arXiv:2403.15246. MTEB, `_evaluators/retrieval_metrics.py`, calculate_pmrr.

    Examples
    --------
    >>> p_mrr({"q": {"a": 0.9, "b": 0.5}}, {"q": {"a": 0.1, "b": 0.5}}, {"q": ["a"]})
    {'q': 0.5}
    """
    tables = [read_run_form(run, name, Options()) for run, name in ((original, "original"), (changed, "changed"))]
    rows = [{query: row for row, query in enumerate(table.queries.names().tolist())} for table in tables]
    values = {}
    for query, own in documents.items():
        for name, known in zip(("original", "changed"), rows, strict=True):
            if query not in known:
                raise InvalidInputError(f"`{name}` must have the query {shorten(query)} of `documents`. Add it")
        if not len(own):
            raise InvalidInputError(f"`documents` must have a document for the query {shorten(query)}. Leave it out")
        before, after = (_find_ranks(table, known[query], own) for table, known in zip(tables, rows, strict=True))
        values[query] = float(np.where(before >= after, after / before - 1, 1 - before / after).mean())
    return values


def hole(qrels: Any, run: Any, k: int) -> dict[Any, float]:
    """
    Compute the share of the first k documents that no query has a judgment of: Hole@k, by query.

    Unjudged@k of `evaluate` counts documents without a judgment for the query itself.

    Parameters
    ----------
    qrels : Qrels, path, dict, frame or records
        The judgments of all queries.
    run : Run, path, dict, frame or records
        The run. Of equal scores, the higher id is first.
    k : int
        The cutoff, 1 or more, by which is divided also where a query has fewer documents.

    Returns
    -------
    dict of float
        For each query of the run a value from 0 to 1.

    Raises
    ------
    InvalidInputError
        If `k` is less than 1.

    References
    ----------
    N. Thakur et al., 2021, arXiv:2104.08663. MTEB, `_evaluators/retrieval_metrics.py`, hole.

    Examples
    --------
    >>> hole({"q": {"a": 1}, "r": {"b": 0}}, {"q": {"c": 0.9, "b": 0.8, "a": 0.7}}, 2)
    {'q': 0.5}
    """
    k = check_whole_number(k, "k", 1)
    table = read_run_form(run, "run", Options())
    judgments = read_form(qrels, "truth", Options())
    if not isinstance(judgments, Qrels):
        refuse_unknown_form(qrels, "qrels", "truth")
    annotated = set(judgments.documents.names().tolist())
    values = {}
    for query, names, scores in _iterate(table):
        first = np.lexsort((names, scores))[::-1][:k]
        values[query] = sum(name not in annotated for name in names[first].tolist()) / k
    return values


def _iterate(table: Run) -> Iterator[tuple[Any, Array, Array]]:
    """Yield the queries of a run with their documents and scores."""
    names = table.documents.names()
    queries = table.queries.names().tolist()
    for query, (start, stop) in zip(queries, pairwise(table.offsets.tolist()), strict=True):
        yield query, names[start:stop], table.values[start:stop]


def _compute_confidence(table: Run) -> dict[str, Array]:
    """Return the confidence of each query by its kinds, 0 for a query without documents."""
    confidence = {kind: np.zeros(len(table.queries)) for kind in ("max", "std", "diff1")}
    for row, (_, _, scores) in enumerate(_iterate(table)):
        if len(scores):
            best = np.sort(scores.astype("f8"))[::-1][:2]
            confidence["max"][row] = best[0]
            confidence["std"][row] = np.std(scores.astype("f8"))
            confidence["diff1"][row] = best[0] - best[1] if len(best) > 1 else 0.0
    return confidence


def _scale_curve(confidence: Array, values: Array, metric: str) -> float:
    """Return the area under the abstention curve of values: 0 for a flat curve, 1 for the order of the values."""
    has_value = ~np.isnan(values)
    if not has_value.any():
        raise InvalidInputError(f"`results` must have a value of {metric}, but it is undefined for all queries")
    values = values[has_value]
    area, oracle = (_find_area(order, values) for order in (confidence[has_value], values))
    flat = values.mean() * (ABSTENTION_RATES[-1] - ABSTENTION_RATES[0])
    return float("nan") if (values == values[0]).all() else float((area - flat) / (oracle - flat))


def _find_area(confidence: Array, values: Array) -> float:
    """Return the area under the means of the values that are left as the lowest confidence is left out first."""
    order = np.argsort(confidence, kind="stable")
    ordered = confidence[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=np.nan) != 0)
    sizes = np.diff(starts, append=len(ordered))
    means = np.repeat(np.add.reduceat(values[order], starts) / sizes, sizes)
    n = len(means)
    curve = np.array([means[min(round(rate * n), n - 1) :].mean() for rate in ABSTENTION_RATES.tolist()])
    return float((np.diff(ABSTENTION_RATES) * (curve[1:] + curve[:-1]) / 2).sum())


def _find_ranks(table: Run, row: int, documents: Collection[Any]) -> Array:
    """Return the ranks of documents of a query, whose higher id is first among equal scores."""
    start, stop = table.offsets[row : row + 2].tolist()
    names = table.documents.take(np.arange(start, stop)).names()
    scores = table.values[start:stop]
    places = {name: place for place, name in enumerate(names.tolist())}
    ranks = []
    for document in documents:
        place = places.get(document)
        if place is None:
            ranks.append(len(names) + 1)
        else:
            is_above = (scores > scores[place]) | ((scores == scores[place]) & (names > names[place]))
            ranks.append(1 + int(is_above.sum()))
    return np.array(ranks, "f8")
