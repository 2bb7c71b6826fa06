"""Values from textbooks, each choice of a convention, and tables of gains, with the arithmetic written out."""

from math import fsum, inf, log2, nan

import numpy as np
import pytest
from evaluators import EVALUATE, exactly
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from strategies import examples

import fastndcg as fn
from fastndcg.rankings.rankings import Rankings

TEXTBOOK = [  # labels in rank order, and what a textbook prints
    ([3, 2, 3, 0, 1], "nDCG", 0.97236), ([3, 2, 1, 0, 2], "nDCG@3", 0.90498), ([0.8, 0.9, 0.7], "nDCG", 0.97897),
    ([5, 1, 3, 2, 4], "DCG(gain=exp2)", 42.225751536309765), ([5, 1, 3, 2, 4], "nDCG(gain=exp2)", 0.92513),
]  # fmt: skip


@pytest.mark.parametrize(("labels", "metric", "printed"), TEXTBOOK)
@EVALUATE
def test_textbook_values(evaluate, labels, metric, printed):
    value = evaluate([labels], [[5, 4, 3, 2, 1][: len(labels)]], metric)[metric]
    assert value == pytest.approx([printed], abs=5.1e-6 if printed < 1 else 1e-13)


THREE_BEST = 2 / log2(2) + 2 / log2(3) + 2 / log2(4)
# convention, metric, labels, scores, value
CHOSEN = [
    ("gain=exp2", "DCG", [2, 0], [2, 1], (2**2 - 1) / log2(2)),
    ("gain=[0,1,9]", "DCG", [2, 1], [2, 1], 9 / log2(2) + 1 / log2(3)),
    ("gain=[0,5,2]", "nDCG", [2, 1, 0], [3, 2, 1], (2 / log2(2) + 5 / log2(3)) / (5 / log2(2) + 2 / log2(3))),
    ("gain=exp2", "DCG(gain=linear)", [2, 0], [2, 1], 2 / log2(2)),
    ("discount=[1,0.5]", "DCG", [3, 2, 1], [3, 2, 1], 3 * 1 + 2 * 0.5 + 1 * 0),
    ("discount=[1,0.5]", "nDCG", [1, 2, 3], [3, 2, 1], (1 * 1 + 2 * 0.5) / (3 * 1 + 2 * 0.5)),
    ("discount=[1,0.5]", "DCG", [0, 2, 2, 0], [2, 1, 1, 1], (2 + 2) * 0.5 / 3),
    ("undefined=nan", "AP", [0, 0], [2, 1], nan),
    ("undefined=0", "AP", [0, 0], [2, 1], 0),
    ("undefined=1", "AP", [0, 0], [2, 1], 1),
    ("undefined=1", "RR", [0, 0], [2, 1], 0),
    ("negative_labels=zero", "nDCG", [-1, 2], [2, 1], (2 / log2(3)) / (2 / log2(2))),
    ("negative_labels=keep", "nDCG", [-1, 2], [2, 1], (-1 / log2(2) + 2 / log2(3)) / (2 / log2(2) - 1 / log2(3))),
    ("negative_labels=keep", "IDCG", [-1, 0, 2], [3, 2, 1], 2 / log2(2) + 0 / log2(3) - 1 / log2(4)),
    ("negative_labels=keep", "DCG(gain=exp2)", [-1, 0], [2, 1], (2**-1 - 1) / log2(2)),
    ("negative_labels=keep", "P@2", [-1, 1], [2, 1], 1 / 2),
    ("negative_labels=keep,ties=best", "DCG", [0, -1, 2], [1, 1, 1], 2 / log2(2) + 0 / log2(3) - 1 / log2(4)),
    ("negative_labels=keep,ties=worst", "DCG", [0, -1, 2], [1, 1, 1], -1 / log2(2) + 0 / log2(3) + 2 / log2(4)),
    ("negative_labels=keep,ties=average", "DCG@1", [0, -1, 2], [1, 1, 1], (-1 + 0 + 2) / 3 / log2(2)),
    ("nan_scores=last", "RR", [1, 0], [nan, -inf], 1 / 2),
    ("nan_scores=last", "RR", [1, 0, 0], [nan, nan, 1], (1 / 2 + 1 / 3) / 2),
    ("score_dtype=as given", "RR", [1, 0], [1.0, 1.0 + 1e-9], 1 / 2),
    ("score_dtype=float32", "RR", [1, 0], [1.0, 1.0 + 1e-9], (1 / 1 + 1 / 2) / 2),
    ("score_dtype=float32", "RR", [1, 0], [1e39, 1e300], (1 / 1 + 1 / 2) / 2),
    ("ap_denominator=n_relevant", "AP@2", [1, 0, 1, 1], [4, 3, 2, 1], (1 / 1) / 3),
    ("ap_denominator=min(k, n_relevant)", "AP@2", [1, 0, 1, 1], [4, 3, 2, 1], (1 / 1) / min(2, 3)),
    ("ap_denominator=min(k, n_relevant)", "AP", [1, 0, 1, 1], [4, 3, 2, 1], (1 / 1 + 2 / 3 + 3 / 4) / 3),
    ("ap_denominator=n_hits", "AP@2", [1, 0, 1, 1], [4, 3, 2, 1], (1 / 1) / 1),
    ("ap_denominator=n_hits", "AP@1", [0, 1], [2, 1], 0),
    ("ap_denominator=n_hits", "AP@1", [0, 0], [2, 1], nan),
    ("precision_denominator=k", "P@5", [1, 0], [2, 1], 1 / 5),
    ("precision_denominator=min(k, n_retrieved)", "P@5", [1, 0], [2, 1], 1 / 2),
    ("precision_denominator=min(k, n_retrieved)", "P@1", [1, 0], [2, 1], 1 / 1),
    ("precision_denominator=min(k, n_relevant)", "P@10", [1, 0, 1], [3, 2, 1], 2 / 2),
    ("precision_denominator=min(k, n_relevant)", "P", [1, 0, 1], [3, 2, 1], 2 / 2),
    ("recall_denominator=min(k, n_relevant)", "R@2", [1, 0, 1, 1], [4, 3, 2, 1], 1 / 2),
    ("recall_denominator=min(k, n_relevant)", "R", [1, 0, 1, 1], [4, 3, 2, 1], 3 / 3),
    ("ap_denominator=k", "AP@3", [1, 0, 1, 1], [4, 3, 2, 1], (1 / 1 + 2 / 3) / 3),
    ("ap_denominator=k", "AP@3", [1, 0], [2, 1], (1 / 1) / 3),
    ("discount=1/r", "DCG", [0, 2, 1], [3, 2, 1], 2 / 2 + 1 / 3),
    ("discount=log2(max(r, 2))", "DCG", [0, 2, 1], [3, 2, 1], 2 / log2(2) + 1 / log2(3)),
    ("gain=binary", "CG", [3, 1, 0.5], [3, 2, 1], 2),
    ("gain=binary,relevant=above 0", "CG", [3, 1, 0.5], [3, 2, 1], 3),
    ("gain=binary,relevant=above 0", "CG(rel=2)", [3, 1, 0.5], [3, 2, 1], 1),
    ("gain=linear", "CG(gain=binary)", [3, 1, 0.5], [3, 2, 1], 2),
    ("label_fractions=cut off", "CG", [1.5, 0.7], [2, 1], 1),
    ("label_fractions=cut off,gain=exp2", "CG", [1.5, 0.7], [2, 1], 2**1 - 1),
    ("label_fractions=cut off,gain=[0,5]", "CG", [1.5, 0.7], [2, 1], 5),
    ("label_fractions=cut off,relevant=above 0.5", "P", [1.5, 0.7], [2, 1], 2 / 2),
    ("relevant=at least 1", "num_rel", [1, 0.7, 0.5, 0], [4, 3, 2, 1], 1),
    ("relevant=above 0.5", "num_rel", [1, 0.7, 0.5, 0], [4, 3, 2, 1], 2),
    ("relevant=above 0", "P@4", [1, 0.7, 0.5, 0], [4, 3, 2, 1], 3 / 4),
    ("relevant=above 0", "num_rel(rel=0.6)", [1, 0.7, 0.5, 0], [4, 3, 2, 1], 2),
    # one relevant document at rank 2 of 3: over three that all gain as much
    ("ideal=k best", "nDCG@3", [0, 2, 0], [3, 2, 1], (2 / log2(3)) / THREE_BEST),
    ("ideal=k best", "IDCG@3", [0, 2, 0], [3, 2, 1], THREE_BEST),
    ("ideal=k best", "IDCG@2000", [0, 2], [3, 2], fsum([THREE_BEST, *(2 / log2(r + 1) for r in range(4, 2001))])),
    ("ideal=k best", "nDCG@3", [1, 1, 1], [3, 2, 1], 1),
    ("ideal=k best", "nDCG@3", [0, 0, 0], [3, 2, 1], nan),
    ("default_k=2", "RR", [0, 0, 1], [3, 2, 1], 0),
    ("default_k=2", "RR@3", [0, 0, 1], [3, 2, 1], 1 / 3),
    ("undefined=1,undefined_ap=0", "AP", [0], [1], 0),
    ("undefined=1,undefined_ap=0", "nDCG", [0], [1], 1),
    ("no_relevant=undefined", "RR", [0, 0], [2, 1], nan),
    ("no_relevant=undefined", "P", [0, 0], [2, 1], 0),
    ("no_relevant=skipped", "P", [0, 0], [2, 1], nan),
    ("no_relevant=skipped", "num_ret", [0, 0], [2, 1], nan),
    ("no_relevant=skipped", "DCG", [0.5, 0], [2, 1], nan),  # a gain, but no relevant document
    ("negative_labels=keep", "num_rel", [1, -1], [1, 2], 1),
    ("negative_labels=removed", "RR", [1, -1, 0], [1, 2, 0], 1),
    ("negative_labels=removed", "num_ret", [1, -1, 0], [1, 2, 0], 2),
    ("nan_scores=last", "RR", [0, 1, 0], [-inf, nan, 1], 1 / 3),
    ("nan_scores=last,ties=worst", "RR", [1, 0, 0], [nan, nan, nan], 1 / 3),
]


