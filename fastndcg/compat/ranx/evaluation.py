"""ranx's `evaluate`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fastndcg.compat.common import distinguish_unjudged, evaluate_judged
from fastndcg.compat.ranx.arrays import evaluate_arrays
from fastndcg.compat.ranx.data import MismatchError, Qrels, Run
from fastndcg.compat.ranx.metric_names import CONVENTION, parse_metric
from fastndcg.errors import InvalidTypeError, shorten
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array


def evaluate(
    qrels: Any,
    run: Any,
    metrics: list[str] | str,
    return_mean: bool = True,
    return_std: bool = False,
    threads: int = 0,
    save_results_in_run: bool = True,
    make_comparable: bool = False,
) -> Any:
    """
    Evaluate metrics on a run. See `ranx.evaluate`.

    Parameters
    ----------
    qrels : Qrels, dict of dict of int, or arrays
        The judgments. Arrays are an (n_queries, n_documents, 2) array, or a list with an (n_documents, 2) array for
        each query. Their rows are the id of a document, as a number, and its label. A typed list of Numba is a list.
    run : Run, dict of dict of float, or arrays
        The ranking of the same queries. The rows of arrays are in rank order, and their scores are not read. Arrays
        are paired with the other side by the place of the query.
    metrics : str or list of str
        Such as "ndcg@10", "bpref", "rbp.95" or "map-l2", where -l2 makes 2 the smallest relevant label.
    return_mean : bool
        True to return means, False to return the value of each query in the order of the ids.
    return_std : bool
        True to return standard deviations beside means, as {"mean": …, "std": …}.
    threads : int
        The number of threads, 0 for one per available CPU.
    save_results_in_run : bool
        True to set `run.scores` and `run.mean_scores`.
    make_comparable : bool
        True to skip queries without judgments and to score queries that the run lacks as 0. False to raise an error for
        them. The run itself is not changed.

    Returns
    -------
    float, array, or dict of them by metric
        A dict for several metrics.

    Raises
    ------
    MismatchError
        If judgments and run have different queries. It is also a ValueError and an AssertionError.
    UnknownMetricError
        If ranx has no such metric. It is also a ValueError.
    InvalidInputError
        If a label or a score is not valid.

    Examples
    --------
    >>> evaluate({"q1": {"d1": 1}}, {"q1": {"d2": 0.9, "d1": 0.5}}, "mrr", return_mean=False)
    array([0.5])
    """
    if not isinstance(metrics, Iterable):
        raise InvalidTypeError(
            f"`metrics` must be a text or a list of texts, not {type(metrics).__name__}. Pass a name such as 'ndcg@10'."
        )
    names = [metrics] if isinstance(metrics, str) else list(metrics)
    parsed_metrics = [parse_metric(name) for name in names]
    if is_table(qrels) and is_table(run):
        queries, values = _evaluate_tables(qrels, run, parsed_metrics, threads, make_comparable)
    else:
        values = evaluate_arrays(qrels, run, parsed_metrics, threads)
        queries = run.get_query_ids() if isinstance(run, Run) else []
    columns = dict(zip(names, values.T, strict=True))
    means = {name: _aggregate(column, return_std and return_mean) for name, column in columns.items()}
    if isinstance(run, Run) and save_results_in_run:
        _save(run, queries, columns, means)
    results: dict[str, Any] = means if return_mean else columns
    return results[names[0]] if len(names) == 1 else results


def is_table(value: Any) -> bool:
    """Return True for judgments or runs whose queries have ids."""
    return isinstance(value, Qrels | Run | dict)


def _evaluate_tables(
    qrels: Any, run: Any, metrics: list[Metric], threads: int, make_comparable: bool
) -> tuple[list[str], Array]:
    """Return the query ids and (n_queries, n_metrics) values. A query without judgments has 0."""
    qrels_table = qrels if isinstance(qrels, Qrels) else Qrels.viewing(qrels)
    run_table = run if isinstance(run, Run) else Run.viewing(run)
    if make_comparable and run_table.keys() != qrels_table.keys():
        run_table = run_table.view().make_comparable(qrels_table)
    if qrels_table.keys() != run_table.keys():
        unpaired = sorted(qrels_table.keys() ^ run_table.keys())
        raise MismatchError(
            f"Qrels and Run query ids do not match: {shorten(unpaired[0])} is on one side only, one of {len(unpaired)}."
            " Pass `make_comparable=True` to add empty results for queries missing from the run and remove those not "
            "appearing in qrels."
        )
    judged = run_table.judged(qrels_table, distinguish_unjudged(metrics, CONVENTION))
    judged_values = evaluate_judged(judged, metrics, CONVENTION, threads or None)
    queries = qrels_table.get_query_ids()
    if len(judged.queries) == len(queries):
        return queries, judged_values
    values = np.zeros((len(queries), len(metrics)))
    values[np.isin(queries, judged.queries)] = judged_values
    return queries, values


def _aggregate(column: Array, with_std: bool) -> Any:
    return {"mean": np.mean(column), "std": np.std(column)} if with_std else np.mean(column)


def _save(run: Run, queries: list[str], columns: dict[str, Array], means: dict[str, Any]) -> None:
    """Save values, means and standard deviations in the run."""
    for name, column in columns.items():
        has_std = isinstance(means[name], dict)
        run.mean_scores[name] = means[name]["mean"] if has_std else means[name]
        if has_std:
            run.std_scores[name] = means[name]["std"]
        run.scores[name] = dict(zip(queries, column.tolist(), strict=True))
