"""Packages that fastndcg needs or can use, errors if one is missing or broken, and the wheel that is installed."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from importlib import import_module, metadata, resources
from pathlib import Path

import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.compat import ir_measures, ranx, torchmetrics
from fastndcg.integrations import mlflow, sklearn, xgboost
from fastndcg.runtime.imports import NEEDED_TOGETHER, check_packages, optional_import

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def required(extra):
    found = set()
    for requirement in PROJECT["optional-dependencies"][extra]:
        parts = re.fullmatch(r"fastndcg\[(.+)\]", requirement)
        if parts:
            found |= {name for part in parts[1].split(",") for name in required(part)}
        else:
            found.add(re.match(r"[\w.-]+", requirement)[0].lower())
    return found


def test_declarations_of_the_project():
    assert {"pandas", "pyarrow"} <= required("pandas")
    assert {"polars", "pyarrow"} <= required("polars")
    for extra, packages in NEEDED_TOGETHER.items():
        assert set(packages) == required(extra)
    (numba,) = (one for one in PROJECT["dependencies"] if one.startswith("numba"))
    assert re.fullmatch(r"numba>=\d+\.\d+,<\d+\.\d+", numba)
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    for line in ("cff-version: 1.2.0", f"license: {PROJECT['license']}"):
        assert line in lines


RESULT = fn.evaluate([[1, 0]], [[2, 1]], "rr")
ABSENT = {  # packages, and what needs them
    "pandas": lambda: RESULT.to_pandas(), "polars": lambda: RESULT.to_polars(), "pyarrow": lambda: RESULT.to_arrow(),
    "jinja2": lambda: fn.compare({"a": RESULT, "b": RESULT}, test="t").to_html("absent/report.html"),
    "ir_datasets": lambda: ranx.Qrels.from_ir_datasets("vaswani"), "ir_measures": lambda: ir_measures.register(),
    "mlflow": lambda: mlflow.make_metric("rr"), "sklearn": lambda: sklearn.scorer("rr"),
    "torch": lambda: torchmetrics.retrieval_recall([0.5], [1]), "xgboost": lambda: xgboost.metric("rr"),
    "sentence_transformers": lambda: import_module("fastndcg.integrations.sentence_transformers"),
}  # fmt: skip


@pytest.mark.parametrize("package", ABSENT)
def test_absent_package_is_named_as_the_index_calls_it(monkeypatch, package):
    xgboost._callback_class.cache_clear()
    for module in list(sys.modules):
        if package in (module.partition(".")[0], module.removeprefix("fastndcg.integrations.")):
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    name = {"sklearn": "scikit-learn"}.get(package, package.replace("e_t", "e-t"))
    message = rf"(this drop-in|a report|\w+) needs {name}\. Install it: pip install {name}$"
    refused(message, ABSENT[package], error=fn.MissingPackageError)


@pytest.mark.parametrize(("source", "message"), [
    ("raise ImportError('pyarrow requires NumPy 2.0 or newer')", "ImportError: pyarrow requires NumPy 2.0 or newer"),
    ("import no_such_part", "ModuleNotFoundError: No module named 'no_such_part'"),
    ("import broken_package.no_such_part", "ModuleNotFoundError: No module named 'broken_package.no_such_part'"),
    ("raise AttributeError('_ARRAY_API not found')", "AttributeError: _ARRAY_API not found"),
])  # fmt: skip
def test_broken_package_is_reported_with_its_own_error(monkeypatch, tmp_path, source, message):
    (tmp_path / "broken_package").mkdir()
    (tmp_path / "broken_package" / "__init__.py").write_text(source, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(fn.MissingPackageError) as caught:
        optional_import("broken_package", "reading frames", "arrow")
    assert str(caught.value) == (
        f"reading frames needs broken_package, which is installed but cannot be imported: {message}"
    )
    assert str(caught.value.__cause__) in message


def test_report_error_names_all_missing_packages(monkeypatch, files, wrong):
    for name in ("scipy", "matplotlib", "jinja2"):
        monkeypatch.setitem(sys.modules, name, None)
    message = "error: a report needs scipy and jinja2. Install them: pip install scipy jinja2\n"
    wrong(message, "compare", "qrels.txt", "good.run", "tied.run", "--html", "report.html")
    refused(r"pip install scipy matplotlib$", check_packages, "plotting", "plots", error=fn.MissingPackageError)


@pytest.mark.newest
def test_newest_numba_and_uninstalling(tmp_path):
    """The wheel evaluates the demo with the newest allowed numba and numpy, and uninstalling removes all its files."""
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PIP_NO_INDEX")}
    environment |= {"FASTNDCG_CACHE_DIR": str(tmp_path / "cache"), "FASTNDCG_QUIET": "0", "PYTHONSAFEPATH": "1"}
    home = tmp_path / "venv"
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

    def ran(*line, check=True):
        return subprocess.run(
            [str(part) for part in line], env=environment, cwd=tmp_path, capture_output=True, text=True, check=check
        )

    ran(sys.executable, "-m", "venv", home)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "--retries", "1"]
    (numba,) = (one for one in PROJECT["dependencies"] if one.startswith("numba"))
    if ran(*pip, "download", "--quiet", "--no-deps", "--dest", tmp_path / "seen", numba, check=False).returncode:
        pytest.skip("no package index can be reached, from which numba would be installed")
    ran(*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", tmp_path / "wheel", ROOT)
    (wheel,) = (tmp_path / "wheel").glob("fastndcg-*.whl")
    ran(*pip, "install", "--quiet", "--upgrade", "--upgrade-strategy", "eager", wheel)
    shown = ran(python, "-W", "error", "-m", "fastndcg", "evaluate")
    assert "lambdarank   0.7901  0.8400  0.8883  0.7880  0.7585" in shown.stdout
    assert re.fullmatch(r"fastndcg: compiling .*; a built wheel or `fastndcg warmup` has them\n", shown.stderr)
    assert list((tmp_path / "cache").rglob("*.nbc"))
    packages = ran(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").stdout.strip()
    ran(*pip, "uninstall", "--quiet", "--yes", "fastndcg")
    assert not list(Path(packages).glob("fastndcg*"))


of_wheel = pytest.mark.skipif(
    "FASTNDCG_TEST_INSTALLED" not in os.environ, reason="the tests run on the source folder: run scripts/test"
)


@of_wheel
def test_wheel_is_installed_pure_and_has_a_licence():
    assert Path(fn.__file__).resolve().is_relative_to(Path(sysconfig.get_path("purelib")).resolve())
    assert metadata.version("fastndcg") == fn.__version__
    assert "Tag: py3-none-any" in metadata.distribution("fastndcg").read_text("WHEEL")
    assert metadata.metadata("fastndcg")["License-Expression"] == "MIT"
    assert any(str(file).endswith("licenses/LICENSE") for file in metadata.files("fastndcg"))


@pytest.mark.parametrize("name", [
    "py.typed", "__init__.pyi", "demo/qrels.txt", "demo/lambdarank.run", "demo/pointwise.run", "demo/SOURCE.md",
    *(f"reports/templates/{name}" for name in ("page.html", "style.css", "script.js")),
])  # fmt: skip
@of_wheel
def test_wheel_carries(name):
    assert resources.files("fastndcg").joinpath(name).is_file()


@of_wheel
def test_wheel_carries_no_machine_code_and_no_tests():
    names = [str(file) for file in metadata.files("fastndcg")]
    packed = [name for name in names if "__pycache__" not in name]  # installing compiles the sources
    assert not [name for name in names if name.endswith((".nbc", ".nbi"))]
    assert not [name for name in packed if name.startswith(("tests", "scripts", "benchmarks"))]
