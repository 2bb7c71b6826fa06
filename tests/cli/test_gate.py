"""``fastndcg gate`` and ``plan``: exit codes, formats, baselines as files."""

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import takewhile
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg import cli

ROOT = Path(__file__).resolve().parents[2]
QUERIES = [f"q{place:02}" for place in range(30)]


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("".join(f"{query} 0 good 1\n" for query in QUERIES))
    for name, n_worse in (("old", 0), ("two", 2), ("many", 15)):
        lines = [
            f"{query} Q0 {document} {rank} {score} {name}\n"
            for place, query in enumerate(QUERIES)
            for rank, (document, score) in enumerate([("good", 2 - 2 * (place < n_worse)), ("bad", 1)], 1)
        ]
        Path(f"{name}.run").write_text("".join(lines))
    return tmp_path


@pytest.fixture
def gate(files, run):
    """Return a function that gates two runs and returns the exit code and the output."""
    return lambda *arguments: run("gate", "qrels.txt", *arguments, "-m", "success@1")[:2]


def read_remedy(printed, names):
    """Return the words of the command in a reason, with files in place of the names in capitals."""
    command = re.search("save .* again: fastndcg (.* --save-baseline FILE)", printed, re.IGNORECASE)[1]
    return [names.get(word, word) for word in shlex.split(command)]


def test_exit_codes(gate, wrong):
    """0 pass, 1 fail, 3 undecided, 4 not comparable, 2 wrong use."""
    Path("short.run").write_text("".join(Path("old.run").read_text().splitlines(keepends=True)[:-2]))
    for code, *words in ((0, "old.run"), (1, "many.run"), (3, "two.run", "--margin", "0.02"), (4, "short.run")):
        assert gate("old.run", *words)[0] == code
    wrong("`margin` must be a number from 0", "gate", "qrels.txt", "old.run", "old.run", "--margin", "x")


def test_saved_baseline(files, run):
    """A saved baseline has its metrics and its convention; judgments that changed since are seen."""
    assert run("evaluate", "qrels.txt", "old.run", "-m", "P(rel=0.5)@1", "--save-baseline", "base.json")[0] == 0
    assert fn.load_result("base.json").mean() == {"P(rel=0.5)@1": 1.0}
    code, out, _ = run("gate", "qrels.txt", "base.json", "many.run", "--format", "json")
    found = json.loads(out)
    assert (code, [row["metric"] for row in found["rows"]]) == (1, ["P(rel=0.5)@1"])
    assert len(found["regressed"]) == 15
    with Path("qrels.txt").open("a") as qrels:
        qrels.write("q00 0 bad 1\n")
    code, out, _ = run("gate", "qrels.txt", "base.json", "old.run")
    assert (code, "the truth has changed" in out) == (4, True)
    baseline = ["--save-baseline", "sklearn.json", "--convention", "sklearn"]
    for code, words in (
        (0, read_remedy(out, {"QRELS": "qrels.txt", "RUN": "old.run", "FILE": "base.json"})),
        (0, ["gate", "qrels.txt", "base.json", "old.run"]),
        (0, ["evaluate", "qrels.txt", "old.run", "-m", "ndcg", *baseline]),
        (0, ["gate", "qrels.txt", "sklearn.json", "old.run"]),
        (4, ["gate", "qrels.txt", "sklearn.json", "old.run", "--convention", "default"]),
    ):
        assert run(*words)[0] == code


TRUTHS = {  # ways to give the judgments of a file
    "path": str,
    "dict": lambda path: fn.Qrels(path).to_dict(),
    "frame": lambda path: fn.Qrels(path).to_pandas(),
    "records": lambda path: iter(fn.Qrels(path).to_pandas().to_dict("records")),
}


