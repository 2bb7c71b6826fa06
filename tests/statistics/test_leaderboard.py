"""leaderboard: ranks by hand, rank sets of systems that do not differ, and what is missing."""

import functools
import itertools
import json
import operator

import numpy as np
import pytest
from refusals import refused, refuses
from system_values import results_of

import fastndcg as fn
from fastndcg.statistics.leaderboard import _cut_tiers, _DataSets, _find_range, _find_sure, _rank_values
from fastndcg.statistics.settings import Settings

pytest.importorskip("scipy")


def board(tables, unit="queries", bounds=(0.0, 1.0), **settings):
    n = tables[0].shape[1]
    values = _DataSets([f"d{place}" for place in range(len(tables))], list(tables), [0] * n, n)
    names = [f"s{place}" for place in range(n)]
    return _rank_values(values, names, "m", "datasets", unit, Settings(**settings), bounds, [])


def test_three_systems_by_hand():
    """One is surely worse, two cannot be told apart: rank sets [1, 2], [1, 2], [3, 3], and two tiers."""
    generator = np.random.default_rng(3)
    good = generator.beta(8, 2, 200)
    table = np.stack([good - 0.4, np.clip(good + generator.normal(0, 0.1, 200), 0, 1), good], 1)
    found = board([np.clip(table, 0, 1)])
    ranks = {row.system: (row.rank_low, row.rank_high) for row in found.rows}
    assert ranks == {"s2": (1, 2), "s1": (1, 2), "s0": (3, 3)}
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
    """Of 30 leaderboards of eight systems that do not differ, at least 90 % have 1 in each rank set."""
    generator = np.random.default_rng(17)
    covered = 0
    for seed in range(30):
        tables = [np.clip(generator.beta(1, 1, (n, 1)) + generator.normal(0, 0.2, (n, 8)), 0, 1) for _ in range(n_sets)]
        covered += all(row.rank_low == 1 for row in board(tables, unit, replicates=500, seed=seed).rows)
    assert covered / 30 >= 0.9  # the calibration page has 0.94 and more, of many more repeats


def test_equal_to_the_bit():
    values = np.random.default_rng(0).beta(1, 1, (50, 1))
    found = board([np.hstack([values, values, values / 2])])
    assert [(row.rank, row.rank_low, row.rank_high) for row in found.rows] == [(1, 1, 2), (1, 1, 2), (3, 3, 3)]
    assert [line.split()[5:-2] for line in str(found).splitlines()[1:4]] == [["1", "to", "2"], ["1", "to", "2"], ["3"]]


def test_values_of_an_unknown_metric_are_shares_if_all_can_be():
    for values, bounds in (([0, 1], (0.0, 1.0)), ([0.5, 1.5], None), ([-0.5, 0.5], None)):
        assert _find_range(None, np.array([values]), ["d"], ["a", "b"]) == bounds


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


@pytest.mark.parametrize("degrees", [9.0, 80.0, 300.0])
def test_sure_pairs_are_those_of_steps(degrees):
    """Pairs beyond the critical value of all that are left drop out, until none does."""
    generator = np.random.default_rng(6)
    covariance = np.cov(generator.normal(0, generator.uniform(0.5, 2, 9), (40, 9)), rowvar=False)
    means = generator.normal(0, 3, 9)
    scaled = np.abs(means[:, None] - means)
    varies = ~np.eye(9, dtype=bool)
    critical, is_sure = _find_sure(covariance, varies, scaled, degrees, Settings(replicates=500))
    steps = []
    left = varies
    while not steps or (scaled[left] > steps[-1]).any():
        left = left & ~(scaled > steps[-1]) if steps else left
        steps.append(_find_sure(covariance, left, scaled, degrees, Settings(replicates=500))[0])
    assert critical == steps[0]
    assert len(steps) > 1
    assert (is_sure == (varies & ~left)).all()


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


