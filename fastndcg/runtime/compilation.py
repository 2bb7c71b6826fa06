"""Whether this process shows messages and bars, and the one line on stderr when kernels are compiled."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator

SECONDS_PER_KERNEL = 0.6  # mean of the list of signatures, in processor time of one machine


class _State:
    """Compilations of this process. Changed only while Numba's compiler lock is held."""

    n_kernels = 0
    is_announced = False


_state = _State()
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


def skip_announcement() -> None:
    """Write no line about compilations of this process."""
    _state.is_announced = True


def count_compilation(n_waiting: int) -> None:
    """Count a compilation. Announce the first one, with the number of kernels that wait for it."""
    _state.n_kernels += 1
    if _state.is_announced or is_quiet():
        return
    _state.is_announced = True
    if n_waiting > 1:
        estimate = f"{n_waiting} kernels, about {max(1, round(n_waiting * SECONDS_PER_KERNEL))} s"
    else:  # no metrics are planned yet, such as where files are read
        estimate = f"kernels as they are needed, about {SECONDS_PER_KERNEL} s each"
    say(f"compiling {estimate}; a built wheel or `fastndcg warmup` has them")
