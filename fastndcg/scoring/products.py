"""
Products: from the vectors of users and items to operands.

A product copies rows of users and of items to operands, which the kernels multiply: see kernels/scoring/product.py.
`PRODUCTS` lists the number formats.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from fastndcg.rankings.validation import Array


class Factors(NamedTuple):
    """What embeddings consist of. `users` and `items` have the dtypes that the user gave."""

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
        float32 or float64, or uint64 for packed bits.
    score_dtype : dtype
        float32 or float64.
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

    def finish_scores(self, users: Array, scores: Array) -> None:
        """Turn scores that rank items into those of the similarity, in place. There is one row a user."""


class VectorProduct:
    """
    Dot product, cosine and euclidean distance of vectors of floats.

    The bias of an item is one more column, whose number is 1 for all users. A euclidean score is u · v - |v|² / 2,
    which ranks items like the negative distance.
    """

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        dtype = np.result_type(factors.users.dtype, factors.items.dtype)
        self.operand_dtype = self.score_dtype = np.dtype("f4" if dtype.itemsize <= 4 else "f8")
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
            rows[:, -1] = compute_squares(rows[:, :-1]) / -2
        if factors.item_biases is not None:
            biases = factors.item_biases[items]
            rows[:, -1] = biases if factors.similarity != "euclidean" else rows[:, -1] + biases

    def finish_scores(self, users: Array, scores: Array) -> None:
        """Turn scores that rank items into those of the similarity, in place. There is one row a user."""
        factors = self._factors
        if factors.similarity == "euclidean":
            vectors = np.asarray(factors.users[users], self.operand_dtype)
            np.maximum(compute_squares(vectors)[:, None] - 2 * scores, 0, out=scores, casting="same_kind")
            np.negative(np.sqrt(scores, out=scores), out=scores)
        if factors.user_biases is not None:
            scores += factors.user_biases[users][:, None]

    def _take(self, vectors: Array, rows: slice | Array, out: Array) -> Array:
        """Copy rows of vectors to an operand, scaled to length 1 for cosine. Return these rows."""
        chosen = vectors[rows]
        operand = out[: len(chosen)]
        own = operand[:, : vectors.shape[1]]
        own[:] = chosen
        if self._factors.similarity == "cosine":
            own /= np.sqrt(compute_squares(own))[:, None].astype(own.dtype)
        return operand


def compute_squares(vectors: Array) -> Array:
    """Return the squared length of each vector in float64."""
    return np.einsum("ij,ij->i", vectors, vectors, dtype="f8")


PRODUCTS: list[tuple[Callable[[Factors], bool], Callable[[Factors], Product]]] = [
    (lambda factors: True, VectorProduct),
]


def make_product(factors: Factors) -> Product:
    """Return the product for the number format of some factors."""
    make = next(make for matches, make in PRODUCTS if matches(factors))
    return make(factors)
