"""The fields of a convention with their choices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from fastndcg.named_conventions.ties import TIES
from fastndcg.parsing import Value, as_count, as_discounts, as_gains


class Field(NamedTuple):
    """
    A field of a convention: its choices, the default first, and a description.

    `read` converts values that are not among the choices. It returns None for an invalid value. `rule` describes the
    valid values in messages.
    """

    choices: tuple[str | int | float, ...]
    text: str
    read: Callable[[Any], Value | None] | None = None
    rule: str = ""


UNDEFINED: tuple[str | int, ...] = ("nan", 0, 1, "raise")

FIELDS: dict[str, Field] = {
    "gain": Field(
        ("linear", "exp2", "binary"),
        "gain of a label: itself, 2^label − 1, 1 if it is relevant, or what a table says",
        as_gains,
        " or a table of finite numbers of 0 or more that starts with 0",
    ),
    "label_fractions": Field(("kept", "cut off"), "whether a gain sees a label's fraction, or its whole part alone"),
    "discount": Field(
        ("log2", "log2(max(r, 2))", "1/r", "none"),
        "discount of rank r: 1/log2(r + 1), 1/log2(max(r, 2)), 1/r, 1, or what a table says",
        as_discounts,
        " or a table of finite numbers of 0 or more that never rises",
    ),
    "ideal": Field(
        ("judged", "k best", "min(k, n_retrieved)"),
        "what IDCG@k adds up: the best order of the judged documents, k documents of the query's highest gain, or the "
        "best order down to the rank where the run ends",
    ),
    "pool": Field(
        ("judged", "retrieved"),
        "whether judged documents that were not retrieved count, as relevant and in the ideal order",
    ),
    "relevant": Field(
        ("at least 1", "above 0", "above 0.5"),
        "the labels that are relevant, where a metric's `rel` is left out",
    ),
    "default_k": Field(
        ("all",), "how many ranks count where a metric has no cutoff", as_count, " or a whole number of 1 or more"
    ),
    "ties": Field(
        tuple(TIES),
        "how equal scores are ranked: the expectation over all orders, as given, by id, by label, the last first, or "
        "all at the mean of their ranks",
    ),
    "undefined": Field(UNDEFINED, "the value of a query for which a metric has none; NaN is left out of means"),
    "undefined_ap": Field(("as undefined", *UNDEFINED), "the same for AP"),
    "no_relevant": Field(
        ("defined", "undefined", "skipped"),
        "RR and Success of a query without relevant documents: 0, or undefined as AP and R are; or all are undefined",
    ),
    "unjudged": Field(
        ("nonrelevant", "removed"),
        "whether documents without a judgment, or with a label below 0, keep their ranks or are taken out first",
    ),
    "negative_labels": Field(
        ("raise_in_arrays", "zero", "raise", "keep", "removed"),
        "negative labels: refused (in arrays, and 0 in qrels), 0, refused, gaining less than nothing, or taken out",
    ),
    "missing_in_run": Field(
        ("zero", "skip", "raise"), "a judged query that the run left out: ranks nothing, is left out, or an error"
    ),
    "missing_in_qrels": Field(
        ("skip", "undefined", "raise"), "a query of the run without judgments: is left out, undefined, or an error"
    ),
    "nan_scores": Field(("raise", "last"), "NaN scores: an error, or below all others, tied with one another"),
    "score_dtype": Field(("as given", "float32"), "whether scores are rounded to float32 before they are compared"),
    "ap_denominator": Field(
        ("n_relevant", "min(k, n_relevant)", "n_hits", "k", "min(k, n_relevant, n_retrieved)"), "what AP@k divides by"
    ),
    "precision_denominator": Field(("k", "min(k, n_retrieved)", "min(k, n_relevant)"), "what P@k divides by"),
    "recall_denominator": Field(("n_relevant", "min(k, n_relevant)"), "what R@k divides by"),
    "recall_rounding": Field(
        ("up", "nearest", "up from a tenth"),
        "how recall · R, the relevant documents that IPrec asks for, becomes a whole number",
    ),
    "rbp_gain": Field(
        ("binary", "share of highest"),
        "RBP's gains: 1 if relevant, where `gain` is left out; or `gain`, over the query's highest if that is above 1",
    ),
    "residual_of_nothing": Field((1, 0), "RBP_resid of a query that ranks no documents"),
    "precision_mean": Field(
        ("macro", "micro"), "the mean of P: of the queries' values, or all documents found over all denominators"
    ),
}
CHOICES = {name: field.choices for name, field in FIELDS.items()}
