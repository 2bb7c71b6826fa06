"""Means of random inputs equal those of the installed libraries under their conventions."""

from typing import NamedTuple

import numpy as np
import peer_libraries
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn

pytestmark = pytest.mark.peers


class Case(NamedTuple):
    labels: list
    scores: list
    weights: list
    unretrieved: list

    @property
    def sizes(self):
        """Number of documents of each query."""
        return [len(labels) for labels in self.labels]

    @property
    def flat_labels(self):
        """Labels of all queries."""
        return np.array([label for labels in self.labels for label in labels], "f8")

    @property
    def flat_scores(self):
        """Scores of all queries."""
        return np.array([score for scores in self.scores for score in scores], "f8")

    @property
    def features(self):
        """Features for libraries that need them."""
        return np.arange(float(sum(self.sizes)))[:, None]

    @property
    def qrels(self):
        """Judgments by query and document. A label of None means not judged."""
        judged = {
            f"q{q}": {f"d{d}": label for d, label in enumerate(labels) if label is not None}
            for q, labels in enumerate(self.labels)
        }
        for q, labels in enumerate(self.unretrieved):
            judged[f"q{q}"] |= {f"x{d}": label for d, label in enumerate(labels)}
        return judged

    @property
    def run(self):
        """Scores by query and document."""
        return {f"q{q}": {f"d{d}": score for d, score in enumerate(scores)} for q, scores in enumerate(self.scores)}


@st.composite
def cases(draw, labels, *, ties=True, least=1, positive=False, weighted=False, unretrieved=False, all_relevant=False):
    """Draw queries of different lengths, with or without ties and relevant documents."""
    sizes = draw(st.lists(st.integers(least, 8), min_size=1, max_size=5))
    queries = [draw(st.lists(labels, min_size=n, max_size=n)) for n in sizes]
    if all_relevant:
        queries = [[1, *query[1:]] for query in queries]
    lowest = 1 if positive else -3
    score = st.integers(lowest, lowest + 4).map(lambda value: value / 4)
    scores = [
        draw(st.lists(score, min_size=n, max_size=n) if ties else st.permutations(range(1, n + 1))) for n in sizes
    ]
    scores = [[float(value) for value in query] for query in scores]
    weight = st.sampled_from([0.5, 1.0, 2.0, 3.5]) if weighted else st.just(1.0)
    weights = [draw(weight) for _ in sizes]
    more = [draw(st.lists(labels.filter(lambda label: label is not None), max_size=3)) for _ in sizes]
    return Case(queries, scores, weights, more if unretrieved else [[] for _ in sizes])


BINARY = st.sampled_from([0, 0, 1])
GRADED = st.integers(0, 4)
JUDGED = st.sampled_from([None, -1, 0, 0, 1, 2, 3])


def mean_of_lists(case, metric, convention):
    offsets = np.cumsum([0, *case.sizes])
    result = fn.evaluate(case.flat_labels, case.flat_scores, metric, offsets=offsets, convention=convention)
    return result.means(case.weights)[0]


def mean_of_run(case, metric, convention):
    return fn.evaluate(case.qrels, case.run, metric, convention=convention).means()[0]


SKLEARN = [
    (("ndcg_score", False), "nDCG@3", "sklearn"),
    (("dcg_score", False), "DCG@3", "sklearn"),
    (("ndcg_score", True), "nDCG@3", "sklearn_ignore_ties"),
]


@pytest.mark.parametrize(("theirs", "ours", "convention"), SKLEARN, ids=str)
@examples(60)
@given(data=st.data())
def test_live_sklearn_values(theirs, ours, convention, data):
    """DCG and nDCG equal scikit-learn's values. Scores are distinct if ties are ignored, as the sort is unstable."""
    case = data.draw(cases(GRADED, ties=not theirs[1], least=2, weighted=True))

    assert mean_of_lists(case, ours, convention) == pytest.approx(
        peer_libraries.mean("scikit-learn", case, theirs), rel=1e-12, abs=1e-12
    )


SKLEARN_ROWS = [
    (("roc_auc_score", {}), "AUC", "sklearn(undefined=nan)", True),
    (("roc_auc_score", {"max_fpr": 0.3}), "pAUC(max_fpr=0.3,scale=mcclish)", "sklearn(undefined=nan)", False),
    (("label_ranking_loss", {}), "RankingLoss", "sklearn(ties=worst)", True),
    (("coverage_error", {}), "CoverageError", "sklearn(ties=worst)", True),
    (("label_ranking_average_precision_score", {}), "LRAP", "sklearn(undefined=1)", False),
]


