"""
Arguments of metric kernels, computed for a chunk of queries.

Each file registers its inputs with the decorator of `registry.py`. Every file of this folder is imported here.
"""

from __future__ import annotations

import pkgutil

from fastndcg.runtime.imports import load

for _file in pkgutil.iter_modules(__path__):
    load(f"{__name__}.{_file.name}")
