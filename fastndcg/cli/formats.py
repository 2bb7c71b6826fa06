"""Results of runs as text: a table, Markdown, LaTeX, JSON, CSV, and trec_eval's lines."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from fastndcg import __version__
from fastndcg.cli.output import render
from fastndcg.errors import printable
from fastndcg.exports.exportable import PrintedTable, dump_json
from fastndcg.metrics.metric import Metric, TrecLine
from fastndcg.results.notes import describe_judged, notes_on_systems
from fastndcg.runtime.escapes import MOST_NOTED, csv_row, show_name

if TYPE_CHECKING:
    from fastndcg.results.results import Results


class Report(NamedTuple):
    """The results of a run, with its name and the additional data of trec_eval's lines."""

    name: str
    results: Results
    lines: tuple[TrecLine, ...] = ()  # trec_eval's lines; by default one for each metric
    tag: str = ""  # the name in the last column of the run
    labels: list[str] | None = None  # the relevance string of each query
    summary: bool = True  # True to print the values over all queries


def _write_tables(form: str, reports: Sequence[Report], per_query: bool) -> Iterator[str]:
    """
    Yield tables as text, in Markdown or in LaTeX.

    As text, one run has one line for each metric. Several runs have one line each. With `per_query` the values of each
    query come first.
    """
    if per_query:
        yield render(_list_queries(reports), form)
        if not reports[0].summary:
            return
        yield "\n"
    yield f"{reports[0].results}\n" if form == "table" and len(reports) == 1 else render(_list_runs(reports), form)


def _list_runs(reports: Sequence[Report]) -> PrintedTable:
    """Return the table with a row for each run."""
    first = reports[0].results
    rows = [["run", *map(str, first.metrics), "queries", "undefined", "tied"]]
    for name, results, *_ in reports:
        means = (f"{mean:.4f}" for mean in results.means())
        rows.append([name, *means, str(len(results)), str(_n_undefined(results)), str(results.n_tied)])
    notes = [f"convention {first.convention}; ties {first.convention.ties}"]
    remarks = notes_on_systems({report.name: report.results.notes for report in reports})
    notes += [show_name(remark, MOST_NOTED) for remark in remarks]
    notes += ["undefined: queries for which a metric has no value"]
    notes += ["tied: queries in which equal scores have different labels"]
    for name, results, *_ in reports:
        if results.n_missing_in_run:
            choice = results.convention.missing_in_run
            notes.append(f"{show_name(name)}: judged queries missing in the run: {results.n_missing_in_run} ({choice})")
        if results.n_missing_in_qrels:
            choice = results.convention.missing_in_qrels
            n_missing = results.n_missing_in_qrels
            notes.append(f"{show_name(name)}: queries of the run missing in the qrels: {n_missing} ({choice})")
    notes += describe_judged([report.results.judged for report in reports], first.metrics, first.convention)
    return PrintedTable(rows, [column == 0 for column in range(len(rows[0]))], notes)


def _list_queries(reports: Sequence[Report]) -> PrintedTable:
    """Return the table with a row for each query of each run."""
    several = len(reports) > 1
    headings = _list_id_names(reports[0].results)
    rows = [[*(["run"] if several else []), *headings, *map(str, reports[0].results.metrics)]]
    for name, results, *_ in reports:
        for ids, values in zip(_list_ids(results), results.values.tolist(), strict=True):
            rows.append([*([name] if several else []), *map(str, ids), *(f"{value:.4f}" for value in values)])
    return PrintedTable(rows, [column < len(headings) + several for column in range(len(rows[0]))])


def _list_id_names(results: Results) -> list[str]:
    """Return the headings of the columns of ids."""
    return ["query", "document"] if _has_pairs(results) else ["query"]


def _list_ids(results: Results) -> list[tuple[Any, ...]]:
    """Return the ids of each row: its query, and its document where rows are pairs."""
    columns: list[Any] = [getattr(results, f"{name}_ids").tolist() for name in _list_id_names(results)]
    return list(zip(*columns, strict=True))


def _has_pairs(results: Results) -> bool:
    from fastndcg.results.pairs import PairResults  # imports numpy

    return isinstance(results, PairResults)


def as_json(reports: Sequence[Report], per_query: bool) -> Iterator[str]:
    """Yield one JSON object. A metric without a value is null."""
    first = reports[0].results
    facts = {
        "metrics": [str(metric) for metric in first.metrics],
        "runs": [describe_run(report, per_query) for report in reports],
        "convention": {"name": first.convention.name, **first.convention.choices()},
        "version": __version__,
    }
    yield dump_json(facts)


