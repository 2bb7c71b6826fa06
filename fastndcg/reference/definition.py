"""
What the reference reads: the definition of a metric and the orders of a query's documents, under a convention.

There is one order for most tie policies. For 'average' there are all orders of ties.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import Choice, InvalidInputError, shorten
from fastndcg.metrics.families import FAMILIES
from fastndcg.metrics.families.record import POOLED, UNJUDGED, Definition, MeanRanked
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import Value
from fastndcg.rankings.rankings import Rankings
from fastndcg.runtime.imports import load


def load_twin(place: str) -> Callable[..., Any]:
    """Return the definition in plain Python that has the place of a kernel, such as "gains.ndcg"."""
    file, _, name = place.partition(".")
    package = "fastndcg.metrics.families" if file in FAMILIES else "fastndcg.metrics"  # of custom metrics
    twin: Callable[..., Any] = getattr(load(f"{package}.{file}"), name)
    return twin


def read_definition(metric: Metric, convention: Convention) -> Definition:
    """Return the definition of a metric. The convention decides where the metric has no parameter."""
    default = convention.default_k if isinstance(convention.default_k, int) and metric.record.has_cutoff else None
    k = default if metric.k is None else metric.k
    is_relevant = make_relevance(metric, convention)
    return Definition(
        k, is_relevant, make_gain(metric, convention), make_discount(metric, convention), convention, metric
    )


def make_relevance(metric: Metric, convention: Convention) -> Callable[[float], bool]:
    """Return the function that says if a label is relevant, by the metric's `rel` or by the convention."""
    if "rel" not in dict(metric.parameters) and convention.relevant != "at least 1":
        lowest = {"above 0": 0, "above 0.5": 0.5}[convention.relevant]
        return lambda label: label > lowest
    return lambda label: label >= (metric.get("rel") or 1)


def make_gain(metric: Metric, convention: Convention) -> Callable[[float], float]:
    """Return the function from a label to its gain."""
    choice = choose_gain(metric, convention)
    is_relevant = make_relevance(metric, convention)

    def gain(label: float) -> float:
        if metric.get("rel") is not None and not is_relevant(label):
            return 0.0
        if choice == "binary":
            return float(is_relevant(label))
        if convention.label_fractions == "cut off":
            label = float(math.trunc(label))
        if isinstance(choice, tuple):
            return choice[int(label)]
        return label if choice == "linear" else 2.0**label - 1 if abs(label) >= 1 else math.expm1(label * math.log(2))

    return gain


def choose_gain(metric: Metric, convention: Convention) -> Value:
    """Return the gain parameter of the metric, or the gain of the convention if it has none."""
    is_binary = getattr(convention, metric.record.gain_choice) == "binary"
    return metric.get("gain") or ("binary" if is_binary else convention.gain)


def make_discount(metric: Metric, convention: Convention) -> Callable[[int], float]:
    """Return the function from a rank to its discount."""
    table = metric.get("discount") or metric.record.discount or convention.discount
    p = metric.get("p")
    if p is not None:
        return lambda rank: float((1 - p) * p ** (rank - 1))
    if isinstance(table, tuple):
        return lambda rank: table[rank - 1] if rank <= len(table) else 0.0
    if table == "none":
        return lambda rank: 1.0
    if table == "1/r":
        return lambda rank: 1 / rank
    if table == "log2(max(r, 2))":
        return lambda rank: 1 / math.log2(max(rank, 2))
    return lambda rank: 1 / math.log2(rank + 1)


ORDERS_LIMIT = 100_000


class Document(NamedTuple):
    """A ranked document. `score` compares under the convention, `place` is its index in the rankings."""

    label: float
    score: tuple[bool, float]
    tie_key: int
    place: int


class Query(NamedTuple):
    """The tie groups of a query, best score first and each in the order of the input, and all its judged labels."""

    name: str
    tie_groups: list[list[Document]]
    judged: list[float]


