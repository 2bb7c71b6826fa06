"""Metrics as values: their text, aliases, parameters and cutoffs, each from the other."""

import copy
import pickle
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.cli.trec_eval import MetricRequest, TrecEvalOptions
from fastndcg.metrics.families import CATALOG, records_of

RECORDS = records_of("evaluate")
NAMES = [(text, r.name) for r in RECORDS for text in (r.name, *r.aliases, r.trec_name) if text]
gains = st.one_of(
    st.sampled_from(["linear", "exp2"]),
    st.lists(st.floats(0, allow_infinity=False), max_size=4).map(lambda rest: (0.0, *sorted(rest))),
)
discounts = st.one_of(
    st.sampled_from(["log2", "log2(max(r, 2))", "1/r", "none"]),
    st.lists(st.floats(0, allow_infinity=False), min_size=1, max_size=4).map(lambda rest: tuple(sorted(rest)[::-1])),
)


def evaluate_arrays(parameter):
    if parameter.type in ("gain", "discount"):
        return gains if parameter.type == "gain" else discounts
    if parameter.type == "choice":
        return st.sampled_from(parameter.choices)
    if parameter.type == "table":
        return st.lists(st.floats(parameter.min, parameter.max), min_size=1, max_size=4).map(tuple)
    lowest = parameter.above if parameter.min is None else parameter.min
    highest = parameter.below if parameter.max is None else parameter.max
    if parameter.type == "int":
        return st.integers(lowest, highest or 2**50)
    bounds = {"exclude_min": parameter.above is not None, "exclude_max": parameter.below is not None}
    return st.floats(lowest, highest, **bounds, allow_nan=False, allow_infinity=False)


@st.composite
def metrics(draw):
    record = draw(st.sampled_from(RECORDS))
    chosen = {p.name: draw(evaluate_arrays(p)) for p in record.parameters if draw(st.booleans())}
    cutoffs = st.one_of(st.none(), st.integers(1, 10**30)) if record.has_cutoff else st.none()
    return fn.Metric(record.name, draw(cutoffs), **chosen)


@given(metric=metrics())
def test_text_reads_back(metric):
    assert fn.Metric.parse(str(metric)) == metric
    assert fn.Metric.parse(f"  {str(metric).replace('(', ' ( ').replace('@', ' @ ')} ") == metric
    assert pickle.loads(pickle.dumps(metric)) == copy.deepcopy(metric) == metric
    assert hash(fn.Metric.parse(str(metric))) == hash(metric)
    assert repr(metric) == str(metric)


@given(metric=metrics())
def test_name_of_trec_eval_reads_back(metric):
    plain = fn.Metric(metric.name, metric.k)
    assert fn.Metric.parse(plain.trec_name) == plain


@pytest.mark.parametrize(("alias", "name"), NAMES)
def test_metric_aliases(alias, name):
    for text in (alias, alias.lower(), alias.upper()):
        assert fn.Metric.parse(text) == fn.Metric(name)
        if fn.CATALOG[name].has_cutoff:
            assert str(fn.Metric.parse(f"{text}@7")) == f"{name}@7"


def test_metric_names_are_unique():
    owners = {}
    for text, name in NAMES:
        assert owners.setdefault(text.lower(), name) == name


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        *((f"{name}@10", "Success@10") for name in ("HR", "HitRate", "hit_rate", "hitrate", "hr", "hit", "success")),
        ("ndcg_cut_10", "nDCG@10"), ("map", "AP"), ("map_cut_100", "AP@100"), ("recip_rank", "RR"),
        ("mrr@10", "RR@10"), ("P_5", "P@5"), ("p_5", "P@5"), ("precision@5", "P@5"), ("recall_100", "R@100"),
        ("success_10", "Success@10"), ("hit_rate@10", "Success@10"), ("set_F", "F"), ("set_P", "P"),
        ("ideal_dcg", "IDCG"), ("P_5(rel=2)", "P(rel=2)@5"), ("p( rel = 2 ) @ 5", "P(rel=2)@5"),
        ("P(rel=2.0)@5", "P(rel=2)@5"), ("P(rel=1)@5", "P@5"), ("ndcg(gain=[0, 1.0, 3.5])", "nDCG(gain=[0,1,3.5])"),
        ("ndcg(rel=2,gain=exp2)@3", "nDCG(gain=exp2,rel=2)@3"), ("f(beta=0.5)", "F(beta=0.5)"),
    ],
)  # fmt: skip
def test_metric_texts(text, metric):
    assert str(fn.Metric.parse(text)) == metric


