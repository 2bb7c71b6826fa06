"""Normalise the scores of joined runs, give points by ranks, and give documents that a run lacks their share."""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, UnknownFusionError, shorten, suggest_name
from fastndcg.fusion.catalog import NORMALIZATIONS, index_names
from fastndcg.fusion.conventions import FusionConvention
from fastndcg.fusion.joined_runs import JoinedRuns, refuse_unknown_runs
from fastndcg.kernels.lookup import load_kernels
from fastndcg.parsing import as_float, format_call, parse_call, split_list
from fastndcg.rankings.validation import Array

NO_TABLES = np.zeros((1, 0))
OWN = "own"  # points by the method's rule
BOUND_MODES = ("apply", "clip", "ignore")
BOUNDS = {"lower": 0.0, "upper": 1.0}  # with OpenSearch's defaults
NAMES = index_names(NORMALIZATIONS.values())
PLAIN_NAME = re.compile(r"[\w.+/-](?:[\w.+/ -]*[\w.+/-])?")  # of a run, which needs no quotes in a text
BRACKETS = {ord(character): f"\\u{ord(character):04x}" for character in "()[]{}@,"}


class Norm(NamedTuple):
    """
    A normalisation, and for min_max the bounds in place of a run's lowest and highest score.

    A bound is None, or a score with the mode 'apply' or 'clip': see kernels/fusion/points.py.
    """

    name: str
    lower: float | None = None
    lower_mode: str = "apply"
    upper: float | None = None
    upper_mode: str = "apply"

    def __str__(self) -> str:
        bounds: dict[str, Any] = {}
        for side, bound, mode in (("lower", self.lower, self.lower_mode), ("upper", self.upper, self.upper_mode)):
            if bound is not None:
                bounds |= {side: bound} | ({f"{side}_mode": mode} if mode != "apply" else {})
        return format_call(self.name, bounds)


@functools.lru_cache(maxsize=256)
def parse_norm(text: str) -> Norm:
    """
    Read a normalisation with its bounds.

    >>> str(parse_norm("minmax(lower=0.5,upper=20,upper_mode=clip)"))
    'min_max(lower=0.5,upper=20,upper_mode=clip)'
    """
    name, arguments, cutoff = parse_call(text)
    if cutoff is not None:
        raise InvalidInputError(f"a normalisation must have no cutoff, not {shorten(text)}. Leave it out")
    norm = Norm(find_normalization(name))
    given: dict[str, Any] = {}
    for key, value in arguments.items():
        side = key.removesuffix("_mode")
        if norm.name != "min_max" or side not in BOUNDS:
            raise UnknownFusionError(
                f"{norm.name} has no parameter {shorten(key)}. Only min_max has bounds: lower, lower_mode, upper and "
                "upper_mode"
            )
        given.setdefault(side, BOUNDS[side])
        if key == side:
            given[side] = as_float(value)
            if given[side] is None or not math.isfinite(given[side]):
                raise InvalidInputError(f"`{key}` of min_max must be a finite number, not {shorten(value)}")
        elif value not in BOUND_MODES:
            raise InvalidInputError(f"`{key}` of min_max must be one of {', '.join(BOUND_MODES)}, not {shorten(value)}")
        else:
            given[key] = value
    for side in BOUNDS:
        if given.get(f"{side}_mode") == "ignore":
            given = {key: value for key, value in given.items() if not key.startswith(side)}
    if {"lower", "upper"} <= given.keys() and given["lower"] >= given["upper"]:
        raise InvalidInputError(f"`lower` of min_max must be below `upper`, not {shorten(text)}. Correct the bounds")
    return norm._replace(**given)


def find_normalization(name: str) -> str:
    """
    Return the canonical name of a normalisation.

    >>> find_normalization("zmuv")
    'z_score'
    """
    if not isinstance(name, str) or name.lower() not in NAMES:
        hint = suggest_name(name, NAMES) or f" There are {', '.join(NORMALIZATIONS)}."
        raise UnknownFusionError(f"no normalisation is called {shorten(name)}.{hint}")
    return NAMES[name.lower()]


def as_norm(value: Any) -> Norm:
    """Return a normalisation for its text."""
    return parse_norm(value) if isinstance(value, str) else parse_norm(find_normalization(value))


class Norms(NamedTuple):
    """
    The normalisation of each run, by the runs' names, or in their order without names.

    Each run has one, and in a grid of `tune_fusion` several.
    """

    names: tuple[str, ...]
    choices: tuple[tuple[Norm, ...], ...]

    def __str__(self) -> str:
        texts = [str(own[0]) if len(own) == 1 else f"[{','.join(map(str, own))}]" for own in self.choices]
        if self.names:
            texts = [f"{_quote(name)}:{text}" for name, text in zip(self.names, texts, strict=True)]
        return "{" + ",".join(texts) + "}"


