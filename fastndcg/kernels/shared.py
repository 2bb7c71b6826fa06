"""What kernels share with their callers: the highest rank, and arrays of inputs in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from fastndcg.errors import InvalidInputError

if TYPE_CHECKING:  # the command line parses metrics without NumPy
    import numpy as np

AUTO = 0  # the ranking method is chosen by its cost: see ranking/rank.py
MAX_RANK = 2**31 - 1  # ranks are int32: the longest query, and the cutoff of kernels for metrics without one


class IdBytes(NamedTuple):
    """Ids as kernels read them: cut by `offsets`, or `width` bytes each."""

    data: np.ndarray
    offsets: np.ndarray
    width: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, tuple(self)


def _restore(data: np.ndarray, offsets: np.ndarray, width: int) -> IdBytes:
    for array in (data, offsets):  # pickle makes arrays that can be written
        array.flags.writeable = False
    starts, ends = offsets[:-1], offsets[1:]
    if not width and not (len(offsets) and offsets[0] >= 0 and offsets[-1] <= len(data) and (starts <= ends).all()):
        raise InvalidInputError("ids of a pickle must be cut by rising `offsets` within their bytes. Make it anew")
    return IdBytes(data, offsets, width)


class RankCounts(NamedTuple):
    """
    Counts for labelled candidates, query after query.

    above   (n_labels,) int32, number of the query's candidates with a higher score
    ties    (n_labels,) int32, number of the query's candidates with the same score, the labelled one included
    before  (n_labels,) int32, number of these that come before the labelled one in the input
    """

    above: np.ndarray
    ties: np.ndarray
    before: np.ndarray


class JudgedIds(NamedTuple):
    """Judgments as the kernel `match` reads them."""

    ids: IdBytes
    offsets: np.ndarray
    labels: np.ndarray


class RetrievedIds(NamedTuple):
    """A run as the kernel `match` reads it."""

    ids: IdBytes
    offsets: np.ndarray


class MatchedLabels(NamedTuple):
    """The output of the kernel `match`."""

    labels: np.ndarray
    judged: np.ndarray


class LineOutput(NamedTuple):
    """The output of the kernel `read_lines`: see text_lines.py."""

    queries: np.ndarray
    query_ends: np.ndarray
    firsts: np.ndarray
    documents: np.ndarray
    ends: np.ndarray
    values: np.ndarray
    lines: np.ndarray
    hard: np.ndarray
    counts: np.ndarray
