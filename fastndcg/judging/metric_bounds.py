"""The highest difference of two systems that labels of unjudged documents allow, query by query, for each metric."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from fastndcg.engine.chunk import make_discounts
from fastndcg.errors import InvalidInputError
from fastndcg.inputs.ids import run_on_spans
from fastndcg.judging.unjudged import Places, SystemRanks, Unjudged, check_choices
from fastndcg.kernels.judging import Found, Placed
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import add_default_cutoff
from fastndcg.parsing import Value
from fastndcg.rankings.validation import Array, count_before, read_only
from fastndcg.reference.definition import read_definition

kernels = load_kernels("judging")
BEYOND = np.iinfo("i4").max  # sorts behind all ranks
COST = 1 << 12  # items of a span for a thread


class Highest(NamedTuple):
    """
    The highest difference of each query, -inf for a query that is undefined whatever its labels.

    `given` is (n_items, n_gains): the highest difference if the item had this gain. None if it was not requested.
    """

    values: Array
    is_exact: Array
    given: Array | None = None


class MetricBounds:
    """
    The bounds of one metric for all systems.

    Subclasses say in `needed` which choices of the convention their metrics need, and find the highest difference.
    `gains` are the distinct gains of the labels, rising, and `gain_of_label` has the place of each label's gain.
    """

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {}
    is_binary: ClassVar[bool] = True
    may_be_undefined: ClassVar[bool] = False

    def __init__(self, metric: Metric, unjudged: Unjudged) -> None:
        (self.metric,) = add_default_cutoff((metric,), unjudged.convention)
        check_choices(self.needed, unjudged.convention, str(metric))
        self.unjudged = unjudged
        self.gains, self.gain_of_label = np.unique(self.find_gains(unjudged.labels), return_inverse=True)
        self.n_ranks = max(1, *(int(one.n_retrieved.max(initial=1)) for one in unjudged.systems.values()))
        self.k = min(self.metric.k or self.n_ranks, self.n_ranks)
        self.pool_gains = self.find_gains(unjudged.pool)

    @property
    def can_be_undefined(self) -> Array:
        """True for each query that has labels with which the metric is undefined."""
        if not self.may_be_undefined:
            return np.zeros(self.unjudged.n_queries, bool)
        n_positive = np.bincount(self.unjudged.pool_queries[self.pool_gains > 0], minlength=self.unjudged.n_queries)
        has_items = np.diff(self.unjudged.offsets) > 0
        return np.asarray((n_positive == 0) & ~(has_items & (self.gains[0] > 0)))

    def find_gains(self, labels: Array) -> Array:
        """Return the gain of each label, 0 or 1 for relevant ones if the metric is binary."""
        levels, places = np.unique(labels, return_inverse=True)
        definition = read_definition(self.metric, self.unjudged.convention)
        gain = definition.is_relevant if self.is_binary else definition.gain
        try:
            return np.array([float(gain(level)) for level in levels.tolist()])[places]
        except OverflowError:
            raise InvalidInputError(
                f"`labels` must have finite gains for {self.metric}, but 2**{levels.max():g} is too large. Give lower "
                "ones, or take gain='linear'"
            ) from None

    def find_highest(self, own: str | None, other: str | None, *, given: bool = False) -> Highest:
        """Return the highest difference of two systems. None is a system that ranks nothing."""
        return self._find_highest(own, other, given)

    def _find_highest(self, own: str | None, other: str | None, given: bool) -> Highest:
        raise NotImplementedError

    def expect(self, places: Places, discount: Value) -> Array:
        """Return the expected discount of each document, 0 if it is not ranked among the first k."""
        table = make_discounts(discount, self.n_ranks)
        is_counted = (places.starts > 0) & (places.starts <= self.k)
        starts = np.where(is_counted, places.starts, 1)
        ends = np.minimum(starts + places.sizes - 1, self.k)
        sums = table.sums[ends] - table.sums[starts - 1] + (table.rests[ends] - table.rests[starts - 1])
        expected = np.where(places.sizes == 1, table.values[starts], sums / places.sizes)
        return np.asarray(np.where(is_counted, expected, 0.0))

    def sum_by_query(self, queries: Array, values: Array) -> Array:
        """Return the sum of values of each query."""
        return np.bincount(queries, values, minlength=self.unjudged.n_queries)

    def place(self, name: str | None) -> Places:
        """Return the ranks of all items in a system."""
        n_items = self.unjudged.n_items
        none = Places(np.zeros(n_items, "i4"), np.ones(n_items, "i4"))
        return none if name is None else self.unjudged.systems[name].items

    def make_outputs(self, n_items: int, given: bool) -> tuple[Array, Array]:
        """Return what a kernel writes: a value a query, and if wanted one for each item and gain."""
        return np.empty(self.unjudged.n_queries), np.empty((n_items if given else 0, len(self.gains)))

    def find_relevant(self, system: SystemRanks) -> tuple[Array, Places]:
        """
        Return the queries and the ranks of the relevant documents, in rising order of both.

        If all labels are relevant, so are the items.
        """
        chosen = self.find_gains(system.labels) > 0
        queries, places = system.queries[chosen], system.judged.take(np.flatnonzero(chosen))
        if self.gains[0] > 0:
            own = np.flatnonzero(system.items.starts)
            items = system.items.take(own)
            queries = np.concatenate([queries, self.unjudged.item_queries[own]])
            places = Places(*(np.concatenate(both) for both in zip(places, items, strict=True)))
        order = np.lexsort((places.starts, queries))
        return queries[order], places.take(order)

    def choose_items(self, places: Array) -> tuple[Array, Array]:
        """Return the items at some places, none if their gains are known, and the offsets of their queries."""
        places = places if len(self.gains) > 1 else places[:0]
        return places, read_only(
            count_before(np.bincount(self.unjudged.item_queries[places], minlength=self.unjudged.n_queries))
        )


class SumBounds(MetricBounds):
    """Sums over documents of gain · weight: each document has the label that its difference of weights favours."""

    is_binary = False

    def weigh(self, name: str | None) -> tuple[Array, Array]:
        """Return the weight of each item in a system, and the sum of the judged documents of each query."""
        if name is None:
            return np.zeros(self.unjudged.n_items), np.zeros(self.unjudged.n_queries)
        system = self.unjudged.systems[name]
        discount = self._choose_discount()
        judged = self.find_gains(system.labels) * self.expect(system.judged, discount)
        scale = self._find_scale(system)
        base = self.sum_by_query(system.queries, judged) * scale
        return self.expect(system.items, discount) * scale[self.unjudged.item_queries], base

    def _choose_discount(self) -> Value:
        """Return the discount of the metric, or of the convention."""
        p = self.metric.get("p")
        if p is not None:
            return float(p)
        return self.metric.get("discount") or self.metric.record.discount or self.unjudged.convention.discount

    def _find_scale(self, system: SystemRanks) -> Array:
        """Return what multiplies the sum of each query."""
        return np.ones(len(system.n_retrieved))

    def _find_highest(self, own: str | None, other: str | None, given: bool) -> Highest:
        (own_weights, own_base), (other_weights, other_base) = self.weigh(own), self.weigh(other)
        added = np.multiply.outer(own_weights - other_weights, self.gains)
        most = added.max(axis=1)
        queries = self.unjudged.item_queries
        values = own_base - other_base + self.sum_by_query(queries, most)
        is_exact = np.ones(len(values), bool)
        return Highest(values, is_exact, values[queries, None] - most[:, None] + added if given else None)


class RbpBounds(SumBounds):
    """RBP, whose gains no other document changes."""

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {"rbp_gain": ("binary",)}


class PrecisionBounds(SumBounds):
    """Precision at k."""

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {
        "precision_denominator": ("k", "min(k, n_retrieved)"), "precision_mean": ("macro",),
    }  # fmt: skip
    is_binary = True

    def _choose_discount(self) -> Value:
        return "none"

    def _find_scale(self, system: SystemRanks) -> Array:
        is_k = self.metric.k is not None and self.unjudged.convention.precision_denominator == "k"
        n = np.full(len(system.n_retrieved), self.metric.k) if is_k else np.minimum(system.n_retrieved, self.k)
        return 1.0 / np.maximum(n, 1)


class RatioBounds(SumBounds):
    """nDCG: a sum of gains over that of the ideal ranking, which labels change, too."""

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {"ideal": ("judged",)}
    may_be_undefined = True

    def _make_ideal(self, n: int) -> Array:
        """Return the sum of the ideal ranking for a gain of 1 of 0, 1, … n documents."""
        deepest = n if self.metric.k is None else min(n, self.metric.k)
        table = make_discounts(self._choose_discount(), max(deepest, 1))
        return table.sums[: deepest + 1] + table.rests[: deepest + 1]

    def _find_highest(self, own: str | None, other: str | None, given: bool) -> Highest:
        (own_weights, own_base), (other_weights, other_base) = self.weigh(own), self.weigh(other)
        weights = own_weights - other_weights
        order = np.lexsort((-weights, self.unjudged.item_queries))
        pool = np.empty((self.unjudged.n_queries, len(self.gains)), "i8")
        for place, gain in enumerate(self.gains.tolist()):
            pool[:, place] = self.sum_by_query(self.unjudged.pool_queries, self.pool_gains >= gain)
        offsets = self.unjudged.offsets
        longest = int(np.bincount(self.unjudged.pool_queries).max(initial=0) + np.diff(offsets).max(initial=0))
        out, out_given = self.make_outputs(len(order), given)
        arrays = [weights[order], offsets, own_base - other_base, self.gains, pool, self._make_ideal(longest + 1)]
        arrays = [read_only(array) for array in arrays]
        run_on_spans(
            offsets, lambda first, stop: kernels.find_highest_ratio(*arrays, first, stop, out, out_given),
            self.unjudged.threads, COST,
        )  # fmt: skip
        return Highest(out, np.ones(len(out), bool), _put_back(out_given, order) if given else None)


class RecallBounds(RatioBounds):
    """Recall at k."""

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {"precision_mean": ("macro",)}
    is_binary = True

    def _choose_discount(self) -> Value:
        return "none"

    def _make_ideal(self, n: int) -> Array:
        is_cut = self.unjudged.convention.recall_denominator != "n_relevant"
        return np.minimum(np.arange(n + 1), (self.metric.k or n) if is_cut else n).astype("f8")


class FirstBounds(MetricBounds):
    """RR and Success, of which the first relevant document alone decides."""

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {"no_relevant": ("defined",)}

    def find_groups(self, name: str | None) -> Array:
        """Return start, size and number of relevant documents of the first tie group of each query that has any."""
        groups = np.zeros((self.unjudged.n_queries, 3), "i4")
        if name is not None:
            queries, places = self.find_relevant(self.unjudged.systems[name])
            own, firsts = np.unique(queries, return_index=True)
            groups[own, 0] = places.starts[firsts]
            groups[own, 1] = places.sizes[firsts]
            is_first = places.starts == groups[queries, 0]
            groups[:, 2] = np.bincount(queries[is_first], minlength=len(groups))
        return groups

    def _find_highest(self, own: str | None, other: str | None, given: bool) -> Highest:
        ranks, others = self.place(own), self.place(other)
        falling = -np.where(others.starts > 0, others.starts, BEYOND)
        rising = np.where(ranks.starts > 0, ranks.starts, BEYOND)
        order, offsets = self.choose_items(np.lexsort((falling, rising, self.unjudged.item_queries)))
        values = np.zeros(self.k + 1)
        values[1:] = 1.0 / np.arange(1, self.k + 1) if self.metric.name == "RR" else 1.0
        out, out_given = self.make_outputs(len(order), given)
        arrays = [*ranks.take(order), *others.take(order), offsets, self.find_groups(own), self.find_groups(other)]
        arrays = [read_only(array) for array in (*arrays, values)]
        run_on_spans(
            offsets, lambda first, stop: kernels.find_highest_first(*arrays, first, stop, out, out_given),
            self.unjudged.threads, COST,
        )  # fmt: skip
        same = np.repeat(out[:, None], len(self.gains), axis=1)
        return Highest(out, np.ones(len(out), bool), self.fill_given(same, out_given, order) if given else None)

    def fill_given(self, spare: Array, given: Array, order: Array) -> Array:
        """Return the values for all items. Those that are left out have the values of their query in `spare`."""
        filled = np.asarray(spare[self.unjudged.item_queries])
        filled[order] = given
        return filled


class AveragePrecisionBounds(FirstBounds):
    """AP, a quadratic form of the labels divided by their sum."""

    needed: ClassVar[dict[str, tuple[Any, ...]]] = {"ap_denominator": ("n_relevant", "min(k, n_relevant)", "k")}
    may_be_undefined = True

    def measure(self, places: Places) -> Placed:
        """Return what the kernel reads of documents in a system."""
        each = self.expect(places, "1/r")
        is_counted = each > 0
        starts = np.where(is_counted, places.starts, 1)
        table = make_discounts("1/r", self.n_ranks)
        ends = np.minimum(starts + places.sizes - 1, self.k)
        sums = table.sums[ends] - table.sums[starts - 1] + (table.rests[ends] - table.rests[starts - 1])
        pairs = np.maximum(places.sizes * (places.sizes - 1.0), 1)
        both = 2 * ((ends - starts + 1) - starts * sums) / pairs  # the sum over ranks r of (r − start) / r
        both = np.where(is_counted & (places.sizes > 1), both, 0.0)
        return Placed(np.where(is_counted, places.starts, BEYOND).astype("i4"), each, both)

    def find_found(self, name: str | None) -> Found:
        """Return the relevant documents of the judgments among the first k."""
        queries, places = np.empty(0, "i8"), Places(np.empty(0, "i4"), np.empty(0, "i4"))
        if name is not None:
            queries, places = self.find_relevant(self.unjudged.systems[name])
        measured = self.measure(places)
        chosen = measured.starts < BEYOND
        counts = np.bincount(queries[chosen], minlength=self.unjudged.n_queries)
        starts, each, both = (read_only(array[chosen]) for array in measured)
        return Found(starts, each, both, read_only(count_before(counts)))

    def count_relevant(self) -> Array:
        """Return the number of relevant documents of each query, with all items if no label is not relevant."""
        n = self.sum_by_query(self.unjudged.pool_queries, self.pool_gains).astype("i8")
        return n + np.diff(self.unjudged.offsets) if self.gains[0] > 0 else n

    def _find_highest(self, own: str | None, other: str | None, given: bool) -> Highest:
        queries = self.unjudged.item_queries
        measured, others = self.measure(self.place(own)), self.measure(self.place(other))
        counted = (measured.starts < BEYOND) | (others.starts < BEYOND)
        order = np.lexsort((measured.starts, queries))
        order, offsets = self.choose_items(order[counted[order]])
        is_free = len(self.gains) > 1
        n_spare = np.bincount(queries[~counted], minlength=self.unjudged.n_queries) * is_free
        other_order = np.lexsort((others.starts[order], queries[order])) - np.repeat(offsets[:-1], np.diff(offsets))
        n_relevant = self.count_relevant()
        denominators = np.arange(int((n_relevant + np.diff(self.unjudged.offsets)).max(initial=0)) + 2.0)
        if self.unjudged.convention.ap_denominator != "n_relevant" and self.metric.k is not None:
            is_k = self.unjudged.convention.ap_denominator == "k"
            denominators = (
                np.full_like(denominators, self.metric.k) if is_k else np.minimum(denominators, self.metric.k)
            )
        out, out_given = self.make_outputs(len(order), given)
        out_given_spare = np.empty((len(out), 2))
        is_exact = np.empty(len(out), bool)
        items = [Placed(*(read_only(array[order]) for array in one)) for one in (measured, others)]
        found = [self.find_found(name) for name in (own, other)]
        counts = [read_only(array) for array in (n_relevant, n_spare, denominators)]
        order_in_other = read_only(other_order.astype("i4"))  # once, not in each span
        run_on_spans(
            offsets,
            lambda first, stop: kernels.find_highest_precisions(
                *items, order_in_other, offsets, *found, *counts, own is None or other is None, first, stop,
                out, is_exact, out_given, out_given_spare,
            ),
            self.unjudged.threads, 1 << 6,
        )  # fmt: skip
        spare = out_given_spare if is_free else out[:, None]
        return Highest(out, is_exact, self.fill_given(spare, out_given, order) if given else None)


def _put_back(rows: Array, order: Array) -> Array:
    """Return rows in the order from which they were taken."""
    placed = np.empty_like(rows)
    placed[order] = rows
    return placed


BOUNDS: dict[str, type[MetricBounds]] = {
    "nDCG": RatioBounds,
    "DCG": SumBounds,
    "CG": SumBounds,
    "RBP": RbpBounds,
    "P": PrecisionBounds,
    "R": RecallBounds,
    "AP": AveragePrecisionBounds,
    "RR": FirstBounds,
    "Success": FirstBounds,
}


def make_bounds(metric: Metric, unjudged: Unjudged) -> MetricBounds:
    """Return the bounds of a metric."""
    check_has_bounds(metric)
    return BOUNDS[metric.record.name](metric, unjudged)


def has_bounds(metric: Metric) -> bool:
    """Return True for the mean of a metric with bounds."""
    return metric.record.name in BOUNDS and metric.aggregate is None


def check_has_bounds(metric: Metric) -> None:
    """Raise an error for a metric without bounds."""
    if not has_bounds(metric):
        raise InvalidInputError(
            f"`metrics` must have bounds over all labels, which are known for means of {', '.join(BOUNDS)}, not for "
            f"{metric}. Take one of these"
        )
