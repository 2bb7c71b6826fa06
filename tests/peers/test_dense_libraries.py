"""BEIR, MTEB and sentence-transformers give the same numbers with and without fastndcg."""

import copy
import importlib
import json

import dense_cases
import numpy as np
import peer_libraries
import pytest
from recorded_data import DATA

from fastndcg.compat import pytrec_eval
from fastndcg.integrations.top_documents import Cutoffs, TopDocuments, evaluate_hits

RECORD = json.loads((DATA / "peers" / "dense_libraries.json").read_text(encoding="utf-8"))
NAMES = {"NDCG": "ndcg_cut", "MAP": "map_cut", "Recall": "recall", "P": "P", "Hit Rate": "success"}


def evaluate_recorded(name):
    """Return the mean of a measure such as "NDCG@10" as BEIR and MTEB round it."""
    kind, k = name.split("@")
    qrels, run = dense_cases.draw_run()
    values = pytrec_eval.RelevanceEvaluator(qrels, {f"{NAMES[kind]}.{k}"}).evaluate(run).values()
    return round(sum(value[f"{NAMES[kind]}_{k}"] for value in values) / len(values), 5)


@pytest.mark.parametrize("name", RECORD["beir"])
def test_dense_recorded_values_of_beir(name):
    """The drop-in gives the values that BEIR gave with pytrec_eval."""
    assert evaluate_recorded(name) == RECORD["beir"][name]


@pytest.mark.parametrize("kind", RECORD["mteb"])
def test_dense_recorded_values_of_mteb(kind):
    """The drop-in gives the values that MTEB gave with pytrec_eval."""
    names = {"HitRate": "Hit Rate"}
    for name, value in RECORD["mteb"][kind].items():
        group, k = name.split("@")
        assert evaluate_recorded(f"{names.get(group, group)}@{k}") == value


@pytest.mark.parametrize("chunk_size", [1, 40, 1000])
def test_dense_recorded_values_of_sentence_transformers(chunk_size):
    """A search chunk by chunk gives the values that sentence-transformers gave, whatever the size of chunks."""
    queries, corpus, relevant = dense_cases.draw_texts()
    options = dense_cases.OPTIONS
    model = dense_cases.StandInModel()
    names = sorted(corpus)
    query_ids = [query for query in queries if relevant.get(query)]
    embeddings = model.encode([queries[query] for query in query_ids])
    cutoffs = Cutoffs(*(options[f"{name}_at_k"] for name in ("accuracy", "precision_recall", "mrr", "ndcg", "map")))
    found = TopDocuments(len(query_ids), cutoffs.deepest)
    for first in range(0, len(corpus), chunk_size):
        texts = dict(list(corpus.items())[first : first + chunk_size])
        numbers = np.tile([names.index(name) for name in texts], (len(query_ids), 1))
        found.add(model.similarity(embeddings, model.encode(list(texts.values()))), numbers)
    is_relevant = np.array(
        [
            [names[number] in relevant[query] for number in row]
            for row, query in zip(found.documents.tolist(), query_ids, strict=True)
        ]
    )
    offsets = np.arange(len(query_ids) + 1) * is_relevant.shape[1]
    n_relevant = np.array([len(relevant[query]) for query in query_ids])
    values = evaluate_hits(is_relevant.ravel(), offsets, n_relevant, cutoffs)
    named = {
        f"case_cosine_{name.replace('@k', f'@{k}')}": value for name, row in values.items() for k, value in row.items()
    }

    assert named == pytest.approx(RECORD["sentence_transformers"], rel=1e-12)


@pytest.mark.peers
def test_dense_beir_with_and_without_fastndcg():
    """One line makes BEIR compute by fastndcg, with equal values."""
    beir = importlib.import_module(peer_libraries.library("beir.retrieval.evaluation", "dense").__name__)
    qrels, run = dense_cases.draw_run(5)
    run["q1"]["q1"] = 9.0  # BEIR takes a document with the query's id out

    def evaluate():
        evaluator = beir.EvaluateRetrieval
        values = [evaluator.evaluate(qrels, copy.deepcopy(run), dense_cases.CUTOFFS)]
        values += [evaluator.evaluate(qrels, copy.deepcopy(run), dense_cases.CUTOFFS, ignore_identical_ids=False)]
        names = ["mrr", "r_cap", "hole", "acc"]
        return values + [evaluator.evaluate_custom(qrels, run, dense_cases.CUTOFFS, name) for name in names]

    expected = evaluate()
    with pytrec_eval.install():
        assert beir.pytrec_eval.RelevanceEvaluator is pytrec_eval.RelevanceEvaluator
        assert evaluate() == expected
    assert beir.pytrec_eval.RelevanceEvaluator is not pytrec_eval.RelevanceEvaluator


@pytest.mark.peers
def test_dense_mteb_with_and_without_fastndcg():
    """One line makes MTEB's retrieval evaluator compute by fastndcg, with equal values."""
    mteb = peer_libraries.library("mteb._evaluators.retrieval_metrics", "dense")
    qrels, run = dense_cases.draw_run(6)
    expected = mteb.calculate_retrieval_scores(run, qrels, dense_cases.CUTOFFS)
    with pytrec_eval.install():
        assert mteb.pytrec_eval.RelevanceEvaluator is pytrec_eval.RelevanceEvaluator
        values = mteb.calculate_retrieval_scores(run, qrels, dense_cases.CUTOFFS)
    for name in expected._fields:
        assert getattr(values, name) == getattr(expected, name), name
