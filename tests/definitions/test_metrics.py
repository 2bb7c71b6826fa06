"""Every metric by its definition: the arithmetic written out, for the kernels and for the reference."""

from math import fsum, log2, nan, pi

import pytest
from evaluators import EVALUATE, exactly, rank_groups, rank_labels
from refusals import refused

import fastndcg as fn
from fastndcg.metrics.families import CATALOG
from fastndcg.rankings.rankings import Rankings

REST = fsum(0.5 ** (d - 1) / d for d in range(3, 99))  # of RBO's weights, below rank 2
ONE, TWO, FOUR = (2**1 - 1) / 2**4, (2**2 - 1) / 2**4, (2**4 - 1) / 2**4  # chances to stop at grades, of 4 at the most
READ = 0.018 * 363 + 7.8  # seconds for a document whose summary was clicked
ALL = pi**2 / 6  # 1 + 1/4 + 1/9 + …
# metric, labels in rank order, labels that were judged and not retrieved, value
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
        ("DCG(rel=2)", [1, 2, 3], [], 2 / log2(3) + 3 / log2(4)), ("DCG", [0, 0], [3], 0.0), ("DCG", [], [], 0.0),
    ],
    "CG": [
        ("CG", [0, 2, 1], [], 0 + 2 + 1), ("CG@2", [0, 2, 1], [], 0 + 2),
        ("CG(gain=exp2)", [0, 2, 1], [], (2**2 - 1) + (2**1 - 1)), ("CG(rel=2)", [3, 2, 1], [], 3 + 2),
        ("CG", [], [1], 0.0),
    ],
    "IDCG": [
        ("IDCG", [0, 1, 2], [], 2 / log2(2) + 1 / log2(3)), ("IDCG@2", [0, 1], [3, 2], 3 / log2(2) + 2 / log2(3)),
        ("IDCG(gain=exp2)@1", [0, 1, 2], [], (2**2 - 1) / log2(2)),
        ("IDCG(discount=[1,0.25])", [0, 1], [2], 2 * 1 + 1 * 0.25), ("IDCG", [0], [], 0.0),
    ],
    "AP": [
        ("AP", [1, 0, 1], [], (1 / 1 + 2 / 3) / 2), ("AP", [1, 0, 1], [1], (1 / 1 + 2 / 3) / 3),
        ("AP@2", [1, 0, 1], [], (1 / 1) / 2), ("AP(rel=2)", [1, 2, 0, 3], [], (1 / 2 + 2 / 4) / 2),
        ("AP", [0, 0], [1], 0.0), ("AP", [0, 0], [], nan),
    ],
    "RR": [
        ("RR", [0, 0, 1, 1], [], 1 / 3), ("RR@3", [0, 0, 1, 1], [], 1 / 3), ("RR@2", [0, 0, 1, 1], [], 0.0),
        ("RR(rel=2)", [1, 2], [], 1 / 2), ("RR", [0], [1], 0.0), ("RR", [], [], 0.0),
    ],
    "P": [
        ("P@2", [1, 0, 1], [], 1 / 2), ("P@5", [1, 0, 1], [], 2 / 5), ("P", [1, 0, 1], [1, 1], 2 / 3),
        ("P(rel=2)@2", [1, 2], [], 1 / 2), ("P@2", [], [1], 0 / 2), ("P", [], [1], 0.0),
    ],
    "R": [
        ("R@2", [1, 0, 1], [], 1 / 2), ("R", [1, 0, 1], [1], 2 / 3), ("R(rel=2)@1", [1, 2], [], 0 / 1),
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
        ("Success@2", [0, 1], [], 1.0), ("Success@1", [0, 1], [], 0.0), ("Success", [0, 0, 1], [], 1.0),
        ("Success(rel=2)", [1, 1], [2], 0.0), ("Success", [], [], 0.0),
    ],
    "Rprec": [
        ("Rprec", [1, 0, 1], [], 1 / 2), ("Rprec", [1, 0, 1], [1], 2 / 3), ("Rprec@1", [1, 0, 1], [], 1 / 1),
        ("Rprec", [1], [1, 1], 1 / 3), ("Rprec(rel=2)", [1, 2], [], 0 / 1), ("Rprec", [0], [], nan),
    ],
    "Compat": [
        ("Compat(p=0.5)", [0, 1], [], (0.5 / 2 + REST) / (1 + 0.5 / 2 + REST)),
        ("Compat(p=0.5)@2", [0, 1], [], (0.5 / 2) / (1 + 0.5 / 2)),
        ("Compat(p=0.5)@3", [1, 2], [1], (0 + 0.5 * 2 / 2 + 0.25 * 2 / 3) / (1 + 0.5 * 2 / 2 + 0.25 * 3 / 3)),
        ("Compat(p=0.5)@2", [2, 0], [3], (0 + 0.5 * 1 / 2) / (1 + 0.5 * 2 / 2)),
        ("Compat@1", [1, 0, 0, 1], [1], 1.0), ("Compat", [3, 2, 2, 0], [], 1.0), ("Compat", [0], [1], 0.0),
        ("Compat", [], [1], 0.0), ("Compat", [0], [0], nan),
    ],
    "num_ret": [("num_ret", [1, 0, 0], [1], 3), ("num_ret@2", [1, 0, 0], [1], 2), ("num_ret", [], [1], 0)],
    "num_rel": [
        ("num_rel", [1, 0, 2], [1], 3), ("num_rel(rel=2)", [1, 0, 2], [1], 1), ("num_rel@2", [1, 0, 2], [1], 2),
        ("num_rel", [], [], 0),
    ],
    "num_rel_ret": [
        ("num_rel_ret", [1, 0, 2], [1], 2), ("num_rel_ret@2", [1, 0, 2], [1], 1),
        ("num_rel_ret(rel=2)", [1, 0, 2], [1], 1),
    ],
    "ClassificationAccuracy": [
        ("ClassificationAccuracy@2", [1, 0, 1, 0, 0], [], (1 + 2) / 5),
        ("ClassificationAccuracy@2", [1, 0, 1, 0, 0], [1, 0], (1 + 2) / 6),
        ("ClassificationAccuracy", [1, 0, 1], [], 2 / 3), ("ClassificationAccuracy(rel=2)@1", [1, 2], [], 0 / 2),
        ("ClassificationAccuracy@9", [1, 0], [], 1 / 2), ("ClassificationAccuracy@1", [0, 0, 0], [], 2 / 3),
        ("ClassificationAccuracy@2", [], [1], 0 / 1), ("ClassificationAccuracy@2", [], [], nan),
    ],
    "FallOut": [
        ("FallOut@2", [1, 0, 1, 0, 0], [], 1 / 3), ("FallOut@2", [1, 1, 0], [], 0 / 1),
        ("FallOut", [1, 0], [1], 1 / 1), ("FallOut(rel=2)@1", [1, 2, 0], [], 1 / 2), ("FallOut@2", [1, 1], [], nan),
        ("FallOut@2", [], [1], nan),
    ],
    "Q": [
        ("Q", [1, 0, 1], [], ((1 + 1) / (1 + 1) + (2 + 2) / (3 + 2)) / 2),
        ("Q", [1, 0, 2], [3], ((1 + 1) / (1 + 3) + (2 + 3) / (3 + 6)) / 3),
        ("Q(beta=2)", [1, 3], [], ((1 + 2 * 1) / (1 + 2 * 3) + (2 + 2 * 4) / (2 + 2 * 4)) / 2),
        ("Q(gain=exp2)", [1, 3], [], ((1 + 1) / (1 + 7) + (2 + 8) / (2 + 8)) / 2),
        ("Q(rel=2)", [1, 2], [], ((1 + 2) / (2 + 2)) / 1), ("Q@2", [1, 0, 2], [], ((1 + 1) / (1 + 2)) / 2),
        ("Q", [3, 2, 2, 0], [], 1.0), ("Q", [0], [1], 0.0), ("Q", [0], [], nan),
    ],
    "LRAP": [
        ("LRAP", [1, 0, 1], [], (1 / 1 + 2 / 3) / 2), ("LRAP", [1, 0, 1], [1], (1 / 1 + 2 / 3) / 3),
        ("LRAP(rel=2)", [1, 2], [], 1 / 2), ("LRAP", [1, 1], [], 1.0), ("LRAP", [0], [], nan),
    ],
    "CoverageError": [
        ("CoverageError", [1, 0, 1, 0], [], 3), ("CoverageError(rel=2)", [2, 1, 1], [], 1),
        ("CoverageError", [1, 0, 1, 0], [1, 1, 0], 4 + 2), ("CoverageError", [], [1], 1),
        ("CoverageError", [0, 0], [], nan),
    ],
    "PatR": [
        ("PatR", [0, 1, 0, 1, 1], [], 2 / 4), ("PatR(recall=0.3)", [0, 1, 0, 1, 1], [], 1 / 2),
        ("PatR(recall=1)", [0, 1, 0, 1, 1], [], 3 / 5), ("PatR(recall=0.7)", [1] * 7 + [0] + [1] * 3, [], 7 / 7),
        ("PatR(recall=1)", [1], [1], 0.0), ("PatR(rel=2,recall=1)", [1, 2], [], 1 / 2), ("PatR", [], [1], 0.0),
        ("PatR", [0], [], nan),
    ],
    "AUC": [
        ("AUC", [1, 0, 1, 0], [], (2 + 1) / (2 * 2)), ("AUC", [0, 0, 1], [], 0 / 2),
        ("AUC(rel=2)", [2, 1, 0, 3], [], (2 + 0) / (2 * 2)), ("AUC", [1, 0], [1], (1 + 0) / (2 * 1)),
        ("AUC", [1, 1], [], nan), ("AUC", [0, 0], [], nan), ("AUC", [0, 0], [1], 0 / 2), ("AUC", [], [1], nan),
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
        ("OPA", [1, 0, 1, 0], [], (2 + 1) / (2 * 2)), ("OPA", [2, 0, 3, 1], [], (2 + 0 + 1) / 6),
        ("OPA", [2, 2, 1], [], 2 / 2), ("OPA", [2, 1], [3, 1], 1 / (1 + 1 + 1)), ("OPA", [1, 1], [], nan),
        ("OPA", [], [1], nan),
    ],
    "RankingLoss": [
        ("RankingLoss", [1, 0, 1, 0], [], 1 / (2 * 2)), ("RankingLoss", [1, 0], [1], 1 / (2 * 1)),
        ("RankingLoss(rel=2)", [2, 1, 0, 3], [], 2 / (2 * 2)), ("RankingLoss", [0, 0], [], nan),
    ],
    "ERR": [
        ("ERR", [0, 1, 2, 4], [], ONE / 2 + (1 - ONE) * TWO / 3 + (1 - ONE) * (1 - TWO) * FOUR / 4),
        ("ERR@3", [0, 1, 2, 4], [], ONE / 2 + (1 - ONE) * TWO / 3),
        ("ERR(max_grade=2)", [2, 1], [4 - 2], (3 / 4) / 1 + (1 / 4) * (1 / 4) / 2),
        ("ERR(stop=labels)", [0.5, 0, 1], [], 0.5 / 1 + 0.5 * 1 / 3), ("ERR(stop=labels)", [1, 1], [], 1.0),
        ("ERR", [0, 0], [1], 0.0), ("ERR", [], [], 0.0),
    ],
    "nERR": [
        ("nERR", [1, 2], [], (ONE / 1 + (1 - ONE) * TWO / 2) / (TWO / 1 + (1 - TWO) * ONE / 2)),
        ("nERR@1", [1, 2], [4], (ONE / 1) / (FOUR / 1)), ("nERR(stop=labels)", [0.5, 1], [], (0.5 + 0.5 / 2) / 1),
        ("nERR", [2, 1, 0], [], 1.0), ("nERR", [0], [1], 0.0), ("nERR", [0, 0], [], nan),
    ],
    "PFound": [
        ("PFound(stop=labels)", [0.5, 0, 0.25], [], 0.5 + 0.85**2 * 0.5 * 0.25),
        ("PFound(stop=labels,decay=0.5)@2", [0.5, 0.5, 1], [], 0.5 + 0.5 * 0.5 * 0.5),
        ("PFound", [1, 2], [], ONE + 0.85 * (1 - ONE) * TWO),
        ("PFound(max_grade=2)", [1, 2], [], 1 / 4 + 0.85 * (3 / 4) * (3 / 4)), ("PFound", [0], [1], 0.0),
    ],
    "TBG": [
        ("TBG", [1], [], 0.64 * 0.77), ("TBG", [0, 1], [], 0.64 * 0.77 * 2 ** (-(4.4 + READ * 0.39) / 224)),
        ("TBG", [1, 0, 1], [1], 0.64 * 0.77 * (1 + 2 ** (-(2 * 4.4 + READ * (0.64 + 0.39)) / 224))),
        ("TBG@2", [1, 0, 1], [], 0.64 * 0.77),
        ("TBG(half_life=10,words=100)", [0, 1], [], 0.64 * 0.77 * 2 ** (-(4.4 + (1.8 + 7.8) * 0.39) / 10)),
        ("TBG(rel=2)", [1, 2], [], 0.64 * 0.77 * 2 ** (-(4.4 + READ * 0.39) / 224)), ("TBG", [0, 0], [1], 0.0),
    ],
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
        ("BPM", [0, 1, 1], [], 1 / 2), ("BPM(goal=2)", [0, 1, 0, 1, 1], [], 2 / 4),
        ("BPM(goal=2)@3", [0, 1, 0, 1, 1], [], 1 / 3), ("BPM(goal=2)@10", [0, 1], [1], 1 / 10),
        ("BPM(goal=2)", [0, 1], [1], 0.0), ("BPM(goal=3,gain=linear)", [1, 2, 3], [], (1 + 2) / 2),
        ("BPM(goal=0.6,gain=linear)", [0.3, 0.2, 0.1, 1], [], 0.6 / 3),
        ("BPM(goal=2,gain=[0,0.5,1])@5", [2, 0, 1, 1], [], (1 + 0.5 + 0.5) / 4), ("BPM(rel=2)", [1, 2], [], 1 / 2),
        ("BPM@1", [0, 1], [], 0.0), ("BPM", [], [], 0.0),
    ],
}  # fmt: skip


