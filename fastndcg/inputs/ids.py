"""Ids of rows as bytes, without a Python object for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, UnknownIdError, shorten, suggest_name
from fastndcg.kernels.lookup import load_kernels
from fastndcg.kernels.shared import IdBytes
from fastndcg.rankings.validation import Array, count_before, read_only
from fastndcg.runtime.threads import check_threads, run_all

TEXT = np.dtype(object)
WORD = 8  # bytes that kernels read at once
ABSENT = -1
SURROGATES = "surrogatepass"  # Python's texts may hold surrogates, which UTF-8 lacks


def _restore_column(ids: IdBytes, dtype: str, is_wide: bool) -> IdColumn:
    return IdColumn(ids, np.dtype(dtype), is_wide)


@dataclass(frozen=True, slots=True)
class IdColumn:
    """
    One id per row: texts in UTF-8, or whole numbers of eight bytes.

    `dtype` is the dtype that the user gave, object for texts. `is_wide` is True for numbers of which one exceeds int64.
    """

    ids: IdBytes
    dtype: np.dtype[Any]
    is_wide: bool = False

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_column, (self.ids, self.dtype.str, self.is_wide)

    @classmethod
    def of(cls, ids: Any, name: str) -> IdColumn:
        """Build a column from an array or sequence that holds only texts, or only whole numbers."""
        if isinstance(ids, np.ndarray) and ids.dtype.kind in "iu" and ids.ndim == 1:
            return cls.from_numbers(ids)
        column = cls.of_ascii(ids)
        if column is not None:
            return column
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise InvalidTypeError(f"{name} must be a sequence of texts or of whole numbers, not {type(ids).__name__}")
        values = list(ids)
        return cls.of_texts(values) if is_text_list(values, name) else cls.from_numbers(as_id_numbers(values, name))

    @classmethod
    def of_texts(cls, texts: Sequence[str]) -> IdColumn:
        """Build a column of texts."""
        joined = "".join(texts)
        data = joined.encode(errors=SURROGATES)
        is_ascii = len(data) == len(joined)
        sizes = map(len, texts) if is_ascii else (len(text.encode(errors=SURROGATES)) for text in texts)
        ends = np.cumsum(np.fromiter(sizes, "i8", len(texts)))
        return cls.of_bytes(np.frombuffer(data, "u1"), np.concatenate([[0], ends]))

    @classmethod
    def of_ascii(cls, texts: Any) -> IdColumn | None:
        """Build a column of an array of ASCII texts without a Python object for each, or return None for all else."""
        if type(texts) is not np.ndarray or texts.dtype.kind != "U" or texts.ndim != 1 or not texts.nbytes:
            return None
        codes = np.ascontiguousarray(texts, texts.dtype.newbyteorder("=")).view("u4")
        data = np.empty(len(codes), "u1")
        offsets = np.zeros(len(texts) + 1, "i8")
        n_bytes = load_kernels("inputs.ids").read_ascii(read_only(codes), offsets, data)
        return None if n_bytes < 0 else cls.of_bytes(data[:n_bytes], offsets)

    @classmethod
    def of_bytes(cls, data: Array, offsets: Array) -> IdColumn:
        """Build a column of texts in UTF-8: text i is ``data[offsets[i]:offsets[i + 1]]``."""
        if len(data) < WORD:
            data = np.concatenate([data, np.zeros(WORD, "u1")])
        data = data.view()
        offsets = offsets.astype("i8", copy=False).view()
        data.setflags(False)  # type: ignore[call-arg]  # as in `read_only`
        offsets.setflags(False)  # type: ignore[call-arg]
        return cls(IdBytes(data, offsets, 0), TEXT)

    @classmethod
    def from_numbers(cls, numbers: Array) -> IdColumn:
        """Build a column of whole numbers: int64, or uint64 if one exceeds int64."""
        wide = numbers.dtype.kind == "u" and numbers.dtype.itemsize == 8 and int(numbers.max(initial=0)) >= 2**63
        fixed = cls.of_fixed(numbers.astype("u8" if wide else "i8", copy=False))
        return cls(fixed.ids, numbers.dtype, wide)

    @classmethod
    def of_fixed(cls, values: Array) -> IdColumn:
        """Build a column of fixed-width values, which are compared bytewise."""
        data = np.ascontiguousarray(values).view("u1").reshape(-1)
        width = values.dtype.itemsize
        if 0 < len(data) < WORD:
            data = np.pad(data.reshape(-1, width), [(0, 0), (0, WORD - width)]).reshape(-1)
            width = WORD
        return cls(IdBytes(read_only(data), read_only(np.empty(0, "i8")), width), values.dtype)

    @property
    def are_texts(self) -> bool:
        """True if the ids are texts."""
        return self.dtype == TEXT

    @property
    def has_int64(self) -> bool:
        """True if each id is one word of eight bytes, which `numbers` returns."""
        return self.ids.width == WORD

    def __len__(self) -> int:
        return len(self.ids.data) // self.ids.width if self.ids.width else len(self.ids.offsets) - 1

    def numbers(self) -> Array:
        """Return whole numbers as int64. Those beyond int64 wrap around to negative ones."""
        return self.ids.data.view("i8")

    def take(self, rows: Array, threads: int | None = 1) -> IdColumn:
        """Return the ids of some rows."""
        if self.ids.width == WORD:  # several times as fast as rows of bytes
            data = gather(self.numbers(), rows, threads).view("u1")
            return IdColumn(self.ids._replace(data=read_only(data)), self.dtype, self.is_wide)
        if self.ids.width:
            data = self.ids.data.reshape(len(self), self.ids.width)[rows]
            return IdColumn(self.ids._replace(data=read_only(data.reshape(-1))), self.dtype, self.is_wide)
        offsets = np.zeros(len(rows) + 1, "i8")
        starts, ends, sizes = self.ids.offsets[:-1], self.ids.offsets[1:], offsets[1:]

        def measure(first: int, stop: int) -> None:
            np.subtract(ends[rows[first:stop]], starts[rows[first:stop]], out=sizes[first:stop])

        run_on_rows(len(rows), measure, threads)
        np.cumsum(offsets, out=offsets)
        n_bytes = int(offsets[-1])
        data = np.empty(n_bytes, "u1")
        rows = read_only(np.ascontiguousarray(rows))
        copy = load_kernels("inputs.ids").take
        run_on_rows(len(rows), lambda first, stop: copy(self.ids, rows, offsets, first, stop, data), threads)
        return IdColumn.of_bytes(data, offsets)

    def cut(self, starts: Array, stops: Array) -> IdColumn:
        """Return the texts between two places of the bytes of each."""
        bounds = np.stack([starts, stops], axis=1).reshape(-1)  # every second text, between two of these, is one
        return IdColumn(IdBytes(self.ids.data, read_only(bounds), 0), TEXT).take(np.arange(0, len(bounds), 2))

    def factorize(self, rows: Array | None = None, threads: int | None = 1) -> tuple[Array, Array]:
        """Number ids in order of appearance, by default of all rows, and return the codes, and each id's first row."""
        rows = read_only(np.arange(len(self)) if rows is None else rows)
        codes = np.empty(len(rows), "i8")
        firsts = np.empty(len(rows), "i8")
        n_codes: dict[int, int] = {}  # of each span by itself
        number = load_kernels("inputs.ids").factorize

        def number_span(first: int, stop: int) -> None:
            n_codes[first] = number(self.ids, rows[first:stop], codes[first:stop], firsts[first:stop])

        run_on_rows(len(rows), number_span, threads)
        if len(n_codes) == 1:
            return codes, firsts[: n_codes[0]]
        spans = sorted(n_codes)
        merged, kept = self.factorize(np.concatenate([firsts[first : first + n_codes[first]] for first in spans]))
        ends = count_before(np.array([n_codes[first] for first in spans]))
        for first, stop, begin in zip(spans, [*spans[1:], len(rows)], ends[:-1].tolist(), strict=True):
            np.take(merged[begin:], codes[first:stop], out=codes[first:stop], mode="clip")
        return codes, kept

    def find_runs(self, first: int, stop: int) -> Array:
        """Return the rows from `first` up to `stop` whose id differs from the row before."""
        if self.has_int64:
            numbers = self.numbers()
            begin = max(first, 1)
            rows = np.flatnonzero(numbers[begin:stop] != numbers[begin - 1 : stop - 1]) + begin
            return np.append(0, rows) if first == 0 < stop else rows
        rows = np.empty(stop - first, "i8")
        return rows[: load_kernels("inputs.ids").find_runs(self.ids, first, stop, rows)].copy()

    def find_firsts(self, offsets: Array, first: int, stop: int) -> Array:
        """Return the first row with the id of each row in its query, for the queries `first` up to `stop`."""
        rows = np.empty(offsets[stop] - offsets[first], "i8")
        load_kernels("inputs.ids").find_firsts(self.ids, offsets, first, stop, rows)
        return rows

    def differ(self, other: IdColumn, rows: Array) -> Array:
        """Return True for each id that is not that of a row of a comparable column."""
        out = np.empty(len(rows), bool)
        load_kernels("inputs.ids").differ(self.ids, other.ids, read_only(rows), out)
        return out

    def order_ties(self, scores: Array, offsets: Array, threads: int | None = None) -> Array:
        """Return numbers in the order of the ids of documents with equal float32 scores, query by query."""
        if not self.are_texts:
            return self.order_numbers()
        keys = np.empty(len(self), "i8")
        rank = load_kernels("inputs.ids").rank_ties
        run_on_spans(offsets, lambda first, stop: rank(self.ids, scores, offsets, first, stop, keys), threads)
        return keys

    def order_numbers(self) -> Array:
        """Return numbers in the order of ids that are whole numbers."""
        return self.numbers() ^ np.int64(-(2**63)) if self.is_wide else self.numbers()

    def text_bytes(self) -> tuple[Array, Array]:
        """Return the UTF-8 bytes of texts, and their offsets."""
        return self.ids.data[: self.ids.offsets[-1]], self.ids.offsets

    def names(self) -> Array:
        """Return the ids as the user knows them: an object array of texts, or whole numbers of their dtype."""
        if self.dtype != TEXT:
            return self.ids.data.view("u8" if self.is_wide else "i8").astype(self.dtype, copy=False)
        offsets = self.ids.offsets
        content = self.ids.data[offsets[0] : offsets[-1]].tobytes()
        bounds = (offsets - offsets[0]).tolist()
        names = np.empty(len(bounds) - 1, dtype=object)
        names[:] = [content[i:j].decode(errors=SURROGATES) for i, j in pairwise(bounds)]
        return names

    def name(self, row: int) -> Any:
        """Return the id of one row."""
        return self.take(np.array([row])).names().tolist()[0]


