"""Metrics as values, and their texts: ``nDCG @ 10`` and ``"nDCG@10"``."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias, cast

from fastndcg.choices import AggregateName
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, Words, reworded, shorten
from fastndcg.metrics.families import AGGREGATES, CATALOG, REGISTERED, Record
from fastndcg.metrics.families.record import check_cutoff, check_parameter, describe_metric, list_facts, make_example
from fastndcg.metrics.names import AGGREGATED_NAMES, NAMES, find_record, refuse_divided
from fastndcg.metrics.trec_eval import MEASURES, TrecMeasureRequest, named_calls, parse_measure
from fastndcg.parsing import (
    Value,
    format_call,
    format_value,
    parse_arguments,
    parse_call,
    parse_value,
    split_list,
    split_metrics,
)
from fastndcg.runtime.escapes import show_name

_AGGREGATED = re.compile(r"\s*+(\w++)\s*+\((.*)\)\s*+")
_TREC_GEOMETRIC = "gm_"
EXAMPLES = {
    "evaluate": "ndcg@10",
    "agreement": "tau_b",
    "beyond_accuracy": "coverage@10",
    "evaluate_spans": "span_recall@5",
}


class Aggregate(NamedTuple):
    """An aggregate of a metric's values in place of their mean: its name and all its parameters."""

    name: str
    parameters: tuple[tuple[str, Value], ...]

    def text(self, metric: str) -> str:
        """Return the text of the aggregate around the text of a metric."""
        usual = {p.name: p.default for p in AGGREGATES[self.name].parameters}
        inside = [f"{key}={format_value(value)}" for key, value in self.parameters if value != usual[key]]
        return f"{self.name}({', '.join([metric, *inside])})"


