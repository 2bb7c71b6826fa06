"""
Metrics of two rankings of the same documents, the first of which is the truth where that matters.

scores          {document: score} of either ranking
first, second   the scores of the documents that are in both rankings
"""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from functools import partial
from typing import Any

from fastndcg.metrics.families.record import Parameter, Record

Scores = dict[int, float]
FEW = "fewer than two documents are in both rankings"
ALL_TIED = f"{FEW}, or one ranks them all alike"
EXPECTED = "the mean over all orders of equal scores, in either ranking"
URBANO_2017 = "J. Urbano and M. Marrero, The treatment of ties in AP correlation, ICTIR 2017"
_of_rankings = partial(Record, range="−1 to 1", has_cutoff=False, ties=(), function_name="agreement")

RECORDS = (
    _of_rankings(
        name="tau_b",
        title="Kendall's tau-b",
        use="How alike two orders are over all pairs, ties considered; for rankings whose ranks all matter alike.",
        place="agreement.tau_b",
        formula="(C − D) / √((n0 − n1) · (n0 − n2)): of n0 pairs of documents in both rankings C are in the same "
        "order, D in the opposite one, n1 and n2 tied in the first and in the second",
        undefined=ALL_TIED,
        source="M. G. Kendall, The treatment of ties in ranking problems, Biometrika 1945",
        doi="10.1093/biomet/33.3.239",
        aliases=("kendall", "kendall_tau", "kendalltau"),
        peers=(("SciPy", "kendalltau"), ("pandas", "corr(method='kendall')"), ("ircor", "tau_b")),
    ),
    _of_rankings(
        name="spearman",
        title="Spearman's rank correlation",
        use="How alike the ranks of two orders are; where far exchanges should count more than near ones.",
        place="agreement.spearman",
        formula="the correlation of the ranks of documents in both rankings; tied ones share their mean rank",
        undefined=ALL_TIED,
        source="C. Spearman, The proof and measurement of association between two things, 1904",
        doi="10.2307/1412159",
        aliases=("rho", "spearmanr"),
        peers=(("SciPy", "spearmanr"), ("pandas", "corr(method='spearman')")),
    ),
    _of_rankings(
        name="tau_ap",
        title="AP correlation",
        use="How alike two orders are at the top, the first taken as the truth; for leaderboards against a gold order.",
        place="agreement.tau_ap",
        formula="2 / (n − 1) · (sum over ranks i = 2 … n of the second ranking of C(i) / (i − 1)) − 1: C(i) documents "
        f"above rank i are above that at rank i in the first ranking, too; {EXPECTED} (tau_AP,a)",
        undefined=FEW,
        source="E. Yilmaz, J. A. Aslam and S. Robertson, A new rank correlation coefficient for information retrieval, "
        f"SIGIR 2008; ties: {URBANO_2017}",
        doi="10.1145/1390334.1390435",
        aliases=("tauap", "tau_ap_a", "ap_correlation"),
        peers=(("ircor", "tauAP, tauAP_a"),),
        ties=("average",),
    ),
    _of_rankings(
        name="tau_ap_b",
        title="AP correlation of two rankings with ties, neither of which is the truth",
        use="How alike two orders are at the top when both have ties; for two rankings of which neither is the truth.",
        place="agreement.tau_ap_b",
        formula="the mean over both directions of 2 / m · (sum over the m documents below the first tie group of "
        "C(i) / p(i)) − 1: p(i) are above document i's tie group, C(i) of them above it in the other ranking, too",
        undefined=ALL_TIED,
        source=URBANO_2017,
        doi="10.1145/3121050.3121106",
        aliases=("tauap_b",),
        peers=(("ircor", "tauAP_b"),),
    ),
    _of_rankings(
        name="RBO",
        title="rank-biased overlap",
        use="How much two rankings overlap, the top weighing most; for lists of different documents and lengths.",
        place="agreement.rbo",
        formula="(1 − p) · sum over depths d of p^(d − 1) · |first:d ∩ second:d| / d, extrapolated beyond the ends of "
        f"the lists (RBO_EXT) or not (RBO_MIN); {EXPECTED} (RBO^a); with k, of the first k documents of each",
        range="0 to 1",
        undefined="a ranking is empty",
        source="W. Webber, A. Moffat and J. Zobel, A similarity measure for indefinite rankings, TOIS 2010, equations "
        "32 and 11; ties: M. Corsi and J. Urbano, The treatment of ties in rank-biased overlap, SIGIR 2024",
        doi="10.1145/1852102.1852106",
        parameters=(
            Parameter("p", "float", 0.9, "how likely the reader is to go on to the next rank", above=0, below=1),
            Parameter(
                "form",
                "choice",
                "ext",
                "what is taken for granted beyond the ends: the agreement seen, or none",
                choices=("ext", "min"),
            ),
        ),
        aliases=("rbo", "rank_biased_overlap"),
        peers=(("rbo", "RankingSimilarity.rbo_ext"),),
        has_cutoff=True,
        ties=("average",),
    ),
)


def list_common(first: Scores, second: Scores) -> tuple[list[float], list[float]]:
    """Return the scores in either ranking of the documents that both have."""
    common = [document for document in first if document in second]
    return [first[document] for document in common], [second[document] for document in common]


def sign(x: float, y: float) -> int:
    """Return 1 if the first of two scores is higher, −1 if the second is higher, and 0 if they are equal."""
    return (x > y) - (x < y)


