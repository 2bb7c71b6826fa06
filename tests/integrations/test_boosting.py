"""Loops of LightGBM, XGBoost and CatBoost: our metrics in them give their digits, and are never out of date."""

import copy
import gc
import pickle
import warnings
from typing import NamedTuple

import numpy as np
import pytest
from recorded_data import DATA
from refusals import refused

import fastndcg as fn
from fastndcg.integrations import boosting, catboost, lightgbm, xgboost

pytestmark = pytest.mark.peers
library = pytest.importorskip


class Data(NamedTuple):
    features: np.ndarray
    labels: np.ndarray
    groups: np.ndarray
    weights: np.ndarray

    @property
    def query_ids(self):
        return np.repeat(np.arange(len(self.groups)), self.groups)

    @property
    def weights_of_documents(self):
        return np.repeat(self.weights, self.groups)

    @property
    def is_empty(self):
        return np.bincount(self.query_ids, self.labels) == 0

    def first(self, n):
        stop = int(self.groups[:n].sum())
        return Data(self.features[:stop], self.labels[:stop], self.groups[:n], self.weights[:n])

    def without_empty(self):
        kept = np.repeat(~self.is_empty, self.groups)
        parts = self.groups[~self.is_empty], self.weights[~self.is_empty]
        return Data(self.features[kept], self.labels[kept], *parts)


def draw(seed=0, highest=4, n_queries=120):
    """Return queries with weights in eighths. Some have only one document, or no relevant document."""
    random = np.random.default_rng(seed)
    groups = random.integers(1, 40, n_queries)
    features = random.random((groups.sum(), 5))
    labels = np.clip((features[:, 0] * 4 + random.normal(size=len(features)) - 1).round(), 0, highest)
    labels[np.repeat(random.random(n_queries) < 0.15, groups)] = 0
    return Data(features, labels, groups, random.integers(1, 9, n_queries) / 8)


def read_example(part):
    folder = DATA / "ranking_example"
    features, labels = library("sklearn.datasets").load_svmlight_file(str(folder / f"rank.{part}.gz"), n_features=301)
    groups = np.loadtxt(folder / f"rank.{part}.query", dtype="i8")
    return Data(features.toarray(), labels, groups, np.ones(len(groups)))


class LightGBM:
    metrics = {f"{theirs}@{k}": f"{ours}@{k}" for theirs, ours in (("ndcg", "nDCG"), ("map", "AP")) for k in (1, 5, 10)}
    on_grades, highest, exact = metrics, 4, {"rtol": 1e-13}
    groups_are_given = r"Pass lgb\.Dataset\(…, group=…\)"
    asked = {"objective": "lambdarank", "verbosity": -1, "num_threads": 2, "num_leaves": 7, "min_data_in_leaf": 5}

    def make_set(self, data, weights=None, **start):
        options = {"init_score": start["start"]} if start else {}
        return library("lightgbm").Dataset(data.features, data.labels, group=data.groups, weight=weights, **options)

    def make_bare_set(self, data):
        return library("lightgbm").Dataset(data.features, data.labels)

    def weigh(self, data):
        return data.weights_of_documents

    def metric(self, metrics, sets=None, **options):
        return lightgbm.metric(metrics, **options)

    def train(self, custom, first, others, own=(), n_rounds=12, callbacks=(), **options):
        lgb, log = library("lightgbm"), {}
        own = {"metric": [name.split("@")[0] for name in own], "eval_at": [1, 5, 10]} if own else {"metric": "None"}
        booster = lgb.train(
            self.asked | own | options, first, n_rounds, valid_sets=others, valid_names=[*map(str, range(len(others)))],
            feval=custom, callbacks=[lgb.record_evaluation(log), *callbacks],
        )  # fmt: skip
        return booster, list(log.values())

    def predict(self, booster, data):
        return booster.predict(data.features)


