"""The harness of the benchmarks: intervals, proofs, the comparison with a commit, records and figures."""

import contextlib
import json
import os
import subprocess
import sys
import warnings
from itertools import product
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import peer_libraries
import pytest
from generated_pages import benchmark_results

import fastndcg as fn
from benchmarks import against, data, figures, proof, race, record
from benchmarks.against import Row
from benchmarks.race import Ratio

SCALE = 1e-4
ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", data.RECIPES)
def test_workload_follows_its_recipe(name):
    workload, again = (data.make_workload(name, SCALE) for _ in range(2))
    recipe = data.RECIPES[name]
    assert (workload.labels.dtype, workload.scores.dtype) == (recipe.label_dtype, recipe.score_dtype)
    for field in ("labels", "scores", "offsets"):
        assert getattr(workload, field).tobytes() == getattr(again, field).tobytes()
    total = workload.scores.sum(dtype="f8") + workload.labels.sum(dtype="f8")
    assert data.prepare_reading(workload, threads=2)() == pytest.approx(total, rel=1e-5)
    assert proof.verify_values(workload, data.prepare_evaluation(workload)(), 20) > 0


def test_verify_raises_on_a_wrong_value():
    """A value that is off by 1e-9 raises, and so does a workload with too many orders of tied scores."""
    workload = data.make_workload("sparse8", SCALE)
    values = data.prepare_evaluation(workload)()
    values[7] += 1e-9
    with pytest.raises(AssertionError, match="query 7 is"):
        proof.verify_values(workload, values)
    offsets = [0, 200, 400]
    tied = fn.Rankings(np.arange(400) % 2, np.zeros(400), offsets)
    with pytest.raises(AssertionError, match="the reference can check only 0 of 2"):
        proof.verify_rankings(tied, fn.evaluate(tied, metrics="AP").values, "AP", "default")


def test_rows_have_what_users_bring():
    plain = data.make_rows(20, 50, is_text=False, is_shuffled=False)
    text = data.make_rows(20, 50, is_text=True, is_shuffled=True, levels=5)
    assert plain.labels.sum() == text.labels.sum() > 0
    assert text.queries.dtype.kind == "U"
    assert len(np.unique(plain.scores)) == len(plain.scores) > 8 > len(np.unique(text.scores))
    assert (np.diff(plain.queries) >= 0).all()
    qrels, run = text.make_dicts()
    assert sum(map(len, run.values())) == 1000
    assert set(qrels) <= set(run)


@pytest.mark.parametrize(("n", "low", "high"), [(5, 0, 4), (6, 0, 5), (9, 1, 7), (15, 3, 11), (101, 40, 60)])
def test_interval_of_the_median(n, low, high):
    """The bounds are order statistics: the narrowest pair that misses the median with at most 5 %."""
    assert race.estimate_ratio([float(value) for value in range(n)]) == Ratio((n - 1) / 2, low, high)


def test_intervals_cover_the_median():
    """Of 500 intervals of 15 ratios of one distribution, at least 92 % hold its median."""
    draws = np.exp(np.random.default_rng(5).normal(0.1, 0.2, (500, 15)))
    ratios = [race.estimate_ratio(row.tolist()) for row in draws]
    assert sum(ratio.low <= np.exp(0.1) <= ratio.high for ratio in ratios) > 460


@pytest.mark.parametrize(
    ("itself", "ratio", "is_slow"),
    [
        (Ratio(1, 0.99, 1.01), Ratio(1.2, 1.15, 1.25), True),
        (Ratio(1, 0.99, 1.01), Ratio(1.2, 1.05, 1.35), False),
        (Ratio(1, 0.8, 1.3), Ratio(1.2, 1.15, 1.25), True),
        (Ratio(1.1, 1.05, 1.15), Ratio(1.2, 1.15, 1.25), False),
        (Ratio(0.9, 0.85, 0.95), Ratio(1.2, 1.15, 1.25), False),
    ],
)
def test_slow_row(itself, ratio, is_slow):
    """A row is slow above 1.10 beyond its interval, times how far the commit is from itself. The anchor counts, too."""
    same = Ratio(1, 1, 1)
    assert Row("row", itself, ratio, None).is_slow == is_slow
    assert Row("row", itself, ratio, same).is_slow == is_slow
    assert Row("row", itself, same, ratio).is_slow == is_slow


def make_worker(seconds, problem=None, is_skipped=False):
    answer = {"problem": problem, "is_skipped": is_skipped} if problem else {"ready": 0.5}
    return Mock(receive=lambda: answer, ask=lambda **_: {"seconds": seconds}, names=["benchmarks/bench_a.py::test_b"])


def test_planted_slowdown_is_found():
    """A tree that takes 1.2 times as long is slow, and one that takes as long is not."""
    sides = {"base": make_worker(0.5), "again": make_worker(0.5), "tree": make_worker(0.6)}
    row = against.measure_row(sides, "row")
    assert row.tree == pytest.approx((1.2, 1.2, 1.2))
    assert row.itself == (1, 1, 1)
    assert row.is_slow
    assert [worker.end.call_count for worker in sides.values()] == [1, 1, 1]
    assert not against.measure_row({**sides, "tree": make_worker(0.5)}, "row").is_slow


