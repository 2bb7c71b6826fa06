"""ranx's `fuse` and `optimize_fusion`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from fastndcg.compat.ranx.data import MismatchError, Qrels, Run
from fastndcg.compat.ranx.evaluation import CONVENTION, parse_metric
from fastndcg.errors import InvalidTypeError, UnknownFusionError, shorten, suggest_name
from fastndcg.evaluation import Evaluator
from fastndcg.exports import align_columns
from fastndcg.fusion.catalog import FUSION_METHODS
from fastndcg.fusion.conventions import fusion_conventions
from fastndcg.fusion.fuse import FusedRun, fuse_joined
from fastndcg.fusion.joined_runs import JoinedRuns, join_runs
from fastndcg.fusion.methods import FusionMethod, apply_method, read_weights
from fastndcg.fusion.normalization import find_normalization
from fastndcg.fusion.training import learn_run, pad_tables
from fastndcg.inputs.table import Qrels as QrelsTable
from fastndcg.inputs.table import Run as RunTable
from fastndcg.runtime.threads import check_threads

FUSION = fusion_conventions["ranx"].replace(queries="union")  # the queries are compared before
METHODS = {theirs: record for record in FUSION_METHODS.values() for peer, theirs in record.peers if peer == "ranx"}
TABLES = {
    "bayesfuse": "log_odds", "mapfuse": "map_scores", "probfuse": "probs", "segfuse": "probs", "slidefuse": "probs",
    "posfuse": "probs",
}  # fmt: skip
NAMES = {name: f"comb_{name}" for name in ("min", "max", "med", "sum", "anz", "mnz", "gmnz")} | {
    "wsum": "weighted_sum", "w_bordafuse": "weighted_bordafuse", "w_condorcet": "weighted_condorcet",
}  # fmt: skip
REQUIREMENTS = {
    **dict.fromkeys(("wsum", "mixed", "wmnz", "w_bordafuse", "w_condorcet"), ("weights",)),
    **{method: (table,) for method, table in TABLES.items()},
    "slidefuse": ("probs", "w"),
    "gmnz": ("gamma",),
    "rbc": ("phi",),
}
OPTIONAL = {"rrf": ("k",), "logn_isr": ("sigma",)}
HEADINGS = {
    "logn_isr": "Sigma", "gmnz": "Gamma", "probfuse": "# Segments", "rbc": "phi", "rrf": "k", "slidefuse": "w",
}  # fmt: skip
GRIDS: dict[str, tuple[str, float, float, float]] = {  # parameter, lowest and highest value, step
    "gmnz": ("gamma", 0.01, 1.0, 0.01),
    "logn_isr": ("sigma", 0.01, 1.0, 0.01),
    "rbc": ("phi", 0.01, 1.0, 0.01),
    "rrf": ("k", 10, 100, 10),
    "probfuse": ("n_segments", 1, 100, 1),
    "slidefuse": ("w", 1, 100, 1),
}
ONE = 1e-9  # how far the sum of a grid point may be from 1


def fuse(
    runs: list[Run], norm: str | None = "min-max", method: str = "wsum", params: dict[str, Any] | None = None
) -> Run:
    """
    Fuse runs. See `ranx.fuse`.

    A method that reads ranks alone takes the ranks of the runs, whatever the normalisation. With 'borda' ranx ranks
    documents by the order of a set of texts, which differs between processes.

    Parameters
    ----------
    runs : list of Run
        Two or more runs of the same queries.
    norm : str or None
        The normalisation: 'min-max', 'min-max-inverted', 'max', 'sum', 'zmuv', 'rank', 'borda', or None.
    method : str
        The method, such as 'wsum', 'rrf' or 'mnz'.
    params : dict, optional
        The parameters of the method, such as ``{"weights": [0.3, 0.7]}``, and ``name``. As in ranx the weights, gamma,
        phi, w and learned values must be given. By default the k of rrf is 60, and the sigma of logn_isr 0.01.

    Returns
    -------
    Run
        The fused run.

    Raises
    ------
    MismatchError
        If there are fewer than two runs, or their queries differ. It is also an AssertionError.
    UnknownFusionError
        If there is no such method or normalisation. It is also a ValueError.
    InvalidTypeError
        If the method has no such parameter, or needs one that is missing. It is also a TypeError.

    Examples
    --------
    >>> runs = [Run({"q": {"a": 2.0, "b": 1.0}}), Run({"q": {"b": 3.0, "c": 1.0}})]
    >>> fuse(runs, norm="min-max", method="wsum", params={"weights": [0.25, 0.75]})
    {'q': {'b': 0.75, 'a': 0.25, 'c': 0.0}}
    """
    parameters = dict(params or {})
    name = parameters.pop("name", NAMES.get(method, method))
    tables = _read_runs(runs, norm)
    fusion_method = _make_method(method, norm, parameters)
    _check_parameters(method, parameters)
    fused = fuse_once(_join(tables), fusion_method, parameters)
    rows = fused.to_dict()
    return Run({query: rows.get(query, {}) for query in runs[0].run}, name)


def optimize_fusion(
    qrels: Qrels,
    runs: list[Run],
    norm: str | None = "min-max",
    method: str = "wsum",
    metric: str = "ndcg",
    return_optimization_report: bool = False,
    rounding_digits: int = 3,
    show_percentages: bool = False,
    **kwargs: Any,
) -> Any:
    """
    Find the best parameters of a method on a grid. See `ranx.optimize_fusion`.

    Of equally good points the last one wins, as in ranx. ranx loses points whose weights do not add up to exactly 1 in
    floating point: 4 of 66 for three runs. They are tried here. All queries are training data: `fn.tune_fusion`
    evaluates held-out queries.

    Parameters
    ----------
    qrels : Qrels
        The judgments.
    runs : list of Run
        Runs of the same queries.
    norm : str or None
        See `fuse`.
    method : str
        See `fuse`.
    metric : str
        See `evaluate`.
    return_optimization_report : bool
        True to return the value of each point, too.
    rounding_digits : int
        The number of digits in the report.
    show_percentages : bool
        True to print percentages in the report.
    **kwargs : object
        The grid: ``step`` of weights, ``min_k``, ``max_k`` and ``step`` of rrf, and likewise gamma, sigma, phi,
        n_segments and w. ``show_progress`` is ignored.

    Returns
    -------
    dict, or (dict, OptimizationReport)
        The parameters for `fuse`.

    Raises
    ------
    MismatchError
        If the queries differ. It is also an AssertionError.
    UnknownFusionError
        If the method has no parameters. It is also a ValueError.

    Examples
    --------
    >>> qrels = Qrels({"q": {"b": 1}})
    >>> runs = [Run({"q": {"a": 2.0, "b": 1.0}}), Run({"q": {"b": 3.0, "c": 1.0}})]
    >>> optimize_fusion(qrels, runs, method="rrf", metric="mrr")
    {'k': 100}
    """
    tables = _read_runs(runs, norm)
    joined = _join(tables)
    for number, run in enumerate(runs):
        if run.keys() != qrels.keys():
            raise MismatchError(f"Run {number} and Qrels query ids do not match. Pass run.make_comparable(qrels)")
    judgments = QrelsTable.from_dict(qrels.qrels)
    if method in ("bayesfuse", "mapfuse", "posfuse", "segfuse"):
        return {TABLES[method]: _learn(judgments, tables, _make_method(method, norm, {}))}
    points = _list_points(method, len(runs), kwargs)
    evaluator = Evaluator(judgments, parse_metric(metric), convention=CONVENTION)
    best: dict[str, Any] = {}
    best_value = 0.0
    values = []
    for _, parameters in points:
        if method in ("probfuse", "slidefuse"):
            learned_method = _make_method(method, norm, parameters)
            parameters["probs"] = _learn(judgments, tables, learned_method)
        fused = fuse_once(joined, _make_method(method, norm, parameters), parameters)
        values.append(float(evaluator.evaluate(fused).means()[0]))
        if values[-1] >= best_value:
            best = parameters
            best_value = values[-1]
    best.pop("n_segments", None)
    if not return_optimization_report:
        return best
    configurations = [name for name, _ in points]
    report = OptimizationReport(method, configurations, values, metric, rounding_digits, show_percentages)
    return best, report


class OptimizationReport(NamedTuple):
    """
    The value of each point of a grid. See `ranx.data_structures.OptimizationReport`.

    Parameters
    ----------
    method : str
        The method.
    configs : list of str
        The points.
    results : list of float
        Their values.
    metric : str
        The metric.
    rounding_digits : int
        The number of digits.
    show_percentages : bool
        True to print percentages.

    Examples
    --------
    >>> print(OptimizationReport("rrf", ["10", "20"], [0.5, 0.75], "mrr"))
    k     mrr
    10  0.500
    20  0.750 *
    """

    method: str
    configs: list[str]
    results: list[float]
    metric: str
    rounding_digits: int = 3
    show_percentages: bool = False

    def __str__(self) -> str:
        percent = bool(self.show_percentages)
        n_digits = max(self.rounding_digits - 2 * percent, 0)
        cells = [f"{value * (100 if percent else 1):.{n_digits}f}" for value in self.results]
        rows = [[HEADINGS.get(self.method, "Weights"), self.metric]]
        rows += [list(row) for row in zip(self.configs, cells, strict=True)]
        best = int(np.argmax(self.results)) + 1
        lines = list(align_columns(rows, 1))
        return "\n".join(f"{line} *" if place == best else line for place, line in enumerate(lines))

    def __repr__(self) -> str:
        return str(self)


def fuse_once(joined: JoinedRuns, method: FusionMethod, parameters: Mapping[str, Any]) -> FusedRun:
    """Fuse joined runs by a method with ranx's parameters."""
    weights = read_weights(parameters.get("weights"), joined.names, method)
    learned = next((parameters[name] for name in dict.fromkeys(TABLES.values()) if name in parameters), None)
    tables = None if learned is None else pad_tables([np.atleast_1d(np.asarray(table, "f8")) for table in learned])
    return fuse_joined(joined, apply_method(method, FUSION, joined.names, tables=tables), weights)


