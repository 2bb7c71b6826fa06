"""Threads, forks, pools, Ctrl-C, shutdowns and changing arrays of a host, each in a process that the test watches."""

import collections
import functools
import json
import os
import pathlib
import signal
import subprocess
import sys
from pathlib import Path

import host_scenarios
import pytest

import fastndcg as fn
from fastndcg.metrics.families import CATALOG

PACKAGE = Path(fn.__file__).parent
PATIENCE = 300  # seconds until a process counts as hung: machines may be busy, and caches cold
MORE = functools.partial(pytest.param, marks=pytest.mark.stress)
NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
NEEDS_SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="this system has no Ctrl-C for one process")


@pytest.fixture(scope="module")
def expected():
    return host_scenarios.evaluated(threads=1)


def run(scenario):
    """Run a scenario in a fresh process, check that it ends well and without messages, and return its lines."""
    path = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}  # NumPy's threads are not tested
    command = [sys.executable, "-P", "-W", "error", "-X", "faulthandler", host_scenarios.__file__, *scenario.split()]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, start_new_session=True, **pipes) as process:
        try:
            out, errors = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            kill(process)
            pytest.fail(f"{scenario} does not end; it said: {process.communicate()}")
    assert (process.returncode, errors) == (0, "")
    return out.splitlines()


def kill(process):
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def test_eight_callers_at_once(expected):
    assert run("callers") == [expected] * 16


@NEEDS_FORK
@pytest.mark.parametrize(("when", "uses"), [("during", 3), MORE("after", 3), MORE("before", 2)])
def test_host_forks(expected, when, uses):
    assert run(f"fork {when}") == [expected] * uses


@NEEDS_FORK
def test_fork_during_the_first_call(expected):
    assert run("fork_first") == [expected]


@NEEDS_SIGNALS
def test_signal_handler_during_the_first_call(expected):
    assert run("interrupted_import") == [expected]


@pytest.mark.parametrize("method", ["spawn", MORE("forkserver")])
def test_host_starts_processes(expected, method):
    if method not in host_scenarios.multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot start processes by {method}")
    assert run(f"processes {method}") == [expected] * 3


@pytest.mark.parametrize("backend", ["loky", MORE("threading")])
def test_host_uses_joblib(expected, backend):
    pytest.importorskip("joblib")
    assert run(f"loop {backend}") == [expected] * 4


@pytest.mark.parametrize(
    ("scenario", "uses"), [("exit_handler first", 1), MORE("exit_handler again", 2), ("threads_end", 2), ("deleted", 2)]
)
def test_interpreter_ends(expected, scenario, uses):
    assert run(scenario) == [expected] * uses


def test_interpreter_ends_while_another_thread_evaluates(expected):
    assert run("daemon") == [expected]


@NEEDS_SIGNALS
@pytest.mark.parametrize("scenario", ["interrupted chunks", "interrupted giant", MORE("interrupted_often")])
def test_control_c(expected, scenario):
    assert run(scenario) == [expected] * 2


def test_gil_is_released(expected):
    assert run("counting") == [expected]


PROGRAM = pathlib.Path(__file__).resolve().parents[1] / "helpers" / "stress_arrays.py"
SECONDS = float(os.environ.get("STRESS_SECONDS", "2"))
HANG = 60.0  # seconds of one call, which takes 0.1 s on a quiet machine
PARTS = 2  # processes side by side


@pytest.mark.stress
def test_arrays_that_change_give_values_or_errors(capsys):
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
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
        print(f"\n{dict(total)}")
