"""trec_eval's further metrics by their definitions: the arithmetic written out, for the kernels and the reference."""

from math import comb, fsum, log2, nan

import numpy as np
import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels

import fastndcg as fn
from fastndcg.rankings.rankings import Rankings

# metric, labels in rank order, labels that were judged and not retrieved, value
DEFINITIONS = [
    ("RelP@2", [1, 0, 1], [1], 1 / 2),
    ("RelP@5", [1, 0, 1], [1], 2 / 3),
    ("RelP", [1, 0], [1, 1], 1 / 2),
    ("RelP(rel=2)@1", [1, 2], [], 0 / 1),
    ("RelP", [0], [], nan),
    ("RelP", [], [1], 0.0),
    ("SetAP", [1, 0, 1], [1], (2 / 3) * (2 / 3)),
    ("SetAP", [0, 0], [1], 0.0),
    ("SetAP", [], [1], 0.0),
    ("SetAP", [0], [], nan),
    ("Utility", [1, 0, 0], [1], 1 * 1 - 1 * 2),
    ("Utility(a=2,b=-0.5,c=-3)", [1, 0, 0], [1, 0], 2 * 1 - 0.5 * 2 - 3 * 1),
    ("Utility(a=0,b=0,d=0.25,documents=100)", [1, 0, 0], [1], 0.25 * (100 - 3 - 1)),
    ("Rprec(mult=2)", [0, 1, 0, 1, 0], [], 2 / 4),
    ("Rprec(mult=0.5)", [1, 0, 1], [1], 1 / 2),  # 0.5 · 3 + 0.9 cut to 2
    ("Rprec(mult=2)@3", [0, 1, 0, 1, 0], [], 1 / 3),
    ("Rprec(mult=0.05)", [1], [], nan),
    ("IPrec(recall=0)", [0, 1, 1, 0, 1], [], 2 / 3),
    ("IPrec(recall=0.5)", [1, 0, 0, 1], [], 1 / 1),
    ("IPrec(recall=0.6)", [1, 0, 0, 1], [], 2 / 4),
    ("IPrec(recall=0.6)", [1, 0, 0, 0], [1], 0.0),
    ("IPrec(recall=0.7)", [1] * 7 + [0] * 3, [1] * 3, 7 / 7),
    ("IPrec(rel=2,recall=1)", [1, 2, 1, 2], [], 2 / 4),
    ("IPrec", [0], [], nan),
    ("IAP", [0, 1, 1, 0, 1], [], (7 * (2 / 3) + 4 * (3 / 5)) / 11),
    ("IAP(recalls=[0.5,1])", [0, 1, 0, 1], [], (2 / 4 + 2 / 4) / 2),
    ("IAP", [0], [], nan),
    ("nDCG_rel", [1, 0, 2], [], (
        (1 / log2(2)) / (2 / log2(2)) + (1 / log2(2) + 2 / log2(4)) / (2 / log2(2) + 1 / log2(3))
    ) / 2),
    ("nDCG_rel", [0, 2], [1], 2 * ((2 / log2(3)) / (2 / log2(2) + 1 / log2(3))) / 2),
    ("nDCG_rel(rel=2)", [1, 2], [], (2 / log2(3)) / (2 / log2(2))),
    ("nDCG_rel", [0], [], nan),
    ("Rndcg", [1, 2, 1], [], (
        (1 / log2(2)) / (2 / log2(2))
        + (1 / log2(2) + 2 / log2(3) + 1 / log2(4)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4))
    ) / 2),
    ("Rndcg", [0, 1, 0], [], ((0 / log2(2)) / (1 / log2(2)) + (1 / log2(3)) / (1 / log2(2))) / 2),
    ("Rndcg", [0, 1], [], (0 / log2(2)) / (1 / log2(2))),  # R + 1 documents: not looked at once more
    ("Rndcg", [0], [], nan),
    ("G", [1, 0, 2], [], (1 / log2(2 + 2 - 1) + 2 / log2(2 + (2 + 1 + 1) - (1 + 2))) / (2 + 1)),
    ("G", [0, 0, 3], [1], (3 / log2(2 + (3 + 1 + 1) - 3)) / (3 + 1)),
    ("G(gain=[0,0.5])", [0, 1], [], (0.5 / log2(2 + (1 + 1) - 0.5)) / 0.5),
    ("G", [0], [], nan),
    ("binG", [0, 1, 0, 1], [1], (1 / log2(2 + 1) + 1 / log2(2 + 2)) / 3),
    ("binG(rel=2)", [1, 2], [], 1 / log2(2 + 1)),
    ("binG", [0], [], nan),
    ("RBP", [1, 0, 2], [], (1 - 0.9) * (1 + 0.9**2)),
    ("RBP(p=0.5)@2", [0, 1, 1], [], (1 - 0.5) * 0.5),
    ("RBP(p=0.5,rel=2)", [1, 2], [], (1 - 0.5) * 0.5),
    ("RBP(p=0.5,gain=linear)", [1, 2], [], (1 - 0.5) * (1 + 2 * 0.5)),
    ("RBP", [0], [1], 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), DEFINITIONS)
