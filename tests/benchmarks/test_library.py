"""The benchmarks' library: workloads, baselines, verification, timing, contenders."""

import dataclasses
import warnings

import numpy as np
import pytest

import fastndcg as fn
from benchmarks.lib import baseline, contenders, machine, process, timing, verify, workloads
from benchmarks.lib.cases import make_case
from fastndcg.metrics.trec_eval import read
from fastndcg.metrics.trec_eval_lines import lines

SCALE = 1e-4
QUERIES = 40
DOCUMENTS = 100


@pytest.mark.parametrize("name", workloads.RECIPES)
def test_workload_follows_its_recipe(name):
    """Sizes, dtypes and the share of relevant documents follow the recipe, and the baselines sum the arrays."""
    recipe = workloads.RECIPES[name]
    workload = workloads.make_workload(name, 0.002)
    sizes = np.diff(workload.offsets)
    assert (workload.labels.dtype, workload.scores.dtype) == (recipe.label_dtype, recipe.score_dtype)
    assert len(workload.labels) == len(workload.scores) == workload.offsets[-1]
    if recipe.giant is None:
        assert sizes.min() >= recipe.shortest
        assert sizes.max() <= recipe.longest
        assert workload.n_queries == round(recipe.queries * 0.002)
    share = 1 / recipe.shortest if recipe.relevant is None else recipe.relevant
    assert workload.labels.mean() == pytest.approx(share, rel=0.1)
    total = workload.scores.sum(dtype="f8") + workload.labels.sum(dtype="f8")
    for prepare in (baseline.prepare_ordered_sum, baseline.prepare_bandwidth_sum):
        assert prepare(workload, threads=2)() == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("name", workloads.RECIPES)
def test_workload_is_seeded_and_verified(name):
    """Equal names give equal bytes, and our values on them equal the reference's."""
    workload, again = (workloads.make_workload(name, SCALE) for _ in range(2))
    for field in ("labels", "scores", "offsets"):
        assert getattr(workload, field).tobytes() == getattr(again, field).tobytes()
    assert verify.verify_values(workload, workloads.prepare_evaluation(workload)(), 20) > 0


def test_workloads_with_hard_scores():
    """Tied scores have 16 values, sorted scores are sorted, and the largest query has half of all documents."""
    assert len(np.unique(workloads.make_workload("tied", SCALE).scores)) == 16
    for name, sign in (("presorted", -1), ("reversed", 1)):
        workload = workloads.make_workload(name, SCALE)
        bounds = zip(workload.offsets[:-1], workload.offsets[1:], strict=True)
        assert all((np.diff(sign * workload.scores[start:stop]) >= 0).all() for start, stop in bounds)
    giant, spread = (workloads.make_workload(name, SCALE) for name in ("giant", "giant-spread"))
    assert 2 * np.diff(giant.offsets).max() == giant.n_documents == spread.n_documents
    assert np.ptp(np.diff(spread.offsets)) <= 1
    assert giant.scores.tobytes() == spread.scores.tobytes()
    assert len(workloads.RECIPES["everything"].metrics) == 12


def test_workload_all_trec_has_the_metrics_of_trec_eval():
    """The metrics that are written out are those that the measure all_trec expands to."""
    expected = [str(line.metric) for line in lines(read("all_trec") or []) if line.metric is not None]
    assert tuple(dict.fromkeys(expected)) == workloads.ALL_TREC


def test_make_sized_workload():
    """The number of documents is within 1 % of the requested one."""
    assert workloads.make_sized_workload("sparse8", 10**5).n_documents == pytest.approx(10**5, rel=0.01)


def test_verify_raises_on_a_wrong_value():
    """A value that is off by 1e-9 raises, and so does a workload with too many orders of tied scores."""
    workload = workloads.make_workload("sparse8", SCALE)
    values = workloads.prepare_evaluation(workload)()
    values[7] += 1e-9
    with pytest.raises(SystemExit, match="sparse8: query 7 is"):
        verify.verify_values(workload, values, 100)
    tied = dataclasses.replace(workload, scores=np.zeros_like(workload.scores), metrics=("nDCG@10", "AP"))
    with pytest.raises(SystemExit, match="the reference can check only"):
        verify.verify_values(tied, workloads.prepare_evaluation(tied)(), 100)


def test_cut_query_keeps_ndcg():
    """Documents that nDCG@k does not depend on can be cut off, with ties at rank k too."""
    workload = workloads.make_workload("tied", SCALE)
    for query in range(10):
        rankings = verify.select_query(workload, query)
        expected = fn.evaluate(rankings, metrics="ndcg@10").values
        values = fn.evaluate(verify.cut_query(rankings, 10), metrics="ndcg@10").values
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)


def test_count_orders():
    """Orders of equal labels count once: 3! / 2! of three tied documents, 1 of another."""
    assert verify.count_orders(fn.Rankings([1, 0, 0, 1], [2, 2, 2, 1], [0, 4])) == pytest.approx(3)


@pytest.fixture(scope="module")
def case():
    """Return a small case without ties, with a query without relevant documents."""
    made = make_case(QUERIES, DOCUMENTS)
    made.labels[3] = 0
    return made


@pytest.mark.parametrize("name", contenders.CONTENDERS)
@pytest.mark.peers
def test_contender_agrees(name, case):
    """Every library that is installed gives our values under the nearest convention."""
    from benchmarks.suites.peers import verify_contender

    entry = contenders.CONTENDERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = entry.find_problem()
        if problem:
            pytest.skip(f"{entry.package} is absent: {problem}")
        assert verify_contender(entry, case) > 0
        agreement = contenders.compare_values(entry, case, entry.setup(case)())
    assert agreement["agrees"], agreement


def test_compare_values_reports_the_largest_difference():
    """The largest difference of queries or means is reported, and NaN differs from 0."""
    case = make_case(QUERIES, DOCUMENTS)
    case.labels[3] = 0
    convention = fn.conventions["default"]
    entry = contenders.Contender("library", "numpy", "numpy", None, convention, lambda result, _: result)
    values = entry.compute_expected(case)
    shifted = values.copy()
    shifted[5] += 0.25
    agreement = contenders.compare_values(entry, case, shifted)
    assert (agreement["agrees"], agreement["of"], agreement["difference"]) == (False, "each query", pytest.approx(0.25))
    assert contenders.compare_values(entry, case, np.nanmean(values))["agrees"]
    assert not contenders.compare_values(entry, case, np.nanmean(values) + 1e-6)["agrees"]
    values[3] = 0.0
    assert not contenders.compare_values(entry, case, values)["agrees"]


def test_time_alternately():
    """Each call runs once untimed and `repeat` times in alternating order."""
    calls = []
    seconds = timing.time_alternately({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeat=2)
    assert "".join(calls) == "ab" + "ab" + "ba"
    assert set(seconds) == {"a", "b"}


def test_describe_environment():
    """Machine, versions and date are named."""
    environment = machine.describe_environment(["pytest", "no-such-package"])
    assert environment["versions"]["fastndcg"] == fn.__version__
    assert "pytest" in environment["versions"]
    assert "no-such-package" not in environment["versions"]
    assert environment["machine"]
    assert environment["date"].startswith("20")


def test_call_in_process_returns_the_last_error():
    """A function's dict is returned, and an error in the process is named."""
    assert process.call_in_process("benchmarks.lib.machine", "find_versions", packages=["numpy"]) == {
        "numpy": np.__version__
    }
    failure = process.call_in_process("benchmarks.lib.machine", "find_versions", packages=None)
    assert failure["failed"].startswith("TypeError")
