"""Metrics of judgments by subtopic: novelty and diversity."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import partial

from fastndcg.metrics.families.record import REL, WHATEVER_THE_LABELS, Definition, JudgedBySubtopic, Parameter, Record

ALPHA = Parameter(
    "alpha", "float", 0.5, "how much of its gain a subtopic loses with each relevant document", min=0, max=1
)
PATIENCE = Parameter("beta", "float", 0.5, "the chance that a user goes on to the next document", above=0, below=1)
NUGGETS = Parameter(
    "importance",
    "choice",
    "weighted",
    "weighted: nuggets count by their importance; vital: those of importance 1 or more, alike; equal: all, alike",
    choices=("weighted", "vital", "equal"),
)
PARTIAL = Parameter(
    "partial", "float", 0.5, "what partial support counts, a label below rel; 0 is strict", min=0, max=1
)
AGRAWAL_2009 = "R. Agrawal, S. Gollapudi, A. Halverson and S. Ieong, Diversifying search results, WSDM 2009"
CLARKE_2008 = "C. L. A. Clarke et al., Novelty and diversity in information retrieval evaluation, SIGIR 2008"
CLARKE_2009 = "C. L. A. Clarke, M. Kolla and O. Vechtomova, An effectiveness measure for ambiguous queries, ICTIR 2009"
CLARKE_2011 = "C. L. A. Clarke et al., A comparative analysis of cascade measures for diversity, WSDM 2011"
PRADEEP_2024 = (
    "R. Pradeep et al., Initial nugget evaluation results for the TREC 2024 RAG Track with the AutoNuggetizer "
    "framework, 2024"
)
YANG_2018 = (
    "Z. Yang et al., HotpotQA: a dataset for diverse, explainable multi-hop question answering, EMNLP 2018, whose "
    "questions need all supporting facts"
)
ZHAI_2003 = "C. Zhai, W. W. Cohen and J. Lafferty, Beyond independent relevance, SIGIR 2003"
GAIN = (
    "gain(r) = sum over subtopics of the document at rank r of (1 − alpha)^(relevant documents of the subtopic above)"
)
BEST = (
    "the best order is the greedy one: to find the true one is NP-hard; of documents that gain alike it takes "
    "the first by id, or as given in arrays, on which the value depends"
)
LIMIT = "Z · (1 − alpha)^(r − 1), where Z subtopics have a relevant document"
NO_SUBTOPIC = "no subtopic has a relevant document"
_by_subtopic = partial(
    Record,
    undefined=NO_SUBTOPIC,
    ties=WHATEVER_THE_LABELS,
    view="subtopics",
)

RECORDS = (
    _by_subtopic(
        name="alpha_nDCG",
        title="novelty-biased nDCG",
        use="nDCG that rewards new subtopics and not repetitions; for diversity where a query has several meanings.",
        place="subtopics.share_of_best",
        takes_repeats=False,
        formula=f"sum over r = 1 … k of gain(r) · discount(r), over that of the best order; {GAIN}; {BEST}",
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2008,
        doi="10.1145/1390334.1390446",
        parameters=(ALPHA, REL),
        aliases=("alpha-nDCG",),
        peers=(("ir_measures", "alpha_nDCG"),),
    ),
    _by_subtopic(
        name="alpha_DCG",
        title="novelty-biased DCG",
        use="The gain of subtopics that were not covered above, per query's number of subtopics; for diversity "
        "without an ideal ranking.",
        place="subtopics.share_of_limit",
        ideal="k documents",
        formula=f"sum over r = 1 … k of gain(r) · discount(r), over that where each gain is {LIMIT}; {GAIN}; "
        "without k the number retrieved takes its place",
        source=f"{CLARKE_2008}; normalised as in ndeval",
        doi="10.1145/1390334.1390446",
        parameters=(ALPHA, REL),
        aliases=("alpha-DCG",),
        peers=(("ir_measures", "alpha_DCG"),),
    ),
    _by_subtopic(
        name="nERR_IA",
        title="normalised intent-aware expected reciprocal rank",
        use="ERR over subtopics, relative to a greedy ideal; for diversity where one good answer to each meaning is "
        "enough.",
        place="subtopics.share_of_best",
        takes_repeats=False,
        discount="1/r",
        formula=f"sum over r = 1 … k of gain(r) / r, over that of the best order; {GAIN}; {BEST}",
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2011,
        doi="10.1145/1935826.1935847",
        parameters=(ALPHA, REL),
        aliases=("nERR-IA",),
        peers=(("ir_measures", "nERR_IA"),),
    ),
    _by_subtopic(
        name="ERR_IA",
        title="intent-aware expected reciprocal rank",
        use="ERR over subtopics; the main measure of TREC's diversity tasks.",
        place="subtopics.share_of_limit",
        ideal="k documents",
        discount="1/r",
        formula=f"sum over r = 1 … k of gain(r) / r, over that where each gain is {LIMIT}; {GAIN}; "
        "without k the number retrieved takes its place",
        source=f"{CLARKE_2011}; with the chance alpha to stop at a relevant document, normalised as in ndeval",
        doi="10.1145/1935826.1935847",
        parameters=(ALPHA, REL),
        aliases=("ERR-IA",),
        peers=(("ir_measures", "ERR_IA"),),
    ),
    _by_subtopic(
        name="nNRBP",
        title="normalised novelty- and rank-biased precision",
        use="NRBP relative to a greedy ideal; where queries have different numbers of subtopics.",
        place="subtopics.share_of_best",
        takes_repeats=False,
        formula=f"sum over ranks r of gain(r) · beta^(r − 1), over that of the best order; {GAIN}; {BEST}",
        range="0 to 1, and more where an order passes the greedy one",
        source=CLARKE_2009,
        doi="10.1007/978-3-642-04417-5_17",
        parameters=(ALPHA, PATIENCE, REL),
        peers=(("ir_measures", "nNRBP"),),
        has_cutoff=False,
    ),
    _by_subtopic(
        name="NRBP",
        title="novelty- and rank-biased precision",
        use="Rank-biased precision that rewards new subtopics; for diversity with a patient user.",
        place="subtopics.share_of_limit",
        formula=f"(1 − (1 − alpha) · beta) / Z · sum over ranks r of gain(r) · beta^(r − 1), where Z subtopics have a "
        f"relevant document; {GAIN}",
        source=CLARKE_2009,
        doi="10.1007/978-3-642-04417-5_17",
        parameters=(ALPHA, PATIENCE, REL),
        peers=(("ir_measures", "NRBP"),),
        has_cutoff=False,
    ),
    _by_subtopic(
        name="P_IA",
        title="intent-aware precision",
        use="Precision averaged over the meanings of a query; where each meaning has its own users.",
        place="subtopics.precision_ia",
        denominator="precision_denominator",
        formula="mean of P@k over the subtopics that have a relevant document, divided by k; without k, by the number "
        "retrieved; a convention may divide by min(k, number retrieved), as for P",
        source=AGRAWAL_2009,
        doi="10.1145/1498759.1498766",
        parameters=(REL,),
        aliases=("P-IA",),
        peers=(("ir_measures", "P_IA"), ("TF-Ranking", "PrecisionIAMetric")),
    ),
    _by_subtopic(
        name="AP_IA",
        title="intent-aware average precision",
        use="Average precision averaged over the meanings of a query; where each meaning wants all of its documents.",
        place="subtopics.average_precision_ia",
        formula="mean of AP@k over the subtopics that have a relevant document, divided by their number of them",
        source=AGRAWAL_2009,
        doi="10.1145/1498759.1498766",
        parameters=(REL,),
        aliases=("AP-IA", "MAP-IA", "MAP_IA"),
        peers=(("ir_measures", "AP_IA"),),
    ),
    _by_subtopic(
        name="S_recall",
        title="subtopic recall",
        use="The share of subtopics that the first k cover; for answers that must mention everything.",
        place="subtopics.subtopic_recall",
        formula="subtopics that a document of the first k is relevant to, over those that have a relevant document",
        source=ZHAI_2003,
        doi="10.1145/860435.860440",
        parameters=(REL,),
        aliases=("S-recall", "strec", "StRecall", "subtopic_recall", "evidence_recall"),
        peers=(("ir_measures", "StRecall"),),
    ),
    _by_subtopic(
        name="all_evidence",
        title="all evidence found",
        use="Whether the first k have evidence for every part of the question; for multi-hop questions, where a part "
        "is not enough.",
        place="subtopics.all_evidence",
        formula="1 if each subtopic with a relevant document has one among the first k, otherwise 0",
        source=YANG_2018,
        doi="10.18653/v1/D18-1259",
        parameters=(REL,),
        aliases=("all_evidence_found", "all_subtopics"),
    ),
    _by_subtopic(
        name="nugget_recall",
        title="nugget recall",
        use="The share of the facts, weighed by importance, that the first k support; for retrieval judged by nuggets.",
        place="subtopics.nugget_recall",
        formula="sum of importance · support over all nuggets, over the sum of importance; support is 1 if one of the "
        "first k documents has a label of rel or more for the nugget, otherwise partial if one has a label above 0",
        undefined="the query has no nuggets",
        source=PRADEEP_2024,
        doi="10.48550/arXiv.2411.09607",
        parameters=(NUGGETS, PARTIAL, replace(REL, text="the lowest label of full support; above 0")),
        aliases=("nuggets", "weighted_nugget_recall"),
    ),
)


Document = tuple[tuple[int, float], ...]


def share_of_best(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the novelty, divided by that of the greedy ideal ranking."""
    ideal = novelty(find_greedy_ideal(judged, definition), definition)
    return novelty(documents, definition) / ideal if ideal else math.nan