EACH_DEFINITION = [case for of_record in DEFINITIONS.values() for case in of_record]


def test_definitions_cover_named_metrics():
    assert DEFINITIONS.keys() <= CATALOG.keys()
    for name, of_record in DEFINITIONS.items():
        assert {fn.Metric.parse(metric).name for metric, *_ in of_record} == {name}


@pytest.mark.parametrize(("metric", "labels", "unretrieved", "expected"), EACH_DEFINITION)
@EVALUATE
def test_metric_equals_definition(evaluate, metric, labels, unretrieved, expected):
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
    ("ClassificationAccuracy@1", [[1, 0, 0]], (1 / 3 * 3 + 2 / 3 * 1) / 3),
    ("ClassificationAccuracy@2", [[0], [1, 0]], (1 / 2 * 2 + 1 / 2 * 0) / 3),
    ("FallOut@1", [[1, 0, 0]], (1 / 3 * 0 + 2 / 3 * 1) / 2),
    ("FallOut@2", [[1], [1, 0, 0]], (2 / 3 * 1) / 2),
    ("Q", [[1, 0]], ((1 + 1) / (1 + 1) + (1 + 1) / (2 + 1)) / 2),
    ("Q", [[3, 1]], ((1 + (1 + 1) / (1 + 3)) / 2 + (2 + 4) / (2 + 4)) / 2),
    ("Q", [[3], [1, 0]], (1 + ((2 + 4) / (2 + 4) + (2 + 4) / (3 + 4)) / 2) / 2),
    ("Q@1", [[2, 1, 0]], ((1 + 2) / (1 + 2) / 3 + (1 + 1) / (1 + 2) / 3) / 2),
    ("LRAP", [[1, 0]], (1 / 1 + 1 / 2) / 2),
    ("LRAP", [[1], [1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1 + 2 / 3) / 2) / 2),
    ("CoverageError", [[1, 0, 0]], (1 + 2 + 3) / 3),
    ("CoverageError", [[0], [1, 1, 0]], 1 + (2 + 3 + 3) / 3),
    ("CoverageError", [[1, 0], [0]], (1 + 2) / 2),
    ("PatR(recall=1)", [[1, 0]], (1 / 1 + 1 / 2) / 2),
    ("PatR(recall=0.5)", [[0], [1, 1, 0]], 2 / 3 * (1 / 2) + 1 / 3 * (1 / 3)),
    ("PatR(recall=1)", [[0], [1, 1, 0]], 1 / 3 * (2 / 3) + 2 / 3 * (2 / 4)),
    ("PatR(recall=1)", [[1], [1, 0, 0]], (2 / 2 + 2 / 3 + 2 / 4) / 3),
    ("AUC", [[1, 0]], 1 / 2),
    ("AUC", [[1], [1, 0], [0]], (2 + 1 + 1 / 2) / (2 * 2)),
    ("AUC", [[1, 1, 0]], (1 / 2 + 1 / 2) / 2),
    ("RankingLoss", [[1], [1, 0], [0]], (1 / 2) / (2 * 2)),
    ("OPA", [[2, 1], [0]], (1 / 2 + 1 + 1) / 3),
    ("OPA", [[2, 1, 0], [3]], (1 / 2 + 1 / 2 + 1 / 2) / 6),
    ("pAUC(max_fpr=0.5)", [[1, 0], [0]], (1 / 2) / 1),
    ("pAUC(max_fpr=0.5)", [[1, 0, 0], [0, 0]], (1 / 3 * 2 + 1 / 3 * 1 + 1 / 3 * 0) / 2),
    ("pAUC(max_fpr=0.25)", [[1, 0], [1, 0]], (1 / 2 * 0.5) / (2 * 0.5)),
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
    labels, scores = rank_groups(groups)
    metric, _, denominator = metric.partition(" ")
    convention = f"default(ap_denominator={denominator or 'n_relevant'})"
    result = evaluate(labels, scores, metric, offsets=[0, len(labels)], convention=convention)
    assert result[metric] == exactly(expected)


