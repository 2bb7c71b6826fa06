"""
Products: from the vectors of users and items to operands.

A product copies rows of users and of items to operands, which the kernels multiply: see kernels/scoring/product.py.
`PRODUCTS` lists the number formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array

EXACT = {4: 1 << 24, 8: 1 << 53}  # whole numbers up to these are exact in a float of this number of bytes
MOST_SUM = 1 << 31  # a sum of int32 is below
SQUARE_SHIFT = 14  # bits of the lower part of a squared length, which is stored as two int16

# the dtype of operands by the dtype of vectors, and the largest magnitude of a whole number
OPERANDS = {"float16": "f4", "bfloat16": "f4", "float32": "f4", "float64": "f8", "int8": "f8", "uint8": "f8"}
LARGEST = {"int8": 128, "uint8": 255}


class Factors(NamedTuple):
    """The vectors and biases of embeddings. `users` and `items` have the dtypes that the user gave."""

    users: Array
    items: Array
    similarity: str
    user_biases: Array | None
    item_biases: Array | None


class Product(Protocol):
    """
    The operands of one number format.

    Attributes
    ----------
    n_columns : int
        The number of columns of operands.
    operand_dtype : dtype
        float32 or float64, int32 for pairs of int16, or uint64 for packed bits.
    score_dtype : dtype
        float32 or float64.
    is_distance : bool or None
        True if floats are compared by their distance, None if operands are multiplied, as kernels take it.
    """

    @property
    def n_columns(self) -> int: ...  # noqa: D102  above

    @property
    def operand_dtype(self) -> np.dtype[Any]: ...  # noqa: D102

    @property
    def score_dtype(self) -> np.dtype[Any]: ...  # noqa: D102

    @property
    def is_distance(self) -> bool | None: ...  # noqa: D102

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""

    def finish_scores(self, users: Array, scores: Array) -> None:
        """Turn scores that rank items into those of the similarity, in place. There is one row a user."""


class VectorProduct:
    """
    Dot product, cosine and euclidean distance of vectors of floats.

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

    def finish_scores(self, users: Array, scores: Array) -> None:
        """Turn scores that rank items into those of the similarity, in place. There is one row a user."""
        if self.is_distance:
            write_distances(-scores, scores)
        add_user_biases(self._factors, users, scores)

    def _take(self, vectors: Array, rows: slice | Array, out: Array) -> Array:
        """Copy rows of vectors to an operand, scaled to length 1 for cosine. Return these rows."""
        values = vectors[rows]
        operand = out[: len(values)]
        own = operand[:, : vectors.shape[1]]
        own[:] = values
        if self._factors.similarity == "cosine":
            with ignore_warnings():
                own /= np.sqrt(compute_squares(own))[:, None].astype(own.dtype)
        return np.asarray(operand)


class IntegerProduct:
    """
    Dot product and euclidean distance of vectors of int8 or uint8, with exact sums.

    An element of an operand has two columns, as int16. A euclidean score is 2 u · v - |v|², whose squared length is one
    more pair.
    """

    operand_dtype = np.dtype("i4")
    is_distance = None  # whose squared length is a pair, as the sums are exact

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        self._has_squares = factors.similarity == "euclidean"
        self._n_pairs = (factors.users.shape[1] + 1) // 2
        self.n_columns = self._n_pairs + self._has_squares
        self.score_dtype = np.dtype("f4" if find_largest_sum(factors) <= EXACT[4] else "f8")

    @staticmethod
    def has_integer_sums(factors: Factors) -> bool:
        """Return True for whole numbers whose sums fit int32."""
        are_whole = factors.users.dtype.name in LARGEST and factors.items.dtype.name in LARGEST
        if not are_whole or factors.similarity == "cosine" or factors.item_biases is not None:
            return False
        square = LARGEST[factors.items.dtype.name] ** 2 * factors.items.shape[1]
        has_square = factors.similarity != "euclidean" or square >> SQUARE_SHIFT < 1 << 15
        return has_square and find_largest_sum(factors) < MOST_SUM

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""
        pairs = self._take(self._factors.users, users, out)
        if self._has_squares:
            pairs[:, -2] = -(1 << SQUARE_SHIFT)
            pairs[:, -1] = -1

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""
        pairs = self._take(self._factors.items, items, out)
        if self._has_squares:
            squares = compute_squares(pairs[:, :-2]).astype("i8")
            pairs *= 2
            pairs[:, -2] = squares >> SQUARE_SHIFT
            pairs[:, -1] = squares & ((1 << SQUARE_SHIFT) - 1)

    def finish_scores(self, users: Array, scores: Array) -> None:
        """Turn scores that rank items into those of the similarity, in place. There is one row a user."""
        if self._has_squares:
            write_distances(compute_squares(self._factors.users[users])[:, None] - scores, scores)
        add_user_biases(self._factors, users, scores)

    def _take(self, vectors: Array, rows: slice | Array, out: Array) -> Array:
        """Copy rows of vectors to an operand, padded with 0. Return these rows as int16."""
        values = vectors[rows]
        pairs = out[: len(values)].view("i2")
        pairs[:, : values.shape[1]] = values
        pairs[:, values.shape[1] :] = 0
        return np.asarray(pairs)


