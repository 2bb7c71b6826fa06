"""Metrics that add up gains, and what they share: gains, ideal rankings, DCG and IDCG."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastndcg.engine.apply import check_finite, check_sums
from fastndcg.engine.chunk import Chunk, ChunkLabels, Discounts, make_discounts
from fastndcg.engine.compute.counts import ap_denominators, count_relevant
from fastndcg.engine.compute.memo import per_labels, per_ranking
from fastndcg.engine.scratch import BOOL, F8, I8, IdealHits
from fastndcg.engine.task import Cutoffs, Gain, Task
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import Value
from fastndcg.rankings.validation import Array

if TYPE_CHECKING:
    from fastndcg.kernels.metrics import gains as kernels
else:
    kernels = load_kernels("metrics.gains")


def ndcg(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute nDCG@k = DCG@k / IDCG@k."""
    labels = chunk.labels
    best = idcg_at(labels, m.gain, m.discount, m.cutoffs)[m.place]
    kernels.ndcg(dcg_at(chunk, m.gain, m.discount, m.cutoffs)[m.place], best, labels.highest_ndcg, out)


def dcg(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute DCG@k."""
    out[:] = dcg_at(chunk, m.gain, m.discount, m.cutoffs)[m.place]


def dcg_over_max_gain(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute DCG@k with gains divided by the query's highest gain, if that is above 1."""
    sums = dcg_at(chunk, m.gain, m.discount, m.cutoffs)[m.place]
    kernels.dcg_over_max_gain(sums, highest_gains(chunk.labels, m.gain), out)


def cg(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute CG@k: the sum of the gains of the first k ranks."""
    hits = chunk.hits
    kernels.cg(hits.queries, hits.above, hits.ties, hit_gains(chunk, m.gain), m.k, out)


def idcg(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute IDCG@k: DCG@k of the ideal ranking."""
    out[:] = idcg_at(chunk.labels, m.gain, m.discount, m.cutoffs)[m.place]


def ndcg_at_relevant(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute nDCG_rel: the mean of nDCG at the ranks of all documents with a gain."""
    hits = chunk.hits
    labels = chunk.labels
    discounts = find_discounts(labels, m.discount)
    sums, starts = idcg_by_rank(labels, m.gain, m.discount)
    n = n_gaining(labels, m.gain)
    kernels.ndcg_at_relevant(
        hits.queries, hits.above, hits.ties, weighed_gains(chunk, m.gain, discounts.highest), sums, starts, n,
        n_gaining_hits(chunk, m.gain) if labels.is_pooled else n, discounts.values, labels.highest_ndcg,
        chunk.take(len(out)), out,
    )  # fmt: skip


def ndcg_at_levels(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute Rndcg: the mean of nDCG at the ranks that end a level of the ideal ranking."""
    hits = chunk.hits
    labels = chunk.labels
    discounts = find_discounts(labels, m.discount)
    kernels.ndcg_at_levels(
        hits.queries, hits.above, hits.ties, weighed_gains(chunk, m.gain, discounts.highest), hits.offsets,
        weighed_ideal_gains(labels, m.gain, discounts.highest), find_ideal(labels, m.gain).offsets,
        n_gaining(labels, m.gain), labels.sizes, discounts.values, discounts.sums, discounts.rests,
        labels.highest_ndcg, out,
    )  # fmt: skip


def normalised_gain(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute G: each gain discounted by the ideal gains, less the gains, down to its rank, over the sum of all."""
    hits = chunk.hits
    labels = chunk.labels
    kernels.normalised_gain(
        hits.above, hit_gains(chunk, m.gain), hits.offsets, ideal_gains(labels, m.gain),
        find_ideal(labels, m.gain).offsets, find_discounts(labels, "log2").values, out,
    )  # fmt: skip


def binary_gain(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute binG: the mean over relevant documents of the discount of the others above them."""
    hits = chunk.hits
    values, sums, rests, _ = find_discounts(chunk.labels, "log2")
    n = count_relevant(chunk.labels, m.rel)
    kernels.binary_gain(hits.queries, hits.above, hits.ties, hits.labels, m.rel, n, values, sums, rests, out)


def q_measure(chunk: Chunk, m: Task, out: Array) -> None:
    """Compute Q@k: the mean of the blended ratios at the ranks of relevant documents."""
    hits = chunk.hits
    labels = chunk.labels
    kernels.q_measure(
        hits.queries, hits.above, hits.ties, hits.labels, hit_gains(chunk, m.gain), ideal_gains(labels, m.gain),
        find_ideal(labels, m.gain).offsets, m.rel, m.numbers["beta"], ap_denominators(labels, m.rel, m.k, m.cutoff),
        m.k, out,
    )  # fmt: skip


def find_discounts(labels: ChunkLabels, discount: Value | None) -> Discounts:
    """Return the discounts of a metric for as many ranks as the convention's, which are those of None."""
    return labels.discounts if discount is None else make_discounts(discount, len(labels.discounts.values) - 1)


@per_ranking
def dcg_at(chunk: Chunk, gain: Gain, discount: Value | None, cutoffs: Cutoffs) -> list[Array]:
    """Compute DCG at each cutoff."""
    hits = chunk.hits
    labels = chunk.labels
    values, sums, rests, highest = labels.discounts if discount is None else find_discounts(labels, discount)
    gains = hit_gains(chunk, gain) if highest <= 1.0 else weighed_gains(chunk, gain, highest)
    n_cutoffs = len(cutoffs.ks)
    out = chunk.take(labels.n_queries * n_cutoffs)
    own = (hits.queries, hits.above, hits.ties, gains)
    if chunk.has_average_ties and merges_labels(labels, gain):
        kernels.add_equal_gains(*own, values, sums, rests, cutoffs.array, out)
    else:
        kernels.add_gains(*own, hits.offsets, values, sums, rests, cutoffs.array, out)
    return [out] if n_cutoffs == 1 else list(out.reshape(n_cutoffs, -1))


def merges_labels(labels: ChunkLabels, gain: Gain) -> bool:
    """Return True if different labels may have the same gain other than 0."""
    if isinstance(gain.formula, tuple):
        return len(set(gain.formula)) < len(gain.formula)
    return gain.formula == "binary" or labels.truncates_labels


def hit_gains(chunk: Chunk, gain: Gain) -> Array:
    """Return the gains of the hits."""
    if gain.are_labels and not chunk.labels.truncates_labels:
        return chunk.hits.labels
    return computed_hit_gains(chunk, gain)


@per_ranking
def computed_hit_gains(chunk: Chunk, gain: Gain) -> Array:
    """Compute the gains of the hits from their labels."""
    hits = chunk.hits
    out = chunk.take(len(chunk.labels.candidates.labels))[: len(hits.labels)]  # as large for all rankings
    return fill_checked_gains(chunk.labels, gain, hits.labels, hits.offsets, out)


def weighed_gains(chunk: Chunk, gain: Gain, highest_discount: float) -> Array:
    """Return the gains of the hits. Raise an error if discounts lift their sums beyond float64."""
    gains = hit_gains(chunk, gain)
    if highest_discount > 1.0:
        labels = chunk.labels
        check_sums(gains, chunk.hits.offsets, gain.metric, labels.truth, labels.first, highest_discount)
    return gains


def weighed_ideal_gains(labels: ChunkLabels, gain: Gain, highest_discount: float) -> Array:
    """Return the gains of the ideal ranking. Raise an error if discounts lift their sums beyond float64."""
    gains = ideal_gains(labels, gain)
    if highest_discount > 1.0:
        offsets = find_ideal(labels, gain).offsets
        check_sums(gains, offsets, gain.metric, labels.truth, labels.first, highest_discount)
    return gains


@per_labels
def rank_ideal(labels: ChunkLabels) -> IdealHits:
    """Rank the judged documents by falling label."""
    return labels.rank(labels.pool_candidates.labels)


@per_labels
def rank_varied_ideal(labels: ChunkLabels) -> IdealHits:
    """Rank the judged documents of the queries in which not all labels are 1."""
    return labels.rank(labels.pool_candidates.labels, skip_all_ones=True)


@per_labels
def rank_ideal_by_gain(labels: ChunkLabels, gain: Gain) -> IdealHits:
    """Rank the judged documents by falling gain, with gains in place of labels."""
    pool = labels.pool_candidates
    return labels.rank(fill_checked_gains(labels, gain, pool.labels, pool.offsets, labels.take(len(pool.labels), F8)))


def find_ideal(labels: ChunkLabels, gain: Gain) -> IdealHits:
    """
    Return the ideal ranking for a gain.

    It is sorted by label, or by gain where a higher label may gain less. Then its labels are gains.
    """
    return rank_ideal_by_gain(labels, gain) if gain.falls else rank_ideal(labels)


def ideal_gains(labels: ChunkLabels, gain: Gain) -> Array:
    """Return the gains of the ideal ranking."""
    if gain.falls or (gain.are_labels and not labels.truncates_labels):
        return find_ideal(labels, gain).labels
    return computed_ideal_gains(labels, gain)


@per_labels
def computed_ideal_gains(labels: ChunkLabels, gain: Gain) -> Array:
    """Compute the gains of the ideal ranking from its labels."""
    ideal = rank_ideal(labels)
    return fill_checked_gains(labels, gain, ideal.labels, ideal.offsets, labels.take(len(ideal.labels), F8))


def fill_checked_gains(labels: ChunkLabels, gain: Gain, of: Array, offsets: Array, out: Array) -> Array:
    """
    Fill in the gains of the labels `of` and return them.

    Raise an error if gains of a query may add up beyond float64.
    """
    if gain.formula == "binary":
        kernels.binary_gains(of, gain.rel, out)
    elif labels.truncates_labels:
        fill_gains(gain.formula, np.trunc(of, out=out), -np.inf, out)
        np.copyto(out, 0.0, where=np.less(of, gain.rel, out=labels.take(len(of), BOOL)))
    else:
        fill_gains(gain.formula, of, gain.rel, out)
    check_sums(out, offsets, gain.metric, labels.truth, labels.first)
    return out


def fill_gains(formula: Value, labels: Array, rel: float, out: Array) -> None:
    """Fill in the gains of labels, 0 for those below `rel`."""
    if formula == "linear":
        kernels.linear_gains(labels, rel, out)
    elif formula == "exp2":
        kernels.exp2_gains(labels, rel, out)
    else:
        kernels.table_gains(labels, np.array(formula), rel, out)


@per_labels
def highest_gains(labels: ChunkLabels, gain: Gain) -> Array:
    """Compute the highest gain of each query's judged documents, 0 where none gains."""
    out = labels.take(labels.n_queries, F8)
    kernels.find_highest_gains(ideal_gains(labels, gain), find_ideal(labels, gain).offsets, out)
    return out


@per_labels
def idcg_at(labels: ChunkLabels, gain: Gain, discount: Value | None, cutoffs: Cutoffs) -> list[Array]:
    """
    Compute IDCG at each cutoff.

    A convention may replace the ideal ranking. Next, all labels may be 1: no ranking is needed. Next, some queries may
    have labels of 1 alone, which need no ranking either. The order of these cases is that of their speed.
    """
    values, sums, _, highest = labels.discounts if discount is None else find_discounts(labels, discount)
    label_offsets = labels.pool_candidates.offsets
    n_cutoffs = len(cutoffs.ks)
    out = labels.take(labels.n_queries * n_cutoffs, F8)
    rows = [out] if n_cutoffs == 1 else list(out.reshape(n_cutoffs, -1))
    if highest > 1.0:
        weighed_ideal_gains(labels, gain, highest)
    if labels.convention.ideal == "k best":
        for k, row in zip(cutoffs.ks, rows, strict=True):
            with np.errstate(over="ignore"):
                np.multiply(highest_gains(labels, gain), sums[min(k, len(sums) - 1)], out=row)
            check_finite(row, gain.metric, labels.truth, labels.first)
    elif labels.convention.ideal == "min(k, n_retrieved)":
        ideal = find_ideal(labels, gain)
        gains = ideal_gains(labels, gain)
        kernels.idcg_of_retrieved(ideal.above, gains, ideal.offsets, labels.sizes, values, cutoffs.array, out)
    elif labels.are_all_ones and gain.has_unit:
        kernels.idcg_with_unit_gains(label_offsets, sums, cutoffs.array, out)
    elif labels.lowest_label > 0 and gain.has_unit:
        ideal = rank_varied_ideal(labels)
        gains = ideal.labels
        if not gain.are_labels or labels.truncates_labels:
            gains = labels.take(len(ideal.labels), F8)
            fill_checked_gains(labels, gain, ideal.labels, ideal.offsets, gains)
        kernels.add_ideal_gains(ideal.above, gains, ideal.offsets, label_offsets, values, sums, cutoffs.array, out)
    else:
        ideal = find_ideal(labels, gain)
        gains = ideal_gains(labels, gain)
        kernels.add_ideal_gains(ideal.above, gains, ideal.offsets, ideal.offsets, values, sums, cutoffs.array, out)
    return rows


@per_labels
def n_gaining(labels: ChunkLabels, gain: Gain) -> Array:
    """Count the documents of each query with a gain above 0, retrieved or not."""
    out = labels.take(labels.n_queries, F8)
    kernels.count_gaining(ideal_gains(labels, gain), find_ideal(labels, gain).offsets, out)
    return out


def n_gaining_hits(chunk: Chunk, gain: Gain) -> Array:
    """Count the hits of each query with a gain above 0."""
    counts = np.bincount(chunk.hits.queries, hit_gains(chunk, gain) > 0.0, chunk.labels.n_queries)
    return counts.astype("f8", copy=False)  # without hits, NumPy returns integers


@per_labels
def idcg_by_rank(labels: ChunkLabels, gain: Gain, discount: Value | None) -> tuple[Array, Array]:
    """Compute IDCG at each rank of each query, beginning with 0 at rank 0, and the place of each query's rank 0."""
    discounts = find_discounts(labels, discount)
    gains = weighed_ideal_gains(labels, gain, discounts.highest)
    offsets = find_ideal(labels, gain).offsets
    sums = labels.take(len(gains) + labels.n_queries, F8)
    starts = labels.take(labels.n_queries, I8)
    kernels.sum_ideal_gains(gains, offsets, discounts.values, sums)
    np.add(offsets[:-1], np.arange(labels.n_queries), out=starts)
    return sums, starts
