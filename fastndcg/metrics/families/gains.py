"""nDCG and other metrics that add up gains."""

from __future__ import annotations

import math

from fastndcg.metrics.families.counts import ap_denominator, n_relevant
from fastndcg.metrics.families.record import (
    DISCOUNT,
    GAIN,
    GAIN_REL,
    JARVELIN_2002,
    PERSISTENCE,
    REL,
    TREC_EVAL,
    WITHOUT_AVERAGE,
    Definition,
    Parameter,
    Record,
)

RECORDS = (
    Record(
        name="nDCG",
        title="normalised discounted cumulative gain",
        use="The share of the best possible gain that the ranking delivers near its top; the first choice for graded "
        "labels.",
        place="gains.ndcg",
        needs_all_relevant=True,
        is_additive=True,
        gain_sums=("DCG", "IDCG"),
        ideal="by convention",
        sum="DCG",
        formula="DCG@k / IDCG@k",
        undefined="nothing has a gain",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, DISCOUNT, GAIN_REL),
        aliases=("ndcg",),
        peers=(("ir_measures", "nDCG"), ("scikit-learn", "ndcg_score")),
    ),
    Record(
        name="DCG",
        title="discounted cumulative gain",
        use="The gain that a user collects who looks at each rank less than at the one above; to compare systems on "
        "the same queries.",
        place="gains.dcg",
        is_additive=True,
        gain_sums=("DCG",),
        sum="DCG",
        formula="sum over ranks r = 1 … k of gain(label at rank r) · discount(r); discount(r) = 1/log2(r + 1)",
        range="0 to IDCG@k",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, DISCOUNT, GAIN_REL),
        aliases=("dcg",),
        peers=(("scikit-learn", "dcg_score"),),
    ),
    Record(
        name="CG",
        title="cumulative gain",
        use="The gain of the first k documents, whatever their order; where users read all k.",
        place="gains.cg",
        discount="none",
        is_additive=True,
        gain_sums=("CG",),
        formula="sum over ranks r = 1 … k of gain(label at rank r)",
        range="0 and up",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, GAIN_REL),
        aliases=("cg",),
    ),
    Record(
        name="IDCG",
        title="ideal discounted cumulative gain",
        use="The highest DCG that any ranking of a query can have; to see what nDCG divides by.",
        place="gains.idcg",
        gain_sums=("IDCG",),
        ideal="by convention",
        sum="DCG",
        formula="DCG@k of the best possible order of all judged documents",
        range="0 and up",
        source=JARVELIN_2002,
        doi="10.1145/582415.582418",
        parameters=(GAIN, DISCOUNT, GAIN_REL),
        aliases=("idcg", "ideal_dcg"),
        higher_is_better=None,
    ),
    Record(
        name="RBP",
        title="rank-biased precision",
        use="The gain per document that a user reads who goes on from each rank with chance p; where users stop at "
        "different depths, and judgments have holes.",
        place="gains.dcg",
        is_additive=True,
        gain_sums=("RBP",),
        gain_choice="rbp_gain",
        sum="DCG",
        formula="(1 − p) · sum over ranks r = 1 … k of gain(label at rank r) · p^(r − 1): DCG with these discounts; a "
        "convention may divide it by the query's highest gain, where that is above 1",
        range="0 to 1 for gains up to 1",
        source="A. Moffat and J. Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008",
        doi="10.1145/1416950.1416952",
        parameters=(
            PERSISTENCE,
            Parameter("gain", "gain", None, "binary, linear, exp2 or a table of gains; the convention's if left out"),
            GAIN_REL,
        ),
        aliases=("rank_biased_precision",),
        variants=(("rbp_gain", "share of highest", "gains.dcg_over_max_gain"),),
    ),
    Record(
        name="nDCG_rel",
        title="nDCG averaged over relevant documents",
        use="nDCG at the depth of each relevant document, averaged; where no single cutoff fits all queries.",
        place="gains.ndcg_at_relevant",
        formula="mean over all documents with a gain of nDCG at the rank of each, of all ranks for those not found",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("ndcg_rel",),
        has_cutoff=False,
    ),
    Record(
        name="Rndcg",
        title="nDCG averaged over levels of gain",
        use="nDCG at the depths where each grade should end, averaged; where the grades differ in number from query "
        "to query.",
        place="gains.ndcg_at_levels",
        formula="mean of nDCG at each rank that ends a level of gain in the best order, and of nDCG of all ranks where "
        "more than R + 1 documents are ranked, R the number with a gain",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("R-nDCG",),
        has_cutoff=False,
    ),
    Record(
        name="G",
        title="normalised gain",
        use="How much gain arrives for the ranks it costs; in trec_eval, as an alternative to nDCG that adapts to "
        "each query.",
        place="gains.normalised_gain",
        takes_repeats=False,
        formula="sum over documents ranked of gain / log2(2 + cost − gained), over the sum of all gains; gained: the "
        "gains from rank 1 to the document's; cost: those of the best order, 1 for each rank that gains less; "
        "the mean over the orders of a tie would need how many sets of documents gain each sum, for which no "
        "polynomial algorithm is known",
        undefined="nothing has a gain",
        source=TREC_EVAL,
        parameters=(GAIN, GAIN_REL),
        aliases=("normalised_gain",),
        ties=WITHOUT_AVERAGE,
        has_cutoff=False,
    ),
    Record(
        name="binG",
        title="binary normalised gain",
        use="How few documents that are not relevant stand above the relevant ones, softened by a logarithm; binary "
        "labels.",
        place="gains.binary_gain",
        formula="sum over relevant documents found of 1 / log2(2 + documents above that are not relevant), over R",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("binary_gain",),
        has_cutoff=False,
    ),
    Record(
        name="Q",
        title="Q-measure",
        use="Average precision for graded labels: precision blended with the share of the gain found so far; as at "
        "NTCIR.",
        place="gains.q_measure",
        needs_all_relevant=True,
        denominator="ap_denominator",
        takes_repeats=False,
        formula="sum over ranks r = 1 … k with a relevant document of (C(r) + beta · G(r)) / (r + beta · G*(r)), where "
        "C counts the relevant documents down to r, G adds up their gains, and G* those of the best order; divided by "
        "the number of relevant documents, or what else AP divides by",
        undefined="nothing is relevant",
        source="T. Sakai, New performance metrics based on multigrade relevance: their application to question "
        "answering, NTCIR-4, 2004; T. Sakai, On the reliability of information retrieval metrics based on graded "
        "relevance, Information Processing & Management 2007",
        doi="10.1016/j.ipm.2006.07.020",
        parameters=(
            Parameter("beta", "float", 1, "how much a gain counts beside a relevant document", above=0),
            GAIN,
            REL,
        ),
        aliases=("q_measure", "q-measure"),
        peers=(("NTCIREVAL", "Q-measure"),),
    ),
)


