"""ERR, PFound and time-biased gain by their definitions: the arithmetic written out, for kernels and reference."""

from math import fsum, nan

import numpy as np
import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

import fastndcg as fn
from fastndcg.rankings.rankings import Rankings

ONE, TWO, FOUR = (2**1 - 1) / 2**4, (2**2 - 1) / 2**4, (2**4 - 1) / 2**4  # chances to stop at grades, of 4 at the most
READ = 0.018 * 363 + 7.8  # seconds for a document whose summary was clicked

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "ERR": [
        ("ERR", [0, 1, 2, 4], [], ONE / 2 + (1 - ONE) * TWO / 3 + (1 - ONE) * (1 - TWO) * FOUR / 4),
        ("ERR@3", [0, 1, 2, 4], [], ONE / 2 + (1 - ONE) * TWO / 3),
        ("ERR(max_grade=2)", [2, 1], [4 - 2], (3 / 4) / 1 + (1 / 4) * (1 / 4) / 2),
        ("ERR(stop=labels)", [0.5, 0, 1], [], 0.5 / 1 + 0.5 * 1 / 3),
        ("ERR(stop=labels)", [1, 1], [], 1.0),
        ("ERR", [0, 0], [1], 0.0),
        ("ERR", [], [], 0.0),
    ],
    "nERR": [
        ("nERR", [1, 2], [], (ONE / 1 + (1 - ONE) * TWO / 2) / (TWO / 1 + (1 - TWO) * ONE / 2)),
        ("nERR@1", [1, 2], [4], (ONE / 1) / (FOUR / 1)),
        ("nERR(stop=labels)", [0.5, 1], [], (0.5 + 0.5 / 2) / 1),
        ("nERR", [2, 1, 0], [], 1.0),
        ("nERR", [0], [1], 0.0),
        ("nERR", [0, 0], [], nan),
    ],
    "PFound": [
        ("PFound(stop=labels)", [0.5, 0, 0.25], [], 0.5 + 0.85**2 * 0.5 * 0.25),
        ("PFound(stop=labels,decay=0.5)@2", [0.5, 0.5, 1], [], 0.5 + 0.5 * 0.5 * 0.5),
        ("PFound", [1, 2], [], ONE + 0.85 * (1 - ONE) * TWO),
        ("PFound(max_grade=2)", [1, 2], [], 1 / 4 + 0.85 * (3 / 4) * (3 / 4)),
        ("PFound", [0], [1], 0.0),
    ],
    "TBG": [
        ("TBG", [1], [], 0.64 * 0.77),
        ("TBG", [0, 1], [], 0.64 * 0.77 * 2 ** (-(4.4 + READ * 0.39) / 224)),
        ("TBG", [1, 0, 1], [1], 0.64 * 0.77 * (1 + 2 ** (-(2 * 4.4 + READ * (0.64 + 0.39)) / 224))),
        ("TBG@2", [1, 0, 1], [], 0.64 * 0.77),
        ("TBG(half_life=10,words=100)", [0, 1], [], 0.64 * 0.77 * 2 ** (-(4.4 + (1.8 + 7.8) * 0.39) / 10)),
        ("TBG(rel=2)", [1, 2], [], 0.64 * 0.77 * 2 ** (-(4.4 + READ * 0.39) / 224)),
        ("TBG", [0, 0], [1], 0.0),
    ],
}
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_cascade_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


# metric, labels of the tie groups in rank order, value
TIES = [
    ("ERR", [[1, 0]], (ONE / 1 + ONE / 2) / 2),
    ("ERR@1", [[1, 0]], (ONE / 1 + 0) / 2),
    ("ERR", [[2, 1]], ((TWO / 1 + (1 - TWO) * ONE / 2) + (ONE / 1 + (1 - ONE) * TWO / 2)) / 2),
    ("ERR", [[2], [1, 0]], TWO / 1 + (1 - TWO) * (ONE / 2 + ONE / 3) / 2),
    ("ERR", [[2, 0], [1]], (TWO / 1 + TWO / 2) / 2 + (1 - TWO) * ONE / 3),
    ("nERR", [[2, 0]], (TWO / 1 + TWO / 2) / 2 / (TWO / 1)),
    ("PFound(stop=labels)", [[0.5, 0]], (0.5 + 0.85 * 0.5) / 2),
    ("TBG@1", [[1, 1, 0]], 0.64 * 0.77 * 2 / 3),
    ("TBG@2", [[1, 1, 0]], 0.64 * 0.77 * ((2 / 3) + (1 / 3) * 2 ** (-(4.4 + READ * 0.64) / 224)
                                           + (1 / 3) * 2 ** (-(4.4 + READ * 0.39) / 224))),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups: the mean over the orders of their documents."""
    labels, scores = rank_groups(groups)
    assert evaluate(labels, scores, metric, offsets=[0, len(labels)])[metric] == exactly(expected)


@pytest.mark.parametrize(("n", "n_relevant"), [(3000, 1500), (3000, 3), (50_000, 40)])
@pytest.mark.parametrize("grade", [1, 4])
def test_chances_in_large_tie_groups_are_exact(n, n_relevant, grade):
    """Thousands of equal scores, some with one grade: hypergeometric sums, as far as they have digits."""
    stop = (2**grade - 1) / 2**4
    hits = np.arange(n_relevant + 1)  # among the documents drawn so far
    chances = (hits == 0) * 1.0
    terms = []
    for r in range(1, n + 1):
        hit = (n_relevant - hits) / (n - r + 1)
        terms.append(float(chances @ (hit * (1 - stop) ** hits)) * stop / r)
        chances = chances * (1 - hit) + np.concatenate([[0], (chances * hit)[:-1]])
        if chances @ (1 - stop) ** hits < 1e-18 or r > 5000:
            break
    metric = fn.ERR @ len(terms)
    result = fn.evaluate([grade] * n_relevant + [0] * (n - n_relevant), [0.5] * n, metric, groups=[n])
    assert result[metric] == pytest.approx([fsum(terms)], rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("metric", "labels", "message"),
    [
        ("ERR", [1, 5], r"at most 4 for ERR, .*labels\[1\] .* is 5. Take a higher max_grade"),
        ("ERR(stop=labels)", [1, 2], r"at most 1 for ERR\(stop=labels\), .* Take stop='grades'"),
        ("nERR(max_grade=2)", [3, 1], r"at most 2 for nERR"),
        ("PFound", [1, 9], r"at most 4 for PFound"),
    ],
)
def test_labels_above_the_highest_grade_are_refused(metric, labels, message):
    with pytest.raises(fn.InvalidInputError, match="`labels` must"):
        fn.evaluate(labels, [2, 1], metric, groups=[2])
    with pytest.raises(fn.InvalidInputError, match=message):
        fn.evaluate(labels, [2, 1], fn.Metric.parse(metric), groups=[2])
    with pytest.raises(fn.InvalidInputError):
        fn.reference.evaluate(labels, [2, 1], metric, groups=[2])
    with pytest.raises(fn.InvalidInputError, match="`pool` must"):
        fn.evaluate(Rankings([0, 0], [2, 1], [0, 2], pool=([0, 9], [0, 2])), metrics=metric)
