"""Discovery: lists, help, choices as types, completion in shells, and the examples of texts in the files texts.txt."""

import ast
import doctest
import inspect
import operator
import os
import pkgutil
import pydoc
import subprocess
import sys
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import system_values
from refusals import refuses

import fastndcg as fn
from fastndcg import choices
from fastndcg.cli import parser
from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
from fastndcg.metrics.families import CATALOG, FAMILIES
from fastndcg.named_conventions import KINDS, conventions


def test_list_metrics_has_the_whole_catalogue():
    rows = {row.name: row for row in fn.list_metrics()}
    own_names = {name for name, row in rows.items() if row.family != "custom"}  # other tests register some
    assert own_names == set(CATALOG)
    assert len(fn.list_metrics()) == len(rows)
    assert rows["nDCG"].formula == fn.nDCG.record.formula
    assert rows["nDCG"].family == "gains"
    assert rows["P"].parameters == ("k", "rel")
    assert rows["tau_b"].function == "agreement"
    assert rows["RankingLoss"].higher_is_better is False


def test_list_metrics_filters():
    assert {row.name for row in fn.list_metrics(family="gains")} == {
        name for name, record in CATALOG.items() if record.family == "gains"
    }
    assert {row.function for row in fn.list_metrics(function="beyond_accuracy")} == {"beyond_accuracy"}
    assert "RR" in {row.name for row in fn.list_metrics("RECIPROCAL rank")}
    assert [row.name for row in fn.list_metrics("recip_rank")] == ["RR"]
    assert len(fn.list_metrics("no such words")) == 0
    assert "0 metrics" in str(fn.list_metrics("no such words"))


def test_list_conventions_and_custom_metrics():
    fn.register(lambda labels, above, ties, ideal, n_relevant, n_documents, k: 1.0, name="ListedOnce", title="once",
                formula="1", range="1", undefined="never", source="a test")  # fmt: skip
    assert [row.name for row in fn.list_metrics("listedonce")] == ["ListedOnce"]
    assert "ListedOnce" in {row.name for row in fn.list_metrics(family="custom")}
    assert [row.name for row in fn.list_conventions()] == list(conventions)
    assert {row.name for row in fn.list_conventions(kind="search")} >= {"trec_eval", "ranx"}
    assert {row.name for row in fn.list_conventions("lightgbm")} == {"lightgbm"}
    assert set(KINDS) == set(conventions)


def test_list_fusion_methods_has_the_whole_catalogue():
    rows = fn.list_fusion_methods()
    by_name = {(row.kind == "normalization", row.name): row for row in rows}
    assert [row.name for row in rows] == [*FUSION_METHODS, *NORMALIZATIONS]
    assert by_name[False, "gmnz"].parameters == ("gamma=0.5", "norm=none", "norms")
    assert by_name[False, "wsum"].is_weighted
    assert by_name[False, "rrf"].kind == "ranks"
    assert by_name[True, "borda"].formula == NORMALIZATIONS["borda"].formula
    assert [row.name for row in fn.list_fusion_methods("cormack")] == ["rrf"]
    assert {row.kind for row in fn.list_fusion_methods(kind="training")} == {"training"}
    assert [row.name for row in fn.list_fusion_methods("zmuv")] == ["z_score"]


@pytest.mark.parametrize("listed", [fn.list_metrics(), fn.list_conventions(), fn.list_fusion_methods()])
def test_lists_print_and_convert(listed):
    assert len(repr(listed).splitlines()) == len(listed) + 2
    html = listed._repr_html_()
    assert html.count("<tr>") == len(listed) + 2
    assert listed[0].name in html
    assert len(listed.to_markdown().splitlines()) >= len(listed) + 2


test_wrong_filters_are_refused = refuses(operator.call, [
    (lambda: fn.list_metrics(family="gians"), "`family` has no choice 'gians'. Did you mean 'gains'?"),
    (lambda: fn.list_metrics(function=3), "`function` has no choice 3. There are evaluate, agreement"),
    (lambda: fn.list_metrics(7), "`search` must be a text, not 7"),
    (lambda: fn.list_fusion_methods(kind="rank"), "`kind` has no choice 'rank'. Did you mean 'ranks'?"),
    (lambda: fn.list_fusion_methods(3), "`search` must be a text, not 3"),
    (lambda: fn.list_conventions(kind="serach"), "`kind` has no choice 'serach'. Did you mean 'search'?"),
], text="{}")  # fmt: skip


