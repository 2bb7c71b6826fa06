"""ranx's names of metrics, as metrics of the catalogue."""

from __future__ import annotations

import re
from typing import Any

from fastndcg.compat.ranx.data import MismatchError
from fastndcg.errors import InvalidInputError, UnknownMetricError, shorten, suggest_name
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import conventions
from fastndcg.runtime.escapes import show_name

CONVENTION = conventions["ranx"]
METRICS = {
    "hits": Metric("num_rel_ret"),
    "hit_rate": Metric("Success"),
    "precision": Metric("P"),
    "recall": Metric("R"),
    "f1": Metric("F"),
    "r-precision": Metric("Rprec"),
    "bpref": Metric("bpref"),
    "mrr": Metric("RR"),
    "map": Metric("AP"),
    "dcg": Metric("DCG"),
    "dcg_burges": Metric("DCG", gain="exp2"),
    "ndcg": Metric("nDCG"),
    "ndcg_burges": Metric("nDCG", gain="exp2"),
}
WITHOUT_CUTOFF = ("bpref", "r-precision")  # ranx ignores their cutoff
RBP = re.compile(r"rbp[.@]([0-9]+)")  # the digits are those of the persistence: rbp.95 has 0.95


def parse_metric(name: Any) -> Metric:
    """
    Return a metric of ranx, ``name@k-llevel`` or ``rbp.p-llevel``, as a metric of the catalogue.

    >>> parse_metric("map@100-l2"), parse_metric("rbp.95")
    (AP(rel=2)@100, RBP(p=0.95,rel=1))
    """
    if not isinstance(name, str):
        raise MismatchError(f"`metrics` must be texts, but one is {shorten(name)}. Pass names such as 'ndcg@10'.")
    text, has_level, level = name.partition("-l")
    base, has_cutoff, cutoff = text.partition("@")
    rel = _parse_number(level, name) if has_level else 1
    persistence = RBP.fullmatch(text)
    if persistence is not None:
        return make_rbp(float(f"0.{persistence[1]}"), rel, name)
    if base.partition(".")[0] == "rbp":
        raise UnknownMetricError(
            f"Metric {show_name(text)} not supported, because rbp needs a persistence. Write 'rbp.95' for 0.95."
        )
    if base not in METRICS:
        raise UnknownMetricError(
            f"Metric {show_name(base)} not supported."
            f"{suggest_name(base, METRICS)} Supported metrics are {', '.join(METRICS)}, and rbp.95."
        )
    k = _parse_number(cutoff, name) if has_cutoff else 0
    return make_metric(base, k, rel, name)


def make_metric(base: str, k: int = 0, rel: int = 1, name: str | None = None) -> Metric:
    """Return the metric of a name in `METRICS`. A cutoff of 0 means all ranks. Errors show `name`."""
    check_range(k, rel, name or base)
    metric = METRICS[base] @ k if k > 0 and base not in WITHOUT_CUTOFF else METRICS[base]
    return metric if rel == 1 else metric(rel=rel)


def make_rbp(p: float, rel: int = 1, name: str = "rbp") -> Metric:
    """Return rank-biased precision with the persistence p. Errors show `name`."""
    check_range(0, rel, name)
    return METRICS["precision"](rel=rel) @ 1 if p == 0 else Metric("RBP", p=p, rel=rel)  # p = 0 reads rank 1 alone


def check_range(k: int, rel: int, name: str) -> None:
    """Raise MismatchError if a cutoff or a level is too small."""
    if k < 0 or rel < 1:
        raise MismatchError(
            f"the cutoff must be 0 or more and the level 1 or more, but the metric is {shorten(name)} "
            f"with cutoff {k} and level {rel}. Write it as 'ndcg@10-l2'."
        )


def _parse_number(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise InvalidInputError(
            f"cutoff and level must be whole numbers, but the metric is {shorten(name)}. Write it as 'ndcg@10-l2'."
        ) from None
