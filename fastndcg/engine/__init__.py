"""The engine: rankings and metrics in, one value for each query and metric out."""

from fastndcg.runtime.imports import load_submodules

__getattr__ = load_submodules(__name__)
