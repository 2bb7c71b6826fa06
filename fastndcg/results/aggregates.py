"""
Aggregates: one number for the values of all queries, such as their mean, median or geometric mean.

Sums are exact: a mean does not depend on the order of the values, nor on the batches that they come in.

Partial sums are those of metrics over some of the queries, to be merged with those of other batches or workers.
"""

from __future__ import annotations

import contextlib
import functools
import json
import math
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten
from fastndcg.kernels.lookup import load_kernels
from fastndcg.metrics.metric import Metric
from fastndcg.named_conventions import Convention
from fastndcg.parsing import format_value
from fastndcg.rankings.validation import Array, read_only

UNIT = 1 << 1074  # the smallest float64 above 0 is 1 / UNIT
LIMB_BITS = 32
SMALL = 1 << 14  # for so few values, loading a kernel takes longer than adding them up in Python
SPLITTER = 134217729.0  # 2^27 + 1, which halves the bits of a float64
MOST = 1 << 30  # values between two carries, after which a limb could overflow
MAGIC = b"fastndcg sums "
VERSION = b"1"


@dataclass(slots=True)
class ExactSum:
    """
    The sum of values without NaN, and the number of values.

    Two sums can be added to each other.

    Attributes
    ----------
    units : int
        The sum of the finite values, as a multiple of the smallest float64.
    n : int
        The number of values without NaN.
    n_nan : int
        The number of NaN.
    infinities : float
        The sum of the infinite values.

    Examples
    --------
    >>> total = ExactSum.of(np.array([1e300, 1.0, -1e300, np.nan]))
    >>> total.value(), total.mean(), total.n
    (1.0, 0.3333333333333333, 3)
    """

    units: int = 0
    n: int = 0
    n_nan: int = 0
    infinities: float = 0.0

    @classmethod
    def of(cls, values: Array) -> ExactSum:
        """Add up an array."""
        return cls.from_numbers(to_limbs(values))

    @classmethod
    def from_numbers(cls, numbers: Array) -> ExactSum:
        """Return the sum of numbers as `to_limbs` gives them. Several may have been added up."""
        *limbs, n, n_nan, n_above, n_below = numbers.tolist()
        units = sum(limb << LIMB_BITS * place for place, limb in enumerate(limbs) if limb)
        infinities = (math.inf if n_above else 0.0) + (-math.inf if n_below else 0.0)
        return cls(units, n, n_nan, infinities)

    def to_fields(self) -> list[Any]:
        """Return the sum as values of JSON, which has no infinity. Hexadecimal digits have no greatest number."""
        return [f"{self.units:x}", self.n, self.n_nan, str(self.infinities)]

    @classmethod
    def from_fields(cls, fields: list[Any]) -> ExactSum:
        """Return the sum of `to_fields`."""
        units, n, n_nan, infinities = fields
        return cls(int(units, 16), n, n_nan, float(infinities))

    def __add__(self, other: ExactSum) -> ExactSum:
        return ExactSum(
            self.units + other.units, self.n + other.n, self.n_nan + other.n_nan, self.infinities + other.infinities
        )

    def value(self) -> float:
        """Return the sum, rounded once."""
        if self.infinities:
            return self.infinities
        try:
            return self.units / UNIT
        except OverflowError:
            return math.inf if self.units > 0 else -math.inf

    def mean(self) -> float:
        """Return the rounded sum divided by the number of values, NaN without values."""
        return self.value() / self.n if self.n else math.nan


def to_limbs(values: Array) -> Array:
    """
    Return an exact sum as int64 numbers, which may be added to those of other sums.

    The numbers are limbs of 32 bits, and the counts of values without NaN, of NaN, of infinity and of minus infinity.
    Up to 2**31 sums may be added before a limb overflows.
    """
    kernels = load_kernels("statistics")
    limbs = np.zeros(kernels.N_LIMBS, "i8")
    counts = np.zeros(3, "i8")
    for start in range(0, len(values), MOST):
        part = np.ascontiguousarray(values[start : start + MOST], "f8")
        kernels.add_up(read_only(part.view("u8")), limbs, counts)
        kernels.carry(limbs)
    return np.concatenate([limbs, [len(values) - counts[kernels.NAN]], counts])


def count_limbs() -> int:
    """Return the number of int64 numbers of an exact sum."""
    return int(load_kernels("statistics").N_LIMBS) + 4


