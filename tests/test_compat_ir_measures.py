"""The provider for ir_measures: used once registered, with the numbers of the default providers."""

import math
import sys

import cases
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_compat_pytrec_eval import dicts

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
    """Registered for one test: elsewhere ir_measures is asked what it says by itself."""
    yield ours.register()
    ours.unregister()


@given(data=dicts())
@cases.examples(100)
def test_is_the_library(data):
    """Every query's value and every aggregate of every measure that both have."""
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


def test_a_query_without_documents():
    """It counts as one that the run lacks, but for its relevant documents."""
    values = ours.Provider().calc_aggregate([AP, nDCG, theirs.NumRel, theirs.NumRet], {"q": {"a": 1}}, {"q": {}})
    assert list(values.values()) == [0, 0, 1, 0]


QRELS = {"q1": {"a": 1, "b": 0, "c": 2}, "q2": {"a": 1}, "q3": {"b": 1}}
RUN = {"q1": {"a": 0.5, "b": 0.5, "x": 0.7}, "q2": {"a": 1.0}, "q9": {"a": 1.0}}


def test_registered(registered, monkeypatch):
    """The functions of ir_measures use us, whatever form the input has; other measures go elsewhere."""
    assert theirs.providers.registry["fastndcg"] is registered is ours.register()
    assert theirs.DefaultPipeline.providers.count(registered) == 1
    monkeypatch.setattr(theirs.pytrec_eval, "evaluator", None)  # to call it would fail
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
@cases.examples(100)
def test_lists_of_tuples(data, order):
    """Whatever their order, a document twice in a query too, and texts that are equal but not the same object."""
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


def test_unregistered():
    """Afterwards all is as before, and to leave twice does no harm."""
    before = list(theirs.DefaultPipeline.providers)
    provider = ours.register()
    ours.unregister()
    ours.unregister()
    assert theirs.DefaultPipeline.providers == before
    assert provider.NAME not in theirs.providers.registry


def test_what_theirs_lacks():
    """Every digit of nDCG with gains 2^label − 1, one tie rule, relevance levels of NumRel, and F-beta as defined."""
    evaluator = ours.Provider().evaluator(
        [theirs.nDCG(dcg="exp-log2") @ 2, theirs.RR @ 2, theirs.NumRel(rel=2), theirs.SetF(beta=2.0)],
        {"q": QRELS["q1"]},
    )
    values = {str(measure): value for measure, value in evaluator.calc_aggregate({"q": {"a": 1.0, "b": 1.0}}).items()}
    assert values["nDCG(dcg='exp-log2')@2"] == pytest.approx((1 / math.log2(3)) / (3 + 1 / math.log2(3)), rel=1e-12)
    assert (values["RR@2"], values["NumRel(rel=2)"]) == (1 / 2, 1)
    assert values["SetF(beta=2.0)"] == pytest.approx((1 + 4) * (1 / 2) * (1 / 2) / (4 * (1 / 2) + 1 / 2), rel=1e-12)


@pytest.mark.parametrize("measure", [theirs.infAP, theirs.Bpref, theirs.SetRelP, theirs.IPrec @ 0.1, theirs.ERR @ 10])
def test_leaves_other_measures_to_others(measure):
    """What the catalogue lacks is not supported, and asked for directly it is refused by name."""
    assert not ours.Provider().supports(measure)
    with pytest.raises(fn.UnknownMetricError, match="unsupported measure"):
        ours.Provider().evaluator([measure], QRELS)


@pytest.mark.parametrize("rows", [5, "x", [1, 2]])
def test_misuse(rows):
    """Inputs of other kinds are refused as there."""
    for place in (theirs.pytrec_eval, ours.Provider()):
        with pytest.raises((ValueError, TypeError)):
            place.calc_aggregate([theirs.AP], rows, RUN)
        with pytest.raises((ValueError, TypeError)):
            place.calc_aggregate([theirs.AP], QRELS, rows)


def test_without_the_library(monkeypatch):
    """Without ir_measures an error says how to get it."""
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(
        fn.MissingPackageError, match=r"this drop-in needs ir_measures: pip install 'fastndcg\[ir_measures\]'"
    ):
        ours.register()


@given(data=dicts(), shuffled=st.randoms())
@cases.examples(100)
def test_every_form_of_input(data, shuffled):
    """Named tuples, from a list or once, and frames, in any order of rows, give what dicts give, query by query."""
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
    """Of a document that stands twice the last counts; queries that have nothing in common are worth 0, as there."""
    pandas = pytest.importorskip("pandas")
    rows = [("q1", "a", 3.0), ("q1", "b", 2.0), ("q1", "a", 1.0)] if repeated else [("q7", "a", 1.0)]
    run = pandas.DataFrame(rows, columns=["query_id", "doc_id", "score"])
    for place in (theirs.pytrec_eval, ours.Provider()):
        assert place.calc_aggregate([AP], QRELS, run)[AP] == pytest.approx((1 / 2) / 2 / 3 if repeated else 0)
