"""XGBoost's loops: our metrics in them give its own digits, and stop it early in the right direction."""

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
from fastndcg.integrations.xgboost import early_stopping, metric

pytestmark = pytest.mark.peers

ASKED = {"objective": "rank:ndcg", "nthread": 2, "verbosity": 0, "max_depth": 3}
SILENT = ASKED | {"disable_default_eval_metric": 1}
PAIRS = {"ndcg@5": "ndcg@5/xgboost", "map@5": "map@5/xgboost", "pre@5": "precision@5/xgboost", "ndcg": "ndcg/xgboost"}
SIX_DIGITS = 6e-7  # XGBoost prints custom metrics with six digits, and reads them back
OURS = "ndcg@5,map@5,p@5,ndcg"


def matrix(data, by="group", **options):
    queries = {"group": data.groups} if by == "group" else {"qid": data.query_ids}
    return library("xgboost").DMatrix(data.features, data.labels, **queries, **options)


def train(params, first, others, custom, n_rounds=12, **options):
    """Train, and give the booster and what was recorded: {data set: {metric: values}}."""
    log = {}
    evals = [(one, f"v{i}") for i, one in enumerate(others)]
    booster = library("xgboost").train(
        params, first, n_rounds, evals=evals, custom_metric=custom, evals_result=log, verbose_eval=False, **options
    )
    return booster, log


def binary(seed=0):
    """Return random queries with labels of 0 and 1, which XGBoost's map and pre need."""
    return boosting_data.random_data(seed=seed, highest=1)


@pytest.mark.parametrize("by", ["group", "qid"])
def test_digits_are_its_own(by):
    """Values of ndcg, map and pre agree with XGBoost's printed digits on groups and on query ids."""
    data = binary()
    first = matrix(data, by)
    ours = metric(OURS, convention="xgboost")

    _, log = train(ASKED | {"eval_metric": list(PAIRS)}, first, [first, matrix(data.first(40), by)], ours)

    for values in log.values():
        assert list(values) == [*PAIRS, *PAIRS.values()]
        for theirs, named in PAIRS.items():
            np.testing.assert_allclose(values[named], values[theirs], atol=SIX_DIGITS, rtol=0)


def test_digits_on_real_data():
    """On LightGBM's ranking example, with labels up to 4."""
    first, valid = (matrix(boosting_data.example(part)) for part in ("train", "test"))

    _, log = train(ASKED | {"eval_metric": "ndcg@5"}, first, [first, valid], metric("ndcg@5", convention="xgboost"))

    for values in log.values():
        np.testing.assert_allclose(values["ndcg@5/xgboost"], values["ndcg@5"], atol=SIX_DIGITS, rtol=0)


def test_weights_count_as_in_xgboost():
    """Weights of queries weigh alike where every query has a value."""
    data = binary(1).without_empty()
    given = matrix(data, weight=data.weights)

    _, log = train(ASKED | {"eval_metric": list(PAIRS)}, given, [given], metric(OURS, convention="xgboost"))

    for theirs, named in PAIRS.items():
        np.testing.assert_allclose(log["v0"][named], log["v0"][theirs], atol=SIX_DIGITS, rtol=0)


def test_its_bug_is_not_copied():
    """With weights, XGBoost's ndcg counts a query without relevant documents as 1, and not as its weight."""
    data = binary(2)
    data = data._replace(weights=data.weights + 1.0)  # with small ones XGBoost stops: the sum passes 1
    empty = np.bincount(data.query_ids, data.labels) == 0
    assert empty.any()
    given = matrix(data, weight=data.weights)

    _, log = train(ASKED | {"eval_metric": list(PAIRS)}, given, [given], metric(OURS, convention="xgboost"))

    shift = (empty.sum() - data.weights[empty].sum()) / data.weights.sum()
    for theirs, named in PAIRS.items():
        expected = shift if theirs.startswith("ndcg") else 0.0
        np.testing.assert_allclose(np.subtract(log["v0"][theirs], log["v0"][named]), expected, atol=SIX_DIGITS)


def test_xgboost_evaluates_any_metric():
    data = boosting_data.random_data(seed=3)
    metrics = ["P(rel=2)@5", "nDCG(gain=[0, 1, 2, 3, 9])@3", "mrr", "Success@2"]
    convention = "default(ap_denominator=min(k, n_relevant))"
    given = matrix(data)

    booster, log = train(SILENT, given, [given], metric(metrics, convention=convention))

    expected = fn.evaluate(data.labels, booster.predict(given), metrics, groups=data.groups, convention=convention)
    names = [f"{name}/{convention}".replace(" ", "") for name in (
        "precision(rel=2)@5", "ndcg(gain=[0,1,2,3,9])@3", "mrr", "success@2"
    )]  # fmt: skip
    assert list(log["v0"]) == names
    np.testing.assert_allclose([log["v0"][name][-1] for name in names], expected.means(), atol=SIX_DIGITS)