def _read_runs(runs: Sequence[Run], norm: str | None) -> list[RunTable]:
    """Return the runs, whose queries must be the same. Distances are negated."""
    if len(runs) < 2:
        raise MismatchError("Only one run provided. Pass two or more")
    for number, run in enumerate(runs[1:], start=1):
        if run.keys() != runs[0].keys():
            raise MismatchError(f"Runs 0 and {number} query ids do not match. Pass runs of the same queries")
    is_inverted = norm is not None and find_normalization(norm) == "min_max_inverted"
    tables = []
    for run in runs:
        rows = run.run
        if is_inverted:
            rows = {query: {document: -score for document, score in row.items()} for query, row in rows.items()}
        tables.append(RunTable.from_dict(rows))
    return tables


def _join(tables: Sequence[RunTable]) -> JoinedRuns:
    """Return joined runs."""
    names = [f"run {number}" for number in range(1, len(tables) + 1)]
    return join_runs(tables, names, FUSION, threads=check_threads(None))


def _check_parameters(method: str, parameters: Mapping[str, Any]) -> None:
    """Raise for a parameter that ranx's method lacks, and for a missing one that has no default."""
    requirements = REQUIREMENTS.get(method, ())
    names = (*requirements, *OPTIONAL.get(method, ()), "name")
    for name in parameters:
        if name not in names:
            hint = suggest_name(name, names) or " Leave it out."
            raise InvalidTypeError(f"`params` of {method} must be among {', '.join(names)}, not {shorten(name)}.{hint}")
    for name in requirements:
        if name not in parameters:
            raise InvalidTypeError(f"`params` of {method} must have {name}, but it is missing. Pass it")


