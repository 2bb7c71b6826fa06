"""Products of torch: operands of some users and some items on the device of the vectors."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings.validation import LONGEST_QUERY, Array
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.scoring.products import (
    EXACT,
    LARGEST,
    OPERANDS,
    Factors,
    find_float_dtype,
    find_largest_sum,
    name_dtype,
)

BLOCK_ROWS = 1 << 14  # that are checked at once
BYTE_BITS = 8


def load_torch() -> Any:
    """Return the module torch."""
    return optional_import("torch", "evaluating tensors", "torch")


def is_tensor(value: Any) -> bool:
    """Return True for a tensor of torch."""
    return hasattr(value, "detach") and hasattr(value, "device")


def read_tensor(values: Any, name: str) -> Any:
    """Return vectors as a tensor with a row for each, without gradients and without a copy."""
    torch = load_torch()
    if values.layout != torch.strided:
        raise InvalidTypeError(f"`{name}` must be a dense tensor, but its layout is {values.layout}. Take to_dense()")
    if values.ndim != 2 or not values.shape[1]:
        raise InvalidInputError(
            f"`{name}` must have one row per vector and a column or more, but its shape is {tuple(values.shape)}"
        )
    if name_dtype(values) not in OPERANDS:
        raise InvalidTypeError(
            f"`{name}` must be of dtype {', '.join(OPERANDS)}, but is {values.dtype}. Take {name}.float()"
        )
    if len(values) > LONGEST_QUERY:
        raise InvalidInputError(f"`{name}` must have at most {LONGEST_QUERY} rows, but has {len(values)}")
    return values.detach()


def check_tensors(users: Any, items: Any) -> None:
    """Raise unless both vectors are tensors of one device, or none is a tensor."""
    if is_tensor(users) != is_tensor(items):
        raise InvalidTypeError(
            f"`users` and `items` must both be tensors of torch, or both be arrays, but are {type(users).__name__} and "
            f"{type(items).__name__}. Take users.numpy(force=True), or torch.from_numpy(items)"
        )
    if is_tensor(users) and users.device != items.device:
        raise InvalidInputError(
            f"`users` and `items` must be on one device, but are on {users.device} and {items.device}. Move one"
        )


def iterate_blocks(vectors: Any) -> Iterator[tuple[int, Any]]:
    """Yield consecutive rows as floats, with the number of the first one."""
    dtype = read_dtype("f8" if name_dtype(vectors) == "float64" else "f4")
    for start in range(0, len(vectors), BLOCK_ROWS):
        yield start, vectors[start : start + BLOCK_ROWS].to(dtype)


def read_dtype(dtype: Any) -> Any:
    """Return the dtype of torch for a dtype of NumPy."""
    torch = load_torch()
    return torch.float64 if np.dtype(dtype) == np.float64 else torch.float32


@contextlib.contextmanager
def full_precision(device: Any, *, allows_tf32: bool) -> Iterator[None]:
    """Multiply float32 as float32 or as TF32, whatever autocast and precision the user has set."""
    torch = load_torch()
    precision = torch.get_float32_matmul_precision()
    own_precision = "high" if allows_tf32 else "highest"
    with torch.no_grad(), torch.autocast(device.type, enabled=False):
        if precision != own_precision:
            torch.set_float32_matmul_precision(own_precision)
        try:
            yield
        finally:
            if precision != own_precision:
                torch.set_float32_matmul_precision(precision)


class TorchProduct:
    """
    The operands of vectors in torch, as float32 or float64.

    Whole numbers are exact where their sums are exact in float32, else they are float64. Packed bits are -1 and 1.
    """

    def __init__(self, factors: Factors) -> None:
        self._factors = factors
        self._torch = load_torch()
        self.device: Any = factors.users.device
        self.score_dtype = find_operand_dtype(factors)
        self.dtype = read_dtype(self.score_dtype)
        n_columns = factors.users.shape[1]
        self._is_packed = factors.similarity == "hamming"
        self._n_own = n_columns * BYTE_BITS if self._is_packed else n_columns
        self._is_distance = factors.similarity == "euclidean"
        self._has_bias = factors.item_biases is not None
        self.n_columns = self._n_own + self._has_bias

    def take_users(self, users: Array, n_rows: int) -> Any:
        """Return an operand with the rows of some users, filled with 0 up to a number of rows."""
        operand = self._take(self._factors.users, self.move(users), n_rows)
        if self._has_bias:
            operand[:, -1] = 1
        return operand

    def take_items(self, items: slice | Array, n_rows: int) -> Any:
        """Return an operand with the rows of some items, filled with 0 up to a number of rows."""
        factors = self._factors
        rows = items if isinstance(items, slice) else self.move(items)
        operand = self._take(factors.items, rows, n_rows)
        if factors.item_biases is not None:
            biases = self.move(factors.item_biases[items])
            operand[: len(biases), -1] += biases.to(self.dtype)
        return operand

    def multiply(self, users: Any, items: Any) -> Any:
        """
        Return the scores of all rows of two operands.

        Distances are added up from differences, which loses no digits where vectors are far from 0.
        """
        if self._is_distance:
            return -self._torch.cdist(users, items, compute_mode="donot_use_mm_for_euclid_dist")
        return users @ items.T

    def finish_scores(self, users: Array, scores: Any) -> Any:
        """Return scores of the similarity for scores that rank items. There is one row a user."""
        factors = self._factors
        if self._is_packed:
            scores = (scores - self._n_own) / 2
        if factors.user_biases is not None:
            scores = scores + self.move(factors.user_biases[users]).to(self.dtype)[:, None]
        return scores

    def move(self, array: Array) -> Any:
        """Return an array as a tensor on the device of the vectors."""
        copied = np.array(array, "f4" if array.dtype.kind == "f" and self.score_dtype.itemsize == 4 else None)
        return self._torch.from_numpy(copied).to(self.device)

    def _take(self, vectors: Any, rows: Any, n_rows: int) -> Any:
        """
        Return an operand of floats, scaled to length 1 for cosine. Full blocks of floats may be a view.

        Lengths are taken of operands of one shape and layout: torch adds in another order for others.
        """
        values = vectors[rows]
        if self._is_packed:
            shifts = self._torch.arange(BYTE_BITS, device=self.device, dtype=self._torch.uint8)
            values = ((values.unsqueeze(2) >> shifts) & 1).reshape(len(values), -1).to(self.dtype) * 2 - 1
        values = values.to(self.dtype)
        is_cosine = self._factors.similarity == "cosine"
        if len(values) == n_rows and not self._has_bias and not is_cosine:
            return values
        operand = self._torch.zeros((n_rows, self.n_columns), dtype=self.dtype, device=self.device)
        own = operand[:, : self._n_own]
        own[: len(values)] = values
        if is_cosine:
            lengths = self._torch.linalg.vector_norm(own, dim=1, keepdim=True)
            own /= lengths.clamp_(min=self._torch.finfo(self.dtype).tiny)  # 0 of rows that fill the operand
        return operand


def find_operand_dtype(factors: Factors) -> np.dtype[Any]:
    """
    Return the dtype of operands: float64 for whole numbers whose sums are not exact in float32.

    Roots of squared distances of whole numbers are float64, as roots of float32 are equal for different numbers.
    """
    if factors.similarity == "hamming":
        return np.dtype("f4" if BYTE_BITS * factors.users.shape[1] <= EXACT[4] else "f8")
    are_whole = all(name_dtype(vectors) in LARGEST for vectors in (factors.users, factors.items))
    is_sum = factors.similarity == "dot" and factors.item_biases is None
    if are_whole and is_sum and find_largest_sum(factors) <= EXACT[4]:
        return np.dtype("f4")
    return find_float_dtype(factors)
