"""CatBoost's loop: our metric in it gives its own digits, and knows the groups that it is not handed."""

import copy
import pickle

import boosting_data
import numpy as np
import pytest
from peer_libraries import library

import fastndcg as fn
from fastndcg.integrations import boosting as rounds
from fastndcg.integrations.catboost import metric

pytestmark = pytest.mark.peers


def pool(data, **options):
    """The data as CatBoost takes them."""
    return library("catboost").Pool(data.features, data.labels, group_id=data.query_ids, **options)


def train(custom, first, others, loss="QueryRMSE", n_rounds=8, **options):
    ranker = library("catboost").CatBoostRanker(
        loss_function=loss, eval_metric=custom, iterations=n_rounds, allow_writing_files=False, verbose=False,
        thread_count=2, **options,
    )  # fmt: skip
    return ranker.fit(first, eval_set=list(others))


@pytest.mark.parametrize(
    ("ours", "theirs"), [("ndcg@5", "NDCG:top=5;type=Base"), ("map@5", "MAP:top=5"), ("p@5", "PrecisionAt:top=5")]
)
def test_digits_are_its_own(ours, theirs):
    """Learning and validation give the digits of CatBoost's own metric, round by round, under the metric's name."""
    data = boosting_data.random_data()
    pools = [pool(data), pool(data.first(40)), pool(boosting_data.random_data(seed=1))]

    ranker = train(
        metric(ours, pools, convention="catboost"),
        pools[0],
        pools[1:],
        custom_metric=[f"{theirs};hints=skip_train~false"],
    )

    assert len(ranker.evals_result_) == 3
    for values in ranker.evals_result_.values():
        np.testing.assert_allclose(values[str(fn.Metric.parse(ours))], values[theirs], rtol=1e-13)


def test_digits_on_real_data():
    """On LightGBM's ranking example."""
    pools = [pool(boosting_data.example(part)) for part in ("train", "test")]

    ranker = train(metric("ndcg@5", pools, convention="catboost"), pools[0], pools[1:], custom_metric=["NDCG:top=5"])

    values = ranker.evals_result_["validation"]
    np.testing.assert_allclose(values["nDCG@5"], values["NDCG:top=5;type=Base"], rtol=1e-13)


def test_weights_of_groups_count_as_in_catboost():
    data = boosting_data.random_data(seed=2)
    given = pool(data, group_weight=data.weights_of_documents)
    custom = metric("ndcg@5", given, convention="catboost")

    ranker = train(custom, given, [given], custom_metric=["NDCG:top=5"])

    for values in ranker.evals_result_.values():
        if "NDCG:top=5;type=Base" in values:
            np.testing.assert_allclose(values["nDCG@5"], values["NDCG:top=5;type=Base"], rtol=1e-13)
    assert "NDCG:top=5;type=Base" in ranker.evals_result_["validation"]


def test_pools_are_prepared_once_each(monkeypatch):
    """Two pools and eight rounds make two evaluators, though CatBoost copies the metric."""
    made = []
    monkeypatch.setattr(rounds, "Evaluator", lambda *a, **k: made.append(a) or fn.Evaluator(*a, **k))
    pools = [pool(boosting_data.random_data(seed=seed)) for seed in (3, 4)]

    train(metric("ndcg@5", pools), pools[0], pools[1:])

    assert len(made) == 2


def test_catboost_keeps_round_with_highest_metric():
    pools = [pool(boosting_data.random_data(seed=seed)) for seed in (5, 6)]

    ranker = train(metric("rr", pools), pools[0], pools[1:], n_rounds=300, early_stopping_rounds=5, learning_rate=0.3)

    values = ranker.evals_result_["validation"]["RR"]
    assert ranker.get_best_iteration() == int(np.argmax(values)) == len(values) - 6
    assert ranker.get_best_score()["validation"]["RR"] == max(values)


