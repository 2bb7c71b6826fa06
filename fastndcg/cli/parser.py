"""The parser of the command line, made from the tables of commands and options, and completion in shells."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn, get_args

from fastndcg import __version__
from fastndcg.cli import output
from fastndcg.cli.commands import COMMANDS, Command
from fastndcg.cli.options import OPTIONS, SUFFIXES, read_columns
from fastndcg.errors import (
    InvalidInputError,
    MissingPackageError,
    join_names,
    shorten,
    suggest_name,
)
from fastndcg.metrics.metric import is_metric
from fastndcg.runtime.imports import load, optional_import

WRONG_USE = 2  # argparse's own exit code for wrong use
REQUESTED = "_ARGCOMPLETE"  # argcomplete's shell function sets this environment variable
SET_UP = """\
shell completion:
  install argcomplete, then add to ~/.bashrc or ~/.zshrc:
  eval "$(register-python-argcomplete fastndcg)"
"""
REGISTRIES = {  # each with the module and the name of the registry
    "every metric": ("fastndcg.metrics.families", "CATALOG"),
    "conventions": ("fastndcg.named_conventions", "conventions"),
    "fusion methods": ("fastndcg.fusion.catalog", "FUSION_METHODS"),
    "normalisations": ("fastndcg.fusion.catalog", "NORMALIZATIONS"),
    "fusion conventions": ("fastndcg.fusion.conventions", "fusion_conventions"),
}
OTHER_WORDS = {  # for what people write in the place of a command
    "help": " Write fastndcg --help, or fastndcg COMMAND --help.",
    "trec_eval": " Write fastndcg evaluate QRELS RUN --convention trec_eval --format trec.",
}


def _split(texts: dict[str, str]) -> dict[str, str]:
    """Return the text of each option, from texts of several options with blanks between them."""
    return {flag: text for flags, text in texts.items() for flag in flags.split()}


# What to write for options that Python's arguments, other programs or other commands have: for all commands, and before
# that for some. A value in braces gives way to that of the user.
REPORT = "A report compares runs: fastndcg compare QRELS RUN RUN --html FILE"
OTHER_FLAGS = _split({
    "-k --k --cutoff --top-k --top_k": "Write the cutoff behind the metric: -m ndcg@{10}",
    "--floor --floors": "A floor is --fail-under METRIC=X",
    "--floor-by": "What must reach a floor is --fail-by",
    "--html": REPORT,
    "--trec --trec-eval --trec_eval": "trec_eval's lines are evaluate --format trec",
    "--norm --normalization --normalize":
        "The normalisation belongs to the method of a fusion: --method 'wsum(norm={min_max})'",
})  # fmt: skip
TUNE_FUSION = _split(
    {
        "-k --k --rrf-k --rrf_k": "The k of rrf belongs to the method: --method 'rrf(k={60})'",
        "--queries": "Queries that a run lacks belong to the convention: --fusion-convention 'default(queries=raise)'",
    }
)
FUSE = TUNE_FUSION | _split(
    {
        "--alpha": "The weights of the runs are --weights W,W",
        "--top-k --top_k --limit": "The first documents of each query are --top {10}",
        "--trec --trec-eval --trec_eval": "TREC's lines are written without an option",
    }
)
FLAGS_OF_COMMANDS = {"fuse": FUSE, "tune-fusion": TUNE_FUSION}
FLAG = re.compile(r"(--\w[\w-]*|-\w)=?(\S*)")
VALUE = re.compile(r"\{(\w+)\}")


class Parser(argparse.ArgumentParser):
    """Parser that reports an error in one line, with a suggestion for a misspelt option."""

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments, or report the first one that is not known."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(arguments, "parser", self)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{command.explain_unknown(unknown[0], arguments)}")
        return arguments

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments and unknown ones. Report an option of another program before what else is wrong."""
        if self._subparsers is None and REQUESTED not in os.environ:
            self._refuse_other_flags(args or [])
        return super().parse_known_args(args, namespace)

    def _refuse_other_flags(self, words: Sequence[str]) -> None:
        """Report the first option that another program has, and this command has not."""
        hints = OTHER_FLAGS | FLAGS_OF_COMMANDS.get(self.prog.split()[-1], {})
        known = [flag for action in self._actions for flag in action.option_strings]
        for place, word in enumerate(words):
            parts = FLAG.fullmatch(word)
            if word == "--":
                return
            if parts and parts[1] in hints and not any(flag.startswith(parts[1]) for flag in known):
                value = parts[2] or "".join(words[place + 1 : place + 2])
                self.error(f"unrecognized arguments: {word}. {put_value(hints[parts[1]], value)}")

    def explain_unknown(self, word: str, arguments: argparse.Namespace) -> str:
        """Return a suggestion for an argument that is not known, or an empty text."""
        flag, equals, _ = word.partition("=")
        if flag.startswith("--") and is_metric(flag[2:]):
            return f". Metrics are named behind -m: -m {flag[2:]}"
        if flag.startswith("-"):
            flags = [flag for action in self._actions for flag in action.option_strings]
            return f".{suggest_name(flag, flags)}" if suggest_name(flag, flags) else ""
        metrics = getattr(arguments, "metrics", None)
        if metrics and not equals and is_metric(word):
            return f". For several metrics, write commas between them: -m {','.join(metrics)},{word}"
        return ""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        output.print_error(message)
        sys.exit(WRONG_USE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error for an unknown choice that suggests the nearest known one."""
        if action.choices is not None and value not in action.choices:
            hint = suggest_name(value, action.choices) or OTHER_WORDS.get(value, "")
            if action.dest == "command" and os.path.isfile(value):
                hint = f" It is a file: name a command first, such as fastndcg evaluate {value}."
            hint = hint or f" Choose one of {join_names(list(action.choices))}."
            raise argparse.ArgumentError(action, f"invalid choice: {shorten(value)}.{hint}")


class _Formatter(argparse.RawDescriptionHelpFormatter):
    """Fills paragraphs, and what rows such as "  curve  a metric" say, to the terminal. Examples keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = []
        for line in re.sub(r"(?m)^(\S.*)\n(?=\S)", r"\1 ", text).splitlines():
            term = re.match(r" +\S+ {2,}", line)
            is_example = line.startswith(" ") and term is None
            hanging = " " * len(term[0]) if term else ""
            lines.append(line if is_example else textwrap.fill(line, width, subsequent_indent=hanging))
        return "\n".join([*lines, ""])


def put_value(hint: str, value: str) -> str:
    """
    Return a hint with the value of the user, if it is like the usual one in braces.

    >>> put_value("-m ndcg@{10}", "5"), put_value("-m ndcg@{10}", "bm25.run"), put_value("norm={max}", "min-max")
    ('-m ndcg@5', '-m ndcg@10', 'norm=min_max')
    """
    value = value.replace("-", "_")
    usual = VALUE.search(hint)
    is_alike = usual is not None and (value.isdigit() if usual[1].isdigit() else value.isidentifier())
    return VALUE.sub(value if is_alike else r"\1", hint)


def make_parser(argv: Sequence[str], epilog: str) -> Parser:
    """Return the parser of a command that the arguments begin with, else that of all commands."""
    parser = Parser(
        prog="fastndcg",
        description="Compute ranking metrics such as nDCG, average precision, reciprocal rank, precision and recall.",
        epilog=epilog,
        formatter_class=_Formatter,
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
    named = argv[0].replace("_", "-") if argv and REQUESTED not in os.environ else ""
    for name in [named] if named in COMMANDS else COMMANDS:  # one: all of them take some milliseconds
        _add_command(commands, name, COMMANDS[name], "--help-all" in argv or REQUESTED in os.environ)
    return parser


def _add_command(commands: Any, name: str, command: Command, is_whole: bool) -> None:
    """Add the parser of a command, with its options by group, and the help of those for experts if it is whole."""
    parser = commands.add_parser(
        name,
        help=command.summary,
        usage=f"fastndcg {name} {command.positionals} [OPTIONS]",
        description=command.description,
        epilog=f"examples:\n{command.examples}",
        formatter_class=_Formatter,
    )
    parser.set_defaults(parser=parser)
    if command.experts:
        text = f"show all options, also those for {command.experts}"
        parser.add_argument("--help-all", action="help", help=text)
    for title, names in command.groups.items():
        _add_options(parser.add_argument_group(title) if title else parser, names, command)
    for title, names in command.expert_groups.items():
        _add_options(parser.add_argument_group(title), names, command, is_hidden=not is_whole)


def _add_options(group: Any, names: str, command: Command, is_hidden: bool = False) -> None:
    """Add options that a text names, with commas between them. One of those with | between them can be given."""
    for part in names.split(","):
        alternatives = part.strip().removesuffix("!").split("|")
        place = group
        if len(alternatives) > 1:
            place = group.add_mutually_exclusive_group(required=part.endswith("!"))
        for name in alternatives:
            if name == "format":
                what = "format of the picture" if command.draws else "output format"
                usual = "" if command.draws else f", and else {command.formats[0]}"
                place.add_argument(
                    "--format", choices=command.formats, help=f"the {what} (default: by the suffix of the file{usual})"
                )
                continue
            option = OPTIONS[name]
            text = argparse.SUPPRESS if is_hidden else option.text
            metavar = {} if option.metavar is None else {"metavar": option.metavar}
            action = place.add_argument(*option.flags.split(), help=text, **metavar, **option.settings)
            if option.completer is not None:
                action.completer = lambda prefix, kind=option.completer, **_: find_completions(kind, prefix)


def finish(arguments: argparse.Namespace) -> None:
    """Read ``--columns``, and set the output format: the given one, else that of the suffix of the output."""
    if hasattr(arguments, "columns"):
        arguments.columns = read_columns(arguments.columns)
    if getattr(arguments, "json", False):
        if arguments.format not in (None, "json"):
            raise InvalidInputError(f"--json and --format {arguments.format} are two formats. Leave one out.")
        arguments.format = "json"
    command = COMMANDS[arguments.command]
    if command.formats and not command.writes_run and arguments.format is None:  # writers of runs see more suffixes
        suffix = os.path.splitext(arguments.output or "")[1].lower()
        form = SUFFIXES.get(suffix, None if command.draws else command.formats[0])
        if form is not None and form not in command.formats:
            hint = f". {REPORT}" * (form == "html")
            raise InvalidInputError(f"-o {shorten(arguments.output)}: {arguments.command} writes no {form}{hint}")
        arguments.format = form


def complete(parser: argparse.ArgumentParser) -> None:
    """Print completions and exit if a shell has requested them. Do nothing without argcomplete."""
    if REQUESTED in os.environ:
        with contextlib.suppress(MissingPackageError):
            optional_import("argcomplete", "shell completion", "completion").autocomplete(parser)


def find_completions(kind: Any, text: str) -> list[str]:
    """
    Return the names that continue a text.

    Parameters
    ----------
    kind : str or type
        "metrics", of which the names before the last comma stay, a key of `REGISTRIES`, or a type of choices. Behind
        ``norm=`` of a fusion method stand normalisations.
    text : str
        What has been written so far.

    Examples
    --------
    >>> find_completions("metrics", "ndcg@10,bpr"), find_completions("conventions", "trec_eval_9")
    (['ndcg@10,bpref'], ['trec_eval_9', 'trec_eval_9_c'])
    >>> find_completions("fusion methods", "rr"), find_completions("fusion methods", "wsum(norm=z")
    (['rrf'], ['wsum(norm=z_score)'])
    """
    before, mark, begun, end = "", "", text, ""
    if kind == "metrics":
        before, mark, begun = text.rpartition(",")
    elif kind == "fusion methods" and "norm=" in text:
        kind, end = "normalisations", ")"
        before, mark, begun = text.rpartition("norm=")
    return [f"{before}{mark}{name}{end}" for name in _list_names(kind) if name.startswith(begun)]


def _list_names(kind: Any) -> Iterable[str]:
    if kind == "metrics":
        records = load("fastndcg.metrics.families").records_of("evaluate")
        return dict.fromkeys(name for record in records for name in (record.name, *record.aliases))
    if kind in REGISTRIES:
        module, registry = REGISTRIES[kind]
        names: Iterable[str] = getattr(load(module), registry)
        return names
    return get_args(kind)
