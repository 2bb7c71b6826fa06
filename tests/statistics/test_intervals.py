"""Intervals: SciPy's and statsmodels' where methods coincide, what has none, and weights, also of 0."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses
from strategies import examples
from system_values import drawn, find_tango_score, results_by_name, results_of, settings, simple_design

import fastndcg as fn
from fastndcg.statistics import intervals
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.moments import compute_moments

stats = pytest.importorskip("scipy.stats")
DIFFERENCE = Quantity(1, 0, 0)


class Distribution:
    """Replicates in the form in which SciPy takes those of an earlier call."""

    def __init__(self, replicates):
        self.bootstrap_distribution = replicates


def expanded(level, n):
    """The level of a plain percentile interval that reaches as far as Hesterberg's expanded one of n queries."""
    return 1 - 2 * stats.norm.cdf(-np.sqrt(n / (n - 1)) * stats.t.isf((1 - level) / 2, n - 1))


@pytest.mark.parametrize("design", ["plain", "clusters", "strata"])
def test_normal_replicates_give_students_interval(design):
    n, generator = 24, np.random.default_rng(14)
    values = generator.normal(0, 1, n)
    values = np.concatenate([values, -values])  # no skew
    groups = {"clusters": np.arange(48) // 4, "strata": np.arange(48) % 24 // 6}
    made = simple_design(48, **{design: groups[design]} if design in groups else {})
    moments = compute_moments(Quantity(0, 0), [values[:, None]], made)
    size = {"plain": 48, "clusters": 12, "strata": 12}[design]
    wide = moments.mean + moments.standard_error * np.sqrt((size - 1) / size) * stats.norm.ppf(
        (np.arange(10**6) + 0.5) / 10**6
    )
    low, high, _ = intervals.compute_bootstrap_interval(wide, moments, 0.95)
    assert (low, high) == pytest.approx(intervals.compute_t_interval(moments, 0.95), rel=1e-4)


def test_interval_bounds_are_within_replicates():
    """Two values at any level, and few of them at a level near 1: the bounds are those of the replicates."""
    found = results_of([[0.2], [0.8]]).confidence_interval("ndcg@10", method="percentile")
    assert (found.low, found.high) == pytest.approx((0.2, 0.8), rel=1e-12)
    found = results_of([[0.2], [0.3], [0.9]]).confidence_interval("ndcg@10", method="percentile", level=0.9999)
    assert (found.low, found.high) == pytest.approx((0.2, 0.9), rel=1e-12)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
@pytest.mark.parametrize("n", [5, 43, 700])
def test_interval_equals_scipy_on_same_replicates(n, level):
    """From our replicates SciPy makes the same interval at the expanded level, to 1e-10."""
    # multiples of 2**-20 add up exactly: a resample with the observed mean is equal to it in SciPy, too
    columns = [np.rint(column * 2**20) / 2**20 for column in drawn(n, n)]
    analysis = Analysis(columns, [DIFFERENCE], simple_design(n), settings(interval="percentile", level=level))
    values = DIFFERENCE.values(columns)
    given = {"confidence_level": expanded(level, n), "n_resamples": 0}
    given["bootstrap_result"] = Distribution(analysis.replicates[:, 0])
    expected = stats.bootstrap((values,), np.mean, method="percentile", **given).confidence_interval
    found = analysis.intervals[0]
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-10, abs=1e-10)
    assert found.mean == pytest.approx(values.mean(), rel=1e-12)


def test_replicates_are_spread_like_scipys():
    """Their standard deviation is that of the mean of a resample: s/√n, within five standard errors of s.d.s."""
    columns, replicates = drawn(4, 300), 20_000
    given = settings(interval="percentile", replicates=replicates)
    analysis = Analysis(columns, [DIFFERENCE], simple_design(300), given)
    expected = DIFFERENCE.values(columns).std() / np.sqrt(300)
    assert analysis.replicates[:, 0].std() == pytest.approx(expected, rel=5 / np.sqrt(2 * replicates))
    scipys = stats.bootstrap(
        (DIFFERENCE.values(columns),), np.mean, method="percentile", confidence_level=expanded(0.95, 300),
        n_resamples=replicates, batch=1000, rng=np.random.default_rng(1),
    )  # fmt: skip
    # the density of a normal mean at its 2.5 % quantile, where a quantile of replicates has this standard error
    error = np.sqrt(0.025 * 0.975 / replicates) / (stats.norm.pdf(1.96) / expected)
    found = analysis.intervals[0]
    expected_bounds = scipys.confidence_interval
    assert abs(found.low - expected_bounds.low) < 5 * np.sqrt(2) * error
    assert abs(found.high - expected_bounds.high) < 5 * np.sqrt(2) * error


