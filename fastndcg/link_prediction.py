"""
Link prediction: the function `evaluate_pairs`, which ranks each relevant document on its own.

The documents of a query are ranked once. The ranks of its relevant documents become rankings of one query a pair, which
the engine evaluates like all others.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np

from fastndcg.choices import Competitors, ConventionName, ResultRows
from fastndcg.engine.apply import apply_convention
from fastndcg.engine.plan import LOWEST_RELEVANT, find_gains, find_rel
from fastndcg.engine.relevant_ranks import rank_relevant
from fastndcg.engine.run import apply_undefined_policy, run
from fastndcg.engine.scratch import Scratch
from fastndcg.errors import InvalidInputError
from fastndcg.evaluation import (
    Request,
    join_system,
    list_notes,
    make_options,
    parse_request,
    plan_judged,
    put_weights,
)
from fastndcg.forms.dispatch import make_whole, prepare_truth
from fastndcg.inputs.messages import Options, answer_keywords, find_highest_label
from fastndcg.inputs.table import Qrels
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.metrics.metric import Metric, Metrics
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.partitions import note_low_labels, run_each
from fastndcg.rankings.compact import HitRankings, KnownHits, ScoreRowRankings, find_tie_starts
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, count_before, read_only
from fastndcg.recommenders.interactions import RankingPartitions
from fastndcg.results.kinds import PairResults, check_pairs
from fastndcg.results.results import Results, Shares
from fastndcg.runtime.progress import without_progress
from fastndcg.runtime.threads import check_threads


@answer_keywords
def evaluate_pairs(
    truth: Any,
    predictions: Any = None,
    metrics: Metrics | None = None,
    *,
    rows: ResultRows = "pair",
    competitors: Competitors = "nonrelevant",
    offsets: Any = None,
    groups: Any = None,
    query_ids: Any = None,
    convention: ConventionName | str | Convention = "default",
    threads: int | None = None,
    progress: bool | Callable[[int, int], None] = True,
) -> Results:
    """
    Evaluate each relevant document of a query on its own, as in link prediction.

    Parameters
    ----------
    truth, predictions, metrics
        See `evaluate`. Metrics of judgments and of subtopics are refused, since one document does not say what they
        need. All metrics must have the same ``rel``.
    rows : {'pair', 'query'}
        What has a row in the result: each pair of a query and a relevant document, or each query, with the mean over
        its pairs.
    competitors : {'nonrelevant', 'all'}
        The documents that a relevant one is ranked among: those that are not relevant (filtered), or all of its query
        (raw).
    offsets, groups, query_ids, convention, threads, progress
        See `evaluate`. Labels with scores are streamed, and then held in memory as a whole.

    Returns
    -------
    PairResults
        One value a pair and metric, float64, NaN where a metric is undefined. With ``rows="query"``, `Results`.

    Raises
    ------
    InvalidInputError
        As in `evaluate`. Also if a metric has no meaning for one relevant document.
    UndefinedMetricError
        If a metric has no value in a row and the convention says to raise.

    Examples
    --------
    >>> qrels, run = {"q": {"a": 1, "b": 1}}, {"q": {"c": 0.9, "a": 0.8, "b": 0.7}}
    >>> fn.evaluate_pairs(qrels, run, "rank, rr").to_dict()
    {('q', 'a'): {'Rank': 2.0, 'RR': 0.5}, ('q', 'b'): {'Rank': 2.0, 'RR': 0.5}}
    >>> fn.evaluate_pairs(qrels, run, "rank", competitors="all").to_dict()
    {('q', 'a'): {'Rank': 2.0}, ('q', 'b'): {'Rank': 3.0}}
    """
    request = parse_request(metrics, convention)
    check_pairs(rows, competitors, request.metrics, request.convention)
    options = make_options(
        offsets, groups, query_ids, threads, progress, other=predictions, is_alone=predictions is None
    )
    if progress is not True:
        with without_progress():
            return _evaluate(truth, predictions, request, options, rows, competitors)
    return _evaluate(truth, predictions, request, options, rows, competitors)


def _evaluate(truth: Any, predictions: Any, request: Request, options: Options, rows: str, competitors: str) -> Results:
    """Join truth and predictions, evaluate all pairs, and return the results."""
    prepared = prepare_truth(truth, options)
    is_qrels = isinstance(prepared, Qrels)
    own_convention = request.qrels_convention if is_qrels else request.array_convention
    find_common_rel(request.metrics, own_convention)  # raises before a model scores anything
    task = PairTask(request, own_convention, rows, competitors)
    joined = join_system(prepared, predictions, request, options.without_cuts())
    judged: Shares | None = None
    if isinstance(joined, RankingPartitions):
        output = run_partitions(joined, task, options.threads)
        low = note_low_labels(find_highest_label(prepared), request.metrics, own_convention)
        query_ids, counts, notes = joined.query_ids, joined.n_missing, (*joined.notes(), *low)
    else:
        whole = make_whole(joined)
        output = run_pairs(whole.rankings, task, options.threads)
        query_ids, counts = whole.rankings.query_ids, (whole.n_missing_in_run, whole.n_missing_in_qrels)
        highest_label = find_highest_label(whole.rankings)
        notes = list_notes(prepared, whole, request.metrics, own_convention, highest_label)
        judged = {}
        if whole.has_unjudged:
            judged = plan_judged(
                whole.rankings, request.metrics, own_convention, whole.unjudged_queries, options.threads
            )
    common: Any = {
        "n_tied": output.n_tied,
        "n_missing_in_run": counts[0],
        "n_missing_in_qrels": counts[1],
        "notes": notes,
        "judged": judged,
    }
    values = output.values[:, : len(request.metrics)]
    if output.document_ids is None:
        results = Results(values, request.metrics, query_ids, request.convention, **common)
    else:
        names = output.queries if query_ids is None else query_ids[output.queries]
        results = PairResults(
            values, request.metrics, names, request.convention, document_ids=output.document_ids, **common
        )
    put_weights(results, output.values, request)
    return results


class PairTask(NamedTuple):
    """What is computed for each pair: a request under the convention for its truth, rows and competitors."""

    request: Request
    convention: Convention
    rows: str
    competitors: str


class PairValues(NamedTuple):
    """Values of some queries: their rows, the number of tied rows, and for each row its query and document."""

    values: Array
    n_tied: int
    queries: Array
    document_ids: Array | None


@dataclass(frozen=True, slots=True)
class Pairs:
    """
    Pairs of a query and a relevant document as rankings, one pair a query.

    `queries` are the numbers of the queries. `places` count the relevant documents that were ranked, in their order in
    the input. For others, `places` are -1 less their index among the relevant documents of the pool.
    """

    rankings: HitRankings
    queries: Array
    places: Array


def run_pairs(rankings: Rankings, task: PairTask, threads: int | None) -> PairValues:
    """
    Evaluate metrics for each pair of a query and a relevant document.

    With ``rows='query'``, a query has the means over its pairs.
    """
    metrics, convention = task.request.metrics, task.convention
    pairs = rank_pairs(rankings, metrics, convention, task.competitors, threads)
    own = convention
    if task.rows == "query":  # the mean leaves undefined pairs out
        own = convention.with_fields(undefined="nan", undefined_ap="as undefined")
    denominators = tuple(task.request.denominators.values())
    output = run(pairs.rankings, metrics, own, denominators=denominators, threads=threads)
    if task.rows == "pair":
        ids = list_document_ids(rankings.without_patterns(), pairs, find_common_rel(metrics, convention))
        return PairValues(output.values, output.n_tied, pairs.queries, ids)
    values = average_pairs(pairs, rankings, output.values)
    apply_undefined_policy(
        rankings, convention, metrics, values.T, Scratch(), has_undefined_queries=True, reason="no relevant document"
    )
    n_tied = count_tied_queries(pairs, add_default_cutoff(metrics, convention))
    return PairValues(values, n_tied, np.arange(rankings.n_queries), None)


def run_partitions(partitions: RankingPartitions, task: PairTask, threads: int | None) -> PairValues:
    """Evaluate the pairs of partitions on threads."""
    parts: dict[tuple[int, int], PairValues] = {}

    def evaluate(rankings: Rankings, span: tuple[int, int], _: Scratch) -> None:
        part = run_pairs(rankings, task, 1)
        parts[span] = part._replace(queries=part.queries + span[0])

    run_each(partitions, evaluate, check_threads(threads))
    ordered = [parts[span] for span in sorted(parts)]
    n_columns = len(task.request.metrics) + len(task.request.denominators)
    documents = [part.document_ids for part in ordered if part.document_ids is not None]
    return PairValues(
        np.concatenate([np.empty((0, n_columns)), *(part.values for part in ordered)]),
        sum(part.n_tied for part in ordered),
        np.concatenate([np.empty(0, "i8"), *(part.queries for part in ordered)]),
        None if task.rows == "query" else np.concatenate(documents) if documents else np.empty(0, "i8"),
    )


def rank_pairs(
    rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention, competitors: str, threads: int | None
) -> Pairs:
    """Rank each relevant document among all documents of its query, or among those that are not relevant."""
    rel = find_common_rel(metrics, convention)
    rankings = apply_convention(rankings.without_patterns(), convention)
    relevant = rank_relevant(
        rankings, convention, lambda labels: labels >= rel, find_gains(metrics, convention), threads
    )
    above, ties = relevant.ranks.in_input_order().select_competitors(competitors)
    starts, tie_sizes = relevant.groups.in_input_order().select_competitors(competitors)
    n_relevant = np.diff(relevant.offsets)
    sizes = relevant.sizes - n_relevant if competitors == "nonrelevant" else relevant.sizes
    policy = TIES[convention.ties]
    if policy.orders == "label":
        above = above if policy.falls else above + ties - 1
        ties = np.ones_like(ties)
    retrieved = (np.repeat(np.arange(len(n_relevant)), n_relevant), np.arange(len(above)), relevant.labels)
    queries, places, labels = add_unretrieved(rankings, retrieved, rel)
    is_ranked = places >= 0
    n_candidates = sizes[queries] + (is_ranked if competitors == "nonrelevant" else 0)
    hits = KnownHits(
        read_only(above.astype("i4")),
        read_only(relevant.labels.astype("f8")),
        read_only(count_before(is_ranked)),
        read_only(ties.astype("i4")),
        find_tie_starts(starts, tie_sizes > 1),
    )
    pool = None if is_ranked.all() else (read_only(labels.astype("f8")), read_only(np.arange(len(labels) + 1)))
    names = queries if rankings.query_ids is None else rankings.query_ids[queries]
    ranked = HitRankings(hits, read_only(count_before(n_candidates)), pool, names, has_whole_groups=True)
    return Pairs(ranked, queries, places)


def find_common_rel(metrics: tuple[Metric, ...], convention: Convention) -> float:
    """Return the lowest relevant label of all metrics. Raise an error if they differ."""
    default = LOWEST_RELEVANT[convention.relevant]
    levels: dict[float, Metric] = {}
    for metric in metrics:
        if metric.get("rel") is not None:
            levels.setdefault(find_rel(metric, convention), metric)
    if len(levels) > 1:
        first, second = list(levels.values())[:2]
        raise InvalidInputError(
            f"`metrics` must agree on the lowest relevant label where each relevant document is ranked on its own, but "
            f"{first} and {second} differ. Evaluate them apart, or give both the same rel."
        )
    return next(iter(levels), default)


def add_unretrieved(
    rankings: Rankings, retrieved: tuple[Array, Array, Array], rel: float
) -> tuple[Array, Array, Array]:
    """
    Return the queries, places and labels of all pairs: `retrieved` ones, and relevant documents of the pool.

    A document of the pool was not retrieved if more documents of its query have its label there than were retrieved.
    """
    if rankings.pool is None:
        return retrieved
    queries, _, labels = retrieved
    pool_labels, pool_offsets = rankings.pool
    pool_places = np.flatnonzero(pool_labels >= rel)
    if len(pool_places) == len(queries):
        return retrieved
    pool_queries = np.searchsorted(pool_offsets, pool_places, side="right") - 1
    rest = subtract(pool_queries, pool_labels[pool_places], queries, labels)
    columns = (pool_queries, -1 - np.arange(len(pool_places)), pool_labels[pool_places])
    all_pairs = [np.concatenate([own, other[rest]]) for own, other in zip(retrieved, columns, strict=True)]
    order = np.argsort(all_pairs[0], kind="stable")
    return all_pairs[0][order], all_pairs[1][order], all_pairs[2][order]


def subtract(pool_queries: Array, pool_labels: Array, queries: Array, labels: Array) -> Array:
    """Return the indices of pairs of a query and a label in the pool that remain if the retrieved ones are removed."""
    every_label = np.concatenate([pool_labels, labels])
    codes = np.unique(every_label, return_inverse=True)[1]
    keys = np.concatenate([pool_queries, queries]) * (len(every_label) + 1) + codes
    pool_keys = keys[: len(pool_labels)]
    distinct, counts = np.unique(keys[len(pool_labels) :], return_counts=True)
    order = np.argsort(pool_keys, kind="stable")
    ordered = pool_keys[order]
    is_first = np.ones(len(ordered), bool)
    is_first[1:] = ordered[1:] != ordered[:-1]
    occurrence = np.arange(len(ordered)) - np.maximum.accumulate(np.where(is_first, np.arange(len(ordered)), 0))
    places = np.searchsorted(distinct, ordered)
    n_retrieved = np.append(counts, 0)[places]
    is_known = np.append(distinct, -1)[places] == ordered
    return np.sort(order[occurrence >= np.where(is_known, n_retrieved, 0)])


def list_document_ids(rankings: Rankings, pairs: Pairs, rel: float) -> Array:
    """Return the id of the document of each pair. `rankings` are as they were before the convention was applied."""
    labels = get_labels(rankings)
    places = np.flatnonzero(labels >= rel)
    is_ranked = pairs.places >= 0
    ranked_ids = rankings.take_document_ids("labels", places[pairs.places[is_ranked]])
    if is_ranked.all():
        return ranked_ids
    ids = np.empty(len(is_ranked), object)
    ids[is_ranked] = ranked_ids
    _fill_unretrieved(rankings, pairs, rel, ids)
    return ids if ranked_ids.dtype == object else np.array(ids.tolist(), ranked_ids.dtype)


def _fill_unretrieved(rankings: Rankings, pairs: Pairs, rel: float, ids: Array) -> None:
    """Write the ids of documents that were not retrieved: those of the pool that no ranked pair has."""
    pool_labels, pool_offsets = cast(tuple[Array, Array], rankings.pool)
    pool_places = np.flatnonzero(pool_labels >= rel)
    is_missing = pairs.places < 0
    missing = np.flatnonzero(is_missing)
    missing_labels = pool_labels[pool_places[-1 - pairs.places[missing]]].tolist()
    has_missing = np.zeros(rankings.n_queries, bool)
    has_missing[pairs.queries[is_missing]] = True
    pool_queries = np.searchsorted(pool_offsets, pool_places, side="right") - 1
    pool_places = pool_places[has_missing[pool_queries]]
    names = rankings.take_document_ids("pool", pool_places).tolist()
    rows = np.flatnonzero(~is_missing & has_missing[pairs.queries])
    known_pairs = set(zip(pairs.queries[rows].tolist(), ids[rows].tolist(), strict=True))
    pool_queries = np.searchsorted(pool_offsets, pool_places, side="right") - 1
    rest: dict[tuple[int, float], list[object]] = {}
    for query, label, name in zip(pool_queries.tolist(), pool_labels[pool_places].tolist(), names, strict=True):
        if (query, name) not in known_pairs:
            rest.setdefault((query, label), []).append(name)
    keys = zip(pairs.queries[missing].tolist(), missing_labels, strict=True)
    for row, key in zip(missing.tolist(), keys, strict=True):
        ids[row] = rest[key].pop(0)


def get_labels(rankings: Rankings) -> Array:
    """Return the labels that rankings store, one for each document that may be relevant."""
    if isinstance(rankings, ScoreRowRankings):
        return rankings.rows.labels
    labels: Array = rankings.labels if rankings.known_hits is None else rankings.known_hits.labels
    return labels


def average_pairs(pairs: Pairs, rankings: Rankings, values: Array) -> Array:
    """Return the mean of each query over its pairs with a value, NaN without any."""
    offsets = count_before(np.bincount(pairs.queries, minlength=rankings.n_queries)).tolist()
    out = np.full((rankings.n_queries, values.shape[1]), np.nan)
    for query, (start, stop) in enumerate(pairwise(offsets)):
        if stop - start == 1:
            out[query] = values[start]
        elif stop > start:
            for place, column in enumerate(values[start:stop].T):
                some = column[~np.isnan(column)].tolist()
                out[query, place] = math.fsum(some) / len(some) if some else math.nan
    return out


def count_tied_queries(pairs: Pairs, metrics: tuple[Metric, ...]) -> int:
    """Return the number of queries with a pair whose tie group begins within the deepest cutoff."""
    groups = pairs.rankings.known_hits
    deepest = max(MAX_RANK if metric.k is None else metric.k for metric in metrics)
    queries = pairs.queries[pairs.places >= 0]
    return len(np.unique(queries[groups.tie_starts < deepest]))
