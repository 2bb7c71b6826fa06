"""Arrays in another form, and no value of them changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from fastndcg.errors import InvalidInputError


def exact(array: npt.NDArray[Any], dtype: str, name: str) -> npt.NDArray[Any]:
    """The array in another dtype and contiguous, without a copy where it is so already; an error if a value changes."""
    if array.dtype == np.bool_ and dtype == "u1":
        return np.ascontiguousarray(array).view("u1")
    with np.errstate(over="ignore", invalid="ignore"):
        cast = np.ascontiguousarray(array, dtype=dtype)
    if not np.can_cast(array.dtype, cast.dtype, "safe"):
        changed = (cast != array) & (array == array) | (array.dtype.kind == "u") & (cast < 0)
        if changed.any():
            place = int(np.flatnonzero(changed)[0])
            raise InvalidInputError(
                f"`{name}` must fit {cast.dtype} exactly, but {name}[{place}] is {array[place]!s}; round or rescale it"
            )
    return cast


def frozen(restored: Any) -> Any:
    """What pickle brought back, with its arrays read-only as they were: kernels take others for another type."""
    if isinstance(restored, np.ndarray):
        restored.flags.writeable = False
    elif isinstance(restored, dict):
        return {name: frozen(value) for name, value in restored.items()}
    elif type(restored) is tuple:
        return tuple(map(frozen, restored))
    return restored
