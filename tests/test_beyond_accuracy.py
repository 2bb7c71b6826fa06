"""Recommended items beyond accuracy: the reference, a plain pandas way, every form of input, and what is refused."""

import operator
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused, refuses
from strategies import examples

import fastndcg as fn
from fastndcg import recommended_items
from fastndcg.recommenders import item_data as reading

sparse = pytest.importorskip("scipy.sparse")

OF_USERS = (
    "popularity,popularity@2,novelty,novelty(share_of=interactions)@3,tail,tail(head=0.5)@2,tail(items=0.29),"
    "ILD,ILD@2,ILD(distance=jaccard)@3,ILD(distance=hamming),serendipity@2,serendipity(rel=2)"
)
OF_ALL = "coverage,coverage@1,gini,gini@2,entropy,entropy@1,personalisation,personalisation@2"
ALL = f"{OF_USERS},{OF_ALL}"


@st.composite
def recommendations(draw):
    """Padded lists of different items, and what is known of the items and the users."""
    n_items, n_users, width = draw(st.integers(1, 8)), draw(st.integers(1, 6)), draw(st.integers(1, 8))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    lists = np.full((n_users, width), -1)
    for row in lists:
        n = generator.integers(0, min(n_items, width) + 1)
        row[:n] = generator.permutation(n_items)[:n]
    return lists, {
        "popularity": generator.integers(1, draw(st.integers(2, 9)), n_items),
        "n_users": 9,
        "vectors": generator.normal(size=(n_items, 3)) * 10.0 ** generator.integers(-200, 200, (n_items, 1)),
        "categories": generator.integers(0, 2, (n_items, draw(st.sampled_from([1, 3, 70])))),
        "liked": sparse.csr_matrix(generator.integers(0, 3, (n_users, n_items))),
    }


def table(result):
    return np.stack([np.broadcast_to(result[metric], len(result)) for metric in result.metrics], axis=1)


@examples(150)
@given(case=recommendations())
def test_equals_reference(case):
    lists, known = case
    result = fn.beyond_accuracy(lists, ALL, **known)
    np.testing.assert_allclose(table(result), fn.reference.beyond_accuracy(lists, ALL, **known), rtol=1e-12, atol=1e-14)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recommended_items, "CHUNK_ITEMS", 2)
        patch.setattr(reading, "SPAN", 2)
        again = fn.beyond_accuracy(lists, ALL, threads=2, **known)
    assert table(again).tobytes() == table(result).tobytes()


@examples(60)
@given(case=recommendations())
def test_texts_are_items_like_their_numbers(case):
    """Items known by texts, in dicts in any order, give the values of arrays."""
    lists, known = case
    users = np.flatnonzero(lists[:, 0] >= 0)  # a user without items is not in a run
    liked = known["liked"].toarray()
    arrays = fn.beyond_accuracy(lists[users], ALL, **known | {"liked": sparse.csr_matrix(liked[users])})
    items = [f"item {number}" for number in range(len(known["popularity"]))]
    texts = {
        "popularity": dict(zip(items[::-1], known["popularity"][::-1].tolist(), strict=True)),
        "vectors": dict(zip(items, known["vectors"], strict=True)),
        "categories": dict(zip(items, known["categories"], strict=True)),
        "liked": {f"u{user}": dict(zip(items, liked[user].tolist(), strict=True)) for user in range(len(liked))},
        "n_users": 9,
    }
    rows = {f"u{user}": [items[number] for number in lists[user] if number >= 0] for user in users.tolist()}
    if rows:
        found = fn.beyond_accuracy(rows, ALL, **texts)
        assert found.query_ids.tolist() == list(rows)
        np.testing.assert_allclose(table(found), table(arrays), rtol=1e-12)


def test_forms_of_texts():
    counts = {"b": 2, "a": 2, "c": 1}
    expected = fn.beyond_accuracy([[0, 1], [2, 0]], "coverage, novelty@1", popularity=[2, 2, 1], n_users=3).means()
    known = {"x": ["b", "a"], "y": ["b", "a"], "z": ["c"]}
    frame = pytest.importorskip("pandas").DataFrame({"user": [1, 1, 2, 2], "item": list("abca"), "rank": [1, 2, 1, 2]})
    for recommended in ([["a", "b"], ["c", "a"]], {1: ["a", "b"], 2: ["c", "a"]}, frame):
        assert fn.beyond_accuracy(recommended, "coverage, novelty@1", popularity=counts, n_users=3).means() == expected
        assert fn.beyond_accuracy(recommended, "coverage, novelty@1", interactions=known).means() == expected
    for wrong, message in (
        ({"popularity": [2, 2, 1]}, "`popularity` must be {item: value} where items are texts. Give a dict"),
        ({"popularity": {"a": 1, "b": 1}},
            "`recommended` must hold items that `popularity` has, but place 0 of user 1 is"),
        ({"popularity": counts, "vectors": {"a": [1]}}, "`vectors` must have each item, but lacks 'b'. Add it"),
        ({"interactions": fn.Interactions([0, 1], offsets=[0, 2])},
            "`interactions` must have texts as items, as others"),
    ):  # fmt: skip
        refused(f"^{re.escape(message)}", fn.beyond_accuracy, [["a", "b"], ["c", "a"]], "coverage", **wrong)


