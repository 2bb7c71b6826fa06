"""Metrics as values: their text, aliases, parameters and cutoffs, each from the other, and names that do not exist."""

import copy
import pickle
import re
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refused_in_full

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


@pytest.mark.parametrize(("text", "metric"), [
    *((f"{name}@10", "Success@10") for name in ("HR", "HitRate", "hit_rate", "hitrate", "hr", "hit", "success")),
    ("ndcg_cut_10", "nDCG@10"), ("map", "AP"), ("map_cut_100", "AP@100"), ("recip_rank", "RR"), ("mrr@10", "RR@10"),
    ("P_5", "P@5"), ("p_5", "P@5"), ("precision@5", "P@5"), ("recall_100", "R@100"), ("success_10", "Success@10"),
    ("hit_rate@10", "Success@10"), ("set_F", "F"), ("set_P", "P"), ("ideal_dcg", "IDCG"), ("P_5(rel=2)", "P(rel=2)@5"),
    ("p( rel = 2 ) @ 5", "P(rel=2)@5"), ("P(rel=2.0)@5", "P(rel=2)@5"), ("P(rel=1)@5", "P@5"),
    ("ndcg(gain=[0, 1.0, 3.5])", "nDCG(gain=[0,1,3.5])"), ("ndcg(rel=2,gain=exp2)@3", "nDCG(gain=exp2,rel=2)@3"),
    ("f(beta=0.5)", "F(beta=0.5)"),
])  # fmt: skip
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
        refused(f"'{name.lower()}' has two meanings", fn.Metric.parse, name, error=fn.UnknownMetricError)
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


@pytest.mark.parametrize(("text", "expected"), [
    ("ndcg@1,5,10", "nDCG@1,nDCG@5,nDCG@10"), ("ndcg@1,5,10,map", "nDCG@1,nDCG@5,nDCG@10,AP"),
    ("P(rel=2)@5,10", "P(rel=2)@5,P(rel=2)@10"), ("gm(AP@5),10", "gm(AP@5),gm(AP@10)"), ("ndcg_cut.10", "nDCG@10"),
    ("ndcg_cut_10", "nDCG@10"), ("P.5,10", "P@5,P@10"), ("P_5,10", "P@5,P@10"), ("map, p.5,10, rr", "AP,P@5,P@10,RR"),
    ("utility.1,-1,0.5,0,rr", "Utility(c=0.5),RR"),
    ("iprec_at_recall.0.1,0.25", "IPrec(recall=0.1),IPrec(recall=0.25)"), ("ndcg.1=3,2=9", "nDCG(gain=[0,3,9])"),
    ("ndcg(k=10)", "nDCG@10"), ("nDCG(k=10, rel=2)", "nDCG(rel=2)@10"),
])  # fmt: skip
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
        refused("must name one metric, but names several", fn.Metric.parse, text)
    for text in ("nDCG(k=5)@10", "P_5@10"):
        refused("must have one cutoff, such as 'nDCG@10', but has 2", fn.Metric.parse, text)


@pytest.mark.parametrize(
    ("text", "hint"), [("ndcg10", "nDCG@10"), ("ndcg_10", "nDCG@10"), ("mrr10", "RR@10"), ("precision5", "P@5")]
)
def test_cutoffs_without_at_get_a_hint(text, hint):
    refused(f"Did you mean '{hint}'", fn.Metric.parse, text, error=fn.UnknownMetricError)
    with pytest.raises(fn.UnknownMetricError, match=r"no metric is called '5'\. Write cutoffs behind @"):
        fn.evaluate([[1]], [[1]], "map,5")
    refused("a metric's text must be a string, not int: 5", fn.Metric.parse, 5, error=fn.InvalidTypeError)


@pytest.mark.parametrize("text", [
    "x" * 100_000, "P(" + "x" * 100_000, "P(" + "x" * 100_000 + ")", "x" * 50_000 + "@5", "a" + " " * 50_000 + "(",
    "ndcg(gain=" + "[" * 5_000 + "])", "p(rel=" + "1" * 5_000 + ")",
])  # fmt: skip
def test_long_texts_are_read_in_linear_time_and_have_short_messages(text):
    with pytest.raises(fn.InvalidInputError) as error:
        fn.Metric.parse(text)
    assert len(str(error.value)) <= 700


