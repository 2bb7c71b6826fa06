"""Tests of the Poisson bootstrap: its weights, its exact sums, and its intervals, the same in any parts."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples
from system_values import drawn, results_by_name, results_of, settings, simple_design

import fastndcg as fn
from fastndcg.errors import InvalidInputError
from fastndcg.reference.poisson_bootstrap import (
    PURPOSE,
    compute_replicate_means,
    draw,
    draw_weight,
    find_key,
    split_probabilities,
)
from fastndcg.results.replicate_sums import ReplicateSums
from fastndcg.statistics import poisson_bootstrap
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.poisson_bootstrap import draw_weights, summarize_sums
from fastndcg.statistics.query_hashes import hash_queries

MASK = 2**64 - 1
FLOATS = st.floats(-1e300, 1e300) | st.just(math.nan) | st.sampled_from([0.0, -0.0, 0.5, 1.0, 5e-324])


def sum_replicates(values, ids, replicates=40, **options):
    """Return the sums of one column."""
    column = np.array(values, "f8")[:, None]
    return poisson_bootstrap.sum_replicates(column, hash_queries(ids), replicates=replicates, **options)


@examples(100)
@given(seed=st.integers(0, MASK), ids=st.lists(st.integers(), min_size=1, max_size=5), replicate=st.integers(0, 99))
def test_weights_equal_the_reference(seed, ids, replicate):
    """A weight is a function of the seed, the replicate and the id."""
    ids = [value % 2**64 for value in ids]
    hashes = hash_queries(ids).tolist()
    expected = [draw_weight(seed, replicate, hashed) for hashed in hashes]
    assert draw_weights(ids, 100, seed=seed)[replicate].tolist() == expected


def test_rare_weights_equal_the_reference():
    """Some of 65,536 bits have no weight. Among 40,000 queries a few need other random numbers."""
    weights = draw_weights(np.arange(40_000), 4)
    hashes = hash_queries(np.arange(40_000)).tolist()
    whole, _ = split_probabilities()
    stream = draw(find_key(0, PURPOSE), 0)
    rare = [place for place, hashed in enumerate(hashes) if draw(stream, hashed) & 0xFFFF >= sum(whole)]
    assert rare
    assert [weights[0, place] for place in rare] == [draw_weight(0, 0, hashes[place]) for place in rare]


@pytest.mark.parametrize("ids", [np.arange(20_000), np.arange(20_000) * 2**40, [f"query {i}" for i in range(20_000)]])
def test_weights_are_poisson_distributed(ids):
    """A chi-square test of 4,000,000 weights against the Poisson distribution with mean 1."""
    stats = pytest.importorskip("scipy.stats")
    weights = draw_weights(ids, 200)
    observed = np.bincount(np.minimum(weights.ravel(), 9), minlength=10)
    chances = [math.exp(-1) / math.factorial(count) for count in range(9)]
    expected = weights.size * np.array([*chances, 1 - sum(chances)])
    assert stats.chisquare(observed, expected).pvalue > 0.001


@pytest.mark.parametrize("shift", [1, 2, 3, 4, 7])
def test_weights_are_independent_across_replicates_and_queries(shift):
    """Chi-square tests of pairs of weights: of one query in two replicates, and of two queries in one."""
    stats = pytest.importorskip("scipy.stats")
    weights = np.minimum(draw_weights(np.arange(50_000), 20), 4).astype("i8")
    for first, second in ((weights[:-shift], weights[shift:]), (weights[:, :-shift], weights[:, shift:])):
        table = np.bincount((5 * first + second).ravel(), minlength=25).reshape(5, 5)
        assert stats.chi2_contingency(table).pvalue > 0.001


def test_weights_of_seeds_are_uncorrelated():
    """Weights of one query under two seeds share nothing, and neither do two types of ids."""
    ids = np.arange(100_000)
    weights = [draw_weights(ids, 1)[0], draw_weights(ids, 1, seed=1)[0], draw_weights(ids.astype("f8"), 1)[0]]
    correlations = np.corrcoef(np.array(weights, "f8"))[np.triu_indices(3, 1)]
    assert np.abs(correlations).max() < 5 / math.sqrt(len(ids))


@examples(60)
@given(values=st.lists(FLOATS, min_size=1, max_size=30), seed=st.integers(0, MASK))
def test_replicates_equal_the_reference(values, seed):
    """Each replicate's mean is the rounded exact sum of weighted values, divided by the sum of weights."""
    ids = [f"q{place}" for place in range(len(values))]
    found = sum_replicates(values, ids, seed=seed).means()[0]
    np.testing.assert_array_equal(found, compute_replicate_means(values, ids, 40, seed=seed))


