"""Arguments that several commands share, with one wording for each."""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Collection, Sequence
from typing import get_args

from fastndcg.choices import FloorBy, MissingTruth, Similarity
from fastndcg.cli import completion
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.rankings.pair_rows import COMPETITORS, ROWS

DEFAULT_METRICS = "ndcg@10,map,mrr,p@5,recall@10"
QRELS = "relevance judgments, one per line: query iteration document label"
RUN = "a ranking, one document per line: query Q0 document rank score tag"
EMBEDDINGS = "or vectors: USERS.npy,ITEMS.npy or MODEL.safetensors"


def add_command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    description: str,
    examples: str,
) -> argparse.ArgumentParser:
    """Add a command and return its parser. The description and the examples keep their line breaks."""
    return commands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"examples:\n{examples}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_metrics(parser: argparse.ArgumentParser, text: str) -> None:
    """Add the option ``-m``, which may be repeated."""
    action = parser.add_argument("-m", "--metrics", action="append", metavar="METRICS", help=text)
    completion.set_completer(action, completion.list_metrics)


def add_convention(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--convention``."""
    action = parser.add_argument(
        "--convention",
        default="default",
        metavar="NAME",
        help="rules for ties, gains and missing queries, such as 'trec_eval', 'sklearn' or "
        "'trec_eval(missing_in_run=zero)'; `fastndcg conventions` lists them (default: default)",
    )
    completion.set_completer(action, completion.list_conventions)


def add_qrels_format(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--qrels-format``, for judgments whose format the first line does not show."""
    parser.add_argument(
        "--qrels-format",
        metavar="NAME",
        help="the format of QRELS if it cannot be detected, such as 'trec_diversity' (query subtopic document label)",
    )


def add_columns(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--columns``, for files whose columns have no usual names."""
    parser.add_argument(
        "--columns",
        metavar="ROLE=NAME,…",
        help="names of columns of Parquet, Arrow, CSV and JSON files, such as 'query=member,label=stars'; roles are "
        "query, document, label, score, rank and subtopic (default: usual names)",
    )


def read_columns(text: str | None) -> dict[str, str] | None:
    """
    Read the text of ``--columns`` as names by role.

    >>> read_columns("query=member, label=stars")
    {'query': 'member', 'label': 'stars'}
    """
    if text is None:
        return None
    columns: dict[str, str] = {}
    for part in text.split(","):
        role, _, name = (piece.strip() for piece in part.partition("="))
        if not role or not name or role in columns:
            raise InvalidInputError(
                f"--columns must have a name for each role, such as 'query=member,label=stars', not {shorten(text)}. "
                "Give each role once."
            )
        columns[role] = name
    return columns


def add_pair_rows(parser: argparse.ArgumentParser) -> None:
    """Add the options ``--competitors`` and ``--rows``."""
    parser.add_argument(
        "--competitors",
        choices=COMPETITORS,
        default=COMPETITORS[0],
        help="the documents that a relevant one is ranked among: all, or those that are not relevant (default: all)",
    )
    parser.add_argument(
        "--rows",
        choices=ROWS,
        default=ROWS[0],
        help="what has a row: each query, or each pair of a query and a relevant document (default: query)",
    )


def add_embeddings(parser: argparse.ArgumentParser) -> None:
    """Add the options for runs that are vectors of users and items."""
    group = parser.add_argument_group(
        "embeddings",
        "RUN may be vectors of queries or users, and of documents or items: two files of NumPy with a comma between "
        "them, which are memory-mapped, or a file of safetensors with the tensors users and items.",
    )
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
        "--candidates", metavar="FILE", help="the only documents that are ranked: ids, one per line, for all queries, "
        "or a file in the formats of QRELS",
    )  # fmt: skip
    group.add_argument(
        "--missing-truth",
        choices=get_args(MissingTruth),
        default=get_args(MissingTruth)[0],
        help="judged documents that are excluded, no candidates or without a vector: an error, skipped, or not "
        "retrieved (default: raise)",
    )


def add_per_query(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--per-query``."""
    parser.add_argument("--per-query", action="store_true", help="also print the values of each query")


def add_format(parser: argparse.ArgumentParser, choices: tuple[str, ...]) -> None:
    """Add the option ``--format``."""
    parser.add_argument(
        "--format", choices=choices, help="the output format (default: by the suffix of -o, and else table)"
    )
    parser.set_defaults(format_choices=choices)


SUFFIXES = {".json": "json", ".csv": "csv", ".md": "markdown", ".tex": "latex"}  # and the format of such an output


def choose_format(arguments: argparse.Namespace) -> None:
    """Set the output format that the suffix of the output has, if none is given."""
    choices: Collection[str] = getattr(arguments, "format_choices", ())
    if choices and arguments.format is None:
        suffix = os.path.splitext(getattr(arguments, "output", None) or "")[1].lower()
        name = SUFFIXES.get(suffix, "table")
        arguments.format = name if name in choices else "table"


def add_floors(parser: argparse.ArgumentParser) -> None:
    """Add the options for the lowest means that are allowed."""
    parser.add_argument(
        "--fail-under",
        action="append",
        default=[],
        metavar="METRIC=X",
        help="fail, with exit code 1, if the mean of METRIC is below X; may be repeated",
    )
    parser.add_argument(
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


def add_fusion_convention(parser: argparse.ArgumentParser) -> None:
    """Add the option for the fusion convention."""
    action = parser.add_argument(
        "--fusion-convention",
        default="default",
        metavar="NAME",
        help="what a method's name means, such as 'weaviate' or 'default(queries=union)' (default: default)",
    )
    completion.set_completer(action, completion.list_fusion_conventions)


def add_threads(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--threads``."""
    parser.add_argument("--threads", type=int, metavar="N", help="number of threads (default: one per available CPU)")


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add the option ``-o``."""
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write to FILE; if an error occurs, an older FILE is kept as it is"
    )


def check_standard_input(paths: Sequence[str]) -> None:
    """Raise an error if ``-`` names more than one file."""
    if paths.count("-") > 1:
        raise InvalidInputError(
            "- must name at most one file, because standard input can be read once. Give the path of the other file."
        )
