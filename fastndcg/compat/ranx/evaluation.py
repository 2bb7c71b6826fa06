"""ranx's `evaluate`, exported by `fastndcg.compat.ranx`, and its names of metrics."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from fastndcg.compat.common import evaluate_judged
from fastndcg.compat.ranx.data import MismatchError, Qrels, Run
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, shorten, suggest_name
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import conventions
from fastndcg.rankings.validation import Array
from fastndcg.runtime.escapes import show_name

CONVENTION = conventions["ranx"]
METRICS = {
    "hits": Metric("num_rel_ret"), "hit_rate": Metric("Success"), "precision": Metric("P"), "recall": Metric("R"),
    "f1": Metric("F"), "r-precision": Metric("Rprec"), "bpref": Metric("bpref"), "mrr": Metric("RR"),
    "map": Metric("AP"), "dcg": Metric("DCG"), "dcg_burges": Metric("DCG", gain="exp2"), "ndcg": Metric("nDCG"),
    "ndcg_burges": Metric("nDCG", gain="exp2"),
}  # fmt: skip
WITHOUT_CUTOFF = ("bpref", "r-precision")  # ranx ignores their cutoff
RBP = re.compile(r"rbp[.@]([0-9]+)")  # the digits are those of the persistence: rbp.95 has 0.95


def evaluate(
    qrels: Any, run: Any, metrics: list[str] | str, return_mean: bool = True, return_std: bool = False,
    threads: int = 0, save_results_in_run: bool = True, make_comparable: bool = False,
) -> Any:  # fmt: skip
    """
    Evaluate metrics on a run. See `ranx.evaluate`.

    Parameters
    ----------
    qrels, run, metrics, return_mean, return_std, threads, save_results_in_run
        See `ranx.evaluate`. Judgments and run may be dicts of dicts. "map-l2" takes 2 as the smallest relevant label.
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
    queries, values = _evaluate_tables(qrels, run, list(map(parse_metric, names)), threads, make_comparable)
    columns = dict(zip(names, values.T, strict=True))
    means: dict[str, Any] = {name: np.mean(column) for name, column in columns.items()}
    if return_std and return_mean:
        means = {name: {"mean": mean, "std": np.std(columns[name])} for name, mean in means.items()}
    if isinstance(run, Run) and save_results_in_run:
        for name, column in columns.items():
            if return_std and return_mean:
                run.std_scores[name] = means[name]["std"]
            run.mean_scores[name] = np.mean(column)
            run.scores[name] = dict(zip(queries, column.tolist(), strict=True))
    results: dict[str, Any] = means if return_mean else columns
    return results[names[0]] if len(names) == 1 else results


def parse_metric(name: Any) -> Metric:
    """
    Return a metric of ranx, ``name@k-llevel`` or ``rbp.p-llevel``, as a metric of the catalogue.

    >>> parse_metric("map@100-l2"), parse_metric("rbp.95")
    (AP(rel=2)@100, RBP(p=0.95,rel=1))
    """
    if not isinstance(name, str):
        raise MismatchError(f"`metrics` must be texts, but one is {shorten(name)}. Pass names such as 'ndcg@10'.")
    text, has_level, level = name.partition("-l")
    base, has_cutoff, cutoff = text.partition("@")
    persistence = RBP.fullmatch(text)
    if base not in METRICS and persistence is None:
        hint = f".{suggest_name(base, METRICS)} Supported metrics are {', '.join(METRICS)}, and rbp.95."
        if base.partition(".")[0] == "rbp":
            hint = ", because rbp needs a persistence. Write 'rbp.95' for 0.95."
        raise UnknownMetricError(f"Metric {show_name(base)} not supported{hint}")
    try:
        k = int(cutoff) if has_cutoff and persistence is None else 0
        rel = int(level) if has_level else 1
    except ValueError:
        raise InvalidInputError(
            f"cutoff and level must be whole numbers, but the metric is {shorten(name)}. Write it as 'ndcg@10-l2'."
        ) from None
    if k < 0 or rel < 1:
        raise MismatchError(
            f"the cutoff must be 0 or more and the level 1 or more, but the metric is {shorten(name)} "
            f"with cutoff {k} and level {rel}. Write it as 'ndcg@10-l2'."
        )
    if persistence is not None:
        p = float(f"0.{persistence[1]}")
        return Metric("RBP", p=p, rel=rel) if p else Metric("P", rel=rel) @ 1  # p = 0 reads rank 1 alone
    metric = METRICS[base] @ k if k > 0 and base not in WITHOUT_CUTOFF else METRICS[base]
    return metric if rel == 1 else metric(rel=rel)


def _evaluate_tables(
    qrels: Any, run: Any, metrics: list[Metric], threads: int, make_comparable: bool
) -> tuple[list[str], Array]:
    """Return the query ids and (n_queries, n_metrics) values. A query without judgments has 0."""
    qrels_table = qrels if isinstance(qrels, Qrels) else Qrels.viewing(qrels)
    run_table = run if isinstance(run, Run) else Run.viewing(run)
    if make_comparable and run_table.keys() != qrels_table.keys():
        run_table = Run.viewing(run_table.ready_rows()).make_comparable(qrels_table)
    if qrels_table.keys() != run_table.keys():
        unpaired = sorted(qrels_table.keys() ^ run_table.keys())
        raise MismatchError(
            f"Qrels and Run query ids do not match: {shorten(unpaired[0])} is on one side only, one of {len(unpaired)}."
            " Pass `make_comparable=True` to add empty results for queries missing from the run and remove those not "
            "appearing in qrels."
        )
    judged = run_table.judged(qrels_table)
    judged_values = evaluate_judged(judged, metrics, CONVENTION, threads or None)
    queries = qrels_table.get_query_ids()
    if len(judged.queries) == len(queries):
        return queries, judged_values
    values = np.zeros((len(queries), len(metrics)))
    values[np.isin(queries, judged.queries)] = judged_values
    return queries, values
