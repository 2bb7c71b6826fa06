"""
Record values of PyKEEN's evaluators for `tests/peers/test_recorded_factors.py`.

Run it where PyKEEN is installed, and again when it changes:

    pip install numpy pykeen && python tests/data/peers/record_pykeen.py
"""

import json
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "helpers"))

import link_prediction_cases  # noqa: E402
import torch  # noqa: E402
from pykeen.evaluation import MacroRankBasedEvaluator, RankBasedEvaluator  # noqa: E402
from pykeen.evaluation.evaluator import create_sparse_positive_filter_, filter_scores_  # noqa: E402

PATH = Path(__file__).resolve().parent / "pykeen.json"
PACKAGES = ("pykeen", "torch")
METRICS = (
    "arithmetic_mean_rank",
    "geometric_mean_rank",
    "harmonic_mean_rank",
    "inverse_harmonic_mean_rank",
    "median_rank",
    "adjusted_arithmetic_mean_rank",
    "adjusted_arithmetic_mean_rank_index",
    "adjusted_inverse_harmonic_mean_rank",
    *(f"hits_at_{k}" for k in link_prediction_cases.CUTOFFS),
)
KINDS = ("optimistic", "realistic", "pessimistic")
BATCH = 16


def main() -> None:
    """Write the values with the versions of the libraries."""
    is_true, scores = link_prediction_cases.draw_case()
    record = {
        "command": "python tests/data/peers/record_pykeen.py",
        "versions": {name: version(name) for name in PACKAGES},
        "filtered": evaluate(RankBasedEvaluator, is_true, scores, is_filtered=True),
        "raw": evaluate(RankBasedEvaluator, is_true, scores, is_filtered=False),
        "macro": evaluate(MacroRankBasedEvaluator, is_true, scores, is_filtered=True),
    }
    PATH.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def evaluate(make, is_true, scores, *, is_filtered):
    """Return the metrics of all true triples, by the kind of rank."""
    values = rank(make(filtered=is_filtered), is_true, scores)
    by_kind = {kind: {name: values[f"tail.{kind}.{name}"] for name in METRICS} for kind in KINDS}
    for k in link_prediction_cases.CUTOFFS:  # one name for all cutoffs: one evaluator for each
        choices = {"metrics": ["adjusted_hits_at_k"], "metrics_kwargs": [{"k": k}], "add_defaults": False}
        values = rank(make(filtered=is_filtered, **choices), is_true, scores)
        for kind in KINDS:
            by_kind[kind][f"adjusted_hits_at_{k}"] = values[f"tail.{kind}.adjusted_hits_at_k"]
    return by_kind


def rank(evaluator, is_true, scores):
    """Rank all true triples, and return the evaluator's values by name."""
    heads, tails = map(torch.as_tensor, is_true.nonzero())
    triples = torch.stack([heads, torch.zeros_like(heads), tails], dim=1)
    for batch in triples.split(BATCH):
        batch_scores = torch.as_tensor(scores)[batch[:, 0]]
        true_scores = batch_scores.gather(1, batch[:, 2:])
        if evaluator.filtered:
            positives, _ = create_sparse_positive_filter_(batch, triples, relation_filter=None, filter_col=2)
            batch_scores = filter_scores_(batch_scores.clone(), positives)
            batch_scores.scatter_(1, batch[:, 2:], true_scores)
        evaluator.process_scores_(batch, "tail", batch_scores, true_scores)
    return evaluator.finalize().to_flat_dict()


if __name__ == "__main__":
    main()
