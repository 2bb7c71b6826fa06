"""Which input a user gave: the one place that looks at its type."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.arrays import ArrayTruth
from fastndcg.inputs.join import Joined, join
from fastndcg.inputs.tables import Qrels, Run
from fastndcg.inputs.trec import read_qrels, read_run
from fastndcg.rankings import Rankings

Truth: TypeAlias = Rankings | Qrels | ArrayTruth


def prepare_truth(truth: Any, offsets: Any, groups: Any, query_ids: Any, threads: int | None = None) -> Truth:
    """Read, check and code the truth once."""
    prepared: Truth
    if isinstance(truth, Rankings):
        check_pool(truth)
        prepared = truth
    elif isinstance(truth, Qrels):
        prepared = truth
    elif isinstance(truth, str | os.PathLike):
        prepared = read_qrels(truth, threads=threads)
    elif isinstance(truth, Mapping):
        prepared = Qrels.from_dict(truth)
    elif isinstance(truth, Run):
        raise InvalidTypeError("`truth` must not be a Run: the judgments come first, then the run")
    else:
        return ArrayTruth(truth, offsets, groups, query_ids)
    for name, value in (("offsets", offsets), ("groups", groups), ("query_ids", query_ids)):
        if value is not None:
            raise InvalidInputError(f"`{name}` cuts arrays into queries, but `truth` has its own; leave it out")
    return prepared


def with_predictions(truth: Truth, predictions: Any, convention: Convention, threads: int | None = None) -> Joined:
    """Bring predictions to the truth."""
    if isinstance(truth, Rankings):
        if predictions is not None:
            raise InvalidInputError("`predictions` must be left out where `truth` is Rankings, which holds scores")
        return Joined(truth)
    if predictions is None:
        raise InvalidInputError("`predictions` is missing: give scores, a run, or its path")
    if isinstance(truth, ArrayTruth):
        if not hasattr(predictions, "dtype") and isinstance(predictions, str | os.PathLike | Mapping | Run):
            kind = type(predictions).__name__
            raise InvalidTypeError(f"`predictions` must be an array of scores, as `truth` is of labels, not {kind}")
        return Joined(truth.rankings(predictions))
    return join(truth, as_run(predictions, threads), convention, threads)


def check_pool(rankings: Rankings) -> None:
    """Refuse a pool that lacks a label of what was ranked: recall would be 2, or DCG above the ideal."""
    if rankings.pool is None:
        return
    parts = []
    for labels, offsets in ((rankings.labels, rankings.offsets), rankings.pool):
        places = np.flatnonzero(labels > 0)
        parts.append((np.searchsorted(offsets, places, side="right") - 1, labels[places].astype("f8")))
    queries, labels = (np.concatenate(pair) for pair in zip(*parts, strict=True))
    order = np.lexsort((labels, queries))
    queries, labels, ranked = queries[order], labels[order], order < len(parts[0][0])
    firsts = np.flatnonzero((np.diff(queries, prepend=-1) != 0) | (np.diff(labels, prepend=0) != 0))
    n_ranked, n_pooled = (np.add.reduceat(which, firsts) if len(firsts) else firsts for which in (ranked, ~ranked))
    if (n_ranked > n_pooled).any():
        first = int(np.argmax(n_ranked > n_pooled))
        query, label = rankings.query_name(int(queries[firsts[first]])), f"{labels[firsts[first]]:g}"
        raise InvalidInputError(
            f"`pool` must hold the labels of all that was ranked, but {query} ranks {n_ranked[first]} with label "
            f"{label} and its pool has {n_pooled[first]}; add them"
        )


def as_run(predictions: Any, threads: int | None = None) -> Run:
    """A run from a path, a dict of dicts, or a run."""
    if isinstance(predictions, Run):
        return predictions
    if isinstance(predictions, str | os.PathLike):
        return read_run(predictions, threads=threads)
    if isinstance(predictions, Mapping):
        return Run.from_dict(predictions)
    kind = type(predictions).__name__
    raise InvalidTypeError(
        f"`predictions` must be a path, a dict of dicts or a Run, as `truth` is of that kind, not {kind}"
    )
