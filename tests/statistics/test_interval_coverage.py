"""
Simulations with fixed seeds check the coverage of intervals and the rate of false positives of tests.

Each simulation is a separate metric: thousands of data sets go through one set of resamples. A rate over m of them
has a standard error of √(r(1 − r)/m): 0.31 % for a coverage of 95 % over 5,000. The grid of
`benchmarks/calibration.py`, whose tables are in the documentation, is checked too.
"""

from pathlib import Path

import numpy as np
import pytest
from system_values import results_of, settings, simple_design

import fastndcg as fn
from fastndcg.statistics.analysis import Analysis
from fastndcg.statistics.integer_sums import Quantity
from fastndcg.statistics.prediction_powered import find_powered_interval
from fastndcg.statistics.significance import run_tukey_test

pytest.importorskip("scipy.special")
calibration = pytest.importorskip("benchmarks.calibration")

pytestmark = pytest.mark.stress
DIFFERENCES = [Quantity(1, place, 0) for place in range(2500)]


def shared_queries(seed, n, n_sets, n_systems=2, lift=0.0):
    """Return values of systems that differ only by chance and by the lift, as skewed as nDCG over queries."""
    generator = np.random.default_rng(seed)
    ease = generator.beta(0.6, 0.9, (n, n_sets))
    return [ease * generator.beta(6, 2, (n, n_sets)) + system * lift for system in range(n_systems)]


def normal(seed, n, n_sets, lift):
    generator = np.random.default_rng(seed)
    return [generator.normal(system * lift, 0.2, (n, n_sets)) for system in range(2)]


def peaked(seed, n, n_sets, lift):
    """Values of two systems most of whose differences are small, and some large: a kurtosis of 7."""
    return shared_queries(seed, n, n_sets, lift=lift)


def exponential(seed, n, n_sets, lift):
    """Values of two systems whose differences are as skewed as the exponential distribution."""
    generator = np.random.default_rng(seed)
    return [np.zeros((n, n_sets)), generator.exponential(0.2, (n, n_sets)) - 0.2 + lift]


def few_differ(seed, n, n_sets, lift, share=0.2):
    """Return values of two systems that differ in 20 % of the queries, and by the lift: a kurtosis of 15."""
    generator = np.random.default_rng(seed)
    differences = np.where(generator.random((n, n_sets)) < share, generator.normal(0, 0.3, (n, n_sets)), 0)
    return [np.zeros((n, n_sets)), differences + lift]


def fewer_differ(seed, n, n_sets, lift):
    """Likewise nine in ten queries: a kurtosis of 30."""
    return few_differ(seed, n, n_sets, lift, share=0.1)


def cover(columns, quantities, design, truth, **given):
    """Return the share of the 95 % intervals of quantities that hold the truth."""
    found = Analysis(columns, quantities, design, settings(replicates=4000, **given)).intervals
    return np.mean([one.low <= truth <= one.high for one in found])


METHODS = ("t", "percentile")
COVERED = [(interval, values) for interval in METHODS for values in (normal, peaked, exponential, few_differ)]
COVERED.append(("t", fewer_differ))  # 20 differences say too little of their skew for percentiles


@pytest.mark.parametrize(("interval", "values"), COVERED)
def test_interval_coverage_is_95_percent(interval, values):
    """Between 94 % and 96 % of the 95 % intervals of a difference hold the true one, 0.1, at 200 queries."""
    drawn = ((seed, values(seed, 200, len(DIFFERENCES), 0.1)) for seed in range(2))
    design = simple_design(200)
    shares = [cover(columns, DIFFERENCES, design, 0.1, interval=interval, seed=seed) for seed, columns in drawn]
    assert 0.94 <= np.mean(shares) <= 0.96


@pytest.mark.parametrize("interval", METHODS)
def test_coverage_of_a_mean(interval):
    """Likewise of one system's mean, whose values are skewed."""
    quantities = [Quantity(0, place) for place in range(len(DIFFERENCES))]
    drawn = ((seed, shared_queries(10 + seed, 200, len(quantities), n_systems=1)) for seed in range(4))
    truth, design = 0.6 / (0.6 + 0.9) * 6 / (6 + 2), simple_design(200)
    shares = [cover(columns, quantities, design, truth, interval=interval, seed=seed) for seed, columns in drawn]
    assert 0.94 <= np.mean(shares) <= 0.96


def test_coverage_of_few_queries():
    """With 12 normal differences, where plain percentiles hold 91 %, too."""
    columns = normal(50, 12, len(DIFFERENCES), 0.1)
    assert 0.94 <= cover(columns, DIFFERENCES, simple_design(12), 0.1, interval="percentile") <= 0.96


