"""Every shell block of the documentation is run by bash, and each command of fastndcg in a text is one."""

import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
from page_examples import QRELS, RUN, read_blocks

from fastndcg import cli
from scripts.site import is_generated

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
            flags = {word.partition("=")[0] for word in arguments if re.match("--?[a-z]", word)} - {
                "--help",
                "--import",
            }
            for option in ("--help", "--help-all"):
                cli.main([*command, option])
            known = capsys.readouterr().out
            assert [flag for flag in flags if flag not in known] == [], f"{page}: {line}"
