"""
Compile kernels with Numba, for what machine_code.py does not have.

The machine code of each compiled kernel is cached on disk. Without a home folder, on a full disk or with broken files,
kernels are compiled in memory, and no error is raised. runtime/kernel_cache.py finds and checks the folder.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import pathlib
import pickle
import sysconfig
from collections.abc import Callable, Iterator
from importlib import resources
from typing import Any, TypeVar

import numba
import numpy.ma  # noqa: F401  Numba imports it at the first call, and a fork does not wait for that import
from numba.core import caching, event
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys
from numba.extending import typeof_impl

from fastndcg.kernels import machine_code
from fastndcg.kernels.jit import Compiled
from fastndcg.runtime.imports import fork_locks, load
from fastndcg.runtime.kernel_cache import StateFolder
from fastndcg.runtime.progress import announce_compilation

Function = TypeVar("Function", bound=Callable[..., Any])

_dispatchers: set[Any] = set()  # of all kernels


def make(stub: Compiled) -> Any:
    """Return the Numba function of a kernel or of a function that kernels call."""
    if stub.kind == "instruction":
        return getattr(INTRINSICS, stub.py_func.__name__)
    dispatcher = numba.njit(**stub.numba_options)(stub.py_func)
    if stub.kind == "kernel":
        if not stub.options.get("takes_functions"):  # the cache cannot tell functions apart
            with contextlib.suppress(Exception):  # without a folder for the cache, compile in memory
                dispatcher._cache = KernelCache(stub.py_func)
        dispatcher._compilation_chain_init_hook = _import_no_extensions
        _dispatchers.add(dispatcher)
    return dispatcher


def list_dispatchers() -> list[Any]:
    """Return the Numba functions of the kernels that this process has used."""
    return list(_dispatchers)


@typeof_impl.register(Compiled)
def _type_stub(stub: Compiled, context: Any) -> Any:
    """Return the Numba type of a function that another function of the kernels calls."""
    del context
    return cpu_target.typing_context.resolve_value_type(stub.numba_function)


@functools.cache
def compile_custom_metric(function: Function) -> Function:
    """Compile a user's function, with checks of its indices, unless the user has compiled it."""
    if isinstance(function, Compiled):
        return function.numba_function  # type: ignore[no-any-return]
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
    """Announce the compilation of kernels. Numba calls it for every function that this process compiles."""

    def on_start(self, event: Any) -> None:
        if event.data["dispatcher"] in _dispatchers:
            announce_compilation()

    def on_end(self, event: Any) -> None:
        pass


event.register("numba:compile", _CompilationListener())

fork_locks.append(global_compiler_lock)  # a child process would wait forever for a lock of a thread that it lacks


class _Locator:
    """Give Numba the folder that `StateFolder` has found."""

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> _Locator:
        return cls()

    def ensure_cache_path(self) -> None:
        pass

    def get_cache_path(self) -> str:
        return str(FOLDER.path)

    def get_source_stamp(self) -> None:
        pass

    def get_disambiguator(self) -> str:
        return ""


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class KernelCache(caching.FunctionCache):
    """Numba's cache on disk. Every error means "not cached"."""

    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _KernelFiles(function)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """
        Return the machine code for a signature, None if it is missing or broken.

        Numba would first load its compiler and scipy.linalg, which takes 0.25 s and which machine code does not need.
        """
        with contextlib.suppress(Exception):
            rtsys.initialize(target_context)  # machine code calls the functions that count references
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Write the machine code for a signature, if that is possible."""
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)


class _KernelFiles:
    """
    The files of one kernel: one for each signature and processor, with a hash in the name and in the first bytes.

    Numba's own files have three faults. Two processes can overwrite each other's index, so that one runs the machine
    code of the other. No content is checked. An edit of a file that the kernel's file imports goes unnoticed.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._module = function.__module__
        self._name = function.__qualname__

    def load(self, key: Any) -> Any:
        """Return the content for a signature, None if the file is missing, broken or of another kernel."""
        name, state = self._name_and_state(key)
        stored = FOLDER.read(name) or b""
        digest = stored[:32]
        content = stored[32:]
        return pickle.loads(content) if hashlib.sha256(state + content).digest() == digest else None

    def save(self, key: Any, data: Any) -> None:
        """Write the content for a signature."""
        name, state = self._name_and_state(key)
        content = caching.dumps(data)
        FOLDER.write(name, hashlib.sha256(state + content).digest() + content)

    def _name_and_state(self, key: Any) -> tuple[str, bytes]:
        settings = numba.config.BOUNDSCHECK, machine_code.vector_bytes()  # constants of machine code, not of sources
        state = repr((FOLDER.path.name, settings, self._module, self._name, key)).encode()
        return f"{self._name}-{hashlib.sha256(state).hexdigest()[:32]}.nbc", state


def _hash_sources() -> str | None:
    """Return a hash of all kernels' sources, Numba's version and Python's, None without sources."""
    digest = hashlib.sha256(repr((numba.__version__, sysconfig.get_config_var("SOABI"))).encode())
    folder = pathlib.Path(__file__).parent
    sources = list(_read_sources(folder if folder.is_dir() else resources.files(__package__), ""))  # or a zip file
    for name, content in sorted(sources):
        digest.update(f"{name} {len(content)} ".encode() + content)
    return digest.hexdigest()[:16] if sources else None


def _read_sources(folder: Any, place: str) -> Iterator[tuple[str, bytes]]:
    """Return the name and the content of every source in a folder and below."""
    for entry in folder.iterdir():
        name = f"{place}/{entry.name}"
        if entry.name.endswith(".py"):
            yield name, entry.read_bytes()
        elif entry.is_dir():
            yield from _read_sources(entry, name)


FOLDER = StateFolder(_hash_sources())
# loaded here: while Numba compiles, nothing may wait for the lock of imports, which a fork in another thread may hold
INTRINSICS = load("fastndcg.kernels.intrinsics")
