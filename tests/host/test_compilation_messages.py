"""The line on stderr when Numba compiles kernels: one per process, with an estimate."""

import os
import subprocess
import sys
import textwrap

from fresh_processes import COMPILE, make_environment

HINT = "; a built wheel or `fastndcg warmup` has them\n"
LINE = f"fastndcg: compiling kernels as they are needed, about 0.6 s each{HINT}"


def read_stderr(code=COMPILE, **environment):
    given = make_environment(**({"FASTNDCG_QUIET": "0"} | environment))
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=given).stderr


def test_compilation_is_announced_once(tmp_path):
    assert read_stderr(FASTNDCG_CACHE_DIR=tmp_path) == LINE
    assert read_stderr(FASTNDCG_CACHE_DIR=tmp_path) == ""


def test_announcement_can_be_switched_off(tmp_path):
    """FASTNDCG_QUIET=1 turns the line off."""
    assert read_stderr(FASTNDCG_CACHE_DIR=tmp_path, FASTNDCG_QUIET=1) == ""


def test_announcement_counts_the_kernels_that_were_looked_up(tmp_path):
    code = """
        from fastndcg.kernels import jit
        import toy_kernels
        import numpy as np
        toy_kernels.add_up.place  # a kernel that nobody looked up does not count
        jit.note_lookup(toy_kernels.add_up)
        jit.note_lookup(toy_kernels.add_up)
        toy_kernels.double(np.zeros(1), np.zeros(1))
    """
    assert read_stderr(code, FASTNDCG_CACHE_DIR=tmp_path) == f"fastndcg: compiling 2 kernels, about 1 s{HINT}"


def test_no_line_without_stderr(tmp_path):
    given = make_environment(FASTNDCG_QUIET="0", FASTNDCG_CACHE_DIR=tmp_path)
    code = "import sys; sys.stderr = None\n" + textwrap.dedent(COMPILE)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=given)
    assert done.stderr == ""
    assert os.path.isdir(tmp_path)
