"""
torchmetrics: the functions of `torchmetrics.functional.retrieval`.

Signatures and errors are those of torchmetrics, and so are the values but for its bugs: documents with a score of 0 or
less may be relevant, and where scores tie the value is the expectation over all orders, for every metric. Given
`indexes`, as the classes of torchmetrics take them, one call gives the value of each query. Needs torch alone.

>>> import torch
>>> from fastndcg.compat.torchmetrics import retrieval_normalized_dcg
>>> preds, target = torch.tensor([0.9, 0.8, 0.7, 0.6]), torch.tensor([0, 3, 1, 0])
>>> retrieval_normalized_dcg(preds, target, top_k=2)
tensor(0.5213)
>>> retrieval_normalized_dcg(preds, target, indexes=torch.tensor([0, 0, 1, 1]))
tensor([0.6309, 1.0000])
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from fastndcg.conventions import Convention, conventions
from fastndcg.errors import InvalidInputError, InvalidTypeError, optional_import
from fastndcg.evaluate import evaluate
from fastndcg.metric import Metric

CONVENTION = conventions["torchmetrics"]
ADAPTIVE = CONVENTION.replace(precision_denominator="min(k, n_retrieved)")


def retrieval_normalized_dcg(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """
    Normalised discounted cumulative gain.

    Parameters
    ----------
    preds : float tensor
        Scores.
    target : bool, int or float tensor of the same shape
        Labels.
    top_k : int, optional
        How many ranks count. By default all.
    indexes : int tensor of the same shape, optional
        Each document's query. By default they are all of one.

    Returns
    -------
    float32 tensor
        One value; with `indexes` one for each query, in the order in which they first come.
    """
    return _value("nDCG", preds, target, top_k, indexes)


def retrieval_average_precision(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """Average precision over the relevant documents found; see `retrieval_normalized_dcg`, labels 0 and 1."""
    return _value("AP", preds, target, top_k or None, indexes)


def retrieval_reciprocal_rank(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """Reciprocal rank; see `retrieval_normalized_dcg`, labels 0 and 1."""
    return _value("RR", preds, target, top_k or None, indexes)


def retrieval_precision(
    preds: Any, target: Any, top_k: int | None = None, adaptive_k: bool = False, *, indexes: Any = None
) -> Any:  # fmt: skip
    """Precision, with `adaptive_k` over min(top_k, number of documents); see `retrieval_normalized_dcg`."""
    convention = ADAPTIVE if _checked_flag(adaptive_k) else CONVENTION
    return _value("P", preds, target, top_k, indexes, convention)


def retrieval_recall(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """Recall; see `retrieval_normalized_dcg`, labels 0 and 1."""
    return _value("R", preds, target, top_k, indexes)


def retrieval_hit_rate(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """Hit rate; see `retrieval_normalized_dcg`, labels 0 and 1."""
    return _value("Success", preds, target, top_k, indexes)


def retrieval_r_precision(preds: Any, target: Any, *, indexes: Any = None) -> Any:
    """R-precision; see `retrieval_normalized_dcg`, labels 0 and 1."""
    return _value("Rprec", preds, target, None, indexes)


def retrieval_fall_out(preds: Any, target: Any, top_k: int | None = None, *, indexes: Any = None) -> Any:
    """Share of the documents that are not relevant which are found; see `retrieval_normalized_dcg`."""
    return _evaluated(_metric("R", _checked_k(top_k)), preds, target, indexes, is_inverted=True)


def retrieval_auroc(
    preds: Any, target: Any, top_k: int | None = None, max_fpr: float | None = None, *, indexes: Any = None
) -> Any:  # fmt: skip
    """
    Area under the ROC curve, of the first `top_k` documents alone; see `retrieval_normalized_dcg`, labels 0 and 1.

    With `max_fpr` the area up to this false positive rate, as D. K. McClish standardises it. The `top_k` documents must
    be known: equal scores of different labels are refused where the first `top_k` documents end among them.
    """
    if max_fpr is not None and not (isinstance(max_fpr, float) and 0 < max_fpr <= 1):
        raise InvalidInputError(f"`max_fpr` has to be a float above 0 and at most 1, or None, not {max_fpr!r}")
    metric = Metric("AUC") if max_fpr is None else Metric("pAUC", max_fpr=max_fpr, scale="mcclish")
    k = _checked_k(top_k or None)
    if k is not None:
        first = _first(preds, target, indexes, k)
        preds, target = preds.reshape(-1)[first], target.reshape(-1)[first]
        indexes = None if indexes is None else indexes.reshape(-1)[first]
    return _evaluated(metric, preds, target, indexes)


def _first(preds: Any, target: Any, indexes: Any, k: int) -> Any:
    """Where the first k documents of each query are, queries in the order in which they first come."""
    labels, scores = _checked(_torch(), preds, target)
    _check_binary(labels)
    ids = np.zeros(len(labels), int) if indexes is None else _checked_indexes(indexes, preds)
    _, come_first, of_document = np.unique(ids, return_index=True, return_inverse=True)
    queries = come_first[of_document]
    order = np.lexsort((-scores, queries))  # NaN last
    ranked, by_rank = queries[order], scores[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    above = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
    last = np.flatnonzero(above == k) - 1
    for place in last[by_rank[last] == by_rank[last + 1]]:
        tied = labels[(queries == ranked[place]) & (scores == by_rank[place])]
        if tied.min() != tied.max():
            raise InvalidInputError(
                f"`preds` must not tie between relevant documents and others at rank top_k = {k}, but {len(tied)} "
                f"documents have the score {by_rank[place]!s}: leave out top_k, or take them apart"
            )
    return _torch().from_numpy(order[(above < k) | np.isnan(by_rank)]).to(preds.device)


def retrieval_precision_recall_curve(
    preds: Any, target: Any, max_k: int | None = None, adaptive_k: bool = False
) -> tuple[Any, Any, Any]:  # fmt: skip
    """
    Precision and recall at every cutoff from 1 to `max_k`, and the cutoffs.

    Parameters
    ----------
    preds, target
        See `retrieval_normalized_dcg`; labels 0 and 1.
    max_k : int, optional
        The last cutoff. By default the number of documents.
    adaptive_k : bool
        Whether cutoffs beyond the number of documents count as that number.

    Returns
    -------
    three (max_k,) tensors
    """
    torch = _torch()
    labels, scores = _checked(torch, preds, target)
    _check_binary(labels)
    is_adaptive, n_documents = _checked_flag(adaptive_k), len(labels)
    last = _checked_k(max_k, "max_k") or n_documents
    cutoffs = torch.arange(1, last + 1, device=preds.device)
    if is_adaptive:
        cutoffs = cutoffs.clamp(max=n_documents)
    asked = [Metric("num_rel_ret", k) for k in range(1, min(last, n_documents) + 1)]
    found = evaluate(labels[None], scores[None], asked, convention=CONVENTION).values[0]
    relevant = torch.from_numpy(np.pad(found, (0, last - len(found)), mode="edge").astype("f4")).to(preds.device)
    return relevant / cutoffs, relevant / max(int(labels.sum()), 1), cutoffs


def __getattr__(name: str) -> Any:
    if name.startswith("retrieval_"):
        raise AttributeError(f"the catalogue lacks {name.removeprefix('retrieval_')}: {name} is torchmetrics' alone")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


@functools.lru_cache(256)
def _metric(name: str, k: int | None) -> Metric:
    return Metric(name, k)


def _value(
    name: str, preds: Any, target: Any, top_k: int | None, indexes: Any, convention: Convention = CONVENTION
) -> Any:  # fmt: skip
    """A metric's value, or one for each query of `indexes`."""
    if indexes is not None:
        return _evaluated(_metric(name, _checked_k(top_k)), preds, target, indexes, convention=convention)
    which = "P of ranked" if convention is ADAPTIVE else name
    value = _of_tensors()(which, preds, target, top_k)
    if value is None:
        value = _of_arrays(which, *_checked(_torch(), preds, target), _checked_k(top_k))
        if value != value:  # the numbers are not as they should be: what follows says which
            return _evaluated(_metric(name, _checked_k(top_k)), preds, target, None, convention=convention)
        value = _torch().scalar_tensor(value, dtype=_torch().float32, device=preds.device)
    return value