@pytest.mark.parametrize("kind", ["clusters", "strata"])
def test_coverage_by_design(kind):
    generator, n = np.random.default_rng(5), 400
    group = np.arange(n) // 2
    if kind == "clusters":
        design, shift = simple_design(n, clusters=group), generator.normal(0, 0.3, (n // 2, len(DIFFERENCES)))[group]
    else:
        design, shift = simple_design(n, strata=np.arange(n) % 4), np.linspace(-0.5, 0.5, 4)[np.arange(n) % 4][:, None]
    columns = [generator.normal(0, 0.2, (n, len(DIFFERENCES))) for _ in range(2)]
    columns[1] += shift
    assert 0.94 <= cover(columns, DIFFERENCES, design, 0, interval="percentile") <= 0.96


def test_auto_covers_on_the_whole_grid():
    """
    At least 93.5 % of the intervals hold the mean in each cell, and on average they are at most 1.2 × as wide as t.

    Cells with 4,000 samples have a standard error of up to 0.4 %.
    """
    grid = calibration.compute_grid(4000)
    cells = [cell for own in grid.values() for cell in own.values()]
    assert len(cells) == 6 * 35
    for kind in ("0/1", "differences, 80 % ties, of 0/1 values"):  # enumerated
        assert min(cell.auto for cell in grid[kind].values()) >= 0.94
    assert min(cell.auto for cell in cells) >= 0.935 - 0.008
    assert min(cell.t for cell in cells) < 0.1
    for own in grid.values():
        assert np.mean([cell.ratio for cell in own.values() if calibration.has_reliable_t(cell)]) <= 1.2


def test_auto_covers_with_zipfs_weights():
    """With weights of exponent 1.2 and 200 queries, at least 93 % of the intervals hold the mean."""
    cells = [cell for own in calibration.compute_weighted(4000).values() for cell in own]
    assert min(cell.auto for cell in cells) >= 0.93


# the sign test takes whole numbers: at 67 queries the largest size below 5 % is 4.99 %
SIZES = {"randomization": 44, "randomization, exact": 15, "t": 44, "wilcoxon": 44, "sign": 67, "bootstrap": 44}
SIZES["bootstrap, normal"] = 12


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("test", SIZES)
def test_false_positives(test, alternative):
    """Systems that do not differ are significant at 5 % in 4 % to 6 % of the data sets."""
    n, columns = SIZES[test], shared_queries(30, SIZES[test], len(DIFFERENCES))
    if test == "bootstrap, normal":  # of 12 differences, of which it plainly finds 9 % significant
        columns = normal(32, n, len(DIFFERENCES), 0.0)
    given = settings(test=test.partition(",")[0], interval="t", alternative=alternative, replicates=4999)
    found = Analysis(columns, DIFFERENCES, simple_design(n), given).tests(range(len(DIFFERENCES)))
    assert all(one.exact == ("exact" in test) for one in found if test.startswith("randomization"))
    assert 0.04 <= np.mean([one.p <= 0.05 for one in found]) <= 0.06


def test_false_positives_of_tukey():
    """Five equal systems: any pair at all is significant in 4 % to 6 % of the data sets."""
    columns = shared_queries(31, 40, 2500, n_systems=5)
    found = run_tukey_test(columns, simple_design(40), settings(replicates=1999))
    assert 0.04 <= np.mean([min(test.p for test in tests.values()) <= 0.05 for tests in found]) <= 0.06


@pytest.mark.parametrize("interval", ["auto", "t", "betting"])
def test_the_script_judges_as_a_gate(interval):
    """Its fast verdicts on drawn differences are those of `fn.gate` on values that differ by so much."""
    for draw, margin in calibration.AT_MARGIN.values():
        drawn_differences = draw(np.random.default_rng(6), 50, -margin - 0.01, 12)
        drawn_differences[0] = 0
        verdicts = zip(*calibration.judge(drawn_differences, margin, interval), strict=True)
        for own, (passes, fails) in zip(drawn_differences, verdicts, strict=True):
            base = np.where(own > 0, 0.0, np.where(own < -0.9, 1.0, 0.95))[:, None]
            gate = fn.gate(None, results_of(base), results_of(base + own[:, None]), margin=margin, interval=interval)
            assert (gate.verdict == "pass", gate.verdict == "fail") == (passes, fails)


TIES = "differences, 80 % ties, "
NO_RANGE = "skewed, without a range"
JUDGED = ("0/1", "like nDCG, with atoms at 0 and 1", f"{TIES}of 0/1 values", f"{TIES}graded",
          "differences without ties", NO_RANGE)  # fmt: skip
KINDS = ("good", "poor", "useless", "biased", "blind", "anti-correlated")


def draw_judged(name, kind, n, n_others, repeats):
    """Return human values, the judge's of the same queries, and those of others."""
    draw, _, bounds = calibration.JUDGED[name]
    generator = np.random.default_rng(8)
    values, _ = draw(generator, n + n_others, 0.8, repeats)
    judged = calibration.draw_judge(generator, kind, values, bounds)
    return values[:, :n], judged[:, :n], judged[:, n:]


@pytest.mark.parametrize("name", JUDGED)
@pytest.mark.parametrize(("kind", "n"), [("good", 30), ("biased", 60), ("blind", 30), ("poor", 60)])
def test_the_script_estimates_as_the_package(name, kind, n):
    """Its fast bounds are those of `estimate_with_judge`, whose differences are of two systems."""
    human, judge, others = draw_judged(name, kind, n, 40, 25)
    alone, helped = (np.stack(bounds, axis=1) for bounds in calibration.compute_helped(name, human, judge, others))
    bounds = (-1.0, 1.0) if "differences" in name else (0.0, 1.0)
    n_helped = 0
    for row, values in enumerate(human):
        columns = [np.maximum(values, 0)[:, None], np.maximum(-values, 0)[:, None]]
        quantity = Quantity(0, 0, 1) if bounds[0] else Quantity(0, 0)
        analysis = Analysis(
            columns, [quantity], simple_design(n), settings(), [None if name == NO_RANGE else (0.0, 1.0)]
        )
        (moments,), (own,) = analysis.moments, analysis.intervals
        interval, weight = find_powered_interval(moments, own, values, judge[row], others[row])
        assert (own.low, own.high) == pytest.approx(tuple(alone[row]), abs=1e-9)
        assert (interval.low, interval.high) == pytest.approx(tuple(helped[row]), abs=1e-9)
        n_helped += weight > 0
    assert n_helped > 0


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in JUDGED for kind in KINDS if (name, kind) != (NO_RANGE, "blind")]
)
def test_estimates_with_a_judge_cover(name, kind):
    """93.5 % and more at all sizes, less two standard errors; never wider than human labels alone."""
    for n in calibration.HUMAN_SIZES:
        for times in calibration.OTHERS:
            cell = calibration.measure_judge(name, kind, n, times, 2_000)
            assert cell.auto >= 0.935 - 2 * np.sqrt(0.05 * 0.95 / 2_000)
            assert cell.ratio <= 1


