"""The benchmarks, their times aside: workloads, proofs, libraries, forms of input."""

import dataclasses
import json
import subprocess
import sys
import warnings
from pathlib import Path

import cases
import catalogue
import contenders
import dropins
import epochs
import floor
import further
import inputs
import limits
import numpy as np
import parts
import peers
import proof
import pytest
import render
import rounds
import startup
import timing
import workloads

import fastndcg as fn
import fastndcg.chunk

ROOT = Path(__file__).resolve().parents[1]
SCALE = 1e-4
QUERIES, DOCUMENTS = 40, 100


@pytest.mark.parametrize("name", workloads.RECIPES)
def test_workloads_are_as_their_recipes_say(name):
    """Sizes, dtypes and shares of relevant documents are those of the recipe, and the floor adds the arrays up."""
    recipe, workload = workloads.RECIPES[name], workloads.make(name, 0.002)
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
    for add_up in (floor.floor, floor.reading):
        assert add_up(workload, threads=2)() == pytest.approx(total, rel=1e-5)


@pytest.mark.parametrize("name", workloads.RECIPES)
def test_workloads_are_seeded_and_proven(name):
    """The same name gives the same bytes; our values on them are the reference's."""
    one, two = (workloads.make(name, SCALE) for _ in range(2))
    for field in ("labels", "scores", "offsets"):
        assert getattr(one, field).tobytes() == getattr(two, field).tobytes()
    assert proof.prove(one, workloads.ours(one)(), 20) > 0


def test_hard_cases_are_hard():
    """Tied scores have 16 values, sorted ones are sorted, the giant has half of all documents."""
    assert len(np.unique(workloads.make("tied", SCALE).scores)) == 16
    for name, sign in (("presorted", -1), ("reversed", 1)):
        workload = workloads.make(name, SCALE)
        assert all(
            (np.diff(sign * workload.scores[a:b]) >= 0).all()
            for a, b in zip(workload.offsets[:-1], workload.offsets[1:], strict=True)
        )
    giant, spread = (workloads.make(name, SCALE) for name in ("giant", "giant-spread"))
    assert 2 * np.diff(giant.offsets).max() == giant.n_documents == spread.n_documents
    assert np.ptp(np.diff(spread.offsets)) <= 1
    assert giant.scores.tobytes() == spread.scores.tobytes()
    assert len(workloads.RECIPES["everything"].metrics) == 12


def test_one_query_is_timed_beside_what_its_goals_were_set_beside(monkeypatch):
    """Each goal is told as ratios too; a library that is absent is named, and so is one whose number is another."""
    entry = contenders.CONTENDERS["NumPy, one expression"]
    absent = dataclasses.replace(entry, module="no_such_module")
    wrong = dataclasses.replace(entry, setup=lambda _: lambda: np.full(1, 2.0))
    monkeypatch.setitem(contenders.CONTENDERS, "scikit-learn", absent)
    monkeypatch.setitem(contenders.CONTENDERS, "pytrec_eval-terrier", wrong)
    monkeypatch.setattr(further, "LEAST_SECONDS", 0.0)
    rows = {row["what"].partition(", ")[2]: row for row in further.latency(1, calls=1)}

    assert set(rows) == {"fn.ndcg", "Evaluator", "the kernels of fn.ndcg alone", *further.BESIDE}
    assert "no_such_module" in rows["scikit-learn"]["left out"]
    assert rows["pytrec_eval-terrier"]["left out"] == "its number is another"
    for name, limit in (("fn.ndcg", "3.75"), ("Evaluator", "2")):
        assert rows[name]["detail"].endswith(f" × {further.ONE_LINE} (≤ {limit})")


def test_make_sized():
    """A number of documents is met within a percent."""
    assert workloads.make_sized("sparse8", 10**5).n_documents == pytest.approx(10**5, rel=0.01)


def test_proof_refuses_a_wrong_value():
    """A value that is off by 1e-9 is not proven, nor is a workload that the reference cannot follow."""
    workload = workloads.make("sparse8", SCALE)
    values = workloads.ours(workload)()
    values[7] += 1e-9
    with pytest.raises(SystemExit, match="sparse8: query 7 is"):
        proof.prove(workload, values, 100)
    same = dataclasses.replace(workload, scores=np.zeros_like(workload.scores), metrics=("nDCG@10", "AP"))
    with pytest.raises(SystemExit, match="within the reference's reach"):
        proof.prove(same, workloads.ours(same)(), 100)


