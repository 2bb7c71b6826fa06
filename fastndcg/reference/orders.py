"""The orders that a query's documents may have: one where the tie policy decides, and else all that are as likely."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError
from fastndcg.rankings import Rankings
from fastndcg.reference.marks import POOLED, UNJUDGED

ORDERS_LIMIT = 100_000


class Document(NamedTuple):
    """A document that a query ranks; `score` compares as the convention says, `place` is where the rankings have it."""

    label: float
    score: tuple[bool, float]
    tie_key: int
    place: int


class Query(NamedTuple):
    """A query's documents, best score first, those of equal score together as given; and all its judged labels."""

    name: str
    tie_groups: list[list[Document]]
    judged: list[float]


def query_of(rankings: Rankings, q: int, convention: Convention, view: str = "labels") -> Query:
    """Query `q` as the convention sees it; to metrics of judgments, unjudged documents have marks as labels."""
    label_in = {"labels": label_of, "subtopics": label_of, "judgments": judgment_of}[view]
    documents = []
    for d in range(rankings.offsets[q], rankings.offsets[q + 1]):
        if is_ranked(rankings, d, convention):
            tie_key = 0 if rankings.tie_keys is None else int(rankings.tie_keys[d])
            score = score_of(rankings.scores[d], convention, rankings.are_ordinals)
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
    """Whether the convention leaves document `d` where it is."""
    is_judged = rankings.judged is None or bool(rankings.judged[d])
    return (is_judged or convention.unjudged != "removed") and has_place(rankings.labels[d], convention)


def has_place(label: Any, convention: Convention) -> bool:
    """Whether the convention leaves documents with this label where they are."""
    return convention.negative_labels != "removed" or not label < 0


def label_of(label: Any, convention: Convention) -> float:
    """A label, 0 for negative ones unless they are kept."""
    return float(label) if convention.negative_labels == "keep" else max(float(label), 0.0)


def judgment_of(label: Any, convention: Convention) -> float:
    """The same, but a mark for negative ones, which are no judgments unless they are kept."""
    return POOLED if label < 0 and convention.negative_labels != "keep" else float(label)


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
    number = number_of_orders(groups)
    if number > ORDERS_LIMIT:
        raise InvalidInputError(
            f"`reference` must have at most {ORDERS_LIMIT} orders of tied scores to go through, but {query.name} "
            f"has {number}; fastndcg.evaluate has no such limit, or take convention.replace(ties='input')"
        )
    every = itertools.product(*map(arrangements, groups))
    return [[label for group in arranged for label in group] for arranged in every]


def number_of_orders(groups: list[list[float]]) -> int:
    """How many different orders there are of the labels within tie groups."""
    alike = math.prod(math.factorial(count) for group in groups for count in Counter(group).values())
    return math.prod(math.factorial(len(group)) for group in groups) // alike


def ordered(group: Sequence[Document], policy: str) -> Sequence[Document]:
    """Documents of equal score in the order that a tie policy gives them; equal ones as given."""
    if policy in ("best", "worst"):
        return sorted(group, key=lambda document: document.label, reverse=policy == "best")
    if policy in ("id_descending", "id_ascending"):
        return sorted(group, key=lambda document: document.tie_key, reverse=policy == "id_descending")
    return group[::-1] if policy == "input_reversed" else group


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
