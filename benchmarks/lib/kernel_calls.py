"""
Observation of the kernels that Python calls during an evaluation.

Kernels are replaced in the modules of fastndcg by functions that call them. A kernel that fastndcg keeps elsewhere,
such as in an object that was made before, is not observed.
"""

from __future__ import annotations

import pkgutil
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib import import_module
from typing import Any
from unittest import mock

from numba.core.dispatcher import Dispatcher

import fastndcg.kernels

KernelCall = Callable[[Any, tuple[Any, ...]], Any]


@contextmanager
def time_kernels() -> Iterator[tuple[Counter[str], Counter[str]]]:
    """Yield the seconds and the number of calls of each kernel by name, for kernels that are already compiled."""
    seconds: Counter[str] = Counter()
    n_calls: Counter[str] = Counter()

    def call(kernel: Any, arguments: tuple[Any, ...]) -> Any:
        name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"
        start = time.perf_counter()
        result = kernel(*arguments)
        seconds[name] += time.perf_counter() - start
        n_calls[name] += 1
        return result

    with replace_kernels(call):
        yield seconds, n_calls


def prepare_kernels(prepare: Callable[[], Callable[[], Any]]) -> Callable[[], Any]:
    """
    Return a call that runs only the kernels of an evaluation, with the same arguments.

    `prepare` returns the evaluation. Its second call is recorded, as the first may prepare arrays.
    """
    recorded: list[tuple[Any, tuple[Any, ...]]] = []

    def call(kernel: Any, arguments: tuple[Any, ...]) -> Any:
        recorded.append((kernel, arguments))
        return kernel(*arguments)

    prepare()()  # compiles
    with replace_kernels(call):
        evaluate = prepare()
        evaluate()
        recorded.clear()
        evaluate()
    return lambda: [kernel(*arguments) for kernel, arguments in recorded]


@contextmanager
def replace_kernels(call: KernelCall) -> Iterator[None]:
    """Let a function call each compiled kernel that Python calls, until the block ends."""
    names = [module.name for module in pkgutil.walk_packages(fastndcg.kernels.__path__, "fastndcg.kernels.")]
    modules = [import_module(name) for name in names]
    modules += [module for name, module in sys.modules.items() if name.startswith("fastndcg.") and name not in names]
    with ExitStack() as stack:
        for module in modules:
            for name, value in list(vars(module).items()):
                if isinstance(value, Dispatcher) and value.signatures:
                    stack.enter_context(mock.patch.object(module, name, _wrap_kernel(value, call)))
        _clear_engine_caches()
        yield
    _clear_engine_caches()


def _wrap_kernel(kernel: Any, call: KernelCall) -> Callable[..., Any]:
    """Return a function in place of a kernel, with the attribute from which the engine reads parameter names."""

    def replacement(*arguments: Any) -> Any:
        return call(kernel, arguments)

    replacement.py_func = kernel.py_func  # type: ignore[attr-defined]
    return replacement


def _clear_engine_caches() -> None:
    """Clear the functions of the engine that cache their results, as plans contain kernels."""
    for name, module in list(sys.modules.items()):
        if name.startswith("fastndcg.engine") or name == "fastndcg.kernels.lookup":
            for value in list(vars(module).values()):
                if hasattr(value, "cache_clear"):
                    value.cache_clear()
