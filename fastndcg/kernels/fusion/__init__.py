"""Kernels that fuse runs: their union, ranks, normalised scores, combinations, and the order of fused scores."""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