@pytest.mark.parametrize("baseline", ["command", *TRUTHS])
def test_changed_truth_is_seen_however_it_is_given(files, baseline):
    """A baseline by each way, and a truth by each way: the same one in another order passes, another one never does."""
    truths = {"same.txt": reversed(QUERIES), "other.txt": QUERIES}
    for name, queries in truths.items():
        lines = [f"{query} 0 good 1\n" for query in queries]
        Path(name).write_text("".join([*lines, "q00 0 bad 1\n" * (name == "other.txt")]))
    for name in ("qrels", "same", "other"):
        if baseline == "command":
            cli.main(["evaluate", f"{name}.txt", "old.run", "-m", "rr", "--save-baseline", f"{name}.json"])
        else:
            fn.evaluate(f"{name}.txt", "old.run", "rr").save(f"{name}.json", truth=TRUTHS[baseline](f"{name}.txt"))
    for name, verdict in (("qrels", "pass"), ("same", "pass"), ("other", "not comparable")):
        codes = {"pass": 0, "not comparable": 4}
        assert cli.main(["gate", f"{name}.txt", "qrels.json", "old.run"]) == codes[verdict]
        for way in TRUTHS.values():
            assert fn.gate(way(f"{name}.txt"), "qrels.json", "old.run").verdict == verdict
        found = fn.gate(None, "qrels.json", f"{name}.json")
        assert found.verdict == fn.gate(f"{name}.txt", "qrels.json", f"{name}.json").verdict == verdict
        assert ("the two are results of different truths" in str(found)) == (name == "other")


def test_spans(tmp_path, monkeypatch, run):
    """A baseline of `spans` has its metrics, and the new chunks are evaluated by them."""
    monkeypatch.chdir(tmp_path)
    gold = {query: [["a", 10, 20]] for query in QUERIES}
    chunks = {name: {query: [["a", start, 25]] for query in QUERIES} for name, start in (("old", 10), ("new", 15))}
    for name, spans in [("gold", gold), *chunks.items()]:
        Path(f"{name}.json").write_text(json.dumps(spans))
    spans = ["spans", "gold.json", "old.json", "-m", "span_recall@1, span_iou@1", "--overlap", "counted"]
    code, _, err = run(*spans, "--save-baseline", "base.json")
    assert (code, err) == (0, "base.json written\n")
    expected = fn.evaluate_spans(gold, chunks["old"], "span_recall@1, span_iou@1", overlap="counted")
    assert fn.load_result("base.json").to_dict() == expected.to_dict()
    gate = ["gate", "gold.json", "base.json"]
    assert run(*gate, "old.json")[0] == 0
    Path("new.csv").write_text("query,file,from,end\n" + "".join(f"{query},a,15,25\n" for query in QUERIES))
    table = ["new.csv", "--columns", "document=file,start=from"]
    for words in (["new.json"], table):
        code, out, _ = run(*gate, *words, "--margin", "0.1", "--format", "json")
        first, second = json.loads(out)["rows"]
        found = code, first["metric"], first["candidate"], second["candidate"]
        assert found == (1, "span_recall@1", 0.5, 1 / 3)
    assert run(*gate, *table, "-m", "span_iou(overlap=counted)@1")[0] == 1
    Path("gold.json").write_text(json.dumps(gold | {"q99": [["a", 0, 9]]}))
    code, out, _ = run(*gate, *table)
    assert code == 4
    assert run(*read_remedy(out, {"GOLD": "gold.json", "CHUNKS": "old.json", "FILE": "again.json"}))[0] == 0
    assert run("gate", "gold.json", "again.json", "old.json")[0] == 0
    assert run("plan", "-n", "99", "--from", "base.json")[0] == 2  # its values are equal


@pytest.mark.parametrize(
    ("form", "start"),
    [("text", "fail\n"), ("markdown", "### "), ("json", "{"), ("junit", "<?xml"), ("github", "::error title=")],
)
def test_formats(gate, form, start):
    code, text = gate("old.run", "many.run", "--format", form)
    assert (code, text.startswith(start), "fail" in text) == (1, True, True)
    assert gate("old.run", "many.run", "--format", form, "-o", "out") == (1, "")
    assert Path("out").read_text(encoding="utf-8") == text


