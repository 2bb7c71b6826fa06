"""Rankings: the form that every input becomes, and the only validation of arrays."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral
from typing import Any, NoReturn, TypeGuard

import numpy as np
import numpy.typing as npt

from fastndcg.casts import exact, frozen
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.ordinals import ordinals
from fastndcg.patterns import Patterns

Array = npt.NDArray[Any]

EXACT_LIMIT = 2.0**53  # above it float64 leaves out whole numbers
LABEL_DTYPES = {"b": "u1", "u1": "u1", "i1": "i1", "i2": "i2", "i4": "i4", "i8": "i8", "f4": "f4", "f8": "f8"}
LABEL_DTYPES |= {"u2": "i4", "u4": "i8", "u8": "i8", "f2": "f4"}
SCORE_DTYPES = {"b": "f4", "u1": "f4", "i1": "f4", "u2": "f4", "i2": "f4", "f2": "f4", "f4": "f4"}
SCORE_DTYPES |= {"u4": "f8", "i4": "f8", "f8": "f8"}
IN_ORDER = 0x101  # NumPy's flags of arrays that are contiguous in C's order, and aligned
LONGEST_QUERY = 2**31 - 1  # ranks are int32
NO_ARGUMENTS = ("_place_of", "are_ordinals", "n_documents", "n_labels", "n_queries")
READY_LABELS, READY_SCORES, READY_OFFSETS = (
    frozenset(map(np.dtype, codes.split())) for codes in ("u1 i1 i2 i4 i8 f4 f8", "f4 f8", "i8")
)


class Rankings:
    """
    Labels and scores of the documents of many queries, one query after the other.

    Invariants: ``offsets[0] == 0``, offsets never decrease, ``offsets[-1] == len(labels) == len(scores)``; query q
    owns documents ``offsets[q]`` up to ``offsets[q + 1]``. The arrays are read-only views of those that were given
    wherever dtype and layout allow it.

    Parameters
    ----------
    labels : (n_documents,) array of bool, int or float
        Graded judgments, 0 for not relevant.
    scores : (n_documents,) array of bool, int or float
        What the system predicts, higher is better.
    offsets : (n_queries + 1,) int array
        Where queries begin and end.
    judged : (n_documents,) bool array, optional
        Which documents have a judgment; the label of the others is 0. By default all.
    pool : ((n_judged,) array of labels, (n_queries + 1,) int array of offsets), optional
        All judged labels of each query, retrieved or not. By default the labels given.
    tie_keys : (n_documents,) int array, optional
        Stand for the documents' ids where a tie policy orders by id.
    query_ids : (n_queries,) array, optional
        Names of the queries. By default their numbers from 0.
    patterns : Patterns, optional
        What the labels stand for, where judgments are by subtopic. By default for themselves.

    Attributes
    ----------
    n_queries, n_documents, n_labels : int
        How many queries there are, how many documents in all of them, and how many labels, those of the pool included.
    are_ordinals : bool
        Whether the scores are ranks that stand for whole numbers beyond 2**53.

    Raises
    ------
    InvalidInputError
        If shapes disagree, offsets decrease or do not fit, or a value has no exact form that kernels can read.

    Examples
    --------
    >>> Rankings([3, 0, 1], [0.1, 0.9, 0.5], [0, 1, 3])
    Rankings of 2 queries, 3 documents
    """

    __slots__ = (
        "_place_of", "are_ordinals", "judged", "labels", "n_documents", "n_labels", "n_queries", "offsets", "patterns",
        "pool", "query_ids", "scores", "tie_keys",
    )  # fmt: skip
    found: Any = None  # the documents that are looked at, where their ranks are known: see ranked.py

    def __init__(
        self,
        labels: npt.ArrayLike,
        scores: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        judged: npt.ArrayLike | None = None,
        pool: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
        tie_keys: npt.ArrayLike | None = None,
        query_ids: npt.ArrayLike | None = None,
        patterns: Patterns | None = None,
    ) -> None:
        self.patterns = patterns
        self._place_of: Callable[[str, int], str] | None = None
        self.labels = as_labels(labels, "labels")
        self.scores = as_scores(scores, "scores")
        self.are_ordinals = is_wide(as_array(scores, "scores"))
        _same_length(self.scores, "scores", len(self.labels), "labels")
        self.offsets = as_offsets(offsets, "offsets", len(self.labels))
        self.n_documents, self.n_queries = len(self.labels), len(self.offsets) - 1
        self.tie_keys = None if tie_keys is None else as_whole_numbers(tie_keys, "tie_keys")
        if self.tie_keys is not None:
            _same_length(self.tie_keys, "tie_keys", len(self.labels), "labels")
        self.pool = None if pool is None else _as_pool(pool, self.n_queries)
        self.n_labels = self.n_documents + (0 if self.pool is None else len(self.pool[0]))
        self.query_ids = None if query_ids is None else read_only(as_array(query_ids, "query_ids"))
        self.judged = None if judged is None else _as_mask(judged, len(self.labels))
        if self.query_ids is not None:
            _same_length(self.query_ids, "query_ids", self.n_queries, "offsets,")
        if self.judged is not None and ((self.labels != 0) & ~self.judged).any():
            rule = "be 0 where `judged` is False: an unjudged document has no label"
            self.refuse("labels", (self.labels != 0) & ~self.judged, rule)

    @classmethod
    def of_checked(
        cls, labels: Array, scores: Array, offsets: Array, query_ids: Array | None, judged: Any = None,
        pool: Any = None, place_of: Callable[[str, int], str] | None = None,
    ) -> Rankings:  # fmt: skip
        """Make rankings of arrays that have been checked before and fit, the scores as `as_scores` gives them."""
        made = object.__new__(cls)
        made.labels, made.offsets, made.query_ids = labels, offsets, query_ids
        made.judged, made.pool, made._place_of = judged, pool, place_of
        made.n_documents = made.n_labels = len(labels)
        made.n_queries = len(offsets) - 1
        if pool is not None:
            made.n_labels += len(pool[0])
        made.tie_keys = made.patterns = None
        made.scores = read_only(scores)
        made.are_ordinals = False
        return made

    def longest(self) -> int:
        """How many documents the longest query has, retrieved or in the pool."""
        both = (self.offsets,) if self.pool is None else (self.offsets, self.pool[1])
        return max(int((offsets[1:] - offsets[:-1]).max(initial=0)) for offsets in both)

    def replace(self, **arrays: Any) -> Rankings:
        """Make the same rankings with other arrays."""
        kept = {name: getattr(self, name) for name in Rankings.__slots__ if name not in NO_ARGUMENTS}
        made = Rankings(**(kept | arrays))
        if "scores" not in arrays:
            made.are_ordinals = self.are_ordinals
        if made.n_documents == self.n_documents:
            made._place_of = self._place_of
        return made

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        for name, value in frozen(state[1]).items():
            setattr(self, name, value)

    def without_patterns(self) -> Rankings:
        """Make rankings of the highest label of each document in the place of its judgments by subtopic."""
        if self.patterns is None:
            return self
        plain, pool = self.patterns.plain, self.pool
        plain_pool = None if pool is None else (plain(pool[0]), pool[1])
        return self.replace(labels=plain(self.labels), pool=plain_pool, patterns=None)

    def placed_by(self, place_of: Callable[[str, int], str]) -> Rankings:
        """Let messages name a document's place in what the user gave: `place_of` takes an array's name and an index."""
        self._place_of = place_of
        return self

    def query_name(self, query: int) -> str:
        """What messages call a query."""
        return f"query {query}" if self.query_ids is None else f"query {self.query_ids[query]!s}"

    def document_name(self, name: str, place: int) -> str:
        """What messages call the document at a place of the array `name`: its id, or where the user's array has it."""
        return str(place) if self._place_of is None else self._place_of(name, place)

    def __repr__(self) -> str:
        return f"Rankings of {self.n_queries} queries, {self.n_documents} documents"

    def refuse(self, name: str, offenders: Array, rule: str) -> NoReturn:
        """Raise for the first offender in the array `name`: "`scores` must …, but scores[17] (query 3) is …"."""
        values, offsets = self.pool if name == "pool" and self.pool else (getattr(self, name), self.offsets)
        place = int(np.flatnonzero(offenders)[0])
        query = int(np.searchsorted(offsets, place, side="right")) - 1
        needs, _, remedy = rule.partition(": ")
        where = f"{name}[{self.document_name(name, place)}] ({self.query_name(query)}) is {values[place]!s}"
        raise InvalidInputError(f"`{name}` must {needs}, but {where}; {remedy}")


