"""The options of an evaluation that say how its inputs are read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten, suggest_name
from fastndcg.inputs.columns import ColumnNames, name_columns
from fastndcg.inputs.frames import list_column_names
from fastndcg.inputs.table import RepeatedRun, Run
from fastndcg.named_conventions import CHOICES
from fastndcg.runtime.pickling import Picklable

ANSWERS = {  # for keywords that other programs have
    "k": "The cutoff belongs to a metric: 'ndcg@10'",
    "top_k": "The cutoff belongs to a metric: 'ndcg@10'",
    "group": "`groups` are the sizes of the queries, `query_ids` has an id for each document",
    "qid": "`query_ids` has an id for each document, `groups` the sizes of the queries",
    "weights": "Weights of queries belong to the mean: result.mean(weights=…)",
    "sample_weight": "Weights of queries belong to the mean: result.mean(weights=…)",
    "y_true": "Labels and scores are the first two arguments: evaluate(labels, scores, metrics)",
    "y_score": "Labels and scores are the first two arguments: evaluate(labels, scores, metrics)",
    "qrels": "Judgments and runs are the first two arguments: evaluate(qrels, run, metrics)",
    "run": "Judgments and runs are the first two arguments: evaluate(qrels, run, metrics)",
    "metric": "Metrics are the third argument, or metrics=",
    "n_jobs": "Threads are counted by threads=",
    "rows": "Link prediction is evaluate_pairs(…, rows=…)",
    "competitors": "Link prediction is evaluate_pairs(…, competitors=…)",
}
ANSWERS |= {"cutoff": ANSWERS["k"], "top_n": ANSWERS["k"], "qids": ANSWERS["qid"], "y_pred": ANSWERS["y_score"]}


def refuse_keywords(function: Callable[..., Any], keywords: Mapping[str, Any]) -> None:
    """Raise an error for keywords that a function does not have, with what to write in the place of the first one."""
    if not keywords:
        return
    name, value = next(iter(keywords.items()))
    if name in CHOICES:
        answer = f"It belongs to the convention: convention='default({name}={value})'"
    else:
        hint = suggest_name(name, inspect.signature(function).parameters).strip()
        answer = ANSWERS.get(name) or hint or "Leave it out"
    raise InvalidTypeError(f"`{name}` is no argument of {function.__name__}. {answer}")


@dataclass(slots=True)
class Options(Picklable):
    """
    Options for reading the truth and the predictions. See `evaluate` for most options.

    `selection` is an `ItemSelection` of `exclude`, `candidates` and `missing_truth`, None if none of these was given.
    `duplicates` is a `Duplicates`: what documents that a query of a run has twice become. With None they are errors.
    `other` is the other side: predictions, of which the columns may be known when the truth is read, or the truth. With
    `is_alone`, there are no predictions, and with None, that is not known yet.
    `is_part` is True for judgments and a run that are parts of larger ones, and may have no query in common.
    """

    offsets: Any = None
    groups: Any = None
    query_ids: Any = None
    columns: Any = None
    memory: Any = None
    threads: int | None = None
    progress: Callable[[int, int], None] | None = None
    selection: Any = None
    duplicates: Any = None
    is_part: bool = False
    other: Any = None
    is_alone: bool | None = None

    def name_columns(self, side: str) -> ColumnNames:
        """Return what is known of the columns of the truth, or of the predictions."""
        is_alone = self.is_alone if side == "truth" else None
        return name_columns(self.columns, side, beside=list_column_names(self.other), is_alone=is_alone)

    @property
    def run_kind(self) -> type[Run]:
        """The class of runs that are read."""
        return Run if self.duplicates is None else RepeatedRun

    def without_cuts(self) -> Options:
        """Return the options that predictions need: all but those that cut the truth into queries."""
        return replace(self, offsets=None, groups=None, query_ids=None)

    def check_streaming(self, *, is_streamed: bool) -> None:
        """Raise if `memory` or `progress` is given for a truth that is not streamed."""
        if self.memory is None and self.progress is None:
            return
        if not is_streamed:
            name = "memory" if self.memory is not None else "progress"
            raise InvalidInputError(
                f"`{name}` can only be used when `truth` is streamed: a Parquet or Arrow file, or a data set, with "
                "scores and labels, or when `predictions` are Embeddings or a Scorer. Leave it out"
            )
        if self.progress is not None and not callable(self.progress):
            raise InvalidTypeError(f"`progress` must be a function of two numbers, not {shorten(self.progress)}")

    def check_no_columns(self) -> None:
        """Raise if `columns` is given for a truth without columns."""
        if self.columns is not None:
            raise InvalidInputError(
                "`columns` can only be used when `truth` is a data frame or a file with columns. Leave it out"
            )

    def check_no_duplicates(self, kind: str) -> None:
        """Raise if `duplicates` is given for predictions of another kind than runs and recommended items."""
        if self.duplicates is not None:
            raise InvalidInputError(
                "`duplicates` can only be used with a run of documents with ids, or with recommended items, but "
                f"{kind}. Leave it out"
            )

    def check_no_selection(self, kind: str, remedy: str) -> None:
        """Raise if `exclude`, `candidates` or `missing_truth` is given for inputs of another kind."""
        if self.selection is not None:
            raise InvalidInputError(
                f"`{self.selection.name}` can only be used with a model or a matrix that scores all items, but {kind}. "
                f"{remedy}"
            )
