"""
The Poisson bootstrap: replicates of means that parts of the data can add up.

Every query counts in every replicate with a weight that is Poisson distributed with mean 1. The weight is a function of
the seed, the replicate and the query's id alone. The sums of weights and of weighted values are exact. So replicates
are the same to the bit, however the queries are split into parts, and in whatever order the parts are merged.

A replicate of a mean is the sum of weighted values, divided by the sum of weights. J. A. Hanley and B. MacGibbon 2006,
doi:10.1016/j.cmpb.2006.04.006. N. Chamandy et al. 2012, "Estimating uncertainty for massive data streams".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from fastndcg.errors import InvalidInputError
from fastndcg.kernels.lookup import load_kernels
from fastndcg.rankings.read_only import read_only
from fastndcg.rankings.validation import Array
from fastndcg.results.aggregates import weighted_mean
from fastndcg.results.replicate_sums import ReplicateSums, refuse_infinite
from fastndcg.runtime.progress import track
from fastndcg.runtime.threads import check_threads, run_all
from fastndcg.statistics.intervals import BootstrapSample, Interval, compute_bootstrap_interval
from fastndcg.statistics.moments import Moments
from fastndcg.statistics.query_hashes import hash_queries
from fastndcg.statistics.resampling import GROUP, make_key
from fastndcg.statistics.sampling_design import Design
from fastndcg.statistics.settings import Settings

# purposes of random numbers, besides those of `resampling`
WEIGHTS = 3
RARE_WEIGHTS = 4

TILE = 4  # the kernel adds up four rows at a time
N_WORDS = 512  # 64-bit random numbers that are drawn at a time
BLOCK = 1 << 14  # queries per kernel call: with weights up to 16 and parts below 2^32, sums stay below 2^50
SPAN = 1 << 20  # queries whose rows of parts are in memory at a time


def draw_weights(ids: Any, replicates: int, *, seed: int = 0) -> Array:
    """
    Return the weight of each query in each replicate.

    Parameters
    ----------
    ids : (n_queries,) array or sequence
        The ids of the queries, as `hash_queries` takes them.
    replicates : int
        The number of replicates, 1 or more.
    seed : int, default 0
        The seed of the random numbers, 0 or more.

    Returns
    -------
    (replicates, n_queries) int8 array
        From 0 to 16. A weight depends on the seed, the replicate and the id alone.

    Raises
    ------
    InvalidInputError
        If an id is missing, or a number is out of its range.

    Examples
    --------
    >>> from fastndcg.statistics.poisson_bootstrap import draw_weights
    >>> draw_weights(["q1", "q2", "q3"], 2).tolist()
    [[1, 0, 1], [3, 1, 2]]
    """
    settings = Settings(interval="poisson", replicates=replicates, seed=seed)
    hashes = hash_queries(ids)
    weights = np.empty((-(-settings.replicates // TILE) * TILE, len(hashes)), "i1")
    _make_fill(settings.seed)(0, read_only(hashes), weights)
    return weights[: settings.replicates]


def sum_replicates(
    values: Array, hashes: Array, *, replicates: int, seed: int = 0, threads: int | None = None
) -> ReplicateSums:
    """
    Return the exact sums of weights and of weighted values in each replicate.

    Parameters
    ----------
    values : (n_queries, n_columns) float64 array
        The values to average, such as metrics or differences of systems. A query does not count where it is NaN.
    hashes : (n_queries,) uint64 array
        The hash of each query's id, from `hash_queries`.
    replicates, seed, threads
        See `compare`.

    Returns
    -------
    ReplicateSums
        To be added to those of other queries.

    Raises
    ------
    InvalidInputError
        If a value is infinite.

    Examples
    --------
    >>> from fastndcg.statistics.poisson_bootstrap import sum_replicates
    >>> from fastndcg.statistics.query_hashes import hash_queries
    >>> values = np.array([[0.1], [0.7], [np.nan], [0.4]])
    >>> hashes = hash_queries(["a", "b", "c", "d"])
    >>> whole = sum_replicates(values, hashes, replicates=100)
    >>> parts = [sum_replicates(values[part], hashes[part], replicates=100) for part in ([3, 1], [0, 2])]
    >>> parts[0] + parts[1] == whole
    True
    """
    refuse_infinite(values)
    total: ReplicateSums | None = None
    for start in range(0, max(1, len(values)), SPAN):
        rows = _Rows(values[start : start + SPAN])
        sums = _add_up(rows, hashes[start : start + SPAN], replicates, seed, threads)
        total = sums if total is None else total + sums
    return total  # type: ignore[return-value]  # there is one span or more


class PoissonEstimates(NamedTuple):
    """The exact means of quantities, and their (n_quantities, n_replicates) replicates."""

    means: list[float]
    replicates: Array


def estimate_means(values: Array, design: Design, settings: Settings) -> PoissonEstimates:
    """
    Return the means of quantities and their replicates.

    `values` is (n_queries, n_quantities). The queries of a cluster share a weight, which is that of the cluster's id.
    """
    if len(design.stratum_offsets) > 2:
        raise InvalidInputError(
            "`strata` must be left out with interval='poisson', whose replicates do not fix the size of a stratum. "
            "Take interval='percentile'."
        )
    hashes = hash_queries(design.unit_ids)
    options: dict[str, Any] = {"replicates": settings.replicates, "seed": settings.seed, "threads": settings.threads}
    is_defined = ~np.isnan(values)
    columns = values.T
    if design.weights is None:
        means = [weighted_mean(column[defined], None) for column, defined in zip(columns, is_defined.T, strict=True)]
        return PoissonEstimates(means, sum_replicates(values, hashes, **options).means())
    weights = np.where(is_defined, design.weights[:, None], np.nan)
    sums = sum_replicates(np.hstack([values * weights, weights]), hashes, **options).values()
    numerators, denominators = np.split(sums, 2)
    with np.errstate(invalid="ignore", divide="ignore"):
        replicates = numerators / denominators
    means = [
        weighted_mean(column[has_weight], design.weights[has_weight]) if has_weight.any() else math.nan
        for column, has_weight in zip(columns, (is_defined & (design.weights[:, None] > 0)).T, strict=True)
    ]
    return PoissonEstimates(means, replicates)


def summarize_sums(mean: float, n: int, replicates: Array, *, level: float, seed: int) -> Interval:
    """
    Return the interval of a mean whose parts were added up.

    Parameters
    ----------
    mean : float
        The mean over the queries that have a value.
    n : int
        The number of queries that have a value.
    replicates : (n_replicates,) float64 array
        A row of `ReplicateSums.means`.
    level : float
        The confidence level, between 0 and 1.
    seed : int
        The seed of the replicates.

    Returns
    -------
    Interval
        The same as that of `compare` with interval='poisson'.
    """
    low = math.nan
    high = math.nan
    reason = "" if n > 1 else "only one query has a value" if n else "no query has a value"
    if not reason:
        moments = Moments(n, n, mean, math.nan, math.nan, n - 1, 0, 0, 0, "")
        sample = BootstrapSample(replicates, mean)
        low, high, reason = compute_bootstrap_interval(sample, moments, "percentile", level)
    return Interval(mean, low, high, n, level, "poisson", len(replicates), seed, reason)


class _Rows:
    """
    The rows of whole numbers whose weighted sums are exact in float64.

    Attributes
    ----------
    n_columns : int
    limbs : list of (int, int)
        The column and the limb of the first rows, one a row.
    weight_rows : list of int
        The row of each column whose weighted sum is the sum of the column's weights.
    rows : (n_rows, n_queries) float64 array
        The number of rows is a multiple of 4.
    """

    def __init__(self, values: Array) -> None:
        self.n_columns = values.shape[1]
        self.limbs: list[tuple[int, int]] = []
        self.weight_rows: list[int] = []
        rows: list[Array] = []
        for column in range(self.n_columns):
            for limb, row in _split(values[:, column]):
                self.limbs.append((column, limb))
                rows.append(row)
        places: dict[bytes, int] = {}
        for column in range(self.n_columns):
            is_defined = ~np.isnan(values[:, column])
            key = is_defined.tobytes()
            if key not in places:
                places[key] = len(rows)
                rows.append(is_defined.astype("f8"))
            self.weight_rows.append(places[key])
        self.rows = np.zeros((-(-len(rows) // TILE) * TILE, len(values)))
        for place, row in enumerate(rows):
            self.rows[place] = row

    def split_blocks(self) -> list[Array]:
        """Return the rows of each block of queries."""
        n_queries = self.rows.shape[1]
        return [np.ascontiguousarray(self.rows[:, start : start + BLOCK]) for start in range(0, n_queries, BLOCK)]


def _split(values: Array) -> Iterator[tuple[int, Array]]:
    """Yield the limbs of a column that are not 0 everywhere, with the part of each value in them. NaN counts as 0."""
    bits = np.where(np.isnan(values), 0.0, values).view("u8")
    exponents = ((bits >> np.uint64(52)) & np.uint64(0x7FF)).astype("i8")
    in_use = exponents[bits << np.uint64(1) != 0]
    if not len(in_use):
        return
    first = max(int(in_use.min()) - 1, 0) >> 5
    last = (max(int(in_use.max()) - 1, 0) >> 5) + 2
    parts = np.empty((last - first + 1, len(values)))
    load_kernels("statistics.poisson_weights").split_into_limbs(read_only(bits), first, parts)
    for place, row in enumerate(parts):
        if row.any():
            yield first + place, row


def _add_up(rows: _Rows, hashes: Array, replicates: int, seed: int, threads: int | None) -> ReplicateSums:
    """Return the sums of one span of queries."""
    blocks = rows.split_blocks()
    n_groups = -(-replicates // GROUP)
    totals = np.zeros((n_groups * GROUP, len(rows.rows)), "i8")

    def make_worker() -> Callable[[int], None]:
        resample = load_kernels("statistics.resample")
        fill = _make_fill(seed)
        buffer = np.empty(GROUP * BLOCK, "i1")
        sums = np.empty((GROUP, len(rows.rows)))

        def work(first: int) -> None:
            for place, block in enumerate(blocks):
                n_queries = block.shape[1]
                weights = buffer[: GROUP * n_queries].reshape(GROUP, n_queries)
                fill(first, read_only(hashes[place * BLOCK : place * BLOCK + n_queries]), weights)
                resample.weighted_sums(weights, block, sums)
                totals[first : first + GROUP] += sums.astype("i8")

        return work

    with track(range(0, len(totals), GROUP), "resampling queries", n_groups) as firsts:
        run_all(firsts, make_worker, check_threads(threads))
    by_row = np.ascontiguousarray(totals[:replicates].T)
    first_limb = min((limb for _, limb in rows.limbs), default=0)
    n_limbs = max((limb for _, limb in rows.limbs), default=0) - first_limb + 1
    limbs = np.zeros((n_limbs, rows.n_columns, replicates), "i8")
    for row, (column, limb) in enumerate(rows.limbs):
        limbs[limb - first_limb, column] = by_row[row]
    return ReplicateSums.from_limbs(seed, first_limb, limbs, by_row[rows.weight_rows])


def _make_fill(seed: int) -> Callable[[int, Array, Array], None]:
    """Return a function that fills the weights of some replicates, from the first one on."""
    kernels = load_kernels("statistics.poisson_weights")
    key = make_key(seed, WEIGHTS)
    rare_key = make_key(seed, RARE_WEIGHTS)
    words = np.empty(N_WORDS, "u8")
    return lambda first, hashes, weights: kernels.draw_weights(key, rare_key, first, hashes, words, weights)
