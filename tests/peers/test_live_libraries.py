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
        return [len(labels) for labels in self.labels]

    @property
    def flat_labels(self):
        return np.array([label for labels in self.labels for label in labels], "f8")

    @property
    def flat_scores(self):
        return np.array([score for scores in self.scores for score in scores], "f8")

    @property
    def features(self):
        return np.arange(float(sum(self.sizes)))[:, None]

    @property
    def qrels(self):
        judged = {
            f"q{q}": {f"d{d}": label for d, label in enumerate(labels) if label is not None}
            for q, labels in enumerate(self.labels)
        }
        for q, labels in enumerate(self.unretrieved):
            judged[f"q{q}"] |= {f"x{d}": label for d, label in enumerate(labels)}
        return judged

    @property
    def run(self):
        return {f"q{q}": {f"d{d}": score for d, score in enumerate(scores)} for q, scores in enumerate(self.scores)}


@st.composite
def cases(draw, labels, *, ties=True, least=1, positive=False, weighted=False, unretrieved=False, divisor=1):
    """Draw queries. Weighted "all relevant": either there are no weights, or each query has a relevant document."""
    sizes = draw(st.lists(st.integers(least, 8), min_size=1, max_size=5))
    queries = [draw(st.lists(labels, min_size=n, max_size=n)) for n in sizes]
    if weighted == "all relevant":
        weighted = draw(st.booleans())
        queries = [[1, *query[1:]] for query in queries] if weighted else queries
    lowest = 1 if positive else -3
    score = st.integers(lowest, lowest + 4).map(lambda value: value / 4)
    scores = [
        draw(st.lists(score, min_size=n, max_size=n) if ties else st.permutations(range(1, n + 1))) for n in sizes
    ]
    scores = [[value / divisor for value in query] for query in scores]
    weight = st.sampled_from([0.5, 1.0, 2.0, 3.5]) if weighted else st.just(1.0)
    weights = [draw(weight) for _ in sizes]
    more = [draw(st.lists(labels.filter(lambda label: label is not None), max_size=3)) for _ in sizes]
    return Case(queries, scores, weights, more if unretrieved else [[] for _ in sizes])


BINARY = st.sampled_from([0, 0, 1])
GRADED = st.integers(0, 4)
JUDGED = st.sampled_from([None, 0, 0, 1, 2, 3])
CHANCES = st.sampled_from([0, 0.25, 0.5, 1])


def mean_of_lists(case, metric, convention):
    offsets = np.cumsum([0, *case.sizes])
    result = fn.evaluate(case.flat_labels, case.flat_scores, metric, offsets=offsets, convention=convention)
    return result.means(case.weights)[0]


def mean_of_run(case, metric, convention):
    return fn.evaluate(case.qrels, case.run, metric, convention=convention).means()[0]


def is_judged(case):
    return all(any(label >= 0 for label in labels.values()) for labels in case.qrels.values())


def has_judged_documents(case):
    return all(any(label is not None and label >= 0 for label in labels) for labels in case.labels)


