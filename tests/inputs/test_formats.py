"""Files of every format give equal values, as people have them. Wrong formats and wrong contents raise errors."""

import io
import json
import re
import sys

import pandas as pd
import pytest
from refusals import refused

import fastndcg as fn
from fastndcg.inputs import records
from fastndcg.inputs.messages import Options
from fastndcg.inputs.table import Run

pa, feather, pq = map(pytest.importorskip, ("pyarrow", "pyarrow.feather", "pyarrow.parquet"))


def test_names_and_ids_of_csv(put):
    path = put("A,B,C\n007,1,0.5\n", "run.csv")
    run = fn.Run(path, columns={"query": "A", "document": "B", "score": "C"})
    assert run.queries.names().tolist() == ["007"]
    assert run.documents.names().tolist() == ["1"]
    path = put(f"query,doc,score\nq,0x10,{2**53 + 1}\nq,0x1f,{2**53}\n", "run.csv")
    run = fn.Run(path)
    assert run.documents.names().tolist() == ["0x10", "0x1f"]
    assert run.values[0] > run.values[1]


@pytest.mark.parametrize(("rows", "message"), [
    ("q,a,0x10\nq,b,2\n", "PATH, line 2: 'score' must be a decimal number, but is '0x10'. Write it as one"),
    ('"q\n",a,1\n\nq,b,0X1f\n', "PATH, line 5: 'score' must be a decimal number, but is '0X1f'. Write it as one"),
    ("q,a,1.5\nq,b,1_0\n", "PATH, line 3: 'score' must be a decimal number, but is '1_0'. Write it as one"),
    ("q,a,1.5\nq,b,NA\n", "PATH, line 3: 'score' must be a decimal number, but is 'NA'. Write it as one"),
    ("q,a,1\nq,b,\n", "`PATH` must have no null, but column 'score' has one in line 3. Drop or fill it"),
    ("q,a,1\nq,,2\n", "`PATH` must have no null, but column 'doc' has one in line 3. Drop or fill it"),
    ("", "PATH must hold rows of query, doc, score, but has a header only"),
    ("q,a,1\nq,a,2\n",
        "PATH: a document must stand once in a query, but document a of query q is in lines 2 and 3. Keep one "
        "of them, or take fn.Run(…, duplicates='first')"),
    ("\nq,a,1\nq,a,2\n",
        "PATH: a document must stand once in a query, but document a of query q is in line 3 and line 4. Keep "
        "one of them, or take fn.Run(…, duplicates='first')"),
])  # fmt: skip
def test_wrong_values_in_csv(rows, message, put):
    path = put(f"query,doc,score\n{rows}", "run.csv")
    refused(f"^{re.escape(message.replace('PATH', str(path)))}$", fn.Run, path, format="csv")


def test_values_in_json_name_the_file(put):
    path = put('{"q": {"a": NaN}}', "run.json")
    with pytest.raises(fn.InvalidInputError, match=f"^{re.escape(str(path))}: score of document a of query q must not"):
        fn.evaluate({"q": {"a": 1}}, path, "rr")


@pytest.mark.parametrize(("labels", "scores", "message"), [
    ("\n1 qid:3 1:1\n\n0 qid: 1:1\n", "1\n2\n",
        "LABELS, line 4: the second field must be qid: and a query, but is 'qid:'"),
    ("1 qid:3\n0 qid:4\n0 qid:3\n", "1\n\n2\nnan\n",
        "`scores` must not be NaN, but scores[SCORES, line 4] (query 3) is nan"),
    ("1 qid:3\n0 qid:4\n\nnan qid:3\n", "1\n2\n3\n",
        "`labels` must not be NaN, but labels[LABELS, line 4] (query 3) is"),
    ("1 qid:3\n-1 qid:4\n0 qid:3\n", [1, 2, 3],
        "`labels` must not be negative, but labels[LABELS, line 2] (query 4) is"),
    ("1 qid:3\n0 qid:4\n", "1\n", "SCORES must have a score for each line of `truth`, 2, but has 1. Give the"),
    ("1 qid:3\n", "0.75 1\n", "SCORES, line 1: must have 1 fields (score), but has 2: '0.75 1'"),
    ("1 qid:3 1:1\n0 1:1\n", [1, 2], "LABELS, line 2: the second field must be qid: and a query, but is"),
    ("1 qid:3\n0 qid:4\n0 qid:3\n", [1, 2, float("nan")], "`scores` must not be NaN, but scores[2] (query 3) is nan"),
])  # fmt: skip
def test_lines_of_svmlight(tmp_path, labels, scores, message):
    paths = {"LABELS": tmp_path / "labels", "SCORES": tmp_path / "scores"}
    paths["LABELS"].write_text(labels)
    if isinstance(scores, str):
        paths["SCORES"].write_text(scores)
        scores = paths["SCORES"]
    for name, path in paths.items():
        message = message.replace(name, str(path))
    refused(f"^{re.escape(message)}", fn.evaluate, paths["LABELS"], scores, "rr")


