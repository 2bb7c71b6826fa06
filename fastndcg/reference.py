"""
Every metric and every tie policy in plain Python, as the textbook reads: slow, and there to check the package with.

Nothing here is shared with the kernels. A metric is a function of one order of a query's documents:

labels   labels in rank order, rank 1 first
judged   all judged labels of the query, retrieved or not
asked    what the metric's parameters and the convention say

Where scores tie, 'average' takes the mean over every order of equal scores, one by one.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.conventions import Convention, parse_convention
from fastndcg.errors import InvalidInputError, UndefinedMetricError
from fastndcg.inputs.prepare import Options, all_at_once, prepare_truth
from fastndcg.inputs.tables import Qrels
from fastndcg.metric import Metric, Metrics, parse_metrics
from fastndcg.rankings import EXACT_LIMIT, Array, Rankings
from fastndcg.results import Results
from fastndcg.texts import Value

ORDERS_LIMIT = 100_000


def evaluate(
    truth: Any, predictions: Any = None, metrics: Metrics | None = None, *, offsets: Any = None, groups: Any = None,
    query_ids: Any = None, columns: Any = None, memory: Any = None, convention: str | Convention = "default",
    threads: int | None = None,
) -> Results:  # fmt: skip
    """
    Evaluate ranking metrics slowly, in plain Python: `fastndcg.evaluate` must give the same.

    Parameters
    ----------
    truth, predictions, metrics, offsets, groups, query_ids, columns, convention
        See `evaluate`.
    memory, threads
        Taken so that both functions are called alike, and not used.

    Returns
    -------
    Results

    Raises
    ------
    InvalidInputError, UndefinedMetricError
        As `evaluate`; and if the tied scores of a query have more than 100,000 orders under the tie policy 'average',
        which goes through all of them here and through none in `evaluate`.

    Examples
    --------
    >>> fn.reference.evaluate([2, 1, 0], [0.5, 0.5, 0.1], "DCG, RR(rel=2)", offsets=[0, 3]).mean()
    {'DCG': 2.4463946303571866, 'RR(rel=2)': 0.75}
    """
    asked_for, named = parse_metrics(metrics), parse_convention(convention)
    prepared = prepare_truth(truth, options := Options(offsets, groups, query_ids, columns))
    applied = named.for_labels_of(qrels=isinstance(prepared, Qrels))
    rankings, unjudged, *missing = all_at_once(prepared, predictions, named, options)
    check(rankings, asked_for, applied)
    queries = [query_of(rankings, q, applied) for q in range(rankings.n_queries)]
    values = np.empty((len(queries), len(asked_for)))
    for q, query in enumerate(queries):
        orders = orders_of(query, applied.ties)
        values[q] = [expectation(metric, orders, query.judged, applied) for metric in asked_for]
    if unjudged is not None:
        values[unjudged] = math.nan
    settle_undefined(values, asked_for, rankings, applied)
    deepest = max(math.inf if metric.k is None else metric.k for metric in asked_for)
    n_tied = sum(is_tied(query.tie_groups, deepest) for query in queries)
    counts: Any = {"n_tied": n_tied, "n_missing_in_run": missing[0], "n_missing_in_qrels": missing[1]}
    return Results(values, asked_for, rankings.query_ids, named, **counts)


class Asked(NamedTuple):
    """What a metric's parameters and the convention say; a `k` of None counts all ranks."""

    k: int | None
    rel: float
    beta: float
    gain: Callable[[float], float]
    discount: Callable[[int], float]
    ap_denominator: str
    precision_denominator: str


def cg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of the gains at ranks 1 … k."""
    return math.fsum(asked.gain(label) for label in labels[: asked.k])


def dcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum over ranks r = 1 … k of gain · discount(r)."""
    return math.fsum(asked.gain(label) * asked.discount(r) for r, label in enumerate(labels[: asked.k], 1))


def idcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k of all judged documents, highest gain first."""
    return dcg(sorted(judged, key=asked.gain, reverse=True), judged, asked)


def ndcg(labels: list[float], judged: list[float], asked: Asked) -> float:
    """DCG@k / IDCG@k; undefined where the ideal is 0."""
    best = idcg(labels, judged, asked)
    return math.nan if best == 0 else dcg(labels, judged, asked) / best


def n_retrieved(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many documents the first k ranks hold."""
    return len(labels[: asked.k])


def n_relevant(labels: list[float], judged: list[float], asked: Asked) -> float:
    """The number of relevant documents, or k if that is less."""
    return n_relevant_retrieved(sorted(judged, reverse=True), judged, asked)


def n_relevant_retrieved(labels: list[float], judged: list[float], asked: Asked) -> float:
    """How many of the first k documents are relevant."""
    return sum(label >= asked.rel for label in labels[: asked.k])


def precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Relevant documents among the first k, over k; over the number retrieved if there is no k, 0 if that is 0."""
    denominator = len(labels) if asked.k is None else asked.k
    if asked.precision_denominator == "min(k, n_retrieved)":
        denominator = min(denominator, len(labels))
    return n_relevant_retrieved(labels, judged, asked) / denominator if denominator else 0


def recall(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Relevant documents among the first k, over the number of relevant documents."""
    n = n_relevant(labels, judged, asked._replace(k=None))
    return n_relevant_retrieved(labels, judged, asked) / n if n else math.nan


def f_score(labels: list[float], judged: list[float], asked: Asked) -> float:
    """(1 + beta²) · P · R / (beta² · P + R); 0 where nothing relevant is found."""
    p, r = precision(labels, judged, asked), recall(labels, judged, asked)
    share = 1 / (1 + asked.beta * asked.beta)  # of precision; as numerator and denominator by 1 + beta²
    return p * r / ((1 - share) * p + share * r) if r > 0 else r


def r_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Precision at rank min(k, number of relevant documents)."""
    cut = int(n_relevant(labels, judged, asked))
    return n_relevant_retrieved(labels, judged, asked._replace(k=cut)) / cut if cut else math.nan


def average_precision(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Sum of P@r over the ranks r = 1 … k of relevant documents, over the number of relevant documents."""
    at_most = asked if asked.ap_denominator == "min(k, n_relevant)" else asked._replace(k=None)
    n = n_relevant(labels, judged, at_most)
    return math.fsum(precisions_at_hits(labels, asked)) / n if n else math.nan


def average_precision_of_hits(labels: list[float], judged: list[float], asked: Asked) -> float:
    """Mean of P@r over the ranks r = 1 … k of relevant documents; 0 where there are none."""
    precisions = precisions_at_hits(labels, asked)
    if not n_relevant(labels, judged, asked):
        return math.nan
    return math.fsum(precisions) / len(precisions) if precisions else 0


def precisions_at_hits(labels: list[float], asked: Asked) -> list[float]:
    """P@r at each rank r = 1 … k that holds a relevant document."""
    relevant = [label >= asked.rel for label in labels[: asked.k]]
    return [sum(relevant[:r]) / r for r in range(1, len(relevant) + 1) if relevant[r - 1]]


def reciprocal_rank(labels: list[float], judged: list[float], asked: Asked) -> float:
    """1 / rank of the first relevant document, 0 if it is below rank k."""
    return next((1 / r for r, label in enumerate(labels[: asked.k], 1) if label >= asked.rel), 0)


def success(labels: list[float], judged: list[float], asked: Asked) -> float:
    """1 if one of the first k documents is relevant."""
    return float(any(label >= asked.rel for label in labels[: asked.k]))


class Document(NamedTuple):
    """A document that a query ranks; `score` compares as the convention says."""

    label: float
    score: tuple[bool, float]
    tie_key: int


class Query(NamedTuple):
    """A query's documents, best score first, those of equal score together as given; and all its judged labels."""

    name: str
    tie_groups: list[list[Document]]
    judged: list[float]


def query_of(rankings: Rankings, q: int, convention: Convention) -> Query:
    """Query `q` as the convention sees it."""
    documents = []
    for d in range(rankings.offsets[q], rankings.offsets[q + 1]):
        if is_ranked(rankings, d, convention):
            tie_key = 0 if rankings.tie_keys is None else int(rankings.tie_keys[d])
            score = score_of(rankings.scores[d], convention, rankings.are_ordinals)
            documents.append(Document(label_of(rankings.labels[d], convention), score, tie_key))
    judged = [document.label for document in documents]
    if rankings.pool is not None:
        labels, offsets = rankings.pool
        judged = [label_of(label, convention) for label in labels[offsets[q] : offsets[q + 1]]]
    by_score = sorted(documents, key=lambda document: document.score, reverse=True)  # stable
    groups = [list(group) for _, group in itertools.groupby(by_score, key=lambda document: document.score)]
    return Query(rankings.query_name(q), groups, judged)


def is_ranked(rankings: Rankings, d: int, convention: Convention) -> bool:
    """Whether the convention leaves document `d` where it is."""
    return convention.unjudged != "removed" or rankings.judged is None or bool(rankings.judged[d])


def label_of(label: Any, convention: Convention) -> float:
    """A label, 0 for negative ones unless they are kept."""
    return float(label) if convention.negative_labels == "keep" else max(float(label), 0.0)


def score_of(score: Any, convention: Convention, are_ordinals: bool) -> tuple[bool, float]:
    """A score that compares as the convention says: NaN below all others, and equal to itself."""
    if convention.score_dtype == "float32" and not are_ordinals:
        with np.errstate(over="ignore"):  # beyond float32 is infinite
            score = np.float32(score)
    return (False, 0.0) if math.isnan(score) else (True, float(score))


def orders_of(query: Query, policy: str) -> list[list[float]]:
    """The labels of a query in rank order: one list, or with 'average' one for each order that is as likely."""
    groups = [[document.label for document in ordered(group, policy)] for group in query.tie_groups]
    if policy != "average":
        return [[label for group in groups for label in group]]
    alike = math.prod(math.factorial(count) for group in groups for count in Counter(group).values())
    number = math.prod(math.factorial(len(group)) for group in groups) // alike
    if number > ORDERS_LIMIT:
        raise InvalidInputError(
            f"`reference` must have at most {ORDERS_LIMIT} orders of tied scores to go through, but {query.name} "
            f"has {number}; fastndcg.evaluate has no such limit, or take convention.replace(ties='input')"
        )
    every = itertools.product(*map(arrangements, groups))
    return [[label for group in arranged for label in group] for arranged in every]