@functools.lru_cache(maxsize=256)
def parse_norms(text: str) -> Norms:
    """
    Read the normalisation of each run.

    >>> str(parse_norms("{bm25: minmax, 'my dense': none}")), str(parse_norms("{min_max,[none,z_score]}"))
    ('{bm25:min_max,my dense:none}', '{min_max,[none,z_score]}')
    """
    if not (text.startswith("{") and text.endswith("}")):
        raise InvalidInputError(
            f"`norms` must be {{name:norm,…}} or {{norm,…}} in the order of the runs, not {shorten(text)}"
        )
    pairs = [part.rpartition(":") for part in split_list(text[1:-1])]
    values = [_unquote(norm.strip()) for _, _, norm in pairs]
    if not any(colon for _, colon, _ in pairs):
        return as_norms(values)
    names = [_unquote(name.strip()) for name, _, _ in pairs]
    if not all(names) or len(set(names)) < len(names):
        raise InvalidInputError(f"`norms` must name each run once, or no run, not {shorten(text)}. Correct it")
    return as_norms(dict(zip(names, values, strict=True)))


def as_norms(value: Any) -> Norms:
    """Return the normalisation of each run for a dict, a sequence or a text."""
    if isinstance(value, str):
        return parse_norms(value)
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise InvalidInputError(f"`norms` must be {{name: norm}} or a list of norms, not {shorten(value)}")
    names: list[str] = []
    norms = list(value.values()) if isinstance(value, Mapping) else list(value)
    if isinstance(value, Mapping):
        if not all(isinstance(name, str) for name in value):
            raise InvalidInputError(f"`norms` must map names of runs to norms, not {shorten(value)}")
        names = sorted(value)
        norms = [value[name] for name in names]
    choices = []
    for own in norms:
        parts: Any = own
        if isinstance(own, str):
            parts = split_list(own[1:-1]) if own.startswith("[") and own.endswith("]") else [own]
        choices.append(tuple(as_norm(part) for part in parts))
    if not choices or not all(choices):
        raise InvalidInputError(f"`norms` must have a norm for each run, but is {shorten(value)}. Name one")
    return Norms(tuple(names), tuple(choices))


def _quote(name: str) -> str:
    """Return the name of a run as it stands in a text, in JSON's quotes if it has other characters."""
    return name if PLAIN_NAME.fullmatch(name) else json.dumps(name, ensure_ascii=False).translate(BRACKETS)


