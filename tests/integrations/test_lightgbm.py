"""LightGBM's loops: our metrics in them give its own digits, stop it early, and are never out of date."""

import copy
import gc
import pickle
import warnings

import boosting_data
import numpy as np
import pytest
from peer_libraries import library

import fastndcg as fn
from fastndcg.integrations import boosting as rounds
from fastndcg.integrations.lightgbm import metric, weigh_queries

pytestmark = pytest.mark.peers

ASKED = {"objective": "lambdarank", "verbosity": -1, "num_threads": 2, "num_leaves": 7, "min_data_in_leaf": 5}
OWN = ASKED | {"metric": ["ndcg", "map"], "eval_at": [1, 5, 10]}
PAIRS = {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in (("ndcg", "nDCG"), ("map", "AP")) for k in (1, 5, 10)}


def dataset(data, weight=None, **options):
    """The data as LightGBM takes them."""
    return library("lightgbm").Dataset(data.features, data.labels, group=data.groups, weight=weight, **options)


def train(params, first, others, feval, n_rounds=12, callbacks=()):
    """Train, and give the booster and what was recorded: {data set: {metric: values}}."""
    lgb = library("lightgbm")
    log = {}
    booster = lgb.train(
        params, first, n_rounds, valid_sets=list(others), valid_names=[f"v{i}" for i in range(len(others))],
        feval=feval, callbacks=[lgb.record_evaluation(log), *callbacks],
    )  # fmt: skip
    return booster, log


def both(data, weight=None):
    first, valid = dataset(data), dataset(data, weight)
    _, log = train(OWN, first, [valid], metric(list(PAIRS.values()), convention="lightgbm"))
    return {theirs: (np.array(log["v0"][theirs]), np.array(log["v0"][ours])) for theirs, ours in PAIRS.items()}


@pytest.mark.parametrize("seed", range(3))
def test_digits_are_its_own(seed):
    """ndcg@k and map@k agree to the last digits, and as they are printed, with queries that have nothing relevant."""
    for theirs, ours in both(boosting_data.random_data(seed=seed)).values():
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
        assert [f"{value:g}" for value in ours] == [f"{value:g}" for value in theirs]


def test_digits_on_its_own_example(capsys):
    lgb = library("lightgbm")
    first, valid = (dataset(boosting_data.example(part)) for part in ("train", "test"))
    feval = metric(list(PAIRS.values()), convention="lightgbm")

    _, log = train(OWN | {"verbosity": 0}, first, [first, valid], feval, 20, [lgb.log_evaluation(5)])

    for values in log.values():
        for theirs, ours in PAIRS.items():
            np.testing.assert_allclose(values[ours], values[theirs], rtol=1e-13)
    lines = [line for line in capsys.readouterr().out.splitlines() if "v1's nDCG@10: " in line]
    assert len(lines) == 4
    for line in lines:
        printed = dict(field.rsplit(": ", 1) for field in line.split("\t")[1:])
        for theirs, ours in PAIRS.items():
            assert printed[f"v1's {ours}"] == printed[f"v1's {theirs}"]


def test_weights_count_as_in_lightgbm():
    data = boosting_data.random_data(seed=5).without_empty()
    for theirs, ours in both(data, data.weights_of_documents).values():
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_weights_of_documents_become_those_of_queries():
    """Weights that differ within a query have their mean, in float32 and added in order, as LightGBM does."""
    data = boosting_data.random_data(seed=6).without_empty()
    weights = np.random.default_rng(6).random(len(data.labels))
    for theirs, ours in both(data, weights).values():
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)
    np.testing.assert_array_equal(weigh_queries(np.array([1, 2, 4], "f4"), np.array([2, 0, 1])), [1.5, 0, 4])


def test_its_bug_is_not_copied():
    """
    With weights, LightGBM's ndcg counts a query without relevant documents as 1, and not as its weight.

    Its map does not, and agrees.
    """
    data = boosting_data.random_data(seed=7)
    empty = np.bincount(data.query_ids, data.labels) == 0
    assert empty.any()
    found = both(data, data.weights_of_documents)

    shift = (empty.sum() - data.weights[empty].sum()) / data.weights.sum()
    for name, (theirs, ours) in found.items():
        np.testing.assert_allclose(theirs - ours, shift if name.startswith("ndcg") else 0, atol=1e-13)


