"""explain_change: its parts add up without rounding, equal the reference, and documents account for values."""

import json
from fractions import Fraction
from math import fsum, isnan, log2, nan

import numpy as np
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.explaining.change import compute_shapley_values, find_p_values
from fastndcg.explaining.moves import KINDS
from fastndcg.statistics.settings import Settings

pa, pd, pl = map(pytest.importorskip, ("pyarrow", "pandas", "polars"))
DOCUMENTS = "abcdef"
ADDITIVE = ("ndcg@2", "ndcg", "dcg(gain=exp2)@3", "cg@2", "rbp(p=0.5)", "p@3", "p", "recall@2", "num_rel_ret@3")
OTHERS = ("map", "rr", "err@3", "success@1", "bpref", "judged@2")
CONVENTIONS = (
    "default", "default(undefined=0)", "default(missing_in_run=skip)", "default(ties=input)", "default(ties=best)",
    "default(ties=id_ascending)", "default(gain=exp2)", "default(unjudged=removed)", "default(pool=retrieved)",
    "trec_eval_c", "lightgbm(negative_labels=zero)", "default(negative_labels=removed)",
    "default(ideal=min(k,n_retrieved))", "default(score_dtype=float32)",
    "default(ties=input_reversed)", "default(ties=id_descending)", "default(ties=worst)",
)  # fmt: skip
WITH_UNDEFINED = ("default(undefined=0)", "lightgbm(negative_labels=zero)")
SCORES = st.sampled_from([0.0, 1.0, 1.0 + 1e-9, 2.0, 3.0])


@st.composite
def judgments(draw):
    """Draw judgments in which query q0 has a relevant document."""
    rows = st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-1, 3), max_size=4)
    qrels = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3"]), rows, max_size=3))
    return {"q0": draw(rows) | {"a": 2}, **qrels}


@st.composite
def runs(draw):
    """Draw a run that has query q0."""
    rows = st.dictionaries(st.sampled_from(DOCUMENTS), SCORES, max_size=5)
    run = draw(st.dictionaries(st.sampled_from(["q1", "q2", "q3", "q4"]), rows, max_size=3))
    return {**run, "q0": draw(rows) | {"a": draw(SCORES)}}


@strategies.examples(200, plain=20)
@given(
    truths=st.tuples(judgments(), st.none() | judgments()), both=st.tuples(runs(), runs()),
    conventions=st.tuples(st.sampled_from(CONVENTIONS), st.none() | st.sampled_from(CONVENTIONS)),
    metric=st.sampled_from((*ADDITIVE, *OTHERS)),
)  # fmt: skip
def test_parts_add_up_and_equal_the_reference(truths, both, conventions, metric):
    """The parts are those of brute force, and their sum is the difference of two calls of evaluate, to the last bit."""
    assume(metric != "judged@2" or not {"default(ties=best)", "default(ties=worst)"} & set(conventions))
    settings = {"truth_after": truths[1], "convention": conventions[0], "convention_after": conventions[1]}
    ends = [
        float(
            fn.evaluate(truths[side] or truths[0], both[side], metric, convention=conventions[side] or conventions[0])
        )
        for side in (0, 1)
    ]
    change = fn.explain_change(truths[0], *both, metric, **settings)
    assert [change.before, change.after] == ends
    assert sum(change.parts.values()) == Fraction(ends[1]) - Fraction(ends[0])
    assert float(sum(change.parts.values())) == change.difference == ends[1] - ends[0]
    expected = fn.reference.explain_change(truths[0], *both, metric, **settings)
    assert list(change.parts) == list(expected)
    assert list(map(float, change.parts.values())) == pytest.approx(list(map(float, expected.values())), abs=1e-12)
    if truths[1] is None:
        assert change.parts["judgments"] == 0
    if conventions[1] in (None, conventions[0]):
        assert change.parts["convention"] == 0
    values = fn.evaluate(truths[0], both[0], metric, convention=conventions[0]).to_dict()
    for row in change.queries():
        (value,) = values.get(row.query, {"": nan}).values()
        assert row.before == value or (isnan(row.before) and isnan(value))
        assert (row.cause == "queries") == isnan(row.difference)
        assert not row.difference or row.cause


