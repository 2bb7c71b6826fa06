"""tune_fusion: tune the method, the parameters and the weights of a fusion on judged queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName, FusedDuplicateChoice
from fastndcg.engine import run as engine
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.evaluation import plan_judged
from fastndcg.fusion.conventions import FusionConvention, parse_fusion_convention
from fastndcg.fusion.fuse import make_run
from fastndcg.fusion.inputs import NamedRuns, read_judgments, read_runs
from fastndcg.fusion.joined_runs import JoinedRuns, join_runs
from fastndcg.fusion.methods import AppliedMethod, FusionMethod, apply_method, check_absent
from fastndcg.fusion.tuning.judged_runs import JudgedRuns, judge_runs
from fastndcg.fusion.tuning.result import (
    N_POINTS,
    BestFusion,
    FoldRow,
    FusionCurve,
    GridPicture,
    GridRow,
    MethodRow,
    Origin,
    TunedFusion,
    compute_standard_errors,
    find_free_name,
    make_curve,
    name_weights,
)
from fastndcg.fusion.tuning.search import GridPoint, MethodGrid, PointStore, TrainingSets, note_on_grid, read_methods
from fastndcg.fusion.tuning.validate import FoldOptions, FoldPlan, Validation, cross_validate, plan_folds
from fastndcg.inputs.duplicates import make_closed_duplicates
from fastndcg.inputs.join import join
from fastndcg.inputs.messages import Options, note_confused
from fastndcg.inputs.table import Qrels, Run
from fastndcg.metrics.metric import Metric, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.aggregates import mean
from fastndcg.results.results import Results, Shares
from fastndcg.runtime.progress import use_progress
from fastndcg.runtime.threads import check_threads

METHODS = ("rrf", "wsum(norm=min_max)", "wsum(norm=z_score)")
RRF = "rrf(k=60)"


def tune_fusion(
    qrels: Any,
    runs: Any,
    metric: str | Metric,
    methods: Sequence[str] | str = METHODS,
    *,
    folds: Any = 5,
    seed: int = 0,
    clusters: Any = None,
    repeats: int = 1,
    depth: int | None = None,
    absent: str | None = None,
    fusion_convention: str | FusionConvention = "default",
    duplicates: FusedDuplicateChoice | None = None,
    convention: ConventionName | str | Convention = "default",
    columns: Mapping[str, str | Mapping[str, str]] | None = None,
    threads: int | None = None,
    progress: bool = True,
) -> TunedFusion:
    """
    Tune the fusion of two or more runs on judged queries, and report values of queries that were not used for tuning.

    For methods that are linear in their weights, such as wsum and rrf, the search is exact. The metric is a step
    function of the weight of a run, and all its steps are found. Of two runs the first gets the middle of the interval
    with the best mean, or one of the simple weights 0, 0.5 and 1 if it is better. A step itself, at which documents
    tie, is no choice: the smallest change of a score would break the tie. More than two runs are tuned one weight after
    the other, from several starts. Other weighted methods take the best weights of a grid.

    Parameters
    ----------
    qrels : path, dict, frame or Qrels
        Judgments with ids, in each form that `evaluate` takes.
    runs : {name: run}, iterable of (name, run), list of runs or of paths
        Two or more runs: see `fuse`.
    metric : str or Metric
        The metric to improve, such as "ndcg@10". It must depend on the ranks of relevant documents alone.
    methods : list of str
        Methods of `fuse`, such as ["rrf", "wsum(norm=min_max)"]. A parameter that a text leaves out, such as k of rrf,
        is tuned on a grid, and so are several norms of a run: "wsum(norms={bm25:[min_max,z_score],dense:none})".
        Methods that learn from judgments are no choice.
    folds : int, (n_queries,) array or {query id: fold}
        The number of folds, 2 or more, and 3 or more for several methods. Or the fold of each judged query.
    seed : int
        The seed of folds, of random starts and of the comparison. It determines the result on any machine.
    clusters : (n_queries,) array or {query id: cluster}, optional
        Judged queries that are not independent, such as those of one user. They stay in one fold.
    repeats : int
        How many times queries are divided into folds, 1 or more. A held-out value is the mean over all repeats.
    depth, absent, fusion_convention
        See `fuse`. Single runs are compared with all their documents, as they would be used alone: `depth` cuts only
        what is fused. Queries that the fusion convention leaves out, since some run lacks them (queries=common), count
        in no row.
    duplicates : {'raise', 'first', 'best', 'sum'}, optional
        See `fuse`. It holds for the single runs, too, and for `TunedFusion.apply`.
    convention : str or Convention
        The meaning of the metric: see `evaluate`. One that rounds scores to float32 is refused.
    columns, threads
        See `evaluate`.
    progress : bool
        Whether a bar may appear on a terminal or in a notebook, after some seconds and if tqdm is installed.

    Returns
    -------
    TunedFusion
        The best fusion, its held-out values, tables, curves and plot.

    Raises
    ------
    InvalidInputError
        If there are fewer queries than folds, or a fold has no query with a value. If runs, weights or folds are wrong,
        or the metric reads more than ranks of relevant documents.
    UnknownFusionError
        If no method has this name.
    MissingPackageError
        If SciPy, which the comparison needs, is not installed. It is raised when the comparison is first read.

    Examples
    --------
    >>> qrels = {f"q{i}": {"d1": 1} for i in range(6)}
    >>> first = {q: {"d1": 0.9, "d2": 0.5, "d3": 0.1} for q in qrels}
    >>> second = {q: {"d3": 0.9, "d2": 0.5, "d1": 0.1} for q in qrels}
    >>> tuned = fn.tune_fusion(qrels, {"first": first, "second": second}, "rr", ["wsum"], folds=3)
    >>> tuned.best.interval
    Interval(low=0.5, high=1.0, mean=1.0)
    >>> fn.evaluate(qrels, tuned.apply({"first": first, "second": second}), "rr").mean()
    {'RR': 1.0}
    """
    options = TuningOptions(
        _read_metric(metric), parse_convention(convention), parse_fusion_convention(fusion_convention),
        check_absent(absent), None if depth is None else check_whole_number(depth, "depth", 1), threads,
        check_threads(threads), duplicates,
    )  # fmt: skip
    settled = make_closed_duplicates(duplicates)
    with use_progress(progress):
        reading = Options(columns=columns, threads=threads, duplicates=settled)
        truth = read_judgments(qrels, reading, "qrels")
        named_runs = read_runs(runs, reading)
        texts = read_methods(methods, named_runs.names, options.fusion_convention, options.absent)
        inputs = _join(truth, named_runs, options)
        grids = [MethodGrid(text, [inputs.make_point(applied) for applied in points]) for text, points in texts]
        has_value = ~np.isnan(grids[0].points[0].evaluate(None))
        fold_options = FoldOptions(folds, seed, clusters, repeats)
        plan = plan_folds(fold_options, inputs.judged.query_ids, has_value, is_nested=len(grids) > 1)
        training = TrainingSets(plan.repeats[0], plan.repeats[0].training_sets, plan.clusters, seed)
        validation = cross_validate(grids, training, plan)
        curves = _make_curves(inputs, grids, validation, training)
    return _make_result(inputs, grids, validation, plan, curves, seed)


class TuningOptions(NamedTuple):
    """The checked options of a call. `threads` is what the user gave, and `n_threads` the number."""

    metric: Metric
    convention: Convention
    fusion_convention: FusionConvention
    absent: str | None
    depth: int | None
    threads: int | None
    n_threads: int
    duplicates: FusedDuplicateChoice | None


class TuningInputs(NamedTuple):
    """
    Judgments and runs, read and joined.

    `rows` is the place of each judged document among those of `joined`. `notes` count what was left out.
    """

    options: TuningOptions
    qrels: Qrels
    named_runs: NamedRuns
    joined: JoinedRuns
    judged: JudgedRuns
    store: PointStore
    rows: Array
    notes: tuple[str, ...]

    def make_point(self, applied: AppliedMethod) -> GridPoint:
        """Return a method for the judged documents."""
        return GridPoint(applied, self.judged, self.store, self.rows, self.options.n_threads)


def _read_metric(metric: Any) -> Metric:
    metrics = parse_metrics(metric)
    if len(metrics) != 1:
        raise InvalidInputError(f"`metric` must be one metric, got {len(metrics)}: {shorten(metric)}. Choose one")
    return metrics[0]


def _join(qrels: Qrels, named_runs: NamedRuns, options: TuningOptions) -> TuningInputs:
    """Join the runs with each other and with the judgments. Documents are in the order of equal fused scores."""
    convention = options.fusion_convention
    joined = join_runs(named_runs.runs, named_runs.names, convention, depth=options.depth, threads=options.n_threads)
    if joined.counts.n_left_out:
        qrels, named_runs = _leave_out(qrels, named_runs, joined)
    all_equal, rows = make_run(joined, np.zeros(joined.n_documents), convention.fused_ties)
    places = np.empty(len(joined.row_documents), "i8")
    places[joined.document_rows] = np.arange(joined.n_documents)
    judged = judge_runs(qrels, all_equal, options.metric, options.convention.for_input(qrels=True), options.n_threads)
    own_rows = places[rows[judged.rows]]
    return TuningInputs(options, qrels, named_runs, joined, judged, PointStore(joined), own_rows, all_equal.notes)


def _leave_out(qrels: Qrels, named_runs: NamedRuns, joined: JoinedRuns) -> tuple[Qrels, NamedRuns]:
    """Return judgments and runs without the queries that are left out since some run lacks them."""
    common = joined.queries.names().tolist()
    dropped_queries = {query for run in named_runs.runs for query in run.queries.names().tolist()} - set(common)
    judged = [query for query in qrels.queries.names().tolist() if query not in dropped_queries]
    return qrels.filter(judged), named_runs._replace(runs=tuple(run.filter(common) for run in named_runs.runs))


def _make_curves(
    inputs: TuningInputs, grids: Sequence[MethodGrid], validation: Validation, training: TrainingSets
) -> tuple[FusionCurve, ...]:
    """Return the curve of the first of two runs, of each of more, or none for methods that are not linear."""
    chosen = validation.chosen[validation.best]
    point = grids[validation.best].points[chosen.point]
    names = inputs.joined.names
    if not point.is_linear:
        return ()
    return tuple(
        make_curve(name, *point.search_around(run, chosen.best), training.folds, training.clusters)
        for run, name in enumerate(names[:1] if len(names) == 2 else names)
    )


def _make_result(
    inputs: TuningInputs, grids: Sequence[MethodGrid], validation: Validation, plan: FoldPlan,
    curves: tuple[FusionCurve, ...], seed: int,
) -> TunedFusion:  # fmt: skip
    names = inputs.joined.names
    ids = inputs.judged.query_ids
    point, best = validation.chosen[validation.best]
    grid = grids[validation.best]
    clusters = None if plan.clusters is None else dict(zip(ids.tolist(), plan.clusters.tolist(), strict=True))
    options = inputs.options
    return TunedFusion(
        BestFusion(grid.points[point].text, name_weights(names, best.weights), best.interval, best.mean),
        _make_results(inputs, validation.values),
        _evaluate_baselines(inputs, validation.equal_values),
        method_rows=tuple(
            MethodRow(grid.text, mean(values), grid.points[own.point].text, name_weights(names, own.best.weights))
            for grid, values, own in zip(grids, validation.grid_values, validation.chosen, strict=True)
        ),
        fold_rows=_make_fold_rows(grids, validation, names),
        grid_rows=_make_grid_rows(grids, validation, names, plan),
        picture=_make_picture(grids, validation),
        curves=curves,
        origin=Origin(
            names, options.depth, options.absent, options.fusion_convention,
            (*note_on_grid(grid, point), *plan.notes, *inputs.notes), seed, clusters, options.duplicates,
            options.threads,
        ),
    )  # fmt: skip


def _make_results(inputs: TuningInputs, values: Array) -> Results:
    """Return values of each query as results."""
    judged = inputs.judged
    return Results(
        values[:, None].copy(), (judged.metric,), judged.rankings.query_ids, inputs.options.convention,
        n_missing_in_run=judged.n_missing_in_run, n_missing_in_qrels=judged.n_missing_in_qrels,
    )  # fmt: skip


def _evaluate_baselines(inputs: TuningInputs, equal_values: Array | None) -> dict[str, Results]:
    """Return the results of each single run, of equal weights and of rrf(k=60)."""
    options = inputs.options
    names, runs = inputs.named_runs
    baselines = {name: _evaluate_run(inputs, run) for name, run in zip(names, runs, strict=True)}
    rrf = apply_method(FusionMethod.parse(RRF), options.fusion_convention, names, absent=options.absent)
    fused = {} if equal_values is None else {"equal weights": equal_values}
    fused[RRF] = inputs.make_point(rrf).evaluate(None)
    for label, values in fused.items():
        baselines[find_free_name(label, "fusion", baselines)] = _make_results(inputs, values)
    return baselines


def _evaluate_run(inputs: TuningInputs, run: Run) -> Results:
    """Return the results of a single run, the same as those of `evaluate`."""
    options = inputs.options
    convention = options.convention.for_input(qrels=True)
    joined = join(inputs.qrels, run, convention, options.n_threads)
    output = engine.run(
        joined.rankings, (options.metric,), convention, undefined=joined.unjudged_queries, threads=options.n_threads
    )
    judged: Shares = {}
    if joined.has_unjudged:
        judged = plan_judged(joined.rankings, (options.metric,), convention, joined.unjudged_queries, options.n_threads)
    return Results(
        output.values, (options.metric,), joined.rankings.query_ids, options.convention, n_tied=output.n_tied,
        n_missing_in_run=joined.n_missing_in_run, n_missing_in_qrels=joined.n_missing_in_qrels,
        notes=note_confused(joined.rankings) + joined.notes, judged=judged,
    )  # fmt: skip


def _make_grid_rows(
    grids: Sequence[MethodGrid], validation: Validation, names: tuple[str, ...], plan: FoldPlan
) -> tuple[GridRow, ...]:
    is_defined = ~np.isnan(validation.values)
    clusters = None if plan.clusters is None else plan.clusters[is_defined]
    chosen = (validation.best, validation.chosen[validation.best].point)
    best = next(mean(outcome.held_out) for outcome in validation.points if outcome[:2] == chosen)
    return tuple(
        GridRow(
            grids[outcome.grid].points[outcome.point].text,
            name_weights(names, outcome.best.weights),
            mean(outcome.values),
            float(compute_standard_errors(outcome.values[is_defined, None], clusters)[0]),
            mean(outcome.held_out),
            mean(outcome.held_out) - best,
        )
        for outcome in validation.points
    )


def _make_picture(grids: Sequence[MethodGrid], validation: Validation) -> GridPicture:
    """Return the means of all grid points against the weight of the first of two runs."""
    weights = np.linspace(0.0, 1.0, N_POINTS)
    means = np.full((len(validation.points), N_POINTS), np.nan)
    for row, outcome in zip(means, validation.points, strict=True):
        steps = grids[outcome.grid].points[outcome.point].steps
        if steps is not None:
            row[:] = np.nanmean(steps.look_up(weights), axis=0)
    return GridPicture(weights, means)


def _make_fold_rows(grids: Sequence[MethodGrid], validation: Validation, names: tuple[str, ...]) -> tuple[FoldRow, ...]:
    return tuple(
        FoldRow(
            outcome.repeat,
            outcome.fold,
            int(np.count_nonzero(~np.isnan(outcome.values))),
            grids[outcome.grid].points[outcome.chosen.point].text,
            name_weights(names, outcome.chosen.best.weights),
            outcome.chosen.best.mean,
            mean(outcome.values),
        )
        for outcome in validation.outcomes
    )
