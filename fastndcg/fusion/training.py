"""Learn from judgments how much the ranks of each run are worth."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, join_names, shorten
from fastndcg.forms.named_systems import NamedRuns, read_judgments, read_runs
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.fusion.joined_runs import add_up, rank_run
from fastndcg.inputs.diversity import DiversityQrels
from fastndcg.inputs.join import QRELS_AND_RUN, find_ids, match_documents
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Qrels, Run
from fastndcg.rankings.validation import Array

RELEVANT = 1  # the lowest label of a relevant document
BAYES_ENDS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
SEGFUSE_ENDS = np.array([10 * 2 ** (j - 1) - 5 for j in range(1, 11)])
SMALLEST = 0.001  # in place of a probability of 0
NO_RELEVANT = math.log(SMALLEST / (1 - SMALLEST))


class JudgedRanks(NamedTuple):
    """The ranks of a run's documents: whether each is relevant, with its place from 0, its query, and n a query."""

    is_relevant: Array
    places: Array
    queries: Array
    sizes: Array
    n_relevant: Array


def train_method(
    train: Any, name: str, n_segments: int, names: Sequence[str], convention: FusionConvention, options: Options
) -> Array:
    """
    Learn a method's tables from judgments and runs: (n_runs, n_entries) float64, such as a probability for each rank.

    `train` has judgments and the runs of the same systems for other queries, and `names` are those of the runs that are
    fused. Probfuse alone reads `n_segments`. The convention's `ties` order equal scores: see `rank_run`.
    """
    qrels, runs = _read_training(train, options)
    rows = [
        learn_run(qrels, run, name, n_segments, convention, options.threads) for run in _order_runs(runs, tuple(names))
    ]
    return pad_tables(rows)


def pad_tables(rows: Sequence[Array]) -> Array:
    """Return tables of several lengths as one array, with 0 behind the shorter ones."""
    longest = max(map(len, rows))
    return np.array([np.pad(row, (0, longest - len(row))) for row in rows])


def learn_run(
    qrels: Qrels, run: Run, name: str, n_segments: int, convention: FusionConvention, threads: int | None
) -> Array:
    """Return the table of one run."""
    judged = judge_ranks(qrels, run, convention, threads)
    return _learn_equal_segments(judged, n_segments) if name == "probfuse" else LEARN[name](judged)


def judge_ranks(qrels: Qrels, run: Run, convention: FusionConvention, threads: int | None) -> JudgedRanks:
    """Rank a run's documents of the judged queries, and look up which are relevant."""
    in_run = find_ids(qrels.queries, run.queries, "queries", QRELS_AND_RUN)
    pairs = np.stack([np.arange(len(in_run)), in_run], axis=1)
    has_rows = in_run >= 0
    if not has_rows.any():
        raise InvalidInputError(
            "`train` must have judged queries in its runs, but no query of the qrels is in a run. Check that the "
            "ids are written alike"
        )
    run_sizes = np.diff(run.offsets)
    sizes = np.where(has_rows, run_sizes[np.maximum(in_run, 0)], 0)
    offsets = add_up(sizes)
    row_offsets = np.append(offsets[:-1][has_rows], offsets[-1])
    matched = match_documents((qrels, qrels.values), run, pairs[has_rows], row_offsets, QRELS_AND_RUN, threads)
    starts = np.where(has_rows, run.offsets[np.maximum(in_run, 0)], 0)
    rows = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)
    ranks = rank_run(run, convention.ties, threads or 1)
    is_relevant = matched.judged & (matched.labels >= RELEVANT)
    n_relevant = np.add.reduceat(np.append(qrels.values >= RELEVANT, False), qrels.offsets[:-1], dtype="i8")
    queries = np.repeat(np.arange(len(in_run)), sizes)
    return JudgedRanks(is_relevant, ranks[rows].astype("i8") - 1, queries, sizes, n_relevant)


