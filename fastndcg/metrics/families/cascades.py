"""Metrics of users who may stop at a document, who adapt, or whom an ideal ranking satisfies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

from fastndcg.errors import InvalidInputError
from fastndcg.metrics.families.record import GAIN_REL, REL, WITHOUT_AVERAGE, Definition, Parameter, Record

MAX_GRADE = Parameter("max_grade", "int", 4, "the highest label there is; a higher one is an error", min=1, max=1023)
STOP = Parameter(
    "stop", "choice", "grades",
    "what labels are: grades, with (2^label − 1) / 2^max_grade the chance to stop at a document, or such chances",
    choices=("grades", "labels"),
)  # fmt: skip
CHAPELLE_2009 = (
    "O. Chapelle, D. Metzler, Y. Zhang, P. Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009"
)
TIES = "; in a tie group by elementary symmetric polynomials of the chances to go on"
OWN_GAIN = Parameter(
    "gain", "gain", "binary", "binary, linear, exp2 or a table of gains, none of them above 1 for INST"
)
NO_AVERAGE = (
    "the mean over the orders of a tie would need how many sets of documents gain each sum, for which no polynomial "
    "algorithm is known"
)

RECORDS = (
    Record(
        name="ERR",
        title="expected reciprocal rank",
        use="How early a user is satisfied who stops at the first good enough document; for graded labels where one "
        "good answer ends the search.",
        place="cascades.expected_reciprocal_rank",
        formula="sum over ranks r = 1 … k of 1/r · stop(r) · product over the ranks i above of 1 − stop(i), where "
        "stop(r) = (2^label − 1) / 2^max_grade" + TIES,
        source=CHAPELLE_2009,
        doi="10.1145/1645953.1646033",
        parameters=(MAX_GRADE, STOP),
        aliases=("err", "expected_reciprocal_rank"),
        peers=(("ir_measures", "ERR"), ("RankLib", "ERR"), ("CatBoost", "ERR, as ERR(stop=labels)")),
    ),
    Record(
        name="nERR",
        title="normalised expected reciprocal rank",
        use="ERR over the best that the query allows; where queries without a top grade would pull the mean down.",
        place="cascades.normalised_reciprocal_rank",
        takes_repeats=False,
        formula="ERR@k / ERR@k of the best order of all judged documents",
        undefined="nothing has a label above 0",
        source=CHAPELLE_2009 + "; C. L. A. Clarke and others, A comparative analysis of cascade measures, WSDM 2011",
        doi="10.1145/1935826.1935847",
        parameters=(MAX_GRADE, STOP),
        aliases=("nerr",),
    ),
    Record(
        name="PFound",
        title="chance to find",
        use="The chance that a user who may lose patience or be satisfied at each rank finds an answer; Yandex's "
        "measure.",
        place="cascades.pfound",
        formula="sum over ranks r = 1 … k of decay^(r − 1) · stop(r) · product over the ranks i above of 1 − stop(i)"
        + TIES,
        source="A. Gulin, P. Karpovich, D. Raskovalov, I. Segalovich, Yandex at ROMIP 2009, ROMIP 2009, "
        "http://romip.ru/romip2009/15_yandex.pdf",
        parameters=(
            Parameter("decay", "float", 0.85, "the chance to go on from one rank to the next", above=0, below=1),
            MAX_GRADE,
            STOP,
        ),
        aliases=("pfound",),
        peers=(("CatBoost", "PFound, as PFound(stop=labels)"),),
    ),
    Record(
        name="TBG",
        title="time-biased gain",
        use="The gain of a user whose time passes with each document read; where lengths of documents are known.",
        place="cascades.time_biased_gain",
        formula="sum over ranks r = 1 … k with a relevant document of 0.64 · 0.77 · 2^(−t / half_life), where t "
        "seconds were read above: 4.4 + (0.018 · words + 7.8) · 0.64 for each relevant document, · 0.39 for each other",
        range="0 and up",
        source="M. D. Smucker and C. L. A. Clarke, Time-based calibration of effectiveness measures, SIGIR 2012; "
        "every document is taken to be as long, and none to be a duplicate",
        doi="10.1145/2348283.2348300",
        parameters=(
            Parameter("half_life", "float", 224, "seconds after which half of the users read on", above=0),
            Parameter("words", "float", 363, "words in a document; by default the mean of AQUAINT's", above=0),
            REL,
        ),
        aliases=("tbg", "time_biased_gain"),
    ),
    Record(
        name="INST",
        title="inverse squares of ranks and of what is still to be gained",
        use="The gain per document of a user who goes on the longer, the more is still to be found; where the number "
        "of wanted documents differs.",
        place="cascades.inst",
        counts_empty_ranks=True,
        formula="sum over ranks r = 1 … k of gain(label at rank r) · V(r), over the sum of V(r); V(1) = 1 and "
        "V(r + 1) = V(r) · ((r + goal + left − 1) / (r + goal + left))², where left is the goal less the gains down to "
        "rank r; ranks below the last document gain nothing, and without k there is no end of them; "
        f"{NO_AVERAGE}",
        source="A. Moffat, P. Bailey, F. Scholer, P. Thomas, Incorporating user expectations and behavior into the "
        "measurement of search effectiveness, TOIS 2017",
        doi="10.1145/3052768",
        parameters=(
            Parameter("goal", "float", 1, "T, what the user wants to gain; from 0.25 to 10000", min=0.25, max=10_000),
            OWN_GAIN,
            GAIN_REL,
        ),
        aliases=("inst",),
        peers=(("ir_measures", "INST, which ends at rank 1000: INST@1000"), ("cwl_eval", "INST")),
        ties=WITHOUT_AVERAGE,
    ),
    Record(
        name="BPM",
        title="Bejeweled player model, static",
        use="The gain per rank until the user has enough or gives up; where both a goal and a limit of patience are "
        "known.",
        place="cascades.bejeweled_player",
        counts_empty_ranks=True,
        formula="gains down to the rank where they reach the goal, or down to rank k if that comes first, over that "
        f"rank; without k, 0 if the goal is not reached; {NO_AVERAGE}",
        range="0 to 1 for gains up to 1",
        source="F. Zhang, Y. Liu, X. Li, M. Zhang, Y. Xu, S. Ma, Evaluating web search with a Bejeweled player model, "
        "SIGIR 2017",
        doi="10.1145/3077136.3080841",
        parameters=(Parameter("goal", "float", 1, "T, what the user wants to gain", above=0), OWN_GAIN, GAIN_REL),
        aliases=("bpm",),
        peers=(("ir_measures", "BPM, whose K is the cutoff"), ("cwl_eval", "BPM-Static")),
        ties=WITHOUT_AVERAGE,
    ),
    Record(
        name="Compat",
        title="compatibility: the highest rank-biased overlap with an ideal ranking",
        use="How close a ranking comes to an ideal one, at the top most; for preferences and judgments in many grades.",
        place="cascades.compatibility",
        takes_repeats=False,
        formula="sum over d = 1 … k of p^(d − 1) · |R:d ∩ I:d| / d, over the same of I with itself; R:d are the first "
        "d documents, I those with a label by falling label, of one label in the order of R; without k all ranks",
        undefined="no label is above 0",
        source="C. L. A. Clarke, A. Vtyurina and M. D. Smucker, Assessing top-k preferences, TOIS 2021",
        doi="10.1145/3451161",
        parameters=(
            Parameter("p", "float", 0.95, "how likely the user is to look at the next rank", above=0, below=1),
        ),
        aliases=("compat", "compatibility"),
        peers=(("ir_measures", "Compat, whose ranks end with the longer of both lists"),),
    ),
)


def stop_probability(label: float, definition: Definition) -> float:
    """Return the probability to stop at a document: its label, or (2^label − 1) / 2^max_grade."""
    if label <= 0:
        return 0.0
    if definition.metric.get("stop") == "labels":
        return label
    if definition.convention.label_fractions == "cut off":
        label = float(math.trunc(label))
    gain = 2.0**label - 1 if label >= 1 else math.expm1(label * math.log(2))
    return float(gain / 2.0 ** definition.get("max_grade"))


def expected_worth(labels: list[float], definition: Definition, worth: Callable[[int], float]) -> float:
    """Return the expected worth of the rank among the first k at which a user stops."""
    terms = []
    p_continue = 1.0
    for rank, label in enumerate(labels[: definition.k], 1):
        terms.append(p_continue * stop_probability(label, definition) * worth(rank))
        p_continue *= 1 - stop_probability(label, definition)
    return math.fsum(terms)


def expected_reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the expected 1 / rank at which a user stops."""
    return expected_worth(labels, definition, lambda rank: 1 / rank)


