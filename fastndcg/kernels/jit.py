"""
Compile functions with Numba: one decorator for kernels, two for functions that only kernels call.

@kernel   A function that Python calls. It is compiled by its first call and cached on disk: see cache.py.
@inline   A function that becomes part of each kernel that calls it. It is not compiled by itself.
@helper   A long function that is compiled once for all kernels that call it.

Options that all of them share, and the reasons:

nogil        kernels release the interpreter's lock, because the engine runs them on several threads. Nothing is
             `parallel`: Numba's thread layers abort the process if two threads enter them, fail after a fork and
             are set for the whole process.
fastmath     off, so that the bytes of a result depend on the data and the convention alone
error_model  NumPy's, because a loop that checks for division by zero is not vectorised
_nrt         off, so a kernel allocates nothing. With reference counting on, Numba counts references to arrays wherever
             a loop calls an inlined function with them.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba
import numpy.ma  # noqa: F401  Numba imports it at the first call, and a fork does not wait for that import
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from fastndcg.kernels.cache import FOLDER, KernelCache, cache_folder
from fastndcg.runtime.compilation import compiling
from fastndcg.runtime.lazy_import import fork_locks

__all__ = ["FOLDER", "cache_folder", "compile_custom_metric", "helper", "inline", "kernel"]

Function = TypeVar("Function", bound=Callable[..., Any])

_dispatchers: set[Any] = set()  # of all kernels


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(
    *, allocates: bool = False, holds_gil: bool = False, reorders_sums: bool = False, is_cached: bool = True
) -> Callable[[Function], Function]: ...


def kernel(
    function: Any = None,
    /,
    *,
    allocates: bool = False,
    holds_gil: bool = False,
    reorders_sums: bool = False,
    is_cached: bool = True,
) -> Any:
    """
    Compile a function that Python calls, on its first call, for the types of that call.

    Parameters
    ----------
    function : callable, optional
        The function. Leave it out to give options: ``@kernel(allocates=True)``.
    allocates : bool
        True if the kernel makes arrays.
    holds_gil : bool
        True if the kernel reads Python objects, which no other thread may change meanwhile.
    reorders_sums : bool
        True to let the compiler reorder and fuse additions, so that it vectorises sums. Only for sums of whole numbers
        below 2**53, which are exact in any order.
    is_cached : bool
        False to compile in memory alone, for a kernel that takes functions: the cache cannot tell them apart.

    Returns
    -------
    callable
        The compiled function, or a decorator if `function` is left out.
    """
    if function is None:
        return functools.partial(
            kernel, allocates=allocates, holds_gil=holds_gil, reorders_sums=reorders_sums, is_cached=is_cached
        )
    options: dict[str, Any] = {"nogil": not holds_gil, "error_model": "numpy"}
    if not allocates:  # users may pass the kernels that allocate as functions to their own code, by their C wrapper
        options |= {"_nrt": False, "no_cfunc_wrapper": True}
    if reorders_sums:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    dispatcher = numba.njit(**options)(function)
    if is_cached and not numba.config.DISABLE_JIT:
        with contextlib.suppress(Exception):  # without a folder for the cache, compile in memory
            dispatcher._cache = KernelCache(function)
        dispatcher._compilation_chain_init_hook = _import_no_extensions
        _dispatchers.add(dispatcher)
    return dispatcher


def inline(function: Function) -> Function:
    """Make a function part of each kernel that calls it."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


def helper(function: Function) -> Function:
    """Compile a function once for all kernels that call it."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


@functools.cache
def compile_custom_metric(function: Function) -> Function:
    """Compile a user's function, with checks of its indices, unless the user has compiled it."""
    if hasattr(function, "py_func"):
        return function
    return numba.njit(nogil=True, boundscheck=True)(function)  # type: ignore[no-any-return]


def _import_no_extensions() -> None:
    """
    Replace Numba's hook that imports all packages which extend it, such as awkward.

    Kernels take none of their types. The first call of a process takes 0.51 s in place of 0.68 s with awkward installed
    (least of 3, cached machine code). A kernel that is compiled again imports them all the same.
    """


class _CompilationListener(event.Listener):
    """
    Announce the compilation of kernels.

    Numba calls both methods for every function that this process compiles, and holds its lock meanwhile.
    """

    def __init__(self) -> None:
        self._contexts: list[Any] = []

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] in _dispatchers:
            context = compiling(FOLDER.problem)
            context.__enter__()
            self._contexts.append(context)

    def on_end(self, event: Any) -> None:
        if event.data["dispatcher"] in _dispatchers and self._contexts:
            self._contexts.pop().__exit__(None, None, None)


event.register("numba:compile", _CompilationListener())

fork_locks.append(global_compiler_lock)  # a child process would wait forever for a lock of a thread that it lacks
