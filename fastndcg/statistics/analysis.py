"""Everything that is estimated about means and differences, from one set of replicates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastndcg.rankings import Array
from fastndcg.statistics import intervals, significance
from fastndcg.statistics.design import Design
from fastndcg.statistics.intervals import Interval, Resampled
from fastndcg.statistics.moments import Moments, moments_of, tie_level
from fastndcg.statistics.resampling import bootstrap_sums
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Tested
from fastndcg.statistics.sums import Quantity, Sums
from fastndcg.statistics.tukey import honest_differences

BY_SPREAD = ("t", "bootstrap")  # tests that measure a difference by how far the queries' differ


class Analysis:
    """
    Quantities with their moments and intervals; the same resamples for all.

    Attributes
    ----------
    quantities : list of Quantity
    moments : list of Moments
    intervals : list of Interval
    """

    def __init__(
        self, columns: Sequence[Array], quantities: Sequence[Quantity], design: Design, settings: Settings
    ) -> None:
        self.quantities = list(quantities)
        levels = [tie_level(columns, metric) for metric in range(columns[0].shape[1])]
        self.moments = [moments_of(quantity, columns, design, levels[quantity.metric]) for quantity in quantities]
        self._columns, self._design, self._settings = columns, design, settings
        self._sums: Sums | None = None
        self._replicates: Array | None = None
        self.intervals = [self._interval(place) for place in range(len(self.quantities))]

    def tests(self, places: Sequence[int]) -> list[Tested]:
        """The test of each of these quantities; NaN where there are fewer than two queries."""
        known = {place: self._without(self.moments[place]) for place in places}
        sound = [place for place, test in known.items() if test is None]
        tested = dict(zip(sound, self._tests_of(sound), strict=True))
        return [known[place] or tested[place] for place in places]

    def _without(self, moments: Moments) -> Tested | None:
        """What there is to say of a quantity that cannot be tested; None where it can."""
        if moments.reason:
            return Tested(math.nan, reason=moments.reason)
        return significance.without_spread(moments) if moments.alike and self._settings.test in BY_SPREAD else None

    def _tests_of(self, places: Sequence[int]) -> list[Tested]:
        settings = self._settings
        if not places:
            return []
        if settings.test == "randomization":
            return significance.randomization(self.sums, places, settings)
        if settings.test == "bootstrap":
            return [
                significance.bootstrap(self.replicates[:, p], self._observed[p], self.moments[p], settings)
                for p in places
            ]
        if settings.test == "t":
            return [significance.student(self.moments[place], settings) for place in places]
        if settings.test == "tukey":
            honest = honest_differences(self._columns, self._design, settings)
            wanted = (self.quantities[place] for place in places)
            return [honest[q.metric][q.system, q.against] for q in wanted if q.against is not None]
        return [
            significance.of_queries(settings.test, self.quantities[place], self._columns, settings) for place in places
        ]

    @property
    def sums(self) -> Sums:
        """The rows of whole numbers."""
        if self._sums is None:
            self._sums = Sums(self._columns, self.quantities, self._design)
        return self._sums

    @property
    def replicates(self) -> Array:
        """The (replicates, n_quantities) values of resampled queries."""
        if self._replicates is None:
            self._replicates = self.sums.quotients(bootstrap_sums(self.sums.rows, self._design, self._settings))
            self._observed = self.sums.quotients(self.sums.totals()).tolist()
        return self._replicates

    def _interval(self, place: int) -> Interval:
        moments, settings = self.moments[place], self._settings
        low, high, reason = math.nan, math.nan, moments.reason
        if not reason and settings.interval == "t":
            low, high = intervals.student(moments, settings.level)
        elif not reason:
            plan = self.sums.plans[place]
            resampled = Resampled(self.replicates[:, place], self._observed[place], lambda: self.sums.jackknife(plan))
            low, high, reason = intervals.from_replicates(resampled, moments, settings.interval, settings.level)
        return Interval(
            moments.mean, low, high, moments.n_queries, settings.level, settings.interval, settings.replicates,
            settings.seed, reason,
        )  # fmt: skip
