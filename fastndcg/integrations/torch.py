"""
Adapter to PyTorch: ranking metrics as a `torchmetrics.Metric`, for training loops, `MetricCollection` and Lightning.

>>> import torch
>>> from fastndcg.integrations.torch import RankingMetrics
>>> ndcg = RankingMetrics("ndcg@10")
>>> for preds, target in [([[0.9, 0.1]], [[0, 1]]), ([[0.3, 0.2], [0.2, 0.7]], [[1, 0], [1, 0]])]:
...     ndcg.update(torch.tensor(preds), torch.tensor(target))
>>> ndcg.compute()
tensor(0.7540, dtype=torch.float64)
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import Argument, Choice, InvalidInputError, reworded
from fastndcg.evaluation import evaluate
from fastndcg.integrations.torch_tensors import check_ids, check_tensor, to_arrays
from fastndcg.metrics.metric import Metric, Metrics, parse_metrics
from fastndcg.metrics.resolve import check_combinations, is_micro
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array, count_before
from fastndcg.results.aggregates import PartialSums, add_up_columns, count_limbs
from fastndcg.runtime.imports import optional_import
from fastndcg.runtime.threads import check_threads

torch: Any = optional_import("torch", "RankingMetrics", "torch")
torchmetrics: Any = optional_import("torchmetrics", "RankingMetrics", "torch")


class RankingMetrics(torchmetrics.Metric):  # type: ignore[misc]
    """
    The means of ranking metrics over the queries of all batches and processes.

    Batches of whole queries are evaluated in `update`, and only exact sums are stored: a few hundred numbers for each
    metric. Processes add these sums, so the result is bit-identical for any distribution of the queries.

    With `indexes`, the documents of a query may come in several batches or processes, as in torchmetrics. All rows are
    then stored until `compute`.

    In a `MetricCollection`, an object with a single metric has the key of its entry. An object with several metrics has
    their names as keys, such as 'nDCG@10' and 'AP'. torchmetrics adds the entry's key only if names repeat. Give each
    metric its own entry to choose its key.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Such as "ndcg@10", whose value is a tensor. Several metrics, in one text or in a list, have a dict of tensors.
    convention, threads
        See `evaluate`. The convention "torchmetrics" gives the values of torchmetrics.
    **options
        Options of `torchmetrics.Metric`.

    Raises
    ------
    InvalidInputError
        If a metric is unknown, is no mean over queries, or has no definition under the convention.

    Examples
    --------
    >>> metrics = RankingMetrics("ndcg@10, rr", convention="default(undefined=0)")
    >>> metrics.update(torch.tensor([0.4, 0.9, 0.7]), torch.tensor([1, 0, 0]), indexes=torch.tensor([5, 5, 8]))
    >>> metrics.compute()
    {'nDCG@10': tensor(0.3155, dtype=torch.float64), 'RR': tensor(0.2500, dtype=torch.float64)}
    """

    is_differentiable = False
    full_state_update = False

    def __init__(
        self,
        metrics: Metrics,
        convention: ConventionName | str | Convention = "default",
        *,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.metrics = parse_metrics(metrics)
        self.convention = parse_convention(convention)
        self.threads = None if threads is None else check_threads(threads)
        self._is_single = len(self.metrics) == 1 and isinstance(metrics, str | Metric)
        check_metrics(self.metrics, self.convention)
        # a MetricCollection updates metrics with equal states only once, so different metrics need different names
        definition = f"{self.metrics} {self.convention.choices()}"
        digest = hashlib.sha256(definition.encode()).hexdigest()[:16]
        self._sums = f"sums_{digest}"
        self._rows = f"rows_{digest}"
        self.add_state(self._sums, torch.zeros((len(self.metrics), count_limbs()), dtype=torch.int64), "sum")
        self.add_state(self._rows, [], "cat")

    def update(self, preds: Any, target: Any, indexes: Any = None, offsets: Any = None, mask: Any = None) -> None:
        """
        Add a batch. Exactly one of `indexes`, `offsets` and a second dimension separates its queries.

        Parameters
        ----------
        preds : (n_documents,) or (n_queries, n_documents) tensor of any dtype, on any device
            Scores, higher is better. Gradients are not changed.
        target : tensor of the same shape
            Labels, 0 for not relevant.
        indexes : int tensor of the same shape, optional
            The id of each document's query, the same in all batches and processes.
        offsets : (n_queries + 1,) int tensor, optional
            Query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``.
        mask : (n_queries, n_documents) bool tensor, optional
            True for documents, False for the padding of rows.

        Raises
        ------
        InvalidInputError
            If shapes disagree, queries are not separated in exactly one way, or a score is NaN.
        InvalidTypeError
            If an argument is no tensor, or is of the wrong type.
        """
        check_batch(preds, target, indexes, offsets, mask)
        with reworded(_name_tensors, self._prefix):
            if indexes is not None:
                if self.convention.nan_scores == "raise":
                    check_nan(preds, None)
                getattr(self, self._rows).append(pack_rows(preds, target, indexes).to(self.device))
                return
            values = self._evaluate_batch(preds, target, offsets, mask)
        sums = getattr(self, self._sums)
        setattr(self, self._sums, sums + torch.from_numpy(add_up_columns(values)).to(sums.device))

    def compute(self) -> Any:
        """
        Return the mean of each metric over all queries so far.

        Returns
        -------
        float64 tensor, or dict of them
            The mean over the queries for which the metric is defined, NaN without any. Several metrics have a dict. The
            tensor is float32 on devices without float64.
        """
        numbers, rows = to_arrays([getattr(self, self._sums), *self._all_rows()])
        if len(rows):
            queries, scores, labels = (np.ascontiguousarray(column) for column in rows.T)
            with reworded(_name_tensors, self._prefix):
                values = self._evaluate(labels.view("f8"), scores.view("f8"), query_ids=queries)
            numbers = numbers + add_up_columns(values)
        dtype = torch.float32 if self.device.type == "mps" else torch.float64  # mps lacks float64
        partial = PartialSums.from_numbers(self.metrics, self.convention, numbers)
        means = [torch.tensor(mean, dtype=dtype, device=self.device) for mean in partial.means()]
        return means[0] if self._is_single else dict(zip(map(str, self.metrics), means, strict=True))

    @property
    def higher_is_better(self) -> bool | None:
        """True if higher is better, False if lower is better, None if neither is or the metrics differ."""
        signs = {metric.sign for metric in self.metrics}
        return signs == {1} if signs in ({1}, {-1}) else None

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw one value or several. See `torchmetrics.Metric.plot`."""
        return self._plot(val, ax)

    def extra_repr(self) -> str:
        """Return the text between the brackets of `repr`."""
        return f"{', '.join(map(str, self.metrics))}; convention {self.convention.name}"

    def _sync_dist(self, *arguments: Any, **options: Any) -> None:
        """Gather the states of all processes. Each process has its rows in one tensor, which may be empty."""
        setattr(self, self._rows, self._all_rows())
        super()._sync_dist(*arguments, **options)

    def _all_rows(self) -> list[Any]:
        """Return the rows of all batches in one tensor."""
        rows = getattr(self, self._rows)  # a list of tensors, or one tensor after gathering
        if isinstance(rows, torch.Tensor):
            return [rows]
        return [torch.cat([torch.empty((0, 3), dtype=torch.int64, device=self.device), *rows])]

    def _evaluate_batch(self, preds: Any, target: Any, offsets: Any, mask: Any) -> Array:
        """Return the values of a batch of whole queries."""
        tensors = [tensor for tensor in (preds, target, offsets, mask) if tensor is not None]
        scores, labels, *separators = to_arrays(tensors)
        query_offsets = separators[0] if separators else None
        if mask is not None:
            is_document = separators[0]
            scores = scores[is_document]
            labels = labels[is_document]
            query_offsets = count_before(np.count_nonzero(is_document, axis=1))
        try:
            return self._evaluate(labels, scores, offsets=query_offsets)
        except InvalidInputError:
            if self.convention.nan_scores == "raise":
                check_nan(preds, mask)
            raise

    def _evaluate(self, labels: Array, scores: Array, **queries: Any) -> Array:
        options: dict[str, Any] = {"convention": self.convention, "threads": self.threads}
        return evaluate(labels, scores, self.metrics, **options, **queries).values

    @property
    def _prefix(self) -> str:
        """The metrics, with which errors begin."""
        return f"{', '.join(map(str, self.metrics))}: "


