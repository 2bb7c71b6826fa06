"""What benchmarks leave behind: tables, history, comparisons, figures, the chart."""

import importlib.util
import json
import sys
import types
import warnings
from pathlib import Path

import compare
import history
import inputs
import peers
import pytest
import render
import smoke
import timing
import workloads

ROOT = Path(__file__).resolve().parents[1]


def table(**changes):
    """A saved table of goals."""
    names = [name for name in workloads.RECIPES if name not in workloads.WITHOUT_GOAL]
    row = {
        "queries": 10, "documents": 1000, "ms": 3.0, "floor ms": 2.0, "reading ms": 0.5, "times floor": 1.5,
        "times reading": 6.0, "against": "floor", "ratio": 1.5, "goal": 2.0, "met": True,
    }  # fmt: skip
    about = {
        "commit": "abc",
        "date": "2026-01-02",
        "machine": "M",
        "cpus": 2,
        "python": "3",
        "versions": {"numpy": "2"},
    }
    rows = [{"workload": name} | row for name in names]
    figures = [
        {"what": "import", "value": 3.0, "unit": "ms", "goal": "≤ 2 ms", "met": False},
        {"what": "5e8 documents", "left out": "it takes 4 GiB of memory"},
    ]
    rest = {"versions": {"numpy": "2"}, "scale": 1, "repeat": 5, "smoke": {"sparse8": 1.5}}
    made = about | rest | {"workloads": rows, "figures": figures}
    return made | changes


def test_history_is_appended_and_read_back(tmp_path):
    """A landed change is one line; the last one is what later runs are compared with."""
    path = tmp_path / "history.jsonl"
    assert history.last(path) is None
    history.append(table(commit="first"), path)
    history.append(table(), path)
    assert [json.loads(line)["commit"] for line in path.read_text().splitlines()] == ["first", "abc"]
    line = history.last(path)
    assert line["ratios"]["sparse8"] == 1.5
    assert line["smoke"] == {"sparse8": 1.5}
    assert {"commit", "date", "machine"} <= set(line)


def test_history_of_a_kind_of_machine(tmp_path):
    """Ratios to the floor differ between processors: one's own count, else the highest of other kinds."""
    path = tmp_path / "history.jsonl"
    for commit, machine, ratio in (("one", "slow", 3.0), ("two", "slow", 2.0), ("three", "fast", 1.0)):
        history.append(table(commit=commit, machine=machine, smoke={"sparse8": ratio}), path)
    found = [history.last(path, name) for name in ("slow", "fast", "new")]

    assert [(line["commit"], line["smoke"]["sparse8"]) for line in found] == [
        ("two", 2.0),
        ("three", 1.0),
        ("three", 2.0),
    ]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"commit": "abc+"}, "commit first"),
        ({"commit": ""}, "commit first"),
        ({"scale": 0.1}, "at scale 1"),
        ({"workloads": []}, "every workload"),
    ],
)
def test_history_refuses_what_is_no_record(changes, message, tmp_path):
    """Uncommitted code, scaled-down workloads and parts of the table make no line."""
    with pytest.raises(SystemExit, match=message):
        history.append(table(**changes), tmp_path / "history.jsonl")
    assert not (tmp_path / "history.jsonl").exists()


def test_smoke_gives_three_tries(monkeypatch, capsys):
    """Too slow three times in a row fails; once in time is enough; without a record there is nothing to fail."""
    monkeypatch.setattr(history, "SMALL", {"sparse8": 0.1, "dense-long": 0.1})
    monkeypatch.setattr(
        history, "last", lambda machine: {"commit": "abc", "smoke": {"sparse8": 2.0, "dense-long": 2.0}}
    )
    ratios = iter([3.1, 2.9, 3.1, 3.0])
    monkeypatch.setattr(history, "ratio_to_floor", lambda name, scale: next(ratios))
    assert smoke.main() == 0  # dense-long in the first try, sparse8 in the third
    assert next(ratios, None) is None
    monkeypatch.setattr(history, "ratio_to_floor", lambda name, scale: 3.1)
    assert smoke.main() == 1
    assert "3 times: sparse8, dense-long" in capsys.readouterr().out
    monkeypatch.setattr(history, "last", lambda machine: None)
    assert smoke.main() == 0


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
def test_comparison_fails_on_two_repeats(ratios, expected, capsys):
    """A ratio over 1.10 is measured again, and fails if it is over again."""
    left = {name: iter(values) for name, values in ratios.items()}
    assert compare.judge(list(ratios), lambda name: next(left[name])) == expected
    assert all(next(values, None) is None for values in left.values())
    printed = capsys.readouterr().out
    assert "geometric mean" in printed
    assert ("twice" in printed) == bool(expected)


