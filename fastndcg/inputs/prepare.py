"""Which input a user gave: the one place that looks at its type."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.arrays import ArrayTruth
from fastndcg.inputs.join import Joined, join
from fastndcg.inputs.tables import Qrels, Run
from fastndcg.inputs.trec import read_qrels, read_run
from fastndcg.rankings import Rankings

Truth: TypeAlias = Rankings | Qrels | ArrayTruth


def prepare_truth(truth: Any, offsets: Any, groups: Any, query_ids: Any) -> Truth:
    """Read, check and code the truth once."""
    prepared: Truth
    if isinstance(truth, Rankings):
        truth.check_pool()
        prepared = truth
    elif isinstance(truth, Qrels):
        prepared = truth
    elif isinstance(truth, str | os.PathLike):
        prepared = read_qrels(truth)
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


def with_predictions(truth: Truth, predictions: Any, convention: Convention) -> Joined:
    """Bring predictions to the truth."""
    if isinstance(truth, Rankings):
        if predictions is not None:
            raise InvalidInputError("`predictions` must be left out where `truth` is Rankings, which holds scores")
        return Joined(truth)
    if predictions is None:
        raise InvalidInputError("`predictions` is missing: give scores, a run, or its path")
    if isinstance(truth, ArrayTruth):
        if isinstance(predictions, str | os.PathLike | Mapping | Run):
            kind = type(predictions).__name__
            raise InvalidTypeError(f"`predictions` must be an array of scores, as `truth` is of labels, not {kind}")
        return Joined(truth.rankings(predictions))
    return join(truth, as_run(predictions), convention)


def as_run(predictions: Any) -> Run:
    """A run from a path, a dict of dicts, or a run."""
    if isinstance(predictions, Run):
        return predictions
    if isinstance(predictions, str | os.PathLike):
        return read_run(predictions)
    if isinstance(predictions, Mapping):
        return Run.from_dict(predictions)
    kind = type(predictions).__name__
    raise InvalidTypeError(
        f"`predictions` must be a path, a dict of dicts or a Run, as `truth` is of that kind, not {kind}"
    )