@pytest.mark.parametrize(("ties", "expected"), [
    ("average", (1 / 1 + 1 / 2 + 1 / 3) / 3), ("input", 1 / 2), ("id_descending", 1 / 3), ("id_ascending", 1 / 1),
    ("best", 1 / 1), ("worst", 1 / 3),
])  # fmt: skip
@EVALUATE
def test_tie_policy_places_the_relevant_document(evaluate, ties, expected):
    """Of three equal scores, the relevant document is the second as given, and has the lowest tie key."""
    rankings = Rankings([0, 1, 0], [0.5, 0.5, 0.5], [0, 3], tie_keys=[3, 1, 2])
    result = evaluate(rankings, metrics="RR", convention=f"default(ties={ties})")
    assert result["RR"] == exactly(expected)


@pytest.mark.parametrize("ties", ["id_descending", "id_ascending", "input"])
@EVALUATE
def test_equal_tie_keys_stay_as_given(evaluate, ties):
    rankings = Rankings([0, 1, 0], [0.5, 0.5, 0.5], [0, 3], tie_keys=[7, 7, 7])
    assert evaluate(rankings, metrics="RR", convention=f"default(ties={ties})")["RR"] == [1 / 2]


@pytest.mark.parametrize(("ties", "expected"), [("best", 0), ("worst", 1), ("average", 1 / 2)])
@EVALUATE
def test_ranking_loss_counts_ties_as_the_policy_says(evaluate, ties, expected):
    result = evaluate([1, 0], [5, 5], "RankingLoss", groups=[2], convention=f"default(ties={ties})")
    assert result["RankingLoss"] == exactly(expected)


