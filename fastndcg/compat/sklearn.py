"""
Drop-in for scikit-learn's ranking metrics, by the same names.

Signatures, values and errors are those of `sklearn.metrics`. Each error is also a subclass of the built-in exceptions
that scikit-learn's error is one of. scikit-learn itself is not needed. Differences:

- scikit-learn's InvalidParameterError, a ValueError and a TypeError, is an `InvalidTypeError` here, which is both.
- Bool scores are allowed. They are a TypeError in scikit-learn.
- Times, complex weights, a bool as `log_base`, and labels above 2**53 in size are errors here. scikit-learn takes them.

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

from fastndcg.compat.common import as_whole_number
from fastndcg.errors import InvalidInputError, InvalidTypeError, MissingPackageError, shorten
from fastndcg.evaluation import evaluate
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import conventions
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array, as_scores, read_only
from fastndcg.runtime.imports import optional_import

__all__ = ["dcg_score", "label_ranking_average_precision_score", "ndcg_score", "top_k_accuracy_score"]

# ndcg_score refuses negative labels itself, dcg_score takes them
CONVENTION = conventions["sklearn"].replace(negative_labels="keep")
CONVENTION_WITHOUT_TIES = conventions["sklearn_ignore_ties"].replace(negative_labels="keep")
FORMATS = ("multilabel-indicator", "continuous-multioutput", "multiclass-multioutput")


class WeightsError(InvalidInputError, ZeroDivisionError):
    """The sum of the weights is zero."""


def dcg_score(
    y_true: Any,
    y_score: Any,
    *,
    k: int | None = None,
    log_base: float = 2,
    sample_weight: Any = None,
    ignore_ties: bool = False,
) -> float:
    """
    Compute the mean discounted cumulative gain of the rows. See `sklearn.metrics.dcg_score`.

    Parameters
    ----------
    y_true : (n_samples, n_labels) array
        The labels of each row. They may be negative.
    y_score : (n_samples, n_labels) array
        The scores of each row, higher is better.
    k : int, optional
        The number of ranks that count, 1 or more. By default all.
    log_base : float
        The base of the logarithm in the discount 1 / log(rank + 1).
    sample_weight : (n_samples,) array, optional
        The weights of the rows in the mean.
    ignore_ties : bool
        True to rank equal scores by position, the last first. False to average over all orders of equal scores.

    Returns
    -------
    float
        The mean.

    Raises
    ------
    InvalidInputError
        If shapes disagree, or a value is not finite. It is also a ValueError.
    InvalidTypeError
        If an argument has the wrong type. It is also a TypeError.

    Examples
    --------
    >>> dcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)  # (10 + 5) / 2
    7.5
    """
    labels, scores, weights = _check_arrays(y_true, y_score, sample_weight)
    base = _check_log_base(log_base)
    ignore = _check_bool(ignore_ties, "ignore_ties")
    _check_target(labels)
    cutoff = None if k is None else _check_k(k)
    return _average(_dcg_sample_scores(labels, scores, cutoff, base, ignore), weights)


def ndcg_score(
    y_true: Any, y_score: Any, *, k: int | None = None, sample_weight: Any = None, ignore_ties: bool = False
) -> float:
    """
    Compute the mean normalised discounted cumulative gain of the rows. See `sklearn.metrics.ndcg_score`.

    Parameters
    ----------
    y_true : (n_samples, n_labels) array
        The labels of each row, 0 or more. A row must have at least two.
    y_score, k, sample_weight, ignore_ties
        See `dcg_score`.

    Returns
    -------
    float
        From 0 to 1. A row without any gain counts as 0.

    Raises
    ------
    InvalidInputError
        If shapes disagree, a value is not finite, or a label is negative. It is also a ValueError.
    InvalidTypeError
        If an argument has the wrong type. It is also a TypeError.

    Examples
    --------
    >>> ndcg_score([[10, 0, 0, 1, 5]], [[1, 0, 0, 0, 1]], k=1)  # (10 + 5) / 2 / 10
    0.75
    """
    labels, scores, weights = _check_arrays(y_true, y_score, sample_weight)
    ignore = _check_bool(ignore_ties, "ignore_ties")
    if labels.min() < 0:
        raise InvalidInputError(
            "ndcg_score should not be used on negative y_true values. Use dcg_score, or shift the labels."
        )
    if labels.ndim > 1 and labels.shape[1] <= 1:
        raise InvalidInputError(
            f"Computing NDCG is only meaningful when there is more than 1 document. Got {labels.shape[1]} instead."
        )
    _check_target(labels)
    cutoff = None if k is None else _check_k(k)
    return _average(_ndcg_sample_scores(labels, scores, cutoff, ignore), weights)


def label_ranking_average_precision_score(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """
    Compute the mean label ranking average precision of the rows. See the function of this name in `sklearn.metrics`.

    The value of a row is a mean over its true labels. For each of them, it takes the fraction of true labels among the
    labels that score at least as high. A row in which no label or every label is true has 1.

    Parameters
    ----------
    y_true : (n_samples, n_labels) array or sparse matrix
        Not 0 where a label is true. There may be at most two different values.
    y_score : (n_samples, n_labels) array
        The scores of the labels, higher is better.
    sample_weight : (n_samples,) array, optional
        The weights of the rows in the mean.

    Returns
    -------
    float
        The mean, from 0 to 1.

    Raises
    ------
    InvalidInputError
        If shapes disagree, a value is not finite, or there are more than two label values. It is also a ValueError.
    InvalidTypeError
        If an argument has the wrong type. It is also a TypeError.

    Examples
    --------
    >>> label_ranking_average_precision_score([[1, 0, 0], [0, 0, 1]], [[0.75, 0.5, 1], [1, 0.2, 0.1]])  # 5/12
    0.41666666666666663
    """
    from fastndcg.kernels import single_query

    dense = y_true.toarray() if _is_sparse(y_true) else y_true
    labels = _as_finite(dense, "y_true")
    scores = _as_finite(y_score, "y_score")
    weights = _as_weights(sample_weight)
    _check_lengths(y_true=labels, y_score=scores, sample_weight=weights)
    if labels.shape != scores.shape:
        raise InvalidInputError(
            f"y_true and y_score have different shape: {labels.shape} and {scores.shape}. Pass one score per label."
        )
    if labels.ndim != 2 or not ((labels == labels.min()) | (labels == labels.max())).all():
        raise InvalidInputError(f"{_target_type(labels)} format is not supported. Pass a matrix of 0 and 1.")
    n_rows, n_labels = labels.shape
    values = np.empty(n_rows)
    row_scores = np.empty(n_labels)
    order = np.empty((2, n_labels), "i4")
    counts = np.empty(n_labels + 1, "i8")
    relevant = read_only(np.ascontiguousarray(labels != 0).view("u1"))
    single_query.label_ranking_precision(
        _as_kernel_scores(scores), relevant, row_scores, order[0], order[1], counts, values
    )
    if weights is None:
        return float(values.mean())
    with np.errstate(invalid="ignore"):
        return float(values @ weights / weights.sum())


def top_k_accuracy_score(
    y_true: Any, y_score: Any, *, k: int = 2, normalize: bool = True, sample_weight: Any = None, labels: Any = None
) -> float:
    """
    Compute the fraction of rows whose true label has one of the k highest scores. See `sklearn.metrics`.

    Parameters
    ----------
    y_true : (n_samples,) array
        The true label of each row.
    y_score : (n_samples, n_classes) array, or (n_samples,) for two classes
        The scores of the classes in their order. Of equal scores, the last ranks first.
    k : int
        The number of ranks that count, 1 or more.
    normalize : bool
        True to return the fraction of rows, False to return the number of rows.
    sample_weight : (n_samples,) array, optional
        The weights of the rows.
    labels : (n_classes,) array, optional
        All classes in rising order. By default those in `y_true`.

    Returns
    -------
    float
        The fraction of rows, or their number if `normalize` is False.

    Raises
    ------
    InvalidInputError
        If shapes disagree, a score is not finite, or `labels` are not in order. It is also a ValueError.
    InvalidTypeError
        If an argument has the wrong type. It is also a TypeError.

    Examples
    --------
    >>> top_k_accuracy_score([0, 1, 2, 2], [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]], k=2)
    0.75
    """
    cutoff = _check_k(k)
    is_fraction = _check_bool(normalize, "normalize")
    true_labels = _as_column(y_true, "y_true")
    scores = _as_finite(y_score, "y_score")
    kind = _target_type(true_labels)
    if kind == "binary" and labels is not None and len(labels) > 2:
        kind = "multiclass"
    scores = _shape_scores(scores, kind)
    weights = _as_weights(sample_weight)
    _check_lengths(y_true=true_labels, y_score=scores, sample_weight=weights)
    classes = _find_classes(true_labels, scores.shape[1] if scores.ndim == 2 else 2, labels)
    if cutoff >= len(classes):
        _warn_perfect_score(cutoff, len(classes))
    hits = _find_hits(np.searchsorted(classes, true_labels), scores, cutoff)
    if is_fraction:
        return _average(hits, weights)
    return float(hits.sum() if weights is None else np.dot(hits, weights))


def _dcg_sample_scores(
    y_true: Any, y_score: Any, k: int | None = None, log_base: float = 2, ignore_ties: bool = False
) -> Array:  # fmt: skip
    """Return the DCG of each row. scikit-learn's own tests call this function by its name."""
    return _evaluate(Metric("DCG", k), y_true, y_score, ignore_ties) * math.log2(log_base)