def _learn_bayes(judged: JudgedRanks) -> Array:
    """Return the log odds of relevance at each rank up to 1000."""
    precisions = _measure_segments(judged, np.array(BAYES_ENDS))
    precisions = np.where(precisions == 0, SMALLEST, precisions)
    rest = 1 - precisions
    odds = np.log(precisions / np.where(rest == 0, SMALLEST, rest))
    log_odds: Array = np.repeat(odds, np.diff((0, *BAYES_ENDS)))
    return log_odds


def _measure_segments(judged: JudgedRanks, ends: Array) -> Array:
    """Return the mean precision over queries in segments of fixed size."""
    segments = np.searchsorted(ends, judged.places[judged.is_relevant], side="right")
    n_hits = np.bincount(segments, minlength=len(ends))[: len(ends)]
    precisions: Array = n_hits / np.diff(ends, prepend=0) / len(judged.sizes)
    return precisions


def _learn_equal_segments(judged: JudgedRanks, n_segments: int) -> Array:
    """Return the mean precision over queries in segments of each query's equal size."""
    segment_sizes = np.maximum(-(-judged.sizes // n_segments), 1)
    segments = judged.places // segment_sizes[judged.queries]
    remaining = judged.sizes[judged.queries] - segments * segment_sizes[judged.queries]
    n_filled = np.minimum(remaining, segment_sizes[judged.queries])
    shares = judged.is_relevant / n_filled
    precisions: Array = np.bincount(segments, shares, minlength=n_segments) / len(judged.sizes)
    return precisions


def _learn_ranks(judged: JudgedRanks) -> Array:
    """Return the share of relevant documents at each rank, of the queries that have it."""
    n_queries = np.bincount(judged.places)
    shares: Array = np.bincount(judged.places, judged.is_relevant) / np.maximum(n_queries, 1)
    return shares


def _learn_map(judged: JudgedRanks) -> Array:
    """Return the mean average precision, 0 for queries without relevant documents."""
    order = np.lexsort((judged.places, judged.queries))
    is_relevant = judged.is_relevant[order]
    hits = np.cumsum(is_relevant)
    before = add_up(is_relevant)[add_up(judged.sizes)[:-1]]
    n_hits = hits - np.repeat(before, judged.sizes)
    precisions = np.where(is_relevant, n_hits / (judged.places[order] + 1), 0.0)
    sums = np.bincount(judged.queries[order], precisions, minlength=len(judged.sizes))
    values = sums / np.maximum(judged.n_relevant, 1)
    return np.array([values.mean()])


LEARN: dict[str, Callable[[JudgedRanks], Array]] = {
    "bayesfuse": _learn_bayes,
    "segfuse": functools.partial(_measure_segments, ends=SEGFUSE_ENDS),
    "slidefuse": _learn_ranks,
    "posfuse": _learn_ranks,
    "mapfuse": _learn_map,
}


def _read_training(train: Any, options: Options) -> tuple[Qrels, NamedRuns]:
    """Read (qrels, runs)."""
    if not isinstance(train, tuple | list) or len(train) != 2:
        raise InvalidTypeError(f"`train` must be (qrels, runs), not {shorten(train)}")
    qrels = read_judgments(train[0], options, "train[0]")
    if isinstance(qrels, DiversityQrels):
        raise InvalidTypeError("`train[0]` must have a label for each document, not for each subtopic. Pass Qrels")
    return qrels, read_runs(train[1], options, "train[1]")


def _order_runs(runs: NamedRuns, names: tuple[str, ...]) -> list[Run]:
    """Return the training runs in the order of the runs that are fused."""
    by_name = dict(zip(runs.names, runs.runs, strict=True))
    missing = [name for name in names if name not in by_name]
    if missing or len(by_name) != len(names):
        raise InvalidInputError(
            f"`train` must have the same runs as `runs`, {join_names(list(names))}, but has "
            f"{join_names(list(by_name))}. Name them alike: train=(qrels, {{name: run}})"
        )
    return [by_name[name] for name in names]
