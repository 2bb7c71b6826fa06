"""The parser of the command line, and arguments that several commands share, with one wording for each."""

from __future__ import annotations

import argparse
import contextlib
import math
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, NoReturn, get_args

from fastndcg.choices import (
    AbsentTreatment,
    DuplicateChoice,
    DuplicateRanks,
    FloorBy,
    FusedDuplicateChoice,
    MissingTruth,
    Similarity,
)
from fastndcg.cli import completion
from fastndcg.errors import InvalidInputError, UnknownMetricError, join_names, shorten, suggest_name
from fastndcg.runtime.escapes import MOST_NOTED, show_name

WRONG_USE = 2  # argparse's own exit code for wrong use

DEFAULT_METRICS = "ndcg@10,map,mrr,p@5,recall@10"
DEFAULT_METRIC = "ndcg@10"
QRELS = "relevance judgments, one per line: query iteration document label"
RUN = "a ranking, one document per line: query Q0 document rank score tag"
EMBEDDINGS = "or vectors: USERS.npy,ITEMS.npy or MODEL.safetensors"

TABLE_FORMATS = ("table", "markdown", "latex", "json", "csv")
SUFFIXES = {
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".tex": "latex",
    ".xml": "junit",
}  # and the format of such an output


class Columns(NamedTuple):
    """The names of columns by role: of the judgments, and of runs. None: usual names."""

    truth: dict[str, str] | None = None
    predictions: dict[str, str] | None = None


class Parser(argparse.ArgumentParser):
    """
    Parser that reports an error in one line, with a suggestion for a misspelt option.

    ``--help`` leaves out the options that are declared inside `expert`, which ``--help-all`` shows.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._expert_actions: list[argparse.Action] = []

    @contextlib.contextmanager
    def expert(self, title: str) -> Iterator[Any]:
        """Yield a group of options that only ``--help-all`` shows."""
        n_before = len(self._actions)
        yield self.add_argument_group(title)
        self._expert_actions += self._actions[n_before:]

    def format_help(self) -> str:
        """Return the help without the options of `expert`."""
        texts = [action.help for action in self._expert_actions]
        for action in self._expert_actions:
            action.help = argparse.SUPPRESS
        try:
            return super().format_help()
        finally:
            for action, text in zip(self._expert_actions, texts, strict=True):
                action.help = text

    def format_whole_help(self) -> str:
        """Return the help with all options."""
        return super().format_help()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the arguments, or report the first one that is not known."""
        arguments, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(arguments, "parser", self)
            self.error(f"unrecognized arguments: {' '.join(unknown)}{command.explain_unknown(unknown[0], arguments)}")
        return arguments

    def explain_unknown(self, word: str, arguments: argparse.Namespace) -> str:
        """Return a suggestion for an argument that is not known, or an empty text."""
        flag, equals, _ = word.partition("=")
        if flag.startswith("-"):
            flags = [flag for action in self._actions for flag in action.option_strings]
            return f".{suggest_name(flag, flags)}" if suggest_name(flag, flags) else ""
        metrics = getattr(arguments, "metrics", None)
        if metrics and not equals and is_metric(word):
            return f". For several metrics, write commas between them: -m {','.join(metrics)},{word}"
        return ""

    def error(self, message: str) -> NoReturn:
        """Print the message and exit."""
        print_error(message)
        sys.exit(WRONG_USE)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise an error for an unknown choice that suggests the nearest known one."""
        if action.choices is not None and value not in action.choices:
            hint = suggest_name(value, action.choices)
            if action.dest == "command" and os.path.isfile(value):
                hint = f" It is a file: name a command first, such as fastndcg evaluate {value}."
            hint = hint or f" Choose one of {join_names(list(action.choices))}."
            raise argparse.ArgumentError(action, f"invalid choice: {shorten(value)}.{hint}")


class _HelpAll(argparse.Action):
    """The option ``--help-all``."""

    def __call__(self, parser: Any, *_: Any) -> None:
        parser._print_message(parser.format_whole_help(), sys.stdout)
        parser.exit()


def print_error(message: str) -> None:
    """Print one line on standard error, unless standard error is closed."""
    print_line(f"fastndcg: error: {show_name(' '.join(message.splitlines()), MOST_NOTED)}")


def print_line(line: str) -> None:
    """Print a line on standard error, unless standard error is closed."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()


