"""The benchmarks' results: tables, history, comparisons with commits, the chart."""

import contextlib
import json
import warnings

import pytest

from benchmarks.lib import chart, check, compare, documents, history, render, workloads
from benchmarks.lib.machine import ROOT


def make_report(**changes):
    """Return figures as the core suite saves them."""
    row = {
        "queries": 10, "documents": 1000, "ms": 3.0, "baseline ms": 2.0, "bandwidth ms": 0.5, "times baseline": 1.5,
        "times bandwidth": 6.0, "against": "baseline", "ratio": 1.5, "goal": 2.0, "met": True,
    }  # fmt: skip
    about = {
        "commit": "abc",
        "date": "2026-01-02",
        "machine": "M",
        "cpus": 2,
        "python": "3",
        "versions": {"numpy": "2"},
    }
    rows = [{"workload": name} | row for name in workloads.NAMES_WITH_GOAL]
    figures = [
        {"what": "import", "value": 3.0, "unit": "ms", "goal": "≤ 2 ms", "met": False},
        {"what": "5e8 documents", "left out": "it takes 4 GiB of memory"},
    ]
    rest = {"versions": {"numpy": "2"}, "scale": 1, "repeat": 5, "smoke": {"sparse8": 1.5}}
    return about | rest | {"workloads": rows, "figures": figures} | changes


def test_history_is_appended_and_read_back(tmp_path):
    """Each change is one line, and the last line is read back."""
    path = tmp_path / "history.jsonl"
    assert history.read_last_line(path) is None
    history.append_line(make_report(commit="first"), path)
    history.append_line(make_report(), path)
    assert [json.loads(line)["commit"] for line in path.read_text().splitlines()] == ["first", "abc"]
    line = history.read_last_line(path)
    assert line["ratios"]["sparse8"] == 1.5
    assert line["smoke"] == {"sparse8": 1.5}
    assert {"commit", "date", "machine"} <= set(line)


def test_history_of_another_machine_gives_the_highest_ratio(tmp_path):
    """A machine's own last line counts, else the highest ratios of the other machines."""
    path = tmp_path / "history.jsonl"
    for commit, machine, ratio in (("one", "slow", 3.0), ("two", "slow", 2.0), ("three", "fast", 1.0)):
        history.append_line(make_report(commit=commit, machine=machine, smoke={"sparse8": ratio}), path)
    lines = [history.read_last_line(path, name) for name in ("slow", "fast", "new")]

    assert [(line["commit"], line["smoke"]["sparse8"]) for line in lines] == [
        ("two", 2.0),
        ("three", 1.0),
        ("three", 2.0),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"commit": "abc+"}, "Commit first"),
        ({"commit": ""}, "Commit first"),
        ({"scale": 0.1}, "at scale 1"),
        ({"workloads": []}, "every workload"),
    ],
)
def test_history_raises_on_incomplete_figures(changes, message, tmp_path):
    """Figures of uncommitted code, scaled-down workloads or some workloads make no line."""
    with pytest.raises(SystemExit, match=message):
        history.append_line(make_report(**changes), tmp_path / "history.jsonl")
    assert not (tmp_path / "history.jsonl").exists()


def test_check_tries_three_times(monkeypatch, capsys):
    """After three slow measurements the recorded code decides. One fast measurement passes."""
    monkeypatch.setattr(check.metrics, "measure_added_costs", lambda *_, **__: [])
    monkeypatch.setattr(history, "SMOKE_SCALES", {"sparse8": 0.1, "dense-long": 0.1})
    line = {"commit": "abc", "smoke": {"sparse8": 2.0, "dense-long": 2.0}}
    monkeypatch.setattr(history, "read_last_line", lambda machine: line)
    ratios = iter([3.1, 2.9, 3.1, 3.0])
    monkeypatch.setattr(history, "measure_ratio", lambda name, scale: next(ratios))
    assert check.check_speed() == 0  # dense-long in the first try, sparse8 in the third
    assert next(ratios, None) is None
    monkeypatch.setattr(history, "measure_ratio", lambda name, scale: 3.1)
    times = {"sparse8": 1.4, "dense-long": 1.6}
    monkeypatch.setattr(compare, "open_versions", lambda commit: contextlib.nullcontext((commit, "tree")))
    monkeypatch.setattr(compare, "measure_ratio", lambda old, new, name, scale, repeat: times[name])
    assert check.check_speed() == 1
    printed = capsys.readouterr().out
    assert "3 times: sparse8, dense-long" in printed
    assert printed.endswith("over 1.5 x the time of abc: dense-long\n")
    times["dense-long"] = 1.5
    assert check.check_speed() == 0
    monkeypatch.setattr(history, "read_last_line", lambda machine: None)
    assert check.check_speed() == 0


def test_check_verifies_every_metric():
    """The check compares every metric of the catalogue with the reference."""
    rows = check.metrics.measure_added_costs(
        workloads.make_workload("sparse8", 1e-4), check.metrics.parse_metrics(check.metrics.NAMES), repeat=1
    )
    assert len(rows) == len(check.metrics.NAMES) + 1


