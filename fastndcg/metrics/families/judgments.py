"""Metrics that look at which documents were judged: by these alone, or by how many there are."""

from __future__ import annotations

import math
from functools import partial

from fastndcg.metrics.families.counts import n_relevant
from fastndcg.metrics.families.record import (
    PERSISTENCE,
    REL,
    TREC_EVAL,
    UNJUDGED,
    WHATEVER_THE_LABELS,
    Definition,
    Mark,
    Record,
)

_of_judgments = partial(Record, view="judgments")

RECORDS = (
    _of_judgments(
        name="bpref",
        title="binary preference",
        use="How few judged documents that are not relevant stand above relevant ones, ignoring the unjudged; where "
        "judgments are far from complete.",
        place="judgments.binary_preference",
        needs_all_relevant=True,
        takes_repeats=False,
        selections=("judged",),
        formula="mean over relevant documents, 0 for those not found, of 1 − min(o, R) / min(O, R); o: judged "
        "documents above that are not relevant, O: all of these, R: the number of relevant documents; 1 where o is 0",
        undefined="nothing is relevant",
        source="C. Buckley and E. M. Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004",
        doi="10.1145/1008992.1009000",
        parameters=(REL,),
        aliases=("binary_preference",),
        has_cutoff=False,
    ),
    _of_judgments(
        name="infAP",
        title="inferred average precision",
        use="An estimate of AP from judgments of a random sample of the pool; where only a share of the pool was "
        "judged.",
        place="judgments.inferred_average_precision",
        selections=("judged", "pooled"),
        formula="mean over relevant documents, 0 for those not found, of (1 + pool · (h + ε) / (h + o + 2ε)) / rank; "
        "pool documents above it were pooled, and of those judged h are relevant and o not; ε = 0.00001; labels below "
        "0 are of documents pooled and not judged; in a tie group a draw from the "
        "others is above a relevant document: how many of it are judged is hypergeometric, and given that, the mean "
        "numbers of relevant and of pooled ones are shares of it",
        undefined="nothing is relevant",
        source="E. Yilmaz and J. A. Aslam, Estimating average precision with incomplete and imperfect judgments, "
        "CIKM 2006",
        doi="10.1145/1183614.1183633",
        parameters=(REL,),
        aliases=("inferred_average_precision",),
        has_cutoff=False,
    ),
    _of_judgments(
        name="num_nonrel_judged_ret",
        title="number of documents retrieved that were judged and are not relevant",
        use="How many retrieved documents were judged not relevant; beside the number of relevant ones, to see what "
        "is unjudged.",
        place="judgments.n_nonrelevant_judged",
        selections=("unjudged",),
        formula="documents ranked that have a judgment and are not relevant",
        range="0 and up",
        source=TREC_EVAL,
        parameters=(REL,),
        has_cutoff=False,
        higher_is_better=False,
    ),
    _of_judgments(
        name="Judged",
        title="share of judged documents",
        use="The share of the first k that has a judgment; to tell whether other metrics can be believed.",
        place="judgments.share_judged",
        selections=("marked", "unjudged"),
        formula="documents among the first k that have a judgment, over min(k, number retrieved)",
        undefined="nothing is retrieved",
        source="C. Buckley, D. Dimmick, I. Soboroff and E. M. Voorhees, Bias and the limits of pooling for large "
        "collections, Information Retrieval 2007",
        doi="10.1007/s10791-007-9032-x",
        aliases=("judged_share",),
        ties=WHATEVER_THE_LABELS,
    ),
    _of_judgments(
        name="Unjudged",
        title="share of documents without a judgment",
        use="The share of the first k without a judgment; as the hole in the judgments that a new system falls into.",
        place="judgments.share_unjudged",
        selections=("unjudged",),
        formula="documents among the first k that have no judgment, over k; without k, over the number retrieved",
        source=TREC_EVAL,
        aliases=("unjudged_share",),
        ties=WHATEVER_THE_LABELS,
        higher_is_better=False,
    ),
    _of_judgments(
        name="RBP_resid",
        title="residual of rank-biased precision",
        use="How much RBP could rise if everything unjudged were relevant; as the uncertainty beside RBP.",
        place="judgments.rbp_residual",
        selections=("unjudged",),
        formula="how much RBP could be higher: (1 − p) · sum of p^(r − 1) over ranks r = 1 … k without a judgment, "
        "plus p^n for what stands below the n ranks looked at; a convention may say 0 of a query without documents",
        source="A. Moffat and J. Zobel, Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008",
        doi="10.1145/1416950.1416952",
        parameters=(PERSISTENCE,),
        aliases=("rbp_residual",),
        variants=(("residual_of_nothing", 0, "judgments.rbp_residual_if_ranked"),),
        ties=WHATEVER_THE_LABELS,
        higher_is_better=False,
    ),
)


EPSILON = 0.00001


def binary_preference(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean over relevant documents of the share of R judged other documents that are ranked below."""
    n = n_relevant(labels, judged, definition)
    n_others = max(_n_judged(judged), _n_judged(labels)) - n
    total = 0.0
    above = 0
    for label in labels:
        if definition.is_relevant(label):
            total += 1 - min(above, n) / min(n_others, n) if above else 1
        elif not isinstance(label, Mark):
            above += 1
    return total / n if n else math.nan


def inferred_average_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean over relevant documents of the precision estimated from the judged documents above it."""
    n = n_relevant(labels, judged, definition)
    total = 0.0
    for place, label in enumerate(labels):
        if definition.is_relevant(label):
            above = labels[:place]
            pooled = sum(other is not UNJUDGED for other in above)
            relevant = sum(map(definition.is_relevant, above))
            precision = (relevant + EPSILON) / (_n_judged(above) + 2 * EPSILON)
            total += 1 / (place + 1) + pooled / (place + 1) * precision
    return total / n if n else math.nan


def n_nonrelevant_judged(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of ranked documents that are judged and not relevant."""
    return sum(not isinstance(label, Mark) and not definition.is_relevant(label) for label in labels)


def share_judged(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of the first k documents that is judged."""
    first = labels[: definition.k]
    return _n_judged(first) / len(first) if first else math.nan


def share_unjudged(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the number of unjudged documents among the first k, divided by k, or without k by the number of all."""
    first = labels[: definition.k]
    denominator = len(labels) if definition.k is None else definition.k
    return (len(first) - _n_judged(first)) / denominator if denominator else 0


def rbp_residual(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the RBP that unjudged documents would add if they were relevant, and the ranks below them."""
    first = labels[: definition.k]
    unknown = [definition.discount(r) for r, label in enumerate(first, 1) if isinstance(label, Mark)]
    return math.fsum([*unknown, definition.get("p") ** len(first)])


def rbp_residual_if_ranked(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the residual of RBP, or 0 for a query that ranks no documents."""
    return rbp_residual(labels, judged, definition) if labels else 0.0


def _n_judged(labels: list[float]) -> int:
    return sum(not isinstance(label, Mark) for label in labels)
