"""Metrics of two rankings of the same documents."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.scratch import I4, I8, Scratch
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.rankings.validation import Array, read_only

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import agreement as kernels
else:
    kernels = load_kernels("metrics.agreement")


class PairedChunk:
    """
    Two rankings of some queries.

    kernels/metrics/agreement.py describes the arrays. Those that few kernels take are computed on first use.
    """

    def __init__(
        self, scores: tuple[Array, Array], offsets: tuple[Array, Array], partners: Array | None, scratch: Scratch
    ) -> None:
        self._first_scores = read_only(scores[0])
        self._second_scores = read_only(scores[1])
        self._partners = partners
        self._scratch = scratch
        self._take = scratch.take
        self.first_offsets = read_only(offsets[0])
        self.second_offsets = read_only(offsets[1])
        first = self._rank(self._first_scores, self.first_offsets)
        second = self._rank(self._second_scores, self.second_offsets)
        self.first_order, self.first_above, self.first_ties, first_tied = first
        self.second_order, self.second_above, self.second_ties, second_tied = second
        self.n_tied = int(np.count_nonzero(first_tied | second_tied))
        self.first_other, self.second_other = self._find_other_ranks()

    @property
    def offsets(self) -> Array:
        """The offsets of both rankings, where they have the same documents."""
        return self.second_offsets

    @functools.cached_property
    def common(self) -> PairedChunk:
        """The documents that both rankings have."""
        if self._partners is None:
            return self
        n_common = int(np.count_nonzero(self._partners >= 0))
        first_scores = np.empty(n_common, self._first_scores.dtype)
        second_scores = np.empty(n_common, self._second_scores.dtype)
        offsets = np.empty(len(self.second_offsets), I8)
        kernels.gather_common(
            self._first_scores, self.first_offsets, self._second_scores, self.second_offsets, self._partners,
            first_scores, second_scores, offsets,
        )  # fmt: skip
        return PairedChunk((first_scores, second_scores), (offsets, offsets), None, self._scratch.view("common"))

    @functools.cached_property
    def concordance(self) -> tuple[Array, Array]:
        """For each document of the second ranking, the documents above it that are above or level in the first, too."""
        return self._count_concordant(self.second_order, self.second_ties, self.second_other)

    @functools.cached_property
    def first_concordance(self) -> tuple[Array, Array]:
        """The counts of `concordance` with the rankings exchanged."""
        return self._count_concordant(self.first_order, self.first_ties, self.first_other)

    def _rank(self, scores: Array, offsets: Array) -> tuple[Array, Array, Array, Array]:
        order, above, ties = (self._take(len(scores), I4) for _ in range(3))
        is_tied = np.empty(len(offsets) - 1, bool)
        kernels.rank_all(scores, offsets, order, above, ties, is_tied)
        return order, above, ties, is_tied

    def _find_other_ranks(self) -> tuple[Array, Array]:
        if self._partners is None:
            return self.second_above, self.first_above
        first = self._take(len(self._first_scores), I4)
        second = self._take(len(self._second_scores), I4)
        kernels.ranks_in_other(
            self._partners, self.first_above, self.first_offsets, self.second_above, self.second_offsets, first, second
        )
        return first, second

    def _count_concordant(self, order: Array, ties: Array, other: Array) -> tuple[Array, Array]:
        concordant = self._take(len(order), I4)
        tied_in_other = self._take(len(order), I4)
        kernels.count_concordant(order, ties, other, self.offsets, concordant, tied_in_other)
        return concordant, tied_in_other


def tau_b(chunk: PairedChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute Kendall's tau_b."""
    pair = chunk.common
    kernels.tau_b(pair.first_ties, pair.second_above, pair.second_ties, *pair.concordance, pair.offsets, out)


def spearman(chunk: PairedChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute Spearman's rho."""
    pair = chunk.common
    kernels.spearman(pair.first_above, pair.first_ties, pair.second_above, pair.second_ties, pair.offsets, out)


def tau_ap(chunk: PairedChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute AP correlation."""
    pair = chunk.common
    kernels.tau_ap(pair.second_order, pair.second_ties, *pair.concordance, pair.offsets, out)


def tau_ap_b(chunk: PairedChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute tau_AP,b: the mean of AP correlation in both directions."""
    pair = chunk.common
    kernels.tau_ap_b(
        pair.first_order, pair.first_ties, pair.first_concordance[0], pair.second_order, pair.second_ties,
        pair.concordance[0], pair.offsets, out,
    )  # fmt: skip


def rbo(chunk: PairedChunk, metric: Metric, k: int, out: Array) -> None:
    """Compute rank-biased overlap, of documents that either ranking has."""
    kernels.rbo(
        chunk.first_order, chunk.first_ties, chunk.first_other, chunk.first_offsets, chunk.second_order,
        chunk.second_ties, chunk.second_other, chunk.second_offsets, float(metric.get("p")),
        float(metric.get("form") == "min"), k, out,
    )  # fmt: skip
