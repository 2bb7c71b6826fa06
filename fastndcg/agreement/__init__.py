"""How far two rankings of each query agree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastndcg.agreement.results import Agreement
from fastndcg.inputs.pairs import pairs_of
from fastndcg.inputs.prepare import Options
from fastndcg.metric import Metrics, parse_metrics
from fastndcg.threads import checked_threads


def agreement(
    first: Any,
    second: Any,
    metrics: Metrics | None = None,
    *,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    columns: Mapping[str, str] | None = None,
    threads: int | None = None,
) -> Agreement:
    """
    Compare two rankings of the same documents, query by query.

    Correlations (tau_b, spearman, tau_ap, tau_ap_b) are those of the documents that both rankings have; RBO is of all
    that either has. For tau_ap the first ranking is the true one, and the ranks that count most are the second's.

    Parameters
    ----------
    first, second : array, path, dict, frame or Run
        Scores, higher is better: two arrays of the same shape, or runs with ids, which are joined on them.
    metrics : str, Metric, or iterable of them
        Such as "tau_b" or ["tau_ap", "rbo(p=0.9)@100"]; `fastndcg metrics` lists them.
    offsets, groups, query_ids, columns, threads
        See `evaluate`.

    Returns
    -------
    Agreement
        `Results` with one value a query and metric, NaN where a metric is undefined.

    Raises
    ------
    InvalidInputError
        If shapes disagree, a score is NaN, or the runs have no query in common.

    Examples
    --------
    >>> fn.agreement([[3, 2, 1], [1, 2, 3]], [[3, 1, 2], [1, 2, 3]], "tau_b, rbo(p=0.5)@2").to_dict()
    {0: {'tau_b': 0.3333333333333333, 'RBO(p=0.5)@2': 0.75}, 1: {'tau_b': 1.0, 'RBO(p=0.5)@2': 1.0}}
    >>> old, new = {"q": {"d1": 3, "d2": 2, "d3": 1}}, {"q": {"d1": 9, "d4": 8, "d3": 7}}
    >>> fn.agreement(old, new, ["spearman", "rbo"])
    metric      mean  queries  undefined
    spearman  1.0000        1          0
    RBO       0.6850        1          0
    RBO: means over all orders of equal scores, which 0 of 1 queries have
    """
    asked = parse_metrics(metrics, "agreement")
    n_threads = checked_threads(threads)
    pairs = pairs_of(first, second, Options(offsets, groups, query_ids, columns, None, threads))
    from fastndcg.agreement.spans import evaluate  # brings numba, which `import fastndcg` does not

    values, n_tied = evaluate(pairs, asked, n_threads)
    return Agreement(values, asked, pairs.query_ids, n_tied=n_tied, notes=pairs.notes)
