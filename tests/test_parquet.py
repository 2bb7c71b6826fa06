"""Parquet files, folders and patterns: the same as arrays, streamed in any amount of memory; what is refused."""

import errno
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.inputs import parquet

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

METRICS = "ndcg@10,map,rr,num_ret"
RANDOM = np.random.default_rng(4)
SIZES = RANDOM.integers(1, 40, 300)
N = int(SIZES.sum())
QUERIES = np.repeat(np.sort(RANDOM.choice(10**6, 300, replace=False)), SIZES)
LABELS = RANDOM.integers(0, 4, N).astype("i1")
SCORES = RANDOM.random(N).astype("f4")
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS, query_ids=QUERIES)
SHUFFLED = RANDOM.permutation(N)
UNSORTED = fn.evaluate(LABELS[SHUFFLED], SCORES[SHUFFLED], METRICS, query_ids=QUERIES[SHUFFLED])
KINDS = {
    "numbers": lambda ids: ids,
    "falling numbers": lambda ids: -ids.astype("i4"),
    "unsigned": lambda ids: ids.astype("u8") + np.uint64(2**63),
    "texts": lambda ids: np.char.zfill(ids.astype("U"), 8),
    "texts that rise and fall": lambda ids: ids.astype("U"),
}


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A folder for temporary files, in which none is left."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def table_of(ids, rows=slice(None)):
    """Rows with a column that nobody needs."""
    return pa.table({"qid": ids, "score": SCORES[rows], "label": LABELS[rows], "features": [["x"]] * len(ids)})


def assert_equal(result, expected, ids):
    """The same bytes and the same ids."""
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.query_ids.tolist() == ids.tolist()
    assert result.n_tied == expected.n_tied


def firsts(ids):
    """Distinct ids in order of first appearance."""
    _, places = np.unique(ids, return_index=True)
    return ids[np.sort(places)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("group", "memory"), [(10**6, None), (100, "64kB"), (7, 9000)])
def test_rows_in_order(tmp_path, kind, group, memory, monkeypatch):
    """Queries that span row groups and batches stay whole, however little memory there is."""
    monkeypatch.setattr(parquet, "MOST_ROWS", 500)
    ids = KINDS[kind](QUERIES)
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(ids), path, row_group_size=group)
    assert_equal(fn.evaluate(path, None, METRICS, memory=memory), EXPECTED, firsts(ids))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("memory", [None, "100kB"])
def test_rows_in_any_order(tmp_path, kind, memory):
    """By way of temporary files; queries come in order of first appearance, as from arrays."""
    ids = KINDS[kind](QUERIES[SHUFFLED])
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(ids, SHUFFLED), path, row_group_size=333)
    assert_equal(fn.evaluate(path, metrics=METRICS, memory=memory), UNSORTED, firsts(ids))


def test_order_that_breaks_late(tmp_path):
    """What was evaluated before the first query that comes again is evaluated anew."""
    rows = np.append(np.arange(1, N), 0)
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[rows], rows), path, row_group_size=50)
    expected = fn.evaluate(LABELS[rows], SCORES[rows], METRICS, query_ids=QUERIES[rows])
    assert_equal(fn.evaluate(path, metrics=METRICS, memory="64kB"), expected, firsts(QUERIES[rows]))


def test_folders_patterns_and_partitions(tmp_path):
    """Several files in the order of their names; columns that Hive's folders stand for."""
    folder = tmp_path / "folder"
    folder.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(N), 4)):
        pq.write_table(table_of(QUERIES[rows], rows), folder / f"part-{number}.parquet")
    for path in (folder, str(folder), folder / "*.parquet", str(tmp_path / "**" / "part-?.parquet")):
        assert_equal(fn.evaluate(path, metrics=METRICS), EXPECTED, firsts(QUERIES))
    hive = tmp_path / "hive"
    for query in (7, 3):
        (hive / f"user={query}").mkdir(parents=True)
        pq.write_table(pa.table({"score": [0.5, 0.25], "label": [0, query]}), hive / f"user={query}" / "rows.parquet")
    for path in (hive, str(hive / "user=*" / "*.parquet")):
        assert fn.evaluate(path, metrics="rr").to_dict() == {3: {"RR": 0.5}, 7: {"RR": 0.5}}


