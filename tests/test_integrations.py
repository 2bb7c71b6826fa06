"""What all adapters have in common: importing them brings none of the libraries, and absent ones are named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg.integrations import sklearn, xgboost

LIBRARIES = ("lightgbm", "xgboost", "catboost", "sklearn")
ROOT = Path(__file__).resolve().parents[1]


def test_import_brings_no_library():
    """Not even numba, which the first evaluation needs."""
    code = "import sys\n" + "\n".join(f"import fastndcg.integrations.{name}" for name in LIBRARIES)
    code += f"\nprint(*[name for name in ('numba', 'pandas', *{LIBRARIES}) if name in sys.modules])"
    environment = os.environ if "FASTNDCG_TEST_INSTALLED" in os.environ else os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


@pytest.mark.parametrize(("make", "package"), [(xgboost.metric, "xgboost"), (sklearn.scorer, "sklearn")])
def test_absent_library_is_named(monkeypatch, make, package):
    """Where a library is needed to make the metric and is absent, the error says how to get it."""
    for name in list(sys.modules):
        if name.split(".")[0] == package:
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    xgboost._class.cache_clear()
    with pytest.raises(fn.MissingPackageError, match=rf"needs {package}: pip install 'fastndcg\[{package}\]'"):
        make("ndcg@10")
