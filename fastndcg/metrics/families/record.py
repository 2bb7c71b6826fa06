"""The types of the catalogue's records, and parameters that several records share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from fastndcg.named_conventions.ties import TIES

JARVELIN_2002 = "K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002"
VAN_RIJSBERGEN_1979 = "C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7, ISBN 0-408-70929-4"
TREC_EVAL = "trec_eval, the evaluation program of the Text REtrieval Conference, https://github.com/usnistgov/trec_eval"


EXACT_INTEGERS = 2**53  # float64 holds all smaller whole numbers
TIE_POLICIES = tuple(policy for policy in TIES if policy != "mean_rank")  # for metrics of whole ranks


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    A parameter of a metric.

    Any number of threads may use one at once.

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
    kernel : str
        File and function of the kernel, such as "gains.ndcg". Its twin has the same place in this package.
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
        A convention field or parameter, a choice of it, and the kernel for this choice.
    ties : tuple of str
        Tie policies under which the metric has an exact value.
    has_cutoff : bool
        Whether the metric may have a cutoff.
    higher_is_better : bool
        Whether larger values are better.
    is_zero_without_relevant : bool
        Whether the metric is 0 for a query without relevant documents unless the convention makes it undefined.
    function : callable, optional
        Function of a custom metric.
    view : {'labels', 'judgments', 'subtopics'}
        What the metric reads: labels, labels and which documents are judged, or a label for each subtopic.
    function_name : {'evaluate', 'agreement', 'beyond_accuracy', 'evaluate_spans'}
        The public function that takes the metric.
    needs : tuple of str
        Arguments of that function that the metric needs.
    has_one_value : bool
        Whether the metric has one value for all users together.
    family : str
        The module of the record, "custom" for registered metrics.
    """

    name: str
    title: str
    kernel: str
    formula: str
    source: str
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
    higher_is_better: bool = True
    is_zero_without_relevant: bool = False
    function: Callable[..., float] | None = None
    view: str = "labels"
    function_name: str = "evaluate"
    needs: tuple[str, ...] = ()
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
