"""Tests of equivalence, and the statistic of each row."""

import math

import numpy as np
import pytest
from system_values import drawn, results_by_name, results_of

import fastndcg as fn


def test_equivalence_is_that_of_statsmodels():
    weightstats = pytest.importorskip("statsmodels.stats.weightstats", reason="statsmodels is the oracle")
    columns = drawn(3, 60)
    for margin in (0.02, 0.05, 0.2):
        rows = fn.compare(results_by_name(columns), margin=margin).rows
        for row in rows:
            if row.system == "b":
                place = ["nDCG@10", "AP", "RR"].index(row.metric)
                theirs = weightstats.ttost_paired(columns[1][:, place], columns[0][:, place], -margin, margin)[0]
                assert row.p_equivalent == pytest.approx(theirs, rel=1e-9)


def test_statistic_is_that_of_scipy():
    stats = pytest.importorskip("scipy.stats", reason="SciPy is the oracle")
    columns = drawn(4, 40)
    row = next(row for row in fn.compare(results_by_name(columns), test="t").rows if row.system == "b")
    theirs = stats.ttest_rel(columns[1][:, 0], columns[0][:, 0])
    assert (row.statistic, row.degrees_of_freedom) == (pytest.approx(theirs.statistic), theirs.df)
    assert row.standard_error == pytest.approx(row.difference / row.statistic)
    assert row.p == pytest.approx(theirs.pvalue)


def test_equal_differences():
    results = {"a": results_of([[0.5]] * 9), "b": results_of([[0.52]] * 9)}
    for margin, p in ((0.03, 0.0), (0.01, 1.0)):
        row = fn.compare(results, margin=margin).rows[1]
        assert row.p_equivalent == p
    assert math.isnan(fn.compare(results).rows[1].p_equivalent)


def test_margin_is_shown_and_checked():
    """A column has the p-value and a note the margin; other margins than numbers above 0 are errors."""
    results = results_by_name(drawn(5, 30))
    text = str(fn.compare(results, margin=0.1))
    assert "p, equivalent" in text
    assert "two one-sided t tests within ±0.1" in text
    for margin in (0, -0.1, math.inf, "1", True):
        with pytest.raises(fn.InvalidInputError, match="`margin` must be a number above 0"):
            fn.compare(results, margin=margin)
    assert np.isfinite(fn.compare(results, margin=0.1).rows[1].p_equivalent)
