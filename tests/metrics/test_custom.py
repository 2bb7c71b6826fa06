"""Metrics of users' own: evaluated, named, listed and refused as those of the catalogue."""

import os
import pickle
import textwrap

import numpy as np
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import fastndcg as fn
from fastndcg.engine import run as engine
from fastndcg.metrics.custom import FIXED_TIES

njit = pytest.importorskip("numba").njit

WORDS = {"title": "x", "formula": "x", "range": "0 and up", "source": "x"}


@njit
def precision(labels, above, ties, ideal, n_relevant, n_documents, k, rel):
    """Compute P@k. Without a cutoff, divide by the number of documents."""
    return (labels >= rel).sum() / (k if k < 2**31 - 1 else max(n_documents, 1))


@njit
def discounted(labels, above, ties, ideal, n_relevant, n_documents, k):
    """NDCG, its sums in rank order."""
    total, best = 0.0, 0.0
    for h in range(len(labels)):
        total += labels[h] / np.log2(above[h] + 2)
    for r in range(len(ideal)):
        best += ideal[r] / np.log2(r + 2)
    return total / best if best > 0 else np.nan


@njit
def expected_found(labels, above, ties, ideal, n_relevant, n_documents, k):
    """Recall, which takes ties into account."""
    found = 0.0
    for h in range(len(labels)):
        found += (labels[h] >= 1) * min(1.0, (k - above[h]) / ties[h])
    return found / n_relevant if n_relevant > 0 else np.nan


def registered(function=precision, **changed):
    rel = fn.Parameter("rel", "float", 1, "relevant from here on", above=0)
    return fn.register(function, **({"name": "Own", "parameters": [rel], **WORDS} | changed))


@strategies.examples(60)
@given(case=strategies.cases(), policy=st.sampled_from(FIXED_TIES), k=st.none() | st.integers(1, 9))
def test_equals_the_built_in_ones_and_the_reference(case, policy, k):
    own = registered() @ k if k else registered()
    ndcg = registered(discounted, name="OwnNDCG", parameters=[])
    ndcg = ndcg @ k if k else ndcg
    convention = fn.conventions["default"].replace(ties=policy, negative_labels="zero", nan_scores="last")
    convention = convention.replace(precision_denominator="min(k, n_retrieved)" if k is None else "k")
    asked = [own, ndcg, fn.Metric("P", k), fn.Metric("nDCG", k)]
    values = fn.evaluate(case.rankings, metrics=asked, convention=convention).values
    assert values[:, :2] == pytest.approx(values[:, 2:], rel=1e-12, nan_ok=True)
    slow = fn.reference.evaluate(case.rankings, metrics=asked[:2], convention=convention).values
    assert values[:, :2] == pytest.approx(slow, rel=1e-12, nan_ok=True)
    averaging = registered(expected_found, parameters=[], ties=["average"]) @ (k or 9)
    values = fn.evaluate(
        case.rankings, metrics=[averaging, fn.R @ (k or 9)], convention=convention.replace(ties="average")
    )
    assert values.values[:, 0] == pytest.approx(values.values[:, 1], rel=1e-12, nan_ok=True)


def test_custom_metric_does_not_depend_on_chunks_or_other_metrics():
    rankings = strategies.random_rankings()
    convention = fn.conventions["default"].replace(ties="input", negative_labels="zero")
    own = registered(discounted, parameters=[]) @ 3
    alone = engine.run(rankings, (own,), convention).values
    many = engine.run(rankings, (fn.AP, own, fn.RR @ 1), convention, threads=2, chunk_documents=500).values[:, 1]
    assert alone[:, 0].tobytes() == many.tobytes()


def test_custom_metric_behaves_like_catalogue_metric():
    own = registered(aliases=["mine"])
    assert fn.Metric.parse("mine(rel=2)@5") == own(rel=2) @ 5
    assert pickle.loads(pickle.dumps(own @ 5)) == own @ 5
    assert fn.CATALOG["Own"].title == "x"
    labels, scores = [[2, 1, 0, 0]], [[1, 2, 3, 4]]
    assert fn.evaluate(labels, scores, "own(rel=2)@4, gm(own@3)").means() == [1 / 4, pytest.approx(1 / 3)]
    average = fn.evaluate(labels, [[1, 1, 1, 1]], "own", convention="sklearn_ignore_ties")
    assert average.means() == [2 / 4]
    registered(discounted, aliases=[], parameters=[])
    assert fn.evaluate(labels, scores, "own").means() == fn.evaluate(labels, scores, "ndcg").means()
    refused("no metric is called 'mine'", fn.Metric.parse, "mine", error=ValueError)


