"""
Measure where the time of an evaluation of embeddings goes, for the picture of docs/guides/embeddings.md.

Run it on an idle machine: python benchmarks/record_embedding_times.py

Times are the least of several alternations on one thread, in nanoseconds of processor time for each score.
"""

import json
import os
import sys
import time
from pathlib import Path

os.environ |= dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402

import fastndcg as fn  # noqa: E402

PATH = Path(__file__).parent / "embedding_times.json"
N_USERS = 512
N_ITEMS = 50_000
N_LIKED = 10
N_COLUMNS = (64, 128, 768)
BLOCK = 256  # users whose scores NumPy computes at once
METRICS = "ndcg@10, ndcg, recall@10, recall@100, p@10, rr, ap, ap@10, auc, success@10, rprec, rank"
REPEATS = 7


def main() -> None:
    """Write the times."""
    times = {str(n_columns): measure(n_columns) for n_columns in N_COLUMNS}
    record = {"users": N_USERS, "items": N_ITEMS, "relevant": N_LIKED, "nanoseconds": times}
    PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def measure(n_columns: int) -> dict[str, float]:
    """Return the processor time of each way for a score, in nanoseconds."""
    generator = np.random.default_rng(0)
    users, items = (generator.standard_normal((n, n_columns), dtype="f4") for n in (N_USERS, N_ITEMS))
    liked = np.stack([generator.choice(N_ITEMS, N_LIKED, replace=False) for _ in range(N_USERS)])
    truth = fn.Interactions(liked.reshape(-1), offsets=np.arange(N_USERS + 1) * N_LIKED, n_items=N_ITEMS)
    model = fn.Embeddings(users, items)
    blocks = [slice(first, first + BLOCK) for first in range(0, N_USERS, BLOCK)]
    scores = np.empty((BLOCK, N_ITEMS), "f4")

    def multiply() -> None:
        for block in blocks:
            np.matmul(users[block], items.T, out=scores)

    def select() -> None:
        for block in blocks:
            np.matmul(users[block], items.T, out=scores)
            np.argpartition(scores, -10, axis=1)

    ways = {
        "product": multiply,
        "top 10": select,
        "ranks": lambda: fn.evaluate(truth, model, METRICS, threads=1),
    }
    least = dict.fromkeys(ways, float("inf"))
    for _ in range(REPEATS):
        for name, run in ways.items():
            start = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - start)
    return {name: round(seconds * 1e9 / (N_USERS * N_ITEMS), 3) for name, seconds in least.items()}


if __name__ == "__main__":
    main()
