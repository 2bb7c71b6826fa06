"""
Data of the benchmarks, made from a seed: workloads of arrays, rows with ids, judged rankings of one length.

`make_workload(name, scale)` makes labels, scores and offsets. `scale` multiplies the number of queries, and the size
of the largest query. `make_rows` makes what users have beside arrays: text ids, rows in no order, tied scores.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import fastndcg as fn
from fastndcg.compat import pytrec_eval  # like all names here, one that earlier commits have: see against.py

Array = npt.NDArray[Any]

SEED = 2002
CHUNK = 1 << 18  # documents that a thread adds up at once
BLOCK = 1 << 22  # documents drawn in one call, which bounds the memory of the random numbers
NDCG = ("nDCG@10",)
TWELVE = (
    "nDCG@5", "nDCG@10", "nDCG@100", "nDCG", "AP", "AP@10", "RR", "P@10", "R@100", "Success@10", "F@10", "Rprec",
)  # fmt: skip
TREC = "trec_eval(ties=input)"  # arrays have no ids, and some of these metrics have no expectation over tied orders


def parse_measures(names: Iterable[str]) -> dict[str, fn.Metric]:
    """Return the metrics of trec_eval's measures by name, without those that are none."""
    return {name: fn.Metric.parse(name) for name in names if name not in ("num_q", "relstring", "runid")}


ALL_MEASURES = pytrec_eval.RelevanceEvaluator({"q": {"d": 1}}, {"all_trec"}).evaluate({"q": {"d": 1.0}})["q"]
ALL_TREC = tuple(dict.fromkeys(map(str, parse_measures(ALL_MEASURES).values())))


@dataclass(frozen=True, slots=True)
class Workload:
    """Arrays to evaluate, and the metrics and the convention to evaluate them with."""

    name: str
    labels: Array
    scores: Array
    offsets: Array
    metrics: tuple[str, ...] = NDCG
    convention: str = "default"

    @property
    def n_documents(self) -> int:
        """Return the number of documents of all queries."""
        return len(self.scores)


@dataclass(frozen=True, slots=True)
class Recipe:
    """
    The shape of a workload.

    `relevant` is the share of documents with label 1. None gives each query one relevant document. `order` sorts the
    scores of each query. `levels` rounds scores to that many values. `giant` "one" adds a query with half of all
    documents, and "spread" adds the same documents evenly.
    """

    queries: int
    shortest: int
    longest: int
    relevant: float | None
    label_dtype: str
    score_dtype: str = "f4"
    levels: int | None = None
    order: str = "random"
    giant: str | None = None
    metrics: tuple[str, ...] = NDCG
    convention: str = "default"


RECIPES = {
    "sparse": Recipe(1_000_000, 50, 150, 0.05, "f4"),
    "sparse8": Recipe(1_000_000, 50, 150, 0.05, "u1"),
    "long": Recipe(50_000, 500, 1500, 0.01, "u1"),
    "dense": Recipe(500_000, 50, 150, 0.5, "u1"),
    "dense-long": Recipe(50_000, 500, 1500, 0.5, "u1"),
    "deep": Recipe(500_000, 50, 150, 0.5, "u1", metrics=("nDCG", "AP")),
    "deep-long": Recipe(50_000, 500, 1500, 0.5, "u1", metrics=("nDCG", "AP")),
    "candidates": Recipe(1_000_000, 100, 100, None, "u1"),
    "tied": Recipe(1_000_000, 50, 150, 0.05, "u1", levels=16),
    "presorted": Recipe(50_000, 500, 1500, 0.01, "u1", order="descending"),
    "reversed": Recipe(50_000, 500, 1500, 0.01, "u1", order="ascending"),
    "giant": Recipe(1_000_000, 10, 10, 0.05, "u1", giant="one"),
    "giant-spread": Recipe(1_000_000, 10, 10, 0.05, "u1", giant="spread"),
    "everything": Recipe(1_000_000, 50, 150, 0.05, "u1", metrics=TWELVE),
    "all_trec": Recipe(1_000_000, 50, 150, 0.05, "u1", metrics=ALL_TREC, convention=TREC),
    "float64 predictions": Recipe(1_000_000, 50, 150, 0.05, "u1", score_dtype="f8"),
    "int64 labels": Recipe(1_000_000, 50, 150, 0.05, "i8"),
    "float64 labels": Recipe(1_000_000, 50, 150, 0.05, "f8"),
}


