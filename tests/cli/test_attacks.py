"""What strangers may pass to the command line: numbers of any size in every option, files of any content everywhere."""

import contextlib
import faulthandler
import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from fastndcg.cli.commands import COMMANDS
from fastndcg.cli.options import OPTIONS

BOUND = 300  # seconds, which a loaded machine does not take either
VERDICTS = {"gate": {0, 1, 2, 3}}
NUMBERS = ["0", "-1", "1e-17", "0.999999999999", str(2**32), str(2**63), "1e308", "nan", "inf", "9" * 400]
COMPLETE = {  # the other arguments of commands that have numbers, and of an option
    "memory": "evaluate qrels.txt u.npy,i.npy --query-ids queries --document-ids documents",
    "evaluate": "evaluate qrels.txt a.run --convention trec_eval",
    "evaluate-pairs": "evaluate-pairs qrels.txt a.run",
    "spans": "spans gold.csv gold.csv",
    "index-recall": "index-recall u.npy,i.npy found.npy",
    "compare": "compare qrels.txt a.run b.run -m ndcg@10",
    "estimate-with-judge": "estimate-with-judge qrels.txt qrels.txt a.run",
    "compare-judges": "compare-judges qrels.txt qrels.txt a.run b.run -m ndcg@10",
    "plot": "plot qrels.txt a.run b.run -o plot.json -m ndcg@10",
    "plot margin": "plot qrels.txt a.run b.run -o plot.svg -m ndcg@10",
    "gate": "gate qrels.txt b.run a.run -m ndcg@10,success@1",
    "plan": "plan",
    "leaderboard": "leaderboard qrels.txt a.run b.run",
    "explain": "explain qrels.txt a.run q1",
    "diff": "diff qrels.txt a.run b.run",
    "bounds": "bounds qrels.txt a.run b.run --labels 0,1,2",
    "judge-next": "judge-next qrels.txt a.run b.run -n 2 --labels 0,1,2",
    "agreement": "agreement a.run b.run",
    "fuse": "fuse a.run b.run",
    "tune-fusion": "tune-fusion qrels.txt a.run b.run",
    "convert": "convert a.run x.txt",
}
NEEDED = {  # with an option of these commands
    "evaluate": {"memory": "u.npy,i.npy"},
    "plan": {
        "difference": "--std 0.2",
        "n": "--std 0.2",
        "std": "--difference 0.02",
        "audit": "-n 10",
        "other": "-n 10 --audit 0.5",
        "": "--difference 0.02 --std 0.2",
    },
}
TEXTS = {  # numbers in texts, with {} in their place
    "memory": ["{}", "{}MB"],
    "fail-under": ["ndcg@10={}"],
    "margin (gate)": ["{}", "{}%", "ndcg@10={}"],
    "clusters (plan)": ["{},0.3", "5,{}"],
    "weights (fused)": ["{},1", "a=1,b={}"],
    "metrics": ["ndcg@{}", "RBP(p={})"],
    "metrics (evaluated)": ["P(rel={})", "ndcg(gain=[0,{}])", "ERR(max={})"],  # one parser for all commands
    "metrics (agreement)": ["rbo(p={})", "tau_b@{}"],
    "metrics (spans)": ["span_recall@{}"],
    "metrics (index)": ["recall@{}"],
    "method": ["rrf(k={})", "rbc(phi={})", "wsum(norm=min_max(lower={}))"],
    "methods": ["rrf(k={})"],
    "convention": ["default(default_k={})"],
}


def list_options(command):
    """Yield the names of a command's options whose values are or hold numbers."""
    for names in (*command.groups.values(), *command.expert_groups.values()):
        for name in names.replace("|", ",").replace("!", "").split(","):
            option = OPTIONS.get(name.strip())
            if option is not None and (option.settings.get("type") in (int, float) or name.strip() in TEXTS):
                yield name.strip()


CASES = [(command, name) for command, facts in COMMANDS.items() for name in list_options(facts)]
CASES.append(("evaluate", "metrics (evaluated)"))


@contextlib.contextmanager
def bounded():
    """End the process with a traceback if a block of code takes so long that it hangs."""
    faulthandler.dump_traceback_later(BOUND, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def inputs(tmp_path, monkeypatch):
    """Write judgments, two runs, and spans."""
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("".join(f"q{q} 0 d{d} {int(d < 2)}\n" for q in range(30) for d in range(4)))
    for name, n, step in (("a", 3, 1), ("b", 2, 7)):
        rows = [f"q{q} Q0 d{(q * step + r) % 4} {r + 1} {10 - r} {name}\n" for q in range(30) for r in range(n)]
        Path(f"{name}.run").write_text("".join(rows))
    Path("gold.csv").write_text("query,document,start,end\nq,a,0,9\n")
    for name, n in (("u.npy", 30), ("i.npy", 4)):
        np.save(name, np.ones((n, 2), "f4"))
    np.save("found.npy", np.tile([2, 1, -1], (30, 1)))
    return tmp_path


def is_clean(code, err):
    """Return True for success, and for one line that does not call the error a fault of ours."""
    return code != 2 or (len(err.splitlines()) == 1 and err.startswith("fastndcg: error: ") and "fault in" not in err)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("command", "name"), CASES, ids=map("-".join, CASES))
