"""Evaluate metrics for every query: the function `evaluate` and the class `Evaluator`."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.engine import run as engine
from fastndcg.engine.plan import MetricPlan, make_plan
from fastndcg.engine.run import EvaluationOutput, EvaluatorCache, run
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.forms.dispatch import (
    PartitionedInput,
    TruthInput,
    join_predictions,
    prepare_truth,
)
from fastndcg.inputs.arrays import ArrayTruth, make_ready_rankings
from fastndcg.inputs.join import Joined
from fastndcg.inputs.messages import Options, answer_keywords, note_alternatives, note_confused
from fastndcg.inputs.streams import StreamedTables
from fastndcg.inputs.table import Qrels
from fastndcg.metrics.families import REGISTERED
from fastndcg.metrics.metric import DEFAULT_METRICS, Metric, Metrics, is_metric, parse_metrics
from fastndcg.metrics.resolve import ADJUSTED, find_denominators, list_shares, refuse_repeats
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.partitions import note_low_labels
from fastndcg.partitions import run as run_partitions
from fastndcg.rankings.compact import CountedRankings
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array
from fastndcg.recommenders.interactions import Interactions
from fastndcg.recommenders.models import (
    MatchedModel,
    Model,
    count_ranks,
    fit_model,
    make_counted_rankings,
    match_model,
)
from fastndcg.results.results import Results, Shares
from fastndcg.runtime.progress import without_progress
from fastndcg.runtime.threads import check_threads

HASHABLE = (str, Metric, tuple)  # forms of metrics that can be read twice
ARRAYS = (np.ndarray, list)


@dataclass(frozen=True, slots=True)
class Request:
    """
    Metrics under a convention, for any truth.

    Attributes
    ----------
    denominators : dict
        Metrics that count the weights of a micro mean or have the values by chance, by the index of the metric whose
        aggregate needs them.
    array_convention, qrels_convention : Convention
        The convention for labels in arrays, and for judgments with ids.
    """

    metrics: tuple[Metric, ...]
    convention: Convention
    denominators: dict[int, Metric]
    array_convention: Convention
    qrels_convention: Convention


def parse_request(metrics: Metrics | None, convention: str | Convention) -> Request:
    """Return metrics and a convention as a request, cached: parsing takes as long as evaluating a short query."""
    if isinstance(metrics, HASHABLE):
        try:
            return _parse_cached_request(metrics, convention, len(REGISTERED))
        except TypeError:  # an unhashable tuple or convention, which `parse_metrics` has an error for
            pass
    return _make_request(parse_metrics(metrics), parse_convention(convention))


def _make_request(metrics: tuple[Metric, ...], convention: Convention) -> Request:
    return Request(
        metrics,
        convention,
        find_denominators(metrics, convention),
        convention.for_input(qrels=False),
        convention.for_input(qrels=True),
    )


@functools.lru_cache(maxsize=256)
def _parse_cached_request(metrics: Metrics, convention: str | Convention, n_registered: int) -> Request:
    """Return a request, parsed again when a metric has been registered."""
    del n_registered
    return _make_request(parse_metrics(metrics), parse_convention(convention))


@answer_keywords
def evaluate(
    truth: Any,
    predictions: Any = None,
    metrics: Metrics | None = None,
    *,
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    convention: ConventionName | str | Convention = "default",
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Results:
    """
    Evaluate ranking metrics for every query.

    The site's guide "Pass your data: all input forms" has an example of each form of data.

    Parameters
    ----------
    truth : array, path, dict, frame, Qrels, Rows, Interactions, sparse matrix or Rankings
        The judgments. A label of 0 means not relevant. How data are read is said where they are read: `Qrels`, `Run`
        and `Rows` name columns, `Run` says what chunks and documents that come again count, and `Scores`, `Embeddings`
        and `Scorer` which items are ranked. Allowed forms:

        - labels of documents: a (n_documents,) array with exactly one of `offsets`, `groups` and `query_ids`, a
          (n_queries, n_documents) array, or a ragged column of Arrow, Polars or awkward;
        - judgments with ids: the path of a file (TREC, CSV, JSON, JSON Lines, Parquet, Arrow), ``{query: {document:
          label}}``, a frame or records with queries, documents and labels, or `Qrels`;
        - relevant ids, each with the label 1: ``{query: ids}`` with sets or lists. A note says that whole numbers in
          lists, which could be labels, were read as ids;
        - labels and scores together: a frame with columns of queries, labels, scores and, optionally, documents,
          `Rows`, or `Rankings`. Parquet and Arrow files and data sets are streamed;
        - relevant items of users: a scipy.sparse matrix of users by items, `Interactions`, or a frame of users, items
          and, optionally, labels.

        Frames are those of pandas, Polars, pyarrow, DuckDB, Dask, others with an Arrow stream, and with the extra
        ``narwhals`` Modin and cuDF. Paths may be addresses such as ``s3://bucket/qrels.txt``.
    predictions : array, path, dict, frame, Run, Embeddings or Scorer, optional
        What the system predicts, higher is better. Leave it out where the truth has scores. Allowed forms:

        - for labels of documents: scores of the same shape;
        - for judgments with ids: the path of a file, ``{query: {document: score}}``, a frame or records with queries,
          documents and scores or ranks, `Run`, or ranked ids without scores, the best first: ``{query: ids}``;
        - for relevant items: recommended items in rank order, one row a user, as whole numbers, or a score matrix, a
          (n_users, n_items) array of floats, or `Scores`;
        - for relevant items, or judgments with the ids of the model: `Embeddings` or a `Scorer`, which rank all items.
    metrics : str, Metric, or iterable of them, default "ndcg@10,map,mrr,p@5,recall@10"
        Such as "ndcg@10,map" or ``[nDCG @ 10, "P(rel=2)@5"]``. ``fastndcg metrics`` lists all.
    offsets : (n_queries + 1,) int array, optional
        Query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``.
    groups : (n_queries,) int array, optional
        The number of documents of each query.
    query_ids : (n_documents,) array of int or str, optional
        Each document's query, in any order.
    convention : str or Convention, default "default"
        The meaning of numbers: a name such as "trec_eval", a name with choices such as "default(ties=input)", or a
        value of `conventions`.
    threads : int, optional
        The number of threads, 1 or more. By default one for each CPU of this process. Results are bit-identical for any
        number. Ctrl-C ends an evaluation after the current chunk of queries. If another thread writes to the arrays
        meanwhile, values are wrong or an error says so.
    progress : bool or callable
        Whether a bar may appear on a terminal or in a notebook, after some seconds and if tqdm is installed. Or, for
        streams, `Embeddings` and `Scorer`, a function of the numbers of rows or users done and of all, 0 if unknown. It
        is called from any thread.

    Returns
    -------
    Results
        One value a query and metric, float64, NaN where a metric is undefined.

    Raises
    ------
    InvalidInputError
        If an input breaks a rule, such as shapes that disagree, offsets that decrease, or NaN.
    UnknownMetricError, UnknownConventionError
        If no metric or convention has the name.
    UndefinedMetricError
        If a metric has no value for a query and the convention says to raise.

    Examples
    --------
    >>> fn.evaluate([[3, 2, 0], [0, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], "ndcg@10,map").mean()
    {'nDCG@10': 0.75, 'AP': 0.6666666666666666}
    >>> fn.evaluate({"q1": {"d1": 1, "d2": 2}}, {"q1": {"d2": 0.3}}, ["recall@10"]).to_dict()
    {'q1': {'R@10': 0.5}}
    >>> liked = fn.Interactions([2, 0], offsets=[0, 1, 2])
    >>> fn.evaluate(liked, [[0.9, 0.1, 0.5], [0.2, 0.7, 0.4]], "rr").mean()
    {'RR': 0.41666666666666663}
    >>> fn.evaluate({"q1": {"d1", "d2"}}, {"q1": ["d3", "d1"]}, "rr, recall@10").to_dict()
    {'q1': {'RR': 0.5, 'R@10': 0.5}}
    """
    if metrics is None and predictions is not None:
        _refuse_metrics(truth, predictions)
    options = make_options(
        offsets, groups, query_ids, threads, progress, other=predictions, is_alone=predictions is None
    )
    request = parse_request(DEFAULT_METRICS if metrics is None else metrics, convention)
    if progress is True:  # the usual call of a service pays for no context
        return evaluate_prepared(prepare_truth(truth, options), predictions, request, options.without_cuts())
    with without_progress():
        return evaluate_prepared(prepare_truth(truth, options), predictions, request, options.without_cuts())


def _refuse_metrics(truth: Any, predictions: Any) -> None:
    """Raise for metrics in the place of predictions."""
    if isinstance(truth, Rankings):
        rule = "must be left out where `truth` is Rankings"
    elif isinstance(predictions, str) and not os.path.exists(predictions) and is_metric(predictions):
        rule = f"must be a run, but {shorten(predictions)} is no file, and is a metric"
    else:
        return
    raise InvalidInputError(f"`predictions` {rule}. Pass metrics by name: metrics=.")


class Evaluator:
    """
    Truth that is prepared once, for the predictions of many systems or training rounds.

    Any number of threads may use an evaluator at once. A pickle of it is as large as its truth. It is equal only to
    itself.

    Parameters
    ----------
    truth, metrics, offsets, groups, query_ids, convention, threads
        See `evaluate`.

    Raises
    ------
    InvalidInputError, UnknownMetricError, UnknownConventionError
        See `evaluate`.

    Examples
    --------
    >>> evaluator = fn.Evaluator([1, 0, 0, 1], ["rr"], groups=[2, 2])
    >>> evaluator.evaluate([0.9, 0.1, 0.9, 0.1])["rr"]
    array([1. , 0.5])
    >>> evaluator([0.9, 0.1, 0.9, 0.1]).mean()  # the same
    {'RR': 0.75}
    """

    __slots__ = ("_cache", "_options", "_request", "_truth")

    @answer_keywords
    def __init__(
        self,
        truth: Any,
        metrics: Metrics | None = None,
        *,
        offsets: Any = None,
        groups: Any = None,
        query_ids: Any = None,
        convention: ConventionName | str | Convention = "default",
        threads: int | None = None,
    ) -> None:
        request = parse_request(DEFAULT_METRICS if metrics is None else metrics, convention)
        self._prepare(truth, request, make_options(offsets, groups, query_ids, threads))

    def _prepare(self, truth: Any, request: Request, options: Options) -> None:
        self._request = request
        self._truth = prepare_truth(truth, options)
        self._options = options.without_cuts()
        self._cache: EvaluatorCache | None = None

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, one a column of the results."""
        return self._request.metrics

    @property
    def convention(self) -> Convention:
        """The convention of the numbers."""
        return self._request.convention

    def evaluate(
        self, predictions: Any = None, *, out: Array | None = None,
        progress: bool | Callable[[int, int], None] = True,
    ) -> Results:  # fmt: skip
        """
        Evaluate one system.

        For labels in arrays, the first call caches what depends on labels alone, and the buffers of each thread.

        Parameters
        ----------
        predictions : array, path, dict, frame, Run, Embeddings or Scorer, optional
            See the function `evaluate`. Leave it out where the truth has scores.
        out : (n_metrics, n_queries) float64 array, optional
            Where the values go, one metric a row. Then `Results.values` is ``out.T``, until the next call writes to
            `out`. For labels in arrays and contiguous float32 or float64 scores, no later call allocates
            memory that grows with the data.
        progress : bool or callable
            See the function `evaluate`.

        Returns
        -------
        Results
            One value a query and metric.

        Raises
        ------
        InvalidInputError
            If the predictions do not fit the truth, or `out` does not fit the values.

        Examples
        --------
        >>> evaluator, out = fn.Evaluator([[1, 0], [0, 1]], "ndcg@1,rr"), np.empty((2, 2))
        >>> evaluator.evaluate(np.array([[0.9, 0.1], [0.9, 0.1]]), out=out).mean()
        {'nDCG@1': 0.5, 'RR': 0.75}
        >>> out
        array([[1. , 0. ],
               [1. , 0.5]])
        """
        if self._cache is None and isinstance(self._truth, ArrayTruth):
            self._cache = EvaluatorCache()
        if progress is True:  # the usual call of a service pays for no context
            return evaluate_prepared(self._truth, predictions, self._request, self._options, self._cache, out)
        options = replace(self._options, progress=read_progress(progress))
        with without_progress():
            return evaluate_prepared(self._truth, predictions, self._request, options, self._cache, out)

    def __call__(
        self, predictions: Any = None, *, out: Array | None = None,
        progress: bool | Callable[[int, int], None] = True,
    ) -> Results:  # fmt: skip
        """Evaluate one system: see `evaluate`."""
        return self.evaluate(predictions, out=out, progress=progress)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__ if name != "_cache"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._cache = None
        for name, value in state.items():
            setattr(self, name, value)


def make_evaluator(truth: Any, request: Request, options: Options) -> Evaluator:
    """Return an evaluator of truth beside predictions that are known: `options` have them."""
    evaluator = object.__new__(Evaluator)
    evaluator._prepare(truth, request, options)
    return evaluator


def make_options(
    offsets: Any, groups: Any, query_ids: Any, threads: int | None, progress: Any = True, *, other: Any = None,
    is_alone: bool | None = None,
) -> Options:  # fmt: skip
    """Return arguments of `evaluate` as options. Raise an error for a wrong one, before anything is read."""
    if threads is not None:
        check_threads(threads)
    show_rows = None if progress is True else read_progress(progress)
    return Options(offsets, groups, query_ids, None, None, threads, show_rows, other=other, is_alone=is_alone)


def read_progress(progress: Any) -> Callable[[int, int], None] | None:
    """Return the function that a user gives for progress, None for True and False."""
    if progress is True or progress is False:
        return None
    if not callable(progress):
        raise InvalidTypeError(
            f"`progress` must be True, False or a function of two numbers, not {shorten(progress)}. Leave it out."
        )
    return progress  # type: ignore[no-any-return]


def evaluate_arrays(
    name: str,
    k: Any,
    convention: str | Convention,
    threads: int | None,
    labels: Any,
    scores: Any,
    cuts: tuple[Any, Any, Any],
    **parameters: Any,
) -> Array:
    """Return the values of one metric for labels and scores in arrays, cut by offsets, groups or query ids."""
    if scores is None:
        raise InvalidTypeError(
            "`scores` is missing: give a score for each label. Labels in rank order have the scores -rank, such as "
            "-numpy.arange(n)"
        )
    offsets, groups, query_ids = cuts
    try:
        request, plan = _plan_metric(name, k, convention, **parameters)
    except TypeError:  # a list of gains
        request, plan = _plan_metric.__wrapped__(name, k, convention, **parameters)
    if threads is not None:
        check_threads(threads)
    is_ready = groups is None and query_ids is None and isinstance(offsets, ARRAYS)
    rankings = make_ready_rankings(labels, scores, offsets) if is_ready else None
    if rankings is not None:  # other forms of arrays take as long to convert as a short query to evaluate
        output = engine.run_small(rankings, plan)
        if output is None:
            output = engine.run(rankings, request.metrics, request.array_convention, threads=threads)
        return output.values[:, 0]
    if isinstance(offsets, Real):
        raise InvalidTypeError(
            f"`offsets` must be an array of the first document of each query, not {shorten(offsets)}. The cutoff is a "
            f"keyword: k={shorten(offsets)}."
        )
    other = scores if any(cut is not None for cut in cuts) else None
    options = Options(offsets, groups, query_ids, threads=threads, other=other)
    return evaluate_prepared(prepare_truth(labels, options), scores, request, options).values[:, 0]


@functools.lru_cache(maxsize=256, typed=True)
def _plan_metric(name: str, k: Any, convention: str | Convention, **parameters: Any) -> tuple[Request, MetricPlan]:
    """Return the request and the plan of one metric. Metrics that users register change neither."""
    request = parse_request(Metric(name, k, **parameters), convention)
    return request, make_plan(request.metrics, request.array_convention)


def evaluate_prepared(
    truth: TruthInput,
    predictions: Any,
    request: Request,
    options: Options,
    cache: EvaluatorCache | None = None,
    out: Array | None = None,
) -> Results:
    """Evaluate one system against truth that has been read."""
    if type(predictions) is np.ndarray and isinstance(truth, ArrayTruth) and options.progress is None:  # a service
        joined: Any = truth.rankings(predictions)
        if joined.patterns is None and not request.denominators:
            if out is not None:
                engine.check_out(out, joined, len(request.metrics))
            plan = None if cache is None else cache.plan
            if plan is None:
                plan = make_plan(request.metrics, request.array_convention)
                if cache is not None:
                    cache.plan = plan
            few = engine.run_small(joined, plan, cache, out)
            if few is not None:
                notes = note_labels(joined, request.metrics, request.array_convention, few.highest_label)
                return make_results(few, request, joined.query_ids, (0, 0), notes, {})
    else:
        joined = join_system(truth, predictions, request, options, out)
    convention = request.qrels_convention if isinstance(truth, Qrels) else request.array_convention
    denominators = tuple(request.denominators.values()) if request.denominators else ()
    if not isinstance(joined, Rankings | Joined):
        if out is not None:
            raise InvalidInputError("`out` must be left out for truth that is neither labels in arrays nor judgments.")
        output = run_partitions(joined, request.metrics, convention, options.threads, denominators)
        return make_results(output, request, output.query_ids, joined.n_missing, output.notes)
    if isinstance(joined, Rankings):
        joined = Joined(joined, has_unjudged=joined.judged is not None and not joined.judged.all())
    elif joined.rankings.has_repeats:
        refuse_repeats((*request.metrics, *denominators))
    if out is not None:
        engine.check_out(out, joined.rankings, len(request.metrics))
    output = engine.run(
        joined.rankings, request.metrics, convention, denominators=denominators, undefined=joined.unjudged_queries,
        threads=options.threads, cache=cache, out=None if denominators else out,
    )  # fmt: skip
    judged: Shares = {}
    if joined.has_unjudged:
        judged = plan_judged(joined.rankings, request.metrics, convention, joined.unjudged_queries, options.threads)
    counts = joined.n_missing_in_run, joined.n_missing_in_qrels
    notes = list_notes(truth, joined, request.metrics, convention, output.highest_label)
    results = make_results(output, request, joined.rankings.query_ids, counts, notes, judged)
    if denominators and out is not None:
        out[:] = results.values.T
        results.values = out.T
    return results


def list_notes(
    truth: TruthInput, joined: Joined, metrics: tuple[Metric, ...], convention: Convention, highest_label: float
) -> tuple[str, ...]:
    """Return remarks on how inputs were read and joined, and on labels that fit scores or metrics badly."""
    has_alternatives = isinstance(truth, Qrels) and truth.has_alternatives
    own = (*joined.notes, *(note_alternatives(metrics) if has_alternatives else ()))
    return note_labels(joined.rankings, metrics, convention, highest_label, own)


def note_labels(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, highest_label: float,
    others: tuple[str, ...] = (),
) -> tuple[str, ...]:  # fmt: skip
    """Return remarks on labels that fit scores or metrics badly, with others between them."""
    notes = note_confused(rankings) + others
    return notes + note_low_labels(highest_label, metrics, convention) if highest_label < 1 else notes


def make_results(
    output: EvaluationOutput, request: Request, query_ids: Array | None, counts: tuple[int, int],
    notes: tuple[str, ...], judged: Shares | None = None,
) -> Results:  # fmt: skip
    """Return the values of an engine as results. `counts` are of queries that only the truth, or only the run, has."""
    n_metrics = len(request.metrics)
    results = Results(
        output.values[:, :n_metrics] if request.denominators else output.values, request.metrics, query_ids,
        request.convention, n_tied=output.n_tied, n_missing_in_run=counts[0], n_missing_in_qrels=counts[1],
        notes=notes, judged=judged,
    )  # fmt: skip
    if request.denominators:
        put_weights(results, output.values, request)
    return results


def join_system(
    truth: TruthInput, predictions: Any, request: Request, options: Options, out: Array | None = None
) -> Rankings | Joined | PartitionedInput:
    """Combine predictions with the truth. Of a model, only the labelled items are ranked if the metrics allow that."""
    if isinstance(predictions, Model) and isinstance(truth, Qrels | Interactions):
        return _rank_model(truth, predictions, request, options, out)
    if options.progress is not None and not isinstance(truth, StreamedTables):
        raise InvalidInputError(
            "`progress` can only be a function when `truth` is streamed: a Parquet or Arrow file, or a data set, with "
            "scores and labels, or when `predictions` are Embeddings or a Scorer. Leave it out"
        )
    return join_predictions(truth, predictions, request.convention, options)


def check_model(evaluator: Evaluator, model: Model) -> None:
    """Raise an error for a model that an evaluator refuses, before scores are computed."""
    if isinstance(evaluator._truth, Qrels | Interactions):
        _match_model(evaluator._truth, model, evaluator._request, evaluator._options)


def _rank_model(
    truth: Interactions | Qrels, model: Model, request: Request, options: Options, out: Array | None
) -> Rankings | Joined | PartitionedInput:
    """Count the ranks of labelled items, or score whole rows if metrics or the convention read other items."""
    model, matched_model, rankings = _match_model(truth, model, request, options, out)
    if rankings is None:
        return join_predictions(truth, model, request.convention, options)
    by_id = isinstance(truth, Qrels) and TIES[request.qrels_convention.ties].orders == "id"
    rankings.set_counts(count_ranks(model, matched_model, options, by_id=by_id))
    notes = matched_model.matched.notes
    return Joined(rankings, None, matched_model.n_missing_in_run, matched_model.n_missing_in_qrels, notes)


def _match_model(
    truth: Interactions | Qrels, model: Model, request: Request, options: Options, out: Array | None = None
) -> tuple[Model, MatchedModel, CountedRankings | None]:
    """
    Find the truth in a model. Return rankings whose counts are missing, or None if counts do not suffice.

    Their labels are checked, so that errors come before scores are computed.
    """
    convention = request.qrels_convention if isinstance(truth, Qrels) else request.array_convention
    model = fit_model(truth, model)
    matched_model = match_model(truth, model, request.convention, options)
    labels = matched_model.matched.liked.labels
    if engine.needs_all_documents(request.metrics, convention, model.score_dtype, labels):
        return model, matched_model, None
    rankings = make_counted_rankings(matched_model)
    if out is not None:
        engine.check_out(out, rankings, len(request.metrics))
    engine.check_truth(rankings, request.metrics, convention)
    return model, matched_model, rankings


def put_weights(results: Results, values: Array, request: Request) -> None:
    """
    Write what aggregates need besides the values: weights in the mean of a metric, and values by chance.

    The last columns of `values` are the denominators of the request.
    """
    n_metrics = len(request.metrics)
    for column, place in enumerate(request.denominators, n_metrics):
        aggregate = request.metrics[place].aggregate
        name = "chance_values" if aggregate is not None and aggregate.name in ADJUSTED else "value_weights"
        if getattr(results, name) is None:
            setattr(results, name, np.ones((n_metrics, len(values))).T)
        getattr(results, name)[:, place] = values[:, column]


# Results keep the rankings of at most so many documents, some 1 MB, and measure the share when it is read: measured in
# the call, it made a small evaluation of dicts take a third longer.
MAX_KEPT_DOCUMENTS = 1 << 16


def plan_judged(
    rankings: Rankings,
    metrics: tuple[Metric, ...],
    convention: Convention,
    undefined: Array | None = None,
    threads: int | None = None,
) -> dict[str, float] | Callable[[], dict[str, float]]:
    """
    Return the mean of Judged at each cutoff of the metrics, by name, or a function that returns it for few documents.

    Documents that the convention removes count.
    """
    if rankings.judged is None:
        return {}
    measure = functools.partial(_measure, rankings, metrics, convention, undefined, threads)
    return measure if rankings.n_documents <= MAX_KEPT_DOCUMENTS else measure()


def _measure(
    rankings: Rankings,
    metrics: tuple[Metric, ...],
    convention: Convention,
    undefined: Array | None,
    threads: int | None,
) -> dict[str, float]:
    """Return the mean of Judged at each cutoff of the metrics."""
    shares = list_shares(metrics, convention)
    sizes = np.diff(rankings.offsets)
    is_counted = sizes > 0 if undefined is None else (sizes > 0) & ~undefined
    n_counted = int(np.count_nonzero(is_counted))
    if not shares or not n_counted:
        return {}
    output = run(rankings, shares, _keep_documents(convention), threads=threads)
    return {
        str(share): math.fsum(values[is_counted].tolist()) / n_counted
        for share, values in zip(shares, output.values.T, strict=True)
    }


@functools.lru_cache(maxsize=256)
def _keep_documents(convention: Convention) -> Convention:
    """
    Return the convention that ranks as another one does, without leaving out documents or queries.

    Tie policies that order by label say nothing about judgments: there the share is averaged over the orders.
    """
    has_order = TIES[convention.ties].orders in ("input", "id")
    return convention.replace(
        ties=convention.ties if has_order else "average", unjudged="nonrelevant", no_relevant="defined",
        undefined="nan", negative_labels="keep" if convention.negative_labels == "keep" else "zero",
    )  # fmt: skip