# theirs, ours, and where they differ from the line of `LIVE`: the convention, and options of `cases`
SKLEARN = [
    (("ndcg_score", False), "nDCG@3"), (("dcg_score", False), "DCG@3"),
    (("ndcg_score", True), "nDCG@3", "sklearn_ignore_ties", {"ties": False}),  # the sort is unstable
]  # fmt: skip
SKLEARN_ROWS = [
    (("roc_auc_score", {}), "AUC", "sklearn(undefined=nan)"),
    (("roc_auc_score", {"max_fpr": 0.3}), "pAUC(max_fpr=0.3,scale=mcclish)", "sklearn(undefined=nan)", {"ties": False}),
    (("label_ranking_loss", {}), "RankingLoss"), (("coverage_error", {}), "CoverageError"),
    (("label_ranking_average_precision_score", {}), "LRAP", "sklearn(undefined=1)", {"ties": False}),
]  # fmt: skip
SKLEARN_CURVE = [(0.1, "PatR(recall=0.1)"), (0.5, "PatR(recall=0.5)"), (1, "PatR(recall=1)")]
NTCIREVAL = [
    (("QMeasure", [1, 2, 3, 4], {"beta": 1}), "Q"),
    (("QMeasure", [1, 2, 3, 4], {"beta": 10, "cutoff": 3}), "Q(beta=10)@3"),
    (("ERR", [1, 3, 7, 15], {}), "ERR"), (("nERR", [1, 3, 7, 15], {"cutoff": 3}), "nERR@3"),
]  # fmt: skip
TREC = [
    ("ndcg", "nDCG"), ("ndcg_cut.3", "nDCG@3"), ("map", "AP"), ("map_cut.3", "AP@3"), ("recip_rank", "RR"),
    ("P.3", "P@3"), ("recall.3", "R@3"), ("success.3", "Success@3"), ("Rprec", "Rprec"), ("set_P", "P"),
    ("set_recall", "R"), ("set_F", "F"), ("num_rel", "num_rel"), ("num_rel_ret", "num_rel_ret"), ("num_ret", "num_ret"),
]  # fmt: skip
RANX = [
    ("ndcg", "nDCG"), ("ndcg@3", "nDCG@3"), ("ndcg_burges@3", "nDCG(gain=exp2)@3"), ("dcg@3", "DCG@3"), ("map", "AP"),
    ("map@3", "AP@3"), ("mrr", "RR"), ("mrr@3", "RR@3"), ("precision@3", "P@3"), ("recall@3", "R@3"), ("f1@3", "F@3"),
    ("hit_rate@3", "Success@3"), ("r-precision", "Rprec"), ("ndcg@3-l2", "nDCG(rel=2)@3"), ("map-l2", "AP(rel=2)"),
    ("rbp.95", "RBP(p=0.95,gain=linear)"), ("hits", "num_rel_ret"),
]  # fmt: skip
IR_MEASURES = [
    ("nDCG@3", "nDCG@3"), ("AP", "AP"), ("AP(rel=2)@3", "AP(rel=2)@3"), ("RR", "RR"), ("P(rel=2)@3", "P(rel=2)@3"),
    ("R@3", "R@3"), ("Rprec", "Rprec"), ("Success@3", "Success@3"),
    ("P(judged_only=True)@3", "P@3", "trec_eval_9_c(unjudged=removed)"),
    ("RR@10", "RR", "ms_marco(ties=id_ascending)"),
]  # fmt: skip
ACCURACY = [("Accuracy", "AUC", "trec_eval_9_c(pool=retrieved,ties=input,undefined=nan)")]
TORCHMETRICS = [
    ("retrieval_average_precision", {"top_k": 3}, "AP@3"), ("retrieval_average_precision", {}, "AP"),
    ("retrieval_reciprocal_rank", {"top_k": 3}, "RR@3"), ("retrieval_precision", {"top_k": 3}, "P@3"),
    ("retrieval_recall", {"top_k": 3}, "R@3"), ("retrieval_hit_rate", {"top_k": 3}, "Success@3"),
    ("retrieval_r_precision", {}, "Rprec"), ("retrieval_fall_out", {"top_k": 3}, "FallOut@3"),
]  # fmt: skip
TORCHMETRICS_TIED = [
    (("retrieval_normalized_dcg", {"top_k": 3}), "nDCG@3"), (("retrieval_normalized_dcg", {"top_k": None}), "nDCG"),
    (("retrieval_auroc", {}), "AUC", "torchmetrics", {"labels": BINARY}),
]  # fmt: skip
TORCHMETRICS_ROWS = [
    ("multilabel_ranking_average_precision", "LRAP", "torchmetrics(undefined=1)"),
    ("multilabel_ranking_loss", "RankingLoss"),
    ("multilabel_coverage_error", "CoverageError", "torchmetrics(ties=worst)", {"ties": True}),
]
RAX = [
    (("ndcg_metric", {"topn": 3}), "nDCG@3"), (("ndcg_metric", {}), "nDCG"),
    (("dcg_metric", {"topn": 3, "gain_fn": lambda label: label}), "DCG@3", "rax(gain=linear)"),
    (("ap_metric", {"topn": 3}), "AP@3"), (("ap_metric", {}), "AP"), (("mrr_metric", {"topn": 3}), "RR@3"),
    (("precision_metric", {"topn": 3}), "P@3"), (("recall_metric", {"topn": 3}), "R@3"),
    (("opa_metric", {}), "OPA", "rax(ties=worst)"),
]  # fmt: skip
LIGHTGBM = [
    (("ndcg", {}), "nDCG@3"), (("ndcg", {"label_gain": "0,1,2,3,4"}), "nDCG@3", "lightgbm(gain=[0,1,2,3,4])"),
    (("map", {}), "AP@3"),
]  # fmt: skip
XGBOOST = [
    (("ndcg@3", {}), "nDCG@3"), (("ndcg", {}), "nDCG"), (("ndcg@3-", {}), "nDCG@3", "xgboost_minus"),
    (("ndcg@3", {"ndcg_exp_gain": False}), "nDCG@3", "xgboost(gain=linear)"),
    (("map@3", {}), "AP@3", "xgboost", {"labels": BINARY}), (("map", {}), "AP", "xgboost", {"labels": BINARY}),
    (("map@3-", {}), "AP@3", "xgboost_minus", {"labels": BINARY}),
    (("pre@3", {}), "P@3", "xgboost", {"labels": BINARY}),
]  # fmt: skip
CATBOOST = [
    ("NDCG:top=3", "nDCG@3"), ("NDCG", "nDCG"), ("NDCG:top=3;type=Exp", "nDCG@3", "catboost(gain=exp2)"),
    ("NDCG:top=3;denominator=Position", "nDCG@3", "catboost(discount=1/r)"), ("DCG:top=3", "DCG@3"),
    ("MAP:top=3", "AP@3"), ("MAP", "AP"), ("MRR", "RR"), ("MRR:top=3", "RR@3"), ("PrecisionAt:top=3", "P@3"),
    ("RecallAt:top=3", "R@3"),
    *((theirs, ours, "catboost", {"labels": CHANCES}) for theirs, ours in (
        ("ERR:top=3", "ERR(stop=labels)@3"), ("ERR", "ERR(stop=labels)"), ("PFound", "PFound(stop=labels)"),
        ("PFound:top=3;decay=0.5", "PFound(stop=labels,decay=0.5)@3"),
    )),
    ("QueryAUC:type=Classic", "AUC", "catboost(ties=average,undefined=0)", {"labels": BINARY}),
    ("QueryAUC:type=Ranking", "OPA", "catboost(ties=average,undefined=0)"),
]  # fmt: skip


