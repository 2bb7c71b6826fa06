"""Conventions of programs that evaluate search: judgments and runs with ids."""

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
                "metrics/bpref.py", "nan", 1.0, "bpref", ((1, 1),), ((2, 1),), golden="all_relevant",
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
