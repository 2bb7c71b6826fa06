"""Replicates of sums on several threads; the numbers are the same however the work is shared."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg.rankings import Array
from fastndcg.statistics.design import Design
from fastndcg.statistics.settings import Settings
from fastndcg.threads import checked_threads, run_all

GROUP = 32  # replicates that go through the values together: fewer read them too often, more leave the nearest cache
WORDS = 128  # random numbers at a time
BOOTSTRAP, SIGNS, ORDERS = 0, 1, 2  # a seed makes other numbers for each purpose
MASK = 2**64 - 1

Weigh = Callable[[int, Array], None]  # fills the weights of the replicates from the first on


def bootstrap_sums(rows: Array, design: Design, settings: Settings) -> Array:
    """The (replicates, n_rows) sums of resampled units."""
    from fastndcg.kernels.multinomial import draw_counts

    key = key_of(settings.seed, BOOTSTRAP)

    def make_weigh() -> Weigh:
        words = np.empty(WORDS, "u8")
        return lambda first, weights: draw_counts(key, first, design.strata, words, weights)

    return _replicated(rows, settings, make_weigh)


def sign_sums(rows: Array, settings: Settings) -> Array:
    """The (replicates, n_rows) sums of units with random signs."""
    from fastndcg.kernels.resample import draw_signs

    key = key_of(settings.seed, SIGNS)

    def make_weigh() -> Weigh:
        return lambda first, weights: draw_signs(key, first, weights)

    return _replicated(rows, settings, make_weigh)


def permuted_ranges(values: Array, settings: Settings) -> Array:
    """The (replicates, n_metrics) ranges of sums of (n_metrics, n_units, n_systems) values, systems exchanged."""
    from fastndcg.kernels import permute

    n_metrics, _, n_systems = values.shape
    out = np.empty((_in_groups(settings.replicates), n_metrics))
    key = key_of(settings.seed, ORDERS)

    def make_worker() -> Callable[[int], None]:
        order, sums = np.empty(n_systems, "i8"), np.empty((n_metrics, n_systems))

        def work(first: int) -> None:
            permute.permuted_ranges(key, first, values, order, sums, out[first : first + GROUP])

        return work

    run_all(range(0, len(out), GROUP), make_worker, checked_threads(settings.threads))
    return out[: settings.replicates]


def key_of(seed: int, purpose: int) -> np.uint64:
    """
    What the streams of a seed's replicates begin with, by the hash of the kernels.

    >>> int(key_of(0, 0)) == int(key_of(0, 0)) != int(key_of(0, 1))
    True
    """
    return np.uint64(_mixed(_mixed(seed) + purpose))


def _mixed(number: int) -> int:
    z = (number + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def _replicated(rows: Array, settings: Settings, make_weigh: Callable[[], Weigh]) -> Array:
    """All sums, group by group of replicates: weights first, then what they weigh."""
    from fastndcg.kernels.resample import weighted_sums

    n_units = rows.shape[1]
    out = np.empty((_in_groups(settings.replicates), len(rows)))

    def make_worker() -> Callable[[int], None]:
        weights, weigh = np.empty((GROUP, n_units), "i1"), make_weigh()

        def work(first: int) -> None:
            weigh(first, weights)
            weighted_sums(weights, rows, out[first : first + GROUP])

        return work

    run_all(range(0, len(out), GROUP), make_worker, checked_threads(settings.threads))
    return out[: settings.replicates]


def _in_groups(replicates: int) -> int:
    return -(-replicates // GROUP) * GROUP
