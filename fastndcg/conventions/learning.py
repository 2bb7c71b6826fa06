"""Conventions of programs that learn to rank, and of libraries of metrics: arrays of labels and scores."""

from typing import Any

from fastndcg.conventions.value import Bug, Convention

HALF_OF_ALL: dict[str, Any] = {
    "labels": ((0, 1), (0, 0)),
    "scores": ((2, 1), (2, 1)),
}  # nDCG@2 0.6309, and a query without any
RETRIEVED: dict[str, Any] = {"pool": "retrieved"}

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
    **RETRIEVED,
)  # fmt: skip

RECORDS = (
    SKLEARN,
    SKLEARN.with_fields(
        name="sklearn_ignore_ties",
        ties="input_reversed",
        source="metrics/_ranking.py: argsort reversed, so that the last given is first while the sort is stable",
        options=(),
        bugs=(
            Bug(
                "the sort is unstable: beyond 16 documents equal scores come in no particular order",
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
        bugs=XGBOOST.bugs[2:],
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
                "metric/ReciprocalRankScorer.java:22, 27", 0.0, 0.5, "RR", ((0, 1, 0, 1),), ((4, 3, 2, 1),),
                golden="basic_binary",
            ),
            Bug(
                "gains wrap around from label 31 on: that of label 64 is 0",
                "metric/DCGScorer.java, 1 << label", "gain 0", "gain 2^64 − 1",
                case="label 64",
            ),
        ),
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
                "metrics.py:102", 0.0, 1 / 3, "RR", ((1, 0, 0),), ((float("-inf"), 1, 0),), golden="",
            ),
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
        ),
        **RETRIEVED,
    ),
)  # fmt: skip