class IdIndex:
    """A hash index of ids, which differ, by which the row of any id is found."""

    def __init__(self, column: IdColumn) -> None:
        self._column = column
        self._slots = np.zeros(1 << (2 * len(column)).bit_length(), "u4")  # at least half of them are free
        load_kernels("inputs.ids").index(column.ids, len(column), self._slots)

    def find(self, ids: IdColumn) -> Array:
        """Return the row of each id of a comparable column, or ABSENT."""
        rows = np.empty(len(ids), "i8")
        load_kernels("inputs.ids").look_up(ids.ids, self._column.ids, read_only(self._slots), rows)
        return rows


def concatenate_columns(columns: Sequence[IdColumn]) -> IdColumn:
    """Return the ids of several columns of the same kind, one column after the other."""
    if columns[0].ids.width:
        data = read_only(np.concatenate([column.ids.data for column in columns]))
        is_wide = any(column.is_wide for column in columns)
        return IdColumn(columns[0].ids._replace(data=data), columns[0].dtype, is_wide)
    pieces = []
    own_offsets = [column.ids.offsets for column in columns]
    offsets = np.zeros(1 + sum(map(len, own_offsets)) - len(own_offsets), "i8")
    row = 1
    end = 0
    for column, own in zip(columns, own_offsets, strict=True):
        first, last = own[[0, -1]].tolist()
        pieces.append(column.ids.data[first:last])
        stop = row + len(own) - 1
        np.add(own[1:], end - first, out=offsets[row:stop])
        row = stop
        end += last - first
    return IdColumn.of_bytes(np.concatenate(pieces), offsets)


