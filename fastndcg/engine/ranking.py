"""
Rankers: where the hits of a chunk come from.

The engine reads three things from a ranker: the labels of documents that may become hits, the numbers of documents
ranked, and the hits of a chunk in rank order. Metrics do not depend on the kind of ranker.
"""

from __future__ import annotations

from typing import NoReturn, cast

import numpy as np

from fastndcg.engine.scratch import CandidateArrays, HitBuffers, Scratch
from fastndcg.errors import Choice
from fastndcg.kernels.lookup import load_kernels
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.ties import TIES, TiePolicy
from fastndcg.rankings.known_ranks import CountedRankings, HitRankings
from fastndcg.rankings.rankings import Rankings, refuse_changed
from fastndcg.rankings.score_rows import ScoreRowRankings
from fastndcg.rankings.validation import Array, read_only

BY_INPUT = TIES["input"]


class Ranker:
    """
    What ranks the documents of chunks of queries.

    Attributes
    ----------
    labels : array
        The labels of all documents that may become hits, query after query.
    label_offsets : (n_queries + 1,) int64 array
        Query q owns ``labels[label_offsets[q]:label_offsets[q + 1]]``.
    document_offsets : (n_queries + 1,) int64 array
        Query q ranks ``document_offsets[q + 1] - document_offsets[q]`` documents.
    """

    __slots__ = ("document_offsets", "label_offsets", "labels", "policy", "rankings", "strategy")

    def __init__(
        self, rankings: Rankings, convention: Convention, strategy: int, labels: Array, label_offsets: Array
    ) -> None:
        """Take rankings to which the convention has been applied."""
        self.rankings = rankings
        self.policy = TIES[convention.ties]
        self.strategy = strategy
        self.labels = labels
        self.label_offsets = label_offsets
        self.document_offsets = rankings.offsets

    def find_hits(self, first: int, candidates: CandidateArrays, depth: int, out: HitBuffers) -> int:
        """
        Write the hits of a chunk down to rank `depth`, and return the number of queries in which ties matter.

        Ties matter where equal scores belong to different labels. The chunk begins with query `first`.
        """
        raise NotImplementedError


class ScoreRanker(Ranker):
    """Hits that are ranked by scores."""

    __slots__ = ("scores",)

    def __init__(self, rankings: Rankings, convention: Convention, strategy: int, scratch: Scratch) -> None:
        """Take rankings and their scores. Scores for less than one vector are padded."""
        self.rankings = rankings
        self.policy = TIES[convention.ties]
        self.strategy = strategy
        self.labels = rankings.labels
        self.label_offsets = self.document_offsets = rankings.offsets
        scores = rankings.scores
        wide = load_kernels("simd").WIDE
        self.scores = scores if len(scores) >= wide else scratch.pad(scores, wide)

    def find_hits(self, first: int, candidates: CandidateArrays, depth: int, out: HitBuffers) -> int:
        """Rank the candidates of a chunk by their scores."""
        load_kernels("ranking.rank").rank(
            self.scores, self.document_offsets, first, candidates.arrays, depth, self.strategy, self.policy is BY_INPUT,
            out.arrays,
        )  # fmt: skip
        n_tied: int
        n_tied, n_nan, n_open, has_changed = out.counts.tolist()
        if n_nan:
            refuse_nan(self.rankings)
        if n_open and not has_changed:  # queries with many candidates
            load_kernels("ranking.many_candidates").rank_remaining(
                self.scores, self.document_offsets, first, candidates.arrays, depth, self.strategy, out.arrays
            )
            n_tied, _, _, has_changed = out.counts.tolist()
        if has_changed:
            refuse_changed("scores")
        if n_tied and self.policy.orders != "group":
            self._order_ties(first, out)
        return n_tied

    def _order_ties(self, first: int, out: HitBuffers) -> None:
        """Order the hits of each tie group by the convention's policy."""
        policy = self.policy
        if policy.orders == "label":
            order_by_label(policy, out)
            return
        tie_policies = load_kernels("ranking.ties")
        rankings = self.rankings
        # for input_reversed, `apply_convention` has numbered the documents
        keys = policy.choose(id=rankings.tie_keys, input=rankings.tie_keys if policy.falls else None)
        keys = np.empty(0, "i8") if keys is None else keys
        if not policy.falls:
            keys = ~keys  # falls as the key rises, also for the lowest int64
        tie_policies.order_by_key(rankings.scores, read_only(keys), rankings.offsets, first, out.arrays)
        n_hits = out.offsets.item(-1)
        if not tie_policies.has_valid_tie_order(out.queries[:n_hits], out.above[:n_hits], out.ties[:n_hits]):
            refuse_changed("scores")


