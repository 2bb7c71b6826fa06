"""Parquet files, folders and patterns give the values of arrays within a memory limit. Invalid files raise errors."""

import errno
import gc
import re
import sys
import tempfile

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.inputs import streams, table_sources

pa, pq = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet"))

METRICS = "ndcg@10,map,rr,num_ret"
RANDOM = np.random.default_rng(4)
SIZES = RANDOM.integers(1, 40, 120)
N = int(SIZES.sum())
QUERIES = np.repeat(np.sort(RANDOM.choice(10**6, 120, replace=False)), SIZES)
LABELS = RANDOM.integers(0, 4, N).astype("i1")
SCORES = RANDOM.random(N).astype("f4")
EXPECTED = fn.evaluate(LABELS, SCORES, METRICS, query_ids=QUERIES)
SHUFFLED = RANDOM.permutation(N)
UNSORTED = fn.evaluate(LABELS[SHUFFLED], SCORES[SHUFFLED], METRICS, query_ids=QUERIES[SHUFFLED])
KINDS = {
    "numbers": lambda ids: ids, "falling numbers": lambda ids: -ids.astype("i4"),
    "unsigned": lambda ids: ids.astype("u8") + np.uint64(2**63),
    "texts": lambda ids: np.char.zfill(ids.astype("U"), 8), "texts that rise and fall": lambda ids: ids.astype("U"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.iterdir()) == []


def table_of(ids, rows=slice(None)):
    return pa.table({"qid": ids, "score": SCORES[rows], "label": LABELS[rows], "features": [["x"]] * len(ids)})


def assert_equal(result, expected, ids):
    np.testing.assert_array_equal(result.values, expected.values)
    assert result.query_ids.tolist() == ids.tolist()
    assert result.n_tied == expected.n_tied


def firsts(ids):
    _, places = np.unique(ids, return_index=True)
    return ids[np.sort(places)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("order", "group", "memory"), [
    ("sorted", 10**6, None), ("sorted", 100, "64kB"), ("sorted", 7, 9000), ("mixed", 333, None),
    ("mixed", 333, "100kB"),
])  # fmt: skip
def test_rows_in_any_order(tmp_path, kind, order, group, memory, monkeypatch):
    monkeypatch.setattr(streams, "MOST_ROWS", 500)
    rows, expected = (np.arange(N), EXPECTED) if order == "sorted" else (SHUFFLED, UNSORTED)
    ids, path = KINDS[kind](QUERIES[rows]), tmp_path / "rows.parquet"
    pq.write_table(table_of(ids, rows), path, row_group_size=group)
    assert_equal(fn.evaluate(fn.Rows(path, memory=memory), metrics=METRICS), expected, firsts(ids))


def test_order_that_breaks_late(tmp_path):
    """Rows in which a query repeats only between the last two queries give the values of arrays."""
    rows = np.insert(np.arange(1, N), np.flatnonzero(np.diff(QUERIES))[-1], 0)
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[rows], rows), path, row_group_size=50)
    expected = fn.evaluate(LABELS[rows], SCORES[rows], METRICS, query_ids=QUERIES[rows])
    assert_equal(fn.evaluate(fn.Rows(path, memory="64kB"), metrics=METRICS), expected, firsts(QUERIES[rows]))


def test_folders_patterns_and_partitions(tmp_path):
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
    for query in ("007", "8", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"user={query}").mkdir()
        pq.write_table(pa.table({"score": [0.5], "label": [1]}), tmp_path / f"user={query}" / "rows.parquet")
    pattern = tmp_path / "user=[08]*" / "*.parquet"
    assert fn.evaluate(pattern, metrics="rr").to_dict() == {"007": {"RR": 1.0}, "8": {"RR": 1.0}}
    pattern = tmp_path / "user=[8_]*" / "*.parquet"
    refused(f"`{pattern}` must have no null, but column 'user' has one in row 1. Drop or fill it", pattern)


