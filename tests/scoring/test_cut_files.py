"""Memory-mapped files that another program cuts are an error, and do not end the process. Each test runs in its own."""

import os
import subprocess
import sys

import pytest

SETUP = """
import os
import numpy as np, fastndcg as fn
rng = np.random.default_rng(0)
N = 3 << 20

def write(name, array):
    np.save(name, array)
    return np.load(name, mmap_mode="r")

def cut(name, n_bytes=100_000):
    os.truncate(name, n_bytes)

def expect(call, name):
    try:
        call()
    except fn.InvalidInputError as error:
        assert name in str(error) and "another program cut it" in str(error), error
        print("refused")

liked = fn.Interactions(rng.integers(0, N // 8, 2000), offsets=np.arange(2001), n_items=N // 8)
users = rng.standard_normal((2000, 16), "f4")
"""
SCRIPTS = {
    "items before ranks are counted": """
items = write("items.npy", np.tile(users, (N // 8 // 2000 + 1, 1))[: N // 8])
model = fn.Embeddings(users, items)
cut("items.npy")
expect(lambda: fn.evaluate(liked, model, "rr"), "items.npy")
expect(lambda: model.top(3), "items.npy")
expect(lambda: fn.Embeddings(users, items), "items.npy")
""",
    "items while ranks are counted": """
items = write("items.npy", np.tile(users, (N // 8 // 2000 + 1, 1))[: N // 8])
model = fn.Embeddings(users, np.asarray(items))  # a view, whose type is no map
expect(lambda: fn.evaluate(liked, model, "rr", progress=lambda n, total: cut("items.npy"), threads=1), "items.npy")
""",
    "vectors of the command line": """
from fastndcg.scoring.files import read_embeddings
write("items.npy", np.tile(users, (N // 8 // 2000 + 1, 1))[: N // 8])
write("users.npy", users)
model = read_embeddings("users.npy,items.npy")
expect(lambda: fn.evaluate(liked, model, "rr", progress=lambda n, total: cut("items.npy"), threads=1), "items.npy")
cut("users.npy", 1000)
expect(lambda: model.top(3), "users.npy")
""",
    "labels and scores": """
labels = write("labels.npy", rng.integers(0, 2, 8 * N, dtype="i1"))
scores = write("scores.npy", rng.random(8 * N, dtype="f4"))
offsets = np.arange(0, 8 * N + 1, 256)
from fastndcg.engine import run
evaluate_chunk = run.evaluate_chunk
def cut_after(*arguments):
    result = evaluate_chunk(*arguments)
    cut("scores.npy")
    return result
run.evaluate_chunk = cut_after
expect(lambda: fn.evaluate(labels, scores, "rr", offsets=offsets, threads=1), "scores.npy")
run.evaluate_chunk = evaluate_chunk
cut("labels.npy")
expect(lambda: fn.evaluate(labels, np.ones(8 * N), "rr", offsets=offsets), "labels.npy")
""",
    "a score matrix": """
scores = write("scores.npy", rng.random((400, N // 100), dtype="f4"))
truth = fn.Interactions(np.zeros(400, "i4"), offsets=np.arange(401))
fn.evaluate(truth, scores, "rr")
cut("scores.npy")
expect(lambda: fn.evaluate(truth, scores, "rr"), "scores.npy")
""",
    "small arrays are copied": """
labels, scores = write("labels.npy", rng.integers(0, 2, 4000)), write("scores.npy", rng.random(4000))
items = write("items.npy", users)
evaluator, model = fn.Evaluator(labels, "rr", offsets=[0, 4000]), fn.Embeddings(users, np.asarray(items)[:])
small = fn.Interactions(np.arange(2000), offsets=np.arange(2001))
values = fn.evaluate(small, model, "rr").values
cut("labels.npy", 100)
cut("items.npy", 100)
assert fn.evaluate(small, model, "rr").values.tobytes() == values.tobytes()
evaluator.evaluate(scores)
cut("scores.npy", 100)
expect(lambda: evaluator.evaluate(scores), "scores.npy")
""",
}
N_REFUSED = {
    "items before ranks are counted": 3, "items while ranks are counted": 1, "vectors of the command line": 2,
    "labels and scores": 2, "a score matrix": 1, "small arrays are copied": 1,
}  # fmt: skip


@pytest.mark.skipif(not hasattr(os, "preadv"), reason="such a file cannot be cut on Windows")
@pytest.mark.parametrize("case", SCRIPTS)
def test_a_cut_file_is_an_error(tmp_path, case):
    """The error names the file and its sizes. Without the checks, the process ends by SIGBUS."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SETUP + SCRIPTS[case]]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert ended.stdout.split() == ["refused"] * N_REFUSED[case]
