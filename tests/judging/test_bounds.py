"""bounds and judge_next: every labelling by brute force, the definitions by hand, and what must not be accepted."""

import itertools
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses
from strategies import examples

import fastndcg as fn
from fastndcg.judging import metric_bounds

DRAWN = Path(__file__).parents[1] / "data" / "drawn_runs"
METRICS = ["ndcg", "ndcg@2", "dcg@3", "cg@2", "p", "p@3", "r@2", "rbp", "rr", "rr@2", "success@2", "ap", "ap@2"]
CONVENTIONS = [
    "default", "default(undefined=0)", "default(undefined=1,undefined_ap=0)", "default(missing_in_run=skip)",
    "default(ap_denominator=min(k, n_relevant),recall_denominator=min(k, n_relevant))",
    "default(ap_denominator=k,precision_denominator=min(k, n_retrieved))", "default(gain=exp2,ties=id_descending)",
    "default(ties=input)", "default(ties=input_reversed)", "default(discount=1/r,score_dtype=float32)",
]  # fmt: skip


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
@examples(40, plain=10)
@given(case=unjudged_cases(), convention=st.sampled_from(CONVENTIONS))
def test_bounds_are_those_of_every_labelling(metric, case, convention):
    if metric == "ap" and "ap_denominator=k" in convention:
        metric = "ap@3"
    check(*case, metric, (0, 1), convention)


@pytest.mark.parametrize(
    "metric", ["ndcg@3", "ndcg(gain=exp2)", "dcg@2", "p(rel=2)@3", "ap(rel=2)", "rbp(gain=linear)", "rr(rel=3)"]
)
@examples(20, plain=6)
@given(case=unjudged_cases(labels=(0, 1, 2), most=3))
def test_bounds_of_graded_labels_are_those_of_every_labelling(metric, case):
    check(*case, metric, (0, 1, 2), "default")


@pytest.mark.parametrize("metric", ["ndcg@3", "p@3", "r", "ap", "rr"])
@examples(20, plain=6)
@given(case=unjudged_cases(labels=(1, 2), most=3))
def test_labels_may_be_relevant_alone(metric, case):
    """Unjudged documents with no label of 0 are relevant, whatever their labels."""
    check(*case, metric, (1, 2), "default")


@pytest.mark.parametrize("metric", METRICS)
@examples(20, plain=6)
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


def test_ndcg_is_bounded_by_the_definition():
    """One hole at rank 1 of a, and one judged document with label 1 at rank 2: the hole has label 0 or 1."""
    qrels = {"q": {"d": 1}}
    runs = {"a": {"q": ["hole", "d"]}, "b": {"q": ["d", "hole"]}}
    second = 1 / math.log2(3)
    bounds = fn.bounds(qrels, runs, "ndcg")
    assert bounds.means["a"]["nDCG"] == pytest.approx((second, 1), rel=1e-15)
    difference = bounds.difference("b", "a")
    assert (difference.low, difference.high) == pytest.approx((0, 1 - second), abs=1e-15)
    assert not difference.certain
    assert bounds.rows[-1] == difference


def test_mean_bounds_leave_out_queries_that_labels_make_undefined():
    """Query q1 has recall 1 or none, as its only document may not be relevant. The mean is of q2 alone, or of both."""
    qrels = {"q1": {}, "q2": {"d1": 1, "d2": 1}}
    run = {"q1": ["hole"], "q2": ["d1"]}
    assert fn.bounds(qrels, {"a": run}, "r").means["a"]["R"] == (0.5, 0.75)
    assert fn.bounds(qrels, {"a": run}, "r", convention="default(undefined=0)").means["a"]["R"] == (0.25, 0.75)
    with pytest.raises(fn.UndefinedMetricError, match="query q1 has none"):
        fn.bounds(qrels, {"a": run}, "r", convention="default(undefined=raise)")


