"""Imports of optional packages, with errors that name the package to install."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from fastndcg.errors import InvalidInputError, MissingPackageError, shorten
from fastndcg.runtime.lazy_import import load_package

# optional features, each with all packages that it imports: an error names every absent one
NEEDED_TOGETHER = {
    "arrow": ("pyarrow",),
    "statistics": ("scipy",),
    "plots": ("scipy", "matplotlib"),
    "report": ("scipy", "jinja2"),
}
# modules whose package has another name on the package index
INDEX_NAMES = {
    "backports": "backports.zstd",
    "sentence_transformers": "sentence-transformers",
    "sklearn": "scikit-learn",
}
# values with which Numba raises a traceback when it is imported, or LLVM ends the process when it compiles
NUMBA_VALUES = {
    "NUMBA_NUM_THREADS": (r"0*[1-9][0-9]*", "a whole number of 1 or more"),
    "NUMBA_CPU_FEATURES": (r"|[+-][\w.-]+(,[+-][\w.-]+)*", "features with + or - before each, such as +avx2,-avx512f"),
}


def optional_import(module: str, purpose: str, extra: str) -> ModuleType:
    """
    Import an optional package in the function that uses it, for a purpose that the error names.

    `extra` is that of the feature, as in ``pip install fastndcg[extra]``: the error also names its other packages. It
    is MissingPackageError if the package is absent or if its import fails, and InvalidInputError if an environment
    variable has a value that Numba cannot work with.

    >>> optional_import("no_such_module", "drawing", "plots")
    Traceback (most recent call last):
    ...
    fastndcg.errors.MissingPackageError: drawing needs no_such_module. Install it: pip install no_such_module
    """
    package = module.partition(".")[0]
    if package == "numba" and package not in sys.modules:
        check_numba_environment()
    try:
        return load_package(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _broken_package(package, purpose, error) from error
        cause = error
    except Exception as error:
        raise _broken_package(package, purpose, error) from error
    raise _missing_packages([package, *_find_absent(extra)], purpose) from cause


class OptionalPackage:
    """A package that is imported when one of its attributes is first used. See `optional_import`."""

    def __init__(self, module: str, purpose: str, extra: str) -> None:
        self._module = module
        self._purpose = purpose
        self._extra = extra

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the package, which is kept: later uses of it take no call."""
        value = getattr(optional_import(self._module, self._purpose, self._extra), name)
        self.__dict__[name] = value
        return value


def check_numba_environment() -> None:
    """Raise InvalidInputError for a value of an environment variable that Numba cannot work with."""
    for name, (pattern, rule) in NUMBA_VALUES.items():
        value = os.environ.get(name)
        if value is not None and not re.fullmatch(pattern, value):
            raise InvalidInputError(
                f"the environment variable {name} must be {rule}, not {shorten(value)}. Correct it, or unset it."
            )


def check_packages(purpose: str, extra: str) -> None:
    """Raise MissingPackageError if a package of an extra is absent. Import none of them."""
    absent = _find_absent(extra)
    if absent:
        raise _missing_packages(absent, purpose)


def _find_absent(extra: str) -> list[str]:
    return [
        name for name in NEEDED_TOGETHER.get(extra, ()) if sys.modules.get(name) is None and find_spec(name) is None
    ]


def _missing_packages(packages: Iterable[str], purpose: str) -> MissingPackageError:
    names = [INDEX_NAMES.get(package, package) for package in dict.fromkeys(packages)]
    enumeration = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    pronoun = "them" if len(names) > 1 else "it"
    return MissingPackageError(f"{purpose} needs {enumeration}. Install {pronoun}: pip install {' '.join(names)}")


def _broken_package(package: str, purpose: str, error: Exception) -> MissingPackageError:
    name = INDEX_NAMES.get(package, package)
    return MissingPackageError(
        f"{purpose} needs {name}, which is installed but cannot be imported: {type(error).__name__}: {error}"
    )
