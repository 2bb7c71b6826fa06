"""Blank lines and empty batches without a record: every reader passes them in a number of steps that does not grow."""

import bz2
import gzip
import sys

import pytest

import fastndcg as fn

SVMLIGHT = b"1 qid:1 1:0.5\n"
CASES = {
    "TREC": (b"1 Q0 a 1 1 t\n", b"\n", lambda path: fn.read_run(path, threads=1)),
    "TREC without a record": (b"", b"\n", lambda path: fn.read_run(path, threads=1)),
    "TREC, blanks": (b"1 Q0 a 1 1 t\n", b" \r\n", lambda path: fn.read_run(path, threads=1)),
    "TREC, comments": (b"1 Q0 a 1 1 t\n", b"#\n", lambda path: fn.read_run(path, threads=1)),
    "MS MARCO": (b"1\ta\t1\n", b"\n", lambda path: fn.read_run(path, threads=1)),
    "JSON Lines": (b'{"1": {"a": 1}}\n', b"\n", fn.read_run),
    "JSON Lines without a record": (b"", b"\n", lambda path: fn.read_run(path, format="jsonl")),
    "JSON Lines, record after them": (b"", b"\n", lambda path: fn.read_run(path, format="jsonl")),
    "JSON": (b'{"1":\n', b"\n", lambda path: fn.read_run(path, format="json")),
    "CSV": (b"qid,docno,score\n1,a,1\n", b"\n", fn.read_run),
    "CSV without a record": (b"", b"\n", lambda path: fn.read_run(path, format="csv")),
    "fields between blanks": (b"qid docno score\n1 a 1\n", b"\n", fn.read_run),
    "svmlight": (SVMLIGHT, b"\n", lambda path: fn.evaluate(path, [1.0], "rr", threads=1)),
}
ENDS = {"JSON Lines, record after them": b'{"1": {"a": 1}}\n', "JSON": b'{"a": 1}}'}
PACKINGS = {"plain": bytes, "gzip": gzip.compress, "bzip2": bz2.compress}


def count_steps(call):
    """Return the number of calls of Python and of C functions while a call runs, whether it raises or not."""
    steps = 0

    def count(*_):
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        call()
    except fn.InvalidInputError:
        pass
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("case", CASES)
def test_blank_lines_take_no_steps(tmp_path, case, packing):
    head, line, read = CASES[case]
    steps, path = [], tmp_path / "file"
    for n in (1_000, 100_000, 1_000_000 // len(line)):
        path.write_bytes(PACKINGS[packing](head + line * n + ENDS.get(case, b"")))
        steps.append(count_steps(lambda: read(path)))
    more = 1_000_000 - 100_000 * len(line)
    assert steps[2] - steps[1] <= 200 + max(more, 0) // 1024
    assert steps[2] < 20_000


@pytest.mark.parametrize("suffix", ["stream", "file", "reader"])
def test_empty_batches_are_bounded(tmp_path, suffix, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from fastndcg.inputs import table_sources

    table = pa.table({"query": [1, 1], "label": [1, 0], "score": [0.1, 0.2]})
    (full,) = table.to_batches()
    empty = table[:0].combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], table.schema)]
    path = tmp_path / "rows.arrow"

    def make(n):
        if suffix == "reader":
            return pa.RecordBatchReader.from_batches(table.schema, iter([full, *empty * n, full.slice(0, 0)]))
        opened = pa.ipc.new_stream if suffix == "stream" else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as file, opened(file, table.schema) as writer:
            for batch in (full, *empty * n):
                writer.write_batch(batch)
        return path

    monkeypatch.setattr(table_sources, "MOST_EMPTY", 50)
    assert fn.evaluate(make(20), metrics="rr").to_dict() == {1: {"RR": 0.5}}
    with pytest.raises(fn.InvalidInputError, match="must hold rows, but has 51 empty batches one after another"):
        fn.evaluate(make(60), metrics="rr")
