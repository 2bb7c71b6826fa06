"""Multilabel ranking metrics by definition, with the arithmetic written out, for kernels and reference."""

from math import comb, fsum, nan

import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

import fastndcg as fn

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "LRAP": [
        ("LRAP", [1, 0, 1], [], (1 / 1 + 2 / 3) / 2),
        ("LRAP", [1, 0, 1], [1], (1 / 1 + 2 / 3) / 3),
        ("LRAP(rel=2)", [1, 2], [], 1 / 2),
        ("LRAP", [1, 1], [], 1.0),
        ("LRAP", [0], [], nan),
    ],
    "CoverageError": [
        ("CoverageError", [1, 0, 1, 0], [], 3),
        ("CoverageError(rel=2)", [2, 1, 1], [], 1),
        ("CoverageError", [1, 0, 1, 0], [1, 1, 0], 4 + 2),
        ("CoverageError", [], [1], 1),
        ("CoverageError", [0, 0], [], nan),
    ],
    "PatR": [
        ("PatR", [0, 1, 0, 1, 1], [], 2 / 4),
        ("PatR(recall=0.3)", [0, 1, 0, 1, 1], [], 1 / 2),
        ("PatR(recall=1)", [0, 1, 0, 1, 1], [], 3 / 5),
        ("PatR(recall=0.7)", [1] * 7 + [0] + [1] * 3, [], 7 / 7),
        ("PatR(recall=1)", [1], [1], 0.0),
        ("PatR(rel=2,recall=1)", [1, 2], [], 1 / 2),
        ("PatR", [], [1], 0.0),
        ("PatR", [0], [], nan),
    ],
}
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_multilabel_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


# metric, labels of the tie groups in rank order, value
TIES = [
    ("LRAP", [[1, 0]], (1 / 1 + 1 / 2) / 2),
    ("LRAP", [[1], [1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1 + 2 / 3) / 2) / 2),
    ("CoverageError", [[1, 0, 0]], (1 + 2 + 3) / 3),
    ("CoverageError", [[0], [1, 1, 0]], 1 + (2 + 3 + 3) / 3),
    ("CoverageError", [[1, 0], [0]], (1 + 2) / 2),
    ("PatR(recall=1)", [[1, 0]], (1 / 1 + 1 / 2) / 2),
    ("PatR(recall=0.5)", [[0], [1, 1, 0]], 2 / 3 * (1 / 2) + 1 / 3 * (1 / 3)),
    ("PatR(recall=1)", [[0], [1, 1, 0]], 1 / 3 * (2 / 3) + 2 / 3 * (2 / 4)),
    ("PatR(recall=1)", [[1], [1, 0, 0]], (2 / 2 + 2 / 3 + 2 / 4) / 3),
]


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups: the mean over the orders of their documents."""
    labels, scores = rank_groups(groups)
    assert evaluate(labels, scores, metric, offsets=[0, len(labels)])[metric] == exactly(expected)


@pytest.mark.parametrize(("n", "n_relevant"), [(3000, 1500), (1000, 10), (3000, 2990), (30_000, 2), (100_000, 1)])
@pytest.mark.parametrize("recall", [0.01, 0.5, 1])
def test_chances_in_large_tie_groups_are_exact(n, n_relevant, recall):
    """Quotients of whole binomial coefficients: of thousands of equal scores no digit of them is lost."""
    wanted = next(i for i in range(1, n_relevant + 1) if i / n_relevant >= recall)
    ranks = range(wanted, n - n_relevant + wanted + 1)
    cases = (comb(r - 1, wanted - 1) * comb(n - r, n_relevant - wanted) for r in ranks)
    expected = fsum(wanted / r * (case / comb(n, n_relevant)) for r, case in zip(ranks, cases, strict=True))
    metric = fn.Metric("PatR", recall=recall)
    result = fn.evaluate([1] * n_relevant + [0] * (n - n_relevant), [0.5] * n, metric, groups=[n])
    assert result[metric] == pytest.approx([expected], rel=1e-12, abs=0)


@pytest.mark.parametrize(("ties", "expected"), [("best", 1), ("worst", 3), ("average", 2)])
@EVALUATE
def test_coverage_error_takes_the_rank_that_the_policy_gives(evaluate, ties, expected):
    """One relevant document among three equal scores."""
    result = evaluate([0, 1, 0], [5, 5, 5], "CoverageError", groups=[3], convention=f"default(ties={ties})")
    assert result["CoverageError"] == exactly(expected)