@pytest.mark.parametrize("metric", ["ndcg@5", "r@5", "ap", "rr", "success@3", "p@5"])
def test_twelve_unjudged_documents(metric):
    """All 4,096 labellings by NumPy, of which the extremes are those of `bounds`."""
    rng = np.random.default_rng(5)
    documents = [f"d{i:02}" for i in range(16)]
    judged = {document: int(rng.integers(2)) for document in documents[12:]} | {"other": 1}
    runs = {name: {"q": dict(zip(documents, rng.permutation(16).tolist(), strict=True))} for name in "ab"}
    holes = documents[:12]
    labellings = {
        str(number): judged | dict(zip(holes, labels, strict=True))
        for number, labels in enumerate(itertools.product((0, 1), repeat=12))
    }
    values = [
        fn.evaluate(labellings, dict.fromkeys(labellings, run["q"]), metric).values[:, 0] for run in runs.values()
    ]
    found = fn.bounds({"q": judged}, runs, metric)
    name = str(found.metrics[0])
    assert found.means["a"][name] == pytest.approx((values[0].min(), values[0].max()), rel=1e-12)
    difference = found.difference("b", "a")
    expected = ((values[1] - values[0]).min(), (values[1] - values[0]).max())
    assert (difference.low, difference.high) == pytest.approx(expected, rel=1e-12)
    assert difference.is_exact


@pytest.mark.parametrize("metric", [*METRICS, "ndcg(gain=exp2)@10", "ap(rel=2)", "rbp(gain=linear)"])
def test_values_of_all_judgments_lie_within_the_bounds_of_half_of_them(metric):
    """The labels of what the runs rank are among those that the bounds allow, and no run lacks a relevant document."""
    qrels, rng = fn.Qrels(DRAWN / "qrels.txt.gz"), np.random.default_rng(3)
    half = {query: {d: label for d, label in qrels[query].items() if rng.random() < 0.5} for query in qrels}
    runs = {name: fn.Run(DRAWN / "runs" / f"{name}.gz") for name in ("bm25", "dense", "impacts")}
    ranked = {query: {document for run in runs.values() for document in run[query]} for query in qrels}
    full = {
        query: {d: label for d, label in qrels[query].items() if d in ranked[query] or d in half[query]}
        for query in qrels
    }
    found = fn.bounds(half, runs, metric, labels=range(4))
    (name,) = map(str, found.metrics)
    values = {run: fn.evaluate(full, runs[run], metric)[name] for run in runs}
    for system, against in [("bm25", None), ("dense", "bm25"), ("impacts", "dense")]:
        expected = values[system] - (0 if against is None else values[against])
        rows = {row.query: row for row in found.queries(system, against)}
        for query, value in zip(full, expected.tolist(), strict=True):
            if not math.isnan(value):
                assert rows[query].low - 1e-12 <= value <= rows[query].high + 1e-12
        if against is not None:
            row = found.difference(system, against)
            assert row.low - 1e-12 <= np.nanmean(expected) <= row.high + 1e-12
            assert row.is_exact == (not name.startswith("AP") or name == "AP@2")


@examples(30, plain=6)
@given(seed=st.integers(0, 10**6))
def test_bound_of_many_documents_contains_every_value(seed):
    """With more than 16 unjudged documents AP of a difference has a bound, which random labels stay within."""
    rng = np.random.default_rng(seed)
    documents = [f"d{i}" for i in range(24)]
    runs = {name: {"q": dict(zip(documents, rng.integers(0, 30, 24).tolist(), strict=True))} for name in "ab"}
    found = fn.bounds({"q": {"d0": 1}}, runs, "ap")
    difference = found.difference("b", "a")
    alone = found.means
    assert not difference.is_exact
    assert difference.high <= alone["b"]["AP"][1] - alone["a"]["AP"][0] + 1e-12
    labellings = {str(n): {d: int(rng.random() < n / 200) for d in documents} | {"d0": 1} for n in range(200)}
    own = [fn.evaluate(labellings, dict.fromkeys(labellings, run["q"]), "ap").values[:, 0] for run in runs.values()]
    assert difference.low - 1e-12 <= (own[1] - own[0]).min() <= (own[1] - own[0]).max() <= difference.high + 1e-12
    for values, name in zip(own, "ab", strict=True):
        low, high = alone[name]["AP"]
        assert low - 1e-12 <= values.min() <= values.max() <= high + 1e-12


