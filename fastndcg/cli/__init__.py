"""
The command line: ``fastndcg evaluate``, ``compare``, ``fuse``, ``plot``, ``explain``, ``conventions`` and others.

`commands` has a table of all commands, with the options of each from the table in `options`, and the function that does
the work. `parser` makes the parsers, and `files.prepare` checks what commands have in common.

The exit codes are the constants `SUCCESS`, `WRONG_USE` and `INTERRUPTED`. ``fastndcg --help`` lists them.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import re
import runpy
import sys
import traceback
from collections.abc import Sequence
from typing import Any

from fastndcg.cli import output
from fastndcg.cli.commands import COMMANDS
from fastndcg.cli.files import find_mistake, prepare
from fastndcg.cli.parser import SET_UP, WRONG_USE, complete, finish, make_parser
from fastndcg.errors import Choice, Column, FastndcgError, InvalidInputError, Option, Words, shorten
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import load

SPELLINGS = {  # for arguments that the command line writes in another way
    "train": "--train QRELS RUN RUN",
    "weights": "--weights NAME=W,NAME=W",
}

SUCCESS = 0
INTERRUPTED = 130  # 128 + SIGINT, which shells report for a command that Ctrl-C ended; of SIGTERM, too

EPILOG = f"""\
examples:
  fastndcg evaluate                      evaluate the demo data
  fastndcg evaluate QRELS RUN -m ndcg@10,map
  fastndcg COMMAND --help                show the options of one command

{SET_UP}
exit codes:
  {SUCCESS:<3}  success
  {WRONG_USE:<3}  wrong use, wrong input or a missing package; one line on standard error says what to change
  {INTERRUPTED:<3}  interrupted by Ctrl-C or SIGTERM
  1    a mean below --fail-under; `fastndcg gate` has codes for its verdicts

FASTNDCG_DEBUG=1 prints the traceback of an error before its line.
"""


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
        The exit code: 0 for success, 2 for an error of any kind, 130 for Ctrl-C. `gate` has others for verdicts, and a
        mean below ``--fail-under`` gives 1.

    Examples
    --------
    >>> main(["conventions", "sklearn", "sklearn"])
    sklearn and sklearn have the same choices
    0
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # escape characters that the terminal cannot show
    arguments = argparse.Namespace()
    try:
        parser = make_parser(sys.argv[1:] if argv is None else argv, EPILOG)
        complete(parser)
        arguments = parser.parse_args(argv, arguments)
        for source in arguments.imports:
            load_plugin(source)
        if arguments.command is None:
            output.write([parser.format_help()], None)
            return SUCCESS
        finish(arguments)
        prepare(arguments)
        module, function = COMMANDS[arguments.command].run.split(":")
        return getattr(load(f"{__name__}.{module}"), function)(arguments) or SUCCESS
    except SystemExit as exit_request:  # argparse exits after --help, --version and errors
        return WRONG_USE if exit_request.code else SUCCESS
    except KeyboardInterrupt:
        output.print_line("fastndcg: interrupted")
        return INTERRUPTED
    except BaseException as error:  # not `Exception`, as a panic of a package in Rust is none
        if os.environ.get("FASTNDCG_DEBUG", "0") not in ("", "0"):
            output.print_line(traceback.format_exc())
        output.print_error(_find_mistake(arguments, error) or _error_message(error))
        return WRONG_USE


def load_plugin(source: str) -> None:
    """
    Run a Python file that registers metrics, or import a module by its name.

    Parameters
    ----------
    source : str
        A path that ends in ``.py`` or has a folder, or else the name of a module.

    Raises
    ------
    InvalidInputError
        If the file does not exist, raises an exception, or ends the process.
    """
    is_file = source.endswith(".py") or os.sep in source
    if is_file and not os.path.isfile(source):
        raise InvalidInputError(f"--import: the file {source} does not exist. Check the path.")
    try:
        if is_file:
            runpy.run_path(source, run_name="fastndcg_metrics")
        else:
            importlib.import_module(source)
    except SystemExit as exit_request:
        raise InvalidInputError(
            f"--import {source}: the file must not end the process, but it calls "
            f"sys.exit({shorten(exit_request.code)})."
            ' Put that call under `if __name__ == "__main__":`.'
        ) from None
    except Exception as error:
        raise InvalidInputError(f"--import {source}: {type(error).__name__}: {show_name(error)}") from error


def _find_mistake(arguments: argparse.Namespace, error: BaseException) -> str:
    """Return what is wrong with the files of a command that has failed, or an empty text if that is not known."""
    with contextlib.suppress(Exception):  # the error itself is reported then
        return "" if isinstance(error, MemoryError) else find_mistake(arguments)
    return ""


def _error_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{show_name(error.filename)}: {error.strerror}"
    if isinstance(error, MemoryError):
        return str(error) or "not enough memory. Evaluate fewer queries at once, or use fewer threads."
    if isinstance(error, FastndcgError):
        return str(error.reword(_say))
    if isinstance(error, OSError):
        return str(error)
    return (
        f"this is a fault in fastndcg, not in your input: {type(error).__name__}: {error}. Report it with the "
        "traceback that FASTNDCG_DEBUG=1 prints."
    )


def _say(part: Any) -> Any:
    """Return a part of an error in the words of the command line."""
    match part:
        case Words(_, shell):
            return shell
        case Column(role):
            return f"--columns {role}=NAME"
        case Choice(field, values):
            return "--convention " + " or ".join(f"'NAME({field}={value})'" for value in values)
        case Option(name, value):
            return SPELLINGS.get(name) or f"--{name.replace('_', '-')} {_unquote(value)}"
    return part


def _unquote(value: str) -> str:
    """Return a value as a shell takes it: without quotes where it needs none."""
    bare = value.strip("'")
    return bare if re.fullmatch(r"[\w.-]+", bare) else value
