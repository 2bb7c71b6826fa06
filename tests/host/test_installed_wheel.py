"""The tests run on the installed wheel, and the wheel holds the right files."""

import os
import sysconfig
from importlib import metadata, resources
from pathlib import Path

import pytest

import fastndcg as fn

pytestmark = pytest.mark.skipif(
    "FASTNDCG_TEST_INSTALLED" not in os.environ, reason="the tests run on the source folder: run scripts/test"
)


def test_package_is_the_installed_one():
    """The package comes from the environment, not from the source folder."""
    assert Path(fn.__file__).resolve().is_relative_to(Path(sysconfig.get_path("purelib")).resolve())


def test_versions_agree():
    """The package and its metadata have the same version."""
    assert metadata.version("fastndcg") == fn.__version__


def test_wheel_is_pure_python():
    """The wheel has no compiled part, and its tag says so."""
    assert "Tag: py3-none-any" in metadata.distribution("fastndcg").read_text("WHEEL")


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "__init__.pyi",
        "demo/qrels.txt",
        "demo/lambdarank.run",
        "demo/pointwise.run",
        "demo/SOURCE.md",
        "reports/html/templates/page.html",
        "reports/html/styles/layout.css",
        "reports/html/scripts/tables.js",
    ],
)
def test_wheel_carries(name):
    """The wheel holds the types, the demo data with its licence, and the templates of reports."""
    assert resources.files("fastndcg").joinpath(name).is_file()


def test_wheel_carries_no_machine_code_and_no_tests():
    """The wheel holds no machine code and no folder for developers."""
    names = [str(file) for file in metadata.files("fastndcg")]
    packed = [name for name in names if "__pycache__" not in name]  # installing compiles the sources
    assert not [name for name in names if name.endswith((".nbc", ".nbi"))]
    assert not [name for name in packed if name.startswith(("tests", "scripts", "benchmarks"))]


def test_wheel_has_licence():
    """The licence is MIT, and its text is in the wheel."""
    assert metadata.metadata("fastndcg")["License-Expression"] == "MIT"
    assert any(str(file).endswith("licenses/LICENSE") for file in metadata.files("fastndcg"))
