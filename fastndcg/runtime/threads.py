"""Work on several threads, which end before the call returns. This is safe with forks and at shutdown."""

from __future__ import annotations

import functools
import math
import operator
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

from fastndcg.errors import InvalidInputError, InvalidTypeError, shorten

NO_LIMIT = 1 << 30
MOST_THREADS = 4096  # more than any machine runs; each takes memory and a moment to start
MOUNT = Path("/sys/fs/cgroup")  # where hosts and containers show control groups


def available_cpus() -> int:
    """Return the number of CPUs that this process may use, by its affinity and the quotas of its control groups."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, _read_once_a_second(int(time.monotonic()), cgroup_limit)))


@functools.lru_cache(maxsize=1)
def _read_once_a_second(second: int, limit: Callable[[], int]) -> int:
    """Return a limit. `second` is the key of the cache: reading files in each call would slow small ones."""
    del second
    return limit()


def cgroup_limit(process: Path = Path("/proc/self"), mount: Path = MOUNT) -> int:
    """
    Return the smallest CPU quota of a process's control group and its parents, or `NO_LIMIT` without a quota.

    Quotas of control groups of version 1 (kernels before 2016) are not read.
    """
    try:
        lines = os.fsdecode((process / "cgroup").read_bytes()).splitlines()
    except OSError:  # not Linux
        return NO_LIMIT
    own = PurePosixPath(next((line[3:] for line in lines if line.startswith("0::")), "").lstrip("/"))
    if ".." in own.parts:  # outside of what the container shows
        own = PurePosixPath()
    return min(_whole_cpus(mount / part / "cpu.max") for part in (own, *own.parents))


def _whole_cpus(file: Path) -> int:
    """Return the number of CPUs of a quota from its file, rounded up."""
    try:
        share, period = file.read_text().split()
        return math.ceil(int(share) / int(period)) if int(share) > 0 else NO_LIMIT
    except (OSError, ValueError, ZeroDivisionError):
        return NO_LIMIT


Item = TypeVar("Item")

START_SECONDS = 0.5  # a thread that has not begun after this time never begins

_worker = threading.local()  # `errors` of all workers that share the current thread's work


class Stopped(Exception):
    """Raised in a worker to stop it after another worker has failed."""


def check_stopped() -> None:
    """Raise `Stopped` if another worker has failed. Long items call this between steps."""
    if getattr(_worker, "errors", None):
        raise Stopped


def check_threads(threads: int | None) -> int:
    """Return the number of threads, by default one for each CPU that this process may use."""
    if threads is None:
        return available_cpus()
    try:
        n_threads = operator.index(threads)
    except TypeError:
        raise InvalidTypeError(f"`threads` must be a whole number, not {shorten(threads)}") from None
    if isinstance(threads, bool) or n_threads < 1:
        raise InvalidInputError(f"`threads` must be 1 or more, not {shorten(threads)}. Leave it out to use all CPUs")
    if n_threads > MOST_THREADS:
        raise InvalidInputError(
            f"`threads` must be at most {MOST_THREADS}, not {shorten(threads)}. Leave it out to use all CPUs"
        )
    return n_threads


def run_all(items: Iterable[Item], make_worker: Callable[[], Callable[[Item], None]], threads: int) -> None:
    """
    Call a worker with each item, on several threads including the calling one.

    The first error, which may be Ctrl-C, stops every worker after its item, or earlier if the worker calls
    `check_stopped`. It is raised after all threads have ended.
    """
    if threads <= 1:
        worker = make_worker()
        for item in items:
            worker(item)
        return
    queue = _Queue(items)
    errors: list[BaseException] = []
    helpers: list[_Helper] = []
    before = getattr(_worker, "errors", None)

    def work() -> None:
        try:
            _worker.errors = errors
            worker = make_worker()
            for item in queue:
                worker(item)
        except BaseException as error:
            errors.append(error)  # before the queue ends for other workers
            queue.close()

    try:
        _start(helpers, work, threads - 1)
        work()
    except BaseException as error:  # Ctrl-C between two workers' work
        errors.append(error)
    while True:
        try:
            _worker.errors = before  # here, where no Ctrl-C skips it
            queue.close()
            for helper in helpers:
                helper.wait()
            break
        except BaseException as error:  # Ctrl-C, which must not end the waiting
            errors.append(error)
    if errors:
        try:
            raise errors[0]
        finally:
            errors.clear()  # else its traceback refers to it, and what its frames hold stays until Python collects


def _start(helpers: list[_Helper], work: Callable[[], None], n_helpers: int) -> None:
    """Start helper threads and add them to a list, fewer if the system has no more threads."""
    if sys.is_finalizing():  # a thread that starts now never runs, and Python 3.11 waits for it
        return
    for _ in range(n_helpers):
        helpers.append(_Helper(work))  # before it starts: Ctrl-C may come in between
        try:
            helpers[-1].start()
        except RuntimeError:  # the interpreter is shutting down, or the system has no thread left
            helpers.pop()
            break
        helpers[-1].will_begin = True


class _Helper(threading.Thread):
    """
    A thread that `wait` joins to its end, although Ctrl-C interrupts.

    Before Python 3.13, a thread whose `join` was interrupted counts as ended.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="fastndcg", daemon=True)
        self.will_begin = False
        self._work = work
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            self._work()
        finally:
            self._ended.set()

    def wait(self) -> None:
        """Wait to the end. One whose start was interrupted may never begin, or find no work."""
        if self._ended.wait(None if self.will_begin or self.ident else START_SECONDS):
            self.join()


class _Queue(Iterator[Item]):
    """An iterator that several threads may share, and any may close."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()
        self._is_closed = False

    def __next__(self) -> Item:
        with self._lock:
            if self._is_closed:
                raise StopIteration
            return next(self._items)

    def close(self) -> None:
        self._is_closed = True  # not under the lock: whoever holds it may wait for a slow file