def split_squares(values: Array) -> tuple[Array, Array]:
    """
    Return the squares of values as sums of two float64 numbers: the rounded square, and the error of rounding.

    T. J. Dekker 1971, doi:10.1007/BF01397083. The error is 0 for values beyond 1e150 in size.
    """
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        squares = values * values
        scaled = values * SPLITTER
        high = scaled - (scaled - values)
        low = values - high
        errors = ((high * high - squares) + 2 * high * low) + low * low
    errors[np.abs(values) > 1e150] = 0.0
    return squares, errors


def sum_squares(values: Array) -> ExactSum:
    """Return the exact sum of the squares of values without NaN."""
    squares, errors = split_squares(values)
    exact = ExactSum.of(squares)
    return ExactSum(exact.units + ExactSum.of(errors).units, exact.n, exact.n_nan, exact.infinities)


def compute_spread(total: ExactSum, squares: ExactSum) -> tuple[float, float]:
    """
    Return the standard deviation of the values and the standard error of their mean, each rounded once.

    Both are NaN for fewer than two values, and if a value is infinite.

    >>> values = np.array([1.0, 2.0, 4.0, 5.0])
    >>> compute_spread(ExactSum.of(values), sum_squares(values))  # the roots of 10 / 3 and of 10 / 12
    (1.8257418583505538, 0.9128709291752769)
    """
    n = total.n
    if n < 2 or total.infinities or squares.infinities:
        return math.nan, math.nan
    numerator = max(squares.units * UNIT * n - total.units**2, 0)  # of n (n - 1) variances, as multiples of 1 / UNIT^2
    denominator = UNIT * UNIT * n * (n - 1)
    try:
        return math.sqrt(numerator / denominator), math.sqrt(numerator / (denominator * n))
    except OverflowError:
        return math.inf, math.inf


def mean(values: Array) -> float:
    """Return the mean of the values without NaN, NaN without values."""
    if len(values) <= SMALL:
        defined = values[~np.isnan(values)].tolist()
        with contextlib.suppress(ValueError, OverflowError):  # infinities of both signs, or a sum beyond float64
            return math.fsum(defined) / len(defined) if defined else math.nan
    return ExactSum.of(values).mean()


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
        """Return the sums as bytes, which any version of Python reads: a version, a checksum and JSON."""
        fields = {
            "metrics": self.metrics,
            "convention": dict(self.convention),
            "counts": dict(self.counts),
            "sums": [total.to_fields() for total in self.sums],
            "squares": [total.to_fields() for total in self.squares],
        }
        text = json.dumps(fields).encode()
        return b"%s%s %08x %s" % (MAGIC, VERSION, zlib.crc32(text), text)

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
        if not content.startswith(MAGIC):
            raise InvalidInputError(
                f"partial sums must begin with {shorten(MAGIC.decode())}, but these bytes begin with "
                f"{shorten(content[:14])}. Pass those of to_bytes."
            )
        version, _, rest = content.removeprefix(MAGIC).partition(b" ")
        if version != VERSION:
            raise InvalidInputError(
                f"partial sums must be of version {VERSION.decode()}, but these have {shorten(version)}. Read them "
                "with the version of fastndcg that wrote them."
            )
        checksum, _, text = rest.partition(b" ")
        if checksum != b"%08x" % zlib.crc32(text):
            raise InvalidInputError(
                "partial sums must be as they were written, but their checksum is wrong. Send or store them again."
            )
        fields = json.loads(text)
        sums, squares = (tuple(map(ExactSum.from_fields, fields[name])) for name in ("sums", "squares"))
        return cls(tuple(fields["metrics"]), fields["convention"], sums, fields["counts"], squares)


@functools.lru_cache(maxsize=64)
def _format_choices(convention: Convention) -> Mapping[str, str]:
    """Return all choices of a convention as texts. Small batches feel the time that this takes."""
    return {field: format_value(choice) for field, choice in convention.choices().items()}


def add_up_columns(values: Array) -> Array:
    """Return the exact sum of each column as an (n_columns, count_limbs) int64 array, which may be added up."""
    return np.array([to_limbs(column) for column in values.T], "i8").reshape(values.shape[1], count_limbs())


Weights = Array | None