LABELS, SCORES, OFFSETS = [1, 0, 2], [0.3, 0.2, 0.1], [0, 3]
ALL_RANKS = "Leave it out to count all ranks"
TABLE = "must be 'linear', 'exp2', 'binary' or a table, not "
TABLE_RULE = ". A table has the finite gains of labels 0, 1, 2, …, the first of them 0 and none below 0"


DISCOUNTS = (
    "`discount` of a convention must be one of 'log2', 'log2(max(r, 2))', '1/r', 'none' or a table of finite numbers "
    "of 0 or more that never rises,"
)


@pytest.mark.parametrize(("metrics", "message"), [
    ("", "`metrics` is empty. Name at least one, such as 'ndcg@10'"),
    (" , ", "`metrics` is empty. Name at least one, such as 'ndcg@10'"),
    ([], "`metrics` is empty. Name at least one, such as 'ndcg@10'"),
    ({"ndcg": 10}, "`metrics` must be texts or Metric values, not a dict"),
    (5, "`metrics` must be texts or Metric values, not int"),
    (b"ndcg", "`metrics` must be texts or Metric values, not int: 110"),
    (["ndcg", None], "`metrics` must be texts or Metric values, not NoneType: None"),
    (np.array("ndcg"), "`metrics` must be texts or Metric values, not ndarray"),
    ("ndgc@10", "no metric is called 'ndgc'. Did you mean 'ndcg'? `fn.list_metrics()` lists all"),
    ("xyzzy", "no metric is called 'xyzzy'. `fn.list_metrics()` lists all"),
    ("P_5_5", "no metric is called 'P_5_5'. `fn.list_metrics()` lists all"),
    ("ndcg(gian=exp2)", "nDCG has no parameter 'gian'. Did you mean 'gain'?"),
    ("ndcg(x=1)", "nDCG has no parameter 'x'. It has gain, discount, rel."),
    ("num_ret(rel=2)", "num_ret has no parameter 'rel'. It has none."),
    ("ndcg(", "'ndcg(' does not read as Name, Name@k or Name(parameter=value)@k"),
    ("ndcg@", "'ndcg@' does not read as Name, Name@k or Name(parameter=value)@k"),
    ("@10", "'@10' does not read as Name, Name@k or Name(parameter=value)@k"),
    ("p(rel)@5", "'p(rel)@5': 'rel' does not read as parameter=value"),
    ("p(rel=1,rel=2)", "'p(rel=1,rel=2)': parameter 'rel' is given twice"),
    ("ndcg@0", f"`k` of nDCG must be 1 or more, not 0. {ALL_RANKS}"),
    ("ndcg@-3", f"`k` of nDCG must be 1 or more, not -3. {ALL_RANKS}"),
    ("ndcg@1.5", f"`k` of nDCG must be a whole number, not 1.5. {ALL_RANKS}"),
    ("ndcg@ten", f"`k` of nDCG must be a whole number, not 'ten'. {ALL_RANKS}"),
    ("ndcg@1_0", f"`k` of nDCG must be a whole number, not '1_0'. {ALL_RANKS}"),
    ("ndcg@10@20", f"`k` of nDCG must be a whole number, not '10@20'. {ALL_RANKS}"),
    ("p(rel=0)", "`rel` of P must be above 0 and finite, not 0"),
    ("p(rel=nan)", "`rel` of P must be above 0 and finite, not nan"),
    ("p(rel=two)", "`rel` of P must be a number, not 'two'"),
    ("f(beta=-1)", "`beta` of F must be above 0 and finite, not -1"),
    ("f(beta=inf)", "`beta` of F must be above 0 and finite, not inf"),
    ("p(rel=1" + "0" * 400 + ")", "`rel` of P must be above 0 and finite, not a whole number of 1329 bits"),
    ("ndcg(gain=square)", f"`gain` of nDCG {TABLE}'square'{TABLE_RULE}"),
    ("ndcg(gain=[])", f"`gain` of nDCG {TABLE}(){TABLE_RULE}"),
    ("ndcg(gain=[1,2])", f"`gain` of nDCG {TABLE}(1.0, 2.0){TABLE_RULE}"),
    ("ndcg(gain=[0,-1])", f"`gain` of nDCG {TABLE}(0.0, -1.0){TABLE_RULE}"),
    ("ndcg(gain=[0,nan])", f"`gain` of nDCG {TABLE}(0.0, nan){TABLE_RULE}"),
    ("ndcg(gain=[0,x])", "'[0,x]': 'x' is not a number"), ("ndcg(gain=[0,[1]])", "'[0,[1]]': '[1]' is not a number"),
])  # fmt: skip
def test_bad_metric_names_raise(metrics, message):
    is_unknown = message.startswith("no metric is") or " has no parameter " in message
    error = fn.UnknownMetricError if is_unknown else fn.InvalidInputError
    refused_in_full(message, fn.evaluate, LABELS, SCORES, metrics, offsets=OFFSETS, error=error)


