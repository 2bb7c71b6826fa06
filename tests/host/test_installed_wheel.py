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


def test_wheel_is_installed_pure_and_has_a_licence():
    assert Path(fn.__file__).resolve().is_relative_to(Path(sysconfig.get_path("purelib")).resolve())
    assert metadata.version("fastndcg") == fn.__version__
    assert "Tag: py3-none-any" in metadata.distribution("fastndcg").read_text("WHEEL")
    assert metadata.metadata("fastndcg")["License-Expression"] == "MIT"
    assert any(str(file).endswith("licenses/LICENSE") for file in metadata.files("fastndcg"))


@pytest.mark.parametrize(
    "name",
    [
        "py.typed",
        "__init__.pyi",
        "demo/qrels.txt",
        "demo/lambdarank.run",
        "demo/pointwise.run",
        "demo/SOURCE.md",
        "reports/templates/page.html",
        "reports/templates/style.css",
        "reports/templates/script.js",
    ],
)
def test_wheel_carries(name):
    assert resources.files("fastndcg").joinpath(name).is_file()


def test_wheel_carries_no_machine_code_and_no_tests():
    names = [str(file) for file in metadata.files("fastndcg")]
    packed = [name for name in names if "__pycache__" not in name]  # installing compiles the sources
    assert not [name for name in names if name.endswith((".nbc", ".nbi"))]
    assert not [name for name in packed if name.startswith(("tests", "scripts", "benchmarks"))]
