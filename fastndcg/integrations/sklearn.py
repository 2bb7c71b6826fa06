"""
Adapter to scikit-learn: metrics as scorers of `cross_val_score`, `GridSearchCV` and others, with queries.

>>> from fastndcg.integrations.sklearn import scorer
>>> scorer("ndcg@10", groups="qid")
scorer('nDCG@10', groups='qid', convention='default')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.choices import ConventionName, ResponseMethod
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.evaluation import evaluate
from fastndcg.integrations.boosting import check_defined, explain_nan
from fastndcg.metrics.metric import Metric, check_direction, parse_single_metric
from fastndcg.metrics.resolve import check_combinations
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.threads import check_threads

RESPONSE_METHODS = ("predict", "predict_proba", "decision_function")


def scorer(
    metric: str | Metric,
    *,
    groups: Any = None,
    response_method: ResponseMethod | tuple[ResponseMethod, ...] = "predict",
    convention: ConventionName | str | Convention = "default",
    threads: int | None = None,
) -> Any:
    """
    Create a scorer that computes the mean of a metric over the queries of a fold. Documents may be in any order.

    Parameters
    ----------
    metric : str or Metric
        One metric, such as "ndcg@10". For several, pass ``scoring={"ndcg": scorer("ndcg@10"), "map": scorer("map")}``.
    groups : str, int or pandas Series, optional
        The query of each document: the name or the index of a column of X, or a Series with the index of X. By default
        scikit-learn passes the queries. That needs ``sklearn.set_config(enable_metadata_routing=True)``,
        ``scorer(…).set_score_request(groups=True)`` and ``cross_val_score(…, params={"groups": …})``.
    response_method : {'predict', 'predict_proba', 'decision_function'} or tuple of these
        The method of the estimator that returns scores, or several, of which the first that exists is called. See
        `sklearn.metrics.make_scorer`.
    convention, threads
        See `evaluate`.

    Returns
    -------
    callable
        For `scoring=`. If lower is better, it returns the negative mean, as scikit-learn's scorers do. Without
        `groups` it is the result of `sklearn.metrics.make_scorer`.

    Raises
    ------
    InvalidInputError
        If there are several metrics, or the metric has no direction, or `groups` has the wrong form.
    MissingPackageError
        If scikit-learn is not installed.

    Examples
    --------
    >>> scorer("map", groups="qid", convention="sklearn")
    scorer('AP', groups='qid', convention='sklearn')
    """
    parsed = parse_single_metric(metric, "Pass scoring= a dict of scorers.")
    check_combinations((parsed,), parse_convention(convention))
    check_direction([parsed], "a scorer")
    options = {
        "metric": parsed,
        "convention": parse_convention(convention),
        "threads": None if threads is None else check_threads(threads),
    }
    return (
        _make_scorer(response_method, options) if groups is None else ScorerOfGroups(groups, response_method, options)
    )


def mean_over_queries(
    y_true: Any, y_score: Any, *, metric: Metric, convention: Convention, threads: int | None, groups: Any = None
) -> float:
    """
    Return the mean of a metric over queries, in the form that `make_scorer` needs. `groups` has each document's query.

    Missing groups, a NaN score, and a metric that is undefined for every query are errors.
    """
    if groups is None:
        raise InvalidInputError(
            f"`groups` must have the query of each document for {metric}. Pass scorer(…, groups=…) a column of X. Or "
            "use set_score_request(groups=True) and params={'groups': …} with set_config(enable_metadata_routing=True)."
        )
    try:
        (mean,) = evaluate(y_true, y_score, metric, query_ids=groups, convention=convention, threads=threads).means()
    except InvalidInputError as error:
        explain_nan(y_score, str(metric), error)
        raise
    check_defined(metric, mean, "a fold", "Make fewer folds")
    return mean


class ScorerOfGroups:
    """A scorer that finds the query of each document in a column of X, or in a Series with the index of X."""

    def __init__(
        self, groups: Any, response_method: ResponseMethod | tuple[ResponseMethod, ...], options: dict[str, Any]
    ) -> None:
        self._groups = groups
        self._response_method = response_method
        self._options = options
        if hasattr(groups, "index") and hasattr(groups, "loc"):
            if not groups.index.is_unique:
                row = groups.index[groups.index.duplicated()][0]
                raise InvalidInputError(
                    f"`groups` must have a unique index, but {shorten(row)} occurs twice. Call reset_index() on X and "
                    "`groups`."
                )
        elif isinstance(groups, bool) or not isinstance(groups, str | int):
            raise InvalidInputError(
                "`groups` must be a column of X, or a pandas Series with X's index, "
                f"not {type(groups).__name__}. Pass pandas.Series(groups, index=X.index)."
            )

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """Return the mean of the metric for the estimator's scores of the rows of X."""
        score: float = _make_scorer(self._response_method, self._options | {"groups": self._find_groups(X)})(
            estimator, X, y
        )
        return score

    def _find_groups(self, X: Any) -> Array:
        """Return the query of each row of X."""
        groups = self._groups
        if isinstance(groups, str):
            if isinstance(X, np.ndarray) or groups not in getattr(X, "columns", ()):
                raise InvalidInputError(
                    f"`groups` must be a column of X, but X has no column {shorten(groups)}. Name another column."
                )
            return np.asarray(X[groups])
        if isinstance(groups, int):
            column = X.iloc[:, groups] if hasattr(X, "iloc") else X[:, groups]
            return as_whole_ids(np.asarray(column))
        if not hasattr(X, "index"):
            raise InvalidInputError(
                f"X must have an index, because `groups` is a Series, but X is {type(X).__name__}. Pass X as a pandas "
                "DataFrame, or name a column of X."
            )
        absent = ~X.index.isin(groups.index)
        if absent.any():
            raise InvalidInputError(
                f"`groups` must have every row of X, but lacks {shorten(X.index[absent][0])}. Pass a Series with the "
                "whole index of X."
            )
        return np.asarray(groups.loc[X.index])

    def __repr__(self) -> str:
        metric = self._options["metric"]
        convention = self._options["convention"]
        groups = repr(self._groups) if isinstance(self._groups, str | int) else "…"
        return f"scorer({str(metric)!r}, groups={groups}, convention={convention.name!r})"


def as_whole_ids(ids: Array) -> Array:
    """Return query ids of a float column as integers, or raise an error if they are not whole numbers."""
    if ids.dtype.kind != "f":
        return ids
    if not (np.isfinite(ids) & (ids % 1 == 0) & (np.abs(ids) < 2.0**53)).all():
        raise InvalidInputError(
            "`groups` must be a column of whole numbers, but has others. Number the queries, or name another column."
        )
    return ids.astype("i8")


def _make_scorer(response_method: ResponseMethod | tuple[ResponseMethod, ...], options: dict[str, Any]) -> Any:
    metrics = optional_import("sklearn.metrics", "a scorer", "sklearn")
    is_higher_better = options["metric"].sign > 0
    return metrics.make_scorer(
        mean_over_queries, greater_is_better=is_higher_better, response_method=response_method, **options
    )
