"""
Conventions of programs that evaluate search, of search engines, and of tools for the retrieval of language models.

The first have judgments and runs with ids. The others have lists of relevant and of retrieved ids.
"""

from typing import Any

from fastndcg.named_conventions.convention import Bug, Convention, PeerMetric, same

PERFECT: dict[str, Any] = {"labels": ((2, 1),), "scores": ((2, 1),)}

NDEVAL_C = "ndeval(missing_in_run=zero)"
BY_SUBTOPIC = ("alpha_nDCG", "alpha_DCG", "nERR_IA", "ERR_IA", "nNRBP", "NRBP", "P_IA", "AP_IA")
TREC_MEASURES = (
    *same(
        "nDCG ndcg",
        "AP map",
        "RR recip_rank",
        "P P",
        "R recall",
        "Success success",
        "Rprec Rprec",
        "F set_F",
        "RelP relative_P",
        "SetAP set_map",
        "Utility utility",
        "bpref bpref",
        "infAP infAP",
        "IPrec iprec_at_recall",
        "IAP 11pt_avg",
        "binG binG",
        "G G",
        "nDCG_rel ndcg_rel",
        "Rndcg Rndcg",
    ),
    *(
        PeerMetric(name, name, differs="is the sum over queries where it is of all; of one query it is the same")
        for name in ("num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret")
    ),
)
TREC_BUGS = (
    Bug(
        "-l does not reach num_rel of all queries, which counts labels above 0",
        "m_num_rel.c", "3606", "1666", case="-c -l 2 -m num_rel, line \"all\"",
    ),
    Bug(
        "a judged query that is missing under -c has a document that stands for it, which utility with parameters and "
        "relstring count",
        "trec_eval.c, \"clean up leftovers\"", "27.5, and '-'", "28.0, and ''",
        case="-c -m utility.1,-0.5,0.25,0 -m relstring.20 where the run lacks queries",
    ),
    Bug(
        "of several -m that name the same measure the later ones are ignored",
        "trec_eval.c, mark_measure", "P_5", "P_5 and P_10", case="-m P.5 -m P.10",
    ),
    Bug(
        "set_F and sums over queries are rounded at every step, which the fourth digit may show",
        "m_set_F.c, accum.c", "0.1563", "0.1562",
        case="5 of 6 relevant documents in a set of 58, set_F 0.15625 exactly",
    ),
    Bug(
        "gains that differ by less than 1 are not sorted, so that the ideal order is wrong",
        "trec_eval m_ndcg.c, comp_rel_gain returns an int", 0.0, 1.0,
        "nDCG(gain=[0,0.5,0.9])", golden="custom_gain_fractional", **PERFECT,
    ),
    Bug(
        "a first query with negative labels only stops the program",
        "trec_eval form_res_rels.c, malloc(0)", "exit 4: can't calculate measure", 0.0,
        "AP", ((-1, -2),), ((2, 1),), golden="all_negative_labels",
    ),
    Bug(
        "set_F weighs recall by beta where F-beta says beta²",
        "trec_eval m_set_F.c: (x + 1)PR / (R + xP)", "set_F.2 of P 1/2, R 3/4: 0.643", "F(beta=2): 0.682",
        case="precision 1/2, recall 3/4, beta 2",
    ),
    Bug(
        "Rndcg is 0 where no label reaches -l, which no other metric of gains looks at",
        "m_Rndcg.c, num_rel == 0", 0.0, 1.0,
        case="-l 2 -m Rndcg with labels 1 and 0 in this order",
    ),
    Bug(
        "interpolated precision of a query without documents divides 0 by 0",
        "m_iprec_at_recall.c, m_11pt_avg.c", "not a number", 0.0,
        case="an empty list in a run of pytrec_eval's, iprec_at_recall_0.00",
    ),
)  # fmt: skip
TREC_EVAL = Convention(
    "trec_eval",
    label_fractions="cut off",
    ties="id_descending",
    undefined=0,
    negative_labels="zero",
    missing_in_run="raise",
    recall_rounding="nearest",
    rbp_gain="share of highest",
    residual_of_nothing=0,
    peer="trec_eval",
    versions="10.0",
    source="form_res_rels.c, m_*.c: scores as doubles; stops at a judged query missing from the run",
    metrics=(*TREC_MEASURES, *same("DCG dcg", "IDCG ideal_dcg", "RBP rbp", "RBP_resid rbp_resid", "Unjudged unj")),
    options=(("-c", "trec_eval_c"), ("-J", "trec_eval(unjudged=removed)"), ("-l 2", "P(rel=2)@10")),
    bugs=(
        *TREC_BUGS,
        Bug(
            "the bounds that gains are scaled with are read before they are set",
            "m_rbp.c:44, 71-77", "depends on what was in memory", "the query's highest gain, if above 1",
            case="-m rbp with labels outside 0 to 1",
        ),
        Bug(
            "the residual of RBP is 0 where all documents ranked were judged, whatever stands below them",
            "m_rbp_resid.c:81", 0.0, 0.81, "RBP_resid", **PERFECT,
        ),
    ),
)  # fmt: skip
TREC_EVAL_9 = TREC_EVAL.with_fields(
    name="trec_eval_9",
    missing_in_run="skip",
    score_dtype="float32",
    recall_rounding="up from a tenth",
    metrics=TREC_MEASURES,
    peer="trec_eval, pytrec_eval, ir_measures",
    versions="9.0.8; pytrec_eval-terrier 0.5.11, ir_measures 0.4.3 (trec_eval_9_c)",
    source="form_res_rels.c:35, trec_format.h:15: scores as floats; leaves out queries that the run lacks",
    options=(
        ("-c, and ir_measures always", "trec_eval_9_c"),
        ("-J, judged_docs_only_flag=True, judged_only=True", "trec_eval_9(unjudged=removed)"),
        ("-l 2, relevance_level=2, P(rel=2)@10", "P(rel=2)@10"),
        ("ir_measures' nDCG(dcg='exp-log2')", "trec_eval_9_c(gain=exp2)"),
    ),
    bugs=(
        *TREC_BUGS,
        Bug(
            "ir_measures: the same tie is decided by the provider that happens to compute the measure",
            "msmarco_provider.py:41, util.py:233", "RR 0.5 and RR@10 1.0", "RR 0.5 and RR@10 0.5",
            case="documents a (relevant) and b with equal scores", golden="tie_depends_on_provider",
        ),
        Bug(
            "ir_measures: Judged counts documents with a negative label, which trec_eval takes for not judged",
            "judged_provider.py", "Judged@2 1.0", "Judged@2 0.5",
            case="labels 1 and −1 in rank order", golden="negative_label",
        ),
        Bug(
            "-c counts the queries that the run lacks in the means, but prints no lines of them",
            "trec_eval.c", "lines of \"all\" only", "a line for each measure, as version 10.0 prints them",
            case="-c -q where the run lacks queries",
        ),
        Bug(
            "pytrec_eval: a query with an empty list is given what another query left in memory, or ends the process",
            "pytrec_eval-terrier 0.5.11", "num_rel 0, or that of the query before", "num_rel of the query",
            case="a run with an empty dict for a judged query",
        ),
    ),
)  # fmt: skip

