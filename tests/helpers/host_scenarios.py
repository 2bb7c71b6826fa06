"""
Programs that use fastndcg as hosts do. test_processes.py runs them: `python host_scenarios.py NAME ARGUMENTS`.

Most programs print a digest of each evaluation on a line. Every program fails if a thread of fastndcg is left.
"""

import atexit
import functools
import hashlib
import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import fastndcg as fn

METRICS = "ndcg@10,ndcg,map,rr,p@5,f1@5,success@3,rprec"
RANDOM = np.random.default_rng(7)


def inputs(n_queries):
    offsets = np.concatenate([[0], np.cumsum(RANDOM.integers(0, 40, n_queries))])
    labels = RANDOM.integers(0, 3, offsets[-1], dtype="i1")
    return labels, RANDOM.integers(0, 50, offsets[-1]).astype("f4"), offsets


INPUTS = [inputs(50), inputs(20_000)]  # the calling thread evaluates the first alone, and threads share the second


def evaluated(threads=4):
    digest = hashlib.sha256()
    for labels, scores, offsets in INPUTS:
        result = fn.evaluate(labels, scores, METRICS, offsets=offsets, threads=threads)
        digest.update(result.values.tobytes() + result.n_tied.to_bytes(8, "little"))
    return digest.hexdigest()


def say(threads=4):
    print(evaluated(threads), flush=True)


def our_threads():
    return [thread for thread in threading.enumerate() if thread.name == "fastndcg"]


def callers():
    barrier = threading.Barrier(8)

    def call(threads):
        barrier.wait()
        return evaluated(threads)

    with ThreadPoolExecutor(8) as pool:
        print(*pool.map(call, [1, 2, 3, 4] * 4), sep="\n")


def fork(when):
    ended = threading.Event()
    other = threading.Thread(target=lambda: [evaluated() for _ in iter(ended.is_set, True)])
    if when != "before":
        say()
    if when == "during":
        other.start()
        warnings.simplefilter("ignore", DeprecationWarning)  # Python's warning about forks with threads
    child = os.fork()
    if child == 0:
        say()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    ended.set()
    if when == "during":
        other.join()
    say()


def fork_first():
    """Fork eight times while another thread imports and compiles for its first call."""
    warnings.simplefilter("ignore", DeprecationWarning)
    labels, scores, offsets = INPUTS[0]
    other = threading.Thread(target=say)
    other.start()
    children = []
    while len(children) < 8:
        time.sleep(0.03)
        child = os.fork()
        if child == 0:
            assert fn.evaluate(labels, scores, "rr", offsets=offsets).values.shape == (50, 1)
            os._exit(0)
        children.append(child)
    for child in children:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    other.join()


def interrupted_import():
    labels, scores, offsets = INPUTS[0]
    seen = []

    def handle(*_):
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        try:
            fn.evaluate(labels, scores, "rr", offsets=offsets)
            seen.append("")
        except Exception as error:
            seen.append(f"{type(error).__name__}: {error}")
        signal.signal(signal.SIGUSR1, handle)

    class Strike:
        """Finder that sends a signal before modules of fastndcg and numba are imported."""

        def find_spec(self, name, path, target=None):
            # at the import of these modules the handler would import everything itself
            begins = name in ("fastndcg.evaluation", "fastndcg.engine", "fastndcg.engine.run")
            if name.partition(".")[0] in ("fastndcg", "numba") and not begins:
                signal.raise_signal(signal.SIGUSR1)

    signal.signal(signal.SIGUSR1, handle)
    sys.meta_path.insert(0, Strike())
    say()
    sys.meta_path.pop(0)
    assert len(seen) > 60, seen
    wrong = {text for text in seen if text and "must be imported before it is used by a signal handler" not in text}
    assert not wrong, wrong
    handle()
    assert seen[-1] == "", seen[-1]


def processes(method):
    with multiprocessing.get_context(method).Pool(2) as pool:
        print(*pool.map(evaluated, [2, 4]), sep="\n", flush=True)
        pool.close()
        pool.join()
    say()


def loop(backend):
    import joblib

    say()
    call = joblib.delayed(evaluated)
    print(*joblib.Parallel(n_jobs=2, backend=backend)(call(threads) for threads in (1, 2, 4)), sep="\n")


