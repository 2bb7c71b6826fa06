"""Threads share the work, errors and Ctrl-C stop all of them, and each caller has separate threads."""

import signal
import threading
import time

import numpy as np
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.runtime import threads
from fastndcg.runtime.threads import run_all

RANDOM = np.random.default_rng(2)
N_QUERIES, N_DOCUMENTS = 40_000, 20  # more than stays on the calling thread, and more than one chunk
LABELS = RANDOM.integers(0, 3, (N_QUERIES, N_DOCUMENTS), dtype="i1")
SCORES = RANDOM.integers(0, 50, (N_QUERIES, N_DOCUMENTS)).astype("f4")
METRICS = "ndcg@10,map,rr,p@5,f1@5,success@3,rprec"
PATIENCE = 60  # seconds until a thread counts as hung


def our_threads():
    return [thread for thread in threading.enumerate() if thread.name == "fastndcg"]


def test_values_and_errors_do_not_depend_on_threads():
    expected = fn.evaluate(LABELS, SCORES, METRICS, threads=1)
    for n in (2, 3, 8, 1000, None):
        result = fn.evaluate(LABELS, SCORES, METRICS, threads=n)
        assert result.values.tobytes() == expected.values.tobytes()
        assert result.n_tied == expected.n_tied
    assert our_threads() == []
    scores = SCORES.copy()
    scores[30_000, 7] = np.nan
    for n in (1, 4):
        refused(r"scores\[30000, 7\] \(query 30000\) is nan", fn.evaluate, LABELS, scores, METRICS, threads=n)
    assert our_threads() == []


def test_small_inputs_stay_on_the_calling_thread(monkeypatch):
    monkeypatch.setattr(threading.Thread, "start", lambda _: pytest.fail("a thread was started"))
    fn.evaluate(LABELS[:10], SCORES[:10], METRICS, threads=8)


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_thread_pool_hands_out_items_once(n_threads):
    done, makers = [], set()

    def make_worker():
        makers.add(threading.get_ident())
        return done.append

    run_all(iter(range(1000)), make_worker, n_threads)
    assert sorted(done) == list(range(1000))
    assert 1 <= len(makers) <= n_threads
    assert our_threads() == []


@pytest.fixture
def late(monkeypatch):
    """Delay the threads of fastndcg, and return the event that releases them and an event that they set."""
    gate, begun, begin = threading.Event(), threading.Event(), threading.Thread._bootstrap

    def begin_late(thread):
        if thread.name == "fastndcg":
            gate.wait(5)
            begun.set()
        begin(thread)

    monkeypatch.setattr(threading.Thread, "_bootstrap", begin_late)
    return gate, begun


def test_thread_pool_waits_for_late_thread(late, monkeypatch):
    gate, begun = late
    monkeypatch.setattr(threads, "START_SECONDS", 0.01)
    threading.Timer(0.3, gate.set).start()
    run_all(range(10), lambda: lambda _: None, 2)
    assert begun.is_set()
    assert our_threads() == []


@pytest.mark.parametrize("error", [ValueError("item 3"), KeyboardInterrupt(), SystemExit(2), MemoryError()])
@pytest.mark.parametrize("n_threads", [1, 4])
def test_errors_stop_every_worker(error, n_threads):
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
    def make_worker():
        raise MemoryError

    with pytest.raises(MemoryError):
        run_all(range(10), make_worker, 3)
    assert our_threads() == []


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="this system sends no signal to one thread")
def test_control_c_while_waiting_for_helpers(monkeypatch):
    waits = [threading.Event(), threading.Event()]
    begun, ended = threading.Event(), threading.Event()
    wait = threads._Helper.wait

    def noted_wait(helper):
        next(event for event in waits if not event.is_set()).set()
        wait(helper)

    def work(item):
        if threading.current_thread() is threading.main_thread():
            assert begun.wait(PATIENCE)
        elif not begun.is_set():  # otherwise the helper has taken both items
            begun.set()
            assert waits[0].wait(PATIENCE)
            for _ in range(PATIENCE):  # Python misses a signal that comes right before a thread begins to wait
                signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
                if waits[1].wait(1):  # the calling thread has seen Ctrl-C and waits again
                    break
            assert waits[1].is_set()
            ended.set()

    monkeypatch.setattr(threads._Helper, "wait", noted_wait)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off
    try:
        with pytest.raises(KeyboardInterrupt):
            run_all(range(2), lambda: work, 2)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended.is_set()
    assert our_threads() == []


@pytest.mark.parametrize("has_started", [True, False])
def test_control_c_while_a_helper_starts(monkeypatch, has_started):
    start = threading.Thread.start

    def interrupted(thread):
        if has_started:
            start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all(range(1_000_000), lambda: lambda _: time.sleep(0.001), 4)
    assert our_threads() == []


def test_control_c_when_the_work_is_done(monkeypatch):
    wait = threads._Helper.wait
    calls = []

    def interrupted(helper):
        calls.append(helper)
        if len(calls) == 1:
            raise KeyboardInterrupt
        wait(helper)

    monkeypatch.setattr(threads._Helper, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run_all(range(8), lambda: lambda _: time.sleep(0.05), 4)
    assert our_threads() == []


def test_thread_pool_with_fewer_threads_than_requested(monkeypatch):
    def start(_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    done = []
    run_all(range(10), lambda: done.append, 4)
    assert done == list(range(10))
