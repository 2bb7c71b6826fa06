"""Tests of differences, equivalence, corrections and power: against SciPy and statsmodels, and by enumeration."""

import gc
import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from refusals import refused
from strategies import examples
from system_values import drawn, results_by_name, results_of, settings, simple_design

import fastndcg as fn
from fastndcg.statistics import significance
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.moments import compute_moments

stats = pytest.importorskip("scipy.stats")
DIFFERENCE = Quantity(1, 0, 0)
ALTERNATIVES = ("two-sided", "greater", "less")


def p_of(columns, test, design=None, **given):
    """The p-value of the second system's difference from the first."""
    design = simple_design(len(columns[0])) if design is None else design
    return Analysis(columns, [DIFFERENCE], design, settings(test=test, interval="t", **given)).tests([0])[0]


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [2, 3, 8, 12])
def test_exact_randomisation_is_scipys(n, alternative):
    columns = [np.rint(column * 2**20) / 2**20 for column in drawn(n, n, lift=0.2)]
    found = p_of(columns, "randomization", alternative=alternative)
    options = {"permutation_type": "samples", "alternative": alternative, "n_resamples": np.inf, "vectorized": True}
    expected = stats.permutation_test((DIFFERENCE.values(columns),), np.mean, **options).pvalue
    assert found.exact
    assert found.p == pytest.approx(expected, rel=1e-10)


@examples(400)
@given(
    differences=st.lists(st.sampled_from([-0.3, -0.1, 0.0, 0.1, 0.2, 0.3]), min_size=2, max_size=9),
    alternative=st.sampled_from(ALTERNATIVES),
)
def test_exact_randomisation_counts_every_sign(differences, alternative):
    """Sums that are equal on paper are equal: 0.1 + 0.2 is 0.3."""
    tenths = [round(10 * difference) for difference in differences]
    sums = [sum(sign * tenth for sign, tenth in zip(signs, tenths, strict=True))
            for signs in product((-1, 1), repeat=len(tenths))]  # fmt: skip
    observed = sum(tenths)
    extreme = {"two-sided": lambda s: abs(s) >= abs(observed), "greater": lambda s: s >= observed}
    extreme["less"] = lambda s: s <= observed
    expected = sum(map(extreme[alternative], sums)) / len(sums)
    columns = [np.full((len(differences), 1), 0.3), 0.3 + np.array(differences)[:, None]]
    assert p_of(columns, "randomization", alternative=alternative).p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_sampled_randomisation_comes_near_the_exact_one(alternative):
    """With 24 queries signs are sampled: within five binomial standard errors of counting all sixteen million."""
    columns, replicates = drawn(20, 24, lift=0.08), 100_000
    columns[1][0] = columns[0][0] + 0.01  # and two that would be cut off at 0 or at 1 differ, too
    differences = DIFFERENCE.values(columns)
    signs = np.array(list(product((-1, 1), repeat=12)))
    first, second = signs @ differences[:12], signs @ differences[12:]
    observed, rounding = differences.sum(), 1e-9
    is_extreme = {
        "two-sided": lambda sums: np.abs(sums) >= abs(observed) - rounding,
        "greater": lambda sums: sums >= observed - rounding,
        "less": lambda sums: sums <= observed + rounding,
    }[alternative]
    exact = np.mean([is_extreme(one + second).mean() for one in first])
    found = p_of(columns, "randomization", alternative=alternative, replicates=replicates)
    assert not found.exact
    assert abs(found.p - exact) < 5 * np.sqrt(exact * (1 - exact) / replicates) + 1 / replicates


def test_sampled_p_is_never_0():
    """The observed signs count among the replicates."""
    columns = [np.zeros((50, 1)), np.ones((50, 1))]
    assert p_of(columns, "randomization", replicates=99).p == 1 / 100


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("test", ["t", "wilcoxon", "sign"])
def test_classical_tests_are_scipys(test, missing, alternative):
    columns = drawn(21, 80, missing=missing)
    differences = DIFFERENCE.values(columns)
    differences = differences[~np.isnan(differences)]
    differing = differences[differences != 0]
    expected = {
        "t": lambda: stats.ttest_1samp(differences, 0, alternative=alternative).pvalue,
        "wilcoxon": lambda: stats.wilcoxon(differing, alternative=alternative).pvalue,
        "sign": lambda: stats.binomtest((differing > 0).sum(), len(differing), alternative=alternative).pvalue,
    }[test]()
    assert p_of(columns, test, alternative=alternative).p == pytest.approx(expected, rel=1e-10)


