"""AUC and its relatives by their definitions: the arithmetic written out, for the kernels and for the reference."""

from collections import Counter
from math import comb, nan

import numpy as np
import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

import fastndcg as fn

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "AUC": [
        ("AUC", [1, 0, 1, 0], [], (2 + 1) / (2 * 2)),
        ("AUC", [0, 0, 1], [], 0 / 2),
        ("AUC(rel=2)", [2, 1, 0, 3], [], (2 + 0) / (2 * 2)),
        ("AUC", [1, 0], [1], (1 + 0) / (2 * 1)),
        ("AUC", [1, 1], [], nan),
        ("AUC", [0, 0], [], nan),
        ("AUC", [0, 0], [1], 0 / 2),
        ("AUC", [], [1], nan),
    ],
    "GAUC": [
        ("GAUC", [1, 0, 1, 0], [], (2 + 1) / (2 * 2)),
        ("GAUC(rel=2,weight=positives)", [2, 1, 0, 3], [], (2 + 0) / (2 * 2)),
    ],
    "pAUC": [
        ("pAUC(max_fpr=0.5)", [0, 1, 0, 1, 0, 0], [], (0 + 1) / (2 * 2)),
        ("pAUC(max_fpr=0.25)", [0, 1, 0, 1, 0, 0], [], 0 / (2 * 1)),
        ("pAUC(max_fpr=0.5)", [1, 0, 1, 0, 0], [], (1 + 0.5 * 2) / (2 * 1.5)),
        ("pAUC(max_fpr=1)", [1, 0, 1, 0], [], (1 + 2) / (2 * 2)),
        ("pAUC(max_fpr=1)", [1, 0], [1], 1 / (2 * 1)),
        ("pAUC(max_fpr=0.5,scale=mcclish)", [0, 1, 0, 1, 0, 0], [],
         (1 + ((1 / 4) * 0.5 - 0.5**2 / 2) / (0.5 - 0.5**2 / 2)) / 2),
        ("pAUC", [1], [], nan),
    ],
    "OPA": [
        ("OPA", [1, 0, 1, 0], [], (2 + 1) / (2 * 2)),
        ("OPA", [2, 0, 3, 1], [], (2 + 0 + 1) / 6),
        ("OPA", [2, 2, 1], [], 2 / 2),
        ("OPA", [2, 1], [3, 1], 1 / (1 + 1 + 1)),
        ("OPA", [1, 1], [], nan),
        ("OPA", [], [1], nan),
    ],
    "RankingLoss": [
        ("RankingLoss", [1, 0, 1, 0], [], 1 / (2 * 2)),
        ("RankingLoss", [1, 0], [1], 1 / (2 * 1)),
        ("RankingLoss(rel=2)", [2, 1, 0, 3], [], 2 / (2 * 2)),
        ("RankingLoss", [0, 0], [], nan),
    ],
}  # fmt: skip
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_auc_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


# metric, labels of the tie groups in rank order, value
TIES = [
    ("AUC", [[1, 0]], 1 / 2),
    ("AUC", [[1], [1, 0], [0]], (2 + 1 + 1 / 2) / (2 * 2)),
    ("AUC", [[1, 1, 0]], (1 / 2 + 1 / 2) / 2),
    ("RankingLoss", [[1], [1, 0], [0]], (1 / 2) / (2 * 2)),
    ("OPA", [[2, 1], [0]], (1 / 2 + 1 + 1) / 3),
    ("OPA", [[2, 1, 0], [3]], (1 / 2 + 1 / 2 + 1 / 2) / 6),
    ("pAUC(max_fpr=0.5)", [[1, 0], [0]], (1 / 2) / 1),
    ("pAUC(max_fpr=0.5)", [[1, 0, 0], [0, 0]], (1 / 3 * 2 + 1 / 3 * 1 + 1 / 3 * 0) / 2),
    ("pAUC(max_fpr=0.25)", [[1, 0], [1, 0]], (1 / 2 * 0.5) / (2 * 0.5)),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups: the mean over the orders of their documents."""
    labels, scores = rank_groups(groups)
    assert evaluate(labels, scores, metric, offsets=[0, len(labels)])[metric] == exactly(expected)


WEIGHTS = {"impressions": (3, 2), "positives": (2, 1), "nothing": (1, 1)}


@pytest.mark.parametrize(("weight", "counted"), WEIGHTS.items())
@pytest.mark.parametrize("convention", ["default", "default(default_k=1)"])
@EVALUATE
def test_group_auc_weighs_queries(evaluate, convention, weight, counted):
    """A query of 3 documents with 2 relevant has 1/2, one of 2 with 1 has 0, and one of one class counts nothing."""
    metric = f"GAUC(weight={weight})"
    result = evaluate([1, 0, 1, 0, 1, 1], [3, 2, 1, 2, 1, 0], metric, groups=[3, 2, 1], convention=convention)
    assert result[metric] == pytest.approx([1 / 2, 0, nan], nan_ok=True)
    assert result.means() == exactly((counted[0] * (1 / 2) + counted[1] * 0) / sum(counted))


@pytest.mark.parametrize(("ties", "expected"), [("best", 0), ("worst", 1), ("average", 1 / 2)])
@EVALUATE
def test_ranking_loss_counts_ties_as_the_policy_says(evaluate, ties, expected):
    """Equal scores are right, wrong, or half of each."""
    result = evaluate([1, 0], [5, 5], "RankingLoss", groups=[2], convention=f"default(ties={ties})")
    assert result["RankingLoss"] == exactly(expected)


def test_pairs_of_many_documents_are_counted_exactly():
    """Half of 200,000 documents relevant, of four labels, in three groups of equal scores: no digit is lost."""
    n = 200_000
    labels = np.arange(n) % 4
    scores = np.arange(n) % 3
    count = Counter(zip(labels.tolist(), scores.tolist(), strict=True))
    right = sum(
        count[high, at] * count[low, below] * (1 if at > below else 1 / 2)
        for high in range(4) for low in range(high) for at in range(3) for below in range(at + 1)
    )  # fmt: skip
    pairs = comb(4, 2) * (n // 4) ** 2
    assert fn.evaluate(labels, scores, "OPA", groups=[n])["OPA"] == [right / pairs]


def test_group_auc_has_no_interval_and_is_not_streamed():
    """A mean weighted by documents: both say what to take instead."""
    result = fn.evaluate([1, 0, 0, 1, 0], [3, 2, 1, 2, 1], "GAUC", groups=[3, 2])
    with pytest.raises(fn.InvalidInputError, match=r"Take GAUC\(weight=nothing\)"):
        result.confidence_interval("GAUC")
    with pytest.raises(fn.InvalidInputError, match=r"take GAUC\(weight=nothing\)"):
        fn.StreamingEvaluator("GAUC")
