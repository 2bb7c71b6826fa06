"""Fresh Python processes for the tests of compilation and of the kernel cache."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import fastndcg as fn

PACKAGE = Path(fn.__file__).parent
EVALUATE = """
    import json
    import fastndcg as fn
    values = fn.evaluate([[1, 0, 2, 0], [0, 0, 1, 0]], [[1.0, 2.0, 3.0, 3.0]] * 2, "rr").values.tolist()

    from fastndcg.kernels import jit
    from fastndcg.kernels.metrics import first_relevant as cascade
    from fastndcg.kernels.ranking import rank
    statistics = [kernel.stats for kernel in (rank.rank, cascade.reciprocal_rank)]
    hits = sum(sum(one.cache_hits.values()) for one in statistics)
    misses = sum(sum(one.cache_misses.values()) for one in statistics)
    print(json.dumps([values, hits, misses, jit.cache_folder(), fn.__file__]))
"""
EXPECTED = fn.evaluate([[1, 0, 2, 0], [0, 0, 1, 0]], [[1.0, 2.0, 3.0, 3.0]] * 2, "rr").values.tolist()
NOBODY = 65534
NO_FOLDER = {"FASTNDCG_CACHE_DIR": "", "NUMBA_CACHE_DIR": ""}


def start(code, folder, **environment):
    """Start a fresh interpreter with `folder`, if it is given, first on its path."""
    environment = {name: str(value) for name, value in (os.environ | environment).items()}
    environment.pop("NUMBA_DISABLE_JIT", None)
    environment["PYTHONPATH"] = os.pathsep.join(
        map(str, [*([folder] if folder else []), *filter(None, [os.environ.get("PYTHONPATH")]), PACKAGE.parent])
    )
    command = [sys.executable, "-P", "-W", "error", "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def answer(process):
    """Return the JSON that a process prints, and check that the process ends without errors."""
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    assert errors == ""
    return json.loads(out)


def evaluated(folder=None, **environment):
    """Evaluate in a fresh process, and return the hits, the misses and the folder of its cache."""
    values, hits, misses, cache, _ = answer(start(EVALUATE, folder, **environment))
    assert values == EXPECTED
    return hits, misses, cache


def no_cache_of_the_users(folder):
    """Return an environment in which the user's cache folder cannot be made, because its path leads through a file."""
    file = folder / "a file"
    file.write_text("")
    return {"HOME": file / "home", "XDG_CACHE_HOME": file / "cache", "LOCALAPPDATA": file} | NO_FOLDER