def test_student_is_scipys():
    """Mean ± quantile · s/√n."""
    columns = drawn(5, 43, missing=0.1)
    values = DIFFERENCE.values(columns)
    known = values[~np.isnan(values)]
    expected = stats.ttest_1samp(known, 0).confidence_interval(0.9)
    found = Analysis(columns, [DIFFERENCE], simple_design(43), settings(interval="t", level=0.9)).intervals[0]
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-12)
    assert found.n == len(known)


def robust(values, weights, clusters):
    """
    Statsmodels' interval and p-value of a weighted mean, with HC2 standard errors.

    A cluster is its weighted mean, with the sum of its weights. Degrees of freedom are Kish's effective number less 1.
    """
    api = pytest.importorskip("statsmodels.api")
    weights = np.ones(len(values)) if weights is None else weights
    if clusters is not None:
        sums = np.bincount(clusters, weights * values)
        totals = np.bincount(clusters, weights)
        weights = totals[totals > 0]
        values = sums[totals > 0] / weights
    fitted = api.WLS(values, np.ones(len(values)), weights=weights).fit(cov_type="HC2")
    n = weights.sum() ** 2 / (weights**2).sum()
    half = stats.t.ppf(0.975, n - 1) * fitted.bse[0]
    p = 2 * stats.t.sf(abs(fitted.params[0] / fitted.bse[0]), n - 1)
    return (fitted.params[0] - half, fitted.params[0] + half), p


@pytest.mark.parametrize("kind", ["weights", "clusters", "both"])
def test_weighted_and_clustered_student_is_statsmodels(kind):
    n = 90
    columns, generator = drawn(6, n), np.random.default_rng(7)
    weights = None if kind == "clusters" else generator.uniform(0.5, 4, n)
    clusters = None if kind == "weights" else generator.integers(0, 25, n)
    expected, p = robust(DIFFERENCE.values(columns), weights, clusters)
    design = simple_design(n, weights=weights, clusters=clusters)
    analysis = Analysis(columns, [DIFFERENCE], design, settings(interval="t", test="t"))
    found = analysis.intervals[0]
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-10)
    assert analysis.tests([0])[0].p == pytest.approx(p, rel=1e-9)


def test_stratified_student_is_the_sum_over_strata():
    """The variance of the mean is Σ share² · s²/n over the strata, with n − strata degrees of freedom."""
    values = np.array([0.1, 0.3, 0.2, 0.9, 0.5, 0.8, 0.7])
    strata = list("aaabbbb")
    a, b = values[:3], values[3:]
    error = np.sqrt((3 / 7) ** 2 * a.var(ddof=1) / 3 + (4 / 7) ** 2 * b.var(ddof=1) / 4)
    half = stats.t.ppf(0.975, 7 - 2) * error
    found = results_of(values[:, None]).confidence_interval("ndcg@10", method="t", strata=strata)
    assert (found.low, found.high) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-12)


@pytest.mark.parametrize("method", ["auto", "t", "percentile"])
def test_clusters_are_drawn_whole(method):
    """Copies of the queries in their clusters change nothing: there is no more to know."""
    values = drawn(8, 30)[0]
    alone = results_of(values).confidence_interval("map", method=method)
    copied = results_of(np.repeat(values, 4, axis=0)).confidence_interval(
        "map", method=method, clusters=np.repeat(np.arange(30), 4)
    )
    assert (copied.low, copied.high) == pytest.approx((alone.low, alone.high), rel=1e-9)
    wrong = results_of(np.repeat(values, 4, axis=0)).confidence_interval("map", method=method)
    assert wrong.high - wrong.low < 0.6 * (alone.high - alone.low)


