"""Python files and modules that register metrics, run before a command."""

from __future__ import annotations

import importlib
import os
import runpy

from fastndcg.errors import InvalidInputError


def load(source: str) -> None:
    """Run a file, or import a module by its name."""
    is_file = source.endswith(".py") or os.sep in source
    if is_file and not os.path.isfile(source):
        raise InvalidInputError(f"--import: there is no file {source}")
    try:
        if is_file:
            runpy.run_path(source, run_name="fastndcg_metrics")
        else:
            importlib.import_module(source)
    except Exception as error:
        raise InvalidInputError(f"--import {source}: {type(error).__name__}: {error}") from error
