"""Metrics as values: ``nDCG @ 10`` and its text, each from the other."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from fastndcg.catalog import AGGREGATES, EVERY, OTHER_RECORDS, RECORDS, REGISTERED, Record
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, nearest
from fastndcg.parameters import checked, checked_cutoff
from fastndcg.texts import Value, format_call, format_value, parse_arguments, parse_call, parse_value, split_list

UNLIMITED = 2**31 - 1  # stands for "no cutoff" in kernels: no query has more documents
NAMES = {text.lower(): r.name for r in (*RECORDS, *OTHER_RECORDS) for text in (r.name, *r.aliases, r.trec_name) if text}
_AGGREGATED = re.compile(r"\s*+(\w++)\s*+\((.*)\)\s*+")
_TREC_GEOMETRIC = "gm_"
TREC_CUTS = {record.trec_cut.lower(): record.name for record in RECORDS if record.trec_cut}
TREC_AT = {record.trec_at[0].lower(): (record.name, record.trec_at[1]) for record in RECORDS if record.trec_at}
EXAMPLES = {"evaluate": "ndcg@10", "agreement": "tau_b", "beyond_accuracy": "coverage@10"}


class Aggregate(NamedTuple):
    """What becomes of a metric's values of all queries, in place of their mean: its name and all its parameters."""

    name: str
    parameters: tuple[tuple[str, Value], ...]

    def text(self, metric: str) -> str:
        """How it is written around the text of a metric."""
        usual = {p.name: p.default for p in AGGREGATES[self.name].parameters}
        inside = [f"{key}={format_value(value)}" for key, value in self.parameters if value != usual[key]]
        return f"{self.name}({', '.join([metric, *inside])})"


@dataclass(frozen=True, slots=True, init=False)
class Metric:
    """
    A metric with its parameters and cutoff: hashable, equal by value, and its text reads back as itself.

    Parameters
    ----------
    name : str
        A canonical name of the catalogue or an alias; `fastndcg metrics` lists them.
    k : int, optional
        How many ranks count, 1 or more. By default all.
    **parameters
        Those of the metric's record, such as ``rel`` (threshold), ``gain``, ``beta``.

    Raises
    ------
    UnknownMetricError
        If there is no such metric, or it has no such parameter.
    InvalidInputError
        If `k` or a parameter is out of its range.

    Examples
    --------
    >>> Metric("ndcg", gain="exp2") @ 10
    nDCG(gain=exp2)@10
    >>> Metric.parse("P_5") == Metric("P", 5)
    True
    """

    name: str
    parameters: tuple[tuple[str, Value], ...]
    k: int | None
    aggregate: Aggregate | None
    _values: dict[str, Any] = field(compare=False)  # every parameter's, the defaults among them

    def __init__(self, name: str, k: int | None = None, **parameters: Any) -> None:
        record = _record_of(name)
        given = {key: checked(record, key, value) for key, value in parameters.items() if value is not None}
        kept = tuple((p.name, given[p.name]) for p in record.parameters if given.get(p.name, p.default) != p.default)
        object.__setattr__(self, "name", record.name)
        object.__setattr__(self, "parameters", kept)
        object.__setattr__(self, "k", None if k is None else _cutoff_of(record, k))
        object.__setattr__(self, "aggregate", None)
        object.__setattr__(self, "_values", {p.name: p.default for p in record.parameters} | given)

    @classmethod
    def parse(cls, text: str) -> Metric:
        """Read a metric's text: ``nDCG@10``, ``P(rel=2)@5``, ``gm(AP)``, an alias, or a name of trec_eval's."""
        if not isinstance(text, str):
            raise InvalidTypeError(f"a metric's text must be a text, not {type(text).__name__}: {text!r}")
        aggregated = _AGGREGATED.fullmatch(text)
        if aggregated and aggregated[1].lower() in AGGREGATES:
            inner, *choices = split_list(aggregated[2]) or [""]
            return cls.parse(inner).aggregated(aggregated[1].lower(), **parse_arguments(choices, text))
        if text.lower().startswith(_TREC_GEOMETRIC) and text[len(_TREC_GEOMETRIC) :].lower() in NAMES:
            return cls.parse(text[len(_TREC_GEOMETRIC) :]).aggregated("gm")
        name, parameters, cutoff = parse_call(text)
        trec = re.fullmatch(r"(.+)_(\d+)", name)
        if cutoff is None and trec and trec[1].lower() in TREC_CUTS:
            name, cutoff = TREC_CUTS[trec[1].lower()], trec[2]
        at = re.fullmatch(r"(.+)_(\d+\.\d+|\d+)", name)
        if at and at[1].lower() in TREC_AT:
            name, parameter = TREC_AT[at[1].lower()]
            parameters = {parameter: parse_value(at[2])} | parameters
        k = None if cutoff is None else parse_value(cutoff)
        return cls(name, k, **parameters)  # type: ignore[arg-type]

    @property
    def record(self) -> Record:
        """The catalogue's record of this metric."""
        return EVERY[self.name]

    def get(self, parameter: str) -> Any:
        """The value of a parameter, its default where none was given, None where the metric has no such one."""
        return self._values.get(parameter)

    @property
    def trec_name(self) -> str:
        """What trec_eval prints for this metric, or our text where it has no name for it."""
        if self.aggregate is not None:
            is_usual = self == self.bare.aggregated("gm") and self.k is None and self.record.trec_name
            return _TREC_GEOMETRIC + self.record.trec_name if is_usual else str(self)
        at = self.record.trec_at
        if at is not None and (at[1] in dict(self.parameters) or not self.record.trec_name):
            return f"{at[0]}_{self.get(at[1]):.2f}"
        if self.k is None and self.record.trec_name:
            return self.record.trec_name
        if self.k is not None and self.record.trec_cut:
            return f"{self.record.trec_cut}_{self.k}"
        return str(self)

    def aggregated(self, name: str, **parameters: Any) -> Metric:
        """
        Make the same metric with another aggregate than the mean over queries.

        Parameters
        ----------
        name : {'gm', 'median', 'quantile', 'worst', 'micro'}
            Geometric mean, median, quantile, mean of the worst, micro mean.
        **parameters
            ``floor`` of gm, ``q`` of quantile, ``share`` of worst.

        Examples
        --------
        >>> (fn.nDCG @ 10).aggregated("worst", share=0.2), fn.Metric.parse("gm_map")
        (worst(nDCG@10, share=0.2), gm(AP))
        """
        if name not in AGGREGATES:
            raise UnknownMetricError(f"no aggregate is called {name!r}; there are {', '.join(AGGREGATES)}")
        if self.aggregate is not None:
            raise InvalidInputError(f"{self} must be aggregated once: take {name}({self.bare})")
        record = AGGREGATES[name]
        given = {key: checked(record, key, value) for key, value in parameters.items()}
        values = {p.name: p.default for p in record.parameters if p.default is not None} | given
        return self._with(Aggregate(name, tuple(values.items())))

    @property
    def bare(self) -> Metric:
        """The same metric, aggregated by the mean."""
        return self if self.aggregate is None else self._with(None)

    def _with(self, aggregate: Aggregate | None, **changed: Any) -> Metric:
        made = Metric(self.name, **({"k": self.k} | dict(self.parameters) | changed))
        object.__setattr__(made, "aggregate", aggregate)
        return made

    def __call__(self, **parameters: Any) -> Metric:
        """Make the same metric with other parameters: ``nDCG(gain="exp2")``."""
        return self._with(self.aggregate, **parameters)

    def __matmul__(self, k: int) -> Metric:
        """Make the same metric with a cutoff: ``nDCG @ 10``."""
        return self._with(self.aggregate, k=k)

    def __str__(self) -> str:
        text = format_call(self.name, dict(self.parameters), self.k)
        return text if self.aggregate is None else self.aggregate.text(text)

    def __repr__(self) -> str:
        return str(self)

    def __hash__(self) -> int:
        return hash((self.name, self.k))  # quick: metrics are looked up in every call

    def __reduce__(self) -> tuple[Any, ...]:
        return Metric.parse, (str(self),)