class XGBoost:
    """How XGBoost takes data, a metric and its own metrics. It prints six digits, and reads them back."""

    metrics = {theirs: f"{ours}/xgboost" for theirs, ours in (
        ("ndcg@5", "ndcg@5"), ("map@5", "map@5"), ("pre@5", "precision@5"), ("ndcg", "ndcg"))}  # fmt: skip
    on_grades, highest, exact = {"ndcg@5": "ndcg@5/xgboost"}, 1, {"rtol": 0, "atol": 6e-7}  # map and pre take 0 and 1
    groups_are_given = r"Pass DMatrix\(…, qid=…\)"
    asked = {"objective": "rank:ndcg", "nthread": 2, "verbosity": 0, "max_depth": 3}

    def make_set(self, data, weights=None, by="group", **start):
        queries = {"group": data.groups} if by == "group" else {"qid": data.query_ids}
        options = {"base_margin": start["start"]} if start else {}
        return library("xgboost").DMatrix(data.features, data.labels, **queries, weight=weights, **options)

    def make_bare_set(self, data):
        return library("xgboost").DMatrix(data.features, data.labels)

    def weigh(self, data):
        return data.weights

    def metric(self, metrics, sets=None, **options):
        library("xgboost")
        return xgboost.metric(metrics, **options)

    def train(self, custom, first, others, own=(), n_rounds=12, **options):
        log = {}
        evals = [(one, str(i)) for i, one in enumerate(others)]
        parameters = self.asked | ({"eval_metric": list(own)} if own else {"disable_default_eval_metric": 1})
        booster = library("xgboost").train(
            parameters, first, n_rounds, evals=evals, custom_metric=custom, evals_result=log, verbose_eval=False,
            **options,
        )  # fmt: skip
        return booster, list(log.values())

    def predict(self, booster, data):
        return booster.predict(self.make_set(data))


class CatBoost:
    """How CatBoost takes data and one metric. It skips its own metrics on the training pool by default."""

    metrics = {"NDCG:top=5;type=Base": "nDCG@5", "MAP:top=5": "AP@5", "PrecisionAt:top=5": "P@5"}
    on_grades, highest, exact = metrics, 4, {"rtol": 1e-13}
    groups_are_given = r"pools\[0\] has none\. Pass Pool\(…, group_id=…\)"

    def make_set(self, data, weights=None, **start):
        options = {"baseline": start["start"]} if start else {}
        return library("catboost").Pool(
            data.features, data.labels, group_id=data.query_ids, group_weight=weights, **options
        )

    def make_bare_set(self, data):
        return library("catboost").Pool(data.features, data.labels)

    def weigh(self, data):
        return data.weights_of_documents

    def metric(self, metrics, sets, **options):
        return catboost.metric(metrics, sets, **options)

    def train(self, custom, first, others, own=(), n_rounds=8, **options):
        ranker = library("catboost").CatBoostRanker(
            loss_function="QueryRMSE", eval_metric=custom, iterations=n_rounds, allow_writing_files=False,
            verbose=False, thread_count=2, custom_metric=[f"{name};hints=skip_train~false" for name in own], **options,
        )  # fmt: skip
        ranker.fit(first, eval_set=list(others))
        return ranker, list(ranker.evals_result_.values())


LOOPS = {"lightgbm": LightGBM(), "xgboost": XGBoost(), "catboost": CatBoost()}
each_loop = pytest.mark.parametrize("name", LOOPS)


def compare(name, metrics, first, others):
    loop, pairs = LOOPS[name], []
    asked = [[metric] for metric in metrics] if name == "catboost" else [list(metrics)]
    for own in asked:
        ours = [metrics[theirs].partition("/")[0] for theirs in own]
        custom = loop.metric(",".join(ours), [first, *others], convention=name)
        _, log = loop.train(custom, first, others, own)
        for values in log:
            pairs += [(theirs, values[theirs], values[metrics[theirs]]) for theirs in own if theirs in values]
    assert pairs
    return pairs