def test_models_and_items_beyond_the_numbers_are_refused():
    model = fn.Embeddings([[1.0]], [[2.0], [3.0]])
    with pytest.raises(fn.InvalidTypeError, match=r"not a model \(Embeddings\). Pass its best items: model.top\(k\)"):
        fn.beyond_accuracy(model, "coverage@1", catalogue=2)
    assert fn.beyond_accuracy(model.top(1), "coverage@1", catalogue=2).mean() == {"coverage@1": 0.5}
    huge = fn.Interactions([0, 1 << 40], [1, 1], [0, 2])
    with pytest.raises(fn.InvalidInputError, match=r"`interactions` must .* but one is 1099511627776"):
        fn.beyond_accuracy([[0, 1]], "coverage", interactions=huge)
    for wrong in (-1, 3):
        items = np.array([0, 1])
        changed = fn.Interactions(items, [1, 1], [0, 2], n_items=3)
        items[1] = wrong
        with pytest.raises(fn.InvalidInputError, match=f"`interactions` .* from 0 to 2, but one is {wrong}"):
            fn.beyond_accuracy([[0, 1]], "coverage", interactions=changed)


POPULARITY = [4, 2, 1, 1]
ROWS = [[0, 1, -1], [2, 0, 3]]


def test_beyond_accuracy_result_table_and_means():
    result = fn.beyond_accuracy(ROWS, "coverage, popularity@2", popularity=POPULARITY, user_ids=["ann", "bob"])
    assert str(result).splitlines() == [
        "metric          mean  users  undefined", "coverage      1.0000    all",
        "popularity@2  2.7500      2          0", "all: one value for all users together",
    ]  # fmt: skip
    assert result.to_dict()["bob"] == {"coverage": pytest.approx(np.nan, nan_ok=True), "popularity@2": 2.5}
    assert result.mean(weights={"ann": 3, "bob": 1}) == {"coverage": 1.0, "popularity@2": (3 * 3 + 2.5) / 4}
    assert result.to_pandas()["popularity@2"].tolist() == [3, 2.5]
    other = fn.beyond_accuracy([[1, 2], [3, 2]], "popularity@2", popularity=POPULARITY, user_ids=["ann", "bob"])
    assert fn.compare({"a": other, "b": fn.beyond_accuracy(ROWS, "popularity@2", popularity=POPULARITY,
                                                           user_ids=["bob", "ann"])}).rows[1].losses == 2  # fmt: skip
    refused("coverage", fn.compare, {"a": result, "b": result})


def test_beyond_accuracy_accepts_every_input_form():
    matrix = sparse.csr_matrix([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0], [2, 0, 0, 1]])
    known = {"vectors": np.eye(4)[:, :3] + 1, "categories": [[1, 0], [1, 1], [0, 1], [0, 0]], "liked": matrix[:2]}
    expected = table(fn.beyond_accuracy(ROWS, ALL, interactions=matrix, **known))
    pa = pytest.importorskip("pyarrow")
    lists = [[item for item in row if item >= 0] for row in ROWS]
    forms = {
        "int32": np.array(ROWS, "i4"), "masked": np.ma.masked_less(ROWS, 0),
        "ragged": pa.array(lists, pa.list_(pa.int64())), "recommendations": fn.Recommendations(ROWS),
    }  # fmt: skip
    for name, rows in forms.items():
        assert table(fn.beyond_accuracy(rows, ALL, interactions=matrix, **known)).tobytes() == expected.tobytes(), name
    counts = {"popularity": POPULARITY, "n_users": 4}
    assert table(fn.beyond_accuracy(ROWS, ALL, **counts, **known)).tobytes() == expected.tobytes()
    liked = fn.Interactions([0, 1, 0, 2], offsets=[0, 2, 4])
    sets = [known["categories"], sparse.csr_matrix(known["categories"]), pa.array([[0], [0, 1], [1], []])]
    for categories in sets:
        other = {**known, "categories": categories, "liked": liked}
        assert table(fn.beyond_accuracy(ROWS, ALL, interactions=matrix, **other)).tobytes() == expected.tobytes()


def test_beyond_accuracy_counts_do_not_overflow():
    lists = np.tile(np.arange(100, dtype="i4"), (50_000, 1))
    result = fn.beyond_accuracy(lists, "personalisation, entropy, gini, coverage", catalogue=100)
    assert result.overall_values[fn.Metric("personalisation")] == 0
    assert result.mean() == {
        "personalisation": 0.0, "entropy": pytest.approx(np.log2(100)), "gini": 0.0, "coverage": 1.0,
    }  # fmt: skip


def beyond(*arguments, **known):
    return lambda: fn.beyond_accuracy(*arguments, **known)


P = {"popularity": POPULARITY}