def test_drift_is_found():
    """A tree as fast as the last commit is slow if the anchor was faster. A row that the anchor lacks is no failure."""
    sides = {"base": make_worker(0.6), "again": make_worker(0.6), "tree": make_worker(0.6), "anchor": make_worker(0.5)}
    row = against.measure_row(sides, "row")
    assert row.drift == pytest.approx((1.2, 1.2, 1.2))
    assert row.is_slow
    sides["anchor"] = make_worker(0.5, "no metric is called 'x'")
    row = against.measure_row(sides, "row")
    assert row.drift is None
    assert not row.is_slow
    assert sides["anchor"].end.call_count == 0


def test_row_that_one_side_cannot_run():
    sides = {"base": make_worker(1, "no metric is called 'x'"), "again": make_worker(1), "tree": make_worker(1)}
    assert against.measure_row(sides, "row") == "left out: no metric is called 'x' (base)"
    assert [worker.end.call_count for worker in sides.values()] == [0, 1, 1]


def test_row_that_the_tree_cannot_run(monkeypatch, capsys):
    """Wrong values of the tree are red, and so is what only the tree skips. What all sides skip is left out."""
    wrong, skip, fine = make_worker(1, "AssertionError"), make_worker(1, "no Java", is_skipped=True), make_worker(1)
    for base, tree, verdict in (
        (fine, wrong, "failed: AssertionError (tree)"), (wrong, wrong, "failed: AssertionError (tree)"),
        (skip, wrong, "failed: AssertionError (tree)"), (fine, skip, "failed: no Java (tree)"),
        (skip, skip, "left out: no Java (base)"), (skip, fine, "left out: no Java (base)"),
    ):  # fmt: skip
        assert against.measure_row({"base": base, "again": base, "tree": tree}, "row") == verdict
    monkeypatch.setattr(against, "install_packages", lambda *_: {})
    monkeypatch.setattr(against, "shorten_commit", lambda commit: commit)
    for base, tree, code, last in (
        (fine, wrong, 1, "failed with the working tree: benchmarks/bench_a.py::test_b"),
        (fine, fine, 0, "no row is slower by more than 10 %"),
        (skip, skip, 1, "no benchmark could be compared: see `pytest benchmarks --collect-only`"),
    ):
        sides = {"base": base, "again": base, "tree": tree}
        monkeypatch.setattr(against, "open_workers", lambda *_, sides=sides: contextlib.nullcontext(sides))
        assert against.compare_with("main", "", 1, 1.0) == code
        assert capsys.readouterr().out.splitlines()[-1] == last


def test_rows_of_every_suite():
    """Each suite has its first row, the others are at even distances, and the order is kept."""
    names = [f"{suite}::{row}" for suite, n in (("a", 9), ("b", 1), ("c", 4)) for row in range(n)]
    assert against.select_rows(names, 3) == ["a::0", "b::0", "c::0"]
    assert against.select_rows(names, 5) == ["a::0", "a::3", "b::0", "c::0", "c::1"]
    assert against.select_rows(names, 14) == against.select_rows(names, 99) == names


def test_peak_of_a_process():
    held = np.ones(30_000_000)
    small, large = (race.measure_peak(f"data = bytearray({size})") for size in (10**6, 10**8))
    assert small < 60 < held.nbytes / 2**20
    assert large - small == pytest.approx(99e6 / 2**20, abs=5)
    with pytest.raises(AssertionError, match="a process failed"):
        race.run_python("-c", "raise SystemExit('no')")


@pytest.mark.parametrize("name", [name for name, entry in peer_libraries.PEERS.items() if entry.ndcg is not None])
@pytest.mark.peers
def test_library_agrees(name):
    """Every library of the registry gives our nDCG@10 under its convention, on what is timed without ties."""
    from benchmarks import bench_peers

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Numba about casts in ranx
        assert bench_peers.measure_difference(name, data.make_grid(60, 30)) <= peer_libraries.PEERS[name].tolerance


RESULT = {
    "machine_info": {"cpu": {"brand": "chip", "count": 2}, "system": "Linux", "python_version": "3.12.0",
                     "versions": {"numpy": "2.0", "ranx": "0.3"}},
    "commit_info": {"id": "0123456789abcdef", "dirty": False}, "datetime": "2026-01-02T03:04", "scale": 1.0,
    "benchmarks": [
        {"name": name, "options": {"max_time": 1}, "extra_info": {
            "package": "ranx", "binary": True, "ranked_before": False, "queries": 10, "documents": 5,
            "tolerance": 1e-9, "difference_on_ties": 0.25, "peak_mib": 61.23456,
            "against": {other: {"kind": kind, "median": ratio, "low": ratio / 2, "high": ratio * 2, "seconds": 0.1}}},
         "stats": {"median": 0.0123456}}
        for name, other, kind, ratio in (
            ("test_library[scikit-learn]", "scikit-learn", "peer", 154.4), ("test_library[ranx]", "ranx", "peer", 20.0),
            ("test_dicts[ranx]", "ranx", "peer", 3.0), ("test_workload[a]", "reading the arrays", "floor", 1.25))
    ],
}  # fmt: skip


