"""Exports of results, comparisons, runs and judgments: frames and texts with all digits and escaped names."""

import csv
import io
import json
import math
import os
import time

import numpy as np
import pytest
from refusals import refuses

import fastndcg as fn

LABELS = [[1, 0, 2], [0, 0, 0], [0, 1, 0], [1, 1, 0]]
SCORES = [[3, 2, 1], [1, 2, 3], [5, 5, 5], [1, 3, 2]]
RESULT = fn.evaluate(LABELS, SCORES, "ndcg@2,rr")
WITH_IDS = fn.evaluate({"a_b": {"x": 1}, "c&d": {"x": 0}}, {"a_b": {"y": 2, "x": 1}, "c&d": {"x": 1}}, "map,rr")
RUN = fn.Run({"q_1": {"d|1": 0.1, "d2": 1.5}, "q2": {"d1": -2.0}})
QRELS = fn.Qrels({1: {5: 1, 6: 0}, 2: {7: 2}})


@pytest.fixture(scope="module")
def comparison():
    pytest.importorskip("scipy")
    other = fn.evaluate(LABELS, [row[::-1] for row in SCORES], "ndcg@2,rr")
    return fn.compare({"old_1": RESULT, "new|2": other}, replicates=100)


def test_results_json_and_csv_have_all_digits():
    facts = json.loads(RESULT.to_json())
    assert facts["mean"] == RESULT.mean()
    assert facts["n_undefined"] == {"nDCG@2": 1, "RR": 0}
    assert [row["query"] for row in facts["per_query"]] == [0, 1, 2, 3]
    expected = [None if math.isnan(value) else value for value in RESULT["ndcg@2"].tolist()]
    assert [row["nDCG@2"] for row in facts["per_query"]] == expected
    assert facts["convention"]["ties"] == "average"
    assert facts["std"] == RESULT.std()
    assert [row["query"] for row in json.loads(WITH_IDS.to_json())["per_query"]] == ["a_b", "c&d"]
    head, *rows = csv.reader(io.StringIO(RESULT.to_csv()))
    assert head == ["query", "nDCG@2", "RR"]
    assert np.array(rows, "f8")[:, 1:].tobytes() == RESULT.values.tobytes()


def test_results_markdown_and_latex_are_the_printed_table():
    lines = RESULT.to_markdown().splitlines()
    assert lines[:2] == ["| metric | mean | queries | undefined |", "| :-- | --: | --: | --: |"]
    assert lines[3] == f"| RR | {RESULT.mean()['RR']:.4f} | 4 | 0 |"
    assert lines[-1].startswith("convention default; ties average")
    lines = fn.evaluate(LABELS, SCORES, "num_rel").to_latex().splitlines()
    assert lines[0].startswith("% convention default")
    assert lines[1:5] == [
        r"\begin{tabular}{lrrr}", r"\toprule", r"metric & mean & queries & undefined \\", r"\midrule",
    ]  # fmt: skip
    assert lines[5] == r"num\_rel & 1.2500 & 4 & 0 \\"
    assert lines[6:] == [r"\bottomrule", r"\end{tabular}"]


def test_results_std_is_numpys_and_weighted_like_the_mean():
    values = RESULT["ndcg@2"]
    for ddof in (0, 1, 2):
        assert RESULT.std(ddof=ddof)["nDCG@2"] == pytest.approx(np.nanstd(values, ddof=ddof), rel=1e-14)
    assert RESULT.std() == RESULT.std(ddof=1)
    assert math.isnan(RESULT.std(ddof=3)["nDCG@2"])  # of three values
    assert math.isnan(fn.evaluate([[1, 0]], [[2, 1]], "rr").std()["RR"])
    values = RESULT["rr"]
    weights = np.array([1.0, 2.0, 3.0, 0.0])
    mean = np.average(values, weights=weights)
    expected = math.sqrt(np.average((values - mean) ** 2, weights=weights) * 3 / 2)
    assert RESULT.std(weights)["RR"] == pytest.approx(expected, rel=1e-14)
    assert RESULT.std(10 * weights)["RR"] == pytest.approx(expected, rel=1e-14)
    assert RESULT.std([2.0] * 4)["RR"] == pytest.approx(RESULT.std()["RR"], rel=1e-14)


test_results_std_refuses_wrong_arguments = refuses(lambda options: RESULT.std(**options), [
    ({"ddof": -1}, "`ddof` must be a whole number of 0 or more, not -1"),
    ({"ddof": 0.5}, "`ddof` must be a whole number of 0 or more, not 0.5"),
    ({"weights": "rr"}, "`weights` must be one number a query"),
])  # fmt: skip


def test_comparison_exports_have_every_row(comparison):
    for package in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(package)
    differences = [row.difference for row in comparison.rows]
    polars = comparison.to_polars()
    assert polars["system"].to_list() == [row.system for row in comparison.rows]
    assert np.array_equal(polars["difference"].to_numpy(), differences, equal_nan=True)
    assert np.array_equal(comparison.to_arrow()["difference"].to_numpy(), differences, equal_nan=True)
    assert np.array_equal(comparison.to_pandas()["difference"], differences, equal_nan=True)
    read = csv.DictReader(io.StringIO(comparison.to_csv()))
    assert np.array_equal([float(row["difference"]) for row in read], differences, equal_nan=True)
    rows = json.loads(comparison.to_json())["rows"]
    assert [row["difference"] for row in rows] == [None if math.isnan(value) else value for value in differences]
    row = next(row for row in comparison.rows if row.system == "new|2" and row.metric == "RR")
    assert comparison.to_dict()["new|2"]["RR"]["difference"] == row.difference


