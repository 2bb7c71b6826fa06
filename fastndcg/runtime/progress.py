"""Progress of long work in Python: one bar of tqdm on a terminal or in a notebook, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import functools
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from fastndcg.errors import InvalidTypeError, shorten
from fastndcg.runtime.compilation import is_watched, without_progress
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

Item = TypeVar("Item")

DELAY = 1.5  # seconds before a bar appears: fast calls import no tqdm and draw nothing
FORMAT = "{desc} {bar:20} {percentage:3.0f} %, {elapsed}, {remaining} left"


class _Stack(threading.local):
    """The trackers of a thread, the outermost first."""

    def __init__(self) -> None:
        self.trackers: list[_Tracker] = []


_stack = _Stack()


def use_progress(progress: bool) -> contextlib.AbstractContextManager[None]:
    """Return a context without progress if it is switched off. Raise InvalidTypeError unless `progress` is a bool."""
    if not isinstance(progress, bool):
        raise InvalidTypeError(f"`progress` must be True or False, not {shorten(progress)}")
    return contextlib.nullcontext() if progress else without_progress()


@contextlib.contextmanager
def track(items: Iterable[Item], text: str, n_items: int) -> Iterator[Iterable[Item]]:
    """
    Yield items that report to a bar when they are taken, by any thread.

    Work within other tracked work adds to the outer bar. Only the main thread starts bars. An error of the bar stops no
    work.
    """
    is_shown = n_items > 1 and threading.current_thread() is threading.main_thread() and is_watched()
    if not is_shown:
        yield items
        return
    tracker = _Tracker(text, n_items, _stack.trackers[-1] if _stack.trackers else None)
    _stack.trackers.append(tracker)
    try:
        yield tracker.count(items)
    finally:
        _stack.trackers.pop()
        tracker.close()


class _Tracker:
    """Counts items and shows the count on a bar, that of the outermost tracker."""

    def __init__(self, text: str, n_items: int, parent: _Tracker | None) -> None:
        self._text = show_name(text)
        self._n_items = n_items
        self._n_taken = 0
        self._parent = parent
        self._start = time.monotonic()
        self._bar: Any = None
        self._lock = threading.Lock()

    def count(self, items: Iterable[Item]) -> Iterator[Item]:
        """Yield items, and show before each how many were taken."""
        for n_taken, item in enumerate(items):
            self._n_taken = n_taken
            self._show(0.0)
            yield item

    def close(self) -> None:
        """Erase the bar."""
        if self._bar is not None:
            with contextlib.suppress(Exception):
                self._bar.close()

    def _show(self, part: float) -> None:
        """Show the items taken, and the part of the current item that is done."""
        share = min(1.0, (self._n_taken + part) / self._n_items)
        if self._parent is not None:
            self._parent._show(share)
        elif time.monotonic() - self._start >= DELAY and self._lock.acquire(blocking=False):
            try:
                with contextlib.suppress(Exception):  # a bar that cannot be drawn stops no evaluation
                    self._draw(share)
            finally:
                self._lock.release()

    def _draw(self, share: float) -> None:
        if self._bar is None:
            self._bar = _load_bar_class()(
                total=1.0, desc=self._text, leave=False, file=sys.stderr, bar_format=FORMAT, miniters=0
            )
            self._bar.start_t = time.time() - (time.monotonic() - self._start)
        self._bar.update(share - self._bar.n)


@functools.cache
def _load_bar_class() -> Any:
    """
    Return tqdm's bar without its monitor thread and without its lock.

    tqdm keeps its lock when a write fails, so that other threads would wait forever. Each tracker has a lock.
    """
    tqdm = optional_import("tqdm", "progress", "progress").tqdm
    return type("Bar", (tqdm,), {"monitor_interval": 0, "_lock": _NoLock()})


class _NoLock(contextlib.AbstractContextManager[None]):
    """A lock that is always free."""

    def acquire(self, *arguments: object) -> bool:
        """Return True."""
        del arguments
        return True

    def release(self) -> None:
        """Do nothing."""

    def __exit__(self, *error: object) -> None:
        """Do nothing."""