@pytest.mark.parametrize(("choice", "metric", "labels", "scores", "expected"), CHOSEN)
@EVALUATE
def test_convention_choices_change_values_as_defined(evaluate, choice, metric, labels, scores, expected):
    result = evaluate(labels, np.array(scores, "f8"), metric, groups=[len(labels)], convention=f"default({choice})")
    assert result[metric] == exactly(expected)


@pytest.mark.parametrize(("unjudged", "expected"), [("nonrelevant", 1 / 3), ("removed", 1 / 2)])
@EVALUATE
def test_unjudged_documents_keep_their_rank_or_lose_it(evaluate, unjudged, expected):
    rankings = Rankings([0, 0, 1], [3, 2, 1], [0, 3], judged=[False, True, True])
    result = evaluate(rankings, metrics="RR,num_ret", convention=f"default(unjudged={unjudged})")
    assert result["RR"] == exactly(expected)
    assert result["num_ret"] == [{"nonrelevant": 3, "removed": 2}[unjudged]]


@pytest.mark.parametrize(("pool", "n_relevant"), [("judged", 2), ("retrieved", 1)])
@EVALUATE
def test_documents_that_were_not_retrieved_count_or_not(evaluate, pool, n_relevant):
    rankings = Rankings([1, 0], [2, 1], [0, 2], pool=([1, 1, 0], [0, 3]))
    result = evaluate(rankings, metrics="R,num_rel,nDCG", convention=f"default(pool={pool})")
    ideal = 1 / log2(2) + (1 / log2(3) if n_relevant == 2 else 0)
    assert result.values[0] == pytest.approx([1 / n_relevant, n_relevant, (1 / log2(2)) / ideal], rel=1e-15)