def _ndcg_sample_scores(y_true: Any, y_score: Any, k: int | None = None, ignore_ties: bool = False) -> Array:
    """Return the nDCG of each row. scikit-learn's own tests call this function by its name."""
    return _evaluate(Metric("nDCG", k), y_true, y_score, ignore_ties)


def _evaluate(metric: Metric, labels: Any, scores: Any, ignore_ties: bool) -> Array:
    """Return one value for each row. Ties are broken by position only if the order changes a value."""
    result = evaluate(labels, scores, metric, convention=CONVENTION)
    if ignore_ties and result.n_tied:
        result = evaluate(labels, scores, metric, convention=CONVENTION_WITHOUT_TIES)
    return result.values[:, 0]


def _check_arrays(y_true: Any, y_score: Any, sample_weight: Any) -> tuple[Array, Array, Array | None]:
    """Return labels, scores and weights as arrays with the same number of rows, or raise an error."""
    labels = _as_finite(y_true, "y_true")
    scores = _as_finite(y_score, "y_score")
    weights = _as_weights(sample_weight)
    _check_lengths(y_true=labels, y_score=scores, sample_weight=weights)
    return labels, scores, weights


def _check_target(labels: Array) -> None:
    if labels.ndim != 2 or labels.shape[1] < 2:
        raise InvalidInputError(f"Only {FORMATS} formats are supported. Got {_target_type(labels)} instead")


