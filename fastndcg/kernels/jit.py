"""
Decorators of kernels and of what kernels call. This module does not import Numba.

@kernel       A function that Python calls.
@inline       A function that becomes part of each kernel that calls it. It is not compiled by itself.
@helper       A long function that is compiled once for all kernels that call it.
@instruction  A function that Numba replaces by the machine instructions of the same name in intrinsics.py.

A kernel runs machine code that was built before, for the types of the call: see machine_code.py. Without it, Numba
compiles the kernel: see compiler.py. If NUMBA_DISABLE_JIT is set, all these functions are plain Python.

Options of all kernels, and the reasons:

nogil        kernels release the interpreter's lock, because the engine runs them on several threads. Nothing is
             `parallel`: Numba's thread layers abort the process if two threads enter them, fail after a fork and
             are set for the whole process.
fastmath     off, so that the bytes of a result depend on the data and the convention alone
error_model  NumPy's, because a loop that checks for division by zero is not vectorised
_nrt         off, so a kernel allocates nothing. With reference counting on, Numba counts references to arrays wherever
             a loop calls an inlined function with them.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeVar, overload

from fastndcg.kernels import machine_code
from fastndcg.runtime.imports import load, optional_import

IS_JIT_OFF = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")

Function = TypeVar("Function", bound=Callable[..., Any])


class Compiled:
    """
    A function of the kernels that stands for its machine code, or for its Numba function.

    Attributes
    ----------
    py_func : function
        The Python source.
    kind : str
        "kernel", "inline", "helper" or "instruction".
    options : dict
        Options of `kernel`.
    run : callable
        What a call of a kernel runs. The first call finds it.
    targetoptions : dict
        Numba reads here whether it must put the function into its callers.
    """

    def __init__(self, function: Callable[..., Any], kind: str, options: dict[str, bool]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self.kind = kind
        self.options = options
        self.run: Callable[..., Any] = self._first_run
        self.is_ready = False
        self.targetoptions = {"inline": "always"} if kind == "inline" else {}

    def __call__(self, *arguments: Any) -> Any:
        """Call the machine code, the Numba function or, for instructions, the Python source."""
        return self.run(*arguments)

    @property
    def place(self) -> str:
        """The name of the function below `fastndcg.kernels`, such as "metrics.gains.ndcg"."""
        return f"{self.py_func.__module__.removeprefix('fastndcg.kernels.')}.{self.py_func.__name__}"

    @property
    def numba_function(self) -> Any:
        """The function that Numba compiles for each signature."""
        found = self.__dict__.get("_numba_function")
        if found is None:  # of two threads that make one, the first wins; a lock here could deadlock with a fork
            made = load_compiler().make(self)
            found = self.__dict__.setdefault("_numba_function", made)
        return found

    @property
    def numba_options(self) -> dict[str, Any]:
        """The options of `numba.njit`."""
        if self.kind == "inline":
            return {"inline": "always"}
        if self.kind == "helper":
            return {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
        options: dict[str, Any] = {"nogil": not self.options.get("holds_gil"), "error_model": "numpy"}
        if not self.options.get("allocates"):  # users' own code may call kernels that allocate, by the C wrapper
            options |= {"_nrt": False, "no_cfunc_wrapper": True}
        if self.options.get("reorders_sums"):
            options["fastmath"] = {"reassoc", "contract", "nsz"}
        return options

    def _first_run(self, *arguments: Any) -> Any:
        if self.kind == "instruction":
            self.run = self.py_func
        else:
            found = machine_code.find(self.place, self._compile_and_run) if self.kind == "kernel" else None
            self.run = found or self.numba_function
        self.is_ready = True
        return self.run(*arguments)

    def _compile_and_run(self, *arguments: Any) -> Any:
        """Run a call for whose types there is no machine code."""
        return self.numba_function(*arguments)


@overload
def kernel(function: Function, /) -> Function: ...


@overload
def kernel(
    *, allocates: bool = False, holds_gil: bool = False, reorders_sums: bool = False, takes_functions: bool = False
) -> Callable[[Function], Function]: ...


def kernel(function: Any = None, /, **options: bool) -> Any:
    """
    Mark a function that Python calls.

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
    takes_functions : bool
        True if an argument is a compiled function. Such a kernel is always compiled in memory.

    Returns
    -------
    callable
        The kernel, or a decorator if `function` is left out.
    """
    if function is None:
        return functools.partial(kernel, **options)
    return function if IS_JIT_OFF else Compiled(function, "kernel", options)


def inline(function: Function) -> Function:
    """Make a function part of each kernel that calls it."""
    return function if IS_JIT_OFF else Compiled(function, "inline", {})  # type: ignore[return-value]


def helper(function: Function) -> Function:
    """Compile a function once for all kernels that call it."""
    return function if IS_JIT_OFF else Compiled(function, "helper", {})  # type: ignore[return-value]


def instruction(function: Function) -> Function:
    """Replace a function by machine instructions in each kernel that calls it."""
    return function if IS_JIT_OFF else Compiled(function, "instruction", {})  # type: ignore[return-value]


def compile_custom_metric(function: Function) -> Function:
    """Compile a user's function, with checks of its indices, unless the user has compiled it."""
    return load_compiler().compile_custom_metric(function)  # type: ignore[no-any-return]


@functools.cache  # while Numba compiles, nothing may wait for the lock of imports
def load_compiler() -> ModuleType:
    """Return the module compiler.py, which imports Numba."""
    optional_import("numba", "compiling a kernel or a function of yours", "")
    return load("fastndcg.kernels.compiler")