@pytest.mark.parametrize("method", ["auto", "percentile"])
def test_strata_take_their_differences_out(method):
    values = np.repeat([[0.2], [0.8]], 20, axis=0)
    values[::2] += 0.01
    strata = np.repeat(["easy", "hard"], 20)
    found = results_of(values).confidence_interval("ndcg@10", strata=strata, method=method)
    plain = results_of(values).confidence_interval("ndcg@10", method=method)
    assert plain.high - plain.low > 2 * (found.high - found.low)


def test_weights_are_repetitions_to_the_mean():
    """Whole weights give the mean of repeated queries, and a weight of 0 leaves the query out."""
    values, weights = drawn(9, 12)[0], [0, 1, 2, 3, 0, 1, 1, 5, 1, 1, 2, 1]
    result = results_of(values)
    expected = np.repeat(values, weights, axis=0).mean(axis=0)
    assert list(result.mean(weights=weights).values()) == pytest.approx(expected.tolist(), rel=1e-14)
    assert result.mean(dict(zip(result.query_ids, weights, strict=True))) == result.mean(weights=weights)
    found = result.confidence_interval("map", weights=weights)
    assert found.mean == pytest.approx(expected[1], rel=1e-14)
    assert (found.n, found.n_effective) == (10, pytest.approx(18**2 / 48, rel=1e-14))
    assert result.mean(weights=np.ones(12)) == pytest.approx(result.mean(), rel=1e-14)


def test_interval_missing_has_a_reason():
    for values, reason in (([[0.5]], "only one query has a value"), ([[np.nan]] * 3, "no query has a value")):
        found = results_of(values).confidence_interval("ndcg@10")
        assert np.isnan([found.low, found.high]).all()
        assert found.reason == reason
        assert reason in str(found)
    found = results_of([[0.5], [0.7], [0.1]]).confidence_interval("ndcg@10", clusters=[1, 1, 1])
    assert found.reason == "only one cluster has a value"
    found = results_of([[0.5], [0.7]]).confidence_interval("ndcg@10", weights=[0, 1])
    assert found.reason == "only one query has a value"
    found = results_of([[0.5], [np.nan], [np.nan], [0.7]]).confidence_interval("ndcg@10", strata=[1, 1, 2, 2])
    assert found.reason == "no more queries have a value than strata"


