"""Runs of chunks: each chunk counts for its document, whatever form tells which that is."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastndcg as fn
from fastndcg.cli import main

METRICS = "ndcg@3, map, rr, recall@3, p@2"
CHUNKS = ["a#1", "a#2", "b#1", "c#1", "c#2", "c#3"]
DOCUMENT = {chunk: chunk[0] for chunk in CHUNKS}
QRELS = {"q": {"a": 2, "b": 0, "c": 1, "x": 1}}
RUN = {"q": ["a#1", "a#2", "c#3", "b#1", "c#1"]}
CHOICES = [
    ("first", "kept"),
    ("first", "closed"),
    ("best", "kept"),
    ("best", "closed"),
    ("sum", None),
    ("counted", None),
]
ROWS = st.lists(st.tuples(st.sampled_from(CHUNKS), st.integers(0, 3)), min_size=1, unique_by=lambda row: row[0])


def values(*arguments, **options):
    """Return the values of an evaluation, or the rule that it breaks."""
    try:
        return str(fn.evaluate(*arguments, METRICS, **options).values.tolist())  # in which NaN equals itself
    except fn.InvalidInputError as error:
        return str(error).split("that its")[-1].split(" under ")[0]


@pytest.mark.parametrize(("choice", "ranks"), CHOICES)
@pytest.mark.parametrize("ties", ["average", "best", "worst", "input", "input_reversed"])
@settings(max_examples=25, deadline=None)
@given(rows=ROWS)
def test_a_run_of_chunks_is_one_of_documents_that_come_again(choice, ranks, ties, rows):
    """What `test_duplicates` proves by brute force holds for chunks, too, with exact means over ties or a refusal."""
    options = {"duplicates": choice, "ranks": ranks, "convention": f"default(ties={ties})"}
    expected = values(QRELS, [("q", DOCUMENT[chunk], score) for chunk, score in rows], **options)
    assert values(QRELS, [("q", *row) for row in rows], parents=DOCUMENT, **options) == expected


@pytest.mark.parametrize("ranks", ["kept", "closed"])
@pytest.mark.parametrize("ties", ["id_ascending", "id_descending"])
@settings(max_examples=25, deadline=None)
@given(rows=ROWS)
def test_ids_of_chunks_order_ties(ranks, ties, rows):
    """As in trec_eval on the run of chunks: the documents have the places of their first chunks."""
    ordered = sorted(rows, reverse=ties == "id_descending")
    ordered.sort(key=lambda row: -row[1])
    listed = {"q": [DOCUMENT[chunk] for chunk, _ in ordered]}
    options = {"duplicates": "first", "ranks": ranks}
    run = [("q", *row) for row in rows]
    found = values(QRELS, run, parents=DOCUMENT, convention=f"default(ties={ties})", **options)
    assert found == values(QRELS, listed, **options)


@settings(max_examples=50)
@given(
    rows=ROWS,
    labels=st.dictionaries(st.sampled_from([*CHUNKS, "a", "b", "c", "x", "y#4"]), st.integers(-1, 3), min_size=1),
)
def test_a_document_has_the_highest_label_of_its_own_and_its_chunks(rows, labels):
    highest = {}
    for judged, label in labels.items():
        document = judged.split("#")[0]
        highest[document] = max(label, highest.get(document, label))
    run = [("q", *row) for row in rows]
    found = values({"q": labels}, run, parents="before #", duplicates="best")
    assert found == values({"q": highest}, run, parents="before #", duplicates="best")


FRAME = pd.DataFrame({"query": ["q"] * 5, "chunk_id": RUN["q"], "score": range(5, 0, -1), "source": list("aacbc")})
FORMS = {
    "dict": DOCUMENT,
    "Series": pd.Series(DOCUMENT),
    "frame": pd.DataFrame({"chunk_id": list(DOCUMENT), "doc_id": list(DOCUMENT.values())}),
    "dict of columns": {"doc_id": list(DOCUMENT.values()), "passage_id": list(DOCUMENT)},
    "function": lambda chunk: chunk.split("#")[0] if "#" in chunk else None,
    "rule": "before #",
    "rule of the last": "before last #",
}


@pytest.mark.parametrize("form", FORMS)
def test_forms(form):
    expected = fn.evaluate(QRELS, {"q": list("aacbc")}, METRICS, duplicates="first").values.tolist()
    result = fn.evaluate(QRELS, RUN, METRICS, parents=FORMS[form])
    assert result.values.tolist() == expected
    assert "@k counts chunks: 5, of 3 documents" in result.notes
    assert fn.reference.evaluate(QRELS, RUN, METRICS, parents=FORMS[form])["nDCG@3"] == [expected[0][0]]
    compared = fn.compare(QRELS, {"one": RUN, "other": {"q": ["b#1", "c#1"]}}, "ndcg@3", parents=FORMS[form])
    assert compared.rows[0].mean == expected[0][0]
    assert "a" in str(fn.explain(QRELS, RUN, "ndcg@3", query="q", parents=FORMS[form]))


def test_a_column_of_the_run():
    result = fn.evaluate(QRELS, FRAME, "recall@3", parents="source", ranks="closed")
    assert result.mean() == {"R@3": 2 / 3}
    assert "@k counts documents: 3, of 5 chunks" in result.notes
    evaluator = fn.Evaluator(QRELS, "recall@3", parents="source")
    assert evaluator.evaluate(FRAME).mean() == evaluator.evaluate(FRAME.assign(source=list("aacbc"))).mean()
    assert pickle.loads(pickle.dumps(fn.Evaluator(QRELS, "rr", parents="before #"))).evaluate(RUN).mean() == {"RR": 1.0}


def list_tables(columns):
    """Return columns as a table of each kind, which may be read twice."""
    polars, pyarrow, duckdb = (pytest.importorskip(name) for name in ("polars", "pyarrow", "duckdb"))
    frame = pd.DataFrame(columns)
    connection = duckdb.connect()
    connection.register("own", frame)
    return {
        "pandas": frame, "polars": polars.DataFrame(columns), "lazy": polars.LazyFrame(columns),
        "arrow": pyarrow.table(columns), "duckdb": connection.sql("select * from own"), "columns": columns,
        "records array": frame.to_records(index=False),
    }  # fmt: skip


def test_tables_of_every_library_name_documents():
    """In the run, where "doc_id" would be the documents without `parents`, and as a table of their own."""
    scores = [float(-place) for place in range(5)]
    documents = [DOCUMENT[chunk] for chunk in RUN["q"]]
    run = {"query": ["q"] * 5, "chunk_id": RUN["q"], "doc_id": documents, "score": scores}
    expected = fn.evaluate(QRELS, RUN, METRICS, parents=DOCUMENT).values.tolist()
    for name, table in list_tables(run).items():
        assert fn.evaluate(QRELS, table, METRICS, parents="doc_id").values.tolist() == expected, name
    mapping = {"chunk_id": list(DOCUMENT), "doc_id": list(DOCUMENT.values())}
    for name, table in list_tables(mapping).items():
        assert fn.evaluate(QRELS, RUN, METRICS, parents=table).values.tolist() == expected, name
    reader = list_tables(run)["arrow"].to_reader()
    with pytest.raises(fn.InvalidInputError, match=r"read twice .* RecordBatchReader is empty after 5 rows\. Read it"):
        fn.evaluate(QRELS, reader, "rr", parents="doc_id")


def test_documents_of_several_chunks_may_be_errors():
    with pytest.raises(fn.InvalidInputError, match=r"document a of query q is in .* evaluate with duplicates='first'"):
        fn.evaluate(QRELS, RUN, "rr", parents=DOCUMENT, duplicates="raise")
    once = fn.evaluate(QRELS, {"q": ["b#1", "a#1"]}, "rr", parents=DOCUMENT, duplicates="raise")
    assert (once.mean(), once.notes) == ({"RR": 0.5}, ("@k counts chunks: 2, of 2 documents",))


def test_whole_numbers_are_chunks_too():
    parents = {10: 1, 11: 1, 20: 2}
    result = fn.evaluate({7: {1: 1, 2: 1}}, {7: [10, 11, 20]}, "recall@2", parents=parents, ranks="closed")
    assert result.mean() == {"R@2": 1.0}
    liked = fn.Interactions(np.array([1, 2]), offsets=[0, 2])
    assert fn.evaluate(liked, np.array([[10, 11, 20]]), "recall@2", parents=parents).mean() == {"R@2": 0.5}


WRONG = {
    "no parent": ({"a#1": "a"}, "`parents` must have each chunk of the run, but lacks that of document a#2 of query q"),
    "no column": ("source", "`parents` can only be the name of a column, 'source', where `predictions` is a frame"),
    "no separator": ("before ", "`parents` must name what ends a document's id, not 'before '. Say 'before #'"),
    "number": (3, "`parents` must be a dict or Series of chunk to document, a frame with columns of both"),
    "null": (DOCUMENT | {"a#1": None}, "`parents` must give a text or a whole number as document, but that of 'a#1'"),
    "two parents": (
        pd.Series(["a", "b"], index=["a#1", "a#1"]), "`parents` must give one document to a chunk, but 'a#1' has"
    ),
    "failing function": (
        lambda chunk: chunk[9], "`parents` must return the document of each chunk, but fails for 'a#1': IndexError"
    ),
    "wrong function": (lambda _: 1.5, "`parents` must return the id of a document, a text or a whole number, or None"),
    "no names": (pd.DataFrame({"x": ["a#1"], "y": ["a"]}), "`parents` must have one column of chunks, named as one of"),
    "chunk and document": (DOCUMENT | {"b#1": "a#1"}, "`parents` must tell chunks from documents, but document a#1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parents_are_refused(case):
    parents, message = WRONG[case]
    with pytest.raises(fn.InvalidInputError) as caught:
        fn.evaluate(QRELS, RUN, "rr", parents=parents)
    assert str(caught.value).startswith(message)


def test_what_has_no_chunks_is_refused():
    """A document that a function takes for a chunk, whole numbers under a rule, arrays, and a column that is absent."""
    with pytest.raises(fn.InvalidInputError, match="or the id itself, for the id of a document, but takes 'a_1'"):
        fn.evaluate({"q": {"a_1": 1}}, {"q": ["a_1_1"]}, "rr", parents=lambda chunk: chunk.rpartition("_")[0])
    with pytest.raises(fn.InvalidInputError, match="must be a table or a function where ids are whole numbers"):
        fn.evaluate({1: {1: 1}}, {1: [1]}, "rr", parents="before #")
    with pytest.raises(fn.InvalidInputError, match="can only be used with a run of documents with ids"):
        fn.evaluate([1, 0], [2, 1], "rr", groups=[2], parents="before #")
    with pytest.raises(fn.InvalidTypeError, match="`parents` can only be the name of a column, 'source', where"):
        fn.evaluate(FRAME.assign(label=1), metrics="rr", parents="source")
    with pytest.raises(fn.InvalidInputError, match="must be a column of `predictions`, but 'doc' is none of 'query'"):
        fn.evaluate(QRELS, FRAME, "rr", parents="doc")


def test_command_line(tmp_path, capsys):
    qrels, run, table = tmp_path / "qrels.txt", tmp_path / "run.txt", tmp_path / "parents.json"
    qrels.write_text("".join(f"q 0 {document} {label}\n" for document, label in QRELS["q"].items()))
    run.write_text("".join(f"q Q0 {chunk} {n} {9 - n} t\n" for n, chunk in enumerate(RUN["q"])))
    table.write_text(json.dumps(DOCUMENT))
    for parents in ("before #", str(table)):
        command = ["evaluate", str(qrels), str(run), "-m", "recall@3", "--parents", parents]
        assert main([*command, "--ranks", "closed"]) == 0
        out = capsys.readouterr().out
        assert "0.6667" in out
        assert "@k counts documents: 3, of 5 chunks" in out
    assert main([*command, "-M", "2", "--convention", "trec_eval"]) == 0
    assert "@k counts chunks: 2, of 1 documents" in capsys.readouterr().out
    assert main([*command[:-1], str(tmp_path / "none.json")]) == 2
    assert "--parents must be a rule such as 'before #', or a JSON file" in capsys.readouterr().err
