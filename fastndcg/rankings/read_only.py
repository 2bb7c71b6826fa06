"""Read-only arrays, and read-only objects whose arrays were checked together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastndcg.runtime.pickling import Picklable

if TYPE_CHECKING:
    import numpy.typing as npt


def read_only(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a read-only view. Numba has different types for writable and read-only arrays."""
    view = array.view()
    view.setflags(False)  # type: ignore[call-arg]  # 3 times as fast as `flags.writeable = False`
    return view


class ReadOnly(Picklable):
    """
    Base class of objects whose arrays were checked together.

    No attribute can be set, as kernels follow their offsets without checks. Methods set attributes by `put`.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        kind = type(self).__name__
        raise AttributeError(f"`{name}` of {kind} cannot be set, as what it holds was checked. Make new {kind}")

    def __setstate__(self, state: tuple[None, dict[str, Any]]) -> None:
        put(self, **freeze(state[1]))


def put(target: ReadOnly, **attributes: Any) -> None:
    """Set attributes of a read-only object while it is built."""
    for name, value in attributes.items():
        object.__setattr__(target, name, value)


def freeze(restored: Any) -> Any:
    """Make unpickled arrays read-only again, also in dicts and tuples."""
    if isinstance(restored, np.ndarray):
        restored.flags.writeable = False
    elif isinstance(restored, dict):
        return {name: freeze(value) for name, value in restored.items()}
    elif type(restored) is tuple:
        return tuple(map(freeze, restored))
    return restored
