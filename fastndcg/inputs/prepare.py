"""Which input a user gave: the one place that looks at its type."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from fastndcg.conventions import Convention
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.inputs.arrays import ArrayTruth, refuse_cuts
from fastndcg.inputs.diversity import DiversityQrels, is_nested, table_of
from fastndcg.inputs.files import read_file
from fastndcg.inputs.frames import Frame, is_frame, refuse_unknown
from fastndcg.inputs.item_lists import Recommendations
from fastndcg.inputs.items import Interactions, Parts, recommended_parts
from fastndcg.inputs.join import Joined, join
from fastndcg.inputs.parquet import ParquetTruth, is_parquet, open_parquet
from fastndcg.inputs.ragged import ragged_of
from fastndcg.inputs.rows import ScoredRows
from fastndcg.inputs.svmlight import LabelsInFile, is_svmlight, read_svmlight
from fastndcg.inputs.tables import Qrels, Run, Table
from fastndcg.rankings import Rankings

Truth: TypeAlias = Rankings | Qrels | ArrayTruth | ScoredRows | Interactions | ParquetTruth

Parted: TypeAlias = Parts | ParquetTruth


@dataclass(slots=True)
class Options:
    """How the truth and the predictions are read, beside what they are."""

    offsets: Any = None
    groups: Any = None
    query_ids: Any = None
    columns: Any = None
    memory: Any = None
    threads: int | None = None
    progress: Callable[[int, int], None] | None = None


def prepare_truth(truth: Any, options: Options) -> Truth:
    """Read, check and code the truth once."""
    prepared = None
    if not isinstance(truth, np.ndarray):  # what else it may be takes as long to see as a short query
        prepared = _with_own_queries(truth, options)
    if (options.memory is not None or options.progress is not None) and not isinstance(prepared, ParquetTruth):
        purpose = "`memory` limits what is held" if options.memory is not None else "`progress` counts the rows"
        raise InvalidInputError(
            f"{purpose} of Parquet files that have scores and labels, which are streamed, but `truth` is none of them; "
            "leave it out"
        )
    if options.progress is not None and not callable(options.progress):
        raise InvalidTypeError(f"`progress` must be a function of two numbers, not {options.progress!r}")
    if options.columns is not None and (prepared is None or isinstance(prepared, Rankings | ArrayTruth)):
        raise InvalidInputError("`columns` names columns of frames, but `truth` is no frame; leave it out")
    if prepared is not None:
        refuse_cuts(options.offsets, options.groups, options.query_ids)
        return prepared
    return ArrayTruth(truth, options.offsets, options.groups, options.query_ids)


def _with_own_queries(truth: Any, options: Options) -> Truth | None:
    """The truth of an input that says itself which documents are of one query; None of labels."""
    if isinstance(truth, Rankings):
        check_pool(truth)
        return truth
    if isinstance(truth, Qrels | Interactions):
        return truth
    if hasattr(truth, "tocsr"):
        return Interactions.of_matrix(truth, options.threads)
    if isinstance(truth, str | os.PathLike):
        return _of_file(truth, options)
    if isinstance(truth, Mapping):
        return DiversityQrels.from_dict(truth) if is_nested(truth) else Qrels.from_dict(truth)
    if is_frame(truth):
        return _of_frame(truth, options)
    if isinstance(truth, Run):
        raise InvalidTypeError("`truth` must not be a Run: the judgments come first, then the run")
    return None


def with_predictions(
    truth: Truth, predictions: Any, convention: Convention, options: Options
) -> Rankings | Joined | Parted:
    """Bring predictions to the truth: rankings, or what makes them part by part."""
    if isinstance(truth, ArrayTruth):
        return _of_arrays(truth, predictions, options)
    if isinstance(truth, Rankings | ScoredRows | ParquetTruth):
        if predictions is not None:
            kind = "Rankings, which holds scores" if isinstance(truth, Rankings) else "a frame that holds scores"
            raise InvalidInputError(f"`predictions` must be left out where `truth` is {kind}")
        if isinstance(truth, ParquetTruth):
            return truth.under(convention)
        return truth if isinstance(truth, Rankings) else truth.rankings(convention, options.threads)
    run = None
    if isinstance(truth, Qrels) and predictions is not None and not _are_items(predictions):
        run = as_run(predictions, options)
    of_truth, of_run = (table.source.columns if isinstance(table, Table) else () for table in (truth, run))
    known = {"truth": of_truth} if predictions is None else {"truth": of_truth, "predictions": of_run}
    refuse_unknown(options.columns, known)
    _refuse_none(predictions)
    if isinstance(truth, Qrels) and run is not None:
        return join(truth, run, convention, options.threads)
    given = predictions if isinstance(predictions, Recommendations) else Recommendations(predictions)
    liked = truth if isinstance(truth, Interactions) else _liked(truth, given.n_users)
    return recommended_parts(liked, given.items, once=given.repeated == "once")


def all_at_once(truth: Truth, predictions: Any, convention: Convention, options: Options) -> Joined:
    """The same as one set of rankings, whatever memory that takes."""
    given = with_predictions(truth, predictions, convention, options)
    if isinstance(given, Joined):
        return given
    return Joined(given if isinstance(given, Rankings) else given.whole())


def _of_arrays(truth: ArrayTruth, scores: Any, options: Options) -> Rankings:
    """The rankings of labels in arrays."""
    if not hasattr(scores, "dtype"):
        _refuse_none(scores)
        if isinstance(truth, LabelsInFile) and isinstance(scores, str | os.PathLike):
            return truth.rankings_of_file(scores, options.threads)
        if _has_ids(scores):
            kind = type(scores).__name__
            raise InvalidTypeError(f"`predictions` must be an array of scores, as `truth` is of labels, not {kind}")
    return truth.rankings(scores)


def _refuse_none(predictions: Any) -> None:
    if predictions is None:
        raise InvalidInputError("`predictions` is missing: give scores, a run, or its path")


def _has_ids(predictions: Any) -> bool:
    return isinstance(predictions, str | os.PathLike | Mapping | Run) or is_frame(predictions)


def _are_items(predictions: Any) -> bool:
    """Whether predictions are recommended items, one row a user."""
    is_array = isinstance(predictions, np.ndarray) and predictions.ndim == 2
    return is_array or isinstance(predictions, Recommendations) or ragged_of(predictions, "predictions") is not None


def _liked(qrels: Qrels, n_users: int) -> Interactions:
    """Judgments as the items that users like."""
    users = qrels.queries.take(np.repeat(np.arange(len(qrels.queries)), np.diff(qrels.offsets)))
    return Interactions.of_rows(users, qrels.documents, qrels.values, n_users)


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


def as_run(predictions: Any, options: Options) -> Run:
    """A run from a path, a dict of dicts, a frame, or a run."""
    if isinstance(predictions, Run):
        return predictions
    if isinstance(predictions, str | os.PathLike):
        return read_file(Run, predictions, options.columns, options.threads)
    if isinstance(predictions, Mapping):
        return Run.from_dict(predictions)
    if is_frame(predictions):
        return Run.from_frame(predictions, options.columns, threads=options.threads)
    kind = type(predictions).__name__
    raise InvalidTypeError(
        f"`predictions` must be a path, a dict of dicts, a frame or a Run, as `truth` is of that kind, not {kind}"
    )


def _of_file(path: Any, options: Options) -> Truth:
    """A file of labels and queries, or of judgments with ids."""
    if is_parquet(path):
        return open_parquet(path, options.columns, options.memory, options.threads, options.progress)
    if is_svmlight(path):
        return read_svmlight(path, options.threads)
    return read_file(Qrels, path, options.columns, options.threads)


def _of_frame(truth: Any, options: Options) -> Truth:
    """A frame with scores is all there is; one without has judgments for a run."""
    frame = Frame(truth, options.columns, "truth")
    return ScoredRows(frame, options.threads) if frame.are_scored else table_of(Qrels, frame, options.threads)
