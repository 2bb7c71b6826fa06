"""
Lazy imports of the package's modules and of optional packages.

One lock serves all these imports. With Python's locks, one for each module, three things can happen.
Threads that import modules in different orders may get a deadlock error.
A child process inherits locks that other threads of its parent held, and waits forever.
A signal handler gets a module that is only half imported.
Here a fork waits until no other thread imports, and a signal handler gets an error with a remedy.
"""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from importlib import import_module
from types import ModuleType
from typing import Any

FORK_SECONDS = 60.0  # maximum wait of a fork


class _State:
    lock = threading.RLock()
    depth = 0  # nested imports of the thread that holds the lock
    held_for_fork: tuple[Any, ...] = ()


fork_locks: list[Any] = []  # further locks that a fork waits for, each with `acquire` and `release`


def load(name: str) -> ModuleType:
    """
    Return a module of the package, imported if need be.

    Raises
    ------
    ImportError
        If this thread is importing the module already, as when a signal handler interrupts the import.
    """
    with _State.lock:
        _State.depth += 1
        try:
            parts = name.split(".")
            for n in range(1, len(parts)):
                package = ".".join(parts[:n])
                if package not in sys.modules:
                    import_module(package)  # first: Python would lock the module and then the package
            module = import_module(name)
        except (AttributeError, ImportError) as error:
            if _State.depth == 1 or "partially initialized" not in str(error):
                raise
            raise _half_imported(name) from error
        finally:
            _State.depth -= 1
    if getattr(module.__spec__, "_initializing", False):
        raise _half_imported(name)
    return module


def load_submodules(package: str, hint: str = "") -> Callable[[str], ModuleType]:
    """
    Return a package's `__getattr__`, by which `from package import module` imports the module under the lock.

    The error for an unknown name ends with the hint.
    """

    def load_submodule(name: str) -> ModuleType:
        place = f"{package}.{name}"
        if not name.startswith("_"):  # `from package import module` comes here before it imports the file itself
            try:
                return load(place)
            except ModuleNotFoundError as error:
                if error.name != place:
                    raise
        raise AttributeError(f"module {package!r} has no attribute {name!r}{hint}")

    return load_submodule


def _half_imported(name: str) -> ImportError:
    return ImportError(
        f"{name} must be imported before it is used by a signal handler, but the handler has interrupted its import. "
        "Call the function once before the handler is installed.",
        name=name,
    )


def _before_fork() -> None:
    if not _State.lock.acquire(timeout=FORK_SECONDS):
        _State.held_for_fork = ()
        return
    _State.held_for_fork = (_State.lock, *fork_locks)  # now, since what was imported until now has added some
    for lock in _State.held_for_fork[1:]:
        lock.acquire()


def _after_fork() -> None:
    for lock in reversed(_State.held_for_fork):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)


# optional features, each with all packages that it imports: an error names every absent one
NEEDED_TOGETHER = {
    "arrow": ("pyarrow",),
    "statistics": ("scipy",),
    "plots": ("scipy", "matplotlib"),
    "report": ("scipy", "jinja2"),
}
# modules whose package has another name on the package index
INDEX_NAMES = {
    "backports": "backports.zstd",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
}
# values with which Numba raises a traceback when it is imported, or LLVM ends the process when it compiles
NUMBA_VALUES = {
    "NUMBA_NUM_THREADS": (r"0*[1-9][0-9]*", "a whole number of 1 or more"),
    "NUMBA_CPU_FEATURES": (r"|[+-][\w.-]+(,[+-][\w.-]+)*", "features with + or - before each, such as +avx2,-avx512f"),
}


def optional_import(module: str, purpose: str, extra: str) -> ModuleType:
    """
    Import an optional package in the function that uses it, for a purpose that the error names.

    `extra` is that of the feature, as in ``pip install fastndcg[extra]``: the error also names its other packages. It
    is MissingPackageError if the package is absent or if its import fails, and InvalidInputError if an environment
    variable has a value that Numba cannot work with.

    >>> optional_import("no_such_module", "drawing", "plots")
    Traceback (most recent call last):
    ...
    fastndcg.errors.MissingPackageError: drawing needs no_such_module. Install it: pip install no_such_module
    """
    package = module.partition(".")[0]
    if package == "numba" and package not in sys.modules:
        check_numba_environment()
    try:
        with _State.lock:
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken_package(package, purpose, error) from error
        cause = error
    except Exception as error:
        raise _broken_package(package, purpose, error) from error
    raise _missing_packages([package, *_find_absent(extra)], purpose) from cause


class OptionalPackage:
    """A package that is imported when one of its attributes is first used. See `optional_import`."""

    def __init__(self, module: str, purpose: str, extra: str) -> None:
        self._module = module
        self._purpose = purpose
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the package, which is kept: later uses of it take no call."""
        value = getattr(optional_import(self._module, self._purpose, self._extra), name)
        self.__dict__[name] = value
        return value


def check_numba_environment() -> None:
    """Raise InvalidInputError for a value of an environment variable that Numba cannot work with."""
    from fastndcg.errors import InvalidInputError, shorten  # late: `import fastndcg` loads this file

    for name, (pattern, rule) in NUMBA_VALUES.items():
        value = os.environ.get(name)
        if value is not None and not re.fullmatch(pattern, value):
            raise InvalidInputError(
                f"the environment variable {name} must be {rule}, not {shorten(value)}. Correct it, or unset it."
            )


def check_packages(purpose: str, extra: str) -> None:
    """Raise MissingPackageError if a package of an extra is absent. Import none of them."""
    absent = _find_absent(extra)
    if absent:
        raise _missing_packages(absent, purpose)


def _find_absent(extra: str) -> list[str]:
    from importlib.util import find_spec

    return [
        name for name in NEEDED_TOGETHER.get(extra, ()) if sys.modules.get(name) is None and find_spec(name) is None
    ]


def _missing_packages(packages: Iterable[str], purpose: str) -> ImportError:
    from fastndcg.errors import MissingPackageError  # late: `import fastndcg` loads this file

    names = [INDEX_NAMES.get(package, package) for package in dict.fromkeys(packages)]
    enumeration = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    pronoun = "them" if len(names) > 1 else "it"
    return MissingPackageError(f"{purpose} needs {enumeration}. Install {pronoun}: pip install {' '.join(names)}")


def _broken_package(package: str, purpose: str, error: Exception) -> ImportError:
    from fastndcg.errors import MissingPackageError  # late: `import fastndcg` loads this file

    name = INDEX_NAMES.get(package, package)
    return MissingPackageError(
        f"{purpose} needs {name}, which is installed but cannot be imported: {type(error).__name__}: {error}"
    )
