"""Spans as a list of dicts in a row give the values of the same spans in rows of their own."""

import json

import pytest
from refusals import refuses
from table_forms import USUAL_FORMS

import fastndcg as fn

pa, pd, duckdb = map(pytest.importorskip, ("pyarrow", "pandas", "duckdb"))
METRICS = "span_recall@1, span_precision@2, span_iou, span_ndcg"
GOLD = {"q1": [("a.txt", 100, 200), ("a.txt", 400, 450)], "q2": [], "é": [("a.txt", 0, 50)]}
CHUNKS = {"q1": [("b.txt", 0, 300), ("a.txt", 50, 150)], "q2": [("a.txt", 0, 9)], "é": [("a.txt", 0, 100)]}
EXPECTED = fn.evaluate_spans(GOLD, CHUNKS, METRICS).to_dict()

# as in Chroma's evaluation of chunking: the document stands beside the list
QUESTIONS = [
    {"question": query, "corpus_id": "a.txt",
     "references": [{"content": "…", "start_index": start, "end_index": end} for _, start, end in spans]}
    for query, spans in GOLD.items()
]  # fmt: skip
RETRIEVED = [
    {"query": query, "chunks": [{"text": "…", "file": name, "start": start, "end": end, "score": 1 / place}
                                for place, (name, start, end) in enumerate(spans, 1)]}
    for query, spans in CHUNKS.items()
]  # fmt: skip


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def write_csv(table, folder):
    """Write lists as texts of JSON, which is what Chroma's file has."""
    frame = pd.DataFrame(table.to_pylist())
    field = frame.columns[frame.iloc[0].map(lambda value: isinstance(value, list))][0]
    frame[field] = frame[field].map(json.dumps)
    frame.to_csv(folder / "rows.csv", index=False)
    return folder / "rows.csv"


FORMS = USUAL_FORMS | {
    "tuple": lambda table, _: tuple(table.to_pylist()), "reader": lambda table, _: table.to_reader(),
    "JSON": lambda table, folder: write(folder / "rows.json", json.dumps(table.to_pylist())),
    "connection of DuckDB": lambda table, folder: duckdb.connect().execute(
        f"SELECT * FROM '{USUAL_FORMS['Parquet'](table, folder)}'"
    ),
    "CSV": write_csv, "pandas from CSV": lambda table, folder: pd.read_csv(write_csv(table, folder)),
}  # fmt: skip
del FORMS["dict of columns"]  # which has queries as keys


@pytest.mark.parametrize("form", FORMS)
def test_lists_of_dicts_in_rows(form, tmp_path):
    """Each row has a query, and the list of its spans."""
    gold = fn.Spans(FORMS[form](pa.Table.from_pylist(QUESTIONS), tmp_path))
    assert repr(gold) == repr(fn.Spans(GOLD)) == "Spans: 3 of 3 queries"
    chunks = fn.Spans(FORMS[form](pa.Table.from_pylist(RETRIEVED), tmp_path), columns={"document": "file"})
    for own, other in ((gold, CHUNKS), (GOLD, chunks), (gold, chunks)):
        found = fn.evaluate_spans(own, other, METRICS)
        assert found.to_dict() == EXPECTED
        assert found.n_missing_in_run == 0


def test_one_row_of_json(tmp_path):
    """An object with a query is a row, and one of queries is not."""
    row = {"nr": 7, "chunks": [{"document": "a", "start": 0, "end": 5}]}
    for value, names in ((row, {"query": "nr"}), ({"query": "7"} | row, None)):
        chunks = fn.Spans(write(tmp_path / "row.jsonl", json.dumps(value)), columns=names)
        query = 7 if names else "7"
        found = fn.evaluate_spans({query: [("a", 0, 10)]}, chunks, "span_recall")
        assert found.to_dict() == {query: {"span_recall": 0.5}}


