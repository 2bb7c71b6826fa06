"""Tell where the machine code of each kernel comes from. This module does not import Numba."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from fastndcg.kernels import machine_code
from fastndcg.kernels.machine_code import KERNELS, LEVEL_NAMES, Library
from fastndcg.kernels.signatures import Signature, read_signatures


def list_kernels() -> list[str]:
    """Return a line for each kernel and signature: its place, the types, and where its machine code comes from."""
    by_place: dict[str, list[Signature]] = {}
    for signature in read_signatures():
        by_place.setdefault(signature.place, []).append(signature)
    lines = []
    for place in sorted({*find_kernels(), *by_place}):
        for signature in by_place.get(place, []):
            lines.append(f"{place} {signature.arguments}: {find_source(signature)}")
        if place not in by_place:
            lines.append(f"{place}: Numba, for the types of the call")
    return [*lines, *describe_libraries()]


def find_source(signature: Signature) -> str:
    """Return where the machine code of a signature comes from, such as "package (x86-64-v3)"."""
    reasons = []
    for name, library in named_libraries():
        if library.level is None:
            continue
        stale = library.explain_stale(signature.place) if signature.place in library.places() else None
        if stale is not None:
            reasons.append(f"{stale} was edited after the build of the {name}")
        elif signature.code in library.list_signatures(signature.place):
            return f"{name} ({LEVEL_NAMES[library.level]})"
    return f"Numba{', since ' if reasons else ''}{' and '.join(reasons)}"


def named_libraries() -> Iterator[tuple[str, Library]]:
    """Yield the libraries and the names of their places."""
    for library in machine_code.libraries():
        yield "package" if library.path.parent == KERNELS else "cache", library


def describe_libraries() -> list[str]:
    """Return a line for each place that machine code can come from, with the reason why one is not used."""
    if machine_code.is_switched_off():
        return ["machine code: none is used, as the environment says (FASTNDCG_MACHINE_CODE or NUMBA_...)"]
    lines = []
    for name, library in named_libraries():
        level = [] if library.level is None else [LEVEL_NAMES[library.level]]
        state = ", but ".join([*level, *([library.problem] if library.problem else [])]) or "none"
        lines.append(f"machine code in the {name}: {state}, {library.path}")
    return lines


def find_kernels() -> Iterator[str]:
    """Yield the place of each function with the decorator `kernel`, from the sources."""
    for path in sorted(KERNELS.rglob("*.py")):
        module = ".".join(path.relative_to(KERNELS).with_suffix("").parts)
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(_is_kernel(decorator) for decorator in node.decorator_list):
                yield f"{module}.{node.name}"


def _is_kernel(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id == "kernel"
