"""Inputs of kernels that count: relevant and judged documents, sums of precisions, denominators, subtopics."""

from __future__ import annotations

import functools
import operator
from typing import NamedTuple, cast

import numpy as np

from fastndcg.engine.chunk import Chunk
from fastndcg.engine.kernel_inputs.gains import cutoffs, find_discounts, make_similar_discounts
from fastndcg.engine.kernel_inputs.registry import RECALL_ROUNDING, Call, MetricTask, kernel_input
from fastndcg.engine.scratch import F8, I4, I8
from fastndcg.errors import Choice, InvalidInputError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.rankings.rankings import Patterns
from fastndcg.rankings.validation import Array, read_only


@kernel_input()
def n_relevant(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of relevant documents of each query, retrieved or not."""
    return count_relevant(chunk, task.rel)


def count_relevant(chunk: Chunk, rel: float) -> Array:
    """Count the pool's candidates of each query with a label of `rel` or more, once for each threshold."""
    labels = chunk.labels
    key = "n_relevant", rel
    counts: Array | None = labels.cache.get(key)
    if counts is None:
        counts = labels.take(key, labels.n_queries, F8)
        pool = labels.pool_candidates
        if labels.lowest_label >= rel:
            np.subtract(pool.offsets[1:], pool.offsets[:-1], out=counts)
        else:
            load_kernels("ranking.candidates").count_relevant(pool.labels, pool.offsets, rel, counts)
        labels.cache[key] = counts
    return counts


@kernel_input()
def n_relevant_ranked(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of relevant documents among those ranked."""
    is_pooled = chunk.context.rankings.pool is not None
    return n_relevant_candidates(chunk, task) if is_pooled else n_relevant(chunk, task)


@kernel_input(scope="labels", key=("rel",))
def n_relevant_candidates(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the relevant documents of each query among those ranked."""
    candidates = chunk.labels.candidates
    load_kernels("ranking.candidates").count_relevant(candidates.labels, candidates.offsets, task.rel, out)


@kernel_input(scope="labels", key=("k", "rel"))
def min_k_n_relevant(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the smaller of k and the number of relevant documents."""
    np.minimum(n_relevant(chunk, task), task.k, out=out)


@kernel_input(scope="ranking", key=("rel",))
def relevant_hits(chunk: Chunk, task: MetricTask) -> tuple[Array, Array, Array]:
    """Return the queries, the ranks less one and the query offsets of the relevant hits."""
    hits = chunk.hits
    if chunk.context.rankings.pool is None and chunk.labels.lowest_label >= task.rel:
        return hits.queries, hits.above, hits.offsets
    queries = chunk.take(("relevant queries", task.rel), len(hits.above), I4)
    above = chunk.take(("relevant above", task.rel), len(hits.above), I4)
    offsets = chunk.take(("relevant offsets", task.rel), chunk.labels.n_queries + 1, I8)
    load_kernels("metrics.pairs").keep_relevant(
        hits.queries, hits.above, hits.labels, task.rel, queries, above, offsets
    )
    n_hits = offsets.item(-1)
    return queries[:n_hits], above[:n_hits], offsets


for _place, _name in enumerate(("queries", "above", "offsets")):
    kernel_input(name=f"relevant_{_name}")(lambda chunk, task, place=_place: relevant_hits(chunk, task)[place])


@kernel_input()
def recalls(chunk: Chunk, task: MetricTask) -> Array:
    """Return the recalls of a metric that averages over several."""
    return np.array(task.metric.get("recalls"), float)


@kernel_input()
def n_recalls_needing(chunk: Chunk, task: MetricTask) -> Array:
    """Return the number of recalls that need n of R relevant documents, for small R."""
    rounding = RECALL_ROUNDING[chunk.context.convention.recall_rounding]
    return count_recalls_needing(task.metric.get("recalls"), rounding)


@functools.lru_cache(maxsize=16)
def count_recalls_needing(recalls: tuple[float, ...], rounding: float) -> Array:
    """Return the table of `n_recalls_needing` (see kernels/metrics/pairs.py)."""
    few = load_kernels("metrics.pairs").FEW
    wide = load_kernels("simd").WIDE
    counts = np.zeros((few + 1, wide))
    for n_relevant in range(few + 1):
        counts_needed = np.maximum(np.floor(np.array(recalls, float) * n_relevant + rounding), 1.0)
        counts[n_relevant] = np.bincount(counts_needed.astype(int), minlength=wide)[:wide]
    return read_only(counts.ravel())


@kernel_input(scope="ranking", key=("rel",), size=lambda chunk, task: len(chunk.hits.labels) + 1)
def highest_precisions(chunk: Chunk, task: MetricTask, out: Array) -> Array:
    """Compute for each relevant hit the highest precision at it or at a later one, and 0 at the end."""
    queries, above, offsets = relevant_hits(chunk, task)
    load_kernels("metrics.pairs").find_highest(queries, above, offsets, out)
    return out[: len(above) + 1]


@kernel_input(scope="ranking", key=("rel", "metric.recall"))
def interpolated(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the highest precision at a recall or above it."""
    rounding = RECALL_ROUNDING[chunk.context.convention.recall_rounding]
    load_kernels("metrics.pairs").look_up(
        highest_precisions(chunk, task), relevant_hits(chunk, task)[2], n_relevant(chunk, task),
        float(task.metric.get("recall")), rounding, out,
    )  # fmt: skip


@kernel_input(scope="labels", key=("k", "rel", "metric.mult"))
def multiples(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute ⌊multiple · R + 0.9⌋ for R relevant documents, at most k."""
    np.multiply(n_relevant(chunk, task), float(task.metric.get("mult")), out=out)
    np.minimum(np.floor(np.add(out, 0.9, out=out), out=out), float(task.k), out=out)


@kernel_input(scope="ranking", key=("k", "rel", "metric.mult"), is_call=True)
def n_relevant_at_multiple(chunk: Chunk, task: MetricTask, out: Array) -> Call:
    """Compute the expected number of relevant hits in the first `multiples` ranks."""
    return find_counts(chunk, task, multiples(chunk, task), out)


def find_counts(chunk: Chunk, task: MetricTask, cutoffs: Array, out: Array) -> Call:
    """Return the call that counts the relevant hits of each query down to a cutoff."""
    hits = chunk.hits
    arguments = (hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, task.rel, cutoffs, out)
    return load_kernels("metrics.counts").count_found, arguments


@kernel_input(scope="ranking", key=("k", "rel"), is_call=True)
def precision_sums(chunk: Chunk, task: MetricTask, out: Array) -> Call:
    """Compute the expected sum of the precisions at the ranks of relevant documents, down to rank k."""
    hits = chunk.hits
    arguments = (hits.queries, hits.above, hits.ties, hits.labels, task.rel, task.k, out)
    return load_kernels("metrics.counts").add_precisions, arguments


@kernel_input()
def n_relevant_found(chunk: Chunk, task: MetricTask) -> Array:
    """Return the expected number of relevant documents in the first k ranks of each query."""
    has_all = task.k == MAX_RANK or task.k >= chunk.labels.longest
    return n_relevant_ranked(chunk, task) if has_all else counted_relevant_found(chunk, task)


@kernel_input(scope="ranking", key=("k", "rel"), is_call=True)
def counted_relevant_found(chunk: Chunk, task: MetricTask, out: Array) -> Call:
    """Count the relevant documents in the first k ranks of each query."""
    return find_counts(chunk, task, cutoffs(chunk, task), out)


@kernel_input()
def ap_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """
    Return the denominators of AP, 0 where nothing is relevant.

    The choice 'n_hits' has a kernel that counts hits itself.
    """
    choice = chunk.context.convention.ap_denominator
    if choice == "n_relevant":
        return n_relevant(chunk, task)
    if choice in ("min(k, n_relevant)", "n_hits"):
        return min_k_n_relevant(chunk, task)
    return other_ap_denominators(chunk, task)


@kernel_input(scope="labels", key=("k", "cutoff", "rel"))
def other_ap_denominators(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """
    Compute the denominators of the other choices.

    They are k, or 0 where nothing is relevant, or the smallest of k and the numbers of relevant and ranked documents.
    """
    if chunk.context.convention.ap_denominator == "k":
        out[:] = np.where(n_relevant(chunk, task) > 0, task.cutoff, 0.0)
    else:
        np.minimum(min_k_n_relevant(chunk, task), chunk.labels.sizes, out=out)


@kernel_input(scope="labels", key=("k",))
def min_k_n_retrieved(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the smaller of k and the number of ranked documents."""
    np.minimum(chunk.labels.sizes, float(task.k), out=out)


@kernel_input()
def precision_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """Return the denominators of P. Without k they are the numbers of ranked documents."""
    choice = chunk.context.convention.precision_denominator
    if choice == "min(k, n_relevant)":
        return min_k_n_relevant(chunk, task)
    if choice == "k" and task.metric.k is not None:
        return cutoffs(chunk, task)
    return min_k_n_retrieved(chunk, task)


@kernel_input()
def recall_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """Return the denominators of R, 0 where nothing is relevant."""
    if chunk.context.convention.recall_denominator == "n_relevant":
        return n_relevant(chunk, task)
    return min_k_n_relevant(chunk, task)


@kernel_input()
def relative_denominators(chunk: Chunk, task: MetricTask) -> Array:
    """Return the denominators of RelP, 0 where nothing is relevant and 1 where nothing is ranked."""
    if task.metric.k is not None:
        return min_k_n_relevant(chunk, task)
    return np.asarray(np.minimum(n_relevant(chunk, task), np.maximum(chunk.labels.sizes, 1)))


@kernel_input(scope="labels", view="judged")
def n_judged(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the judged documents of each query, retrieved or not."""
    judged = chunk.view("judged")
    pool = judged.context.rankings.pool
    out[:] = judged.labels.sizes
    if pool is not None:
        np.maximum(out, np.diff(pool[1][judged.labels.first : judged.labels.stop + 1]), out=out)


@kernel_input(scope="ranking", key=("k",), view="unjudged")
def n_unjudged(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected number of unjudged documents in the first k ranks of each query."""
    hits = chunk.view("unjudged").hits
    load_kernels("metrics.counts").count_found(
        hits.queries, hits.above, hits.ties, hits.labels, hits.offsets, 1.0, cutoffs(chunk, task), out
    )


@kernel_input(view="unjudged")
def k_or_n_ranked(chunk: Chunk, task: MetricTask) -> Array:
    """Return k, or the number of ranked documents for a metric without a cutoff."""
    return np.asarray(chunk.labels.sizes.astype(float)) if task.metric.k is None else cutoffs(chunk, task)


@kernel_input(scope="ranking", key=("k", "discount"), view="unjudged")
def unjudged_dcg(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute DCG@k with a gain of 1 for each unjudged document and of 0 for the others."""
    hits = chunk.view("unjudged").hits
    discounts = find_discounts(chunk, task)
    load_kernels("metrics.gains").add_gains(
        hits.above, hits.ties, hits.labels, hits.offsets, discounts.values, discounts.sums, discounts.rests, task.k, out
    )


def _register_view_hits(view: str, field: str) -> None:
    """Register an array of the hits of a view as an input."""
    read = operator.attrgetter(field)
    kernel_input(name=f"{view}_hit_{field}", view=view)(lambda chunk, task: read(chunk.view(view).hits))


for _view, _fields in (
    ("judged", ("above", "ties", "labels", "queries")),
    ("pooled", ("above", "ties")),
    ("unjudged", ("queries", "above", "ties", "offsets")),
):
    for _name in _fields:
        _register_view_hits(_view, _name)


NOVELTY_KEY = ("metric.alpha", "metric.beta", "rel", "k", "discount")
VITAL = 1.0  # the least importance of a vital nugget


class SubtopicTable(NamedTuple):
    """The relevant subtopics of each label pattern, as kernels read them."""

    offsets: Array
    subtopics: Array
    n_slots: int


class IdealOrder(NamedTuple):
    """The greedy ideal ranking of the judged documents as hits (see `HitArrays`)."""

    labels: Array
    above: Array
    ties: Array
    offsets: Array


def read_patterns(chunk: Chunk) -> Patterns:
    """Return the label patterns of the rankings."""
    return cast(Patterns, chunk.context.rankings.patterns)  # not None: `prepare` has refused plain labels


def read_table(chunk: Chunk, task: MetricTask) -> SubtopicTable:
    """Return the subtopics with a label of `rel` or more."""
    patterns = read_patterns(chunk)
    return SubtopicTable(*patterns.relevant(task.rel), patterns.n_subtopics)


for _name in ("offsets", "subtopics"):
    kernel_input(name=f"pattern_{_name}")(
        lambda chunk, task, read=operator.attrgetter(_name): read(read_table(chunk, task))
    )


@kernel_input()
def n_slots(chunk: Chunk, task: MetricTask) -> int:
    """Return a number above those of all subtopics."""
    return read_patterns(chunk).n_subtopics


@kernel_input(scope="labels", key=("rel",))
def n_subtopics(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Count the subtopics of each query that have a relevant document."""
    pool = chunk.labels.pool_candidates
    load_kernels("metrics.subtopics").count_subtopics(pool.labels, pool.offsets, *read_table(chunk, task), out)


@kernel_input(scope="ranking", key=("rel", "k"))
def n_covered(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected number of subtopics with a relevant document in the first k ranks."""
    table = read_table(chunk, task)
    cover(chunk, task, table, np.ones(table.n_slots), np.zeros(len(out) + 1, I8), out)


@kernel_input(scope="ranking", key=("rel", "k", "metric.importance", "metric.partial"))
def support(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the expected weight of the supported subtopics, of which a partly supported one has a share."""
    full = read_table(chunk, task)
    weights, offsets = weigh_subtopics(chunk, task)
    cover(chunk, task, full, weights, offsets, out)
    partial = float(task.metric.get("partial"))
    if partial > 0.0:  # with a label above 0, by a share; with a label of `rel`, by the rest
        patterns = read_patterns(chunk)
        at_all = np.empty(len(out))
        cover(chunk, task, SubtopicTable(*patterns.relevant(0.0), full.n_slots), weights, offsets, at_all)
        out += partial * (at_all - out)


@kernel_input(scope="labels", key=("metric.importance",))
def total_importance(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Sum up the weights of each query's subtopics."""
    patterns = read_patterns(chunk)
    if patterns.importance is None:
        pool = chunk.labels.pool_candidates
        table = SubtopicTable(*patterns.relevant(0.0), patterns.n_subtopics)
        load_kernels("metrics.subtopics").count_subtopics(pool.labels, pool.offsets, *table, out)
    else:
        weights, offsets = weigh_subtopics(chunk, task)
        sizes = np.diff(offsets)
        queries = np.repeat(np.arange(len(sizes)), sizes)
        out[:] = np.bincount(queries, weights[offsets[0] : offsets[-1]], minlength=len(sizes))


def weigh_subtopics(chunk: Chunk, task: MetricTask) -> tuple[Array, Array]:
    """Return the weights of all subtopics, and the offsets of those of each query."""
    patterns = read_patterns(chunk)
    if patterns.importance is None:
        return np.ones(patterns.n_subtopics), np.zeros(chunk.labels.n_queries + 1, I8)
    weights, offsets = patterns.importance
    choice = task.metric.get("importance")
    if choice != "weighted":
        weights = (weights >= VITAL).astype("f8") if choice == "vital" else np.ones(len(weights))
    return weights, offsets[chunk.labels.first : chunk.labels.stop + 1]


def cover(chunk: Chunk, task: MetricTask, table: SubtopicTable, weights: Array, offsets: Array, out: Array) -> None:
    """Compute the expected weight of the subtopics of a table that the first k ranks cover."""
    hits = chunk.hits
    load_kernels("metrics.subtopics").cover(
        hits.labels, hits.above, hits.ties, hits.offsets, *table, read_only(weights), read_only(offsets), task.k, out
    )


@kernel_input(scope="ranking", key=("rel", "k"))
def all_covered(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the probability that the first k ranks have a relevant document of every subtopic."""
    hits = chunk.hits
    load_kernels("metrics.subtopics").cover_all(
        hits.labels, hits.above, hits.ties, hits.offsets, *read_table(chunk, task), n_subtopics(chunk, task), task.k,
        out,
    )  # fmt: skip
    if (out < 0.0).any():
        query = chunk.context.rankings.query_name(chunk.labels.first + int(np.argmax(out < 0.0)))
        raise InvalidInputError(
            f"`scores` must not tie at rank {task.k} between documents of more than 16 missing subtopics for "
            f"{task.metric}, but those of {query} do: its mean over the orders of the tie goes over all sets of them. "
            "Take ",
            Choice("ties", ["id_descending", "input"]),
            ".",
        )


@kernel_input(scope="labels", key=("metric.beta",), size=lambda chunk, task: len(chunk.context.discounts.values))
def novelty_decay(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute beta^(rank − 1) for each rank. Entry 0 is unused."""
    np.power(float(task.metric.get("beta")), np.arange(-1.0, len(out) - 1), out=out)


def find_weights(chunk: Chunk, task: MetricTask) -> Array:
    """Return the weight of novelty at each rank: a decay, the metric's own discount, or the convention's."""
    if task.metric.get("beta") is not None:
        return novelty_decay(chunk, task)
    if task.discount is not None:
        return make_similar_discounts(chunk, task.discount).values
    return chunk.context.discounts.values


def read_alpha(task: MetricTask) -> float:
    """Return the share of its gain that a repeated subtopic loses."""
    return float(task.metric.get("alpha"))


@kernel_input(scope="labels", key=("metric.alpha", "rel"))
def greedy_order(chunk: Chunk, task: MetricTask) -> IdealOrder:
    """
    Compute the greedy ideal ranking: the next document is the one that gains most.

    The true ideal ranking is NP-hard.
    """
    labels = chunk.labels
    pool = labels.pool_candidates
    alpha = read_alpha(task)
    n_documents = len(pool.labels)
    order = IdealOrder(
        labels=labels.take(("greedy labels", alpha, task.rel), n_documents, F8),
        above=labels.take(("greedy above", alpha, task.rel), n_documents, I4),
        ties=labels.take(("greedy ties", alpha, task.rel), n_documents, I4),
        offsets=labels.take(("greedy offsets", alpha, task.rel), len(pool.offsets), I8),
    )
    load_kernels("metrics.subtopics").best_order(
        pool.labels, pool.offsets, *read_table(chunk, task), alpha, chunk.context.depth, *order
    )
    return order


@kernel_input(scope="ranking", key=NOVELTY_KEY)
def novelty(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute the sum of gain · weight over the first k ranks."""
    hits = chunk.hits
    load_kernels("metrics.subtopics").novelty(
        hits.labels, hits.above, hits.ties, hits.offsets, *read_table(chunk, task), find_weights(chunk, task),
        read_alpha(task), task.k, out,
    )  # fmt: skip


@kernel_input(scope="labels", key=NOVELTY_KEY)
def ideal_novelty(chunk: Chunk, task: MetricTask, out: Array) -> None:
    """Compute that sum for the greedy ideal ranking."""
    load_kernels("metrics.subtopics").novelty(
        *greedy_order(chunk, task), *read_table(chunk, task), find_weights(chunk, task), read_alpha(task), task.k, out
    )


@kernel_input()
def max_novelty(chunk: Chunk, task: MetricTask) -> Array:
    """Compute that sum for documents that are relevant to all subtopics."""
    share_left = 1.0 - read_alpha(task)
    counts = n_subtopics(chunk, task)
    beta = task.metric.get("beta")
    if beta is not None:
        return np.asarray(counts / (1.0 - share_left * float(beta)))
    weights = find_weights(chunk, task)
    sums = np.cumsum(weights[1:] * np.power(share_left, np.arange(len(weights) - 1)))
    ranks = np.clip(count_ranks(chunk, task), 1, len(sums)).astype("i8")
    return np.asarray(counts * sums[ranks - 1])


def count_ranks(chunk: Chunk, task: MetricTask) -> Array:
    """Return k, or the number of ranked documents for a metric without a cutoff."""
    sizes = chunk.labels.sizes
    return sizes.astype("f8") if task.metric.k is None else np.full(len(sizes), task.cutoff)
