"""Conventions of tools that evaluate the retrieval of language models, and of search engines that evaluate queries."""

from typing import Any

from fastndcg.named_conventions.convention import Bug, Convention, PeerMetric, same

IDS: dict[str, Any] = {  # lists of relevant and of retrieved ids, in the order in which they were retrieved
    "gain": "binary",
    "relevant": "above 0",
    "ties": "input",
    "negative_labels": "zero",
    "missing_in_qrels": "undefined",
    "precision_denominator": "min(k, n_retrieved)",
}
GRADED: dict[str, Any] = IDS | {"gain": "linear"}
ENGINE: dict[str, Any] = IDS | {"gain": "exp2", "undefined": 0, "negative_labels": "raise"}

FIDELITY = "nDCG(gain=[0,3,7,15,31],discount=none)"
XDCG = "DCG(gain=[0,25,50,75,100],discount=[{},{},{}])@3".format(*(0.6**rank / 1.96 for rank in range(3)))
LABEL_0 = "a document with the {} 0 in the ground truth is relevant, though nDCG takes nothing from it"

RECORDS = (
    Convention(
        "mlflow",
        ideal="min(k, n_retrieved)",
        undefined=0,
        peer="MLflow",
        versions="3.18.0",
        source="mlflow/metrics/metric_definitions.py:392-402, 408-491, 513-526: nDCG by scikit-learn, of as many "
        "documents as were retrieved",
        options=(("ndcg_at_k with the change of issue 24541", "mlflow(ideal=judged)"),),
        bugs=(
            Bug(
                "a query without relevant and without retrieved documents scores 1",
                "metric_definitions.py:478-480, 521-523", 1.0, "no value: the query is on neither side",
                case="empty targets and empty predictions, ndcg_at_k and recall_at_k",
            ),
            Bug(
                "before 3.17.0 a second retrieval of document a made a document a_bc574ae_2, which may be another one",
                "metric_definitions.py of 3.16.1:420, issue 25965", 0.6309297535714575, 0.0,
                case="relevant a_bc574ae_2, retrieved a, a, z: ndcg_at_k(3)",
            ),
        ),
        metrics=same("nDCG ndcg_at_k", "P precision_at_k", "R recall_at_k"),
        **IDS,
    ),
    Convention(
        "haystack",
        undefined=0,
        peer="Haystack",
        versions="3.4.1",
        source="components/evaluators/document_ndcg.py:161-204, document_map.py:119-146, document_recall.py:115-155, "
        "document_mrr.py:118-130: all documents retrieved count",
        options=(
            ("DocumentMAPEvaluator up to 3.0.0", "haystack(ap_denominator=n_hits)"),
            ("DocumentRecallEvaluator(mode='single_hit')", "Success"),
        ),
        bugs=(
            Bug(
                LABEL_0.format("score"),
                "document_map.py:128, document_mrr.py:122", 1.0, 0.0,
                case="a ground truth of one document with the score 0, RR",
            ),
        ),
        metrics=same(
            "nDCG DocumentNDCGEvaluator", "AP DocumentMAPEvaluator", "RR DocumentMRREvaluator",
            "R DocumentRecallEvaluator(multi_hit)", "Success DocumentRecallEvaluator(single_hit)",
        ),
        **GRADED,
    ),
    Convention(
        "llama_index",
        undefined="raise",
        no_relevant="undefined",
        missing_in_run="raise",
        peer="LlamaIndex",
        versions="llama-index-core 0.14.25",
        source="core/evaluation/retrieval/metrics.py:77, 150-158, 214, 270, 322-332, 413-426: all ids "
        "retrieved count; empty lists are errors",
        options=(
            ("NDCG of 0.12.3 and 0.12.4", "llama_index(ideal=min(k, n_retrieved))"),
            ("NDCG up to 0.12.2, k the number retrieved", "llama_index(ideal=k best)"),
            ("HitRate(use_granular_hit_rate=True)", "R"),
        ),
        metrics=same("nDCG NDCG", "AP AveragePrecision", "RR MRR", "Success HitRate", "P Precision", "R Recall"),
        **(IDS | {"missing_in_qrels": "raise"}),
    ),
    Convention(
        "trulens",
        no_relevant="undefined",
        peer="TruLens",
        versions="trulens-feedback 2.16.0",
        source="feedback/groundtruth.py:357-426, 454-492, 518-555, 580-610, 632-653: GroundTruthAgreement",
        bugs=(
            Bug(
                LABEL_0.format("expect_score"),
                "groundtruth.py:460, 524, 585", 1.0, "not a number", case="one expected chunk, expect_score 0, mrr",
            ),
            Bug(
                "precision of a query that retrieved nothing is not a number",
                "groundtruth.py:485-490", "nan", 0.0,
                case="no chunks retrieved, precision_at_k", golden="empty_ranking",
            ),
            Bug(
                "up to 2.13.0 nDCG compares the sorted ground truth with the retrieved labels, or stops",
                "groundtruth.py of 2.13.0:357-376", 0.8983537904952533, 0.0,
                case="expect_score 1 and 3, two other chunks retrieved, ndcg_at_k(k=3)",
                golden="nothing_relevant_retrieved",
            ),
        ),
        metrics=(
            *same("nDCG ndcg_at_k", "RR mrr", "Success ir_hit_rate"),
            *same(
                "P precision_at_k", "R recall_at_k",
                tie_difference="takes all chunks that score as the k-th, if relevance_scores are given",
            ),
        ),
        **GRADED,
    ),
    Convention(
        "ragas",
        peer="ragas",
        versions="0.4.3",
        source="metrics/_context_precision.py:274-304, _context_recall.py:250-281: sets of all ids",
        bugs=(
            Bug(
                "precision of a query that retrieved nothing is not a number, and left out of the mean",
                "_context_precision.py:291-296", "nan", 0.0, case="no ids retrieved", golden="empty_ranking",
            ),
            Bug(
                "precision of a query without relevant ids is 0, though recall is not a number",
                "_context_precision.py:298-303", 0.0, "nan",
                case="no reference ids, one id retrieved", golden="nothing_judged",
            ),
        ),
        metrics=same("P IDBasedContextPrecision", "R IDBasedContextRecall"),
        **IDS,
    ),
    Convention(
        "azure_ai",
        peer="Azure AI Evaluation",
        versions="1.18.10",
        source="_evaluators/_document_retrieval/_document_retrieval.py:131-222, 412-470: DocumentRetrievalEvaluator",
        metrics=same(
            "nDCG ndcg@3", f"{FIDELITY} fidelity", f"{XDCG} xdcg@3", "CG(gain=linear) top1_relevance",
            "Unjudged holes_ratio",
        ),
        bugs=(
            Bug(
                "fidelity orders labels as texts, so that labels of 10 and more have the weights of lower ones",
                "_document_retrieval.py:208, sorted by texts", "weights of other labels", "gain 2^(label + 1) − 1",
                case="ground_truth_label_max=12",
            ),
        ),
        **ENGINE,
    ),
    Convention(
        "elasticsearch",
        ideal="min(k, n_retrieved)",
        default_k=10,
        peer="Elasticsearch's _rank_eval",
        versions="main of July 2026 (read, not run)",
        source="modules/rank-eval: DiscountedCumulativeGain.java, computeDCG and evaluate; PrecisionAtK, RecallAtK, "
        "MeanReciprocalRank, ExpectedReciprocalRank.java",
        options=(
            ("normalize of pull request 154362", "elasticsearch(ideal=judged)"),
            ("relevant_rating_threshold=2", "P(rel=2)@10"),
            ("ignore_unlabeled=True, of runs of k documents", "elasticsearch(unjudged=removed)"),
            ("maximum_relevance=3", "ERR(max_grade=3)@10"),
        ),
        metrics=same(
            "nDCG dcg(normalize=True)", "DCG dcg", "P precision", "R recall", "RR mean_reciprocal_rank",
            "ERR expected_reciprocal_rank",
        ),
        **(ENGINE | {"relevant": "at least 1"}),
    ),
    Convention(
        "opensearch",
        peer="OpenSearch's Search Relevance Workbench",
        versions="0b75cf8 (read, not run)",
        source="metrics/calculator/Evaluation.java: calculateNDCGAtK and the others, rounded to two digits",
        options=(
            ("the threshold of pull request 394, per query", "P(rel=2)@10"),
            ("OpenSearch's _rank_eval", "elasticsearch"),
        ),
        metrics=(
            *same("nDCG NDCG@k", "DCG DCG@k"),
            *(
                PeerMetric(
                    ours, theirs,
                    differs="takes for relevant what reaches half of the query's highest label and the 90th "
                    "percentile, since pull request 394: give that as `rel`; for labels 0 and 1 the number is the same",
                )
                for ours, theirs in (("P", "Precision@k"), ("AP", "MAP@k"), ("R", "Recall@k"), ("RR", "MRR"))
            ),
        ),
        bugs=(
            Bug(
                "every value is rounded to two digits before the mean",
                "Evaluation.java, roundToTwoDecimals", "0.33", "0.3333333333333333", case="1 / 3",
            ),
        ),
        **ENGINE,
    ),
    Convention(
        "rcp_ndcg",
        default_k=10,
        peer="RCP-nDCG",
        versions="rcp_ndcg_core 7803a4e (read, not run)",
        source="docs/concepts/metric.md and protocols.md: linear gains of any size, the mean gain for equal scores, "
        "ideal over all judged documents",
        options=(
            ("protocols nanobeir and bright", "rcp_ndcg(ties=id_descending)"),
            ("protocol trecdl", "rcp_ndcg(ties=input)"),
            ("restrict_to_candidates", "rcp_ndcg(unjudged=removed)"),
            ("qrel_gain='exponential'", "rcp_ndcg(gain=exp2)"),
            ("rcp_ndcg_core.ndcg of a query without gains", "rcp_ndcg(undefined=0)"),
        ),
        metrics=same("nDCG ndcg"),
    ),
)  # fmt: skip