@EVALUATE
def test_trec_eval_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
    rankings = rank_labels(labels, unretrieved)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


# metric, labels in rank order (None: not pooled, −1: pooled and not judged), judged and not retrieved, value
E = 0.00001
JUDGMENTS = [
    ("bpref", [1, 0, 1, None], [0, 0], ((1 - 0 / 2) + (1 - 1 / 2)) / 2),
    ("bpref", [0, 0, 0, 1], [1], (1 - 2 / 2) / 2), ("bpref", [None, -1, 1], [0], 1.0), ("bpref", [1, 1], [], 1.0),
    ("bpref(rel=2)", [1, 2, 0], [2], (1 - 1 / 2) / 2), ("bpref", [0], [1], 0.0), ("bpref", [0, None], [0], nan),
    ("infAP", [1], [], 1.0), ("infAP", [0, 1], [], 1 / 2 + 1 / 2 * (1 / 1) * ((0 + E) / (1 + 2 * E))),
    ("infAP", [1, None, -1, 1], [], (1 + (1 / 4 + 3 / 4 * (2 / 3) * ((1 + E) / (1 + 2 * E)))) / 2),
    ("infAP", [None, 1], [1], (1 / 2 + 1 / 2 * (0 / 1) * (E / (2 * E))) / 2), ("infAP", [0], [], nan),
    ("num_nonrel_judged_ret", [1, 0, None, -1, 0], [0], 2),
    ("num_nonrel_judged_ret(rel=2)", [1, 0, None, 2], [], 2), ("Judged@3", [1, None, 0, None], [], 2 / 3),
    ("Judged@9", [1, None, 0, -1], [], 2 / 4), ("Judged", [None, 1], [], 1 / 2), ("Judged", [], [1], nan),
    ("Unjudged@3", [1, None, -1, None], [], 2 / 3), ("Unjudged@5", [None, 1], [], 1 / 5),
    ("Unjudged", [None, 1], [], 1 / 2), ("Unjudged@5", [], [1], 0.0),
    ("RBP_resid(p=0.5)", [1, None, 0, -1], [], (1 - 0.5) * (0.5 + 0.5**3) + 0.5**4),
    ("RBP_resid(p=0.5)@2", [1, None, 0, -1], [], (1 - 0.5) * 0.5 + 0.5**2), ("RBP_resid", [1, 0], [], 0.9**2),
    ("RBP_resid", [], [1], 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), JUDGMENTS)
@EVALUATE
def test_tells_unjudged_documents_apart(evaluate, metric, labels, unretrieved, expected):
    scores = [-rank for rank in range(len(labels))]
    known = [label for label in labels if label is not None] + unretrieved
    rankings = Rankings(
        [label or 0 for label in labels], scores, [0, len(labels)],
        judged=[label is not None for label in labels], pool=(known, [0, len(known)]),
    )  # fmt: skip
    assert evaluate(rankings, metrics=metric, convention="default(negative_labels=zero)")[metric] == exactly(expected)


