"""Conventions of programs that learn to rank, and of libraries of metrics: arrays of labels and scores."""

from math import inf
from typing import Any

from fastndcg.named_conventions.convention import Bug, Convention, PeerMetric, same

HALF_OF_ALL: dict[str, Any] = {
    "labels": ((0, 1), (0, 0)),
    "scores": ((2, 1), (2, 1)),
}  # nDCG@2 0.6309, and a query without any
RETRIEVED: dict[str, Any] = {"pool": "retrieved"}
LAST_OF_TIE = "gives every document of a tie the precision at its last rank"

SKLEARN = Convention(
    "sklearn",
    undefined=0,
    negative_labels="raise",
    peer="scikit-learn",
    versions="1.9.1",
    source="metrics/_ranking.py:1702, 1715: ndcg_score averages over ties",
    options=(
        ("ignore_ties=True", "sklearn_ignore_ties"),
        ("dcg_score", "sklearn(negative_labels=keep)"),
        ("roc_auc_score", "sklearn(undefined=nan)"),
        ("label_ranking_loss, coverage_error", "sklearn(ties=worst)"),
        ("label_ranking_average_precision_score of rows without ties", "sklearn(undefined=1)"),
    ),
    metrics=(
        *same("nDCG ndcg_score", "DCG dcg_score"),
        PeerMetric("AUC", "roc_auc_score", "sklearn(undefined=nan)"),
        PeerMetric(
            "pAUC(scale=mcclish)",
            "roc_auc_score(max_fpr=…)",
            "sklearn(undefined=nan)",
            tie_difference="draws a straight line through a tie across max_fpr",
        ),
        PeerMetric("AP", "average_precision_score", tie_difference=LAST_OF_TIE),
        PeerMetric("LRAP", "label_ranking_average_precision_score", "sklearn(undefined=1)", tie_difference=LAST_OF_TIE),
        PeerMetric("RankingLoss", "label_ranking_loss", "sklearn(ties=worst)"),
        PeerMetric("CoverageError", "coverage_error", "sklearn(ties=worst)"),
        *same("PatR precision_recall_curve", tie_difference="has no point within a tie"),
    ),
    **RETRIEVED,
)
LIGHTGBM = Convention(
    "lightgbm",
    gain=tuple(2.0**label - 1 for label in range(31)),
    relevant="above 0.5",
    ties="input",
    undefined=1,
    negative_labels="raise",
    ap_denominator="min(k, n_relevant)",
    peer="LightGBM",
    versions="4.7.0",
    source="src/metric/dcg_calculator.cpp:122, rank_metric.hpp, map_metric.hpp:81, 100",
    options=(("label_gain=0,1,2,3", "lightgbm(gain=[0,1,2,3])"),),
    bugs=(
        Bug(
            "a query without relevant documents adds its 1 without its weight, which the denominator has",
            "src/metric/rank_metric.hpp:119-122", (1 * 0.6309297535714575 + 1) / 4, (1 * 0.6309297535714575 + 3) / 4,
            "nDCG@2", weights=(1, 3), golden="query_weights_with_empty_query", **HALF_OF_ALL,
        ),
        Bug(
            "the best order is by label, also where label_gain falls, so that nDCG may be above 1",
            "src/metric/dcg_calculator.cpp, CalMaxDCG", 1.214798483689099, 1.0,
            "nDCG(gain=[0,5,2])@3", ((2, 1),), ((1, 2),),
        ),
    ),
    metrics=(
        *same("nDCG ndcg", "AP map"),
        PeerMetric("AUC", "auc", differs="is one number over the documents of all queries"),
    ),
    **RETRIEVED,
)  # fmt: skip
XGBOOST = Convention(
    "xgboost",
    gain=tuple(2.0**label - 1 for label in range(32)),
    default_k=32,
    ties="input",
    undefined=1,
    negative_labels="keep",
    score_dtype="float32",
    ap_denominator="min(k, n_relevant)",
    precision_denominator="min(k, n_retrieved)",
    peer="XGBoost",
    versions="3.2.0",
    source="src/metric/rank_metric.cc:315, 336, 380, 444, src/common/algorithm.h:80-85",
    options=(("ndcg_exp_gain=False", "xgboost(gain=linear)"), ("ndcg@10-, map@10-", "xgboost_minus")),
    bugs=(
        Bug(
            "a query without relevant documents adds its 1 without its weight, which the denominator has",
            "src/metric/rank_metric.cc:385", (1 * 0.6309297535714575 + 1) / 4, (1 * 0.6309297535714575 + 3) / 4,
            "nDCG@2", weights=(1, 3), golden="query_weights_with_empty_query", **HALF_OF_ALL,
        ),
        Bug(
            "for the same reason, small weights stop the program",
            "src/metric/rank_metric.cc:276", "Check failed: score <= 1.0", (0.6309297535714575 + 1) / 2,
            "nDCG@2", weights=(0.1, 0.1), golden="query_weights_small", **HALF_OF_ALL,
        ),
        Bug(
            "pre stops at a query without documents",
            "src/metric/rank_metric.cc:315", "Check failed: score is nan", 0.5 / 2,
            "P@2", ((1, 0), ()), ((2, 1), ()), golden="empty_group_flat",
        ),
    ),
    metrics=(
        *same("nDCG ndcg", "AP map", "P pre"),
        PeerMetric("AUC", "auc", differs="is 0.6667 for one relevant document ranked first of three"),
    ),
    **RETRIEVED,
)  # fmt: skip

