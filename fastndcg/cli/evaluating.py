"""``fastndcg evaluate``: judgments and runs in, values out."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path

from fastndcg.cli import formats, measures, output
from fastndcg.cli.measures import Wanted, metrics_of, with_options
from fastndcg.cli.progress import progress, progress_of_rows
from fastndcg.conventions import Convention, conventions, parse_convention
from fastndcg.errors import InvalidInputError
from fastndcg.threads import checked_threads

DEFAULT_METRICS = "ndcg@10,map,mrr,p@5,recall@10"
DEMO_RUNS = ("lambdarank.run", "pointwise.run")
DEMO_NOTE = (
    "demo data: the test queries of LightGBM's ranking example (MIT); for yours: fastndcg evaluate QRELS RUN [RUN ...]"
)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command with its options."""
    parser = commands.add_parser(
        "evaluate",
        help="evaluate runs against judgments; without arguments, the demo data",
        description="Evaluate runs against judgments: files of TREC (or MS MARCO, BEIR, JSON, CSV, Parquet), plain or "
        "packed (gzip, bzip2, zstd), or - for standard input; or Parquet that has queries, labels and scores, alone; "
        "without files, the demo data.",
    )
    parser.add_argument("qrels", nargs="?", metavar="QRELS", help="judgments: query, iteration, document, label")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="a ranking: query, Q0, document, rank, score, name")
    parser.add_argument(
        "-m",
        "--metrics",
        action="append",
        metavar="METRICS",
        help="such as 'ndcg@10,P(rel=2)@5', or trec_eval's 'map', 'P.5,10', 'all_trec', repeatable; "
        f"`fastndcg metrics` lists all (default: {DEFAULT_METRICS})",
    )
    parser.add_argument(
        "--convention",
        default="default",
        metavar="NAME",
        help=f"what numbers mean: {', '.join(conventions)}, or with choices: 'trec_eval(missing_in_run=zero)'",
    )
    add_qrels_format(parser)
    parser.add_argument("--per-query", action="store_true", help="print each query's values too")
    parser.add_argument("--format", choices=tuple(formats.FORMATS), default="table", help="default: table")
    parser.add_argument("--threads", type=int, metavar="N", help="default: one for each CPU that may be used")
    parser.add_argument("--memory", metavar="SIZE", help="for Parquet that stands alone, such as 500MB; default: 2GiB")
    parser.add_argument("-o", "--output", metavar="FILE", help="write to FILE, whole or not at all")
    measures.add_options(parser)
    parser.set_defaults(run=run)


def add_qrels_format(parser: argparse.ArgumentParser) -> None:
    """Add what the first bytes of judgments do not tell."""
    parser.add_argument(
        "--qrels-format",
        metavar="NAME",
        help="of QRELS, where its first line does not tell: 'trec_diversity' (query, subtopic, document, label), …",
    )


def run(arguments: argparse.Namespace) -> None:
    """Check what can be checked before reading, evaluate, write."""
    convention = with_options(parse_convention(arguments.convention), arguments)
    wanted = Wanted.of(arguments.metrics or [DEFAULT_METRICS], convention)
    options = measures.Options(arguments.level, arguments.documents)
    metrics_of(wanted.lines(options))  # so that what is wrong with them is said before files are read
    checked_threads(arguments.threads)
    is_alone = arguments.qrels is not None and not arguments.runs and _has_scores(arguments.qrels)
    if arguments.qrels is not None and not arguments.runs and not is_alone:
        raise InvalidInputError("RUN is missing: give one run or more after QRELS, or no file at all for the demo data")
    if arguments.memory is not None and not is_alone:
        raise InvalidInputError("--memory is for Parquet with scores and labels that stands alone; leave it out")
    if [arguments.qrels, *arguments.runs].count("-") > 1:
        raise InvalidInputError("- must name one file only: standard input can be read once")
    if arguments.output is not None:
        output.check(arguments.output, [arguments.qrels, *arguments.runs] if arguments.qrels else [])
    if is_alone:
        reports = [_evaluate_alone(wanted, options, convention, arguments)]
    else:
        with _files(arguments) as (qrels, runs):
            reports = _evaluate(qrels, runs, wanted, options, convention, arguments)
    note = DEMO_NOTE if arguments.qrels is None else ""
    output.write(formats.FORMATS[arguments.format](reports, arguments.per_query, note), arguments.output)


