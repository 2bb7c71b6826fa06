"""``fastndcg fuse`` and ``tune-fusion``: runs fused to one run, and the best fusion, checked on held-out queries."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastndcg.cli import completion, files, options, output
from fastndcg.cli.progress import show_progress
from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.exports.exportable import dump_json
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import parse_convention
from fastndcg.results.text_table import align_columns
from fastndcg.runtime.optional_packages import check_packages
from fastndcg.runtime.threads import check_threads

if TYPE_CHECKING:
    from fastndcg.fusion.tuning.result import TunedFusion

FUSE = """\
Fuse two or more runs to one run, such as those of keyword search and vector search, and write it. Methods combine
scores, which a normalisation makes comparable, or ranks. `fastndcg fuse --list` lists methods, normalisations and the
conventions of search engines.
"""
FUSE_EXAMPLES = """\
  fastndcg fuse bm25.run dense.run --method 'rrf(k=60)' -o fused.run
  fastndcg fuse bm25.run dense.run --method 'wsum(norm=min_max)' --weights 0.3,0.7 --depth 100
  fastndcg fuse bm25.run dense.run --fusion-convention weaviate --method 'wsum(norm=min_max)' --weights dense=3,bm25=1
  fastndcg fuse bm25.run dense.run --method 'wsum(norms={bm25:min_max,dense:none})' --explain q7
  fastndcg fuse bm25.run dense.run --method mapfuse --train qrels.txt old_bm25.run old_dense.run
"""
TUNE = """\
Tune the fusion of two or more runs: the method, its parameters and the weights of the runs. The reported mean is that
of queries that were not used for tuning, compared with each run, equal weights and rrf(k=60).
"""
TUNE_EXAMPLES = """\
  fastndcg tune-fusion qrels.txt bm25.run dense.run -m ndcg@10 --folds 5
  fastndcg tune-fusion qrels.txt bm25.run dense.run --method 'wsum(norm=min_max)' --run tuned.run
  fastndcg tune-fusion qrels.txt a.run b.run c.run -m map --repeats 3 --html report.html
"""

N_EXPLAINED = 10  # documents of a query
RUN_FORMATS = ("trec", "json", "jsonl", "csv", "parquet")


def add_fuse(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``fuse`` with its options."""
    parser = options.add_command(commands, "fuse", "RUN RUN [RUN ...]", "fuse runs to one run", FUSE, FUSE_EXAMPLES)
    parser.add_argument("runs", nargs="*", metavar="RUN", help=options.RUN)
    group = parser.add_argument_group("how runs are fused")
    method = group.add_argument(
        "--method", default="rrf", metavar="TEXT", help="the method with its parameters (default: rrf)"
    )
    completion.set_completer(method, completion.list_fusion_methods)
    group.add_argument(
        "--weights", metavar="W,W", help="the weight of each RUN in their order, or NAME=W,NAME=W (default: 1 each)"
    )
    options.add_names(group)
    options.add_fusing(group)
    group.add_argument(
        "--train",
        nargs="+",
        metavar="FILE",
        help="judgments, and a run of each system in the order of the RUNs, for methods that learn, such as mapfuse",
    )
    options.add_threads(group)
    group.add_argument("--list", action="store_true", dest="lists", help="list methods, normalisations and conventions")
    options.add_reading(parser, has_qrels=False)
    options.add_duplicates(parser, has_ranks=False)
    group = options.add_output(parser, RUN_FORMATS)
    group.add_argument("--top", type=int, metavar="N", help="write only the first N documents of each query")
    group.add_argument("--explain", metavar="QUERY", help="in place of the run, print what each RUN gives to the first "
                       "documents of QUERY (10, or those of --top)")  # fmt: skip
    group.add_argument("--tag", default="fastndcg", metavar="NAME", help="the name of the system in the last column "
                       "(default: fastndcg)")  # fmt: skip
    parser.set_defaults(run=run_fuse)


