"""The installation: its versions, where the machine code of kernels comes from, and how to build that ahead."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

import fastndcg
from fastndcg.runtime.progress import is_quiet
from fastndcg.runtime.progress import say as write_line

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
    from fastndcg.kernels.native.signatures import describe_libraries

    lines = [f"fastndcg {fastndcg.__version__}", f"Python {platform.python_version()}, {platform.platform()}"]
    for name in PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    sys.stdout.write("".join(f"{line}\n" for line in [*lines, *describe_libraries()]))


class Warmup(NamedTuple):
    """The folder of the machine code (None: none could be stored), and the seconds taken."""

    cache: str | None
    seconds: float


def warmup(*, progress: Callable[[str], None] | None = None) -> Warmup:
    """
    Build the machine code of all kernels into the user's cache, unless the package has it.

    A built wheel has machine code: there is nothing to do. Elsewhere Numba compiles all kernels, which takes minutes,
    and a C compiler links them: ``cc``, or the package ziglang, with the headers of Python. Without a C compiler, or
    where the environment switches machine code off, Numba caches each kernel by itself.

    Parameters
    ----------
    progress : callable, optional
        Called with a line of text as each part of the work begins. By default the lines go to stderr, unless
        FASTNDCG_QUIET is set.

    Returns
    -------
    Warmup
        The folder of the machine code, None where none can be stored, and the seconds taken.

    Examples
    --------
    >>> fn.warmup().seconds > 0  # doctest: +SKIP
    True
    """
    from fastndcg.kernels import jit, machine_code
    from fastndcg.kernels.native import build
    from fastndcg.kernels.native.signatures import BuildError

    started = time.perf_counter()
    say = progress or (lambda line: None if is_quiet() else write_line(line))
    found = machine_code.libraries()
    if found and found[0].level is not None:
        folder = str(found[0].path)
    elif jit.IS_JIT_OFF:
        folder = None
    elif machine_code.is_switched_off():
        folder = build.compile_in_cache()
    else:
        try:
            folder = str(build.user_folder())
            build.build(build.user_folder(), (build.native_level(),), say=say)
            machine_code.libraries.cache_clear()
        except BuildError as error:
            say(f"{error}. Numba compiles each kernel by itself instead")
            folder = build.compile_in_cache()
    return Warmup(folder, time.perf_counter() - started)
