"""Conventions of programs that evaluate recommendations: an item is relevant or not, users without any are left out."""

from typing import Any

from fastndcg.named_conventions.convention import Bug, Convention, PeerMetric, same

LISTS: dict[str, Any] = {
    "gain": "binary",
    "relevant": "above 0",
    "ties": "input",
    "no_relevant": "skipped",
    "negative_labels": "zero",
}

NO_USERS = Bug(
    "the mean over no users is 0, or an error",
    "means over users with relevant items",
    "0, or an error",
    "nan",
    case="no user has a relevant item",
    golden="no_relevant",
)

RECORDS = (
    Convention(
        "rectools",
        ideal="k best",
        peer="RecTools",
        versions="0.19.0",
        source="rectools/metrics/ranking.py:444-470: by default the ideal list has k relevant items",
        options=(
            ("NDCG(divide_by_achievable=True)", "rectools(ideal=judged)"),
            ("MAP(divide_by_k=True)", "rectools(ap_denominator=k)"),
            ("Precision(r_precision=True)", "rectools(precision_denominator=min(k, n_relevant))"),
        ),
        metrics=(
            *same("nDCG NDCG", "AP MAP", "P Precision", "R Recall", "F F1Beta", "RR MRR", "Success HitRate"),
            PeerMetric("ClassificationAccuracy", "Accuracy", differs="counts all items of the catalogue"),
            PeerMetric("pAUC", "PartialAUC", differs="is the area down to the k-th item that is not relevant"),
        ),
        **LISTS,
    ),
    Convention(
        "replay",
        ap_denominator="min(k, n_relevant)",
        peer="RePlay",
        versions="0.22.0",
        source="replay/metrics/base_metric.py:155, 170, 228, ndcg.py:82",
        options=(("dicts in place of frames", "replay(ties=input)"),),
        bugs=(
            Bug(
                "ties depend on the container: by falling item id in frames, as given in dicts",
                "base_metric.py:155, 170, 228", "MRR 1.0 and 0.333", "as `ties` says",
                case="three items with equal scores, the highest id relevant", golden="tie_depends_on_container",
            ),
            NO_USERS,
        ),
        metrics=(
            *same("nDCG NDCG", "AP MAP", "P Precision", "R Recall", "RR MRR", "Success HitRate"),
            PeerMetric(
                "AUC", "RocAuc",
                differs="is 0 for a list without relevant items and 1 for a list of nothing else; for other lists "
                "it is AUC under replay(pool=retrieved)",
            ),
        ),
        **(LISTS | {"ties": "id_descending"}),
    ),
    Convention(
        "recommenders",
        missing_in_run="skip",
        ap_denominator="min(k, n_relevant)",
        peer="Recommenders",
        versions="b02c95e (1.2.1)",
        source="recommenders/evaluation/python_evaluation.py:857-870",
        options=(
            ("ndcg_at_k(score_type='raw')", "recommenders(gain=linear)"),
            ("ndcg_at_k(score_type='exp')", "recommenders(gain=exp2)"),
            ("map", "recommenders(ap_denominator=n_relevant)"),
        ),
        bugs=(
            Bug(
                "users whose R-precision is 0 but who have a hit below rank R are left out of its mean",
                "python_evaluation.py, r_precision_at_k", 1.0, 0.5, "Rprec",
                ((1, 0), (0, 0, 1, 1)), ((2, 1), (3, 2, 1, 0)), golden="r_precision_nan_skipped",
            ),
            Bug(
                "nDCG averages over all users with relevant items, the others over those with recommendations, too",
                "python_evaluation.py, ndcg_at_k", "two users and one", "one user",
                case="a user without recommendations", golden="recsys_users_partial_overlap",
            ),
            Bug(
                "an item with the rating 0 is relevant",
                "python_evaluation.py, merge_rating_true_pred", "P@2 1.0", 0.5, "P@2", ((0, 3),), ((2, 1),),
                golden="rating_zero_row",
            ),
            NO_USERS,
        ),
        metrics=(
            *same("nDCG ndcg_at_k", "AP map_at_k", "P precision_at_k", "R recall_at_k"),
            PeerMetric("Rprec", "r_precision_at_k", differs="looks at k items and divides by R, here by min(k, R)"),
            PeerMetric("AUC", "auc", differs="is one number over the items of all users"),
        ),
        **LISTS,
    ),
    Convention(
        "lenskit",
        discount="log2(max(r, 2))",
        ap_denominator="min(k, n_relevant, n_retrieved)",
        precision_denominator="min(k, n_retrieved)",
        recall_denominator="min(k, n_relevant)",
        peer="LensKit",
        versions="2025.8.1",
        source="lenskit/metrics/ranking/_weighting.py:122, _pr.py:70",
        options=(
            ("LogRankWeight(offset=1)", "lenskit(discount=log2)"),
            ("gain='rating'", "lenskit(gain=linear)"),
        ),
        bugs=(
            Bug(
                "AveragePrecision of a user without relevant items stops the program",
                "lenskit/metrics/ranking/_map.py", "ZeroDivisionError", "nan", "AP", ((0, 0, 0),), ((3, 2, 1),),
                golden="no_relevant",
            ),
            Bug(
                "Precision of an empty list is not a number",
                "lenskit/metrics/ranking/_pr.py", "nan", 0.0, case="a user with an empty list", golden="empty_ranking",
            ),
        ),
        metrics=same(
            "nDCG NDCG", "DCG DCG", "AP AveragePrecision", "P Precision", "R Recall", "RR RecipRank", "Success Hit",
            "RBP(p=0.85) RBP",
        ),
        **(LISTS | {"no_relevant": "undefined"}),
    ),
    Convention(
        "implicit",
        ap_denominator="min(k, n_relevant)",
        precision_denominator="min(k, n_relevant)",
        precision_mean="micro",
        peer="Implicit",
        versions="0.7.3",
        source="implicit/evaluation.pyx:415, 444, 471: precision divides the hits of all users by what they could be",
        bugs=(
            Bug(
                "a user to whom all items are relevant stops the program",
                "implicit/evaluation.pyx, the AUC's denominator", "ZeroDivisionError", 1.0,
                "nDCG@2", ((1, 1, 1),), ((3, 2, 1),), golden="all_relevant",
            ),
            Bug(
                "items that the sparse matrix holds with the value 0 are relevant",
                "implicit/evaluation.pyx:415", "relevant", "not relevant", case="an explicit zero",
            ),
            NO_USERS,
        ),
        metrics=(
            *same("nDCG ndcg_at_k", "AP mean_average_precision_at_k", "P precision_at_k"),
            PeerMetric("AUC", "AUC_at_k", differs="counts all items of the catalogue, the rest in random order"),
        ),
        **LISTS,
    ),
    Convention(
        "recbole",
        ap_denominator="min(k, n_relevant)",
        peer="RecBole",
        versions="7b02be5 (read, not run)",
        source="recbole/evaluator/metrics.py",
        bugs=(
            Bug(
                "it needs names that numpy 1.24 and later do not have",
                "metrics.py:90, 128, 287", "AttributeError: np.float", "any numpy from 1.26 on", case="any call",
            ),
        ),
        metrics=(
            *same(
                "nDCG NDCG", "AP MAP", "P Precision", "R Recall", "RR MRR", "Success Hit",
                "GAUC(weight=positives) GAUC",
            ),
            PeerMetric("AUC", "AUC", differs="is one number over the items of all users"),
        ),
        **LISTS,
    ),
    Convention(
        "pykeen",
        relevant="above 0",
        ties="mean_rank",
        negative_labels="zero",
        peer="PyKEEN",
        versions="1.11.1",
        source="pykeen/evaluation/ranks.py:68-96: realistic ranks; take evaluate_pairs",
        options=(
            ("optimistic ranks", "pykeen(ties=best)"),
            ("pessimistic ranks", "pykeen(ties=worst)"),
        ),
        bugs=(
            Bug(
                "adjusted hits of several cutoffs have one name, and only those of the last are kept",
                "metrics/ranking.py:1565, RankBasedMetricKey", "adjusted_hits_at_k", "one a cutoff",
                case="the default metrics",
            ),
        ),
        metrics=same(
            "Rank arithmetic_mean_rank", "RR inverse_harmonic_mean_rank", "Success hits_at_k",
        ),
    ),
    Convention(
        "recometrics",
        relevant="above 0",
        no_relevant="skipped",
        negative_labels="keep",
        peer="recometrics",
        versions="0.1.6.post13",
        source="src/recometrics.hpp:488-564: ranks all items but those of X_train, equal scores by noise",
        options=(
            ("trunc_average_precision=True", "recometrics(ap_denominator=min(k, n_relevant))"),
            ("trunc_precision=True", "recometrics(precision_denominator=min(k, n_relevant))"),
            ("pr_auc=True", "AP"),
        ),
        bugs=(
            Bug(
                "equal scores are ordered by noise of 1e-12, which scores of float32 are too coarse for",
                "recometrics.hpp:531-535", "RR@2 0.0 for any seed", "RR@2 0.25, the mean over both orders",
                case="float32 scores 3, 2, 2, 0, the third item relevant",
            ),
            Bug(
                "users whose items all have equal scores are left out, as if they had no relevant items",
                "recometrics.hpp:525, 561", "nan", "the mean over all orders", case="five equal scores",
            ),
            Bug(
                "precision, recall and hits of users with k items or fewer are left out",
                "recometrics.hpp:483, k_leq_n", "nan", 2 / 3, "P@3", ((1, 0, 1),), ((3, 2, 1),),
            ),
            Bug(
                "all metrics but nDCG leave out users to whom all items are relevant",
                "recometrics.hpp:479, only_ndcg", "nan", 1.0, "R@2", ((1, 1),), ((2, 1),),
            ),
            Bug(
                "the argument min_pos_test has no effect",
                "recometrics.hpp:393, std::min(min_pos_test, 1)", "P@2 0.5", "keep users by `num_rel`",
                case="min_pos_test=3 and a user with one relevant item",
            ),
            Bug(
                "an item with a label below 0, or with a stored 0, is relevant to all metrics but nDCG",
                "recometrics.hpp:594, npos", "P@2 1.0", "P@2 0.5", case="stored labels 0 and 1 at ranks 1 and 2",
            ),
        ),
        metrics=same(
            "nDCG NDCG@K", "AP AP@K", "P P@K", "R R@K", "Success Hit@K", "RR RR@K", "AUC ROC_AUC",
            tie_difference="takes one order, here the mean over all orders is taken",
        ),
    ),
    Convention(
        "lightfm",
        peer="LightFM",
        versions="lightfm-next 1.19.0",
        source="lightfm/_lightfm_fast.pyx.template, predict_ranks: items with an equal score count as higher ones",
        bugs=(
            Bug(
                "relevant items with equal scores are both ranked below the other",
                "_lightfm_fast.pyx.template, predict_ranks", 0.5, 1.0, "RR", ((1, 1, 0),), ((2, 2, 1),),
            ),
            Bug(
                "the AUC takes relevant items with equal scores for items that are not relevant",
                "_lightfm_fast.pyx.template, calculate_auc_from_rank", 0.75, 1.0, "AUC",
                ((1, 1, 0, 0),), ((3, 3, 2, 1),),
            ),
            Bug(
                "the AUC of a user to whom all items are relevant stops all means",
                "_lightfm_fast.pyx.template, calculate_auc_from_rank: 0 / 0", "nan", "left out of the mean",
                case="a user to whom all items are relevant, and another one",
            ),
            Bug(
                "precision and recall of one user stop the program",
                "lightfm/evaluation.py, np.squeeze", "IndexError", 0.5, "P@2", ((1, 0, 1),), ((3, 2, 1),),
            ),
            Bug(
                "items that the sparse matrix holds with the value 0 or below are relevant",
                "lightfm/evaluation.py, test_interactions.getnnz", "relevant", "not relevant", case="an explicit zero",
            ),
        ),
        metrics=same("P precision_at_k", "R recall_at_k", "RR reciprocal_rank", "AUC auc_score"),
        **(LISTS | {"ties": "worst"}),
    ),
)  # fmt: skip
