"""Evaluation inside training: rounds of LightGBM and XGBoost, epochs of torch."""

import re
from functools import partial

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.data import count_cpus, make_grid
from benchmarks.proof import verify_rankings

K = 10
DOCUMENTS = 100
TRAINING_QUERIES = 500
BATCH = 256


def make_boosting_data(n_queries):
    """Make labels from 0 to 4, over half of them 0, features that predict them in part, and sizes of queries."""
    random = np.random.default_rng(0)
    features = random.random((n_queries * DOCUMENTS, 8), dtype="f4")
    labels = features[:, :3].sum(axis=1) * 2 - 3 + random.normal(size=len(features))
    return features, np.clip(labels.round(), 0, 4).astype("f4"), np.full(n_queries, DOCUMENTS)


def prepare_lightgbm(features, labels, sizes, convention):
    """Return a round of three boosters, the evaluations by its own metric, ours and a constant, and the scores."""
    lgb = pytest.importorskip("lightgbm")
    from fastndcg.integrations.lightgbm import metric

    feval = metric(f"ndcg@{K}", convention=convention, threads=count_cpus())
    n_training = min(TRAINING_QUERIES, len(sizes))
    rows = slice(n_training * DOCUMENTS)
    train = lgb.Dataset(features[rows], labels[rows], group=sizes[:n_training])
    options = {"objective": "lambdarank", "num_threads": count_cpus(), "verbosity": -1, "eval_at": [K]}
    boosters = []
    for name in ("ndcg", "None", "None"):
        booster = lgb.Booster(options | {"metric": name}, train)
        boosters.append(booster.add_valid(lgb.Dataset(features, labels, group=sizes, reference=train), "valid"))
    return (
        lambda: [booster.update() for booster in boosters],
        lambda: boosters[0].eval_valid()[0][2],
        lambda: boosters[1].eval_valid(feval)[0][2],
        lambda: boosters[2].eval_valid(lambda scores, data: ("constant", 0.0, True)),
        lambda: boosters[1].predict(features),
    )


def prepare_xgboost(features, labels, sizes, convention):
    """Return the same of XGBoost."""
    xgb = pytest.importorskip("xgboost")
    from fastndcg.integrations.xgboost import metric

    custom = metric(f"ndcg@{K}", convention=convention, threads=count_cpus())
    n_training = min(TRAINING_QUERIES, len(sizes))
    rows = slice(n_training * DOCUMENTS)
    train = xgb.DMatrix(features[rows], labels[rows], group=sizes[:n_training])
    options = {"objective": "rank:ndcg", "nthread": count_cpus(), "verbosity": 0}
    boosters = []
    for choice in ({"eval_metric": f"ndcg@{K}"}, *2 * [{"disable_default_eval_metric": 1}]):
        valid = xgb.DMatrix(features, labels, group=sizes)
        boosters.append((xgb.Booster(options | choice, [train, valid]), [(valid, "valid")]))
    rounds = iter(range(1 << 20))

    def update():
        number = next(rounds)
        for booster, _ in boosters:
            booster.update(train, number)

    def evaluate(place, function=None):
        booster, sets = boosters[place]
        printed = booster.eval_set(sets, feval=function, output_margin=False)
        return float(re.fullmatch(r"\[0\]\tvalid-\S+:(\S+)", printed)[1])

    return (
        update, partial(evaluate, 0), partial(evaluate, 1, custom),
        partial(evaluate, 2, lambda scores, data: ("constant", 0.0)),
        lambda: boosters[1][0].predict(boosters[1][1][0][0]),
    )  # fmt: skip


LOOPS = {"LightGBM": prepare_lightgbm, "XGBoost": prepare_xgboost}


@pytest.mark.parametrize("convention", ["its own", "default"])
@pytest.mark.parametrize("name", LOOPS)
def test_boosting(race, name, convention):
    """
    Time a round and its evaluation by our metric, against the round with the library's and with a constant.

    A second evaluation by the same booster would find its scores ready. So the evaluations run after one update each,
    on boosters that train alike.
    """
    text = name.lower() if convention == "its own" else convention
    features, labels, sizes = make_boosting_data(race.size(5_000, 40))
    update, theirs, ours, constant, predict = LOOPS[name](features, labels, sizes, text)
    tolerance = 2e-6 if name == "XGBoost" else 1e-12  # XGBoost prints six digits of a custom metric
    for _ in range(5):  # few trees give few different scores
        update()

    def check(value):
        rankings = fn.Rankings(labels, predict(), np.arange(len(sizes) + 1) * DOCUMENTS)
        result = fn.evaluate(rankings, metrics=f"ndcg@{K}", convention=text)
        verify_rankings(rankings, result.values, f"ndcg@{K}", text, 20)
        for expected in (result.means()[0], theirs() if convention == "its own" else value):
            assert abs(value - expected) <= tolerance

    def after_update(evaluate):
        return lambda: (update(), evaluate())[1]

    check(ours())
    race(
        after_update(ours), lambda _: None,
        floors={"a constant": after_update(constant), "its own metric": after_update(theirs)},
    )  # fmt: skip


@pytest.mark.parametrize("form", ["indexes", "rows"])
@pytest.mark.parametrize("levels", [None, 20], ids=["no ties", "ties"])
def test_torch_epoch(race, form, levels):
    """Time all batches of an epoch, a new metric to `compute`, against torchmetrics on the same tensors."""
    torch = pytest.importorskip("torch")
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    from fastndcg.integrations.torch import RankingMetrics

    case = make_grid(race.size(4_000, BATCH), 40, levels)
    scores, labels = torch.from_numpy(case.scores), torch.from_numpy(case.labels.astype("i8"))
    queries = torch.repeat_interleave(torch.arange(len(scores)), 40).reshape(scores.shape)
    batches = list(zip(scores.split(BATCH), labels.split(BATCH), queries.split(BATCH), strict=True))

    def run_epoch(metric, by_rows):
        for preds, target, indexes in batches:
            metric.update(preds, target, *(() if by_rows else (indexes,)))
        return float(metric.compute())

    def run_theirs():
        return run_epoch(retrieval.RetrievalNormalizedDCG(top_k=K), False)

    race(
        lambda: run_epoch(RankingMetrics(f"ndcg@{K}", "torchmetrics"), form == "rows"),
        lambda value: np.testing.assert_allclose(value, run_theirs(), atol=2e-6),
        peers={"torchmetrics": run_theirs},
    )
