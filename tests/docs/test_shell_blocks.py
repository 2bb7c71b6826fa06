"""Shell blocks of the documentation run in bash, and pages name files, packages and commands that exist."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from generated_pages import is_generated
from page_examples import QRELS, RUN, read_blocks

import fastndcg as fn
from fastndcg import cli
from fastndcg.kernels import machine_code

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PAGES += [path for path in sorted((ROOT / "docs").rglob("*.md")) if not is_generated(path)]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in PAGES if path.is_file()}
SHELL_BLOCK = re.compile(r"^```(?:bash|sh|shell)\n(.*?)^```", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(fastndcg [^`…]*)`")
BLOCKS = [(page, block) for page, text in TEXTS.items() for block in SHELL_BLOCK.findall(text)]
STUBS = ("fastndcg", "pip", "python", "pytest", "git", "curl", "trec_eval", "pre-commit")
STUB = '#!/bin/bash\nprintf "%s\\0" "$(basename "$0")" "$@" >> "$SHELL_LOG"; printf "\\n" >> "$SHELL_LOG"\n'
SLOW = "warmup"  # builds all kernels


@pytest.fixture
def shell(tmp_path, monkeypatch):
    """Return a function that runs text by bash with stubs for all programs, and returns the words of each command."""
    folders = {"bin": STUBS, ".venv/bin": ["pip", "pytest", "python"]}
    folders |= {"scripts": [path.name for path in (ROOT / "scripts").iterdir()], ".ci": ["run"]}
    for folder, names in folders.items():
        (tmp_path / folder).mkdir(parents=True)
        for name in names:
            (tmp_path / folder / name).write_text(STUB)
            (tmp_path / folder / name).chmod(0o755)
    for program in ("bash", "basename", "diff"):
        os.symlink(shutil.which(program), tmp_path / "bin" / program)
    for name in ("pointwise.run", "lambdarank.run", "run.txt", "new.run", "old.run"):
        (tmp_path / name).write_text(RUN.replace(" x\n", f" {name}\n"))
    (tmp_path / "qrels.txt").write_text(QRELS)
    (tmp_path / "my_metrics.py").write_text(
        "import fastndcg as fn\n"
        "def early(labels, above, ties, ideal, n_relevant, n_documents, k):\n    return 0.5\n"
        "fn.register(early, name='Early', title='t', formula='f', range='0 to 1', source='s')\n"
    )
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"

    def run(text):
        log.write_text("")
        environment = {"PATH": f"{tmp_path}/bin", "SHELL_LOG": str(log), "HOME": str(tmp_path)}
        done = subprocess.run(
            [shutil.which("bash"), "-euc", text], env=environment, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, ""), text
        return [line.rstrip("\0").split("\0") for line in log.read_text().splitlines()]

    return run


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[f"{page}-{place}" for place, (page, _) in enumerate(BLOCKS)])
def test_shell_block_runs_in_bash(page, block, shell, capsys):
    commands = shell(block)
    assert commands
    for program, *arguments in commands:
        if program == "fastndcg" and SLOW not in arguments:
            assert cli.main(arguments) == 0, capsys.readouterr().err
        for word in arguments if program in ("pytest", "python") else ():
            if re.match(r"(tests|benchmarks|scripts)/", word):
                assert (ROOT / word.partition("::")[0]).exists(), f"{page}: {word}"


def test_commands_with_their_output_are_words_of_bash(shell):
    lines = [
        line[2:]
        for path in PAGES
        for block in read_blocks(path)
        for line in block.body.splitlines()
        if block.kind == "console" and line.startswith("$ ")
    ]
    assert len(lines) > 15
    assert shell("\n".join(lines)) == [shlex.split(line) for line in lines]


def test_commands_in_sentences_are_understood(shell, capsys):
    commands = {line: page for page, text in TEXTS.items() for line in INLINE.findall(" ".join(text.split()))}
    commands = {line: page for line, page in commands.items() if "..." not in line and "[" not in line}
    assert len(commands) > 20
    for line, page in commands.items():
        for _, *arguments in shell(line):
            command = [word for word in arguments if word in cli.COMMANDS][:1]
            flags = {word.partition("=")[0] for word in arguments if re.match("--?[a-z]", word)}
            flags -= {"--help", "--import"}
            for option in ("--help", "--help-all"):
                cli.main([*command, option])
            known = capsys.readouterr().out
            assert [flag for flag in flags if flag not in known] == [], f"{page}: {line}"


NAMING = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs" / "contributing").glob("*.md"))]
PATH = re.compile(r"`((?:fastndcg|tests|scripts|docs|benchmarks|\.ci)/[^`\s]*)`")


@pytest.mark.parametrize("page", NAMING, ids=lambda page: page.name)
def test_pages_name_files_that_exist(page):
    text = page.read_text(encoding="utf-8")
    paths = [re.sub(r"<\w+>", "*", name) for name in PATH.findall(text)]
    missing = [name for name in paths if "_build" not in name and not any(ROOT.glob(name.rstrip("/")))]
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
