"""The benchmarks' suites: each runs at a small size, verifies its values, and names its goals."""

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest
import strategies

import fastndcg as fn
from benchmarks.__main__ import main
from benchmarks.lib import boosting, contenders, kernel_calls, machine, render, suite, workloads
from benchmarks.lib.cases import make_case
from benchmarks.suites import dropins, fusion, inputs, limits, metrics, peers, profile, scaling, startup, training

SCALE = 1e-4
OPTIONS = suite.Options(SCALE, 1, ())
QUERIES = 40
DOCUMENTS = 100


def test_one_query_is_timed_beside_its_peers(monkeypatch):
    """Each goal is also a ratio to each peer. Peers that are absent or differ are named."""
    entry = contenders.CONTENDERS["NumPy, one expression"]
    absent = dataclasses.replace(entry, module="no_such_module")
    wrong = dataclasses.replace(entry, setup=lambda _: lambda: np.full(1, 2.0))
    monkeypatch.setitem(contenders.CONTENDERS, "scikit-learn", absent)
    monkeypatch.setitem(contenders.CONTENDERS, "pytrec_eval-terrier", wrong)
    monkeypatch.setattr(scaling, "MIN_SECONDS", 0.0)
    rows = {row["what"].partition(", ")[2]: row for row in scaling.measure_one_query(OPTIONS, n_calls=1)}

    kernels = {"the kernels of fn.ndcg alone"} if strategies.JIT else set()
    assert set(rows) == {"fn.ndcg", "Evaluator", *kernels, *scaling.PEER_MICROSECONDS}
    assert "no_such_module" in rows["scikit-learn"]["left out"]
    assert rows["pytrec_eval-terrier"]["left out"] == "its value differs"
    for name, limit in (("fn.ndcg", "3.75"), ("Evaluator", "2")):
        assert rows[name]["detail"].endswith(f" × {scaling.NUMPY_LINE} (≤ {limit})")


@pytest.fixture(scope="module")
def case():
    """Return a small case without ties."""
    return make_case(QUERIES, DOCUMENTS)


def test_peers_name_an_absent_library(case, capsys):
    """A library that cannot be imported is reported with the error."""
    entry = dataclasses.replace(contenders.CONTENDERS["NumPy, one expression"], module="no_such_library")
    expected = {"absent": "ModuleNotFoundError: No module named 'no_such_library'"}
    assert peers.measure_contender(entry, case, 1) == expected
    assert peers.describe_row(expected) == "absent: ModuleNotFoundError: No module named 'no_such_library'"


def test_peers_name_a_failing_library():
    """An error in a library's own process is reported."""
    row = peers.measure_peer("NumPy, one expression", -1, 10, 1)
    assert "ValueError" in row["failed"]


def test_peers_measure_times_and_agreement(case):
    """A measured library has its times, their ratio, and its agreement with ties and without."""
    row = peers.measure_contender(contenders.CONTENDERS["NumPy, one expression"], case, 1)
    assert row["seconds"] > 0
    assert row["ratio"] > 0
    assert row["agreement"]["agrees"]
    assert row["agreement on ties"]["agrees"]


@pytest.mark.parametrize("name", dropins.PAIRS)
@pytest.mark.peers
def test_dropin_agrees(name):
    """Each drop-in gives the values of its original, and an absent original is named."""
    row = dropins.measure_apart(name, 30, 12, 1)
    if "left out" in row:
        assert row["left out"].startswith("ModuleNotFoundError"), row["left out"]
        pytest.skip(row["left out"])
    assert row["value"] > 0
    assert row["detail"].startswith("theirs ")


def test_dropin_with_other_values_raises():
    """No pair is timed whose values differ in number or in size."""
    for theirs in ([1.0, 2.0], {"q": {"a": 1.0, "b": 2.1}}, [1.0]):
        pair = dropins.Pair(lambda values=theirs: values, lambda: {"q": {"b": 2.0, "a": 1.0 + 1e-9}})
        with pytest.raises(SystemExit, match="but differ by"):
            dropins.verify_pair(pair)
    dropins.verify_pair(dropins.Pair(lambda: {"b": 2, "a": 1}, lambda: [1.0, 2.0]))


@pytest.mark.parametrize("name", boosting.LOOPS)
@pytest.mark.peers
def test_boosting_loop_agrees(name):
    """A round's value is the library's own, or the reference's, and an absent library is named."""
    row = training.measure_loop_apart(name, 40, 30, 3)
    if row.get("left out", "").startswith("ModuleNotFoundError"):
        pytest.skip(row["left out"])
    assert row["value"] > 0
    assert "later: ours" in row["detail"]


