"""Fusion methods as values, such as ``wsum(norm=min_max)``: their texts, and the points and scores that they give."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from fastndcg.errors import (
    InvalidInputError,
    InvalidTypeError,
    Option,
    UnknownFusionError,
    shorten,
    suggest_name,
)
from fastndcg.fusion.catalog import FUSION_METHODS, MethodRecord, index_names
from fastndcg.fusion.conventions import ABSENT_CHOICES, FusionConvention
from fastndcg.fusion.joined_runs import JoinedRuns, refuse_unknown_runs
from fastndcg.fusion.normalization import (
    NO_TABLES,
    OWN,
    Norm,
    as_norm,
    as_norms,
    fill_absent,
    find_norms,
    leave_out_runs,
    normalize,
    parse_norm,
    parse_norms,
    score_ranks,
)
from fastndcg.fusion.training import NO_RELEVANT, SEGFUSE_ENDS
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.families.record import check_parameter
from fastndcg.parsing import Value, as_float, format_call, parse_call
from fastndcg.rankings.validation import Array, read_only

Weights = Mapping[str, float] | Sequence[float] | None

NAMES = index_names(FUSION_METHODS.values())
MIXED_EXPONENT = 0.5
SUMS_IN_FLOAT32 = ("weighted_sum", "arithmetic_mean", "geometric_mean", "harmonic_mean")


@dataclass(frozen=True, slots=True)
class FusionMethod:
    """
    A fusion method with its parameters. Methods are hashable, equal by value, and their texts parse back.

    Examples
    --------
    >>> FusionMethod.parse("comb_mnz(norm=min-max)")
    mnz(norm=min_max)
    >>> FusionMethod.parse("rrf(k=60)").get("k")
    60
    >>> FusionMethod.make("wsum", norms={"dense": "none", "bm25": "minmax"})
    wsum(norms={bm25:min_max,dense:none})
    """

    name: str  # in the catalogue
    parameters: tuple[tuple[str, Value], ...] = ()  # those that differ from their defaults

    @classmethod
    def parse(cls, text: str | FusionMethod) -> FusionMethod:
        """Read the text of a method."""
        if isinstance(text, FusionMethod):
            return text
        if not isinstance(text, str):
            raise InvalidTypeError(
                f"`method` must be a text such as 'rrf(k=60)', not {type(text).__name__}: {shorten(text)}"
            )
        return _parse_text(text)

    @classmethod
    def make(cls, name: str, **arguments: Any) -> FusionMethod:
        """Return a method by its name and parameters."""
        if name.lower() not in NAMES:
            hint = suggest_name(name, NAMES) or f" There are {', '.join(FUSION_METHODS)}."
            raise UnknownFusionError(f"no fusion method is called {shorten(name)}.{hint}")
        record = FUSION_METHODS[NAMES[name.lower()]]
        values = {key: _check_argument(record, key, value) for key, value in arguments.items()}
        changes = tuple(
            (p.name, values[p.name]) for p in record.parameters if values.get(p.name, p.default) != p.default
        )
        return cls(record.name, changes)

    @property
    def record(self) -> MethodRecord:
        """The record of the catalogue."""
        return FUSION_METHODS[self.name]

    def get(self, key: str) -> Any:
        """Return the value of a parameter, or its default. Return None for one that the method lacks."""
        for name, value in self.parameters:
            if name == key:
                return value
        return next((parameter.default for parameter in self.record.parameters if parameter.name == key), None)

    def replace(self, **arguments: Any) -> FusionMethod:
        """Return the method with other parameters."""
        return FusionMethod.make(self.name, **(dict(self.parameters) | arguments))

    def __str__(self) -> str:
        return format_call(self.name, dict(self.parameters))

    def __repr__(self) -> str:
        return str(self)


@functools.lru_cache(maxsize=256)
def _parse_text(text: str) -> FusionMethod:
    name, arguments, cutoff = parse_call(text)
    if cutoff is not None:
        raise InvalidInputError(
            f"`method` must have no cutoff, not {shorten(text)}. Give `depth` to cut the runs, and Run.top to cut the "
            "fused run"
        )
    return FusionMethod.make(name, **arguments)


def _check_argument(record: MethodRecord, key: str, value: Any) -> Value:
    """Return the value of a method's parameter in its canonical form, or raise an error."""
    names = [parameter.name for parameter in record.parameters]
    if key not in names:
        hint = suggest_name(key, names) or (f" It has {', '.join(names)}." if names else " It has none.")
        raise UnknownFusionError(f"{record.name} has no parameter {shorten(key)}.{hint}")
    if key == "norm":
        return str(as_norm(value))
    if key == "norms":
        return str(as_norms(value))
    return check_parameter(cast(Any, record), key, value)


