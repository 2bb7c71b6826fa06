"""What strangers may pass to the command line: numbers of any size, in every option that takes one."""

import contextlib
import faulthandler
import sys
from pathlib import Path

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
    "compare": "compare qrels.txt a.run b.run -m ndcg@10",
    "plot": "plot qrels.txt a.run b.run -o plot.svg -m ndcg@10",
    "gate": "gate qrels.txt a.run --baseline b.run -m ndcg@10,success@1",
    "plan": "plan",
    "audit": "audit",
    "leaderboard": "leaderboard qrels.txt a.run b.run",
    "explain": "explain qrels.txt a.run q1",
    "agreement": "agreement a.run b.run",
    "fuse": "fuse a.run b.run",
    "tune-fusion": "tune-fusion qrels.txt a.run b.run",
}
NEEDED = {  # with an option of these commands
    "evaluate": {"memory": "u.npy,i.npy"},
    "plan": {
        "difference": "--std 0.2",
        "n": "--std 0.2",
        "std": "--difference 0.02",
        "": "--difference 0.02 --std 0.2",
    },
    "audit": {"mean": "-n 10", "n (audit)": "--mean 0.5", "": "--mean 0.5 -n 10"},
}
TEXTS = {  # numbers in texts, with {} in their place
    "memory": ["{}", "{}MB"],
    "fail-under": ["ndcg@10={}"],
    "margin (gate)": ["{}", "{}%", "ndcg@10={}"],
    "clusters (plan)": ["{},0.3", "5,{}"],
    "weights (fused)": ["{},1", "a=1,b={}"],
    "metrics": ["ndcg@{}", "P(rel={})", "ndcg(gain=[0,{}])", "RBP(p={})", "ERR(max={})"],
    "metrics (agreement)": ["rbo(p={})", "tau_b@{}"],
    "metrics (spans)": ["span_recall@{}"],
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
    return tmp_path


def is_clean(code, err):
    """Return True for success, and for one line that does not call the error a fault of ours."""
    return code != 2 or (len(err.splitlines()) == 1 and err.startswith("fastndcg: error: ") and "fault in" not in err)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("command", "name"), CASES, ids=map("-".join, CASES))
def test_numbers_of_any_size(inputs, run, command, name):
    """Each ends with success or in one line: no traceback, no warning, and nothing hangs."""
    line = COMPLETE.get(name, COMPLETE[command]).split()
    needed = NEEDED.get(command, {})
    line += needed.get(name, needed.get("", "")).split()
    flag = OPTIONS[name].flags.split()[0]
    for text in TEXTS.get(name, ["{}"]):
        for number in NUMBERS:
            value = text.format(number)
            given = [f"{flag}={value}"] if flag.startswith("--") else [flag, value]
            with bounded():
                code, _, err = run(*line, *given)
            assert code in VERDICTS.get(command, {0, 1, 2} if name == "fail-under" else {0, 2}), (given, err)
            assert is_clean(code, err), (given, err)
