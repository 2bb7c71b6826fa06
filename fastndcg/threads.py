"""Threads of our own: started for one call, gone when it returns, so that forks and shutdowns find none."""

from __future__ import annotations

import math
import operator
import os
import pathlib
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from fastndcg.errors import InvalidInputError, InvalidTypeError

Item = TypeVar("Item")


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


def available_cpus() -> int:
    """The CPUs that this process may use, by its affinity and its control group's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    cpus = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cpus, _cgroup_quota()))


def _cgroup_quota(root: pathlib.Path = pathlib.Path("/sys/fs/cgroup")) -> int:
    """Whole CPUs of the control group's quota (version 2, then 1), rounded up; a very large number without one."""
    for names in (("cpu.max",), ("cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us")):
        try:
            quota, period = " ".join((root / name).read_text().strip() for name in names).split()
            if int(quota) > 0:
                return math.ceil(int(quota) / int(period))
        except (OSError, ValueError, ZeroDivisionError):
            continue
    return 1 << 30


def run_all(items: Iterable[Item], make_worker: Callable[[], Callable[[Item], None]], threads: int) -> None:
    """
    Hand items to as many workers as there are threads, the calling thread among them, each when it is free.

    The first error, Ctrl-C too, stops every worker after its item and is raised here, when no thread is left.
    """
    queue = _Queue(items)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            worker = make_worker()
            for item in queue:
                worker(item)
        except BaseException as error:
            queue.close()
            errors.append(error)

    helpers: list[_Helper] = []
    try:
        for _ in range(threads - 1):
            helper = _Helper(work)
            try:
                helper.start()
            except RuntimeError:  # the interpreter is shutting down, or the system has no thread left
                break
            helpers.append(helper)
        work()
    finally:
        queue.close()
        for helper in helpers:
            helper.wait(errors)
    if errors:
        raise errors[0]


class _Helper(threading.Thread):
    """A thread that can be waited for although Ctrl-C interrupts: before Python 3.13 `join` then takes it for ended."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(name="fastndcg", daemon=True)
        self._work = work
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            self._work()
        finally:
            self._ended.set()

    def wait(self, errors: list[BaseException]) -> None:
        """Wait to the end, and put aside what interrupts."""
        while True:
            try:
                self._ended.wait()
                self.join()
                return
            except BaseException as error:
                errors.append(error)


class _Queue(Iterator[Item]):
    """An iterator that several threads may share, and any may close."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._items = iter(items)
        self._lock = threading.Lock()

    def __next__(self) -> Item:
        with self._lock:
            return next(self._items)

    def close(self) -> None:
        with self._lock:
            self._items = iter(())
