"""
The types of the catalogue's records, and what all families share.

These are parameters with their checks, aggregates, descriptions in words, and what reference twins take besides labels:
the definition of a metric, and marks in place of some labels.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownMetricError, shorten, suggest_name
from fastndcg.named_conventions.convention import CHOICES
from fastndcg.named_conventions.named_choices import TIES
from fastndcg.parsing import Value, as_discounts, as_float, as_gains, as_table, format_value

JARVELIN_2002 = "K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002"
VAN_RIJSBERGEN_1979 = "C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7, ISBN 0-408-70929-4"
TREC_EVAL = "trec_eval, the evaluation program of the Text REtrieval Conference, https://github.com/usnistgov/trec_eval"


EXACT_INTEGERS = 2**53  # float64 holds all smaller whole numbers
TIE_POLICIES = tuple(policy for policy in TIES if policy != "mean_rank")  # for metrics of whole ranks


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    A parameter of a metric.

    Parameters
    ----------
    name : str
        Name in texts and calls, such as ``rel`` in ``P(rel=2)``.
    type : {'float', 'int', 'choice', 'gain', 'discount', 'table'}
        Type of the values: a finite number, a whole number, one of `choices`, a gain or discount of a convention, or a
        sequence of numbers. Custom metrics have parameters of type 'float' and 'int' only.
    default : float, str, tuple of float or None
        Value if the parameter is left out. None: the convention's choice, or not used.
    text : str
        Description for `fastndcg metrics`.
    min, max : float, optional
        Lowest and highest value.
    above, below : float, optional
        Bounds that are not values themselves.
    choices : tuple of str
        The values of the type 'choice'.

    Examples
    --------
    >>> rel = fn.Parameter("rel", "float", 1, "lowest label of a relevant document", above=0)
    >>> rel.allows(0.5), rel.allows(0), rel.rule
    (True, False, 'above 0 and finite')
    """

    name: str
    type: str
    default: float | str | tuple[float, ...] | None
    text: str
    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()

    def allows(self, number: float) -> bool:
        """
        Return True if a number is finite and within the bounds, and whole for the type 'int'.

        Parameters
        ----------
        number : float
            A value of the parameter, or an element of a table.

        Returns
        -------
        bool
            Whether the number is allowed.
        """
        if self.type == "int" and not (number.is_integer() and abs(number) < EXACT_INTEGERS):
            return False
        is_high_enough = (self.min is None or number >= self.min) and (self.above is None or number > self.above)
        is_low_enough = (self.max is None or number <= self.max) and (self.below is None or number < self.below)
        return math.isfinite(number) and is_high_enough and is_low_enough

    @property
    def rule(self) -> str:
        """The rule for numbers in words, for messages."""
        if self.above is not None and self.below is not None:
            bounds = f"between {self.above:g} and {self.below:g}"
        elif self.above is not None:
            bounds = f"above {self.above:g} and " + ("finite" if self.max is None else f"at most {self.max:g}")
        elif self.min is not None:
            bounds = f"of {self.min:g} or more" if self.max is None else f"from {self.min:g} to {self.max:g}"
        else:
            bounds = "finite"
        if self.type == "int":
            return f"a whole number {bounds}"
        return bounds if self.type == "table" else bounds.removeprefix("of ")