def test_sets_are_prepared_once_each_and_forgotten(monkeypatch):
    library("xgboost")
    made = []
    monkeypatch.setattr(rounds, "Evaluator", lambda *a, **k: made.append(a) or fn.Evaluator(*a, **k))
    data, custom = boosting_data.random_data(seed=4), metric("ndcg@5")
    sets = [matrix(data), matrix(data.first(30))]

    train(SILENT, sets[0], sets, custom)

    assert len(made) == 2
    assert len(custom._evaluator._prepared) == 2
    sets.clear()
    gc.collect()
    assert not custom._evaluator._prepared


def test_changed_labels_are_prepared_again():
    """New labels and new weights of a DMatrix give the values that they should."""
    library("xgboost")
    data = boosting_data.random_data(seed=5).without_empty()
    custom, given = metric("ndcg@5", convention="xgboost"), matrix(data)
    scores = np.random.default_rng(5).random(len(data.labels), "f4")
    seen = []
    for labels, weights in ((data.labels, None), (data.labels[::-1], None), (data.labels[::-1], data.weights)):
        given.set_label(labels)
        if weights is not None:
            given.set_weight(weights)
        expected = fn.evaluate(labels, scores, "ndcg@5", groups=data.groups, convention="xgboost").mean(weights)
        assert custom(scores, given) == [("ndcg@5/xgboost", pytest.approx(expected["nDCG@5"], rel=1e-13))]
        seen.append(expected["nDCG@5"])
    assert len(set(seen)) == 3


@pytest.mark.parametrize("text", ["ndcg@5", "map", "precision@3"])
def test_early_stopping_guesses_that_higher_is_better(text):
    """XGBoost guesses by the beginning of a name: training stops after the highest value, not the lowest."""
    data = binary(6)
    first, valid = matrix(data), matrix(binary(7))

    booster, log = train(ASKED, first, [valid], metric(text), 300, early_stopping_rounds=4)

    values = list(log["v0"].values())[-1]
    assert len(values) < 300
    assert booster.best_iteration == int(np.argmax(values)) == len(values) - 5
    assert values[booster.best_iteration] > min(values)


def test_early_stopping_of_other_metrics_is_told():
    """For a metric that XGBoost does not know, `maximize=True` says so."""
    first, valid = matrix(binary(6)), matrix(binary(7))

    booster, log = train(ASKED, first, [valid], metric("mrr"), 300, early_stopping_rounds=4, maximize=True)

    values = log["v0"]["mrr/default"]
    assert booster.best_iteration == int(np.argmax(values)) == len(values) - 5


@pytest.mark.parametrize(
    ("text", "by"),
    [("mrr", None), ("recall@5", None), ("recall@5, ndcg", "recall@5"), ("mrr, ndcg", "mrr"), ("RankingLoss", None)],
)
def test_early_stopping_goes_the_right_way(text, by):
    first, valid, custom = matrix(binary(6)), matrix(binary(7)), metric(text)
    stopping = early_stopping(custom, 4, by=by, data_name="v0")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        booster, log = train(ASKED, first, [valid, first], custom, 300, callbacks=[stopping])

    chosen = fn.Metric.parse(by or text)
    values = log["v0"][stopping.metric_name]
    best = np.argmax if chosen.record.higher_is_better else np.argmin
    assert len(values) < 300
    assert booster.best_iteration == int(best(values)) == len(values) - 5


def test_early_stopping_of_the_ranker():
    xgb = library("xgboost")
    data, valid, custom = binary(6), binary(7), metric("mrr")
    sets = {"eval_set": [(valid.features, valid.labels)], "eval_group": [valid.groups], "group": data.groups}
    options = {"n_estimators": 300, "max_depth": 3, "n_jobs": 2}

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ranker = xgb.XGBRanker(callbacks=[custom, early_stopping(custom, 4, save_best=True)], **options)
        ranker.fit(data.features, data.labels, **sets)

    (values,) = ranker.evals_result().values()
    assert ranker.best_iteration == int(np.argmax(values["mrr/default"])) == len(values["mrr/default"]) - 5
    assert ranker.get_booster().num_boosted_rounds() == ranker.best_iteration + 1


def test_early_stopping_refuses_what_it_cannot_follow():
    """A metric that was not made, one that it does not have, and rounds that are no number above 0."""
    library("xgboost")
    custom = metric("mrr, ndcg")
    for arguments, options, match in (
        (("mrr", 4), {}, r"`custom` must be the result of metric\(…\), not str"),
        ((custom, 4), {"by": "map"}, "`by` must be one of RR, nDCG, not AP"),
        ((custom, 0), {}, "`rounds` must be a whole number of 1 or more, not 0"),
        ((custom, True), {}, "`rounds` must be a whole number of 1 or more, not True"),
        ((custom, 1.5), {}, "`rounds` must be a whole number"),
    ):
        with pytest.raises(fn.InvalidInputError, match=match):
            early_stopping(*arguments, **options)