def _name_tensors(part: Any) -> Any:
    """Return a part of a message, with the name of a tensor in place of that of an argument of `fn.evaluate`."""
    names = {"labels": "target", "scores": "preds"}
    return names.get(part.name, part) if isinstance(part, Argument) else part


def check_metrics(metrics: tuple[Metric, ...], convention: Convention) -> None:
    """Raise an error for a metric without a definition under the convention, or one that is no mean over queries."""
    check_combinations(metrics, convention)
    for metric in metrics:
        remedy = ""
        if metric.aggregate is not None:
            remedy = f"Use {metric.bare}."
        elif is_micro(metric, convention):
            remedy = "Use a convention with precision_mean='macro'."
        if remedy:
            raise InvalidInputError(f"{metric} must be a mean over queries, because batches add up to a mean. {remedy}")


def check_batch(preds: Any, target: Any, indexes: Any, offsets: Any, mask: Any) -> None:
    """Raise an error for tensors of the wrong type or shape, or queries not separated in exactly one way."""
    for name, tensor in (("preds", preds), ("target", target)):
        check_tensor(tensor, name)
    for name, tensor in (("indexes", indexes), ("offsets", offsets)):
        if tensor is not None:
            check_ids(tensor, name)
    if mask is not None:
        check_tensor(mask, "mask")
        if mask.dtype != torch.bool or mask.ndim != 2:
            raise InvalidInputError(
                f"`mask` must be a bool tensor of two dimensions, but is of {mask.dtype} and shape "
                f"{tuple(mask.shape)}. Pass one row for each query."
            )
    for name, tensor in (("target", target), ("indexes", indexes), ("mask", mask)):
        if tensor is not None and tensor.shape != preds.shape:
            raise InvalidInputError(
                f"`{name}` must have the shape of `preds`, {tuple(preds.shape)}, but has {tuple(tensor.shape)}. "
                "Pass one value for each document."
            )
    separators = {"indexes": indexes, "offsets": offsets, "mask": mask}
    names = [name for name, tensor in separators.items() if tensor is not None]
    if len(names) > 1 or (not names and preds.ndim != 2) or (offsets is not None and preds.ndim != 1):
        actual = " and ".join(f"`{name}`" for name in names) or "no separator"
        raise InvalidInputError(
            "queries must be separated by exactly one of `indexes`, `offsets` (for tensors of one dimension) and a "
            f"second dimension (with or without `mask`), but there is {actual}, and `preds` has the shape "
            f"{tuple(preds.shape)}. Pass one of them."
        )


