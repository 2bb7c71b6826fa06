"""
PyTorch: ranking metrics of batches as a `torchmetrics.Metric`, for training loops, `MetricCollection` and Lightning.

>>> import torch
>>> from fastndcg.integrations.torch import RankingMetrics
>>> ndcg = RankingMetrics("ndcg@10")
>>> for preds, target in [([[0.9, 0.1]], [[0, 1]]), ([[0.3, 0.2], [0.2, 0.7]], [[1, 0], [1, 0]])]:
...     ndcg.update(torch.tensor(preds), torch.tensor(target))
>>> ndcg.compute()
tensor(0.7540, dtype=torch.float64)
"""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastndcg.combinations import check_combinations, is_micro
from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import FastndcgError, InvalidInputError, optional_import
from fastndcg.evaluate import evaluate
from fastndcg.integrations.tensors import arrays_of, check_ids, check_tensor
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import Array
from fastndcg.sums import ExactSum, n_numbers, numbers_of
from fastndcg.threads import checked_threads

torch: Any = optional_import("torch", "RankingMetrics", "torch")
torchmetrics: Any = optional_import("torchmetrics", "RankingMetrics", "torch")


class RankingMetrics(torchmetrics.Metric):  # type: ignore[misc]
    """
    The means of ranking metrics over the queries of all batches, on all processes.

    Batches of whole queries are evaluated as they come, and of them exact sums are kept: a few hundred numbers a
    metric, which processes add up, so that the result is the same to the bit however the queries were spread. Where
    `indexes` say which query a document belongs to, its documents may come in several batches or processes, as in
    torchmetrics: all rows are kept until `compute`.

    Parameters
    ----------
    metrics : str, Metric, or iterable of them
        Such as "ndcg@10", whose value is a tensor; several in one text, or a list, make a dict of them.
    convention : str or Convention
        What numbers mean; "torchmetrics" gives the values of torchmetrics.
    threads : int, optional
        See `evaluate`.
    **options
        Those of `torchmetrics.Metric`.

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
        convention: str | Convention = "default",
        *,
        threads: int | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.metrics = parse_metrics(metrics)
        self.convention = parse_convention(convention)
        self.threads = None if threads is None else checked_threads(threads)
        self._is_one = len(self.metrics) == 1 and isinstance(metrics, str | Metric)
        check_metrics(self.metrics, self.convention)
        # torchmetrics lets metrics with the same states share their updates: states of others have other names
        asked = f"{self.metrics} {self.convention.choices()}"
        digest = hashlib.sha256(asked.encode()).hexdigest()[:16]
        self._sums, self._rows = f"sums_{digest}", f"rows_{digest}"
        self.add_state(self._sums, torch.zeros((len(self.metrics), n_numbers()), dtype=torch.int64), "sum")
        self.add_state(self._rows, [], "cat")

    def update(self, preds: Any, target: Any, indexes: Any = None, offsets: Any = None, mask: Any = None) -> None:
        """
        Take in a batch, whose queries are cut by exactly one of `indexes`, `offsets` and a second dimension.

        Parameters
        ----------
        preds : (n_documents,) or (n_queries, n_documents) tensor of any dtype, on any device
            Scores. Gradients are left alone.
        target : tensor of the same shape
            Labels, 0 for not relevant.
        indexes : int tensor of the same shape, optional
            Each document's query, by an id that is the same in all batches and processes.
        offsets : (n_queries + 1,) int tensor, optional
            Query q owns documents ``offsets[q]`` up to ``offsets[q + 1]``.
        mask : (n_queries, n_documents) bool tensor, optional
            Which entries are documents, where rows are padded.
        """
        check_batch(preds, target, indexes, offsets, mask)
        with self._named():
            if indexes is not None:
                if self.convention.nan_scores == "raise":
                    refuse_nan(preds, None)
                getattr(self, self._rows).append(rows_of(preds, target, indexes).to(self.device))
                return
            values = self._values_of(preds, target, offsets, mask)
        sums = getattr(self, self._sums)
        setattr(self, self._sums, sums + torch.from_numpy(sums_of(values)).to(sums.device))

    def compute(self) -> Any:
        """The mean of each metric over all queries that have a value, as float64; NaN where none has."""
        numbers, rows = arrays_of([getattr(self, self._sums), *self._all_rows()])
        if len(rows):
            queries, scores, labels = (np.ascontiguousarray(column) for column in rows.T)
            with self._named():
                values = self._evaluate(labels.view("f8"), scores.view("f8"), query_ids=queries)
            numbers = numbers + sums_of(values)
        dtype = torch.float32 if self.device.type == "mps" else torch.float64  # which that device lacks
        means = [torch.tensor(ExactSum.of_numbers(row).mean(), dtype=dtype, device=self.device) for row in numbers]
        return means[0] if self._is_one else dict(zip(map(str, self.metrics), means, strict=True))

    @property
    def higher_is_better(self) -> bool | None:
        """Whether a higher value is better, None where metrics differ in that."""
        kinds = {metric.record.higher_is_better for metric in self.metrics}
        return kinds.pop() if len(kinds) == 1 else None

    def plot(self, val: Any = None, ax: Any = None) -> Any:
        """Draw one value or several, as every metric of torchmetrics does."""
        return self._plot(val, ax)

    def extra_repr(self) -> str:
        """What is printed between the brackets."""
        return f"{', '.join(map(str, self.metrics))}; convention {self.convention.name}"

    def _sync_dist(self, *arguments: Any, **options: Any) -> None:
        """Gather what all processes have: rows as one tensor each, however many batches there were, or none."""
        setattr(self, self._rows, self._all_rows())
        super()._sync_dist(*arguments, **options)

    def _all_rows(self) -> list[Any]:
        """The rows of all batches, in one tensor."""
        rows = getattr(self, self._rows)  # a list, or after gathering a tensor
        if isinstance(rows, torch.Tensor):
            return [rows]
        return [torch.cat([torch.empty((0, 3), dtype=torch.int64, device=self.device), *rows])]

    def _values_of(self, preds: Any, target: Any, offsets: Any, mask: Any) -> Array:
        """The values of a batch of whole queries."""
        scores, labels, *cuts = arrays_of(tensor for tensor in (preds, target, offsets, mask) if tensor is not None)
        if mask is not None:
            scores, labels = scores[cuts[0]], labels[cuts[0]]
            cuts = [np.concatenate([[0], np.cumsum(np.count_nonzero(cuts[0], axis=1))])]
        try:
            return self._evaluate(labels, scores, offsets=cuts[0] if cuts else None)
        except InvalidInputError:
            if self.convention.nan_scores == "raise":
                refuse_nan(preds, mask)
            raise

    def _evaluate(self, labels: Array, scores: Array, **cut: Any) -> Array:
        return evaluate(labels, scores, self.metrics, convention=self.convention, threads=self.threads, **cut).values

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        """Let errors say which metrics they are of, and call tensors what they are called here."""
        try:
            yield
        except FastndcgError as error:
            text = re.sub(r"`(labels|scores)`|\b(labels|scores)(?=\[)", lambda found: THEIRS[found[0]], str(error))
            raise type(error)(f"{', '.join(map(str, self.metrics))}: {text}") from error


THEIRS = {"`labels`": "`target`", "`scores`": "`preds`", "labels": "target", "scores": "preds"}


def check_metrics(metrics: tuple[Metric, ...], convention: Convention) -> None:
    """Refuse metrics that have no definition under the convention, or whose sums do not tell what they come to."""
    check_combinations(metrics, convention)
    for metric in metrics:
        if metric.aggregate is not None or is_micro(metric, convention):
            raise InvalidInputError(
                f"{metric} is no mean over queries, which is what batches add up to: take {metric.bare}, under a "
                "convention with precision_mean='macro'"
            )


def check_batch(preds: Any, target: Any, indexes: Any, offsets: Any, mask: Any) -> None:
    """Refuse tensors of the wrong kind or shape, and queries that are cut in no way or in several."""
    for name, tensor in (("preds", preds), ("target", target)):
        check_tensor(tensor, name)
    for name, tensor in (("indexes", indexes), ("offsets", offsets)):
        if tensor is not None:
            check_ids(tensor, name)
    if mask is not None:
        check_tensor(mask, "mask")
        if mask.dtype != torch.bool or mask.ndim != 2:
            raise InvalidInputError(
                f"`mask` must be a bool tensor of two dimensions, but is of {mask.dtype} and shape {tuple(mask.shape)}"
            )
    for name, tensor in (("target", target), ("indexes", indexes), ("mask", mask)):
        if tensor is not None and tensor.shape != preds.shape:
            raise InvalidInputError(
                f"`{name}` must have the shape of `preds`, {tuple(preds.shape)}, but has {tuple(tensor.shape)}"
            )
    ways = [name for name, tensor in (("indexes", indexes), ("offsets", offsets), ("mask", mask)) if tensor is not None]
    if len(ways) > 1 or (not ways and preds.ndim != 2) or (offsets is not None and preds.ndim != 1):
        given = " and ".join(f"`{way}`" for way in ways) or "none of them"
        raise InvalidInputError(
            "queries must be cut by exactly one of `indexes`, `offsets` of one dimension, or a second dimension with "
            f"or without a `mask`, but there is {given}, and `preds` has the shape {tuple(preds.shape)}"
        )


def refuse_nan(preds: Any, mask: Any) -> None:
    """Raise for the first score that is NaN, if there is one."""
    missing = torch.isnan(preds.detach()) if mask is None else torch.isnan(preds.detach()) & mask
    if missing.any():
        place = ", ".join(map(str, torch.nonzero(missing)[0].tolist()))
        raise InvalidInputError(
            f"`preds` must not be NaN, but preds[{place}] of this batch is: the model diverged; lower its learning "
            "rate and look for NaN in what it is given, or take convention.replace(nan_scores='last')"
        )


def rows_of(preds: Any, target: Any, indexes: Any) -> Any:
    """One row a document, (n_documents, 3) int64: its query, and the bits of its score and its label as float64."""
    bits = [_as_float64(tensor, name).view(torch.int64) for tensor, name in ((preds, "preds"), (target, "target"))]
    return torch.stack([indexes.reshape(-1).to(bits[0].device).long(), *bits], dim=1)


def sums_of(values: Array) -> Array:
    """For each metric, the numbers that its exact sum consists of."""
    return np.stack([numbers_of(column) for column in values.T])


def _as_float64(tensor: Any, name: str) -> Any:
    given = tensor.detach().reshape(-1)
    given = given.cpu() if given.device.type == "mps" else given  # which lacks float64
    wide = given.double()
    if given.dtype in (torch.int64, torch.uint64) and bool((wide.to(given.dtype) != given).any()):
        raise InvalidInputError(f"`{name}` must fit float64 exactly where `indexes` are given; rescale it")
    return wide