def read_weights(weights: Weights, names: Sequence[str], method: FusionMethod) -> Array | None:
    """Return the weights of the runs in their order, or None without weights."""
    if weights is None:
        return None
    if not method.record.is_weighted:
        twin = {"sum": "wsum", "borda": "wborda", "condorcet": "wcondorcet", "mnz": "wmnz", "anz": "arithmetic_mean"}
        remedy = f"Take {twin[method.name]!r}" if method.name in twin else "Leave them out"
        raise InvalidInputError(
            f"`weights` can only be used with a weighted method, but {method.name} takes no weights. {remedy}"
        )
    row = _sort_weights(weights, names) if isinstance(weights, Mapping) else _list_weights(weights)
    values = [as_float(weight) for weight in row]
    for number, weight, name in zip(values, row, names, strict=False):
        if number is None or not np.isfinite(number) or number < 0:
            raise InvalidInputError(
                f"`weights` must be finite numbers of 0 or more, but that of {shorten(name)} is "
                f"{shorten(weight)}. Correct it"
            )
    if len(row) != len(names):
        raise InvalidInputError(
            f"`weights` must have one weight for each of {len(names)} runs, but has {len(row)}. Give ",
            Option("weights", "{name: weight}"),
        )
    if not any(values):
        raise InvalidInputError("`weights` must not all be 0. Give one run a weight above 0")
    return np.array(values)


def _sort_weights(weights: Mapping[str, float], names: Sequence[str]) -> list[Any]:
    """Return the weights in the order of the runs."""
    refuse_unknown_runs(weights, names, "weights")
    missing = next((name for name in names if name not in weights), None)
    if missing is not None:
        raise InvalidInputError(
            f"`weights` must have a weight for each run, but that of {shorten(missing)} is missing. "
            "Give it 0 to leave it out"
        )
    return [weights[name] for name in names]


def _list_weights(weights: Any) -> list[Any]:
    """Return weights in the order of the runs. A set has no order."""
    if isinstance(weights, str | bytes | Set) or not isinstance(weights, Iterable) or getattr(weights, "ndim", 1) > 1:
        raise InvalidTypeError(
            f"`weights` must be {{name: weight}} or a list of numbers in the order of the runs, not "
            f"{type(weights).__name__}: {shorten(weights)}"
        )
    return list(weights)