@examples(60)
@given(values=st.lists(FLOATS, min_size=3, max_size=40), cuts=st.tuples(st.integers(0, 40), st.integers(0, 40)))
def test_parts_in_any_order_have_the_same_sums(values, cuts):
    """Parts of any sizes, also empty ones, add up to the same arrays in any order."""
    ids = np.arange(len(values))
    parts = np.split(ids, sorted(min(cut, len(values)) for cut in cuts))
    whole = sum_replicates(values, ids)
    sums = [sum_replicates([values[place] for place in part], part) for part in parts]
    for first, second, third in permutations(sums):
        assert first + (second + third) == whole == (third + second) + first


@pytest.mark.parametrize("threads", [1, 3])
def test_blocks_and_threads_do_not_change_the_sums(threads, monkeypatch):
    """Queries of several kernel calls and spans have the sums of one."""
    values = drawn(1, 3000, n_metrics=1, missing=0.1)[0]
    hashes = hash_queries(np.arange(3000))
    whole = poisson_bootstrap.sum_replicates(values, hashes, replicates=70)
    monkeypatch.setattr(poisson_bootstrap, "BLOCK", 700)
    monkeypatch.setattr(poisson_bootstrap, "SPAN", 1600)
    assert poisson_bootstrap.sum_replicates(values, hashes, replicates=70, threads=threads) == whole


def test_replicates_do_not_depend_on_their_number():
    """The first of many replicates are those of few."""
    values = drawn(2, 50, n_metrics=1)[0][:, 0]
    many = sum_replicates(values, np.arange(50), replicates=100)
    few = sum_replicates(values, np.arange(50), replicates=3)
    assert many.means()[0, :3].tolist() == few.means()[0].tolist()


def test_sums_of_no_query_add_nothing():
    """A part without queries has weights of 0 and no means."""
    empty = sum_replicates([], [])
    some = sum_replicates([0.25, 1.0], ["a", "b"])
    assert empty + some == some == some + empty
    assert np.isnan(empty.means()).all()


def test_carries_keep_equal_sums_equal():
    """Sums whose limbs overflow, change sign or cancel out have the limbs of the same numbers."""
    weights = np.ones((1, 2), "i8")
    big = ReplicateSums.from_limbs(0, 3, np.array([[[2**61, -(2**61)]]]), weights)
    assert big.values().tolist() == [[2.0**61 * 2.0 ** (96 - 1074), -(2.0**61) * 2.0 ** (96 - 1074)]]
    negative = ReplicateSums.from_limbs(0, 3, np.array([[[-(2**61), 2**61]]]), weights)
    nothing = ReplicateSums.from_limbs(0, 0, np.zeros((1, 1, 2), "i8"), 2 * weights)
    assert big + negative == nothing


def test_sums_of_other_choices_are_errors():
    """Seeds and numbers of replicates must agree."""
    sums = sum_replicates([1.0], ["a"])
    with pytest.raises(InvalidInputError, match="the same seed, 0, not 1"):
        sums + sum_replicates([1.0], ["a"], seed=1)
    with pytest.raises(InvalidInputError, match="the same replicates, 40, not 41"):
        sums + sum_replicates([1.0], ["a"], replicates=41)
    with pytest.raises(InvalidInputError, match="finite or NaN for the Poisson bootstrap, but that of row 1"):
        sum_replicates([1.0, math.inf], ["a", "b"])


def test_intervals_of_merged_parts_equal_those_of_compare():
    """Means, differences and their bounds, with values that one system lacks."""
    columns = drawn(3, 300, missing=0.05)
    results = results_by_name(columns)
    rows = {(row.system, row.metric): row for row in fn.compare(results, interval="poisson", replicates=200).rows}
    ids = np.array([f"q{place}" for place in range(300)])
    difference = columns[1] - columns[0]
    every = np.hstack([*columns, difference])
    sums = None
    for part in np.array_split(np.random.default_rng(0).permutation(300), 7):
        some = poisson_bootstrap.sum_replicates(every[part], hash_queries(ids[part]), replicates=200)
        sums = some if sums is None else some + sums
    replicates = sums.means()
    for place, metric in enumerate(map(str, results["a"].metrics)):
        for column, system in ((place, "a"), (3 + place, "b"), (6 + place, None)):
            defined = every[:, column][~np.isnan(every[:, column])]
            mean = math.fsum(defined) / len(defined)
            interval = summarize_sums(mean, len(defined), replicates[column], level=0.95, seed=0)
            row = rows[system or "b", metric]
            own = (row.mean, row.low, row.high) if system else (row.difference, row.difference_low, row.difference_high)
            assert interval[:3] == own


