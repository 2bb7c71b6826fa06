"""Files and dicts that break a rule raise an error that names the place, and blank lines take no steps."""

import bz2
import gzip
import re
import sys

import pytest
from refusals import refused, refuses

import fastndcg as fn

QRELS_FIELDS = "4 fields (query, iteration, document, label)"
RUN_FIELDS = "6 fields (query, 'Q0', document, rank, score, name)"
NUMBER = "must be a number, but is"
ONE = {"q1": {"d1": 1}}
NOT_ONCE = "a document must stand once in a query, but document d1 of query q1 is in"
LEAVE_OUT = "Leave the document out, or give it the label 0"

BAD_FILES = {
    "empty": (b"", " must hold lines of query, iteration, document, label, but is empty"),
    "blank lines only": (b"\n  \n\t\r\n", " must hold lines of query, iteration, document, label, but is empty"),
    "empty gzip": (gzip.compress(b""), " must hold lines of query, iteration, document, label, but is empty"),
    "a field too few": (b"q1 0 d1 1\nq1 0 d2\n", f", line 2: must have {QRELS_FIELDS}, but has 3: 'q1 0 d2'"),
    "a field too many": (b"\nq1 0 d1 1 x\n", f", line 2: must have {QRELS_FIELDS}, but has 5: 'q1 0 d1 1 x'"),
    "a text": (b"q1 0 d1 high\n", f", line 1: label {NUMBER} 'high'"),
    "underscore": (b"q1 0 d1 1_0\n", f", line 1: label {NUMBER} '1_0'"),
    "hexadecimal": (b"q1 0 d1 0x1\n", f", line 1: label {NUMBER} '0x1'"),
    "two signs": (b"q1 0 d1 +-1\n", f", line 1: label {NUMBER} '+-1'"),
    "other digits": ("q1 0 d1 ١\n".encode(), f", line 1: label {NUMBER} '١'"),
    "nan": (b"q1 0 d0 1\nq1 0 d1 nan\n",
        f", line 2: label of document d1 of query q1 must be finite, but is nan. {LEAVE_OUT}"),
    "inf": (b"q1 0 d1 -inf\n", f", line 1: label of document d1 of query q1 must be finite, but is -inf. {LEAVE_OUT}"),
    "5000 digits": (b"q1 0 d1 " + b"9" * 5000,
        f", line 1: label of document d1 of query q1 must be finite, but is inf. {LEAVE_OUT}"),
    "twice": (b"q1 0 d1 1\n\nq2 0 d1 1\nq1 0 d1 0\n", f": {NOT_ONCE} lines 1 and 4. Keep one of them"),
    "binary": (bytes(range(256)), ", line 3: must be UTF-8 text, but byte 128 is not: invalid start byte. Give text"),
    "another encoding": ("q1 0 dé 1\n".encode("latin1"),
        ", line 1: must be UTF-8 text, but byte 6 is not: invalid conti"),
    "UTF-16": ("q1 0 d1 1\n".encode("utf-16-le"), ", line 1: must be text, but byte 1 is NUL. Give text"),
    "truncated gzip": (gzip.compress(b"q1 0 d1 1\n")[:-5], " must be a whole gzip file, but is not: Compressed"),
    "broken gzip": (b"\x1f\x8b" + b"junk" * 9, " must be a whole gzip file, but is not: "),
    "junk behind gzip": (gzip.compress(b"q1 0 d1 1\n") + b"junk", " must be a whole gzip file, but is not: Not"),
}  # fmt: skip
BAD_RUNS = {
    "a field too few": (b"q1 Q0 d1 1 0.5\n", f", line 1: must have {RUN_FIELDS}, but has 5: 'q1 Q0 d1 1 0.5'"),
    "a text": (b"q1 Q0 d1 1 0.5 n\nq1 Q0 d2 2 low n\n", f", line 2: score {NUMBER} 'low'"),
    "underscore": (b"q1 Q0 d1 1 1_0 n\n", f", line 1: score {NUMBER} '1_0'"),
    "twice": (b"q1 Q0 d1 1 0.5 n\nq1 Q0 d2 1 0.5 n\nq1 Q0 d1 2 0.4 n\n",
        f": {NOT_ONCE} lines 1 and 3. Keep one of them"),
    "nan": (b"q1 Q0 d1 1 0.5 n\nq1 Q0 d2 2 NaN n\n",
        ", line 2: score of document d2 of query q1 must not be NaN, but is nan. Leave the document out, "
        "or take convention.replace(nan_scores='last')"),
    "qrels in its place": (b"q1 0 d1 1\n", f", line 1: must have {RUN_FIELDS}, but has 4: 'q1 0 d1 1'"),
}  # fmt: skip
BAD = {
    **{f"qrels: {case}": (fn.Qrels, *row) for case, row in BAD_FILES.items()},
    **{f"run: {case}": (lambda path: fn.evaluate(ONE, path, "ndcg"), *row) for case, row in BAD_RUNS.items()},
}


