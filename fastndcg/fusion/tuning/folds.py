"""Folds of queries for cross-validation."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, Option, shorten
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.per_query import keep_known, read_per_query_array
from fastndcg.runtime.escapes import show_name
from fastndcg.statistics.resampling import make_key

FEWEST = 2
FEWEST_NESTED = 3  # a fold that is held out, one that compares methods, and one that tunes them


class Folds(NamedTuple):
    """A division of queries into `n` folds."""

    numbers: Array  # (n_queries,) int32: the fold of each query, from 0, also of those without a value
    n: int

    @property
    def training_sets(self) -> Array:
        """All folds, then all except each one: (1 + n, n) uint8, 1 for the folds of a set."""
        return np.vstack([np.ones((1, self.n), "u1"), 1 - np.eye(self.n, dtype="u1")])

    @property
    def inner_sets(self) -> tuple[list[tuple[int, int]], Array]:
        """Pairs of folds, and all folds except those of each pair: (n_pairs, n) uint8."""
        pairs = list(combinations(range(self.n), 2))
        sets = np.ones((len(pairs), self.n), "u1")
        for place, pair in enumerate(pairs):
            sets[place, list(pair)] = 0
        return pairs, sets


class FoldPlan(NamedTuple):
    """All divisions of a cross-validation, clusters of queries that stay together (None without), and notes on both."""

    repeats: list[Folds]
    clusters: Array | None
    notes: tuple[str, ...] = ()


class FoldOptions(NamedTuple):
    """Options of users about folds: see `tune_fusion`."""

    folds: Any
    seed: int
    clusters: Any
    repeats: int


def plan_folds(options: FoldOptions, query_ids: Array, has_value: Array, *, is_nested: bool) -> FoldPlan:
    """
    Divide queries into folds.

    `has_value` is False for queries in which the metric has no value. A nested plan has methods that are compared
    within the training queries.
    """
    repeats = check_whole_number(options.repeats, "repeats", 1)
    seed = check_whole_number(options.seed, "seed", 0)
    clusters, given_clusters = None, options.clusters
    notes: list[str] = []
    if given_clusters is not None:
        given_clusters, notes = keep_known(given_clusters, "clusters", query_ids)
        clusters = read_per_query_array(given_clusters, "clusters", query_ids)
    fewest = FEWEST_NESTED if is_nested else FEWEST
    if isinstance(options.folds, Mapping) or hasattr(options.folds, "__len__"):
        if repeats > 1:
            raise InvalidInputError(
                f"`repeats` must be 1 where `folds` names the fold of each query, got {repeats}. Pass ",
                Option("folds", "5"),
            )
        given_folds, fold_notes = keep_known(options.folds, "folds", query_ids)
        folds = _read_folds(given_folds, query_ids, has_value, clusters, fewest)
        return FoldPlan([folds], clusters, (*notes, *fold_notes))
    n = check_whole_number(options.folds, "folds", FEWEST)
    if n < fewest:
        raise InvalidInputError(
            f"`folds` must be {fewest} or more to compare methods, got {n}. Pass ",
            Option("folds", "5"),
            ", or one method",
        )
    return FoldPlan(
        [_draw_folds(n, draw_numbers(seed, r, len(has_value)), has_value, clusters) for r in range(repeats)],
        clusters,
        tuple(notes),
    )


def _draw_folds(n: int, random: Array, has_value: Array, clusters: Array | None) -> Folds:
    """Draw folds of about equal numbers of queries with a value, or of clusters with such queries."""
    units = np.arange(len(has_value))
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1].reshape(-1)
    judged = np.unique(units[has_value])
    what = "queries with a value" if clusters is None else "clusters with a value"
    if not len(judged):
        raise InvalidInputError(
            "`qrels` must have a query in which the metric has a value, but have none. Judge relevant documents of the "
            "queries of the runs"
        )
    if len(judged) < n:
        raise InvalidInputError(
            f"`folds` must be at most the number of {what}, {len(judged)}, got {n}. Pass fewer folds"
        )
    order = judged[np.argsort(random[: len(judged)], kind="stable")]
    numbers = np.zeros(int(units.max()) + 1, "i4")
    numbers[order] = np.arange(len(order)) % n
    return Folds(numbers[units], n)


def _read_folds(given_folds: Any, query_ids: Array, has_value: Array, clusters: Array | None, fewest: int) -> Folds:
    """Return folds that a user names for each query."""
    labels = read_per_query_array(given_folds, "folds", query_ids)
    names, numbers = np.unique(labels, return_inverse=True)
    numbers = numbers.reshape(-1).astype("i4")
    if len(names) < fewest:
        raise InvalidInputError(f"`folds` must name {fewest} folds or more, got {len(names)}. Divide the queries again")
    n_judged = np.bincount(numbers[has_value], minlength=len(names))
    if not n_judged.all():
        name = names[int(np.argmin(n_judged))]
        raise InvalidInputError(
            f"`folds` must have a judged query in each fold, but fold {shorten(name.item())} has none with a value of "
            "the metric. Merge it with another fold"
        )
    if clusters is not None:
        order = np.lexsort((numbers, clusters))
        is_split = (clusters[order][1:] == clusters[order][:-1]) & (numbers[order][1:] != numbers[order][:-1])
        if is_split.any():
            query = query_ids[order[int(np.argmax(is_split)) + 1]]
            raise InvalidInputError(
                f"`folds` must keep each cluster together, but that of query {show_name(query)} is in two folds. Leave "
                "out `clusters`, or change the folds"
            )
    return Folds(numbers, len(names))


def draw_numbers(seed: int, purpose: int, n: int) -> Array:
    """
    Return n random whole numbers that depend on the seed and the purpose alone, the same on any machine.

    They are those of SplitMix64, as in kernels/statistics/random.py: NumPy's generators may draw other numbers in
    another version.

    >>> (draw_numbers(0, 0, 2) == draw_numbers(0, 0, 3)[:2]).tolist()
    [True, True]
    """
    numbers = make_key(seed, purpose) + np.arange(1, n + 1, dtype="u8") * np.uint64(0x9E3779B97F4A7C15)
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: Array = numbers ^ (numbers >> np.uint64(31))
    return mixed