def test_results_have_the_interval_in_any_order_of_queries():
    """The order of queries and the number of threads change no bit. Numbers of queries are ids, too."""
    values = drawn(4, 200)[0]
    ids = np.array([f"q{place}" for place in range(200)], object)
    order = np.random.default_rng(1).permutation(200)
    options = {"method": "poisson", "replicates": 300}
    whole = results_of(values, ids).confidence_interval("ndcg@10", **options)
    turned = results_of(values[order], ids[order]).confidence_interval("ndcg@10", threads=1, **options)
    assert whole == turned
    assert whole.low < whole.mean < whole.high
    assert results_of(values, np.arange(200)).confidence_interval("ndcg@10", **options) != whole


def test_poisson_and_percentile_intervals_agree():
    """Both estimate the same bounds: they differ by less than 10 % of the interval's width."""
    result = results_of(drawn(5, 400)[0])
    poisson, percentile = (result.confidence_interval("ndcg@10", method=name) for name in ("poisson", "percentile"))
    width = percentile.high - percentile.low
    assert abs(poisson.low - percentile.low) < width / 10
    assert abs(poisson.high - percentile.high) < width / 10


def test_weighted_replicates_are_quotients_of_weighted_sums():
    """Weights of queries multiply the values and the weights of the bootstrap."""
    values = drawn(6, 60, n_metrics=1, missing=0.1)[0]
    weights = np.random.default_rng(2).integers(0, 4, 60).astype("f8")
    analysis = Analysis([values], [Quantity(0, 0)], simple_design(60, weights=weights), settings(interval="poisson"))
    draws = draw_weights(np.arange(60), 1000).astype("f8")
    is_defined = ~np.isnan(values[:, 0])
    own = draws[:, is_defined] * weights[is_defined]
    np.testing.assert_allclose(analysis.estimates.replicates[0], own @ values[is_defined, 0] / own.sum(axis=1))
    assert analysis.intervals[0].mean == pytest.approx(np.average(values[is_defined, 0], weights=weights[is_defined]))


def test_queries_of_a_cluster_share_their_weight():
    """The weight is that of the cluster's id, so that clusters may be split over parts."""
    values = drawn(7, 60, n_metrics=1)[0]
    clusters = np.repeat([f"user {user}" for user in range(20)], 3)
    result = results_of(values)
    interval = result.confidence_interval("ndcg@10", method="poisson", clusters=clusters, replicates=500)
    replicates = sum_replicates(values[:, 0], clusters, replicates=500).means()[0]
    assert interval.low < interval.mean < interval.high
    quantity = Analysis([values], [Quantity(0, 0)], simple_design(60, clusters=clusters), settings(interval="poisson"))
    assert quantity.estimates.replicates[0, :500].tolist() == replicates.tolist()


def test_segments_of_clusters_keep_their_ids():
    """A segment's replicates are those of its queries alone."""
    values = drawn(8, 60, n_metrics=1)[0]
    clusters = np.repeat([f"user {user}" for user in range(20)], 3)
    segments = np.repeat(["one", "two"], 30)
    options = {"method": "poisson", "clusters": clusters, "replicates": 200}
    rows = results_of(values).by(segments, **options)
    half = results_of(values[30:]).confidence_interval("ndcg@10", **(options | {"clusters": clusters[30:]}))
    assert (rows[1].low, rows[1].high) == (half.low, half.high)


def test_strata_are_errors():
    """A replicate does not fix the size of a stratum."""
    strata = np.repeat(["one", "two"], 10)
    with pytest.raises(InvalidInputError, match="`strata` must be left out with interval='poisson'"):
        results_of(drawn(9, 20)[0]).confidence_interval("ndcg@10", method="poisson", strata=strata)


def test_too_few_queries_have_a_reason():
    """A mean of one query has no interval, neither here nor from merged parts."""
    result = results_of([[0.5], [math.nan]])
    interval = result.confidence_interval("ndcg@10", method="poisson")
    assert (interval.mean, interval.reason) == (0.5, "only one query has a value")
    found = summarize_sums(0.5, 1, np.array([0.5, math.nan]), level=0.95, seed=0)
    assert (found.mean, found.reason) == (0.5, "only one query has a value")
    assert summarize_sums(math.nan, 0, np.array([math.nan]), level=0.95, seed=0).reason == "no query has a value"


def test_tables_name_the_interval():
    """Notes below tables say how intervals were computed."""
    comparison = fn.compare(results_by_name(drawn(10, 30)), interval="poisson", replicates=100, seed=3)
    assert "95 % intervals: Poisson bootstrap, 100 replicates, seed 3" in str(comparison)
