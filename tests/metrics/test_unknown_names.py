"""Metrics, parameters, conventions and threads that do not exist or cannot be: what the error says."""

import re

import numpy as np
import pytest

import fastndcg as fn

LABELS, SCORES, OFFSETS = [1, 0, 2], [0.3, 0.2, 0.1], [0, 3]
ALL_RANKS = "Leave it out to count all ranks"
TABLE = "must be 'linear', 'exp2', 'binary' or a table, not "
TABLE_RULE = ". A table has the finite gains of labels 0, 1, 2, …, the first of them 0 and none below 0"


DISCOUNTS = (
    "`discount` of a convention must be one of 'log2', 'log2(max(r, 2))', '1/r', 'none' or a table of finite numbers "
    "of 0 or more that never rises,"
)


def refused(error, message, call):
    with pytest.raises(error, match=f"^{re.escape(message)}$"):
        call()


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
    refused(fn.InvalidInputError, message, lambda: fn.evaluate(LABELS, SCORES, metrics, offsets=OFFSETS))


@pytest.mark.parametrize("metrics", ["ndgc", "ndcg(foo=1)"])
def test_unknown_metrics_have_their_own_error(metrics):
    with pytest.raises(fn.UnknownMetricError):
        fn.evaluate(LABELS, SCORES, metrics, offsets=OFFSETS)


@pytest.mark.parametrize("k", [True, 2.0, "2", [2], 1 + 0j, float("nan"), np.True_, np.array([2])])
def test_cutoff_that_is_no_whole_number(k):
    for call in (lambda: fn.Metric("ndcg", k), lambda: fn.nDCG @ k, lambda: fn.recall(LABELS, SCORES, OFFSETS, k=k)):
        with pytest.raises(fn.InvalidInputError, match=r"`k` of (nDCG|R) must be (a whole number|1 or more), not "):
            call()


@pytest.mark.parametrize("value", ["2", True, 1 + 0j, np.True_, np.complex128(1), np.array([1]), [1], 0, -1, 10**400])
def test_threshold_that_is_no_positive_number(value):
    with pytest.raises(fn.InvalidInputError, match=r"`rel` of P must be (a number|above 0 and finite), not "):
        fn.P(rel=value)


@pytest.mark.parametrize(
    "gain", [5, "exp", True, {0: 0, 1: 1}, {0, 1}, b"\0\1", [0, None], [0, True], [[0], [1]], [0, 10**400], np.array(0)]
)
def test_gain_that_is_no_table(gain):
    """A dict, a set or bytes would be read by their keys, in any order, or as numbers: they are refused."""
    with pytest.raises(fn.InvalidInputError, match="^`gain` of nDCG " + re.escape(TABLE)):
        fn.nDCG(gain=gain)
    rule = "`gain` of a convention must be one of 'linear', 'exp2', 'binary' or a"
    with pytest.raises(fn.InvalidInputError, match=rule):
        fn.conventions["default"].replace(gain=gain)


@pytest.mark.parametrize(
    ("convention", "message"),
    [
        (None, "`convention` must be a name or a Convention, not NoneType: None"),
        (5, "`convention` must be a name or a Convention, not int: 5"),
        (["default"], "`convention` must be a name or a Convention, not list: ['default']"),
        ("defualt", "no convention is called 'defualt'. Did you mean 'default'?"),
        ("default@10", "`convention` must have no cutoff, not 'default@10'. Write cutoffs behind metrics: 'nDCG@10'"),
        ("default(tie=input)", "a convention has no field 'tie'. Did you mean 'ties'?"),
        (
            "default(ties=random)",
            "`ties` of a convention must be one of 'average', 'input', 'id_descending', 'id_ascending', 'best', "
            "'worst', 'input_reversed', 'mean_rank', not 'random'",
        ),
        ("default(undefined=2)", "`undefined` of a convention must be one of 'nan', 0, 1, 'raise', not 2"),
        ("default(discount=[])", DISCOUNTS + " not ()"),
        ("default(discount=[0.5,1])", DISCOUNTS + " not (0.5, 1.0)"),
        ("default(discount=[1,-1])", DISCOUNTS + " not (1.0, -1.0)"),
        (
            "trec_eval",
            "`tie_keys` must be given for ties='id_descending'. Give documents with ids, or "
            "Rankings(..., tie_keys=...), or take convention.replace(ties='average').",
        ),
    ],
)
def test_bad_conventions_raise(convention, message):
    call = fn.evaluate
    refused(fn.InvalidInputError, message, lambda: call(LABELS, SCORES, "ndcg", offsets=OFFSETS, convention=convention))