@pytest.mark.parametrize(("kind", "text", "message"), [
    ("run", "q1\td1\t0\n", "from 1 on, but that of document d1 of query q1 (line 1) is 0"),
    ("run", "q1\td1\tinf\n", "from 1 on, but that of document d1 of query q1 (line 1) is inf"),
    ("run", "q1\td1\t1\nq1\td2\n", ", line 2: must have 3 fields (query, document, rank), but has 2: 'q1 d2'"),
    ("qrels", "q1 0 d1 1\nq1\td1\t1\n", ", line 2: must have 4 fields (query, iteration, document, label), "),
    ("qrels", "query-id\tcorpus-id\tscore\nq\td\thigh\n", ", line 2: 'score' must be a decimal number, but is"),
    ("qrels", "query-id\tcorpus-id\tscore\n", " must hold rows of query-id, corpus-id, score, but has a"),
    ("qrels", "query-id\tcorpus-id\tscore\nq\td\t1\nq\td\t1\n", "is in lines 2 and 3. Keep one of them"),
    ("run", '{"q": {"d": "high"}}', ": `run` must give numbers, but score of document 'd' of query 'q' is 'high'"),
    ("run", '{"q": {"d": 1}}\n{"q": {"e": 1}}', ", line 2: a query must be in one line, but query 'q' came"),
    ("run", '{"q": {"d": 1}}\n[1]', ", line 2: must be an object {query: {document: value}}, but is [1]"),
    ("run", "{}", " must hold {query: {document: value}} or records, but is empty"),
    ("run", "qid,docno,bm25\nq,d,1\n", "must have one column of score ids or values, but has none of its usual"),
    ("run", "q1 0 d1 1\n", "It looks like judgments, which come first. Give a run in its place"),
    ("qrels", "q1 Q0 d1 1 0.5 n\n", "It looks like a run, which comes after the judgments. Give "),
    ("qrels", "1 1:0.5 2:1\n", " must have ids of documents, but is svmlight, which has labels and features"),
    ("run", "q;d;1;2;3\n", ", line 1: must be a header with the names of the columns, but is no header: 'q', 'd'"),
    ("run", "q,d,2\nq,e,2\n", "Name the columns in a first line, such as query,document,rank or query,"),
    ("run", "q d 5 2\nq e 5 2\n", "Name the columns in a first line, such as query,document,rank or query,"),
])  # fmt: skip
def test_what_is_refused(put, kind, text, message):
    path = put(text)
    with pytest.raises(fn.InvalidInputError) as error:
        (fn.Run if kind == "run" else fn.Qrels)(path)
    assert message in str(error.value)
    assert str(path) in str(error.value) or "rows" in message


