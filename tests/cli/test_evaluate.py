"""Output formats, errors and exit codes of the commands that evaluate, compare rankings and list."""

import csv
import io
import json
import os
import shutil
from math import log2
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg.cli import COMMANDS
from fastndcg.metrics.families import CATALOG


class TestEvaluate:
    def test_one_run_prints_its_results(self, files, run):
        result = fn.evaluate("qrels.txt", "good.run", "ndcg@10,map")
        assert run("evaluate", "qrels.txt", "good.run", "-m", "ndcg@10,map") == (0, f"{result}\n", "")
        _, out, _ = run("evaluate", "qrels.txt", "good.run", "-m", "rr", "-m", "P(rel=2)@1, ap")
        assert [line.split()[0] for line in out.splitlines()[1:4]] == ["RR", "P(rel=2)@1", "AP"]

    def test_several_runs_give_one_row_each(self, files, shown):
        lines = shown("evaluate", "qrels.txt", "good.run", "tied.run", "-m", "rr,p@1").splitlines()
        assert lines[0].split() == ["run", "RR", "P@1", "queries", "undefined", "tied"]
        assert lines[1].split() == ["good", "1.0000", "1.0000", "3", "0", "0"]
        # q1: a is first or second; q2: a is second; q3 is missing
        rr, p = ((1 + 1 / 2) / 2 + 1 / 2 + 0) / 3, (1 / 2 + 0 + 0) / 3
        assert lines[2].split() == ["tied", f"{rr:.4f}", f"{p:.4f}", "3", "0", "1"]
        assert lines[3] == "convention default; ties average"
        assert lines[6:] == [
            "tied: judged queries missing in the run: 1 (zero)",
            "tied: queries of the run missing in the qrels: 1 (skip)",
            "Judged@1 0.7500 to 1.0000, Judged 0.7500 to 1.0000: documents without a judgment count as not relevant",
        ]

    def test_runs_of_the_same_name_are_told_apart(self, files, shown):
        (files / "sub").mkdir()
        shutil.copy("good.run", "sub/good.run")
        out = shown("evaluate", "qrels.txt", "good.run", "sub/good.run", "-m", "rr", "--format", "csv")
        assert [line.partition(",")[0] for line in out.splitlines()] == ["run", "good.run", "sub/good.run"]

    def test_per_query_table(self, files, shown):
        rows, _, table = shown("evaluate", "qrels.txt", "tied.run", "-m", "rr", "--per-query").partition("\n\n")
        assert [row.split() for row in rows.splitlines()] == [
            ["query", "RR"], ["q2", "0.5000"], ["q1", "0.7500"], ["q3", "0.0000"],
        ]  # fmt: skip
        assert table == f"{fn.evaluate('qrels.txt', 'tied.run', 'rr')}\n"

    def test_convention_with_choices(self, files, shown):
        convention = "trec_eval(missing_in_run=zero)"
        out = shown("evaluate", "qrels.txt", "tied.run", "-m", "rr", "--format", "csv", "--convention", convention)
        (row,) = csv.DictReader(io.StringIO(out))
        assert row["convention"] == convention
        assert float(row["RR"]) == (1 / 2 + 1 / 2 + 0) / 3  # b, the larger id, comes first in q1

    def test_json(self, files, shown):
        found = json.loads(shown("evaluate", "qrels.txt", "tied.run", "-m", "rr,p", "--format", "json", "--per-query"))
        assert found["version"] == fn.__version__
        assert found["metrics"] == ["RR", "P"]
        assert found["convention"]["name"] == "default"
        assert found["convention"]["ties"] == "average"
        assert found["runs"] == [
            {
                "run": "tied",
                "mean": {"RR": (1 / 2 + 3 / 4 + 0) / 3, "P": (1 / 2 + 1 / 2 + 0) / 3},
                "n_queries": 3,
                "n_undefined": {"RR": 0, "P": 0},
                "n_tied": 1,
                "n_missing_in_run": 1,
                "n_missing_in_qrels": 1,
                "judged": {"Judged": (1 + 1 / 2) / 2},
                "notes": [],
                "per_query": {
                    "q2": {"RR": 1 / 2, "P": 1 / 2},
                    "q1": {"RR": 3 / 4, "P": 1 / 2},
                    "q3": {"RR": 0.0, "P": 0.0},  # nothing retrieved
                },
            }
        ]

    def test_rows_of_csv_are_runs_or_queries(self, files, run):
        _, out, _ = run("evaluate", "qrels.txt", "good.run", "tied.run", "-m", "ndcg@2,p", "--format", "csv")
        good, tied = csv.DictReader(io.StringIO(out))
        assert list(good) == [
            "run", "nDCG@2", "P", "queries", "undefined", "tied", "missing_in_run", "missing_in_qrels", "convention",
        ]  # fmt: skip
        q1 = 2 * (1 + 1 / log2(3)) / 2 / (2 + 1 / log2(3))
        assert float(tied["nDCG@2"]) == pytest.approx((q1 + 1 / log2(3) + 0) / 3, rel=1e-15)
        assert [tied[name] for name in list(tied)[3:]] == ["3", "0", "1", "1", "1", "default"]
        _, out, _ = run("evaluate", "qrels.txt", "tied.run", "-m", "rr,p", "--format", "csv", "--per-query")
        assert out == "run,query,RR,P\ntied,q2,0.5,0.5\ntied,q1,0.75,0.5\ntied,q3,0.0,0.0\n"

    def test_output_goes_to_a_file(self, files, run):
        before = set(os.listdir())
        command = ("evaluate", "qrels.txt", "good.run")
        _, expected, _ = printed = run(*command)
        assert run(*command, "-o", "-") == run(*command, "-o", "/dev/stdout") == printed
        assert run(*command, "-o", "out.txt") == (0, "", "out.txt written\n")
        assert (files / "out.txt").read_text(encoding="utf-8") == expected
        assert set(os.listdir()) - before == {"out.txt"}

    def test_output_replaces_a_file_and_keeps_its_mode(self, files, run):
        (files / "old.txt").write_text("x" * 10_000, encoding="utf-8")
        (files / "old.txt").chmod(0o640)
        (files / "link.txt").symlink_to("old.txt")
        run("evaluate", "qrels.txt", "good.run", "-m", "rr", "--format", "csv", "-o", "link.txt")
        assert (files / "link.txt").is_symlink()
        assert (files / "old.txt").read_text(encoding="utf-8").startswith("run,RR,")
        assert (files / "old.txt").stat().st_mode & 0o777 == 0o640

    def test_demo(self, shown):
        lines = shown("evaluate").splitlines()
        assert lines[0].split() == ["run", "nDCG@10", "AP", "RR", "P@5", "R@10", "queries", "undefined", "tied"]
        assert [line.split()[0] for line in lines[1:3]] == ["lambdarank", "pointwise"]
        assert float(lines[1].split()[1]) > float(lines[2].split()[1])
        assert "demo data" in lines[-1]
        demo = Path(fn.__file__).parent / "demo"
        for one in json.loads(shown("evaluate", "--json", "--per-query", "-m", "ndcg@10"))["runs"]:
            assert one["per_query"] == fn.evaluate(demo / "qrels.txt", demo / f"{one['run']}.run", "ndcg@10").to_dict()