@pytest.mark.parametrize(("theirs", "ours", "convention", "ties"), SKLEARN_ROWS, ids=str)
@examples(60)
@given(data=st.data())
def test_sklearn_of_relevance(theirs, ours, convention, ties, data):
    """AUC and the metrics of label ranking equal scikit-learn's values."""
    case = data.draw(cases(BINARY, ties=ties, least=2))

    expected = peer_libraries.sklearn_rows(case, theirs)
    assert mean_of_lists(case, ours, convention) == pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("recall", [0.1, 0.5, 0.75, 1])
@examples(40)
@given(case=cases(BINARY, ties=False))
def test_sklearn_precision_recall_curve(recall, case):
    """Precision at a recall equals the point of scikit-learn's curve on distinct scores."""
    ours = mean_of_lists(case, fn.Metric("PatR", recall=recall), "default")

    expected = peer_libraries.sklearn_precision_at_recall(case, recall)
    assert ours == pytest.approx(expected, rel=1e-12, nan_ok=True)


NTCIREVAL = [
    (("QMeasure", [1, 2, 3, 4], {"beta": 1}), "Q"),
    (("QMeasure", [1, 2, 3, 4], {"beta": 10, "cutoff": 3}), "Q(beta=10)@3"),
    (("ERR", [1, 3, 7, 15], {}), "ERR"),
    (("nERR", [1, 3, 7, 15], {"cutoff": 3}), "nERR@3"),
]


@pytest.mark.parametrize(("theirs", "ours"), NTCIREVAL, ids=str)
@examples(40)
@given(case=cases(GRADED, ties=False))
def test_live_ntcireval_values(theirs, ours, case):
    """Q-measure, ERR and nERR of graded labels in rank order equal NTCIREVAL's values."""
    expected = peer_libraries.ntcireval(case, theirs)
    convention = "default(ap_denominator=min(k, n_relevant),no_relevant=skipped)"

    assert mean_of_lists(case, ours, convention) == pytest.approx(expected, rel=1e-12, nan_ok=True)


TREC = [
    ("ndcg", "nDCG"), ("ndcg_cut.3", "nDCG@3"), ("map", "AP"), ("map_cut.3", "AP@3"), ("recip_rank", "RR"),
    ("P.3", "P@3"), ("recall.3", "R@3"), ("success.3", "Success@3"), ("Rprec", "Rprec"), ("set_P", "P"),
    ("set_recall", "R"), ("set_F", "F"), ("num_rel", "num_rel"), ("num_rel_ret", "num_rel_ret"), ("num_ret", "num_ret"),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), TREC, ids=str)
