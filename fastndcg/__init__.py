"""
fastndcg: the fastest and most trustworthy ranking metrics in Python.

>>> import fastndcg as fn
>>> fn.ndcg([3, 2, 3, 0, 1], [0.5, 0.4, 0.3, 0.2, 0.1], [0, 5]).round(5)
array([0.97236])
>>> fn.evaluate([[1, 0], [0, 1]], [[0.2, 0.1], [0.2, 0.1]], [fn.nDCG @ 10, "rr"]).mean()
{'nDCG@10': 0.8154648767857288, 'RR': 0.75}
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

from fastndcg.runtime.lazy_import import load, load_submodules

# generated: python scripts/make_stub.py
_METRICS = (
    "AP", "AP_IA", "AUC", "BPM", "CG", "ClassificationAccuracy", "Compat", "CoverageError", "DCG", "ERR", "ERR_IA", "F",
    "FallOut", "G", "GAUC", "IAP", "IDCG", "INST", "IPrec", "Judged", "LRAP", "NRBP", "OPA", "P", "PFound", "P_IA",
    "PatR", "Q", "R", "RBP", "RBP_resid", "RR", "Rank", "RankingLoss", "RelP", "Rndcg", "Rprec", "S_recall", "SetAP",
    "Success", "TBG", "Unjudged", "Utility", "alpha_DCG", "alpha_nDCG", "binG", "bpref", "chance_RR", "chance_Rank",
    "chance_Success", "infAP", "nDCG", "nDCG_rel", "nERR", "nERR_IA", "nNRBP", "num_nonrel_judged_ret", "num_rel",
    "num_rel_ret", "num_ret", "pAUC",
)  # fmt: skip
_PUBLIC = {
    "agreement": ["Agreement", "agreement"],
    "beyond_accuracy": ["BeyondAccuracy", "beyond_accuracy"],
    "conventions": ["Convention", "conventions"],
    "errors": [
        "FastndcgError", "InvalidInputError", "InvalidTypeError", "MissingPackageError", "RegisteredMetricError",
        "UndefinedMetricError", "UnknownConventionError", "UnknownFusionError", "UnknownMetricError",
    ],
    "discovery": ["list_conventions", "list_fusion_methods", "list_metrics"],
    "evaluate": ["Evaluator", "evaluate"],
    "explain": ["explain"],
    "explain.explanation": ["Explanation"],
    "fusion.conventions": ["FusionConvention", "fusion_conventions"],
    "fusion.fuse": ["FusedRun", "fuse"],
    "fusion.tuning.curve": ["FusionCurve"],
    "fusion.tuning.tune": ["tune_fusion"],
    "fusion.tuning.tuned_fusion": ["TunedFusion"],
    "functions": [
        "average_precision", "dcg", "f_score", "ndcg", "precision", "r_precision", "recall", "reciprocal_rank",
        "success",
    ],
    "inputs.diversity_qrels": ["DiversityQrels"],
    "inputs.qrels_run": ["Qrels", "Run"],
    "inputs.recommendations.interactions": ["Interactions"],
    "inputs.recommendations.item_lists": ["Recommendations"],
    "inputs.text.formats": ["read_qrels", "read_run"],
    "metrics.catalog": ["CATALOG", "Parameter"],
    "metrics.custom": ["register"],
    "metrics.metric": ["Metric", *_METRICS],
    "rankings.rankings": ["Rankings"],
    "reference": ["reference"],
    "results.results": ["Results"],
    "scoring.embeddings": ["Embeddings"],
    "scoring.scorer": ["Scorer"],
    "scoring.top_items": ["TopItems"],
    "statistics.compare": ["compare"],
    "statistics.comparison": ["Comparison"],
    "streaming": ["StreamingEvaluator"],
    "versions": ["show_versions"],
    "warmup": ["warmup"],
}  # fmt: skip
_load_submodule = load_submodules(__name__)
_PLACES = {name: place for place, names in _PUBLIC.items() for name in names}

__all__ = sorted(_PLACES)
__version__ = "0.1.0"


class _Package(ModuleType):
    """Resolves public names when they are first used, so that importing the package costs nothing."""

    def __getattr__(self, name: str) -> Any:
        if name in _PLACES:
            module = load(f"{__name__}.{_PLACES[name]}")
            setattr(self, name, getattr(module, name, module))
            return getattr(self, name)
        return _load_submodule(name)

    def __setattr__(self, name: str, value: Any) -> None:
        # importing the file evaluate.py puts it in the place of the function evaluate, and likewise conventions
        if name in _PLACES and isinstance(value, ModuleType):
            value = getattr(value, name, value)
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return import_module, (self.__name__,)

    def __dir__(self) -> list[str]:
        return sorted({*__all__, *(name for name in super().__dir__() if name.startswith("__"))})


sys.modules[__name__].__class__ = _Package