def _as_kernel_scores(scores: Array) -> Array:
    """Return scores as float32 or float64. Integers that float64 cannot hold are replaced by their ranks."""
    return read_only(as_scores(scores.reshape(-1), "y_score").reshape(scores.shape))


def _shape_scores(scores: Array, kind: str) -> Array:
    """Return scores in the shape for the type of the labels: one column for each class, or a single column."""
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
    return _as_column(scores, "y_score")


def _find_classes(true_labels: Array, n_scored: int, labels: Any) -> Array:
    """Return all classes in rising order: `labels` if not None, or else those in `true_labels`."""
    if labels is None:
        classes = np.unique(true_labels)
        if len(classes) != n_scored:
            raise InvalidInputError(
                f"Number of classes in 'y_true' ({len(classes)}) not equal to the number of classes in 'y_score' "
                f"({n_scored}). You can provide a list of all known classes by assigning it to the `labels` parameter."
            )
        return classes
    column = _as_column(labels, "labels")
    try:
        classes = np.unique(column)
    except TypeError:  # None or texts among numbers have no order
        raise InvalidTypeError("Parameter 'labels' must be ordered, and of one type.") from None
    if len(classes) != len(column):
        raise InvalidInputError("Parameter 'labels' must be unique.")
    if not np.array_equal(classes, column):
        raise InvalidInputError("Parameter 'labels' must be ordered.")
    if len(classes) != n_scored:
        raise InvalidInputError(
            f"Number of given labels ({len(classes)}) not equal to the number of classes in 'y_score' ({n_scored})."
        )
    if len(np.setdiff1d(true_labels, classes)):
        raise InvalidInputError("'y_true' contains labels not in parameter 'labels'.")
    return classes