@pytest.mark.parametrize("k", [True, 2.0, "2", [2], 1 + 0j, float("nan"), np.True_, np.array([2])])
def test_cutoff_that_is_no_whole_number(k):
    for call in (lambda: fn.Metric("ndcg", k), lambda: fn.nDCG @ k, lambda: fn.recall(LABELS, SCORES, OFFSETS, k=k)):
        refused(r"`k` of (nDCG|R) must be (a whole number|1 or more), not ", call)


@pytest.mark.parametrize("value", ["2", True, 1 + 0j, np.True_, np.complex128(1), np.array([1]), [1], 0, -1, 10**400])
def test_threshold_that_is_no_positive_number(value):
    refused(r"`rel` of P must be (a number|above 0 and finite), not ", fn.P, rel=value)


@pytest.mark.parametrize(
    "gain", [5, "exp", True, {0: 0, 1: 1}, {0, 1}, b"\0\1", [0, None], [0, True], [[0], [1]], [0, 10**400], np.array(0)]
)
def test_gain_that_is_no_table(gain):
    """A dict, a set or bytes would be read by their keys, in any order, or as numbers: they are refused."""
    refused("^`gain` of nDCG " + re.escape(TABLE), fn.nDCG, gain=gain)
    rule = "`gain` of a convention must be one of 'linear', 'exp2', 'binary' or a"
    refused(rule, fn.conventions["default"].replace, gain=gain)


@pytest.mark.parametrize(("convention", "message"), [
    (None, "`convention` must be a name or a Convention, not NoneType: None"),
    (5, "`convention` must be a name or a Convention, not int: 5"),
    (["default"], "`convention` must be a name or a Convention, not list: ['default']"),
    ("defualt", "no convention is called 'defualt'. Did you mean 'default'?"),
    ("default@10", "`convention` must have no cutoff, not 'default@10'. Write cutoffs behind metrics: 'nDCG@10'"),
    ("default(tie=input)", "a convention has no field 'tie'. Did you mean 'ties'?"),
    ("default(ties=random)", "`ties` of a convention must be one of 'average', 'input', 'id_descending', "
        "'id_ascending', 'best', 'worst', 'input_reversed', 'mean_rank', not 'random'"),
    ("default(undefined=2)", "`undefined` of a convention must be one of 'nan', 0, 1, 'raise', not 2"),
    ("default(discount=[])", DISCOUNTS + " not ()"),
    ("default(discount=[0.5,1])", DISCOUNTS + " not (0.5, 1.0)"),
    ("default(discount=[1,-1])", DISCOUNTS + " not (1.0, -1.0)"),
    ("trec_eval", "`tie_keys` must be given for ties='id_descending'. Give documents with ids, or "
        "Rankings(..., tie_keys=...), or take convention.replace(ties='average')."),
])  # fmt: skip
def test_bad_conventions_raise(convention, message):
    refused_in_full(message, fn.evaluate, LABELS, SCORES, "ndcg", offsets=OFFSETS, convention=convention)


def test_unknown_conventions_have_their_own_error():
    for name in ("nope", 5):
        with pytest.raises(fn.UnknownConventionError, match=r"no convention is called .* There are default, trec_eval"):
            fn.conventions[name]
    assert issubclass(fn.UnknownConventionError, LookupError)
    refused("`name` of a convention must be a text, not int", fn.Convention, 5, error=fn.InvalidTypeError)
    refused(r"'a\(b' does not read as Name", fn.Convention, "a(b")