@dataclass(frozen=True, slots=True)
class Record:
    """
    The description of one metric.

    Attributes
    ----------
    name, title : str
        Canonical name, and its meaning in words.
    use : str
        What the metric tells its reader, and when to take it, in one sentence. Empty for custom metrics.
    place : str
        File and function, such as "gains.ndcg". The function of this place in engine/compute computes the metric, and
        the one in this package is its twin.
    formula, range, undefined, source, doi : str
        How the metric is computed, its lowest and highest value, for which queries it is NaN, and its publication.
    parameters : tuple of Parameter
        What users may set.
    aliases : tuple of str
        Other names that parse as this metric.
    trec_name, trec_cut : str
        Name in trec_eval without a cutoff, and with one. They come from the table of trec_eval.py, as do the next two.
    trec_at : (str, str), optional
        Name in trec_eval with a value of a parameter, and the parameter.
    sums_in_trec_eval : bool
        Whether trec_eval sums the metric over queries in place of averaging it.
    peers : tuple of (str, str)
        Other libraries with their name of the metric. Those of `PROGRAMS` come from conventions.
    variants : tuple of (str, str or int, str)
        A convention field or parameter, a choice of it, and the place for this choice.
    ties : tuple of str
        Tie policies under which the metric has an exact value.
    has_cutoff : bool
        Whether the metric may have a cutoff.
    higher_is_better : bool or None
        Whether larger values are better. None: neither larger nor smaller ones are, as those of the truth alone.
    is_zero_without_relevant : bool
        Whether the metric is 0 for a query without relevant documents unless the convention makes it undefined.
    reads_first_only : bool
        Whether only the rank of the first relevant document counts, and what ties with it.
    chance : str
        The metric of its values in random order.
    denominator : str
        What the convention says about what it divides by: a field, or a choice of one.
    has_micro_mean : bool
        Whether the mean may be the quotient of two sums, of numerators and of denominators.
    ideal : str
        Whether the ideal ranking is "k documents" that the data need not have, or "by convention". Empty: neither.
    undefined_choice, gain_choice : str
        The convention's fields for queries in which the metric is undefined, and for its gain.
    counts_empty_ranks : bool
        Whether the value depends on k below the last document, too.
    takes_repeats : bool
        Whether the formula has a meaning where a document counts several times.
    discount : str, optional
        The metric's own discount. None: that of its parameter, or the convention's.
    is_additive : bool
        Whether the value is a sum over documents, to which each adds by its own label and rank.
    gain_sums : tuple of str
        Metrics that are sums of gain · discount: the metric itself, or the two that it divides.
    sum : str
        What the metric shares with others of the same gain and threshold, such as "DCG". It is computed at once for the
        cutoffs of all of them.
    selections : tuple of str
        The selections of documents that the metric reads: see rankings/rankings.py.
    counts_judged : bool
        Whether the metric reads how many documents were judged, relevant or not.
    function : callable, optional
        Function of a custom metric.
    view : {'labels', 'judgments', 'subtopics'}
        What the metric reads: labels, labels and which documents are judged, or a label for each subtopic.
    function_name : {'evaluate', 'agreement', 'beyond_accuracy', 'evaluate_spans'}
        The public function that takes the metric.
    needs : tuple of str
        Arguments of that function that the metric needs.
    needs_by_choice : tuple of (str, str, str)
        A parameter, a choice of it, and what this choice needs: a field of the item data.
    needs_all_relevant : bool
        Whether a ranking without one of the relevant documents has a lower value.
    has_one_value : bool
        Whether the metric has one value for all users together.
    family : str
        The module of the record, "custom" for registered metrics.
    """

    name: str
    title: str
    place: str
    formula: str
    source: str
    use: str = ""
    doi: str = ""
    range: str = "0 to 1"
    undefined: str = "never"
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    trec_name: str = ""
    trec_cut: str = ""
    trec_at: tuple[str, str] | None = None
    sums_in_trec_eval: bool = False
    peers: tuple[tuple[str, str], ...] = ()
    variants: tuple[tuple[str, str | int, str], ...] = ()
    ties: tuple[str, ...] = TIE_POLICIES
    has_cutoff: bool = True
    higher_is_better: bool | None = True
    is_zero_without_relevant: bool = False
    reads_first_only: bool = False
    chance: str = ""
    denominator: str = ""
    has_micro_mean: bool = False
    ideal: str = ""
    undefined_choice: str = "undefined"
    gain_choice: str = "gain"
    counts_empty_ranks: bool = False
    takes_repeats: bool = True
    discount: str | None = None
    is_additive: bool = False
    gain_sums: tuple[str, ...] = ()
    sum: str = ""
    selections: tuple[str, ...] = ()
    counts_judged: bool = False
    function: Callable[..., float] | None = None
    view: str = "labels"
    function_name: str = "evaluate"
    needs: tuple[str, ...] = ()
    needs_by_choice: tuple[tuple[str, str, str], ...] = ()
    needs_all_relevant: bool = False
    has_one_value: bool = False
    family: str = "custom"

    @property
    def names_elsewhere(self) -> tuple[str, ...]:
        """The names in `peers` that users may write for this metric, without remarks behind a comma or colon."""
        first = (name.partition(",")[0] for _, name in self.peers)
        return tuple(name for name in first if re.fullmatch(r"[\w-]+", name))

    @property
    def by_subtopic(self) -> bool:
        """True if the metric needs judgments by subtopic."""
        return self.view == "subtopics"


