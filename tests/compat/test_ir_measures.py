"""The provider for ir_measures: registration, and values equal to those of the default providers."""

import math
import sys

import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from trec_dicts import dicts

import fastndcg as fn
from fastndcg.compat import ir_measures as ours

theirs = pytest.importorskip("ir_measures", reason="ir_measures is absent: pip install ir_measures")

nDCG, AP, P, R, RR = theirs.nDCG, theirs.AP, theirs.P, theirs.R, theirs.RR
MEASURES = [
    nDCG, nDCG @ 3, nDCG(judged_only=True) @ 2, nDCG(gains={0: 0, 1: 3, 2: 1}) @ 4, AP, AP @ 2, AP(rel=2), P @ 1,
    P(rel=2) @ 5, P(judged_only=True) @ 2, R @ 3, R(rel=2) @ 2, RR, RR(rel=2), theirs.Rprec,
    theirs.Rprec(judged_only=True), theirs.Success @ 2, theirs.Success(rel=3) @ 4, theirs.SetP, theirs.SetP(rel=2),
    theirs.SetR, theirs.SetF, theirs.NumRet, theirs.NumRel, theirs.NumRelRet, theirs.NumRet(rel=2),
]  # fmt: skip


@pytest.fixture
def registered():
    yield ours.register()
    ours.unregister()


@given(data=dicts())
@strategies.examples(100)
def test_ir_measures_provider_equals_library(data):
    qrels, run = data
    if not qrels or not run:
        return
    evaluator, expected = ours.Provider().evaluator(MEASURES, qrels), theirs.pytrec_eval.evaluator(MEASURES, qrels)
    values = {(one.query_id, one.measure): one.value for one in evaluator.iter_calc(run)}
    assert values == pytest.approx(
        {(one.query_id, one.measure): one.value for one in expected.iter_calc(run)}, rel=1e-12
    )
    aggregates = evaluator.calc_aggregate(run)
    assert list(aggregates) == MEASURES
    assert aggregates == pytest.approx(expected.calc_aggregate(run), rel=1e-12)


QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}, "q3": {"b": 1}}
RUN = {"q1": {"a": 0.5, "b": 0.5, "x": 0.7}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}


def test_ir_measures_functions_use_registered_provider(registered, monkeypatch):
    assert theirs.providers.registry["fastndcg"] is registered is ours.register()
    assert theirs.DefaultPipeline.providers.count(registered) == 1
    monkeypatch.setattr(theirs.pytrec_eval, "evaluator", None)  # a call would fail
    measures = [theirs.nDCG @ 10, theirs.AP, theirs.RR @ 5]
    rows = [theirs.ScoredDoc(query, document, score) for query, row in RUN.items() for document, score in row.items()]
    judgments = [theirs.Qrel(query, document, label) for query, row in QRELS.items() for document, label in row.items()]
    expected = theirs.calc_aggregate(measures, QRELS, RUN)
    q1 = (1 / math.log2(4)) / (2 / math.log2(2) + 1 / math.log2(3))  # x, b, a: among equal scores the later id is first
    assert expected[theirs.nDCG @ 10] == pytest.approx((q1 + 1 + 0) / 3, rel=1e-12)
    assert expected[theirs.RR @ 5] == pytest.approx((1 / 3 + 1 + 0) / 3, rel=1e-12)
    assert theirs.calc_aggregate(measures, iter(judgments), iter(rows)) == expected
    pandas = pytest.importorskip("pandas")
    assert theirs.calc_aggregate(measures, pandas.DataFrame(judgments), pandas.DataFrame(rows)) == expected
    calculated = theirs.calc(measures, QRELS, RUN)
    assert calculated.aggregated == expected
    assert len(calculated.per_query) == 9
    both = theirs.calc_aggregate([theirs.AP, theirs.Judged @ 3], QRELS, {"q1": RUN["q1"]})
    assert both[theirs.AP] == pytest.approx(((1 / 3) / 2) / 3)


@given(data=dicts(), order=st.sampled_from(["given", "mixed", "twice", "alike"]))
@strategies.examples(100)
def test_lists_of_tuples(data, order):
    qrels, run = data
    rows = [theirs.ScoredDoc(query, document, score) for query, row in run.items() for document, score in row.items()]
    if not qrels or not rows:
        return
    if order == "mixed":
        rows = rows[::2] + rows[1::2]
    if order == "twice":
        rows += [rows[0]._replace(score=rows[-1].score - 1)]
    if order == "alike":
        rows = [theirs.ScoredDoc("".join([*query]), "".join([*document]), score) for query, document, score in rows]
    expected = theirs.pytrec_eval.evaluator(MEASURES, qrels).calc_aggregate(iter(rows))
    assert ours.Provider().evaluator(MEASURES, qrels).calc_aggregate(rows) == pytest.approx(expected, rel=1e-12)


