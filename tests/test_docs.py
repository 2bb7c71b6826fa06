"""The examples in the package's docstrings, and that the public face has them."""

import doctest
import importlib
import importlib.util
import inspect
import pkgutil

import pytest

import fastndcg as fn

MODULES = ["fastndcg", *(module.name for module in pkgutil.walk_packages(fn.__path__, "fastndcg."))]
MODULES.remove("fastndcg.__main__")
NEEDS = {  # what is about another package's objects
    "fastndcg.compat.torchmetrics": "torch",
    "fastndcg.integrations.torch": "torchmetrics",
}


def examples(name):
    """The doctests of a module, to which `fn` is the package."""
    module = importlib.import_module(name)
    return doctest.DocTestFinder(exclude_empty=True).find(module, name, extraglobs={"fn": fn})


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    """Every example of the module prints what its docstring says."""
    if name in NEEDS:
        pytest.importorskip(NEEDS[name], reason=f"{NEEDS[name]} is absent: pip install {NEEDS[name]}")
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for test in examples(name):
        assert runner.run(test).failed == 0, test.name


def test_modules_are_documented():
    """Each module says in its docstring what it is for."""
    for name in MODULES:
        if name not in NEEDS or importlib.util.find_spec(NEEDS[name]):
            assert importlib.import_module(name).__doc__, name


@pytest.mark.parametrize("name", [name for name in fn.__all__ if inspect.isfunction(getattr(fn, name))])
def test_public_functions_have_examples(name):
    """Each public function has an example, or points to the one that has it."""
    documentation = inspect.getdoc(getattr(fn, name))
    assert ">>> " in documentation or "Raises" in documentation
