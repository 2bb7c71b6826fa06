"""
Drop-in for ranx: `Qrels`, `Run`, `evaluate`, `compare` and `fuse`.

Signatures, metric names and values are those of ranx, except for ranx's bugs: queries are paired by id, and equal
scores keep their input order. Each error is also a subclass of the built-in exception that ranx raises. ranx itself is
not needed. Numba's number of threads is not changed. A `Run` caches its join with the last `Qrels`, so that further
metrics are fast. The page "Coming from ranx" lists all differences, and has the native call for what is not here.

>>> from fastndcg.compat.ranx import Qrels, Run, evaluate
>>> qrels = Qrels({"q1": {"d1": 1, "d2": 3}})
>>> run = Run({"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}}, name="bm25")
>>> {metric: round(float(mean), 4) for metric, mean in evaluate(qrels, run, ["ndcg@10", "map-l2"]).items()}
{'ndcg@10': 0.7967, 'map-l2': 0.5}
"""

from typing import TYPE_CHECKING, Any

from fastndcg.compat.ranx.data import MismatchError, Qrels, Run
from fastndcg.compat.ranx.evaluation import CONVENTION as CONVENTION
from fastndcg.compat.ranx.evaluation import METRICS as METRICS
from fastndcg.compat.ranx.evaluation import evaluate
from fastndcg.errors import shorten
from fastndcg.runtime.imports import load

if TYPE_CHECKING:
    from fastndcg.compat.ranx.comparison import Report as Report
    from fastndcg.compat.ranx.comparison import compare as compare
    from fastndcg.compat.ranx.fusion import fuse as fuse

__all__ = ["MismatchError", "Qrels", "Report", "Run", "compare", "evaluate", "fuse"]
LATER = {"Report": "comparison", "compare": "comparison", "fuse": "fusion"}  # what `evaluate` does without


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(load(f"fastndcg.compat.ranx.{LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {shorten(name)}")
