"""Ratings with factors that implicit trained: the values of implicit, RecTools and LensKit."""

import json

import numpy as np
import pytest
import rating_cases
from recorded_data import DATA, RATINGS

import fastndcg as fn

RECORD = json.loads((DATA / "ratings" / "recorded.json").read_text(encoding="utf-8"))
K = rating_cases.K
METRICS = {
    "implicit": {"precision": f"P@{K}", "map": f"AP@{K}", "ndcg": f"nDCG@{K}"},
    "rectools": {
        "NDCG": f"nDCG@{K}", "MAP": f"AP@{K}", "Precision": f"P@{K}", "Recall": f"R@{K}", "MRR": f"RR@{K}",
        "HitRate": f"Success@{K}",
    },
    "lenskit": {
        "NDCG": f"nDCG@{K}", "AveragePrecision": f"AP@{K}", "Precision": f"P@{K}", "Recall": f"R@{K}",
        "RecipRank": f"RR@{K}", "Hit": f"Success@{K}",
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def case():
    factors = np.load(DATA / "ratings" / "factors.npz")
    return rating_cases.read_case(RATINGS), factors["users"], factors["items"]


@pytest.mark.parametrize("dtype", ["f2", "f4"])
@pytest.mark.parametrize("library", METRICS)
def test_embeddings_equal_the_library(case, library, dtype):
    (train, test), users, items = case
    model = fn.Embeddings(users.astype(dtype), items.astype(dtype))
    convention = fn.conventions[library].replace(no_relevant="skipped")
    result = fn.evaluate(test, model, list(METRICS[library].values()), exclude=train, convention=convention)
    assert dict(zip(METRICS[library], result.means(), strict=True)) == pytest.approx(
        {name: RECORD[library][name] for name in METRICS[library]}, rel=1e-6
    )
    n_without = int((np.diff(test.indptr) == 0).sum())
    assert result.notes[-1:] == (f"users without truth, with the values of the convention: {n_without}",)


def test_best_items_equal_ranks(case):
    (train, test), users, items = case
    users, items = users.astype("f4"), items.astype("f4")
    model = fn.Embeddings(users, items)
    scorer = fn.Scorer(lambda span: users[span] @ items.T, n_items=len(items))
    metrics = f"ndcg@{K}, recall@{K}, rr@{K}"
    convention = "default(no_relevant=skipped)"
    counted = fn.evaluate(test, model, metrics, exclude=train, convention=convention)
    lists = fn.evaluate(test, model.top(K, exclude=train), metrics, convention=convention)
    np.testing.assert_allclose(lists.values, counted.values, rtol=1e-12)
    scored = fn.evaluate(test, scorer, metrics, exclude=train, convention=convention)
    np.testing.assert_allclose(scored.values, counted.values, rtol=1e-12)