def test_wilcoxon_ties_equal_differences():
    """Differences of tenths tie as in SciPy after rounding: p is 0.1419, not the 0.0995 of ranked rounding noise."""
    generator = np.random.default_rng(0)
    one = generator.integers(0, 11, 40) / 10
    other = np.clip(one + generator.choice([-0.2, -0.1, 0, 0.1, 0.2, 0.3], 40, p=[0.1, 0.2, 0.2, 0.3, 0.1, 0.1]), 0, 1)
    rounded = np.round(other - one, 9)
    found = p_of([one[:, None], other[:, None]], "wilcoxon").p
    assert found == pytest.approx(stats.wilcoxon(rounded[rounded != 0], method="approx").pvalue, rel=1e-12)
    assert round(found, 4) == 0.1419


@examples(100)
@given(tenths=st.lists(st.integers(-4, 6), min_size=2, max_size=9), alternative=st.sampled_from(ALTERNATIVES))
def test_wilcoxon_of_few_queries_is_exact(tenths, alternative):
    """With ties, too, p is the share of all signs of SciPy's ranks: no normal distribution of three queries."""
    columns = [np.full((len(tenths), 1), 0.4), 0.4 + np.array(tenths)[:, None] / 10]
    differing = [tenth for tenth in tenths if tenth]
    ranks = stats.rankdata(np.abs(differing)) if differing else np.array([])
    observed = float(np.dot(np.sign(differing), ranks))
    sums = [float(np.dot(signs, ranks)) for signs in product((-1, 1), repeat=len(ranks))]
    extreme = {"two-sided": [abs(s) >= abs(observed) for s in sums], "greater": [s >= observed for s in sums]}
    expected = np.mean(extreme.get(alternative, [s <= observed for s in sums]))
    assert p_of(columns, "wilcoxon", alternative=alternative).p == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("wins", "losses", "ties"), [(9, 1, 20), (5, 5, 0), (0, 3, 0), (40, 22, 100), (0, 0, 4)])
def test_mcnemar_is_statsmodels(wins, losses, ties):
    contingency = pytest.importorskip("statsmodels.stats.contingency_tables")
    one = np.concatenate([np.zeros(wins), np.ones(losses), np.arange(ties) % 2])[:, None]
    other = np.concatenate([np.ones(wins), np.zeros(losses), np.arange(ties) % 2])[:, None]
    row = fn.compare(results_by_name([one, other]), test="mcnemar").rows[1]
    expected = contingency.mcnemar([[0, wins], [losses, 0]], exact=True).pvalue
    assert row.p == pytest.approx(expected, rel=1e-12)
    assert row.exact


def test_mcnemar_is_a_name_of_the_sign_test():
    results = results_by_name(drawn(6, 20))
    assert str(fn.compare(results, test="mcnemar")) == str(fn.compare(results, test="sign"))
    pairs = fn.compare(results).all_pairs(test="mcnemar")
    assert str(pairs) == str(fn.compare(results).all_pairs(test="sign"))


@pytest.mark.parametrize(("level", "replicates", "p"), [(0.95, 19, 0.05), (0.9, 9, 0.1), (0.99, 99, 0.01)])
def test_p_of_1_minus_level_is_not_significant(level, replicates, p):
    """The level is a decimal number: p = 0.05 at 95 % and p = 0.1 at 90 % are decided alike. They are not below."""
    columns = [np.zeros((50, 1)), np.abs(np.random.default_rng(0).normal(0.5, 0.05, 50))[:, None]]
    row, below = (
        fn.compare(results_by_name(columns), level=level, replicates=n).rows[1] for n in (replicates, replicates + 1)
    )
    assert (row.p, row.significant, below.significant) == (p, False, True)


