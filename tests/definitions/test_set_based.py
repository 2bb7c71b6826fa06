"""Accuracy and fall-out by their definitions: the arithmetic written out, for the kernels and for the reference."""

from math import nan

import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "ClassificationAccuracy": [
        ("ClassificationAccuracy@2", [1, 0, 1, 0, 0], [], (1 + 2) / 5),
        ("ClassificationAccuracy@2", [1, 0, 1, 0, 0], [1, 0], (1 + 2) / 6),
        ("ClassificationAccuracy", [1, 0, 1], [], 2 / 3),
        ("ClassificationAccuracy(rel=2)@1", [1, 2], [], 0 / 2),
        ("ClassificationAccuracy@9", [1, 0], [], 1 / 2),
        ("ClassificationAccuracy@1", [0, 0, 0], [], 2 / 3),
        ("ClassificationAccuracy@2", [], [1], 0 / 1),
        ("ClassificationAccuracy@2", [], [], nan),
    ],
    "FallOut": [
        ("FallOut@2", [1, 0, 1, 0, 0], [], 1 / 3),
        ("FallOut@2", [1, 1, 0], [], 0 / 1),
        ("FallOut", [1, 0], [1], 1 / 1),
        ("FallOut(rel=2)@1", [1, 2, 0], [], 1 / 2),
        ("FallOut@2", [1, 1], [], nan),
        ("FallOut@2", [], [1], nan),
    ],
}
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_set_based_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


@pytest.mark.parametrize(
    ("metric", "groups", "expected"),
    [
        ("ClassificationAccuracy@1", [[1, 0, 0]], (1 / 3 * 3 + 2 / 3 * 1) / 3),
        ("ClassificationAccuracy@2", [[0], [1, 0]], (1 / 2 * 2 + 1 / 2 * 0) / 3),
        ("FallOut@1", [[1, 0, 0]], (1 / 3 * 0 + 2 / 3 * 1) / 2),
        ("FallOut@2", [[1], [1, 0, 0]], (2 / 3 * 1) / 2),
    ],
)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups that straddle the cutoff: the mean over the orders of their documents."""
    labels, scores = rank_groups(groups)
    assert evaluate(labels, scores, metric, offsets=[0, len(labels)])[metric] == exactly(expected)
