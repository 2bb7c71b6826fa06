"""TREC text against a plain Python reader: bytes, blanks, numbers, blocks and packings of every kind."""

import bz2
import gzip
import io
import itertools
import os
import re
import subprocess
import sys
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from strategies import examples

import fastndcg as fn
from fastndcg.inputs import files, formats, text_lines
from fastndcg.inputs import text_lines as reader
from fastndcg.inputs.files import File
from fastndcg.inputs.ids import IdColumn
from fastndcg.inputs.text_lines import BlockOrder, Documents
from fastndcg.kernels.inputs.text_lines import PADDING, read_lines
from fastndcg.rankings.validation import read_only

LINE_END = re.compile(rb"\r\n|\r|\n")


def plain_rows(content, layout):
    """Return rows as (line, query, document, value) by plain Python, or the error text of the first bad line."""
    found = []
    for number, line in enumerate(LINE_END.split(content.removeprefix(b"\xef\xbb\xbf")), 1):
        fields = line.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        if not layout.least <= len(fields) <= layout.most:
            return f"line {number}: must have"
        value = fields[layout.fields[3]]
        try:
            number_there = float("no" if b"_" in value else value)
        except ValueError:
            return f"line {number}: {layout.value_name} must be a number"
        found.append((number, fields[0].decode(), fields[2].decode(), number_there))
    return found


def read(path, layout, monkeypatch, block_size):
    monkeypatch.setattr(reader, "Blocks", lambda file, padding: files.Blocks(file, padding, block_size))
    with File(path) as file:
        file.n_readers = 2
        rows, source = reader.read_rows(file, layout, threads=2)
    order = np.arange(len(rows.values)) if rows.groups.rows is None else rows.groups.rows
    queries = np.repeat(rows.queries.names(), np.diff(rows.groups.offsets))
    documents = rows.documents.names()
    found = [
        (source.number(row), query, documents[row], rows.values[row]) for row, query in zip(order, queries, strict=True)
    ]
    return sorted(found)


BLANKS = st.sampled_from([" ", "\t", "  ", " \t ", "\x0b", "\x0c "])
IDS = st.text("abé文\u00a0\u2028\x01\x1f0", min_size=1, max_size=40)
NUMBERS = st.one_of(
    st.integers(-(10**22), 10**22).map(str),
    st.floats(allow_nan=False).map(repr),
    st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(["inf", "-Infinity", "1_0", "0x1", "--1", ".", "e5", "1e", "+", "١", ".5", "5.", "1e-3"]),
)
LINES = st.one_of(
    st.builds(
        lambda fields, blanks, ends: ends[0] + "".join(map("".join, zip(fields, blanks, strict=True))) + ends[1],
        st.tuples(st.sampled_from(["q1", "q2", "é"]), st.just("Q0"), IDS, st.just("1"), NUMBERS.filter(bool), IDS),
        st.lists(BLANKS, min_size=6, max_size=6),
        st.tuples(st.sampled_from(["", " ", "\t"]), st.sampled_from(["\n", "\r\n", "\r", " \n", "\n\n"])),
    ),
    st.sampled_from(["\n", " \n", "q1 Q0 d\n", "# no row\n", " #\r\n"]),
)  # fmt: skip


@examples(150)
@given(
    content=st.lists(LINES, max_size=12).map("".join), size=st.sampled_from([1, 7, 40, 1000]),
    first=st.sampled_from(["", "\ufeff", "\n\n  \n"]), last=st.booleans(),
)  # fmt: skip
def test_text_lines_random_lines(tmp_path_factory, content, size, first, last):
    path = tmp_path_factory.mktemp("lines") / "run"
    path.write_bytes((first + content if last else (first + content).rstrip("\r\n")).encode())
    expected = plain_rows(path.read_bytes(), formats.TREC["run"])
    with pytest.MonkeyPatch.context() as patch:
        if isinstance(expected, str) or not expected:
            refused(f"{re.escape(str(path))}.*{expected or 'is empty'}", read, path, formats.TREC["run"], patch, size)
        else:
            assert read(path, formats.TREC["run"], patch, size) == expected