def test_orientation_is_that_of_the_metric():
    """A higher value is better for every metric, except the metrics that the catalogue marks otherwise."""
    given = pool(boosting_data.random_data(seed=6))
    assert metric("ndcg@5", given).is_max_optimal()
    assert not metric("unjudged@5", given).is_max_optimal()


def test_shuffled_labels_are_refused():
    """Ordered boosting shuffles what is learned from: the error says so, and its remedy works."""
    given = pool(boosting_data.random_data(seed=7))
    custom = metric("ndcg@5", given)

    with pytest.raises(library("catboost").CatBoostError, match=r"nDCG@5 is evaluated, .* train with has_time=True"):
        train(custom, given, [given], boosting_type="Ordered")
    ranker = train(custom, given, [given], boosting_type="Ordered", has_time=True)
    values = ranker.evals_result_
    np.testing.assert_allclose(values["learn"]["nDCG@5"], values["validation"]["nDCG@5"], rtol=1e-6)


def test_unknown_pool_is_refused():
    first, other = pool(boosting_data.random_data(seed=8)), pool(boosting_data.random_data(seed=9))

    with pytest.raises(library("catboost").CatBoostError, match="Pass every pool"):
        train(metric("ndcg@5", [first]), first, [other])


def test_pools_that_labels_do_not_tell_apart_are_refused():
    data = boosting_data.random_data(seed=10)
    groups = np.append(data.groups[:-2], data.groups[-2:].sum())

    with pytest.raises(fn.InvalidInputError, match=r"pools\[0\] and pools\[2\] have the same labels in other groups"):
        metric("ndcg@5", [pool(data), pool(data), pool(data._replace(groups=groups))])
    metric("ndcg@5", [pool(data), pool(data)])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda data: metric("ndcg@5,map", pool(data)), "`metrics` must be a single metric for CatBoost"),
        (lambda data: metric("ndcg@5", [pool(data), data.features]), r"pools\[1\] is ndarray"),
        (
            lambda data: metric("ndcg@5", library("catboost").Pool(data.features, data.labels)),
            r"groups for nDCG@5, .* pools\[0\] has none\. Pass Pool\(…, group_id=…\)",
        ),
        (
            lambda data: metric("ndcg@5", pool(data)).evaluate(
                (np.zeros(len(data.labels)),), data.labels, np.arange(len(data.labels))
            ),
            r"`weight` must be the same for all documents of a query, but weight\[1\] \(query 0\) is 1 and not 0",
        ),
        (
            lambda data: metric("ndcg@5", pool(data)).evaluate((np.zeros(3),), data.labels, None),
            "`scores` must have the shape of `labels`",
        ),
        (
            lambda data: metric("ndcg@5", pool(data)).evaluate((np.zeros(3), np.zeros(3)), data.labels, None),
            "one score for each document for nDCG@5, but has 2",
        ),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(fn.InvalidInputError, match=message):
        make(boosting_data.random_data(seed=11))


def test_nan_of_a_diverged_model_is_refused():
    data = boosting_data.random_data(seed=12)
    baseline, place = np.zeros(len(data.labels)), data.groups[0]
    first = pool(data, baseline=baseline)
    baseline[place] = np.nan
    valid = pool(data, baseline=baseline)

    with pytest.raises(library("catboost").CatBoostError, match=rf"scores\[{place}\] .* The model div"):
        train(metric("ndcg@5", [first, valid]), first, [valid])


def test_catboost_metric_copies():
    data = boosting_data.random_data(seed=13)
    custom = metric("ndcg@5", pool(data), convention="catboost")
    scores = np.random.default_rng(13).random(len(data.labels))
    target = data.labels.astype("f4")

    assert copy.deepcopy(custom) is custom
    again = pickle.loads(pickle.dumps(custom))
    assert repr(again) == repr(custom) == "metric('nDCG@5', pools, convention='catboost')"
    assert again.evaluate((scores,), target, None) == custom.evaluate((scores,), target, None)
