"""Metrics of pairs of documents, as of a classifier or a ranking of labels."""

from fastndcg.metrics.catalog.record import REL, Parameter, Record

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

RECORDS = (
    Record(
        name="AUC",
        title="area under the ROC curve",
        kernel="auc.auc",
        formula=AUC_FORMULA,
        latex=(
            r"\mathrm{AUC} = \frac{1}{R \cdot N} \sum_{r=1}^{n} (1 - \mathrm{rel}_r) \cdot h_r",
            r"N = n - h_n",
        ),
        range="0 to 1",
        undefined=ONE_CLASS,
        source=FAWCETT_2006,
        doi="10.1016/j.patrec.2005.10.010",
        parameters=(REL,),
        aliases=("auc", "roc_auc", "auroc"),
        peers=(
            ("scikit-learn", "roc_auc_score"),
            ("TorchMetrics", "retrieval_auroc"),
            ("CatBoost", "QueryAUC"),
            ("ir_measures", "Accuracy"),
        ),
        has_cutoff=False,
    ),
    Record(
        name="GAUC",
        title="group AUC",
        kernel="auc.auc",
        formula="AUC of each query, whose mean over queries is weighted",
        latex=(r"\mathrm{GAUC} = \frac{\sum_q w_q \cdot \mathrm{AUC}_q}{\sum_q w_q}",),
        range="0 to 1",
        undefined=ONE_CLASS,
        source="G. Zhou and others, Deep interest network for click-through rate prediction, KDD 2018, section 6.2",
        doi="10.1145/3219819.3219823",
        parameters=(
            Parameter(
                "weight", "choice", "impressions",
                "what a query counts in the mean: the number of its documents, of its relevant ones, or 1",
                choices=("impressions", "positives", "nothing"),
            ),
            REL,
        ),
        aliases=("gauc",),
        peers=(("RecBole", "GAUC, as GAUC(weight=positives)"),),
        has_cutoff=False,
    ),
    Record(
        name="pAUC",
        title="partial area under the ROC curve",
        kernel="auc.partial_auc",
        formula="area under the ROC curve up to the false positive rate max_fpr, divided by max_fpr; in a tie group "
        "any number of the others stands above a relevant document with the same chance",
        latex=(
            r"\mathrm{pAUC} = \frac{1}{R \cdot f N} \sum_{j=1}^{N} \min(\max(f N - j + 1, 0), 1) \cdot h_{r_j}",
            r"\mathrm{pAUC}_{\mathrm{mcclish}} = \frac{1}{2} \left(1 + \frac{f \cdot \mathrm{pAUC} - f^2 / 2}{f - "
            r"f^2 / 2}\right)",
        ),
        range="0 to 1",
        undefined=ONE_CLASS,
        source="D. K. McClish, Analyzing a portion of the ROC curve, Medical Decision Making 1989",
        doi="10.1177/0272989X8900900307",
        parameters=(
            MAX_FPR,
            Parameter(
                "scale", "choice", "share",
                "mcclish: (1 + (area − max_fpr²/2) / (max_fpr − max_fpr²/2)) / 2, which is ½ for a random order",
                choices=("share", "mcclish"),
            ),
            REL,
        ),
        aliases=("pauc", "partial_auc"),
        peers=(("scikit-learn", "roc_auc_score(max_fpr=…), as pAUC(scale=mcclish), but for ties across max_fpr"),),
        variants=(("scale", "mcclish", "auc.partial_auc_mcclish"),),
        has_cutoff=False,
    ),
    Record(
        name="OPA",
        title="ordered pair accuracy",
        kernel="auc.pairwise_accuracy",
        formula="share of the pairs of a ranked document and a judged one with a higher label where the latter is "
        "above; ties ½",
        latex=(
            r"\mathrm{OPA} = \frac{|\{ (i, j) : \ell_i > \ell_j, \; r_i < r_j \}|}{|\{ (i, j) : \ell_i > \ell_j \}|}",
        ),
        range="0 to 1",
        undefined="all labels are the same",
        source="R. Herbrich, T. Graepel, K. Obermayer, Large margin rank boundaries for ordinal regression, in: "
        "Advances in Large Margin Classifiers, MIT Press 2000, ISBN 0-262-19448-1",
        aliases=("opa", "pairwise_accuracy"),
        peers=(("Rax", "opa_metric"), ("TF-Ranking", "OPAMetric")),
        has_cutoff=False,
    ),
    Record(
        name="RankingLoss",
        title="label ranking loss",
        kernel="auc.ranking_loss",
        formula="1 − AUC; with ties=worst, pairs that tie count as wrong",
        latex=(r"\mathrm{RankingLoss} = 1 - \mathrm{AUC}",),
        range="0 to 1",
        undefined=ONE_CLASS,
        source=TSOUMAKAS_2010,
        doi="10.1007/978-0-387-09823-4_34",
        parameters=(REL,),
        aliases=("ranking_loss", "label_ranking_loss"),
        peers=(
            ("scikit-learn", "label_ranking_loss, with ties=worst"),
            ("TorchMetrics", "multilabel_ranking_loss, without ties"),
        ),
        has_cutoff=False,
        higher_is_better=False,
    ),
)  # fmt: skip
SECTIONS = {1300: RECORDS}