def test_floors_of_evaluate(files, run):
    """A mean below its floor gives the exit code 1 and a line; the bound of 30 of 30 is 0.905."""
    both, hits, ranks = "old.run many.run", "-m success@1 --fail-under", "-m rank --fail-under"
    no_direction = "--fail-under must have metrics of which higher or lower values are better"
    for words, code, said in (
        (f"{both} {hits} success@1=0.5", 0, ""), (f"{both} {hits} success@1=0.6", 1, ""),
        (f"{both} {hits} success@1=0.5,ndcg@10=0.1 -m ndcg@10", 0, ""),
        (f"{both} {hits} success@1=0.6,ndcg@10=0.1 -m ndcg@10", 1, "many: the mean of success@1 is 0.5000, below 0.6"),
        (f"{both} {ranks} rank=1.5", 0, ""),
        (f"{both} {ranks} rank=1.4", 1, "many: the mean of rank is 1.5000, above 1.4"),
        (f"{both} {ranks} rank=1.6 --fail-by limit", 1, "many: the 95 % upper bound of rank is"),
        ("old.run -m num_ret --fail-under num_ret=1", 2, no_direction),
        (f"old.run {hits} success@1=0.9 --fail-by limit", 0, ""),
        (f"old.run {hits} success@1=0.91 --fail-by limit --interval", 1, "[0.8843, 1.0000]  clopper-pearson"),
    ):  # fmt: skip
        found, *texts = run("evaluate", "qrels.txt", *words.split())
        assert (found, said in "".join(texts)) == (code, True), words


def test_plan_and_audit(files, run, shown, wrong):
    for name in ("old", "two"):
        run("evaluate", "qrels.txt", f"{name}.run", "-m", "success@1", "--save-baseline", f"{name}.json")
    gate = fn.gate(None, *(fn.load_result(f"{name}.json") for name in ("old", "two")))
    for words, expected in (
        ("--difference 0.05 --from old.json,two.json", fn.plan(0.05, from_=gate)),
        ("-n 50 --std 0.2 --clusters 5,0.3", fn.plan(n=50, from_=0.2, clusters=(5, 0.3))),
        ("-n 10 --audit 1 --other 0.7", fn.audit(1.0, 10, other=0.7)),
    ):
        assert shown("plan", *words.split()) == f"{expected}\n"
    for words, message in (
        ("-n 10 --std 1 --other 0.7", "--other"), ("-n 10 --audit 1 --clusters 5,0.3", "--clusters"),
        ("--difference 0.1 --audit 1", "--audit takes -n N"), ("-n 50 --std 0.2 --clusters x", "--clusters"),
    ):  # fmt: skip
        wrong(message, "plan", *words.split())
    names = shown("plan", "-n", "50", "--std", "0.2", "--format", "csv").split(",")[:2]
    assert names == list(fn.plan(n=50, from_=0.2)._asdict())[:2]


PAGE = (ROOT / "docs/guides/in_ci.md").read_text(encoding="utf-8")
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
STUB = f"""#!/bin/sh
printf '%s\\n' "$@" > words.txt
if [ -n "$ENDS" ]; then echo "### text"; exit "$ENDS"; fi
exec "{sys.executable}" -m fastndcg "$@"
"""
CLUSTERS = '--clusters "user groups.txt"'


@pytest.fixture
def runner(files, monkeypatch):
    """Return a function that runs a step as GitHub does, and returns its exit code, its summary and its verdict."""
    cli.main(["evaluate", "qrels.txt", "old.run", "-m", "ndcg@10", "--save-baseline", "base.json"])
    Path("user groups.txt").write_text("".join(f"{query} user{query[1]}\n" for query in QUERIES))
    for name, text in (("fastndcg", STUB), ("gh", "#!/bin/sh\ncat gate.md > comment.md\n")):
        Path(name).write_text(text)
        Path(name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{files}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(Path(fn.__file__).parents[1]))
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        monkeypatch.setenv(name, str(files / name))
        Path(name).touch()

    def run(step, *flags, **environment):
        Path("step.sh").write_text(step)
        done = subprocess.run(["bash", *flags, "step.sh"], env=os.environ | environment, check=False)
        verdict = Path("GITHUB_OUTPUT").read_text().removeprefix("verdict=").rstrip("\n")
        return done.returncode, Path("GITHUB_STEP_SUMMARY").read_text().partition("\n")[0], verdict

    return run


def read_step(text, start):
    """Return the shell lines of the first step after a line of a workflow."""
    lines = text.partition(start)[2].partition("run: |\n")[2].splitlines()
    indent = len(lines[0]) - len(lines[0].lstrip())
    return "\n".join(line[indent:] for line in takewhile(lambda line: line.startswith(" " * indent), lines)) + "\n"