@strategies.examples(200, plain=20)
@given(
    truths=st.tuples(judgments(), st.none() | judgments()), both=st.tuples(runs(), runs()),
    conventions=st.tuples(st.sampled_from(CONVENTIONS), st.none() | st.sampled_from(CONVENTIONS)),
    metric=st.sampled_from(ADDITIVE),
)  # fmt: skip
def test_documents_add_up_to_values(truths, both, conventions, metric):
    """Documents of each query give both values; moves, found by another way, are their sums by kind."""
    settings = {"truth_after": truths[1], "convention": conventions[0], "convention_after": conventions[1]}
    change = fn.explain_change(truths[0], *both, metric, **settings)
    by_kind = dict.fromkeys(KINDS, ())
    for row in change.queries():
        documents = change.documents(row.query)
        if isnan(row.difference):
            continue
        for side in (0, 1):
            name, convention = ("before", "after")[side], conventions[side] or conventions[0]
            if convention not in WITH_UNDEFINED:  # whose value of a query without relevant documents no document adds
                assert fsum(getattr(one, name) for one in documents) == pytest.approx(getattr(row, name), abs=1e-12)
        for one in documents:
            by_kind[one.kind] += (one.difference,)
    n = change.n_queries["both"]
    expected = {kind: (len(own), fsum(own) / n) for kind, own in by_kind.items() if own}
    assert {move.kind: (move.n, pytest.approx(move.adds, abs=1e-12)) for move in change.moves} == expected


QRELS = {"q1": {"a": 2, "b": 1}, "q2": {"a": 1}, "q3": {"c": 1}}


def find_parts(*arguments, **settings):
    return {part: float(adds) for part, adds in fn.explain_change(*arguments, **settings).parts.items()}


def test_queries_that_one_mean_counts_are_the_part_of_queries():
    """A query that enters adds (its value − the mean of the others) / n, and one that leaves the opposite."""
    old, new = {"q1": ["a"], "q2": ["x", "a"]}, {"q1": ["a"], "q2": ["x", "a"], "q3": ["x", "y", "c"]}
    skip = {"convention": "default(missing_in_run=skip)"}
    entering = find_parts(QRELS, old, new, "rr", **skip)
    assert entering == {"queries": pytest.approx((1 / 3 - 3 / 4) / 3), "judgments": 0, "convention": 0, "ranking": 0}
    assert find_parts(QRELS, new, old, "rr", **skip)["queries"] == pytest.approx(-(1 / 3 - 3 / 4) / 3)
    change = fn.explain_change(QRELS, old, new, "rr", **skip)
    assert change.n_queries == {"both": 2, "before": 0, "after": 1}
    assert [(row.query, row.cause) for row in change.queries()] == [("q3", "queries"), ("q1", ""), ("q2", "")]
    assert {one.document: one.kind for one in change.documents("q3")} == {
        "x": "unjudged entered", "y": "unjudged entered", "c": "entered",
    }  # fmt: skip
    zero = fn.explain_change(QRELS, old, new, "rr")  # a judged query that the run lacks counts as 0
    assert zero.n_queries == {"both": 3, "before": 0, "after": 0}
    assert float(zero.parts["ranking"]) == pytest.approx((1 / 3) / 3)


