"""
scikit-learn's ranking metrics, by the same names.

Signatures, values and errors are those of `sklearn.metrics`; errors are ours too, each a subclass of the one that
scikit-learn raises. scikit-learn itself is not needed.

>>> from fastndcg.compat.sklearn import ndcg_score
>>> ndcg_score([[10, 0, 0, 1, 5]], [[0.1, 0.2, 0.3, 4, 70]])  # doctest: +ELLIPSIS
0.6956...
"""

from __future__ import annotations

import contextlib
import math
import warnings
from typing import Any

import numpy as np

from fastndcg.compat import arrays
from fastndcg.conventions import conventions
from fastndcg.errors import InvalidInputError, MissingPackageError, optional_import
from fastndcg.evaluate import evaluate
from fastndcg.metric import Metric
from fastndcg.rankings import Array, as_scores, read_only

AVERAGED = conventions["sklearn"].replace(negative_labels="keep")  # dcg_score takes them, and ndcg_score refuses them
LAST_FIRST = conventions["sklearn_ignore_ties"].replace(negative_labels="keep")
FORMATS = ("multilabel-indicator", "continuous-multioutput", "multiclass-multioutput")


def dcg_score(
    y_true: Any, y_score: Any, *, k: int | None = None, log_base: float = 2, sample_weight: Any = None,
    ignore_ties: bool = False,
) -> float:  # fmt: skip
    """
    Mean discounted cumulative gain of the rows; see `sklearn.metrics.dcg_score`.

    Parameters
    ----------
    y_true, y_score : (n_samples, n_labels) array
        Labels, negative ones too, and scores.
    k : int, optional
        How many ranks count. By default all.
    log_base : float
        Base of the logarithm in the discount 1 / log(rank + 1).
    sample_weight : (n_samples,) array, optional
        Weights of the rows in the mean.
    ignore_ties : bool
        Whether equal scores rank by their place, the last first, instead of sharing their ranks.

    Returns
    -------
    float

    Examples
    --------
    >>> dcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)  # (10 + 5) / 2
    7.5
    """
    labels, scores = _pair(y_true, y_score, sample_weight)
    base, ignore = arrays.checked_base(log_base), arrays.checked_flag(ignore_ties, "ignore_ties")
    _check_target(labels)
    return float(
        np.average(
            _dcg_sample_scores(labels, scores, None if k is None else arrays.checked_k(k), base, ignore),
            weights=sample_weight,
        )
    )


def ndcg_score(
    y_true: Any, y_score: Any, *, k: int | None = None, sample_weight: Any = None, ignore_ties: bool = False
) -> float:  # fmt: skip
    """
    Mean normalised discounted cumulative gain of the rows; see `sklearn.metrics.ndcg_score`.

    Parameters
    ----------
    y_true, y_score, k, sample_weight, ignore_ties
        See `dcg_score`; labels of 0 or more, two or more a row.

    Returns
    -------
    float
        From 0 to 1; a row without any gain counts as 0.

    Examples
    --------
    >>> ndcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)  # (10 + 5) / 2 / 10
    0.75
    """
    labels, scores = _pair(y_true, y_score, sample_weight)
    ignore = arrays.checked_flag(ignore_ties, "ignore_ties")
    if labels.min() < 0:
        raise InvalidInputError("ndcg_score should not be used on negative y_true values.")
    if labels.ndim > 1 and labels.shape[1] <= 1:
        raise InvalidInputError(
            f"Computing NDCG is only meaningful when there is more than 1 document. Got {labels.shape[1]} instead."
        )
    _check_target(labels)
    return float(
        np.average(
            _ndcg_sample_scores(labels, scores, None if k is None else arrays.checked_k(k), ignore),
            weights=sample_weight,
        )
    )


