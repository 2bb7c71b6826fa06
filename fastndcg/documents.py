"""
Some documents of rankings alone, and what metrics of judgments look at.

A document is judged if it has a label of 0 or more; one with a label below 0 was pooled and not judged, as in
trec_eval, unless the convention keeps negative labels, which are judgments then.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.rankings import Array, Rankings


def without_negative_labels(rankings: Rankings) -> Rankings:
    """The rankings of the documents whose label is not below 0, and their pool likewise."""
    if rankings.pool is not None and has_labels_below_0(rankings.pool[0]):
        labels, offsets = rankings.pool
        kept = ~(labels < 0)
        rankings = rankings.replace(pool=(labels[kept], n_before(kept)[offsets]))
    return of_documents(rankings, ~(rankings.labels < 0)) if has_labels_below_0(rankings.labels) else rankings


def of_documents(rankings: Rankings, kept: Array) -> Rankings:
    """The rankings of some documents alone."""
    some = rankings.replace(
        labels=rankings.labels[kept],
        scores=rankings.scores[kept],
        offsets=n_before(kept)[rankings.offsets],
        judged=None if rankings.judged is None else rankings.judged[kept],
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[kept],
    )
    some.are_ordinals = rankings.are_ordinals
    return some


def n_before(kept: Array) -> Array:
    """How many entries before each are kept, and how many in all."""
    return np.concatenate([[0], np.cumsum(kept)])


def pooled(rankings: Rankings, convention: Convention) -> Rankings:
    """The documents that were to be judged."""
    del convention
    if rankings.judged is None or rankings.judged.all():
        return rankings
    return of_documents(rankings, rankings.judged)


def judged(rankings: Rankings, convention: Convention) -> Rankings:
    """The documents that were judged, and the pool of them."""
    those = pooled(rankings, convention)
    return those if convention.negative_labels == "keep" else without_negative_labels(those)


def unjudged(rankings: Rankings, convention: Convention) -> Rankings:
    """All documents, labelled 1 where they were not judged; none at all where every one was."""
    has_negative = convention.negative_labels != "keep" and has_labels_below_0(rankings.labels)
    if not has_negative and (rankings.judged is None or rankings.judged.all()):
        nothing = rankings.labels[:0]
        none = Rankings(nothing, rankings.scores[:0], np.zeros_like(rankings.offsets), tie_keys=nothing.astype("i8"))
        return none.replace(query_ids=rankings.query_ids)
    labels = np.zeros(rankings.n_documents, bool) if rankings.judged is None else ~rankings.judged
    if has_negative:
        labels = labels | (rankings.labels < 0)
    return rankings.replace(labels=labels, judged=None, pool=None)


def has_labels_below_0(labels: Array) -> bool:
    """Whether a label is negative."""
    return labels.dtype.kind != "u" and bool((labels < 0).any())


VIEWS: dict[str, Callable[[Rankings, Convention], Rankings]] = {
    "judged": judged,
    "pooled": pooled,
    "unjudged": unjudged,
}