RUN = {"q1": ["a"], "q2": ["x", "a"]}
BOTH, LOST = {"q1": {"a": 1}, "q2": {"a": 1}}, {"q1": {"a": 1}, "q2": {"a": 0}}
PARTS = {  # judgments, runs before and after, metric, settings, parts other than 0, queries of both, before and after
    "no query in common": ({"q1": {"a": 1}}, {"q1": ["x", "a"]}, {"q2": ["a"]}, "rr",
        {"truth_after": {"q2": {"a": 1}}}, {"queries": 1 - 1 / 2}, (0, 1, 1)),
    # no run has a query of the other judgments: the means are 0.5, of q1 and q2, and 1
    "judgments and a run without a common query": (BOTH, {"q1": ["a"]}, {"q2": ["a"]}, "rr",
        {"truth_after": {"q2": {"a": 1}}}, {"queries": -1 / 4, "ranking": 3 / 4}, (1, 1, 0)),
    # a query that loses its only relevant document leaves the mean: that is a change of queries
    "a query that becomes undefined": (BOTH, RUN, RUN, "ndcg", {"truth_after": LOST},
        {"queries": 1 - (1 + 1 / log2(3)) / 2}, (1, 1, 0)),
    "a query that becomes 0": (BOTH, RUN, RUN, "ndcg", {"truth_after": LOST, "convention": "default(undefined=0)"},
        {"judgments": -1 / log2(3) / 2}, (2, 0, 0)),
    # a relevant document that no run retrieves changes the ideal ranking
    "another ideal ranking": ({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a"]}, "ndcg@2",
        {"truth_after": {"q": {"a": 1, "z": 1}}}, {"judgments": 1 / (1 + 1 / log2(3)) - 1}, (1, 0, 0)),
    "arrays, which are cut alike": ([1, 0, 0, 1], [2, 1, 2, 1], [2, 1, 1, 2], "rr",
        {"truth_after": [0, 1, 0, 1], "offsets": [0, 2, 4]}, {"judgments": -0.25, "ranking": 0.25}, (2, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("case", PARTS)
def test_parts_by_hand(case):
    *arguments, settings, expected, n_queries = PARTS[case]
    change = fn.explain_change(*arguments, **settings)
    parts = {part: float(adds) for part, adds in change.parts.items()}
    assert parts == pytest.approx(dict.fromkeys(parts, 0) | expected, abs=1e-15)
    if "offsets" in settings:
        slow = fn.reference.explain_change(*arguments, **settings)
        assert parts == {part: float(adds) for part, adds in slow.items()}
    assert tuple(change.n_queries.values()) == n_queries
    if n_queries == (1, 0, 0):
        assert [row.cause for row in change.queries()] == list(expected)


def test_a_mix_without_a_value_has_the_middle():
    """Undefined before alone, and with the judgments after defined as 0 by the convention after: a note counts it."""
    qrels, after = {"q": {"a": 1}, "r": {"a": 1}}, {"q": {"a": 1}, "r": {"a": 0}}
    change = fn.explain_change(qrels, {"q": ["a"], "r": ["a"]}, {"q": ["a"], "r": ["a"]}, "ndcg", truth_after=after,
                               convention_after="default(undefined=0)")  # fmt: skip
    assert change.n_queries["both"] == 2
    middle = (1 + 0) / 2
    assert float(change.parts["judgments"]) == pytest.approx(((middle - 1) + (0 - 1)) / 2 / 2)
    assert float(change.parts["convention"]) == pytest.approx(((1 - 1) + (0 - middle)) / 2 / 2)
    assert "queries without a value in a mix of settings, with the middle of their two: 1" in change.notes


KINDS_BY_HAND = {
    "label changed": ({"a": 2, "b": 1}, {"a": 2, "b": 1}, {"a": 1, "b": 0}, {"a": 1, "b": 1}),
    "entered": ({"b": 2, "x": 1}, {"b": 2, "a": 1}, {"a": 1, "b": 0}, None),
    "unjudged entered": ({"b": 2, "a": 1}, {"b": 2, "x": 1}, {"a": 1, "b": 0}, None),
    "left": ({"b": 2, "a": 1}, {"b": 2}, {"a": 1, "b": 0}, None),
    "tie made": ({"b": 2, "a": 1}, {"b": 1, "a": 1}, {"a": 1, "b": 0}, None),
    "tie broken": ({"b": 1, "a": 1}, {"b": 2, "a": 1}, {"a": 1, "b": 0}, None),
    "up": ({"b": 2, "a": 1}, {"b": 1, "a": 2}, {"a": 1, "b": 0}, None),
    "down": ({"b": 1, "a": 2}, {"b": 2, "a": 1}, {"a": 1, "b": 0}, None),
    "unmoved": ({"b": 1, "a": 2}, {"b": 3, "a": 4}, {"a": 1, "b": 0}, None),
}


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_of_moves(kind):
    before, after, labels, labels_after = KINDS_BY_HAND[kind]
    truth_after = None if labels_after is None else {"q": labels_after}
    change = fn.explain_change({"q": labels}, {"q": before}, {"q": after}, "dcg@2", truth_after=truth_after)
    assert kind in [move.kind for move in change.moves]
    assert fsum(move.adds for move in change.moves) == pytest.approx(change.difference, abs=1e-15)


def test_a_document_of_one_side_has_both_labels():
    """A document that entered, or left, while its label changed, has the label of the other judgments, too."""
    change = fn.explain_change({"q": {"a": 1, "b": 0, "c": 3}}, {"q": ["b", "c"]}, {"q": ["a", "b"]}, "dcg@2",
                               truth_after={"q": {"a": 2, "b": 0, "c": 1}})  # fmt: skip
    rows = {one.document: one for one in change.documents("q")}
    assert (rows["a"].kind, rows["a"].label_before, rows["a"].label_after) == ("label changed", 1, 2)
    assert (rows["c"].kind, rows["c"].label_before, rows["c"].label_after) == ("label changed", 3, 1)
    assert rows["b"].kind == "down"


def test_labels_after_of_documents_that_other_judgments_place_below_the_cutoff():
    """Unjudged documents are removed, so that with the judgments after b has rank 2. Its label there is 3."""
    truth, truth_after = {"q": {"b": 1, "c": 1}}, {"q": {"a": 1, "b": 3, "c": 1}}
    change = fn.explain_change(truth, {"q": ["a", "b"]}, {"q": ["c"]}, "dcg@1", truth_after=truth_after,
                               convention="default(unjudged=removed)")  # fmt: skip
    rows = {one.document: one for one in change.documents("q")}
    assert (rows["b"].kind, rows["b"].label_before, rows["b"].label_after) == ("label changed", 1, 3)
    assert [(move.kind, move.n) for move in change.moves] == [("label changed", 1), ("entered", 1)]


def test_values_that_the_convention_gives_are_noted():
    """The only document of q2 gets a label: LightGBM's 1 without one is 1 with it, and the document adds 1."""
    qrels, run = {"q1": {"a": 1}, "q2": {"b": 0}}, {"q1": ["a"], "q2": ["b"]}
    truth_after = {"q1": {"a": 1}, "q2": {"b": 1}}
    change = fn.explain_change(qrels, run, run, "ndcg@3", truth_after=truth_after, convention="lightgbm")
    assert change.difference == 0
    assert {move.kind: move.adds for move in change.moves} == {"label changed": 0.5, "unmoved": 0}
    note = "queries with the convention's value, which no document adds: 1, -0.5000 of the difference"
    assert note in change.notes
    same = fn.explain_change(qrels, run, run, "ndcg@3", convention="lightgbm")
    assert not any("convention's value" in note for note in same.notes)


def test_documents_by_hand():
    """Two documents that tie at ranks 2 and 3 share the mean of both discounts."""
    run = {"q": {"x": 3.0, "a": 2.0, "b": 2.0}}
    change = fn.explain_change({"q": {"a": 2, "b": 1}}, run, {"q": {"a": 3.0, "b": 1.0}}, "dcg@2")
    share = (1 / log2(3) + 0) / 2
    by_name = {row.document: row for row in change.documents("q")}
    assert (by_name["a"].rank_before, by_name["b"].rank_before, by_name["b"].rank_after) == (2.5, 2.5, 2)
    assert (by_name["a"].before, by_name["a"].after) == (pytest.approx(2 * share), 2)
    assert (by_name["b"].before, by_name["b"].after) == (pytest.approx(share), pytest.approx(1 / log2(3)))
    assert isnan(by_name["x"].rank_after)
    assert isnan(by_name["x"].label_before)
    assert (by_name["a"].kind, by_name["b"].kind, by_name["x"].kind) == ("tie broken", "tie broken", "left")


@pytest.mark.parametrize("metric", OTHERS)
def test_documents_of_other_metrics_are_those_of_explain(metric):
    runs = [{"q": {"a": 1.0, "b": 2.0, "x": 2.0, "c": 0.5}}, {"q": {"a": 1.0, "c": 1.0, "b": 0.2}}]
    qrels = {"q": {"a": 2, "b": 1, "c": 0, "d": 1}}
    change = fn.explain_change(qrels, *runs, metric)
    for name, run in zip(("before", "after"), runs, strict=True):
        explained = fn.explain(qrels, run, metric, query="q")
        expected = {one.document: one.contribution for one in explained.ranking}
        k = fn.Metric.parse(metric).k or 9
        within = {one.document for one in explained.ranking if one.first <= k}
        for row in change.documents("q"):
            assert getattr(row, name) == (expected[row.document] if row.document in within else 0)
    assert all(isnan(move.adds) for move in change.moves)
    assert f"{fn.Metric.parse(metric)} is no sum over documents" in change.notes[-1]


def test_renamed_queries_are_said():
    """Without a query in both means, the note names one of each side: the runs have no document to compare."""
    change = fn.explain_change({"q": {"a": 1}}, {"q": ["a"]}, {"Q": ["b", "a"]}, "rr", truth_after={"Q": {"a": 1}})
    assert change.parts["queries"] == -0.5
    assert not change.moves
    note = "no query is in both means: before there is 'q', after there is 'Q'. They differ by the case of letters"
    assert change.notes[-1].startswith(note)
    with pytest.raises(fn.InvalidTypeError, match=r"texts in the mean after, such as '1', but whole .*before"):
        fn.explain_change({1: {"a": 1}}, {1: ["a"]}, {"1": ["a"]}, "rr", truth_after={"1": {"a": 1}})


def test_renamed_documents_are_said():
    change = fn.explain_change(QRELS, {"q1": ["a", "b"]}, {"q1": ["a.html", "b.html"]}, "ndcg")
    note = "no document is in both runs: before there is 'a', after there is 'a.html'. They differ by a suffix"
    assert any(note in line for line in change.notes)
    entered = fn.explain_change(QRELS, {"q1": ["a"]}, {"q1": ["b", "a"]}, "ndcg@1")
    assert not any("both runs" in line for line in entered.notes)


def test_nan_scores_tie_at_the_end():
    """Both documents without a score share the ranks 2 and 3, and removed ones have no rank."""
    run = {"q": {"a": nan, "b": nan, "c": 1.0, "x": 2.0}}
    change = fn.explain_change({"q": {"a": 1, "b": 0, "c": 0}}, run, {"q": ["a"]}, "dcg",
                               convention="default(nan_scores=last, unjudged=removed)")  # fmt: skip
    rows = {one.document: (one.kind, one.rank_before) for one in change.documents("q")}
    assert rows == {"a": ("tie broken", 2.5), "b": ("left", 2.5), "c": ("left", 1)}


def test_repeated_documents_are_matched_in_their_order():
    """Chunks of a document that count each: the first of both sides is one document, the second another."""
    run = {"query": ["q", "q", "q"], "document": ["a", "a", "x"], "score": [3.0, 2.0, 1.0]}
    other = {"query": ["q", "q", "q"], "document": ["x", "a", "a"], "score": [3.0, 2.0, 1.0]}
    runs = [fn.Run(one, duplicates="counted") for one in (run, other)]
    change = fn.explain_change({"q": {"a": 1}}, *runs, "dcg")
    assert [(row.document, row.rank_before, row.rank_after) for row in change.documents("q")] == [
        ("a", 1, 2), ("a", 2, 3), ("x", 3, 1),
    ]  # fmt: skip
    assert fsum(row.difference for row in change.documents("q")) == pytest.approx(change.difference)


LIKED = fn.Interactions([4, 7, 2], offsets=[0, 2, 3], n_items=9)
ITEMS = [[7, 1, 4], [3, 2, 5]], [[7, 4, 1], [2, 3, 8]]
VECTORS = np.random.default_rng(5).normal(size=(11, 3))
FORMS = {
    "arrays": ([[1, 0, 2], [0, 1, 0]], [[3.0, 2, 1], [1, 2, 3]], [[3, 1, 2], [1, 3, 2]]),
    "dicts": (QRELS, {"q1": {"a": 1.0, "x": 2.0}}, {"q1": {"a": 3.0, "x": 2.0}}),
    "lists of ids": (QRELS, {"q1": ["x", "a"]}, {"q1": ["a", "x"]}),
    "number ids": ({1: {5: 1}}, {1: [9, 5]}, {1: [5, 9]}),
    "records": ([("q", "a", 1), ("q", "b", 0)], iter([("q", "b", 2.0), ("q", "a", 1.0)]), [("q", "a", 1.0)]),
    "items": (LIKED, *ITEMS),
    "padded items": (LIKED, *(fn.Recommendations([[*row, -1] for row in rows], duplicates="first") for rows in ITEMS)),
    "scores of all items": (LIKED, *(VECTORS[:2] @ (VECTORS[2:].T * sign) for sign in (1, -1))),
    "embeddings": (LIKED, *(fn.Embeddings(VECTORS[:2], VECTORS[2:] * sign) for sign in (1, -1))),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form(form):
    """The means are those of evaluate, and documents, with their ids, give both values."""
    truth, before, after = FORMS[form]
    before = list(before) if form == "records" else before
    change = fn.explain_change(truth, iter(before) if form == "records" else before, after, "dcg@2")
    assert change.before == float(fn.evaluate(truth, before, "dcg@2"))
    assert change.after == float(fn.evaluate(truth, after, "dcg@2"))
    for row in change.queries():
        documents = change.documents(row.query)
        assert fsum(one.before for one in documents) == pytest.approx(row.before)
        assert fsum(one.after for one in documents) == pytest.approx(row.after)
    assert fsum(move.adds for move in change.moves) == pytest.approx(change.difference)


def test_items_have_their_numbers():
    change = fn.explain_change(LIKED, *ITEMS, "dcg@2")
    assert {one.document for one in change.documents(1)} == {2, 3}
    models = fn.explain_change(LIKED, *FORMS["embeddings"][1:], "dcg@9")
    assert {one.document for one in models.documents(0)} == set(range(9))


def test_shapley_values_of_a_game():
    """Two players who win together share evenly, whoever comes first."""
    shares = compute_shapley_values(lambda left, right, idle: Fraction(left * right), 3)
    assert shares == [Fraction(1, 2), Fraction(1, 2), 0]
    assert compute_shapley_values(lambda *players: Fraction(min(players)), 3) == [Fraction(1, 3)] * 3


ZERO = {"convention": "default(negative_labels=zero)", "convention_after": "default"}
A, B = {"q1": ["a"]}, {"q1": ["a", "b"]}
test_errors = refuses(
    lambda truth, before, after, metric, settings: fn.explain_change(truth, before, after, metric, **settings), {
    "two metrics": (QRELS, A, B, "ndcg, map", {}, "`metric` must be one metric, got 2"),
    "an aggregate": (QRELS, A, B, "gm(map)", {},
        r"`metric` must be a mean over queries, but gm\(AP\) is none. Take AP"),
    "a micro mean": (QRELS, A, B, "p", {"convention": "default(precision_mean=micro)"},
        "an account of a change is of means"),
    "other queries after": (QRELS, A, B, "rr", {"truth_after": {"q9": {"a": 1}}},
        "after: qrels and run must have a query in"),
    "no metric": (QRELS, A, B, None, {}, "`metric` is missing"),
    "no name of a convention": (QRELS, A, B, "rr", {"convention_after": 0},
        "`convention_after` must be a name or a Convention"),
    "an empty convention": (QRELS, A, B, "rr", {"convention_after": ""}, "'' does not read as Name"),
    "another kind after": (QRELS, A, B, "rr", {"truth_after": [[1]]},
        "after: `predictions` must be an array of scores"),
    "no run after": (QRELS, A, None, "rr", {}, "`after` is missing"),
    "results": (QRELS, fn.evaluate(QRELS, A, "rr"), A, "rr", {}, "`before` must be predictions, not Results"),
    "no value after": ({"q": {"a": 1}}, {"q": ["a"]}, {"q": ["a"]}, "ndcg", {"truth_after": {"q": {"a": 0}}},
        "`after` must have a value of nDCG for some query, but has none of 1"),
    "a mix of settings": ([[-1, 1]], [[1, 2]], [[1, 2]], "rr", {"truth_after": [[0, 1]]} | ZERO,
        "with judgments before, convention after, ranking before: `labels`"),
    "rankings": (fn.Rankings([1], [1], [0, 1]), [[1]], [[1]], "rr", {},
        "before: `predictions` must be left out when `truth` is Rankings"),
})  # fmt: skip


def test_documents_of_a_query_of_neither_mean():
    message = "`query` must be in one of the two means, but 'q9' is not"
    refused(message, fn.explain_change(QRELS, A, A, "rr").documents, "q9", error=KeyError)


def test_large_models_are_not_compared_by_document():
    class Large(fn.Scorer):
        n_users, n_items = 2, 10**9

    change = fn.explain_change(LIKED, *ITEMS, "rr")
    change._inputs = change._inputs._replace(runs=(ITEMS[0], Large.__new__(Large)))
    assert not change.moves
    assert "model.top(k)" in change.notes[-1]
    refused(r"Give the best ones: model.top\(k\).to_run\(\)", change.documents, 0)


def make_change(differences):
    """Return a change whose differences of RR are given: 0, 1/2 or −1/2."""
    labels = np.array([[1, 0]] * len(differences))
    before = np.array([[2, 1] if one <= 0 else [1, 2] for one in differences])
    after = np.array([[2, 1] if one >= 0 else [1, 2] for one in differences])
    return fn.explain_change(labels, before, after, "rr")


def test_planted_slices_are_found():
    """Queries of one language lost; lengths, which are cut into quarters, say nothing."""
    rng = np.random.default_rng(3)
    languages = np.repeat(["de", "en", "fr"], 100)
    differences = np.where((languages == "fr") & (rng.random(300) < 0.4), -0.5, 0.0)
    features = {"language": languages, "length": rng.integers(1, 90, 300), "is_new": rng.random(300) < 0.5}
    table = make_change(differences).slices(features, replicates=999)
    first = table[0]
    assert (first.feature, first.value, first.n, first.n_rest) == ("language", "fr", 100, 200)
    assert first.difference == pytest.approx(differences[200:].mean())
    assert first.rest == 0
    assert next(row.feature for row in table if row.is_significant) == "language"
    assert not any(row.is_significant for row in table if row.feature != "language")
    assert {row.feature: sum(one.feature == row.feature for one in table) for row in table} == {
        "language": 3, "length": 4, "is_new": 2,
    }  # fmt: skip
    assert "9 slices searched" in table.notes[0]


def test_slices_without_an_effect_are_rarely_significant():
    """Of 200 samples with skewed differences, 5 % and twice the error of that have a significant slice at most."""
    rng = np.random.default_rng(7)
    settings = Settings(replicates=199)
    n_wrong = 0
    for _ in range(200):
        differences = rng.choice([0.0, 0.0, 0.0, 0.01, -1.0], 60)
        slices = [rng.random(60) < share for share in np.linspace(0.1, 0.9, 4)]
        p_values = find_p_values(differences, slices, settings)
        n_wrong += min(p_values) < 0.05 / len(slices)
    assert n_wrong / 200 <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)


def test_p_values_are_those_of_scipy():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(11)
    differences, own = rng.normal(size=40) ** 3, rng.random(40) < 0.3
    (p,) = find_p_values(differences, [own], Settings())
    expected = stats.permutation_test(
        (differences[own], differences[~own]), lambda x, y, axis: x.mean(axis) - y.mean(axis), vectorized=True,
        rng=np.random.default_rng(1), n_resamples=20_000,
    ).pvalue  # fmt: skip
    assert p == pytest.approx(expected, abs=0.015)


KINDS_OF_QUERIES = {"query": ["q1", "q2", "q3", "q9"], "kind": ["x", "x", "y", "y"]}


@pytest.mark.parametrize("make", [
    pd.DataFrame, pl.DataFrame, pa.table, lambda columns: pd.DataFrame(columns).set_index("query"),
], ids=["pandas", "Polars", "pyarrow", "index"])  # fmt: skip
def test_features_in_frames(make):
    frame = make(KINDS_OF_QUERIES)
    runs = {"q1": ["a"], "q2": ["a"], "q3": ["x", "c"]}, {"q1": ["a"], "q2": ["a"], "q3": ["c"]}
    table = fn.explain_change(QRELS, *runs, "rr").slices(frame, replicates=99)
    assert [(row.value, row.n, row.difference) for row in table] == [("x", 2, 0), ("y", 1, 0.5)]
    assert "1 of the queries are not compared, such as q9" in table.notes[1]


test_wrong_features = refuses(make_change([0, 0.5, 0]).slices, [
    ({"same": [1, 1, 1]}, "`features` must have a feature with two values"),
    ([1, 2, 3], "`features` must be a frame", fn.InvalidTypeError),
    ({"kind": [1, 2]}, "must have one value for each of the 3 queries"),
    (pl.DataFrame({"kind": [1, 2, 3]}), "must have a column \"query\", but has 'kind'"),
    ({"kind": ["a", nan, "b"]}, "must be all texts or all numbers, but has float, str", fn.InvalidTypeError),
    (pd.DataFrame({"query": [0, 1, 2, 0], "kind": [1, 2, 1, 2]}), "must have one row a query, but 0 has several"),
])  # fmt: skip


def test_exports():
    change = fn.explain_change(QRELS, {"q1": ["b", "a"]}, {"q1": ["a", "b"]}, "ndcg@2")
    facts = json.loads(change.to_json())
    assert facts["parts"]["ranking"] == pytest.approx(facts["difference"])
    assert {move["kind"]: move["n"] for move in facts["moves"]} == {"up": 1, "down": 1}
    assert [row["query"] for row in facts["queries"]] == ["q1", "q2", "q3"]
    assert change.to_csv().splitlines()[0] == "part,adds"
    assert change.to_pandas()["part"].tolist() == ["queries", "judgments", "convention", "ranking"]
    assert "ranking" in change.to_markdown()
    assert "ranking" in change.to_latex()
    assert "1 of 3 queries changed" in str(change)
    assert change._repr_html_().count("<table>") == 3


def test_plot_has_a_bar_for_each_part():
    pytest.importorskip("matplotlib").use("Agg")
    change = fn.explain_change(QRELS, {"q1": ["b", "a"]}, {"q1": ["a", "b"]}, "ndcg@2")
    axes = change.plot()
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert names == ["difference", "ranking", "convention", "judgments", "queries"]
    ends = [float(line.get_xdata()[-1]) for line in axes.get_lines()[1:]]
    assert ends == pytest.approx([change.difference, change.difference, 0, 0, 0])


@pytest.fixture
def demo(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text("q1 0 a 2\nq1 0 b 1\nq2 0 a 1\n")
    (tmp_path / "after.txt").write_text("q1 0 a 2\nq1 0 b 2\nq2 0 a 1\n")
    (tmp_path / "old.run").write_text("q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 a 1 1 x\n")
    (tmp_path / "new.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 z 1 1 x\n")


def test_command(demo, shown, wrong):
    """It is the function: all options, and the documents of a query."""
    command = ["diff", "qrels.txt", "old.run", "new.run", "-m", "ndcg@2"]
    expected = fn.explain_change("qrels.txt", "old.run", "new.run", "ndcg@2", truth_after="after.txt")
    facts = json.loads(shown(*command, "--qrels-after", "after.txt", "--json"))
    assert facts["parts"] == {part: float(adds) for part, adds in expected.parts.items()}
    assert "unjudged entered" in shown(*command, "--query", "q2")
    assert "gain, pool, relevant, ties" in shown(*command, "--convention-after", "lightgbm")
    wrong("nope", *command, "--convention-after", "nope")


def test_command_draws(demo, run):
    pytest.importorskip("matplotlib")
    code, _, err = run("diff", "qrels.txt", "old.run", "new.run", "--plot", "parts.svg")
    assert (code, err) == (0, "parts.svg written\n")
    with open("parts.svg", encoding="utf-8") as file:
        assert "<svg" in file.read()


def test_gate_accounts_for_a_metric_that_failed():
    """Each metric that failed has its account, in the table, Markdown and JSON. Others, and results, have none."""
    qrels = {f"q{q}": {"a": 1, "b": 0} for q in range(30)}
    old, new = ({query: {"a": score, "b": 1} for query in qrels} for score in (2, 0))
    verdict = fn.gate(qrels, old, new, "success@1, recall@2")
    (change,) = verdict.changes
    assert [row.verdict for row in verdict.rows] == ["fail", "pass"]
    assert (str(change.metric), float(change.parts["ranking"])) == ("Success@1", -1)
    assert "mean of Success@1: 1 before, 0 after (-1)" in str(verdict)
    assert verdict.to_markdown().count("<summary>mean of Success@1: 1 before, 0 after (-1)</summary>\n\n| part |") == 1
    (facts,) = json.loads(verdict.to_json())["changes"]
    assert facts["parts"]["ranking"] == -1
    assert not fn.gate(qrels, fn.evaluate(qrels, old, "success@1"), new, "success@1").changes
    assert not fn.gate(qrels, old, new, "success@1", weights=dict.fromkeys(qrels, 2.0)).changes
    records = [iter([(query, *pair) for query in run for pair in run[query].items()]) for run in (old, new)]
    assert len(fn.gate(qrels, *records, "success@1").changes) == 1
