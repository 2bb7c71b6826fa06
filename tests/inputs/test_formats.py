"""Files of every format give equal values. Wrong formats and wrong contents raise errors."""

import gzip
import json
import re

import pandas as pd
import pytest

import fastndcg as fn

QRELS = {"7": {"d1": 1, "é": 0}, "007": {"d1": 2, "d2": 1}}
RUN = {"7": {"d2": 3, "d1": 2, "é": 1}, "007": {"d2": 2, "d3": 1}}  # 4 less the rank
METRICS = "ndcg,map,rr,p@2"
EXPECTED = fn.evaluate(QRELS, RUN, METRICS).to_dict()


def rows(table):
    return [(query, document, value) for query, row in table.items() for document, value in row.items()]


FILES = {
    "trec": ("".join(f"{q} 0 {d} {v}\n" for q, d, v in rows(QRELS)),
        "".join(f"{q} Q0 {d} 1 {v} name\n" for q, d, v in rows(RUN))),
    "beir and msmarco": ("\nquery-id\tcorpus-id\tscore\n" + "".join(f"{q}\t{d}\t{v}\n" for q, d, v in rows(QRELS)),
        "".join(f"{q}\t{d}\t{sum(u >= v for u in RUN[q].values())}\n" for q, d, v in rows(RUN))),
    "json": (json.dumps(QRELS, indent=2), json.dumps(RUN, indent=1, ensure_ascii=False)),
    "json on one line": (json.dumps(QRELS), json.dumps(RUN)),
    "jsonl": tuple("".join(json.dumps({q: row}) + "\n\n" for q, row in table.items()) for table in (QRELS, RUN)),
    "jsonl of tuples": tuple("".join(json.dumps(row) + "\n" for row in rows(table)) for table in (QRELS, RUN)),
    "csv": ("qid,docno,label\n" + "".join(f"{q},{d},{v}\n" for q, d, v in rows(QRELS)),
        'score,"query_id",comment,doc_id\n' + "".join(f'{v},{q},"a, b",{d}\n' for q, d, v in rows(RUN))),
}  # fmt: skip


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gzip"])
@pytest.mark.parametrize("name", FILES)
def test_every_format(tmp_path, name, pack):
    paths = [tmp_path / "qrels", tmp_path / "run"]
    for path, text in zip(paths, FILES[name], strict=True):
        path.write_bytes(pack(text.encode()))
    assert fn.evaluate(*paths, METRICS).to_dict() == EXPECTED
    formats = {"beir and msmarco": ("csv", "msmarco"), "json on one line": ("json", "jsonl")}
    formats = formats.get(name, (name.partition(" ")[0],) * 2)
    qrels = fn.read_qrels(paths[0], format=formats[0])
    assert fn.evaluate(qrels, fn.read_run(paths[1], format=formats[1]), METRICS).to_dict() == EXPECTED


@pytest.mark.parametrize("name", ["trec", "json", "json on one line", "jsonl"])
def test_columns_are_those_of_csv(tmp_path, name):
    paths = [tmp_path / "qrels", tmp_path / "run"]
    for path, text in zip(paths, FILES[name], strict=True):
        path.write_text(text)
    sheet = tmp_path / "qrels.csv"
    sheet.write_text("qid,d,label\n7,d1,1\n")
    assert len(fn.evaluate(sheet, paths[1], "rr", columns={"document": "d"})) == 1
    for read, path in zip((fn.read_qrels, fn.read_run), paths, strict=True):
        message = rf"^`columns` can only be used for CSV.* in JSON, but {re.escape(str(path))} is read as \w+\."
        with pytest.raises(fn.InvalidInputError, match=message):
            read(path, columns={"document": "d"})
        assert len(read(path, columns={})) > 0


def test_names_and_ids_of_csv(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("A,B,C\n007,1,0.5\n")
    run = fn.read_run(path, columns={"query": "A", "document": "B", "score": "C"})
    assert run.queries.names().tolist() == ["007"]
    assert run.documents.names().tolist() == ["1"]
    path = tmp_path / "run.csv"
    path.write_text(f"query,doc,score\nq,0x10,{2**53 + 1}\nq,0x1f,{2**53}\n")
    run = fn.read_run(path)
    assert run.documents.names().tolist() == ["0x10", "0x1f"]
    assert run.values[0] > run.values[1]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("q,a,0x10\nq,b,2\n", "PATH, line 2: 'score' must be a decimal number, but is '0x10'. Write it as one"),
        ('"q\n",a,1\n\nq,b,0X1f\n', "PATH, line 5: 'score' must be a decimal number, but is '0X1f'. Write it as one"),
        ("q,a,1.5\nq,b,1_0\n", "PATH, line 3: 'score' must be a decimal number, but is '1_0'. Write it as one"),
        ("q,a,1.5\nq,b,NA\n", "PATH, line 3: 'score' must be a decimal number, but is 'NA'. Write it as one"),
        ("q,a,1\nq,b,\n", "`PATH` must have no null, but column 'score' has one in row 1. Drop or fill it"),
        ("q,a,1\nq,,2\n", "`PATH` must have no null, but column 'doc' has one in row 1. Drop or fill it"),
        ("", "PATH must hold rows of query, doc, score, but has a header only"),
        ("q,a,1\nq,a,2\n",
            "PATH: a document must stand once in a query, but document a of query q is in lines 2 and 3. Keep one "
            "of them, or evaluate with duplicates='first'"),
        ("\nq,a,1\nq,a,2\n",
            "PATH: a document must stand once in a query, but document a of query q is in rows 0 and 1. Keep one "
            "of them, or evaluate with duplicates='first'"),
    ],
)  # fmt: skip
def test_wrong_values_in_csv(rows, message, tmp_path):
    path = tmp_path / "run.csv"
    path.write_text(f"query,doc,score\n{rows}")
    with pytest.raises(fn.InvalidInputError, match=f"^{re.escape(message.replace('PATH', str(path)))}$"):
        fn.read_run(path, format="csv")


