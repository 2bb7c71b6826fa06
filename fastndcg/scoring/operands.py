"""Operands: copies of vectors that kernels multiply. See kernels/scoring/product.py."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array, read_only
from fastndcg.runtime.mapped_files import find_mapped_file

EXACT = {4: 1 << 24, 8: 1 << 53}  # whole numbers up to these are exact in a float of this number of bytes
OPERANDS = {"float16": "f4", "bfloat16": "f4", "float32": "f4", "float64": "f8", "int8": "f8", "uint8": "f8"}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255)}  # of whole numbers


class Factors(NamedTuple):
    """The vectors and biases of embeddings. `users` and `items` have the dtypes that the user gave."""

    users: Array
    items: Array
    similarity: str
    user_biases: Array | None
    item_biases: Array | None


class Operands(ABC):
    """The operands of one number format."""

    n_columns: int  # of operands
    operand_dtype: np.dtype[Any]  # float32 or float64, or uint64 for packed bits
    score_dtype: np.dtype[Any]  # float32 or float64
    is_distance: bool | None  # True for distances of floats, None if operands are multiplied, as kernels take it

    @abstractmethod
    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""

    @abstractmethod
    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""


class FloatOperands(Operands):
    """
    Dot product, cosine and euclidean distance.

    The bias of an item is one more column, whose number is 1 for all users. A euclidean score is the negative squared
    distance, which ranks items like the negative distance.
    """

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        self.operand_dtype = self.score_dtype = find_float_dtype(factors)
        self.is_distance = True if factors.similarity == "euclidean" else None
        self._has_bias = factors.item_biases is not None
        self.n_columns = factors.users.shape[1] + self._has_bias

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""
        rows = self._take(self._factors.users, users, out)
        if self._has_bias:
            rows[:, -1] = 1

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""
        rows = self._take(self._factors.items, items, out)
        if self._factors.item_biases is not None:
            rows[:, -1] = self._factors.item_biases[items]

    def _take(self, vectors: Array, rows: slice | Array, out: Array) -> Array:
        """Copy rows of vectors to an operand, scaled to length 1 for cosine. Return these rows."""
        values = take_rows(vectors, rows)
        operand = out[: len(values)]
        own = operand[:, : vectors.shape[1]]
        own[:] = values
        if self._factors.similarity == "cosine":
            with np.errstate(all="ignore"):  # of vectors that another thread overwrites meanwhile
                own /= np.sqrt(compute_squares(own))[:, None].astype(own.dtype)
        return np.asarray(operand)


class BitOperands(Operands):
    """Hamming distance of packed bits: the score is the negative number of bits that differ."""

    operand_dtype = np.dtype("u8")
    is_distance = None

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        n_bytes = factors.users.shape[1]
        self.n_columns = -(-n_bytes // 8)
        self.score_dtype = find_float_dtype(factors)

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""
        self._take(take_rows(self._factors.users, users), out)

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""
        self._take(take_rows(self._factors.items, items), out)

    def _take(self, values: Array, out: Array) -> None:
        """Copy packed bits to an operand, padded with 0."""
        words = out[: len(values)].view("u1")
        words[:, : values.shape[1]] = values
        words[:, values.shape[1] :] = 0


def take_rows(vectors: Array, rows: slice | Array) -> Array:
    """Return rows of vectors. Raise if they are mapped from a file that has become too short."""
    file = find_mapped_file(vectors) if isinstance(vectors, np.ndarray) and vectors.base is not None else None
    if file is not None:
        file.check()
    return vectors[rows]


def make_operands(factors: Factors) -> Operands:
    """Return the operands for the number format of some factors."""
    return BitOperands(factors) if factors.similarity == "hamming" else FloatOperands(factors)


def finish_scores(factors: Factors, users: Array, scores: Array) -> Array:
    """Return scores of the similarity, with the biases of users, for those that rank items. There is one row a user."""
    if factors.similarity == "euclidean":
        scores = -np.sqrt(np.maximum(-scores, 0))
    if factors.user_biases is not None:
        scores = (scores + factors.user_biases[users][:, None]).astype(scores.dtype)
    return scores


def compute_squares(vectors: Array) -> Array:
    """
    Return the squared length of each vector in float64.

    A kernel adds in the order of the columns: sums of NumPy depend on the number of rows.
    """
    rows = read_only(np.ascontiguousarray(vectors, "f8" if vectors.dtype == np.float64 else "f4"))
    squares = np.empty(len(rows))
    load_kernels("scoring.product").sum_squares(rows, squares)
    return squares


def name_dtype(vectors: Any) -> str:
    """Return the name of the dtype of an array or a tensor."""
    return getattr(vectors.dtype, "name", None) or str(vectors.dtype).removeprefix("torch.")


def find_float_dtype(factors: Factors, *, has_roots: bool = False) -> np.dtype[Any]:
    """
    Return the dtype of scores: float64 for vectors of float64, and for whole numbers whose sums float32 would round.

    `has_roots` is True if items are ranked by the roots of squared distances, which float32 rounds to equal numbers.
    """
    names = name_dtype(factors.users), name_dtype(factors.items)
    if factors.similarity == "hamming":
        return np.dtype("f4" if 8 * factors.users.shape[1] <= EXACT[4] else "f8")
    if all(name in LIMITS for name in names) and factors.item_biases is None:
        is_rounded = find_largest_sum(factors, names) > EXACT[4] or (has_roots and factors.similarity == "euclidean")
        return np.dtype("f8" if is_rounded else "f4")
    is_cosine = factors.similarity == "cosine"
    return np.dtype(max("f4" if is_cosine and name in LIMITS else OPERANDS[name] for name in names))  # f8 if one is


def find_largest_sum(factors: Factors, names: tuple[str, str]) -> int:
    """Return a bound of the magnitude of sums of whole numbers. Cosines are no sums."""
    (lowest_user, highest_user), (lowest_item, highest_item) = (LIMITS[name] for name in names)
    n_columns = int(factors.users.shape[1])
    if factors.similarity == "euclidean":
        return n_columns * max(highest_user - lowest_item, highest_item - lowest_user) ** 2
    if factors.similarity == "cosine":
        return 0
    return n_columns * max(-lowest_user, highest_user) * max(-lowest_item, highest_item)
