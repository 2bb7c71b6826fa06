"""scikit-learn's cross-validation: scorers that know the queries of the documents held out, in any order."""

import pickle

import numpy as np
import pytest
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.integrations.sklearn import mean_over_queries, scorer

sklearn = pytest.importorskip("sklearn")
pandas = pytest.importorskip("pandas")
linear = pytest.importorskip("sklearn.linear_model")
selection = pytest.importorskip("sklearn.model_selection")

FOLDS = selection.GroupKFold(4)
METRIC = "ndcg@5"


class Data:
    """Documents of 40 interleaved queries, in a frame with a shuffled index."""

    def __init__(self, seed=0, n=500):
        random = np.random.default_rng(seed)
        self.frame = pandas.DataFrame(random.random((n, 3)), columns=list("abc"), index=random.permutation(n) + 1000)
        self.labels = np.clip((self.frame["a"] * 4 + random.normal(size=n)).round(), 0, 4).to_numpy().astype(int)
        self.groups = random.integers(0, 40, n) * 1_000_003
        self.series = pandas.Series(self.groups, index=self.frame.index).sample(frac=1, random_state=seed)

    def expected(self, model, frame=None, metric=METRIC):
        """The mean of each fold, by `evaluate` on its documents."""
        frame = self.frame if frame is None else frame
        values = []
        for train, test in FOLDS.split(frame, self.labels, self.groups):
            scores = model.fit(frame.iloc[train], self.labels[train]).predict(frame.iloc[test])
            result = fn.evaluate(self.labels[test], scores, metric, query_ids=self.groups[test])
            values.append(result.means()[0])
        return values


DATA = Data()


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def scores(scoring, frame=DATA.frame, **options):
    return selection.cross_val_score(
        linear.Ridge(), frame, DATA.labels, scoring=scoring, cv=FOLDS, error_score="raise", **options
    )


def test_groups_by_the_index():
    """A Series is looked up by the rows of each fold, whatever their order and its own."""
    found = scores(scorer(METRIC, groups=DATA.series), groups=DATA.groups)
    np.testing.assert_array_equal(found, DATA.expected(linear.Ridge()))


def test_groups_in_a_column():
    frame = DATA.frame.assign(qid=DATA.groups)
    expected = DATA.expected(linear.Ridge(), frame)
    for given, groups in ((frame, "qid"), (frame, 3), (frame.to_numpy(), 3), (frame, -1)):
        found = scores(scorer(METRIC, groups=groups), given, groups=DATA.groups)
        np.testing.assert_allclose(found, expected, rtol=1e-13)


def test_groups_by_metadata_routing(routing):
    scoring = scorer(METRIC).set_score_request(groups=True)
    found = scores(scoring, params={"groups": DATA.groups})
    np.testing.assert_array_equal(found, DATA.expected(linear.Ridge()))


def test_grid_search_by_routing(routing):
    scoring = {
        "ndcg": scorer(METRIC).set_score_request(groups=True),
        "map": scorer("map").set_score_request(groups=True),
    }
    search = selection.GridSearchCV(
        linear.Ridge(), {"alpha": [0.1, 100.0]}, scoring=scoring, refit="ndcg", cv=FOLDS, error_score="raise"
    ).fit(DATA.frame, DATA.labels, groups=DATA.groups)
    for place, alpha in enumerate([0.1, 100.0]):
        for name, metric in (("ndcg", METRIC), ("map", "map")):
            expected = np.mean(DATA.expected(linear.Ridge(alpha=alpha), metric=metric))
            assert search.cv_results_[f"mean_test_{name}"][place] == pytest.approx(expected, rel=1e-13)


def test_grid_search_by_a_series():
    scoring = scorer(METRIC, groups=DATA.series)
    grid = {"alpha": [0.1, 1e6]}
    search = selection.GridSearchCV(linear.Ridge(), grid, scoring=scoring, cv=FOLDS, error_score="raise")
    search.fit(DATA.frame, DATA.labels, groups=DATA.groups)
    means = [np.mean(DATA.expected(linear.Ridge(alpha=alpha))) for alpha in grid["alpha"]]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], means, rtol=1e-13)
    assert search.best_params_ == {"alpha": grid["alpha"][int(np.argmax(means))]}


