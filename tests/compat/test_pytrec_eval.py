"""The drop-in for pytrec_eval: cases of pytrec_eval's tests, recorded outputs of trec_eval, and random runs."""

import importlib.util
import math
import sys
import types
from types import ModuleType

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from recorded_data import TREC_EVAL, trec_output
from refusals import refused
from trec_dicts import dicts

import fastndcg as fn
from fastndcg.compat import pytrec_eval as ours

TRUTH1, RUN1 = {"q1": {"a": 1, "b": 0}}, {"q1": {"a": 1.0, "b": 0.5}}
# wrong calls, and the built-in exceptions that the original's is one of
ERRORS = {
    "judgments of None": (lambda m: evaluator(m, None), "AttributeError"),
    "label 1.5": (lambda m: evaluator(m, {"q1": {"a": 1.5}}), "TypeError"),
    "run of None": (lambda m: evaluator(m, TRUTH1).evaluate({"q1": None}), "TypeError"),
    "query of a number": (lambda m: evaluator(m, {1: {"a": 1}}), "TypeError"),
    "document of a number": (lambda m: evaluator(m, TRUTH1).evaluate({"q1": {1: 0.5}}), "TypeError"),
    "score of a text": (lambda m: evaluator(m, TRUTH1).evaluate({"q1": {"a": "x"}}), "TypeError"),
    "label of NumPy": (lambda m: evaluator(m, {"q1": {"a": np.int64(1)}}), "TypeError"),
    "level of 0": (lambda m: m.RelevanceEvaluator(TRUTH1, {"map"}, relevance_level=0), "TypeError"),
    "flag of a text": (lambda m: m.RelevanceEvaluator(TRUTH1, {"map"}, judged_docs_only_flag="x"), "TypeError"),
    "unknown measure": (lambda m: m.RelevanceEvaluator(TRUTH1, {"foo"}), "ValueError"),
    "level of 1.0": (lambda m: m.RelevanceEvaluator(TRUTH1, {"map"}, relevance_level=1.0), "TypeError"),
    "line of 3": (lambda m: m.parse_qrel(["q1 0 a"]), "ValueError"),
    "line of a number": (lambda m: m.parse_run([1]), "AttributeError"),
}  # fmt: skip
TAKEN = [  # calls that the original takes
    *(
        lambda m, row=row: evaluator(m, TRUTH1).evaluate({"q1": row})
        for row in ({"a": np.float64(1), "b": 2}, {"a": True, "b": 0.5}, {"a": -math.inf, "b": 1 << 60})
    ),
    lambda m: evaluator(m, types.MappingProxyType(TRUTH1)).evaluate(RUN1),
    lambda m: m.RelevanceEvaluator(TRUTH1, {"map", "P_5"}, relevance_level=np.int64(1)).evaluate(RUN1),
    lambda m: m.RelevanceEvaluator(TRUTH1, {"map"}, judged_docs_only_flag=np.int64(1)).evaluate(RUN1),
    lambda m: m.RelevanceEvaluator(TRUTH1, {"map.5", "recip_rank_3"}).evaluate(RUN1),
]  # fmt: skip


def evaluator(module, qrels):
    return module.RelevanceEvaluator(qrels, {"map"})


COPIES = {  # objects to copy and to pickle, and what tells whether two are alike
    "compat.pytrec_eval.RelevanceEvaluator": (
        lambda: ours.RelevanceEvaluator(TRUTH1, {"map", "ndcg", "bpref"}),
        lambda one: one.evaluate(RUN1),
    )
}


theirs = pytest.importorskip("pytrec_eval")

QRELS = {"q1": {"d1": 0, "d2": 1, "d3": 0}, "q2": {"d2": 1, "d3": 1}}
RUN = {"q1": {"d1": 1.0, "d2": 0.0, "d3": 1.5}, "q2": {}}
MEASURES = [
    "map", "map_cut", "map_cut_3", "ndcg", "ndcg_cut", "ndcg_cut.1,2,7", "P", "P_1", "recall", "recall_2", "recip_rank",
    "Rprec", "success", "success_2", "all_trec", "iprec_at_recall_0.25", "Rprec_mult.0.5",
]  # fmt: skip


# the library's bpref reads beyond the end of an array if all labels of a query are below level - 1
WITHOUT_BPREF = [name for name in MEASURES if name != "all_trec"]
WITHOUT_BPREF += sorted(ours.supported_measures - {"bpref", "gm_bpref"} - set(MEASURES))