class TestTrecFormat:
    def test_several_runs_begin_with_their_names(self, files, shown):
        arguments = ("evaluate", "qrels.txt", "good.run", "tied.run", "-m", "recip_rank", "--format", "trec")
        assert shown(*arguments).splitlines() == [
            "runid                 \tall\tgood", "recip_rank            \tall\t1.0000",
            "runid                 \tall\ttied", "recip_rank            \tall\t0.4167",
        ]  # fmt: skip

    def test_counts_may_be_fractions_and_equal_names_stay_apart(self, files, run):
        _, out, _ = run("evaluate", "qrels.txt", "tied.run", "-m", "num_rel_ret@1", "--format", "trec")
        assert out == "num_rel_ret@1         \tall\t0.5000\n"
        _, out, _ = run("evaluate", "qrels.txt", "good.run", "-m", "P@1,P(rel=2)@1,P@2", "--format", "trec")
        assert [line.split()[0] for line in out.splitlines()] == ["P@1", "P(rel=2)@1", "P_2"]


TWICE = "q1 Q0 d1 1 3 t\nq1 Q0 d2 2 2 t\nq1 Q0 d1 3 1 t\n"
WRONG = {
    "an unknown command": (["measure"], "invalid choice: 'measure'"),
    "the command of another program": (["trec_eval"], "Write fastndcg evaluate QRELS RUN --convention trec_eval"),
    "no command": (["help"], "Write fastndcg --help"),
    "an unknown option": (["evaluate", "--speed", "high"], "unrecognized arguments: --speed"),
    "an unknown format": (["evaluate", "--format", "xml"], "argument --format: invalid choice: 'xml'"),
    "an unknown metric": (["evaluate", "-m", "ndgc@10"], "no metric is called 'ndgc'. Did you mean"),
    "no metric": (["evaluate", "-m", " "], "`metrics` is empty"),
    "a cutoff below 1": (["evaluate", "-m", "ndcg@0"], "`k` of nDCG must be 1 or more, not 0"),
    "an unknown convention": (["evaluate", "--convention", "trec"], "no convention is called 'trec'. Did you mean"),
    "an unknown choice": (["evaluate", "--convention", "default(ties=none)"], "`ties` of a convention must be one of"),
    "no threads": (["evaluate", "--threads", "0"], "`threads` must be 1 or more, not 0"),
    "threads that are no number": (["evaluate", "--threads", "all"], "argument --threads: invalid int value: 'all'"),
    "qrels without a run": (["evaluate", "qrels.txt"], "RUN is missing"),
    "memory for files that are not streamed": (["evaluate", "qrels.txt", "good.run", "--memory", "1GB"],
        "--memory can only be used for embeddings, or when"),
    "absent qrels": (["evaluate", "absent.txt", "good.run"], "absent.txt: No such file or directory"),
    "an absent run": (["evaluate", "qrels.txt", "absent.run"], "absent.run: No such file or directory"),
    "a folder": (["evaluate", "qrels.txt", "."], ". must hold Parquet files"),
    "a run that is none": (["evaluate", "qrels.txt", "qrels.txt"],
        "but has 4: 'q2 0 a 1'. It looks like judgments, which come first. Give a run in its place"),
    "files in the wrong order": (["evaluate", "good.run", "qrels.txt"],
        "good.run, line 1: must have 4 fields (query, iteration, document, label), but has 6: 'q1 Q0 a 1 0.9 good'. "
        "It looks like a run, which comes after the judgments. Give judgments in its place"),
    "tables in the wrong order": (["evaluate", "run.csv", "qrels.csv"],
        "are 'query', 'document', 'label'. It looks like judgments, which come first. Give a run in its place. Or give "
        "--columns score=NAME"),
    "runs alone": (["evaluate", "good.run", "-m", "rr"], "RUN is missing. Give one or more runs after QRELS"),
    "a judgment among runs": (["fuse", "good.run", "qrels.txt"], "looks like judgments, which come first. Give a run"),
    "metrics with a blank": (["evaluate", "qrels.txt", "good.run", "-m", "ndcg@10", "map"],
        "For several metrics, write commas between them: -m ndcg@10,map"),
    "metrics with a blank before the files": (["evaluate", "-m", "ndcg@10", "map", "qrels.txt", "good.run"],
        "map is a metric, and no such file exists."),
    "a misspelt option": (["evaluate", "--covention", "sklearn"], "Did you mean '--convention'?"),
    "a floor": (["gate", "q", "b", "r", "--floor", "rr=0.4"], "A floor is --fail-under METRIC=X"),
    "what a floor is for": (["gate", "q", "b", "r", "--floor-by", "limit"], "is --fail-by"),
    "a report of one run": (["evaluate", "q", "r", "--html", "r.html"], "A report compares runs: fastndcg compare "),
    "a report by its suffix": (["evaluate", "qrels.txt", "a.run", "-o", "r.html"], "writes no html. A report "),
    "a table of cells for a verdict": (["gate", "a", "b", "c", "-o", "r.csv"], "gate writes no csv"),
    "a cutoff alone": (["evaluate", "q", "r", "-k", "5"], "Write the cutoff behind the metric: -m ndcg@5"),
    "a cutoff first": (["evaluate", "-k", "5"], "Write the cutoff behind the metric: -m ndcg@5"),
    "a cutoff without a blank": (["compare", "q", "r", "s", "-k5"], "-m ndcg@5"),
    "a long cutoff": (["gate", "q", "r", "s", "--k=5"], "-m ndcg@5"),
    "a cutoff without a number": (["explain", "q", "r", "-k", "q1"], "-m ndcg@10"),
    "an abbreviation": (["plot", "q", "r", "--k", "5"], "argument --kind: invalid choice: '5'"),
    "trec_eval's format": (["evaluate", "q", "r", "--trec"], "trec_eval's lines are evaluate --format trec"),
    "trec_eval's format of fuse": (["fuse", "a", "b", "--trec"], "TREC's lines are written without an option"),
    "a normalisation": (["fuse", "a", "b", "--norm", "min-max"], "a fusion: --method 'wsum(norm=min_max)'"),
    "a normalisation without runs": (["fuse", "--norm=zmuv"], "--method 'wsum(norm=zmuv)'"),
    "a constant of rrf": (["fuse", "a", "b", "-k", "20"], "belongs to the method: --method 'rrf(k=20)'"),
    "documents of a fusion": (["fuse", "a", "b", "--top-k", "20"], "The first documents of each query are --top 20"),
    "a weight": (["fuse", "a", "b", "--alpha", "0.3"], "The weights of the runs are --weights W,W"),
    "queries of a fusion": (["tune-fusion", "q", "a", "b", "--queries", "raise"], "'default(queries=raise)'"),
    "a floor without a number": (["evaluate", "--fail-under", "ndcg@10=.1,map"], "not 'ndcg@10=.1,map'. Correct it."),
    "means as a baseline": (["gate", "qrels.txt", "means.json", "good.run"],
        "means of 'ndcg@10'. As what a gate compares with, save the values of queries (--save-baseline), or give means "
        "as --fail-under METRIC=X"),
    "a file without a command": (["qrels.txt", "good.run"], "name a command first, such as fastndcg evaluate"),
    "a query before the run": (["explain", "qrels.txt", "q1", "good.run"], "QUERY comes last, but good.run is a file."),
    "a misspelt command": (["evalute"], "Did you mean 'evaluate'?"),
    "two formats": (["evaluate", "--json", "--format", "csv"], "--json and --format csv are two formats"),
    "a role on both sides twice": (["evaluate", "a.csv", "b.csv", "--columns", "query=a,run.query=b"],
        "Give each role once, or once as qrels."),
    "a score that is none": (["evaluate", "qrels.txt", "wrong.run"], "wrong.run, line 1: score must be a number"),
    "other queries": (["evaluate", "qrels.txt", "other.run"], "qrels and run must have a query in common"),
    "a missing query": (["evaluate", "qrels.txt", "tied.run", "--convention", "trec_eval"],
        "judged query q3 is missing in the run"),
    "an unknown metric to explain": (["metrics", "ndgc"], "no metric is called 'ndgc'. Did you mean '"),
    "an unknown convention to show": (["conventions", "lightgmb"], "'lightgmb'. Did you mean 'lightgbm'?"),
    "standard input twice": (["evaluate", "-", "-"], "- must name at most one file, because standard input"),
    "an output that is a folder": (["evaluate", "-o", "."], "-o must name a file, but . is a folder"),
    "an output in no folder": (["evaluate", "-o", "absent/out.txt"], "-o must name a file in a folder that exists"),
    "an output that is read": (["evaluate", "qrels.txt", "good.run", "-o", "good.run"],
        "-o must not name an input file"),
    "a metric of no agreement": (["agreement", "good.run", "tied.run", "-m", "ndcg"], "Use fastndcg evaluate"),
    "a metric of agreement": (["evaluate", "qrels.txt", "good.run", "-m", "rbo"], "Use fastndcg agreement"),
    "one ranking": (["agreement", "good.run"], "arguments are required"),
    "vectors as a ranking": (["agreement", "good.run", "model.safetensors"],
        "'model.safetensors' holds vectors. Write their best documents"),
    "standard input as both rankings": (["agreement", "-", "-"], "standard input can be read once"),
    "an absent ranking": (["agreement", "good.run", "none.run"], "none.run"),
    "a ranking as the output": (["agreement", "good.run", "tied.run", "-o", "tied.run"], "not name an input file"),
    "a document again": (["agreement", "twice.run", "good.run"], "--duplicates first"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG)
def test_cli_errors_exit_with_2_and_one_line(arguments, message, files, wrong):
    (files / "wrong.run").write_text("q1 Q0 a 1 high name\n", encoding="utf-8")
    (files / "other.run").write_text("x1 Q0 a 1 0.5 name\n", encoding="utf-8")
    (files / "qrels.csv").write_text("query,document,label\nq1,a,1\n", encoding="utf-8")
    (files / "run.csv").write_text("query,document,score\nq1,a,0.5\n", encoding="utf-8")
    (files / "means.json").write_text('{"ndcg@10": 0.4}', encoding="utf-8")
    (files / "twice.run").write_text(TWICE, encoding="utf-8")
    wrong(message, *arguments)


def test_output_without_permission(files, wrong, monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_: False)
    message = "error: -o must name a file that can be written, but out.txt cannot. Name another file.\n"
    wrong(message, "evaluate", "absent.txt", "absent.run", "-o", "out.txt")


def test_output_on_a_full_disk(files, wrong, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    (files / "out.txt").write_text("old", encoding="utf-8")
    before = set(os.listdir())
    monkeypatch.setattr(os, "replace", full)
    message = "error: -o out.txt cannot be written: No space left on device. Name another file.\n"
    wrong(message, "evaluate", "qrels.txt", "good.run", "-o", "out.txt")
    assert (files / "out.txt").read_text(encoding="utf-8") == "old"
    assert set(os.listdir()) == before


def test_version_and_help(shown):
    assert shown("--version") == f"fastndcg {fn.__version__}\n"
    first_words = {line.split()[0] for line in shown("--help").splitlines() if line.strip()}
    assert {*COMMANDS, "0", "2", "130"} <= first_words


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_has_a_description_and_examples(command, shown, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out, examples = shown(command, "--help"), COMMANDS[command].examples
    assert examples in out
    assert [line for line in out.replace(examples, "").splitlines()[1:] if len(line) > 60] == []
    assert out.startswith(f"usage: fastndcg {command}")
    assert "%%" not in out
    examples = out.partition("\nexamples:\n")[2].splitlines()
    assert any(f"fastndcg {command}" in line for line in examples)
    assert all("fastndcg " in line for line in examples)


def test_undefined_everywhere_is_null_and_nan(files, run):
    (files / "zero.txt").write_text("q1 0 a 0\n", encoding="utf-8")
    outputs = {
        name: run("evaluate", "zero.txt", "good.run", "-m", "ap", "--format", name)
        for name in COMMANDS["evaluate"].formats
    }
    assert json.loads(outputs["json"][1])["runs"][0]["mean"] == {"AP": None}
    assert outputs["csv"][1].splitlines()[1].startswith("good,nan,1,1,")
    assert outputs["trec"][1].split() == ["map", "all", "nan"]
    assert outputs["table"][1].splitlines()[1].split() == ["AP", "nan", "1", "1"]


def test_columns_of_each_side(files, shown):
    (files / "qrels.csv").write_text("q_id,doc,stars\nq1,a,1\nq1,b,0\n")
    for name, scores in (("a", (0.5, 0.7)), ("b", (0.9, 0.7))):
        rows = "".join(f"q1,{document},{score}\n" for document, score in zip("ab", scores, strict=True))
        (files / f"{name}.csv").write_text(f"qid,doc,model\n{rows}")
    columns = ["--columns", "document=doc,qrels.query=q_id,qrels.label=stars", "--columns", "run.query=qid,score=model"]
    for arguments in (
        ["evaluate", "qrels.csv", "a.csv", "-m", "rr", "--json"],
        ["evaluate", "qrels.csv", "a.csv", "b.csv", "-m", "rr"], ["compare", "qrels.csv", "a.csv", "b.csv", "-m", "rr"],
        ["explain", "qrels.csv", "a.csv", "q1", "-m", "rr"], ["agreement", "a.csv", "b.csv", "-m", "rbo"],
        ["fuse", "a.csv", "b.csv"],
    ):  # fmt: skip
        assert shown(*arguments, *columns)


def test_every_command_has_the_same_formats(files, run, shown):
    tables = (
        ["evaluate", "qrels.txt", "good.run", "-m", "rr"], ["explain", "qrels.txt", "good.run", "q1"],
        ["agreement", "good.run", "tied.run"], ["metrics"], ["metrics", "rr"], ["conventions"],
        ["conventions", "sklearn"], ["conventions", "sklearn", "lightgbm"],
    )  # fmt: skip
    for command in tables:
        out = shown(*command, "--json")
        json.loads(out)
        assert shown(*command, "--format", "json") == out
        assert run(*command, "-o", "out.json") == (0, "", "out.json written\n")
        assert (files / "out.json").read_text(encoding="utf-8") == out
        assert run(*command, "--format", COMMANDS[command[0]].formats[0], "-o", "out.json")[0] == 0
        assert (files / "out.json").read_text(encoding="utf-8") != out
        for form, begin in (("markdown", "| "), ("csv", ""), ("latex", "% ")):
            assert shown(*command, "--format", form).startswith((begin, "\\begin{tabular}")), (command, form)


def test_help_has_the_usual_options_and_help_all_all(run):
    """--help leaves out the groups of experts, which --help-all has with trec_eval's options last."""
    short, whole = run("evaluate", "--help")[1], run("evaluate", "--help-all")[1]
    for name in ("--similarity", "--missing-truth", "--memory", "-M N"):
        assert name not in short
        assert name in whole
    titles = [line for line in whole.splitlines() if line.endswith(":") and not line.startswith(" ")]
    assert titles[-2:] == ["trec_eval's options:", "examples:"]


def test_format_json_output_and_columns_are_alike_in_every_command(run):
    """Each command has `--format`, `--json` and `-o`, and `--columns` if it reads judgments or runs."""
    for name, command in COMMANDS.items():
        out = run(name, "--help")[1]
        assert all(f"  {flag}" in out for flag in ("--format", "--json", "-o FILE"))
        assert ("  --columns" in out) == bool(command.inputs)
        assert "json" in command.formats


class TestConventions:
    def test_lists_shows_and_compares(self, shown):
        lines = {line.split()[0]: line for line in shown("conventions").splitlines()}
        assert all(fn.conventions[name].peer in lines[name] for name in fn.conventions)
        assert shown("conventions", "lightgbm") == f"{fn.conventions['lightgbm']!s}\n"
        assert shown("conventions", "lightgbm(ties=average)").startswith("lightgbm(ties=average): LightGBM")
        head, row = (line.split() for line in shown("conventions", "xgboost", "xgboost_minus").splitlines())
        assert head[:3] == ["field", "xgboost", "xgboost_minus"]
        assert row[:3] == ["undefined", "1", "0"]
        assert shown("conventions", "sklearn", "sklearn") == "sklearn and sklearn have the same choices\n"
        facts = json.loads(shown("conventions", "--format", "json"))
        assert list(facts) == list(fn.conventions)
        assert facts["catboost"]["choices"]["ties"] == "worst"
        assert facts["default"]["peer"] is None


class TestMetrics:
    def test_lists_the_catalogue(self, shown):
        lines = {line.split()[0]: line for line in shown("metrics").splitlines() if line.strip()}
        for name, record in CATALOG.items():
            assert all(text in lines[name] for text in (record.title, *record.aliases))
        every = json.loads(shown("metrics", "--format", "json"))
        assert [record["name"] for record in every] == list(CATALOG)
        assert json.loads(shown("metrics", "map", "--format", "json")) == next(r for r in every if r["name"] == "AP")

    @pytest.mark.parametrize("name", ["nDCG", "ndcg", "ndcg_cut_10", "nDCG(gain=exp2)@5"])
    def test_explains_one(self, name, shown):
        """A name, an alias, trec_eval's name or the text of a metric explains the metric."""
        out = shown("metrics", name)
        assert out.startswith("nDCG: normalised discounted cumulative gain\n")
        for expected in (
            "DCG@k / IDCG@k", "gain      linear, exp2", "0 to 1", "where nothing has a gain", "Järvelin",
            "https://doi.org/10.1145/582415.582418", "ndcg, ndcg_cut_k",
        ):  # fmt: skip
            assert expected in out

    @pytest.mark.parametrize("name", list(CATALOG))
    def test_explains_each(self, name, shown):
        lines = shown("metrics", name).splitlines()[1:]
        heads = [line[2:].partition("  ")[0] for line in lines if line[2:3].strip()]
        facts = ["use", "formula", "parameters", "range", "undefined", "ties", "source", "aliases", "trec_eval"]
        if CATALOG[name].function_name != "evaluate":
            facts.insert(6, "taken by")
        assert heads == facts + [peer for peer, _ in CATALOG[name].peers]


def test_cli_agreement_prints_table(files, shown):
    result = fn.agreement("good.run", "tied.run", "tau_b, rbo(p=0.5)@2")
    assert shown("agreement", "good.run", "tied.run", "-m", "tau_b,rbo(p=0.5)@2") == f"{result}\n"
    lines = shown("agreement", "good.run", "tied.run", "-m", "rbo(p=0.5)@2", "--per-query").splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["query", "RBO(p=0.5)@2"], ["q1", f"{result.values[0, 1]:.4f}"], ["q2", f"{result.values[1, 1]:.4f}"],
    ]  # fmt: skip


def test_json_and_csv(files, run, shown):
    result = fn.agreement("good.run", "tied.run", "tau_b, rbo")
    arguments = ("agreement", "good.run", "tied.run", "-m", "tau_b,rbo", "--per-query", "--format")
    found = json.loads(shown(*arguments, "json"))
    assert found["mean"] == result.mean()
    assert found["n_queries"] == 2
    assert found["n_undefined"] == {"tau_b": 1, "RBO": 0}
    assert found["per_query"]["q1"] == {"tau_b": None, "RBO": result.values[0, 1]}
    assert found["notes"] == list(result.notes)
    assert shown(*arguments, "csv").splitlines()[:2] == ["query,tau_b,RBO", f"q1,nan,{float(result.values[0, 1])!r}"]
    whole = run("agreement", "good.run", "tied.run", "--format", "csv", "-o", "out.csv")
    assert whole == (0, "", "out.csv written\n")
    assert (files / "out.csv").read_text(encoding="utf-8").startswith("tau_b,tau_ap,RBO,queries,tied\n")


def test_documents_that_a_run_has_again(files, shown):
    for name, text in (("twice.run", TWICE), ("once.run", TWICE[: TWICE.rindex("q1")])):
        (files / name).write_text(text, encoding="utf-8")
    out = shown("agreement", "twice.run", "once.run", "-m", "rbo", "--duplicates", "first", "--json")
    assert json.loads(out)["mean"] == {"RBO": 1.0}