class AppliedMethod(NamedTuple):
    """
    A method with all that a call decides: what `apply_method` returns.

    It is linear if fused scores are the weighted sum of points, or its quotient by the sum of all weights. A mean
    without the runs that lack a document has another divisor for each document.
    """

    method: FusionMethod
    record: MethodRecord
    convention: FusionConvention
    norms: tuple[Norm, ...]  # of each run
    treatments: tuple[str, ...]  # what each run gives to documents that it lacks
    tables: Array | None  # (n_runs, n_entries) float64: what the method has learned
    is_linear: bool
    has_weighted_points: bool  # points depend on the weights, which then are not factors
    number: float  # that the kernel takes

    @property
    def compares_ranks(self) -> bool:
        """True for condorcet and wcondorcet, which give no points."""
        return self.record.points == "ranks"

    def score(self, joined: JoinedRuns, weights: Array | None = None) -> Array:
        """
        Compute the points that each run gives to each document: (n_runs, n_documents), NaN where a run does not count.

        Points of a linear fusion have NaN only where a run lacks a query. What it gives to all documents of that query
        alike does not change their order, so 0 and the method's own points stay. `weights` are needed where the
        convention divides ranks by them (`has_weighted_points`).
        """
        kind = self.record.points
        if kind == "scores":
            points = normalize(joined, self.norms, self.convention, self.treatments)
        elif kind == "segfuse":
            points = _score_segments(joined, self)
        else:
            points = _score_by_rule(joined, self, weights)
        if not self.is_linear:
            leave_out_runs(joined, points)
        elif not {"skip", OWN}.isdisjoint(self.treatments):
            fill_absent(joined, points, "zero")
        return self._round(points)

    def combine(self, points: Array, weights: Array | None, joined: JoinedRuns | None = None) -> Array:
        """Return the fused score of each document. The points of `joined` are combined on several threads."""
        if weights is None or self.has_weighted_points:
            weights = np.ones(len(points))
        factors = read_only(self._round(weights))
        kernels = load_kernels("fusion.points")
        combine = getattr(kernels, self.record.kernel)
        is_single = None
        if self.convention.precision != "float64" and self.record.kernel in SUMS_IN_FLOAT32:
            is_single = True if self.method.name != "anz" else None  # which no program with float32 has
        fused = np.empty(points.shape[1])

        def work(first: int, stop: int) -> None:
            combine(points, factors, self.number, is_single, first, stop, fused)

        if joined is None:
            work(0, len(fused))
        else:
            bounds = joined.offsets
            joined.run_on_queries(lambda first, stop: work(bounds.item(first), bounds.item(stop)))
        return self._round(fused)

    def _round(self, values: Array) -> Array:
        """Return numbers as the convention's precision has them."""
        return values if self.convention.precision == "float64" else values.astype("f4").astype("f8")

    def count_majorities(self, joined: JoinedRuns, weights: Array | None) -> Array:
        """Return the Condorcet score of each document."""
        kernels = load_kernels("fusion.points")
        ranks, _ = joined.rank(self.convention.ties)
        fused = np.empty(joined.n_documents)
        votes = read_only(np.ones(len(joined.names)) if weights is None else weights)
        joined.run_on_queries(lambda first, stop: kernels.condorcet(ranks, votes, joined.offsets, first, stop, fused))
        return fused

    def fuse(self, joined: JoinedRuns, weights: Array | None = None) -> Array:
        """Return the fused score of each document, of all steps."""
        if self.compares_ranks:
            return self.count_majorities(joined, weights)
        return self.combine(self.score(joined, weights), weights, joined)


def check_absent(absent: str | None, method: FusionMethod | None = None) -> str | None:
    """Return what `absent` says. Raise for another text, and for one with a method that compares ranks."""
    if absent is None:
        return None
    if not isinstance(absent, str) or absent not in ABSENT_CHOICES:
        names = ", ".join(map(repr, ABSENT_CHOICES))
        raise InvalidInputError(
            f"`absent` must be one of {names}, not {shorten(absent)}. Leave it out for the method's"
        )
    if method is not None and method.record.points == "ranks":
        raise InvalidInputError(
            f"`absent` can only be used with methods that add points, but {method.name} compares ranks: a run ranks "
            "its documents above those that it lacks. Leave it out"
        )
    return absent


