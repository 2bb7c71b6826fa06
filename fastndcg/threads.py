"""Threads of our own: started for one call, gone when it returns, so that forks and shutdowns find none."""

from __future__ import annotations

import operator
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from fastndcg.cpus import available_cpus
from fastndcg.errors import InvalidInputError, InvalidTypeError

Item = TypeVar("Item")

START_SECONDS = 0.5  # within which a thread that can begin has begun

_worker = threading.local()  # the errors of those that the current thread works with


class Stopped(Exception):
    """An item is not worked on to its end: there is an error already, and that is raised."""


def check_stopped() -> None:
    """End the work on a long item where another worker, or the one that waits for all, has had an error."""
    if getattr(_worker, "errors", None):
        raise Stopped


def checked_threads(threads: int | None) -> int:
    """How many threads to use: those asked for, or one for each CPU that this process may use."""
    if threads is None:
        return available_cpus()
    try:
        wanted = operator.index(threads)
    except TypeError:
        raise InvalidTypeError(f"`threads` must be a whole number, not {threads!r}") from None
    if isinstance(threads, bool) or wanted < 1:
        raise InvalidInputError(f"`threads` must be 1 or more, not {threads!r}; leave it out to use all CPUs")
    return wanted


def run_all(items: Iterable[Item], make_worker: Callable[[], Callable[[Item], None]], threads: int) -> None:
    """
    Hand items to as many workers as there are threads, the calling thread among them, each when it is free.

    The first error, Ctrl-C too, stops every worker after its item, or within it where the work calls `check_stopped`,
    and is raised here, when no thread is left.
    """
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
            errors.append(error)  # before others see that there is one
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
        except BaseException as error:  # Ctrl-C, which must not cut the waiting short
            errors.append(error)
    if errors:
        raise errors[0]


def _start(helpers: list[_Helper], work: Callable[[], None], wanted: int) -> None:
    """Add helpers, as many as are wanted or as there can be."""
    if sys.is_finalizing():  # a thread that starts now never runs, and Python 3.11 waits for it
        return
    for _ in range(wanted):
        helpers.append(_Helper(work))  # before it starts: Ctrl-C may come in between
        try:
            helpers[-1].start()
        except RuntimeError:  # the interpreter is shutting down, or the system has no thread left
            helpers.pop()
            break
        helpers[-1].will_begin = True


class _Helper(threading.Thread):
    """
    A thread whose start is not waited for, and whose end is although Ctrl-C interrupts.

    Before Python 3.13, a thread whose `join` was interrupted is taken for ended.
    """

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="fastndcg", daemon=True)
        self.will_begin = False
        self._started = _NoWait()
        self._work = work
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            self._work()
        finally:
            self._ended.set()

    def wait(self) -> None:
        """Wait to the end. One whose start was interrupted may never begin; if it does, it finds no work."""
        if self._ended.wait(None if self.will_begin or self.ident else START_SECONDS):
            self.join()


class _NoWait(threading.Event):
    """
    What a thread sets when it begins, and who started it waits for: it has work to begin with itself.

    Python has another such event where it calls it otherwise than `_started`, and waits for that one.
    """

    def wait(self, timeout: float | None = None) -> bool:
        del timeout
        return True


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