def test_swapped_truth_and_predictions_are_recognised_in_every_form_with_names(tmp_path):
    kinds = {"label": {"query": ["q"], "document": ["d"], "label": [1]},
             "score": {"query": ["q"], "document": ["d"], "score": [0.5]},
             "rank": {"query": ["q"], "document": ["d"], "rank": [1]}}  # fmt: skip
    for name, columns in kinds.items():
        pd.DataFrame(columns).to_csv(tmp_path / f"{name}.csv", index=False)
        pd.DataFrame(columns).to_json(tmp_path / f"{name}.json", orient="records")
    forms = (lambda name: kinds[name], lambda name: pd.DataFrame(kinds[name]),
             lambda name: pd.DataFrame(kinds[name]).to_dict("records"),
             lambda name: tmp_path / f"{name}.csv", lambda name: tmp_path / f"{name}.json")  # fmt: skip
    for make in forms:
        assert fn.evaluate(make("label"), make("score"), "rr").mean() == {"RR": 1.0}
        refused("looks like judgments, which come first", fn.evaluate, make("score"), make("label"), "rr")
        refused("looks like a run, which comes after the judgments", fn.evaluate, make("rank"), make("label"), "rr")


ONE = {"1": {"a": 1}, "2": {"c": 1}}


@pytest.mark.parametrize("text", [
    # headers, with each delimiter: blanks in names are no delimiters, and blanks around fields do not count
    "query_id\tdoc_id\tscore\n1\tb\t3.5\n1\ta\t2.5\n2\tc\t1.0\n",
    "Query ID,Doc ID,Score\n1,b,3.5\n1,a,2.5\n2,c,1\n",
    "Query ID , Doc ID , Score , model name\n 1 , b , 3.5 , x\n1,a ,2.5, y z\n2, c,1,\n",
    "score;Doc ID;Query ID\n3.5;b;1\n2.5;a;1\n1;c;2\n",
    "query  doc  score\n1 b   3.5\n1  a 2.5 \n2 c 1\n",
    "# written in May\n\nqid\tdocno\tsim\n1\tb\t3.5\n1\ta\t2.5\n2\tc\t1.0\n",
    "\ufeffqid,docno,rank\n1,b,1\n1,a,2\n2,c,1\n",
    # numbers without names: ranks, fractions, both in either order
    "1\tb\t1\n1\ta\t2\n2\tc\t1\n",
    "1,a,2\n2,c,1\n1,b,1\n",
    "1;b;3.5\n1;a;2.5\n2;c;1\n",
    "1\tb\t1\t23.5\n1\ta\t2\t22.5\n2\tc\t1\t21.0\n",
    "1 b 23 1\n1 a 22 2\n2 c 21 1\n",
    "1, b, 1, 23\n1, a, 2, 22\n2, c, 1, 21\n",
    "1,Q0,b,1,3.5,t\n1,Q0,a,2,2.5,t\n2,Q0,c,1,1,t\n",
    "1\tmany words\t3.5\n1\ta\t2.5\n2\tc\t1.5\n",
    # comments
    "# bm25, k1 0.9\n1 Q0 b 1 2.0 t\n # half\n1 Q0 a 2 1.0 t\n2 Q0 c 1 1 t\n#1 Q0 z 3 9 t\n",
    "#\n1\tb\t1\n1\ta\t2\n2\tc\t1\n",
])  # fmt: skip
def test_runs_as_people_have_them(put, text):
    """RR is (1/2 + 1) / 2: the relevant document of the first query is second."""
    path = put(text)
    for run in (path, fn.Run(path)):
        assert fn.evaluate(ONE, run, "rr").to_dict() == {"1": {"RR": 1 / 2}, "2": {"RR": 1.0}}


@pytest.mark.parametrize("text", [
    "query_id\tdoc_id\trelevance\n1\ta\t1\n2\tc\t1\n",
    "query-id\tcorpus-id\tscore\n1\ta\t1\n2\tc\t1\n",  # BEIR
    "1\ta\t1\n2\tc\t1\n",
    "1,a,1\n2,c,1\n",
    "1;0;a;1\n2;0;c;1\n",
    "# judged in May\n1 0 a 1\n1 0 b 0\n2 0 c 1\n",
    "Topic; Doc No; Grade\n1;a;1\n2;c;1\n",
])  # fmt: skip
def test_judgments_as_people_have_them(put, text):
    path = put(text)
    values = fn.evaluate(path, {"1": {"b": 3.5, "a": 2.5}, "2": {"c": 1.0}}, "rr").to_dict()
    assert values == {"1": {"RR": 1 / 2}, "2": {"RR": 1.0}}
    assert len(fn.Qrels(path)) >= 2