def test_numbers_of_any_size(inputs, run, command, name):
    """Each ends with success or in one line: no traceback, no warning, and nothing hangs."""
    line = COMPLETE.get(name, COMPLETE.get(f"{command} {name}", COMPLETE[command])).split()
    texts, name = TEXTS.get(name, ["{}"]), name.replace(" (evaluated)", "")
    needed = NEEDED.get(command, {})
    line += needed.get(name, needed.get("", "")).split()
    flag = OPTIONS[name].flags.split()[0]
    for text in texts:
        for number in NUMBERS:
            value = text.format(number)
            given = [f"{flag}={value}"] if flag.startswith("--") else [flag, value]
            with bounded():
                code, _, err = run(*line, *given)
            assert code in VERDICTS.get(command, {0, 1, 2} if name == "fail-under" else {0, 2}), (given, err)
            assert is_clean(code, err), (given, err)


ROWS = "".join(f"q{q} {1 + q % 3}\n" for q in range(30))
HOSTILE = {
    "empty": b"", "NUL": bytes(100), "UTF-16": ROWS.encode("utf-16"), "Latin-1": b"q0 caf\xe9\nq1 x\n",
    "cut gzip": gzip.compress(os.urandom(3000))[:900], "xz": b"\xfd7zXZ\0\0", "Parquet": b"PAR1" + bytes(50) + b"PAR1",
    "Arrow": b"ARROW1\0\0" + bytes(50), "a long cell": b"system,dataset,value\n" + b"x" * 200_000 + b",a,1\n",
    "deep lists": b"[" * 200_000, "deep results": b'{"format": "fastndcg results 1", "a": ' + b"[" * 200_000,
    "huge numbers": b"system,dataset,value\na,x,1e308\nb,x,-1e308\na,y,1e308\nb,y,-1e308\n",
    "a huge whole number": b'{"q0": {"d0": ' + b"9" * 5000 + b"}}", "JSON of other kinds": b'[1, null, {"format": []}]',
    "pickle": b"\x80\x04\x95" + b"x" * 50,
}  # fmt: skip
LINES = [
    "evaluate {} a.run", "evaluate qrels.txt {}", "evaluate {}", "evaluate-pairs {} a.run", "spans {} gold.csv",
    "spans gold.csv {}", "compare {} a.run b.run", "compare qrels.txt a.run {}", "plot qrels.txt {} b.run -o x.svg",
    "index-recall {}.npy,i.npy found.npy", "index-recall u.npy,i.npy {}",
    "index-recall u.npy,i.npy found.npy --qrels {}",
    "estimate-with-judge qrels.txt {} a.run", "compare-judges {} qrels.txt a.run b.run",
    "compare qrels.txt a.run b.run --html x.html --judge {}",
    "gate qrels.txt b.run {}", "gate qrels.txt {} a.run", "plan -n 5 --from {}", "leaderboard {}", "convert {} x.txt",
    "leaderboard qrels.txt a.run {}", "explain qrels.txt {} q1", "agreement a.run {}", "fuse a.run {}",
    "diff qrels.txt a.run {}", "diff qrels.txt a.run b.run --qrels-after {}",
    "bounds {} a.run b.run", "bounds qrels.txt a.run {}", "judge-next qrels.txt a.run {} -n 1",
    "tune-fusion {} a.run b.run", "compare qrels.txt a.run b.run --segments {}",
    "compare qrels.txt a.run b.run --html x.html --queries {}", "gate qrels.txt b.run a.run --clusters {}",
    "gate qrels.txt b.run a.run --strata {}", "gate qrels.txt b.run a.run --weights {}",
    "evaluate qrels.txt a.run --parents {}", "fuse a.run b.run --method mapfuse --train {} a.run b.run",
    "tune-fusion qrels.txt a.run b.run --clusters {}",
    "evaluate qrels.txt u.npy,i.npy --document-ids documents --query-ids {}",
    "evaluate qrels.txt u.npy,i.npy --query-ids queries --document-ids {}",
    "evaluate qrels.txt u.npy,i.npy --query-ids queries --document-ids documents --exclude {}",
    "evaluate qrels.txt u.npy,i.npy --query-ids queries --document-ids documents --candidates {}",
    "evaluate qrels.txt {}.npy,i.npy", "evaluate qrels.txt {}.safetensors", "--import ./{} metrics",
]  # fmt: skip


def test_every_file_of_a_command_may_be_hostile():
    """The lines above name each option that reads a file, and each command that has files."""
    flags = {option.flags for option in OPTIONS.values() if option.metavar and "FILE" in option.metavar}
    written = {"-o --output", "--html", "--plot", "--run", "--save-baseline"}
    named = {word for line in LINES for word in line.split()}
    assert flags - written - named == set()
    assert {command for command, facts in COMMANDS.items() if facts.inputs or command == "plan"} - named == set()