@pytest.mark.parametrize(("threads", "message"), [
    (0, "`threads` must be 1 or more, not 0. Leave it out to use all CPUs"),
    (-1, "`threads` must be 1 or more, not -1. Leave it out to use all CPUs"),
    (True, "`threads` must be 1 or more, not True. Leave it out to use all CPUs"),
    (2**32, "`threads` must be at most 4096, not 4294967296. Leave it out to use all CPUs"),
    (1.0, "`threads` must be a whole number, not 1.0"), ("2", "`threads` must be a whole number, not '2'"),
])  # fmt: skip
def test_bad_number_of_threads_raises(threads, message):
    refused_in_full(message, fn.evaluate, [[1]], [[1]], "ndcg", threads=threads)


@pytest.mark.parametrize("label", [1024, 2000, 1023.5])
def test_labels_too_large_for_exp2(label):
    message = (
        f"`labels` must be at most 1023 for gain exp2, beyond float64, but labels[1] (query 0) is {float(label)}. "
        "Take gain linear"
    )
    labels = [1.0, label]
    refused_in_full(message, fn.ndcg, labels, [1, 2], [0, 2], gain="exp2")
    refused_in_full(message, fn.ndcg, labels, [1, 2], [0, 2], convention="default(gain=exp2)")
    assert np.isfinite(fn.average_precision(labels, [1, 2], [0, 2], convention="default(gain=exp2)")).all()


def test_gains_that_add_up_beyond_float64():
    for metric, labels in ((fn.nDCG(gain="exp2"), [1023, 1023, 1023]), (fn.DCG(gain=(0, 1e308)), [1, 1, 1])):
        refused("must add up within float64", fn.evaluate, labels, SCORES, metric, offsets=[0, 3])
    assert fn.ndcg([1023, 1023, 1023], SCORES, [0, 1, 2, 3], gain="exp2").tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("labels", "message"), [
    ([1, 3], "have a gain in the table of labels 0 to 2, but labels[1] (query 0) is 3. Make the table longer"),
    ([0.5, 1], "be whole for a table of gains, but labels[0] (query 0) is 0.5. Round the labels, or take gain linear"),
])  # fmt: skip
def test_labels_that_a_table_of_gains_lacks(labels, message):
    refused_in_full(f"`labels` must {message}", fn.ndcg, labels, [1, 2], [0, 2], gain=[0, 1, 5])


@pytest.mark.parametrize("label", [2**53 + 1, -(2**63)])
def test_labels_that_float64_lacks(label):
    """A whole number that rounds to another, and the lowest of int64, whose absolute value is no int64."""
    with pytest.raises(fn.InvalidInputError, match=r"`labels` must .*, but labels\[1\] \(query 0\) is "):
        fn.evaluate(np.array([1, label]), [1, 2], "ndcg", offsets=[0, 2], convention="default(negative_labels=zero)")


def test_undefined_where_the_convention_refuses_it():
    message = (
        "AP must have a value for every query, but query b has none (nothing is relevant). Drop the query, "
        "or take convention.replace(undefined='nan')."
    )
    rankings = fn.Rankings([1, 0], [1, 2], [0, 1, 2], query_ids=["a", "b"])
    for metrics, name, choices in (
        ("rr,map", "AP", "undefined=raise"),
        ("p", "P", "undefined=raise,no_relevant=skipped"),
    ):
        given_ = {"metrics": metrics, "convention": f"default({choices})", "error": fn.UndefinedMetricError}
        refused_in_full(message.replace("AP", name), fn.evaluate, rankings, **given_)


def test_discounts_that_lift_gains_beyond_float64():
    convention = fn.conventions["default"].replace(discount=(1e308, 1e308))
    refused("must add up within float64", fn.dcg, [2.0**52, 1.0], [2, 1], [0, 2], convention=convention)
    assert fn.ndcg([0.5, 0.25], [2, 1], [0, 2], convention=convention).tolist() == [1.0]


def test_metrics_left_out_are_the_usual_five():
    names = ["nDCG@10", "AP", "RR", "P@5", "R@10"]
    assert list(map(str, fn.evaluate({"q": {"a": 1}}, {"q": ["a"]}).metrics)) == names
    assert list(map(str, fn.Evaluator({"q": {"a": 1}}).metrics)) == names
    refused(r"`predictions` must be a run, but 'rr' is no file, and is a metric", fn.evaluate, {"q": {"a": 1}}, "rr")