def test_pytrec_eval_empty_inputs():
    for qrels in (QRELS, {}):
        for measures in ({"map", "ndcg"}, set(), {}):
            for run in (RUN, {}):
                expected = theirs.RelevanceEvaluator(qrels, measures).evaluate(run)
                assert ours.RelevanceEvaluator(qrels, measures).evaluate(run) == expected


def test_pytrec_eval_has_the_same_measures():
    assert ours.supported_measures == theirs.supported_measures
    assert ours.supported_nicknames.items() <= theirs.supported_nicknames.items()
    assert ours.supported_nicknames.keys() == {"official", "set", "all_trec"}
    with_cutoffs = ["ndcg_cut", "ndcg_cut.1,4", "ndcg_cut_20,4", "ndcg_cut_15", "recall.1000", "P"]
    for names in (["official"], ["set"], with_cutoffs):
        found, expected = (module.RelevanceEvaluator(QRELS, names).evaluate(RUN) for module in (ours, theirs))
        assert found.keys() == expected.keys()
        assert found["q1"] == pytest.approx(without_nan(expected["q1"]))


@given(data=dicts(), level=st.integers(1, 3), judged_only=st.booleans())
@strategies.examples(300)
def test_pytrec_eval_dropin_equals_library(data, level, judged_only):
    qrels, run = data
    options = {"relevance_level": level, "judged_docs_only_flag": judged_only}
    reads_beyond = any(max(row.values(), default=0) < level - 1 for row in qrels.values())
    measures = WITHOUT_BPREF if reads_beyond else MEASURES
    expected = theirs.RelevanceEvaluator(qrels, measures, **options).evaluate(run)
    evaluator = ours.RelevanceEvaluator(qrels, measures, **options)
    result = evaluator.evaluate(run)
    assert list(result) == list(expected)
    assert evaluator.evaluate(run) == result
    for query, row in expected.items():
        expected_row = without_nan(row)
        if not row["num_rel"]:  # a bug that is not copied: Rndcg needs relevant documents, unlike other gains
            expected_row["Rndcg"] = result[query]["Rndcg"]
        assert result[query] == pytest.approx(expected_row, rel=1e-12, abs=1e-15)


def without_nan(row):
    """Return the library's values, with 0 for NaN in interpolated precision, which is a bug that is not copied."""
    interpolated = ("iprec_at_recall", "11pt_avg")
    return {name: 0 if value != value and name.startswith(interpolated) else value for name, value in row.items()}


@given(data=dicts())
@strategies.examples(60)
def test_pytrec_eval_dropin_equals_evaluate(data):
    qrels, run = data
    run = {query: row for query, row in run.items() if row and qrels.get(query)}
    if run:
        result = ours.RelevanceEvaluator(qrels, ["map", "ndcg_cut_2"]).evaluate(run)
        joined = fn.evaluate(qrels, run, "map,ndcg@2", convention="trec_eval_9")
        for query, row in zip(joined.query_ids, joined.values, strict=True):
            assert list(result[query].values()) == row.tolist()


@pytest.mark.parametrize(("beta", "name"), [(2, "set_F_2"), (0.25, "set_F.0.25")])
def test_set_f_takes_beta_squared(beta, name):
    run = {"q1": {"d2": 2.0, "d1": 1.0, "d3": 0.5}}
    value = ours.RelevanceEvaluator(QRELS, [name]).evaluate(run)["q1"]["set_F"]
    assert value == pytest.approx((1 + beta) * (1 / 3) * 1 / (beta * (1 / 3) + 1), rel=1e-15)
    assert value == pytest.approx(theirs.RelevanceEvaluator(QRELS, [name]).evaluate(run)["q1"]["set_F"])


@pytest.mark.parametrize(
    ("qrels_name", "output", "level"), [("qrels.test", "out.test", 1), ("qrels.rel_level", "out.test.aql", 2)]
)
def test_trec_eval_own_test(qrels_name, output, level):
    with (TREC_EVAL / qrels_name).open(encoding="utf-8") as lines:
        qrels = ours.parse_qrel(lines)
    with (TREC_EVAL / "results.test").open(encoding="utf-8") as lines:
        run = ours.parse_run(lines)
    printed = trec_output(TREC_EVAL / "v9.0.8" / output)["all"]
    names = [name for name in printed if fits(name) and name != "runid"]
    assert len(names) > 10
    evaluator = ours.RelevanceEvaluator(qrels, names, relevance_level=level)
    result, means = evaluator.evaluate(run), evaluator.aggregate(run)
    for name in names:
        value = ours.compute_aggregated_measure(name, [row[name] for row in result.values()])
        assert value == pytest.approx(float(printed[name]), abs=5e-5)
        assert means[name] == value


