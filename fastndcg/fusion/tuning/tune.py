"""tune_fusion: tune the method, the parameters and the weights of a fusion on judged queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fastndcg.choices import ConventionName
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.evaluation import evaluate
from fastndcg.fusion.conventions import FusionConvention, parse_fusion_convention
from fastndcg.fusion.fuse import FusedRun, unite_runs
from fastndcg.fusion.inputs import NamedRuns, read_runs
from fastndcg.fusion.method import FusionMethod
from fastndcg.fusion.normalization import check_absent
from fastndcg.fusion.order import order_documents
from fastndcg.fusion.tuning.cross_validation import (
    Family,
    Validation,
    confirm_setting,
    cross_validate,
)
from fastndcg.fusion.tuning.curve import FusionCurve, make_curve
from fastndcg.fusion.tuning.engine_curve import EngineCurve
from fastndcg.fusion.tuning.folds import FoldOptions, FoldPlan, plan_folds
from fastndcg.fusion.tuning.judged_union import JudgedUnion, judge_union
from fastndcg.fusion.tuning.method_fusion import MethodFusion, PointStore, note_on_grid, read_methods
from fastndcg.fusion.tuning.step_function import StepFunction
from fastndcg.fusion.tuning.tuned_fusion import (
    BestFusion,
    FoldRow,
    MethodRow,
    Origin,
    TunedFusion,
    find_free_name,
    name_weights,
)
from fastndcg.fusion.tuning.weight_search import Training, search_around, share_rest
from fastndcg.fusion.union import Union
from fastndcg.inputs.dispatch import Options, prepare_truth
from fastndcg.inputs.forms import find_form
from fastndcg.inputs.group_by_query import Groups
from fastndcg.inputs.id_table import Rows
from fastndcg.inputs.qrels_run import Qrels
from fastndcg.inputs.source import Source
from fastndcg.metrics.metric import Metric, parse_metrics
from fastndcg.named_conventions import Convention, parse_convention
from fastndcg.rankings.read_only import put
from fastndcg.rankings.validation import Array, check_whole_number
from fastndcg.results.exact_sum import mean
from fastndcg.results.results import Results
from fastndcg.runtime.progress import use_progress
from fastndcg.runtime.threads import check_threads

METHODS = ("rrf", "wsum(norm=min_max)", "wsum(norm=z_score)")
PLATEAUS = ("best", "widest")
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
    plateau: str = "best",
    depth: int | None = None,
    absent: str | None = None,
    fusion_convention: str | FusionConvention = "default",
    convention: ConventionName | str | Convention = "default",
    columns: Mapping[str, str | Mapping[str, str]] | None = None,
    threads: int | None = None,
    progress: bool = True,
) -> TunedFusion:
    """
    Tune the fusion of two or more runs on judged queries, and report values of queries that were not used for tuning.

    For methods that are linear in their weights, such as wsum and rrf, the search is exact. The metric is a step
    function of the weight of a run, and all its steps are found. No weight between two steps is better than the chosen
    one. A step itself, at which documents tie, is no choice: the smallest change of a score would break the tie. More
    than two runs are tuned one weight after the other, from several starts. Other weighted methods take the best
    weights of a grid.

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
        is tuned on a grid. Methods that learn from judgments are no choice.
    folds : int, (n_queries,) array or {query id: fold}
        The number of folds, 2 or more, and 3 or more for several methods. Or the fold of each judged query.
    seed : int
        The seed of folds, of random starts and of the comparison. It determines the result on any machine.
    clusters : (n_queries,) array or {query id: cluster}, optional
        Judged queries that are not independent, such as those of one user. They stay in one fold.
    repeats : int
        How many times queries are divided into folds, 1 or more. A held-out value is the mean over all repeats.
    plateau : {'best', 'widest'}
        The weight for two runs. 'best': the middle of the interval with the best mean, or one of the simple weights 0,
        0.5 and 1 if it is better. 'widest': the middle of the widest interval within one standard error of the best.
    depth, absent, fusion_convention
        See `fuse`. Single runs are compared with all their documents, as they would be used alone: `depth` cuts only
        what is fused. Queries that the fusion convention leaves out, since some run lacks them (queries=common), count
        in no row.
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
    request = _Request(
        _read_metric(metric),
        parse_convention(convention),
        parse_fusion_convention(fusion_convention),
        check_absent(absent),
        None if depth is None else check_whole_number(depth, "depth", 1),
        columns,
        check_threads(threads),
    )
    _check_plateau(plateau)
    texts = read_methods(methods, request.fusion_convention, request.absent)
    with use_progress(progress):
        truth = _read_qrels(qrels, Options(columns=columns, threads=threads))
        named_runs = read_runs(
            runs, Options(columns=columns, threads=threads, has_number_ids=not truth.documents.are_texts)
        )
        inputs = _unite(truth, named_runs, request)
        first_values = _evaluate_equal(inputs, texts[0][1][0])
        options = FoldOptions(folds, seed, clusters, repeats)
        plan = plan_folds(options, inputs.judged.query_ids, ~np.isnan(first_values), is_nested=len(texts) > 1)
        training = Training(
            inputs.judged, plan.repeats[0], plan.repeats[0].training_sets, plateau == "widest", plan.clusters, seed,
            request.threads,
        )  # fmt: skip
        families = [
            Family(
                text,
                grid,
                [MethodFusion(method, inputs.store, inputs.rows) for method in grid],
                inputs.judged,
                request.threads,
            )
            for text, grid in texts
        ]
        validation = cross_validate(families, training, plan)
        setting, steps = confirm_setting(families[validation.best], validation.setting, training)
        validation = validation._replace(setting=setting)
        curves = _make_curves(inputs, families, validation, training, steps)
    return _make_result(inputs, families, validation, plan, curves=curves, plateau=plateau, seed=seed, threads=threads)


