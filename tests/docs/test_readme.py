"""The examples of the README run, and the shown output is what the program prints."""

import importlib.util
import os
import re
import tomllib
from pathlib import Path

from page_examples import check_blocks, read_blocks

import fastndcg as fn
from fastndcg.cli import COMMANDS
from fastndcg.metrics.families import OTHER_RECORDS, RECORDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT_FILE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PROJECT_FILE["project"]


def script():
    """Import and return the script that fills in the README."""
    spec = importlib.util.spec_from_file_location("readme_script", ROOT / "scripts" / "readme.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_examples(monkeypatch):
    """Every example prints what the README says, in a clone."""
    monkeypatch.chdir(ROOT)
    blocks = read_blocks(ROOT / "README.md")

    assert README.index("```pycon") < 700
    assert blocks
    check_blocks(ROOT / "README.md", blocks)


def test_readme_is_short():
    """The README has at most 200 lines, of at most 120 characters outside of tables."""
    lines = README.splitlines()

    assert len(lines) <= 200
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []


def test_readme_counts():
    """The numbers of metrics and conventions are those of the package."""
    assert f"nDCG, MAP, MRR and {len(RECORDS) + len(OTHER_RECORDS) - 3} more" in README
    assert f"and {len(set(fn.conventions) - {'default', 'lightgbm'})} more names" in README


def test_readme_names_every_command():
    """The sentence about other commands has each command of the package, in the order of `fastndcg --help`."""
    sentence = re.search(r"The other commands: [^.]*\.", README)[0]

    assert re.findall(r"`([\w-]+)`", sentence) == [command for command in COMMANDS if command != "evaluate"]


def test_every_extra_is_in_the_table():
    """The table of extras on the page on installing has every extra, and no other."""
    page = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    table = re.search(r"\| extra \|.*?\n\n", page, re.DOTALL)[0]
    first_cells = "".join(row.split("|")[1] for row in table.strip().splitlines())

    assert set(re.findall(r"`(\w+)`", first_cells)) == set(PROJECT["optional-dependencies"])


def test_output_of_the_demo():
    """The output of the demo is its real output."""
    assert f"<!-- demo -->\n```text\n{script().demo_output()}```\n<!-- /demo -->" in README


def test_readme_is_up_to_date():
    """The script that writes the README would change nothing."""
    assert script().update_readme(README) == README


def test_commands_are_there():
    """The two commands are files that can be run."""
    for name in re.findall(r"^(scripts/\w+)$", README, re.MULTILINE):
        assert os.access(ROOT / name, os.X_OK)
    assert len(re.findall(r"^scripts/\w+$", README, re.MULTILINE)) == 2


def test_links_lead_somewhere():
    """Files that the README links to or names are there."""
    named = re.findall(r"\]\((?!http)([^)]+)\)|`((?:fastndcg|scripts|tests|benchmarks)/[\w./]+)`", README)
    assert len(named) > 9
    for link, name in named:
        assert (ROOT / (link or name)).exists(), link or name


def test_changelog_has_this_version():
    """The changelog has an entry for the version of the package."""
    assert f"## [{fn.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_readme_of_a_package_index():
    """A package index gets the README without pictures and links that only a clone has."""
    hook = PROJECT_FILE["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = README
    for substitution in hook["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)

    assert re.findall(r"!\[|\]\((?!http)", text) == []
    assert "inputs (`docs/guides/inputs.md`)" in text
