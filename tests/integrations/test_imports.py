"""Tests of all adapters: an import loads no library, and an error names an absent library."""

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg.integrations import sklearn, xgboost

LIBRARIES = ("lightgbm", "xgboost", "catboost", "sklearn", "duckdb", "polars")
ROOT = Path(__file__).resolve().parents[2]


def test_import_brings_no_library():
    """Not even numba, which the first evaluation needs."""
    code = "import sys\n" + "\n".join(f"import fastndcg.integrations.{name}" for name in LIBRARIES)
    code += f"\nprint(*[name for name in ('numba', 'pandas', *{LIBRARIES}) if name in sys.modules])"
    environment = os.environ if "FASTNDCG_TEST_INSTALLED" in os.environ else os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(
    ("make", "package", "name"), [(xgboost.metric, "xgboost", "xgboost"), (sklearn.scorer, "sklearn", "scikit-learn")]
)
def test_absent_library_is_named(monkeypatch, make, package, name):
    for module in list(sys.modules):
        if module.split(".")[0] == package:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    xgboost._callback_class.cache_clear()
    with pytest.raises(fn.MissingPackageError, match=rf"needs {name}\. Install it: pip install {name}$"):
        make("ndcg@10")


def test_absent_sentence_transformers_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.delitem(sys.modules, "fastndcg.integrations.sentence_transformers", raising=False)
    with pytest.raises(
        fn.MissingPackageError, match=r"needs sentence-transformers\. Install it: pip install sentence-transformers$"
    ):
        importlib.import_module("fastndcg.integrations.sentence_transformers")
