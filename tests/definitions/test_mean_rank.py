"""Rank and its values by chance: their definitions, ties, and aggregates that are adjusted for chance."""

from math import comb, exp, fsum, log, nan

import numpy as np
import pytest
from evaluators import exactly
from refusals import refused

import fastndcg as fn

TIED = ([0, 1, 0, 1, 0], [3.0, 2.0, 2.0, 2.0, 1.0])  # one document, then a group of three with two relevant ones


def evaluate(metric, labels, scores, ties="average"):
    convention = fn.conventions["default"].replace(ties=ties)
    return fn.evaluate(labels, scores, metric, groups=[len(labels)], convention=convention).values.item()


# metric, tie policy, labels, scores, value
VALUES = [
    ("Rank", "average", [0, 1, 1], [3, 2, 1], 2), ("Rank(rel=2)", "average", [0, 1, 2], [3, 2, 1], 3),
    ("Rank", "average", [0, 0], [2, 1], nan), ("Rank", "average", [], [], nan),
    ("chance_Rank", "average", [0, 0], [2, 1], nan), ("chance_RR", "average", [0, 0], [2, 1], 0),
    ("chance_Success@1", "average", [], [], 0),
    # the first of the two has rank 2 in two of three orders, and rank 3 in one
    ("Rank", "average", *TIED, (2 + 2 + 3) / 3), ("Rank", "best", *TIED, 2), ("Rank", "worst", *TIED, 3),
    # the tied documents have the ranks 2, 3 and 4, and so the mean rank 3
    ("Rank", "mean_rank", *TIED, (2 + 3 + 4) / 3), ("RR", "mean_rank", *TIED, 1 / 3), ("RR@2", "mean_rank", *TIED, 0),
    ("Success@2", "mean_rank", *TIED, 0), ("Success@3", "mean_rank", *TIED, 1),
    ("num_rel_ret@2", "mean_rank", *TIED, 0), ("num_rel_ret@3", "mean_rank", *TIED, 2),
    # two relevant documents that tie with nothing else have the mean rank 1.5, not the ranks 1 and 2
    ("Rank", "mean_rank", [1, 1, 0], [2, 2, 1], 1.5), ("RR", "mean_rank", [1, 1, 0], [2, 2, 1], 1 / 1.5),
    ("Success@1", "mean_rank", [1, 1, 0], [2, 2, 1], 0),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "ties", "labels", "scores", "expected"), VALUES)
def test_ranks_and_values_by_chance(metric, ties, labels, scores, expected):
    assert [evaluate(metric, labels, scores, ties)] == exactly(expected)


@pytest.mark.parametrize("metric", ["nDCG@5", "AP", "P@2", "AUC", "Rprec"])
def test_mean_rank_policy_is_refused_where_a_metric_has_no_value(metric):
    with pytest.raises(fn.InvalidInputError, match=r"must have a tie policy that it is defined for \(average, input"):
        evaluate(metric, *TIED, ties="mean_rank")


@pytest.mark.parametrize(
    ("n", "n_relevant"), [(1, 1), (2, 1), (7, 1), (7, 3), (7, 7), (90, 1), (300, 2), (300, 70), (300, 299)]
)
@pytest.mark.parametrize("k", [None, 1, 3, 80, 1000])
def test_values_by_chance_are_means_over_all_orders(n, n_relevant, k):
    labels = [1] * n_relevant + [0] * (n - n_relevant)
    # each rank of the first relevant document with its share of all orders
    places = [(r, comb(n - r, n_relevant - 1) / comb(n, n_relevant)) for r in range(1, n - n_relevant + 2)]
    cutoff = "" if k is None else f"@{k}"
    deepest = n if k is None else k
    metrics = f"chance_Rank, chance_RR{cutoff}, chance_Success{cutoff}"
    values = fn.evaluate([labels], [list(range(n))], metrics).values[0]
    expected = [
        fsum(r * share for r, share in places),
        fsum(share / r for r, share in places if r <= deepest),
        fsum(share for r, share in places if r <= deepest),
    ]
    assert values == pytest.approx(expected, rel=1e-13)