@examples(60)
@given(case=cases(JUDGED, unretrieved=True))
def test_pytrec_eval(theirs, ours, case):
    """Shared measures equal pytrec_eval's values, with ties and with unjudged, negative and missing documents."""
    assume(all(any(label is not None and label >= 0 for label in labels.values()) for labels in case.qrels.values()))

    assert mean_of_run(case, ours, "trec_eval_9") == pytest.approx(
        peer_libraries.mean("pytrec_eval-terrier", case, theirs), rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize(("theirs", "ours"), TREC, ids=str)
@examples(30)
@given(case=cases(JUDGED, unretrieved=True))
def test_pytrec_eval_of_judged_documents(theirs, ours, case):
    assume(all(any(label is not None and label >= 0 for label in labels.values()) for labels in case.qrels.values()))
    assume(all(any(label is not None and label >= 0 for label in labels) for labels in case.labels))

    expected = peer_libraries.mean("pytrec_eval-terrier", case, theirs, judged_docs_only_flag=True)
    ours = mean_of_run(case, ours, "trec_eval_9(unjudged=removed)")
    assert ours == pytest.approx(expected, rel=1e-12, abs=1e-12)


RANX = [
    ("ndcg", "nDCG"), ("ndcg@3", "nDCG@3"), ("ndcg_burges@3", "nDCG(gain=exp2)@3"), ("dcg@3", "DCG@3"), ("map", "AP"),
    ("map@3", "AP@3"), ("mrr", "RR"), ("mrr@3", "RR@3"), ("precision@3", "P@3"), ("recall@3", "R@3"), ("f1@3", "F@3"),
    ("hit_rate@3", "Success@3"), ("r-precision", "Rprec"), ("ndcg@3-l2", "nDCG(rel=2)@3"), ("map-l2", "AP(rel=2)"),
    ("rbp.95", "RBP(p=0.95,gain=linear)"), ("hits", "num_rel_ret"),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours"), RANX, ids=str)
@examples(25)
@given(case=cases(st.sampled_from([None, 0, 0, 1, 2, 3]), unretrieved=True))
def test_live_ranx_values(theirs, ours, case):
    """Metrics equal ranx's values, with ties and with unjudged and missing documents."""
    assume(all(case.qrels.values()))

    assert mean_of_run(case, ours, "ranx") == pytest.approx(
        peer_libraries.mean("ranx", case, theirs), rel=1e-9, abs=1e-12
    )


IR_MEASURES = [
    ("nDCG@3", "nDCG@3", "trec_eval_9_c"), ("AP", "AP", "trec_eval_9_c"),
    ("AP(rel=2)@3", "AP(rel=2)@3", "trec_eval_9_c"),
    ("RR", "RR", "trec_eval_9_c"), ("P(rel=2)@3", "P(rel=2)@3", "trec_eval_9_c"), ("R@3", "R@3", "trec_eval_9_c"),
    ("Rprec", "Rprec", "trec_eval_9_c"), ("Success@3", "Success@3", "trec_eval_9_c"),
    ("P(judged_only=True)@3", "P@3", "trec_eval_9_c(unjudged=removed)"),
    ("RR@10", "RR", "ms_marco(ties=id_ascending)"),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours", "convention"), IR_MEASURES, ids=str)
@examples(25)
@given(case=cases(st.sampled_from([None, 0, 0, 1, 2, 3]), unretrieved=True))
def test_ir_measures(theirs, ours, convention, case):
    assume(all(case.qrels.values()))

    assert mean_of_run(case, ours, convention) == pytest.approx(
        peer_libraries.ir_measures(case, theirs), rel=1e-9, abs=1e-12
    )


@examples(40)
@given(case=cases(st.sampled_from([None, 0, 0, 1, 2, 3]), unretrieved=True))
def test_ir_measures_accuracy(case):
    assume(all(case.qrels.values()))
    assume(all(any((label or 0) < 1 for label in labels) for labels in case.labels))

    ours = mean_of_run(case, "AUC", "trec_eval_9_c(pool=retrieved,ties=input,undefined=nan)")
    assert ours == pytest.approx(peer_libraries.ir_measures(case, "Accuracy"), rel=1e-9, abs=1e-12, nan_ok=True)


TORCHMETRICS = [
    ("retrieval_average_precision", {"top_k": 3}, "AP@3"), ("retrieval_average_precision", {}, "AP"),
    ("retrieval_reciprocal_rank", {"top_k": 3}, "RR@3"), ("retrieval_precision", {"top_k": 3}, "P@3"),
    ("retrieval_recall", {"top_k": 3}, "R@3"), ("retrieval_hit_rate", {"top_k": 3}, "Success@3"),
    ("retrieval_r_precision", {}, "Rprec"), ("retrieval_fall_out", {"top_k": 3}, "FallOut@3"),
]  # fmt: skip


@pytest.mark.parametrize("top_k", [3, None])
@examples(60)
@given(case=cases(GRADED))
def test_torchmetrics_ndcg(top_k, case):
    """The nDCG equals torchmetrics' value, which is averaged over ties."""
    metric = fn.Metric("nDCG", top_k)
    theirs = peer_libraries.mean("torchmetrics", case, ("retrieval_normalized_dcg", {"top_k": top_k}))

    assert mean_of_lists(case, metric, "torchmetrics") == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@examples(40)
@given(case=cases(BINARY))
def test_torchmetrics_auroc(case):
    """AUC equals torchmetrics' value, which counts equal scores 0.5 and a query of one class 0."""
    theirs = peer_libraries.mean("torchmetrics", case, ("retrieval_auroc", {}))

    assert mean_of_lists(case, "AUC", "torchmetrics") == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "ours", "convention", "ties"),
    [
        ("multilabel_ranking_average_precision", "LRAP", "torchmetrics(undefined=1)", False),
        ("multilabel_ranking_loss", "RankingLoss", "torchmetrics", False),
        ("multilabel_coverage_error", "CoverageError", "torchmetrics(ties=worst)", True),
    ],
)
@examples(30)
@given(data=st.data())
def test_torchmetrics_of_labels_to_rank(name, ours, convention, ties, data):
    """Metrics of label ranking equal torchmetrics' values of scores between 0 and 1."""
    case = data.draw(cases(BINARY, ties=ties, least=2, positive=True))
    case = case._replace(scores=[[score / 16 for score in scores] for scores in case.scores])

    theirs = peer_libraries.torchmetrics_rows(case, name)
    assert mean_of_lists(case, ours, convention) == pytest.approx(theirs, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(("name", "arguments", "ours"), TORCHMETRICS, ids=str)
@examples(40)
@given(case=cases(BINARY, ties=False, positive=True))
def test_torchmetrics_binary(name, arguments, ours, case):
    """Binary metrics equal torchmetrics' values of distinct scores above 0."""
    theirs = peer_libraries.mean("torchmetrics", case, (name, arguments))

    assert mean_of_lists(case, ours, "torchmetrics") == pytest.approx(theirs, rel=1e-5, abs=1e-6)


RAX = [
    ("ndcg_metric", {"topn": 3}, "nDCG@3", "rax"), ("ndcg_metric", {}, "nDCG", "rax"),
    ("dcg_metric", {"topn": 3, "gain_fn": lambda label: label}, "DCG@3", "rax(gain=linear)"),
    ("ap_metric", {"topn": 3}, "AP@3", "rax"), ("ap_metric", {}, "AP", "rax"),
    ("mrr_metric", {"topn": 3}, "RR@3", "rax"), ("precision_metric", {"topn": 3}, "P@3", "rax"),
    ("recall_metric", {"topn": 3}, "R@3", "rax"), ("opa_metric", {}, "OPA", "rax(ties=worst)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "arguments", "ours", "convention"), RAX, ids=[one[2] for one in RAX])
@examples(15)
@given(case=cases(GRADED))
def test_live_rax_values(name, arguments, ours, convention, case):
    theirs = peer_libraries.mean("rax", case, (name, arguments))

    assert mean_of_lists(case, ours, convention) == pytest.approx(theirs, rel=1e-5, abs=1e-6)


LIGHTGBM = [
    ("ndcg", {}, "nDCG@3", "lightgbm"),
    ("ndcg", {"label_gain": "0,1,2,3,4"}, "nDCG@3", "lightgbm(gain=[0,1,2,3,4])"),
    ("map", {}, "AP@3", "lightgbm"),
]


@pytest.mark.parametrize(("name", "parameters", "ours", "convention"), LIGHTGBM, ids=str)
@examples(40)
@given(data=st.data())
def test_live_lightgbm_values(name, parameters, ours, convention, data):
    weighted = data.draw(st.booleans())
    case = data.draw(cases(GRADED, weighted=weighted, all_relevant=weighted))

    theirs = peer_libraries.mean("LightGBM", case, (name, parameters))

    assert mean_of_lists(case, ours, convention) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


XGBOOST = [
    ("ndcg@3", {}, "nDCG@3", "xgboost", GRADED), ("ndcg", {}, "nDCG", "xgboost", GRADED),
    ("ndcg@3-", {}, "nDCG@3", "xgboost_minus", GRADED),
    ("ndcg@3", {"ndcg_exp_gain": False}, "nDCG@3", "xgboost(gain=linear)", GRADED),
    ("map@3", {}, "AP@3", "xgboost", BINARY), ("map", {}, "AP", "xgboost", BINARY),
    ("map@3-", {}, "AP@3", "xgboost_minus", BINARY), ("pre@3", {}, "P@3", "xgboost", BINARY),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters", "ours", "convention", "labels"), XGBOOST, ids=str)
@examples(40)
@given(data=st.data())
def test_live_xgboost_values(name, parameters, ours, convention, labels, data):
    """Metrics of XGBoost's initial margin equal XGBoost's. Weighted queries all have a relevant document."""
    weighted = data.draw(st.booleans())
    case = data.draw(cases(labels, weighted=weighted, all_relevant=weighted))

    theirs = peer_libraries.mean("XGBoost", case, (name, parameters))

    assert mean_of_lists(case, ours, convention) == pytest.approx(theirs, rel=1e-6, abs=1e-6)


def test_lightgbm_gains_that_fall():
    """The nDCG is 1 if a higher label gains less. LightGBM's nDCG exceeds 1, because its ideal order is by label."""
    case = Case([[2, 1]], [[1.0, 2.0]], [1.0], [[]])
    theirs = peer_libraries.mean("LightGBM", case, ("ndcg", {"label_gain": "0,5,2"}))
    best_by_label, reached = 2 + 5 / np.log2(3), 5 + 2 / np.log2(3)

    assert theirs == pytest.approx(reached / best_by_label, rel=1e-9)
    assert mean_of_lists(case, "nDCG@3", "lightgbm(gain=[0,5,2])") == 1


@pytest.mark.parametrize("place", [31, 32, 33, 39])
def test_xgboost_counts_32_ranks_without_a_cutoff(place):
    """Metrics without a cutoff count only the first 32 ranks under XGBoost's convention."""
    labels = [int(rank == place) for rank in range(1, 41)]
    case = Case([labels], [[float(-rank) for rank in range(40)]], [1.0], [[]])

    for name, metric in (("ndcg", "nDCG"), ("map", "AP"), ("pre", "P")):
        ours = mean_of_lists(case, metric, "xgboost")
        assert ours == pytest.approx(peer_libraries.mean("XGBoost", case, (name, {})), rel=1e-6, abs=1e-9)
        assert (ours > 0) == (place <= 32)


CATBOOST = [
    ("NDCG:top=3", "nDCG@3", "catboost"), ("NDCG", "nDCG", "catboost"),
    ("NDCG:top=3;type=Exp", "nDCG@3", "catboost(gain=exp2)"),
    ("NDCG:top=3;denominator=Position", "nDCG@3", "catboost(discount=1/r)"), ("DCG:top=3", "DCG@3", "catboost"),
    ("MAP:top=3", "AP@3", "catboost"), ("MAP", "AP", "catboost"), ("MRR", "RR", "catboost"),
    ("MRR:top=3", "RR@3", "catboost"), ("PrecisionAt:top=3", "P@3", "catboost"), ("RecallAt:top=3", "R@3", "catboost"),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours", "convention"), CATBOOST, ids=str)
@examples(40)
@given(data=st.data())
def test_live_catboost_values(theirs, ours, convention, data):
    case = data.draw(cases(GRADED, weighted="NDCG" in theirs))

    assert mean_of_lists(case, ours, convention) == pytest.approx(
        peer_libraries.mean("CatBoost", case, theirs), rel=1e-6, abs=1e-6
    )


CATBOOST_OF_CHANCES = [
    ("ERR:top=3", "ERR(stop=labels)@3", "catboost"), ("ERR", "ERR(stop=labels)", "catboost"),
    ("PFound", "PFound(stop=labels)", "catboost"),
    ("PFound:top=3;decay=0.5", "PFound(stop=labels,decay=0.5)@3", "catboost"),
]  # fmt: skip


@pytest.mark.parametrize(("theirs", "ours", "convention"), CATBOOST_OF_CHANCES, ids=str)
@examples(40)
@given(case=cases(st.sampled_from([0, 0.25, 0.5, 1])))
def test_catboost_of_chances(theirs, ours, convention, case):
    """ERR and PFound with labels as chances to stop equal CatBoost's values."""
    assert mean_of_lists(case, ours, convention) == pytest.approx(
        peer_libraries.mean("CatBoost", case, theirs), rel=1e-6, abs=1e-6
    )


@pytest.mark.parametrize(
    ("theirs", "ours", "labels"), [("QueryAUC:type=Classic", "AUC", BINARY), ("QueryAUC:type=Ranking", "OPA", GRADED)]
)
@examples(40)
@given(data=st.data())
def test_catboost_auc(theirs, ours, labels, data):
    """AUC of two classes and OPA of grades equal CatBoost's values. Equal scores count 0.5, and one class counts 0."""
    case = data.draw(cases(labels))
    convention = "catboost(ties=average,undefined=0)"

    assert mean_of_lists(case, ours, convention) == pytest.approx(
        peer_libraries.mean("CatBoost", case, theirs), rel=1e-6, abs=1e-6
    )