def _find_hits(columns: Array, scores: Array, k: int) -> Array:
    """Return True for each row whose true class has one of the k highest scores."""
    if scores.ndim == 2:
        from fastndcg.kernels import single_query

        before = np.empty(len(scores))
        single_query.n_before(_as_kernel_scores(scores), read_only(columns), before)
        return before < k
    threshold = 0.5 if scores.min() >= 0 and scores.max() <= 1 else 0
    return (scores > threshold) == columns if k == 1 else np.ones(len(scores), bool)


def _warn_perfect_score(k: int, n_classes: int) -> None:
    category: type[Warning] = UserWarning
    with contextlib.suppress(MissingPackageError):  # without scikit-learn, no filter can name its category
        category = optional_import("sklearn.exceptions", "a warning", "sklearn").UndefinedMetricWarning
    text = (
        f"'k' ({k}) greater than or equal to 'n_classes' ({n_classes}) will result in a perfect score and is "
        "therefore meaningless."
    )
    warnings.warn(text, category, stacklevel=3)


def _is_sparse(values: Any) -> bool:
    """Return True for a sparse matrix."""
    return hasattr(values, "toarray") and hasattr(values, "nnz")


def _as_finite(values: Any, name: str) -> Array:
    """Return a dense, non-empty array of finite numbers with one or two dimensions, or raise an error."""
    _check_dense(values, name)
    array = _as_numbers(values, name)
    if array.ndim not in (1, 2):
        raise InvalidTypeError(f"Found array with dim {array.ndim}, while {name} must have 1 or 2. Reshape {name}.")
    if not array.size:
        raise InvalidInputError(
            f"Found array with shape {array.shape}, while {name} needs a sample and a feature. Pass at least one."
        )
    if array.dtype.kind == "f":
        flat = array.ravel(order="K")
        with np.errstate(all="ignore"):  # a finite sum of squares shows that all values are finite, without an array
            is_finite = bool(np.isfinite(np.dot(flat, flat))) or bool(np.isfinite(array).all())
        if not is_finite:
            content = "NaN" if np.isnan(array).any() else f"infinity or a value too large for {array.dtype!r}"
            has_objects = np.asarray(values).dtype.kind == "O"
            # scikit-learn raises a TypeError for None among numbers
            error_class = InvalidTypeError if has_objects else InvalidInputError
            raise error_class(f"Input {name} contains {content}. Remove or replace these values.")
    return array


def _check_dense(values: Any, name: str) -> None:
    """Raise an error for a sparse matrix and for np.matrix."""
    if _is_sparse(values):
        raise InvalidTypeError(f"Sparse data was passed for {name}, but dense data is required. Use '.toarray()'")
    if isinstance(values, np.matrix):
        raise InvalidTypeError(f"{name} must not be an np.matrix. Convert it to an array by np.asarray")


