"""
Adapter to XGBoost: metrics as the `custom_metric` of `xgboost.train` and `cv`, and as a callback of `XGBRanker`.

`XGBRanker` calls a custom `eval_metric` with one query at a time, in several threads and without groups. It takes 1 for
a query of one document, and weights the others by their number of documents. That is no mean over queries, so metrics
raise an error there. Pass them as ``XGBRanker(callbacks=[metric("ndcg@10")])`` instead. Their values then are in
`evals_result()`, in the printed lines, and available to early stopping, like those of XGBoost's own metrics.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.integrations.boosting import Adapter, DataSet, RoundEvaluator
from fastndcg.metrics.metric import Metric, Metrics, check_direction, parse_metrics
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.runtime.imports import optional_import

Evaluation = tuple[str, float]  # name, mean


def metric(
    metrics: Metrics, *, convention: ConventionName | str | Convention = "default", threads: int | None = None
) -> Any:
    """
    Create metrics that XGBoost evaluates after each round.

    Use them as ``xgboost.train(…, custom_metric=metric("ndcg@10"))``. Each DMatrix is prepared once. Queries are the
    groups of the DMatrix, set by `group` or `qid`, with their weights.

    XGBoost prints six digits, and merges metrics of the same name, also with its own. Names therefore include the
    convention, as in ``ndcg@10/default``.

    For early stopping, pass the callback that `early_stopping` returns, not ``early_stopping_rounds=``: XGBoost guesses
    the direction from a name. It maximises metrics whose names begin with auc, map, ndcg or pre, and minimises all
    others, such as the reciprocal rank.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Such as "map,ndcg@10". The last metric decides on early stopping.
    convention, threads
        See `evaluate`. The convention "xgboost" gives the values of XGBoost's own ndcg, map and pre.

    Returns
    -------
    xgboost.callback.TrainingCallback
        Also callable with (scores, DMatrix). For `custom_metric` of `xgboost.train` and `cv`, or for `callbacks` of
        `XGBRanker` and `xgboost.train`.

    Raises
    ------
    InvalidInputError
        If a metric is unknown, or has no definition under the convention.
    MissingPackageError
        If XGBoost is not installed.

    Examples
    --------
    >>> xgboost.train(params, train, custom_metric=metric("ndcg@10"), evals=[(test, "test")])  # doctest: +SKIP
    """
    return _callback_class()(RoundEvaluator(metrics, convention, threads, check_weights))


def early_stopping(
    custom: Any,
    rounds: int,
    *,
    by: str | Metric | None = None,
    data_name: str | None = None,
    save_best: bool = False,
    min_delta: float = 0.0,
) -> Any:
    """
    Create a callback that stops a training early by a metric, in the metric's own direction.

    Create a new callback for each training, because XGBoost stores the best value in it.

    Parameters
    ----------
    custom : object
        The result of `metric`. Pass it to the training as well, as `custom_metric` or among its `callbacks`.
    rounds : int
        The number of rounds without a better value after which the training stops, 1 or more.
    by : str or Metric, optional
        The metric of `custom` to follow. By default the last.
    data_name : str, optional
        The data set of `evals` to follow. By default the last.
    save_best : bool
        See `xgboost.callback.EarlyStopping`.
    min_delta : float
        See `xgboost.callback.EarlyStopping`.

    Returns
    -------
    xgboost.callback.EarlyStopping
        For `callbacks` of `xgboost.train`, `xgboost.cv` and `XGBRanker`, instead of `early_stopping_rounds`.

    Raises
    ------
    InvalidTypeError
        If `custom` is not the result of `metric`, or `rounds` is no integer.
    InvalidInputError
        If `rounds` is below 1, or `custom` does not have the metric `by`, or that has no direction.

    Examples
    --------
    >>> custom = metric("map, mrr")  # doctest: +SKIP
    >>> stop = early_stopping(custom, 5, by="mrr")  # doctest: +SKIP
    >>> xgboost.train(params, train, custom_metric=custom, evals=[(test, "test")], callbacks=[stop])  # doctest: +SKIP
    """
    if not isinstance(custom, CustomMetric):
        raise InvalidTypeError(
            f"`custom` must be the result of metric(…), not {type(custom).__name__}. Create the metric first."
        )
    n_rounds = check_whole_number(rounds, "rounds", 1)
    name, is_maximised = custom.find(by)
    callbacks = optional_import("xgboost.callback", "early stopping", "xgboost")
    return callbacks.EarlyStopping(
        rounds=n_rounds,
        metric_name=name,
        data_name=data_name,
        maximize=is_maximised,
        save_best=save_best,
        min_delta=min_delta,
    )


@functools.cache
def _callback_class() -> Any:
    """Return `CustomMetric` as a subclass of XGBoost's callback. XGBoost is imported at the first call."""
    callbacks = optional_import("xgboost.callback", "a metric of XGBoost", "xgboost")
    return types.new_class("CustomMetric", (CustomMetric, callbacks.TrainingCallback))


