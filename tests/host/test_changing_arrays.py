"""Arrays that change between passes: kernels stay within their arrays, and a change that is found raises an error."""

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.kernels.metrics import gains, judgments, subtopics
from fastndcg.kernels.ranking import ties

CHANGED = "must not change during an evaluation"


def hits(*columns):
    return [np.array(column, "i4") for column in columns]


@pytest.mark.parametrize(
    ("queries", "above", "tied", "are_right"),
    [
        ([], [], [], True),
        ([0, 0, 1], [0, 2, 0], [1, 1, 1], True),
        ([0, 0, 0], [0, 0, 2], [2, 2, 1], True),
        ([0, 0, 1, 1], [3, 3, 3, 3], [2, 2, 3, 3], True),
        ([0, 0], [1, 0], [1, 1], False),
        ([0, 0], [1, 1], [1, 1], False),
        ([0, 0], [0, 1], [2, 1], False),
        ([0, 0, 0], [4, 4, 4], [2, 2, 2], False),
        ([0, 0], [4, 4], [2, 3], False),
        ([0], [0], [0], False),
        ([0, 1], [0, 0], [1, 0], False),
    ],
)
def test_ranks_that_contradict_one_another_are_found(queries, above, tied, are_right):
    assert ties.has_valid_tie_order(*hits(queries, above, tied)) == are_right


def test_ranks_are_checked_across_blocks():
    """A tie group with too many hits is found if the group spans two blocks of sixty-four hits."""
    queries, above, tied = hits(np.zeros(100), np.full(100, 7), np.full(100, 100))
    assert ties.has_valid_tie_order(queries, above, tied)
    assert not ties.has_valid_tie_order(queries, above, tied - 1)


def test_order_by_keys_stays_within_a_query_whose_scores_became_nan():
    documents, above, tied = hits([0, 1], [0, 0], [2, 2])
    scores, keys = np.full(4, np.nan), np.arange(4)
    columns = (documents, np.array([2.0, 1.0]), above, tied, np.zeros(2, "i4"), np.array([0, 2]))
    ties.order_by_key(scores, keys, np.array([0, 4]), 0, (*columns, np.empty(1, "i4"), np.empty(4, "i8")))
    assert not ties.has_valid_tie_order(np.zeros(2, "i4"), above, tied)


def test_bpref_of_fewer_judged_than_relevant_documents():
    """The metric bpref counts 1 for each relevant document if fewer documents are judged than relevant."""
    out = np.zeros(1)
    queries, above, tied = hits([0, 0], [0, 1], [1, 1])
    judgments.binary_preference(queries, above, tied, np.ones(2), 1.0, np.array([2.0]), np.array([0.0]), out)
    assert out[0] == 1.0


def test_infap_of_views_with_fewer_hits():
    """The metric infAP is between 0 and 1 if some views of the hits hold fewer hits than others."""
    queries, above, tied = hits([0, 0, 0], [0, 1, 1], [1, 2, 2])
    fewer, few_ties = hits([0, 1], [1, 2])
    out = np.zeros(1)
    judgments.inferred_average_precision(
        queries, above, tied, np.ones(3), fewer, few_ties, fewer, few_ties, 1.0, np.array([3.0]), out
    )
    assert 0 <= out[0] <= 1


def test_gains_above_those_of_the_pool():
    (above,) = hits([0, 1])
    offsets, discounts, out = np.array([0, 2]), np.ones(5), np.zeros(1)
    gains.normalised_gain(above, np.array([9.0, 9.0]), offsets, np.ones(1), np.array([0, 1]), discounts, out)
    assert np.isfinite(out[0])


def test_labels_outside_their_table_have_no_gain_and_no_subtopic():
    out = np.empty(5)
    gains.table_gains(np.array([np.nan, -1e9, 1e9, np.inf, 2.0]), np.array([0.0, 1.0, 5.0]), -np.inf, out)
    assert out.tolist() == [0, 0, 0, 0, 5]
    offsets, patterns, out = np.array([0, 0, 1]), np.array([0], "i4"), np.empty(1)
    subtopics.count_subtopics(np.array([1e9, np.nan, -7.0, 1.0]), np.array([0, 4]), offsets, patterns, 1, out)
    assert out[0] == 1


def test_changed_array_raises_when_the_bad_value_is_gone():
    with pytest.raises(fn.InvalidInputError, match=f"`scores` {CHANGED}"):
        fn.Rankings([1, 0], [0.5, 0.1], [0, 2]).refuse("scores", np.zeros(2, bool), "not be NaN: replace it")


def test_evaluator_refuses_labels_that_remove_other_documents():
    labels = np.array([1, 0, -1, 2] * 50)
    evaluator = fn.Evaluator(labels, "ndcg", offsets=[0, 200], convention="default(negative_labels=removed)")
    evaluator.evaluate(np.arange(200.0))
    labels[:100] = -1
    with pytest.raises(fn.InvalidInputError, match=f"`labels` {CHANGED}"):
        evaluator.evaluate(np.arange(200.0))
