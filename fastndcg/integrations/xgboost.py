"""
XGBoost: metrics as the `custom_metric` of `xgboost.train` and `cv`, and as a callback of `XGBRanker`.

A callable `eval_metric` of `XGBRanker` is handed one query at a time, in threads, and no groups; XGBoost takes 1 for
queries of one document, and weighs the others by their number of documents. No mean over queries comes of that, so it
is refused, and the same object is given as ``XGBRanker(callbacks=[metric("ndcg@10")])``: its values then are in
`evals_result()`, in what is printed, and before early stopping like those of XGBoost's own metrics.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError, optional_import
from fastndcg.integrations.rounds import Given, Rounds
from fastndcg.metric import Metric, Metrics
from fastndcg.rankings import Array

Evaluation = tuple[str, float]


def metric(metrics: Metrics, *, convention: str | Convention = "default", threads: int | None = None) -> Any:
    """
    Metrics as XGBoost evaluates them after each round: ``xgboost.train(…, custom_metric=metric("ndcg@10"))``.

    Queries are the groups of each DMatrix, by `group` or by `qid`, with their weights. What depends on the labels is
    prepared once for each DMatrix.

    XGBoost prints six digits, and puts metrics of one name together, its own and others. So names say the
    convention, as in ``ndcg@10/default``, and begin as its own do: it looks at the beginning to guess whether higher
    is better, and knows ndcg, map and precision. For others of which higher is better, early stopping needs
    ``train(…, maximize=True)`` or the callback ``EarlyStopping(rounds=…, maximize=True)``.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Such as "map,ndcg@10"; XGBoost stops early by the last of them.
    convention, threads
        See `evaluate`; "xgboost" gives the digits of XGBoost's own ndcg, map and pre.

    Returns
    -------
    xgboost.callback.TrainingCallback
        Callable with (scores, DMatrix): for `custom_metric` of `xgboost.train` and `cv`, or, in its stead, for
        `callbacks` of `XGBRanker` and `xgboost.train`.
    """
    return _class()(Rounds(metrics, convention, threads, weights_of_queries))


@functools.cache
def _class() -> Any:
    """XGBoost asks for a class of its own, and is imported when a metric is made."""
    callbacks = optional_import("xgboost.callback", "a metric of XGBoost", "xgboost")
    return types.new_class("CustomMetric", (CustomMetric, callbacks.TrainingCallback))


class CustomMetric:
    """Metrics in the two forms that XGBoost calls: a function of scores and a DMatrix, and a callback of training."""

    def __init__(self, rounds: Rounds) -> None:
        self._rounds = rounds
        self._names = [name_of(one, rounds.convention) for one in rounds.metrics]

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self._rounds,)

    def __call__(self, scores: Array, data: Any) -> list[Evaluation]:
        """Name and mean of each metric."""
        if not hasattr(data, "get_uint_info"):
            raise InvalidInputError(
                f"`eval_metric` of XGBRanker must not be {self._rounds.names()}, as it is called with one query at a "
                "time, and averaged by numbers of documents; give XGBRanker(callbacks=[metric(…)])"
            )
        groups = data.get_group()
        if not len(groups):
            raise InvalidInputError(
                f"a data set must have groups for {self._rounds.names()}, a mean over queries, but has none; give "
                "DMatrix(…, qid=…) the query of each document, or group=… their number for each query"
            )
        weights = data.get_weight()
        given = Given(data.get_label(), groups, weights if len(weights) else None)
        return list(zip(self._names, self._rounds.means(data, given, scores), strict=True))

    def before_training(self, model: Any) -> Any:
        """Let the booster evaluate these metrics, too, when XGBoost asks it to evaluate its own."""
        if not hasattr(model, "handle"):  # what `xgboost.cv` gives is no booster, but has many
            raise InvalidTypeError("`callbacks` of xgboost.cv must have no metric; give it as custom_metric=metric(…)")
        evaluate = model.eval_set

        def eval_set(evals: Any, iteration: int = 0, feval: Any = None, output_margin: bool = True) -> Any:
            return evaluate(evals, iteration, self._beside(feval), output_margin)

        model.eval_set = eval_set
        return model

    def after_training(self, model: Any) -> Any:
        """Leave the booster as it was."""
        vars(model).pop("eval_set", None)
        return model

    def _beside(self, feval: Callable[..., Any] | None) -> Any:
        """Another custom metric and this one."""
        if feval is None or feval is self:
            return self

        def both(scores: Array, data: Any) -> list[Evaluation]:
            theirs = feval(scores, data)
            return [*(theirs if isinstance(theirs, list) else [theirs]), *self(scores, data)]

        return both

    def __repr__(self) -> str:
        return f"metric({self._rounds.names()!r}, convention={self._rounds.convention.name!r})"


def _rebuilt(rounds: Rounds) -> Any:
    return _class()(rounds)


def name_of(one: Metric, convention: Convention) -> str:
    """
    What XGBoost calls a metric: without blanks and colons, which it splits its lines by.

    >>> name_of(Metric("nDCG", 10, gain="exp2"), fn.conventions["lightgbm"])
    'ndcg(gain=exp2)@10/lightgbm'
    """
    usual = one.record.aliases[0] if one.record.aliases else one.name
    return f"{usual}{str(one).removeprefix(one.name)}/{convention.name}".replace(" ", "")


def weights_of_queries(weights: Array, groups: Array) -> Array:
    """Weights of queries as they are: XGBoost has one for each group."""
    if len(weights) != len(groups):
        raise InvalidInputError(
            f"`weight` must have one value for each of the {len(groups)} groups, but has {len(weights)}; give DMatrix "
            "its group or qid first, then weights of queries"
        )
    return weights