def test_scorers_go_to_other_processes():
    for scoring in (scorer(METRIC, groups=DATA.series, convention="lightgbm"), scorer(METRIC, groups="qid", threads=1)):
        again = pickle.loads(pickle.dumps(scoring))
        assert repr(again) == repr(scoring)
    model = linear.Ridge().fit(DATA.frame, DATA.labels)
    again = pickle.loads(pickle.dumps(scorer(METRIC, groups=DATA.series)))
    assert again(model, DATA.frame, DATA.labels) == scorer(METRIC, groups=DATA.series)(model, DATA.frame, DATA.labels)


def test_scores_of_a_classifier():
    """`response_method` chooses what ranks: the probability of being relevant."""
    relevant = DATA.labels > 2
    model = linear.LogisticRegression().fit(DATA.frame, relevant)
    scoring = scorer(METRIC, groups=DATA.series, response_method="predict_proba", convention="sklearn")
    expected = fn.evaluate(
        relevant, model.predict_proba(DATA.frame)[:, 1], METRIC, query_ids=DATA.groups, convention="sklearn"
    )
    assert scoring(model, DATA.frame, relevant) == pytest.approx(expected.means()[0], rel=1e-13)


def test_lower_is_better_with_a_sign():
    """Of a metric that should be low, the scorer gives the mean times -1, so that a search takes the highest."""
    model = linear.Ridge().fit(DATA.frame, DATA.labels)
    with_sign = scorer("num_nonrel_judged_ret", groups=DATA.series)(model, DATA.frame, DATA.labels)
    scores = model.predict(DATA.frame)
    result = fn.evaluate(DATA.labels, scores, "num_nonrel_judged_ret", query_ids=DATA.groups)
    assert with_sign == -result.means()[0] < 0


test_groups_that_are_not_there = refuses(
    lambda groups, given: scores(scorer(METRIC, groups=groups), given, groups=DATA.groups), [
    (DATA.series[:-1], DATA.frame, "`groups` must have every row of X, but lacks"),
    (DATA.series, DATA.frame.to_numpy(), "X must have an index, because `groups` is a Series"),
    ("qid", DATA.frame, "X has no column 'qid'"),
    ("qid", DATA.frame.to_numpy(), "X has no column 'qid'"),
    (0, DATA.frame, "`groups` must be a column of whole numbers"),
    (None, DATA.frame, r"for nDCG@5\. Pass scorer\(…, groups=…\).*set_score_request"),
])  # fmt: skip


test_bad_groups = refuses(lambda groups: scorer(METRIC, groups=groups), [
    (DATA.groups, r"Pass pandas\.Series\(groups, index=X\.index\)"),
    (pandas.Series([1, 2], index=["a", "a"]), "a unique index, but 'a' occurs twice"),
    (True, "must be a column of X"),
])  # fmt: skip


def test_bad_options():
    refused(r"`metric` must be one metric, .* a dict of scorers", scorer, "ndcg@5,map")
    with pytest.raises(fn.UnknownMetricError):
        scorer("ndgc")
    with pytest.raises(fn.UnknownConventionError):
        scorer("ndcg", convention="sklern")


def test_lengths_and_folds_without_relevant_documents():
    convention = fn.conventions["default"]
    options = {"metric": fn.Metric("AP"), "convention": convention, "threads": None}
    refused("`query_ids` must have the shape of `labels`", mean_over_queries, [1, 0], [0.1, 0.2], groups=[1], **options)
    with pytest.raises(fn.InvalidInputError, match=r"AP: .* but scores\[1\] .* is nan\. .* The model diverged"):
        mean_over_queries([1, 0], [0.1, np.nan], groups=[1, 1], **options)
    with pytest.raises(fn.UndefinedMetricError, match=r"AP must have a value for some query of a fold"):
        mean_over_queries([0, 0], [0.1, 0.2], groups=[1, 1], **options)
