"""Kernels that read, join and group input."""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