def cg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of the gains at ranks 1 … k."""
    return math.fsum(definition.gain(label) for label in labels[: definition.k])


def dcg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum over ranks r = 1 … k of gain · discount(r)."""
    ranked = enumerate(labels[: definition.k], 1)
    return math.fsum(definition.gain(label) * definition.discount(r) for r, label in ranked)


def dcg_over_max_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k, divided by the highest gain of the judged documents if that is above 1."""
    return dcg(labels, judged, definition) / max(1, *(definition.gain(label) for label in judged), 1)


def idcg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k of the convention's ideal ranking."""
    if definition.convention.ideal == "k best":
        highest = max(map(definition.gain, judged), default=0.0)
        return max(highest, 0.0) * math.fsum(definition.discount(r) for r in range(1, (definition.k or 0) + 1))
    best = sorted(judged, key=definition.gain, reverse=True)
    n_ranks = len(labels) if definition.convention.ideal == "min(k, n_retrieved)" else None
    return dcg(best[:n_ranks], judged, definition)


def ndcg(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return DCG@k / IDCG@k, or NaN if the ideal is 0."""
    ideal = idcg(labels, judged, definition)
    return math.nan if ideal == 0 else dcg(labels, judged, definition) / ideal


def ndcg_at_relevant(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of nDCG@r over the ranks r of all documents with a gain, the last rank for one not retrieved."""
    ideal = best_gains(judged, definition)
    hit_ranks = [r for r, label in enumerate(labels, 1) if definition.gain(label) > 0]
    ranks = hit_ranks + [max(len(labels), len(ideal))] * (len(ideal) - len(hit_ranks))
    return math.fsum(_ndcg(rank, labels, ideal, definition) for rank in ranks) / len(ideal) if ideal else math.nan


def ndcg_at_levels(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of nDCG at the ranks where the ideal gain changes, and at the last rank below them."""
    ideal = best_gains(judged, definition)
    ranks = [r for r in range(1, len(ideal) + 1) if r == len(ideal) or ideal[r] != ideal[r - 1]]
    if len(labels) > len(ideal) + 1:
        ranks.append(len(labels))
    return math.fsum(_ndcg(rank, labels, ideal, definition) for rank in ranks) / len(ranks) if ideal else math.nan


def normalised_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of gain / log2(2 + cost − gains so far), divided by the sum of all gains."""
    ideal = best_gains(judged, definition)
    gains = [definition.gain(label) for label in labels]
    if not ideal:
        return math.nan
    costs = [max(gain, 1) for gain in ideal] + [1] * len(labels)
    terms = [
        gain / math.log2(2 + math.fsum([*costs[:r], *(-other for other in gains[:r])]))
        for r, gain in enumerate(gains, 1)
        if gain > 0
    ]
    return math.fsum(terms) / math.fsum(ideal)


def binary_gain(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean over relevant documents of 1 / log2(2 + documents above that are not relevant)."""
    relevant = [definition.is_relevant(label) for label in labels]
    n = n_relevant(labels, judged, definition)
    terms = [1 / math.log2(2 + relevant[:i].count(False)) for i, is_relevant in enumerate(relevant) if is_relevant]
    return math.fsum(terms) / n if n else math.nan


def best_gains(judged: list[float], definition: Definition) -> list[float]:
    """Return the gains above 0 of all judged documents, highest first."""
    return sorted((definition.gain(label) for label in judged if definition.gain(label) > 0), reverse=True)


def _ndcg(k: int, labels: list[float], ideal: list[float], definition: Definition) -> float:
    dcg = math.fsum(definition.gain(label) * definition.discount(r) for r, label in enumerate(labels[:k], 1))
    return dcg / math.fsum(gain * definition.discount(r) for r, gain in enumerate(ideal[:k], 1))


def q_measure(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of (count + beta · gain) / (r + beta · ideal gain) over the ranks r of relevant documents."""
    beta = definition.get("beta")
    ideal = sorted((max(definition.gain(label), 0) for label in judged), reverse=True)
    ratios = []
    for r, label in enumerate(labels[: definition.k], 1):
        if definition.is_relevant(label):
            count = sum(map(definition.is_relevant, labels[:r]))
            gain = math.fsum(map(definition.gain, labels[:r]))
            ratios.append((count + beta * gain) / (r + beta * math.fsum(ideal[:r])))
    n = ap_denominator(labels, judged, definition)
    return math.fsum(ratios) / n if n else math.nan
