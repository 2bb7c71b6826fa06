"""Every library of the registry (tests/helpers/peer_libraries.py), and every drop-in against what it replaces."""

import importlib
import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import peer_libraries
import pytest

import fastndcg as fn
from benchmarks.data import Grid, count_cpus, make_grid, make_rows
from benchmarks.proof import equals, verify_rankings

K = 10
QUERIES = 10_000
DOCUMENTS = 100
LIBRARIES = [name for name, entry in peer_libraries.PEERS.items() if entry.ndcg is not None]
BY_ID = ["pytrec_eval-terrier", "ranx", "ir_measures"]


def prepare_library(name: str, case: Any) -> tuple[Any, Any]:
    """Return a library's call of nDCG@10, and what reads its values."""
    entry = peer_libraries.PEERS[name]
    for module in entry.modules:
        pytest.importorskip(module)
    threads = {"threads": count_cpus()} if "threads" in inspect.signature(entry.prepare).parameters else {}
    metric = entry.ndcg
    if isinstance(metric, tuple) and isinstance(metric[0], str):
        metric = (metric[0].format(k=K), *metric[1:])
    return entry.prepare(case, metric, K, **threads), lambda result: entry.read(result, case)


def make_rankings(entry: peer_libraries.Peer, case: Grid) -> fn.Rankings:
    """Return the labels that a library sees, graded or binary, with the places of documents as their ids."""
    labels = (case.labels > 0).astype("u1") if entry.is_binary else case.labels
    offsets = np.arange(len(labels) + 1) * labels.shape[1]
    places = np.tile(np.arange(labels.shape[1]), len(labels))
    return fn.Rankings(labels.ravel(), case.scores.ravel(), offsets, tie_keys=places)


def measure_difference(name: str, case: Grid) -> float:
    """Return the largest difference of a library's values, or their mean, from ours under its convention."""
    entry = peer_libraries.PEERS[name]
    call, read = prepare_library(name, case)
    ours = fn.evaluate(make_rankings(entry, case), metrics=f"ndcg@{K}", convention=entry.convention)
    theirs = np.asarray(read(call()))
    if theirs.ndim == 0:
        return abs(float(theirs) - float(ours.means()[0]))
    return float(np.abs(np.nan_to_num(theirs, nan=-1.0) - np.nan_to_num(ours.values[:, 0], nan=-1.0)).max())


@pytest.mark.parametrize("name", LIBRARIES)
def test_library(race, name):
    """Time nDCG@10 of arrays without ties against a library whose input is prepared, under its convention."""
    entry = peer_libraries.PEERS[name]
    case = make_grid(race.size(QUERIES, 20), DOCUMENTS)
    theirs, _ = prepare_library(name, case)
    rankings = make_rankings(entry, case)
    labels = rankings.labels.reshape(case.labels.shape)
    by_id = name in BY_ID or "id_" in entry.convention
    ours = (
        (lambda: fn.evaluate(rankings, metrics=f"ndcg@{K}", convention=entry.convention).values)
        if by_id
        else (lambda: fn.ndcg(labels, case.scores, k=K, convention=entry.convention)[:, None])
    )
    assert measure_difference(name, case) <= entry.tolerance
    race.info |= {
        "package": entry.package, "binary": entry.is_binary, "ranked_before": entry.takes_ranked_lists,
        "queries": len(labels), "documents": DOCUMENTS, "tolerance": entry.tolerance,
        "difference_on_ties": measure_difference(name, make_grid(200, DOCUMENTS, levels=20)),
    }  # fmt: skip
    race(ours, lambda values: verify_rankings(rankings, values, f"ndcg@{K}", entry.convention), peers={name: theirs})


class Named(NamedTuple):
    """Judgments and a run in dicts, as libraries of the registry take them."""

    qrels: dict[str, dict[str, int]]
    run: dict[str, dict[str, float]]
    labels: list[int]


@pytest.mark.parametrize("name", BY_ID)
def test_dicts(race, name):
    """Time dicts of text ids in no order, with ties and unjudged documents: conversion and evaluation of both."""
    qrels, run = make_rows(race.size(1_000, 20), DOCUMENTS, is_text=True, is_shuffled=True, levels=50).make_dicts()
    run = {query: run[query] for query in qrels}
    case = Named(qrels, run, [0] * len(run))
    entry = peer_libraries.PEERS[name]
    call, _ = prepare_library(name, case)
    assert call() is not None
    expected = fn.reference.evaluate(qrels, run, f"ndcg@{K}", convention=entry.convention).means()
    if name == "pytrec_eval-terrier":
        theirs = np.mean([value[f"ndcg_cut_{K}"] for value in call().values()])
        np.testing.assert_allclose(theirs, expected[0], rtol=1e-9)
    race(
        lambda: fn.evaluate(qrels, run, f"ndcg@{K}", convention=entry.convention).means(),
        equals(expected),
        peers={name: lambda: prepare_library(name, case)[0]()},
    )


def prepare_sklearn(ours, theirs, case, name, **options):
    """Return a function of scikit-learn and its drop-in, on labels and scores of two dimensions."""
    labels = (case.labels > 0).astype("u1") if name.startswith("label_ranking") else case.labels
    if name == "top_k_accuracy_score":
        labels = np.arange(len(labels)) % labels.shape[1]
        options = {"k": K, "labels": np.arange(case.labels.shape[1])}
    return [partial(getattr(module, name), labels, case.scores, **options) for module in (ours, theirs.metrics)]


