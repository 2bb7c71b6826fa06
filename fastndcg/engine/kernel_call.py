"""Calls of kernels: find a kernel by its place, and bind its parameters by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from fastndcg.kernels.lookup import find_kernel

Kernel = Callable[..., None]

_MISSING = object()


class KernelCall(NamedTuple):
    """A kernel and the names of its parameters without the last one, which is the array that it writes to."""

    place: str
    kernel: Kernel
    parameters: tuple[str, ...]

    def bind(self, *sources: Any) -> list[Any]:
        """
        Return the kernel's arguments in order, each from the first source that has its name.

        A source is a mapping from names to arguments, or an object with attributes of these names.

        Raises
        ------
        LookupError
            If no source has a parameter, with the names that mappings have.
        """
        return [self._find(name, sources) for name in self.parameters]

    def _find(self, name: str, sources: tuple[Any, ...]) -> Any:
        for source in sources:
            argument = source.get(name, _MISSING) if isinstance(source, Mapping) else getattr(source, name, _MISSING)
            if argument is not _MISSING:
                return argument
        names = sorted({str(key) for source in sources if isinstance(source, Mapping) for key in source})
        raise LookupError(
            f"kernel {self.place} must take known inputs, but takes `{name}`. Register it with @kernel_input, or take "
            f"one of {', '.join(names)}."
        )


def describe_kernel(place: str) -> KernelCall:
    """Return the kernel at a place, such as "dcg.ndcg", and the names of its parameters."""
    kernel = find_kernel(place)
    code = getattr(kernel, "py_func", kernel).__code__
    return KernelCall(place, kernel, code.co_varnames[: code.co_argcount - 1])
