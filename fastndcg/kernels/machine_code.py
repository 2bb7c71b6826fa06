"""
Find the machine code of kernels that was built before: see build.py.

It comes from one of two folders. The package's own folder is filled in a built wheel. The other folder belongs to this
package in the user's cache. Each has libraries for one or more levels of processors, the trampoline that calls their
functions, and a table. The table has the signatures of each kernel, the digests of the sources that each file of
kernels was built from, the SHA-256 of each library, and first its own. Machine code of a source that was edited is not
used.

Nothing here raises: without machine code, Numba compiles.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.machinery
import importlib.util
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastndcg.runtime.kernel_cache import StateFolder

KERNELS = Path(__file__).parent
TABLE = "table.json"
FORMAT = 1  # of the table and the trampoline
LEVEL_NAMES = {0: "generic", 2: "x86-64-v2", 3: "x86-64-v3", 4: "x86-64-v4"}
VECTOR_BYTES = {0: 16, 2: 16, 3: 32, 4: 64}  # by level


class Library:
    """
    The machine code in a folder.

    Attributes
    ----------
    path : Path
        The folder.
    level : int or None
        Level of the library that is loaded. None if none is.
    problem : str or None
        The reason why machine code is not used, or some of it. None if all is used or if the folder has none.
    """

    def __init__(self, path: Path, read: Callable[[str], bytes | None]) -> None:
        self.path = path
        self.level: int | None = None
        self.problem: str | None = None
        self._read = read
        self._table: dict[str, Any] = {}
        self._trampoline: Any = None
        self._handle = 0
        self._is_current: dict[str, bool] = {}  # by source file
        try:
            self._load()
        except Exception as error:  # damaged files must not stop an evaluation
            self.level = None
            self.problem = f"{type(error).__name__}: {error}"

    def find(self, place: str, fallback: Callable[..., Any]) -> Callable[..., Any] | None:
        """Return the machine code of a kernel, which calls `fallback` for other types. None if there is none."""
        signatures = self._table["kernels"].get(place) if self.level is not None else None
        if not signatures or self.explain_stale(place) is not None:
            return None
        try:
            return self._trampoline.make_kernel(place, self._handle, signatures, fallback)  # type: ignore[no-any-return]
        except LookupError as error:  # the library lacks a symbol of the table
            self.problem = str(error)
            return None

    def places(self) -> set[str]:
        """Return the places of the kernels in the table."""
        return set(self._table.get("kernels", ()))

    def list_signatures(self, place: str) -> list[str]:
        """Return the codes of the signatures of a kernel."""
        return [row[0] for row in self._table.get("kernels", {}).get(place, ())]

    def explain_stale(self, place: str) -> str | None:
        """Return the source that was edited since a kernel was built, or None."""
        for name in self._table["dependencies"][place.rpartition(".")[0]]:
            if name not in self._is_current:
                self._is_current[name] = digest_source(name) in (None, self._table["sources"][name])
            if not self._is_current[name]:
                return str(name)
        return None

    def _load(self) -> None:
        content = self._read(TABLE)
        if content is None:
            return
        if content != sign(content.partition(b",")[2]):
            raise OSError(f"{TABLE} is damaged: its SHA-256 is not that of its content")
        table = json.loads(content)
        if table["format"] != FORMAT:
            self.problem = f"its table has format {table['format']}, not {FORMAT}"
            return
        if table["platform"] != platform_tag():
            self.problem = f"it was built for {table['platform']}, and this is {platform_tag()}"
            return
        self._check(table["trampoline"])
        trampoline = import_trampoline(self.path / table["trampoline"]["file"])
        level = min(trampoline.processor_level(), highest_level())
        usable = [library for library in table["libraries"] if library["level"] <= level]
        if not usable:
            lowest = min(library["level"] for library in table["libraries"])
            self.problem = f"this processor is below {LEVEL_NAMES.get(lowest, f'level {lowest}')}"
            return
        library = max(usable, key=lambda library: library["level"])
        self._check(library)
        self._handle = trampoline.open_library(str(self.path / library["file"]))
        self._trampoline = trampoline
        self._table = table
        self.level = library["level"]

    def _check(self, record: dict[str, Any]) -> None:
        """Raise OSError unless a file is the one that the table names."""
        content = self._read(record["file"])
        if content is None:
            raise OSError(f"{record['file']} is missing, or may have been written by another user")
        if hashlib.sha256(content).hexdigest() != record["sha256"]:
            raise OSError(f"{record['file']} is damaged: its SHA-256 is not that of {TABLE}")


def sign(rest: bytes) -> bytes:
    """Return the JSON of a table, behind its brace, with its SHA-256 as the first field."""
    return b'{"sha256": "%b",%b' % (hashlib.sha256(rest).hexdigest().encode(), rest)


def highest_level() -> int:
    """Return the highest level that the environment allows: FASTNDCG_MACHINE_CODE=3 leaves out x86-64-v4."""
    value = os.environ.get("FASTNDCG_MACHINE_CODE", "1")
    return int(value) if value in ("2", "3") else max(LEVEL_NAMES)


def is_switched_off() -> bool:
    """Return True if the environment selects Numba in place of machine code."""
    return (
        os.environ.get("FASTNDCG_MACHINE_CODE", "1") == "0"
        or os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
        or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
    )


def cache_folder() -> StateFolder:
    """Return the folder of this package's machine code in the user's cache."""
    return StateFolder(hashlib.sha256(os.fsencode(os.path.realpath(KERNELS))).hexdigest()[:16], "library")


@functools.cache
def libraries() -> tuple[Library, ...]:
    """Return what is loaded, in the order in which kernels are looked up: the package's folder, the user's cache."""
    if is_switched_off():
        return ()
    package = KERNELS / "built"
    found = [Library(package, functools.partial(_read_file, package))]
    folder = cache_folder()
    if folder.path.is_dir():
        found.append(Library(folder.path, folder.read))
        if folder.problem is not None:
            found[-1].problem = folder.problem
    return tuple(found)


def find(place: str, fallback: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return the machine code of a kernel, which calls `fallback` for types that it lacks. None if there is none."""
    found = fallback
    for library in reversed(libraries()):  # each is the fallback of the one before
        found = library.find(place, found) or found
    return None if found is fallback else found


