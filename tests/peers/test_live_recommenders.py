"""Metrics of random lists equal those of the installed recommender libraries, beyond accuracy, too."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import examples

import fastndcg as fn

pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

pytestmark = pytest.mark.peers

K = 3
ITEMS = [f"i{number}" for number in range(9)]
RECTOOLS = [
    ("NDCG", {}, "nDCG@3", "rectools"), ("NDCG", {"divide_by_achievable": True}, "nDCG@3", "rectools(ideal=judged)"),
    ("MAP", {}, "AP@3", "rectools"), ("MAP", {"divide_by_k": True}, "AP@3", "rectools(ap_denominator=k)"),
    ("Precision", {}, "P@3", "rectools"),
    ("Precision", {"r_precision": True}, "P@3", "rectools(precision_denominator=min(k, n_relevant))"),
    ("Recall", {}, "R@3", "rectools"), ("F1Beta", {"beta": 2.0}, "F(beta=2)@3", "rectools"),
    ("MRR", {}, "RR@3", "rectools"), ("HitRate", {}, "Success@3", "rectools"),
]  # fmt: skip
REPLAY = [
    ("NDCG", "nDCG@3"), ("MAP", "AP@3"), ("Precision", "P@3"), ("Recall", "R@3"), ("MRR", "RR@3"),
    ("HitRate", "Success@3"),
]  # fmt: skip
LENSKIT = [
    ("NDCG", "nDCG@3"), ("DCG", "DCG@3"), ("AveragePrecision", "AP@3"), ("Precision", "P@3"), ("Recall", "R@3"),
    ("RecipRank", "RR@3"), ("Hit", "Success@3"), ("RBP", "RBP(p=0.85)@3"),
]  # fmt: skip
IMPLICIT = [("ndcg", "nDCG@3"), ("map", "AP@3"), ("precision", "P@3")]


class Lists(NamedTuple):
    relevant: dict
    recommended: dict

    @property
    def qrels(self):
        return {user: dict.fromkeys(items, 1) for user, items in self.relevant.items()}

    @property
    def run(self):
        return {
            user: {item: float(-rank) for rank, item in enumerate(items)} for user, items in self.recommended.items()
        }


@st.composite
def lists(draw, least=1, most=5):
    users = [f"u{number}" for number in range(draw(st.integers(1, 4)))]
    chosen = st.lists(st.sampled_from(ITEMS), min_size=1, max_size=5, unique=True)
    ranked = st.lists(st.sampled_from(ITEMS), min_size=least, max_size=most, unique=True)
    relevant = {user: draw(chosen) for user in users if draw(st.integers(0, 4)) or user == "u0"}
    recommended = {user: draw(ranked) for user in users if draw(st.integers(0, 4)) or user == "u0"}
    return Lists(relevant, recommended)


def ours(case, metric, convention):
    return fn.evaluate(case.qrels, case.run, metric, convention=convention).means()[0]


@pytest.mark.parametrize(("name", "arguments", "metric", "convention"), RECTOOLS, ids=str)
@examples(30)
@given(case=lists())
def test_live_rectools_values(name, arguments, metric, convention, case):
    metrics = pytest.importorskip("rectools.metrics")
    recommended = [(user, item, rank) for user, items in case.recommended.items() for rank, item in enumerate(items, 1)]
    relevant = [(user, item) for user, items in case.relevant.items() for item in items]
    theirs = getattr(metrics, name)(k=K, **arguments).calc(
        pd.DataFrame(recommended, columns=["user_id", "item_id", "rank"]),
        pd.DataFrame(relevant, columns=["user_id", "item_id"]),
    )
    assert ours(case, metric, convention) == pytest.approx(theirs, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("name", "metric"), REPLAY, ids=str)
@examples(30)
@given(case=lists(), tied=st.booleans())
def test_live_replay_values(name, metric, case, tied):
    metrics = pytest.importorskip("replay.metrics")
    run = {user: dict.fromkeys(items, 0.5) for user, items in case.run.items()} if tied else case.run
    recommended = [(user, item, score) for user, items in run.items() for item, score in items.items()]
    relevant = [(user, item) for user, items in case.relevant.items() for item in items]
    theirs = getattr(metrics, name)(K)(
        pd.DataFrame(recommended, columns=["query_id", "item_id", "rating"]),
        pd.DataFrame(relevant, columns=["query_id", "item_id"]),
    )
    (mean,) = fn.evaluate(case.qrels, run, metric, convention="replay").means()
    assert mean == pytest.approx(theirs[f"{name}@{K}"], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("name", "metric"), LENSKIT, ids=str)
@examples(30)
@given(case=lists())
def test_live_lenskit_values(name, metric, case):
    ranking, data = pytest.importorskip("lenskit.metrics.ranking"), pytest.importorskip("lenskit.data")
    result = fn.evaluate(case.qrels, case.run, metric, convention="lenskit(missing_in_run=skip)")
    for user, value in zip(result.query_ids, result[metric], strict=True):
        recommended = data.ItemList(case.recommended[user], ordered=True)
        theirs = getattr(ranking, name)(K).measure_list(recommended, data.ItemList(case.relevant[user]))
        assert value == pytest.approx(theirs, rel=1e-6, abs=1e-12)


@examples(30)
@given(case=lists())
def test_replay_auc(case):
    metric = pytest.importorskip("replay.metrics").RocAuc(9)
    relevant, recommended = case.relevant["u0"], case.recommended.get("u0", [])
    found = set(relevant) & set(recommended)
    expected = float(found == set(recommended)) if not found or found == set(recommended) else None
    theirs = metric({"u0": [(item, -float(rank)) for rank, item in enumerate(recommended)]}, {"u0": relevant})
    one = Lists({"u0": relevant}, {"u0": recommended})
    if expected is None:
        expected = ours(one, "AUC", "replay(pool=retrieved,ties=input)")
    assert theirs["RocAuc@9"] == pytest.approx(expected, rel=1e-9)


class Listed:
    def __init__(self, ids):
        self.ids = ids

    def recommend(self, users, *_, **__):
        return self.ids[users], np.zeros(self.ids[users].shape, "f4")


@pytest.mark.parametrize(("name", "metric"), IMPLICIT, ids=str)
@examples(30)
@given(case=lists(least=K, most=K))
def test_live_implicit_values(name, metric, case):
    evaluation = pytest.importorskip("implicit.evaluation")
    assume(set(case.relevant) == set(case.recommended))
    users = sorted(case.relevant)
    test = np.array([[float(item in case.relevant[user]) for item in ITEMS] for user in users], "f4")
    ids = np.array([[ITEMS.index(item) for item in case.recommended[user]] for user in users], "i4")
    theirs = evaluation.ranking_metrics_at_k(
        Listed(ids), sparse.csr_matrix(0 * test), sparse.csr_matrix(test), K=K, show_progress=False, num_threads=1
    )
    assert ours(case, metric, "implicit") == pytest.approx(theirs[name], rel=1e-9, abs=1e-12)


def test_implicit_auc_is_noted():
    evaluation = pytest.importorskip("implicit.evaluation")
    test = sparse.csr_matrix(np.array([[1.0, 1, 0, 0, 0, 0, 0, 0, 0]], "f4"))
    theirs = evaluation.ranking_metrics_at_k(
        Listed(np.array([[0, 2, 3]], "i4")), 0 * test, test, K=3, show_progress=False, num_threads=1
    )["auc"]
    # items 0, 2 and 3 are recommended: 0 is above 7 others, the other relevant one is as likely above as below 5
    assert theirs == pytest.approx((7 + 5 / 2) / (2 * 7), rel=1e-6)
    result = fn.evaluate({"u": {"0": 1, "1": 1}}, {"u": {"0": 3, "2": 2, "3": 1}}, "AUC", convention="implicit")
    assert result.values.tolist() == [[1 / 2]]
    assert result.notes[0].startswith("AUC is not Implicit's AUC_at_k")


N_USERS, N_ITEMS, K_BEYOND = 30, 40, 6


@pytest.fixture(scope="module")
def drawn():
    generator = np.random.default_rng(11)
    lists = np.array([generator.permutation(N_ITEMS)[:K_BEYOND] for _ in range(N_USERS)])
    interactions = generator.random((N_USERS, N_ITEMS)) < np.linspace(0.05, 0.9, N_ITEMS)
    interactions[np.arange(N_ITEMS) % N_USERS, np.arange(N_ITEMS)] = True  # no item and no user without any
    interactions[:, 0] |= True
    return lists, interactions, generator.integers(0, 2, (N_ITEMS, 5))


def long(lists):
    users, ranks = np.repeat(np.arange(len(lists)), K_BEYOND), np.tile(np.arange(1, K_BEYOND + 1), len(lists))
    return pd.DataFrame({"user_id": users, "item_id": lists.ravel(), "rank": ranks})


def test_live_rectools_beyond_accuracy(drawn):
    theirs = pytest.importorskip("rectools.metrics")
    from rectools.metrics.distances import PairwiseHammingDistanceCalculator

    lists, interactions, categories = drawn
    users, items = interactions.nonzero()
    before = pd.DataFrame({"user_id": users, "item_id": items})
    metrics = "novelty@4, popularity@4, ILD(distance=hamming)@4, coverage@4"
    ours = fn.beyond_accuracy(
        lists, metrics, interactions=sparse.csr_matrix(interactions), categories=categories, catalogue=N_ITEMS
    )
    distances = PairwiseHammingDistanceCalculator(pd.DataFrame(categories, index=np.arange(N_ITEMS)))
    expected = {
        "novelty@4": theirs.MeanInvUserFreq(k=4).calc_per_user(long(lists), before),
        "popularity@4": theirs.AvgRecPopularity(k=4).calc_per_user(long(lists), before),
        "ILD(distance=hamming)@4": theirs.IntraListDiversity(4, distances).calc_per_user(long(lists)),
    }  # fmt: skip
    for metric, values in expected.items():
        np.testing.assert_allclose(ours[metric], values.sort_index(), rtol=1e-12)
    assert ours["coverage@4"] == theirs.CatalogCoverage(k=4, normalize=True).calc(
        long(lists), catalog=np.arange(N_ITEMS)
    )


def test_live_replay_beyond_accuracy(drawn):
    """Novelty divided by its greatest value equals RePlay's Surprisal. Coverage equals RePlay's Coverage."""
    theirs = pytest.importorskip("replay.metrics")
    lists, interactions, _ = drawn
    recommended = {user: [(item, -rank) for rank, item in enumerate(row)] for user, row in enumerate(lists.tolist())}
    train = {user: np.flatnonzero(row).tolist() for user, row in enumerate(interactions)}
    ours = fn.beyond_accuracy(lists, "novelty@4, coverage@4", interactions=sparse.csr_matrix(interactions))
    surprisal = theirs.Surprisal(4, mode=theirs.PerUser())(recommended, train)["Surprisal-PerUser@4"]
    np.testing.assert_allclose(ours["novelty@4"] / np.log2(N_USERS), [surprisal[u] for u in range(N_USERS)], rtol=1e-12)
    assert ours["coverage@4"] == theirs.Coverage(4)(recommended, train)["Coverage@4"]


def test_live_lenskit_beyond_accuracy(drawn):
    theirs = pytest.importorskip("lenskit.metrics")
    from lenskit.data import ItemList

    lists, *_ = drawn
    metric = theirs.ListGini(4, items=N_ITEMS)
    data = [metric.compute_list_data(ItemList(row, ordered=True), ItemList([])) for row in lists]
    ours = fn.beyond_accuracy(lists, "gini@4", catalogue=N_ITEMS)
    assert ours["gini@4"] == pytest.approx(metric.global_aggregate(data), rel=1e-12)
