"""Progress of long work: a bar on a terminal if tqdm is installed, nothing in a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

from fastndcg.errors import MissingPackageError
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.runtime.progress import is_progress_off, without_progress

DEFAULT_COLUMNS = 80  # for terminals that report a width of 0
STEPS = "{desc} {bar:20} {n_fmt}/{total_fmt}, {elapsed}"
ROWS = "{desc} {bar:20} {percentage:3.0f} %, {elapsed}"


class Progress:
    """A bar of tqdm, or None where none can be shown. It is called with the text of each step when the step begins."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._n_begun = 0

    def __call__(self, step: str) -> None:
        """Show the text of a new step, and count the steps before it as done."""
        if self._bar is not None:
            self._bar.n = self._n_begun
            self._n_begun += 1
            self._bar.set_description_str(show_name(step))

    def show_rows(self, n_done: int, n_rows: int) -> None:
        """Show the number of rows done, in place of steps."""
        if self._bar is not None:
            self._bar.total = n_rows
            self._bar.update(n_done - self._bar.n)


@contextlib.contextmanager
def show_progress(n_steps: int, form: str = STEPS) -> Iterator[Progress]:
    """Yield a bar of `n_steps` steps, which is erased at the end."""
    try:
        if sys.stderr is None or not sys.stderr.isatty() or is_progress_off():
            raise MissingPackageError
        tqdm = optional_import("tqdm", "progress", "progress").tqdm
    except MissingPackageError:
        yield Progress(None)
        return
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or DEFAULT_COLUMNS
    with (
        tqdm(total=n_steps, leave=False, file=sys.stderr, bar_format=form, ncols=columns, nrows=20) as bar,
        without_progress(),
    ):
        yield Progress(bar)