def split_at_blanks(column: IdColumn) -> tuple[IdColumn, IdColumn]:
    """Split each text at its only run of blanks, which is not at an end, and return the texts before and after it."""
    data = column.ids.data
    offsets = column.ids.offsets
    blank = np.flatnonzero((data == ord(" ")) | ((data >= ord("\t")) & (data <= ord("\r"))))
    first = blank[np.searchsorted(blank, offsets[:-1])]
    last = blank[np.searchsorted(blank, offsets[1:]) - 1]
    return column.cut(offsets[:-1], first), column.cut(last + 1, offsets[1:])


def join_segments(starts: Array, sizes: Array) -> tuple[Array, Array]:
    """Return the offsets of segments of an array, one after the other, and the places of their entries in it."""
    offsets = count_before(sizes)
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], sizes)


def concatenate_comparable(columns: Sequence[IdColumn]) -> IdColumn:
    """Return the ids of several columns, all texts or all whole numbers, one column after the other."""
    is_wide = {column.is_wide for column in columns if len(column)}
    own = [_widen(column) for column in columns] if len(is_wide) > 1 else columns
    return concatenate_columns([column for column in own if len(column)] or own[:1])


def make_comparable(
    first: IdColumn, second: IdColumn, what: str, sides: tuple[str, str] = ("qrels", "run")
) -> tuple[IdColumn, IdColumn]:
    """
    Return two columns whose ids are equal exactly if their bytes are.

    Raise InvalidTypeError if one column has texts and the other has numbers.
    """
    if (first.dtype == TEXT) == (second.dtype == TEXT) and first.is_wide == second.is_wide:
        return first, second
    if not len(first) or not len(second):
        return (first, first.take(np.empty(0, "i8"))) if len(first) else (second.take(np.empty(0, "i8")), second)
    if first.are_texts != second.are_texts:
        _refuse_kinds(first, second, what, sides)
    return _widen(first), _widen(second)


