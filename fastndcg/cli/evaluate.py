"""``fastndcg evaluate``, ``evaluate-pairs`` and ``spans``: the metrics of runs, computed from judgments."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from fastndcg.cli import files, options, output, trec_eval
from fastndcg.cli.output import write_reports
from fastndcg.cli.trec_eval import MetricRequest, Report, TrecEvalOptions, apply_options, select_metrics
from fastndcg.errors import InvalidInputError
from fastndcg.exports import align_columns
from fastndcg.metrics.metric import DEFAULT_METRICS, check_direction, parse_metrics
from fastndcg.named_conventions import Convention
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.imports import check_packages

DEMO_RUNS = ("lambdarank.run", "pointwise.run")
DEMO_NOTE = (
    "demo data: the test queries of LightGBM's ranking example (MIT); for yours: fastndcg evaluate QRELS RUN [RUN ...]"
)


class _Task(NamedTuple):
    """Everything that an evaluation needs beside its files."""

    request: MetricRequest
    trec_options: TrecEvalOptions
    convention: Convention
    arguments: argparse.Namespace


def run(arguments: argparse.Namespace) -> int:
    """Check the options, evaluate the runs, write the results, and return 1 if a mean is worse than its floor."""
    convention = apply_options(arguments.convention, arguments)
    request = MetricRequest.parse(arguments.metrics or [DEFAULT_METRICS], convention)
    trec_options = TrecEvalOptions(arguments.relevance_level, arguments.n_documents)
    select_metrics(request.lines(trec_options), arguments.format)  # reports wrong metrics before any file is read
    floors = options.read_floors(arguments.fail_under)
    _check_options(arguments, request, floors)
    task = _Task(request, trec_options, convention, arguments)
    if _has_scores(arguments):
        reports = [_evaluate_stream(task)]
    else:
        with _open_files(arguments) as (qrels, runs):
            reports = _evaluate(qrels, runs, task)
    note = [f"{DEMO_NOTE}\n"] if arguments.qrels is None and arguments.format == "table" else []
    write_reports(arguments, reports, chain(note, _list_intervals(reports) if arguments.interval else ()))
    if arguments.save_baseline is not None:
        output.say_written(arguments.save_baseline)
    return _check_floors(reports, floors, arguments.fail_by)


def _list_intervals(reports: Sequence[Report]) -> Iterator[str]:
    """Yield the lines of a table with the interval of each mean."""
    rows = [["run", "metric", "mean", "95 % interval", "method"]]
    for report in reports:
        for metric in report.results.metrics:
            found = report.results.confidence_interval(metric)
            bounds = found.reason or f"[{found.low:.4f}, {found.high:.4f}]"
            rows.append([report.name, str(metric), f"{found.mean:.4f}", bounds, found.method])
    yield "\n"
    yield from (f"{line}\n" for line in align_columns(rows, 2))


def _check_floors(reports: Sequence[Report], floors: Mapping[str, float], floor_by: str) -> int:
    """Return 1 if the mean of a run is worse than its floor, which standard error says, else 0."""
    is_worse = False
    for text, floor in floors.items():
        (metric,) = parse_metrics(text)
        side, end, beyond = ("lower", "low", "below") if metric.sign > 0 else ("upper", "high", "above")
        for report in reports:
            if floor_by == "value":
                value, what = report.results.mean()[str(metric)], "the mean"
            else:
                value = getattr(report.results.confidence_interval(metric, level=0.9), end)
                what = f"the 95 % {side} bound"
            if not metric.sign * value >= metric.sign * floor:
                is_worse = True
                output.print_line(f"fastndcg: {report.name}: {what} of {text} is {value:.4f}, {beyond} {floor:g}")
    return int(is_worse)


def _check_options(arguments: argparse.Namespace, request: MetricRequest, floors: Mapping[str, float]) -> None:
    """Raise an error for options that do not fit each other."""
    has_query_lines = arguments.format == "trec" or (arguments.format == "table" and arguments.per_query)
    if arguments.no_summary and not has_query_lines:
        raise InvalidInputError(
            f"-n needs lines for each query, but --format {arguments.format} prints none here. "
            "Add --format trec, or -q to a table."
        )
    if arguments.interval and arguments.format != "table":
        raise InvalidInputError("--interval is for a table. Take --save-baseline and confidence_interval, or compare.")
    if arguments.interval or (floors and arguments.fail_by != "value"):
        check_packages("a confidence interval", "statistics")
    metrics = {str(line.metric) for line in request.lines(TrecEvalOptions()) if line.metric is not None}
    for text in floors:
        (metric,) = parse_metrics(text)
        if str(metric) not in metrics:
            raise InvalidInputError(f"--fail-under must be of an evaluated metric, but is of {metric}. Add it to -m.")
        check_direction([metric], "--fail-under")
    if arguments.save_baseline is not None and len(arguments.runs) != 1:
        raise InvalidInputError(f"--save-baseline is of one run, not {len(arguments.runs)}. Name one run.")


def _has_scores(arguments: argparse.Namespace) -> bool:
    """Return True for one file that has labels and scores. Raise an error for files that do not fit the options."""
    from fastndcg.inputs.formats import Content, look_for_scores  # imports numpy

    is_alone = arguments.qrels is not None and not arguments.runs
    content = look_for_scores(arguments.qrels, arguments.columns.truth) if is_alone else Content()
    if is_alone and not content.has_scores:
        if content.has_columns:
            names = "usual names" if arguments.columns.truth is None else "the names that --columns gives"
            raise InvalidInputError(
                f"RUN is missing, and {show_name(arguments.qrels)} does not have labels and scores in columns of "
                f"{names}. Give one or more runs, or name the columns by --columns query=NAME,label=NAME,score=NAME."
            )
        raise InvalidInputError("RUN is missing. Give one or more runs after QRELS, or no file for the demo data.")
    has_embeddings = files.has_embeddings(arguments.runs)
    if arguments.memory is not None and not content.is_streamed and not has_embeddings:
        raise InvalidInputError(
            "--memory can only be used for embeddings, or when QRELS is a Parquet or Arrow file with labels and scores "
            "and no RUN is given. Remove it."
        )
    if arguments.max_documents is not None and has_embeddings:
        raise InvalidInputError("-M is for runs, but RUN is embeddings. Remove it, or take metrics with cutoffs.")
    return content.has_scores


def _evaluate_stream(task: _Task) -> Report:
    """Evaluate a file that has queries, labels and scores."""
    arguments = task.arguments
    if arguments.max_documents is not None or task.request.relstring_length is not None:
        raise InvalidInputError(
            f"-M and relstring need judgments and runs in two files, but {arguments.qrels} has both. "
            "Remove the option, or split the file."
        )
    from fastndcg.evaluation import evaluate  # imports numpy, which the checks above do without
    from fastndcg.inputs.formats import name_file
    from fastndcg.inputs.streams import Rows

    name, lines = name_file(arguments.qrels), task.request.lines(task.trec_options)
    rows = Rows(arguments.qrels, columns=arguments.columns.truth, memory=arguments.memory)
    settings = {"convention": task.convention, **options.pick(arguments, "threads")}
    result = evaluate(rows, metrics=select_metrics(lines, arguments.format), **settings)
    return Report(name, result, lines, name, summary=not arguments.no_summary)


@contextlib.contextmanager
def _open_files(arguments: argparse.Namespace) -> Iterator[tuple[str, list[str]]]:
    """Yield the paths of the judgments and the runs. Those of the demo are unpacked if the package is a zip file."""
    if arguments.qrels is not None:
        yield arguments.qrels, arguments.runs
        return
    folder = resources.files("fastndcg").joinpath("demo")
    with contextlib.ExitStack() as stack:
        qrels, *runs = [
            str(stack.enter_context(resources.as_file(folder.joinpath(name)))) for name in ("qrels.txt", *DEMO_RUNS)
        ]
        yield qrels, runs


def _evaluate(qrels: str, runs: Sequence[str], task: _Task) -> list[Report]:
    """Evaluate runs on the same judgments, and return a report for each run."""
    arguments, request, convention = task.arguments, task.request, task.convention
    has_relstrings = arguments.per_query and request.relstring_length is not None
    has_embeddings = files.has_embeddings(runs)
    if has_relstrings and has_embeddings:
        raise InvalidInputError("relstring is of runs, but RUN is embeddings. Remove it from -m.")
    from fastndcg.evaluation import Evaluator  # imports numpy, which the checks above do without
    from fastndcg.inputs.formats import LabelsInFile, name_runs, read_run_tag
    from fastndcg.inputs.join import take_first_documents

    judgments = None
    is_saved = arguments.save_baseline is not None
    is_named = arguments.qrels_format is not None or arguments.columns.truth is not None
    if is_named or has_relstrings or request.has_gains or has_embeddings or is_saved:
        judgments = files.read_judgments(qrels, arguments)
    if judgments is not None and judgments.patterns is not None and (has_relstrings or request.has_gains):
        raise InvalidInputError(
            f"relstring and gains of labels need one label per document, but {qrels} has one per subtopic. "
            "Remove these measures from -m."
        )
    max_label = 0 if judgments is None else int(max(judgments.values, default=0))
    lines = request.lines(task.trec_options, max_label)
    evaluator = Evaluator(
        judgments or qrels,
        select_metrics(lines, arguments.format),
        convention=convention,
        **options.pick(arguments, "threads"),
    )
    reports = []
    for name, path in zip(name_runs(runs), runs, strict=True):
        is_run = not files.has_embeddings([path])
        tag = read_run_tag(path) if is_run and any(line.name == "runid" for line in lines) else None
        has_features = isinstance(evaluator._truth, LabelsInFile)  # which scores on lines belong to
        predictions: Any = path if has_features else files.read_predictions(path, judgments, arguments)
        if arguments.max_documents is not None:
            predictions = take_first_documents(predictions, arguments.max_documents, convention, arguments.threads)
        labels = None
        if judgments and has_relstrings:
            both = judgments, predictions
            if predictions.duplicates is not None:
                both = predictions.duplicates.apply_to_both(*both, convention)
            labels = trec_eval.relevance_strings(*both, convention, request.relstring_length or 0)
        result = evaluator.evaluate(predictions)
        if is_saved:
            result.save(arguments.save_baseline, truth=judgments, predictions=predictions)
        reports.append(Report(name, result, lines, tag or name, labels, not arguments.no_summary))
    return reports


def run_pairs(arguments: argparse.Namespace) -> None:
    """Evaluate each relevant document on its own, as link prediction does, and write the results."""
    metrics = parse_metrics(arguments.metrics or options.PAIR_METRICS)
    from fastndcg.link_prediction import evaluate_pairs  # imports numpy, which --help and the checks do without

    qrels = files.read_judgments(arguments.qrels, arguments)
    settings = options.pick(arguments, "rows competitors convention threads")
    runs = files.read_runs(arguments, qrels)
    write_reports(arguments, [Report(name, evaluate_pairs(qrels, run, metrics, **settings)) for name, run in runs])


def run_index_recall(arguments: argparse.Namespace) -> None:
    """Compare what an index found with exact search, and write the results and the report."""
    metrics = parse_metrics(arguments.metrics or options.INDEX_METRICS)
    n_found = len(arguments.runs)
    for option, is_wrong in (("--html", n_found < 2 and arguments.html), ("--save-baseline", n_found > 1 and
                             arguments.save_baseline)):  # fmt: skip
        if is_wrong:
            wanted = "two FOUND or more" if option == "--html" else "one FOUND"
            raise InvalidInputError(f"{option} is of {wanted}, not {n_found}. Leave it out.")
    from fastndcg.inputs.messages import Options  # imports numpy, which --help and the checks do without
    from fastndcg.inputs.table import Table
    from fastndcg.vector_index import measure_recall

    found = files.read_found(arguments)
    truth = None if arguments.qrels is None else files.read_judgments(arguments.qrels, arguments)
    table = next((one for one in found.values() if isinstance(one, Table)), truth)
    model = files.read_model(arguments.model, table, arguments)
    results = measure_recall(model, found, metrics, Options(threads=arguments.threads), arguments.tolerance, truth)
    losses = (f"{show_name(name)}: {line}\n" for name, result in results.items() for line in result.list_loss())
    more = losses if n_found > 1 and arguments.format == "table" else ()
    write_reports(arguments, [Report(name, result) for name, result in results.items()], more)
    if arguments.html:
        from fastndcg.reports.page import page
        from fastndcg.statistics.compare import compare

        output.write([page(compare(results), arguments.title)], arguments.html, "--html")
    if arguments.save_baseline is not None:
        results[next(iter(results))].save(arguments.save_baseline)
        output.say_written(arguments.save_baseline)


def run_spans(arguments: argparse.Namespace) -> None:
    """Evaluate chunks by the gold text that they cover, and write the results."""
    metrics = parse_metrics(arguments.metrics or options.SPAN_METRICS, "evaluate_spans")
    from fastndcg.inputs.spans import Spans  # imports numpy, which --help and the checks do without
    from fastndcg.span_retrieval import evaluate_spans

    gold, chunks = (Spans(path, columns=arguments.columns.predictions) for path in (arguments.gold, arguments.chunks))
    result = evaluate_spans(gold, chunks, metrics, **options.pick(arguments, "overlap threads"))
    write_reports(arguments, [Report(Path(arguments.chunks).name, result)])
    if arguments.save_baseline is not None:
        result.save(arguments.save_baseline, truth=gold, predictions=chunks)
        output.say_written(arguments.save_baseline)
