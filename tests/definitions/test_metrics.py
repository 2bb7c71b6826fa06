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
        # with a table that falls, the best order is by gain and begins with label 1
        ("nDCG(gain=[0,5,2])@1", [2, 1, 0, 2], [], 2 / 5),
        ("nDCG(gain=[0,5,2])@2", [2, 1, 0, 2], [], (2 + 5 / log2(3)) / (5 + 2 / log2(3))),
        ("nDCG(gain=[0,5,2])", [2, 1, 0, 2], [], (2 + 5 / log2(3) + 2 / log2(5)) / (5 + 2 / log2(3) + 2 / log2(4))),
        ("nDCG(gain=[0,5,2],rel=2)", [1, 2], [], 1 / log2(3)),  # the threshold comes before the gain
        ("nDCG(gain=[0,5,0])", [2, 1], [], 1 / log2(3)), ("nDCG(gain=[0,5,0])", [2, 2], [], nan),
    ],
    "DCG": [
        ("DCG", [0, 2, 1], [], 0 / log2(2) + 2 / log2(3) + 1 / log2(4)),
        ("DCG@2", [0, 2, 1], [], 0 / log2(2) + 2 / log2(3)),
        ("DCG(gain=exp2)", [3, 0, 1], [], (2**3 - 1) / log2(2) + 0 / log2(3) + (2**1 - 1) / log2(4)),
        ("DCG(discount=log2(max(r, 2)))", [3, 2, 1], [], 3 / log2(2) + 2 / log2(2) + 1 / log2(3)),
        ("DCG(rel=2)", [1, 2, 3], [], 2 / log2(3) + 3 / log2(4)), ("DCG", [0, 0], [3], 0.0), ("DCG", [], [], 0.0),
        ("DCG(gain=[0,5,2])@2", [2, 1, 0, 2], [], 2 + 5 / log2(3)),
    ],
    "CG": [
        ("CG", [0, 2, 1], [], 0 + 2 + 1), ("CG@2", [0, 2, 1], [], 0 + 2),
        ("CG(gain=exp2)", [0, 2, 1], [], (2**2 - 1) + (2**1 - 1)), ("CG(rel=2)", [3, 2, 1], [], 3 + 2),
        ("CG", [], [1], 0.0), ("CG(gain=[0,5,2])", [2, 1, 0, 2], [], 2 + 5 + 0 + 2),
    ],
    "IDCG": [
        ("IDCG", [0, 1, 2], [], 2 / log2(2) + 1 / log2(3)), ("IDCG@2", [0, 1], [3, 2], 3 / log2(2) + 2 / log2(3)),
        ("IDCG(gain=exp2)@1", [0, 1, 2], [], (2**2 - 1) / log2(2)),
        ("IDCG(discount=[1,0.25])", [0, 1], [2], 2 * 1 + 1 * 0.25), ("IDCG", [0], [], 0.0),
        ("IDCG(gain=[0,5,2])", [2, 1, 0, 2], [], 5 + 2 / log2(3) + 2 / log2(4)),
        ("IDCG(gain=[0,5,2])@1", [2, 1, 0, 2], [], 5),
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
        ("Rprec(mult=2)", [0, 1, 0, 1, 0], [], 2 / 4),
        ("Rprec(mult=0.5)", [1, 0, 1], [1], 1 / 2),  # 0.5 · 3 + 0.9 cut to 2
        ("Rprec(mult=2)@3", [0, 1, 0, 1, 0], [], 1 / 3), ("Rprec(mult=0.05)", [1], [], nan),
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
    "RelP": [
        ("RelP@2", [1, 0, 1], [1], 1 / 2), ("RelP@5", [1, 0, 1], [1], 2 / 3), ("RelP", [1, 0], [1, 1], 1 / 2),
        ("RelP(rel=2)@1", [1, 2], [], 0 / 1), ("RelP", [0], [], nan), ("RelP", [], [1], 0.0),
    ],
    "SetAP": [
        ("SetAP", [1, 0, 1], [1], (2 / 3) * (2 / 3)), ("SetAP", [0, 0], [1], 0.0), ("SetAP", [], [1], 0.0),
        ("SetAP", [0], [], nan),
    ],
    "Utility": [
        ("Utility", [1, 0, 0], [1], 1 * 1 - 1 * 2),
        ("Utility(a=2,b=-0.5,c=-3)", [1, 0, 0], [1, 0], 2 * 1 - 0.5 * 2 - 3 * 1),
        ("Utility(a=0,b=0,d=0.25,documents=100)", [1, 0, 0], [1], 0.25 * (100 - 3 - 1)),
    ],
    "IPrec": [
        ("IPrec(recall=0)", [0, 1, 1, 0, 1], [], 2 / 3), ("IPrec(recall=0.5)", [1, 0, 0, 1], [], 1 / 1),
        ("IPrec(recall=0.6)", [1, 0, 0, 1], [], 2 / 4), ("IPrec(recall=0.6)", [1, 0, 0, 0], [1], 0.0),
        ("IPrec(recall=0.7)", [1] * 7 + [0] * 3, [1] * 3, 7 / 7), ("IPrec(rel=2,recall=1)", [1, 2, 1, 2], [], 2 / 4),
        ("IPrec", [0], [], nan),
    ],
    "IAP": [
        ("IAP", [0, 1, 1, 0, 1], [], (7 * (2 / 3) + 4 * (3 / 5)) / 11),
        ("IAP(recalls=[0.5,1])", [0, 1, 0, 1], [], (2 / 4 + 2 / 4) / 2), ("IAP", [0], [], nan),
    ],
    "nDCG_rel": [
        ("nDCG_rel", [1, 0, 2], [], (
            (1 / log2(2)) / (2 / log2(2)) + (1 / log2(2) + 2 / log2(4)) / (2 / log2(2) + 1 / log2(3))
        ) / 2),
        ("nDCG_rel", [0, 2], [1], 2 * ((2 / log2(3)) / (2 / log2(2) + 1 / log2(3))) / 2),
        ("nDCG_rel(rel=2)", [1, 2], [], (2 / log2(3)) / (2 / log2(2))), ("nDCG_rel", [0], [], nan),
    ],
    "Rndcg": [
        ("Rndcg", [1, 2, 1], [], (
            (1 / log2(2)) / (2 / log2(2))
            + (1 / log2(2) + 2 / log2(3) + 1 / log2(4)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4))
        ) / 2),
        ("Rndcg", [0, 1, 0], [], ((0 / log2(2)) / (1 / log2(2)) + (1 / log2(3)) / (1 / log2(2))) / 2),
        ("Rndcg", [0, 1], [], (0 / log2(2)) / (1 / log2(2))),  # R + 1 documents: not looked at once more
        ("Rndcg", [0], [], nan),
    ],
    "G": [
        ("G", [1, 0, 2], [], (1 / log2(2 + 2 - 1) + 2 / log2(2 + (2 + 1 + 1) - (1 + 2))) / (2 + 1)),
        ("G", [0, 0, 3], [1], (3 / log2(2 + (3 + 1 + 1) - 3)) / (3 + 1)),
        ("G(gain=[0,0.5])", [0, 1], [], (0.5 / log2(2 + (1 + 1) - 0.5)) / 0.5), ("G", [0], [], nan),
    ],
    "binG": [
        ("binG", [0, 1, 0, 1], [1], (1 / log2(2 + 1) + 1 / log2(2 + 2)) / 3),
        ("binG(rel=2)", [1, 2], [], 1 / log2(2 + 1)), ("binG", [0], [], nan),
    ],
    "RBP": [
        ("RBP", [1, 0, 2], [], (1 - 0.9) * (1 + 0.9**2)), ("RBP(p=0.5)@2", [0, 1, 1], [], (1 - 0.5) * 0.5),
        ("RBP(p=0.5,rel=2)", [1, 2], [], (1 - 0.5) * 0.5),
        ("RBP(p=0.5,gain=linear)", [1, 2], [], (1 - 0.5) * (1 + 2 * 0.5)), ("RBP", [0], [1], 0.0),
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
# test_average_is_the_mean_over_all_orders compares every metric
TIES = [
    ("nDCG", [[2, 1]], ((2 + 1) * (1 / log2(2) + 1 / log2(3)) / 2) / (2 / log2(2) + 1 / log2(3))),
    ("DCG@4", [[1], [2, 1, 0, 0]], 1 / log2(2) + (2 + 1) * (1 / log2(3) + 1 / log2(4) + 1 / log2(5)) / 4),
    ("AP@2", [[1, 1, 0]], ((1 / 1 + 2 / 2) / 2 + (1 / 1) / 2 + (1 / 2) / 2) / 3),
    ("AP@3 n_hits", [[1], [0], [1, 1, 0]], (2 / 3) * (1 / 1 + 2 / 3) / 2 + (1 / 3) * (1 / 1) / 1),
    ("RR", [[0], [1, 1, 0]], 2 / 3 * (1 / 2) + 1 / 3 * (1 / 3)), ("P@2", [[0], [1, 1, 0]], (0 + 2 / 3) / 2),
    ("Success@3", [[0], [1, 1, 0, 0]], 1 - (2 / 4) * (1 / 3)), ("CoverageError", [[0], [1, 1, 0]], 1 + (2 + 3 + 3) / 3),
    ("AUC", [[1], [1, 0], [0]], (2 + 1 + 1 / 2) / (2 * 2)),
    ("ERR", [[2, 0], [1]], (TWO / 1 + TWO / 2) / 2 + (1 - TWO) * ONE / 3),
    ("bpref", [[1, 1, 0, None, 0], [0]], ((1 - 0 / 2) + (1 - 1 / 2) + (1 - 2 / 2)) / 3),
    ("infAP", [[1], [1, 0, None]], (1 + (
        2 * (1 / 2 + 1 / 2 * (1 + E) / (1 + 2 * E))
        + (1 / 3 + 2 / 3 * (1 + E) / (2 + 2 * E)) + (1 / 3 + 1 / 3 * (1 + E) / (1 + 2 * E))
        + 2 * (1 / 4 + 2 / 4 * (1 + E) / (2 + 2 * E))
    ) / 6) / 2),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "groups", "expected"), TIES)
