"""
fastndcg: the fastest and most trustworthy ranking metrics in Python.

>>> import fastndcg as fn
>>> fn.ndcg([3, 2, 3, 0, 1], [0.5, 0.4, 0.3, 0.2, 0.1], [0, 5]).round(5)
array([0.97236])
>>> fn.evaluate([[1, 0], [0, 1]], [[0.2, 0.1], [0.2, 0.1]], [fn.nDCG @ 10, "rr"]).mean()
{'nDCG@10': 0.8154648767857288, 'RR': 0.75}
"""

from typing import Any

from fastndcg.runtime.imports import load, load_submodules

# generated: python scripts/make_stub.py
_METRICS = (
    "AP", "AP_IA", "AUC", "BPM", "CG", "ClassificationAccuracy", "Compat", "CoverageError", "DCG", "ERR", "ERR_IA", "F",
    "FallOut", "G", "GAUC", "IAP", "IDCG", "INST", "IPrec", "Judged", "LRAP", "NRBP", "OPA", "P", "PFound", "P_IA",
    "PatR", "Q", "R", "RBP", "RBP_resid", "RR", "Rank", "RankingLoss", "RelP", "Rndcg", "Rprec", "S_recall", "SetAP",
    "Success", "TBG", "Unjudged", "Utility", "all_evidence", "alpha_DCG", "alpha_nDCG", "binG", "bpref", "chance_RR",
    "chance_Rank", "chance_Success", "infAP", "nDCG", "nDCG_rel", "nERR", "nERR_IA", "nNRBP", "nugget_recall",
    "num_nonrel_judged_ret", "num_rel", "num_rel_ret", "num_ret", "pAUC",
)  # fmt: skip
_PUBLIC = {
    "discovery": ["list_conventions", "list_fusion_methods", "list_metrics"],
    "errors": [
        "FastndcgError", "InvalidInputError", "InvalidTypeError", "MissingPackageError", "RegisteredMetricError",
        "UndefinedMetricError", "UnknownConventionError", "UnknownFusionError", "UnknownMetricError",
    ],
    "evaluation": ["Evaluator", "evaluate"],
    "explaining": ["Explanation", "explain"],
    "functions": [
        "average_precision", "dcg", "f_score", "ndcg", "precision", "r_precision", "recall", "reciprocal_rank",
        "success",
    ],
    "fusion.conventions": ["FusionConvention", "fusion_conventions"],
    "fusion.fuse": ["FusedRun", "fuse"],
    "fusion.tuning.tune": ["tune_fusion"],
    "fusion.tuning.result": ["FusionCurve", "TunedFusion"],
    "inputs.diversity": ["DiversityQrels"],
    "inputs.table": ["Qrels", "Run"],
    "inputs.interactions": ["Interactions", "Recommendations"],
    "inputs.formats": ["read_qrels", "read_run"],
    "installation": ["show_versions", "warmup"],
    "link_prediction": ["evaluate_pairs"],
    "metrics.families": ["CATALOG", "Parameter"],
    "metrics.custom": ["register"],
    "metrics.metric": ["Metric", *_METRICS],
    "named_conventions": ["Convention", "conventions"],
    "rank_agreement": ["Agreement", "agreement"],
    "rankings.rankings": ["Rankings"],
    "recommended_items": ["BeyondAccuracy", "beyond_accuracy"],
    "reference": ["reference"],
    "results.results": ["PairResults", "Results", "load_result"],
    "scoring.embeddings": ["Embeddings", "TopItems"],
    "scoring.scorer": ["Scorer"],
    "span_retrieval": ["SpanResults", "evaluate_spans"],
    "statistics.compare": ["compare"],
    "statistics.comparison": ["Comparison"],
    "statistics.gate": ["Gate", "gate"],
    "statistics.leaderboard": ["Leaderboard", "leaderboard"],
    "statistics.planning": ["Audit", "Plan", "audit", "plan"],
    "streaming": ["StreamingEvaluator", "Summary"],
}  # fmt: skip
_load_submodule = load_submodules(__name__)
_PLACES = {name: place for place, names in _PUBLIC.items() for name in names}

__all__ = sorted(_PLACES)
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Return a public name when it is first used, so that importing the package costs nothing."""
    if name not in _PLACES or _PLACES[name] == name:
        return _load_submodule(name)
    value = globals()[name] = getattr(load(f"{__name__}.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
