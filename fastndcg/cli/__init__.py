"""
The command line: ``fastndcg evaluate``, ``compare``, ``fuse``, ``plot``, ``explain``, ``conventions`` and others.

Each subcommand is a module of this package with two functions. `add_parser` declares the options, `run` does the work.

The exit codes are the constants `SUCCESS`, `WRONG_USE` and `INTERRUPTED`. ``fastndcg --help`` lists them.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from fastndcg import __version__
from fastndcg.cli import output, plugins
from fastndcg.cli.completion import SET_UP, complete
from fastndcg.cli.options import choose_format
from fastndcg.cli.remedies import translate_remedies
from fastndcg.errors import FastndcgError, join_names, shorten, suggest_name
from fastndcg.runtime.escapes import MOST_NOTED, show_name
from fastndcg.runtime.lazy_import import load

COMMANDS = (  # modules of this package
    "evaluate", "compare", "gate", "plan", "audit", "fuse", "tune_fusion", "agreement", "plot", "explain", "metrics",
    "conventions", "warmup",
)  # fmt: skip

SUCCESS = 0
WRONG_USE = 2  # argparse's own exit code for wrong use
INTERRUPTED = 130  # 128 + SIGINT, which shells report for a command that Ctrl-C ended

EPILOG = f"""\
examples:
  fastndcg evaluate                      evaluate the demo data
  fastndcg evaluate QRELS RUN -m ndcg@10,map
  fastndcg COMMAND --help                show the options of one command

{SET_UP}
exit codes:
  {SUCCESS:<3}  success
  {WRONG_USE:<3}  wrong use, wrong input or a missing package; one line on standard error says what to change
  {INTERRUPTED:<3}  interrupted by Ctrl-C
  `fastndcg gate` has others for its verdicts, and a mean below --fail-under gives 1
"""


class _Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        _print_error(message)
        sys.exit(WRONG_USE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error for an unknown choice that suggests the nearest known one."""
        if action.choices is not None and value not in action.choices:
            hint = suggest_name(value, action.choices) or f" Choose one of {join_names(list(action.choices))}."
            raise argparse.ArgumentError(action, f"invalid choice: {shorten(value)}.{hint}")


def main(argv: Sequence[str] | None = None) -> int:
    """
    Run the command line.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments after the program's name. By default those of the process.

    Returns
    -------
    int
        The exit code: 0 for success, 2 for wrong use or wrong input, 130 for Ctrl-C. `gate` has others for verdicts,
        and a mean below ``--fail-under`` gives 1.

    Examples
    --------
    >>> main(["conventions", "sklearn", "sklearn"])
    sklearn and sklearn have the same choices
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # escape characters that the terminal cannot show
    try:
        parser = _make_parser(sys.argv[1:] if argv is None else argv)
        complete(parser)
        arguments = parser.parse_args(argv)
        for source in arguments.imports:
            plugins.load(source)
        if arguments.command is None:
            output.write([parser.format_help()], None)
            return SUCCESS
        choose_format(arguments)
        return arguments.run(arguments) or SUCCESS
    except SystemExit as exit_request:  # argparse exits after --help, --version and errors
        return int(exit_request.code or 0)
    except KeyboardInterrupt:
        return INTERRUPTED
    except (FastndcgError, OSError, MemoryError) as error:
        _print_error(_error_message(error))
        return WRONG_USE


def _make_parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command that the arguments begin with, else that of all commands."""
    parser = _Parser(
        prog="fastndcg",
        description="Compute ranking metrics such as nDCG, average precision, reciprocal rank, precision and recall.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"fastndcg {__version__}")
    parser.add_argument(
        "--import",
        dest="imports",
        action="append",
        default=[],
        metavar="FILE",
        help="before the command, run a Python file or import a module that registers metrics; may be repeated",
    )
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    named = argv[0].replace("-", "_") if argv and "_ARGCOMPLETE" not in os.environ else ""
    for command in [named] if named in COMMANDS else COMMANDS:  # one: the others take 20 ms to import
        load(f"{__name__}.{command}").add_parser(commands)
    return parser


def _error_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{show_name(error.filename)}: {error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory. Evaluate fewer queries at once, or use fewer threads."
    return translate_remedies(str(error))


def _print_error(message: str) -> None:
    """Print one line on standard error, unless standard error is closed."""
    if sys.stderr is not None:
        line = show_name(" ".join(message.splitlines()), MOST_NOTED)
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"fastndcg: error: {line}\n")
            sys.stderr.flush()
