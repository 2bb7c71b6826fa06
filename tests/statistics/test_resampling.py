"""Tests of replicates: their random numbers, their sums, and their dependence on the seed alone."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from system_values import drawn, settings, simple_design

from fastndcg.kernels.statistics import draw_counts
from fastndcg.statistics import resampling
from fastndcg.statistics.integer_sums import Quantity, Sums
from fastndcg.statistics.sampling_design import make_design

MASK = 2**64 - 1
WEIGHTED = [Quantity(0, 0), Quantity(1, 0), Quantity(1, 0, 0), Quantity(0, 1), Quantity(1, 2, 0)]


def mixed(z):
    """SplitMix64's finaliser, in whole numbers of any size."""
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def number(stream, counter):
    """Number `counter` of a stream, as the paper has it: the state is a multiple of the golden ratio."""
    return mixed((stream + (counter + 1) * 0x9E3779B97F4A7C15) & MASK)


def stream_of(seed, purpose, replicate):
    return number(number((number(seed, 0) + purpose) & MASK, 0), replicate)


def chances_of_counts():
    """Of 2**16: how many chances each Poisson count has, with a mean of 0.99, and what is lost in whole numbers."""
    chances = [2**16 * math.exp(-0.99) * 0.99**count / math.factorial(count) for count in range(21)]
    return [int(chance) for chance in chances], [chance % 1 for chance in chances]