def test_cut_keeps_the_value():
    """What nDCG@k does not depend on can be cut off: the value stays, with ties at rank k too."""
    workload = workloads.make("tied", SCALE)
    for query in range(10):
        rankings = proof.one_query(workload, query)
        whole, part = (fn.evaluate(one, metrics="ndcg@10").values for one in (rankings, proof.cut(rankings, 10)))
        np.testing.assert_allclose(part, whole, rtol=0, atol=1e-15)


def test_n_orders():
    """Orders of ties are counted, those of equal labels once: 3! / 2! of three documents, 1 of another."""
    assert proof.n_orders(fn.Rankings([1, 0, 0, 1], [2, 2, 2, 1], [0, 4])) == pytest.approx(3)


@pytest.fixture(scope="module")
def case():
    """A small case without ties, with a query that has nothing relevant."""
    made = peers.make(QUERIES, DOCUMENTS)
    made.labels[3] = 0
    return made


@pytest.mark.parametrize("name", contenders.CONTENDERS)
def test_libraries_agree(name, case):
    """Every library that is installed gives the numbers that we give under the nearest convention."""
    entry = contenders.CONTENDERS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reason = entry.absent()
        if reason:
            pytest.skip(f"{entry.package} is absent: {reason}")
        assert peers.prove(entry, case) > 0
        found = contenders.agreement(entry, case, entry.setup(case)())
    assert found["agrees"], found


def entry(setup, **changes):
    """A contender that is none of the registry's."""
    convention = fn.conventions["default"]
    made = contenders.Contender("made up", "numpy", "numpy", setup, convention, lambda given, _: given)
    return dataclasses.replace(made, **changes)


def test_disagreement_has_its_difference(case):
    """Numbers that differ are found with the largest difference, for each query and for the mean."""
    values = entry(None).expected(case)
    shifted = values.copy()
    shifted[5] += 0.25
    found = contenders.agreement(entry(None), case, shifted)
    assert (found["agrees"], found["of"], found["difference"]) == (False, "each query", pytest.approx(0.25))
    assert contenders.agreement(entry(None), case, np.nanmean(values))["agrees"]
    assert not contenders.agreement(entry(None), case, np.nanmean(values) + 1e-6)["agrees"]
    values[3] = 0.0  # a query without a value is not one with the value 0
    assert not contenders.agreement(entry(None), case, values)["agrees"]


def test_absent_libraries_are_named(case, capsys):
    """A library that cannot be imported is reported with its name and the reason."""
    lacking = entry(None, module="no_such_library")
    found = peers.measure(lacking, case, 1)
    assert found == {"absent": "ModuleNotFoundError: No module named 'no_such_library'"}
    peers.report({"name": "made up"} | found)
    printed = capsys.readouterr().out
    assert printed.startswith("made up ")
    assert printed.endswith("absent: ModuleNotFoundError: No module named 'no_such_library'\n")


def test_failing_libraries_are_named():
    """What goes wrong in a library's own process is reported, and the others are measured."""
    found = peers.apart("NumPy, one expression", -1, 10, 1)
    assert "ValueError" in found["failed"]


def test_measure(case):
    """A measured library has its times, their ratio, and whether it agrees, with ties and without."""
    found = peers.measure(contenders.CONTENDERS["NumPy, one expression"], case, 1)
    assert found["seconds"] > 0
    assert found["ratio"] > 0
    assert found["agreement"]["agrees"]
    assert found["agreement on ties"]["agrees"]


@pytest.mark.parametrize("name", dropins.GOALS)
def test_dropins_agree(name):
    """Each drop-in gives what its original gives, on the documents that are timed; absent originals are named."""
    found = dropins.apart(name, 30, 12, 1)
    if "failed" in found:
        assert found["failed"].startswith("ModuleNotFoundError"), found["failed"]
        pytest.skip(found["failed"])
    assert found["ratio"] > 0
    assert set(found["ms"]) >= {"theirs", "ours"}
    assert name in dropins.described(name, found)


def test_dropins_that_differ_are_refused():
    """No times where values differ, in number or in size."""
    for theirs in ([1.0, 2.0], {"q": {"a": 1.0, "b": 2.1}}, [1.0]):
        with pytest.raises(SystemExit, match="values differ by"):
            dropins.prove(dropins.Pair(lambda given=theirs: given, lambda: {"q": {"b": 2.0, "a": 1.0 + 1e-9}}))
    dropins.prove(dropins.Pair(lambda: {"b": 2, "a": 1}, lambda: [1.0, 2.0]))