@EVALUATE
def test_average_precision_divides_by_no_more_than_was_retrieved(evaluate):
    convention = "default(ap_denominator=min(k, n_relevant, n_retrieved))"
    assert evaluate({"q": {"a": 1, "b": 1, "c": 1}}, {"q": {"a": 1.0}}, "ap@2", convention=convention)["ap@2"] == [1]


@pytest.mark.parametrize(("choice", "expected"), [
    ("missing_in_run=zero", {"a": 1 / 2, "b": 0}), ("missing_in_run=skip", {"a": 1 / 2}),
    ("missing_in_qrels=skip", {"a": 1 / 2, "b": 0}), ("missing_in_qrels=undefined", {"a": 1 / 2, "b": 0, "c": nan}),
    ("missing_in_qrels=undefined,undefined=1", {"a": 1 / 2, "b": 0, "c": 1}),
])  # fmt: skip
@EVALUATE
def test_queries_on_one_side_only(evaluate, choice, expected):
    """Query b is judged and not retrieved, query c retrieved and not judged."""
    qrels = {"a": {"x": 1, "y": 1}, "b": {"x": 1}}
    run = {"c": {"x": 1.0}, "a": {"x": 1.0, "z": 0.5}}
    result = evaluate(qrels, run, "R", convention=f"default({choice})")
    assert {query: row["R"] for query, row in result.to_dict().items()} == pytest.approx(expected, nan_ok=True)
    assert (result.n_missing_in_run, result.n_missing_in_qrels) == (1, 1)


