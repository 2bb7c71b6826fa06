"""Every metric by subtopic by its definition: the arithmetic written out, for the kernels and for the reference."""

from math import log2, nan

import numpy as np
import pytest
import strategies
from evaluators import EVALUATE, exactly

import fastndcg as fn

# documents in rank order, each the subtopics that it is relevant to; then those that were judged and not retrieved
TWO, ONE, NONE, THIRD = "st", "s", "", "u"
DISCOUNTED = 1 / log2(2) + (1 / 2 + 1) / log2(3) + 1 / log2(5)  # of ONE, TWO, NONE, THIRD
BEST = (1 + 1) / log2(2) + 1 / log2(3) + (1 / 2) / log2(4)  # TWO, THIRD, ONE
RANKING = [ONE, TWO, NONE, THIRD]

DEFINITIONS = {
    "alpha_nDCG": [
        ("alpha-nDCG", RANKING, [], DISCOUNTED / BEST),
        ("alpha-nDCG@2", RANKING, [], (1 + (1 / 2 + 1) / log2(3)) / (2 + 1 / log2(3))),
        ("alpha-nDCG@1", RANKING, [], 1 / 2),
        ("alpha-nDCG(alpha=0.25)@2", [ONE, ONE], [], (1 + 0.75 / log2(3)) / (1 + 0.75 / log2(3))),
        ("alpha-nDCG(alpha=1)@3", [ONE, ONE, THIRD], [], (1 + 0 / log2(3) + 1 / log2(4)) / (1 + 1 / log2(3))),
        ("alpha-nDCG(alpha=0)@2", [ONE, NONE, TWO], [], 1 / (2 + 1 / log2(3))),
        ("alpha-nDCG@5", [NONE], [THIRD], 0.0),
        ("alpha-nDCG@5", [NONE], [], nan),
        ("alpha-nDCG(rel=2)@5", RANKING, [], nan),
    ],
    "alpha_DCG": [
        ("alpha-DCG@2", RANKING, [], (1 + (1 / 2 + 1) / log2(3)) / (3 + (3 / 2) / log2(3))),
        ("alpha-DCG@1", RANKING, [], 1 / 3),
        ("alpha-DCG", [TWO], [ONE, THIRD], 2 / 3),
        ("alpha-DCG(alpha=0.25)@2", [ONE, ONE], [THIRD], (1 + 0.75 / log2(3)) / (2 + 2 * 0.75 / log2(3))),
        ("alpha-DCG@3", [TWO], [], 2 / (2 + (2 / 2) / log2(3) + (2 / 4) / log2(4))),
        ("alpha-DCG", [], [ONE], 0.0),
        ("alpha-DCG@3", [NONE], [NONE], nan),
    ],
    "nERR_IA": [
        ("nERR-IA", RANKING, [], (1 + (1 / 2 + 1) / 2 + 1 / 4) / (2 + 1 / 2 + (1 / 2) / 3)),
        ("nERR-IA@1", RANKING, [], 1 / 2),
        ("nERR-IA(alpha=0.9)@2", [ONE, ONE, TWO], [], (1 + 0.1 / 2) / (2 + 0.1 / 2)),
        ("nERR-IA@3", [], [ONE], 0.0),
        ("nERR-IA@3", [NONE], [], nan),
    ],
    "ERR_IA": [
        ("ERR-IA@4", RANKING, [], (1 + (1 / 2 + 1) / 2 + 1 / 4) / (3 * (1 + 1 / 4 + 1 / 12 + 1 / 32))),
        ("ERR-IA@1", RANKING, [], 1 / 3),
        ("ERR-IA", [THIRD], RANKING, 1 / 3),
        ("ERR-IA(alpha=0)@2", [ONE, ONE], [], 1.0),
        ("ERR-IA", [], [], nan),
    ],
    "nNRBP": [
        ("nNRBP", RANKING, [], (1 + (1 / 2 + 1) / 2 + 1 / 8) / (2 + 1 / 2 + (1 / 2) / 4)),
        ("nNRBP(beta=0.8)", [NONE, ONE], [ONE], 0.8 / (1 + 0.8 / 2)),
        ("nNRBP(alpha=0.25,beta=0.8)", [ONE, ONE], [TWO], (1 + 0.8 * 0.75) / (2 + 0.8 * 0.75 + 0.8**2 * 0.75**2)),
        ("nNRBP", [NONE], [], nan),
    ],
    "NRBP": [
        ("NRBP", RANKING, [], (1 - (1 / 2) * (1 / 2)) / 3 * (1 + (1 / 2 + 1) / 2 + 1 / 8)),
        ("NRBP(alpha=0.25,beta=0.8)", [ONE, ONE], [], (1 - 0.75 * 0.8) * (1 + 0.8 * 0.75)),
        ("NRBP", [NONE], [ONE], 0.0),
        ("NRBP", [NONE], [], nan),
    ],
    "P_IA": [
        ("P-IA@2", RANKING, [], (2 / 2 + 1 / 2 + 0 / 2) / 3),
        ("P-IA@5", RANKING, [], (2 / 5 + 1 / 5 + 1 / 5) / 3),
        ("P-IA", RANKING, [TWO], (2 / 4 + 1 / 4 + 1 / 4) / 3),
        ("P-IA@2", [], [ONE], 0.0),
        ("P-IA", [], [ONE], 0.0),
        ("P-IA@2", [NONE], [], nan),
    ],
    "AP_IA": [
        ("MAP-IA", RANKING, [], ((1 / 1 + 2 / 2) / 2 + 1 / 2 + 1 / 4) / 3),
        ("MAP-IA", RANKING, [ONE], ((1 / 1 + 2 / 2) / 3 + 1 / 2 + 1 / 4) / 3),
        ("MAP-IA@2", RANKING, [], ((1 / 1 + 2 / 2) / 2 + 1 / 2 + 0) / 3),
        ("MAP-IA", [], [ONE], 0.0),
        ("MAP-IA", [NONE], [], nan),
    ],
    "S_recall": [
        ("S-recall@1", RANKING, [], 1 / 3),
        ("S-recall@2", RANKING, [], 2 / 3),
        ("strec", RANKING, ["v"], 3 / 4),
        ("strec@3", [], [ONE], 0.0),
        ("strec@3", [NONE], [], nan),
    ],
}
EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


