"""Metrics beyond accuracy equal those of the installed recommender libraries on random lists."""

import numpy as np
import pytest

import fastndcg as fn

pd = pytest.importorskip("pandas")
sparse = pytest.importorskip("scipy.sparse")

N_USERS, N_ITEMS, K = 30, 40, 6


@pytest.fixture(scope="module")
def drawn():
    generator = np.random.default_rng(11)
    lists = np.array([generator.permutation(N_ITEMS)[:K] for _ in range(N_USERS)])
    interactions = generator.random((N_USERS, N_ITEMS)) < np.linspace(0.05, 0.9, N_ITEMS)
    interactions[np.arange(N_ITEMS) % N_USERS, np.arange(N_ITEMS)] = True  # no item and no user without any
    interactions[:, 0] |= True
    return lists, interactions, generator.integers(0, 2, (N_ITEMS, 5))


def long(lists):
    users, ranks = np.repeat(np.arange(len(lists)), K), np.tile(np.arange(1, K + 1), len(lists))
    return pd.DataFrame({"user_id": users, "item_id": lists.ravel(), "rank": ranks})


def test_live_rectools_beyond_accuracy(drawn):
    theirs = pytest.importorskip("rectools.metrics", reason="rectools is absent: pip install rectools")
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
    theirs = pytest.importorskip("replay.metrics", reason="replay-rec is absent: pip install replay-rec")
    lists, interactions, _ = drawn
    recommended = {user: [(item, -rank) for rank, item in enumerate(row)] for user, row in enumerate(lists.tolist())}
    train = {user: np.flatnonzero(row).tolist() for user, row in enumerate(interactions)}
    ours = fn.beyond_accuracy(lists, "novelty@4, coverage@4", interactions=sparse.csr_matrix(interactions))
    surprisal = theirs.Surprisal(4, mode=theirs.PerUser())(recommended, train)["Surprisal-PerUser@4"]
    np.testing.assert_allclose(ours["novelty@4"] / np.log2(N_USERS), [surprisal[u] for u in range(N_USERS)], rtol=1e-12)
    assert ours["coverage@4"] == theirs.Coverage(4)(recommended, train)["Coverage@4"]


def test_live_lenskit_beyond_accuracy(drawn):
    theirs = pytest.importorskip("lenskit.metrics", reason="lenskit is absent: pip install lenskit")
    from lenskit.data import ItemList

    lists, *_ = drawn
    metric = theirs.ListGini(4, items=N_ITEMS)
    data = [metric.compute_list_data(ItemList(row, ordered=True), ItemList([])) for row in lists]
    ours = fn.beyond_accuracy(lists, "gini@4", catalogue=N_ITEMS)
    assert ours["gini@4"] == pytest.approx(metric.global_aggregate(data), rel=1e-12)