FLOAT32_GAINS = Bug(
    "gains are float32, which 2^128 leaves",
    "float32 throughout",
    "not a number",
    "a number up to label 1023",
    case="label 1000",
    golden="label_64_and_1000",
)

RECORDS = (
    SKLEARN,
    SKLEARN.with_fields(
        name="sklearn_ignore_ties",
        ties="input_reversed",
        source="metrics/_ranking.py: argsort reversed, so that the last given is first while the sort is stable",
        options=(),
        bugs=(
            Bug(
                "the sort is unstable: on processors with AVX-512 equal scores come in any order from 4 documents on, "
                "on others beyond 16",
                "metrics/_ranking.py:1702, np.argsort", "any order", "the last given first",
                case="20 equal scores with ignore_ties=True",
            ),
        ),
    ),
    LIGHTGBM,
    XGBOOST,
    XGBOOST.with_fields(
        name="xgboost_minus",
        undefined=0,
        source="src/metric/rank_metric.cc: names that end in '-' count 0 for a query without relevant documents",
        options=(("ndcg_exp_gain=False", "xgboost_minus(gain=linear)"),),
        bugs=(
            Bug(
                "the ending '-' gives 0 also where the ideal is not 0 but negative",
                "src/metric/rank_metric.cc", "0", "the quotient", case="labels −1 and −2, ndcg@2-",
                golden="all_negative_labels",
            ),
            *XGBOOST.bugs[2:],
        ),
    ),
    Convention(
        "catboost",
        relevant="above 0.5",
        ties="worst",
        undefined=1,
        undefined_ap=0,
        negative_labels="keep",
        ap_denominator="min(k, n_relevant)",
        precision_denominator="min(k, n_retrieved)",
        peer="CatBoost",
        versions="1.2.10",
        source="catboost/libs/metrics/dcg.cpp, doc_comparator.h, precision_recall_at_k.cpp",
        options=(
            ("type=Exp", "catboost(gain=exp2)"),
            ("denominator=Position", "catboost(discount=1/r)"),
            ("QueryAUC", "catboost(ties=average,undefined=0)"),
        ),
        bugs=(
            Bug(
                "MAP ignores the queries' weights",
                "catboost/libs/metrics/metric.cpp", 0.25, (1 * 0.5 + 3 * 0) / 4,
                "AP", weights=(1, 3), golden="map_query_weights", **HALF_OF_ALL,
            ),
            Bug(
                "NaN scores are first for NDCG and last for MRR",
                "catboost/libs/metrics/doc_comparator.h", "NDCG 1, MRR 0.333", "refused",
                case="labels 1, 0, 0 with scores nan, 2, 1", golden="nan_score_first",
            ),
        ),
        metrics=(
            *same(
                "nDCG NDCG", "DCG DCG", "AP MAP", "RR MRR", "P PrecisionAt", "R RecallAt", "ERR(stop=labels) ERR",
                "PFound(stop=labels) PFound",
            ),
            PeerMetric("AUC", "QueryAUC", "catboost(ties=average,undefined=0)"),
            PeerMetric("OPA", "QueryAUC:type=Ranking", "catboost(ties=average,undefined=0)"),
        ),
        **RETRIEVED,
    ),
    Convention(
        "ranklib",
        gain="exp2",
        label_fractions="cut off",
        relevant="above 0",
        ties="input",
        undefined=0,
        negative_labels="raise",
        precision_denominator="min(k, n_retrieved)",
        peer="RankLib",
        versions="codelibs/ranklib e43f605",
        source="metric/*Scorer.java, utilities/MergeSorter.java; its MAP has no cutoff",
        bugs=(
            Bug(
                "the ideal is kept by query id: another list with the same id is divided by the first one's",
                "metric/NDCGScorer.java", "NDCG 7.0", 1.0, "nDCG@2", ((3, 0),), ((2, 1),),
                golden="ideal_gain_cache_by_qid",
            ),
            Bug(
                "RR without a cutoff is always 0",
                "metric/ReciprocalRankScorer.java:22, 27", 0.0, 0.5, "RR",
                ((0, 1, 0, 1, 0, 1),), ((0.9, 0.8, 0.7, 0.6, 0.5, 0.4),), golden="basic_binary",
            ),
            Bug(
                "gains wrap around from label 31 on: that of label 64 is 0",
                "metric/DCGScorer.java, 1 << label", "gain 0", "gain 2^64 − 1",
                case="label 64",
            ),
        ),
        metrics=same("nDCG NDCG", "DCG DCG", "AP MAP", "RR RR", "P P", "ERR ERR"),
        **RETRIEVED,
    ),
    Convention(
        "torchmetrics",
        undefined=0,
        negative_labels="keep",
        score_dtype="float32",
        ap_denominator="n_hits",
        peer="TorchMetrics",
        versions="1.9.0",
        source="functional/retrieval/*.py, utilities/checks.py:151",
        options=(
            ("adaptive_k=True", "torchmetrics(precision_denominator=min(k, n_retrieved))"),
            ("empty_target_action='skip'", "torchmetrics(undefined=nan,no_relevant=skipped)"),
            ("empty_target_action='pos'", "torchmetrics(undefined=1)"),
            ("empty_target_action='error'", "torchmetrics(undefined=raise)"),
        ),
        bugs=(
            Bug(
                "AP, RR, P and R take documents with a score of 0 or less for not relevant",
                "average_precision.py:55, precision.py:68, recall.py:62, reciprocal_rank.py:55", 0.0, (1 + 2 / 3) / 2,
                "AP", ((1, 0, 1),), ((-1, -2, -3),), golden="all_negative_scores",
            ),
            Bug(
                "all metrics but nDCG sort equal scores in no particular order, and not the same one",
                "average_precision.py, hit_rate.py: topk and argsort", "hit rate@1 1, RR 0.09",
                "the expectation: Success@1 0.05, RR 0.18",
                case="20 equal scores, the first document relevant", golden="ties_20_first_relevant",
            ),
            Bug(
                "AP, RR, P, R and hit rate take labels between 0 and 1 for relevant in part, and add them up",
                "average_precision.py, precision.py: sums of the target", "P@3 0.5", "P@3 0",
                case="labels 0.5, 0.5, 0.5 in rank order", golden="float_labels",
            ),
            Bug(
                "labels that add up to 0 count as nothing relevant in the class, and not in the function",
                "retrieval/base.py", "nDCG 0 and −0.24", "as the function", case="labels 1, −1 and 0",
                golden="negative_label",
            ),
        ),
        metrics=(
            *same("nDCG retrieval_normalized_dcg", "AUC retrieval_auroc"),
            *same(
                "AP retrieval_average_precision", "RR retrieval_reciprocal_rank", "P retrieval_precision",
                "R retrieval_recall", "Success retrieval_hit_rate", "Rprec retrieval_r_precision",
                "FallOut retrieval_fall_out", tie_difference="takes any order of equal scores",
            ),
            PeerMetric(
                "LRAP", "multilabel_ranking_average_precision", "torchmetrics(undefined=1)",
                tie_difference=LAST_OF_TIE,
            ),
            *same("RankingLoss multilabel_ranking_loss", tie_difference="takes any order of equal scores"),
            PeerMetric("CoverageError", "multilabel_coverage_error", "torchmetrics(ties=worst)"),
        ),
        **RETRIEVED,
    ),
    Convention(
        "rax",
        gain="exp2",
        ties="input",
        undefined=0,
        negative_labels="keep",
        score_dtype="float32",
        precision_denominator="min(k, n_retrieved)",
        peer="Rax",
        versions="0.4.0",
        source="metrics.py, utils.py:246-304",
        options=(("gain_fn=lambda label: label", "rax(gain=linear)"),),
        bugs=(
            Bug(
                "a document with the score −inf counts as not retrieved",
                "metrics.py:102", 0.25, (1 / 2 + 2 / 3) / 2, "AP", ((1, 0, 2),), ((-inf, inf, 0),), golden="inf_scores",
            ),
            FLOAT32_GAINS,
        ),
        metrics=(
            *same(
                "nDCG ndcg_metric", "DCG dcg_metric", "AP ap_metric", "RR mrr_metric", "P precision_metric",
                "R recall_metric",
            ),
            PeerMetric("OPA", "opa_metric", "rax(ties=worst)"),
        ),
        **RETRIEVED,
    ),
    Convention(
        "tf_ranking",
        gain="exp2",
        undefined=0,
        negative_labels="removed",
        score_dtype="float32",
        precision_denominator="min(k, n_retrieved)",
        peer="TF-Ranking",
        versions="0.5.5 (read, not run)",
        source="metrics_impl.py:31-33, 652-670, utils.py:115-165; it shuffles ties, here is the expectation",
        metrics=(
            *same(
                "nDCG NDCGMetric", "DCG DCGMetric", "AP MeanAveragePrecisionMetric", "RR MRRMetric",
                "P PrecisionMetric", "R RecallMetric", "Success HitsMetric", "P_IA PrecisionIAMetric",
            ),
            PeerMetric("OPA", "OPAMetric", "tf_ranking(ties=worst)"),
            PeerMetric(
                "alpha_DCG", "AlphaDCGMetric", differs="is a sum that nothing divides, with the gain's own discount"
            ),
            PeerMetric(
                "bpref", "BPrefMetric", differs="takes a query's labels −1 for padding, not for unjudged documents"
            ),
        ),
        **RETRIEVED,
    ),
    Convention(
        "allrank",
        gain="exp2",
        ties="input",
        undefined=1,
        negative_labels="removed",
        score_dtype="float32",
        peer="allRank",
        versions="c884756",
        source="allrank/models/metrics.py; label −1 is its padding",
        bugs=(
            Bug(
                "mrr takes the rank of the highest label, not of the first relevant document",
                "allrank/models/metrics.py, mrr", 0.5, 1.0, "RR@2", ((1, 2),), ((2, 1),),
            ),
            Bug(
                "the sort is unstable",
                "allrank/models/metrics.py, torch.sort", "any order", "as given",
                case="20 equal scores", golden="ties_20_first_relevant",
            ),
            FLOAT32_GAINS,
            Bug(
                "the label −1 is padding, other negative labels have negative gains",
                "allrank/models/metrics.py, PADDED_Y_VALUE", "nDCG 0.759", "taken out", case="labels 2, −1, 1 and −2",
                golden="negative_label",
            ),
        ),
        metrics=same("nDCG ndcg", "DCG dcg", "RR mrr"),
        **RETRIEVED,
    ),
)  # fmt: skip
