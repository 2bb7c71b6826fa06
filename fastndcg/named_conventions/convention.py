"""`Convention`: its fields, one choice for each, its source, and known differences from the peer."""

from __future__ import annotations

import functools
from dataclasses import dataclass, fields
from typing import ClassVar, NamedTuple

from fastndcg.choices import TiePolicy
from fastndcg.named_conventions.named_choices import TIES, Field, NamedChoices, chosen_from
from fastndcg.parsing import Value, as_count, as_discounts, as_gains, format_value
from fastndcg.runtime.escapes import show_name

UNDEFINED: tuple[str | int, ...] = ("nan", 0, 1, "raise")


class PeerMetric(NamedTuple):
    """
    A metric of this package that a peer has.

    `ours` is its text here, with the parameters and the cutoff that give the peer's number. `theirs` is its name there.
    `by` is the convention that gives the number, if it is not the convention of the record. `differs` says why no
    choice gives the number. `tie_difference` says why no choice
    gives it for queries with ties between different labels.
    """

    ours: str
    theirs: str
    by: str = ""
    differs: str = ""
    tie_difference: str = ""

    @property
    def name(self) -> str:
        """The metric's name without parameters and cutoff."""
        return self.ours.partition("(")[0].partition("@")[0]


def same(*pairs: str, tie_difference: str = "") -> tuple[PeerMetric, ...]:
    """
    Return metrics with equal numbers, from texts of our name and the peer's name.

    >>> same("nDCG ndcg")
    (PeerMetric(ours='nDCG', theirs='ndcg', by='', differs='', tie_difference=''),)
    """
    names = (pair.partition(" ") for pair in pairs)
    return tuple(PeerMetric(ours, theirs, tie_difference=tie_difference) for ours, _, theirs in names)