def test_pairs_of_other_data_sets():
    """An interval is as many standard errors wide whether data sets count alike or queries do."""
    generator = np.random.default_rng(1)
    sizes = np.array([60, 20, 12, 6, 30])
    systems = {
        name: {str(d): results_of(generator.uniform(0.2, 0.5 + 0.1 * place * (d - 1), (n, 1)))
               for d, n in enumerate(sizes)}
        for place, name in enumerate("ab")
    }  # fmt: skip
    first, second = (np.array([result.means()[0] for result in own.values()]) for own in systems.values())
    widths = []
    for mean, shares in (("datasets", np.full(5, 1 / 5)), ("queries", sizes / sizes.sum())):
        (pair,) = fn.leaderboard(dict.fromkeys(systems["a"]), systems, mean=mean, resample="datasets").pairs()
        differences = (first - second) * (1 if pair.system == "a" else -1)
        assert pair.difference == pytest.approx(shares @ differences)
        widths.append((pair.high - pair.low) / np.linalg.norm(shares * (differences - pair.difference)))
    assert widths[0] == pytest.approx(widths[1], rel=0.05)


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
    refused("which say nothing about queries", fn.leaderboard, frame, resample="queries")
    assert "no metric is named: higher values are taken for better" in found.notes
    message = "row 36, column 'value': system 's0' must have one value of 'd0', but has two"
    refused(message, fn.leaderboard, pandas.concat([frame, frame]))


MEANS = {"a": {"x": 0.5, "y": 0.6, "z": 0.4}, "b": {"x": 0.4, "z": 0.3}, "7": {"x": 0.1, "y": 0.2, "z": 0.3}}
SETS = ("x", "y", "z")
LONG = [(system, name, row.get(name)) for system, row in MEANS.items() for name in SETS]


def list_forms():
    """Return the same means as dicts, records, and columns, long, a row a system, and a row a data set."""
    rows = [{"Model": s, "Rank (Borda)": 1 + i, **row, "Avg.": 0.9} for i, (s, row) in enumerate(MEANS.items())]
    return {
        "dict": MEANS,
        "missing": {s: {name: row.get(name) for name in SETS} for s, row in MEANS.items()},
        "nan": {s: {name: row.get(name, float("nan")) for name in SETS} for s, row in MEANS.items()},
        "long": dict(zip(("model_name", "task_name", "main_score"), map(list, zip(*LONG, strict=True)), strict=True)),
        "metric": [{"system": s, "dataset": d, "ndcg@10": value} for s, d, value in LONG],
        "systems": rows,
        "data sets": [{"Task": name, **{s: row.get(name) for s, row in MEANS.items()}} for name in (*SETS, "Average")],
    }


@functools.cache
def rank_means():
    return fn.leaderboard(MEANS, metric="ndcg@10").rows


TABLES = [name for name in list_forms() if name not in ("dict", "missing", "nan")]
FORMS_OF_MEANS = [
    *itertools.product(list_forms(), ["as it is"]), *itertools.product(TABLES, ["pandas", "index", "polars", "csv"]),
    *((name, "json") for name in list_forms() if name != "long"),  # whose columns are no records
]  # fmt: skip


@pytest.mark.parametrize(("name", "form"), FORMS_OF_MEANS)
def test_forms_of_published_means(name, form, tmp_path):
    """Each is the same leaderboard, with a missing cell, and without means and ranks that are columns."""
    data = list_forms()[name]
    if form in ("pandas", "index", "polars", "csv"):
        pandas = pytest.importorskip("pandas")
        frame = pandas.DataFrame(data)
        if form == "index":
            data = frame.set_index(list(frame.columns[: 1 if "s" in name else 2]))
        elif form == "csv":
            data = tmp_path / "table.csv"
            frame.to_csv(data, index=False)
        else:
            data = frame if form == "pandas" else pytest.importorskip("polars").from_pandas(frame)
    elif form == "json":
        (tmp_path / "table.json").write_text(json.dumps(data).replace("NaN", "null"))
        data = tmp_path / "table.json"
    found = fn.leaderboard(data, metric="ndcg@10")
    assert found.rows == rank_means()
    assert {row.system: row.n_missing for row in found} == {"a": 0, "b": 1, "7": 0}
    left_out = [note for note in found.notes if "which are left out. Rename" in note]
    assert len(left_out) == (name in ("systems", "data sets"))


test_errors_of_published_means_name_the_place = refuses(fn.leaderboard, [
    ({"a": {"x": 0.5}, "b": {"x": "high"}}, "`truths`, 'x' of 'b': must have a number up to"),
    ({"a": {"x": 0.5}, "b": None}, "`truths`, 'b': must be {data set: value}, not None"),
    ([{"model": "a", "x": 0.5}, {"model": "b", "x": "1.5 %"}], "`truths`, row 1, column 'x': must have a number"),
    ([{"model": "a", "x": 0.5}, {"x": 0.5}], "row 1, column 'x': must be of a system and a data set"),
    ({"nq": {"q1": {"d1": 1}}}, "`truths`, 'q1' of 'nq': must have a number up to 1e+100 as value, not {'d1': 1}. Or"),
    ({"model": ["a", "b"], "x": [0.5]}, "`truths` without `systems` must be a frame with"),
    ([{"a": 0.5, "b": 0.5}], "has the columns 'a', 'b'. Name them so: frame.rename(columns={NAME: 'system'})"),
    ([{"model": "a", "task": "x", "rr": 1, "map": 1}], "has the columns 'model', 'task', 'rr', 'map'. Name"),
    ([{"model": "a", "run": "a", "x": 1}], "has the columns 'model', 'run', 'x'. Name"),
], text="{}")  # fmt: skip