# metric, labels of the tie groups in rank order (None: not judged), value
TIES = [
    ("RelP@2", [[0], [1, 1, 0]], (0 + 2 / 3) / 2),
    ("Rprec(mult=2)", [[0], [1, 0]], (1 / 2) / 2),
    ("RBP(p=0.5)", [[1, 0]], (1 - 0.5) * (1 + 0.5) / 2),
    ("binG", [[0], [1, 0]], (1 / log2(3) + 1 / log2(4)) / 2),
    ("binG", [[1, 1, 0, 0]], (1 / log2(2) + 1 / log2(3) + 1 / log2(4)) / 3),
    ("nDCG_rel", [[1, 0]], ((1 / log2(2)) / (1 / log2(2)) + (1 / log2(3)) / (1 / log2(2))) / 2),
    ("Rndcg", [[2, 1]], (
        (2 / log2(2) + 1 / log2(3)) / (2 / log2(2) + 1 / log2(3)) + (2 / log2(2)) / (2 / log2(2))
        + (1 / log2(2) + 2 / log2(3)) / (2 / log2(2) + 1 / log2(3)) + (1 / log2(2)) / (2 / log2(2))
    ) / 4),
    ("bpref", [[1, 0]], (1 + 0) / 2),
    ("bpref", [[1, 1, 0, None, 0], [0]], ((1 - 0 / 2) + (1 - 1 / 2) + (1 - 2 / 2)) / 3),
    ("infAP", [[1, 0]], (1 + (1 / 2 + 1 / 2 * E / (1 + 2 * E))) / 2),
    ("infAP", [[1, None]], (1 + 1 / 2) / 2),
    ("infAP", [[1], [1, 0, None]], (1 + (
        2 * (1 / 2 + 1 / 2 * (1 + E) / (1 + 2 * E))
        + (1 / 3 + 2 / 3 * (1 + E) / (2 + 2 * E)) + (1 / 3 + 1 / 3 * (1 + E) / (1 + 2 * E))
        + 2 * (1 / 4 + 2 / 4 * (1 + E) / (2 + 2 * E))
    ) / 6) / 2),
    ("Judged@1", [[None, 0, None]], 1 / 3),
    ("Judged@3", [[1], [None, 0, None]], (1 + 2 / 3) / 3),
    ("Unjudged@2", [[0], [1, None, None]], (0 + 2 / 3) / 2),
    ("RBP_resid(p=0.5)", [[0, None]], (1 - 0.5) * (1 + 0.5) / 2 + 0.5**2),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    labels, scores = rank_groups(groups)
    judged = [label is not None for label in labels]
    rankings = Rankings([label or 0 for label in labels], scores, [0, len(labels)], judged=judged)
    assert evaluate(rankings, metrics=metric)[metric] == exactly(expected)


@pytest.mark.parametrize(("n", "n_judged"), [(300, 300), (300, 200), (300, 7), (2000, 2), (2000, 1)])
def test_infap_of_large_tie_groups_is_exact(n, n_judged):
    n_relevant, others, judged = (n_judged + 2) // 3, n - 1, n_judged - 1
    terms = []
    for above in range(n):
        terms.append(1 / (above + 1))
        for seen in range(max(above - (others - judged), 0), min(above, judged) + 1):
            chance = comb(judged, seen) * comb(others - judged, above - seen) / comb(others, above)
            relevant = seen * (n_relevant - 1) / max(judged, 1)
            terms.append(chance * seen * (relevant + E) / (seen + 2 * E) / (above + 1))
    labels = np.arange(n) < n_relevant
    rankings = Rankings(labels, np.zeros(n), [0, n], judged=np.arange(n) < n_judged)
    assert fn.evaluate(rankings, metrics="infAP").values == pytest.approx(np.array([[fsum(terms) / n]]), rel=1e-12)


@pytest.mark.parametrize(
    ("rounding", "expected"), [("up", [2 / 3, 2 / 3]), ("nearest", [1 / 1, 1 / 1]), ("up from a tenth", [1 / 1, 2 / 3])]
)
@EVALUATE
def test_recall_is_rounded_as_the_convention_says(evaluate, rounding, expected):
    """0.35 · 3 = 1.05 and 0.45 · 3 = 1.35 relevant documents are rounded up to 2, or down to 1."""
    metrics = "IPrec(recall=0.35),IPrec(recall=0.45)"
    result = evaluate([[1, 0, 1, 0, 1]], [[5, 4, 3, 2, 1]], metrics, convention=f"default(recall_rounding={rounding})")
    assert result.values[0].tolist() == expected


@EVALUATE
def test_rbp_of_a_share_of_the_highest_gain(evaluate):
    """trec_eval divides gains by the highest of the query's judged ones, if it is above 1."""
    rankings = Rankings([1, 0, 2, 1], [4, 3, 2, 1], [0, 3, 4], pool=([1, 0, 2, 4, 1], [0, 4, 5]))
    result = evaluate(rankings, metrics="RBP(p=0.5)", convention="default(rbp_gain=share of highest)")
    assert result["RBP(p=0.5)"] == pytest.approx([(1 - 0.5) * (1 / 4 + 2 / 4 * 0.5**2), (1 - 0.5) * 1], rel=1e-14)
