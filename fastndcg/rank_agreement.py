"""Compare two rankings of each query: the function `agreement` and its results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastndcg.inputs.dispatch import Options
from fastndcg.inputs.two_runs import read_pairs
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.runtime.lazy_import import load
from fastndcg.runtime.threads import check_threads


def agreement(
    first: Any,
    second: Any,
    metrics: Metrics | None = None,
    *,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    columns: Mapping[str, str | Mapping[str, str]] | None = None,
    threads: int | None = None,
) -> Agreement:
    """
    Compare two rankings of the same documents, query by query.

    Correlations (tau_b, spearman, tau_ap, tau_ap_b) compare the documents that both rankings have. RBO compares all
    documents. For tau_ap the first ranking is the true one, and high ranks of the second one count most.

    Parameters
    ----------
    first, second : array, path, dict, frame or Run
        Scores, higher is better: two arrays of the same shape, or two runs, which are joined on their ids.
    metrics : str, Metric, or iterable of them
        Such as "tau_b" or ``["tau_ap", "rbo(p=0.9)@100"]``. ``fastndcg metrics`` lists them.
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
    parsed = parse_metrics(metrics, "agreement")
    n_threads = check_threads(threads)
    pairs = read_pairs(first, second, Options(offsets, groups, query_ids, columns, None, threads))
    engine = load("fastndcg.engine.agreement")  # late: `import fastndcg` does not import NumPy
    output = engine.run(pairs, parsed, n_threads)
    return Agreement(output.values, parsed, pairs.query_ids, n_tied=output.n_tied, notes=pairs.notes)


class Agreement(Results):
    """
    The agreement of two rankings of each query: `Results` with a line on ties.

    Any number of threads may use one at once.

    `agreement` makes it.

    Parameters
    ----------
    values : (n_queries, n_metrics) float64 array
        The agreement, NaN where a metric is undefined.
    metrics : tuple of Metric
        One a column.
    query_ids : (n_queries,) array or None
        One a row. By default their numbers from 0.
    n_tied : int
        The number of queries in which either ranking has equal scores.
    notes : tuple of str, optional
        Remarks on the input.

    Examples
    --------
    >>> result = fn.agreement([[2, 1, 1]], [[3, 2, 1]], "tau_ap")
    >>> result["tau_ap"], result.n_tied
    (array([0.75]), 1)
    """

    __slots__ = ()

    def __init__(
        self,
        values: Array,
        metrics: tuple[Metric, ...],
        query_ids: Array | None,
        *,
        n_tied: int,
        notes: tuple[str, ...] = (),
    ) -> None:
        super().__init__(values, metrics, query_ids, conventions["default"], n_tied=n_tied, notes=notes)

    def _footer(self) -> list[str]:
        averages = dict.fromkeys(metric.name for metric in self.metrics if metric.name in ("RBO", "tau_ap"))
        ties = f"equal scores, which {self.n_tied} of {len(self)} queries have"
        first = f"{' and '.join(averages)}: means over all orders of {ties}" if averages else ties
        return [first, *self.notes]