def test_boosting_loop_with_other_values_raises(monkeypatch):
    """No loop is timed whose value is neither the library's nor the reference's."""

    def make_kind(ours, theirs):
        scores = np.arange(40 * 12, dtype="f8")
        loop = boosting.Loop(lambda: None, lambda: theirs, lambda: ours, lambda: None, lambda: scores, 1e-12)
        return boosting.LoopKind(lambda *_: loop, "default", True)

    case = boosting.make_boosting_case(*boosting.VERIFIED_SHAPE)
    value = fn.evaluate(case.labels, np.arange(40 * 12.0), "ndcg@10", groups=case.make_groups()).means()[0]
    for ours, theirs, message in ((value + 1e-9, value, "the reference"), (value, value + 1e-9, "that of changed")):
        monkeypatch.setitem(boosting.LOOPS, "changed", make_kind(ours, theirs))
        with pytest.raises(ValueError, match=message):
            boosting.measure_loop("changed", 40, 12, 1)
    monkeypatch.setitem(boosting.LOOPS, "changed", make_kind(value, value))
    assert boosting.measure_loop("changed", 40, 12, 1)["later"]["ours"] >= 0


def test_metric_costs_are_of_verified_values(monkeypatch):
    """Each metric has a row with its goal, and a value that differs from the reference raises."""
    workload = workloads.make_workload("sparse8", SCALE)
    deep, *rows = metrics.measure_added_costs(workload, metrics.parse_metrics(["P", "AUC", "IAP"]), 2)
    assert [row["what"] for row in rows] == ["`P@10`", "`AUC`", "`IAP`"]
    assert all(row["goal"] == "≤ 15 %" and row["met"] == (row["value"] <= 15) for row in rows)
    assert "goal" not in deep
    monkeypatch.setattr(metrics, "prepare_evaluation", lambda _: lambda: np.full((workload.n_queries, 2), 0.5))
    with pytest.raises(SystemExit, match="the reference gives"):
        metrics.measure_added_cost(workload, workloads.NDCG, ("P@10",), 1)


def test_all_trec_is_compared_with_pytrec_eval():
    """Both figures name their goal, and pytrec_eval's values are equal."""
    row = metrics.compare_with_ndcg(workloads.make_workload("sparse8", SCALE), 1)
    assert (row["goal"], row["met"]) == ("≤ 4 ×", row["value"] <= 4)
    pytest.importorskip("pytrec_eval")
    row = metrics.compare_with_pytrec_eval(1, n_queries=50)
    assert (row["goal"], row["met"]) == ("≥ 20 ×", row["value"] >= 20)


@pytest.mark.parametrize(("is_met", "code"), [(True, 0), (False, 1)])
def test_command_run_fails_if_a_goal_is_missed(is_met, code, monkeypatch, tmp_path, capsys):
    """The command returns 1 if a goal is missed, and saves what it prints."""
    row = {"what": "`P@10`", "value": 3.0, "unit": "% of nDCG@10", "goal": "≤ 15 %", "met": is_met}
    monkeypatch.setattr(metrics, "measure_added_costs", lambda *_: [row])
    path = tmp_path / "saved.json"
    assert main(["run", "metrics", "--scale", str(SCALE), "--only", "P", "--json", str(path)]) == code
    assert "`P@10` | 3 % of nDCG@10" in capsys.readouterr().out
    assert json.loads(path.read_text(encoding="utf-8"))["figures"] == [row]


def test_command_run_lists_the_parts_of_a_suite(capsys):
    """An unknown part ends the command, and the message lists all parts."""
    with pytest.raises(SystemExit):
        main(["run", "startup", "--only", "nothing"])
    assert "'nothing' is not a part. There are: import, first-call, twelve-metrics" in capsys.readouterr().err


@pytest.mark.parametrize("name", suite.SUITES)
def test_suite_is_complete(name):
    """Every suite can be loaded and has different parts."""
    loaded = suite.load_suite(name)
    assert len(set(loaded.parts)) == len(loaded.parts) > 0
    assert not loaded.is_published or (suite.RESULTS / f"{name}.json").exists()


def test_suite_core_measures_a_workload():
    """A workload's row has its times and its ratio to another workload."""
    rows = suite.load_suite("core").measure(suite.Options(SCALE, 1, ("tied",)))["workloads"]
    assert [(row["workload"], row["against"]) for row in rows] == [("tied", "sparse8")]
    assert "| tied |" in render.render_workloads({"workloads": rows})


@pytest.mark.parametrize("form", ["dicts", "recommendations"])
def test_inputs_are_measured(form, tmp_path):
    """Each row has what the table shows of it."""
    pytest.importorskip({"dicts": "pytrec_eval", "recommendations": "scipy"}[form])
    for measure in inputs.FORMS[form](tmp_path, 1e-3):
        row = measure()
        assert row["met"] == (row["value"] <= float(row["goal"].removeprefix("≤ ")))
        assert f"| {row['what']} | {row['value']:g} {row['unit']} |" in render.render_figures({"figures": [row]})


