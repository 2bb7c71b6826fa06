"""
Workloads: arrays to evaluate, made from a seed, by name.

`make_workload(name, scale)` makes labels, scores and offsets. `scale` multiplies the number of queries, and the size
of the largest query. The goals in `RECIPES` are for scale 1. This module uses only the public functions of
fastndcg, so that `python -m benchmarks compare` can run it with the package of an older commit.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

SEED = 2002
BLOCK = 1 << 22  # documents drawn in one call, which bounds the memory of the random numbers
NDCG = ("nDCG@10",)
TWELVE = (
    "nDCG@5", "nDCG@10", "nDCG@100", "nDCG", "AP", "AP@10", "RR", "P@10", "R@100", "Success@10", "F@10", "Rprec",
)  # fmt: skip
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)


def _cut(name: str, cutoffs: tuple[int, ...] = CUTOFFS) -> tuple[str, ...]:
    """Return the texts of a metric at several cutoffs."""
    return tuple(f"{name}@{k}" for k in cutoffs)


# the metrics of trec_eval's `-m all_trec`, written out so that every commit evaluates the same ones
ALL_TREC = (
    "num_ret", "num_rel", "num_rel_ret", "AP", "gm(AP)", "Rprec", "bpref", "RR",
    "IPrec(recall=0)", "IPrec(recall=0.1)", "IPrec(recall=0.2)", "IPrec(recall=0.3)", "IPrec(recall=0.4)", "IPrec",
    "IPrec(recall=0.6)", "IPrec(recall=0.7)", "IPrec(recall=0.8)", "IPrec(recall=0.9)", "IPrec(recall=1)",
    *_cut("P"), *_cut("R"), "infAP", "gm(bpref)",
    "Rprec(mult=0.2)", "Rprec(mult=0.4)", "Rprec(mult=0.6)", "Rprec(mult=0.8)", "Rprec(mult=1.2)", "Rprec(mult=1.4)",
    "Rprec(mult=1.6)", "Rprec(mult=1.8)", "Rprec(mult=2)", "Utility", "IAP", "binG", "G", "nDCG", "nDCG_rel", "Rndcg",
    *_cut("nDCG"), *_cut("AP"), *_cut("RelP"), *_cut("Success", (1, 5, 10)), "P", "RelP", "R", "SetAP", "F",
    "num_nonrel_judged_ret", "RBP", "RBP_resid", *_cut("Unjudged", (5, 10, 20)),
)  # fmt: skip
TREC = "trec_eval(ties=input)"  # arrays have no ids, and some of these metrics have no expectation over tied orders
BASELINE = "baseline"


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
    def n_queries(self) -> int:
        """Return the number of queries."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """Return the number of documents of all queries."""
        return len(self.scores)


@dataclass(frozen=True, slots=True)
class Recipe:
    """
    The shape of a workload, and its goal: at most `limit` times the time of `against`, the baseline or a workload.

    `relevant` is the share of documents with label 1. None gives each query one relevant document. `order` sorts the
    scores of each query. `levels` rounds scores to that many values. `giant` "one" adds a query with half of all
    documents, and "spread" adds the same documents evenly.
    """

    queries: int
    shortest: int
    longest: int
    relevant: float | None
    label_dtype: str
    limit: float
    against: str = BASELINE
    score_dtype: str = "f4"
    levels: int | None = None
    order: str = "random"
    giant: str | None = None
    metrics: tuple[str, ...] = NDCG
    convention: str = "default"


RECIPES = {
    "sparse": Recipe(1_000_000, 50, 150, 0.05, "f4", 1.5),
    "sparse8": Recipe(1_000_000, 50, 150, 0.05, "u1", 2.0),
    "long": Recipe(50_000, 500, 1500, 0.01, "u1", 1.6),
    "dense": Recipe(500_000, 50, 150, 0.5, "u1", 5.0),
    "dense-long": Recipe(50_000, 500, 1500, 0.5, "u1", 2.5),
    "deep": Recipe(500_000, 50, 150, 0.5, "u1", 5.0, "dense", metrics=("nDCG", "AP")),
    "deep-long": Recipe(50_000, 500, 1500, 0.5, "u1", 20.0, "dense-long", metrics=("nDCG", "AP")),
    "candidates": Recipe(1_000_000, 100, 100, None, "u1", 1.8),
    "tied": Recipe(1_000_000, 50, 150, 0.05, "u1", 1.5, "sparse8", levels=16),
    "presorted": Recipe(50_000, 500, 1500, 0.01, "u1", 1.2, "long", order="descending"),
    "reversed": Recipe(50_000, 500, 1500, 0.01, "u1", 1.2, "long", order="ascending"),
    "giant": Recipe(1_000_000, 10, 10, 0.05, "u1", 1.2, "giant-spread", giant="one"),
    "giant-spread": Recipe(1_000_000, 10, 10, 0.05, "u1", 2.0, giant="spread"),
    "everything": Recipe(1_000_000, 50, 150, 0.05, "u1", 1.6, "sparse8", metrics=TWELVE),
    "all_trec": Recipe(1_000_000, 50, 150, 0.05, "u1", 4.0, "sparse8", metrics=ALL_TREC, convention=TREC),
    "sparse8-float64-scores": Recipe(1_000_000, 50, 150, 0.05, "u1", 2.0, score_dtype="f8"),
    "sparse-int64-labels": Recipe(1_000_000, 50, 150, 0.05, "i8", 1.5),
    "sparse-float64-labels": Recipe(1_000_000, 50, 150, 0.05, "f8", 1.5),
}
WITHOUT_GOAL = {"giant-spread"}  # the baseline of another workload
NAMES_WITH_GOAL = tuple(name for name in RECIPES if name not in WITHOUT_GOAL)


def make_workload(name: str, scale: float = 1.0) -> Workload:
    """
    Make the workload of a name, with the same bytes for the same name and scale.

    >>> make_workload("candidates", 1e-5).labels.sum()
    10
    """
    recipe = RECIPES[name]
    n_queries = max(1, round(recipe.queries * scale))
    sizes = np.random.default_rng(SEED).integers(recipe.shortest, recipe.longest + 1, n_queries)
    if recipe.giant is not None:
        sizes = _add_giant_query(sizes, is_spread=recipe.giant == "spread")
    return _fill_workload(name, recipe, np.concatenate([[0], np.cumsum(sizes)]))


def make_sized_workload(name: str, n_documents: int) -> Workload:
    """Make the workload of a name with about this number of documents."""
    recipe = RECIPES[name]
    n_queries = max(1, round(n_documents * 2 / (recipe.shortest + recipe.longest)))
    return make_workload(name, n_queries / recipe.queries)


def _add_giant_query(sizes: Array, *, is_spread: bool) -> Array:
    """Insert a query with half of all documents in the middle, or spread those documents evenly."""
    total = 2 * int(sizes.sum())
    if is_spread:
        bounds = np.linspace(0, total, len(sizes) + 2).astype("i8")
        return np.diff(bounds)
    return np.insert(sizes, len(sizes) // 2, sizes.sum())


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
    if recipe.order != "random":
        _sort_scores(scores, offsets, is_descending=recipe.order == "descending")
    for array in (labels, scores, offsets):
        array.flags.writeable = False
    return Workload(name, labels, scores, offsets, recipe.metrics, recipe.convention)


def _sort_scores(scores: Array, offsets: Array, *, is_descending: bool) -> None:
    """Sort the scores of each query without moving its labels."""
    for start, stop in itertools.pairwise(offsets.tolist()):
        scores[start:stop].sort()
        if is_descending:
            scores[start:stop] = scores[start:stop][::-1].copy()


def prepare_evaluation(workload: Workload, threads: int | None = None) -> Callable[[], Array]:
    """Return the call that is timed: it checks the arrays and returns one value for each query and metric."""
    import fastndcg as fn

    def evaluate() -> Array:
        result = fn.evaluate(
            workload.labels, workload.scores, workload.metrics,
            offsets=workload.offsets, convention=workload.convention, threads=threads,
        )  # fmt: skip
        return result.values

    return evaluate