WITHOUT_AVERAGE = TIE_POLICIES[1:]
WHATEVER_THE_LABELS = tuple(policy for policy in TIE_POLICIES if TIES[policy].orders != "label")
TIES_AND_MEAN_RANK = tuple(TIES)  # for metrics with a value at a rank between two whole numbers
REL = Parameter("rel", "float", 1, "a document is relevant if its label is at least this; above 0", above=0)
GAIN_REL = Parameter("rel", "float", None, "labels below this gain nothing; by default every label counts", above=0)
DISCOUNT = Parameter(
    "discount",
    "discount",
    None,
    "log2, log2(max(r, 2)), 1/r, none or a table of discounts; the convention's if left out",
)
GAIN = Parameter(
    "gain", "gain", None, "linear, exp2 (2^label − 1), binary or a table of gains; the convention's if left out"
)
PERSISTENCE = Parameter(
    "p", "float", 0.9, "the chance that the user goes on from one rank to the next", above=0, below=1
)
BETA = Parameter("beta", "float", 1, "how many times as much recall matters as precision", above=0)


@dataclass(frozen=True, slots=True)
class AggregateRecord:
    """An aggregate. Its name appears in texts such as ``gm(AP)``."""

    name: str
    title: str
    formula: str
    source: str
    parameters: tuple[Parameter, ...] = ()


FLOOR = Parameter(
    "floor", "float", 1e-5, "values below it count as this, so that one 0 does not make the mean 0", above=0
)
Q = Parameter("q", "float", 0.5, "the share of the queries that lie below", min=0, max=1)
SHARE = Parameter("share", "float", 0.1, "the share of the queries that count, the worst ones", above=0, below=1)

AGGREGATES = {
    record.name: record
    for record in (
        AggregateRecord(
            name="gm",
            title="geometric mean",
            formula="exp(mean of ln(max(value, floor)))",
            source="S. Robertson, On GMAP: and other transformations, CIKM 2006, doi:10.1145/1183614.1183630",
            parameters=(FLOOR,),
        ),
        AggregateRecord(
            name="hm",
            title="harmonic mean",
            formula="1 / mean of 1/value, 0 if a value is 0",
            source="C. T. Hoyt et al., A unified framework for rank-based evaluation metrics, 2022, "
            "doi:10.48550/arXiv.2203.07544",
        ),
        AggregateRecord(
            name="median",
            title="median",
            formula="the middle value; the mean of the two middle ones of an even number",
            source="R. J. Hyndman and Y. Fan, Sample quantiles in statistical packages, The American Statistician "
            "1996, doi:10.2307/2684934",
        ),
        AggregateRecord(
            name="quantile",
            title="quantile",
            formula="the value at place 1 + q · (n − 1) of the n sorted ones, a straight line between neighbours",
            source="R. J. Hyndman and Y. Fan, 1996, definition 7, doi:10.2307/2684934",
            parameters=(Q,),
        ),
        AggregateRecord(
            name="worst",
            title="mean of the worst",
            formula="mean of the worst share · n values, the last in part where that is no whole number",
            source="C. Acerbi and D. Tasche, On the coherence of expected shortfall, 2002, "
            "doi:10.1016/S0378-4266(02)00283-2",
            parameters=(SHARE,),
        ),
        AggregateRecord(
            name="micro",
            title="micro mean",
            formula="sum of the numerators over sum of the denominators of P, R or Rprec",
            source="D. D. Lewis, Evaluating text categorization, HLT 1991, doi:10.3115/112405.112471",
        ),
        AggregateRecord(
            name="adjusted",
            title="adjusted for chance",
            formula="(mean − mean by chance) / (1 − mean by chance) of Rank, RR or Success: 0 in random order, 1 if "
            "all are best; of Rank it is AMRI",
            source="C. T. Hoyt et al., A unified framework for rank-based evaluation metrics, 2022, "
            "doi:10.48550/arXiv.2203.07544",
        ),
        AggregateRecord(
            name="over_chance",
            title="ratio to chance",
            formula="mean / mean by chance of Rank, RR or Success: 1 in random order; of Rank it is AMR",
            source="M. Berrendorf et al., On the ambiguity of rank-based evaluation, 2020, "
            "doi:10.48550/arXiv.2002.06914",
        ),
    )
}


