"""The project as the rules read it: files, syntax trees, imports, and the catalogue of metrics."""

from __future__ import annotations

import ast
import functools
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

SKIPPED_FOLDERS = {".git", ".venv", "__pycache__", "dist", "build"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class File(NamedTuple):
    """A Python file of the project."""

    path: Path
    name: str  # path relative to the root, with slashes
    tree: ast.Module

    @property
    def module(self) -> str:
        """The dotted name of the module."""
        parts = Path(self.name).with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


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


def walk_statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield a tree and all statements in it: a tenth of its nodes."""
    yield tree
    for field in ("body", "handlers", "orelse", "finalbody", "cases"):
        parts = getattr(tree, field, ())
        for part in parts if isinstance(parts, list) else ():
            yield from walk_statements(part)


def run_python(root: Path, code: str) -> str:
    """Return the output of a new Python process that imports the package from `root`."""
    # buffered output: unbuffered writes to a full pipe are lost if a signal interrupts them
    # no .pyc files: two edits within a second that keep the size would find those of the first one
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONUNBUFFERED": "", "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout


def read_catalogue(root: Path) -> Any:
    """Return the records as dicts."""
    code = "import dataclasses, json\nfrom fastndcg.metrics.families import CATALOG\n"
    return json.loads(run_python(root, f"{code}print(json.dumps([*map(dataclasses.asdict, CATALOG.values())]))"))