@each_loop
@pytest.mark.parametrize("data", ["drawn", "example"])
def test_digits_are_the_librarys_own(name, data):
    """Round by round, for training and validation, with queries that have nothing relevant and trees that tie."""
    loop = LOOPS[name]
    if data == "drawn":
        metrics, parts = loop.metrics, [draw(0, loop.highest), draw(0, loop.highest).first(40), draw(1, loop.highest)]
    else:
        metrics, parts = loop.on_grades, [read_example("train"), read_example("test")]
    sets = [loop.make_set(part) for part in parts]
    others = sets[1:] if name == "catboost" else sets
    for theirs, expected, ours in compare(name, metrics, sets[0], others):
        np.testing.assert_allclose(ours, expected, **loop.exact, err_msg=theirs)


@each_loop
def test_weights_count_as_in_the_library(name):
    loop = LOOPS[name]
    data = draw(5, loop.highest)
    data = data if name == "catboost" else data.without_empty()
    metrics = {"NDCG:top=5;type=Base": "nDCG@5"} if name == "catboost" else loop.metrics
    given = loop.make_set(data, loop.weigh(data))
    for theirs, expected, ours in compare(name, metrics, given, [given]):
        np.testing.assert_allclose(ours, expected, **loop.exact, err_msg=theirs)


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_the_bug_of_weights_is_not_copied(name):
    """With weights, ndcg of both counts a query without relevant documents as 1, and not as its weight."""
    loop = LOOPS[name]
    data = draw(2, loop.highest)
    data = data._replace(weights=data.weights + 1.0)  # with small ones XGBoost stops: the sum passes 1
    given = loop.make_set(data, loop.weigh(data))
    shift = (data.is_empty.sum() - data.weights[data.is_empty].sum()) / data.weights.sum()
    assert shift != 0
    for theirs, expected, ours in compare(name, loop.metrics, given, [given]):
        wanted = np.add(ours, shift if theirs.startswith("ndcg") else 0)
        np.testing.assert_allclose(expected, wanted, rtol=0, atol=loop.exact.get("atol", 1e-13))


def test_weights_of_documents_become_those_of_queries():
    """Weights that differ within a query have their mean, in float32 and added in order, as LightGBM does."""
    data = draw(6).without_empty()
    given = LOOPS["lightgbm"].make_set(data, np.random.default_rng(6).random(len(data.labels)))
    for _, expected, ours in compare("lightgbm", LightGBM.metrics, given, [given]):
        np.testing.assert_allclose(ours, expected, rtol=1e-13)
    weighed = lightgbm.weigh_queries(np.array([1, 2, 4], "f4"), np.array([2, 0, 1]))
    np.testing.assert_array_equal(weighed, [1.5, 0, 4])


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_any_metric_is_evaluated(name):
    """XGBoost's names have no blanks, because it splits its lines at them."""
    loop, data = LOOPS[name], draw(3)
    metrics = ["P(rel=2)@5", "nDCG(gain=[0, 1, 2, 3, 9])@3", "mrr", "Success@2", "Rprec"]
    convention = "default(ap_denominator=min(k, n_relevant))"
    given = loop.make_set(data)
    booster, (log,) = loop.train(loop.metric(metrics, convention=convention), given, [given])
    expected = fn.evaluate(data.labels, loop.predict(booster, data), metrics, groups=data.groups, convention=convention)
    names = [str(metric) for metric in expected.metrics]
    if name == "xgboost":
        texts = ("precision(rel=2)@5", "ndcg(gain=[0,1,2,3,9])@3", "mrr", "success@2", "r_precision")
        names = [f"{text}/{convention}".replace(" ", "") for text in texts]
    assert list(log) == names
    np.testing.assert_allclose([values[-1] for values in log.values()], expected.means(), **loop.exact)


@each_loop
def test_sets_are_prepared_once_each_and_forgotten(name, monkeypatch):
    """Whatever is freed is forgotten, so that another at its address cannot be taken for it."""
    made = []
    monkeypatch.setattr(boosting, "Evaluator", lambda *a, **k: made.append(a) or fn.Evaluator(*a, **k))
    loop = LOOPS[name]
    sets = [loop.make_set(draw(3)), loop.make_set(draw(4).first(30))]
    custom = loop.metric("ndcg@5", sets)
    loop.train(custom, sets[0], sets[1:] if name == "catboost" else sets)
    assert len(made) == len(custom._evaluator._prepared) == 2
    if name != "catboost":  # whose pools belong to the metric
        sets.clear()
        gc.collect()
        assert not custom._evaluator._prepared


