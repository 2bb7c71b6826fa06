"""Python files and modules that register metrics, loaded by ``fastndcg --import``."""

from __future__ import annotations

import importlib
import os
import runpy

from fastndcg.errors import InvalidInputError, shorten
from fastndcg.runtime.escapes import show_name


def load(source: str) -> None:
    """
    Run a Python file, or import a module by its name.

    Parameters
    ----------
    source : str
        A path that ends in ``.py`` or has a folder, or else the name of a module.

    Raises
    ------
    InvalidInputError
        If the file does not exist, raises an exception, or ends the process.
    """
    is_file = source.endswith(".py") or os.sep in source
    if is_file and not os.path.isfile(source):
        raise InvalidInputError(f"--import: the file {source} does not exist. Check the path.")
    try:
        if is_file:
            runpy.run_path(source, run_name="fastndcg_metrics")
        else:
            importlib.import_module(source)
    except SystemExit as exit_request:
        raise InvalidInputError(
            f"--import {source}: the file must not end the process, but it calls "
            f"sys.exit({shorten(exit_request.code)})."
            ' Put that call under `if __name__ == "__main__":`.'
        ) from None
    except Exception as error:
        raise InvalidInputError(f"--import {source}: {type(error).__name__}: {show_name(error)}") from error
