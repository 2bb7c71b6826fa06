"""The README: its examples run, and what it shows of the program is what the program prints."""

import doctest
import importlib.util
import os
import re
from pathlib import Path

import pytest

import fastndcg as fn
from fastndcg.cli import metrics_page
from fastndcg.cli import page as conventions_page

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 1\nq2 0 d4 3\n"
RUN = "q1 Q0 d2 1 0.9 x\nq1 Q0 d1 2 0.8 x\nq1 Q0 d3 3 0.7 x\nq2 Q0 d4 1 0.6 x\nq2 Q0 d5 2 0.5 x\n"


def script():
    """The script that fills in the README."""
    spec = importlib.util.spec_from_file_location("readme_script", ROOT / "scripts" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def examples(text):
    """The Python examples of a text, each with the package that a comment above says it needs."""
    return re.findall(r"(?:<!-- needs (\w+) -->\n)?```pycon\n(.*?)```", text, re.DOTALL)


def check(blocks):
    """Run examples one after the other, and compare what they print."""
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "README.md", "README.md", 0)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_examples(tmp_path, monkeypatch):
    """Every Python example prints what the README says."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "run.txt").write_text(RUN, encoding="utf-8")
    blocks = [block for needed, block in examples(README) if not needed]
    assert len(blocks) > 10
    check(blocks)


@pytest.mark.parametrize("package", sorted({needed for needed, _ in examples(README) if needed}))
def test_examples_inside_pipelines(package, tmp_path, monkeypatch):
    """Every example in the loop of another library does what the README says, after the data of its section."""
    pytest.importorskip(package, reason=f"{package} is not installed: pip install 'fastndcg[peers]'")
    monkeypatch.chdir(tmp_path)
    section = README[README.index("## Inside pipelines") :]
    section = section[: section.index("\n## ")]
    check([block for needed, block in examples(section) if needed in ("", package)])


def test_output_of_the_demo():
    """The output of the demo is its real output."""
    assert f"<!-- demo -->\n```text\n{script().demo_output()}```\n<!-- /demo -->" in README


PAGES = {"metrics": ("All metrics", metrics_page), "conventions": ("Why is my number different?", conventions_page)}


@pytest.mark.parametrize("name", PAGES)
def test_pages(name):
    """The pages about all metrics and about conventions are what the records say."""
    title, page = PAGES[name][0], "".join(PAGES[name][1].lines())
    assert f"<!-- {name} -->\n<details><summary>{title}</summary>\n\n{page}" in README


def test_figures():
    """The figures are those that the benchmarks saved, where they have been recorded."""
    module = script()
    if not module.PEERS.exists() and not module.TABLE.exists():
        pytest.skip("no figure has been recorded: run benchmarks/peers.py and table.py, then scripts/readme.py")
    assert module.updated(README) == README
    benchmarks = module.BENCHMARKS.read_text(encoding="utf-8")
    assert module.updated_benchmarks(benchmarks) == benchmarks


def test_commands_are_there():
    """The two commands are files that can be run."""
    for name in re.findall(r"^(scripts/\w+)$", README, re.MULTILINE):
        assert os.access(ROOT / name, os.X_OK)
    assert len(re.findall(r"^scripts/\w+$", README, re.MULTILINE)) == 2


def test_links_lead_somewhere():
    """Files that the README and the changelog link to or name are there."""
    named = re.findall(r"\]\((?!http)([^)]+)\)|`((?:fastndcg|scripts|tests|benchmarks)/[\w./]+)`", README)
    assert len(named) > 4
    for link, name in named:
        assert (ROOT / (link or name)).exists(), link or name


def test_changelog_has_this_version():
    """The changelog has an entry for the version of the package."""
    assert f"## [{fn.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
