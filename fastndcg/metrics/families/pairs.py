"""Metrics of pairs of documents, of multi-label ranking, and of precision at a recall."""

from __future__ import annotations

import math
from functools import partial

from fastndcg.metrics.families.counts import n_relevant
from fastndcg.metrics.families.record import REL, VAN_RIJSBERGEN_1979, WITHOUT_AVERAGE, Definition, Parameter, Record

MAX_FPR = Parameter(
    "max_fpr", "float", 0.1, "the share of the other documents, the first ones, that counts", above=0, max=1
)
AUC_FORMULA = (
    "share of the pairs of a relevant document and another that is ranked where the relevant one is above; ties ½"
)
ONE_CLASS = "nothing or everything is relevant"
FAWCETT_2006 = "T. Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 2006"
TSOUMAKAS_2010 = (
    "G. Tsoumakas, I. Katakis, I. Vlahavas, Mining multi-label data, Data Mining and Knowledge Discovery Handbook, 2010"
)
ELEVEN = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
NO_AVERAGE = "the mean of this maximum over the orders of a tie has no short formula"
_of_all_ranks = partial(Record, has_cutoff=False)

RECORDS = (
    _of_all_ranks(
        name="AUC",
        title="area under the ROC curve",
        use="The chance that a relevant document stands above another one; for classifiers and click models, where "
        "the top counts no more than the rest.",
        place="pairs.auc",
        formula=AUC_FORMULA,
        undefined=ONE_CLASS,
        source=FAWCETT_2006,
        doi="10.1016/j.patrec.2005.10.010",
        parameters=(REL,),
        aliases=("auc", "roc_auc", "auroc"),
        peers=(("scikit-learn", "roc_auc_score"), ("CatBoost", "QueryAUC"), ("ir_measures", "Accuracy")),
    ),
    _of_all_ranks(
        name="GAUC",
        title="group AUC",
        use="AUC within each user, averaged by weight; in advertising, where scores of different users are not "
        "comparable.",
        place="pairs.auc",
        formula="AUC of each query, whose mean over queries is weighted",
        undefined=ONE_CLASS,
        source="G. Zhou and others, Deep interest network for click-through rate prediction, KDD 2018, section 6.2",
        doi="10.1145/3219819.3219823",
        parameters=(
            Parameter(
                "weight",
                "choice",
                "impressions",
                "what a query counts in the mean: the number of its documents, of its relevant ones, or 1",
                choices=("impressions", "positives", "nothing"),
            ),
            REL,
        ),
        aliases=("gauc",),
        peers=(("RecBole", "GAUC, as GAUC(weight=positives)"),),
    ),
    _of_all_ranks(
        name="pAUC",
        title="partial area under the ROC curve",
        use="AUC at low false positive rates alone; where only the upper part of a ranking is used.",
        place="pairs.partial_auc",
        formula="area under the ROC curve up to the false positive rate max_fpr, divided by max_fpr; in a tie group "
        "any number of the others stands above a relevant document with the same chance",
        undefined=ONE_CLASS,
        source="D. K. McClish, Analyzing a portion of the ROC curve, Medical Decision Making 1989",
        doi="10.1177/0272989X8900900307",
        parameters=(
            MAX_FPR,
            Parameter(
                "scale",
                "choice",
                "share",
                "mcclish: (1 + (area − max_fpr²/2) / (max_fpr − max_fpr²/2)) / 2, which is ½ for a random order",
                choices=("share", "mcclish"),
            ),
            REL,
        ),
        aliases=("pauc", "partial_auc"),
        peers=(("scikit-learn", "roc_auc_score(max_fpr=…), as pAUC(scale=mcclish), but for ties across max_fpr"),),
        variants=(("scale", "mcclish", "pairs.partial_auc_mcclish"),),
    ),
    _of_all_ranks(
        name="OPA",
        title="ordered pair accuracy",
        use="The share of pairs with different labels that are in the right order; for pairwise training on graded "
        "labels.",
        place="pairs.pairwise_accuracy",
        counts_judged=True,
        formula="share of the pairs of a ranked document and a judged one with a higher label where the latter is "
        "above; ties ½",
        undefined="all labels are the same",
        source="R. Herbrich, T. Graepel, K. Obermayer, Large margin rank boundaries for ordinal regression, in: "
        "Advances in Large Margin Classifiers, MIT Press 2000, ISBN 0-262-19448-1",
        aliases=("opa", "pairwise_accuracy"),
        peers=(("Rax", "opa_metric"), ("TF-Ranking", "OPAMetric")),
    ),
    _of_all_ranks(
        name="RankingLoss",
        title="label ranking loss",
        use="The share of pairs in the wrong order; in multi-label learning, as a loss.",
        place="pairs.ranking_loss",
        formula="1 − AUC; with ties=worst, pairs that tie count as wrong",
        undefined=ONE_CLASS,
        source=TSOUMAKAS_2010,
        doi="10.1007/978-0-387-09823-4_34",
        parameters=(REL,),
        aliases=("ranking_loss", "label_ranking_loss"),
        peers=(
            ("scikit-learn", "label_ranking_loss, with ties=worst"),
            ("TorchMetrics", "multilabel_ranking_loss, without ties"),
        ),
        higher_is_better=False,
    ),
    _of_all_ranks(
        name="LRAP",
        title="label ranking average precision",
        use="Precision at each relevant label, averaged; in multi-label learning, where it is AP.",
        place="pairs.label_ranking_precision",
        sum="precisions",
        formula="mean over the relevant documents of P at their ranks; where scores tie, the mean over all orders, and "
        "not the last rank of the group as in scikit-learn",
        undefined="nothing is relevant",
        source=TSOUMAKAS_2010,
        doi="10.1007/978-0-387-09823-4_34",
        parameters=(REL,),
        aliases=("lrap", "label_ranking_average_precision"),
        peers=(
            ("scikit-learn", "label_ranking_average_precision_score, without ties"),
            ("TorchMetrics", "multilabel_ranking_average_precision, without ties"),
        ),
    ),
    _of_all_ranks(
        name="CoverageError",
        title="coverage error",
        use="How far down one must read to see everything relevant; where nothing may be missed.",
        place="pairs.coverage_error",
        formula="rank of the last relevant document, those that were not retrieved below all others; in a tie group "
        "of m documents from rank a + 1 on with n relevant ones a + n (m + 1) / (n + 1)",
        range="1 and up",
        undefined="nothing is relevant",
        source=TSOUMAKAS_2010,
        doi="10.1007/978-0-387-09823-4_34",
        parameters=(REL,),
        aliases=("coverage_error",),
        peers=(
            ("scikit-learn", "coverage_error, with ties=worst"),
            ("TorchMetrics", "multilabel_coverage_error, with ties=worst"),
        ),
        higher_is_better=False,
    ),
    _of_all_ranks(
        name="PatR",
        title="precision at a recall",
        use="Precision at the depth where a wanted recall is reached; for searches that must find a given share.",
        place="pairs.precision_at_recall",
        formula="P at the first rank where R is `recall` or more, 0 if there is none: a point of the precision–recall "
        "curve; in a tie group the rank is negative hypergeometric",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(
            Parameter(
                "recall", "float", 0.5, "the share of the relevant documents that is to be reached", above=0, max=1
            ),
            REL,
        ),
        aliases=("precision_at_recall",),
        peers=(("scikit-learn", "a point of precision_recall_curve"),),
    ),
    _of_all_ranks(
        name="IPrec",
        title="interpolated precision at a recall",
        use="The best precision at or beyond a recall; for curves of precision and recall that fall.",
        place="pairs.interpolate",
        needs_all_relevant=True,
        formula="highest P@r at any rank r by which recall · R relevant documents are found, rounded as the convention "
        f"says; 0 if so many are not found; {NO_AVERAGE}",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(Parameter("recall", "float", 0.5, "the recall, from 0 to 1", min=0, max=1), REL),
        aliases=("interpolated_precision", "iprec_at_recall"),
        ties=WITHOUT_AVERAGE,
    ),
    _of_all_ranks(
        name="IAP",
        title="interpolated average precision, of 11 points",
        use="The area below the interpolated curve of precision and recall at eleven points; for comparisons with "
        "results of early TREC.",
        place="pairs.average_over_recalls",
        needs_all_relevant=True,
        formula=f"mean of IPrec over the recalls; {NO_AVERAGE}",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(Parameter("recalls", "table", ELEVEN, "the recalls, by default 0, 0.1, …, 1", min=0, max=1), REL),
        aliases=("11pt_avg", "11-pt_avg", "eleven_point_average_precision"),
        ties=WITHOUT_AVERAGE,
    ),
)


