"""Precision, recall and other metrics that count relevant documents."""

from __future__ import annotations

import math

from fastndcg.metrics.families.record import (
    BETA,
    REL,
    TIES_AND_MEAN_RANK,
    TREC_EVAL,
    VAN_RIJSBERGEN_1979,
    Definition,
    Parameter,
    Record,
)

RECORDS = (
    Record(
        name="AP",
        title="average precision",
        use="How early relevant documents come over the whole ranking, recall included; the classic for binary "
        "labels and searches that want all of them.",
        place="counts.average_precision",
        needs_all_relevant=True,
        denominator="ap_denominator",
        undefined_choice="undefined_ap",
        sum="precisions",
        formula="sum over ranks r = 1 … k with a relevant document of P@r, divided by the number of relevant documents",
        undefined="nothing is relevant",
        source="C. Buckley and E. M. Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
        doi="10.1145/345508.345543",
        parameters=(REL,),
        aliases=("map", "average_precision", "mean_average_precision"),
        variants=(("ap_denominator", "n_hits", "counts.average_precision_over_hits"),),
        peers=(("ir_measures", "AP"),),
    ),
    Record(
        name="P",
        title="precision",
        use="The share of the first k documents that is relevant; where users see exactly k results.",
        place="counts.precision",
        is_additive=True,
        denominator="precision_denominator",
        has_micro_mean=True,
        sum="found",
        formula="relevant documents among the first k, divided by k; without k, by the number retrieved",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("precision", "set_P"),
        peers=(("ir_measures", "P"),),
    ),
    Record(
        name="R",
        title="recall",
        use="The share of the relevant documents among the first k; for a first stage whose candidates others rerank "
        "or read.",
        place="counts.recall",
        needs_all_relevant=True,
        is_additive=True,
        denominator="recall_denominator",
        has_micro_mean=True,
        sum="found",
        formula="relevant documents among the first k, divided by the number of relevant documents",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("recall", "set_recall"),
        peers=(("ir_measures", "R"),),
    ),
    Record(
        name="F",
        title="F-score",
        use="Precision and recall in one number, as low as the lower of both suggests; where a set is returned "
        "rather than a ranking.",
        place="counts.f_score",
        needs_all_relevant=True,
        sum="found",
        formula="(1 + beta²) · P@k · R@k / (beta² · P@k + R@k)",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(BETA, REL),
        aliases=("f1", "f_score", "f_measure", "set_F"),
        peers=(("ir_measures", "SetF"),),
    ),
    Record(
        name="Rprec",
        title="R-precision",
        use="Precision at as many documents as are relevant, where precision equals recall; for queries with very "
        "different numbers of relevant documents.",
        place="counts.r_precision",
        needs_all_relevant=True,
        denominator="min(k, n_relevant)",
        has_micro_mean=True,
        formula="P at rank min(k, mult · R + 0.9, cut to a whole number), R being the number of relevant documents",
        undefined="nothing is relevant, or that rank is 0",
        source="C. Buckley and E. M. Voorhees, Retrieval system evaluation, in: TREC, MIT Press 2005, chapter 3, "
        "ISBN 0-262-22073-3",
        parameters=(Parameter("mult", "float", 1, "the rank as a multiple of R", above=0), REL),
        aliases=("r_precision", "r-precision", "rprecision"),
        peers=(("ir_measures", "Rprec"),),
    ),
    Record(
        name="RelP",
        title="relative precision",
        use="Precision over the best that is possible at k; where many queries have fewer than k relevant documents.",
        place="counts.relative_precision",
        sum="found",
        formula="relevant documents among the first k, divided by min(k, R); without k, by min(number retrieved, R)",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("relative_P", "set_relative_P", "relative_precision"),
        peers=(("RecTools", "Precision(r_precision=True)"),),
    ),
    Record(
        name="num_ret",
        title="number of documents retrieved",
        use="How many documents the run has for a query; to check a run before its metrics are believed.",
        place="counts.n_retrieved",
        formula="number of documents ranked; with k at most k",
        range="0 and up",
        source=TREC_EVAL,
        ties=TIES_AND_MEAN_RANK,
        higher_is_better=None,
        peers=(("ir_measures", "NumRet"),),
    ),
    Record(
        name="num_rel",
        title="number of relevant documents",
        use="How many relevant documents a query has; to check judgments, and as a weight of queries.",
        place="counts.n_relevant",
        formula="number of relevant documents, retrieved or not; with k at most k",
        range="0 and up",
        source=TREC_EVAL,
        parameters=(REL,),
        ties=TIES_AND_MEAN_RANK,
        higher_is_better=None,
        peers=(("ir_measures", "NumRel"),),
    ),
    Record(
        name="num_rel_ret",
        title="number of relevant documents retrieved",
        use="How many relevant documents were found; as a count where shares hide the size.",
        place="counts.n_relevant_retrieved",
        is_additive=True,
        sum="found",
        formula="number of relevant documents among the first k",
        range="0 to min(k, num_rel)",
        source=TREC_EVAL,
        parameters=(REL,),
        variants=(("ties", "mean_rank", "first_relevant.n_retrieved_at_mean_rank"),),
        ties=TIES_AND_MEAN_RANK,
        aliases=("n_hits",),
        peers=(("ir_measures", "NumRelRet"),),
    ),
    Record(
        name="SetAP",
        title="precision times recall of the retrieved set",
        use="Precision times recall of all that was retrieved; where the order within the set means nothing.",
        place="counts.precision_times_recall",
        formula="P · R of all documents retrieved: AP if the order within the set is not known",
        undefined="nothing is relevant",
        source=TREC_EVAL,
        parameters=(REL,),
        aliases=("set_map", "set_average_precision"),
        has_cutoff=False,
    ),
    Record(
        name="Utility",
        title="set utility",
        use="What a set is worth if each kind of right and wrong decision has a price; for filtering and routing.",
        place="counts.utility",
        formula="a · relevant and retrieved + b · not relevant and retrieved + c · relevant and not retrieved "
        "+ d · the rest of the collection's documents",
        range="any",
        source=TREC_EVAL,
        parameters=(
            Parameter("a", "float", 1, "worth of a relevant document that is retrieved"),
            Parameter("b", "float", -1, "worth of a document that is retrieved and not relevant"),
            Parameter("c", "float", 0, "worth of a relevant document that is not retrieved"),
            Parameter("d", "float", 0, "worth of a document that is neither"),
            Parameter("documents", "float", 0, "number of documents of the collection, which d needs"),
            REL,
        ),
        aliases=("set_utility",),
        has_cutoff=False,
    ),
    Record(
        name="ClassificationAccuracy",
        title="accuracy of classification",
        use="The share of documents that a cut at rank k puts on the right side; rarely for rankings, as most "
        "documents are not relevant.",
        place="counts.classification_accuracy",
        sum="found",
        formula="relevant documents among the first k and others below them, divided by the number of documents that "
        "are ranked or relevant",
        undefined="there are no documents",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("classification_accuracy",),
        peers=(("RecTools", "Accuracy"),),
    ),
    Record(
        name="FallOut",
        title="fall-out",
        use="The share of the documents without relevance that the first k let through; as the false positive rate "
        "beside recall.",
        place="counts.fall_out",
        sum="found",
        formula="documents among the first k that are not relevant, divided by the number of those that are ranked",
        undefined="everything is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(REL,),
        aliases=("fall_out", "fallout"),
        higher_is_better=False,
    ),
)


def precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the relevant documents among the first k, divided by k or by the convention's denominator."""
    denominator = precision_denominator(labels, judged, definition)
    return n_relevant_retrieved(labels, judged, definition) / denominator if denominator else 0


def precision_denominator(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the denominator of P."""
    if definition.convention.precision_denominator == "min(k, n_relevant)":
        return n_relevant(labels, judged, definition)
    if definition.convention.precision_denominator == "k" and definition.k is not None:
        return definition.k
    return n_retrieved(labels, judged, definition)


def recall(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the relevant documents among the first k, divided by the convention's denominator."""
    n = recall_denominator(labels, judged, definition)
    return n_relevant_retrieved(labels, judged, definition) / n if n else math.nan


def recall_denominator(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the denominator of R."""
    is_all = definition.convention.recall_denominator == "n_relevant"
    return n_relevant(labels, judged, definition._replace(k=None) if is_all else definition)


def f_score(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return (1 + beta²) · P · R / (beta² · P + R), or 0 if no relevant document is found."""
    p = precision(labels, judged, definition)
    r = recall(labels, judged, definition)
    beta = definition.get("beta")
    share = 1 / (1 + beta * beta)  # weight of precision; keeps huge beta from overflowing
    return p * r / ((1 - share) * p + share * r) if r > 0 else r


def r_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the precision at rank min(mult · R, k), where R is the number of relevant documents."""
    n = n_relevant(labels, judged, definition._replace(k=None))
    cutoff = min(int(definition.get("mult") * n + 0.9), definition.k or math.inf)
    return n_relevant_retrieved(labels, judged, definition._replace(k=int(cutoff))) / cutoff if cutoff else math.nan


def relative_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the relevant documents among the first k, divided by min(k, R), or by min(n_retrieved, R) without k."""
    n = n_relevant(labels, judged, definition)
    if not n:
        return math.nan
    most = n if definition.k is not None else min(n, len(labels))
    return n_relevant_retrieved(labels, judged, definition) / most if most else 0


def average_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the sum of P@r over the ranks r = 1 … k of relevant documents, divided by the AP denominator."""
    n = ap_denominator(labels, judged, definition)
    return math.fsum(precisions_at_hits(labels, definition)) / n if n else math.nan


def ap_denominator(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the denominator of AP, or 0 if no document is relevant."""
    choice = definition.convention.ap_denominator
    n = n_relevant(labels, judged, definition._replace(k=None))
    if choice == "n_relevant":
        return n
    if choice == "k" and definition.k is not None:
        return definition.k if n else 0
    if choice == "min(k, n_relevant, n_retrieved)":
        return min(n, n_retrieved(labels, judged, definition))
    return n_relevant(labels, judged, definition)


def average_precision_over_hits(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of P@r over the ranks r = 1 … k of relevant documents, or 0 without any."""
    precisions = precisions_at_hits(labels, definition)
    if not n_relevant(labels, judged, definition):
        return math.nan
    return math.fsum(precisions) / len(precisions) if precisions else 0


def precisions_at_hits(labels: list[float], definition: Definition) -> list[float]:
    """Return P@r for each rank r = 1 … k with a relevant document."""
    relevant = [definition.is_relevant(label) for label in labels[: definition.k]]
    return [sum(relevant[:r]) / r for r in range(1, len(relevant) + 1) if relevant[r - 1]]


def n_retrieved(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of documents in the first k ranks."""
    return len(labels[: definition.k])


def n_relevant(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of relevant documents, or k if that is smaller."""
    return n_relevant_retrieved(sorted(judged, reverse=True), judged, definition)


def n_relevant_retrieved(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of relevant documents among the first k."""
    return sum(definition.is_relevant(label) for label in labels[: definition.k])


def precision_times_recall(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return P · R of all ranked documents, or 0 if none are ranked."""
    n_found = n_relevant_retrieved(labels, judged, definition)
    n = n_relevant(labels, judged, definition)
    if not n:
        return math.nan
    return n_found / len(labels) * n_found / n if labels else 0


def utility(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return a · relevant and retrieved + b · only retrieved + c · only relevant + d · all other documents."""
    n_found = n_relevant_retrieved(labels, judged, definition)
    n = n_relevant(labels, judged, definition)
    only_retrieved = len(labels) - n_found
    only_relevant = n - n_found
    rest = definition.get("documents") - n_found - only_retrieved - only_relevant
    a, b, c, d = map(definition.get, "abcd")
    return a * n_found + b * only_retrieved + c * only_relevant + d * rest


def classification_accuracy(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of documents on the right side of the cutoff, relevant ones above and others below."""
    n_found = n_relevant_retrieved(labels, judged, definition)
    n_right = n_found + sum(not definition.is_relevant(label) for label in labels[len(labels[: definition.k]) :])
    n = sum(not definition.is_relevant(label) for label in labels) + sum(map(definition.is_relevant, judged))
    return n_right / n if n else math.nan


def fall_out(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of the ranked non-relevant documents that is within the first k ranks."""
    n_others = sum(not definition.is_relevant(label) for label in labels)
    n_first = sum(not definition.is_relevant(label) for label in labels[: definition.k])
    return n_first / n_others if n_others else math.nan