@pytest.mark.parametrize(("ties", "expected"), [("best", 1), ("worst", 3), ("average", 2)])
@EVALUATE
def test_coverage_error_takes_the_rank_that_the_policy_gives(evaluate, ties, expected):
    result = evaluate([0, 1, 0], [5, 5, 5], "CoverageError", groups=[3], convention=f"default(ties={ties})")
    assert result["CoverageError"] == exactly(expected)


@EVALUATE
def test_ties_are_counted_where_they_decide(evaluate):
    """A query is counted if equal scores with different labels begin within the deepest cutoff. −0.0 equals 0.0."""
    labels = [[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 0], [1, 0, 0]]
    scores = [[5, 5, 1], [5, 5, 1], [5, 1, 1], [0.0, -0.0, -1], [3, 2, 1]]
    assert evaluate(labels, scores, "RR@1").n_tied == 2
    assert evaluate(labels, scores, "RR@1,P@2").n_tied == 3


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


def test_group_auc_has_no_interval_and_is_not_streamed():
    result = fn.evaluate([1, 0, 0, 1, 0], [3, 2, 1, 2, 1], "GAUC", groups=[3, 2])
    refused(r"Take GAUC\(weight=nothing\)", result.confidence_interval, "GAUC")
    refused(r"take GAUC\(weight=nothing\)", fn.StreamingEvaluator, "GAUC")


