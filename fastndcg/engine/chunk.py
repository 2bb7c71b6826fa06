"""
Chunks of queries: spans of about equal work, their labels, their ranking by one system, and discounts by rank.

The engine reads three things from a ranker: the labels of documents that may become hits, the numbers of documents
ranked, and the hits of a chunk in rank order. Metrics do not depend on the kind of ranker.
"""

from __future__ import annotations

import copy
import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, cast

import numpy as np

from fastndcg.engine.apply import FORMULAS, HARMLESS_LABEL, Truth, check_labels
from fastndcg.engine.scratch import CandidateArrays, ChunkHits, HitBuffers, IdealHits, Scratch
from fastndcg.errors import Choice
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES, TiePolicy
from fastndcg.parsing import Value
from fastndcg.rankings.compact import CountedRankings, HitRankings, ScoreRowRankings
from fastndcg.rankings.rankings import VIEWS, Rankings, refuse_changed
from fastndcg.rankings.validation import Array, read_only

MIN_DOCUMENTS_FOR_THREADS = 1 << 17  # evaluating fewer takes less time than starting a thread

# float32 scores of 1 MB, half of a core's cache. Smaller chunks pay for calls from Python, larger ones leave the cache:
# see benchmarks/fit_constants.py
CHUNK_DOCUMENTS = 1 << 18

Span = tuple[int, int]  # queries from the first up to a stop


def cut_queries(offsets: Array, chunk_size: int, threads: int, max_queries: int | None = None) -> list[Span]:
    """
    Return spans of consecutive queries with about `chunk_size` documents each, the largest first.

    Parameters
    ----------
    offsets : (n_queries + 1,) int array
        The number of documents before each query, as a measure of work. The first need not be 0.
    chunk_size : int
        The largest number of documents of a chunk, except for one long query.
    threads : int
        The number of threads that share the chunks.
    max_queries : int, optional
        The largest number of queries of a chunk. By default `chunk_size`: queries without documents take time, too.
    """
    n_queries = len(offsets) - 1
    n_documents = int(offsets[-1] - offsets[0])
    max_queries = chunk_size if max_queries is None else max_queries
    if threads == 1 and n_documents <= chunk_size and n_queries <= max_queries:
        return [(0, n_queries)] if n_queries else []
    places = np.array(find_cuts(n_documents, chunk_size, threads), "i8") + offsets[0]
    bounds = sorted({0, n_queries, *offsets.searchsorted(places).tolist(), *range(max_queries, n_queries, max_queries)})
    before = dict(zip(bounds, offsets[bounds].tolist(), strict=True))
    return sorted(itertools.pairwise(bounds), key=lambda span: before[span[0]] - before[span[1]])