def _has_scores(path: str) -> bool:
    from fastndcg.inputs.parquet import has_scores, is_parquet  # brings numpy

    return is_parquet(path) and has_scores(path)


def _evaluate_alone(
    wanted: Wanted, options: measures.Options, convention: Convention, arguments: argparse.Namespace
) -> formats.Report:
    """A report of what has queries, labels and scores in one."""
    if arguments.most is not None or wanted.relstring is not None:
        raise InvalidInputError(f"-M and relstring look at judgments and runs, but {arguments.qrels} has all in one")
    name, lines = run_names([arguments.qrels])[0], wanted.lines(options)
    with progress_of_rows(f"evaluating {Path(arguments.qrels).name}") as show:
        from fastndcg.evaluate import evaluate

        result = evaluate(
            arguments.qrels, metrics=metrics_of(lines), memory=arguments.memory, convention=convention,
            threads=arguments.threads, progress=show,
        )  # fmt: skip
    return formats.Report(name, result, lines, name)


@contextlib.contextmanager
def _files(arguments: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """The files given, or those of the demo, which a package in a zip file has to unpack first."""
    if arguments.qrels is not None:
        yield arguments.qrels, arguments.runs
        return
    folder = resources.files("fastndcg").joinpath("demo")
    with contextlib.ExitStack() as stack:
        qrels, *runs = [
            str(stack.enter_context(resources.as_file(folder.joinpath(name)))) for name in ("qrels.txt", *DEMO_RUNS)
        ]
        yield qrels, runs


def _evaluate(
    qrels: str,
    runs: Sequence[str],
    wanted: Wanted,
    options: measures.Options,
    convention: Convention,
    arguments: argparse.Namespace,
) -> list[formats.Report]:
    """A report for each run."""
    threads, shows_labels = arguments.threads, arguments.per_query and wanted.relstring is not None
    with progress(1 + 2 * len(runs)) as step:
        step(f"reading {Path(qrels).name}")
        from fastndcg.cli.relstring import strings  # brings numpy, which --help and errors above do without
        from fastndcg.evaluate import Evaluator
        from fastndcg.inputs.files import read_qrels, read_run, run_tag
        from fastndcg.inputs.join import first_documents

        kind, judged = arguments.qrels_format, None
        if kind is not None or shows_labels or wanted.has_gains:
            judged = read_qrels(qrels, format=kind, threads=threads)
        if judged is not None and judged.patterns is not None and (shows_labels or wanted.has_gains):
            raise InvalidInputError("-m relstring and gains of labels take one label a document, not one a subtopic")
        lines = wanted.lines(options, 0 if judged is None else int(max(judged.values, default=0)))
        evaluator = Evaluator(judged or qrels, metrics_of(lines), convention=convention, threads=threads)
        reports = []
        for name, path in zip(run_names(runs), runs, strict=True):
            step(f"reading {Path(path).name}")
            tag = run_tag(path) if any(line.name == "runid" for line in lines) else None
            table = read_run(path, threads=threads)
            if arguments.most is not None:
                table = first_documents(table, arguments.most, convention, threads)
            step(f"evaluating {Path(path).name}")
            labels = strings(judged, table, convention, wanted.relstring or 0) if judged and shows_labels else None
            reports.append(formats.Report(name, evaluator.evaluate(table), lines, tag or name, labels))
        return reports


def run_names(runs: Sequence[str]) -> list[str]:
    """What each run is called: its file's name without .run and .gz, .bz2 or .zst, or its path where names repeat."""
    names = [re.sub(r"(\.run)?(\.(gz|bz2|zst))?$", "", os.path.basename(path)) for path in runs]
    return names if len(set(names)) == len(names) else list(runs)