def label_ranking_average_precision_score(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """
    Mean label ranking average precision of the rows; see the function of this name in `sklearn.metrics`.

    For each right label, the share of right ones among the labels that score at least as high; 1 for a row without
    a right label or with nothing else.

    Parameters
    ----------
    y_true : (n_samples, n_labels) array or sparse matrix
        Two different values at most, not 0 where a label is right.
    y_score : (n_samples, n_labels) array
        Scores.
    sample_weight : (n_samples,) array, optional
        Weights of the rows in the mean.

    Returns
    -------
    float

    Examples
    --------
    >>> label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])  # 5/12
    0.41666666666666663
    """
    from fastndcg.kernels.multilabel import label_ranking_precision

    labels = arrays.as_finite(y_true.toarray() if arrays.is_sparse(y_true) else y_true, "y_true")
    scores = arrays.as_finite(y_score, "y_score")
    arrays.check_lengths(y_true=labels, y_score=scores, sample_weight=sample_weight)
    if labels.shape != scores.shape:
        raise InvalidInputError(f"y_true and y_score have different shape: {labels.shape} and {scores.shape}")
    if labels.ndim != 2 or not ((labels == labels.min()) | (labels == labels.max())).all():
        raise InvalidInputError(f"{arrays.target_type(labels)} format is not supported")
    n_rows, n_labels = labels.shape
    values, order, counts = np.empty(n_rows), np.empty((2, n_labels), "i4"), np.empty(n_labels + 1, "i8")
    relevant = read_only(np.ascontiguousarray(labels != 0).view("u1"))
    label_ranking_precision(_as_kernel_scores(scores), relevant, np.empty(n_labels), order[0], order[1], counts, values)
    if sample_weight is None:
        return float(values.mean())
    weights = arrays.as_numbers(sample_weight, "sample_weight")
    with np.errstate(invalid="ignore"):
        return float(values @ weights / weights.sum())


def top_k_accuracy_score(
    y_true: Any, y_score: Any, *, k: int = 2, normalize: bool = True, sample_weight: Any = None, labels: Any = None
) -> float:  # fmt: skip
    """
    Share of rows whose right label is among the k that score highest; see `sklearn.metrics.top_k_accuracy_score`.

    Parameters
    ----------
    y_true : (n_samples,) array
        The right label of each row.
    y_score : (n_samples, n_classes) array, or (n_samples,) where there are two classes
        Scores of the classes in their order; among equal ones the last ranks first.
    k : int
        How many ranks count.
    normalize : bool
        Whether to divide by the number of rows.
    sample_weight : (n_samples,) array, optional
        Weights of the rows.
    labels : (n_classes,) array, optional
        All classes, rising. By default those in `y_true`.

    Returns
    -------
    float

    Examples
    --------
    >>> top_k_accuracy_score([0, 1, 2, 2], [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]], k=2)
    0.75
    """
    cutoff, in_share = arrays.checked_k(k), arrays.checked_flag(normalize, "normalize")
    right = arrays.as_column(y_true, "y_true")
    scores = arrays.as_finite(y_score, "y_score")
    kind = arrays.target_type(right)
    if kind == "binary" and labels is not None and len(labels) > 2:
        kind = "multiclass"
    scores = _scores_of_classes(scores, kind)
    arrays.check_lengths(y_true=right, y_score=scores, sample_weight=sample_weight)
    classes = _classes(right, scores.shape[1] if scores.ndim == 2 else 2, labels)
    if cutoff >= len(classes):
        _warn_of_perfection(cutoff, len(classes))
    hits = _hits(np.searchsorted(classes, right), scores, cutoff)
    if in_share:
        return float(np.average(hits, weights=sample_weight))
    return float(hits.sum() if sample_weight is None else np.dot(hits, sample_weight))


def _dcg_sample_scores(
    y_true: Any, y_score: Any, k: int | None = None, log_base: float = 2, ignore_ties: bool = False
) -> Array:  # fmt: skip
    """DCG of each row; scikit-learn's own tests call it by this name."""
    return _values(Metric("DCG", k), y_true, y_score, ignore_ties) * math.log2(log_base)


def _ndcg_sample_scores(y_true: Any, y_score: Any, k: int | None = None, ignore_ties: bool = False) -> Array:
    """NDCG of each row; scikit-learn's own tests call it by this name."""
    return _values(Metric("nDCG", k), y_true, y_score, ignore_ties)


def _values(metric: Metric, labels: Any, scores: Any, ignore_ties: bool) -> Array:
    """One value a row. The order of equal scores is looked at only where it makes a difference."""
    result = evaluate(labels, scores, metric, convention=AVERAGED)
    if ignore_ties and result.n_tied:
        result = evaluate(labels, scores, metric, convention=LAST_FIRST)
    return result.values[:, 0]


def _pair(y_true: Any, y_score: Any, sample_weight: Any) -> tuple[Array, Array]:
    labels, scores = arrays.as_finite(y_true, "y_true"), arrays.as_finite(y_score, "y_score")
    arrays.check_lengths(y_true=labels, y_score=scores, sample_weight=sample_weight)
    return labels, scores


def _check_target(labels: Array) -> None:
    if labels.ndim != 2 or labels.shape[1] < 2:
        raise InvalidInputError(f"Only {FORMATS} formats are supported. Got {arrays.target_type(labels)} instead")


def _as_kernel_scores(scores: Array) -> Array:
    """Scores as float32 or float64; wide integers that float64 lacks as their ranks."""
    return read_only(as_scores(scores.reshape(-1), "y_score").reshape(scores.shape))


def _scores_of_classes(scores: Array, kind: str) -> Array:
    """Scores in the shape that the classes ask for."""
    if kind not in ("binary", "multiclass"):
        raise InvalidInputError(f"y type must be 'binary' or 'multiclass', got '{kind}' instead.")
    if kind == "multiclass":
        if scores.ndim != 2:
            raise InvalidInputError(
                "`y_score` needs to be of shape `(n_samples, n_classes)`, since `y_true` contains multiple classes. "
                f"Got `y_score.shape={scores.shape}`."
            )
        return scores
    if scores.ndim == 2 and scores.shape[1] != 1:
        raise InvalidInputError(
            f"`y_true` is binary while y_score is 2d with {scores.shape[1]} classes. If `y_true` does not contain all "
            "the labels, `labels` must be provided."
        )
    return arrays.as_column(scores, "y_score")


def _classes(right: Array, n_scored: int, labels: Any) -> Array:
    """All classes, rising: those given, or those that occur."""
    if labels is None:
        classes = np.unique(right)
        if len(classes) != n_scored:
            raise InvalidInputError(
                f"Number of classes in 'y_true' ({len(classes)}) not equal to the number of classes in 'y_score' "
                f"({n_scored}).You can provide a list of all known classes by assigning it to the `labels` parameter."
            )
        return classes
    given = arrays.as_column(labels, "labels")
    classes = np.unique(given)
    if len(classes) != len(given):
        raise InvalidInputError("Parameter 'labels' must be unique.")
    if not np.array_equal(classes, given):
        raise InvalidInputError("Parameter 'labels' must be ordered.")
    if len(classes) != n_scored:
        raise InvalidInputError(
            f"Number of given labels ({len(classes)}) not equal to the number of classes in 'y_score' ({n_scored})."
        )
    if len(np.setdiff1d(right, classes)):
        raise InvalidInputError("'y_true' contains labels not in parameter 'labels'.")
    return classes


def _hits(columns: Array, scores: Array, k: int) -> Array:
    """Whether the right class of each row is among the first k."""
    if scores.ndim == 2:
        from fastndcg.kernels.multilabel import n_before

        before = np.empty(len(scores))
        n_before(_as_kernel_scores(scores), read_only(columns), before)
        return before < k
    threshold = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0
    return (scores > threshold) == columns if k == 1 else np.ones(len(scores), bool)


def _warn_of_perfection(k: int, n_classes: int) -> None:
    category: type[Warning] = UserWarning
    with contextlib.suppress(MissingPackageError):  # without scikit-learn nobody filters by its type
        category = optional_import("sklearn.exceptions", "a warning", "sklearn").UndefinedMetricWarning
    text = (
        f"'k' ({k}) greater than or equal to 'n_classes' ({n_classes}) will result in a perfect score and is "
        "therefore meaningless."
    )
    warnings.warn(text, category, stacklevel=3)
