"""Read and check the vectors and biases of embeddings, block by block, so that a file is not read into memory."""

from __future__ import annotations

import os
import weakref
from typing import Any, NamedTuple, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.kernels.shared import MAX_RANK
from fastndcg.rankings.validation import Array, as_array
from fastndcg.runtime.escapes import show_name
from fastndcg.scoring.sources import OPERANDS, Factors, compute_squares, name_dtype

BLOCK_BYTES = 1 << 22  # that are checked at once
BLOCK_ROWS = 1 << 14  # of a tensor


class FileRows:
    """
    Rows of an array in a file, read by calls of the system when they are taken.

    A file that is cut is an error. A read of a mapped one ends the process.

    Attributes
    ----------
    shape : tuple of int
        Two numbers.
    dtype : dtype
        That of the file.
    """

    ndim = 2

    def __init__(self, path: str, offset: int, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.shape = shape
        self.dtype = dtype
        self.itemsize = dtype.itemsize
        self._path = path
        self._offset = offset
        self._file = os.open(path, os.O_RDONLY)
        weakref.finalize(self, os.close, self._file)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice | Array) -> Array:
        if isinstance(rows, slice):
            first, stop, _ = rows.indices(len(self))
            out = np.empty((max(stop - first, 0), self.shape[1]), self.dtype)
            self._read(out, first)
            return out
        out = np.empty((len(rows), self.shape[1]), self.dtype)
        starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1).tolist()  # of consecutive rows
        for start, stop in zip(starts, [*starts[1:], len(rows)], strict=True):
            self._read(out[start:stop], int(rows[start]))
        return out

    def __reduce__(self) -> tuple[Any, tuple[Array]]:
        return np.asarray, (self[:],)

    def _read(self, out: Array, first: int) -> None:
        """Fill an array with the rows from `first` on."""
        rest = out.reshape(-1).view("u1").data
        place = self._offset + first * self.shape[1] * self.itemsize
        while len(rest):
            n = os.preadv(self._file, [rest], place)
            if n == 0:
                n_bytes = self._offset + self.shape[0] * self.shape[1] * self.itemsize
                size = os.fstat(self._file).st_size
                raise InvalidInputError(
                    f"{show_name(self._path)} must keep its {n_bytes} bytes while it is read, but has {size}: another "
                    "program cut it. Write it anew, and open it again"
                )
            rest = rest[n:]
            place += n


class Peak(NamedTuple):
    """The largest magnitude of the numbers of some vectors, the row that has it, and that of each row."""

    size: float
    row: int
    sizes: Array


def is_tensor(value: Any) -> bool:
    """Return True for a tensor of torch."""
    return hasattr(value, "detach") and hasattr(value, "device")


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


def read_vectors(values: Any, name: str) -> Array:
    """Return vectors as an array with a row for each, without a copy of a NumPy array or of a memory-mapped file."""
    if is_tensor(values):
        return read_tensor(values, name)  # type: ignore[no-any-return]
    if hasattr(values, "tocsr"):
        raise InvalidTypeError(f"`{name}` must be dense vectors, but is a sparse matrix. Take {name}.toarray()")
    vectors: Any = values if isinstance(values, FileRows) else as_array(values, name)
    if vectors.dtype == np.bool_:
        raise InvalidTypeError(
            f"`{name}` must be of dtype {', '.join(OPERANDS)}, but is bool. Take np.packbits({name}, axis=1) with "
            f"similarity='hamming', or {name}.astype('int8')"
        )
    if vectors.dtype.kind not in "fiuV" or values is None:
        raise InvalidTypeError(
            f"`{name}` must be an array of vectors, one per row, but is {shorten(values)} of type "
            f"{type(values).__name__}. Give an array of shape (n, d)"
        )
    check_shape(vectors, name)
    if isinstance(values, list | tuple) and vectors.dtype.kind in "iu":
        vectors = vectors.astype("f8")
    if vectors.dtype.name not in OPERANDS:
        remedy = f"Cast it, such as by {name}.astype('float32')"
        if vectors.dtype.kind == "V":  # how NumPy writes bfloat16 to a file
            remedy = f"For bfloat16 from a file take {name}.view(ml_dtypes.bfloat16)"
        raise InvalidTypeError(f"`{name}` must be of dtype {', '.join(OPERANDS)}, but is {vectors.dtype}. {remedy}")
    return vectors if type(vectors) is np.ndarray or isinstance(vectors, FileRows) else vectors.view(np.ndarray)  # type: ignore[return-value]


