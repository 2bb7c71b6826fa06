"""Numbers that stand for others where their order alone matters."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def ordinals(values: Array) -> Array:
    """
    Numbers in the same order, equal where the given ones are equal; NaN comes lowest.

    >>> ordinals(np.array([2.5, np.nan, -np.inf, 2.5]))
    array([ 1., -1.,  0.,  1.])
    """
    missing = np.isnan(values) if values.dtype.kind == "f" else np.zeros(values.shape, bool)
    ranks = np.full(values.shape, -1.0)
    ranks[~missing] = np.unique(values[~missing], return_inverse=True)[1]
    return ranks