@EVALUATE
def test_average_is_the_expectation_written_out(evaluate, metric, groups, expected):
    labels, scores = rank_groups(groups)
    judged = [label is not None for label in labels]
    rankings = Rankings([label or 0 for label in labels], scores, [0, len(labels)], judged=judged)
    metric, _, denominator = metric.partition(" ")
    convention = f"default(ap_denominator={denominator or 'n_relevant'})"
    assert evaluate(rankings, metrics=metric, convention=convention)[metric] == exactly(expected)


# metric, tie keys of three equal scores of which the second as given is relevant, tie policy, value
POLICIES = [
    ("RR", [3, 1, 2], "average", (1 / 1 + 1 / 2 + 1 / 3) / 3), ("RR", [3, 1, 2], "input", 1 / 2),
    ("RR", [3, 1, 2], "id_descending", 1 / 3), ("RR", [3, 1, 2], "id_ascending", 1 / 1),
    ("RR", [3, 1, 2], "best", 1 / 1), ("RR", [3, 1, 2], "worst", 1 / 3),
    # equal keys stay as given
    ("RR", [7, 7, 7], "id_descending", 1 / 2), ("RR", [7, 7, 7], "id_ascending", 1 / 2),
    ("RR", [7, 7, 7], "input", 1 / 2),
    ("RankingLoss", None, "best", 0), ("RankingLoss", None, "worst", 1), ("RankingLoss", None, "average", 1 / 2),
    ("CoverageError", None, "best", 1), ("CoverageError", None, "worst", 3), ("CoverageError", None, "average", 2),
]  # fmt: skip


@pytest.mark.parametrize(("metric", "tie_keys", "ties", "expected"), POLICIES)
@EVALUATE
def test_tie_policy_places_the_relevant_document(evaluate, metric, tie_keys, ties, expected):
    rankings = Rankings([0, 1, 0], [0.5, 0.5, 0.5], [0, 3], tie_keys=tie_keys)
    assert evaluate(rankings, metrics=metric, convention=f"default(ties={ties})")[metric] == exactly(expected)


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
    ("INST(gain=[0,0.5,2,1])", [1, 2, 3], r"not 2, but labels\[1\]"),
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
