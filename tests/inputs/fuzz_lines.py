"""
Fuzz the readers of TREC text, guided by coverage: whatever the bytes, rows are those of plain Python, or are refused.

Usage: pip install . --group fuzz, then python tests/inputs/fuzz_lines.py [options of libFuzzer]

Kernels run without the JIT, so that an index out of bounds raises, and atheris sees their branches.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

os.environ["NUMBA_DISABLE_JIT"] = "1"
sys.path.insert(0, str(Path(__file__).parents[1] / "helpers"))
sys.path.insert(0, str(Path(__file__).parent))

import atheris

with atheris.instrument_imports(include=["fastndcg"]):
    import numpy as np
    from test_text_lines import plain_rows

    import fastndcg as fn
    from fastndcg.inputs import files, formats
    from fastndcg.inputs import text_lines as reader

SEEDS = (b"q1 Q0 d1 1 0.5 n\nq1 Q0 d2 2 1e-3 n\n", b"q1\t0\td1\t1\r\n\r\nq2 0 d1 -2\n", b"\xef\xbb\xbfq 0 \xc3\xa9 .5")


def check(content: bytes) -> None:
    """Read a file. Its first byte chooses the kind of file and the size of blocks."""
    if not content:
        return
    layout = formats.TREC["run" if content[0] & 1 else "qrels"]
    size = 1 + (content[0] >> 1)
    reader.Blocks = lambda file, padding: files.Blocks(file, padding, size)  # type: ignore[assignment, misc]
    PATH.write_bytes(content[1:])
    try:
        with files.File(PATH) as file:
            rows, source = reader.read_rows(file, layout, threads=1)
    except fn.InvalidInputError as error:
        if not str(error).startswith(str(PATH)):
            raise
        return
    order = np.arange(len(rows.values)) if rows.groups.rows is None else rows.groups.rows
    queries = np.repeat(rows.queries.names(), np.diff(rows.groups.offsets))
    documents = rows.documents.names()
    rows_read = [
        (source.number(r), q, documents[r], rows.values[r].tobytes()) for r, q in zip(order, queries, strict=True)
    ]
    expected = [(line, q, d, np.float64(value).tobytes()) for line, q, d, value in plain_rows(content[1:], layout)]
    assert sorted(rows_read) == sorted(expected), (rows_read, expected)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        PATH = Path(folder) / "text"
        seeds = Path(folder) / "seeds"
        seeds.mkdir()
        for number, seed in enumerate(SEEDS):
            (seeds / str(number)).write_bytes(bytes([number]) + seed)
        atheris.Setup([*sys.argv, str(seeds)], check)
        atheris.Fuzz()