@pytest.mark.parametrize("name", CATALOG)
def test_help_explains_each_metric(name):
    metric = fn.Metric(name)
    text = inspect.getdoc(metric)
    record = metric.record
    for fact in (f"{name}: {record.title}", record.formula, record.range, record.source):
        assert fact in text
    for parameter in record.parameters:
        assert f"{parameter.name}" in text
    example = next(line for line in text.splitlines() if line.startswith("example")).removeprefix("example").strip()
    call = ast.parse(example).body[0].value.func.value
    assert f"fn.{record.function_name}" == ast.unparse(call.func)
    assert name in ast.unparse(call)


def test_help_and_notebooks_show_metrics_and_conventions():
    assert "DCG@k / IDCG@k" in pydoc.plain(pydoc.render_doc(fn.nDCG))
    assert "nDCG(gain=exp2)@10: normalised" in fn.Metric("nDCG", 10, gain="exp2").__doc__
    assert "A metric with its parameters and cutoff." in fn.Metric.__doc__
    assert "A metric with its parameters and cutoff." in pydoc.plain(pydoc.render_doc(fn.Metric))
    html = (fn.nDCG @ 10)._repr_html_()
    assert "nDCG@10: normalised discounted cumulative gain" in html
    assert "DCG@k / IDCG@k" in html
    assert "&quot;nDCG@10&quot;" in html
    convention = fn.conventions["lightgbm"]._repr_html_()
    assert convention.count("<tr>") > 24
    assert "lightgbm: LightGBM" in convention
    assert ">gain</th>" in convention


def test_choices_are_those_of_the_registries():
    from fastndcg.compat.ranx import comparison, data
    from fastndcg.inputs import duplicates
    from fastndcg.inputs.formats import FORMATS_BY_NAME
    from fastndcg.inputs.writers import WRITERS
    from fastndcg.integrations.sklearn import RESPONSE_METHODS
    from fastndcg.metrics.families import AGGREGATES
    from fastndcg.named_conventions import CHOICES
    from fastndcg.recommenders.item_selection import MISSING_TRUTH
    from fastndcg.reports.plots import KINDS as PLOTS
    from fastndcg.statistics import settings

    expected = {
        "ConventionName": conventions, "TestName": settings.TESTS, "IntervalMethod": settings.INTERVALS,
        "GateInterval": settings.GATE_INTERVALS, "Correction": settings.CORRECTIONS,
        "Alternative": settings.ALTERNATIVES, "TiePolicy": CHOICES["ties"], "Format": FORMATS_BY_NAME,
        "WrittenFormat": WRITERS, "AggregateName": AGGREGATES, "PlotKind": PLOTS, "MissingTruth": MISSING_TRUTH,
        "DuplicateChoice": duplicates.CHOICES, "DuplicateRanks": duplicates.RANKS, "RanxKind": data.KINDS,
        "RanxTest": comparison.TESTS, "ResponseMethod": RESPONSE_METHODS,
    }  # fmt: skip
    for name, registry in expected.items():
        assert get_args(getattr(choices, name)) == tuple(registry), name
    assert set(get_args(choices.MetricFamily)) == {*FAMILIES, "custom"}
    assert set(get_args(choices.ConventionKind)) == set(KINDS.values())


