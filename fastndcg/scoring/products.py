"""
Products: from the numbers of users and items to the scores of a tile.

A product copies rows of users and of items to operands, whose shapes are constant, and multiplies two operands. So a
score depends on the two rows alone, wherever they stand in their operands. `PRODUCTS` lists the number formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastndcg.rankings.validation import Array


class Factors(NamedTuple):
    """What embeddings consist of. The dtypes of `users` and `items` are those that the user gave."""

    users: Array
    items: Array
    similarity: str
    item_biases: Array | None


class Product(Protocol):
    """
    Scores of one number format. A product is used by one thread.

    Attributes
    ----------
    n_columns : int
        The number of columns of operands.
    operand_dtype, score_dtype : dtype
        The dtypes of operands and of scores. Scores are float32 or float64.
    """

    @property
    def n_columns(self) -> int: ...  # noqa: D102  above

    @property
    def operand_dtype(self) -> np.dtype[Any]: ...  # noqa: D102

    @property
    def score_dtype(self) -> np.dtype[Any]: ...  # noqa: D102

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""

    def multiply(self, users: Array, items: Array, out: Array) -> None:
        """Write the scores of all rows of an operand of users for all rows of an operand of items."""


class MatrixProduct:
    """
    Dot product, cosine and euclidean distance by NumPy's matrix product.

    The bias of an item is one more column, whose number is 1 for all users. A euclidean score is u · v - |v|² / 2,
    which ranks items like the negative distance.
    """

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        dtype = np.result_type(factors.users.dtype, factors.items.dtype)
        self.operand_dtype = self.score_dtype = np.dtype("f4" if dtype == np.float32 else "f8")
        self._has_bias = factors.item_biases is not None or factors.similarity == "euclidean"
        self.n_columns = factors.users.shape[1] + self._has_bias

    def take_users(self, users: slice | Array, out: Array) -> None:
        """Write the rows of some users to the first rows of an operand."""
        rows = self._take(self._factors.users, users, out)
        if self._has_bias:
            rows[:, -1] = 1

    def take_items(self, items: slice | Array, out: Array) -> None:
        """Write the rows of some items to the first rows of an operand."""
        factors = self._factors
        rows = self._take(factors.items, items, out)
        if factors.similarity == "euclidean":
            rows[:, -1] = np.einsum("ij,ij->i", rows[:, :-1], rows[:, :-1], dtype="f8") / -2
        if factors.item_biases is not None:
            rows[:, -1] = factors.item_biases[items]

    def multiply(self, users: Array, items: Array, out: Array) -> None:
        """Write the scores of all rows of an operand of users for all rows of an operand of items."""
        np.matmul(users, items.T, out=out)

    def _take(self, factors: Array, rows: slice | Array, out: Array) -> Array:
        """Copy rows of factors to an operand, scaled to length 1 for cosine. Return these rows."""
        chosen = factors[rows]
        target = out[: len(chosen)]
        vectors = target[:, : factors.shape[1]]
        vectors[:] = chosen
        if self._factors.similarity == "cosine":
            lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors, dtype="f8"))
            vectors /= lengths[:, None].astype(vectors.dtype)
        return target


PRODUCTS: list[tuple[Callable[[Factors], bool], Callable[[Factors], Product]]] = [
    (lambda factors: True, MatrixProduct),
]


def make_product(factors: Factors) -> Product:
    """Return the product for the number format of some factors."""
    make = next(make for matches, make in PRODUCTS if matches(factors))
    return make(factors)
