"""
Documents that moved between two rankings of the same queries, of all queries at once.

Arrays of documents have a row for each, in rank order, query after query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastndcg.engine.apply import apply_convention
from fastndcg.explaining.contributions import MAX_BATCH, JoinedSystem, evaluate_rankings
from fastndcg.inputs.ids import IdColumn, concatenate_comparable, join_segments, make_comparable, run_on_spans
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.rankings.compact import HitRankings, KnownHits
from fastndcg.rankings.validation import Array, count_before, mask_offsets, read_only

KINDS = (
    "label changed", "entered", "unjudged entered", "left", "tie made", "tie broken", "up", "down", "unmoved",
)  # fmt: skip
SIDES = ("run before", "run after")
ABSENT = -1
SPAN = 1 << 12  # documents that are sorted at once: 10^6 of 10^4 queries take 0.10 s, and all at once 0.53 s


@dataclass(slots=True)
class RankedRows:
    """
    The documents of queries that are or may be within the cutoff, in rank order.

    Attributes
    ----------
    queries, places : (n_rows,) int arrays
        The number of each document's query, and its index in the rankings.
    ids : IdColumn
    first, last : (n_rows,) int arrays
        The first and the last rank that the document may have, from 1.
    labels : (n_rows,) float64 array
        NaN without a judgment.
    adds : (n_rows,) float64 array
        What each document adds to its query's value. NaN if that is not known.
    """

    queries: Array
    places: Array
    ids: IdColumn
    first: Array
    last: Array
    labels: Array
    adds: Array


def rank_rows(system: JoinedSystem, numbers: Array, k: int | None) -> RankedRows:
    """
    Return the documents of a system in rank order, down to rank `k`.

    Parameters
    ----------
    system : JoinedSystem
        All its rankings.
    numbers : (n_queries,) int array
        The number of each query of the rankings, `ABSENT` for those that are left out.
    k : int or None
        The cutoff.
    """
    rankings, policy = _apply(system), TIES[system.applied.ties]
    kept: Array = rankings.tie_keys
    queries = np.repeat(np.arange(rankings.n_queries), np.diff(rankings.offsets))
    rows = np.flatnonzero(numbers[queries] >= 0)
    queries, places, labels = queries[rows], kept[rows], rankings.labels[rows].astype("f8")
    if system.applied.negative_labels != "keep":
        labels = np.maximum(labels, 0.0)
    tie_keys = places if system.rankings.tie_keys is None else system.rankings.tie_keys[places]
    in_tie = policy.choose(group=places, input=places, label=labels, id=tie_keys)
    if policy.falls:
        in_tie = -in_tie if policy.orders == "label" else ~in_tie  # no whole number is without an opposite
    scores = rankings.scores[rows].astype("f8")
    order = _order(queries, [in_tie, -scores][in_tie is places :])  # sorting keeps the order of the input
    queries, places, labels = queries[order], places[order], labels[order]
    first, last = _find_ranks(queries, scores[order], is_shared=policy.orders == "group")
    if system.rankings.judged is not None:
        labels = np.where(system.rankings.judged[places], labels, np.nan)
    if k is not None:
        is_within = first <= k
        queries, places, labels, first, last = (own[is_within] for own in (queries, places, labels, first, last))
    take = getattr(rankings._find_name, "take_column", None)  # of tables: a text for each of 10^6 ids takes 1 s
    if take is None:
        documents = IdColumn.of(system.rankings.take_document_ids("labels", places), "ids of documents")
    else:
        documents = take("labels", places)
    return RankedRows(numbers[queries], places, documents, first, last, labels, np.full(len(places), np.nan))


def _apply(system: JoinedSystem) -> Any:
    """Return the rankings under the convention, with the place of each document that it keeps in `tie_keys`."""
    plain = system.rankings.without_patterns()
    return apply_convention(
        plain.replace(tie_keys=np.arange(plain.n_documents)), system.applied.replace(ties="average")
    )


def _order(queries: Array, keys: Sequence[Array]) -> Array:
    """Return the indices of documents, query after query, in the order of the last key, and then of those before."""
    offsets = np.append(np.flatnonzero(np.diff(queries, prepend=-1)), len(queries))
    order = np.empty(len(queries), "i8")

    def sort(first: int, stop: int) -> None:
        own = slice(offsets[first], offsets[stop])
        numbers = np.repeat(np.arange(stop - first, dtype="u2"), np.diff(offsets[first : stop + 1]))
        order[own] = np.lexsort((*(key[own] for key in keys), numbers)) + offsets[first]

    run_on_spans(offsets, sort, 1, SPAN)
    return order


def _find_ranks(queries: Array, scores: Array, *, is_shared: bool) -> tuple[Array, Array]:
    """Return the first and the last rank of documents in rank order, which equal scores share if that is so."""
    places = np.arange(len(queries))
    is_new = np.diff(queries, prepend=-1) != 0
    ranks = places - np.maximum.accumulate(np.where(is_new, places, 0)) + 1
    if not is_shared:
        return ranks, ranks
    is_new[1:] |= scores[1:] != scores[:-1]
    begin, group = np.flatnonzero(is_new), np.cumsum(is_new) - 1
    return ranks[begin][group], ranks[begin][group] + np.diff(np.append(begin, len(queries)))[group] - 1


def measure_rows(rows: RankedRows, system: JoinedSystem, metric: Metric) -> None:
    """
    Set what each document adds to its query's value, for a metric that is a sum over documents.

    Each document with a label becomes a query of its own, with its rank, the size of its tie group and the judgments
    of its query. So the value is that of the metric's kernel, also at ties, for all queries in one pass.
    """
    rankings, policy = _apply(system), TIES[system.applied.ties]
    rows.adds = np.zeros(len(rows.queries))
    hits = np.flatnonzero(np.nan_to_num(rows.labels))
    queries = np.searchsorted(system.rankings.offsets, rows.places[hits], side="right") - 1
    if system.unjudged is not None:
        hits, queries = hits[~system.unjudged[queries]], queries[~system.unjudged[queries]]
    labels, offsets = rankings.pool or (rankings.labels, rankings.offsets)
    if rankings.pool is None and rankings.judged is not None:
        labels, offsets = labels[rankings.judged], mask_offsets(rankings.judged, offsets)
    convention = system.applied.replace(
        pool="judged", unjudged="nonrelevant", undefined="nan", undefined_ap="as undefined",
        ties=system.applied.ties if policy.orders == "group" else "input",
    )  # fmt: skip
    batches = np.cumsum(np.diff(offsets)[queries]) // MAX_BATCH
    for own, query in _split(batches, hits, queries):
        pool_offsets, pool = join_segments(offsets[query], np.diff(offsets)[query])
        above, ties = rows.first[own] - 1, rows.last[own] - rows.first[own] + 1
        known = KnownHits(
            _as_ranks(above), read_only(rows.labels[own]),
            read_only(np.arange(len(own) + 1)), _as_ranks(ties), _as_ranks(np.where(ties > 1, above, MAX_RANK)),
        )  # fmt: skip
        alone = HitRankings(
            known,
            read_only(count_before(np.diff(rankings.offsets)[query])),
            (read_only(labels[pool]), read_only(pool_offsets)),
        )
        values = evaluate_rankings(alone, (metric,), convention)[:, 0]
        rows.adds[own] = np.where(np.isnan(values), 0.0, values)


def _as_ranks(numbers: Array) -> Array:
    return read_only(numbers.astype("i4"))


def _split(batches: Array, *arrays: Array) -> Iterator[tuple[Array, ...]]:
    """Yield the parts of arrays in which the number of the batch is the same."""
    yield from zip(*(np.split(array, np.flatnonzero(np.diff(batches)) + 1) for array in arrays), strict=True)


@dataclass(slots=True)
class Moves:
    """
    The documents that are within the cutoff of either ranking, with what became of them.

    Attributes
    ----------
    rows : (2, n_documents) int array
        The row of each document in the ranking before and in that after, `ABSENT` where it has none.
    labels : (2, n_documents) float64 array
        Its label by both judgments, NaN without one.
    ranks : (2, n_documents) float64 array
        The mean of the ranks that it may have, NaN where it is not within the cutoff.
    adds : (2, n_documents) float64 array
        What it adds to its query's value, 0 where it is not within the cutoff.
    kinds : (n_documents,) int array
        Places in `KINDS`.
    sides : (RankedRows, RankedRows)
        The two rankings.
    """

    sides: tuple[RankedRows, RankedRows]
    rows: Array
    labels: Array
    ranks: Array
    adds: Array
    kinds: Array

    def name(self, place: int) -> Any:
        """Return the id of a document."""
        side, row = next(
            (side, row) for side, row in zip(self.sides, self.rows[:, place].tolist(), strict=True) if row >= 0
        )
        return side.ids.name(row)


def match(first: RankedRows, second: RankedRows) -> Array:
    """
    Return the row of each document of the first ranking in the second, `ABSENT` for those that are not there.

    Where a document stands several times in a query, its first place is that of the other, and so on.
    """
    codes, firsts = concatenate_comparable(make_comparable(first.ids, second.ids, "documents", SIDES)).factorize()
    keys = np.concatenate([first.queries, second.queries]) * max(len(firsts), 1) + codes
    n = len(first.queries)
    own, other = keys[:n], keys[n:]
    times = _count_earlier(own), _count_earlier(other)
    most = max(int(time.max(initial=0)) for time in times) + 1
    own, other = own * most + times[0], other * most + times[1]
    order = np.argsort(other, kind="stable")
    places = np.minimum(np.searchsorted(other[order], own), max(len(other) - 1, 0))
    found = np.full(n, ABSENT)
    if len(other):
        rows = order[places]
        found = np.where(other[rows] == own, rows, ABSENT)
    return found


def _count_earlier(keys: Array) -> Array:
    """Return how many earlier entries equal each one."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    counts = np.empty(len(keys), "i8")
    counts[order] = np.arange(len(keys)) - np.searchsorted(ranked, ranked)
    return counts