@functools.cache
def _of_tensors() -> Callable[[str, Any, Any, Any], Any]:
    """
    What gives the value of tensors that are read where they are, and None for those that are not as most are.

    A function is called for each query here, so that every look at a tensor counts: an array of one takes as long as
    ten looks.
    """
    torch, kernels = _torch(), _kernels()
    tensor, float32, cpu, made = torch.Tensor, torch.float32, torch.device("cpu"), torch.scalar_tensor
    label_kinds = {torch.bool: 0, torch.int: 1, torch.long: 2, torch.float: 3}
    value_at, numbers, all_ranks = kernels.value_at, kernels.BY_NAME, kernels.ALL_RANKS

    def value_of(name: str, preds: Any, target: Any, top_k: Any) -> Any:
        if type(preds) is not tensor or type(target) is not tensor or preds.dtype is not float32:
            return None
        shape, kind = preds.shape, label_kinds.get(target.dtype)
        if kind is None or not shape or shape != target.shape or not (preds.is_cpu and target.is_cpu):
            return None
        if not (preds.is_contiguous() and target.is_contiguous()) or preds.is_neg() or target.is_neg():
            return None
        if top_k is None:
            top_k = all_ranks
        elif type(top_k) is not int or not 0 < top_k <= all_ranks:
            return None
        value = value_at(target.data_ptr(), kind, preds.data_ptr(), preds.numel(), numbers[name], top_k)
        return made(value, dtype=float32, device=cpu) if value == value else None

    return value_of