@pytest.mark.parametrize("name", ["lightgbm", "xgboost"])
def test_changed_data_are_prepared_again(name):
    loop, data = LOOPS[name], draw(10).without_empty()
    custom, given, seen = loop.metric("ndcg@5", convention=name), loop.make_set(data), []
    scores = np.random.default_rng(10).random(len(data.labels), "f4")
    given = given.construct() if name == "lightgbm" else given
    changes = [
        lambda: None, lambda: given.set_label(4 - data.labels),
        lambda: given.get_label().__setitem__(slice(None), data.labels[::-1]),
        lambda: given.set_group(data.groups[::-1].copy()), lambda: given.set_weight(loop.weigh(data)),
    ]  # fmt: skip
    for change in changes if name == "lightgbm" else changes[:2] + changes[3:]:
        change()
        groups = np.asarray(given.get_group())
        weights = given.get_weight() if name == "lightgbm" or len(given.get_weight()) else None
        result = fn.evaluate(given.get_label(), scores, "ndcg@5", groups=groups, convention=name)
        if name == "lightgbm" and weights is not None:
            weights = lightgbm.weigh_queries(weights, groups)
        seen.append(result.mean(weights)["nDCG@5"])
        assert custom(scores, given)[0][1] == pytest.approx(seen[-1], rel=1e-13)
    assert len(set(seen)) == len(seen)


@each_loop
def test_sets_without_groups_are_refused(name):
    loop, data = LOOPS[name], draw()
    with pytest.raises(fn.InvalidInputError, match=rf"groups for nDCG@5, .*{loop.groups_are_given}"):
        loop.train(loop.metric("ndcg@5", bare := loop.make_bare_set(data)), loop.make_set(data), [bare])


@each_loop
def test_nan_of_a_diverged_model_is_refused(name):
    loop, data = LOOPS[name], draw(16)
    start, place = np.zeros(len(data.labels)), data.groups[0] + 2
    first = loop.make_set(data, start=start.copy())
    start[place] = np.nan
    error = library("catboost").CatBoostError if name == "catboost" else fn.InvalidInputError
    valid = loop.make_set(data) if name == "lightgbm" else loop.make_set(data, start=start)
    custom = loop.metric("ndcg@5", [first, valid])
    with pytest.raises(error, match=rf"nDCG@5.*scores\[{place}\] \(query 1\) is nan\. .* The model diverged"):
        _ = custom(start, valid.construct()) if name == "lightgbm" else loop.train(custom, first, [valid])


@each_loop
def test_metrics_copy_and_know_their_orientation(name):
    loop, data = LOOPS[name], draw(13)
    given = loop.make_set(data)
    custom = loop.metric("ndcg@5", given, convention=name, threads=1)
    others = [copy.deepcopy(custom), pickle.loads(pickle.dumps(custom))]
    text = f"metric('nDCG@5', {'pools, ' if name == 'catboost' else ''}convention='{name}')"
    assert {repr(one) for one in (custom, *others)} == {text}
    if name == "catboost":
        assert others[0] is custom
        scores = np.random.default_rng(13).random(len(data.labels))
        values = [one.evaluate((scores,), data.labels.astype("f4"), None) for one in (custom, others[1])]
        assert values[0] == values[1]
        assert [loop.metric(text, given).is_max_optimal() for text in ("ndcg@5", "unjudged@5")] == [True, False]
    elif name == "lightgbm":
        found = loop.metric("ndcg@5, unjudged@5")([1, 0, 1], [0.3, 0.2, 0.1], None, [3])
        assert [(name, higher) for name, _, higher in found] == [("nDCG@5", True), ("Unjudged@5", False)]