def _make_method(method: str, norm: str | None, parameters: Mapping[str, Any]) -> FusionMethod:
    """Return the method of ranx's names."""
    if method not in METHODS:
        hint = suggest_name(method, METHODS) or f" There are {', '.join(METHODS)}."
        raise UnknownFusionError(f"Fusion method {shorten(method)} not supported.{hint}")
    record = METHODS[method]
    names = [parameter.name for parameter in record.parameters]
    arguments = {name: parameters[name] for name in names if name in parameters}
    if "norm" in names:
        canonical = "none" if norm is None else find_normalization(norm)
        arguments["norm"] = "min_max" if canonical == "min_max_inverted" else canonical
    return FusionMethod.make(record.name, **arguments)


def _learn(qrels: QrelsTable, runs: Sequence[RunTable], method: FusionMethod) -> list[Any]:
    """Return what a method learns for each run, as ranx returns it."""
    n_segments = int(method.get("n_segments") or 0)
    rows = [learn_run(qrels, run, method.name, n_segments, FUSION, None) for run in runs]
    return [float(row[0]) for row in rows] if method.name == "mapfuse" else rows


def _list_points(method: str, n_runs: int, choices: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the points of ranx's grid: the text of each in reports, and its parameters."""
    if method in METHODS and METHODS[method].is_weighted and method not in ("rrf", "rbc"):
        step = choices.get("step", 0.1)
        n_digits = str(step)[::-1].find(".")
        values = [float(round(value, n_digits)) for value in np.arange(0, 1 + step, step)]
        points = [point for point in product(values, repeat=n_runs) if abs(sum(point) - 1.0) < ONE]
        return [(str(point), {"weights": point}) for point in points]
    if method not in GRIDS:
        raise UnknownFusionError(f"{shorten(method)} does not support optimization. Take one of {', '.join(GRIDS)}")
    name, lowest, highest, usual_step = GRIDS[method]
    step = choices.get("step", usual_step)
    first = choices.get(f"min_{name}", lowest)
    last = choices.get(f"max_{name}", highest)
    if isinstance(highest, int):
        numbers: list[float] = list(range(first, last + 1, step))
    else:
        n_digits = str(step)[::-1].find(".")
        rounded = (float(round(value, n_digits)) for value in np.arange(first, last + step, step))
        numbers = [value for value in rounded if value <= last]
    return [(str(value), {name: value}) for value in numbers]
