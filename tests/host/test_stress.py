"""
Stress: two threads overwrite arrays during evaluations, and no call crashes, hangs or reads beyond an array.

`pytest -m stress` runs these tests, which take some minutes. STRESS_SECONDS is the time of each group of metrics.
"""

import collections
import json
import os
import pathlib
import subprocess
import sys

import pytest

from fastndcg.metrics.families import CATALOG

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "helpers" / "stress_arrays.py"
SECONDS = float(os.environ.get("STRESS_SECONDS", "5"))
HANG = 60.0  # seconds of one call, which takes 0.1 s on a quiet machine
PARTS = 2  # processes side by side


@pytest.mark.stress
@pytest.mark.parametrize("bounds_checks", ["0", "1"], ids=["without bounds checks", "with bounds checks"])
def test_arrays_that_change_give_values_or_errors(bounds_checks, capsys):
    environment = os.environ | {"NUMBA_BOUNDSCHECK": bounds_checks, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(PROGRAM), "--seconds", str(SECONDS), "--hang", str(HANG), str(PARTS)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": environment}
    processes = [subprocess.Popen([*command, str(part)], **pipes) for part in range(PARTS)]
    try:
        ended = [process.communicate() for process in processes]
    finally:
        for process in processes:
            process.kill()
    for process, (_, messages) in zip(processes, ended, strict=True):
        assert process.returncode == 0, messages[-3000:]
    groups = [json.loads(line) for output, _ in ended for line in output.splitlines()]
    total = collections.Counter()
    for group in groups:
        total.update(group["counts"])
        assert group["foreign"] == [], group["metrics"]
        assert group["counts"]["values"] > 0, group["metrics"]
    stressed = {name.partition("(")[0].partition("@")[0] for group in groups for name in group["metrics"]}
    assert stressed == set(CATALOG)
    with capsys.disabled():
        print(f"\nbounds checks {bounds_checks}: {dict(total)}")