@each_loop
def test_cross_validation_and_bad_options(name):
    loop, given = LOOPS[name], LOOPS[name].make_set(draw(14))
    for metrics, options in (("map", {"convention": "lightgmb"}), ("map", {"threads": 0}), ("mapp", {})):
        with pytest.raises(fn.FastndcgError):
            loop.metric(metrics, given, **options)
    custom = loop.metric("ndcg@5", given, convention=name)
    if name == "lightgbm":
        asked = loop.asked | {"metric": "ndcg", "eval_at": [5]}
        found = library("lightgbm").cv(asked, given, 5, nfold=3, stratified=False, feval=custom)
        np.testing.assert_allclose(found["valid nDCG@5-mean"], found["valid ndcg@5-mean"], **loop.exact)
    elif name == "xgboost":
        cv, options = library("xgboost").cv, {"nfold": 3, "as_pandas": False}
        found = cv(loop.asked | {"eval_metric": "ndcg@5"}, given, 4, custom_metric=custom, **options)
        np.testing.assert_allclose(found["test-ndcg@5/xgboost-mean"], found["test-ndcg@5-mean"], **loop.exact)
        with pytest.raises(fn.InvalidTypeError, match=r"custom_metric=metric\(…\)"):
            cv(loop.asked, given, 2, callbacks=[custom], **options)


@pytest.mark.parametrize("metrics", ["ndcg@5,rr", "rr,ndcg@5"])
def test_lightgbm_stops_by_the_first_metric(metrics):
    loop, data = LOOPS["lightgbm"], draw(12)
    stop = library("lightgbm").early_stopping(4, first_metric_only=True, verbose=False)
    booster, (log,) = loop.train(
        loop.metric(metrics), loop.make_set(data), [loop.make_set(data.first(30))], n_rounds=200, callbacks=[stop]
    )
    names = [str(fn.Metric.parse(text)) for text in metrics.split(",")]
    assert list(log) == names
    values = log[names[0]]
    assert booster.best_iteration == int(np.argmax(values)) + 1 < 200
    assert booster.best_score["0"][names[0]] == max(values)


