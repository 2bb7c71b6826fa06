"""Progress of long work: on a terminal, if tqdm is there; never in a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator

from fastndcg.errors import MissingPackageError, optional_import


@contextlib.contextmanager
def progress(n_steps: int) -> Iterator[Callable[[str], None]]:
    """Give a function that is called as each step begins, with what it does."""
    try:
        if sys.stderr is None or not sys.stderr.isatty():
            raise MissingPackageError
        tqdm = optional_import("tqdm", "progress", "progress").tqdm
    except MissingPackageError:
        yield lambda _: None
        return
    bar_format = "{desc} {bar:20} {n_fmt}/{total_fmt}, {elapsed}"
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80  # some terminals do not know
    with tqdm(total=n_steps, leave=False, file=sys.stderr, bar_format=bar_format, ncols=columns, nrows=20) as bar:
        begun = 0

        def step(what: str) -> None:
            nonlocal begun
            bar.n = begun
            begun += 1
            bar.set_description_str(what)

        yield step
