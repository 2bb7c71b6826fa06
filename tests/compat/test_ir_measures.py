"""The provider for ir_measures: registration, and values equal to those of the default providers, or definitions."""

import logging
import math

import pytest
import strategies
from hypothesis import example, given
from hypothesis import strategies as st
from trec_dicts import dicts

import fastndcg as fn
from fastndcg.compat import ir_measures as ours

theirs = pytest.importorskip("ir_measures")

nDCG, AP, P, R, RR = theirs.nDCG, theirs.AP, theirs.P, theirs.R, theirs.RR
MEASURES = [
    nDCG, nDCG @ 3, nDCG(judged_only=True) @ 2, nDCG(gains={0: 0, 1: 3, 2: 1}) @ 4, AP, AP @ 2, AP(rel=2), P @ 1,
    P(rel=2) @ 5, P(judged_only=True) @ 2, R @ 3, R(rel=2) @ 2, RR, RR(rel=2), theirs.Rprec,
    theirs.Rprec(judged_only=True), theirs.Success @ 2, theirs.Success(rel=3) @ 4, theirs.SetP, theirs.SetP(rel=2),
    theirs.SetR, theirs.SetF, theirs.NumRet, theirs.NumRel, theirs.NumRelRet, theirs.NumRet(rel=2),
]  # fmt: skip


@pytest.fixture
def registered():
    before = list(theirs.DefaultPipeline.providers)
    yield ours.register()
    for _ in range(2):
        ours.unregister()
        assert theirs.DefaultPipeline.providers == before
        assert "fastndcg" not in theirs.providers.registry


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
    judgments, rows = as_tuples(QRELS, RUN)
    expected = theirs.calc_aggregate(measures, QRELS, RUN)
    q1 = (1 / math.log2(4)) / (2 / math.log2(2) + 1 / math.log2(3))  # x, b, a: among equal scores the later id is first
    assert expected[theirs.nDCG @ 10] == pytest.approx((q1 + 1 + 0) / 3, rel=1e-12)
    assert expected[theirs.RR @ 5] == pytest.approx((1 / 3 + 1 + 0) / 3, rel=1e-12)
    assert theirs.calc_aggregate(measures, iter(judgments), iter(rows)) == expected
    calculated = theirs.calc(measures, QRELS, RUN)
    assert calculated.aggregated == expected
    assert len(calculated.per_query) == 9
    both = theirs.calc_aggregate([theirs.AP, theirs.Judged @ 3], QRELS, {"q1": RUN["q1"]})
    assert both[theirs.AP] == pytest.approx(((1 / 3) / 2) / 3)


def test_ir_measures_provider_has_more_precision_than_default():
    evaluator = ours.Provider().evaluator(
        [theirs.nDCG(dcg="exp-log2") @ 2, theirs.RR @ 2, theirs.NumRel(rel=2), theirs.SetF(beta=2.0)],
        {"q": QRELS["q1"]},
    )
    values = {str(measure): value for measure, value in evaluator.calc_aggregate({"q": {"a": 1.0, "b": 1.0}}).items()}
    assert values["nDCG(dcg='exp-log2')@2"] == pytest.approx((1 / math.log2(3)) / (3 + 1 / math.log2(3)), rel=1e-12)
    assert (values["RR@2"], values["NumRel(rel=2)"]) == (1 / 2, 1)
    assert values["SetF(beta=2.0)"] == pytest.approx((1 + 4) * (1 / 2) * (1 / 2) / (4 * (1 / 2) + 1 / 2), rel=1e-12)


@pytest.mark.parametrize("measure", [
    theirs.NERR8(max_rel=1) @ 10, theirs.Accuracy @ 5, theirs.BPM(min_rel=1, max_rel=1) @ 5, theirs.RBP(p=1.0),
    theirs.Compat(p=1.0), theirs.INST(T=0.0, max_rel=1),
], ids=str)  # fmt: skip
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


