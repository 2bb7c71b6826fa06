"""From two rankings to one value a query and metric: in spans of queries, on threads."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from fastndcg.inputs.grouping import spans
from fastndcg.inputs.pairs import Pairs
from fastndcg.kernels import pairs as kernels
from fastndcg.memory import I4, I8, Scratch
from fastndcg.metric import UNLIMITED, Metric
from fastndcg.rankings import Array, read_only
from fastndcg.threads import run_all

SPAN = 1 << 16  # documents of both rankings
OF_ALL = "overlap"  # the kernels that look at all documents; others at those that both rankings have
FORMS = {"ext": 0.0, "min": 1.0}


class Evaluated(NamedTuple):
    """Values (n_queries, n_metrics), and in how many queries either ranking has equal scores."""

    values: Array
    n_tied: int


def evaluate(pairs: Pairs, metrics: tuple[Metric, ...], threads: int) -> Evaluated:
    """Evaluate every metric on every query."""
    n_queries = len(pairs.first_offsets) - 1
    values = np.empty((len(metrics), n_queries))
    parts = spans(pairs.first_offsets + pairs.second_offsets + np.arange(n_queries + 1), SPAN)
    tied: list[int] = []

    def make_worker() -> Callable[[tuple[int, int]], None]:
        scratch = Scratch()

        def work(span: tuple[int, int]) -> None:
            both = _whole(pairs, *span, scratch)
            tied.append(both.n_tied)
            for metric, row in zip(metrics, values, strict=True):
                kernel, names = _kernel_of(metric)
                seen = both if metric.record.kernel.startswith(OF_ALL) else both.common
                kernel(*[_argument(seen, metric, name) for name in names], row[slice(*span)])

        return work

    run_all(parts, make_worker, min(threads, len(parts)))
    return Evaluated(values.T, sum(tied))


@functools.cache
def _kernel_of(metric: Metric) -> tuple[Callable[..., None], tuple[str, ...]]:
    """The kernel of a metric, and the names of its parameters, `out` aside."""
    file, _, name = metric.record.kernel.partition(".")
    kernel = getattr(import_module(f"fastndcg.kernels.{file}"), name)
    return kernel, tuple(inspect.signature(getattr(kernel, "py_func", kernel)).parameters)[:-1]


def _argument(both: Both, metric: Metric, name: str) -> Any:
    """What a kernel's parameter stands for: what is known of both rankings, or what was asked for."""
    if name == "k":
        return UNLIMITED if metric.k is None else min(metric.k, UNLIMITED)
    if name == "form":
        return FORMS[metric.get(name)]
    return float(metric.get(name)) if metric.get(name) is not None else getattr(both, name)


def _whole(pairs: Pairs, first: int, stop: int, scratch: Scratch) -> Both:
    """All documents of some queries."""
    a, b = (offsets[first : stop + 1] for offsets in (pairs.first_offsets, pairs.second_offsets))
    partners = None if pairs.partners is None else pairs.partners[b[0] : b[-1]]
    scores = (pairs.first[a[0] : a[-1]], pairs.second[b[0] : b[-1]])
    return Both(scores, (a - a[0], b - b[0]), partners, scratch)


class Both:
    """
    What is known of two rankings of some queries, by the names that kernels have for it; found when it is asked for.

    See kernels/pairs.py.
    """

    def __init__(
        self, scores: tuple[Array, Array], offsets: tuple[Array, Array], partners: Array | None, scratch: Scratch
    ):
        self._scores = tuple(map(read_only, scores))
        self._partners = partners
        self._scratch, self._take = scratch, scratch.take
        self.first_offsets, self.second_offsets = map(read_only, offsets)
        first, second = self._ranked("first", 0), self._ranked("second", 1)
        self.first_order, self.first_above, self.first_ties, tied = first
        self.second_order, self.second_above, self.second_ties, second_tied = second
        self.n_tied = int(np.count_nonzero(tied | second_tied))
        self.first_other, self.second_other = self._others()

    @property
    def offsets(self) -> Array:
        """Those of both rankings, where they have the same documents."""
        return self.second_offsets

    @functools.cached_property
    def common(self) -> Both:
        """The documents that both rankings have."""
        if self._partners is None:
            return self
        n = int(np.count_nonzero(self._partners >= 0))
        scores = (np.empty(n, self._scores[0].dtype), np.empty(n, self._scores[1].dtype))
        offsets = np.empty(len(self.second_offsets), I8)
        kernels.gather_common(
            self._scores[0], self.first_offsets, self._scores[1], self.second_offsets, self._partners, *scores, offsets
        )
        return Both(scores, (offsets, offsets), None, self._scratch.view("common"))

    @functools.cached_property
    def _counts(self) -> tuple[Array, Array]:
        return self._alike("second", self.second_order, self.second_ties, self.second_other)

    @property
    def alike(self) -> Array:
        """Of the documents above one in the second ranking, how many are above it in the first, too."""
        return self._counts[0]

    @property
    def level(self) -> Array:
        """Of the documents above one in the second ranking, how many tie with it in the first."""
        return self._counts[1]

    @functools.cached_property
    def first_alike(self) -> Array:
        """The same as `alike` with the rankings exchanged."""
        return self._alike("first", self.first_order, self.first_ties, self.first_other)[0]

    def _ranked(self, name: str, which: int) -> tuple[Array, Array, Array, Array]:
        scores, offsets = self._scores[which], (self.first_offsets, self.second_offsets)[which]
        order, above, ties = (self._take((name, what), len(scores), I4) for what in ("order", "above", "ties"))
        tied = np.empty(len(offsets) - 1, bool)
        kernels.rank_all(scores, offsets, order, above, ties, tied)
        return order, above, ties, tied

    def _others(self) -> tuple[Array, Array]:
        if self._partners is None:
            return self.second_above, self.first_above
        first, second = (
            self._take((name, "other"), len(scores), I4) for name, scores in zip("ab", self._scores, strict=True)
        )
        kernels.look_across(
            self._partners, self.first_above, self.first_offsets, self.second_above, self.second_offsets, first, second
        )
        return first, second

    def _alike(self, name: str, order: Array, ties: Array, other: Array) -> tuple[Array, Array]:
        alike, level = (self._take((name, what), len(order), I4) for what in ("alike", "level"))
        kernels.count_alike(order, ties, other, self.offsets, alike, level)
        return alike, level
