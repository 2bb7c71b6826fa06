"""The project as the rules read it: files, syntax trees, imports, and the catalogue of metrics."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

SKIPPED_FOLDERS = {".git", ".venv", ".whl", "__pycache__", "dist", "build"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class File(NamedTuple):
    """A Python file of the project."""

    path: Path
    name: str  # path relative to the root, with slashes
    tree: ast.Module

    @property
    def room(self) -> str:
        """The package or module directly in `fastndcg` that the file belongs to, "" for the package itself."""
        parts = Path(self.name).with_suffix("").parts[1:]
        return "" if parts[0] == "__init__" else parts[0]

    @property
    def package(self) -> str:
        """The room of a file of the package, and the top folder of any other file."""
        return (self.room or "fastndcg") if self.name.startswith("fastndcg/") else self.name.partition("/")[0]

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        parts = Path(self.name).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


class Import(NamedTuple):
    """One import statement: whether it runs when its file is imported, and whether only type checkers read it."""

    module: str
    names: tuple[str, ...]
    line: int
    at_top: bool
    is_type_only: bool


def read_files(root: Path, *folders: str) -> list[File]:
    """Return every Python file in some folders of the project."""
    paths = [
        path
        for folder in folders
        for path in sorted((root / folder).rglob("*.py"))
        if not SKIPPED_FOLDERS & set(path.parts)
    ]
    return [File(path, path.relative_to(root).as_posix(), parse(path.read_text(encoding="utf-8"))) for path in paths]


parse = functools.cache(ast.parse)


def read_imports(file: File) -> Iterator[Import]:
    """Yield every import of a file, relative imports with their dots."""
    type_only = _find_nodes(file, _is_type_checking)
    inner = _find_nodes(file, lambda node: isinstance(node, Function)) | type_only
    for node in ast.walk(file.tree):
        at_top = id(node) not in inner
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno, at_top, id(node) in type_only)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            module = "." * node.level + (node.module or "")
            yield Import(module, names, node.lineno, at_top, id(node) in type_only)


def _find_nodes(file: File, is_block: Callable[[ast.AST], bool]) -> set[int]:
    """Return the ids of all nodes inside some blocks."""
    return {id(node) for block in ast.walk(file.tree) if is_block(block) for node in ast.walk(block)}


def _is_type_checking(node: ast.AST) -> bool:
    """Return True for a block that only type checkers read."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def list_project_files(root: Path) -> Iterable[Path]:
    """Return all files under version control, or all files that no tool has written if there is no repository."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
        listing = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
        if listing.returncode == 0:
            return [root / name for name in listing.stdout.split("\0") if (root / name).is_file()]
    return [path for path in root.rglob("*") if path.is_file() and not SKIPPED_FOLDERS & set(path.parts)]


def run_python(root: Path, code: str) -> str:
    """Return the output of a new Python process that imports the package from `root`."""
    # buffered output: unbuffered writes to a full pipe are lost if a signal interrupts them
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout


def read_catalogue(root: Path) -> Any:
    """Return the records as dicts, and the metrics whose texts do not parse back."""
    return json.loads(run_python(root, _READ_CATALOGUE))


_READ_CATALOGUE = """
import dataclasses, json
from fastndcg.metrics.catalog import EVERY
from fastndcg.metrics.metric import Metric

VALUES = {"gain": "exp2", "discount": "1/r", "table": (0.25, 0.5), "int": 3}

def make_value(parameter):
    if parameter.type in ("float", "choice"):
        return parameter.choices[0] if parameter.choices else next(x for x in (2.5, 0.25) if parameter.allows(x))
    return VALUES[parameter.type]

def texts():
    for record in EVERY.values():
        parameters = {p.name: make_value(p) for p in record.parameters}
        cutoffs = (None, 10) if record.has_cutoff else (None,)
        for k in cutoffs:
            for metric in (Metric(record.name, k), Metric(record.name, k, **parameters)):
                yield str(metric), metric
            for name in filter(None, (*record.aliases, record.trec_name)):
                yield name + ("" if k is None else f"@{k}"), Metric(record.name, k)
        if record.trec_cut:
            yield record.trec_cut + "_10", Metric(record.name, 10)

def parses_back(text, metric):
    try:
        return Metric.parse(text) == metric and Metric.parse(str(metric)) == metric
    except Exception:
        return False

wrong = [f"catalog: {text!r} does not read as {metric}" for text, metric in texts() if not parses_back(text, metric)]
print(json.dumps({"records": [dataclasses.asdict(record) for record in EVERY.values()], "not_read_back": wrong}))
"""
