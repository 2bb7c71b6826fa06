"""The drop-in for ranx on files, and its `fuse`."""

import gzip
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from recorded_data import DATA
from refusals import refused, refuses

import fastndcg as fn
from fastndcg.compat import ranx as ours
from fastndcg.compat.ranx.data import get_file_kind

QRELS = {"q1": {"d1": 1, "é": 0, "d3": 3}, "q2": {"d1": 2**40}}
RUN = {"q1": {"d1": 0.1, "d2": 1 / 3, "é": 1e-300}, "q2": {"d1": -2.0, "d9": 7.0}}
CASES = [
    (table, rows, f"{name}.{ending}")
    for table, rows, name in ((ours.Qrels, QRELS, "qrels"), (ours.Run, RUN, "run"))
    for ending in ("json", "trec", "txt", "gz", "parq", "parquet")
]


@pytest.mark.parametrize(("table", "rows", "name"), CASES, ids=[name for *_, name in CASES])
def test_ranx_files_are_read_back_equal(table, rows, name, tmp_path):
    kind = get_file_kind(name)
    if kind == "parquet":
        pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
    number = np.int16 if table is ours.Qrels else np.float32  # written as Python's numbers
    given, rows = rows | {"q3": {"a": number(2), "b": 1}}, rows | {"q3": {"a": 2, "b": 1}}
    table(given, name="bm25").save(tmp_path / name)
    back = table.from_file(tmp_path / name)
    assert back.to_dict() == rows
    assert {type(number) for row in back.to_dict().values() for number in row.values()} == {table.kind}
    assert list(back.to_dict()["q1"]) == list(table(rows).to_dict()["q1"])
    table(rows, name="bm25").save(tmp_path / "other.xyz", kind=kind)
    assert table.from_file(tmp_path / "other.xyz", kind=kind, name="mine").to_dict() == rows


def test_ranx_trec_lines(tmp_path):
    ours.Qrels({"q1": {"d1": 1, "d3": 3}}).save(tmp_path / "qrels.trec")
    assert (tmp_path / "qrels.trec").read_text(encoding="utf-8") == "q1 0 d3 3\nq1 0 d1 1\n"
    run = ours.Run(name="bm25")
    run.add_score("q2", "d1", 0.25)
    run.add_score("q1", "d1", 0.5)
    run.add_score("q1", "d2", 2)
    run.save(tmp_path / "run.trec")
    assert run.sorted
    lines = "q1 Q0 d2 1 2.0 bm25\nq1 Q0 d1 2 0.5 bm25\nq2 Q0 d1 1 0.25 bm25\n"
    assert (tmp_path / "run.trec").read_text(encoding="utf-8") == lines
    ours.Run(RUN).save(tmp_path / "run.gz")
    assert gzip.decompress((tmp_path / "run.gz").read_bytes()).decode().endswith("q2 Q0 d1 2 -2.0 None\n")
    assert fn.Run(tmp_path / "run.trec").queries.names().tolist() == ["q1", "q2"]


def test_ranx_json_keeps_queries_without_documents(tmp_path):
    run = ours.Run({"q1": {"d": 1.0}}).make_comparable(ours.Qrels({"q1": {"d": 1}, "q2": {"d": 1}}))
    run.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8")) == {"q1": {"d": 1.0}, "q2": {}}
    assert ours.Run.from_file(tmp_path / "run.json").to_dict() == {"q1": {"d": 1.0}, "q2": {}}