@EVALUATE
def test_tied_scores_of_different_labels_are_refused(evaluate):
    for metric in ("INST", "BPM", "IPrec", "IAP"):
        message = f"must not tie between different labels for {metric}, .*ties='input' or 'id_descending'"
        refused(message, evaluate, [1, 0], [0.5, 0.5], metric, groups=[2])
    assert evaluate([1, 1], [0.5, 0.5], "BPM(goal=2)", groups=[2])["BPM(goal=2)"] == [1.0]


@pytest.mark.parametrize(("metric", "labels", "message"), [
    ("INST(gain=linear)", [0, 2, 1], r"a gain from 0 to 1 for INST\(gain=linear\), not 2, but labels\[1\]"),
    ("INST(gain=exp2)@1", [1, 0, 2], r"not 3, but labels\[2\].*Take a table such as gain=\[0,0.5,1\]"),
    ("INST(gain=linear)", [0, -1, 0], r"not -1, but labels\[1\]"),
])  # fmt: skip
def test_gains_beyond_one_are_refused(metric, labels, message):
    """Found whatever the rank of the document and the cutoff."""
    convention = "default(negative_labels=keep)"
    refused(message, fn.evaluate, labels, [3, 2, 1], metric, groups=[3], convention=convention)
    refused("gains from 0 to 1", fn.reference.evaluate, labels, [3, 2, 1], metric, groups=[3], convention=convention)


