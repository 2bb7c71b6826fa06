"""
Memory-mapped files behind arrays, and rows that are read from a file without a map.

If another program cuts a mapped file, a read beyond its new end ends the process by SIGBUS, which no code can handle.
So small arrays are copied, and the size of the file is checked before each part of a large one is read. A file that is
cut between a check and the read, some milliseconds, still ends the process. `FileRows` reads by calls of the system
instead, where a short read is an error.
"""

from __future__ import annotations

import mmap
import os
import weakref
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.runtime.escapes import show_name

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

MOST_COPIED = 1 << 24  # bytes of an array that is copied when it is given


class MappedFile(NamedTuple):
    """The file behind an array, and the number of bytes that it must have."""

    mapping: mmap.mmap
    n_bytes: int
    name: str

    def check(self) -> None:
        """Raise if the file has become too short for the array."""
        try:
            size = self.mapping.size()
        except (OSError, ValueError):  # of a system or a map without a size, which cannot become shorter
            return
        if size < self.n_bytes:
            refuse_cut(self.name, self.n_bytes, size)


def refuse_cut(name: str, n_bytes: int, size: int) -> None:
    """Raise the error for a file that has become shorter."""
    raise InvalidInputError(
        f"{name} must keep its {n_bytes} bytes while it is read, but has {size}: another program cut it. Write it "
        "anew, and open it again"
    )


def find_mapped_file(array: Array) -> MappedFile | None:
    """Return the file that an array is mapped from, None for an array in memory."""
    owner: Any = array
    name = "a memory-mapped file"
    offset = 0
    while isinstance(owner, np.ndarray):
        if isinstance(owner, np.memmap):
            name = name if owner.filename is None else show_name(owner.filename)
            offset = owner.offset - owner.offset % mmap.ALLOCATIONGRANULARITY
        owner = owner.base
    if isinstance(owner, memoryview):
        owner = owner.obj
    if not isinstance(owner, mmap.mmap) or not array.size:
        return None
    start = np.frombuffer(owner, "u1").__array_interface__["data"][0]
    last = sum((n - 1) * max(step, 0) for n, step in zip(array.shape, array.strides, strict=True)) + array.itemsize
    return MappedFile(owner, offset + array.__array_interface__["data"][0] + last - start, name)


def hold(array: Array) -> Array:
    """Return an array that is safe to read now: a copy of a small one that is mapped. Raise if its file was cut."""
    file = find_mapped_file(array)
    if file is None:
        return array
    file.check()
    return array.copy() if array.nbytes <= MOST_COPIED else array


def is_mapped(array: Array) -> bool:
    """Return True for an array that is mapped from a file."""
    owner: Any = array.base
    while type(owner) is np.ndarray:  # a view of an array in memory, as most are
        owner = owner.base
    return owner is not None and find_mapped_file(array) is not None


class FileRows:
    """
    Rows of an array in a file, read by calls of the system when they are taken. Any number of threads may take some.

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
                refuse_cut(show_name(self._path), n_bytes, os.fstat(self._file).st_size)
            rest = rest[n:]
            place += n
