"""Replacement of an imported module by a drop-in, for all modules that use it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterable
from importlib.machinery import ModuleSpec
from types import ModuleType, TracebackType
from typing import Any


class ModuleReplacement:
    """
    A module that others import by the name of a peer, and that has the drop-in's functions.

    Modules that imported the peer before get the drop-in too, whether as a module or as names of it.

    Parameters
    ----------
    peer : str
        The name of the peer's module.
    drop_in : str
        The name of the drop-in's module.
    names : iterable of str
        The public names of both.
    """

    def __init__(self, peer: str, drop_in: str, names: Iterable[str]) -> None:
        self.peer = peer
        self.drop_in = drop_in
        self.names = tuple(names)
        self._stand_in: ModuleType | None = None
        self._original: ModuleType | None = None
        self._patches: list[tuple[ModuleType, str, Any]] = []

    def install(self) -> bool:
        """Replace the peer. Return False if it is replaced already."""
        if self._stand_in is not None:
            return False
        drop_in = sys.modules[self.drop_in]
        self._original = sys.modules.get(self.peer)
        self._stand_in = self._make_stand_in(drop_in)
        sys.modules[self.peer] = self._stand_in
        if self._original is not None:
            pairs: list[tuple[Any, Any]] = [(self._original, self._stand_in)]
            pairs += [(vars(self._original).get(name), getattr(drop_in, name)) for name in self.names]
            self._patches = replace_values(pairs, self._is_user)
        return True

    def uninstall(self) -> None:
        """Restore the peer in all modules. Do nothing if it is not replaced."""
        if self._stand_in is None:
            return
        stand_in = self._stand_in
        self._stand_in = None
        if sys.modules.get(self.peer) is stand_in:
            del sys.modules[self.peer]
        if self._original is not None:
            sys.modules[self.peer] = self._original
        for module, name, value in self._patches:
            setattr(module, name, value)
        self._patches = []
        self._restore_later_imports(stand_in)
        self._original = None

    def _is_user(self, name: str) -> bool:
        """Return True for the name of a module that belongs neither to the peer nor to the drop-in."""
        return name != self.drop_in and not name.startswith(self.peer)  # pytrec_eval_ext is pytrec_eval's own

    def _make_stand_in(self, drop_in: ModuleType) -> ModuleType:
        """Return a module with the peer's name, which is another object than the drop-in's module."""
        stand_in = ModuleType(self.peer, drop_in.__doc__)
        for name in ("__version__", *self.names):
            setattr(stand_in, name, getattr(drop_in, name))
        spec = getattr(self._original, "__spec__", None)
        stand_in.__spec__ = ModuleSpec(self.peer, None) if spec is None else spec  # importlib.util.find_spec reads it
        return stand_in

    def _restore_later_imports(self, stand_in: ModuleType) -> None:
        """Give the peer to modules that imported it while it was replaced. They keep the stand-in if it is absent."""
        users = [
            module
            for module in list_modules(self._is_user)
            if any(value is stand_in for value in vars(module).values())
        ]
        if not users:
            return
        try:
            original = importlib.import_module(self.peer)
        except ImportError:
            return
        replace_values([(stand_in, original)], self._is_user)


class Installation:
    """
    A replacement that ends with a ``with`` block.

    Parameters
    ----------
    replacement : ModuleReplacement
        The replacement. If it was installed before, the end of the block does not change it.
    """

    def __init__(self, replacement: ModuleReplacement) -> None:
        self._replacement = replacement
        self._is_new = replacement.install()

    def __enter__(self) -> Installation:
        """Return the object itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Restore the peer."""
        if self._is_new:
            self._replacement.uninstall()


def list_modules(is_user: Callable[[str], bool]) -> list[ModuleType]:
    """Return the imported modules that `is_user` accepts by name. Leave out other objects among the modules."""
    modules = list(sys.modules.items())
    return [module for name, module in modules if is_user(name) and isinstance(module, ModuleType)]


def replace_values(
    pairs: Iterable[tuple[Any, Any]], is_user: Callable[[str], bool]
) -> list[tuple[ModuleType, str, Any]]:
    """
    Replace objects in the namespaces of all modules that `is_user` accepts. `pairs` are old and new objects.

    Return each module with the name and the old object. Namespaces are read without `getattr`, which may load a module.
    """
    table = {id(old): (old, new) for old, new in pairs if old is not None}
    patches = []
    for module in list_modules(is_user):
        for name, value in list(vars(module).items()):
            old, new = table.get(id(value), (None, None))
            if old is not None and old is value:
                patches.append((module, name, value))
                setattr(module, name, new)
    return patches
