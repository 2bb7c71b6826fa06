"""Comparison with pyndeval (ndeval) and cwl_eval: recorded values, drawn inputs, and known differences."""

import math

import golden_records
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from known_differences import OF_NDEVAL
from strategies import examples

import fastndcg as fn

MEASURES = ("alpha-nDCG", "alpha-DCG", "ERR-IA", "nERR-IA", "P-IA", "strec")
EVERY = [
    *((name, k) for name in MEASURES for k in (1, 2, 3, 10, 20)),
    *((name, None) for name in ("NRBP", "nNRBP", "MAP-IA")),
]
MANY = 1e-12


def text_of(name, k):
    return name if k is None else f"{name}@{k}"


def test_pyndeval_recorded_values():
    (record,) = [one for one in golden_records.every_record() if one["peer"] == "pyndeval"]
    qrels = fn.DiversityQrels(*map(list, zip(*record["labels"], strict=True)))
    run = fn.Run(*map(list, zip(*record["scores"], strict=True)))
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        for measure, value in record["per_query"].items():
            assert evaluate(qrels, run, measure, convention="ndeval").values == pytest.approx(value, rel=MANY)


@st.composite
def judged_runs(draw):
    """Draw judgments by subtopic and a run with or without ties. Labels may be negative or above 1."""
    ids = st.sampled_from([f"d{number}" for number in range(9)])
    row = st.tuples(st.sampled_from(["1", "2", "3"]), st.sampled_from(["s", "t", "u", "v"]), ids, st.integers(-1, 2))
    rows = draw(st.lists(row, min_size=1, max_size=30, unique_by=lambda one: one[:3]))
    score = st.sampled_from([0.5, 1.0, 2.0]) if draw(st.booleans()) else st.floats(-9, 9)
    run = draw(st.dictionaries(st.sampled_from(["1", "2", "3"]), st.dictionaries(ids, score, min_size=1), min_size=1))
    return rows, run


def theirs(rows, run, measures, **options):
    flat = [(query, document, float(score)) for query, row in run.items() for document, score in row.items()]
    return pytest.importorskip("pyndeval").ndeval(rows, flat, measures, **options)


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.5), (0.3, 0.8), (0, 0.9), (1, 0.1)])
@strategies.examples(80)
@given(data=judged_runs())
def test_drawn_values(alpha, beta, data):
    rows, run = data
    if not {query for query, *_ in rows} & run.keys():
        return
    qrels = fn.DiversityQrels(*map(list, zip(*rows, strict=True)))
    measures = [text_of(*one) for one in EVERY]
    values = theirs(rows, run, measures, alpha=alpha, beta=beta)
    for name, k in EVERY:
        metric = fn.Metric.parse(text_of(name, k))
        known = {parameter.name for parameter in metric.record.parameters}
        metric = metric(**{key: value for key, value in (("alpha", alpha), ("beta", beta)) if key in known})
        ours = fn.evaluate(qrels, run, metric, convention="ndeval").to_dict()
        assert ours.keys() == values.keys()
        for query, value in values.items():
            is_relevant = any(one[0] == query and one[3] > 0 for one in rows)
            record = {
                "peer": "pyndeval", "name": "drawn" if is_relevant else "nothing relevant", "metric": name, "k": k,
                "call": "",
            }  # fmt: skip
            found = value[text_of(name, k)]
            if not any(entry.matches(record) for entry in OF_NDEVAL):
                assert ours[query][str(metric)] == pytest.approx(found, rel=MANY), (query, metric)


def test_pyndeval_known_differences_still_differ():
    rows = [("1", "s", "a", 1), ("1", "t", "b", 1), ("1", "u", "b", 1), ("2", "s", "a", 0)]
    run = {"1": {"a": 1.0}, "2": {"a": 1.0}}
    values = theirs(rows, run, ["ERR-IA@1", "alpha-DCG@1", "nNRBP", "ERR-IA@2"])
    ours = fn.evaluate(
        fn.DiversityQrels(*zip(*rows, strict=True)), run, "ERR-IA@1, alpha-DCG@1, nNRBP", convention="ndeval"
    )
    assert (values["1"]["ERR-IA@1"], values["1"]["alpha-DCG@1"]) == (1, 1)
    assert ours.values[0, :2].tolist() == [1 / 3, 1 / 3]
    assert values["1"]["ERR-IA@2"] == pytest.approx((1 + 0) / (3 * (1 + 1 / 4)))
    assert math.isnan(values["2"]["nNRBP"])
    assert ours.values[1, 2] == 0
    assert sorted(metric for entry in OF_NDEVAL for metric in entry.metrics) == ["ERR-IA", "alpha-DCG", "nNRBP"]