class KnownRanker(Ranker):
    """Hits of documents whose ranks are known, such as recommended items, pairs, or a fusion at a weight."""

    __slots__ = ("known",)

    def __init__(self, rankings: HitRankings, convention: Convention, strategy: int) -> None:
        """Take hits in rank order. Tie policies other than those by label have ordered them."""
        hits = rankings.judged_hits
        super().__init__(rankings, convention, strategy, hits.labels, hits.offsets)
        self.known = (hits.above, hits.offsets, hits.ties, hits.tie_starts)

    def find_hits(self, first: int, candidates: CandidateArrays, depth: int, out: HitBuffers) -> int:
        """Write the hits of a chunk, and order ties by label where the policy says so."""
        load_kernels("ranking.known_ranks").write_known_hits(self.known, first, candidates.arrays, depth, out.arrays)
        return order_by_label(self.policy, out)


class MatrixRanker(Ranker):
    """Hits of the candidates in rows of a score matrix."""

    __slots__ = ()
    rankings: ScoreRowRankings

    def find_hits(self, first: int, candidates: CandidateArrays, depth: int, out: HitBuffers) -> int:
        """Rank the labelled candidates of each row, and order ties."""
        rows = self.rankings.rows
        places = rows.places[self.label_offsets.item(first) :]
        load_kernels("ranking.rank_matrix").rank_rows(
            rows.scores, (places, *rows.kernel_rows[1:]), first, candidates.arrays, depth, self.strategy,
            find_tie_order(self.policy), out.arrays,
        )  # fmt: skip
        _, n_nan, _, has_changed = out.counts.tolist()
        if n_nan:
            refuse_nan(self.rankings)
        if has_changed:
            refuse_changed("scores")
        return order_by_label(self.policy, out)


class CountRanker(Ranker):
    """Hits of labelled candidates for which the candidates above and at their place were counted."""

    __slots__ = ()
    rankings: CountedRankings

    def find_hits(self, first: int, candidates: CandidateArrays, depth: int, out: HitBuffers) -> int:
        """Write the hits of a chunk in rank order, and order ties."""
        load_kernels("ranking.known_ranks").write_counted_hits(
            tuple(self.rankings.judged_hits.counts), self.label_offsets, first, candidates.arrays, depth,
            find_tie_order(self.policy), out.arrays,
        )  # fmt: skip
        return order_by_label(self.policy, out)


def find_tie_order(policy: TiePolicy) -> int:
    """Return how kernels order tied columns: by rising or falling number, or not."""
    kernels = load_kernels("ranking.rank_matrix")
    by_number = kernels.FALLING if policy.falls else kernels.RISING
    return int(policy.choose(group=kernels.AS_GROUPS, label=kernels.AS_GROUPS, input=by_number, id=by_number))


def refuse_nan(rankings: Rankings) -> NoReturn:
    """Raise for the first score that is NaN."""
    rule = "not be NaN: Find out where it comes from, or take "
    rankings.refuse("scores", np.isnan(rankings.scores), rule, Choice("nan_scores", ["last"]))


def order_by_label(policy: TiePolicy, out: HitBuffers) -> int:
    """
    Order the hits of each tie group where the policy says so: by falling label for 'best', by rising for 'worst'.

    Return the number of queries in which ties matter.
    """
    n_tied = int(out.counts[0])
    if n_tied and policy.choose(group=False, label=True, input=False, id=False):
        tie_policies = load_kernels("ranking.ties")
        (tie_policies.order_best_first if policy.falls else tie_policies.order_worst_first)(out.arrays)
    return n_tied


def make_ranker(rankings: Rankings, convention: Convention, strategy: int, scratch: Scratch) -> Ranker:
    """Return what ranks the documents of rankings: scores, a score matrix, counts or known ranks."""
    if isinstance(rankings, ScoreRowRankings):
        return MatrixRanker(rankings, convention, strategy, rankings.rows.labels, rankings.rows.offsets)
    hits = rankings.judged_hits
    if hits is None:
        return ScoreRanker(rankings, convention, strategy, scratch)
    if isinstance(rankings, CountedRankings):
        return CountRanker(rankings, convention, strategy, hits.labels, hits.offsets)
    return KnownRanker(cast(HitRankings, rankings), convention, strategy)
