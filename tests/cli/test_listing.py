"""Output of `fastndcg conventions` and `fastndcg metrics` in each format."""

import json

import pytest

import fastndcg as fn
from fastndcg.metrics.families import CATALOG


class TestConventions:
    def test_lists_shows_and_compares(self, run):
        code, out, _ = run("conventions")
        lines = {line.split()[0]: line for line in out.splitlines()}
        assert code == 0
        assert all(fn.conventions[name].peer in lines[name] for name in fn.conventions)
        assert run("conventions", "lightgbm")[1] == f"{fn.conventions['lightgbm']!s}\n"
        _, out, _ = run("conventions", "lightgbm(ties=average)")
        assert out.startswith("lightgbm(ties=average): LightGBM")
        _, out, _ = run("conventions", "xgboost", "xgboost_minus")
        head, row = (line.split() for line in out.splitlines())
        assert head[:3] == ["field", "xgboost", "xgboost_minus"]
        assert row[:3] == ["undefined", "1", "0"]
        assert run("conventions", "sklearn", "sklearn")[1] == "sklearn and sklearn have the same choices\n"
        _, out, _ = run("conventions", "--format", "json")
        shown = json.loads(out)
        assert list(shown) == list(fn.conventions)
        assert shown["catboost"]["choices"]["ties"] == "worst"
        assert shown["default"]["peer"] is None


class TestMetrics:
    def test_lists_the_catalogue(self, run):
        _, out, _ = run("metrics")
        for name, record in CATALOG.items():
            line = next(line for line in out.splitlines() if line.split()[0] == name)
            assert record.title in line
            assert all(alias in line for alias in record.aliases)
        every = json.loads(run("metrics", "--format", "json")[1])
        assert [record["name"] for record in every] == list(CATALOG)
        assert json.loads(run("metrics", "map", "--format", "json")[1]) == next(r for r in every if r["name"] == "AP")

    @pytest.mark.parametrize("name", ["nDCG", "ndcg", "ndcg_cut_10", "nDCG(gain=exp2)@5"])
    def test_explains_one(self, name, run):
        """A name, an alias, trec_eval's name or the text of a metric explains the metric."""
        _, out, _ = run("metrics", name)
        assert out.startswith("nDCG: normalised discounted cumulative gain\n")
        for expected in (
            "DCG@k / IDCG@k", "gain      linear, exp2", "0 to 1", "where nothing has a gain", "Järvelin",
            "https://doi.org/10.1145/582415.582418", "ndcg, ndcg_cut_k",
        ):  # fmt: skip
            assert expected in out

    @pytest.mark.parametrize("name", list(CATALOG))
    def test_explains_each(self, name, run):
        code, out, _ = run("metrics", name)
        assert code == 0
        heads = [line[2:].partition("  ")[0] for line in out.splitlines()[1:] if line[2:3].strip()]
        facts = ["formula", "parameters", "range", "undefined", "ties", "source", "aliases", "trec_eval"]
        if CATALOG[name].function_name != "evaluate":
            facts.insert(5, "taken by")
        assert heads == facts + [peer for peer, _ in CATALOG[name].peers]
