"""Aggregates: what one number of all queries' values is, by definition, with weights, and where it is refused."""

import math
import pickle

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.results.aggregates import aggregate

RR = [1, 1 / 2, 1 / 4, 0]
LABELS = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
SCORES = [[4, 3, 2, 1]] * 4


def of(text, values, weights=None):
    weights = None if weights is None else np.array(weights, "f8")
    return aggregate(fn.Metric.parse(text), np.array(values, "f8"), weights)


@pytest.mark.parametrize(("text", "expected"), [
    ("rr", (1 + 1 / 2 + 1 / 4 + 0) / 4), ("gm(rr)", (1 * 1 / 2 * 1 / 4 * 1e-5) ** (1 / 4)),
    ("gm(rr, floor=0.125)", (1 * 1 / 2 * 1 / 4 * 1 / 8) ** (1 / 4)), ("median(rr)", (1 / 2 + 1 / 4) / 2),
    ("quantile(rr, q=0.25)", 0 + 0.75 * (1 / 4 - 0)), ("quantile(rr, q=1)", 1),
    ("worst(rr, share=0.5)", (0 + 1 / 4) / 2), ("worst(rr, share=0.375)", (0 + 0.5 * 1 / 4) / 1.5), ("worst(rr)", 0),
    ("micro(P@4)", 3 / 16), ("micro(R@2)", 2 / 3), ("micro(Rprec)", 1 / 3),
])  # fmt: skip
def test_aggregates_equal_definition_and_reference(text, expected):
    (mean,) = fn.evaluate(LABELS, SCORES, text).means()
    assert mean == pytest.approx(expected, rel=1e-15)
    assert fn.reference.evaluate(LABELS, SCORES, text).means() == pytest.approx([mean], rel=1e-15)


def test_micro_precision_and_undefined_queries():
    result = fn.evaluate([1, 0, 0, 1], [4, 3, 2, 1], "micro(P),P", offsets=[0, 3, 4])
    assert result.mean() == {"micro(P)": 2 / 4, "P": pytest.approx((1 / 3 + 1) / 2)}
    result = fn.evaluate([[1, 0], [0, 0], [0, 1]], [[2, 1]] * 3, "gm(AP),median(AP),worst(AP),AP")
    assert result.means() == pytest.approx([math.sqrt(1 / 2), 3 / 4, 1 / 2, 3 / 4])
    assert result.n_undefined().tolist() == [1, 1, 1, 1]
    assert "gm(AP)" in str(result)
    assert "overall" in str(result)
    assert fn.explain([[1, 0]], [[2, 1]], "gm(rr)", query=0).value == 1


@strategies.examples(100)
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=30), weights=st.lists(st.integers(0, 4), min_size=30))
def test_aggregate_weights_equal_repeated_values(values, weights):
    weights = weights[: len(values)]
    repeated = np.repeat(values, weights)
    for text in ("rr", "gm(rr)", "worst(rr, share=0.3)"):
        assert of(text, values, weights) == pytest.approx(of(text, repeated), rel=1e-12, abs=1e-15, nan_ok=True)


@strategies.examples(100)
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=30), q=st.floats(0, 1))
def test_order_and_bounds(values, q):
    texts = ["rr", f"quantile(rr, q={q!r})", "median(rr)", "worst(rr)", "gm(rr, floor=1e-300)"]
    found = [of(text, values) for text in texts]
    assert found == pytest.approx([of(text, values[::-1]) for text in texts])
    assert all(min(values) - 1e-12 <= one <= max(values) + 1e-12 for one in found)
    assert found[4] <= found[0] + 1e-12
    assert of("worst(rr, share=0.999999999)", values) == pytest.approx(found[0], abs=1e-8)


def test_aggregate_worst_takes_highest_values_of_falling_metric(monkeypatch):
    metric = fn.Metric.parse("worst(rr, share=0.5)")
    monkeypatch.setattr(type(metric.record), "higher_is_better", False)
    assert aggregate(metric, np.array(RR), None) == (1 + 1 / 2) / 2


@pytest.mark.parametrize(("text", "canonical"), [
    ("gm_map", "gm(AP)"), ("GM( map@10 )", "gm(AP@10)"), ("gm(P(rel=2)@5, floor=0.01)", "gm(P(rel=2)@5, floor=0.01)"),
    ("gm(AP,floor=1e-5)", "gm(AP)"),
    ("quantile(nDCG(gain=[0,1,3])@5, q=0.25)", "quantile(nDCG(gain=[0,1,3])@5, q=0.25)"),
])  # fmt: skip
def test_texts_read_back(text, canonical):
    metric = fn.Metric.parse(text)
    assert str(metric) == canonical
    assert fn.Metric.parse(canonical) == metric == pickle.loads(pickle.dumps(metric)) != metric.bare
    assert fn.evaluate([[1]], [[1]], f"rr, {text}").metrics == (fn.RR, metric)


def test_aggregate_survives_new_cutoff_and_parameters():
    metric = fn.AP.aggregated("gm", floor=0.1)
    assert str(metric @ 5) == "gm(AP@5, floor=0.1)"
    assert str(metric(rel=2)) == "gm(AP(rel=2), floor=0.1)"
    assert fn.AP.aggregated("gm").trec_name == "gm_map"
    assert (metric.trec_name, (metric @ 5).bare) == ("gm(AP, floor=0.1)", fn.AP @ 5)


UNREADABLE = {
    "gm()": "does not read as Name", "gm(median(AP))": "must have one aggregate",
    "gm(AP, q=2)": "gm has no parameter 'q'. It has floor.", "gm(AP, floor=0)": "`floor` of gm must be above 0",
    "worst(AP, share=1)": "`share` of worst must be between 0 and 1, not 1",
    "quantile(AP, q=1.5)": "`q` of quantile must be from 0 to 1, not 1.5",
    "gm(AP, 3)": "does not read as parameter=value",
    "micro(nDCG@10)": "must be of P, R, Rprec, whose numerators and denominators add up, not of nDCG",
}  # fmt: skip
test_aggregate_text_raises_when_unreadable = refuses(
    lambda text: fn.evaluate([[1]], [[1]], text), UNREADABLE.items(), text="{}", error=ValueError
)


def test_unknown_aggregates_raise():
    refused(r"no aggregate is called 'gn'\. There are gm, hm, median", fn.AP.aggregated, "gn", error=ValueError)


def test_functions_of_means_raise_on_other_aggregates():
    result = fn.evaluate(LABELS, SCORES, "gm(rr),quantile(rr),rr")
    refused(r"gm\(RR\) is no mean\. Take RR", result.confidence_interval, "gm(rr)", error=ValueError)
    with pytest.raises(ValueError, match=r"gm\(RR\) is no mean\. Take RR"):
        fn.compare((LABELS), {"a": SCORES, "b": SCORES}, "gm(rr)")
    with pytest.raises(ValueError, match=r"quantile\(RR\), which is defined without. Take RR, gm or worst"):
        result.mean(weights=[1, 2, 3, 4])
    with pytest.raises(ValueError, match=r"gm\(RR\) needs the values of single queries. Take per_query=True"):
        fn.StreamingEvaluator("gm(rr)")
    with pytest.raises(ValueError, match=r"micro\(R\) is averaged over documents.*take R and"):
        fn.StreamingEvaluator("micro(R)", per_query=True)
    stream = fn.StreamingEvaluator("gm(rr)", per_query=True).update(LABELS[:2], SCORES[:2])
    assert stream.update(LABELS[2:], SCORES[2:]).result().means() == result.means()[:1]