def test_folders_named_by_padded_numbers(tmp_path):
    """What Hive's folders stand for is a number only where no digit would be lost."""
    for query in ("007", "8", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"user={query}").mkdir()
        pq.write_table(pa.table({"score": [0.5], "label": [1]}), tmp_path / f"user={query}" / "rows.parquet")
    pattern = tmp_path / "user=[08]*" / "*.parquet"
    assert fn.evaluate(pattern, metrics="rr").to_dict() == {"007": {"RR": 1.0}, "8": {"RR": 1.0}}
    pattern = tmp_path / "user=[8_]*" / "*.parquet"
    refused(f"`{pattern}` must have no null, but column 'user' has one in row 1; drop or fill it", pattern)


def test_a_folder_with_other_files(tmp_path):
    """They are named, whether they come first or not."""
    pq.write_table(pa.table({"user": [1], "score": [0.5], "label": [1]}), tmp_path / "b.parquet")
    (tmp_path / "c.txt").write_text("x")
    with pytest.raises(fn.InvalidInputError, match=r"^.* must be whole Parquet files, but is not: .*c\.txt.*write it"):
        fn.evaluate(tmp_path, metrics="rr")


def test_names_with_points(tmp_path):
    """A column whose name another continues after a point is read alone."""
    path = tmp_path / "rows.parquet"
    table = table_of(QUERIES)
    pq.write_table(table.append_column("score.other", table.column("label")), path, row_group_size=100)
    assert_equal(fn.evaluate(path, metrics=METRICS), EXPECTED, firsts(QUERIES))


@pytest.mark.parametrize("memory", [None, 40_000])
def test_columns_of_lists(tmp_path, memory):
    """A row a query, with or without ids."""
    offsets = pa.array(np.cumsum([0, *SIZES]), pa.int32())
    lists = {n: pa.ListArray.from_arrays(offsets, pa.array(v)) for n, v in (("labels", LABELS), ("scores", SCORES))}
    path = tmp_path / "lists.parquet"
    pq.write_table(pa.table(lists), path, row_group_size=17)
    assert_equal(fn.evaluate(path, metrics=METRICS, memory=memory), EXPECTED, np.arange(300))
    pq.write_table(pa.table({"user": [f"u{n}" for n in range(300)], **lists}), path, row_group_size=17)
    result = fn.evaluate(path, metrics=METRICS, memory=memory)
    assert_equal(result, EXPECTED, np.array([f"u{n}" for n in range(300)]))


def test_judgments_and_runs(tmp_path):
    """Ids in both are joined; names of columns as for frames; the reference reads the same."""
    qrels, run = {"a": {"x": 1, "y": 2}, "b": {"x": 1}}, {"a": {"y": 0.5, "z": 0.75}, "b": {"x": 0.25}}
    for name, rows, column in (("qrels", qrels, "grade"), ("run", run, "bm25")):
        flat = [(q, d, v) for q, row in rows.items() for d, v in row.items()]
        q, d, v = zip(*flat, strict=True)
        pq.write_table(pa.table({"qid": q, "docno": d, column: v}), tmp_path / name)
    expected = fn.evaluate(qrels, run, METRICS).to_dict()
    columns = {"label": "grade", "score": "bm25"}
    assert fn.evaluate(tmp_path / "qrels", tmp_path / "run", METRICS, columns=columns).to_dict() == expected
    read = fn.read_qrels(tmp_path / "qrels", columns=columns), fn.read_run(tmp_path / "run", columns=columns)
    assert fn.evaluate(*read, METRICS).to_dict() == expected
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path)
    reference = fn.reference.evaluate(path, metrics="ndcg@10,rr")
    np.testing.assert_allclose(reference.values, EXPECTED.values[:, [0, 2]], rtol=1e-14)


def test_streams_are_gone_through_again(tmp_path):
    """An Evaluator reads the files each time; a stream takes a file as a batch."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path)
    evaluator = fn.Evaluator(path, METRICS)
    for _ in range(2):
        assert_equal(evaluator.evaluate(), EXPECTED, firsts(QUERIES))
    assert fn.StreamingEvaluator(METRICS).update(path).result().mean() == EXPECTED.mean()
    with pytest.raises(
        fn.InvalidInputError, match="`predictions` must be left out where `truth` is a frame that holds"
    ):
        evaluator.evaluate([1])


def test_progress_counts_rows(tmp_path):
    """It is told how many rows have been read, up to all of them; without any rows, nothing."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path, row_group_size=100)
    calls = []
    fn.evaluate(path, metrics="rr", memory="64kB", progress=lambda *rows: calls.append(rows))
    assert calls == sorted(calls)
    assert len(calls) > 10
    assert calls[-1] == (N, N)