@given(data=dicts(), order=st.sampled_from(["given", "mixed", "twice", "alike"]), random=st.randoms())
@strategies.examples(100)
def test_ir_measures_provider_takes_rows_in_every_form(data, order, random):
    """Lists, iterators and frames, in any order, have the library's values. Queries are in the order of the run."""
    pandas = pytest.importorskip("pandas")
    qrels, run = ({query: row for query, row in given.items() if row} for given in data)
    judgments, rows = as_tuples(qrels, run)
    if not judgments or not rows:
        return
    random.shuffle(judgments)
    if order == "mixed":
        rows = rows[::2] + rows[1::2]
    if order == "twice":
        rows += [rows[0]._replace(score=rows[-1].score - 1)]
    if order == "alike":
        rows = [theirs.ScoredDoc("".join([*query]), "".join([*document]), score) for query, document, score in rows]
    library = theirs.pytrec_eval.evaluator(MEASURES, qrels)
    expected = {(one.query_id, one.measure): one.value for one in library.iter_calc(iter(rows))}
    means = library.calc_aggregate(iter(rows))
    frames = pandas.DataFrame(judgments), pandas.DataFrame(rows).astype({"score": "f8"})
    for given_qrels, given_run in ((qrels, rows), (judgments, rows), (iter(judgments), iter(rows)), frames):
        found = ours.Provider().calc(MEASURES, given_qrels, given_run)
        assert found.aggregated == pytest.approx(means, rel=1e-12)
        values = {(one.query_id, one.measure): one.value for one in found.per_query}
        assert values == pytest.approx(expected, rel=1e-12)
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


Accuracy, BPM, Compat, IPrec, Judged = theirs.Accuracy, theirs.BPM, theirs.Compat, theirs.IPrec, theirs.Judged
RBP, SetAP, SetP = theirs.RBP, theirs.SetAP, theirs.SetP
FURTHER = [
    Judged, Judged @ 1, Judged @ 3, theirs.Bpref, theirs.Bpref(rel=2), IPrec @ 0.0, IPrec @ 0.1, IPrec @ 1.0,
    IPrec(rel=2) @ 0.25, SetP(rel=2), SetP(judged_only=True), theirs.SetRelP, theirs.SetR(rel=2), SetAP,
    SetAP(judged_only=True, rel=2), theirs.infAP, theirs.infAP(rel=2), theirs.NumQ,
]  # fmt: skip
CWL = [
    RBP(rel=1), RBP(rel=2, p=0.5), RBP(rel=1, p=0.9999),
    BPM(max_rel=3) @ 5, BPM(T=2.0, max_rel=3, min_rel=1) @ 10, BPM(max_rel=2) @ 2000,
    theirs.SDCG(max_rel=3) @ 5, theirs.SDCG(max_rel=2, min_rel=1) @ 1500, theirs.INST(max_rel=3),
    theirs.INST(T=2.0, max_rel=2, min_rel=1), theirs.INSQ(max_rel=3), theirs.INSQ(T=3.5, max_rel=1),
]  # fmt: skip
ROUNDS = [slice(first, None, 4) for first in range(4)]  # of which an example checks one
COMPAT = [Compat, Compat(p=0.8), Compat(p=0.8, normalize=False), Compat(p=0.99)]


@pytest.fixture(autouse=True)
def quiet(monkeypatch):
    """Silence ir_measures, which logs labels that its providers cut off, to standard error."""
    monkeypatch.setattr(logging.getLogger("ir_measures"), "handlers", [logging.NullHandler()])


def default_provider(measure):
    providers = (
        provider
        for provider in theirs.DefaultPipeline.providers
        if provider.NAME != ours.Provider.NAME and provider.is_available() and provider.supports(measure)
    )
    return next(providers, None)


def list_values(provider, measure, qrels, run):
    values = {one.query_id: one.value for one in provider.iter_calc([measure], qrels, run)}
    return values, provider.calc_aggregate([measure], qrels, run)[measure]


def check_values(measure, library, qrels, run, given=None, **tolerance):
    """Check that both give the same values, if ours gets the same judgments and run in another form."""
    found = list_values(ours.Provider(), measure, *(given or (qrels, run)))
    for own, expected in zip(found, list_values(library, measure, qrels, run), strict=True):
        assert own == pytest.approx(expected, **tolerance)


def as_tuples(qrels, run):
    judgments = [theirs.Qrel(query, document, label) for query, row in qrels.items() for document, label in row.items()]
    rows = [theirs.ScoredDoc(query, document, score) for query, row in run.items() for document, score in row.items()]
    return judgments, rows


