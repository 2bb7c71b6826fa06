"""
Check that public docstrings are complete, by numpydoc's validation.

Usage: python scripts/check_docstrings.py

Public are the names in `fastndcg.__all__` and in `NAMES`, and the public methods of classes among them. A shared
parameter needs no type if its description points to another function: "See `evaluate`."
Prints one line for each docstring that breaks a rule, and exits with 1 if there is any.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

# codes of numpydoc that are off, and why
OFF = {
    "GL01": "ruff checks the place of the opening quotes",
    "GL02": "ruff checks the place of the closing quotes",
    "ES01": "a summary often says everything",
    "SA01": "names in back-ticks link to related objects",
    "PR06": "'integer' and 'string' occur in the types of arrays",
    "PR08": "descriptions may be phrases that begin with a symbol",
    "RT02": "results may have names",
    "RT04": "descriptions may be phrases that begin with a symbol",
}
OFF_FOR_METHODS = {"EX01": "the examples of a class show its methods"}
OFF_FOR_ERRORS = {"EX01": "the function that raises the error shows it"}
OFF_FOR_DROP_INS = {"EX01": "the module of a drop-in has an example of the changed import"}
NAMES = {
    "kernels": ["average_precision", "dcg", "ndcg", "ranks", "reciprocal_rank"],
    "reference": ["evaluate"],
    "compat.ir_measures": ["Provider", "register", "unregister"],
    "compat.pytrec_eval": [
        "RelevanceEvaluator", "compute_aggregated_measure", "install", "parse_qrel", "parse_run", "uninstall",
    ],
    "compat.ranx": [
        "MismatchError", "OptimizationReport", "Qrels", "Report", "Run", "compare", "evaluate", "fuse",
        "optimize_fusion", "plot",
    ],
    "compat.ranx.metrics": [
        "average_precision", "bpref", "dcg", "dcg_burges", "f1", "get_hit_lists", "hit_rate", "hits",
        "interpolated_precision_at_recall", "ndcg", "ndcg_burges", "precision", "r_precision", "rank_biased_precision",
        "recall", "reciprocal_rank",
    ],
    "compat.sklearn": [
        "dcg_score", "label_ranking_average_precision_score", "ndcg_score", "top_k_accuracy_score",
    ],
    "compat.torchmetrics": [
        "retrieval_auroc", "retrieval_average_precision", "retrieval_fall_out", "retrieval_hit_rate",
        "retrieval_normalized_dcg", "retrieval_precision", "retrieval_precision_recall_curve",
        "retrieval_r_precision", "retrieval_recall", "retrieval_reciprocal_rank",
    ],
    "integrations.catboost": ["metric"],
    "integrations.duckdb": ["list_metrics", "register"],
    "integrations.lightgbm": ["metric"],
    "integrations.polars": ["metric", "metrics"],
    "integrations.sentence_transformers": ["InformationRetrievalEvaluator", "RerankingEvaluator"],
    "integrations.sklearn": ["scorer"],
    "integrations.spark": ["compare", "evaluate"],
    "integrations.torch": ["RankingMetrics"],
    "integrations.xgboost": ["early_stopping", "metric"],
}  # fmt: skip
REQUIRED = {
    "integrations.torch": "torchmetrics",
    "integrations.sentence_transformers": "sentence_transformers",
    "compat.torchmetrics": "torch",
}


class Finding(NamedTuple):
    """The codes of numpydoc for one docstring."""

    module: str
    name: str
    codes: tuple[str, ...]


def main() -> int:
    """Check every public docstring."""
    findings = [finding for name, value in find_public() for finding in validate(name, value)]
    for finding in findings:
        print(f"{finding.module}: {finding.name}: {', '.join(finding.codes)}")
    print(f"{len(findings)} docstrings with findings")
    return 1 if findings else 0


def find_public() -> Iterator[tuple[str, Any]]:
    """Yield the public functions and classes, and the public methods of these classes, each with its name."""
    package = importlib.import_module("fastndcg")
    objects = {f"fastndcg.{name}": getattr(package, name) for name in package.__all__}
    for module, names in NAMES.items():
        if module not in REQUIRED or importlib.util.find_spec(REQUIRED[module]):
            owner = importlib.import_module(f"fastndcg.{module}")
            objects |= {f"fastndcg.{module}.{name}": getattr(owner, name) for name in names}
    for name, value in objects.items():
        if inspect.isclass(value):
            yield name, value
            yield from ((f"{name}.{key}", method) for key, method in _public_methods(value))
        elif callable(value) and hasattr(value, "__name__"):
            yield name, getattr(value, "py_func", value)


def _public_methods(owner: type) -> Iterator[tuple[str, Any]]:
    """Yield the public methods and properties that a class of the package defines."""
    for name, value in vars(owner).items():
        function = getattr(value, "__func__", value)
        if not name.startswith("_") and (inspect.isfunction(function) or isinstance(value, property)):
            yield name, value if isinstance(value, property) else function


def validate(name: str, value: Any) -> Iterator[Finding]:
    """Yield a finding if a docstring breaks a rule of numpydoc that is on."""
    from numpydoc.docscrape import get_doc_object
    from numpydoc.validate import Validator
    from numpydoc.validate import validate as find_errors

    document = get_doc_object(value)
    descriptions = {key: " ".join(text) for key, (_, text) in Validator(document).doc_all_parameters.items()}
    off = find_codes_off(name, value)
    codes = set()
    for code, message in find_errors(document)["errors"]:
        points_elsewhere = any(f'"{key}"' in message and text.startswith("See `") for key, text in descriptions.items())
        if code not in off and not (code == "PR04" and points_elsewhere):
            codes.add(code)
    if codes:
        function = value.fget if isinstance(value, property) else value
        module = inspect.unwrap(function).__module__
        yield Finding(module, name, tuple(sorted(codes)))


def find_codes_off(name: str, value: Any) -> set[str]:
    """Return the codes that are off for one function, class or method."""
    off = set(OFF)
    is_method = name.rpartition(".")[0].rpartition(".")[2][:1].isupper()
    if is_method or isinstance(value, property):
        off |= set(OFF_FOR_METHODS)
    if inspect.isclass(value) and issubclass(value, Exception):
        off |= set(OFF_FOR_ERRORS)
    if name.startswith("fastndcg.compat."):
        off |= set(OFF_FOR_DROP_INS)
    return off


if __name__ == "__main__":
    sys.exit(main())