@pytest.mark.parametrize("text", [
    "query_id,label,score\n1,1,.5\n1,0,.9\n2,1,.1\n",
    "session\tclicked\tscore\n1\t1\t.5\n1\t0\t.9\n2\t1\t.1\n",
    "qid;docno;rel;pred\n1;a;1;.5\n1;b;0;.9\n2;c;1;.1\n",
    '{"query_id": 1, "label": 1, "score": 0.5}\n{"query_id": 1, "label": 0, "score": 0.9}\n'
    '{"query_id": 2, "label": 1, "score": 0.1}\n',
    '[{"qid": "1", "docno": "a", "rel": 1, "pred": 0.5},\n {"qid": "1", "docno": "b", "rel": 0, "pred": 0.9},'
    '{"qid": "2", "docno": "c", "rel": 1, "pred": 0.1}]',
])  # fmt: skip
def test_labels_and_scores_in_one_file(put, text, shown):
    path = put(text)
    assert fn.evaluate(path, metrics="rr").means() == [0.75]
    assert ",0.75," in shown("evaluate", path, "-m", "rr", "--format", "csv")


@pytest.mark.parametrize(("text", "message"), [
    ("1\ta\t12\n2\tx\t1\n2\tc\t4\n", "line 1) has rank 12"), ("1\tb\t35\n1\ta\t22\n2\tc\t21\n", "has rank 35"),
    ("1,b,35\n1,a,22\n2,c,21\n", "has rank 35"), ("1\tb\t7\t35\n1\ta\t9\t22\n", "has rank 7"),
    ("1\tb\t1\n1\ta\t1\n2\tc\t1\n", "document b of query 1 (line 1) and document a of query 1 (line 2) both"),
])  # fmt: skip
def test_whole_numbers_that_are_no_ranks(put, text, message):
    with pytest.raises(fn.InvalidInputError, match=re.escape(message)) as error:
        fn.evaluate(ONE, put(text), "rr")
    assert "such as query,document,rank or query,document,score" in str(error.value)


LABELS = "# Generated by a tool\n#\n1 qid:3 1:0.5 # d1\n2 qid:b 1:0.25\n\n0 qid:3 1:0.4\n"


def test_score_files_beside_svmlight(put, shown):
    labels = put(LABELS, "test.txt")
    expected = {"3": {"RR": 1 / 2}, "b": {"RR": 1.0}}
    assert fn.evaluate(labels, [0.5, -1, 0.75], "rr").to_dict() == expected
    for scores in ("0.5\n-1\n\n.75\n", "# scores\n0.5\n-1e3\n0.75\n", "3\t0\t0.5\nb\t0\t-1.0\n3\t1\t0.75\n"):
        path = put(scores, "scores.txt")
        assert fn.evaluate(labels, path, "rr").to_dict() == expected
        assert ",0.75," in shown("evaluate", labels, path, "-m", "rr", "--format", "csv")
    for wrong, place in (("3\t0\t1\nb\t0\t1\n3\t2\t1\n", "line 3"), ("3\t0\t1\nb\t0\t1\nb\t1\t1\n", "line 3")):
        with pytest.raises(fn.InvalidInputError, match=f"scores.txt, {place}: must be of document 1 of query 3"):
            fn.evaluate(labels, put(wrong, "scores.txt"), "rr")


def test_lightgbm_has_sizes_beside_its_labels(put):
    labels, scores = put("1 1:0.5 2:0.1\n0 1:0.4\n2 2:0.25\n", "rank.train"), put("0.5\n0.75\n-1\n", "out.txt")
    refused(r"the sizes of its queries in a file beside it, rank.train.q", fn.evaluate, labels, scores, "rr")
    put("2\n1\n", "rank.train.query")
    assert fn.evaluate(labels, scores, "rr").values.tolist() == [[1 / 2], [1.0]]
    put("2\n2\n", "rank.train.query")
    refused(r"rank.train.query: `groups` must add up to .* 3, but add up to 4", fn.evaluate, labels, scores, "rr")