def exit_handler(use):
    if use == "again":
        say()
    atexit.register(say)


def threads_end():
    threading.Thread(target=lambda: (threading.main_thread().join(), say())).start()
    threading._register_atexit(say)


def deleted():
    """Evaluate in a `__del__` at the very end of the interpreter, when a started thread never runs."""

    class Deleted:
        def __del__(self, say=say):
            say()

    say()
    globals()["last"] = Deleted()


def daemon():
    """Leave a daemon thread that still evaluates when the main thread ends."""
    say()

    def forever():
        while True:
            evaluated()

    threading.Thread(target=forever, daemon=True).start()
    while not our_threads():
        time.sleep(0.001)
    sys.exit(0)  # the daemon thread may have helpers


def long_input(n_queries):
    return RANDOM.integers(0, 3, (n_queries, 1000), dtype="i1"), RANDOM.random((n_queries, 1000), "f4")


def interrupted(size):
    """
    Press Ctrl-C in a long evaluation, of many chunks of queries or of several metrics of one large query.

    After the signal, the main thread begins no further step, and a helper begins at most one. A step is a chunk, or a
    metric of the large query. The kernel that runs meanwhile ends first: ranking five million documents takes half a
    second of processor time.
    """
    from fastndcg.engine import run as engine

    say()
    if size == "chunks":
        name, threads, (labels, scores), offsets = "evaluate_chunk", 2, long_input(16_000), None
    else:
        name, threads, offsets = "check_stopped", 1, [0, 5_000_000]
        labels, scores = RANDOM.integers(0, 2, 5_000_000, dtype="i1"), RANDOM.random(5_000_000, "f4")
    evaluate = functools.partial(fn.evaluate, labels, scores, METRICS, offsets=offsets, threads=threads)
    events, step = [], getattr(engine, name)

    def noted(*arguments):
        events.append((threading.current_thread(), "begins"))
        return step(*arguments)

    def press():
        while len(events) < 2:
            time.sleep(0)
        events.append((threading.current_thread(), "presses"))
        os.kill(os.getpid(), signal.SIGINT)

    def hear(*arguments):
        events.append((threading.current_thread(), "hears"))
        signal.default_int_handler(*arguments)

    evaluate()  # compiles
    setattr(engine, name, noted)
    evaluate()
    n_steps = len(events)
    assert n_steps >= 6, n_steps  # so that most of them are left
    events.clear()
    signal.signal(signal.SIGINT, hear)
    watcher = threading.Thread(target=press)
    watcher.start()
    try:
        evaluate()
    except KeyboardInterrupt:
        assert our_threads() == []
        watcher.join()
        main = threading.main_thread()
        pressed, heard = events.index((watcher, "presses")), events.index((main, "hears"))
        assert events[pressed:heard].count((main, "begins")) <= 1, events
        begun = [thread for thread, what in events[heard:] if what == "begins"]
        assert main not in begun, events
        assert len(begun) <= threads - 1, events  # the chunk that the helper was about to begin
        setattr(engine, name, step)
        say()


def interrupted_often():
    say()
    for moment in np.linspace(0, 0.02, 60):
        watcher = threading.Timer(moment, os.kill, [os.getpid(), signal.SIGINT])
        try:
            watcher.start()
            while True:
                evaluated()
        except KeyboardInterrupt:
            assert our_threads() == []
        watcher.join()
    say()


def counting():
    """Count in another thread during an evaluation, which works only if the kernels release the GIL."""
    labels, scores = long_input(2000)
    fn.evaluate(labels, scores, METRICS, threads=1)  # compiling releases the GIL, too
    count, ended = [0], threading.Event()

    def go_on():
        while not ended.is_set():
            count[0] += 1
            time.sleep(0)  # releases the GIL

    other = threading.Thread(target=go_on)
    other.start()
    sys.setswitchinterval(1000)  # so that no thread has to give up the GIL
    before = count[0]
    fn.evaluate(labels, scores, METRICS, threads=1)
    counted = count[0] - before
    ended.set()
    other.join()
    assert counted > 100, counted
    sys.setswitchinterval(0.005)
    say()


if __name__ == "__main__":
    _, name, *arguments = sys.argv
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have switched it off
    globals()[name](*arguments)
    assert our_threads() == []