@pytest.mark.parametrize("goal", [0.2, 0, -1, 10_001])
def test_goals_that_mean_nothing_are_refused(goal):
    """INST refuses goals below 0.25 or above 10000. Below 0.25, a chance to continue would exceed 1."""
    refused(r"`goal` of INST must be from 0.25 to 10000", fn.INST, goal=goal)


@pytest.mark.parametrize(("metric", "labels", "message"), [
    ("ERR", [1, 5], r"at most 4 for ERR, .*labels\[1\] .* is 5. Take a higher max_grade"),
    ("ERR(stop=labels)", [1, 2], r"at most 1 for ERR\(stop=labels\), .* Take stop='grades'"),
    ("nERR(max_grade=2)", [3, 1], r"at most 2 for nERR"), ("PFound", [1, 9], r"at most 4 for PFound"),
])  # fmt: skip
def test_labels_above_the_highest_grade_are_refused(metric, labels, message):
    refused("`labels` must", fn.evaluate, labels, [2, 1], metric, groups=[2])
    refused(message, lambda: fn.evaluate(labels, [2, 1], fn.Metric.parse(metric), groups=[2]))
    with pytest.raises(fn.InvalidInputError):
        fn.reference.evaluate(labels, [2, 1], metric, groups=[2])
    refused("`pool` must", lambda: fn.evaluate(Rankings([0, 0], [2, 1], [0, 2], pool=([0, 9], [0, 2])), metrics=metric))