@pytest.mark.parametrize("name", rounds.LOOPS)
def test_rounds_agree(name):
    """A round's value is the library's own, or the reference's; absent libraries are named."""
    found = rounds.apart(name, 40, 30, 3)
    if found.get("error", "").startswith("ModuleNotFoundError"):
        pytest.skip(found["error"])
    assert found["ratio"] > 0
    assert name in rounds.described(name, found)


def test_rounds_that_differ_are_refused(monkeypatch):
    """No times where a value is neither the library's nor the reference's."""

    def loop(ours, theirs):
        scores = np.arange(40 * 12, dtype="f8")
        return rounds.Loop(lambda: None, lambda: theirs, lambda: ours, lambda: scores, 1e-12)

    case = rounds.make(*rounds.SMALL)
    right = fn.evaluate(case.labels, np.arange(40 * 12.0), "ndcg@10", groups=case.groups()).means()[0]
    for ours, theirs, message in ((right + 1e-9, right, "the reference"), (right, right + 1e-9, "and one")):
        monkeypatch.setitem(rounds.LOOPS, "one", (lambda *_, pair=(ours, theirs): loop(*pair), "default", True))
        with pytest.raises(ValueError, match=message):
            rounds.measure("one", 40, 12, 1)
    monkeypatch.setitem(rounds.LOOPS, "one", (lambda *_: loop(right, right), "default", True))
    assert rounds.measure("one", 40, 12, 1)["ms"]["ours"] > 0


def test_what_metrics_cost_is_told_of_values_that_are_proven(monkeypatch):
    """A row for each metric, with its goal; none where the kernels and the reference differ."""
    workload = workloads.make("sparse8", SCALE)
    deep, *rows = catalogue.added(workload, [fn.Metric.parse(text) for text in ("P", "AUC", "IAP")], 2)
    assert [row["what"] for row in rows] == ["`P@10`", "`AUC`", "`IAP`"]
    assert all(row["goal"] == "≤ 15 %" and row["met"] == (row["value"] <= 15) for row in rows)
    assert "goal" not in deep
    monkeypatch.setattr(catalogue, "ours", lambda _: lambda: np.full((workload.n_queries, 2), 0.5))
    with pytest.raises(SystemExit, match="the reference says"):
        catalogue.added_time(workload, workloads.NDCG, ("P@10",), 1)


def test_all_of_trec_eval_is_measured_against_its_library():
    """Both figures name their goal; pytrec_eval's values have been found equal."""
    row = catalogue.times_ndcg(workloads.make("sparse8", SCALE), 1)
    assert (row["goal"], row["met"]) == ("≤ 4 ×", row["value"] <= 4)
    pytest.importorskip("pytrec_eval")
    row = catalogue.times_faster(1, n_queries=50)
    assert (row["goal"], row["met"]) == ("≥ 20 ×", row["value"] >= 20)


@pytest.mark.parametrize(("met", "code"), [(True, 0), (False, 1)])
def test_a_metric_that_costs_too_much_fails_the_benchmark(met, code, monkeypatch, tmp_path, capsys):
    """The command ends with 1 if a goal is missed; what it prints is saved."""
    row = {"what": "`P@10`", "value": 3.0, "unit": "% of nDCG@10", "goal": "≤ 15 %", "met": met}
    monkeypatch.setattr(catalogue, "added", lambda *_: [row])
    saved = tmp_path / "saved.json"
    command = ["catalogue.py", "--scale", str(SCALE), "--only", "P", "--json", str(saved)]
    monkeypatch.setattr(sys, "argv", command)
    assert catalogue.main() == code
    assert "`P@10` | 3 % of nDCG@10" in capsys.readouterr().out
    assert json.loads(saved.read_text(encoding="utf-8"))["figures"] == [row]


def test_interleaved_takes_turns():
    """Each is called once to warm up and `repeat` times in turns; the shortest time counts."""
    calls = []
    taken = timing.interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, repeat=2)
    assert "".join(calls) == "ab" + "ab" + "ba"
    assert set(taken) == {"a", "b"}


def test_about_names_what_was_measured_with():
    """Machine, versions and date are there."""
    found = timing.about(["pytest", "no-such-package"])
    assert found["versions"]["fastndcg"] == fn.__version__
    assert "pytest" in found["versions"]
    assert "no-such-package" not in found["versions"]
    assert found["machine"]
    assert found["date"].startswith("20")


