"""Accuracy and fall-out by their definitions: the arithmetic written out, for the kernels and for the reference."""

from math import nan

import pytest
from both import EVALUATE, exactly

from fastndcg.rankings import Rankings

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "Accuracy": [
        ("Accuracy@2", [1, 0, 1, 0, 0], [], (1 + 2) / 5),
        ("Accuracy@2", [1, 0, 1, 0, 0], [1, 0], (1 + 2) / 6),
        ("Accuracy", [1, 0, 1], [], 2 / 3),
        ("Accuracy(rel=2)@1", [1, 2], [], 0 / 2),
        ("Accuracy@9", [1, 0], [], 1 / 2),
        ("Accuracy@1", [0, 0, 0], [], 2 / 3),
        ("Accuracy@2", [], [1], 0 / 1),
        ("Accuracy@2", [], [], nan),
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
def test_is_what_the_definition_says(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    pool = (labels + unretrieved, [0, len(labels) + len(unretrieved)])
    rankings = Rankings(labels, [-rank for rank in range(len(labels))], [0, len(labels)], pool=pool)

    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


@pytest.mark.parametrize(
    ("metric", "groups", "expected"),
    [
        ("Accuracy@1", [[1, 0, 0]], (1 / 3 * 3 + 2 / 3 * 1) / 3),
        ("Accuracy@2", [[0], [1, 0]], (1 / 2 * 2 + 1 / 2 * 0) / 3),
        ("FallOut@1", [[1, 0, 0]], (1 / 3 * 0 + 2 / 3 * 1) / 2),
        ("FallOut@2", [[1], [1, 0, 0]], (2 / 3 * 1) / 2),
    ],
)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups that straddle the cutoff: the mean over the orders of their documents."""
    labels = [label for group in groups for label in group]
    scores = [-place for place, group in enumerate(groups) for _ in group]

    assert evaluate(labels, scores, metric, offsets=[0, len(labels)])[metric] == exactly(expected)
