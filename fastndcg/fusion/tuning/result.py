"""The result of `tune_fusion`: held-out values, tables and curves."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, join_names, shorten, suggest_name
from fastndcg.evaluation import Request
from fastndcg.exports import Printable, PrintedTable, write_whole
from fastndcg.forms.named_systems import are_pairs, pair_names
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.fusion.fuse import FusedRun, fuse
from fastndcg.fusion.joined_runs import refuse_unknown_runs
from fastndcg.fusion.tuning.line_search import Interval, StepFunction
from fastndcg.fusion.tuning.search import Folds
from fastndcg.metrics.metric import Metric
from fastndcg.parsing import as_float
from fastndcg.rankings.validation import Array
from fastndcg.results.results import Results
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import
from fastndcg.statistics.compare import compare
from fastndcg.statistics.comparison import Comparison
from fastndcg.statistics.result_rows import Row, make_columns
from fastndcg.statistics.table import Column, Table, format_interval, format_number, format_p_value

WEIGHT_DIGITS = 4
N_POINTS = 201  # of the band and the folds of a plot


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FusionCurve:
    """
    The mean of a metric over all queries for all weights of a run, the other weights sharing the rest.

    The mean is a step function: between two entries of `weights` it stays the same. These queries have tuned the
    weight, so the highest mean is too optimistic. `TunedFusion.held_out` has values of queries that did not.

    At a weight between crossings the mean is that of `evaluate`, to the bit. A crossing is a weight at which two fused
    scores are equal. There, within 1e-6 of it, of 0 and of 1, and wherever two fused scores differ by rounding alone,
    `evaluate` may give another mean. The mean of the best weight is always that of `evaluate`.

    Parameters
    ----------
    run : str
        The run whose weight varies from 0 to 1.
    weights : (n_steps,) float64 array
        Where each mean begins. The first is 0.
    step_means : (n_steps,) float64 array
        The mean from each weight on.
    plateau : Interval
        The weights around the best one that share its mean.
    points : (n_points,) float64 array, optional
        Weights of the entries below.
    errors : (n_points,) float64 array, optional
        The standard error of the mean.
    point_means : (n_points,) float64 array, optional
        The mean.
    fold_means : (n_folds, n_points) float64 array, optional
        The mean over the queries of each fold of the first repeat.

    Examples
    --------
    >>> qrels = {f"q{i}": {"d1": 1} for i in range(6)}
    >>> runs = {"a": {q: {"d1": 2, "d2": 1} for q in qrels}, "b": {q: {"d2": 2, "d1": 1} for q in qrels}}
    >>> curve = fn.tune_fusion(qrels, runs, "rr", ["wsum"], folds=3).curve
    >>> curve
    FusionCurve of run a, 2 steps, plateau from 0.5 to 1, mean 1 at the best weight
    >>> curve.find_mean(0.3), curve.find_mean(0.7)
    (0.5, 1.0)
    """

    run: str
    weights: Array
    step_means: Array
    plateau: Interval
    points: Array = field(default_factory=lambda: np.empty(0))
    errors: Array = field(default_factory=lambda: np.empty(0))
    point_means: Array = field(default_factory=lambda: np.empty(0))
    fold_means: Array = field(default_factory=lambda: np.empty((0, 0)))

    def find_mean(self, weight: float) -> float:
        """
        Return the mean at a weight.

        Parameters
        ----------
        weight : float
            From 0 to 1.

        Returns
        -------
        float
            The mean of the ranking between the steps on both sides of the weight.

        Raises
        ------
        InvalidInputError
            If the weight is not a number from 0 to 1.
        """
        number = as_float(weight)
        if number is None or not 0 <= number <= 1:
            raise InvalidInputError(f"`weight` must be a number from 0 to 1, not {shorten(weight)}")
        return float(self.step_means[int(np.searchsorted(self.weights, number, side="right")) - 1])

    def __repr__(self) -> str:
        return (
            f"FusionCurve of run {show_name(self.run)}, {len(self.weights)} steps, plateau from {self.plateau.low:.4g} "
            f"to {self.plateau.high:.4g}, mean {self.plateau.mean:.4g} at the best weight"
        )


def make_curve(run: str, steps: StepFunction, plateau: Interval, folds: Folds, clusters: Array | None) -> FusionCurve:
    """Return the curve of a step function, with the means of folds and the standard error at some points."""
    weights, means = steps.sum_curve()
    points = np.linspace(0.0, 1.0, N_POINTS)
    points[0] = points[1] * 1e-6  # at 0 and 1 documents of one list tie
    points[-1] = 1.0 - points[0]
    values = steps.look_up(points)
    is_defined = ~np.isnan(values[:, 0])  # a query has a value at all weights or at none
    defined = values[is_defined]
    fold_numbers = folds.numbers[is_defined]
    return FusionCurve(
        run,
        weights,
        means,
        plateau,
        points,
        compute_standard_errors(defined, None if clusters is None else clusters[is_defined]),
        np.array([math.fsum(column) for column in defined.T.tolist()]) / len(defined),
        np.array([defined[fold_numbers == fold].mean(axis=0) for fold in range(folds.n)]),
    )


def compute_standard_errors(values: Array, clusters: Array | None) -> Array:
    """
    Return the standard error of the mean of each column, from the sums of clusters if there are any.

    `values` are (n_queries, n_columns) float64 without NaN, and `clusters` has the cluster of each query.
    """
    rest = values - values.mean(axis=0)
    if clusters is not None:
        units = np.unique(clusters, return_inverse=True)[1].reshape(-1)
        sums = np.zeros((int(units.max()) + 1, values.shape[1]))
        np.add.at(sums, units, rest)
        rest = sums
    n = len(rest)
    errors: Array = np.sqrt((rest**2).sum(axis=0) * n / max(n - 1, 1)) / len(values)
    return errors


class BestFusion(NamedTuple):
    """
    The choice of all queries together.

    Attributes
    ----------
    method : str
        The text of the method with its parameters.
    weights : dict of float or None
        The weight of each run, with the sum 1. None for a method without weights.
    interval : Interval or None
        For two runs, the weights of the first one that share the mean. Both ends are equal if a mean holds for one
        weight alone.
    mean : float
        The mean of the metric over all queries. The same queries were used for tuning, so it is too optimistic.
    """

    method: str
    weights: dict[str, float] | None
    interval: Interval | None
    mean: float


class MethodRow(NamedTuple):
    """The held-out mean of one method, tuned alone, and what all queries choose of it."""

    method: str
    held_out: float
    best: str
    weights: dict[str, float] | None


class FoldRow(NamedTuple):
    """The choice of the queries outside a fold, and the mean of the fold, which took no part in it."""

    repeat: int
    fold: int
    n: int
    method: str
    weights: dict[str, float] | None
    training: float
    held_out: float


class GridRow(NamedTuple):
    """
    A method with one choice of its parameters, with the weights that all queries choose for it.

    `mean` is that of all queries, which chose the weights, and `error` its standard error. `held_out` is the mean of
    queries that took no part in choosing the weights, and `difference` that mean minus the one of the best choice.
    """

    method: str
    weights: dict[str, float] | None
    mean: float
    error: float
    held_out: float
    difference: float


class GridPicture(NamedTuple):
    """The means of grid points against the weight of the first of two runs: NaN where a point has no such curve."""

    weights: Array
    means: Array  # (n_points, n_weights)


class TuningOptions(NamedTuple):
    """The checked options of `tune_fusion`, of which `apply` repeats those of the fusion."""

    request: Request
    fusion_convention: FusionConvention
    absent: str | None
    depth: int | None
    threads: int | None
    seed: int


class Origin(NamedTuple):
    """The tuned runs, the options, the cluster of each query, and notes that count what was left out."""

    names: tuple[str, ...]
    options: TuningOptions
    clusters: dict[Any, Any] | None
    notes: tuple[str, ...]


@dataclass(eq=False, repr=False)
class TunedFusion(Printable):
    """
    A fusion whose method, parameters and weights were tuned on judged queries. `tune_fusion` returns it.

    It prints as the table of `table`. Frames, CSV and JSON have the rows of that table.

    Parameters
    ----------
    best : BestFusion
        What all queries choose.
    held_out : Results
        The metric of each query, fused with what other queries chose.
    baselines : dict of Results
        The values of each single run, of equal weights and of rrf(k=60). Those of equal weights are held out, too: the
        other folds choose the method and its parameters.
    method_rows : tuple of MethodRow
        One for each method.
    fold_rows : tuple of FoldRow
        One for each fold of each repeat.
    grid_rows : tuple of GridRow
        One for each method and choice of its parameters.
    picture : GridPicture
        Their means against the weight.
    curves : tuple of FusionCurve
        The metric against the weight of each run, for linear methods.
    origin : Origin
        How the runs were fused.

    Examples
    --------
    >>> qrels = {f"q{i}": {"d1": 1} for i in range(6)}
    >>> first = {q: {"d1": 0.9, "d2": 0.5, "d3": 0.1} for q in qrels}
    >>> second = {q: {"d3": 0.9, "d2": 0.5, "d1": 0.1} for q in qrels}
    >>> tuned = fn.tune_fusion(qrels, {"first": first, "second": second}, "rr", ["wsum"], folds=3)
    >>> tuned.best.weights, tuned.held_out.mean()
    ({'first': 0.75, 'second': 0.25}, {'RR': 1.0})
    """

    best: BestFusion
    held_out: Results
    baselines: dict[str, Results]
    method_rows: tuple[MethodRow, ...]
    fold_rows: tuple[FoldRow, ...]
    grid_rows: tuple[GridRow, ...]
    picture: GridPicture
    curves: tuple[FusionCurve, ...]
    origin: Origin

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the runs."""
        return self.origin.names

    @property
    def methods(self) -> Table[MethodRow]:
        """The held-out mean of each method, tuned alone, and what all queries choose of it."""
        return Table(self.method_rows, METHOD_COLUMNS, ("held-out means of each method tuned alone",))

    @property
    def folds(self) -> Table[FoldRow]:
        """The choice of the queries outside each fold, with the mean of the fold."""
        return Table(self.fold_rows, FOLD_COLUMNS)

    @property
    def grid(self) -> Table[GridRow]:
        """Each method with each choice of its parameters, tuned alone."""
        note = f"{self.metric}: difference of held-out means to {self.best.method}, parameters fixed, weights tuned"
        return Table(self.grid_rows, GRID_COLUMNS, (note,))

    def to_frame(self) -> Any:
        """
        Return the grid as a pandas frame: a row for each method and choice of its parameters.

        Returns
        -------
        pandas.DataFrame
            The columns are method, a weight of each run (NaN without weights), mean, standard_error, held_out and
            difference (of held-out means, to the best choice).

        Raises
        ------
        MissingPackageError
            If pandas is not installed.

        Examples
        --------
        >>> qrels = {f"q{i}": {"d1": 1} for i in range(6)}
        >>> first = {q: {"d1": 0.9, "d2": 0.5, "d3": 0.1} for q in qrels}
        >>> second = {q: {"d3": 0.9, "d2": 0.5, "d1": 0.1} for q in qrels}
        >>> tuned = fn.tune_fusion(qrels, {"first": first, "second": second}, "rr", ["rbc(phi=0.5)"], folds=3)
        >>> tuned.to_frame().columns.tolist()
        ['method', 'weight first', 'weight second', 'mean', 'standard_error', 'held_out', 'difference']
        """
        pandas = optional_import("pandas", "a frame", "pandas")
        rows = self.grid_rows
        columns: dict[str, list[Any]] = {"method": [row.method for row in rows]}
        for name in self.origin.names:
            columns[f"weight {name}"] = [math.nan if row.weights is None else row.weights[name] for row in rows]
        names = {"mean": "mean", "error": "standard_error", "held_out": "held_out", "difference": "difference"}
        columns |= {name: [getattr(row, own) for row in rows] for own, name in names.items()}
        return pandas.DataFrame(columns)

    @property
    def metric(self) -> Metric:
        """The metric that was tuned."""
        return self.held_out.metrics[0]

    @property
    def curve(self) -> FusionCurve:
        """The metric against the weight of the first run."""
        return self._find_curve(None)

    @property
    def name(self) -> str:
        """The name of the tuned fusion in tables: 'tuned', or another if a run has that name."""
        return find_free_name("tuned", "fusion", self.baselines)

    @functools.cached_property
    def comparison(self) -> Comparison:
        """The comparison of the held-out values with each run, equal weights and rrf(k=60): see `compare`."""
        origin = self.origin
        return compare(
            {self.name: self.held_out} | self.baselines,
            baseline=self.name,
            clusters=origin.clusters,
            seed=origin.options.seed,
            threads=origin.options.threads,
        )

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of the table, those of `comparison`: a difference is that of the system minus the tuned fusion."""
        return self.comparison.rows

    @property
    def rival(self) -> Row:
        """The row of the best system besides the tuned fusion."""
        return max(self.rows[1:], key=lambda row: self.metric.sign * row.mean)

    @property
    def has_gain(self) -> bool:
        """True if the tuned fusion is significantly better than the best single run, equal weights and rrf(k=60)."""
        return self.rival.significant and self.rival.outcome == "worse"

    @property
    def has_loss(self) -> bool:
        """True if the tuned fusion is significantly worse than the best single run, equal weights or rrf(k=60)."""
        return self.rival.significant and self.rival.outcome == "better"

    def table(self) -> Table[Row]:
        """
        Return the held-out mean next to the means of runs and simple fusions, with the difference of each from it.

        Returns
        -------
        Table of Row
            The tuned fusion, then each single run, equal weights, and rrf(k=60).
        """
        return Table(self.rows, make_columns(self.comparison.settings, self.name), self.notes)

    @property
    def notes(self) -> tuple[str, ...]:
        """
        The notes below the table.

        They say what was chosen, how differences were tested, a warning if the gain is within the noise or a
        significant loss, and counts.
        """
        notes = [f"{self.metric}; best on all queries: {self.describe_best()}", *self._notes_on_weights()]
        n_folds = len({row.fold for row in self.folds})
        n_repeats = len({row.repeat for row in self.folds})
        notes.append(
            f"{self.name}: held-out values, {n_folds} folds, {n_repeats} repeat{'s' if n_repeats > 1 else ''}, seed "
            f"{self.origin.options.seed}; difference: the system minus {self.name}"
        )
        if not self.has_gain:
            rival = self.rival
            name = show_name(rival.system)
            verdict = "the gain is within the noise"
            remedy = "prefer the simpler one, or judge more queries"
            if self.has_loss:
                verdict = f"{self.name} is significantly worse than {name}"
                remedy = f"take {name}"
            notes.append(
                f"{verdict}: difference of {name} {format_number(rival.difference, signed=True)}, interval "
                f"{format_interval(rival.difference_low, rival.difference_high, signed=True)}, corrected p "
                f"{format_p_value(rival.p_corrected)}; {remedy}"
            )
        return (*notes, *self.comparison.notes[1:], *self.origin.notes)

    def _notes_on_weights(self) -> list[str]:
        """Return what the interval of the best weight of two runs means."""
        interval = self.best.interval
        if interval is None or self.best.weights is None:
            return []
        name = f"weight of {show_name(next(iter(self.best.weights)))}"
        low, high, _ = interval
        if low == high:
            return [f"{name}: {low:.6g} alone, where documents tie or one run has no weight"]
        return [f"{name}: the mean of all queries is the same from {low:.6g} to {high:.6g}"]

    def describe_best(self) -> str:
        """
        Return the best method with its weights as text.

        Returns
        -------
        str
            Such as "rrf(k=60), weights bm25 0.25, dense 0.75".
        """
        return describe_fusion(self.best.method, self.best.weights)

    def apply(self, runs: Any) -> FusedRun:
        """
        Fuse new runs with the best method and weights.

        Parameters
        ----------
        runs : {name: run}, or in any other form of `fuse`
            Runs of the same systems, by the same names in any order. Runs without names, and files with other names,
            have the order of the tuned runs.

        Returns
        -------
        FusedRun
            The fused run.

        Raises
        ------
        InvalidInputError
            If the names are not those of the tuned runs, or `fuse` refuses the runs.
        """
        names, options = self.origin[:2]
        weights = None if self.best.weights is None else [self.best.weights[name] for name in names]
        return fuse(
            self._order_runs(runs),
            self.best.method,
            weights=weights,
            depth=options.depth,
            absent=options.absent,
            fusion_convention=options.fusion_convention,
            threads=options.threads,
        )

    def _order_runs(self, runs: Any) -> list[tuple[Any, Any]]:
        """Return runs with their names, in the order of the tuned ones."""
        names = self.origin.names
        runs = list(runs) if isinstance(runs, Iterator) else runs
        pairs = pair_names(runs, "runs", "run")
        by_name = dict(pairs)
        if len(by_name) < len(pairs):
            return pairs  # `fuse` refuses them
        if isinstance(runs, Mapping) or are_pairs(runs):
            refuse_unknown_runs(by_name, names, "runs")
        if len(pairs) != len(names):
            raise InvalidInputError(
                f"`runs` must have one run for each of the {len(names)} tuned runs, {join_names(names)}, but has "
                f"{len(pairs)}. Pass {{name: run}}"
            )
        order = names if set(by_name) == set(names) else list(by_name)
        return [(name, by_name[own]) for name, own in zip(names, order, strict=True)]

    def plot(self, *, run: str | None = None, axes: Any = None) -> Any:
        """
        Draw the metric against the weight of a run: all queries with a band of one standard error, and each fold.

        Parameters
        ----------
        run : str, optional
            The run whose weight varies. By default the first.
        axes : matplotlib Axes, optional
            The axes to draw on. By default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes with the drawing.

        Raises
        ------
        InvalidInputError
            If the best method is not linear in its weights, or no run has this name.
        MissingPackageError
            If matplotlib is not installed.
        """
        from fastndcg.reports.figure import draw
        from fastndcg.reports.plots import make_fusion_curve

        return draw(make_fusion_curve(self, self._find_curve(run)), axes)

    def _find_curve(self, run: str | None) -> FusionCurve:
        """Return the curve of the weight of a run, by default the first. Raise if there is none."""
        if not self.curves:
            raise InvalidInputError(
                f"a curve needs a method that is linear in its weights, not {self.best.method}. Take wsum or rrf"
            )
        for curve in self.curves:
            if run in (None, curve.run):
                return curve
        hint = suggest_name(run, [curve.run for curve in self.curves])
        raise InvalidInputError(
            f"`run` must be the name of a tuned run, not {shorten(run)}.{hint} There are "
            f"{join_names(self.origin.names)}"
        )

    def to_html(self, path: str | os.PathLike[str], *, title: str = "") -> None:
        """
        Write the report of the comparison with a section on the tuning, as one HTML file.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced when the page is complete.
        title : str, optional
            The title of the page.

        Raises
        ------
        MissingPackageError
            If Jinja is not installed.
        OSError
            If the file cannot be written.
        """
        from fastndcg.reports.page import page

        write_whole(path, [page(self.comparison, title or f"Fusion tuned for {self.metric}", tuned=self).encode()])

    def _export_columns(self) -> Mapping[str, Any]:
        return self.table()._export_columns()

    def _print_table(self) -> PrintedTable:
        return self.table()._print_table()

    def _json_pieces(self) -> Iterator[str]:
        yield from self.table()._json_pieces()


def find_free_name(name: str, prefix: str, names: Container[str]) -> str:
    """
    Return a name that no other system has, with a prefix as often as needed.

    >>> find_free_name("tuned", "fusion", ["tuned", "fusion tuned"])
    'fusion fusion tuned'
    """
    while name in names:
        name = f"{prefix} {name}"
    return name


def describe_fusion(method: str, weights: Mapping[str, float] | None) -> str:
    """
    Return a method with its weights as text.

    >>> describe_fusion("rrf(k=60)", {"bm25": 0.25, "dense": 0.75})
    'rrf(k=60), weights bm25 0.25, dense 0.75'
    """
    if weights is None:
        return method
    return f"{method}, weights {format_weights(weights)}"


def format_weights(weights: Mapping[str, float] | None) -> str:
    """Return the weights of runs as text, empty for None."""
    if weights is None:
        return ""
    return ", ".join(f"{show_name(name)} {round(weight, WEIGHT_DIGITS):g}" for name, weight in weights.items())


METHOD_COLUMNS = (
    Column("method", lambda row: show_name(row.method), left=True),
    Column("held-out mean", lambda row: format_number(row.held_out)),
    Column("best on all queries", lambda row: show_name(row.best), left=True),
    Column("weights", lambda row: format_weights(row.weights), left=True),
)
GRID_COLUMNS = (
    Column("method", lambda row: show_name(row.method), left=True),
    Column("weights", lambda row: format_weights(row.weights), left=True),
    Column("mean", lambda row: format_number(row.mean)),
    Column("standard error", lambda row: format_number(row.error)),
    Column("held-out mean", lambda row: format_number(row.held_out)),
    Column("difference", lambda row: format_number(row.difference, signed=True)),
)
FOLD_COLUMNS = (
    Column("repeat", lambda row: str(row.repeat)),
    Column("fold", lambda row: str(row.fold)),
    Column("queries", lambda row: str(row.n)),
    Column("method", lambda row: show_name(row.method), left=True),
    Column("weights", lambda row: format_weights(row.weights), left=True),
    Column("training", lambda row: format_number(row.training)),
    Column("held out", lambda row: format_number(row.held_out)),
)


def name_weights(names: tuple[str, ...], weights: Array | None) -> dict[str, float] | None:
    """Return the weight of each run by its name."""
    return None if weights is None else dict(zip(names, np.asarray(weights).tolist(), strict=True))
