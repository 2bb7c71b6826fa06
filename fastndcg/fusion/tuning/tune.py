"""tune_fusion: tune the method, the parameters and the weights of a fusion on judged queries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.evaluation import Request, evaluate_prepared, parse_request
from fastndcg.forms.named_systems import NamedRuns, read_judgments, read_runs
from fastndcg.fusion.conventions import FusionConvention, parse_fusion_convention
from fastndcg.fusion.fuse import make_run
from fastndcg.fusion.joined_runs import JoinedRuns, join_runs
from fastndcg.fusion.methods import FusionMethod, apply_method, check_absent
from fastndcg.fusion.tuning.line_search import judge_runs
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
    TuningOptions,
    compute_standard_errors,
    find_free_name,
    make_curve,
    name_weights,
)
from fastndcg.fusion.tuning.search import (
    GridPoint,
    JudgedPoints,
    MethodGrid,
    TrainingSets,
    make_judged_points,
    note_on_grid,
    read_methods,
)
from fastndcg.fusion.tuning.validate import FoldPlan, Validation, cross_validate, plan_folds
from fastndcg.inputs.messages import Options, answer_keywords
from fastndcg.inputs.table import Qrels
from fastndcg.metrics.metric import Metric, check_direction
from fastndcg.named_conventions import Convention
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.aggregates import mean
from fastndcg.results.results import Results
from fastndcg.runtime.progress import use_progress
from fastndcg.runtime.threads import check_threads
from fastndcg.statistics.settings import MAX_SEED

METHODS = ("rrf", "wsum(norm=min_max)", "wsum(norm=z_score)")
RRF = "rrf(k=60)"


@answer_keywords
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
    convention: ConventionName | str | Convention = "default",
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
        The metric to improve, such as "ndcg@10": to lower, if lower values are better. It must depend on the ranks of
        relevant documents alone, and have a direction.
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
        How many times queries are divided into folds, 1 to 1000. A held-out value is the mean over all repeats.
    depth, absent, fusion_convention
        See `fuse`. Single runs are compared with all their documents, as they would be used alone: `depth` cuts only
        what is fused. Queries that the fusion convention leaves out, since some run lacks them (queries=common), count
        in no row.
    convention : str or Convention
        The meaning of the metric: see `evaluate`. One that rounds scores to float32 is refused.
    threads, progress
        See `evaluate`.

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
        _make_request(metric, convention), parse_fusion_convention(fusion_convention), check_absent(absent),
        None if depth is None else check_whole_number(depth, "depth", 1), threads,
        check_whole_number(seed, "seed", 0, MAX_SEED),
    )  # fmt: skip
    with use_progress(progress):
        reading = Options(threads=threads)
        truth = read_judgments(qrels, reading, "qrels")
        named_runs = read_runs(runs, reading)
        texts = read_methods(methods, named_runs.names, options.fusion_convention, options.absent)
        inputs = _join(truth, named_runs, options)
        grids = [MethodGrid(text, [GridPoint(applied, inputs.points) for applied in points]) for text, points in texts]
        has_value = ~np.isnan(grids[0].points[0].evaluate(None))
        plan = plan_folds(
            folds, clusters, repeats, options.seed, query_ids=inputs.points.judged.query_ids, has_value=has_value,
            is_nested=len(grids) > 1,
        )  # fmt: skip
        training = TrainingSets(plan.repeats[0], plan.repeats[0].training_sets, plan.clusters, options.seed)
        validation = cross_validate(grids, training, plan)
        curves = _make_curves(inputs, grids, validation, training)
    return _make_result(inputs, grids, validation, plan, curves)


class TuningInputs(NamedTuple):
    """Judgments and runs, read and joined. `notes` count what was left out."""

    options: TuningOptions
    qrels: Qrels
    named_runs: NamedRuns
    points: JudgedPoints
    notes: tuple[str, ...]


def _make_request(metric: Any, convention: str | Convention) -> Request:
    request = parse_request(metric, convention)
    if len(request.metrics) != 1:
        raise InvalidInputError(
            f"`metric` must be one metric, got {len(request.metrics)}: {shorten(metric)}. Choose one"
        )
    check_direction(request.metrics, "tuning")
    return request


def _join(qrels: Qrels, named_runs: NamedRuns, options: TuningOptions) -> TuningInputs:
    """Join the runs with each other and with the judgments. Documents are in the order of equal fused scores."""
    convention, n_threads = options.fusion_convention, check_threads(options.threads)
    joined = join_runs(named_runs.runs, named_runs.names, convention, depth=options.depth, threads=n_threads)
    if joined.counts.n_left_out:
        qrels, named_runs = _leave_out(qrels, named_runs, joined)
    all_equal, rows = make_run(joined, np.zeros(joined.n_documents), convention.fused_ties)
    places = np.empty(len(joined.row_documents), "i8")
    places[joined.document_rows] = np.arange(joined.n_documents)
    request = options.request
    judged = judge_runs(qrels, all_equal, request.metrics[0], request.qrels_convention, n_threads)
    points = make_judged_points(joined, judged, places[rows[judged.rows]], n_threads)
    return TuningInputs(options, qrels, named_runs, points, all_equal.notes)


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
    names = inputs.named_runs.names
    if not point.is_linear:
        return ()
    return tuple(
        make_curve(name, *point.search_around(run, chosen.best), training.folds, training.clusters)
        for run, name in enumerate(names[:1] if len(names) == 2 else names)
    )


def _make_result(
    inputs: TuningInputs, grids: Sequence[MethodGrid], validation: Validation, plan: FoldPlan,
    curves: tuple[FusionCurve, ...],
) -> TunedFusion:  # fmt: skip
    names = inputs.named_runs.names
    ids = inputs.points.judged.query_ids
    point, best = validation.chosen[validation.best]
    grid = grids[validation.best]
    clusters = None if plan.clusters is None else dict(zip(ids.tolist(), plan.clusters.tolist(), strict=True))
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
        origin=Origin(names, inputs.options, clusters, (*note_on_grid(grid, point), *plan.notes, *inputs.notes)),
    )  # fmt: skip


def _make_results(inputs: TuningInputs, values: Array) -> Results:
    """Return values of each query as results."""
    judged = inputs.points.judged
    return Results(
        values[:, None].copy(), (judged.metric,), judged.rankings.query_ids, inputs.options.request.convention,
        n_missing_in_run=judged.n_missing_in_run, n_missing_in_qrels=judged.n_missing_in_qrels,
    )  # fmt: skip


def _evaluate_baselines(inputs: TuningInputs, equal_values: Array | None) -> dict[str, Results]:
    """Return the results of each single run, of equal weights and of rrf(k=60)."""
    options = inputs.options
    names, runs = inputs.named_runs
    reading = Options(threads=options.threads)
    baselines = {
        name: evaluate_prepared(inputs.qrels, run, options.request, reading)
        for name, run in zip(names, runs, strict=True)
    }
    rrf = apply_method(FusionMethod.parse(RRF), options.fusion_convention, names, absent=options.absent)
    fused = {} if equal_values is None else {"equal weights": equal_values}
    fused[RRF] = GridPoint(rrf, inputs.points).evaluate(None)
    for label, values in fused.items():
        baselines[find_free_name(label, "fusion", baselines)] = _make_results(inputs, values)
    return baselines


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
