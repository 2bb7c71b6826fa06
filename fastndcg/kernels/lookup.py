"""
The one door from other packages to kernels.

No package outside `kernels` imports a file of kernels at its top: numba is imported when a kernel is first needed.
`load_kernels` returns a file of kernels. `find_call` returns what the call of a kernel runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fastndcg.kernels import jit, machine_code
from fastndcg.runtime.imports import load


def find_call(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return the machine code of a kernel, which takes a call of Python less, or the kernel where there is none."""
    if not isinstance(kernel, jit.Compiled) or kernel.kind != "kernel":
        return kernel
    if not kernel.is_ready:
        found = machine_code.find(kernel.place, kernel._compile_and_run)
        if found is None:  # its first call compiles
            return kernel
        kernel.run = found
        kernel.is_ready = True
    return kernel.run


class KernelFile:
    """What a file of kernels defines, imported on first use. Its kernels are those of `find_call`."""

    def __init__(self, module: str) -> None:
        self._name_of_module = module

    def __getattr__(self, name: str) -> Any:
        found = getattr(load(self._name_of_module), name)
        call = find_call(found)
        if call is not found or not isinstance(found, jit.Compiled):
            setattr(self, name, call)
        return call


@functools.cache
def load_kernels(place: str) -> KernelFile:
    """
    Return a file of kernels by its place in the package `kernels`.

    >>> load_kernels("ranking.rank").AUTO
    0
    """
    return KernelFile(f"fastndcg.kernels.{place}")