def test_lightgbm_evaluates_any_metric():
    """Parameters and all, by our names, equal to what `evaluate` says of the final scores."""
    data = boosting_data.random_data(seed=8)
    metrics = ["P(rel=2)@5", "nDCG(gain=linear)@3", "mrr", "Success@2", "Rprec"]
    booster, log = train(ASKED | {"metric": "None"}, dataset(data), [dataset(data)], metric(metrics))

    expected = fn.evaluate(data.labels, booster.predict(data.features), metrics, groups=data.groups).mean()
    assert {name: values[-1] for name, values in log["v0"].items()} == pytest.approx(expected, rel=1e-13)


def test_orientation_is_that_of_the_metric():
    """A higher value is better for every metric, except the metrics that the catalogue marks otherwise."""
    found = metric("ndcg@5, unjudged@5")([1, 0, 1], [0.3, 0.2, 0.1], None, [3])
    assert [(name, higher) for name, _, higher in found] == [("nDCG@5", True), ("Unjudged@5", False)]


def test_several_sets_are_prepared_once_each(monkeypatch):
    made = []
    monkeypatch.setattr(rounds, "Evaluator", lambda *a, **k: made.append(a) or fn.Evaluator(*a, **k))
    data = boosting_data.random_data(seed=9)
    sets = [dataset(data), dataset(data.first(50)), dataset(data.first(20))]

    booster, log = train(ASKED | {"metric": "None"}, sets[0], sets, metric("ndcg@5"))

    assert len(made) == 3
    for name, n in zip(log, (len(data.groups), 50, 20), strict=True):
        some = data.first(n)
        expected = fn.ndcg(some.labels, booster.predict(some.features), np.cumsum([0, *some.groups]), k=5)
        assert log[name]["nDCG@5"][-1] == pytest.approx(np.nanmean(expected), rel=1e-13)


def test_changed_labels_are_prepared_again():
    data = boosting_data.random_data(seed=10).without_empty()
    feval, given = metric("ndcg@5", convention="lightgbm"), dataset(data).construct()
    scores = np.random.default_rng(10).random(len(data.labels))

    def check():
        labels, groups, weights = given.get_label(), given.get_group(), given.get_weight()
        result = fn.evaluate(labels, scores, "ndcg@5", groups=groups, convention="lightgbm")
        expected = result.mean(None if weights is None else weigh_queries(weights, groups))
        assert feval(scores, given) == [("nDCG@5", pytest.approx(expected["nDCG@5"], rel=1e-13), True)]
        return expected["nDCG@5"]

    seen = [check()]
    given.set_label(4 - data.labels)
    seen.append(check())
    given.get_label()[:] = data.labels[::-1]
    seen.append(check())
    given.set_group(data.groups[::-1].copy())
    seen.append(check())
    given.set_weight(data.weights_of_documents)
    seen.append(check())
    assert len(set(seen)) == len(seen)


def test_lightgbm_forgets_freed_data_sets():
    """With a data set goes what was prepared for it, so that another at its address cannot be taken for it."""
    data = boosting_data.random_data(seed=11)
    feval = metric("ndcg@5")
    for n in range(5, 15):
        some = data.first(n)
        given = dataset(some).construct()
        scores = np.arange(len(some.labels), dtype="f8")
        expected = fn.evaluate(some.labels, scores, "ndcg@5", groups=some.groups).mean()["nDCG@5"]
        assert feval(scores, given)[0][1] == pytest.approx(expected, rel=1e-13)
        del given
        gc.collect()
        assert not feval._evaluator._prepared


@pytest.mark.parametrize("metrics", ["ndcg@5,rr", "rr,ndcg@5"])
def test_early_stopping_takes_the_first_metric(metrics):
    lgb = library("lightgbm")
    data = boosting_data.random_data(seed=12)
    stop = lgb.early_stopping(4, first_metric_only=True, verbose=False)
    feval = metric(metrics)

    booster, log = train(ASKED | {"metric": "None"}, dataset(data), [dataset(data.first(30))], feval, 200, [stop])

    names = [str(fn.Metric.parse(text)) for text in metrics.split(",")]
    assert list(log["v0"]) == names
    values = log["v0"][names[0]]
    assert len(values) < 200
    assert booster.best_iteration == int(np.argmax(values)) + 1
    assert booster.best_score["v0"][names[0]] == max(values)