def prepare_pytrec_eval(ours, theirs, case, measures):
    """Return pytrec_eval's evaluators with prepared judgments, on a run in dicts."""
    return [partial(module.RelevanceEvaluator(case.qrels, measures).evaluate, case.run) for module in (ours, theirs)]


def prepare_ranx(ours, theirs, case, form):
    """Return ranx's evaluate, on its own objects or on dicts, so that each call converts them."""
    qrels, run = case.qrels, case.run
    inputs = [(qrels, run) if form == "dicts" else (module.Qrels(qrels), module.Run(run)) for module in (ours, theirs)]
    return [partial(module.evaluate, *own, f"ndcg@{K}") for module, own in zip((ours, theirs), inputs, strict=True)]


def prepare_ir_measures(ours, theirs, case, form):
    """Return aggregates of ir_measures, with judgments and run in one of its forms."""
    import pandas as pd

    def convert(rows, kind):
        tuples = [kind(query, document, value) for query, row in rows.items() for document, value in row.items()]
        frame = pd.DataFrame([row[:3] for row in tuples], columns=list(kind._fields[:3]))
        return {"dicts": rows, "named tuples": tuples, "frames": frame}[form]

    qrels, run = convert(case.qrels, theirs.Qrel), convert(case.run, theirs.ScoredDoc)
    providers = (ours.Provider(), theirs.pytrec_eval)
    return [partial(provider.evaluator([theirs.nDCG @ K], qrels).calc_aggregate, run) for provider in providers]


def prepare_torchmetrics(ours, theirs, case, form):
    """Return torchmetrics on flat tensors with indexes, or one call a query."""
    import torch

    function, peer = ours.retrieval_normalized_dcg, theirs.functional.retrieval.retrieval_normalized_dcg
    scores, labels = torch.from_numpy(case.scores), torch.from_numpy(case.labels.astype("i8"))
    if form == "one call a query":
        pairs = list(zip(scores, labels, strict=True))
        return [partial(lambda call: [float(call(own, truth, K)) for own, truth in pairs], f) for f in (function, peer)]
    flat, queries = (scores.ravel(), labels.ravel()), torch.repeat_interleave(torch.tensor(case.sizes))
    metric = theirs.retrieval.RetrievalNormalizedDCG
    return [
        lambda: float(function(*flat, K, indexes=queries).double().mean()),
        lambda: float(metric(top_k=K)(*flat, indexes=queries)),
    ]


SEVEN = {"map", "ndcg", "ndcg_cut.5,10", "recip_rank", "P_10", "recall_100"}
RANKING_PRECISION = "label_ranking_average_precision_score"
DROP_INS = {
    "sklearn, ndcg_score": partial(prepare_sklearn, name="ndcg_score", k=K),
    "sklearn, ndcg_score without ties": partial(prepare_sklearn, name="ndcg_score", k=K, ignore_ties=True),
    "sklearn, dcg_score": partial(prepare_sklearn, name="dcg_score", k=K),
    f"sklearn, {RANKING_PRECISION}": partial(prepare_sklearn, name=RANKING_PRECISION),
    "sklearn, top_k_accuracy_score": partial(prepare_sklearn, name="top_k_accuracy_score"),
    "pytrec_eval, one measure": partial(prepare_pytrec_eval, measures={f"ndcg_cut_{K}"}),
    "pytrec_eval, ties": partial(prepare_pytrec_eval, measures={f"ndcg_cut_{K}"}),
    "pytrec_eval, seven measures": partial(prepare_pytrec_eval, measures=SEVEN),
    "ranx, Qrels and Run": partial(prepare_ranx, form="objects"),
    "ranx, dicts": partial(prepare_ranx, form="dicts"),
    **{f"ir_measures, {form}": partial(prepare_ir_measures, form=form) for form in ("dicts", "named tuples", "frames")},
    **{f"torchmetrics, {form}": partial(prepare_torchmetrics, form=form) for form in ("indexes", "one call a query")},
}
EXACT_ON_TIES = {"sklearn, ndcg_score", "sklearn, dcg_score", "pytrec_eval, ties", "torchmetrics, indexes"}


@pytest.mark.parametrize("name", DROP_INS)
def test_drop_in(race, name):
    """Time a drop-in against what it replaces, in the form that the library takes."""
    library = name.partition(",")[0]
    theirs = pytest.importorskip(library)
    if library in ("sklearn", "torchmetrics"):
        pytest.importorskip({"sklearn": "sklearn.metrics", "torchmetrics": "torchmetrics.retrieval"}[library])
    prepare = partial(DROP_INS[name], importlib.import_module(f"fastndcg.compat.{library}"), theirs)
    tolerance = 2e-6 if library == "torchmetrics" else 1e-9
    if name in EXACT_ON_TIES:
        ours, peer = prepare(make_grid(race.size(200, 20), DOCUMENTS, levels=20))
        equals(flatten(peer()), tolerance, read=flatten)(ours())
    ours, peer = prepare(make_grid(race.size(2_000, 20), DOCUMENTS, levels=20 if name.endswith(", ties") else None))
    race(ours, equals(flatten(peer()), tolerance, read=flatten), peers={library: peer})


def flatten(values: Any) -> Any:
    """Return all numbers of a result as one array, in the order of the keys of its dicts."""
    if isinstance(values, Mapping):
        return np.concatenate([flatten(values[key]) for key in sorted(values, key=str)])
    return np.ravel(values).astype("f8")