def share_of_limit(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the novelty, divided by that of k documents that are relevant to all subtopics, or of any number."""
    subtopics = find_subtopics(judged, definition)
    beta = definition.metric.get("beta")
    if beta is None:
        every: Document = tuple((subtopic, math.inf) for subtopic in subtopics)
        limit = novelty([every] * max(definition.k or len(documents), 1), definition)
    else:
        limit = len(subtopics) / (1 - (1 - definition.get("alpha")) * beta)
    return novelty(documents, definition) / limit if limit else math.nan


def precision_ia(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the mean over subtopics of the precision at rank k."""
    subtopics = find_subtopics(judged, definition)
    n_ranks = definition.k or len(documents)
    if definition.convention.precision_denominator == "min(k, n_retrieved)":
        n_ranks = min(n_ranks, len(documents))
    counts = [len(find_ranks(subtopic, documents, definition)) for subtopic in subtopics]
    return sum(counts) / len(subtopics) / max(n_ranks, 1) if subtopics else math.nan


def average_precision_ia(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the mean over subtopics of AP."""
    subtopics = find_subtopics(judged, definition)
    values = []
    for subtopic in subtopics:
        ranks = find_ranks(subtopic, documents, definition)
        n_relevant = len(find_ranks(subtopic, judged, definition._replace(k=None)))
        values.append(math.fsum(n / rank for n, rank in enumerate(ranks, 1)) / n_relevant)
    return math.fsum(values) / len(subtopics) if subtopics else math.nan


def subtopic_recall(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return the share of the subtopics of all judged documents that the first k documents cover."""
    subtopics = find_subtopics(judged, definition)
    return len(find_subtopics(documents[: definition.k], definition)) / len(subtopics) if subtopics else math.nan


def all_evidence(documents: list[Document], judged: list[Document], definition: Definition) -> float:
    """Return 1 if the first k documents cover the subtopics of all judged documents, else 0."""
    subtopics = find_subtopics(judged, definition)
    return float(find_subtopics(documents[: definition.k], definition) == subtopics) if subtopics else math.nan


def nugget_recall(documents: list[Document], judged: JudgedBySubtopic, definition: Definition) -> float:
    """Return the weighted mean over nuggets of the support by the first k documents."""
    choice = definition.metric.get("importance")
    weights = judged.importance
    if weights is None:
        weights = {subtopic: 1.0 for document in judged for subtopic, label in document if label > 0}
    if choice != "weighted":
        weights = {subtopic: float(choice == "equal" or weight >= 1) for subtopic, weight in weights.items()}
    supports = dict.fromkeys(weights, 0.0)
    for document in documents[: definition.k]:
        for subtopic, label in document:
            support = 1.0 if definition.is_relevant(label) else definition.get("partial")
            supports[subtopic] = max(supports[subtopic], support)
    total = math.fsum(weights.values())
    return math.fsum(weights[s] * supports[s] for s in weights) / total if total else math.nan


def novelty(documents: list[Document], definition: Definition) -> float:
    """Return the sum of weight(rank) · (1 − alpha)^(documents above with the subtopic) over ranks and subtopics."""
    keep = 1 - definition.get("alpha")
    beta = definition.metric.get("beta")
    counts = Counter[int]()
    terms = []
    for rank, document in enumerate(documents[: definition.k], 1):
        weight = definition.discount(rank) if beta is None else beta ** (rank - 1)
        for subtopic in sorted(find_subtopics([document], definition)):
            terms.append(weight * keep ** counts[subtopic])
            counts[subtopic] += 1
    return math.fsum(terms)


def find_greedy_ideal(judged: list[Document], definition: Definition) -> list[Document]:
    """Return the documents in the order of a greedy search. Each step takes the first document of the highest gain."""
    keep = 1 - Fraction(definition.get("alpha"))
    counts = Counter[int]()
    remaining = list(judged)
    order: list[Document] = []

    def gain(document: Document) -> Fraction:
        return sum((keep ** counts[subtopic] for subtopic in find_subtopics([document], definition)), Fraction(0))

    while remaining:
        best = max(remaining, key=gain)
        order.append(best)
        remaining.remove(best)
        counts.update(find_subtopics([best], definition))
    return order


def find_ranks(subtopic: int, documents: list[Document], definition: Definition) -> list[int]:
    """Return the ranks of the first k documents that are relevant to a subtopic."""
    first = documents[: definition.k]
    return [rank for rank, document in enumerate(first, 1) if subtopic in find_subtopics([document], definition)]


def find_subtopics(documents: list[Document], definition: Definition) -> set[int]:
    """Return the subtopics that at least one of the documents is relevant to."""
    return {subtopic for document in documents for subtopic, label in document if definition.is_relevant(label)}