@pytest.mark.parametrize("choice", ["missing_in_run=raise", "missing_in_qrels=raise"])
@EVALUATE
def test_queries_on_one_side_only_can_be_refused(evaluate, choice):
    with pytest.raises(fn.InvalidInputError, match=r"query . .*is missing in the (run|qrels)"):
        evaluate({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1}, "c": {"x": 1}}, "R", convention=f"default({choice})")


@EVALUATE
def test_negative_labels_are_an_error_in_arrays_and_zero_in_qrels(evaluate):
    refused(r"labels\[1\] \(query 0\) is -1", evaluate, [1, -1], [1, 2], "RR", groups=[2])
    assert evaluate({"a": {"x": 1, "y": -1}}, {"a": {"x": 1, "y": 2}}, "RR")["RR"] == [1 / 2]


@EVALUATE
def test_numbers_at_the_edge_of_float64(evaluate):
    """Labels near 0 keep their exp2 gain, and F its limits, recall and precision, where beta² leaves float64."""
    tiny = evaluate([1e-20, 0.0], [1, 2], "ndcg(gain=exp2)", offsets=[0, 2])
    assert tiny.values == pytest.approx((1 / log2(3)) / (1 / log2(2)), rel=1e-15)
    ranked = [1, 0, 1, 1], [4, 3, 2, 1]
    assert evaluate(*ranked, fn.F(beta=1e200) @ 2, offsets=[0, 4]).values == pytest.approx(1 / 3, rel=1e-15)
    assert evaluate(*ranked, fn.F(beta=1e-200) @ 2, offsets=[0, 4]).values == pytest.approx(1 / 2, rel=1e-15)


WITH_GAINS = ("CG", "DCG", "IDCG", "nDCG", "RBP", "nDCG_rel", "Rndcg", "G", "Q")


@examples(60)
@given(data=st.data())
def test_gain_tables_equal_the_reference(data):
    n = data.draw(st.integers(1, 4))
    table = [0.0, *data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0]), min_size=n, max_size=n))]
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    labels = data.draw(st.lists(st.integers(0, n), min_size=sum(sizes), max_size=sum(sizes)))
    scores = data.draw(st.lists(st.integers(0, 3), min_size=sum(sizes), max_size=sum(sizes)))
    asked = [fn.Metric(name, gain=table) for name in WITH_GAINS]
    asked += [metric @ 2 for metric in asked if metric.record.has_cutoff]
    ties = "average" if len(set(scores)) == len(scores) else "input"
    for convention in ("default", "trec_eval(missing_in_run=zero)"):
        chosen = fn.conventions["default"] if convention == "default" else fn.conventions["trec_eval"]
        given_ = (labels, scores, asked)
        options = {"groups": sizes, "convention": chosen.replace(ties=ties)}
        expected = fn.reference.evaluate(*given_, **options).values
        assert fn.evaluate(*given_, **options).values == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)
