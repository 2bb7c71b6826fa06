"""
Programs that use fastndcg as hosts do. tests/test_host.py runs them: `python host_scenarios.py NAME ARGUMENTS`.

Each prints what it evaluated, one line a time, and fails if it leaves a thread behind.
"""

import atexit
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np

import fastndcg as fn

METRICS = "ndcg@10,ndcg,map,rr,p@5,f1@5,success@3,rprec"
RANDOM = np.random.default_rng(7)


def inputs(n_queries):
    """Labels, scores with ties, and offsets."""
    offsets = np.concatenate([[0], np.cumsum(RANDOM.integers(0, 40, n_queries))])
    labels = RANDOM.integers(0, 3, offsets[-1], dtype="i1")
    return labels, RANDOM.integers(0, 50, offsets[-1]).astype("f4"), offsets


INPUTS = [inputs(50), inputs(20_000)]  # one that stays on the calling thread, and one that threads share


def evaluated(threads=4):
    """What comes of both inputs, to the bit."""
    digest = hashlib.sha256()
    for labels, scores, offsets in INPUTS:
        result = fn.evaluate(labels, scores, METRICS, offsets=offsets, threads=threads)
        digest.update(result.values.tobytes() + result.n_tied.to_bytes(8, "little"))
    return digest.hexdigest()


def say(threads=4):
    """Evaluate and print."""
    print(evaluated(threads), flush=True)


def our_threads():
    """The threads of ours that are alive."""
    return [thread for thread in threading.enumerate() if thread.name == "fastndcg"]


def callers():
    """Eight threads call at once, for the first time and again."""
    barrier = threading.Barrier(8)

    def call(threads):
        barrier.wait()
        return evaluated(threads)

    with ThreadPoolExecutor(8) as pool:
        print(*pool.map(call, [1, 2, 3, 4] * 4), sep="\n")


def fork(when):
    """Use and fork; or fork, and use in the child first; or fork while another thread is evaluating."""
    ended = threading.Event()
    other = threading.Thread(target=lambda: [evaluated() for _ in iter(ended.is_set, True)])
    if when != "before":
        say()
    if when == "during":
        other.start()
        warnings.simplefilter("ignore", DeprecationWarning)  # what Python says to hosts that fork with threads
    child = os.fork()
    if child == 0:
        say()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ended.set()
    if when == "during":
        other.join()
    say()


def processes(method):
    """A pool of multiprocessing, and then the process itself."""
    with multiprocessing.get_context(method).Pool(2) as pool:
        print(*pool.map(evaluated, [2, 4]), sep="\n", flush=True)
        pool.close()
        pool.join()
    say()


def executor(method):
    """A ProcessPoolExecutor, in a process that has used the package."""
    say()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
        print(*pool.map(evaluated, [2, 4]), sep="\n")


def loop(backend):
    """A joblib loop."""
    import joblib

    say()
    call = joblib.delayed(evaluated)
    print(*joblib.Parallel(n_jobs=2, backend=backend)(call(threads) for threads in (1, 2, 4)), sep="\n")


def exit_handler(use):
    """A handler of the interpreter's end, with the first use or not."""
    if use == "again":
        say()
    atexit.register(say)


def threads_end():
    """A thread that goes on when the main thread has ended, and a handler that runs where executors take no work."""
    threading.Thread(target=lambda: (threading.main_thread().join(), say())).start()
    threading._register_atexit(say)


def deleted():
    """An object that the interpreter deletes at its very end, when a thread that starts never runs."""

    class Deleted:
        def __del__(self, say=say):
            say()

    say()
    globals()["last"] = Deleted()


def daemon():
    """A thread that is still evaluating when the main thread ends."""
    say()

    def forever():
        while True:
            evaluated()

    threading.Thread(target=forever, daemon=True).start()
    while not our_threads():
        time.sleep(0.001)
    sys.exit(0)  # that other thread has helpers, which is no fault


def no_thread():
    """The system has no thread left: none has an address space as large as the stacks that are asked for."""
    threading.stack_size(1 << 47)
    try:
        threading.Thread(target=print, args=["a thread has started"]).start()
    except RuntimeError:
        say()


