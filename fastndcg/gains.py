"""Arguments of kernels that add up gains: where each comes from."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from fastndcg.checks import check_sums, check_unit_gains
from fastndcg.chunk import Chunk, Truth
from fastndcg.kernels import gain, relative
from fastndcg.memory import BOOL, F8, I8
from fastndcg.rankings import Array
from fastndcg.steps import Source, Step, discounts_for, once
from fastndcg.texts import Value


def hit_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the hits."""
    if step.gains_are_labels and not chunk.job.cuts_fractions:  # as most often: a small query feels a call
        return chunk.hits.labels
    return gains_of(chunk, step, "hits", chunk.hits.labels, chunk.hits.offsets)


def hit_unit_gains(chunk: Chunk, step: Step) -> Array:
    """The same for metrics that take none below 0 or above 1."""
    labels = chunk.truth.candidates.labels
    if step.gain != "binary" and len(labels):
        extremes = np.array([labels.min(), labels.max()])
        gains = np.empty(2)
        cuts = chunk.job.convention.label_fractions == "cut off"
        fill_gains(step.gain, np.trunc(extremes) if cuts else extremes, -np.inf if cuts else step.rel, gains)
        check_unit_gains(extremes, gains, step.metric, chunk.job.rankings)
    return hit_gains(chunk, step)


def ideal_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the best order."""
    ideal = chunk.truth.ideal(chunk.job)
    return gains_of(chunk, step, "ideal", ideal.labels, ideal.offsets)


def gains_of(chunk: Chunk, step: Step, name: str, labels: Array, offsets: Array) -> Array:
    """The gains of the labels of hits or of a best order, worked out once for all metrics that take the same."""
    cuts = chunk.job.cuts_fractions
    if step.gains_are_labels and not cuts:
        return labels
    discounts = chunk.job.discounts if isinstance(step.discount, float) else discounts_for(chunk, step)
    discount = discounts.highest
    if chunk.job.convention.ideal == "k best" and step.k < len(discounts.sums):
        discount = float(discounts.sums[step.k])
    keeper: Chunk | Truth = chunk if name == "hits" else chunk.truth
    key = ("gains", name, step.gain, step.rel, discount)
    made = keeper.made.get(key)
    if made is None:
        room = len(labels) if keeper is chunk.truth else len(chunk.truth.candidates.labels)  # that any scores may take
        made = keeper.take(key, room, F8)[: len(labels)]
        if step.gain == "binary":
            gain.binary_gains(labels, step.rel, made)
        elif cuts:
            fill_gains(step.gain, np.trunc(labels, out=made), -np.inf, made)
            below = keeper.take(("below", key), room, BOOL)[: len(labels)]
            np.copyto(made, 0.0, where=np.less(labels, step.rel, out=below))
        else:
            fill_gains(step.gain, labels, step.rel, made)
        check_sums(made, offsets, discount, step.metric, chunk.job.rankings, chunk.truth.first)
        keeper.made[key] = made
    return made


def fill_gains(chosen: Value, labels: Array, rel: float, out: Array) -> None:
    """The gains of labels, 0 of those below `rel`."""
    if chosen == "linear":
        gain.linear_gains(labels, rel, out)
    elif chosen == "exp2":
        gain.exp2_gains(labels, rel, out)
    else:
        gain.table_gains(labels, np.array(chosen), rel, out)


def merges_labels(chunk: Chunk, step: Step) -> bool:
    """Whether different labels may have the same gain, 0 aside."""
    if isinstance(step.gain, tuple):
        return any(low == high for low, high in pairwise(step.gain))
    return step.gain == "binary" or chunk.job.cuts_fractions


@once("truth", "gain", "rel")
def highest_gains(chunk: Chunk, step: Step, out: Array) -> None:
    """The highest gain of each query's judged documents, 0 where none gains."""
    only, offsets = gain_of_only_label(chunk, step), chunk.truth.judged.offsets
    if np.isnan(only):
        gain.highest(ideal_gains(chunk, step), chunk.truth.ideal(chunk.job).offsets, out)
    else:
        np.multiply(offsets[1:] > offsets[:-1], only, out=out)


