"""Messages during compilation: one line per process, or the text of the progress bar."""

import os
import subprocess
import sys
import textwrap

import pytest
from fresh_processes import answer, no_cache_of_the_users, start

LINE = "fastndcg: compiling kernels for this machine, once; `fastndcg warmup` does it ahead\n"
NEEDS_TERMINAL = pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals: run on POSIX")

EVALUATE = """
    import sys, threading
    import fastndcg as fn
    METRICS = "ndcg@10,map,rr,err,rbp,p@5,bpref,auc"
    fn.evaluate([[1, 0, 2]], [[1.0, 2.0, 3.0]], METRICS)
    sys.stderr.write("evaluated\\n")
    fn.evaluate([[0.5, 0.0, 2.0]], [[1, 2, 3]], METRICS, convention="default(ties=worst)")
    assert threading.enumerate() == [threading.main_thread()], threading.enumerate()
"""


def told(code=EVALUATE, **environment):
    """Run code with a terminal as stderr, and return the text that the terminal shows."""
    master, slave = os.openpty()
    given = {name: str(value) for name, value in (os.environ | {"FASTNDCG_QUIET": "0"} | environment).items()}
    given.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, env=given, stdout=subprocess.DEVNULL, stderr=slave) as process:
        os.close(slave)
        shown = b""
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # Linux raises this if the other side is closed
                break
            if not piece:
                break
            shown += piece
    os.close(master)
    assert process.returncode == 0, shown
    return shown.decode().replace("\r\n", "\n")


@NEEDS_TERMINAL
def test_compilation_is_announced_once(tmp_path):
    """A terminal shows one line during the first compilation, and a process that loads the cache shows none."""
    assert told(FASTNDCG_CACHE_DIR=tmp_path) == LINE + "evaluated\n"
    assert told(FASTNDCG_CACHE_DIR=tmp_path) == "evaluated\n"


@NEEDS_TERMINAL
@pytest.mark.stress
def test_announcement_says_why_nothing_is_cached(tmp_path):
    """The line gives the reason if no cache folder can be used."""
    shown = told(**no_cache_of_the_users(tmp_path))
    line, evaluated, rest = shown.split("\n")
    assert line.startswith("fastndcg: compiling kernels for this process alone, since ")
    assert str(tmp_path) in line
    assert (evaluated, rest) == ("evaluated", "")


@NEEDS_TERMINAL
@pytest.mark.stress
def test_announcement_can_be_switched_off(tmp_path):
    """FASTNDCG_QUIET=1 turns the line off."""
    assert told(FASTNDCG_CACHE_DIR=tmp_path, FASTNDCG_QUIET=1) == "evaluated\n"


@pytest.mark.stress
def test_announcement_in_a_notebook(tmp_path):
    """The line appears on the stderr of IPython's kernel, but not on another stream that is no terminal."""
    code = """
        import io, json, sys
        import fastndcg as fn

        class OutStream(io.StringIO):
            __module__ = "ipykernel.iostream"

        shown = []
        for stream in (io.StringIO(), OutStream()):
            sys.stderr = stream
            scores = [[1.0, 2.0, 3.0]] if shown else [[1, 2, 3]]
            fn.evaluate([[1, 0, 2]], scores, "ndcg@10,map,rr,err,rbp,p@5,bpref" if shown else "ndcg,auc,infap,inst")
            shown.append(stream.getvalue())
        sys.stderr = sys.__stderr__
        print(json.dumps(shown))
    """
    assert answer(start(code, None, FASTNDCG_CACHE_DIR=tmp_path, FASTNDCG_QUIET="")) == ["", LINE]


@NEEDS_TERMINAL
def test_bar_says_that_kernels_compile(tmp_path):
    """The bar of the command line shows "compiling" in the step that compiles, and no other line appears."""
    pytest.importorskip("tqdm", reason="tqdm draws the bar: pip install tqdm")
    code = "import sys; from fastndcg.cli import main; sys.exit(main(['evaluate', '-m', 'ndcg,rr']))"
    shown = told(code, FASTNDCG_CACHE_DIR=tmp_path)
    assert "compiling (evaluating lambdarank.run)" in shown
    assert "once; `fastndcg warmup`" not in shown
    assert "compiling" not in told(code, FASTNDCG_CACHE_DIR=tmp_path)


@NEEDS_TERMINAL
@pytest.mark.stress
def test_warmup_shows_its_steps(tmp_path):
    """`fn.warmup` prints each step and the number of compiled kernels on a terminal, and prints nothing elsewhere."""
    code = """
        import os, sys
        from importlib import import_module
        warm = import_module("fastndcg.warmup")  # the name in the package is the function
        warm.STEPS = {name: warm.STEPS[name] for name in ("agreement of rankings", "beyond accuracy")}
        import fastndcg as fn
        fn.warmup()
        sys.stderr = open(os.devnull, "w")
        fn.warmup()
    """
    first, second = told(code, FASTNDCG_CACHE_DIR=tmp_path).splitlines()
    assert first == "fastndcg: warmup 1/2: agreement of rankings, 0 kernels compiled so far"
    assert second.startswith("fastndcg: warmup 2/2: beyond accuracy, ")
    assert not second.startswith("fastndcg: warmup 2/2: beyond accuracy, 0 ")


def test_warmup_reports_its_progress(monkeypatch):
    """`fn.warmup(progress=...)` calls the function with each step's name, its place and the number of steps."""
    from fastndcg import warmup

    warm = sys.modules["fastndcg.warmup"]

    monkeypatch.setattr(warm, "STEPS", {"first": lambda: None, "second": lambda: None})
    seen = []
    warmup(progress=lambda *step: seen.append(step))
    assert seen == [("first", 0, 2), ("second", 1, 2)]