def make_workload(name: str, scale: float = 1.0) -> Workload:
    """
    Make the workload of a name, with the same bytes for the same name and scale.

    >>> make_workload("candidates", 1e-5).labels.sum()
    10
    """
    recipe = RECIPES[name]
    n_queries = max(1, round(recipe.queries * scale))
    sizes = np.random.default_rng(SEED).integers(recipe.shortest, recipe.longest + 1, n_queries)
    if recipe.giant == "one":
        sizes = np.insert(sizes, len(sizes) // 2, sizes.sum())
    elif recipe.giant == "spread":
        sizes = np.diff(np.linspace(0, 2 * int(sizes.sum()), len(sizes) + 2).astype("i8"))
    return _fill_workload(name, recipe, np.concatenate([[0], np.cumsum(sizes)]))


def make_sized_workload(name: str, n_documents: int) -> Workload:
    """Make the workload of a name with about this number of documents."""
    recipe = RECIPES[name]
    n_queries = max(1, round(n_documents * 2 / (recipe.shortest + recipe.longest)))
    return make_workload(name, n_queries / recipe.queries)


def _fill_workload(name: str, recipe: Recipe, offsets: Array) -> Workload:
    """Draw labels and scores for the queries that the offsets delimit."""
    n_documents = int(offsets[-1])
    score_generator = np.random.default_rng([SEED, 1])
    label_generator = np.random.default_rng([SEED, 2])
    scores = np.empty(n_documents, recipe.score_dtype)
    labels = np.zeros(n_documents, recipe.label_dtype)
    for start in range(0, n_documents, BLOCK):
        block = scores[start : start + BLOCK]
        block[:] = score_generator.random(len(block), dtype="f4")
        if recipe.score_dtype == "f8":
            block += score_generator.random(len(block)) * 2.0**-24
        if recipe.levels:
            np.floor(block * recipe.levels, out=block)
        if recipe.relevant is not None:
            labels[start : start + BLOCK] = label_generator.random(len(block), dtype="f4") < recipe.relevant
    if recipe.relevant is None:
        labels[offsets[:-1] + label_generator.integers(0, np.diff(offsets))] = 1
    for start, stop in itertools.pairwise(offsets.tolist() if recipe.order != "random" else []):
        scores[start:stop].sort()
        if recipe.order == "descending":
            scores[start:stop] = scores[start:stop][::-1].copy()
    for array in (labels, scores, offsets):
        array.flags.writeable = False
    return Workload(name, labels, scores, offsets, recipe.metrics, recipe.convention)


def prepare_evaluation(workload: Workload, threads: int | None = None) -> Callable[[], Array]:
    """Return the call that is timed: it checks the arrays and returns one value for each query and metric."""
    options = {"offsets": workload.offsets, "convention": workload.convention, "threads": threads}
    return lambda: fn.evaluate(workload.labels, workload.scores, workload.metrics, **options).values


def prepare_reading(workload: Workload, threads: int | None = None) -> Callable[[], float]:
    """
    Return a call that reads the workload's arrays once: their sum, added in any order, on the threads of fastndcg.

    Memory is the limit, as additions run in vectors. Each thread takes chunks of 2^18 documents, as the engine does.
    """
    kernel = _compile_sum()
    arrays = (workload.scores, workload.labels)  # floats are added in their own type, whole numbers as int64
    columns = [(values, values.dtype.type(0) if values.dtype.kind == "f" else np.int64(0)) for values in arrays]
    starts = range(0, workload.n_documents, CHUNK)
    n_threads = min(count_cpus() if threads is None else threads, len(starts))

    def add_chunks(part: range) -> float:
        return sum(float(kernel(values[s : s + CHUNK], zero)) for s in part for values, zero in columns)

    if n_threads == 1:
        return lambda: add_chunks(starts)
    pool = ThreadPoolExecutor(n_threads)
    parts = [starts[n::n_threads] for n in range(n_threads)]
    return lambda: sum(pool.map(add_chunks, parts))


@functools.cache
def _compile_sum() -> Any:
    """Compile the sum of an array in any order."""
    import numba

    @numba.njit(nogil=True, fastmath={"reassoc"})
    def add_up(values, zero):
        total = zero
        for d in range(values.shape[0]):
            total += values[d]
        return total

    return add_up


def count_cpus() -> int:
    """Return the number of CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of judgments and of a run, one a document, with the ids of their query and document."""

    queries: Array
    documents: Array
    labels: Array
    scores: Array

    def select(self, is_selected: Array) -> Rows:
        """Return the rows of a mask."""
        return Rows(*(column[is_selected] for column in (self.queries, self.documents, self.labels, self.scores)))

    def make_dicts(self) -> tuple[dict[Any, dict[Any, int]], dict[Any, dict[Any, float]]]:
        """Return the rows with labels above 0 as qrels, and all rows as a run, in dicts of dicts."""
        judged = self.select(self.labels > 0)
        return (
            _nest(judged.queries, judged.documents, judged.labels),
            _nest(self.queries, self.documents, self.scores.astype("f8")),
        )


def _nest(queries: Array, documents: Array, values: Array) -> dict[Any, dict[Any, Any]]:
    """Return columns as a dict of dicts of Python numbers."""
    nested: dict[Any, dict[Any, Any]] = {}
    for query, document, value in zip(queries.tolist(), documents.tolist(), values.tolist(), strict=True):
        nested.setdefault(query, {})[document] = value
    return nested


def make_rows(
    n_queries: int, n_documents: int, *, is_text: bool, is_shuffled: bool, levels: int | None = None, seed: int = 0
) -> Rows:
    """
    Make rows of a run over a catalogue of ten times as many documents, and their labels.

    Ids are whole numbers that rise, or texts. Rows are in rank order, or in no order. Scores are distinct, or rounded
    to some levels, so that many tie. The same seed gives the same labels for all four kinds.
    """
    rng = np.random.default_rng([SEED, seed])
    queries = np.repeat(np.arange(n_queries), n_documents)
    documents = np.concatenate([np.sort(rng.permutation(10 * n_documents)[:n_documents]) for _ in range(n_queries)])
    labels = (documents * 2654435761 % 97 % 20 == 0) * (documents % 3 + 1)
    scores = -np.sort(-rng.random((n_queries, n_documents)), axis=1).reshape(-1) + 0.3 * (labels > 0)
    if levels:
        scores = np.floor(scores * levels)
    if is_shuffled:
        order = rng.permutation(len(queries))
        queries, documents, labels, scores = (column[order] for column in (queries, documents, labels, scores))
    if is_text:
        queries = np.char.add("topic-", queries.astype(str))
        documents = np.char.add("D", (documents * 7919 % 1_000_003).astype(str))
    return Rows(queries, documents, labels, scores)


class Grid:
    """Graded labels and scores of shape (n_queries, n_documents), as every library of the registry takes them."""

    def __init__(self, labels: Array, scores: Array) -> None:
        self.labels = labels
        self.scores = scores
        self.sizes = np.full(len(labels), labels.shape[1])
        self.weights = np.ones(len(labels))
        self.flat_labels, self.flat_scores = (values.ravel().astype("f8") for values in (labels, scores))
        self.features = np.zeros((labels.size, 1))

    @property
    def qrels(self) -> dict[str, dict[str, int]]:
        """Return the labels in dicts of Python numbers, with ids that sort by place."""
        return self._name(self.labels)

    @property
    def run(self) -> dict[str, dict[str, float]]:
        """Return the scores in dicts of Python numbers, with ids that sort by place."""
        return self._name(self.scores.astype("f8"))

    def _name(self, values: Array) -> dict[str, dict[str, Any]]:
        """Return rows with ids of queries and documents."""
        names = [f"d{document:06}" for document in range(values.shape[1])]
        return {f"q{query:09}": dict(zip(names, row, strict=True)) for query, row in enumerate(values.tolist())}


def make_grid(n_queries: int, n_documents: int, levels: int | None = None) -> Grid:
    """Make labels from 0 to 4, 1 % of the queries without relevant documents. Scores are distinct or of some levels."""
    rng = np.random.default_rng(SEED)
    shape = (n_queries, n_documents)
    labels = rng.choice(5, size=shape, p=(0.9, 0.04, 0.03, 0.02, 0.01)).astype("i1")
    labels[rng.random(n_queries) < 0.01] = 0
    scores = rng.permuted(np.broadcast_to(np.arange(n_documents, dtype="f4"), shape), axis=1)
    scores = (scores + rng.uniform(0, 0.9, size=shape).astype("f4")) / n_documents
    return Grid(labels, np.floor(scores * levels).astype("f4") if levels else scores)