@dataclass(frozen=True, slots=True, init=False)
class Metric:
    """
    A metric with its parameters and cutoff. Metrics are hashable, equal by value, and their texts parse back.

    Parameters
    ----------
    name : str
        A canonical name of the catalogue or an alias. `fastndcg metrics` lists them.
    k : int, optional
        Cutoff: the number of ranks that count, 1 or more. By default all ranks.
    **parameters : float, str or sequence of float
        Parameters of the metric, such as ``rel``, ``gain`` or ``beta``.

    Raises
    ------
    UnknownMetricError
        If no metric has this name, or the metric has no such parameter.
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
    _values: dict[str, Any] = field(compare=False)  # of all parameters, including defaults

    def __init__(self, name: str, k: int | None = None, **parameters: Any) -> None:
        record = find_record(name)
        values = {key: check_parameter(record, key, value) for key, value in parameters.items() if value is not None}
        changes = tuple(
            (p.name, values[p.name]) for p in record.parameters if values.get(p.name, p.default) != p.default
        )
        object.__setattr__(self, "name", record.name)
        object.__setattr__(self, "parameters", changes)
        object.__setattr__(self, "k", None if k is None else _check_cutoff(record, k))
        object.__setattr__(self, "aggregate", None)
        object.__setattr__(self, "_values", {p.name: p.default for p in record.parameters} | values)

    @classmethod
    def parse(cls, text: str) -> Metric:
        """
        Parse the text of one metric.

        Parameters
        ----------
        text : str
            Such as ``nDCG@10``, ``P(rel=2)@5``, ``gm(AP)``, an alias, or a name of trec_eval.

        Returns
        -------
        Metric
            The metric, whose text is canonical.

        Raises
        ------
        UnknownMetricError
            If no metric has this name, or the metric has no such parameter.
        InvalidInputError
            If the text names several metrics, or a cutoff or parameter is out of its range.
        """
        if not isinstance(text, str):
            raise InvalidTypeError(f"a metric's text must be a string, not {type(text).__name__}: {shorten(text)}")
        match = _AGGREGATED.fullmatch(text)
        if match and match[1].lower() in AGGREGATES:
            inner, *choices = split_list(match[2]) or [""]
            aggregate = cast(AggregateName, match[1].lower())
            return cls.parse(inner).aggregated(aggregate, **parse_arguments(choices, text))
        if text.lower().startswith(_TREC_GEOMETRIC) and text[len(_TREC_GEOMETRIC) :].lower() in NAMES:
            return cls.parse(text[len(_TREC_GEOMETRIC) :]).aggregated("gm")
        name, parameters, cutoff = parse_call(text)
        calls = parse_measure(name)
        if len(calls) > 1 or (cutoff is not None and "," in cutoff):
            raise InvalidInputError(f"{shorten(text)} must name one metric, but names several. Choose one of them")
        cutoffs = [] if cutoff is None else [parse_value(cutoff)]
        if "k" in parameters:  # nDCG(k=10)
            cutoffs.append(parameters.pop("k"))
        if calls:
            name, defaults, k = calls[0]
            cutoffs += [] if k is None else [k]
            parameters = defaults | parameters
        if len(cutoffs) > 1:
            raise InvalidInputError(f"{shorten(text)} must have one cutoff, such as 'nDCG@10', but has {len(cutoffs)}")
        if name.lower() in AGGREGATED_NAMES:
            aggregate, name = AGGREGATED_NAMES[name.lower()]
            return cls(name, *cutoffs, **parameters).aggregated(aggregate)  # type: ignore[arg-type]
        return cls(name, *cutoffs, **parameters)  # type: ignore[arg-type]

    @property
    def record(self) -> Record:
        """The record of the metric in the catalogue."""
        return CATALOG[self.name]

    @property
    def sign(self) -> int:
        """1 if higher values are better, -1 if lower ones are, 0 if neither are."""
        if self.aggregate is not None and self.aggregate.name == "adjusted":
            return 1  # the best mean is 1, also of ranks
        return {True: 1, False: -1, None: 0}[self.record.higher_is_better]

    def get(self, parameter: str) -> Any:
        """
        Return the value of a parameter.

        Parameters
        ----------
        parameter : str
            The parameter's name.

        Returns
        -------
        float, str, tuple or None
            The value, or the default if it was left out. None if the metric has no such parameter.
        """
        return self._values.get(parameter)

    @property
    def trec_name(self) -> str:
        """The name of the metric in trec_eval's output, or the metric's text if trec_eval has no name for it."""
        if self.aggregate is not None:
            has_name = self == self.bare.aggregated("gm") and self.k is None and self.record.trec_name
            return _TREC_GEOMETRIC + self.record.trec_name if has_name else str(self)
        at = self.record.trec_at
        if at is not None and (at[1] in dict(self.parameters) or not self.record.trec_name):
            return f"{at[0]}_{self.get(at[1]):.2f}"
        if self.k is None and self.record.trec_name:
            return self.record.trec_name
        if self.k is not None and self.record.trec_cut:
            return f"{self.record.trec_cut}_{self.k}"
        return str(self)

    def aggregated(self, name: AggregateName, **parameters: Any) -> Metric:
        """
        Return the metric with another aggregate than the mean over queries.

        Parameters
        ----------
        name : {'gm', 'hm', 'median', 'quantile', 'worst', 'micro', 'adjusted', 'over_chance'}
            Geometric mean, harmonic mean, median, quantile, mean of the worst queries, micro mean. The last two adjust
            the mean for chance: the share of the way from chance to the best value, and the ratio to chance.
        **parameters : float
            ``floor`` of gm, ``q`` of quantile, ``share`` of worst.

        Returns
        -------
        Metric
            The metric with the aggregate.

        Raises
        ------
        UnknownMetricError
            If no aggregate has this name.
        InvalidInputError
            If the metric has an aggregate, or no direction for 'worst', or a parameter is out of its range.

        Examples
        --------
        >>> (fn.nDCG @ 10).aggregated("worst", share=0.2), fn.Metric.parse("gm_map")
        (worst(nDCG@10, share=0.2), gm(AP))
        """
        if name not in AGGREGATES:
            raise UnknownMetricError(f"no aggregate is called {shorten(name)}. There are {', '.join(AGGREGATES)}")
        if self.aggregate is not None:
            raise InvalidInputError(f"{self} must have one aggregate. Take {name}({self.bare})")
        if name == "worst":
            check_direction([self], name)
        record = AGGREGATES[name]
        values = {p.name: p.default for p in record.parameters if p.default is not None}
        values |= {key: check_parameter(record, key, value) for key, value in parameters.items()}
        return self._with(Aggregate(name, tuple(values.items())))

    @property
    def bare(self) -> Metric:
        """The metric with the mean as its aggregate."""
        return self if self.aggregate is None else self._with(None)

    def _with(self, aggregate: Aggregate | None, **changes: Any) -> Metric:
        metric = Metric(self.name, **({"k": self.k} | dict(self.parameters) | changes))
        object.__setattr__(metric, "aggregate", aggregate)
        return metric

    def __call__(self, **parameters: Any) -> Metric:
        """Return the metric with other parameters: ``nDCG(gain="exp2")``."""
        return self._with(self.aggregate, **parameters)

    def __matmul__(self, k: int) -> Metric:
        """Return the metric with a cutoff: ``nDCG @ 10``."""
        return self._with(self.aggregate, k=k)

    def __str__(self) -> str:
        text = format_call(self.name, dict(self.parameters), self.k)
        return text if self.aggregate is None else self.aggregate.text(text)

    def __format__(self, specification: str) -> str:
        return format(show_name(str(self)), specification)  # in messages: short and printable

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from fastndcg.exports import html_facts

        facts = [*list_facts(self.record), ("example", make_example(str(self), self.record))]
        return html_facts(f"{self}: {self.record.title}", facts)

    def __hash__(self) -> int:
        return hash((self.name, self.k))  # parameters are left out: one query looks metrics up several times

    def __reduce__(self) -> tuple[Any, ...]:
        return Metric.parse, (str(self),)


class _Docstring:
    """The docstring of the class, and of a metric its description: `help(fn.nDCG)` explains nDCG."""

    def __init__(self, text: str | None) -> None:
        self._text = text

    def __get__(self, metric: Metric | None, owner: type | None = None) -> str | None:
        return self._text if metric is None else describe_metric(str(metric), metric.record)


Metric.__doc__ = _Docstring(Metric.__doc__)  # type: ignore[assignment]

Metrics: TypeAlias = str | Metric | Iterable[str | Metric]


DEFAULT_METRICS = "ndcg@10,map,mrr,p@5,recall@10"


def parse_metrics(metrics: Metrics | None, function: str | None = "evaluate") -> tuple[Metric, ...]:
    """
    Return metrics as a tuple without repetitions, from texts, lists of texts or values.

    They must be metrics of `function`. None allows those of all functions, which results can have.

    >>> parse_metrics("ndcg@10, map"), parse_metrics(["P(rel=2)@5"])
    ((nDCG@10, AP), (P(rel=2)@5,))
    """
    example = EXAMPLES[function or "evaluate"]
    if metrics is None:
        raise InvalidInputError(f"`metrics` is missing. Name at least one, such as '{example}'")
    if isinstance(metrics, Metric):
        return _check_function(function, (metrics,))
    if isinstance(metrics, Mapping):
        raise InvalidTypeError(f"`metrics` must be texts or Metric values, not a {type(metrics).__name__}")
    try:
        parts = [metrics] if isinstance(metrics, str) else list[Any](metrics)
    except TypeError:
        raise InvalidTypeError(f"`metrics` must be texts or Metric values, not {type(metrics).__name__}") from None
    metric_set: dict[Metric, None] = {}
    for part in parts:
        if isinstance(part, Metric):
            metric_set[part] = None
        elif isinstance(part, str):
            metric_set.update(dict.fromkeys(_parse_list(part, len(REGISTERED))))
        else:
            raise InvalidTypeError(
                f"`metrics` must be texts or Metric values, not {type(part).__name__}: {shorten(part)}"
            )
    if not metric_set:
        raise InvalidInputError(f"`metrics` is empty. Name at least one, such as '{example}'")
    return _check_function(function, tuple(metric_set))


def is_metric(text: str) -> bool:
    """Return True if a text names metrics."""
    try:
        return bool(parse_metric_list(text))
    except (InvalidInputError, UnknownMetricError):
        return False


def parse_single_metric(metric: Metrics | None, remedy: str, function: str | None = "evaluate") -> Metric:
    """Return the only metric of the argument `metric`. Raise an error with the remedy for several."""
    with reworded(lambda part: part.replace("`metrics`", "`metric`") if isinstance(part, str) else part):
        parsed = parse_metrics(metric, function)
    if len(parsed) != 1:
        names = ", ".join(map(str, parsed))
        raise InvalidInputError(f"`metric` must be one metric, got {len(parsed)}: {names}. {remedy}")
    return parsed[0]


def check_direction(metrics: Iterable[Metric], owner: str) -> None:
    """Raise an error for a metric of which neither higher nor lower values are better, which `owner` must know."""
    for metric in metrics:
        if not metric.sign:
            raise InvalidInputError(
                f"{owner} must have metrics of which higher or lower values are better, but neither are of {metric} "
                f"({metric.record.title}). Name other metrics."
            )


@functools.lru_cache(maxsize=256)
def _parse_list(texts: str, n_registered: int) -> tuple[Metric, ...]:
    """Parse a list of texts. Cached, with the number of registered metrics in the key."""
    del n_registered
    return tuple(metric for text in split_metrics(texts) for metric in parse_metric_list(text))


def parse_metric_list(text: str) -> list[Metric]:
    """
    Return the metrics of one text, which may have several cutoffs.

    >>> parse_metric_list("ndcg@1,5"), parse_metric_list("P.5,10"), parse_metric_list("gm(map)")
    ([nDCG@1, nDCG@5], [P@5, P@10], [gm(AP)])
    """
    refuse_divided(text)
    calls = parse_measure(text.strip())
    if calls:
        return [Metric(name, k, **parameters) for name, parameters, k in calls]
    head, *cutoffs = split_list(text) or [text]
    first = Metric.parse(head)
    if cutoffs and first.k is None:
        raise UnknownMetricError(
            f"no metric is called {shorten(cutoffs[0])}. Write cutoffs behind @, such as 'nDCG@5,10'"
        )
    return [first, *(first._with(first.aggregate, k=parse_value(cutoff)) for cutoff in cutoffs)]


COMMANDS = {"evaluate": "evaluate", "agreement": "agreement", "evaluate_spans": "spans"}  # of functions


def _check_function(function: str | None, metrics: tuple[Metric, ...]) -> tuple[Metric, ...]:
    """Return the metrics, or raise an error that names the function for the first metric of another function."""
    for metric in metrics:
        if function is not None and metric.record.function_name != function:
            own = metric.record.function_name
            command = COMMANDS.get(own)
            raise InvalidInputError(
                f"`metrics` must be metrics of {function}, but {metric} ({metric.record.title}) is not. ",
                Words(f"Call fastndcg.{own}", f"Use fastndcg {command}" if command else f"In Python: fastndcg.{own}"),
            )
    return metrics


def _check_cutoff(record: Record, k: Any) -> int:
    if not record.has_cutoff:
        raise InvalidInputError(f"{record.name} must have no cutoff, because it reads all ranks. Leave out @{k}")
    return check_cutoff(k, record.name)


class TrecLine(NamedTuple):
    """A line of trec_eval's output: the index of its measure, its name, and its metric if it shows one."""

    order: int
    name: str
    metric: Metric | None


