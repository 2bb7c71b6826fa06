"""
Rank the relevant documents of each query, with the tie groups that they are in.

In place of labels, each relevant document has its number. So no two of a tie group have the same label, and the hits
have the whole group. A document's rank among the non-relevant documents is its rank less the number of relevant
documents above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from fastndcg.engine.apply import check_labels
from fastndcg.engine.chunk import (
    CHUNK_DOCUMENTS,
    MIN_DOCUMENTS_FOR_THREADS,
    WHOLE,
    Ranker,
    Span,
    cut_queries,
    make_ranker,
)
from fastndcg.engine.plan import find_gains
from fastndcg.engine.scratch import Scratch
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import AUTO
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import Value
from fastndcg.rankings.compact import HitRankings, KnownHits, find_tie_starts
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.threads import check_threads, run_all


class RankedSpan(NamedTuple):
    """
    The relevant documents of a span in rank order.

    `numbers` count the relevant documents of the span in the order of the input. `queries` count from the first query
    of the rankings. `above` documents are above, `n_relevant_above` of them relevant. `ties` documents are at that
    place, `n_relevant_tied` of them relevant.
    """

    numbers: Array
    queries: Array
    above: Array
    ties: Array
    n_relevant_above: Array
    n_relevant_tied: Array

    def select_competitors(self, competitors: str) -> tuple[Array, Array]:
        """Return the number of competitors above each document, and that of documents at its place with it."""
        if competitors == "all":
            return self.above, self.ties
        return self.above - self.n_relevant_above, self.ties - self.n_relevant_tied + 1

    def in_input_order(self) -> RankedSpan:
        """Return the documents in the order of the input."""
        order = np.argsort(self.numbers)
        return RankedSpan(*(array[order] for array in self))


@dataclass(frozen=True, slots=True)
class RelevantRanks:
    """
    The relevant documents of all queries in rank order, and what is known of the queries.

    `places` are indices of the labels of the source of hits. `offsets` are those of the relevant documents of each
    query, `sizes` the numbers of documents that the queries rank. `groups` have the ranks of tie groups where the tie
    policy orders these, else they are `ranks`.
    """

    places: Array
    labels: Array
    offsets: Array
    sizes: Array
    ranks: RankedSpan
    groups: RankedSpan


def group_ranks(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> HitRankings:
    """Return rankings with the tie group of each document with a label above 0, also where all labels are equal."""
    plain = rankings.without_patterns()

    def has_label(labels: Array) -> Array:
        return np.asarray(labels != 0 if convention.negative_labels == "keep" else labels > 0)

    relevant = rank_relevant(plain, convention, has_label, find_gains(metrics, convention), None)
    ranks = relevant.ranks
    labels = relevant.labels[ranks.numbers].astype("f8")
    is_first = np.ones(len(labels), bool)
    is_first[1:] = (np.diff(ranks.queries) != 0) | (np.diff(ranks.above) != 0)
    group = np.cumsum(is_first) - 1
    has_two_labels = np.zeros(int(is_first.sum()), bool)
    has_two_labels[group[1:][~is_first[1:] & (np.diff(labels) != 0)]] = True
    differs = (ranks.n_relevant_tied < ranks.ties) | has_two_labels[group]
    above, ties = (read_only(array.astype("i4")) for array in (ranks.above, ranks.ties))
    hits = KnownHits(above, read_only(labels), relevant.offsets, ties, find_tie_starts(ranks.above, differs))
    return HitRankings(
        hits, plain.offsets, plain.pool, plain.query_ids, find_name=plain.document_name, has_whole_groups=True
    )


def rank_relevant(
    rankings: Rankings,
    convention: Convention,
    select: Callable[[Array], Array],
    gains: frozenset[Value],
    threads: int | None,
) -> RelevantRanks:
    """Rank the documents whose labels a function selects, on threads. The convention has been applied."""
    scratch_of_source = Scratch()
    by_group = make_ranker(rankings, convention.with_fields(ties="average"), AUTO, scratch_of_source)
    source = by_group
    if not TIES[convention.ties].choose(group=True, label=True, input=False, id=False):
        source = make_ranker(rankings, convention, AUTO, scratch_of_source)
    n_threads = 1 if rankings.n_documents < MIN_DOCUMENTS_FOR_THREADS else check_threads(threads)
    spans = cut_queries(source.document_offsets, CHUNK_DOCUMENTS, n_threads)
    parts: dict[Span, tuple[RankedSpan, RankedSpan]] = {}

    def make_worker() -> Callable[[Span], None]:
        scratch = Scratch()

        def rank(span: Span) -> None:
            labels = source.labels[slice(*source.label_offsets[[*span]].tolist())]
            check_relevant(rankings, "labels", labels, gains, convention)
            is_relevant = select(labels)
            ranked, n_tied = rank_span(source, span, is_relevant, scratch)
            is_ordered = n_tied and source is not by_group
            parts[span] = ranked, (rank_span(by_group, span, is_relevant, scratch)[0] if is_ordered else ranked)

        return rank

    if spans:
        run_all(spans, make_worker, min(n_threads, len(spans)))
    if rankings.pool is not None:
        check_relevant(rankings, "pool", rankings.pool[0], gains, convention)
    places = np.flatnonzero(select(source.labels))
    offsets = read_only(np.searchsorted(places, source.label_offsets))
    ordered = [parts[span] for span in sorted(parts)]
    ranks = concatenate([ranked for ranked, _ in ordered])
    groups = ranks if source is by_group else concatenate([own for _, own in ordered])
    return RelevantRanks(places, source.labels[places], offsets, np.diff(source.document_offsets), ranks, groups)


def concatenate(parts: list[RankedSpan]) -> RankedSpan:
    """Return the documents of consecutive spans, numbered from the first one on."""
    nothing = np.empty(0, "i8")
    whole = RankedSpan(
        *(np.concatenate([nothing, *(part[i] for part in parts)]) for i in range(len(RankedSpan._fields)))
    )
    starts = accumulate((len(part.numbers) for part in parts), initial=0)
    for start, part in zip(starts, parts, strict=False):
        whole.numbers[start : start + len(part.numbers)] += start
    return whole


def rank_span(source: Ranker, span: Span, is_relevant: Array, scratch: Scratch) -> tuple[RankedSpan, int]:
    """
    Rank the relevant documents of a span of queries, and count the queries with ties.

    Each document has its number as its label.
    """
    first, stop = span
    numbers = np.cumsum(is_relevant, dtype="i4")
    numbers *= is_relevant
    offsets = read_only(source.label_offsets[first : stop + 1] - source.label_offsets[first])
    buffers = scratch.candidate_buffers("pairs", -(-len(numbers) // load_kernels("simd").WIDE), stop - first)
    load_kernels("ranking.candidates").collect(
        read_only(numbers), offsets, 0, -np.inf, buffers.arrays, buffers.out_summary
    )
    n = buffers.offsets.item(-1)
    out = scratch.hit_buffers(n, stop - first)
    n_tied = source.find_hits(first, buffers.cut(n), WHOLE, out)
    n_hits = out.offsets.item(-1)
    queries = out.queries[:n_hits].astype("i8")
    above = out.above[:n_hits].astype("i8")
    is_first = np.ones(n_hits, bool)
    is_first[1:] = (queries[1:] != queries[:-1]) | (above[1:] != above[:-1])
    starts = np.flatnonzero(is_first)
    n_relevant_tied = np.diff(starts, append=n_hits)
    ranked = RankedSpan(
        numbers=out.labels[:n_hits].astype("i8") - 1,
        queries=queries + first,
        above=above,
        ties=out.ties[:n_hits].astype("i8"),
        n_relevant_above=np.repeat(starts, n_relevant_tied) - out.offsets[queries],
        n_relevant_tied=np.repeat(n_relevant_tied, n_relevant_tied),
    )
    return ranked, n_tied


def check_relevant(
    rankings: Rankings, name: str, labels: Array, gains: frozenset[Value], convention: Convention
) -> None:
    """Raise an error for labels that the convention or a gain does not allow."""
    with np.errstate(invalid="ignore"):
        extremes = (
            min(float(np.nanmin(labels, initial=0)), 0.0) if labels.dtype.kind == "f" else float(labels.min(initial=0)),
            float(np.nanmax(labels, initial=0)) if labels.dtype.kind == "f" else float(labels.max(initial=0)),
            float(np.count_nonzero(labels != labels)),
        )
    check_labels(rankings, name, extremes, labels[labels != 0], gains, convention)