def as_labels(values: npt.ArrayLike, name: str) -> Array:
    """Labels as a read-only contiguous array of a dtype that kernels read, the given one wherever possible."""
    if is_ready(values, READY_LABELS):
        return read_only(values)
    array = as_numbers(values, name, ndim=1)
    return read_only(exact(array, LABEL_DTYPES.get(_code(array), "f8"), name))


def as_scores(values: npt.ArrayLike, name: str) -> Array:
    """Scores as a read-only contiguous float32 or float64 array; wide integers that float64 lacks as their ranks."""
    if is_ready(values, READY_SCORES):
        return read_only(values)
    array = as_numbers(values, name, ndim=1)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        return read_only(ordinals(array) if is_wide(array) else array.astype("f8"))
    return read_only(exact(array, SCORE_DTYPES.get(_code(array), "f8"), name))


def is_wide(array: Array) -> bool:
    """Whether whole numbers go beyond those that float64 keeps apart, so that their ranks stand for them."""
    if array.dtype.kind not in "iu" or array.dtype.itemsize < 8 or not array.size:
        return False
    return max(int(array.max()), -int(array.min())) > EXACT_LIMIT  # as int: float64 would round them


def as_numbers(values: npt.ArrayLike, name: str, ndim: int | None = None) -> Array:
    """An array of bool, int or float from an array or a list, or an error that says what it is instead."""
    array = as_array(values, name)
    if array.dtype.kind not in "biuf":
        raise InvalidTypeError(f"`{name}` must hold numbers, but its dtype is {array.dtype}{_first(array, name)}")
    if ndim is not None and array.ndim != ndim:
        raise InvalidInputError(f"`{name}` must have {ndim} dimension, but its shape is {array.shape}")
    if array.dtype.kind == "f" and array.dtype.itemsize >= 8 and not hasattr(values, "dtype"):
        _refuse_rounded(values, array, name)
    return array