def auc(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of pairs of a relevant and a ranked other document in which the relevant one is above."""
    above = relevant_above_others(labels, definition)
    n_pairs = sum(map(definition.is_relevant, judged)) * len(above)
    return sum(above) / n_pairs if n_pairs else math.nan


def ranking_loss(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of these pairs in which the relevant document is below or not retrieved."""
    n_relevant = sum(map(definition.is_relevant, judged))
    below = [n_relevant - n for n in relevant_above_others(labels, definition)]
    n_pairs = n_relevant * len(below)
    return sum(below) / n_pairs if n_pairs else math.nan


def relevant_above_others(labels: list[float], definition: Definition) -> list[int]:
    """Return the number of relevant documents above each document that is not relevant, in rank order."""
    relevant = [definition.is_relevant(label) for label in labels]
    return [sum(relevant[:i]) for i in range(len(labels)) if not relevant[i]]


def partial_auc(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of right pairs among those with the first documents that are not relevant."""
    above = relevant_above_others(labels, definition)
    limit = definition.get("max_fpr") * len(above)
    n_relevant = sum(map(definition.is_relevant, judged))
    n_right = math.fsum(n * min(max(limit - i, 0), 1) for i, n in enumerate(above))
    return n_right / (n_relevant * limit) if n_relevant * limit else math.nan


def partial_auc_mcclish(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return (1 + (area − lowest) / (highest − lowest)) / 2, where a random order has the lowest area."""
    rate = definition.get("max_fpr")
    area = partial_auc(labels, judged, definition) * rate
    lowest = rate**2 / 2
    return (1 + (area - lowest) / (rate - lowest)) / 2


def pairwise_accuracy(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the share of pairs of different labels in which the document with the higher label is above."""
    n_right = sum(high > low for i, low in enumerate(labels) for high in labels[:i])
    n_pairs = sum(high > low for low in labels for high in judged)
    return n_right / n_pairs if n_pairs else math.nan


def find_relevant_ranks(labels: list[float], definition: Definition) -> list[int]:
    """Return the ranks of the relevant documents."""
    return [rank for rank, label in enumerate(labels, 1) if definition.is_relevant(label)]


def label_ranking_precision(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of n / rank of the nth relevant document, with 0 for documents that are not retrieved."""
    n_relevant = sum(map(definition.is_relevant, judged))
    shares = [n / rank for n, rank in enumerate(find_relevant_ranks(labels, definition), 1)]
    return math.fsum(shares) / n_relevant if n_relevant else math.nan


def coverage_error(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the rank of the last relevant document, as if missing ones followed after all ranked documents."""
    n_relevant = sum(map(definition.is_relevant, judged))
    ranks = find_relevant_ranks(labels, definition)
    n_missing = n_relevant - len(ranks)
    if n_missing > 0:
        return len(labels) + n_missing
    return ranks[-1] if n_relevant else math.nan


def precision_at_recall(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the precision at the first rank that reaches the recall."""
    n_relevant = sum(map(definition.is_relevant, judged))
    if not n_relevant:
        return math.nan
    n_needed = definition.get("recall") * n_relevant - 1e-9  # 0.07 · 100 is 7.000000000000001
    return next((n / rank for n, rank in enumerate(find_relevant_ranks(labels, definition), 1) if n >= n_needed), 0)


def interpolate(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the highest P@r of the ranks r that reach the recall."""
    return _interpolate(definition.get("recall"), labels, judged, definition)


def average_over_recalls(labels: list[float], judged: list[float], definition: Definition) -> float:
    """Return the mean of the interpolated precision at several recalls."""
    recalls = definition.metric.get("recalls")
    return math.fsum(_interpolate(recall, labels, judged, definition) for recall in recalls) / len(recalls)


def _interpolate(recall: float, labels: list[float], judged: list[float], definition: Definition) -> float:
    n = n_relevant(labels, judged, definition)
    if not n:
        return math.nan
    n_needed = round_needed(recall * n, definition.convention.recall_rounding)
    relevant = [definition.is_relevant(label) for label in labels]
    return max((sum(relevant[:r]) / r for r in range(1, len(labels) + 1) if sum(relevant[:r]) >= n_needed), default=0)


def round_needed(n_relevant: float, rounding: str) -> int:
    """Round the number of relevant documents that reaches a recall, to 1 at least."""
    if rounding == "up":
        return max(math.ceil(n_relevant - 1e-9), 1)  # 0.07 · 100 is 7.000000000000001
    return max(math.floor(n_relevant + {"nearest": 0.5, "up from a tenth": 0.9}[rounding]), 1)
