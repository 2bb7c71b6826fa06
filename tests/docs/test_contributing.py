"""The pages for contributors name files, packages and commands that exist."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

import fastndcg as fn
from fastndcg.kernels import machine_code

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
PATH = re.compile(r"`((?:fastndcg|tests|scripts|docs|benchmarks|\.ci)/[^`\s]*)`")
LINK = re.compile(r"\]\(([^)#:]+)\)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_files_that_exist(page):
    text = page.read_text(encoding="utf-8")
    paths = [re.sub(r"<\w+>", "*", name) for name in PATH.findall(text)]
    missing = [name for name in paths if not any(ROOT.glob(name.rstrip("/")))]
    missing += [name for name in LINK.findall(text) if not (page.parent / name).exists()]
    assert missing == []


def test_packages_in_the_map_are_all_packages():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    packages = {path.parent.name for path in (ROOT / "fastndcg").glob("*/__init__.py")}
    assert packages == {name.split("/")[1] for name in PATH.findall(text) if re.fullmatch(r"fastndcg/\w+/", name)}


def test_life_of_a_call_is_the_trace():
    text = (ROOT / "docs" / "how_it_works" / "engine.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| `([\w/]+\.py)` \|", text, re.MULTILINE)
    kernels = re.findall(r"^\| `([a-z_.]+\.[a-z_]+)` \| (?!.*`)", text, re.MULTILINE)
    kernels = [name for name in kernels if not name.endswith(".py")]
    rng = np.random.default_rng(7)
    labels, scores, offsets = rng.integers(0, 4, 3000), rng.random(3000).astype("f4"), np.arange(31) * 100
    fn.ndcg(labels, scores, offsets, k=10)
    package, called, run = str(Path(fn.__file__).parent), [], []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename.startswith(package):
            called.append(frame.f_code.co_filename.removeprefix(f"{package}/"))
        if event == "c_call" and argument.__name__ in kernels:  # machine code is a builtin function
            run.append(argument.__name__)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        fn.ndcg(labels, scores, offsets, k=10)
    finally:
        sys.setprofile(before)
    if machine_code.is_switched_off():
        called = [name for name in called if not name.startswith("kernels/")]
    else:
        assert run == kernels
    assert list(dict.fromkeys(called)) == files
