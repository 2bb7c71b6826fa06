"""``fastndcg fuse`` and ``tune-fusion``: runs fused to one run, and the best fusion, checked on held-out queries."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fastndcg.cli import files, options, output
from fastndcg.errors import InvalidInputError, shorten, suggest_name
from fastndcg.exports import align_columns, dump_json
from fastndcg.metrics.metric import parse_metrics

if TYPE_CHECKING:
    from fastndcg.fusion.tuning.result import TunedFusion

N_EXPLAINED = 10  # documents of a query


def run_fuse(arguments: argparse.Namespace) -> None:
    """Fuse the runs, and write the result."""
    if arguments.lists:
        output.write(list_catalogue(), arguments.output)
        return
    _check_numbers(arguments)
    from fastndcg.fusion.fuse import fuse  # imports numpy, which --help and the checks above do without

    rule = "numbers such as 0.3,0.7, or NAME=W,NAME=W with each run once"
    weights = arguments.weights and options.read_values("--weights", arguments.weights.split(","), rule)
    runs = list(files.read_runs(arguments, None))
    names = [name for name, _ in runs]
    train = arguments.train and (arguments.train[0], dict(zip(names, arguments.train[1:], strict=True)))
    settings = options.pick(arguments, "depth absent fusion_convention threads")
    fused = fuse(runs, arguments.method, weights=weights, train=train or None, **settings)
    if arguments.explain is not None:
        output.write(explain_query(fused, arguments.explain, arguments.top or N_EXPLAINED), arguments.output)
        return
    for note in fused.notes:
        output.print_line(note)
    first_documents = fused if arguments.top is None else fused.top(arguments.top)
    if arguments.output not in (None, *output.STANDARD_OUTPUT):
        first_documents.write(arguments.output, format=arguments.format, tag=arguments.tag)
        output.say_written(arguments.output)
    elif arguments.format == "json":
        output.write([dump_json(first_documents.to_dict())], None)
    else:
        output.write(first_documents.to_trec(tag=arguments.tag).splitlines(keepends=True), None)


def explain_query(fused: Any, query: str, n_documents: int) -> Iterator[str]:
    """Yield the explanations of the first documents of a query."""
    queries = fused.queries.names().tolist()
    query_id = files.name_query(query, fused.queries)
    if query_id not in queries:
        hint = suggest_name(query, [str(name) for name in queries]) or " Check that the id is written alike."
        raise InvalidInputError(f"--explain must name a query of the runs, not {shorten(query)}.{hint}")
    place = queries.index(query_id)
    first, stop = fused.offsets[place : place + 2].tolist()
    for row in range(first, min(stop, first + n_documents)):
        yield f"{fused.explain(query_id, fused.documents.name(row))}\n\n"


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


def _check_numbers(arguments: argparse.Namespace) -> None:
    """Raise an error for numbers of files and documents that cannot be fused, before any work is done."""
    if len(arguments.runs) < 2:
        raise InvalidInputError(
            "fuse needs two or more RUNs, because there is nothing to fuse otherwise. Name another."
        )
    for option in ("depth", "top"):
        number = getattr(arguments, option)
        if number is not None and number < 1:
            raise InvalidInputError(f"--{option} must be 1 or more, not {number}. Leave it out to take all documents.")
    if arguments.train and len(arguments.train) != len(arguments.runs) + 1:
        raise InvalidInputError(
            f"--train must name the judgments and {len(arguments.runs)} runs, one for each RUN, but names "
            f"{len(arguments.train)} files. Name them in the order of the RUNs."
        )
    if arguments.output is None and arguments.format not in (None, "trec", "json"):
        raise InvalidInputError(
            f"--format {arguments.format} can only be used with -o: standard output gets TREC or JSON. Add -o."
        )


def run_tune_fusion(arguments: argparse.Namespace) -> None:
    """Tune the fusion, and write the table, the report, the picture and the fused run."""
    picture = output.check_picture(arguments.plot, "--plot") if arguments.plot else None
    parse_metrics(arguments.metric)
    tuned, runs = _tune(arguments)
    if arguments.html:
        from fastndcg.reports.page import page

        title = f"Fusion tuned for {tuned.metric}"
        output.write([page(tuned.comparison, title, tuned=tuned)], arguments.html, "--html")
    if arguments.fused:
        tuned.apply(runs).write(arguments.fused)
        output.say_written(arguments.fused)
    if arguments.format == "table":
        grid = [tuned.grid] if len(tuned.grid) > len(tuned.methods) else []
        tables = [tuned, tuned.methods, *grid, tuned.folds]
        output.write(["\n\n".join(map(str, tables)), "\n"], arguments.output)
    else:
        output.write_result(arguments, tuned)
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
    from fastndcg.fusion.tuning.tune import METHODS, tune_fusion  # imports numpy

    qrels = files.read_judgments(arguments.qrels, arguments)
    clusters = files.read_pairs(arguments.clusters, "segment", qrels.queries) if arguments.clusters else None
    runs = list(files.read_runs(arguments, None))
    settings = options.pick(arguments, "folds seed repeats depth absent fusion_convention convention threads")
    return tune_fusion(qrels, runs, arguments.metric, arguments.method or METHODS, clusters=clusters, **settings), runs