class TestAuto:
    @pytest.mark.parametrize("level", [0.9, 0.95])
    @pytest.mark.parametrize("n", [2, 3, 10, 30])
    def test_clopper_pearson_is_scipys(self, n, level):
        """Hits and misses have the exact interval: 3 of 3 begin at 0.292, 10 of 10 at 0.692, 30 of 30 at 0.884."""
        for hits in range(n + 1):
            values = np.arange(n)[:, None] < hits
            found = results_of(values).confidence_interval("ndcg@10", level=level)
            expected = stats.binomtest(hits, n).proportion_ci(level, "exact")
            assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
            assert found.method == "clopper-pearson"
        assert found.high == 1.0
        assert round(found.low, 3) == {(3, 0.95): 0.292, (10, 0.95): 0.692, (30, 0.95): 0.884}.get(
            (n, level), round(((1 - level) / 2) ** (1 / n), 3)
        )

    @pytest.mark.parametrize(("wins", "losses", "n"), [(0, 0, 30), (1, 7, 25), (5, 0, 5), (3, 9, 40), (20, 12, 100)])
    def test_tango_inverts_the_score_test(self, wins, losses, n):
        counts = {"a": np.arange(n) >= n - losses, "b": np.arange(n) < wins}
        row = fn.compare(results_by_name([values[:, None] for values in counts.values()])).rows[1]
        for bound, sign in ((row.difference_low, 1), (row.difference_high, -1)):
            if abs(bound) == 1:
                continue
            assert find_tango_score(wins, losses, n, bound) == pytest.approx(-sign * stats.norm.ppf(0.975), abs=1e-4)
        mirrored = intervals.compute_tango(losses, wins, n, 0.95)
        assert mirrored == pytest.approx((-row.difference_high, -row.difference_low), abs=1e-12)

    def test_korn_graubard_is_clopper_pearson_of_the_effective_size(self):
        """By hand: the size is m (1 − m) / variance, with a quarter of a value at each end and Student's quantile."""
        values = np.array([1.0, 1.0, 0.75, 0.5, 1.0, 0.0, 0.25, 0.9])
        n, m = 8, values.mean()
        variance = (((values - m) ** 2).sum() + m**2 / 4 + (1 - m) ** 2 / 4) / (7 + 1 / 2)
        size = 8 / (variance / (m * (1 - m) * 8 / 7)) * (stats.norm.ppf(0.975) / stats.t.ppf(0.975, 7)) ** 2
        expected = (
            stats.beta.ppf(0.025, m * size, (1 - m) * size + 1), stats.beta.ppf(0.975, m * size + 1, (1 - m) * size)
        )  # fmt: skip
        found = results_of(values[:, None]).confidence_interval("ndcg@10")
        assert (found.low, found.high) == pytest.approx(expected, rel=1e-12)
        assert str(found) == f"{m:.4f} [{found.low:.4f}, {found.high:.4f}], 95 % Korn–Graubard, {n} queries"

    def test_graded_differences_have_ends(self):
        """By hand: Student's interval, with a quarter of a difference at −1 and at 1."""
        one, other = np.array([0.5, 0.5, 0.25, 1.0]), np.array([0.75, 0.5, 0.5, 1.0])
        m = 1 / 8
        variance = (((other - one - m) ** 2).sum() + (1 - m) ** 2 / 4 + (1 + m) ** 2 / 4) / (3 + 1 / 2)
        half = stats.t.ppf(0.975, 3) * np.sqrt(variance / 4)
        row = fn.compare(results_by_name([one[:, None], other[:, None]])).rows[1]
        assert (row.difference_low, row.difference_high) == pytest.approx((m - half, m + half), rel=1e-12)

    def test_equal_systems_may_differ_in_queries_not_seen(self):
        """If 30 queries tie, at most 1 − 0.025^(1/30) of all queries differ."""
        values = np.linspace(0.1, 1, 30)[:, None]
        row = fn.compare(results_by_name([values, values])).rows[1]
        bound = 1 - 0.025 ** (1 / 30)
        assert (row.difference_low, row.difference_high) == pytest.approx((-bound, bound), rel=1e-12)

    def test_the_range_of_the_metric_decides(self):
        values = [[0.3], [0.5], [1.0], [0.9]]
        dcg = results_of(values, metrics=(fn.DCG,)).confidence_interval("dcg")
        kept = results_of(values)
        kept.convention = fn.conventions["default"].replace(negative_labels="keep")
        t = stats.ttest_1samp(np.ravel(values), 0).confidence_interval()
        for found in (dcg, kept.confidence_interval("ndcg@10")):
            assert found.method == "t"
            assert (found.low, found.high) == pytest.approx((t.low, t.high), rel=1e-12)
        assert results_of(values).confidence_interval("ndcg@10").method == "korn-graubard"
        assert results_of([*values, [1.7]]).confidence_interval("ndcg@10").method == "t"

    @examples(150)
    @given(
        values=st.lists(
            st.sampled_from([0.0, 0.5, 1.0]) | st.integers(0, 64).map(lambda x: x / 64), min_size=2, max_size=40
        ),
        level=st.sampled_from([0.51, 0.95, 0.999]),
        method=st.sampled_from(["auto", "t", "percentile", "betting"]),
        weighted=st.booleans(),
    )
    def test_no_interval_leaves_the_range(self, values, level, method, weighted):
        """Bounds are from 0 to 1 around the mean, and a mirrored metric has the mirrored interval."""
        weights = np.arange(1, len(values) + 1) if weighted and method != "betting" else None
        options = {"method": method, "level": level, "weights": weights, "replicates": 50}
        found = results_of(np.array(values)[:, None]).confidence_interval("ndcg@10", **options)
        if found.reason:
            assert method not in ("auto", "betting")
            assert np.isnan([found.low, found.high]).all()
            return
        assert 0 <= found.low <= found.high <= 1
        if method != "percentile":
            assert found.low - 1e-9 <= found.mean <= found.high + 1e-9
            mirrored = results_of(1 - np.array(values)[:, None]).confidence_interval("ndcg@10", **options)
            assert (1 - mirrored.high, 1 - mirrored.low) == pytest.approx((found.low, found.high), abs=1e-6)

    @pytest.mark.parametrize("method", ["t", "percentile"])
    def test_values_without_spread(self, method):
        """The other methods have no interval if all values are equal. They never gave [1, 1] for a reason."""
        for value in (0.3, 1.0):
            found = results_of([[value]] * 10).confidence_interval("ndcg@10", method=method)
            assert np.isnan([found.low, found.high]).all()
            assert found.reason == "all values are equal, so their spread is 0. Take the interval 'auto'"
        assert results_of([[0.3]] * 10).confidence_interval("ndcg@10").low < 0.3

    def test_numbers_and_arrays_give_the_same(self):
        means, errors = np.array([0.0, 0.3, 0.97, 1.0]), np.array([0.0, 0.1, 0.02, 0.0])
        for compute in (intervals.compute_korn_graubard, intervals.compute_t_with_ends):
            lows, highs = compute(means, errors, 12.5, 11.5, 0.9)
            for place in range(4):
                low, high = compute(means[place], errors[place], 12.5, 11.5, 0.9)
                assert (low, high) == (lows[place], highs[place])


