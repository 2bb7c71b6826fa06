"""The drop-in for ranx's compare: p-values, counts and tables of the library, and differences."""

import json
from math import isnan

import numpy as np
import pytest
from refusals import refused

from fastndcg.compat import ranx as ours

pytestmark = [pytest.mark.peers, pytest.mark.filterwarnings("ignore")]  # the library warns when it compiles
METRICS = ["ndcg@3", "map-l2", "precision@2", "mrr"]


def tables(library, n_queries=30, strengths=(0.1, 1.0, 1.4, 0.2)):
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
def test_ranx_compare_equals_library(ranx_library, stat_test, metrics):
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
    options = {"stat_test": "fisher", "n_permutations": 20_000}
    result = ours.compare(*tables(ours), METRICS, **options).to_dict()
    expected = ranx_library.compare(*tables(ranx_library), METRICS, **options).to_dict()
    for model in result["model_names"]:
        for other, p_values in expected[model]["comparisons"].items():
            found = result[model]["comparisons"][other]
            assert found["ndcg@3"] == pytest.approx(p_values["ndcg@3"], abs=0.02)
            assert all(found[metric] >= p - 0.02 for metric, p in p_values.items())


def test_saves_what_it_shows(tmp_path, capsys):
    report = ours.compare(*tables(ours), METRICS)
    report.save(tmp_path / "report.json")
    assert json.loads((tmp_path / "report.json").read_text(encoding="utf-8")) == report.to_dict()
    report.print_results()
    assert json.loads(capsys.readouterr().out) == report.results


def test_makes_comparable():
    """Queries that a run lacks raise an AssertionError, or count 0 with `make_comparable`."""
    qrels, (one, other, *_) = tables(ours)
    rows = other.to_dict()
    del rows["q00"]
    refused("'q00' is on one side only", ours.compare, qrels, [one, ours.Run(rows)], "mrr", error=AssertionError)
    report = ours.compare(qrels, [one, ours.Run(rows)], "mrr", make_comparable=True)
    assert report.results["run_2"]["mrr"] == pytest.approx(
        ours.evaluate(qrels, ours.Run(rows), "mrr", make_comparable=True)
    )


@pytest.mark.parametrize(("options", "message"), [
    ({"stat_test": "studnet"}, "Statistical test `studnet` not supported. Did you mean 'student'"),
    ({"runs": 0}, "`runs` must have 1 run or more, but is empty"),
    ({"twice": True}, "`runs` must have different names, but 'model_0' names two runs"),
    ({"metrics": ["ndgc"]}, "Metric ndgc not supported. Did you mean 'ndcg'"),
])  # fmt: skip
def test_ranx_compare_raises_on_wrong_input(options, message):
    qrels, runs = tables(ours)
    given = {"runs": runs, "metrics": METRICS} | options
    if "runs" in options:
        given["runs"] = [ours.Run(runs[0].to_dict()) for _ in range(options["runs"])]
    if given.pop("twice", False):
        given["runs"] = [runs[0], runs[0]]
    refused(message, ours.compare, qrels, **given)


def test_ranx_module_has_no_other_names():
    with pytest.raises(AttributeError, match="has no attribute 'normalize'"):
        _ = ours.normalize


def test_ranx_compare_takes_one_run(ranx_library):
    (qrels, (run, *_)), (their_qrels, (their_run, *_)) = tables(ours), tables(ranx_library)
    report = ours.compare(qrels, [run], METRICS)
    expected = ranx_library.compare(their_qrels, [their_run], METRICS)
    assert report.to_dict()["model_0"].keys() == expected.to_dict()["model_0"].keys()
    assert report.results["model_0"] == pytest.approx(expected.results["model_0"])
    assert report.to_latex() == expected.to_latex()
    assert len(str(report).splitlines()) == 3
    for stat_test in ("fisher", "tukey"):
        assert ours.compare(qrels, [run], METRICS, stat_test=stat_test).comparisons == {}


def test_ranx_tables_end_with_the_letters():
    qrels, (run, *_) = tables(ours, n_queries=4)
    report = ours.compare(qrels, [ours.Run(run.to_dict()) for _ in range(27)], "mrr")
    assert len(report.to_dataframe()) == 27
    assert report.win_tie_loss["run_1", "run_27"] == {"mrr": {"W": 0, "T": 4, "L": 0}}
    assert repr(report) == "Report of 27 models. See to_dataframe()"
    for method in (report.to_table, report.to_latex):
        refused(r"26 models or fewer.* has 27. Call to_dataframe", method)


def test_ranx_report_settings_change_its_tables():
    qrels, runs = tables(ours)
    report = ours.compare(qrels, runs, ["ndcg@3", "bpref", "rbp.95-l2"], max_p=0.05)
    mean = report.results["model_0"]["ndcg@3"]
    assert f" {mean:.3f}" in report.to_table()
    head, dashes, *lines = str(report).splitlines()
    assert head.split() == ["#", "Model", "NDCG@3", "BPref", "RBP.95-l2"]
    assert set(dashes) == {"-", " "}
    names = [["a", "model_0"], ["b", "run_2"], ["c", "model_2"], ["d", "model_3"]]
    assert [line.split()[:2] for line in lines] == names
    assert [line.split()[2][5:] for line in lines] == ["", "ᵃᵈ", "ᵃᵈ", "ᵃ"]  # significantly worse models
    report.rounding_digits = 5
    assert f" {mean:.5f}" in report.to_table()
    assert f"{mean:.5f}" in report.to_latex()
    report.show_percentages = True
    assert report.format_score(mean) == f"{100 * mean:.3f}"
    assert f"{100 * mean:.3f}" in report.to_latex()
    report.rounding_digits = 1
    assert report.format_score(mean) == f"{100 * mean:.0f}"
    assert str(report).splitlines()[0].split() == ["#", "Model", "NDCG@3", "BPref", "RBP.95-l2"]


def test_ranx_report_labels(ranx_library):
    report = ours.compare(*tables(ours), "mrr")
    expected = ranx_library.compare(*tables(ranx_library), "mrr")
    for stat_test in ("student", "fisher", "tukey"):
        assert report.get_stat_test_label(stat_test) == expected.get_stat_test_label(stat_test)
    for metric in (*ours.METRICS, "ndcg@10", "map@5-l2", "hits-l3", "rbp.95", "rbp.8-l2"):
        assert report.get_metric_label(metric) == expected.get_metric_label(metric)
    refused("Did you mean 'tukey'", report.get_stat_test_label, "turkey", error=NotImplementedError)


def test_ranx_comparisons_of_a_pair():
    comparisons = ours.compare(*tables(ours), "mrr").comparisons
    pair = comparisons["model_0", "run_2"]
    assert pair == comparisons["run_2", "model_0"]
    assert pair == comparisons.get(("run_2", "model_0"))
    assert ("run_2", "model_0") in comparisons
    assert ("run_2", "no_model") not in comparisons
    assert comparisons.get(("run_2", "no_model"), 5) == 5
