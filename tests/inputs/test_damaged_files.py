"""Damaged files give the right values or an error of fastndcg that names the file."""

import bz2
import gzip
import io
import lzma
import os

import numpy as np
import pytest

import fastndcg as fn

pa, pq, feather = map(pytest.importorskip, ("pyarrow", "pyarrow.parquet", "pyarrow.feather"))

QRELS = b"q1 0 d1 1\nq1 0 d2 0\n"
N = 24
ROWS = np.arange(N)
METRICS = "ndcg,rr,num_ret"
MUTATIONS = pytest.mark.parametrize("n_mutations", [40, pytest.param(250, marks=pytest.mark.stress)])


def written(tmp_path, content, name="file"):
    path = tmp_path / name
    path.write_bytes(content)
    return path


def refused(tmp_path, content, message, read=fn.Qrels):
    """Assert that reading the content raises an error that begins with the path and this message."""
    path = written(tmp_path, content)
    with pytest.raises(fn.InvalidInputError) as error:
        read(path)
    assert str(error.value).startswith(f"{path}{message}"), str(error.value)
    assert len(str(error.value)) < 600
    assert str(error.value).replace(str(path), "").isprintable()


HEADER, LONG, PACKED = b"query,doc,label\n", b"1" * 5000, bz2.compress(QRELS)
DIGITS = "must hold numbers, but a whole number has more than 4300 digits. Write fewer"
BEHIND = (b"junk", QRELS, b"\0" * 10, b"B", PACKED[:-4])


@pytest.mark.parametrize(("content", "message", "format"), [
    (b"query,doc,label,text\nq1,d1,1," + b"x" * 140_000 + b"\nq2,d2,0x1,y\n", ", row 1: 'label' must be a decimal",
        "csv"),
    (b"query,doc,label,text\nq1,d1,z," + b"x" * 140_000 + b"\n", ", row 0: 'label' must be a decimal", "csv"),
    (b"query,doc,label\0\nq,d,1\n", ", line 1: must be text, but byte 15 is NUL. Give text", "csv"),
    (b"query\0,doc,label\nq,d,1\n", ", line 1: must be text, but byte 5 is NUL. Give text", "csv"),
    (HEADER + b"q,d,1\nq\xff,e,1\n", ", line 3: must be CSV with a header, but is not: In CSV column #0", "csv"),
    (HEADER + b"q,d,1\nq,e\n", ", row 1: must be CSV with a header, but is not: Expected 3 columns, got 2: q,e", "csv"),
    (b"query,doc,label,t\xff\nq,d,1,1\n", ", line 1: must be CSV with a header, but is not: 'utf-8' codec", "csv"),
    (HEADER + b"q,d,1\nq,\x1b[31m\x07" + b"x" * 500_000 + b"\n", ", row 1: must be CSV with a header", "csv"),
    (HEADER + b"q,d," + b"z\x1b" * 5000 + b"\n", ", line 2: 'label' must be a decimal number, but is 'z", "csv"),
    (b'{"q": {"d": ' + LONG + b"}}", f", line 1: {DIGITS}", None),
    (b'{"q": {"d": 1}}\n{"r": {"d": ' + LONG + b"}}\n", f", line 2: {DIGITS}", "jsonl"),
    (b'{"q": {"d": 1, "d": 2}}', ", line 1: an object must have each key once, but 'd' stands twice. Keep", None),
    *((PACKED + behind, " must be a whole bzip2 file, but is not: ", None) for behind in BEHIND),
    (gzip.compress(QRELS) + b"junk", " must be a whole gzip file, but is not: ", None),
    *((packed, f" must be plain, or packed by gzip, bzip2 or zstd, but is packed by {by}. Unpack it", None)
      for packed, by in ((lzma.compress(QRELS), "xz"), (b"\x04\x22\x4d\x18" + bytes(20), "lz4"))),
], ids=map(str, range(20)))  # fmt: skip
def test_damaged_text_names_the_place(tmp_path, content, message, format):
    refused(tmp_path, content, message, lambda path: fn.Qrels(path, format=format))