def is_metric(word: str) -> bool:
    """Return True if a word is the text of a metric."""
    from fastndcg.metrics.metric import parse_metric_list

    try:
        return bool(parse_metric_list(word))
    except (InvalidInputError, UnknownMetricError):
        return False


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    positionals: str,
    summary: str,
    description: str,
    examples: str,
) -> Any:
    """Add a command and return its parser. The description and the examples keep their line breaks."""
    parser = commands.add_parser(
        name,
        help=summary,
        usage=f"fastndcg {name} {positionals} [OPTIONS]",
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.set_defaults(parser=parser)
    return parser


def add_help_all(parser: Any, what: str) -> None:
    """Add the option ``--help-all``, which shows the options of `expert`: those for `what`."""
    parser.add_argument("--help-all", action=_HelpAll, nargs=0, help=f"show all options, also those for {what}")


def add_metrics(parser: Any, text: str) -> None:
    """Add the option ``-m``, which may be repeated."""
    action = parser.add_argument("-m", "--metrics", action="append", metavar="METRICS", help=text)
    completion.set_completer(action, completion.list_metrics)


def add_metric(parser: Any, text: str) -> None:
    """Add the option ``-m`` of one metric."""
    action = parser.add_argument("-m", "--metric", "--metrics", default=DEFAULT_METRIC, metavar="METRIC",
                                 help=f"{text} (default: {DEFAULT_METRIC})")  # fmt: skip
    completion.set_completer(action, completion.list_metrics)


def add_convention(parser: Any) -> None:
    """Add the option ``--convention``."""
    action = parser.add_argument(
        "--convention",
        default="default",
        metavar="NAME",
        help="rules for ties, gains and missing queries, such as 'trec_eval', 'sklearn' or "
        "'trec_eval(missing_in_run=zero)'; `fastndcg conventions` lists them (default: default)",
    )
    completion.set_completer(action, completion.list_conventions)


def add_reading(parser: Any, *, has_qrels: bool = True) -> None:
    """Add the options that say how files are read."""
    group = parser.add_argument_group("how files are read")
    example = "'query=member,label=stars'" if has_qrels else "'query=member,score=model'"
    sides = "; 'qrels.ROLE=NAME' and 'run.ROLE=NAME' are of one side" if has_qrels else ""
    group.add_argument(
        "--columns",
        action="append",
        metavar="ROLE=NAME,…",
        help=f"names of columns of Parquet, Arrow, CSV and JSON files, such as {example}; roles are query, document, "
        f"label, score, rank and subtopic{sides} (default: usual names)",
    )
    if has_qrels:
        group.add_argument(
            "--qrels-format",
            metavar="NAME",
            help="the format of QRELS if it cannot be detected, such as 'trec_diversity' (query subtopic document "
            "label)",
        )
    group.add_argument(
        "--run-format",
        metavar="NAME",
        help="the format of each RUN if it cannot be detected, such as 'msmarco' (query document rank)",
    )


def add_duplicates(parser: Any, *, has_ranks: bool = True) -> None:
    """Add the options on documents that a query of a run has again."""
    group = parser.add_argument_group("chunks, and documents that a query of a RUN has again")
    choices = get_args(DuplicateChoice) if has_ranks else get_args(FusedDuplicateChoice)
    counted = ", or each row counted" if has_ranks else ""
    group.add_argument(
        "--duplicates",
        choices=choices,
        help="an error, the row that ranks first kept, the best score kept, their scores added up"
        f"{counted} (default: raise)",
    )
    if has_ranks:
        group.add_argument(
            "--ranks",
            choices=get_args(DuplicateRanks),
            help="whether a dropped row leaves its rank empty, or later documents move up (default: kept)",
        )
        group.add_argument(
            "--parents",
            metavar="RULE|FILE",
            help="RUN has chunks, which count for their documents: a rule such as 'before #' or 'before last _', or a "
            "JSON file of {chunk: document}",
        )


def read_columns(texts: Sequence[str] | None) -> Columns:
    """
    Read the texts of ``--columns`` as names by role.

    >>> read_columns(["query=member, qrels.label=stars"])
    Columns(truth={'query': 'member', 'label': 'stars'}, predictions={'query': 'member'})
    """
    sides: dict[str, dict[str, str]] = {"qrels": {}, "run": {}}
    for part in ",".join(texts or ()).split(",") if texts else ():
        role, _, name = (piece.strip() for piece in part.partition("="))
        side, dot, own_role = role.partition(".")
        own_sides = [side] if dot else list(sides)
        role = own_role if dot else role
        if not role or not name or any(key not in sides or role in sides[key] for key in own_sides):
            raise InvalidInputError(
                f"--columns must have a name for each role, such as 'query=member,label=stars', not "
                f"{shorten(','.join(texts or ()))}. Give each role once, or once as qrels.ROLE and once as run.ROLE."
            )
        for key in own_sides:
            sides[key][role] = name
    return Columns(sides["qrels"] or None, sides["run"] or None)


def add_embeddings(parser: Any) -> None:
    """Add the options for runs that are vectors of users and items."""
    with parser.expert("embeddings, where RUN is USERS.npy,ITEMS.npy or MODEL.safetensors") as group:
        group.add_argument(
            "--similarity",
            choices=get_args(Similarity),
            default=get_args(Similarity)[0],
            help="how vectors become scores (default: dot)",
        )
        for name, what in (("query", "queries"), ("document", "documents")):
            group.add_argument(
                f"--{name}-ids", metavar="FILE", help=f"the ids of {what}, one per line (default: numbers from 0)"
            )
        group.add_argument(
            "--exclude", metavar="FILE", help="documents that are not ranked, such as those seen in training, in the "
            "formats of QRELS",
        )  # fmt: skip
        group.add_argument(
            "--candidates", metavar="FILE", help="the only documents that are ranked: ids, one per line, for all "
            "queries, or a file in the formats of QRELS",
        )  # fmt: skip
        group.add_argument(
            "--missing-truth",
            choices=get_args(MissingTruth),
            default=get_args(MissingTruth)[0],
            help="judged documents that are excluded, no candidates or without a vector: an error, skipped, or not "
            "retrieved (default: raise)",
        )


def add_fusing(parser: Any) -> None:
    """Add the options that say how runs are fused, but for the method."""
    parser.add_argument("--depth", type=int, metavar="N", help="how many documents of each RUN and query "
                        "count (default: all)")  # fmt: skip
    parser.add_argument(
        "--absent",
        choices=get_args(AbsentTreatment),
        help="what a RUN gives to documents that it lacks (default: what the method's definition says)",
    )
    action = parser.add_argument(
        "--fusion-convention",
        default="default",
        metavar="NAME",
        help="what a method's name means, such as 'weaviate' or 'default(queries=union)' (default: default)",
    )
    completion.set_completer(action, completion.list_fusion_conventions)


def add_names(parser: Any) -> None:
    """Add the option ``--names``."""
    parser.add_argument(
        "--names",
        action="append",
        metavar="NAMES",
        help="names of the RUNs in their order, separated by commas; may be repeated (default: TREC's sixth column "
        "where runs differ in it, else file names without suffixes)",
    )


def read_names(arguments: argparse.Namespace) -> list[str]:
    """Return the names of ``--names``, none without the option. Raise an error if there is not one per run."""
    names = [name.strip() for text in arguments.names or () for name in text.split(",")]
    if arguments.names and len(names) != len(arguments.runs):
        raise InvalidInputError(
            f"--names must have a name for each of the {len(arguments.runs)} runs, got {len(names)}: "
            f"{shorten(', '.join(names))}. Separate the names by commas."
        )
    return names


def add_output(parser: Any, formats: Sequence[str] = TABLE_FORMATS) -> Any:
    """Add the options ``--format``, ``--json`` and ``-o``, and return their group."""
    group = parser.add_argument_group("output")
    usual = formats[0]
    group.add_argument(
        "--format", choices=formats, help=f"the output format (default: by the suffix of -o, and else {usual})"
    )
    if "json" in formats:
        group.add_argument("--json", action="store_true", help="same as --format json")
    group.add_argument(
        "-o", "--output", metavar="FILE", help="write to FILE; if an error occurs, an older FILE is kept as it is"
    )
    parser.set_defaults(formats=tuple(formats))
    return group


def add_floors(group: Any) -> None:
    """Add the options for the lowest means that are allowed."""
    group.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=X",
        help="fail, with exit code 1, if the mean of METRIC is below X; may be repeated",
    )
    group.add_argument(
        "--fail-by",
        choices=get_args(FloorBy),
        default=get_args(FloorBy)[0],
        help="what must reach X: the mean, or the lower end of its one-sided interval (default: value)",
    )


