"""The face: evaluate and Evaluator."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastndcg.catalog import REGISTERED
from fastndcg.combinations import denominators_of
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.arrays import ArrayTruth, ready_rankings
from fastndcg.inputs.join import Joined
from fastndcg.inputs.prepare import Options, Parted, Truth, prepare_truth, with_predictions
from fastndcg.inputs.tables import Qrels
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Array, Rankings
from fastndcg.results import Results
from fastndcg.threads import checked_threads

if TYPE_CHECKING:
    from types import ModuleType


@functools.cache  # at the interpreter's end nothing can be imported, not even once more
def _engine() -> ModuleType:
    from fastndcg import engine  # brings numba, which `import fastndcg` does not

    return engine


HASHABLE = (str, Metric, tuple)  # forms of metrics that do not end when they are read


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of any truth: metrics, what numbers mean, and what both settle between them."""

    metrics: tuple[Metric, ...]
    convention: Convention
    denominators: dict[int, Metric]
    of_arrays: Convention
    of_qrels: Convention


def asked_for(metrics: Metrics | None, convention: str | Convention) -> Asked:
    """Read what was asked for, once for the same values: it takes as long as a short query."""
    if isinstance(metrics, HASHABLE):
        try:
            return _asked_before(metrics, convention, len(REGISTERED))
        except TypeError:  # a tuple of what is no metric, or no convention, which have errors of their own
            pass
    return _asked(parse_metrics(metrics), parse_convention(convention))


def _asked(metrics: tuple[Metric, ...], convention: Convention) -> Asked:
    both = (convention.for_labels_of(qrels=qrels) for qrels in (False, True))
    return Asked(metrics, convention, denominators_of(metrics, convention), *both)


@functools.lru_cache(maxsize=256)
def _asked_before(metrics: Metrics, convention: str | Convention, n_registered: int) -> Asked:
    """Read it anew when a metric was registered."""
    del n_registered
    return _asked(parse_metrics(metrics), parse_convention(convention))


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
        queries, documents and labels, or `Qrels`. Or all in one: a frame with queries, labels and scores (and
        documents, so that none stands twice and ties may go by id), or with a list of each a row; or `Rankings`; or
        the path of such a Parquet file, folder or pattern, which is streamed. Or the items that users like: a
        scipy.sparse matrix of users by items, `Interactions`, or a frame of users, items and labels; of users and
        items alone, where each counts 1.
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
        Names of columns, such as ``{"query": "qid", "document": "pid", "label": "grade", "score": "bm25"}``, where they
        are not usual ones, of frames, CSV and Parquet; "subtopic" is for judgments by subtopic. One dict serves truth
        and predictions: a name that neither has is an error, as is one of queries or documents that either lacks. What
        is named for scores, or for labels, is passed over where these come from no frame.
    memory : int or str, optional
        How many bytes may be used while Parquet is streamed, such as "500MB"; by default 2 GiB. For nothing else.
    convention : str or Convention
        What numbers mean: a name, such as "trec_eval", a name with other choices, such as "default(ties=input)", or
        a value of `conventions`.
    threads : int, optional
        How many threads to use; by default one for each CPU that this process may use. Small inputs stay on the
        calling thread. The result is the same to the bit. Ctrl-C is seen after each chunk of queries: within
        milliseconds, but for a single query a tenth of a second for each million of its documents.
    progress : callable, optional
        Called while Parquet is streamed, with how many rows have been read and how many there are, from any thread.
        For nothing else.

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
    if metrics is None and predictions is not None and isinstance(truth, Rankings):
        raise InvalidInputError("`predictions` must be left out where `truth` is Rankings; name `metrics=`")
    asked = asked_for(metrics, convention)
    if threads is not None:
        checked_threads(threads)
    options = Options(offsets, groups, query_ids, columns, memory, threads, progress)
    return results_of(prepare_truth(truth, options), predictions, asked, options)


class Evaluator:
    """
    Truth prepared once, for the predictions of many systems or rounds.

    Any number of threads may use one at once. Pickled, it is as large as its truth.

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

    __slots__ = ("_asked", "_kept", "_options", "_truth")

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
        self._asked = asked_for(metrics, convention)
        if threads is not None:
            checked_threads(threads)
        self._truth = prepare_truth(truth, Options(offsets, groups, query_ids, columns, memory, threads, progress))
        self._options = Options(columns=columns, memory=memory, threads=threads)
        self._kept: Any = None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is evaluated, one a column of the results."""
        return self._asked.metrics

    @property
    def convention(self) -> Convention:
        """What the numbers mean."""
        return self._asked.convention

    def evaluate(self, predictions: Any = None, *, out: Array | None = None) -> Results:
        """
        Evaluate one system.

        Labels in arrays are looked at once: what depends on them alone is kept for the next system, and so is the
        memory to work in, of as many threads as call at once.

        Parameters
        ----------
        predictions
            See `evaluate`; left out where the truth is `Rankings`.
        out : (n_metrics, n_queries) float64 array, optional
            Where the values go, one metric a row: `Results.values` is then ``out.T``, until the next call writes to
            it. Where the truth is labels in arrays, and the scores are a contiguous float32 or float64 array, queries
            one after the other, nothing else is allocated from the second call on that grows with the data.

        Returns
        -------
        Results

        Examples
        --------
        >>> evaluator, out = fn.Evaluator([[1, 0], [0, 1]], "ndcg@1,rr"), np.empty((2, 2))
        >>> evaluator.evaluate(np.array([[0.9, 0.1], [0.9, 0.1]]), out=out).mean()
        {'nDCG@1': 0.5, 'RR': 0.75}
        >>> out
        array([[1. , 0. ],
               [1. , 0.5]])
        """
        if self._kept is None and isinstance(self._truth, ArrayTruth):
            self._kept = _engine().Kept()
        return results_of(self._truth, predictions, self._asked, self._options, self._kept, out)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "_kept"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._kept = None
        for name, value in state.items():
            setattr(self, name, value)