def test_custom_metric_text_means_last_registration():
    values = []
    for default in (1, 2, 1):
        registered(parameters=[fn.Parameter("rel", "float", default, "relevant from here on", above=0)])
        values.append(fn.evaluate([[1, 2, 2, 0]], [[4, 3, 2, 1]], "own@4").values.item())
    assert values == [0.75, 0.5, 0.75]


def test_tied_scores_are_refused_unless_it_averages():
    registered()
    assert fn.evaluate([[1, 0]], [[2, 1]], "own").means() == [0.5]
    for evaluate in (fn.evaluate, fn.reference.evaluate):
        with pytest.raises(ValueError, match=r"must not tie between different labels for Own.*ties='input' or "):
            evaluate([[1, 0]], [[1, 1]], "own")
    registered(expected_found, parameters=[], ties=["average"])
    with pytest.raises(ValueError, match=r"Own must have a tie policy that it is defined for \(average\), not input"):
        fn.evaluate([[1, 0]], [[1, 1]], "own", convention="default(ties=input)")


def test_errors_name_the_metric_and_the_query():
    def fails(labels, above, ties, ideal, n_relevant, n_documents, k):
        if n_relevant > 1:
            raise ValueError("too many")
        return labels[n_documents + 5] if n_documents == 1 else 0.0

    for function in (njit(fails), fails):
        registered(function, parameters=[])
        message = "registered metric Own failed at query b: ValueError: too many"
        with pytest.raises(fn.RegisteredMetricError, match=message) as error:
            fn.evaluate([1, 0, 1, 1], [4, 3, 2, 1], "own", query_ids=["a", "a", "b", "b"])
        assert isinstance(error.value.__cause__, ValueError)
    if strategies.JIT:  # machine code of a function that the user has not compiled checks its indices
        refused("IndexError", fn.evaluate, [[1]], [[4]], "own", error=fn.RegisteredMetricError)
    registered(lambda labels: 0.0, parameters=[])
    with pytest.raises(fn.RegisteredMetricError, match=r"Own failed at query a: (TypeError|TypingError)"):
        fn.evaluate([1, 0], [4, 3], "own", query_ids=["a", "a"])


@pytest.mark.parametrize(("changed", "message"), [
    ({"name": "nDCG"}, "must be new, but 'nDCG' means nDCG"), ({"aliases": ["MAP"]}, "must be new, but 'MAP' means AP"),
    ({"name": "gm"}, "'gm' has a meaning"), ({"aliases": ["ndcg_cut"]}, "'ndcg_cut' has a meaning"),
    ({"name": "own metric"}, "must be of letters, digits, _ and -, not 'own metric'"),
    ({"ties": ["random"]}, "`ties` must be some of average, input, .*, not random"), ({"ties": []}, "not none"),
    ({"parameters": [fn.Parameter("gain", "gain", None, "")]}, "`parameters` must be Parameter.*'gain'"),
    ({"function": 3}, "`function` must be a function of one query's hits, not int"),
    ({"higher_is_better": True, "parameters": ["rel"]}, "`parameters` must be Parameter"),
    ({"higher_is_better": "no"}, "`higher_is_better` must be True, False or None, not 'no'"),
], ids=str)  # fmt: skip
def test_custom_metric_raises_on_wrong_record(changed, message):
    before = list(fn.CATALOG)
    refused(message, lambda: registered(**changed), error=ValueError)
    assert list(fn.CATALOG) == before


def test_command_line(files, shown, wrong):
    (files / "mine.py").write_text(
        textwrap.dedent("""
        import fastndcg as fn

        def first(labels, above, ties, ideal, n_relevant, n_documents, k):
            return float(above[0]) if len(above) else -1.0

        fn.register(first, name="First", title="documents above", formula="rank - 1", range="any", source="us")
    """)
    )
    assert "First" in shown("--import", "mine.py", "evaluate", "qrels.txt", "good.run", "-m", "first,rr")
    assert shown("--import", f".{os.sep}mine.py", "metrics", "First").startswith("First: documents above\n")
    (files / "wrong.py").write_text("1 / 0")
    for source, message in {
        "absent.py": "--import: the file absent.py does not exist",
        "wrong.py": "--import wrong.py: ZeroDivisionError: division by zero",
        "no_such_module": "--import no_such_module: ModuleNotFoundError",
    }.items():
        wrong(message, "--import", source, "metrics")
