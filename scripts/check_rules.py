"""
The rules of the code base that no linter knows, checked over the syntax trees and the catalogue.

Usage: python scripts/check_rules.py [ROOT]

Prints what breaks a rule, one line each, and exits with 1 if anything does. A rule is a function that yields them.
"""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

# each room may import from those before it, and from itself
ROOMS = (
    "errors", "texts", "casts", "display", "cpus", "threads", "whole_files",
    "kernels", "catalog", "conventions",
    "parameters", "metric", "registry", "trec", "ordinals", "patterns", "rankings", "ranked", "combinations",
    "inputs", "of_queries", "sums", "aggregates", "results", "discounts",
    "checks", "documents", "memory", "giants", "chunk", "steps", "relevant", "gains", "walks", "stops", "views",
    "novelty", "of_user", "arguments", "engine", "parts",
    "agreement", "beyond",
    "reference", "evaluate",
    "streaming", "functions", "explain", "statistics", "reports",
    "compat", "integrations",
    "warm", "cli", "__main__",
)  # fmt: skip
# methods that hand their object over to a later room, such as result.plot(): users ask the object at hand, the work
# belongs behind it, and at the top of the file the import would be a circle
HANDED_OVER = {"results": {"statistics", "reports"}, "statistics": {"reports"}}
NOT_FOR_REFERENCE = {"kernels", "discounts", "checks", "documents", "memory", "giants", "chunk", "steps", "relevant"}
NOT_FOR_REFERENCE |= {"stops", "gains", "walks", "views", "novelty", "of_user", "arguments", "engine", "parts"}
NOT_FOR_REFERENCE |= {"agreement", "beyond"}
# decorators, and what kernels use
NO_KERNELS = {"__init__.py", "addresses.py", "jit.py", "objects.py", "vectors.py", "words.py"}
MOST_FILE_LINES = 350
MOST_FUNCTION_LINES = 40
SHORT_ENOUGH = ("fastndcg", "scripts", "benchmarks")
UNFINISHED = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X")) + r")\b")
SKIPPED_FOLDERS = {".git", ".venv", ".whl", "__pycache__", "dist", "build"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


class File(NamedTuple):
    """A Python file of the project."""

    path: Path
    name: str  # relative to the root, as messages name it
    tree: ast.Module

    @property
    def room(self) -> str:
        """The room that the file belongs to: its folder or file in the package, "" for the package itself."""
        parts = Path(self.name).with_suffix("").parts[1:]
        return "" if parts[0] == "__init__" else parts[0]


class Import(NamedTuple):
    """One imported module, and whether that happens when its file is imported."""

    module: str
    names: tuple[str, ...]
    line: int
    at_top: bool


def files(root: Path, folder: str) -> list[File]:
    """Every Python file in a folder of the project."""
    found = sorted(path for path in (root / folder).rglob("*.py") if not SKIPPED_FOLDERS & set(path.parts))
    return [File(path, path.relative_to(root).as_posix(), _parsed(path, path.stat().st_mtime_ns)) for path in found]


@functools.cache
def _parsed(path: Path, changed: int) -> ast.Module:
    del changed
    return ast.parse(path.read_text(encoding="utf-8"))


def imports(file: File) -> Iterator[Import]:
    """Every import of a file."""
    inside = {
        id(node) for function in ast.walk(file.tree) if isinstance(function, Function) for node in ast.walk(function)
    } | {
        id(node)
        for block in ast.walk(file.tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(alias.name, (), node.lineno, id(node) not in inside)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            yield Import("." * node.level + (node.module or ""), names, node.lineno, id(node) not in inside)


def imports_go_one_way(root: Path) -> Iterator[str]:
    """Each room imports only from those before it; the reference shares no code with the kernels."""
    for file in files(root, "fastndcg"):
        if file.room not in (*ROOMS, ""):
            yield f"{file.name}: {file.room} is no room that scripts/check_rules.py knows; give it a place in ROOMS"
            continue
        for one in imports(file):
            for room in rooms_of(one):
                if room == file.room or (room == "__version__" and file.room in ("reports", "cli", "")):
                    continue
                if not one.at_top and room in HANDED_OVER.get(file.room, ()):
                    continue
                if file.room == "" or room not in ROOMS or ROOMS.index(room) > ROOMS.index(file.room):
                    yield f"{file.name}:{one.line}: {file.room or 'the package'} must not import {room}"
                elif file.room == "reference" and room in NOT_FOR_REFERENCE:
                    yield f"{file.name}:{one.line}: the reference must not share {room} with what it checks"


def rooms_of(one: Import) -> list[str]:
    """The rooms of our own that an import reaches into."""
    parts = one.module.split(".")
    if parts[0] not in ("fastndcg", ""):
        return []
    return [parts[1]] if len(parts) > 1 and parts[0] else list(one.names or ["fastndcg"])


def numba_is_for_kernels(root: Path) -> Iterator[str]:
    """Only kernels import numba."""
    for file in files(root, "fastndcg"):
        for one in imports(file):
            if one.module.split(".")[0] in ("numba", "llvmlite") and file.room != "kernels":
                yield f"{file.name}:{one.line}: only kernels import numba"


def optional_packages_wait(root: Path) -> Iterator[str]:
    """Packages that may be absent are imported in the functions that need them."""
    always_there = {*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "fastndcg", ""}
    for file in files(root, "fastndcg"):
        for one in imports(file):
            package = one.module.split(".")[0]
            if one.at_top and package not in always_there:
                yield f"{file.name}:{one.line}: {package} may be absent: import it in the function that needs it"


def kernels_look_alike(root: Path) -> Iterator[str]:
    """Every kernel, and every part of one, wears its decorator, has a docstring, and its `out…` parameters last."""
    for file in files(root, "fastndcg/kernels"):
        if file.path.name in NO_KERNELS:
            continue
        for function in (node for node in file.tree.body if isinstance(node, Function)):
            place = f"{file.name}:{function.lineno}: kernel {function.name}"
            if [ast.unparse(decorator) for decorator in function.decorator_list] not in (
                ["kernel"],
                ["allocating_kernel"],
                ["exact_kernel"],
                ["uncached_kernel"],
                ["object_kernel"],
                ["part"],
                ["unit"],
            ):
                yield f"{place} must wear @kernel, @allocating_, @exact_ or @object_kernel, @part, @unit and no other"
            if not ast.get_docstring(function):
                yield f"{place} must have a docstring"
            out = [argument.arg.startswith("out") for argument in function.args.args]
            if out != sorted(out):
                yield f"{place} must have its `out` parameters last"


def instructions_have_twins(root: Path) -> Iterator[str]:
    """What only machine code can do has a plain twin, for the runs without the JIT."""
    for file in files(root, "fastndcg/kernels"):
        functions = {node.name: node for node in file.tree.body if isinstance(node, Function)}
        for name, function in functions.items():
            decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
            if "intrinsic" in decorators and f"_plain_{name.lstrip('_')}" not in functions:
                yield f"{file.name}:{function.lineno}: {name} needs a twin, _plain_{name.lstrip('_')}"


def catalogue_is_complete(root: Path) -> Iterator[str]:
    """Every record has a kernel, a twin in the reference, a definition test and a source."""
    kernels = {
        f"{file.path.stem}.{node.name}"
        for file in files(root, "fastndcg/kernels")
        for node in file.tree.body
        if isinstance(node, Function)
    }
    twins = {
        f"{Path(file.name).stem}.{node.name}"
        for file in files(root, "fastndcg")
        if file.room == "reference"
        for node in file.tree.body
        if isinstance(node, Function)
    }
    tested = set[str]().union(*map(words_in_tests, (root / "tests").glob("test_definitions*.py")))
    for record in catalogue(root)["records"]:
        for kernel in (record["kernel"], *(variant[2] for variant in record["variants"])):
            if kernel not in kernels:
                yield f"catalog: {record['name']} names the kernel {kernel}, which is not there"
            if kernel not in twins:
                yield f"reference: there is no {kernel}, the twin of {record['name']}'s kernel"
        if not record["source"]:
            yield f"catalog: {record['name']} must have a source"
        if not tested & {word.lower() for word in (record["name"], *record["aliases"])}:
            yield f"tests/test_definitions*.py: {record['name']} has no definition test"


def words_in_tests(path: Path) -> set[str]:
    """Names and words of texts in a file of tests, in small letters; not those in docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        ast.get_docstring(node, clean=False) for node in ast.walk(tree) if isinstance(node, Function | ast.Module)
    }
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    return {word.lower() for text in names | (texts - docstrings) for word in re.findall(r"[A-Za-z_-]*[A-Za-z]", text)}


def metrics_read_back(root: Path) -> Iterator[str]:
    """The text of every metric and alias reads as its value, and the value's text as the value."""
    yield from catalogue(root)["not_read_back"]


def import_is_light(root: Path) -> Iterator[str]:
    """Importing the package brings neither numpy nor numba nor an optional package, nor does its command line."""
    for module in ("fastndcg", "fastndcg.cli"):
        code = f"import sys; old = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - old))"
        for loaded in sorted({name.partition(".")[0] for name in run_python(root, code).split()}):
            if loaded not in sys.stdlib_module_names and loaded != "fastndcg":
                yield f"importing {module} imports {loaded}"


def nothing_is_long(root: Path) -> Iterator[str]:
    """Files and functions stay short; docstrings do not count."""
    for folder in SHORT_ENOUGH:
        for file in files(root, folder):
            n_lines = len(file.path.read_text(encoding="utf-8").splitlines())
            if n_lines > MOST_FILE_LINES:
                yield f"{file.name}: {n_lines} lines, more than {MOST_FILE_LINES}"
            for node in ast.walk(file.tree):
                n_lines = lines_of(node) if isinstance(node, Function) else 0
                if n_lines > MOST_FUNCTION_LINES:
                    yield f"{file.name}:{node.lineno}: {node.name} has {n_lines} lines, more than {MOST_FUNCTION_LINES}"


def lines_of(function: Function) -> int:
    """How many lines the body of a function has, its docstring aside."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def nothing_is_unfinished(root: Path) -> Iterator[str]:
    """No line says that something is still to be done."""
    for path in project_files(root):
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        for number, line in enumerate(lines, start=1):
            if UNFINISHED.search(line):
                yield f"{path.relative_to(root).as_posix()}:{number}: finish it, or write an issue: {line.strip()[:80]}"


def project_files(root: Path) -> Iterable[Path]:
    """The files under version control, or all but what tools make where there is no such thing."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, capture_output=True, text=True, check=False,
    ) if (root / ".git").exists() else None  # fmt: skip
    if listed is not None and listed.returncode == 0:
        return [root / name for name in listed.stdout.split("\0") if (root / name).is_file()]
    return [path for path in root.rglob("*") if path.is_file() and not SKIPPED_FOLDERS & set(path.parts)]


def run_python(root: Path, code: str) -> str:
    """What a fresh Python prints, to which the package is that of `root`."""
    # buffered: else what does not fit into a pipe at once is lost where a signal comes in between
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=environment, cwd=root, capture_output=True, text=True, check=True).stdout


def catalogue(root: Path) -> Any:
    """The records, and what does not read back, as a fresh Python sees them."""
    return json.loads(run_python(root, READ_CATALOGUE))


READ_CATALOGUE = """
import dataclasses, json
from fastndcg.catalog import EVERY
from fastndcg.metric import Metric

VALUES = {"gain": "exp2", "probability": 0.25, "share": 0.25, "count": 3, "shares": (0.25, 0.5)}
VALUES |= {"discount": "1/r", "fraction": 0.25, "grade": 3}
VALUES |= dict.fromkeys(("threshold", "positive", "number", "goal"), 2.5)

def problems():
    for record in EVERY.values():
        given = {p.name: VALUES.get(p.kind, p.kind.partition("|")[0]) for p in record.parameters}
        cutoffs = (None, 10) if record.takes_k else (None,)
        for k in cutoffs:
            for metric in (Metric(record.name, k), Metric(record.name, k, **given)):
                yield str(metric), metric
            for name in filter(None, (*record.aliases, record.trec_name)):
                yield name + ("" if k is None else f"@{k}"), Metric(record.name, k)
        if record.trec_cut:
            yield record.trec_cut + "_10", Metric(record.name, 10)

def reads(text, metric):
    try:
        return Metric.parse(text) == metric and Metric.parse(str(metric)) == metric
    except Exception:
        return False

wrong = [f"catalog: {text!r} does not read as {metric}" for text, metric in problems() if not reads(text, metric)]
print(json.dumps({"records": [dataclasses.asdict(record) for record in EVERY.values()], "not_read_back": wrong}))
"""

RULES: tuple[Callable[[Path], Iterator[str]], ...] = (
    imports_go_one_way,
    numba_is_for_kernels,
    optional_packages_wait,
    kernels_look_alike,
    instructions_have_twins,
    catalogue_is_complete,
    metrics_read_back,
    import_is_light,
    nothing_is_long,
    nothing_is_unfinished,
)


def main() -> int:
    """Check every rule."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    broken = [line for rule in RULES for line in rule(root)]
    for line in broken:
        print(line)
    print(f"{len(RULES)} rules, {len(broken)} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
