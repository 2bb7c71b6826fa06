"""``fastndcg evaluate``, ``evaluate-pairs`` and ``spans``: the metrics of runs, computed from judgments."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fastndcg.cli import files, formats, options, output, trec_eval
from fastndcg.cli.progress import ROWS, show_progress
from fastndcg.cli.trec_eval import MetricRequest, TrecEvalOptions, apply_options, select_metrics
from fastndcg.errors import InvalidInputError
from fastndcg.metrics.metric import parse_metrics
from fastndcg.named_conventions import Convention
from fastndcg.results.text_table import align_columns
from fastndcg.runtime.escapes import show_name
from fastndcg.runtime.optional_packages import check_packages

if TYPE_CHECKING:
    from fastndcg.inputs.formats import Content

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
    """Check the options, evaluate the runs, write the results, and return 1 if a mean is below its floor."""
    convention = apply_options(arguments.convention, arguments)
    request = MetricRequest.parse(arguments.metrics or [options.DEFAULT_METRICS], convention)
    trec_options = TrecEvalOptions(arguments.relevance_level, arguments.n_documents)
    select_metrics(request.lines(trec_options), arguments.format)  # reports wrong metrics before any file is read
    floors = options.read_floors(arguments.fail_under)
    _check_summary(arguments)
    _check_decisions(arguments, request)
    content = _look_for_scores(arguments)
    _check_files(arguments, content)
    task = _Task(request, trec_options, convention, arguments)
    if content.has_scores:
        reports = [_evaluate_stream(task, content)]
    else:
        with _open_files(arguments) as (qrels, runs):
            reports = _evaluate(qrels, runs, task)
    note = [f"{DEMO_NOTE}\n"] if arguments.qrels is None and arguments.format == "table" else ()
    pieces = chain(formats.FORMATS[arguments.format](reports, arguments.per_query), note)
    output.write(chain(pieces, _list_intervals(reports)) if arguments.interval else pieces, arguments.output)
    if arguments.save_baseline is not None:
        output.say_written(arguments.save_baseline)
    return _check_floors(reports, floors, arguments.fail_by)


def _list_intervals(reports: Sequence[formats.Report]) -> Iterator[str]:
    """Yield the lines of a table with the interval of each mean."""
    rows = [["run", "metric", "mean", "95 % interval", "method"]]
    for report in reports:
        for metric in report.results.metrics:
            found = report.results.confidence_interval(metric)
            bounds = found.reason or f"[{found.low:.4f}, {found.high:.4f}]"
            rows.append([report.name, str(metric), f"{found.mean:.4f}", bounds, found.method])
    yield "\n"
    yield from (f"{line}\n" for line in align_columns(rows, 2))


def _check_floors(reports: Sequence[formats.Report], floors: Mapping[str, float], floor_by: str) -> int:
    """Return 1 if the mean of a run is below its floor, which standard error says, else 0."""
    is_below = False
    for metric, floor in floors.items():
        for report in reports:
            if floor_by == "value":
                value, what = report.results.mean()[str(parse_metrics(metric)[0])], "the mean"
            else:
                value, what = report.results.confidence_interval(metric, level=0.9).low, "the 95 % lower bound"
            if not value >= floor:
                is_below = True
                output.print_line(f"fastndcg: {report.name}: {what} of {metric} is {value:.4f}, below {floor:g}")
    return int(is_below)


def _check_decisions(arguments: argparse.Namespace, request: MetricRequest) -> None:
    """Raise an error for options on floors and baselines that do not fit the others."""
    if arguments.interval and arguments.format != "table":
        raise InvalidInputError("--interval is for a table. Take --save-baseline and confidence_interval, or compare.")
    if arguments.interval or (arguments.fail_under and arguments.fail_by != "value"):
        check_packages("a confidence interval", "statistics")
    metrics = {str(line.metric) for line in request.lines(TrecEvalOptions(), 0) if line.metric is not None}
    for metric in options.read_floors(arguments.fail_under):
        name = str(parse_metrics(metric)[0])
        if name not in metrics:
            raise InvalidInputError(f"--fail-under must be of an evaluated metric, but is of {name}. Add it to -m.")
    if arguments.save_baseline is not None and len(arguments.runs) != 1:
        raise InvalidInputError(f"--save-baseline is of one run, not {len(arguments.runs)}. Name one run.")


def _check_summary(arguments: argparse.Namespace) -> None:
    has_query_lines = arguments.format == "trec" or (arguments.format == "table" and arguments.per_query)
    if arguments.no_summary and not has_query_lines:
        raise InvalidInputError(
            f"-n needs lines for each query, but --format {arguments.format} prints none here. "
            "Add --format trec, or -q to a table."
        )


def _check_files(arguments: argparse.Namespace, content: Content) -> None:
    if arguments.qrels is not None and not arguments.runs and not content.has_scores:
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


def _look_for_scores(arguments: argparse.Namespace) -> Content:
    """Return what the file of judgments holds if there is no run."""
    from fastndcg.inputs.formats import Content, look_for_scores  # imports numpy

    is_alone = arguments.qrels is not None and not arguments.runs
    return look_for_scores(arguments.qrels, arguments.columns.truth) if is_alone else Content()


def _evaluate_stream(task: _Task, content: Content) -> formats.Report:
    """Evaluate a file that has queries, labels and scores."""
    arguments = task.arguments
    if arguments.max_documents is not None or task.request.relstring_length is not None:
        raise InvalidInputError(
            f"-M and relstring need judgments and runs in two files, but {arguments.qrels} has both. "
            "Remove the option, or split the file."
        )
    from fastndcg.inputs.formats import name_file  # imports numpy

    name = name_file(arguments.qrels)
    lines = task.request.lines(task.trec_options)
    with show_progress(1, ROWS) as progress:
        progress(f"evaluating {Path(arguments.qrels).name}")
        from fastndcg.evaluation import evaluate

        result = evaluate(
            arguments.qrels,
            metrics=select_metrics(lines, arguments.format),
            columns=arguments.columns.truth,
            memory=arguments.memory,
            convention=task.convention,
            threads=arguments.threads,
            progress=progress.show_rows if content.is_streamed else True,
        )
    return formats.Report(name, result, lines, name, summary=not arguments.no_summary)


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


def _evaluate(qrels: str, runs: Sequence[str], task: _Task) -> list[formats.Report]:
    """Evaluate runs on the same judgments, and return a report for each run."""
    arguments = task.arguments
    request = task.request
    threads = arguments.threads
    has_relstrings = arguments.per_query and request.relstring_length is not None
    if has_relstrings and files.has_embeddings(runs):
        raise InvalidInputError("relstring is of runs, but RUN is embeddings. Remove it from -m.")
    with show_progress(1 + 2 * len(runs)) as begin_step:
        begin_step(f"reading {Path(qrels).name}")
        from fastndcg.evaluation import Evaluator  # imports numpy, which the checks above do without
        from fastndcg.inputs.formats import LabelsInFile, name_runs, read_run_tag
        from fastndcg.inputs.join import take_first_documents

        has_embeddings = files.has_embeddings(runs)
        judgments = None
        is_saved = arguments.save_baseline is not None
        if arguments.qrels_format is not None or has_relstrings or request.has_gains or has_embeddings or is_saved:
            judgments = files.read_judgments(qrels, arguments)
        if judgments is not None and judgments.patterns is not None and (has_relstrings or request.has_gains):
            raise InvalidInputError(
                f"relstring and gains of labels need one label per document, but {qrels} has one per subtopic. "
                "Remove these measures from -m."
            )
        max_label = 0 if judgments is None else int(max(judgments.values, default=0))
        lines = request.lines(task.trec_options, max_label)
        metrics = select_metrics(lines, arguments.format)
        evaluator = Evaluator(
            judgments or qrels, metrics, columns=arguments.columns.truth, convention=task.convention, threads=threads,
            memory=arguments.memory, **files.read_selection(arguments, runs), **files.list_duplicates(arguments),
        )  # fmt: skip
        duplicates = files.read_duplicates(arguments)
        reports = []
        for name, path in zip(name_runs(runs), runs, strict=True):
            begin_step(f"reading {Path(path).name}")
            is_run = not files.has_embeddings([path])
            tag = read_run_tag(path) if is_run and any(line.name == "runid" for line in lines) else None
            has_features = isinstance(evaluator._truth, LabelsInFile)  # which scores on lines belong to
            predictions: Any = path if has_features else files.read_predictions(path, judgments, arguments)
            if arguments.max_documents is not None:
                predictions = take_first_documents(predictions, arguments.max_documents, task.convention, threads)
            begin_step(f"evaluating {Path(path).name}")
            labels = None
            if judgments and has_relstrings:
                both = judgments, predictions
                if duplicates is not None:
                    both = duplicates.settle(*both, task.convention)
                labels = trec_eval.relevance_strings(*both, task.convention, request.relstring_length or 0)
            result = evaluator.evaluate(predictions)
            if is_saved:
                result.save(arguments.save_baseline, truth=judgments, predictions=path)
            reports.append(formats.Report(name, result, lines, tag or name, labels, not arguments.no_summary))
        return reports


def run_pairs(arguments: argparse.Namespace) -> None:
    """Evaluate each relevant document on its own, as link prediction does, and write the results."""
    metrics = parse_metrics(arguments.metrics or options.PAIR_METRICS)
    with show_progress(1 + 2 * len(arguments.runs)) as begin_step:
        begin_step(f"reading {Path(arguments.qrels).name}")
        from fastndcg.link_prediction import evaluate_pairs  # imports numpy, which --help and the checks do without

        qrels = files.read_judgments(arguments.qrels, arguments)
        selection = files.read_selection(arguments, arguments.runs)
        reports = []
        for name, predictions in files.read_runs(arguments, qrels, begin_step):
            begin_step(f"evaluating {name}")
            result = evaluate_pairs(
                qrels, predictions, metrics, rows=arguments.rows, competitors=arguments.competitors,
                convention=arguments.convention, threads=arguments.threads, **selection,
            )  # fmt: skip
            reports.append(formats.Report(name, result))
    output.write(formats.FORMATS[arguments.format](reports, arguments.per_query), arguments.output)


def run_spans(arguments: argparse.Namespace) -> None:
    """Evaluate chunks by the gold text that they cover, and write the results."""
    metrics = parse_metrics(arguments.metrics or options.SPAN_METRICS, "evaluate_spans")
    from fastndcg.span_retrieval import evaluate_spans  # imports numpy, which --help and the checks do without

    result = evaluate_spans(
        arguments.gold, arguments.chunks, metrics, overlap=arguments.overlap, columns=arguments.columns.predictions,
        threads=arguments.threads,
    )  # fmt: skip
    report = formats.Report(Path(arguments.chunks).name, result)
    output.write(formats.FORMATS[arguments.format]([report], arguments.per_query), arguments.output)
