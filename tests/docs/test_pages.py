"""The examples of the documentation's pages and of the package's docstrings print what they show."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
from generated_pages import is_generated
from needed_packages import find_group, skip_without
from page_examples import check_blocks, read_blocks, write_files
from spark_sessions import PYSPARK_WARNINGS, start_session

import fastndcg as fn
from fastndcg import compat, integrations

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if path.relative_to(DOCS).parts[0][0] != "_" and not is_generated(path) and read_blocks(path)
}
NEEDS = [
    (name, package)
    for name, path in PAGES.items()
    for package in sorted({need for block in read_blocks(path) for need in block.needs})
    if find_group(package) != "test"
]
pytestmark = [
    pytest.mark.filterwarnings("ignore:`use_.+` is deprecated:DeprecationWarning"),  # Ray warns of its settings
    *map(pytest.mark.filterwarnings, PYSPARK_WARNINGS),
    pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64 to int64"),  # numba warns of casts in ranx
]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_files(tmp_path)


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_page(name):
    """Examples that need a package of another group than test run with the tests that need peers."""
    blocks = [block for block in read_blocks(PAGES[name]) if {find_group(need) for need in block.needs} <= {"test"}]
    check_blocks(PAGES[name], [block for block in blocks if block.can_run()])


@pytest.mark.parametrize(("name", "package"), NEEDS)
@pytest.mark.peers
def test_examples_with_package(name, package):
    skip_without(package)
    check_blocks(PAGES[name], [block for block in read_blocks(PAGES[name]) if block.can_run()])


def test_groups_install_the_packages_of_examples():
    used = {need for path in PAGES.values() for block in read_blocks(path) for need in block.needs}
    assert [package for package in sorted(used) if find_group(package) is None] == []
    assert {find_group(package) for package in used} == {"test", "peers", "dense", "recommenders", "ray"}


MODULES = ["fastndcg", *(module.name for module in pkgutil.walk_packages(fn.__path__, "fastndcg."))]
MODULES.remove("fastndcg.__main__")
PACKAGES = {f"fastndcg.integrations.{module}": package for module, package in integrations.NEEDS.items()}
PACKAGES |= {f"fastndcg.compat.{drop_in.module}": drop_in.needs for drop_in in compat.DROP_INS if drop_in.needs}


def examples(name):
    module = importlib.import_module(name)
    return doctest.DocTestFinder(exclude_empty=True).find(module, name, extraglobs={"fn": fn})


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.peers
def test_docstring_examples(name):
    if name.startswith("fastndcg.integrations.spark"):
        skip_without("pyspark")
        start_session()
    if name in PACKAGES:
        skip_without(PACKAGES[name])
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    for test in examples(name):
        assert runner.run(test).failed == 0, test.name
