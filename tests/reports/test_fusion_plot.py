"""The plot of a tuned fusion, and its section of the HTML report."""

import pytest
from fusion_cases import draw_runs

import fastndcg as fn
from fastndcg.errors import InvalidInputError

pytest.importorskip("scipy", reason="comparing systems needs SciPy")
pytest.importorskip("matplotlib", reason="drawing needs matplotlib")


def tune(methods, n_runs=2):
    qrels, runs = draw_runs(1, n_runs=n_runs)
    return fn.tune_fusion(qrels, runs, "ndcg@5", methods, folds=4)


def test_plot_has_the_curve_the_folds_and_the_band():
    tuned = tune(["wsum(norm=min_max)"])
    axes = tuned.plot()
    stairs = axes.patches[0]
    assert stairs.get_data().values.tolist() == tuned.curve.step_means.tolist()
    assert len([line for line in axes.lines if len(line.get_xdata()) == len(tuned.curve.points)]) == 4
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels[:3] == ["folds", "one standard error", "all queries"]
    assert any(label.startswith("held out 0.") for label in labels)
    assert axes.get_xlabel() == "weight of run0 in wsum(norm=min_max)"


def test_plot_has_steps_and_no_legend_above_its_lines():
    axes = tune(["wsum(norm=min_max)"]).plot()
    assert [line.get_drawstyle() for line in axes.lines[:4]] == ["steps-mid"] * 4
    heights = axes.collections[0].get_paths()[0].vertices[1:-1, 1]
    assert len(heights) > 2 * 2 * 201
    axes.figure.canvas.draw()
    assert axes.get_legend().get_window_extent().y0 >= axes.get_window_extent().y1


def test_each_run_of_three_has_a_curve():
    tuned = tune(["wsum(norm=min_max)"], n_runs=3)
    assert tuned.plot(run="run2").get_xlabel().startswith("weight of run2")
    with pytest.raises(InvalidInputError, match="Did you mean 'run1'"):
        tuned.plot(run="run11")
    with pytest.raises(InvalidInputError, match="linear in its weights, not mnz"):
        tune(["mnz(norm=min_max)"]).plot()


def test_report_has_the_section(tmp_path):
    pytest.importorskip("jinja2", reason="a report needs Jinja")
    qrels, runs = draw_runs(2, signal=0.0)
    named = {"<b>": runs["run0"], "dense": runs["run1"]}
    tuned = fn.tune_fusion(qrels, named, "ndcg@5", ["rrf(k=60)", "mnz(norm=min_max)"], folds=4)
    path = tmp_path / "report.html"
    tuned.to_html(path)
    page = path.read_text(encoding="utf-8")
    assert "Methods, each tuned alone" in page
    assert "Each choice of parameters" in page
    assert "of each choice of parameters against the weight of the first run" in page
    assert "Its gain is within the noise" in page
    assert "weights <b>" not in page
    assert "difference: the system minus tuned" in page


def test_report_names_a_better_system(tmp_path):
    pytest.importorskip("jinja2", reason="a report needs Jinja")
    qrels, runs = draw_runs(2)
    for place, query in enumerate(qrels):
        run = runs["run0" if place < 15 else "run1"]
        run[query] = {doc: -score for doc, score in run[query].items()}
    folds = {query: int(place < 15) for place, query in enumerate(qrels)}
    path = tmp_path / "report.html"
    tuned = fn.tune_fusion(qrels, runs, "ap", ["wsum"], folds=folds)
    tuned.to_html(path)
    page = path.read_text(encoding="utf-8")
    assert f"It is significantly worse than {tuned.rival.system}: take that." in page
    assert "within the noise" not in page