def test_dicts_by_query(tmp_path, shown):
    """Chunks have an order by rank or score, or by their place in the list."""
    names = ("document", "start", "end")
    gold = {query: [dict(zip(names, span, strict=True)) for span in spans] for query, spans in GOLD.items()}
    ranked = {query: [dict(zip(names, span, strict=True)) for span in spans] for query, spans in CHUNKS.items()}
    scored = {query: [span | {"score": -place} for place, span in enumerate(spans)] for query, spans in ranked.items()}
    paths = [write(tmp_path / f"{name}.json", json.dumps(one)) for name, one in (("gold", gold), ("chunks", ranked))]
    for chunks in (ranked, {query: spans[::-1] for query, spans in scored.items()}, paths[1]):
        for own in (gold, paths[0]):
            assert fn.evaluate_spans(own, chunks, METRICS).to_dict() == EXPECTED
    facts = json.loads(shown("spans", *paths, "-m", METRICS.replace(" ", ""), "--json", "--per-query"))
    assert facts["runs"][0]["per_query"] == EXPECTED
    plain = {"q": [(7, 0, 5, 2.0), (7, 9, 10, 1)]}
    weighted = {"q": [dict(zip((*names, "weight"), span, strict=True)) for span in plain["q"]]}
    chunk = {"q": [(7, 8, 10)]}
    bare = {"q": [span[:3] for span in plain["q"]]}
    means = [fn.evaluate_spans(own, chunk, "span_ndcg").means() for own in (weighted, plain, bare)]
    assert means[0] == means[1] != means[2]
    distances = {"q": [{"doc": 7, "start": 0, "end": 5, "_distance": far} for far in (0.9, 0.1)]}
    distances["q"][1]["doc"] = 8
    near = fn.Spans(distances, columns={"score": "_distance"})
    result = fn.evaluate_spans({"q": [(8, 0, 5)]}, near, "span_recall@1")
    assert result.means() == [1.0]
    assert "lower is better" in str(result)


def test_queries_without_spans():
    """An empty list is a query that retrieved nothing, also if it is the only one."""
    gold = {"q": [("a", 0, 5)]}
    for chunks in ([{"query": "q", "chunks": []}], {"q": []}, [{"query": "q", "chunks": [], "tags": 3}]):
        assert fn.evaluate_spans(gold, chunks, "span_recall").to_dict() == {"q": {"span_recall": 0.0}}
    filled = [{"query": "p", "chunks": []}, {"query": "q", "tags": [], "chunks": [{"doc": "a", "start": 0, "end": 5}]}]
    assert fn.evaluate_spans(gold, filled, "span_recall").to_dict() == {"q": {"span_recall": 1.0}}
    split = [{"query": "q", "chunks": [{"doc": "a", "start": place, "end": place + 1}]} for place in range(5)]
    assert fn.evaluate_spans(gold, split, "span_recall@5, span_recall@2").means() == [1.0, 2 / 5]


SPAN = {"document": "a", "start": 0, "end": 5}
ROW = {"query": "q", "spans": [SPAN]}
test_lists_of_dicts_that_cannot_be_read = refuses(lambda gold: fn.evaluate_spans(gold, {"q": []}, "span_recall"), [
    ({"q": [SPAN, ("a", 0, 5)]}, "must have a list of dicts for each query, but query 'q' has .*Give each span as"),
    ({"q": [SPAN], "r": None}, "must have a list of dicts for each query, but query 'r' has None"),
    ([ROW, {"query": "r", "spans": None}], "but query 'r' has None"),
    ([ROW, {"query": None, "spans": []}], "but query None has"),
    ([ROW, {"query": ["r"], "spans": []}], r"but query \['r'\] has"),
    ({"q": [SPAN | {"start": 2**70}]}, "must convert to Arrow columns, but does not"),
    ({"query": "q", "document": 3, "start": 0.5, "end": True}, "must convert to Arrow columns, but does not"),
    ([ROW, {"query": "r"}], "but query 'r' has None"),
    ({"q": [SPAN | {"start": None}]}, "must have a field of the start in each span, but query 'q' has"),
    ({"q": [SPAN, {"document": "a", "start": 1}]}, "must have a field of the end in each span"),
    ({"q": [{"document": "a", "start": 1}]}, r"one end in each span, .* fn\.Spans\(…, columns={'end': NAME}\)"),
    ({"q": [{"start": 0, "end": 5}]}, "must have a field of the document in each span"),
    ({"q": [{"document": "a", "start_pos": 0, "begin": 1, "end": 5}]}, "one start in each span, but their fields"),
    ({"q": [SPAN | {"start": "0"}]}, "column 'start' of `gold` must hold numbers"),
    ({"q": [SPAN | {"start": 0.5}]}, r"is from 0\.5 to 5"), ({"q": [SPAN | {"end": 0}]}, "is from 0 to 0"),
    ({"q": [SPAN | {"start": [0]}]}, "column 'start' of `gold` must hold numbers"),
    ({"q": [[SPAN]]}, "`gold` must be {query: "),
    ([ROW | {"others": [{"id": 1}]}], "one list of dicts in each row, .*, with lists in 'spans', 'others'"),
    ([ROW | {"doc_id": "a", "docno_id": "b", "corpus_id": "c"}], "at most one document"),
    ([{"text": "q", "spans": [SPAN]}], "must have one query"),
    ([{"query": "q", "spans": "[{bad"}], "must have one column of start"),
    ([{"query": "q", "spans": [5]}], "must have one column of start"), ([5], r"must be {query: "),
    (pd.DataFrame({"query": ["q"], "x": [object()]}), "must have one column of start"),
])  # fmt: skip
