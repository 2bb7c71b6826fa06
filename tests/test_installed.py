"""What is tested is the installed wheel, and it holds what it must."""

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
        "reports/page.html",
        "reports/page.css",
        "reports/page.js",
    ],
)
def test_wheel_carries(name):
    """Types, demo data and their licence travel with the package."""
    assert resources.files("fastndcg").joinpath(name).is_file()


def test_wheel_carries_no_machine_code_and_no_tests():
    """What is made when kernels run, and what is for developers, stays out of the wheel."""
    names = [str(file) for file in metadata.files("fastndcg")]
    packed = [name for name in names if "__pycache__" not in name]  # installing compiles the sources
    assert not [name for name in names if name.endswith((".nbc", ".nbi"))]
    assert not [name for name in packed if name.startswith(("tests", "scripts", "benchmarks"))]


def test_licence():
    """The licence is MIT, and its text is in the wheel."""
    assert metadata.metadata("fastndcg")["License-Expression"] == "MIT"
    assert any(str(file).endswith("licenses/LICENSE") for file in metadata.files("fastndcg"))
