"""Say which versions are in use, and where the machine code of kernels comes from."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import PackageNotFoundError, version

import fastndcg

PACKAGES = (
    "numpy", "numba", "llvmlite", "scipy", "pandas", "polars", "pyarrow", "duckdb", "awkward", "matplotlib", "torch",
    "scikit-learn", "lightgbm", "xgboost", "catboost", "pyspark",
)  # fmt: skip


def show_versions() -> None:
    """
    Print the versions of Python and of the packages that are installed, and where machine code comes from.

    Paste the text into a report of a fault. No package is imported for it.

    Examples
    --------
    >>> fn.show_versions()  # doctest: +ELLIPSIS
    fastndcg ...
    Python ...
    """
    from fastndcg.kernels.listing import describe_libraries

    lines = [f"fastndcg {fastndcg.__version__}", f"Python {platform.python_version()}, {platform.platform()}"]
    for name in PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, *describe_libraries()]))
