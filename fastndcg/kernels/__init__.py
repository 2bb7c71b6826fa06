"""
Kernels: short compiled loops. The engine's take chunks of queries; those for users' own code take one query.

``from fastndcg.kernels import ndcg, dcg, average_precision, reciprocal_rank, ranks`` gives functions that may be called
in functions compiled by Numba, and from Python; see `fastndcg.kernels.single`.
"""

from typing import Any

FOR_USERS = ("average_precision", "dcg", "ndcg", "ranks", "reciprocal_rank")


def __getattr__(name: str) -> Any:
    if name not in FOR_USERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; users' own code may call {FOR_USERS}")
    from fastndcg.kernels import single  # when it is asked for: the engine does without

    return getattr(single, name)