def test_parquet_folder_with_other_files(tmp_path):
    pq.write_table(pa.table({"user": [1], "score": [0.5], "label": [1]}), tmp_path / "b.parquet")
    (tmp_path / "c.txt").write_text("x")
    with pytest.raises(
        fn.InvalidInputError, match=r"^.* must hold whole Parquet files, but does not: .*c\.txt.*Write it"
    ):
        fn.evaluate(tmp_path, metrics="rr")


def test_names_with_points(tmp_path):
    path = tmp_path / "rows.parquet"
    table = table_of(QUERIES)
    pq.write_table(table.append_column("score.other", table.column("label")), path, row_group_size=100)
    assert_equal(fn.evaluate(path, metrics=METRICS), EXPECTED, firsts(QUERIES))


def test_progress_counts_rows(tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path, row_group_size=100)
    calls = []
    fn.evaluate(fn.Rows(path, memory="64kB"), metrics="rr", progress=lambda *rows: calls.append(rows))
    assert calls == sorted(calls)
    assert len(calls) > 10
    assert calls[-1] == (N, N)


def test_rows_that_do_not_fit_need_duckdb(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[SHUFFLED], SHUFFLED), path, row_group_size=1000)
    assert_equal(fn.evaluate(path, metrics=METRICS), UNSORTED, firsts(QUERIES[SHUFFLED]))
    message = (
        r"sorting rows that do not fit into `memory` needs duckdb\. .*Or sort the rows by query, or give more `memory`"
    )
    with pytest.raises(fn.MissingPackageError, match=message):
        fn.evaluate(fn.Rows(path, memory="9kB"), metrics="rr")


def test_half_floats_and_large_queries_on_disk(tmp_path):
    path = tmp_path / "rows.parquet"
    ids = np.arange(N) % 3
    table = table_of(ids).set_column(1, "score", pa.array(SCORES.astype("f2")))
    pq.write_table(table, path, row_group_size=100)
    expected = fn.evaluate(LABELS, SCORES.astype("f2"), METRICS, query_ids=ids)
    assert_equal(fn.evaluate(fn.Rows(path, memory="20kB"), metrics=METRICS), expected, np.arange(3))


TEXTS = np.char.add("u", QUERIES[SHUFFLED].astype("U"))
IDS = {
    "string_view": lambda ids: pa.array(ids).cast(pa.string_view()),
    "large_string": lambda ids: pa.array(ids, pa.large_string()),
    "categories": lambda ids: pa.array(ids).dictionary_encode(),
    "categories of large_string": lambda ids: pa.array(ids, pa.large_string()).dictionary_encode(),
}


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("memory", [None, "20kB"])
@pytest.mark.parametrize("role", ["query", "document"])
def test_ids_of_every_type_in_any_order(tmp_path, kind, memory, role):
    for number, rows in enumerate(np.array_split(np.arange(N), 3)):
        table = table_of(TEXTS[rows], SHUFFLED[rows])
        if role == "query":
            table = table.set_column(0, "qid", IDS[kind](TEXTS[rows]))
        else:
            table = table.append_column("doc", IDS[kind]([f"d{row % 7}é{row}" for row in rows]))
        pq.write_table(table, tmp_path / f"{number}.parquet", row_group_size=333)
    assert_equal(fn.evaluate(fn.Rows(tmp_path, memory=memory), metrics=METRICS), UNSORTED, firsts(TEXTS))


@pytest.mark.parametrize("order", ["sorted", "mixed", "broken at the end"])
def test_parquet_frees_tables_after_evaluation(tmp_path, order):
    rows = {"sorted": np.arange(N), "mixed": SHUFFLED, "broken at the end": np.append(np.arange(1, N), 0)}[order]
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[rows], rows), path, row_group_size=500)
    gc.freeze()  # what other tests made is not searched for garbage, which takes a second
    fn.evaluate(path, metrics="rr")
    gc.collect()
    before = pa.total_allocated_bytes()
    gc.disable()
    try:
        fn.evaluate(path, metrics="rr")
        assert pa.total_allocated_bytes() == before
    finally:
        gc.enable()
        gc.unfreeze()