def test_formats_are_named_on_the_command_line(put, shown, wrong):
    qrels, run = put("1 0 a 1\n2 0 c 1\n", "q"), put("1 b 1\n1 a 2\n2 c 1\n", "r")
    assert ",0.75," in shown("evaluate", qrels, run, "-m", "rr", "--run-format", "msmarco", "--format", "csv")
    wrong("say what the file is: --run-format NAME", "evaluate", qrels, run, "-m", "rr", "--run-format", "trec")
    refused(re.escape("say what the file is: fn.Run(path, format=NAME)"), fn.Run, run, format="trec")


def test_a_file_is_opened_once(put):
    feather = pytest.importorskip("pyarrow.feather")
    import pyarrow

    opened = []
    sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == "open" else None)
    run = put("1 Q0 b 1 3.5 t\n1 Q0 a 1 2.5 t\n2 Q0 c 1 1.0 t\n", "run")
    scored = run.with_name("scored.feather")
    feather.write_feather(pyarrow.table({"qid": [1, 1], "label": [1, 0], "score": [0.1, 0.2]}), scored)
    files = {
        "trec": ("1 0 a 1\n2 0 c 1\n", run),
        "tabs": ("qid\tdocno\trel\n1\ta\t1\n2\tc\t1\n", put("1\tb\t1\n1\ta\t2\n2\tc\t1\n", "msmarco")),
        "json": ('{"1": {"a": 1}, "2": {"c": 1}}', put("1,b,3.5\n1,a,2.5\n2,c,1\n", "r.csv")),
        "svmlight": ("1 qid:1\n0 qid:1\n", put("1\n2\n", "scores")),
    }
    for name, (text, predictions) in files.items():
        truth = put(text, name)
        opened.clear()
        fn.evaluate(truth, predictions, "rr")
        assert (opened.count(str(truth)), opened.count(str(predictions))) == (1, 1), name
    opened.clear()
    fn.evaluate(scored, metrics="rr")
    assert opened.count(str(scored)) == 1


TABLE = {"7": {"d1": 1, "é": 2}, "007": {"d1": 2, "d2": 1}}
CELLS = [(query, document, value) for query, row in TABLE.items() for document, value in row.items()]


def parquet(columns):
    file = io.BytesIO()
    pq.write_table(pa.table(columns), file)
    return file.getvalue()


def arrow(columns):
    file = io.BytesIO()
    feather.write_feather(pa.table(columns), file)
    return file.getvalue()


KINDS = {
    "qrels": "".join(f"{q} 0 {d} {v}\n" for q, d, v in CELLS),
    "run": "".join(f"{q} Q0 {d} 1 {v} name\n" for q, d, v in CELLS),
    "msmarco": "".join(f"{q}\t{d}\t{v}\n" for q, d, v in CELLS),
    "beir": "query-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{v}\n" for q, d, v in CELLS),
    "json": json.dumps(TABLE, indent=1), "json in one line": json.dumps(TABLE),
    "jsonl": "".join(json.dumps({q: row}) + "\n" for q, row in TABLE.items()),
    "a list": json.dumps(["query", "document"]),
    "records": json.dumps([{"query": q, "doc": d, "label": v, "score": v} for q, d, v in CELLS]),
    "lines of records": "".join(json.dumps({"qid": q, "doc": d, "label": v, "score": v}) + "\n" for q, d, v in CELLS),
    "csv": "qid,docno,label,score\n" + "".join(f"{q},{d},{v},{v}\n" for q, d, v in CELLS), "other csv": "a,b\n1,2\n",
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


@pytest.mark.parametrize("kinds", [("qrels", "run"), ("json",) * 2, ("json in one line",) * 2, ("jsonl",) * 2])
def test_columns_are_those_of_csv(put, kinds):
    for read, kind in zip((fn.Qrels, fn.Run), kinds, strict=True):
        path = put(KINDS[kind], kind)
        message = rf"^`columns` can only be used for CSV.* in JSON, but {re.escape(str(path))} is read as \w+\."
        refused(message, read, path, columns={"document": "d"})
        assert read(path, columns={}).to_dict() == TABLE
    path.with_name("qrels.csv").write_text("qid,d,label\n7,d1,1\n")
    assert len(fn.evaluate(fn.Qrels(path.with_name("qrels.csv"), columns={"document": "d"}), path, "rr")) == 1


