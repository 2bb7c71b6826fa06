"""The documents of joined runs with their judgments: what the evaluation of every fused run shares."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fastndcg.engine import run as engine
from fastndcg.engine.apply import apply_convention
from fastndcg.engine.plan import make_plan
from fastndcg.errors import Choice, InvalidInputError
from fastndcg.fusion.joined_runs import add_up, replace_scores
from fastndcg.inputs.join import join, tie_keys
from fastndcg.inputs.table import Qrels, Run
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import find_denominators
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.ties import TIES
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, read_only


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

    def select(self, queries: Array) -> tuple[JudgedRuns, Array]:
        """Return the runs of some queries, and the places of their documents in these."""
        base = self.rankings
        places, offsets = _take_segments(base.offsets, queries)
        pool = None
        if base.pool is not None:
            pool_places, pool_offsets = _take_segments(base.pool[1], queries)
            pool = (read_only(base.pool[0][pool_places]), pool_offsets)
        rankings = Rankings.from_checked(
            read_only(base.labels[places]),
            base.scores[places],
            offsets,
            None if base.query_ids is None else base.query_ids[queries],
            None if base.judged is None else base.judged[places],
            pool,
            tie_keys=None if base.tie_keys is None else base.tie_keys[places],
        )
        undefined = None if self.undefined is None else self.undefined[queries]
        return replace(self, rankings=rankings, rows=self.rows[places], undefined=undefined), places


def _take_segments(offsets: Array, queries: Array) -> tuple[Array, Array]:
    """Return the places of the documents of some queries, and their offsets."""
    sizes = np.diff(offsets)[queries]
    new_offsets = add_up(sizes)
    places = np.arange(new_offsets[-1]) + np.repeat(offsets[queries] - new_offsets[:-1], sizes)
    return places, new_offsets


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
        1 if metric.record.higher_is_better else -1,
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