class Live(NamedTuple):
    """How the values of a table are compared: tolerances, options of `cases`, and which cases are left out."""

    table: list
    convention: str
    theirs: object  # a name in `peer_libraries.PEERS`, or a function of a case and a metric
    rel: float = 1e-12
    abs: float = 1e-12
    options: dict = {}
    takes: object = lambda case: True
    ours: object = mean_of_lists
    n_examples: int = 40

    def mean(self, case, metric):
        if callable(self.theirs):
            return self.theirs(case, metric)
        return peer_libraries.mean(self.theirs, case, metric)


NTCIR = "default(ap_denominator=min(k, n_relevant),no_relevant=skipped)"
WITH_POOL = {"labels": JUDGED, "unretrieved": True}
WITH_NEGATIVE = WITH_POOL | {"labels": st.sampled_from([None, -1, 0, 0, 1, 2, 3])}
DISTINCT = {"labels": BINARY, "ties": False}
LIVE = [
    Live(SKLEARN, "sklearn", "scikit-learn", options={"least": 2, "weighted": True}),
    Live(SKLEARN_ROWS, "sklearn(ties=worst)", peer_libraries.sklearn_rows, options={"labels": BINARY, "least": 2}),
    Live(SKLEARN_CURVE, "default", peer_libraries.sklearn_precision_at_recall, options=DISTINCT),
    Live(NTCIREVAL, NTCIR, peer_libraries.ntcireval, options={"ties": False}),
    Live(TREC, "trec_eval_9", "pytrec_eval-terrier", options=WITH_NEGATIVE, takes=is_judged, ours=mean_of_run),
    Live(
        TREC, "trec_eval_9(unjudged=removed)",
        lambda case, metric: peer_libraries.mean("pytrec_eval-terrier", case, metric, judged_docs_only_flag=True),
        options=WITH_NEGATIVE, takes=lambda case: is_judged(case) and has_judged_documents(case), ours=mean_of_run,
    ),
    Live(RANX, "ranx", "ranx", 1e-9, options=WITH_POOL, takes=is_judged, ours=mean_of_run, n_examples=25),
    Live(
        IR_MEASURES, "trec_eval_9_c", peer_libraries.ir_measures, 1e-9, options=WITH_POOL, takes=is_judged,
        ours=mean_of_run, n_examples=25,
    ),
    Live(
        ACCURACY, "", peer_libraries.ir_measures, 1e-9, options=WITH_POOL, ours=mean_of_run,
        takes=lambda case: is_judged(case) and all(any(not label for label in labels) for labels in case.labels),
    ),
    Live(
        [((name, arguments), ours) for name, arguments, ours in TORCHMETRICS], "torchmetrics", "torchmetrics",
        1e-5, 1e-6, DISTINCT | {"positive": True},
    ),
    Live(TORCHMETRICS_TIED, "torchmetrics", "torchmetrics", 1e-5, 1e-6),
    Live(
        TORCHMETRICS_ROWS, "torchmetrics", peer_libraries.torchmetrics_rows, 1e-5, 1e-6,
        DISTINCT | {"least": 2, "positive": True, "divisor": 16},
    ),
    Live(RAX, "rax", "rax", 1e-5, 1e-6, n_examples=15),
    Live(LIGHTGBM, "lightgbm", "LightGBM", 1e-9, options={"weighted": "all relevant"}),
    Live(XGBOOST, "xgboost", "XGBoost", 1e-6, 1e-6, {"weighted": "all relevant"}),
    Live(CATBOOST, "catboost", "CatBoost", 1e-6, 1e-6),
]  # fmt: skip
CASES = [
    pytest.param(live, theirs, ours, *more, *(live.convention, {})[len(more):],
                 id=f"{live.convention}-{theirs[0] if isinstance(theirs, tuple) else theirs}-{ours}")
    for live in LIVE for theirs, ours, *more in live.table
]  # fmt: skip


