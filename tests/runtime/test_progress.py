"""Progress bars: on a terminal or in a notebook only, after a delay, off by argument and by environment variable."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.runtime import progress
from fastndcg.runtime.threads import run_all

pytest.importorskip("tqdm")

N_QUERIES = 60_000
OFFSETS = np.arange(0, 40 * N_QUERIES + 1, 40)
GENERATOR = np.random.default_rng(5)
LABELS = (GENERATOR.random(40 * N_QUERIES) < 0.1).astype("i1")
SCORES = GENERATOR.random(40 * N_QUERIES, "f4")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    """Return a terminal in the place of stderr, on which bars appear at once."""
    stream = Terminal()
    fake = SimpleNamespace(stderr=stream, is_finalizing=sys.is_finalizing)  # pytest replaces sys.stderr before a test
    monkeypatch.setattr(progress, "sys", fake)
    monkeypatch.setattr(progress, "DELAY", 0.0)
    for name in ("FASTNDCG_PROGRESS", "FASTNDCG_QUIET"):
        monkeypatch.delenv(name, raising=False)
    return stream


def count_slowly(n_items=4):
    with progress.track(range(n_items), "counting", n_items) as items:
        return list(items)


def test_progress_bar_is_drawn_and_erased(terminal):
    assert count_slowly() == [0, 1, 2, 3]
    shown = terminal.getvalue()
    assert "counting" in shown
    assert "%" in shown
    assert shown.rpartition("\r")[2].strip() == ""
    assert not progress._open_bars


def test_progress_bar_waits(terminal, monkeypatch):
    """Work that is shorter than the delay draws nothing."""
    monkeypatch.setattr(progress, "DELAY", 1000.0)
    count_slowly()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("name", ["FASTNDCG_PROGRESS", "FASTNDCG_QUIET"])
def test_progress_is_off_by_environment(name, terminal, monkeypatch):
    monkeypatch.setenv(name, {"FASTNDCG_PROGRESS": "0", "FASTNDCG_QUIET": "1"}[name])
    count_slowly()
    assert terminal.getvalue() == ""


def test_progress_is_not_for_pipes(monkeypatch):
    for stream in (io.StringIO(), None):
        monkeypatch.setattr(sys, "stderr", stream)
        monkeypatch.setattr(progress, "DELAY", 0.0)
        assert count_slowly() == [0, 1, 2, 3]
        assert stream is None or stream.getvalue() == ""


def test_progress_needs_no_tqdm(terminal, monkeypatch):
    """Without tqdm the work is done and nothing is shown."""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert count_slowly() == [0, 1, 2, 3]
    assert terminal.getvalue() == ""


def test_progress_of_inner_work_has_no_bar(terminal):
    with progress.track("ab", "outer", 2) as outer:
        for place, _ in enumerate(outer):
            with progress.track(range(4), "inner", 4) as inner:
                assert list(inner) == [0, 1, 2, 3]
            assert progress._open_bars[0].n == place
    assert "outer" in terminal.getvalue()
    assert "inner" not in terminal.getvalue()


def test_progress_of_helper_threads(terminal):
    done = []
    with progress.track(range(1000), "working", 1000) as items:
        run_all(items, lambda: done.append, 4)
    assert sorted(done) == list(range(1000))
    assert "working" in terminal.getvalue()
    length = len(terminal.getvalue())
    thread = threading.Thread(target=count_slowly)
    thread.start()
    thread.join()
    assert len(terminal.getvalue()) == length


def test_progress_starts_no_thread(terminal):
    before = set(threading.enumerate())  # a library of another test may have started one
    with progress.track(range(3), "counting", 3) as items:
        for _ in items:
            assert set(threading.enumerate()) <= before


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_progress_ends_with_an_error(error, terminal):
    def fail(item):
        if item == 2:
            raise error

    with pytest.raises(error), progress.track(range(9), "failing", 9) as items:
        run_all(items, lambda: fail, 2)
    assert terminal.getvalue().rpartition("\r")[2].strip() == ""
    assert not progress._open_bars


def test_broken_bars_stop_no_work(terminal, monkeypatch):
    """Neither where the first write fails nor where a later one does, in any thread."""
    write = terminal.write
    for n_written in (0, 3):
        left = iter([True] * n_written)
        monkeypatch.setattr(terminal, "write", lambda text, left=left: write(text) if next(left, False) else 1 / 0)
        assert count_slowly() == [0, 1, 2, 3]
        done = []
        with progress.track(range(50), "working", 50) as items:
            run_all(items, lambda done=done: lambda item: time.sleep(0.01) or done.append(item), 4)
        assert sorted(done) == list(range(50))


def test_evaluate_shows_progress(terminal):
    with_bar = fn.evaluate(LABELS, SCORES, "rr", offsets=OFFSETS)
    assert "evaluating queries" in terminal.getvalue()
    terminal.truncate(0)
    without = fn.evaluate(LABELS, SCORES, "rr", offsets=OFFSETS, progress=False)
    fn.Evaluator(LABELS, "rr", offsets=OFFSETS).evaluate(SCORES, progress=False)
    assert terminal.getvalue().strip("\0") == ""
    assert with_bar.values.tobytes() == without.values.tobytes()


def test_compare_shows_progress(terminal):
    pytest.importorskip("scipy")
    labels = [[1, 0], [0, 1]] * 20
    systems = {"a": [[2, 1]] * 40, "b": [[1, 2], [2, 1]] * 20}
    shown = fn.compare(labels, systems, "rr", interval="percentile", replicates=200)
    assert "evaluating systems" in terminal.getvalue()
    assert "resampling queries" in terminal.getvalue()
    terminal.truncate(0)
    silent = fn.compare(labels, systems, "rr", interval="percentile", replicates=200, progress=False)
    assert terminal.getvalue().strip("\0") == ""
    assert repr(shown.rows) == repr(silent.rows)
    shown.results["a"].confidence_interval("rr", method="percentile", replicates=200)
    assert "resampling queries" in terminal.getvalue()


def test_streaming_and_reading_files_show_progress(terminal, tmp_path, monkeypatch):
    monkeypatch.setattr("fastndcg.inputs.streams.MOST_ROWS", 10)
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = pyarrow.table({"query": np.repeat(np.arange(50), 2), "label": [1, 0] * 50, "score": np.arange(100.0)})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=10)
    fn.evaluate(tmp_path / "x.parquet", None, "rr")
    assert "streaming rows" in terminal.getvalue()
    terminal.truncate(0)
    fn.evaluate(tmp_path / "x.parquet", None, "rr", progress=False)
    assert terminal.getvalue().strip("\0") == ""
    path = tmp_path / "large.run"
    path.write_text("".join(f"q{q} Q0 d{d} 1 {-d} x\n" for q in range(3000) for d in range(100)))
    fn.Run(path)
    assert "large.run" in terminal.getvalue()


@pytest.mark.parametrize("value", [0, None, "no"])
def test_wrong_progress_is_refused(value):
    with pytest.raises(fn.InvalidTypeError, match="`progress` must be True"):
        fn.evaluate([1], [1], "rr", offsets=[0, 1], progress=value)
    with pytest.raises(fn.InvalidTypeError, match="`progress` must be True or False"):
        fn.compare([[1]], {"a": [[1]], "b": [[2]]}, "rr", progress=value)
