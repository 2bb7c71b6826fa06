"""Arguments that several commands share, with one wording for each."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from fastndcg.cli import completion
from fastndcg.errors import InvalidInputError
from fastndcg.rankings.pair_rows import COMPETITORS, ROWS

DEFAULT_METRICS = "ndcg@10,map,mrr,p@5,recall@10"
QRELS = "relevance judgments, one per line: query iteration document label"
RUN = "a ranking, one document per line: query Q0 document rank score tag"


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


def add_per_query(parser: argparse.ArgumentParser) -> None:
    """Add the option ``--per-query``."""
    parser.add_argument("--per-query", action="store_true", help="also print the values of each query")


def add_format(parser: argparse.ArgumentParser, choices: tuple[str, ...]) -> None:
    """Add the option ``--format``."""
    parser.add_argument("--format", choices=choices, default="table", help="the output format (default: table)")


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