def run_fuse(arguments: argparse.Namespace) -> None:
    """Check the options, fuse the runs, and write the result."""
    if arguments.lists:
        output.write(list_catalogue(), arguments.output)
        return
    _check_files(arguments)
    given_names = options.read_names(arguments)
    check_threads(arguments.threads)
    with show_progress(len(arguments.runs) + 2) as begin_step:
        from fastndcg.fusion.fuse import fuse  # imports numpy, which --help and the checks above do without

        names, runs = _read_runs(arguments, given_names, begin_step)
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
            duplicates=arguments.duplicates,
            threads=arguments.threads,
        )
        begin_step("writing")
        if arguments.explain is not None:
            output.write(explain_query(fused, arguments.explain, arguments.top or N_EXPLAINED), arguments.output)
            return
        notes = fused.notes
        first_documents = fused if arguments.top is None else fused.top(arguments.top)
        is_printed = arguments.output is None or arguments.output in output.STANDARD_OUTPUT
        if is_printed and arguments.format == "json":
            output.write([dump_json(first_documents.to_dict())], None)
        elif is_printed:
            output.write(first_documents.to_trec(tag=arguments.tag).splitlines(keepends=True), None)
        else:
            first_documents.write(arguments.output, format=arguments.format, tag=arguments.tag)
    for note in notes:
        sys.stderr.write(f"{note}\n")
    if not is_printed:
        output.say_written(arguments.output)


def explain_query(fused: Any, query: str, n_documents: int) -> Iterator[str]:
    """Yield the explanations of the first documents of a query."""
    queries = fused.queries.names().tolist()
    query_id: Any = query
    if not fused.queries.are_texts and query.lstrip("-").isdecimal():
        query_id = int(query)
    if query_id not in queries:
        hint = suggest_name(query, [str(name) for name in queries]) or " Check that the id is written alike."
        raise InvalidInputError(f"--explain must name a query of the runs, not {shorten(query)}.{hint}")
    place = queries.index(query_id)
    first, stop = fused.offsets[place : place + 2].tolist()
    for row in range(first, min(stop, first + n_documents)):
        yield f"{fused.explain(query_id, fused.documents.name(row))}\n\n"


def _read_runs(
    arguments: argparse.Namespace, given_names: list[str], begin_step: Any
) -> tuple[list[str], list[tuple[str, Any]]]:
    """Return the names of the runs, and the runs with their names."""
    from fastndcg.inputs.formats import name_runs  # imports numpy

    names = given_names or name_runs(arguments.runs)
    _refuse_repeated(names)
    runs = []
    for name, path in zip(names, arguments.runs, strict=True):
        begin_step(f"reading {Path(path).name}")
        runs.append((name, files.read_run(path, arguments)))
    return names, runs


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
    files.refuse_embeddings("fuse", inputs)
    for option in ("depth", "top"):
        number = getattr(arguments, option)
        if number is not None and number < 1:
            raise InvalidInputError(f"--{option} must be 1 or more, not {number}. Leave it out to take all documents.")
    if arguments.train and len(arguments.train) != len(arguments.runs) + 1:
        raise InvalidInputError(
            f"--train must name the judgments and {len(arguments.runs)} runs, one for each RUN, but names "
            f"{len(arguments.train)} files. Name them in the order of the RUNs."
        )
    files.check(arguments, inputs, {"-o": arguments.output})
    if arguments.output is None and arguments.format not in (None, "trec", "json"):
        raise InvalidInputError(
            f"--format {arguments.format} can only be used with -o: standard output gets TREC or JSON. Add -o."
        )