@pytest.mark.parametrize("measures", [FURTHER, CWL], ids=["pytrec_eval", "cwl"])
@given(data=dicts(), form=st.sampled_from(["dicts", "tuples", "frames"]), some=st.sampled_from(ROUNDS))
@example(data=({"q1": {"a": -1, "b": 0}}, {"q1": {"c": 2.0, "a": 2.0, "b": 1.0}}), form="dicts", some=slice(None))
@strategies.examples(100)
def test_ir_measures_measures_equal_default_provider(measures, data, form, some):
    if measures is CWL:
        pytest.importorskip("cwl")
    qrels, run = data
    run = {query: {document: max(score, -1e300) for document, score in row.items()} for query, row in run.items()}
    judgments, rows = as_tuples(qrels, run)
    if not judgments or not rows:
        return
    given_run = {"dicts": run, "tuples": rows}.get(form)
    if given_run is None:
        given_run = pytest.importorskip("pandas").DataFrame(rows).astype({"score": "f8"})
    given = {query: row for query, row in qrels.items() if row}, given_run
    for measure in measures[some]:
        check_values(measure, default_provider(measure), judgments, rows, given, rel=1e-9, abs=1e-12)


@given(data=dicts())
@strategies.examples(50)
def test_ir_measures_compat_equals_library_without_ties(data):
    """Compat of different scores above 0 equals the library's, whatever the lengths of both rankings."""
    qrels = {query: row for query, row in data[0].items() if row}
    run = {query: {document: 9.0 - place for place, document in enumerate(row)} for query, row in data[1].items()}
    for measure in COMPAT if qrels and run else []:
        check_values(measure, theirs.compat, qrels, run, rel=1e-9, abs=1e-12)


DEFINED = [  # measure, judgments, documents in rank order, value
    *((Compat, {"a": 1, "b": 1}, order, 1.0) for order in ("ab", "ba")),
    # one relevant document at rank 2 of 2: the overlap is 0 at depth 1 and 1/2 at depth 2
    (Compat(p=0.8), {"b": 1}, "ab", (0.8 / 2) / (1 + 0.8 / 2)),
    (Compat(p=0.8, normalize=False), {"b": 1}, "ab", (0.8 / 2) / (1 + 0.8)),
    (theirs.ERR @ 2, {"a": 1, "b": 2}, "ab", 1 / 16 + (1 - 1 / 16) * (3 / 16) / 2),  # stops with (2^grade - 1) / 2^4
    # labels are the gains of RBP without `rel`, and a cutoff ends the sum
    (RBP(p=0.5), {"a": 1, "b": 3}, "ab", (1 + 3 / 2) / 2),
    (RBP(p=0.5) @ 1, {"a": 1, "b": 3}, "ab", 1 / 2),
    (RBP(p=0.5, rel=1) @ 2, {"a": 1, "b": 3}, "ab", (1 + 1 / 2) / 2),
]


@pytest.mark.parametrize(("measure", "row", "order", "expected"), DEFINED)
def test_ir_measures_measure_equals_definition(measure, row, order, expected):
    run = {"q": {document: -float(place) for place, document in enumerate(order)}}
    assert ours.Provider().calc_aggregate([measure], {"q": row}, run)[measure] == pytest.approx(expected, rel=1e-12)


@given(data=dicts())
@strategies.examples(50)
def test_ir_measures_accuracy_equals_library(data):
    qrels, run = data
    for measure in (Accuracy, Accuracy(rel=2)) if qrels and run else ():
        evaluated = {
            query: row
            for query, row in run.items()
            if {qrels.get(query, {}).get(document, 0) >= measure["rel"] for document in row} != {True}
        }
        check_values(measure, theirs.accuracy, qrels, evaluated, rel=1e-12, nan_ok=True)


def test_ir_measures_accuracy_leaves_out_queries_without_pairs():
    qrels, run = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1.0}, "r": {"a": 1.0, "b": 2.0}}
    with pytest.raises(ZeroDivisionError):
        theirs.accuracy.calc_aggregate([Accuracy], qrels, run)
    measures = [Accuracy, theirs.AP]
    found = ours.Provider().calc(measures, qrels, run)
    assert found.aggregated == {Accuracy: 0, theirs.AP: pytest.approx((1 + 1 / 2) / 2)}
    assert {one.query_id for one in found.per_query if one.measure == Accuracy} == {"r"}