@examples(150)
@given(content=st.binary(max_size=300), size=st.sampled_from([1, 9, 100]))
def test_text_lines_random_bytes(tmp_path_factory, content, size):
    path = tmp_path_factory.mktemp("bytes") / "run"
    path.write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        try:
            found = read(path, formats.TREC["qrels"], patch, size)
        except fn.InvalidInputError as error:
            found = str(error)
    are_rows = not isinstance(found, str)
    assert found == plain_rows(content, formats.TREC["qrels"]) if are_rows else found.startswith(str(path))


def parsed(text):
    """Return the number that the kernel parses, or None if the number is left to Python."""
    line = f"q 0 d {text}\n".encode()
    padded = read_only(np.frombuffer(line + b"\n" * PADDING, "u1"))
    out = reader._allocate_output(len(padded), 4)
    read_lines(padded, len(line), formats.TREC["qrels"].fields, 4, 4, *reader.make_power_tables(), out)
    return None if out.counts[2] else float(out.values[0])


@examples(200, plain=30)
@given(texts=st.lists(NUMBERS.filter(bool), min_size=10, max_size=10))
def test_numbers_are_rounded_as_python_does(texts):
    for text in texts:
        value = parsed(text)
        if value is not None:
            assert "_" not in text
            assert np.float64(value).tobytes() == np.float64(float(text)).tobytes()


def test_text_lines_kernel_parses_most_numbers():
    random = np.random.default_rng(3)
    bits = random.integers(0, 2**64, 20_000, dtype="u8").view("f8")
    usual = [value for value in bits.tolist() if np.isfinite(value) and abs(value) > 1e-300]
    values = [parsed(repr(value)) for value in usual]
    assert all(value in (known, None) for value, known in zip(values, usual, strict=True))
    assert values.count(None) < len(values) / 500  # such as whole numbers of more than 53 bits
    assert [parsed(text) for text in ("0", "-0.0", "0e500", "000123", "0.1", "5e-1", ".5", "5.")] == [
        0, 0, None, 123, 0.1, 0.5, 0.5, 5,
    ]  # fmt: skip
    assert np.signbit(parsed("-0"))
    halfway = [9007199254740993, 2**54 + 2, (2**53 - 1) * 2**970 + 2**969]
    for text in ("inf", "nan", "4.9e-324", "1e400", "1" * 30, "+", "-", ".", "e1", "1e", "1e+", *map(str, halfway)):
        assert parsed(text) is None


RUN_TEXT = "".join(f"q{q} Q0 d{d} 0 {(7 * d + q) % 11} name\n" for q in range(4) for d in range(9))


def write_feather():
    file = io.BytesIO()
    table = pytest.importorskip("pyarrow").table({"query": ["q", "q"], "doc": ["d", "e"], "score": [1, 2]})
    pytest.importorskip("pyarrow.feather").write_feather(table, file)
    return file.getvalue()


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress], ids=["plain", "gzip", "bzip2"])
@pytest.mark.parametrize("content", [
    b'{"q": {"d": 1, "e": 2}}', b"query,doc,score\nq,d,1\nq,e,2\n", b"q\td\t1\nq\te\t2\n",
    b"q Q0 d 1 2 n\nq Q0 e 2 1 n\n", write_feather(),
], ids=["JSON", "CSV", "MS MARCO", "TREC", "Arrow"])  # fmt: skip
def test_formats_of_standard_input(monkeypatch, pack, content):
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(pack(content)))))
    assert repr(fn.Run("-")) == "Run of 1 queries, 2 documents, from standard input"
    refused(r"^standard input must hold lines of query", fn.Run, "-")


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_named_pipes(tmp_path, pack):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(pack(RUN_TEXT.encode()),))
    writer.start()
    run = fn.evaluate({"q1": {"d1": 1}}, path, "num_ret")
    writer.join()
    assert run["num_ret"].tolist() == [9]


def test_text_file_raises_when_it_shrinks(put, monkeypatch):
    path = put(RUN_TEXT, "run")
    monkeypatch.setattr(files, "_length", lambda file: path.stat().st_size + 1)
    refused("must not change while it is read, but became shorter", fn.Run, path)