def test_cutoffs_and_parameters_make_new_values():
    metric = fn.P(rel=2) @ 5
    assert metric == fn.Metric("P", 5, rel=2) == fn.Metric.parse("P(rel=2)@5")
    assert metric @ 7 == fn.Metric.parse("P(rel=2)@7")
    assert metric(rel=3) == fn.Metric.parse("P(rel=3)@5")
    assert metric(rel=1) == fn.P @ 5
    assert (metric @ None, metric.k) == (fn.P(rel=2), 5)
    assert fn.nDCG(gain=np.array([0, 1, 3])) == fn.nDCG(gain=[0, 1, 3]) == fn.Metric.parse("nDCG(gain=[0,1,3])")
    assert {fn.nDCG @ 10: 1}[fn.Metric.parse("ndcg_cut_10")] == 1
    with pytest.raises(AttributeError):
        metric.k = 6


def test_parameters_and_defaults():
    assert fn.P(rel=2).get("rel") == 2
    assert fn.P.get("rel") == 1
    assert fn.nDCG.get("rel") is None
    assert fn.num_ret.get("rel") is None
    assert fn.F(beta=np.float32(0.5)).get("beta") == 0.5
    assert fn.nDCG.record is fn.CATALOG["nDCG"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_metrics_are_attributes_of_package(record):
    assert getattr(fn, record.name) == fn.Metric(record.name)
    with pytest.raises(AttributeError, match="no_such_metric"):
        _ = fn.no_such_metric


def test_lists_of_metrics():
    expected = (fn.nDCG @ 10, fn.AP, fn.P(rel=2) @ 5)
    for given_metrics in (
        "ndcg@10,map,P(rel=2)@5", " ndcg@10 , map,, P(rel=2)@5,", ["ndcg@10", "map", fn.P(rel=2) @ 5],
        ["ndcg@10,map", "P(rel=2)@5", "map", "ndcg_cut_10"], np.array(["ndcg@10", "map", "P(rel=2)@5"]),
        (one for one in expected), dict.fromkeys(expected).keys(),
    ):  # fmt: skip
        assert fn.evaluate([[1]], [[1]], given_metrics).metrics == expected
    assert fn.evaluate([[1]], [[1]], fn.AP).metrics == (fn.AP,)
    tables = fn.evaluate([[1]], [[1]], "ndcg(gain=[0,1]),dcg(gain=[0,2],rel=1)@3").metrics
    assert tables == (fn.nDCG(gain=(0, 1)), fn.DCG(gain=(0, 2), rel=1) @ 3)


def test_hints_resolve():
    for function in (fn.evaluate, fn.Evaluator.__init__, fn.ndcg, fn.reference.evaluate, fn.Run):
        assert typing.get_type_hints(function)


ELSEWHERE = [(name, record.name) for record in CATALOG.values() for name in record.names_elsewhere]


@pytest.mark.parametrize(("name", "metric"), ELSEWHERE)
def test_names_elsewhere_are_read(name, metric):
    if name in ("Accuracy", "hits"):
        with pytest.raises(fn.UnknownMetricError, match=f"'{name.lower()}' has two meanings"):
            fn.Metric.parse(name)
        return
    for text in (name, name.lower(), name.upper()):
        assert fn.Metric.parse(text).name == metric


def test_names_elsewhere_leave_out_remarks():
    assert fn.CATALOG["LRAP"].names_elsewhere == (
        "label_ranking_average_precision_score", "multilabel_ranking_average_precision",
    )  # fmt: skip
    assert CATALOG["novelty"].names_elsewhere == ("MeanInvUserFreq",)
    assert fn.CATALOG["RelP"].names_elsewhere == ()


@pytest.mark.parametrize("text", ["accuracy", "accuracy@5", "Accuracy(rel=2)@5", "map,accuracy"])
def test_accuracy_has_two_meanings(text):
    with pytest.raises(fn.UnknownMetricError, match=r"ClassificationAccuracy.* Success, the hit rate"):
        fn.evaluate([[1]], [[1]], text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ndcg@1,5,10", "nDCG@1,nDCG@5,nDCG@10"), ("ndcg@1,5,10,map", "nDCG@1,nDCG@5,nDCG@10,AP"),
        ("P(rel=2)@5,10", "P(rel=2)@5,P(rel=2)@10"), ("gm(AP@5),10", "gm(AP@5),gm(AP@10)"),
        ("ndcg_cut.10", "nDCG@10"), ("ndcg_cut_10", "nDCG@10"), ("P.5,10", "P@5,P@10"), ("P_5,10", "P@5,P@10"),
        ("map, p.5,10, rr", "AP,P@5,P@10,RR"), ("utility.1,-1,0.5,0,rr", "Utility(c=0.5),RR"),
        ("iprec_at_recall.0.1,0.25", "IPrec(recall=0.1),IPrec(recall=0.25)"),
        ("ndcg.1=3,2=9", "nDCG(gain=[0,3,9])"), ("ndcg(k=10)", "nDCG@10"), ("nDCG(k=10, rel=2)", "nDCG(rel=2)@10"),
    ],
)  # fmt: skip
def test_several_cutoffs_in_one_text(text, expected):
    metrics = fn.evaluate([[1]], [[1]], text).metrics
    assert ",".join(map(str, metrics)) == expected
    assert fn.evaluate([[1]], [[1]], [text]).metrics == metrics
    asked = MetricRequest.parse([text], fn.conventions["trec_eval"]).lines(TrecEvalOptions())
    assert {line.metric for line in asked} == set(metrics)


