"""Arrow data and files: formats, lists, memory; invalid data are refused before a kernel follows an offset."""

import functools
import io
import os
import subprocess
import sys

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.inputs.table_sources import pyarrow

pa, ipc, feather, pq, pl = map(
    pytest.importorskip, ("pyarrow", "pyarrow.ipc", "pyarrow.feather", "pyarrow.parquet", "polars")
)

FAR = 200_000
TEXTS = ["aaaa", "bbbb", "cccc"]
LISTS = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]]
WORDS = {"string": "i4", "large_string": "i8"}


def damaged(table, old, new):
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    content = file.getvalue()
    assert content.count(old) == 1
    return ipc.open_file(pa.py_buffer(content.replace(old, new))).read_all()


def damaged_column(array, old, new):
    return damaged(pa.table({"column": array}), old, new)["column"]


def rows(**columns):
    return pa.table(
        {"query": TEXTS, "document": ["x", "y", "z"], "label": [1, 0, 1], "score": [0.5, 1.0, 2.0]} | columns
    )


def refused(call, message):
    with pytest.raises(fn.InvalidInputError, match=f"must hold valid Arrow data, but does not: .*{message}.*. Write"):
        call()


def list_damaged_texts():
    """Yield columns of three texts that must not be followed, and what Arrow says of them."""
    for kind, word in WORDS.items():
        good, *all_bad = (
            np.array(places, word).tobytes()
            for places in ([0, 4, 8, 12], [0, FAR, 8, 12], [0, 100, 8, 12], [0, -(10**8), 8, 12], [0, -5, 8, 12],
                           [0, 7, 4, 12], [4, 2, 8, 12], [5, 4, 8, 12])
        )  # fmt: skip
        for bad in all_bad:
            yield damaged_column(pa.array(TEXTS, getattr(pa, kind)()), good, bad), "ffset"
    good, bad = (np.array(places, "i4").tobytes() for places in ([0, 4, 8, 12], [0, FAR, 8, 12]))
    yield damaged_column(pa.array(TEXTS).dictionary_encode(), good, bad), ""
    for index in (9, -7, 127):
        places = pa.array([0, 1, index], pa.int8())
        yield pa.DictionaryArray.from_arrays(places, pa.array(["a", "b"]), safe=False), "out of bounds"
    column = pa.array(["a text that is longer", "another that is too", "short"], pa.string_view())
    assert fn.evaluate(rows(query=column), metrics="rr").query_ids.tolist() == column.to_pylist()
    views = np.frombuffer(column.buffers()[1], "i4", 12).copy()
    bad = views.copy()
    bad[7] = 10**8
    yield damaged_column(column, views.tobytes(), bad.tobytes()), ""


def test_damaged_texts():
    """Offsets, views and indices of categories, of queries and of documents."""
    for column, message in list_damaged_texts():
        for role in ("query", "document"):
            table = rows(**{role: column})
            batch = pa.record_batch({name: table[name].chunk(0) for name in table.column_names})
            for given in (table, batch):
                refused(lambda given=given: fn.evaluate(given, metrics="rr"), message)
            refused(lambda table=table: fn.Run(table), message)


def test_offsets_beyond_the_data():
    good, *all_bad = (np.array(places, "i4").tobytes() for places in
                      ([0, 4, 8, 12], [0, 4, 8, 130], [0, FAR, FAR + 4, FAR + 8], [-4, 0, 4, 8]))  # fmt: skip
    for bad in all_bad:
        table = damaged(rows(), good, bad)
        refused(lambda table=table: fn.evaluate(table, metrics="rr"), "ffset")


def test_texts_that_are_not_utf8():
    column = damaged_column(pa.array(TEXTS), b"aaaabbbbcccc", b"aaaabb\xff\xfecccc")
    with pytest.raises(fn.InvalidInputError, match=r"Invalid UTF8 sequence at string index 1\. Write the"):
        fn.evaluate(rows(query=column), metrics="rr")
    sliced = pa.table({"query": pa.array(["é", "ü", "a"]).slice(1), "label": [1, 0], "score": [0.5, 0.25]})
    assert fn.evaluate(sliced, metrics="rr").query_ids.tolist() == ["ü", "a"]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