def as_array(values: npt.ArrayLike, name: str) -> Array:
    """An array of any dtype, or an error that says why there is none; what is masked is refused."""
    if type(values) is np.ndarray:
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidInputError(
            f"`{name}` must be one array, but its rows differ in length; concatenate them and give `offsets`"
        ) from None
    except Exception as error:  # whatever the object's own conversion raises
        raise InvalidTypeError(
            f"`{name}` must be an array or a list, but {type(values).__name__} does not become one: {error}"
        ) from error
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        place = int(np.flatnonzero(np.ma.getmaskarray(values))[0])
        raise InvalidInputError(f"`{name}` must have no masked value, but {name}[{place}] is masked; fill or drop it")
    return array


def as_whole_numbers(values: npt.ArrayLike, name: str) -> Array:
    """A one-dimensional contiguous int64 array, or an error."""
    if is_ready(values, READY_OFFSETS):
        return read_only(values)
    array = as_numbers(values, name, ndim=1)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidTypeError(f"`{name}` must hold whole numbers, but its dtype is {array.dtype}; use an int array")
    return read_only(exact(array, "i8", name))


def as_offsets(values: npt.ArrayLike, name: str, n_documents: int) -> Array:
    """Offsets as int64, checked: from 0, never down, up to the number of documents. A copy, which stays as checked."""
    offsets = (values if is_ready(values, READY_OFFSETS) else as_whole_numbers(values, name)).copy()
    offsets.setflags(False)  # type: ignore[call-arg]
    if len(offsets) == 0:
        raise InvalidInputError(f"`{name}` must have one entry more than there are queries, but is empty; use [0]")
    first, last = offsets.item(0), offsets.item(-1)
    if first != 0:
        raise InvalidInputError(f"`{name}` must start at 0, but {name}[0] = {first}")
    if len(offsets) > 2 or last < 0:  # what begins at 0 and ends at the number of documents rises, if that is all
        falls = offsets[1:] < offsets[:-1]
        q = int(falls.argmax())  # `any` takes five times as long for a few
        if falls[q]:
            raise InvalidInputError(
                f"`{name}` must not decrease, but {name}[{q}] = {offsets[q]} > {name}[{q + 1}] = {offsets[q + 1]}"
            )
    if last != n_documents:
        raise InvalidInputError(
            f"`{name}` must end at the number of documents, {n_documents}, but {name}[{len(offsets) - 1}] = {last}"
        )
    if n_documents > LONGEST_QUERY and np.diff(offsets).max() > LONGEST_QUERY:
        q = int(np.argmax(np.diff(offsets)))
        raise InvalidInputError(f"a query must have at most {LONGEST_QUERY} documents, but query {q} has more")
    return offsets