Metrics: TypeAlias = str | Metric | Iterable[str | Metric]


def parse_metrics(metrics: Metrics | None, function: str = "evaluate") -> tuple[Metric, ...]:
    """
    Every way to name metrics that a function takes, as a tuple of values without repetitions.

    >>> parse_metrics("ndcg@10, map"), parse_metrics(["P(rel=2)@5"])
    ((nDCG@10, AP), (P(rel=2)@5,))
    """
    if metrics is None:
        raise InvalidInputError(f"`metrics` is missing: name at least one, such as {EXAMPLES[function]!r}")
    if isinstance(metrics, Metric):
        return _taken_by(function, (metrics,))
    if isinstance(metrics, Mapping):
        raise InvalidTypeError(f"`metrics` must be texts or Metric values, not a {type(metrics).__name__}")
    try:
        parts = [metrics] if isinstance(metrics, str) else list[Any](metrics)
    except TypeError:
        raise InvalidTypeError(f"`metrics` must be texts or Metric values, not {type(metrics).__name__}") from None
    found: dict[Metric, None] = {}
    for part in parts:
        if isinstance(part, Metric):
            found[part] = None
        elif isinstance(part, str):
            found.update(dict.fromkeys(_parsed(part, len(REGISTERED))))
        else:
            raise InvalidTypeError(f"`metrics` must be texts or Metric values, not {type(part).__name__}: {part!r}")
    if not found:
        raise InvalidInputError(f"`metrics` is empty: name at least one, such as {EXAMPLES[function]!r}")
    return _taken_by(function, tuple(found))


@functools.lru_cache(maxsize=256)
def _parsed(texts: str, n_registered: int) -> tuple[Metric, ...]:
    """The metrics of a list of texts, read anew when one was registered: it takes as long as a short query."""
    del n_registered
    return tuple(Metric.parse(text) for text in split_list(texts))


def _taken_by(function: str, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """The metrics, or an error that says which function takes the first one that this one does not."""
    for metric in metrics:
        if metric.record.taken_by != function:
            raise InvalidInputError(
                f"`metrics` must be such as fastndcg.{function} takes, but {metric} ({metric.record.title}) is not: "
                f"call fastndcg.{metric.record.taken_by}"
            )
    return metrics


def _record_of(name: str) -> Record:
    if not isinstance(name, str):
        raise InvalidTypeError(f"a metric's name must be a text, not {type(name).__name__}: {name!r}")
    known = NAMES.get(name.lower())
    if known is None:
        hint = nearest(name, [*EVERY, *NAMES, *TREC_CUTS])
        raise UnknownMetricError(f"no metric is called {name!r}.{hint} `fastndcg metrics` lists all")
    return EVERY[known]


def _cutoff_of(record: Record, k: Any) -> int:
    if not record.takes_k:
        raise InvalidInputError(f"{record.name} must have no cutoff, it looks at all ranks: leave out @{k}")
    return checked_cutoff(k, record.name)


def __getattr__(name: str) -> Metric:
    """Each metric of the catalogue as a value without parameters: nDCG, AP, …."""
    if name not in EVERY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Metric(name)
