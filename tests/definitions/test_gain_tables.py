"""Tables of gains in which a higher label gains less: the best order is by gain."""

from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn

EVALUATE = pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
METRICS = ("CG", "DCG", "IDCG", "nDCG", "RBP", "nDCG_rel", "Rndcg", "G", "Q")


@EVALUATE
@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        ("CG", 2 + 5 + 0 + 2), ("DCG@2", 2 + 5 / log2(3)), ("IDCG", 5 + 2 / log2(3) + 2 / log2(4)), ("IDCG@1", 5),
        ("nDCG@1", 2 / 5), ("nDCG", (2 + 5 / log2(3) + 2 / log2(5)) / (5 + 2 / log2(3) + 2 / log2(4))),
        ("nDCG@2", (2 + 5 / log2(3)) / (5 + 2 / log2(3))),
    ],
)  # fmt: skip
def test_best_order_is_by_gain(evaluate, metric, expected):
    """Labels 2, 1, 0, 2 gain 2, 5, 0, 2 with the table 0, 5, 2: the best order begins with label 1."""
    asked = fn.Metric.parse(metric)(gain=[0, 5, 2])
    assert evaluate([[2, 1, 0, 2]], [[4, 3, 2, 1]], asked).values[0] == pytest.approx([expected], rel=1e-15)


@EVALUATE
def test_threshold_comes_before_the_gain(evaluate):
    """Label 1 gains 5, but nothing where documents are relevant from label 2 on."""
    assert evaluate([[1, 2]], [[2, 1]], fn.nDCG(gain=[0, 5, 2], rel=2)).values[0] == pytest.approx([1 / log2(3)])


@EVALUATE
def test_labels_may_gain_nothing(evaluate):
    """Label 2 gains nothing: a query that has no other label has no ideal."""
    values = evaluate([[2, 1], [2, 2]], [[2, 1], [2, 1]], fn.nDCG(gain=[0, 5, 0])).values[:, 0]
    assert values == pytest.approx([1 / log2(3), np.nan], nan_ok=True)


@examples(60)
@given(data=st.data())
def test_equals_reference(data):
    n = data.draw(st.integers(1, 4))
    table = [0.0, *data.draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.5, 3.0]), min_size=n, max_size=n))]
    sizes = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    labels = data.draw(st.lists(st.integers(0, n), min_size=sum(sizes), max_size=sum(sizes)))
    scores = data.draw(st.lists(st.integers(0, 3), min_size=sum(sizes), max_size=sum(sizes)))
    asked = [fn.Metric(name, gain=table) for name in METRICS]
    asked += [metric @ 2 for metric in asked if metric.record.has_cutoff]
    ties = "average" if len(set(scores)) == len(scores) else "input"
    for convention in ("default", "trec_eval(missing_in_run=zero)"):
        chosen = fn.conventions["default"] if convention == "default" else fn.conventions["trec_eval"]
        given_ = (labels, scores, asked)
        options = {"groups": sizes, "convention": chosen.replace(ties=ties)}
        expected = fn.reference.evaluate(*given_, **options).values
        assert fn.evaluate(*given_, **options).values == pytest.approx(expected, rel=1e-12, abs=1e-15, nan_ok=True)


def test_gains_above_1_are_found_in_the_middle_of_a_table():
    """INST takes gains up to 1: that of the middle label is looked at, too."""
    with pytest.raises(fn.InvalidInputError, match="must have a gain from 0 to 1 for INST"):
        fn.evaluate([[1, 2, 3]], [[3, 2, 1]], fn.INST(gain=[0, 0.5, 2, 1]))


@pytest.mark.parametrize("table", [[1, 2], [0, -1], [0, 2, -1], [], [0, float("inf")]])
def test_tables_begin_with_0_and_hold_no_negative_gain(table):
    with pytest.raises(fn.InvalidInputError, match="`gain` of nDCG must be"):
        fn.nDCG(gain=table)
    with pytest.raises(fn.InvalidInputError, match="`gain` of a convention must be"):
        fn.conventions["default"].replace(gain=table)


def test_conventions_take_tables_that_fall():
    given_ = ([[2, 1, 0]], [[3, 2, 1]])
    own = fn.evaluate(*given_, fn.nDCG(gain=[0, 5, 2]))
    assert fn.evaluate(*given_, "ndcg", convention="default(gain=[0,5,2])").values.tolist() == own.values.tolist()