def counts(seed, replicate, strata):
    """Return the number of draws of each unit the slow way: a Poisson count for each unit, then a correction."""
    n, stream = strata[-1], stream_of(seed, resampling.BOOTSTRAP, replicate)
    whole, lost = chances_of_counts()
    found = []
    for unit in range(n):
        bits = (number(stream, unit // 4) >> 16 * (unit % 4)) & 0xFFFF
        if bits < sum(whole):
            found.append(sum(bits < sum(whole[least:]) for least in range(1, 21)))
        else:
            share = (number(stream, n + unit) >> 32) / 2**32
            found.append(sum(share < sum(lost[least:]) / sum(lost) for least in range(1, 21)))
    counter = 2 * n
    for start, stop in itertools.pairwise(strata):
        most = max(found[start:stop])
        surplus = sum(found[start:stop]) - (stop - start)
        while surplus:
            bits = number(stream, counter)
            place = start + ((bits >> 32) * (stop - start) >> 32)
            if surplus < 0 or (bits & (2**32 - 1)) * most >> 32 < found[place]:
                found[place] -= int(math.copysign(1, surplus))
                surplus -= int(math.copysign(1, surplus))
            counter += 1
    return found


def signs(seed, replicate, n):
    """A sign for each unit, the slow way."""
    stream = stream_of(seed, resampling.SIGNS, replicate)
    return [1 - 2 * ((number(stream, place // 64) >> place % 64) & 1) for place in range(n)]


def test_splitmix_is_the_published_one():
    """From state 1234567 the first numbers are those of the authors' program."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert [number(1234567, counter) for counter in range(4)] == expected


@examples(100)
@given(
    seed=st.integers(0, MASK), sizes=st.lists(st.integers(2, 700), min_size=1, max_size=3), replicate=st.integers(0, 69)
)
def test_bootstrap_counts_are_those_of_the_seed_replicate_and_query(seed, sizes, replicate):
    """Each stratum is drawn from itself, as often as it has units, by the numbers of its units."""
    strata = np.repeat(np.arange(len(sizes)), sizes)
    design = make_design(np.arange(len(strata)), strata=strata)
    rows = np.zeros((4, len(strata)))
    place = seed % len(strata)
    rows[0, place] = 1.0
    rows[1] = np.arange(len(strata))
    sums = resampling.bootstrap_sums(rows, design, settings(replicates=70, seed=seed))
    expected = counts(seed, replicate, [0, *np.cumsum(sizes).tolist()])
    assert sums[replicate].tolist() == [expected[place], np.dot(expected, rows[1]), 0, 0]


def test_rare_counts_come_from_a_number_of_their_own():
    """Among 40,000 units some three have 16 bits of which five values say no more than that."""
    rows = np.zeros((4, 40_000))
    rows[0] = np.arange(40_000)
    expected, stream = counts(7, 0, [0, 40_000]), stream_of(7, resampling.BOOTSTRAP, 0)
    rare = [u for u in range(40_000) if (number(stream, u // 4) >> 16 * (u % 4)) & 0xFFFF >= 2**16 - 5]
    assert rare
    assert max(expected[unit] for unit in rare) > 1
    found = resampling.bootstrap_sums(rows, simple_design(40_000), settings(replicates=1, seed=7))
    assert found[0, 0] == np.dot(expected, rows[0])


@examples(100)
@given(seed=st.integers(0, MASK), n=st.integers(1, 700), replicate=st.integers(0, 69))
def test_signs_are_those_of_the_seed_replicate_and_query(seed, n, replicate):
    """64 signs come from one number."""
    rows = np.zeros((4, n))
    rows[0, seed % n] = 1.0
    rows[1] = np.arange(n)
    sums = resampling.sign_sums(rows, settings(replicates=70, seed=seed))
    expected = signs(seed, replicate, n)
    assert sums[replicate].tolist() == [expected[seed % n], np.dot(expected, rows[1]), 0, 0]


@pytest.mark.parametrize("draw", ["bootstrap", "signs", "orders"])
def test_threads_and_number_of_replicates_change_nothing(draw):
    """One thread or five, and the first replicates of many: the same bits."""
    columns, design = drawn(1, 1500), simple_design(1500)
    rows = Sums(columns, WEIGHTED, design).rows

    def replicates(n, threads):
        given = settings(replicates=n, threads=threads, seed=5)
        if draw == "bootstrap":
            return resampling.bootstrap_sums(rows, design, given)
        if draw == "signs":
            return resampling.sign_sums(rows, given)
        return resampling.permuted_ranges(np.round(np.stack(columns, axis=2).transpose(1, 0, 2) * 2**40), given)

    whole = replicates(301, 1)
    assert replicates(301, 5).tobytes() == whole.tobytes()
    assert replicates(45, 2).tobytes() == whole[:45].tobytes()


def test_seeds_and_purposes_differ():
    purposes = (resampling.BOOTSTRAP, resampling.SIGNS, resampling.ORDERS)
    keys = {int(resampling.make_key(seed, purpose)) for seed in (0, 1, 2, 2**64 - 1) for purpose in purposes}
    assert len(keys) == 12


def test_counts_are_multinomial():
    n, replicates = 10, 20_000
    found = resampling.bootstrap_sums(np.eye(12)[:, :n], simple_design(n), settings(replicates=replicates))[:, :n]
    assert (found.sum(axis=1) == n).all()
    covariance = np.cov(found.T)
    expected = np.eye(n) - 1 / n
    # a product of two counts has a standard deviation below 3
    assert np.abs(found.mean(axis=0) - 1).max() < 5 / np.sqrt(replicates)
    assert np.abs(covariance - expected).max() < 5 * 3 / np.sqrt(replicates)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_bootstrap_counts_follow_multinomial(n):
    """Of few units, each vector of counts comes as often as n!/(counts!) of nⁿ draws: χ² below its 1e-6 quantile."""
    chi2 = pytest.importorskip("scipy.stats").chi2
    replicates = 200_000
    coded = (n + 1.0) ** np.arange(4)[:, None] * np.eye(4, n)
    found = resampling.bootstrap_sums(coded, simple_design(n), settings(replicates=replicates)).sum(axis=1)
    ways = [way for way in itertools.product(range(n + 1), repeat=n) if sum(way) == n]
    expected = [replicates / n**n * math.factorial(n) / math.prod(map(math.factorial, way)) for way in ways]
    seen = [np.count_nonzero(found == sum(count * (n + 1) ** u for u, count in enumerate(way))) for way in ways]
    assert sum(seen) == replicates
    statistic = sum((one - other) ** 2 / other for one, other in zip(seen, expected, strict=True))
    assert statistic < chi2.isf(1e-6, len(ways) - 1)


def test_bootstrap_counts_follow_binomial():
    """Its count is binomial, n draws with a chance of 1/n: χ² below its 1e-6 quantile, up to counts of 8 and more."""
    stats = pytest.importorskip("scipy.stats")
    n, replicates = 1000, 400
    found = np.empty((replicates, n), "i1")
    draw_counts(np.uint64(1), 0, np.array([0, n]), np.empty(16, "u8"), found)
    assert (found.sum(axis=1) == n).all()
    chances = stats.binom.pmf(np.arange(8), n, 1 / n)
    expected = n * replicates * np.append(chances, 1 - chances.sum())
    seen = np.bincount(np.minimum(found.ravel(), 8), minlength=9)
    assert ((seen - expected) ** 2 / expected).sum() < stats.chi2.isf(1e-6, 8)


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("kind", ["plain", "weights", "clusters", "strata", "everything"])
def test_sums_are_those_of_the_statistics(kind, missing):
    """Quotients of sums equal the means if all counts are 1."""
    n = 60
    columns, generator = drawn(2, n, missing=missing), np.random.default_rng(3)
    weights = generator.integers(0, 5, n) if kind in ("weights", "everything") else None
    clusters = generator.integers(0, 20, n) if kind in ("clusters", "everything") else None
    strata = None
    if kind in ("strata", "everything"):
        strata = np.arange(n) % 3 if clusters is None else clusters % 2
    design = simple_design(n, weights=weights, clusters=clusters, strata=strata)
    sums = Sums(columns, WEIGHTED, design)
    counted = np.ones(n) if weights is None else weights
    for quantity, found in zip(WEIGHTED, sums.quotients(sums.totals()), strict=True):
        values = quantity.values(columns)
        known = ~np.isnan(values)
        assert found == pytest.approx(np.average(values[known], weights=counted[known]), rel=1e-11, abs=1e-11)


@examples(100)
@given(scale=st.sampled_from([1e-300, 1e-12, 1.0, 1e9, 1e290]), n=st.integers(1, 300))
def test_rows_add_up_exactly(scale, n):
    """Whatever their size, numbers become whole ones whose sums stay below 2**53: no order of adding changes them."""
    columns = [column * scale for column in drawn(n, n, n_metrics=3)]
    rows = Sums(columns, WEIGHTED, simple_design(n)).rows
    assert (rows == np.rint(rows)).all()
    assert n * np.abs(rows).max() <= 2.0**52
    assert np.abs(rows).max() * n >= 2.0**49  # and no bit is wasted
    generator = np.random.default_rng(n)
    orders = {float(np.cumsum(rows[0][generator.permutation(n)])[-1]) for _ in range(5)}
    assert len(orders) == 1