@pytest.mark.parametrize(("read", "content", "message"), BAD.values(), ids=BAD)
def test_bad_files(put, read, content, message):
    path = put(content, "file.txt")
    refused("^" + re.escape(f"{path}{message}"), read, path)


def test_paths_that_cannot_be_read(tmp_path):
    absent = tmp_path / "absent"
    refused(re.escape(str(absent)), fn.evaluate, absent, {"q1": {"d1": 1}}, "ndcg", error=OSError)
    refused("must hold Parquet files, but the folder has none", fn.evaluate, tmp_path, {"q1": {"d1": 1}}, "ndcg")
    for nothing in ("a\0b", "\ud800", 5, None):
        with pytest.raises(fn.InvalidTypeError, match=r"must be (a data frame, )?the path of a file, (but is not: )?"):
            fn.Qrels(nothing)


IDS = "must be all texts or all whole numbers, but one is"
test_bad_dicts_raise = refuses(lambda qrels, run: fn.evaluate(qrels, run, "ndcg"), {
    "mixed queries": ({1: {"a": 1}, "b": {"a": 1}}, ONE, f"ids of queries in the qrels {IDS} 'b'. Use one type"),
    "mixed documents": (ONE, {"q1": {"a": 1, 2: 1}}, f"ids of documents in the run {IDS} 2. Use one type"),
    "None as id": ({None: {"a": 1}}, ONE, f"ids of queries in the qrels {IDS} None. Use one type"),
    "bool as id": ({True: {"a": 1}}, ONE, f"ids of queries in the qrels {IDS} True. Use one type"),
    "float as id": ({1.5: {"a": 1}}, ONE, f"ids of queries in the qrels {IDS} 1.5. Use one type"),
    "tuple as id": ({(1, 2): {"a": 1}}, ONE, f"ids of queries in the qrels {IDS} (1, 2). Use one type"),
    "huge id": ({2**70: {"a": 1}}, ONE,
        f"ids of queries in the qrels must fit int64 or uint64, but one is {2**70}. Use texts"),
    "queries of two types": ({1: {"a": 1}}, {"1": {"a": 1}},
        "ids of queries are whole numbers in the qrels, such as 1, but texts in the run, such as '1'. "
        "As texts, 1 would be the same: make them texts"),
    "documents of two types": ({"q": {"7": 1}}, {"q": {7: 1}},
        "ids of documents are texts in the qrels, such as '7', but whole numbers in the run, such as 7. "
        "As texts, 1 would be the same: make them texts"),
    "no dict of dicts": ({"q1": {"d1": 1}, "q2": 3}, ONE,
        "`qrels` must map queries to dicts, but 'q2' maps to 3"),
    "None as label": ({"q1": {"d1": None}}, ONE,
        "`qrels` must give numbers, but label of document 'd1' of query 'q1' is None. Use int or float"),
    "text as score": (ONE, {"q1": {"d1": "1"}},
        "`run` must give numbers, but score of document 'd1' of query 'q1' is '1'. Use int or float"),
    "complex label": ({"q1": {"d1": 1j}}, ONE,
        "`qrels` must give numbers, but label of document 'd1' of query 'q1' is 1j. Use int or float"),
    "NaN as label": ({"q1": {"d1": float("nan")}}, ONE,
        f"the qrels: label of document d1 of query q1 must be finite, but is nan. {LEAVE_OUT}"),
    "NaN as score": (ONE, {"q1": {"d2": 1, "d1": float("nan")}},
        "the run: score of document d1 of query q1 must not be NaN, but is nan. Leave the document out, "
        "or take convention.replace(nan_scores='last')"),
    "huge label": ({"q1": {"d1": 2**60}}, ONE,
        "the qrels: label of document d1 of query q1 must be at most 2**53 in size, but is 1152921504606846976. "
        "Rescale the labels"),
    "label that float64 lacks": ({"q1": {"d1": 2**53 + 1, "d2": 0.5}}, ONE,
        "`labels` must fit float64 exactly, but labels[0] is 9007199254740993. Use whole numbers only"),
    "nothing in common": ({"q1": {"d1": 1}, "q2": {"d1": 1}},
        {"1": {"d1": 1}, "2": {"d1": 1}, "3": {"d1": 1}, "4": {"d1": 1}},
        "qrels and run must have a query in common, but the qrels have 'q1', 'q2', and the run has '1', '2', '3', …. "
        "Check that the ids are written alike"),
    "nothing judged": ({}, ONE, "the qrels must have a query, but are empty. Check what was read"),
    "no query retrieved": (ONE, {}, "the run must have a query, but is empty. Check what was read"),
}, text="^{}$")  # fmt: skip


