"""Comparison: systems side by side, with what may be said of their differences."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, nearest
from fastndcg.metric import Metric
from fastndcg.of_queries import one_a_query
from fastndcg.rankings import Array
from fastndcg.results import Results
from fastndcg.statistics.alignment import Aligned
from fastndcg.statistics.curves import CurvePoint
from fastndcg.statistics.design import Design, part_of
from fastndcg.statistics.rows import (
    Row,
    SegmentRow,
    analysed,
    columns_of_rows,
    columns_of_segments,
    compared_rows,
    segment_rows,
)
from fastndcg.statistics.settings import Settings
from fastndcg.statistics.single import segments_of, what_intervals_are
from fastndcg.statistics.table import Column, Table, number, p_value
from fastndcg.statistics.tukey import honest_differences
from fastndcg.whole_files import write_whole

TEST_NAMES = {
    "randomization": "sign-flip randomisation test",
    "t": "paired t test",
    "wilcoxon": "Wilcoxon signed-rank test",
    "sign": "sign test",
    "bootstrap": "paired bootstrap test",
    "tukey": "Tukey HSD by randomisation, all pairs of a metric",
}
CORRECTION_NAMES = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini–Hochberg"}


class Pair(NamedTuple):
    """The difference of two systems, and a p-value that holds for all pairs of the metric together."""

    system: str
    against: str
    difference: float
    p: float
    significant: bool


class Comparison:
    """
    Systems compared with a baseline, query by query; `compare` makes it.

    Attributes
    ----------
    systems : tuple of str
    baseline : str
    metrics : tuple of Metric
    query_ids : (n_queries,) array
    columns : list of (n_queries, n_metrics) float64 array
        One a system, all in the order of `query_ids`.
    results : dict of Results
        What each system was evaluated to.
    n_missing : dict of int
        How many of the queries each system lacks.
    rows : tuple of Row
        One for each metric and system.
    segments : (n_queries,) array or None
        Each query's segment, where they were given.
    curves : tuple of CurvePoint
        Means at one cutoff after the other.
    settings : Settings
        Methods, level, replicates and seed.
    """

    def __init__(
        self,
        results: Mapping[str, Results],
        aligned: Aligned,
        metrics: tuple[Metric, ...],
        baseline: str,
        design: Design,
        settings: Settings,
        *,
        segments: Any = None,
        curves: tuple[CurvePoint, ...] = (),
    ) -> None:
        self.results = dict(results)
        self.systems = tuple(results)
        self.baseline = baseline
        self.metrics = metrics
        self.query_ids = aligned.query_ids
        self.columns = aligned.columns
        self.n_missing = dict(zip(self.systems, aligned.n_missing, strict=True))
        self.settings = settings
        self.segments: Array | None = None if segments is None else one_a_query(segments, "segments", self.query_ids)
        self.curves = curves
        self._design = design
        found = analysed(self.columns, self.systems.index(baseline), design, settings, tested=True)
        self.rows = compared_rows(self.systems, self._metric_names, found, len(self.query_ids), settings)

    def table(self) -> Table[Row]:
        """Means and differences with their intervals, p-values and wins: a row for each metric and system."""
        return Table(self.rows, columns_of_rows(self.settings, self.baseline), self.notes())

    def notes(self) -> list[str]:
        """What the table's numbers are."""
        settings = self.settings
        test = f"p: {TEST_NAMES[settings.test]}, {settings.alternative}"
        if settings.test in ("randomization", "bootstrap", "tukey"):
            test += f", {settings.replicates} replicates, seed {settings.seed}"
        if settings.correction in CORRECTION_NAMES and settings.test != "tukey":
            test += f"; {CORRECTION_NAMES[settings.correction]} over all tests of the table"
        counts = f"{len(self.query_ids)} queries; baseline {self.baseline}; convention {self.convention}"
        return [counts, what_intervals_are(settings), test, *self._notes_on_queries(), *self.untested_notes()]

    def untested_notes(self) -> list[str]:
        """Why a difference that has an interval has no p-value."""
        return [
            f"{row.system}, {row.metric}: no p-value, since {row.reason}"
            for row in self.rows
            if row.reason and not math.isnan(row.difference_low)
        ]

    @property
    def convention(self) -> str:
        """The convention of all systems, or of each where they differ."""
        names = {name: result.convention.name for name, result in self.results.items()}
        if len(set(names.values())) == 1:
            return names[self.baseline]
        return ", ".join(f"{convention} ({name})" for name, convention in names.items())

    def by(self, segments: Any = None) -> Table[SegmentRow]:
        """
        Compare segment by segment.

        Parameters
        ----------
        segments : (n_queries,) array or {query id: segment}, optional
            By default those that `compare` was given.
        """
        if segments is None and self.segments is None:
            raise InvalidInputError("`segments` is missing: give one value a query, here or to `compare`")
        baseline, rows = self.systems.index(self.baseline), list[SegmentRow]()
        for name, kept in segments_of(self.segments if segments is None else segments, self.query_ids):
            design = part_of(self._design, kept, self.query_ids)
            columns = [column[kept] for column in self.columns]
            found = analysed(columns, baseline, design, self.settings, tested=False)
            rows += segment_rows(name, self.systems, self._metric_names, found)
        return Table(rows, columns_of_segments(self.settings, self.baseline), [what_intervals_are(self.settings)])

    def all_pairs(self, metric: str | Metric | None = None) -> Table[Pair]:
        """
        Every pair of systems at once: Tukey's honestly significant difference by randomisation.

        Parameters
        ----------
        metric : str or Metric, optional
            By default the first.

        References
        ----------
        B. A. Carterette, 2012, doi:10.1145/2094072.2094076.
        """
        place = self.place_of(self.metrics[0] if metric is None else metric)
        columns = [column[:, place : place + 1] for column in self.columns]
        tests = honest_differences(columns, self._design, self.settings)[0]
        complete = ~np.isnan(np.hstack(columns)).any(axis=1)
        weights = self._design.weigh(complete.astype("f8"))
        pairs = []
        for one, other in combinations(range(len(self.systems)), 2):
            difference = np.where(complete, columns[one][:, 0] - columns[other][:, 0], 0.0)
            mean = float((difference * weights).sum() / weights.sum()) if weights.any() else float("nan")
            p = tests[one, other].p
            pairs.append(Pair(self.systems[one], self.systems[other], mean, p, p < self.settings.alpha))
        notes = [
            f"{self.metrics[place]}, {np.count_nonzero(complete)} queries that all systems have",
            f"p: {TEST_NAMES['tukey']}, {self.settings.replicates} replicates, seed {self.settings.seed}",
        ]
        return Table(sorted(pairs, key=lambda pair: pair.p), _PAIR_COLUMNS, notes)

    def differences(self, system: str, metric: str | Metric) -> Array:
        """Each query's difference of a system from the baseline; NaN where either has no value."""
        place = self.place_of(metric)
        own, base = (self.columns[self.place_of_system(name)][:, place] for name in (system, self.baseline))
        return np.asarray(own - base)

    def place_of(self, metric: str | Metric) -> int:
        """The place of a metric among those compared."""
        wanted = Metric.parse(metric) if isinstance(metric, str) else metric
        if wanted not in self.metrics:
            hint = nearest(str(wanted), self._metric_names)
            known = ", ".join(self._metric_names)
            raise InvalidInputError(f"this comparison has no {wanted}.{hint} It has {known}")
        return self.metrics.index(wanted)

    def place_of_system(self, name: str) -> int:
        """The place of a system among those compared."""
        if name not in self.systems:
            hint = nearest(str(name), self.systems)
            raise InvalidInputError(f"this comparison has no system {name!r}.{hint} It has {', '.join(self.systems)}")
        return self.systems.index(name)

    def to_pandas(self) -> Any:
        """Every field of the table, as a pandas DataFrame."""
        return self.table().to_pandas()

    def to_markdown(self) -> str:
        """The table as Markdown."""
        from fastndcg.reports import text

        return text.markdown(self)

    def to_latex(self) -> str:
        """The table as LaTeX, for the package booktabs."""
        from fastndcg.reports import text

        return text.latex(self)

    def to_json(self) -> str:
        """Everything that is known, as JSON: null where a number is missing."""
        from fastndcg.reports import text

        return text.as_json(self)

    def to_html(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """
        Write a page that stands on its own: tables, plots, and the queries won and lost most.

        Parameters
        ----------
        path : str or path
            The file to write, whole or not at all; it needs no network and no other file.
        title : str, optional
            What the page is called.
        """
        from fastndcg.reports.page import page

        write_whole(path, [page(self, title).encode()])

    def plot(
        self, kind: str = "forest", *, metric: str | Metric | None = None, system: str | None = None, axes: Any = None
    ) -> Any:
        """
        Draw with matplotlib.

        Parameters
        ----------
        kind : {'forest', 'curve', 'histogram'}
            Differences from the baseline with their intervals; a metric against its cutoff, one of the `curves` of
            `compare`; or each query's difference of one system.
        metric : str or Metric, optional
            By default the first.
        system : str, optional
            Of a histogram; by default the first that is not the baseline.
        axes : matplotlib Axes, optional
            Where to draw; by default a figure of its own.

        Returns
        -------
        matplotlib Axes
        """
        from fastndcg.reports import plots

        return plots.plot(self, kind, metric, system, axes)

    def __str__(self) -> str:
        return str(self.table())

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    @property
    def _metric_names(self) -> list[str]:
        return [str(metric) for metric in self.metrics]

    def _notes_on_queries(self) -> list[str]:
        """How many are missing, and how many have no value."""
        notes = [
            f"{name}: {n} of the queries are missing, and left out of its differences"
            for name, n in self.n_missing.items()
            if n
        ]
        notes += [
            f"{name}: {result.n_missing_in_run} judged queries are missing in the run "
            f"(missing_in_run: {result.convention.missing_in_run})"
            for name, result in self.results.items()
            if result.n_missing_in_run
        ]
        for place, metric in enumerate(self.metrics):
            left_out = [int(np.count_nonzero(np.isnan(column[:, place]))) for column in self.columns]
            if any(left_out):
                counts = " to ".join(map(str, sorted({min(left_out), max(left_out)})))
                notes.append(f"{metric}: {counts} of the queries have no value, and are left out")
        return notes


_PAIR_COLUMNS = [
    Column("system", lambda pair: pair.system, left=True),
    Column("against", lambda pair: pair.against, left=True),
    Column("difference", lambda pair: number(pair.difference, signed=True)),
    Column("p, Tukey HSD", lambda pair: p_value(pair.p)),
]
