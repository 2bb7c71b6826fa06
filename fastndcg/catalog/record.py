"""What a record of the catalogue holds, and what several records share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

JARVELIN_2002 = "K. Järvelin and J. Kekäläinen, Cumulated gain-based evaluation of IR techniques, TOIS 2002"
VAN_RIJSBERGEN_1979 = "C. J. van Rijsbergen, Information Retrieval, 2nd edition, 1979, chapter 7"
TREC_EVAL = "trec_eval, the evaluation program of the Text REtrieval Conference"


TIE_POLICIES = ("average", "input", "input_reversed", "id_descending", "id_ascending", "best", "worst")


@dataclass(frozen=True, slots=True)
class Parameter:
    """
    A parameter of a metric; a `default` of None is the convention's choice or 'not used'.

    `kind` says what values it has: 'threshold' and 'positive' are above 0, a 'probability' lies between 0 and 1 and a
    'share' may be either too, 'shares' are a table of them, a 'fraction' is above 0 and 1 at the most, a 'number' is
    any finite one, a 'goal' is from 0.25 to 10000, a 'count' is a whole number of 1 or more, a 'grade' one up to 1023,
    a 'gain' or 'discount' is that of a convention, and ``"one|other"`` are the words to choose from.
    """

    name: str
    kind: str
    default: float | str | tuple[float, ...] | None
    text: str


@dataclass(frozen=True, slots=True)
class Record:
    """
    One metric.

    `kernel` is ``file.function`` in `fastndcg.kernels`, and its twin has the same place in `fastndcg.reference`;
    `variants` name the kernel that takes its place where a convention field, or a parameter of the metric, has a
    certain choice; `trec_name` is what trec_eval calls it without a cutoff, `trec_cut` with one, and `trec_at` with a
    value of the parameter that is named beside; `peers` are its names in other libraries; `ties` are the tie policies
    that it has an exact value under; a metric that `takes_k` counts the first k ranks alone where it is given a cutoff;
    `is_count` metrics are summed, not averaged, on trec_eval's line for all queries; those that `looks_for_relevant`
    documents are 0 where none are there, or undefined if the convention says so; those with the `view` 'judgments' tell
    a document without a judgment from one that is not relevant, those with 'subtopics' have a label for each of them;
    `function` is that of a metric that a user registered.

    `taken_by` is the function of the package that takes the metric; those of `evaluate` alone have labels. `needs` are
    the arguments that it must have been given, and a metric that is `of_all` has one value for all users together.
    """

    name: str
    title: str
    kernel: str
    formula: str
    range: str
    undefined: str
    source: str
    doi: str = ""
    parameters: tuple[Parameter, ...] = ()
    aliases: tuple[str, ...] = ()
    trec_name: str = ""
    trec_cut: str = ""
    trec_at: tuple[str, str] | None = None
    peers: tuple[tuple[str, str], ...] = ()
    variants: tuple[tuple[str, str, str], ...] = ()
    ties: tuple[str, ...] = TIE_POLICIES
    takes_k: bool = True
    higher_is_better: bool = True
    is_count: bool = False
    looks_for_relevant: bool = False
    function: Callable[..., float] | None = None
    view: str = "labels"
    taken_by: str = "evaluate"
    needs: tuple[str, ...] = ()
    of_all: bool = False

    @property
    def by_subtopic(self) -> bool:
        """Whether it needs judgments by subtopic."""
        return self.view == "subtopics"


WITHOUT_AVERAGE = TIE_POLICIES[1:]
REL = Parameter("rel", "threshold", 1, "a document is relevant if its label is at least this; above 0")
GAIN_REL = Parameter("rel", "threshold", None, "labels below this gain nothing; by default every label counts")
DISCOUNT = Parameter(
    "discount", "discount", None, "log2, log2(max(r, 2)), 1/r or a table of discounts; the convention's if left out"
)
GAIN = Parameter(
    "gain", "gain", None, "linear, exp2 (2^label − 1), binary or a table of gains; the convention's if left out"
)
PERSISTENCE = Parameter("p", "probability", 0.9, "the chance that the user goes on from one rank to the next")
BETA = Parameter("beta", "positive", 1, "how many times as much recall matters as precision")
