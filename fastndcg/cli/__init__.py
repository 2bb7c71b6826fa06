"""The command line: ``fastndcg evaluate``, ``compare``, ``plot``, ``explain``, ``conventions`` and others."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence
from typing import NoReturn

from fastndcg import __version__
from fastndcg.cli import agreeing, choosing, comparing, evaluating, explaining, importing, listing, plotting, warming
from fastndcg.errors import FastndcgError

WRONG = 2  # wrong use or wrong input
INTERRUPTED = 130  # what a shell reports for a command that Ctrl-C ended


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(WRONG, f"fastndcg: error: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and give its exit code: 0, 2 for wrong use or wrong input, 130 for Ctrl-C."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal that lacks a character still gets the rest
    try:
        arguments = _parser().parse_args(argv)
        for source in arguments.imports:
            importing.load(source)
        arguments.run(arguments)
    except SystemExit as done:  # argparse has said what it had to say
        return int(done.code or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (FastndcgError, OSError, MemoryError) as error:
        sys.stderr.write(f"fastndcg: error: {_one_line(error)}\n")
        return WRONG
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="fastndcg", description="Ranking metrics: nDCG, AP, RR, precision, recall and relatives.")
    parser.add_argument("--version", action="version", version=f"fastndcg {__version__}")
    parser.add_argument(
        "--import", dest="imports", action="append", default=[], metavar="FILE",
        help="run a Python file (or import a module) that registers metrics, repeatable",
    )  # fmt: skip
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (evaluating, comparing, agreeing, plotting, explaining, listing, choosing, warming):
        command.add_parser(commands)
    return parser


def _one_line(error: BaseException) -> str:
    text = str(error)
    if isinstance(error, OSError) and error.filename is not None:
        text = f"{error.filename}: {error.strerror}"
    elif isinstance(error, MemoryError):
        text = text or "there is not enough memory"
    return " ".join(text.splitlines())
