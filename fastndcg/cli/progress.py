"""Progress of long work: a bar on a terminal if tqdm is installed, nothing in a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from fastndcg.errors import MissingPackageError
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import optional_import
from fastndcg.runtime.progress import is_progress_off, without_progress

DEFAULT_COLUMNS = 80  # for terminals that report a width of 0


@contextlib.contextmanager
def show_progress(n_steps: int, without_bar: Callable[[str], None] = lambda _: None) -> Iterator[Callable[[str], None]]:
    """
    Show a bar of `n_steps` steps, and yield the function to call with each step's text when the step begins.

    Where no bar can be shown, `without_bar` is called instead.
    """
    with _open_bar("{desc} {bar:20} {n_fmt}/{total_fmt}, {elapsed}", n_steps) as bar:
        yield without_bar if bar is None else bar.begin


@contextlib.contextmanager
def show_row_progress(text: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with a text, and yield the function to call with the number of rows done and of all rows."""
    with _open_bar("{desc} {bar:20} {percentage:3.0f} %, {elapsed}", 1) as bar:
        if bar is not None:
            bar.begin(text)
        yield (lambda _, __: None) if bar is None else bar.show_rows


@contextlib.contextmanager
def _open_bar(bar_format: str, total: int) -> Iterator[_Bar | None]:
    """Yield a bar that is erased at the end. Yield None without a terminal or without tqdm."""
    try:
        if sys.stderr is None or not sys.stderr.isatty() or is_progress_off():
            raise MissingPackageError
        tqdm = optional_import("tqdm", "progress", "progress").tqdm
    except MissingPackageError:
        yield None
        return

    columns = os.get_terminal_size(sys.stderr.fileno()).columns or DEFAULT_COLUMNS
    with tqdm(total=total, leave=False, file=sys.stderr, bar_format=bar_format, ncols=columns, nrows=20) as tqdm_bar:
        bar = _Bar(tqdm_bar)
        with without_progress():
            yield bar


class _Bar:
    """A progress bar."""

    def __init__(self, tqdm_bar: Any) -> None:
        self._tqdm_bar = tqdm_bar
        self._n_begun = 0

    def begin(self, step: str) -> None:
        """Show the text of a new step, and count the steps before it as done."""
        self._tqdm_bar.n = self._n_begun
        self._n_begun += 1
        self._tqdm_bar.set_description_str(show_name(step))

    def show_rows(self, n_done: int, n_rows: int) -> None:
        """Show the number of rows done."""
        self._tqdm_bar.total = n_rows
        self._tqdm_bar.update(n_done - self._tqdm_bar.n)
