"""
Hashes of query ids, from which the Poisson bootstrap makes its weights.

The hash of an id is XXH64 of its canonical bytes, with its type as the seed. So an id has the same hash in every column
of its type, on any machine. The number 7 has another hash than the text "7".

type          ids                                        canonical bytes
1 text        str                                        UTF-8
2 number      whole numbers of any width, signed or not  int64; beyond int64: 16 bytes in two's complement
3 float       float16, float32, float64                  float64, with 0.0 for -0.0
4 bool        bool                                       1 byte, 0 or 1
5 bytes       bytes                                      themselves, without NumPy's trailing zero bytes
6 datetime    dates and times of any unit, in UTC        int64 of the seconds since 1970, int32 of the nanoseconds after

All numbers are little endian. Ids that are None or NaN have no hash.
"""

from __future__ import annotations

import datetime
from typing import Any, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.inputs.arrow import read_offsets
from fastndcg.inputs.id_column import IdColumn
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.validation import Array
from fastndcg.runtime.optional_packages import optional_import

TEXT = 1
NUMBER = 2
FLOAT = 3
BOOL = 4
BYTES = 5
DATETIME = 6
REMEDY = "Convert the ids to texts or whole numbers."


def hash_queries(ids: Any) -> Array:
    """
    Return the hash of each query id.

    Parameters
    ----------
    ids : (n_queries,) array, sequence, IdColumn, or pyarrow array
        Ids of one type: texts, whole numbers, floats, bools, bytes, or dates and times. Columns of pandas and Polars
        are arrays, too. Texts of pyarrow are not copied.

    Returns
    -------
    (n_queries,) uint64 array
        The same for the same id, whatever the other ids are.

    Raises
    ------
    InvalidTypeError
        If ids have another type or several types.
    InvalidInputError
        If an id is missing, or a number exceeds 64 bits.

    Examples
    --------
    >>> from fastndcg.statistics.query_hashes import hash_queries
    >>> bool(hash_queries([7])[0] == hash_queries([8, 7])[1]), bool(hash_queries([7])[0] == hash_queries(["7"])[0])
    (True, False)
    """
    if isinstance(ids, IdColumn):
        return _hash_id_column(ids)
    if type(ids).__module__.partition(".")[0] == "pyarrow":
        return _hash_arrow(ids)
    array = ids if isinstance(ids, np.ndarray) else _as_array(ids)
    if array.ndim != 1:
        raise InvalidInputError(
            f"query ids must have one dimension, but their shape is {array.shape}. Pass one id a query."
        )
    return _hash_objects(array.tolist()) if array.dtype == object else _hash_array(array)


def _as_array(ids: Any) -> Array:
    """Return a sequence as an array: of objects, unless it converts itself, as the columns of pandas and Polars do."""
    if isinstance(ids, str | bytes) or not hasattr(ids, "__len__"):
        raise InvalidTypeError(f"query ids must be a sequence or an array, not {shorten(ids)}. Pass one id a query.")
    if hasattr(ids, "__array__"):
        return np.asarray(ids)
    array = np.empty(len(ids), object)
    array[:] = list(ids)
    return array


def _hash_array(array: Array) -> Array:
    """Return the hashes of an array that is not of objects."""
    kind = array.dtype.kind
    if kind in "iu":
        return _hash_numbers(array)
    if kind in "UT":
        return _hash_bytes(IdColumn.of_texts(array.tolist()), TEXT)
    if kind == "S":
        return _hash_pieces(array.tolist(), BYTES)
    if kind == "b":
        return _hash_fixed(array.astype("u1")[:, None], BOOL)
    if kind == "f" and array.dtype.itemsize <= 8:
        _refuse_missing(np.isnan(array))
        return _hash_fixed((array.astype("<f8") + 0.0)[:, None].view("u1"), FLOAT)
    if kind == "M":
        return _hash_datetimes(array)
    return _refuse_type(array.dtype)


def _hash_objects(ids: list[Any]) -> Array:
    """Return the hashes of Python's objects."""
    _refuse_missing(np.array([_is_missing(value) for value in ids], bool))
    kinds = {_find_kind(type(value)) for value in ids}
    if len(kinds) > 1:
        names = ", ".join(sorted({type(value).__name__ for value in ids}))
        raise InvalidTypeError(f"query ids must have one type, but some are {names}. {REMEDY}")
    kind = kinds.pop() if kinds else TEXT
    if kind == TEXT:
        return _hash_bytes(IdColumn.of_texts(ids), TEXT)
    if kind == BYTES:
        return _hash_pieces([value.rstrip(b"\0") for value in ids], BYTES)
    if kind == NUMBER:
        return _hash_integers([int(value) for value in ids])
    if kind == DATETIME:
        return _hash_datetimes(np.array([_convert_moment(value) for value in ids], "M8[us]"))
    return _hash_array(np.array(ids, "f8" if kind == FLOAT else bool))


