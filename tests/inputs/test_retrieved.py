"""Results of LangChain, LlamaIndex and Haystack, and golden sets of TruLens, by the attributes of their objects."""

from dataclasses import dataclass

import pytest

import fastndcg as fn


@dataclass
class LangChainDocument:
    """What `langchain_core.documents.Document` has."""

    page_content: str
    id: str | None = None


@dataclass
class TextNode:
    """What LlamaIndex's nodes have."""

    id_: str

    @property
    def node_id(self):
        return self.id_


@dataclass
class NodeWithScore:
    """What LlamaIndex's retrievers return."""

    node: TextNode
    score: float | None = None


@dataclass
class HaystackDocument:
    """What `haystack.Document` has."""

    id: str
    score: float | None = None


TRUTH = {"q1": {"d1", "d2"}, "q2": ["d3"]}
RETRIEVED = {"q1": ["d9", "d1"], "q2": ["d3"], "q3": []}
FORMS = {
    "LangChain": lambda name: LangChainDocument("…", name),
    "LangChain with distances": lambda name: (LangChainDocument("…", name), int(name[1:]) / 9),
    "LlamaIndex": lambda name: NodeWithScore(TextNode(name), 1 / int(name[1:])),
    "LlamaIndex's nodes": lambda name: TextNode(name),
    "Haystack": lambda name: HaystackDocument(name, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_results_of_retrievers(form):
    expected = fn.evaluate(TRUTH, RETRIEVED, "rr, recall@1, ndcg")
    run = {query: [FORMS[form](name) for name in names] for query, names in RETRIEVED.items()}
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        assert evaluate(TRUTH, run, "rr, recall@1, ndcg").to_dict() == expected.to_dict()
    if form == "Haystack":
        output = {query: {"documents": documents} for query, documents in run.items()}
        assert fn.evaluate(TRUTH, output, "rr, recall@1, ndcg").to_dict() == expected.to_dict()
    fused = fn.fuse({"a": run, "b": RETRIEVED}, "rrf").to_dict()
    assert list(fused["q1"]) == ["d9", "d1"]


def test_documents_without_ids_are_refused():
    run = {"q1": [LangChainDocument("a", "d1"), LangChainDocument("b")]}
    with pytest.raises(
        fn.InvalidInputError, match=r"document 1 of query 'q1', a LangChainDocument, has none. Give ids"
    ):
        fn.evaluate(TRUTH, run, "rr")
    with pytest.raises(fn.InvalidInputError, match="must map each query to a list of documents, but 'q2' maps to 3"):
        fn.evaluate(TRUTH, {"q1": [TextNode("d1")], "q2": 3}, "rr")
    with pytest.raises(fn.InvalidInputError, match="document d1 of query q1 is in places 0 and 1 of its list"):
        fn.evaluate(TRUTH, {"q1": [TextNode("d1"), TextNode("d1")]}, "rr")


def test_golden_sets():
    """TruLens's golden set has texts with scores, 1 if left out, beside what the model should answer."""
    golden = [
        {"query": "q1", "expected_response": "",
            "expected_chunks": [{"text": "A", "expect_score": 0.5}, {"text": "B"}]},
        {"query": "q2", "expected_chunks": [{"text": "C", "expect_score": 2}]},
    ]  # fmt: skip
    run = {"q1": ["B", "x"], "q2": ["y", "C"]}
    labels = {"q1": {"A": 0.5, "B": 1}, "q2": {"C": 2}}
    for convention in ("default", "trulens"):
        found = fn.evaluate(golden, run, "ndcg, rr", convention=convention)
        assert found.to_dict() == fn.evaluate(labels, run, "ndcg, rr", convention=convention).to_dict()
    with pytest.raises(fn.InvalidInputError, match=r"row 1: expected_chunks must be a list of dicts with a text"):
        fn.evaluate([golden[0], {"query": "q2", "expected_chunks": ["C"]}], run, "rr")
    with pytest.raises(fn.InvalidInputError, match="row 1: each query must stand in one record"):
        fn.evaluate([golden[0], golden[0]], run, "rr")
