"""
The decorators of kernels, and why their flags; and those of what only kernels call, `part` and `unit`.

nogil      the engine's own threads run kernels side by side; numba's thread layers abort the process when two
           threads enter, die after a fork and are set process-wide, so nothing here is `parallel`.
cache      compiling takes a second, loading from disk milliseconds. A cache that cannot be read or written (read-only
           install, full or broken disk, garbage in the files) costs a compilation in memory, never an error.
fastmath   off, as by default: the bytes of a result depend on data and convention alone. `exact_kernel` lets the
           compiler reorder and fuse additions: its kernels add up whole numbers below 2**53, exact in any order.
_nrt       off but in an `allocating_kernel`: numba counts references to arrays in each call, and again wherever a loop
           calls a part with them, which may double what the loop takes. What allocates gives its arrays to a `unit`
           that has the loop, or takes `wide_like` arrays (vectors.py), which need no counting.
GIL        kept by an `object_kernel`, which reads Python's objects: nobody else may change them meanwhile.
no_cfunc_wrapper   nobody calls a kernel from C: a twelfth less to compile.
error_model  numpy's: a check for division by zero in a loop keeps it from being vectorised.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import os
import pathlib
import pickle
import sysconfig
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba.core import caching
from numba.core.runtime import rtsys

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile a kernel on its first call, for the dtypes of that call. It allocates nothing."""
    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
    return _cached(numba.njit(**options)(function), function)


def allocating_kernel(function: Function) -> Function:
    """Compile a kernel that makes arrays; where it calls a part in a loop, references to arrays are counted."""
    return _cached(numba.njit(nogil=True, error_model="numpy")(function), function)


def exact_kernel(function: Function) -> Function:
    """Compile a kernel of sums of whole numbers, which no order of additions changes: they vectorise."""
    flags = {"reassoc", "contract", "nsz"}
    return _cached(numba.njit(nogil=True, error_model="numpy", _nrt=False, fastmath=flags)(function), function)


def uncached_kernel(function: Function) -> Function:
    """Compile a kernel in memory alone: on disk, nothing would tell the functions that it is given to call apart."""
    return numba.njit(nogil=True)(function)  # type: ignore[no-any-return]


@functools.cache
def compiled(function: Function) -> Function:
    """A user's function as machine code, with checks of its indices unless the user has compiled it."""
    if hasattr(function, "py_func"):
        return function
    return numba.njit(nogil=True, boundscheck=True)(function)  # type: ignore[no-any-return]


def object_kernel(function: Function) -> Function:
    """Compile a kernel that reads Python's objects, and so keeps the interpreter's lock; it allocates nothing."""
    return _cached(numba.njit(error_model="numpy", _nrt=False)(function), function)


def _cached(dispatcher: Any, function: Function) -> Function:
    if not numba.config.DISABLE_JIT:
        with contextlib.suppress(Exception):  # no folder to cache in: compile in memory
            dispatcher._cache = KernelCache(function)
        dispatcher._compilation_chain_init_hook = _no_extensions
        dispatcher._compiler.compile = _without_collections(dispatcher._compiler.compile)
    return dispatcher  # type: ignore[no-any-return]


def _without_collections(compile_one: Callable[..., Any]) -> Callable[..., Any]:
    """
    Compile while Python looks for no garbage: a fifth of the time, for next to nothing found.

    Numba holds its lock meanwhile, so that one thread at a time comes here. Where the host has switched the search
    off, it stays so.
    """

    def compile_without(*signature: Any) -> Any:
        is_on = gc.isenabled()
        gc.disable()
        try:
            return compile_one(*signature)
        finally:
            if is_on:
                gc.enable()

    return compile_without


def _no_extensions() -> None:
    """
    Import nothing before the first call of a kernel.

    Numba would import each package that extends it, such as awkward, which takes a tenth of a second with the packages
    that it imports: kernels get none of their types. What is compiled anew imports them all the same.
    """


def part(function: Function) -> Function:
    """Make a function part of each kernel that calls it; compiled on its own, it would cost a third of a second."""
    return numba.njit(inline="always")(function)  # type: ignore[no-any-return]


def unit(function: Function) -> Function:
    """Compile a function once for the kernels that call it: for long ones that would else be part of several."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


def cache_folder(dispatcher: Any) -> str | None:
    """Where a kernel's machine code is kept, None where it cannot be."""
    cache = getattr(dispatcher, "_cache", None)
    return cache.cache_path if isinstance(cache, KernelCache) and cache.is_writable else None


class KernelCache(caching.FunctionCache):
    """Numba's cache on disk, in which whatever goes wrong means "not cached"."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._cache_file = _OneFileEach(pathlib.Path(self._cache_path), function.__name__)

    @property
    def is_writable(self) -> bool:
        """Whether the folder takes files."""
        return os.access(self._cache_path, os.W_OK)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """
        Give what is kept for a signature, None where it is absent or broken.

        Numba would first load all that it compiles with, and scipy.linalg, which takes a quarter of a second; machine
        code does without. What is compiled anew loads it all the same.
        """
        with contextlib.suppress(Exception):
            rtsys.initialize(target_context)  # the counting of references, which machine code does call
            return self._load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled for a signature, if that is possible."""
        with contextlib.suppress(Exception):
            super().save_overload(sig, data)


class _OneFileEach:
    """
    One file for each function, signature, processor, Python and state of this folder, named by the hash of them all.

    Numba's own layout has an index that two processes can overwrite for one another, so that one runs the other's
    machine code; it trusts whatever bytes it finds; and it looks only at the kernel's own file, so that it misses an
    edit in another file that the kernel calls.
    """

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self._folder = folder
        self._name = name

    def load(self, key: Any) -> Any:
        try:
            stored = self._path(key).read_bytes()
        except OSError:
            return None
        digest, content = stored[:32], stored[32:]
        return pickle.loads(content) if hashlib.sha256(content).digest() == digest else None

    def save(self, key: Any, data: Any) -> None:
        content = caching.dumps(data)
        path = self._path(key)
        unfinished = path.with_suffix(f".{uuid.uuid4().hex[:12]}")
        try:
            unfinished.write_bytes(hashlib.sha256(content).digest() + content)
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)

    def _path(self, key: Any) -> pathlib.Path:
        python = sysconfig.get_config_var("SOABI")
        state = repr((numba.__version__, python, numba.config.BOUNDSCHECK, _FOLDER_STAMP, key))
        return self._folder / f"{self._name}-{hashlib.sha256(state.encode()).hexdigest()[:32]}.nbc"


def _folder_stamp() -> str:
    digest = hashlib.sha256()
    for path in sorted(pathlib.Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


_FOLDER_STAMP = _folder_stamp()
