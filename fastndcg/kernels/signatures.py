"""Read the list of the types that kernels are built for, signatures.txt. This module does not import Numba."""

from __future__ import annotations

import hashlib
import re
from importlib import import_module
from typing import Any, NamedTuple

from fastndcg.errors import shorten
from fastndcg.kernels.machine_code import KERNELS

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
    lines = (KERNELS / "signatures.txt").read_text().splitlines()
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
    """Return the NamedTuple of a name in a signature, from the file of the kernel or from input_arrays.py."""
    arrays = import_module("fastndcg.kernels.input_arrays")
    return kernel.py_func.__globals__.get(name) or getattr(arrays, name)
