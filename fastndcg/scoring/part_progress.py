"""Progress of parts of scores: the bar of the terminal, and the user's function."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, TypeVar

from fastndcg.inputs.options import Options
from fastndcg.runtime.progress import track

Part = TypeVar("Part")


class Followed(Generic[Part]):
    """Parts of work, whose end is reported to the user's function in numbers of users."""

    def __init__(self, parts: Iterable[Part], n_parts: int, n_users: int, report: Callable[[int, int], None] | None):
        self.parts = parts
        self._n_parts = n_parts
        self._n_users = n_users
        self._report = report
        self._n_done = 0
        self._lock = threading.Lock()

    def end_part(self) -> None:
        """Report that one more part has ended. Any thread may call this."""
        if self._report is not None:
            with self._lock:
                self._n_done += 1
                self._report(self._n_users * self._n_done // self._n_parts, self._n_users)

    def iterate(self) -> Iterator[Part]:
        """Yield the parts, each of which has ended when the next one is taken."""
        for part in self.parts:
            yield part
            self.end_part()


@contextlib.contextmanager
def follow(parts: Sequence[Part], n_users: int, options: Options) -> Iterator[Followed[Part]]:
    """Yield parts that report to a bar when they are taken, and to the user's function when they have ended."""
    with track(parts, "scoring users", len(parts)) as tracked:
        yield Followed(tracked, len(parts), n_users, options.progress)