def find_cuts(n_documents: int, chunk_size: int, threads: int) -> list[int]:
    """
    Return the number of documents before each chunk but the first.

    With one thread all chunks are about equal. With more, chunks get smaller to the end, so that no thread waits long
    for the last one. A chunk is not smaller than the work that a thread is worth.
    """
    if threads == 1:
        n_chunks = -(-n_documents // chunk_size)
        return [n_documents * number // n_chunks for number in range(1, n_chunks)]
    cuts: list[int] = []
    remaining = n_documents
    while remaining > chunk_size or remaining >= 2 * MIN_DOCUMENTS_FOR_THREADS:
        remaining -= min(max(remaining // threads, MIN_DOCUMENTS_FOR_THREADS), chunk_size)
        cuts.append(n_documents - remaining)
    return cuts


BY_INPUT = TIES["input"]


class Reach(NamedTuple):
    """The ranks that metrics read: the first `depth`, and that of the first label of at least `first_rel`."""

    n_ranks: int  # the largest number of ranks that count
    depth: int
    first_rel: float  # infinity if there is no such label


WHOLE = Reach(MAX_RANK, MAX_RANK, math.inf)


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

    def find_hits(self, first: int, candidates: CandidateArrays, reach: Reach, out: HitBuffers) -> int:
        """
        Write the hits of a chunk, and return the number of queries in which ties matter.

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

    def find_hits(self, first: int, candidates: CandidateArrays, reach: Reach, out: HitBuffers) -> int:
        """Rank the candidates of a chunk by their scores."""
        load_kernels("ranking.rank").rank(
            self.scores, self.document_offsets, first, candidates.arrays, reach.n_ranks, self.strategy,
            self.policy is BY_INPUT, out.arrays,
        )  # fmt: skip
        n_tied: int
        n_tied, n_nan, n_words, has_changed = out.counts.tolist()
        if n_nan:
            refuse_nan(self.rankings)
        if n_words:
            out.enlarge_workspace(n_words)
            return self.find_hits(first, candidates, reach, out)
        if has_changed:
            refuse_changed("scores")
        if n_tied and self.policy.orders != "group":
            self._order_ties(first, reach, out)
        return n_tied

    def _order_ties(self, first: int, reach: Reach, out: HitBuffers) -> None:
        """Order the hits of each tie group in reach by the convention's policy."""
        policy = self.policy
        if policy.orders == "label":
            order_by_label(policy, out)
            return
        tie_policies = load_kernels("ranking.candidates")
        rankings = self.rankings
        # for input_reversed, `apply_convention` has numbered the documents
        keys = policy.choose(id=rankings.tie_keys, input=rankings.tie_keys if policy.falls else None)
        keys = np.empty(0, "i8") if keys is None else keys
        if not policy.falls:
            keys = ~keys  # falls as the key rises, also for the lowest int64
        tie_policies.order_by_key(
            rankings.scores, read_only(keys), rankings.offsets, first, reach.depth, reach.first_rel, out.arrays
        )
        n_hits = out.offsets.item(-1)
        if not tie_policies.has_valid_tie_order(out.queries[:n_hits], out.above[:n_hits], out.ties[:n_hits]):
            refuse_changed("scores")


class KnownRanker(Ranker):
    """Hits of documents whose ranks are known, such as recommended items, pairs, or a fusion at a weight."""

    __slots__ = ("known",)

    def __init__(self, rankings: HitRankings, convention: Convention, strategy: int) -> None:
        """Take hits in rank order. Tie policies other than those by label have ordered them."""
        hits = rankings.known_hits
        super().__init__(rankings, convention, strategy, hits.labels, hits.offsets)
        self.known = (hits.above, hits.offsets, hits.ties, hits.tie_starts)

    def find_hits(self, first: int, candidates: CandidateArrays, reach: Reach, out: HitBuffers) -> int:
        """Write the hits of a chunk, and order ties by label where the policy says so."""
        load_kernels("ranking.rank_matrix").write_known_hits(
            self.known, first, candidates.arrays, reach.n_ranks, out.arrays
        )
        return order_by_label(self.policy, out)


class MatrixRanker(Ranker):
    """Hits of the candidates in rows of a score matrix."""

    __slots__ = ()
    rankings: ScoreRowRankings

    def find_hits(self, first: int, candidates: CandidateArrays, reach: Reach, out: HitBuffers) -> int:
        """Rank the labelled candidates of each row, and order ties."""
        rows = self.rankings.rows
        places = rows.places[self.label_offsets.item(first) :]
        load_kernels("ranking.rank_matrix").rank_rows(
            rows.scores, (places, *rows.kernel_rows[1:]), first, candidates.arrays, reach.n_ranks, self.strategy,
            find_tie_order(self.policy), out.arrays,
        )  # fmt: skip
        _, n_nan, n_words, has_changed = out.counts.tolist()
        if n_nan:
            refuse_nan(self.rankings)
        if n_words:
            out.enlarge_workspace(n_words)
            return self.find_hits(first, candidates, reach, out)
        if has_changed:
            refuse_changed("scores")
        return order_by_label(self.policy, out)


class CountRanker(Ranker):
    """Hits of labelled candidates for which the candidates above and at their place were counted."""

    __slots__ = ()
    rankings: CountedRankings

    def find_hits(self, first: int, candidates: CandidateArrays, reach: Reach, out: HitBuffers) -> int:
        """Write the hits of a chunk in rank order, and order ties."""
        load_kernels("ranking.rank_matrix").write_counted_hits(
            tuple(self.rankings.known_hits.counts), self.label_offsets, first, candidates.arrays, reach.n_ranks,
            find_tie_order(self.policy), out.arrays,
        )  # fmt: skip
        if out.counts.item(3):
            refuse_changed("predictions")
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
        load_kernels("ranking.candidates").order_by_label(policy.falls, out.arrays)
    return n_tied


def make_ranker(rankings: Rankings, convention: Convention, strategy: int, scratch: Scratch) -> Ranker:
    """Return what ranks the documents of rankings: scores, a score matrix, counts or known ranks."""
    if isinstance(rankings, ScoreRowRankings):
        return MatrixRanker(rankings, convention, strategy, rankings.rows.labels, rankings.rows.offsets)
    hits = rankings.known_hits
    if hits is None:
        return ScoreRanker(rankings, convention, strategy, scratch)
    if isinstance(rankings, CountedRankings):
        return CountRanker(rankings, convention, strategy, hits.labels, hits.offsets)
    return KnownRanker(cast(HitRankings, rankings), convention, strategy)


MIN_RANKS = 1024


class Discounts(NamedTuple):
    """
    Discounts, and their sums in twice the precision of float64.

    ``values[r]`` belongs to rank r. ``sums[r] + rests[r]`` is the sum of the first r discounts. For RBP it is that sum
    less the sum of all discounts: differences of the first ranks' sums would lose the last ranks' digits.
    """

    values: Array
    sums: Array
    rests: Array
    highest: float  # the discount of rank 1


def compute_log2(numbers: Array) -> Array:
    """Return the binary logarithm of each number, with the same bits on every processor."""
    out = np.empty_like(numbers)
    load_kernels("metrics.discounts").log2(numbers, out)
    return out


def compute_powers(base: float, n: int) -> Array:
    """Return base^0 to base^(n − 1), with the same bits on every processor."""
    out = np.empty(n)
    load_kernels("metrics.discounts").powers(base, out)
    return out


DISCOUNT_FORMULAS: dict[Value, Callable[[Array], Array]] = {
    "log2": lambda ranks: 1.0 / compute_log2(ranks + 1.0),
    "log2(max(r, 2))": lambda ranks: 1.0 / compute_log2(np.maximum(ranks, 2.0)),
    "1/r": lambda ranks: 1.0 / ranks,
    "none": np.ones_like,
}
MAX_KEPT_RANKS = 1 << 18  # of all kept discounts together, 6 MB; the latest stay, so that a call can be repeated
_kept: dict[Value, Discounts] = {}


def make_discounts(discount: Value, n_ranks: int) -> Discounts:
    """
    Return the discounts of ranks 1 to `n_ranks`, and of some ranks more.

    Discounts that an earlier call computed for more ranks are cut: some kernels take time for each of them.
    """
    n_ranks = max(MIN_RANKS, 1 << (int(n_ranks) - 1).bit_length())  # a power of two stays as it is
    cached = _kept.get(discount)
    if cached is not None and len(cached.values) > n_ranks:
        size = n_ranks + 1
        if len(cached.values) == size:
            return cached
        return Discounts(cached.values[:size], cached.sums[:size], cached.rests[:size], cached.highest)
    discounts = compute_discounts(discount, n_ranks)
    _keep(discount, discounts)
    return discounts


def compute_discounts(discount: Value, n_ranks: int) -> Discounts:
    """Return the discounts of ranks 1 to `n_ranks`: by a formula, a table that continues with 0, or the p of RBP."""
    values = np.zeros(n_ranks + 1)
    if isinstance(discount, tuple):
        size = min(len(discount), n_ranks)
        values[1 : size + 1] = discount[:size]
    elif isinstance(discount, float):
        values[1:] = (1.0 - discount) * compute_powers(discount, n_ranks)
    else:
        values[1:] = DISCOUNT_FORMULAS[discount](np.arange(1.0, n_ranks + 1.0))
    if isinstance(discount, float):
        sums, rests = (-part[::-1] for part in add_up(np.append(0.0, values[:0:-1])))
    else:
        sums, rests = add_up(values)
    return Discounts(values, sums, rests, float(values[1]))


def _keep(discount: Value, discounts: Discounts) -> None:
    """Keep discounts for later calls, and drop the oldest ones beyond `MAX_KEPT_RANKS`."""
    _kept.pop(discount, None)
    _kept[discount] = discounts
    kept = list(_kept.items())  # a copy: other threads may add to it
    n_ranks = sum(len(one.values) for _, one in kept)
    for oldest, one in kept[:-1]:
        if n_ranks <= MAX_KEPT_RANKS:
            break
        _kept.pop(oldest, None)
        n_ranks -= len(one.values)


def add_up(values: Array) -> tuple[Array, Array]:
    """
    Return the sum of the first r values for each r: as float64, and the rounding error.

    The difference of two such sums is the sum of the values between them, to full precision. Differences of plain sums
    have a relative error of 1e-13 at rank 1,000 and of 4e-10 at rank 10⁷.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # an infinite sum is an error of the query that needs it
        sums = np.add.accumulate(values)
        before = np.append(0.0, sums[:-1])
        added = sums - before
        errors = before - (sums - added)
        errors += np.subtract(values, added, out=added)
        return sums, np.add.accumulate(errors, out=errors)


@dataclass(frozen=True, slots=True, eq=False)
class ChunkPlan:
    """
    What chunks read of a plan.

    Attributes
    ----------
    reach : Reach
        The ranks that count.
    gains : frozenset
        The gains that labels are checked for.
    views : frozenset of str
        The selections of documents that metrics read (see rankings/rankings.py).
    """

    convention: Convention
    reach: Reach
    gains: frozenset[Value]
    views: frozenset[str]


class EvaluationContext:
    """
    Everything that the chunks of one evaluation share.

    Attributes
    ----------
    rankings : Rankings
        To which the convention has been applied.
    gains : frozenset
        The gains that labels are checked for.
    values : (n_metrics, n_queries) float64 array
        The output.
    views : dict
        Contexts of other selections of documents or labels, by the name of the view (see rankings/rankings.py).
    """

    __slots__ = ("convention", "discounts", "gains", "ranker", "rankings", "reach", "values", "views")

    def __init__(
        self, rankings: Rankings, plan: ChunkPlan, discounts: Discounts, strategy: int, values: Array, scratch: Scratch
    ) -> None:
        self.convention = convention = plan.convention
        self.reach = plan.reach
        self.rankings = rankings
        self.ranker = make_ranker(rankings, convention, strategy, scratch)
        self.discounts = discounts
        self.gains = plan.gains
        self.values = values
        self.views: dict[str, EvaluationContext] = {}
        for name in plan.views:
            self.views[name] = self
            selection = VIEWS[name](rankings, convention)
            if selection is not rankings:
                self.views[name] = view = copy.copy(self)
                view.rankings = selection
                view.ranker = make_ranker(selection, convention, strategy, scratch.view(name))
                view.gains = frozenset()  # labels of the whole, which are checked, or marks of 0 and 1
                view.views = {}


class ChunkLabels:
    """
    The labels of queries `first` up to `stop`: all that does not depend on the ranking.

    Attributes
    ----------
    candidates : CandidateArrays
        The documents that may become hits, because their label is not 0.
    pool_candidates : CandidateArrays
        The judged documents with a label other than 0, retrieved or not.
    is_pooled : bool
        True if documents may have been judged without being ranked.
    lowest_label, highest_label : float
        The lowest and the highest label of the pool's candidates.
    are_all_ones : bool
        True if all of them have label 1.
    depth : int
        The largest number of ranks that count.
    discounts : Discounts
        The convention's.
    truncates_labels : bool
        True if labels may have fractions and the convention cuts them off.
    highest_ndcg : float
        1, or infinity where gains may be negative or documents count several times.
    truth : Truth
        The labels of all queries.
    memo : dict
        The values of functions of labels: see compute/memo.py.
    take : callable
        ``take(size, dtype)`` returns an array that is valid as long as these labels.
    """

    def __init__(self, context: EvaluationContext, scratch: Scratch | None, first: int, stop: int) -> None:
        """Collect candidates. Without a scratch, the labels stay as they are when the evaluation ends."""
        ranker = context.ranker
        self.first = first
        self.stop = stop
        self.n_queries = stop - first
        self.convention = convention = context.convention
        self.depth = context.reach.n_ranks
        self.discounts = context.discounts
        self.document_offsets = ranker.document_offsets
        self.memo: dict[Any, Any] = {}
        if scratch is None:
            self._scratch = Scratch()
            self.take: Callable[..., Array] = np.empty
            self.truth: Truth = context.rankings.without_scores()
        else:
            self._scratch = scratch
            self.take = scratch.take
            self.truth = context.rankings
        self.candidates, lowest, highest = self._collect(context, "labels", ranker.labels, ranker.label_offsets)
        self.pool_candidates = self.candidates
        pool = context.rankings.pool
        self.is_pooled = pool is not None
        if pool is not None:
            self.pool_candidates, lowest, highest = self._collect(context, "pool", *pool)
        self.highest_ndcg = math.inf if context.rankings.has_repeats or convention.negative_labels == "keep" else 1.0
        self.lowest_label = lowest
        self.highest_label = highest
        self.are_all_ones = lowest == highest == 1.0
        self.truncates_labels = convention.label_fractions == "cut off" and (
            ranker.labels.dtype.kind == "f" or (pool is not None and pool[0].dtype.kind == "f")
        )

    @functools.cached_property
    def sizes(self) -> Array:
        """The number of documents ranked in each query."""
        return np.diff(self.document_offsets[self.first : self.stop + 1])

    @functools.cached_property
    def longest(self) -> int:
        """The number of documents ranked in the longest query."""
        return int(self.sizes.max(initial=0))

    def view(self, context: EvaluationContext, name: str) -> ChunkLabels:
        """Return the labels of a view of the same queries."""
        key = "view", name
        if key not in self.memo:
            is_kept = self.take is np.empty
            scratch = None if is_kept else self._scratch.view(name)
            self.memo[key] = ChunkLabels(context.views[name], scratch, self.first, self.stop)
        return self.memo[key]  # type: ignore[no-any-return]

    def check_offsets(self, rankings: Rankings) -> None:
        """Raise an error if other documents count than when the labels were read: kernels would follow the old ones."""
        offsets = rankings.offsets
        if offsets is self.document_offsets:
            return
        start, stop = self.first, self.stop + 1
        if not np.array_equal(offsets[start:stop], self.document_offsets[start:stop]):
            refuse_changed("labels")

    def rank(self, labels: Array, *, skip_all_ones: bool = False) -> IdealHits:
        """
        Rank the pool's candidates by falling label, or by what is given in place of their labels.

        With `skip_all_ones` it leaves out the queries in which all labels are 1.
        """
        offsets = self.pool_candidates.offsets
        out = self._scratch.ideal_buffers(len(labels), len(offsets))
        pool = self.truth.pool
        load_kernels("ranking.sort").rank_ideal(
            labels, offsets, self.document_offsets if pool is None else pool[1], self.first, self.depth, skip_all_ones,
            out.arrays,
        )  # fmt: skip
        return out.cut(out.offsets.item(-1))  # type: ignore[no-any-return]

    def _collect(
        self, context: EvaluationContext, name: str, labels: Array, offsets: Array
    ) -> tuple[CandidateArrays, float, float]:
        """Collect the candidates of the array `name`, check its labels, and return their lowest and highest label."""
        n_documents = offsets.item(self.stop) - offsets.item(self.first)
        n_blocks = -(-n_documents // load_kernels("simd").WIDE)
        buffers = self._scratch.candidate_buffers(name, n_blocks, self.n_queries)
        floor = 0.0 if context.convention.negative_labels == "keep" else -math.inf
        summary = buffers.out_summary
        load_kernels("ranking.candidates").collect(labels, offsets, self.first, floor, buffers.arrays, summary)
        n_nan, lowest_of_all, lowest, highest = summary.tolist()
        candidates = buffers.cut(buffers.offsets.item(-1))
        if lowest_of_all < 0 or highest > HARMLESS_LABEL or n_nan or not context.gains <= FORMULAS:
            extremes = (lowest_of_all, max(highest, 0.0), n_nan)
            check_labels(context.rankings, name, extremes, candidates.labels, context.gains, context.convention)
        return candidates, lowest, highest


class Chunk:
    """
    The ranking of a chunk's documents by one system.

    Attributes
    ----------
    hits : ChunkHits
        In rank order.
    n_tied : int
        The number of queries in which the order of equal scores matters.
    has_average_ties : bool
        True if any hits share their ranks, so that metrics are means over the orders of a tie.
    memo : dict
        The values of functions of the ranking: see compute/memo.py.
    take : callable
        ``take(size, dtype)`` returns an array that is valid for this chunk.
    """

    __slots__ = ("_scratch", "context", "has_average_ties", "hits", "labels", "memo", "n_tied", "take")

    def __init__(self, context: EvaluationContext, labels: ChunkLabels, scratch: Scratch) -> None:
        self.context = context
        self.labels = labels
        self.take = scratch.take
        self.memo: dict[Any, Any] = {}
        self._scratch = scratch
        buffers = scratch.hit_buffers(len(labels.candidates.labels), labels.n_queries)
        self.n_tied = context.ranker.find_hits(labels.first, labels.candidates, context.reach, buffers)
        self.hits: ChunkHits = buffers.cut(buffers.offsets.item(-1))
        self.has_average_ties = self.n_tied > 0 and context.convention.ties == "average"

    def view(self, name: str) -> Chunk:
        """Return the ranking of a view's documents, this one where all documents are the view's."""
        context = self.context.views[name]
        if context is self.context:
            return self
        key = "view", name
        if key not in self.memo:
            labels = self.labels.view(self.context, name)
            labels.check_offsets(context.rankings)
            self.memo[key] = Chunk(context, labels, self._scratch.view(name))
        return self.memo[key]  # type: ignore[no-any-return]
