"""leaderboard: ranks by hand, rank sets of systems that do not differ, and what is missing."""

import json

import numpy as np
import pytest
from system_values import results_of

import fastndcg as fn
from fastndcg import cli
from fastndcg.statistics.leaderboard import _cut_tiers, _DataSets, _rank_values
from fastndcg.statistics.settings import Settings

pytest.importorskip("scipy")


def board(tables, unit="queries", bounds=(0.0, 1.0), **settings):
    n = tables[0].shape[1]
    names = [f"d{place}" for place in range(len(tables))]
    values = _DataSets(names, list(tables), [0] * n, n)
    return _rank_values(
        values, [f"s{place}" for place in range(n)], "m", "datasets", unit, Settings(**settings), bounds, []
    )


def test_three_systems_by_hand():
    """One is surely worse, two cannot be told apart: rank sets [1, 2], [1, 2], [3, 3], and two tiers."""
    generator = np.random.default_rng(3)
    good = generator.beta(8, 2, 200)
    table = np.stack([good - 0.4, np.clip(good + generator.normal(0, 0.1, 200), 0, 1), good], 1)
    found = board([np.clip(table, 0, 1)])
    assert {row.system: (row.rank_low, row.rank_high) for row in found.rows} == {
        "s2": (1, 2),
        "s1": (1, 2),
        "s0": (3, 3),
    }
    assert [row.tier for row in found.rows] == [1, 1, 2]
    assert found.tiers == [[found.rows[0].system, found.rows[1].system], ["s0"]]
    assert [(row.wins, row.losses) for row in found.rows] == [(1, 0), (1, 0), (0, 2)]
    assert [row.mean for row in found.rows] == sorted((row.mean for row in found.rows), reverse=True)


def test_tiers_are_cut_where_every_pair_is_sure():
    sure = np.triu(np.ones((4, 4), bool), 1)
    assert _cut_tiers(sure) == [1, 2, 3, 4]
    sure[0, 2] = False
    assert _cut_tiers(sure) == [1, 1, 1, 2]


@pytest.mark.parametrize(("unit", "n_sets", "n"), [("queries", 1, 30), ("queries", 4, 12), ("datasets", 12, 5)])
def test_equal_systems_share_rank_one(unit, n_sets, n):
    """Of 150 leaderboards of eight systems that do not differ, at least 90 % have 1 in each rank set."""
    generator = np.random.default_rng(17)
    covered = 0
    for seed in range(150):
        tables = [np.clip(generator.beta(1, 1, (n, 1)) + generator.normal(0, 0.2, (n, 8)), 0, 1) for _ in range(n_sets)]
        covered += all(row.rank_low == 1 for row in board(tables, unit, replicates=500, seed=seed).rows)
    assert covered / 150 >= 0.9  # the calibration page has 0.94 and more, of many more repeats


def test_equal_to_the_bit():
    values = np.random.default_rng(0).beta(1, 1, (50, 1))
    found = board([np.hstack([values, values, values / 2])])
    assert [(row.rank, row.rank_low, row.rank_high) for row in found.rows] == [(1, 1, 2), (1, 1, 2), (3, 3, 3)]


def test_pairs_hold_together():
    """Bounds of a pair are as wide as those of all pairs, and a sure pair of the first step excludes 0."""
    generator = np.random.default_rng(5)
    table = np.clip(generator.beta(2, 2, (60, 1)) + generator.normal(0, 0.2, (60, 6)) + np.arange(6) * 0.05, 0, 1)
    found = board([table])
    for pair in found.pairs():
        assert pair.low <= pair.difference <= pair.high
        assert pair.sure or pair.low <= 0
    narrow = board([table[:, :2]]).pairs()[0]
    wide = next(pair for pair in found.pairs() if {pair.system, pair.against} == {"s0", "s1"})
    assert wide.high - wide.low > narrow.high - narrow.low


