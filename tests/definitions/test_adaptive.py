"""INST and the Bejeweled player model by their definitions: the arithmetic written out, for kernels and reference."""

from math import fsum, pi

import numpy as np
import pytest
from evaluators import EVALUATE, exactly, rank_labels

import fastndcg as fn

ALL = pi**2 / 6  # 1 + 1/4 + 1/9 + …

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "INST": [
        # the goal is 1, so that left is 1 at first: the chance to go on from rank r is ((r + 1) / (r + 2))²
        ("INST@3", [0, 0, 1], [], (2 / 4) ** 2 / (1 + (2 / 3) ** 2 + (2 / 4) ** 2)),
        # left is 0 from rank 1 on: (r / (r + 1))²
        ("INST@3", [1, 0, 0], [], 1 / (1 + (1 / 2) ** 2 + (1 / 3) ** 2)),
        ("INST@3", [1], [], 1 / (1 + (1 / 2) ** 2 + (1 / 3) ** 2)),
        ("INST", [1], [], 1 / ALL),
        ("INST", [0, 1], [1], (2 / 3) ** 2 / (1 + (2 / 3) ** 2 * ((2 / 2) ** 2 + (2 / 3) ** 2 + 4 * (ALL - 49 / 36)))),
        ("INST(goal=2)@2", [1, 1, 1], [], 1.0),
        ("INST(goal=2)@2", [1, 0], [], 1 / (1 + (3 / 4) ** 2)),
        ("INST(goal=0.5)", [1, 1, 0, 1], [], 1.0),
        ("INST(gain=[0,0.5,1])@2", [1, 2], [], (0.5 + (1.5 / 2.5) ** 2) / (1 + (1.5 / 2.5) ** 2)),
        ("INST(gain=linear)@2", [0.5, 0.25], [], (0.5 + 0.25 * (1.5 / 2.5) ** 2) / (1 + (1.5 / 2.5) ** 2)),
        ("INST(rel=2)@2", [1, 2], [], (2 / 3) ** 2 / (1 + (2 / 3) ** 2)),
        ("INST", [0, 0], [1], 0.0),
        ("INST", [], [], 0.0),
    ],
    "BPM": [
        ("BPM", [0, 1, 1], [], 1 / 2),
        ("BPM(goal=2)", [0, 1, 0, 1, 1], [], 2 / 4),
        ("BPM(goal=2)@3", [0, 1, 0, 1, 1], [], 1 / 3),
        ("BPM(goal=2)@10", [0, 1], [1], 1 / 10),
        ("BPM(goal=2)", [0, 1], [1], 0.0),
        ("BPM(goal=3,gain=linear)", [1, 2, 3], [], (1 + 2) / 2),
        ("BPM(goal=0.6,gain=linear)", [0.3, 0.2, 0.1, 1], [], 0.6 / 3),
        ("BPM(goal=2,gain=[0,0.5,1])@5", [2, 0, 1, 1], [], (1 + 0.5 + 0.5) / 4),
        ("BPM(rel=2)", [1, 2], [], 1 / 2),
        ("BPM@1", [0, 1], [], 0.0),
        ("BPM", [], [], 0.0),
    ],
}
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_adaptive_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


@pytest.mark.parametrize("goal", [0.25, 1, 1.3, 7, 300])
@pytest.mark.parametrize("k", [100, 5000, 100_000])
def test_inst_of_long_rankings_is_exact(goal, k):
    """Weights of a hundred thousand ranks, one by one, where few and where many of the documents are relevant."""
    n = min(k, 20_000)
    for share in (0.001, 0.4, 1):
        gains = (np.random.default_rng(5).random(n) < share) * 1.0
        ranks, left = np.arange(1, k + 1), goal - np.cumsum(np.concatenate([gains, np.zeros(k - n)]))
        further = np.cumprod(((ranks + goal + left - 1) / (ranks + goal + left)) ** 2)
        weights = np.concatenate([[1.0], further[:-1]])
        result = fn.evaluate(gains, -np.arange(n), fn.Metric("INST", k, goal=goal), groups=[n])
        expected = fsum(weights[:n] * gains) / fsum(weights)
        assert result.values == pytest.approx(np.array([[expected]]), rel=1e-11)


@EVALUATE
def test_tied_scores_of_different_labels_are_refused(evaluate):
    """No mean over their orders is known: the message says what to do."""
    for metric in ("INST", "BPM", "IPrec", "IAP"):
        message = f"must not tie between different labels for {metric}, .*ties='input' or 'id_descending'"
        with pytest.raises(fn.InvalidInputError, match=message):
            evaluate([1, 0], [0.5, 0.5], metric, groups=[2])
    assert evaluate([1, 1], [0.5, 0.5], "BPM(goal=2)", groups=[2])["BPM(goal=2)"] == [1.0]


@pytest.mark.parametrize(
    ("metric", "labels", "message"),
    [
        ("INST(gain=linear)", [0, 2, 1], r"a gain from 0 to 1 for INST\(gain=linear\), not 2, but labels\[1\]"),
        ("INST(gain=exp2)@1", [1, 0, 2], r"not 3, but labels\[2\].*Take a table such as gain=\[0,0.5,1\]"),
        ("INST(gain=linear)", [0, -1, 0], r"not -1, but labels\[1\]"),
    ],
)
def test_gains_beyond_one_are_refused(metric, labels, message):
    """Found whatever the rank of the document and the cutoff."""
    convention = "default(negative_labels=keep)"
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(labels, [3, 2, 1], metric, groups=[3], convention=convention)
    with pytest.raises(fn.InvalidInputError, match="gains from 0 to 1"):
        fn.reference.evaluate(labels, [3, 2, 1], metric, groups=[3], convention=convention)


@pytest.mark.parametrize("goal", [0.2, 0, -1, 10_001])
def test_goals_that_mean_nothing_are_refused(goal):
    """INST refuses goals below 0.25 or above 10000. Below 0.25, a chance to continue would exceed 1."""
    with pytest.raises(fn.InvalidInputError, match=r"`goal` of INST must be from 0.25 to 10000"):
        fn.INST(goal=goal)
