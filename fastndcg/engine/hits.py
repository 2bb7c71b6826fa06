"""
Sources of hits: where the hits of a chunk come from.

The engine reads three things from a source: the labels of documents that may become hits, the numbers of documents
ranked, and the hits of a chunk in rank order. Metrics do not depend on the kind of source.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

import numpy as np

from fastndcg.engine.buffers import HitBuffers, Scratch
from fastndcg.errors import Choice
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions import Convention
from fastndcg.rankings.known_ranks import CountedRankings, HitRankings
from fastndcg.rankings.rankings import Rankings, refuse_changed
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.score_rows import ScoreRowRankings
from fastndcg.rankings.validation import Array

BY_LABEL = frozenset({"best", "worst"})
AS_GROUPS = frozenset({"average", "mean_rank"})
RISING = frozenset({"input", "id_ascending"})  # tie policies that order columns of a score matrix by rising number
FALLING = frozenset({"input_reversed", "id_descending"})


class ChunkCandidates(Protocol):
    """
    The candidates of a chunk.

    Attributes
    ----------
    first : int
        The first query of the chunk.
    candidate_arrays : tuple
        The candidates as kernels take them (see kernels/ranking/arrays.py).
    rank_inputs : tuple
        What the kernel `rank` takes of the labels.
    """

    @property
    def first(self) -> int: ...  # noqa: D102  above

    @property
    def candidate_arrays(self) -> tuple[Array, ...]: ...  # noqa: D102

    @property
    def rank_inputs(self) -> tuple[Any, ...]: ...  # noqa: D102


class HitSource(Protocol):
    """
    A source of hits for chunks of queries.

    Attributes
    ----------
    labels : array
        The labels of all documents that may become hits, query after query.
    label_offsets : (n_queries + 1,) int64 array
        Query q owns ``labels[label_offsets[q]:label_offsets[q + 1]]``.
    document_offsets : (n_queries + 1,) int64 array
        Query q ranks ``document_offsets[q + 1] - document_offsets[q]`` documents.
    """

    @property
    def labels(self) -> Array: ...  # noqa: D102  above

    @property
    def label_offsets(self) -> Array: ...  # noqa: D102

    @property
    def document_offsets(self) -> Array: ...  # noqa: D102

    def find_hits(self, chunk_labels: ChunkCandidates, depth: int, out: HitBuffers) -> int:
        """
        Write the hits of a chunk down to rank `depth`, and return the number of queries in which ties matter.

        Ties matter where equal scores belong to different labels. `chunk_labels` has the candidates.
        """


class ScoreHits:
    """Hits that are ranked by scores."""

    __slots__ = ("convention", "rankings", "scores", "strategy")

    def __init__(self, rankings: Rankings, convention: Convention, strategy: int, scratch: Scratch) -> None:
        """Take rankings to which the convention has been applied. Scores for less than one vector are padded."""
        self.rankings = rankings
        self.convention = convention
        self.strategy = strategy
        self.scores = scratch.pad(rankings.scores, load_kernels("simd").WIDE)

    @property
    def labels(self) -> Array:
        """The labels of all documents."""
        return self.rankings.labels

    @property
    def label_offsets(self) -> Array:
        """The offsets of the rankings."""
        return self.rankings.offsets

    @property
    def document_offsets(self) -> Array:
        """The offsets of the rankings."""
        return self.rankings.offsets

    def find_hits(self, chunk_labels: ChunkCandidates, depth: int, out: HitBuffers) -> int:
        """Rank the candidates of a chunk by their scores."""
        ties = self.convention.ties
        load_kernels("ranking.rank").rank(
            self.scores, *chunk_labels.rank_inputs, depth, self.strategy, ties == "input", out.arrays
        )
        n_tied, n_nan, n_open, has_changed = out.counts.tolist()
        if n_nan:
            refuse_nan(self.rankings)
        if n_open and not has_changed:
            n_tied, has_changed = self._rank_open(chunk_labels, depth, out)
        if has_changed:
            refuse_changed("scores")
        if n_tied and ties not in AS_GROUPS:
            self._order_ties(chunk_labels.first, out)
        return int(n_tied)

    def _rank_open(self, chunk_labels: ChunkCandidates, depth: int, out: HitBuffers) -> tuple[int, bool]:
        """Rank queries with many candidates. Return the number of tied queries, and True if scores have changed."""
        load_kernels("ranking.many_candidates").rank_remaining(
            self.scores, *chunk_labels.rank_inputs, depth, self.strategy, out.arrays
        )
        return int(out.counts[0]), bool(out.counts[3])

    def _order_ties(self, first: int, out: HitBuffers) -> None:
        """Order the hits of each tie group by the convention's policy."""
        tie_policies = load_kernels("ranking.tie_policies")
        policy = self.convention.ties
        if policy in BY_LABEL:
            order_by_label(policy, out)
            return
        rankings = self.rankings
        keys = np.empty(0, "i8") if rankings.tie_keys is None or policy == "input" else rankings.tie_keys
        if policy == "id_ascending":
            keys = ~keys  # falls as the key rises, also for the lowest int64
        tie_policies.order_by_key(rankings.scores, read_only(keys), rankings.offsets, first, out.arrays)
        n_hits = out.offsets.item(-1)
        if not tie_policies.has_valid_tie_order(out.queries[:n_hits], out.above[:n_hits], out.ties[:n_hits]):
            refuse_changed("scores")