@pytest.mark.parametrize("read", [fn.Qrels, fn.Run], ids=["qrels", "run"])
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_file_kinds_raise(put, kind, read):
    path = put(KINDS[kind] if isinstance(KINDS[kind], bytes) else KINDS[kind].encode())
    for format, sides in FITTING.items():
        fitting = sides[read is fn.Run]
        if fitting is not None and kind in fitting:
            values = {"q": {"d": 1 if read is fn.Qrels else 0.5}} if kind in ("parquet", "arrow") else TABLE
            change = {"msmarco": lambda v: -v, "trec_diversity": lambda v: {"0": v}}.get(format, lambda v: v)
            expected = {q: {d: change(v) for d, v in row.items()} for q, row in values.items()}
            assert read(path, format=format).to_dict() == expected
            continue
        with pytest.raises(fn.InvalidInputError) as error:
            read(path, format=format)
        message = str(error.value).replace(str(path), "FILE")
        if fitting is None:
            assert message.startswith(f"`format` '{format}' is one of ")
        else:
            assert (WHOLE if format in ("parquet", "arrow") else PLACED).fullmatch(message), (format, message)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ("svmlight", "scores", "msmarco")])
def test_score_file_reader_rejects_other_formats(tmp_path, kind):
    for name in ("svmlight", kind):
        (tmp_path / name).write_bytes(KINDS[name] if isinstance(KINDS[name], bytes) else KINDS[name].encode())
    with pytest.raises(fn.InvalidInputError) as error:
        fn.evaluate(tmp_path / "svmlight", tmp_path / kind, "rr")
    assert PLACED.fullmatch(str(error.value).replace(str(tmp_path / kind), "FILE"))


A, B = '{"query": "q", "document": "a", "score": 1}\n', '{"query": "q", "document": "b", "score": 2.5}\n'
LINES = {  # records on lines, which pyarrow reads where texts and numbers alone are there
    "plain": A + B,
    "numbers as ids": '{"query": 1, "document": 2, "score": 1}\n{"score": 3, "document": 4, "query": 1}',
    "dates as ids": '{"query": "2020-01-01", "document": "2020-01-01T00:00:00Z", "score": 1}\n',
    "fractions as ids": '{"query": "q", "document": 1.5, "score": 1}\n',
    "two kinds of ids": A + '{"query": "q", "document": 1, "score": 1}\n',
    "a key twice": A + '{"query": "q", "document": "b", "score": 1, "score": 2}\n',
    "no score": A + '{"query": "q", "document": "b"}\n',
    "null": A + '{"query": "q", "document": "b", "score": null}\n',
    "lists beside": '{"query": "q", "document": "a", "score": 1, "tags": [1]}\n',
    "a blank line": A + "\n" + B,
    "a document twice": A + A,
    "a cut line": A + B[:30] + "\n",
    "other names": '{"a": "q", "b": "a", "c": 1}\n{"a": "q", "b": "b", "c": 2}\n',
    "by query": '{"q": {"a": 1}}\n{"r": {"a": 2}}\n',
    "NaN, a large number": A.replace("1", "NaN") + B.replace("2.5", "1e400"),
}


@pytest.mark.parametrize("lines", LINES)
def test_lines_of_objects_are_read_alike_by_pyarrow(lines, put, monkeypatch):
    path = put(LINES[lines], "lines.jsonl")
    found = []
    for least in (1 << 60, 0):
        monkeypatch.setattr(records, "LEAST_LINES", least)
        try:
            run = fn.Run(path)
            found.append((repr(run.to_dict()), run.source.notes, run.source.columns, repr(run)))
        except fn.FastndcgError as error:
            found.append(f"{type(error).__name__}: {error}")
    assert found[0] == found[1]
    is_read = records._read_flat_lines(path.read_bytes(), Run, Options(), "lines.jsonl") is not None
    assert is_read == (lines in ("plain", "numbers as ids"))
