"""``fastndcg tune-fusion``: its table, its files and its errors."""

import json

import pytest
from fusion_cases import draw_runs

import fastndcg as fn

pytest.importorskip("scipy")
METHOD = "wsum(norm=min_max)"


@pytest.fixture
def files(tmp_path):
    """Write judgments and two runs, and return their paths."""
    qrels, runs = draw_runs(0)
    tables = {"qrels.txt": fn.Qrels(qrels).to_trec()}
    tables |= {f"{name}.run": fn.Run(run).to_trec(tag=name) for name, run in runs.items()}
    for name, text in tables.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in tables]


def test_prints_the_table_of_tune_fusion(files, shown):
    words = ("tune-fusion", *files, "-m", "ndcg@5", "--folds", "3")
    tuned = fn.tune_fusion(files[0], files[1:], "ndcg@5", [METHOD], folds=3)
    assert shown(*words, "--method", METHOD) == f"{tuned}\n\n{tuned.methods}\n\n{tuned.folds}\n"
    out = shown(*words, "--fusion-convention", "weaviate")
    assert "best on all queries" in out
    assert "held-out values, 3 folds, 1 repeat, seed 0;" in out
    assert "difference of held-out means to" in out  # the grid, which has several points of rrf


def test_writes_the_fused_run_and_other_formats(files, tmp_path, run):
    fused, clusters = tmp_path / "fused.run", tmp_path / "clusters.txt"
    groups = {f"q{q}": f"user{q % 10}" for q in range(30)}
    clusters.write_text("".join(f"{query} {user}\n" for query, user in groups.items()))
    words = ["-m", "ndcg@5", "--method", METHOD, "--run", fused, "--format", "json", "--clusters", clusters]
    code, out, _ = run("tune-fusion", *files, *words)
    tuned = fn.tune_fusion(files[0], files[1:], "ndcg@5", [METHOD], clusters=groups)
    assert (code, json.loads(out)[1]["difference"]) == (0, tuned.rows[1].difference)
    assert fn.Run(fused).to_dict() == tuned.apply(files[1:]).to_dict()


def test_report_and_picture_show_the_curve(files, tmp_path, run):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    report, picture = tmp_path / "report.html", tmp_path / "curve.png"
    words = ["-m", "ndcg@5", "--method", METHOD, "--html", report, "--plot", picture]
    assert run("tune-fusion", *files, *words)[0] == 0
    page = report.read_text(encoding="utf-8")
    for text in ('<section id="tuning">', "nDCG@5 against the weight of run0", "weights run0"):
        assert text in page
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("method", ["wmnz(norm=min_max)", "condorcet"])
def test_a_method_without_a_curve_loses_nothing_but_the_picture(files, tmp_path, method, run):
    """The table and the fused run are written before the error about the picture."""
    pytest.importorskip("matplotlib")
    fused, picture = tmp_path / "fused.run", tmp_path / "curve.png"
    code, out, err = run("tune-fusion", *files, "--method", method, "--run", fused, "--plot", picture)
    assert (code, "best on all queries" in out, len(fn.Run(fused)) > 0, picture.exists()) == (2, True, True, False)
    message = "--plot needs a best method that is linear in its weights, such as wsum or rrf, but"
    assert f"{message} {method} is not. Everything else was written." in err


@pytest.mark.parametrize(("arguments", "message"), [
    (["--folds", "40"], "`folds` must be at most the number of queries with a value, 30, got 40"),
    (["--method", "wsun"], "Did you mean 'wsum'"), (["-m", "alpha_nDCG@5"], "`metric` must read one label a document"),
    (["--html", "same", "--run", "same"], "must name different files"),
    (["--method", "mapfuse"], "Take `fastndcg fuse --train` for it"),
    (["--names", "a,b,c"], "--names must have a name for each of the 2 runs, got 3"),
])  # fmt: skip
def test_wrong_use_is_one_line(files, arguments, message, wrong):
    wrong(message, "tune-fusion", *files, *arguments)


def test_the_picture_needs_a_known_ending_before_the_tuning(files, wrong):
    pytest.importorskip("matplotlib")
    wrong("--plot must end in one of .", "tune-fusion", "absent.txt", *files[1:], "--plot", "curve.xyz")
