"""Metrics of arrays: every workload, one small query, few long queries."""

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.data import RECIPES, make_workload, prepare_evaluation, prepare_reading
from benchmarks.proof import equals, verify_values


@pytest.mark.parametrize("name", RECIPES)
def test_workload(race, name):
    """Time a workload, in multiples of reading its arrays once."""
    workload = make_workload(name, race.scale)
    race.info["documents"] = workload.n_documents
    race(
        prepare_evaluation(workload),
        lambda values: verify_values(workload, values),
        floors={"reading the arrays": prepare_reading(workload)},
    )


@pytest.mark.parametrize("how", ["ndcg", "Evaluator", "Evaluator, out="])
@pytest.mark.parametrize("documents", [100, 1000])
def test_one_query(race, how, documents):
    """Time one query of binary labels against nDCG in one expression of NumPy."""
    rng = np.random.default_rng(100)
    labels = (rng.random(documents) < 0.05).astype("u1")
    scores = rng.random(documents, dtype="f4")
    offsets = np.array([0, documents])
    out = np.empty((1, 1))
    evaluator = fn.Evaluator(labels, "ndcg@10", offsets=offsets)
    calls = {
        "ndcg": lambda: fn.ndcg(labels, scores, offsets, k=10),
        "Evaluator": lambda: evaluator.evaluate(scores).values,
        "Evaluator, out=": lambda: evaluator.evaluate(scores, out=out) is None or out,
    }
    discounts = 1 / np.log2(np.arange(2, 12))
    gains = labels.astype("f8")

    def expression():
        return gains[np.argsort(-scores)[:10]] @ discounts / (np.sort(gains)[:-11:-1] @ discounts)

    expected = fn.reference.evaluate(labels, scores, "ndcg@10", offsets=offsets).values[0, 0]
    np.testing.assert_allclose(expression(), expected, rtol=1e-12)
    race(calls[how], equals(expected, read=lambda result: np.ravel(out if "out" in how else result)[0]),
         peers={"one expression of NumPy": expression})  # fmt: skip


@pytest.mark.parametrize("also", ["f@10,recall@100", "rbp,err@10"])
@pytest.mark.parametrize("queries", [1, 300])
def test_evaluator(race, queries, also):
    """Time twelve metrics of an Evaluator: two of them sums over few ranks, or metrics that read all hits."""
    rng = np.random.default_rng(12)
    labels = np.where(rng.random((queries, 100)) < 0.05, rng.integers(1, 4, (queries, 100)), 0).astype("f8")
    scores = rng.random((queries, 100))
    metrics = f"ndcg@5,ndcg@10,ndcg@100,ndcg,map,map@10,mrr,p@10,success@10,rprec,{also}"
    evaluator = fn.Evaluator(labels, metrics)
    expected = fn.reference.evaluate(labels[:20], scores[:20], metrics).values
    race(lambda: evaluator.evaluate(scores).values, equals(expected, 1e-12, read=lambda values: values[:20]))


@pytest.mark.parametrize(("queries", "documents"), [(3, 1_000_000), (50, 100_000), (20_000, 10)])
def test_query_lengths(race, queries, documents):
    """Time few long queries and many short ones, with graded labels and scores of which many tie."""
    rng = np.random.default_rng(7)
    shape = (queries, race.size(documents, 10))
    labels = (rng.random(shape) < 0.02) * rng.integers(1, 4, shape, dtype="i1")
    scores = rng.integers(0, 4 * shape[1], shape).astype("f8")
    metrics = ["ndcg@10", "rr", "p@10"]
    convention = "default(ties=input)"
    expected = fn.reference.evaluate(labels[:2], scores[:2], metrics, convention=convention).values
    race(
        lambda: fn.evaluate(labels, scores, metrics, convention=convention).values,
        equals(expected, 1e-12, read=lambda values: values[:2]),
        floors={"sum of both arrays by NumPy": lambda: (labels.sum(), scores.sum())},
    )
