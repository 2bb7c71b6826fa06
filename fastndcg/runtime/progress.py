"""
What is shown of long work: one bar of tqdm on a terminal or in a notebook, and one line where kernels are compiled.

Nothing else is written to stderr, and no bar to a file or a pipe.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from fastndcg.errors import InvalidTypeError, shorten
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import optional_import

Item = TypeVar("Item")

DELAY = 1.5  # seconds before a bar appears
DEFAULT_WIDTH = 80  # of terminals that report 0
FORMAT = "{desc} {bar:20} {percentage:3.0f} %, {elapsed}, {remaining} left"
SECONDS_PER_KERNEL = 0.6  # mean of the list of signatures, in processor time of one machine
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
    width = None  # a notebook has none
    with contextlib.suppress(AttributeError, OSError, ValueError):
        width = os.get_terminal_size(sys.stderr.fileno()).columns or DEFAULT_WIDTH
    with contextlib.suppress(Exception):
        tqdm = optional_import("tqdm", "progress", "progress").tqdm
        bar_class = type("Bar", (tqdm,), {"monitor_interval": 0, "_lock": threading.RLock()})
        return bar_class(
            desc=show_name(text), total=n_items, delay=DELAY, leave=False, file=sys.stderr, bar_format=FORMAT,
            miniters=1, ncols=width, nrows=20,
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


_announced: list[bool] = []  # whether this process has said that it compiles
_calls_without_progress: list[bool] = []  # of any thread, since helper threads compile and draw, too


def is_quiet() -> bool:
    """Return True if the environment variable FASTNDCG_QUIET is set to anything but 0."""
    return os.environ.get("FASTNDCG_QUIET", "0") not in ("", "0")


@contextlib.contextmanager
def without_progress() -> Iterator[None]:
    """Switch off the messages and bars of this process in a `with` block."""
    _calls_without_progress.append(True)
    try:
        yield
    finally:
        _calls_without_progress.pop()


def is_watched() -> bool:
    """Return True if stderr is a terminal or a notebook and messages are not switched off."""
    if is_quiet() or _calls_without_progress or os.environ.get("FASTNDCG_PROGRESS", "1") == "0":
        return False
    packages = {base.__module__.partition(".")[0] for base in type(sys.stderr).__mro__}
    with contextlib.suppress(AttributeError, ValueError):  # there is no stderr, or it is closed
        return "ipykernel" in packages or sys.stderr.isatty()
    return False


def say(line: str) -> None:
    """Write a line to stderr, if that is possible."""
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.write(f"fastndcg: {line}\n")
        sys.stderr.flush()


def skip_announcement() -> None:
    """Write no line about compilations of this process."""
    _announced.append(True)


def announce_compilation() -> None:
    """Announce the first compilation. How many more follow is not known: kernels are found as they are called."""
    if not _announced and not is_quiet():
        _announced.append(True)
        needed = f"compiling kernels as they are needed, about {SECONDS_PER_KERNEL} s each"
        say(f"{needed}; a built wheel or `fastndcg warmup` has them")
