"""
Partial sums: the exact sums of metrics over some of the queries, to be merged with those of other batches or workers.

As bytes they are, in this order:

magic      8 bytes  b"fastndcg"
version    2 bytes  unsigned, little endian
size       4 bytes  unsigned, little endian: the length of the header
header     JSON in UTF-8: `metrics`, `convention`, `counts`, `count_limbs` of each sum, and `n_squares`
sums       little endian int64, (n_metrics, count_limbs): see `fastndcg.results.exact_sum.to_limbs`
checksum   4 bytes  CRC-32 of all bytes before it, little endian

The exact sums of squares, `n_squares` of them, follow the sums of values in the same array: one a metric, or none.
"""

from __future__ import annotations

import functools
import json
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.parsing import format_value
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import ExactSum, count_limbs, sum_squares, to_limbs

MAGIC = b"fastndcg"
VERSION = 1
START = struct.Struct("<8sHI")
CHECKSUM = struct.Struct("<I")


@dataclass(frozen=True, slots=True)
class PartialSums:
    """
    The exact sums of metrics over some of the queries.

    Attributes
    ----------
    metrics : tuple of str
        One a sum.
    convention : dict
        All choices of the convention as texts.
    sums : tuple of ExactSum
        They count the queries in which a metric is undefined, too.
    counts : dict
        Numbers of queries by name, such as ``{"n_queries": 5, "n_tied": 0}``.
    squares : tuple of ExactSum
        The sums of squares, one a metric, from which intervals are made. Empty if they were not added up.

    Examples
    --------
    >>> partial = PartialSums.from_values((fn.RR,), fn.conventions["default"], np.array([[1.0], [0.5]]))
    >>> (partial + PartialSums.from_bytes(partial.to_bytes())).means()
    [0.75]
    """

    metrics: tuple[str, ...]
    convention: Mapping[str, str]
    sums: tuple[ExactSum, ...]
    counts: Mapping[str, int]
    squares: tuple[ExactSum, ...] = ()

    @classmethod
    def from_values(
        cls, metrics: tuple[Metric, ...], convention: Convention, values: Array, counts: Mapping[str, int] | None = None
    ) -> PartialSums:
        """Add up the values of some queries, an (n_queries, n_metrics) array, and their squares."""
        partial = cls.from_numbers(metrics, convention, add_up_columns(values), counts)
        return replace(partial, squares=tuple(sum_squares(column) for column in values.T))

    @classmethod
    def from_numbers(
        cls,
        metrics: tuple[Metric, ...],
        convention: Convention,
        numbers: Array,
        counts: Mapping[str, int] | None = None,
    ) -> PartialSums:
        """Return the sums of an (n_metrics, count_limbs) int64 array, as `add_up_columns` gives it."""
        sums = tuple(ExactSum.from_numbers(row) for row in numbers)
        return cls(tuple(map(str, metrics)), dict(_format_choices(convention)), sums, dict(counts or {}))

    def __add__(self, other: PartialSums) -> PartialSums:
        """Return the sums over the queries of both."""
        if self.metrics != other.metrics:
            raise InvalidInputError(
                f"`other` must have the same metrics, {', '.join(self.metrics)}, not {', '.join(other.metrics)}. "
                "Evaluate the same metrics in all parts."
            )
        if self.convention != other.convention:
            field = next(name for name in self.convention if self.convention[name] != other.convention.get(name))
            theirs = shorten(other.convention.get(field))
            ours = shorten(self.convention[field])
            raise InvalidInputError(
                f"`other` must have the same convention, but its {field} is {theirs}, not {ours}. Evaluate all parts "
                "under the same convention."
            )
        if len(self.squares) != len(other.squares):
            raise InvalidInputError(
                "`other` must have sums of squares if these sums have some, but only one of them has. Add up squares "
                "in all parts or in none."
            )
        sums = tuple(left + right for left, right in zip(self.sums, other.sums, strict=True))
        names = dict.fromkeys([*self.counts, *other.counts])
        counts = {name: self.counts.get(name, 0) + other.counts.get(name, 0) for name in names}
        squares = tuple(left + right for left, right in zip(self.squares, other.squares, strict=True))
        return PartialSums(self.metrics, self.convention, sums, counts, squares)

    def means(self) -> list[float]:
        """Return the mean of each metric over the queries in which it is defined."""
        return [total.mean() for total in self.sums]

    def to_bytes(self) -> bytes:
        """Return the sums as bytes, which any version of Python reads on any machine."""
        totals = [*self.sums, *self.squares]
        numbers = np.array([total.to_numbers() for total in totals], "<i8").reshape(len(totals), count_limbs())
        fields: dict[str, Any] = {
            "metrics": self.metrics,
            "convention": dict(self.convention),
            "counts": dict(self.counts),
            "count_limbs": numbers.shape[1],
            "n_squares": len(self.squares),
        }
        header = json.dumps(fields).encode()
        content = START.pack(MAGIC, VERSION, len(header)) + header + numbers.tobytes()
        return content + CHECKSUM.pack(zlib.crc32(content))

    @classmethod
    def from_bytes(cls, content: bytes) -> PartialSums:
        """
        Read sums that `to_bytes` wrote.

        Raises
        ------
        InvalidTypeError
            If `content` is not bytes.
        InvalidInputError
            If `content` was written by something else or by a later version, or if it is damaged.
        """
        if not isinstance(content, bytes | bytearray | memoryview):
            raise InvalidTypeError(
                f"partial sums must be bytes, not {type(content).__name__}. Pass what to_bytes gave."
            )
        content = bytes(content)
        if len(content) < START.size + CHECKSUM.size or not content.startswith(MAGIC):
            raise InvalidInputError(
                f"partial sums must begin with {MAGIC.decode()}, but these bytes begin with {shorten(content[:8])}. "
                "Pass those of to_bytes."
            )
        _, version, header_size = START.unpack_from(content)
        if version != VERSION:
            raise InvalidInputError(
                f"partial sums must be of version {VERSION}, but these are of version {version}. Read them with the "
                "version of fastndcg that wrote them."
            )
        (checksum,) = CHECKSUM.unpack_from(content, len(content) - CHECKSUM.size)
        if checksum != zlib.crc32(content[: -CHECKSUM.size]):
            _refuse_damaged("their checksum is wrong")
        header = content[START.size : START.size + header_size]
        fields = _read_header(header)
        return cls._from_parts(fields, content[START.size + header_size : -CHECKSUM.size])

    @classmethod
    def _from_parts(cls, fields: dict[str, Any], sums: bytes) -> PartialSums:
        """Return the sums of a header and an array."""
        n_metrics = len(fields["metrics"])
        shape = n_metrics + fields["n_squares"], fields["count_limbs"]
        if len(sums) != 8 * shape[0] * shape[1]:
            _refuse_damaged(f"{len(sums)} bytes are not {shape[0]} sums of {shape[1]} numbers")
        numbers = np.frombuffer(sums, "<i8").reshape(shape)
        totals = tuple(ExactSum.from_numbers(row) for row in numbers)
        metrics = tuple(fields["metrics"])
        sums_by_kind = totals[:n_metrics], totals[n_metrics:]
        return cls(metrics, fields["convention"], sums_by_kind[0], fields["counts"], sums_by_kind[1])