test_beyond_accuracy_raises_on_wrong_input = refuses(operator.call, [
    (beyond(ROWS), "`metrics` is missing. Name at least one, such as 'coverage@10'"),
    (beyond(ROWS, "ndcg"), "`metrics` must be metrics of beyond_accuracy, but nDCG"),
    (lambda: fn.evaluate(ROWS, ROWS, "coverage"), "`metrics` must be metrics of evaluate, but"),
    (beyond(ROWS, "coverage"), "`catalogue` must be given for coverage, but is missing"),
    (beyond(ROWS, "novelty", **P), "`n_users` or `interactions` must be given for novelty, but is missing"),
    (beyond(ROWS, "tail@2"), "`popularity` or `interactions` must be given for tail@2, but is missing"),
    (beyond(ROWS, "ILD"), "`vectors` must be given for ILD, but is missing"),
    (beyond(ROWS, "ILD(distance=jaccard)"), "`categories` must be given for ILD(distance=jaccard), but is missing"),
    (beyond(ROWS, "serendipity", **P), "`liked` must be given for serendipity, but is missing"),
    (beyond([[0, 4]], "popularity", **P),
        "`recommended` must hold items that `popularity` has, 0 to 3, but place 1 of user 0 is 4"),
    (beyond([[0, 3]], "ILD", vectors=np.eye(3)), "`recommended` must hold items that `vectors` has, 0 to 2, but"),
    (beyond([[0, 9]], "gini", catalogue=9), "`recommended` must hold items that `catalogue` has, 0 to 8, but"),
    (beyond([[0, 1], [2, 2]], "entropy"), "`recommended` must have each item once in a row, but item 2"),
    (beyond([[-1, 2]], "entropy"), "`recommended` must hold items of 0 or more, and -1 behind them only"),
    (beyond([[0.5]], "entropy"), "`recommended` must hold item ids, whole numbers, but its dtype is float64"),
    (beyond([1, 2], "entropy"), "`recommended` must have one row per user, but its shape is (2,)"),
    (beyond([[2**40]], "entropy"), "`recommended` must number items from 0, but one is 1099511627776: number them"),
    (beyond(fn.Recommendations([[1]], duplicates="first"), "entropy"),
        "`recommended` must have each item once in a row. Leave out `duplicates`"),
    (beyond([[1, 0]], "novelty@1", popularity=[3, 0], n_users=3),
        "`popularity` must be above 0 for novelty@1, but that of item 1, which user 0 has, is 0. Leave"),
    (beyond(ROWS, "tail", popularity=[1, -1, 0, 0]), "`popularity` must be finite and 0 or more, but"),
    (beyond(ROWS, "tail", popularity=[1, np.nan]), "`popularity` must be finite and 0 or more, but"),
    (beyond(ROWS, "tail", n_users=3, **P), "`popularity` must be at most `n_users`, 3, but popularity[0] is 4"),
    (beyond(ROWS, "tail", n_users=0, **P), "`n_users` must be a whole number of 1 or more, not 0"),
    (beyond(ROWS, "tail", interactions=sparse.eye(4).tocsr(), **P),
        "`popularity` must be left out where `interactions` are given"),
    (beyond(ROWS, "ILD", vectors=np.zeros((4, 2))), "`vectors` must be finite and not all 0, but that of item 0"),
    (beyond(ROWS, "ILD", vectors=[1, 2]), "`vectors` must have one row per item, but its shape is (2,)"),
    (beyond(ROWS, "ILD(distance=hamming)", categories=[[2]] * 4),
        "`categories` must be 0 or 1, whether an item has one"),
    (beyond(ROWS, "serendipity", liked=[[1]], **P), "`liked` must be a scipy.sparse matrix or Interactions"),
    (beyond(ROWS, "serendipity", liked=sparse.eye(4).tocsr(), **P), "`liked` must have one row per user, 2, but has 4"),
    (beyond(ROWS, "coverage", catalogue=0), "`catalogue` must be a whole number of 1 or more, not 0"),
    (beyond(ROWS, "coverage", catalogue="all"), "`catalogue` must be a whole number of 1 or more, not 'all'"),
    (beyond(ROWS, "entropy", user_ids=["ann"]), "`user_ids` must have length 2 (one per list), but its shape is"),
    (beyond(ROWS, "tail(head=2)", **P), "`head` of tail must be from 0 to 1, not 2"),
    (beyond(ROWS, "entropy", threads=0), "`threads` must be 1 or more, not 0"),
], text="^{}")  # fmt: skip


def test_first_error_is_named_on_all_threads(monkeypatch):
    monkeypatch.setattr(reading, "SPAN", 1)
    rows = np.array([[0, 1], [1, 2], [2, 2], [3, 3], [1, 1]])
    refused(r"item 2 stands again in place 1 of user 2$", fn.beyond_accuracy, rows, "entropy", threads=2)


def test_beyond_accuracy_without_users():
    result = fn.beyond_accuracy(np.empty((0, 3), int), "coverage, gini, entropy, personalisation, popularity", **P)
    assert result["popularity"].shape == (0,)
    assert [float(result[metric]) for metric in ("coverage", "gini", "entropy", "personalisation")] == pytest.approx(
        [0, np.nan, np.nan, np.nan], nan_ok=True
    )