@pytest.mark.parametrize("test", ["randomization", "wilcoxon", "sign"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_too_few_queries_are_noted(test, alternative):
    """Three queries lost of three cannot give p < 0.25, and one-sided not p < 0.125."""
    smallest = 0.25 if alternative == "two-sided" else 0.125
    columns = [[[0.9], [0.8], [0.7], [0.5]], [[0.1], [0.3], [0.2], [0.5]]]
    found = fn.compare(results_by_name(columns), test=test, alternative=alternative)
    assert found.rows[1].smallest_p == smallest
    assert f"b (nDCG@10): too few queries differ for a p below {smallest:.4f}" in found.notes
    many = fn.compare(results_by_name(drawn(29, 40, lift=0.2)), test=test, alternative=alternative)
    assert not any("too few" in note for note in many.notes)
    assert np.isnan(fn.compare(results_by_name(columns), test="t").rows[1].smallest_p)


class TestContradictions:
    @staticmethod
    def notes(columns, **options):
        return [note for note in fn.compare(results_by_name(columns), **options).notes if "though the interval" in note]

    def test_correction(self):
        columns = drawn(10, 40, n_systems=4)
        notes = self.notes(columns, interval="t", test="t")
        assert any("p is corrected for the number of tests" in note for note in notes)

    def test_one_sided(self):
        columns = [np.full((40, 1), 0.5), 0.5 + np.linspace(-0.1, 0.147, 40)[:, None]]
        options = {"interval": "t", "test": "t"}
        assert self.notes(columns, **options) == []
        (note,) = self.notes(columns, **options, alternative="greater")
        assert note.startswith("b (nDCG@10): significant, though the interval has 0 inside: the test is one-sided")

    def test_differences_not_seen(self):
        """Twelve small wins among 30 queries are significant, but larger losses may be among other queries."""
        columns = [np.full((30, 1), 0.5), np.where(np.arange(30) < 12, 0.505, 0.5)[:, None]]
        (note,) = self.notes(columns)
        assert "allows for differences that no query shows yet, and the test does not. Nor does interval='t'" in note
        assert self.notes(columns, interval="t") == []

    def test_every_row_that_contradicts_is_noted(self):
        for seed in range(20):
            found = fn.compare(results_by_name(drawn(seed, 25, lift=0.1)), replicates=999)
            noted = [note for note in found.notes if "though the interval" in note]
            for row in found.rows[1::2]:
                contradicts = (row.difference_low > 0 or row.difference_high < 0) != row.significant
                assert contradicts == any(f"b ({row.metric})" in note.partition(": ")[0] for note in noted)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize(
    ("options", "n_tests"),
    [({}, 6), ({"family": "metric"}, 2), ({"correction": "none"}, 1), ({"correction": "bonferroni"}, 6)],
)
def test_smallest_difference_is_at_the_level_of_the_stars(options, n_tests, alternative):
    power = pytest.importorskip("statsmodels.stats.power")
    columns = drawn(31, 43, n_systems=3)
    row = fn.compare(results_by_name(columns), test="t", alternative=alternative, **options).rows[1]
    differences = (columns[1] - columns[0])[:, 0]
    sides = {"two-sided": "two-sided", "greater": "larger", "less": "larger"}
    effect = row.smallest_difference / differences.std(ddof=1)
    found = power.TTestPower().power(effect, 43, 0.05 / n_tests, alternative=sides[alternative])
    assert found == pytest.approx(0.8, abs=1e-9)


def test_smallest_difference_of_tukey_is_at_the_level_of_one_of_all_pairs():
    """Four systems are six pairs, though three tests are in the table."""
    power = pytest.importorskip("statsmodels.stats.power", reason="statsmodels is the oracle of power")
    columns = drawn(31, 43, n_systems=4)
    rows = fn.compare(results_by_name(columns), test="tukey", replicates=99).rows[1:4]
    for row, column in zip(rows, columns[1:], strict=True):
        effect = row.smallest_difference / (column - columns[0])[:, 0].std(ddof=1)
        assert power.TTestPower().power(effect, 43, 0.05 / 6) == pytest.approx(0.8, abs=1e-9)


def test_undefined_replicates_do_not_count():
    columns = drawn(32, 30, lift=0.02)
    moments, given = compute_moments(DIFFERENCE, columns, simple_design(30)), settings()
    replicates = np.random.default_rng(1).normal(moments.mean, moments.standard_error, 500)
    with_undefined = np.insert(replicates, [0, 7, 500], np.nan)
    found = significance.run_bootstrap_test(with_undefined, moments.mean, moments, given)
    assert found == significance.run_bootstrap_test(replicates, moments.mean, moments, given)


@pytest.mark.parametrize(("correction", "n_tests"), [("holm", 1), ("bh", 2), ("bonferroni", 2)])
def test_exact_p_values_count_in_the_smallest_corrected_one(correction, n_tests):
    """
    The p-value of b is that of its 2**n signs, and the p-value of c is sampled.

    For Holm b's is below c's, so that one test is left. For Benjamini–Hochberg c's is the first of two.
    """
    n_different = 20 if correction == "holm" else 4
    lost = np.where(np.arange(40) < n_different, 0.25, 0.5)[:, None]
    columns = [np.full((40, 1), 0.5), lost, 0.4 + np.linspace(-0.3, 0.4, 40)[:, None]]
    found = fn.compare(results_by_name(columns), replicates=100, correction=correction)
    assert [row.exact for row in found.rows[1:]] == [True, False]
    assert found.smallest_p_values()[:2] == (1 / 101, pytest.approx(n_tests / 101))


@pytest.mark.parametrize("alternative", ALTERNATIVES)
def test_paired_bootstrap_is_the_share_of_shifted_replicates(alternative):
    """
    Replicates moved to a mean of 0 that lie as far out as what was observed.

    The share's normal quantile is Student's times √(n/(n − 1)), as of an expanded interval.
    """
    columns = drawn(22, 60, lift=0.03)
    analysis = Analysis(columns, [DIFFERENCE], simple_design(60), settings(test="bootstrap", alternative=alternative))
    observed = DIFFERENCE.values(columns).mean()
    shifted = analysis.replicates[:, 0] - observed
    extreme = {"two-sided": abs(shifted) >= abs(observed), "greater": shifted >= observed, "less": shifted <= observed}
    tails = 2 if alternative == "two-sided" else 1
    share = (1 + extreme[alternative].sum()) / 1001
    student = stats.t.ppf(analysis.tests([0])[0].p / tails, 59)
    assert student * np.sqrt(60 / 59) == pytest.approx(stats.norm.ppf(share / tails), rel=1e-9)


@pytest.mark.parametrize("design", ["plain", "clusters"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_paired_bootstrap_of_normal_replicates_is_students(design, alternative):
    columns = [np.zeros((40, 1)), np.random.default_rng(1).normal(0.2, 1, (40, 1))]
    made = simple_design(40, clusters=np.arange(40) // 4) if design == "clusters" else simple_design(40)
    moments, given = compute_moments(DIFFERENCE, columns, made), settings(alternative=alternative)
    n = 10 if design == "clusters" else 40
    quantiles = stats.norm.ppf((np.arange(10**6) + 0.5) / 10**6)
    replicates = moments.mean + moments.standard_error * np.sqrt((n - 1) / n) * quantiles
    found = significance.run_bootstrap_test(replicates, moments.mean, moments, given).p
    assert found == pytest.approx(significance.run_t_test(moments, given).p, rel=1e-3, abs=1e-5)


def test_paired_bootstrap_of_what_is_surely_not_so():
    """The bootstrap gives p = 1 if every replicate is at least as extreme as the difference."""
    columns = [np.ones((30, 1)), np.random.default_rng(2).uniform(0, 0.1, (30, 1))]
    assert p_of(columns, "bootstrap", alternative="greater").p == 1.0


@pytest.mark.parametrize("test", ["randomization", "t", "wilcoxon", "sign", "bootstrap"])
def test_equal_systems_are_not_different(test):
    columns = [drawn(23, 30)[0]] * 2
    assert p_of(columns, test).p == 1.0


@pytest.mark.parametrize("values", [[0.1, 0.1], [0.7, 0.6, 0.3, 0.9], [1e-3 + 1e9] * 5], ids=["two", "four", "large"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("test", ["t", "bootstrap"])
def test_differences_that_do_not_vary(test, alternative, values):
    columns = [np.array(values)[:, None], np.array(values)[:, None] + 0.2]  # alike except for rounding
    found = p_of(columns, test, alternative=alternative)
    assert np.isnan(found.p)
    assert found.reason == "all differences are equal, so their spread is 0"
    assert p_of(columns, "randomization").p == 2 * 0.5 ** len(values)
    assert p_of([columns[0], columns[0] + 1e-17], test, alternative=alternative).p == 1.0


def test_clusters_that_do_not_vary():
    """Two users with the same sum are two equal differences, whatever their queries' differ by."""
    columns = [np.zeros((4, 1)), np.array([[0.1], [0.3], [0.2], [0.2]])]
    assert np.isnan(p_of(columns, "t", simple_design(4, clusters=[0, 0, 1, 1])).p)
    assert p_of(columns, "t").p < 0.05


def test_significance_needs_two_queries():
    columns = [np.array([[0.5], [np.nan]]), np.array([[0.7], [0.1]])]
    for test in ("randomization", "t", "wilcoxon", "sign", "bootstrap", "tukey"):
        assert np.isnan(p_of(columns, test).p)
        assert p_of(columns, test).reason == "only one query has a value"
    assert compute_moments(DIFFERENCE, columns, simple_design(2)).reason == "only one query has a value"


def test_clusters_change_signs_together():
    columns = [np.rint(column * 2**20) / 2**20 for column in drawn(24, 12, lift=0.15)]
    alone = p_of(columns, "randomization")
    copied = [np.repeat(column, 3, axis=0) for column in columns]
    design = simple_design(36, clusters=np.repeat(np.arange(12), 3))
    assert p_of(copied, "randomization", design) == alone
    assert p_of(copied, "randomization").p < alone.p


def test_weights_weigh_differences():
    """A query of weight 3 changes sign with three times its difference."""
    columns = [np.zeros((4, 1)), np.array([[0.5], [-0.25], [0.25], [0.5]])]
    weights = [1, 3, 1, 1]
    weighed = DIFFERENCE.values(columns) * weights
    sums = [abs(np.dot(signs, weighed)) for signs in product((-1, 1), repeat=4)]
    expected = np.mean(np.array(sums) >= abs(weighed.sum()))
    assert p_of(columns, "randomization", simple_design(4, weights=weights)).p == expected


class TestTukey:
    def test_comes_near_all_permutations(self):
        """Three systems and four queries: 6**4 exchanges, within five binomial standard errors."""
        columns = [np.rint(column * 2**20) / 2**20 for column in drawn(25, 4, n_metrics=1, n_systems=3, lift=0.3)]
        values, replicates = np.hstack(columns), 50_000
        ranges = np.array([
            np.ptp(sum(row[list(order)] for row, order in zip(values, orders, strict=True)))
            for orders in product(permutations(range(3)), repeat=4)
        ])  # fmt: skip
        found = significance.run_tukey_test(columns, simple_design(4), settings(replicates=replicates))[0]
        for (one, other), test in found.items():
            expected = (ranges >= abs(values[:, one].sum() - values[:, other].sum())).mean()
            assert abs(test.p - expected) < 5 * np.sqrt(expected * (1 - expected) / replicates) + 1 / replicates

    @pytest.mark.parametrize("given", [{}, {"weights": np.arange(15) ** 2}, {"clusters": np.arange(15) // 2}])
    def test_of_two_systems_is_the_randomisation_test(self, given):
        """Exchanging two systems changes the sign of their difference."""
        columns, replicates = drawn(26, 15, n_metrics=1, lift=0.1), 50_000
        design = simple_design(15, **given)
        expected = p_of(columns, "randomization", design).p
        found = significance.run_tukey_test(columns, design, settings(replicates=replicates))[0][0, 1].p
        assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / replicates) + 1 / replicates

    def test_counts_queries_that_all_systems_have(self):
        """A query that one system lacks says nothing of the range."""
        columns = drawn(27, 40, n_metrics=1, n_systems=4)
        kept = [column[:30] for column in columns]
        columns[2][30:] = np.nan
        given = settings(replicates=500)
        found = significance.run_tukey_test(columns, simple_design(40), given)[0]
        assert {pair: test.p for pair, test in found.items()} == pytest.approx(
            {pair: test.p for pair, test in significance.run_tukey_test(kept, simple_design(30), given)[0].items()},
            abs=0.15,
        )
        with_values = [column.copy() for column in columns]
        with_values[0][30:] = 0.0
        assert significance.run_tukey_test(with_values, simple_design(40), given)[0] == found


@pytest.fixture
def quick_collections():
    """Let what there is already be no garbage, which statsmodels looks for in each call."""
    gc.freeze()
    yield
    gc.unfreeze()


@examples(40)
@given(
    p_values=st.lists(st.floats(0, 1) | st.sampled_from([0.01, 0.5]), min_size=1, max_size=12),
    method=st.sampled_from(["holm", "bonferroni", "bh"]),
)
@example(p_values=[0.01, 0.04, 0.03], method="holm")  # the three methods differ
@pytest.mark.usefixtures("quick_collections")
def test_corrections_are_statsmodels(p_values, method):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    expected = multitest.multipletests(p_values, method={"bh": "fdr_bh"}.get(method, method))[1]
    assert significance.correct_p_values(np.array(p_values), method) == pytest.approx(expected, rel=1e-12, abs=1e-300)


def test_nan_p_values_are_ignored_by_correction():
    p_values = np.array([0.01, np.nan, 0.02])
    assert significance.correct_p_values(p_values, "bonferroni").tolist()[::2] == [0.02, 0.04]
    assert np.isnan(significance.correct_p_values(p_values, "holm")[1])
    assert significance.correct_p_values(p_values, "none").tolist()[::2] == [0.01, 0.02]
    assert np.isnan(significance.correct_p_values(np.array([np.nan]), "bh")).all()


@pytest.mark.parametrize("alpha", [0.05, 0.01])
@pytest.mark.parametrize("n", [3, 5, 43, 1000])
def test_smallest_difference_is_statsmodels(n, alpha):
    """The effect that a paired t test of n differences finds with 80 % power, times their standard deviation."""
    power = pytest.importorskip("statsmodels.stats.power")
    columns = drawn(28, n)
    moments = compute_moments(DIFFERENCE, columns, simple_design(n))
    found = significance.compute_smallest_difference(moments.standard_error, moments.degrees_of_freedom, alpha, 0.8)
    effect = found / moments.standard_deviation
    assert power.TTestPower().power(effect, n, alpha, alternative="two-sided") == pytest.approx(0.8, abs=1e-10)


def test_smallest_difference_of_two_queries():
    moments = compute_moments(DIFFERENCE, drawn(28, 2), simple_design(2))
    critical = stats.t.ppf(0.975, 1)
    shift = significance.compute_smallest_difference(1.0, moments.degrees_of_freedom, 0.05, 0.8)
    assert 1 - stats.nct.cdf(critical, 1, shift) == pytest.approx(0.8, abs=1e-6)  # SciPy 1.14 is off by 2e-7


@pytest.mark.parametrize("power", [0.01, 0.8, 0.999999])
@pytest.mark.parametrize("alpha", [1e-6, 1e-12])
@pytest.mark.parametrize("degrees", [1.0, 2.0])
def test_shift_of_extreme_levels(degrees, alpha, power):
    """For large t the mean hardly varies beside the shift, and the variance alone decides: chi-square."""
    expected = stats.t.isf(alpha, degrees) * np.sqrt(stats.chi2.ppf(power, degrees) / degrees)
    assert significance.find_noncentrality(degrees, alpha, power, 1) == pytest.approx(expected, rel=1e-3)


def test_effect_and_counts():
    """Cohen's d uses paired differences. Differences within rounding count as tied queries."""
    one = np.array([[0.1 + 0.2], [0.5], [0.25], [0.9], [np.nan]])
    other = np.array([[0.3], [0.75], [0.5], [0.2], [0.5]])
    moments = compute_moments(DIFFERENCE, [one, other], simple_design(5))
    assert (moments.wins, moments.ties, moments.losses) == (2, 1, 1)
    differences = np.array([0, 0.25, 0.25, -0.7])
    assert moments.effect == pytest.approx(differences.mean() / differences.std(ddof=1), rel=1e-12)
    assert moments.n_queries == 4


@pytest.mark.parametrize("test", ["wilcoxon", "sign", "mcnemar"])
@pytest.mark.parametrize("given", ["weights", "clusters"])
def test_tests_without_a_meaning_are_refused(test, given):
    message, results = f"`{given}` must be left out with test='{test}'", results_by_name(drawn(6, 3))
    refused(message, fn.compare, results, test=test, **{given: [1, 2, 3]})


@pytest.mark.parametrize("test", ["wilcoxon", "sign"])
def test_rounding_has_no_sign_and_no_rank(test):
    """Sums that differ by rounding alone are ties, and SciPy gets the other differences alone."""
    values = np.random.default_rng(24).normal(0.1, 1, 30)
    one = np.concatenate([np.zeros(30), np.full(12, 0.3)])
    other = np.concatenate([values, np.full(12, 0.1 + 0.2)])  # 0.1 + 0.2 is above 0.3
    n_wins = int((values > 0).sum())
    expected = {"wilcoxon": lambda: stats.wilcoxon(values), "sign": lambda: stats.binomtest(n_wins, 30)}[test]().pvalue
    assert p_of([one[:, None], other[:, None]], test).p == pytest.approx(expected, rel=1e-10)


def test_equivalence_is_that_of_statsmodels():
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    columns = drawn(3, 60)
    for margin in (0.02, 0.05, 0.2):
        tests = fn.compare(results_by_name(columns)).equivalence(margin)
        assert [(test.system, test.metric) for test in tests] == [("b", "nDCG@10"), ("b", "AP"), ("b", "RR")]
        for place, test in enumerate(tests):
            theirs = weightstats.ttost_paired(columns[1][:, place], columns[0][:, place], -margin, margin)[0]
            assert test.p == pytest.approx(theirs, rel=1e-9)
            assert test.equivalent == (test.p < 0.05)
        shown = [line.endswith("equivalent") for line in str(tests).splitlines()[1:4]]
        assert shown == [one.equivalent for one in tests]


def test_statistic_is_that_of_scipy():
    columns = drawn(4, 40)
    row = next(row for row in fn.compare(results_by_name(columns), test="t").rows if row.system == "b")
    theirs = stats.ttest_rel(columns[1][:, 0], columns[0][:, 0])
    assert (row.statistic, row.degrees_of_freedom) == (pytest.approx(theirs.statistic), theirs.df)
    assert row.standard_error == pytest.approx(row.difference / row.statistic)
    assert row.p == pytest.approx(theirs.pvalue)


def test_equal_differences():
    results = {"a": results_of([[0.5]] * 9), "b": results_of([[0.52]] * 9)}
    for margin, p in ((0.03, 0.0), (0.01, 1.0)):
        (test,) = fn.compare(results).equivalence(margin)
        assert (test.p, test.equivalent) == (p, p == 0)
    alone = {name: results_of([[value]]) for name, value in (("a", 0.5), ("b", 0.52))}
    assert math.isnan(fn.compare(alone).equivalence(0.1)[0].p)


def test_margin_is_shown_and_checked():
    compared = fn.compare(results_by_name(drawn(5, 30)))
    text = str(compared.equivalence(0.1))
    assert "p, equivalent" in text
    assert "two one-sided t tests within ±0.1" in text
    for margin in (0, -0.1, math.inf, "1", True):
        refused("`margin` must be a number above 0", compared.equivalence, margin)
    refused("`margin` must be below 1, the range of nDCG@10, got 2", compared.equivalence, 2)