class _Request(NamedTuple):
    """The checked options of a call."""

    metric: Metric
    convention: Convention
    fusion_convention: FusionConvention
    absent: str | None
    depth: int | None
    columns: Mapping[str, str | Mapping[str, str]] | None
    threads: int


class _Inputs(NamedTuple):
    """Judgments and runs, read and united."""

    request: _Request
    qrels: Qrels
    named_runs: NamedRuns
    union: Union
    judged: JudgedUnion
    store: PointStore
    rows: Array
    notes: tuple[str, ...]


def _read_metric(metric: Any) -> Metric:
    metrics = parse_metrics(metric)
    if len(metrics) != 1:
        raise InvalidInputError(f"`metric` must be one metric, got {len(metrics)}: {shorten(metric)}. Choose one")
    return metrics[0]


def _check_plateau(plateau: Any) -> None:
    if plateau not in PLATEAUS:
        hint = suggest_name(plateau, PLATEAUS) or " There are 'best' and 'widest'"
        raise InvalidInputError(f"`plateau` has no choice {shorten(plateau)}.{hint}")


def _read_qrels(qrels: Any, options: Options) -> Qrels:
    truth = None if find_form(qrels, "truth") is None else prepare_truth(qrels, options)
    if not isinstance(truth, Qrels):
        raise InvalidTypeError(
            f"`qrels` must be judgments with ids, such as {{query: {{document: label}}}}, not {type(qrels).__name__}. "
            "Pass a path, a dict, a frame or Qrels"
        )
    return truth


def _unite(qrels: Qrels, named_runs: NamedRuns, request: _Request) -> _Inputs:
    """Make the union of the runs, and join it with the judgments. Documents are in the order of equal fused scores."""
    union = unite_runs(named_runs.runs, named_runs.names, request.fusion_convention, request.depth, request.threads)
    if union.counts.n_left_out:
        qrels, named_runs = _leave_out(qrels, named_runs, union)
    all_equal, rows = _order_union(union, request.fusion_convention)
    row_places = np.empty(len(union.row_documents), "i8")
    row_places[union.document_rows] = np.arange(union.n_documents)
    judged = judge_union(qrels, all_equal, request.metric, request.convention.for_input(qrels=True), request.threads)
    store = PointStore(union, request.fusion_convention, request.absent)
    rows_of_judged = row_places[rows[judged.rows]]
    return _Inputs(request, qrels, named_runs, union, judged, store, rows_of_judged, all_equal.notes)


def _order_union(union: Union, convention: FusionConvention) -> tuple[FusedRun, Array]:
    """Return a run with the documents of a union in the order of equal fused scores, and the row of each one's id."""
    rows, scores = order_documents(union, np.zeros(union.n_documents), convention.fused_ties)
    run = FusedRun.__new__(FusedRun)
    groups = Groups(union.offsets, None, union.offsets[:-1])
    run._fill(Rows(union.queries, groups, union.row_documents.take(rows), scores), Source("the union of the runs"))
    put(run, _counts=union.counts, _method="")
    return run, rows


def _leave_out(qrels: Qrels, named_runs: NamedRuns, union: Union) -> tuple[Qrels, NamedRuns]:
    """Return judgments and runs without the queries that the union leaves out since some run lacks them."""
    common = union.queries.names().tolist()
    dropped_queries = {query for run in named_runs.runs for query in run.queries.names().tolist()} - set(common)
    judged = [query for query in qrels.queries.names().tolist() if query not in dropped_queries]
    return qrels.filter(judged), named_runs._replace(runs=tuple(run.filter(common) for run in named_runs.runs))