def read_tensor(values: Any, name: str) -> Any:
    """Return vectors as a tensor with a row for each, without gradients and without a copy."""
    if str(values.layout) != "torch.strided":
        raise InvalidTypeError(f"`{name}` must be a dense tensor, but its layout is {values.layout}. Take to_dense()")
    check_shape(values, name)
    if name_dtype(values) not in OPERANDS:
        raise InvalidTypeError(
            f"`{name}` must be of dtype {', '.join(OPERANDS)}, but is {values.dtype}. Take {name}.float()"
        )
    return values.detach()


def check_shape(vectors: Any, name: str) -> None:
    """Raise for an array or a tensor that has no columns or too many rows."""
    if vectors.ndim != 2 or not vectors.shape[1]:
        raise InvalidInputError(
            f"`{name}` must have one row per vector and a column or more, but its shape is {tuple(vectors.shape)}"
        )
    if len(vectors) > MAX_RANK:
        raise InvalidInputError(f"`{name}` must have at most {MAX_RANK} rows, but has {len(vectors)}")


def read_biases(values: Any, name: str, n: int) -> Array | None:
    """Return biases as an array of floats with an entry for each user or item."""
    if values is None:
        return None
    if is_tensor(values):
        values = values.detach().cpu()
        values = (values.float() if name_dtype(values) == "bfloat16" else values).numpy()
    biases = as_array(values, name)
    if biases.dtype.name == "bfloat16":
        biases = biases.astype("f4")
    if biases.shape != (n,):
        raise InvalidInputError(f"`{name}` must have shape ({n},), one per vector, but its shape is {biases.shape}")
    if biases.dtype.kind not in "fiu":
        raise InvalidTypeError(f"`{name}` must hold numbers, but its dtype is {biases.dtype}. Cast it to float32")
    if not np.isfinite(biases).all():
        place = int(np.argmin(np.isfinite(biases)))
        raise InvalidInputError(f"`{name}` must be finite, but {name}[{place}] is {biases[place]}. Replace it")
    return biases


def check_factors(factors: Factors, names: tuple[str, str], dtype: np.dtype[Any]) -> tuple[str, ...]:
    """
    Raise for vectors that are not finite, for zero vectors under cosine, and for scores that could overflow.

    `dtype` is that of scores. Return notes on users and items all of whose scores underflow.
    """
    if factors.item_biases is not None and factors.similarity in ("euclidean", "hamming"):
        raise InvalidInputError(
            f"`item_biases` must be left out for similarity={shorten(factors.similarity)}, which is a distance. Leave "
            "them out, or give a Scorer, whose function adds them"
        )
    peaks = []
    for vectors, name in zip((factors.users, factors.items), names, strict=True):
        if factors.similarity != "hamming":
            peaks.append(check_vectors(vectors, name, has_direction=factors.similarity == "cosine"))
        elif name_dtype(vectors) != "uint8":
            raise InvalidTypeError(
                f"`{name}` must be packed bits of dtype uint8 for similarity='hamming', but is {vectors.dtype}. Take "
                f"np.packbits({name}, axis=1)"
            )
    check_overflow(factors, names, peaks, dtype)
    return note_underflow(factors, names, peaks, dtype) if factors.similarity == "dot" else ()


def note_underflow(
    factors: Factors, names: tuple[str, str], peaks: list[Peak], dtype: np.dtype[Any]
) -> tuple[str, ...]:
    """Return notes on vectors so small that their products with all others are no normal numbers, and may tie at 0."""
    least = float(np.finfo(dtype).tiny)
    notes = []
    for peak, other, name in zip(peaks, reversed(peaks), names, strict=True):
        highest = factors.users.shape[1] * other.size * peak.sizes  # of the scores of each row
        n = int(np.count_nonzero((highest > 0) & (highest < least)))
        if n:
            notes.append(f"rows of `{name}` whose scores are all below {least:.3g} in {dtype}, where they may tie: {n}")
    return tuple(notes)


