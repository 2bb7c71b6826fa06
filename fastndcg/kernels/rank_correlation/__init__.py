"""Compare two rankings: ranks, correlations and rank-biased overlap."""

from fastndcg.runtime.lazy_import import load_submodules

__getattr__ = load_submodules(__name__)
