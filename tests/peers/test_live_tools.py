"""Objects of LlamaIndex, LangChain and LangSmith, and frames of Modin and Ibis, are read as what they hold."""

import os
import uuid

import numpy as np
import pytest
from refusals import refused

import fastndcg as fn

pytestmark = pytest.mark.peers

RELEVANT = {"q1": ["d1"], "q2": ["d2", "d3"]}
FOUND = {"q1": ["d2", "d1"], "q2": ["d3"]}
METRICS = "rr, recall, ndcg"
EXPECTED = fn.evaluate(RELEVANT, FOUND, METRICS).to_dict()


def test_llama_index_objects():
    schema = pytest.importorskip("llama_index.core.schema")
    answers = pytest.importorskip("llama_index.core.base.response.schema")
    evaluation = pytest.importorskip("llama_index.core.evaluation")
    nodes = {
        query: [schema.NodeWithScore(node=schema.TextNode(id_=name, text=name), score=0.5) for name in names]
        for query, names in FOUND.items()
    }
    responses = {query: answers.Response("…", source_nodes=own) for query, own in nodes.items()}
    for run in (nodes, responses):
        assert fn.evaluate(RELEVANT, run, METRICS).to_dict() == EXPECTED
    results = [
        evaluation.RetrievalEvalResult(
            query=query, expected_ids=RELEVANT[query], retrieved_ids=names, retrieved_texts=names, metric_dict={}
        )
        for query, names in FOUND.items()
    ]
    assert fn.evaluate(results, metrics=METRICS).to_dict() == EXPECTED


def test_llama_index_data_sets(tmp_path):
    library = pytest.importorskip("llama_index.core.llama_dataset.legacy.embedding")
    data_set = library.EmbeddingQAFinetuneDataset(
        queries=dict.fromkeys(RELEVANT, "?"), corpus={}, relevant_docs=RELEVANT
    )
    data_set.save_json(str(tmp_path / "dataset.json"))
    for truth in (data_set, tmp_path / "dataset.json"):
        assert fn.evaluate(truth, FOUND, METRICS).to_dict() == EXPECTED


def test_langchain_documents():
    library = pytest.importorskip("langchain_core.documents")
    for make in (
        lambda name: library.Document("…", id=name),
        lambda name: library.Document("…", metadata={"id": name}),
    ):
        truth, run = ({query: list(map(make, names)) for query, names in one.items()} for one in (RELEVANT, FOUND))
        answers = {query: {"input": query, "context": documents, "answer": "…"} for query, documents in run.items()}
        for found in (run, answers):
            assert fn.evaluate(truth, found, METRICS).to_dict() == EXPECTED
    refused("a Document, has none", fn.Run, {"q1": [library.Document("…")]})


def test_langsmith_examples():
    schemas = pytest.importorskip("langsmith.schemas")
    examples = [
        schemas.Example(
            id=uuid.uuid4(), dataset_id=uuid.uuid4(), inputs={"question": query},
            outputs={"answer": "…", "relevant_ids": names},
        )
        for query, names in RELEVANT.items()
    ]  # fmt: skip
    assert fn.evaluate(examples, FOUND, METRICS).to_dict() == EXPECTED


ROWS = np.arange(60)
COLUMNS = {
    "query": [f"q{row // 6}" for row in ROWS], "document": [f"d{row}" for row in ROWS], "label": ROWS % 3,
    "score": ROWS * 7 % 11 / 2,
}  # fmt: skip


def check(frame):
    """Compare one frame, and two that are joined, with the values of a dict of columns."""
    expected = fn.evaluate(COLUMNS, metrics="ndcg@3,rr").to_dict()
    assert fn.evaluate(frame, metrics="ndcg@3,rr").to_dict() == expected
    sides = frame[["query", "document", "label"]], frame[["query", "document", "score"]]
    assert fn.evaluate(*sides, "ndcg@3,rr").to_dict() == expected
    with pytest.raises(fn.InvalidInputError, match="must have one column 'clicks', but has 0"):
        fn.evaluate(fn.Rows(frame, columns={"label": "clicks"}), metrics="rr")


def test_modin(monkeypatch):
    pytest.importorskip("narwhals")
    if "MODIN_ENGINE" not in os.environ:
        monkeypatch.setenv("MODIN_ENGINE", "python")  # in this process, without workers
    frame = pytest.importorskip("modin.pandas").DataFrame(COLUMNS)
    check(frame)
    frame.loc[0, "score"] = np.nan
    refused("`scores` must not be NaN", fn.evaluate, frame, metrics="rr")


def test_ibis():
    ibis = pytest.importorskip("ibis")
    check(ibis.memtable(COLUMNS).mutate(other=ibis._.label + 1))
