"""One chunk of queries: its truth, which all systems share, and one system's ranking of its documents."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from fastndcg import giants
from fastndcg.checks import check_labels
from fastndcg.conventions import Convention
from fastndcg.discounts import Discounts
from fastndcg.kernels import candidates, ideal, ties
from fastndcg.kernels.open import rank_open
from fastndcg.kernels.rank import rank, take_known
from fastndcg.kernels.vectors import WIDE
from fastndcg.memory import F8, I4, I8, Memory, Room, Scratch
from fastndcg.rankings import Array, Rankings, read_only
from fastndcg.texts import Value


@dataclass(slots=True)  # not frozen, which takes four times as long to make; nobody changes it
class Job:
    """What the chunks of an evaluation share. In `rankings` the convention has been applied already."""

    rankings: Rankings
    convention: Convention
    depth: int  # the deepest rank that any metric looks at
    gains: frozenset[Value]  # that any metric adds up
    discounts: Discounts
    scores: Array  # those of the rankings, made up to one vector: kernels compare whole vectors
    strategy: int
    values: Array  # (n_metrics, n_queries), filled in by the chunks
    points: dict[Hashable, tuple[float, ...]]  # such as cutoffs, that metrics share their work for: see steps.py
    views: dict[str, Job]  # what some metrics look at, by name, where it is not the same: see documents.py
    cuts_fractions: bool  # of labels: there may be some, and the convention cuts them off


@dataclass(slots=True)
class Candidates:
    """Documents whose label is not 0, query after query."""

    documents: Array
    labels: Array
    offsets: Array
    marks: Array
    before: Array


class Ideal(NamedTuple):
    """The same of the best order, which has no ties."""

    labels: Array
    above: Array
    offsets: Array


class Truth:
    """The labels of queries `first` up to `stop`: all that does not depend on the scores."""

    __slots__ = (
        "_memory", "_sizes", "candidates", "first", "found", "judged", "least_label", "made", "n_queries", "offsets",
        "only_label", "searched", "stop", "take",
    )  # fmt: skip

    def __init__(self, job: Job, memory: Memory, first: int, stop: int) -> None:
        rankings = job.rankings
        self.first = first
        self.stop = stop
        self.n_queries = stop - first
        self.offsets = rankings.offsets
        self.take = memory.take
        self._memory = memory
        self.made: dict[Hashable, Any] = {}  # by what it is and depends on
        self._sizes: Array | None = None
        self.found = rankings.found
        labels, offsets = (rankings.labels, rankings.offsets) if self.found is None else self.found[1:]
        self.candidates, self.least_label, self.only_label = self._collect(job, "labels", labels, offsets)
        self.judged = found = self.candidates
        searched = (found.documents, found.labels, found.offsets, found.marks, found.before)
        self.searched = (rankings.offsets, first, *searched)  # by kernels/rank.py
        if rankings.pool is not None:
            self.judged, self.least_label, self.only_label = self._collect(job, "pool", *rankings.pool)

    @property
    def sizes(self) -> Array:
        """How many documents each query has."""
        if self._sizes is None:
            self._sizes = np.diff(self.offsets[self.first : self.stop + 1])
        return self._sizes

    def view(self, job: Job, name: str) -> Truth:
        """The truth of a view of the same queries, with memory of its own."""
        key = "view", name
        if key not in self.made:
            self.made[key] = Truth(job.views[name], self._memory.view(name), self.first, self.stop)
        return self.made[key]  # type: ignore[no-any-return]

    def ideal(self, job: Job, *, but_ones: bool = False) -> Ideal:
        """The best order of the judged documents, or that of the queries which have other labels than 1 alone."""
        key = "ideal", but_ones
        if key not in self.made:
            labels, offsets = self.judged.labels, self.judged.offsets
            pool = job.rankings.pool
            of_all = self.offsets if pool is None else pool[1]
            out_labels = self.take(("ideal labels", but_ones), len(labels), F8)
            above = self.take(("ideal above", but_ones), len(labels), I4)
            out_offsets = self.take(("ideal offsets", but_ones), len(offsets), I8)
            queries = (labels, offsets, of_all, self.first, job.depth, but_ones, out_labels, above, out_offsets)
            ideal.best_order(*queries)
            if out_offsets[-1] < 0:
                ideal.sort_rest(*queries)
            n = out_offsets[-1]
            self.made[key] = Ideal(out_labels[:n], above[:n], out_offsets)
        return self.made[key]  # type: ignore[no-any-return]

    def _collect(self, job: Job, name: str, labels: Array, offsets: Array) -> tuple[Candidates, float, float]:
        """The candidates among labels, the least label of them, and the one that all have, NaN if they differ."""
        n_documents = offsets.item(self.stop) - offsets.item(self.first)
        room = self._memory.label_room(name, -(-n_documents // WIDE), self.n_queries)
        documents, out_labels, out_offsets, marks, before, about = room
        floor = 0.0 if job.convention.negative_labels == "keep" else -np.inf
        candidates.collect(labels, offsets, self.first, floor, *room)
        n_nan, lowest, least, most = about.tolist()
        n = out_offsets.item(-1)
        out_labels = out_labels[:n]
        check_labels(job.rankings, name, (lowest, max(most, 0.0), n_nan), out_labels, job.gains, job.convention)
        only = least if least == most else np.nan
        return Candidates(documents[:n], out_labels, out_offsets, marks, before), least, only


class Chunk:
    """One system's ranking of the documents of a truth, in a worker's memory."""

    __slots__ = ("_scratch", "hits", "job", "made", "n_tied", "take", "truth")

    def __init__(self, job: Job, truth: Truth, scratch: Scratch) -> None:
        self.job = job
        self.truth = truth
        self.take = scratch.take
        self.made: dict[Hashable, Any] = {}  # by what it is and depends on
        self._scratch = scratch
        self._rank()

    def view(self, name: str) -> Chunk:
        """The ranking of what a view shows, which is made when it is first asked for."""
        if name not in self.job.views:
            return self
        key = "view", name
        if key not in self.made:
            truth = self.truth.view(self.job, name)
            self.made[key] = Chunk(self.job.views[name], truth, self._scratch.view(name))
        return self.made[key]  # type: ignore[no-any-return]

    def _rank(self) -> None:
        job, truth, rankings = self.job, self.truth, self.job.rankings
        room = self._scratch.room_for(len(truth.candidates.labels), truth.n_queries)
        if truth.found is None:
            rank(job.scores, *truth.searched, job.depth, job.strategy, job.convention.ties == "input", *room)
        else:
            found, (above, _, offsets) = truth.candidates, truth.found
            take_known(
                above, offsets, truth.first, found.documents, found.labels, found.offsets, job.depth, *room
            )  # fmt: skip
        n_tied, n_nan, n_open = room.counts.tolist()
        if n_open:
            n_tied = self._rank_open(room)
        if n_nan:
            rule = "not be NaN: find out where it comes from, or take convention.replace(nan_scores='last')"
            rankings.refuse("scores", np.isnan(rankings.scores), rule)
        if n_tied and job.convention.ties != "average":
            self._order_ties(room.offsets, room.documents, room.labels, room.above, room.ties)
        self.hits = self._scratch.hits(room, room.offsets.item(-1))
        self.n_tied: int = n_tied  # queries in which ties decide

    def _rank_open(self, room: Room) -> int:
        """Find the hits of the queries that are open; in how many of all ties decide."""
        job, truth = self.job, self.truth
        given = (job.scores, *truth.searched, job.depth, job.strategy, giants.GIANT, *room)
        rank_open(*given)
        if room.counts[2]:
            giants.number_giants(job.scores, truth.searched, room)
            rank_open(*given)
        return int(room.counts[0])

    def _order_ties(self, offsets: Array, *hits: Array) -> None:
        policy, rankings = self.job.convention.ties, self.job.rankings
        if policy == "best":
            ties.best_first(offsets, *hits)
        elif policy == "worst":
            ties.worst_first(offsets, *hits)
        else:
            keys = np.empty(0, "i8") if rankings.tie_keys is None or policy == "input" else rankings.tie_keys
            if policy == "id_ascending":
                keys = ~keys  # falls as the key rises, also for the lowest int64
            ties.highest_key_first(rankings.scores, read_only(keys), rankings.offsets, self.truth.first, offsets, *hits)