SHRINKING = """
import os
import fastndcg as fn
from fastndcg.inputs.files import Blocks
fill, calls = Blocks._fill, []
def shrink(*arguments):
    calls.append(0)
    if len(calls) == moment:
        os.truncate(path, length)
    return fill(*arguments)
Blocks._fill = shrink
for path, line, read in (
    ("qrels", "q 0 d{:08} 1\\n", lambda: fn.evaluate("qrels", {"q": {"d": 1}}, "rr")),
    ("run", "q Q0 d{:08} 1 0.5 n\\n", lambda: fn.Run("run")),
):
    text = "".join(map(line.format, range(300_000)))[:4_500_000]
    for moment, length in ((1, 0), (1, 1000), (2, 3_000_001), (2, 4_400_000), (3, 0), (3, 4_400_000)):
        open(path, "w").write(text)
        calls.clear()
        try:
            read()
        except fn.InvalidInputError as error:
            print(error)
"""


def test_text_file_cut_while_reading_never_crashes(tmp_path):
    command = [sys.executable, "-c", SHRINKING]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    message = "{} must not change while it is read, but became shorter. Try again\n"
    assert done.stdout == message.format("qrels") * 6 + message.format("run") * 6


def test_text_lines_error_names_first_bad_line(tmp_path, monkeypatch):
    path = tmp_path / "run"
    good = "q Q0 d{} 1 0.5 n\n"
    text = [good.format(place) for place in range(2000)]
    text[700], text[701], text[1999] = "q Q0 d 1 bad n\n", "q Q0\n", "short\n"
    path.write_text("".join(text))
    monkeypatch.setattr(reader, "Blocks", lambda file, padding: files.Blocks(file, padding, 64))
    monkeypatch.setattr(files, "UNPACKED", 1 << 30)  # two readers and more
    n_threads = threading.active_count()
    for _ in range(20):
        refused("line 701: score must be a number, but is 'bad'", fn.Run, path)
    assert threading.active_count() == n_threads


def test_text_lines_hash_collisions():
    random = np.random.default_rng(1)
    texts = [f"d{number}" for number in random.permutation(300_000)]
    column = IdColumn.of_texts(texts)
    codes, firsts = column.factorize()
    assert len(firsts) == len(texts)
    assert (codes == np.arange(len(texts))).all()


def test_long_lines_and_ids(tmp_path):
    path = tmp_path / "run"
    long_id = "x" * 1_000_000
    path.write_text(f"q Q0 {long_id} 1 2.5 n\nq Q0 {long_id}y 2 1.5 {'name ' * 700_000}\n")
    run = fn.Run(path)
    assert run.documents.names().tolist() == [long_id, long_id + "y"]
    assert run.values.tolist() == [2.5, 1.5]


BLOCKS = st.lists(st.lists(st.binary(max_size=3), max_size=4), min_size=1, max_size=5)


@examples(200)
@given(blocks=BLOCKS, data=st.data(), size=st.sampled_from([1, 20, 1000]), known=st.booleans())
def test_blocks_in_any_order(blocks, data, size, known):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_lines, "BUFFER_BYTES", size)
        gathered = BlockOrder(1, size if known else None)
        for number in data.draw(st.permutations(range(len(blocks)))):
            ids = blocks[number]
            rows = Documents(
                np.frombuffer(b"".join(ids), "u1").copy(),
                np.cumsum([len(one) for one in ids], dtype="i8"),
                np.array([10.0 * number + place for place in range(len(ids))]),
            )
            gathered.add(number, sum(len(one) + 2 for one in ids), rows)
            for array in rows:  # the reader's own memory is used again
                array[:] = 7
        documents, values = gathered.collect()
    offsets, data = documents.ids.offsets.tolist(), bytes(documents.ids.data)
    assert [data[i:j] for i, j in itertools.pairwise(offsets)] == list(itertools.chain(*blocks))
    assert values.tolist() == [10.0 * n + place for n, ids in enumerate(blocks) for place in range(len(ids))]


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_shortest_lines(tmp_path, monkeypatch, pack):
    monkeypatch.setattr(reader, "Blocks", lambda file, padding: files.Blocks(file, padding, 1 << 16))
    n = 40_000  # more than a block of text
    scores, labels = tmp_path / "scores", tmp_path / "labels"
    text = np.full(2 * n, ord("\n"), "u1")
    text[::2] = ord("0") + np.arange(n) % 10
    scores.write_bytes(pack(text.tobytes()))
    labels.write_bytes(b"1 qid:1\n" * n)
    result = fn.evaluate(labels, scores, "num_ret,p@1")
    assert result.values.tolist() == [[n, 1.0]]
