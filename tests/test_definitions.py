"""Every metric by its definition: the arithmetic written out, for the kernels and for the reference."""

from math import comb, fsum, inf, log2, nan

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.catalog import CATALOG
from fastndcg.rankings import Rankings

EVALUATE = pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])


def exactly(value):
    """The value up to the last digits of float64."""
    return pytest.approx([value], rel=1e-14, abs=0, nan_ok=True)


# record: metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = {
    "nDCG": [
        ("nDCG", [0, 2, 1], [], (2 / log2(3) + 1 / log2(4)) / (2 / log2(2) + 1 / log2(3))),
        ("nDCG@2", [0, 2, 1], [], (2 / log2(3)) / (2 / log2(2) + 1 / log2(3))),
        ("nDCG@1", [0, 2, 1], [], 0 / (2 / log2(2))),
        ("nDCG@3", [0, 2], [3, 1], (2 / log2(3)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4))),
        ("nDCG(gain=exp2)", [1, 3], [], ((2**1 - 1) / log2(2) + (2**3 - 1) / log2(3)) / (7 / log2(2) + 1 / log2(3))),
        ("nDCG(gain=[0,1,5])", [1, 2], [], (1 / log2(2) + 5 / log2(3)) / (5 / log2(2) + 1 / log2(3))),
        ("nDCG(rel=2)", [1, 2], [], (0 / log2(2) + 2 / log2(3)) / (2 / log2(2))),
        ("nDCG", [0, 0], [], nan),
        ("nDCG(rel=3)", [1, 2], [], nan),
        ("nDCG", [], [2], 0.0),
        ("nDCG", [], [], nan),
    ],
    "DCG": [
        ("DCG", [0, 2, 1], [], 0 / log2(2) + 2 / log2(3) + 1 / log2(4)),
        ("DCG@2", [0, 2, 1], [], 0 / log2(2) + 2 / log2(3)),
        ("DCG(gain=exp2)", [3, 0, 1], [], (2**3 - 1) / log2(2) + 0 / log2(3) + (2**1 - 1) / log2(4)),
        ("DCG(rel=2)", [1, 2, 3], [], 2 / log2(3) + 3 / log2(4)),
        ("DCG", [0, 0], [3], 0.0),
        ("DCG", [], [], 0.0),
    ],
    "CG": [
        ("CG", [0, 2, 1], [], 0 + 2 + 1),
        ("CG@2", [0, 2, 1], [], 0 + 2),
        ("CG(gain=exp2)", [0, 2, 1], [], (2**2 - 1) + (2**1 - 1)),
        ("CG(rel=2)", [3, 2, 1], [], 3 + 2),
        ("CG", [], [1], 0.0),
    ],
    "IDCG": [
        ("IDCG", [0, 1, 2], [], 2 / log2(2) + 1 / log2(3)),
        ("IDCG@2", [0, 1], [3, 2], 3 / log2(2) + 2 / log2(3)),
        ("IDCG(gain=exp2)@1", [0, 1, 2], [], (2**2 - 1) / log2(2)),
        ("IDCG", [0], [], 0.0),
    ],
    "AP": [
        ("AP", [1, 0, 1], [], (1 / 1 + 2 / 3) / 2),
        ("AP", [1, 0, 1], [1], (1 / 1 + 2 / 3) / 3),
        ("AP@2", [1, 0, 1], [], (1 / 1) / 2),
        ("AP(rel=2)", [1, 2, 0, 3], [], (1 / 2 + 2 / 4) / 2),
        ("AP", [0, 0], [1], 0.0),
        ("AP", [0, 0], [], nan),
    ],
    "RR": [
        ("RR", [0, 0, 1, 1], [], 1 / 3),
        ("RR@3", [0, 0, 1, 1], [], 1 / 3),
        ("RR@2", [0, 0, 1, 1], [], 0.0),
        ("RR(rel=2)", [1, 2], [], 1 / 2),
        ("RR", [0], [1], 0.0),
        ("RR", [], [], 0.0),
    ],
    "P": [
        ("P@2", [1, 0, 1], [], 1 / 2),
        ("P@5", [1, 0, 1], [], 2 / 5),
        ("P", [1, 0, 1], [1, 1], 2 / 3),
        ("P(rel=2)@2", [1, 2], [], 1 / 2),
        ("P@2", [], [1], 0 / 2),
        ("P", [], [1], 0.0),
    ],
    "R": [
        ("R@2", [1, 0, 1], [], 1 / 2),
        ("R", [1, 0, 1], [1], 2 / 3),
        ("R(rel=2)@1", [1, 2], [], 0 / 1),
        ("R", [0], [], nan),
    ],
    "F": [
        ("F@2", [1, 0, 1], [1], 2 * (1 / 2) * (1 / 3) / (1 / 2 + 1 / 3)),
        ("F", [1, 0, 1], [1], 2 * (2 / 3) * (2 / 3) / (2 / 3 + 2 / 3)),
        ("F(beta=2)@2", [1, 0, 1], [1], (1 + 2**2) * (1 / 2) * (1 / 3) / (2**2 * (1 / 2) + 1 / 3)),
        ("F(beta=0.5)@2", [1, 0, 1], [1], (1 + 0.5**2) * (1 / 2) * (1 / 3) / (0.5**2 * (1 / 2) + 1 / 3)),
        ("F@2", [0, 0, 1], [], 0.0),
        ("F@2", [0, 0, 0], [], nan),
    ],
    "Success": [
        ("Success@2", [0, 1], [], 1.0),
        ("Success@1", [0, 1], [], 0.0),
        ("Success", [0, 0, 1], [], 1.0),
        ("Success(rel=2)", [1, 1], [2], 0.0),
        ("Success", [], [], 0.0),
    ],
    "Rprec": [
        ("Rprec", [1, 0, 1], [], 1 / 2),
        ("Rprec", [1, 0, 1], [1], 2 / 3),
        ("Rprec@1", [1, 0, 1], [], 1 / 1),
        ("Rprec", [1], [1, 1], 1 / 3),
        ("Rprec(rel=2)", [1, 2], [], 0 / 1),
        ("Rprec", [0], [], nan),
    ],
    "num_ret": [("num_ret", [1, 0, 0], [1], 3), ("num_ret@2", [1, 0, 0], [1], 2), ("num_ret", [], [1], 0)],
    "num_rel": [
        ("num_rel", [1, 0, 2], [1], 3),
        ("num_rel(rel=2)", [1, 0, 2], [1], 1),
        ("num_rel@2", [1, 0, 2], [1], 2),
        ("num_rel", [], [], 0),
    ],
    "num_rel_ret": [
        ("num_rel_ret", [1, 0, 2], [1], 2),
        ("num_rel_ret@2", [1, 0, 2], [1], 1),
        ("num_rel_ret(rel=2)", [1, 0, 2], [1], 1),
    ],
}
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


