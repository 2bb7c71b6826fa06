"""
Arrays from mapped files and from pickles: what could end the process raises an error.

If another program cuts a mapped file, a read beyond its new end ends the process by SIGBUS, which no code can handle.
So small arrays are copied, and the size of the file is checked before each part of a large one is read. A file that is
cut between a check and the read, some milliseconds, still ends the process. `FileRows` reads by calls of the system
instead, where a short read is an error.

Kernels follow arrays without checks. So pickles have a checksum: a damaged one raises an error when it is loaded.
"""

from __future__ import annotations

import copy
import dataclasses
import mmap
import os
import pickle
import weakref
import zlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, SupportsIndex

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


FIRST_WITH_BUFFERS = 5  # protocol
ENCODING = "surrogatepass"  # Python's texts may hold surrogates, which UTF-8 lacks


class Picklable:
    """
    Base class of objects that hold arrays, with or without slots.

    A pickle has a checksum of the state. Kernels do not check offsets and ids, so that one flipped bit could end the
    process. The checksum takes 0.3 ns a byte, and also finds damaged values.
    """

    __slots__ = ()

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        if type(self).__reduce__ is not object.__reduce__:  # of a class that is made from its arguments
            return super().__reduce_ex__(protocol)
        state = self.__getstate__()
        checksum = compute_checksum((type(self).__qualname__, state))
        return _restore, (type(self), pack_arrays(state), checksum)

    def __copy__(self) -> Any:
        make, arguments = self._take_apart()
        return make(*arguments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        make, arguments = self._take_apart()
        return make(*copy.deepcopy(arguments, memo))

    def _take_apart(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """Return a function and its arguments that make this object, without a checksum."""
        if type(self).__reduce__ is not object.__reduce__:
            reduced: Any = self.__reduce__()
            return reduced[0], reduced[1]
        return _set_state, (type(self), self.__getstate__())


def _restore(kind: type[Any], state: Any, checksum: int) -> Any:
    """Make an object from its pickle."""
    if not isinstance(kind, type) or not issubclass(kind, Picklable):
        raise InvalidInputError("a pickle of fastndcg must be whole, but is damaged. Make it anew")
    if compute_checksum((kind.__qualname__, state)) != checksum:
        raise InvalidInputError(
            f"a pickle of {kind.__qualname__} must be whole, but is damaged: its checksum differs. Make it anew"
        )
    return _set_state(kind, state)


def _set_state(kind: type[Any], state: Any) -> Any:
    """Return a new object of a class with a state that `__getstate__` gave."""
    target = object.__new__(kind)
    if hasattr(kind, "__setstate__"):
        target.__setstate__(state)
        return target
    attributes, slots = state if isinstance(state, tuple) else (state, None)
    for name, value in ((attributes or {}) | (slots or {})).items():
        object.__setattr__(target, name, value)
    return target


class PackedArray:
    """
    An array that is pickled by its dtype's name, its shape and its bytes.

    NumPy's own pickles have flags of the dtype, and a wrong flag ends the process.
    """

    __slots__ = ("_array",)

    def __init__(self, array: Any) -> None:
        self._array = array

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:
        array = self._array
        if array.dtype.hasobject:
            return _unpack_objects, (array.reshape(-1).tolist(), array.shape)
        content = np.ascontiguousarray(array).reshape(-1).view("u1") if array.size else np.empty(0, "u1")
        if protocol.__index__() < FIRST_WITH_BUFFERS:
            return _unpack_array, (array.dtype.str, array.shape, content.tobytes())
        return _unpack_array, (array.dtype.str, array.shape, pickle.PickleBuffer(content.data))


def pack_arrays(value: Any) -> Any:
    """Return a value with its arrays, also those in containers, as `PackedArray`."""
    if isinstance(value, np.ndarray):
        return PackedArray(value)
    if type(value) in (list, tuple):
        return type(value)(map(pack_arrays, value))
    if isinstance(value, tuple) and hasattr(value, "_make"):
        return value._make(map(pack_arrays, value))
    if type(value) is dict:
        return {name: pack_arrays(item) for name, item in value.items()}
    return value


def _unpack_array(dtype: str, shape: tuple[int, ...], content: Any) -> Any:
    """Make an array of numbers or texts of one width from its bytes."""
    if not len(content):
        return np.empty(0, dtype).reshape(shape)
    array = np.frombuffer(content, "u1").view(dtype).reshape(shape)
    return array if array.flags.writeable else array.copy()


def _unpack_objects(values: list[Any], shape: tuple[int, ...]) -> Any:
    """Make an array of objects."""
    array = np.empty(len(values), object)
    array[:] = values
    return array.reshape(shape)


def compute_checksum(value: Any, checksum: int = 0) -> int:
    """
    Return the CRC-32 of the content of arrays, texts and numbers, also in containers and data classes.

    Of other objects, such as functions, only the type counts.

    >>> compute_checksum([1, "a"]) == compute_checksum([1, "a"]) != compute_checksum([2, "a"])
    True
    """
    if isinstance(value, np.ndarray):
        return _add_array(value, checksum)
    checksum = zlib.crc32(type(value).__qualname__.encode(), checksum)
    if isinstance(value, str):
        return zlib.crc32(value.encode(errors=ENCODING), checksum)
    if isinstance(value, bytes | bytearray):
        return zlib.crc32(value, checksum)
    if value is None or isinstance(value, int | float | complex | np.generic | np.dtype | slice | range):
        return zlib.crc32(repr(value).encode(), checksum)
    if isinstance(value, list | tuple):
        for item in value:
            checksum = compute_checksum(item, checksum)
        return zlib.crc32(b"%d" % len(value), checksum)
    if isinstance(value, dict):
        return compute_checksum([*value, *value.values()], checksum)
    if isinstance(value, set | frozenset):  # whose order differs between processes
        return zlib.crc32(b"%d" % sum(compute_checksum(item) for item in value), checksum)
    if not type(value).__module__.startswith("fastndcg."):
        return checksum
    if dataclasses.is_dataclass(value):
        return compute_checksum([getattr(value, field.name, None) for field in dataclasses.fields(value)], checksum)
    if "__reduce__" in vars(type(value)):  # which is made from its arguments
        return compute_checksum(value.__reduce__()[1], checksum)
    return compute_checksum(value.__getstate__(), checksum)


def _add_array(array: Any, checksum: int) -> int:
    """Add the dtype, the shape and the content of an array to a checksum."""
    checksum = zlib.crc32(f"{array.dtype.str} {array.shape}".encode(), checksum)
    if not array.size or not array.dtype.itemsize:
        return checksum
    if array.dtype.hasobject:
        return compute_checksum(array.tolist(), checksum)
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view("u1").data, checksum)
