"""Metrics of the ranks at which relevant documents are reached."""

from fastndcg.metrics.catalog.auc import TSOUMAKAS_2010
from fastndcg.metrics.catalog.record import REL, VAN_RIJSBERGEN_1979, Parameter, Record

RECORDS = (
    Record(
        name="LRAP",
        title="label ranking average precision",
        kernel="multilabel_ranking.label_ranking_precision",
        formula="mean over the relevant documents of P at their ranks; where scores tie, the mean over all orders, and "
        "not the last rank of the group as in scikit-learn",
        latex=(r"\mathrm{LRAP} = \frac{1}{R} \sum_{r=1}^{n} \mathrm{rel}_r \cdot \frac{h_r}{r}",),
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
        has_cutoff=False,
    ),
    Record(
        name="CoverageError",
        title="coverage error",
        kernel="multilabel_ranking.coverage_error",
        formula="rank of the last relevant document, those that were not retrieved below all others; in a tie group "
        "of m documents from rank a + 1 on with n relevant ones a + n (m + 1) / (n + 1)",
        latex=(r"\mathrm{CoverageError} = \min \{ r : h_r = R \}",),
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
        has_cutoff=False,
        higher_is_better=False,
    ),
    Record(
        name="PatR",
        title="precision at a recall",
        kernel="multilabel_ranking.precision_at_recall",
        formula="P at the first rank where R is `recall` or more, 0 if there is none: a point of the precision–recall "
        "curve; in a tie group the rank is negative hypergeometric",
        latex=(
            r"\mathrm{PatR} = \frac{h_m}{m}",
            r"m = \min \{ r : h_r \geq \varrho R \}",
        ),
        range="0 to 1",
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
        has_cutoff=False,
    ),
)
SECTIONS = {1400: RECORDS}
