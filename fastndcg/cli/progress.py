"""Progress of long work: on a terminal, if tqdm is there; never in a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any

from fastndcg.errors import MissingPackageError, optional_import


@contextlib.contextmanager
def progress(n_steps: int) -> Iterator[Callable[[str], None]]:
    """Give a function that is called as each step begins, with what it does."""
    with _bar("{desc} {bar:20} {n_fmt}/{total_fmt}, {elapsed}", n_steps) as bar:
        begun = 0

        def step(what: str) -> None:
            nonlocal begun
            bar.n = begun
            begun += 1
            bar.set_description_str(what)

        yield (lambda _: None) if bar is None else step


@contextlib.contextmanager
def progress_of_rows(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that is called with how many rows are done, and how many there are."""
    with _bar("{desc} {bar:20} {percentage:3.0f} %, {elapsed}", 1) as bar:

        def show(n_done: int, n_rows: int) -> None:
            bar.total = n_rows
            bar.set_description_str(what, refresh=False)
            bar.update(n_done - bar.n)

        yield (lambda _, __: None) if bar is None else show


@contextlib.contextmanager
def _bar(bar_format: str, total: int) -> Iterator[Any]:
    """A bar that is wiped in the end; None without a terminal, or without tqdm."""
    try:
        if sys.stderr is None or not sys.stderr.isatty():
            raise MissingPackageError
        tqdm = optional_import("tqdm", "progress", "progress").tqdm
    except MissingPackageError:
        yield None
        return
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals do not know
    with tqdm(total=total, leave=False, file=sys.stderr, bar_format=bar_format, ncols=columns, nrows=20) as bar:
        yield bar
