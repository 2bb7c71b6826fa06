"""
Drop-in for `torchmetrics.functional.retrieval`.

Signatures and errors are those of torchmetrics. Values are, too, except for its bugs. Documents with a score of 0 or
less can be relevant. The value of tied scores is the expectation over all their orders, for every metric.

With `indexes`, which the classes of torchmetrics take, one call returns the value of each query. Only torch is needed.

Each error is also a subclass of the built-in exceptions that torchmetrics or PyTorch raises. Differences:

- NaN, and labels above 2**53 in size, are errors.
- Labels between 0 and 1 count as relevant for average precision, reciprocal rank and hit rate. In the other functions
  of binary labels they are errors. torchmetrics adds them up there.
- `retrieval_r_precision` takes float labels of 0 and 1, and every function takes labels of eight bits.

>>> import torch
>>> from fastndcg.compat.torchmetrics import retrieval_normalized_dcg
>>> preds, target = torch.tensor([0.9, 0.8, 0.7, 0.6]), torch.tensor([0, 3, 1, 0])
>>> retrieval_normalized_dcg(preds, target, top_k=2)
tensor(0.5213)
>>> retrieval_normalized_dcg(preds, target, indexes=torch.tensor([0, 0, 1, 1]))
tensor([0.6309, 1.0000])
"""

from __future__ import annotations

import contextlib
import functools
import operator
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.evaluation import evaluate, evaluate_arrays
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention, conventions
from fastndcg.runtime.imports import optional_import

__all__ = [
    "retrieval_auroc",
    "retrieval_average_precision",
    "retrieval_fall_out",
    "retrieval_hit_rate",
    "retrieval_normalized_dcg",
    "retrieval_precision",
    "retrieval_precision_recall_curve",
    "retrieval_r_precision",
    "retrieval_recall",
    "retrieval_reciprocal_rank",
]

CONVENTION = conventions["torchmetrics"].replace(score_dtype="as given")  # `_check_tensors` makes them float32
MOST_CUTOFFS = 2**31 - 1
ADAPTIVE = CONVENTION.replace(precision_denominator="min(k, n_retrieved)")


class NoTensorError(InvalidTypeError, AttributeError):
    """An argument is not a tensor."""


class UnreadableTensorError(InvalidTypeError, NotImplementedError):
    """A tensor is sparse, quantized or without values. NotImplementedError is also a RuntimeError."""


class LabelsError(InvalidTypeError, RuntimeError):
    """A label is neither 0 nor 1."""


class OutOfRangeError(InvalidTypeError, RuntimeError, IndexError, OverflowError):
    """A cutoff or `max_fpr` is out of range. PyTorch raises one of these errors, depending on the function."""