def add_tune_fusion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command ``tune-fusion`` with its options."""
    parser = options.add_command(
        commands, "tune-fusion", "QRELS RUN RUN [RUN ...]",
        "find the best weights of a fusion of runs, checked on held-out queries", TUNE, TUNE_EXAMPLES,
    )  # fmt: skip
    options.add_help_all(parser, "folds and threads")
    parser.add_argument("qrels", metavar="QRELS", help=options.QRELS)
    parser.add_argument("runs", nargs="+", metavar="RUN", help=f"two or more; {options.RUN}")
    group = parser.add_argument_group("what is tuned")
    options.add_metric(group, "the metric to improve")
    options.add_convention(group)
    method = group.add_argument(
        "--method",
        action="append",
        metavar="METHOD",
        help="a method to tune, such as 'rrf' or 'wsum(norm=z_score)'; may be repeated (default: rrf, "
        "wsum(norm=min_max) and wsum(norm=z_score))",
    )
    completion.set_completer(method, completion.list_fusion_methods)
    options.add_names(group)
    options.add_fusing(group)
    options.add_reading(parser)
    group = options.add_output(parser)
    group.add_argument("--html", metavar="FILE", help="also write a report as one HTML page that works offline")
    group.add_argument("--plot", metavar="FILE", help="also draw the metric against the weight, such as curve.png")
    group.add_argument("--run", dest="fused", metavar="FILE", help="also write the runs, fused by the best fusion")
    with parser.expert("folds and threads") as group:
        group.add_argument("--folds", type=int, default=5, metavar="N", help="the number of folds (default: 5)")
        group.add_argument(
            "--repeats", type=int, default=1, metavar="N", help="how many times the queries are divided (default: 1)"
        )
        group.add_argument("--seed", type=int, default=0, metavar="N", help="the seed of the folds (default: 0)")
        group.add_argument(
            "--clusters",
            metavar="FILE",
            help="queries that stay in one fold; FILE has a query id and a cluster on each line",
        )
        options.add_threads(group)
    parser.set_defaults(run=run_tune_fusion)


def run_tune_fusion(arguments: argparse.Namespace) -> None:
    """Check the options, tune the fusion, and write the table, the report, the picture and the fused run."""
    targets = {
        "-o": arguments.output, "--html": arguments.html, "--plot": arguments.plot, "--run": arguments.fused,
    }  # fmt: skip
    inputs = [arguments.qrels, *arguments.runs, *filter(None, (arguments.clusters,))]
    files.check(arguments, inputs, targets)
    files.refuse_embeddings("tune-fusion", arguments.runs)
    check_packages("tuning", "statistics")
    picture = output.check_picture(arguments.plot, "--plot") if arguments.plot else None
    parse_metrics(arguments.metric)
    tuned, runs = _tune(arguments)
    if arguments.html:
        from fastndcg.reports.html.page import page

        title = f"Fusion tuned for {tuned.metric}"
        output.write([page(tuned.comparison, title, {}, tuned)], arguments.html, "--html")
    if arguments.fused:
        tuned.apply(runs).write(arguments.fused)
        output.say_written(arguments.fused)
    output.write(_format(tuned, arguments.format), arguments.output)
    if picture is not None:  # last: a method that is not linear has no curve, and the tuning has taken its time
        if not tuned.curves:
            raise InvalidInputError(
                f"--plot needs a best method that is linear in its weights, such as wsum or rrf, but "
                f"{tuned.best.method} is not. Everything else was written."
            )
        figure, ending = picture
        figure.set_size_inches(7.0, 4.0)
        tuned.plot(axes=figure.subplots())
        output.write_picture(figure, ending, arguments.plot, "--plot")


def _tune(arguments: argparse.Namespace) -> tuple[TunedFusion, Any]:
    """Read the runs, and return the tuned fusion with them."""
    convention = parse_convention(arguments.convention)
    given_names = options.read_names(arguments)
    with show_progress(1 + len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.fusion.tuning.tune import METHODS, tune_fusion  # imports numpy

        clusters = files.read_segments(arguments.clusters) if arguments.clusters else None
        qrels = files.read_judgments(arguments.qrels, arguments)
        _, runs = _read_runs(arguments, given_names, begin_step)
    tuned = tune_fusion(  # shows its own bar, which counts methods and weights
        qrels,
        runs,
        arguments.metric,
        arguments.method or METHODS,
        folds=arguments.folds,
        seed=arguments.seed,
        clusters=clusters,
        repeats=arguments.repeats,
        depth=arguments.depth,
        absent=arguments.absent,
        fusion_convention=arguments.fusion_convention,
        convention=convention,
        threads=arguments.threads,
    )
    return tuned, runs


def _format(tuned: TunedFusion, form: str) -> Sequence[str]:
    """Return the table with the methods and folds, or another format."""
    if form == "table":
        tables = [tuned, tuned.methods, tuned.folds]
        if len(tuned.grid) > len(tuned.methods):
            tables.insert(2, tuned.grid)
        return ["\n\n".join(map(str, tables)), "\n"]
    return [output.format_table(tuned, form)]
