"""Files of vectors that another program cuts are an error on the command line, and do not end the process."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import os
import numpy as np, fastndcg as fn
from fastndcg.scoring.files import read_embeddings
rng = np.random.default_rng(0)
liked = fn.Interactions(rng.integers(0, 400_000, 2000), offsets=np.arange(2001), n_items=400_000)
users = rng.standard_normal((2000, 16), "f4")

def expect(call, name):
    try:
        call()
    except fn.InvalidInputError as error:
        assert name in str(error) and "another program cut it" in str(error), error
        print("refused")

np.save("items.npy", np.tile(users, (200, 1)))
np.save("users.npy", users)
model = read_embeddings("users.npy,items.npy")
cut = lambda n, total: os.truncate("items.npy", 100_000)
expect(lambda: fn.evaluate(liked, model, "rr", progress=cut, threads=1), "items.npy")
os.truncate("users.npy", 1000)
expect(lambda: model.top(3), "users.npy")
"""


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="such a file cannot be cut on Windows")
def test_a_cut_file_is_an_error(tmp_path):
    """The error names the file and its sizes. Without the checks, the process ends by SIGBUS."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SCRIPT]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["refused"] * 2