def test_cutoffs_beyond_20():
    with pytest.raises(AssertionError, match="only supports cutoffs up to 20"):
        theirs([("1", "s", "a", 1)], {"1": {"a": 1.0}}, ["ERR-IA@21"])
    run = {"q": {f"d{rank:02}": float(-rank) for rank in range(1, 31)}}
    assert fn.evaluate({"q": {"d30": {"s": 1}}}, run, "nERR_IA@29, nERR_IA@30").values.tolist() == [[0, 1 / 30]]


class TestIrMeasures:
    @pytest.fixture
    def library(self):
        pytest.importorskip("pyndeval")
        return pytest.importorskip("ir_measures")

    @strategies.examples(60)
    @given(data=judged_runs())
    def test_is_the_library(self, data):
        library = pytest.importorskip("ir_measures")
        from fastndcg.compat.ir_measures import Provider

        pytest.importorskip("pyndeval")
        rows, run = data
        relevant = {query for query, _, _, label in rows if label > 0}
        rows = [
            library.Qrel(query, document, label, topic) for query, topic, document, label in rows if query in relevant
        ]
        if not rows or not relevant & run.keys():
            return
        measures = [
            library.alpha_nDCG @ 5, library.alpha_nDCG(alpha=0.3) @ 3, library.alpha_DCG @ 4, library.ERR_IA @ 10,
            library.nERR_IA @ 1, library.NRBP, library.nNRBP(alpha=0.3, beta=0.8), library.AP_IA,
            library.P_IA(rel=2) @ 3, library.StRecall @ 2, library.StRecall(rel=2) @ 5,
        ]  # fmt: skip
        pyndeval = library.providers.registry["pyndeval"]
        assert pyndeval.is_available()
        ours = Provider().calc_aggregate(measures, iter(rows), run)
        for measure in measures:  # one by one: theirs loses the run after the first set of parameters
            expected = pyndeval.calc_aggregate([measure], rows, run)[measure]
            assert ours[measure] == pytest.approx(expected, rel=MANY, nan_ok=True), measure

    def test_beside_other_measures(self, library):
        from fastndcg.compat.ir_measures import Provider

        rows = [library.Qrel("q", "a", 1, "s"), library.Qrel("q", "a", 0, "t"), library.Qrel("q", "b", 1, "t")]
        found = Provider().calc_aggregate([library.StRecall @ 1, library.P @ 1], rows, {"q": {"a": 1.0}})
        assert found == {library.StRecall @ 1: 0.5, library.P @ 1: 0.0}


GAINS = st.lists(st.sampled_from([0.0, 0.0, 0.25, 0.5, 1.0]), min_size=1, max_size=30)


def theirs_cwl(kind, gains, goal, k):
    pytest.importorskip("cwl")
    from cwl.ruler.measures.cwl_bpm import BPMCWLMetric
    from cwl.ruler.measures.cwl_inst import INSTCWLMetric
    from cwl.ruler.ranking import Ranking

    ranking = Ranking("q", gains, [1.0] * len(gains), max_n=1000 if kind == "BPM" else k)
    return (BPMCWLMetric(goal, k) if kind == "BPM" else INSTCWLMetric(goal)).measure(ranking)


@pytest.mark.parametrize("kind", ["INST", "BPM"])
@examples(60)
@given(gains=GAINS, goal=st.sampled_from([0.5, 1, 2, 3.5]), k=st.sampled_from([1, 2, 10, 50, 900]))
def test_cwl_eval(kind, gains, goal, k):
    metric = fn.Metric(kind, k, goal=goal, gain="linear")
    ours = fn.evaluate(gains, range(0, -len(gains), -1), metric, groups=[len(gains)])
    assert ours[metric][0] == pytest.approx(theirs_cwl(kind, gains, goal, k), rel=1e-12)


@examples(20)
@given(gains=GAINS)
def test_live_cwl_values_of_long_rankings(gains):
    """INST without k is at most 3 % lower than cwl_eval's value, which ends at rank 1000."""
    ours = fn.evaluate(gains, range(0, -len(gains), -1), "INST(gain=linear)", groups=[len(gains)]).values[0, 0]
    ended = theirs_cwl("INST", gains, 1, 1000)
    assert ended * 0.97 <= ours <= ended
