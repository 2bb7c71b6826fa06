"""LensKit's collections of item lists: stand-ins with LensKit's methods, and LensKit itself."""

import functools
import re

import numpy as np
import peer_libraries
import pytest
from item_lists import Collection, Items

import fastndcg as fn

library = functools.partial(peer_libraries.library, extra="recommenders")
METRICS = "ndcg@10,map,rr,recall"


RELEVANT = {1: {10: 3.0, 11: 1.0}, 2: {10: 2.0}}
RECOMMENDED = {1: [12, 10, 11], 2: [10, 13]}
TRUTH = Collection({user: Items(list(items), rating=list(items.values())) for user, items in RELEVANT.items()})
SCORES = {user: {item: -rank for rank, item in enumerate(items)} for user, items in RECOMMENDED.items()}
EXPECTED = fn.evaluate(RELEVANT, SCORES, METRICS).to_dict()
RUNS = {
    "ordered lists": Collection({user: Items(items, ordered=True) for user, items in RECOMMENDED.items()}),
    "ordered lists with other scores": Collection(
        {user: Items(items, ordered=True, score=np.arange(len(items))) for user, items in RECOMMENDED.items()}
    ),
    "scores": Collection(
        {user: Items(items[::-1], score=np.arange(len(items))) for user, items in RECOMMENDED.items()}
    ),
    "a dict": SCORES,
    "ranked ids": RECOMMENDED,
}


@pytest.mark.parametrize("run", RUNS)
def test_collections_give_the_values_of_dicts(run):
    """Ordered lists are rankings, other lists are ranked by scores, and ratings are labels."""
    assert fn.evaluate(TRUTH, RUNS[run], METRICS).to_dict() == EXPECTED
    assert fn.evaluate(RELEVANT, RUNS[run], METRICS).to_dict() == EXPECTED
    assert fn.Evaluator(TRUTH, METRICS).evaluate(RUNS[run]).to_dict() == EXPECTED


def test_items_without_labels_are_relevant():
    """Items without a field of labels have the label 1. A field may be named."""
    plain = Collection({user: Items(list(items)) for user, items in RELEVANT.items()})
    binary = {user: dict.fromkeys(items, 1) for user, items in RELEVANT.items()}
    assert fn.evaluate(plain, SCORES, METRICS).to_dict() == fn.evaluate(binary, SCORES, METRICS).to_dict()
    named = Collection({user: Items(list(row), stars=list(row.values())) for user, row in RELEVANT.items()})
    assert fn.evaluate(named, RUNS["scores"], METRICS, columns={"label": "stars"}).to_dict() == EXPECTED


def test_one_list_is_one_query():
    """A list of items in no collection is one query."""
    result = fn.evaluate(Items(["a", "b"]), Items(["c", "a"], ordered=True), "rr")
    assert result.to_dict() == {0: {"RR": 1 / 2}}


def test_users_without_items_are_missing():
    """An empty list counts as an empty dict does."""
    truth = Collection({1: Items(["a"]), 2: Items([]), 3: Items(["a"])})
    run = Collection({1: Items(["a"], ordered=True), 2: Items(["a"], ordered=True), 3: Items([])})
    assert fn.evaluate(truth, run, "rr").to_dict() == {1: {"RR": 1.0}, 3: {"RR": 0.0}}


BAD = {
    "no order": (TRUTH, Collection({1: Items([1, 2])}), "ordered lists of items, or scores, but the list of 1 has"),
    "repeated ids": (
        TRUTH, Collection({7: Items(["a", "b", "a"], ordered=True)}),
        "`predictions`: a document must stand once in a query, but document 'a' of query 7 has places 0 and 2",
    ),
    "no ids": (TRUTH, Collection({1: Items(None, ordered=True)}), "the list of 1 has none: item IDs not available"),
    "two key fields": (Collection({}, ("user_id", "fold")), SCORES, "of one field, the user or query, but has"),
    "two labels": (Collection({1: Items([1], rating=[1], label=[1])}), SCORES, "one field of labels, but has 'label'"),
    "a list without labels": (
        Collection({1: Items([1], rating=[1]), 2: Items([1])}), SCORES, "in each list of items, but the list of 2",
    ),
    "labels that are texts": (Collection({1: Items([1], rating=["x"])}), SCORES, "`labels` must hold numbers"),
    "mixed users": (Collection({1: Items([1]), "2": Items([1])}), SCORES, "ids of queries in `truth` must be all"),
    "fractions as ids": (Collection({1: Items([0.5])}), SCORES, "ids of items in `truth` must be all texts"),
    "NaN": (TRUTH, Collection({1: Items([1], score=[np.nan])}), "score of document 1 of query 1 must not be NaN"),
    "no lists": (Collection({}), SCORES, "must have a query in common, but the qrels have none"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_wrong_collections_raise_an_error(case):
    """The error names the user and what to pass."""
    truth, run, message = BAD[case]
    with pytest.raises(fn.InvalidInputError, match=re.escape(message)):
        fn.evaluate(truth, run, "rr")


@pytest.mark.peers
def test_lenskit_collections_give_its_values():
    """LensKit's own objects, as they are, give the values of LensKit's metrics, and those of its frames to the bit."""
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
