"""Examples of Markdown pages: Python sessions, and commands of the command line with their output."""

import contextlib
import doctest
import io
import re
import shlex
from pathlib import Path
from typing import NamedTuple

from needed_packages import find_missing
from spark_sessions import start_session

from fastndcg.cli import main

FENCE = re.compile(
    r"(?:<!-- needs (?P<needs>[\w ]+) -->\n)?^```(?P<kind>pycon|console)\n(?P<body>.*?)^```", re.DOTALL | re.MULTILINE
)
QRELS = "q1 0 d1 2\nq1 0 d2 0\nq1 0 d3 1\nq2 0 d1 1\nq2 0 d4 3\n"
RUN = "q1 Q0 d2 1 0.9 x\nq1 Q0 d1 2 0.8 x\nq1 Q0 d3 3 0.7 x\nq2 Q0 d4 1 0.6 x\nq2 Q0 d5 2 0.5 x\n"


class Block(NamedTuple):
    """An example: a Python session (pycon) or commands (console), with the packages that it needs."""

    kind: str
    body: str
    needs: tuple[str, ...]

    def can_run(self):
        return not any(map(find_missing, self.needs))


def read_blocks(page):
    found = FENCE.finditer(page.read_text(encoding="utf-8"))
    return [Block(block["kind"], block["body"], tuple((block["needs"] or "").split())) for block in found]


def write_files(folder):
    (folder / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (folder / "run.txt").write_text(RUN, encoding="utf-8")


def check_blocks(page, blocks):
    """Run examples one after the other, and compare what they print."""
    names = {}
    if any("pyspark" in block.needs for block in blocks):
        start_session()  # with this Python in its tasks
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for number, block in enumerate(blocks):
        if block.kind == "console":
            expected = [line.rstrip() for line in block.body.splitlines()]
            assert [line.rstrip() for line in run_commands(block.body)] == expected
            continue
        test = doctest.DocTestParser().get_doctest(block.body, names, f"{Path(page).name}[{number}]", str(page), 0)
        assert runner.run(test, clear_globs=False).failed == 0
        names = test.globs


def run_commands(body):
    """Run the commands of a console block, and return the block with what they print."""
    shown = []
    for line in body.splitlines():
        if line.startswith("$ "):
            shown.append(line)
            program, *arguments = shlex.split(line[2:])
            assert program == "fastndcg", line
            printed = io.StringIO()
            with (
                contextlib.redirect_stdout(printed),
                contextlib.redirect_stderr(printed),
                contextlib.suppress(SystemExit),
            ):
                main(arguments)
            shown += printed.getvalue().splitlines()
    return shown