def has(place: str) -> bool:
    """Return True if there is machine code of a kernel, for some types."""
    return any(place in library.places() and library.explain_stale(place) is None for library in libraries())


def vector_bytes() -> int:
    """Return the size of the vectors that kernels multiply, in bytes: 16, 32 or 64."""
    level = os.environ.get("FASTNDCG_BUILD_LEVEL")  # build.py compiles for this level
    if level is not None:
        return VECTOR_BYTES[int(level)]
    for library in libraries():
        if library.level is not None:
            return VECTOR_BYTES[library.level]
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return VECTOR_BYTES[0]
    from llvmlite import binding

    features = binding.get_host_cpu_features()
    return 64 if features.get("avx512bw") else 32 if features.get("avx2") else 16


def digest_source(name: str) -> str | None:
    """Return the digest of a source of the kernels, None if the package has no sources."""
    content = _read_file(KERNELS, name)
    return None if content is None else hashlib.sha256(content.replace(b"\r\n", b"\n")).hexdigest()[:16]


def platform_tag() -> str:
    """Return the platform and the kind of Python that machine code is built for, such as "linux-x86_64"."""
    machine = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "")
    is_free_threaded = "t" in getattr(sys, "abiflags", "")  # it has no stable ABI
    return f"{sys.platform}-{machine.lower()}{'-free-threaded' if is_free_threaded else ''}"


def _read_file(folder: Path, name: str) -> bytes | None:
    try:
        return (folder / name).read_bytes()
    except OSError:
        return None


def import_trampoline(path: Path) -> Any:
    """Return the extension module that calls machine code."""
    name = "fastndcg.kernels._trampoline"
    if name in sys.modules:  # one of another folder: all are built from the same source
        return sys.modules[name]
    loader = importlib.machinery.ExtensionFileLoader(name, str(path))
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    module = importlib.util.module_from_spec(spec)  # type: ignore[arg-type]
    loader.exec_module(module)
    sys.modules[name] = module
    return module
