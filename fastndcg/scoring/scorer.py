"""Scorer: any function that scores users against all items."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from fastndcg.choices import MissingTruth
from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.messages import Options
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.rankings.validation import Array, as_array, check_whole_number, read_only
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads, run_all
from fastndcg.scoring.consumers import CandidateColumns, Consumer, Source
from fastndcg.scoring.embeddings import ScoringModel, read_ids
from fastndcg.scoring.sources import MOST_ITEMS, cut, iterate, make_aligned, name_dtype, read_memory
from fastndcg.scoring.vectors import is_tensor

MOST_USERS = 1024  # of a slice
SCORE_BYTES = 8  # of a score that a model may return
SMALL_FLOATS = ("bfloat16", "float8_e4m3fn", "float8_e5m2")  # that NumPy lacks
ROWS_OF_SPAN = 32  # that a thread counts at once


class Scorer(ScoringModel):
    """
    A function that scores users for all items, as predictions. See `Embeddings` for vectors.

    Any number of threads may use one at once, if they may call the function at once.

    Parameters
    ----------
    function : callable
        Called with a slice of users, such as ``slice(0, 256)``. It returns their scores for all items: an array of
        floats or integers of NumPy or torch, with one row a user. It is called by one thread, for rising slices.
    n_items : int
        The number of items.
    n_users : int, optional
        The number of users. By default that of the truth, or of `query_ids`. `top` needs it.
    query_ids, document_ids : sequence of str or int, optional
        An id for each user and for each item, as in the truth. By default they are numbered from 0.
    leave_query_out : bool, default False
        Where queries are documents: leave the document with the query's id out of its ranking. Without ids, document u
        is query u.
    exclude, candidates, missing_truth
        See `Scores`. If the model has ids, and the truth too, items are ids, except in matrices and masks.
    memory : int or str, optional
        The number of bytes for scores, such as "1GB". By default 64 MiB.

    Raises
    ------
    InvalidInputError
        If a number is not positive, or ids do not fit. While scores are computed: if they have another shape, or one of
        them is NaN. An item that is no candidate may have any other score.

    Examples
    --------
    >>> scores = np.array([[0.9, 0.5, 0.1], [0.2, 0.1, 0.3]])
    >>> model = fn.Scorer(lambda users: scores[users], n_items=3)
    >>> fn.evaluate(fn.Interactions([1, 2], offsets=[0, 1, 2]), model, "rr").mean()
    {'RR': 0.75}
    """

    __slots__ = ("function",)

    def __init__(
        self,
        function: Callable[[slice], Any],
        *,
        n_items: int,
        n_users: int | None = None,
        query_ids: Any = None,
        document_ids: Any = None,
        leave_query_out: bool = False,
        exclude: Any = None,
        candidates: Any = None,
        missing_truth: MissingTruth = "raise",
        memory: int | str | None = None,
    ) -> None:
        if not callable(function):
            raise InvalidTypeError(f"`function` must be a function of a slice of users, not {shorten(function)}")
        self.function = function
        self.n_items = check_whole_number(n_items, "n_items", 1, MAX_RANK)
        if query_ids is not None:
            query_ids = IdColumn.of(query_ids, "`query_ids`")
            n_users = len(query_ids) if n_users is None else n_users
        self.n_users = 0 if n_users is None else check_whole_number(n_users, "n_users", 1, MAX_RANK)
        self.query_ids = read_ids(query_ids, "query_ids", self.n_users)
        self.document_ids = read_ids(document_ids, "document_ids", self.n_items)
        self.leaves_query_out = bool(leave_query_out)
        self._select(exclude, candidates, missing_truth, memory)

    def __repr__(self) -> str:
        return f"Scorer of {self.n_users or 'any number of'} users, {self.n_items} items"

    def fit_users(self, n_users: int) -> Scorer:
        """
        Return the scorer for a number of users, if it was made without one.

        Parameters
        ----------
        n_users : int
            The number of users.

        Returns
        -------
        Scorer
            This scorer, or a copy with users.
        """
        if self.n_users:
            return self
        fitted = copy.copy(self)
        fitted.n_users = check_whole_number(n_users, "n_users", 1, MAX_RANK)
        return fitted

    def make_source(self) -> Source:
        """Return what gives the scores."""
        return FunctionSource(self.function, self.n_users, self.n_items)


class FunctionSource(Source):
    """Gives the scores that a function returns for slices of users."""

    score_dtype = np.dtype("f8")

    def __init__(self, function: Callable[[slice], Any], n_users: int, n_items: int) -> None:
        self._function = function
        self._n_users = n_users
        self._n_items = n_items

    def give(self, consumer: Consumer, users: Array, columns: CandidateColumns, options: Options) -> None:
        """Give a consumer the scores of users, which rise, for columns. The function is called for users in blocks."""
        threads = check_threads(options.threads)
        size = min(max(read_memory(options) // (self._n_items * SCORE_BYTES), 1), MOST_USERS)
        starts = np.flatnonzero(np.diff(users // size, prepend=-1))
        for first, stop in iterate(list(pairwise([*starts.tolist(), len(users)])), self._n_users, options):
            self._give_block(consumer, users, columns, (first, stop), threads)

    def _give_block(
        self, consumer: Consumer, users: Array, columns: CandidateColumns, rows: tuple[int, int], threads: int
    ) -> None:
        """Give the scores of a block of rows. They are freed at its end: two blocks would exceed the memory."""
        first, stop = rows
        first_user = int(users[first])
        scores = self._score(first_user, int(users[stop - 1]) + 1)
        if len(scores) != stop - first:
            scores = scores[users[first:stop] - first_user]
        if columns.items is not None:
            scores = scores[:, columns.items]
        scores = read_only(np.ascontiguousarray(scores))
        spans = cut(stop - first, ROWS_OF_SPAN)
        run_all(spans, partial(self._make_worker, consumer, first, scores), min(threads, max(len(spans), 1)))

    @staticmethod
    def _make_worker(consumer: Consumer, first_row: int, scores: Array) -> Callable[[tuple[int, int]], None]:
        """Return a function that gives a span of a block of rows."""
        dtype = scores.dtype
        scratch = make_aligned(MOST_ITEMS, dtype), np.zeros(MOST_ITEMS, dtype)
        nothing = np.empty(0, dtype)

        def work(span: tuple[int, int]) -> None:
            own = scores[slice(*span)]
            state = consumer.begin(first_row + span[0], first_row + span[1], own)
            consumer.take(state, (nothing, nothing, own, *own.shape, 0, 0, None), scratch)
            consumer.end(state)

        return work

    def _score(self, first: int, stop: int) -> Array:
        """Return the scores of consecutive users, checked, as float32 or float64."""
        block = self._function(slice(first, stop))
        where = f"of users {first} to {stop - 1}" if stop - first > 1 else f"of user {first}"
        if is_tensor(block):
            block = _read_tensor(block, where)
        if block is None or hasattr(block, "tocsr"):
            kind = "None" if block is None else "a sparse matrix"
            raise InvalidTypeError(
                f"the scores {where} must be an array or a tensor, but `function` returned {kind}. Return a score for "
                "each item"
            )
        scores = as_array(block, "scores")
        if scores.dtype.name in SMALL_FLOATS:
            scores = scores.astype("f4")
        if scores.shape != (stop - first, self._n_items):
            raise InvalidInputError(
                f"the scores {where} must have shape ({stop - first}, {self._n_items}), one row per user and one "
                f"column per item, but `function` returned {scores.shape}. Return a score for each item"
            )
        if scores.dtype.kind not in "fiu" or scores.dtype.itemsize > SCORE_BYTES:
            raise InvalidTypeError(
                f"the scores {where} must be floats or integers, but are of dtype {scores.dtype}. Cast them to float32"
            )
        is_small = scores.dtype.kind == "f" and scores.dtype.itemsize <= 4
        converted = np.ascontiguousarray(scores, "f4" if is_small else "f8")
        if scores.dtype.kind in "iu" and scores.dtype.itemsize == SCORE_BYTES:
            with np.errstate(invalid="ignore"):  # of 2**63, which is compared for itself
                is_rounded = (converted.astype(scores.dtype) != scores) | (converted >= np.iinfo(scores.dtype).max)
            if is_rounded.any():
                row, item = (int(places[0]) for places in np.nonzero(is_rounded))
                raise InvalidInputError(
                    f"the score of user {first + row} for item {item} must fit float64 exactly, but is "
                    f"{scores[row, item]}. Round or rescale it, or cast the scores to float"
                )
        is_nan = np.isnan(converted)
        if is_nan.any():
            row, item = (int(places[0]) for places in np.nonzero(is_nan))
            raise InvalidInputError(
                f"the score of user {first + row} for item {item} must be a number, but is NaN. Find out where it "
                "comes from, or return -inf for items that do not count"
            )
        return converted


def _read_tensor(block: Any, where: str) -> Array:
    """Return the scores in a tensor as an array, whatever device, layout and view it has."""
    try:
        block = block.detach().cpu()
        block = block.float() if name_dtype(block) in SMALL_FLOATS else block.resolve_conj().resolve_neg()
        return np.asarray(block.numpy())
    except Exception as error:  # of sparse, meta, quantised and nested tensors, and of dtypes that NumPy lacks
        kind = f"{block.dtype}, layout {block.layout}, on {block.device}"
        raise InvalidTypeError(
            f"the scores {where} must be a dense tensor of floats with values, but are {kind}: {show_name(error)}. "
            "Return scores.to_dense().float()"
        ) from None
