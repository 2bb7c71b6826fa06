"""
Ledger of recorded values that fastndcg does not give, each with its reason.

An entry covers every record that it matches, and each of these records must still differ. A record that agrees must
be removed from its entry. An empty `metrics`, `ks` or `call` matches all.
"""

from typing import NamedTuple

BINARY = ("ap", "ap@k", "rr", "rr@k", "p@k", "r@k", "hit@k", "rprec")
NDCG = ("ndcg", "ndcg@k", "ndcg_exp@k", "ndcg_at_k")
KINDS = ("bug", "unstable sort", "rounding", "refused there", "refused here", "another definition")


class Difference(NamedTuple):
    """Records of some peers, and the reason why fastndcg gives another number."""

    kind: str
    why: str
    peers: tuple[str, ...]
    names: tuple[str, ...]
    metrics: tuple[str, ...] = ()
    ks: tuple[int | None, ...] = ()
    call: str = ""

    def matches(self, record):
        return (
            record["peer"] in self.peers
            and record["name"] in self.names
            and (not self.metrics or record["metric"] in self.metrics)
            and (not self.ks or record["k"] in self.ks)
            and self.call in record["call"]
        )


TREC_EVAL = ("trec_eval-10.0", "trec_eval-9.0.8")

DIFFERENCES = (
    # bugs, which conventions name and do not copy
    Difference("bug", "a first query with negative labels only stops the program; here nothing is relevant", TREC_EVAL,
        ("all_negative_labels",)),
    Difference("bug", "gains that differ by less than 1 are not sorted: a perfect order gets 0", TREC_EVAL,
        ("custom_gain_fractional",)),
    Difference("bug", "a query without relevant documents adds its 1 without its weight", ("lightgbm", "xgboost"),
        ("query_weights_with_empty_query",)),
    Difference("bug", "for the same reason, small weights stop the program", ("xgboost",), ("query_weights_small",)),
    Difference("bug", "bpref is not a number where no judged document is not relevant", ("ranx",),
        ("all_relevant", "bpref_no_nonrel"), ("bpref",)),
    Difference("bug", "a query without documents stops the program", ("xgboost",), ("empty_group_flat",), ("pre",)),
    Difference("bug", "the ending '-' gives 0 also where the ideal is not 0 but negative", ("xgboost",),
        ("all_negative_labels",), call="ndcg@2-"),
    Difference("bug", "MAP ignores the queries' weights", ("catboost",), ("map_query_weights",)),
    Difference("bug", "the ideal is kept by query id", ("RankLib",), ("ideal_gain_cache_by_qid",)),
    Difference("bug", "RR without a cutoff is always 0", ("RankLib",),
        ("basic_binary", "basic_graded", "err_grades", "float_labels", "k_larger_than_list", "ties_all_equal"),
        ("rr",)),
    Difference("bug", "dicts are paired by position", ("ranx",), ("dict_query_order_misaligned",), call=",dict,"),
    Difference("bug", "per-query values of one metric with a cutoff are not found", ("ranx",),
        ("dict_return_mean_false",)),
    Difference("bug", "an empty list in a dict stops the program", ("ranx",), ("empty_ranking",), call="(dict"),
    Difference("bug", "documents with a score of 0 or less are taken for not relevant", ("torchmetrics",),
        ("all_negative_scores", "zero_score_tail", "neg_zero_tie"), ("ap", "ap@k", "rr", "rr@k", "p@k", "r@k")),
    Difference("bug", "labels that add up to 0 count as nothing relevant in the class, and not in the function",
        ("torchmetrics",), ("negative_label",), ("ndcg", "ndcg@k")),
    Difference("bug", "a document with the score −inf counts as not retrieved", ("rax",), ("inf_scores",),
        ("ndcg", "ndcg@k", "ap", "r@k"), (None, 3)),
    Difference("bug", "gains are float32, which 2^128 leaves", ("rax", "allRank"), ("label_64_and_1000",),
        ("ndcg_exp@k",)),
    Difference("bug", "the label −1 is padding, −2 is not", ("allRank",), ("negative_label",), (*NDCG, "dcg@k")),
    Difference("bug", "a hit below rank R makes R-precision NaN, which the mean leaves out", ("recommenders",),
        ("r_precision_nan_skipped", "k_larger_than_list"), ("r_precision_at_k", "rprec")),
    Difference("bug",
        "nDCG averages over all users with relevant items, the other metrics over those with recommendations",
        ("recommenders",), ("empty_ranking", "query_missing_from_run", "recsys_users_partial_overlap"), NDCG),
    Difference("bug", "an item with the rating 0 is relevant", ("recommenders",), ("rating_zero_row",),
        ("precision_at_k",)),
    Difference("bug", "an item with the rating 0 is relevant", ("recommenders",), ("rating_zero_row",), ("ndcg_at_k",),
        call="'binary'"),
    Difference("bug", "the mean over no users is 0, or an error; here it is not a number",
        ("recommenders", "implicit", "RePlay"), ("no_relevant",)),
    Difference("bug", "the mean over no users is 0, or an error; here it is not a number", ("recommenders", "RePlay"),
        ("all_negative_labels",)),
    Difference("bug", "a user to whom all items are relevant stops the program", ("implicit",),
        ("all_relevant", "single_doc_relevant")),
    Difference("bug", "AP of a user without relevant items stops the program", ("lenskit",),
        ("no_relevant", "all_negative_labels"), ("ap", "ap@k")),
    Difference("bug", "AUC of a user to whom all items are relevant, or none, stops the program", ("implicit",),
        ("auc_one_class", "auc_no_pos")),
    Difference("bug", "the mean over no users is an error", ("RePlay",), ("auc_no_pos",)),
    Difference("bug", "nDCG compares the sorted ground truth with the retrieved labels, or stops", ("trulens-2.13.0",),
        ("short_run", "nothing_relevant_retrieved", "drawn_5"), ("ndcg_at_k",)),
    Difference("another definition", "precision of a query that retrieved nothing is not a number; here it is 0",
        ("trulens", "ragas"), ("empty_ranking",), ("precision_at_k", "IDBasedContextPrecision")),
    Difference("another definition", "precision of a query without relevant ids is 0, though recall is not a number",
        ("ragas",), ("nothing_judged",), ("IDBasedContextPrecision",)),
    # sorts that do not keep the order of equal scores
    Difference("unstable sort", "20 equal scores", ("ranx",), ("ties_20_first_relevant",), call="Qrels,Run"),
    Difference("unstable sort", "20 equal scores", ("ranx",), ("ties_20_first_relevant",), ks=(None, 5), call="(dict"),
    Difference("unstable sort", "20 equal scores", ("allRank",), ("ties_20_first_relevant",)),
    Difference("unstable sort", "4 equal scores", ("allRank",), ("ties_all_equal",), ("rr@k",), (2,)),
    Difference("unstable sort", "ties come in any order; here they give the expectation", ("torchmetrics",),
        ("ties_20_first_relevant", "ties_float32_only"), ("ap", "rr", "hit@k")),
    # printed with few digits
    Difference(
        "rounding", "gdeval.pl prints five decimals", ("ir_measures",),
        (
            "all_negative_scores", "basic_binary", "basic_graded", "k_larger_than_list", "negative_label",
            "ties_all_equal", "unjudged_docs",
        ),
        ("ndcg_exp@k",), (2, 3, 4, 5, 6, 10),
    ),
    Difference("rounding", "gdeval.pl prints five decimals", ("ir_measures",),
        ("all_negative_scores", "basic_graded", "negative_label", "unjudged_docs"), ("err@k",), (3, 4, 5, 6)),
    Difference("rounding", "gdeval.pl prints five decimals", ("ir_measures",),
        ("all_relevant", "err_grades", "perfect_R_lt_k"), ("err@k",)),
    Difference("rounding", "gdeval.pl prints five decimals", ("ir_measures",), ("basic_binary",), ("err@k",), (5,)),
    # inputs that the peer does not take
    Difference("refused there", "labels must be Python's whole numbers", ("pytrec_eval-terrier", "ir_measures"),
        ("float_labels",), (*NDCG, "ap", "ap@k", "rr", "p@k", "r@k", "hit@k")),
    Difference("refused there", "gdeval.pl takes labels up to 4 and queries with a number", ("ir_measures",),
        ("label_30", "label_64_and_1000", "exp_ndcg_non_numeric_qid"), ("ndcg_exp@k",)),
    Difference("refused there", "labels must be whole", ("ir_measures",), ("err_probabilities",), ("err@k",)),
    Difference("refused there", "infinite scores", ("scikit-learn",), ("inf_scores",)),
    Difference("refused there", "a single document", ("scikit-learn",), ("single_doc_relevant",), NDCG),
    Difference("refused there", "labels with fractions", ("lightgbm",), ("float_labels",), ("ndcg", "ndcg@k")),
    Difference("refused there", "labels other than 0 and 1 in binary metrics", ("xgboost", "torchmetrics"),
        ("basic_graded", "float_labels", "negative_label", "ties_all_equal", "unjudged_docs"), BINARY),
    Difference("refused there", "labels other than 0 and 1 in binary metrics", ("xgboost", "torchmetrics"),
        ("all_negative_labels", "inf_scores", "infap_pool"), ("ap", "rr", "r@k")),
    # inputs that fastndcg does not take
    Difference(
        "refused here", "NaN scores are an error, unless nan_scores='last' is taken",
        (
            *TREC_EVAL, "pytrec_eval-terrier", "ir_measures", "ranx", "lightgbm", "xgboost", "catboost",
            "torchmetrics", "rax", "allRank", "implicit",
        ),
        ("nan_score_first",),
    ),
    Difference("refused here", "gains of 2^2000 are beyond float64; there they give NaN",
        ("ranx", "catboost", "rax", "allRank"), ("label_2000_overflow",), ("ndcg_exp@k",)),
    Difference("refused here", "a cutoff of 0; there it means all ranks", ("ranx", "torchmetrics"), ("k_zero",),
        call="means"),
    Difference("refused here", "negative labels, which its ndcg refuses and its map takes", ("lightgbm",),
        ("all_negative_labels", "infap_pool", "negative_label"), ("ap", "ap@k")),
    Difference("refused here", "labels above 1 are no chances to stop; there ERR is above 1 with them", ("catboost",),
        ("basic_graded", "err_grades", "negative_label", "ties_all_equal", "unjudged_docs"), ("err@k",)),
    # metrics with the same name and another definition
    Difference("another definition", "average_precision_score gives all documents of a tie the precision at its end",
        ("scikit-learn",), ("ties_20_first_relevant", "zero_score_tail"), ("ap",)),
    Difference("another definition", "r_precision_at_k looks at k documents and divides by R, here by min(k, R)",
        ("recommenders",), ("all_relevant",), ("rprec",)),
    Difference("another definition", "negative labels count as judged, in trec_eval and here as pooled and not judged",
        ("ranx",), ("negative_label",), ("bpref",)),
    Difference("another definition", "negative labels count as judged, in trec_eval and here as pooled and not judged",
        ("ir_measures",), ("negative_label",), ("judged@k",)),
    Difference("refused there", "version 9 has no unj and no rbp", ("trec_eval-9.0.8",),
        ("unjudged_docs", "negative_label", "rbp_graded", "rbp_binary"), ("unj@k", "rbp")),
    Difference("another definition", "a list of relevant items alone has the AUC 1", ("RePlay",), ("auc_one_class",)),
    Difference("another definition", "P of an empty list is not a number", ("lenskit",), ("empty_ranking",), ("p@k",)),
)  # fmt: skip

# of values that pyndeval gives on drawn inputs: tests/peers/test_pyndeval.py
OF_NDEVAL = (
    Difference("bug", "rank 1 is not divided by what a document with all subtopics would have: 1 in place of 1/3",
        ("pyndeval",), ("drawn",), ("ERR-IA", "alpha-DCG"), (1,)),
    Difference("bug", "nNRBP is not a number where no subtopic has a relevant document, and all else is 0",
        ("pyndeval",), ("nothing relevant",), ("nNRBP",)),
)  # fmt: skip
