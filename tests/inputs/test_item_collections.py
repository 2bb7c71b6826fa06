"""LensKit's collections of item lists, read through their `to_df()`: a stand-in, and LensKit itself."""

import functools
import re

import numpy as np
import peer_libraries
import pytest

import fastndcg as fn

library = functools.partial(peer_libraries.library, extra="recommenders")
METRICS = "ndcg@10,map,rr,recall"


class Collection:
    def __init__(self, columns, fields=("user_id",)):
        self.key_fields = fields
        self._columns = columns

    def to_df(self):
        return pytest.importorskip("pandas").DataFrame(self._columns)


def test_collections_give_the_values_of_dicts():
    relevant = {1: {10: 3.0, 11: 1.0}, 2: {10: 2.0}}
    truth = Collection({"user_id": [1, 1, 2], "item_id": [10, 11, 10], "rating": [3.0, 1.0, 2.0], "rank": [1, 2, 1]})
    ids = {"user_id": [1, 1, 1, 2, 2], "item_id": [12, 10, 11, 10, 13]}
    ranks, scores = [1, 2, 3, 1, 2], [1.0, 2.0, 3.0, 1.0, 2.0]
    for fields, values in (
        ({"rank": ranks}, [-1, -2, -3, -1, -2]),
        ({"rank": ranks, "score": scores}, [-1, -2, -3, -1, -2]),
        ({"rank": [np.nan] * 5, "score": scores}, scores),
    ):
        run = {1: {}, 2: {}}
        for user, item, value in zip(*ids.values(), values, strict=True):
            run[user][item] = value
        expected = fn.evaluate(relevant, run, METRICS).to_dict()
        assert fn.evaluate(truth, Collection(ids | fields), METRICS).to_dict() == expected
        assert fn.evaluate(relevant, Collection(ids | fields), METRICS).to_dict() == expected


def test_keys_of_two_fields_are_refused():
    with pytest.raises(fn.InvalidInputError, match=re.escape("of one field, the user or query, but has 'user_id'")):
        fn.evaluate(Collection({}, ("user_id", "fold")), {1: [2]}, "rr")


@pytest.mark.peers
def test_lenskit_collections_give_its_values():
    data, ranking = library("lenskit.data"), library("lenskit.metrics.ranking")
    random = np.random.default_rng(4)
    items = [f"i{number}" for number in range(30)]
    liked, recommended = data.ItemListCollection(["user_id"]), data.ItemListCollection(["user_id"])
    for user in range(40):
        ratings = random.integers(1, 6, 5).astype(float)
        liked.add(data.ItemList(random.choice(items, 5, replace=False), rating=ratings), user)
        scores = random.random(8).round(1)
        recommended.add(data.ItemList(random.choice(items, 8, replace=False), scores=scores, ordered=True), user)
    result = fn.evaluate(liked, recommended, "nDCG@5,RR@5,R@5", convention="lenskit")
    pairs = [(recommended.lookup(user_id=user), liked.lookup(user_id=user)) for user in range(40)]
    for name, metric in (("NDCG", "nDCG@5"), ("RecipRank", "RR@5"), ("Recall", "R@5")):
        theirs = [getattr(ranking, name)(5).measure_list(*pair) for pair in pairs]
        assert result[metric] == pytest.approx(theirs, rel=1e-6, abs=1e-12)
    run = recommended.to_df()
    frames = fn.evaluate(liked.to_df(), run.assign(score=-run["rank"]), METRICS)
    assert fn.evaluate(liked, recommended, METRICS).values.tobytes() == frames.values.tobytes()
