"""What the test files of drop-ins say of them: wrong calls, calls that the original takes, and objects to copy."""

import contextlib
import functools
import importlib.util
from pathlib import Path
from unittest import mock

import pytest

from fastndcg.compat import DROP_INS

FOLDER = Path(__file__).parents[1] / "compat"
PEERS = {drop_in.module: drop_in.peer for drop_in in DROP_INS if "." not in drop_in.module}


@functools.cache
def load(module):
    """Run tests/compat/test_<module>.py up to where it imports the peer, which takes seconds: tables stand before."""
    spec = importlib.util.spec_from_file_location(f"cases_of_{module}", FOLDER / f"test_{module}.py")
    tests = importlib.util.module_from_spec(spec)
    skip = mock.patch.object(pytest, "importorskip", side_effect=pytest.skip.Exception)
    with skip, contextlib.suppress(pytest.skip.Exception):
        spec.loader.exec_module(tests)
    return tests


def read(module, name):
    """Return the table `name` of tests/compat/test_<module>.py, empty if it has none."""
    has_table = f"\n{name} = " in (FOLDER / f"test_{module}.py").read_text(encoding="utf-8")
    return getattr(load(module), name) if has_table else {}