@pytest.mark.parametrize(("live", "theirs", "ours", "convention", "own"), CASES)
def test_live_values(live, theirs, ours, convention, own):
    options = {"labels": GRADED, "weighted": str(theirs).startswith("NDCG")} | live.options | own

    @examples(live.n_examples)
    @given(case=cases(**options))
    def check(case):
        assume(live.takes(case))
        expected = pytest.approx(live.mean(case, theirs), rel=live.rel, abs=live.abs, nan_ok=True)
        assert live.ours(case, ours, convention) == expected

    check()


def test_lightgbm_gains_that_fall():
    case = Case([[2, 1]], [[1.0, 2.0]], [1.0], [[]])
    theirs = peer_libraries.mean("LightGBM", case, ("ndcg", {"label_gain": "0,5,2"}))
    best_by_label, reached = 2 + 5 / np.log2(3), 5 + 2 / np.log2(3)
    assert theirs == pytest.approx(reached / best_by_label, rel=1e-9)
    assert mean_of_lists(case, "nDCG@3", "lightgbm(gain=[0,5,2])") == 1


@pytest.mark.parametrize("place", [31, 32, 33, 39])
def test_xgboost_counts_32_ranks_without_a_cutoff(place):
    labels = [int(rank == place) for rank in range(1, 41)]
    case = Case([labels], [[float(-rank) for rank in range(40)]], [1.0], [[]])
    for name, metric in (("ndcg", "nDCG"), ("map", "AP"), ("pre", "P")):
        ours = mean_of_lists(case, metric, "xgboost")
        assert ours == pytest.approx(peer_libraries.mean("XGBoost", case, (name, {})), rel=1e-6, abs=1e-9)
        assert (ours > 0) == (place <= 32)
