"""The drop-in for ranx with files: `save` and `from_file` in all formats, and files of the library."""

import gzip
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.compat import ranx as ours
from fastndcg.compat.ranx.data import QRELS_KINDS, RUN_KINDS, get_file_kind

QRELS = {"q1": {"d1": 1, "é": 0, "d3": 3}, "q2": {"d1": 2**40}}
RUN = {"q1": {"d1": 0.1, "d2": 1 / 3, "é": 1e-300}, "q2": {"d1": -2.0, "d9": 7.0}}
PACKAGES = {"parquet": ("pandas", "pyarrow"), "lz4": ("lz4.frame", "cbor2")}
CASES = [
    *((ours.Qrels, QRELS, f"qrels.{ending}") for ending in ("json", "trec", "txt", "gz", "parq", "parquet")),
    *((ours.Run, RUN, f"run.{ending}") for ending in ("json", "trec", "txt", "gz", "parq", "parquet", "lz4")),
]


def need_packages(kind):
    """Skip a test whose format needs an absent package."""
    for package in PACKAGES.get(kind, ()):
        pytest.importorskip(package)


@pytest.mark.parametrize(("table", "rows", "name"), CASES, ids=[name for *_, name in CASES])
def test_ranx_files_are_read_back_equal(table, rows, name, tmp_path):
    kind = get_file_kind(name)
    need_packages(kind)
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
    assert fn.read_run(tmp_path / "run.trec").queries.names().tolist() == ["q1", "q2"]


def test_ranx_json_keeps_queries_without_documents(tmp_path):
    run = ours.Run({"q1": {"d": 1.0}}).make_comparable(ours.Qrels({"q1": {"d": 1}, "q2": {"d": 1}}))
    run.save(tmp_path / "run.json")
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8")) == {"q1": {"d": 1.0}, "q2": {}}
    assert ours.Run.from_file(tmp_path / "run.json").to_dict() == {"q1": {"d": 1.0}, "q2": {}}


@pytest.mark.parametrize(
    ("rows", "name", "file", "message"),
    [
        ({"q 1": {"d": 1.0}}, None, "run.trec", "not be empty and have no blanks and no NUL, but query 'q 1' does"),
        ({"q": {"d\t": 1.0}}, None, "run.trec", r"but document 'd.t' does"),
        ({"q": {"": 1.0}}, None, "run.gz", "but document '' does"),
        ({"q": {"d": 1.0}}, "BM25 + RM3", "run.txt", "`tag` must be a text without blanks, but is 'BM25"),
        ({"q": {"d": float("nan")}}, None, "run.json", "scores in JSON must be finite"),
        ({"q": {"d": None}}, None, "run.json", "scores must be numbers that float.. takes, but one is None"),
        ({"q": {"d": 1.0}}, None, "run.csv", "`kind` must be one of 'json', 'trec', 'lz4', 'gz', 'parquet', but is 'c"),
    ],
)
def test_ranx_save_refuses_what_a_format_cannot_hold(rows, name, file, message, tmp_path):
    (tmp_path / file).write_text("old", encoding="utf-8")
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.Run(rows, name).save(tmp_path / file)
    assert (tmp_path / file).read_text(encoding="utf-8") == "old"


def test_ranx_kinds_of_files():
    """The ending or the argument gives the kind. Judgments have no LZ4 format."""
    endings = {"json": "json", "trec": "trec", "txt": "trec", "gz": "gz", "parquet": "parquet", "parq": "parquet"}
    for ending, kind in endings.items():
        for kinds in (QRELS_KINDS, RUN_KINDS):
            assert get_file_kind(f"a/b.{ending}", kinds=kinds) == get_file_kind("b", kind, kinds) == kind
    with pytest.raises(AssertionError, match="but is 'lz4' for"):
        ours.Qrels(QRELS).save("qrels.lz4")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("run.lz4", b"\x04\x22\x4d\x18 no", r"run.lz4 must be a complete lz4 file"),
        ("run.lz4", b"text", r"run.lz4 must be a complete lz4 file"),
        ("run.trec", b"q Q0 \xff 1 1 x\n", "must be UTF-8 text"),
    ],
)
def test_ranx_refuses_damaged_files(name, content, message, tmp_path):
    need_packages(get_file_kind(name))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.Run.from_file(tmp_path / name)


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore")
def test_ranx_and_the_dropin_read_each_others_files(ranx_library, tmp_path):
    for name in ("json", "trec", "lz4"):
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
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(fn.MissingPackageError, match="from_ir_datasets needs ir_datasets"):
        ours.Qrels.from_ir_datasets("vaswani")