RECORDS = (
    TREC_EVAL,
    TREC_EVAL.with_fields(
        name="trec_eval_c",
        missing_in_run="zero",
        source="trec_eval.c with -c: a judged query that the run lacks scores 0",
        options=(),
    ),
    TREC_EVAL_9,
    TREC_EVAL_9.with_fields(
        name="trec_eval_9_c",
        missing_in_run="zero",
        source="trec_eval.c with -c; ir_measures base.py:22-27: a judged query that the run lacks scores 0",
        options=(
            ("-J, judged_docs_only_flag=True, judged_only=True", "trec_eval_9_c(unjudged=removed)"),
            *TREC_EVAL_9.options[2:],
            ("ir_measures' Accuracy", "trec_eval_9_c(pool=retrieved,ties=input,undefined=nan)"),
            ("ir_measures' RBP(rel=1)", "RBP(p=0.8,gain=binary)"),
        ),
        metrics=(
            *TREC_MEASURES,
            *same("ERR ir_measures' ERR", "Judged ir_measures' Judged", "INST@1000 ir_measures' INST"),
            *same("BPM ir_measures' BPM", "RBP(p=0.8,gain=binary) ir_measures' RBP(rel=1)"),
            PeerMetric(
                "AUC", "ir_measures' Accuracy", "trec_eval_9_c(pool=retrieved,ties=input,undefined=nan)",
            ),
            PeerMetric(
                "Compat", "ir_measures' Compat", differs="ends with the longer of both lists: give its length as @k"
            ),
            *(
                PeerMetric(name, f"ir_measures' {theirs}", NDEVAL_C)
                for name, theirs in (*((name, name) for name in BY_SUBTOPIC), ("S_recall", "StRecall"))
            ),
        ),
    ),
    Convention(
        "ranx",
        label_fractions="cut off",
        ties="input",
        undefined=0,
        negative_labels="zero",
        missing_in_run="raise",
        missing_in_qrels="raise",
        recall_rounding="up from a tenth",
        peer="ranx",
        versions="0.3.21",
        source="metrics/*.py, data_structures/common.py:76-85: argsort(-score), stable for short lists only",
        options=(
            ("dicts in place of Qrels and Run", "ranx(ties=input_reversed)"),
            ("make_comparable=True", "ranx(missing_in_run=zero,missing_in_qrels=skip)"),
            ("map-l2", "AP(rel=2)"),
            ("ndcg_burges", "nDCG(gain=exp2)"),
            ("rbp.95", "RBP(p=0.95,gain=linear)"),
        ),
        metrics=same(
            "nDCG ndcg", "DCG dcg", "AP map", "RR mrr", "P precision", "R recall", "F f1", "Success hit_rate",
            "Rprec r-precision", "num_rel_ret hits", "bpref bpref", "RBP(gain=linear) rbp.95",
        ),
        bugs=(
            Bug(
                "bpref is not a number where every judged document is relevant",
                "metrics/bpref.py", "nan", 1.0, "bpref", ((1, 1, 1),), ((3, 2, 1),), golden="all_relevant",
            ),
            Bug(
                "bpref takes documents with negative labels for judged, here they were pooled and not judged",
                "metrics/bpref.py", 0.25, 1.0, case="labels 1, −1 and 2 in rank order, bpref", golden="negative_label",
            ),
            Bug(
                "per-query values of one metric with a cutoff are not found",
                "evaluate.py", "KeyError", "values",
                case="evaluate(qrels, run, 'ndcg@10', return_mean=False) of dicts", golden="dict_return_mean_false",
            ),
            Bug(
                "an empty list in a dict stops the program",
                "data_structures/run.py", "AssertionError", 0.0, case="a run with {'q2': {}}", golden="empty_ranking",
            ),
            Bug(
                "dicts are paired by position, not by query: the same run in another order scores otherwise",
                "evaluate.py:59-62, utils.py:24", 0.6309297535714575, 1.0,
                case="qrels {q1, q2}, a perfect run {q2, q1}, nDCG", golden="dict_query_order_misaligned",
            ),
            Bug(
                "ties depend on the container: as given in a Run, the last first in a dict",
                "data_structures/common.py:76-85, utils.py:12-13", "0.2398 and 0.4796", "as `ties` says",
                case="labels 0, 1, 2, 0 with equal scores, nDCG@2", golden="ties_all_equal",
            ),
            Bug(
                "the sort is unstable: in a query of 20 equal scores the first document gets rank 19",
                "data_structures/common.py:76-85, quicksort", "RR 1/19", 1.0, "RR",
                ((1, *[0] * 19),), ((0.5,) * 20,), golden="ties_20_first_relevant",
            ),
            Bug(
                "evaluate on fewer than 10 queries leaves numba with one thread for the rest of the process",
                "evaluate.py:123-126", "numba.get_num_threads() is 1", "never touched",
                case="evaluate(qrels, run, 'ndcg') with 9 queries", golden="thread_count_side_effect",
            ),
        ),
    ),
    Convention(
        "ndeval",
        ties="id_ascending",
        undefined=0,
        negative_labels="zero",
        missing_in_run="skip",
        peer="ndeval, pyndeval",
        versions="4.5; pyndeval 0.0.8",
        source="ndeval.c: binary judgments by subtopic, 20 ranks; pyndeval/__init__.py: equal scores by rising id",
        metrics=same(
            "alpha_nDCG alpha-nDCG", "alpha_DCG alpha-DCG", "nERR_IA nERR-IA", "ERR_IA ERR-IA", "nNRBP nNRBP",
            "NRBP NRBP", "P_IA P-IA", "AP_IA MAP-IA", "S_recall strec",
        ),
        options=(("-traditional", "ndeval(ties=id_descending)"), ("-c", "ndeval(missing_in_run=zero)")),
        bugs=(
            Bug(
                "rank 1 is not divided by what a document with all subtopics would have",
                "ndeval.c, computeERR and computeDCG: the last loop starts at 1", 1.0, 1 / 3,
                case="one document with 1 of 3 subtopics, ERR_IA@1 and alpha_DCG@1",
            ),
            Bug(
                "nNRBP is not a number where no subtopic has a relevant document, all else is 0",
                "ndeval.c, renormalize: 0 / 0", "nan", 0.0, case="a query without relevant documents",
            ),
        ),
    ),
    Convention(
        "ms_marco",
        default_k=10,
        ties="input",
        undefined=0,
        negative_labels="zero",
        peer="MS MARCO's script for RR@10",
        versions="passage ranking",
        source="ms_marco_eval.py: ranks as given, 10 of them, over all judged queries",
        metrics=same("RR MRR"),
        options=(("ir_measures' RR@10", "ms_marco(ties=id_ascending)"),),
    ),
    Convention(
        "sentence_transformers",
        gain="binary",
        relevant="above 0",
        ties="id_ascending",
        no_relevant="skipped",
        negative_labels="zero",
        ap_denominator="min(k, n_relevant)",
        peer="sentence-transformers",
        versions="6.2.0",
        source="InformationRetrievalEvaluator.compute_metrics; queries without relevant documents are left out first",
        metrics=same("Success accuracy@k", "P precision@k", "R recall@k", "nDCG ndcg@k", "RR mrr@k", "AP map@k"),
    ),
)  # fmt: skip


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