def check_overflow(factors: Factors, names: tuple[str, str], peaks: list[Peak], dtype: np.dtype[Any]) -> None:
    """Raise for scores that could be infinite."""
    limit = float(np.finfo(dtype).max)
    cast = ", or cast them to float64" if dtype == np.float32 else ""
    bias = 0.0
    for name in ("item_biases", "user_biases"):
        biases = getattr(factors, name)
        if biases is not None and len(biases):
            sizes = np.abs(biases.astype("f8"))
            bias += float(sizes.max())
            if not 2 * bias < limit:
                place = int(sizes.argmax())
                raise InvalidInputError(
                    f"scores must fit {dtype}, but those with {name}[{place}], which is {biases[place]:g}, could be "
                    f"infinite. Rescale the biases{cast.replace('them', 'the vectors')}"
                )
    n_columns = factors.users.shape[1]
    if factors.similarity == "dot":
        size = n_columns * peaks[0].size * peaks[1].size
    elif factors.similarity == "euclidean":
        size = 2 * n_columns * (peaks[0].size + peaks[1].size) ** 2
    else:
        size = 0.0  # a cosine, or a number of bits
    least = float(np.finfo(dtype).tiny)
    if 0 < size < least and min(peak.size for peak in peaks) > 0:
        raise InvalidInputError(
            f"scores must fit {dtype}, but all are below {least:.3g} and would tie at 0: the largest numbers are "
            f"{peaks[0].size:g} in `{names[0]}` and {peaks[1].size:g} in `{names[1]}`. Rescale the vectors{cast}"
        )
    if not size + bias < limit:
        user, item = peaks
        raise InvalidInputError(
            f"scores must fit {dtype}, but that of row {user.row} of `{names[0]}`, with the number {user.size:g}, "
            f"and row {item.row} of `{names[1]}`, with {item.size:g}, could be infinite. Rescale the vectors{cast}"
        )


def check_vectors(vectors: Any, name: str, *, has_direction: bool) -> Peak:
    """
    Return the largest magnitude. Raise for NaN and infinite numbers, and for zero vectors if a direction counts.

    Tensors are measured on their device.
    """
    best = (0.0, 0)
    all_sizes = [np.empty(0)]
    measure = measure_tensor if is_tensor(vectors) else measure_array
    n_rows = BLOCK_ROWS if is_tensor(vectors) else max(BLOCK_BYTES // max(vectors.shape[1] * vectors.itemsize, 1), 1)
    for start in range(0, len(vectors), n_rows):
        sizes, lengths = measure(vectors[start : start + n_rows], has_direction=has_direction)
        if not np.isfinite(sizes).all():
            row = start + int(np.argmin(np.isfinite(sizes)))
            refuse_number(vectors[row : row + 1], name, row)
        row = int(np.argmax(sizes))
        if float(sizes[row]) > best[0]:
            best = (float(sizes[row]), start + row)
        all_sizes.append(sizes.astype("f8"))
        is_wrong = ~np.isfinite(lengths) | (lengths < np.finfo(lengths.dtype).tiny)
        if is_wrong.any():
            row = int(np.argmax(is_wrong))
            raise InvalidInputError(
                f"`{name}` must have vectors with a direction for similarity='cosine', but row {start + row} has the "
                f"length {float(lengths[row]):g}. Leave the row out, or rescale it"
            )
    return Peak(*best, np.concatenate(all_sizes))


def measure_array(block: Array, *, has_direction: bool) -> tuple[Array, Array]:
    """Return the largest magnitude of each vector, and its length if a direction counts, as float32 or float64."""
    block = block.astype("f8" if block.dtype.name == "float64" else "f4", copy=False)
    sizes = np.abs(block).max(axis=1)
    if not has_direction or not np.isfinite(sizes).all():
        return sizes, sizes[:0]
    with np.errstate(over="ignore"):
        return sizes, np.sqrt(compute_squares(block)).astype(block.dtype)


def measure_tensor(block: Any, *, has_direction: bool) -> tuple[Array, Array]:
    """Return what `measure_array` returns."""
    block = block.double() if name_dtype(block) == "float64" else block.float()
    sizes = block.abs().amax(1).cpu().numpy()
    return sizes, block.norm(dim=1).cpu().numpy() if has_direction else sizes[:0]


def refuse_number(vector: Any, name: str, row: int) -> NoReturn:
    """Raise for a vector with a number that is not finite, in an array or a tensor with a row."""
    values = (vector.cpu().double().numpy() if is_tensor(vector) else vector.astype("f8"))[0]
    column = int(np.argmin(np.isfinite(values)))
    raise InvalidInputError(
        f"`{name}` must hold finite numbers, but {name}[{row}, {column}] is {values[column]}. Find out where it comes "
        "from, or leave the row out"
    )