class KnownRankHits:
    """Hits of documents whose ranks are known, such as recommended items, pairs, or a fusion at a weight."""

    __slots__ = ("document_offsets", "known", "label_offsets", "labels", "policy")

    def __init__(self, rankings: HitRankings, convention: Convention) -> None:
        """Take hits in rank order. Tie policies other than those by label have ordered them."""
        hits = rankings.judged_hits
        self.known = (hits.above, hits.offsets, hits.ties, hits.tie_starts)
        self.labels = hits.labels
        self.label_offsets = hits.offsets
        self.document_offsets = rankings.offsets
        self.policy = convention.ties

    def find_hits(self, chunk_labels: ChunkCandidates, depth: int, out: HitBuffers) -> int:
        """Write the hits of a chunk, and order ties by label where the policy says so."""
        load_kernels("ranking.known_ranks").write_known_hits(
            self.known, chunk_labels.first, chunk_labels.candidate_arrays, depth, out.arrays
        )
        n_tied = int(out.counts[0])
        if n_tied and self.policy in BY_LABEL:
            order_by_label(self.policy, out)
        return n_tied


class ScoreRowHits:
    """Hits of the candidates in rows of a score matrix."""

    __slots__ = ("document_offsets", "label_offsets", "labels", "policy", "rankings", "strategy")

    def __init__(self, rankings: ScoreRowRankings, convention: Convention, strategy: int) -> None:
        """Take rankings whose candidates and scores the convention does not change."""
        self.rankings = rankings
        self.policy = convention.ties
        self.strategy = strategy
        self.labels = rankings.rows.labels
        self.label_offsets = rankings.rows.offsets
        self.document_offsets = rankings.offsets

    def find_hits(self, chunk_labels: ChunkCandidates, depth: int, out: HitBuffers) -> int:
        """Rank the labelled candidates of each row, and order ties."""
        kernels = load_kernels("ranking.rank_matrix")
        rows = self.rankings.rows
        first = chunk_labels.first
        tie_order = find_tie_order(self.policy)
        places = rows.places[self.label_offsets.item(first) :]
        kernel_rows = (places, *rows.kernel_rows[1:])
        candidates = chunk_labels.candidate_arrays
        kernels.rank_rows(rows.scores, kernel_rows, first, candidates, depth, self.strategy, tie_order, out.arrays)
        n_tied, n_nan, _, has_changed = out.counts.tolist()
        if n_nan:
            refuse_nan(self.rankings)
        if has_changed:
            refuse_changed("scores")
        if n_tied and self.policy in BY_LABEL:
            order_by_label(self.policy, out)
        return int(n_tied)


class CountHits:
    """Hits of labelled candidates for which the candidates above and at their place were counted."""

    __slots__ = ("counts", "document_offsets", "label_offsets", "labels", "policy")

    def __init__(self, rankings: CountedRankings, convention: Convention) -> None:
        """Take rankings whose candidates the convention does not change."""
        hits = rankings.judged_hits
        self.counts = hits.counts
        self.labels = hits.labels
        self.label_offsets = hits.offsets
        self.document_offsets = rankings.offsets
        self.policy = convention.ties

    def find_hits(self, chunk_labels: ChunkCandidates, depth: int, out: HitBuffers) -> int:
        """Write the hits of a chunk in rank order, and order ties."""
        kernels = load_kernels("ranking.known_ranks")
        kernels.write_counted_hits(
            tuple(self.counts), self.label_offsets, chunk_labels.first, chunk_labels.candidate_arrays, depth,
            find_tie_order(self.policy), out.arrays,
        )  # fmt: skip
        n_tied = int(out.counts[0])
        if n_tied and self.policy in BY_LABEL:
            order_by_label(self.policy, out)
        return n_tied


def find_tie_order(policy: str) -> int:
    """Return how kernels order tied columns: by rising or falling number, or not."""
    kernels = load_kernels("ranking.rank_matrix")
    if policy in RISING:
        return int(kernels.RISING)
    return int(kernels.FALLING if policy in FALLING else kernels.AS_GROUPS)


def refuse_nan(rankings: Rankings) -> NoReturn:
    """Raise for the first score that is NaN."""
    rule = "not be NaN: Find out where it comes from, or take "
    rankings.refuse("scores", np.isnan(rankings.scores), rule, Choice("nan_scores", ["last"]))


def order_by_label(policy: str, out: HitBuffers) -> None:
    """Order the hits of each tie group by falling label for 'best', by rising label for 'worst'."""
    tie_policies = load_kernels("ranking.tie_policies")
    order = tie_policies.order_best_first if policy == "best" else tie_policies.order_worst_first
    order(out.arrays)


def make_hit_source(rankings: Rankings, convention: Convention, strategy: int, scratch: Scratch) -> HitSource:
    """Return the source of hits for rankings, by known ranks or by scores."""
    if isinstance(rankings, ScoreRowRankings):
        return ScoreRowHits(rankings, convention, strategy)
    if isinstance(rankings, CountedRankings):
        return CountHits(rankings, convention)
    if isinstance(rankings, HitRankings):
        return KnownRankHits(rankings, convention)
    return ScoreHits(rankings, convention, strategy, scratch)
