"""Metrics of the ranks at which relevant documents are reached."""

from fastndcg.catalog.record import REL, VAN_RIJSBERGEN_1979, Parameter, Record
from fastndcg.catalog.roc import TSOUMAKAS_2010

RECORDS = (
    Record(
        name="LRAP",
        title="label ranking average precision",
        kernel="reaching.label_ranking_precision",
        formula="mean over the relevant documents of P at their ranks; where scores tie, the mean over all orders, and "
        "not the last rank of the group as in scikit-learn",
        range="0 to 1",
        undefined="nothing is relevant",
        source=TSOUMAKAS_2010,
        doi="10.1007/978-0-387-09823-4_34",
        parameters=(REL,),
        aliases=("lrap", "label_ranking_average_precision"),
        peers=(
            ("scikit-learn", "label_ranking_average_precision_score, without ties"),
            ("TorchMetrics", "multilabel_ranking_average_precision, without ties"),
        ),
        takes_k=False,
    ),
    Record(
        name="CoverageError",
        title="coverage error",
        kernel="reaching.coverage_error",
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
        takes_k=False,
        higher_is_better=False,
    ),
    Record(
        name="PatR",
        title="precision at a recall",
        kernel="reaching.precision_at_recall",
        formula="P at the first rank where R is `recall` or more, 0 if there is none: a point of the precision–recall "
        "curve; in a tie group the rank is negative hypergeometric",
        range="0 to 1",
        undefined="nothing is relevant",
        source=VAN_RIJSBERGEN_1979,
        parameters=(
            Parameter("recall", "fraction", 0.5, "the share of the relevant documents that is to be reached"),
            REL,
        ),
        aliases=("precision_at_recall",),
        peers=(("scikit-learn", "a point of precision_recall_curve"),),
        takes_k=False,
    ),
)
