"""The drop-in for ranx's compare: the library's p-values, counts and tables, and what differs."""

import json
from math import isnan

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.compat import ranx as ours

pytestmark = pytest.mark.filterwarnings("ignore")  # of the library, when it compiles
METRICS = ["ndcg@3", "map-l2", "precision@2", "mrr"]


def tables(library, n_queries=30, strengths=(0.1, 1.0, 1.4, 0.2)):
    """Judgments and runs whose scores follow the labels more or less; no two are equal."""
    random = np.random.default_rng(8)
    queries = [f"q{number:02}" for number in range(n_queries)]
    labels = {query: random.integers(0, 4, 8) for query in queries}
    qrels = {query: {f"d{d}": int(label) for d, label in enumerate(labels[query])} for query in queries}
    runs = []
    for place, strength in enumerate(strengths):
        scores = {query: strength * labels[query] + random.random(8) * 3 for query in queries}
        rows = {query: {f"d{d}": float(score) for d, score in enumerate(scores[query])} for query in queries}
        runs.append(library.Run(rows, name=None if place == 1 else f"model_{place}"))
    return library.Qrels(qrels), runs


@pytest.mark.parametrize("stat_test", ["student", "tukey"])
@pytest.mark.parametrize("metrics", [METRICS, "ndcg@3"])
def test_is_the_library(ranx_library, stat_test, metrics):
    """Means, p-values, wins, and LaTeX to the letter."""
    options = {"stat_test": stat_test, "max_p": 0.05}
    report = ours.compare(*tables(ours), metrics, **options)
    expected = ranx_library.compare(*tables(ranx_library), metrics, **options)
    result, wanted = report.to_dict(), expected.to_dict()

    assert report.to_latex() == expected.to_latex()
    assert (report.model_names, report.metrics) == (expected.model_names, expected.metrics)
    assert result.keys() == wanted.keys()
    for model in report.model_names:
        assert result[model]["scores"] == pytest.approx(wanted[model]["scores"], rel=1e-9)
        assert result[model]["win_tie_loss"] == wanted[model]["win_tie_loss"]
        for other, p_values in wanted[model]["comparisons"].items():
            known = {metric: 1.0 if isnan(p) else p for metric, p in p_values.items()}  # of runs that do not differ
            assert result[model]["comparisons"][other] == pytest.approx(known, rel=1e-6, abs=1e-12)
            for metric in report.metrics:
                significant = expected.comparisons[model, other][metric]["significant"]
                assert report.comparisons[other, model][metric]["significant"] == significant
    frame = report.to_dataframe()
    assert list(frame.columns) == list(expected.to_dataframe().columns)
    np.testing.assert_allclose(frame.iloc[:, 1:], expected.to_dataframe().iloc[:, 1:], rtol=1e-9)


def test_fisher_is_near_the_library(ranx_library):
    """Both sample signs, each its own; theirs leaves out those that give the same difference but for rounding."""
    options = {"stat_test": "fisher", "n_permutations": 20_000}
    result = ours.compare(*tables(ours), METRICS, **options).to_dict()
    expected = ranx_library.compare(*tables(ranx_library), METRICS, **options).to_dict()
    for model in result["model_names"]:
        for other, p_values in expected[model]["comparisons"].items():
            found = result[model]["comparisons"][other]
            assert found["ndcg@3"] == pytest.approx(p_values["ndcg@3"], abs=0.02)
            assert all(found[metric] >= p - 0.02 for metric, p in p_values.items())


def test_table():
    """Letters of the models that each is significantly better than; digits or per cent as asked for."""
    report = ours.compare(*tables(ours), ["ndcg@3", "hits"], max_p=0.05)
    head, dashes, *lines = str(report).splitlines()
    assert head.split() == ["#", "Model", "NDCG@3", "Hits"]
    assert set(dashes) == {"-", " "}
    assert [line.split()[:2] for line in lines] == [
        ["a", "model_0"], ["b", "run_2"], ["c", "model_2"], ["d", "model_3"],
    ]  # fmt: skip
    assert [line.split()[2][5:] for line in lines] == ["", "ᵃᵈ", "ᵃᵈ", "ᵃ"]
    assert repr(report) == str(report)
    mean = report.results["run_2"]["ndcg@3"]
    assert f" {mean:.3f}ᵃᵈ " in str(report)
    shown = ours.compare(*tables(ours), "ndcg@3", rounding_digits=4, show_percentages=True)
    assert f" {mean * 100:.2f}" in str(shown)


def test_saves_what_it_shows(tmp_path, capsys):
    """JSON of everything in a file, and of the means on the screen."""
    report = ours.compare(*tables(ours), METRICS)
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == report.to_dict()
    report.print_results()
    assert json.loads(capsys.readouterr().out) == report.results


def test_runs_that_do_not_differ():
    """Their p-value is 1, and not missing."""
    qrels, (one, *_) = tables(ours)
    same = ours.Run(one.to_dict(), name="same")
    for stat_test in ("student", "fisher"):
        report = ours.compare(qrels, [one, same], "mrr", stat_test=stat_test)
        assert report.comparisons["same", "model_0"]["mrr"] == {"p_value": 1.0, "significant": False}


def test_makes_comparable():
    """Queries that a run lacks count 0 if asked for, and are an error if not."""
    qrels, (one, other, *_) = tables(ours)
    rows = other.to_dict()
    del rows["q00"]
    with pytest.raises(AssertionError, match="'q00' is on one side only"):
        ours.compare(qrels, [one, ours.Run(rows)], "mrr")
    report = ours.compare(qrels, [one, ours.Run(rows)], "mrr", make_comparable=True)
    assert report.results["run_2"]["mrr"] == pytest.approx(
        ours.evaluate(qrels, ours.Run(rows), "mrr", make_comparable=True)
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stat_test": "studnet"}, "Statistical test `studnet` not supported. Did you mean 'student'"),
        ({"runs": 1}, "`runs` must be from 2 to 26, one letter each, but there are 1"),
        ({"runs": 27}, "but there are 27"),
        ({"twice": True}, "`runs` must have names of their own, but 'model_0' stands for two"),
        ({"metrics": ["ndgc"]}, "Metric ndgc not supported. Did you mean 'ndcg'"),
    ],
)
def test_misuse(options, message):
    """What cannot be compared is refused with what can."""
    qrels, runs = tables(ours)
    given = {"runs": runs, "metrics": METRICS} | options
    if "runs" in options:
        given["runs"] = [ours.Run(runs[0].to_dict()) for _ in range(options["runs"])]
    if given.pop("twice", False):
        given["runs"] = [runs[0], runs[0]]
    with pytest.raises(fn.InvalidInputError, match=message):
        ours.compare(qrels, **given)


def test_nothing_else():
    """Other names are errors as in any module."""
    with pytest.raises(AttributeError, match="has no attribute 'fuse'"):
        _ = ours.fuse