def test_every_record_has_a_definition():
    """No metric of the catalogue is without its arithmetic here, and each stands under its own name."""
    assert DEFINITIONS.keys() == CATALOG.keys()
    for name, of_record in DEFINITIONS.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_is_what_the_definition_says(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    pool = (labels + unretrieved, [0, len(labels) + len(unretrieved)])
    rankings = Rankings(labels, [-rank for rank in range(len(labels))], [0, len(labels)], pool=pool)

    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


# metric, labels of the tie groups in rank order, value
TIES = [
    ("nDCG", [[2, 1]], ((2 + 1) * (1 / log2(2) + 1 / log2(3)) / 2) / (2 / log2(2) + 1 / log2(3))),
    ("nDCG@2", [[1], [3, 0, 0]], (1 / log2(2) + 3 / 3 / log2(3)) / (3 / log2(2) + 1 / log2(3))),
    ("DCG", [[1], [2, 0]], 1 / log2(2) + 2 * (1 / log2(3) + 1 / log2(4)) / 2),
    ("DCG@2", [[1], [2, 0]], 1 / log2(2) + 2 * (1 / log2(3)) / 2),
    ("DCG@4", [[1], [2, 1, 0, 0]], 1 / log2(2) + (2 + 1) * (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) / 4),
    ("CG@2", [[1], [3, 2, 0]], 1 + (3 + 2 + 0) / 3),
    ("IDCG", [[1, 2]], 2 / log2(2) + 1 / log2(3)),
    ("AP", [[1, 0]], (1 / 1 + 1 / 2) / 2),
    ("AP", [[1, 1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1 + 2 / 3) / 2 + (1 / 2 + 2 / 3) / 2) / 3),
    ("AP@2", [[1, 1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1) / 2 + (1 / 2) / 2) / 3),
    ("AP", [[1], [1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1 + 2 / 3) / 2) / 2),
    ("RR", [[1, 0, 0]], (1 / 1 + 1 / 2 + 1 / 3) / 3),
    ("RR@2", [[1, 0, 0]], (1 / 1 + 1 / 2 + 0) / 3),
    ("RR", [[0], [1, 1, 0]], 2 / 3 * (1 / 2) + 1 / 3 * (1 / 3)),
    ("P@2", [[0], [1, 1, 0]], (0 + 2 / 3) / 2),
    ("P@1", [[1, 0]], (1 / 1 + 0 / 1) / 2),
    ("R@2", [[1], [1, 1, 0]], (1 + 2 / 3) / 3),
    ("F@2", [[0], [1, 1, 0]], 2 / 3 * (2 * (1 / 2) * (1 / 2) / (1 / 2 + 1 / 2)) + 1 / 3 * 0),
    ("Success@2", [[0], [1, 0, 0]], 1 / 3),
    ("Success@3", [[0], [1, 1, 0, 0]], 1 - (2 / 4) * (1 / 3)),
    ("Success@3", [[0], [1, 1, 1, 0]], 1.0),
    ("Rprec", [[0], [1, 1, 0]], (0 + 2 / 3) / 2),
    ("Rprec@1", [[1, 1, 0]], 2 / 3),
    ("num_ret@2", [[0], [1, 1, 0]], 2),
    ("num_rel", [[0], [1, 1, 0]], 2),
    ("num_rel_ret@3", [[0], [1, 1, 0]], 2 * (2 / 3)),
    ("AP@2 n_hits", [[1], [1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1) / 1) / 2),
    ("AP@2 n_hits", [[0], [1, 0]], ((1 / 2) / 1 + 0) / 2),
    ("AP@3 n_hits", [[1], [0], [1, 1, 0]], (2 / 3) * (1 / 1 + 2 / 3) / 2 + (1 / 3) * (1 / 1) / 1),
]


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    """Tie groups that straddle the cutoff or not: the mean over the orders of their documents."""
    labels = [label for group in groups for label in group]
    scores = [-place for place, group in enumerate(groups) for _ in group]
    metric, _, denominator = metric.partition(" ")
    convention = f"default(ap_denominator={denominator or 'n_relevant'})"

    result = evaluate(labels, scores, metric, offsets=[0, len(labels)], convention=convention)

    assert result[metric] == exactly(expected)


# of so many equal scores so many are relevant, and so many ranks count
LARGE_GROUPS = [
    (3000, 1500, 1000),
    (1000, 500, 1000),
    (3000, 10, 7),
    (3000, 2990, 20),
    (100_000, 1, 1),
    (100_000, 2, 5),
]


@pytest.mark.parametrize(("n", "n_relevant", "k"), LARGE_GROUPS)
def test_chances_in_large_tie_groups_are_exact(n, n_relevant, k):
    """Quotients of whole binomial coefficients: the kernels lose no digit of them among thousands of equal scores."""
    n_most = min(k, n_relevant)
    chance_of = [comb(n_relevant, x) * comb(n - n_relevant, k - x) / comb(n, k) for x in range(n_most + 1)]
    chance_first = [comb(n - r, n_relevant - 1) / comb(n, n_relevant) for r in range(1, min(k, n - n_relevant + 1) + 1)]

    def precisions(among, x):
        """Expected sum of P@r over the ranks r = 1 … k of those of x relevant documents among so many."""
        return x / among * fsum((1 + (r - 1) * (x - 1) / max(among - 1, 1)) / r for r in range(1, k + 1))

    of_hits = fsum(chance_of[x] * precisions(k, x) / x for x in range(1, n_most + 1))
    expected = {
        f"Success@{k}": (comb(n, k) - comb(n - n_relevant, k)) / comb(n, k),
        f"RR@{k}": fsum(chance / r for r, chance in enumerate(chance_first, 1)),
        f"P@{k}": fsum(x * chance for x, chance in enumerate(chance_of)) / k,
        f"AP@{k}": precisions(n, n_relevant) / n_relevant,
    }
    query = ([1] * n_relevant + [0] * (n - n_relevant), [0.5] * n)

    result = fn.evaluate(*query, list(expected), groups=[n])
    hits_only = fn.evaluate(*query, f"AP@{k}", groups=[n], convention="default(ap_denominator=n_hits)")

    assert result.mean() == pytest.approx(expected, rel=1e-12, abs=0)
    assert hits_only.means() == pytest.approx([of_hits], rel=1e-12, abs=0)


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("average", (1 / 1 + 1 / 2 + 1 / 3) / 3),
        ("input", 1 / 2),
        ("id_descending", 1 / 3),
        ("id_ascending", 1 / 1),
        ("best", 1 / 1),
        ("worst", 1 / 3),
    ],
)
@EVALUATE
def test_tie_policy_places_the_relevant_document(evaluate, ties, expected):
    """Of three equal scores, the relevant document is the second as given, and has the lowest tie key."""
    rankings = Rankings([0, 1, 0], [0.5, 0.5, 0.5], [0, 3], tie_keys=[3, 1, 2])

    result = evaluate(rankings, metrics="RR", convention=f"default(ties={ties})")

    assert result["RR"] == exactly(expected)


