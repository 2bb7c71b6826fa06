"""
What is measured: every workload by its name, made from a seed.

`make(name, scale)` gives labels, scores and offsets. `scale` shrinks the number of queries (and the giant query's
documents): 1.0 is what the goals are set for. The goals stand beside the recipes, in `RECIPES`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fastndcg.trec import lines, read

Array = npt.NDArray[Any]

SEED = 2002
PART = 1 << 22  # documents made at once: random numbers take memory of their own
NDCG = ("nDCG@10",)
TWELVE = (
    "nDCG@5", "nDCG@10", "nDCG@100", "nDCG", "AP", "AP@10", "RR", "P@10", "R@100", "Success@10", "F@10", "Rprec",
)  # fmt: skip
ALL_TREC = tuple(dict.fromkeys(str(line.metric) for line in lines(read("all_trec") or []) if line.metric is not None))
TREC = "trec_eval(ties=input)"  # arrays have no ids, and some of these metrics no mean over the orders of a tie
FLOOR = "floor"


@dataclass(frozen=True, slots=True)
class Workload:
    """Arrays to evaluate, and what to evaluate on them."""

    name: str
    labels: Array
    scores: Array
    offsets: Array
    metrics: tuple[str, ...] = NDCG
    convention: str = "default"

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.offsets) - 1

    @property
    def n_documents(self) -> int:
        """How many documents there are in all queries."""
        return len(self.scores)


@dataclass(frozen=True, slots=True)
class Recipe:
    """
    How a workload is made, and its goal: at most `limit` times the time of `against`, the floor or a workload.

    `relevant` is the share of documents with label 1, None for one document in each query; `order` sorts the scores
    of each query; `levels` rounds scores to so many values; a `giant` query has as many documents as all others
    together, or those documents `spread` evenly.
    """

    queries: int
    shortest: int
    longest: int
    relevant: float | None
    label_dtype: str
    limit: float
    against: str = FLOOR
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
WITHOUT_GOAL = {"giant-spread"}  # only there for another's goal


def make(name: str, scale: float = 1.0) -> Workload:
    """
    Make the workload of this name; the same name and scale give the same bytes.

    >>> make("candidates", 1e-5).labels.sum()
    10
    """
    recipe = RECIPES[name]
    n_queries = max(1, round(recipe.queries * scale))
    sizes = np.random.default_rng(SEED).integers(recipe.shortest, recipe.longest + 1, n_queries)
    if recipe.giant is not None:
        sizes = _with_giant(sizes, spread=recipe.giant == "spread")
    return _filled(name, recipe, np.concatenate([[0], np.cumsum(sizes)]))


def make_sized(name: str, n_documents: int) -> Workload:
    """Make a workload of about so many documents, whatever its recipe says of queries."""
    recipe = RECIPES[name]
    n_queries = max(1, round(n_documents * 2 / (recipe.shortest + recipe.longest)))
    return make(name, n_queries / recipe.queries)


def _with_giant(sizes: Array, *, spread: bool) -> Array:
    """One more query, in the middle, of as many documents as there are; or the same documents spread evenly."""
    total = 2 * int(sizes.sum())
    if spread:
        bounds = np.linspace(0, total, len(sizes) + 2).astype("i8")
        return np.diff(bounds)
    return np.insert(sizes, len(sizes) // 2, sizes.sum())


def _filled(name: str, recipe: Recipe, offsets: Array) -> Workload:
    """The workload whose queries are cut by these offsets."""
    n_documents = int(offsets[-1])
    draw_scores, draw_labels = (np.random.default_rng([SEED, number]) for number in (1, 2))
    scores = np.empty(n_documents, recipe.score_dtype)
    labels = np.zeros(n_documents, recipe.label_dtype)
    for first in range(0, n_documents, PART):
        part = scores[first : first + PART]
        part[:] = draw_scores.random(len(part), dtype="f4")
        if recipe.score_dtype == "f8":
            part += draw_scores.random(len(part)) * 2.0**-24
        if recipe.levels:
            np.floor(part * recipe.levels, out=part)
        if recipe.relevant is not None:
            labels[first : first + PART] = draw_labels.random(len(part), dtype="f4") < recipe.relevant
    if recipe.relevant is None:
        labels[offsets[:-1] + draw_labels.integers(0, np.diff(offsets))] = 1
    if recipe.order != "random":
        _sort(scores, offsets, descending=recipe.order == "descending")
    for array in (labels, scores, offsets):
        array.flags.writeable = False
    return Workload(name, labels, scores, offsets, recipe.metrics, recipe.convention)


def _sort(scores: Array, offsets: Array, *, descending: bool) -> None:
    """Sort the scores of each query; labels were drawn without looking at them."""
    for start, stop in itertools.pairwise(offsets.tolist()):
        scores[start:stop].sort()
        if descending:
            scores[start:stop] = scores[start:stop][::-1].copy()


def ours(workload: Workload, threads: int | None = None) -> Callable[[], Array]:
    """The call that is measured: arrays in, checked, one value a query and metric out."""
    import fastndcg as fn

    def evaluate() -> Array:
        result = fn.evaluate(
            workload.labels, workload.scores, workload.metrics,
            offsets=workload.offsets, convention=workload.convention, threads=threads,
        )  # fmt: skip
        return result.values

    return evaluate