def test_lightgbm_ranker_equals_train():
    loop, data = LOOPS["lightgbm"], draw(13)
    sets = [data, data.first(30)]
    custom = loop.metric("ndcg@5, map")
    _, log = loop.train(custom, loop.make_set(data), [loop.make_set(one) for one in sets], n_rounds=8)
    ranker = library("lightgbm").LGBMRanker(
        n_estimators=8, verbosity=-1, num_leaves=7, min_child_samples=5, n_jobs=2, metric="None"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about other names for eval_set, which older versions do not know
        for given in (custom, copy.deepcopy(custom), pickle.loads(pickle.dumps(custom))):
            ranker.fit(
                data.features, data.labels, group=data.groups, eval_metric=given,
                eval_set=[(one.features, one.labels) for one in sets], eval_group=[one.groups for one in sets],
            )  # fmt: skip
            for theirs, ours in zip(log, ranker.evals_result_.values(), strict=True):
                assert list(ours) == ["nDCG@5", "AP"]
                for name, values in ours.items():
                    np.testing.assert_allclose(values, theirs[name], rtol=1e-13)


def test_lightgbm_refuses_wrong_arrays():
    for arguments, message in (
        (([1, 0, 1], [0.1, 0.2], None, [3]), r"`scores` must have the shape of `labels`, \(3,\), but has \(2,\)"),
        (([1, 0, 1], [0.1, 0.2, 0.3], None, [2, 2]), r"`groups` must add up to the number of documents, 3, but .* 4"),
        (([1, 0, 1], [[0.1, 0.2, 0.3]] * 2, None, [3]), r"`scores` must have the shape of `labels`"),
        (([1, 0, 1], [0.1, 0.2, 0.3], None, None), r"must have groups for AP"),
        (([0, 0, 0], [0.1, 0.2, 0.3], None, [3]), r"AP must have a value for some query .* \(nothing is relevant\)"),
    ):
        refused(message, lightgbm.metric("map"), *arguments, error=fn.FastndcgError)
    last = lightgbm.metric("rr", convention="default(nan_scores=last)")
    assert last([0, 1], [np.nan, 0.5], None, [2])[0][1] == 1


@pytest.mark.parametrize(("text", "by", "options"), [
    *((text, text, {"early_stopping_rounds": 4}) for text in ("ndcg@5", "map", "precision@3")),
    ("mrr", "mrr", {"early_stopping_rounds": 4, "maximize": True}), ("mrr", None, {}), ("recall@5", None, {}),
    ("recall@5, ndcg", "recall@5", {}), ("mrr, ndcg", "mrr", {}), ("RankingLoss", None, {}),
])  # fmt: skip
def test_xgboost_stops_in_the_right_direction(text, by, options):
    """By the beginning of a name XGBoost guesses which way is better. The callback knows, for any metric and set."""
    loop = LOOPS["xgboost"]
    first, valid = (loop.make_set(draw(seed, 1)) for seed in (6, 7))
    custom, others = loop.metric(text), [valid]
    if not options:
        others = [valid, first]
        options = {"callbacks": [xgboost.early_stopping(custom, 4, by=by, data_name="0")]}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        booster, log = loop.train(custom, first, others, ["ndcg"], 300, **options)
    metric = fn.Metric.parse(by or text)
    values = log[0][xgboost.make_name(metric, fn.conventions["default"])]
    best = np.argmax if metric.record.higher_is_better else np.argmin
    assert booster.best_iteration == int(best(values)) == len(values) - 5 < 294


def test_xgboost_early_stopping_refuses_what_it_cannot_follow():
    custom = LOOPS["xgboost"].metric("mrr, ndcg")
    for arguments, options, match in (
        (("mrr", 4), {}, r"`custom` must be the result of metric\(…\), not str"),
        ((custom, 4), {"by": "map"}, "`by` must be one of RR, nDCG, not AP"),
        ((custom, 0), {}, "`rounds` must be a whole number of 1 or more, not 0"),
        ((custom, True), {}, "`rounds` must be a whole number of 1 or more, not True"),
        ((custom, 1.5), {}, "`rounds` must be a whole number"),
    ):
        refused(match, xgboost.early_stopping, *arguments, **options)


@pytest.mark.parametrize("by", ["group", "qid"])
def test_xgboost_ranker_takes_metrics_as_callbacks(by):
    ranker_of, data, valid = library("xgboost").XGBRanker, draw(6, 1), draw(7, 1)
    custom = LOOPS["xgboost"].metric("map@5,ndcg@5", convention="xgboost")
    mrr = LOOPS["xgboost"].metric("mrr")
    stop = xgboost.early_stopping(mrr, 4, save_best=True)
    sets = {"eval_set": [(valid.features, valid.labels)]}
    sets |= (
        {"group": data.groups, "eval_group": [valid.groups]}
        if by == "group"
        else {"qid": data.query_ids, "eval_qid": [valid.query_ids]}
    )
    options = {"n_estimators": 300, "max_depth": 3, "n_jobs": 2}
    own = options | {"eval_metric": "ndcg@5", "early_stopping_rounds": 4}
    for ranker, name in (
        (ranker_of(callbacks=[custom], **own), "ndcg@5/xgboost"),
        (ranker_of(callbacks=[mrr, stop], **options), "mrr/default"),
    ):
        ranker.fit(data.features, data.labels, **sets)
        (values,) = ranker.evals_result().values()
        assert ranker.best_iteration == int(np.argmax(values[name])) == len(values[name]) - 5 < 294
        assert pickle.loads(pickle.dumps(ranker)).best_iteration == ranker.best_iteration
        if name == "ndcg@5/xgboost":
            assert list(values) == ["ndcg@5", "map@5/xgboost", name]
            np.testing.assert_allclose(values[name], values["ndcg@5"], **XGBoost.exact)
    assert ranker.get_booster().num_boosted_rounds() == ranker.best_iteration + 1
    with pytest.raises(fn.InvalidInputError, match=r"must not be RR.*Pass XGBRanker\(callbacks=\[metric\(…\)\]\)"):
        ranker_of(n_estimators=2, n_jobs=2, eval_metric=mrr).fit(data.features, data.labels, **sets)


def test_xgboost_callback_beside_another_custom_metric():
    """Both are evaluated, once each, and the booster that comes out is as it would be without."""
    loop = LOOPS["xgboost"]
    given, custom = loop.make_set(draw(0, 1)), loop.metric("ndcg@5")
    both = [
        loop.train(one, given, [given], n_rounds=3, callbacks=[custom])
        for one in (lambda scores, _: ("spread", float(np.ptp(scores))), custom)
    ]
    (booster, (log,)), (twice, (same,)) = both
    assert list(log) == ["spread", "ndcg@5/default"]
    assert log["ndcg@5/default"] == same["ndcg@5/default"]
    assert len(same["ndcg@5/default"]) == 3
    assert "eval_set" not in vars(booster) | vars(twice)


def test_xgboost_refuses_wrong_lengths():
    """Weights are of queries, but a DMatrix whose groups were set later has those of documents."""
    loop, data = LOOPS["xgboost"], draw(0, 1)
    custom, given = loop.metric("ndcg@5"), loop.make_set(data)
    refused(r"`scores` must have the shape of `labels`", custom, np.zeros(3, "f4"), given)

    class Weighted:
        get_uint_info, get_group, get_label = given.get_uint_info, given.get_group, given.get_label

        def get_weight(self):
            return np.ones(len(data.labels), "f4")

    with pytest.raises(fn.InvalidInputError, match=f"`weight` must have one value for each of the {len(data.groups)}"):
        custom(np.zeros(len(data.labels), "f4"), Weighted())


def test_catboost_keeps_the_round_with_the_highest_metric():
    loop = LOOPS["catboost"]
    pools = [loop.make_set(draw(seed)) for seed in (5, 6)]
    options = {"n_rounds": 300, "early_stopping_rounds": 5, "learning_rate": 0.3}
    ranker, _ = loop.train(loop.metric("rr", pools), pools[0], pools[1:], **options)
    values = ranker.evals_result_["validation"]["RR"]
    assert ranker.get_best_iteration() == int(np.argmax(values)) == len(values) - 6
    assert ranker.get_best_score()["validation"]["RR"] == max(values)


def test_catboost_finds_pools_by_their_labels():
    """Pools that were not named or that it shuffles are not found, and labels may not stand for two lists of groups."""
    loop, data, error = LOOPS["catboost"], draw(7), library("catboost").CatBoostError
    given = loop.make_set(data)
    custom = loop.metric("ndcg@5", given)
    refused("Pass every pool", loop.train, custom, given, [loop.make_set(draw(9))], error=error)
    with pytest.raises(error, match=r"nDCG@5 is evaluated, .* train with has_time=True"):
        loop.train(custom, given, [given], boosting_type="Ordered")
    _, values = loop.train(custom, given, [given], boosting_type="Ordered", has_time=True)
    np.testing.assert_allclose(values[0]["nDCG@5"], values[1]["nDCG@5"], rtol=1e-6)
    groups = np.append(data.groups[:-2], data.groups[-2:].sum())
    with pytest.raises(fn.InvalidInputError, match=r"pools\[0\] and pools\[2\] have the same labels in other groups"):
        loop.metric("ndcg@5", [given, given, loop.make_set(data._replace(groups=groups))])
    loop.metric("ndcg@5", [given, loop.make_set(data)])


def test_catboost_refuses_wrong_input():
    data = draw(11)
    given, n = LOOPS["catboost"].make_set(data), len(data.labels)
    evaluate = catboost.metric("ndcg@5", given).evaluate
    for call, message in (
        (lambda: catboost.metric("ndcg@5,map", given), "`metric` must be one metric, got 2: nDCG@5, AP. CatBoost"),
        (lambda: catboost.metric("ndcg@5", [given, data.features]), r"pools\[1\] is ndarray"),
        (lambda: evaluate((np.zeros(n),), data.labels, np.arange(n)),
            r"`weight` must be the same for all documents of a query, but weight\[1\] \(query 0\) is 1 and not 0"),
        (lambda: evaluate((np.zeros(3),), data.labels, None), "`scores` must have the shape of `labels`"),
        (lambda: evaluate((np.zeros(3), np.zeros(3)), data.labels, None), "each document for nDCG@5, but has 2"),
    ):  # fmt: skip
        refused(message, call)