def list_trec_lines(
    requests: Iterable[TrecMeasureRequest], *, level: int | None = None, documents: int = 0, highest: int = 0
) -> list[TrecLine]:
    """
    Return the lines that trec_eval prints for measures.

    `level` is the lowest relevant label. `documents` is the number of documents in the collection, for utility.
    `highest` is the highest label. Tables of gains end there.

    >>> from fastndcg.metrics.trec_eval import read
    >>> [(line.name, line.metric) for line in list_trec_lines(read("P.5,10") + read("set_F_2"))]
    [('P_5', P@5), ('P_10', P@10), ('set_F_2', F(beta=1.4142135623730951))]
    """
    lines = []
    for request in requests:
        order = MEASURES.index(request.measure)
        for name, call in named_calls(request, highest):
            metric = None
            if call is not None:
                metric = Metric(call[0], call[2], **call[1])
                if request.measure.kind == "geometric":
                    metric = metric.aggregated("gm")
                if documents and metric.get("documents") is not None:
                    metric = metric(documents=documents)
                metric = at_level(metric, level)
            lines.append(TrecLine(order, name, metric))
    return lines


def at_level(metric: Metric, level: int | None) -> Metric:
    """Return the metric with `rel` set to `level`, if it has this parameter and it was left out."""
    if level is None or "rel" in dict(metric.parameters) or metric.get("rel") is None:
        return metric
    return metric(rel=level)


def __getattr__(name: str) -> Metric:
    """Return a metric of the catalogue without parameters: nDCG, AP, …."""
    if name not in CATALOG:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return Metric(name)