def test_unknown_conventions_have_their_own_error():
    for name in ("nope", 5):
        with pytest.raises(fn.UnknownConventionError, match=r"no convention is called .* There are default, trec_eval"):
            fn.conventions[name]
    assert issubclass(fn.UnknownConventionError, LookupError)
    with pytest.raises(fn.InvalidTypeError, match="`name` of a convention must be a text, not int"):
        fn.Convention(5)
    with pytest.raises(fn.InvalidInputError, match=r"'a\(b' does not read as Name"):
        fn.Convention("a(b")


@pytest.mark.parametrize(("threads", "message"), [
    (0, "`threads` must be 1 or more, not 0. Leave it out to use all CPUs"),
    (-1, "`threads` must be 1 or more, not -1. Leave it out to use all CPUs"),
    (True, "`threads` must be 1 or more, not True. Leave it out to use all CPUs"),
    (2**32, "`threads` must be at most 4096, not 4294967296. Leave it out to use all CPUs"),
    (1.0, "`threads` must be a whole number, not 1.0"), ("2", "`threads` must be a whole number, not '2'"),
])  # fmt: skip
def test_bad_number_of_threads_raises(threads, message):
    refused(fn.InvalidInputError, message, lambda: fn.evaluate([[1]], [[1]], "ndcg", threads=threads))


@pytest.mark.parametrize("label", [1024, 2000, 1023.5])
def test_labels_too_large_for_exp2(label):
    message = (
        f"`labels` must be at most 1023 for gain exp2, beyond float64, but labels[1] (query 0) is {float(label)}. "
        "Take gain linear"
    )
    labels = [1.0, label]
    refused(fn.InvalidInputError, message, lambda: fn.ndcg(labels, [1, 2], [0, 2], gain="exp2"))
    refused(fn.InvalidInputError, message, lambda: fn.ndcg(labels, [1, 2], [0, 2], convention="default(gain=exp2)"))
    assert np.isfinite(fn.average_precision(labels, [1, 2], [0, 2], convention="default(gain=exp2)")).all()


def test_gains_that_add_up_beyond_float64():
    for metric, labels in ((fn.nDCG(gain="exp2"), [1023, 1023, 1023]), (fn.DCG(gain=(0, 1e308)), [1, 1, 1])):
        with pytest.raises(fn.InvalidInputError, match="must add up within float64"):
            fn.evaluate(labels, SCORES, metric, offsets=[0, 3])


def test_gains_that_fit_query_by_query():
    assert fn.ndcg([1023, 1023, 1023], SCORES, [0, 1, 2, 3], gain="exp2").tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("labels", "message"), [
    ([1, 3], "have a gain in the table of labels 0 to 2, but labels[1] (query 0) is 3. Make the table longer"),
    ([0.5, 1], "be whole for a table of gains, but labels[0] (query 0) is 0.5. Round the labels, or take gain linear"),
])  # fmt: skip
def test_labels_that_a_table_of_gains_lacks(labels, message):
    refused(fn.InvalidInputError, f"`labels` must {message}", lambda: fn.ndcg(labels, [1, 2], [0, 2], gain=[0, 1, 5]))


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
    refused(
        fn.UndefinedMetricError,
        message,
        lambda: fn.evaluate(rankings, metrics="rr,map", convention="default(undefined=raise)"),
    )
    refused(
        fn.UndefinedMetricError,
        message.replace("AP", "P"),
        lambda: fn.evaluate(rankings, metrics="p", convention="default(undefined=raise,no_relevant=skipped)"),
    )


def test_long_texts_are_read_in_linear_time():
    for text in ("a" + " " * 50_000 + "(", "ndcg(gain=" + "[" * 5_000 + "])", "p(rel=" + "1" * 5_000 + ")"):
        with pytest.raises(fn.InvalidInputError):
            fn.Metric.parse(text)


def test_discounts_that_lift_gains_beyond_float64():
    convention = fn.conventions["default"].replace(discount=(1e308, 1e308))
    with pytest.raises(fn.InvalidInputError, match="must add up within float64"):
        fn.dcg([2.0**52, 1.0], [2, 1], [0, 2], convention=convention)
    assert fn.ndcg([0.5, 0.25], [2, 1], [0, 2], convention=convention).tolist() == [1.0]


def test_metrics_left_out_are_the_usual_five():
    names = ["nDCG@10", "AP", "RR", "P@5", "R@10"]
    assert list(map(str, fn.evaluate({"q": {"a": 1}}, {"q": ["a"]}).metrics)) == names
    assert list(map(str, fn.Evaluator({"q": {"a": 1}}).metrics)) == names
    with pytest.raises(
        fn.InvalidInputError, match=r"`predictions` must be a run, but 'rr' is no file, and is a metric"
    ):
        fn.evaluate({"q": {"a": 1}}, "rr")
