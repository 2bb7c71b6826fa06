"""Q-measure by its definition: the arithmetic written out, for the kernels and for the reference."""

from math import nan

import numpy as np
import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

import fastndcg as fn

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "Q": [
        ("Q", [1, 0, 1], [], ((1 + 1) / (1 + 1) + (2 + 2) / (3 + 2)) / 2),
        ("Q", [1, 0, 2], [3], ((1 + 1) / (1 + 3) + (2 + 3) / (3 + 6)) / 3),
        ("Q(beta=2)", [1, 3], [], ((1 + 2 * 1) / (1 + 2 * 3) + (2 + 2 * 4) / (2 + 2 * 4)) / 2),
        ("Q(gain=exp2)", [1, 3], [], ((1 + 1) / (1 + 7) + (2 + 8) / (2 + 8)) / 2),
        ("Q(rel=2)", [1, 2], [], ((1 + 2) / (2 + 2)) / 1),
        ("Q@2", [1, 0, 2], [], ((1 + 1) / (1 + 2)) / 2),
        ("Q", [3, 2, 2, 0], [], 1.0),
        ("Q", [0], [1], 0.0),
        ("Q", [0], [], nan),
    ]
}


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), DEFINITIONS["Q"])
@EVALUATE
def test_q_measure_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


# metric, labels of the tie groups in rank order, value
TIES = [
    ("Q", [[1, 0]], ((1 + 1) / (1 + 1) + (1 + 1) / (2 + 1)) / 2),
    ("Q", [[3, 1]], ((1 + (1 + 1) / (1 + 3)) / 2 + (2 + 4) / (2 + 4)) / 2),
    ("Q", [[3], [1, 0]], (1 + ((2 + 4) / (2 + 4) + (2 + 4) / (3 + 4)) / 2) / 2),
    ("Q@1", [[2, 1, 0]], ((1 + 2) / (1 + 2) / 3 + (1 + 1) / (1 + 2) / 3) / 2),
]


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups: the mean over the orders of their documents."""
    labels, scores = rank_groups(groups)
    assert evaluate(labels, scores, metric, offsets=[0, len(labels)])[metric] == exactly(expected)


def test_q_measure_constant_gain_shortcut():
    """Labels 2 alone, and beside a query with others: the closed form is what adding up gives."""
    random = np.random.default_rng(2)
    labels = 2 * (random.random(400) < 0.2)
    scores = random.integers(0, 30, 400)
    offsets = np.arange(0, 401, 40)
    alone = fn.evaluate(labels, scores, "Q,Q@5,nERR,OPA", offsets=offsets).values
    beside = fn.evaluate([*labels, 1], [*scores, 1], "Q,Q@5,nERR,OPA", offsets=[*offsets, 401]).values[:-1]
    np.testing.assert_allclose(alone, beside, rtol=1e-14, atol=0)
