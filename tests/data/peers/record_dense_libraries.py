"""
Record values of BEIR, MTEB and sentence-transformers for `tests/peers/test_dense_libraries.py`.

Run it where these libraries are installed, and again when they change:

    pip install -e '.[all]' --group dense && python tests/data/peers/record_dense_libraries.py
"""

import copy
import json
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import dense_cases  # noqa: E402
import torch  # noqa: E402
from beir.retrieval.evaluation import EvaluateRetrieval  # noqa: E402
from mteb._evaluators import retrieval_metrics  # noqa: E402
from sentence_transformers.sentence_transformer.evaluation import InformationRetrievalEvaluator  # noqa: E402

PATH = Path(__file__).resolve().parent / "dense_libraries.json"
PACKAGES = ("beir", "mteb", "sentence-transformers", "pytrec_eval-terrier", "torch")


def main() -> None:
    """Write the values with the versions of the libraries."""
    qrels, run = dense_cases.draw_run()
    beir = {}
    for values in EvaluateRetrieval.evaluate(qrels, copy.deepcopy(run), dense_cases.CUTOFFS):
        beir |= values
    mteb = retrieval_metrics.calculate_retrieval_scores(run, qrels, dense_cases.CUTOFFS)
    evaluator = InformationRetrievalEvaluator(*dense_cases.draw_texts(), **dense_cases.OPTIONS)
    record = {
        "command": "python tests/data/peers/record_dense_libraries.py",
        "versions": {name: version(name) for name in PACKAGES},
        "beir": beir,
        "mteb": {name: getattr(mteb, name) for name in ("ndcg", "map", "recall", "precision", "hit_rate")},
        "r_cap": retrieval_metrics.recall_cap(qrels, run, dense_cases.CUTOFFS),
        "sentence_transformers": evaluator(dense_cases.StandInModel(torch.as_tensor)),
    }
    PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
