"""
Drop-in for ranx: `Qrels`, `Run`, `evaluate`, `compare`, `fuse`, `optimize_fusion`, and all of `metrics`.

Signatures, metric names and values are those of ranx, except for ranx's bugs: queries are paired by id, and equal
scores keep their input order. Each error is also a subclass of the built-in exception that ranx raises. ranx itself is
not needed. Numba's number of threads is not changed. A `Run` caches its join with the last `Qrels`, so that further
metrics are fast. The functions of `fusion` and `normalization`, `plot`, and `Run.from_ranxhub` are not here.
Differences:

- Scores may be numbers of Python or NumPy. Texts, None, NaN and tensors are errors here. ranx takes them.
- Ids of documents must be texts in a dict, too. Empty dicts, and columns of pandas' own text type, are allowed.
- ``rbp.p`` counts each relevant document once. ranx multiplies by the label, so that its values may exceed 1.
- ``bpref`` is 1, not NaN, where all judged documents are relevant and retrieved. Labels below 0 are not judged.
- Relevance levels below 1 and a second cutoff, as in ``ndcg@1@2``, are errors.
- A document that occurs twice in a frame, and runs of the same name, are errors. So is a relevant document that occurs
  twice in an array of a run.
- The ideal ranking of arrays is by falling label. ranx takes the order of the rows.
- Infinite labels raise a ValueError, not an OverflowError. Lists of unequal lengths in `add_multi` raise a ValueError.
- Numba's TypingError is an `InvalidTypeError` here.
- ``run.run`` and ``qrels.qrels`` are dicts, and `to_typed_list` returns a list, not Numba's dicts and lists.
- ``evaluate(..., make_comparable=True)`` does not change the run.
- A `Report` has its comparisons in a dict, each pair in either order. ranx finds them by a set of names, too.
- Tables show all digits of each mean, while ranx drops zeros at the end.
- `optimize_fusion` tries all weights that add up to 1. ranx loses 4 of 66 points for three runs by rounding.
- Condorcet fusion counts majorities. ranx sorts by a comparison that is not transitive.
- After ``norm="borda"``, methods by rank take the ranks of the runs. ranx takes the order of a set.
- `save` writes a compressed file for the ending .gz, and refuses ids and names with blanks in TREC's format.

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
    from fastndcg.compat.ranx.fusion import OptimizationReport as OptimizationReport
    from fastndcg.compat.ranx.fusion import fuse as fuse
    from fastndcg.compat.ranx.fusion import optimize_fusion as optimize_fusion

__all__ = [
    "MismatchError",
    "OptimizationReport",
    "Qrels",
    "Report",
    "Run",
    "compare",
    "evaluate",
    "fuse",
    "optimize_fusion",
]
LATER = {
    "Report": "comparison", "compare": "comparison", "fuse": "fusion",
    "optimize_fusion": "fusion", "OptimizationReport": "fusion",
}  # fmt: skip  # what `evaluate` does without


def __getattr__(name: str) -> Any:
    if name in LATER:
        return getattr(load(f"fastndcg.compat.ranx.{LATER[name]}"), name)
    if name == "metrics":
        return load("fastndcg.compat.ranx.metrics")
    raise AttributeError(f"module {__name__!r} has no attribute {shorten(name)}")
