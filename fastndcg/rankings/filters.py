"""
Rankings of some of the documents, for metrics that treat judged and unjudged documents differently.

A document is judged if its label is 0 or more. A negative label means that it was pooled but not judged, as in
trec_eval, unless the convention keeps negative labels.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg.named_conventions import Convention
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.validation import Array, count_before, put


def without_negative_labels(rankings: Rankings) -> Rankings:
    """Return rankings without documents with negative labels, also in the pool."""
    if rankings.pool is not None and has_labels_below_0(rankings.pool[0]):
        labels, offsets = rankings.pool
        mask = ~(labels < 0)
        rankings = rankings.replace(pool=(labels[mask], count_before(mask)[offsets]))
    return of_documents(rankings, ~(rankings.labels < 0)) if has_labels_below_0(rankings.labels) else rankings


def of_documents(rankings: Rankings, mask: Array) -> Rankings:
    """Return the rankings of the documents in a mask."""
    some = rankings.replace(
        labels=rankings.labels[mask],
        scores=rankings.scores[mask],
        offsets=count_before(mask)[rankings.offsets],
        judged=None if rankings.judged is None else rankings.judged[mask],
        tie_keys=None if rankings.tie_keys is None else rankings.tie_keys[mask],
    )
    put(some, are_ordinals=rankings.are_ordinals)
    return some


def select_pooled(rankings: Rankings, convention: Convention) -> Rankings:
    """Return the rankings of the pooled documents."""
    del convention
    if rankings.judged is None or rankings.judged.all():
        return rankings
    return of_documents(rankings, rankings.judged)


def select_judged(rankings: Rankings, convention: Convention) -> Rankings:
    """Return the rankings of the judged documents, with a judged pool."""
    those = select_pooled(rankings, convention)
    return those if convention.negative_labels == "keep" else without_negative_labels(those)


def mark_unjudged(rankings: Rankings, convention: Convention) -> Rankings:
    """Return all documents with label 1 if unjudged and 0 if judged, or no documents if all are judged."""
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
    """Return True if a label is negative."""
    return labels.dtype.kind != "u" and bool((labels < 0).any())


VIEWS: dict[str, Callable[[Rankings, Convention], Rankings]] = {
    "judged": select_judged,
    "pooled": select_pooled,
    "unjudged": mark_unjudged,
}