@pytest.mark.parametrize("ties", ["id_descending", "id_ascending", "input"])
@EVALUATE
def test_equal_tie_keys_stay_as_given(evaluate, ties):
    """Documents with the same tie key keep the order in which they were given."""
    rankings = Rankings([0, 1, 0], [0.5, 0.5, 0.5], [0, 3], tie_keys=[7, 7, 7])

    assert evaluate(rankings, metrics="RR", convention=f"default(ties={ties})")["RR"] == [1 / 2]


@EVALUATE
def test_ties_are_counted_where_they_decide(evaluate):
    """A query counts if equal scores with different labels begin within the deepest cutoff; −0.0 equals 0.0."""
    labels = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    scores = [[5, 5, 1], [5, 5, 1], [5, 1, 1], [0.0, -0.0, -1], [3, 2, 1]]

    assert evaluate(labels, scores, "RR@1").n_tied == 2
    assert evaluate(labels, scores, "RR@1,P@2").n_tied == 3


# labels in rank order, metric, what tutorials and papers print, the same written out
TEXTBOOK = [
    (
        [3, 2, 3, 0, 1], "nDCG", 0.97236,
        (3 / log2(2) + 2 / log2(3) + 3 / log2(4) + 0 / log2(5) + 1 / log2(6))
        / (3 / log2(2) + 3 / log2(3) + 2 / log2(4) + 1 / log2(5) + 0 / log2(6)),
    ),
    (
        [3, 2, 1, 0, 2], "nDCG@5", 0.97243,
        (3 / log2(2) + 2 / log2(3) + 1 / log2(4) + 0 / log2(5) + 2 / log2(6))
        / (3 / log2(2) + 2 / log2(3) + 2 / log2(4) + 1 / log2(5) + 0 / log2(6)),
    ),
    (
        [3, 2, 1, 0, 2], "nDCG@3", 0.90498,
        (3 / log2(2) + 2 / log2(3) + 1 / log2(4)) / (3 / log2(2) + 2 / log2(3) + 2 / log2(4)),
    ),
    (
        [4, 2, 0, 1, 3], "nDCG", 0.93577,
        (4 / log2(2) + 2 / log2(3) + 0 / log2(4) + 1 / log2(5) + 3 / log2(6))
        / (4 / log2(2) + 3 / log2(3) + 2 / log2(4) + 1 / log2(5) + 0 / log2(6)),
    ),
    (
        [4, 1, 3, 4, 0], "nDCG", 0.92894,
        (4 / log2(2) + 1 / log2(3) + 3 / log2(4) + 4 / log2(5) + 0 / log2(6))
        / (4 / log2(2) + 4 / log2(3) + 3 / log2(4) + 1 / log2(5) + 0 / log2(6)),
    ),
    (
        [5, 3, 2, 1, 4], "nDCG", 0.96096,
        (5 / log2(2) + 3 / log2(3) + 2 / log2(4) + 1 / log2(5) + 4 / log2(6))
        / (5 / log2(2) + 4 / log2(3) + 3 / log2(4) + 2 / log2(5) + 1 / log2(6)),
    ),
    (
        [5, 1, 3, 2, 4], "DCG(gain=exp2)", 42.225751536309765,
        (2**5 - 1) / log2(2) + (2**1 - 1) / log2(3) + (2**3 - 1) / log2(4) + (2**2 - 1) / log2(5)
        + (2**4 - 1) / log2(6),
    ),
    (
        [5, 1, 3, 2, 4], "nDCG(gain=exp2)", 0.92513,
        (31 / log2(2) + 1 / log2(3) + 7 / log2(4) + 3 / log2(5) + 15 / log2(6))
        / (31 / log2(2) + 15 / log2(3) + 7 / log2(4) + 3 / log2(5) + 1 / log2(6)),
    ),
    (
        [5, 3, 4, 2, 1], "DCG(gain=exp2)", 44.595390756454925,
        (2**5 - 1) / log2(2) + (2**3 - 1) / log2(3) + (2**4 - 1) / log2(4) + (2**2 - 1) / log2(5)
        + (2**1 - 1) / log2(6),
    ),
    (
        [5, 3, 4, 2, 1], "nDCG(gain=exp2)", 0.97705,
        (31 / log2(2) + 7 / log2(3) + 15 / log2(4) + 3 / log2(5) + 1 / log2(6))
        / (31 / log2(2) + 15 / log2(3) + 7 / log2(4) + 3 / log2(5) + 1 / log2(6)),
    ),
    (
        [0.8, 0.9, 0.7], "nDCG", 0.97897,
        (0.8 / log2(2) + 0.9 / log2(3) + 0.7 / log2(4)) / (0.9 / log2(2) + 0.8 / log2(3) + 0.7 / log2(4)),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("labels", "metric", "printed", "expected"), TEXTBOOK)
@EVALUATE
def test_textbook_values(evaluate, labels, metric, printed, expected):
    """Labels in rank order give the printed figure, and to full precision what its arithmetic gives."""
    value = evaluate([labels], [[5, 4, 3, 2, 1][: len(labels)]], metric)[metric]

    assert value == exactly(expected)
    assert value == pytest.approx([printed], abs=5.1e-6)


@EVALUATE
def test_a_perfect_textbook_order_is_exactly_one(evaluate):
    """Labels 4, 2, 2, 2, 1 in rank order are their own ideal, also where the equal ones tie."""
    assert evaluate([[4, 2, 2, 2, 1]], [[5, 4, 3, 2, 1]], "nDCG")["nDCG"] == [1.0]
    assert evaluate([[4, 2, 2, 2, 1]], [[5, 4, 4, 4, 1]], "nDCG")["nDCG"] == [1.0]


@EVALUATE
def test_the_ideal_comes_from_the_whole_pool(evaluate):
    """Labels 4, 0, 0, 0, 0 retrieved of a pool 4, 2, 2, 2, 1: 0.53262 in print."""
    rankings = Rankings([4, 0, 0, 0, 0], [5, 4, 3, 2, 1], [0, 5], pool=([4, 2, 2, 2, 1], [0, 5]))
    expected = (4 / log2(2)) / (4 / log2(2) + 2 / log2(3) + 2 / log2(4) + 2 / log2(5) + 1 / log2(6))

    assert evaluate(rankings, metrics="nDCG")["nDCG"] == exactly(expected)
    assert expected == pytest.approx(0.53262, abs=5e-6)


# convention, metric, labels, scores, value
CHOSEN = [
    ("gain=exp2", "DCG", [2, 0], [2, 1], (2**2 - 1) / log2(2)),
    ("gain=[0,1,9]", "DCG", [2, 1], [2, 1], 9 / log2(2) + 1 / log2(3)),
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
]


@pytest.mark.parametrize(("choice", "metric", "labels", "scores", "expected"), CHOSEN)
@EVALUATE
def test_each_choice_of_a_convention(evaluate, choice, metric, labels, scores, expected):
    """Every field of a convention does what it says."""
    result = evaluate(labels, np.array(scores, "f8"), metric, groups=[len(labels)], convention=f"default({choice})")

    assert result[metric] == exactly(expected)


@pytest.mark.parametrize(("unjudged", "expected"), [("nonrelevant", 1 / 3), ("removed", 1 / 2)])
@EVALUATE
def test_unjudged_documents_keep_their_rank_or_lose_it(evaluate, unjudged, expected):
    """An unjudged document above the relevant one counts as not relevant, or as not there."""
    rankings = Rankings([0, 0, 1], [3, 2, 1], [0, 3], judged=[False, True, True])

    result = evaluate(rankings, metrics="RR,num_ret", convention=f"default(unjudged={unjudged})")

    assert result["RR"] == exactly(expected)
    assert result["num_ret"] == [{"nonrelevant": 3, "removed": 2}[unjudged]]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("missing_in_run=zero", {"a": 1 / 2, "b": 0}),
        ("missing_in_run=skip", {"a": 1 / 2}),
        ("missing_in_qrels=skip", {"a": 1 / 2, "b": 0}),
        ("missing_in_qrels=undefined", {"a": 1 / 2, "b": 0, "c": nan}),
        ("missing_in_qrels=undefined,undefined=1", {"a": 1 / 2, "b": 0, "c": 1}),
    ],
)
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
    """The error says which side lacks which query."""
    with pytest.raises(fn.InvalidInputError, match=r"query . .*is missing in the (run|qrels)"):
        evaluate({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1}, "c": {"x": 1}}, "R", convention=f"default({choice})")