PEAK = """
import sys
import fastndcg as fn, fastndcg.parts, pyarrow.dataset, pyarrow.ipc
def held(field):
    return next(int(line.split()[1]) / 1000 for line in open("/proc/self/status") if line.startswith(field))
fn.evaluate(sys.argv[1], metrics="ndcg@10", memory="20MB")
before = held("VmHWM")
fn.evaluate(sys.argv[2], metrics="ndcg@10", memory="20MB")
print(held("VmHWM") - before)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="reads Linux's account of memory")
@pytest.mark.parametrize("order", ["sorted", "mixed"])
def test_memory_is_bounded(tmp_path, order):
    """After a twentieth of the rows, all 4 million, which are 68 MB, take as much more as `memory` allows and a bit."""
    paths = tmp_path / "few.parquet", tmp_path / "many.parquet"
    for path, n in zip(paths, (200_000, 4_000_000), strict=True):
        queries = np.arange(n) // 100 if order == "sorted" else np.arange(n) % (n // 100)
        random = np.random.default_rng(n)
        columns = {"query": queries, "score": random.random(n), "label": (random.random(n) < 0.1).astype("i1")}
        pq.write_table(pa.table(columns), path, row_group_size=100_000)
    done = subprocess.run([sys.executable, "-c", PEAK, *map(str, paths)], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 40


STOPPED = """
import sys, time
import fastndcg as fn
from fastndcg.inputs import parquet
part_of = parquet.part_of
def slow(queries, n_parts):
    time.sleep(0.05)
    return part_of(queries, n_parts)
parquet.part_of = slow
print("ready", flush=True)
fn.evaluate(sys.argv[1], metrics="rr", memory="64kB")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal: run on POSIX")
def test_ctrl_c_removes_temporary_files(tmp_path, temporary):
    """A real interrupt in the middle of spilling leaves nothing behind."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[SHUFFLED], SHUFFLED), path, row_group_size=20)
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED, str(path)], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        while process.poll() is None and not list(temporary.glob("fastndcg-*")):  # Python tries the folder before
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert b"KeyboardInterrupt" in process.communicate()[1]
    assert os.listdir(temporary) == []


@pytest.mark.skipif(sys.platform == "win32", reason="limits the size of files: run on POSIX")
def test_full_disk_leaves_no_temporary_files(tmp_path, temporary):
    """A file that cannot grow while rows are spilled is an error of the system, and nothing is left."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[SHUFFLED], SHUFFLED), path, row_group_size=1000)
    code = (
        "import resource, sys, fastndcg as fn\nfn.evaluate([1], [1], 'rr', offsets=[0, 1])\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))\n"
        "fn.evaluate(sys.argv[1], metrics='rr', memory='64kB')"
    )
    environment = os.environ | {"TMPDIR": str(temporary)}
    done = subprocess.run([sys.executable, "-c", code, str(path)], env=environment, capture_output=True, check=False)
    assert b"OSError: [Errno 27]" in done.stderr
    assert os.listdir(temporary) == []


def refused(message, path, **options):
    """The call is refused, and the message is that."""
    with pytest.raises(fn.InvalidInputError, match=re.escape(message)):
        fn.evaluate(path, metrics="rr", **options)


def test_files_that_do_not_fit(tmp_path):
    """A column of another type, or absent, in the second file; it is named."""
    for number, table in enumerate((
        {"qid": [1], "label": [1], "score": [1.0]},
        {"qid": ["1"], "label": [1], "score": [1.0]},
    )):  # fmt: skip
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet")
    refused("1.parquet column 'qid' is string, and int64 in the first", tmp_path / "*.parquet")
    pq.write_table(pa.table({"qid": [1], "score": [1.0]}), tmp_path / "1.parquet")
    refused("1.parquet column 'label' is not there, and int64 in the first", tmp_path / "*.parquet")


def test_what_is_refused(tmp_path, monkeypatch):
    """Folders without Parquet, patterns without files, broken files, nulls with their row, memory that is none."""
    empty = tmp_path / "empty"
    empty.mkdir()
    refused(f"{empty} must hold Parquet files, but the folder has none", empty)
    refused("must name Parquet files, but no file is called so", tmp_path / "*.none")
    (empty / "x.parquet").write_text("no Parquet")
    refused(f"{empty} must hold Parquet files, but does not: ", empty)
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path, row_group_size=100)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    refused(f"{path} must hold Parquet files, but does not: ", path)
    for memory in ("lots", 0, "-1GB", True):
        path.write_bytes(whole)
        refused(f"`memory` must be bytes or a text such as '2GB', not {memory!r}", path, memory=memory)
    pq.write_table(pa.table({"qid": [1, 1, 2], "label": [1, 0, None], "score": [1.0] * 3}), path, row_group_size=1)
    refused(f"`{path}` must have no null, but column 'label' has one in row 2; drop or fill it", path)
    pq.write_table(pa.table({"qid": [1], "score": [1.0]}), path)
    refused(f"`{path}` must have one column of label ids or values, but has none of its usual names", path)
    pq.write_table(pa.table({"qid": [1.5], "label": [1], "score": [1.0]}), path)
    refused(
        f"column 'qid' of `{path}` must hold texts or whole numbers, but its type is double; cast it to one of them",
        path,
    )


