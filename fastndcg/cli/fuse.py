"""``fastndcg fuse``: fuse two or more runs to one run."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

from fastndcg.choices import AbsentTreatment
from fastndcg.cli import completion, options, output
from fastndcg.cli.compare import read_names
from fastndcg.cli.embeddings import refuse_embeddings
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten
from fastndcg.results.text_table import align_columns
from fastndcg.runtime.threads import check_threads

DESCRIPTION = """\
Fuse two or more runs to one run, such as those of keyword search and vector search, and write it. Methods combine
scores, which a normalisation makes comparable, or ranks. `fastndcg fuse --list` lists methods, normalisations and the
conventions of search engines.
"""
EXAMPLES = """\
  fastndcg fuse bm25.run dense.run --method 'rrf(k=60)' -o fused.run
  fastndcg fuse bm25.run dense.run --method 'wsum(norm=min_max)' --weights 0.3,0.7 --depth 100
  fastndcg fuse bm25.run dense.run --fusion-convention weaviate --method 'wsum(norm=min_max)' --weights dense=3,bm25=1
  fastndcg fuse bm25.run dense.run --method mapfuse --train qrels.txt old_bm25.run old_dense.run
"""
FORMATS = ("trec", "json", "jsonl", "csv", "parquet")


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = options.add_command(commands, "fuse", "fuse runs to one run", DESCRIPTION, EXAMPLES)
    parser.add_argument("runs", nargs="*", metavar="RUN", help=options.RUN)
    method = parser.add_argument(
        "--method", default="rrf", metavar="TEXT", help="the method with its parameters (default: rrf)"
    )
    completion.set_completer(method, completion.list_fusion_methods)
    parser.add_argument(
        "--weights", metavar="W,W", help="the weight of each RUN in their order, or NAME=W,NAME=W (default: 1 each)"
    )
    parser.add_argument(
        "--names",
        action="append",
        metavar="NAMES",
        help="names of the RUNs in their order, separated by commas; may be repeated (default: TREC's sixth column "
        "where runs differ in it, else file names without suffixes)",
    )
    parser.add_argument("--depth", type=int, metavar="N", help="how many documents of each RUN and query "
                        "count (default: all)")  # fmt: skip
    parser.add_argument(
        "--absent",
        choices=get_args(AbsentTreatment),
        help="what a RUN gives to documents that it lacks (default: what the method's definition says)",
    )
    options.add_fusion_convention(parser)
    parser.add_argument(
        "--train",
        nargs="+",
        metavar="FILE",
        help="judgments, and a run of each system in the order of the RUNs, for methods that learn, such as mapfuse",
    )
    parser.add_argument("--top", type=int, metavar="N", help="write only the first N documents of each query")
    parser.add_argument("--tag", default="fastndcg", metavar="NAME", help="the name of the system in the last column "
                        "(default: fastndcg)")  # fmt: skip
    parser.add_argument("--list", action="store_true", dest="lists", help="list methods, normalisations and "
                        "conventions")  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, help="the format of FILE (default: by its suffix, and else trec)")
    options.add_threads(parser)
    options.add_output(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Check the options, fuse the runs, and write the result."""
    if arguments.lists:
        output.write(list_catalogue(), arguments.output)
        return
    _check_files(arguments)
    given_names = read_names(arguments)
    check_threads(arguments.threads)
    with show_progress(len(arguments.runs) + 2) as begin_step:
        from fastndcg.fusion.fuse import fuse  # imports numpy, which --help and the checks above do without
        from fastndcg.inputs.run_names import name_runs
        from fastndcg.inputs.text.formats import read_run

        names = given_names or name_runs(arguments.runs)
        _refuse_repeated(names)
        runs = []
        for name, path in zip(names, arguments.runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            runs.append((name, read_run(path, threads=arguments.threads)))
        begin_step("fusing")
        train = arguments.train and (arguments.train[0], dict(zip(names, arguments.train[1:], strict=True)))
        fused = fuse(
            runs,
            arguments.method,
            weights=read_weights(arguments.weights),
            depth=arguments.depth,
            absent=arguments.absent,
            fusion_convention=arguments.fusion_convention,
            train=train or None,
            threads=arguments.threads,
        )
        begin_step("writing")
        notes = fused.notes
        first_documents = fused if arguments.top is None else fused.top(arguments.top)
        if arguments.output is None or arguments.output in output.STANDARD_OUTPUT:
            lines = first_documents.to_trec(tag=arguments.tag).splitlines(keepends=True)
            output.write(lines, None)
        else:
            first_documents.write(arguments.output, format=arguments.format, tag=arguments.tag)
    for note in notes:
        sys.stderr.write(f"{note}\n")


def read_weights(text: str | None) -> dict[str, float] | list[float] | None:
    """
    Read weights by place or by name.

    >>> read_weights("0.3,0.7"), read_weights("bm25=1,dense=2")
    ([0.3, 0.7], {'bm25': 1.0, 'dense': 2.0})
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    pairs = [part.rpartition("=") for part in parts]
    try:
        numbers = [float(number) for _, _, number in pairs]
    except ValueError:
        raise InvalidInputError(
            f"--weights must be numbers such as 0.3,0.7, or NAME=W,NAME=W, not {shorten(text)}. Correct them"
        ) from None
    names = [name for name, _, _ in pairs]
    if not any(names):
        return numbers
    if not all(names) or len(set(names)) < len(names):
        raise InvalidInputError(f"--weights must name each run once, or no run, not {shorten(text)}. Correct them")
    return dict(zip(names, numbers, strict=True))


def list_catalogue() -> Iterator[str]:
    """Yield the lines of the list of methods, normalisations, conventions and their fields."""
    from fastndcg.fusion.catalog import FUSION_METHODS, NORMALIZATIONS
    from fastndcg.fusion.conventions import FIELDS, fusion_conventions

    tables = {
        "method": [[name, ", ".join(record.parameter_texts), record.title] for name, record in FUSION_METHODS.items()],
        "normalisation": [[name, record.formula] for name, record in NORMALIZATIONS.items()],
        "fusion convention": [
            [name, " ".join(filter(None, (record.peer, record.versions))) or record.source]
            for name, record in fusion_conventions.items()
        ],
        "field of conventions": [
            [name, ", ".join(map(str, field.choices)), field.text] for name, field in FIELDS.items()
        ],
    }
    for title, rows in tables.items():
        head = [title, *[""] * (len(rows[0]) - 1)]
        yield from (f"{line}\n" for line in align_columns([head, *rows], len(head)))
        yield "\n"


def _refuse_repeated(names: Sequence[str]) -> None:
    """Raise for two runs of one name."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidInputError(
                f"RUNs must have different names, but {shorten(name)} is the name of {count}. Give --names A,B."
            )


def _check_files(arguments: argparse.Namespace) -> None:
    """Raise an error for files that cannot be fused or written, before any work is done."""
    if len(arguments.runs) < 2:
        raise InvalidInputError(
            "fuse needs two or more RUNs, because there is nothing to fuse otherwise. Name another."
        )
    inputs = [*arguments.runs, *(arguments.train or [])]
    refuse_embeddings("fuse", inputs)
    for option in ("depth", "top"):
        number = getattr(arguments, option)
        if number is not None and number < 1:
            raise InvalidInputError(f"--{option} must be 1 or more, not {number}. Leave it out to take all documents.")
    options.check_standard_input(inputs)
    if arguments.train and len(arguments.train) != len(arguments.runs) + 1:
        raise InvalidInputError(
            f"--train must name the judgments and {len(arguments.runs)} runs, one for each RUN, but names "
            f"{len(arguments.train)} files. Name them in the order of the RUNs."
        )
    if arguments.output is not None:
        output.check(arguments.output, inputs)
    elif arguments.format not in (None, "trec"):
        raise InvalidInputError(
            "--format can only be used with -o, because standard output gets lines of TREC. Add -o."
        )
