"""The examples of the documentation's pages print what the pages show."""

import re
import tomllib
from pathlib import Path

import pytest
from page_examples import check_blocks, is_installed, read_blocks, write_files
from spark_sessions import PYSPARK_WARNINGS

from scripts.site import is_generated

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = {
    path.relative_to(DOCS).as_posix(): path
    for path in sorted(DOCS.rglob("*.md"))
    if path.relative_to(DOCS).parts[0][0] != "_" and not is_generated(path) and read_blocks(path)
}
DISTRIBUTIONS = {  # where the name of a distribution is another one than that of its module
    "pytorch_lightning": "pytorch-lightning", "pytrec_eval": "pytrec_eval-terrier", "replay": "replay-rec",
    "sentence_transformers": "sentence-transformers", "sklearn": "scikit-learn", "xgboost": "xgboost-cpu",
}  # fmt: skip
OPTIONAL = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
EXTRAS = ("test", "peers", "dense", "recommenders", "ray")


def list_packages(extra):
    """Return the names of the distributions that an extra installs, with those of the extras that it names."""
    names = set()
    for requirement in OPTIONAL[extra]:
        name, _, others = re.match(r"([\w.-]+)(\[([\w,]+)\])?", requirement).groups(default="")
        names |= {name} if name != "fastndcg" else set().union(*map(list_packages, others.split(",")))
    return names


def find_extra(package):
    """Return the first extra that installs a package, by the name of its module."""
    name = DISTRIBUTIONS.get(package, package)
    return next((extra for extra in EXTRAS if name in list_packages(extra)), None)


NEEDS = [
    (name, package)
    for name, path in PAGES.items()
    for package in sorted({need for block in read_blocks(path) for need in block.needs})
    if find_extra(package) != "test"
]


pytestmark = [
    pytest.mark.filterwarnings("ignore:`use_.+` is deprecated:DeprecationWarning"),  # Ray warns of its settings
    *map(pytest.mark.filterwarnings, PYSPARK_WARNINGS),
    pytest.mark.filterwarnings("ignore:.*unsafe cast from uint64 to int64"),  # numba warns of casts in ranx
]


@pytest.fixture(autouse=True)
def _folder(tmp_path, monkeypatch):
    """Run examples in an empty folder with two small files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    write_files(tmp_path)


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_page(name):
    """Every example prints what the page says. Blocks that need an absent package are left out."""
    check_blocks(PAGES[name], [block for block in read_blocks(PAGES[name]) if block.can_run()])


@pytest.mark.parametrize(("name", "package"), NEEDS)
@pytest.mark.peers
def test_examples_with_package(name, package):
    """Every example prints what the page says where a package is installed that the extra `test` lacks."""
    if not is_installed(package):
        pytest.skip(f"{package} is absent: pip install '.[{find_extra(package)}]'")
    test_examples_of_page(name)


def test_extras_install_the_packages_of_examples():
    """Each package that an example needs is installed by an extra."""
    used = {need for path in PAGES.values() for block in read_blocks(path) for need in block.needs}

    assert [package for package in sorted(used) if find_extra(package) is None] == []
    assert {find_extra(package) for package in used} == set(EXTRAS)