def test_names_of_single_metrics_take_one_cutoff():
    result = fn.evaluate([[1]], [[1]], "ndcg@1,5")
    assert result["ndcg_cut.5"].tolist() == [1]
    for text in ("ndcg@1,5", "P.5,10"):
        with pytest.raises(fn.InvalidInputError, match="must name one metric, but names several"):
            fn.Metric.parse(text)
    for text in ("nDCG(k=5)@10", "P_5@10"):
        with pytest.raises(fn.InvalidInputError, match="must have one cutoff, such as 'nDCG@10', but has 2"):
            fn.Metric.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"), [("ndcg10", "nDCG@10"), ("ndcg_10", "nDCG@10"), ("mrr10", "RR@10"), ("precision5", "P@5")]
)
def test_cutoffs_without_at_get_a_hint(text, hint):
    with pytest.raises(fn.UnknownMetricError, match=f"Did you mean '{hint}'"):
        fn.Metric.parse(text)
    with pytest.raises(fn.UnknownMetricError, match=r"no metric is called '5'\. Write cutoffs behind @"):
        fn.evaluate([[1]], [[1]], "map,5")
    with pytest.raises(fn.InvalidTypeError, match="a metric's text must be a string, not int: 5"):
        fn.Metric.parse(5)


@pytest.mark.parametrize("text", ["x" * 100_000, "P(" + "x" * 100_000, "P(" + "x" * 100_000 + ")", "x" * 50_000 + "@5"])
def test_long_texts_have_short_messages(text):
    with pytest.raises(fn.InvalidInputError) as error:
        fn.Metric.parse(text)
    assert len(str(error.value)) <= 700
