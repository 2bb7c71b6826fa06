"""The pages for contributors name files, packages and commands that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
PATH = re.compile(r"`((?:fastndcg|tests|scripts|docs|benchmarks|\.ci)/[^`\s]*)`")
LINK = re.compile(r"\]\(([^)#:]+)\)")
QUESTION = re.compile(r"^\d+\. \*\*Where .*?(?=^\d+\. |^From )", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_files_that_exist(page):
    """Every path in back-ticks and every link exists. `<family>` and `*` match any name."""
    text = page.read_text(encoding="utf-8")
    paths = [re.sub(r"<\w+>", "*", name) for name in PATH.findall(text)]
    missing = [name for name in paths if not any(ROOT.glob(name.rstrip("/")))]
    missing += [name for name in LINK.findall(text) if not (page.parent / name).exists()]
    assert missing == []


def test_ten_questions_are_answered_by_files():
    """Each of the ten answers names a module of the package."""
    answers = QUESTION.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert len(answers) == 10
    for answer in answers:
        assert any((ROOT / name).is_file() for name in PATH.findall(answer)), answer


def test_packages_in_the_map_are_all_packages():
    """The table of packages has every package of fastndcg except the demo's data."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "fastndcg").glob("*/__init__.py")}
    assert packages == {name.split("/")[1] for name in PATH.findall(text) if re.fullmatch(r"fastndcg/\w+/", name)}
