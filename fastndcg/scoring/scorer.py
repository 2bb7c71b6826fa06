"""Scorer: any function that scores users against all items."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.options import Options
from fastndcg.inputs.recommendations.models import RankTask
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.known_ranks import RankCounts
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import LONGEST_QUERY, Array, as_array
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.threads import check_threads, run_all
from fastndcg.scoring.part_progress import follow
from fastndcg.scoring.products import name_dtype
from fastndcg.scoring.ranks import read_labelled_rows
from fastndcg.scoring.tiles import Columns, read_memory
from fastndcg.scoring.top_items import ScoringModel, read_ids
from fastndcg.scoring.top_k import Leaders, TopScores, make_top_scores
from fastndcg.scoring.torch_product import is_tensor

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
    ) -> None:
        if not callable(function):
            raise InvalidTypeError(f"`function` must be a function of a slice of users, not {shorten(function)}")
        self.function = function
        self.n_items = _check_number(n_items, "n_items")
        if query_ids is not None:
            query_ids = IdColumn.of(query_ids, "`query_ids`")
            n_users = len(query_ids) if n_users is None else n_users
        self.n_users = 0 if n_users is None else _check_number(n_users, "n_users")
        self.query_ids = read_ids(query_ids, "query_ids", self.n_users)
        self.document_ids = read_ids(document_ids, "document_ids", self.n_items)
        self.leaves_query_out = bool(leave_query_out)

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
        fitted.n_users = _check_number(n_users, "n_users")
        return fitted

    @property
    def score_dtype(self) -> np.dtype[Any]:
        """The dtype of scores of whole rows."""
        return np.dtype("f8")

    def score_rows(self, users: Array) -> Array:
        """
        Return the scores of some users for all items.

        Parameters
        ----------
        users : (n,) int array
            The numbers of users.

        Returns
        -------
        (n, n_items) array
            A row for each user.
        """
        out = np.empty((len(users), self.n_items))
        starts = np.flatnonzero(np.diff(users, prepend=-2) != 1).tolist()
        for start, stop in pairwise([*starts, len(users)]):  # consecutive users
            for first in range(start, stop, MOST_USERS):
                last = min(first + MOST_USERS, stop)
                out[first:last] = self._score(int(users[first]), int(users[last - 1]) + 1)
        return out

    def count_ranks(self, task: RankTask, options: Options) -> RankCounts:
        """
        Count for each labelled candidate the candidates above and at its place.

        Parameters
        ----------
        task : RankTask
            The users, and their labelled candidates.
        options : Options
            The memory, the threads and the function for progress.

        Returns
        -------
        RankCounts
            Counts for the labelled candidates, user after user.
        """
        rows = read_labelled_rows(task, self.n_items)
        columns = rows.columns
        n_labels = len(rows.items)
        counts = RankCounts(*(np.zeros(n_labels, "i4") for _ in range(3)))
        row_numbers = np.full(self.n_users, -1)
        row_numbers[rows.users] = np.arange(len(rows.users))
        kernels = load_kernels("scoring.count_rows")
        threads = check_threads(options.threads)

        def count(scores: Array, numbers: Array) -> None:
            levels = np.empty(n_labels, scores.dtype)
            labelled = rows.labelled_columns, rows.offsets, levels

            def make_worker() -> Callable[[tuple[int, int]], None]:
                scratch = np.empty((2, kernels.CHUNK), scores.dtype)
                arguments = columns.kernel_lists, labelled, tuple(scratch), tuple(counts)
                return lambda span: kernels.count_rows(scores, numbers, span, *arguments)

            spans = list_spans(len(scores))
            run_all(spans, make_worker, min(threads, len(spans)))

        for first, stop in self._track(np.unique(rows.users), options):
            numbers = read_only(row_numbers[first:stop])
            count(read_only(columns.take_scores(self._score(first, stop))), numbers)
        return RankCounts(*map(read_only, counts))

    def find_top(self, users: Array, columns: Columns, k: int, options: Options) -> TopScores:
        """
        Return the k best candidates of each user, with the scores that the function returned.

        Parameters
        ----------
        users : (n_users,) int array
            The numbers of users.
        columns : Columns
            The candidates.
        k : int
            The number of candidates.
        options : Options
            The memory and the threads.

        Returns
        -------
        TopScores
            Items and scores in rank order.

        Raises
        ------
        InvalidInputError
            If the number of users is not known.
        """
        if not self.n_users:
            raise InvalidInputError("`n_users` must be given for `top`. Give it to the Scorer")
        k = min(k, columns.n_columns)
        best = make_top_scores(len(users), k, np.dtype("f8"))
        kernels = load_kernels("scoring.top")
        threads = check_threads(options.threads)
        for first, stop in self._track(users, options):
            scores = read_only(columns.take_scores(self._score(first, stop)))

            def make_worker(scores: Array = scores, first: int = first) -> Callable[[tuple[int, int]], None]:
                chunk, row = (np.empty(self.n_items + kernels.WIDE, scores.dtype) for _ in range(2))

                def find(span: tuple[int, int]) -> None:
                    leaders = Leaders(span[1] - span[0], k, scores.dtype)
                    scratch = chunk, row, leaders.sort_buffers
                    own = scores[slice(*span)]
                    kernels.find_row_tops(own, first + span[0], columns.kernel_lists, k, scratch, leaders.arrays)
                    own_users = slice(first + span[0], first + span[1])
                    leaders.write(best.items[own_users], best.scores[own_users])

                return find

            spans = list_spans(stop - first)
            run_all(spans, make_worker, min(threads, len(spans)))
        columns.restore_items(best.items)
        return best

    def _track(self, users: Array, options: Options) -> Iterator[tuple[int, int]]:
        """Yield slices of consecutive users that have one of some users, with progress."""
        size = min(max(read_memory(options) // (self.n_items * SCORE_BYTES), 1), MOST_USERS)
        blocks = np.unique(users // size).tolist()
        slices = [(block * size, min(block * size + size, self.n_users)) for block in blocks]
        with follow(slices, self.n_users, options) as followed:
            yield from followed.iterate()

    def _score(self, first: int, stop: int) -> Array:
        """Return the scores of consecutive users, checked, as float32 or float64."""
        block = self.function(slice(first, stop))
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
        if scores.shape != (stop - first, self.n_items):
            raise InvalidInputError(
                f"the scores {where} must have shape ({stop - first}, {self.n_items}), one row per user and one column "
                f"per item, but `function` returned {scores.shape}. Return a score for each item"
            )
        if scores.dtype.kind not in "fiu" or scores.dtype.itemsize > SCORE_BYTES:
            raise InvalidTypeError(
                f"the scores {where} must be floats or integers, but are of dtype {scores.dtype}. Cast them to float32"
            )
        is_small = scores.dtype.kind == "f" and scores.dtype.itemsize <= 4
        converted = np.ascontiguousarray(scores, "f4" if is_small else "f8")
        if scores.dtype.kind in "iu" and scores.dtype.itemsize == SCORE_BYTES and (converted != scores).any():
            raise InvalidInputError(f"the scores {where} must fit float64, but one does not. Cast them to float")
        is_nan = np.isnan(converted)
        if is_nan.any():
            row, item = (int(places[0]) for places in np.nonzero(is_nan))
            raise InvalidInputError(
                f"the score of user {first + row} for item {item} must be a number, but is NaN. Find out where it "
                "comes from, or return -inf for items that do not count"
            )
        return read_only(converted)


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


def list_spans(n_rows: int) -> list[tuple[int, int]]:
    """Return the rows that a thread takes at once, from the first up to a stop."""
    return [(first, min(first + ROWS_OF_SPAN, n_rows)) for first in range(0, n_rows, ROWS_OF_SPAN)]


def _check_number(value: Any, name: str) -> int:
    """Return a number of users or items. Raise if it is not from 1 to the most that ranks can count."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InvalidTypeError(f"`{name}` must be a whole number, not {shorten(value)}")
    if not 1 <= value <= LONGEST_QUERY:
        raise InvalidInputError(f"`{name}` must be from 1 to {LONGEST_QUERY}, not {value}")
    return int(value)
