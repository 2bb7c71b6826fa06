"""Packages that tests need: the dependency group of pyproject.toml that installs each, and skips where it is absent."""

import importlib.util
import os
import re
import shutil
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

DISTRIBUTIONS = {  # where a module is of a distribution of another name, or comes with one that a group names
    "aiohttp": "fsspec", "backports": "backports.zstd", "cwl": "cwl-eval", "faiss": "faiss-cpu", "grpc": "pyspark",
    "ibis": "ibis-framework", "jax": "rax", "llama_index": "llama-index-core", "pytrec_eval": "pytrec_eval-terrier",
    "replay": "replay-rec", "sklearn": "scikit-learn", "xgboost": "xgboost-cpu",
}  # fmt: skip
PROJECT_FILE = tomllib.loads((Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
OPTIONAL, GROUPS = PROJECT_FILE["project"]["optional-dependencies"], PROJECT_FILE["dependency-groups"]
REMEDIES = {  # some groups need environments of their own
    "test": ".venv/bin/pip install '.[all]' --group test",
    **{group: f".venv/bin/pip install --group {group}" for group in ("peers", "bench", "lint")},
    **{group: f"pip install '.[all]' --group {group} (not in .venv)" for group in ("dense", "recommenders", "ray")},
}
OF_DEVELOPERS = ("test", "lint")  # what scripts/test and scripts/check install


def list_packages(requirements):
    names = set()
    for requirement in requirements:
        if isinstance(requirement, dict):
            names |= list_packages(GROUPS[requirement["include-group"]])
        elif (needed := Requirement(requirement)).name == "fastndcg":
            names |= list_packages(one for extra in needed.extras for one in OPTIONAL[extra])
        else:
            names.add(canonicalize_name(needed.name))
    return names


PACKAGES = {group: list_packages(["fastndcg[all]", *GROUPS[group]]) for group in REMEDIES}


def find_group(package):
    name = canonicalize_name(DISTRIBUTIONS.get(package, package))
    return next((group for group, names in PACKAGES.items() if name in names), None)


def find_need(reason):
    """Return the package that a test skips without, by the reason of `pytest.importorskip`, and its group."""
    found = re.search(r"could not import '(\w+)", reason)
    return (found[1], find_group(found[1])) if found else (None, None)


def find_missing(package):
    """Return why a package cannot be used, None if it can."""
    if importlib.util.find_spec(package) is None:
        return f"could not import '{package}'"
    if package == "pyspark" and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        return "there is no JVM: Spark needs Java 17"
    return None


def skip_without(package):
    if missing := find_missing(package):
        pytest.skip(missing)
