"""
Arguments of metric kernels, computed for a chunk of queries.

Each file registers its inputs with the decorators of `registry.py`. Every file of this folder is imported here.
"""

from __future__ import annotations

import pkgutil

from fastndcg.engine.chunk import HIT_FIELDS
from fastndcg.engine.kernel_inputs.registry import CONSTANTS, INPUTS
from fastndcg.runtime.imports import load


def known_inputs() -> tuple[str, ...]:
    """Return the names of all kernel inputs, sorted."""
    return tuple(sorted({*CONSTANTS, *HIT_FIELDS, *INPUTS}))


for _file in pkgutil.iter_modules(__path__):
    load(f"{__name__}.{_file.name}")
