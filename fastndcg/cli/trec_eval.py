"""Metrics of ``-m`` in fastndcg's or trec_eval's words, and trec_eval's own options, lines and relevance strings."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from fastndcg.errors import InvalidInputError, printable
from fastndcg.metrics.metric import Metric, TrecLine, at_level, list_trec_lines, parse_metric_list
from fastndcg.metrics.trec_eval import MEASURES, TrecMeasureRequest, read, relstring_length
from fastndcg.named_conventions import Convention
from fastndcg.parsing import split_metrics

if TYPE_CHECKING:
    from fastndcg.inputs.table import Qrels, Run
    from fastndcg.results.results import Results


class Report(NamedTuple):
    """The results of a run, with its name and the additional data of trec_eval's lines."""

    name: str
    results: Results
    lines: tuple[TrecLine, ...] = ()  # trec_eval's lines; by default one for each metric
    tag: str = ""  # the name in the last column of the run
    labels: list[str] | None = None  # the relevance string of each query
    summary: bool = True  # True to print the values over all queries


class TrecEvalOptions(NamedTuple):
    """Options of trec_eval that change its measures."""

    relevance_level: int | None = None  # smallest relevant label
    n_documents: int = 0  # of the collection


def apply_options(convention: Convention, arguments: argparse.Namespace) -> Convention:
    """
    Return the convention with the choices that trec_eval's options make.

    Raises
    ------
    InvalidInputError
        If an option's number is too small, or ``-M`` is used without trec_eval's order of ties.
    """
    minima = (
        ("-l", arguments.relevance_level, 1),
        ("-M", arguments.max_documents, 1),
        ("-N", arguments.n_documents, 0),
    )
    for name, value, minimum in minima:
        if value is not None and value < minimum:
            raise InvalidInputError(f"{name} must be {minimum} or more, not {value}. Give a larger number.")
    if arguments.max_documents is not None and convention.ties != "id_descending":
        raise InvalidInputError(
            f"-M needs trec_eval's order of ties, id_descending, but {convention} has {convention.ties}. "
            "Add --convention trec_eval."
        )
    choices = {"missing_in_run": "zero"} if arguments.complete else {}
    if arguments.judged_only:
        choices["unjudged"] = "removed"
    return convention.replace(**choices) if choices else convention


def _trec_eval_version(convention: Convention) -> int:
    """Return the version of trec_eval that a convention follows. Version 9 has fewer measures."""
    return 9 if convention.name.startswith("trec_eval_9") else 10


class MetricRequest(NamedTuple):
    """The texts of ``-m``, parsed into trec_eval's measures and fastndcg's metrics."""

    parts: tuple[TrecMeasureRequest | Metric, ...]

    @classmethod
    def parse(cls, texts: Sequence[str], convention: Convention) -> MetricRequest:
        """
        Parse texts. Each text is one of trec_eval's measures, or several names separated by commas.

        A measure with parameters replaces the same measure with its default parameters, which a nickname such as
        "official" adds.
        """
        parts: list[TrecMeasureRequest | Metric] = []
        version = _trec_eval_version(convention)
        for text in texts:
            measures = read(text.strip(), version=version)
            if measures is not None:
                parts += measures
                continue
            for part in split_metrics(text):
                measures = read(part, version=version)
                parts += parse_metric_list(part) if measures is None else measures
        with_parameters = {part.measure for part in parts if isinstance(part, TrecMeasureRequest) and part.parameters}
        replaced = {TrecMeasureRequest(measure, "") for measure in with_parameters}
        return cls(tuple(part for part in dict.fromkeys(parts) if part not in replaced))

    @property
    def relstring_length(self) -> int | None:
        """The number of labels in the relevance string, None without the measure relstring."""
        return relstring_length(part for part in self.parts if isinstance(part, TrecMeasureRequest))

    @property
    def has_gains(self) -> bool:
        """True if a measure has gains of labels. Their meaning depends on the largest label."""
        return any(
            isinstance(part, TrecMeasureRequest) and part.measure.kind == "gains" and part.parameters
            for part in self.parts
        )

    def lines(self, options: TrecEvalOptions, max_label: int = 0) -> tuple[TrecLine, ...]:
        """
        Return trec_eval's lines of output, in the order of ``-m``.

        Parameters
        ----------
        options : TrecEvalOptions
            The smallest relevant label, and the number of documents in the collection.
        max_label : int
            The largest label of the judgments.

        Returns
        -------
        tuple of TrecLine
            A metric without a line of trec_eval has fastndcg's text as its name if names would repeat.
        """
        all_lines: list[TrecLine] = []
        for part in self.parts:
            if isinstance(part, TrecMeasureRequest):
                all_lines += list_trec_lines(
                    [part], level=options.relevance_level, documents=options.n_documents, highest=max_label
                )
            else:
                metric = at_level(part, options.relevance_level)
                all_lines.append(TrecLine(len(MEASURES), metric.trec_name, metric))
        counts = Counter(line.name for line in dict.fromkeys(all_lines))
        unique: dict[TrecLine, None] = {}
        for line in all_lines:
            is_repeated = line.order == len(MEASURES) and counts[line.name] > 1
            unique[line._replace(name=str(line.metric)) if is_repeated else line] = None
        return tuple(unique)


def select_metrics(lines: Sequence[TrecLine], form: str = "table") -> tuple[Metric, ...]:
    """
    Return the metrics of lines, without repetitions.

    Lines of ``--format trec`` may all be without a metric, such as num_q. Some metric is returned then, because an
    evaluation needs one.

    Raises
    ------
    InvalidInputError
        If there is no metric.
    """
    metrics = tuple(dict.fromkeys(line.metric for line in lines if line.metric is not None))
    if metrics:
        return metrics
    if lines and form == "trec":
        return (Metric("num_ret"),)
    raise InvalidInputError(
        "`metrics` is empty: -m must name a metric, such as 'ndcg@10' or trec_eval's 'all_trec'. "
        "num_q, runid and relstring need --format trec."
    )


def relevance_strings(qrels: Qrels, run: Run, convention: Convention, length: int) -> list[str]:
    """
    Return the relevance string of each query, of at most `length` characters.

    A label from 0 to 9 is its digit, and a larger label is '>'. An unjudged document is '-'. A document that was pooled
    but not judged is '.'.
    """
    import numpy as np  # late: --help does without

    from fastndcg.engine.apply import apply_convention
    from fastndcg.inputs.join import join

    rankings = apply_convention(join(qrels, run, convention).rankings, convention)
    if convention.ties != "id_descending" or rankings.tie_keys is None:
        raise InvalidInputError(
            f"relstring needs trec_eval's order of ties, id_descending, but {convention} has {convention.ties}. "
            "Add --convention trec_eval."
        )
    characters = np.array([*"0123456789>"])[np.clip(rankings.labels, 0, 10).astype(int)]
    characters[rankings.labels < 0] = "."
    if rankings.judged is not None:
        characters[~rankings.judged] = "-"
    queries = np.repeat(np.arange(rankings.n_queries), np.diff(rankings.offsets))
    characters = characters[np.lexsort((~rankings.tie_keys, -rankings.scores, queries))]  # in rank order
    starts = rankings.offsets[:-1]
    stops = np.minimum(starts + length, rankings.offsets[1:])
    return ["".join(characters[start:stop]) for start, stop in zip(starts, stops, strict=True)]


def list_lines(reports: Sequence[Report], per_query: bool) -> Iterator[str]:
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
