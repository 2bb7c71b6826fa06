"""Files at addresses, by fsspec: every format, patterns and folders, the web, and errors that name the address."""

import functools
import http.server
import io
import json
import pathlib
import sys
import tempfile
import threading

import pytest
from refusals import refused

import fastndcg as fn

fsspec, pa, pq, feather = map(pytest.importorskip, ("fsspec", "pyarrow", "pyarrow.parquet", "pyarrow.feather"))

QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 0, "d3": 2}}
RUN = {"q1": {"d1": 0.5, "d2": 0.7}, "q2": {"d1": 0.1, "d3": 0.9}}
ROOT = "memory://fastndcg-remote"


def pack_table(write, table):
    sink = pa.BufferOutputStream()
    write(table, sink)
    return sink.getvalue().to_pybytes()


def content(kind, table, format):
    if format == "feather":
        return pack_table(feather.write_feather, kind(table).to_arrow())
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / {"trec": "x", "trec.gz": "x.run.gz"}.get(format, f"x.{format}")
        kind(table).write(path)
        return path.read_bytes()


FORMATS = {
    format: (content(fn.Qrels, QRELS, format), content(fn.Run, RUN, format))
    for format in ("trec", "trec.gz", "csv", "json", "jsonl", "parquet", "feather")
}
EXPECTED = fn.evaluate(QRELS, RUN, "ndcg,rr").to_dict()
SCORED = fn.Qrels(QRELS).to_arrow().append_column("score", fn.Run(RUN).to_arrow()["score"])


@pytest.fixture
def store():
    system = fsspec.filesystem("memory")

    def put(name, content):
        system.pipe(f"{ROOT}/{name}", content)
        return f"{ROOT}/{name}"

    yield put
    system.rm(ROOT, recursive=True)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(store, shown, format):
    qrels, run = (store(f"{name}.{format}", content) for name, content in zip(("q", "r"), FORMATS[format], strict=True))
    assert fn.evaluate(qrels, run, "ndcg,rr").to_dict() == EXPECTED
    assert fn.evaluate(pathlib.PurePosixPath(qrels), pathlib.PurePosixPath(run), "ndcg,rr").to_dict() == EXPECTED
    assert len(fn.Qrels(qrels)) == len(fn.Run(run)) == 4
    assert fn.compare(qrels, {"a": run, "b": RUN}, "rr").rows[1].difference == 0
    assert ",0.75," in shown("evaluate", qrels, run, "-m", "rr", "--format", "csv")
    other = store(f"other.{format}", FORMATS[format][1])
    assert "0.75" in shown("compare", qrels, run, other, "-m", "rr", "--format", "csv")


@pytest.mark.parametrize("memory", [None, "1kB"])
def test_rows_with_scores(store, shown, memory):
    halves = (SCORED.slice(0, 2), SCORED.slice(2))
    for place, half in enumerate(halves):
        store(f"parts/{place}.parquet", pack_table(pq.write_table, half))
    addresses = [store("rows.feather", pack_table(feather.write_feather, SCORED)), f"{ROOT}/parts/*.parquet"]
    for address in (*addresses, f"{ROOT}/parts", pathlib.PurePosixPath(f"{ROOT}/parts")):
        assert fn.evaluate(fn.Rows(address, memory=memory), metrics="ndcg,rr").to_dict() == EXPECTED
    for address in addresses:
        assert ",0.75," in shown("evaluate", address, "-m", "rr", "--format", "csv")


def test_addresses_keep_their_slashes(store):
    bad = store("bad.run", b"q1 Q0\n")
    cut = store("cut.parquet", pack_table(pq.write_table, SCORED)[:-20])
    for address, message in (
        (f"{ROOT}/absent.run", f"No such file or directory: '{ROOT}/absent.run'"),
        (bad, f"{ROOT}/bad.run, line 1: must have"),
        (cut, f"{ROOT}/cut.parquet must "),
        (f"{ROOT}/*.nothing", f"{ROOT}/\\*.nothing must name Parquet files, but no file"),
    ):
        for path in (address, pathlib.PurePosixPath(address)):
            refused(message, fn.Run, path, error=(fn.InvalidInputError, FileNotFoundError))


def test_local_files_by_address(tmp_path, put):
    path = put(json.dumps(RUN), "run.json")
    assert fn.evaluate(QRELS, f"file://{path}", "ndcg,rr").to_dict() == EXPECTED
    assert fn.evaluate(QRELS, pathlib.PurePosixPath(f"file://{path}"), "ndcg,rr").to_dict() == EXPECTED
    if sys.platform != "win32":
        odd = tmp_path / "ab:" / "run.json"
        odd.parent.mkdir()
        odd.write_text(json.dumps(RUN))
        assert fn.evaluate(QRELS, odd, "ndcg,rr").to_dict() == EXPECTED


def test_files_of_the_web(tmp_path):
    pytest.importorskip("aiohttp")
    for format in ("trec.gz", "feather", "parquet"):
        (tmp_path / f"r.{format}").write_bytes(FORMATS[format][1])
    handler = functools.partial(QuietHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            root = f"http://127.0.0.1:{server.server_port}"
            for name in ("r.trec.gz", "r.feather", "r.parquet", "r.trec.gz?token=1"):
                assert fn.evaluate(QRELS, f"{root}/{name}", "ndcg,rr").to_dict() == EXPECTED
            refused(f"{root}/absent.run", fn.Run, f"{root}/absent.run", error=OSError)
        finally:
            server.shutdown()
            thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        """Write nothing."""


def test_unknown_protocols():
    refused(r"'foo://x/y.run' must be the address of .* not known: foo", fn.Run, "foo://x/y.run")
    if "s3fs" not in sys.modules:
        with pytest.raises(fn.MissingPackageError, match=r"reading s3://b/y.run needs s3fs, .* pip install s3fs"):
            fn.evaluate(QRELS, pathlib.PurePosixPath("s3://b/y.run"), "rr")


def test_addresses_without_fsspec(monkeypatch, wrong):
    for name in [name for name in sys.modules if name.partition(".")[0] == "fsspec"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "fsspec", None)
    message = r"reading s3://b/y.parquet \(extra `remote`\) needs fsspec. Install it: pip install fsspec"
    for call in (
        lambda: fn.evaluate("s3://b/y.parquet", RUN, "rr"),
        lambda: fn.evaluate(QRELS, "s3://b/y.parquet", "rr"),
        lambda: fn.Run(pathlib.PurePosixPath("s3://b/y.parquet")),
    ):
        refused(message, call, error=fn.MissingPackageError)
    for arguments in (["s3://b/y.parquet"], ["s3://b/y.parquet", "a.run"]):
        wrong("needs fsspec", "evaluate", *arguments)


class BrokenFile(io.RawIOBase):
    def readable(self):
        return True

    def readinto(self, room):
        raise LibraryError(f"no credentials for {len(room)} bytes")


class LibraryError(Exception):
    """An error of a library."""


def test_errors_of_libraries_name_the_address(monkeypatch):
    system = type(fsspec.filesystem("memory"))
    monkeypatch.setattr(system, "open", lambda *_, **__: BrokenFile())
    refused(f"LibraryError: no credentials for .*: '{ROOT}/r.run'", fn.Run, f"{ROOT}/r.run", error=OSError)