def fits(name):
    try:
        ours.RelevanceEvaluator({}, [name])
    except ValueError:
        return False
    return True


def test_pytrec_eval_aggregates():
    for measure, values in (("num_ret", [1, 2]), ("gm_map", [-1.0, -2.0]), ("map", [0.2, 0.4])):
        assert ours.compute_aggregated_measure(measure, values) == theirs.compute_aggregated_measure(measure, values)


def test_pytrec_eval_parsing():
    run, qrels = ["q Q0 d 1 0.5 x", "q Q0 e 2 -1e3 x\n"], ["q 0 d 1", "r 0 d -1"]
    assert ours.parse_run(run) == theirs.parse_run(run) == {"q": {"d": 0.5, "e": -1000.0}}
    assert ours.parse_qrel(qrels) == theirs.parse_qrel(qrels) == {"q": {"d": 1}, "r": {"d": -1}}
    for place in (ours, theirs):
        with pytest.raises(AssertionError):
            place.parse_run([run[0], run[0]])
        with pytest.raises(AssertionError):
            place.parse_qrel([qrels[0], qrels[0]])
        refused(r"unpack|line 1: must have", place.parse_run, ["q Q0 d 1 0.5"], error=ValueError)
        refused(r"invalid literal|whole numbers", place.parse_qrel, ["q 0 d 1.5"], error=ValueError)
    refused("document d of query q is in lines 1 and 2", ours.parse_run, [run[0], run[0]])


def test_pytrec_eval_dropin_survives_input_that_breaks_library():
    evaluate = ours.RelevanceEvaluator(QRELS, {"map"}).evaluate
    refused("`k` of P must be 1 or more", ours.RelevanceEvaluator, QRELS, {"P_0"})
    message = "`run` must give numbers that fit int64 or float64"
    refused(message, evaluate, {"q1": {"d1": 10**400}}, error=fn.InvalidTypeError)
    message = r"`scores` must not be NaN, but scores\[d2\] \(query q1\) is nan"
    refused(message, evaluate, {"q1": {"d1": 1.0, "d2": math.nan}})


def test_judgments_are_copied():
    qrels = {"q1": {"d1": 1}}
    evaluator = ours.RelevanceEvaluator(qrels, {"ndcg"})
    qrels["q1"]["d2"] = 1
    assert evaluator.evaluate({"q1": {"d1": 0.5, "d2": 0.6}})["q1"]["ndcg"] == 1 / math.log2(3)


MODULE = sys.modules["pytrec_eval"]


@pytest.fixture(autouse=True)
def restored():
    yield
    sys.modules["pytrec_eval"] = MODULE


def make_user(monkeypatch, source):
    user = ModuleType("user_of_pytrec_eval")
    monkeypatch.setitem(sys.modules, user.__name__, user)
    exec(source, vars(user))
    return user


def test_install_reaches_modules_that_import_later(monkeypatch):
    ours.install()
    user = make_user(monkeypatch, "import pytrec_eval")
    assert user.pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert user.pytrec_eval.__version__ == ours.__version__
    assert importlib.util.find_spec("pytrec_eval") is not None
    ours.uninstall()
    assert make_user(monkeypatch, "import pytrec_eval").pytrec_eval is not ours


def test_install_needs_no_pytrec_eval(monkeypatch):
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.setattr(sys, "meta_path", [])
    monkeypatch.delitem(sys.modules, "pytrec_eval")
    with ours.install():
        import pytrec_eval

        assert pytrec_eval.RelevanceEvaluator is ours.RelevanceEvaluator
    assert "pytrec_eval" not in sys.modules


def test_blocks_of_install_restore_what_was_there():
    with ours.install():
        with ours.install():
            pass
        assert sys.modules["pytrec_eval"] is ours
    assert sys.modules["pytrec_eval"] is MODULE
    with pytest.raises(ZeroDivisionError), ours.install():
        1 / 0  # noqa: B018
    assert sys.modules["pytrec_eval"] is MODULE