def normalised_reciprocal_rank(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return ERR@k divided by the ERR@k of the ideal ranking."""
    ideal = expected_reciprocal_rank(sorted(judged, reverse=True), judged, definition)
    return expected_reciprocal_rank(labels, judged, definition) / ideal if ideal else math.nan


def pfound(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the probability to stop at a document if the user goes on from each rank with probability `decay`."""
    return expected_worth(labels, definition, lambda rank: definition.get("decay") ** (rank - 1))


def time_biased_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of the gains of relevant documents, halved by each half-life of seconds before a document."""
    gains = []
    seconds = 0.0
    for label in labels[: definition.k]:
        is_relevant = definition.is_relevant(label)
        if is_relevant:
            gains.append(0.64 * 0.77 * 2 ** (-seconds / definition.get("half_life")))
        seconds += 4.4 + (0.018 * definition.get("words") + 7.8) * (0.64 if is_relevant else 0.39)
    return math.fsum(gains)


N_EXTRA_RANKS = 300  # further ranks without gains are summed by a series, to 16 digits


def inst(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean gain, each rank weighted by the probability that the user reaches it."""
    gains = [definition.gain(label) for label in labels]
    if not all(0 <= gain <= 1 for gain in gains):
        raise InvalidInputError("`labels` must have gains from 0 to 1. See fastndcg.evaluate")
    goal = definition.get("goal")
    weights = []
    weighted_gains = []
    remaining = goal
    weight = 1.0
    n_ranks = len(gains) + N_EXTRA_RANKS if definition.k is None else definition.k
    for rank, gain in enumerate(itertools.islice(itertools.chain(gains, itertools.repeat(0.0)), n_ranks), 1):
        weights.append(weight)
        weighted_gains.append(gain * weight)
        remaining -= gain
        weight *= ((rank + goal + remaining - 1) / (rank + goal + remaining)) ** 2
    if definition.k is None:
        x = n_ranks + goal + remaining  # further weights sum to weight · x² · (1 / x² + 1 / (x + 1)² + …)
        weights.append(weight * (x + 1 / 2 + 1 / (6 * x) - 1 / (30 * x**3)))
    return math.fsum(weighted_gains) / math.fsum(weights)


def bejeweled_player(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean gain down to the rank that reaches the goal, or down to rank k."""
    total = 0.0
    for rank, label in enumerate(labels[: definition.k], 1):
        total += definition.gain(label)
        if total >= definition.get("goal") - 1e-9:
            return total / rank
    return 0.0 if definition.k is None else total / definition.k


def compatibility(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the rank-biased overlap with the most similar ideal ranking, divided by its overlap with itself."""
    ideal = sorted((label for label in judged if label > 0), reverse=True)
    p = definition.get("p")
    last = math.inf if definition.k is None else definition.k
    if not ideal:
        return math.nan
    free_ranks = {label: [r for r, other in enumerate(ideal, 1) if other == label] for label in ideal}
    depths = [max(r, free_ranks[label].pop(0)) for r, label in enumerate(labels, 1) if free_ranks.get(label)]
    return overlap(depths, p, last) / overlap(list(range(1, len(ideal) + 1)), p, last)


def overlap(depths: list[int], p: float, last: float) -> float:
    """Return the sum over depths d of p^(d − 1) / d · the number of documents in the first d ranks of both rankings."""
    return math.fsum(sum_weights(depth, p, last) for depth in depths)


def sum_weights(depth: int, p: float, last: float) -> float:
    """Return the sum of p^(d − 1) / d for all d from a depth on, down to terms that change no digit."""
    total = 0.0
    term = 1.0
    d = depth
    while d <= last and term > total * 1e-18:
        term = p ** (d - 1) / d
        total += term
        d += 1
    return total