@pytest.mark.parametrize("line", LINES)
def test_files_of_any_content(inputs, run, line):
    """Each ends with success, a verdict, or in one line, which does not call the file a fault of ours."""
    for name, content in {**HOSTILE, "a folder": None, "nothing": None}.items():
        for suffix in ("", ".npy", ".safetensors"):
            path = Path(f"file{suffix}")
            path.unlink(missing_ok=True)
            if content is not None:
                path.write_bytes(content)
        given = line.format("." if name == "a folder" else "file").split()
        with bounded():
            code, _, err = run(*given)
        assert code in {0, 2, 3, 4}, (name, code, err)
        assert is_clean(code, err), (name, err)


def test_tables_are_read_as_everywhere(inputs, shown, wrong):
    """Published means of a packed file, of a pipe, with another delimiter, below comments, as Parquet, as JSON."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [(f"s{s}", f"d{d}", (s + 2) / (d + 5)) for s in range(3) for d in range(6)]
    text = "system,dataset,value\n" + "".join(f"{s},{d},{v}\n" for s, d, v in rows)
    Path("plain.csv").write_text(text)
    Path("packed.csv.gz").write_bytes(gzip.compress(text.encode()))
    Path("tabs.tsv").write_text("# of 2024, by us\n" + text.replace(",", "\t"))
    names = ("system", "dataset", "value")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), "table.parquet")
    nested = {s: {d: v for own, d, v in rows if own == s} for s, _, _ in rows}
    Path("nested.json").write_text(json.dumps(nested))
    expected = shown("leaderboard", "plain.csv")
    assert expected.startswith("system")
    for name in ("packed.csv.gz", "tabs.tsv", "table.parquet", "nested.json"):
        assert shown("leaderboard", name) == expected, name
    for table, message in {
        "system,dataset\na,x\n": "but has the columns 'system', 'dataset'. Name them by --columns system=NAME,dataset",
        "model,x,y\na,0.5,0.6\nb,0.5,high\n": "wrong.csv, row 1, column 'y': must have a number up to",
        "system,dataset,value\na,x,0.5\na,y,high\n": "row 1, column 'value': must have a number up to 1e+100 as value",
        "system,dataset,value\na,x,0.5\na,x,0.6\n": "row 1, column 'value': system 'a' must have one value of 'x'",
    }.items():
        Path("wrong.csv").write_text(table)
        wrong(message, "leaderboard", "wrong.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes: run on POSIX")
def test_files_that_come_once(inputs, run, monkeypatch):
    """A baseline, means and ids of a pipe are read, whole, packed or not."""
    run("evaluate", "qrels.txt", "b.run", "-m", "rr", "--save-baseline", "base.json")
    content = Path("base.json").read_bytes()
    Path("parents.json").write_text(json.dumps({f"d{d}": "d0" for d in range(10)}))
    parents, gate = "evaluate qrels.txt a.run b.run --parents {}", "gate qrels.txt {} a.run -m rr"
    for line, name, packed in (
        (gate, "base.json", content), (gate, "base.json", gzip.compress(content)),
        (gate, "b.run", Path("b.run").read_bytes()), (parents, "parents.json", Path("parents.json").read_bytes()),
    ):  # fmt: skip
        expected = run(*line.format(name).split())
        os.mkfifo("pipe")
        writer = threading.Thread(target=Path("pipe").write_bytes, args=(packed,))
        writer.start()
        with bounded():
            assert run(*line.format("pipe").split()) == expected
        writer.join()
        os.unlink("pipe")
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BufferedReader(io.BytesIO(content))))
    assert run("plan", "-n", "50", "--from", "-")[::2] == (0, "")


def test_ids_that_are_numbers(inputs, run, wrong):
    """Judgments and runs of Parquet have whole numbers as ids. Side files and QUERY name them by their digits."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    queries = [q for q in range(30) for _ in range(2)]
    table = {"query": queries, "document": [0, 1] * 30}
    pq.write_table(pa.table(table | {"label": [1, 0] * 30}), "q.parquet")
    for name, scores in (("x.parquet", [2.0, 1.0] * 30), ("y.parquet", [1.0, 2.0, 2.0, 1.0] * 15)):
        pq.write_table(pa.table(table | {"score": scores}), name)
    Path("side").write_text("".join(f"{q} {1 + q // 3}\n" for q in range(30)))
    Path("texts").write_text("".join(f"{q}\tquery {q}\n" for q in range(30)))
    both = "q.parquet x.parquet y.parquet"
    for line in (
        "explain q.parquet x.parquet 1 -m rr", "fuse x.parquet y.parquet --explain 1",
        f"compare {both} --segments side", f"tune-fusion {both} --clusters side",
        f"compare {both} --html x.html --queries texts",
        *(f"gate q.parquet x.parquet x.parquet --{name} side" for name in ("clusters", "strata", "weights")),
    ):  # fmt: skip
        code, _, err = run(*line.split())
        assert (code, "error" in err) == (0, False), (line, err)
    assert "query 7" in Path("x.html").read_text(encoding="utf-8")
    wrong("none is called 31", "explain", "q.parquet", "x.parquet", "31", "-m", "rr")