class BitProduct:
    """Hamming distance of packed bits: the score is the negative number of bits that differ."""

    operand_dtype = np.dtype("u8")
    is_distance = None

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        n_bytes = factors.users.shape[1]
        self.n_columns = -(-n_bytes // 8)
        self.score_dtype = np.dtype("f4" if 8 * n_bytes <= EXACT[4] else "f8")

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""
        self._take(self._factors.users[users], out)

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""
        self._take(self._factors.items[items], out)

    def finish_scores(self, users: Array, scores: Array) -> None:
        """Add the biases of users, in place. There is one row a user."""
        add_user_biases(self._factors, users, scores)

    def _take(self, values: Array, out: Array) -> None:
        """Copy packed bits to an operand, padded with 0."""
        words = out[: len(values)].view("u1")
        words[:, : values.shape[1]] = values
        words[:, values.shape[1] :] = 0


def ignore_warnings() -> np.errstate:
    """Return a context without warnings. They come only from vectors that another thread overwrites meanwhile."""
    return np.errstate(all="ignore")


def compute_squares(vectors: Array) -> Array:
    """
    Return the squared length of each vector in float64.

    A kernel adds in the order of the columns: sums of NumPy depend on the number of rows.
    """
    rows = read_only(np.ascontiguousarray(vectors, "f8" if vectors.dtype == np.float64 else "f4"))
    squares = np.empty(len(rows))
    load_kernels("scoring.product").sum_squares(rows, squares)
    return squares


def write_distances(squares: Array, out: Array) -> None:
    """Write the negative roots of squared distances."""
    np.maximum(squares, 0, out=out, casting="same_kind")
    np.negative(np.sqrt(out, out=out), out=out)


def add_user_biases(factors: Factors, users: Array, scores: Array) -> None:
    """Add the biases of users to scores with one row a user, in place."""
    if factors.user_biases is not None:
        scores += factors.user_biases[users][:, None]


def name_dtype(vectors: Any) -> str:
    """Return the name of the dtype of an array or a tensor."""
    return getattr(vectors.dtype, "name", None) or str(vectors.dtype).removeprefix("torch.")


def find_float_dtype(factors: Factors) -> np.dtype[Any]:
    """Return the dtype of operands of floats: float64 for float64, and for whole numbers if their sums are exact."""
    names = [name_dtype(vectors) for vectors in (factors.users, factors.items)]
    is_cosine = factors.similarity == "cosine"
    return np.dtype(max("f4" if is_cosine and name in LARGEST else OPERANDS[name] for name in names))  # f8 if one is


def find_largest_sum(factors: Factors) -> int:
    """Return a bound of the magnitude of sums of whole numbers."""
    users, items = (LARGEST[name_dtype(vectors)] for vectors in (factors.users, factors.items))
    n_columns = int(factors.users.shape[1])
    if factors.similarity == "euclidean":
        return n_columns * (2 * users * items + items * items)
    return n_columns * users * items


PRODUCTS: list[tuple[Callable[[Factors], bool], Callable[[Factors], Product]]] = [
    (lambda factors: factors.similarity == "hamming", BitProduct),
    (IntegerProduct.has_integer_sums, IntegerProduct),
    (lambda factors: True, VectorProduct),
]


def make_product(factors: Factors) -> Product:
    """Return the product for the number format of some factors."""
    make = next(make for matches, make in PRODUCTS if matches(factors))
    return make(factors)
