"""
Exact sums of the replicates of a bootstrap, to be merged with those of other batches or workers.

Each sum is a whole number in limbs of 32 bits, as in `fastndcg.results.exact_sum`. Only the limbs that a sum needs are
stored: metrics from 0 to 1 need two or three, where an `ExactSum` has 70.
"""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.rankings.validation import Array
from fastndcg.results.exact_sum import LIMB_BITS

LIMB = 1 << LIMB_BITS
HALF = LIMB >> 1
MAX_LIMBS = 72  # of a finite float64, with room for the carries of sums
UNIT_BITS = 1074  # the smallest float64 above 0 is 2^-1074


@dataclass(frozen=True, slots=True, eq=False)
class ReplicateSums:
    """
    The sums of weighted values and of weights, for each column and replicate.

    Equal sums have equal arrays, in whatever order their parts were added.

    Attributes
    ----------
    seed : int
        The seed of the weights.
    first_limb : int
        The number of the first limb. Limb i counts multiples of 2^(32 i - 1074).
    limbs : (n_limbs, n_columns, n_replicates) int64 array
        The sums of weighted values: from 0 to 2^32 - 1, except the last limb, which has the sign.
    weights : (n_columns, n_replicates) int64 array
        The sums of the weights of the queries that have a value.
    """

    seed: int
    first_limb: int
    limbs: Array
    weights: Array

    @classmethod
    def from_limbs(cls, seed: int, first_limb: int, limbs: Array, weights: Array) -> ReplicateSums:
        """Return the sums of limbs below 2^62 in size, with carries propagated and without limbs that are 0."""
        pieces = list(limbs)
        for place in range(len(pieces) - 1):
            over = pieces[place] >> LIMB_BITS
            pieces[place] = pieces[place] - (over << LIMB_BITS)
            pieces[place + 1] = pieces[place + 1] + over
        while not _fits_last(pieces[-1]):
            over = pieces[-1] >> LIMB_BITS
            pieces[-1] = pieces[-1] - (over << LIMB_BITS)
            pieces.append(over)
        while len(pieces) > 1 and _fits_above(pieces[-1]) and _fits_last(pieces[-2] + (pieces[-1] << LIMB_BITS)):
            last = pieces.pop()
            pieces[-1] = pieces[-1] + (last << LIMB_BITS)
        while len(pieces) > 1 and not pieces[0].any():
            del pieces[0]
            first_limb += 1
        if not pieces[0].any():
            first_limb = 0
        return cls(seed, first_limb, np.stack(pieces), weights)

    @property
    def replicates(self) -> int:
        """The number of replicates."""
        return int(self.weights.shape[1])

    def __add__(self, other: ReplicateSums) -> ReplicateSums:
        """Return the sums over the queries of both."""
        for name in ("replicates", "seed"):
            if getattr(self, name) != getattr(other, name):
                raise InvalidInputError(
                    f"`other` must have the same {name}, {getattr(self, name)}, not {getattr(other, name)}. Give all "
                    f"parts the same {name}."
                )
        first_limb = min(self.first_limb, other.first_limb)
        end = max(self.first_limb + len(self.limbs), other.first_limb + len(other.limbs))
        limbs = np.zeros((end - first_limb, *self.weights.shape), "i8")
        for sums in (self, other):
            start = sums.first_limb - first_limb
            limbs[start : start + len(sums.limbs)] += sums.limbs
        return ReplicateSums.from_limbs(self.seed, first_limb, limbs, self.weights + other.weights)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ReplicateSums):
            return NotImplemented
        same = (self.seed, self.first_limb) == (other.seed, other.first_limb)
        return same and np.array_equal(self.limbs, other.limbs) and np.array_equal(self.weights, other.weights)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash

    def header(self) -> dict[str, Any]:
        """Return the seed and the shapes of the arrays, as JSON can hold them."""
        shapes = {"limbs": list(self.limbs.shape), "weights": list(self.weights.shape)}
        return {"seed": self.seed, "first_limb": self.first_limb, **shapes}

    @classmethod
    def from_header(cls, header: Any, content: bytes) -> ReplicateSums | None:
        """Return the sums of `header` and the bytes of the two arrays, None if they do not fit each other."""
        try:
            limbs, weights = (tuple(map(operator.index, header[name])) for name in ("limbs", "weights"))
            seed, first_limb = (operator.index(header[name]) for name in ("seed", "first_limb"))
        except (KeyError, TypeError, ValueError):
            return None
        is_shape = len(limbs) == 3 and len(weights) == 2 and limbs[1:] == weights and min(limbs) >= 1
        n_limb_bytes = 8 * math.prod(limbs)
        in_range = 0 <= first_limb < MAX_LIMBS and 0 <= seed < 2**64
        if not is_shape or not in_range or len(content) != n_limb_bytes + 8 * math.prod(weights):
            return None
        numbers = np.frombuffer(content, "<i8").astype("i8")
        places = np.split(numbers, [math.prod(limbs)])
        return cls(seed, first_limb, places[0].reshape(limbs), places[1].reshape(weights))

    def take(self, columns: list[int]) -> ReplicateSums:
        """Return the sums of some columns."""
        return ReplicateSums.from_limbs(self.seed, self.first_limb, self.limbs[:, columns], self.weights[columns])

    def values(self) -> Array:
        """Return the (n_columns, n_replicates) float64 sums of weighted values, each rounded once."""
        total = np.zeros(self.weights.shape, object)
        for place, limb in enumerate(self.limbs):
            total += limb.astype(object) << LIMB_BITS * place
        exponent = LIMB_BITS * self.first_limb - UNIT_BITS
        numbers = [_scale(number, exponent) for number in total.reshape(-1).tolist()]
        return np.array(numbers, "f8").reshape(total.shape)

    def means(self) -> Array:
        """Return the (n_columns, n_replicates) float64 weighted means, NaN where the weights are all 0."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self.values() / self.weights)


def refuse_infinite(values: Array) -> None:
    """Raise an error for an infinite value, which no weighted sum can hold."""
    if np.isinf(values).any():
        query, column = np.argwhere(np.isinf(values))[0].tolist()
        raise InvalidInputError(
            f"values must be finite or NaN for the Poisson bootstrap, but that of row {query} in column {column} is "
            f"{values[query, column]}. Take another interval, or bound the metric."
        )


def _scale(number: int, exponent: int) -> float:
    """Return number * 2^exponent, rounded once."""
    try:
        return number / (1 << -exponent) if exponent < 0 else float(number << exponent)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _fits_last(limb: Array) -> bool:
    return bool(limb.min(initial=0) >= -HALF and limb.max(initial=0) < HALF)


def _fits_above(limb: Array) -> bool:
    """Return True if a last limb can be added to the one below it without an overflow."""
    return bool(limb.min(initial=0) >= -1 and limb.max(initial=0) <= 0)