def test_values_by_chance_of_one_document_have_closed_forms():
    """(n + 1) / 2, (1 + 1/2 + … + 1/n) / n and k / n, for 100,000 documents as for three."""
    n = 100_000
    labels = np.zeros(n)
    labels[17] = 1
    harmonic = fsum(1 / r for r in range(1, n + 1))
    to_1000 = fsum(1 / r for r in range(1, 1001))
    values = fn.evaluate(labels, labels, "chance_Rank, chance_RR, chance_RR@1000, chance_Success@10", groups=[n]).values
    assert values[0] == pytest.approx([(n + 1) / 2, harmonic / n, to_1000 / n, 10 / n], rel=1e-15)


LABELS = [[1, 0, 0, 0], [0, 0, 1, 0]]
SCORES = [[4.0, 3.0, 2.0, 1.0]] * 2


def test_aggregates_are_adjusted_for_chance():
    """Ranks 1 and 3 of 4 documents: (mean − chance) / (1 − chance), with the mean over both in each place."""
    values = fn.evaluate(LABELS, SCORES, "AMR, AMRI, adjusted_mrr, adjusted_hits@2, over_chance(RR)").means()
    chance_rank = 5 / 2
    chance_rr = (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    rr = (1 + 1 / 3) / 2
    assert values == pytest.approx(
        [
            2 / chance_rank,
            1 - (2 - 1) / (chance_rank - 1),
            (rr - chance_rr) / (1 - chance_rr),
            (1 / 2 - 2 / 4) / (1 - 2 / 4),
            rr / chance_rr,
        ],
        rel=1e-14,
    )  # fmt: skip


def test_weights_count_in_both_places_of_an_adjusted_mean():
    """A query of weight 3 counts three times in the mean and in the mean by chance."""
    ranks = [1, 3, 2]
    sizes = [4, 4, 9]
    labels = [[int(r == rank) for r in range(1, size + 1)] for rank, size in zip(ranks, sizes, strict=True)]
    flat = [label for row in labels for label in row]
    scores = [-float(place) for row in labels for place in range(len(row))]
    result = fn.evaluate(flat, scores, "AMRI", groups=sizes)
    mean = (1 + 3 + 3 * 2) / 5
    by_chance = (2.5 + 2.5 + 3 * 5) / 5
    assert result.means(weights=[1, 1, 3]) == pytest.approx([(mean - by_chance) / (1 - by_chance)], rel=1e-14)
    assert result.n_undefined().tolist() == [0]


def test_harmonic_and_geometric_mean_ranks():
    values = fn.evaluate(LABELS, SCORES, "harmonic_mean_rank, geometric_mean_rank, mean_rank, median_rank").means()
    assert values == pytest.approx([2 / (1 + 1 / 3), exp(log(3) / 2), 2, 2], rel=1e-15)
    assert fn.evaluate([[0, 0]], [[1.0, 0.0]], "hm(rr)").means() == [0]


@pytest.mark.parametrize("text", ["adjusted(nDCG@10)", "over_chance(AP)"])
def test_adjusting_other_metrics_is_refused(text):
    refused(r"must be of RR, Success, Rank, whose value in random order is known", fn.evaluate, LABELS, SCORES, text)


def test_adjusted_means_are_refused_where_values_by_chance_are_not_kept():
    refused("needs the values by chance", fn.StreamingEvaluator, "amri", per_query=True)


@pytest.mark.parametrize(("text", "canonical"), [
    ("AMR", "over_chance(Rank)"), ("amri", "adjusted(Rank)"), ("adjusted_mrr", "adjusted(RR)"),
    ("adjusted_hits@10", "adjusted(Success@10)"), ("adjusted_hits_at@10", "adjusted(Success@10)"),
    ("hits_at@10", "Success@10"), ("mean_rank(rel=2)", "Rank(rel=2)"), ("harmonic_mean_rank", "hm(Rank)"),
])  # fmt: skip
def test_names_of_link_prediction_parse(text, canonical):
    assert str(fn.Metric.parse(text)) == canonical
    assert fn.Metric.parse(canonical) == fn.Metric.parse(text)
