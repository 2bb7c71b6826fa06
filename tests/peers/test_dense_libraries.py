"""BEIR, MTEB and sentence-transformers give the same numbers with and without fastndcg."""

import copy
import importlib
import json

import dense_cases
import pytest
from recorded_data import DATA

import fastndcg as fn
from fastndcg.compat import pytrec_eval

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
    assert evaluate_recorded(name) == RECORD["beir"][name]


@pytest.mark.parametrize("kind", RECORD["mteb"])
def test_dense_recorded_values_of_mteb(kind):
    names = {"HitRate": "Hit Rate"}
    for name, value in RECORD["mteb"][kind].items():
        group, k = name.split("@")
        assert evaluate_recorded(f"{names.get(group, group)}@{k}") == value


def test_recorded_capped_recall_of_mteb():
    qrels, run = dense_cases.draw_run()
    convention = "trec_eval_9(recall_denominator=min(k, n_relevant))"
    for k in dense_cases.CUTOFFS:
        recalls = fn.evaluate(qrels, run, f"recall@{k}", convention=convention).to_dict()
        expected = RECORD["r_cap"][f"R_cap_at_{k}"]
        assert [recalls[query][f"R@{k}"] for query in run] == pytest.approx(expected, rel=1e-12)


@pytest.mark.peers
def test_dense_beir_with_and_without_fastndcg():
    beir = importlib.import_module(pytest.importorskip("beir.retrieval.evaluation").__name__)
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
        importlib.reload(beir)
        assert beir.pytrec_eval is pytrec_eval
        assert evaluate() == expected
    assert importlib.reload(beir).pytrec_eval is not pytrec_eval


@pytest.mark.peers
def test_dense_mteb_with_and_without_fastndcg():
    library = pytest.importorskip("mteb._evaluators.retrieval_metrics")
    qrels, run = dense_cases.draw_run(6)
    expected = library.calculate_retrieval_scores(run, qrels, dense_cases.CUTOFFS)
    with pytrec_eval.install():
        assert importlib.reload(library).pytrec_eval is pytrec_eval
        values = library.calculate_retrieval_scores(run, qrels, dense_cases.CUTOFFS)
    for name in expected._fields:
        assert getattr(values, name) == getattr(expected, name), name
