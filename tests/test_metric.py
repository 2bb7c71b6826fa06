"""Metrics as values: their text, aliases, parameters and cutoffs, each from the other."""

import copy
import pickle
import typing

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastndcg as fn

RECORDS = list(fn.CATALOG.values())
NAMES = [(text, r.name) for r in RECORDS for text in (r.name, *r.aliases, r.trec_name) if text]
thresholds = st.one_of(st.integers(1, 2**60), st.floats(1e-300, 1e300))
gains = st.one_of(
    st.sampled_from(["linear", "exp2"]),
    st.lists(st.floats(0, allow_infinity=False), max_size=4).map(lambda rest: (0.0, *sorted(rest))),
)
discounts = st.one_of(
    st.sampled_from(["log2", "log2(max(r, 2))", "1/r"]),
    st.lists(st.floats(0, allow_infinity=False), min_size=1, max_size=4).map(lambda rest: tuple(sorted(rest)[::-1])),
)
values = {
    "threshold": thresholds,
    "positive": thresholds,
    "gain": gains,
    "goal": st.floats(0.25, 10_000),
    "discount": discounts,
    "fraction": st.floats(1e-300, 1),
    "grade": st.integers(1, 1023),
    "number": st.floats(-1e300, 1e300),
    "probability": st.floats(1e-300, 1 - 1e-15),
    "share": st.floats(0, 1),
    "count": st.integers(1, 2**50),
    "shares": st.lists(st.floats(0, 1), min_size=1, max_size=4).map(tuple),
}


@st.composite
def metrics(draw):
    """Any metric with any of its parameters and any cutoff."""
    record = draw(st.sampled_from(RECORDS))
    choices = {
        p.name: st.sampled_from(p.kind.split("|")) if "|" in p.kind else values[p.kind] for p in record.parameters
    }
    chosen = {name: draw(values_of) for name, values_of in choices.items() if draw(st.booleans())}
    cutoffs = st.one_of(st.none(), st.integers(1, 10**30)) if record.takes_k else st.none()
    return fn.Metric(record.name, draw(cutoffs), **chosen)


@given(metric=metrics())
def test_text_reads_back(metric):
    """Every metric's text reads back as itself, and so does its pickle and its copy."""
    assert fn.Metric.parse(str(metric)) == metric
    assert fn.Metric.parse(f"  {str(metric).replace('(', ' ( ').replace('@', ' @ ')} ") == metric
    assert pickle.loads(pickle.dumps(metric)) == copy.deepcopy(metric) == metric
    assert hash(fn.Metric.parse(str(metric))) == hash(metric)
    assert repr(metric) == str(metric)


@given(metric=metrics())
def test_name_of_trec_eval_reads_back(metric):
    """What trec_eval calls a metric names it again, where its parameters are the usual ones."""
    plain = fn.Metric(metric.name, metric.k)
    assert fn.Metric.parse(plain.trec_name) == plain


@pytest.mark.parametrize(("alias", "name"), NAMES)
def test_aliases(alias, name):
    """Canonical names, aliases and trec_eval's names read in any case, with a cutoff and without."""
    for text in (alias, alias.lower(), alias.upper()):
        assert fn.Metric.parse(text) == fn.Metric(name)
        if fn.CATALOG[name].takes_k:
            assert str(fn.Metric.parse(f"{text}@7")) == f"{name}@7"


def test_no_name_stands_for_two_metrics():
    """A name, an alias or a name of trec_eval's, in any case, belongs to one metric."""
    owners = {}
    for text, name in NAMES:
        assert owners.setdefault(text.lower(), name) == name


@pytest.mark.parametrize(
    ("text", "metric"),
    [
        ("ndcg_cut_10", "nDCG@10"),
        ("map", "AP"),
        ("map_cut_100", "AP@100"),
        ("recip_rank", "RR"),
        ("mrr@10", "RR@10"),
        ("P_5", "P@5"),
        ("p_5", "P@5"),
        ("precision@5", "P@5"),
        ("recall_100", "R@100"),
        ("success_10", "Success@10"),
        ("hit_rate@10", "Success@10"),
        ("set_F", "F"),
        ("set_P", "P"),
        ("ideal_dcg", "IDCG"),
        ("P_5(rel=2)", "P(rel=2)@5"),
        ("p( rel = 2 ) @ 5", "P(rel=2)@5"),
        ("P(rel=2.0)@5", "P(rel=2)@5"),
        ("P(rel=1)@5", "P@5"),
        ("ndcg(gain=[0, 1.0, 3.5])", "nDCG(gain=[0,1,3.5])"),
        ("ndcg(rel=2,gain=exp2)@3", "nDCG(gain=exp2,rel=2)@3"),
        ("f(beta=0.5)", "F(beta=0.5)"),
    ],
)
def test_texts(text, metric):
    """What each text means, in canonical form."""
    assert str(fn.Metric.parse(text)) == metric


def test_cutoffs_and_parameters_make_new_values():
    """`@` and a call leave the metric as it is; what is not given again is kept."""
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
    """`get` gives a value, the default, or None where there is no such parameter."""
    assert fn.P(rel=2).get("rel") == 2
    assert fn.P.get("rel") == 1
    assert fn.nDCG.get("rel") is None
    assert fn.num_ret.get("rel") is None
    assert fn.F(beta=np.float32(0.5)).get("beta") == 0.5
    assert fn.nDCG.record is fn.CATALOG["nDCG"]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_every_metric_is_a_value_of_the_package(record):
    """`fn.nDCG` and its likes; what is none is an AttributeError."""
    assert getattr(fn, record.name) == fn.Metric(record.name)
    with pytest.raises(AttributeError, match="no_such_metric"):
        _ = fn.no_such_metric


def test_lists_of_metrics():
    """One text, several in one, a list, an array, a generator, Metric values: in order, each once."""
    expected = (fn.nDCG @ 10, fn.AP, fn.P(rel=2) @ 5)
    for given_metrics in (
        "ndcg@10,map,P(rel=2)@5",
        " ndcg@10 , map,, P(rel=2)@5,",
        ["ndcg@10", "map", fn.P(rel=2) @ 5],
        ["ndcg@10,map", "P(rel=2)@5", "map", "ndcg_cut_10"],
        np.array(["ndcg@10", "map", "P(rel=2)@5"]),
        (one for one in expected),
        dict.fromkeys(expected).keys(),
    ):
        assert fn.evaluate([[1]], [[1]], given_metrics).metrics == expected
    assert fn.evaluate([[1]], [[1]], fn.AP).metrics == (fn.AP,)
    tables = fn.evaluate([[1]], [[1]], "ndcg(gain=[0,1]),dcg(gain=[0,2],rel=1)@3").metrics
    assert tables == (fn.nDCG(gain=(0, 1)), fn.DCG(gain=(0, 2), rel=1) @ 3)


def test_hints_resolve():
    """Type hints of the public functions can be read at run time."""
    for function in (fn.evaluate, fn.Evaluator.__init__, fn.ndcg, fn.reference.evaluate, fn.read_run):
        assert typing.get_type_hints(function)


def test_text_of_another_type():
    """What is no text gets the error of one."""
    with pytest.raises(fn.InvalidTypeError, match="a metric's text must be a text, not int: 5"):
        fn.Metric.parse(5)