def _of_arrays(name: str, labels: Any, scores: Any, k: int | None) -> float:
    """The same of arrays, NaN for those that are not as they should be."""
    kernels = _kernels()
    kind = kernels.LABEL_KINDS.index(labels.dtype.str[1:])
    of_labels, of_scores = (values.__array_interface__["data"][0] for values in (labels, scores))
    k = kernels.ALL_RANKS if k is None else k
    found: float = kernels.value_at(of_labels, kind, of_scores, len(labels), kernels.BY_NAME[name], k)
    return found


def _evaluated(
    metric: Metric, preds: Any, target: Any, indexes: Any, *, convention: Convention = CONVENTION,
    is_inverted: bool = False,
) -> Any:  # fmt: skip
    """The value of what one kernel call does not take, or one for each query of `indexes`."""
    torch = _torch()
    labels, scores = _checked(torch, preds, target)
    if metric.name != "nDCG":
        _check_binary(labels)
    if is_inverted:
        labels = 1 - labels
    if indexes is None:
        value = evaluate(labels, scores, metric, offsets=(0, len(labels)), convention=convention).values[0, 0]
        return torch.tensor(value, dtype=torch.float32, device=preds.device)
    queries = _checked_indexes(indexes, preds)
    values = evaluate(labels, scores, metric, query_ids=queries, convention=convention).values[:, 0]
    return torch.from_numpy(values.astype("f4")).to(preds.device)


def _checked(torch: ModuleType, preds: Any, target: Any) -> tuple[Any, Any]:
    """Labels and scores of one dimension as arrays."""
    for name, values in (("preds", preds), ("target", target)):
        if not isinstance(values, torch.Tensor):
            raise InvalidTypeError(f"`{name}` must be a tensor, not {type(values).__name__}")
    if preds.shape != target.shape:
        raise InvalidInputError(
            f"`preds` and `target` must be of the same shape, not {tuple(preds.shape)} and {tuple(target.shape)}"
        )
    if not preds.numel() or not preds.ndim:
        raise InvalidInputError("`preds` and `target` must be non-empty and non-scalar tensors")
    kind = target.dtype
    if not kind.is_floating_point and kind not in (torch.long, torch.bool, torch.int):
        raise InvalidInputError(f"`target` must be a tensor of booleans, integers or floats, not {kind}")
    if not preds.dtype.is_floating_point:
        raise InvalidInputError(f"`preds` must be a tensor of floats, not {preds.dtype}")
    labels = _as_array(target.float() if kind.is_floating_point else target)
    return labels.view("u1") if kind == torch.bool else labels, _as_array(preds.float())


def _as_array(values: Any) -> Any:
    """A tensor as an array of one dimension."""
    array = values.detach().cpu().resolve_neg().numpy()
    return array if array.ndim == 1 and array.flags.c_contiguous else np.ascontiguousarray(array).reshape(-1)


def _check_binary(labels: Any) -> None:
    if labels.dtype != np.uint8 and not ((labels == 0) | (labels == 1)).all():
        raise InvalidInputError("`target` must contain `binary` values, 0 and 1 alone")


def _checked_indexes(indexes: Any, preds: Any) -> Any:
    torch = _torch()
    if not isinstance(indexes, torch.Tensor) or indexes.dtype not in (torch.long, torch.int):
        raise InvalidTypeError("`indexes` must be a tensor of long integers")
    if indexes.shape != preds.shape:
        raise InvalidInputError(
            f"`indexes` must be of the shape of `preds`, {tuple(preds.shape)}, not {tuple(indexes.shape)}"
        )
    return indexes.cpu().numpy().reshape(-1)


def _checked_k(top_k: Any, name: str = "top_k") -> int | None:
    if top_k is not None and not (isinstance(top_k, int) and top_k > 0):
        raise InvalidInputError(f"`{name}` has to be a positive integer or None, not {top_k!r}")
    return None if top_k is None else int(top_k)


def _checked_flag(adaptive_k: Any) -> bool:
    if not isinstance(adaptive_k, bool):
        raise InvalidInputError(f"`adaptive_k` has to be a boolean, not {adaptive_k!r}")
    return adaptive_k


def _torch() -> ModuleType:
    return sys.modules.get("torch") or optional_import("torch", "this drop-in", "torch")


@functools.cache
def _kernels() -> ModuleType:
    from fastndcg.kernels import retrieval  # brings numba

    return retrieval
