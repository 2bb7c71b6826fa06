"""
scikit-learn: metrics as scorers of `cross_val_score`, `GridSearchCV` and the like, which know the queries.

>>> from fastndcg.integrations.sklearn import scorer
>>> scorer("ndcg@10", groups="qid")
scorer('nDCG@10', groups='qid', convention='default')
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastndcg.combinations import check_combinations
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError, UndefinedMetricError, optional_import
from fastndcg.evaluate import evaluate
from fastndcg.integrations.rounds import explain_nan
from fastndcg.metric import Metric, parse_metrics
from fastndcg.rankings import Array
from fastndcg.threads import checked_threads


def scorer(
    one: str | Metric,
    *,
    groups: Any = None,
    response_method: str | tuple[str, ...] = "predict",
    convention: str | Convention = "default",
    threads: int | None = None,
) -> Any:
    """
    A metric as scikit-learn scores with it: the mean over the queries of the documents held out, in any order.

    Parameters
    ----------
    one : str or Metric
        Such as "ndcg@10". Several are ``scoring={"ndcg": scorer("ndcg@10"), "map": scorer("map")}``.
    groups : str, int or pandas Series, optional
        Where a document's query is: the name or the number of a column of X, or a Series with the index of X. Left
        out, scikit-learn hands over the queries: after ``sklearn.set_config(enable_metadata_routing=True)``, with
        ``scorer(…).set_score_request(groups=True)`` and ``cross_val_score(…, params={"groups": …})``.
    response_method : str or tuple of str
        Which method of the estimator gives scores, such as "predict_proba" of a classifier; see `make_scorer`.
    convention, threads
        See `evaluate`.

    Returns
    -------
    callable
        For `scoring=`; without `groups`, what `sklearn.metrics.make_scorer` makes. Where lower is better it gives the
        mean times -1, as scorers of scikit-learn do.
    """
    metrics = parse_metrics(one)
    if len(metrics) != 1:
        names = ", ".join(map(str, metrics))
        raise InvalidInputError(f"`one` must be one metric, but is {names}; give scoring= a dict of scorers")
    check_combinations(metrics, parse_convention(convention))
    options = {
        "metric": metrics[0],
        "convention": parse_convention(convention),
        "threads": None if threads is None else checked_threads(threads),
    }
    return _made(response_method, options) if groups is None else ScorerOfGroups(groups, response_method, options)


def mean_over_queries(
    y_true: Any, y_score: Any, *, metric: Metric, convention: Convention, threads: int | None, groups: Any = None
) -> float:
    """The mean of a metric over queries, as `make_scorer` asks for it."""
    if groups is None:
        raise InvalidInputError(
            f"`groups` must say which query a document is of, for {metric}; give scorer(…, groups=…) a column of X, or "
            "set_score_request(groups=True) and params={'groups': …} after set_config(enable_metadata_routing=True)"
        )
    try:
        (mean,) = evaluate(y_true, y_score, metric, query_ids=groups, convention=convention, threads=threads).means()
    except InvalidInputError as error:
        explain_nan(y_score, str(metric), error)
        raise
    if np.isnan(mean):
        raise UndefinedMetricError(
            f"{metric} must have a value for some query held out, but has none ({metric.record.undefined}); make fewer "
            "folds, or take convention.replace(undefined=0)"
        )
    return mean


class ScorerOfGroups:
    """A scorer that looks up the queries of the documents that it is given."""

    def __init__(self, groups: Any, response_method: str | tuple[str, ...], options: dict[str, Any]) -> None:
        self._groups = groups
        self._response_method = response_method
        self._options = options
        if hasattr(groups, "index") and hasattr(groups, "loc"):
            if not groups.index.is_unique:
                row = groups.index[groups.index.duplicated()][0]
                raise InvalidInputError(
                    f"`groups` must have an index without repetitions, but {row!r} is there twice; number the rows"
                )
        elif isinstance(groups, bool) or not isinstance(groups, str | int):
            raise InvalidInputError(
                "`groups` must be a column of X, or a pandas Series with its index, as rows of a fold are to be found "
                f"in it, not {type(groups).__name__}; make it pandas.Series(groups, index=X.index)"
            )

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The mean of the metric for what the estimator says of the rows of X."""
        score: float = _made(self._response_method, self._options | {"groups": self._of(X)})(estimator, X, y)
        return score

    def _of(self, X: Any) -> Array:
        """The query of each row."""
        groups = self._groups
        if isinstance(groups, str):
            if isinstance(X, np.ndarray) or groups not in getattr(X, "columns", ()):
                raise InvalidInputError(f"`groups` must be a column of X, but X has no column {groups!r}; name another")
            return np.asarray(X[groups])
        if isinstance(groups, int):
            column = X.iloc[:, groups] if hasattr(X, "iloc") else X[:, groups]
            return whole(np.asarray(column))
        if not hasattr(X, "index"):
            raise InvalidInputError(
                "`groups` is looked up by the index of X, but X has none; make X a pandas frame, or name a column"
            )
        absent = ~X.index.isin(groups.index)
        if absent.any():
            raise InvalidInputError(f"`groups` must have every row of X, but lacks {X.index[absent][0]!r}")
        return np.asarray(groups.loc[X.index])

    def __repr__(self) -> str:
        metric, convention = self._options["metric"], self._options["convention"]
        groups = repr(self._groups) if isinstance(self._groups, str | int) else "…"
        return f"scorer({str(metric)!r}, groups={groups}, convention={convention.name!r})"


def whole(ids: Array) -> Array:
    """Ids that stood among features as floats, as the whole numbers that they must be."""
    if ids.dtype.kind != "f":
        return ids
    if not (np.isfinite(ids) & (ids % 1 == 0) & (np.abs(ids) < 2.0**53)).all():
        raise InvalidInputError("`groups` must be a column of whole numbers, but has others; number the queries")
    return ids.astype("i8")


def _made(response_method: str | tuple[str, ...], options: dict[str, Any]) -> Any:
    metrics = optional_import("sklearn.metrics", "a scorer", "sklearn")
    better = options["metric"].record.higher_is_better
    return metrics.make_scorer(mean_over_queries, greater_is_better=better, response_method=response_method, **options)