@given(data=dicts())
@strategies.examples(8)
def test_ir_measures_err_and_ndcg_equal_gdeval_to_its_digits(data):
    """ERR@k and nDCG(dcg='exp-log2')@k equal gdeval's five digits."""
    measures = [theirs.ERR @ 3, theirs.nDCG(dcg="exp-log2") @ 3]
    if not theirs.gdeval.is_available():
        pytest.skip("perl is not installed, and gdeval is a Perl script")
    numbers = {"q1": "1", "q2": "2", "q3": "3"}
    qrels = {numbers[query]: {d: min(label, 4) for d, label in row.items()} for query, row in data[0].items() if row}
    run = {
        numbers[query]: {document: 9.0 - place // 2 for place, document in enumerate(row)}
        for query, row in data[1].items()
    }
    ids = {"é": "e", "𝒹": "f"}  # Perl compares bytes
    qrels, run = ({q: {ids.get(d, d): n for d, n in row.items()} for q, row in rows.items()} for rows in (qrels, run))
    if not qrels or not run:
        return
    judgments, rows = as_tuples(qrels, run)
    expected = theirs.gdeval.calc_aggregate(measures, judgments, rows)
    assert ours.Provider().calc_aggregate(measures, qrels, run) == pytest.approx(expected, abs=6e-6)


def test_ir_measures_iprec_takes_all_digits_of_recall():
    """One of eight relevant documents is 0.125 of them, where pytrec_eval takes recall 0.12."""
    qrels = {"q": {f"d{i}": 1 for i in range(1, 26)}}
    run = {"q": {"d1": 9.0, "d2": 8.0, "d3": 7.0, "x": 6.0, "d4": 5.0}}
    assert ours.Provider().calc_aggregate([IPrec @ 0.125], qrels, run)[IPrec @ 0.125] == pytest.approx(4 / 5)
    assert theirs.pytrec_eval.calc_aggregate([IPrec @ 0.125], qrels, run)[IPrec @ 0.125] == 1


def test_ir_measures_labels_outside_the_grades_are_reported(caplog):
    measure = BPM(max_rel=2) @ 1
    qrels, run = {"q": {"a": 5}}, {"q": {"a": 1.0}}
    with caplog.at_level("WARNING", "ir_measures"):
        assert ours.Provider().calc_aggregate([measure], qrels, run) == {measure: 1}
    assert [record.getMessage() for record in caplog.records] == [
        "labels must be from min_rel=0 to max_rel=2, but there is 5: labels below count as min_rel, labels above as "
        "max_rel"
    ]


@pytest.mark.parametrize("measure", [theirs.nDCG(gains={1: 2}) @ 3, BPM(max_rel=2) @ 3, Judged])
@pytest.mark.parametrize("label", ["x", None, [1]])
def test_ir_measures_labels_that_are_no_numbers(measure, label):
    with pytest.raises(fn.InvalidTypeError, match=r"`qrels` must give numbers|which gives no numbers"):
        ours.Provider().calc_aggregate([measure], {"q": {"d7": label}}, {"q": {"d7": 1.0}})


def test_ir_measures_without_judgments_or_run():
    """Without judgments means are NaN and sums are 0. Without a run each judged query has the default value."""
    measures = [theirs.P @ 5, theirs.NumQ, Judged @ 2, Compat, theirs.alpha_nDCG @ 5]
    provider = ours.Provider()
    judgments = [theirs.Qrel("q", "d", 1, "0")]
    for run in ([], [theirs.ScoredDoc("q", "d", 1.0)]):
        assert list(provider.iter_calc(measures, [], run)) == []
        aggregates = provider.calc_aggregate(measures, [], run)
        assert aggregates.pop(theirs.NumQ) == 0
        assert all(map(math.isnan, aggregates.values()))
    assert {one.value for one in provider.iter_calc(measures, judgments, [])} == {0}
    assert set(provider.calc_aggregate(measures, judgments, []).values()) == {0}