def _is_missing(value: Any) -> bool:
    """Return True for None, NaN, and the missing values of pandas."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither equal nor unequal to itself
        return True


def _find_kind(type_: type) -> int:
    """Return the type of ids that a Python type is."""
    kinds = {
        TEXT: (str,),
        BOOL: (bool, np.bool_),
        NUMBER: (int, np.integer),
        FLOAT: (float, np.float16, np.float32),
        BYTES: (bytes,),
        DATETIME: (datetime.date,),
    }
    for kind, types in kinds.items():
        if issubclass(type_, types):
            return kind
    return _refuse_type(type_.__name__)


def _convert_moment(value: datetime.date) -> datetime.date:
    """Return a date or time without a zone, in UTC."""
    if getattr(value, "nanosecond", 0):
        raise InvalidTypeError(f"query ids with nanoseconds must be datetime64, but one is {shorten(value)}. {REMEDY}")
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.UTC).replace(tzinfo=None)
    return value


def _hash_integers(numbers: list[int]) -> Array:
    """Return the hashes of Python's whole numbers."""
    wrong = next((number for number in numbers if not -(2**63) <= number < 2**64), None)
    if wrong is not None:
        raise InvalidInputError(f"query ids must fit int64 or uint64, but one is {shorten(wrong)}. Use texts.")
    hashes = np.empty(len(numbers), "u8")
    are_wide = np.array([number >= 2**63 for number in numbers], bool)
    narrow = np.array([number for number in numbers if number < 2**63], "i8")
    wide = np.array([number for number in numbers if number >= 2**63], "u8")
    hashes[~are_wide] = _hash_numbers(narrow)
    hashes[are_wide] = _hash_numbers(wide)
    return hashes


def _hash_numbers(numbers: Array) -> Array:
    """Return the hashes of an array of whole numbers."""
    hashes = _hash_fixed(numbers.astype("<i8")[:, None].view("u1"), NUMBER)  # those beyond int64 wrap around
    if numbers.dtype == np.dtype("u8"):
        are_wide = numbers >= np.uint64(2**63)
        if are_wide.any():
            words = np.zeros((int(np.count_nonzero(are_wide)), 2), "<u8")
            words[:, 0] = numbers[are_wide]
            hashes[are_wide] = _hash_fixed(words.view("u1"), NUMBER)
    return hashes


def _hash_datetimes(moments: Array) -> Array:
    """Return the hashes of an array of dates or times."""
    _refuse_missing(np.isnat(moments))
    seconds = moments.astype("M8[s]")
    nanoseconds = (moments - seconds).astype("m8[ns]")
    is_cut = seconds + nanoseconds != moments
    if is_cut.any():
        place = int(np.argmax(is_cut))
        raise InvalidInputError(f"query ids must be whole nanoseconds, but that of row {place} is not. {REMEDY}")
    fields = np.empty(len(moments), [("seconds", "<i8"), ("nanoseconds", "<i4")])
    fields["seconds"] = seconds.astype("i8")
    fields["nanoseconds"] = nanoseconds.astype("i8")
    return _hash_fixed(fields.view("u1").reshape(len(moments), fields.itemsize), DATETIME)


def _hash_id_column(column: IdColumn) -> Array:
    if column.are_texts:
        return _hash_bytes(column, TEXT)
    if column.has_words:
        return _hash_numbers(column.numbers().view("u8") if column.is_wide else column.numbers())
    return hash_queries(column.names())


def _hash_arrow(column: Any) -> Array:
    """Return the hashes of an array of pyarrow."""
    pyarrow = optional_import("pyarrow", "reading Arrow data", "arrow")
    if isinstance(column, pyarrow.ChunkedArray):
        pieces = [_hash_arrow(chunk) for chunk in column.chunks]
        return np.concatenate(pieces) if pieces else np.empty(0, "u8")
    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        _refuse_missing(column.is_null().to_numpy(zero_copy_only=False))
    kind = column.type
    if getattr(types, "is_string_view", lambda _: False)(kind):
        column = column.cast(pyarrow.large_string())
        kind = column.type
    if types.is_string(kind) or types.is_large_string(kind):
        data = column.buffers()[2]
        texts = np.frombuffer(data, "u1") if data is not None and data.size else np.empty(0, "u1")
        return _hash_bytes(IdColumn.of_bytes(texts, read_offsets(column)), TEXT)
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return _hash_objects(column.to_pylist()) if len(column) else np.empty(0, "u8")
    if types.is_date(kind) or types.is_timestamp(kind):  # times with a zone are in UTC
        return _hash_array(column.to_numpy(zero_copy_only=False))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return _hash_array(column.to_numpy(zero_copy_only=False))
    return _refuse_type(kind)


def _hash_pieces(pieces: list[bytes], kind: int) -> Array:
    ends = np.cumsum([0, *map(len, pieces)])
    return _hash_bytes(IdColumn.of_bytes(np.frombuffer(b"".join(pieces), "u1"), ends), kind)


def _hash_fixed(rows: Array, kind: int) -> Array:
    """Return the hashes of the rows of an (n_queries, n_bytes) uint8 array."""
    offsets = np.arange(len(rows) + 1) * rows.shape[1]
    return _hash_bytes(IdColumn.of_bytes(np.ascontiguousarray(rows).reshape(-1), offsets), kind)


def _hash_bytes(column: IdColumn, kind: int) -> Array:
    hashes = np.empty(len(column), "u8")
    load_kernels("statistics.query_hashes").hash_ids(column.ids, np.uint64(kind), hashes)
    return hashes


def _refuse_missing(is_missing: Array) -> None:
    if is_missing.any():
        place = int(np.argmax(is_missing))
        raise InvalidInputError(f"query ids must not be missing, but that of row {place} is. Give every query an id.")


def _refuse_type(kind: Any) -> NoReturn:
    raise InvalidTypeError(
        f"query ids must be texts, whole numbers, floats, bools, bytes, or dates and times, not {kind}. {REMEDY}"
    )
