"""The ranx drop-in: `fuse` and `optimize_fusion`, against recorded values and against ranx."""

import json
import re

import pytest
from recorded_data import DATA

import fastndcg as fn
from fastndcg.compat import ranx as ours

RECORD = json.loads((DATA / "peers" / "fusion.json").read_text())
THEIR_NORMS = {"min_max": "min-max", "min_max_inverted": "min-max-inverted", "z_score": "zmuv", "none": None}
QRELS = {query: {d: label for d, label in labels.items() if label} for query, labels in RECORD["qrels"].items()}


def make_runs(module, rows=None):
    return [module.Run(run) for run in rows or RECORD["runs"]]


@pytest.mark.parametrize("method", ["min", "max", "med", "sum", "anz", "mnz", "wsum", "mixed", "wmnz"])
@pytest.mark.parametrize("norm", ["none", "min_max", "min_max_inverted", "max", "sum", "z_score", "rank", "borda"])
def test_fuse_gives_the_scores_of_ranx(method, norm):
    params = {"weights": [0.2, 0.5, 0.3]} if method in ("wsum", "mixed", "wmnz") else {}
    fused = ours.fuse(make_runs(ours), THEIR_NORMS.get(norm, norm), method, params)
    for query, row in RECORD["ranx"]["fused"][f"{method}(norm={norm})"].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "params", "text"),
    [
        ("rrf", {"k": 20}, "rrf(k=20)"), ("isr", {}, "isr"), ("logn_isr", {"sigma": 0.3}, "logn_isr(sigma=0.3)"),
        ("rbc", {"phi": 0.7}, "rbc(phi=0.7)"), ("bordafuse", {}, "borda"),
        ("w_bordafuse", {"weights": [0.2, 0.5, 0.3]}, "wborda"),
    ],
)  # fmt: skip
def test_fuse_by_rank_gives_the_scores_of_ranx(method, params, text):
    fused = ours.fuse(make_runs(ours), None, method, params)
    for query, row in RECORD["ranx"]["fused"][text].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "text"),
    [("bayesfuse", "bayesfuse"), ("segfuse", "segfuse"), ("posfuse", "posfuse"), ("mapfuse", "mapfuse")],
)
def test_learned_parameters_are_those_that_fuse_takes(method, text):
    norm = "min-max" if method == "segfuse" else None
    runs = make_runs(ours)
    params = ours.optimize_fusion(ours.Qrels(QRELS), runs, norm, method)
    fused = ours.fuse(runs, norm, method, params)
    for query, row in RECORD["ranx"]["fused"][text].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("rrf", {"k": 20}), ("isr", {}), ("log_isr", {}), ("logn_isr", {}), ("rbc", {"phi": 0.7}),
        ("bordafuse", {}), ("w_bordafuse", {"weights": [0.2, 0.5, 0.3]}), ("condorcet", {}),
        ("w_condorcet", {"weights": [0.2, 0.5, 0.3]}),
    ],
)  # fmt: skip
def test_methods_by_rank_take_the_ranks_of_the_runs_with_any_normalisation(method, params):
    """Only distances are ranked the other way. With 'borda' ranx has the order of a set, which is not copied."""
    expected = ours.fuse(make_runs(ours), None, method, params).run
    for norm in ("min-max", "max", "sum", "zmuv", "rank", "borda"):
        assert ours.fuse(make_runs(ours), norm, method, params).run == expected
    assert ours.fuse(make_runs(ours), "min-max-inverted", method, params).run != expected


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("rrf", {"kk": 5}, "`params` of rrf must be among k, name, not 'kk'. Did you mean 'k'?"),
        ("rrf", {"weights": [1, 1, 1]}, "`params` of rrf must be among k, name, not 'weights'"),
        ("isr", {"k": 5}, "`params` of isr must be among name, not 'k'"),
        ("wsum", {}, "`params` of wsum must have weights, but it is missing"), ("rbc", {}, "must have phi"),
        ("gmnz", {}, "must have gamma"), ("slidefuse", {"probs": [[0.1]] * 3}, "must have w"),
        ("posfuse", {}, "must have probs"),
    ],
)  # fmt: skip
def test_parameters_are_those_of_ranx(method, params, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        ours.fuse(make_runs(ours), None, method, params)


def test_fused_run_has_a_name_and_keeps_empty_queries():
    """The name is ranx's default or the one in `params`. A query without documents stays."""
    runs = [ours.Run({"a": {"x": 1.0}, "b": {}}), ours.Run({"a": {"y": 1.0}, "b": {}})]
    fused = ours.fuse(runs, "min-max", "sum")
    assert fused.name == "comb_sum"
    assert fused.run["b"] == {}
    assert ours.fuse(runs, None, "rrf", {"name": "mine"}).name == "mine"


def test_optimize_fusion_tries_the_weights_that_ranx_loses():
    """All 66 points for three runs: ranx loses 4 of them, as their sums are not exactly 1."""
    _, report = ours.optimize_fusion(ours.Qrels(QRELS), make_runs(ours), metric="mrr", return_optimization_report=True)
    lost = [point for point in report.configs if sum(map(float, point.strip("()").split(","))) != 1.0]
    assert (len(report.configs), len(lost)) == (66, 4)
    assert "(0.0, 0.0, 1.0)" in str(report)


def test_of_equal_points_the_last_one_wins():
    """A single relevant document at the top under every weight: the last weights are the best."""
    runs = [ours.Run({"q": {"a": 2.0, "b": 1.0}}), ours.Run({"q": {"a": 9.0, "b": 1.0}})]
    assert ours.optimize_fusion(ours.Qrels({"q": {"a": 1}}), runs) == {"weights": (1.0, 0.0)}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda runs: ours.fuse(runs[:1]), AssertionError, "Only one run"),
        (lambda runs: ours.fuse([runs[0], ours.Run({"z": {"d": 1.0}})]), AssertionError, "do not match"),
        (lambda runs: ours.fuse(runs, "min-max", "wsumm", {}), ValueError, "Did you mean 'wsum'"),
        (lambda runs: ours.fuse(runs, "minmaxx", "wsum", {}), ValueError, "no normalisation is called"),
        (lambda runs: ours.optimize_fusion(ours.Qrels(QRELS), runs, method="isr"), ValueError, "not support"),
        (lambda runs: ours.optimize_fusion(ours.Qrels({"z": {"d": 1}}), runs), AssertionError, "do not match"),
    ],
)
def test_wrong_input_raises_errors_that_are_also_those_of_ranx(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(make_runs(ours))
    assert isinstance(caught.value, fn.FastndcgError)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")  # the library warns when it compiles
@pytest.mark.parametrize(("method", "norm"), [("wsum", "min-max"), ("rrf", None)])
def test_optimize_fusion_finds_the_parameters_of_ranx(method, norm, ranx_library):
    """For two runs ranx loses no point, so that the grids and their best points are equal."""
    their_runs = make_runs(ranx_library)[:2]
    theirs, their_report = ranx_library.optimize_fusion(
        ranx_library.Qrels(QRELS), their_runs, norm, method, "mrr", True, show_progress=False
    )
    best, report = ours.optimize_fusion(ours.Qrels(QRELS), make_runs(ours)[:2], norm, method, "mrr", True)
    assert report.configs == [re.sub(r"np\.float64\(([^)]*)\)", r"\1", text) for text in their_report.configs]
    assert report.results == pytest.approx(their_report.results, abs=1e-9)
    assert best == theirs