def test_the_pages_have_the_numbers_of_the_script():
    docs = Path(__file__).parents[2] / "docs"
    page = (docs / "how_it_works" / "statistics_calibration.md").read_text("utf-8")
    guide = (docs / "guides" / "in_ci.md").read_text("utf-8").split("## What a verdict promises")[1]
    rows = [line for line in guide.splitlines() if line.startswith("|")]
    assert len(rows) > 10
    assert set(rows) <= set(page.splitlines())
    enumerated = {
        "0/1": calibration.enumerate_binary,
        "differences, 80 % ties, of 0/1 values": calibration.enumerate_differences,
    }
    for kind, enumerate_cell in enumerated.items():
        table = page.split(f"### {kind}\n")[1].split("###")[0]
        for n in calibration.SIZES:
            cells = [calibration.format_cell(enumerate_cell(n, p)) for p in calibration.PROBABILITIES]
            assert f"| {n} | {' | '.join(cells)} |" in table, (kind, n)
    for verdicts in (False, True):
        assert calibration.format_gate(calibration.GATE_SIZES[:4], verdicts=verdicts) in page
    assert calibration.format_widths() in page
    (draw, margin), *_ = calibration.AT_MARGIN.values()
    passes, fails = calibration.measure_verdicts(draw, 100, -margin, margin, "t", 20_000)
    assert f"| {100 * fails:.1f} / {100 * passes:.1f} |" in page.split("margin 0.02 | 100 |")[1].splitlines()[0]
    cell = calibration.format_cell(calibration.measure_judge("differences without ties", "good", 30, 1, 10_000))
    assert f"| differences without ties | good | {cell} |" in page.split("### 1 other query for each human one\n")[1]
    drawn = calibration.simulate(calibration.draw_fifths, calibration.compute_korn_graubard, 50, 0.9, 20_000)
    assert calibration.format_cell(drawn) in page.split("### fifths\n")[1].split("###")[0]