def check_nan(preds: Any, mask: Any) -> None:
    """Raise an error for the first score that is NaN."""
    missing = torch.isnan(preds.detach()) if mask is None else torch.isnan(preds.detach()) & mask
    if missing.any():
        place = ", ".join(map(str, torch.nonzero(missing)[0].tolist()))
        raise InvalidInputError(
            f"`preds` must not be NaN, but preds[{place}] of this batch is: the model diverged. Lower its learning "
            "rate, look for NaN in its inputs, or take ",
            Choice("nan_scores", ["last"]),
            ".",
        )


def pack_rows(preds: Any, target: Any, indexes: Any) -> Any:
    """Return (n_documents, 3) int64: the query of each document, and the bits of its score and label as float64."""
    scores = _as_float64(preds, "preds").view(torch.int64)
    labels = _as_float64(target, "target").view(torch.int64)
    return torch.stack([indexes.reshape(-1).to(scores.device).long(), scores, labels], dim=1)


def _as_float64(tensor: Any, name: str) -> Any:
    """Return a tensor as float64 with one dimension, or raise an error if that changes an integer."""
    flat = tensor.detach().reshape(-1)
    flat = flat.cpu() if flat.device.type == "mps" else flat  # mps lacks float64
    wide = flat.double()
    if flat.dtype in (torch.int64, torch.uint64) and bool((wide.to(flat.dtype) != flat).any()):
        raise InvalidInputError(
            f"`{name}` must fit float64 exactly if `indexes` are used, but has integers above 2**53. Rescale it."
        )
    return wide
