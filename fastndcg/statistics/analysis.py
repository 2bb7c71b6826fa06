"""Moments, intervals and tests of means and differences, all from the same replicates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

from fastndcg.errors import InvalidInputError
from fastndcg.rankings.validation import Array
from fastndcg.statistics import intervals, significance
from fastndcg.statistics.integer_sums import Quantity, Sums
from fastndcg.statistics.intervals import Interval
from fastndcg.statistics.moments import Bounds, Moments, compute_moments, find_tie_threshold
from fastndcg.statistics.resampling import bootstrap_sums
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.significance import Significance, run_tukey_test

SPREAD_TESTS = ("t", "bootstrap")  # tests that divide a difference by the spread of the differences


class Analysis:
    """
    Quantities with their moments and intervals.

    `bounds` are the lowest and highest value of each metric. By default they are unknown.

    Attributes
    ----------
    quantities : list of Quantity
    moments : list of Moments
    """

    def __init__(
        self,
        columns: Sequence[Array],
        quantities: Sequence[Quantity],
        design: Design,
        settings: Settings,
        bounds: Sequence[Bounds] | None = None,
    ) -> None:
        self.quantities = list(quantities)
        n_metrics = columns[0].shape[1]
        thresholds = [find_tie_threshold(columns, metric) for metric in range(n_metrics)]
        bounds = bounds or [None] * n_metrics
        self.moments = [
            compute_moments(quantity, columns, design, thresholds[quantity.metric], bounds[quantity.metric])
            for quantity in quantities
        ]
        self._columns = columns
        self._design = design
        self._settings = settings
        self._sums: Sums | None = None
        self._replicates: Array | None = None
        if settings.interval == "betting" and not design.is_plain:
            raise InvalidInputError(
                "`interval` must not be 'betting' with weights, clusters, strata or pairs, since its bounds are of "
                "queries that count alike and are independent. Take 'auto'."
            )

    @cached_property
    def intervals(self) -> list[Interval]:
        """The interval of each quantity."""
        return [self._compute_interval(place) for place in range(len(self.quantities))]

    def tests(self, places: Sequence[int]) -> list[Significance]:
        """Test the quantities with these indices. A quantity with fewer than two queries has the p-value NaN."""
        early = {place: self._find_early_outcome(self.moments[place]) for place in places}
        testable = [place for place, outcome in early.items() if outcome is None]
        tested = dict(zip(testable, self._run_tests(testable), strict=True))
        return [early[place] or tested[place] for place in places]

    def _find_early_outcome(self, moments: Moments) -> Significance | None:
        """Return the outcome for a quantity that cannot be tested, or None."""
        if moments.reason:
            return Significance(math.nan, reason=moments.reason)
        if moments.is_constant and self._settings.test in SPREAD_TESTS:
            return significance.judge_constant_differences(moments)
        return None

    def _run_tests(self, places: Sequence[int]) -> list[Significance]:
        settings = self._settings
        if not places:
            return []
        if settings.test == "randomization":
            return significance.run_randomization_test(self.sums, places, settings)
        if settings.test == "bootstrap":
            return [
                significance.run_bootstrap_test(
                    self.replicates[:, place], self._observed[place], self.moments[place], settings
                )
                for place in places
            ]
        if settings.test == "t":
            return [significance.run_t_test(self.moments[place], settings) for place in places]
        if settings.test == "tukey":
            outcomes = run_tukey_test(self._columns, self._design, settings)
            quantities = (self.quantities[place] for place in places)
            return [outcomes[q.metric][q.system, q.against] for q in quantities if q.against is not None]
        return [
            significance.run_scipy_test(settings.test, self.quantities[place], self._columns, settings)
            for place in places
        ]

    @property
    def sums(self) -> Sums:
        """The rows of integers for all quantities."""
        if self._sums is None:
            self._sums = Sums(self._columns, self.quantities, self._design)
        return self._sums

    @property
    def replicates(self) -> Array:
        """The (replicates, n_quantities) values over resampled queries."""
        if self._replicates is None:
            self._replicates = self.sums.quotients(bootstrap_sums(self.sums.rows, self._design, self._settings))
            self._observed = self.sums.quotients(self.sums.totals()).tolist()
        return self._replicates

    def _compute_interval(self, place: int) -> Interval:
        moments = self.moments[place]
        settings = self._settings
        if settings.interval == "betting":
            values = self.quantities[place].values(self._columns)
            return intervals.compute_betting_interval(values, moments, settings.level)
        if settings.interval != "percentile":
            return intervals.summarize_moments(moments, level=settings.level, method=settings.interval)
        low = math.nan
        high = math.nan
        reason = moments.reason
        if not reason:
            low, high, reason = intervals.compute_bootstrap_interval(self.replicates[:, place], moments, settings.level)
        return Interval(
            mean=moments.mean,
            low=low,
            high=high,
            n=moments.n_queries,
            level=settings.level,
            method="percentile",
            n_effective=moments.n_effective,
            replicates=settings.replicates,
            seed=settings.seed,
            reason=reason,
        )