def long_input(n_queries):
    """Documents by the thousand, most of them relevant: microseconds each."""
    return RANDOM.integers(0, 3, (n_queries, 1000), dtype="i1"), RANDOM.random((n_queries, 1000), "f4")


def strike(ready, struck):
    """Press Ctrl-C as soon as something is ready; note how much the process had worked by then."""
    while not ready():
        time.sleep(0.001)
    struck.append(time.process_time())
    os.kill(os.getpid(), signal.SIGINT)


def interrupted():
    """Ctrl-C in a long evaluation: a second of work at most goes by, and no more than a quarter of the whole."""
    say()
    labels, scores = long_input(16_000)
    started, struck = time.process_time(), []
    fn.evaluate(labels[:2000], scores[:2000], METRICS, threads=2)
    eighth = time.process_time() - started
    watcher = threading.Thread(target=strike, args=[our_threads, struck])
    watcher.start()
    try:
        fn.evaluate(labels, scores, METRICS, threads=2)
    except KeyboardInterrupt:
        worked = time.process_time() - struck[0]
        assert our_threads() == []
        watcher.join()
        assert worked < min(1, 2 * eighth), (worked, eighth)
        say()


def interrupted_giant():
    """Ctrl-C while one query of five million documents is ranked: a second of work at most goes by."""
    say()
    labels, scores = RANDOM.integers(0, 2, 5_000_000, dtype="i1"), RANDOM.random(5_000_000, "f4")
    for n in (100_000, len(labels)):  # with the discounts of as many ranks, which are made once
        fn.evaluate(np.where(np.arange(n) < 100_000, labels[:n], 0), scores[:n], METRICS, offsets=[0, n])
    until, struck = time.process_time() + 0.15, []
    watcher = threading.Thread(target=strike, args=[lambda: time.process_time() > until, struck])
    watcher.start()
    try:
        while True:
            fn.evaluate(labels, scores, METRICS, offsets=[0, len(labels)])
    except KeyboardInterrupt:
        worked = time.process_time() - struck[0]
        watcher.join()
        assert worked < 1, worked
        say()


def interrupted_often():
    """Ctrl-C at many moments."""
    say()
    for moment in np.linspace(0, 0.02, 60):
        until = time.monotonic() + moment
        watcher = threading.Thread(target=strike, args=[lambda until=until: time.monotonic() > until, []])
        try:
            watcher.start()
            while True:
                evaluated()
        except KeyboardInterrupt:
            assert our_threads() == []
        watcher.join()
    say()


def counting():
    """Another thread counts while this one evaluates, at least a third as fast as while this one sleeps."""
    sys.setswitchinterval(1e-5)  # so that it counts next to nothing between two calls that hold the GIL
    labels, scores = long_input(2000)
    fn.evaluate(labels[:9], scores[:9], METRICS)
    count, ended = [0], threading.Event()

    def go_on():
        while not ended.is_set():
            count[0] += 1

    def pace(work, clock):
        before, started = count[0], clock()
        work()
        return (count[0] - before) / (clock() - started)

    threading.Thread(target=go_on).start()
    for _ in range(5):  # other processes disturb
        asleep = pace(lambda: time.sleep(0.2), time.process_time)
        at_work = pace(lambda: fn.evaluate(labels, scores, METRICS, threads=1), time.thread_time)
        if at_work > asleep / 3:
            break
    ended.set()
    assert at_work > asleep / 3, (at_work, asleep)
    say()


def affinity():
    """As many threads as there are CPUs; and none but the caller's where it may use one CPU."""
    started, start = [], threading.Thread.start
    threading.Thread.start = lambda thread: (started.append(thread.name), start(thread))[1]
    say(threads=None)
    assert set(started) <= {"fastndcg"}
    assert bool(started) == (fn.cpus.available_cpus() > 1)
    started.clear()
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    say(threads=None)
    assert started == []


if __name__ == "__main__":
    _, name, *arguments = sys.argv
    globals()[name](*arguments)
    assert our_threads() == []