def evaluated(evaluate, metric, documents, unretrieved, scores):
    """Evaluate documents with ids in the reverse order of ranks, so that ids break no tie of the ideal."""
    every = [*documents, *unretrieved]
    names = [f"d{len(every) - place:02}" for place in range(len(every))]
    judgments = {
        "q": {name: {s: int(s in document) for s in "stuv"} for name, document in zip(names, every, strict=True)}
    }
    run = {"q": dict(zip(names, scores, strict=False))}
    if not every:
        return evaluate(fn.Rankings([], [], [0, 0], patterns=no_patterns()), metrics=metric)[metric]
    if not documents:
        judgments["other"], run = judgments["q"], {"other": {names[0]: 1.0}}
    return evaluate(judgments, run, metric)[metric][:1]


def no_patterns():
    """Make patterns for no documents."""
    return fn.DiversityQrels(["q"], ["s"], ["d"], [0]).patterns


def test_diversity_definitions_are_complete():
    assert list(DEFINITIONS) == strategies.BY_SUBTOPIC
    for name, of_record in DEFINITIONS.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


@pytest.mark.parametrize(("metric", "documents", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_diversity_metric_equals_definition(evaluate, metric, documents, unretrieved, expected):
    """One query's documents in rank order give the value that its arithmetic gives."""
    scores = [-rank for rank in range(len(documents))]

    assert evaluated(evaluate, metric, documents, unretrieved, scores) == exactly(expected)


@pytest.mark.parametrize(
    ("metric", "documents", "expected"),
    [
        # each order of s and st is as likely: 1 + (1/2 + 1)/log2(3), or 2 + (1/2)/log2(3)
        ("alpha-nDCG", [ONE, TWO], (1.5 + 1 / log2(3)) / (2 + (1 / 2) / log2(3))),
        # which of two with s is at which rank makes no difference: 1 + (1/2)/log2(3) of a tie that decides nothing
        ("alpha-nDCG", [ONE, ONE], 1.0),
        # s at ranks 1 and 2, 1 and 3, or 2 and 3
        ("nERR-IA", [ONE, ONE, NONE], ((1 + 1 / 4) + (1 + 1 / 6) + (1 / 2 + 1 / 6)) / 3 / (1 + 1 / 4)),
        ("NRBP", [ONE, ONE, NONE], (3 / 4) * ((1 + 1 / 4) + (1 + 1 / 8) + (1 / 2 + 1 / 8)) / 3),
        ("nNRBP", [THIRD, NONE], (1 + 1 / 2) / 2),
        ("alpha-DCG@1", [ONE, NONE, NONE], 1 / 3),
        ("ERR-IA@1", [TWO, ONE, NONE], (2 / 2 + 1 / 2 + 0) / 3),
        ("P-IA@1", [TWO, ONE, NONE], (2 / 2 + 1 / 2 + 0) / 3),
        ("MAP-IA", [ONE, NONE], (1 + 1 / 2) / 2),
        # without s: one of three pairs of ranks; without t: two of three
        ("S-recall@1", [ONE, TWO, NONE], (2 / 3 + 1 / 3) / 2),
    ],
)
@EVALUATE
def test_ties_are_the_mean_over_their_orders(evaluate, metric, documents, expected):
    assert evaluated(evaluate, metric, documents, [], [1.0] * len(documents)) == exactly(expected)


@pytest.mark.parametrize(
    ("n", "n_relevant"), [(40, 7), (500, 500), (3000, 2), (1200, 400)] if strategies.JIT else [(40, 7)]
)
def test_large_ties_are_hypergeometric(n, n_relevant):
    """The number of relevant documents above a rank is hypergeometric if thousands of scores are equal."""
    hypergeom = pytest.importorskip("scipy.stats").hypergeom
    labels = [[1]] * n_relevant + [[0]] * (n - n_relevant)
    above, counts = np.arange(n), np.arange(n_relevant)
    chances = hypergeom.pmf(counts, n - 1, n_relevant - 1, above[:, None])

    for alpha in (0, 0.01, 0.5, 1):
        metric = fn.NRBP(alpha=alpha, beta=0.99)
        found = fn.evaluate(labels, [0.5] * n, metric, groups=[n])[metric]
        gains = (n_relevant / n) * (chances * (1.0 - alpha) ** counts).sum(axis=1)
        expected = (1 - (1 - alpha) * 0.99) * (gains * 0.99**above).sum()
        assert found == pytest.approx([expected], rel=1e-10), alpha


def test_diversity_greedy_ideal_can_be_exceeded():
    """Of three documents that gain as much, the greedy order begins with the one that leaves less to the others."""
    documents = ["tu", "st", "uv"]  # ranked third, first and second

    value = evaluated(fn.evaluate, "alpha-nDCG(alpha=1)@2", documents, [], [1, 3, 2])

    assert value == exactly((2 + 2 / log2(3)) / (2 + 1 / log2(3)))


def test_labels_have_a_threshold():
    judgments = {"q": {"b": {"s": 1, "t": 2}, "a": {"s": 3}}}
    run = {"q": {"b": 2.0, "a": 1.0}}

    assert fn.evaluate(judgments, run, "P_IA(rel=2)@1")["P_IA(rel=2)@1"] == exactly((0 / 1 + 1 / 1) / 2)
    assert fn.evaluate(judgments, run, "S_recall(rel=3)@1")["S_recall(rel=3)@1"] == exactly(0 / 1)
    assert fn.evaluate(judgments, run, "S_recall(rel=3)@2")["S_recall(rel=3)@2"] == exactly(1 / 1)


@pytest.mark.parametrize("evaluate", [fn.evaluate, fn.reference.evaluate], ids=["kernels", "reference"])
def test_precision_divides_as_the_convention_says(evaluate):
    given = ([[1, 0], [0, 0], [1, 1], [0, 0]], [4, 3, 2, 1], "P_IA@6, P_IA@2, P_IA")
    values = evaluate(*given, groups=[4], convention="tf_ranking").values[0]
    assert values == pytest.approx([(2 / 4 + 1 / 4) / 2, (1 / 2 + 0 / 2) / 2, (2 / 4 + 1 / 4) / 2])
    assert evaluate(*given, groups=[4]).values[0][0] == pytest.approx((2 / 6 + 1 / 6) / 2)
    with pytest.raises(fn.InvalidInputError, match="P_IA@6 must have precision_denominator 'k'"):
        evaluate(*given, groups=[4], convention="implicit")


def test_novelty_depends_on_names_where_the_best_order_ties():
    """Documents that gain alike are chosen by id: alpha_nDCG of the same judgments changes with their names."""
    subtopics = [{"t": 1, "v": 1}, {"u": 1, "v": 1}, {"s": 1, "u": 1}]
    values = []
    for names in ("abc", "acb"):
        judged = {"q": dict(zip(names, subtopics, strict=True))}
        run = {"q": dict(zip(names, [1.0, 2.0, 3.0], strict=True))}  # the last ranked first
        values += fn.evaluate(judged, run, "alpha_nDCG@2")["alpha_nDCG@2"].tolist()

    assert values[0] != values[1]
    assert "by id" in fn.CATALOG["alpha_nDCG"].formula
