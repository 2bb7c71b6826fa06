"""Match a dense matrix of scores, users by items, with the items that each user likes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.inputs.frames import is_frame
from fastndcg.inputs.group_by_query import split_spans
from fastndcg.inputs.ragged import read_ragged
from fastndcg.inputs.recommendations.interactions import FEW_PARTS, LEAST_PART, Interactions, RankingPartitions
from fastndcg.inputs.recommendations.item_lists import Recommendations
from fastndcg.inputs.recommendations.item_selection import ItemSelection, MatchedItems
from fastndcg.inputs.records import is_records
from fastndcg.kernels.limits import MAX_RANK
from fastndcg.rankings.rankings import Rankings
from fastndcg.rankings.score_rows import ScoreRowRankings, ScoreRows
from fastndcg.rankings.validation import IN_ORDER, READY_SCORES, SCORE_DTYPES, Array, as_array, read_only
from fastndcg.runtime.mapped_files import find_mapped_file

MOST_SCORES = 1 << 21  # of a part: smaller parts spend more of the time on calls


def read_score_matrix(predictions: Any) -> Array | None:
    """Return a two-dimensional array of floats, without a copy if it is an array, and None for other predictions."""
    if isinstance(predictions, list | tuple):
        if is_records(predictions):
            return None
        try:
            array = np.asarray(predictions)
        except ValueError:  # rows that differ in length
            return None
        if array.ndim != 2 or array.dtype.kind != "f":
            return None
        _refuse_numbered_records(predictions)
        return array
    if isinstance(predictions, Recommendations) or len(getattr(predictions, "shape", ())) != 2:
        return None
    if is_frame(predictions) or not _has_floats(predictions) or read_ragged(predictions, "predictions") is not None:
        return None
    array = as_array(predictions, "predictions")
    return array.view(np.ndarray) if array.dtype.kind == "f" else None


def _refuse_numbered_records(rows: Any) -> None:
    """Raise if each row could be a record of a user, an item and a score, as well as three scores."""
    if len(rows[0]) == 3 and all(list(map(type, row)) == [int, int, float] for row in rows):
        raise InvalidInputError(
            f"`predictions` must be scores of users by items, or records with names, but its rows, such as "
            f"{shorten(rows[0])}, could be either. Give np.array(rows) for scores, or for records a frame: "
            "pandas.DataFrame(rows, columns=['user', 'item', 'score'])"
        )


def _has_floats(array: Any) -> bool:
    """Return True for an array of floats, of NumPy or of another library."""
    dtype = getattr(array, "dtype", None)
    return dtype.kind == "f" if isinstance(dtype, np.dtype) else "float" in str(dtype)


def match_scores(liked: Interactions, scores: Array, selection: ItemSelection) -> RankingPartitions:
    """Make rankings of the candidates of each user, in parts."""
    n_users, n_items = scores.shape
    if n_items > MAX_RANK:
        raise InvalidInputError(f"`predictions` must have at most {MAX_RANK} columns, but has {n_items}")
    matched = selection.match(liked, (n_users, n_items))
    is_ready = scores.dtype in READY_SCORES and scores.flags.num & IN_ORDER == IN_ORDER
    return partition_rows(scores, matched, is_ready=is_ready)


def partition_rows(scores: Any, matched: MatchedItems, *, is_ready: bool) -> RankingPartitions:
    """Make rankings of the candidates in rows of scores, in parts. `is_ready` is True if kernels can read the rows."""
    n_users, n_items = scores.shape
    work = np.arange(n_users + 1, dtype="i8") * n_items  # rows are read, or converted, whole
    size = min(max(int(work[-1]) // FEW_PARTS, LEAST_PART), MOST_SCORES)

    def new_builder() -> Callable[[int, int], Rankings]:
        return _RowBuilder(scores, matched, is_ready=is_ready).build

    return RankingPartitions(split_spans(work, size), n_users, new_builder, None, lambda: list(matched.notes))


class _RowBuilder:
    """Builds rankings of consecutive users, part after part. Scores that kernels cannot read are converted."""

    def __init__(self, scores: Any, matched: MatchedItems, *, is_ready: bool) -> None:
        self._scores = scores
        self._file = find_mapped_file(scores) if isinstance(scores, np.ndarray) else None
        self._matched = matched
        self._is_ready = is_ready
        self._converted = np.empty(0, SCORE_DTYPES.get(scores.dtype.str[1:], "f8"))

    def build(self, first: int, stop: int) -> Rankings:
        """Return the rankings of some users."""
        matched = self._matched
        users = slice(first, stop + 1)
        bounds = matched.offsets[users]
        lists = matched.candidates
        list_columns = lists.items
        list_offsets = lists.offsets
        if lists.step and len(list_offsets) > 1:
            list_columns = lists.items[list_offsets[first] : list_offsets[stop]]
            list_offsets = rebase(list_offsets[users])
        rows = ScoreRows(
            scores=self._read_rows(first, stop),
            labels=matched.labels[bounds[0] : bounds[-1]],
            offsets=rebase(bounds),
            places=matched.places[bounds[0] : bounds[-1]],
            n_columns=self._scores.shape[1],
            list_columns=list_columns,
            list_offsets=list_offsets,
            gaps=matched.gaps.items,
            gap_offsets=matched.gaps.offsets[users],
        )
        pool = None
        pool_items = None
        if matched.keeps_pool:
            liked = matched.liked
            own = liked.offsets[users]
            pool = liked.labels[own[0] : own[-1]], rebase(own)
            pool_items = liked.items[own[0] : own[-1]]
        rankings = ScoreRowRankings(rows, rebase(matched.document_offsets[users]), pool, np.arange(first, stop))
        rankings.pool_items = pool_items
        rankings.name_items = getattr(self._scores, "name_items", None)
        return rankings

    def _read_rows(self, first: int, stop: int) -> Array:
        """Return the scores of some users in one dimension, converted if kernels cannot read them."""
        if self._file is not None:
            self._file.check()
        rows = self._scores[first:stop]
        if self._is_ready:
            return read_only(rows.reshape(-1))
        if len(self._converted) < rows.size:
            self._converted = np.empty(rows.size, self._converted.dtype)
        flat = self._converted[: rows.size]
        converted = flat.reshape(rows.shape)
        with np.errstate(over="ignore"):
            np.copyto(converted, rows, casting="unsafe")
        if rows.dtype.itemsize > converted.dtype.itemsize:  # float128
            differs = (converted != rows) & (rows == rows)
            if differs.any():
                user, item = (int(places[0]) for places in np.nonzero(differs))
                raise InvalidInputError(
                    f"`predictions` must fit {converted.dtype} exactly, but predictions[{first + user}, {item}] is "
                    f"{rows[user, item]!s}. Round or rescale it"
                )
        return read_only(flat)


def rebase(offsets: Array) -> Array:
    """Return offsets that begin at 0."""
    return read_only(offsets - offsets[0])