def test_columns_on_the_command_line(tmp_path, shown, wrong):
    """Named columns are read, and an option that fits no table says what it needs."""
    path = tmp_path / "table.csv"
    path.write_text("encoder,corpus,ndcg,rr\n" + "".join(f"{s},{d},{v or ''},0\n" for s, d, v in LONG))
    wrong("Name them by --columns system=NAME,dataset=NAME,value=NAME", "leaderboard", path)
    out = shown("leaderboard", path, "--columns", "system=encoder,dataset=corpus,value=ndcg")
    assert out == f"{fn.leaderboard(MEANS)}\n"
    wrong("--columns", "leaderboard", path, "--columns", "query=encoder")
    for text, more, message in (
        (json.dumps(MEANS), ["--columns", "system=encoder"], "without columns to name"),
        ("model,x,x\na,51,52\nb,48,47\n", [], "has the columns 'model', 'x', 'x'"),
        ("model,x,y\na,51,52\nb,48,47\n", ["-m", "ndcg@10"], "divide them by 100, or leave --metric out"),
    ):
        path.write_text(text)
        wrong(message, "leaderboard", path, *more)


def test_comparison():
    generator = np.random.default_rng(2)
    results = {name: results_of(generator.beta(2, 2, (40, 2))) for name in "abc"}
    comparison = fn.compare(results)
    assert fn.leaderboard(comparison).metric == str(comparison.metrics[0])
    found = fn.leaderboard(comparison, metric=comparison.metrics[1])
    assert {row.system: row.mean for row in found.rows} == {
        row.system: pytest.approx(row.mean) for row in comparison.rows if row.metric == str(comparison.metrics[1])
    }


test_errors = refuses(operator.call, [
    (lambda: fn.leaderboard({"a": {"x": 0.5}}), "two systems or more"),
    (lambda: fn.leaderboard({"a": {"x": 0.5}, "b": {"y": 0.5}}), "a data set in common"),
    (lambda: fn.leaderboard(7), "must be a frame with the columns system, dataset and value"),
    (lambda: fn.leaderboard({"x": None}, {"a": {"y": 1}, "b": {}}), "but 'a' has 'y'"),
    (lambda: fn.leaderboard({}, {}, "rr,map"), "must be one metric"),
    (lambda: fn.leaderboard({"a": {"x": 0.5}, "b": {"x": 0.5}}), "must be 'queries' for one data set"),
    (lambda: fn.leaderboard({}, {}, mean="median"), "`mean` has no choice"),
], error=fn.FastndcgError)  # fmt: skip


def test_command(tmp_path, shown, wrong):
    table = tmp_path / "published.csv"
    rows = [f"s{s},d{d},{0.5 + 0.1 * s + 0.01 * (d % 3)}" for s in range(3) for d in range(9)]
    table.write_text("\n".join(["system,dataset,value", *rows]))
    found = json.loads(shown("leaderboard", table, "--format", "json"))["rows"]
    assert [row["system"] for row in found] == ["s2", "s1", "s0"]
    table.write_text("system,dataset,value\na,x,one\n")
    message = "published.csv, row 0, column 'value': must have a number up to 1e+100 as value, not 'one'"
    wrong(message, "leaderboard", table)
    qrels, *runs = (tmp_path / name for name in ("qrels.txt", "poor.run", "good.run"))
    qrels.write_text("".join(f"q{q} 0 a 1\n" for q in range(20)))
    for path, score in zip(runs, (0, 2), strict=True):
        scores = (("a", score), ("b", 1))
        path.write_text("".join(f"q{q} Q0 {d} 1 {s} {path.stem}\n" for q in range(20) for d, s in scores))
    wrong("is the name of 2. Give --names A,B.", "leaderboard", qrels, runs[0], runs[0], "-m", "rr")
    assert shown("leaderboard", qrels, *runs, "-m", "rr").splitlines()[1].split()[:2] == ["good", "1.0000"]