@pytest.mark.parametrize(("rows", "name", "file", "message"), [
    ({"q 1": {"d": 1.0}}, None, "run.trec", "not be empty and have no blanks and no NUL, but query 'q 1' does"),
    ({"q": {"d\t": 1.0}}, None, "run.trec", r"but document 'd.t' does"),
    ({"q": {"": 1.0}}, None, "run.gz", "but document '' does"),
    ({"q": {"d": 1.0}}, "BM25 + RM3", "run.txt", "`tag` must be a text without blanks, but is 'BM25"),
    ({"q": {"d": float("nan")}}, None, "run.json", "scores in JSON must be finite"),
    ({"q": {"d": None}}, None, "run.json", "scores must be numbers that float.. takes, but one is None"),
    ({"q": {"d": 1.0}}, None, "run.csv", "`kind` must be one of 'json', 'trec', 'gz', 'parquet', but is 'c"),
])  # fmt: skip
def test_ranx_save_refuses_what_a_format_cannot_hold(rows, name, file, message, tmp_path):
    (tmp_path / file).write_text("old", encoding="utf-8")
    refused(message, lambda: ours.Run(rows, name).save(tmp_path / file))
    assert (tmp_path / file).read_text(encoding="utf-8") == "old"


def test_ranx_kinds_of_files(tmp_path):
    """The ending or the argument gives the kind. LZ4 is refused with the formats to write instead."""
    endings = {"json": "json", "trec": "trec", "txt": "trec", "gz": "gz", "parquet": "parquet", "parq": "parquet"}
    for ending, kind in endings.items():
        assert get_file_kind(f"a/b.{ending}") == get_file_kind("b", kind) == kind
    (tmp_path / "run.lz4").write_bytes(b"\x04\x22\x4d\x18")
    for call in (ours.Run.from_file, ours.Run(RUN).save, ours.Qrels(QRELS).save):
        with pytest.raises(AssertionError, match=r"but is 'lz4' for .*lz4. Write it anew as JSON or Parquet"):
            call(tmp_path / "run.lz4")


def test_ranx_refuses_damaged_files(tmp_path):
    (tmp_path / "run.trec").write_bytes(b"q Q0 \xff 1 1 x\n")
    refused("must be UTF-8 text", ours.Run.from_file, tmp_path / "run.trec")


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_ranx_and_the_dropin_read_each_others_files(ranx_library, tmp_path):
    for name in ("json", "trec"):
        ours.Run(RUN, "bm25").save(tmp_path / f"ours.{name}")
        theirs = ranx_library.Run.from_file(str(tmp_path / f"ours.{name}"))
        assert (theirs.to_dict(), theirs.name) == (RUN, "bm25" if name == "trec" else None)
        theirs.save(str(tmp_path / f"theirs.{name}"))
        assert ours.Run.from_file(tmp_path / f"theirs.{name}").to_dict() == RUN
    for name in ("json", "trec", "parquet"):
        ranx_library.Qrels(QRELS).save(str(tmp_path / f"theirs.{name}"))
        assert ours.Qrels.from_file(tmp_path / f"theirs.{name}").to_dict() == QRELS
        ours.Qrels(QRELS).save(tmp_path / f"ours.{name}")
        if name != "parquet":  # ranx refuses text columns of pandas 3
            assert ranx_library.Qrels.from_file(str(tmp_path / f"ours.{name}")).to_dict() == QRELS


def test_ranx_qrels_of_ir_datasets(monkeypatch):
    dataset = SimpleNamespace(qrels_dict=lambda: QRELS)
    monkeypatch.setitem(sys.modules, "ir_datasets", SimpleNamespace(load={"vaswani": dataset}.__getitem__))
    qrels = ours.Qrels.from_ir_datasets("vaswani")
    assert (qrels.to_dict(), qrels.name) == (QRELS, "vaswani")


RECORD = json.loads((DATA / "peers" / "fusion.json").read_text())
THEIR_NORMS = {"min_max": "min-max", "min_max_inverted": "min-max-inverted", "z_score": "zmuv", "none": None}


def make_runs(module, rows=None):
    return [module.Run(run) for run in rows or RECORD["runs"]]