class TestSegments:
    def test_each_segment_is_evaluated_on_its_own(self):
        values = drawn(11, 50, missing=0.1)[0]
        segments = np.array(["head", "tail", "torso"])[np.arange(50) % 3]
        table = results_of(values).by(segments, method="t")
        assert [row.segment for row in table[::3]] == ["head", "tail", "torso"]
        for row in table:
            alone = results_of(values[segments == row.segment]).confidence_interval(row.metric, method="t")
            assert (row.mean, row.low, row.high, row.n) == (alone.mean, alone.low, alone.high, alone.n)
            assert row.n + row.n_undefined == np.count_nonzero(segments == row.segment)

    def test_segments_stand_in_their_own_order(self):
        """Ordered categories in theirs, numbers from the lowest, other texts as they first come: not by letters."""
        pandas = pytest.importorskip("pandas")
        results, sizes = results_of(drawn(3, 6)[0]), ["short", "medium", "long"]
        names = ["medium", "short", "medium", "long", "short", "long"]
        ordered = pandas.Categorical(names, sizes, ordered=True)
        by_id = dict(zip(results.query_ids[::-1].tolist(), names, strict=True))
        for segments, order in (
            (names, ["medium", "short", "long"]), (by_id, ["medium", "short", "long"]), (ordered, sizes),
            (pandas.Series(ordered, results.query_ids), sizes), ([10, 9, 2, 10, 9, 2], [2, 9, 10]),
        ):  # fmt: skip
            assert list(dict.fromkeys(row.segment for row in results.by(segments))) == order
            table = fn.compare({"a": results, "b": results}).by(segments)
            assert list(dict.fromkeys(row.segment for row in table)) == order

    def test_prints_and_becomes_a_frame(self):
        table = results_of([[0.5], [0.7], [0.1]]).by({"q0": "x", "q1": "x", "q2": "y"})
        assert "only one query has a value" in str(table).splitlines()[2]
        assert str(table).splitlines()[-1] == "95 % intervals: Korn–Graubard"
        pytest.importorskip("pandas")
        assert table.to_pandas().loc[1, "reason"] == "only one query has a value"
        assert "<td style='text-align:left'>x</td>" in table._repr_html_()

    def test_clusters_strata_and_weights_go_along(self):
        values, generator = drawn(12, 80)[0], np.random.default_rng(1)
        clusters, weights = np.arange(80) // 4, generator.uniform(1, 2, 80)
        segments = np.where(np.arange(80) < 40, "a", "b")
        row = results_of(values).by(segments, clusters=clusters, weights=weights, strata=clusters % 3)[0]
        kept = slice(0, 40)
        alone = results_of(values[kept]).confidence_interval(
            "ndcg@10", clusters=clusters[kept], weights=weights[kept], strata=clusters[kept] % 3
        )
        assert (row.low, row.mean, row.high) == (alone.low, alone.mean, alone.high)


