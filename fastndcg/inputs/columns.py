"""Ids of rows as bytes, without a Python object each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastndcg.casts import frozen
from fastndcg.errors import InvalidInputError, InvalidTypeError
from fastndcg.rankings import Array, read_only

TEXT = np.dtype(object)
WORD = 8  # bytes, which kernels read at once
SURROGATES = "surrogatepass"  # Python's texts may hold halves of characters


class IdBytes(NamedTuple):
    """Ids as kernels read them: those of `offsets`, or of `width` bytes each."""

    data: Array
    offsets: Array
    width: int

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, tuple(self)


def _restored(data: Array, offsets: Array, width: int) -> IdBytes:
    return IdBytes(*frozen((data, offsets, width)))


@dataclass(frozen=True, slots=True)
class Column:
    """
    One id a row: texts in UTF-8, or whole numbers of eight bytes.

    `dtype` is the type that the ids have for the user, object for texts.
    """

    ids: IdBytes
    dtype: np.dtype[Any]
    is_wide: bool = False  # whether they are whole numbers of which one is beyond int64

    @classmethod
    def of(cls, ids: Any, name: str) -> Column:
        """Texts or whole numbers from an array or a sequence, which must not mix them, or hold others."""
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1:
            return cls.of_numbers(ids)
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise InvalidTypeError(f"{name} must be a sequence of texts or of whole numbers, not {type(ids).__name__}")
        given = list(ids)
        texts = are_texts(given, name)
        return cls.of_texts(given) if texts else cls.of_numbers(whole_numbers(given, name))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> Column:
        """Texts, in UTF-8."""
        joined = "".join(texts)
        data = joined.encode(errors=SURROGATES)
        sizes = map(len, texts) if len(data) == len(joined) else (len(one.encode(errors=SURROGATES)) for one in texts)
        ends = np.cumsum(np.fromiter(sizes, "i8", len(texts)))
        return cls.of_bytes(np.frombuffer(data, "u1"), np.concatenate([[0], ends]))

    @classmethod
    def of_bytes(cls, data: Array, offsets: Array) -> Column:
        """Texts that are in UTF-8 already: text i is ``data[offsets[i]:offsets[i + 1]]``."""
        if len(data) < WORD:
            data = np.concatenate([data, np.zeros(WORD, "u1")])
        return cls(IdBytes(read_only(data), read_only(offsets.astype("i8", copy=False)), 0), TEXT)

    @classmethod
    def of_numbers(cls, numbers: Array) -> Column:
        """Whole numbers of any type, as int64; as uint64 where one is beyond int64."""
        wide = numbers.dtype.kind == "u" and numbers.dtype.itemsize == 8 and int(numbers.max(initial=0)) >= 2**63
        fixed = cls.of_fixed(numbers.astype("u8" if wide else "i8", copy=False))
        return cls(fixed.ids, numbers.dtype, wide)

    @classmethod
    def of_fixed(cls, values: Array) -> Column:
        """What has as many bytes in every row: equal where the bytes are."""
        data, width = np.ascontiguousarray(values).view("u1").reshape(-1), values.dtype.itemsize
        if 0 < len(data) < WORD:
            data = np.pad(data.reshape(-1, width), [(0, 0), (0, WORD - width)]).reshape(-1)
            width = WORD
        return cls(IdBytes(read_only(data), read_only(np.empty(0, "i8")), width), values.dtype)

    @property
    def are_texts(self) -> bool:
        """Whether the ids are texts."""
        return self.dtype == TEXT

    def __len__(self) -> int:
        return len(self.ids.data) // self.ids.width if self.ids.width else len(self.ids.offsets) - 1

    def numbers(self) -> Array:
        """Whole numbers as int64, which those beyond it are below 0."""
        return self.ids.data.view("i8")

    def take(self, rows: Array) -> Column:
        """The ids of some rows."""
        if self.ids.width == WORD:  # several times as fast as rows of bytes
            taken = self.numbers()[rows].view("u1")
            return Column(self.ids._replace(data=read_only(taken)), self.dtype, self.is_wide)
        if self.ids.width:
            taken = self.ids.data.reshape(len(self), self.ids.width)[rows]
            return Column(self.ids._replace(data=read_only(taken.reshape(-1))), self.dtype, self.is_wide)
        from fastndcg.kernels import ids as kernels

        sizes = self.ids.offsets[rows + 1] - self.ids.offsets[rows]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        data = np.empty(int(offsets[-1]), "u1")
        kernels.take(self.ids, read_only(rows), offsets, data)
        return Column.of_bytes(data, offsets)

    def names(self) -> Array:
        """The ids as the user knows them: an object array of texts, or whole numbers of their type."""
        if not self.are_texts:
            return self.ids.data.view("u8" if self.is_wide else "i8").astype(self.dtype, copy=False)
        offsets = self.ids.offsets
        content = self.ids.data[offsets[0] : offsets[-1]].tobytes()
        bounds = (offsets - offsets[0]).tolist()
        names = np.empty(len(self), dtype=object)
        names[:] = [content[i:j].decode(errors=SURROGATES) for i, j in pairwise(bounds)]
        return names

    def name(self, row: int) -> Any:
        """The id of one row."""
        return self.take(np.array([row])).names().tolist()[0]


def joined(columns: Sequence[Column]) -> Column:
    """The ids of several columns of the same kind, one column after the other."""
    if columns[0].ids.width:
        data = read_only(np.concatenate([column.ids.data for column in columns]))
        return Column(columns[0].ids._replace(data=data), columns[0].dtype, any(column.is_wide for column in columns))
    pieces, offsets, end = [], [np.zeros(1, "i8")], 0
    for column in columns:
        first, last = column.ids.offsets[[0, -1]].tolist()
        pieces.append(column.ids.data[first:last])
        offsets.append(column.ids.offsets[1:] + (end - first))
        end += last - first
    return Column.of_bytes(np.concatenate(pieces), np.concatenate(offsets))


def cut_at_blanks(column: Column) -> tuple[Column, Column]:
    """What stands before and behind the blanks of texts that have them in one place, and at no end."""
    data, offsets = column.ids.data, column.ids.offsets
    blank = np.flatnonzero((data == ord(" ")) | ((data >= ord("\t")) & (data <= ord("\r"))))
    first, last = blank[np.searchsorted(blank, offsets[:-1])], blank[np.searchsorted(blank, offsets[1:]) - 1]
    return _pieces(data, offsets[:-1], first), _pieces(data, last + 1, offsets[1:])


def _pieces(data: Array, starts: Array, stops: Array) -> Column:
    """Pieces of a text, one behind the other."""
    offsets = np.concatenate([[0], np.cumsum(stops - starts)])
    places = np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], stops - starts)
    return Column.of_bytes(data[places], offsets)


def alike(first: Column, second: Column, what: str, sides: tuple[str, str] = ("qrels", "run")) -> tuple[Column, Column]:
    """Two columns whose ids are equal where their bytes are, or an error where one has texts and the other numbers."""
    if not len(first) or not len(second):
        return (first, first.take(np.empty(0, "i8"))) if len(first) else (second.take(np.empty(0, "i8")), second)
    if first.are_texts != second.are_texts:
        _refuse_kinds(first, second, what, sides)
    if first.is_wide == second.is_wide:
        return first, second
    return _widened(first), _widened(second)


def are_texts(ids: Iterable[Any], name: str) -> bool:
    """Whether ids are texts, not whole numbers; an error where they are mixed, or anything else."""
    kinds = dict.fromkeys(map(type, ids))
    texts = bool(kinds) and issubclass(next(iter(kinds)), str)
    for kind in kinds:
        if not (issubclass(kind, str) if texts else issubclass(kind, int | np.integer) and kind is not bool):
            odd = next(one for one in ids if type(one) is kind)
            raise InvalidTypeError(f"{name} must be all texts or all whole numbers, but one is {odd!r}; use one type")
    return texts


def whole_numbers(ids: list[Any], name: str) -> Array:
    """Whole numbers as int64, or as uint64 where that takes them all."""
    if ids and min(ids) >= 0 and 2**63 <= max(ids) < 2**64:
        return np.array(ids, dtype="u8")
    try:
        return np.array(ids, dtype="i8")
    except OverflowError:
        odd = next(one for one in ids if not -(2**63) <= one < 2**63)
        raise InvalidInputError(f"{name} must fit int64 or uint64, but one is {odd!r}; use texts") from None


def _widened(column: Column) -> Column:
    """Whole numbers in sixteen bytes, so that none below 0 looks like one beyond int64."""
    numbers = column.numbers()
    signs = np.zeros_like(numbers) if column.is_wide else numbers >> 63
    return Column.of_fixed(np.stack([numbers, signs], axis=1).view("V16"))


def _refuse_kinds(first: Column, second: Column, what: str, sides: tuple[str, str]) -> None:
    kinds = ["texts" if column.are_texts else "whole numbers" for column in (first, second)]
    texts = [set(map(str, column.names().tolist())) for column in (first, second)]
    both = len(texts[0] & texts[1])
    remedy = f"as texts, {both} would be the same: make them texts" if both else "use one type"
    raise InvalidTypeError(
        f"ids of {what} are {kinds[0]} in the {sides[0]}, such as {first.name(0)!r}, "
        f"but {kinds[1]} in the {sides[1]}, such as {second.name(0)!r}; {remedy}"
    )