@pytest.mark.parametrize(
    ("ratios", "expected"),
    [
        ({"a": [1.0], "b": [1.05]}, 0),
        ({"a": [1.0], "b": [1.2, 1.2]}, 1),
        ({"a": [1.0], "b": [1.2, 1.05]}, 0),
        ({"a": [1.11, 1.0], "b": [1.12, 1.0]}, 0),
        ({"a": [1.09, 1.09], "b": [1.2, 1.15]}, 1),
    ],
)
def test_compare_fails_if_a_ratio_is_high_twice(ratios, expected, capsys):
    """A ratio over 1.10 is measured again, and fails if it is over 1.10 again."""
    remaining = {name: iter(values) for name, values in ratios.items()}
    assert compare.judge_ratios(list(ratios), lambda name: next(remaining[name])) == expected
    assert all(next(values, None) is None for values in remaining.values())
    printed = capsys.readouterr().out
    assert "geometric mean" in printed
    assert ("twice" in printed) == bool(expected)


def test_compare_leaves_out_what_a_version_cannot_evaluate(capsys):
    """A workload that raises an error in one version is named with the error, and the others are compared."""

    def measure(name):
        if name == "broken":
            raise compare.CannotEvaluateError("UnknownMetricError: no metric is called 'x'")
        return 1.0

    assert compare.judge_ratios(["broken", "whole"], measure) == 0
    assert compare.judge_ratios(["broken"], measure) == 1
    assert "broken                     left out: UnknownMetricError" in capsys.readouterr().out


def test_compare_runs_two_versions(monkeypatch):
    """Two processes evaluate the same workload with the package of their folders, to the same bits."""
    with compare.Version(ROOT) as base, compare.Version(ROOT) as tree:
        assert compare.measure_ratio(base, tree, "candidates", 1e-5, 2) > 0
        assert compare.measure_ratio(base, tree, "one-query-ndcg", 1, 1) > 0
        digests = [version.request(load="tied", scale=1e-5)["digest"] for version in (base, tree)]
        assert digests[0] == digests[1]
        with pytest.raises(compare.CannotEvaluateError, match="KeyError"):
            base.request(load="no-such-workload", scale=1)


def test_compare_names_an_unknown_base(tmp_path):
    """A base that is not a commit is named."""
    with pytest.raises(SystemExit, match="no-such-commit"):
        compare.check_out("no-such-commit", tmp_path)


def test_render_report():
    """Missed goals are bold, missing figures have their reason, and the machine is named."""
    text = render.render_report(make_report())
    assert "| sparse8 | 10 | 1,000 | 3 | 2 | 0.5 | 1.5 | 6 | ≤ 2 × baseline | 1.5 | yes |" in text
    assert "| import | 3 ms | ≤ 2 ms | **no** |  |" in text
    assert "left out: it takes 4 GiB of memory" in text
    assert "Measured on 2026-01-02 on 2 CPUs (M), Python 3, numpy 2, commit abc." in text
    assert "Scaled down" in render.render_report(make_report(scale=0.1))


def make_peers_report():
    """Return figures as the peers suite saves them: ours, one library that differs, one that is absent."""
    agrees = {"of": "each query", "difference": 0.0, "agrees": True}
    differs = {"of": "the mean", "difference": 0.125, "agrees": False}
    row = {
        "binary": False, "ranked before": False, "conversion seconds": 0.5, "seconds": 0.25, "our seconds": 0.125,
        "ratio": 2.0, "agreement": agrees, "agreement on ties": differs,
    }  # fmt: skip
    rows = [
        row | {"name": "fastndcg", "package": "fastndcg", "seconds": 0.125, "ratio": 1.0},
        row | {"name": "other", "package": "other", "agreement": differs, "binary": True},
        {"name": "gone", "package": "gone", "absent": "no module named gone"},
    ]
    headline = [row | {"name": name, "package": "x"} for name in (render.SKLEARN, render.ONE_THREAD)]
    made = {"metric": "nDCG@10", "queries": 1000, "documents": 100, "peers": rows}
    made["headline"] = {"queries": 10**6, "documents": 100, "peers": headline}
    return make_report() | made | {"versions": {"other": "1.2", "numpy": "2"}}


def test_render_peers():
    """The table has the figures, version and difference of each library, or the reason that it is absent."""
    text = render.render_peers(make_peers_report())
    assert "| fastndcg |  | 8,000 | 125 | 500 | 1 | yes | differs by 0.12 |" in text
    assert "| other ¹ | 1.2 | 4,000 | 250 | 500 | 2 | differs by 0.12 | differs by 0.12 |" in text
    assert "| gone |  | absent: no module named gone |" in text


def test_render_headline():
    """The sentence has both ratios, and values that differ raise."""
    found = make_peers_report()
    text = render.render_headline(found)
    assert (
        "1,000,000 queries with 100 documents each takes 0.12 s on 2 CPUs: **2 times as fast** as scikit-learn" in text
    )
    assert "without ties, 1 times on one thread" in text
    found["headline"]["peers"][0]["agreement"] = {"agrees": False}
    with pytest.raises(SystemExit, match="must agree"):
        render.render_headline(found)


def test_chart_has_a_bar_for_each_library(tmp_path):
    """The chart has a bar for each library that was measured."""
    pytest.importorskip("matplotlib", reason="matplotlib draws the chart: pip install 'fastndcg[plots]'")
    report = make_peers_report()
    assert [name for name, *_ in chart.list_bars(report)] == ["other 1.2 ¹", "fastndcg"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matplotlib's own dependencies
        chart.draw_chart(report, tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")


def test_documents_need_their_markers():
    """A document without the markers of a table raises."""
    assert documents.fill_section("<!-- a -->\nold\n<!-- /a -->", "a", "new") == "<!-- a -->\nnew\n<!-- /a -->"
    with pytest.raises(SystemExit, match="must have the markers <!-- b -->"):
        documents.fill_section("<!-- a -->\n<!-- /a -->", "b", "new")