RESULT = results_of(drawn(13, 6)[0])
test_bad_input = refuses(lambda given: RESULT.confidence_interval("map", **given), {
    "weights of another length": ({"weights": [1, 2]},
        r"`weights` must have one value for each of the 6 queries, but its shape is \(2,\)"),
    "a negative weight": ({"weights": [1, 1, -1, 1, 1, 1]}, "`weights` must be finite and not negative.* q2 is -1"),
    "an infinite weight": ({"weights": [1, 1, np.inf, 1, 1, 1]}, "`weights` must be finite"),
    "a weight of NaN": ({"weights": [1, 1, 1, np.nan, 1, 1]}, "`weights` must not be NaN, but that of query q3 is"),
    "weights that are all 0": ({"weights": [0] * 6}, "`weights` must not all be 0"),
    "weights that are texts": ({"weights": list("abcdef")}, "`weights` must be numbers"),
    "a dict that lacks queries": ({"weights": {"q0": 1}},
        r"`weights` must have a value for every query, but query 'q1' has none \(5 in all\)"),
    "clusters of two kinds": ({"clusters": np.array([1, "a", 2, 3, 4, 5], object)}, "`clusters` must be all texts or"),
    "a stratum of one": ({"strata": list("aaaaab")},
        "`strata` must have two queries or clusters each, but stratum b has one"),
    "a cluster in two strata": ({"clusters": [0, 0, 1, 1, 2, 3], "strata": list("abaabb")},
        "`strata` must hold whole clusters, but the cluster of query q"),
    "a text": ({"weights": "traffic"}, "`weights` must be an array with one value a query"),
    "no such method": ({"method": "percentil"}, "`interval` has no choice 'percentil'. Did you mean 'percentile'"),
    "the Poisson bootstrap": ({"method": "poisson"}, "`interval` has no choice 'poisson'"),
    "a level of 95": ({"level": 95}, "`level` must be a number from 0.51 to 0.999999, got 95. Pass such as 0.95"),
    "a level that is a text": ({"level": "0.95"}, "`level` must be a number from 0.51 to 0.999999, got '0.95'"),
    "no replicates": ({"replicates": 0}, "`replicates` must be a whole number from 1 to 1000000, not 0"),
    "a negative seed": ({"seed": -1}, f"`seed` must be a whole number from 0 to {2**64 - 1}, not -1"),
    "a seed that is no number": ({"seed": None}, f"`seed` must be a whole number from 0 to {2**64 - 1}, not None"),
    "threads": ({"threads": 0}, "`threads` must be 1 or more"),
})  # fmt: skip


def test_bad_segments():
    refused("`segments` must have one value for each of the 6 queries", RESULT.by, ["a", "b"])
    refused("`weights` must not all be 0", RESULT.mean, weights=[0] * 6)


@pytest.mark.parametrize("use", ["confidence_interval", "by", "compare"])
def test_interval_raises_on_micro_mean(use):
    """Its mean is no mean of the queries' values, so it is refused, and not quietly taken for one."""
    result = fn.evaluate([[1, 0, 1], [0, 1, 0]], [[3, 2, 1]] * 2, "P@2,rr", convention="implicit")
    calls = {
        "confidence_interval": lambda: result.confidence_interval("P@2"),
        "by": lambda: result.by([0, 1]),
        "compare": lambda: fn.compare(None, {"a": result, "b": result}, "P@2"),
    }
    refused("P@2 is averaged over documents under convention implicit", calls[use])
    assert result.confidence_interval("rr", replicates=10).n == 2


METHODS = ("auto", "t", "percentile")
TESTS = ("randomization", "t", "bootstrap", "tukey")


def sparse_weights(n, seed=1):
    """Return weights of which some are 0, and the places of the others."""
    generator = np.random.default_rng(seed)
    weights = generator.uniform(0.5, 3, n) * (generator.random(n) < 0.6)
    return weights, np.flatnonzero(weights)