def test_values_in_json_name_the_file(tmp_path):
    path = tmp_path / "run.json"
    path.write_text('{"q": {"a": NaN}}')
    with pytest.raises(fn.InvalidInputError, match=f"^{re.escape(str(path))}: score of document a of query q must not"):
        fn.evaluate({"q": {"a": 1}}, path, "rr")


SVMLIGHT = "1 qid:3 1:0.5 2:0.1 # d1\n0 qid:3 1:0.4\n\n2 qid:b 1:0.25\n0 qid:3 1:1\n0 qid:b\n"


def test_svmlight_and_scores(tmp_path):
    labels, scores = tmp_path / "test.txt", tmp_path / "scores.txt"
    labels.write_text(SVMLIGHT)
    scores.write_text("0.5\n0.75\n1e-3\n.25\n-1\n")
    expected = {"3": {"RR": 1 / 2}, "b": {"RR": 1.0}}
    assert fn.evaluate(labels, scores, "rr").to_dict() == expected
    assert fn.evaluate(labels, [0.5, 0.75, 0.001, 0.25, -1], "rr").to_dict() == expected


@pytest.mark.parametrize(
    ("labels", "scores", "message"),
    [
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
        ("1 qid:3\n0 qid:4\n0 qid:3\n", [1, 2, float("nan")],
         "`scores` must not be NaN, but scores[2] (query 3) is nan"),
    ],
)  # fmt: skip
def test_lines_of_svmlight(tmp_path, labels, scores, message):
    paths = {"LABELS": tmp_path / "labels", "SCORES": tmp_path / "scores"}
    paths["LABELS"].write_text(labels)
    if isinstance(scores, str):
        paths["SCORES"].write_text(scores)
        scores = paths["SCORES"]
    for name, path in paths.items():
        message = message.replace(name, str(path))
    with pytest.raises(fn.InvalidInputError, match=f"^{re.escape(message)}"):
        fn.evaluate(paths["LABELS"], scores, "rr")


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("run", "q1\td1\t0\n", "from 1 on, but that of document d1 of query q1 (line 1) is 0"),
        ("run", "q1\td1\tinf\n", "from 1 on, but that of document d1 of query q1 (line 1) is inf"),
        ("run", "q1\td1\t1\nq1\td2\n", ", line 2: must have 3 fields (query, document, rank), but has 2: 'q1 d2'"),
        ("qrels", "q1 0 d1 1\nq1\td1\t1\n", ", line 2: must have 4 fields (query, iteration, document, label), "),
        ("qrels", "query-id\tcorpus-id\tscore\nq\td\thigh\n", ", line 2: 'score' must be a decimal number, but is"),
        ("qrels", "query-id\tcorpus-id\tscore\n", " must hold rows of query-id, corpus-id, score, but has a"),
        ("qrels", "query-id\tcorpus-id\tscore\nq\td\t1\nq\td\t1\n", "is in lines 2 and 3. Keep one of them"),
        ("run", '{"q": {"d": 1}', ", line 1: must be JSON, but is not: "),
        ("run", '{"q": {"d": 1, "d": 2}}', ", line 1: an object must have each key once, but 'd' stands twice"),
        ("run", '{"q": {"d": "high"}}', ": `run` must give numbers, but score of document 'd' of query 'q' is 'high'"),
        ("run", '{"q": {"d": 1}}\n{"q": {"e": 1}}', ", line 2: a query must be in one line, but query 'q' came"),
        ("run", '{"q": {"d": 1}}\n[1]', ", line 2: must be an object {query: {document: value}}, but is [1]"),
        ("run", "{}", " must hold {query: {document: value}} or records, but is empty"),
        ("run", "qid,docno,bm25\nq,d,1\n", "must have one column of score ids or values, but has none of its usual"),
        ("run", "q1 0 d1 1\n", "It looks like judgments, which come first. Give a run in its place"),
        ("run", "301 0 17 1\n", "It looks like judgments, which come first. Give a run in its place"),
        ("qrels", "q1 Q0 d1 1 0.5 n\n", "It looks like a run, which comes after the judgments. Give "),
        ("qrels", "1 1:0.5 2:1\n", " must have ids of documents, but is svmlight, which has labels and features"),
        ("run", "q;d;1;2;3\n", ", line 1: must be a header with the names of the columns, but is no header: 'q', 'd'"),
        ("run", "q,d,2\nq,e,2\n", "Name the columns in a first line, such as query,document,rank or query,"),
        ("run", "q d 5 2\nq e 5 2\n", "Name the columns in a first line, such as query,document,rank or query,"),
        ("run", "qid,docno,score\nq,d,1\nq,e\n", ", row 1: must be CSV with a header, but is not: Expected 3 columns"),
        ("run", "qid,docno,score\nq,d,1\nq,d,1\n", "is in lines 2 and 3. Keep one of them"),
        ("run", "qid,docno,score\nq,d,\n", "must have no null, but column 'score' has one in row 0. Drop or fill it"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, kind, text, message):
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(fn.InvalidInputError) as error:
        (fn.read_run if kind == "run" else fn.read_qrels)(path)
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
        with pytest.raises(fn.InvalidInputError, match="looks like judgments, which come first"):
            fn.evaluate(make("score"), make("label"), "rr")
        with pytest.raises(fn.InvalidInputError, match="looks like a run, which comes after the judgments"):
            fn.evaluate(make("rank"), make("label"), "rr")
