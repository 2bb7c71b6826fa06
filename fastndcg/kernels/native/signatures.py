"""
The types that kernels are built for, signatures.txt, and where the machine code of each kernel comes from.

This module does not import Numba.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from fastndcg.errors import shorten
from fastndcg.kernels import machine_code
from fastndcg.kernels.machine_code import KERNELS, LEVEL_NAMES, Library

NATIVE = Path(__file__).parent
LINE = re.compile(r"(?P<place>[\w.]+) (?P<arguments>.*) -> (?P<result>none|int|bool|float|int \* \d)")
TOKEN = re.compile(r"\w+\(|[()]|[a-z]\d\[[:,]*\][FA]?|\w+")
SHORT = {"int": "i", "float": "f", "bool": "b", "uint64": "u", "none": "n"}


class BuildError(RuntimeError):
    """A library cannot be built on this machine. The message says why."""


class Signature(NamedTuple):
    """A line of signatures.txt: a kernel, the types of its arguments, and that of its result."""

    place: str
    arguments: str
    result: str

    @property
    def module(self) -> str:
        """The file of the kernel, such as "metrics.gains"."""
        return self.place.rpartition(".")[0]

    @property
    def code(self) -> str:
        """The text by which the trampoline chooses the machine code."""
        return encode(self.arguments)

    @property
    def symbol(self) -> str:
        """The name of the C function."""
        return f"fn_{hashlib.sha256(f'{self.place} {self.code}'.encode()).hexdigest()[:16]}"


def read_signatures() -> list[Signature]:
    """Return all signatures that are built."""
    lines = (NATIVE / "signatures.txt").read_text().splitlines()
    return [Signature(**_match(line).groupdict()) for line in lines if line and not line.startswith("#")]


def _match(line: str) -> re.Match[str]:
    match = LINE.fullmatch(line)
    if match is None:
        raise BuildError(f"signatures.txt must have lines `place types -> result`, but has {shorten(line)}")
    return match


def encode(arguments: str) -> str:
    """
    Return the types of arguments as the trampoline writes them.

    >>> encode("f8[:] i8[:,:]A int Rows(i4[:] none)")
    'f81Ci82Ai(i41Cn)'
    """
    code = ""
    for token in TOKEN.findall(arguments):
        array = re.fullmatch(r"(\w\d)\[([:,]*)\]([FA]?)", token)
        if array:
            code += f"{array[1]}{array[2].count(':')}{array[3] or 'C'}"
        else:
            code += token[-1] if token[-1] in "()" else SHORT.get(token, token)
    return code


def load_kernel(signature: Signature) -> Any:
    """Return the kernel of a signature."""
    return getattr(import_module(f"fastndcg.kernels.{signature.module}"), signature.place.rpartition(".")[2])


def find_class(name: str, kernel: Any) -> Any:
    """Return the NamedTuple of a name in a signature, from the file of the kernel or from shared.py."""
    shared = import_module("fastndcg.kernels.shared")
    return kernel.py_func.__globals__.get(name) or getattr(shared, name)


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
