"""
Sums over resampled units: bootstrap, random signs, and random orders of systems, on several threads.

Results are bit-identical for any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastndcg.rankings.validation import Array
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_threads, run_all
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings

GROUP = 32  # replicates per kernel call; with more of them, their weights leave the level-1 cache
N_WORDS = 128  # 64-bit random numbers that are drawn at a time

# purposes of random numbers: a seed gives different numbers for each
BOOTSTRAP = 0
SIGNS = 1
ORDERS = 2

STEP = np.uint64(0x9E3779B97F4A7C15)  # of SplitMix64

FillWeights = Callable[[int, Array], None]  # takes the first replicate and the weights to fill


def bootstrap_sums(rows: Array, design: Design, settings: Settings) -> Array:
    """Return the (replicates, n_rows) sums over units that are drawn with replacement."""
    from fastndcg.kernels import statistics as kernels

    key = make_key(settings.seed, BOOTSTRAP)

    def make_fill() -> FillWeights:
        words = np.empty(N_WORDS, "u8")
        return lambda first, weights: kernels.draw_counts(key, first, design.stratum_offsets, words, weights)

    return _sum_replicates(rows, settings, make_fill)


def sign_sums(rows: Array, settings: Settings) -> Array:
    """Return the (replicates, n_rows) sums over units with random signs."""
    from fastndcg.kernels import statistics as kernels

    key = make_key(settings.seed, SIGNS)

    def make_fill() -> FillWeights:
        return lambda first, weights: kernels.draw_signs(key, first, weights)

    return _sum_replicates(rows, settings, make_fill)


def permuted_ranges(values: Array, settings: Settings) -> Array:
    """
    Return the (replicates, n_metrics) ranges of the systems' sums after random exchanges.

    Each replicate exchanges the systems at random within every unit. `values` is (n_metrics, n_units, n_systems).
    A range is the largest minus the smallest sum of a system.
    """
    from fastndcg.kernels import statistics as kernels

    n_metrics, _, n_systems = values.shape
    out = np.empty((_round_up_to_group(settings.replicates), n_metrics))
    key = make_key(settings.seed, ORDERS)

    def make_worker() -> Callable[[int], None]:
        order = np.empty(n_systems, "i8")
        sums = np.empty((n_metrics, n_systems))

        def work(first: int) -> None:
            kernels.permuted_ranges(key, first, values, order, sums, out[first : first + GROUP])

        return work

    with track(range(0, len(out), GROUP), "exchanging systems at random", len(out) // GROUP) as firsts:
        run_all(firsts, make_worker, check_threads(settings.threads))
    return out[: settings.replicates]


def make_key(seed: int, purpose: int) -> np.uint64:
    """
    Return the key of a seed's random numbers for one purpose.

    >>> int(make_key(0, 0)) == int(make_key(0, 0)) != int(make_key(0, 1))
    True
    """
    hashed = _splitmix64(np.array([seed % 2**64], "u8"))
    return np.uint64(_splitmix64(hashed + np.uint64(purpose))[0])


def draw_numbers(seed: int, purpose: int, n: int) -> Array:
    """
    Return n random whole numbers that depend on the seed and the purpose alone, the same on any machine.

    They are those of SplitMix64: NumPy's generators may draw other numbers in
    another version.

    >>> (draw_numbers(0, 0, 2) == draw_numbers(0, 0, 3)[:2]).tolist()
    [True, True]
    """
    return _splitmix64(make_key(seed, purpose) + np.arange(n, dtype="u8") * STEP)


def _splitmix64(numbers: Array) -> Array:
    """Return the SplitMix64 hash of each number, uint64, equal to kernels/statistics.py."""
    z = numbers + STEP
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    hashes: Array = z ^ (z >> np.uint64(31))
    return hashes


def _sum_replicates(rows: Array, settings: Settings, make_fill: Callable[[], FillWeights]) -> Array:
    """Return the weighted sums of all replicates. Each call of a worker fills the weights of one group first."""
    from fastndcg.kernels import statistics as kernels

    n_units = rows.shape[1]
    out = np.empty((_round_up_to_group(settings.replicates), len(rows)))

    def make_worker() -> Callable[[int], None]:
        weights = np.empty((GROUP, n_units), "i1")
        fill = make_fill()

        def work(first: int) -> None:
            fill(first, weights)
            kernels.weighted_sums(weights, rows, out[first : first + GROUP])

        return work

    with track(range(0, len(out), GROUP), "resampling queries", len(out) // GROUP) as firsts:
        run_all(firsts, make_worker, check_threads(settings.threads))
    return out[: settings.replicates]


def _round_up_to_group(replicates: int) -> int:
    return -(-replicates // GROUP) * GROUP
