"""Evaluate one query or one row of labels at a time."""

from fastndcg.runtime.lazy_import import load_submodules

__getattr__ = load_submodules(__name__)