def test_ir_measures_provider_can_be_unregistered():
    before = list(theirs.DefaultPipeline.providers)
    provider = ours.register()
    ours.unregister()
    ours.unregister()
    assert theirs.DefaultPipeline.providers == before
    assert provider.NAME not in theirs.providers.registry


def test_ir_measures_provider_has_more_precision_than_default():
    evaluator = ours.Provider().evaluator(
        [theirs.nDCG(dcg="exp-log2") @ 2, theirs.RR @ 2, theirs.NumRel(rel=2), theirs.SetF(beta=2.0)],
        {"q": QRELS["q1"]},
    )
    values = {str(measure): value for measure, value in evaluator.calc_aggregate({"q": {"a": 1.0, "b": 1.0}}).items()}
    assert values["nDCG(dcg='exp-log2')@2"] == pytest.approx((1 / math.log2(3)) / (3 + 1 / math.log2(3)), rel=1e-12)
    assert (values["RR@2"], values["NumRel(rel=2)"]) == (1 / 2, 1)
    assert values["SetF(beta=2.0)"] == pytest.approx((1 + 4) * (1 / 2) * (1 / 2) / (4 * (1 / 2) + 1 / 2), rel=1e-12)


@pytest.mark.parametrize(
    "measure",
    [
        theirs.NERR8(max_rel=1) @ 10, theirs.Accuracy @ 5, theirs.BPM(min_rel=1, max_rel=1) @ 5, theirs.RBP(p=1.0),
        theirs.Compat(p=1.0), theirs.INST(T=0.0, max_rel=1),
    ],
    ids=str,
)  # fmt: skip
def test_ir_measures_provider_leaves_other_measures_to_others(measure):
    assert not ours.Provider().supports(measure)
    with pytest.raises(fn.InvalidInputError):
        ours.Provider().evaluator([measure], QRELS)


@pytest.mark.parametrize("rows", [5, "x", [1, 2]])
def test_ir_measures_provider_raises_like_library(rows):
    for place in (theirs.pytrec_eval, ours.Provider()):
        with pytest.raises((ValueError, TypeError)):
            place.calc_aggregate([theirs.AP], rows, RUN)
        with pytest.raises((ValueError, TypeError)):
            place.calc_aggregate([theirs.AP], QRELS, rows)


def test_ir_measures_missing_package_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(
        fn.MissingPackageError, match=r"this drop-in needs ir_measures\. Install it: pip install ir_measures$"
    ):
        ours.register()


@given(data=dicts(), shuffled=st.randoms())
@strategies.examples(100)
def test_ir_measures_provider_accepts_every_form(data, shuffled):
    pandas = pytest.importorskip("pandas")
    qrels, run = ({query: row for query, row in given.items() if row} for given in data)
    judgments, rows = (
        [kind(query, document, number) for query, row in given.items() for document, number in row.items()]
        for kind, given in ((theirs.Qrel, qrels), (theirs.ScoredDoc, run))
    )
    if not judgments or not rows:
        return
    shuffled.shuffle(judgments)
    expected = ours.Provider().calc(MEASURES, qrels, run)
    expected_values = {(one.query_id, one.measure): one.value for one in expected.per_query}
    qrels_frame, run_frame = pandas.DataFrame(judgments), pandas.DataFrame(rows)
    run_frame["score"] = run_frame["score"].astype("f8")
    for given_qrels, given_run in ((judgments, rows), (iter(judgments), iter(rows)), (qrels_frame, run_frame)):
        found = ours.Provider().calc(MEASURES, given_qrels, given_run)
        assert found.aggregated == pytest.approx(expected.aggregated, rel=1e-12)
        assert {(one.query_id, one.measure): one.value for one in found.per_query} == expected_values
        by_query = [one.query_id for one in found.per_query if one.measure == AP]
        assert by_query[: len(set(run) & set(by_query))] == [query for query in run if query in qrels]


@pytest.mark.parametrize("repeated", [False, True])
def test_frames_that_tables_refuse(repeated):
    """The last of repeated documents counts in a frame. A run without judged queries has the value 0."""
    pandas = pytest.importorskip("pandas")
    rows = [("q1", "a", 3.0), ("q1", "b", 2.0), ("q1", "a", 1.0)] if repeated else [("q7", "a", 1.0)]
    run = pandas.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    for place in (theirs.pytrec_eval, ours.Provider()):
        assert place.calc_aggregate([AP], QRELS, run)[AP] == pytest.approx((1 / 2) / 2 / 3 if repeated else 0)
