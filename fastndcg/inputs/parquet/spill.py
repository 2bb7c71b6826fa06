"""
Rows in a temporary file, in parts that hold whole queries.

The file has no name, or the system deletes it when it is closed: it is gone however the process ends.
"""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from fastndcg.inputs.id_column import IdColumn
from fastndcg.inputs.parquet.dataset import MANY_FILES
from fastndcg.rankings.validation import Array

PREFIX = "fastndcg-"
DAY = 24 * 60 * 60
FULL = "no space left for temporary files; set TMPDIR to a folder with more"
ADVICE = {
    errno.ENOSPC: FULL,
    getattr(errno, "EDQUOT", errno.ENOSPC): FULL,
    errno.EFBIG: "files must not become large enough for the rows; raise their size (ulimit -f)",
    errno.EMFILE: MANY_FILES,
    errno.ENFILE: MANY_FILES,
}


class PlainRows(NamedTuple):
    """The label, score and query of each row, and its document if the rows have documents."""

    labels: Array
    scores: Array
    queries: IdColumn
    documents: IdColumn | None


class Spill:
    """Rows in a temporary file: written in any order, and read back in parts."""

    def __init__(self, n_parts: int) -> None:
        self._n_parts = n_parts
        self._pieces: list[
            list[Array]
        ] = []  # of each batch: the bounds of its parts in the file, of records and of texts
        self._columns: tuple[IdColumn, ...] = ()  # of the first batch, without rows: the kinds of ids
        self._dtype = np.dtype([])
        self._lock = threading.Lock()
        with advised():
            import tempfile  # late: it takes 4 ms of each start

            self._file: Any = tempfile.TemporaryFile(prefix=PREFIX, buffering=0)  # noqa: SIM115 closed by `__exit__`

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()

    def add(self, rows: PlainRows, row_numbers: Array) -> None:
        """Write rows, part after part."""
        if not len(rows.labels):
            return
        part = rows.queries.partition(self._n_parts)
        order = np.argsort(part, kind="stable")
        bounds = np.searchsorted(part[order], np.arange(self._n_parts + 1))
        columns = [column.take(order) for column in (rows.queries, rows.documents) if column is not None]
        if not self._pieces:
            self._columns = tuple(column.take(order[:0]) for column in columns)
            kinds = [rows.labels.dtype, rows.scores.dtype, np.dtype("i8"), *["i8"] * len(columns)]
            self._dtype = np.dtype([(f"f{place}", kind) for place, kind in enumerate(kinds)])
        records = np.empty(len(order), self._dtype)
        ids = [np.diff(column.text_bytes()[1]) if column.are_texts else column.numbers() for column in columns]
        for place, values in enumerate((rows.labels[order], rows.scores[order], row_numbers[order], *ids)):
            records[f"f{place}"] = values
        with advised():
            piece = [self._write(records.view("u1"), bounds * self._dtype.itemsize)]
            for data, offsets in (column.text_bytes() for column in columns if column.are_texts):
                piece.append(self._write(data, offsets[bounds]))
            self._pieces.append(piece)

    def parts(self) -> range:
        """Return the numbers of the parts, an empty range if no row was written."""
        return range(self._n_parts if self._pieces else 0)

    def part(self, number: int) -> tuple[PlainRows, Array]:
        """Read the rows of a part, and their numbers, in the order in which they were added."""
        stripes = [
            self._read([piece[stripe][number : number + 2] for piece in self._pieces])
            for stripe in range(len(self._pieces[0]))
        ]
        records = stripes.pop(0).view(self._dtype)
        labels, scores, row_numbers, *ids = (records[name].copy() for name in self._dtype.names or ())
        columns = []
        for column, values in zip(self._columns, ids, strict=True):
            if column.are_texts:
                columns.append(IdColumn.of_bytes(stripes.pop(0), np.concatenate([[0], np.cumsum(values)])))
            else:
                columns.append(IdColumn.from_limbs(values.view("u8").astype(column.dtype)))
        return PlainRows(labels, scores, columns[0], columns[1] if len(columns) > 1 else None), row_numbers

    def _write(self, data: Array, bounds: Array) -> Array:
        """Append bytes, and return the places in the file of the pieces that `bounds` cuts them into."""
        start = int(self._file.seek(0, os.SEEK_END))
        n = 0
        while n < len(data):
            n += self._file.write(data[n:])
        return np.asarray(bounds + start)

    def _read(self, spans: list[Array]) -> Array:
        """Read pieces of the file, one after the other."""
        places = [span.tolist() for span in spans]
        data = np.empty(sum(stop - start for start, stop in places), "u1")
        n = 0
        with self._lock:
            for start, stop in places:
                if stop > start:
                    self._file.seek(start)
                while start < stop:
                    n_read = self._file.readinto(data[n : n + stop - start])
                    if not n_read:
                        raise OSError(errno.EIO, "the temporary file of rows became shorter", _find_folder())
                    start = start + n_read
                    n = n + n_read
        return data


@contextlib.contextmanager
def advised() -> Iterator[None]:
    """Add a remedy to the system's errors that have one."""
    try:
        yield
    except OSError as error:
        if error.errno not in ADVICE:
            raise
        raise OSError(error.errno, ADVICE[error.errno], _find_folder()) from None


def _find_folder() -> str:
    """Return the system's folder for temporary files."""
    import tempfile

    return tempfile.gettempdir()


def sweep() -> None:
    """
    Remove folders that earlier versions left among the temporary files when they were killed.

    Only folders of this user are removed that hold only files of rows older than a day.
    """
    import shutil

    for folder in pathlib.Path(_find_folder()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = folder.lstat()
            is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
            files = list(folder.iterdir()) if is_own and folder.is_dir() and not folder.is_symlink() else [folder]
            newest = max([status.st_mtime, *(file.lstat().st_mtime for file in files)])
            if all(file.suffix == ".arrow" for file in files) and newest < time.time() - DAY:
                shutil.rmtree(folder)
