"""Progress of long work in Python: one bar of tqdm on a terminal or in a notebook, and nothing anywhere else."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from fastndcg.errors import InvalidTypeError, shorten
from fastndcg.runtime.compilation import is_watched, without_progress
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import

Item = TypeVar("Item")

DELAY = 1.5  # seconds before a bar appears
FORMAT = "{desc} {bar:20} {percentage:3.0f} %, {elapsed}, {remaining} left"
_open_bars: list[Any] = []  # that of the outermost work, which the main thread has begun


def use_progress(progress: bool) -> contextlib.AbstractContextManager[None]:
    """Return a context without progress if it is switched off. Raise InvalidTypeError unless `progress` is a bool."""
    if not isinstance(progress, bool):
        raise InvalidTypeError(f"`progress` must be True or False, not {shorten(progress)}")
    return contextlib.nullcontext() if progress else without_progress()


@contextlib.contextmanager
def track(items: Iterable[Item], text: str, n_items: int) -> Iterator[Iterable[Item]]:
    """
    Yield items that a bar counts when they are taken, by any thread.

    Only the main thread starts a bar, and only the outermost work has one. An error of the bar stops no work.
    """
    is_outermost = threading.current_thread() is threading.main_thread() and not _open_bars
    bar = _open_bar(text, n_items) if n_items > 1 and is_outermost and is_watched() else None
    if bar is None:
        yield items
        return
    try:
        _open_bars.append(bar)
        yield _count(items, bar)
    finally:
        _open_bars.clear()
        with contextlib.suppress(Exception):
            bar.close()


def _open_bar(text: str, n_items: int) -> Any:
    """
    Return a bar of tqdm without its monitor thread, or None where it cannot be drawn.

    Each bar has its own lock: tqdm keeps the lock when a write fails, so that other threads would wait forever.
    """
    with contextlib.suppress(Exception):
        tqdm = optional_import("tqdm", "progress", "progress").tqdm
        bar_class = type("Bar", (tqdm,), {"monitor_interval": 0, "_lock": threading.RLock()})
        return bar_class(
            desc=show_name(text), total=n_items, delay=DELAY, leave=False, file=sys.stderr, bar_format=FORMAT,
            miniters=1,
        )  # fmt: skip
    return None


def _count(items: Iterable[Item], bar: Any) -> Iterator[Item]:
    """Yield items, and count each when the next one is taken."""
    for item in items:
        yield item
        try:
            bar.update()
        except Exception:
            bar.disable = True  # so that no thread takes its lock again