def test_negative_label_in_qrels_where_the_convention_refuses_it():
    convention = "default(negative_labels=raise)"
    for document, name in (("d1", "labels"), ("d2", "pool")):
        message = rf"`{name}` must not be negative, but {name}\[{document}\] \(query q1\) is -1. Set it to 0"
        refused(message, fn.evaluate, {"q1": {document: -1}}, {"q1": {"d1": 1}}, "ndcg", convention=convention)


def test_tables_of_other_shapes():
    with pytest.raises(fn.InvalidTypeError, match="`run` must be a data frame, a Run, the path of a file, a dict of"):
        fn.Run([1, 2])
    refused(r"`run` must have `documents` and `scores` where columns are given", fn.Run, ["q1"], ["d1"])
    refused("must have the same length, got 1, 2 and 1", fn.Qrels, ["q1"], ["d1", "d2"], [1])
    with pytest.raises(fn.InvalidTypeError, match="ids of queries in the qrels must be all texts or all"):
        fn.Qrels([["q1"]], ["d1"], [1])
    with pytest.raises(fn.InvalidInputError, match=r"document d1 of query q1 is in rows 0 and 2\. Keep one of them"):
        fn.Run(["q1", "q1", "q1"], ["d1", "d2", "d1"], [1, 2, 3])


PROGRESS = (
    "`progress` can only be a function when `truth` is streamed: a Parquet or Arrow file, or a data set, with scores "
    "and labels, or when `predictions` are Embeddings or a Scorer. Leave it out"
)


def test_inputs_that_do_not_go_together():
    rankings = fn.Rankings([1], [1.0], [0, 1])
    for message, arguments, ways in (
        ("`predictions` is missing: give scores, a run, or its path. Labels in rank order have the scores -rank, "
            "such as -numpy.arange(n)", (ONE, None), {}),
        ("`predictions` must be a data frame, a Run, the path of a file, a dict of columns, a list of queries with "
            "hits, a dict of retrieved documents, a dict of hits, a dict of dicts or of ids, LensKit's lists of items, "
            "a list of lists of ids, examples of LangSmith, a list or iterator of records or a pair of arrays, ids and "
            "scores, but is of type list. Convert it to one of these", (ONE, [1]), {}),
        ("`predictions` must be an array of scores, as `truth` is of labels, not dict. For scores of several "
            "systems take fn.compare", ([[1]], ONE), {}),
        ("`predictions` must be left out when `truth` is Rankings, which holds scores", (rankings, [1]), {}),
        ("`offsets` cuts arrays into queries, but `truth` has its own. Leave it out", (ONE, ONE), {"offsets": [0]}),
        ("`groups` cuts arrays into queries, but `truth` has its own. Leave it out", (rankings,), {"groups": [1]}),
        (PROGRESS, ([[1]], [[1]]), {"progress": print}),
        (PROGRESS, (ONE, ONE), {"progress": print}),
        ("`truth` must not be a Run. Pass the judgments first, then the run", (fn.Run(ONE), ONE), {}),
    ):  # fmt: skip
        refused(f"^{re.escape(message)}$", fn.evaluate, *arguments, metrics="ndcg", **ways)


SVMLIGHT = b"1 qid:1 1:0.5\n"
CASES = {
    "TREC": (b"1 Q0 a 1 1 t\n", b"\n", lambda path: fn.Run(path, threads=1)),
    "TREC without a record": (b"", b"\n", lambda path: fn.Run(path, threads=1)),
    "TREC, blanks": (b"1 Q0 a 1 1 t\n", b" \r\n", lambda path: fn.Run(path, threads=1)),
    "TREC, comments": (b"1 Q0 a 1 1 t\n", b"#\n", lambda path: fn.Run(path, threads=1)),
    "MS MARCO": (b"1\ta\t1\n", b"\n", lambda path: fn.Run(path, threads=1)),
    "JSON Lines": (b'{"1": {"a": 1}}\n', b"\n", fn.Run),
    "JSON Lines without a record": (b"", b"\n", lambda path: fn.Run(path, format="jsonl")),
    "JSON Lines, record after them": (b"", b"\n", lambda path: fn.Run(path, format="jsonl")),
    "JSON": (b'{"1":\n', b"\n", lambda path: fn.Run(path, format="json")),
    "CSV": (b"qid,docno,score\n1,a,1\n", b"\n", fn.Run),
    "CSV without a record": (b"", b"\n", lambda path: fn.Run(path, format="csv")),
    "fields between blanks": (b"qid docno score\n1 a 1\n", b"\n", fn.Run),
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
    refused("must hold rows, but has 51 empty batches one after another", lambda: fn.evaluate(make(60), metrics="rr"))
