"""bounds and judge_next: every labelling by brute force, the definitions by hand, and what must not be accepted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn

METRICS = ["ndcg", "ndcg@2", "dcg@3", "cg@2", "p", "p@3", "r@2", "rbp", "rr", "rr@2", "success@2", "ap", "ap@2"]
CONVENTIONS = [
    "default",
    "default(undefined=0)",
    "default(undefined=1,undefined_ap=0)",
    "default(missing_in_run=skip)",
    "default(ap_denominator=min(k, n_relevant),recall_denominator=min(k, n_relevant))",
    "default(ap_denominator=k,precision_denominator=min(k, n_retrieved))",
    "default(gain=exp2,ties=id_descending)",
    "default(ties=input)",
    "default(ties=input_reversed)",
    "default(discount=1/r,score_dtype=float32)",
]


@st.composite
def unjudged_cases(draw, labels=(0, 1), most=3):
    """Draw judgments with holes, and two systems whose scores may tie."""
    truth, systems = {}, {"a": {}, "b": {}}
    for query in ("q1", "q2")[: draw(st.integers(1, 2))]:
        documents = [f"d{i}" for i in range(draw(st.integers(1, 5)))]
        judged = draw(st.lists(st.sampled_from(documents), unique=True))
        holes = [document for document in documents if document not in judged]
        judged += holes[most:]
        truth[query] = {document: draw(st.sampled_from(labels)) for document in judged} | {
            "other": draw(st.sampled_from(labels))
        }
        for run in systems.values():
            chosen = draw(st.lists(st.sampled_from(documents), unique=True))
            if chosen or draw(st.booleans()):
                run[query] = {document: draw(st.integers(1, 4)) for document in chosen}
    for run in systems.values():
        if not run:
            run["q1"] = {}
    return truth, systems


def check(truth, systems, metric, labels, convention):
    """Compare all bounds with those of every labelling."""
    expected = fn.reference.bounds(truth, systems, metric, labels=labels, convention=convention)
    found = fn.bounds(truth, systems, metric, labels=labels, convention=convention)
    (name,) = map(str, found.metrics)
    for system, against in expected:
        low, high = expected[system, against][name]
        if against is None:
            own_low, own_high = found.means[system][name]
        else:
            difference = found.difference(system, against)
            own_low, own_high = difference.low, difference.high
            assert difference.is_exact
            assert difference.certain == (low > 1e-12 or high < -1e-12)
        assert own_low == pytest.approx(low, rel=1e-12, abs=1e-12, nan_ok=True)
        assert own_high == pytest.approx(high, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("metric", METRICS)
@examples(40, plain=20)
@given(case=unjudged_cases(), convention=st.sampled_from(CONVENTIONS))
def test_bounds_are_those_of_every_labelling(metric, case, convention):
    if metric == "ap" and "ap_denominator=k" in convention:
        metric = "ap@3"
    check(*case, metric, (0, 1), convention)


@pytest.mark.parametrize(
    "metric", ["ndcg@3", "ndcg(gain=exp2)", "dcg@2", "p(rel=2)@3", "ap(rel=2)", "rbp(gain=linear)", "rr(rel=3)"]
)
@examples(20, plain=10)
@given(case=unjudged_cases(labels=(0, 1, 2), most=3))
def test_bounds_of_graded_labels_are_those_of_every_labelling(metric, case):
    check(*case, metric, (0, 1, 2), "default")


@pytest.mark.parametrize("metric", ["ndcg@3", "p@3", "r", "ap", "rr"])
@examples(20, plain=10)
@given(case=unjudged_cases(labels=(1, 2), most=3))
def test_labels_may_be_relevant_alone(metric, case):
    """Unjudged documents with no label of 0 are relevant, whatever their labels."""
    check(*case, metric, (1, 2), "default")


@pytest.mark.parametrize("metric", METRICS)
@examples(20, plain=10)
@given(case=unjudged_cases(), labels=st.sampled_from([(0, 1), (0, 1, 2), (0,), (1,)]))
def test_next_judgments_are_those_that_narrow_most(metric, case, labels):
    truth, systems = case
    truth = {
        query: {document: min(max(label, labels[0]), labels[-1]) for document, label in own.items()}
        for query, own in truth.items()
    }
    expected = fn.reference.judge_next(truth, systems, metric, labels=labels)
    found = fn.judge_next(truth, systems, metric, 100, labels=labels)
    assert {(row.query, row.document) for row in found} == set(expected)
    for row in found:
        assert row.value == pytest.approx(expected[row.query, row.document], abs=1e-12)
    assert [row.value for row in found] == sorted((row.value for row in found), reverse=True)