@functools.lru_cache(maxsize=64)
def _format_choices(convention: Convention) -> Mapping[str, str]:
    """Return all choices of a convention as texts. Small batches feel the time that this takes."""
    return {field: format_value(choice) for field, choice in convention.choices().items()}


def add_up_columns(values: Array) -> Array:
    """Return the exact sum of each column as an (n_columns, count_limbs) int64 array, which may be added up."""
    return np.array([to_limbs(column) for column in values.T], "i8").reshape(values.shape[1], count_limbs())


def _read_header(header: bytes) -> dict[str, Any]:
    """Return the fields of a header, or raise an error if one is missing or of another type."""
    try:
        fields = json.loads(header.decode())
    except ValueError:
        _refuse_damaged("their header is no JSON")
    kinds = {"metrics": list, "convention": dict, "counts": dict, "count_limbs": int, "n_squares": int}
    for name, kind in kinds.items():
        if not isinstance(fields, dict) or not isinstance(fields.get(name), kind):
            _refuse_damaged(f"their header has no {name}")
    is_text = all(isinstance(metric, str) for metric in fields["metrics"])
    if not is_text or not all(type(count) is int and count >= 0 for count in fields["counts"].values()):
        _refuse_damaged("their header has other metrics or counts")
    if fields["n_squares"] not in (0, len(fields["metrics"])):
        _refuse_damaged(f"they have {fields['n_squares']} sums of squares")
    if fields["count_limbs"] < 5:
        _refuse_damaged(f"their sums have {fields['count_limbs']} numbers")
    return fields  # type: ignore[no-any-return]


def _refuse_damaged(problem: str) -> NoReturn:
    raise InvalidInputError(f"partial sums must be as they were written, but {problem}. Send or store them again.")
