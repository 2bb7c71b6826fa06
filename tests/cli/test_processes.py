"""The command line in a separate process: imports, pipes, signals and terminals."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import fastndcg as fn


def test_command_is_installed():
    script = Path(sys.executable).with_name("fastndcg")
    if not script.exists():
        pytest.skip("the package is not installed: run scripts/test")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"fastndcg {fn.__version__}\n")


def test_help_and_errors_do_without_numpy_and_numba(files):
    """The help, the list of metrics, an error and a removal do not import numpy, numba, tqdm or pandas."""
    code = (
        "import sys; from fastndcg.cli import main\n"
        "lines = ['--help'], ['metrics'], ['metrics', 'ndcg'], ['evaluate', '-m', 'x'], ['warmup', '--clear']\n"
        "assert list(map(main, lines)) == [0, 0, 0, 2, 0]\n"
        "sys.exit(bool({'numpy', 'numba', 'tqdm', 'pandas'} & set(sys.modules)))"
    )
    environment = os.environ | {"FASTNDCG_CACHE_DIR": str(files)}
    assert subprocess.run([sys.executable, "-c", code], env=environment, check=False).returncode == 0


def test_broken_pipe_ends_quietly(tmp_path):
    queries = range(3000)
    (tmp_path / "qrels").write_text("".join(f"query{q} 0 a 1\n" for q in queries), encoding="utf-8")
    (tmp_path / "run").write_text("".join(f"query{q} Q0 a 1 0.5 x\n" for q in queries), encoding="utf-8")
    line = [sys.executable, "-m", "fastndcg", "evaluate", tmp_path / "qrels", tmp_path / "run"]
    options = ["--format", "trec", "--per-query", "-m", "rr,ap,p@1,p@2,p@3,p@4"]  # more than a pipe holds
    with subprocess.Popen([*line, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full: run on Linux")
def test_full_standard_output_is_an_error():
    with open("/dev/full", "w", encoding="utf-8") as full:
        line = [sys.executable, "-m", "fastndcg", "metrics"]
        done = subprocess.run(line, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    message = "standard output cannot be written: No space left on device. Name a file with -o."
    assert (done.returncode, done.stderr) == (2, f"fastndcg: error: {message}\n")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes: run on POSIX")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_without_a_traceback(files, number):
    """Ctrl-C gives exit code 130, and one line in place of a traceback. So does SIGTERM."""
    os.mkfifo("pipe.run")  # reading the pipe blocks, so that the signal comes during the work
    line = [sys.executable, "-m", "fastndcg", "evaluate", "qrels.txt", "pipe.run"]
    process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with process:
        writing_end = open_when_read("pipe.run", process)
        process.send_signal(number)
        out, err = process.communicate()
        os.close(writing_end)
    assert (process.returncode, out, err) == (130, b"", b"fastndcg: interrupted\n")


@pytest.mark.parametrize("module", ["fastndcg.cli.commands", "fastndcg.evaluation", "numpy"])
def test_interrupt_of_an_import_is_one_line(files, module):
    code = (
        "import runpy, sys\n"
        "class Interrupted:\n"
        "    def find_spec(name, *_):\n"
        f"        if name == {module!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted)\n"
        "sys.argv = ['fastndcg', 'evaluate', 'qrels.txt', 'good.run']\n"
        "runpy.run_module('fastndcg', run_name='__main__')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "fastndcg: interrupted\n")


class Panic(BaseException):
    """What packages in Rust raise is no Exception."""


@pytest.mark.parametrize(("error", "line"), [
    (fn.InvalidInputError("`x` must be 1. Correct it"), "`x` must be 1. Correct it"),
    (OSError(28, "No space left on device", "out.txt"), "out.txt: No space left on device"),
    (OSError("no device"), "no device"),
    (MemoryError(), "not enough memory. Evaluate fewer queries at once, or use fewer threads."),
    *((error, f"this is a fault in fastndcg, not in your input: {type(error).__name__}: two lines. Report it with "
       "the traceback that FASTNDCG_DEBUG=1 prints.")
      for error in (ValueError("two\nlines"), RecursionError("two lines"), Panic("two lines"))),
], ids=repr)  # fmt: skip
def test_every_error_is_one_line(monkeypatch, run, error, line):
    """The exit code is 2 for every exception. 1 is that of a gate that fails. FASTNDCG_DEBUG adds the traceback."""

    def fail(_):
        raise error

    monkeypatch.setattr("fastndcg.cli.lists.run_metrics", fail)
    assert run("metrics") == (2, "", f"fastndcg: error: {line}\n")
    monkeypatch.setenv("FASTNDCG_DEBUG", "1")
    code, out, err = run("metrics")
    assert (code, out) == (2, "")
    assert err.startswith("Traceback (most recent call last):\n")
    assert err.endswith(f"\nfastndcg: error: {line}\n")


def open_when_read(pipe, process):
    while process.poll() is None:
        with contextlib.suppress(OSError):  # ENXIO: no process reads the pipe yet
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        time.sleep(0.01)
    pytest.fail(f"ended before it read the pipe: {process.communicate()}")


def test_terminal_without_unicode_gets_the_rest():
    line = [sys.executable, "-m", "fastndcg", "metrics", "nDCG"]
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    assert rb"J\xe4rvelin" in subprocess.run(line, env=environment, stdout=subprocess.PIPE, check=True).stdout


def run_on_terminal(command, **options):
    """Return the exit code, what the command writes to the standard error of a terminal, and its output."""
    import pty

    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=theirs, **options) as process:
        os.close(theirs)
        shown = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # Linux raises an error once the other side is closed
                break
            if not piece:
                break
            shown += piece
        output = process.stdout.read()
    os.close(ours)
    return process.returncode, shown.decode(), output


@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals: run on POSIX")
def test_progress_shows_on_a_terminal(files):
    """A terminal shows long work on one line and clears it at the end. Standard output has only the result."""
    code = (
        "from fastndcg.runtime import progress; from fastndcg.cli import main\n"
        "progress.DELAY = 0; progress.skip_announcement(); main()"
    )
    arguments = ["compare", "qrels.txt", "good.run", "tied.run", "-m", "rr", "--json"]
    environment = os.environ | {"FASTNDCG_QUIET": "0"}
    status, shown, out = run_on_terminal([sys.executable, "-c", code, *arguments], env=environment)
    assert (status, json.loads(out)["metrics"]) == (0, ["RR"])
    assert "evaluating systems" in shown
    assert "\n" not in shown.strip()
    assert shown.rstrip("\r").rpartition("\r")[2].strip() == ""


@pytest.fixture
def write_rows(tmp_path):
    """Return a function that writes columns to a file of Parquet and returns its path."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")

    def write(**columns):
        pq.write_table(pa.table(columns), tmp_path / "rows.parquet")
        return tmp_path / "rows.parquet"

    return write