RETRIEVAL = (
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
            Bug(
                "a relevant document that is retrieved again is another relevant document of nDCG, also in the ideal",
                "metric_definitions.py:409-420", 0.6934264036172708, "1.1309 with duplicates='counted', 0.6309 with "
                "'first'", case="relevant a, retrieved x, a, a: ndcg_at_k(3)",
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
        no_relevant="skipped",
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
        bugs=(
            Bug(
                "an expected id that is given twice counts twice in the ideal of NDCG",
                "metrics.py:422-425", 0.6131471927654584, "1.0 for a set, an error for a list",
                case="expected id1, id1, retrieved id1: NDCG",
            ),
            Bug(
                "a query that retrieved nothing is an error, like one without relevant ids",
                "metrics.py:77", "an error", 0.0, case="no ids retrieved",
            ),
        ),
        metrics=same("nDCG NDCG", "AP AveragePrecision", "RR MRR", "Success HitRate", "P Precision", "R Recall"),
        **(IDS | {"missing_in_qrels": "raise"}),
    ),
    Convention(
        "trulens",
        no_relevant="skipped",
        peer="TruLens",
        versions="trulens-feedback 2.16.0",
        source="feedback/groundtruth.py:357-426, 454-492, 518-555, 580-610, 632-653: GroundTruthAgreement",
        options=(("ndcg_at_k without k, the number retrieved", "trulens(ideal=min(k, n_retrieved))"),),
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
