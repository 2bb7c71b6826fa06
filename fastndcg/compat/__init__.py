"""
Drop-in replacements for functions of other libraries, under their own names and signatures.

`DROP_INS` says which there are. The page of the reference, the checks of docstrings, and the tests of errors and copies
are made from it.
"""

from typing import NamedTuple


class DropIn(NamedTuple):
    """A drop-in: its module here, its title, the module whose functions it has, and the package that it needs."""

    module: str
    title: str
    peer: str
    needs: str = ""


DROP_INS = (
    DropIn("sklearn", "scikit-learn", "sklearn.metrics"),
    DropIn("pytrec_eval", "pytrec_eval", "pytrec_eval"),
    DropIn("ranx", "ranx", "ranx"),
    DropIn("ir_measures", "ir_measures", "ir_measures", needs="ir_measures"),
    DropIn("torchmetrics", "TorchMetrics", "torchmetrics.functional.retrieval", needs="torch"),
)