class CustomMetric(Adapter):
    """Metrics in the two forms that XGBoost calls: a function of scores and a DMatrix, and a callback of training."""

    def __init__(self, evaluator: RoundEvaluator) -> None:
        super().__init__(evaluator)
        self._names = [make_name(metric, evaluator.convention) for metric in evaluator.metrics]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (self._evaluator,)

    def __call__(self, scores: Array, data: Any) -> list[Evaluation]:
        """Return the name and the mean of each metric."""
        names = self._evaluator.names()
        if not hasattr(data, "get_uint_info"):
            raise InvalidInputError(
                f"`eval_metric` of XGBRanker must not be {names}, because XGBoost calls it with one query at a time "
                "and weights queries by their numbers of documents. Pass XGBRanker(callbacks=[metric(…)])."
            )
        groups = data.get_group()
        if not len(groups):
            raise InvalidInputError(
                f"a data set must have groups for {names}, a mean over queries, but has none. Pass "
                "DMatrix(…, qid=…) with the query of each document, or group=… with the number of documents of each "
                "query."
            )
        weights = data.get_weight()
        data_set = DataSet(data.get_label(), groups, weights if len(weights) else None)
        return list(zip(self._names, self._evaluator.means(data, data_set, scores), strict=True))

    def find(self, by: str | Metric | None) -> tuple[str, bool]:
        """Return XGBoost's name of the metric `by`, by default the last, and True if higher is better."""
        metrics = self._evaluator.metrics
        (metric,) = metrics[-1:] if by is None else parse_metrics(by)
        if metric not in metrics:
            raise InvalidInputError(
                f"`by` must be one of {self._evaluator.names()}, not {metric}. Add it to the metrics of metric(…)."
            )
        check_direction([metric], "early stopping")
        return make_name(metric, self._evaluator.convention), metric.sign > 0

    def before_training(self, model: Any) -> Any:
        """Make the booster evaluate these metrics after its own."""
        if not hasattr(model, "handle"):  # `xgboost.cv` passes a container of boosters
            raise InvalidTypeError("`callbacks` of xgboost.cv must have no metric. Pass custom_metric=metric(…).")
        evaluate = model.eval_set

        def eval_set(evals: Any, iteration: int = 0, feval: Any = None, output_margin: bool = True) -> Any:
            return evaluate(evals, iteration, self._combine(feval), output_margin)

        model.eval_set = eval_set
        return model

    def after_training(self, model: Any) -> Any:
        """Undo `before_training`."""
        vars(model).pop("eval_set", None)
        return model

    def _combine(self, feval: Callable[..., Any] | None) -> Any:
        """Return a function that evaluates another custom metric and these metrics."""
        if feval is None or feval is self:
            return self

        def evaluate_all(scores: Array, data: Any) -> list[Evaluation]:
            evaluations = feval(scores, data)
            return [*(evaluations if isinstance(evaluations, list) else [evaluations]), *self(scores, data)]

        return evaluate_all


def _rebuild(evaluator: RoundEvaluator) -> Any:
    """Return a metric from its pickled state."""
    return _callback_class()(evaluator)


def make_name(metric: Metric, convention: Convention) -> str:
    """
    Return XGBoost's name of a metric, without blanks and colons, because XGBoost splits its lines at them.

    >>> make_name(Metric("nDCG", 10, gain="exp2"), fn.conventions["lightgbm"])
    'ndcg(gain=exp2)@10/lightgbm'
    """
    alias = metric.record.aliases[0] if metric.record.aliases else metric.name
    return f"{alias}{str(metric).removeprefix(metric.name)}/{convention.name}".replace(" ", "")


def check_weights(weights: Array, groups: Array) -> Array:
    """Return the weights of queries, or raise an error if there is not one for each group."""
    if len(weights) != len(groups):
        raise InvalidInputError(
            f"`weight` must have one value for each of the {len(groups)} groups, but has {len(weights)}. Set group or "
            "qid of the DMatrix first, then the weights of queries."
        )
    return weights
