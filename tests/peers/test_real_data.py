"""Metrics of recorded data equal the values of LightGBM, XGBoost, CatBoost and three search libraries."""

import gzip
import warnings
from functools import cache
from typing import NamedTuple

import numpy as np
import peer_libraries
import pytest
from recorded_data import DATA, DRAWN_RUNS, drawn_run

import fastndcg as fn

pytestmark = pytest.mark.peers

ROUNDS = 12
CUTOFFS = (1, 3, 5, 10)


class Part(NamedTuple):
    """Features, labels from 0 to 4, and the number of documents of each query."""

    features: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray


@cache
def part(name):
    """Return a part of LightGBM's example of learning to rank, `rank.train` or `rank.test`."""
    datasets = peer_libraries.library("sklearn.datasets")
    folder = DATA / "ranking_example"
    features, labels = datasets.load_svmlight_file(str(folder / f"{name}.gz"), n_features=301)
    return Part(features.toarray(), labels, np.loadtxt(folder / f"{name}.query", dtype=int))


def means(scores, metrics, convention):
    test = part("rank.test")
    result = fn.evaluate(test.labels, scores, metrics, groups=test.sizes, convention=convention)
    return result.means()


def test_lightgbm_prints_while_it_learns():
    module = peer_libraries.library("lightgbm")
    train, test = part("rank.train"), part("rank.test")
    data = module.Dataset(train.features, train.labels, group=train.sizes)
    parameters = {"objective": "lambdarank", "metric": ["ndcg", "map"], "eval_at": CUTOFFS, "verbosity": -1, "seed": 1}
    printed = {}
    booster = module.train(
        parameters | {"num_leaves": 4, "num_threads": 1},
        data,
        ROUNDS,
        valid_sets=[data.create_valid(test.features, test.labels, group=test.sizes)],
        callbacks=[module.record_evaluation(printed)],
    )
    n_tied = 0
    for i in range(ROUNDS):
        scores = booster.predict(test.features, num_iteration=i + 1, raw_score=True)
        n_tied += len(np.unique(scores)) < len(scores)
        for name, ours in (("ndcg", "nDCG"), ("map", "AP")):
            theirs = [printed["valid_0"][f"{name}@{k}"][i] for k in CUTOFFS]
            assert means(scores, [f"{ours}@{k}" for k in CUTOFFS], "lightgbm") == pytest.approx(theirs, rel=1e-9)
    assert n_tied > 0


@pytest.mark.parametrize(("exponential", "convention"), [(True, "xgboost"), (False, "xgboost(gain=linear)")])
def test_xgboost_prints_while_it_learns(exponential, convention):
    module = peer_libraries.library("xgboost")
    train, test = part("rank.train"), part("rank.test")
    learned = module.DMatrix(train.features, train.labels, group=train.sizes)
    held_out = module.DMatrix(test.features, test.labels, group=test.sizes)
    names = ["ndcg", *(f"ndcg@{k}" for k in CUTOFFS), "ndcg@5-"]
    parameters = {"objective": "rank:ndcg", "eval_metric": names, "max_depth": 2, "seed": 1, "nthread": 1}
    printed = {}
    booster = module.train(
        parameters | {"ndcg_exp_gain": exponential, "verbosity": 0},
        learned,
        ROUNDS,
        evals=[(held_out, "test")],
        evals_result=printed,
        verbose_eval=False,
    )
    for i in range(ROUNDS):
        scores = booster.predict(held_out, output_margin=True, iteration_range=(0, i + 1))
        theirs = [printed["test"][name][i] for name in names[:-1]]
        ours = means(scores, ["nDCG", *(f"nDCG@{k}" for k in CUTOFFS)], convention)
        assert ours == pytest.approx(theirs, rel=1e-6)
        minus = means(scores, "nDCG@5", convention.replace("xgboost", "xgboost_minus"))
        assert minus == pytest.approx([printed["test"]["ndcg@5-"][i]], rel=1e-6)


