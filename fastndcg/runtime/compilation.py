"""Messages while kernels compile: on the progress bar, or as one line per process on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator

ANNOUNCED_AFTER = 1.0  # seconds of compilation in this process

Listener = Callable[[bool], None]


class _State:
    """Compilations of this process. Changed only while Numba's compiler lock is held."""

    seconds = 0.0
    n_kernels = 0
    depth = 0
    is_announced = False


_state = _State()
_listeners: list[Listener] = []
_calls_without_progress: list[bool] = []  # of any thread, since helper threads compile and draw, too


def n_compiled() -> int:
    """Return the number of kernels that this process has compiled."""
    return _state.n_kernels


def is_quiet() -> bool:
    """Return True if the environment variable FASTNDCG_QUIET is set to anything but 0."""
    return os.environ.get("FASTNDCG_QUIET", "0") not in ("", "0")


def is_progress_off() -> bool:
    """Return True if FASTNDCG_PROGRESS is 0, or if a call that is running has `progress=False`."""
    return bool(_calls_without_progress) or os.environ.get("FASTNDCG_PROGRESS", "1") == "0"


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
    if is_quiet() or is_progress_off():
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


@contextlib.contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a function with True at the start and with False at the end of each compilation, in place of messages."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextlib.contextmanager
def compiling(uncached: str | None) -> Iterator[None]:
    """
    Announce the compilation of a kernel in a `with` block.

    `uncached` is the reason why the machine code is not cached on disk, or None if it is cached. The line on stderr
    appears when all compilations took `ANNOUNCED_AFTER` seconds. The thread that writes it ends with the block.
    """
    if _state.depth:
        yield  # a kernel that calls another: the outer one counts
        return
    _state.depth = 1
    timer = None
    start = time.perf_counter()
    try:
        timer = _start_timer(uncached)
        _call_listeners(True)
        yield
    finally:
        if timer is not None:
            timer.cancel()
            timer.join()
        _call_listeners(False)
        _state.seconds += time.perf_counter() - start
        _state.n_kernels += 1
        _state.depth = 0


def _start_timer(uncached: str | None) -> threading.Timer | None:
    # a thread that starts while the interpreter shuts down never runs, and Python 3.11 waits for it
    if _state.is_announced or _listeners or sys.is_finalizing() or not is_watched():
        return None
    timer = threading.Timer(max(0.0, ANNOUNCED_AFTER - _state.seconds), _announce, [uncached])
    timer.daemon = True
    timer.name = "fastndcg"
    try:
        timer.start()
    except RuntimeError:  # the system has no thread left
        return None
    return timer


def _announce(uncached: str | None) -> None:
    _state.is_announced = True
    if uncached is None:
        say("compiling kernels for this machine, once; `fastndcg warmup` does it ahead")
    else:
        say(f"compiling kernels for this process alone, since {uncached}")


def _call_listeners(is_compiling: bool) -> None:
    for listener in tuple(_listeners):
        with contextlib.suppress(Exception):  # a bar that cannot be drawn stops no evaluation
            listener(is_compiling)