def test_comparison_runs_two_versions():
    """Two processes evaluate the same workload, each with the package of its own folder, to the same bits."""
    with compare.Version(ROOT) as one, compare.Version(ROOT) as two:
        assert compare.ratio_of(one, two, "candidates", 1e-5, 2) > 0
        hashes = [version.ask(load="tied", scale=1e-5)["values"] for version in (one, two)]
    assert hashes[0] == hashes[1]


def test_comparison_names_an_unknown_base(tmp_path):
    """A commit that is not there is refused by name."""
    with pytest.raises(SystemExit, match="there is no package in no-such-commit"):
        compare.check_out("no-such-commit", tmp_path)


def test_goals_as_markdown():
    """Goals that are not met stand out, what was left out has its reason, and the machine is named."""
    text = render.goals(table())
    assert "| sparse8 | 10 | 1,000 | 3 | 2 | 0.5 | 1.5 | 6 | ≤ 2 × floor | 1.5 | yes |" in text
    assert "| import | 3 ms | ≤ 2 ms | **no** |  |" in text
    assert "left out: it takes 4 GiB of memory" in text
    assert "Measured on 2026-01-02 on 2 CPUs (M), Python 3, numpy 2, commit abc." in text
    assert "Scaled down" in render.goals(table(scale=0.1))


def found_peers():
    """What peers.py saves, made up: ours, one that agrees, one that differs, one that is absent."""
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
    headline = [row | {"name": name, "package": "x"} for name in peers.HEADLINE]
    made = {"metric": "nDCG@10", "queries": 1000, "documents": 100, "peers": rows}
    made["headline"] = {"queries": 10**6, "documents": 100, "peers": headline}
    return table() | made | {"versions": {"other": "1.2", "numpy": "2"}}


def test_figures_of_other_conditions_are_not_kept(tmp_path):
    """Figures of another commit, or of another scale, do not stand in the same table."""
    path = tmp_path / "inputs.json"
    found = timing.about(inputs.PACKAGES) | {"scale": 1.0}
    assert inputs.kept(path, found) == {}
    path.write_text(json.dumps(found | {"forms": {"dicts": []}}))
    assert inputs.kept(path, found) == {"dicts": []}
    assert inputs.kept(path, found | {"scale": 0.5}) == inputs.kept(path, found | {"commit": "another"}) == {}


def test_peers_as_markdown():
    """The table has every library: figures, versions, differences, reasons."""
    text = render.peers_table(found_peers())
    assert "| fastndcg |  | 8,000 | 125 | 500 | 1 | yes | differs by 0.12 |" in text
    assert "| other ¹ | 1.2 | 4,000 | 250 | 500 | 2 | differs by 0.12 | differs by 0.12 |" in text
    assert "| gone |  | absent: no module named gone |" in text


def test_headline():
    """The sentence gives both ratios, and there is none where the numbers differ."""
    found = found_peers()
    text = render.headline(found)
    assert "1,000,000 queries with 100 documents each: **2 times as fast**" in text
    assert "0.12 s against 0.25 s; 1 times on one thread" in text
    found["headline"]["peers"][0]["agreement"] = {"agrees": False}
    with pytest.raises(SystemExit, match="disagree"):
        render.headline(found)


def test_chart_is_drawn(tmp_path):
    """The chart has a bar for each library that was measured."""
    pytest.importorskip("matplotlib", reason="matplotlib draws the chart: pip install 'fastndcg[bench]'")
    spec = importlib.util.spec_from_file_location("chart", ROOT / "scripts" / "chart.py")
    chart = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(chart)
    assert [name for name, *_ in chart.bars(found_peers())] == ["other 1.2 ¹", "fastndcg"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matplotlib's own dependencies
        chart.draw(found_peers(), tmp_path / "peers.png")
    assert (tmp_path / "peers.png").read_bytes().startswith(b"\x89PNG")
    assert isinstance(sys.modules["render"], types.ModuleType)
