"""
Record values of libraries that evaluate factors and embeddings for `tests/peers/test_recorded_factors.py`.

Run it where these libraries are installed, and again when they change:

    pip install recometrics lightfm-next sentence-transformers && python tests/data/peers/record_factors.py
"""

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import factor_cases  # noqa: E402
import numpy as np  # noqa: E402
import recometrics  # noqa: E402
import torch  # noqa: E402
from lightfm import LightFM, evaluation  # noqa: E402
from scipy import sparse  # noqa: E402
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator  # noqa: E402

PATH = Path(__file__).resolve().parent / "factors.json"
PACKAGES = ("recometrics", "lightfm-next", "sentence-transformers", "torch")
SEEDS = 1000


def main() -> None:
    """Write the values with the versions of the libraries."""
    case = factor_cases.draw_case()
    tied_case = factor_cases.draw_tied_case()
    record = {
        "command": "python tests/data/peers/record_factors.py",
        "versions": {name: version(name) for name in PACKAGES},
        "recometrics": run_recometrics(case),
        "recometrics_tied": average_recometrics(tied_case),
        "lightfm": run_lightfm(case),
        "lightfm_tied": run_lightfm(tied_case),
        "sentence_transformers": run_sentence_transformers(case),
        "sentence_transformers_tied": run_sentence_transformers(tied_case),
    }
    PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def run_recometrics(case, **options):
    """Return the values of each user by the metric's name. None means NaN."""
    values = {}
    for k in factor_cases.CUTOFFS:
        frame = recometrics.calc_reco_metrics(
            sparse.csr_matrix(case.is_seen.astype("f8")),
            sparse.csr_matrix(case.labels.astype("f8")),
            case.users.astype("f8"),
            case.items.astype("f8"),
            k=k,
            item_biases=case.item_biases.astype("f8"),
            all_metrics=True,
            nthreads=1,
            **options,
        )
        values |= {name: column.tolist() for name, column in frame.items()}
    return {name: [None if math.isnan(value) else value for value in column] for name, column in values.items()}


def average_recometrics(case):
    """Return the values of each user as means over many orders of equal scores."""
    runs = [run_recometrics(case, seed=seed) for seed in range(1, SEEDS + 1)]
    return {
        name: [
            None if values[0] is None else round(float(np.mean(values)), 6)
            for values in zip(*(run[name] for run in runs), strict=True)
        ]
        for name in runs[0]
    }


def run_lightfm(case):
    """Return the values of each user with relevant items by the metric's name."""
    relevant = sparse.csr_matrix((case.labels > 0).astype("f4"))
    interactions = sparse.csr_matrix(case.is_seen.astype("f4"))
    model = LightFM(no_components=factor_cases.N_DIMENSIONS).fit(relevant.tocoo(), epochs=0)
    model.user_embeddings[:] = case.users
    model.item_embeddings[:] = case.items
    model.user_biases[:] = 0
    model.item_biases[:] = case.item_biases
    values = {"auc_score": evaluation.auc_score(model, relevant, interactions)}
    values["reciprocal_rank"] = evaluation.reciprocal_rank(model, relevant, interactions)
    for k in factor_cases.CUTOFFS:
        values[f"precision_at_k@{k}"] = evaluation.precision_at_k(model, relevant, interactions, k=k)
        values[f"recall_at_k@{k}"] = evaluation.recall_at_k(model, relevant, interactions, k=k)
    return {name: array.tolist() for name, array in values.items()}


class ReadyModel:
    """A model whose embeddings of queries are given."""

    def __init__(self, rows):
        self.rows = rows

    def encode_query(self, texts, **options):
        """Return the embeddings of queries, whose texts are their numbers."""
        return self.rows[[int(text) for text in texts]]


def run_sentence_transformers(case):
    """Return the means over the queries with relevant documents, of which ids have two digits."""
    users = torch.as_tensor(np.column_stack([case.users, np.ones(len(case.users), "f4")]))
    items = torch.as_tensor(np.column_stack([case.items, case.item_biases]))
    evaluator = InformationRetrievalEvaluator(
        {str(user): str(user) for user in range(len(users))},
        {f"{item:02}": "" for item in range(len(items))},
        {str(user): {f"{item:02}" for item in np.flatnonzero(row)} for user, row in enumerate(case.labels)},
        corpus_chunk_size=25,
        score_functions={"dot": lambda first, second: first @ second.T},
        **{f"{name}_at_k": factor_cases.CUTOFFS for name in ("mrr", "ndcg", "accuracy", "precision_recall", "map")},
    )
    (scores,) = evaluator.compute_metrices(ReadyModel(users), corpus_embeddings=items).values()
    return {name.replace("@k", f"@{k}"): value for name, row in scores.items() for k, value in row.items()}


if __name__ == "__main__":
    main()