# by type: how a table is read, and what it has
NAMED: dict[str, tuple[Callable[[Any], tuple[float, ...] | None], str]] = {
    "gain": (as_gains, "the finite gains of labels 0, 1, 2, …, the first of them 0 and none below 0"),
    "discount": (
        as_discounts, "the finite discounts of ranks 1, 2, …, none of them below 0 or above the one before"
    ),
}  # fmt: skip


def check_parameter(record: Record | AggregateRecord, key: str, value: Any) -> Value:
    """Return the value of a metric's parameter in its canonical form, or raise an error."""
    parameters: dict[str, Parameter] = {parameter.name: parameter for parameter in record.parameters}
    if key not in parameters:
        hint = suggest_name(key, parameters) or (f" It has {', '.join(parameters)}." if parameters else " It has none.")
        raise UnknownMetricError(f"{record.name} has no parameter {shorten(key)}.{hint}")
    parameter = parameters[key]
    rule = ""
    found: Value | None
    if parameter.type in NAMED:
        read, table_rule = NAMED[parameter.type]
        names = {str(name).replace(" ", ""): name for name in CHOICES[parameter.type]}
        found = names.get(value.replace(" ", "")) if isinstance(value, str) else read(value)
        rule = f"{', '.join(map(repr, names.values()))} or a table, not {shorten(value)}. A table has {table_rule}"
    elif parameter.type == "table":
        table = as_table(value)
        found = table if table is not None and all(map(parameter.allows, table)) else None
        rule = f"a table of numbers {parameter.rule}, not {shorten(value)}"
    elif parameter.type == "choice":
        found = str(value) if value in parameter.choices else None
        rule = f"one of {', '.join(parameter.choices)}, not {shorten(value)}"
    else:
        number = as_float(value)
        if number is None:
            raise InvalidTypeError(f"`{key}` of {record.name} must be a number, not {shorten(value)}")
        found = number if parameter.allows(number) else None
        rule = f"{parameter.rule}, not {shorten(value)}"
    if found is None:
        raise InvalidInputError(f"`{key}` of {record.name} must be {rule}")
    return int(found) if isinstance(found, float) and found.is_integer() else found


def check_cutoff(k: Any, owner: str = "a metric") -> int:
    """Return the cutoff `k` of `owner` as an int, or raise an error."""
    try:
        if isinstance(k, bool) or str(getattr(k, "dtype", "")) == "bool":  # Python and NumPy 1 take bools for numbers
            raise TypeError
        cutoff = operator.index(k)
    except TypeError:
        raise InvalidTypeError(
            f"`k` of {owner} must be a whole number, not {shorten(k)}. Leave it out to count all ranks"
        ) from None
    if cutoff < 1:
        raise InvalidInputError(f"`k` of {owner} must be 1 or more, not {shorten(k)}. Leave it out to count all ranks")
    return cutoff


class Definition(NamedTuple):
    """
    Gains, discounts and the other choices of a metric under a convention.

    A `k` of None counts all ranks. `metric` is the `Metric`, `convention` the `Convention`.
    """

    k: int | None
    is_relevant: Callable[[float], bool]
    gain: Callable[[float], float]
    discount: Callable[[int], float]
    convention: Any
    metric: Any

    def get(self, parameter: str) -> float:
        """Return the value of a parameter that is a number."""
        return float(self.metric.get(parameter))


class Mark(float):
    """A label of 0 that is equal to itself only."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return self is other

    def __ne__(self, other: object) -> bool:
        return self is not other

    def __hash__(self) -> int:
        return id(self)


UNJUDGED = Mark()
POOLED = Mark()  # in the pool, and not judged


class JudgedBySubtopic(list[Any]):
    """The judged documents of a query with the importance of its subtopics, by number. None: all have the same."""

    importance: dict[int, float] | None = None


class MeanRanked(list[float]):
    """Labels in rank order with the mean rank of each document's tie group."""

    def __init__(self, groups: list[list[float]]) -> None:
        super().__init__(label for group in groups for label in group)
        self.ranks: list[float] = []
        for group in groups:
            self.ranks += [len(self.ranks) + (len(group) + 1) / 2] * len(group)


