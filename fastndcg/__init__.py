"""
fastndcg: the fastest and most trustworthy ranking metrics in Python.

>>> import fastndcg as fn
>>> fn.ndcg([3, 2, 3, 0, 1], [0.5, 0.4, 0.3, 0.2, 0.1], [0, 5]).round(5)
array([0.97236])
>>> fn.evaluate([[1, 0], [0, 1]], [[0.2, 0.1], [0.2, 0.1]], [fn.nDCG @ 10, "rr"]).mean()
{'nDCG@10': 0.8154648767857288, 'RR': 0.75}
"""

import os
import re
from functools import cache
from typing import Any

from fastndcg.runtime.imports import load, load_submodules

__version__ = "0.1.0"
READ_BY = {"read_qrels": "Qrels", "read_run": "Run"}  # functions that other packages and early states have
_load_submodule = load_submodules(__name__)


@cache
def _read_places() -> dict[str, str]:
    """Return the module of each public name from the stub beside this file, where the names are listed."""
    with open(os.path.join(os.path.dirname(__file__), "__init__.pyi"), encoding="utf-8") as file:
        stub = file.read()
    places = {name: place for place, name in re.findall(r"^from fastndcg\.([\w.]+) import (\w+)", stub, re.MULTILINE)}
    places |= dict.fromkeys(re.findall(r"^(\w+): Metric$", stub, re.MULTILINE), places["Metric"])
    return places | {name: name for name in re.findall(r"^from \. import (\w+)", stub, re.MULTILINE)}


def __getattr__(name: str) -> Any:
    """Return a public name when it is first used, so that importing the package costs nothing."""
    if name == "__all__":
        return sorted(_read_places())
    if name in READ_BY:
        raise AttributeError(f"fastndcg has no {name}: fn.{READ_BY[name]}(path) reads files, and every other form")
    place = _read_places().get(name, name)
    if place == name:
        return _load_submodule(name)
    value = globals()[name] = getattr(load(f"{__name__}.{place}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*_read_places(), *(name for name in globals() if name.startswith("__"))})