def compare_rows(sides: tuple[RankedRows, RankedRows], other_sides: tuple[RankedRows, RankedRows] | None) -> Moves:
    """
    Return what became of each document.

    Parameters
    ----------
    sides : (RankedRows, RankedRows)
        Those before and those after.
    other_sides : (RankedRows, RankedRows), optional
        The same rankings with the judgments of the other side, if these differ. They are whole where labels have a
        say in ranks: unjudged documents are removed, or ties are in the order of the labels.
    """
    before, after = sides
    partner = match(after, before)
    is_alone = np.ones(len(before.queries), bool)
    is_alone[partner[partner >= 0]] = False
    left = np.flatnonzero(is_alone)
    rows = np.stack([
        np.concatenate([partner, left]), np.concatenate([np.arange(len(partner)), np.full(len(left), ABSENT)])
    ])  # fmt: skip
    own = [_read_side(side, row) for side, row in zip(sides, rows, strict=True)]
    labels = np.stack([one[0] for one in own])
    for place, (side, row) in enumerate(zip(sides, rows, strict=True)):
        there = labels[place]
        if other_sides is not None:  # the label of a document that the other ranking lacks
            found = match(side, other_sides[place])
            there = _read(_read(other_sides[place].labels, found), row)
        labels[1 - place] = np.where(rows[1 - place] < 0, there, labels[1 - place])
    first, last = (np.stack([one[column] for one in own]) for column in (1, 2))
    ranks = (first + last) / 2
    adds = np.stack([np.where(row < 0, 0.0, one[3]) for row, one in zip(rows, own, strict=True)])
    is_tied = last > first
    is_new, is_lost = rows < 0
    is_same_label = (labels[0] == labels[1]) | np.isnan(labels).all(axis=0)
    conditions = [
        ~is_same_label, is_new & ~np.isnan(labels[1]), is_new, is_lost, is_tied[1] & ~is_tied[0],
        is_tied[0] & ~is_tied[1], ranks[1] < ranks[0], ranks[1] > ranks[0],
    ]  # fmt: skip
    kinds = np.select(conditions, np.arange(len(conditions)), len(conditions))
    return Moves(sides, rows, labels, ranks, adds, kinds)


def _read_side(side: RankedRows, rows: Array) -> list[Array]:
    """Return the labels, the ranks and what is added of some rows, NaN where there is none."""
    return [_read(values, rows) for values in (side.labels, side.first, side.last, side.adds)]


def _read(values: Array, rows: Array) -> Array:
    """Return the values of some rows, NaN for `ABSENT`."""
    return np.append(values.astype("f8"), np.nan)[rows]
