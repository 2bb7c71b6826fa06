"""Kernels of resampling, randomisation, and exact summation."""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
