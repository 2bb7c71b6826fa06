"""
The exact line search: the metric as a step function of the weight of two score lists, with every step.

It works on the documents of joined runs with their judgments, which the evaluation of every fused run shares.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastndcg.engine import run as engine
from fastndcg.engine.apply import apply_convention
from fastndcg.engine.chunk import Span, cut_queries
from fastndcg.engine.plan import make_plan
from fastndcg.engine.scratch import Scratch
from fastndcg.errors import Choice, InvalidInputError, UndefinedMetricError
from fastndcg.fusion.joined_runs import add_up, replace_scores
from fastndcg.inputs.join import join, tie_keys
from fastndcg.inputs.table import Qrels, Run
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import find_denominators
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.compact import HitRankings, KnownHits, find_tie_starts
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_stopped, check_threads, run_all

N_EVENTS = 1 << 19  # of a call of a kernel: 28 MB
N_RANKINGS = 1 << 15
N_HITS = 1 << 20
SPAN_DOCUMENTS = 1 << 18
LOWEST = 5e-324  # a crossing at 0 is before the first ranking
NARROW = 1e-12  # a window of weights with more crossings than this is not divided further


@dataclass(frozen=True, slots=True)
class JudgedRuns:
    """Judged documents of joined runs, without scores."""

    rankings: Rankings  # after the changes of the convention, with scores that are ignored
    rows: Array  # (n_documents,) int64: the row of each document in the run that was judged
    metric: Metric
    convention: Convention
    undefined: Array | None  # (n_queries,) bool: queries without judgments, in which no metric has a value
    n_missing_in_run: int  # queries that only the qrels have
    n_missing_in_qrels: int
    sign: int  # 1 if higher values of the metric are better, else -1

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return self.rankings.n_queries

    @property
    def query_ids(self) -> Array:
        """The ids of the queries."""
        ids = self.rankings.query_ids
        return np.arange(self.n_queries) if ids is None else ids

    def evaluate(self, scores: Array, threads: int | None = None) -> Array:
        """Return the metric of each query for the fused scores of the documents of the rankings."""
        base = self.rankings
        rankings = Rankings.from_checked(
            base.labels, scores, base.offsets, base.query_ids, base.judged, base.pool, base._find_name, base.tie_keys
        )
        output = engine.run(rankings, (self.metric,), self.convention, undefined=self.undefined, threads=threads)
        return np.ascontiguousarray(output.values[:, 0])


def judge_runs(qrels: Qrels, documents: Run, metric: Metric, convention: Convention, threads: int | None) -> JudgedRuns:
    """Join the documents of all runs, whose scores are ignored, with the judgments. The convention is for ids."""
    _check_metric(metric, convention)
    rows = np.arange(len(documents), dtype="f8")
    joined = join(qrels, replace_scores(documents, rows), convention, threads)
    rankings = joined.rankings
    if TIES[convention.ties].orders == "id":
        keys = tie_keys(
            replace_scores(documents, np.zeros(len(documents))), threads
        )  # keys differ where scores are equal
        rankings = rankings.replace(tie_keys=keys[rankings.scores.astype("i8")])
    rankings = apply_convention(rankings, convention)
    return JudgedRuns(
        rankings,
        rankings.scores.astype("i8"),
        metric,
        convention,
        joined.unjudged_queries,
        joined.n_missing_in_run,
        joined.n_missing_in_qrels,
        metric.sign,
    )


def _check_metric(metric: Metric, convention: Convention) -> None:
    """Raise an error for a metric whose mean does not follow from the ranks of relevant documents in each query."""
    remedy = "Take a metric such as ndcg@10"
    if metric.record.by_subtopic or metric.record.function_name != "evaluate":
        raise InvalidInputError(f"`metric` must read one label a document, but {metric} does not. {remedy}")
    if metric.aggregate is not None or find_denominators((metric,), convention):
        raise InvalidInputError(f"`metric` must have a mean over queries, but {metric} has another. {remedy}")
    if make_plan((metric,), convention).views:
        raise InvalidInputError(
            f"`metric` must depend on the ranks of relevant documents alone, but {metric} reads unjudged ones. {remedy}"
        )
    if convention.score_dtype == "float32":
        raise InvalidInputError(
            f"`convention` must compare scores as they are, but {convention} rounds them to float32. Take ",
            Choice("score_dtype", ["as given"]),
        )


class Interval(NamedTuple):
    """Weights from `low` to `high` with one mean of the metric."""

    low: float
    high: float
    mean: float

    @property
    def middle(self) -> float:
        """The weight in the middle."""
        return self.low + (self.high - self.low) / 2


@dataclass(frozen=True)
class StepFunction:
    """
    The metric of each query as a step function of the weight between 0 and 1.

    Between two steps a query's ranking stays the same. At a step itself documents tie, and the function has the value
    that follows.

    The function equals the engine's values to the bit at each weight between the crossings of documents. A crossing is
    a weight at which two fused scores are equal. Where two fused scores differ by their rounding alone, which is within
    1e-6 of a crossing, of 0 and of 1, and wherever two documents have nearly the same scores in both lists, the engine
    may rank them otherwise.
    """

    starts: Array  # (n_steps,) float64: where each value begins, query after query, the first one of a query at 0
    values: Array  # (n_steps,) float64
    offsets: Array  # (n_queries + 1,) int64: query q owns steps offsets[q] up to offsets[q + 1]
    sign: int = 1  # -1 if lower values are better

    @property
    def first_values(self) -> Array:
        """The value of each query before its first step, that is at weight 0: (n_queries,)."""
        return self.values[self.offsets[:-1]]

    @functools.cached_property
    def in_order(self) -> tuple[Array, Array, Array]:
        """The weights, queries and values of all steps after the first ones, in the order of the weight."""
        is_later = np.ones(len(self.starts), bool)
        is_later[self.offsets[:-1]] = False
        later = is_later.nonzero()[0]
        order = later[self.starts[later].argsort(kind="stable")]
        queries = np.repeat(np.arange(len(self.offsets) - 1, dtype="i4"), np.diff(self.offsets))
        return self.starts[order], queries[order], self.values[order]

    def find_best(self, folds: Array, sets: Array) -> list[Interval]:
        """
        Return the interval of weights with the best mean over the queries of each set of folds that have a value.

        `folds` has the fold of each query, int32, and `sets` is (n_sets, n_folds) uint8, 1 for the folds of a set.
        """
        weights, queries, values = self.in_order
        first = self.sign * self.first_values
        counts = sets @ np.bincount(folds[~np.isnan(first)], minlength=sets.shape[1])
        best = np.empty((len(sets), 3))
        load_kernels("fusion.line_search").find_best(
            weights, queries, self.sign * values, folds, sets, first, np.empty((len(sets), 4)), best
        )
        return [
            Interval(low, high, self.sign * total / n if n else np.nan)
            for (low, high, total), n in zip(best.tolist(), counts.tolist(), strict=True)
        ]

    def find_cell(self, weight: float) -> tuple[float, float]:
        """Return the last step of any query up to a weight, and the first one above it."""
        weights = self.in_order[0]
        place = int(np.searchsorted(weights, weight, side="right"))
        low = float(weights[place - 1]) if place else 0.0
        return low, float(weights[place]) if place < len(weights) else 1.0

    def sum_curve(self) -> tuple[Array, Array]:
        """Return the weights at which the mean over all queries changes, from 0 on, and the mean from each one on."""
        weights, queries, values = self.in_order
        starts = np.empty(len(weights) + 1)
        sums = np.empty(len(weights) + 1)
        state = self.first_values.copy()
        n_defined = np.count_nonzero(~np.isnan(state))
        n = load_kernels("fusion.line_search").sum_curve(weights, queries, values, state, starts, sums)
        return starts[:n].copy(), sums[:n] / n_defined

    def look_up(self, points: Array) -> Array:
        """Return the value of each query at some weights in rising order: (n_queries, n_points)."""
        out = np.empty((len(self.offsets) - 1, len(points)))
        load_kernels("fusion.line_search").look_up(self.starts, self.values, self.offsets, points, out)
        return out


class Steps(NamedTuple):
    """Steps of some queries: their queries, where they begin, and the values from there on."""

    queries: Array
    starts: Array
    values: Array


class LineInputs(NamedTuple):
    """The arrays that the search reads, as kernels take them."""

    lines: tuple[Array, ...]
    candidates: tuple[Array, ...]
    pool: tuple[Array, Array]
    sizes: Array
    judged: JudgedRuns
    depth: int


def search_line(
    judged: JudgedRuns, x: Array, y: Array, *, queries: Array | None = None, threads: int | None = None
) -> StepFunction:
    """
    Return the metric of each query for the scores ``w * x + (1 - w) * y`` of all weights w between 0 and 1.

    `x` and `y` are (n_documents,) float64, the parts of both lists in the fusion. `queries` is (n_queries,) bool, False
    for queries whose values do not count: they have no steps. Memory is bounded, except for the steps of the result.
    Values are those of the engine for the hits of each ranking. Rankings are those of the lines without rounding: see
    `StepFunction` for where the engine has others. The number of threads changes no bit. A query that has a value at
    some weights only is an error.
    """
    inputs = _make_inputs(judged, x, y, queries)
    n_threads = check_threads(threads)
    work = judged.rankings.offsets + np.arange(judged.n_queries + 1)
    is_short = work[-1] < SPAN_DOCUMENTS
    spans = [(0, judged.n_queries)] if is_short else cut_queries(work, SPAN_DOCUMENTS, n_threads)
    parts: dict[Span, list[Steps]] = {}

    def make_worker() -> Callable[[Span], None]:
        worker = _Worker(inputs)
        return lambda span: parts.__setitem__(span, worker.search(span))

    with track(spans, "searching weights", len(spans)) as tracked_spans:
        run_all(tracked_spans, make_worker, min(n_threads, max(len(spans), 1)))
    steps_of_parts = (part for span in sorted(spans) for part in parts[span])
    columns = [np.concatenate(column) for column in zip(*steps_of_parts, strict=True)]
    steps = join_steps(columns[0], columns[1], columns[2], judged.n_queries, judged.sign)
    _check_defined(judged, steps)
    return steps


def _make_inputs(judged: JudgedRuns, x: Array, y: Array, queries: Array | None) -> LineInputs:
    """Collect what kernels read: lines, candidates and pools."""
    rankings = judged.rankings
    labels = rankings.labels
    keeps_negative = judged.convention.negative_labels == "keep"
    is_candidate = labels != 0 if keeps_negative else labels > 0
    if queries is not None:
        is_candidate &= np.repeat(queries, np.diff(rankings.offsets))
    places = np.flatnonzero(is_candidate)
    before = np.searchsorted(places, rankings.offsets)
    candidates = (places, read_only(labels[places]), read_only(before))
    pool = (labels, rankings.offsets) if rankings.pool is None else rankings.pool
    if not keeps_negative and not judged.metric.record.counts_judged:
        is_relevant = pool[0] > 0
        pool = (pool[0][is_relevant], add_up(is_relevant)[pool[1]])
    pool = (read_only(pool[0]), read_only(pool[1]))
    lines = (read_only(x), read_only(y), read_only(_make_keys(judged)), rankings.offsets)
    depth = make_plan((judged.metric,), judged.convention).reach.n_ranks
    return LineInputs(lines, candidates, pool, np.diff(rankings.offsets), judged, depth)


def _make_keys(judged: JudgedRuns) -> Array:
    """Return the keys by which documents with equal scores rank, none if they tie or rank by label."""
    policy = TIES[judged.convention.ties]
    given = judged.rankings.tie_keys
    nothing = np.empty(0, "i8")
    keys = nothing if given is None else given.astype("i8") if policy.falls else ~given.astype("i8")
    places = keys if policy.falls else -np.arange(judged.rankings.n_documents)
    found: Array = policy.choose(group=nothing, label=nothing, input=places, id=keys)
    return found


def _check_defined(judged: JudgedRuns, steps: StepFunction) -> None:
    """Raise an error if a query has a value at some weights only."""
    n_undefined = np.add.reduceat(np.isnan(steps.values), steps.offsets[:-1])
    mixed = np.flatnonzero((n_undefined > 0) & (n_undefined < np.diff(steps.offsets)))
    if len(mixed):
        raise UndefinedMetricError(
            f"{judged.metric} must have a value for all weights of a query or for none, but "
            f"{judged.rankings.query_name(int(mixed[0]))} has one for some. Take ",
            Choice("undefined", [0]),
        )


def join_steps(queries: Array, starts: Array, values: Array, n_queries: int, sign: int) -> StepFunction:
    """Return the step function of steps in the order of queries and weights. Steps without a change are left out."""
    is_first = np.ones(len(queries), bool)
    is_first[1:] = queries[1:] != queries[:-1]
    is_change = is_first.copy()
    is_change[1:] |= (values[1:] != values[:-1]) & ~(np.isnan(values[1:]) & np.isnan(values[:-1]))
    starts = starts[is_change]
    starts[is_first[is_change]] = 0.0
    offsets = add_up(np.bincount(queries[is_change], minlength=n_queries))
    return StepFunction(starts, values[is_change], offsets, sign)


class _Worker:
    """The search with its buffers, for one thread."""

    def __init__(self, inputs: LineInputs) -> None:
        self._inputs = inputs
        self._kernels: Any = load_kernels("fusion.line_search")
        self._scratch = Scratch()
        longest = int(inputs.sizes.max(initial=0))
        self._line_buffers = (
            np.empty(longest), np.empty(longest), np.empty(longest, bool), np.empty(min(inputs.depth, longest)),
        )  # fmt: skip
        self._make_event_buffers(max(N_EVENTS, 2 * longest + 1))
        n_most = int(np.diff(inputs.candidates[2]).max(initial=0))
        n_hits = max(N_HITS, n_most)
        n_pool = max(N_HITS, int(np.diff(inputs.pool[1]).max(initial=0)))
        self._starts = np.empty(N_RANKINGS)
        self._queries = np.empty(N_RANKINGS, "i4")
        self._offsets = tuple(np.empty(N_RANKINGS + 1, "i8") for _ in range(3))
        self._hits = (np.empty(n_hits, "i4"), np.empty(n_hits, "i4"), np.empty(n_hits, inputs.candidates[1].dtype))
        self._pool = np.empty(n_pool, inputs.pool[0].dtype)
        n_candidates = len(inputs.candidates[0])
        self._above = np.empty(n_candidates, "i4")
        self._ties = np.empty(n_candidates, "i4")
        self._cursor = np.zeros(4, "i8")
        self._state = (self._cursor, np.empty(n_most, "i4"), np.empty(n_most, bool))

    def _make_event_buffers(self, n: int) -> None:
        self._events = np.empty(n), np.empty(n, "i8")
        crossings = np.empty(n)
        self._sort_buffers = (crossings, crossings.view("i8"), np.empty(n, "i8"), np.empty(n, "i4"), np.empty(n, "i4"))

    def search(self, span: Span) -> list[Steps]:
        """Return the steps of a span of queries, part by part."""
        parts: list[Steps] = []
        first, stop = span
        while first < stop:
            check_stopped()
            first = self._search_window((first, stop), (LOWEST, 1.0), parts)
        return parts

    def _search_window(self, span: Span, window: tuple[float, float], parts: list[Steps]) -> int:
        """
        Add the steps of some queries within a window of weights, and return the query after the last one.

        If one query alone has too many crossings, it is searched in two halves of the window.
        """
        first, stop = span
        inputs = self._inputs
        offsets = np.empty(stop - first + 1, "i8")
        events = (*self._events, offsets, self._above, self._ties)
        reached_query = self._kernels.find_events(
            inputs.lines,
            inputs.candidates,
            span,
            window,
            inputs.depth,
            (*self._sort_buffers, *self._line_buffers),
            events,
        )
        if reached_query > first:
            self._replay((first, reached_query), window[0], offsets, parts)
        elif window[1] - window[0] > NARROW:
            middle = window[0] + (window[1] - window[0]) / 2
            self._search_window((first, first + 1), (window[0], middle), parts)
            self._search_window((first, first + 1), (middle, window[1]), parts)
            reached_query = first + 1
        else:
            self._make_event_buffers(2 * len(self._events[0]))
            reached_query = self._search_window((first, first + 1), window, parts)
        return int(reached_query)

    def _replay(self, span: Span, low: float, event_offsets: Array, parts: list[Steps]) -> None:
        """Add the steps of some queries whose events are in the buffers."""
        inputs = self._inputs
        cursor = self._cursor
        cursor[:] = (span[0], 0, 0, 0)
        events = (*self._events, event_offsets, self._above, self._ties)
        rankings = (self._starts, self._queries, *self._offsets, *self._hits, self._pool)
        limits = (*span, low, inputs.depth)
        while cursor[0] < span[1]:
            check_stopped()
            n = self._kernels.write_rankings(
                inputs.candidates, inputs.pool, events, inputs.sizes, limits, self._state, rankings
            )
            queries = self._queries[:n].copy()
            parts.append(Steps(queries, self._starts[:n].copy(), self._evaluate(n, queries)))

    def _evaluate(self, n: int, queries: Array) -> Array:
        """Return the metric of the rankings in the buffers."""
        judged = self._inputs.judged
        hit_offsets, sizes, pool_offsets = (offsets[: n + 1] for offsets in self._offsets)
        n_hits = hit_offsets.item(-1)
        above, ties, labels = (read_only(array[:n_hits]) for array in self._hits)
        hits = KnownHits(above, labels, read_only(hit_offsets), ties, find_tie_starts(above, ties > 1))
        pool = (read_only(self._pool[: pool_offsets.item(-1)]), read_only(pool_offsets))
        rankings = HitRankings(hits, read_only(sizes), pool)
        convention = judged.convention
        if TIES[convention.ties] == TIES["input_reversed"]:  # the keys of the lines have ordered ties
            convention = convention.replace(ties="input")
        undefined = None if judged.undefined is None else judged.undefined[queries]
        output = engine.run(
            rankings, (judged.metric,), convention, undefined=undefined, threads=1, scratch=self._scratch
        )
        return np.ascontiguousarray(output.values[:, 0])
