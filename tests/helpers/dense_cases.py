"""Seeded cases for libraries of dense retrieval: judgments, runs, and models without weights."""

import random

import numpy as np

CUTOFFS = [1, 3, 10, 100]
OPTIONS = {  # of an InformationRetrievalEvaluator
    "corpus_chunk_size": 40, "mrr_at_k": [1, 10], "ndcg_at_k": [1, 10, 200], "accuracy_at_k": [1, 3],
    "precision_recall_at_k": [2, 300], "map_at_k": [5, 100], "name": "case",
}  # fmt: skip


def draw_run(seed=1, n_queries=30, n_documents=200):
    """Return judgments and a run as dicts, with ties, unjudged documents and queries without relevant documents."""
    drawn = random.Random(seed)
    documents = [f"d{number}" for number in range(n_documents)]
    queries = [f"q{number}" for number in range(n_queries)]
    qrels = {
        query: {document: drawn.choice([0, 1, 1, 2]) for document in drawn.sample(documents, 12)} for query in queries
    }
    run = {
        query: {
            document: round(drawn.random() + qrels[query].get(document, 0) / 2, 2)
            for document in sorted({*drawn.sample(documents, 80), *list(qrels[query])[:8]})
        }
        for query in queries
    }
    run["q0"] = dict.fromkeys(run["q0"], 0.5)
    return qrels, run


class StandInModel:
    """
    A model that embeds a text as its numbers, such as "1 0 2".

    It has the attributes of a SentenceTransformer that evaluators read. `convert` makes tensors of arrays.
    """

    similarity_fn_name = "cosine"

    def __init__(self, convert=np.asarray):
        self.convert = convert
        self.model_card_data = self
        self.stored = []
        self.n_encoded = 0

    def encode(self, texts, **options):
        self.n_encoded += len(texts)
        return self.convert(np.array([text.split() for text in texts], "f4"))

    encode_query = encode_document = encode

    def similarity(self, first, second):
        rows = [np.atleast_2d(np.asarray(rows)) for rows in (first, second)]
        units = [row / np.linalg.norm(row, axis=1, keepdims=True) for row in rows]
        return self.convert(np.round(units[0] @ units[1].T, 2))

    def set_evaluation_metrics(self, evaluator, metrics, epoch, step):
        self.stored.append((evaluator, metrics, epoch, step))


def draw_texts(seed=2, n_queries=20, n_documents=150):
    drawn = random.Random(seed)
    queries = {f"q{number}": write_numbers(drawn, 4) for number in range(n_queries)}
    corpus = {f"d{number}": write_numbers(drawn, 4) for number in range(n_documents)}
    names = [*corpus, "absent"]
    relevant = {query: set(drawn.sample(names, drawn.randrange(1, 9))) for query in queries}
    relevant["q1"] = set()
    del relevant["q2"]
    return queries, corpus, relevant


def draw_samples(seed=3, n_samples=15):
    """Return samples for reranking, with equal documents and with samples that lack negative ones."""
    drawn = random.Random(seed)
    return [
        {
            "query": write_numbers(drawn, 2),
            "positive": [write_numbers(drawn, 2) for _ in range(drawn.randrange(1, 4))],
            "negative": [write_numbers(drawn, 2) for _ in range(drawn.randrange(0, 6))],
        }
        for _ in range(n_samples)
    ]


def write_numbers(drawn, n):
    return " ".join(str(drawn.randrange(1, 5)) for _ in range(n))