def read_query(rankings: Rankings, q: int, convention: Convention, view: str = "labels") -> Query:
    """Return query `q` under the convention. For metrics of judgments, unjudged documents have marks as labels."""
    label_in = {"labels": read_label, "subtopics": read_label, "judgments": read_judgment}[view]
    documents = []
    with np.errstate(over="ignore"):  # a score beyond float32 is infinite; one switch for all, as it takes time
        for d in range(rankings.offsets[q], rankings.offsets[q + 1]):
            if is_ranked(rankings, d, convention):
                tie_key = 0 if rankings.tie_keys is None else int(rankings.tie_keys[d])
                score = read_score(rankings.scores[d], convention, rankings.are_ordinals)
                label = label_in(rankings.labels[d], convention)
                if view == "judgments" and rankings.judged is not None and not rankings.judged[d]:
                    label = UNJUDGED
                documents.append(Document(label, score, tie_key, int(d)))
    judged = [document.label for document in documents]
    if rankings.pool is not None and convention.pool == "judged":
        labels, offsets = rankings.pool
        pool = labels[offsets[q] : offsets[q + 1]]
        judged = [label_in(label, convention) for label in pool if has_place(label, convention)]
    by_score = sorted(documents, key=lambda document: document.score, reverse=True)  # stable
    groups = [list(group) for _, group in itertools.groupby(by_score, key=lambda document: document.score)]
    return Query(rankings.query_name(q), groups, judged)


def is_ranked(rankings: Rankings, d: int, convention: Convention) -> bool:
    """Return True if the convention does not remove document `d`."""
    is_judged = rankings.judged is None or bool(rankings.judged[d])
    return (is_judged or convention.unjudged != "removed") and has_place(rankings.labels[d], convention)


def has_place(label: Any, convention: Convention) -> bool:
    """Return True if the convention does not remove documents with this label."""
    are_unjudged = convention.unjudged == "removed" and convention.negative_labels == "zero"
    return not (label < 0 and (are_unjudged or convention.negative_labels == "removed"))


def read_label(label: Any, convention: Convention) -> float:
    """Return a label, or 0 for a negative label unless the convention has negative_labels='keep'."""
    return float(label) if convention.negative_labels == "keep" else max(float(label), 0.0)


def read_judgment(label: Any, convention: Convention) -> float:
    """Return a label, or POOLED for a negative label unless the convention has negative_labels='keep'."""
    return POOLED if label < 0 and convention.negative_labels != "keep" else float(label)


def read_score(score: Any, convention: Convention, are_ordinals: bool) -> tuple[bool, float]:
    """Return a key that compares scores under the convention. NaN is equal to NaN and below all other scores."""
    if convention.score_dtype == "float32" and not are_ordinals:
        score = np.float32(score)
    return (False, 0.0) if math.isnan(score) else (True, float(score))


def list_orders(query: Query, policy: str) -> list[list[float]]:
    """Return the labels of a query in rank order: one list, or for 'average' one list per order of the ties."""
    groups = [[document.label for document in order_by_policy(group, policy)] for group in query.tie_groups]
    if policy == "mean_rank":
        return [MeanRanked(groups)]
    if policy != "average":
        return [[label for group in groups for label in group]]
    number = count_orders(groups)
    if number > ORDERS_LIMIT:
        raise InvalidInputError(
            f"`reference` must have at most {ORDERS_LIMIT} orders of tied scores to go through, but {query.name} "
            f"has {number}. Call fastndcg.evaluate, which has no limit, or take ",
            Choice("ties", ["input"]),
        )
    products = itertools.product(*map(arrangements, groups))
    return [[label for group in order for label in group] for order in products]


def count_orders(groups: list[list[float]]) -> int:
    """Return the number of different orders of the labels within tie groups."""
    n_equal = math.prod(math.factorial(count) for group in groups for count in Counter(group).values())
    return math.prod(math.factorial(len(group)) for group in groups) // n_equal


def order_by_policy(group: Sequence[Document], policy: str) -> Sequence[Document]:
    """Return documents of equal score in the order of a tie policy, equal ones in the order of the input."""
    orders, falls = TIES[policy]
    if orders == "label":
        return sorted(group, key=lambda document: document.label, reverse=falls)
    if orders == "id":
        return sorted(group, key=lambda document: document.tie_key, reverse=falls)
    if orders == "input":
        return group[::-1] if falls else group
    if orders == "group":
        return group
    raise NotImplementedError(f"the reference orders ties by group, label, input and id, not by {shorten(orders)}")


def arrangements(labels: list[float]) -> Iterator[list[float]]:
    """Yield each different order of some labels once. All of them are equally likely."""
    if not labels:
        yield []
    for label in dict.fromkeys(labels):
        rest = labels.copy()
        rest.remove(label)
        for tail in arrangements(rest):
            yield [label, *tail]


def is_tied(groups: list[list[Document]], deepest: float) -> bool:
    """Return True if a tie group that begins within rank `deepest` has different labels."""
    above = itertools.accumulate(map(len, groups), initial=0)
    different = [len({document.label for document in group}) > 1 for group in groups]
    return any(start < deepest for start, differs in zip(above, different, strict=False) if differs)