def test_catboost_prints_while_it_learns(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # eval_metrics writes files, even if allow_writing_files is False
    module = peer_libraries.library("catboost")
    train, test = part("rank.train"), part("rank.test")
    pools = [
        module.Pool(one.features, one.labels, group_id=np.repeat(np.arange(len(one.sizes)), one.sizes))
        for one in (train, test)
    ]
    names = {
        "NDCG:top=5": ("nDCG@5", "catboost"),
        "NDCG:top=10;type=Exp": ("nDCG@10", "catboost(gain=exp2)"),
        "NDCG:top=10;denominator=Position": ("nDCG@10", "catboost(discount=1/r)"),
        "MAP:top=5": ("AP@5", "catboost"),
        "MRR:top=5": ("RR@5", "catboost"),
        "PrecisionAt:top=5": ("P@5", "catboost"),
        "RecallAt:top=5": ("R@5", "catboost"),
    }
    model = module.CatBoost(
        {"loss_function": "YetiRank", "iterations": ROUNDS, "depth": 2, "random_seed": 1, "thread_count": 1,
         "allow_writing_files": False, "verbose": False}
    )  # fmt: skip
    model.fit(pools[0])
    printed = model.eval_metrics(pools[1], list(names), thread_count=1)  # by longer names, in the same order
    for i in range(ROUNDS):
        scores = model.predict(pools[1], prediction_type="RawFormulaVal", ntree_end=i + 1)
        for (name, theirs), (ours, convention) in zip(printed.items(), names.values(), strict=True):
            assert means(scores, ours, convention) == pytest.approx([theirs[i]], rel=1e-6), (name, ours)


@pytest.fixture(scope="module")
def dicts():
    """Return judgments and a run as dicts, with tied and unjudged documents."""
    qrels, run = {}, {}
    for line in gzip.decompress((DRAWN_RUNS / "qrels.txt.gz").read_bytes()).decode().splitlines():
        query, _, document, label = line.split()
        qrels.setdefault(query, {})[document] = int(label)
    for line in gzip.decompress(drawn_run("impacts").read_bytes()).decode().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    return qrels, {query: documents for query, documents in run.items() if query in qrels}


def test_pytrec_eval_on_runs(dicts):
    qrels, run = dicts
    names = {
        "ndcg_cut_10": "nDCG@10", "map": "AP", "map_cut_100": "AP@100", "recip_rank": "RR", "P_10": "P@10",
        "recall_100": "R@100",
    }  # fmt: skip
    theirs = peer_libraries.library("pytrec_eval").RelevanceEvaluator(qrels, set(names)).evaluate(run)
    result = fn.evaluate(qrels, run, list(names.values()), convention="trec_eval_9")
    assert set(theirs) == set(result.query_ids)
    for name, metric in names.items():
        assert result[metric] == pytest.approx([theirs[query][name] for query in result.query_ids], rel=1e-12)


def test_ir_measures_on_runs(dicts):
    qrels, run = dicts
    module = peer_libraries.library("ir_measures")
    measures = [module.parse_measure(name) for name in ("nDCG@10", "AP(rel=2)@100", "P(rel=2)@10", "R(rel=2)@100")]
    theirs = module.calc_aggregate(measures, qrels, run)
    ours = fn.evaluate(qrels, run, [str(measure) for measure in measures], convention="trec_eval_9_c").means()
    assert ours == pytest.approx([theirs[measure] for measure in measures], rel=1e-9)


def test_ranx_on_runs(dicts):
    """Means of a run without ties equal those of ranx, whose sort is unstable."""
    qrels, run = dicts
    distinct = {
        query: {document: place for place, document in enumerate(sorted(documents, key=documents.get))}
        for query, documents in run.items()
    }
    module = peer_libraries.library("ranx")
    names = {
        "ndcg@10": "nDCG@10",
        "map@100": "AP@100",
        "mrr@10": "RR@10",
        "precision@10": "P@10",
        "recall@100": "R@100",
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = module.evaluate(module.Qrels(qrels), module.Run(distinct), list(names), make_comparable=True)
    ours = fn.evaluate(qrels, distinct, list(names.values()), convention="ranx").means()
    assert ours == pytest.approx([theirs[name] for name in names], rel=1e-9)