def _unquote(text: str) -> str:
    """Return a text without the quotes of JSON or Python."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        try:
            return str(json.loads(text)) if text[0] == '"' else text[1:-1]
        except ValueError:
            raise InvalidInputError(f"`norms` has a name that is no text of JSON: {shorten(text)}") from None
    return text


def find_norms(norms: Norms | None, usual: Norm, names: Sequence[str]) -> tuple[Norm, ...]:
    """Return the normalisation of each run: the one of `norms`, and else the usual one."""
    if norms is None:
        return (usual,) * len(names)
    if any(len(own) > 1 for own in norms.choices):
        raise InvalidInputError(f"`norms` must have one norm for each run, not {norms}. A grid is for tune_fusion")
    chosen = [own[0] for own in norms.choices]
    if not norms.names:
        if len(chosen) != len(names):
            raise InvalidInputError(
                f"`norms` must have one norm for each of {len(names)} runs, but has {len(chosen)}. Give {{name: norm}}"
            )
        return tuple(chosen)
    refuse_unknown_runs(norms.names, names, "norms")
    by_name = dict(zip(norms.names, chosen, strict=True))
    return tuple(by_name.get(name, usual) for name in names)


def normalize(
    joined: JoinedRuns, norms: Sequence[Norm], convention: FusionConvention, treatments: Sequence[str]
) -> Array:
    """
    Normalise the scores of each run in each query: (n_runs, n_documents) float64.

    Each run has a norm and a treatment, which says what it gives to documents that it lacks: 0 ('zero'), its lowest or
    its mean normalised score in the query, or NaN ('skip'). 'own' is what the normalisation says, for 'borda', and NaN
    for others. NaN is left also where a run lacks a query. A score that overflows, divided by the run's highest score,
    is an error.
    """
    out = np.empty(joined.scores.shape)
    for (norm, treatment), group in groupby(range(len(norms)), lambda r: (norms[r], treatments[r])):
        runs = list(group)
        _normalize_runs(joined, slice(runs[0], runs[-1] + 1), norm, convention, treatment, out)
    return out


def _normalize_runs(
    joined: JoinedRuns, runs: slice, norm: Norm, convention: FusionConvention, treatment: str, out: Array
) -> None:
    """Write the normalised scores of some runs."""
    record = NORMALIZATIONS[norm.name]
    if record.reads_ranks:
        score_ranks(joined, record.kernel, convention, NO_TABLES, absent=treatment, runs=runs, out=out)
        return
    kernels = load_kernels("fusion.points")
    rules = make_rules(convention, norm)
    kind = getattr(kernels, record.kernel)
    scores = joined.scores[runs]
    own = out[runs]
    joined.run_on_queries(lambda first, stop: kernels.normalize(scores, joined.offsets, kind, rules, first, stop, own))
    if norm.name == "max":
        _refuse_infinite(joined, runs, own)
    if treatment == "mean" and norm.name == "z_score" and not convention.lowest_score:
        treatment = "zero"  # the mean of z-scores: a computed one may be 1e-17
    fill_absent(joined, own, treatment, runs)


def score_ranks(
    joined: JoinedRuns,
    rule: str,
    convention: FusionConvention,
    tables: Array,
    *,
    number: float = 0.0,
    absent: str = "zero",
    absent_points: float = 0.0,
    runs: slice = slice(None),
    out: Array | None = None,
) -> Array:
    """
    Give the documents of each run, or of the runs of a slice, points by their ranks: (n_runs, n_documents) float64.

    `rule` is the name of a constant of kernels/fusion/points.py. It reads `tables`, such as the points of each rank,
    and a number. `absent` is a treatment: see `normalize`. 'own' gives absent documents `absent_points`, unless the
    rule has points for them. The convention's `ties` rank equal scores.
    """
    kernels = load_kernels("fusion.points")
    ranks, ties = joined.rank(convention.ties)
    out = np.empty(joined.scores.shape) if out is None else out
    own = out[runs]
    own_ranks, own_ties, sizes = ranks[runs], ties[runs], joined.sizes[runs]
    kind = getattr(kernels, rule)
    entries = np.ascontiguousarray(np.broadcast_to(tables, (len(own), tables.shape[1])))
    share = {OWN: absent_points, "zero": 0.0}.get(absent, math.nan)
    joined.run_on_queries(
        lambda first, stop: kernels.score_ranks(
            own_ranks, own_ties, joined.offsets, sizes, entries, kind, number, share, absent == OWN, first, stop, own
        )
    )
    if absent != "zero":
        fill_absent(joined, own, absent, runs)
    return out


def fill_absent(joined: JoinedRuns, out: Array, absent: str, runs: slice = slice(None)) -> None:
    """
    Replace NaN of some runs by what `absent` says, in place.

    A run that lacks a whole query has neither a lowest nor a mean score there: NaN stays, and the run does not count.
    """
    if absent in ("skip", OWN):
        return
    kernels = load_kernels("fusion.points")
    treatment = {"zero": kernels.ZERO, "minimum": kernels.MINIMUM, "mean": kernels.MEAN}[absent]
    joined.run_on_queries(lambda first, stop: kernels.fill_absent(joined.offsets, treatment, first, stop, out))
    if absent != "zero":
        leave_out_runs(joined, out, runs)


def leave_out_runs(joined: JoinedRuns, out: Array, runs: slice = slice(None)) -> None:
    """Write NaN for each run in the queries that it lacks."""
    is_lacking = joined.lack_query()
    if is_lacking is not None:
        out[is_lacking[runs]] = np.nan


def _refuse_infinite(joined: JoinedRuns, runs: slice, out: Array) -> None:
    """Raise for a score that is too large to be divided by the run's highest score."""
    is_infinite = np.isinf(out)
    if not is_infinite.any():
        return
    run, document = np.argwhere(is_infinite)[0].tolist()
    raise InvalidInputError(
        f"the normalisation max must give finite scores, but that of {joined.describe(document)} in run "
        f"{shorten(joined.names[runs][run])} is {out[run, document]}, because the highest score is so small. Take "
        "norm=min_max"
    )


def make_rules(convention: FusionConvention, norm: Norm) -> Any:
    """Return the numbers of a convention and of a normalisation's bounds, as the kernel takes them."""
    kernels = load_kernels("fusion.points")
    single = convention.single_document
    modes = {"apply": kernels.APPLY, "clip": kernels.CLIP}
    return kernels.Rules(
        float(convention.smallest_divisor),
        float(convention.equal_within),
        float(convention.equal_scores),
        float(convention.equal_scores if isinstance(single, str) else single),
        float(convention.lowest_score),
        int(convention.deviation == "sample"),
        ("float64", "float32", "float32_sums").index(convention.precision),
        kernels.NO_BOUND if norm.lower is None else modes[norm.lower_mode],
        norm.lower or 0.0,
        kernels.NO_BOUND if norm.upper is None else modes[norm.upper_mode],
        norm.upper or 0.0,
    )