@EVALUATE
def test_negative_labels_are_an_error_in_arrays_and_zero_in_qrels(evaluate):
    """By default: an array's are refused, and those of qrels mark documents that nobody judged."""
    with pytest.raises(fn.InvalidInputError, match=r"labels\[1\] \(query 0\) is -1"):
        evaluate([1, -1], [1, 2], "RR", groups=[2])

    assert evaluate({"a": {"x": 1, "y": -1}}, {"a": {"x": 1, "y": 2}}, "RR")["RR"] == [1 / 2]


@EVALUATE
def test_numbers_at_the_edge_of_float64(evaluate):
    """Labels near 0 keep their exp2 gain, and F its limits, recall and precision, where beta² leaves float64."""
    tiny = evaluate([1e-20, 0.0], [1, 2], "ndcg(gain=exp2)", offsets=[0, 2])
    assert tiny.values == pytest.approx((1 / log2(3)) / (1 / log2(2)), rel=1e-15)
    ranked = [1, 0, 1, 1], [4, 3, 2, 1]
    assert evaluate(*ranked, fn.F(beta=1e200) @ 2, offsets=[0, 4]).values == pytest.approx(1 / 3, rel=1e-15)
    assert evaluate(*ranked, fn.F(beta=1e-200) @ 2, offsets=[0, 4]).values == pytest.approx(1 / 2, rel=1e-15)
