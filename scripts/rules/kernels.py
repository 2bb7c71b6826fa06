"""Rules on kernels, on records of metrics, and on what importing the package imports."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from rules.project import File, Function, parse, read_catalogue, read_files, run_python

# decorators, intrinsics, and the lookup of kernels
NO_KERNELS = {
    "__init__", "compiler", "intrinsics", "jit", "lookup", "machine_code", "panels", "python_objects", "shared", "simd",
}  # fmt: skip
DECORATORS = ("kernel", "inline", "helper")


def kernels_look_alike(root: Path) -> Iterator[str]:
    """Check that every kernel, and every part of one, has one decorator, a docstring and its `out` parameters last."""
    for file, function in _read_kernels(root):
        place = f"{file.name}:{function.lineno}: kernel {function.name}"
        decorators = [ast.unparse(decorator).partition("(")[0] for decorator in function.decorator_list]
        if decorators not in [[name] for name in DECORATORS]:
            yield f"{place} must have one decorator: @kernel, @inline or @helper"
        if not ast.get_docstring(function):
            yield f"{place} must have a docstring"
        is_out = [argument.arg.startswith("out") for argument in function.args.args]
        if is_out != sorted(is_out):
            yield f"{place} must have its `out` parameters last"


def instructions_have_twins(root: Path) -> Iterator[str]:
    """Check that each function with @instruction has machine instructions in kernels/intrinsics.py, and the reverse."""
    marked = {}
    for file in read_files(root, "fastndcg/kernels"):
        functions = [node for node in file.tree.body if isinstance(node, Function)]
        if file.path.stem == "intrinsics":
            intrinsics = file
            emitting = [node for node in functions if any("emits" in ast.unparse(one) for one in node.decorator_list)]
        for node in functions:
            if "instruction" in map(ast.unparse, node.decorator_list):
                marked[node.name] = f"{file.name}:{node.lineno}"
    for name in marked.keys() - _top_names(intrinsics):
        yield f"{marked[name]}: {name} needs machine instructions in {intrinsics.name}"
    for function in emitting:
        if function.name not in marked:
            yield f"{intrinsics.name}:{function.lineno}: {function.name} needs a definition with @instruction"


def catalogue_is_complete(root: Path) -> Iterator[str]:
    """Check that every record has a function, a twin below it, a definition test, a source and a use."""
    functions = _read_places(root, "fastndcg/engine/compute")
    twins = _read_places(root, "fastndcg/metrics/families")
    tested = set[str]().union(*map(_words_in_tests, (root / "tests" / "definitions").rglob("test_*.py")))
    for record in read_catalogue(root):
        for place in (record["place"], *(variant[2] for variant in record["variants"])):
            if place not in functions:
                yield f"families: {record['name']} names the function {place}, which is not there"
            if place not in twins:
                yield f"families: there is no {place}, the twin of {record['name']}"
        for field in ("source", "use"):
            if not record[field]:
                yield f"families: {record['name']} must have a {field}"
        if not tested & {word.lower() for word in (record["name"], *record["aliases"])}:
            yield f"tests/definitions: {record['name']} has no definition test"


def _top_names(file: File) -> set[str]:
    """Return the names that a file defines or imports at its top."""
    names = set()
    for node in ast.walk(file.tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


def import_is_light(root: Path) -> Iterator[str]:
    """Check that `import fastndcg` imports neither numpy nor numba, and that no module imports an optional package."""
    for line in run_python(root, _IMPORT_ALL).splitlines():
        module, *packages = line.split()
        yield f"{module}: its import must not import {', '.join(packages)}"


_IMPORT_ALL = """
import importlib, pkgutil, sys

def load(module, *allowed):
    before = set(sys.modules)
    try:
        importlib.import_module(module)
    except ImportError:  # an integration says that its library is absent
        pass
    packages = {name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names - set(allowed)
    packages = [name for name in sorted(packages) if not name.startswith("_sysconfigdata")]  # of the standard library
    if packages:
        print(module, *packages)

load("fastndcg", "fastndcg")
if "fastndcg.metrics.families" in sys.modules:
    print("fastndcg", "fastndcg.metrics.families")
load("fastndcg.cli", "fastndcg")
import numba, numpy  # numba imports other packages, such as scipy, where they are installed
from fastndcg.integrations import NEEDS
for module in pkgutil.walk_packages(sys.modules["fastndcg"].__path__, "fastndcg."):
    if module.name not in {"fastndcg.__main__", *(f"fastndcg.integrations.{name}" for name in NEEDS)}:
        load(module.name, "fastndcg", "numpy", "numba", "llvmlite")
"""


def _read_places(root: Path, folder: str) -> set[str]:
    """Return the file and the name of each function in a folder, such as "gains.ndcg"."""
    files = read_files(root, folder)
    return {f"{file.path.stem}.{node.name}" for file in files for node in file.tree.body if isinstance(node, Function)}


def _read_kernels(root: Path) -> Iterator[tuple[File, ast.FunctionDef]]:
    """Yield every kernel, and every function that only kernels call, with its file."""
    for file in read_files(root, "fastndcg/kernels"):
        if file.path.parent.name != "native" and file.path.stem not in NO_KERNELS:
            yield from ((file, node) for node in file.tree.body if isinstance(node, ast.FunctionDef))


@functools.cache
def _words_in_tests(path: Path) -> set[str]:
    """Return the names and the words of texts in a file of tests, in lower case, without docstrings."""
    tree = parse(path.read_text(encoding="utf-8"))
    docstrings = {
        ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, Function | ast.Module)
    }
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {word.lower() for text in names | (texts - docstrings) for word in re.findall(r"[A-Za-z_-]*[A-Za-z]", text)}
