"""Threads: how many, that errors and Ctrl-C stop them all, forks, and many callers at once."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastndcg as fn
from fastndcg import threads
from fastndcg.threads import available_cpus, run_all

RANDOM = np.random.default_rng(2)
N_QUERIES, N_DOCUMENTS = 40_000, 20  # more than stays on the calling thread, and more than one chunk
LABELS = RANDOM.integers(0, 3, (N_QUERIES, N_DOCUMENTS), dtype="i1")
SCORES = RANDOM.integers(0, 50, (N_QUERIES, N_DOCUMENTS)).astype("f4")
METRICS = "ndcg@10,map,rr,p@5,f1@5,success@3,rprec"
NO_LIMIT = 1 << 30


def our_threads():
    """The threads of ours that are alive."""
    return [thread for thread in threading.enumerate() if thread.name == "fastndcg"]


def python(code):
    """What a fresh interpreter prints."""
    command = [sys.executable, "-W", "error", "-c", textwrap.dedent(code)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.strip()


@pytest.mark.parametrize(
    ("files", "cpus"),
    [
        ({}, NO_LIMIT),
        ({"cpu.max": "max 100000\n"}, NO_LIMIT),
        ({"cpu.max": "200000 100000\n"}, 2),
        ({"cpu.max": "150000 100000\n"}, 2),
        ({"cpu.max": "1000 100000\n"}, 1),
        ({"cpu.max": "nonsense"}, NO_LIMIT),
        ({"cpu.max": ""}, NO_LIMIT),
        ({"cpu.max": "100000 0"}, NO_LIMIT),
        ({"cpu/cpu.cfs_quota_us": "300000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, NO_LIMIT),
        ({"cpu/cpu.cfs_quota_us": "300000\n"}, NO_LIMIT),
    ],
)
def test_quota_of_the_control_group(tmp_path, files, cpus):
    """Version 2's file, version 1's pair, no limit, and files that say nothing; parts of a CPU count as one."""
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    assert threads._cgroup_quota(tmp_path) == cpus


def test_available_cpus(monkeypatch):
    """The lesser of affinity and quota, at least one; where there is no affinity, the machine's."""
    monkeypatch.setattr(threads, "_cgroup_quota", lambda: 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert available_cpus() == 3
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {5}, raising=False)
    assert available_cpus() == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available_cpus() == 1


def test_values_do_not_depend_on_threads():
    """The same bits with 1, 2, 3, 8 and more threads than chunks, and no thread is left."""
    expected = fn.evaluate(LABELS, SCORES, METRICS, threads=1)
    for n in (2, 3, 8, 1000, None):
        result = fn.evaluate(LABELS, SCORES, METRICS, threads=n)
        assert result.values.tobytes() == expected.values.tobytes()
        assert result.n_tied == expected.n_tied
    assert our_threads() == []


def test_small_inputs_stay_on_the_calling_thread(monkeypatch):
    """No thread starts for them."""
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread was started"))
    fn.evaluate(LABELS[:10], SCORES[:10], METRICS, threads=8)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_every_item_is_handed_out_once(n_threads):
    """To whichever worker is free; each worker is made on the thread that uses it."""
    done, makers = [], set()

    def make_worker():
        makers.add(threading.get_ident())
        return done.append

    run_all(iter(range(1000)), make_worker, n_threads)
    assert sorted(done) == list(range(1000))
    assert 1 <= len(makers) <= n_threads
    assert our_threads() == []


@pytest.mark.parametrize("error", [ValueError("item 3"), KeyboardInterrupt(), SystemExit(2), MemoryError()])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_errors_stop_every_worker(error, n_threads):
    """The first error is raised to the caller, Ctrl-C too; further items are not begun, and no thread is left."""
    done = []

    def work(item):
        if item == 3:
            raise error
        time.sleep(0.001)
        done.append(item)

    with pytest.raises(type(error)) as caught:
        run_all(range(100_000), lambda: work, n_threads)
    assert caught.value is error
    assert len(done) < 1000
    assert our_threads() == []


def test_errors_while_a_worker_is_made():
    """They are raised likewise."""

    def make_worker():
        raise MemoryError

    with pytest.raises(MemoryError):
        run_all(range(10), make_worker, 3)
    assert our_threads() == []


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system sends no signal to one thread")
def test_control_c_while_waiting_for_helpers():
    """The calling thread has nothing left to do and waits: Ctrl-C is raised once the helper has ended."""
    begun, ended = threading.Event(), threading.Event()

    def work(item):
        if threading.current_thread() is threading.main_thread():
            begun.wait(10)
            return
        begun.set()
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(0.3)
        ended.set()

    with pytest.raises(KeyboardInterrupt):
        run_all(range(2), lambda: work, 2)
    assert ended.is_set()
    assert our_threads() == []


def test_fewer_threads_than_asked_for(monkeypatch):
    """Where the system has no thread left, those that there are do the work."""

    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done = []
    run_all(range(10), lambda: done.append, 4)
    assert done == list(range(10))


def test_error_in_a_chunk_reaches_the_caller():
    """An evaluation with several threads says what is wrong with the data as with one."""
    scores = SCORES.copy()
    scores[30_000, 7] = np.nan
    for n in (1, 4):
        with pytest.raises(fn.InvalidInputError, match=r"scores\[30000, 7\] \(query 30000\) is nan"):
            fn.evaluate(LABELS, scores, METRICS, threads=n)
    assert our_threads() == []


def test_many_callers_at_once():
    """Eight threads evaluate different data at the same time, each with threads of its own."""
    starts = [place * 5000 for place in range(8)]

    def call(start):
        part = slice(start, start + 5000)
        return fn.evaluate(LABELS[part], SCORES[part], METRICS, threads=2).values.tobytes()

    expected = [call(start) for start in starts]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            assert list(pool.map(call, starts)) == expected


FORKS = """
    import os, sys, warnings
    import numpy as np
    import fastndcg as fn

    labels = np.tile(np.array([[1, 0, 2, 0]], "i1"), (50_000, 1))
    scores = np.tile(np.array([[1.0, 2.0, 3.0, 3.0]]), (50_000, 1))
    def mean():
        return fn.evaluate(labels, scores, "ndcg@3", threads=4).mean()["nDCG@3"]

    first = mean() if {before} else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        print(mean(), flush=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    print(mean(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize("before", [True, False])
def test_forks(before):
    """Used before a fork or not, the child works, and the parent after it."""
    values = python(FORKS.format(before=before)).split()
    assert len(values) == 2
    assert values[0] == values[1]


def test_interpreter_ends_while_another_thread_evaluates():
    """A daemon thread that is evaluating when the program ends does not hold or crash it."""
    code = """
        import threading, time
        import numpy as np
        import fastndcg as fn
        labels = np.ones((20_000, 30), "i1"); scores = np.random.default_rng(1).random((20_000, 30))
        fn.evaluate(labels[:10], scores[:10], "ndcg")
        def forever():
            while True:
                fn.evaluate(labels, scores, "ndcg", threads=3)
        threading.Thread(target=forever, daemon=True).start()
        time.sleep(0.3)
        print("done")
    """
    assert python(code) == "done"
