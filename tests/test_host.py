"""The host never notices: threads, forks, pools, Ctrl-C and shutdowns, each in a process that is watched."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import host_scenarios
import pytest

import fastndcg as fn

PACKAGE = Path(fn.__file__).parent
PATIENCE = 300  # seconds until a process counts as hung: machines may be busy, and caches cold
NEEDS_FORK = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
NEEDS_SIGNALS = pytest.mark.skipif(sys.platform == "win32", reason="this system has no Ctrl-C for one process")


@pytest.fixture(scope="module")
def expected():
    """What the plain call gives in this process."""
    return host_scenarios.evaluated(threads=1)


def run(scenario):
    """What a scenario prints, if it and the processes it started end well and say nothing else."""
    path = os.pathsep.join(filter(None, [str(PACKAGE.parent), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"}  # NumPy's threads are none of ours
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
    """End a process, and those that it started."""
    if hasattr(os, "killpg"):
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def test_eight_callers_at_once(expected):
    """Eight threads whose calls are the process's first, and again."""
    assert run("callers") == [expected] * 16


@NEEDS_FORK
@pytest.mark.parametrize(("when", "uses"), [("after", 3), ("before", 2), ("during", 3)])
def test_fork(expected, when, uses):
    """A fork after use, before it, and while another thread evaluates: the child works, and the parent after it."""
    assert run(f"fork {when}") == [expected] * uses


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes(expected, method):
    """Processes that were started afresh."""
    if method not in host_scenarios.multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot start processes by {method}")
    assert run(f"processes {method}") == [expected] * 3


@pytest.mark.parametrize("method", [pytest.param("fork", marks=NEEDS_FORK), "spawn"])
def test_process_pool_executor(expected, method):
    """Work handed to other processes by a process that has done some itself."""
    assert run(f"executor {method}") == [expected] * 3


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_joblib(expected, backend):
    """A loop in other processes, to which the package goes as part of a function; and in threads."""
    pytest.importorskip("joblib", reason="needs joblib: pip install 'fastndcg[test]'")
    assert run(f"loop {backend}") == [expected] * 4


@pytest.mark.parametrize(
    ("scenario", "uses"),
    [("exit_handler first", 1), ("exit_handler again", 2), ("threads_end", 2), ("deleted", 2)],
)
def test_interpreter_ends(expected, scenario, uses):
    """Calls while the interpreter shuts down give the same values, where no thread can be started as well."""
    assert run(scenario) == [expected] * uses


def test_interpreter_ends_while_another_thread_evaluates(expected):
    """A daemon thread that is evaluating when the program ends neither holds nor crashes it."""
    assert run("daemon") == [expected]


@pytest.mark.skipif(sys.platform != "linux", reason="where stacks too large are refused otherwise")
def test_no_thread_is_left(expected):
    """Where the system can start no thread, the caller's does the work."""
    assert run("no_thread") == [expected]


@NEEDS_SIGNALS
@pytest.mark.parametrize("scenario", ["interrupted", "interrupted_giant", "interrupted_often"])
def test_control_c(expected, scenario):
    """Ctrl-C is KeyboardInterrupt within a second and leaves no thread, whenever it comes; the next call works."""
    assert run(scenario) == [expected] * 2


def test_gil_is_released(expected):
    """A thread that counts goes on counting during an evaluation."""
    assert run("counting") == [expected]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system has no affinity")
def test_affinity(expected):
    """A process that may use one CPU starts no thread."""
    assert run("affinity") == [expected] * 2