def test_parquet_that_stands_alone(write_rows, shown, wrong):
    path = write_rows(qid=[1, 1, 2], label=[0, 1, 1], score=[0.2, 0.1, 0.3])
    out = shown("evaluate", path, "-m", "rr", "--memory", "1MB", "--format", "trec")
    assert out == "recip_rank            \tall\t0.7500\n"
    path = write_rows(qid=[1], docno=["a"], label=[1])
    message = "rows.parquet does not have labels and scores in columns of usual names. Give one or more runs, or"
    wrong(message, "evaluate", path, "-m", "rr")
    wrong("RUN is missing, and", "evaluate", path, "-m", "rr")


def test_closed_standard_output_is_an_error():
    code = "import sys; sys.stdout = None; from fastndcg.cli import main; sys.exit(main(['metrics']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "fastndcg: error: standard output is closed. Name a file with -o.\n")


def test_columns_are_named_on_the_command_line(write_rows, shown, wrong):
    path = write_rows(member=[1, 2, 1, 2], opened=[0, 1, 1, 0], model=[0.9, 0.8, 0.5, 0.7])
    columns = "query=member, label=opened, score=model"
    out = shown("evaluate", path, "-m", "rr", "--columns", columns, "--format", "csv", "--per-query")
    assert [line.split(",")[-1] for line in out.splitlines()[1:]] == ["0.5", "1.0"]
    misspelt = ("evaluate", path, "-m", "rr", "--columns", "query=member,label=opened,score=modle")
    for message in ("must have one column 'modle', but has 0: its columns are 'member', 'opened', 'model'",
                    "Give --columns score=NAME\n"):  # fmt: skip
        wrong(message, *misspelt)
    for columns in ("label", "label=", "label=a,label=b"):
        wrong("--columns must have a name for each role", "evaluate", path, "--columns", columns)