@pytest.mark.parametrize("by", ["group", "qid"])
def test_xgboost_ranker_callback(by):
    xgb = library("xgboost")
    data, valid = binary(6), binary(7)
    ranker = xgb.XGBRanker(
        n_estimators=300, max_depth=3, n_jobs=2, eval_metric="ndcg@5", early_stopping_rounds=4,
        callbacks=[metric("map@5,ndcg@5", convention="xgboost")],
    )  # fmt: skip
    sets = [(valid.features, valid.labels)]
    groups = (
        {"group": data.groups, "eval_group": [valid.groups]}
        if by == "group"
        else {"qid": data.query_ids, "eval_qid": [valid.query_ids]}
    )

    ranker.fit(data.features, data.labels, eval_set=sets, **groups)

    (values,) = ranker.evals_result().values()
    assert list(values) == ["ndcg@5", "map@5/xgboost", "ndcg@5/xgboost"]
    np.testing.assert_allclose(values["ndcg@5/xgboost"], values["ndcg@5"], atol=SIX_DIGITS, rtol=0)
    assert ranker.best_iteration == int(np.argmax(values["ndcg@5/xgboost"])) < 299
    assert pickle.loads(pickle.dumps(ranker)).best_iteration == ranker.best_iteration


def test_eval_metric_of_the_ranker_is_refused():
    data = binary()
    ranker = library("xgboost").XGBRanker(n_estimators=2, n_jobs=2, eval_metric=metric("ndcg@5"))

    with pytest.raises(fn.InvalidInputError, match=r"must not be nDCG@5.*Pass XGBRanker\(callbacks=\[metric\(…\)\]\)"):
        ranker.fit(
            data.features, data.labels, group=data.groups,
            eval_set=[(data.features, data.labels)], eval_group=[data.groups],
        )  # fmt: skip


def test_callback_beside_another_custom_metric():
    """Both are evaluated, once each, and the booster that comes out is as it would be without."""
    given = matrix(binary())
    custom = metric("ndcg@5")

    booster, log = train(SILENT, given, [given], lambda scores, data: ("spread", float(np.ptp(scores))), 3,
                         callbacks=[custom])  # fmt: skip
    twice, same = train(SILENT, given, [given], custom, 3, callbacks=[custom])

    assert list(log["v0"]) == ["spread", "ndcg@5/default"]
    assert log["v0"]["ndcg@5/default"] == same["v0"]["ndcg@5/default"]
    assert len(same["v0"]["ndcg@5/default"]) == 3
    assert "eval_set" not in vars(booster) | vars(twice)


def test_cross_validation():
    xgb = library("xgboost")
    given, ours = matrix(binary()), metric("ndcg@5", convention="xgboost")

    found = xgb.cv(ASKED | {"eval_metric": "ndcg@5"}, given, 4, nfold=3, custom_metric=ours, as_pandas=False)

    np.testing.assert_allclose(found["test-ndcg@5/xgboost-mean"], found["test-ndcg@5-mean"], atol=SIX_DIGITS)
    with pytest.raises(fn.InvalidTypeError, match=r"custom_metric=metric\(…\)"):
        xgb.cv(ASKED, given, 2, nfold=3, callbacks=[ours])


def test_xgboost_metric_copies():
    library("xgboost")
    custom = metric("ndcg@5, map", convention="xgboost", threads=1)

    for other in (copy.deepcopy(custom), pickle.loads(pickle.dumps(custom))):
        assert repr(other) == repr(custom) == "metric('nDCG@5, AP', convention='xgboost')"


def test_set_without_groups_is_refused():
    data = binary()
    bare = library("xgboost").DMatrix(data.features, data.labels)

    with pytest.raises(fn.InvalidInputError, match=r"must have groups for nDCG@5, .* Pass DMatrix\(…, qid=…\)"):
        train(SILENT, matrix(data), [bare], metric("ndcg@5"))


def test_nan_of_a_diverged_model_is_refused():
    data = binary()
    margin, place = np.zeros(len(data.labels)), data.groups[0] + 1
    margin[place] = np.nan
    valid = matrix(data, base_margin=margin)

    with pytest.raises(
        fn.InvalidInputError,
        match=rf"nDCG@5: `scores` must not be NaN, but scores\[{place}\] \(query 1\) is nan\. .* The model diverged",
    ):
        train(SILENT, matrix(data), [valid], metric("ndcg@5"))


def test_bad_lengths_are_refused():
    data = binary()
    given = matrix(data)

    with pytest.raises(fn.InvalidInputError, match=r"`scores` must have the shape of `labels`"):
        metric("ndcg@5")(np.zeros(3, "f4"), given)

    class Weighted:
        """A DMatrix that took weights of documents."""

        get_uint_info, get_group, get_label = given.get_uint_info, given.get_group, given.get_label

        def get_weight(self):
            return np.ones(len(data.labels), "f4")

    with pytest.raises(
        fn.InvalidInputError, match=rf"`weight` must have one value for each of the {len(data.groups)} "
    ):
        metric("ndcg@5")(np.zeros(len(data.labels), "f4"), Weighted())