@pytest.mark.parametrize("offsets", [[0, 5, 3, 6], [0, -1, 3, 6], [0, FAR, 3, 6], [4, 2, 3, 6]], ids=str)
def test_offsets_of_lists(kind, offsets):
    word = "i4" if kind is pa.list_ else "i8"
    good, bad = (np.array(places, word).tobytes() for places in ([0, 2, 3, 6], offsets))
    labels, scores = pa.array([[1, 0], [1], [0, 1, 1]], kind(pa.int64())), pa.array(LISTS, kind(pa.float64()))
    bad_labels, bad_scores = damaged_column(labels, good, bad), damaged_column(scores, good, bad)
    message = "Offset invariant failure"
    refused(lambda: fn.evaluate(pa.table({"label": labels, "score": bad_scores}), metrics="rr"), message)
    refused(lambda: fn.evaluate(labels, bad_scores, "rr"), message)
    refused(lambda: fn.evaluate(bad_labels, scores, "rr"), message)
    items = pa.array([[1, 0], [1], [0, 1, 2]], kind(pa.int64()))
    bad_items = damaged_column(items, good, bad)
    refused(lambda: fn.Interactions(bad_items), message)
    refused(lambda: fn.evaluate(fn.Interactions(items), bad_items, "rr"), message)


@pytest.mark.parametrize(
    ("good", "bad"), [([3, 1, 2], [3, 1, 4]), ([0, 3, 4], [0, -3, 4]), ([3, 1, 2], [3, -1, 2])], ids=str
)
def test_views_of_lists(good, bad):
    views = pa.array([[1, 2, 3], [4], [5, 6]], pa.list_view(pa.float64()))
    column = damaged_column(views, *(np.array(places, "i4").tobytes() for places in (good, bad)))
    labels = pa.array([[1, 0, 1], [1], [0, 1]])
    fn.evaluate(labels, views, "rr")
    refused(lambda: fn.evaluate(pa.table({"label": labels, "score": column}), metrics="rr"), "")
    refused(lambda: fn.evaluate(labels, column, "rr"), "")


def test_offsets_of_texts_in_lists():
    good, bad = (
        np.array(places, "i4").tobytes() for places in ([0, 4, 8, 12, 16, 20, 24], [0, FAR, 8, 12, 16, 20, 24])
    )
    ids = pa.array([["aaaa", "bbbb"], ["cccc"], ["dddd", "eeee", "ffff"]])
    table = pa.table({"label": [[1, 0], [1], [0, 1, 1]], "score": LISTS, "document": damaged_column(ids, good, bad)})
    refused(lambda: fn.evaluate(table, metrics="rr"), "Offset invariant failure")


@pytest.mark.parametrize("kind", ["i4", "i8", "f4"])
def test_numbers_that_lack_bytes(kind):
    numbers = pa.array(np.arange(300, dtype=kind))
    size = 300 * numbers.type.bit_width // 8
    table = pa.table({"label": numbers})
    lengths = [np.array([place, size], "i8").tobytes() for place in range(0, 4096, 8)]
    file = io.BytesIO()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    old = next(length for length in lengths if file.getvalue().count(length) == 1)
    cut = damaged(table, old, old[:8] + np.array([64], "i8").tobytes())
    frame = cut.append_column("score", numbers).append_column("query", pa.array(np.arange(300)))
    refused(lambda: fn.evaluate(frame, metrics="rr"), "too small")


N = 600
ROWS = np.arange(N)
GOOD = pa.table({
    "query": [f"q{row // 6:03d}" for row in ROWS], "document": [f"d{row}" for row in ROWS], "label": ROWS % 3,
    "score": ROWS * 7 % 11 / 2,
})  # fmt: skip


def write_stream(table, path):
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, 100)