def test_a_query_without_unjudged_documents_can_be_undefined_though_all_labels_are_relevant():
    """Query q2 has no relevant document, so that it counts 0 under undefined=0, and is left out under 'nan'."""
    truth, systems = {"q1": {"d1": 1}, "q2": {"d5": -1}}, {"a": {"q1": ["d1"], "q2": []}}
    for undefined, expected in (("0", 0.5), ("nan", 1.0)):
        found = fn.bounds(truth, systems, "ndcg", labels=(1,), convention=f"default(undefined={undefined})")
        assert found.means["a"]["nDCG"] == (expected, expected)


def test_time_grows_with_the_number_of_queries_alone(monkeypatch):
    """The arrays of all queries are made once for AP, not again for each span of queries."""
    spans, seen = [], []

    def collect(*arguments):
        spans.append(arguments[-6:-4])
        seen.append([id(array) for array in arguments[:-6] if isinstance(array, np.ndarray)])
        return highest(*arguments)

    highest = metric_bounds.kernels.find_highest_precisions
    monkeypatch.setattr(metric_bounds, "kernels", SimpleNamespace(find_highest_precisions=collect))
    queries = [f"q{i}" for i in range(100)]
    systems = {"a": {query: ["d1", "d2", "d3"] for query in queries}}
    fn.bounds({query: {"d1": 1} for query in queries}, systems, "ap", threads=1)

    assert len(spans) > 2
    assert len(set(map(tuple, seen))) == 2  # of the highest and the lowest mean


def test_equal_runs_differ_by_nothing():
    """A document at the same rank of both runs has no effect, however many there are."""
    run = {"q": [f"d{i}" for i in range(40)]}
    for metric in METRICS:
        row = fn.bounds({"q": {"d3": 1}}, {"a": run, "b": run}, metric).difference("b", "a")
        assert (row.low, row.high, row.certain) == (0, 0, False)


QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d4": 1}}
SYSTEMS = {"a": {"q1": ["d1", "x", "d2", "y"], "q2": ["z", "d4"]}, "b": {"q1": ["d2", "y"], "q2": ["d4", "w"]}}


def test_priorities_count_what_stands_above():
    """Run a has d1, relevant, above x; run b d2, not relevant, above y; z is at rank 1, and w below d4, relevant."""

    def choose(method):
        return {row.document: row.value for row in fn.judge_next(QRELS, SYSTEMS, "p@2", 9, method)}

    assert choose("depth") == {"z": 1, "x": 2, "y": 2, "w": 2}
    assert choose("move_to_front") == {"z": 0, "x": 0, "w": 0, "y": -1}
    assert choose("max_mean") == {"x": 2 / 3, "w": 2 / 3, "z": 1 / 2, "y": 2 / 5}
    assert [row.document for row in fn.judge_next(QRELS, SYSTEMS, "p@2", 2, "depth")] == ["z", "x"]


def test_a_system_alone_has_priorities():
    (row,) = fn.judge_next(QRELS, {"a": SYSTEMS["a"]}, "p@2", 1, "move_to_front")
    assert (row.query, row.document, row.reason) == ("q2", "z", "priority 0; rank 1 of a")