def is_text_list(ids: Iterable[Any], name: str) -> bool:
    """Return True for texts, False for whole numbers. Raise InvalidTypeError for a mixture or other types."""
    kinds = dict.fromkeys(map(type, ids))
    has_texts = bool(kinds) and issubclass(next(iter(kinds)), str)
    for kind in kinds:
        if not (issubclass(kind, str) if has_texts else issubclass(kind, int | np.integer) and kind is not bool):
            wrong = next(value for value in ids if type(value) is kind)
            raise InvalidTypeError(
                f"{name} must be all texts or all whole numbers, but one is {shorten(wrong)}. Use one type"
            )
    return has_texts


def as_id_numbers(ids: list[Any], name: str) -> Array:
    """Return whole numbers as int64, or as uint64 if that holds them all."""
    if ids and min(ids) >= 0 and 2**63 <= max(ids) < 2**64:
        return np.array(ids, dtype="u8")
    try:
        return np.array(ids, dtype="i8")
    except OverflowError:
        wrong = next(value for value in ids if not -(2**63) <= value < 2**63)
        raise InvalidInputError(f"{name} must fit int64 or uint64, but one is {shorten(wrong)}. Use texts") from None


def _widen(column: IdColumn) -> IdColumn:
    """Convert whole numbers to 16 bytes, so that no negative one has the bytes of one beyond int64."""
    numbers = column.numbers()
    signs = np.zeros_like(numbers) if column.is_wide else numbers >> 63
    return IdColumn.of_fixed(np.stack([numbers, signs], axis=1).view("V16"))


def _refuse_kinds(first: IdColumn, second: IdColumn, what: str, sides: tuple[str, str]) -> None:
    kinds = ["texts" if column.are_texts else "whole numbers" for column in (first, second)]
    texts = [set(map(str, column.names().tolist())) for column in (first, second)]
    n_common = len(texts[0] & texts[1])
    remedy = f"As texts, {n_common} would be the same: make them texts" if n_common else "Use one type"
    raise InvalidTypeError(
        f"ids of {what} are {kinds[0]} in the {sides[0]}, such as {shorten(first.name(0))}, "
        f"but {kinds[1]} in the {sides[1]}, such as {shorten(second.name(0))}. {remedy}"
    )


def find_id(names: Sequence[Any], wanted: Any, what: str, where: str) -> int:
    """Return the place of an id among names, or raise an error."""
    if wanted in names:
        return names.index(wanted)
    are_texts = len(names) > 0 and isinstance(names[0], str)
    if len(names) and are_texts != isinstance(wanted, str):
        kind = "texts" if are_texts else "whole numbers"
        raise UnknownIdError(f"`{what}` must be one of the ids, which are {kind}, not {shorten(wanted)}. Convert it")
    hint = suggest_name(str(wanted), map(str, names)) or " Check that the id is written alike"
    raise UnknownIdError(f"`{what}` must be in {where}, but {shorten(wanted)} is not.{hint}")


