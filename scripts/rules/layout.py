"""Rules on imports: one order of packages, no circles, and nothing heavy at import."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from rules.project import Import, read_files, read_imports, run_python

# a package or module imports only from those before it, and from itself
ROOMS = (
    "errors", "choices", "parsing", "runtime", "exports",
    "kernels", "conventions",
    "metrics", "rankings",
    "inputs", "results",
    "scoring",
    "engine", "reference",
    "evaluate", "agreement", "beyond_accuracy",
    "streaming", "functions", "explain", "statistics", "reports", "fusion", "discovery",
    "compat", "integrations",
    "warmup", "cli", "__main__",
)  # fmt: skip
# methods of objects that a later package implements, such as result.plot(): they import it when they are called
HANDED_OVER = {
    "conventions": {"results"},
    "metrics": {"results"},
    "results": {"statistics", "reports"},
    "streaming": {"statistics"},
    "statistics": {"reports"},
}
# files that import each other, the second one in a function: a class and the objects that its methods return
HANDED_OVER_INSIDE = {("fastndcg.conventions.convention", "fastndcg.conventions")}
NOT_FOR_REFERENCE = {"kernels", "engine", "agreement", "beyond_accuracy"}


def imports_go_one_way(root: Path) -> Iterator[str]:
    """Check that each package imports only from those before it. The reference shares no code with the kernels."""
    for file in read_files(root, "fastndcg"):
        if file.room not in (*ROOMS, ""):
            yield f"{file.name}: {file.room} is no room of scripts/rules/layout.py. Give it a place in ROOMS."
            continue
        for statement in read_imports(file):
            for room in _imported_rooms(statement):
                if room == file.room or (room == "__version__" and file.room in ("results", "reports", "cli", "")):
                    continue
                if (file.room, room) == ("", "runtime"):  # the lazy imports of the public names
                    continue
                if not statement.at_top and room in HANDED_OVER.get(file.room, ()):
                    continue
                place = f"{file.name}:{statement.line}"
                if file.room == "" or room not in ROOMS or ROOMS.index(room) > ROOMS.index(file.room):
                    yield f"{place}: {file.room or 'the package'} must not import {room}"
                elif file.room == "reference" and room in NOT_FOR_REFERENCE:
                    yield f"{place}: the reference must not share {room} with the code that it checks"


def files_have_no_circles(root: Path) -> Iterator[str]:
    """Check that no file imports itself by way of others, neither at the top nor in functions."""
    files = {file.module: file for file in read_files(root, "fastndcg")}
    arrows: dict[str, set[str]] = {}
    for module, file in files.items():
        targets = set()
        for statement in read_imports(file):
            for target in _imported_modules(statement, files):
                room = target.partition(".")[2].partition(".")[0]
                is_handed_over = room in HANDED_OVER.get(file.room, ()) or (module, target) in HANDED_OVER_INSIDE
                is_checked = (statement.at_top or not is_handed_over) and not statement.is_type_only
                if target != module and is_checked:
                    targets.add(target)
        arrows[module] = targets
    for circle in _find_circles(arrows):
        yield f"{' -> '.join([*circle, circle[0]])}: files must not import each other in a circle"


def numba_is_for_kernels(root: Path) -> Iterator[str]:
    """Check that only kernels import numba."""
    for file in read_files(root, "fastndcg"):
        for statement in read_imports(file):
            if statement.module.split(".")[0] in ("numba", "llvmlite") and file.room != "kernels":
                yield f"{file.name}:{statement.line}: only kernels import numba"


def optional_packages_wait(root: Path) -> Iterator[str]:
    """Check that optional packages are imported in the functions that use them."""
    always_there = {*sys.stdlib_module_names, "numpy", "numba", "llvmlite", "fastndcg", ""}
    for file in read_files(root, "fastndcg"):
        for statement in read_imports(file):
            package = statement.module.split(".")[0]
            if statement.at_top and package not in always_there:
                yield f"{file.name}:{statement.line}: {package} may be absent: import it in the function that uses it"


def import_is_light(root: Path) -> Iterator[str]:
    """Check that importing the package or its command line imports neither numpy nor numba nor an optional package."""
    for module in ("fastndcg", "fastndcg.cli"):
        code = f"import sys; old = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - old))"
        loaded = run_python(root, code).split()
        for package in sorted({name.partition(".")[0] for name in loaded}):
            if package not in sys.stdlib_module_names and package != "fastndcg":
                yield f"importing {module} imports {package}"
        if "fastndcg.metrics.catalog" in loaded and module == "fastndcg":
            yield f"importing {module} imports the catalogue of metrics"


def _imported_rooms(statement: Import) -> list[str]:
    """Return the rooms of the package that an import reaches into."""
    package, *parts = statement.module.split(".")
    if package not in ("fastndcg", ""):
        return []
    if package == "" or not parts:
        return list(statement.names or ["fastndcg"])
    return [parts[0]]


def _imported_modules(statement: Import, files: Mapping[str, object]) -> Iterator[str]:
    """Yield the modules of the package that an import names."""
    if statement.module.partition(".")[0] != "fastndcg":
        return
    submodules = [f"{statement.module}.{name}" for name in statement.names]
    yield from (module for module in submodules if module in files)
    if statement.module in files and statement.module != "fastndcg" and not all(name in files for name in submodules):
        yield statement.module


def _find_circles(arrows: Mapping[str, set[str]]) -> Iterator[list[str]]:
    """Yield one circle of every group of modules that reach each other."""
    in_circles: set[str] = set()
    for start in sorted(arrows):
        if start in in_circles:
            continue
        circle = _find_way_back(start, arrows)
        if circle:
            in_circles.update(circle)
            yield circle


def _find_way_back(start: str, arrows: Mapping[str, set[str]]) -> list[str]:
    """Return the shortest path from a module back to it, without its end, or an empty list."""
    paths = [[start]]
    visited: set[str] = set()
    for path in paths:  # grows: breadth first
        for target in sorted(arrows.get(path[-1], ())):
            if target == start:
                return path
            if target not in visited:
                visited.add(target)
                paths.append([*path, target])
    return []