@dataclass(frozen=True, slots=True)
class Bug:
    """
    A bug of a peer that the convention does not copy, with a minimal case.

    `labels` and `scores` have a tuple for each query. `golden` is the name of the golden case that shows the bug.
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


@dataclass(frozen=True, slots=True, repr=False)
class Convention(NamedChoices):
    """
    All choices that give a metric's number its meaning.

    `print` shows each field, and marks differences from the default.

    Parameters
    ----------
    name : str
        Name in results and messages.
    gain : {'linear', 'exp2', 'binary'} or tuple of float
        Gain of a label: the label, 2^label − 1, or 1 for a relevant document. A table has the gains of the labels
        0, 1, 2, …, with 0 for label 0 and no gain below 0.
    label_fractions : {'kept', 'cut off'}
        Whether gains use a label with its fraction, or its whole part only.
    discount : {'log2', 'log2(max(r, 2))', '1/r', 'none'} or tuple of float
        Discount of a rank: 1/log2(rank + 1), 1/log2(max(rank, 2)), 1/rank, or 1. A table has the discounts of the ranks
        1, 2, …, which never rise. Ranks beyond its end have the discount 0.
    ideal : {'judged', 'k best', 'min(k, n_retrieved)'}
        Documents of the ideal ranking in IDCG@k: the judged documents by falling gain, k documents of the query's
        highest gain, or as many of the judged documents as the query has retrieved, at most k.
    pool : {'judged', 'retrieved'}
        Whether the ideal ranking and the number of relevant documents include documents that were not retrieved.
    relevant : {'at least 1', 'above 0', 'above 0.5'}
        Labels of relevant documents if `rel` of a metric is left out.
    default_k : 'all' or int
        Cutoff of metrics without a cutoff.
    ties : {'average', 'input', 'id_descending', 'id_ascending', 'best', 'worst', 'input_reversed', 'mean_rank'}
        Order of equal scores. 'average' is the exact expectation over all orders. 'best' and 'worst' rank higher or
        lower labels first. 'input_reversed' ranks the last document of the input first. 'mean_rank' gives all of them
        the mean of their ranks, for metrics that have a value there: Rank, RR, Success and counts.
    undefined : {'nan', 0, 1, 'raise'}
        Value of a query for which the metric is undefined. Means exclude NaN.
    undefined_ap : {'as undefined', 'nan', 0, 1, 'raise'}
        Value of a query for which AP is undefined.
    no_relevant : {'defined', 'undefined', 'skipped'}
        RR and Success of a query without relevant documents: 0, or undefined like AP and R. 'skipped' makes every
        metric of such a query undefined.
    unjudged : {'nonrelevant', 'removed'}
        Whether unjudged documents keep their ranks or are removed before ranking. In qrels, documents with a negative
        label are unjudged unless `negative_labels` is 'keep'.
    negative_labels : {'raise_in_arrays', 'zero', 'raise', 'keep', 'removed'}
        'zero': no gain, not relevant. 'keep': a negative gain. 'removed': these documents are removed before ranking.
        'raise_in_arrays': an error in arrays and 'zero' in qrels, where they mean pooled and not judged.
    missing_in_run : {'zero', 'skip', 'raise'}
        A judged query that is missing in the run: it ranks no documents, is skipped, or raises an error. One that is
        there with an empty list is not missing.
    missing_in_qrels : {'skip', 'undefined', 'raise'}
        A query of the run without judgments: it is skipped, undefined, or raises an error.
    nan_scores : {'raise', 'last'}
        NaN scores: an error, or a tie group below all other scores.
    score_dtype : {'as given', 'float32'}
        Whether scores are rounded to float32 before they are compared. Integers beyond 2**53 are not rounded.
    ap_denominator : {'n_relevant', 'min(k, n_relevant)', 'n_hits', 'k', 'min(k, n_relevant, n_retrieved)'}
        Denominator of AP@k.
    precision_denominator : {'k', 'min(k, n_retrieved)', 'min(k, n_relevant)'}
        Denominator of P@k. Without a cutoff, k is the number of retrieved documents.
    recall_denominator : {'n_relevant', 'min(k, n_relevant)'}
        Denominator of R@k.
    recall_rounding : {'up', 'nearest', 'up from a tenth'}
        Rounding of recall · R, the number of relevant documents that IPrec needs.
    rbp_gain : {'binary', 'share of highest'}
        Gains of RBP: 1 for a relevant document if `gain` is left out, or the gain divided by the query's highest gain
        if that is above 1.
    residual_of_nothing : {1, 0}
        RBP_resid of a query that ranks no documents.
    precision_mean : {'macro', 'micro'}
        Mean of P over queries: the mean of the values, or the sum of numerators over the sum of denominators.
    peer, versions, source : str
        The peer, the versions for which the convention is proven, and the place of each choice in its source.
    options : tuple of (str, str)
        Options of the peer, each with the convention that it gives.
    bugs : tuple of Bug
        What the peer gets wrong and this convention does not copy.
    metrics : tuple of PeerMetric
        Which of our metrics the peer has. Results have a note on those that give another number there.

    Examples
    --------
    >>> fn.conventions["default"].replace(ties="input")
    default(ties=input)
    """

    WHAT: ClassVar[str] = "convention"

    name: str
    gain: Value = chosen_from(
        ("linear", "exp2", "binary"),
        "gain of a label: itself, 2^label − 1, 1 if it is relevant, or what a table says",
        as_gains,
        " or a table of finite numbers of 0 or more that starts with 0",
    )
    label_fractions: str = chosen_from(
        ("kept", "cut off"), "whether a gain sees a label's fraction, or its whole part alone"
    )
    discount: Value = chosen_from(
        ("log2", "log2(max(r, 2))", "1/r", "none"),
        "discount of rank r: 1/log2(r + 1), 1/log2(max(r, 2)), 1/r, 1, or what a table says",
        as_discounts,
        " or a table of finite numbers of 0 or more that never rises",
    )
    ideal: str = chosen_from(
        ("judged", "k best", "min(k, n_retrieved)"),
        "what IDCG@k adds up: the best order of the judged documents, k documents of the query's highest gain, or the "
        "best order down to the rank where the run ends",
    )
    pool: str = chosen_from(
        ("judged", "retrieved"),
        "whether judged documents that were not retrieved count, as relevant and in the ideal order",
    )
    relevant: str = chosen_from(
        ("at least 1", "above 0", "above 0.5"),
        "the labels that are relevant, where a metric's `rel` is left out",
    )
    default_k: str | int = chosen_from(
        ("all",), "how many ranks count where a metric has no cutoff", as_count, " or a whole number of 1 or more"
    )
    ties: TiePolicy = chosen_from(
        tuple(TIES),
        "how equal scores are ranked: the expectation over all orders, as given, by id, by label, the last first, or "
        "all at the mean of their ranks",
    )
    undefined: str | int = chosen_from(
        UNDEFINED, "the value of a query for which a metric has none; NaN is left out of means"
    )
    undefined_ap: str | int = chosen_from(("as undefined", *UNDEFINED), "the same for AP")
    no_relevant: str = chosen_from(
        ("defined", "undefined", "skipped"),
        "RR and Success of a query without relevant documents: 0, or undefined as AP and R are; or all are undefined",
    )
    unjudged: str = chosen_from(
        ("nonrelevant", "removed"),
        "whether documents without a judgment, or with a label below 0, keep their ranks or are taken out first",
    )
    negative_labels: str = chosen_from(
        ("raise_in_arrays", "zero", "raise", "keep", "removed"),
        "negative labels: refused (in arrays, and 0 in qrels), 0, refused, a negative gain, or taken out",
    )
    missing_in_run: str = chosen_from(
        ("zero", "skip", "raise"), "a judged query that the run left out: ranks nothing, is left out, or an error"
    )
    missing_in_qrels: str = chosen_from(
        ("skip", "undefined", "raise"), "a query of the run without judgments: is left out, undefined, or an error"
    )
    nan_scores: str = chosen_from(("raise", "last"), "NaN scores: an error, or below all others, tied with one another")
    score_dtype: str = chosen_from(
        ("as given", "float32"), "whether scores are rounded to float32 before they are compared"
    )
    ap_denominator: str = chosen_from(
        ("n_relevant", "min(k, n_relevant)", "n_hits", "k", "min(k, n_relevant, n_retrieved)"), "what AP@k divides by"
    )
    precision_denominator: str = chosen_from(("k", "min(k, n_retrieved)", "min(k, n_relevant)"), "what P@k divides by")
    recall_denominator: str = chosen_from(("n_relevant", "min(k, n_relevant)"), "what R@k divides by")
    recall_rounding: str = chosen_from(
        ("up", "nearest", "up from a tenth"),
        "how recall · R, the relevant documents that IPrec needs, becomes a whole number",
    )
    rbp_gain: str = chosen_from(
        ("binary", "share of highest"),
        "RBP's gains: 1 if relevant, where `gain` is left out; or `gain`, over the query's highest if that is above 1",
    )
    residual_of_nothing: int = chosen_from((1, 0), "RBP_resid of a query that ranks no documents")
    precision_mean: str = chosen_from(
        ("macro", "micro"), "the mean of P: of the queries' values, or sum of numerators over sum of denominators"
    )
    peer: str = ""
    versions: str = ""
    source: str = ""
    options: tuple[tuple[str, str], ...] = ()
    bugs: tuple[Bug, ...] = ()
    metrics: tuple[PeerMetric, ...] = ()

    @functools.lru_cache(maxsize=256)  # noqa: B019 - conventions are few, and values
    def for_input(self, *, qrels: bool) -> Convention:
        """Return the convention with the meaning of negative labels in qrels, or in arrays."""
        if self.negative_labels != "raise_in_arrays":
            return self
        return self.replace(negative_labels="zero" if qrels else "raise")

    @property
    def removes_negative_labels(self) -> bool:
        """True if documents with negative labels are removed, by their labels or as unjudged documents."""
        return self.negative_labels == "removed" or (self.unjudged == "removed" and self.negative_labels == "zero")

    def __hash__(self) -> int:
        return hash(self.name)  # fields are left out: one query looks the convention up several times

    def __str__(self) -> str:
        return "\n".join(_describe(self))

    def __format__(self, specification: str) -> str:
        return format(show_name(self.name), specification)  # in messages: short and printable

    def _repr_html_(self) -> str:
        from fastndcg.exports import html_facts

        title, *lines = _describe(self)
        return html_facts(title, [_split_fact(line) for line in lines])


FIELDS: dict[str, Field] = {one.name: one.metadata["field"] for one in fields(Convention) if one.metadata}
CHOICES = {name: one.choices for name, one in FIELDS.items()}
Convention.FIELDS = FIELDS


def _split_fact(line: str) -> tuple[str, str]:
    """Return the heading and the text of a line: a field and its choice, or no heading and a remark."""
    name, _, choice = line.strip().partition(" ")
    return (name, choice.strip()) if name in FIELDS else ("", line.strip())


def short(choice: Value) -> str:
    """
    Return a choice as a text, with the first and last entries of a long table.

    >>> short((0.0, 1.0, 3.0, 7.0, 15.0, 31.0)), short("exp2")
    ('[0,1,3,…,31] of 6', 'exp2')
    """
    if isinstance(choice, tuple) and len(choice) > 5:
        first = ",".join(map(format_value, choice[:3]))
        return f"[{first},…,{format_value(choice[-1])}] of {len(choice)}"
    return format_value(choice)


def _describe(convention: Convention) -> list[str]:
    about = " ".join(filter(None, (convention.peer, convention.versions)))
    lines = [convention.name + (f": {about}" if about else "")]
    if convention.source:
        lines.append(f"  {convention.source}")
    width = max(map(len, FIELDS))
    for name, choice in convention.choices().items():
        usual = CHOICES[name][0]
        lines.append(f"  {name:<{width}}  {short(choice)}" + ("" if choice == usual else f"  (default: {usual})"))
    lines += [f"  option {theirs}: {ours}" for theirs, ours in convention.options]
    lines += [f"  not copied: {bug.what} ({bug.source})" for bug in convention.bugs]
    return lines + [f"  its {metric.theirs}: {relation(metric)}" for metric in convention.metrics]


def relation(metric: PeerMetric) -> str:
    """Describe how the peer's metric relates to the metric of this package."""
    if metric.differs:
        return f"not {metric.ours}, it {metric.differs}"
    text = f"{metric.ours} under {metric.by}" if metric.by else metric.ours
    return f"{text}, but where scores tie it {metric.tie_difference}" if metric.tie_difference else text