def test_ranker_and_train_agree():
    lgb = library("lightgbm")
    data, n_rounds = boosting_data.random_data(seed=13), 8
    sets = [data, data.first(30)]
    feval = metric("ndcg@5, map")
    _, log = train(ASKED | {"metric": "None"}, dataset(data), [dataset(one) for one in sets], feval, n_rounds)
    ranker = lgb.LGBMRanker(
        n_estimators=n_rounds, verbosity=-1, num_leaves=7, min_child_samples=5, n_jobs=2, metric="None"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other names for eval_set, which older versions do not know
        for given in (feval, copy.deepcopy(feval), pickle.loads(pickle.dumps(feval))):
            ranker.fit(
                data.features, data.labels, group=data.groups, eval_metric=given,
                eval_set=[(one.features, one.labels) for one in sets], eval_group=[one.groups for one in sets],
            )  # fmt: skip

            for theirs, ours in zip(log.values(), ranker.evals_result_.values(), strict=True):
                assert list(ours) == ["nDCG@5", "AP"]
                for name, values in ours.items():
                    np.testing.assert_allclose(values, theirs[name], rtol=1e-13)


def test_cross_validation():
    lgb = library("lightgbm")
    data = boosting_data.random_data(seed=14)
    feval = metric("ndcg@10", convention="lightgbm")

    found = lgb.cv(
        ASKED | {"metric": "ndcg", "eval_at": [10]}, dataset(data), 5, nfold=3, stratified=False, feval=feval
    )

    np.testing.assert_allclose(found["valid nDCG@10-mean"], found["valid ndcg@10-mean"], rtol=1e-13)


def test_set_without_groups_is_refused():
    data = boosting_data.random_data(seed=15)
    bare = library("lightgbm").Dataset(data.features, data.labels)

    with pytest.raises(fn.InvalidInputError, match=r"must have groups for nDCG@10, .* Pass lgb\.Dataset\(…, group=…\)"):
        train(ASKED | {"metric": "None"}, dataset(data), [bare], metric("ndcg@10"))


def test_nan_of_a_diverged_model_is_refused():
    data = boosting_data.random_data(seed=16)
    given, place = dataset(data).construct(), data.groups[0] + 2
    scores = np.arange(len(data.labels), dtype="f8")
    scores[place:] = np.nan

    with pytest.raises(
        fn.InvalidInputError,
        match=rf"nDCG@10, AP: .* but scores\[{place}\] \(query 1\) is nan\. .* The model diverged",
    ):
        metric("ndcg@10,map")(scores, given)
    assert 0 < metric("rr", convention="default(nan_scores=last)")(scores, given)[0][1] < 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1, 0, 1], [0.1, 0.2], None, [3]), r"`scores` must have the shape of `labels`, \(3,\), but has \(2,\)"),
        (([1, 0, 1], [0.1, 0.2, 0.3], None, [2, 2]), r"`groups` must add up to the number of documents, 3, but .* 4"),
        (([1, 0, 1], [[0.1, 0.2, 0.3]] * 2, None, [3]), r"`scores` must have the shape of `labels`"),
        (([1, 0, 1], [0.1, 0.2, 0.3], None, None), r"must have groups for AP"),
        (([0, 0, 0], [0.1, 0.2, 0.3], None, [3]), r"AP must have a value for some query .* \(nothing is relevant\)"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(fn.FastndcgError, match=message):
        metric("map")(*arguments)


@pytest.mark.parametrize("options", [{"convention": "lightgmb"}, {"threads": 0}])
def test_bad_options_are_refused_before_training(options):
    """Whoever makes the metric hears of it, not the first round."""
    with pytest.raises(fn.InvalidInputError):
        metric("map", **options)
    with pytest.raises(fn.UnknownMetricError):
        metric("mapp")