def test_data_sets():
    """Data sets count alike, or queries do; a data set that a system lacks is left out, and never 0."""
    big = results_of([[0.2]] * 30), results_of([[0.4]] * 30)
    small = results_of([[0.9]] * 10 + [[0.8]] * 2), results_of([[0.1]] * 12)
    systems = {"a": {"big": big[0], "small": small[0]}, "b": {"big": big[1], "small": small[1]}}
    found = fn.leaderboard({"big": None, "small": None}, systems)
    means = {row.system: row.mean for row in found.rows}
    assert means == pytest.approx({"a": (0.2 + (0.9 * 10 + 1.6) / 12) / 2, "b": 0.25})
    found = fn.leaderboard({"big": None, "small": None}, systems, mean="queries")
    assert {row.system: row.mean for row in found.rows}["b"] == pytest.approx((0.4 * 30 + 0.1 * 12) / 42)
    del systems["a"]["big"]
    found = fn.leaderboard({"big": None, "small": None}, systems)
    assert [(row.system, row.n_missing) for row in found.rows] == [("a", 1), ("b", 0)]
    assert "1 of 2 data sets are left out" in str(found)


def test_published_means():
    pandas = pytest.importorskip("pandas")
    generator = np.random.default_rng(8)
    cells = [(f"s{s}", f"d{d}", 0.5 + 0.1 * s + generator.normal(0, 0.02)) for s in range(3) for d in range(12)]
    frame = pandas.DataFrame(cells, columns=["system", "dataset", "value"])
    found = fn.leaderboard(frame)
    assert [row.system for row in found.rows] == ["s2", "s1", "s0"]
    assert [row.tier for row in found.rows] == [1, 2, 3]
    assert "about other data sets like these" in str(found)
    by_system = {}
    for system, name, value in cells:
        by_system.setdefault(system, {})[name] = value
    assert fn.leaderboard(by_system).rows == found.rows
    with pytest.raises(fn.InvalidInputError, match="which say nothing about queries"):
        fn.leaderboard(frame, resample="queries")
    with pytest.raises(fn.InvalidInputError, match="has two of d0"):
        fn.leaderboard(pandas.concat([frame, frame]))


def test_comparison():
    generator = np.random.default_rng(2)
    results = {name: results_of(generator.beta(2, 2, (40, 2))) for name in "abc"}
    comparison = fn.compare(results)
    found = fn.leaderboard(comparison, metric=comparison.metrics[1])
    assert {row.system: row.mean for row in found.rows} == {
        row.system: pytest.approx(row.mean) for row in comparison.rows if row.metric == str(comparison.metrics[1])
    }


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: fn.leaderboard({"a": {"x": 0.5}}), "two systems or more"),
        (lambda: fn.leaderboard({"a": {"x": 0.5}, "b": {"y": 0.5}}), "a data set in common"),
        (lambda: fn.leaderboard(7), "must be a frame with the columns system, dataset and value"),
        (lambda: fn.leaderboard({"x": None}, {"a": {"y": 1}, "b": {}}), "but 'a' has 'y'"),
        (lambda: fn.leaderboard({}, {}, "rr,map"), "must be one metric"),
        (lambda: fn.leaderboard({"a": {"x": 0.5}, "b": {"x": 0.5}}), "must be 'queries' for one data set"),
        (lambda: fn.leaderboard({}, {}, mean="median"), "`mean` has no choice"),
    ],
)
def test_errors(call, message):
    with pytest.raises(fn.FastndcgError, match=message):
        call()


def test_command(tmp_path, capsys):
    table = tmp_path / "published.csv"
    rows = [f"s{s},d{d},{0.5 + 0.1 * s + 0.01 * (d % 3)}" for s in range(3) for d in range(9)]
    table.write_text("\n".join(["system,dataset,value", *rows]))
    assert cli.main(["leaderboard", str(table), "--format", "json"]) == 0
    assert [row["system"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["s2", "s1", "s0"]
    table.write_text("system,dataset,value\na,x,one\n")
    assert cli.main(["leaderboard", str(table)]) == 2
    assert "published.csv, row 0: must have a number as value, not 'one'" in capsys.readouterr().err
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{q} 0 a 1\n" for q in range(20)))
    for name, score in (("good", 2), ("poor", 0)):
        (tmp_path / f"{name}.run").write_text(
            "".join(f"q{q} Q0 {d} 1 {s} {name}\n" for q in range(20) for d, s in (("a", score), ("b", 1)))
        )
    runs = [str(tmp_path / f"{name}.run") for name in ("poor", "good")]
    assert cli.main(["leaderboard", str(qrels), runs[0], runs[0], "-m", "rr"]) == 2
    assert "is the name of 2. Give --names A,B." in capsys.readouterr().err
    assert cli.main(["leaderboard", str(qrels), *runs, "-m", "rr"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:2] == ["good", "1.0000"]
