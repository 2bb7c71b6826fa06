"""Weights: a query of weight 0 is left out everywhere, and unequal weights count like fewer queries."""

import json

import numpy as np
import pytest
from system_values import drawn, results_by_name, results_of

import fastndcg as fn

pytest.importorskip("scipy", reason="intervals need SciPy")
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
    found = fn.compare(
        results_by_name(columns), weights=weights, segments=segments, clusters=clusters, strata=strata, **options
    )
    alone = fn.compare(
        results_by_name([column[kept] for column in columns], ids=ids[kept]),
        weights=weights[kept], segments=segments[kept], clusters=clusters[kept], strata=strata[kept], **options,
    )  # fmt: skip
    assert str(found.rows) == str(alone.rows)
    by_id = dict(zip(ids, segments, strict=True))
    assert str(found.by()) == str(alone.by()) == str(found.by(segments)) == str(found.by(by_id))
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
