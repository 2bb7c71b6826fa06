"""Whole processes: importing, the demo, the first call with an empty and with a filled cache of machine code."""

import tempfile
import time

import pytest

from benchmarks.data import NDCG, TWELVE
from benchmarks.proof import equals
from benchmarks.race import measure_peak, prepare_python, run_python

CODE = """
import time
start = time.perf_counter()
import numpy as np, fastndcg as fn
imported = time.perf_counter()
labels, scores = np.array([1, 0, 0, 1], "u1"), np.array([4, 3, 2, 1], "f4")
values = fn.evaluate(labels, scores, {metrics!r}, offsets=[0, 2, 4])
first = time.perf_counter()
fn.evaluate(labels, scores, {metrics!r}, offsets=[0, 2, 4])
second = time.perf_counter()
expected = fn.reference.evaluate(labels, scores, {metrics!r}, offsets=[0, 2, 4])
assert np.allclose(values.values, expected.values, rtol=0, atol=1e-12, equal_nan=True)
print(imported - start, first - imported, second - first)
"""


def test_import(race):
    """Time a process that imports the package, against one that imports NumPy."""
    race.info["peak_mib"] = measure_peak("import numpy, fastndcg")
    race.info["peak_mib_of_numpy"] = measure_peak("import numpy")
    race(
        prepare_python("-c", "import numpy, fastndcg; print(int(bool(fastndcg.__version__)))"), equals(1, read=int),
        floors={"import numpy": prepare_python("-c", "import numpy"), "python": prepare_python("-c", "")},
    )  # fmt: skip


def test_demo(race):
    """Time the command of the demo, against a process that imports NumPy."""

    def check(printed):
        assert "0.7901" in printed, printed

    race(
        prepare_python("-m", "fastndcg", "evaluate"), check,
        floors={"import numpy": prepare_python("-c", "import numpy")},
    )  # fmt: skip


@pytest.mark.parametrize("metrics", [NDCG, TWELVE], ids=["nDCG@10", "twelve metrics"])
@pytest.mark.parametrize("cache", ["empty cache", "filled cache"])
def test_first_call(race, cache, metrics):
    """Time a process with one evaluation, which compiles or loads its kernels, against one that imports NumPy."""
    code = CODE.format(metrics=list(metrics))

    def run():
        if cache == "filled cache":
            return run_python("-c", code)
        with tempfile.TemporaryDirectory() as folder:
            return run_python("-c", code, NUMBA_CACHE_DIR=folder, FASTNDCG_CACHE_DIR=folder)

    start = time.perf_counter()
    imported, first, second = map(float, run().split())
    race.info |= {
        "process_seconds": time.perf_counter() - start, "import_seconds": imported, "evaluate_seconds": first,
        "second_call_seconds": second, "peak_mib": measure_peak(code) if cache == "filled cache" else None,
    }  # fmt: skip
    proof = equals(3, read=lambda printed: len(printed.split()))  # the process itself compares with the reference
    race(run, proof, floors={"import numpy": prepare_python("-c", "import numpy")})