WRITERS = {
    "feather": lambda table, path: feather.write_feather(table, path),
    "uncompressed": lambda table, path: feather.write_feather(table, path, compression="uncompressed", chunksize=50),
    "zstd": lambda table, path: feather.write_feather(table, path, compression="zstd"),
    "polars": lambda table, path: pl.from_arrow(table).write_ipc(path),
    "pandas": lambda table, path: table.to_pandas().to_feather(path),
    "stream": write_stream,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_files_of_every_writer(tmp_path, writer):
    path = tmp_path / "rows"
    WRITERS[writer](GOOD, path)
    expected = fn.evaluate(GOOD, metrics="ndcg,map").values.tobytes()
    for memory in (None, "20kB"):
        for threads in (1, 2):
            result = fn.evaluate(fn.Rows(path, memory=memory), metrics="ndcg,map", threads=threads)
            assert result.values.tobytes() == expected
    WRITERS[writer](GOOD.select(["query", "document", "label"]), tmp_path / "qrels")
    WRITERS[writer](GOOD.select(["query", "document", "score"]), tmp_path / "run")
    assert fn.evaluate(tmp_path / "qrels", tmp_path / "run", "ndcg,map").values.tobytes() == expected
    assert len(fn.Qrels(tmp_path / "qrels", format="arrow")) == N
    assert len(fn.Run(tmp_path / "run", columns={"score": "score"})) == N


def test_categories_with_several_dictionaries(tmp_path):
    table = GOOD.set_column(0, "query", pa.chunked_array([GOOD["query"].chunk(0).dictionary_encode()]))
    batches = [table.slice(first, 100).unify_dictionaries() for first in range(0, N, 100)]
    path = tmp_path / "rows.arrows"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        for batch in batches:
            query = pa.array(batch["query"].to_pylist()).dictionary_encode()
            writer.write_table(batch.set_column(0, "query", query))
    result = fn.evaluate(fn.Rows(path, memory="20kB"), metrics="rr")
    assert result.to_dict() == fn.evaluate(GOOD, metrics="rr").to_dict()


@pytest.mark.parametrize("writer", ["feather", "uncompressed", "stream"])
def test_arrow_files_that_are_cut(tmp_path, writer):
    path = tmp_path / "rows"
    WRITERS[writer](GOOD, path)
    content = path.read_bytes()
    for size in range(8, len(content), len(content) // 40):
        path.write_bytes(content[:size])
        with pytest.raises(fn.InvalidInputError) as error:
            fn.evaluate(path, metrics="rr")
        assert str(path) in str(error.value)
        with pytest.raises(fn.InvalidInputError) as error:
            fn.Run(path)
        assert str(path) in str(error.value)


def test_feather_before_arrow(put):
    """A Feather file of version 1, which current pyarrow does not read, raises an error with the remedy."""
    path = put(b"FEA1" + bytes(64) + b"FEA1", "old.feather")
    with pytest.raises(fn.InvalidInputError, match=r"old.feather must hold a whole Arrow or Feather file, .* Write"):
        fn.Run(path)


PEAK = """
import sys
import fastndcg as fn, fastndcg.partitions, pyarrow as pa, pyarrow.dataset, pyarrow.ipc, pyarrow.parquet
pa.set_cpu_count(2)  # the rows that a data set reads ahead grow with the CPUs
pa.set_io_thread_count(2)
def held(field):
    return next(int(line.split()[1]) / 1000 for line in open("/proc/self/status") if line.startswith(field))
def opened(path):
    if sys.argv[1] == "dataset":
        return pyarrow.dataset.dataset(path, format="feather")
    return pa.ipc.open_file(pa.OSFile(path)) if sys.argv[1] == "reader" else path
def batches(file):
    return pa.RecordBatchReader.from_batches(file.schema, map(file.get_batch, range(file.num_record_batches)))
def evaluated(path):
    truth = opened(path)
    rows = fn.Rows(batches(truth) if sys.argv[1] == "reader" else truth, memory="20MB")
    fn.evaluate(rows, metrics="ndcg@10")
evaluated(sys.argv[2])
before = held("VmHWM")
evaluated(sys.argv[3])
print(held("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux's account of memory")
@pytest.mark.parametrize(("order", "most"), [("sorted", 130), ("mixed", 300)])
@pytest.mark.parametrize("kind", ["file", "dataset", "reader", "parquet"])
@pytest.mark.stress
def test_memory_is_bounded(tmp_path, kind, order, most):
    """
    With `memory` of 20 MB, 20 million rows of 17 bytes take little more than 200,000.

    DuckDB takes 150 MB or so. It sorts rows in no order, and those of a reader, which gives them only once.
    """
    suffix = "parquet" if kind == "parquet" else "feather"
    paths = [tmp_path / f"{name}.{suffix}" for name in ("few", "many")]
    for path, n in zip(paths, (200_000, 20_000_000), strict=True):
        queries = np.arange(n) // 100 if order == "sorted" else np.arange(n) % (n // 100)
        random = np.random.default_rng(n)
        columns = {"query": queries, "score": random.random(n), "label": (random.random(n) < 0.1).astype("i1")}
        if kind == "parquet":
            pq.write_table(pa.table(columns), path, row_group_size=100_000)
        else:
            feather.write_feather(pa.table(columns), path, compression="uncompressed")
    command = [sys.executable, "-c", PEAK, kind, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(done.stdout) < (300 if kind == "reader" else most)


@pytest.mark.parametrize("kind", ["path", "address"])
def test_no_thread_of_arrow_lets_go_of_pythons_bytes(tmp_path, monkeypatch, kind):
    table = pa.table({"query": ["a", "a"], "document": ["x", "y"], "label": [1, 0], "score": [0.5, 0.7]})
    path = tmp_path / "scored.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    given = path if kind == "path" else path.as_uri().replace("file:", "local:")
    opened = []
    kinds = {name: getattr(pa, name) for name in ("OSFile", "PythonFile")}

    def open_file(name, source, **options):
        opened.append((name, hasattr(source, "read_buffer")))
        return kinds[name](source, **options)

    for name in kinds:
        monkeypatch.setattr(pyarrow, name, functools.partial(open_file, name), raising=False)
    assert fn.evaluate(given, metrics="rr").to_dict() == {"a": {"RR": 0.5}}
    assert set(opened) == {("PythonFile", True)}
