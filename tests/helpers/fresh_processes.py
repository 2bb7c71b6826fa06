"""Fresh Python processes for the tests of compilation, of machine code and of the cache."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import fastndcg as fn

PACKAGE = Path(fn.__file__).parent
COMPILE = """
    import json
    import numpy as np
    import fastndcg as fn
    import toy_kernels
    from fastndcg.kernels import compiler

    out = np.zeros(4)
    toy_kernels.double(np.arange(3.0), out)
    toy_kernels.add_up(out, out[3:])
    statistics = [kernel.numba_function.stats for kernel in (toy_kernels.double, toy_kernels.add_up)]
    hits = sum(sum(one.cache_hits.values()) for one in statistics)
    misses = sum(sum(one.cache_misses.values()) for one in statistics)
    folder = None if compiler.FOLDER.problem else str(compiler.FOLDER.path)
    print(json.dumps([out.tolist(), hits, misses, folder, fn.__file__]))
"""
EXPECTED = [0.0, 2.0, 4.0, 6.0]
NOBODY = 65534
NO_FOLDER = {"FASTNDCG_CACHE_DIR": "", "NUMBA_CACHE_DIR": ""}


def make_environment(folder=None, **environment):
    """Return the environment of a process that imports the package from `folder`, or the package under test."""
    found = {name: str(value) for name, value in (os.environ | environment).items()}
    found.pop("NUMBA_DISABLE_JIT", None)
    paths = [folder, os.environ.get("PYTHONPATH"), PACKAGE.parent, Path(__file__).parent]
    found["PYTHONPATH"] = os.pathsep.join(str(path) for path in paths if path)
    return found


def start(code, folder=None, **environment):
    """Start a fresh interpreter with `folder`, if it is given, first on its path."""
    command = [sys.executable, "-P", "-W", "error", "-c", textwrap.dedent(code)]
    given = make_environment(folder, **environment)
    return subprocess.Popen(command, env=given, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process):
    """Return the JSON that a process prints, and check that the process ends without errors."""
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert errors == ""
    return json.loads(out)


def compile_toys(folder=None, **environment):
    values, hits, misses, cache, _ = answer(start(COMPILE, folder, **environment))
    assert values == EXPECTED
    return hits, misses, cache


def no_cache_of_the_users(folder):
    file = folder / "a file"
    file.write_text("")
    return {"HOME": file / "home", "XDG_CACHE_HOME": file / "cache", "LOCALAPPDATA": file} | NO_FOLDER