def aggregate(metric: Metric, values: Array, weights: Weights, chances: Array | None = None) -> float:
    """
    Return the aggregate of the values that are not NaN, NaN if all are.

    `weights` are the weights of the values, None if all are equal. `chances` are the values that a random order gives,
    for aggregates that are adjusted for chance.
    """
    counts = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    values = values if counts.all() else values[counts]
    weights = weights if weights is None or counts.all() else weights[counts]
    if not len(values):
        return math.nan
    if metric.aggregate is not None and metric.aggregate.name in BY_CHANCE:
        if chances is None:
            raise InvalidInputError(
                f"{metric} needs the values by chance, which these results lack. Take {metric.bare}."
            )
        by_chance = weighted_mean(chances if counts.all() else chances[counts], weights)
        return BY_CHANCE[metric.aggregate.name](weighted_mean(values, weights), by_chance)
    if metric.aggregate is None:
        return weighted_mean(values, weights)
    name, parameters = metric.aggregate
    return AGGREGATE[name](metric, values, weights, **dict(parameters))


def weighted_mean(values: Array, weights: Weights) -> float:
    """Return the weighted mean of values."""
    if weights is None:
        return mean(values)
    return ExactSum.of(values * weights).value() / ExactSum.of(weights).value()


def standard_deviation(values: Array, weights: Weights, ddof: int) -> float:
    """
    Return the standard deviation of the values that are not NaN, NaN if there are no more than `ddof`.

    >>> standard_deviation(np.array([0.5, 1.0, math.nan]), None, 0)
    0.25
    """
    counts = ~np.isnan(values) if weights is None else ~np.isnan(values) & (weights > 0)
    values = values[counts]
    weights = None if weights is None else weights[counts]
    if len(values) <= ddof:
        return math.nan
    deviations = values - weighted_mean(values, weights)
    return math.sqrt(weighted_mean(deviations**2, weights) * len(values) / (len(values) - ddof))


def geometric_mean(metric: Metric, values: Array, weights: Weights, *, floor: float) -> float:
    """Return the geometric mean of values, with `floor` in place of lower ones."""
    del metric
    return math.exp(weighted_mean(np.log(np.maximum(values, floor)), weights))


def harmonic_mean(metric: Metric, values: Array, weights: Weights) -> float:
    """Return the harmonic mean of values, 0 if one of them is 0."""
    del metric
    return 0.0 if (values == 0).any() else 1.0 / weighted_mean(1.0 / values, weights)


def adjust_for_chance(mean_value: float, by_chance: float) -> float:
    """
    Return the share of the way from chance to the best value, 1. NaN if chance gives the best value.

    >>> adjust_for_chance(2.0, 51.0), adjust_for_chance(0.25, 0.0625)
    (0.98, 0.2)
    """
    return (mean_value - by_chance) / (1.0 - by_chance) + 0.0 if by_chance != 1 else math.nan  # + 0.0: no -0.0


def divide_by_chance(mean_value: float, by_chance: float) -> float:
    """Return the ratio of a mean to that by chance, NaN if chance gives 0."""
    return mean_value / by_chance if by_chance else math.nan


def median(metric: Metric, values: Array, weights: Weights) -> float:
    """Return the middle value."""
    return quantile(metric, values, weights, q=0.5)


def quantile(metric: Metric, values: Array, weights: Weights, *, q: float) -> float:
    """Return the value that the share `q` of the values lies below."""
    if weights is not None and (weights != weights[0]).any():
        raise InvalidInputError(
            f"`weights` must be left out for {metric}, which is defined without. Take {metric.bare}, gm or worst."
        )
    return float(np.quantile(values, q))


def worst(metric: Metric, values: Array, weights: Weights, *, share: float) -> float:
    """Return the mean of the worst `share` of the values. The last of them may count in part."""
    order = np.argsort(metric.sign * values, kind="stable")
    sizes = np.ones(len(values)) if weights is None else weights[order]
    weight_of_worse = np.cumsum(sizes) - sizes
    partial_sizes = np.clip(share * sizes.sum() - weight_of_worse, 0, sizes)
    return weighted_mean(values[order], partial_sizes)


def micro(metric: Metric, values: Array, weights: Weights) -> float:
    """Return the mean of fractions, weighted by their denominators."""
    del metric
    return weighted_mean(values, weights)


AGGREGATE: dict[str, Callable[..., float]] = {
    "gm": geometric_mean,
    "hm": harmonic_mean,
    "median": median,
    "quantile": quantile,
    "worst": worst,
    "micro": micro,
}
BY_CHANCE: dict[str, Callable[[float, float], float]] = {
    "adjusted": adjust_for_chance,
    "over_chance": divide_by_chance,
}