@pytest.mark.parametrize("form", ["dicts", "recommendations"])
def test_forms_of_input_are_measured(form, tmp_path):
    """Each figure has what the table shows of it."""
    pytest.importorskip({"dicts": "pytrec_eval", "recommendations": "scipy"}[form])
    rows = [measure() for measure in inputs.FORMS[form](tmp_path, 1e-3)]
    for row in rows:
        assert row["met"] == (row["value"] <= float(row["goal"].removeprefix("≤ ")))
        assert f"| {row['what']} | {row['value']:g} {row['unit']} |" in render.figures_table({"figures": rows})


def test_memory_above_is_that_of_the_work_alone():
    """A process that makes 64 MB more than another holds so many more."""
    row = inputs.memory_above("an array", "import numpy", "\na = numpy.ones(8_000_000)", 100, "")
    assert 60 < row["value"] < 70
    assert row["met"]


def test_a_call_of_a_service_is_proven(monkeypatch):
    """The bare kernels give the reference's value, and both ways to call are measured against them."""
    monkeypatch.setattr(epochs, "CALLS", 2)
    rows = epochs.one_call(1)
    assert [row["what"].rpartition(", ")[2] for row in rows] == ["evaluate", "evaluate(out=)"]
    assert all(row["kernels alone, µs"] > 0 for row in rows)


@pytest.mark.filterwarnings("ignore")
def test_batches_of_tensors_are_proven():
    """Both forms of batches give torchmetrics' value before they are timed."""
    pytest.importorskip("torchmetrics", reason="torchmetrics is absent: pip install 'fastndcg[torch]'")
    rows = epochs.against_torchmetrics(QUERIES, 10, 1)
    assert [row["what"].partition(",")[0] for row in rows] == ["RankingMetrics by indexes", "RankingMetrics by rows"]


@pytest.mark.skipif(not cases.JIT, reason="kernels are watched where they are compiled")
def test_parts_add_up_to_the_whole():
    """Each kernel's calls are counted, what is left is Python's, and the kernels are what they were."""
    before = fastndcg.chunk.rank
    whole, shares, calls = parts.parts_of("everything", SCALE, 2)
    assert fastndcg.chunk.rank is before
    assert whole > 0
    assert calls["rank.rank"] == calls["candidates.collect"] == 1
    assert calls["gain.ndcg"] == 4
    assert shares[parts.REST] > 0
    assert set(shares) == {*calls, parts.REST}


def test_many_metrics_are_told_beside_the_hits_that_they_share():
    """Each is proven, told beside nDCG of all ranks under its own convention, and the goal is its workload's."""
    rows = limits.shared_hits(SCALE, 1)
    assert [row["what"].partition(" ")[0] for row in rows] == ["nDCG", "an", "everything", "all_trec"]
    assert [row.get("goal") for row in rows] == [None, None, "≤ 1.6 ×", "≤ 4 ×"]
    assert all(row["value"] > 0 for row in rows)


def test_an_output_that_is_written_alone_is_whole():
    """Every value of every metric, in however many chunks."""
    workload = workloads.make("everything", 0.03)
    written = limits.writing(workload)()
    assert written.shape == (len(workload.metrics), workload.n_queries)
    assert (written == 1).all()


def test_a_first_call_is_timed_with_nothing_but_what_is_needed(tmp_path):
    """Among links to it, NumPy and Numba are imported; nothing else that is installed here is found."""
    startup.link_core(tmp_path)
    code = "import numba; from importlib.util import find_spec as find; print(find('pytest'), find('hypothesis'))"
    options = {"env": timing.python_environment(PYTHONPATH=str(tmp_path)), "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-S", "-c", code], check=False, **options)
    assert (done.stdout, done.stderr) == ("None None\n", "")


@pytest.mark.skipif(not cases.JIT, reason="kernels are noted where they are compiled")
def test_kernels_alone_write_the_same_value():
    """All of them are called again, and nothing else is."""
    out = np.empty((1, 1))
    kernels = parts.kernels_of(lambda: lambda: fastndcg.Evaluator([[1, 0]], "ndcg@2").evaluate([[0.1, 0.9]], out=out))
    out.fill(np.nan)
    done = kernels()
    assert len(done) == 5  # collect, rank, the best order's sum, the sum, and their ratio
    assert out.item() == pytest.approx(1 / np.log2(3))