def test_without_rows(tmp_path):
    """Files, row groups and lists without rows have no queries, and are no error."""
    path = tmp_path / "rows.parquet"
    table = table_of(QUERIES)
    empty = pa.table({"labels": pa.array([], pa.list_(pa.int8())), "scores": pa.array([], pa.list_(pa.float32()))})
    for nothing in (table[:0], empty):
        pq.write_table(nothing, path)
        assert fn.evaluate(path, metrics=METRICS).values.shape == (0, 4)
    with pq.ParquetWriter(path, table.schema) as writer:
        for piece in (table[:0], table[:100], table[:0], table[100:], table[:0]):
            writer.write_table(piece)
    assert_equal(fn.evaluate(path, metrics=METRICS), EXPECTED, firsts(QUERIES))


@pytest.mark.parametrize("row", [0, 41, 65, 99])
@pytest.mark.parametrize("kind", ["sorted", "mixed", "lists"])
def test_rows_of_bad_numbers_are_named(tmp_path, kind, row):
    """Whichever row group they are in, among the first queries of one, within, or read from temporary files."""
    path, rows = tmp_path / "rows.parquet", np.arange(100)
    ids = rows // 10 if kind == "sorted" else rows % 10
    scores, labels = np.where(rows == row, np.nan, 0.5), rows % 2
    columns = {"qid": ids, "label": labels, "score": scores}
    if kind == "lists":
        ids, columns = rows, {"labels": [[0, one] for one in labels], "scores": [[1.0, one] for one in scores]}
    pq.write_table(pa.table(columns), path, row_group_size=25)
    refused(f"`scores` must not be NaN, but scores[row {row}] (query {ids[row]}) is nan; find", path)
    pq.write_table(pa.table(columns), path, row_group_size=7)
    refused(f"`scores` must not be NaN, but scores[row {row}] (query {ids[row]}) is nan; find", path)


@pytest.mark.parametrize("place", [4, 60])
def test_broken_pages(tmp_path, place):
    """Whatever pyarrow says of bytes that it cannot decode, the file is named; an error of the system stays one."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path, compression="snappy")
    content = bytearray(path.read_bytes())
    content[place : place + 30] = b"\xff" * 30
    path.write_bytes(content)
    refused(f"{path} must be whole Parquet files, but is not: ", path)
    with pytest.raises(fn.InvalidInputError, match="must be whole Parquet files, but is not: "):
        fn.reference.evaluate(path, metrics="rr")
    with pytest.raises(fn.InvalidInputError, match="must be whole Parquet files, but is not: "):
        fn.read_run(path, columns={"document": "label"})
    with pytest.raises(PermissionError), parquet.whole_files("x"):
        raise PermissionError(errno.EACCES, "no")


def test_temporary_files_are_removed(tmp_path, monkeypatch):
    """Also when the disk is full, which the message says with the remedy, and after Ctrl-C."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[SHUFFLED], SHUFFLED), path, row_group_size=100)
    for error, message in ((OSError(errno.ENOSPC, "full"), "no space left for temporary files; set TMPDIR"),
                           (KeyboardInterrupt("stop"), "stop"), (OSError(errno.EIO, "broken"), "broken")):  # fmt: skip
        calls = []

        def fail(queries, n_parts, error=error, calls=calls):
            calls.append(os.listdir(tempfile.tempdir))
            if len(calls) > 3:
                raise error
            return np.zeros(len(queries), "i8")

        monkeypatch.setattr(parquet, "part_of", fail)
        with pytest.raises(type(error), match=message):
            fn.evaluate(path, metrics="rr", memory="64kB")
        assert len(calls[-1]) == 1
        assert os.listdir(tempfile.tempdir) == []


def test_progress_that_cannot_be_called(tmp_path):
    """It is refused before a row is read."""
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES, np.arange(len(QUERIES))), path)
    with pytest.raises(fn.InvalidTypeError, match="`progress` must be a function of two numbers, not 5"):
        fn.evaluate(path, metrics="rr", progress=5)