def _evaluate_equal(inputs: _Inputs, method: FusionMethod) -> Array:
    """Return the metric of each query for equal weights."""
    fusion = MethodFusion(method, inputs.store, inputs.rows)
    return inputs.judged.evaluate(fusion.fuse(None), inputs.request.threads)


def _make_curves(
    inputs: _Inputs,
    families: Sequence[Family],
    validation: Validation,
    training: Training,
    steps: StepFunction | None,
) -> tuple[FusionCurve, ...]:
    """Return the curve of the first of two runs, of each of more, or none for methods that are not linear."""
    names = inputs.union.names
    choice = validation.setting.choice
    if steps is not None and choice.interval is not None:
        return (make_curve(names[0], steps, choice.interval, training.folds, training.clusters),)
    fusion = families[validation.best].fusions[validation.setting.fusion]
    if choice.weights is None or fusion.lines is None:
        return ()
    curves = []
    for r, name in enumerate(names):
        engine = EngineCurve(inputs.judged, fusion, r, share_rest(choice.weights, r), training.threads)
        steps, plateau = search_around(engine, float(choice.weights[r]), choice.mean)
        curves.append(make_curve(name, steps, plateau, training.folds, training.clusters))
    return tuple(curves)


def _make_result(
    inputs: _Inputs,
    families: Sequence[Family],
    validation: Validation,
    plan: FoldPlan,
    *,
    curves: tuple[FusionCurve, ...],
    plateau: str,
    seed: int,
    threads: int | None,
) -> TunedFusion:
    names = inputs.union.names
    ids = inputs.judged.query_ids
    setting = validation.setting
    method = str(families[validation.best].methods[setting.fusion])
    interval = setting.choice.interval
    clusters = None if plan.clusters is None else dict(zip(ids.tolist(), plan.clusters.tolist(), strict=True))
    request = inputs.request
    return TunedFusion(
        BestFusion(method, name_weights(names, setting.choice.weights), interval, setting.choice.mean),
        _make_results(inputs, validation.values),
        _evaluate_baselines(inputs, validation.equal_values),
        method_rows=_make_method_rows(families, validation, names),
        fold_rows=_make_fold_rows(families, validation, names),
        curves=curves,
        origin=Origin(
            names,
            request.depth,
            request.absent,
            request.fusion_convention,
            (*note_on_grid(families[validation.best].methods, setting.fusion), *plan.notes, *inputs.notes),
            plateau,
            seed,
            clusters,
            threads,
        ),
    )


def _make_results(inputs: _Inputs, values: Array) -> Results:
    """Return values of each query as results."""
    judged = inputs.judged
    return Results(
        values[:, None].copy(),
        (judged.metric,),
        judged.rankings.query_ids,
        inputs.request.convention,
        n_missing_in_run=judged.n_missing_in_run,
        n_missing_in_qrels=judged.n_missing_in_qrels,
    )


def _evaluate_baselines(inputs: _Inputs, equal_values: Array | None) -> dict[str, Results]:
    """Return the results of each single run, of equal weights and of rrf(k=60)."""
    request = inputs.request
    baselines = {
        name: evaluate(inputs.qrels, run, request.metric, convention=request.convention, threads=request.threads)
        for name, run in zip(*inputs.named_runs, strict=True)
    }
    fused = {} if equal_values is None else {"equal weights": equal_values}
    fused[RRF] = _evaluate_equal(inputs, FusionMethod.parse(RRF))
    for label, values in fused.items():
        baselines[find_free_name(label, "fusion", baselines)] = _make_results(inputs, values)
    return baselines


def _make_method_rows(
    families: Sequence[Family], validation: Validation, names: tuple[str, ...]
) -> tuple[MethodRow, ...]:
    return tuple(
        MethodRow(
            family.text, mean(values), str(family.methods[setting.fusion]), name_weights(names, setting.choice.weights)
        )
        for family, values, setting in zip(families, validation.family_values, validation.settings, strict=True)
    )


def _make_fold_rows(families: Sequence[Family], validation: Validation, names: tuple[str, ...]) -> tuple[FoldRow, ...]:
    rows = []
    for outcome in validation.outcomes:
        values = outcome.values
        setting = outcome.setting
        rows.append(
            FoldRow(
                outcome.repeat,
                outcome.fold,
                int(np.count_nonzero(~np.isnan(values))),
                str(families[outcome.family].methods[setting.fusion]),
                name_weights(names, setting.choice.weights),
                setting.choice.mean,
                mean(values),
            )
        )
    return tuple(rows)
