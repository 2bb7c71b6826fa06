"""Compute popularity, novelty and diversity of recommended items."""

from fastndcg.runtime.lazy_import import load_submodules

__getattr__ = load_submodules(__name__)