@pytest.mark.parametrize("method", METHODS)
def test_weight_0_leaves_a_query_out_of_an_interval(method):
    """The interval of six queries among 200 of weight 0 is that of the six alone."""
    values = np.random.default_rng(1).random((200, 1))
    weights = np.zeros(200)
    weights[:6] = 1
    found = results_of(values).confidence_interval("ndcg@10", weights=weights, method=method)
    alone = results_of(values[:6]).confidence_interval("ndcg@10", weights=np.ones(6), method=method)
    assert found == alone
    assert (found.n, found.n_effective) == (6, 6.0)
    plain = results_of(values[:6]).confidence_interval("ndcg@10", method=method)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("test", TESTS)
def test_weight_0_leaves_a_query_out_of_a_comparison(method, test):
    columns = drawn(2, 60, n_systems=3)
    weights, kept = sparse_weights(60)
    segments = np.where(np.arange(60) % 3, "x", "y")
    clusters, strata = np.arange(60) // 2, np.arange(60) // 2 % 2
    options = {"interval": method, "test": test, "replicates": 200}
    ids = np.array([f"q{place}" for place in range(60)])
    found = fn.compare(results_by_name(columns), weights=weights, clusters=clusters, strata=strata, **options)
    alone = fn.compare(
        results_by_name([column[kept] for column in columns], ids=ids[kept]),
        weights=weights[kept], clusters=clusters[kept], strata=strata[kept], **options,
    )  # fmt: skip
    assert str(found.rows) == str(alone.rows)
    by_id = dict(zip(ids, segments, strict=True))
    assert str(found.by(segments)) == str(alone.by(segments[kept])) == str(found.by(by_id))
    assert str(found.all_pairs()) == str(alone.all_pairs())
    assert found.query_ids.tolist() == ids[kept].tolist()
    assert f"weights: {60 - len(kept)} of the queries have the weight 0, and are left out" in found.notes
    assert not any("weight 0" in note for note in alone.notes)


def test_weight_0_leaves_a_query_out_of_segments():
    """A query of weight 0 counts neither as one with a value nor as an undefined one."""
    values = np.array([[0.5], [np.nan], [0.7], [0.1], [0.2]])
    row = results_of(values).by(list("xxxxx"), weights=[1, 1, 0, 2, 1])[0]
    assert (row.n, row.n_undefined) == (3, 1)
    assert row.n_effective == pytest.approx(16 / 6, rel=1e-14)
    assert row.mean == pytest.approx((0.5 + 2 * 0.1 + 0.2) / 4, rel=1e-14)


def test_effective_number_is_shown():
    """Kish's number, (Σ weight)² / Σ weight², stands in intervals, rows, JSON and notes."""
    weights = np.arange(1, 201.0) ** -1.2
    expected = weights.sum() ** 2 / (weights**2).sum()
    columns = drawn(3, 200)
    interval = results_of(columns[0]).confidence_interval("ndcg@10", weights=weights)
    assert interval.n_effective == pytest.approx(expected, rel=1e-12)
    assert f"{expected:.1f}" == "10.8"
    assert str(interval).endswith("200 queries (10.8 effective)")
    found = fn.compare(results_by_name(columns), weights=weights)
    assert all(row.n_effective == pytest.approx(expected, rel=1e-12) for row in found.rows)
    assert json.loads(found.to_json())["rows"][0]["n_effective"] == pytest.approx(expected, rel=1e-12)
    assert "weights: 200 queries count like 10.8 of equal weight (Kish)" in found.notes
    assert not any("Kish" in note for note in fn.compare(results_by_name(columns)).notes)


@pytest.mark.parametrize("weight", [1.0, 0.25, 7.0])
def test_equal_weights_are_no_weights(weight):
    """Weights that are all alike change no number beyond rounding."""
    columns = drawn(5, 30)
    for method in METHODS:
        plain = fn.compare(results_by_name(columns), interval=method, test="t").rows
        weighed = fn.compare(results_by_name(columns), interval=method, test="t", weights=[weight] * 30).rows
        for one, other in zip(plain, weighed, strict=True):
            numbers, others = ([value for value in row if isinstance(value, float)] for row in (one, other))
            assert others == pytest.approx(numbers, rel=1e-9, nan_ok=True)