def apply_method(
    method: FusionMethod,
    convention: FusionConvention,
    names: Sequence[str],
    *,
    absent: str | None = None,
    tables: Array | None = None,
) -> AppliedMethod:
    """
    Decide how a method fuses the runs of these names.

    `absent`, which `check_absent` has checked, is what a run gives to documents that it lacks, in place of what the
    convention or the method says. `tables` are what a method that needs training has learned.
    """
    record = method.record
    parameters: dict[str, Any] = {parameter.name: parameter.default for parameter in record.parameters}
    parameters |= dict(method.parameters)
    treatment = absent or (record.absent if convention.absent == "method" else convention.absent)
    treatments = [treatment] * len(names)
    own_norms: tuple[Norm, ...] = ()
    if "norm" in parameters:
        norms = parameters["norms"]
        own_norms = find_norms(parse_norms(norms) if norms else None, parse_norm(parameters["norm"]), names)
        if absent is None and convention.absent == "method" and record.points == "scores":
            treatments = [OWN if norm.name == "borda" else record.absent for norm in own_norms]
    number = MIXED_EXPONENT if method.name == "mixed" else parameters.get("gamma", parameters.get("sigma", 0.0))
    return AppliedMethod(
        method,
        record,
        convention,
        own_norms,
        tuple(treatments),
        tables,
        is_linear=record.is_linear and not (record.kernel == "arithmetic_mean" and "skip" in treatments),
        has_weighted_points=method.name == "rrf" and convention.rrf_weights == "divisor",
        number=float(number),
    )


def _score_by_rule(joined: JoinedRuns, applied: AppliedMethod, weights: Array | None) -> Array:
    """Return the points of a method that reads ranks."""
    method = applied.method
    name = method.record.points
    tables = NO_TABLES if applied.tables is None else applied.tables
    n_ranks = int(joined.sizes.max(initial=0))  # of the longest ranking
    places = np.arange(n_ranks, dtype="f8")
    if name == "rrf":
        tables = _make_rrf(applied, places, weights)
    elif name == "isr":
        tables = 1.0 / (places[None] + 1.0) ** 2
    elif name == "rbc":
        phi = float(method.get("phi"))
        tables = (1.0 - phi) * phi ** places[None]
    elif name == "mapfuse":
        tables = tables[:, :1] / (places + 1.0)
    elif name == "bayesfuse":
        n_missing = max(n_ranks - tables.shape[1], 0)
        tables = np.pad(tables, ((0, 0), (0, n_missing)), constant_values=NO_RELEVANT)
    return score_ranks(
        joined,
        {"borda": "BORDA", "probfuse": "SEGMENT", "slidefuse": "WINDOW"}.get(name, "TABLE"),
        applied.convention,
        tables,
        number=float(method.get("w") or 0),
        absent=applied.treatments[0],
        absent_points=NO_RELEVANT if name == "bayesfuse" else 0.0,
    )


def _make_rrf(applied: AppliedMethod, places: Array, weights: Array | None) -> Array:
    """Return 1 / (k + rank) for each rank, a row for each run where weights divide ranks."""
    convention = applied.convention
    k = applied.method.get("k")
    constant = float(convention.rrf_k if k is None else k)
    if convention.rrf_weights == "factor" or weights is None:
        if constant + convention.first_rank == 0:
            raise InvalidInputError(
                f"rrf must have k + rank above 0, but k is 0, and ranks begin at 0 in the fusion convention "
                f"{convention}. Take a larger k"
            )
        points: Array = 1.0 / (constant + (places + convention.first_rank))[None]
        return points if convention.rrf_decimals == "all" else np.round(points, int(convention.rrf_decimals))
    shift = constant + convention.first_rank - 1
    with np.errstate(divide="ignore"):  # infinity is refused with the fused scores
        rows = [1.0 / ((places + 1) / weight + shift) if weight > 0 else np.zeros(len(places)) for weight in weights]
    return np.array(rows).reshape(len(weights), len(places))


def _score_segments(joined: JoinedRuns, applied: AppliedMethod) -> Array:
    """Return the points of SegFuse: the precision of the rank's segment times the score plus 1."""
    assert applied.tables is not None
    n_ranks = int(joined.sizes.max(initial=0))
    segments = np.searchsorted(SEGFUSE_ENDS, np.arange(n_ranks), side="right")
    tables = np.pad(applied.tables, ((0, 0), (0, 1)))[:, segments]  # 0 for ranks behind the last segment
    points = score_ranks(joined, "TABLE", applied.convention, tables, absent="skip")
    points *= normalize(joined, applied.norms, applied.convention, ("skip",) * len(applied.norms)) + 1.0
    fill_absent(joined, points, applied.treatments[0])
    return points
