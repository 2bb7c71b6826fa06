"""Threads: they share the work, errors and Ctrl-C stop them all, and many callers have their own."""

import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import fastndcg as fn
from fastndcg import threads
from fastndcg.threads import run_all

RANDOM = np.random.default_rng(2)
N_QUERIES, N_DOCUMENTS = 40_000, 20  # more than stays on the calling thread, and more than one chunk
LABELS = RANDOM.integers(0, 3, (N_QUERIES, N_DOCUMENTS), dtype="i1")
SCORES = RANDOM.integers(0, 50, (N_QUERIES, N_DOCUMENTS)).astype("f4")
METRICS = "ndcg@10,map,rr,p@5,f1@5,success@3,rprec"


def our_threads():
    """The threads of ours that are alive."""
    return [thread for thread in threading.enumerate() if thread.name == "fastndcg"]


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


@pytest.fixture
def late(monkeypatch):
    """An event that threads of ours wait for before they begin, and one that is set when they have."""
    gate, begun, begin = threading.Event(), threading.Event(), threading.Thread._bootstrap

    def begin_late(thread):
        if thread.name == "fastndcg":
            gate.wait(5)
            begun.set()
        begin(thread)

    monkeypatch.setattr(threading.Thread, "_bootstrap", begin_late)
    return gate, begun


def test_the_caller_does_not_wait_for_a_thread_to_begin(late):
    """It has done all the work by then; the other finds none, and is gone in the end."""
    gate, begun = late
    done = []
    run_all(range(10), lambda: lambda item: (done.append((item, begun.is_set())), item == 9 and gate.set()), 2)
    assert done == [(item, False) for item in range(10)]
    assert begun.is_set()
    assert our_threads() == []


def test_a_thread_that_begins_late_is_waited_for(late, monkeypatch):
    """Longer than one that was interrupted when it started, which may never begin."""
    gate, begun = late
    monkeypatch.setattr(threads, "START_SECONDS", 0.01)
    threading.Timer(0.3, gate.set).start()
    run_all(range(10), lambda: lambda _: None, 2)
    assert begun.is_set()
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
            begun.wait()
            return
        if begun.is_set():  # the helper was quick enough to take both items: one Ctrl-C is enough
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


@pytest.mark.parametrize("has_started", [True, False])
def test_control_c_while_a_helper_starts(monkeypatch, has_started):
    """Whether it has started nobody knows: it finds no work, is gone in the end, and nothing waits for it for ever."""
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
    """It comes just before the helpers are waited for: they are nevertheless."""
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