GIVEN = {"truth": QRELS, "systems": SYSTEMS}
test_what_bounds_refuse = refuses(lambda changes: fn.bounds(**GIVEN | {"metrics": "p@2"} | changes), [
    ({"metrics": "bpref"}, "`metrics` must have bounds over all labels.* RR, Success, not for bpref"),
    ({"metrics": "gm(ap)"}, r"not for gm\(AP\)"),
    ({"labels": (0, 2)}, "must be among `labels`, which are 0, 2, but is 1"),
    ({"labels": (-1, 1)}, "`labels` must be finite numbers of 0 or more"),
    ({"labels": (0, 1, 2000), "metrics": "ndcg(gain=exp2)"}, r"finite gains for nDCG.*, but 2\*\*2000 is too large"),
    ({"labels": "01"}, "`labels` must be finite numbers"), ({"systems": {}}, "`systems` must have one"),
    ({"systems": {"a": {"q9": ["d1"]}}}, "must have a query in common"),
    ({"truth": [[1, 0]]}, "`truth` must be judgments with ids"),
    ({"convention": "default(ties=best)"}, "`convention` must have ties 'average' or"),
    ({"convention": "default(unjudged=removed)"}, "must have unjudged 'nonrelevant' for bounds, not 'removed'"),
    ({"metrics": "ap@2", "convention": "default(ap_denominator=n_hits)"}, "must have ap_denominator"),
    ({"systems": {"a": fn.Run({"q1": ["d1", "d1"]}, duplicates="counted")}}, "must have each document once"),
])  # fmt: skip
test_what_judge_next_refuses = refuses(lambda changes: fn.judge_next(**GIVEN | {"metric": "p@2", "n": 1} | changes), [
    ({"n": 0}, "`n` must be a whole number of 1 or more, not 0"),
    ({"method": "mtf"}, "`method` must be one of difference, move_to_front"),
    ({"metric": "p@2, rr"}, "`metric` must be one metric"),
    ({"systems": {"a": SYSTEMS["a"]}}, "`systems` must have two"),
])  # fmt: skip


def test_names_of_systems_and_metrics_are_checked():
    bounds = fn.bounds(QRELS, SYSTEMS, "p@2")
    refused(r"`system` must be one of a, b, not c\. Name one of them", bounds.difference, "c", "a")
    refused("`against` must be another system than a", bounds.difference, "a", "a")
    refused("`metric` must be one of P@2, not RR", bounds.difference, "a", "b", "rr")
    refused(r"`metric` must be one of P@2, not P@2, RR\. Take one at a time", bounds.queries, "a", metric="p@2, rr")


def test_forms_and_negative_labels():
    """A frame and numbers as ids give the same; a negative label is no judgment."""
    numbers = {1: {1: 1, 2: -1}, 2: {4: 1}}
    runs = {"a": {1: {2: 2.0, 1: 1.0}, 2: {4: 1.0}}, "b": {1: {1: 2.0, 7: 1.0}, 2: {9: 2.0, 4: 1.0}}}
    found = fn.bounds(fn.Qrels(numbers).to_pandas(), list(runs.items()), "rr, ndcg@2")
    expected = fn.reference.bounds(numbers, runs, "rr, ndcg@2")
    assert found.means["a"]["RR"] == expected["a", None]["RR"] == (0.75, 1)
    assert found.means["b"]["nDCG@2"] == pytest.approx(expected["b", None]["nDCG@2"])
    assert found.to_pandas()["low"].tolist() == [row.low for row in found]


def test_dropped_rows_leave_ranks_without_documents():
    """An empty rank is no document that a judge could label."""
    run = fn.Run({"q1": ["x", "x", "d1"], "q2": ["d4"]}, duplicates="first", ranks="kept")
    low, high = fn.bounds(QRELS, {"a": run}, "p@3").means["a"]["P@3"]
    assert (low, high) == pytest.approx(((1 / 3 + 1 / 3) / 2, (2 / 3 + 1 / 3) / 2))


def test_report_shows_bounds(tmp_path):
    pytest.importorskip("jinja2")
    path = tmp_path / "report.html"
    comparison = fn.compare(QRELS, SYSTEMS, "bpref, p@2", baseline="b")
    comparison.to_html(path, labels=(0, 1))
    found = fn.bounds(QRELS, {"b": SYSTEMS["b"], "a": SYSTEMS["a"]}, "p@2")
    markup = path.read_text(encoding="utf-8")
    assert "What unjudged documents could do" in markup
    assert all(cell in markup for row in found.cells() for cell in row)
    comparison.to_html(path)
    assert "What unjudged documents could do" not in path.read_text(encoding="utf-8")
    with pytest.raises(fn.InvalidInputError, match="`labels` needs a comparison of runs by judgments"):
        fn.compare(QRELS, SYSTEMS, "bpref").to_html(path, labels=(0, 1))
