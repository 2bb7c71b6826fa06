"""The face: evaluate and Evaluator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastndcg.combinations import denominators_of
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.arrays import ArrayTruth
from fastndcg.inputs.join import Joined
from fastndcg.inputs.prepare import Options, prepare_truth, with_predictions
from fastndcg.inputs.tables import Qrels
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Array, Rankings
from fastndcg.results import Results
from fastndcg.threads import checked_threads

if TYPE_CHECKING:
    from fastndcg.engine import Evaluated


@functools.cache  # at the interpreter's end nothing can be imported, not even once more
def _engine() -> Callable[..., Evaluated]:
    from fastndcg.engine import run  # brings numba, which `import fastndcg` does not

    return run


def evaluate(
    truth: Any,
    predictions: Any = None,
    metrics: Metrics | None = None,
    *,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    columns: Mapping[str, str] | None = None,
    memory: int | str | None = None,
    convention: str | Convention = "default",
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Results:
    """
    Evaluate ranking metrics for every query.

    Parameters
    ----------
    truth : array, path, dict, frame, Qrels or Rankings
        What is right. Labels of the documents: a (n_documents,) array cut into queries by exactly one of `offsets`,
        `groups` and `query_ids`, a (n_queries, n_documents) array, or a ragged column (Arrow, Polars, awkward). Or
        judgments with ids: the path of a TREC qrels file, {query: {document: label}}, a frame with columns of
        queries, documents and labels, or `Qrels`. Or all in one: a frame with queries, labels and scores, or
        `Rankings`, or the path of such a Parquet file, folder or pattern, which is streamed. Or the items that users
        like: a scipy.sparse matrix of users by items, `Interactions`, or a frame of users, items and labels.
        0 means not relevant.
    predictions : array, path, dict, frame or Run
        What the system says, higher is better: scores of the shape of the labels; or, with judgments that have ids,
        the path of a TREC run file, {query: {document: score}}, a frame with columns of queries, documents and
        scores, or `Run`; or, with items that users like, recommended items in rank order, one row a user.
    metrics : str, Metric, or iterable of them
        Such as "ndcg@10,map" or [nDCG @ 10, "P(rel=2)@5"]; `fastndcg metrics` lists all.
    offsets : (n_queries + 1,) int array, optional
        Query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``.
    groups : (n_queries,) int array, optional
        How many documents each query has.
    query_ids : (n_documents,) array of int or str, optional
        Each document's query, in any order.
    columns : dict, optional
        Names of a frame's columns, such as ``{"query": "qid", "document": "pid", "label": "grade", "score": "bm25"}``,
        where they are not usual ones.
    memory : int or str, optional
        How many bytes may be used while Parquet is streamed, such as "500MB"; by default 2 GiB.
    convention : str or Convention
        What numbers mean: a name, such as "trec_eval", a name with other choices, such as "default(ties=input)", or
        a value of `conventions`.
    threads : int, optional
        How many threads to use; by default one for each CPU that this process may use. Small inputs stay on the
        calling thread. The result is the same to the bit.
    progress : callable, optional
        Called while Parquet is streamed, with how many rows have been read and how many there are, from any thread.

    Returns
    -------
    Results
        One value a query and metric, float64, NaN where a metric is undefined.

    Raises
    ------
    InvalidInputError
        If an input breaks a rule: shapes that disagree, offsets that decrease, NaN, …
    UnknownMetricError, UnknownConventionError
        If there is no such name.
    UndefinedMetricError
        If a metric has no value for a query and the convention says to raise.

    Examples
    --------
    >>> fn.evaluate([[3, 2, 0], [0, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], "ndcg@10,map").mean()
    {'nDCG@10': 0.75, 'AP': 0.6666666666666666}
    >>> fn.evaluate({"q1": {"d1": 1, "d2": 2}}, {"q1": {"d2": 0.3}}, ["recall@10"]).to_dict()
    {'q1': {'R@10': 0.5}}
    """
    if isinstance(truth, Rankings) and metrics is None and predictions is not None:
        raise InvalidInputError("`predictions` must be left out where `truth` is Rankings; name `metrics=`")
    evaluator = Evaluator(
        truth,
        metrics,
        offsets=offsets,
        groups=groups,
        query_ids=query_ids,
        columns=columns,
        memory=memory,
        convention=convention,
        threads=threads,
        progress=progress,
    )
    return evaluator._run(predictions, None)


class Evaluator:
    """
    Truth prepared once, for the predictions of many systems or rounds.

    Parameters
    ----------
    truth, metrics, offsets, groups, query_ids, columns, memory, convention, threads, progress
        See `evaluate`.

    Examples
    --------
    >>> evaluator = fn.Evaluator([1, 0, 0, 1], ["rr"], groups=[2, 2])
    >>> evaluator.evaluate([0.9, 0.1, 0.9, 0.1])["rr"]
    array([1. , 0.5])
    """

    __slots__ = ("_applied", "_denominators", "_kept", "_options", "_truth", "convention", "metrics")

    def __init__(
        self,
        truth: Any,
        metrics: Metrics | None = None,
        *,
        offsets: Any = None,
        groups: Any = None,
        query_ids: Any = None,
        columns: Mapping[str, str] | None = None,
        memory: int | str | None = None,
        convention: str | Convention = "default",
        threads: int | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        self.metrics = parse_metrics(metrics)
        if threads is not None:
            checked_threads(threads)
        self.convention = parse_convention(convention)
        self._denominators = denominators_of(self.metrics, self.convention)
        self._options = Options(offsets, groups, query_ids, columns, memory, threads, progress)
        self._truth = prepare_truth(truth, self._options)
        self._applied = self.convention.for_labels_of(qrels=isinstance(self._truth, Qrels))
        self._kept: dict[Any, Any] = {}

    def evaluate(self, predictions: Any = None) -> Results:
        """
        Evaluate one system.

        Parameters
        ----------
        predictions
            See `evaluate`; left out where the truth is `Rankings`.

        Returns
        -------
        Results
        """
        return self._run(predictions, self._kept if isinstance(self._truth, ArrayTruth) else None)

    def _run(self, predictions: Any, kept: dict[Any, Any] | None) -> Results:
        """Evaluate one system, with what is `kept` of the labels."""
        done = self._evaluated(predictions, self.metrics, self._applied, kept)
        weights = None
        if self._denominators:
            counting = self._applied.replace(no_relevant="defined", undefined="nan", default_k="all")
            found = self._evaluated(predictions, tuple(self._denominators.values()), counting, None)
            weights = np.ones(done.values.shape)  # what each value counts: 1, or what a precision divides by
            weights[:, list(self._denominators)] = found.values
        values, query_ids, counts = done
        return Results(values, self.metrics, query_ids, self.convention, value_weights=weights, **counts)

    def _evaluated(
        self, predictions: Any, metrics: tuple[Metric, ...], convention: Convention, kept: dict[Any, Any] | None
    ) -> _Done:
        joined = with_predictions(self._truth, predictions, self.convention, self._options)
        threads = self._options.threads
        if not isinstance(joined, Joined):
            from fastndcg import parts

            of_parts = parts.run(joined, metrics, convention, threads)
            return _Done(of_parts.values, of_parts.query_ids, {"n_tied": of_parts.n_tied, "notes": of_parts.notes})
        rankings, unjudged, n_missing_in_run, n_missing_in_qrels = joined
        undefined = unjudged if metrics is self.metrics else None
        values, n_tied = _engine()(rankings, metrics, convention, undefined=undefined, threads=threads, kept=kept)
        counts = {
            "n_tied": n_tied, "n_missing_in_run": n_missing_in_run, "n_missing_in_qrels": n_missing_in_qrels
        }  # fmt: skip
        return _Done(values, rankings.query_ids, counts)


class _Done(NamedTuple):
    """The values of metrics, and what else results have."""

    values: Array
    query_ids: Array | None
    counts: dict[str, Any]
