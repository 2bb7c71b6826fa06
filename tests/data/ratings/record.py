"""
Draw ratings, train factors by implicit, and record evaluations, in tests/data/ratings.

Run it where these libraries are installed, and again when they change:

    pip install implicit rectools lenskit && python tests/data/ratings/record.py
"""

import gzip
import json
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
import rating_cases  # noqa: E402
from implicit.als import AlternatingLeastSquares  # noqa: E402
from implicit.evaluation import ranking_metrics_at_k  # noqa: E402
from lenskit.data import ItemList  # noqa: E402
from lenskit.metrics import ranking  # noqa: E402
from rectools import metrics as rectools_metrics  # noqa: E402
from rectools.models.rank import Distance, ImplicitRanker  # noqa: E402

FOLDER = Path(__file__).resolve().parent
RATINGS = FOLDER / "ratings.csv.gz"
N_USERS = 400
N_ITEMS = 500
N_TRAITS = 4
PACKAGES = ("implicit", "rectools", "lenskit")
K = rating_cases.K
RECTOOLS = ("NDCG", "MAP", "Precision", "Recall", "MRR", "HitRate")
LENSKIT = ("NDCG", "AveragePrecision", "Precision", "Recall", "RecipRank", "Hit")


def main() -> None:
    """Write ratings, factors, and values with the versions of the libraries."""
    draw_ratings()
    case = rating_cases.read_case(RATINGS)
    model = AlternatingLeastSquares(factors=8, iterations=10, num_threads=1, random_state=0)
    model.fit(case.train, show_progress=False)
    users, items = (np.asarray(factors).astype("f2") for factors in (model.user_factors, model.item_factors))
    model.user_factors = users.astype("f4")
    model.item_factors = items.astype("f4")
    np.savez_compressed(FOLDER / "factors.npz", users=users, items=items)
    record = {
        "command": "python tests/data/ratings/record.py",
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
    (FOLDER / "recorded.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def draw_ratings():
    """Write ratings from 0.5 to 5 of items that users choose by popularity and taste."""
    random = np.random.default_rng(20261126)
    users, items = (random.normal(size=(n, N_TRAITS)) for n in (N_USERS, N_ITEMS))
    taste = users @ items.T / 2
    appeal = taste / 2 + random.gumbel(size=taste.shape) - np.log(np.arange(1, N_ITEMS + 1))
    sizes = np.clip(random.lognormal(3.6, 0.7, N_USERS).astype(int), 15, 250)
    rows = ["userId,itemId,rating\n"]
    for u, size in enumerate(sizes):
        for i in np.sort(np.argsort(-appeal[u])[:size]):
            rating = np.clip(round(2 * (3.4 + taste[u, i] + random.normal(scale=0.6))) / 2, 0.5, 5)
            rows.append(f"{u + 1},{i + 1},{rating}\n")
    RATINGS.parent.mkdir(parents=True, exist_ok=True)
    RATINGS.write_bytes(gzip.compress("".join(rows).encode(), mtime=0))


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
