"""ranx's `fuse`, exported by `fastndcg.compat.ranx`."""

from __future__ import annotations

from typing import Any

from fastndcg.compat.ranx.data import MismatchError, Run
from fastndcg.errors import InvalidTypeError, UnknownFusionError, shorten, suggest_name
from fastndcg.fusion.catalog import FUSION_METHODS
from fastndcg.fusion.conventions import fusion_conventions
from fastndcg.fusion.fuse import fuse as fuse_tables
from fastndcg.fusion.methods import FusionMethod
from fastndcg.fusion.normalization import find_normalization
from fastndcg.inputs.table import Run as RunTable

FUSION = fusion_conventions["ranx"].replace(queries="union")  # the queries are compared before
METHODS = {theirs: record for record in FUSION_METHODS.values() for peer, theirs in record.peers if peer == "ranx"}
NAMES = {name: f"comb_{name}" for name in ("min", "max", "med", "sum", "anz", "mnz", "gmnz")} | {
    "wsum": "weighted_sum", "w_bordafuse": "weighted_bordafuse", "w_condorcet": "weighted_condorcet",
}  # fmt: skip
REQUIRED = {"gmnz": "gamma", "rbc": "phi"}
REQUIRED |= dict.fromkeys(("wsum", "mixed", "wmnz", "w_bordafuse", "w_condorcet"), "weights")
OPTIONAL = {"rrf": "k", "logn_isr": "sigma"}


def fuse(
    runs: list[Run], norm: str | None = "min-max", method: str = "wsum", params: dict[str, Any] | None = None
) -> Run:
    """
    Fuse runs. See `ranx.fuse`.

    A method that reads ranks alone takes the ranks of the runs, whatever the normalisation.

    Parameters
    ----------
    runs, norm, method, params
        See `ranx.fuse`. `params` may have a ``name``. As in ranx it must have the weights, gamma or phi of a method.
        By default the k of rrf is 60, and the sigma of logn_isr 0.01. `fastndcg.fuse` has the methods that learn.

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
        If the method has no such parameter, or one is missing. It is also a TypeError.

    Examples
    --------
    >>> runs = [Run({"q": {"a": 2.0, "b": 1.0}}), Run({"q": {"b": 3.0, "c": 1.0}})]
    >>> fuse(runs, norm="min-max", method="wsum", params={"weights": [0.25, 0.75]})
    {'q': {'b': 0.75, 'a': 0.25, 'c': 0.0}}
    """
    parameters = dict(params or {})
    name = parameters.pop("name", NAMES.get(method, method))
    if len(runs) < 2:
        raise MismatchError("Only one run provided. Pass two or more")
    for number, run in enumerate(runs[1:], start=1):
        if run.keys() != runs[0].keys():
            raise MismatchError(f"Runs 0 and {number} query ids do not match. Pass runs of the same queries")
    normalization = "none" if norm is None else find_normalization(norm)
    rows = [run.run for run in runs]
    if normalization == "min_max_inverted":  # of distances
        normalization = "min_max"
        rows = [{query: {d: -score for d, score in row.items()} for query, row in run.items()} for run in rows]
    weights = parameters.get("weights")
    fusion_method = _make_method(method, normalization, parameters)
    fused = fuse_tables(list(map(RunTable, rows)), fusion_method, weights=weights, fusion_convention=FUSION)
    scores = fused.to_dict()
    return Run({query: scores.get(query, {}) for query in rows[0]}, name)


def _make_method(method: str, normalization: str, parameters: dict[str, Any]) -> FusionMethod:
    """Return the method of ranx's names. Raise for a parameter that ranx's method lacks, and for a missing one."""
    if method not in METHODS:
        hint = suggest_name(method, METHODS) or f" There are {', '.join(METHODS)}."
        raise UnknownFusionError(f"Fusion method {shorten(method)} not supported.{hint}")
    if METHODS[method].needs_training:
        call = f"fastndcg.fuse(runs, {METHODS[method].name!r}, train=qrels, fusion_convention='ranx')"
        raise UnknownFusionError(
            f"Fusion method {shorten(method)} learns from judgments, which is not here. Call {call}"
        )
    required = REQUIRED.get(method)
    names = [name for name in (required, OPTIONAL.get(method), "name") if name]
    for name in parameters:
        if name not in names:
            hint = suggest_name(name, names) or " Leave it out."
            raise InvalidTypeError(f"`params` of {method} must be among {', '.join(names)}, not {shorten(name)}.{hint}")
    if required is not None and required not in parameters:
        raise InvalidTypeError(f"`params` of {method} must have {required}, but it is missing. Pass it")
    arguments = {name: value for name, value in parameters.items() if name != "weights"}
    if any(parameter.name == "norm" for parameter in METHODS[method].parameters):
        arguments["norm"] = normalization
    return FusionMethod.make(METHODS[method].name, **arguments)
