"""The examples in the package's docstrings run, and public functions have examples."""

import doctest
import importlib
import importlib.util
import pkgutil

import pytest
from spark_sessions import PYSPARK_WARNINGS, skip_without_spark, start_session

import fastndcg as fn
from fastndcg import compat, integrations

MODULES = ["fastndcg", *(module.name for module in pkgutil.walk_packages(fn.__path__, "fastndcg."))]
MODULES.remove("fastndcg.__main__")
pytestmark = [pytest.mark.filterwarnings(warning) for warning in PYSPARK_WARNINGS]
NEEDS = {f"fastndcg.integrations.{module}": package for module, package in integrations.NEEDS.items()}
NEEDS |= {f"fastndcg.compat.{drop_in.module}": drop_in.needs for drop_in in compat.DROP_INS if drop_in.needs}


def examples(name):
    module = importlib.import_module(name)
    return doctest.DocTestFinder(exclude_empty=True).find(module, name, extraglobs={"fn": fn})


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.peers
def test_docstring_examples(name):
    if name.startswith("fastndcg.integrations.spark"):
        skip_without_spark()
        start_session()
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is absent: pip install {NEEDS[name]}")
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for test in examples(name):
        assert runner.run(test).failed == 0, test.name
