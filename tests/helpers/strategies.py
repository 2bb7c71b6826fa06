"""Hypothesis strategies for ragged rankings, metrics and conventions that are valid together."""

import contextlib
from collections import Counter
from itertools import pairwise
from math import factorial, prod
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.kernels.jit import IS_JIT_OFF
from fastndcg.metrics.families import CATALOG, records_of
from fastndcg.named_conventions import CHOICES
from fastndcg.rankings.rankings import Rankings

PLAIN = [record.name for record in records_of("evaluate") if not record.by_subtopic]  # that take one label a document
BY_SUBTOPIC = [name for name, record in CATALOG.items() if record.by_subtopic]
JIT = not IS_JIT_OFF
POLICIES = CHOICES["ties"]
TIES = tuple(policy for policy in POLICIES if policy != "mean_rank")  # those that order documents
DTYPES = ["bool", *(f"{kind}{size}" for kind in "iu" for size in (1, 2, 4, 8)), "f2", "f4", "f8", "longdouble"]
LABELS = {
    "binary": st.integers(0, 1), "graded": st.integers(0, 4),
    "float": st.sampled_from([0.0, 0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.75, 9.5]),
    "huge": st.sampled_from([0, 0, 1, 2, 2**31, 2**53 - 1, 2**53]), "negative": st.integers(-3, 3),
}  # fmt: skip
TIED_SCORES = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 1e-9])  # the last two are one float32
SCORES = st.sampled_from([-np.inf, -1e300, -1.5, 0.0, -0.0, 0.1, 1.0, 1.0 + 1e-9, 3e38, 1e300, np.inf])
GAINS = ("linear", "exp2", "binary", (0.0, 1.0, 3.0, 7.0, 15.5), (0.0, 0.0, 2.0, 2.0, 2.0))
DISCOUNTS = ("log2", "log2(max(r, 2))", "1/r", "none", (1.0, 0.5, 0.25), (1.0, 1.0, 0.9, 0.0, 0.0, 0.0, 0.0, 0.0))
SPECIAL_SCORES = (np.inf, -np.inf, -0.0, np.nan)
MOST_ORDERS = 100


class Case(NamedTuple):
    rankings: Rankings
    kind: str


def bits(evaluated):
    return evaluated.values.tobytes(), evaluated.n_tied


