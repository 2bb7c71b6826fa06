"""Side files of the command line: each option reads each format, and finds ids that are texts and whole numbers."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
feather, pq = pytest.importorskip("pyarrow.feather"), pytest.importorskip("pyarrow.parquet")

QUERIES, DOCUMENTS = 12, 5


def divided(mark, *, has_header):
    def write(path, columns):
        rows = zip(*columns.values(), strict=True)
        lines = [list(columns)] * has_header + [list(map(str, row)) for row in rows]
        Path(path).write_text("# a comment\n" * (len(columns) > 1) + "".join(f"{mark.join(line)}\n" for line in lines))

    return write


def write_records(path, columns, separator="\n", ends=("", "")):
    rows = [json.dumps(dict(zip(columns, row, strict=True))) for row in zip(*columns.values(), strict=True)]
    Path(path).write_text(ends[0] + separator.join(rows) + ends[1])


def write_json(path, columns):
    first, *second = columns.values()
    Path(path).write_text(json.dumps(dict(zip(first, *second, strict=True)) if second else first))


def write_packed(path, columns):
    write_csv(path, columns)
    Path(path).write_bytes(gzip.compress(Path(path).read_bytes()))


def write_beside_others(path, columns):
    """The columns have another order, and a third one stands beside them."""
    table = pa.table({"other": [0.5] * len(next(iter(columns.values()))), **dict(reversed(columns.items()))})
    pq.write_table(table, path)


write_csv = divided(",", has_header=True)
FORMATS = {
    "tabs": divided("\t", has_header=False), "commas": divided(",", has_header=False),
    "semicolons": divided(";", has_header=False), "CSV": write_csv, "TSV": divided("\t", has_header=True),
    "packed": write_packed, "Parquet": lambda path, columns: pq.write_table(pa.table(columns), path),
    "Parquet with others": write_beside_others,
    "Arrow": lambda path, columns: feather.write_feather(pa.table(columns), path), "JSON": write_json,
    "JSON of columns": lambda path, columns: Path(path).write_text(json.dumps(columns)),
    "JSON of records": lambda path, columns: write_records(path, columns, ",", "[]"), "JSON Lines": write_records,
    "an address": write_csv,
}  # fmt: skip
COMPARE, GATE = "compare {q} {a} {b} -m rr", "gate {q} {b} {a} -m rr --format json"
VECTORS = "evaluate {q} u.npy,i.npy -m rr --query-ids {ids} --document-ids {items}"
LINES = {
    "segments": (f"{COMPARE} --segments {{file}}", "query_id", "segment"),
    "texts": (f"{COMPARE} --html r.html --queries {{file}}", "qid", "text"),
    "clusters": (f"{GATE} --clusters {{file}}", "query_id", "cluster"),
    "strata": (f"{GATE} --strata {{file}}", "query_id", "stratum"),
    "weights": (f"{GATE} --weights {{file}}", "query_id", "weight"),
    "folds": ("tune-fusion {q} {a} {b} -m rr --method wsum --folds 3 --clusters {file}", "query_id", "cluster"),
    "parents": ("evaluate {p} {a} -m rr --parents {file}", "chunk_id", "doc_id"),
    "query ids": (VECTORS.replace("{ids}", "{file}"), "query_id"),
    "document ids": (VECTORS.replace("{items}", "{file}"), "doc_id"),
    "candidates": (f"{VECTORS} --candidates {{file}} --missing-truth skip", "doc_id"),
}


@pytest.fixture(params=["texts", "numbers"])
def ids(request, tmp_path, monkeypatch):
    """Write judgments, runs and vectors with ids of one kind, and return the ids of queries, documents and parents."""
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("scipy")
    name = str if request.param == "numbers" else "x{}".format
    kinds = int if request.param == "numbers" else str
    queries = [kinds(name(100 + q)) for q in range(QUERIES)]
    documents = [kinds(name(10 + d)) for d in range(DOCUMENTS)]
    parents = [kinds(name(50 + d // 2)) for d in range(DOCUMENTS)]
    rng = np.random.default_rng(3)
    table = {"query": np.repeat(queries, DOCUMENTS), "document": np.tile(documents, QUERIES)}
    labels = np.tile([1, 0, 0, 0, 0], QUERIES)
    pq.write_table(pa.table(table | {"label": labels}), "q.parquet")
    judged = {"query": queries, "document": [parents[-1]] * QUERIES, "label": [1] * QUERIES}
    pq.write_table(pa.table(judged), "p.parquet")
    for run in "ab":
        pq.write_table(pa.table(table | {"score": rng.random(len(labels))}), f"{run}.parquet")
    for file, n in (("u", QUERIES), ("i", DOCUMENTS)):
        np.save(f"{file}.npy", rng.normal(size=(n, 4)).astype("f4"))
    Path("queries").write_text("".join(f"{query}\n" for query in queries))
    Path("documents").write_text("".join(f"{document}\n" for document in documents))
    return queries, documents, parents


@pytest.mark.parametrize("option", LINES)
def test_each_option_reads_each_format(ids, run, option, monkeypatch):
    """The output is that of lines of text, which have a tab or an id. A report stands for the texts that it gets."""
    monkeypatch.setattr("fastndcg.reports.page.page", lambda *_, queries, **__: repr(queries))
    line, *names = LINES[option]
    queries, documents, parents = ids
    values = {
        "segment": ["a", "b"] * 6, "cluster": ["a", "b", "c", "d"] * 3, "stratum": ["a", "b"] * 6, "doc_id": parents,
        "weight": [1, 2] * 6, "text": [f"what is {query}" for query in queries],
    }  # fmt: skip
    keys = {"chunk_id": documents, "doc_id": documents[:3] if option == "candidates" else documents}
    columns = {names[0]: keys.get(names[0], queries)} | {name: values[name] for name in names[1:]}
    written = {}
    for form, write in FORMATS.items():
        if len(names) == 1 and form in ("semicolons", "commas", "JSON of columns"):
            continue
        if option == "candidates" and form == "Parquet with others":  # judgments
            continue
        write("side", columns)
        Path("r.html").write_text("")
        path = Path("side").absolute().as_uri() if form == "an address" else "side"
        given = line.format(q="q.parquet", p="p.parquet", a="a.parquet", b="b.parquet", ids="queries",
                            items="documents", file=path).split()  # fmt: skip
        code, *out = run(*given)
        assert code in ({0, 1, 3} if "gate" in line else {0}), (form, out)
        written[form] = (code, *out, Path("r.html").read_text(encoding="utf-8"))
    assert {form for form, found in written.items() if found != written["tabs"]} == set()
    if option == "texts":
        assert "what is" in written["tabs"][-1]


@pytest.mark.parametrize(("text", "message"), [
    ("x100\n", "side: line 1 must have a query id and a segment, but is 'x100'. Separate them by a space"),
    ("a,b,c\n", "side: line 1 must have a query id and a segment, but is 'a,b,c'"),
    ("x100 a\n# no\nx100 b\n", "side: line 3: query x100 must have one segment, but has 'a' and 'b'"),
    ('[["x100"]]', "side must have the columns query and segment, but has ''. Rename them"),
    ('[{"a": 1, "b": 2, "c": 3}]', "side must have the columns query and segment, but has 'a', 'b', 'c'"),
    ('[{"query": "x100", "segment": null}]', "value 0 must have a query id and a segment"),
])  # fmt: skip
def test_rows_that_lack_a_field_are_refused(ids, wrong, text, message):
    Path("side").write_text(text)
    wrong(message, "compare", "q.parquet", "a.parquet", "b.parquet", "--segments", "side")
