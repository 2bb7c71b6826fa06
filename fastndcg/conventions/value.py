"""What a number means, as a value: a choice for each field, where it comes from, and what its peer gets wrong."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from dataclasses import fields as fields_of
from typing import Any

from fastndcg.conventions.fields import CHOICES, FIELDS
from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownConventionError, nearest
from fastndcg.texts import Value, format_call, format_value, parse_call


@dataclass(frozen=True, slots=True)
class Bug:
    """
    Something that a peer gets wrong and that its convention does not copy, with a minimal case.

    `labels` and `scores` are those of each query; `golden` names the recorded case that shows it.
    """

    what: str
    source: str
    theirs: str | float
    ours: str | float
    metric: str = ""
    labels: tuple[tuple[float, ...], ...] = ()
    scores: tuple[tuple[float, ...], ...] = ()
    weights: tuple[float, ...] | None = None
    case: str = ""
    golden: str = ""


@dataclass(frozen=True, slots=True)
class Convention:
    """
    Every choice that gives a metric's number its meaning.

    Printed, it shows each field, and where it differs from the default.

    Parameters
    ----------
    name : str
        What results call it.
    gain : 'linear', 'exp2', 'binary' or tuple of float
        Gain of a label: itself, 2^label − 1, or 1 if it is relevant; a table gives the gains of labels 0, 1, 2, …:
        from 0, never falling.
    label_fractions : {'kept', 'cut off'}
        Whether a gain sees a label's fraction, or its whole part alone.
    discount : 'log2', 'log2(max(r, 2))', '1/r' or tuple of float
        1/log2(rank + 1), 1/log2(max(rank, 2)), or 1/rank; a table gives the discounts of ranks 1, 2, …, never rising,
        and 0 beyond its end.
    ideal : {'judged', 'k best'}
        What IDCG@k adds up: the best order of the judged documents, or k documents of the query's highest gain.
    pool : {'judged', 'retrieved'}
        Whether judged documents that were not retrieved count, as relevant and in the ideal order.
    relevant : {'at least 1', 'above 0', 'above 0.5'}
        The labels that are relevant, where a metric's `rel` is left out.
    default_k : 'all' or int
        How many ranks count where a metric has no cutoff.
    ties : {'average', 'input', 'id_descending', 'id_ascending', 'best', 'worst', 'input_reversed'}
        How equal scores are ranked. 'average' is the exact expectation over all their orders; 'best' and
        'worst' put the higher or the lower labels first; 'input_reversed' ranks the last one given first.
    undefined : {'nan', 0, 1, 'raise'}
        The value of a query for which the metric has none. NaN queries are left out of means.
    undefined_ap : {'as undefined', 'nan', 0, 1, 'raise'}
        The same for AP.
    no_relevant : {'defined', 'undefined', 'skipped'}
        RR and Success of a query without relevant documents: 0, or undefined as AP and R are; 'skipped' makes every
        metric of such a query undefined.
    unjudged : {'nonrelevant', 'removed'}
        Whether documents without a judgment keep their ranks or are taken out first.
    negative_labels : {'raise_in_arrays', 'zero', 'raise', 'keep', 'removed'}
        'zero': gain nothing, not relevant; 'keep': their gain is negative; 'removed': documents that have them are
        taken out first; 'raise_in_arrays': an error in arrays and 'zero' in qrels, where they mark documents that
        were pooled and not judged.
    missing_in_run : {'zero', 'skip', 'raise'}
        A judged query that the run left out: it ranks nothing, is left out, or is an error.
    missing_in_qrels : {'skip', 'undefined', 'raise'}
        A query of the run without judgments: it is left out, undefined, or an error.
    nan_scores : {'raise', 'last'}
        NaN scores: an error, or ranked below every other, tied with one another.
    score_dtype : {'as given', 'float32'}
        Whether scores are rounded to float32 before they are compared; whole numbers beyond 2**53 are not.
    ap_denominator : {'n_relevant', 'min(k, n_relevant)', 'n_hits', 'k', 'min(k, n_relevant, n_retrieved)'}
        What AP@k divides by.
    precision_denominator : {'k', 'min(k, n_retrieved)', 'min(k, n_relevant)'}
        What P@k divides by; without a cutoff, k is the number retrieved.
    recall_denominator : {'n_relevant', 'min(k, n_relevant)'}
        What R@k divides by.
    recall_rounding : {'up', 'nearest', 'up from a tenth'}
        How many relevant documents IPrec asks for: recall · R as a whole number.
    rbp_gain : {'binary', 'share of highest'}
        RBP's gains: 1 for what is relevant, where its `gain` is left out; or `gain` as for other metrics, divided by
        the query's highest where that is above 1.
    precision_mean : {'macro', 'micro'}
        The mean of P over queries: of their values, or all relevant documents found over the sum of all denominators.
    peer, versions, source : str
        The program that decides so, its versions for which this holds, and where its source says so.
    options : tuple of (str, str)
        Options of the peer's, and the convention that each of them makes.
    bugs : tuple of Bug
        What the peer gets wrong and this convention does not copy.

    Examples
    --------
    >>> fn.conventions["default"].replace(ties="input")
    default(ties=input)
    """

    name: str
    gain: Value = "linear"
    label_fractions: str = "kept"
    discount: Value = "log2"
    ideal: str = "judged"
    pool: str = "judged"
    relevant: str = "at least 1"
    default_k: str | int = "all"
    ties: str = "average"
    undefined: str | int = "nan"
    undefined_ap: str | int = "as undefined"
    no_relevant: str = "defined"
    unjudged: str = "nonrelevant"
    negative_labels: str = "raise_in_arrays"
    missing_in_run: str = "zero"
    missing_in_qrels: str = "skip"
    nan_scores: str = "raise"
    score_dtype: str = "as given"
    ap_denominator: str = "n_relevant"
    precision_denominator: str = "k"
    recall_denominator: str = "n_relevant"
    recall_rounding: str = "up"
    rbp_gain: str = "binary"
    precision_mean: str = "macro"
    peer: str = ""
    versions: str = ""
    source: str = ""
    options: tuple[tuple[str, str], ...] = ()
    bugs: tuple[Bug, ...] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InvalidTypeError(f"`name` of a convention must be a text, not {type(self.name).__name__}")
        parse_call(self.name)
        for field in CHOICES:
            object.__setattr__(self, field, _checked(field, getattr(self, field)))

    def replace(self, **choices: Any) -> Convention:
        """
        Make the same convention with other choices; its name says which.

        Raises
        ------
        UnknownConventionError
            If there is no such field.
        InvalidInputError
            If a field has no such choice.
        """
        from fastndcg.conventions import conventions  # the named ones are made of this class

        for field in choices:
            if field not in CHOICES:
                hint = nearest(field, CHOICES) or f" There are {', '.join(CHOICES)}."
                raise UnknownConventionError(f"a convention has no field {field!r}.{hint}")
        base = self.name.partition("(")[0]
        changed = self.with_fields(**choices)
        if base in conventions:
            given = changed.difference(conventions[base])
        else:
            given = {f: getattr(changed, f) for f in CHOICES if f in choices or f in parse_call(self.name)[1]}
        object.__setattr__(changed, "name", format_call(base, given))
        return changed

    def with_fields(self, **values: Any) -> Convention:
        """Make the same convention with other values of any fields, its name and its source among them."""
        return Convention(**({field.name: getattr(self, field.name) for field in fields_of(self)} | values))

    @functools.lru_cache(maxsize=256)  # noqa: B019 - conventions are few, and values
    def for_labels_of(self, *, qrels: bool) -> Convention:
        """Make the convention that says what negative labels mean in qrels, or in arrays."""
        if self.negative_labels != "raise_in_arrays":
            return self
        return self.replace(negative_labels="zero" if qrels else "raise")

    def choices(self) -> dict[str, Value]:
        """Every field with its choice."""
        return {field: getattr(self, field) for field in CHOICES}

    def difference(self, other: Convention) -> dict[str, Value]:
        """Fields that another convention chooses otherwise, with the choices of this one."""
        theirs = other.choices()
        return {field: choice for field, choice in self.choices().items() if choice != theirs[field]}

    def __hash__(self) -> int:
        return hash(self.name)  # quick: conventions are looked up in every call

    def __str__(self) -> str:
        return "\n".join(_shown(self))

    def __format__(self, specification: str) -> str:
        return format(self.name, specification)  # what sentences call it

    def __repr__(self) -> str:
        return self.name


def short(choice: Value) -> str:
    """
    A choice as people read it; of a long table the first gains and the last.

    >>> short((0.0, 1.0, 3.0, 7.0, 15.0, 31.0)), short("exp2")
    ('[0,1,3,…,31] of 6', 'exp2')
    """
    if isinstance(choice, tuple) and len(choice) > 5:
        first = ",".join(map(format_value, choice[:3]))
        return f"[{first},…,{format_value(choice[-1])}] of {len(choice)}"
    return format_value(choice)


def _shown(convention: Convention) -> list[str]:
    about = " ".join(filter(None, (convention.peer, convention.versions)))
    lines = [convention.name + (f": {about}" if about else "")]
    if convention.source:
        lines.append(f"  {convention.source}")
    width = max(map(len, FIELDS))
    for name, choice in convention.choices().items():
        usual = CHOICES[name][0]
        lines.append(f"  {name:<{width}}  {short(choice)}" + ("" if choice == usual else f"  (default: {usual})"))
    lines += [f"  option {theirs}: {ours}" for theirs, ours in convention.options]
    return [*lines, *(f"  not copied: {bug.what} ({bug.source})" for bug in convention.bugs)]


def _checked(field: str, choice: Any) -> Value:
    if isinstance(choice, str | int | float) and not isinstance(choice, bool):
        for known in CHOICES[field]:
            if format_value(choice).replace(" ", "") == str(known).replace(" ", ""):
                return known
    _, _, read, rule = FIELDS[field]
    value = read(choice) if read else None
    if value is not None:
        return value
    choices = ", ".join(repr(known) for known in CHOICES[field])
    raise InvalidInputError(f"`{field}` of a convention must be one of {choices}{rule}, not {choice!r}")
