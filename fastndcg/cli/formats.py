"""Results as text: a table, JSON, CSV, and trec_eval's own lines."""

from __future__ import annotations

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from fastndcg import __version__
from fastndcg.display import aligned
from fastndcg.metric import Metric
from fastndcg.trec import Line

if TYPE_CHECKING:
    from fastndcg.results import Results


class Report(NamedTuple):
    """What a run is called, its results, and what trec_eval's lines need beside them."""

    name: str
    results: Results
    lines: tuple[Line, ...] = ()  # that trec_eval prints; by default one for each metric
    tag: str = ""  # the name that a run gives itself
    labels: list[str] | None = None  # each query's relevance string


def table(reports: Sequence[Report], per_query: bool, note: str) -> Iterator[str]:
    """A line a metric for one run, a line a run for several; each query's values above if wanted."""
    if per_query:
        yield from _query_table(reports)
        yield "\n"
    if len(reports) == 1:
        yield f"{reports[0].results}\n"
    else:
        yield from _run_table(reports)
    if note:
        yield f"{note}\n"


def _run_table(reports: Sequence[Report]) -> Iterator[str]:
    first = reports[0].results
    rows = [["run", *map(str, first.metrics), "queries", "undefined", "tied"]]
    for name, results, *_ in reports:
        means = (f"{mean:.4f}" for mean in results.means())
        rows.append([name, *means, str(len(results)), str(_n_undefined(results)), str(results.n_tied)])
    yield from (f"{line}\n" for line in aligned(rows, 1))
    yield f"convention {first.convention}; ties {first.convention.ties}\n"
    yield "undefined: queries for which a metric has no value\n"
    yield "tied: queries in which equal scores have different labels\n"
    for name, results, *_ in reports:
        if results.n_missing_in_run:
            choice = results.convention.missing_in_run
            yield f"{name}: judged queries missing in the run: {results.n_missing_in_run} ({choice})\n"
        if results.n_missing_in_qrels:
            choice = results.convention.missing_in_qrels
            yield f"{name}: queries of the run missing in the qrels: {results.n_missing_in_qrels} ({choice})\n"


def _query_table(reports: Sequence[Report]) -> Iterator[str]:
    several = len(reports) > 1
    rows = [[*(["run"] if several else []), "query", *map(str, reports[0].results.metrics)]]
    for name, results, *_ in reports:
        for query, values in zip(results.query_ids.tolist(), results.values.tolist(), strict=True):
            rows.append([*([name] if several else []), str(query), *(f"{value:.4f}" for value in values)])
    yield from (f"{line}\n" for line in aligned(rows, 1 + several))


def as_json(reports: Sequence[Report], per_query: bool, note: str) -> Iterator[str]:
    """One object; null where a metric has no value."""
    del note
    first = reports[0].results
    whole = {
        "version": __version__,
        "convention": {"name": first.convention.name, **first.convention.choices()},
        "metrics": [str(metric) for metric in first.metrics],
        "runs": [_json_run(report, per_query) for report in reports],
    }
    yield json.dumps(whole, indent=1, allow_nan=False) + "\n"


def _json_run(report: Report, per_query: bool) -> dict[str, Any]:
    results = report.results
    names = [str(metric) for metric in results.metrics]
    run: dict[str, Any] = {
        "run": report.name,
        "mean": dict(zip(names, _without_nan(results.means()), strict=True)),
        "n_queries": len(results),
        "n_undefined": dict(zip(names, results.n_undefined().tolist(), strict=True)),
        "n_tied": results.n_tied,
        "n_missing_in_run": results.n_missing_in_run,
        "n_missing_in_qrels": results.n_missing_in_qrels,
    }
    if per_query:
        rows = zip(results.query_ids.tolist(), results.values.tolist(), strict=True)
        run["per_query"] = {str(query): dict(zip(names, _without_nan(row), strict=True)) for query, row in rows}
    return run