def examples(number, plain=None):
    """
    Return Hypothesis settings for a test of kernels.

    A test gets `number` examples with the profile `all`. The profile `plain` takes a sixth of them, but 8 if there
    are as many, or the given number. If kernels are not compiled, a test gets a third.
    """
    if settings.default.max_examples < 100:  # the profile `all` of conftest.py
        number = plain or max(number // 6, min(number, 8))
    slow = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
    return settings(max_examples=number if JIT else number // 3, suppress_health_check=slow)


@st.composite
def cases(draw, kinds=tuple(LABELS), max_queries=4, max_documents=6):
    """
    Draw ragged rankings of short queries, often tied and some empty.

    Some rankings have a pool, unjudged documents or NaN scores.
    """
    kind = draw(st.sampled_from(kinds))
    score = draw(st.sampled_from([TIED_SCORES, SCORES, SCORES | st.just(np.nan)]))
    document = st.tuples(LABELS[kind], score, st.booleans(), st.integers(-2, 2))
    queries = draw(st.lists(st.lists(document, max_size=max_documents), max_size=max_queries))
    documents = [document for query in queries for document in query]
    offsets = np.cumsum([0, *map(len, queries)])
    labels = np.array([label for label, *_ in documents], "f8" if kind == "float" else "i8")
    judged = np.array([was_judged for *_, was_judged, _ in documents], bool) | (labels != 0)
    judged = judged if draw(st.booleans()) else np.ones_like(judged)
    with np.errstate(over="ignore"):
        scores = np.array([score for _, score, *_ in documents]).astype(draw(st.sampled_from(["f4", "f8"])))
    pool = draw(pools(kind, labels, judged, offsets)) if draw(st.booleans()) else None
    tie_keys = np.array([key for *_, key in documents], "i8")
    return Case(Rankings(labels, scores, offsets, judged=judged, pool=pool, tie_keys=tie_keys), kind)


@st.composite
def pools(draw, kind, labels, judged, offsets):
    """Draw all judged labels of each query, including labels of documents that were not retrieved."""
    queries = []
    for start, stop in pairwise(offsets):
        known = labels[start:stop][judged[start:stop]].tolist()
        queries.append(draw(st.permutations(known + draw(st.lists(LABELS[kind], max_size=3)))))
    pool_labels = [label for query in queries for label in query]
    return np.array(pool_labels, labels.dtype), np.cumsum([0, *map(len, queries)])


@st.composite
def long_cases(draw, max_queries=4, max_documents=90):
    """Draw longer queries for vectors, selecting and merging, with few enough orders for the reference."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    labels, scores = [], []
    for _ in range(draw(st.integers(1, max_queries))):
        n = draw(st.integers(0, max_documents))
        n_scores = draw(st.sampled_from([1, 4, n, 10 * n]))
        share = draw(st.sampled_from([0.03, 0.2, 0.9]))
        labels.append(random.integers(1, draw(st.integers(1, 4)) + 1, n) * (random.random(n) < share))
        scores.append(with_fewer_ties(labels[-1], random.integers(0, n_scores, n, endpoint=True) / 4))
        scores[-1][random.integers(0, n, min(n, 3))] = random.choice(SPECIAL_SCORES, min(n, 3)) if n else 0
    rankings = Rankings(
        np.concatenate(labels).astype(draw(st.sampled_from(["u1", "i2", "i8", "f4", "f8"]))),
        np.concatenate(scores).astype(draw(st.sampled_from(["f4", "f8"]))),
        np.cumsum([0, *map(len, labels)]),
        tie_keys=random.permutation(sum(map(len, labels))),
    )
    return Case(rankings, "graded")


def with_fewer_ties(labels, scores):
    """Return the scores of a query, with tie groups split until the rest has at most `MOST_ORDERS` orders."""
    scores = scores.copy()
    number = 1
    for score in np.unique(scores):
        members = np.flatnonzero(scores == score)
        alike = prod(map(factorial, Counter(labels[members].tolist()).values()))
        arrangements = factorial(len(members)) // alike
        if number * arrangements <= MOST_ORDERS:
            number *= arrangements
        else:
            scores[members] += np.arange(len(members)) / 1024
    return scores


@st.composite
def metrics(draw, name, kind, convention, deepest=None):
    known = {parameter.name: parameter_values(parameter) for parameter in CATALOG[name].parameters}
    choices = known | {
        "max_grade": st.sampled_from([4, 5, 10] if kind != "float" else [10, 12]),
        "rel": st.sampled_from([1, 2, 0.5, 4]),
        "discount": st.sampled_from(DISCOUNTS),
        "gain": st.sampled_from([gain for gain in GAINS if has_meaning(gain, kind, convention.negative_labels)]),
    }
    if name == "INST":  # no gain above 1
        tables = [(0.0, 0.25, 0.5, 0.75, 1.0)] if has_meaning((0.0,), kind, convention.negative_labels) else []
        choices["gain"] = st.sampled_from(["binary", *tables])
    needed = {"max_grade"} if kind == "float" else set()
    parameters = {key: draw(choices[key] if key in needed else st.none() | choices[key]) for key in known}
    if "stop" in known and kind != "binary":
        parameters["stop"] = "grades"
    cutoffs = st.integers(1, deepest) if deepest else st.integers(1, 8) | st.integers(1, 70)
    k = draw(cutoffs if deepest or needs_cutoff(name, convention) else st.none() | cutoffs)
    return with_cutoff(name, k, **parameters)


def parameter_values(parameter):
    """Return a strategy for a parameter (choices, numbers within bounds, or tables), or None for other types."""
    if parameter.type == "choice":
        return st.sampled_from(parameter.choices)
    if parameter.type == "table":
        return st.sampled_from([(0.0, 0.3), (0.75,), (0.1, 0.5, 1.0)])
    numbers = [x for x in (-1.0, 0.0, 0.1, 0.25, 0.5, 0.8, 1.0, 1.3, 2.0, 4.0) if parameter.allows(x)]
    return st.sampled_from(numbers) if parameter.type in ("float", "int") else None


def with_cutoff(name, k, **parameters):
    return fn.Metric(name, k if CATALOG[name].has_cutoff else None, **parameters)


@st.composite
def conventions(draw, case, ties):
    choices = CHOICES | {"ties": (ties,), "discount": DISCOUNTS, "undefined": ("nan", 0, 1), "default_k": ("all", 2)}
    choices["undefined_ap"] = ("as undefined", "nan", 0, 1)
    if case.kind == "negative":
        choices["negative_labels"] = ("zero", "keep", "removed")
    if np.isnan(case.rankings.scores).any():
        choices["nan_scores"] = ("last",)
    chosen = {field: draw(st.sampled_from(values)) for field, values in choices.items() if field != "gain"}
    gains = [gain for gain in GAINS if has_meaning(gain, case.kind, chosen["negative_labels"])]
    return fn.conventions["default"].replace(gain=draw(st.sampled_from(gains)), **chosen)


def needs_cutoff(name, convention):
    """Return True if a metric has no definition without a cutoff."""
    if convention.default_k != "all":
        return False
    of_k = (
        name in ("AP", "Q") and convention.ap_denominator == "k",
        name in ("nDCG", "IDCG") and convention.ideal == "k best",
    )
    return any(of_k)


def kinds_for(name, *, as_it_is=False):
    stops = any(parameter.name == "stop" for parameter in CATALOG[name].parameters)
    refused = (("huge", "float") if as_it_is else ("huge",)) if stops else ()
    return tuple(kind for kind in LABELS if kind not in refused)


def has_meaning(gain, kind, negative_labels):
    if isinstance(gain, tuple):
        return kind in ("binary", "graded") or (kind == "negative" and negative_labels != "keep")
    return gain in ("linear", "binary") or kind != "huge"


def layouts(values):
    swapped = values.astype(values.dtype.newbyteorder()) if values.dtype.itemsize > 1 else values
    fixed = values.copy()
    fixed.flags.writeable = False
    return {
        "contiguous": values, "strided": np.repeat(values, 3)[::3], "reversed": values[::-1].copy()[::-1],
        "byte-swapped": swapped, "read-only": fixed, "column": np.column_stack([values, values])[:, 0],
    }  # fmt: skip


def random_rankings(n_queries=300, most=80, seed=7):
    """Return seeded ragged rankings with ties, negative labels, a pool, unjudged documents and empty queries."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, most, n_queries) * (random.random(n_queries) < 0.95)
    n = int(sizes.sum())
    share = np.repeat(random.choice([0.02, 0.1, 0.6], n_queries), sizes)
    labels = random.integers(-1, 5, n) * (random.random(n) < share)
    n_scores = np.repeat(random.choice([1, 9, 10 * most], n_queries), sizes)
    scores = np.floor(random.random(n) * n_scores) / 8
    queries = np.arange(n_queries)
    owners = np.concatenate([np.repeat(queries, sizes), np.repeat(queries, 2)])
    pool = np.append(labels, random.integers(0, 5, 2 * n_queries))[np.argsort(owners, kind="stable")]
    return Rankings(
        labels, scores, np.cumsum([0, *sizes]), judged=(labels != 0) | (random.random(n) < 0.7),
        pool=(pool, np.cumsum([0, *(sizes + 2)])), tie_keys=random.permutation(n),
    )  # fmt: skip


def has_gain(record):
    return any(parameter.name == "gain" and parameter.default is None for parameter in record.parameters)


def names(ties="average"):
    return [name for name in PLAIN if ties in CATALOG[name].ties]


def all_metrics(deepest=None, ties="average"):
    """Return metrics for a tie policy at several cutoffs, none below rank `deepest`, and some with other parameters."""
    cutoffs = [None, 1, 3, 10, 64]
    asked = list(dict.fromkeys(with_cutoff(name, k) for name in names(ties) for k in cutoffs))
    asked += map(fn.Metric.parse, ["nDCG(gain=exp2)@5", "DCG(rel=2)@4", "P(rel=2)@5", "F(beta=2)@7", "AP(rel=3)@9"])
    return tuple(one for one in asked if deepest is None or (one.k is not None and one.k <= deepest))


def reordered(rankings, queries, documents=None):
    """Return rankings with the queries, or their `documents`, in another order."""
    if documents is None:
        documents = places(rankings.offsets, queries)
    pool = rankings.pool
    if pool is not None:
        pool = (pool[0][places(pool[1], queries)], np.cumsum([0, *np.diff(pool[1])[queries]]))
    return Rankings(
        rankings.labels[documents], rankings.scores[documents], np.cumsum([0, *np.diff(rankings.offsets)[queries]]),
        judged=None if rankings.judged is None else rankings.judged[documents], pool=pool,
        tie_keys=rankings.tie_keys[documents],
    )  # fmt: skip


def places(offsets, queries):
    return np.array([d for q in queries for d in range(offsets[q], offsets[q + 1])], "i8")


@contextlib.contextmanager
def compilations():
    """Yield a list that collects the names of the kernels that are compiled in the block."""
    event = pytest.importorskip("numba.core.event")
    compiled = []

    class Watch(event.Listener):
        def on_start(self, compiling):
            compiled.append(compiling.data["dispatcher"].py_func.__name__)

        def on_end(self, compiling):
            pass

    watch = Watch()
    event.register("numba:compile", watch)
    try:
        yield compiled
    finally:
        event.unregister("numba:compile", watch)