def _as_numbers(values: Any, name: str) -> Array:
    """Return an array of bool, int or float. Objects are converted to float."""
    try:
        array = np.asarray(values)
        if array.dtype == object:
            array = array.astype("f8")
    except (TypeError, ValueError) as error:
        raise InvalidTypeError(f"{name} must be an array of numbers, but cannot be converted: {error}") from None
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(
            f"{name} must be an array of numbers, but its dtype is {array.dtype}. Convert it by astype(float)."
        )
    return array


def _as_weights(sample_weight: Any) -> Array | None:
    """Return the weights of rows as an array of numbers, or None."""
    if sample_weight is None:
        return None
    _check_dense(sample_weight, "sample_weight")
    weights = _as_numbers(sample_weight, "sample_weight")
    has_objects = np.asarray(sample_weight).dtype == object and weights.ndim > 0
    has_none = has_objects and any(weight is None for weight in sample_weight)
    if not weights.ndim or has_none:
        raise InvalidTypeError(
            f"sample_weight must be None or an array with one number for each row. Got {shorten(sample_weight)}"
        )
    if weights.ndim != 1:
        raise InvalidTypeError(f"sample_weight must have 1 dimension, but its shape is {weights.shape}")
    return weights


def _average(values: Array, weights: Array | None) -> float:
    """Return the weighted mean of the values of rows."""
    if weights is not None and not weights.sum():
        raise WeightsError(
            "sample_weight must not sum to zero, because the mean is divided by the sum. Pass other weights."
        )
    return float(np.average(values, weights=weights))


def _as_column(values: Any, name: str) -> Array:
    """Return a one-dimensional array of any type without NaN. A second dimension of length 1 is dropped."""
    _check_dense(values, name)
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InvalidTypeError(f"{name} must be an array, but cannot be converted: {error}") from None
    if not array.ndim:
        raise InvalidTypeError(f"{name} must be an array of one dimension. Got {shorten(values)} instead.")
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InvalidInputError(f"y should be a 1d array, got an array of shape {array.shape} instead.")
    if not len(array):
        raise InvalidInputError(f"Found array with 0 sample(s), while a minimum of 1 is required for {name}.")
    return _as_finite(array, name) if array.dtype.kind == "f" else array


def _check_lengths(**arrays: Any) -> None:
    """Raise an error if the arrays, aside from None, have different numbers of rows."""
    n_rows = {name: len(np.atleast_1d(array)) for name, array in arrays.items() if array is not None}
    if len(set(n_rows.values())) > 1:
        raise InvalidInputError(
            f"Found input variables with inconsistent numbers of samples: {list(n_rows.values())} of "
            f"{', '.join(n_rows)}. Pass arrays of the same length."
        )


def _target_type(labels: Array) -> str:
    """Return scikit-learn's name for the type of labels, such as "binary" or "multiclass"."""
    suffix = "-multioutput" if labels.ndim == 2 and labels.shape[1] > 1 else ""
    if labels.dtype.kind == "f" and (labels % 1 != 0).any():
        return f"continuous{suffix}"
    if len(np.unique(labels)) <= 2:
        return "multilabel-indicator" if suffix else "binary"
    return f"multiclass{suffix}"


def _check_k(k: Any) -> int:
    """Return a cutoff as an int, or raise an error if it is no integer of 1 or more."""
    number = None if isinstance(k, np.ndarray) else as_whole_number(k)
    if number is None or number < 1:
        raise InvalidTypeError(f"The 'k' parameter must be an int in the range [1, inf). Got {shorten(k)} instead.")
    return number


def _check_log_base(log_base: Any) -> float:
    """Return the base of a logarithm as a float, or raise an error if it is not above 0."""
    base = as_float(log_base)
    if base is None or not 0 < base < math.inf:
        raise InvalidTypeError(
            f"The 'log_base' parameter must be a float in the range (0.0, inf). Got {shorten(log_base)} instead."
        )
    return base


def _check_bool(value: Any, name: str) -> bool:
    """Return the argument `name` as a bool, or raise an error for another type."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidTypeError(
            f"The {shorten(name)} parameter must be an instance of 'bool'. Got {shorten(value)} instead."
        )
    return bool(value)
