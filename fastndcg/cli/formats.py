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

if TYPE_CHECKING:
    from fastndcg.results import Results


class Report(NamedTuple):
    """What a run is called, and its results."""

    name: str
    results: Results


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
    for name, results in reports:
        means = (f"{mean:.4f}" for mean in results.means())
        rows.append([name, *means, str(len(results)), str(_n_undefined(results)), str(results.n_tied)])
    yield from (f"{line}\n" for line in aligned(rows, 1))
    yield f"convention {first.convention}; ties {first.convention.ties}\n"
    yield "undefined: queries for which a metric has no value\n"
    yield "tied: queries in which equal scores have different labels\n"
    for name, results in reports:
        if results.n_missing_in_run:
            choice = results.convention.missing_in_run
            yield f"{name}: judged queries missing in the run: {results.n_missing_in_run} ({choice})\n"
        if results.n_missing_in_qrels:
            choice = results.convention.missing_in_qrels
            yield f"{name}: queries of the run missing in the qrels: {results.n_missing_in_qrels} ({choice})\n"


def _query_table(reports: Sequence[Report]) -> Iterator[str]:
    several = len(reports) > 1
    rows = [[*(["run"] if several else []), "query", *map(str, reports[0].results.metrics)]]
    for name, results in reports:
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
        for name, results in reports:
            for query, values in zip(results.query_ids.tolist(), results.values.tolist(), strict=True):
                yield _csv_row([name, query, *values])
        return
    counts = ["queries", "undefined", "tied", "missing_in_run", "missing_in_qrels", "convention"]
    yield _csv_row(["run", *metrics, *counts])
    for name, results in reports:
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
    """trec_eval's lines: each query's if wanted, in byte order of the ids, then those of all queries."""
    del note
    for name, results in reports:
        if len(reports) > 1:
            yield f"{'runid':<22}\tall\t{name}\n"
        columns = list(zip(_trec_names(results.metrics), results.metrics, strict=True))
        if per_query:
            rows = zip(map(str, results.query_ids.tolist()), results.values.tolist(), strict=True)
            for query, row in sorted(rows, key=lambda one: one[0].encode(errors="surrogatepass")):
                for (trec_name, metric), value in zip(columns, row, strict=True):
                    if metric.aggregate is not None:  # of all queries alone, as trec_eval's gm_map
                        continue
                    yield _trec_line(trec_name, query, value, metric.record.is_count)
        for (trec_name, metric), mean in zip(columns, results.means(), strict=True):
            # a count's line for all queries is their sum
            total = math.fsum(v for v in results[metric].tolist() if v == v) if metric.record.is_count else mean
            yield _trec_line(trec_name, "all", total, metric.record.is_count)


def _trec_line(name: str, query: str, value: float, is_count: bool) -> str:
    if is_count and value.is_integer():
        return f"{name:<22}\t{query}\t{int(value)}\n"
    return f"{name:<22}\t{query}\t{value:6.4f}\n"


def _trec_names(metrics: Sequence[Metric]) -> list[str]:
    """trec_eval's name of each metric, or our text where several would have the same."""
    times = Counter(metric.trec_name for metric in metrics)
    return [metric.trec_name if times[metric.trec_name] == 1 else str(metric) for metric in metrics]


FORMATS: dict[str, Callable[[Sequence[Report], bool, str], Iterator[str]]] = {
    "table": table,
    "json": as_json,
    "csv": as_csv,
    "trec": trec,
}