def ordered(group: Sequence[Document], policy: str) -> Sequence[Document]:
    """Documents of equal score in the order that a tie policy gives them; equal ones as given."""
    if policy in ("best", "worst"):
        return sorted(group, key=lambda document: document.label, reverse=policy == "best")
    if policy in ("id_descending", "id_ascending"):
        return sorted(group, key=lambda document: document.tie_key, reverse=policy == "id_descending")
    return group


def arrangements(labels: list[float]) -> Iterator[list[float]]:
    """Each different order of some labels once: as many permutations of the documents lead to each of them."""
    if not labels:
        yield []
    for label in dict.fromkeys(labels):
        rest = labels.copy()
        rest.remove(label)
        for tail in arrangements(rest):
            yield [label, *tail]


def is_tied(groups: list[list[Document]], deepest: float) -> bool:
    """Whether documents of equal score have different labels, in a group that begins within rank `deepest`."""
    above = itertools.accumulate(map(len, groups), initial=0)
    different = [len({document.label for document in group}) > 1 for group in groups]
    return any(start < deepest for start, differs in zip(above, different, strict=False) if differs)


def expectation(metric: Metric, orders: list[list[float]], judged: list[float], convention: Convention) -> float:
    """The mean of a metric's values over all orders."""
    place = metric.record.kernel
    for field, choice, variant in metric.record.variants:
        if getattr(convention, field) == choice:
            place = variant
    function: Callable[[list[float], list[float], Asked], float] = globals()[place.partition(".")[2]]
    asked = asked_of(metric, convention)
    return math.fsum(function(order, judged, asked) / len(orders) for order in orders)


def asked_of(metric: Metric, convention: Convention) -> Asked:
    """A metric's parameters, with the convention's choices where it has none."""
    chosen = metric.get("gain") or convention.gain
    threshold = float(metric.get("rel") or -math.inf)

    def gain(label: float) -> float:
        if label < threshold:
            return 0.0
        if isinstance(chosen, tuple):
            return chosen[int(label)]
        return label if chosen == "linear" else 2.0**label - 1 if abs(label) >= 1 else math.expm1(label * math.log(2))

    def discount(rank: int) -> float:
        table = convention.discount
        if isinstance(table, tuple):
            return table[rank - 1] if rank <= len(table) else 0.0
        return 1 / math.log2(rank + 1)

    denominators = (convention.ap_denominator, convention.precision_denominator)
    return Asked(metric.k, threshold, float(metric.get("beta") or 1), gain, discount, *denominators)


def check(rankings: Rankings, metrics: tuple[Metric, ...], convention: Convention) -> None:
    """Refuse what has no meaning under the convention."""
    if convention.ties.startswith("id_") and rankings.tie_keys is None and rankings.n_documents:
        raise InvalidInputError(f"`tie_keys` are needed for ties={convention.ties!r}: give Rankings(tie_keys=…)")
    ranked = np.array([is_ranked(rankings, d, convention) for d in range(rankings.n_documents)], bool)
    nan = np.isnan(rankings.scores) & ranked
    if convention.nan_scores == "raise" and nan.any():
        rankings.refuse("scores", nan, "not be NaN: take convention.replace(nan_scores='last')")
    gains = {metric.get("gain") or convention.gain for metric in metrics if "gain." in metric.record.kernel}
    pool = [] if rankings.pool is None else [("pool", rankings.pool[0], np.True_)]
    for name, labels, counted in [("labels", rankings.labels, ranked), *pool]:
        unknown = np.array([not has_meaning(float(label), gains, convention) for label in labels], bool) & counted
        if unknown.any():
            rankings.refuse(name, unknown, "have a meaning under the convention: see fastndcg.evaluate")


def has_meaning(label: float, gains: set[Value], convention: Convention) -> bool:
    """Whether a label is a number that every gain is known for."""
    if not abs(label) <= EXACT_LIMIT or (label < 0 and convention.negative_labels == "raise"):
        return False
    label = label_of(label, convention)
    in_tables = all(label in range(len(table)) for table in gains if isinstance(table, tuple))
    return in_tables and ("exp2" not in gains or label <= 1023)


def settle_undefined(values: Array, metrics: tuple[Metric, ...], rankings: Rankings, convention: Convention) -> None:
    """Put the convention's value where a metric has none."""
    undefined = np.isnan(values)
    if isinstance(convention.undefined, int):
        values[undefined] = convention.undefined
    elif convention.undefined == "raise" and undefined.any():
        m, q = np.argwhere(undefined.T)[0].tolist()
        raise UndefinedMetricError(f"{metrics[m]} must have a value, but {rankings.query_name(q)} has none")