def read_floors(texts: Sequence[str]) -> dict[str, float]:
    """
    Read the texts of ``--fail-under`` as numbers by metric.

    >>> read_floors(["ndcg@10=0.45"])
    {'ndcg@10': 0.45}
    """
    floors: dict[str, float] = {}
    for text in texts:
        metric, _, value = text.rpartition("=")
        try:
            floors[metric] = float(value)
        except ValueError:
            floors[metric] = math.nan
        if not metric or not math.isfinite(floors[metric]):
            raise InvalidInputError(
                f"--fail-under must be a metric and a number, such as 'ndcg@10=0.45', not {shorten(text)}. Correct it."
            )
    return floors


def add_threads(group: Any) -> None:
    """Add the option ``--threads``."""
    group.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one per available CPU)")


def finish(arguments: argparse.Namespace) -> None:
    """Read ``--columns``, and set the output format: the given one, else that of the suffix of the output."""
    if hasattr(arguments, "columns"):
        arguments.columns = read_columns(arguments.columns)
    if getattr(arguments, "json", False):
        if arguments.format not in (None, "json"):
            raise InvalidInputError(f"--json and --format {arguments.format} are two formats. Leave one out.")
        arguments.format = "json"
    formats = getattr(arguments, "formats", ())
    if formats and formats[0] != "trec" and arguments.format is None:  # writers of runs see more suffixes
        suffix = os.path.splitext(arguments.output or "")[1].lower()
        arguments.format = SUFFIXES[suffix] if SUFFIXES.get(suffix) in formats else formats[0]