def test_subtract_memory_leaves_the_memory_of_the_work():
    """A process that makes 64 MB more than another holds 64 MB more."""
    row = inputs.subtract_memory("an array", "import numpy", "\na = numpy.ones(8_000_000)", 100, "")
    assert 60 < row["value"] < 70
    assert row["met"]


@pytest.mark.skipif(not strategies.JIT, reason="only compiled kernels are recorded")
def test_service_call_is_verified(monkeypatch):
    """The kernels alone give the reference's value, and both calls are measured above them."""
    monkeypatch.setattr(training, "CALLS", 2)
    rows = training.measure_service_call(1)
    assert [row["what"] for row in rows] == [
        "one query of 100 documents, evaluate above its kernels",
        "one query of 100 documents, evaluate(out=) above its kernels",
    ]
    assert all("kernels alone" in row["detail"] for row in rows)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.peers
def test_torch_batches_are_verified():
    """Both forms of batches give torchmetrics' value before they are timed."""
    pytest.importorskip("torchmetrics", reason="torchmetrics is absent: pip install 'fastndcg[torch]'")
    rows = training.compare_with_torchmetrics(QUERIES, 10, 1)
    assert [row["what"].partition(",")[0] for row in rows] == ["RankingMetrics by indexes", "RankingMetrics by rows"]


@pytest.mark.skipif(not strategies.JIT, reason="only compiled kernels are recorded")
def test_profile_adds_up_to_the_whole():
    """Each kernel's calls are counted, the rest is Python's, and the kernels are restored."""
    found = profile.measure_profile("everything", SCALE, 2)
    assert found.whole > 0
    assert len(found.n_calls) > 3
    assert found.shares[profile.REST] > 0
    assert set(found.shares) == {*found.n_calls, profile.REST}
    with kernel_calls.time_kernels() as (_, n_calls):
        pass
    workloads.prepare_evaluation(workloads.make_workload("everything", SCALE))()
    assert not n_calls


def test_limits_compare_metrics_with_shared_hits():
    """Many metrics are compared with nDCG of all ranks, and the goal is that of the workload."""
    rows = limits.measure_shared_hits(SCALE, 1)
    assert [row["what"].partition(" ")[0] for row in rows] == ["nDCG", "writing", "everything", "all_trec"]
    assert [row.get("goal") for row in rows] == [None, None, "≤ 1.6 ×", "≤ 4 ×"]
    assert all(row["value"] > 0 for row in rows)


def test_limits_write_the_whole_output():
    """Every value of every metric is written, in several chunks."""
    workload = workloads.make_workload("everything", 0.03)
    values = limits.prepare_writing(workload)()
    assert values.shape == (len(workload.metrics), workload.n_queries)
    assert (values == 1).all()


def test_startup_links_only_needed_packages(tmp_path):
    """NumPy and Numba can be imported from the links, and no other installed package."""
    startup.link_needed_packages(tmp_path)
    code = "import numba; from importlib.util import find_spec as find; print(find('pytest'), find('hypothesis'))"
    environment = machine.make_environment(PYTHONPATH=str(tmp_path))
    options = {"env": environment, "capture_output": True, "text": True}
    completed = subprocess.run([sys.executable, "-S", "-c", code], check=False, **options)
    assert (completed.stdout, completed.stderr) == ("None None\n", "")


@pytest.mark.skipif(not strategies.JIT, reason="only compiled kernels are recorded")
def test_prepare_kernels_writes_the_same_value():
    """The kernels alone write the value of the evaluation."""
    out = np.empty((1, 1))

    def prepare():
        evaluator = fn.Evaluator([[1, 0]], "ndcg@2")
        return lambda: evaluator.evaluate([[0.1, 0.9]], out=out)

    call = kernel_calls.prepare_kernels(prepare)
    out.fill(np.nan)
    assert len(call()) >= 2
    assert out.item() == pytest.approx(1 / np.log2(3))


def test_fusion_is_compared_with_sorting():
    """Fused scores are compared with the reference, and each method has a figure with its goal."""
    rows = fusion.compare_with_sorting(OPTIONS)

    assert [row["what"].partition(",")[0] for row in rows] == list(fusion.METHODS)
    assert all(row["goal"] == "≤ 1.5 × sorting" for row in rows)
    with pytest.raises(SystemExit, match="must equal those of ranx"):
        fusion.check_equal({"q": {"d": 1.0}}, {"q": {"d": 1.1}}, "ranx")
