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

PACKAGES = ("metrics", "rank_correlation", "beyond_accuracy")  # no two of their files share a name


def find_kernel(place: str) -> Callable[..., None]:
    """Return the kernel at a place, such as "dcg.ndcg": a file in one of `PACKAGES`, and a function in it."""
    file, _, name = place.partition(".")
    kernel = getattr(_find_file(file), name)
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


@functools.cache
def _find_file(file: str) -> ModuleType:
    """Return the module of a file of metrics' kernels, not a kernel: benchmarks replace kernels to time them."""
    for package in PACKAGES:
        path = f"fastndcg.kernels.{package}.{file}"
        try:
            return load(path)
        except ModuleNotFoundError as error:
            if error.name != path:
                raise
    raise LookupError(f"no file of kernels is called {file}")
