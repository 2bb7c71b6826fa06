"""Files of each kind read in each format: the file fits, or an error names the file, the line and a remedy."""

import io
import json
import re

import pytest

import fastndcg as fn

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
pq = pytest.importorskip("pyarrow.parquet")

TABLE = {"7": {"d1": 1, "é": 2}, "007": {"d1": 2, "d2": 1}}
ROWS = [(query, document, value) for query, row in TABLE.items() for document, value in row.items()]


def parquet(columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def arrow(columns):
    file = io.BytesIO()
    feather.write_feather(pa.table(columns), file)
    return file.getvalue()


FILES = {
    "qrels": "".join(f"{q} 0 {d} {v}\n" for q, d, v in ROWS),
    "run": "".join(f"{q} Q0 {d} 1 {v} name\n" for q, d, v in ROWS),
    "msmarco": "".join(f"{q}\t{d}\t{v}\n" for q, d, v in ROWS),
    "beir": "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{v}\n" for q, d, v in ROWS),
    "json": json.dumps(TABLE, indent=1), "json in one line": json.dumps(TABLE),
    "jsonl": "".join(json.dumps({q: row}) + "\n" for q, row in TABLE.items()),
    "a list": json.dumps(["query", "document"]),
    "records": json.dumps([{"query": q, "doc": d, "label": v, "score": v} for q, d, v in ROWS]),
    "lines of records": "".join(json.dumps({"qid": q, "doc": d, "label": v, "score": v}) + "\n" for q, d, v in ROWS),
    "csv": "qid,docno,label,score\n" + "".join(f"{q},{d},{v},{v}\n" for q, d, v in ROWS), "other csv": "a,b\n1,2\n",
    "broken csv": "qid,docno,label,score\nq,d,1,1\nq,e,1\n", "svmlight": "1 qid:3 1:0.5\n0 qid:3 1:0.25\n",
    "scores": "0.5\n0.25\n", "prose": "Dear Sir,\nthis is no data at all\n",
    "parquet": parquet({"qid": ["q"], "docno": ["d"], "label": [1], "score": [0.5]}),
    "other parquet": parquet({"a": [1], "b": [2]}),
    "arrow": arrow({"qid": ["q"], "docno": ["d"], "label": [1], "score": [0.5]}),
    "other arrow": arrow({"a": [1], "b": [2]}), "binary": b"PK\x03\x04\n" + bytes(range(256)),
    "UTF-16": "q 0 d 1\n".encode("utf-16-le"),
}  # fmt: skip
FITTING = {  # the kinds of files that are of a format: of judgments, and of runs; None where there is no such format
    "trec": ({"qrels"}, {"run"}),
    "trec_diversity": ({"qrels"}, None),
    "msmarco": (None, {"msmarco"}),
    "json": ({"json", "json in one line", "records"},) * 2,
    "jsonl": ({"jsonl", "json in one line", "records", "lines of records"},) * 2,
    "csv": ({"csv", "beir", "msmarco"}, {"csv", "beir"}),
    "parquet": ({"parquet"}, {"parquet"}),
    "arrow": ({"arrow"}, {"arrow"}),
}
PLACED = re.compile(r"FILE, (line|row) \d+: .+[.;] .+|`FILE, line 1` must have .+. Give columns=.+", re.DOTALL)
WHOLE = re.compile(
    r"FILE must hold (Parquet files|a whole Arrow or Feather file), but does not: .+or give its own format|"
    r"`FILE` must have one column of .+. Give columns=.+",
    re.DOTALL,
)


@pytest.mark.parametrize("read", [fn.read_qrels, fn.read_run], ids=["qrels", "run"])
@pytest.mark.parametrize("kind", FILES)
def test_wrong_file_kinds_raise(tmp_path, kind, read):
    path = tmp_path / "file"
    path.write_bytes(FILES[kind] if isinstance(FILES[kind], bytes) else FILES[kind].encode())
    for format, sides in FITTING.items():
        fitting = sides[read is fn.read_run]
        if fitting is not None and kind in fitting:
            assert len(read(path, format=format)) > 0
            continue
        with pytest.raises(fn.InvalidInputError) as error:
            read(path, format=format)
        message = str(error.value).replace(str(path), "FILE")
        if fitting is None:
            assert message.startswith(f"`format` '{format}' is one of ")
        else:
            assert (WHOLE if format in ("parquet", "arrow") else PLACED).fullmatch(message), (format, message)


@pytest.mark.parametrize("kind", [kind for kind in FILES if kind not in ("svmlight", "scores", "msmarco")])
def test_score_file_reader_rejects_other_formats(tmp_path, kind):
    for name in ("svmlight", kind):
        (tmp_path / name).write_bytes(FILES[name] if isinstance(FILES[name], bytes) else FILES[name].encode())
    with pytest.raises(fn.InvalidInputError) as error:
        fn.evaluate(tmp_path / "svmlight", tmp_path / kind, "rr")
    assert PLACED.fullmatch(str(error.value).replace(str(tmp_path / kind), "FILE"))
