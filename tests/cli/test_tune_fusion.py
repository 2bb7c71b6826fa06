"""``fastndcg tune-fusion``: its table, its files and its errors."""

import json

import pytest
from fusion_cases import draw_runs

import fastndcg as fn
from fastndcg.cli import main

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


def test_prints_the_table_of_tune_fusion(files, capsys):
    assert main(["tune-fusion", *files, "-m", "ndcg@5", "--method", METHOD, "--folds", "3"]) == 0
    tuned = fn.tune_fusion(files[0], files[1:], "ndcg@5", [METHOD], folds=3)
    assert capsys.readouterr().out == f"{tuned}\n\n{tuned.methods}\n\n{tuned.folds}\n"
    assert main(["tune-fusion", *files, "-m", "ndcg@5", "--fusion-convention", "weaviate", "--folds", "3"]) == 0
    shown = capsys.readouterr().out
    assert "best on all queries" in shown
    assert "held-out values, 3 folds, 1 repeat, seed 0;" in shown
    assert "difference of held-out means to" in shown  # the grid, which has several points of rrf


def test_writes_the_fused_run_and_other_formats(files, tmp_path, capsys):
    fused = tmp_path / "fused.run"
    clusters = tmp_path / "clusters.txt"
    clusters.write_text("".join(f"q{q} user{q % 10}\n" for q in range(30)))
    arguments = ["-m", "ndcg@5", "--method", METHOD, "--run", str(fused), "--format", "json"]
    assert main(["tune-fusion", *files, *arguments, "--clusters", str(clusters)]) == 0
    groups = {f"q{q}": f"user{q % 10}" for q in range(30)}
    tuned = fn.tune_fusion(files[0], files[1:], "ndcg@5", [METHOD], clusters=groups)
    assert json.loads(capsys.readouterr().out)[1]["difference"] == tuned.rows[1].difference
    assert fn.Run(fused).to_dict() == tuned.apply(files[1:]).to_dict()


def test_report_and_picture_show_the_curve(files, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    report = tmp_path / "report.html"
    picture = tmp_path / "curve.png"
    arguments = ["-m", "ndcg@5", "--method", METHOD, "--html", str(report), "--plot", str(picture)]
    assert main(["tune-fusion", *files, *arguments]) == 0
    page = report.read_text(encoding="utf-8")
    assert '<section id="tuning">' in page
    assert "nDCG@5 against the weight of run0" in page
    assert page.count("weights run0") >= 1
    assert picture.read_bytes().startswith(b"\x89PNG")
    capsys.readouterr()


@pytest.mark.parametrize("method", ["wmnz(norm=min_max)", "condorcet"])
def test_a_method_without_a_curve_loses_nothing_but_the_picture(files, tmp_path, method, capsys):
    """The table and the fused run are written before the error about the picture."""
    pytest.importorskip("matplotlib")
    fused = tmp_path / "fused.run"
    picture = tmp_path / "curve.png"
    assert main(["tune-fusion", *files, "--method", method, "--run", str(fused), "--plot", str(picture)]) == 2
    printed = capsys.readouterr()
    assert "best on all queries" in printed.out
    assert len(fn.Run(fused)) > 0
    assert not picture.exists()
    message = "--plot needs a best method that is linear in its weights, such as wsum or rrf, but"
    assert f"{message} {method} is not. Everything else was written." in printed.err


@pytest.mark.parametrize(("arguments", "message"), [
    (["--folds", "40"], "`folds` must be at most the number of queries with a value, 30, got 40"),
    (["--method", "wsun"], "Did you mean 'wsum'"), (["-m", "alpha_nDCG@5"], "`metric` must read one label a document"),
    (["--html", "same", "--run", "same"], "must name different files"),
    (["--method", "mapfuse"], "Take `fastndcg fuse --train` for it"),
    (["--names", "a,b,c"], "--names must have a name for each of the 2 runs, got 3"),
])  # fmt: skip
def test_wrong_use_is_one_line(files, arguments, message, capsys):
    assert main(["tune-fusion", *files, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_the_picture_needs_a_known_ending_before_the_tuning(files, capsys):
    pytest.importorskip("matplotlib")
    assert main(["tune-fusion", "absent.txt", *files[1:], "--plot", "curve.xyz"]) == 2
    assert "--plot must end in one of ." in capsys.readouterr().err