def tau_b(first_scores: Scores, second_scores: Scores, metric: Any) -> float:
    """Return Kendall's tau b: concordant minus discordant pairs, divided by the geometric mean of untied pairs."""
    first, second = list_common(first_scores, second_scores)
    pairs = list(itertools.combinations(range(len(first)), 2))
    signs = [(sign(first[i], first[j]), sign(second[i], second[j])) for i, j in pairs]
    ordered = [sum(pair[side] != 0 for pair in signs) for side in (0, 1)]
    return sum(x * y for x, y in signs) / math.sqrt(math.prod(ordered)) if math.prod(ordered) else math.nan


def spearman(first_scores: Scores, second_scores: Scores, metric: Any) -> float:
    """Return the correlation of the ranks."""
    first, second = list_common(first_scores, second_scores)
    x = ranks(first)
    y = ranks(second)
    mean = Fraction(len(first) + 1, 2)
    squares = [sum((rank - mean) ** 2 for rank in side) for side in (x, y)]
    products = sum((a - mean) * (b - mean) for a, b in zip(x, y, strict=True))
    return float(products) / math.sqrt(math.prod(squares)) if math.prod(squares) else math.nan


def ranks(scores: list[float]) -> list[Fraction]:
    """Return the ranks from 1, the highest score first. Equal scores share their mean rank."""
    above = [sum(other > score for other in scores) for score in scores]
    return [rank + Fraction(scores.count(score) + 1, 2) for rank, score in zip(above, scores, strict=True)]


def tau_ap(first_scores: Scores, second_scores: Scores, metric: Any) -> float:
    """Return tau AP, averaged over all orders of equal scores in both rankings."""
    first, second = list_common(first_scores, second_scores)
    n = len(first)
    if n < 2:
        return math.nan
    orders = [(x, y) for x in list_orders(first) for y in list_orders(second)]
    return float(sum((tau_ap_without_ties(x, y) for x, y in orders), Fraction(0)) / len(orders))


def tau_ap_without_ties(first: list[int], second: list[int]) -> Fraction:
    """Return tau AP of two orders, from −1 to 1."""
    ranks_in_first = {document: rank for rank, document in enumerate(first)}
    total = Fraction(0)
    for i in range(1, len(second)):
        total += Fraction(sum(ranks_in_first[above] < ranks_in_first[second[i]] for above in second[:i]), i)
    return 2 * total / (len(second) - 1) - 1


def list_orders(scores: list[float]) -> list[list[int]]:
    """Return every order of the documents by falling score."""
    levels = [[i for i, score in enumerate(scores) if score == level] for level in sorted(set(scores), reverse=True)]
    products = itertools.product(*map(itertools.permutations, levels))
    return [[document for level in order for document in level] for order in products]


def tau_ap_b(first_scores: Scores, second_scores: Scores, metric: Any) -> float:
    """Return the mean of tau AP b in both directions."""
    first, second = list_common(first_scores, second_scores)
    return (tau_ap_b_one_way(first, second) + tau_ap_b_one_way(second, first)) / 2


def tau_ap_b_one_way(first: list[float], second: list[float]) -> float:
    """Return tau AP b of the second ranking against the first, from −1 to 1."""
    shares = []
    for i, score in enumerate(second):
        above = [j for j, other in enumerate(second) if other > score]
        if above:
            shares.append(sum(first[j] > first[i] for j in above) / len(above))
    return 2 * math.fsum(shares) / len(shares) - 1 if shares else math.nan


def rbo(first_scores: Scores, second_scores: Scores, metric: Any) -> float:
    """Return RBO, averaged over all orders of equal scores in both rankings."""
    if not first_scores or not second_scores:
        return math.nan
    compute = extrapolated if metric.get("form") == "ext" else lowest
    k, p = metric.k, metric.get("p")
    values = [compute(x[:k], y[:k], p) for x in lists(first_scores) for y in lists(second_scores)]
    return math.fsum(values) / len(values)


def lists(scores: Scores) -> list[list[int]]:
    """Return every list of the documents by falling score."""
    documents = list(scores)
    return [[documents[i] for i in order] for order in list_orders(list(scores.values()))]


def overlap(first: list[int], second: list[int], depth: int) -> int:
    """Return the number of documents that are in the first `depth` ranks of both lists."""
    return len(set(first[:depth]) & set(second[:depth]))


def extrapolated(first: list[int], second: list[int], p: float) -> float:
    """Return RBO_EXT of two lists: equation 32 of Webber, Moffat and Zobel 2010."""
    s, n = sorted((len(first), len(second)))
    at = [overlap(first, second, depth) for depth in range(n + 1)]
    observed = [at[d] / d * p**d for d in range(1, n + 1)]
    extrapolation = [at[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1)]
    return (1 - p) / p * math.fsum(observed + extrapolation) + ((at[n] - at[s]) / n + at[s] / s) * p**n


def lowest(first: list[int], second: list[int], p: float) -> float:
    """Return RBO_MIN of two lists: equation 11 of Webber, Moffat and Zobel 2010."""
    n = max(len(first), len(second))
    at = [overlap(first, second, depth) for depth in range(n + 1)]
    terms = [(at[d] - at[n]) * p**d / d for d in range(1, n + 1)]
    return (1 - p) / p * (math.fsum(terms) - at[n] * math.log(1 - p))
