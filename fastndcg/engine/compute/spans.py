"""Metrics of text spans."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array, read_only

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import spans as kernels
else:
    kernels = load_kernels("metrics.spans")


class SpanChunk:
    """
    Retrieved chunks and gold spans of some queries, and what the chunks cover.

    `chunks` and `gold` are what kernels/metrics/spans.py describes, with offsets from 0, which names the other
    attributes, too. `depth` is the largest number of chunks that count.
    """

    def __init__(
        self, chunks: tuple[Array, Array, Array], gold: tuple[Array, Array, Array, Array], depth: int, discounts: Array
    ) -> None:
        self._arguments = chunks, gold, depth
        self.discounts = discounts
        self.offsets = chunks[2]
        self.gold_offsets = gold[3]
        new_chars, new_gold, new_weight = np.zeros((3, len(chunks[0])))
        kernels.cover_spans(*self._arguments, new_chars, new_gold, new_weight)
        self.new_gold = read_only(new_gold)
        self.new_weight = read_only(new_weight)
        self._new_chars = read_only(new_chars)
        starts, ends, weights, offsets = gold
        lengths = ends - starts
        owners = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        self.gold_chars = read_only(np.bincount(owners, lengths, minlength=len(offsets) - 1))
        weights = lengths * weights
        self.gold_weight = read_only(weights[np.lexsort((-weights, owners))])

    @functools.cached_property
    def greedy_weight(self) -> Array:
        """The weight that each chunk of a greedy order adds."""
        out = np.zeros(len(self.new_gold))
        kernels.rank_greedily(*self._arguments, out)
        return read_only(out)

    def count_chars(self, metric: Metric) -> Array:
        """Return the characters of each chunk that count for precision."""
        if metric.get("overlap") == "union":
            return self._new_chars
        starts, ends, _ = self._arguments[0]
        return read_only((ends - starts).astype("f8"))


def span_recall(chunk: SpanChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the share of the gold text that the first k chunks cover."""
    kernels.span_recall(chunk.new_gold, chunk.offsets, chunk.gold_chars, k, out)


def span_precision(chunk: SpanChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the share of the first k chunks that is gold text."""
    kernels.span_precision(chunk.new_gold, chunk.count_chars(metric), chunk.offsets, chunk.gold_chars, k, out)


def span_iou(chunk: SpanChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute the intersection of the gold text and the first k chunks over their union."""
    kernels.span_iou(chunk.new_gold, chunk.count_chars(metric), chunk.offsets, chunk.gold_chars, k, out)


def span_ndcg(chunk: SpanChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute nDCG@k of the weight of the gold text that each chunk adds."""
    is_greedy = metric.get("ideal") == "chunks"
    kernels.span_ndcg(
        chunk.new_weight, chunk.offsets, chunk.greedy_weight if is_greedy else chunk.gold_weight,
        chunk.offsets if is_greedy else chunk.gold_offsets, chunk.discounts, chunk.gold_chars, k, out,
    )  # fmt: skip