def read_only(array: Array) -> Array:
    """A view that cannot be written to: numba takes writable and read-only arrays for two types."""
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # takes a third of the time of `flags.writeable = False`
    return view


def is_ready(values: npt.ArrayLike, dtypes: frozenset[np.dtype[Any]]) -> TypeGuard[Array]:
    """Whether kernels can read what was given as it is: a look that takes less time than converting for nothing."""
    return (
        type(values) is np.ndarray
        and values.ndim == 1
        and values.dtype in dtypes
        and values.flags.num & IN_ORDER == IN_ORDER
    )


def _refuse_rounded(values: npt.ArrayLike, array: Array, name: str) -> None:
    """Refuse a list whose whole numbers became floats, beside other floats, and lost digits."""
    large = np.flatnonzero((np.abs(array) >= EXACT_LIMIT) & np.isfinite(array))
    if not len(large):
        return
    given = np.asarray(values, dtype=object).reshape(-1)
    for place in large.tolist():
        if isinstance(given[place], Integral) and int(given[place]) != int(array.flat[place]):
            raise InvalidInputError(
                f"`{name}` must fit float64 exactly, but {name}[{place}] is {given[place]}; use whole numbers only"
            )


def _code(array: Array) -> str:
    return array.dtype.str[1:].replace("b1", "b")


def _same_length(array: Array, name: str, length: int, other: str) -> None:
    if array.shape != (length,):
        raise InvalidInputError(
            f"`{name}` must be as long as `{other.rstrip(',')}`{' less one' if ',' in other else ''}"
            f", {length}, but its shape is {array.shape}"
        )


def _as_mask(judged: npt.ArrayLike, n_documents: int) -> Array:
    mask = np.ascontiguousarray(as_array(judged, "judged"))
    mask = mask if mask.size else mask.astype(bool)
    if mask.dtype != np.bool_:
        raise InvalidTypeError(f"`judged` must hold bools, but its dtype is {mask.dtype}")
    _same_length(mask, "judged", n_documents, "labels")
    return read_only(mask)


def _as_pool(pool: tuple[npt.ArrayLike, npt.ArrayLike], n_queries: int) -> tuple[Array, Array]:
    if not isinstance(pool, tuple) or len(pool) != 2:
        raise InvalidTypeError("`pool` must be a tuple of all judged labels and their offsets: (labels, offsets)")
    labels = as_labels(pool[0], "pool")
    offsets = as_offsets(pool[1], "pool offsets", len(labels))
    if len(offsets) != n_queries + 1:
        rule = f"`pool` must have as many queries as `offsets`, {n_queries}"
        raise InvalidInputError(f"{rule}, but its offsets have {len(offsets) - 1}")
    return labels, offsets


def _first(array: Array, name: str) -> str:
    if array.dtype.kind != "O":
        return "; convert it to an array of int or float"
    for place, value in np.ndenumerate(array):
        if not isinstance(value, int | float | np.number | np.bool_):
            index = f"[{', '.join(map(str, place))}]" if place else ""
            return f": {name}{index} is {value!r}; use an array of int or float"
    return "; use an array of one number type"