def retrieval_normalized_dcg(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """
    Compute the normalised discounted cumulative gain.

    Parameters
    ----------
    preds : float tensor
        Scores, higher is better.
    target : bool, int or float tensor of the same shape
        Labels, 0 for not relevant.
    top_k : int, optional
        The number of ranks that count, 1 or more. By default all.
    indexes : int tensor of the same shape, optional
        The query of each document. By default all documents belong to one query.

    Returns
    -------
    float32 tensor
        One value. With `indexes`, one value for each query, in the order of their first documents.

    Raises
    ------
    InvalidInputError
        If shapes disagree, a tensor is empty, or a score is NaN. It is also a ValueError.
    OutOfRangeError
        If `top_k` is no integer of 1 or more. It is also a ValueError.

    Examples
    --------
    >>> import torch
    >>> retrieval_normalized_dcg(torch.tensor([0.9, 0.8, 0.7]), torch.tensor([0, 3, 1]))
    tensor(0.6590)
    """
    return _evaluate(_make_metric("nDCG", _check_k(top_k)), preds, target, indexes, read_labels=np.asarray)


def retrieval_precision(
    preds: Any, target: Any, top_k: int | None = None, adaptive_k: bool = False, *, indexes: Any = None
) -> Any:
    """
    Compute the precision: the fraction of relevant documents in the first `top_k` ranks.

    Parameters
    ----------
    preds, target, top_k
        See `retrieval_normalized_dcg`. Labels are 0 and 1.
    adaptive_k : bool
        True to divide by the number of documents if it is less than `top_k`.
    indexes
        See `retrieval_normalized_dcg`.

    Returns
    -------
    float32 tensor
        See `retrieval_normalized_dcg`.
    """
    convention = ADAPTIVE if _check_bool(adaptive_k) else CONVENTION
    return _evaluate(_make_metric("P", _check_k(top_k)), preds, target, indexes, convention=convention)


def _make_function(
    name: str, metric: str, value: str, *, read_cutoff: Callable[[Any], Any] | None = lambda top_k: top_k,
    read_labels: Callable[[Any], Any] | None = None,
) -> Callable[..., Any]:  # fmt: skip
    """Return a function of binary labels and a cutoff. `value` is the object of its docstring's first sentence."""

    def evaluate_metric(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
        k = None if read_cutoff is None else _check_k(read_cutoff(top_k))
        return _evaluate(_make_metric(metric, k), preds, target, indexes, read_labels=read_labels)

    def evaluate_at_r(preds: Any, target: Any, *, indexes: Any = None) -> Any:
        return evaluate_metric(preds, target, indexes=indexes)

    function = evaluate_at_r if read_cutoff is None else evaluate_metric
    cutoff = "" if read_cutoff is None else "top_k, "
    function.__name__ = function.__qualname__ = f"retrieval_{name}"
    function.__doc__ = f"""
    Compute the {value}.

    Parameters
    ----------
    preds, target, {cutoff}indexes
        See `retrieval_normalized_dcg`. Labels are 0 and 1.

    Returns
    -------
    float32 tensor
        See `retrieval_normalized_dcg`.
    """
    return function


def retrieval_auroc(
    preds: Any, target: Any, top_k: int | None = None, max_fpr: float | None = None, *, indexes: Any = None
) -> Any:
    """
    Compute the area under the ROC curve.

    Parameters
    ----------
    preds, target
        See `retrieval_normalized_dcg`. Labels are 0 and 1.
    top_k : int, optional
        Use only the first `top_k` documents. Documents of equal scores and different labels at this rank are an error.
    max_fpr : float, optional
        Compute the area up to this false positive rate, above 0 and at most 1, as D. K. McClish standardises it.
    indexes
        See `retrieval_normalized_dcg`.

    Returns
    -------
    float32 tensor
        See `retrieval_normalized_dcg`.

    Raises
    ------
    OutOfRangeError
        If `top_k` or `max_fpr` is out of range. It is also a ValueError.
    InvalidInputError
        If scores tie at rank `top_k`, or see `retrieval_normalized_dcg`. It is also a ValueError.
    """
    if max_fpr is not None and not (isinstance(max_fpr, float) and 0 < max_fpr <= 1):
        raise OutOfRangeError(
            f"`max_fpr` has to be a float above 0 and at most 1, or None, not {shorten(max_fpr)}. Pass 0.1."
        )
    metric = Metric("AUC") if max_fpr is None else Metric("pAUC", max_fpr=max_fpr, scale="mcclish")
    k = _check_k(top_k or None)
    if k is not None:
        first = _find_first(preds, target, indexes, k)
        preds = preds.reshape(-1)[first]
        target = target.reshape(-1)[first]
        indexes = None if indexes is None else indexes.reshape(-1)[first]
    return _evaluate(metric, preds, target, indexes)


def _find_first(preds: Any, target: Any, indexes: Any, k: int) -> Any:
    """Return the indices of the first k documents of each query. Queries are in the order of their first documents."""
    labels, scores = _check_tensors(_torch(), preds, target)
    _read_binary(labels)
    ids = np.zeros(len(labels), int) if indexes is None else _check_indexes(indexes, preds)
    _, first_documents, query_numbers = np.unique(ids, return_index=True, return_inverse=True)
    queries = first_documents[query_numbers]
    order = np.lexsort((-scores, queries))  # NaN last
    ranked_queries = queries[order]
    ranked_scores = scores[order]
    starts = np.flatnonzero(np.diff(ranked_queries, prepend=-1))
    n_above = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    last_documents = np.flatnonzero(n_above == k) - 1
    for i in last_documents[ranked_scores[last_documents] == ranked_scores[last_documents + 1]]:
        tied_labels = labels[(queries == ranked_queries[i]) & (scores == ranked_scores[i])]
        if tied_labels.min() != tied_labels.max():
            raise InvalidInputError(
                f"`preds` must not tie between relevant documents and others at rank top_k = {k}, but "
                f"{len(tied_labels)} documents have the score {ranked_scores[i]!s}. Remove top_k, or make the scores "
                "differ."
            )
    return _torch().from_numpy(order[(n_above < k) | np.isnan(ranked_scores)]).to(preds.device)


def retrieval_precision_recall_curve(
    preds: Any, target: Any, max_k: int | None = None, adaptive_k: bool = False
) -> tuple[Any, Any, Any]:
    """
    Compute precision and recall at every cutoff from 1 to `max_k`.

    Parameters
    ----------
    preds, target
        See `retrieval_normalized_dcg`. Labels are 0 and 1.
    max_k : int, optional
        The last cutoff. By default the number of documents.
    adaptive_k : bool
        True to reduce cutoffs above the number of documents to that number.

    Returns
    -------
    precision, recall : (max_k,) float32 tensors
        The values at each cutoff.
    cutoffs : (max_k,) int64 tensor
        The cutoffs.

    Raises
    ------
    OutOfRangeError
        If `max_k` is no integer of 1 or more, or is too large. It is also a ValueError.
    """
    torch = _torch()
    labels, scores = _check_tensors(torch, preds, target)
    _read_binary(labels)
    is_adaptive = _check_bool(adaptive_k)
    n_documents = len(labels)
    n_cutoffs = _check_k(max_k, "max_k") or n_documents
    if n_cutoffs > MOST_CUTOFFS:
        raise OutOfRangeError(
            f"`max_k` must be at most {MOST_CUTOFFS}, because there is a value for each cutoff, not {n_cutoffs}. "
            "Pass a smaller number."
        )
    cutoffs = torch.arange(1, n_cutoffs + 1, device=preds.device)
    if is_adaptive:
        cutoffs = cutoffs.clamp(max=n_documents)
    metrics = [Metric("num_rel_ret", k) for k in range(1, min(n_cutoffs, n_documents) + 1)]
    counts = evaluate(labels[None], scores[None], metrics, convention=CONVENTION).values[0]
    padded = np.pad(counts, (0, n_cutoffs - len(counts)), mode="edge").astype("f4")
    n_relevant_found = torch.from_numpy(padded).to(preds.device)
    return n_relevant_found / cutoffs, n_relevant_found / max(int(labels.sum()), 1), cutoffs


def __getattr__(name: str) -> Any:
    if name.startswith("retrieval_"):
        raise AttributeError(f"the catalogue lacks {name.removeprefix('retrieval_')}: use torchmetrics for {name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.lru_cache(maxsize=256)
def _make_metric(name: str, k: int | None) -> Metric:
    return Metric(name, k)


def _evaluate(
    metric: Metric, preds: Any, target: Any, indexes: Any, *, convention: Convention = CONVENTION,
    read_labels: Callable[[Any], Any] | None = None,
) -> Any:  # fmt: skip
    """Return the value of a metric, or one for each query of `indexes`. By default labels are 0 and 1."""
    torch = _torch()
    labels, scores = _check_tensors(torch, preds, target)
    labels = (read_labels or _read_binary)(labels)
    if indexes is None:
        offsets = np.array([0, len(labels)])
        parameters = dict(metric.parameters)
        cuts = (offsets, None, None)
        (value,) = evaluate_arrays(metric.name, metric.k, convention, None, labels, scores, cuts, **parameters)
        return torch.tensor(value, dtype=torch.float32, device=preds.device)
    queries = _check_indexes(indexes, preds)
    values = evaluate(labels, scores, metric, query_ids=queries, convention=convention).values[:, 0]
    return torch.from_numpy(values.astype("f4")).to(preds.device)


def _check_tensors(torch: ModuleType, preds: Any, target: Any) -> tuple[Any, Any]:
    """Return labels and scores as arrays of one dimension, or raise an error."""
    for name, values in (("preds", preds), ("target", target)):
        if not isinstance(values, torch.Tensor):
            raise NoTensorError(f"`{name}` must be a tensor, not {type(values).__name__}. Pass torch.as_tensor(…).")
    if preds.shape != target.shape:
        raise InvalidInputError(
            f"`preds` and `target` must be of the same shape, not {tuple(preds.shape)} and {tuple(target.shape)}. "
            "Pass one label for each score."
        )
    if not preds.numel() or not preds.ndim:
        raise InvalidInputError(
            "`preds` and `target` must be non-empty and non-scalar tensors. Skip queries without documents."
        )
    for name, values in (("preds", preds), ("target", target)):
        if values.layout != torch.strided or values.is_quantized or values.device.type == "meta":
            form = "quantized" if values.is_quantized else f"of {values.layout} on {values.device}"
            raise UnreadableTensorError(f"`{name}` must be a dense tensor with values, but is {form}. Convert it.")
    kind = target.dtype
    if not kind.is_floating_point and kind not in (torch.long, torch.bool, torch.int):
        raise InvalidInputError(f"`target` must be a tensor of booleans, integers or floats, not {kind}. Convert it.")
    if not preds.dtype.is_floating_point:
        raise InvalidInputError(f"`preds` must be a tensor of floats, not {preds.dtype}. Convert it by float().")
    labels = _as_array(target.float() if kind.is_floating_point else target)
    return labels.view("u1") if kind == torch.bool else labels, _as_array(preds.float())


def _as_array(values: Any) -> Any:
    """Return a tensor as an array of one dimension."""
    array = values.detach().cpu().resolve_neg().numpy()
    return array if array.ndim == 1 and array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)


def _read_fractions(labels: Any) -> Any:
    """Return binary labels with 1 in place of fractions between 0 and 1, which count as relevant."""
    return _read_binary(np.where((labels > 0) & (labels < 1), 1, labels) if labels.dtype.kind == "f" else labels)


def _read_binary(labels: Any) -> Any:
    """Return labels, or raise an error for one that is neither 0 nor 1."""
    if labels.dtype != np.uint8 and not ((labels == 0) | (labels == 1)).all():
        raise LabelsError("`target` must contain `binary` values, only 0 and 1. Use target > 0, for example.")
    return labels


def _check_indexes(indexes: Any, preds: Any) -> Any:
    """Return the query of each document as an array, or raise an error."""
    torch = _torch()
    if not isinstance(indexes, torch.Tensor) or indexes.dtype not in (torch.long, torch.int):
        raise InvalidTypeError("`indexes` must be a tensor of long integers. Convert it by long().")
    if indexes.shape != preds.shape:
        raise InvalidInputError(
            f"`indexes` must be of the shape of `preds`, {tuple(preds.shape)}, not {tuple(indexes.shape)}. "
            "Pass one query for each score."
        )
    return indexes.cpu().numpy().reshape(-1)


def _as_cutoff(top_k: Any) -> Any:
    """Return a cutoff of NumPy or PyTorch as an int, and None for 0, as torchmetrics does for some metrics."""
    if top_k is True:
        raise OutOfRangeError("`top_k` has to be a positive integer or None, not True. Pass an int.")
    with contextlib.suppress(TypeError):  # _check_k raises the error for other types
        top_k = operator.index(top_k)
    return None if isinstance(top_k, int) and not top_k else top_k


def _check_k(top_k: Any, name: str = "top_k") -> int | None:
    """Return a cutoff, or raise an error if it is neither None nor an int of 1 or more."""
    if top_k is not None and not (isinstance(top_k, int) and top_k > 0):
        raise OutOfRangeError(f"`{name}` has to be a positive integer or None, not {shorten(top_k)}. Pass an int.")
    return None if top_k is None else int(top_k)


def _check_bool(adaptive_k: Any) -> bool:
    """Return `adaptive_k`, or raise an error if it is no bool."""
    if not isinstance(adaptive_k, bool):
        raise InvalidInputError(f"`adaptive_k` has to be a boolean, not {shorten(adaptive_k)}. Pass True or False.")
    return adaptive_k


def _torch() -> ModuleType:
    return sys.modules.get("torch") or optional_import("torch", "this drop-in", "torch")


retrieval_average_precision = _make_function(
    "average_precision", "AP", "average precision over the relevant documents in the first `top_k` ranks",
    read_cutoff=_as_cutoff, read_labels=_read_fractions,
)  # fmt: skip
retrieval_reciprocal_rank = _make_function(
    "reciprocal_rank", "RR", "reciprocal of the first relevant document's rank", read_cutoff=_as_cutoff,
    read_labels=_read_fractions,
)  # fmt: skip
retrieval_recall = _make_function(
    "recall", "R", "recall: the fraction of the relevant documents that are in the first `top_k` ranks"
)
retrieval_r_precision = _make_function(
    "r_precision", "Rprec", "precision in the first R ranks, where R is the number of relevant documents",
    read_cutoff=None,
)  # fmt: skip
retrieval_hit_rate = _make_function(
    "hit_rate", "Success", "hit rate: 1 if a relevant document is in the first `top_k` ranks, 0 otherwise",
    read_labels=_read_fractions,
)  # fmt: skip
retrieval_fall_out = _make_function(
    "fall_out", "R", "fall-out: the fraction of the nonrelevant documents in the first `top_k` ranks",
    read_labels=lambda labels: 1 - _read_binary(labels),
)  # fmt: skip
