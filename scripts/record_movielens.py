"""
Train factors for MovieLens by implicit and record evaluations for `tests/peers/test_recorded_movielens.py`.

Run it where these libraries are installed, and again when they change:

    pip install implicit rectools lenskit && python scripts/record_movielens.py
"""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import movielens_cases  # noqa: E402
import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from implicit.als import AlternatingLeastSquares  # noqa: E402
from implicit.evaluation import ranking_metrics_at_k  # noqa: E402
from lenskit.data import ItemList  # noqa: E402
from lenskit.metrics import ranking  # noqa: E402
from rectools import metrics as rectools_metrics  # noqa: E402
from rectools.models.rank import Distance, ImplicitRanker  # noqa: E402

PATH = ROOT / "tests" / "peers" / "movielens.json"
RATINGS = Path(os.environ.get("FASTNDCG_SHARED", ROOT.parent / "shared")) / "data" / "ml-latest-small" / "ratings.csv"
FACTORS = PATH.with_suffix(".npz")
PACKAGES = ("implicit", "rectools", "lenskit")
K = movielens_cases.K
RECTOOLS = ("NDCG", "MAP", "Precision", "Recall", "MRR", "HitRate")
LENSKIT = ("NDCG", "AveragePrecision", "Precision", "Recall", "RecipRank", "Hit")


def main() -> None:
    """Write factors, and values with the versions of the libraries."""
    case = movielens_cases.read_case(RATINGS)
    model = AlternatingLeastSquares(factors=8, iterations=10, num_threads=1, random_state=0)
    model.fit(case.train, show_progress=False)
    users, items = (np.asarray(factors).astype("f2") for factors in (model.user_factors, model.item_factors))
    model.user_factors = users.astype("f4")
    model.item_factors = items.astype("f4")
    np.savez_compressed(FACTORS, users=users, items=items)
    record = {
        "command": "python scripts/record_movielens.py",
        "versions": {name: version(name) for name in PACKAGES},
        "implicit": {
            name: float(value)
            for name, value in ranking_metrics_at_k(
                model, case.train, case.test, K=K, show_progress=False, num_threads=1
            ).items()
        },
        "rectools": run_rectools(case, model),
        "lenskit": run_lenskit(case, model),
    }
    PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def run_rectools(case, model):
    """Return means over the users with liked items, for lists of RecTools' ranker."""
    ranker = ImplicitRanker(Distance.DOT, model.user_factors, model.item_factors)
    tested = np.flatnonzero(np.diff(case.test.indptr))
    users, items, _ = ranker.rank(tested, k=K, filter_pairs_csr=case.train[tested])
    lists = pd.DataFrame({"user_id": users, "item_id": items})
    lists["rank"] = lists.groupby("user_id").cumcount() + 1
    liked = pd.DataFrame(np.transpose(case.test.nonzero()), columns=["user_id", "item_id"])
    return {name: float(getattr(rectools_metrics, name)(k=K).calc(lists, liked)) for name in RECTOOLS}


def run_lenskit(case, model):
    """Return means over the users with liked items, for lists by falling score."""
    scores = model.user_factors @ model.item_factors.T
    values = {name: [] for name in LENSKIT}
    for user in np.flatnonzero(np.diff(case.test.indptr)):
        row = scores[user].copy()
        row[case.train[user].indices] = -np.inf
        lists = ItemList(np.argsort(-row, kind="stable")[:K], ordered=True)
        liked = ItemList(case.test[user].indices)
        for name in LENSKIT:
            values[name].append(getattr(ranking, name)(K).measure_list(lists, liked))
    return {name: float(np.mean(column)) for name, column in values.items()}


if __name__ == "__main__":
    main()