SPAN = 1 << 17  # rows in the piece of work of a thread


class Groups(NamedTuple):
    """
    The queries in order of first appearance, and their rows.

    Query q owns rows[offsets[q] : offsets[q + 1]]. `rows` equals None if the rows of each query are adjacent and in
    order. Row firsts[q] is the first of query q.
    """

    offsets: Array
    rows: Array | None
    firsts: Array

    def number_rows(self) -> Array:
        """Return the number of each row's query."""
        numbers = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        if self.rows is None:
            return numbers
        in_order = np.empty(len(numbers), "i8")
        in_order[self.rows] = numbers
        return in_order


def group(column: IdColumn, threads: int | None = None) -> Groups:
    """Group rows by their ids."""
    found: dict[int, Array] = {}  # rows whose id differs from the row before, by span

    def find(first: int, stop: int) -> None:
        found[first] = column.find_runs(first, stop)

    run_on_rows(len(column), find, threads)
    starts = np.concatenate([found[first] for first in sorted(found)])
    return group_runs(column, starts, starts, len(column), threads)


def group_runs(column: IdColumn, id_rows: Array, starts: Array, n_rows: int, threads: int | None = 1) -> Groups:
    """Group runs of rows with the same id. Run r begins in row starts[r], and its id is in row id_rows[r]."""
    if column.has_int64 and _is_monotonic(column.numbers()[id_rows]):
        return Groups(np.append(starts, n_rows), None, id_rows)
    codes, firsts = column.factorize(id_rows, threads)
    firsts = firsts.copy()
    is_new = np.diff(codes, prepend=-1) != 0
    if np.count_nonzero(is_new) == len(firsts):
        return Groups(np.append(starts[is_new], n_rows), None, firsts)
    return Groups(*group_codes(codes, len(firsts), starts, n_rows), firsts)


def group_codes(codes: Array, n_codes: int, starts: Array, n_rows: int) -> tuple[Array, Array]:
    """Return the rows of each code, one code after the other, and their offsets. Run r begins in row starts[r]."""
    offsets, rows = np.empty(n_codes + 1, "i8"), np.empty(n_rows, "i8")
    load_kernels("inputs.ids").group_runs(codes, read_only(starts), np.empty(n_codes, "i8"), offsets, rows)
    return offsets, rows


def _is_monotonic(numbers: Array) -> bool:
    """Return True if numbers rise or fall throughout, so that none occurs twice."""
    return bool((numbers[1:] > numbers[:-1]).all() or (numbers[1:] < numbers[:-1]).all())


def run_on_rows(n_rows: int, work: Callable[[int, int], None], threads: int | None) -> None:
    """Do some work on spans of rows, from a first one to a stop, on several threads if there are many rows."""
    n_threads = check_threads(threads) if n_rows > SPAN else 1
    parts = list(pairwise([*range(0, n_rows, SPAN), n_rows])) if n_threads > 1 else [(0, n_rows)]
    run_all(parts, lambda: lambda span: work(*span), min(len(parts), n_threads))


def gather(values: Array, rows: Array, threads: int | None) -> Array:
    """Return the values of some rows."""
    out = np.empty(len(rows), values.dtype)

    def fill(first: int, stop: int) -> None:
        out[first:stop] = values[rows[first:stop]]

    run_on_rows(len(rows), fill, threads)
    return out


def split_spans(offsets: Array, size: int = SPAN) -> list[tuple[int, int]]:
    """Split consecutive queries into spans of about `size` rows each."""
    stops = np.searchsorted(offsets, np.arange(size, int(offsets[-1]) + 1, size), side="left")
    bounds = np.unique(np.concatenate([[0], stops, [len(offsets) - 1]])).tolist()
    return list(pairwise(bounds))


def run_on_spans(offsets: Array, work: Callable[[int, int], None], threads: int | None, size: int = SPAN) -> None:
    """Do some work on spans of queries, from a first one to a stop, on several threads if there are several spans."""
    if offsets[-1] < size:
        work(0, len(offsets) - 1)
        return
    parts = split_spans(offsets, size)
    run_all(parts, lambda: lambda span: work(*span), min(len(parts), check_threads(threads)) if len(parts) > 1 else 1)
