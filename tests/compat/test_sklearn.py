"""The drop-ins for scikit-learn pass scikit-learn's tests and give the same values on random input."""

import importlib.util
import os
import re
import subprocess
import sys
import warnings

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st

from fastndcg.compat import sklearn as ours

TRUTH2, SCORES2 = [[1, 0, 2], [0, 1, 1]], [[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]
CLASSES2, OF_CLASSES = [0, 1, 2, 2], [[0.5, 0.2, 0.2], [0.3, 0.4, 0.2], [0.2, 0.4, 0.3], [0.7, 0.2, 0.1]]
BOTH = "ValueError TypeError"  # built-in classes of scikit-learn's InvalidParameterError
# wrong calls, and the built-in exceptions that the original's is one of
ERRORS = {
    "no array": (lambda m: m.dcg_score("a", SCORES2), BOTH),
    "None among labels": (lambda m: m.ndcg_score([[None, 1, 2], [1, 2, 3]], SCORES2), "TypeError"),
    "NaN among labels": (lambda m: m.ndcg_score([[np.nan, 1, 2], [1, 2, 3]], SCORES2), "ValueError"),
    "short": (lambda m: m.dcg_score([[1, 2, 3]], SCORES2), "ValueError"),
    "negative": (lambda m: m.ndcg_score([[-1, 2, 3], [1, 2, 3]], SCORES2), "ValueError"),
    "infinite score": (lambda m: m.dcg_score(TRUTH2, [[0.1, np.inf, 0.3], [0.3, 0.2, 0.1]]), "ValueError"),
    "one dimension": (lambda m: m.ndcg_score([1, 0, 1], [0.1, 0.2, 0.3]), "ValueError"),
    "one document": (lambda m: m.ndcg_score([[1], [1]], [[1], [2]]), "ValueError"),
    "nothing": (lambda m: m.label_ranking_average_precision_score([], []), "ValueError"),
    "complex labels": (lambda m: m.dcg_score([[1j, 1]], [[1, 2]]), "ValueError"),
    "base of 0": (lambda m: m.dcg_score(TRUTH2, SCORES2, log_base=0), "ValueError"),
    "a flag that is none": (lambda m: m.dcg_score(TRUTH2, SCORES2, ignore_ties="yes"), BOTH),
    "k of 0": (lambda m: m.dcg_score(TRUTH2, SCORES2, k=0), BOTH),
    "weights of 2": (lambda m: m.ndcg_score(TRUTH2, SCORES2, sample_weight=2), BOTH),
    "weights of two dimensions": (lambda m: m.ndcg_score(TRUTH2, SCORES2, sample_weight=[[1], [1]]), "TypeError"),
    "ragged labels": (lambda m: m.top_k_accuracy_score([[1], [1, 2]], OF_CLASSES), "ValueError"),
    "weights of 0": (lambda m: m.dcg_score(TRUTH2, SCORES2, sample_weight=[0, 0]), "ZeroDivisionError"),
    "labels unordered": (lambda m: m.top_k_accuracy_score(CLASSES2, OF_CLASSES, labels=[2, 1, 0]), "ValueError"),
}  # fmt: skip


theirs = pytest.importorskip("sklearn.metrics")

NAMES = ("dcg_score", "ndcg_score", "label_ranking_average_precision_score", "top_k_accuracy_score")
PRIVATE = ("_dcg_sample_scores", "_ndcg_sample_scores")
ABOUT_THEM = re.compile("dcg|lrap|label_ranking_av|top_k_accuracy")


def with_ours(name):
    spec = importlib.util.find_spec(f"sklearn.metrics.tests.{name}")
    if spec is None:
        pytest.skip(f"this scikit-learn carries no tests: {name} is absent", allow_module_level=True)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for function in NAMES:
            patch.setattr(theirs, function, getattr(ours, function))
        for function in PRIVATE:
            patch.setattr(theirs._ranking, function, getattr(ours, function))
        spec.loader.exec_module(module)
    return module


THEIR_TESTS = with_ours("test_ranking")
THEIRS = {name: test for name, test in vars(THEIR_TESTS).items() if name.startswith("test") and ABOUT_THEM.search(name)}
for _name, _test in THEIRS.items():
    globals()[f"{_name}_of_scikit_learn"] = pytest.mark.filterwarnings("ignore")(_test)


def test_ours_are_bound():
    """At least 20 of scikit-learn's tests run with the drop-ins in place of the originals."""
    assert len(THEIRS) >= 20
    for name in (*NAMES, *PRIVATE):
        assert getattr(THEIR_TESTS, name) is getattr(ours, name)
        assert getattr(theirs, name, None) is not getattr(ours, name)


PLUGIN = f"""
from sklearn import metrics
from fastndcg.compat import sklearn as ours

for name in {NAMES}:
    setattr(metrics, name, getattr(ours, name))
"""


@pytest.mark.stress
def test_sklearn_common_checks_pass(tmp_path):
    (tmp_path / "ours_in_place.py").write_text(PLUGIN, encoding="utf-8")
    module = importlib.util.find_spec("sklearn.metrics.tests.test_common")
    if module is None:
        pytest.skip("this scikit-learn carries no tests: test_common is absent")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "ours_in_place", "-p", "no:cacheprovider", "-c", os.devnull]
    command += [module.origin, "-k", "dcg_score or label_ranking_average or top_k_accuracy"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 30


LABELS = {
    "binary": st.integers(0, 1), "graded": st.integers(0, 4), "float": st.sampled_from([0.0, 0.25, 1.0, 1.5, 9.5]),
    "negative": st.integers(-3, 3),
}  # fmt: skip
SCORES = st.sampled_from([-1.5, 0.0, -0.0, 0.1, 0.25, 1.0, 7.0])


@st.composite
def tables(draw, labels=LABELS, ties=True, most=7):
    shape = draw(st.integers(1, 4)), draw(st.integers(2, most))
    kind = draw(st.sampled_from(list(labels)))
    values = draw(st.lists(labels[kind], min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    rows = np.array(values).reshape(shape)
    if ties:
        scores = draw(st.lists(SCORES, min_size=rows.size, max_size=rows.size))
        scores = np.array(scores).reshape(shape)
    else:
        scores = np.array([draw(st.permutations(range(shape[1]))) for _ in range(shape[0])])
    scores = scores.astype(draw(st.sampled_from(["f4", "f8", "i8"])))
    weights = draw(st.none() | st.just(np.arange(1.0, shape[0] + 1)))
    return rows, scores, weights


@given(data=st.data())
@strategies.examples(150)
def test_dcg_and_ndcg(data):
    ignore = data.draw(st.booleans())
    labels, scores, weights = data.draw(tables(ties=not ignore))
    options = {"k": data.draw(st.none() | st.integers(1, 9)), "sample_weight": weights, "ignore_ties": ignore}
    base = data.draw(st.sampled_from([2, 10, np.e, 0.5]))
    expected = theirs.dcg_score(labels, scores, log_base=base, **options)
    assert ours.dcg_score(labels, scores, log_base=base, **options) == pytest.approx(expected, rel=1e-12, abs=1e-12)
    if labels.min() >= 0:
        expected = theirs.ndcg_score(labels, scores, **options)
        assert ours.ndcg_score(labels, scores, **options) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(data=st.data())
@strategies.examples(100)
def test_ties_that_are_ignored(data):
    labels, scores, _ = data.draw(tables())
    ranked = np.take_along_axis(labels, np.argsort(scores, axis=1, kind="stable")[:, ::-1], axis=1)
    expected = (ranked / np.log2(np.arange(2, labels.shape[1] + 2))).sum(axis=1).mean()
    assert ours.dcg_score(labels, scores, ignore_ties=True) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(data=st.data())
@strategies.examples(150)
def test_label_ranking(data):
    sparse = pytest.importorskip("scipy.sparse")
    labels, scores, weights = data.draw(tables({"binary": LABELS["binary"]}))
    function = ours.label_ranking_average_precision_score
    expected = theirs.label_ranking_average_precision_score(labels, scores, sample_weight=weights)
    assert function(labels, scores, sample_weight=weights) == pytest.approx(expected, rel=1e-12)
    assert function(sparse.csr_array(labels), scores, sample_weight=weights) == pytest.approx(expected, rel=1e-12)


@given(data=st.data())
@strategies.examples(150)
def test_top_k_accuracy(data):
    _, scores, weights = data.draw(tables(most=data.draw(st.sampled_from([2, 7]))))
    right = np.array(
        data.draw(st.lists(st.integers(0, scores.shape[1] - 1), min_size=len(scores), max_size=len(scores)))
    )
    classes = np.arange(scores.shape[1])
    if data.draw(st.booleans()):
        classes = np.array([f"class {number}" for number in classes])
    if len(classes) == 2:
        scores = data.draw(st.sampled_from([scores[:, 0], scores[:, :1]]))
    options = {
        "k": data.draw(st.integers(1, len(classes) + 1)),
        "normalize": data.draw(st.booleans()),
        "sample_weight": weights,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", theirs._ranking.UndefinedMetricWarning)
        expected = theirs.top_k_accuracy_score(classes[right], scores, labels=classes, **options)
        given = ours.top_k_accuracy_score(classes[right], scores, labels=classes, **options)
    assert given == pytest.approx(expected, rel=1e-12)


def test_a_warning_is_of_the_line_that_calls():
    with pytest.warns(theirs._ranking.UndefinedMetricWarning, match="meaningless") as caught:
        ours.top_k_accuracy_score(CLASSES2, OF_CLASSES, k=3)
    assert caught[0].filename == __file__
