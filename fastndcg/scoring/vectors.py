"""Read and check the vectors and biases of embeddings, block by block, so that a file is not read into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings.validation import LONGEST_QUERY, Array, as_array
from fastndcg.scoring.products import Factors, compute_squares

BLOCK_BYTES = 1 << 22  # that are checked at once
DTYPES = {np.dtype("f2"): "f4", np.dtype("f4"): "f4", np.dtype("f8"): "f8"}  # the dtype that operands have


class Largest(NamedTuple):
    """The largest magnitude of a number, and the row that has it."""

    size: float
    row: int


def read_vectors(values: Any, name: str) -> Array:
    """Return vectors as an array with a row for each, without a copy of a NumPy array or of a memory-mapped file."""
    vectors = as_array(values, name)
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise InvalidInputError(
            f"`{name}` must have one row per vector and a column or more, but its shape is {vectors.shape}"
        )
    if isinstance(values, list | tuple) and vectors.dtype.kind in "iu":
        vectors = vectors.astype("f8")
    if vectors.dtype.newbyteorder("=") not in DTYPES:
        raise InvalidTypeError(
            f"`{name}` must be of dtype float16, float32 or float64, but is {vectors.dtype}. Cast it, such as by "
            f"{name}.astype('float32')"
        )
    if len(vectors) > LONGEST_QUERY:
        raise InvalidInputError(f"`{name}` must have at most {LONGEST_QUERY} rows, but has {len(vectors)}")
    return vectors.view(np.ndarray)


def read_biases(values: Any, name: str, n: int) -> Array | None:
    """Return biases as an array of floats with an entry for each user or item."""
    if values is None:
        return None
    biases = as_array(values, name)
    if biases.shape != (n,):
        raise InvalidInputError(f"`{name}` must have shape ({n},), one per vector, but its shape is {biases.shape}")
    if biases.dtype.kind not in "fiu":
        raise InvalidTypeError(f"`{name}` must hold numbers, but its dtype is {biases.dtype}. Cast it to float32")
    if not np.isfinite(biases).all():
        place = int(np.argmin(np.isfinite(biases)))
        raise InvalidInputError(f"`{name}` must be finite, but {name}[{place}] is {biases[place]}. Replace it")
    return biases


def check_factors(factors: Factors, names: tuple[str, str]) -> None:
    """Raise for vectors that are not finite, for zero vectors under cosine, and for scores that could overflow."""
    largest = [
        check_vectors(vectors, name, has_direction=factors.similarity == "cosine")
        for vectors, name in zip((factors.users, factors.items), names, strict=True)
    ]
    dtype = np.dtype(max(DTYPES[vectors.dtype.newbyteorder("=")] for vectors in (factors.users, factors.items)))
    limit = float(np.finfo(dtype).max)
    bias = max((float(np.abs(own).max(initial=0)) for own in (factors.item_biases, factors.user_biases)
                if own is not None), default=0.0)  # fmt: skip
    n_columns = factors.users.shape[1]
    if factors.similarity == "cosine":
        bound = 2.0 + bias
    elif factors.similarity == "dot":
        bound = n_columns * largest[0].size * largest[1].size + bias
    else:
        bound = 2 * n_columns * (largest[0].size + largest[1].size) ** 2 + bias
    if not bound < limit:
        user, item = largest[0].row, largest[1].row
        raise InvalidInputError(
            f"scores must fit {dtype}, but that of row {user} of `{names[0]}`, with the number {largest[0].size:g}, "
            f"and row {item} of `{names[1]}`, with {largest[1].size:g}, could be infinite. Rescale the vectors"
            + (", or cast them to float64" if dtype == np.float32 else "")
        )


def check_vectors(vectors: Array, name: str, *, has_direction: bool) -> Largest:
    """Return the largest magnitude. Raise for NaN and infinite numbers, and for zero vectors if a direction counts."""
    largest = Largest(0.0, 0)
    for start, block in iterate_blocks(vectors):
        sizes = np.abs(block).max(axis=1)
        if not np.isfinite(sizes).all():
            row = int(np.argmin(np.isfinite(sizes)))
            column = int(np.argmin(np.isfinite(block[row])))
            raise InvalidInputError(
                f"`{name}` must hold finite numbers, but {name}[{start + row}, {column}] is {block[row, column]}. Find "
                "out where it comes from, or leave the row out"
            )
        row = int(np.argmax(sizes))
        if float(sizes[row]) > largest.size:
            largest = Largest(float(sizes[row]), start + row)
        if has_direction:
            check_lengths(block, name, start)
    return largest


def check_lengths(block: Array, name: str, start: int) -> None:
    """Raise for a vector without a direction: of length 0, or too small or too large for a length."""
    with np.errstate(over="ignore"):
        lengths = np.sqrt(compute_squares(block))
        lengths = lengths.astype("f8" if block.dtype == np.float64 else "f4")
    is_wrong = ~np.isfinite(lengths) | (lengths < np.finfo(lengths.dtype).tiny)
    if is_wrong.any():
        row = int(np.argmax(is_wrong))
        raise InvalidInputError(
            f"`{name}` must have vectors with a direction for similarity='cosine', but row {start + row} has the "
            f"length {lengths[row]:g}. Leave the row out, or rescale it"
        )


def iterate_blocks(vectors: Array) -> Iterator[tuple[int, Array]]:
    """Yield consecutive rows with the number of the first one."""
    n_rows = max(BLOCK_BYTES // max(vectors.shape[1] * vectors.itemsize, 1), 1)
    for start in range(0, len(vectors), n_rows):
        yield start, vectors[start : start + n_rows]
