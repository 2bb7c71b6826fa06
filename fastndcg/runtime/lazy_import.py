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
import sys
import threading
from collections.abc import Callable
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
            if _State.depth == 1 or not _is_half_imported(error):
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


def load_package(name: str) -> ModuleType:
    """Return a module of another package, imported if need be."""
    with _State.lock:
        return import_module(name)


def _is_half_imported(error: Exception) -> bool:
    return "partially initialized" in str(error)


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
