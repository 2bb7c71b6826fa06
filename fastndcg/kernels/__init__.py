"""
Compiled loops. The engine calls them with chunks of queries, and users' own Numba code with one query.

``from fastndcg.kernels import ndcg, dcg, average_precision, reciprocal_rank, ranks`` imports functions that Numba
functions and Python can call: see `fastndcg.kernels.single_query`.
"""

from typing import Any

from fastndcg.runtime.imports import load, load_submodules

PUBLIC_KERNELS = ("average_precision", "dcg", "ndcg", "ranks", "reciprocal_rank")
_load_submodule = load_submodules(__name__, f". The public functions are {', '.join(PUBLIC_KERNELS)}.")


def __getattr__(name: str) -> Any:
    if name in PUBLIC_KERNELS:  # loaded here, because the engine does not need them
        return getattr(load(f"{__name__}.single_query"), name).numba_function
    return _load_submodule(name)