def test_csv_with_other_bytes_where_nobody_looks(tmp_path):
    """CSV is read despite long texts and bytes that are not UTF-8 in unneeded columns, and despite NUL in ids."""
    path = written(tmp_path, b"query,doc,label,t\nq,d,1,\xff\nq,e\x00,0," + b"x" * 140_000 + b"\n")
    assert fn.Qrels(path).documents.names().tolist() == ["d", "e\0"]


def test_bzip2_of_many_blocks_and_streams(tmp_path):
    halves = gzip.compress(QRELS[:10]) + gzip.compress(QRELS[10:])
    assert len(fn.Qrels(written(tmp_path, halves))) == 2
    lines = b"".join(b"q%d 0 d%d 1\n" % (row // 10, row) for row in range(60_000))
    packed = bz2.compress(lines, 1) + bz2.compress(b"") + bz2.compress(b"q 0 d 1\n")
    assert len(fn.Qrels(written(tmp_path, packed))) == 60_001
    refused(tmp_path, packed[:-3], " must be a whole bzip2 file, but is not: it ends within a stream. Get it anew")
    broken = packed[:5000] + b"xxxxxx" + packed[5006:]
    refused(tmp_path, broken, " must be a whole bzip2 file, but is not: Invalid data stream. Get it anew")


def test_zstd_that_begins_with_a_frame_to_skip(tmp_path):
    zstd = pytest.importorskip("backports.zstd")
    packed = b"\x5a\x2a\x4d\x18\x04\0\0\0abcd" + zstd.compress(QRELS)
    assert len(fn.Qrels(written(tmp_path, packed))) == 2
    for damaged in (packed[:12] + b"junk", packed[:-7]):
        refused(tmp_path, damaged, " must be a whole zstd file, but is not: ")


def parquet_of(**columns):
    """Return the bytes of a Parquet file of three rows, with the given columns in place of valid ones."""
    table = {"query": ["aaaa", "bbbb", "cccc"], "label": [1, 0, 1], "score": [0.5, 1.0, 2.0]} | columns
    file = io.BytesIO()
    pq.write_table(pa.table(table), file, compression="none", use_dictionary=False)
    return file.getvalue()


@pytest.mark.parametrize("old", [b"query", b"score"])
def test_parquet_with_names_that_are_not_utf8(tmp_path, old):
    new = b"\xff" + old[1:]
    path = written(tmp_path, parquet_of().replace(old, new))
    with pytest.raises(fn.InvalidInputError, match=r"must (hold|be whole) Parquet files|Arrow columns"):
        fn.evaluate(path, metrics="rr")


@pytest.mark.parametrize("order", [["aaaa", "bbbb", "cccc"], ["aaaa", "cccc", "bbbb"]])
def test_parquet_with_ids_that_are_not_utf8(tmp_path, order):
    content = parquet_of(query=order).replace(b"bbbb", b"b\xff\xfeb")
    path = written(tmp_path, content)
    message = f"column 'query' of `{path}`, rows 0 to 2, must hold valid Arrow data, but does not: Invalid UTF8"
    with pytest.raises(fn.InvalidInputError) as error:
        fn.evaluate(path, metrics="rr")
    assert str(error.value).startswith(f"{message} sequence at string index {order.index('bbbb')}")


def good_table(kind):
    queries = [f"query {row // 8 if kind != 'mixed' else row % 3} {'é' if row % 3 == 1 else ''}" for row in ROWS]
    if kind == "lists":
        return pa.table({"label": [[1, 0, 2]] * N, "score": [[0.5, row, 0.25] for row in ROWS.astype(float)]})
    ids = {
        "categories": lambda: pa.array(queries).dictionary_encode(),
        "views": lambda: pa.array(queries, pa.string_view()),
    }
    column = ids.get(kind, lambda: pa.array(queries))()
    documents = pa.array([f"d{row}" for row in ROWS])
    return pa.table({"query": column, "document": documents, "label": ROWS % 3, "score": ROWS * 7 % N / 2})


def content_of(kind, format):
    file = io.BytesIO()
    if format == "parquet":
        pq.write_table(good_table(kind), file, row_group_size=10, compression="none", write_page_checksum=False)
    elif format == "feather":
        feather.write_feather(good_table(kind), file, compression="uncompressed")
    else:
        columns = good_table("plain").to_pydict()
        lines = (",".join(map(str, row)) for row in zip(*columns.values(), strict=True))
        file.write("\n".join([",".join(columns), *lines, ""]).encode())
    return file.getvalue()


def mutated(content, random):
    changed = bytearray(content)
    for _ in range(random.integers(1, 4)):
        place, size = int(random.integers(len(changed))), int(random.integers(1, 9))
        way = random.integers(4)
        if way == 0:
            changed[place] ^= 1 << int(random.integers(8))
        elif way == 1:
            changed[place : place + size] = random.bytes(len(changed[place : place + size]))
        elif way == 2:
            del changed[place : place + size]
        else:
            changed[place : place + size] = [0x00, 0xFF, 0x7F, 0x80][random.integers(4)].to_bytes() * size
    return bytes(changed)


def evaluated(path, format):
    """Return the result of evaluating a file, or None if reading the file raises an error."""
    try:
        if format == "feather" and path.suffix != ".feather":
            try:
                given = feather.read_table(path, memory_map=False)
            except (pa.ArrowException, OSError, ValueError, LookupError):
                return None
            return fn.evaluate(given, metrics=METRICS)
        if format == "csv":
            return fn.evaluate(fn.Qrels(path, format="csv"), fn.Run(path, format="csv"), METRICS)
        return fn.evaluate(fn.Rows(path, memory="9kB"), metrics=METRICS)
    except fn.FastndcgError:
        return None


@MUTATIONS
@pytest.mark.parametrize("kind", ["plain", "mixed", "categories", "views", "lists"])
@pytest.mark.parametrize(
    ("format", "suffix"), [("parquet", "parquet"), ("feather", "feather"), ("feather", "table")], ids=str
)
def test_mutated_files_are_read_or_refused(tmp_path, kind, format, suffix, n_mutations):
    random, content = np.random.default_rng(11), content_of(kind, format)
    path = tmp_path / f"file.{suffix}"
    path.write_bytes(content)
    n_read = int(evaluated(path, format)["num_ret"].sum())
    n_results = 0
    for _ in range(n_mutations):
        path.write_bytes(mutated(content, random))
        result = evaluated(path, format)
        if result is None:
            continue
        n_results += 1
        assert ((result.values[:, :2] >= 0) & (result.values[:, :2] <= 1) | np.isnan(result.values[:, :2])).all()
        if format == "parquet":
            n_rows = pq.read_metadata(path).num_rows
            assert int(result["num_ret"].sum()) == n_rows * (3 if kind == "lists" else 1) or kind == "lists"
    assert n_results >= n_mutations / 20  # most are refused, and not all of them
    assert n_read == N * (3 if kind == "lists" else 1)
    assert os.listdir(tmp_path) == [path.name]


@MUTATIONS
def test_mutated_csv_is_read_or_refused(tmp_path, n_mutations):
    random, content = np.random.default_rng(12), content_of("plain", "csv")
    path = tmp_path / "file.csv"
    n_results = 0
    for _ in range(n_mutations):
        path.write_bytes(mutated(content, random))
        result = evaluated(path, "csv")
        n_results += result is not None
        assert result is None or ((result.values >= 0) | np.isnan(result.values)).all()
    assert n_results >= n_mutations / 20
