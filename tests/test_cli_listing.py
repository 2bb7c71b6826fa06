"""`fastndcg conventions` and `fastndcg metrics`: what they list, show and write."""

import json

import pytest

import fastndcg as fn
from fastndcg.catalog import EVERY, OTHERS


class TestConventions:
    """`fastndcg conventions`."""

    def test_lists_all(self, run):
        """Every name has a line with the program that decides so."""
        code, out, _ = run("conventions")
        lines = {line.split()[0]: line for line in out.splitlines()}
        assert code == 0
        assert all(fn.conventions[name].peer in lines[name] for name in fn.conventions)

    def test_shows_one(self, run):
        """One is printed as `print` shows it, with choices of one's own, too."""
        assert run("conventions", "lightgbm")[1] == f"{fn.conventions['lightgbm']!s}\n"
        _, out, _ = run("conventions", "lightgbm(ties=average)")
        assert out.startswith("lightgbm(ties=average): LightGBM")

    def test_compares_two(self, run):
        """What differs, with both choices and what the field decides."""
        _, out, _ = run("conventions", "xgboost", "xgboost_minus")
        head, row = (line.split() for line in out.splitlines())
        assert head[:3] == ["field", "xgboost", "xgboost_minus"]
        assert row[:3] == ["undefined", "1", "0"]
        assert run("conventions", "sklearn", "sklearn")[1] == "sklearn and sklearn differ in nothing\n"

    def test_page(self, run):
        """Each program has its row in the table of fields, and each bug a minimal case."""
        _, out, _ = run("conventions", "--page")
        assert out.startswith("## Why is my number different?\n")
        rows = [line.split(" | ") for line in out.splitlines() if line.startswith("| ")]
        for name, convention in fn.conventions.items():
            (row,) = [row for row in rows if row[0] == f"| {name}" and len(row) > 10]
            assert [cell.strip(" |`") for cell in row[1:] if cell.strip(" |") != "·"] or not convention.peer
            assert all(any(bug.what in cell for row in rows for cell in row) for bug in convention.bugs)

    def test_json(self, run):
        """All of it, for programs."""
        _, out, _ = run("conventions", "--format", "json")
        shown = json.loads(out)
        assert list(shown) == list(fn.conventions)
        assert shown["catboost"]["choices"]["ties"] == "worst"
        assert shown["default"]["peer"] is None

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["lightgmb"], "no convention is called 'lightgmb'. Did you mean 'lightgbm'?"),
            (["sklearn", "--page"], "--page is about all conventions"),
            (["--page", "--format", "json"], "--page is about all conventions"),
        ],
    )
    def test_wrong_use(self, arguments, message, run):
        """One line, and exit code 2."""
        code, _, error = run("conventions", *arguments)
        assert code == 2
        assert message in error


class TestMetrics:
    """`fastndcg metrics`."""

    def test_lists_the_catalogue(self, run):
        """Every metric has a line with its aliases."""
        _, out, _ = run("metrics")
        for name, record in EVERY.items():
            line = next(line for line in out.splitlines() if line.split()[0] == name)
            assert record.title in line
            assert all(alias in line for alias in record.aliases)

    @pytest.mark.parametrize("name", ["nDCG", "ndcg", "ndcg_cut_10", "nDCG(gain=exp2)@5"])
    def test_explains_one(self, name, run):
        """A name, an alias, trec_eval's name or a whole text explains the metric."""
        _, out, _ = run("metrics", name)
        assert out.startswith("nDCG: normalised discounted cumulative gain\n")
        for expected in (
            "DCG@k / IDCG@k", "gain      linear, exp2", "0 to 1", "where nothing has a gain", "Järvelin",
            "https://doi.org/10.1145/582415.582418", "ndcg, ndcg_cut_k",
        ):  # fmt: skip
            assert expected in out

    @pytest.mark.parametrize("name", list(EVERY))
    def test_explains_each(self, name, run):
        """Every record has words for every fact."""
        code, out, _ = run("metrics", name)
        assert code == 0
        heads = [line[2:14].strip() for line in out.splitlines()[1:]]
        facts = ["formula", "parameters", "range", "undefined", "ties", "source", "aliases", "trec_eval"]
        if name in OTHERS:
            facts.insert(5, "taken by")
        assert [head for head in heads if head] == facts + [peer for peer, _ in EVERY[name].peers]

    def test_json(self, run):
        """JSON holds every record, or one."""
        every = json.loads(run("metrics", "--format", "json")[1])
        assert [record["name"] for record in every] == [*fn.CATALOG, *OTHERS]
        assert json.loads(run("metrics", "map", "--format", "json")[1]) == next(r for r in every if r["name"] == "AP")

    def test_unknown_name_suggests_the_nearest(self, run):
        """A typing error is answered with the nearest name."""
        code, out, err = run("metrics", "ndgc")
        assert (code, out) == (2, "")
        assert err.startswith("fastndcg: error: no metric is called 'ndgc'. Did you mean '")