def _without_nan(values: Sequence[float]) -> list[float | None]:
    return [None if math.isnan(value) else value for value in values]


def as_csv(reports: Sequence[Report], per_query: bool, note: str) -> Iterator[str]:
    """A row a run, or a row a query of each run; all digits, ``nan`` where a metric has no value."""
    del note
    metrics = [str(metric) for metric in reports[0].results.metrics]
    if per_query:
        yield _csv_row(["run", "query", *metrics])
        for name, results, *_ in reports:
            for query, values in zip(results.query_ids.tolist(), results.values.tolist(), strict=True):
                yield _csv_row([name, query, *values])
        return
    counts = ["queries", "undefined", "tied", "missing_in_run", "missing_in_qrels", "convention"]
    yield _csv_row(["run", *metrics, *counts])
    for name, results, *_ in reports:
        about = [len(results), _n_undefined(results), results.n_tied]
        missing = [results.n_missing_in_run, results.n_missing_in_qrels, results.convention.name]
        yield _csv_row([name, *results.means(), *about, *missing])


def _csv_row(cells: Sequence[object]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()


def _n_undefined(results: Results) -> int:
    """For how many queries a metric has no value."""
    missing = results.values != results.values
    return int(missing.any(axis=1).sum())


def trec(reports: Sequence[Report], per_query: bool, note: str) -> Iterator[str]:
    """trec_eval's lines in its order: each query's if wanted, in byte order of the ids, then those of all queries."""
    del note
    for report in reports:
        results = report.results
        lines = sorted(report.lines or _lines_of(results.metrics), key=lambda line: line.order)
        if len(reports) > 1 and not any(line.name == "runid" for line in lines):
            yield _text_line("runid", "all", report.name)
        if per_query:
            queries = list(map(str, results.query_ids.tolist()))
            for q in sorted(range(len(queries)), key=lambda q: queries[q].encode(errors="surrogatepass")):
                yield from _lines_of_query(report, lines, queries[q], q)
        overall = dict(zip(results.metrics, results.means(), strict=True))
        for line in lines:
            if line.metric is None:
                known = {"runid": report.tag, "num_q": str(len(results))}
                if line.name in known:
                    yield _text_line(line.name, "all", known[line.name])
                continue
            is_count = line.metric.record.is_count
            # a count's line for all queries is their sum
            total = math.fsum(v for v in results[line.metric].tolist() if v == v) if is_count else overall[line.metric]
            yield _trec_line(line.name, "all", total, is_count)


def _lines_of_query(report: Report, lines: Sequence[Line], query: str, q: int) -> Iterator[str]:
    """A query's lines: aggregates have none."""
    results = report.results
    row = dict(zip(results.metrics, results.values[q].tolist(), strict=True))
    for line in lines:
        if line.metric is not None and line.metric.aggregate is None:
            yield _trec_line(line.name, query, row[line.metric], line.metric.record.is_count)
        elif line.metric is None and line.name.startswith("relstring") and report.labels is not None:
            yield _text_line(line.name, query, f"'{report.labels[q]}'")


def _text_line(name: str, query: str, text: str) -> str:
    return f"{name:<22}\t{query}\t{text}\n"


def _trec_line(name: str, query: str, value: float, is_count: bool) -> str:
    if is_count and value.is_integer():
        return _text_line(name, query, str(int(value)))
    return _text_line(name, query, f"{value:6.4f}")


def _lines_of(metrics: Sequence[Metric]) -> list[Line]:
    """A line for each metric, by trec_eval's name, or by our text where several would have the same."""
    times = Counter(metric.trec_name for metric in metrics)
    return [Line(0, one.trec_name if times[one.trec_name] == 1 else str(one), one) for one in metrics]


FORMATS: dict[str, Callable[[Sequence[Report], bool, str], Iterator[str]]] = {
    "table": table,
    "json": as_json,
    "csv": as_csv,
    "trec": trec,
}
