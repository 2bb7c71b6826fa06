"""Metrics as values: ``nDCG @ 10`` and its text, each from the other."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from fastndcg.catalog import AGGREGATES, EVERY, OTHER_RECORDS, RECORDS, Parameter, Record
from fastndcg.catalog.aggregates import AggregateRecord
from fastndcg.conventions.fields import CHOICES
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, nearest
from fastndcg.texts import (
    Value,
    as_discounts,
    as_float,
    as_gains,
    as_table,
    format_call,
    format_value,
    parse_arguments,
    parse_call,
    parse_value,
    split_list,
)

UNLIMITED = 2**31 - 1  # stands for "no cutoff" in kernels: no query has more documents
NAMES = {text.lower(): r.name for r in (*RECORDS, *OTHER_RECORDS) for text in (r.name, *r.aliases, r.trec_name) if text}
_AGGREGATED = re.compile(r"\s*+(\w++)\s*+\((.*)\)\s*+")
_TREC_GEOMETRIC = "gm_"
TREC_CUTS = {record.trec_cut.lower(): record.name for record in RECORDS if record.trec_cut}
TREC_AT = {record.trec_at[0].lower(): (record.name, record.trec_at[1]) for record in RECORDS if record.trec_at}
EXAMPLES = {"evaluate": "ndcg@10", "agreement": "tau_b", "beyond_accuracy": "coverage@10"}

# kinds of parameters that are numbers: the rule, and whether a number keeps to it
NUMBERS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "threshold": ("above 0 and finite", lambda number: 0 < number < math.inf),
    "positive": ("above 0 and finite", lambda number: 0 < number < math.inf),
    "number": ("finite", math.isfinite),
    "probability": ("between 0 and 1", lambda number: 0 < number < 1),
    "share": ("from 0 to 1", lambda number: 0 <= number <= 1),
    "fraction": ("above 0 and at most 1", lambda number: 0 < number <= 1),
    "grade": ("a whole number from 1 to 1023", lambda number: 1 <= number <= 1023 and number.is_integer()),
    "count": ("a whole number of 1 or more", lambda number: 1 <= number < 2**53 and number.is_integer()),
}


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
        given = {key: _checked(record, key, value) for key, value in parameters.items() if value is not None}
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
        given = {key: _checked(record, key, value) for key, value in parameters.items()}
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
        parts = split_list(metrics) if isinstance(metrics, str) else list[Any](metrics)
    except TypeError:
        raise InvalidTypeError(f"`metrics` must be texts or Metric values, not {type(metrics).__name__}") from None
    found: dict[Metric, None] = {}
    for part in parts:
        if isinstance(part, Metric):
            found[part] = None
        elif isinstance(part, str):
            found.update(dict.fromkeys(Metric.parse(text) for text in split_list(part)))
        else:
            raise InvalidTypeError(f"`metrics` must be texts or Metric values, not {type(part).__name__}: {part!r}")
    if not found:
        raise InvalidInputError(f"`metrics` is empty: name at least one, such as {EXAMPLES[function]!r}")
    return _taken_by(function, tuple(found))


def checked_cutoff(k: Any, owner: str = "a metric") -> int:
    """The cutoff `k` of `owner` as an int, or an error that says what it must be."""
    try:
        cutoff = operator.index(k)
    except TypeError:
        raise InvalidTypeError(f"`k` of {owner} must be a whole number, not {k!r}; leave it out to count all") from None
    if isinstance(k, bool) or cutoff < 1:
        raise InvalidInputError(f"`k` of {owner} must be 1 or more, not {k!r}; leave it out to count all ranks")
    return cutoff


def checked_gain(gain: Any, owner: str) -> Value:
    """A gain as 'linear', 'exp2', 'binary' or a tuple of the gains of labels 0, 1, …, or an error."""
    if isinstance(gain, str) and gain in ("linear", "exp2", "binary"):
        return gain
    table = as_gains(gain)
    if table is None:
        raise InvalidInputError(
            f"`gain` of {owner} must be 'linear', 'exp2', 'binary' or a table of the finite gains of labels 0, 1, 2, "
            f"…, the first of them 0 (what is not relevant gains nothing) and none below the one before, not {gain!r}"
        )
    return table


def _taken_by(function: str, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """The metrics, or an error that says which function takes the first one that this one does not."""
    for metric in metrics:
        if metric.record.taken_by != function:
            raise InvalidInputError(
                f"`metrics` must be such as fastndcg.{function} takes, but {metric} ({metric.record.title}) is not: "
                f"call fastndcg.{metric.record.taken_by}"
            )
    return metrics


def checked_discount(discount: Any, owner: str) -> Value:
    """A discount as one of the convention's words or a tuple of the discounts of ranks 1, 2, …, or an error."""
    words = {str(word).replace(" ", ""): word for word in CHOICES["discount"]}
    if isinstance(discount, str) and discount.replace(" ", "") in words:
        return words[discount.replace(" ", "")]
    table = as_discounts(discount)
    if table is None:
        raise InvalidInputError(
            f"`discount` of {owner} must be {', '.join(map(repr, words.values()))} or a table of the finite discounts "
            f"of ranks 1, 2, …, none of them below 0 or above the one before, not {discount!r}"
        )
    return table


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


def _checked(record: Record | AggregateRecord, key: str, value: Any) -> Value:
    known: dict[str, Parameter] = {parameter.name: parameter for parameter in record.parameters}
    if key not in known:
        hint = nearest(key, known) or (f" It has {', '.join(known)}." if known else " It has none.")
        raise UnknownMetricError(f"{record.name} has no parameter {key!r}.{hint}")
    kind = known[key].kind
    if kind == "gain":
        return checked_gain(value, record.name)
    if kind == "discount":
        return checked_discount(value, record.name)
    if kind == "shares":
        return _checked_shares(record, key, value)
    if "|" in kind:
        return _checked_word(record, key, kind.split("|"), value)
    number = as_float(value)
    if number is None:
        raise InvalidTypeError(f"`{key}` of {record.name} must be a number, not {value!r}")
    rule, holds = NUMBERS[kind]
    if not holds(number):
        raise InvalidInputError(f"`{key}` of {record.name} must be {rule}, not {value!r}")
    return int(number) if number.is_integer() else number


def _checked_shares(record: Record | AggregateRecord, key: str, value: Any) -> tuple[float, ...]:
    table = as_table(value)
    if table is None or not all(0 <= share <= 1 for share in table):
        raise InvalidInputError(f"`{key}` of {record.name} must be a table of numbers from 0 to 1, not {value!r}")
    return table


def _checked_word(record: Record | AggregateRecord, key: str, words: list[str], value: Any) -> str:
    if value not in words:
        raise InvalidInputError(f"`{key}` of {record.name} must be one of {', '.join(words)}, not {value!r}")
    return str(value)


def __getattr__(name: str) -> Metric:
    """Each metric of the catalogue as a value without parameters: nDCG, AP, …."""
    if name not in EVERY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Metric(name)