DIRECTIONS = {True: "", False: ", lower is better", None: ", neither higher nor lower is better"}
CUTOFF = "the number of ranks that count, 1 or more, written @k; all ranks if left out"
CALLS = {
    "evaluate": 'fn.evaluate(qrels, run, "{}").mean()',
    "agreement": 'fn.agreement(first, second, "{}").mean()',
    "beyond_accuracy": 'fn.beyond_accuracy(recommended, "{}"{}).mean()',
    "evaluate_spans": 'fn.evaluate_spans(gold, chunks, "{}").mean()',
}


def describe_ties(record: Record) -> str:
    """Return the tie policies that a metric supports, in a few words."""
    if record.ties in (TIES_AND_MEAN_RANK, ()):
        return "all" if record.ties else "–"
    unsupported = [policy for policy in TIES_AND_MEAN_RANK if policy not in record.ties]
    if len(unsupported) < len(record.ties):
        return f"all but {', '.join(unsupported)}"
    return ", ".join(record.ties)


def list_trec_names(record: Record) -> list[str]:
    """Return trec_eval's names of a metric: the one without a cutoff, and the one with a cutoff."""
    names = []
    if record.trec_name:
        names.append(record.trec_name)
    if record.trec_cut:
        names.append(f"{record.trec_cut}_k")
    return names


def describe_parameters(record: Record) -> list[tuple[str, str]]:
    """Return the name and the meaning of each parameter, the cutoff first."""
    cutoff = [("k", CUTOFF)] if record.has_cutoff else []
    return [*cutoff, *((p.name, p.text + _format_default(p.default)) for p in record.parameters)]


def list_facts(record: Record) -> list[tuple[str, str]]:
    """Return the facts about a metric with their headings. An empty heading continues the fact before."""
    parameters = describe_parameters(record)
    width = max((len(name) for name, _ in parameters), default=0)
    facts = [("use", record.use)] if record.use else []
    facts.append(("formula", record.formula))
    facts += [("" if i else "parameters", f"{name:<{width}}  {text}") for i, (name, text) in enumerate(parameters)]
    if not parameters:
        facts.append(("parameters", "none"))
    facts.append(("range", record.range + DIRECTIONS[record.higher_is_better]))
    facts.append(("undefined", record.undefined if record.undefined == "never" else f"where {record.undefined}"))
    facts.append(("ties", describe_ties(record)))
    if record.function_name != "evaluate":
        facts.append(("taken by", f"fastndcg.{record.function_name}"))
    facts.append(("source", record.source))
    if record.doi:
        facts.append(("", f"https://doi.org/{record.doi}"))
    facts.append(("aliases", ", ".join(record.aliases) or "none"))
    facts.append(("trec_eval", ", ".join(list_trec_names(record)) or "has no such metric"))
    return facts + [(peer, name) for peer, name in record.peers]


def describe_metric(text: str, record: Record) -> str:
    """Return the docstring of a metric whose text is given."""
    return "\n".join(_list_lines(text, record))


def make_example(text: str, record: Record) -> str:
    """Return a call that computes a metric."""
    needs = "".join(f", {argument}={argument}" for argument in record.needs)
    return CALLS[record.function_name].format(text, needs)


def _list_lines(text: str, record: Record) -> Iterator[str]:
    yield f"{text}: {record.title}."
    yield ""
    yield from (f"{heading:<12}  {fact}".rstrip() for heading, fact in list_facts(record))
    yield f"{'example':<12}  {make_example(text, record)}"
    yield ""
    if record.has_cutoff:
        yield f"Write a cutoff as fn.{record.name} @ 10 or '{record.name}@10'."
    if record.parameters:
        name = record.parameters[0].name
        yield f"Write a parameter as fn.{record.name}({name}=...) or '{record.name}({name}=...)'."


def _format_default(value: float | str | tuple[float, ...] | None) -> str:
    return "" if value is None else f" (default {format_value(value)})"