def test_line_of_the_history():
    result = record.trim_result(json.loads(json.dumps(RESULT)))
    assert result["commit_info"] == {"id": "0123456789ab"}
    assert result["benchmarks"][0]["stats"] == {"median": 0.01235}
    line = record.make_line({"peers": result})
    assert line["ratios"]["peers"]["library[ranx], ranx"] == 20.0
    assert line["ratios"]["peers"]["workload[a], reading the arrays"] == 1.25
    assert (line["commit"], line["date"], line["cpus"]) == ("0123456789ab", "2026-01-02", 2)


def test_document_shows_each_comparison_once():
    text = figures.fill_document(
        "a\n  <!-- headline -->\nold\n  <!-- /headline -->\n<!-- libraries -->\n<!-- /libraries -->\n",
        {"peers": RESULT},
    )
    assert "old" not in text
    assert "  is **154 times as fast** as scikit-learn" in text.replace("documents each is", "documents each\n  is")
    assert "| ranx 0.3 ¹ | 20 | 10 to 40 | differs by 0.25 |" in text
    assert figures.fill_document(text, {"peers": RESULT}) == text
    line = record.make_line({"peers": RESULT})
    page = "".join(benchmark_results.write_page({"peers": RESULT}, [line]))
    assert "| workload: a | 12.3 ms | 1.25 (0.625 to 2.5) × reading the arrays; peak 61 MiB |" in page
    assert "3 (1.5 to 6) × as fast as ranx" in page
    for picture in (figures.draw_libraries(RESULT), benchmark_results.draw_history("peers", [line, line])):
        assert picture.startswith(b"\x89PNG")


def test_sentences_of_other_suites():
    """Fusion by kind of ids, Spark's rows with the plan's time, and the first call, from made results."""

    def fill(name, suite, rows):
        benchmarks = [
            {"name": row, "stats": {"median": seconds}, "extra_info": {"rows": 4_000_000, "cores": 2, "against": {
                other: {"median": ratio, "low": ratio / 2, "high": ratio * 2}}}}
            for row, seconds, other, ratio in rows
        ]  # fmt: skip
        text = f"<!-- {name} -->\n<!-- /{name} -->"
        return " ".join(figures.fill_document(text, {suite: RESULT | {"benchmarks": benchmarks}}).split())

    kinds = {"whole": ("rrf(k=60)", 30.0, "wsum(norm=min_max)", 20.0), "text, ties": ("rrf(k=60)", 9.0, "wsum()", 8.0)}
    rows = [
        (f"test_fuse_against_ranx[{kind}-{method}]", 1.0, "ranx", ratio)
        for kind, (one, first, two, second) in kinds.items()
        for method, ratio in ((one, first), (two, second))
    ]
    assert "as fast as in ranx: 20 to 30 with whole, 8 to 9 with text and ties." in fill("fusion", "fusion", rows)
    text = fill("spark_rows", "spark", [("test_rows", 2.0, "moving the rows", 0.5)])
    assert "4,000,000 rows of Parquet on 2 cores: 1 million rows a second and core." in text
    assert "takes 0.5 (0.25 to 1) times as long" in text
    assert "take 4.2 minutes on 400 cores" in text
    rows = [
        (f"test_first_call[{cache} cache-{metrics}]", seconds, "import numpy", 1.0)
        for (cache, metrics), seconds in zip(
            product(("empty", "filled"), ("nDCG@10", "twelve metrics")), (3.0, 5.0, 0.25, 0.5), strict=True
        )
    ]
    text = fill("first_call", "startup", rows)
    assert "takes 3 s with an empty cache and 0.25 s with a filled one. With twelve" in text
    assert "metrics, it takes 5 s and 0.5 s." in text


def test_saved_figures_are_shown():
    assert figures.write_figures(is_check=True) == 0


@pytest.mark.peers
def test_run_of_a_benchmark(tmp_path):
    pytest.importorskip("pytest_benchmark")
    path = tmp_path / "result.json"
    command = [sys.executable, "-m", "pytest", "benchmarks", "-k", "bench_core and sparse8", "--scale", "0.001", "-q"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    subprocess.run(
        [*command, f"--benchmark-json={path}", "-p", "no:cacheprovider"],
        cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    result = json.loads(path.read_text(encoding="utf-8"))
    (benchmark,) = result["benchmarks"]
    ratio = benchmark["extra_info"]["against"]["reading the arrays"]
    assert ratio["low"] <= ratio["median"] <= ratio["high"]
    assert benchmark["extra_info"]["first_call_seconds"] > 0
    assert benchmark["group"] == "core: test_workload"
    assert result["scale"] == 0.001
    assert "node" not in result["machine_info"]