@pytest.mark.parametrize("method", ["min", "max", "med", "sum", "anz", "mnz", "wsum", "mixed", "wmnz"])
@pytest.mark.parametrize("norm", ["none", "min_max", "min_max_inverted", "max", "sum", "z_score", "rank", "borda"])
def test_fuse_gives_the_scores_of_ranx(method, norm):
    params = {"weights": [0.2, 0.5, 0.3]} if method in ("wsum", "mixed", "wmnz") else {}
    fused = ours.fuse(make_runs(ours), THEIR_NORMS.get(norm, norm), method, params)
    for query, row in RECORD["ranx"]["fused"][f"{method}(norm={norm})"].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(("method", "params", "text"), [
    ("rrf", {"k": 20}, "rrf(k=20)"), ("isr", {}, "isr"), ("logn_isr", {"sigma": 0.3}, "logn_isr(sigma=0.3)"),
    ("rbc", {"phi": 0.7}, "rbc(phi=0.7)"), ("bordafuse", {}, "borda"),
    ("w_bordafuse", {"weights": [0.2, 0.5, 0.3]}, "wborda"),
])  # fmt: skip
def test_fuse_by_rank_gives_the_scores_of_ranx(method, params, text):
    fused = ours.fuse(make_runs(ours), None, method, params)
    for query, row in RECORD["ranx"]["fused"][text].items():
        assert fused.run[query] == pytest.approx(row, abs=1e-9)


@pytest.mark.parametrize(("method", "params"), [
    ("rrf", {"k": 20}), ("isr", {}), ("log_isr", {}), ("logn_isr", {}), ("rbc", {"phi": 0.7}), ("bordafuse", {}),
    ("w_bordafuse", {"weights": [0.2, 0.5, 0.3]}), ("condorcet", {}), ("w_condorcet", {"weights": [0.2, 0.5, 0.3]}),
])  # fmt: skip
def test_methods_by_rank_take_the_ranks_of_the_runs_with_any_normalisation(method, params):
    """Only distances are ranked the other way. With 'borda' ranx has the order of a set, which is not copied."""
    expected = ours.fuse(make_runs(ours), None, method, params).run
    for norm in ("min-max", "max", "sum", "zmuv", "rank", "borda"):
        assert ours.fuse(make_runs(ours), norm, method, params).run == expected
    assert ours.fuse(make_runs(ours), "min-max-inverted", method, params).run != expected


test_parameters_are_those_of_ranx = refuses(lambda method, params: ours.fuse(make_runs(ours), None, method, params), [
    ("rrf", {"kk": 5}, "`params` of rrf must be among k, name, not 'kk'. Did you mean 'k'?"),
    ("rrf", {"weights": [1, 1, 1]}, "`params` of rrf must be among k, name, not 'weights'"),
    ("isr", {"k": 5}, "`params` of isr must be among name, not 'k'"),
    ("wsum", {}, "`params` of wsum must have weights, but it is missing"), ("rbc", {}, "must have phi"),
    ("gmnz", {}, "must have gamma"),
], text="{}", error=TypeError)  # fmt: skip


def test_fused_run_has_a_name_and_keeps_empty_queries():
    """The name is ranx's default or the one in `params`. A query without documents stays."""
    runs = [ours.Run({"a": {"x": 1.0}, "b": {}}), ours.Run({"a": {"y": 1.0}, "b": {}})]
    fused = ours.fuse(runs, "min-max", "sum")
    assert fused.name == "comb_sum"
    assert fused.run["b"] == {}
    assert ours.fuse(runs, None, "rrf", {"name": "mine"}).name == "mine"


@pytest.mark.parametrize(("call", "error", "message"), [
    (lambda runs: ours.fuse(runs[:1]), AssertionError, "Only one run"),
    (lambda runs: ours.fuse([runs[0], ours.Run({"z": {"d": 1.0}})]), AssertionError, "do not match"),
    (lambda runs: ours.fuse(runs, "min-max", "wsumm", {}), ValueError, "Did you mean 'wsum'"),
    (lambda runs: ours.fuse(runs, "minmaxx", "wsum", {}), ValueError, "no normalisation is called"),
    (lambda runs: ours.fuse(runs, "min-max", "posfuse", {}), ValueError, "Call fastndcg.fuse.runs, 'posfuse', train"),
])  # fmt: skip
def test_wrong_input_raises_errors_that_are_also_those_of_ranx(call, error, message):
    with pytest.raises(error, match=message) as caught:
        call(make_runs(ours))
    assert isinstance(caught.value, fn.FastndcgError)