def test_mypy_checks_choices(tmp_path):
    pytest.importorskip("mypy")
    module = tmp_path / "calls.py"
    module.write_text(
        "import fastndcg as fn\n"
        "fn.compare(None, {}, test='t', interval='percentile', correction='none', convention='default(ties=input)')\n"
        "fn.compare(None, {}, test='tt')\n"
        "fn.Run('x', format='trek')\n"
        "fn.list_metrics(family='gians')\n"
        "reveal_type(fn.Run('x').to_json())\n"
        "fn.Scores(None, missing_truth='skip')\n"
        "fn.Scores(None, missing_truth='skipped')\n"
        "fn.Recommendations([[1]], duplicates='twice')\n"
        "from fastndcg.compat import ranx\n"
        "ranx.compare(ranx.Qrels(), [ranx.Run()], 'map', stat_test='students')\n"
        "from fastndcg.integrations.sklearn import scorer\n"
        "scorer('ndcg', response_method='predict_all')\n"
    )
    root = Path(fn.__file__).parents[1]  # mypy finds an installed package itself, and refuses its folder as a path
    path = {} if root.name == "site-packages" else {"MYPYPATH": str(root)}
    (tmp_path / "mypy.ini").write_text("[mypy]\nfollow_imports=skip\n[mypy-fastndcg.*]\nfollow_imports=silent\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--no-incremental", str(module)],
        capture_output=True, text=True, cwd=tmp_path, env=os.environ | path, check=False,
    )  # fmt: skip
    errors = [line.split(":")[1] for line in done.stdout.splitlines() if "error:" in line]
    assert errors == ["3", "4", "5", "8", "9", "11", "13"], done.stdout
    assert 'Revealed type is "str"' in done.stdout.replace("builtins.", "")


COMPLETE = """
import os, sys
from fastndcg.cli import main
for line in sys.stdin.read().splitlines():
    if not os.fork():  # completion ends its process
        os.environ |= {"COMP_LINE": line, "COMP_POINT": str(len(line.encode()))}
        os.dup2(1, 8)
        main()
    os.wait()
    os.write(1, b"\\n")
"""
COMPLETED = {
    "fastndcg ev": ["evaluate", "evaluate-pairs"], "fastndcg evaluate -m bpr": ["bpref"],
    "fastndcg evaluate -m ndcg@10,bpr": ["ndcg@10,bpref"], "fastndcg evaluate --convention lightg": ["lightgbm"],
    "fastndcg conventions lightg": ["lightgbm"], "fastndcg metrics covera": ["coverage"],
    "fastndcg compare --correction bo": ["bonferroni"], "fastndcg fuse --method wbo": ["wborda"],
    "fastndcg tune-fusion --method 'wsum(norm=z": ["wsum(norm=z_score)"],
    "fastndcg fuse --fusion-convention wea": ["weaviate"],
}  # fmt: skip


@pytest.mark.skipif(os.name == "nt", reason="argcomplete is for POSIX shells")
def test_shells_complete_commands_metrics_and_conventions():
    pytest.importorskip("argcomplete")
    environment = os.environ | {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\013", "COMP_TYPE": "9", "_ARGCOMPLETE_SUPPRESS_SPACE": "1",
    }  # fmt: skip
    done = subprocess.run([sys.executable, "-c", COMPLETE], input="\n".join(COMPLETED), env=environment, check=True,
                          stdout=subprocess.PIPE, text=True)  # fmt: skip
    found = [[word.strip() for word in line.split("\013") if word] for line in done.stdout.split("\n")[:-1]]
    assert dict(zip(COMPLETED, found, strict=True)) == COMPLETED


def test_completion_is_for_shells_only(monkeypatch):
    monkeypatch.delenv(parser.REQUESTED, raising=False)
    monkeypatch.setattr(parser, "optional_import", pytest.fail)
    parser.complete(None)
    assert parser.find_completions("metrics", "AP,bpr") == ["AP,bpref"]


def test_command_line_without_command_prints_help(shown):
    """The help is what a newcomer wants, so that it is no wrong use. It says how to set up completion."""
    out = shown()
    assert out.startswith("usage: fastndcg")
    assert "register-python-argcomplete fastndcg" in out


def test_no_module_is_called_like_a_public_name():
    """`import fastndcg.name` never puts a module in the place of a function: only `reference` is a module itself."""
    modules = {module.name for module in pkgutil.iter_modules(fn.__path__)}
    assert modules & set(fn.__all__) == {"reference"}
    wrong = {name for name in fn.__all__ if inspect.ismodule(getattr(fn, name))}
    assert wrong == {"reference"}


@pytest.mark.parametrize("path", sorted(Path(__file__).parent.glob("*/texts.txt")), ids=lambda path: path.parent.name)
def test_texts_are_those_of_the_file(path):
    names = {"fn": fn, "np": np} | vars(system_values)
    assert not doctest.testfile(str(path), module_relative=False, globs=names, encoding="utf-8").failed