def test_tables_of_statistics_export_like_comparisons(comparison):
    pytest.importorskip("polars")
    pairs = comparison.all_pairs("rr")
    assert pairs.to_polars()["system"].to_list() == [pair.system for pair in pairs]
    assert json.loads(pairs.to_json())[0]["difference"] == pairs[0].difference
    assert pairs.to_csv().splitlines()[0] == "system,against,difference,p,significant,p_corrected"
    assert pairs.to_markdown().startswith("| system | against |")
    segments = RESULT.by(["s", "s", "t", "t"], replicates=100)
    assert segments.to_latex().count("\\\\\n") == 1 + len(segments)


def test_runs_and_qrels_convert_to_frames_and_texts():
    for package in ("pandas", "polars", "pyarrow"):
        pytest.importorskip(package)
    frame = RUN.to_pandas()
    assert frame.columns.tolist() == ["query", "document", "score"]
    assert frame["score"].tolist() == [0.1, 1.5, -2.0]
    assert RUN.to_polars().rows() == [("q_1", "d|1", 0.1), ("q_1", "d2", 1.5), ("q2", "d1", -2.0)]
    assert QRELS.to_polars().rows() == [(1, 5, 1), (1, 6, 0), (2, 7, 2)]
    assert QRELS.to_arrow().to_pydict() == {"query": [1, 1, 2], "document": [5, 6, 7], "label": [1, 0, 2]}
    for exported in (RUN.to_pandas(), RUN.to_polars(), RUN.to_arrow()):
        assert fn.Run(exported).to_dict() == RUN.to_dict()
    assert r"| q\_1 | d\|1 | 0.1 |" in RUN.to_markdown()
    assert r"q\_1 & d\textbar{}1 & 0.1 \\" in RUN.to_latex()
    assert json.loads(RUN.to_json()) == RUN.to_dict()
    assert RUN.to_csv().splitlines()[1] == "q_1,d|1,0.1"
    assert fn.Run({"=1+1": {"@x": 1.0}}).to_csv().splitlines()[1] == "=1+1,@x,1.0"


def test_explanations_export_the_ranking():
    pytest.importorskip("polars")
    explained = fn.explain([0, 2, 1], [0.3, 0.2, 0.1], "dcg@2", offsets=[0, 3], against="default(gain=exp2)")
    assert explained.to_polars()["score"].to_list() == [0.3, 0.2, 0.1]
    facts = json.loads(explained.to_json())
    assert facts["value"] == explained.value
    assert facts["against"]["value"] == explained.against.value
    assert [step["field"] for step in facts["steps"]] == [step.field for step in explained.steps]
    assert explained.to_csv().startswith("first,last,document,score")
    assert explained.to_markdown().startswith("| document | score |")


@pytest.mark.parametrize("kind", ["json", "csv", "markdown", "latex"])
@pytest.mark.parametrize("value", [RESULT, RUN, QRELS], ids=["results", "run", "qrels"])
def test_texts_are_written_to_a_path(value, kind, tmp_path):
    path = tmp_path / f"x.{kind}"
    path.write_text("old")
    export = getattr(value, f"to_{kind}")
    assert export(path) is None
    assert path.read_text(encoding="utf-8") == export()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]
    with pytest.raises(FileNotFoundError):
        export(tmp_path / "absent" / "x")


def test_a_failing_export_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.csv"
    path.write_text("old")

    def fail(self):
        yield "query\n"
        raise RuntimeError

    monkeypatch.setattr(type(RESULT), "_csv_pieces", fail)
    with pytest.raises(RuntimeError):
        RESULT.to_csv(path)
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.csv"]
    assert path.read_text() == "old"


def test_files_that_killed_processes_left_are_removed(tmp_path):
    """Only temporary files of ours go, and only a day later: others may be written by a process that runs."""
    stale, young, other = f".fastndcg-{'0a' * 6}", f".fastndcg-{'1b' * 6}", ".fastndcg-config"
    for name, days in ((stale, 1.1), (young, 0.9), (other, 9)):
        (tmp_path / name).write_text("x")
        os.utime(tmp_path / name, (time.time() - days * 86_400,) * 2)
    RESULT.to_csv(tmp_path / "x.csv")
    assert sorted(os.listdir(tmp_path)) == sorted([young, other, "x.csv"])


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full: run on Linux")
def test_a_full_disk_is_named(tmp_path, monkeypatch):
    (tmp_path / "device.csv").symlink_to("/dev/full")
    with pytest.raises(OSError, match=r"No space left on device: '.*device\.csv'"):
        RESULT.to_csv(tmp_path / "device.csv")
    monkeypatch.setattr(os, "replace", lambda source, _: os.rename(source, tmp_path / "absent" / "x"))
    with pytest.raises(OSError, match=r"No such file or directory: '.*table\.csv'$"):
        RESULT.to_csv(tmp_path / "table.csv")
    assert os.listdir(tmp_path) == ["device.csv"]
