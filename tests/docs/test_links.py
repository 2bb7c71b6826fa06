"""Links of the repository's pages lead to files and headings of the repository, as on a code host."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(```+|~~~+|:::+).*?^\1\s*$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]: (\S+)|(?:href|src)=\"([^\"]+)\"", re.MULTILINE)
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


@pytest.fixture(scope="module")
def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode or not listed.stdout:
        pytest.skip("the sources are no clone")
    return set(listed.stdout.splitlines())


def list_anchors(text):
    """Return the anchors that a code host makes of the headings of a page."""
    anchors = []
    for heading in HEADING.findall(BLOCK.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        anchor = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        anchors.append(anchor + f"-{anchors.count(anchor)}" * (anchor in anchors))
    return anchors


def find_dead(page, text, tracked, read):
    """Return the relative links of a page whose file, or heading, the repository lacks. `?NAME` is of the site."""
    folders = {str(folder) for path in tracked for folder in Path(path).parents}
    dead = []
    for link in ("".join(groups) for groups in LINK.findall(BLOCK.sub("", text))):
        path, query, anchor = re.fullmatch(r"([^?#]*)(\?[^#]*)?#?(.*)", link).groups()
        if re.match(r"[a-z]+:", link):
            continue
        target = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
        has_heading = not anchor or query or not target.endswith(".md") or anchor in list_anchors(read(target))
        if target not in tracked | folders or not has_heading or (query and not path.endswith("index.md")):
            dead.append(link)
    return dead


def test_links_of_the_repository_are_alive(tracked):
    def read(page):
        return (ROOT / page).read_text(encoding="utf-8") if page in tracked else ""

    pages = [page for page in sorted(tracked) if page.endswith((".md", ".ipynb")) and (ROOT / page).exists()]
    assert len(pages) > 50
    assert [(page, dead) for page in pages if (dead := find_dead(page, read(page), tracked, read))] == []


@pytest.mark.parametrize("link", ["b.md", "../a.md", "#none", "index.md#none", "a.md?b", "docs"])
def test_dead_links_are_found(link):
    texts = {"docs/a.md": "# A b\n", "docs/index.md": "## C"}
    alive = "[x](#a-b) [x](index.md#c) [x](index.md?b#d) [x](../docs) [x](https://x.org)\n```\n[x](none.md)\n```\n"
    assert find_dead("docs/a.md", f"# A b\n{alive}[x]({link})", set(texts), texts.__getitem__) == [link]