def values_of(
    name: str, k: Any, convention: str | Convention, threads: int | None, labels: Any, scores: Any, offsets: Any,
    **parameters: Any,
) -> Array:  # fmt: skip
    """What `evaluate` gives for one metric, which is read once for the same arguments."""
    try:
        asked = asked_of(name, k, convention, **parameters)
    except TypeError:  # a list of gains
        asked = asked_of.__wrapped__(name, k, convention, **parameters)
    if threads is not None:
        checked_threads(threads)
    rankings = ready_rankings(labels, scores, offsets)
    if rankings is not None:  # what else the arrays may be takes as long to see as a short query
        values, _ = _engine().run(rankings, asked.metrics, asked.of_arrays, threads=threads)
        return values[:, 0]  # type: ignore[no-any-return]
    options = Options(offsets, threads=threads)
    return results_of(prepare_truth(labels, options), scores, asked, options).values[:, 0]


@functools.lru_cache(maxsize=256, typed=True)
def asked_of(name: str, k: Any, convention: str | Convention, **parameters: Any) -> Asked:
    """What a metric under a convention asks for."""
    return asked_for(Metric(name, k, **parameters), convention)


def results_of(
    truth: Truth, predictions: Any, asked: Asked, options: Options, kept: Any = None, out: Array | None = None
) -> Results:
    """Evaluate one system, with what is `kept` of the labels."""
    if type(predictions) is np.ndarray and isinstance(truth, ArrayTruth):  # as a service's calls do
        given: Rankings | Joined | Parted = truth.rankings(predictions)
    else:
        given = with_predictions(truth, predictions, asked.convention, options)
    applied = asked.of_qrels if isinstance(truth, Qrels) else asked.of_arrays
    results = _evaluated(given, asked.metrics, applied, asked.convention, options.threads, kept, out)
    if asked.denominators:
        given = with_predictions(truth, predictions, asked.convention, options)  # once more: they may be a stream
        weights = np.ones(results.values.T.shape)  # what each value counts: 1, or what a precision divides by
        for place, counts in zip(asked.denominators, _counts(given, asked, applied, options.threads), strict=True):
            weights[place] = counts
        results.value_weights = weights.T
    return results


def _counts(
    given: Rankings | Joined | Parted, asked: Asked, applied: Convention, threads: int | None
) -> Iterable[Array]:
    """What the denominators count: numbers of documents, which are known without ranking any, or relevant ones."""
    metrics = tuple(asked.denominators.values())
    counting = applied.replace(no_relevant="defined", undefined="nan", default_k="all")
    if isinstance(given, Rankings) and all(metric.name == "num_ret" for metric in metrics):
        sizes = np.diff(_engine().apply_convention(given, counting).offsets)
        return [sizes if metric.k is None else np.minimum(sizes, metric.k) for metric in metrics]
    if isinstance(given, Joined):
        given = given._replace(unjudged_queries=None)  # they are counted like others
    return _evaluated(given, metrics, counting, asked.convention, threads).values.T


def _evaluated(
    given: Rankings | Joined | Parted, metrics: tuple[Metric, ...], applied: Convention, named: Convention,
    threads: int | None, kept: Any = None, out: Array | None = None,
) -> Results:  # fmt: skip
    """The values of some metrics, where a convention is applied that results call by its name."""
    if isinstance(given, Rankings):
        if out is not None:
            _engine().check_out(out, given, len(metrics))
        values, n_tied = _engine().run(given, metrics, applied, threads=threads, kept=kept, out=out)
        return Results(values, metrics, given.query_ids, named, n_tied)
    if not isinstance(given, Joined):
        if out is not None:
            raise InvalidInputError(
                "`out` is for labels in arrays and judgments, but this truth is neither; leave it out"
            )
        from fastndcg import parts

        done = parts.run(given, metrics, applied, threads)
        return Results(done.values, metrics, done.query_ids, named, n_tied=done.n_tied, notes=done.notes)
    rankings, unjudged, n_missing_in_run, n_missing_in_qrels = given
    if out is not None:
        _engine().check_out(out, rankings, len(metrics))
    values, n_tied = _engine().run(rankings, metrics, applied, undefined=unjudged, threads=threads, out=out)
    return Results(
        values, metrics, rankings.query_ids, named,
        n_tied=n_tied, n_missing_in_run=n_missing_in_run, n_missing_in_qrels=n_missing_in_qrels,
    )  # fmt: skip