def test_columns_with_fewer_values_than_promised(tmp_path, monkeypatch):
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES[SHUFFLED], SHUFFLED), path, row_group_size=100)
    iter_batches = pq.ParquetFile.iter_batches

    def shorter(self, *arguments, **options):
        for number, batch in enumerate(iter_batches(self, *arguments, **options)):
            yield batch[:-1] if number == 0 and arguments[1] == [1] else batch

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", shorter)
    refused(f"{path} must hold whole Parquet files, but 99 of 100 rows can be read. Write it anew", path)
    pq.write_table(table_of(QUERIES), path, row_group_size=100)
    refused(f"{path} must hold whole Parquet files, but 99 of 100 rows can be read. Write it anew", path)


def refused(message, path, **options):
    with pytest.raises(fn.InvalidInputError, match=re.escape(message)):
        fn.evaluate(path, metrics="rr", **options)


def test_files_that_do_not_fit(tmp_path):
    for number, table in enumerate((
        {"qid": [1], "label": [1], "score": [1.0]},
        {"qid": ["1"], "label": [1], "score": [1.0]},
    )):  # fmt: skip
        pq.write_table(pa.table(table), tmp_path / f"{number}.parquet")
    refused("1.parquet column 'qid' is string, and int64 in the first", tmp_path / "*.parquet")
    pq.write_table(pa.table({"qid": [1], "score": [1.0]}), tmp_path / "1.parquet")
    refused("1.parquet column 'label' is not there, and int64 in the first", tmp_path / "*.parquet")


def test_parquet_raises_on_wrong_input(tmp_path, monkeypatch):
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
        refused(f"`memory` must be bytes or a text such as '2GB', not {memory!r}", fn.Rows(path, memory=memory))
    pq.write_table(pa.table({"qid": [1, 1, 2], "label": [1, 0, None], "score": [1.0] * 3}), path, row_group_size=1)
    refused(f"`{path}` must have no null, but column 'label' has one in row 2. Drop or fill it", path)


def test_parquet_without_rows(tmp_path):
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
    path, rows = tmp_path / "rows.parquet", np.arange(100)
    ids = rows // 10 if kind == "sorted" else rows % 10
    scores, labels = np.where(rows == row, np.nan, 0.5), rows % 2
    columns = {"qid": ids, "label": labels, "score": scores}
    if kind == "lists":
        ids, columns = rows, {"labels": [[0, one] for one in labels], "scores": [[1.0, one] for one in scores]}
    pq.write_table(pa.table(columns), path, row_group_size=25)
    refused(f"`scores` must not be NaN, but scores[row {row}] (query {ids[row]}) is nan. Find", path)
    pq.write_table(pa.table(columns), path, row_group_size=7)
    refused(f"`scores` must not be NaN, but scores[row {row}] (query {ids[row]}) is nan. Find", path)


@pytest.mark.parametrize("place", [4, 60])
def test_broken_pages(tmp_path, place):
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of(QUERIES), path, compression="snappy")
    content = bytearray(path.read_bytes())
    content[place : place + 30] = b"\xff" * 30
    path.write_bytes(content)
    refused(f"{path} must hold whole Parquet files, but does not: ", path)
    with pytest.raises(fn.InvalidInputError, match="must hold whole Parquet files, but does not: "):
        fn.reference.evaluate(path, metrics="rr")
    with pytest.raises(fn.InvalidInputError, match="must hold whole Parquet files, but does not: "):
        fn.Run(path, columns={"document": "label"})
    with pytest.raises(PermissionError), table_sources.convert_arrow_errors("x", "rows"):
        raise PermissionError(errno.EACCES, "no")