@pytest.mark.parametrize(("new", "environment", "code", "summary"), [
    ("two", {}, 0, "### ❔ undecided"), ("old", {"ENDS": "0"}, 0, "### text"), ("old", {"ENDS": "1"}, 1, "### text"),
    ("old", {"ENDS": "4"}, 4, "### text"), ("old", {"PYTHONHOME": "absent"}, 2, ""),
])  # fmt: skip
def test_workflow_of_the_guide(runner, new, environment, code, summary):
    """The page's step, under `bash -e` as GitHub runs it. What has no verdict is no comment."""
    Path("new.run").write_text(Path(f"{new}.run").read_text())
    assert "permissions:\n  contents: read\n  pull-requests: write\n" in PAGE
    assert runner(read_step(PAGE, "- id: gate"), "-e", **environment) == (code, summary, "")
    assert runner(read_step(PAGE, "- if: always()"), "-e")[0] == 0
    assert Path("comment.md").exists() == bool(summary)


@pytest.mark.parametrize(("inputs", "environment", "code", "summary", "verdict"), [
    ({"arguments": CLUSTERS}, {}, 0, "### ✅ pass", "pass"), ({}, {"ENDS": "1"}, 1, "### text", "fail"),
    ({}, {"ENDS": "3"}, 0, "### text", "undecided"), ({}, {"ENDS": "4"}, 4, "### text", "not comparable"),
    ({"undecided": "fail"}, {"ENDS": "3"}, 3, "### text", "undecided"), ({"run": "absent.run"}, {}, 2, "", "error"),
    ({}, {"PYTHONHOME": "absent"}, 2, "", "error"), ({"arguments": "--margin '2%"}, {}, 2, "", "error"),
    ({}, {"ENDS": "137"}, 137, "### text", "error"),
])  # fmt: skip
def test_action(runner, inputs, environment, code, summary, verdict):
    assert run_action(runner, inputs, **environment) == (code, summary, verdict)


@pytest.mark.parametrize(("text", "words"), [
    ("", []), (f"-m ndcg@10  {CLUSTERS}", ["-m", "ndcg@10", "--clusters", "user groups.txt"]),
    ("--margin 'ndcg@10=2%'\n--level 0.9\n", ["--margin", "ndcg@10=2%", "--level", "0.9"]),
    ("$(touch x) `touch x` $HOME * ; x", ["$(touch", "x)", "`touch", "x`", "$HOME", "*", ";", "x"]),
])  # fmt: skip
def test_arguments_of_the_action(runner, text, words):
    """Quotes keep blanks, lines are joined, and nothing is run."""
    run_action(runner, {"arguments": text}, ENDS="0")
    given = ["gate", "qrels.txt", "base.json", "old.run", *words, "--format", "markdown"]
    assert Path("words.txt").read_text().splitlines() == given


def run_action(runner, inputs, **environment):
    """Run the action as GitHub does: the flags of `shell: bash`, and inputs in the variables that it names."""
    usual = {"qrels": "qrels.txt", "run": "old.run", "baseline": "base.json", "arguments": "", "undecided": "pass"}
    pairs = re.findall(r"(\w+): \$\{\{ inputs\.(\w+) \}\}", ACTION)
    given = {name: (usual | inputs)[own] for name, own in pairs}
    flags = ("--noprofile", "--norc", "-eo", "pipefail")
    return runner(read_step(ACTION, "- id: gate"), *flags, **given, **environment)


@pytest.mark.parametrize(
    ("gate", "code", "is_renewed"), [("", 0, True), ("1", 0, False), ("3", 0, False), ("4", 4, False)]
)
def test_baseline_is_renewed_by_a_better_run(runner, gate, code, is_renewed):
    cli.main(["evaluate", "qrels.txt", "many.run", "-m", "ndcg@10", "--save-baseline", "base.json"])
    Path("new.run").write_text(Path("old.run").read_text())
    before = fn.load_result("base.json").mean()
    assert runner(read_step(PAGE, "- name: renew the baseline"), "-e", ENDS=gate)[0] == code
    assert (fn.load_result("base.json").mean() != before) == is_renewed
