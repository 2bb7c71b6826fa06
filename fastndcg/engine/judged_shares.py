"""Measure what share of the first documents has a judgment, for the line beside a table of metrics."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import numpy as np

from fastndcg.engine.run import run
from fastndcg.metrics.metric import Metric
from fastndcg.metrics.resolve import list_shares
from fastndcg.named_conventions import Convention
from fastndcg.named_conventions.ties import TIES
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array

# Results keep the rankings of at most so many documents, some 1 MB, and measure the share when it is read: measured in
# the call, it made a small evaluation of dicts take a third longer.
MAX_KEPT_DOCUMENTS = 1 << 16


def plan_judged(
    rankings: Rankings,
    metrics: tuple[Metric, ...],
    convention: Convention,
    undefined: Array | None = None,
    threads: int | None = None,
) -> dict[str, float] | Callable[[], dict[str, float]]:
    """
    Return the mean of Judged at each cutoff of the metrics, by name, or a function that returns it for few documents.

    Documents that the convention removes count.
    """
    if rankings.judged is None:
        return {}
    measure = functools.partial(_measure, rankings, rankings.judged, metrics, convention, undefined, threads)
    return measure if rankings.n_documents <= MAX_KEPT_DOCUMENTS else measure()


def _measure(
    rankings: Rankings,
    is_judged: Array,
    metrics: tuple[Metric, ...],
    convention: Convention,
    undefined: Array | None,
    threads: int | None,
) -> dict[str, float]:
    """
    Return the mean of Judged at each cutoff of the metrics.

    Judged@k is P@k of labels that are 1 if a document has a judgment. An evaluation of 1000 documents a query, one of
    them judged, from a `Run` takes 1.2 times as long with this. By the kernel of Judged, which ranks the unjudged
    documents, it takes 12 times as long.
    """
    shares = _plan_shares(metrics, convention)
    if not shares:
        return {}
    if convention.negative_labels != "keep":  # such documents were pooled, and not judged
        is_judged = is_judged & ~(rankings.labels < 0)
    sizes = np.diff(rankings.offsets)
    is_counted = sizes > 0 if undefined is None else (sizes > 0) & ~undefined
    if not is_counted.any():
        return {}
    longest = int(sizes.max())
    shallow = tuple(metric for _, metric in shares if metric.k is not None and metric.k < longest)
    values: dict[int | None, Array] = {}
    if shallow:
        plain = rankings.replace(labels=is_judged, judged=None, pool=None, patterns=None)
        output = run(plain, shallow, _find_convention(convention), threads=threads)
        values = {metric.k: column for metric, column in zip(shallow, output.values.T, strict=True)}
    if len(shallow) < len(shares):
        values[None] = _count(is_judged, rankings.offsets) / np.maximum(sizes, 1)
    n_counted = int(np.count_nonzero(is_counted))
    return {
        name: math.fsum(values[metric.k if metric.k in values else None][is_counted].tolist()) / n_counted
        for name, metric in shares
    }


@functools.lru_cache(maxsize=256)
def _plan_shares(metrics: tuple[Metric, ...], convention: Convention) -> tuple[tuple[str, Metric], ...]:
    """Return the name of each share, and P at its cutoff, cached: making them takes as long as a small evaluation."""
    return tuple((str(share), Metric("P", share.k)) for share in list_shares(metrics, convention))


@functools.lru_cache(maxsize=256)
def _find_convention(convention: Convention) -> Convention:
    """
    Return the convention that ranks as another one does, and under which P@k is Judged@k.

    Tie policies that order by label say nothing about judgments: there the share is averaged over the orders.
    """
    has_order = TIES[convention.ties].orders in ("input", "id")
    return convention.replace(
        ties=convention.ties if has_order else "average", unjudged="nonrelevant", no_relevant="defined",
        undefined="nan", precision_denominator="min(k, n_retrieved)", negative_labels="zero", relevant="at least 1",
    )  # fmt: skip


def _count(mask: Array, offsets: Array) -> Array:
    """Return the number of True entries of each query, in 0.1 ns an entry, where sums of bool take 0.4."""
    counts = np.zeros(len(offsets) - 1, "i8")
    is_filled = offsets[1:] > offsets[:-1]
    counts[is_filled] = np.add.reduceat(mask.view("i1"), offsets[:-1][is_filled], dtype="i4")
    return counts
