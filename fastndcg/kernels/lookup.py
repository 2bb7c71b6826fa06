"""
The one door from other packages to kernels.

No package outside `kernels` imports a file of kernels at its top: numba is imported when a kernel is first needed.
`find_kernel` returns the kernel that a record of the catalogue names. `load_kernels` returns a file of other kernels.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType

from fastndcg.kernels import jit
from fastndcg.runtime.lazy_import import load


def find_kernel(place: str) -> Callable[..., None]:
    """Return the kernel at a place, such as "gains.ndcg": a file of metrics' kernels, and a function in it."""
    file, _, name = place.partition(".")
    kernel = getattr(load_kernels(f"metrics.{file}"), name)
    jit.note_lookup(kernel)
    return kernel  # type: ignore[no-any-return]


@functools.cache
def load_kernels(place: str) -> ModuleType:
    """
    Return a file of kernels by its place in the package `kernels`, imported on first use.

    >>> load_kernels("ranking.rank").AUTO
    0
    """
    return load(f"fastndcg.kernels.{place}")
