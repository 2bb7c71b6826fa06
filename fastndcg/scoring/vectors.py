"""Read and check the vectors and biases of embeddings, block by block, so that a file is not read into memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings.validation import LONGEST_QUERY, Array, as_array
from fastndcg.scoring import torch_product
from fastndcg.scoring.products import LARGEST as LARGEST_WHOLE
from fastndcg.scoring.products import OPERANDS, Factors, compute_squares, find_float_dtype, name_dtype
from fastndcg.scoring.torch_product import is_tensor

BLOCK_BYTES = 1 << 22  # that are checked at once


class Largest(NamedTuple):
    """The largest magnitude of a number, and the row that has it."""

    size: float
    row: int


def read_vectors(values: Any, name: str) -> Array:
    """Return vectors as an array with a row for each, without a copy of a NumPy array or of a memory-mapped file."""
    if is_tensor(values):
        return torch_product.read_tensor(values, name)  # type: ignore[no-any-return]
    vectors = as_array(values, name)
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise InvalidInputError(
            f"`{name}` must have one row per vector and a column or more, but its shape is {vectors.shape}"
        )
    if isinstance(values, list | tuple) and vectors.dtype.kind in "iu":
        vectors = vectors.astype("f8")
    if vectors.dtype.name not in OPERANDS:
        raise InvalidTypeError(
            f"`{name}` must be of dtype {', '.join(OPERANDS)}, but is {vectors.dtype}. Cast it, such as by "
            f"{name}.astype('float32')"
        )
    if len(vectors) > LONGEST_QUERY:
        raise InvalidInputError(f"`{name}` must have at most {LONGEST_QUERY} rows, but has {len(vectors)}")
    return vectors.view(np.ndarray)


def read_biases(values: Any, name: str, n: int) -> Array | None:
    """Return biases as an array of floats with an entry for each user or item."""
    if values is None:
        return None
    biases = as_array(values.detach().cpu() if is_tensor(values) else values, name)
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
    if factors.similarity == "hamming":
        check_bits(factors, names)
        return
    check = check_tensor if is_tensor(factors.users) else check_vectors
    largest = [
        check(vectors, name, has_direction=factors.similarity == "cosine")
        for vectors, name in zip((factors.users, factors.items), names, strict=True)
    ]
    if all(name_dtype(vectors) in LARGEST_WHOLE for vectors in (factors.users, factors.items)):
        return
    check_overflow(factors, names, largest)


def check_bits(factors: Factors, names: tuple[str, str]) -> None:
    """Raise for vectors that are no packed bits, and for biases of items, which no distance has."""
    for vectors, name in zip((factors.users, factors.items), names, strict=True):
        if name_dtype(vectors) != "uint8":
            raise InvalidTypeError(
                f"`{name}` must be packed bits of dtype uint8 for similarity='hamming', but is {vectors.dtype}. Take "
                f"np.packbits({name}, axis=1)"
            )
    if factors.item_biases is not None:
        raise InvalidInputError("`item_biases` must be left out for similarity='hamming'. Leave them out")


def check_overflow(factors: Factors, names: tuple[str, str], largest: list[Largest]) -> None:
    """Raise for scores of floats that could be infinite."""
    dtype = find_float_dtype(factors)
    limit = float(np.finfo(dtype).max)
    biases = [own for own in (factors.item_biases, factors.user_biases) if own is not None]
    bias = max((float(np.abs(own.astype("f8")).max(initial=0)) for own in biases), default=0.0)
    n_columns = factors.users.shape[1]
    if factors.similarity == "cosine":
        size = 2.0 + bias
    elif factors.similarity == "dot":
        size = n_columns * largest[0].size * largest[1].size + bias
    else:
        size = 2 * n_columns * (largest[0].size + largest[1].size) ** 2 + bias
    if not size < limit:
        user = largest[0].row
        item = largest[1].row
        raise InvalidInputError(
            f"scores must fit {dtype}, but that of row {user} of `{names[0]}`, with the number {largest[0].size:g}, "
            f"and row {item} of `{names[1]}`, with {largest[1].size:g}, could be infinite. Rescale the vectors"
            + (", or cast them to float64" if dtype == np.float32 else "")
        )


def check_vectors(vectors: Array, name: str, *, has_direction: bool) -> Largest:
    """Return the largest magnitude. Raise for NaN and infinite numbers, and for zero vectors if a direction counts."""
    largest = Largest(0.0, 0)
    for start, block in iterate_blocks(vectors):
        block = block.astype("f8" if block.dtype.name == "float64" else "f4", copy=False)
        sizes = np.abs(block).max(axis=1)
        if not np.isfinite(sizes).all():
            row = int(np.argmin(np.isfinite(sizes)))
            refuse_number(block[row], name, start + row)
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
        refuse_length(float(lengths[row]), name, start + row)


def check_tensor(vectors: Any, name: str, *, has_direction: bool) -> Largest:
    """Check a tensor as `check_vectors` checks an array, on its device."""
    largest = Largest(0.0, 0)
    for start, block in torch_product.iterate_blocks(vectors):
        sizes = block.abs().amax(1)
        if not bool(sizes.isfinite().all()):
            row = int((~sizes.isfinite()).int().argmax())
            refuse_number(block[row].cpu().numpy(), name, start + row)
        row = int(sizes.argmax())
        if float(sizes[row]) > largest.size:
            largest = Largest(float(sizes[row]), start + row)
        if has_direction:
            lengths = block.norm(dim=1)
            is_wrong = ~lengths.isfinite() | (lengths < float(np.finfo("f4").tiny))
            if bool(is_wrong.any()):
                row = int(is_wrong.int().argmax())
                refuse_length(float(lengths[row]), name, start + row)
    return largest


def refuse_number(vector: Array, name: str, row: int) -> NoReturn:
    """Raise for a vector with a number that is not finite."""
    column = int(np.argmin(np.isfinite(vector)))
    raise InvalidInputError(
        f"`{name}` must hold finite numbers, but {name}[{row}, {column}] is {vector[column]}. Find out where it comes "
        "from, or leave the row out"
    )


def refuse_length(length: float, name: str, row: int) -> NoReturn:
    """Raise for a vector without a direction."""
    raise InvalidInputError(
        f"`{name}` must have vectors with a direction for similarity='cosine', but row {row} has the length "
        f"{length:g}. Leave the row out, or rescale it"
    )


def iterate_blocks(vectors: Array) -> Iterator[tuple[int, Array]]:
    """Yield consecutive rows with the number of the first one."""
    n_rows = max(BLOCK_BYTES // max(vectors.shape[1] * vectors.itemsize, 1), 1)
    for start in range(0, len(vectors), n_rows):
        yield start, vectors[start : start + n_rows]