def describe_run(report: Report, per_query: bool) -> dict[str, Any]:
    """Return the facts about a run for JSON."""
    results = report.results
    names = [str(metric) for metric in results.metrics]
    run: dict[str, Any] = {"run": report.name, **results.summary_facts()}
    if per_query:
        by_query: dict[str, Any] = {}
        for (query, *document), row in zip(_list_ids(results), results.values.tolist(), strict=True):
            values = dict(zip(names, row, strict=True))
            if document:
                by_query.setdefault(str(query), {})[str(document[0])] = values
            else:
                by_query[str(query)] = values
        run["per_query"] = by_query
    return run


def as_csv(reports: Sequence[Report], per_query: bool) -> Iterator[str]:
    """Yield one row for each run, or one for each query of each run. A metric without a value is ``nan``."""
    metrics = [str(metric) for metric in reports[0].results.metrics]
    if per_query:
        yield csv_row(["run", *_list_id_names(reports[0].results), *metrics])
        for name, results, *_ in reports:
            for ids, values in zip(_list_ids(results), results.values.tolist(), strict=True):
                yield csv_row([name, *ids, *values])
        return
    counts = ["queries", "undefined", "tied", "missing_in_run", "missing_in_qrels", "convention"]
    yield csv_row(["run", *metrics, *counts])
    for name, results, *_ in reports:
        values = [len(results), _n_undefined(results), results.n_tied]
        missing = [results.n_missing_in_run, results.n_missing_in_qrels]
        yield csv_row([name, *results.means(), *values, *missing, results.convention.name])


def _n_undefined(results: Results) -> int:
    """Return the number of queries for which some metric has no value."""
    missing = results.values != results.values
    return int(missing.any(axis=1).sum())


def trec(reports: Sequence[Report], per_query: bool) -> Iterator[str]:
    """
    Yield trec_eval's lines in trec_eval's order.

    With `per_query` the lines of each query come first, in the byte order of the query ids.
    """
    for report in reports:
        results = report.results
        lines = sorted(report.lines or _default_lines(results.metrics), key=lambda line: line.order)
        if len(reports) > 1 and report.summary and not any(line.name == "runid" for line in lines):
            yield _text_line("runid", "all", report.name)
        if per_query:
            queries = list(map(str, results.query_ids.tolist()))
            for q in sorted(range(len(queries)), key=lambda q: queries[q].encode(errors="surrogatepass")):
                yield from _query_lines(report, lines, queries[q], q)
        if report.summary:
            yield from _summary_lines(report, lines)


def _summary_lines(report: Report, lines: Sequence[TrecLine]) -> Iterator[str]:
    """Yield the lines over all queries: means, and sums of counts."""
    results = report.results
    means = dict(zip(results.metrics, results.means(), strict=True))
    texts = {"runid": report.tag, "num_q": str(len(results))}
    for line in lines:
        if line.metric is None:
            if line.name in texts:
                yield _text_line(line.name, "all", texts[line.name])
            continue
        value = means[line.metric]
        if line.metric.record.sums_in_trec_eval:
            value = math.fsum(v for v in results[line.metric].tolist() if v == v)
        yield _value_line(line.name, "all", value, line.metric.record.sums_in_trec_eval)


def _query_lines(report: Report, lines: Sequence[TrecLine], query: str, q: int) -> Iterator[str]:
    """Yield the lines of one query. Aggregates such as gm_map have no value for one query."""
    results = report.results
    row = dict(zip(results.metrics, results.values[q].tolist(), strict=True))
    for line in lines:
        if line.metric is not None and line.metric.aggregate is None:
            yield _value_line(line.name, query, row[line.metric], line.metric.record.sums_in_trec_eval)
        elif line.metric is None and line.name.startswith("relstring") and report.labels is not None:
            yield _text_line(line.name, query, f"'{report.labels[q]}'")


def _text_line(name: str, query: str, text: str) -> str:
    return f"{name:<22}\t{printable(query)}\t{printable(text)}\n"


def _value_line(name: str, query: str, value: float, sums_in_trec_eval: bool) -> str:
    if sums_in_trec_eval and value.is_integer():
        return _text_line(name, query, str(int(value)))
    return _text_line(name, query, f"{value:6.4f}")


def _default_lines(metrics: Sequence[Metric]) -> list[TrecLine]:
    """Return a line for each metric, by trec_eval's name, or by fastndcg's text if trec_eval's names would repeat."""
    counts = Counter(metric.trec_name for metric in metrics)
    return [
        TrecLine(0, metric.trec_name if counts[metric.trec_name] == 1 else str(metric), metric) for metric in metrics
    ]


FORMATS: dict[str, Callable[[Sequence[Report], bool], Iterator[str]]] = {
    **{form: partial(_write_tables, form) for form in ("table", "markdown", "latex")},
    "json": as_json,
    "csv": as_csv,
    "trec": trec,
}
