"""Every metric by its definition: the arithmetic written out, for the kernels and for the reference."""

from math import comb, fsum, log2, nan

import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

import fastndcg as fn
from fastndcg.metrics.families import CATALOG
from fastndcg.rankings.rankings import Rankings

REST = fsum(0.5 ** (d - 1) / d for d in range(3, 99))  # of RBO's weights, below rank 2
DEFINITIONS = {
    "nDCG": [
        ("nDCG", [0, 2, 1], [], (2 / log2(3) + 1 / log2(4)) / (2 / log2(2) + 1 / log2(3))),
        ("nDCG@2", [0, 2, 1], [], (2 / log2(3)) / (2 / log2(2) + 1 / log2(3))),
        ("nDCG@1", [0, 2, 1], [], 0 / (2 / log2(2))),
        ("nDCG@3", [0, 2], [3, 1], (2 / log2(3)) / (3 / log2(2) + 2 / log2(3) + 1 / log2(4))),
        ("nDCG(gain=exp2)", [1, 3], [], ((2**1 - 1) / log2(2) + (2**3 - 1) / log2(3)) / (7 / log2(2) + 1 / log2(3))),
        ("nDCG(gain=[0,1,5])", [1, 2], [], (1 / log2(2) + 5 / log2(3)) / (5 / log2(2) + 1 / log2(3))),
        ("nDCG(rel=2)", [1, 2], [], (0 / log2(2) + 2 / log2(3)) / (2 / log2(2))),
        ("nDCG(discount=1/r)", [0, 2, 1], [], (2 / 2 + 1 / 3) / (2 / 1 + 1 / 2)),
        ("nDCG(gain=[0,1,9],discount=[1,0.5])", [1, 2, 1], [], (1 * 1 + 9 * 0.5 + 1 * 0) / (9 * 1 + 1 * 0.5 + 1 * 0)),
        ("nDCG", [0, 0], [], nan),
        ("nDCG(rel=3)", [1, 2], [], nan),
        ("nDCG(discount=none)@2", [1, 3, 2], [], (1 + 3) / (3 + 2)),  # nCG of Järvelin and Kekäläinen
        ("nDCG", [], [2], 0.0),
        ("nDCG", [], [], nan),
    ],
    "DCG": [
        ("DCG", [0, 2, 1], [], 0 / log2(2) + 2 / log2(3) + 1 / log2(4)),
        ("DCG@2", [0, 2, 1], [], 0 / log2(2) + 2 / log2(3)),
        ("DCG(gain=exp2)", [3, 0, 1], [], (2**3 - 1) / log2(2) + 0 / log2(3) + (2**1 - 1) / log2(4)),
        ("DCG(discount=log2(max(r, 2)))", [3, 2, 1], [], 3 / log2(2) + 2 / log2(2) + 1 / log2(3)),
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
        ("IDCG(discount=[1,0.25])", [0, 1], [2], 2 * 1 + 1 * 0.25),
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
    "Compat": [
        ("Compat(p=0.5)", [0, 1], [], (0.5 / 2 + REST) / (1 + 0.5 / 2 + REST)),
        ("Compat(p=0.5)@2", [0, 1], [], (0.5 / 2) / (1 + 0.5 / 2)),
        ("Compat(p=0.5)@3", [1, 2], [1], (0 + 0.5 * 2 / 2 + 0.25 * 2 / 3) / (1 + 0.5 * 2 / 2 + 0.25 * 3 / 3)),
        ("Compat(p=0.5)@2", [2, 0], [3], (0 + 0.5 * 1 / 2) / (1 + 0.5 * 2 / 2)),
        ("Compat@1", [1, 0, 0, 1], [1], 1.0),
        ("Compat", [3, 2, 2, 0], [], 1.0),
        ("Compat", [0], [1], 0.0),
        ("Compat", [], [1], 0.0),
        ("Compat", [0], [0], nan),
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


def test_definitions_cover_named_metrics():
    assert DEFINITIONS.keys() <= CATALOG.keys()
    for name, of_record in DEFINITIONS.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    rankings = rank_labels(labels, unretrieved)
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
    ("Compat(p=0.5)@2", [[1, 0]], ((1 + 0.5 / 2) / (1 + 0.5 / 2) + (0.5 / 2) / (1 + 0.5 / 2)) / 2),
    ("Compat(p=0.5)@2", [[2, 1]], ((1 + 0.5 * 2 / 2) + (0.5 * 2 / 2)) / 2 / (1 + 0.5 * 2 / 2)),
    ("Compat(p=0.5)@3", [[0], [1, 1, 0]], 2 / 3 * (0.5 / 2 + 0.25 / 3 + 0.25 / 3) / (1 + 0.5 * 2 / 2 + 0.25 * 2 / 3)),
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
    labels, scores = rank_groups(groups)
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
    """A query is counted if equal scores with different labels begin within the deepest cutoff. −0.0 equals 0.0."""
    labels = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    scores = [[5, 5, 1], [5, 5, 1], [5, 1, 1], [0.0, -0.0, -1], [3, 2, 1]]
    assert evaluate(labels, scores, "RR@1").n_tied == 2
    assert evaluate(labels, scores, "RR@1,P@2").n_tied == 3


# labels in rank order, metric, what tutorials and papers print, the same written out
