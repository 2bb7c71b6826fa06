"""The examples of the README run. `scripts/check` compares its counts and its demo with what they should be."""

import re
import tomllib
from pathlib import Path

from page_examples import check_blocks, read_blocks

import fastndcg as fn
from fastndcg.cli import COMMANDS

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PROJECT_FILE = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PROJECT_FILE["project"]


def test_readme_examples(monkeypatch):
    monkeypatch.chdir(ROOT)
    blocks = read_blocks(ROOT / "README.md")
    assert README.index("```pycon") < 700
    assert blocks
    check_blocks(ROOT / "README.md", blocks)


def test_readme_is_short_and_up_to_date():
    lines = README.splitlines()
    assert len(lines) <= 200
    assert [line for line in lines if len(line) > 120 and not line.startswith("|")] == []
    sentence = re.search(r"The other commands: [^.]*\.", README)[0]
    assert re.findall(r"`([\w-]+)`", sentence) == [command for command in COMMANDS if command != "evaluate"]
    assert f"## [{fn.__version__}]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_every_extra_is_in_the_table():
    page = (ROOT / "docs" / "start" / "install.md").read_text(encoding="utf-8")
    table = re.search(r"\| extra \|.*?\n\n", page, re.DOTALL)[0]
    first_cells = "".join(row.split("|")[1] for row in table.strip().splitlines())
    assert set(re.findall(r"`(\w+)`", first_cells)) == set(PROJECT["optional-dependencies"])


def test_readme_of_a_package_index():
    """A package index gets the README without pictures and links that only a clone has."""
    hook = PROJECT_FILE["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]
    text = README
    for substitution in hook["substitutions"]:
        text = re.sub(substitution["pattern"], substitution["replacement"], text)
    assert re.findall(r"!\[|\]\((?!http)", text) == []
    assert "inputs (`docs/guides/inputs.md`)" in text