@once("truth", "k", "gain", "rel", "discount")
def best(chunk: Chunk, step: Step, out: Array) -> None:
    """IDCG@k."""
    discounts = discounts_for(chunk, step)
    if chunk.job.convention.ideal == "k best":
        gain.idcg_of_k_best(ideal_gains(chunk, step), chunk.truth.ideal(chunk.job).offsets, discounts.sums, step.k, out)
    elif gain_of_only_label(chunk, step) == 1.0:
        gain.idcg_of_ones(chunk.truth.judged.offsets, discounts.sums, step.k, out)
    else:
        of_ones = chunk.truth.least_label > 0 and gain_of_label(chunk, step, 1.0) == 1.0
        ideal = chunk.truth.ideal(chunk.job, but_ones=of_ones)
        gains = gains_of(chunk, step, "ideal but ones" if of_ones else "ideal", ideal.labels, ideal.offsets)
        offsets = chunk.truth.judged.offsets if of_ones else ideal.offsets
        gain.add_ideal(ideal.above, gains, ideal.offsets, offsets, discounts.values, discounts.sums, step.k, out)


def gain_of_only_label(chunk: Chunk, step: Step) -> float:
    """What each candidate gains if all have the same label, else NaN."""
    return gain_of_label(chunk, step, chunk.truth.only_label)


def gain_of_label(chunk: Chunk, step: Step, label: float) -> float:
    """What a candidate with some label gains, NaN if it is not relevant."""
    if not label >= step.rel:
        return np.nan
    if step.gain == "binary":
        return 1.0
    if chunk.job.cuts_fractions:
        label = float(np.trunc(label))
    if isinstance(step.gain, tuple):
        return step.gain[int(label)]
    return label if step.gain == "linear" else 2.0**label - 1.0


def varied_gains(chunk: Chunk, step: Step) -> Array:
    """The gains of the best order, which is not looked for where all candidates gain 1."""
    return np.empty(0) if gain_of_only_label(chunk, step) == 1.0 else ideal_gains(chunk, step)


def varied_offsets(chunk: Chunk, step: Step) -> Array:
    """Whose gains these are."""
    return np.empty(0, I8) if gain_of_only_label(chunk, step) == 1.0 else chunk.truth.ideal(chunk.job).offsets


@once("truth", "gain", "rel")
def n_gaining(chunk: Chunk, step: Step, out: Array) -> None:
    """How many documents of each query have a gain above 0, retrieved or not."""
    offsets = chunk.truth.judged.offsets
    if gain_of_only_label(chunk, step) > 0.0:
        np.subtract(offsets[1:], offsets[:-1], out=out)
    else:
        relative.count_gaining(ideal_gains(chunk, step), chunk.truth.ideal(chunk.job).offsets, out)


def n_gaining_ranked(chunk: Chunk, step: Step) -> Array:
    """How many of the documents ranked have a gain above 0."""
    return n_gaining(chunk, step) if chunk.job.rankings.pool is None else counted_gaining(chunk, step)


@once("chunk", "gain", "rel")
def counted_gaining(chunk: Chunk, step: Step, out: Array) -> None:
    """The same where there may be others."""
    out[:] = np.bincount(chunk.hits.queries, hit_gains(chunk, step) > 0.0, len(out))


def best_sums(chunk: Chunk, step: Step) -> Array:
    """DCG of each of the first ranks of best orders: one for all queries where all candidates gain 1."""
    discounts, truth = discounts_for(chunk, step), chunk.truth
    if gain_of_only_label(chunk, step) == 1.0:
        return discounts.sums
    key = ("best sums", step.gain, step.rel, step.discount)
    made = truth.made.get(key)
    if made is None:
        gains, offsets = ideal_gains(chunk, step), truth.ideal(chunk.job).offsets
        made = truth.take(key, len(gains) + truth.n_queries, F8)
        relative.add_best(gains, offsets, discounts.values, made)
        truth.made[key] = made
    return made


def best_starts(chunk: Chunk, step: Step) -> Array:
    """Where these begin for each query, with the 0 of no ranks."""
    truth = chunk.truth
    key = ("best starts", step.gain, step.rel)
    made = truth.made.get(key)
    if made is None:
        made = truth.take(key, truth.n_queries, I8)
        if gain_of_only_label(chunk, step) == 1.0:
            made.fill(0)
        else:
            np.add(truth.ideal(chunk.job).offsets[:-1], np.arange(truth.n_queries), out=made)
        truth.made[key] = made
    return made


ARGUMENTS: dict[str, Source] = {
    "hit_gains": hit_gains,
    "hit_unit_gains": hit_unit_gains,
    "ideal_gains": ideal_gains,
    "only_gain": gain_of_only_label,
    "varied_gains": varied_gains,
    "varied_offsets": varied_offsets,
    "best": best,
    "highest_gains": highest_gains,
    "n_gaining": n_gaining,
    "n_gaining_ranked": n_gaining_ranked,
    "best_sums": best_sums,
    "best_starts": best_starts,
    "out_reached": lambda chunk, _: chunk.take("reached", chunk.truth.n_queries, F8),
}
